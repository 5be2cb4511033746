"""Distances, normals, areas and depths of solids against closed forms."""

import math

import numpy as np
import pytest

from libero_safety.assets.asset import MeshData, Shape
from libero_safety.assets.geometry import quat_about
from libero_safety.assets.solid import Solid, signed_distance, winding_number
from libero_safety.rng import rng_for
from libero_safety.types import Key


def rng() -> np.random.Generator:
    return rng_for(Key("", "solid", 0, 0, 0), "test")


CUBE = MeshData(
    "cube",
    np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)]) * 0.02,
    np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]]
        + [[2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]],
        dtype=np.int32,
    ),
)

CASES = [
    (Shape("sphere", (0.03,)), (0.05, 0, 0), 0.02),
    (Shape("sphere", (0.03,), pos=(0.01, 0, 0)), (0.01, 0.01, 0), -0.02),
    (Shape("box", (0.01, 0.02, 0.03)), (0.013, 0.024, 0), 0.005),  # beside an edge: 3-4-5
    (Shape("box", (0.01, 0.02, 0.03)), (0, 0.015, 0), -0.005),
    (Shape("cylinder", (0.03, 0.05)), (0.034, 0, 0.053), 0.005),
    (Shape("cylinder", (0.03, 0.05)), (0, 0.01, 0), -0.02),
    (Shape("capsule", (0.01, 0.05)), (0, 0.03, 0.09), 0.04),  # 3-4-5 from the end of the axis
    (Shape("capsule", (0.01, 0.05)), (0, 0.004, 0.02), -0.006),
    (Shape("ellipsoid", (0.02, 0.03, 0.05)), (0, 0, 0.06), 0.01),
    (Shape("ellipsoid", (0.02, 0.03, 0.05)), (0, 0, 0), -0.02),
    (Shape("ellipsoid", (0.03, 0.03, 0.03)), (0.01, 0.02, 0.02), 0.0),
    (Shape("mesh", (), mesh=CUBE), (0.025, 0.01, 0), 0.005),
    (Shape("mesh", (), mesh=CUBE), (0.0, 0.0, 0.015), -0.005),
    # a quarter turn about z puts the box's y along x
    (Shape("box", (0.01, 0.02, 0.03), quat=quat_about((0, 0, 1), math.pi / 2)), (0.03, 0, 0), 0.01),
]


@pytest.mark.parametrize(("shape", "point", "distance"), CASES)
def test_distance_is_the_closed_form(shape: Shape, point: tuple[float, ...], distance: float) -> None:
    assert signed_distance(shape, np.array([point], dtype=float))[0] == pytest.approx(distance, abs=1e-7)


def test_distance_to_an_ellipsoid_is_that_to_its_nearest_surface_point() -> None:
    shape = Shape("ellipsoid", (0.02, 0.035, 0.05))
    directions = rng().normal(size=(60_000, 3))
    on_unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    surface = on_unit * np.asarray(shape.size)
    points = rng().uniform(-0.06, 0.06, (40, 3))
    nearest = np.linalg.norm(points[:, None] - surface, axis=2).min(axis=1)
    assert np.abs(signed_distance(shape, points)) == pytest.approx(nearest, abs=2e-5)


def test_union_is_the_nearest_piece_and_the_same_as_the_least_of_all() -> None:
    shapes = tuple(Shape("sphere", (0.02,), pos=(0.03 * i, 0, 0)) for i in range(4))
    points = rng().uniform(-0.05, 0.15, (500, 3))
    each = np.min([signed_distance(s, points) for s in shapes], axis=0)
    assert Solid(shapes).signed_distance(points) == pytest.approx(each, abs=1e-12)


def test_depth_where_two_boxes_meet_is_that_to_the_outside() -> None:
    halves = tuple(Shape("box", (0.02, 0.02, 0.02), pos=(0, 0, z)) for z in (-0.02, 0.02))
    seam, outside = np.array([[0.0, 0.0, 0.001]]), np.array([[0.0, 0.03, 0.0]])
    assert Solid(halves).signed_distance(seam)[0] == pytest.approx(-0.001)
    assert Solid(halves).depth(seam)[0] == pytest.approx(0.02, abs=5e-4)
    assert Solid(halves).depth(outside)[0] == 0.0


