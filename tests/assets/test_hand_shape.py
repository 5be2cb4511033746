"""What is felt of a hand follows what is seen of it, and says which part was touched."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial import KDTree

from libero_safety.assets.asset import Shape
from libero_safety.assets.geometry import quat_about, rotation
from libero_safety.assets.hand import GESTURES, JOINT_NAMES, SEGMENTS, HandModel, PosedHand, embedded_hand
from libero_safety.assets.hand_capsules import CapsuleSet, distance_to_axis, surface_error
from libero_safety.assets.hand_fit import skin_points
from libero_safety.assets.hand_shape import (
    capsule_set,
    hand_capsules,
    hand_shapes,
    posed_capsules,
)
from libero_safety.assets.hand_skin import SKINS, clothed, palmarity, vertex_normals
from libero_safety.assets.mesh import mesh_volume
from libero_safety.assets.meshes.kit import open_edges
from libero_safety.registry import UnknownNameError

PROBE_M = 0.012
"""Radius of a ball that touches the hand from outside, about as wide as a finger of the gripper."""


def skin(model: HandModel, hand: PosedHand, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the posed surface, sleeve included, and their normals."""
    corners, shares = skin_points(model, count)
    vertices = clothed(model, hand)
    normals = vertex_normals(vertices, model.faces)
    return tuple(np.einsum("pc,pcx->px", shares, v[corners]) for v in (vertices, normals))


def errors(model: HandModel, hand: PosedHand, capsules: CapsuleSet, seed: int) -> np.ndarray:
    """Return capsule distance minus distance to the skin (m), for balls anywhere within 5 cm of the hand."""
    points, normals = skin(model, hand, 20_000)
    low, high = points.min(axis=0) - 0.05, points.max(axis=0) + 0.05
    centres = np.random.default_rng(seed).uniform(low, high, (6000, 3))
    distance, nearest = KDTree(points).query(centres)
    outside = ((centres - points[nearest]) * normals[nearest]).sum(axis=1) > 0
    near = outside & (distance > PROBE_M) & (distance < 0.05)
    assert near.sum() > 1000
    by_capsule, _ = surface_error(hand, capsules, centres[near])
    return by_capsule - distance[near]


@pytest.mark.parametrize("gesture", GESTURES)
def test_distances_by_capsules_are_those_of_the_skin(gesture: str) -> None:
    model = embedded_hand("right")
    off = errors(model, model.pose(model.gesture(gesture)), capsule_set(model), 0)
    assert np.abs(off).mean() < 0.001
    assert np.percentile(np.abs(off), 99) < 0.003
    assert np.abs(off).max() < 0.0045


@pytest.mark.parametrize("seed", range(3))
def test_capsules_grow_with_the_hand(seed: int) -> None:
    model = embedded_hand("left")
    shape = np.random.default_rng(seed).uniform(-2.0, 2.0, 10)
    hand = model.pose(model.gesture("relaxed"), shape)
    off = errors(model, hand, capsule_set(model, shape), seed)
    assert np.abs(off).mean() < 0.0012
    assert np.percentile(np.abs(off), 99) < 0.003


def test_capsules_cover_the_skin() -> None:
    model = embedded_hand("right")
    for gesture in ("open", "relaxed", "grip"):
        hand = model.pose(model.gesture(gesture))
        off, _ = surface_error(hand, capsule_set(model), skin(model, hand, 5000)[0])
        assert np.abs(off).mean() < 0.001
        assert np.percentile(np.abs(off), 99) < 0.0032


