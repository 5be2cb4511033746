"""Running one episode after another in this process."""

import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from libero_safety.assets.catalog import catalog_of
from libero_safety.data.strict_json import JsonValue
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.perturbed import draws, impossible
from libero_safety.eval.plan import EvalConfig, Job
from libero_safety.policy.load import make_policy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.sim.env import Env
from libero_safety.sim.gl import choose_backend, open_context
from libero_safety.types import Episode

TRACEBACK_LINES = 6


@dataclass(frozen=True)
class RunnerInfo:
    """What has to be in the log about whatever runs the episodes.

    Attributes:
        privileged: whether the policy can see more than an `Observation`.
        gl: the off-screen drawing library in use, `none` if nothing is drawn.
    """

    privileged: bool = False
    gl: str = "none"


@dataclass(frozen=True)
class Result:
    """One attempt at a job.

    Attributes:
        draw: every random outcome of the scene, JSON; empty when it could not be drawn.
        lost: the process or the time ran out before there was an episode; another attempt may go well.
    """

    job: Job
    episode: Episode
    draw: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    lost: bool = False


class Runner(Protocol):
    """What a worker holds to run episodes with."""

    @property
    def info(self) -> RunnerInfo:
        """What has to be in the log about it."""
        ...

    def run(self, job: Job) -> Result:
        """Run one episode; whatever goes wrong in it is part of the result, never raised."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class RunnerFactory(Protocol):
    """Makes a `Runner`; a class or function that a new process can import."""

    def __call__(self, config: EvalConfig) -> Runner:
        """Return a runner for the episodes of `config`."""
        ...


class Simulator:
    """One environment and one policy for all the episodes it is asked for."""

    def __init__(self, config: EvalConfig) -> None:
        """Make policy and environment.

        Raises:
            LiberoSafetyError: there is no such policy, it cannot be made so, or it needs images and nothing
                here can draw.
        """
        self._config = config
        self._catalog = catalog_of(config.assets)
        self._rules = RolloutConfig(config.horizon, config.on_violation)
        self._policy = make_policy(config.policy, **config.policy_options)
        self._images = bool(getattr(self._policy.inner, "needs_images", True))
        privileged = hasattr(self._policy.inner, "attach")
        self.info = RunnerInfo(privileged, _working_gl() if self._images else "none")
        self._env = self._make_env()

    def run(self, job: Job) -> Result:
        """Draw the scene, run the policy in it and judge."""
        draw: dict[str, JsonValue] = {}
        episode: Episode | None = None
        try:
            for drawn in draws(job.scenario, job.key, self._config.perturbations, self._catalog):
                draw = drawn.to_dict()
                # Not the checked policy: the roll-out checks, and asks the policy itself whether it needs images.
                episode = run_episode(self._env, self._policy.inner, drawn.draw, self._rules)
                if not impossible(episode):
                    break
            assert episode is not None
            return Result(job, episode, draw)
        except LiberoSafetyError as error:
            return Result(job, error_episode(job, "scene", str(error)), draw)
        except (Exception, SystemExit) as error:
            self._env.close()
            self._env = self._make_env()
            return Result(job, error_episode(job, "internal", last_lines(error)), draw)

    def close(self) -> None:
        """Release the policy's connection and the GL context."""
        self._env.close()
        with suppress(Exception):  # All episodes are judged; how the policy ends changes none of them.
            self._policy.close()

    def _make_env(self) -> Env:
        config = self._config
        return Env(self._catalog, image_size=config.image_size, quality=config.quality, render=self._images)


def error_episode(job: Job, error_class: str, error: str) -> Episode:
    """Return the episode of a job that did not come to be judged."""
    instruction = job.scenario.instruction
    return Episode(
        key=job.key,
        instruction=instruction if isinstance(instruction, str) else "",
        outcome="error",
        violations=(),
        steps=0,
        goal_reached=False,
        trace=None,
        error_class=error_class,
        error=error,
    )


def last_lines(error: BaseException) -> str:
    """Return the end of the traceback: where it was raised and what it says."""
    lines = "".join(traceback.format_exception(error)).rstrip().splitlines()
    return "\n".join(lines[-TRACEBACK_LINES:])


def _working_gl() -> str:
    """Return the library that draws here.

    Raises:
        NoGLError: none does; better known now than in every episode.
    """
    name, _ = choose_backend()
    open_context(16, 16).free()
    return name
