"""Policies without a model: reference points of a benchmark and tools to test it with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from scipy.spatial.transform import Rotation

from libero_safety.demo.keypose import KeyposeError, load_keyposes, task_keyposes, world_target
from libero_safety.errors import LiberoSafetyError
from libero_safety.policy.contract import check_chunk
from libero_safety.registry import near_match
from libero_safety.types import ACTION_SIZE, Chunk, FloatArray, Keypose, Observation
from libero_safety.ubddl.spec import Scenario

_HALF_TURN = np.diag([-1.0, -1.0, 1.0])


class ReplayError(LiberoSafetyError):
    """Recorded actions that cannot be replayed."""


class NotAttachedError(LiberoSafetyError):
    """A privileged policy was started without an environment to look into."""


class PrivilegedScene(Protocol):
    """Where a privileged policy learns which task it is in."""

    @property
    def scenario(self) -> Scenario:
        """The task that is being run."""
        ...


class PrivilegedEnv(Protocol):
    """What a privileged policy may know beyond its observations; `sim.env.Env` is one."""

    @property
    def scene(self) -> PrivilegedScene:
        """The scene that is being run."""
        ...

    @property
    def action_scale(self) -> tuple[float, float]:
        """Metres and radians of motion that an action of 1 asks for."""
        ...

    def eef_pose(self) -> tuple[FloatArray, FloatArray]:
        """Position (3,) of the grip site in the world (m) and its rotation matrix (3, 3)."""
        ...

    def frame_pose(self, name: str) -> tuple[FloatArray, float]:
        """Position (3,) in the world (m) and yaw (rad) of `entity`, `entity.part` or `entity.zone`."""
        ...


class NoopPolicy:
    """Keeps still with an open gripper: what a task scores when nothing is done."""

    needs_images = False

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode."""

    def act(self, observation: Observation) -> Chunk:
        """Return one action, (1, 7), that asks for no motion."""
        return _still(-1.0)


class RandomPolicy:
    """Draws every component of every action uniformly from [-1, 1].

    Args:
        chunk: actions per call.
    """

    needs_images = False

    def __init__(self, chunk: int = 1) -> None:
        self._size = chunk
        self._rng: np.random.Generator | None = None

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode; all its actions come from `rng`."""
        self._rng = rng

    def act(self, observation: Observation) -> Chunk:
        """Return `chunk` random actions."""
        if self._rng is None:
            raise NotAttachedError("RandomPolicy.act() before reset(): it has no random generator yet")
        return self._rng.uniform(-1.0, 1.0, (self._size, ACTION_SIZE))


class ReplayPolicy:
    """Executes recorded actions one by one, then keeps still with the gripper as it was.

    Args:
        actions: (n, 7) actions, or an `.npz` file that holds them as `executed`, as the trace of an episode
            does.

    Raises:
        ReplayError: the file cannot be read or holds no such array.
        PolicyError: the array is not (n, 7) or not finite.
    """

    needs_images = False

    def __init__(self, actions: FloatArray | Path) -> None:
        self._actions = check_chunk(_load_executed(actions) if isinstance(actions, Path) else actions)
        self._next = 0

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start again from the first action."""
        self._next = 0

    def act(self, observation: Observation) -> Chunk:
        """Return the next recorded action, (1, 7)."""
        if self._next >= len(self._actions):
            return _still(float(self._actions[-1, 6]))
        self._next += 1
        return self._actions[self._next - 1 : self._next].copy()


