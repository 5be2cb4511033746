"""Meshes and pictures out of a compiled MuJoCo model."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from libero_safety.assets.asset import MeshData, Picture
from libero_safety.assets.mesh import MeshError, check_mesh, mesh_volume
from libero_safety.assets.mjcf_file import AssetFileError
from libero_safety.types import FloatArray

if TYPE_CHECKING:
    import mujoco


def seen_mesh(model: "mujoco.MjModel", index: int) -> MeshData:
    """Return a mesh as it is drawn, with texture coordinates if it has them."""
    first, rows = int(model.mesh_texcoordadr[index]), _rows(model, index)
    uv: FloatArray | None = None
    if first >= 0:
        points = model.mesh_texcoord[first : first + int(model.mesh_texcoordnum[index])]
        uv = points.astype(np.float64)[model.mesh_facetexcoord[rows]]
    return replace(_whole(model, index), uv=uv)


def hull(model: "mujoco.MjModel", index: int, where: str) -> MeshData:
    """Return the convex hull of a mesh that collides.

    Raises:
        AssetFileError: the mesh bounds no solid; the message begins with `where`.
    """
    mesh = _whole(model, index)
    try:
        check_mesh(mesh, f"{where}: mesh {mesh.name!r}")
    except MeshError as problem:
        raise AssetFileError(str(problem)) from None
    # MuJoCo's graph of a hull: two counts, an edge address and a number per vertex, edges, vertex numbers of faces.
    graph = model.mesh_graph[int(model.mesh_graphadr[index]) :].astype(np.int64)
    points, count = int(graph[0]), int(graph[1])
    numbers = np.sort(graph[2 + points : 2 + 2 * points])
    start = 2 + 3 * points + 3 * count
    faces = np.searchsorted(numbers, graph[start : start + 3 * count]).reshape(-1, 3)
    found = MeshData(mesh.name, mesh.vertices[numbers], faces.astype(np.int32))
    return found if mesh_volume(found) > 0 else replace(found, faces=found.faces[:, ::-1].copy())


def texture_of(model: "mujoco.MjModel", geom: int) -> int | None:
    """Return the number of the picture on a geom's material, or None."""
    import mujoco

    material = int(model.geom_matid[geom])
    if material < 0:
        return None
    texture = int(model.mat_texid[material][mujoco.mjtTextureRole.mjTEXROLE_RGB])
    return texture if texture >= 0 else None


def is_flat(model: "mujoco.MjModel", texture: int) -> bool:
    """Return whether a picture is laid out by texture coordinates, not wrapped around a cube."""
    import mujoco

    return int(model.tex_type[texture]) == mujoco.mjtTexture.mjTEXTURE_2D


def picture(model: "mujoco.MjModel", texture: int) -> Picture:
    """Return a picture of the model; that of a cube has its six sides one above the other."""
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    channels, start = int(model.tex_nchannel[texture]), int(model.tex_adr[texture])
    pixels = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    return Picture(np.ascontiguousarray(pixels[..., :3]))


def _whole(model: "mujoco.MjModel", index: int) -> MeshData:
    first, count = int(model.mesh_vertadr[index]), int(model.mesh_vertnum[index])
    vertices = model.mesh_vert[first : first + count].astype(np.float64)
    return MeshData(model.mesh(index).name, vertices, model.mesh_face[_rows(model, index)].astype(np.int32))


def _rows(model: "mujoco.MjModel", index: int) -> slice:
    first = int(model.mesh_faceadr[index])
    return slice(first, first + int(model.mesh_facenum[index]))
