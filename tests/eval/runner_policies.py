"""Policies that fail in every way a policy can; named `runner_policies:Name` in the tests."""

import sys
import time
from collections.abc import Callable

import numpy as np

from libero_safety.policy.contract import PolicyConnectionError
from libero_safety.types import Observation


class Scripted:
    """Moves at random, also through NumPy's global generator, until it does something else."""

    needs_images = False

    def __init__(self, at: int = 3) -> None:
        self._at = at

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        self._step, self._rng = 0, rng

    def act(self, observation: Observation) -> object:
        self._step += 1
        np.random.rand()  # noqa: NPY002
        action = self._rng.uniform(-1.0, 1.0, (1, 7))
        return self.trick(action) if self._step == self._at else action

    def trick(self, action: np.ndarray) -> object:
        return action


def tricks(trick: Callable[[np.ndarray], object]) -> type[Scripted]:
    return type("Trick", (Scripted,), {"trick": lambda self, action: trick(action)})


def _raise(error: BaseException) -> object:
    raise error


Random = Scripted
Nan = tricks(lambda action: np.where(np.arange(7) == 3, np.nan, action))
Nothing = tricks(lambda action: None)
Flat = tricks(lambda action: action[0])
Raises = tricks(lambda action: _raise(ValueError("out of ideas")))
Lost = tricks(lambda action: _raise(PolicyConnectionError("server went away")))
Exits = tricks(lambda action: sys.exit(4))
Hangs = tricks(lambda action: time.sleep(60))


class Looks(Scripted):
    """Checks that it sees what was asked for."""

    needs_images = True

    def act(self, observation: Observation) -> object:
        shapes = {name: image.shape for name, image in observation.images.items()}
        assert shapes == {"agentview": (48, 48, 3), "robot0_eye_in_hand": (48, 48, 3)}, shapes
        return super().act(observation)
