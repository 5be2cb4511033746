"""The Franka Panda with its parallel gripper, built by code.

Dynamics are those of LIBERO's robot (robosuite 1.4 `Panda` with `PandaGripper`; kinematics and joint limits
are Franka's published ones), so an action moves it as it moves LIBERO's. Collision shapes are convex pieces
fitted to the links; what is seen is drawn by code and weighs nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import mujoco

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.sim.panda_shape import LOOKS, add_collision
from libero_safety.types import PHYSICS_DT_S

Vec = tuple[float, ...]

HOME_QPOS: Vec = (0.0, -0.161037389, 0.0, -2.44459747, 0.0, 2.22675220, 0.7853981633974483)
"""Arm joints at the start of an episode (rad), as in LIBERO."""
FINGER_OPEN_QPOS: Vec = (0.04, -0.04)
"""Finger joints of the fully open gripper (m): 80 mm between the pads."""
FINGER_START_QPOS: Vec = (0.020833, -0.020833)
"""Finger joints at the start of an episode (m), as in LIBERO."""
JOINT_LIMITS: tuple[tuple[float, float], ...] = (
    (-2.8973, 2.8973),
    (-1.7628, 1.7628),
    (-2.8973, 2.8973),
    (-3.0718, -0.0698),
    (-2.8973, 2.8973),
    (-0.0175, 3.7525),
    (-2.8973, 2.8973),
)
"""Lower and upper limit of each arm joint (rad); Franka Control Interface documentation."""
TORQUE_LIMITS: Vec = (80.0, 80.0, 80.0, 80.0, 80.0, 12.0, 12.0)
"""Largest torque of each arm actuator (Nm), as in LIBERO."""
LINK_NAMES = (*(f"link{i}" for i in range(8)), "hand", "left_finger", "right_finger")

_DAMPING = (0.1, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01)
_TURN = 0.7071067811865476
_UPRIGHT: Vec = (1.0, 0.0, 0.0, 0.0)
_ROLL_BACK: Vec = (_TURN, -_TURN, 0.0, 0.0)
_ROLL_FORTH: Vec = (_TURN, _TURN, 0.0, 0.0)


class RobotError(LiberoSafetyError):
    """A robot that cannot be built or is not in the model."""


@dataclass(frozen=True)
class _Body:
    """Frame in the parent and inertial properties of one rigid body (m, kg, kg m^2)."""

    name: str
    parent: str
    pos: Vec
    quat: Vec
    mass: float
    com: Vec
    inertia: Vec
    inertia_quat: Vec = _UPRIGHT


# robosuite 1.4, panda/robot.xml and panda_gripper.xml. The flange turns by LIBERO's rounded -45 degrees.
_BODIES = (
    _Body("link0", "", (0.0, 0.0, 0.0), _UPRIGHT, 4.0, (0.0, 0.0, 0.05), (0.4, 0.4, 0.4)),
    _Body("link1", "link0", (0.0, 0.0, 0.333), _UPRIGHT, 3.0, (0.0, 0.0, -0.07), (0.3, 0.3, 0.3)),
    _Body("link2", "link1", (0.0, 0.0, 0.0), _ROLL_BACK, 3.0, (0.0, -0.1, 0.0), (0.3, 0.3, 0.3)),
    _Body("link3", "link2", (0.0, -0.316, 0.0), _ROLL_FORTH, 2.0, (0.04, 0.0, -0.05), (0.2, 0.2, 0.2)),
    _Body("link4", "link3", (0.0825, 0.0, 0.0), _ROLL_FORTH, 2.0, (-0.04, 0.05, 0.0), (0.2, 0.2, 0.2)),
    _Body("link5", "link4", (-0.0825, 0.384, 0.0), _ROLL_BACK, 2.0, (0.0, 0.0, -0.15), (0.2, 0.2, 0.2)),
    _Body("link6", "link5", (0.0, 0.0, 0.0), _ROLL_FORTH, 1.5, (0.06, 0.0, 0.0), (0.1, 0.1, 0.1)),
    _Body("link7", "link6", (0.088, 0.0, 0.0), _ROLL_FORTH, 0.5, (0.0, 0.0, 0.08), (0.05, 0.05, 0.05)),
    _Body(
        "flange",
        "link7",
        (0.0, 0.0, 0.1065),
        (0.924, 0.0, 0.0, -0.383),
        0.5,
        (0.0, 0.0, 0.0),
        (0.05, 0.05, 0.05),
    ),
    _Body(
        "hand",
        "flange",
        (0.0, 0.0, 0.0),
        (_TURN, 0.0, 0.0, -_TURN),
        0.3,
        (0.0, 0.0, 0.17),
        (0.09, 0.07, 0.05),
        _ROLL_FORTH,
    ),
    _Body(
        "left_finger",
        "hand",
        (0.0, 0.0, 0.0524),
        (_TURN, 0.0, 0.0, _TURN),
        0.1,
        (0.0, 0.0, 0.05),
        (0.01, 0.01, 0.005),
    ),
    _Body(
        "left_tip", "left_finger", (0.0, 0.0085, 0.056), _UPRIGHT, 0.01, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01)
    ),
    _Body(
        "right_finger",
        "hand",
        (0.0, 0.0, 0.0524),
        (_TURN, 0.0, 0.0, _TURN),
        0.1,
        (0.0, 0.0, 0.05),
        (0.01, 0.01, 0.005),
    ),
    _Body(
        "right_tip",
        "right_finger",
        (0.0, -0.0085, 0.056),
        _UPRIGHT,
        0.01,
        (0.0, 0.0, 0.0),
        (0.01, 0.01, 0.01),
    ),
)


def robot_spec(look: str = "built-in") -> mujoco.MjSpec:
    """Return the robot alone: 7 arm joints, 2 finger joints, 9 actuators, link0 at the origin.

    Args:
        look: what it looks like; physics is the same for every look.

    Raises:
        RobotError: no such look.
    """
    if look not in LOOKS:
        raise RobotError(f"unknown robot look {look!r}{near_match(look, LOOKS)}. Known: {', '.join(LOOKS)}")
    return _prototype(look).copy()


@cache
def _prototype(look: str) -> mujoco.MjSpec:
    """Copying a spec takes a fortieth of the time of building it, and every reset needs one."""
    spec = mujoco.MjSpec()
    spec.modelname = "panda"
    spec.compiler.degree = False
    bodies = _add_bodies(spec)
    _add_arm_joints(spec, bodies)
    _add_fingers(spec, bodies)
    bodies["hand"].add_site(name="grip_site", pos=(0.0, 0.0, 0.097), group=4, rgba=(1.0, 0.0, 0.0, 0.5))
    bodies["flange"].add_camera(
        name="robot0_eye_in_hand", pos=(0.05, 0.0, 0.0), quat=(0.0, _TURN, _TURN, 0.0), fovy=75.0
    )
    add_collision(spec, bodies)
    LOOKS[look](spec, bodies)
    return spec


def set_physics(option: mujoco.MjOption) -> None:
    """Set time step, friction model and air as LIBERO has them.

    The air matters: LIBERO's link inertias are those of bodies much larger than the links, so the drag that
    MuJoCo derives from them is felt. Without it the arm is 20 cm elsewhere after 200 random actions.
    """
    option.timestep = PHYSICS_DT_S
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 20.0
    option.density = 1.2
    option.viscosity = 2e-5


def _add_bodies(spec: mujoco.MjSpec) -> dict[str, mujoco.MjsBody]:
    bodies: dict[str, mujoco.MjsBody] = {"": spec.worldbody}
    for row in _BODIES:
        bodies[row.name] = bodies[row.parent].add_body(
            name=row.name,
            pos=row.pos,
            quat=row.quat,
            mass=row.mass,
            ipos=row.com,
            iquat=row.inertia_quat,
            inertia=row.inertia,
            explicitinertial=True,
        )
    # A hazard that meets a sleeping arm would not be felt in time; link1 is the root of the moving tree.
    bodies["link1"].sleep = mujoco.mjtSleepPolicy.mjSLEEP_NEVER
    return bodies


def _add_arm_joints(spec: mujoco.MjSpec, bodies: Mapping[str, mujoco.MjsBody]) -> None:
    for i, limits in enumerate(JOINT_LIMITS):
        bodies[f"link{i + 1}"].add_joint(
            name=f"joint{i + 1}",
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=(0.0, 0.0, 1.0),
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            range=limits,
            damping=[_DAMPING[i], 0.0, 0.0],
            armature=5.0 / (i + 1),
            frictionloss=0.1,
        )
        motor = spec.add_actuator(name=f"torque{i + 1}", target=f"joint{i + 1}")
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.ctrlrange = (-TORQUE_LIMITS[i], TORQUE_LIMITS[i])
        motor.set_to_motor()


def _add_fingers(spec: mujoco.MjSpec, bodies: Mapping[str, mujoco.MjsBody]) -> None:
    for number, (side, limits) in enumerate((("left", (0.0, 0.04)), ("right", (-0.04, 0.0))), start=1):
        bodies[f"{side}_finger"].add_joint(
            name=f"finger_joint{number}",
            type=mujoco.mjtJoint.mjJNT_SLIDE,
            axis=(0.0, 1.0, 0.0),
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            range=limits,
            damping=[100.0, 0.0, 0.0],
            armature=1.0,
            frictionloss=1.0,
        )
        servo = spec.add_actuator(name=f"finger{number}", target=f"finger_joint{number}")
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.set_to_position(kp=1000.0)
        servo.ctrllimited = servo.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        servo.ctrlrange = limits
        servo.forcerange = (-20.0, 20.0)


@dataclass(frozen=True)
class RobotIds:
    """Where the robot is in a compiled model. All indices are of that model; all ids are plain integers.

    Attributes:
        arm_joints: ids of the seven hinges; `arm_qpos`, `arm_dofs` are their addresses.
        finger_qpos: addresses of the left and right finger; `finger_dofs` likewise in velocity space.
        arm_actuators: seven torque actuators; `finger_actuators` the two position servos.
        grip_site: between the finger tips; its pose is the end-effector pose.
        flange: the body whose orientation LIBERO reports as `robot0_eef_quat`; the grip site is turned by a
            quarter about z against it.
        link_bodies: link name -> body id, base first.
        link_geoms: link name -> ids of its colliding geoms, those of bodies fixed to it included.
        left_pads: ids of the left finger's pad geoms; `right_pads` likewise.
    """

    arm_joints: tuple[int, ...]
    arm_qpos: tuple[int, ...]
    arm_dofs: tuple[int, ...]
    arm_actuators: tuple[int, ...]
    finger_qpos: tuple[int, ...]
    finger_dofs: tuple[int, ...]
    finger_actuators: tuple[int, ...]
    grip_site: int
    flange: int
    link_bodies: Mapping[str, int]
    link_geoms: Mapping[str, tuple[int, ...]]
    left_pads: tuple[int, ...]
    right_pads: tuple[int, ...]

    @property
    def all_geoms(self) -> tuple[int, ...]:
        """Ids of all colliding geoms of the robot."""
        return tuple(geom for geoms in self.link_geoms.values() for geom in geoms)


@dataclass(frozen=True)
class _Names:
    """How one model family names the robot's elements."""

    arm_joints: tuple[str, ...]
    arm_actuators: tuple[str, ...]
    finger_joints: tuple[str, ...]
    finger_actuators: tuple[str, ...]
    grip_site: str
    flange: str
    links: tuple[str, ...]
    tips: tuple[str, ...]


