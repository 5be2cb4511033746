"""What docs/policies.md shows works as it stands."""

import inspect
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from libero_safety.demo.keypose import parse_keyposes
from libero_safety.policy import PolicyError, contract, make_policy
from libero_safety.policy.load import POLICIES
from libero_safety.types import Observation

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_policy_can_be_named_and_returns_a_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition, use = blocks("python")
    assert "class Descend" in definition
    (tmp_path / "my_policies.py").write_text(definition)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_policies", raising=False)
    names: dict[str, object] = {}
    exec(compile(use, "docs/policies.md", "exec"), names)
    for policy in (names["policy"], make_policy("my_policies:Descend", speed="0.2")):
        policy.reset("", np.random.Generator(np.random.PCG64(0)))  # type: ignore[attr-defined]
        chunk = policy.act(Observation({}, np.zeros(8), "", 0.0))  # type: ignore[attr-defined]
        np.testing.assert_array_equal(chunk, [[0, 0, -0.2, 0, 0, 0, -1]])


def test_the_entry_point_group_is_the_one_that_is_asked() -> None:
    (toml,) = (block for block in blocks("toml") if "entry-points" in block)
    assert list(tomllib.loads(toml)["project"]["entry-points"]) == ["libero_safety.policies"]


def test_the_example_keypose_can_be_read() -> None:
    (toml,) = (block for block in blocks("toml") if "[[keypose]]" in block)
    (keypose,) = parse_keyposes(toml, "docs/policies.md")
    assert keypose.wait_steps == 12


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}")[1].split("\n## ")[0]
    return [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in section.split("\n")
        if line[:3] == "| `"
    ]


def test_every_failure_is_listed_with_its_class() -> None:
    listed = {name: error_class for error_class, name, _ in rows("Failures")}
    defined = {
        name: kind.error_class
        for name, kind in vars(contract).items()
        if isinstance(kind, type) and issubclass(kind, PolicyError) and kind is not PolicyError
    }
    assert listed == defined


def test_the_options_of_openpi_are_listed_with_their_defaults() -> None:
    listed = {name: default for name, default, _ in rows("openpi (π0, π0.5)")}
    parameters = inspect.signature(POLICIES.get("openpi")).parameters.values()
    defined = {p.name: "none" if p.default is None else f"{p.default}".removesuffix(".0") for p in parameters}
    assert listed == defined


def test_every_built_in_policy_is_named() -> None:
    assert {row[0] for row in rows("Baselines")} | {"openpi"} == {
        "noop",
        "openpi",
        "random",
        "reckless",
        "replay",
    }
