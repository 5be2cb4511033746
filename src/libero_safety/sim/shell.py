"""Smooth shells: the surface of blended primitives as a light triangle mesh.

Primitives are signed distances; they are joined by a smooth minimum, and their zero surface is meshed by naive
surface nets (S. F. Gibson, "Constrained elastic surface nets", MICCAI 1998). All lengths in metres.
"""

from dataclasses import dataclass
from functools import cache
from math import cos, sin

import numpy as np
from numpy.typing import NDArray

from libero_safety.types import FloatArray

Vec = tuple[float, ...]


@dataclass(frozen=True)
class Capsule:
    """All points within `radius` of the segment from `start` to `end`."""

    radius: float
    start: Vec
    end: Vec


@dataclass(frozen=True)
class Cylinder:
    """A solid cylinder about the segment from `start` to `end`."""

    radius: float
    start: Vec
    end: Vec


@dataclass(frozen=True)
class Box:
    """A box turned by `yaw` (rad) about z."""

    half: Vec
    pos: Vec
    yaw: float = 0.0


Piece = Capsule | Cylinder | Box


@dataclass(frozen=True)
class Shell:
    """Blended pieces.

    Attributes:
        blend_m: where two pieces come closer than this, a fillet joins them.
        round_m: radius of the edges of boxes and cylinders; smaller than a cell they come out ragged.
        cell_m: edge of the grid cells, about the edge of the triangles.
    """

    pieces: tuple[Piece, ...]
    blend_m: float = 0.02
    round_m: float = 0.0
    cell_m: float = 0.02


def distance(shell: Shell, points: FloatArray) -> FloatArray:
    """Signed distance (m), negative inside, of points (n, 3); not exact within fillets."""
    field = _piece_distance(shell.pieces[0], shell.round_m, points)
    for piece in shell.pieces[1:]:
        other = _piece_distance(piece, shell.round_m, points)
        overlap = np.maximum(shell.blend_m - np.abs(field - other), 0.0) / shell.blend_m
        field = np.minimum(field, other) - overlap**2 * shell.blend_m / 4.0
    return field


def _piece_distance(piece: Piece, edge: float, points: FloatArray) -> FloatArray:
    if isinstance(piece, Box):
        c, s = cos(piece.yaw), sin(piece.yaw)
        local = (points - np.array(piece.pos)) @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return _outside(np.abs(local) - np.array(piece.half) + edge) - edge
    start = np.array(piece.start)
    axis = np.array(piece.end) - start
    length = float(np.linalg.norm(axis))
    along = (points - start) @ (axis / length)
    if isinstance(piece, Capsule):
        nearest = start + np.clip(along, 0.0, length)[:, None] * (axis / length)
        return np.linalg.norm(points - nearest, axis=1) - piece.radius
    radial = np.linalg.norm(points - start - along[:, None] * (axis / length), axis=1)
    excess = np.stack([radial - piece.radius, np.abs(along - length / 2) - length / 2], axis=1)
    return _outside(excess + edge) - edge


def _outside(excess: FloatArray) -> FloatArray:
    """Distance from how far a point exceeds each side."""
    return np.linalg.norm(np.maximum(excess, 0.0), axis=1) + np.minimum(excess.max(axis=1), 0.0)


def _bounds(piece: Piece) -> tuple[FloatArray, FloatArray]:
    if isinstance(piece, Box):
        reach = np.full(3, float(np.linalg.norm(piece.half)))
        return np.array(piece.pos) - reach, np.array(piece.pos) + reach
    ends = np.array([piece.start, piece.end])
    return ends.min(axis=0) - piece.radius, ends.max(axis=0) + piece.radius


@cache
def shell_mesh(shell: Shell) -> tuple[FloatArray, NDArray[np.int64]]:
    """Vertices (n, 3) and triangles (m, 3), wound counter-clockwise seen from outside; do not write to them."""
    corners = [_bounds(piece) for piece in shell.pieces]
    low = np.min([c[0] for c in corners], axis=0) - 2.0 * shell.cell_m
    high = np.max([c[1] for c in corners], axis=0) + 2.0 * shell.cell_m
    axes = [np.arange(a, b, shell.cell_m) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    field = distance(shell, grid.reshape(-1, 3)).reshape(grid.shape[:3])
    vertices, number = _cell_vertices(field)
    vertices = low + vertices * shell.cell_m
    for _ in range(3):
        vertices = _pull_to_surface(shell, vertices)
    return vertices, _triangles(field, number)


def _cell_vertices(field: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """One vertex per cell that the surface crosses, in grid units, and each cell's vertex number (-1: none)."""
    shape = tuple(n - 1 for n in field.shape)
    total, count = np.zeros((*shape, 3)), np.zeros(shape)
    for axis in range(3):
        first = np.take(field, range(field.shape[axis] - 1), axis)
        second = np.take(field, range(1, field.shape[axis]), axis)
        crossing = (first < 0.0) != (second < 0.0)
        share = np.where(crossing, first / np.where(crossing, first - second, 1.0), 0.0)
        u, v = (k for k in range(3) if k != axis)
        for du in (0, 1):
            for dv in (0, 1):
                window = [slice(None)] * 3
                window[u], window[v] = slice(du, du + shape[u]), slice(dv, dv + shape[v])
                hit = crossing[tuple(window)]
                total[..., axis] += np.where(hit, share[tuple(window)], 0.0)
                total[..., u] += du * hit
                total[..., v] += dv * hit
                count += hit
    cells = np.argwhere(count > 0)
    number = np.full(shape, -1, dtype=np.int64)
    number[tuple(cells.T)] = np.arange(len(cells))
    return cells + total[tuple(cells.T)] / count[tuple(cells.T)][:, None], number


def _triangles(field: FloatArray, number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two triangles around every grid edge that the surface crosses."""
    faces: list[NDArray[np.int64]] = []
    inside = field < 0.0
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        first = np.take(inside, range(inside.shape[axis] - 1), axis)
        second = np.take(inside, range(1, inside.shape[axis]), axis)
        edges = np.argwhere(first != second)
        outward = first[tuple(edges.T)]
        step_u, step_v = np.eye(3, dtype=np.int64)[[u, v]]
        ring = [number[tuple((edges - shift).T)] for shift in (0 * step_u, step_u, step_u + step_v, step_v)]
        quads = np.stack(ring, axis=1)
        quads = np.where(outward[:, None], quads, quads[:, ::-1])
        faces += [quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
    return np.concatenate(faces)


def _pull_to_surface(shell: Shell, vertices: FloatArray) -> FloatArray:
    """One Newton step along the gradient, at most half a cell."""
    here, h = distance(shell, vertices), 1e-4
    gradient = np.stack(
        [distance(shell, vertices + h * e) - distance(shell, vertices - h * e) for e in np.eye(3)], axis=1
    ) / (2.0 * h)
    norm = np.maximum((gradient**2).sum(axis=1), 1e-6)
    step = np.clip(here / norm, -0.5 * shell.cell_m, 0.5 * shell.cell_m)
    return vertices - step[:, None] * gradient
