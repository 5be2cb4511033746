import subprocess
import sys
from pathlib import Path

import pytest

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import (
    DuplicateNameError,
    Registry,
    UnknownNameError,
    import_attribute,
    near_match,
)

PLUGIN = Path(__file__).parent / "plugin"
GROUP = "libero_safety.policies"


@pytest.fixture
def policies() -> Registry[object]:
    return Registry("policy", GROUP, {"reckless": object(), "noop": object()})


def test_a_registered_thing_is_found(policies: Registry[object]) -> None:
    thing = object()
    policies.add("mine", thing)
    assert policies.get("mine") is thing
    assert "mine" in policies.names()


def test_a_name_is_given_once(policies: Registry[object]) -> None:
    with pytest.raises(DuplicateNameError, match="policy 'noop' exists already"):
        policies.add("noop", object())


def test_a_misspelt_name_gets_the_nearest_and_all_known(policies: Registry[object]) -> None:
    with pytest.raises(UnknownNameError, match="unknown policy 'recless', did you mean 'reckless'") as error:
        policies.get("recless")
    assert "noop, reckless" in str(error.value)


def test_two_registries_share_nothing() -> None:
    builtin: dict[str, object] = {"a": 1}
    first, second = Registry("thing", "no.such.group", builtin), Registry("thing", "no.such.group", builtin)
    first.add("b", 2)
    assert second.names() == ["a"]
    assert builtin == {"a": 1}


def test_module_colon_attribute_is_imported(policies: Registry[object]) -> None:
    assert policies.get("pathlib:Path") is Path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module_here:x", "cannot import module 'no_such_module_here'"),
        ("pathlib:Pth", "module 'pathlib' has no 'Pth', did you mean 'Path'"),
    ],
)
def test_a_wrong_path_says_what_is_wrong(path: str, message: str) -> None:
    with pytest.raises(LiberoSafetyError, match=message):
        import_attribute(path)


def test_near_match_is_silent_when_nothing_is_near() -> None:
    assert near_match("zzz", ["reckless", "noop"]) == ""


def test_an_installed_plugin_is_found_by_its_name(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the plugin is built with hatchling")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    subprocess.run([*install, "--target", str(tmp_path), str(PLUGIN)], check=True, capture_output=True)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from libero_safety.registry import Registry
policies = Registry("policy", {GROUP!r}, {{"noop": None}})
assert "libero_safety_plugin" not in sys.modules
assert policies.names() == ["noop", "plugin-sleeper"], policies.names()
assert "libero_safety_plugin" not in sys.modules, "listing names loads nothing"
print(policies.get("plugin-sleeper").__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "libero_safety_plugin", done.stderr
