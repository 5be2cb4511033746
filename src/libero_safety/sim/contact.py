"""Touch, normal force and distance between sets of geoms.

Everything here is order-free: (a, b) and (b, a) give the same answer. Geom margins are zero throughout the
package, so a contact in MuJoCo's list is a touch (distance <= 0). Distances are never negative and never infinite.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from libero_safety.numba_cache import njit
from libero_safety.types import FloatArray

IntArray = NDArray[np.int32]

TOUCH_GAP_M = 1e-3
"""Two resting things closer than this touch; used only when both are asleep and have left the contact list."""


@njit
def _scan(
    geom: IntArray,
    count: int,
    side_a: NDArray[np.uint64],
    side_b: NDArray[np.uint64],
    hits: NDArray[np.uint64],
) -> bool:
    """OR into `hits` the bits of all rules whose two sides touch; one row of masks per geom."""
    words = hits.shape[0]
    for w in range(words):
        hits[w] = 0
    found = False
    for i in range(count):
        g1 = geom[i, 0]
        g2 = geom[i, 1]
        if g1 < 0 or g2 < 0:
            continue
        for w in range(words):
            bits = (side_a[g1, w] & side_b[g2, w]) | (side_a[g2, w] & side_b[g1, w])
            if bits:
                hits[w] |= bits
                found = True
    return found


class PairTable:
    """Which of many pairs of geom sets touch, found in one pass over the contact list.

    Each pair is one bit; a geom carries the bits of the pairs on whose first and second side it stands.
    """

    def __init__(self, ngeom: int, pairs: Sequence[tuple[IntArray, IntArray]]) -> None:
        words = max(1, -(-len(pairs) // 64))
        self._side_a = np.zeros((ngeom, words), np.uint64)
        self._side_b = np.zeros((ngeom, words), np.uint64)
        self._hits = np.zeros(words, np.uint64)
        for index, (first, second) in enumerate(pairs):
            bit = np.uint64(1 << (index % 64))
            self._side_a[first, index // 64] |= bit
            self._side_b[second, index // 64] |= bit

    def touching(self, data: mujoco.MjData) -> NDArray[np.uint64] | None:
        """Return the bit words of the pairs that touch now, or None when none does (valid until the next call)."""
        if data.ncon == 0:
            self._hits[:] = 0
            return None
        geom = data.contact.geom
        return self._hits if _scan(geom, len(geom), self._side_a, self._side_b, self._hits) else None


def has_bit(words: NDArray[np.uint64], index: int) -> bool:
    """Whether bit `index` of `words` is set."""
    return bool((int(words[index // 64]) >> (index % 64)) & 1)


@dataclass(frozen=True)
class Touch:
    """One contact between two sets.

    Attributes:
        contact: index into the contact list.
        first: geom of the first set.
        second: geom of the second set.
        normal: (3,) unit normal pointing from the first to the second, world.
    """

    contact: int
    first: int
    second: int
    normal: FloatArray


@njit
def _member(value: int, ids: IntArray) -> bool:
    for i in range(ids.shape[0]):
        if ids[i] == value:
            return True
    return False


@njit
def _matches(geom: IntArray, first: IntArray, second: IntArray, rows: IntArray) -> int:
    """Write (contact, whether its sides are swapped) for every contact between the sets; return how many."""
    count = 0
    for i in range(geom.shape[0]):
        a = geom[i, 0]
        b = geom[i, 1]
        straight = _member(a, first) and _member(b, second)
        if straight or (_member(b, first) and _member(a, second)):
            rows[count, 0] = i
            rows[count, 1] = 0 if straight else 1
            count += 1
    return count


def touches(data: mujoco.MjData, first: IntArray, second: IntArray) -> Iterator[Touch]:
    """Yield every contact between a geom of `first` and one of `second`."""
    if data.ncon == 0:
        return
    contacts = data.contact
    geom = contacts.geom
    rows = np.empty((len(geom), 2), np.int32)
    count = _matches(geom, first, second, rows)
    for index, swapped in rows[:count].tolist():
        normal = np.array(contacts.frame[index, :3])
        a, b = geom[index].tolist()
        yield Touch(index, b, a, -normal) if swapped else Touch(index, a, b, normal)


def normal_force(model: mujoco.MjModel, data: mujoco.MjData, contact: int) -> float:
    """Normal force of one contact (N): component 0 of the contact wrench."""
    wrench = np.zeros(6)
    mujoco.mj_contactForce(model, data, contact, wrench)
    return float(wrench[0])


def pair_force(model: mujoco.MjModel, data: mujoco.MjData, first: IntArray, second: IntArray) -> float:
    """Normal force between two sets (N), summed over their contacts."""
    return sum(normal_force(model, data, touch.contact) for touch in touches(data, first, second))


@njit
def _any_awake(geoms: IntArray, body: IntArray, tree: IntArray, tree_awake: IntArray) -> bool:
    for i in range(geoms.shape[0]):
        t = tree[body[geoms[i]]]
        if t >= 0 and tree_awake[t]:
            return True
    return False


def awake(model: mujoco.MjModel, data: mujoco.MjData, geoms: IntArray) -> bool:
    """Whether any of the geoms belongs to a moving, wakeful body; things fixed to the world never do."""
    return bool(_any_awake(geoms, model.geom_bodyid, model.body_treeid, data.tree_awake))


def touching(model: mujoco.MjModel, data: mujoco.MjData, first: IntArray, second: IntArray) -> bool:
    """Whether two sets touch, asleep or not: sleeping pairs are not in the contact list, so their gap is measured."""
    if next(touches(data, first, second), None) is not None:
        return True
    if awake(model, data, first) or awake(model, data, second):
        return False
    return distance(model, data, first, second, cap_m=2 * TOUCH_GAP_M) <= TOUCH_GAP_M


@njit
def _box(xpos: FloatArray, xmat: FloatArray, aabb: FloatArray, g: int, out: FloatArray) -> None:
    """Write centre (3) and half sizes (3) of the upright box around a geom, world (m)."""
    for k in range(3):
        out[k] = xpos[g, k]
        out[3 + k] = 0.0
        for j in range(3):
            m = xmat[g, 3 * k + j]
            out[k] += m * aabb[g, j]
            out[3 + k] += abs(m) * aabb[g, 3 + j]


@njit
def _lower_bounds(
    xpos: FloatArray,
    xmat: FloatArray,
    rbound: FloatArray,
    aabb: FloatArray,
    first: IntArray,
    second: IntArray,
    cap: float,
    out: FloatArray,
) -> int:
    """Write the gaps between bounding spheres or boxes that are below `cap` as rows (gap, i, j); return how many.

    A geom that is far from the box around all spheres of the second set is far from everything in it.
    """
    count = 0
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for j in range(second.shape[0]):
        b = second[j]
        reach = rbound[b] if rbound[b] > 0.0 else np.inf
        for k in range(3):
            low[k] = min(low[k], xpos[b, k] - reach)
            high[k] = max(high[k], xpos[b, k] + reach)
    boxes = np.empty((0, 6))
    for i in range(first.shape[0]):
        a = first[i]
        square = 0.0
        for k in range(3):
            square += max(low[k] - xpos[a, k], xpos[a, k] - high[k], 0.0) ** 2
        if rbound[a] > 0.0 and square >= (cap + rbound[a]) ** 2:
            continue
        if boxes.shape[0] == 0:
            boxes = np.empty((second.shape[0] + 1, 6))
            for j in range(second.shape[0]):
                _box(xpos, xmat, aabb, second[j], boxes[j])
        box = boxes[second.shape[0]]
        _box(xpos, xmat, aabb, a, box)
        for j in range(second.shape[0]):
            b = second[j]
            gap = 0.0
            if rbound[a] > 0.0 and rbound[b] > 0.0:
                between, apart = 0.0, 0.0
                for k in range(3):
                    between += (xpos[a, k] - xpos[b, k]) ** 2
                    apart += max(abs(box[k] - boxes[j, k]) - box[3 + k] - boxes[j, 3 + k], 0.0) ** 2
                gap = max(between**0.5 - rbound[a] - rbound[b], apart**0.5)
            if gap < cap:
                out[count, 0] = gap
                out[count, 1] = a
                out[count, 2] = b
                count += 1
    return count


@njit
def _any_below(
    xpos: FloatArray,
    xmat: FloatArray,
    rbound: FloatArray,
    aabb: FloatArray,
    geoms: IntArray,
    ends: IntArray,
    caps: FloatArray,
    scratch: FloatArray,
) -> bool:
    """Whether any pair of sets, which lie one after the other in `geoms`, has a lower bound below its cap."""
    begin = 0
    for p in range(caps.shape[0]):
        middle = ends[p, 0]
        end = ends[p, 1]
        first, second = geoms[begin:middle], geoms[middle:end]
        if _lower_bounds(xpos, xmat, rbound, aabb, first, second, caps[p], scratch) > 0:
            return True
        begin = end
    return False


class GapTable:
    """Whether any of many pairs of geom sets may be nearer than its margin, in one pass over bounding volumes."""

    def __init__(self, model: mujoco.MjModel, pairs: Sequence[tuple[IntArray, IntArray, float]]) -> None:
        sizes = np.array([(len(first), len(second)) for first, second, _ in pairs], np.int32).reshape(-1, 2)
        self._rbound, self._aabb = model.geom_rbound, model.geom_aabb
        self._geoms = np.concatenate([np.empty(0, np.int32), *(g for pair in pairs for g in pair[:2])])
        self._ends = np.cumsum(sizes, dtype=np.int32).reshape(-1, 2)
        self._caps = np.array([cap for *_, cap in pairs], np.float64)
        self._scratch = np.empty((int(np.max(sizes.prod(axis=1), initial=0)), 3))

    def any_below(self, data: mujoco.MjData) -> bool:
        """Return False only when every pair is farther apart than its margin."""
        if not len(self._caps):
            return False
        return bool(
            _any_below(
                data.geom_xpos,
                data.geom_xmat,
                self._rbound,
                self._aabb,
                self._geoms,
                self._ends,
                self._caps,
                self._scratch,
            )
        )


@dataclass(frozen=True)
class Nearest:
    """The closest two geoms of two sets; both -1 when nothing is nearer than the cap."""

    distance_m: float
    first: int
    second: int


def nearest(
    model: mujoco.MjModel, data: mujoco.MjData, first: IntArray, second: IntArray, cap_m: float
) -> Nearest:
    """Return the closest pair nearer than `cap_m`; its distance is in [0, cap_m], 0 when they touch.

    Bounding spheres and boxes rule most pairs out; a plane has none and is always measured.
    """
    bounds = np.empty((len(first) * len(second), 3))
    spheres, boxes = model.geom_rbound, model.geom_aabb
    count = _lower_bounds(data.geom_xpos, data.geom_xmat, spheres, boxes, first, second, cap_m, bounds)
    found = Nearest(cap_m, -1, -1)
    if count:
        # Measuring the most promising pair first leaves few to sort.
        rows, best = bounds[:count], int(np.argmin(bounds[:count, 0]))
        found = _closer(model, data, rows[best : best + 1], found)
        rows[best, 0] = np.inf
        left = rows[rows[:, 0] < found.distance_m]
        found = _closer(model, data, left[np.argsort(left[:, 0], kind="stable")], found)
    return found


def _closer(model: mujoco.MjModel, data: mujoco.MjData, rows: FloatArray, best: Nearest) -> Nearest:
    """Measure the pairs of `rows`, whose lower bounds ascend, as long as one may be closer than `best`."""
    for bound, a, b in rows.tolist():
        if bound >= best.distance_m:
            break
        # Ask with a little room: MuJoCo returns its own cap for anything farther.
        gap = max(0.0, mujoco.mj_geomDistance(model, data, int(a), int(b), best.distance_m + 1e-6, None))
        if gap < best.distance_m:
            best = Nearest(gap, int(a), int(b))
    return best


def distance(
    model: mujoco.MjModel, data: mujoco.MjData, first: IntArray, second: IntArray, cap_m: float = 10.0
) -> float:
    """Shortest distance between two sets (m), in [0, cap_m]."""
    return nearest(model, data, first, second, cap_m).distance_m
