"""The simulated hand: what it touches, how it holds, and how things fall."""

import numpy as np
import pytest

from libero_safety.assets.asset import Shape
from libero_safety.assets.grasp_sim import GRAVITY_M_S2, KEPT_M, HandSim
from libero_safety.assets.hand import DOFS, JOINT_NAMES, embedded_hand
from libero_safety.assets.solid import Solid

RADIUS_M = 0.035
OPEN = {name: 0.25 if name == "thumb_cmc_abduction" else 0.0 for name in DOFS}
SHUT = {name: 1.4 if dof.kind == "flexion" else OPEN[name] for name, dof in DOFS.items()}


def before_the_palm(side: str, gap_m: float) -> tuple[HandSim, np.ndarray]:
    """A ball in front of the palm, and where the wrist is in the ball's frame."""
    model = embedded_hand("left" if side == "left" else "right")
    sim = HandSim(Solid((Shape("sphere", (RADIUS_M,)),)), model, np.zeros(10))
    _, joints = model.rest()
    ahead, palm, _ = model.palm_frame
    knuckle = joints[JOINT_NAMES.index("middle1")]
    return sim, -(knuckle * 0.9 + palm * (RADIUS_M + 0.016 + gap_m) + ahead * 0.01)


@pytest.mark.parametrize("side", ["right", "left"])
def test_fingers_close_around_a_ball_and_hold_it(side: str) -> None:
    sim, at = before_the_palm(side, 0.009)
    assert sim.place(at, np.eye(3), OPEN) < 0.002
    closed = sim.close(OPEN, SHUT)
    assert closed.contacts.digits >= {"thumb", "index", "middle"}
    # A contact on a sphere pushes towards its centre, and is at most the give of the contact off its surface.
    points, normals = closed.contacts.points, closed.contacts.normals
    assert np.linalg.norm(points, axis=1) == pytest.approx(RADIUS_M, abs=1e-3)
    assert np.einsum("ij,ij->i", normals, -points / np.linalg.norm(points, axis=1)[:, None]) == pytest.approx(
        1.0
    )
    assert sim.displacements(closed).max() < 0.01
    for name, angle in closed.angles.items():
        assert DOFS[name].low <= angle <= DOFS[name].high


def test_closing_is_the_same_every_time() -> None:
    sim, at = before_the_palm("right", 0.009)
    found = []
    for _ in range(2):
        sim.place(at, np.eye(3), OPEN)
        found.append(sim.close(OPEN, SHUT))
        sim.displacements(found[-1])
    assert np.array_equal(found[0].qpos, found[1].qpos)
    assert np.array_equal(found[0].grip, found[1].grip)


def test_depth_of_a_ball_in_the_palm_is_how_far_it_was_moved_in() -> None:
    sim, at = before_the_palm("right", 0.0)
    palm = embedded_hand("right").palm_frame[1]
    depths = [sim.place(at + move * palm, np.eye(3), OPEN) for move in (0.01, 0.014)]
    assert depths[1] - depths[0] == pytest.approx(0.004, abs=5e-4)
    assert sim.place(at - 0.2 * palm, np.eye(3), OPEN) == 0.0


def test_what_nobody_holds_falls_freely() -> None:
    sim, at = before_the_palm("right", 0.3)
    moved = sim.displacements(sim.hold(at, np.eye(3), OPEN))
    # It is looked at every 50 ms: after 0.1 s it has fallen g t^2 / 2, and is lost.
    assert moved[0] == pytest.approx(GRAVITY_M_S2 * 0.1**2 / 2, rel=0.03)
    assert moved[0] > KEPT_M
    assert np.isinf(moved[1:]).all()


def test_a_thing_at_rest_stays_and_one_without_support_has_no_rest() -> None:
    model = embedded_hand("right")
    board = Solid((Shape("box", (0.06, 0.06, 0.005), pos=(0.0, 0.0, 0.005)),))
    sim = HandSim(board, model, np.zeros(10))
    # Palm up: the palm's direction is the board's z axis, the fingers its -x axis.
    ahead, palm, across = model.palm_frame
    turn = np.array([(-1.0, 0, 0), (0, 0, 1.0), (0, 1.0, 0)]).T @ np.array([ahead, palm, across])
    assert np.linalg.det(turn) == pytest.approx(1.0)
    knuckle = model.rest()[1][JOINT_NAMES.index("middle1")]
    flat = dict.fromkeys(DOFS, 0.05) | {"thumb_cmc_flexion": -0.3, "thumb_cmc_abduction": -0.6}
    at = -turn @ (knuckle * 0.8) - (0.0, 0.0, 0.031)
    resting = sim.settle(sim.hold(at, turn, flat))
    assert resting is not None
    assert sim.displacements(resting, 1)[0] < 0.003
    assert sim.settle(sim.hold(at - (0.0, 0.0, 0.3), turn, flat)) is None
