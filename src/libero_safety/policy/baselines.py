"""Policies without a model: reference points of a benchmark and tools to test it with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.lib.npyio import NpzFile
from scipy.spatial.transform import Rotation

from libero_safety.demo.keypose import KeyposeError, load_keyposes, task_keyposes
from libero_safety.demo.target import (
    GRIPPER,
    PoseArrays,
    grip_for,
    grip_frame,
    held_in_grip,
    nearest_turn,
    world_target,
)
from libero_safety.errors import LiberoSafetyError
from libero_safety.policy.contract import check_chunk
from libero_safety.registry import near_match
from libero_safety.types import ACTION_SIZE, Chunk, FloatArray, Keypose, Observation
from libero_safety.ubddl.spec import Scenario


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

    def eef_pose(self) -> PoseArrays:
        """Position (3,) of the grip site in the world (m) and its rotation matrix (3, 3)."""
        ...

    def frame_pose(self, name: str) -> PoseArrays:
        """Position (3,) in the world (m) and rotation (3, 3) of a frame as keyposes name it."""
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

    At every control step the grip site, or the held thing that is the keypose's tool, is driven towards its
    place relative to the frame as that is at the moment, so moving targets are followed. The frame of a thing
    that the gripper holds would run away with the gripper: once the fingers have closed at a thing and until
    they open again, each keypose relative to that thing takes its frame as it was when the keypose began. How
    the thing lies in the gripper is measured when a keypose begins. The two fingers are interchangeable, so of
    the two yaws that put them in the same places an empty gripper takes the one nearer to its orientation at
    the start.

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
        self._gripper = -1.0
        self._grip_turn = np.eye(3)
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
                gripper = keypose.gripper if self._reached else self._gripper
                return self._towards(target - pos, turn, gripper)
            self._leave(keypose)
        return _still(self._gripper)

    def _begin(self) -> None:
        """Turn to the keypose at `_index`, if there is one left."""
        self._steps = 0
        self._waited = 0
        self._reached = False
        self._frozen: PoseArrays | None = None
        if self._index == len(self._keyposes):
            return
        env = self._attached()
        keypose = self._keyposes[self._index]
        if keypose.frame == GRIPPER:
            self._frozen = grip_frame(env.eef_pose())
        elif _entity(keypose.frame) == self._held:
            self._frozen = env.frame_pose(keypose.frame)
        frame = self._frozen or env.frame_pose(keypose.frame)
        _, rotation = world_target(keypose, *frame)
        if keypose.tool:
            tool = env.frame_pose(keypose.tool)
            self._in_grip = held_in_grip(env.eef_pose(), tool)
            self._turn = rotation.T @ nearest_turn(keypose.symmetry, rotation, tool[1])
            return
        if self._held is None:
            symmetry = "half-turn" if keypose.symmetry == "none" else keypose.symmetry
            now = env.eef_pose()[1] if keypose.frame == GRIPPER else self._home
            self._grip_turn = rotation.T @ nearest_turn(symmetry, rotation, now)
        self._turn = np.eye(3) if keypose.frame == GRIPPER else self._grip_turn

    def _arrive(self, keypose: Keypose) -> None:
        self._reached = True
        if _closes(keypose) and self._gripper <= 0 and self._frozen is None:
            # The closing fingers move the thing: following its frame from here on would drag it along.
            self._frozen = self._attached().frame_pose(keypose.frame)

    def _leave(self, keypose: Keypose) -> None:
        closes = _closes(keypose)
        if closes and self._gripper <= 0:
            self._held = _entity(keypose.frame)
        elif not closes:
            self._held = None
        self._gripper = keypose.gripper
        self._index += 1
        self._begin()

    def _target(self, keypose: Keypose) -> PoseArrays:
        """Return where the grip site should be now."""
        pos, rotation = world_target(keypose, *(self._frozen or self._attached().frame_pose(keypose.frame)))
        target = pos, rotation @ self._turn
        return grip_for(target, self._in_grip) if keypose.tool else target

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
