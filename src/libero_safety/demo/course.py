"""The stages of one episode: which variants of their keyposes, and the route of the next one."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from libero_safety.demo.follow import Follow, follow_of
from libero_safety.demo.layout import Count, Layout, choose_turn, lay_out
from libero_safety.demo.margins import CARES
from libero_safety.demo.report import Failure
from libero_safety.demo.route import LONG_STAY_S, Route, Router
from libero_safety.demo.segments import SearchStoppedError
from libero_safety.demo.situation import Situation
from libero_safety.demo.stages import Stage, stages_of
from libero_safety.demo.target import GRIPPER
from libero_safety.demo.variants import Variants
from libero_safety.demo.worlds import Worlds
from libero_safety.sim.scene import SceneError
from libero_safety.types import FloatArray, Keypose

MEAN_SPEED_M_S = 0.13
"""For guessing when a stage will end."""

ASIDE_M = (
    (0.0, 0.0, 0.15),
    (-0.12, 0.0, 0.1),
    (0.0, 0.0, 0.3),
    (-0.12, 0.12, 0.2),
    (-0.12, -0.12, 0.2),
    (-0.2, 0.0, 0.25),
)
"""Where to get out of the way of what moves: up, and towards the robot."""


@dataclass(frozen=True, eq=False)
class Planned:
    """The next stage, and how to get through it.

    Attributes:
        stage: what is left of it.
        route: its way.
        then: what comes after it: the next stage; the rest of this one, where the robot only stops; or all of this one
            anew, where it gets out of the way of something first.
    """

    stage: Stage
    route: Route
    then: Literal["next", "rest", "anew"] = "next"


class Course:
    """A task on its way from keypose to keypose.

    Attributes:
        ids: variant number of each group of keyposes.
        index: how many stages are behind.
    """

    def __init__(
        self, variants: Variants, router: Router, rng: np.random.Generator, *, vary: bool, tries: int
    ) -> None:
        """Begin before the first stage.

        Args:
            variants: of the task's keyposes.
            router: plans stages.
            rng: draws variants.
            vary: draw from the first; else the written poses come first.
            tries: variants of a stage that are tried.
        """
        self._variants, self._router, self._rng, self._tries = variants, router, rng, tries
        self.ids = list(variants.draw(rng)) if vary else [0] * len(variants.stages)
        self.index = 0
        self._turn: FloatArray = np.eye(3)
        self._riding: str | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, with the variants chosen."""
        return stages_of(self._variants.choose(self.ids))

    @property
    def variant_ids(self) -> dict[str, int]:
        """Variant number by the name of the first keypose of each group that varies."""
        groups = zip(self._variants.stages, self._variants.offsets, self.ids, strict=True)
        return {
            self._variants.keyposes[m[0]].name: number for m, offsets, number in groups if len(offsets) > 1
        }

    @property
    def over(self) -> bool:
        """Whether all stages are behind."""
        return self.index >= len(self.stages)

    def done(self) -> None:
        """Go on to the next stage."""
        self._riding = self.stages[self.index].keyposes[-1].frame.partition(".")[0]
        self.index += 1

    def plan(self, situation: Situation, passed: int = 0) -> Planned | Failure:
        """Return the route of the next stage, with another variant of its keyposes when there is none with this one.

        Args:
            situation: how things are; of what is held, how it lies in the gripper.
            passed: how many of the stage's keyposes are behind already.
        """
        try:
            return self._found(situation, passed)
        except SearchStoppedError as stopped:
            return stopped.failure

    def clear(
        self, situation: Situation, planned: Planned, rows: FloatArray, passes: NDArray[np.int64]
    ) -> bool:
        """Whether nothing is in the way on a part of a route with what is held as it is now; see `Router.clear`."""
        rest, margin_m = planned.stage.rest(int(passes[0])), planned.route.margin_m
        resting = _resting(situation, rest)
        return self._router.clear(situation, rest, resting, rows, passes - passes[0], margin_m)

    def _found(self, situation: Situation, passed: int) -> Planned | Failure:
        found: Planned | Failure = self._plan(situation, passed)
        for attempt in range(1, self._tries):
            # A tip on its way has no time for other variants.
            if isinstance(found, Planned) or passed or not situation.at_rest or not self._redraw():
                break
            found = self._plan(situation, passed, attempt)
        if isinstance(found, Planned):
            return found
        blocked, instead = found.reason == "path_blocked_by_moving_hazard", None
        if not situation.at_rest and (blocked or found.reason == "timing_failed"):
            instead = self._stop(situation, passed)
        elif blocked:
            instead = self._aside(situation)
        return instead or found

    def _stop(self, situation: Situation, passed: int) -> Planned | None:
        """Return a way to come to rest from a motion, if it is free."""
        stage = _pause("stop", self.stages[self.index].rest(passed))
        route = self._router.stop(situation, stage, _resting(situation, stage))
        return None if isinstance(route, Failure) else Planned(stage, route, "rest")

    def _aside(self, situation: Situation) -> Planned | None:
        """Return a way to where the robot can stay whatever moves, if there is one near."""
        stage = _pause("aside", self.stages[self.index])
        thing = stage.holds or stage.leaves
        resting = situation.resting(thing) if thing is not None else ()
        pos, rotation = situation.tip
        for offset in ASIDE_M:
            pose = (pos + offset, rotation)
            layout = Layout((pose,), (situation.arm.natural(*pose, situation.joints),))
            route = self._router.route(situation, stage, layout, Follow(), resting, LONG_STAY_S)
            if isinstance(route, Route):
                return Planned(stage, route, "anew")
        return None

    def _plan(self, situation: Situation, passed: int, attempt: int = 0) -> Planned | Failure:
        stages = self.stages[self.index :]
        stage = stages[0].rest(passed)
        try:
            if stage.holds is None and not passed:
                self._turn = choose_turn(situation, stages, _blocked, attempt)
            layout, follow = self._lay_out(situation, stage, attempt)
            route = self._router.route(situation, stage, layout, follow, _resting(situation, stage))
        except SceneError as error:
            return Failure("bad_keypose", stage.name, str(error))
        return route if isinstance(route, Failure) else Planned(stage, route)

    def _lay_out(self, situation: Situation, stage: Stage, attempt: int) -> tuple[Layout, Follow]:
        now_s, hazards = situation.time_s, situation.scene.hazards
        layout = lay_out(situation, stage, self._turn, now_s, _blocked, attempt)
        follow = follow_of(hazards, stage, self._riding, now_s, now_s + _duration_s(situation, layout))
        if follow.hazard is not None:
            layout = lay_out(situation, stage, self._turn, follow.ref_s, _blocked, attempt)
        return layout, follow

    def _redraw(self) -> bool:
        """Draw other variants of the keyposes that are not behind; False when there are none."""
        ahead = {keypose.name for stage in self.stages[self.index :] for keypose in stage.keyposes}
        changed = False
        for number, members in enumerate(self._variants.stages):
            count = len(self._variants.offsets[number])
            names = {self._variants.keyposes[member].name for member in members}
            if count > 1 and names & ahead == names:
                self.ids[number] = int((self.ids[number] + self._rng.integers(1, count)) % count)
                changed = True
        return changed


