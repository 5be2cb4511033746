"""Meshes that physics cannot use are refused by file and cause."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from libero_safety.assets.asset import MeshData, Shape
from libero_safety.assets.geometry import support, volume_m3
from libero_safety.assets.mesh import MeshError, check_mesh, mesh_volume, read_obj

FIXTURE = Path(__file__).parents[3] / "shared" / "fixtures" / "m01_flat.obj"
FLAT = "v 0 0 0\nv 0.1 0 0\nv 0.1 0.1 0\nv 0 0.1 0\nf 1 2 3\nf 1 3 4\nf 1 3 2\nf 1 4 3\n"
CUBE = """
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0 0 1
v 1 0 1
v 1 1 1  # the far corner
v 0 1 1
f 1 4 3 2
f 5/1/1 6/2/1 7/3/1 8/4/1
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 -4
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_cube_is_read_and_measured(tmp_path: Path) -> None:
    mesh = read_obj(write(tmp_path, "cube.obj", CUBE))
    assert mesh.faces.shape == (12, 3)
    assert mesh_volume(mesh) == pytest.approx(1.0)
    shape = Shape("mesh", (), mesh=mesh)
    assert volume_m3(shape) == pytest.approx(1.0)
    assert support(shape, np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])) == pytest.approx([1.0, 0.0])


def test_a_flat_mesh_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match=r"m01_flat\.obj: flat: .*zero volume"):
        read_obj(write(tmp_path, "m01_flat.obj", FLAT))


def test_the_flat_fixture_is_refused() -> None:
    if not FIXTURE.exists():
        pytest.skip("shared fixtures are not here")
    with pytest.raises(MeshError, match=r"m01_flat\.obj: flat"):
        read_obj(FIXTURE)


def test_a_sliver_is_refused(tmp_path: Path) -> None:
    # A needle along the diagonal of a 1 m cube: thick enough not to be flat, but almost nothing of its box.
    corners = "v 0 0 0\nv 1 1 0.9\nv 1 1 1\nv 0.999 1 1\n"
    with pytest.raises(MeshError, match=r"m02_sliver\.obj: a sliver: volume"):
        read_obj(write(tmp_path, "m02_sliver.obj", corners + "f 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"))


def test_a_thin_plate_is_not_a_sliver(tmp_path: Path) -> None:
    thin = "\n".join(
        " ".join([*line.split()[:3], "0.001"]) if line.startswith("v") and line.split()[3] == "1" else line
        for line in CUBE.splitlines()
    )
    assert mesh_volume(read_obj(write(tmp_path, "sheet.obj", thin))) == pytest.approx(0.001)


def test_an_inside_out_mesh_is_refused(tmp_path: Path) -> None:
    lines = [
        " ".join(["f", *line.split()[:0:-1]]) if line.startswith("f") else line for line in CUBE.splitlines()
    ]
    with pytest.raises(MeshError, match=r"m03_inside_out\.obj: inside-out: volume -1"):
        read_obj(write(tmp_path, "m03_inside_out.obj", "\n".join(lines)))


def test_not_finite_empty_and_dangling_meshes_are_refused(tmp_path: Path) -> None:
    cube = read_obj(write(tmp_path, "cube.obj", CUBE))
    broken = cube.vertices.copy()
    broken[2, 1] = np.nan
    with pytest.raises(MeshError, match="x: vertex 3 is not finite"):
        check_mesh(replace(cube, vertices=broken), "x")
    with pytest.raises(MeshError, match=r"x: a face refers to a vertex outside 1\.\.8"):
        check_mesh(replace(cube, faces=cube.faces + 1), "x")
    with pytest.raises(MeshError, match="x: empty: 0 vertices, 0 faces"):
        check_mesh(MeshData("x", np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int32)), "x")


def test_an_unreadable_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match=r"bad\.obj:2: cannot read 'v 1 one 0'"):
        read_obj(write(tmp_path, "bad.obj", "v 0 0 0\nv 1 one 0\n"))
