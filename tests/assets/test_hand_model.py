"""The parametric hand: closed, jointed like a hand, and the same on both sides."""

import math
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from libero_safety.assets.asset import MeshData
from libero_safety.assets.hand import (
    DOFS,
    FINGERS,
    GESTURES,
    JOINT_NAMES,
    PARENTS,
    SEGMENTS,
    SHAPE_LIMIT,
    HandError,
    clip_shape,
    embedded_hand,
    mirrored_pose,
)
from libero_safety.assets.mesh import mesh_volume
from libero_safety.assets.meshes.kit import open_edges
from libero_safety.registry import UnknownNameError

SIDES = ("right", "left")


def some_pose(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 0.3, 48)


def some_shape(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 1.0, 10)


def test_the_layout_is_manos() -> None:
    hand = embedded_hand("right")
    assert JOINT_NAMES[:4] == ("wrist", "index1", "index2", "index3")
    assert [JOINT_NAMES[j] for j in (4, 7, 10, 13)] == ["middle1", "little1", "ring1", "thumb1"]
    assert PARENTS == (-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11, 0, 13, 14)
    posed = hand.pose(np.zeros(48), np.zeros(10))
    assert posed.vertices.shape == hand.vertices.shape
    assert posed.joints.shape == (16, 3)
    assert hand.shape_dirs.shape == (len(hand.vertices), 3, 10)
    assert len(SEGMENTS) == len(set(SEGMENTS)) == 13


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("gesture", GESTURES)
def test_every_gesture_is_a_closed_solid(side: str, gesture: str) -> None:
    hand = embedded_hand(side)
    for shape in (np.zeros(10), clip_shape(some_shape(1))):
        mesh = MeshData("hand", hand.pose(hand.gesture(gesture), shape).vertices, hand.faces)
        assert open_edges(mesh) == 0
        assert 2.5e-4 < mesh_volume(mesh) < 9e-4  # with the forearm; a hand alone is 3 to 5 dl


def test_weights_are_shares() -> None:
    weights = embedded_hand("right").weights
    assert weights.min() >= 0.0
    assert weights.sum(axis=1) == pytest.approx(1.0)


def test_no_pose_and_no_shape_is_the_template() -> None:
    hand = embedded_hand("right")
    assert hand.pose(np.zeros(48), np.zeros(10)).vertices == pytest.approx(hand.vertices, abs=1e-12)
    assert hand.pose(np.zeros(48)).joints == pytest.approx(hand.joints, abs=1e-12)
    assert hand.joints[0] == pytest.approx(np.zeros(3))


def test_a_right_hand_at_rest_points_to_minus_x_with_its_palm_to_minus_y() -> None:
    hand = embedded_hand("right")
    along, palm, across = hand.palm_frame
    assert along == pytest.approx((-1, 0, 0), abs=1e-3)
    assert palm == pytest.approx((0, -1, 0), abs=1e-3)
    assert across == pytest.approx((0, 0, 1), abs=1e-3)
    for finger in FINGERS[:4]:
        a, b, c = (hand.joints[JOINT_NAMES.index(f"{finger}{k}")] for k in (1, 2, 3))
        assert np.cross(b - a, c - b) == pytest.approx(np.zeros(3), abs=1e-6)  # straight
    assert embedded_hand("left").palm_frame[0] == pytest.approx((1, 0, 0), abs=1e-3)


@pytest.mark.parametrize("side", SIDES)
def test_turning_the_wrist_turns_everything(side: str) -> None:
    hand = embedded_hand(side)
    pose, shape, turn = some_pose(2), some_shape(3), np.array((0.3, -1.1, 0.7))
    pose[:3] = 0.0
    still = hand.pose(pose, shape)
    pose[:3] = turn
    turned = hand.pose(pose, shape)
    matrix = Rotation.from_rotvec(turn).as_matrix()
    assert turned.vertices == pytest.approx(still.vertices @ matrix.T, abs=1e-12)
    assert turned.joints == pytest.approx(still.joints @ matrix.T, abs=1e-12)
    assert turned.rotations == pytest.approx(matrix @ still.rotations, abs=1e-12)


