"""What may not be touched on the way to each keypose of a stage: now, at a time, or at any time."""

from collections.abc import Sequence

import numpy as np

from libero_safety.demo.follow import Follow
from libero_safety.demo.margins import NEAR_M, SURFACE_M, Care, allowances, kept_apart
from libero_safety.demo.situation import Situation, size_m
from libero_safety.demo.stages import Stage, entity_of
from libero_safety.plan.bounds import Allow
from libero_safety.plan.world import World
from libero_safety.sim.scene import Hazard

SWEEP_M = 0.02
"""How far a moving thing goes between the times at which it is looked at when it is looked at everywhere."""
SWEEP_S = 12.0
"""For how long what moves is looked at."""
BETWEEN_M = 0.003
"""How much nearer than at the moments that are looked at two may come in between."""
_IGNORED_M = -10.0
_RELAXED, _PRESSED_M = 8, -0.01


class Worlds:
    """The worlds of one stage with one care.

    Attributes:
        care: how near the robot comes to what.
        moving: names of what moves by itself.
    """

    def __init__(
        self, situation: Situation, stage: Stage, follow: Follow, care: Care, resting: Sequence[str]
    ) -> None:
        self._situation, self._stage = situation, stage
        self._follow, self._resting = follow, resting
        self.care = care
        hazards = [h for h in situation.scene.hazards if h.law.peak_speed_m_s > 0.0]
        self.moving = tuple(h.entity for h in hazards)
        peak = max((_peak_m_s(situation, h) for h in hazards), default=0.0)
        step_s = SWEEP_M / peak if peak else SWEEP_S
        self._times = [float(t) for t in situation.time_s + np.arange(0.0, SWEEP_S, max(step_s, 0.1))]
        self._made: dict[tuple[int, str, bool], World] = {}

    def still(self, segment: int, approaching: bool = False) -> World:
        """Return the world on the way to a keypose, without what moves; what is followed stands as it is met.

        Args:
            segment: which keypose of the stage.
            approaching: whether what is held must not graze what it will touch there, or what it stood on.
        """
        followed = self._follow.hazard.entity if self._follow.hazard is not None else None
        ignored = [name for name in self.moving if name != followed]
        key = (segment, "still", approaching)
        if key not in self._made:
            met = segment >= self._follow.first
            self._made[key] = self._make(segment, ignored, approaching).at(
                self._follow.ref_s if met else self._situation.time_s
            )
        return self._made[key]

    def swept(self, segment: int, approaching: bool = False) -> World:
        """Return the world on the way to a keypose, what moves being everywhere that it comes to; see `still`."""
        key = (segment, "swept", approaching)
        if key not in self._made:
            self._made[key] = self._timed(segment, approaching).at(self._times)
        return self._made[key]

    def at(self, segment: int, time_s: float) -> World:
        """Return the world on the way to a keypose at a time."""
        return self._timed(segment).at(time_s)

    def _timed(self, segment: int, approaching: bool = False) -> World:
        key = (segment, "timed", approaching)
        if key not in self._made:
            self._made[key] = self._make(segment, [], approaching)
        return self._made[key]

    def _make(self, segment: int, ignored: Sequence[str], approaching: bool) -> World:
        situation, stage = self._situation, self._stage
        allow = allowances(situation.scene, stage, segment, self.care, self._resting, approaching=approaching)
        movers = ["robot"] if stage.holds is None else ["robot", "held"]
        contents = situation.contents
        allow += [Allow(mover, name, _IGNORED_M) for name in (*ignored, *contents) for mover in movers]
        if stage.holds is None:
            situation.set_fingers(0.0 if stage.command(segment) > 0 else 1.0)
        if segment == 0:
            allow = self._from_here(allow)
            off = approaching and stage.holds is not None and stage.keyposes[0].verb == "lift"
            allow += [Allow("held", name, SURFACE_M) for name in self._resting if off]
        return self._world(allow)

    def _from_here(self, allow: list[Allow]) -> list[Allow]:
        """Let what is nearer than its bound where the stage begins stay so near: there is no other way out."""
        found, seen = list(allow), set[tuple[str, str]]()
        for _ in range(_RELAXED):
            names = self._world(found).first_contact(self._situation.joints)
            if names is None:
                return found
            floor_m = self._floor_m(names)
            if floor_m is None:
                floor_m = _PRESSED_M if names in seen else -NEAR_M
            found.append(Allow(*names, floor_m))
            seen.add(names)
        return allow

    def _floor_m(self, names: tuple[str, str]) -> float | None:
        """Return how near a rule lets two come at all; None where none forbids them to touch."""
        entities = {entity_of(name) for name in names}
        rules = kept_apart(self._situation.scene.scenario, self._stage.holds)
        asked = [r.distance_m for r in rules if r.firmly and entity_of(r.other) in entities]
        return max((d + BETWEEN_M if d else 0.0 for d in asked), default=None)

    def _world(self, allow: Sequence[Allow]) -> World:
        situation = self._situation
        return World.of_scene(
            situation.scene, situation.data, held=situation.held, allow=allow, arm=situation.arm
        )


def _peak_m_s(situation: Situation, hazard: Hazard) -> float:
    """Return a speed that no point of what moves by itself exceeds."""
    reach_m = size_m(situation.scene, situation.data, hazard.entity)
    return hazard.law.peak_speed_m_s + hazard.peak_turn_rad_s * reach_m