@pytest.mark.parametrize(
    ("shape", "area"),
    [
        (Shape("box", (0.01, 0.02, 0.03)), 8 * (0.0002 + 0.0006 + 0.0003)),
        (Shape("cylinder", (0.03, 0.05)), 2 * math.pi * 0.03 * 0.13),
        (Shape("capsule", (0.01, 0.05)), 4 * math.pi * 0.01 * 0.06),
        (Shape("mesh", (), mesh=CUBE), 6 * 0.04**2),
    ],
)
def test_points_on_a_surface_are_on_it_spread_evenly_and_look_outwards(shape: Shape, area: float) -> None:
    points, normals = Solid((shape,)).sample(20_000, rng())
    assert len(points) == 20_000
    assert signed_distance(shape, points) == pytest.approx(0.0, abs=1e-9)
    assert signed_distance(shape, points + 0.002 * normals) == pytest.approx(0.002, abs=1e-9)
    # by the divergence theorem the mean of p.n is three volumes per area
    volume = {"box": 8 * 6e-6, "cylinder": math.pi * 9e-4 * 0.1, "mesh": 0.04**3}
    capsule = math.pi * 1e-4 * (0.1 + 4 / 3 * 0.01)
    mean = float(np.einsum("ij,ij->i", points, normals).mean())
    assert mean == pytest.approx(3 * volume.get(shape.kind, capsule) / area, rel=0.02)


def test_points_on_an_ellipsoid_are_spread_evenly() -> None:
    half = np.array([0.02, 0.02, 0.05])
    points, normals = Solid((Shape("ellipsoid", tuple(half)),)).sample(40_000, rng())
    assert np.square(points / half).sum(axis=1) == pytest.approx(1.0)
    e = math.sqrt(1 - 0.4**2)
    area = 2 * math.pi * 0.02**2 * (1 + 0.05 / (0.02 * e) * math.asin(e))  # prolate spheroid
    mean = float(np.einsum("ij,ij->i", points, normals).mean())
    assert mean == pytest.approx(4 * math.pi * half.prod() / area, rel=0.01)


def test_surface_inside_another_piece_is_left_out() -> None:
    halves = tuple(Shape("box", (0.02, 0.02, 0.02), pos=(0, 0, z)) for z in (-0.02, 0.02))
    points, _ = Solid(halves).sample(4000, rng())
    assert not ((np.abs(points[:, 2]) < 1e-9) & (np.abs(points[:, :2]).max(axis=1) < 0.0199)).any()
    assert len(points) == pytest.approx(4000 * 10 / 12, rel=0.05)


def test_weights_move_points_to_a_piece() -> None:
    apart = Solid((Shape("sphere", (0.02,)), Shape("sphere", (0.02,), pos=(0.2, 0, 0))))
    for weights, share in (((1.0, 0.0), 0.0), ((1.0, 3.0), 0.75)):
        points, _ = apart.sample(2000, rng(), weights)
        assert float((points[:, 0] > 0.1).mean()) == pytest.approx(share, abs=0.04)


def test_normals_point_away_from_the_nearest_piece() -> None:
    normals = Solid((Shape("sphere", (0.02,)), Shape("sphere", (0.02,), pos=(0.2, 0, 0)))).normals(
        np.array([[0.0, 0.03, 0.0], [0.2, 0.0, -0.01]])
    )
    assert normals == pytest.approx(np.array([[0, 1, 0], [0, 0, -1]]), abs=1e-6)


def test_centre_of_mass_weighs_density() -> None:
    light, heavy = (
        Shape("sphere", (0.02,), density=100),
        Shape("sphere", (0.02,), pos=(0.1, 0, 0), density=300),
    )
    solid = Solid((light, heavy))
    assert solid.centre_of_mass == pytest.approx([0.075, 0, 0])
    assert solid.mass_kg == pytest.approx(400 * 4 / 3 * math.pi * 8e-6)


def test_winding_number_is_one_inside_and_zero_outside() -> None:
    points = np.array([[0.0, 0, 0], [0.019, 0.019, -0.019], [0.021, 0, 0], [0, 0, 1.0]])
    assert winding_number(points, CUBE.vertices, CUBE.faces) == pytest.approx([1, 1, 0, 0], abs=1e-9)
