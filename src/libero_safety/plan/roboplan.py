"""Joint-space planning by roboplan: Pinocchio's kinematics and coal's collision check on shapes made from the world.

Whatever it returns is proved by the world before it is passed on.
"""

import math
import tempfile
from pathlib import Path as FilePath
from typing import Any

import mujoco
import numpy as np

from libero_safety.plan import solids
from libero_safety.plan.check import Query
from libero_safety.plan.extra import need
from libero_safety.plan.problem import Path, PlanFailed, Problem
from libero_safety.plan.solids import Solid
from libero_safety.plan.world import World
from libero_safety.types import FloatArray

NAME = "roboplan"

_GROUP = "arm"
_JOINTS = [f"joint{i}" for i in range(1, 8)]


class RoboplanPlanner:
    """RRT-Connect and shortcutting in compiled code."""

    def __init__(self, *, step_rad: float = 0.02, nodes: int = 20000, tries: int = 50) -> None:
        """Set how to search.

        Args:
            step_rad: how far apart the configurations are that are looked at on an edge.
            nodes: after how many a search ends.
            tries: how many searches there are.

        Raises:
            MissingExtraError: roboplan is not installed.
        """
        how = "pip install roboplan"
        self._core, self._rrt = need("roboplan.core", "roboplan.rrt", how=how)
        self._step, self._nodes, self._tries = step_rad, nodes, tries

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path, or why there is none; see `Planner`. It knows no path constraints."""
        query = Query.of(problem, NAME, free=True)
        if isinstance(query, PlanFailed):
            return query
        with tempfile.TemporaryDirectory() as folder:
            scene = self._scene(problem.world, FilePath(folder))
        why, refused = "no path was found", set[int]()
        for number in range(self._tries):
            which = number % len(query.goals)
            try:
                path = self._search(scene, query, query.goals[which], number)
            except RuntimeError as error:
                why, path = f"no path was found ({NAME} says: {error})", None
                refused.add(which)
            if query.over:
                break
            if path is not None and query.valid.path(path):
                return query.found(path)
            if path is not None:
                why = f"no path of {NAME} held in the simulator's own collision check"
            if len(refused) == len(query.goals):
                return PlanFailed("backend", why)
        return query.failed(why)

    def _search(self, scene: Any, query: Query, goal: FloatArray, number: int) -> FloatArray | None:
        options = self._rrt.RRTOptions(
            group_name=_GROUP,
            max_nodes=self._nodes,
            collision_check_step_size=self._step,
            max_planning_time=max(query.left_s, 0.01),
            rrt_connect=True,
        )
        search = self._rrt.RRT(scene, options)
        seed = (query.problem.seed * 10007 + number) % 2**31
        search.setRngSeed(seed)
        ends = [self._core.JointConfiguration(_JOINTS, np.array(q, np.float64)) for q in (query.start, goal)]
        raw = search.plan(*ends)
        shorter = self._core.PathShortcutter(
            scene,
            self._core.PathShortcuttingOptions(group_name=_GROUP, max_step_size=self._step, seed=seed),
        )
        rows = np.array(shorter.shortcut(raw).positions)
        return rows if len(rows) >= 2 else None

    def _scene(self, world: World, folder: FilePath) -> Any:
        """Return the arm among the world's shapes."""
        description = self._core.loadUrdfSceneDescriptionFromXml(urdf(world, folder), [str(folder)])
        scene = self._core.Scene("world", description)
        scene.addGroup(_GROUP, _JOINTS)
        scene.setCollisions([(f"link{i}", f"link{i + 1}") for i in range(7)], False)
        return scene


def urdf(world: World, folder: FilePath) -> str:
    """Return arm, gripper and load as URDF text, and what stands around as a link fixed to the base.

    Meshes go to files in `folder`.
    """
    parts = ['<robot name="arm">', '<link name="around">']
    for number, solid in enumerate(solids.surroundings(world)):
        parts += _collisions(solid, folder / f"around_{number}.stl")
    parts.append("</link>")
    for number, shapes in enumerate(solids.links(world)):
        parts.append(f'<link name="link{number}">')
        for piece, solid in enumerate(shapes):
            parts += _collisions(solid, folder / f"link_{number}_{piece}.stl")
        parts.append("</link>")
    parts.append('<joint name="standing" type="fixed"><parent link="link0"/><child link="around"/></joint>')
    for i, (low, high) in enumerate(world.limits.tolist()):
        body = world.robot.link_bodies[f"link{i + 1}"]
        xyz = _text(world.model.body_pos[body])
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, world.model.body_quat[body])
        parts.append(
            f'<joint name="joint{i + 1}" type="revolute"><parent link="link{i}"/><child link="link{i + 1}"/>'
            f'<origin xyz="{xyz}" rpy="{_rpy(rotation.reshape(3, 3))}"/><axis xyz="0 0 1"/>'
            f'<limit lower="{low!r}" upper="{high!r}" effort="100" velocity="2"/></joint>'
        )
    return "".join([*parts, "</robot>"])


def _collisions(solid: Solid, file: FilePath) -> list[str]:
    """Return a shape, grown by its margin. A capsule is a cylinder with a ball at each end: URDF has none."""
    extra = solid.margin_m
    if solid.kind == "box":
        return [_collision(solid.pos, solid.rot, f'<box size="{_text(2 * solid.half_m)}"/>')]
    if solid.kind == "sphere":
        return [_collision(solid.pos, solid.rot, f'<sphere radius="{solid.size[0] + extra!r}"/>')]
    if solid.kind == "mesh":
        write_stl(file, solid)
        return [_collision(solid.pos, solid.rot, f'<mesh filename="{file}"/>')]
    radius, half = solid.size[0] + extra, solid.size[1] + (extra if solid.kind == "cylinder" else 0.0)
    found = [_collision(solid.pos, solid.rot, f'<cylinder radius="{radius!r}" length="{2 * half!r}"/>')]
    if solid.kind == "capsule":
        ends = (solid.pos - half * solid.rot[:, 2], solid.pos + half * solid.rot[:, 2])
        found += [_collision(end, solid.rot, f'<sphere radius="{radius!r}"/>') for end in ends]
    return found


def _collision(pos: FloatArray, rot: FloatArray, shape: str) -> str:
    return (
        f'<collision><origin xyz="{_text(pos)}" rpy="{_rpy(rot)}"/><geometry>{shape}</geometry></collision>'
    )


def _text(numbers: FloatArray) -> str:
    return " ".join(map(repr, numbers.tolist()))


def _rpy(rot: FloatArray) -> str:
    """Roll, pitch and yaw as URDF has them: rot = Rz(yaw) Ry(pitch) Rx(roll)."""
    flat = math.hypot(rot[2, 1], rot[2, 2])
    pitch = math.atan2(-rot[2, 0], flat)
    if flat < 1e-9:
        return f"0 {pitch!r} {math.atan2(-rot[0, 1], rot[1, 1])!r}"
    return f"{math.atan2(rot[2, 1], rot[2, 2])!r} {pitch!r} {math.atan2(rot[1, 0], rot[0, 0])!r}"


def write_stl(file: FilePath, solid: Solid) -> None:
    """Write a mesh, grown by its margin, as binary STL."""
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    rows = np.zeros(len(solid.faces), record)
    rows["corners"] = solid.grown()[solid.faces]
    file.write_bytes(bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes())
