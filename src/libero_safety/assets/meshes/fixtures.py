"""How furniture and appliances look."""

from collections.abc import Sequence

from libero_safety.assets.asset import MeshData, Rgba, Shape, Vec3
from libero_safety.assets.meshes.boxes import ON_SIDE
from libero_safety.assets.meshes.kit import block, joined, lathe, placed, rounded_box, torus, tube
from libero_safety.assets.meshes.vessels import tub
from libero_safety.assets.objects.shapes import BLACK, DARK, GREY, RED, SILVER, WHITE, seen, shade, tint

GLASS: Rgba = (0.08, 0.09, 0.1, 1.0)
GLOW: Rgba = (0.35, 0.95, 0.7, 1.0)


def boards(shapes: Sequence[Shape], bevel_m: float = 0.0, finish: str = "matte") -> list[Shape]:
    """Return the boxes among `shapes` as meshes with bevelled edges, one for all of a part and colour."""
    groups: dict[tuple[str, Rgba], list[MeshData]] = {}
    for s in shapes:
        if s.kind == "box" and s.role != "visual":
            x, y, z = s.size
            mesh = rounded_box((x, y, z), bevel_m) if bevel_m else block((x, y, z))
            groups.setdefault((s.part, s.rgba), []).append(placed(mesh, s.pos, s.quat))
    return [seen(part, joined(meshes), rgba, finish=finish) for (part, rgba), meshes in groups.items()]


def handle(part: str, path: tuple[Vec3, ...], radius_m: float, rgba: Rgba, up: Vec3) -> Shape:
    """Return a bent round bar to pull at."""
    return seen(part, tube(path, radius_m, sides=8, up=up), rgba, finish="metal")


def stove_surface(top_m: float) -> list[Shape]:
    """Return the hob: enamelled case, burner bowl with a glowing coil, marks around the knob."""
    x = 0.15
    bowl = lathe(
        (
            (0, top_m - 0.001),
            (0.074, top_m - 0.001),
            (0.075, top_m + 0.0022),
            (0.07, top_m + 0.003),
            (0.066, top_m + 0.0008),
            (0, top_m + 0.0008),
        ),
        18,
    )
    coils = [placed(torus(r, 0.0022, 14, 4), (x, 0, top_m + 0.0018)) for r in (0.018, 0.034, 0.05)]
    cross = [
        placed(block(h), (x, 0, top_m + 0.0012)) for h in ((0.064, 0.0018, 0.0012), (0.0018, 0.064, 0.0012))
    ]
    feet = [
        placed(block((0.01, 0.01, 0.002)), (x + a, b, 0.002)) for a in (-0.08, 0.08) for b in (-0.08, 0.08)
    ]
    ticks = [
        placed(block((0.001, 0.0045, 0.0004)), (0.0, 0.043, 0.0202)),
        placed(block((0.0045, 0.001, 0.0004)), (-0.043, 0.0, 0.0202)),
    ]
    return [
        seen(
            "body",
            rounded_box((0.095, 0.095, top_m / 2), 0.004, 0.012),
            (0.86, 0.87, 0.88, 1.0),
            (x, 0, top_m / 2),
        ),
        seen("body", rounded_box((0.0535, 0.06, 0.01), 0.003, 0.01), DARK, (0.0015, 0, 0.01)),
        seen("burner", bowl, SILVER, (x, 0, 0), finish="metal"),
        seen("burner", joined(coils), (0.75, 0.16, 0.08, 1.0)),
        seen("burner", joined(cross), BLACK),
        seen("body", joined(feet), BLACK),
        seen("body", joined(ticks), WHITE),
    ]


def knob_surface() -> list[Shape]:
    """Return the stove's knob: a skirt, a grip, a red pointer."""
    skirt = lathe(((0, 0.003), (0.0355, 0.003), (0.036, 0.007), (0.033, 0.0102), (0, 0.0102)), 20)
    return [
        seen("knob", skirt, SILVER, finish="metal"),
        seen(
            "knob",
            rounded_box((0.034, 0.009, 0.0125), 0.003, 0.008),
            shade(SILVER, 0.85),
            (0, 0, 0.0225),
            finish="metal",
        ),
        seen("knob", block((0.01, 0.0018, 0.0006)), RED, (0.022, 0, 0.0352)),
    ]


def microwave_surface(shapes: Sequence[Shape]) -> list[Shape]:
    """Return the housing with vents and feet, the turntable, and a panel with a clock, keys and a dial."""
    vents = [placed(block((0.0006, 0.028, 0.0022)), (0.1724, 0.03, 0.06 + 0.011 * i)) for i in range(6)]
    feet = [
        placed(block((0.012, 0.012, 0.002)), (a, b, 0.002)) for a in (-0.15, 0.15) for b in (-0.07, 0.095)
    ]
    keys = [
        placed(block((0.007, 0.0014, 0.006)), (0.1325 + dx, -0.1125, 0.118 - dz))
        for dx in (-0.019, 0.0, 0.019)
        for dz in (0.0, 0.018, 0.036)
    ]
    dial = lathe(((0, 0), (0.017, 0), (0.0165, 0.0042), (0.012, 0.005), (0, 0.005)), 16)
    digits = [
        placed(block((0.0028, 0.0006, 0.006)), (0.1325 + dx, -0.1137, 0.152))
        for dx in (-0.014, -0.006, 0.006, 0.014)
    ]
    table = lathe(
        ((0, 0.0235), (0.02, 0.0235), (0.075, 0.0255), (0.076, 0.0285), (0.07, 0.027), (0, 0.0255)), 18
    )
    return [
        *boards(shapes, 0.0, "satin"),
        seen("body", joined(vents), DARK),
        seen("body", joined(feet), BLACK),
        seen("body", table, (0.8, 0.86, 0.88, 1.0), (-0.04, 0, 0)),
        seen("panel", rounded_box((0.028, 0.001, 0.014), 0.0005), GLASS, (0.1325, -0.1122, 0.152)),
        seen("panel", joined(digits), GLOW, finish="glow"),
        seen("panel", joined(keys), GREY),
        seen("panel", dial, SILVER, (0.1325, -0.1118, 0.045), ON_SIDE, finish="metal"),
    ]


