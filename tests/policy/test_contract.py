import numpy as np
import pytest

from libero_safety.policy.contract import (
    CheckedPolicy,
    ContractError,
    NonFiniteActionError,
    PolicyConnectionError,
    PolicyError,
    PolicyRaised,
    PolicyTimeoutError,
    check_chunk,
)
from libero_safety.types import Observation

OBSERVATION = Observation({}, np.zeros(8), "do nothing", 0.0)


class Policy:
    """Returns what it was made with, or raises it."""

    def __init__(self, actions: object = None) -> None:
        self.actions = actions

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        pass

    def act(self, observation: Observation) -> object:
        if isinstance(self.actions, BaseException):
            raise self.actions
        return self.actions


def act(actions: object) -> np.ndarray:
    policy = CheckedPolicy(Policy(actions))  # type: ignore[arg-type]
    policy.reset("do nothing", np.random.Generator(np.random.PCG64(0)))
    return policy.act(OBSERVATION)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (None, "returned nothing"),
        (np.zeros(7), r"shape \(7,\), expected \(k, 7\).*shape \(1, 7\)"),
        (np.zeros((3, 8)), r"shape \(3, 8\)"),
        (np.zeros((0, 7)), r"shape \(0, 7\)"),
        (np.zeros((1, 1, 7)), r"shape \(1, 1, 7\)"),
        ([[0.0] * 7, [0.0] * 6], "no array of numbers"),
        ({"actions": np.zeros((1, 7))}, "a dict of dtype object"),
        ([["0"] * 7], "dtype <U1"),
        (np.zeros((1, 7), bool), "dtype bool"),
        (np.zeros((1, 7), complex), "dtype complex128"),
    ],
)
def test_what_is_no_chunk_is_a_contract_error(actions: object, message: str) -> None:
    with pytest.raises(ContractError, match=message) as error:
        act(actions)
    assert error.value.error_class == "contract"


def test_what_numpy_reads_as_numbers_passes_as_float64() -> None:
    for actions in ([[1, 0, 0, 0, 0, 0, -1]], np.array([[1, 0, 0, 0, 0, 0, -1]], np.float32)):
        chunk = act(actions)
        assert chunk.dtype == np.float64
        np.testing.assert_array_equal(chunk, [[1, 0, 0, 0, 0, 0, -1]])


def test_actions_beyond_one_are_left_to_the_controller() -> None:
    np.testing.assert_array_equal(act(np.full((2, 7), 30.0)), np.full((2, 7), 30.0))


def test_the_policy_cannot_change_a_chunk_afterwards() -> None:
    actions = np.zeros((2, 7))
    chunk = act(actions)
    actions[:] = 1.0
    assert not chunk.any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_found(value: float) -> None:
    actions = np.zeros((10, 7))
    actions[4, 3] = value
    with pytest.raises(NonFiniteActionError, match=f"action 4 of 10 has {value} in component 3") as error:
        act(actions)
    assert error.value.error_class == "policy"


def test_a_chunk_shorter_than_what_is_to_be_executed_gives_both_numbers() -> None:
    with pytest.raises(ContractError, match="returned 3 actions, but 5 are to be executed"):
        check_chunk(np.zeros((3, 7)), replan=5)


def test_only_the_actions_to_execute_count() -> None:
    actions = np.zeros((10, 7))
    actions[5:] = np.nan
    assert check_chunk(actions, replan=5).shape == (5, 7)


def test_what_a_policy_raises_becomes_a_policy_error() -> None:
    with pytest.raises(PolicyRaised, match=r"raised ZeroDivisionError in act\(\): by zero") as error:
        act(ZeroDivisionError("by zero"))
    assert error.value.error_class == "policy"
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_a_policy_error_keeps_its_class() -> None:
    with pytest.raises(PolicyTimeoutError) as error:
        act(PolicyTimeoutError("too slow"))
    assert error.value.error_class == "connection"


def test_leaving_the_program_is_no_policy_error() -> None:
    with pytest.raises(KeyboardInterrupt):
        act(KeyboardInterrupt())


def test_reset_and_attach_are_covered_too() -> None:
    class Broken(Policy):
        needs_images = False

        def reset(self, instruction: str, rng: np.random.Generator) -> None:
            raise KeyError("no such word")

        def attach(self, env: object) -> None:
            raise TypeError("not that env")

    policy = CheckedPolicy(Broken())  # type: ignore[arg-type]
    assert not policy.needs_images
    with pytest.raises(PolicyRaised, match=r"KeyError in reset\(\)"):
        policy.reset("", np.random.Generator(np.random.PCG64(0)))
    with pytest.raises(PolicyRaised, match=r"TypeError in attach\(\)"):
        policy.attach(object())


def test_attach_and_close_reach_the_policy_that_has_them() -> None:
    class Attached(Policy):
        env: object = None
        closed = False

        def attach(self, env: object) -> None:
            self.env = env

        def close(self) -> None:
            self.closed = True

    inner = Attached()
    policy = CheckedPolicy(inner)  # type: ignore[arg-type]
    env = object()
    policy.attach(env)
    policy.close()
    assert inner.env is env
    assert inner.closed

    plain = CheckedPolicy(Policy())  # type: ignore[arg-type]
    assert plain.needs_images
    plain.attach(env)
    plain.close()


def test_every_failure_has_a_class_that_an_episode_knows() -> None:
    for kind in (
        ContractError,
        NonFiniteActionError,
        PolicyConnectionError,
        PolicyRaised,
        PolicyTimeoutError,
    ):
        assert issubclass(kind, PolicyError)
        assert kind.error_class in {"policy", "contract", "connection"}
