"""Goal words and measures as functions of a scene, in two tables; formulas compiled once per scene.

All names are resolved when a formula is compiled: a goal that names something that is not there is an error
before the first step, never a silent False.
"""

from collections.abc import Callable
from typing import TypeAlias

import mujoco
import numpy as np

from libero_safety.sim import contact
from libero_safety.sim.scene import EntityIds, IntArray, Scene, SceneError, joints_of
from libero_safety.types import FloatArray, Zone
from libero_safety.ubddl import spec

Check: TypeAlias = Callable[[mujoco.MjData], bool]
Gauge: TypeAlias = Callable[[mujoco.MjData], float]

SETTLED_M_S, SETTLED_RAD_S = 0.02, 0.2
"""Slower than these counts as settled."""
UP_M = 0.05
UPRIGHT_RAD = float(np.deg2rad(15.0))
SUPPORT_TOLERANCE_M = 0.01
"""How far below the bottom of a zone the lowest point of a thing may be and still rest on it."""
OPPOSED_COS = -0.3
"""Two fingers grasp when the directions in which they press differ by more than about 107 degrees."""


def center(data: mujoco.MjData, entity: EntityIds) -> FloatArray:
    """Centre of mass of an entity's whole subtree (m, world)."""
    return np.array(data.subtree_com[entity.body])


def height(scene: Scene, data: mujoco.MjData, geoms: IntArray) -> float:
    """Lowest point of the bounding boxes of `geoms` above the workspace surface (m)."""
    boxes = scene.model.geom_aabb[geoms]
    rotation = data.geom_xmat[geoms].reshape(-1, 3, 3)
    middle = data.geom_xpos[geoms, 2] + np.einsum("ij,ij->i", rotation[:, 2, :], boxes[:, :3])
    reach = np.einsum("ij,ij->i", np.abs(rotation[:, 2, :]), boxes[:, 3:])
    return float(np.min(middle - reach) - scene.workspace_pos[2])


def tilt(data: mujoco.MjData, body: int) -> float:
    """Angle between the body's z axis and the vertical (rad), whatever its yaw."""
    return float(np.arccos(np.clip(data.xmat[body, 8], -1.0, 1.0)))


def velocity(scene: Scene, data: mujoco.MjData, entity: EntityIds) -> tuple[float, float]:
    """Speed of the root body's centre of mass (m/s) and how fast the body turns (rad/s)."""
    both = np.zeros(6)
    mujoco.mj_objectVelocity(scene.model, data, mujoco.mjtObj.mjOBJ_BODY, entity.body, both, 0)
    return float(np.linalg.norm(both[3:])), float(np.linalg.norm(both[:3]))


def zone_pose(data: mujoco.MjData, entity: EntityIds, zone: Zone) -> tuple[FloatArray, FloatArray]:
    """Centre (m, world) and rotation (3, 3) of a zone."""
    body = entity.bodies.get(zone.link, entity.body)
    rotation = data.xmat[body].reshape(3, 3)
    return data.xpos[body] + rotation @ np.array(zone.pos), rotation


def in_zone(data: mujoco.MjData, entity: EntityIds, zone: Zone, point: FloatArray) -> FloatArray:
    """Where a world point is in a zone's own axes, relative to its centre (m)."""
    origin, rotation = zone_pose(data, entity, zone)
    return rotation.T @ (point - origin)


def on(scene: Scene, thing: str, target: str) -> Check:
    """Supported by the target (contact) and above it; for a zone or region, within its outline."""
    entity = scene.entity(thing)
    name = target.partition(".")[0]
    base = scene.entity(name)
    zone, region = scene.zone(target), scene.region(target)
    if "." in target and zone is None and region is None:
        zones = [f"{name}.{z.name}" for z in base.asset.zones] if base.asset else []
        known = zones + [r.full_name for r in scene.scenario.regions if r.target == name]
        raise SceneError(
            f"{scene.scenario.name}: {target!r} is nothing to be on. Known: {', '.join(known) or 'none'}"
        )
    model = scene.model
    reach = float(np.max(np.linalg.norm(_outline(scene, base), axis=1))) if base.asset else np.inf

    def check(data: mujoco.MjData) -> bool:
        if not contact.touching(model, data, entity.geoms, base.geoms):
            return False
        where = center(data, entity)
        if zone is not None:
            local = in_zone(data, base, zone[1], where)
            half = np.array(zone[1].half)
            return bool(np.all(np.abs(local[:2]) <= half[:2]) and local[2] >= -half[2] - SUPPORT_TOLERANCE_M)
        if region is not None:
            return _in_rects(scene, data, base, region, where)
        other = center(data, base) if base.asset else scene.workspace_pos
        return bool(where[2] > other[2] and np.linalg.norm((where - other)[:2]) <= reach)

    return check


