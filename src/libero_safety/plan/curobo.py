"""Planning on a GPU by cuRobo v2, whose trajectories are proved by the world before they are passed on.

B. Sundaralingam et al., "cuRobo: Parallelized Collision-Free Robot Motion Generation", ICRA 2023. It is installed
from its repository: what is called so on the Python Package Index is something else.
"""

from typing import Any

import numpy as np

from libero_safety.plan import solids
from libero_safety.plan.check import Query
from libero_safety.plan.extra import need
from libero_safety.plan.problem import Path, PlanFailed, Problem
from libero_safety.plan.solids import Solid
from libero_safety.plan.world import World
from libero_safety.types import FloatArray

NAME = "curobo"

_HOW = "install cuRobo v2 from github.com/NVlabs/curobo; it needs an NVIDIA GPU"
_JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
_UNMOVED = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


class CuroboPlanner:
    """Trajectory optimisation over many seeds, with a graph planner for the hard cases."""

    def __init__(
        self,
        *,
        robot: str = "franka.yml",
        boxes: int = 400,
        meshes: int = 400,
        attempts: int = 5,
        load_spheres: int = 4,
    ) -> None:
        """Load it, and let it compile.

        Args:
            robot: its description of the robot.
            boxes: room for so many boxes in its world.
            meshes: room for so many meshes.
            attempts: how often it tries one goal.
            load_spheres: into how many spheres a load is turned; its description of the robot has room for four.

        Raises:
            MissingExtraError: cuRobo or PyTorch is not installed.
        """
        planner, self._scene, self._types, self._torch = need(
            "curobo.motion_planner", "curobo.scene", "curobo.types", "torch", how=_HOW
        )
        cache = {"cuboid": boxes, "mesh": meshes}
        config = planner.MotionPlannerCfg.create(robot=robot, collision_cache=cache)
        self._planner = planner.MotionPlanner(config)
        self._planner.warmup(enable_graph=True)
        self._attempts, self._load_spheres = attempts, load_spheres

    def close(self) -> None:
        """Give its memory back."""
        self._planner.destroy()

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path, or why there is none; see `Planner`. It keeps no path constraints here."""
        query = Query.of(problem, NAME, free=True)
        if isinstance(query, PlanFailed):
            return query
        self._planner.update_world(self._world(problem.world))
        self._planner.reset_seed()
        self._attach(problem.world)
        try:
            for goal in query.goals:
                rows = self._search(query.start, goal)
                if rows is not None and query.valid.path(rows):
                    return query.found(rows)
                if query.over:
                    return query.failed("no path was found")
        finally:
            self._planner.attachment_manager.detach()
        return PlanFailed("backend", f"no path of {NAME} held in the simulator's own collision check")

    def _search(self, start: FloatArray, goal: FloatArray) -> FloatArray | None:
        result = self._planner.plan_cspace(self._state(goal), self._state(start), max_attempts=self._attempts)
        if result is None or not bool(result.success.any()):
            return None
        plan = result.get_interpolated_plan()
        names = list(plan.joint_names)
        values = np.asarray(plan.position.detach().cpu().numpy(), np.float64).reshape(-1, len(names))
        rows = values[:, [names.index(name) for name in _JOINTS]]
        # It computes in single precision.
        rows[0], rows[-1] = start, goal
        return rows

    def _state(self, joints: FloatArray) -> Any:
        device = self._planner.device_cfg.device
        position = self._torch.tensor(joints[None], device=device, dtype=self._torch.float32)
        return self._types.JointState.from_position(position, joint_names=_JOINTS)

    def _world(self, world: World) -> Any:
        """Return its picture of the world, in the frame of the robot's base: boxes, and meshes as they are."""
        around = solids.surroundings(world)
        boxes = [self._box(f"{i}/{s.name}", s) for i, s in enumerate(around) if s.kind != "mesh"]
        meshes = [self._mesh(f"{i}/{s.name}", s) for i, s in enumerate(around) if s.kind == "mesh"]
        return self._scene.Scene(cuboid=boxes, mesh=meshes)

    def _box(self, name: str, solid: Solid) -> Any:
        return self._scene.Cuboid(name=name, pose=_pose(solid), dims=(2 * solid.half_m).tolist())

    def _mesh(self, name: str, solid: Solid) -> Any:
        return self._scene.Mesh(
            name=name,
            pose=_pose(solid),
            vertices=solid.grown().tolist(),
            faces=solid.faces.ravel().tolist(),
        )

    def _attach(self, world: World) -> None:
        """Turn the load into spheres of its robot, as it is held at `world.home`."""
        load = solids.load(world)
        if load:
            self._planner.attachment_manager.attach(
                self._state(world.home),
                [self._box(f"load/{i}", solid) for i, solid in enumerate(load)],
                num_spheres=self._load_spheres,
                world_objects_pose_offset=self._types.Pose.from_list(_UNMOVED),
            )


def _pose(solid: Solid) -> list[float]:
    return [*solid.pos.tolist(), *solid.quat.tolist()]
