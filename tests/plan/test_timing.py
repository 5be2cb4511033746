"""The smoothest motion in a tube: closed forms, limits, obstacles, failures."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from arm_lab import HOME, Robot
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

pytest.importorskip("piqp")

from libero_safety.eval.metrics import ldlj
from libero_safety.plan.corridor import TipPath
from libero_safety.plan.extra import MissingExtraError
from libero_safety.plan.limits import DT_S, TipLimits
from libero_safety.plan.response import law
from libero_safety.plan.smooth import Smoother
from libero_safety.plan.timing import (
    JOINT_SPEED_RAD_S,
    TimingFailed,
    TipMotion,
    brake,
    hold,
    time_path,
)

ROBOT = Robot()
ARM, POS, ROT = ROBOT.arm, ROBOT.home_pos, ROBOT.home_rot
LIMITS = TipLimits()


def through(*offsets, turn=(0.0, 0.0, 0.0), slack_m=0.03, **more) -> TipMotion:
    motion = timed(*offsets, turn=turn, slack_m=slack_m, **more)
    assert isinstance(motion, TipMotion), motion
    return motion


def timed(*offsets, turn=(0.0, 0.0, 0.0), slack_m=0.03, **more) -> TipMotion | TimingFailed:
    """From home through offsets from it, turning evenly."""
    pos = POS + np.array([(0.0, 0.0, 0.0), *offsets])
    turns = np.linspace(0.0, 1.0, len(pos))[:, None] * np.array(turn)
    return time_path(
        ARM, TipPath.of(pos, Rotation.from_rotvec(turns).as_matrix() @ ROT, slack_m), HOME, **more
    )


def speeds(motion: TipMotion) -> np.ndarray:
    return np.linalg.norm(np.diff(motion.pos, axis=0), axis=1) / DT_S


def turns(motion: TipMotion) -> np.ndarray:
    rotations = Rotation.from_matrix(motion.rot)
    return (rotations[1:] * rotations[:-1].inv()).as_rotvec() / DT_S


def off_path(motion: TipMotion, *offsets) -> float:
    """Largest distance of a sample to the polyline (m)."""
    corners = POS + np.array([(0.0, 0.0, 0.0), *offsets])
    fine = np.concatenate([np.linspace(a, b, 400) for a, b in pairwise(corners)])
    return float(np.linalg.norm(motion.pos[:, None] - fine[None], axis=2).min(axis=1).max())


def test_a_straight_move_has_the_closed_form_of_least_jerk():
    """Flash and Hogan 1985: peak speed 1.875 L / T and dimensionless jerk 720 / 1.875^2."""
    way, jerk = np.array([0.15, 0.2, -0.1]), 0.5
    motion = through(way, limits=TipLimits(jerk_m_s3=jerk))
    moving_s = (motion.steps - 2) * DT_S  # the third sample is the first that may move
    length = float(np.linalg.norm(way))
    assert speeds(motion).max() == pytest.approx(1.875 * length / moving_s, rel=0.02)
    assert ldlj(motion.pos, DT_S).value == pytest.approx(-5.322, abs=0.1)
    # Its jerk has the root mean square sqrt(720) L / T^3, here the limit.
    assert moving_s == pytest.approx((np.sqrt(720.0) * length / jerk) ** (1 / 3), rel=0.05)
    assert off_path(motion, way) < 2e-3
    along = (motion.pos - POS) @ way / (way @ way)
    assert (np.diff(along) > -1e-6).all()
    assert along.min() > -1e-4
    assert along.max() < 1.0 + 1e-4, "no overshoot"
    np.testing.assert_allclose(motion.pos[[0, -1]], [POS, POS + way], atol=1e-9)


def jerk(motion: TipMotion) -> float:
    return float(np.sqrt((np.diff(motion.pos, 3, axis=0) ** 2).sum(axis=1).mean())) / DT_S**3


def test_a_long_move_cruises_at_full_speed_and_has_no_more_jerk_than_a_short_one():
    limits = TipLimits(jerk_m_s3=0.8)
    long, short = (through((0.0, 0.0, 0.0), (0.0, way, 0.0), limits=limits) for way in (0.4, 0.1))
    assert 0.85 * 0.8 < jerk(long) <= 0.8
    assert 0.85 * 0.8 < jerk(short) <= 0.8
    speed = speeds(long)
    held = speed > 0.97 * speed.max()
    assert speed.max() <= LIMITS.speed_m_s
    assert held.sum() > 0.2 * long.steps
    # Least jerk would need as long as its peak of 1.875 times the mean speed allows.
    assert (long.steps - 2) * DT_S < 0.85 * 1.875 * 0.4 / speed.max()
    assert speeds(short).max() < 0.9 * LIMITS.speed_m_s


def test_it_starts_and_ends_at_rest():
    motion = through((0.1, 0.1, 0.0), (0.1, 0.1, -0.15))
    np.testing.assert_allclose(motion.pos[:3], np.repeat(POS[None], 3, axis=0), atol=1e-12)
    np.testing.assert_allclose(np.diff(motion.pos[-3:], axis=0), 0.0, atol=1e-12)


def test_corners_are_rounded_within_the_tube_and_faster_than_with_stops():
    corners = ((0.0, 0.0, -0.1), (0.1, 0.25, -0.1), (0.1, 0.25, -0.2))
    wide, tight = through(*corners), through(*corners, slack_m=0.004)
    assert off_path(wide, *corners) < 0.03 * np.sqrt(3.0)
    assert off_path(tight, *corners) < 0.004 * np.sqrt(3.0) + 1e-3
    stops = 1.875 * (0.1 + np.hypot(0.1, 0.25) + 0.1) / LIMITS.speed_m_s / DT_S
    assert wide.steps < 0.9 * stops
    assert wide.steps < tight.steps
    assert ldlj(tight.pos, DT_S).value < ldlj(wide.pos, DT_S).value
    # Three equal stop-to-stop moves have -ln(204.8 * 3^4) = -9.7.
    assert ldlj(wide.pos, DT_S).value > -7.5


def test_a_row_without_slack_is_passed_without_a_stop():
    via = np.array([0.1, 0.1, 0.0])
    motion = through(via, (0.1, 0.25, -0.1), slack_m=np.array([0.03, 0.0, 0.03]))
    nearest = np.linalg.norm(motion.pos - POS - via, axis=1)
    assert nearest.min() < 0.008
    assert speeds(motion)[max(int(np.argmin(nearest)) - 1, 0)] > 0.03


def test_rotation_goes_the_same_smooth_way():
    motion = through((0.1, 0.1, -0.05), turn=(0.0, 0.0, 1.2))
    relative = Rotation.from_matrix(motion.rot) * Rotation.from_matrix(ROT).inv()
    yaw = relative.as_rotvec()[:, 2]
    assert yaw[0] == pytest.approx(0.0, abs=1e-9)
    assert yaw[-1] == pytest.approx(1.2, abs=1e-9)
    assert (np.diff(yaw) > -1e-6).all()
    assert np.linalg.norm(turns(motion), axis=1).max() <= LIMITS.turn_rad_s * (1 + 1e-6)
    assert yaw.max() < 1.2 + 1e-4, "no overshoot"


def test_a_pure_turn_is_a_motion_too():
    motion = through((0.0, 0.0, 0.0), turn=(0.0, 0.0, 1.0))
    assert motion.steps > 20
    np.testing.assert_allclose(motion.pos, np.repeat(POS[None], motion.steps + 1, axis=0), atol=1e-9)


def test_a_path_that_leads_nowhere_takes_one_step():
    motion = through((0.0, 0.0, 0.0))
    assert motion.steps == 1
    np.testing.assert_allclose(motion.joints[0], HOME)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    corners=st.lists(
        st.tuples(st.floats(-0.1, 0.15), st.floats(-0.2, 0.2), st.floats(-0.2, 0.1)), min_size=1, max_size=4
    ),
    turn=st.tuples(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.floats(-1.0, 1.0)),
    slack_m=st.floats(0.002, 0.05),
)
def test_limits_hold_on_any_path(corners, turn, slack_m):
    motion = timed(*corners, turn=turn, slack_m=slack_m)
    if isinstance(motion, TimingFailed):
        assert motion.reason in {"joint_limits", "reach", "joint_speed"}
        return
    if motion.steps == 1:
        assert max(np.abs(corners).max(), np.abs(turn).max()) < 1e-3
        return
    tolerance = 1.0 + 1e-3
    assert speeds(motion).max() <= LIMITS.speed_m_s * tolerance
    assert np.linalg.norm(np.diff(motion.pos, 2, axis=0), axis=1).max() / DT_S**2 <= (
        LIMITS.acceleration_m_s2 * tolerance
    )
    moves = np.hstack([np.diff(motion.pos, axis=0), turns(motion) * DT_S])
    asked, _ = law(LIMITS.controller.kp).feed_forward(moves, np.zeros(6))
    assert np.abs(asked[:, :3]).max() <= 0.05
    assert np.abs(asked[:, 3:]).max() <= 0.5
    assert (np.abs(np.diff(motion.joints, axis=0)).max(axis=0) / DT_S <= JOINT_SPEED_RAD_S).all()
    assert ((motion.joints >= ARM.low) & (motion.joints <= ARM.high)).all()
    for row in (0, motion.steps // 2, motion.steps):
        np.testing.assert_allclose(ARM.fk(motion.joints[row])[0], motion.pos[row], atol=1e-5)
    np.testing.assert_allclose(motion.pos[-1], POS + corners[-1], atol=1e-6)


def test_an_obstacle_at_the_inner_side_of_a_corner_narrows_the_tube():
    corner, end = (0.0, 0.2, 0.0), (0.0, 0.2, -0.2)
    free = through(corner, end)

    def valid(joints, time_s):
        side, height = (ARM.fk(joints)[0] - POS)[1:]
        return not (side < 0.2 - 0.012 and height < -0.012)

    def touches(motion):
        return any(not valid(q, 0.0) for q in motion.joints)

    assert touches(free)
    motion = through(corner, end, valid=valid)
    assert not touches(motion)
    assert motion.stops == 0
    assert motion.steps > free.steps


def test_where_no_tube_is_left_it_stops_at_corners():
    corner, end = (0.0, 0.2, 0.0), (0.0, 0.2, -0.2)

    def on_the_path(joints, time_s):
        side, height = (ARM.fk(joints)[0] - POS)[1:]
        return abs(height) < 2e-4 or abs(side - 0.2) < 2e-4

    motion = through(corner, end, valid=on_the_path)
    assert motion.stops == 1
    assert off_path(motion, corner, end) < 5e-4
    assert 1.875 * 0.4 / motion.steps / DT_S < LIMITS.speed_m_s


def test_a_blocked_path_fails_and_says_where():
    failed = timed((0.0, 0.3, 0.0), valid=lambda joints, time_s: ARM.fk(joints)[0][1] < POS[1] + 0.15)
    assert isinstance(failed, TimingFailed)
    assert failed.reason == "collision"
    assert failed.joints is not None
    assert ARM.fk(np.array(failed.joints))[0][1] == pytest.approx(POS[1] + 0.15, abs=0.01)


def test_configurations_are_asked_in_time():
    asked = []
    motion = through((0.0, 0.1, 0.0), valid=lambda joints, time_s: asked.append(time_s) is None)
    np.testing.assert_allclose(asked, np.arange(motion.steps * 5 + 1) * 0.01, atol=1e-9)


@pytest.mark.parametrize(
    ("offset", "turn", "reasons"),
    [
        ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), {"reach", "joint_speed"}),
        ((0.0, 0.0, 0.0), (0.0, 0.0, -2.9), {"joint_limits"}),
    ],
)
def test_what_the_arm_cannot_do_fails_with_the_reason(offset, turn, reasons):
    failed = timed(offset, turn=turn)
    assert isinstance(failed, TimingFailed)
    assert failed.reason in reasons
    assert failed.detail


def test_a_motion_under_way_goes_on_without_a_jolt():
    velocity = np.array([0.0, 0.12, 0.0, 0.0, 0.0, 0.1])
    motion = through((0.1, 0.25, 0.0), velocity=velocity)
    np.testing.assert_allclose(motion.pos[1] - motion.pos[0], velocity[:3] * DT_S, atol=1e-9)
    np.testing.assert_allclose(turns(motion)[0], velocity[3:], atol=1e-3)
    assert np.linalg.norm(np.diff(motion.pos, 2, axis=0), axis=1).max() / DT_S**2 < 1.0


def test_a_motion_that_is_too_fast_slows_down():
    motion = through((0.1, 0.25, 0.0), velocity=np.array([0.0, 0.26, 0.0, 0.0, 0.0, 0.0]))
    assert speeds(motion).max() < 0.287
    assert np.linalg.norm(np.diff(motion.pos, 2, axis=0), axis=1).max() / DT_S**2 < 1.0


def test_a_motion_at_full_speed_becomes_no_faster():
    """What the controller holds is the limit under way as it is from rest."""
    fast = LIMITS.cruise(np.zeros(6))
    limits = TipLimits(speed_m_s=0.4)
    motion = through((0.02, 0.3, 0.0), limits=limits, velocity=np.array([0.0, fast[1], 0.0, 0.0, 0.0, 0.0]))
    assert np.abs(np.diff(motion.pos, axis=0)).max(axis=0)[1] / DT_S < 1.005 * fast[1]


def test_braking_ends_at_rest_half_as_far_on_without_a_jolt():
    velocity = np.array([0.0, 0.2, 0.0, 0.0, 0.0, 0.5])
    motion = brake(ARM, HOME, velocity, 0.4)
    np.testing.assert_allclose(motion.pos[-1] - motion.pos[0], [0.0, 0.04, 0.0], atol=1e-9)
    np.testing.assert_allclose(turns(motion).sum(axis=0) * DT_S, [0.0, 0.0, 0.1], atol=1e-9)
    assert speeds(motion)[0] == pytest.approx(0.2, rel=0.02)
    assert speeds(motion)[-1] < 0.01
    # The steepest of a smooth step of fifth order is 15/8 of the mean.
    steepest = np.linalg.norm(np.diff(motion.pos, 2, axis=0), axis=1).max() / DT_S**2
    assert steepest == pytest.approx(15.0 / 8.0 * 0.2 / 0.4, rel=0.05)
    for joints, pos in zip(motion.joints, motion.pos, strict=True):
        np.testing.assert_allclose(ARM.fk(joints)[0], pos, atol=1e-4)


def test_a_start_velocity_away_from_the_goal_is_turned_round():
    motion = through((0.0, 0.2, 0.0), velocity=np.array([0.0, -0.1, 0.0, 0.0, 0.0, 0.0]))
    assert motion.pos[:, 1].min() < POS[1]
    np.testing.assert_allclose(motion.pos[-1], POS + [0.0, 0.2, 0.0], atol=1e-9)


def test_motions_are_joined_and_held():
    first = through((0.0, 0.1, 0.0))
    still = hold(ARM, first.joints[-1], 10)
    both = first.then(still)
    assert both.steps == first.steps + 10
    np.testing.assert_allclose(both.pos[-11:], np.repeat(first.pos[-1:], 11, axis=0))
    assert both.quat.shape == (both.steps + 1, 4)


def test_without_the_solver_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'libero-safety\[plan\]'"):
        through((0.1, 0.0, 0.0))


def test_smoothest_between_ends_is_the_quintic():
    count = 60
    share = np.clip((np.arange(count) - 1.0) / (count - 3.0), 0.0, 1.0)
    quintic = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    ends = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    found = Smoother(count).smoothest(ends, np.full(count, -1.0), np.full(count, 2.0), 1.0)
    np.testing.assert_allclose(found, quintic, atol=5e-3)


def test_smoothest_satisfies_its_corridor_or_says_there_is_none():
    count, ends = 40, np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    low, high = np.full(count, -1.0), np.full(count, 2.0)
    high[:20] = 0.1
    found = Smoother(count).smoothest(ends, low, high, 1.0)
    assert found is not None
    assert found[3:20].max() <= 0.1 + 1e-7
    low[10], high[10] = 0.5, 0.4
    assert Smoother(count).smoothest(ends, low, high, 1.0) is None


def test_smoothest_takes_no_longer_steps_than_it_may():
    """With the longest step w the distance 1 needs at least 1 / w of them."""
    count, ends, step = 40, np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]), 1.0 / 30.0
    low, high = np.full(count, -1.0), np.full(count, 2.0)
    found = Smoother(count).smoothest(ends, low, high, step)
    assert found is not None
    assert np.abs(np.diff(found)).max() <= step + 1e-7
    assert Smoother(count).smoothest(ends, low, high, 1.0 / 36.0) is None
