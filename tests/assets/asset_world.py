"""Assets in a bare MuJoCo world, for tests."""

import mujoco
import numpy as np

from libero_safety.assets.asset import Asset, Shape
from libero_safety.assets.geometry import bounds

_KINDS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
}


def add_shape(body: mujoco.MjsBody, shape: Shape) -> None:
    if shape.mesh is not None and shape.role == "visual":
        return
    geom = body.add_geom(type=_KINDS[shape.kind], pos=shape.pos, quat=shape.quat, rgba=shape.rgba)
    geom.size[: len(shape.size)] = shape.size
    geom.friction[0] = shape.friction
    geom.density = 0.0 if shape.role == "visual" else shape.density
    if shape.role == "visual":
        geom.contype = geom.conaffinity = 0


def add_asset(spec: mujoco.MjSpec, asset: Asset, pos: tuple[float, float, float], free: bool) -> None:
    """Put `asset` into `spec` with its root frame at `pos`; bodies are called `asset.link`."""
    root = spec.worldbody.add_body(name=f"{asset.name}.{asset.links[0].name}", pos=pos)
    if free:
        root.add_freejoint()
    for link in asset.links:
        body = root
        if link.joint is not None:
            body = root.add_body(name=f"{asset.name}.{link.name}", pos=link.pos, quat=link.quat)
            joint = link.joint
            kind = mujoco.mjtJoint.mjJNT_HINGE if joint.kind == "hinge" else mujoco.mjtJoint.mjJNT_SLIDE
            made = body.add_joint(
                name=f"{asset.name}.{joint.name}",
                type=kind,
                axis=joint.axis,
                pos=joint.pos,
                range=[joint.low, joint.high],
                limited=True,
            )
            made.damping[0] = joint.damping
            made.frictionloss = joint.friction
        for shape in link.shapes:
            add_shape(body, shape)


def world() -> mujoco.MjSpec:
    """Return an empty world with a table top at z = 0: a box, as in the arenas."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = 0.002
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    table = spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=(0, 0, -0.05))
    table.size[:] = (20, 20, 0.05)
    return spec


def tilt_deg(quat: np.ndarray) -> float:
    """Return the angle between a body's z axis and the world's."""
    _, x, y, _ = quat / np.linalg.norm(quat)
    return float(np.degrees(np.arccos(np.clip(1 - 2 * (x * x + y * y), -1, 1))))


def add_gripper(spec: mujoco.MjSpec, pos: tuple[float, float, float], yaw: float) -> None:
    """Add a bare parallel gripper, 8 cm open, that closes along y: pads of 18 x 18 mm, the palm 36 mm above the grip.

    Actuators `left` and `right` push the fingers together (N), `lift` is the height (m) of the grip above `pos`.
    """
    hand = spec.worldbody.add_body(
        name="gripper", pos=pos, quat=(np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)), gravcomp=1
    )
    hand.add_joint(name="lift", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(0, 0, 1))
    palm = hand.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=(0, 0, 0.056), density=20000)
    palm.size[:] = (0.03, 0.1, 0.02)
    lift = spec.add_actuator(name="lift", target="lift", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    lift.set_to_position(kp=20000, kv=600)
    for name, side in (("left", 1), ("right", -1)):
        finger = hand.add_body(name=name, pos=(0, side * 0.04, 0), gravcomp=1)
        joint = finger.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(0, -side, 0))
        joint.range[:] = (0, 0.04)
        joint.limited = True
        joint.damping[0] = 150
        joint.armature = 0.05
        pad = finger.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=(0, side * 0.006, 0.012), density=2000)
        pad.size[:] = (0.009, 0.006, 0.023)
        push = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        push.gainprm[0] = 1


def lifted(asset: Asset) -> bool:
    """Close the gripper at the asset's grasp, raise it by 10 cm, and return whether the asset hangs in the fingers."""
    assert asset.grasp is not None
    spec = world()
    rise = -bounds(asset)[0][2]
    add_asset(spec, asset, (0, 0, rise), free=True)
    (x, y, z), turn = asset.grasp
    add_gripper(spec, (x, y, z + rise), turn)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    gripper = set(range(model.body("gripper").geomadr[0], model.ngeom))
    for contact in data.contact:
        if (contact.geom1 in gripper) != (contact.geom2 in gripper):
            assert contact.dist > -0.001, "the open gripper does not fit"
    for step in range(850):
        data.ctrl[:] = (min(0.1, max(0.0, (step - 300) * 0.00025)), 30, 30)
        mujoco.mj_step(model, data)
    root = model.body(f"{asset.name}.{asset.links[0].name}").id
    touching = {frozenset(int(model.geom_bodyid[g]) for g in (c.geom1, c.geom2)) for c in data.contact}
    fingers = [frozenset((root, model.body(name).id)) for name in ("left", "right")]
    return frozenset((root, 0)) not in touching and all(f in touching for f in fingers)
