"""Hands that hold things: what a grasp is, and the stored library of them.

Grasps are made by `grasp_synthesis`; the library that comes with the package was, with `grasp_library`.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from functools import lru_cache
from importlib import resources
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from libero_safety.assets.asset import Quat
from libero_safety.assets.geometry import rotation
from libero_safety.assets.hand import Side, embedded_hand
from libero_safety.assets.splits import Numbered
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import FloatArray
from libero_safety.ubddl.spec import Split

Style: TypeAlias = Literal["power", "carried"]
"""`power`: thumb and fingers close around the thing. `carried`: it lies on the flat hand."""

APART_RAD = 0.15
"""No train pair of the same style has every angle of its hand within this (rad, 9 deg) of those of a test pair."""
_FILE = "grasps.npz"
_INTEGERS = frozenset({"fingers", "contacts", "lifts"})


class GraspError(LiberoSafetyError):
    """A thing that nobody holds in the library, or a file that is no library."""


@dataclass(frozen=True)
class GraspQuality:
    """What was measured of a grasp.

    Attributes:
        max_penetration_mm: depth of the deepest vertex of the hand in the object; 0 if none is in it.
        mean_penetration_mm: mean depth of the vertices that are in the object.
        volume_cm3: volume that hand and object share, in voxels of 2.5 mm.
        contact_ratio: share of the hand's vertices, without the forearm, within 3 mm of the object or in it.
        fingers: how many of the five digits touch.
        contacts: how many contacts there are.
        epsilon: least wrench (N per N of normal force at each contact) that the grasp cannot resist; 0: it is no
            force closure.
        wrench_volume: volume of the wrenches that it resists.
        displacement_mm: how far the object's centre of mass moves in the hand in one second of gravity.
        lifts: in how many of the six directions of gravity (along the object's axes) the hand keeps the object.
    """

    max_penetration_mm: float
    mean_penetration_mm: float
    volume_cm3: float
    contact_ratio: float
    fingers: int
    contacts: int
    epsilon: float
    wrench_volume: float
    displacement_mm: float
    lifts: int


@dataclass(frozen=True, eq=False)
class Grasp:
    """A hand that holds a thing.

    Attributes:
        thing: type name in the catalog.
        pose: (48,) of `HandModel.pose`; its first three numbers, the turn of the wrist, are zero.
        shape: (10,) of the hand.
        pos: position (3,) of the wrist in the thing's root frame (m).
        quat: turn (w, x, y, z) of the hand's rest frame in the thing's root frame.
        grip: angles (21,) that the fingers strive for, as in `DOFS` (rad): they press where those are beyond their own.
    """

    thing: str
    side: Side
    style: Style
    split: Split
    pose: FloatArray = field(repr=False)
    shape: FloatArray = field(repr=False)
    pos: FloatArray = field(repr=False)
    quat: Quat = field(repr=False)
    grip: FloatArray = field(repr=False)
    quality: GraspQuality

    @property
    def place(self) -> tuple[FloatArray, FloatArray]:
        """Rotation (3, 3) and position (3,) of the hand's frame in the thing's root frame."""
        return rotation(self.quat), self.pos

    @property
    def forearm(self) -> FloatArray:
        """Unit vector (3,) from the wrist to the elbow, in the thing's root frame."""
        return -rotation(self.quat) @ embedded_hand(self.side).palm_frame[0]

    @property
    def angles(self) -> FloatArray:
        """Angle of each degree of freedom of the hand (rad), in the order of `DOFS`; alike for both sides."""
        return np.array(list(embedded_hand(self.side).dofs_of(self.pose).values()))


def pose_distance(angles: FloatArray, others: FloatArray) -> FloatArray:
    """Return the largest difference (n,) in rad between a hand's angles (d,) and those of each of others (n, d)."""
    return np.abs(others - angles).max(axis=1)


@lru_cache(maxsize=1)
def library() -> tuple[Grasp, ...]:
    """Return all stored grasps, those of one thing next to each other."""
    return read_grasps((resources.files("libero_safety.assets") / "data" / _FILE).read_bytes())


@lru_cache(maxsize=1)
def _by_thing() -> dict[str, tuple[Grasp, ...]]:
    found: dict[str, list[Grasp]] = {}
    for grasp in library():
        found.setdefault(grasp.thing, []).append(grasp)
    return {thing: tuple(grasps) for thing, grasps in found.items()}


def held_things(split: Split | None = None) -> list[str]:
    """Return the type names of what is held in the library, sorted."""
    return sorted({g.thing for g in library() if split is None or g.split == split})


def pairs(thing: str, split: Split | None = None) -> tuple[Grasp, ...]:
    """Return the stored grasps of a type, of one split or of both; a type belongs to one split only.

    Raises:
        GraspError: there is none; the message has near names.
    """
    found = tuple(g for g in _by_thing().get(_stored_name(thing), ()) if split is None or g.split == split)
    if not found:
        known = held_things(split)
        where = "the library" if split is None else f"the {split} split of the library"
        raise GraspError(
            f"no hand holds {thing!r} in {where}{near_match(thing, known)}; it has {len(known)} things. "
            "`synthesise` in libero_safety.assets.grasp_synthesis finds grasps of any asset"
        )
    return found


def _stored_name(thing: str) -> str:
    """Return the name under which a type is stored, whatever form its number has: NAME__7 for NAME_7."""
    numbered = Numbered.parse(thing)
    return thing if numbered is None or thing in _by_thing() else str(numbered)


def simulator() -> str:
    """Return name and version of the simulator here; another version may find other grasps."""
    return f"mujoco {version('mujoco')}"


def write_grasps(path: Path, grasps: Sequence[Grasp]) -> None:
    """Store grasps as plain arrays, single precision, and the simulator that is here as `made_with`."""
    columns: dict[str, Any] = {"made_with": np.array(simulator())}
    columns |= {
        name: np.array([getattr(g, name) for g in grasps]) for name in ("thing", "side", "style", "split")
    }
    for name in ("pose", "shape", "pos", "quat", "grip"):
        columns[name] = np.array([getattr(g, name) for g in grasps], dtype=np.float32)
    columns["quality"] = np.array([astuple(g.quality) for g in grasps], dtype=np.float32)
    np.savez_compressed(path, **columns)


def read_grasps(content: bytes) -> tuple[Grasp, ...]:
    """Return the grasps in a file's content.

    Raises:
        GraspError: the file is no library, or one of another version.
    """
    try:
        with np.load(BytesIO(content), allow_pickle=False) as data:
            columns = {name: data[name] for name in data.files}
        count = len(columns["thing"])
        names = [f.name for f in fields(GraspQuality)]
        if columns["quality"].shape != (count, len(names)):
            raise GraspError(f"a record has {columns['quality'].shape[-1]} measures, not {len(names)}")
        return tuple(_row(columns, i, names) for i in range(count))
    except (KeyError, ValueError, OSError) as problem:
        raise GraspError(f"no library of grasps: {problem}") from problem


def _row(columns: dict[str, Any], i: int, names: Sequence[str]) -> Grasp:
    measures = zip(names, columns["quality"][i].tolist(), strict=True)
    w, x, y, z = columns["quat"][i].tolist()
    return Grasp(
        str(columns["thing"][i]),
        cast(Side, str(columns["side"][i])),
        cast(Style, str(columns["style"][i])),
        cast(Split, str(columns["split"][i])),
        columns["pose"][i].astype(np.float64),
        columns["shape"][i].astype(np.float64),
        columns["pos"][i].astype(np.float64),
        (w, x, y, z),
        columns["grip"][i].astype(np.float64),
        GraspQuality(**{name: round(v) if name in _INTEGERS else v for name, v in measures}),
    )