def _outline(scene: Scene, entity: EntityIds) -> FloatArray:
    """Corners (n, 2) of the entity's geoms' bounding spheres' reach around its root, horizontally (m)."""
    data = mujoco.MjData(scene.model)
    data.qpos[:] = scene.start
    mujoco.mj_kinematics(scene.model, data)
    mujoco.mj_comPos(scene.model, data)
    middle = center(data, entity)[:2]
    boxes = scene.model.geom_aabb[entity.geoms]
    corners = [np.zeros(2)]
    for geom, box in zip(entity.geoms, boxes, strict=True):
        rotation = data.geom_xmat[geom].reshape(3, 3)
        for sx in (-1, 1):
            for sy in (-1, 1):
                for sz in (-1, 1):
                    point = data.geom_xpos[geom] + rotation @ (box[:3] + box[3:] * (sx, sy, sz))
                    corners.append(point[:2] - middle)
    return np.array(corners)


def _in_rects(
    scene: Scene, data: mujoco.MjData, base: EntityIds, region: spec.Region, point: FloatArray
) -> bool:
    if base.asset is None:
        local = (point - scene.workspace_pos)[:2]
    else:
        local = (data.xmat[base.body].reshape(3, 3).T @ (point - data.xpos[base.body]))[:2]
    return any(r.x_min <= local[0] <= r.x_max and r.y_min <= local[1] <= r.y_max for r in region.rects)


def inside(scene: Scene, thing: str, target: str) -> Check:
    """Centre inside the zone (or region's outline) and resting on something that is not the robot."""
    entity = scene.entity(thing)
    zone = scene.zone(target)
    if zone is None:
        return on(scene, thing, target)
    base, box = zone
    half = np.array(box.half)
    others = _others(scene, entity)

    def check(data: mujoco.MjData) -> bool:
        local = in_zone(data, base, box, center(data, entity))
        return bool(np.all(np.abs(local) <= half)) and (
            contact.touching(scene.model, data, entity.geoms, base.geoms)
            or contact.touching(scene.model, data, entity.geoms, others)
        )

    return check


def _others(scene: Scene, entity: EntityIds) -> IntArray:
    """Colliding geoms of every other entity."""
    return np.array([g for g, name in scene.entity_of_geom.items() if name != entity.name], np.int32)


def _joint_check(role: str, want_open: bool) -> Callable[[Scene, str], Check]:
    def make(scene: Scene, target: str) -> Check:
        name, _, part = target.partition(".")
        joints = joints_of(scene.entity(name), part, role)
        if want_open:
            return lambda data: all(j.is_open(data) for j in joints)
        return lambda data: all(j.is_closed(data) for j in joints)

    return make


def stack(scene: Scene, thing: str, base: str) -> Check:
    """On the other thing, with its centre of mass over the middle half of it."""
    rests = on(scene, thing, base)
    upper, lower = scene.entity(thing), scene.entity(base)
    reach = float(np.max(np.linalg.norm(_outline(scene, lower), axis=1))) / 2

    def check(data: mujoco.MjData) -> bool:
        offset = (center(data, upper) - center(data, lower))[:2]
        return rests(data) and float(np.linalg.norm(offset)) <= reach

    return check


def up(scene: Scene, thing: str, limit_m: float = UP_M) -> Check:
    """Its lowest point is higher than `limit_m` above the workspace."""
    geoms = scene.entity(thing).geoms
    return lambda data: height(scene, data, geoms) > limit_m


def upright(scene: Scene, thing: str, limit_rad: float = UPRIGHT_RAD) -> Check:
    """Tilted less than `limit_rad`."""
    body = scene.entity(thing).body
    return lambda data: tilt(data, body) < limit_rad


def touching(scene: Scene, first: str, second: str) -> Check:
    """In contact."""
    a, b = scene.geoms(first), scene.geoms(second)
    return lambda data: contact.touching(scene.model, data, a, b)


