"""Where a hand may take hold of an object: palm poses around it, tried in simulation.

A pose is drawn by taking a point of the surface, turning the palm to it, and the fingers across the narrow way of the
object there. The thumb is opened; the fingers close; what holds is measured.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from libero_safety.assets.asset import Asset
from libero_safety.assets.geometry import in_root
from libero_safety.assets.grasp_quality import hand_overlap, quality_of, spread, wrench_space
from libero_safety.assets.grasp_sim import KEPT_M, Closed, HandSim
from libero_safety.assets.grasps import GraspQuality
from libero_safety.assets.hand import DOFS, FINGERS, JOINT_NAMES, HandModel, clip_shape
from libero_safety.assets.solid import Solid
from libero_safety.types import FloatArray

GRIP_M = 0.095
"""Widest way across an object that fingers and thumb can close around."""
EDGE_M = 0.045
"""Thickest edge of something larger that they can."""
NOT_GRIPPED = frozenset({"blade", "tines", "flame", "bristles", "lens"})
"""Parts that nobody takes hold of."""
MOSTLY_GRIPPED = {"handle": 12.0, "visor": 12.0, "neck": 0.3, "cap": 0.1, "lid": 0.3, "stem": 0.1}
"""How much likelier a hand goes to a part, per area; 1 for the others."""
MIN_FINGERS = 2
MIN_EPSILON = 0.02
MAX_PENETRATION_MM = 8.0
MAX_DISPLACEMENT_M = 0.01
_COLLIDES_M = 0.0015
_STEEPEST_UP, _STEEPEST_DOWN = 0.85, 0.35
"""The forearm, from the wrist to the elbow, is this share upwards at most; and downwards."""
_THUMB_DOWN = 0.3
"""The thumb's side of the hand faces down by this share at most: people lift things with the thumb up."""
_ROLLS = 8
_BACK_M, _BACKS = 0.003, 10
"""The palm starts at the surface and goes back by these steps until the open hand is free."""
_SKIN_M = 0.016
"""How far the skin of the palm is from the bones."""
_AHEAD_M = (0.01, 0.045)
"""How far the middle of the object is ahead of that of the palm."""
_DRAWS = 4096


@dataclass(frozen=True, eq=False)
class Found:
    """A grasp that holds: pose of the wrist in the object's root frame (m, matrix), pose (48,) of the hand."""

    pos: FloatArray
    rot: FloatArray
    pose: FloatArray
    angles: Mapping[str, float] = field(repr=False)
    grip: FloatArray = field(repr=False)
    quality: GraspQuality


