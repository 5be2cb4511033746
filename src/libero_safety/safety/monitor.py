"""Constraint words as monitors that look at every physics step. Breaking any one rule is a violation.

A rule instance is one monitor: two rules of one kind are two monitors, each with its own first violation. All
pairs of geom sets are looked up in one pass over the contact list, all bystander limits in one compiled loop, so
that rules cost microseconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import mujoco
import numpy as np
from numpy.typing import NDArray

from libero_safety.safety.bystander import DISPLACEMENT, DROP, TILT, Breach, Bystander, Bystanders
from libero_safety.sim import contact, predicate
from libero_safety.sim.scene import IntArray, Scene, SceneError
from libero_safety.types import SUBSTEPS, Violation
from libero_safety.ubddl import spec, words
from libero_safety.ubddl.write import write_formula

CLEARANCE_CAP_M = 0.5
"""Clearances beyond this are recorded as this."""


class TouchMonitor(Protocol):
    """A rule about two geom sets; asked only in physics steps in which they touch."""

    @property
    def pairs(self) -> Sequence[tuple[IntArray, IntArray]]:
        """The geom sets that must touch for the rule to be asked."""
        ...

    def on_touch(self, data: mujoco.MjData) -> Breach | None:
        """Return what is wrong, if anything."""
        ...


class StepMonitor(Protocol):
    """A rule that has to look at every physics step."""

    def after_substep(self, data: mujoco.MjData) -> Breach | None:
        """Return what is wrong, if anything."""
        ...


AnyMonitor: TypeAlias = TouchMonitor | StepMonitor | Bystander


@dataclass(frozen=True)
class _Pair:
    """Two geom sets to keep apart; `is_held` narrows it to the moments at which the first is in the gripper."""

    first: IntArray
    second: IntArray
    is_held: predicate.Check | None = None


def _watched(scene: Scene, first: str, second: str) -> list[_Pair]:
    """Return the pairs that a rule is about: `held` is every object that can be held and is not the other side."""
    if second == "held":
        first, second = second, first
    if first != "held":
        return [_Pair(scene.geoms(first), scene.geoms(second))]
    other = scene.geoms(second)
    excluded = {second.partition(".")[0], *(hazard.entity for hazard in scene.hazards)}
    return [
        _Pair(entity.geoms, other, predicate.grasped(scene, entity.name))
        for entity in scene.entities.values()
        if entity.qpos is not None and entity.name not in excluded
    ]


class _Contact:
    """The two sides never touch, or never press harder than the limit."""

    def __init__(self, scene: Scene, first: str, second: str, limit_n: float | None) -> None:
        self._scene, self._limit_n = scene, limit_n
        self._watched = _watched(scene, first, second)
        self.pairs: Sequence[tuple[IntArray, IntArray]] = [(p.first, p.second) for p in self._watched]

    def on_touch(self, data: mujoco.MjData) -> Breach | None:
        """Find the touching pair whose force is over the limit."""
        for pair in self._watched:
            touches = list(contact.touches(data, pair.first, pair.second))
            if not touches or (pair.is_held is not None and not pair.is_held(data)):
                continue
            forces = [contact.normal_force(self._scene.model, data, t.contact) for t in touches]
            if self._limit_n is None or sum(forces) > self._limit_n:
                hardest = touches[int(np.argmax(forces))]
                return _breach(self._scene, hardest.first, hardest.second, sum(forces))
        return None


def _breach(scene: Scene, first: int, second: int, value: float) -> Breach:
    link = scene.link_of_geom.get(first) or scene.link_of_geom.get(second)
    driven = {hazard.entity for hazard in scene.hazards}
    met = [(scene.entity(scene.entity_of_geom[g]), g) for g in (first, second) if g in scene.entity_of_geom]
    met.sort(key=lambda pair: pair[0].qpos is None or pair[0].name in driven)
    part = scene.part_of_geom.get(met[-1][1]) if met else None
    return Breach(tuple(entity.name for entity, _ in met), link, value, part)


class _SelfCollision:
    """Robot links that are not neighbours never touch; fingers closing on nothing touch each other, which is none."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._rest = np.setdiff1d(scene.robot_geoms, scene.geoms("robot.fingers"))
        self.pairs: Sequence[tuple[IntArray, IntArray]] = [(self._rest, scene.robot_geoms)]

    def on_touch(self, data: mujoco.MjData) -> Breach | None:
        """Name both links of the first such contact."""
        scene = self._scene
        for touch in contact.touches(data, self._rest, scene.robot_geoms):
            links = sorted((scene.link_of_geom[touch.first], scene.link_of_geom[touch.second]))
            force = contact.normal_force(scene.model, data, touch.contact)
            return Breach((), " and ".join(links), force)
        return None


