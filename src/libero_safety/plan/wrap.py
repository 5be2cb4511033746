"""Makes the capsules and boxes that `advance` measures with from a compiled model."""

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from libero_safety.plan.advance import Wrapping
from libero_safety.plan.bounds import WorldError
from libero_safety.sim.robot import RobotIds
from libero_safety.sim.scene import IntArray
from libero_safety.types import FloatArray

_HUGE_M = 100.0
_FRAMES = 8


class Elsewhere(NamedTuple):
    """Geoms that are elsewhere at another time: what is at x now is at turn @ x + shift then.

    Attributes:
        time: number of that time.
        geoms: (n,) ids.
        turn: (3, 3).
        shift: (3,) in metres.
    """

    time: int
    geoms: IntArray
    turn: FloatArray
    shift: FloatArray

    @classmethod
    def of(cls, time: int, geoms: IntArray, here: FloatArray, there: FloatArray) -> "Elsewhere":
        """Return what takes a body from a pose (7,), position and quaternion, to another."""
        turn = _matrix(there[3:]) @ _matrix(here[3:]).T
        return cls(time, geoms, turn, there[:3] - turn @ here[:3])

    def pose(self, pos: FloatArray, rot: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return where a pose, or each of several positions (n, 3) and rotations (n, 3, 3), is then."""
        return pos @ self.turn.T + self.shift, self.turn @ rot


def wrap(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    robot: RobotIds,
    moving: IntArray,
    limits: FloatArray,
    elsewhere: Sequence[Elsewhere] = (),
) -> Wrapping:
    """Wrap everything as it stands in `data`.

    Args:
        model: the world's model.
        data: kinematics must be up to date.
        robot: where the robot is.
        moving: (m,) geoms of arm, gripper and load.
        limits: (m, ngeom) smallest free distances, -inf where any will do.
        elsewhere: what is elsewhere at other times.

    Raises:
        WorldError: an arm joint is not about the z axis of its link.
    """
    bodies = [robot.link_bodies[f"link{i}"] for i in range(_FRAMES)]
    joints = list(robot.arm_joints)
    if np.abs(model.jnt_axis[joints] - (0, 0, 1)).max() > 1e-9 or np.abs(model.jnt_pos[joints]).max() > 1e-9:
        raise WorldError("every arm joint must turn about the z axis through the origin of its link")
    frame_of = {geom: min(i, 7) for i, geoms in enumerate(robot.link_geoms.values()) for geom in geoms}
    frames = np.array([frame_of.get(int(g), 7) for g in moving], np.int32)
    order = np.argsort(frames, kind="stable")
    frames = frames[order]
    start, end, radius = _capsules(model, data, moving[order], [bodies[f] for f in frames])
    first = np.searchsorted(frames, np.arange(_FRAMES + 1)).astype(np.int32)
    ball, ball_radius = _balls(first, start, end, radius)
    offsets = np.array(model.body_pos[bodies[1:]])
    places = np.concatenate([data.xpos[bodies[:1]], offsets])
    turns = np.array([data.xmat[bodies[0]], *(_matrix(quat).ravel() for quat in model.body_quat[bodies[1:]])])
    table = limits[order]
    fixed = np.setdiff1d(np.flatnonzero(table.max(axis=0) > -np.inf), moving).astype(np.int32)
    boxes, ids, place, begins = _sorted(model, *_boxes(model, data, fixed, elsewhere))
    widest = np.array([table[first[f] : first[f + 1]][:, ids].max(axis=0, initial=-np.inf) for f in range(8)])
    return Wrapping(
        links=np.hstack([places, turns, ball, ball_radius[:, None]]),
        capsules=np.hstack([start, end, radius[:, None]]),
        first=first,
        reach=_reach(offsets, frames, start, end, radius),
        boxes=boxes,
        place=place,
        clusters=_clusters(begins, boxes),
        cluster_first=np.append(begins, len(ids)).astype(np.int32),
        limits=np.ascontiguousarray(table[:, ids]),
        widest=widest,
        cluster_widest=np.maximum.reduceat(widest, begins, axis=1) if len(begins) else np.empty((8, 0)),
        own=_own(model, moving[order], frames, table),
    )


def _capsules(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: IntArray, bodies: Sequence[int]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends (m, 3) in the frame of a body each, and radii (m,), of capsules that hold the geoms."""
    ends, radii = np.empty((2, len(geoms), 3)), np.empty(len(geoms))
    for i, (geom, body) in enumerate(zip(geoms.tolist(), bodies, strict=True)):
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        along = np.zeros(3)
        kind = mujoco.mjtGeom(int(model.geom_type[geom]))
        if kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
            along[2], radii[i] = model.geom_size[geom, 1], model.geom_size[geom, 0]
        elif kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            radii[i] = model.geom_size[geom, 0]
        else:
            longest = int(np.argmax(half))
            along[longest] = half[longest]
            radii[i] = np.linalg.norm(np.delete(half, longest))
        frame = data.xmat[body].reshape(3, 3)
        turn = data.geom_xmat[geom].reshape(3, 3)
        for side, sign in enumerate((-1.0, 1.0)):
            world = data.geom_xpos[geom] + turn @ (centre + sign * along)
            ends[side, i] = frame.T @ (world - data.xpos[body])
    return ends[0], ends[1], radii


def _balls(
    first: IntArray, start: FloatArray, end: FloatArray, radius: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """One ball around the capsules of each frame."""
    centres, radii = np.zeros((_FRAMES, 3)), np.zeros(_FRAMES)
    for f in range(_FRAMES):
        own = slice(int(first[f]), int(first[f + 1]))
        ends = np.concatenate([start[own], end[own]])
        if len(ends):
            thick = np.concatenate([radius[own], radius[own]])
            low, high = (ends - thick[:, None]).min(axis=0), (ends + thick[:, None]).max(axis=0)
            centres[f] = (low + high) / 2
            radii[f] = (np.linalg.norm(ends - centres[f], axis=1) + thick).max()
    return centres, radii


def _reach(
    offsets: FloatArray, frames: IntArray, start: FloatArray, end: FloatArray, radius: FloatArray
) -> FloatArray:
    """How far the points of each capsule are from each joint's axis at most: the links laid out in a line.

    What lies along an axis does not count where it is fixed to that joint's own link.
    """
    out = np.zeros((7, len(frames)))
    lengths, flat = np.linalg.norm(offsets, axis=1), np.linalg.norm(offsets[:, :2], axis=1)
    own_flat = np.maximum(np.linalg.norm(start[:, :2], axis=1), np.linalg.norm(end[:, :2], axis=1))
    own_full = np.maximum(np.linalg.norm(start, axis=1), np.linalg.norm(end, axis=1))
    for i in range(7):
        for m, frame in enumerate(frames.tolist()):
            if frame == i + 1:
                out[i, m] = own_flat[m] + radius[m]
            elif frame > i + 1:
                out[i, m] = flat[i + 1] + lengths[i + 2 : frame].sum() + own_full[m] + radius[m]
    return out


def _boxes(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    fixed: IntArray,
    elsewhere: Sequence[Elsewhere],
) -> tuple[FloatArray, IntArray, IntArray]:
    """Rows (n, 16) of `Wrapping.boxes`, their geoms (n,), and the numbers of their times (n,)."""
    moved = [other._replace(geoms=other.geoms[np.isin(other.geoms, fixed)]) for other in elsewhere]
    ids = np.concatenate([fixed, *(other.geoms for other in moved)]).astype(np.int32)
    pos, rot = np.array(data.geom_xpos[ids]), np.array(data.geom_xmat[ids]).reshape(-1, 3, 3)
    place, at = np.zeros(len(ids), np.int32), len(fixed)
    for other in moved:
        own = slice(at, at + len(other.geoms))
        pos[own], rot[own] = other.pose(pos[own], rot[own])
        place[own] = other.time
        at += len(other.geoms)
    centre, half = np.array(model.geom_aabb[ids, :3]), np.array(model.geom_aabb[ids, 3:])
    planes = model.geom_type[ids] == int(mujoco.mjtGeom.mjGEOM_PLANE)
    centre[planes], half[planes] = (0.0, 0.0, -_HUGE_M), _HUGE_M
    world = pos + np.einsum("nij,nj->ni", rot, centre)
    size = np.linalg.norm(half, axis=1)
    return np.hstack([world, rot.reshape(-1, 9), half, size[:, None]]), ids, place


def _sorted(
    model: mujoco.MjModel, boxes: FloatArray, ids: IntArray, place: IntArray
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return the same with the boxes of one body at one time together, and where each of these runs begins."""
    # What is fixed to the world is not one thing.
    body = np.where(model.geom_bodyid[ids] > 0, model.geom_bodyid[ids], -1 - np.arange(len(ids)))
    order = np.lexsort((body, place))
    boxes, ids, place, body = boxes[order], ids[order], place[order], body[order]
    begins = np.flatnonzero(np.diff(place, prepend=-1) | np.diff(body, prepend=0)).astype(np.int32)
    return boxes, ids, place, begins


def _clusters(begins: IntArray, boxes: FloatArray) -> FloatArray:
    """Centre and radius (k, 4) of a ball around each run of boxes."""
    found = np.empty((len(begins), 4))
    for k, run in enumerate(np.split(boxes, begins[1:])[: len(begins)]):
        centre, size = run[:, :3], run[:, 15]
        low, high = (centre - size[:, None]).min(axis=0), (centre + size[:, None]).max(axis=0)
        found[k, :3] = (low + high) / 2
        found[k, 3] = (np.linalg.norm(centre - found[k, :3], axis=1) + size).max()
    return found


def _own(model: mujoco.MjModel, geoms: IntArray, frames: IntArray, limits: FloatArray) -> FloatArray:
    """Smallest free distances among moving geoms, -inf for the pairs that the simulator leaves out."""
    bodies = model.geom_bodyid[geoms]
    weld = model.body_weldid[bodies]
    parent = model.body_weldid[model.body_parentid[weld]]
    related = (weld[:, None] == weld) | (weld[:, None] == parent) & (weld[:, None] > 0)
    related |= related.T
    pairs = (bodies[:, None] << 16) + bodies
    related |= np.isin(pairs, model.exclude_signature) | np.isin(pairs.T, model.exclude_signature)
    out = np.array(limits[:, geoms])
    out[related | (frames[:, None] >= frames)] = -np.inf
    return out


def _matrix(quat: FloatArray) -> FloatArray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)
