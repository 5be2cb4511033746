"""An independent look at contacts: points all over one surface against the inside of the other, at every physics step.

Nothing here asks the simulator about contacts or distances, and no margin is kept: only where things are is taken
from it. It is slow, and finds what a collision check with a wrong margin, a wrong pair or a wrong time would miss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from libero_safety.sim import predicate
from libero_safety.sim.scene import IntArray, Scene
from libero_safety.types import FloatArray

SPACING_M = 0.002
"""Distance between points on a surface."""
DEEP_M = 2e-4
"""How far a point must be inside to count: the rounding of touching faces is less."""
NEAR_M = 0.01
"""Pairs of shapes whose bounding spheres are further apart than this are not looked at."""
MOST_POINTS = 6000


@dataclass(frozen=True)
class Overlap:
    """Two that a rule keeps apart share space.

    Attributes:
        time_s: when it was first seen.
        first: name of the geom that moves; `second` of the other.
        depth_m: how deep a point of one is inside the other.
    """

    rule: str
    time_s: float
    first: str
    second: str
    depth_m: float


@dataclass(frozen=True, eq=False)
class Solid:
    """One convex shape in its own frame.

    Attributes:
        points: (n, 3) all over its surface (m).
        outside: how far outside points (n, 3) are at least; negative inside.
    """

    points: FloatArray
    outside: Callable[[FloatArray], FloatArray]


def solid_of(model: mujoco.MjModel, geom: int) -> Solid:
    """Return the shape of a geom.

    Raises:
        ValueError: a kind of shape that nothing here is made of.
    """
    size = np.array(model.geom_size[geom])
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        return _hull(np.array(model.mesh_vert[start : start + count], np.float64))
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
        return _hull(corners)
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        radius, half = float(size[0]), float(size[1])
        return Solid(
            _cylinder(radius, half),
            lambda p: np.maximum(np.hypot(p[:, 0], p[:, 1]) - radius, np.abs(p[:, 2]) - half),
        )
    if kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_SPHERE):
        radius = float(size[0])
        half = float(size[1]) if kind == mujoco.mjtGeom.mjGEOM_CAPSULE else 0.0
        return Solid(_capsule(radius, half), lambda p: _from_segment(p, half) - radius)
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return Solid(
            _ball(1.0, float(size.max())) * size,
            lambda p: (np.linalg.norm(p / size, axis=1) - 1.0) * size.min(),
        )
    if kind == mujoco.mjtGeom.mjGEOM_PLANE:
        return Solid(np.empty((0, 3)), lambda p: p[:, 2])
    raise ValueError(f"geom {geom} is a {kind.name}")


class BruteForce:
    """Looks at every physics step; a `SubstepHook`.

    Attributes:
        overlaps: the first of each rule, in the order in which they were found.
        nearest_m: smallest distance by which a point of one was outside the other, of pairs that came near.
    """

    def __init__(self, scene: Scene) -> None:
        """Prepare the shapes of everything that a contact or clearance rule is about."""
        self._scene = scene
        self._solids: dict[int, Solid] = {}
        self._rules = [(name, *pair) for name, pair in _pairs(scene)]
        self.overlaps: list[Overlap] = []
        self.nearest_m = NEAR_M

    def after_substep(self, scene: Scene, data: mujoco.MjData) -> None:
        """Look at the shapes as they are."""
        for name, first, second, is_held in self._rules:
            if any(overlap.rule == name for overlap in self.overlaps):
                continue
            for a, b in self._near(data, first, second):
                if is_held is not None and not is_held(data):
                    break
                depth = self._depth(data, a, b)
                self.nearest_m = min(self.nearest_m, -depth)
                if depth > DEEP_M:
                    model = scene.model
                    found = Overlap(name, float(data.time), model.geom(a).name, model.geom(b).name, depth)
                    self.overlaps.append(found)
                    break

    def _near(self, data: mujoco.MjData, first: IntArray, second: IntArray) -> list[tuple[int, int]]:
        bounds = self._scene.model.geom_rbound
        ways = data.geom_xpos[first][:, None] - data.geom_xpos[second][None]
        gaps = np.linalg.norm(ways, axis=2) - bounds[first][:, None] - bounds[second][None]
        return [(int(first[i]), int(second[j])) for i, j in np.argwhere(gaps < NEAR_M)]

    def _depth(self, data: mujoco.MjData, a: int, b: int) -> float:
        """Return how deep the deepest point of either is in the other; negative when they are apart."""
        return max(self._inside(data, a, b), self._inside(data, b, a))

    def _inside(self, data: mujoco.MjData, a: int, b: int) -> float:
        mine, other = self._solid(a), self._solid(b)
        if not len(mine.points):
            return -NEAR_M
        rotation, turned = (data.geom_xmat[g].reshape(3, 3) for g in (a, b))
        world = mine.points @ rotation.T + data.geom_xpos[a]
        return -float(other.outside((world - data.geom_xpos[b]) @ turned).min())

    def _solid(self, geom: int) -> Solid:
        if geom not in self._solids:
            self._solids[geom] = solid_of(self._scene.model, geom)
        return self._solids[geom]


_Rule = tuple[IntArray, IntArray, predicate.Check | None]


def _pairs(scene: Scene) -> list[tuple[str, _Rule]]:
    """Return what each contact or clearance rule keeps apart, by the rule's words."""
    found: list[tuple[str, _Rule]] = []
    for rule in scene.scenario.constraints:
        if rule.word not in ("NoContact", "MinClearance"):
            continue
        first, second = rule.args
        if second == "held":
            first, second = second, first
        name = f"({rule.word} {first} {second})"
        others = scene.geoms(second)
        if first != "held":
            found.append((name, (scene.geoms(first), others, None)))
            continue
        moving = {hazard.entity for hazard in scene.hazards} | {second.partition(".")[0]}
        found += [
            (f"{name} {thing.name}", (thing.geoms, others, predicate.grasped(scene, thing.name)))
            for thing in scene.entities.values()
            if thing.qpos is not None and thing.name not in moving
        ]
    return found


