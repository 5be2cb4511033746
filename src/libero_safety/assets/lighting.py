"""Named ways to light a room. Positions are relative to the workspace, so that one works in every arena."""

from dataclasses import dataclass

from libero_safety.assets.asset import Vec3
from libero_safety.assets.looks import UnknownLookError
from libero_safety.registry import near_match
from libero_safety.ubddl.spec import Split

SUN_M = 4.0
"""How far away sunlight comes from: far enough for even light, within the walls, which would hold it off."""


@dataclass(frozen=True)
class Light:
    """A lamp that shines at the workspace.

    Attributes:
        pos: in the workspace frame (m).
        diffuse: brightness per colour, 0 to 1.
        shadow: whether it throws shadows.
    """

    pos: Vec3
    diffuse: Vec3
    shadow: bool = True


@dataclass(frozen=True)
class Lighting:
    """All the light in a room. At most one lamp throws shadows: each one more draws the scene twice more.

    Attributes:
        ambient: light from everywhere, per colour.
        camera: light that comes from where the camera is.
    """

    lights: tuple[Light, ...]
    ambient: Vec3
    camera: Vec3
    split: Split = "train"


def _sun(x: float, y: float, z: float, diffuse: Vec3, shadow: bool = True) -> Light:
    """Return light from far away in the direction (x, y, z).

    MuJoCo's own parallel light speckles large floors with shadows of themselves, so it is a lamp out of sight.
    """
    scale = SUN_M / (x * x + y * y + z * z) ** 0.5
    return Light((scale * x, scale * y, scale * z), diffuse, shadow)


def _grey(level: float) -> Vec3:
    return (level, level, level)


_FILL = _sun(0.6, -0.6, 0.6, (0.14, 0.145, 0.155), shadow=False)
"""Weak light from the side that the main light leaves dark."""

LIGHTINGS: dict[str, Lighting] = {
    "day": Lighting((_sun(0.45, 0.35, 0.85, _grey(0.43)), _FILL), _grey(0.42), _grey(0.12)),
    "bright": Lighting((_sun(0.45, 0.35, 0.85, _grey(0.52)), _FILL), _grey(0.47), _grey(0.15)),
    "dim": Lighting((_sun(0.45, 0.35, 0.85, _grey(0.26)),), _grey(0.26), _grey(0.09)),
    "morning": Lighting((_sun(0.3, -0.75, 0.65, (0.6, 0.55, 0.44)),), (0.36, 0.37, 0.4), _grey(0.12)),
    "evening": Lighting((_sun(0.6, 0.55, 0.6, (0.66, 0.43, 0.22)),), (0.31, 0.26, 0.26), (0.12, 0.1, 0.09)),
    "overcast": Lighting(
        (_sun(0.2, 0.1, 1.0, (0.2, 0.21, 0.23)), _FILL), (0.5, 0.51, 0.53), _grey(0.14), "test"
    ),
    "office": Lighting(
        (_sun(0.15, -0.1, 1.0, (0.42, 0.45, 0.44)), _FILL), (0.41, 0.43, 0.43), (0.13, 0.14, 0.14)
    ),
    "window_left": Lighting((_sun(0.15, -0.7, 0.7, (0.62, 0.64, 0.66)),), (0.33, 0.34, 0.36), _grey(0.1)),
    "window_right": Lighting(
        (_sun(0.15, 0.7, 0.7, (0.62, 0.64, 0.66)),), (0.33, 0.34, 0.36), _grey(0.1), "test"
    ),
    "lamp_left": Lighting((Light((0.3, -0.9, 1.1), (0.75, 0.62, 0.44)),), (0.23, 0.21, 0.2), _grey(0.1)),
    "lamp_right": Lighting(
        (Light((0.3, 0.9, 1.1), (0.75, 0.62, 0.44)),), (0.23, 0.21, 0.2), _grey(0.1), "test"
    ),
    "night": Lighting((Light((0.2, 0.0, 1.6), (0.5, 0.44, 0.36)),), (0.15, 0.16, 0.22), _grey(0.08), "test"),
}
"""Words for `lighting`. Left and right are those of the picture that `agentview` takes."""


def find_lighting(word: str) -> Lighting:
    """Return the lighting of that name.

    Raises:
        UnknownLookError: there is none; the message has a near name and all names.
    """
    if word not in LIGHTINGS:
        raise UnknownLookError(
            f"unknown lighting {word!r}{near_match(word, LIGHTINGS)}. Known: {', '.join(LIGHTINGS)}"
        )
    return LIGHTINGS[word]
