"""Signed distance to what of an asset can be felt, and points on its surface.

A solid is a union of pieces. Distances to boxes, spheres, cylinders, capsules and ellipsoids are exact on both sides;
those to a mesh are to its convex hull, exact inside and beside a face, and too small beside an edge outside. Outside a
union its distance is that to the nearest piece; inside, the depth in the deepest piece, at most the true depth, which
`depth` has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, KDTree

from libero_safety.assets.asset import Asset, Shape
from libero_safety.assets.geometry import in_root, rotation, shape_bounds, volume_m3
from libero_safety.numba_cache import njit
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key

_BISECTIONS = 45
"""Halvings in the distance to an ellipsoid: the first bracket is some decimetres, the last far below a nanometre."""
_STEP_M = 1e-6
"""Half the base of the difference quotients of a normal."""
_LIFT_M = 1e-5
"""A surface point that is inside another piece when lifted this far is no surface of the union."""
_SKIN_POINTS = 20_000
"""Points that stand for a surface: on a can about a millimetre apart."""


@dataclass(frozen=True, eq=False)
class Solid:
    """Convex pieces in one frame, as one body."""

    shapes: tuple[Shape, ...]

    @classmethod
    def of(cls, asset: Asset) -> "Solid":
        """Return what of an asset collides, in its root frame, all joints at zero."""
        return cls(tuple(in_root(asset)))

    def signed_distance(self, points: FloatArray) -> FloatArray:
        """Return the distance (n,) in metres of points (n, 3), negative inside."""
        distance = np.full(len(points), np.inf)
        for shape, (centre, radius) in zip(self.shapes, self._balls, strict=True):
            bound = np.linalg.norm(points - centre, axis=1) - radius
            near = (bound < distance) & ((distance > 0) | (bound < 0))
            if near.any():
                found = signed_distance(shape, points[near])
                distance[near] = np.minimum(distance[near], found)
        return distance

    def normals(self, points: FloatArray) -> FloatArray:
        """Return the unit direction (n, 3) in which the distance grows at points (n, 3), by central differences."""
        steps = _STEP_M * np.concatenate([np.eye(3), -np.eye(3)])
        around = (points[:, None, :] + steps).reshape(-1, 3)
        values = self.signed_distance(around).reshape(-1, 2, 3)
        gradient = values[:, 0] - values[:, 1]
        return gradient / np.maximum(np.linalg.norm(gradient, axis=1, keepdims=True), 1e-12)

    def sample(
        self, count: int, rng: np.random.Generator, weights: Sequence[float] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return about `count` points (m, 3), spread evenly over the surface, and their outward normals (m, 3).

        Points that lie inside another piece are left out, so that fewer come back where pieces overlap. With `weights`
        that many times as many points per area fall on each piece.
        """
        areas = np.array([_area(s) for s in self.shapes]) * (1.0 if weights is None else np.asarray(weights))
        shares = rng.multinomial(count, areas / areas.sum())
        points: list[FloatArray] = []
        normals: list[FloatArray] = []
        for index, (shape, number) in enumerate(zip(self.shapes, shares, strict=True)):
            local, out = _SAMPLERS[shape.kind](shape, int(number), rng)
            turn = rotation(shape.quat)
            there = local @ turn.T + np.asarray(shape.pos)
            others = Solid(self.shapes[:index] + self.shapes[index + 1 :])
            out = out @ turn.T
            shown = others.signed_distance(there + _LIFT_M * out) > 0
            points.append(there[shown])
            normals.append(out[shown])
        return np.concatenate(points), np.concatenate(normals)

    def depth(self, points: FloatArray) -> FloatArray:
        """Return how far (n,) inside (m) points (n, 3) are, 0 outside; to the nearest of many points of the surface."""
        found = np.zeros(len(points))
        inside = self.signed_distance(points) < 0
        if inside.any():
            found[inside] = self._skin.query(points[inside])[0]
        return found

    @cached_property
    def centre_of_mass(self) -> FloatArray:
        """Centre of mass (3,), overlaps counted twice, as MuJoCo does."""
        weights = np.array([volume_m3(s) * s.density for s in self.shapes])
        centres = np.array([_middle(s) for s in self.shapes])
        return weights @ centres / weights.sum()

    @cached_property
    def mass_kg(self) -> float:
        """Mass, overlaps counted twice, as MuJoCo does."""
        return sum(volume_m3(s) * s.density for s in self.shapes)

    @cached_property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest corner (3,) of the axis-aligned box around it."""
        low, high = shape_bounds(list(self.shapes))
        return np.asarray(low), np.asarray(high)

    @cached_property
    def _skin(self) -> KDTree:
        return KDTree(self.sample(_SKIN_POINTS, rng_for(Key("", "", 0, 0, 0), "skin"))[0])

    @cached_property
    def _balls(self) -> list[tuple[FloatArray, float]]:
        """Centre and radius of a ball around each piece."""
        balls: list[tuple[FloatArray, float]] = []
        for shape in self.shapes:
            low, high = (np.asarray(corner) for corner in shape_bounds([shape]))
            balls.append(((low + high) / 2, float(np.linalg.norm(high - low)) / 2))
        return balls


def signed_distance(shape: Shape, points: FloatArray) -> FloatArray:
    """Return the distance (n,) in metres of points (n, 3) to one piece, negative inside."""
    local = (points - np.asarray(shape.pos)) @ rotation(shape.quat)
    size = shape.size
    if shape.kind == "sphere":
        return np.linalg.norm(local, axis=1) - size[0]
    if shape.kind == "capsule":
        local[:, 2] -= np.clip(local[:, 2], -size[1], size[1])
        return np.linalg.norm(local, axis=1) - size[0]
    if shape.kind == "ellipsoid":
        return _to_ellipsoid(np.asarray(size), local)
    if shape.kind == "mesh":
        planes = _hull(shape).equations
        return (local @ planes[:, :3].T + planes[:, 3]).max(axis=1)
    if shape.kind == "box":
        beyond = np.abs(local) - np.asarray(size)
    else:
        radial = np.hypot(local[:, 0], local[:, 1])
        beyond = np.column_stack([radial - size[0], np.abs(local[:, 2]) - size[1]])
    return np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)


def _to_ellipsoid(half: FloatArray, points: FloatArray) -> FloatArray:
    """Return the distance to an ellipsoid: the foot (half^2 p / (t + half^2)) for the t that puts it on the surface.

    The largest root of the function of t is bracketed and halved (D. Eberly, "Distance from a point to an ellipse, an
    ellipsoid, or a hyperellipsoid").
    """
    p = np.maximum(np.abs(points), 1e-9 * half)  # off the planes of symmetry, where the foot is not unique
    square = half**2
    low = np.max(half * p - square, axis=1)
    high = np.linalg.norm(half * p, axis=1) - square.min()
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        beyond = np.square(half * p / (t[:, None] + square)).sum(axis=1) > 1
        low, high = np.where(beyond, t, low), np.where(beyond, high, t)
    foot = square * p / (high[:, None] + square)
    inside = np.square(p / half).sum(axis=1) < 1
    return np.where(inside, -1.0, 1.0) * np.linalg.norm(p - foot, axis=1)


def _hull(shape: Shape) -> ConvexHull:
    assert shape.mesh is not None
    return ConvexHull(shape.mesh.vertices)


def _middle(shape: Shape) -> FloatArray:
    if shape.mesh is None:
        return np.asarray(shape.pos)
    corners = shape.mesh.vertices[shape.mesh.faces]
    volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    centre = volumes @ corners.sum(axis=1) / (4 * volumes.sum())
    return rotation(shape.quat) @ centre + np.asarray(shape.pos)


def _area(shape: Shape) -> float:
    """Return the surface of one piece (m^2); an ellipsoid's by K. Thomsen's formula, within 1.1 %."""
    size = shape.size
    if shape.kind == "box":
        return 8 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0])
    if shape.kind == "sphere":
        return 4 * math.pi * size[0] ** 2
    if shape.kind == "cylinder":
        return 2 * math.pi * size[0] * (size[0] + 2 * size[1])
    if shape.kind == "capsule":
        return 4 * math.pi * size[0] * (size[0] + size[1])
    if shape.kind == "ellipsoid":
        a, b, c = (v**1.6075 for v in size)
        return 4 * math.pi * ((a * b + b * c + c * a) / 3) ** (1 / 1.6075)
    return float(_hull(shape).area)


def _directions(count: int, rng: np.random.Generator) -> FloatArray:
    draws = rng.normal(size=(count, 3))
    return draws / np.linalg.norm(draws, axis=1, keepdims=True)


def _on_box(shape: Shape, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    half = np.asarray(shape.size)
    areas = half.prod() / half
    axis = rng.choice(3, count, p=areas / areas.sum())
    normals = np.zeros((count, 3))
    normals[np.arange(count), axis] = rng.choice((-1.0, 1.0), count)
    points = rng.uniform(-1, 1, (count, 3)) * half
    return np.where(normals != 0, normals * half, points), normals


def _on_sphere(shape: Shape, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    normals = _directions(count, rng)
    return normals * shape.size[0], normals


def _on_cylinder(shape: Shape, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    radius, half = shape.size
    angle = rng.uniform(0, 2 * math.pi, count)
    around = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(count)])
    side = rng.uniform(size=count) < 2 * half / (2 * half + radius)
    end = np.outer(rng.choice((-1.0, 1.0), count), (0.0, 0.0, 1.0))
    on_side = around * radius + np.outer(rng.uniform(-half, half, count), (0.0, 0.0, 1.0))
    on_end = around * (radius * np.sqrt(rng.uniform(size=(count, 1)))) + end * half
    return np.where(side[:, None], on_side, on_end), np.where(side[:, None], around, end)


def _on_capsule(shape: Shape, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    radius, half = shape.size
    normals = _directions(count, rng)
    side = rng.uniform(size=count) < half / (half + radius)
    flat = normals * (1.0, 1.0, 0.0)
    normals[side] = (flat / np.linalg.norm(flat, axis=1, keepdims=True))[side]
    along = np.where(side, rng.uniform(-half, half, count), half * np.sign(normals[:, 2]))
    return normals * radius + np.outer(along, (0.0, 0.0, 1.0)), normals


def _on_ellipsoid(shape: Shape, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    half = np.asarray(shape.size)
    kept: list[FloatArray] = [np.zeros((0, 3))]
    while sum(map(len, kept)) < count:
        ball = _directions(2 * count + 8, rng)
        stretch = np.linalg.norm(ball / half, axis=1) * half.min()
        kept.append(ball[rng.uniform(size=len(ball)) < stretch])
    ball = np.concatenate(kept)[:count]
    normals = ball / half
    return ball * half, normals / np.linalg.norm(normals, axis=1, keepdims=True)


def _on_mesh(shape: Shape, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    hull = _hull(shape)
    corners = hull.points[hull.simplices]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    face = rng.choice(len(areas), count, p=areas / areas.sum())
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    return np.einsum("ij,ijk->ik", weights, corners[face]), hull.equations[face, :3]


_SAMPLERS = {
    "box": _on_box,
    "sphere": _on_sphere,
    "cylinder": _on_cylinder,
    "capsule": _on_capsule,
    "ellipsoid": _on_ellipsoid,
    "mesh": _on_mesh,
}


def winding_number(points: FloatArray, vertices: FloatArray, faces: NDArray[np.int32]) -> FloatArray:
    """Return the winding number (n,) of a closed mesh about points: 1 inside, 0 outside, 2 where it overlaps itself.

    Sum of the solid angles of the triangles (A. van Oosterom, J. Strackee, "The solid angle of a plane triangle").
    """
    return _winding(points, vertices[faces])


@njit
def _winding(points: FloatArray, triangles: FloatArray) -> FloatArray:
    numbers = np.zeros(len(points))
    for i in range(len(points)):
        px, py, pz = points[i]
        for t in range(len(triangles)):
            ax, ay, az = triangles[t, 0, 0] - px, triangles[t, 0, 1] - py, triangles[t, 0, 2] - pz
            bx, by, bz = triangles[t, 1, 0] - px, triangles[t, 1, 1] - py, triangles[t, 1, 2] - pz
            cx, cy, cz = triangles[t, 2, 0] - px, triangles[t, 2, 1] - py, triangles[t, 2, 2] - pz
            la = math.sqrt(ax * ax + ay * ay + az * az)
            lb = math.sqrt(bx * bx + by * by + bz * bz)
            lc = math.sqrt(cx * cx + cy * cy + cz * cz)
            triple = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
            ab, bc, ca = (
                ax * bx + ay * by + az * bz,
                bx * cx + by * cy + bz * cz,
                cx * ax + cy * ay + cz * az,
            )
            numbers[i] += math.atan2(triple, la * lb * lc + ab * lc + bc * la + ca * lb)
    return numbers / (2 * math.pi)


def vertex_normals(vertices: FloatArray, faces: NDArray[np.int32]) -> FloatArray:
    """Return the outward unit normal (n, 3) at each vertex of a mesh: the mean over its faces, weighed by area."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    total = np.zeros_like(vertices)
    for corner in range(3):
        np.add.at(total, faces[:, corner], normal)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
