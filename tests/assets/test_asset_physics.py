"""What the assets do in MuJoCo: they stand, they can be picked up, they hold things, their joints move."""

import mujoco
import numpy as np
import pytest
from asset_world import add_asset, lifted, tilt_deg, world

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.geometry import bounds
from libero_safety.assets.objects.bottles import BOTTLES
from libero_safety.assets.objects.food import FOODS
from libero_safety.assets.objects.hand import HANDS

OBJECTS = [n for n in default_catalog().names() if n not in (*FIXTURES, *HANDS)]
ROLLS = {"ball": "a ball", "water_ball": "stands for a drop of water"}
TOO_LARGE = {
    "billiard_balls": "an obstacle: wider than any gripper",
    "dish_towel": "an obstacle on a stove: flat",
    "keyboard": "an obstacle: wide and flat",
    "notebook": "wide and flat",
    "red_book": "wide and flat",
    "toy_balls": "an obstacle: wider than any gripper",
}


def stand(asset: Asset, height: float = 0.0) -> tuple[mujoco.MjModel, mujoco.MjData]:
    spec = world()
    add_asset(spec, asset, (0, 0, height - bounds(asset)[0][2]), free=True)
    model = spec.compile()
    return model, mujoco.MjData(model)


@pytest.mark.parametrize("name", [n for n in OBJECTS if n not in ROLLS])
def test_dropped_from_1_mm_it_stays_where_it_is(name: str) -> None:
    model, data = stand(default_catalog().asset(name), height=0.001)
    start = data.qpos[:3].copy()
    mujoco.mj_step(model, data, nstep=500)
    assert tilt_deg(data.qpos[3:7]) < 2
    assert np.linalg.norm(data.qpos[:3] - start) < 0.005
    assert np.abs(data.qvel).max() < 0.02


@pytest.mark.parametrize(
    "name", ["white_yellow_mug", "akita_black_bowl", "moka_pot", "bottle_of_beer__7", "milk"]
)
def test_a_settled_object_stays_put_for_10_s(name: str) -> None:
    model, data = stand(default_catalog().asset(name))
    mujoco.mj_step(model, data, nstep=5000)
    assert np.linalg.norm(data.qpos[:2]) < 0.002


@pytest.mark.parametrize("name", [n for n in OBJECTS if n not in TOO_LARGE])
def test_an_8_cm_gripper_can_pick_it_up_at_its_grasp(name: str) -> None:
    assert lifted(default_catalog().asset(name))


def test_everything_is_graspable_unless_excused() -> None:
    without = {n for n in OBJECTS if default_catalog().asset(n).grasp is None}
    assert without == set(TOO_LARGE)


@pytest.mark.parametrize("name", [*BOTTLES, *FOODS])
def test_bottles_cans_and_food_fit_an_8_cm_gripper_across(name: str) -> None:
    low, high = bounds(default_catalog().asset(name))
    assert min(high[0] - low[0], high[1] - low[1]) < 0.076


@pytest.mark.parametrize(
    "name",
    [
        "akita_black_bowl",
        "white_yellow_mug",
        "glazed_rim_porcelain_ramekin",
        "basket",
        "wooden_tray",
        "chefmate_8_frypan",
    ],
)
def test_a_ball_dropped_in_stays_inside(name: str) -> None:
    asset = default_catalog().asset(name)
    zone = asset.zone("contain_region")
    assert zone is not None
    spec = world()
    add_asset(spec, asset, (0, 0, 0), free=True)
    ball = spec.worldbody.add_body(name="ball", pos=(zone.pos[0], zone.pos[1], bounds(asset)[1][2] + 0.02))
    ball.add_freejoint()
    geom = ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, density=500)
    geom.size[0] = 0.012
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=500)
    floor = zone.pos[2] - zone.half[2]
    at = data.body("ball").xpos - data.body(f"{name}.root").xpos
    assert abs(at[0] - zone.pos[0]) < zone.half[0] + 0.012
    assert abs(at[1] - zone.pos[1]) < zone.half[1] + 0.012
    assert floor - 0.002 < at[2] < floor + 0.03


def fixture(name: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    spec = world()
    add_asset(spec, default_catalog().asset(name), (0, 0, 0), free=False)
    model = spec.compile()
    return model, mujoco.MjData(model)


JOINTS = [
    (name, link.joint.name)
    for name in FIXTURES
    for link in default_catalog().asset(name).links
    if link.joint is not None
]


@pytest.mark.parametrize(("name", "joint"), JOINTS)
def test_a_small_push_opens_and_closes_every_joint(name: str, joint: str) -> None:
    link = next(
        k for k in default_catalog().asset(name).links if k.joint is not None and k.joint.name == joint
    )
    assert link.joint is not None
    model, data = fixture(name)
    assert data.ncon == 0 or all(
        model.geom_bodyid[c.geom1] == model.geom_bodyid[c.geom2] for c in data.contact
    )
    which = model.joint(f"{name}.{joint}")
    force = 10.0 if link.joint.kind == "slide" else 1.5
    for push, reached in (
        (force, lambda q: q >= link.joint.opened),
        (-force, lambda q: q <= link.joint.closed),
    ):
        data.qfrc_applied[which.dofadr] = push
        mujoco.mj_step(model, data, nstep=1000)
        assert reached(data.qpos[which.qposadr[0]])
        assert not [c for c in data.contact if c.dist < -1e-4]


@pytest.mark.parametrize("name", sorted(FIXTURES))
def test_fixtures_do_not_touch_themselves_at_any_joint_value(name: str) -> None:
    model, data = fixture(name)
    for share in np.linspace(0, 1, 11):
        data.qpos[:] = model.jnt_range[:, 0] + share * np.ptp(model.jnt_range, axis=1) if model.njnt else []
        mujoco.mj_forward(model, data)
        assert not [
            c for c in data.contact if 0 not in (model.geom_bodyid[c.geom1], model.geom_bodyid[c.geom2])
        ]


def test_a_bowl_fits_into_a_drawer_and_the_drawer_closes_over_it() -> None:
    catalog = default_catalog()
    spec = world()
    cabinet, bowl = catalog.asset("white_cabinet"), catalog.asset("akita_black_bowl")
    add_asset(spec, cabinet, (0, 0, 0), free=False)
    zone = cabinet.zone("bottom_region")
    assert zone is not None
    bottom = next(k for k in cabinet.links if k.name == "bottom")
    z = bottom.pos[2] + zone.pos[2] - zone.half[2] + 0.001
    add_asset(spec, bowl, (0, zone.pos[1] - 0.15, z), free=True)
    model = spec.compile()
    data = mujoco.MjData(model)
    slide = model.joint("white_cabinet.bottom")
    data.qpos[slide.qposadr] = 0.15
    data.qfrc_applied[slide.dofadr] = -10
    mujoco.mj_step(model, data, nstep=1500)
    assert data.qpos[slide.qposadr[0]] < 0.01
    assert data.body("akita_black_bowl.root").xpos[1] > zone.pos[1] - zone.half[1]
