"""Joint-space planning by roboplan: Pinocchio's kinematics and coal's collision check on shapes made from the world.

Whatever it returns is proved by the world before it is passed on.
"""

import math
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path as FilePath
from typing import Any

import mujoco
import numpy as np

from libero_safety.plan import solids
from libero_safety.plan.check import Deadline, Validity, usable_goals
from libero_safety.plan.extra import need
from libero_safety.plan.problem import Path, PlanFailed, Problem
from libero_safety.plan.solids import Solid
from libero_safety.plan.world import World
from libero_safety.types import FloatArray

NAME = "roboplan"

_GROUP = "arm"
_JOINTS = [f"joint{i}" for i in range(1, 8)]
_GREY = np.array([0.5, 0.5, 0.5, 1.0])


class RoboplanPlanner:
    """RRT-Connect and shortcutting in compiled code."""

    def __init__(self, *, step_rad: float = 0.02, nodes: int = 20000) -> None:
        """Set how to search.

        Args:
            step_rad: how far apart the configurations are that are looked at on an edge.
            nodes: after how many a search ends.

        Raises:
            MissingExtraError: roboplan is not installed.
        """
        how = "pip install roboplan"
        self._core, self._rrt = need("roboplan.core", "roboplan.rrt", how=how)
        self._step, self._nodes = step_rad, nodes

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path, or why there is none; see `Planner`. It knows no path constraints."""
        deadline, valid = Deadline(problem.budget_s), Validity(problem)
        if problem.constraint is not None:
            return PlanFailed("constraint", f"{NAME} cannot keep a {type(problem.constraint).__name__} path")
        goals = usable_goals(problem, valid)
        if isinstance(goals, PlanFailed):
            return goals
        with tempfile.TemporaryDirectory() as folder:
            scene = self._scene(problem.world, FilePath(folder))
        number = 0
        why = "no path was found"
        while not deadline.over:
            goal = goals[number % len(goals)]
            try:
                path = self._search(scene, problem, goal, deadline, number)
            except RuntimeError as error:
                why = f"{NAME} says: {error}"
                path = None
            if path is not None:
                if valid.path(path):
                    return Path(path, NAME, deadline.spent_s)
                why = f"no path of {NAME} held in the simulator's own collision check"
            number += 1
        return deadline.failed(why)

    def _search(
        self, scene: Any, problem: Problem, goal: FloatArray, deadline: Deadline, number: int
    ) -> FloatArray | None:
        options = self._rrt.RRTOptions(
            group_name=_GROUP,
            max_nodes=self._nodes,
            collision_check_step_size=self._step,
            max_planning_time=max(deadline.budget_s - deadline.spent_s, 0.01),
            rrt_connect=True,
        )
        search = self._rrt.RRT(scene, options)
        seed = (problem.seed * 10007 + number) % 2**31
        search.setRngSeed(seed)
        ends = [
            self._core.JointConfiguration(_JOINTS, np.array(q, np.float64)) for q in (problem.start, goal)
        ]
        raw = search.plan(*ends)
        shorter = self._core.PathShortcutter(
            scene,
            self._core.PathShortcuttingOptions(group_name=_GROUP, max_step_size=self._step, seed=seed),
        )
        rows = np.array(shorter.shortcut(raw).positions)
        return rows if len(rows) >= 2 else None

    def _scene(self, world: World, folder: FilePath) -> Any:
        """Return the arm as a URDF of primitives among the world's shapes."""
        core = self._core
        arm = solids.links(world)
        description = core.loadUrdfSceneDescriptionFromXml(urdf(world, arm, folder), [str(folder)])
        scene = core.Scene("world", description)
        scene.addGroup(_GROUP, _JOINTS)
        for i in range(7):
            scene.setCollisions(f"link{i}", f"link{i + 1}", False)
        around = [
            (f"{number}/{solid.name}", solid) for number, solid in enumerate(solids.surroundings(world))
        ]
        for name, solid in around:
            self._add(scene, name, solid, folder)
        pairs = list(combinations([name for name, _ in around], 2))
        if pairs:
            scene.setCollisions(pairs, False)
        return scene

    def _add(self, scene: Any, name: str, solid: Solid, folder: FilePath) -> None:
        core = self._core
        pose = np.eye(4, order="F")
        pose[:3, :3], pose[:3, 3] = solid.rot, solid.pos
        if solid.kind == "sphere":
            scene.addSphereGeometry(name, "link0", core.Sphere(solid.half_m[0]), pose, _GREY)
        elif solid.kind == "cylinder":
            x, _, z = solid.half_m.tolist()
            scene.addCylinderGeometry(name, "link0", core.Cylinder(x, 2 * z), pose, _GREY)
        elif solid.kind == "mesh":
            file = folder / f"{solid.name.replace('/', '_')}.stl"
            write_stl(file, solid, grown=True)
            scene.addMeshGeometry(name, "link0", core.Mesh(str(file)), pose, _GREY)
        else:
            scene.addBoxGeometry(name, "link0", core.Box(*(2 * solid.half_m).tolist()), pose, _GREY)