def microwave_door_surface() -> list[Shape]:
    """Return the door: dark glass in a bright frame, bar handle."""
    bar = (
        (0.237, -0.022, -0.062),
        (0.237, -0.05, -0.064),
        (0.237, -0.058, -0.05),
        (0.237, -0.058, 0.05),
        (0.237, -0.05, 0.064),
        (0.237, -0.022, 0.062),
    )
    return [
        seen(
            "door",
            rounded_box((0.1315, 0.011, 0.0925), 0.003),
            (0.3, 0.31, 0.33, 1.0),
            (0.1325, -0.0125, 0.0),
        ),
        seen(
            "door", rounded_box((0.099, 0.0012, 0.069), 0.0006), SILVER, (0.115, -0.0238, 0), finish="metal"
        ),
        seen("door", rounded_box((0.092, 0.0012, 0.062), 0.0006), GLASS, (0.115, -0.0246, 0), finish="metal"),
        handle("handle", bar, 0.008, SILVER, (1.0, 0.0, 0.0)),
    ]


def cabinet_surface(shapes: Sequence[Shape], colour: Rgba, height_m: float) -> list[Shape]:
    """Return the case of a chest with a moulded top and a plinth."""
    return [
        *boards(shapes, 0.0, "satin"),
        seen(
            "body",
            rounded_box((0.13, 0.091, 0.0045), 0.0025),
            shade(colour, 0.9),
            (0, 0.024, height_m - 0.0044),
        ),
        seen("body", block((0.12, 0.084, 0.003)), shade(colour, 0.6), (0, 0.026, 0.003)),
    ]


def drawer_surface(shapes: Sequence[Shape], front: Rgba, knob: Rgba, half_z: float) -> list[Shape]:
    """Return a drawer: panelled front, box, bar handle."""
    case = [s for s in shapes if s.kind == "box" and s.rgba != front]
    face = rounded_box((0.125, 0.007, half_z + 0.0025), 0.003)
    bar = (
        (-0.035, -0.081, 0),
        (-0.035, -0.1, 0),
        (-0.029, -0.107, 0),
        (0.029, -0.107, 0),
        (0.035, -0.1, 0),
        (0.035, -0.081, 0),
    )
    return [
        *boards(case, 0.0, "satin"),
        seen("drawer", face, front, (0, -0.073, 0)),
        seen(
            "drawer", rounded_box((0.108, 0.001, half_z * 0.72), 0.0006), shade(front, 0.8), (0, -0.0797, 0)
        ),
        seen("drawer", rounded_box((0.104, 0.001, half_z * 0.6), 0.0006), tint(front, 0.08), (0, -0.0803, 0)),
        handle("handle", bar, 0.0046, knob, (0.0, 0.0, 1.0)),
    ]


def caddy_surface(shapes: Sequence[Shape], colour: Rgba) -> list[Shape]:
    """Return an organiser of boards with pale edges."""
    edges = [
        placed(
            block((s.size[0] * 0.98, s.size[1] * 0.98, 0.0006)), (s.pos[0], s.pos[1], s.pos[2] + s.size[2])
        )
        for s in shapes
        if s.size[2] > 0.01
    ]
    return [*boards(shapes, 0.0015), seen("body", joined(edges), tint(colour, 0.35), finish="matte")]


def rack_surface(shapes: Sequence[Shape], rest_m: tuple[float, ...]) -> list[Shape]:
    """Return a rack whose boards have hollows to lay bottles in, drawn as dark bars, and round side rails."""
    bars = [
        placed(block((0.0025, 0.046, 0.0006)), (x, -0.055, z + 0.005))
        for z in rest_m
        for x in (-0.09, -0.045, 0.0, 0.045, 0.09)
    ]
    rails = [tube(((-0.12, 0.11, z), (0.12, 0.11, z)), 0.005, sides=8) for z in (0.06, 0.28)]
    return [
        *boards(shapes),
        seen("board", joined(bars), (0.5, 0.34, 0.2, 1.0), finish="matte"),
        seen("frame", joined(rails), (0.45, 0.28, 0.15, 1.0), finish="matte"),
    ]


def pedestal_surface(half_x: float, half_y: float, height_m: float, colour: Rgba) -> list[Shape]:
    """Return a smooth plinth with a lid."""
    lid = 0.008
    low = height_m - lid
    return [
        seen(
            "body", rounded_box((half_x - 0.0015, half_y - 0.0015, low / 2), 0.002), colour, (0, 0, low / 2)
        ),
        seen(
            "body",
            rounded_box((half_x, half_y, lid / 2), 0.002),
            tint(colour, 0.3),
            (0, 0, height_m - lid / 2),
        ),
    ]


def open_box_surface(half_x: float, half_y: float, height_m: float, colour: Rgba) -> list[Shape]:
    """Return a moulded storage box with a rim and grips."""
    grips = [
        placed(rounded_box((0.02, 0.0008, 0.006), 0.0006), (0, s * half_y, height_m * 0.82)) for s in (1, -1)
    ]
    return [
        seen("body", tub(half_x, half_y, height_m, 0.004, 0.005, 0.012), colour),
        seen("body", joined(grips), shade(colour, 0.6)),
    ]
