"""A parametric human hand with the interface of MANO: 48 pose and 10 shape numbers give vertices and joints.

The built-in hand is made from MakeHuman's CC0 body by `scripts/build_hand.py`; a user's own MANO files load as the
same class (`assets.mano`). Frame of a right hand at rest: wrist on the origin, fingers along -x, palm towards -y,
thumb side +z; a left hand is its mirror image in x. Metres.

The layout is that of Romero, Tzionas and Black, "Embodied Hands", SIGGRAPH Asia 2017.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import resources
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import UnknownNameError
from libero_safety.types import FloatArray

Side: TypeAlias = Literal["right", "left"]
DofKind: TypeAlias = Literal["flexion", "abduction", "rotation"]

FINGERS = ("index", "middle", "little", "ring", "thumb")
"""In MANO's order."""
JOINT_NAMES = ("wrist", *(f"{finger}{k}" for finger in FINGERS for k in (1, 2, 3)))
PARENTS = (-1, *(parent for base in range(1, 16, 3) for parent in (0, base, base + 1)))
SEGMENTS = (
    "palm",
    "back",
    "forearm",
    *(f"{finger}{end}" for finger in ("thumb", "index", "middle", "ring", "little") for end in ("", "_tip")),
)
"""The parts of a hand that a violation may name."""
POSE_SIZE, SHAPE_SIZE = 48, 10
SHAPE_LIMIT = 2.0
"""Largest shape coefficient, in standard deviations. The built-in hand is then 0.16 to 0.22 m long."""


class HandError(LiberoSafetyError):
    """Numbers that are no pose or shape of a hand."""


@dataclass(frozen=True)
class Dof:
    """One way in which a joint moves.

    Attributes:
        joint: its number in `JOINT_NAMES`.
        kind: `flexion` bends towards the palm, `abduction` spreads (the middle finger's is to the thumb side),
            `rotation` turns the thumb about itself so that its pad faces the fingers.
        low: least angle (rad); zero is the flat hand.
        high: largest angle (rad).
    """

    joint: int
    kind: DofKind
    low: float
    high: float


def _dofs() -> dict[str, Dof]:
    def dof(joint: str, kind: DofKind, low: float, high: float) -> Dof:
        return Dof(JOINT_NAMES.index(joint), kind, math.radians(low), math.radians(high))

    out: dict[str, Dof] = {}
    for finger in FINGERS[:4]:
        out[f"{finger}_mcp_flexion"] = dof(f"{finger}1", "flexion", -20.0, 90.0)
        out[f"{finger}_mcp_abduction"] = dof(f"{finger}1", "abduction", -20.0, 20.0)
        out[f"{finger}_pip_flexion"] = dof(f"{finger}2", "flexion", 0.0, 100.0)
        out[f"{finger}_dip_flexion"] = dof(f"{finger}3", "flexion", 0.0, 90.0)
    out["thumb_cmc_flexion"] = dof("thumb1", "flexion", -20.0, 33.0)
    out["thumb_cmc_abduction"] = dof("thumb1", "abduction", -44.0, 26.0)
    out["thumb_cmc_rotation"] = dof("thumb1", "rotation", -5.0, 12.0)
    out["thumb_mcp_flexion"] = dof("thumb2", "flexion", 0.0, 50.0)
    out["thumb_ip_flexion"] = dof("thumb3", "flexion", -20.0, 80.0)
    return out


DOFS: dict[str, Dof] = _dofs()
"""Name -> degree of freedom. Of one joint the first is outermost: it turns the axes of those after it.

Ranges: "Joint Motion: Method of Measuring and Recording", American Academy of Orthopaedic Surgeons, 1965, but for
the knuckles' 45 deg of hyperextension, which is passive and here 20 deg; flexion and rotation of the thumb's base:
Cooney et al., J. Bone Joint Surg. 63-A, 1981 (53 and 17 deg in all). The thumb at rest stands 44 deg off the palm.
"""


