"""Measures of a grasp against cases worked out by hand."""

import math
from itertools import product

import numpy as np
import pytest

from libero_safety.assets.asset import MeshData, Shape
from libero_safety.assets.grasp_quality import overlap, shared_volume_m3, spread, wrench_space
from libero_safety.assets.solid import Solid, vertex_normals

ORIGIN = np.zeros(3)
ARM_M = 0.05


def twelve() -> tuple[np.ndarray, np.ndarray]:
    """Contacts that push along x at y = +-arm, along y at z = +-arm and along z at x = +-arm."""
    points, normals = [], []
    for axis, side, sign in product(range(3), (1.0, -1.0), (1.0, -1.0)):
        point, normal = np.zeros(3), np.zeros(3)
        point[(axis + 1) % 3], normal[axis] = side * ARM_M, sign
        points.append(point)
        normals.append(normal)
    return np.array(points), np.array(normals)


def around(count: int) -> np.ndarray:
    """Unit vectors, evenly around the equator."""
    turns = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(turns), np.sin(turns), np.zeros(count)])


def test_twelve_frictionless_contacts_have_the_known_measures() -> None:
    # Force and torque fall into three planes; in each the four contacts make a square with corners (+-1, +-1). Their
    # hull is |u| + |v| + |w| <= 1 in maximum norms: 1/sqrt(3) from the origin at the nearest, of volume 8^3 / 6!.
    space = wrench_space(*twelve(), ORIGIN, friction=0.0, torque_scale_m=ARM_M)
    assert space.epsilon == pytest.approx(1 / math.sqrt(3))
    assert space.volume == pytest.approx(512 / 720)


def test_torques_count_by_their_scale() -> None:
    # Twice the scale halves the torques: the squares become (+-1, +-1/2), each of norm at least 1/2 where it counts.
    space = wrench_space(*twelve(), ORIGIN, friction=0.0, torque_scale_m=2 * ARM_M)
    assert space.epsilon == pytest.approx(0.5 / math.sqrt(3))
    assert space.volume == pytest.approx(512 / 720 / 8)


def test_frictionless_contacts_on_a_sphere_resist_no_torque() -> None:
    directions = np.random.default_rng(0).normal(size=(12, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert wrench_space(ARM_M * directions, -directions, ORIGIN, friction=0.0).epsilon == 0.0
    assert wrench_space(ARM_M * directions, -directions, ORIGIN, friction=0.5).epsilon > 0.0


def test_two_opposing_contacts_spin_about_their_axis_and_three_do_not() -> None:
    two, three = around(2), around(3)
    assert wrench_space(ARM_M * two, -two, ORIGIN).epsilon == 0.0
    assert wrench_space(ARM_M * three, -three, ORIGIN).epsilon > 0.1
    assert wrench_space(ARM_M * three, -three, ORIGIN, friction=0.0).epsilon == 0.0


def test_contacts_on_one_side_are_no_closure() -> None:
    side = around(24)[:5] + (0.0, 0.0, 0.3)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    assert wrench_space(ARM_M * side, -side, ORIGIN).epsilon == 0.0


def test_six_contacts_with_friction_are_weakest_against_a_diagonal_torque() -> None:
    # A contact on an axis resists torque about the two others only, by mu at most: along (1, 1, 1) / sqrt(3) each
    # cone edge has at most mu / sqrt(3). No direction has less.
    directions = np.concatenate([np.eye(3), -np.eye(3)])
    space = wrench_space(ARM_M * directions, -directions, ORIGIN, edges=4, friction=0.5)
    assert space.epsilon == pytest.approx(0.5 / math.sqrt(3))


def test_more_friction_is_never_worse() -> None:
    three = around(3)
    found = [wrench_space(ARM_M * three, -three, ORIGIN, friction=mu).epsilon for mu in (0.1, 0.3, 0.5, 0.8)]
    assert found == sorted(found)


def ball_mesh(radius_m: float, centre: tuple[float, float, float]) -> MeshData:
    """A closed ball of 64 x 32 quadrilaterals, cut in triangles."""
    rows, columns = 33, 64
    down, turn = np.linspace(0, np.pi, rows), 2 * np.pi * np.arange(columns) / columns
    points = np.array(
        [[math.sin(a) * math.cos(b), math.sin(a) * math.sin(b), math.cos(a)] for a in down for b in turn]
    )
    faces = []
    for r, c in product(range(rows - 1), range(columns)):
        a, b = r * columns + c, r * columns + (c + 1) % columns
        faces += [[a, a + columns, b], [b, a + columns, b + columns]]
    return MeshData("ball", radius_m * points + np.asarray(centre), np.array(faces, dtype=np.int32))


def test_volume_shared_by_two_balls_is_that_of_the_lens() -> None:
    # Radius r, centres d apart: pi (4 r + d) (2 r - d)^2 / 12.
    r, d = 0.0313, 0.0457
    mesh = ball_mesh(r, (d, 0, 0))
    lens = math.pi * (4 * r + d) * (2 * r - d) ** 2 / 12
    shared = shared_volume_m3(Solid((Shape("sphere", (r,)),)), mesh.vertices, mesh.faces)
    # Only what is within 2 cm of the mesh counts, which is all of the lens.
    assert shared == pytest.approx(lens, rel=0.02)


def test_overlap_of_a_ball_and_a_box() -> None:
    mesh = ball_mesh(0.02, (0, 0, 0.045))  # its lowest point is 5 mm inside the box below z = 0.03
    numbers = np.arange(len(mesh.vertices))
    digits = {"low": numbers[mesh.vertices[:, 2] < 0.045], "high": numbers[mesh.vertices[:, 2] > 0.045]}
    found = overlap(Solid((Shape("box", (0.05, 0.05, 0.03)),)), mesh.vertices, mesh.faces, digits, numbers)
    assert found.max_penetration_mm == pytest.approx(5.0, abs=0.2)
    assert 0 < found.mean_penetration_mm < found.max_penetration_mm
    assert found.fingers == 1
    assert found.contact_ratio == pytest.approx((mesh.vertices[:, 2] < 0.033).mean())
    cap = math.pi * 0.005**2 * (3 * 0.02 - 0.005) / 3
    assert found.volume_cm3 == pytest.approx(1e6 * cap, rel=0.1)


def test_hands_that_are_elsewhere_share_nothing() -> None:
    mesh = ball_mesh(0.02, (0, 0, 0.5))
    numbers = np.arange(len(mesh.vertices))
    found = overlap(Solid((Shape("sphere", (0.03,)),)), mesh.vertices, mesh.faces, {"all": numbers}, numbers)
    assert (found.max_penetration_mm, found.volume_cm3, found.contact_ratio, found.fingers) == (
        0.0,
        0.0,
        0.0,
        0,
    )


def test_spread_points_are_far_apart() -> None:
    points = np.column_stack([np.arange(100.0), np.zeros(100), np.zeros(100)])
    assert sorted(spread(points, 3).tolist()) == [0, 49, 99]
    assert len(spread(points[:2], 5)) == 2


def test_vertex_normals_of_a_ball_are_its_radii() -> None:
    mesh = ball_mesh(0.02, (0, 0, 0))
    normals = vertex_normals(mesh.vertices, mesh.faces)
    used = np.unique(mesh.faces)
    away = np.einsum("ij,ij->i", normals, mesh.vertices / 0.02)
    inner = used[np.abs(mesh.vertices[used, 2]) < 0.0199]  # the poles are many vertices on one point
    assert away[inner].min() > 0.998
