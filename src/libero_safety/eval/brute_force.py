"""An independent look at contacts: points all over one surface against the inside of the other, at every physics step.

Nothing here asks the simulator about contacts or distances, and no margin is kept: only where things are is taken
from it. It is slow, and finds what a collision check with a wrong margin, a wrong pair or a wrong time would miss.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

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
NEAR_M = 0.05
"""Pairs of shapes that are further apart than this are not measured."""
FAR_M = 0.1
"""How far apart two shapes are is known up to this."""
SPARE_M = 0.03
"""Way that geoms may go before it is looked again which of them are near."""
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
        outside: how far outside points (n, 3) are at least; negative inside. It changes no faster than the point.
    """

    points: FloatArray
    outside: Callable[[FloatArray], FloatArray]

    @cached_property
    def box(self) -> tuple[FloatArray, FloatArray]:
        """Centre and half sizes of a box that holds it (m)."""
        if not len(self.points):
            return np.zeros(3), np.full(3, np.inf)
        low, high = self.points.min(axis=0) - SPACING_M, self.points.max(axis=0) + SPACING_M
        return (low + high) / 2.0, (high - low) / 2.0


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
        return _hull(np.array(model.mesh_vert[start : start + count], np.float64).tobytes())
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
        return _hull(corners.tobytes())
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

    A pair is measured anew when it may be nearer than the nearest so far. It cannot be while the shapes have shifted
    and turned less, seen from each other, than they were apart when they were measured: so nothing is left out.

    Attributes:
        overlaps: the first of each rule, in the order in which they were found.
        nearest_m: no two were nearer to each other than this, at most `NEAR_M`; negative when they shared space.
        nearest: which two those were and when, in words; empty when all were further apart than `NEAR_M`.
        physics_steps: how many were looked at.
    """

    def __init__(self, scene: Scene) -> None:
        """Prepare the shapes of everything that a contact or clearance rule is about."""
        self._model = scene.model
        self._solids: dict[int, Solid] = {}
        self._pairs = _Pairs(scene.model, _rules(scene))
        self.overlaps: list[Overlap] = []
        self.nearest_m, self.nearest = NEAR_M, ""
        self.physics_steps = 0

    def after_substep(self, scene: Scene, data: mujoco.MjData) -> None:
        """Look at the shapes as they are."""
        self.physics_steps += 1
        for pair in self._pairs.to_measure(data, max(self.nearest_m, -DEEP_M)):
            asked = [
                rule for rule in pair.rules if not rule.broken and (rule.held is None or rule.held(data))
            ]
            if not asked:
                continue
            a, b = pair.geoms
            outside = self._outside(data, a, b), self._outside(data, b, a)
            self._pairs.note(pair, outside)
            nearest_m = min(outside)
            first, second = (self._model.geom(geom).name for geom in pair.geoms)
            if nearest_m < self.nearest_m:
                self.nearest_m, self.nearest = nearest_m, f"{first} and {second} at {data.time:.3f} s"
            if -nearest_m > DEEP_M:
                for rule in asked:
                    rule.broken = True
                    self.overlaps.append(Overlap(rule.name, float(data.time), first, second, -nearest_m))

    def _outside(self, data: mujoco.MjData, a: int, b: int) -> float:
        """Return how far the nearest point of `a` is outside `b`; at most `FAR_M`."""
        mine, other = self._solid(a), self._solid(b)
        turn, place = _seen_from(data, np.array([a]), np.array([b]))
        points = mine.points @ turn[0].T + place[0]
        centre, half = other.box
        near = points[(np.abs(points - centre) - half < FAR_M).all(axis=1)]
        return min(FAR_M, float(other.outside(near).min())) if len(near) else FAR_M

    def _solid(self, geom: int) -> Solid:
        if geom not in self._solids:
            self._solids[geom] = solid_of(self._model, geom)
        return self._solids[geom]


@dataclass(eq=False)
class _Rule:
    """What one rule keeps apart.

    Attributes:
        held: whether it applies now; None when it always does.
        broken: whether an overlap was found.
    """

    name: str
    first: IntArray
    second: IntArray
    held: predicate.Check | None
    broken: bool = False


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two geoms, and the rules that keep them apart; `row` is its place among the pairs that are near now."""

    index: int
    geoms: tuple[int, int]
    rules: Sequence[_Rule]
    row: int


