import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from libero_safety.sim.law import MotionLaw
from libero_safety.sim.motion import MotionError, compile_motion
from libero_safety.types import Pose
from libero_safety.ubddl import spec

START = Pose((0.1, -0.2, 1.0))
SURFACE_Z = 0.9
BOTTOM_M = -0.05


def law_of(path: spec.Path, **kwargs) -> MotionLaw:
    names = ("height", "jitter", "reach_in", "withdraw")
    motion = spec.Motion("hand_1", path, **{name: kwargs.pop(name) for name in names if name in kwargs})
    return compile_motion(motion, START, SURFACE_Z, BOTTOM_M, **kwargs)


def at(law: MotionLaw, time_s: float) -> tuple[list[float], list[float]]:
    now = law.at(time_s)
    return now.pos.tolist(), now.vel.tolist()


def test_line_is_a_triangle_wave_from_the_start_outwards() -> None:
    law = law_of(spec.Line((2.0, 0.0, 0.0), travel=0.3, period=6.0))
    for time_s, x, vx in [(0, 0.1, 0.1), (1.5, 0.25, 0.1), (3, 0.4, -0.1), (4.5, 0.25, -0.1), (6, 0.1, 0.1)]:
        pos, vel = at(law, time_s)
        assert pos == pytest.approx([x, -0.2, 1.0])
        assert vel == pytest.approx([vx, 0.0, 0.0])


def test_line_phase_is_a_fraction_of_the_period() -> None:
    plain = law_of(spec.Line((0.0, 1.0, 1.0), travel=0.2, period=4.0))
    ahead = law_of(spec.Line((0.0, 1.0, 1.0), travel=0.2, period=4.0, phase=0.75))
    assert at(ahead, 0.6)[0] == pytest.approx(at(plain, 3.6)[0])
    assert at(ahead, 0.6)[1] == pytest.approx(at(plain, 3.6)[1])


def test_line_once_stops_at_the_far_end() -> None:
    law = law_of(spec.Line((0.0, 3.0, 0.0), travel=0.2, period=4.0, once=True))
    assert at(law, 1.0)[0] == pytest.approx([0.1, -0.1, 1.0])
    for time_s in (2.0, 2.5, 100.0):
        pos, vel = at(law, time_s)
        assert pos == pytest.approx([0.1, 0.0, 1.0])
        assert vel == [0.0, 0.0, 0.0]


def test_circle_turns_counter_clockwise_in_the_workspace_frame() -> None:
    law = law_of(spec.Circle((0.1, 0.0), period=8.0), workspace_xy=(-0.2, -0.2))
    # Centre (-0.1, -0.2), so the start is 0.2 m along +x of it.
    speed = 0.2 * math.tau / 8.0
    assert at(law, 0.0)[1] == pytest.approx([0.0, speed, 0.0])
    assert at(law, 2.0)[0] == pytest.approx([-0.1, 0.0, 1.0])
    assert at(law, 2.0)[1] == pytest.approx([-speed, 0.0, 0.0])
    assert at(law, 4.0)[0] == pytest.approx([-0.3, -0.2, 1.0])
    quarter_ahead = law_of(spec.Circle((0.1, 0.0), period=8.0, phase=0.25), workspace_xy=(-0.2, -0.2))
    assert at(quarter_ahead, 0.0)[0] == pytest.approx([-0.1, 0.0, 1.0])


SQUARE = (
    spec.WayPoint(1.0, (0.1, 0.0, 0.0)),
    spec.WayPoint(3.0, (0.1, 0.2, 0.0)),
    spec.WayPoint(4.0, (0.0, 0.0, 0.0)),
)


def test_way_points_begin_at_the_start_and_stop_at_the_last() -> None:
    law = law_of(spec.WayPoints(SQUARE[:2], "stop"))
    assert at(law, 0.0) == (pytest.approx([0.1, -0.2, 1.0]), pytest.approx([0.1, 0.0, 0.0]))
    assert at(law, 1.0) == (pytest.approx([0.2, -0.2, 1.0]), pytest.approx([0.0, 0.1, 0.0]))
    assert at(law, 2.0) == (pytest.approx([0.2, -0.1, 1.0]), pytest.approx([0.0, 0.1, 0.0]))
    assert at(law, 3.0) == (pytest.approx([0.2, 0.0, 1.0]), [0.0, 0.0, 0.0])
    assert at(law, 9.0) == at(law, 3.0)


