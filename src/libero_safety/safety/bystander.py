"""Limits on how bystanders move: displacement, tilt and drop of many bodies in one compiled loop."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from libero_safety.numba_cache import njit
from libero_safety.sim import predicate
from libero_safety.sim.scene import IntArray, Scene
from libero_safety.types import FloatArray


@dataclass(frozen=True)
class Breach:
    """What a monitor saw: who, which robot link, how much, and which part of the last entity, as in `Violation`."""

    entities: tuple[str, ...]
    link: str | None
    value: float
    part: str | None = None


@dataclass(frozen=True)
class Bystander:
    """A limit on how one body moves; all of them are checked together."""

    entity: str
    kind: int
    body: int
    dof: int
    limit: float


DISPLACEMENT, TILT, DROP = 0, 1, 2
GRAVITY_M_S2 = 9.81


@njit
def _bystander_values(
    ids: IntArray,
    numbers: FloatArray,
    xpos: FloatArray,
    xmat: FloatArray,
    qvel: FloatArray,
    values: FloatArray,
) -> bool:
    """Write how far each body is along its limited quantity; return whether any is over its limit.

    A row of `ids` is kind, body, dof; one of `numbers` is limit, first position (3), first z axis (3). Few arrays,
    because handing one over takes as long as a row.
    """
    over = False
    for i in range(ids.shape[0]):
        b = ids[i, 1]
        if ids[i, 0] == DISPLACEMENT:
            dx, dy, dz = xpos[b, 0] - numbers[i, 1], xpos[b, 1] - numbers[i, 2], xpos[b, 2] - numbers[i, 3]
            values[i] = (dx * dx + dy * dy + dz * dz) ** 0.5
        elif ids[i, 0] == TILT:
            dot = xmat[b, 2] * numbers[i, 4] + xmat[b, 5] * numbers[i, 5] + xmat[b, 8] * numbers[i, 6]
            values[i] = np.arccos(min(1.0, max(-1.0, dot)))
        else:
            down = -qvel[ids[i, 2] + 2]
            values[i] = down * down / (2.0 * GRAVITY_M_S2) if down > 0.0 else 0.0
        if values[i] > numbers[i, 0]:
            over = True
    return over


class Bystanders:
    """Displacement, tilt and drop of many bodies in one compiled loop.

    A drop is judged by speed: a body that moves down at v has lost the height v^2 / 2g to gravity, whatever it
    touches on the way. What the gripper holds is not falling.
    """

    def __init__(self, scene: Scene, data: mujoco.MjData, rows: Sequence[tuple[int, Bystander]]) -> None:
        self._rules = [index for index, _ in rows]
        self._rows = [row for _, row in rows]
        self._ids = np.array([(r.kind, r.body, r.dof) for r in self._rows], np.int32)
        bodies = self._ids[:, 1]
        limits = np.array([[r.limit] for r in self._rows])
        self._numbers = np.hstack([limits, data.xpos[bodies], data.xmat[bodies][:, [2, 5, 8]]])
        self._values = np.zeros(len(rows))
        self._held = [predicate.grasped(scene, r.entity) for r in self._rows]

    def breaches(self, data: mujoco.MjData) -> list[tuple[int, Breach]]:
        """Return (rule index, breach) of every limit that is exceeded now."""
        over = _bystander_values(self._ids, self._numbers, data.xpos, data.xmat, data.qvel, self._values)
        if not over:
            return []
        found: list[tuple[int, Breach]] = []
        for i in np.flatnonzero(self._values > self._numbers[:, 0]):
            row = self._rows[i]
            if row.kind != DROP or not self._held[i](data):
                found.append((self._rules[i], Breach((row.entity,), None, float(self._values[i]))))
        return found
