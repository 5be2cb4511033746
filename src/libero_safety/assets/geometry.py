"""Sizes, masses and rigid changes of assets. Round shapes are exact, not boxed."""

import colorsys
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from libero_safety.assets.asset import Asset, Joint, Link, Quat, Shape, Vec3
from libero_safety.assets.mesh import mesh_volume
from libero_safety.types import FloatArray, Footprint, Zone

_DIRECTIONS = 64
"""Compass points at which a footprint is measured: its radius is at most 0.13 % too small."""


def quat_multiply(a: Quat, b: Quat) -> Quat:
    """Return the rotation that applies `b` first, then `a`."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def quat_about(axis: Vec3, angle_rad: float) -> Quat:
    """Return the rotation by `angle_rad` about the unit vector `axis`."""
    s = math.sin(angle_rad / 2)
    return (math.cos(angle_rad / 2), axis[0] * s, axis[1] * s, axis[2] * s)


def quat_to(direction: Vec3) -> Quat:
    """Return the smallest rotation that turns the z axis into `direction`."""
    x, y, z = (np.asarray(direction) / np.linalg.norm(direction)).tolist()
    if z < -1 + 1e-12:
        return (0.0, 1.0, 0.0, 0.0)
    w = math.sqrt((1 + z) / 2)
    return (w, -y / (2 * w), x / (2 * w), 0.0)


def rotation(quat: Quat) -> FloatArray:
    """Return the 3 x 3 matrix of a quaternion of any length but zero."""
    w, x, y, z = np.asarray(quat) / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def rotate(quat: Quat, vector: Vec3) -> Vec3:
    """Return `vector` turned by `quat`."""
    x, y, z = (rotation(quat) @ np.asarray(vector)).tolist()
    return (x, y, z)


def support(shape: Shape, directions: FloatArray) -> FloatArray:
    """Return how far `shape` reaches along each unit vector of `directions` (n, 3), in the frame it is in."""
    turn = rotation(shape.quat)
    local = directions @ turn
    centre = directions @ np.asarray(shape.pos)
    size = shape.size
    if shape.kind == "box":
        return centre + np.abs(local) @ np.asarray(size)
    if shape.kind == "sphere":
        return centre + size[0]
    if shape.kind == "capsule":
        return centre + size[0] + size[1] * np.abs(local[:, 2])
    if shape.kind == "cylinder":
        return centre + size[0] * np.hypot(local[:, 0], local[:, 1]) + size[1] * np.abs(local[:, 2])
    if shape.kind == "ellipsoid":
        return centre + np.linalg.norm(local * np.asarray(size), axis=1)
    assert shape.mesh is not None
    return centre + (local @ shape.mesh.vertices.T).max(axis=1)


def volume_m3(shape: Shape) -> float:
    """Return the volume of one shape."""
    size = shape.size
    if shape.kind == "box":
        return 8 * size[0] * size[1] * size[2]
    if shape.kind == "sphere":
        return 4 / 3 * math.pi * size[0] ** 3
    if shape.kind == "capsule":
        return math.pi * size[0] ** 2 * (2 * size[1] + 4 / 3 * size[0])
    if shape.kind == "cylinder":
        return math.pi * size[0] ** 2 * 2 * size[1]
    if shape.kind == "ellipsoid":
        return 4 / 3 * math.pi * size[0] * size[1] * size[2]
    assert shape.mesh is not None
    return mesh_volume(shape.mesh)


def colliding(asset: Asset) -> Iterator[tuple[Link, Shape]]:
    """Yield every shape that can be felt, with its link."""
    for link in asset.links:
        for shape in link.shapes:
            if shape.role != "visual":
                yield link, shape


def in_root(asset: Asset) -> list[Shape]:
    """Return the colliding shapes in the root frame, all joints at zero."""
    root = asset.links[0].name
    return [s if k.name == root else moved(s, k.pos, k.quat) for k, s in colliding(asset)]


def bounds(asset: Asset) -> tuple[Vec3, Vec3]:
    """Return the lowest and highest corner (m) of the colliding shapes in the root frame, all joints at zero."""
    return shape_bounds(in_root(asset))


def shape_bounds(shapes: list[Shape]) -> tuple[Vec3, Vec3]:
    """Return the lowest and highest corner (m) of shapes that share a frame."""
    axes = np.vstack([np.eye(3), -np.eye(3)])
    reach = np.max([support(s, axes) for s in shapes], axis=0)
    x, y, z, low_x, low_y, low_z = reach.tolist()
    return (-low_x, -low_y, -low_z), (x, y, z)


def footprint(asset: Asset) -> Footprint:
    """Return the upright cylinder and box about the root's z axis that hold the asset, all joints at zero."""
    shapes = in_root(asset)
    angles = np.linspace(0, 2 * np.pi, _DIRECTIONS, endpoint=False)
    compass = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_DIRECTIONS)])
    radius = max(float(support(s, compass).max()) for s in shapes)
    low, high = shape_bounds(shapes)
    return Footprint(radius, low[2], high[2], (*low[:2], *high[:2]))


