"""How a hand looks: skin that is lighter on the palm, nails, a sleeve or a glove."""

from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from libero_safety.assets.asset import MeshData, Picture, Rgba, Shape
from libero_safety.assets.hand import FINGERS, JOINT_NAMES, HandModel, PosedHand
from libero_safety.assets.meshes.kit import loft
from libero_safety.assets.objects.shapes import seen
from libero_safety.registry import UnknownNameError
from libero_safety.types import FloatArray

_WHITE: Rgba = (1.0, 1.0, 1.0, 1.0)
_DENIM: Rgba = (0.2, 0.3, 0.45, 1.0)
_GREY: Rgba = (0.36, 0.37, 0.4, 1.0)
_GREEN: Rgba = (0.24, 0.38, 0.3, 1.0)
_LINEN: Rgba = (0.82, 0.8, 0.76, 1.0)
_RED: Rgba = (0.5, 0.16, 0.17, 1.0)


@dataclass(frozen=True)
class Skin:
    """A look of a hand.

    Attributes:
        back: colour of the back of the hand, or of the glove.
        palm: colour of the palm and the pads of the fingers.
        nail: colour of the nails; None under a glove.
        sleeve: colour of the sleeve.
    """

    back: Rgba
    palm: Rgba
    nail: Rgba | None
    sleeve: Rgba


SKINS: dict[str, Skin] = {
    "pale": Skin((0.91, 0.74, 0.65, 1.0), (0.95, 0.75, 0.68, 1.0), (0.96, 0.8, 0.76, 1.0), _DENIM),
    "light": Skin((0.84, 0.64, 0.52, 1.0), (0.91, 0.69, 0.6, 1.0), (0.93, 0.75, 0.69, 1.0), _DENIM),
    "tan": Skin((0.71, 0.5, 0.37, 1.0), (0.83, 0.61, 0.5, 1.0), (0.86, 0.67, 0.58, 1.0), _GREY),
    "brown": Skin((0.53, 0.34, 0.23, 1.0), (0.73, 0.52, 0.41, 1.0), (0.75, 0.56, 0.47, 1.0), _GREEN),
    "dark": Skin((0.36, 0.225, 0.16, 1.0), (0.62, 0.43, 0.34, 1.0), (0.63, 0.46, 0.39, 1.0), _LINEN),
    "deep": Skin((0.25, 0.16, 0.12, 1.0), (0.53, 0.37, 0.3, 1.0), (0.55, 0.4, 0.35, 1.0), _RED),
    "glove": Skin((0.2, 0.36, 0.62, 1.0), (0.2, 0.36, 0.62, 1.0), None, _GREY),
}
"""Name -> look."""

SLEEVE_FROM = 0.45
"""Where the sleeve begins, as share of the forearm that the model has."""
SLEEVE_M, GLOVE_M = 0.0022, 0.0008
"""Thickness of sleeve and glove."""
FOREARM_M = 0.09
"""Least length of the forearm with its sleeve, whatever the model has."""
DOME_M = 0.015
"""Least height of the round end of the sleeve."""
_LAST_SECTION, _ROUND_FROM = 0.76, 0.81
"""Where the outline of the forearm is last measured, and where its end is rounded off, as shares of its length."""
_SIDES = 28
_SHADES, _STRIP = 12, 16
_SLEEVE = (
    (SLEEVE_FROM, -0.002),
    (SLEEVE_FROM, 0.0012),
    (SLEEVE_FROM + 0.01, SLEEVE_M),
    (SLEEVE_FROM + 0.1, SLEEVE_M),
    (SLEEVE_FROM + 0.11, 0.8 * SLEEVE_M),
    (SLEEVE_FROM + 0.16, 0.9 * SLEEVE_M),
)
_CUFF = (
    (0.2, -0.001),
    (0.2, 0.0008),
    (0.215, 0.0016),
    (0.26, 0.0016),
    (0.275, 0.001),
    (SLEEVE_FROM - 0.03, 0.0026),
    (SLEEVE_FROM + 0.1, 0.0034),
    (SLEEVE_FROM + 0.12, 0.0032),
    (SLEEVE_FROM + 0.12, 0.001),
)
"""Where rings of cloth are: share of the forearm, and distance from the skin (m)."""