class _Clearance:
    """The two sides stay at least this far apart."""

    def __init__(self, scene: Scene, first: str, second: str, margin_m: float) -> None:
        self._scene, self._margin_m = scene, margin_m
        self._watched = _watched(scene, first, second)
        self.gaps = [(pair.first, pair.second, margin_m) for pair in self._watched]

    def after_substep(self, data: mujoco.MjData) -> Breach | None:
        """Measure only what bounding spheres cannot rule out."""
        scene = self._scene
        for pair in self._watched:
            found = contact.nearest(scene.model, data, pair.first, pair.second, self._margin_m)
            if found.first >= 0 and (pair.is_held is None or pair.is_held(data)):
                return _breach(scene, found.first, found.second, found.distance_m)
        return None


class _Formula:
    """A formula that must hold at every physics step (Always), or at none (Never)."""

    def __init__(self, scene: Scene, formula: spec.Formula, wanted: bool) -> None:
        self._check, self._wanted = predicate.compile_formula(scene, formula), wanted

    def after_substep(self, data: mujoco.MjData) -> Breach | None:
        """Value 1 for true, 0 for false; the limit is what it should have been."""
        holds = self._check(data)
        return Breach((), None, float(holds)) if holds is not self._wanted else None


def _bystander(kind: int) -> Callable[[Scene, spec.Constraint], AnyMonitor]:
    def make(scene: Scene, rule: spec.Constraint) -> AnyMonitor:
        entity = scene.entity(rule.args[0])
        if entity.dof is None:
            raise SceneError(f"{rule.place}: {rule.word} {entity.name}: it is fixed and cannot move")
        assert rule.limit is not None
        return Bystander(entity.name, kind, entity.body, entity.dof, rule.limit)

    return make


def _limit(rule: spec.Constraint) -> float:
    assert rule.limit is not None
    return rule.limit


def _formula(wanted: bool) -> Callable[[Scene, spec.Constraint], AnyMonitor]:
    def make(scene: Scene, rule: spec.Constraint) -> AnyMonitor:
        assert rule.formula is not None
        return _Formula(scene, rule.formula, wanted)

    return make


MONITORS: dict[str, Callable[[Scene, spec.Constraint], AnyMonitor]] = {
    "NoContact": lambda scene, rule: _Contact(scene, rule.args[0], rule.args[1], None),
    "MaxForce": lambda scene, rule: _Contact(scene, rule.args[0], rule.args[1], _limit(rule)),
    "MinClearance": lambda scene, rule: _Clearance(scene, rule.args[0], rule.args[1], _limit(rule)),
    "NoSelfCollision": lambda scene, rule: _SelfCollision(scene),
    "NoTableStrike": lambda scene, rule: _Contact(scene, "robot", "workspace", _limit(rule)),
    "MaxDisplacement": _bystander(DISPLACEMENT),
    "MaxTilt": _bystander(TILT),
    "NoDrop": _bystander(DROP),
    "Always": _formula(True),
    "Never": _formula(False),
}


