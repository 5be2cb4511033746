"""Run a logged episode again from its actions and compare every state."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from libero_safety.assets.catalog import Catalog, catalog_of
from libero_safety.data.runlog import Record, Run
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.frames import logged_draw
from libero_safety.policy.baselines import ReplayPolicy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.sim.env import Env
from libero_safety.types import Episode, Key

PARTS_SINCE = 2
"""The first format of run logs in which violations have parts."""


class ReplayError(LiberoSafetyError):
    """An episode that cannot be replayed."""


@dataclass(frozen=True)
class Drift:
    """How a replay differs from the log.

    Attributes:
        steps: control steps that were compared.
        first_step: the first row whose state hash differs; None when all are equal.
        worst_m: largest distance between the two end-effector paths (m).
        same_outcome: whether outcome and violations are the same.
    """

    key: Key
    steps: int
    first_step: int | None
    worst_m: float
    same_outcome: bool

    @property
    def exact(self) -> bool:
        """Whether the replay is the logged episode, bit for bit."""
        return self.first_step is None and self.same_outcome


def replay(run: Run, record: Record, catalog: Catalog | None = None) -> tuple[Episode, Drift]:
    """Execute a logged episode's actions in a scene rebuilt from its log.

    Raises:
        ReplayError: the episode has no trace.
    """
    logged = run.episode(record)
    if logged.trace is None or not len(logged.trace.executed):
        raise ReplayError(f"{record.key} has no trace to replay (outcome {record.episode.outcome})")
    env = Env(catalog or catalog_of(run.header.config.assets), render=False)
    draw = logged_draw(run, record)
    config = RolloutConfig(horizon=len(logged.trace.executed), on_violation=run.header.config.on_violation)
    again = run_episode(env, ReplayPolicy(logged.trace.executed), draw, config)
    if again.trace is None:
        raise ReplayError(f"{record.key}: {again.error}")
    rows = min(len(logged.trace.state_hash), len(again.trace.state_hash))
    different = np.flatnonzero(logged.trace.state_hash[:rows] != again.trace.state_hash[:rows])
    first = int(different[0]) if len(different) else None
    if first is None and len(logged.trace.state_hash) != len(again.trace.state_hash):
        first = rows
    gaps = np.linalg.norm(logged.trace.eef_pos[:rows] - again.trace.eef_pos[:rows], axis=1)
    known = again.violations
    if run.header.format < PARTS_SINCE:
        known = tuple(dataclasses.replace(v, part=None) for v in known)
    same = (again.outcome, known) == (logged.outcome, logged.violations) or (
        # The logged horizon was longer than the actions that an error cut short.
        logged.outcome == "error"
    )
    return again, Drift(record.key, rows - 1, first, float(gaps.max()), same)
