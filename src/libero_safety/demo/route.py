"""The way of one stage: free of everything at the time at which the robot gets there, and smooth."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from libero_safety.demo.follow import Follow
from libero_safety.demo.layout import Layout
from libero_safety.demo.margins import CARES
from libero_safety.demo.report import Failure
from libero_safety.demo.segments import FREE, Segment, Segmenter
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage
from libero_safety.demo.worlds import Worlds
from libero_safety.plan.corridor import TipPath
from libero_safety.plan.limits import DT_S, TipLimits
from libero_safety.plan.problem import EFFORT, Planner
from libero_safety.plan.timing import TimingFailed, TipMotion, brake, time_path
from libero_safety.plan.world import World
from libero_safety.types import FloatArray

LIMITS = TipLimits(speed_m_s=0.4, turn_rad_s=1.25, authority=0.98)
"""Along one axis the controller itself allows less speed than this; across several it adds up."""
SLOW_LIMITS = TipLimits(speed_m_s=0.2, turn_rad_s=1.0)
"""Where something has to give way."""
POUR_LIMITS = TipLimits(speed_m_s=0.4, turn_rad_s=1.5)
"""Where something tips in the gripper: quickly, before it slips."""
GRAZE_M = 0.012
"""Until the tip is this near to where the held thing is set down, that thing touches nothing."""
DRAG_M = 0.006
"""As soon as the tip is this far aside from where a thing stood, that thing is off the ground."""
WAIT_S = 8.0
"""How long the robot waits for a moving hazard at most."""
WAIT_STEP_S = 0.2
SHORT_WAIT_S = 1.0
"""A wait up to this is preferred to a detour."""
STAY_S, LONG_STAY_S = 1.0, 8.0
"""For how long the robot must be able to stay where a stage ends: what its gripper needs to act, and what is better."""
STAY_STEP_S = 0.1
STOP_S = 0.4
"""How long a moving tip takes to come to rest."""


class WorldOf(Protocol):
    """What may not be touched on the way to each keypose of a stage; see `Worlds.still`."""

    def __call__(self, segment: int, approaching: bool = False) -> World:
        """Return the world on the way to a keypose."""
        ...


@dataclass(frozen=True, eq=False)
class Route:
    """A timed motion of the tip.

    Attributes:
        motion: the motion, without that of a moving frame.
        follow: the motion of the frame, to be added.
        passes: (n,) for each row of the motion, the keypose to which it leads.
        start_s: when it begins, seconds since the episode began; it may lie ahead.
        planner: who found it; `straight` when nobody had to search.
        margin_m: clearance to protected things.
        plan_s: how long that took.
    """

    motion: TipMotion
    follow: Follow
    passes: NDArray[np.int64]
    start_s: float
    planner: str
    margin_m: float
    plan_s: float = 0.0

    def drive(self, now_s: float, stay: int) -> TipMotion:
        """Return where the tip is at each control step from now on: waiting, on its way, and staying where it ends.

        Args:
            now_s: seconds since the episode began.
            stay: control steps to stay.
        """
        wait = round((self.start_s - now_s) / DT_S)
        rows = np.clip(np.arange(-wait, len(self.passes) + stay), 0, len(self.passes) - 1)
        times_s = now_s + DT_S * np.arange(len(rows), dtype=np.float64)
        motion = self.motion
        driven = replace(motion, pos=motion.pos[rows], quat=motion.quat[rows], joints=motion.joints[rows])
        if self.follow.hazard is None:
            return driven
        shares = self.follow.shares(self.passes)[rows]
        pos, rot = self.follow.carried(driven.pos, driven.rot, times_s, shares)
        joints = motion.arm.follow(pos, rot, DT_S, motion.joints[0])
        # A frame that moves on may take a tip that stays on it out of reach.
        joints = joints[np.minimum(np.arange(len(rows)), len(joints) - 1)]
        quat = Rotation.from_matrix(rot).as_quat(canonical=True, scalar_first=True)
        return replace(driven, pos=pos, quat=quat, joints=joints)

    def joints(self, situation: Situation, start_s: float) -> FloatArray:
        """Return the joints (n, 7) of the motion when it begins at a time, that of the frame included.

        The elbow goes on coming to rest while the tip waits.
        """
        wait = round((start_s - situation.time_s) / DT_S)
        if self.follow.hazard is None and not wait:
            return self.motion.joints
        driven = replace(self, start_s=start_s).drive(situation.time_s, 0)
        return situation.arm.follow(driven.pos, driven.rot, DT_S, situation.joints)[wait:]


class Router:
    """Plans the stages of one scene.

    Args:
        planner: finds ways that are not straight.
        seed: of the planner.
        effort: edges to look at in one search with the least clearance; with more, a quarter of them.
    """

    def __init__(self, planner: Planner, seed: int = 0, effort: int = EFFORT) -> None:
        self._quick = Segmenter(planner, seed, effort // 4)
        self._thorough = Segmenter(planner, seed, effort)

    def route(
        self,
        situation: Situation,
        stage: Stage,
        layout: Layout,
        follow: Follow,
        resting: Sequence[str],
        safe_s: float = STAY_S,
    ) -> Route | Failure:
        """Return the way through the poses of a stage, with the largest margin that there is one with.

        Args:
            situation: how things are where the stage begins.
            stage: whose way it is.
            layout: its grip poses.
            follow: the motion of the frame that its end moves with.
            resting: what the thing to be grasped, or held, stands on or leans at.
            safe_s: for how long it must be possible to stay at the end, whatever moves.

        Returns:
            The route, or why there is none with the smallest margin.

        Raises:
            SearchStoppedError: the clock stopped a search.
        """
        started = time.perf_counter()
        unreachable = layout.unreachable
        if unreachable is not None:
            at = np.round(layout.poses[unreachable][0], 3).tolist()
            return Failure(
                "unreachable",
                stage.keyposes[unreachable].name,
                f"the grip site cannot be at {at} as it is turned",
            )
        found: Route | Failure = Failure("unreachable", stage.name, "")
        for care in CARES:
            worlds = Worlds(situation, stage, follow, care, resting)
            segmenter = self._thorough if care is CARES[-1] else self._quick
            found = _Search(segmenter, situation, stage, layout, follow, worlds).run(safe_s)
            if isinstance(found, Route):
                return replace(found, plan_s=time.perf_counter() - started)
            if found.reason == "unreachable":
                return found
        return found

    def clear(
        self,
        situation: Situation,
        stage: Stage,
        resting: Sequence[str],
        rows: FloatArray,
        passes: NDArray[np.int64],
        margin_m: float,
    ) -> bool:
        """Whether a part of a route can be driven with what is held as it lies in the gripper now; see `route`.

        Args:
            situation: how things are.
            stage: whose route it is.
            resting: what the held thing stood on.
            rows: (n, 7) joints, one for every control step from now on.
            passes: (n,) the keypose to which each row leads.
            margin_m: clearance with which the route was planned.
        """
        worlds = Worlds(situation, stage, Follow(), CARES[-1]._replace(margin_m=margin_m), resting)
        return _too_near(worlds, rows, passes, situation.time_s) is None

    def stop(self, situation: Situation, stage: Stage, resting: Sequence[str]) -> Route | Failure:
        """Return the way on which a moving tip comes to rest, if nothing is in its way; see `route`."""
        worlds = Worlds(situation, stage, Follow(), CARES[-1], resting)
        return _Search(self._quick, situation, stage, Layout((), ()), Follow(), worlds).stop()


class _Search:
    """One attempt, with one margin."""

    def __init__(
        self,
        segmenter: Segmenter,
        situation: Situation,
        stage: Stage,
        layout: Layout,
        follow: Follow,
        worlds: Worlds,
    ) -> None:
        self._segmenter, self._situation, self._stage = segmenter, situation, stage
        self._layout, self._follow, self._worlds = layout, follow, worlds
        self._departures: dict[tuple[Route, int], float | tuple[str, str] | None] = {}

    def run(self, safe_s: float) -> Route | Failure:
        """Prefer to set out at once, then a short wait, then a way round what moves, then a long wait.

        Args:
            safe_s: for how long it must be possible to stay at the end.
        """
        direct = self._timed(self._worlds.still)
        if isinstance(direct, Failure) or not self._worlds.moving:
            return direct
        # A tip on its way cannot wait.
        short_s, long_s = (SHORT_WAIT_S, WAIT_S) if self._situation.at_rest else (0.0, 0.0)
        soon = self._departing(direct, short_s, LONG_STAY_S)
        if isinstance(soon, Route):
            return soon
        around = self._timed(self._worlds.swept)
        safe = self._departing(around, 0.0, LONG_STAY_S) if isinstance(around, Route) else around
        return safe if isinstance(safe, Route) else self._departing(direct, long_s, safe_s)

    def stop(self) -> Route | Failure:
        """Come to rest, straight on."""
        situation = self._situation
        motion = brake(situation.arm, situation.joints, situation.velocity, STOP_S)
        passes = np.zeros(len(motion.pos), np.int64)
        route = Route(motion, self._follow, passes, situation.time_s, "straight", self._worlds.care.margin_m)
        return self._departing(route, 0.0, STAY_S)

    def _timed(self, world: WorldOf) -> Route | Failure:
        """Find a way through worlds, one per keypose, and the smooth motion along it."""
        situation, stage = self._situation, self._stage
        segments = self._segmenter.segments(situation, stage, self._layout, world)
        if isinstance(segments, Failure):
            return segments
        failure = Failure("timing_failed", stage.name, "")
        for free in FREE:
            path = _Path.of(segments, *free)
            motion = self._smooth(path, world, stops=free is FREE[-1])
            if isinstance(motion, TipMotion):
                passes = np.maximum.accumulate([path.owner(pos) for pos in motion.pos])
                planner = next((s.planner for s in segments if s.planner != "straight"), "straight")
                return Route(
                    motion, self._follow, passes, situation.time_s, planner, self._worlds.care.margin_m
                )
            failure = self._untimed(motion, path, world)
        return failure

    def _smooth(self, path: "_Path", world: WorldOf, *, stops: bool) -> TipMotion | TimingFailed:
        situation = self._situation
        arm, start = situation.arm, situation.joints

        def valid(joints: FloatArray, time_s: float) -> bool:
            if time_s == 0.0:
                return True
            pos = arm.fk(joints)[0]
            index = path.owner(pos)
            return world(index, self._must_not_graze(index, pos)).free(joints)

        pours = any(keypose.verb == "pour" for keypose in self._stage.keyposes)
        limits = SLOW_LIMITS if self._stage.slow else POUR_LIMITS if pours else LIMITS
        return time_path(
            arm, path.tip, start, valid=valid, limits=limits, velocity=situation.velocity, stops=stops
        )

    def _must_not_graze(self, index: int, pos: FloatArray) -> bool:
        """Whether what is held is not yet where it is set down, or no longer where it stood, so that it would drag."""
        verb = self._stage.keyposes[index].verb
        if self._stage.holds is None:
            return False
        if index == 0:
            aside_m = float(np.linalg.norm((pos - self._situation.tip[0])[:2]))
            return verb == "lift" and aside_m > DRAG_M
        return verb == "place" and float(np.linalg.norm(pos - self._layout.poses[index][0])) > GRAZE_M

    def _untimed(self, failed: TimingFailed, path: "_Path", world: WorldOf) -> Failure:
        detail = f"{failed.reason}: {failed.detail}"
        if failed.joints is not None:
            joints = np.array(failed.joints)
            names = world(path.owner(self._situation.arm.fk(joints)[0])).first_contact(joints)
            detail += f" ({names[0]} would be too near to {names[1]})" if names else ""
        return Failure(
            "unreachable" if failed.reason == "reach" else "timing_failed", self._stage.name, detail
        )

    def _departing(self, route: Route, wait_s: float, safe_s: float) -> Route | Failure:
        """Return the route with a departure, within `wait_s`, for which nothing comes too near on the way.

        It is the first after which the robot can stay where it arrives for long, or else the one after which it can
        stay the longest, if that is at least `safe_s`.
        """
        best: tuple[float, float] | None = None
        blocked = "the robot would be hit where it waits"
        for number in range(round(wait_s / WAIT_STEP_S) + 1):
            key = (route, number)
            if key not in self._departures:
                self._departures[key] = self._departure(route, number)
            found = self._departures[key]
            if found is None:
                break
            if isinstance(found, tuple):
                blocked = f"{found[0]} would be too near to {found[1]}"
                continue
            if best is None or found > best[0]:
                best = found, self._start_s(number)
            if found >= LONG_STAY_S:
                break
        if best is not None and best[0] >= safe_s:
            return replace(route, start_s=best[1])
        detail = f"{blocked}, whenever the robot sets out within {wait_s:g} s"
        return Failure("path_blocked_by_moving_hazard", self._stage.name, detail)

    def _start_s(self, number: int) -> float:
        return self._situation.time_s + number * WAIT_STEP_S

    def _departure(self, route: Route, number: int) -> float | tuple[str, str] | None:
        """Set out at one of the times at which that is tried.

        Returns:
            For how long (s) the robot can stay where it arrives; or what comes too near to what on the way; or None
            when the robot, free to wait until the time before, would be hit until this one.
        """
        start_s = self._start_s(number)
        if number:
            waited_s = self._stay_s(0, self._situation.joints, start_s - WAIT_STEP_S, WAIT_STEP_S)
            if waited_s < WAIT_STEP_S:
                return None
        rows = route.joints(self._situation, start_s)
        return self._too_near(route, rows, start_s) or self._stay_after(route, rows, start_s)

    def _too_near(self, route: Route, rows: FloatArray, start_s: float) -> tuple[str, str] | None:
        """Return what comes too near to what when the route, its joints (n, 7), begins at a time."""
        if len(rows) < len(route.passes) or not self._situation.arm.within_limits(rows):
            return "robot", "the end of its reach"
        return _too_near(self._worlds, rows, route.passes, start_s)

    def _stay_after(self, route: Route, rows: FloatArray, start_s: float) -> float:
        """Return for how long (s) the robot can stay where the route ends; riding along, it can."""
        if self._follow.hazard is not None:
            return LONG_STAY_S
        return self._stay_s(int(route.passes[-1]), rows[-1], start_s + len(rows) * DT_S, LONG_STAY_S)

    def _stay_s(self, segment: int, joints: FloatArray, start_s: float, most_s: float) -> float:
        """Return for how long (s) nothing comes too near while the robot stays, at most `most_s`."""
        for stay in np.arange(0.0, most_s + 1e-9, STAY_STEP_S):
            if not self._worlds.at(segment, start_s + float(stay)).free(joints):
                return float(stay)
        return most_s


def _too_near(
    worlds: Worlds, rows: FloatArray, passes: NDArray[np.int64], start_s: float
) -> tuple[str, str] | None:
    """Return what comes too near to what along joints (n, 7), a row for every control step from a time on."""
    for row in range(1, len(rows)):
        segment, time_s = int(passes[row]), start_s + row * DT_S
        for share in (0.5, 1.0):
            joints = rows[row - 1] + share * (rows[row] - rows[row - 1])
            names = worlds.at(segment, time_s - (1.0 - share) * DT_S).first_contact(joints)
            if names is not None:
                return names
    return None


@dataclass(frozen=True, eq=False)
class _Path:
    """The ways of a stage as one, and which row leads to which keypose."""

    tip: TipPath
    owners: FloatArray

    @classmethod
    def of(cls, segments: Sequence[Segment], free_m: float, free_rad: float) -> "_Path":
        """Join the ways; see `Segment.slack` for the rest."""
        rows = [slice(0 if i == 0 else 1, None) for i in range(len(segments))]
        parts = [(s.pos, s.rot, *s.slack(free_m, free_rad)) for s in segments]
        pos, rot, slack_m, slack_rad = (
            np.concatenate([part[i][r] for part, r in zip(parts, rows, strict=True)]) for i in range(4)
        )
        owners = np.concatenate(
            [np.full(len(s.pos[r]), i) for i, (s, r) in enumerate(zip(segments, rows, strict=True))]
        )
        return cls(TipPath.of(pos, rot, slack_m, slack_rad), owners)

    def owner(self, pos: FloatArray) -> int:
        """Return the keypose to which the part of the way that is nearest to a tip position leads."""
        return int(self.owners[np.argmin(((self.tip.pos - pos) ** 2).sum(axis=1))])
