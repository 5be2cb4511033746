"""Planning where the robot is commanded: in the space of its tip, with the joints that go with a tip pose.

The controller follows the tip; the elbow goes where the controller pulls it (`Arm.natural`). So the straight way is
tried first, then ways with a corner or two over the top or aside, the shortest first, and only then is anything
searched for at random.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.plan import lead, rrt
from libero_safety.plan.check import Query
from libero_safety.plan.problem import Hinge, Path, PlanFailed, Problem, Straight
from libero_safety.plan.rrt import Node
from libero_safety.types import FloatArray

NAME = "tip"
LIFTS_M = (0.04, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3)
"""How far above both ends a way over the top goes."""
ASIDE_M = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
ASIDE_RAD = tuple(np.deg2rad([0.0, 45.0, -45.0, 90.0, -90.0]))
ASIDE_SHARES = (0.5, 0.3, 0.7)
"""A way with one corner has it at one of these shares of the straight way, so far beside it, in a direction that is
upwards turned by one of these angles about the straight way."""
RAD_PER_M = 5.0
"""Turning by this much is as far as moving by a metre."""
JUMP_RAD = 0.3
"""A joint that moves by more than this within a step is one whose elbow flips."""

_COARSE_M, _COARSE_RAD = 0.02, 0.1
_STRIDE_M = 0.15
_SPREAD_M = 0.35
_STEEP = 0.8
_SHORTCUTS, _FEW_SHORTCUTS = 25, 6


class TipPlanner:
    """Straight, else over the top, else RRT-Connect over tip poses.

    The same problem with the same seed gives the same path, however busy the machine is.
    """

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path of natural joints, a row for every centimetre of the tip's way; see `Planner`.

        Its last row has the tip of a goal, and the joints that are natural there.
        """
        query = Query.of(problem, NAME)
        if isinstance(query, PlanFailed):
            return query
        search = _Search(query)
        if isinstance(problem.constraint, Straight | Hinge):
            return search.led(problem.constraint)
        return search.free_way()