def test_the_other_hand_is_the_mirror_image() -> None:
    right, left = embedded_hand("right"), embedded_hand("left")
    assert left.side == "left"
    flip = np.array((-1.0, 1.0, 1.0))
    for seed in range(3):
        pose, shape = some_pose(seed), some_shape(seed)
        one, other = right.pose(pose, shape), left.pose(mirrored_pose(pose), shape)
        assert other.vertices == pytest.approx(one.vertices * flip, abs=1e-12)
        assert other.joints == pytest.approx(one.joints * flip, abs=1e-12)
    for gesture in GESTURES:
        assert left.gesture(gesture) == pytest.approx(mirrored_pose(right.gesture(gesture)), abs=1e-12)
    assert left.mirrored().vertices == pytest.approx(right.vertices)
    assert (left.mirrored().faces == right.faces).all()


def test_corrections_of_the_pose_are_mirrored_too() -> None:
    right = embedded_hand("right")
    dirs = np.random.default_rng(0).normal(0.0, 1e-3, (len(right.vertices), 3, 135))
    right = type(right)(**{**{k: getattr(right, k) for k in right.__dataclass_fields__}, "pose_dirs": dirs})
    pose = some_pose(4)
    assert np.abs(right.pose(pose).vertices - embedded_hand("right").pose(pose).vertices).max() > 1e-3
    mirror = right.mirrored().pose(mirrored_pose(pose)).vertices
    assert mirror == pytest.approx(right.pose(pose).vertices * (-1.0, 1.0, 1.0), abs=1e-12)


@pytest.mark.parametrize("finger", FINGERS)
def test_a_bent_finger_moves_nothing_but_itself(finger: str) -> None:
    hand = embedded_hand("right")
    beyond = [JOINT_NAMES.index(f"{finger}{k}") for k in (2, 3)]
    bent = hand.pose_of({name: 1.0 for name, dof in DOFS.items() if dof.joint in beyond})
    moved = np.linalg.norm(hand.pose(bent).vertices - hand.vertices, axis=1)
    base = JOINT_NAMES.index(f"{finger}1")
    own = hand.weights[:, base : base + 3].sum(axis=1)
    assert moved[own == 0.0].max() < 1e-15
    assert moved.max() > 0.02
    assert moved[own < 0.05].max() < 0.003


@pytest.mark.parametrize("side", SIDES)
def test_flexion_closes_the_hand(side: str) -> None:
    hand = embedded_hand(side)
    palm = hand.palm_frame[1]
    for name, dof in DOFS.items():
        if dof.kind != "flexion" or name.startswith("thumb"):
            continue
        bent = hand.pose(hand.pose_of({name: 0.5})).vertices
        tip = hand.weights[:, dof.joint - (dof.joint - 1) % 3 + 2].argmax()
        assert (bent[tip] - hand.vertices[tip]) @ palm > 0.003, name
    thumb = hand.weights[:, 15].argmax()
    bent = hand.pose(hand.pose_of({"thumb_ip_flexion": 0.5, "thumb_mcp_flexion": 0.5})).vertices[thumb]
    assert (bent - hand.vertices[thumb]) @ hand.palm_frame[2] < -0.005  # towards the little finger
    spread = hand.pose(hand.pose_of({"index_mcp_abduction": 0.2, "little_mcp_abduction": 0.2})).joints
    apart = np.linalg.norm(spread[3] - spread[9]) - np.linalg.norm(hand.joints[3] - hand.joints[9])
    assert apart > 0.01


