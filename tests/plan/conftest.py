"""A robot alone with a few shapes: worlds whose answers are known."""

from collections.abc import Callable, Sequence

import mujoco
import numpy as np
import pytest

from libero_safety.plan.world import World
from libero_safety.sim.robot import FINGER_OPEN_QPOS, HOME_QPOS, resolve, robot_spec


def bare_world(
    boxes: Sequence[tuple[Sequence[float], Sequence[float]]] = (), *, margin_m: float = 0.005, **options
) -> World:
    """The robot at the origin, gripper open, among boxes (centre, half sizes)."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.attach(robot_spec(), prefix="robot/", frame=spec.worldbody.add_frame())
    for number, (pos, half) in enumerate(boxes):
        spec.worldbody.add_geom(name=f"box_{number}", type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=half)
    model = spec.compile()
    robot = resolve(model)
    qpos = np.array(model.qpos0)
    qpos[list(robot.arm_qpos)] = HOME_QPOS
    qpos[list(robot.finger_qpos)] = FINGER_OPEN_QPOS
    return World(model, robot, qpos, margin_m=margin_m, **options)


@pytest.fixture
def among() -> Callable[..., World]:
    """Return a maker of such worlds."""
    return bare_world


@pytest.fixture
def walled() -> World:
    """A wall between the two sides of the robot, too high to be seen over by a straight line."""
    return bare_world([((0.55, 0.0, 0.2), (0.2, 0.02, 0.2))])
