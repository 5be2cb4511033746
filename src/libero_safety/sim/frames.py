"""Where a named frame of a scene is: of a thing, a part, a zone, a region or a grasp."""

import mujoco
import numpy as np

from libero_safety.assets.geometry import shape_bounds
from libero_safety.registry import near_match
from libero_safety.sim import predicate
from libero_safety.sim.scene import EntityIds, Scene, SceneError
from libero_safety.types import FloatArray

GRASP = "grasp"
"""`entity.grasp`: the pose of the gripper in its top-down grasp, as a frame with z up."""
FACES = {"front": (0, 1), "back": (0, -1), "left": (1, 1), "right": (1, -1), "top": (2, 1), "bottom": (2, -1)}
"""`entity.part.top`: the middle of that face of the box of a part or zone: axis of its link, and towards which end."""


def frame_pose(scene: Scene, data: mujoco.MjData, name: str) -> tuple[FloatArray, FloatArray]:
    """Return the world position (3,) and rotation (3, 3) of a frame.

    Args:
        scene: where names mean something.
        data: its state; kinematics are up to date.
        name: `entity`, `workspace`, `entity.part`, `entity.zone`, `entity.grasp` or a region `target.name`; of a
            part or zone also a face, such as `.top`. A zone goes before a part of the same name.

    Raises:
        SceneError: nothing of that name.
    """
    owner, _, rest = name.partition(".")
    entity = scene.entity(owner)
    part, _, face = rest.partition(".")
    if face and face not in FACES:
        raise SceneError(
            f"{name!r}: a frame has no {face!r}{near_match(face, FACES)}. It has: {', '.join(FACES)}"
        )
    whole = f"{owner}.{part}" if part else owner
    region, zone = scene.region(whole), scene.zone(whole)
    if zone is not None:
        pos, rotation = predicate.zone_pose(data, *zone)
        half = np.array(zone[1].half)
        return pos + rotation @ _middle(-half, half, face), rotation
    if region is not None:
        rect = region.rects[0]
        middle = ((rect.x_min + rect.x_max) / 2, (rect.y_min + rect.y_max) / 2, 0.0)
        if entity.asset is None:
            return scene.workspace_pos + middle, np.eye(3)
        rotation = np.array(data.xmat[entity.body]).reshape(3, 3)
        return data.xpos[entity.body] + rotation @ middle, rotation
    if part == GRASP and entity.asset is not None and entity.asset.grasp is not None:
        return _grasp_pose(data, entity, *entity.asset.grasp)
    if part:
        return _part_pose(scene, data, whole, part, face)
    rotation = np.array(data.xmat[entity.body]).reshape(3, 3)
    return np.array(data.xpos[entity.body]) if entity.asset else np.array(scene.workspace_pos), rotation


def _middle(low: FloatArray, high: FloatArray, face: str) -> FloatArray:
    """Return the middle (3,) of a box, or of one of its faces."""
    middle = (low + high) / 2
    if face:
        axis, end = FACES[face]
        middle[axis] = (low, high)[end > 0][axis]
    return middle


def _grasp_pose(
    data: mujoco.MjData, entity: EntityIds, where: tuple[float, float, float], yaw: float
) -> tuple[FloatArray, FloatArray]:
    rotation = np.array(data.xmat[entity.body]).reshape(3, 3)
    c, s = np.cos(yaw), np.sin(yaw)
    return data.xpos[entity.body] + rotation @ where, rotation @ [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]


def _part_pose(
    scene: Scene, data: mujoco.MjData, ref: str, part: str, face: str
) -> tuple[FloatArray, FloatArray]:
    """Return the mean position of a part's pieces, or the middle of a face of its box, with its link's axes."""
    geoms = scene.geoms(ref)
    body = int(scene.model.geom_bodyid[geoms[0]])
    rotation = np.array(data.xmat[body]).reshape(3, 3)
    asset = scene.entity(ref.partition(".")[0]).asset
    if not face or asset is None:
        return np.mean(data.geom_xpos[geoms], axis=0), rotation
    link = next(k for k in asset.links if any(s.part == part for s in k.shapes))
    low, high = shape_bounds([s for s in link.shapes if s.part == part and s.role != "visual"])
    return data.xpos[body] + rotation @ _middle(np.array(low), np.array(high), face), rotation
