import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest

from libero_safety.policy import (
    POLICIES,
    ContractError,
    PolicyOptionError,
    PolicyRaised,
    make_policy,
    parse_policy_args,
)
from libero_safety.policy.baselines import NoopPolicy, RandomPolicy
from libero_safety.policy.openpi import OpenpiPolicy
from libero_safety.registry import UnknownNameError
from libero_safety.types import Chunk, Observation


class Recorded:
    """A policy that remembers the options it was made with."""

    def __init__(
        self,
        size: int = 1,
        gain: float = 1.0,
        sharp: bool = False,
        file: Path | None = None,
        view: Literal["left", "right"] = "left",
        limit: int | None = None,
        name: int | str = "",
        table: dict[str, int] | None = None,
    ) -> None:
        self.options = {key: value for key, value in locals().items() if key not in ("self", "__class__")}

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        pass

    def act(self, observation: Observation) -> Chunk:
        return np.zeros((1, 7))


class Speechless:
    """No policy at all."""


def free(**options: object) -> Recorded:
    policy = Recorded()
    policy.options = options
    return policy


def needy(path: Path, count: int) -> Recorded:
    return Recorded()


def broken() -> Recorded:
    raise RuntimeError("no weights")


@pytest.fixture(autouse=True)
def module() -> Iterator[None]:
    module = ModuleType("a_users_policies")
    for thing in (Recorded, free, needy, broken):
        setattr(module, thing.__name__, thing)
    module.ready = Recorded()  # type: ignore[attr-defined]
    module.number = 3  # type: ignore[attr-defined]
    module.wrong = Speechless  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield
    del sys.modules[module.__name__]


def options_of(spec: str, **options: object) -> dict[str, Any]:
    inner = make_policy(f"a_users_policies:{spec}", **options).inner
    assert isinstance(inner, Recorded)
    return inner.options


def test_the_built_in_policies_have_names() -> None:
    assert {"noop", "openpi", "random", "reckless", "replay"} <= set(POLICIES.names())
    assert isinstance(make_policy("noop").inner, NoopPolicy)
    assert isinstance(make_policy("random", chunk="4").inner, RandomPolicy)
    assert isinstance(make_policy("openpi", url="ws://there:1", replan="3").inner, OpenpiPolicy)


def test_files_of_the_built_in_policies_come_as_text(tmp_path: Path) -> None:
    file = tmp_path / "trace.npz"
    np.savez(file, executed=np.full((2, 7), 0.5))
    policy = make_policy("replay", actions=str(file))
    np.testing.assert_array_equal(policy.act(Observation({}, np.zeros(8), "", 0.0)), np.full((1, 7), 0.5))
    assert not policy.needs_images
    make_policy("reckless", keyposes=str(tmp_path / "pour.toml"), gain="2", step_limit="50")


def test_an_unknown_policy_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="unknown policy 'recless', did you mean 'reckless'"):
        make_policy("recless")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("size", "5", 5),
        ("gain", "2.5", 2.5),
        ("gain", "1e-3", 1e-3),
        ("sharp", "true", True),
        ("sharp", "No", False),
        ("file", "a/b.npz", Path("a/b.npz")),
        ("file", "none", None),
        ("view", "right", "right"),
        ("limit", "7", 7),
        ("limit", "none", None),
        ("name", "7", 7),
        ("name", "seven=7", "seven=7"),
    ],
)
def test_text_becomes_what_the_parameter_is_annotated_with(key: str, text: str, value: object) -> None:
    assert options_of("Recorded", **{key: text})[key] == value


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("size", "5.0", "'5.0' is not a whole number"),
        ("gain", "fast", "'fast' is not a number"),
        ("sharp", "maybe", "'maybe' is not one of true, yes, 1"),
        ("view", "rigth", "not one of left, right, did you mean 'right'"),
        ("limit", "many", "'many' is not one of none; 'many' is not a whole number"),
        ("table", "a:1", "cannot be read from text"),
    ],
)
def test_text_that_cannot_be_read_is_an_error(key: str, text: str, message: str) -> None:
    with pytest.raises(PolicyOptionError, match=f"option {key} of policy .*{message}"):
        options_of("Recorded", **{key: text})


def test_objects_pass_as_they_are() -> None:
    assert options_of("Recorded", table={"a": 1})["table"] == {"a": 1}


def test_an_option_that_the_policy_lacks_gets_the_nearest() -> None:
    with pytest.raises(PolicyOptionError, match="no option 'ulr', did you mean 'url'"):
        make_policy("openpi", ulr="ws://localhost:8000")


def test_a_function_may_take_any_option() -> None:
    assert options_of("free", anything="1") == {"anything": "1"}


def test_a_missing_option_is_named() -> None:
    with pytest.raises(PolicyOptionError, match=r"needs path=\.\.\. and count=\.\.\."):
        make_policy("a_users_policies:needy")


def test_a_ready_object_is_used_as_it_is() -> None:
    module = sys.modules["a_users_policies"]
    assert make_policy("a_users_policies:ready").inner is module.ready  # type: ignore[attr-defined]
    with pytest.raises(PolicyOptionError, match="takes no options, but was given size"):
        make_policy("a_users_policies:ready", size="1")


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(ContractError, match="is a int, expected a class"):
        make_policy("a_users_policies:number")
    with pytest.raises(ContractError, match=r"is a Speechless without a method reset\(\)"):
        make_policy("a_users_policies:wrong")


def test_a_policy_that_cannot_be_made_says_why() -> None:
    with pytest.raises(PolicyRaised, match="RuntimeError: no weights"):
        make_policy("a_users_policies:broken")


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert parse_policy_args(["url=ws://a:1/?q=2", "chunk=5"]) == {"url": "ws://a:1/?q=2", "chunk": "5"}


@pytest.mark.parametrize("pairs", [["chunk"], ["=5"], ["a b=5"], ["chunk=5", "chunk=6"]])
def test_other_pairs_are_refused(pairs: list[str]) -> None:
    with pytest.raises(PolicyOptionError, match=r"KEY=VALUE|given twice"):
        parse_policy_args(pairs)
