"""Assets and arenas as parts of an MjSpec."""

from collections.abc import Sequence

import mujoco
import numpy as np

from libero_safety.assets.arenas import LOOKS, Arena
from libero_safety.assets.asset import Asset, Joint, Shape
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import Pose
from libero_safety.ubddl import spec

VISUAL_GROUP, COLLISION_GROUP = 1, 3
"""Geom groups: what is drawn, and what is only felt."""
HAZARD_DENSITY_FACTOR = 1e4
"""A body that moves by prescription is this much heavier than it looks, so that nothing in its way slows it down."""

_GEOM = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
}
_JOINT = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}


class UnknownLookError(LiberoSafetyError):
    """A word for a table, floor or wall that the arena does not have."""


def add_shape(
    out: mujoco.MjSpec, body: mujoco.MjsBody, name: str, shape: Shape, *, heavier: float = 1.0
) -> None:
    """Add one geom called `name` to a body."""
    geom = body.add_geom(name=name, type=_GEOM[shape.kind], pos=shape.pos, quat=shape.quat, rgba=shape.rgba)
    if shape.mesh is not None:
        geom.meshname = _mesh(out, shape)
    else:
        geom.size = (*shape.size, 0.0, 0.0)[:3]
    if shape.role == "visual":
        geom.contype = geom.conaffinity = 0
        geom.density = 0.0
        geom.group = VISUAL_GROUP
    else:
        geom.density = shape.density * heavier
        geom.friction = (shape.friction, 0.005, 0.0001)
        geom.condim = 4
        geom.group = COLLISION_GROUP if shape.role == "collision" else VISUAL_GROUP


def _mesh(out: mujoco.MjSpec, shape: Shape) -> str:
    """Return the name of the mesh of a shape, adding it once per spec."""
    assert shape.mesh is not None
    name = shape.mesh.name
    if not any(m.name == name for m in out.meshes):
        mesh = out.add_mesh(
            name=name, uservert=np.ravel(shape.mesh.vertices), userface=np.ravel(shape.mesh.faces)
        )
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    return name


def add_arena(out: mujoco.MjSpec, arena: Arena, looks: Sequence[spec.Look]) -> None:
    """Add floor, walls, table, lights and cameras; looks replace the arena's own.

    Raises:
        UnknownLookError: a look that there is not.
    """
    words = dict(arena.looks) | {look.part: str(look.value) for look in looks if look.part != "light"}
    brightness = next((float(look.value) for look in looks if look.part == "light"), 1.0)  # type: ignore[arg-type]
    for index, shape in enumerate(arena.shapes):
        name = f"arena/{shape.part}/{index}"
        add_shape(out, out.worldbody, name, shape)
        if shape.material in LOOKS:
            out.geom(name).rgba = _colour(arena, shape.material, words[shape.material])
    for light in arena.lights:
        kind = mujoco.mjtLightType
        out.worldbody.add_light(
            pos=light.pos,
            dir=light.direction,
            diffuse=np.clip(np.multiply(light.diffuse, brightness), 0.0, 1.0),
            specular=light.specular,
            type=kind.mjLIGHT_DIRECTIONAL if light.directional else kind.mjLIGHT_SPOT,
            castshadow=light.shadow,
            cutoff=80.0,
        )
    for view in arena.cameras:
        out.worldbody.add_camera(name=view.name, pos=view.pos, quat=view.quat, fovy=view.fovy_deg)


def _colour(arena: Arena, part: str, word: str) -> tuple[float, float, float, float]:
    if word not in LOOKS[part]:
        known = ", ".join(LOOKS[part])
        raise UnknownLookError(
            f"{arena.name}: unknown look {word!r} of the {part}{near_match(word, LOOKS[part])}. Known: {known}"
        )
    return LOOKS[part][word]


def add_asset(
    out: mujoco.MjSpec, name: str, asset: Asset, pose: Pose, *, free: bool, prescribed: bool = False
) -> None:
    """Add a thing whose bodies are called `name/<link>` and geoms `name/<link>/<part>/<number>`.

    Args:
        out: where to.
        name: of the entity.
        asset: what it is made of.
        pose: of its root, world.
        free: whether its root moves freely; fixed to the world otherwise.
        prescribed: whether something else says where it is at every moment: no gravity, hardly any give, never asleep.
    """
    root: mujoco.MjsBody | None = None
    for link in asset.links:
        if root is None:
            body = root = out.worldbody.add_body(name=f"{name}/{link.name}", pos=pose.pos, quat=pose.quat)
            if free:
                body.add_freejoint(name=f"{name}/free")
            if prescribed:
                body.gravcomp = 1.0
                body.sleep = mujoco.mjtSleepPolicy.mjSLEEP_NEVER
        else:
            body = root.add_body(name=f"{name}/{link.name}", pos=link.pos, quat=link.quat)
        if link.joint is not None:
            _add_joint(body, f"{name}/{link.joint.name}", link.joint)
        for index, shape in enumerate(link.shapes):
            label = f"{name}/{link.name}/{shape.part}/{index}"
            add_shape(out, body, label, shape, heavier=HAZARD_DENSITY_FACTOR if prescribed else 1.0)


def _add_joint(body: mujoco.MjsBody, name: str, joint: Joint) -> None:
    body.add_joint(
        name=name,
        type=_JOINT[joint.kind],
        axis=joint.axis,
        pos=joint.pos,
        range=(joint.low, joint.high),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        damping=[joint.damping, 0.0, 0.0],
        frictionloss=joint.friction,
    )
