"""What stands for water falls into a bowl and stays there."""

import mujoco

from libero_safety.sim.env import Env
from libero_safety.suites import load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import sample

POUR = "pour_the_water_in_the_classic_blue_mug_to_the_bowl"
BALLS = [f"water_ball_{number}" for number in range(1, 14)]


def test_water_that_falls_into_the_bowl_does_not_sink_through_its_bottom() -> None:
    env = Env(render=False)
    env.reset(sample(load_suite("aag").task(POUR).scenario(0), Key("aag", POUR, 0, 0, 0), env.catalog))
    scene, data = env.scene, env.data
    bowl = data.xpos[scene.entity("porcelain_bowl_1").body].copy()
    for number, name in enumerate(BALLS):
        ball = scene.entity(name)
        assert ball.qpos is not None
        assert ball.dof is not None
        x, y = ((1, 1), (1, -1), (-1, 1), (-1, -1))[number % 4]
        data.qpos[ball.qpos : ball.qpos + 3] = bowl + (0.009 * x, 0.009 * y, 0.03 + 0.016 * (number // 4))
        data.qvel[ball.dof : ball.dof + 3] = (0.0, 0.0, -2.2)
    drops = {geom for name in BALLS for geom in scene.entity(name).geoms.tolist()}
    table = set(scene.entity("living_room_table").geoms.tolist())
    for _ in range(250):
        mujoco.mj_step(scene.model, data)
        assert not [pair for pair in data.contact.geom.tolist() if {*pair} & drops and {*pair} & table]