def resolve(model: mujoco.MjModel, prefix: str = "robot/") -> RobotIds:
    """Find the robot of `robot_spec` that was attached under `prefix`.

    Raises:
        RobotError: an element is missing.
    """
    names = _Names(
        arm_joints=tuple(f"{prefix}joint{i}" for i in range(1, 8)),
        arm_actuators=tuple(f"{prefix}torque{i}" for i in range(1, 8)),
        finger_joints=(f"{prefix}finger_joint1", f"{prefix}finger_joint2"),
        finger_actuators=(f"{prefix}finger1", f"{prefix}finger2"),
        grip_site=f"{prefix}grip_site",
        flange=f"{prefix}flange",
        links=tuple(f"{prefix}{name}" for name in LINK_NAMES),
        tips=(f"{prefix}left_tip", f"{prefix}right_tip"),
    )
    return _resolve(model, names)


def resolve_robosuite(model: mujoco.MjModel, number: int = 0) -> RobotIds:
    """Find the Panda of a model that LIBERO or robosuite 1.4 compiled (`robot0_...`, `gripper0_...`).

    Raises:
        RobotError: an element is missing.
    """
    arm, grip = f"robot{number}_", f"gripper{number}_"
    names = _Names(
        arm_joints=tuple(f"{arm}joint{i}" for i in range(1, 8)),
        arm_actuators=tuple(f"{arm}torq_j{i}" for i in range(1, 8)),
        finger_joints=(f"{grip}finger_joint1", f"{grip}finger_joint2"),
        finger_actuators=(f"{grip}gripper_finger_joint1", f"{grip}gripper_finger_joint2"),
        grip_site=f"{grip}grip_site",
        flange=f"{arm}right_hand",
        links=(
            *(f"{arm}link{i}" for i in range(8)),
            f"{grip}right_gripper",
            f"{grip}leftfinger",
            f"{grip}rightfinger",
        ),
        tips=(f"{grip}finger_joint1_tip", f"{grip}finger_joint2_tip"),
    )
    return _resolve(model, names)