def test_way_points_loop_and_pingpong() -> None:
    loop = law_of(spec.WayPoints(SQUARE, "loop"))
    assert at(loop, 4.5) == (pytest.approx([0.15, -0.2, 1.0]), pytest.approx([0.1, 0.0, 0.0]))
    pingpong = law_of(spec.WayPoints(SQUARE[:2], "pingpong"))
    assert at(pingpong, 3.0) == (pytest.approx([0.2, 0.0, 1.0]), pytest.approx([0.0, -0.1, 0.0]))
    assert at(pingpong, 5.0) == (pytest.approx([0.2, -0.2, 1.0]), pytest.approx([-0.1, 0.0, 0.0]))
    assert at(pingpong, 5.5) == (pytest.approx([0.15, -0.2, 1.0]), pytest.approx([-0.1, 0.0, 0.0]))
    assert at(pingpong, 6.0) == (pytest.approx([0.1, -0.2, 1.0]), pytest.approx([0.1, 0.0, 0.0]))


def test_a_first_way_point_at_time_zero_replaces_the_start() -> None:
    law = law_of(spec.WayPoints((spec.WayPoint(0.0, (0.5, 0.0, 0.0)), spec.WayPoint(1.0, (0.0, 0.0, 0.0)))))
    assert at(law, 0.0)[0] == pytest.approx([0.6, -0.2, 1.0])


def test_parabola_flies_and_rests_on_the_surface() -> None:
    # 0.05 m above the surface, thrown up at 2 m/s under 10 m/s^2: lands after 0.2 + sqrt(0.05) s.
    law = law_of(spec.Parabola((1.0, 0.0, 2.0), gravity=10.0, start=0.5))
    assert at(law, 0.49) == ([0.1, -0.2, 1.0], [0.0, 0.0, 0.0])
    assert at(law, 0.5)[1] == [1.0, 0.0, 2.0]
    assert at(law, 0.7) == (pytest.approx([0.3, -0.2, 1.2]), pytest.approx([1.0, 0.0, 0.0]))
    flight = 0.2 + math.sqrt(0.05)
    for time_s in (0.5 + flight + 1e-9, 9.0):
        pos, vel = at(law, time_s)
        assert pos == pytest.approx([0.1 + flight, -0.2, SURFACE_Z - BOTTOM_M])
        assert vel == [0.0, 0.0, 0.0]
    assert law.peak_speed_m_s == pytest.approx(math.hypot(1.0, 10.0 * math.sqrt(0.05)))


def test_parabola_that_starts_on_the_surface_without_going_up_stays() -> None:
    law = law_of(spec.Parabola((1.0, 0.0, -1.0)), height=0.0)
    assert at(law, 1.0) == (pytest.approx([0.1, -0.2, 0.95]), [0.0, 0.0, 0.0])


def test_parabola_without_gravity_is_straight() -> None:
    law = law_of(spec.Parabola((0.0, 1.0, 0.5), gravity=0.0))
    assert at(law, 2.0) == (pytest.approx([0.1, 1.8, 2.0]), pytest.approx([0.0, 1.0, 0.5]))


def test_height_is_that_of_the_lowest_point_above_the_surface() -> None:
    law = law_of(spec.Still(), height=0.12)
    assert at(law, 3.0) == (pytest.approx([0.1, -0.2, 0.9 + 0.12 + 0.05]), [0.0, 0.0, 0.0])


