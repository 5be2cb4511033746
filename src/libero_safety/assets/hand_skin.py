"""How a hand looks: skin, nails and what it is dressed in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from libero_safety.assets.asset import MeshData, Rgba, Shape
from libero_safety.assets.hand import HandModel, PosedHand
from libero_safety.assets.objects.shapes import seen
from libero_safety.registry import UnknownNameError
from libero_safety.types import FloatArray


@dataclass(frozen=True)
class Skin:
    """A look of a hand: colours of skin, nails and sleeve."""

    skin: Rgba
    nail: Rgba
    sleeve: Rgba


_DENIM: Rgba = (0.2, 0.3, 0.45, 1.0)
_GREY: Rgba = (0.36, 0.37, 0.4, 1.0)
_GREEN: Rgba = (0.24, 0.38, 0.3, 1.0)
_WHITE: Rgba = (0.86, 0.87, 0.88, 1.0)

SKINS: dict[str, Skin] = {
    "pale": Skin((0.93, 0.76, 0.67, 1.0), (0.97, 0.82, 0.77, 1.0), _DENIM),
    "light": Skin((0.86, 0.66, 0.54, 1.0), (0.94, 0.77, 0.7, 1.0), _DENIM),
    "tan": Skin((0.74, 0.53, 0.4, 1.0), (0.87, 0.69, 0.6, 1.0), _GREY),
    "brown": Skin((0.55, 0.36, 0.25, 1.0), (0.74, 0.55, 0.46, 1.0), _GREEN),
    "dark": Skin((0.36, 0.23, 0.17, 1.0), (0.6, 0.44, 0.38, 1.0), _WHITE),
    "deep": Skin((0.24, 0.155, 0.12, 1.0), (0.5, 0.37, 0.33, 1.0), _GREY),
}
"""Name -> look."""


def hand_surface(
    model: HandModel, hand: PosedHand, skin: str, place: tuple[FloatArray, FloatArray]
) -> list[Shape]:
    """Return what is seen of a posed hand: meshes that share their normals where they meet."""
    if skin not in SKINS:
        raise UnknownNameError("skin", skin, SKINS)
    look = SKINS[skin]
    turn, at = place
    vertices = hand.vertices @ turn.T + at
    normals = vertex_normals(vertices, model.faces)
    out = [
        seen("palm", _piece("hand", vertices, normals, model.faces[~model.nails]), look.skin, finish="matte")
    ]
    if model.nails.any():
        out.append(seen("palm", _piece("nails", vertices, normals, model.faces[model.nails]), look.nail))
    return out


def _piece(name: str, vertices: FloatArray, normals: FloatArray, faces: NDArray[np.int32]) -> MeshData:
    return MeshData(name, vertices, faces, normals[faces])


def vertex_normals(vertices: FloatArray, faces: NDArray[np.int32]) -> FloatArray:
    """Return unit normals (v, 3), each the mean of those of the faces around it, by area."""
    corners = vertices[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, faces[:, k], area)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)