def test_what_is_touched_is_called_by_its_name() -> None:
    model = embedded_hand("right")
    hand = model.pose(np.zeros(48))
    points, normals = skin(model, hand, 5000)
    _, nearest = surface_error(hand, capsule_set(model), points)
    called = np.array(capsule_set(model).segments)[nearest]
    assert set(called) == set(SEGMENTS)
    corners, shares = skin_points(model, 5000)
    weights = np.einsum("pc,pcj->pj", shares, model.weights[corners])
    up = normals @ model.palm_frame[1]
    middle = (weights[:, 0] > 0.7) & (points[:, 0] < -0.02)
    assert (called[middle & (up > 0.7)] == "palm").mean() > 0.9
    assert (called[middle & (up < -0.7)] == "back").mean() > 0.9
    for finger in ("index", "middle", "ring", "little", "thumb"):
        first = JOINT_NAMES.index(f"{finger}1")
        assert (called[weights[:, first + 2] > 0.85] == f"{finger}_tip").mean() > 0.9
        assert (called[weights[:, first + 1] > 0.7] == finger).mean() > 0.9
    assert (called[points[:, 0] > 0.03] == "forearm").all()


def test_every_segment_is_fixed_to_its_own_bones() -> None:
    for side in ("right", "left"):
        capsules = hand_capsules(embedded_hand(side))
        assert {c.segment for c in capsules} == set(SEGMENTS)
        for c in capsules:
            assert 0.002 < c.radius < 0.025
            finger = c.segment.removesuffix("_tip")
            bone = JOINT_NAMES[c.joint]
            if finger in ("palm", "back", "forearm"):
                assert bone == "wrist"
            else:
                assert (
                    bone == f"{finger}3"
                    if c.segment.endswith("_tip")
                    else bone in (f"{finger}1", f"{finger}2")
                )


def test_capsules_of_the_left_hand_are_mirrored() -> None:
    pairs = zip(hand_capsules(embedded_hand("right")), hand_capsules(embedded_hand("left")), strict=True)
    for one, other in pairs:
        assert other.start == pytest.approx(one.start * (-1, 1, 1))
        assert other.end == pytest.approx(one.end * (-1, 1, 1))
        assert (other.segment, other.radius) == (one.segment, one.radius)


@pytest.mark.parametrize("gesture", GESTURES)
def test_fingers_do_not_run_through_one_another(gesture: str) -> None:
    model = embedded_hand("right")
    capsules = posed_capsules(model, model.pose(model.gesture(gesture)))
    along = np.linspace(0.0, 1.0, 21)[:, None]
    for one, other in combinations(capsules, 2):
        names = {one.segment.removesuffix("_tip"), other.segment.removesuffix("_tip")}
        trunk = names & {"palm", "back", "forearm"}
        root = min(one.joint, other.joint) == 0 and max(one.joint, other.joint) in (1, 4, 7, 10, 13, 14)
        if len(names) == 1 or len(trunk) == 2 or root:
            continue
        points = one.start + along * (one.end - one.start)
        gap = distance_to_axis(points, other.start, other.end)[0].min() - one.radius - other.radius
        # Flesh gives way: less than half a finger's radius where a finger tip is pressed into the palm.
        assert gap > (-0.0055 if trunk else -0.0025), (one.segment, other.segment)


def test_shapes_are_felt_by_segment_and_seen_as_closed_meshes() -> None:
    model = embedded_hand("left")
    for skin_name in ("light", "glove"):
        shapes = hand_shapes(model, model.gesture("relaxed"), np.full(10, 0.5), skin_name)
        felt = [s for s in shapes if s.role == "collision"]
        seen = [s for s in shapes if s.role == "visual"]
        assert len(felt) + len(seen) == len(shapes)
        assert {s.part for s in felt} == set(SEGMENTS)
        assert {s.kind for s in felt} == {"capsule"}
        for shape in seen:
            assert shape.mesh is not None
            assert shape.mesh.normals is not None
            assert open_edges(shape.mesh) == 0
            assert mesh_volume(shape.mesh) > 0
            assert np.linalg.norm(shape.mesh.normals, axis=2) == pytest.approx(1.0)
            assert shape.part in SEGMENTS


