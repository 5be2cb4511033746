import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libero_safety.eval.metrics import (
    COLLISION_KINDS,
    MEASURES,
    exposure_s,
    ldlj,
    ldlj_savgol,
    measure,
    min_clearance_m,
    peak_force_n,
    sparc,
    summarise,
)
from libero_safety.types import Episode, FloatArray, Key, Outcome, Trace, Violation
from libero_safety.ubddl.words import CONSTRAINTS

MINIMUM_JERK = -math.log(720 / 1.875**2)  # integral |jerk|^2 = 720 D^2 / T^5, peak speed = 1.875 D / T


def minimum_jerk(n: int = 361) -> FloatArray:
    t = np.linspace(0.0, 1.0, n)
    return (10 * t**3 - 15 * t**4 + 6 * t**5)[:, None] * np.array([0.3, 0.1, 0.05])


def trace_of(pos: FloatArray, **changes: Any) -> Trace:
    n = len(pos)
    trace = Trace(
        dt_s=0.05,
        qpos=np.zeros((n, 9)),
        eef_pos=pos,
        eef_quat=np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),
        gripper=np.zeros((n, 2)),
        asked=np.zeros((n - 1, 7)),
        executed=np.zeros((n - 1, 7)),
        clearance_m=np.full(n, np.nan),
        force_n=np.zeros(n - 1),
        state_hash=np.zeros(n, np.uint64),
    )
    return replace(trace, **changes)


def episode(
    outcome: Outcome = "success", kinds: tuple[str, ...] = (), trace: Trace | None = None, **key: Any
) -> Episode:
    fields = {"suite": "tsa", "task": "moka", "level": 0, "seed": 0, "index": 0, **key}
    violations = tuple(Violation(f"({k} a b)", k, 1.0, 20, ("a", "b"), None, 1.0, 0.0, "") for k in kinds)
    return Episode(Key(**fields), "do it", outcome, violations, 100, outcome == "success", trace)


def test_a_minimum_jerk_reach_has_its_analytic_smoothness() -> None:
    assert pytest.approx(-5.322, abs=5e-4) == MINIMUM_JERK
    assert ldlj(minimum_jerk(), 0.05).value == pytest.approx(MINIMUM_JERK, abs=0.05)
    assert ldlj_savgol(minimum_jerk(), 0.05).value == pytest.approx(MINIMUM_JERK, abs=0.05)


@pytest.mark.parametrize("smoothness", [ldlj, ldlj_savgol])
@given(log2_time=st.integers(-8, 8), length=st.floats(0.1, 50.0), seed=st.integers(0, 99))
def test_ldlj_does_not_change_when_time_or_length_is_rescaled(
    smoothness: Any, log2_time: int, length: float, seed: int
) -> None:
    pos = minimum_jerk(60) + np.random.default_rng(seed).normal(0.0, 1e-3, (60, 3))
    there = smoothness(length * pos, 0.05 * 2.0**log2_time).value
    assert there == pytest.approx(smoothness(pos, 0.05).value, abs=1e-6)


def test_an_idle_tail_that_doubles_the_time_costs_three_ln_two() -> None:
    pos = minimum_jerk(101)
    idle = np.concatenate([pos, np.repeat(pos[-1:], 100, axis=0)])
    assert ldlj(idle, 0.05).value - ldlj(pos, 0.05).value == pytest.approx(-3 * math.log(2), abs=0.05)


def test_jitter_is_less_smooth_by_every_measure() -> None:
    pos = minimum_jerk(200)
    shaken = pos + np.random.default_rng(0).normal(0.0, 1e-3, pos.shape)
    for smoothness in (ldlj, ldlj_savgol, sparc):
        assert smoothness(shaken, 0.05).value < smoothness(pos, 0.05).value - 0.1
    assert ldlj_savgol(shaken, 0.05).value > ldlj(shaken, 0.05).value


def test_sparc_of_a_bell_shaped_speed() -> None:
    # Speed exp(-5 t^2) on [-1, 1) at 100 Hz: -1.41403 by the definition's authors (2015). The position is its
    # integral, so central differences give the speed back but for the discretisation.
    t = np.arange(-1.0, 1.0, 0.01)
    pos = np.zeros((len(t), 3))
    pos[:, 0] = [math.erf(math.sqrt(5.0) * x) * math.sqrt(math.pi / 20.0) for x in t]
    assert sparc(pos, 0.01).value == pytest.approx(-1.41403, abs=2e-3)
    # No curve that falls from 1 to the threshold 0.05 over a unit width is shorter than the straight one.
    assert sparc(minimum_jerk(), 0.05).value < -math.hypot(1.0, 0.95)


@pytest.mark.parametrize("smoothness", [ldlj, ldlj_savgol, sparc])
def test_what_has_no_smoothness_says_why(smoothness: Any) -> None:
    still = np.tile([0.4, 0.0, 1.0], (50, 1))
    gap = minimum_jerk(50)
    gap[20] = np.nan
    for pos, reason in (
        (still, "no motion"),
        (still + np.random.default_rng(0).normal(0, 1e-5, still.shape), "no motion"),
        (gap, "non-finite positions"),
        (minimum_jerk(3), "fewer than"),
        (np.zeros((0, 3)), "fewer than"),
    ):
        found = smoothness(pos, 0.05)
        assert math.isnan(found.value)
        assert reason in found.reason


