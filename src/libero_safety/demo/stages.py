"""Keyposes as motions: a stage runs from one stop to the next, and stops are where the gripper acts or waits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from libero_safety.types import Keypose

MOVING_VERBS = ("push", "turn", "open", "close")
"""Verbs whose thing gives way to the fingers: where it will be is not known to the planner."""
DWELLS = ("cut", "pour", "push", "turn", "open", "close", "hand-over")
"""Verbs at whose keyposes waiting has an effect. Elsewhere it is for policies that have to come to rest first."""


@dataclass(frozen=True)
class Stage:
    """A motion without a stop.

    Attributes:
        keyposes: to be passed in order; the motion ends at the last.
        holds: the entity in the gripper on the way, if any.
        takes: the entity that is grasped at the end, if any.
        gives: whether what is held is let go at the end.
        gripper: command on the way to the first keypose: -1 open, +1 closed.
        leaves: the entity that was let go last, if nothing was grasped since.
    """

    keyposes: tuple[Keypose, ...]
    holds: str | None
    takes: str | None
    gives: bool
    gripper: float
    leaves: str | None = None

    @property
    def name(self) -> str:
        """The name of the last keypose."""
        return self.keyposes[-1].name

    @property
    def slow(self) -> bool:
        """Whether something has to give way."""
        return any(keypose.verb in MOVING_VERBS for keypose in self.keyposes)

    @property
    def wait_steps(self) -> int:
        """Control steps to stay at the end."""
        return self.keyposes[-1].wait_steps

    def command(self, segment: int) -> float:
        """Return the gripper's command on the way to a keypose."""
        return self.keyposes[segment - 1].gripper if segment else self.gripper

    def rest(self, passed: int) -> "Stage":
        """Return what is left of the stage when some of its keyposes have been passed."""
        if not passed:
            return self
        return replace(self, keyposes=self.keyposes[passed:], gripper=self.command(passed))

    @property
    def acts(self) -> bool:
        """Whether the gripper opens or closes at the end."""
        return self.takes is not None or self.gives


def stages_of(keyposes: Sequence[Keypose]) -> tuple[Stage, ...]:
    """Return the stages of a task.

    The fingers hold the entity of a keypose's frame once they have closed at one with the verb `grasp`; closed
    anywhere else they hold nothing, and the motion goes on. It stops before what is done slowly. Hints are left out.
    """
    keyposes = [keypose for keypose in keyposes if not keypose.hint]
    found: list[Stage] = []
    passed: list[Keypose] = []
    holds: str | None = None
    leaves: str | None = None
    start = gripper = -1.0
    for index, keypose in enumerate(keyposes):
        passed.append(keypose)
        closes, opens = keypose.gripper > 0 >= gripper, keypose.gripper <= 0 < gripper
        takes = entity_of(keypose.frame) if closes and keypose.verb == "grasp" else None
        gives = opens and holds is not None
        gripper = keypose.gripper
        stops = takes is not None or gives or (keypose.wait_steps > 0 and keypose.verb in DWELLS)
        stops |= keypose.verb not in MOVING_VERBS and _slow_next(keyposes, index)
        if index + 1 < len(keyposes) and (keypose.via or not stops):
            continue
        found.append(Stage(tuple(passed), holds, takes, gives, start, leaves))
        leaves = holds if gives else None if takes else leaves
        holds = None if gives else takes or holds
        passed, start = [], gripper
    return tuple(found)


def _slow_next(keyposes: Sequence[Keypose], index: int) -> bool:
    return index + 1 < len(keyposes) and keyposes[index + 1].verb in MOVING_VERBS


def entity_of(frame: str) -> str:
    """Return the entity that a frame belongs to."""
    return frame.partition(".")[0]
