"""Named looks of tables, floors and walls: families of textures in palettes, each variant under its own number.

A name is `<family>_<palette>_<number>` (`marble_white_02`), for wooden tables `<palette>_<number>` (`oak_03`). The
short words of `SHORT` (`oak`, `tiles`, ...) mean one of these. All looks of a palette are in the same split, in
whichever family they are, so that no colour seen in training is in the test split in another guise.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from libero_safety.assets import palettes as colour
from libero_safety.assets.palettes import Palette
from libero_safety.assets.textures import Texture
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.ubddl.spec import Split

PARTS = ("table", "floor", "wall")
"""What of an arena has a look."""
_Variant: TypeAlias = dict[str, float]


class UnknownLookError(LiberoSafetyError):
    """A word for a table, floor, wall or lighting that there is not."""


@dataclass(frozen=True)
class Surface:
    """What a surface is covered with.

    Attributes:
        parts: what may look like this: `table`, `floor`, `wall`.
        size_m: side of the square of surface that one picture covers.
        specular: how much light it mirrors, 0 to 1; `shininess`: how sharply.
    """

    name: str
    parts: tuple[str, ...]
    texture: Texture
    size_m: float
    specular: float
    shininess: float
    split: Split


@dataclass(frozen=True)
class Family:
    """Looks of one kind: every palette with every variant of the parameters.

    Attributes:
        held_out: palettes whose looks are in the test split.
        prefix: what names begin with; empty: with the palette.
    """

    prefix: str
    kind: str
    parts: tuple[str, ...]
    palettes: Mapping[str, Palette]
    held_out: frozenset[str]
    variants: tuple[_Variant, ...]
    size_m: float
    specular: float = 0.15
    shininess: float = 0.3

    def surfaces(self) -> list[Surface]:
        """Return all of them, in order."""
        return [self._surface(p, n) for p in self.palettes for n in range(len(self.variants))]

    def _surface(self, palette: str, number: int) -> Surface:
        name = "_".join(filter(None, (self.prefix, palette, f"{number + 1:02d}")))
        values = tuple(self.variants[number].items())
        texture = Texture(self.kind, self.palettes[palette], zlib.crc32(name.encode()), values)
        split: Split = "test" if palette in self.held_out else "train"
        return Surface(name, self.parts, texture, self.size_m, self.specular, self.shininess, split)


FAMILIES: tuple[Family, ...] = (
    Family(
        "",
        "wood",
        ("table",),
        colour.WOODS,
        colour.TEST_WOODS,
        ({"rings": 5}, {"rings": 14, "contrast": 0.6}, {"boards": 6, "rings": 8}),
        size_m=0.9,
        specular=0.2,
        shininess=0.4,
    ),
    Family(
        "marble",
        "marble",
        ("table", "floor"),
        colour.MARBLES,
        frozenset({"rose", "brown"}),
        ({"scale": 1}, {"scale": 2, "strength": 0.8}),
        size_m=1.2,
        specular=0.35,
        shininess=0.6,
    ),
    Family(
        "granite",
        "granite",
        ("table",),
        colour.GRANITES,
        frozenset({"blue"}),
        ({"grain": 28}, {"grain": 48}),
        size_m=0.35,
        specular=0.3,
        shininess=0.6,
    ),
    Family(
        "terrazzo",
        "terrazzo",
        ("table", "floor"),
        colour.TERRAZZOS,
        frozenset({"night"}),
        ({"count": 18}, {"count": 32, "cover": 0.85}),
        size_m=0.45,
        specular=0.3,
        shininess=0.5,
    ),
    Family(
        "stone",
        "stone",
        ("table", "floor"),
        colour.STONES,
        frozenset({"soapstone"}),
        ({"layers": 3}, {"layers": 8, "contrast": 1.3}),
        size_m=1.1,
    ),
    Family(
        "flagstone",
        "flagstone",
        ("floor",),
        colour.STONES,
        frozenset({"soapstone"}),
        ({"count": 6},),
        size_m=1.8,
        specular=0.1,
    ),
    Family(
        "cloth",
        "weave",
        ("table",),
        colour.CLOTHS,
        frozenset({"plum", "mint"}),
        ({}, {"bands": 5, "width": 0.3}, {"bands": 8, "checks": 1}),
        size_m=0.5,
        specular=0.02,
        shininess=0.1,
    ),
    Family(
        "lacquer",
        "plaster",
        ("table",),
        colour.LACQUERS,
        frozenset({"butter"}),
        ({"roughness": 0.004},),
        size_m=1.0,
        specular=0.35,
        shininess=0.7,
    ),
    Family(
        "metal",
        "metal",
        ("table",),
        colour.METALS,
        frozenset({"brass"}),
        ({"brushed": 0.035}, {"brushed": 0.07}),
        size_m=0.8,
        specular=0.5,
        shininess=0.6,
    ),
    Family(
        "concrete",
        "concrete",
        ("table", "floor", "wall"),
        colour.CONCRETES,
        frozenset({"warm"}),
        ({}, {"pores": 1.1}),
        size_m=1.6,
        specular=0.08,
    ),
    Family(
        "parquet",
        "wood",
        ("floor",),
        colour.WOODS,
        colour.TEST_WOODS,
        ({"boards": 8, "rings": 12, "contrast": 0.8},),
        size_m=1.1,
    ),
    Family(
        "blocks",
        "blocks",
        ("floor",),
        {k: colour.WOODS[k] for k in ("oak", "walnut", "cherry", "pine", "driftwood", "teak", "ash")},
        colour.TEST_WOODS,
        ({"pairs": 2, "strips": 4},),
        size_m=1.0,
    ),
    Family(
        "herringbone",
        "herringbone",
        ("floor",),
        {k: colour.WOODS[k] for k in ("oak", "walnut", "maple", "cherry", "driftwood", "teak", "wenge")},
        colour.TEST_WOODS,
        ({"length": 4},),
        size_m=0.8,
    ),
    Family(
        "carpet",
        "carpet",
        ("floor",),
        colour.CARPETS,
        frozenset({"wine", "silver"}),
        ({}, {"ribs": 24}),
        size_m=0.7,
        specular=0.0,
        shininess=0.1,
    ),
    Family(
        "tiles",
        "tiles",
        ("floor",),
        colour.TILES,
        frozenset({"aqua", "delft"}),
        ({"columns": 4, "rows": 4}, {"columns": 2, "rows": 4, "shift": 0.5}),
        size_m=1.2,
        specular=0.25,
        shininess=0.5,
    ),
    Family(
        "checkers",
        "checkers",
        ("floor",),
        colour.TILES,
        frozenset({"aqua", "delft"}),
        ({"pairs": 2},),
        size_m=1.2,
        specular=0.25,
        shininess=0.5,
    ),
    Family(
        "glazed",
        "tiles",
        ("wall",),
        colour.TILES,
        frozenset({"aqua", "delft"}),
        ({"columns": 8, "rows": 8}, {"columns": 4, "rows": 8, "shift": 0.5}),
        size_m=1.0,
        specular=0.3,
        shininess=0.6,
    ),
    Family(
        "plaster",
        "plaster",
        ("wall",),
        colour.PAINTS,
        frozenset({"lilac", "honey", "petrol"}),
        ({"roughness": 0.012}, {"roughness": 0.04, "fine": 24}),
        size_m=1.5,
        specular=0.03,
        shininess=0.1,
    ),
    Family(
        "paper_stripes",
        "stripes",
        ("wall",),
        colour.PAPERS,
        frozenset({"dusk"}),
        ({"count": 8},),
        size_m=0.9,
        specular=0.03,
        shininess=0.1,
    ),
    Family(
        "paper_dots", "dots", ("wall",), colour.PAPERS, frozenset({"dusk"}), ({"count": 8},), 0.9, 0.03, 0.1
    ),
    Family(
        "paper_lattice",
        "lattice",
        ("wall",),
        colour.PAPERS,
        frozenset({"dusk"}),
        ({"count": 5},),
        size_m=0.9,
        specular=0.03,
        shininess=0.1,
    ),
    Family(
        "brick",
        "tiles",
        ("wall",),
        colour.BRICKS,
        frozenset({"yellow"}),
        (
            {"columns": 4, "rows": 12, "shift": 0.5, "roughness": 0.05, "variation": 0.09, "joint": 4},
            {"columns": 4, "rows": 12, "roughness": 0.05, "variation": 0.05, "joint": 3},
        ),
        size_m=1.0,
        specular=0.02,
        shininess=0.1,
    ),
    Family(
        "panel",
        "wood",
        ("wall",),
        colour.PANELS,
        frozenset({"slate_blue"}),
        ({"boards": 8, "contrast": 0.5, "variation": 0.05},),
        size_m=1.0,
        specular=0.08,
    ),
)
"""Every look there is; a palette that several families share is held out in all of them or in none."""

SHORT: dict[str, dict[str, str]] = {
    "table": {
        "oak": "oak_01",
        "walnut": "walnut_01",
        "marble": "marble_white_01",
        "slate": "stone_slate_01",
        "white": "lacquer_white_01",
        "linen": "cloth_natural_01",
    },
    "floor": {
        "tiles": "tiles_pearl_01",
        "parquet": "parquet_oak_01",
        "concrete": "concrete_grey_01",
        "carpet": "carpet_taupe_01",
    },
    "wall": {
        "plaster": "plaster_chalk_01",
        "white": "plaster_chalk_01",
        "sand": "plaster_sand_01",
        "sage": "plaster_sage_01",
        "sky": "plaster_sky_01",
        "brick": "brick_red_01",
    },
}
"""Short words for `table`, `floor` and `wall`, and the look that each means; all of the train split."""


@lru_cache(maxsize=1)
def surfaces() -> Mapping[str, Surface]:
    """Return every surface by name."""
    made: dict[str, Surface] = {}
    for family in FAMILIES:
        for surface in family.surfaces():
            if surface.name in made:
                raise LiberoSafetyError(f"look {surface.name!r} is made twice")
            made[surface.name] = surface
    return made


def look_names(part: str, split: Split | None = None) -> tuple[str, ...]:
    """Return the names of all looks that a `table`, `floor` or `wall` can have, short words aside, in a fixed order.

    Args:
        part: of the arena.
        split: only those of this split.
    """
    return tuple(f.name for f in surfaces().values() if part in f.parts and split in (None, f.split))


def find_look(part: str, word: str) -> Surface:
    """Return the surface that a word means for a `table`, `floor` or `wall`.

    Raises:
        UnknownLookError: there is none for that part; the message has a near name and the short words.
    """
    short = SHORT[part]
    surface = surfaces().get(short.get(word, word))
    if surface is None or part not in surface.parts:
        names = look_names(part)
        elsewhere = f" It is a look of: {', '.join(surface.parts)}." if surface else ""
        raise UnknownLookError(
            f"unknown look {word!r} of the {part}{near_match(word, (*short, *names))}.{elsewhere} "
            f"Known: {', '.join(short)}, and {len(names)} numbered ones from {names[0]} to {names[-1]}"
        )
    return surface