def test_a_motion_at_constant_velocity_has_no_jerk_to_measure() -> None:
    line = np.linspace(0.0, 1.0, 200)[:, None] * np.array([0.3, 0.1, 0.7])
    for smoothness in (ldlj, ldlj_savgol):
        assert smoothness(line, 0.05).reason == "constant velocity, no jerk"


def test_clearance_force_and_exposure() -> None:
    clearance = np.array([0.001, 0.06, 0.04, 0.015, 0.005, np.nan, 0.05])
    trace = trace_of(minimum_jerk(7), clearance_m=clearance, force_n=np.array([0.0, 3.5, np.nan, 1.0, 0, 0]))
    assert min_clearance_m(trace).value == 0.001
    assert peak_force_n(trace).value == 3.5
    # Row 0 is the state before the first step; below 5 cm are the rows 0.04, 0.015 and 0.005.
    assert [exposure_s(trace, d).value for d in (0.01, 0.02, 0.05)] == pytest.approx([0.05, 0.10, 0.15])
    nothing = trace_of(minimum_jerk(7))
    assert min_clearance_m(nothing).reason == exposure_s(nothing, 0.01).reason == "no guarded entity"
    infinite = trace_of(minimum_jerk(7), clearance_m=np.full(7, np.inf), force_n=np.zeros(0))
    assert math.isnan(min_clearance_m(infinite).value)
    assert peak_force_n(infinite).reason == "no force recorded"


@pytest.mark.parametrize("kind", sorted(CONSTRAINTS))
def test_a_collision_is_a_touch_or_too_much_force(kind: str) -> None:
    expected = kind in {"NoContact", "MaxForce", "NoSelfCollision", "NoTableStrike"}
    found = measure(episode("violation", (kind,)))
    assert found.collision is expected
    assert found.violated
    assert not found.success
    assert measure(episode("violation", (kind, "NoContact"))).collision


def test_every_episode_has_every_measure() -> None:
    for one in (episode("error"), episode(), episode(trace=trace_of(minimum_jerk(50)))):
        assert tuple(measure(one).measures) == MEASURES
    assert measure(episode("error")).measures["ldlj"].reason == "the episode ended in an error"
    assert measure(episode()).measures["sparc"].reason == "no trace"
    assert not math.isnan(measure(episode(trace=trace_of(minimum_jerk(50)))).measures["ldlj"].value)


def test_rates_are_over_episodes_that_ran_and_errors_stand_apart() -> None:
    rows = [
        measure(one)
        for one in (
            episode("success", index=0),
            episode("violation", ("NoContact",), index=1),
            episode("violation", ("MaxTilt",), index=2),
            episode("timeout", index=3),
            episode("error", index=4),
            episode("error", index=5),
        )
    ]
    (everything,) = summarise(rows, ())
    assert (everything.n, everything.errors) == (4, 2)
    assert (everything.success.k, everything.success.n) == (1, 4)
    assert (everything.collision.k, everything.violated.k) == (1, 2)
    assert dict(everything.outcomes) == {"success": 1, "violation": 2, "timeout": 1, "error": 2}
    assert everything.means["steps"].n == 4
    assert everything.means["ldlj"].n == 0
    assert everything.reasons["ldlj"] == {"no trace": 4}


def test_groups_are_the_combinations_that_occur_in_order() -> None:
    rows = [
        measure(episode(outcome, suite=suite, level=level, task=task, seed=seed), policy)
        for policy in ("expert", "careless")
        for suite, task in (("tsa", "moka"), ("aag", "knife"))
        for level in (1, 0)
        for seed, outcome in ((0, "success"), (1, "timeout"))
    ]
    found = summarise(rows, ("policy", "suite", "level"))
    assert [tuple(s.group.values()) for s in found][:3] == [
        ("careless", "aag", 0),
        ("careless", "aag", 1),
        ("careless", "tsa", 0),
    ]
    assert len(found) == 8
    assert {s.n for s in found} == {2}
    assert [dict(s.group) for s in summarise(rows, ("task",))] == [{"task": "knife"}, {"task": "moka"}]
    assert found[0].success_seed_std == 0.5
    assert math.isnan(summarise(rows[:1], ())[0].success_seed_std)


def test_no_episodes_is_a_row_of_nothing() -> None:
    (nothing,) = summarise([], ())
    assert nothing.n == nothing.errors == 0
    assert math.isnan(nothing.success.value)
    assert summarise([], ("suite",)) == ()


def test_the_same_rows_give_the_same_table() -> None:
    rows = [measure(episode(trace=trace_of(minimum_jerk(50)), index=i)) for i in range(5)]
    assert summarise(rows, ("suite",))[0].success == summarise(rows, ("suite",))[0].success
    assert summarise(rows, ("suite",))[0].means["ldlj"] == summarise(rows, ("suite",))[0].means["ldlj"]


def test_the_documentation_names_every_reason_and_measure() -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    gap = minimum_jerk(10)
    gap[3] = np.nan
    line = np.linspace(0.0, 1.0, 50)[:, None] * np.ones(3)
    found = {
        *(ldlj(pos, 0.05).reason for pos in (gap, line, line * 0.0, minimum_jerk(3))),
        *(m.reason for one in (episode("error"), episode()) for m in measure(one).measures.values()),
        min_clearance_m(trace_of(minimum_jerk(7))).reason,
        peak_force_n(trace_of(minimum_jerk(7), force_n=np.zeros(0))).reason,
    }
    assert len(found) == 8
    assert [reason for reason in found if f"`{reason}`" not in page] == []
    assert [kind for kind in COLLISION_KINDS if f"`{kind}`" not in page] == []
