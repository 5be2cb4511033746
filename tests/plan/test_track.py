"""The tracker leads the real controller along motions, to the millimetre."""

import numpy as np
import pytest
from arm_lab import HOME, Robot
from scipy.spatial.transform import Rotation

pytest.importorskip("piqp")

from libero_safety.eval.metrics import ldlj
from libero_safety.plan.corridor import TipPath
from libero_safety.plan.limits import DT_S, TipLimits
from libero_safety.plan.response import Modes, law
from libero_safety.plan.timing import TipMotion, hold, time_path
from libero_safety.plan.track import Tracker

ROBOT = Robot()
POS, ROT = ROBOT.home_pos, ROBOT.home_rot


def motion_to(*offsets, turn=(0.0, 0.0, 0.0), limits=None) -> TipMotion:
    pos = POS + np.array([(0.0, 0.0, 0.0), *offsets])
    turns = np.linspace(0.0, 1.0, len(pos))[:, None] * np.array(turn)
    path = TipPath.of(pos, Rotation.from_rotvec(turns).as_matrix() @ ROT)
    motion = time_path(ROBOT.arm, path, HOME, limits=limits)
    assert isinstance(motion, TipMotion), motion
    return motion


def errors(motion: TipMotion, pos: np.ndarray, rot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.minimum(np.arange(len(pos)), motion.steps)
    off = Rotation.from_matrix(motion.rot[rows]) * Rotation.from_matrix(rot).inv()
    return np.linalg.norm(motion.pos[rows] - pos, axis=1), off.magnitude()


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def test_the_law_of_a_step_is_that_of_its_differential_equation():
    """x'' = kp (u - x) - 2 sqrt(kp) x' from rest: x = u (1 - (1 + w t) exp(-w t)), w = sqrt(kp)."""
    step, w_t = law(150.0), np.sqrt(150.0) * DT_S
    assert step.gain[0] == pytest.approx(1.0 - (1.0 + w_t) * np.exp(-w_t), rel=0.06)
    assert step.lag[0] == pytest.approx(DT_S * np.exp(-w_t), rel=0.06)
    # Where a full action holds the tip: v = lag v / DT + gain u / DT.
    assert step.gain[0] * 0.05 / (DT_S - step.lag[0]) == pytest.approx(0.276, abs=0.003)


def test_each_direction_accelerates_by_its_share():
    """Against the controller and MuJoCo: one physics step from rest with a goal displaced along a direction.

    Static friction of 0.1 Nm takes up to 0.15 rad/s^2.
    """
    ROBOT.start()
    modes = Modes.of(ROBOT.arm, HOME)
    np.testing.assert_allclose(modes.back @ modes.into, np.eye(6), atol=1e-9)
    assert modes.share.sum() == pytest.approx(6.0)
    for share, direction in zip(modes.share, modes.back.T, strict=True):
        ROBOT.start()
        displacement = direction / np.abs(direction / np.repeat([0.05, 0.5], 3)).max() * 0.2
        before = ROBOT.tip()[2]
        ROBOT.act(displacement / np.repeat([0.05, 0.5], 3), substeps=1)
        gained = (ROBOT.tip()[2] - before) / 0.002
        np.testing.assert_allclose(gained, share * 150.0 * displacement, atol=0.2)


def test_feed_forward_alone_makes_a_tip_that_obeys_the_law_pass_every_sample():
    step, motion = law(150.0), motion_to((0.1, 0.2, -0.1))
    moves = np.hstack([np.diff(motion.pos, axis=0), np.zeros((motion.steps, 3))])
    asked, _ = step.feed_forward(moves, np.zeros(6))
    pos, velocity = np.concatenate([motion.pos[0], np.zeros(3)]), np.zeros(6)
    for k, u in enumerate(asked):
        pos = pos + step.lag * velocity + step.gain * u
        velocity = step.keep * velocity + step.kick * u
        np.testing.assert_allclose(pos[:3], motion.pos[k + 1], atol=1e-12)


@pytest.mark.parametrize(
    ("offsets", "turn"),
    [
        pytest.param([(0.15, 0.25, -0.15)], (0.0, 0.0, 0.0), id="line"),
        pytest.param([(0.15, 0.25, -0.15)], (0.1, 0.2, 1.2), id="line and turn"),
        pytest.param([(0.05, -0.2, -0.1), (0.05, -0.2, -0.22)], (0.0, 0.0, 0.6), id="approach"),
        pytest.param([(0.0, 0.0, 0.0)], (0.0, 0.0, -1.2), id="turn"),
        pytest.param([(0.31, 0.0, -0.17)], (0.0, 0.0, 0.0), id="near the reach limit"),
    ],
)
def test_the_measured_tip_follows(offsets, turn):
    motion = motion_to(*offsets, turn=turn)
    tracker, pos, rot, joints = ROBOT.follow(motion, hold=5)
    off_m, off_rad = errors(motion, pos, rot)
    assert rms(off_m) < 1.5e-3
    assert off_m.max() < 4e-3
    assert rms(off_rad) < 5e-3
    assert off_rad.max() < 0.012
    assert off_m[-1] < 1e-3
    assert tracker.saturated == 0
    assert np.abs(joints[: motion.steps + 1] - motion.joints).max() < 0.03
    if np.linalg.norm(offsets[-1]) > 0.1:
        assert ldlj(pos[: motion.steps + 1], DT_S).value > ldlj(motion.pos, DT_S).value - 0.5


def test_a_weight_the_controller_does_not_know_is_carried():
    """0.3 kg: without learning the disturbance the tip would sag."""
    motion = motion_to((0.1, 0.2, 0.05))
    _, pos, rot, _ = ROBOT.follow(motion, hold=10, push_n=(0.0, 0.0, -0.3 * 9.81))
    off_m, _ = errors(motion, pos, rot)
    assert rms(off_m) < 2e-3
    assert off_m.max() < 5e-3
    assert off_m[-1] < 5e-4


def test_holding_still_stays():
    still = hold(ROBOT.arm, HOME, 20)
    tracker, pos, rot, _ = ROBOT.follow(still)
    off_m, off_rad = errors(still, pos, rot)
    assert off_m.max() < 1e-4
    assert off_rad.max() < 1e-3
    assert tracker.saturated == 0


def test_too_fast_a_motion_is_reported():
    limits = TipLimits(speed_m_s=0.6, acceleration_m_s2=5.0, authority=3.0)
    tracker, _, _, _ = ROBOT.follow(motion_to((0.1, 0.3, -0.1), limits=limits))
    assert tracker.saturated > 0


def test_actions_are_in_range_and_the_rotation_is_never_exactly_zero():
    """A rotation of zero would keep the controller's old goal orientation."""
    motion = motion_to((0.1, 0.0, 0.0))
    tracker = Tracker(motion)
    action = tracker.action(motion.steps, motion.pos[-1], motion.rot[-1], np.zeros(6))
    assert action[3:].any()
    assert np.abs(action).max() < 1e-6
    far = tracker.action(0, POS + 1.0, ROT, np.zeros(6))
    assert np.abs(far).max() == 1.0


def test_a_recorded_motion_replays_open_loop():
    motion = motion_to((0.1, 0.2, -0.1), turn=(0.0, 0.0, 0.5))
    ROBOT.start()
    tracker, actions = Tracker(motion), []
    for step in range(motion.steps):
        actions.append(tracker.action(step, *ROBOT.tip()))
        ROBOT.act(actions[-1])
    ended = ROBOT.joints
    ROBOT.start()
    for action in actions:
        ROBOT.act(action)
    np.testing.assert_array_equal(ROBOT.joints, ended)
