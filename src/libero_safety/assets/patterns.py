"""How materials look: wood, stone, cloth, tiles, plaster, ... and the parameters of each.

Rows of a picture run along the grain of wood, so that boards stand upright on a wall and lie across a table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from libero_safety.assets.noise import SIZE, Brush, Cells, Grid, grid, herringbone, joint, pebbles

_Values: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class Parameter:
    """A number that a kind of texture takes, from `low` to `high`."""

    default: float
    low: float
    high: float
    doc: str


@dataclass(frozen=True)
class Kind:
    """A way to draw.

    Attributes:
        colours: what each colour is for.
    """

    draw: Callable[[Brush, _Values], Grid]
    colours: tuple[str, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])


def _grain(brush: Brush, rings: float, contrast: float) -> Grid:
    """Return how dark a board is, about 0 to 1: the year rings' waves, and fibres."""
    waver = brush.noise(2.5, 1, 10, long=4.0)
    fibres = brush.noise(1.0, 8, 128, long=24.0)
    ring = np.abs(np.sin(np.pi * (round(rings) * brush.x + 0.45 * waver)))
    return 0.5 + contrast * (0.55 * (ring - 0.6) + 0.16 * fibres + 0.1 * waver)


def _wood(brush: Brush, p: _Values) -> Grid:
    dark = _grain(brush, p["rings"], p["contrast"])
    boards = round(p["boards"])
    if boards == 0:
        return brush.mix(dark)
    ends = brush.rng.permutation(boards) * SIZE // boards
    board = np.arange(SIZE) * boards // SIZE
    rows = (np.arange(SIZE)[:, None] + ends[board][None, :]) % SIZE
    dark = np.take_along_axis(dark, rows, axis=0)
    across = (np.arange(SIZE) + 0.5) * boards / SIZE % 1
    edge = np.minimum(np.minimum(across, 1 - across)[None, :] * SIZE / boards, np.minimum(rows, SIZE - rows))
    cells = Cells(np.broadcast_to(board[None, :], (SIZE, SIZE)), edge.astype(np.float32))
    seam = joint(cells, 1.2) * 0.6
    return brush.mix(dark + brush.tones(cells.number, p["variation"])) * (1 - seam)[..., None]


def _blocks(brush: Brush, p: _Values) -> Grid:
    count, strips = 2 * round(p["pairs"]), round(p["strips"])
    grain = _grain(brush, 12.0, p["contrast"])
    flat, upright = grid(count, count * strips, 0.0), grid(count * strips, count, 0.0)
    square = np.arange(SIZE) * count // SIZE
    turned = (square[:, None] + square[None, :]) % 2 == 1
    cells = Cells(
        np.where(turned, upright.number, flat.number), np.where(turned, upright.inside, flat.inside)
    )
    dark = np.where(turned, grain, grain.T) + brush.tones(cells.number, p["variation"])
    return brush.mix(dark) * (1 - 0.5 * joint(cells, 1.0))[..., None]


def _chevron(brush: Brush, p: _Values) -> Grid:
    length = round(p["length"])
    cells, upright = herringbone(2 * length * round(p["repeats"]), length)
    grain = _grain(brush, 12.0, p["contrast"])
    dark = np.where(upright, grain, grain.T) + brush.tones(cells.number, p["variation"])
    return brush.mix(dark) * (1 - 0.5 * joint(cells, 1.0))[..., None]


def _tiles(brush: Brush, p: _Values) -> Grid:
    rows = 2 * round(p["rows"] / 2) if p["shift"] else round(p["rows"])
    cells = grid(round(p["columns"]), rows, p["shift"])
    return _laid(brush, p, cells, brush.fill(_glaze(brush, p, cells)))


