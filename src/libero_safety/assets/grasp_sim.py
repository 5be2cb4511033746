"""A hand in MuJoCo that closes around an object, and holds it against gravity.

The world is the frame of the wrist at rest, in which palm and forearm are fixed. The fingers turn about the hand's
degrees of freedom, each driven with a limited torque. The object moves freely: through syrup while the fingers close,
so that they pull it into the hand without throwing it, and through air when gravity tries to take it away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from libero_safety.assets.asset import Shape
from libero_safety.assets.hand import DOFS, JOINT_NAMES, PARENTS, HandModel
from libero_safety.assets.hand_shape import hand_capsules
from libero_safety.assets.solid import Solid
from libero_safety.types import FloatArray

DIGITS = ("thumb", "index", "middle", "ring", "little")
SKIN_FRICTION = 0.8
"""Sliding friction of dry skin on household things, the middle of what is measured."""
CLOSE_S, SQUEEZE_S = 0.36, 0.1
HOLD_S, LIFT_S = 1.0, 0.3
"""How long gravity pulls down, and in each of the other five directions."""
SOFT_NM = {"mcp": 0.16, "pip": 0.12, "dip": 0.06, "cmc": 0.2, "ip": 0.08}
"""Largest torque of a joint while the hand closes; a hundredth of what a strong hand has."""
FIRM = 3.0
"""How much firmer the hand holds than it closes."""
_STIFFNESS_NM, _DAMPING_NMS = 1.0, 0.02
_SYRUP_NS_M, _SYRUP_NMS = 60.0, 0.1
_PALM, _FINGER, _THUMB, _OBJECT = 1, 2, 4, 8
"""Kinds that touch each other: the object and all others; the thumb and fingers; the tips and the palm."""
_SIX = np.concatenate([-np.eye(3)[::-1], np.eye(3)])
"""Directions of gravity in the object's frame; the first is down."""
GRAVITY_M_S2 = 9.81
KEPT_M = 0.02
"""An object that moves farther than this in the hand is lost."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """What touches the object: where, which way it is pushed (unit), by which segment; in the object's frame."""

    points: FloatArray = field(repr=False)
    normals: FloatArray = field(repr=False)
    segments: tuple[str, ...]

    @property
    def digits(self) -> frozenset[str]:
        """Which of the five digits touch."""
        return frozenset(s.removesuffix("_tip") for s in self.segments) & frozenset(DIGITS)


@dataclass(frozen=True, eq=False)
class Closed:
    """A hand that has closed: the wrist in the object's frame, the fingers' angles, what they touch.

    Attributes:
        grip: angle (21,) that each motor aims at, with a limited torque: beyond the object, to press on it.
    """

    pos: FloatArray
    rot: FloatArray
    angles: Mapping[str, float] = field(repr=False)
    grip: FloatArray = field(repr=False)
    contacts: Contacts = field(repr=False)
    qpos: FloatArray = field(repr=False)


class HandSim:
    """One hand shape and one object."""

    def __init__(self, solid: Solid, model: HandModel, shape: FloatArray) -> None:
        self._segments: dict[int, str] = {}
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.timestep = 0.002
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 10
        spec.option.gravity = (0.0, 0.0, 0.0)
        _add_object(spec, solid)
        segments = _add_hand(spec, model, shape)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._object = self.model.body("object").id
        names = (self.model.geom(g).name for g in range(self.model.ngeom))
        self._segments = {g: segments[n] for g, n in enumerate(names) if n in segments}
        self._qpos = np.array([self.model.joint(n).qposadr[0] for n in DOFS])
        self._torque = self.model.actuator_forcerange.copy()

    def place(self, pos: FloatArray, rot: FloatArray, angles: Mapping[str, float]) -> float:
        """Put the wrist at a pose in the object's frame with open fingers; return the depth (m) of what is worst."""
        mujoco.mj_resetData(self.model, self.data)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, rot.T.ravel())
        self.data.qpos[:3], self.data.qpos[3:7] = -rot.T @ pos, quat
        self.data.qpos[self._qpos] = [angles[name] for name in DOFS]
        mujoco.mj_fwdPosition(self.model, self.data)
        return -float(self.data.contact.dist.min(initial=0.0))

    def close(self, opened: Mapping[str, float], closed: Mapping[str, float]) -> Closed:
        """Close the fingers from where they are, then squeeze."""
        model, data = self.model, self.data
        model.dof_damping[:6] = np.repeat((_SYRUP_NS_M, _SYRUP_NMS), 3)
        model.opt.gravity[:] = 0.0
        model.actuator_forcerange[:] = self._torque
        start, end = (np.array([a[name] for name in DOFS]) for a in (opened, closed))
        ramp, hold = (round(t / model.opt.timestep) for t in (CLOSE_S, SQUEEZE_S))
        for step in range(ramp + hold):
            share = min(1.0, step / (0.8 * ramp))
            data.ctrl[:] = start + share * (end - start)
            if step >= ramp:
                model.actuator_forcerange[:] = self._torque * (1 + (FIRM - 1) * (step - ramp) / hold)
            mujoco.mj_step(model, data)
        mujoco.mj_fwdPosition(model, data)
        return self._closed()

    def _closed(self) -> Closed:
        """Return the hand and the object as they are."""
        data = self.data
        rot = data.xmat[self._object].reshape(3, 3)
        # Limits of simulated joints give a little.
        angles = {
            name: min(max(angle, dof.low), dof.high)
            for (name, dof), angle in zip(DOFS.items(), data.qpos[self._qpos].tolist(), strict=True)
        }
        at = -rot.T @ data.xpos[self._object]
        return Closed(at, rot.T.copy(), angles, data.ctrl.copy(), self._contacts(), data.qpos.copy())

    def hold(
        self, pos: FloatArray, rot: FloatArray, angles: Mapping[str, float], grip: FloatArray | None = None
    ) -> Closed:
        """Return the hand with the object where it is put, its motors aiming at `grip`, by default at the angles."""
        self.place(pos, rot, angles)
        self.data.ctrl[:] = [angles[name] for name in DOFS] if grip is None else grip
        return self._closed()

    def settle(self, closed: Closed) -> Closed | None:
        """Return where the object comes to rest under gravity; None if it falls."""
        return None if self._fall(closed, _SIX[0], HOLD_S) > KEPT_M else self._closed()

    def displacements(self, closed: Closed, directions: int = 6) -> FloatArray:
        """Return how far (m) the object moves when gravity pulls along each of its six axes: down first, longest.

        Once it is lost, the rest is not tried and infinite.
        """
        moved = np.zeros(directions)
        for number, direction in enumerate(_SIX[:directions]):
            moved[number] = self._fall(closed, direction, LIFT_S if number else HOLD_S)
            if moved[number] > KEPT_M:
                moved[number + 1 :] = np.inf
                break
        return moved

    def _fall(self, closed: Closed, direction: FloatArray, time_s: float) -> float:
        model, data = self.model, self.data
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.ctrl[:] = closed.qpos, closed.grip
        model.dof_damping[:6] = 0.0
        model.actuator_forcerange[:] = self._torque * FIRM
        model.opt.gravity[:] = closed.rot.T @ direction * GRAVITY_M_S2
        mujoco.mj_forward(model, data)
        start = data.xipos[self._object].copy()
        moved = 0.0
        for step in range(round(time_s / model.opt.timestep)):
            mujoco.mj_step(model, data)
            if step % 25 == 24:
                moved = float(np.linalg.norm(data.xipos[self._object] - start))
                if moved > KEPT_M:
                    return moved
        return moved

    def _contacts(self) -> Contacts:
        """Return the contacts with the object, in its frame."""
        data = self.data
        rot, at = data.xmat[self._object].reshape(3, 3), data.xpos[self._object]
        points: list[FloatArray] = []
        normals: list[FloatArray] = []
        segments: list[str] = []
        for contact in data.contact:
            first, second = (int(g) for g in contact.geom)
            hand = first if first in self._segments else second
            if (first in self._segments) == (second in self._segments):
                continue
            push = contact.frame[:3] * (1.0 if hand == first else -1.0)
            points.append(rot.T @ (contact.pos - at))
            normals.append(rot.T @ push)
            segments.append(self._segments[hand])
        shape = (len(points), 3)
        return Contacts(np.array(points).reshape(shape), np.array(normals).reshape(shape), tuple(segments))