class _Search:
    """One problem. Points are (6,): position, and rotation vector against the start over RAD_PER_M; in metres."""

    def __init__(self, query: Query) -> None:
        self._query, self._world, self._arm = query, query.world, query.world.arm
        self._rng = np.random.default_rng(query.problem.seed)
        self._start = query.start
        self._pos, self._rot = self._arm.fk(self._start)

    def led(self, constraint: Straight | Hinge) -> Path | PlanFailed:
        """Follow the line or the arc to the first goal to which that works."""
        why = "the arm cannot follow the line"
        for goal in self._query.goals:
            ends = (self._pos, self._rot, *self._arm.fk(goal))
            poses = lead.arc(*ends, constraint) if isinstance(constraint, Hinge) else lead.line(*ends)
            if poses is None:
                why = "no goal lies where the hinge takes the gripper"
                continue
            rows = self._natural_rows(self._start, *poses)
            if rows is None:
                continue
            rows = np.concatenate([self._start[None], rows])
            hit = self._world.first_hit(rows)
            if hit is None:
                return self._query.found(rows)
            why = f"on the way {hit.names[0]} is too near to {hit.names[1]}"
        return PlanFailed("constraint", why)

    def free_way(self) -> Path | PlanFailed:
        """Find a way to any of the goals."""
        query, goals = self._query, self._query.goals
        ends = [self._point(*self._arm.fk(goal)) for goal in goals]
        settled = [self._natural(end, goal) for end, goal in zip(ends, goals, strict=True)]
        nodes = [
            Node(end, joints)
            for end, joints in zip(ends, settled, strict=True)
            if joints is not None and self._world.free(joints)
        ]
        if not nodes:
            return PlanFailed(
                "no_goal", "the arm does not come to rest free of contact at any goal's tip pose"
            )
        for way in self._simple_ways([node.point for node in nodes]):
            if query.over:
                break
            rows = self._simple(way)
            if rows is not None:
                return query.found(rows)
        start = self._point(self._pos, self._rot)
        joints = self._natural(start, self._start)
        if joints is None:
            return PlanFailed("backend", "the arm does not come to rest with its tip where it starts")
        while not query.over:
            way = self._random_way(Node(start, joints), nodes)
            if way is not None:
                for candidate in (self._shortened(way), way):
                    rows = self._proved(candidate)
                    if rows is not None:
                        return query.found(rows)
        return query.failed("no way of the tip was found")

    def _simple_ways(self, ends: Sequence[FloatArray]) -> list[list[FloatArray]]:
        """Return the straight ways, then those with one corner and those up, across and down, the shortest first."""
        start = self._point(self._pos, self._rot)
        bent: list[list[FloatArray]] = []
        for end in ends:
            bent += [[start, corner, end] for corner in _corners(start, end)]
            for lift in LIFTS_M:
                up, down = start.copy(), end.copy()
                up[2] = down[2] = max(start[2], end[2]) + lift
                bent.append([start, up, down, end])
        return [*([start, end] for end in ends), *sorted(bent, key=_length)]

    def _simple(self, way: Sequence[FloatArray]) -> FloatArray | None:
        """Return the rows along a way with few corners, cut where that is free, or None where it is not free."""
        if len(way) > 2 and not self._free(way):
            return None
        rows = self._proved(self._shortened(way, _FEW_SHORTCUTS)) if len(way) > 2 else None
        return self._proved(way) if rows is None else rows

    def _free(self, way: Sequence[FloatArray]) -> bool:
        """Whether a way is free at a coarse look."""
        joints = self._start
        for first, last in pairwise(way):
            rows = self._edge(joints, first, last)
            if rows is None:
                return False
            joints = rows[-1]
        return True

    def _random_way(
        self, start: Node[FloatArray], goals: Sequence[Node[FloatArray]]
    ) -> list[FloatArray] | None:
        ends = np.array([start.point, *(goal.point for goal in goals)])
        low, high = ends.min(axis=0) - _SPREAD_M, ends.max(axis=0) + _SPREAD_M

        def sample() -> FloatArray:
            point = self._rng.uniform(low, high)
            towards = goals[int(self._rng.integers(len(goals)))].point[3:]
            point[3:] = self._rng.uniform() * towards + self._rng.normal(0.0, 0.3 / RAD_PER_M, 3)
            return point

        return rrt.connect(
            start,
            goals,
            sample=sample,
            steer=self._steer,
            over=lambda: self._query.over,
            step=_STRIDE_M,
        )

    def _steer(self, origin: Node[FloatArray], point: FloatArray) -> Node[FloatArray] | None:
        rows = self._edge(origin.payload, origin.point, point)
        return None if rows is None else Node(point, rows[-1])

    def _edge(self, joints: FloatArray, first: FloatArray, last: FloatArray) -> FloatArray | None:
        """Return rows from one point to another that are free at a coarse look, or None; the first is `joints`."""
        self._query.valid.checks += 1
        end = self._natural(last, joints)
        if end is None or not self._query.valid.upright(end) or not self._world.free(end):
            return None
        poses = self._poses(first, last, _COARSE_M, _COARSE_RAD)
        rows = self._natural_rows(joints, *poses)
        if rows is None or self._world.first_hit(rows, _COARSE_M) is not None:
            return None
        return rows

    def _shortened(self, way: Sequence[FloatArray], rounds: int = _SHORTCUTS) -> list[FloatArray]:
        """Cut corners where the straight way between two of its points is free."""
        points = list(way)
        joints = self._knots(points)
        for _ in range(rounds):
            if joints is None or len(points) < 3:
                break
            lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
            first, last = np.sort(self._rng.uniform(0.0, lengths[-1], 2))
            i, j = (int(np.searchsorted(lengths, at, side="right")) - 1 for at in (first, last))
            if i == j:
                continue
            a = points[i] + (points[i + 1] - points[i]) * (first - lengths[i]) / (lengths[i + 1] - lengths[i])
            b = points[j] + (points[j + 1] - points[j]) * (last - lengths[j]) / (lengths[j + 1] - lengths[j])
            here = self._natural(a, joints[i])
            rows = None if here is None else self._edge(here, a, b)
            if here is not None and rows is not None:
                points = [*points[: i + 1], a, b, *points[j + 1 :]]
                joints = [*joints[: i + 1], here, rows[-1], *joints[j + 1 :]]
        return points

    def _knots(self, points: Sequence[FloatArray]) -> list[FloatArray] | None:
        """Natural joints at points, one from the other."""
        found: list[FloatArray] = []
        for point in points:
            joints = self._natural(point, found[-1] if found else self._start)
            if joints is None:
                return None
            found.append(joints)
        return found

    def _proved(self, way: Sequence[FloatArray]) -> FloatArray | None:
        """Return the rows along a way if the arm can follow it and nothing is touched anywhere."""
        rows = [self._start[None]]
        for first, last in pairwise(way):
            poses = self._poses(first, last, lead.STEP_M, lead.STEP_RAD)
            piece = self._natural_rows(rows[-1][-1], *poses)
            if piece is None:
                return None
            rows.append(piece if len(rows) == 1 else piece[1:])
        path = np.concatenate(rows)
        if not all(self._query.valid.upright(joints) for joints in path):
            return None
        return path if self._world.first_hit(path) is None else None

    def _natural_rows(self, joints: FloatArray, pos: FloatArray, rot: FloatArray) -> FloatArray | None:
        """Return natural joints (n, 7) along poses, or None where the arm cannot follow or an elbow flips."""
        rows = np.empty((len(pos), 7))
        here = joints
        for i in range(len(pos)):
            found = self._arm.natural(pos[i], rot[i], here)
            # The first may be further: the elbow lags behind while the tip moves.
            if found is None or (i and float(np.abs(found - here).max()) > JUMP_RAD):
                return None
            rows[i] = here = found
        return rows

    def _natural(self, point: FloatArray, near: FloatArray) -> FloatArray | None:
        rot = Rotation.from_rotvec(point[3:] * RAD_PER_M).as_matrix() @ self._rot
        return self._arm.natural(point[:3], rot, near)

    def _point(self, pos: FloatArray, rot: FloatArray) -> FloatArray:
        return np.concatenate([pos, Rotation.from_matrix(rot @ self._rot.T).as_rotvec() / RAD_PER_M])

    def _poses(
        self, first: FloatArray, last: FloatArray, step_m: float, step_rad: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return poses from one point to another, in steps."""
        way = last - first
        far = max(np.linalg.norm(way[:3]) / step_m, np.linalg.norm(way[3:]) * RAD_PER_M / step_rad)
        points = first + np.linspace(0.0, 1.0, max(1, int(np.ceil(far))) + 1)[:, None] * way
        rot = Rotation.from_rotvec(points[:, 3:] * RAD_PER_M).as_matrix() @ self._rot
        return np.ascontiguousarray(points[:, :3]), np.ascontiguousarray(rot)


def _corners(start: FloatArray, end: FloatArray) -> Iterator[FloatArray]:
    """Yield the corners of ways with one corner."""
    way = end - start
    along = way[:3] / max(float(np.linalg.norm(way[:3])), 1e-9)
    # Beside a way that goes up or down, the robot's own side takes the place of upwards.
    up = np.array([0.0, 0.0, 1.0]) if abs(along[2]) < _STEEP else np.array([-1.0, 0.0, 0.0])
    up -= (up @ along) * along
    up /= np.linalg.norm(up)
    aside = np.cross(along, up)
    for share in ASIDE_SHARES:
        for angle in ASIDE_RAD:
            for far in ASIDE_M:
                corner = start + share * way
                corner[:3] += far * (np.cos(angle) * up + np.sin(angle) * aside)
                yield corner


def _length(way: Sequence[FloatArray]) -> float:
    return sum(float(np.linalg.norm(last - first)) for first, last in pairwise(way))