def _resolve(model: mujoco.MjModel, names: _Names) -> RobotIds:
    joint = mujoco.mjtObj.mjOBJ_JOINT
    arm = tuple(_id(model, joint, name) for name in names.arm_joints)
    fingers = tuple(_id(model, joint, name) for name in names.finger_joints)
    links = {
        link: _id(model, mujoco.mjtObj.mjOBJ_BODY, name)
        for link, name in zip(LINK_NAMES, names.links, strict=True)
    }
    tips = [_id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names.tips]
    own = {link: {body} for link, body in links.items()}
    own["left_finger"].add(tips[0])
    own["right_finger"].add(tips[1])
    geoms = {link: _colliding_geoms(model, bodies) for link, bodies in own.items()}
    actuator = mujoco.mjtObj.mjOBJ_ACTUATOR
    return RobotIds(
        arm_joints=arm,
        arm_qpos=tuple(int(model.jnt_qposadr[j]) for j in arm),
        arm_dofs=tuple(int(model.jnt_dofadr[j]) for j in arm),
        arm_actuators=tuple(_id(model, actuator, name) for name in names.arm_actuators),
        finger_qpos=tuple(int(model.jnt_qposadr[j]) for j in fingers),
        finger_dofs=tuple(int(model.jnt_dofadr[j]) for j in fingers),
        finger_actuators=tuple(_id(model, actuator, name) for name in names.finger_actuators),
        grip_site=_id(model, mujoco.mjtObj.mjOBJ_SITE, names.grip_site),
        flange=_id(model, mujoco.mjtObj.mjOBJ_BODY, names.flange),
        link_bodies=MappingProxyType(links),
        link_geoms=MappingProxyType(geoms),
        left_pads=_pads(model, geoms["left_finger"]),
        right_pads=_pads(model, geoms["right_finger"]),
    )


def _id(model: mujoco.MjModel, kind: mujoco.mjtObj, name: str) -> int:
    found = mujoco.mj_name2id(model, kind, name)
    if found < 0:
        label = kind.name.removeprefix("mjOBJ_").lower()
        raise RobotError(f"the model has no {label} {name!r}: is the robot attached under this prefix?")
    return found


def _colliding_geoms(model: mujoco.MjModel, bodies: set[int]) -> tuple[int, ...]:
    return tuple(
        geom
        for geom in range(model.ngeom)
        if int(model.geom_bodyid[geom]) in bodies
        and (model.geom_contype[geom] or model.geom_conaffinity[geom])
    )


def _pads(model: mujoco.MjModel, geoms: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(geom for geom in geoms if "pad" in model.geom(geom).name)