@pytest.mark.parametrize("side", SIDES)
def test_angles_are_read_back(side: str) -> None:
    hand, rng = embedded_hand(side), np.random.default_rng(5)
    for _ in range(5):
        angles = {name: rng.uniform(dof.low, dof.high) for name, dof in DOFS.items()}
        pose = hand.pose_of(angles, (0.1, 0.2, 0.3))
        assert hand.dofs_of(pose) == pytest.approx(angles, abs=1e-9)
        assert hand.clip_pose(pose) == pytest.approx(pose, abs=1e-9)
        assert pose[:3] == pytest.approx((0.1, 0.2, 0.3))


def test_a_clipped_pose_keeps_every_joint_within_its_limits() -> None:
    hand = embedded_hand("right")
    for seed in range(10):
        clipped = hand.clip_pose(some_pose(seed) * 5)
        for name, angle in hand.dofs_of(clipped).items():
            assert DOFS[name].low - 1e-9 <= angle <= DOFS[name].high + 1e-9, name
        assert hand.clip_pose(clipped) == pytest.approx(clipped, abs=1e-9)


def test_gestures_are_within_the_limits() -> None:
    for name, gesture in GESTURES.items():
        for dof, degrees in gesture.items():
            assert DOFS[dof].low <= math.radians(degrees) <= DOFS[dof].high, (name, dof)


def test_published_ranges_of_motion() -> None:
    index = DOFS["index_pip_flexion"]
    assert math.degrees(index.high) == pytest.approx(100.0)
    assert math.degrees(DOFS["thumb_ip_flexion"].high) == pytest.approx(80.0)
    abduction = DOFS["thumb_cmc_abduction"]
    assert math.degrees(abduction.high - abduction.low) == pytest.approx(70.0)


def test_pointing_and_fist_look_like_it() -> None:
    hand = embedded_hand("right")
    reach = {}
    for gesture in ("open", "pointing", "fist"):
        posed = hand.pose(hand.gesture(gesture)).vertices
        reach[gesture] = [-posed[hand.weights[:, j] > 0.5, 0].min() for j in (3, 6, 9, 12)]
    assert reach["pointing"][0] > 0.98 * reach["open"][0]
    assert all(bent < 0.125 for bent in [*reach["pointing"][1:], *reach["fist"]])


def test_shapes_are_of_adults() -> None:
    hand = embedded_hand("right")

    def length(shape: np.ndarray) -> float:
        return float(-hand.rest(shape)[0][:, 0].min())

    # 1988 anthropometric survey of U.S. Army personnel: women 180.5 (9.7) mm, men 193.8 (9.8) mm.
    assert length(np.zeros(10)) == pytest.approx(0.187, abs=0.003)
    size = np.eye(10)[0]
    assert length(SHAPE_LIMIT * size) > length(np.zeros(10)) > length(-SHAPE_LIMIT * size)
    for sign in (-1, 1):
        assert 0.15 < length(clip_shape(sign * 100 * size)) < 0.225
    assert np.abs(clip_shape(some_shape(0) * 10)).max() == SHAPE_LIMIT


def test_bad_numbers_are_refused() -> None:
    hand = embedded_hand("right")
    with pytest.raises(HandError, match="pose of a hand is 48"):
        hand.pose(np.zeros(45))
    with pytest.raises(HandError, match="shape of a hand is 10"):
        hand.pose(np.zeros(48), np.full(10, np.nan))
    with pytest.raises(UnknownNameError, match="index_pip_flexion"):
        hand.pose_of({"index_pip_flexon": 0.1})
    with pytest.raises(UnknownNameError, match="pointing"):
        hand.gesture("pointng")


def test_a_pose_takes_about_a_millisecond() -> None:
    hand, pose, shape = embedded_hand("right"), some_pose(6), some_shape(6)
    best = math.inf
    for _ in range(30):
        start = time.perf_counter()
        hand.pose(pose, shape)
        best = min(best, time.perf_counter() - start)
    assert best < 0.004  # 0.3 ms on one core; the rest is for a busy machine