def test_a_caller_may_keep_and_change_what_it_got() -> None:
    for path in (spec.Still(), *SAMPLES):
        law = law_of(path)
        before = at(law, 0.4)
        now = law.at(0.4)
        now.pos[:] += 1.0
        now.vel[:] += 1.0
        assert at(law, 0.4) == before


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (spec.Line((0.0, 0.0, 0.0), 0.1, 1.0), "direction"),
        (spec.Line((1.0, 0.0, 0.0), 0.1, 0.0), "period"),
        (spec.Line((1.0, 0.0, 0.0), -0.1, 1.0), "travel"),
        (spec.Line((1.0, 0.0, 0.0), spec.Uniform(0.1, 0.2), 1.0), "draw it first"),
        (spec.Line((1.0, 0.0, 0.0), math.nan, 1.0), "travel"),
        (spec.Circle((0.0, 0.0), -1.0), "period"),
        (spec.Circle((0.1, -0.2), 1.0), "radius"),
        (spec.WayPoints((SQUARE[1], SQUARE[0])), "rise"),
        (spec.WayPoints((spec.WayPoint(-1.0, (0.0, 0.0, 0.0)),)), "rise"),
        (spec.WayPoints(SQUARE[:2], "loop"), "loop"),
        (spec.WayPoints((), "pingpong"), "second"),
        (spec.WayPoints(SQUARE, "stop", phase=0.5), "a phase needs"),
        (spec.Parabola((0.0, 0.0, 1.0), gravity=-9.81), "gravity"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_by_name(path: spec.Path, says: str) -> None:
    place = spec.Place("a.ubddl", 3, 4)
    with pytest.raises(MotionError, match=says) as caught:
        compile_motion(replace(spec.Motion("hand_1", path), place=place), START, SURFACE_Z, BOTTOM_M)
    assert "a.ubddl:3:4" in str(caught.value)
    assert "'hand_1'" in str(caught.value)


def test_a_throw_from_below_the_surface_is_refused() -> None:
    with pytest.raises(MotionError, match="below"):
        law_of(spec.Parabola((0.0, 0.0, 1.0)), height=-0.1)


def test_a_step_longer_than_the_thing_is_refused() -> None:
    fast = spec.Line((1.0, 0.0, 0.0), travel=1.0, period=0.2)  # 10 m/s: 20 mm in 2 ms
    assert law_of(fast, size_m=0.021).peak_speed_m_s == pytest.approx(10.0)
    with pytest.raises(MotionError, match="one physics step"):
        law_of(fast, size_m=0.019)


CORNER = (spec.WayPoint(2.0, (0.2, 0.0, 0.0)), spec.WayPoint(3.0, (0.2, 0.1, 0.0)))  # +x for 2 s, +y for 1 s


def turn(law: MotionLaw, time_s: float) -> tuple[float, float]:
    now = law.at(time_s)
    return now.turn, now.turn_rate


def test_on_a_circle_the_turn_is_that_of_the_radius() -> None:
    law = law_of(spec.Circle((0.1, 0.0), period=8.0, phase=0.25, facing="follow"))
    for time_s in (0.0, 1.0, 30.0):
        assert turn(law, time_s) == pytest.approx((math.tau * (0.25 + time_s / 8.0), math.tau / 8.0))
        along = law.at(time_s).vel / np.linalg.norm(law.at(time_s).vel)
        # Placed at -y of the centre it sets out in +x, turned by nothing.
        assert along == pytest.approx((math.cos(law.at(time_s).turn), math.sin(law.at(time_s).turn), 0.0))


def test_at_a_way_point_the_turn_takes_half_of_the_shorter_leg_on_either_side() -> None:
    law = law_of(spec.WayPoints(CORNER, "stop", facing="follow"))
    for time_s in (-1.0, 0.0, 1.5):
        assert turn(law, time_s) == (0.0, 0.0)
    assert turn(law, 2.0) == pytest.approx((math.pi / 4, 1.875 * math.pi / 2))
    for time_s in (2.5, 3.0, 9.0):
        assert turn(law, time_s) == pytest.approx((math.pi / 2, 0.0))
    quarter = 10 / 64 - 15 / 256 + 6 / 1024  # minimum jerk at u = 1/4
    assert turn(law, 1.75)[0] == pytest.approx(quarter * math.pi / 2)


def test_on_the_way_back_of_pingpong_the_turn_is_undone() -> None:
    law = law_of(spec.WayPoints(CORNER, "pingpong", facing="follow"))
    for time_s in (0.3, 1.8, 2.0, 2.9):
        there, back = turn(law, time_s), turn(law, 6.0 - time_s)
        assert back == pytest.approx((there[0], -there[1]))
    assert turn(law, 3.0) == pytest.approx((math.pi / 2, 0.0))


def test_a_loop_turns_on_and_on() -> None:
    offsets = ((0.1, 0.0, 0.0), (0.1, 0.1, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.0))
    square = tuple(spec.WayPoint(i + 1.0, offset) for i, offset in enumerate(offsets))
    law = law_of(spec.WayPoints(square, "loop", facing="follow"))
    for corner in range(-4, 9):  # turned by half of the first corner less than the legs' directions
        assert turn(law, corner)[0] == pytest.approx(corner * math.pi / 2)
        assert turn(law, corner + 0.5) == pytest.approx(((corner + 0.5) * math.pi / 2, 0.0), abs=1e-12)
    ahead = law_of(spec.WayPoints(square, "loop", phase=0.25, facing="follow"))
    assert turn(ahead, 0.3) == pytest.approx(turn(law, 1.3))
    assert at(ahead, 0.3)[0] == pytest.approx(at(law, 1.3)[0])


def test_straight_back_is_half_a_turn_and_waiting_or_rising_none() -> None:
    there_and_back = (spec.WayPoint(1.0, (0.1, 0.0, 0.0)), spec.WayPoint(2.0, (0.0, 0.0, 0.0)))
    law = law_of(spec.WayPoints(there_and_back, "loop", facing="follow"))
    assert turn(law, 1.0)[0] == pytest.approx(math.pi)
    assert turn(law, 2.0)[0] == pytest.approx(math.tau)
    rising = (
        spec.WayPoint(1.0, (0.0, 0.0, 0.1)),
        spec.WayPoint(2.0, (0.0, 0.1, 0.1)),
        spec.WayPoint(3.0, (0.0, 0.1, 0.1)),
        spec.WayPoint(4.0, (-0.1, 0.1, 0.1)),
    )
    law = law_of(spec.WayPoints(rising, "stop", facing="follow"))
    assert [turn(law, t)[0] for t in (0.0, 1.0, 2.0, 2.5)] == [0.0] * 4
    assert turn(law, 4.0)[0] == pytest.approx(math.pi / 2)
    only_up = law_of(spec.WayPoints(rising[:1], "pingpong", facing="follow"))
    assert turn(only_up, 1.3) == (0.0, 0.0)


def test_pingpong_and_loop_phases_are_fractions_of_the_whole_cycle() -> None:
    plain, ahead = (law_of(spec.WayPoints(CORNER, "pingpong", phase=p)) for p in (0.0, 0.75))
    assert at(ahead, 0.0) == at(plain, 4.5)  # three quarters of 6 s
    assert at(ahead, 2.0)[0] == pytest.approx(at(plain, 0.5)[0])


def test_reaching_in_is_minimum_jerk_there_and_back() -> None:
    # The peak of minimum jerk is 15/8 of the mean: 0.15 m at 0.25 m/s at most last 1.125 s.
    reach = spec.ReachIn(at=2.0, offset=(-0.15, 0.0, 0.0), speed=0.25, hold=0.5)
    law = law_of(spec.Still(), reach_in=reach)
    for time_s, x, vx in [
        (0.0, 0.0, 0.0),
        (2.0, 0.0, 0.0),
        (2.5625, -0.075, -0.25),
        (3.125, -0.15, 0.0),
        (3.4, -0.15, 0.0),
        (3.625, -0.15, 0.0),
        (4.1875, -0.075, 0.25),
        (4.75, 0.0, 0.0),
        (9.0, 0.0, 0.0),
    ]:
        pos, vel = at(law, time_s)
        assert pos == pytest.approx([0.1 + x, -0.2, 1.0])
        assert vel == pytest.approx([vx, 0.0, 0.0], abs=1e-12)
    assert law.peak_speed_m_s == 0.25
    nowhere = law_of(spec.Still(), reach_in=spec.ReachIn(0.0, (0.0, 0.0, 0.0), speed=0.25, hold=1.0))
    assert at(nowhere, 0.5) == ([0.1, -0.2, 1.0], [0.0, 0.0, 0.0])


def test_trembling_is_bounded_has_no_drift_and_is_drawn() -> None:
    jitter = spec.Jitter(amplitude=0.003, frequency=2.0)

    def gone(seed: int) -> np.ndarray:
        law = law_of(spec.Still(), jitter=jitter, rng=np.random.default_rng(seed))
        return np.array([law.at(t).pos for t in np.arange(0.0, 60.0, 0.01)]) - np.array(START.pos)

    one = gone(0)
    reached = np.linalg.norm(one, axis=1)
    assert 0.0015 < reached.max() <= 0.003
    assert np.abs(one.mean(axis=0)).max() < 1e-4
    assert (np.ptp(one, axis=0) > 0.001).all()  # along every axis
    spectrum = np.abs(np.fft.rfft(one[:, 0] * np.hanning(len(one))))
    frequency = np.fft.rfftfreq(len(one), 0.01)
    assert spectrum[(frequency < 0.9) | (frequency > 2.1)].max() < 0.02 * spectrum.max()
    assert np.array_equal(one, gone(0))
    assert not np.array_equal(one, gone(1))
    with pytest.raises(MotionError, match="random generator"):
        law_of(spec.Still(), jitter=jitter)


def test_what_is_on_top_of_a_path_adds_up() -> None:
    jitter, reach = spec.Jitter(0.003, 2.0), spec.ReachIn(0.5, (0.0, 0.1, 0.0), 0.2, 1.0)
    line = spec.Line((1.0, 0.0, 0.0), 0.2, 4.0)
    whole, trembling, reaching, plain, still = (
        law_of(path, rng=np.random.default_rng(7), **extra)
        for path, extra in (
            (line, {"jitter": jitter, "reach_in": reach}),
            (spec.Still(), {"jitter": jitter}),
            (spec.Still(), {"reach_in": reach}),
            (line, {}),
            (spec.Still(), {}),
        )
    )
    for time_s in (0.0, 0.9, 1.7):
        parts = [law.at(time_s) for law in (trembling, reaching, plain)]
        assert whole.at(time_s).pos == pytest.approx(sum(p.pos for p in parts) - 2 * still.at(0.0).pos)
        assert whole.at(time_s).vel == pytest.approx(sum(p.vel for p in parts))


def test_all_that_moves_a_thing_counts_against_jumping_through_obstacles() -> None:
    circle = spec.Circle((0.1, 0.0), period=math.tau, facing="follow")  # 1 rad/s, 0.2 m/s
    extra = {
        "reach_in": spec.ReachIn(0.0, (0.1, 0.0, 0.0), speed=1.0),
        "withdraw": spec.Withdraw(0.1, (1.0, 0.0, 0.0), 0.2, speed=2.0),
    }
    # 0.2 of the path, 0.5 m off its axis at 1 rad/s, 1 reaching in and 2 withdrawing: 3.7 m/s, 7.4 mm in 2 ms.
    law_of(circle, size_m=0.00741, radius_m=0.5, **extra)
    with pytest.raises(MotionError, match=r"covers 0\.0074 m"):
        law_of(circle, size_m=0.00739, radius_m=0.5, **extra)


finite = st.floats(-1.0, 1.0).map(lambda v: round(v, 3))
vectors = st.tuples(finite, finite, finite)
periods = st.floats(0.2, 20.0)
phases = st.floats(0.0, 1.0)
facings = st.sampled_from(["fixed", "follow"])
jitters = st.none() | st.builds(spec.Jitter, st.floats(0.0, 0.01), st.floats(0.1, 5.0))
reaches = st.none() | st.builds(
    spec.ReachIn, st.floats(0.0, 5.0), vectors, st.floats(0.1, 1.0), st.floats(0.0, 3.0)
)
lines = st.builds(
    spec.Line,
    direction=vectors.filter(lambda v: max(map(abs, v)) > 0.01),
    travel=st.floats(0.0, 1.0),
    period=periods,
    phase=phases,
    once=st.booleans(),
)
circles = st.builds(
    spec.Circle,
    center=st.tuples(finite, finite).filter(lambda c: c != (0.1, -0.2)),
    period=periods,
    phase=phases,
    facing=facings,
)
parabolas = st.builds(
    spec.Parabola, velocity=vectors, gravity=st.floats(1.0, 20.0), start=st.floats(0.0, 1.0)
)


@st.composite
def way_points(draw: st.DrawFn) -> spec.WayPoints:
    gaps = draw(st.lists(st.floats(0.1, 3.0), min_size=1, max_size=5))
    offsets = [draw(vectors) for _ in gaps]
    mode = draw(st.sampled_from(["stop", "loop", "pingpong"]))
    if mode == "loop":
        offsets[-1] = (0.0, 0.0, 0.0)
    times = np.cumsum(gaps).tolist()
    phase = 0.0 if mode == "stop" else draw(phases)
    points = tuple(spec.WayPoint(t, o) for t, o in zip(times, offsets, strict=True))
    return spec.WayPoints(points, mode, phase, draw(facings))


paths = st.one_of(lines, circles, way_points(), parabolas)
times = st.floats(-5.0, 50.0)
SAMPLES = (
    spec.Line((1.0, 0.0, 0.0), 0.2, 2.0),
    spec.Circle((0.0, 0.0), 3.0),
    spec.WayPoints(SQUARE, "pingpong"),
    spec.Parabola((0.0, 0.0, 1.0)),
)


@settings(max_examples=300, deadline=None)
@given(paths, jitters, reaches, times)
def test_velocity_is_the_derivative_of_position(path, jitter, reach, time_s: float) -> None:
    law = law_of(path, jitter=jitter, reach_in=reach, rng=np.random.default_rng(0))
    step = 1e-5
    before, now, after = law.at(time_s - step), law.at(time_s), law.at(time_s + step)
    # At a corner the velocity jumps, and the mean over it is one between the two.
    vels = np.stack([before.vel, now.vel, after.vel])
    mean = (after.pos - before.pos) / (2 * step)
    assert np.all(mean >= vels.min(axis=0) - 2e-3)
    assert np.all(mean <= vels.max(axis=0) + 2e-3)


@settings(max_examples=300, deadline=None)
@given(st.one_of(circles, way_points()), times)
def test_the_turn_never_jumps_nor_does_its_rate(path: spec.Circle | spec.WayPoints, time_s: float) -> None:
    law = law_of(path)
    step = 1e-5
    before, now, after = law.at(time_s - step), law.at(time_s), law.at(time_s + step)
    assert (after.turn - before.turn) / (2 * step) == pytest.approx(now.turn_rate, abs=1e-2)
    assert after.turn_rate == pytest.approx(before.turn_rate, abs=0.5)  # at most 2e-5 s * 5.8 pi / (0.1 s)^2
    if path.facing == "fixed":
        assert (now.turn, now.turn_rate) == (0.0, 0.0)


@settings(max_examples=200, deadline=None)
@given(paths, jitters, reaches, times)
def test_position_never_jumps_and_never_outruns_the_peak_speed(path, jitter, reach, time_s: float) -> None:
    law = law_of(path, jitter=jitter, reach_in=reach, rng=np.random.default_rng(0))
    step = 0.002
    moved = float(np.linalg.norm(law.at(time_s + step).pos - law.at(time_s).pos))
    assert moved <= law.peak_speed_m_s * step * (1 + 1e-9) + 1e-9
    assert float(np.linalg.norm(law.at(time_s).vel)) <= law.peak_speed_m_s * (1 + 1e-9) + 1e-12


@settings(max_examples=200, deadline=None)
@given(jitters.filter(lambda j: j is not None), times, st.integers(0, 10))
def test_trembling_never_exceeds_its_amplitude(jitter: spec.Jitter, time_s: float, seed: int) -> None:
    law = law_of(spec.Still(), jitter=jitter, rng=np.random.default_rng(seed))
    gone = np.linalg.norm(law.at(time_s).pos - np.array(START.pos))
    assert gone <= float(jitter.amplitude) + 1e-15


@settings(max_examples=100, deadline=None)
@given(lines, times)
def test_a_line_stays_between_its_ends(path: spec.Line, time_s: float) -> None:
    gone = law_of(path).at(time_s).pos - np.array(START.pos)
    direction = np.array(path.direction) / np.linalg.norm(path.direction)
    along = float(gone @ direction)
    assert -1e-9 <= along <= float(path.travel) + 1e-9
    assert gone == pytest.approx(along * direction, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(circles, times)
def test_a_circle_keeps_its_radius_and_height(path: spec.Circle, time_s: float) -> None:
    pos, vel, *_ = law_of(path).at(time_s)
    center = np.array(path.center)
    radius = np.linalg.norm(np.array(START.pos[:2]) - center)
    assert np.linalg.norm(pos[:2] - center) == pytest.approx(radius)
    assert pos[2] == 1.0
    out = pos[:2] - center
    assert out[0] * vel[1] - out[1] * vel[0] > 0.0


@settings(max_examples=100, deadline=None)
@given(st.one_of(lines, circles), times, st.integers(-3, 3))
def test_periodic_laws_repeat(path: spec.Line | spec.Circle, time_s: float, turns: int) -> None:
    assume(not (isinstance(path, spec.Line) and path.once))
    law = law_of(path)
    again = law.at(time_s + turns * float(path.period))
    assert again.pos == pytest.approx(law.at(time_s).pos, abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(way_points(), times)
def test_way_points_stay_in_the_box_of_their_points(path: spec.WayPoints, time_s: float) -> None:
    offsets = np.array([(0.0, 0.0, 0.0), *(p.offset for p in path.points)])
    gone = law_of(path).at(time_s).pos - np.array(START.pos)
    assert (gone >= offsets.min(axis=0) - 1e-9).all()
    assert (gone <= offsets.max(axis=0) + 1e-9).all()


@settings(max_examples=100, deadline=None)
@given(parabolas, times)
def test_a_thrown_thing_never_sinks_into_the_surface(path: spec.Parabola, time_s: float) -> None:
    assert law_of(path).at(time_s).pos[2] + BOTTOM_M >= SURFACE_Z - 1e-9
