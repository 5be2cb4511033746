"""Closed triangle meshes from profiles, outlines and sections.

Every function returns a watertight solid with outward faces, a normal at each corner (smooth, but for edges sharper
than `CREASE_DEG`) and texture coordinates. Equal arguments give the same mesh object.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from libero_safety.assets.asset import MeshData, Quat, Vec3
from libero_safety.assets.geometry import rotation
from libero_safety.types import FloatArray

Points2: TypeAlias = tuple[tuple[float, float], ...]
Points3: TypeAlias = tuple[Vec3, ...]

CREASE_DEG = 42.0
"""Edges that bend by more than this are drawn sharp."""
_AXIS = 1e-9
"""Points of a profile that are closer (m) to the axis than this are on it."""


def finish(
    name: str, vertices: FloatArray, faces: NDArray[np.integer], uv: FloatArray | None = None
) -> MeshData:
    """Return the mesh with normals, and texture coordinates in metres from a box projection unless given."""
    faces = np.ascontiguousarray(faces, dtype=np.int32)
    corners = vertices[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if uv is None:
        drop = np.abs(area).argmax(axis=1)
        kept = np.array([[1, 2], [0, 2], [0, 1]])[drop]
        uv = np.take_along_axis(corners, kept[:, None, :].repeat(3, axis=1), axis=2)
    return MeshData(name, vertices, faces, _corner_normals(vertices, faces, area), uv)


def _corner_normals(vertices: FloatArray, faces: NDArray[np.int32], area: FloatArray) -> FloatArray:
    """Return unit normals (m, 3, 3): at each corner the mean of the faces that meet there without a crease.

    A face counts by its area and by its angle at the corner, so it does not matter along which diagonal a
    rectangle was cut.

    Args:
        vertices: (n, 3).
        faces: vertex numbers, (m, 3).
        area: normal of each face times twice its area, (m, 3).
    """
    flat = faces.ravel()
    corners = vertices[faces]
    legs = [np.roll(corners, -d, axis=1) - corners for d in (1, 2)]
    cosine = np.einsum("fcj,fcj->fc", *legs) / np.maximum(
        np.linalg.norm(legs[0], axis=2) * np.linalg.norm(legs[1], axis=2), 1e-30
    )
    weight = area[:, None] * np.arccos(np.clip(cosine, -1.0, 1.0))[:, :, None]
    order = np.argsort(flat, kind="stable")
    ends = np.searchsorted(flat[order], np.arange(flat.max() + 2))
    slot = np.arange(len(order)) - ends[flat[order]]
    around = np.full((flat.max() + 1, slot.max() + 1), -1)
    around[flat[order], slot] = order
    near = around[flat]
    unit = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-30)
    own = np.repeat(unit, 3, axis=0)
    alike = np.einsum("cj,ckj->ck", own, unit[near // 3]) > math.cos(math.radians(CREASE_DEG))
    total = np.einsum("ck,ckj->cj", (alike & (near >= 0)).astype(float), weight.reshape(-1, 3)[near])
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 1e-30, total / np.maximum(length, 1e-30), own).reshape(-1, 3, 3)


def _band(first: int, second: int, count: int, closed: bool = True) -> NDArray[np.intp]:
    """Return the faces between two rings of `count` vertices, outward if the second lies along the tangent."""
    j = np.arange(count if closed else count - 1)
    k = (j + 1) % count
    return np.vstack(
        [
            np.column_stack([first + j, first + k, second + k]),
            np.column_stack([first + j, second + k, second + j]),
        ]
    )


@cache
def lathe(profile: Points2, segments: int = 20, squash: tuple[float, float] = (1.0, 1.0)) -> MeshData:
    """Return a solid of revolution about z.

    Args:
        profile: (radius, height) of its section, anticlockwise: up along the outside, down along the inside. It begins
            and ends on the axis (radius 0), or is a closed loop beside it.
        segments: number of facets round the axis; they stand out and in of the true circle by the same area.
        squash: factors on x and y.
    """
    loop = profile[0][0] > _AXIS or profile[-1][0] > _AXIS
    turns = 2 * math.pi * np.arange(segments) / segments
    fair = math.sqrt(2 * math.pi / segments / math.sin(2 * math.pi / segments))
    circle = np.column_stack([np.cos(turns) * squash[0], np.sin(turns) * squash[1]]) * fair
    rows: list[FloatArray] = []
    starts: list[int] = []
    count = 0
    for radius, height in profile:
        ring = circle * radius if radius > _AXIS else np.zeros((1, 2))
        rows.append(np.column_stack([ring, np.full(len(ring), height)]))
        starts.append(count)
        count += len(ring)
    steps = [math.dist(a, b) for a, b in zip(profile, (*profile[1:], profile[0]), strict=True)]
    along = np.concatenate([[0.0], np.cumsum(steps)]) / sum(steps)
    faces: list[NDArray[np.intp]] = []
    uv: list[FloatArray] = []
    j = np.arange(segments)
    k = (j + 1) % segments
    u, w = j / segments, (j + 1) / segments
    for i in range(len(profile) if loop else len(profile) - 1):
        n = (i + 1) % len(profile)
        a, b = starts[i], starts[n]
        low, high = np.full(segments, along[i]), np.full(segments, along[i + 1])
        if profile[n][0] > _AXIS:
            first = np.full(segments, a) if profile[i][0] <= _AXIS else a + j
            faces.append(np.column_stack([first, b + k, b + j]))
            uv.append(np.stack([np.column_stack(c) for c in ((u, low), (w, high), (u, high))], axis=1))
        if profile[i][0] > _AXIS:
            last = np.full(segments, b) if profile[n][0] <= _AXIS else b + k
            faces.append(np.column_stack([a + j, a + k, last]))
            uv.append(np.stack([np.column_stack(c) for c in ((u, low), (w, low), (w, high))], axis=1))
    return finish("lathe", np.vstack(rows), np.vstack(faces), np.vstack(uv))


def loft(rings: FloatArray, tips: tuple[FloatArray | None, FloatArray | None] = (None, None)) -> MeshData:
    """Return the solid through sections.

    Args:
        rings: (m, k, 3): m sections of k points, each anticlockwise about the direction in which they follow.
        tips: where the ends close, by default the middle of the first and of the last section.
    """
    m, k, _ = rings.shape
    ends = [rings[i].mean(axis=0) if tip is None else tip for i, tip in ((0, tips[0]), (-1, tips[1]))]
    j = np.arange(k)
    n = (j + 1) % k
    first, last = m * k, m * k + 1
    faces = [_band(i * k, (i + 1) * k, k) for i in range(m - 1)]
    faces += [np.column_stack([np.full(k, first), n, j])]
    faces += [np.column_stack([np.full(k, last), (m - 1) * k + j, (m - 1) * k + n])]
    return finish("loft", np.vstack([rings.reshape(-1, 3), *ends]), np.vstack(faces))


@cache
def sweep(
    path: Points3,
    section: Points2,
    scale: tuple[float, ...] | None = None,
    up: Vec3 = (0.0, 0.0, 1.0),
    closed: bool = False,
    bulge: float = 0.0,
) -> MeshData:
    """Return a section drawn along a path.

    Args:
        path: points of the way (m).
        section: anticlockwise outline; its first axis is `up` x direction, its second points towards `up`.
        scale: factor on the section at each point of the path.
        up: never along the path.
        closed: whether the path runs back to its start.
        bulge: how far (m) the ends stand out as points.
    """
    points = np.array(path)
    if closed:
        along = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
    else:
        along = np.gradient(points, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.cross(np.array(up), along)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    lift = np.cross(along, side)
    size = np.ones(len(points)) if scale is None else np.array(scale)
    outline = np.array(section)
    rings = points[:, None] + size[:, None, None] * (
        outline[None, :, :1] * side[:, None] + outline[None, :, 1:] * lift[:, None]
    )
    if closed:
        count = len(outline)
        faces = [_band(i * count, (i + 1) % len(points) * count, count) for i in range(len(points))]
        return finish("sweep", rings.reshape(-1, 3), np.vstack(faces))
    return loft(rings, (points[0] - bulge * along[0], points[-1] + bulge * along[-1]))


def circle(radius: float, count: int = 8, squash: float = 1.0) -> Points2:
    """Return a polygon around the origin, `squash` times as high as wide."""
    turns = [2 * math.pi * (i + 0.5) / count for i in range(count)]
    return tuple((radius * math.cos(t), radius * squash * math.sin(t)) for t in turns)


def tube(
    path: Points3,
    radii: float | tuple[float, ...],
    *,
    sides: int = 8,
    up: Vec3 = (0.0, 0.0, 1.0),
    squash: float = 1.0,
) -> MeshData:
    """Return a round bar along a path, `radii` thick (m), with rounded ends."""
    sizes = radii if isinstance(radii, tuple) else (radii,) * len(path)
    points = np.array(path)
    first, last = sizes[0], sizes[-1]
    whole = (
        _beyond(points[1], points[0], first * 0.64),
        *path,
        _beyond(points[-2], points[-1], last * 0.64),
    )
    scale = (first * 0.77, *sizes, last * 0.77)
    return sweep(whole, circle(1.0, sides, squash), scale, up, False, 0.3 * min(first, last))


def _beyond(before: FloatArray, end: FloatArray, by: float) -> Vec3:
    """Return the point `by` (m) past `end`, coming from `before`."""
    way = end - before
    x, y, z = (end + way * by / np.linalg.norm(way)).tolist()
    return (x, y, z)


@cache
def torus(radius: float, thick: float, segments: int = 16, sides: int = 6, squash: float = 1.0) -> MeshData:
    """Return a ring about z: its middle line has `radius` (`squash` times that along y), its bar is `thick`."""
    turns = [2 * math.pi * i / segments for i in range(segments)]
    path = tuple((radius * math.cos(t), radius * squash * math.sin(t), 0.0) for t in turns)
    return sweep(path, circle(thick, sides), closed=True)


def round_rect(half_x: float, half_y: float, radius: float, steps: int = 2) -> Points2:
    """Return a rectangle with round corners, `steps` edges a corner, anticlockwise."""
    radius = min(radius, half_x * 0.999, half_y * 0.999)
    points: list[tuple[float, float]] = []
    for i, (sx, sy) in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        for j in range(steps + 1):
            turn = math.pi / 2 * (i + j / steps)
            x = sx * (half_x - radius) + radius * math.cos(turn)
            points.append((x, sy * (half_y - radius) + radius * math.sin(turn)))
    return tuple(points)


@cache
def rounded_box(half: Vec3, radius: float, corner: float | None = None, steps: int = 1) -> MeshData:
    """Return a box about the origin whose level edges are rounded by `radius` and upright ones by `corner`."""
    x, y, z = half
    radius = min(radius, z * 0.98, x * 0.9, y * 0.9)
    corner = min(max(radius if corner is None else corner, radius), x, y)
    rings: list[list[tuple[float, float, float]]] = []
    turns = [math.pi / 2 * i / steps for i in range(steps + 1)]
    rows = [(radius * (1 - math.sin(t)), -z + radius * (1 - math.cos(t))) for t in turns]
    rows += [(inset, -height) for inset, height in reversed(rows)]
    for inset, height in rows:
        ring = round_rect(
            x - inset, y - inset, max(corner - inset, corner * 0.25), 1 if corner <= radius else 3
        )
        rings.append([(a, b, height) for a, b in ring])
    return loft(np.array(rings))


@cache
def block(half: Vec3) -> MeshData:
    """Return a sharp-edged box about the origin."""
    x, y, z = half
    return extrude(((-x, -y), (x, -y), (x, y), (-x, y)), -z, z)


@cache
def extrude(outline: Points2, low: float, high: float, bevel: float = 0.0) -> MeshData:
    """Return an upright prism over a simple anticlockwise outline, its horizontal edges bevelled by `bevel` (m)."""
    flat = np.array(outline)
    if bevel:
        levels = [
            (inset(flat, bevel), low),
            (flat, low + bevel),
            (flat, high - bevel),
            (inset(flat, bevel), high),
        ]
    else:
        levels = [(flat, low), (flat, high)]
    n = len(flat)
    vertices = np.vstack([np.column_stack([ring, np.full(n, z)]) for ring, z in levels])
    lid = triangulate(levels[0][0])
    faces = [lid[:, ::-1], lid + (len(levels) - 1) * n]
    faces += [_band(i * n, (i + 1) * n, n) for i in range(len(levels) - 1)]
    return finish("extrusion", vertices, np.vstack(faces))


def inset(outline: FloatArray, by: float) -> FloatArray:
    """Return the outline (n, 2) with every side moved inwards by `by` (m)."""
    edge = np.roll(outline, -1, axis=0) - outline
    edge /= np.linalg.norm(edge, axis=1, keepdims=True)
    inward = np.column_stack([-edge[:, 1], edge[:, 0]])
    before = np.roll(inward, 1, axis=0)
    # The mitre is cut where a corner is so sharp that it would run far.
    return outline + by * (inward + before) / np.maximum(
        1 + (inward * before).sum(axis=1, keepdims=True), 0.3
    )


def triangulate(outline: FloatArray) -> NDArray[np.intp]:
    """Return triangles (n - 2, 3) that cover a simple anticlockwise polygon (n, 2), by cutting off ears."""
    left = list(range(len(outline)))
    triangles: list[tuple[int, int, int]] = []
    while len(left) > 3:
        triangles.append(_ear(outline, left))
    return np.array([*triangles, tuple(left)], dtype=np.intp)


def _ear(outline: FloatArray, left: list[int]) -> tuple[int, int, int]:
    """Cut the best shaped ear off the polygon of vertices `left`, and return it."""
    best, where = -1.0, 0
    for i in range(len(left)):
        a, b, c = (outline[left[(i + d) % len(left)]] for d in (-1, 0, 1))
        turn = float(_cross(b - a, c - b))
        if turn <= 0:
            continue
        others = outline[[v for k, v in enumerate(left) if (k - i + 1) % len(left) > 2]]
        inside = np.min([_cross(q - p, others - p) for p, q in ((a, b), (b, c), (c, a))], axis=0) >= 0
        shape = turn / max(math.dist(a, b), math.dist(b, c), math.dist(a, c)) ** 2
        if shape > best and not inside.any():
            best, where = shape, i
    ear = (left[where - 1], left[where], left[(where + 1) % len(left)])
    del left[where]
    return ear


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def placed(mesh: MeshData, pos: Vec3 = (0.0, 0.0, 0.0), quat: Quat = (1.0, 0.0, 0.0, 0.0)) -> MeshData:
    """Return the mesh turned by `quat`, then shifted by `pos`."""
    turn = rotation(quat)
    normals = None if mesh.normals is None else mesh.normals @ turn.T
    return MeshData(mesh.name, mesh.vertices @ turn.T + np.array(pos), mesh.faces, normals, mesh.uv)


def joined(meshes: Sequence[MeshData], name: str = "group") -> MeshData:
    """Return one mesh of several closed ones that are shaded and textured."""
    starts = np.cumsum([0, *(len(m.vertices) for m in meshes[:-1])])
    return MeshData(
        name,
        np.vstack([m.vertices for m in meshes]),
        np.vstack([m.faces + start for m, start in zip(meshes, starts, strict=True)]).astype(np.int32),
        np.concatenate([m.normals for m in meshes if m.normals is not None]),
        np.concatenate([m.uv for m in meshes if m.uv is not None]),
    )


def mirrored(mesh: MeshData, axis: int) -> MeshData:
    """Return the mesh reflected along one axis (0, 1, 2)."""
    sign = np.ones(3)
    sign[axis] = -1.0
    normals = None if mesh.normals is None else mesh.normals[:, ::-1] * sign
    uv = None if mesh.uv is None else mesh.uv[:, ::-1]
    return MeshData(mesh.name, mesh.vertices * sign, mesh.faces[:, ::-1].copy(), normals, uv)


def open_edges(mesh: MeshData) -> int:
    """Return how many directed edges lack their opposite: 0 for a watertight mesh with faces all the same way round."""
    edges = np.vstack([mesh.faces[:, [i, (i + 1) % 3]] for i in range(3)]).astype(np.int64)
    count = len(mesh.vertices)
    there, back = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
    twice = len(there) - len(np.unique(there))
    return twice + int(np.setdiff1d(there, back).size)
