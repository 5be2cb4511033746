"""Where named frames are, against numbers worked out by hand."""

import numpy as np
import pytest

from libero_safety.sim.env import Env
from libero_safety.sim.scene import SceneError
from libero_safety.types import Key
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.sample import sample

SCENE = """
(define (problem open_the_microwave)
  (:ubddl 1) (:suite test) (:arena tabletop)
  (:language open the microwave)
  (:regions
    (left (:target main_table) (:ranges ((-0.1 -0.4 0.1 -0.3))))
    (right (:target main_table) (:ranges ((0.0 0.35 0.0 0.35))) (:yaw_rotation ((90deg 90deg)))))
  (:fixtures main_table - table  microwave_1 - microwave)
  (:objects frypan_1 - frypan)
  (:init (On frypan_1 main_table.left) (On microwave_1 main_table.right))
  (:goal (Open microwave_1)))
"""


@pytest.fixture(scope="module")
def env() -> Env:
    env = Env(render=False)
    scenario = parse(SCENE).at(0)
    env.reset(sample(scenario, Key("test", scenario.name, 0, 0, 0), env.catalog))
    return env


def local(env: Env, name: str, of: str) -> tuple[np.ndarray, np.ndarray]:
    """Where a frame is in another one."""
    pos, rotation = env.frame_pose(name)
    origin, axes = env.frame_pose(of)
    return axes.T @ (pos - origin), axes.T @ rotation


def test_a_grasp_is_a_frame_whose_y_is_where_the_fingers_close(env: Env) -> None:
    pos, rotation = local(env, "frypan_1.grasp", "frypan_1")
    asset = env.scene.entity("frypan_1").asset
    assert asset is not None
    assert asset.grasp is not None
    np.testing.assert_allclose(pos, asset.grasp[0], atol=1e-12)
    # It closes along the pan's -x axis, across the handle.
    np.testing.assert_allclose(rotation[:, 1], (-1, 0, 0), atol=1e-12)


def test_faces_of_a_zone(env: Env) -> None:
    zone = env.catalog.zone("microwave", "heating_region")
    assert zone is not None
    for face, axis, end in (("bottom", 2, -1), ("top", 2, 1), ("front", 0, 1), ("right", 1, -1)):
        pos, _ = local(env, f"microwave_1.heating_region.{face}", "microwave_1.heating_region")
        wanted = np.zeros(3)
        wanted[axis] = end * zone.half[axis]
        np.testing.assert_allclose(pos, wanted, atol=1e-12)


def test_faces_of_a_part_are_those_of_its_box(env: Env) -> None:
    tops = [
        local(env, f"frypan_1.handle.{face}", "frypan_1")[0] for face in ("left", "right", "top", "bottom")
    ]
    assert tops[0][1] > 0.2 > tops[1][1], "the handle points along y"
    assert tops[2][2] > tops[3][2]
    np.testing.assert_allclose(tops[2][:2], tops[3][:2], atol=1e-12)
    middle = (tops[0] + tops[1]) / 2
    np.testing.assert_allclose(middle[2], (tops[2][2] + tops[3][2]) / 2, atol=1e-12)


def test_a_part_moves_with_its_link(env: Env) -> None:
    door = env.scene.entity("microwave_1").joints["door"]
    shut = local(env, "microwave_1.door.bottom", "microwave_1")
    snapshot = env.snapshot()
    env.show(np.where(np.arange(env.scene.model.nq) == door.qpos, door.spec.opened, env.data.qpos))
    opened = local(env, "microwave_1.door.bottom", "microwave_1")
    env.restore(snapshot)
    angle = door.spec.opened - door.value(env.data)
    turned = shut[1].T @ opened[1]
    assert abs(np.arctan2(turned[1, 0], turned[0, 0])) == pytest.approx(abs(angle), abs=1e-6)
    assert np.linalg.norm(opened[0] - shut[0]) > 0.1


def test_a_region_of_the_surface_and_the_surface(env: Env) -> None:
    pos, rotation = local(env, "main_table.left", "workspace")
    np.testing.assert_allclose(pos, (0.0, -0.35, 0.0), atol=1e-12)
    np.testing.assert_allclose(rotation, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fripan_1", "did you mean 'frypan_1'"),
        ("frypan_1.handel", "did you mean 'handle'"),
        ("frypan_1.handle.botom", "did you mean 'bottom'"),
        ("microwave_1.grasp", "no part 'grasp'"),
    ],
)
def test_what_is_not_there_is_said(env: Env, name: str, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        env.frame_pose(name)
