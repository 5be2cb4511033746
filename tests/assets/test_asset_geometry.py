"""Sizes and masses against closed forms and against MuJoCo's own."""

import math

import numpy as np
import pytest
from asset_world import add_asset, world

from libero_safety.assets.asset import Asset, Joint, Link, Shape
from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.geometry import (
    bounds,
    footprint,
    mass_kg,
    moved,
    quat_about,
    quat_multiply,
    quat_to,
    rotate,
    scaled,
    support,
    tinted,
    turned,
    volume_m3,
)
from libero_safety.assets.objects.shapes import ring
from libero_safety.types import Zone

QUARTER = quat_about((0.0, 0.0, 1.0), math.pi / 2)
LYING = quat_about((0.0, 1.0, 0.0), math.pi / 2)


def one(*shapes: Shape) -> Asset:
    return Asset("thing", (Link("root", shapes),))


def test_rotations() -> None:
    assert rotate(QUARTER, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0))
    assert rotate(quat_multiply(QUARTER, LYING), (0.0, 0.0, 1.0)) == pytest.approx((0.0, 1.0, 0.0))
    for way in ((0.3, -0.4, 0.5), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)):
        unit = np.asarray(way) / np.linalg.norm(way)
        assert rotate(quat_to(way), (0.0, 0.0, 1.0)) == pytest.approx(unit)


@pytest.mark.parametrize(
    ("shape", "half"),
    [
        (Shape("box", (1, 2, 3)), (1, 2, 3)),
        (Shape("box", (1, 2, 3), quat=QUARTER), (2, 1, 3)),
        (Shape("sphere", (0.5,)), (0.5, 0.5, 0.5)),
        (Shape("cylinder", (1, 2)), (1, 1, 2)),
        (Shape("cylinder", (1, 2), quat=LYING), (2, 1, 1)),
        (Shape("capsule", (1, 2)), (1, 1, 3)),
        (Shape("capsule", (1, 2), quat=LYING), (3, 1, 1)),
        (Shape("ellipsoid", (1, 2, 3), quat=QUARTER), (2, 1, 3)),
    ],
)
def test_bounds_of_each_kind(shape: Shape, half: tuple[float, float, float]) -> None:
    low, high = bounds(one(moved(shape, (10, 20, 30))))
    assert low == pytest.approx([c - h for c, h in zip((10, 20, 30), half, strict=True)])
    assert high == pytest.approx([c + h for c, h in zip((10, 20, 30), half, strict=True)])


def test_a_cylinder_leaning_by_45_degrees_is_measured_exactly() -> None:
    lean = quat_about((1.0, 0.0, 0.0), math.pi / 4)
    reach = support(Shape("cylinder", (1, 2), quat=lean), np.array([[0.0, 0.0, 1.0]]))
    assert reach == pytest.approx([(1 + 2) / math.sqrt(2)])


def test_volumes() -> None:
    assert volume_m3(Shape("box", (1, 2, 3))) == pytest.approx(48)
    assert volume_m3(Shape("sphere", (2,))) == pytest.approx(4 / 3 * math.pi * 8)
    assert volume_m3(Shape("cylinder", (2, 3))) == pytest.approx(24 * math.pi)
    assert volume_m3(Shape("capsule", (1, 2))) == pytest.approx(4 * math.pi + 4 / 3 * math.pi)
    assert volume_m3(Shape("ellipsoid", (1, 2, 3))) == pytest.approx(8 * math.pi)


def test_a_footprint_reaches_to_the_corner_and_ignores_what_is_only_seen() -> None:
    asset = one(Shape("box", (0.3, 0.4, 0.1), (0, 0, 0.5)), Shape("box", (9, 9, 9), role="visual"))
    room = footprint(asset)
    assert room.radius_m == pytest.approx(0.5, rel=2e-3)
    assert (room.bottom_m, room.top_m) == pytest.approx((0.4, 0.6))


def test_a_link_is_measured_where_it_hangs() -> None:
    door = Link("door", (Shape("box", (0.1, 0.1, 0.1)),), pos=(1, 0, 0), joint=Joint("d", "hinge", (0, 0, 1)))
    low, high = bounds(Asset("a", (Link("root", (Shape("sphere", (0.1,)),)), door)))
    assert (low[0], high[0]) == pytest.approx((-0.1, 1.1))


@pytest.mark.parametrize("name", default_catalog().names())
def test_mass_is_what_mujoco_makes_of_it(name: str) -> None:
    asset = default_catalog().asset(name)
    spec = world()
    add_asset(spec, asset, (0, 0, 0), free=False)
    model = spec.compile()
    assert model.body_mass.sum() == pytest.approx(mass_kg(asset), rel=1e-6)


def test_scaling_turning_and_tinting() -> None:
    asset = Asset(
        "a",
        (Link("root", (Shape("box", (0.1, 0.2, 0.3), (0.1, 0, 0), rgba=(1, 0, 0, 1), density=100),)),),
        (Zone("z", (0.1, 0, 0.3), (0.1, 0.2, 0.05), "surface"),),
        ((0.1, 0.0, 0.2), 0.0),
    )
    double = scaled(asset, 2)
    assert mass_kg(double) == pytest.approx(8 * mass_kg(asset))
    assert double.zones[0].half == pytest.approx((0.2, 0.4, 0.1))
    quarter = turned(asset, math.pi / 2)
    assert bounds(quarter)[1] == pytest.approx((0.2, 0.2, 0.3))
    assert quarter.zones[0].half == (0.2, 0.1, 0.05)
    assert quarter.grasp is not None
    assert quarter.grasp[0] == pytest.approx((0.0, 0.1, 0.2))
    assert quarter.grasp[1] == pytest.approx(math.pi / 2)
    assert tinted(asset, 1 / 3).links[0].shapes[0].rgba == pytest.approx((0, 1, 0, 1))


def test_a_ring_leaves_its_middle_free_and_has_no_gaps() -> None:
    walls = ring("rim", (0.03, 0.05), (0.0, 0.04), 0.004, (1, 1, 1, 1), count=10)
    low, high = bounds(one(*walls))
    assert high[1] == pytest.approx(0.05, abs=0.002)
    assert low[2] > -0.001
    flat = 2 * walls[0].size[1]
    assert flat * 10 >= 2 * math.pi * 0.05 * math.cos(math.pi / 10)