def test_place_moves_the_whole_hand() -> None:
    model, turn, at = embedded_hand("right"), quat_about((0.6, 0.0, 0.8), 1.3), np.array((0.1, -0.2, 0.3))
    matrix = rotation(turn)
    pose = model.gesture("grip")

    def axis(shape: Shape) -> np.ndarray:
        way = rotation(shape.quat)[:, 2] * shape.size[1]
        return np.sort(np.array([np.asarray(shape.pos) - way, np.asarray(shape.pos) + way]), axis=0)

    there = hand_shapes(model, pose, place=(matrix, at))
    for before, after in zip(hand_shapes(model, pose), there, strict=True):
        if before.mesh is not None:
            assert after.mesh is not None
            assert after.mesh.vertices == pytest.approx(before.mesh.vertices @ matrix.T + at, abs=1e-9)
        else:
            way = rotation(before.quat)[:, 2] * before.size[1]
            ends = [matrix @ (np.asarray(before.pos) + s * way) + at for s in (-1, 1)]
            assert axis(after) == pytest.approx(np.sort(np.array(ends), axis=0), abs=1e-9)
            assert after.size == pytest.approx(before.size)


def test_skins_and_gloves() -> None:
    assert len(SKINS) >= 6
    assert sum(skin.nail is not None for skin in SKINS.values()) >= 5
    bright = [sum(SKINS[name].back[:3]) for name in ("pale", "light", "tan", "brown", "dark", "deep")]
    assert bright == sorted(bright, reverse=True)
    model = embedded_hand("right")
    bare = hand_shapes(model, np.zeros(48), skin="deep")
    gloved = hand_shapes(model, np.zeros(48), skin="glove")
    assert len(gloved) == len(bare) + 1  # the cuff
    assert len({s.picture.digest for s in (*bare, *gloved) if s.picture}) == 2
    with pytest.raises(UnknownNameError, match="light"):
        hand_shapes(model, np.zeros(48), skin="lihgt")


def test_the_palm_is_told_from_the_back() -> None:
    model = embedded_hand("right")
    share = palmarity(model)
    up = vertex_normals(model.vertices, model.faces) @ model.palm_frame[1]
    trunk = model.weights[:, 0] > 0.9
    assert share[trunk & (up > 0.9)].min() > 0.8
    assert share[trunk & (up < -0.9)].max() < 0.2
    assert set(np.unique(model.faces[model.nails])) <= set(np.flatnonzero(share < 0.8))


@pytest.mark.slow
def test_capsules_are_fitted_to_a_hand_of_a_user() -> None:
    """As MANO's files are: another mesh, open behind the wrist, with a short piece of forearm."""
    whole = embedded_hand("right")
    kept = (whole.vertices[whole.faces][:, :, 0] < 0.045).all(axis=1)
    model = replace(whole, faces=whole.faces[kept], nails=whole.nails[kept])
    used = np.unique(model.faces)
    number = np.zeros(len(whole.vertices), dtype=np.int32)
    number[used] = np.arange(len(used))
    model = replace(
        model,
        vertices=whole.vertices[used],
        faces=number[model.faces],
        weights=whole.weights[used],
        shape_dirs=whole.shape_dirs[used],
        source="a file",
    )
    capsules = capsule_set(model)
    assert set(capsules.segments) == set(SEGMENTS)
    hand = model.pose(model.gesture("relaxed"))
    off, _ = surface_error(hand, capsules, skin(model, hand, 5000)[0])
    assert np.percentile(np.abs(off), 99) < 0.004
    shapes = hand_shapes(model, model.gesture("relaxed"), np.ones(10))
    sleeve = shapes[-1]
    assert sleeve.mesh is not None
    assert open_edges(sleeve.mesh) == 0
    assert np.isfinite(sleeve.mesh.vertices).all()
    assert 0.05 < np.ptp(sleeve.mesh.vertices[:, 0]) < 0.1
    for capsule in posed_capsules(model, hand):
        if capsule.segment == "forearm":
            assert max(capsule.start[0], capsule.end[0]) + capsule.radius > 0.08
    sleeve = hand_shapes(model, model.gesture("relaxed"))[-1]
    assert sleeve.mesh is not None
    assert surface_error(hand, capsules, sleeve.mesh.vertices)[0].max() < 0.006
