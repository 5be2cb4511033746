"""How good a grasp is: how deep the hand is in the object, what touches, and which wrenches the contacts resist."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, KDTree, QhullError

from libero_safety.assets.grasps import GraspQuality
from libero_safety.assets.hand import FINGERS, HandModel
from libero_safety.assets.solid import Solid, vertex_normals, winding_number
from libero_safety.types import FloatArray

Place: TypeAlias = tuple[FloatArray, FloatArray]
"""Rotation (3, 3) and position (3,) of one frame in another."""

FRICTION = 0.5
"""Sliding friction assumed for wrenches: less than the 0.8 and more of dry skin, to be on the safe side."""
CONE_EDGES = 8
"""Edges of the pyramid that stands for a friction cone."""
TORQUE_SCALE_M = 0.05
"""A torque of 1 N times this counts as much as a force of 1 N: half the size of a thing that a hand closes around."""
TOUCH_M = 0.003
"""A vertex of the hand this close to the surface, or inside, touches."""
MAX_CONTACTS = 12
"""Contacts that wrenches are taken of; among more, the ones farthest from each other are kept."""
_VOXEL_M = 0.0025
_REACH_M = 0.02
"""Nothing inside the hand is farther than this from its skin."""


@dataclass(frozen=True)
class WrenchSpace:
    """The wrenches that contacts with unit normal forces resist: radius of the largest ball about 0, and volume."""

    epsilon: float
    volume: float


def wrench_space(
    points: FloatArray,
    normals: FloatArray,
    centre: FloatArray,
    *,
    friction: float = FRICTION,
    edges: int = CONE_EDGES,
    torque_scale_m: float = TORQUE_SCALE_M,
) -> WrenchSpace:
    """Return the grasp wrench space of point contacts with friction.

    It is the convex hull of the contacts' cone edges, each with a normal force of 1 (C. Ferrari, J. Canny, "Planning
    optimal grasps", ICRA 1992, the measure Q1).

    Args:
        points: where they are (n, 3), m.
        normals: unit directions (n, 3) in which each contact pushes the object.
        centre: the point (3,) that torques are about.
        friction: sliding friction; 0 leaves each contact its normal force only.
        edges: of the pyramid that stands for a cone.
        torque_scale_m: what torques are divided by.
    """
    wrenches = _wrenches(points, normals, centre, friction, edges) / np.repeat((1.0, torque_scale_m), 3)
    if len(wrenches) < 7 or np.linalg.matrix_rank(wrenches - wrenches.mean(axis=0), tol=1e-9) < 6:
        return WrenchSpace(0.0, 0.0)
    try:
        hull = ConvexHull(wrenches)
    except QhullError:
        return WrenchSpace(0.0, 0.0)
    return WrenchSpace(max(0.0, float(-hull.equations[:, -1].max())), float(hull.volume))


def _wrenches(
    points: FloatArray, normals: FloatArray, centre: FloatArray, friction: float, edges: int
) -> FloatArray:
    """Return force and torque (m, 6) of every edge of every friction cone."""
    helper = np.where(np.abs(normals[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    first = np.cross(normals, helper)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(normals, first)
    angles = np.linspace(0, 2 * math.pi, edges, endpoint=False) if friction > 0 else np.zeros(1)
    sideways = np.cos(angles)[:, None, None] * first + np.sin(angles)[:, None, None] * second
    forces = normals + friction * sideways
    torques = np.cross(np.broadcast_to(points - centre, forces.shape), forces)
    return np.concatenate([forces, torques], axis=2).reshape(-1, 6).astype(np.float64)


def spread(points: FloatArray, count: int = MAX_CONTACTS) -> NDArray[np.int64]:
    """Return the numbers of at most `count` points (n, 3) that are far from each other, the first point among them."""
    chosen = [0]
    distance = np.full(len(points), np.inf)
    while len(chosen) < min(count, len(points)):
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
        chosen.append(int(distance.argmax()))
    return np.array(chosen)


@dataclass(frozen=True)
class Overlap:
    """Depths (mm) of a hand in an object, the volume (cm^3) that they share, and what of the hand touches."""

    max_penetration_mm: float
    mean_penetration_mm: float
    volume_cm3: float
    contact_ratio: float
    fingers: int


def overlap(
    solid: Solid,
    vertices: FloatArray,
    faces: NDArray[np.int32],
    digits: Mapping[str, NDArray[np.int64]],
    hand: NDArray[np.int64],
) -> Overlap:
    """Measure a posed hand against an object in one frame.

    Args:
        solid: the object.
        vertices: of the hand (n, 3), m.
        faces: of the hand, closed, (m, 3).
        digits: of each digit the numbers of its vertices.
        hand: numbers of the vertices of the hand without the forearm.
    """
    distance = solid.signed_distance(vertices)
    depth = solid.depth(vertices)
    sunk = depth[depth > 0]
    return Overlap(
        1000 * float(sunk.max(initial=0.0)),
        1000 * float(sunk.mean()) if len(sunk) else 0.0,
        1e6 * shared_volume_m3(solid, vertices, faces),
        float((distance[hand] < TOUCH_M).mean()),
        sum(bool((distance[numbers] < TOUCH_M).any()) for numbers in digits.values()),
    )


def hand_overlap(
    solid: Solid, model: HandModel, shape: FloatArray, pose: FloatArray, place: Place
) -> Overlap:
    """Measure a hand in a pose; `place` is rotation and position of its frame in that of the object."""
    turn, at = place
    vertices = model.pose(pose, shape).vertices @ turn.T + at
    mostly = model.weights.argmax(axis=1)
    digits = {
        name: np.flatnonzero((mostly > 3 * k) & (mostly <= 3 * k + 3)).astype(np.int64)
        for k, name in enumerate(FINGERS)
    }
    hand = np.flatnonzero(model.rest(shape)[0] @ model.palm_frame[0] > 0.0).astype(np.int64)
    return overlap(solid, vertices, model.faces, digits, hand)


def shared_volume_m3(solid: Solid, vertices: FloatArray, faces: NDArray[np.int32]) -> float:
    """Return the volume that a closed mesh and a solid share, counted in voxels of 2.5 mm."""
    low = np.maximum(vertices.min(axis=0), solid.box[0])
    high = np.minimum(vertices.max(axis=0), solid.box[1])
    if (low >= high).any():
        return 0.0
    axes = [np.arange(a + _VOXEL_M / 2, b, _VOXEL_M) for a, b in zip(low, high, strict=True)]
    voxels = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    voxels = voxels[solid.signed_distance(voxels) < 0]
    # Most voxels lie in front of the skin nearest to them: those are not inside, and need no exact answer.
    found = KDTree(vertices).query(voxels, distance_upper_bound=_REACH_M)
    distance, nearest = np.asarray(found[0]), np.asarray(found[1])
    voxels, nearest = voxels[distance < _REACH_M], nearest[distance < _REACH_M]
    before = np.einsum("ij,ij->i", voxels - vertices[nearest], vertex_normals(vertices, faces)[nearest])
    inside = winding_number(voxels[before < _VOXEL_M], vertices, faces) > 0.5
    return float(inside.sum()) * _VOXEL_M**3


def quality_of(
    both: Overlap, contacts: int, wrenches: WrenchSpace, displacement_m: float, lifts: int
) -> GraspQuality:
    """Put together what was measured of one grasp."""
    return GraspQuality(
        both.max_penetration_mm,
        both.mean_penetration_mm,
        both.volume_cm3,
        both.contact_ratio,
        both.fingers,
        contacts,
        wrenches.epsilon,
        wrenches.volume,
        1000 * displacement_m,
        lifts,
    )
