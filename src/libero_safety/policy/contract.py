"""What a policy must return, and the classes of failure when it does not."""

from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.types import ACTION_SIZE, Chunk, Observation, Policy

ErrorClass: TypeAlias = Literal["policy", "contract", "connection"]

_COMPONENTS = ("x", "y", "z", "rotation x", "rotation y", "rotation z", "gripper")


class PolicyError(LiberoSafetyError):
    """A policy gave no usable action: the episode could not be judged.

    Attributes:
        error_class: what to do about it. `policy`: the policy failed in this episode. `contract`: policy and
            benchmark do not fit together, so every episode would fail. `connection`: the way to the policy is
            broken; the episode can be run again from its seed.
    """

    error_class: ClassVar[ErrorClass] = "policy"


class PolicyRaised(PolicyError):
    """The policy's own code raised, here or on its server; the message carries the type and the text."""


class NonFiniteActionError(PolicyError):
    """An action holds NaN or infinity; it never reaches the simulator."""


class ContractError(PolicyError):
    """The policy returned something that is not a chunk of actions, or less of it than was asked for."""

    error_class: ClassVar[ErrorClass] = "contract"


class PolicyConnectionError(PolicyError):
    """The policy's server cannot be reached, went away, or speaks another protocol."""

    error_class: ClassVar[ErrorClass] = "connection"


class PolicyTimeoutError(PolicyConnectionError):
    """The policy's server did not answer in time."""


def check_chunk(actions: object, replan: int | None = None) -> Chunk:
    """Return the actions to execute: (k, 7) float64, finite, a copy that the policy cannot change afterwards.

    Components outside [-1, 1] pass: clipping them is the controller's part.

    Args:
        actions: what the policy returned: anything that NumPy reads as a (k, 7) array of numbers, k >= 1.
        replan: if given, k must be at least this, and only the first `replan` actions are looked at and
            returned.

    Raises:
        ContractError: nothing, not numbers, another shape, or fewer than `replan` actions.
        NonFiniteActionError: NaN or infinity; the message says where.
    """
    array = _numbers(actions)
    if array.ndim != 2 or array.shape[1] != ACTION_SIZE or array.shape[0] == 0:
        hint = f"; a single action is a chunk of shape (1, {ACTION_SIZE})" if array.ndim == 1 else ""
        raise ContractError(
            f"the policy returned actions of shape {array.shape}, "
            f"expected (k, {ACTION_SIZE}) with k >= 1{hint}"
        )
    if replan is not None and array.shape[0] < replan:
        raise ContractError(
            f"the policy returned {array.shape[0]} actions, but {replan} are to be executed before the next "
            f"call; ask for at most {array.shape[0]}"
        )
    chunk = array[:replan].astype(np.float64)
    bad = np.argwhere(~np.isfinite(chunk))
    if bad.size:
        row, column = (int(index) for index in bad[0])
        raise NonFiniteActionError(
            f"action {row} of {chunk.shape[0]} has {chunk[row, column]} in component {column} "
            f"({_COMPONENTS[column]}); {len(bad)} of {chunk.size} numbers are not finite"
        )
    return chunk


def _numbers(actions: object) -> np.ndarray[Any, np.dtype[Any]]:
    if actions is None:
        raise ContractError(f"the policy returned nothing, expected actions of shape (k, {ACTION_SIZE})")
    try:
        array = np.asarray(actions)
    except Exception as error:
        raise ContractError(
            f"the policy returned a {type(actions).__name__} that is no array of numbers: {error}"
        ) from error
    if array.dtype.kind not in "fiu":
        raise ContractError(
            f"the policy returned a {type(actions).__name__} of dtype {array.dtype}, "
            f"expected numbers of shape (k, {ACTION_SIZE})"
        )
    return array


class CheckedPolicy:
    """A policy whose failures are all `PolicyError` and whose chunks all pass `check_chunk`.

    `needs_images`, `attach` and `close` are those of the policy where it has them; a policy without them
    gets images, and nothing is done.
    """

    def __init__(self, policy: Policy) -> None:
        self.inner = policy

    @property
    def needs_images(self) -> bool:
        """Whether observations must hold images; rendering them takes most of the time of an episode."""
        return bool(getattr(self.inner, "needs_images", True))

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode.

        Raises:
            PolicyError: the policy failed to.
        """
        try:
            self.inner.reset(instruction, rng)
        except Exception as error:
            raise _as_policy_error("reset", error) from error

    def act(self, observation: Observation) -> Chunk:
        """Return the next actions, (k, 7), finite.

        Raises:
            PolicyError: there are none.
        """
        try:
            actions = self.inner.act(observation)
        except Exception as error:
            raise _as_policy_error("act", error) from error
        return check_chunk(actions)

    def attach(self, env: Any) -> None:
        """Show the environment to a policy that wants to see privileged state."""
        attach = getattr(self.inner, "attach", None)
        if attach is not None:
            try:
                attach(env)
            except Exception as error:
                raise _as_policy_error("attach", error) from error

    def close(self) -> None:
        """Release what the policy holds, such as a connection."""
        close = getattr(self.inner, "close", None)
        if close is not None:
            close()


def _as_policy_error(where: str, error: Exception) -> PolicyError:
    if isinstance(error, PolicyError):
        return error
    return PolicyRaised(f"the policy raised {type(error).__name__} in {where}(): {error}")
