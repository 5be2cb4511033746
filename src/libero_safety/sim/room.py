"""The arena as part of an MjSpec: surfaces with their looks, lights and cameras."""

import math
from collections.abc import Sequence

import mujoco
import numpy as np

from libero_safety.assets.arenas import Arena
from libero_safety.assets.asset import Shape, Vec3
from libero_safety.assets.lighting import Lighting, find_lighting
from libero_safety.assets.looks import PARTS, Surface, find_look, surfaces
from libero_safety.assets.textures import draw
from libero_safety.sim.build import add_shape
from libero_safety.sim.vision import SCENERY_GROUP
from libero_safety.types import FloatArray
from libero_safety.ubddl import spec

SHADOW_HALF_M = 1.3
"""Shadows are drawn within this distance of the middle of the workspace: the smaller, the finer their edges."""
LAMP_CONE_DEG = 80.0


def add_arena(out: mujoco.MjSpec, arena: Arena, looks: Sequence[spec.Look]) -> None:
    """Add floor, walls, furniture, lights and cameras; looks replace the arena's own.

    Looks change pictures only: names, order, sizes and masses of everything stay the same.

    Raises:
        UnknownLookError: a look that there is not.
    """
    words = dict(arena.looks) | {look.part: str(look.value) for look in looks if look.part != "light"}
    covers = {part: find_look(part, words[part]) for part in PARTS if part in words}
    brightness = next((float(look.value) for look in looks if look.part == "light"), 1.0)  # type: ignore[arg-type]
    for index, shape in enumerate(arena.shapes):
        name = f"arena/{shape.part}/{index}"
        add_shape(out, out.worldbody, name, shape)
        if shape.role == "visual" or shape.material == "floor":
            out.geom(name).group = SCENERY_GROUP
        if shape.material:
            _cover(out, name, shape, covers.get(shape.material) or surfaces()[shape.material])
    _light(out, find_lighting(words["lighting"]), arena.workspace_pos, brightness)
    for view in arena.cameras:
        out.worldbody.add_camera(name=view.name, pos=view.pos, quat=view.quat, fovy=view.fovy_deg)


def _cover(out: mujoco.MjSpec, geom: str, shape: Shape, surface: Surface) -> None:
    """Give a box the look of a surface: the picture lies flat on its local x and y, in the surface's scale."""
    name = f"look/{surface.name}"
    if out.texture(name) is None:
        image = draw(surface.texture)
        height, width, channels = image.shape
        texture = out.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=channels
        )
        texture.data = image.tobytes()
    material = out.add_material(name=geom, specular=surface.specular, shininess=surface.shininess)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    material.texrepeat = (2 * shape.size[0] / surface.size_m, 2 * shape.size[1] / surface.size_m)
    out.geom(geom).material = geom
    out.geom(geom).rgba = (1.0, 1.0, 1.0, 1.0)


def _light(out: mujoco.MjSpec, lighting: Lighting, centre: Vec3, brightness: float) -> None:
    def scaled(colour: Vec3) -> FloatArray:
        return np.clip(np.multiply(colour, brightness), 0.0, 1.0)

    head = out.visual.headlight
    head.ambient, head.diffuse, head.specular = (
        scaled(lighting.ambient),
        scaled(lighting.camera),
        (0.1, 0.1, 0.1),
    )
    for light in lighting.lights:
        out.worldbody.add_light(
            pos=np.add(centre, light.pos),
            dir=np.negative(light.pos),
            diffuse=scaled(light.diffuse),
            specular=(0.2, 0.2, 0.2),
            type=mujoco.mjtLightType.mjLIGHT_SPOT,
            castshadow=light.shadow,
            cutoff=LAMP_CONE_DEG,
        )
        if light.shadow:
            cone_deg = math.degrees(math.atan(SHADOW_HALF_M / math.hypot(*light.pos)))
            out.visual.map.shadowscale = cone_deg / LAMP_CONE_DEG