class GraspSearch:
    """Tries palm poses of one hand on one object, and counts why they are no grasps."""

    def __init__(self, asset: Asset, model: HandModel, shape: FloatArray, rng: np.random.Generator) -> None:
        self._solid = Solid.of(asset)
        self._model, self._shape, self._rng = model, clip_shape(shape), rng
        self._sim = HandSim(self._solid, model, self._shape)
        self._forbidden = Solid(tuple(s for s in in_root(asset) if s.part in NOT_GRIPPED))
        weights = [
            0.0 if s.part in NOT_GRIPPED else MOSTLY_GRIPPED.get(s.part, 1.0) for s in self._solid.shapes
        ]
        self._points, self._normals = self._solid.sample(_DRAWS, rng, weights)
        _, joints = model.rest(self._shape)
        knuckles = joints[[JOINT_NAMES.index(f"{finger}1") for finger in FINGERS[:4]]].mean(axis=0)
        along, palm, across = model.palm_frame
        self._frame = np.array([along, palm, across]).T
        self._palm = 0.42 * joints[0] + 0.58 * knuckles
        self._along = along
        self.rejected: Counter[str] = Counter()

    def attempt(self) -> Found | None:
        """Draw a palm pose, close the hand, and return the grasp if it is one."""
        drawn = self._draw()
        if drawn is None:
            return self._reject("too wide there for this arm")
        pos, rot = drawn
        opened, closing = self._preshape()
        back = -rot @ self._frame[:, 1]
        gaps = self._rng.uniform(0.0, _BACK_M) + np.arange(_BACKS) * _BACK_M
        if not any(self._sim.place(pos + gap * back, rot, opened) < _COLLIDES_M for gap in gaps):
            return self._reject("the open hand collides")
        closed = self._sim.close(opened, closing)
        digits = closed.contacts.digits
        if "thumb" not in digits:
            return self._reject("the thumb does not touch")
        if len(digits) < 1 + MIN_FINGERS:
            return self._reject("too few fingers touch")
        if not self._well_placed(closed):
            return self._reject("the forearm points up or down")
        return self._measured(closed)

    def _measured(self, closed: Closed) -> Found | None:
        """Return the grasp if it is tight, shallow, and holds."""
        points, normals = closed.contacts.points, closed.contacts.normals
        some = spread(points)
        space = wrench_space(points[some], normals[some], self._solid.centre_of_mass)
        if space.epsilon < MIN_EPSILON:
            return self._reject("no force closure")
        pose = self._model.pose_of(closed.angles)
        vertices = self._model.pose(pose, self._shape).vertices @ closed.rot.T + closed.pos
        if 1000 * self._solid.depth(vertices).max() > MAX_PENETRATION_MM:
            return self._reject("the hand goes in too deep")
        if self._forbidden.shapes and (self._forbidden.signed_distance(vertices) < 0.004).any():
            return self._reject("the hand touches what nobody grips")
        moved = self._sim.displacements(closed)
        if moved[0] > MAX_DISPLACEMENT_M or moved.max() > KEPT_M:
            return self._reject("the object slips")
        both = hand_overlap(self._solid, self._model, self._shape, pose, (closed.rot, closed.pos))
        quality = quality_of(both, len(points), space, float(moved[0]), len(moved))
        return Found(closed.pos, closed.rot, pose, closed.angles, closed.grip, quality)

    def _draw(self) -> tuple[FloatArray, FloatArray] | None:
        """Return position and rotation of a wrist whose palm faces the object; None where it is too wide."""
        rng = self._rng
        index = rng.integers(len(self._points))
        point, out = self._points[index], self._normals[index]
        out = _tilted(out, rng.normal(0.0, 0.15), rng)
        deep = self._across(point - 1e-4 * out, -out)[1]
        widest = GRIP_M if deep < GRIP_M else EDGE_M
        middle = point - out * min(deep / 2, 0.03)
        helper = np.eye(3)[np.abs(out).argmin()]
        first = np.cross(out, helper)
        first /= np.linalg.norm(first)
        second = np.cross(out, first)
        turns = rng.uniform(0, 2 * math.pi) + np.linspace(0, 2 * math.pi, _ROLLS, endpoint=False)
        best: tuple[float, FloatArray, float] | None = None
        for turn in turns:
            way = np.asarray(math.cos(turn) * first + math.sin(turn) * second, dtype=np.float64)
            thumb_side = self._handed * np.cross(way, -out)
            if not -_STEEPEST_DOWN < -way[2] < _STEEPEST_UP or thumb_side[2] < -_THUMB_DOWN:
                continue
            behind, ahead = self._across(middle, way)
            cost = behind + ahead + 0.02 * rng.uniform()
            if behind + ahead < widest and (best is None or cost < best[0]):
                best = (cost, way, (ahead - behind) / 2)
        if best is None:
            return None
        _, way, off = best
        rot = np.array([way, -out, np.cross(way, -out) * self._handed]).T @ self._frame.T
        at = point + (off - rng.uniform(*_AHEAD_M)) * way
        return at - rot @ (self._palm + _SKIN_M * self._frame[:, 1]), rot

    @property
    def _handed(self) -> float:
        along, palm, across = self._frame.T
        return 1.0 if np.cross(along, palm) @ across > 0 else -1.0

    def _across(self, point: FloatArray, way: FloatArray) -> tuple[float, float]:
        """Return how far (m) the object goes on behind a point and ahead of it, up to 12 cm."""
        steps = np.linspace(0.0, 0.12, 49)
        both = np.concatenate([-steps, steps])
        inside = self._solid.signed_distance(point + both[:, None] * way) < 0
        behind, ahead = (float(steps[np.flatnonzero(half).max(initial=0)]) for half in inside.reshape(2, -1))
        return behind, ahead

    def _preshape(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the angles of the open hand, and those it closes towards."""
        rng = self._rng
        opened, closing = dict.fromkeys(DOFS, 0.0), dict.fromkeys(DOFS, 0.0)
        for finger in FINGERS[:4]:
            apart = rng.uniform(-0.05, 0.12) * (0.0 if finger == "middle" else 1.0)
            opened[f"{finger}_mcp_abduction"] = closing[f"{finger}_mcp_abduction"] = apart
            opened[f"{finger}_mcp_flexion"] = -0.1
            for joint, most in (("mcp", 1.5), ("pip", 1.6), ("dip", 0.9)):
                closing[f"{finger}_{joint}_flexion"] = most * rng.uniform(0.8, 1.2)
        opened["thumb_cmc_flexion"] = -0.3
        opened["thumb_cmc_abduction"] = rng.uniform(0.15, 0.45)
        closing |= {
            "thumb_cmc_flexion": 0.9,
            "thumb_cmc_abduction": rng.uniform(-0.1, 0.45),
            "thumb_cmc_rotation": 0.2,
            "thumb_mcp_flexion": rng.uniform(0.5, 1.2),
            "thumb_ip_flexion": rng.uniform(0.3, 1.2),
        }
        return opened, closing

    def _well_placed(self, closed: Closed) -> bool:
        up = float((-closed.rot @ self._along)[2])
        return -_STEEPEST_DOWN < up < _STEEPEST_UP

    def _reject(self, reason: str) -> None:
        self.rejected[reason] += 1


def _tilted(direction: FloatArray, angle_rad: float, rng: np.random.Generator) -> FloatArray:
    """Return the unit vector turned by an angle in a random plane."""
    side = np.cross(direction, rng.normal(size=3))
    side /= max(float(np.linalg.norm(side)), 1e-9)
    return math.cos(angle_rad) * direction + math.sin(angle_rad) * side