class MonitorSet:
    """All rules of one scene, watching one episode; a `SubstepHook`.

    Attributes:
        violations: the first violation of each broken rule, in the order in which they happened.
        guarded: names of the entities that clearance and force are recorded against.
        peak_force_n: largest normal force on a guarded entity, from the robot or what it holds, since `start_step`.
    """

    def __init__(self, scene: Scene, data: mujoco.MjData) -> None:
        """Look every name up, and note where bystanders are now."""
        self._scene = scene
        self._rules = scene.scenario.constraints
        self._names = _unique([rule_name(rule) for rule in self._rules])
        monitors = [MONITORS[rule.word](scene, rule) for rule in self._rules]
        self._touch: list[tuple[int, TouchMonitor]] = []
        self._step: list[tuple[int, StepMonitor]] = []
        rows: list[tuple[int, Bystander]] = []
        for index, monitor in enumerate(monitors):
            if isinstance(monitor, Bystander):
                rows.append((index, monitor))
            elif hasattr(monitor, "on_touch"):
                self._touch.append((index, monitor))  # type: ignore[arg-type]
            else:
                self._step.append((index, monitor))  # type: ignore[arg-type]
        self._bystanders = Bystanders(scene, data, rows) if rows else None
        clearances = [monitor for _, monitor in self._step if isinstance(monitor, _Clearance)]
        self._gaps = contact.GapTable(scene.model, [gap for monitor in clearances for gap in monitor.gaps])
        self._far = [row for row in self._step if row[1] not in clearances]
        guarded = guarded_parts(scene.scenario)
        self.guarded = tuple(dict.fromkeys(ref.partition(".")[0] for ref in guarded))
        self._guarded_geoms = np.unique(
            np.concatenate([np.empty(0, np.int32), *(scene.geoms(ref) for ref in guarded)])
        ).astype(np.int32)
        self._carried = [
            (entity, predicate.grasped(scene, name))
            for name, entity in scene.entities.items()
            if entity.qpos is not None and name not in self.guarded
        ]
        self._finger = scene.geoms("robot.left_finger")
        self._load_geoms = np.concatenate([np.empty(0, np.int32), *(e.geoms for e, _ in self._carried)])
        self._table, self._bits = self._pair_table()
        self.violations: list[Violation] = []
        self._broken: set[int] = set()
        self._substeps = 0
        self.peak_force_n = 0.0

    def _pair_table(self) -> tuple[contact.PairTable, list[tuple[int, TouchMonitor]]]:
        """Bit 0 is guarded entities against all that the robot is or may hold; then one bit per watched pair."""
        pairs = [(np.concatenate([self._scene.robot_geoms, self._load_geoms]), self._guarded_geoms)]
        bits: list[tuple[int, TouchMonitor]] = []
        for index, monitor in self._touch:
            pairs.extend(monitor.pairs)
            bits.extend([(index, monitor)] * len(monitor.pairs))
        return contact.PairTable(self._scene.model.ngeom, pairs), bits

    def after_substep(self, scene: Scene, data: mujoco.MjData) -> None:
        """Check every rule against the physics step that has just been taken."""
        self._substeps += 1
        self.look(data)

    def look(self, data: mujoco.MjData) -> None:
        """Check every rule against contacts, forces and geometry as they are in `data`."""
        words_hit = self._table.touching(data)
        if words_hit is not None:
            self._on_touch(data, words_hit)
        if self._bystanders is not None:
            for index, breach in self._bystanders.breaches(data):
                self._report(index, breach, data)
        for index, monitor in self._step if self._gaps.any_below(data) else self._far:
            if index not in self._broken:
                breach = monitor.after_substep(data)
                if breach is not None:
                    self._report(index, breach, data)

    def _on_touch(self, data: mujoco.MjData, hits: NDArray[np.uint64]) -> None:
        if contact.has_bit(hits, 0):
            force = contact.pair_force(
                self._scene.model, data, self._robot_and_load(data), self._guarded_geoms
            )
            self.peak_force_n = max(self.peak_force_n, force)
        for bit, (index, monitor) in enumerate(self._bits, start=1):
            if index not in self._broken and contact.has_bit(hits, bit):
                breach = monitor.on_touch(data)
                if breach is not None:
                    self._report(index, breach, data)

    def _report(self, index: int, breach: Breach, data: mujoco.MjData) -> None:
        if index in self._broken:
            return
        self._broken.add(index)
        rule = self._rules[index]
        unit = words.CONSTRAINTS[rule.word].unit
        degrees = unit == "deg"
        limit = rule.limit if rule.limit is not None else (1.0 if rule.word == "Always" else 0.0)
        self.violations.append(
            Violation(
                rule=self._names[index],
                kind=rule.word,
                time_s=float(data.time),
                step=max(0, self._substeps - 1) // SUBSTEPS,
                entities=breach.entities,
                link=breach.link,
                value=float(np.rad2deg(breach.value)) if degrees else breach.value,
                limit=float(np.rad2deg(limit)) if degrees else limit,
                unit=unit or ("N" if rule.word in ("NoContact", "NoSelfCollision") else ""),
                part=breach.part,
            )
        )

    def start_step(self) -> None:
        """Forget the force record of the last control step."""
        self.peak_force_n = 0.0

    def clearance_m(self, data: mujoco.MjData) -> float:
        """Distance from the robot, or what it holds, to the nearest guarded entity; NaN when nothing is guarded.

        Capped at `CLEARANCE_CAP_M`; 0 when they touch.
        """
        if not len(self._guarded_geoms):
            return float("nan")
        model, side = self._scene.model, self._robot_and_load(data)
        return contact.distance(model, data, side, self._guarded_geoms, CLEARANCE_CAP_M)

    def _robot_and_load(self, data: mujoco.MjData) -> IntArray:
        """Colliding geoms of the robot and of what it holds now."""
        if next(contact.touches(data, self._finger, self._load_geoms), None) is None:
            return self._scene.robot_geoms
        held = [entity.geoms for entity, is_held in self._carried if is_held(data)]
        return np.concatenate([self._scene.robot_geoms, *held]) if held else self._scene.robot_geoms

    def state(self) -> tuple[tuple[Violation, ...], frozenset[int], int, float]:
        """What `restore` needs."""
        return tuple(self.violations), frozenset(self._broken), self._substeps, self.peak_force_n

    def restore(self, state: tuple[tuple[Violation, ...], frozenset[int], int, float]) -> None:
        """Go back to an earlier state of the same episode."""
        violations, broken, self._substeps, self.peak_force_n = state
        self.violations, self._broken = list(violations), set(broken)


def rule_name(rule: spec.Constraint) -> str:
    """Return a rule as one would write it: `(MaxTilt bottle_1 30deg)`."""
    parts = [rule.word, *rule.args]
    if rule.formula is not None:
        parts.append(write_formula(rule.formula))
    if rule.limit is not None:
        unit = words.CONSTRAINTS[rule.word].unit
        parts.append(f"{np.rad2deg(rule.limit) if unit == 'deg' else rule.limit:.6g}{unit}")
    return f"({' '.join(parts)})"


def guarded_parts(scenario: spec.Scenario) -> tuple[str, ...]:
    """Entities, or parts of them, that a contact, force or clearance rule keeps the robot or its load away from."""
    refs: dict[str, None] = {}
    for rule in scenario.constraints:
        if rule.word in ("NoContact", "MaxForce", "MinClearance"):
            others = [arg for arg in rule.args if arg.partition(".")[0] not in words.RESERVED]
            if len(others) == 1 and any(arg.partition(".")[0] in ("robot", "held") for arg in rule.args):
                refs[others[0]] = None
    return tuple(refs)


def _unique(names: Sequence[str]) -> list[str]:
    """Number the second and later of equal names."""
    seen: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return result
