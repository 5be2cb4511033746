"""Assets as parts of an MjSpec."""

import mujoco
import numpy as np

from libero_safety.assets.asset import CONTACT_S, Asset, Joint, Picture, Shape
from libero_safety.assets.mesh import surface
from libero_safety.types import Pose

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
FINISHES = {
    "satin": (0.12, 0.3, 0.0),
    "matte": (0.02, 0.1, 0.0),
    "metal": (0.45, 0.35, 0.0),
    "glow": (0.0, 0.0, 0.9),
}
"""How a surface shines: specular, shininess, emission; without one like plastic (0.5, 0.5, 0)."""
_JOINT = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}


def add_shape(
    out: mujoco.MjSpec, body: mujoco.MjsBody, name: str, shape: Shape, *, heavier: float = 1.0
) -> None:
    """Add one geom called `name` to a body."""
    geom = body.add_geom(name=name, type=_GEOM[shape.kind], pos=shape.pos, quat=shape.quat, rgba=shape.rgba)
    if shape.mesh is not None:
        geom.meshname = _mesh(out, shape)
        if shape.picture is not None:
            geom.material = _cover(out, shape.picture)
        elif shape.material in FINISHES:
            geom.material = _finish(out, shape.material)
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
        if shape.contact_s < CONTACT_S:
            # MuJoCo takes the mean of both by these weights.
            geom.solref, geom.solmix = (shape.contact_s, 1.0), 1e3
        geom.group = COLLISION_GROUP if shape.role == "collision" else VISUAL_GROUP


def _finish(out: mujoco.MjSpec, name: str) -> str:
    """Return the name of the material of a finish, adding it once per spec."""
    if out.material(name) is None:
        specular, shininess, emission = FINISHES[name]
        out.add_material(name=name, specular=specular, shininess=shininess, emission=emission)
    return name


def _cover(out: mujoco.MjSpec, picture: Picture) -> str:
    """Return the name of the material that shows a picture, adding it once per spec."""
    name = f"picture-{picture.digest}"
    if out.material(name) is None:
        height, width, channels = picture.pixels.shape
        texture = out.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D)
        texture.width, texture.height, texture.nchannel = width, height, channels
        texture.data = picture.pixels.tobytes()
        material = out.add_material(name=name)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    return name


def _mesh(out: mujoco.MjSpec, shape: Shape) -> str:
    """Return the name of the mesh of a shape, adding it once per spec."""
    data = shape.mesh
    assert data is not None
    name = f"{data.name}-{data.digest}"
    if out.mesh(name) is not None:
        return name
    seen = shape.role == "visual"
    look = surface(data) if seen else None
    vertices, faces = (data.vertices, data.faces) if look is None else (look.vertices, look.faces)
    mesh = out.add_mesh(name=name, uservert=np.ravel(vertices), userface=np.ravel(faces))
    # What is only seen weighs nothing, so its hull is not needed.
    inertia = mujoco.mjtMeshInertia
    mesh.inertia = inertia.mjMESH_INERTIA_SHELL if seen else inertia.mjMESH_INERTIA_CONVEX
    if look is not None and look.normals is not None:
        mesh.usernormal = np.ravel(look.normals)
    if look is not None and look.uv is not None:
        mesh.usertexcoord = np.ravel(look.uv)
    return name


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
