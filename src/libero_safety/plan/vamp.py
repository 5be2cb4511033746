"""Joint-space planning by VAMP, which checks many configurations at once on spheres.

W. Thomason, Z. Kingston, L. E. Kavraki, "Motions in Microseconds via Vectorized Sampling-Based Planning", ICRA 2024.
Its Panda has fixed fingers, so the real ones and the load are attached to it as spheres. Its world is coarser than
ours; whatever it returns is proved by the world before it is passed on. Written for vamp-planner 0.6.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.plan import solids
from libero_safety.plan.check import Query
from libero_safety.plan.extra import need
from libero_safety.plan.problem import Path, PlanFailed, Problem
from libero_safety.plan.solids import Solid
from libero_safety.plan.world import World
from libero_safety.types import FloatArray

NAME = "vamp"
CELL_M = 0.012
"""Half size of the pieces that attached things are cut into, a sphere around each."""
PAD_M = 0.003
"""What its shapes are grown by on top of the margin, so that less of what it returns fails the proof."""


class VampPlanner:
    """RRT-Connect over vectors, then simplification. The robot's base must be level."""

    def __init__(self, *, iterations: int = 100_000, tries: int = 10) -> None:
        """Set how to search.

        Args:
            iterations: after how many a search ends.
            tries: how many searches there are.

        Raises:
            MissingExtraError: VAMP is not installed.
        """
        (self._vamp,) = need("vamp", how="pip install vamp-planner (builds from source; needs GitHub)")
        self._iterations, self._tries = iterations, tries

    def plan(self, problem: Problem) -> Path | PlanFailed:
        """Return a path, or why there is none; see `Planner`. It knows no path constraints."""
        query = Query.of(problem, NAME, free=True)
        if isinstance(query, PlanFailed):
            return query
        start, goals = query.start, query.goals
        around = self._environment(problem.world, [start, *goals])
        panda = self._vamp.panda
        settings, simplify = self._vamp.RRTCSettings(), self._vamp.SimplifySettings()
        settings.max_iterations = settings.max_samples = self._iterations
        sampler = panda.halton()
        sampler.skip(problem.seed % 1000 * 64)
        targets = [goal.tolist() for goal in goals]
        for _ in range(self._tries):
            found = panda.rrtc(start.tolist(), targets, around, settings, sampler)
            if query.over:
                break
            if not found.solved:
                continue
            for path in (panda.simplify(found.path, around, simplify, sampler).path, found.path):
                rows = np.array([np.asarray(path[i], np.float64) for i in range(len(path))])
                # It computes in single precision.
                rows[0] = start
                rows[-1] = goals[int(np.argmin(np.linalg.norm(goals - rows[-1], axis=1)))]
                if all(problem.world.inside_limits(row) for row in rows) and query.valid.path(rows):
                    return query.found(rows)
        return query.failed(f"no path of {NAME} held in the simulator's own collision check")

    def _environment(self, world: World, ends: Sequence[FloatArray]) -> Any:
        """Return its picture of the world, without what its coarser robot touches where ours is free."""
        found = self._vamp.Environment()
        for solid in solids.surroundings(world):
            alone = self._vamp.Environment()
            _add(self._vamp, alone, solid)
            if all(self._vamp.panda.validate(joints.tolist(), alone) for joints in ends):
                _add(self._vamp, found, solid)
        found.attach(self._attachment(world))
        return found

    def _attachment(self, world: World) -> Any:
        """Return fingers and load as spheres in the frame of its end effector."""
        vamp = self._vamp
        tip = np.asarray(vamp.panda.eefk(world.home.tolist()), np.float64)
        link, turn = solids.last_link(world)
        base, level = world.base_pose
        carried = [s for s in solids.links(world)[7] if not s.name.startswith(("robot/link7", "robot/hand"))]
        spheres: list[Any] = []
        for solid in carried:
            centres, radius = _cells(solid)
            inside = level.T @ (link + (centres @ turn.T) - base).T
            local = (tip[:3, :3].T @ (inside - tip[:3, 3:])).T
            spheres += [vamp.Sphere(centre.tolist(), radius) for centre in local]
        attachment = vamp.Attachment(np.eye(4, dtype=np.float32))
        attachment.add_spheres(spheres)
        return attachment


def _add(vamp: Any, environment: Any, solid: Solid) -> None:
    pos = solid.pos.tolist()
    if solid.kind == "sphere":
        environment.add_sphere(vamp.Sphere(pos, float(solid.half_m[0] + PAD_M)))
        return
    euler = Rotation.from_matrix(solid.rot).as_euler("xyz").tolist()
    if solid.kind == "capsule":
        radius = float(solid.size[0] + solid.margin_m + PAD_M)
        environment.add_capsule(vamp.Cylinder(pos, euler, radius, 2 * solid.size[1]))
        return
    environment.add_cuboid(vamp.Cuboid(pos, euler, (solid.half_m + PAD_M).tolist()))


def _cells(solid: Solid) -> tuple[FloatArray, float]:
    """Return centres (n, 3), in the frame of the solid's link, and the radius of spheres that cover its box."""
    half = solid.half_m
    counts = np.maximum(np.ceil(half / CELL_M), 1).astype(int)
    cell = half / counts
    axes = [np.arange(n) * 2 * c - (n - 1) * c for n, c in zip(counts, cell, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return solid.pos + grid @ solid.rot.T, float(np.linalg.norm(cell))
