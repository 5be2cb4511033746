"""A robot alone, standing somewhere, and its controller."""

import mujoco
import numpy as np

from libero_safety.plan.kinematics import Arm
from libero_safety.plan.timing import TipMotion
from libero_safety.plan.track import Tracker, tip_state
from libero_safety.sim.control import OperationalSpaceController
from libero_safety.sim.robot import FINGER_START_QPOS, HOME_QPOS, resolve, robot_spec, set_physics
from libero_safety.types import SUBSTEPS

HOME = np.array(HOME_QPOS)
BASE = (-0.66, 0.1, 0.912)


class Robot:
    """The arm in an empty world."""

    def __init__(self, turned_rad: float = 0.4) -> None:
        spec = mujoco.MjSpec()
        set_physics(spec.option)
        frame = spec.worldbody.add_frame(
            pos=BASE, quat=[np.cos(turned_rad / 2), 0, 0, np.sin(turned_rad / 2)]
        )
        frame.attach_body(robot_spec().body("link0"), "robot/", "")
        self.model = spec.compile()
        self.ids = resolve(self.model)
        self.arm = Arm(self.model, self.ids, HOME)
        self.home_pos, self.home_rot = self.arm.fk(HOME)

    def start(self) -> None:
        self.data = mujoco.MjData(self.model)
        self.data.qpos[list(self.ids.arm_qpos)] = HOME
        self.data.qpos[list(self.ids.finger_qpos)] = FINGER_START_QPOS
        mujoco.mj_forward(self.model, self.data)
        self.controller = OperationalSpaceController(self.model, self.ids)
        self.controller.reset(self.data)
        mujoco.mj_step1(self.model, self.data)

    @property
    def joints(self) -> np.ndarray:
        return self.data.qpos[list(self.ids.arm_qpos)].copy()

    def tip(self):
        return tip_state(self.model, self.data, self.ids)

    def act(self, action: np.ndarray, substeps: int = SUBSTEPS) -> None:
        self.controller.set_goal(self.data, np.concatenate([np.clip(action, -1.0, 1.0), [-1.0]]))
        for _ in range(substeps):
            self.controller.apply(self.data)
            mujoco.mj_step2(self.model, self.data)
            mujoco.mj_step1(self.model, self.data)

    def follow(self, motion: TipMotion, hold: int = 0, push_n=(0.0, 0.0, 0.0)):
        """Track a motion from the start; return the tracker and tip positions, rotations, joints at each row."""
        self.start()
        self.data.xfrc_applied[self.ids.link_bodies["hand"], :3] = push_n
        tracker, rows = Tracker(motion), []
        for step in range(motion.steps + hold):
            pos, rot, velocity = self.tip()
            rows.append((pos, rot, self.joints))
            self.act(tracker.action(step, pos, rot, velocity))
        pos, rot, _ = self.tip()
        rows.append((pos, rot, self.joints))
        return tracker, *(np.array(column) for column in zip(*rows, strict=True))
