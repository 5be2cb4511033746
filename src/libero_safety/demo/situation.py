"""Where everything is when a motion is planned: as it is in the simulator, or as it will be if all goes well."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from libero_safety.demo.target import PoseArrays, about_z
from libero_safety.plan.bounds import Held
from libero_safety.plan.kinematics import Arm
from libero_safety.plan.timing import at_rest
from libero_safety.registry import near_match
from libero_safety.sim import contact
from libero_safety.sim.frames import frame_pose
from libero_safety.sim.robot import FINGER_OPEN_QPOS
from libero_safety.sim.scene import Scene, SceneError
from libero_safety.types import FloatArray

_DROP_ROUNDS = 100
"""How often a falling thing is moved on at most; it takes many where it falls beside a wall."""


@dataclass
class Situation:
    """A state of a scene that can be asked, and that can be moved on without physics.

    Attributes:
        scene: the compiled scene.
        data: a state of its own; kinematics are up to date.
        arm: kinematics of the arm.
        time_s: seconds since the episode began.
        held: what is in the gripper, as it lies there.
        velocity: (6,) linear and angular velocity of the tip, world.
    """

    scene: Scene
    data: mujoco.MjData
    arm: Arm
    time_s: float
    held: Held | None
    velocity: FloatArray

    @classmethod
    def now(
        cls, scene: Scene, data: mujoco.MjData, arm: Arm, time_s: float, holds: str | None
    ) -> "Situation":
        """Return the state of the simulator; it is copied."""
        own = mujoco.MjData(scene.model)
        own.qpos[:], own.qvel[:] = data.qpos, data.qvel
        mujoco.mj_kinematics(scene.model, own)
        joints = own.qpos[list(scene.robot.arm_qpos)]
        velocity = arm.jacobian(joints) @ own.qvel[list(scene.robot.arm_dofs)]
        held = Held.now(scene, own, holds) if holds is not None else None
        return cls(scene, own, arm, time_s, held, velocity)

    def copy(self) -> "Situation":
        """Return another one in the same state, to be moved on independently."""
        data = mujoco.MjData(self.scene.model)
        data.qpos[:], data.qvel[:] = self.data.qpos, self.data.qvel
        mujoco.mj_kinematics(self.scene.model, data)
        return replace(self, data=data)

    @property
    def joints(self) -> FloatArray:
        """Arm joints (7,)."""
        return np.array(self.data.qpos[list(self.scene.robot.arm_qpos)])

    @property
    def at_rest(self) -> bool:
        """Whether the tip stands still."""
        return at_rest(self.velocity)

    @property
    def tip(self) -> PoseArrays:
        """Pose of the grip site."""
        site = self.scene.robot.grip_site
        return np.array(self.data.site_xpos[site]), np.array(self.data.site_xmat[site]).reshape(3, 3)

    def frame(self, name: str, time_s: float | None = None) -> PoseArrays:
        """Return the pose of a frame; of one that moves by itself, where it will be at `time_s`.

        Raises:
            SceneError: nothing of that name.
        """
        pose = frame_pose(self.scene, self.data, name)
        return pose if time_s is None else self._moved(name, pose, time_s)

    def hinge(self, name: str) -> PoseArrays:
        """Return a point (3,) on the axis of the joint `entity.joint`, and its direction (3,).

        Raises:
            SceneError: no such joint.
        """
        owner, _, joint_name = name.partition(".")
        entity = self.scene.entity(owner)
        if joint_name not in entity.joints:
            known = ", ".join(entity.joints) or "none"
            raise SceneError(
                f"{owner} has no joint {joint_name!r}{near_match(joint_name, entity.joints)}. It has: {known}"
            )
        joint = int(np.flatnonzero(self.scene.model.jnt_qposadr == entity.joints[joint_name].qpos)[0])
        mujoco.mj_comPos(self.scene.model, self.data)
        return np.array(self.data.xanchor[joint]), np.array(self.data.xaxis[joint])

    @property
    def contents(self) -> tuple[str, ...]:
        """What lies in the held thing, as the scenario says, and goes where it goes."""
        if self.held is None:
            return ()
        inside: dict[str, None] = {}
        for _ in self.scene.scenario.init:  # as deep as the highest pile
            for fact in self.scene.scenario.init:
                if len(fact.args) == 2 and fact.args[1].partition(".")[0] in (self.held.entity, *inside):
                    inside[fact.args[0]] = None
        return tuple(inside)

    def resting(self, entity: str) -> tuple[str, ...]:
        """Return the entities that an entity touches: what it stands on or leans at."""
        scene, data = self.scene, self.data
        mujoco.mj_collision(scene.model, data)
        own = set(scene.entity(entity).geoms.tolist())
        names: dict[str, None] = {}
        for pair in data.contact.geom.tolist():
            for mine, other in (pair, pair[::-1]):
                name = scene.entity_of_geom.get(other)
                if mine in own and other not in own and name is not None:
                    names[name] = None
        return tuple(names)

    def go(self, joints: FloatArray, time_s: float) -> None:
        """Move the arm, with what it holds, and let time pass for what moves by itself."""
        data = self.data
        data.qpos[list(self.scene.robot.arm_qpos)] = joints
        for hazard in self.scene.hazards:
            data.qpos[hazard.qpos : hazard.qpos + 7] = hazard.pose_at(time_s)
        mujoco.mj_kinematics(self.scene.model, data)
        self.time_s, self.velocity = time_s, np.zeros(6)
        if self.held is not None:
            self._carry(self.held)

    def take(self, entity: str) -> None:
        """Close the gripper on an entity, as both are now."""
        self.held = Held.now(self.scene, self.data, entity)
        self.set_fingers(0.5)

    def give(self) -> None:
        """Open the gripper; what was held comes straight down, without turning over, on what is below it."""
        dropped, self.held = self.held, None
        self.set_fingers(1.0)
        if dropped is not None:
            self._drop(dropped.entity)

    def set_fingers(self, opening: float) -> None:
        """Put the fingers where they are at an opening from 0 to 1."""
        for address, value in zip(self.scene.robot.finger_qpos, FINGER_OPEN_QPOS, strict=True):
            self.data.qpos[address] = value * opening
        mujoco.mj_kinematics(self.scene.model, self.data)

    def _moved(self, frame: str, pose: PoseArrays, time_s: float) -> PoseArrays:
        """Return where a pose that goes with the entity of a frame will be, if that moves by itself."""
        for hazard in self.scene.hazards:
            if hazard.entity == frame.partition(".")[0]:
                here, there = hazard.law.at(self.time_s), hazard.law.at(time_s)
                turn = about_z(there.turn - here.turn)
                return there.pos + turn @ (pose[0] - here.pos), turn @ pose[1]
        return pose

    def _carry(self, held: Held) -> None:
        address = self.scene.entity(held.entity).qpos
        if address is None:
            return
        pos, rotation = self.tip
        quat, grip = np.empty(4), np.empty(4)
        mujoco.mju_mat2Quat(grip, rotation.ravel())
        mujoco.mju_mulQuat(quat, grip, held.quat)
        self.data.qpos[address : address + 3] = pos + rotation @ held.pos
        self.data.qpos[address + 3 : address + 7] = quat
        mujoco.mj_kinematics(self.scene.model, self.data)

    def _drop(self, entity: str) -> None:
        """Let an entity down as far as nothing but the robot is in its way."""
        model, thing = self.scene.model, self.scene.entity(entity)
        if thing.qpos is None:
            return
        solid = (model.geom_contype | model.geom_conaffinity) != 0
        solid[[*self.scene.robot.all_geoms, *thing.geoms]] = False
        below = np.flatnonzero(solid).astype(np.int32)
        for _ in range(_DROP_ROUNDS):
            # No point of it can meet anything on a way no longer than the distance.
            room_m = contact.distance(model, self.data, thing.geoms, below)
            if room_m < contact.TOUCH_GAP_M:
                return
            self.data.qpos[thing.qpos + 2] -= room_m
            mujoco.mj_kinematics(model, self.data)


def size_m(scene: Scene, data: mujoco.MjData, entity: str) -> float:
    """Return a distance (m) from the origin of an entity that no point of it exceeds."""
    thing = scene.entity(entity)
    away = np.linalg.norm(data.geom_xpos[thing.geoms] - data.xpos[thing.body], axis=1)
    return float((away + scene.model.geom_rbound[thing.geoms]).max(initial=0.0))
