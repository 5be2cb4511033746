"""Pictures of materials, drawn by code: a pure function of a recipe. Kinds of them are in `patterns`."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from libero_safety.assets.noise import Brush, Rgb
from libero_safety.assets.patterns import KINDS, Kind
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import UnknownNameError, near_match
from libero_safety.types import ImageArray


class TextureError(LiberoSafetyError):
    """A texture that cannot be drawn: too few colours, or a parameter that its kind does not have."""


@dataclass(frozen=True)
class Texture:
    """The recipe of a picture.

    Attributes:
        kind: a name in `KINDS`.
        colours: red, green, blue from 0 to 1; what each is for is said by the kind.
        values: parameters that are not at their default.
    """

    kind: str
    colours: tuple[Rgb, ...]
    seed: int = 0
    values: tuple[tuple[str, float], ...] = ()


@lru_cache(maxsize=64)
def draw(texture: Texture) -> ImageArray:
    """Return the picture, (SIZE, SIZE, 3), read-only: the same object for the same recipe while it is remembered.

    Raises:
        UnknownNameError: no such kind.
        TextureError: fewer colours than the kind needs, an unknown parameter, or one out of range.
    """
    if texture.kind not in KINDS:
        raise UnknownNameError("texture kind", texture.kind, KINDS)
    kind = KINDS[texture.kind]
    if len(texture.colours) < len(kind.colours):
        raise TextureError(
            f"texture {texture.kind!r} needs {len(kind.colours)} colours ({', '.join(kind.colours)}), "
            f"found {len(texture.colours)}"
        )
    values = _checked(kind, texture)
    brush = Brush(np.random.Generator(np.random.PCG64(texture.seed)), texture.colours)
    image = np.clip(kind.draw(brush, values) * 255.0 + 0.5, 0.0, 255.0).astype(np.uint8)
    image.flags.writeable = False
    return image


def _checked(kind: Kind, texture: Texture) -> dict[str, float]:
    """Return all parameters of the kind, defaults filled in."""
    values = {name: parameter.default for name, parameter in kind.parameters.items()}
    for name, value in texture.values:
        parameter = kind.parameters.get(name)
        if parameter is None:
            known = ", ".join(kind.parameters) or "none"
            raise TextureError(
                f"texture {texture.kind!r} has no parameter {name!r}{near_match(name, kind.parameters)}. "
                f"Known: {known}"
            )
        if not parameter.low <= value <= parameter.high:
            raise TextureError(
                f"texture {texture.kind!r}: {name} = {value:g} is not within "
                f"{parameter.low:g} and {parameter.high:g}"
            )
        values[name] = value
    return values