def hand_surface(
    model: HandModel, hand: PosedHand, skin: str, place: tuple[FloatArray, FloatArray]
) -> list[Shape]:
    """Return what is seen of a posed hand: meshes that share their normals where they meet.

    Args:
        model: whose hand it is.
        hand: the pose.
        skin: a name in `SKINS`.
        place: rotation (3, 3) and position (3,) of the hand's frame in the frame of the shapes.

    Raises:
        UnknownNameError: there is no such skin.
    """
    if skin not in SKINS:
        raise UnknownNameError("skin", skin, SKINS)
    look = SKINS[skin]
    turn, at = place
    vertices = hand.vertices @ turn.T + at
    normals = vertex_normals(vertices, model.faces)
    if look.nail is None:
        vertices = vertices + GLOVE_M * normals
    # Where nobody sees it, the skin is drawn in, so as never to show through the sleeve.
    hidden = np.clip((_up_the_arm(model) - SLEEVE_FROM - 0.03) / 0.1, 0.0, 1.0)
    vertices = vertices - 2 * SLEEVE_M * hidden[:, None] * normals
    flesh = MeshData("hand", vertices, model.faces, normals[model.faces], _on_tones(model))
    out = [replace(seen("palm", flesh, _WHITE, finish="matte"), picture=_tones(look))]
    arm = forearm(model, hand)
    out.append(seen("forearm", arm.band(_SLEEVE, place, round_end=True), look.sleeve, finish="matte"))
    if look.nail is None:
        out.append(seen("forearm", arm.band(_CUFF, place), look.back, finish="matte"))
    return out


def clothed(model: HandModel, hand: PosedHand) -> FloatArray:
    """Return the vertices (v, 3) of the posed hand, those under the sleeve on its outside."""
    off = np.where(_up_the_arm(model) > SLEEVE_FROM, SLEEVE_M, 0.0)
    return hand.vertices + off[:, None] * vertex_normals(hand.vertices, model.faces)


def _up_the_arm(model: HandModel) -> FloatArray:
    """Return for each vertex (v,) how far it is from the wrist (0) to the end of the forearm (1)."""
    behind = (model.vertices - model.joints[0]) @ -model.palm_frame[0]
    return behind / behind.max()


def vertex_normals(vertices: FloatArray, faces: NDArray[np.int32]) -> FloatArray:
    """Return unit normals (v, 3), each the mean of those of the faces around it, by area."""
    corners = vertices[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, faces[:, k], area)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)


@lru_cache(maxsize=8)
def palmarity(model: HandModel) -> FloatArray:
    """Return for each vertex (v,) whether it is on the back (0) or on the palm and the pads (1), smoothly between."""
    _, palm, across = model.palm_frame
    faced = np.tile(palm, (16, 1))
    for k in (2, 3):
        faced[JOINT_NAMES.index(f"{FINGERS[4]}{k}")] = -across
    normals = vertex_normals(model.vertices, model.faces)
    level = np.einsum("vx,vx->v", normals, model.weights @ faced)
    edges = model.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    count = np.maximum(np.bincount(edges[:, 0], minlength=len(level)), 1)
    for _ in range(3):
        level = (level + np.bincount(edges[:, 0], level[edges[:, 1]], len(level)) / count) / 2
    level = np.clip((level + 0.25) / 0.7, 0.0, 1.0)
    return level * level * (3 - 2 * level)


@cache
def _tones(look: Skin) -> Picture:
    """Return a strip of colours from that of the back to that of the palm, and that of the nails behind it."""
    share = np.linspace(0.0, 1.0, _SHADES)[:, None]
    row = np.array(look.back[:3]) * (1 - share) + np.array(look.palm[:3]) * share
    row = np.vstack([row, np.tile((look.nail or look.back)[:3], (_STRIP - _SHADES, 1))])
    return Picture(np.tile(np.round(255 * row).astype(np.uint8)[None], (2, 1, 1)))


