"""Which two things may come how near to each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.sim.robot import LINK_NAMES, RobotIds
from libero_safety.sim.scene import IntArray, Scene
from libero_safety.types import FloatArray

MARGIN_M = 0.005
"""Clearance that planned motions keep to everything that they may not touch."""
TOUCH_M = -0.003
"""How near things come that may touch: they may overlap by this, but nothing passes through anything."""

GRIPPER = ("link7", "hand", "left_finger", "right_finger")
"""Links against which a held thing does not move."""
NEVER = -np.inf
"""The limit of two that are not looked at."""


class WorldError(LiberoSafetyError):
    """A world that cannot be made: something held that is fixed, or a name that means nothing."""


@dataclass(frozen=True, eq=False)
class Held:
    """A thing in the gripper: pose of its root, position (3,) and quaternion (4,), in the grip site's frame."""

    entity: str
    pos: FloatArray
    quat: FloatArray

    @classmethod
    def now(cls, scene: Scene, data: mujoco.MjData, entity: str) -> "Held":
        """Return the thing as it is with respect to the gripper in `data`."""
        site, body = scene.robot.grip_site, scene.entity(entity).body
        rotation = data.site_xmat[site].reshape(3, 3)
        pos = rotation.T @ (data.xpos[body] - data.site_xpos[site])
        quat, inverse, result = np.empty(4), np.empty(4), np.empty(4)
        mujoco.mju_mat2Quat(quat, data.site_xmat[site])
        mujoco.mju_negQuat(inverse, quat)
        mujoco.mju_mulQuat(result, inverse, data.xquat[body])
        return cls(entity, pos, result)


@dataclass(frozen=True)
class Allow:
    """Two things that may come nearer than the margin.

    Attributes:
        first: `robot`, `robot.<link or group>`, `held`, `workspace`, `entity` or `entity.part`.
        second: likewise.
        limit_m: smallest distance that is still free; negative when they may overlap by so much.
    """

    first: str
    second: str
    limit_m: float = TOUCH_M


class Bound(NamedTuple):
    """Two sets of geoms and the smallest distance between them (m) that is still free."""

    first: IntArray
    second: IntArray
    limit_m: float


class Load(NamedTuple):
    """What is held: address of its free joint in qpos, its geoms, its pose in the grip site's frame."""

    qpos: int
    geoms: IntArray
    pos: FloatArray
    quat: FloatArray


def _geoms(scene: Scene, load: Load | None, ref: str) -> IntArray:
    if ref != "held":
        return scene.geoms(ref)
    return load.geoms if load is not None else np.empty(0, np.int32)


def rule_bounds(scene: Scene, load: Load | None, margin_m: float) -> list[Bound]:
    """Return what the scene's clearance rules ask for, with the margin on top; the strictest last."""
    bounds: list[Bound] = []
    for rule in scene.scenario.constraints:
        if rule.word == "MinClearance" and rule.limit is not None:
            first, second = (_geoms(scene, load, ref) for ref in rule.args)
            bounds.append(Bound(first, second, rule.limit + margin_m))
    return sorted(bounds, key=lambda bound: bound.limit_m)


def allowed_bounds(scene: Scene, load: Load | None, allow: Sequence[Allow]) -> list[Bound]:
    """Return the bounds that allowances stand for.

    Raises:
        WorldError: one is about what is held, but nothing is.
        SceneError: a name that is not in the scene.
    """
    for pair in allow:
        if "held" in (pair.first, pair.second) and load is None:
            raise WorldError(f"{scene.scenario.name}: {pair} is about what is held, but nothing is")
    return [Bound(_geoms(scene, load, p.first), _geoms(scene, load, p.second), p.limit_m) for p in allow]


def limit_table(
    model: mujoco.MjModel,
    robot: RobotIds,
    row_of: IntArray,
    loads: IntArray,
    margin_m: float,
    bounds: Sequence[Bound],
) -> FloatArray:
    """Return the smallest free distance (m) of each moving geom (row) to every geom (column).

    Args:
        model: the model.
        robot: where the robot is in it.
        row_of: (ngeom,) row of each moving geom, -1 for the others.
        loads: geoms of what is held.
        margin_m: of pairs with no other limit; the robot's own links and its load may come as near as they like.
        bounds: other limits.
    """
    table = np.full((int(row_of.max()) + 1, model.ngeom), NEVER)
    table[:, (model.geom_contype | model.geom_conaffinity) != 0] = margin_m
    links = {link: np.array(geoms, np.int32) for link, geoms in robot.link_geoms.items()}
    gripper, arm = np.concatenate([links[link] for link in GRIPPER]), np.array(robot.all_geoms, np.int32)
    ruled = [
        *bounds,
        Bound(arm, arm, 0.0),
        Bound(arm, loads, 0.0),
        Bound(gripper, loads, NEVER),
        Bound(loads, loads, NEVER),
        Bound(links["left_finger"], links["right_finger"], NEVER),
    ]
    for bound in ruled:
        for a, b in ((bound.first, bound.second), (bound.second, bound.first)):
            rows = row_of[a]
            table[np.ix_(rows[rows >= 0], b)] = bound.limit_m
    table[np.ix_(row_of[links["link0"]], row_of < 0)] = NEVER
    return table


def keep_pairs(model: mujoco.MjModel, robot: RobotIds, moving: IntArray, limits: FloatArray) -> None:
    """Leave in a model only the pairs that can matter, found at the distance that they need.

    Args:
        model: the model; it is changed.
        robot: where the robot is in it.
        moving: (m,) geoms of arm, gripper and load.
        limits: (m, ngeom) see `limit_table`.
    """
    model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    solid = (model.geom_contype | model.geom_conaffinity) != 0
    model.geom_contype[:], model.geom_conaffinity[:] = np.where(solid, 1, 0), 0
    model.geom_contype[moving] = 0
    # Bit 0: what stands around; bit 1: the arm. Gripper and load, and the two fingers, do not see each other.
    model.geom_conaffinity[moving] = 3
    for link in set(LINK_NAMES) - set(GRIPPER):
        model.geom_contype[list(robot.link_geoms[link])] = 2
    model.geom_margin[:] = np.maximum(limits.max(axis=0), 0.0)
    model.geom_margin[moving], model.geom_gap[:] = 0.0, 0.0
    for body in range(model.nbody):
        at, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
        own = slice(at, at + count) if count else slice(0, 0)
        model.body_contype[body] = np.bitwise_or.reduce(model.geom_contype[own], initial=0)
        model.body_conaffinity[body] = np.bitwise_or.reduce(model.geom_conaffinity[own], initial=0)
        model.body_margin[body] = model.geom_margin[own].max(initial=0.0)


def geom_names(scene: Scene) -> dict[int, str]:
    """Call geoms as rules do: `robot.hand`, `can_1`, `mug_1.handle`."""
    names = {geom: f"robot.{link}" for geom, link in scene.link_of_geom.items()}
    for entity in scene.entities.values():
        for part, geoms in entity.parts.items():
            label = f"{entity.name}.{part}" if len(entity.parts) > 1 else entity.name
            names.update({int(geom): label for geom in geoms})
    return names