def urdf(world: World, arm: Sequence[Sequence[Solid]], folder: FilePath) -> str:
    """Return the arm, gripper and load as URDF text; meshes go to files in `folder`."""
    parts = ['<robot name="arm">']
    for number, shapes in enumerate(arm):
        parts.append(f'<link name="link{number}">')
        for solid in shapes:
            parts += _collisions(solid, folder)
        parts.append("</link>")
    for i, (low, high) in enumerate(world.limits.tolist()):
        body = world.robot.link_bodies[f"link{i + 1}"]
        xyz = " ".join(map(repr, world.model.body_pos[body].tolist()))
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, world.model.body_quat[body])
        rpy = _rpy(rotation.reshape(3, 3))
        parts.append(
            f'<joint name="joint{i + 1}" type="revolute"><parent link="link{i}"/><child link="link{i + 1}"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/>'
            f'<limit lower="{low!r}" upper="{high!r}" effort="100" velocity="2"/></joint>'
        )
    return "".join([*parts, "</robot>"])


def _collisions(solid: Solid, folder: FilePath) -> list[str]:
    """A capsule is a cylinder with a ball at each end: URDF has none."""
    if solid.kind == "box":
        x, y, z = (2 * np.array(solid.size)).tolist()
        return [_collision(solid.pos, solid.rot, f'<box size="{x!r} {y!r} {z!r}"/>')]
    if solid.kind == "sphere":
        return [_collision(solid.pos, solid.rot, f'<sphere radius="{solid.size[0]!r}"/>')]
    if solid.kind == "mesh":
        file = folder / f"{solid.name.replace('/', '_')}.stl"
        write_stl(file, solid)
        return [_collision(solid.pos, solid.rot, f'<mesh filename="{file}"/>')]
    radius, half = solid.size
    found = [_collision(solid.pos, solid.rot, f'<cylinder radius="{radius!r}" length="{2 * half!r}"/>')]
    if solid.kind == "capsule":
        ends = (solid.pos - half * solid.rot[:, 2], solid.pos + half * solid.rot[:, 2])
        found += [_collision(end, solid.rot, f'<sphere radius="{radius!r}"/>') for end in ends]
    return found


def _collision(pos: FloatArray, rot: FloatArray, shape: str) -> str:
    xyz = " ".join(map(repr, pos.tolist()))
    return f'<collision><origin xyz="{xyz}" rpy="{_rpy(rot)}"/><geometry>{shape}</geometry></collision>'


def _rpy(rot: FloatArray) -> str:
    """Roll, pitch and yaw as URDF has them: rot = Rz(yaw) Ry(pitch) Rx(roll)."""
    flat = math.hypot(rot[2, 1], rot[2, 2])
    pitch = math.atan2(-rot[2, 0], flat)
    if flat < 1e-9:
        return f"0 {pitch!r} {math.atan2(-rot[0, 1], rot[1, 1])!r}"
    return f"{math.atan2(rot[2, 1], rot[2, 2])!r} {pitch!r} {math.atan2(rot[1, 0], rot[0, 0])!r}"


def write_stl(file: FilePath, solid: Solid, *, grown: bool = False) -> None:
    """Write a mesh as binary STL; `grown` moves its vertices outwards from the middle by the margin."""
    vertices = solid.grown() if grown else solid.vertices
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    rows = np.zeros(len(solid.faces), record)
    rows["corners"] = vertices[solid.faces]
    file.write_bytes(bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes())
