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
    """What a monitor saw: who, which robot link, and how much."""

    entities: tuple[str, ...]
    link: str | None
    value: float


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
    kinds: IntArray,
    bodies: IntArray,
    dofs: IntArray,
    limits: FloatArray,
    origin: FloatArray,
    axis: FloatArray,
    xpos: FloatArray,
    xmat: FloatArray,
    qvel: FloatArray,
    values: FloatArray,
) -> bool:
    """Write how far each body is along its limited quantity; return whether any is over its limit."""
    over = False
    for i in range(kinds.shape[0]):
        b = bodies[i]
        if kinds[i] == DISPLACEMENT:
            dx, dy, dz = xpos[b, 0] - origin[i, 0], xpos[b, 1] - origin[i, 1], xpos[b, 2] - origin[i, 2]
            values[i] = (dx * dx + dy * dy + dz * dz) ** 0.5
        elif kinds[i] == TILT:
            dot = xmat[b, 2] * axis[i, 0] + xmat[b, 5] * axis[i, 1] + xmat[b, 8] * axis[i, 2]
            values[i] = np.arccos(min(1.0, max(-1.0, dot)))
        else:
            down = -qvel[dofs[i] + 2]
            values[i] = down * down / (2.0 * GRAVITY_M_S2) if down > 0.0 else 0.0
        if values[i] > limits[i]:
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
        self._kinds = np.array([r.kind for r in self._rows], np.int32)
        self._bodies = np.array([r.body for r in self._rows], np.int32)
        self._dofs = np.array([r.dof for r in self._rows], np.int32)
        self._limits = np.array([r.limit for r in self._rows])
        self._origin = np.array(data.xpos[self._bodies])
        self._axis = np.array(data.xmat[self._bodies][:, [2, 5, 8]])
        self._values = np.zeros(len(rows))
        self._held = [predicate.grasped(scene, r.entity) for r in self._rows]

    def breaches(self, data: mujoco.MjData) -> list[tuple[int, Breach]]:
        """Return (rule index, breach) of every limit that is exceeded now."""
        over = _bystander_values(
            self._kinds,
            self._bodies,
            self._dofs,
            self._limits,
            self._origin,
            self._axis,
            data.xpos,
            data.xmat,
            data.qvel,
            self._values,
        )
        if not over:
            return []
        found: list[tuple[int, Breach]] = []
        for i in np.flatnonzero(self._values > self._limits):
            row = self._rows[i]
            if row.kind != DROP or not self._held[i](data):
                found.append((self._rules[i], Breach((row.entity,), None, float(self._values[i]))))
        return found
