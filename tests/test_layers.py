"""Imports point one way: a module may import only from those before it in this list."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "libero_safety"

LAYERS = """
    types errors registry rng numba_cache mujoco_log policy.contract ubddl suites assets sim doctor safety rollout
    gym_env selftest plan demo policy semantic data eval studio testing cli_demo cli __main__
""".split()


def layer_of(name: str) -> str:
    """Return the layer of a dotted name in the package: the module's own, if it has one, or its folder's."""
    top, module = (*name.split("."), "")[:2]
    return f"{top}.{module}" if f"{top}.{module}" in LAYERS else top


def imported_layers(source: str, package: list[str]) -> list[tuple[int, str]]:
    """Return (line, layer) of all imports of our own, wherever in the source of a module of `package`."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*parent, *filter(None, [node.module])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        ours = [name for name in names if name.startswith("libero_safety.")]
        found += [(node.lineno, layer_of(name.removeprefix("libero_safety."))) for name in ours]
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_left(path: Path) -> None:
    inside = path.relative_to(PACKAGE)
    own = layer_of(".".join(inside.with_suffix("").parts))
    if own == "__init__":
        return  # the public names come from everywhere
    assert own in LAYERS, f"place {own!r} in LAYERS in {__file__}, after everything it imports"
    package = ["libero_safety", *inside.parent.parts]
    for line, layer in imported_layers(path.read_text(encoding="utf-8"), package):
        assert layer in LAYERS, (
            f"{inside}:{line}: {layer!r} is no layer; import from the module that defines it"
        )
        assert LAYERS.index(layer) <= LAYERS.index(own), f"{inside}:{line}: {own} may not import {layer}"


def test_every_way_to_import_is_seen() -> None:
    source = """
import numpy, libero_safety.eval.metrics
from libero_safety import cli, types
from libero_safety.policy.base import Noop
from libero_safety.policy import contract
from ..safety import monitor
from .. import rollout
from . import scene
def late():
    from libero_safety.studio import serve
"""
    layers = [layer for _, layer in sorted(imported_layers(source, ["libero_safety", "sim"]))]
    assert layers == [
        "eval",
        "cli",
        "types",
        "policy",
        "policy.contract",
        "safety",
        "rollout",
        "sim",
        "studio",
    ]