def _blocked(situation: Situation, stage: Stage) -> Count:
    """Return what tells how many keyposes of a layout that are within reach are not free, what moves left aside."""
    worlds = Worlds(situation, stage, Follow(), CARES[-1], _resting(situation, stage))

    def count(layout: Layout) -> int:
        return sum(
            joints is not None and not worlds.still(index).free(joints)
            for index, joints in enumerate(layout.joints)
        )

    return count


def _pause(name: str, stage: Stage) -> Stage:
    """Return a stage in which the gripper stays as it is at the beginning of another."""
    keypose = Keypose(name, GRIPPER, (0.0, 0.0, 0.0), gripper=stage.gripper)
    return replace(stage, keyposes=(keypose,), takes=None, gives=False)


def _resting(situation: Situation, stage: Stage) -> tuple[str, ...]:
    """Return what the thing to be grasped, or held, stands on or leans at."""
    thing = stage.takes or stage.holds
    return situation.resting(thing) if thing is not None else ()


def _duration_s(situation: Situation, layout: Layout) -> float:
    """Return about how long a motion through the poses takes."""
    places = [situation.tip[0], *(pos for pos, _ in layout.poses)]
    ways: Sequence[float] = [float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(places)]
    return 0.8 + sum(ways) / MEAN_SPEED_M_S