@lru_cache(maxsize=8)
def _on_tones(model: HandModel) -> FloatArray:
    """Return where on the strip of `_tones` each corner of each face is, (f, 3, 2)."""
    # Never at the ends of a range of colours: they would mix with the next one's.
    along = (0.5 + palmarity(model)[model.faces] * (_SHADES - 1)) / _STRIP
    along[model.nails] = (_SHADES + _STRIP) / (2 * _STRIP)
    return np.stack([along, np.full_like(along, 0.5)], axis=2)


@dataclass(frozen=True, eq=False)
class Forearm:
    """The part behind the wrist of a posed hand.

    Attributes:
        axis: unit vector from the wrist to the elbow.
        sides: two unit vectors across it, (2, 3).
        reach_m: how far the skin goes along the axis.
        points: (p, 2, 3) ends of the edges of the skin.
    """

    axis: FloatArray
    sides: FloatArray
    reach_m: float
    points: FloatArray = field(repr=False)

    def section(self, share: float) -> FloatArray:
        """Return the outline (n, 3) of the skin at a share of its reach; beyond the skin the last one goes on."""
        at = share * self.reach_m
        known = min(at, _LAST_SECTION * self.reach_m)
        height = self.points @ self.axis - known
        crossed = self.points[(height[:, 0] < 0) & (height[:, 1] >= 0)]
        low, high = (np.abs(crossed @ self.axis - known)).T
        ring = crossed[:, 0] + (low / (low + high))[:, None] * (crossed[:, 1] - crossed[:, 0])
        flat = ring @ self.sides.T
        middle = (flat.min(axis=0) + flat.max(axis=0)) / 2
        x, y = (flat - middle).T
        turns = np.arange(_SIDES) * 2 * np.pi / _SIDES
        radius = np.interp(turns, np.arctan2(y, x), np.hypot(x, y), period=2 * np.pi)
        outline = middle + radius[:, None] * np.column_stack([np.cos(turns), np.sin(turns)])
        return outline @ self.sides + at * self.axis

    def band(
        self,
        rows: tuple[tuple[float, float], ...],
        place: tuple[FloatArray, FloatArray],
        round_end: bool = False,
    ) -> MeshData:
        """Return cloth around the arm.

        Args:
            rows: share of the reach and distance from the skin (m) of each ring.
            place: see `hand_surface`.
            round_end: whether it ends in a dome beyond the last ring.
        """
        rings: list[FloatArray] = []
        for share, off in rows:
            ring = self.section(share)
            middle = ring.mean(axis=0)
            length = np.linalg.norm(ring - middle, axis=1, keepdims=True)
            rings.append(middle + (ring - middle) * (1 + off / length))
        tip = None
        if round_end:
            end = max(_ROUND_FROM * self.reach_m, FOREARM_M - DOME_M)
            height = max((1 - _ROUND_FROM) * self.reach_m, DOME_M) + SLEEVE_M
            ring = self.section(end / self.reach_m)
            middle = ring.mean(axis=0)
            grown = (ring - middle) * (1 + SLEEVE_M / np.linalg.norm(ring - middle, axis=1, keepdims=True))
            for turn in np.deg2rad((0.0, 25.0, 48.0, 70.0)):
                rings.append(middle + grown * np.cos(turn) + self.axis * height * np.sin(turn))
            tip = middle + self.axis * height
        turn, at = place
        placed = np.array(rings) @ turn.T + at
        mesh = loft(placed, (None, None if tip is None else turn @ tip + at))
        return MeshData("cloth", mesh.vertices, mesh.faces, mesh.normals)


def forearm(model: HandModel, hand: PosedHand) -> Forearm:
    """Return the forearm of a posed hand."""
    along, palm = model.palm_frame[:2] @ hand.rotations[0].T
    edges = model.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    height = -(hand.vertices @ along)
    reach = float(height.max())
    ends = [hand.vertices[np.abs(height - share * reach) < 0.15 * reach] for share in (0.2, 0.7)]
    near, far = ((e.min(axis=0) + e.max(axis=0)) / 2 for e in ends)
    axis = (far - near) / np.linalg.norm(far - near)
    side = np.cross(axis, palm)
    side /= np.linalg.norm(side)
    behind = edges[(height[edges] > -0.3 * reach).all(axis=1)]
    return Forearm(axis, np.array([side, np.cross(axis, side)]), reach, hand.vertices[behind])