def _add_object(spec: mujoco.MjSpec, solid: Solid) -> None:
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint(name="object")
    for number, shape in enumerate(solid.shapes):
        geom = body.add_geom(name=f"object/{number}", pos=shape.pos, quat=shape.quat)
        geom.type = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}")
        if shape.mesh is not None:
            geom.meshname = _add_mesh(spec, shape)
        else:
            geom.size = (*shape.size, 0.0, 0.0)[:3]
        geom.density = shape.density
        _feel(geom, _OBJECT, _PALM | _FINGER | _THUMB)


def _add_mesh(spec: mujoco.MjSpec, shape: Shape) -> str:
    assert shape.mesh is not None
    name = shape.mesh.digest
    if spec.mesh(name) is None:
        vertices, faces = np.ravel(shape.mesh.vertices), np.ravel(shape.mesh.faces)
        mesh = spec.add_mesh(name=name, uservert=vertices, userface=faces)
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    return name


def _add_hand(spec: mujoco.MjSpec, model: HandModel, shape: FloatArray) -> dict[str, str]:
    """Add bodies, hinges, motors and capsules; return the segment of each geom by name."""
    _, rest = model.rest(shape)
    bodies = [spec.worldbody]
    for joint in range(1, len(JOINT_NAMES)):
        parent = PARENTS[joint]
        body = bodies[parent].add_body(name=JOINT_NAMES[joint], pos=rest[joint] - rest[parent])
        bodies.append(body)
        for name, dof in DOFS.items():
            if dof.joint == joint:
                body.add_joint(
                    name=name,
                    axis=model.axes[name],
                    range=(dof.low, dof.high),
                    limited=mujoco.mjtLimited.mjLIMITED_TRUE,
                    damping=[_DAMPING_NMS, 0.0, 0.0],
                    armature=5e-4,
                )
    for name in DOFS:
        torque = SOFT_NM[name.split("_")[1]]
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=_STIFFNESS_NM)
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = (-torque, torque)
    segments: dict[str, str] = {}
    for number, capsule in enumerate(hand_capsules(model, shape)):
        name, segment = f"hand/{number}", capsule.segment
        geom = bodies[capsule.joint].add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_CAPSULE)
        geom.fromto = (*capsule.start, *capsule.end)
        geom.size = (capsule.radius, 0.0, 0.0)
        geom.density = 1050.0
        kind = _PALM if capsule.joint == 0 else _THUMB if segment.startswith("thumb") else _FINGER
        meets = {_PALM: 0, _FINGER: _PALM if segment.endswith("_tip") else 0, _THUMB: _FINGER}[kind]
        _feel(geom, kind, _OBJECT | meets)
        segments[name] = segment
    return segments


def _feel(geom: mujoco.MjsGeom, kind: int, meets: int) -> None:
    geom.contype, geom.conaffinity = kind, meets
    geom.friction = (SKIN_FRICTION, 0.005, 0.0001)
    geom.condim = 4
    geom.solref = (0.004, 1.0)
    geom.solimp = (0.95, 0.99, 0.001, 0.5, 2.0)
