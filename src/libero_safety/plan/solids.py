"""A world as plain shapes, for planners that bring a collision check of their own.

Lengths in metres. What stands around is in the frame of the robot's base link; what moves is in that of its link.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from libero_safety.plan.world import World
from libero_safety.sim.scene import IntArray
from libero_safety.types import FloatArray

Kind = Literal["box", "sphere", "capsule", "cylinder", "mesh"]

_KINDS: dict[mujoco.mjtGeom, Kind] = {
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}
_PLANE_M = 5.0


@dataclass(frozen=True, eq=False)
class Solid:
    """One shape.

    Attributes:
        name: of the geom; for a mesh with a digest of its vertices and faces, so that another mesh has another name.
        kind: its shape.
        size: box: half sizes; sphere: radius; capsule and cylinder: radius and half length along z.
        pos: (3,) centre.
        rot: (3, 3) rotation.
        margin_m: how far everything is to stay away from it.
        vertices: (n, 3) of a mesh, in its own frame; empty otherwise.
        faces: (k, 3) of a mesh.
    """

    name: str
    kind: Kind
    size: tuple[float, ...]
    pos: FloatArray
    rot: FloatArray
    margin_m: float
    vertices: FloatArray
    faces: IntArray

    @property
    def half_m(self) -> FloatArray:
        """Half sizes (3,) of the box around it, margin included."""
        if self.kind == "mesh":
            half = np.abs(self.vertices).max(axis=0)
        elif self.kind == "box":
            half = np.array(self.size)
        elif self.kind == "sphere":
            half = np.full(3, self.size[0])
        else:
            long = self.size[1] + (self.size[0] if self.kind == "capsule" else 0.0)
            half = np.array([self.size[0], self.size[0], long])
        return half + self.margin_m

    @property
    def quat(self) -> FloatArray:
        """Orientation (w, x, y, z)."""
        out = np.empty(4)
        mujoco.mju_mat2Quat(out, np.ascontiguousarray(self.rot).ravel())
        return out

    def grown(self) -> FloatArray:
        """Return the vertices (n, 3) moved outwards from their middle by the margin."""
        out = self.vertices - self.vertices.mean(axis=0)
        return self.vertices + self.margin_m * out / np.linalg.norm(out, axis=1, keepdims=True).clip(1e-9)


def surroundings(world: World) -> list[Solid]:
    """Return what stands around, each with its margin; moving things at all their times.

    What any part of the robot may touch is left out: only the world itself knows what may touch it.
    """
    found: list[Solid] = []
    base, turn = world.base_pose
    for geom, pos, rot, margin_m in world.obstacles():
        found.append(_solid(world, geom, turn.T @ (pos - base), turn.T @ rot, margin_m))
    return found


def links(world: World) -> list[list[Solid]]:
    """Return the shapes of links 0 to 7; gripper and load go with the last."""
    found: list[list[Solid]] = [[] for _ in range(8)]
    for geom, link, body in world.moving_geoms():
        pos, rot = world.geom_pose(geom)
        origin, turn = world.body_pose(body)
        found[link].append(_solid(world, geom, turn.T @ (pos - origin), turn.T @ rot, 0.0))
    return found


def last_link(world: World) -> tuple[FloatArray, FloatArray]:
    """Position (3,) and rotation (3, 3) of link 7 at `world.home`, world."""
    world.moving_geoms()
    return world.body_pose(world.robot.link_bodies["link7"])


def load(world: World) -> list[Solid]:
    """Return the shapes of what is held as they are at `world.home`, in the frame of the robot's base."""
    moving = world.moving_geoms()
    base, turn = world.base_pose
    found: list[Solid] = []
    for geom, _, _ in moving:
        if geom not in world.robot.all_geoms:
            pos, rot = world.geom_pose(geom)
            found.append(_solid(world, geom, turn.T @ (pos - base), turn.T @ rot, 0.0))
    return found


def _solid(world: World, geom: int, pos: FloatArray, rot: FloatArray, margin_m: float) -> Solid:
    model = world.model
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    size = np.array(model.geom_size[geom])
    name = model.geom(geom).name or f"geom_{geom}"
    none = (np.empty((0, 3)), np.empty((0, 3), np.int32))
    if kind == mujoco.mjtGeom.mjGEOM_PLANE:
        half = np.array([_PLANE_M, _PLANE_M, 0.05])
        return Solid(name, "box", tuple(half.tolist()), pos - rot[:, 2] * 0.05, rot, margin_m, *none)
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        vertices, faces = _mesh(model, int(model.geom_dataid[geom]))
        digest = hashlib.blake2b(vertices.tobytes() + faces.tobytes(), digest_size=8).hexdigest()
        return Solid(f"{name}-{digest}", "mesh", (), pos, rot, margin_m, vertices, faces)
    if kind not in _KINDS:
        half = np.array(model.geom_aabb[geom, 3:])
        return Solid(name, "box", tuple(half.tolist()), pos, rot, margin_m, *none)
    count = {"box": 3, "sphere": 1}.get(_KINDS[kind], 2)
    return Solid(name, _KINDS[kind], tuple(size[:count].tolist()), pos, rot, margin_m, *none)


def _mesh(model: mujoco.MjModel, mesh: int) -> tuple[FloatArray, IntArray]:
    """Vertices and faces of the mesh as the geom carries them."""
    at, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    face, faces = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
    vertices = np.array(model.mesh_vert[at : at + count], np.float64)
    return vertices, np.array(model.mesh_face[face : face + faces], np.int32)