def grasped(scene: Scene, part: str) -> Check:
    """Both fingers press it from opposite sides; with a part, both press that part."""
    geoms = scene.geoms(part)
    left, right = scene.geoms("robot.left_finger"), scene.geoms("robot.right_finger")

    def check(data: mujoco.MjData) -> bool:
        normals: list[FloatArray] = []
        for finger in (left, right):
            normals.append(sum((t.normal for t in contact.touches(data, finger, geoms)), np.zeros(3)))
            if not normals[-1].any():
                return False
        sizes = [float(np.linalg.norm(n)) for n in normals]
        return float(normals[0] @ normals[1]) < OPPOSED_COS * sizes[0] * sizes[1]

    return check


def released(scene: Scene, thing: str = "") -> Check:
    """The gripper touches it no more; without a name, it touches nothing that moves."""
    gripper = scene.geoms("robot.gripper")
    movable = [e.geoms for e in scene.entities.values() if e.qpos is not None]
    geoms = scene.geoms(thing) if thing else np.concatenate([np.empty(0, np.int32), *movable])
    return lambda data: not contact.touching(scene.model, data, gripper, geoms)


def settled(scene: Scene, thing: str) -> Check:
    """Slower than 2 cm/s and 0.2 rad/s: a thing that tips over is slow for a moment, but it turns."""
    entity = scene.entity(thing)

    def check(data: mujoco.MjData) -> bool:
        speed_m_s, spin_rad_s = velocity(scene, data, entity)
        return speed_m_s < SETTLED_M_S and spin_rad_s < SETTLED_RAD_S

    return check


PREDICATES: dict[str, Callable[..., Check]] = {
    "On": on,
    "In": inside,
    "Open": _joint_check("door", True),
    "Close": _joint_check("door", False),
    "TurnOn": _joint_check("knob", True),
    "TurnOff": _joint_check("knob", False),
    "Stack": stack,
    "Up": up,
    "Upright": upright,
    "Touching": touching,
    "Grasped": grasped,
    "Released": released,
    "Settled": settled,
}


def _tilt_gauge(scene: Scene, thing: str) -> Gauge:
    body = scene.entity(thing).body
    return lambda data: tilt(data, body)


def _height_gauge(scene: Scene, thing: str) -> Gauge:
    geoms = scene.entity(thing).geoms
    return lambda data: height(scene, data, geoms)


def _speed_gauge(scene: Scene, thing: str) -> Gauge:
    entity = scene.entity(thing)
    return lambda data: velocity(scene, data, entity)[0]


def _distance_gauge(scene: Scene, first: str, second: str) -> Gauge:
    a, b = scene.geoms(first), scene.geoms(second)
    return lambda data: contact.distance(scene.model, data, a, b)


def _force_gauge(scene: Scene, first: str, second: str) -> Gauge:
    a, b = scene.geoms(first), scene.geoms(second)
    return lambda data: contact.pair_force(scene.model, data, a, b)


MEASURES: dict[str, Callable[..., Gauge]] = {
    "Tilt": _tilt_gauge,
    "Height": _height_gauge,
    "Speed": _speed_gauge,
    "Distance": _distance_gauge,
    "Force": _force_gauge,
}


def compile_formula(scene: Scene, formula: spec.Formula) -> Check:
    """Turn a formula into a function of the state; every name in it is looked up now."""
    match formula:
        case spec.Term(word, args):
            return PREDICATES[word](scene, *args)
        case spec.Compare(op, left, right):
            gauge = MEASURES[left.word](scene, *left.args)
            return _compare(op, gauge, right)
        case spec.Logic(op, items):
            return _logic(op, [compile_formula(scene, item) for item in items])
        case spec.AtLeast(count, items):
            checks = [compile_formula(scene, item) for item in items]
            return lambda data: sum(check(data) for check in checks) >= count


def _compare(op: str, gauge: Gauge, right: float) -> Check:
    compare: dict[str, Check] = {
        "<": lambda data: gauge(data) < right,
        "<=": lambda data: gauge(data) <= right,
        ">": lambda data: gauge(data) > right,
        ">=": lambda data: gauge(data) >= right,
    }
    return compare[op]


def _logic(op: str, checks: list[Check]) -> Check:
    logic: dict[str, Check] = {
        "And": lambda data: all(check(data) for check in checks),
        "Or": lambda data: any(check(data) for check in checks),
        "Not": lambda data: not checks[0](data),
        "Implies": lambda data: not checks[0](data) or checks[1](data),
    }
    return logic[op]
