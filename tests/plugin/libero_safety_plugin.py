"""The smallest policy that can be judged: it never moves."""

import numpy as np

from libero_safety.types import Chunk, Observation


class Sleeper:
    """Asks for one idle action with an open gripper at every step."""

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Nothing to forget."""

    def act(self, observation: Observation) -> Chunk:
        """Return a chunk of one action that does nothing."""
        return np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]])