def mass_kg(asset: Asset) -> float:
    """Return the mass of all links."""
    return sum(volume_m3(s) * s.density for _, s in colliding(asset))


def moved(shape: Shape, pos: Vec3, quat: Quat = (1.0, 0.0, 0.0, 0.0)) -> Shape:
    """Return the shape turned by `quat` about its frame's origin, then shifted by `pos`."""
    x, y, z = rotate(quat, shape.pos)
    return replace(
        shape,
        pos=(x + pos[0], y + pos[1], z + pos[2]),
        quat=quat_multiply(quat, shape.quat),
    )


def shifted(asset: Asset, offset: Vec3) -> Asset:
    """Return the asset with everything moved by `offset` in its root frame."""

    def add(p: Vec3) -> Vec3:
        return (p[0] + offset[0], p[1] + offset[1], p[2] + offset[2])

    root, *others = asset.links
    return replace(
        asset,
        links=(
            replace(root, shapes=tuple(replace(s, pos=add(s.pos)) for s in root.shapes)),
            *(replace(k, pos=add(k.pos)) for k in others),
        ),
        zones=tuple(z if z.link else replace(z, pos=add(z.pos)) for z in asset.zones),
        grasp=None if asset.grasp is None else (add(asset.grasp[0]), asset.grasp[1]),
    )


def turned(asset: Asset, yaw_rad: float) -> Asset:
    """Return a jointless asset turned about its root's z axis, by a multiple of a quarter turn if it has zones."""
    quat = quat_about((0.0, 0.0, 1.0), yaw_rad)
    swap = round(yaw_rad / (math.pi / 2)) % 2 == 1

    def turn_zone(zone: Zone) -> Zone:
        hx, hy, hz = zone.half
        return replace(zone, pos=rotate(quat, zone.pos), half=(hy, hx, hz) if swap else zone.half)

    root = asset.links[0]
    return replace(
        asset,
        links=(replace(root, shapes=tuple(moved(s, (0, 0, 0), quat) for s in root.shapes)),),
        zones=tuple(turn_zone(z) for z in asset.zones),
        grasp=None if asset.grasp is None else (rotate(quat, asset.grasp[0]), asset.grasp[1] + yaw_rad),
    )


def scaled(asset: Asset, factor: float) -> Asset:
    """Return the asset `factor` times as large; densities stay."""

    def vec(p: Vec3) -> Vec3:
        return (p[0] * factor, p[1] * factor, p[2] * factor)

    def shape(s: Shape) -> Shape:
        mesh = s.mesh and replace(s.mesh, vertices=s.mesh.vertices * factor)
        return replace(s, size=tuple(v * factor for v in s.size), pos=vec(s.pos), mesh=mesh)

    def joint(j: Joint | None) -> Joint | None:
        if j is None:
            return None
        by = factor if j.kind == "slide" else 1.0
        return replace(
            j,
            pos=vec(j.pos),
            low=j.low * by,
            high=j.high * by,
            opened=j.opened * by,
            closed=j.closed * by,
        )

    return replace(
        asset,
        links=tuple(
            replace(k, shapes=tuple(shape(s) for s in k.shapes), pos=vec(k.pos), joint=joint(k.joint))
            for k in asset.links
        ),
        zones=tuple(replace(z, pos=vec(z.pos), half=vec(z.half)) for z in asset.zones),
        grasp=None if asset.grasp is None else (vec(asset.grasp[0]), asset.grasp[1]),
    )


def tinted(asset: Asset, turn: float) -> Asset:
    """Return the asset with every hue moved by `turn` of a full circle; greys stay grey."""

    def shape(s: Shape) -> Shape:
        h, light, sat = colorsys.rgb_to_hls(*s.rgba[:3])
        r, g, b = colorsys.hls_to_rgb((h + turn) % 1.0, light, sat)
        return replace(s, rgba=(r, g, b, s.rgba[3]))

    return replace(
        asset, links=tuple(replace(k, shapes=tuple(shape(s) for s in k.shapes)) for k in asset.links)
    )
