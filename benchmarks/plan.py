"""How long planning takes, how often it succeeds and how long the paths are.

python benchmarks/plan.py mbm --planner ompl --problems DATA.json.gz
"""

import gzip
import json
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.plan.world import World
from libero_safety.sim.robot import FINGER_OPEN_QPOS, HOME_QPOS, resolve, robot_spec


def mbm_world(problem: dict, margin_m: float) -> World:
    """Our robot at the origin, gripper open, among a problem's boxes, cylinders and spheres."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.attach(robot_spec(), prefix="robot/", frame=spec.worldbody.add_frame())
    for kind in ("box", "cylinder", "sphere"):
        for number, shape in enumerate(problem[kind]):
            geom = spec.worldbody.add_geom(name=f"{kind}/{number}", pos=shape["position"])
            if kind == "box":
                geom.type, geom.size = mujoco.mjtGeom.mjGEOM_BOX, shape["half_extents"]
            elif kind == "cylinder":
                geom.type = mujoco.mjtGeom.mjGEOM_CYLINDER
                geom.size = (shape["radius"], shape["length"] / 2, 0.0)
            else:
                geom.size = (shape["radius"], 0.0, 0.0)
            if kind != "sphere":
                turn = Rotation.from_euler("xyz", shape["orientation_euler_xyz"])
                geom.quat = turn.as_quat(scalar_first=True)
    model = spec.compile()
    qpos = np.array(model.qpos0)
    robot = resolve(model)
    qpos[list(robot.arm_qpos)] = HOME_QPOS
    qpos[list(robot.finger_qpos)] = FINGER_OPEN_QPOS
    return World(model, robot, qpos, margin_m=margin_m)


def load(path: Path) -> dict:
    with gzip.open(path) as file:
        return json.load(file)["problems"]
