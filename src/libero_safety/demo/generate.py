"""From a scenario to a demonstration: a draw, its keyposes, a plan, and the same roll-out that judges policies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from libero_safety.demo.expert import ExpertPolicy
from libero_safety.demo.report import ExpertReport, Failure
from libero_safety.errors import LiberoSafetyError
from libero_safety.rng import rng_for
from libero_safety.rollout import InvalidStartError, RolloutConfig, refuse_invalid_start, run_episode
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.types import HORIZON, Episode, Key, Trace
from libero_safety.ubddl.sample import Draw, sample
from libero_safety.ubddl.spec import Scenario

TRIES = 5
"""How often a draw is tried, each time with other variants of the keyposes."""
_FINAL = ("no_draw", "invalid_start", "no_keyposes", "bad_keypose", "plan_timeout")
"""Reasons that other variants cannot mend, or must not: the clock decides nothing."""


@dataclass(frozen=True)
class Demo:
    """A demonstration: an episode that reached its goal and broke no rule.

    Attributes:
        draw: the scene.
        episode: what happened, its trace included.
        report: what the expert decided.
        tries: how many were needed.
    """

    draw: Draw
    episode: Episode
    report: ExpertReport
    tries: int

    @property
    def trace(self) -> Trace:
        """Actions, states, clearance and force, step by step."""
        assert self.episode.trace is not None, "a demonstration has been carried out"
        return self.episode.trace


@dataclass(frozen=True)
class Reject:
    """A draw that gave no demonstration.

    Attributes:
        failure: why the last try failed.
        tries: how many were made.
        draw: the scene; None when it could not be drawn.
        report: what the expert decided in the last try.
    """

    key: Key
    failure: Failure
    tries: int
    draw: Draw | None = None
    report: ExpertReport = field(default_factory=ExpertReport)


@dataclass(frozen=True)
class Plan:
    """A whole task planned without physics.

    Attributes:
        draw: the scene.
        report: what the expert decided; steps are those of the motions.
    """

    draw: Draw
    report: ExpertReport


def generate(
    jobs: Iterable[tuple[Scenario, Key]],
    env: Env,
    *,
    tries: int = TRIES,
    horizon: int = HORIZON,
    keyposes: Path | None = None,
) -> Iterator[Demo | Reject]:
    """Yield what comes of each draw, in order.

    Args:
        jobs: scenarios at one level, and the keys of the episodes to draw from them.
        env: where it happens.
        tries: how often a draw is tried, each time with other variants of the keyposes.
        horizon: control steps after which a try is over.
        keyposes: a TOML file of keyposes; by default those of each scenario's task.
    """
    for scenario, key in jobs:
        yield _one(scenario, key, env, tries, RolloutConfig(horizon), keyposes)


def _one(
    scenario: Scenario, key: Key, env: Env, tries: int, config: RolloutConfig, keyposes: Path | None
) -> Demo | Reject:
    draw = _draw(scenario, key, env)
    if isinstance(draw, Reject):
        return draw
    made: Demo | Reject = Reject(key, Failure("internal", "", "nothing was tried"), 0, draw)
    for number in range(1, tries + 1):
        made = _try(draw, env, number, config, keyposes)
        if isinstance(made, Demo) or made.failure.reason in _FINAL:
            break
    return made


def plan(
    jobs: Iterable[tuple[Scenario, Key]], env: Env, *, keyposes: Path | None = None
) -> Iterator[Plan | Reject]:
    """Yield the plan of each draw as if every motion ended where it should; physics only lets the scene settle."""
    for scenario, key in jobs:
        draw = _draw(scenario, key, env)
        if isinstance(draw, Reject):
            yield draw
            continue
        expert = ExpertPolicy(keyposes, vary=True)
        expert.attach(env)
        expert.reset(str(draw.scenario.instruction), rng_for(key, "policy"))
        report = expert.foresee()
        yield (
            Reject(key, report.failure, 1, draw, report) if report.failure is not None else Plan(draw, report)
        )


def _draw(scenario: Scenario, key: Key, env: Env) -> Draw | Reject:
    """Draw a scene, build it, and see that it is a fair start."""
    draw: Draw | None = None
    try:
        draw = sample(scenario, key, env.catalog)
        env.hooks = []
        env.reset(draw)
        refuse_invalid_start(env, MonitorSet(env.scene, env.data))
    except InvalidStartError as error:
        return Reject(key, Failure("invalid_start", "", str(error)), 1, draw)
    except LiberoSafetyError as error:
        return Reject(key, Failure("no_draw", "", str(error)), 1, draw)
    return draw


def _try(draw: Draw, env: Env, number: int, config: RolloutConfig, keyposes: Path | None) -> Demo | Reject:
    expert = _Attempt(keyposes, number)
    episode = run_episode(env, expert, draw, config)
    report = expert.report()
    if episode.outcome == "success":
        return Demo(draw, episode, report, number)
    return Reject(draw.key, report.failure or _failure(episode, report), number, draw, report)


def _failure(episode: Episode, report: ExpertReport) -> Failure:
    """Say why an episode failed of which the expert itself did not give up."""
    stage = report.stages[-1].name if report.stages else ""
    if episode.outcome == "violation":
        first = episode.violations[0]
        where = f" ({first.where})" if first.where else ""
        detail = f"{first.rule} at step {first.step}{where}: {first.value:.3g} {first.unit}"
        return Failure("execution_violation", stage, detail)
    if episode.outcome == "timeout":
        return Failure("episode_timeout", stage, f"{episode.steps} control steps")
    reason = "unstable" if episode.error_class == "unstable" else "internal"
    return Failure(reason, stage, str(episode.error))


class _Attempt(ExpertPolicy):
    """The expert with the variants of one try."""

    def __init__(self, keyposes: Path | None, number: int) -> None:
        super().__init__(keyposes, vary=True, give_up="raise")
        self._number = number

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode with random numbers of this try's own."""
        super().reset(instruction, rng.spawn(self._number)[-1])
