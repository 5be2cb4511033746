"""Where the felt pieces and the seen surface of an asset are, sampled, for tests."""

import numpy as np

from libero_safety.assets.asset import Asset, MeshData, Shape
from libero_safety.assets.geometry import moved, rotation
from libero_safety.assets.solid import signed_distance


def felt(asset: Asset) -> list[Shape]:
    """Return the colliding pieces in the root frame, joints at zero."""
    return _in_root(asset, visual=False)


def seen(asset: Asset) -> list[Shape]:
    """Return the pieces that are only seen, in the root frame, joints at zero."""
    return _in_root(asset, visual=True)


def _in_root(asset: Asset, *, visual: bool) -> list[Shape]:
    root = asset.links[0].name
    pairs = [(k, s) for k in asset.links for s in k.shapes if (s.role == "visual") == visual]
    return [s if k.name == root else moved(s, k.pos, k.quat) for k, s in pairs]


def vertices(shape: Shape) -> np.ndarray:
    """Return the vertices of a mesh shape in the frame that it is in."""
    assert shape.mesh is not None
    return shape.mesh.vertices @ rotation(shape.quat).T + np.asarray(shape.pos)


def farthest_outside(asset: Asset) -> tuple[float, str]:
    """Return how far (m) the seen surface stands out of the felt pieces at most, and in which part."""
    pieces = felt(asset)
    worst = (-1.0, "")
    for shape in seen(asset):
        points = vertices(shape)
        out = np.min([signed_distance(s, points) for s in pieces], axis=0).max()
        worst = max(worst, (float(out), shape.part))
    return worst


def volumes(asset: Asset, per_axis: int = 40) -> tuple[float, float]:
    """Return the volumes (m^3) of the union of the felt pieces and of the union of the seen meshes, by sampling."""
    surfaces = [(vertices(s), s.mesh) for s in seen(asset) if s.mesh is not None]
    pieces = felt(asset)
    corners = np.vstack([v for v, _ in surfaces])
    low, high = corners.min(axis=0) - 0.004, corners.max(axis=0) + 0.004
    axes = [low[i] + (high[i] - low[i]) * (np.arange(per_axis) + 0.5) / per_axis for i in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    cell = float(np.prod((high - low) / per_axis))
    in_felt = np.min([signed_distance(s, points) for s in pieces], axis=0) < 0
    in_seen = np.zeros((per_axis, per_axis, per_axis), dtype=bool)
    for where, mesh in surfaces:
        in_seen |= _inside(where, mesh, axes)
    return float(in_felt.sum()) * cell, float(in_seen.sum()) * cell


def _inside(where: np.ndarray, mesh: MeshData, axes: list[np.ndarray]) -> np.ndarray:
    """Return which points of a grid have a positive winding number: crossings above, counted by direction."""
    x, y, z = axes
    winding = np.zeros((len(x), len(y), len(z)), dtype=int)
    for a, b, c in where[mesh.faces]:
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-14:
            continue
        low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
        i = slice(*np.searchsorted(x, (low[0], high[0])))
        j = slice(*np.searchsorted(y, (low[1], high[1])))
        gx, gy = x[i, None], y[None, j]
        v = ((gx - a[0]) * (c[1] - a[1]) - (gy - a[1]) * (c[0] - a[0])) / area
        w = ((b[0] - a[0]) * (gy - a[1]) - (b[1] - a[1]) * (gx - a[0])) / area
        hit = (v >= 0) & (w >= 0) & (v + w < 1)
        level = a[2] + v * (b[2] - a[2]) + w * (c[2] - a[2])
        below = z[None, None, :] < level[:, :, None]
        winding[i, j] += (below & hit[:, :, None]) * (1 if area > 0 else -1)
    return winding > 0