@dataclass(frozen=True, eq=False)
class PosedHand:
    """A hand in one pose, in the frame of its wrist at rest.

    Attributes:
        vertices: (v, 3) metres.
        joints: (16, 3) positions of the joints; the wrist is on the origin.
        rotations: (16, 3, 3): what turns a vector fixed to the joint's bone from the rest pose into this one.
    """

    vertices: FloatArray = field(repr=False)
    joints: FloatArray = field(repr=False)
    rotations: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class HandModel:
    """A skinned hand. Arrays are not to be written to.

    Attributes:
        vertices: (v, 3) of the average hand, flat (m).
        faces: (f, 3) of vertex numbers, anticlockwise seen from outside.
        weights: (v, 16) how much each joint moves each vertex; rows sum to 1.
        shape_dirs: (v, 3, 10) metres per standard deviation.
        joints: (16, 3) of the average hand (m).
        joint_dirs: (16, 3, 10) metres per standard deviation.
        pose_dirs: (v, 3, 135) corrections per entry of (rotation - identity) of joints 1 to 15, or None.
        nails: (f,) which faces are finger nails.
        mean_pose: (45,) of the fingers, to which poses that are stored relative to it have to be added.
        source: where the numbers are from.
    """

    side: Side
    vertices: FloatArray = field(repr=False)
    faces: NDArray[np.int32] = field(repr=False)
    weights: FloatArray = field(repr=False)
    shape_dirs: FloatArray = field(repr=False)
    joints: FloatArray = field(repr=False)
    joint_dirs: FloatArray = field(repr=False)
    pose_dirs: FloatArray | None = field(repr=False)
    nails: NDArray[np.bool_] = field(repr=False)
    mean_pose: FloatArray = field(repr=False)
    source: str

    def rest(self, shape: ArrayLike | None = None) -> tuple[FloatArray, FloatArray]:
        """Return vertices (v, 3) and joints (16, 3) of the flat hand with a shape, the wrist on the origin."""
        if shape is None:
            return self.vertices - self.joints[0], self.joints - self.joints[0]
        beta = _numbers(shape, SHAPE_SIZE, "shape")
        joints = self.joints + self.joint_dirs @ beta
        return self.vertices + self.shape_dirs @ beta - joints[0], joints - joints[0]

    def pose(self, pose: ArrayLike, shape: ArrayLike | None = None) -> PosedHand:
        """Return the hand in a pose, about 0.5 ms.

        Args:
            pose: (48,) rotation vectors of the 16 joints, each relative to its parent, axes as at rest; the first
                turns the whole hand about the wrist.
            shape: (10,) in standard deviations, by default the average.

        Raises:
            HandError: not so many numbers, or not finite.
        """
        turns = _rotations(_numbers(pose, POSE_SIZE, "pose").reshape(16, 3))
        vertices, rest = self.rest(shape)
        if self.pose_dirs is not None:
            vertices = vertices + self.pose_dirs @ (turns[1:] - np.eye(3)).ravel()
        rotations, joints = turns.copy(), rest.copy()
        for j in range(1, 16):
            parent = PARENTS[j]
            rotations[j] = rotations[parent] @ turns[j]
            joints[j] = joints[parent] + rotations[parent] @ (rest[j] - rest[parent])
        offsets = joints - np.einsum("jab,jb->ja", rotations, rest)
        blend = self.weights @ np.concatenate([rotations.reshape(16, 9), offsets], axis=1)
        turned = np.einsum("vab,vb->va", blend[:, :9].reshape(-1, 3, 3), vertices)
        return PosedHand(turned + blend[:, 9:], joints, rotations)

    def mirrored(self) -> "HandModel":
        """Return the hand of the other side: the mirror image in x."""
        flip = np.array((-1.0, 1.0, 1.0))
        turned = None
        if self.pose_dirs is not None:
            # A mirrored rotation has the signs of its entries changed where one index is x.
            signs = np.tile(np.outer(flip, flip).ravel(), 15)
            turned = self.pose_dirs * flip[:, None] * signs
        return replace(
            self,
            side="left" if self.side == "right" else "right",
            vertices=self.vertices * flip,
            faces=np.ascontiguousarray(self.faces[:, ::-1]),
            shape_dirs=self.shape_dirs * flip[:, None],
            joints=self.joints * flip,
            joint_dirs=self.joint_dirs * flip[:, None],
            pose_dirs=turned,
            mean_pose=mirrored_pose(self.mean_pose),
        )

    @cached_property
    def palm_frame(self) -> FloatArray:
        """Unit vectors (3, 3) at rest: row 0 to the middle knuckle, row 1 out of the palm, row 2 to the thumb."""
        along = _unit(self.joints[4] - self.joints[0])
        across = self.joints[1] - self.joints[7]
        across = _unit(across - along * (along @ across))
        palm = np.cross(across, along) * self._sign
        return np.array([along, palm, across])

    @property
    def _sign(self) -> float:
        return 1.0 if self.side == "right" else -1.0

    @cached_property
    def axes(self) -> dict[str, FloatArray]:
        """Unit vector (3,) at rest about which each degree of freedom turns, by name as in `DOFS`."""
        frames = {dof.joint: self._joint_axes(dof.joint) for dof in DOFS.values()}
        row = {"flexion": 0, "abduction": 1, "rotation": 2}
        return {name: frames[dof.joint][row[dof.kind]] for name, dof in DOFS.items()}

    def _joint_axes(self, joint: int) -> FloatArray:
        """Return the axes (3, 3) of flexion, abduction and rotation of a joint, right-handed and orthogonal."""
        base = joint - (joint - 1) % 3
        _, palm, across = self.palm_frame
        if FINGERS[(joint - 1) // 3] == "thumb":
            # The pad of the thumb faces across the palm, away from its own side.
            first = min(joint, base + 1)
            along, towards, outward = self.joints[first + 1] - self.joints[first], -1.0 * across, 1.0
        else:
            along, towards = self.joints[base + 2] - self.joints[base], palm
            outward = 1.0 if FINGERS[(joint - 1) // 3] in ("index", "middle") else -1.0
        along = _unit(along)
        flexion = _unit(np.cross(along, towards))
        abduction = np.cross(along, flexion) * (self._sign * outward)
        return np.array([flexion, abduction, np.cross(flexion, abduction)])

    def pose_of(self, angles: Mapping[str, float], wrist: ArrayLike = (0.0, 0.0, 0.0)) -> FloatArray:
        """Return the pose (48,) of named angles (rad), the others zero, and a rotation vector of the wrist.

        Raises:
            UnknownNameError: a name that is not in `DOFS`.
        """
        for name in angles:
            if name not in DOFS:
                raise UnknownNameError("degree of freedom", name, DOFS)
        turns = np.tile(np.eye(3), (16, 1, 1))
        for name, dof in DOFS.items():
            if angle := angles.get(name, 0.0):
                turns[dof.joint] = turns[dof.joint] @ _rotations(self.axes[name][None] * angle)[0]
        pose = np.concatenate([_rotation_vector(turn) for turn in turns])
        pose[:3] = wrist
        return pose

    def dofs_of(self, pose: ArrayLike) -> dict[str, float]:
        """Return the angle (rad) of each degree of freedom in a pose; other rotation of a joint is left out."""
        turns = _rotations(_numbers(pose, POSE_SIZE, "pose").reshape(16, 3))
        out: dict[str, float] = {}
        for name, dof in DOFS.items():
            frame = self._joint_axes(dof.joint)
            r = frame @ turns[dof.joint] @ frame.T
            if dof.kind == "flexion":
                out[name] = math.atan2(-r[1, 2], r[2, 2])
            elif dof.kind == "abduction":
                out[name] = math.asin(float(np.clip(r[0, 2], -1.0, 1.0)))
            else:
                out[name] = math.atan2(-r[0, 1], r[0, 0])
        return out

    def clip_pose(self, pose: ArrayLike) -> FloatArray:
        """Return the pose (48,) with every joint within its limits and nothing but its degrees of freedom used."""
        angles = {n: min(max(a, DOFS[n].low), DOFS[n].high) for n, a in self.dofs_of(pose).items()}
        return self.pose_of(angles, np.asarray(pose, dtype=float).ravel()[:3])

    def gesture(self, name: str) -> FloatArray:
        """Return the pose (48,) called `name` in `GESTURES`."""
        if name not in GESTURES:
            raise UnknownNameError("gesture", name, GESTURES)
        return self.pose_of({dof: math.radians(deg) for dof, deg in GESTURES[name].items()})


def mirrored_pose(pose: ArrayLike) -> FloatArray:
    """Return the pose, whole or of the fingers only, of which the other hand is the mirror image of this one."""
    return (np.asarray(pose, dtype=np.float64).reshape(-1, 3) * (1.0, -1.0, -1.0)).ravel()


def clip_shape(shape: ArrayLike) -> FloatArray:
    """Return the shape (10,) with every coefficient within `SHAPE_LIMIT`."""
    return np.clip(_numbers(shape, SHAPE_SIZE, "shape"), -SHAPE_LIMIT, SHAPE_LIMIT)


@lru_cache(maxsize=2)
def embedded_hand(side: Side = "right") -> HandModel:
    """Return the built-in hand."""
    if side == "left":
        return embedded_hand("right").mirrored()
    file = resources.files("libero_safety.assets") / "data" / "hand_right.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
        arrays = {name: data[name] for name in data.files}
    faces = arrays["faces"].astype(np.int32)
    weights = arrays["weights"].astype(np.float64)
    return HandModel(
        "right",
        arrays["vertices"].astype(np.float64),
        faces,
        weights / weights.sum(axis=1, keepdims=True),
        arrays["shape_dirs"].astype(np.float64),
        arrays["joints"].astype(np.float64),
        arrays["joint_dirs"].astype(np.float64),
        None,
        np.unpackbits(arrays["nails"], count=len(faces)).astype(bool),
        np.zeros(45),
        "MakeHuman (CC0-1.0)",
    )


def _fingers(mcp: float, pip: float, dip: float, *names: str) -> dict[str, float]:
    bends = {"mcp": mcp, "pip": pip, "dip": dip}
    return {f"{finger}_{joint}_flexion": deg for finger in names for joint, deg in bends.items()}


def _thumb(flex: float, abduct: float, turn: float, mcp: float, ip: float) -> dict[str, float]:
    names = ("cmc_flexion", "cmc_abduction", "cmc_rotation", "mcp_flexion", "ip_flexion")
    return {f"thumb_{n}": deg for n, deg in zip(names, (flex, abduct, turn, mcp, ip), strict=True)}


_SPREAD = {"index_mcp_abduction": 8.0, "ring_mcp_abduction": 6.0, "little_mcp_abduction": 12.0}
GESTURES: dict[str, dict[str, float]] = {
    "open": {**_SPREAD, **_thumb(-12.0, -10.0, 0.0, 0.0, 0.0)},
    "relaxed": {
        **_fingers(18.0, 28.0, 16.0, "index"),
        **_fingers(24.0, 34.0, 18.0, "middle"),
        **_fingers(28.0, 38.0, 20.0, "ring"),
        **_fingers(30.0, 38.0, 22.0, "little"),
        **_thumb(0.0, -18.0, 4.0, 12.0, 18.0),
    },
    "flat": {**_fingers(2.0, 3.0, 2.0, *FINGERS[:4]), **_thumb(-16.0, -34.0, 0.0, 0.0, 0.0)},
    "pointing": {
        **_fingers(82.0, 92.0, 50.0, "middle"),
        **_fingers(76.0, 92.0, 52.0, "ring"),
        **_fingers(77.0, 81.0, 53.0, "little"),
        **_fingers(4.0, 4.0, 2.0, "index"),
        **_thumb(1.0, 6.0, -5.0, 50.0, 53.0),
    },
    "fist": {
        **_fingers(71.0, 95.0, 46.0, "index"),
        **_fingers(81.0, 95.0, 55.0, "middle"),
        **_fingers(75.0, 93.0, 51.0, "ring"),
        **_fingers(79.0, 80.0, 52.0, "little"),
        **_thumb(1.0, 6.0, -5.0, 50.0, 53.0),
    },
    "grip": {
        **_fingers(48.0, 52.0, 28.0, "index"),
        **_fingers(52.0, 54.0, 28.0, "middle"),
        **_fingers(54.0, 54.0, 28.0, "ring"),
        **_fingers(56.0, 52.0, 28.0, "little"),
        **_thumb(22.0, 8.0, 8.0, 14.0, 22.0),
    },
}
"""Name -> degrees of flexion and so on; what is not named is zero."""


def _numbers(values: ArrayLike, count: int, what: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.shape != (count,) or not np.isfinite(array).all():
        raise HandError(f"the {what} of a hand is {count} finite numbers, not {array.size}: {array[:4]} ...")
    return array


def _unit(vector: ArrayLike) -> FloatArray:
    array = np.asarray(vector, dtype=np.float64)
    return array / np.linalg.norm(array)


def _rotations(vectors: FloatArray) -> FloatArray:
    """Return the matrices (n, 3, 3) of rotation vectors (n, 3)."""
    angle = np.linalg.norm(vectors, axis=1)
    x, y, z = (vectors / np.maximum(angle, 1e-12)[:, None]).T
    zero = np.zeros_like(x)
    k = np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]).transpose(2, 0, 1)
    return np.eye(3) + np.sin(angle)[:, None, None] * k + (1 - np.cos(angle))[:, None, None] * (k @ k)


def _rotation_vector(turn: FloatArray) -> FloatArray:
    """Return the rotation vector of a matrix; angles near 180 degrees do not occur in a hand."""
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        return np.zeros(3)
    return axis / sine * math.atan2(sine, (float(np.trace(turn)) - 1) / 2)
