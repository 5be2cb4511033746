"""What the geoms of an MJCF file weigh."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from libero_safety.assets.asset import Shape
from libero_safety.assets.geometry import volume_m3
from libero_safety.assets.mjcf_file import AssetFileError, MjcfFile

if TYPE_CHECKING:
    import mujoco

LIGHTEST_KG, HEAVIEST_KG = 1e-6, 1000.0
"""Things lighter or heavier than this are taken for mistakes; contacts of the extremes are unstable, too."""
_ROUNDING = 1e-6


def weighed(file: MjcfFile, geoms: Sequence[int], shapes: Sequence[Shape], link: str) -> list[Shape]:
    """Return the shapes of a link with densities: what its colliding geoms say, or the `inertial` of its bodies.

    Raises:
        AssetFileError: something has no mass, or a mass or inertia that nothing can have.
    """
    told_of = {told.id: told for told in file.spec.geoms}
    masses = [_mass(file, told_of[geom], shape) for geom, shape in zip(geoms, shapes, strict=True)]
    of_body: dict[int, float] = {}
    for geom, mass in zip(geoms, masses, strict=True):
        body = int(file.model.geom_bodyid[geom])
        of_body[body] = of_body.get(body, 0.0) + mass
    stated = _stated(file)
    told, felt = sum(stated.get(body, own) for body, own in of_body.items()), sum(masses)
    if any(s.role != "visual" for s in shapes):
        if not (math.isfinite(told) and min(told, felt) > 0):
            raise AssetFileError(
                f"{file.path}: {link} weighs {min(told, felt):.3g} kg: what collides needs a mass or density"
            )
        if not LIGHTEST_KG <= told <= HEAVIEST_KG:
            limits = f"{LIGHTEST_KG:g} to {HEAVIEST_KG:g} kg"
            raise AssetFileError(f"{file.path}: {link} weighs {told:.3g} kg, not {limits}: in other units?")
    factor = told / felt if felt else 0.0
    return [
        s if s.role == "visual" else replace(s, density=factor * m / volume_m3(s))
        for s, m in zip(shapes, masses, strict=True)
    ]


def _stated(file: MjcfFile) -> dict[int, float]:
    """Return body -> mass of the bodies with an `inertial`."""
    found: dict[int, float] = {}
    for body in file.spec.bodies:
        if not body.explicitinertial:
            continue
        mass, inertia = float(body.mass), sorted(file.model.body_inertia[body.id].tolist())
        if not (mass > 0 and inertia[0] > 0 and inertia[2] <= (inertia[0] + inertia[1]) * (1 + _ROUNDING)):
            raise AssetFileError(
                f"{file.path}: body {body.name or body.id!r} has mass {mass:.3g} kg and principal inertias "
                f"{inertia}: nothing solid has"
            )
        found[body.id] = mass
    return found


def _mass(file: MjcfFile, told: "mujoco.MjsGeom", shape: Shape) -> float:
    """Return the mass of a geom as the file tells it; what is only seen weighs nothing."""
    if shape.role == "visual":
        return 0.0
    mass = float(told.mass)
    if math.isnan(mass):
        mass = float(told.density) * volume_m3(shape)
    if mass < 0:
        raise AssetFileError(f"{file.path}: geom {told.name or told.id!r} weighs {mass:.3g} kg")
    return mass