def _checkers(brush: Brush, p: _Values) -> Grid:
    count = 2 * round(p["pairs"])
    cells = grid(count, count, 0.0)
    tone = _glaze(brush, p, cells)
    odd = (cells.number // count + cells.number % count) % 2 == 1
    return _laid(brush, p, cells, np.where(odd[..., None], brush.fill(tone, 2), brush.fill(tone)))


def _glaze(brush: Brush, p: _Values, cells: Cells) -> Grid:
    return brush.tones(cells.number, p["variation"]) + p["roughness"] * brush.noise(1.5, 3, 100)


def _laid(brush: Brush, p: _Values, cells: Cells, tiles: Grid) -> Grid:
    """Return tiles with a rounded edge and the joints between them."""
    round_off = np.clip(3.0 + p["joint"] / 2 - cells.inside, 0.0, 1.0) * 0.06
    return brush.over(tiles * (1 - round_off)[..., None], 1, joint(cells, p["joint"]))


def _marble(brush: Brush, p: _Values) -> Grid:
    clouds = brush.noise(3.0, 1, 60)
    scale = p["scale"]
    rough = 0.1 * brush.noise(1.6, 8, 100)
    thick = np.exp(-np.abs(brush.noise(3.0, scale, 8 * scale) + rough) / 0.08)
    thin = np.exp(-np.abs(brush.noise(2.6, 2 * scale, 14 * scale) + rough - 0.5) / 0.05)
    uneven = np.clip(0.6 + 0.5 * brush.noise(2.0, 2, 10), 0.0, 1.4)
    return brush.mix(p["strength"] * uneven * (0.8 * thick + 0.4 * thin) + 0.06 * (clouds + 1.0))


def _granite(brush: Brush, p: _Values) -> Grid:
    grain = p["grain"]
    first, second = brush.noise(1.5, grain / 4, grain), brush.noise(1.0, grain / 3, 1.5 * grain)
    image = brush.fill(0.05 * brush.noise(2.0, 1, 20) + 0.04 * brush.noise(0.5, 30, 128))
    image = brush.over(image, 1, (first - 0.5) * 3)
    return brush.over(image, 2, (second - 1.3) * 3)


def _terrazzo(brush: Brush, p: _Values) -> Grid:
    cells = pebbles(brush.rng, round(p["count"]))
    tone = brush.tones(cells.number, 0.08)
    image = brush.fill(0.02 * brush.noise(1.0, 8, 128))
    pick = brush.rng.random(int(cells.number.max()) + 1)[cells.number]
    body = np.clip(cells.inside - p["gap"], 0.0, 1.0)
    for colour in range(1, len(brush.colours)):
        share = p["cover"] / (len(brush.colours) - 1)
        chosen = (pick >= (colour - 1) * share) & (pick < colour * share)
        image = image + (brush.fill(tone, colour) - image) * np.where(chosen, body, 0.0)[..., None]
    return image


def _flagstone(brush: Brush, p: _Values) -> Grid:
    cells = pebbles(brush.rng, round(p["count"]))
    tone = brush.tones(cells.number, p["variation"]) + 0.06 * brush.noise(1.8, 4, 128)
    return brush.over(brush.fill(tone), 1, joint(cells, p["joint"]))


def _stone(brush: Brush, p: _Values) -> Grid:
    layers = brush.noise(2.4, 1, 80, long=p["layers"])
    grit = brush.noise(0.6, 20, 128)
    return brush.mix(0.4 + p["contrast"] * (0.25 * layers + 0.12 * grit))


def _weave(brush: Brush, p: _Values) -> Grid:
    threads = round(p["threads"])
    over = np.floor(brush.x * threads) + np.floor(brush.y * threads)
    warp, weft = np.sin(np.pi * (brush.x * threads % 1)), np.sin(np.pi * (brush.y * threads % 1))
    relief = np.where(over % 2 == 0, warp, weft)
    line = np.arange(SIZE) * threads // SIZE
    slub = brush.rng.standard_normal((2, threads), dtype=np.float32)
    uneven = 0.5 * (slub[0, line][None, :] + slub[1, line][:, None])
    tone = p["relief"] * (relief - 0.65) + 0.03 * uneven + 0.02 * brush.noise(1.0, 2, 64)
    bands, width = round(p["bands"]), p["width"]
    across, along = ((brush.x * bands + 0.25) % 1 < width) * 1.0, ((brush.y * bands + 0.25) % 1 < width) * 1.0
    cover = across + np.zeros_like(along) if not p["checks"] else 0.5 * (across + along)
    return brush.mix(cover.astype(np.float32) * (bands > 0)) * (1 + tone)[..., None]


def _carpet(brush: Brush, p: _Values) -> Grid:
    pile = 0.5 + 0.2 * brush.noise(0.3, 24, 110) + 0.1 * brush.noise(2.0, 1, 12)
    if p["ribs"]:
        pile = pile + 0.3 * np.sin(2 * np.pi * round(p["ribs"]) * brush.x)
    return brush.mix(pile)


def _plaster(brush: Brush, p: _Values) -> Grid:
    height = brush.noise(1.6, 2, p["fine"])
    slope = height - np.roll(height, (1, 1), (0, 1))
    return brush.fill(p["roughness"] * (slope / np.float32(slope.std()) + 0.6 * height))


def _concrete(brush: Brush, p: _Values) -> Grid:
    tone = 0.05 * brush.noise(2.4, 1, 40) + 0.025 * brush.noise(0.5, 30, 128)
    pores = np.clip((brush.noise(0.2, 20, 60) - 3.2 + p["pores"]) * 2, 0.0, 1.0)
    return brush.over(brush.fill(tone), 1, pores)


def _metal(brush: Brush, p: _Values) -> Grid:
    return brush.fill(p["brushed"] * brush.noise(0.4, 4, 128, long=40.0) + 0.02 * brush.noise(2.0, 1, 6))


def _stripes(brush: Brush, p: _Values) -> Grid:
    phase = brush.x * round(p["count"]) % 1
    edge = np.clip((0.5 * p["width"] - np.abs(phase - 0.5)) * SIZE / p["count"] + 0.5, 0.0, 1.0)
    return brush.mix(edge + np.zeros_like(brush.y)) * (1 + 0.015 * brush.noise(1.0, 4, 128))[..., None]


def _dots(brush: Brush, p: _Values) -> Grid:
    count = 2 * round(p["count"] / 2)
    row = np.floor(brush.y * count)
    u, v = (brush.x * count + 0.5 * (row % 2)) % 1 - 0.5, brush.y * count % 1 - 0.5
    inside = (p["radius"] - np.hypot(u, v)) * SIZE / count + 0.5
    return brush.mix(inside) * (1 + 0.015 * brush.noise(1.0, 4, 128))[..., None]


def _lattice(brush: Brush, p: _Values) -> Grid:
    count = round(p["count"])
    wave = np.cos(2 * np.pi * count * brush.x) + np.cos(2 * np.pi * count * brush.y)
    lines = np.clip((p["width"] - np.abs(wave)) * 4, 0.0, 1.0)
    bud = np.clip((np.abs(wave) - 1.7) * 6, 0.0, 1.0)
    return brush.mix(lines + bud) * (1 + 0.015 * brush.noise(1.0, 4, 128))[..., None]


def _p(default: float, low: float, high: float, doc: str) -> Parameter:
    return Parameter(default, low, high, doc)


_CONTRAST = _p(1.0, 0.2, 2.0, "how strong the grain is")
_VARIATION = _p(0.12, 0.0, 0.4, "how much boards or pieces differ in brightness")
_WOOD = ("light wood", "dark wood")
_TILE = {
    "joint": _p(3.0, 1.0, 8.0, "width of a joint in pixels"),
    "roughness": _p(0.012, 0.0, 0.2, "unevenness of the surface"),
    "variation": _p(0.025, 0.0, 0.3, "how much tiles differ in brightness"),
}
KINDS: dict[str, Kind] = {
    "wood": Kind(
        _wood,
        _WOOD,
        {
            "rings": _p(5, 1, 24, "year rings across the picture"),
            "contrast": _CONTRAST,
            "boards": _p(0, 0, 16, "boards side by side; 0: one piece"),
            "variation": _VARIATION,
        },
    ),
    "blocks": Kind(
        _blocks,
        _WOOD,
        {
            "pairs": _p(2, 1, 4, "pairs of squares a side"),
            "strips": _p(4, 2, 8, "strips in a square"),
            "contrast": _CONTRAST,
            "variation": _VARIATION,
        },
    ),
    "herringbone": Kind(
        _chevron,
        _WOOD,
        {
            "length": _p(4, 2, 8, "of a piece, in its widths"),
            "repeats": _p(1, 1, 4, "times that the pattern fits into the picture"),
            "contrast": _CONTRAST,
            "variation": _VARIATION,
        },
    ),
    "tiles": Kind(
        _tiles,
        ("tile", "joint"),
        {
            "columns": _p(4, 1, 16, "tiles in a row"),
            "rows": _p(4, 1, 32, "rows; an even number if shifted"),
            "shift": _p(0.0, 0.0, 0.5, "of every other row, in tiles"),
            **_TILE,
        },
    ),
    "checkers": Kind(
        _checkers,
        ("tile", "joint", "every other tile"),
        {"pairs": _p(2, 1, 8, "pairs of tiles in a row"), **_TILE},
    ),
    "marble": Kind(
        _marble,
        ("ground", "vein"),
        {
            "scale": _p(2, 1, 8, "fineness of the veins"),
            "strength": _p(0.6, 0.1, 1.0, "how clear the veins are"),
        },
    ),
    "granite": Kind(
        _granite,
        ("ground", "many grains", "few grains"),
        {"grain": _p(40, 10, 80, "grains across the picture")},
    ),
    "terrazzo": Kind(
        _terrazzo,
        ("ground", "chips"),
        {
            "count": _p(24, 6, 40, "chips across the picture"),
            "cover": _p(0.6, 0.1, 1.0, "share of places that have a chip, spread over the chip colours"),
            "gap": _p(0.8, 0.0, 4.0, "between chips, in pixels"),
        },
    ),
    "flagstone": Kind(
        _flagstone,
        ("stone", "joint"),
        {
            "count": _p(5, 2, 16, "stones across the picture"),
            "joint": _p(4.0, 1.0, 10.0, "width of a joint in pixels"),
            "variation": _VARIATION,
        },
    ),
    "stone": Kind(
        _stone,
        ("light", "dark"),
        {
            "layers": _p(3.0, 1.0, 12.0, "how much longer than wide its clouds are"),
            "contrast": _p(1.0, 0.2, 2.5, "between light and dark"),
        },
    ),
    "weave": Kind(
        _weave,
        ("cloth", "bands"),
        {
            "threads": _p(64, 16, 128, "threads across the picture"),
            "relief": _p(0.16, 0.0, 0.5, "how deep the weave looks"),
            "bands": _p(0, 0, 16, "coloured bands across the picture; 0: none"),
            "width": _p(0.5, 0.05, 0.9, "of a band, share of its spacing"),
            "checks": _p(0, 0, 1, "1: bands both ways"),
        },
    ),
    "carpet": Kind(
        _carpet, ("light pile", "dark pile"), {"ribs": _p(0, 0, 48, "across the picture; 0: none")}
    ),
    "plaster": Kind(
        _plaster,
        ("plaster",),
        {
            "roughness": _p(0.02, 0.0, 0.15, "depth of the relief"),
            "fine": _p(40, 8, 128, "smallest feature: this many across the picture"),
        },
    ),
    "concrete": Kind(_concrete, ("concrete", "pores"), {"pores": _p(0.6, 0.0, 2.0, "how many pores")}),
    "metal": Kind(_metal, ("metal",), {"brushed": _p(0.05, 0.0, 0.2, "how clear the brush marks are")}),
    "stripes": Kind(
        _stripes,
        ("ground", "stripe"),
        {
            "count": _p(8, 1, 32, "stripes across the picture"),
            "width": _p(0.5, 0.05, 0.95, "of a stripe, share of its spacing"),
        },
    ),
    "dots": Kind(
        _dots,
        ("ground", "dot"),
        {
            "count": _p(8, 2, 32, "rows of dots, even"),
            "radius": _p(0.2, 0.05, 0.45, "of a dot, share of its spacing"),
        },
    ),
    "lattice": Kind(
        _lattice,
        ("ground", "lattice"),
        {
            "count": _p(4, 1, 16, "diamonds across the picture"),
            "width": _p(0.12, 0.02, 0.5, "of the lines"),
        },
    ),
}
"""Name of a kind -> how it is drawn, what its colours are for, and its parameters with their ranges."""
