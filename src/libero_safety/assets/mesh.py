"""Triangle meshes: reading, measuring and refusing the ones that physics cannot use."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from libero_safety.assets.asset import MeshData
from libero_safety.errors import LiberoSafetyError

_FLAT = 1e-4
"""Smallest thickness of a usable mesh, as a fraction of its largest extent."""
_SLIVER = 1e-3
"""Smallest volume of a usable mesh, as a fraction of its bounding box."""


@dataclass(frozen=True)
class Surface:
    """Triangles as graphics takes them: vertices (n, 3), faces (m, 3), and of each vertex normal and texture place."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.int32]
    normals: NDArray[np.float32] | None
    uv: NDArray[np.float32] | None


@lru_cache(maxsize=4096)
def surface(mesh: MeshData) -> Surface:
    """Return the mesh with a vertex for each different corner: on both sides of a crease there is one."""
    parts = [mesh.vertices[mesh.faces], *(a for a in (mesh.normals, mesh.uv) if a is not None)]
    rows = np.concatenate(parts, axis=2).reshape(mesh.faces.size, -1).astype(np.float32)
    keys = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()
    _, first, faces = np.unique(keys, return_index=True, return_inverse=True)
    rows = rows[first]
    return Surface(
        rows[:, :3],
        faces.astype(np.int32).reshape(-1, 3),
        None if mesh.normals is None else rows[:, 3:6],
        None if mesh.uv is None else rows[:, -2:],
    )


class MeshError(LiberoSafetyError):
    """A mesh that cannot be a solid body, or a file that holds none."""


def mesh_volume(mesh: MeshData) -> float:
    """Return the signed volume (m^3): negative when the faces are wound inside-out."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def check_mesh(mesh: MeshData, name: str) -> MeshData:
    """Return `mesh` if it bounds a solid.

    Raises:
        MeshError: the mesh is empty, not finite, refers to vertices it lacks, is flat, a sliver or inside-out;
            the message begins with `name`.
    """
    vertices, faces = mesh.vertices, mesh.faces
    if vertices.ndim != 2 or vertices.shape[1:] != (3,) or not len(vertices) or not len(faces):
        raise MeshError(f"{name}: empty: {len(vertices)} vertices, {len(faces)} faces")
    if not np.isfinite(vertices).all():
        row = int(np.flatnonzero(~np.isfinite(vertices).all(axis=1))[0])
        raise MeshError(f"{name}: vertex {row + 1} is not finite: {vertices[row].tolist()}")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise MeshError(f"{name}: a face refers to a vertex outside 1..{len(vertices)}")
    extent = np.ptp(vertices, axis=0)
    spread = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
    if spread[2] <= _FLAT * spread[0]:
        raise MeshError(
            f"{name}: flat: no thickness in one direction (extent {_metres(extent)}), zero volume"
        )
    if len(faces) < 4:
        raise MeshError(f"{name}: not a solid: {len(faces)} faces, at least 4 are needed to enclose anything")
    volume = mesh_volume(mesh)
    if volume < 0:
        raise MeshError(
            f"{name}: inside-out: volume {volume:.3g} m^3; turn the order of each face's vertices"
        )
    box = float(np.prod(extent))
    if volume <= _SLIVER * box:
        raise MeshError(
            f"{name}: a sliver: volume {volume:.3g} m^3 is under {_SLIVER:g} of its box {_metres(extent)}"
        )
    return mesh


def read_obj(path: Path) -> MeshData:
    """Read the vertices and faces of a Wavefront OBJ file; polygons are cut into triangles.

    Raises:
        MeshError: a line that cannot be read, with file and line; or a mesh that `check_mesh` refuses.
    """
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        word, *rest = line.split("#")[0].split() or [""]
        try:
            if word == "v":
                vertices.append([float(x) for x in rest[:3]])
            elif word == "f":
                corners = [_index(corner, len(vertices)) for corner in rest]
                faces += [(corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)]
        except ValueError:
            raise MeshError(f"{path.name}:{number}: cannot read {line.strip()!r}") from None
    if any(len(v) != 3 for v in vertices):
        raise MeshError(f"{path.name}: a vertex without three coordinates")
    mesh = MeshData(
        path.stem,
        np.array(vertices, dtype=np.float64).reshape(-1, 3),
        np.array(faces, dtype=np.int32).reshape(-1, 3),
    )
    return check_mesh(mesh, path.name)


def _index(corner: str, count: int) -> int:
    number = int(corner.split("/")[0])
    return number - 1 if number > 0 else count + number


def _metres(extent: np.ndarray) -> str:
    return " x ".join(f"{v:.4g}" for v in extent) + " m"