def _hull(vertices: FloatArray) -> Solid:
    hull = ConvexHull(vertices)
    planes = np.unique(np.round(hull.equations, 9), axis=0)
    points = np.concatenate([_triangle(vertices[face]) for face in hull.simplices])
    return Solid(_thinned(points), lambda p: (p @ planes[:, :3].T + planes[:, 3]).max(axis=1))


def _triangle(corners: FloatArray) -> FloatArray:
    """Points on a triangle, its edges and corners among them."""
    longest = max(float(np.linalg.norm(corners[i] - corners[i - 1])) for i in range(3))
    weights = _weights(max(1, int(np.ceil(longest / SPACING_M))))
    return weights @ corners


@lru_cache(maxsize=256)
def _weights(count: int) -> FloatArray:
    i, j = np.array([(i, j) for i in range(count + 1) for j in range(count + 1 - i)], np.float64).T / count
    return np.stack([i, j, 1.0 - i - j], axis=1)


def _thinned(points: FloatArray) -> FloatArray:
    """Return points no more than needed: one for each cell of half the spacing, or every n-th of too many."""
    _, first = np.unique(np.round(points / (SPACING_M / 2.0)), axis=0, return_index=True)
    kept = points[np.sort(first)]
    return kept[:: max(1, len(kept) // MOST_POINTS)]


def _ball(radius: float, scale_m: float | None = None) -> FloatArray:
    """Points on a sphere, evenly (a Fibonacci lattice)."""
    area = 4.0 * np.pi * (scale_m or radius) ** 2
    count = int(np.clip(area / SPACING_M**2, 50, MOST_POINTS))
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    around = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
    flat = np.sqrt(1.0 - z * z)
    return radius * np.stack([flat * np.cos(around), flat * np.sin(around), z], axis=1)


def _rings(radius: float, half: float) -> FloatArray:
    around = np.linspace(0.0, 2.0 * np.pi, max(8, int(2.0 * np.pi * radius / SPACING_M)), endpoint=False)
    heights = np.linspace(-half, half, max(2, int(2.0 * half / SPACING_M) + 1))
    ring = radius * np.stack([np.cos(around), np.sin(around)], axis=1)
    return np.concatenate([np.column_stack([ring, np.full(len(ring), z)]) for z in heights])


def _cylinder(radius: float, half: float) -> FloatArray:
    steps = np.linspace(0.0, radius, max(2, int(radius / SPACING_M) + 1))
    caps = [_rings(float(r), half)[[0]] if r == 0.0 else _rings(float(r), half) for r in steps[:-1]]
    discs = [cap[np.abs(np.abs(cap[:, 2]) - half) < 1e-12] for cap in caps]
    return np.concatenate([_rings(radius, half), *discs])


def _capsule(radius: float, half: float) -> FloatArray:
    ball = _ball(radius)
    ends = [ball[ball[:, 2] * side >= 0.0] + [0.0, 0.0, side * half] for side in (1.0, -1.0)]
    return np.concatenate([_rings(radius, half), *ends] if half else ends)


def _from_segment(points: FloatArray, half: float) -> FloatArray:
    above = points[:, 2] - np.clip(points[:, 2], -half, half)
    return np.sqrt(points[:, 0] ** 2 + points[:, 1] ** 2 + above**2)
