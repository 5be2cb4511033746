"""Shells: closed, outward, and where the primitives say."""

import numpy as np
import pytest

from libero_safety.sim.shell import Box, Capsule, Cylinder, Piece, Shell, distance, shell_mesh


def volume(shell: Shell) -> float:
    """Volume (m^3) that the mesh encloses; negative if it is inside-out."""
    vertices, faces = shell_mesh(shell)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (Capsule(0.05, (0.0, 0.0, 0.0), (0.0, 0.1, 0.0)), np.pi * 0.05**2 * (0.1 + 4 / 3 * 0.05)),
        (Cylinder(0.05, (0.0, 0.0, 0.0), (0.12, 0.0, 0.0)), np.pi * 0.05**2 * 0.12),
        (Box((0.05, 0.06, 0.07), (0.1, 0.0, 0.0), 0.6), 8 * 0.05 * 0.06 * 0.07),
    ],
)
def test_mesh_encloses_the_volume_of_the_primitive(piece: Piece, expected: float) -> None:
    assert volume(Shell((piece,), cell_m=0.008)) == pytest.approx(expected, rel=0.04)


def test_mesh_is_closed() -> None:
    pieces = (
        Capsule(0.05, (0.0, 0.0, 0.0), (0.0, 0.0, 0.2)),
        Capsule(0.04, (0.0, 0.0, 0.1), (0.15, 0.0, 0.1)),
    )
    _, faces = shell_mesh(Shell(pieces))
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    _, shared = np.unique(edges, axis=0, return_counts=True)
    assert (shared == 2).all()


def test_vertices_lie_on_the_surface() -> None:
    shell = Shell((Capsule(0.05, (0.0, 0.0, 0.0), (0.0, 0.0, 0.1)),))
    vertices, _ = shell_mesh(shell)
    assert np.abs(distance(shell, vertices)).max() < 1e-5


def test_a_fillet_only_adds() -> None:
    pieces = (
        Capsule(0.05, (0.0, 0.0, 0.0), (0.0, 0.0, 0.2)),
        Capsule(0.04, (0.0, 0.0, 0.1), (0.15, 0.0, 0.1)),
    )
    points = np.random.default_rng(0).uniform(-0.2, 0.3, (500, 3))
    sharp, blended = (distance(Shell(pieces, blend_m=blend), points) for blend in (1e-9, 0.03))
    assert (blended <= sharp + 1e-12).all()
    assert (blended < sharp - 1e-4).any()


def test_round_edges_keep_the_sides() -> None:
    box = Shell((Box((0.05, 0.05, 0.05), (0.0, 0.0, 0.0)),), round_m=0.02)
    assert distance(box, np.array([[0.06, 0.0, 0.0]])) == pytest.approx([0.01])
    corner = np.sqrt(3.0) * 0.02 - 0.02
    assert distance(box, np.array([[0.05, 0.05, 0.05]])) == pytest.approx([corner])