class RecklessPolicy:
    """Goes straight through keyposes at full speed and sees no hazard: what a task scores without any care.

    At every control step the grip site is driven towards the keypose's place relative to its frame as the
    frame is at that moment, so moving targets are followed. The frame of a thing that the gripper holds would
    run away with the gripper: once the fingers have closed at a thing and until they open again, each keypose
    relative to that thing takes its frame as it was when the keypose began. The two fingers are
    interchangeable, so of the two yaws that put them in the same places an empty gripper takes the one nearer
    to its orientation at the start.

    Args:
        keyposes: the keyposes themselves or a TOML file of them; by default those in `keyposes/<task>.toml`
            beside the scenario's file.
        gain: multiple of the remaining way that one control step asks for; above 2 the arm overshoots.
        step_limit: control steps after which a keypose that cannot be reached is taken for reached.
        tolerance_rad: the rotation (rad) within which a keypose is reached.
    """

    needs_images = False

    def __init__(
        self,
        keyposes: Sequence[Keypose] | Path | None = None,
        gain: float = 1.5,
        step_limit: int = 120,
        tolerance_rad: float = 0.1,
    ) -> None:
        self._source = keyposes
        self._gain = gain
        self._step_limit = step_limit
        self._tolerance_rad = tolerance_rad
        self._env: PrivilegedEnv | None = None
        self._keyposes: tuple[Keypose, ...] = ()

    def attach(self, env: PrivilegedEnv) -> None:
        """Take the environment that the next episodes run in."""
        self._env = env

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start with the first keypose.

        Raises:
            NotAttachedError: `attach` was not called.
            KeyposeError: there are no keyposes for the scenario.
        """
        env = self._attached()
        self._keyposes = _find_keyposes(self._source, env.scene.scenario)
        self._home = env.eef_pose()[1]
        self._held: str | None = None
        self._closed = False
        self._turned = False
        self._index = 0
        self._begin()

    def act(self, observation: Observation) -> Chunk:
        """Return one action, (1, 7), towards the current keypose."""
        env = self._attached()
        pos, rotation = env.eef_pose()
        while self._index < len(self._keyposes):
            keypose = self._keyposes[self._index]
            target, target_rotation = self._target(keypose)
            turn = Rotation.from_matrix(target_rotation @ rotation.T).as_rotvec()
            near = bool(np.linalg.norm(target - pos) <= keypose.tolerance_m)
            near = near and bool(np.linalg.norm(turn) <= self._tolerance_rad)
            if not self._reached and (near or self._steps >= self._step_limit):
                self._arrive(keypose)
            if not self._reached or self._waited < keypose.wait_steps:
                self._steps += 1
                self._waited += int(self._reached)
                return self._towards(target - pos, turn, keypose.gripper)
            self._leave(keypose)
        return _still(self._keyposes[-1].gripper)

    def _begin(self) -> None:
        """Turn to the keypose at `_index`, if there is one left."""
        self._steps = 0
        self._waited = 0
        self._reached = False
        self._frozen: tuple[FloatArray, float] | None = None
        if self._index == len(self._keyposes):
            return
        keypose = self._keyposes[self._index]
        frame = self._attached().frame_pose(keypose.frame)
        if _entity(keypose.frame) == self._held:
            self._frozen = frame
        if self._held is None:
            _, rotation = world_target(keypose, *frame)
            from_home = self._home.T @ rotation
            self._turned = bool(np.trace(from_home @ _HALF_TURN) > np.trace(from_home))

    def _arrive(self, keypose: Keypose) -> None:
        self._reached = True
        if _closes(keypose) and not self._closed and self._frozen is None:
            # The closing fingers move the thing: following its frame from here on would drag it along.
            self._frozen = self._attached().frame_pose(keypose.frame)

    def _leave(self, keypose: Keypose) -> None:
        closes = _closes(keypose)
        if closes and not self._closed:
            self._held = _entity(keypose.frame)
        elif not closes:
            self._held = None
        self._closed = closes
        self._index += 1
        self._begin()

    def _target(self, keypose: Keypose) -> tuple[FloatArray, FloatArray]:
        frame = self._frozen or self._attached().frame_pose(keypose.frame)
        target, rotation = world_target(keypose, *frame)
        return target, rotation @ _HALF_TURN if self._turned else rotation

    def _towards(self, way_m: FloatArray, turn_rad: FloatArray, gripper: float) -> Chunk:
        metres, radians = self._attached().action_scale
        return np.concatenate(
            [_limited(self._gain * way_m / metres), _limited(self._gain * turn_rad / radians), [gripper]]
        )[None]

    def _attached(self) -> PrivilegedEnv:
        if self._env is None:
            raise NotAttachedError("RecklessPolicy sees privileged state: call attach(env) before reset()")
        return self._env


def _still(gripper: float) -> Chunk:
    action = np.zeros((1, ACTION_SIZE))
    action[0, 6] = gripper
    return action


def _limited(command: FloatArray) -> FloatArray:
    """Shorten to components within [-1, 1]; the direction stays, so that the way is straight."""
    return command / max(1.0, float(np.abs(command).max()))


def _closes(keypose: Keypose) -> bool:
    return keypose.gripper > 0


def _entity(frame: str) -> str:
    return frame.partition(".")[0]


def _find_keyposes(source: Sequence[Keypose] | Path | None, scenario: Scenario) -> tuple[Keypose, ...]:
    if source is None:
        return task_keyposes(Path(scenario.place.file))
    if isinstance(source, Path):
        return load_keyposes(source)
    if not source:
        raise KeyposeError("RecklessPolicy was given an empty list of keyposes")
    return tuple(source)


def _load_executed(path: Path) -> FloatArray:
    try:
        archive: object = np.load(path, allow_pickle=False)
        if not isinstance(archive, NpzFile):
            raise ReplayError(f"{path} is no .npz file")
        with archive:
            if "executed" not in archive:
                raise ReplayError(
                    f"{path} holds no array 'executed'{near_match('executed', archive.files)}. "
                    f"It holds: {', '.join(archive.files) or 'nothing'}"
                )
            return archive["executed"]
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise ReplayError(f"cannot read actions from {path}: {error}") from error