class _Pairs:
    """Tells which pairs of shapes may be near."""

    def __init__(self, model: mujoco.MjModel, rules: Sequence[_Rule]) -> None:
        found: dict[tuple[int, int], list[_Rule]] = {}
        for rule in rules:
            for geoms in product(rule.first.tolist(), rule.second.tolist()):
                found.setdefault(geoms, []).append(rule)
        self._rules = list(found.values())
        self._geoms = np.array(list(found), np.int64).reshape(-1, 2)
        radius = np.array(model.geom_rbound)
        plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        self._reach = np.where(plane, 0.0, radius)[self._geoms]
        self._radii = np.where(plane, np.inf, radius)[self._geoms].sum(axis=1)
        self._listed_at = np.full((model.ngeom, 3), np.inf)
        self._near = np.arange(len(self._geoms))
        # Of each pair as it was measured last, each of the two seen from the other.
        self._outside = np.full((len(self._geoms), 2), -np.inf)
        self._turn = np.zeros((len(self._geoms), 3, 3))
        self._place = np.zeros((len(self._geoms), 2, 3))
        self._now = self._turn, self._place

    def to_measure(self, data: mujoco.MjData, below_m: float) -> list[_Pair]:
        """Return the pairs that may be nearer than `below_m`, which is at most `NEAR_M`."""
        self._list(np.array(data.geom_xpos))
        near = self._near
        if not len(near):
            return []
        a, b = self._geoms[near].T
        turn, place = _seen_from(data, a, b)
        _, back = _seen_from(data, b, a)
        self._now = turn, np.stack([place, back], axis=1)
        turned = np.linalg.norm(turn - self._turn[near], axis=(1, 2))
        shifted = np.linalg.norm(self._now[1] - self._place[near], axis=2)
        apart = (self._outside[near] - shifted - turned[:, None] * self._reach[near]).min(axis=1)
        spheres = np.linalg.norm(place, axis=1) - self._radii[near]
        rows = np.flatnonzero(np.maximum(apart, spheres) < below_m).tolist()
        return [
            _Pair(int(near[row]), (int(a[row]), int(b[row])), self._rules[near[row]], row) for row in rows
        ]

    def note(self, pair: _Pair, outside_m: tuple[float, float]) -> None:
        """Keep how far the first was outside the second, and the second outside the first, as they are now."""
        self._outside[pair.index] = outside_m
        self._turn[pair.index] = self._now[0][pair.row]
        self._place[pair.index] = self._now[1][pair.row]

    def _list(self, at: FloatArray) -> None:
        """List the pairs whose bounding spheres are near, or may be before they are listed again."""
        moved = np.linalg.norm(at - self._listed_at, axis=1)[self._geoms].max(axis=0, initial=0.0)
        if moved.sum() <= SPARE_M:
            return
        self._listed_at = at
        gaps = np.linalg.norm(at[self._geoms[:, 0]] - at[self._geoms[:, 1]], axis=1) - self._radii
        self._near = np.flatnonzero(gaps < NEAR_M + SPARE_M)


def _seen_from(data: mujoco.MjData, geoms: IntArray, others: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how each geom is turned (n, 3, 3) and where it is (n, 3), in the frame of another."""
    frames = data.geom_xmat[others].reshape(-1, 3, 3).transpose(0, 2, 1)
    turn = frames @ data.geom_xmat[geoms].reshape(-1, 3, 3)
    return turn, (frames @ (data.geom_xpos[geoms] - data.geom_xpos[others])[:, :, None])[:, :, 0]


def _rules(scene: Scene) -> list[_Rule]:
    """Return what each contact or clearance rule keeps apart."""
    found: list[_Rule] = []
    for rule in scene.scenario.constraints:
        if rule.word not in ("NoContact", "MinClearance"):
            continue
        first, second = rule.args
        if second == "held":
            first, second = second, first
        name = f"({rule.word} {first} {second})"
        others = scene.geoms(second)
        if first != "held":
            found.append(_Rule(name, scene.geoms(first), others, None))
            continue
        moving = {hazard.entity for hazard in scene.hazards} | {second.partition(".")[0]}
        found += [
            _Rule(f"{name} {thing.name}", thing.geoms, others, predicate.grasped(scene, thing.name))
            for thing in scene.entities.values()
            if thing.qpos is not None and thing.name not in moving
        ]
    return found


@lru_cache(maxsize=1024)
def _hull(content: bytes) -> Solid:
    """Return the convex hull of vertices (n, 3); the robot's are those of every scene."""
    vertices = np.frombuffer(content, np.float64).reshape(-1, 3)
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
