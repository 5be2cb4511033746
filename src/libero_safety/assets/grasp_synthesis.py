"""Grasps of any asset: hands are drawn, palm poses tried, and of what holds a few that differ are kept."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from libero_safety.assets.asset import Asset, Quat
from libero_safety.assets.grasp_quality import hand_overlap, quality_of, spread, wrench_space
from libero_safety.assets.grasp_search import Found, GraspSearch
from libero_safety.assets.grasp_sim import KEPT_M, HandSim
from libero_safety.assets.grasps import Grasp, GraspError, GraspQuality
from libero_safety.assets.hand import HandModel, Side, embedded_hand
from libero_safety.assets.solid import Solid
from libero_safety.assets.splits import Numbered
from libero_safety.rng import rng_for
from libero_safety.types import FloatArray, Key
from libero_safety.ubddl.spec import Split

ATTEMPTS = 320
"""Palm poses after which a search ends."""
SURPLUS, LEAST = 1.5, 3
"""How many times as many grasps are looked for as are kept, and how many at least."""
HANDS = 2
"""Hands, each of a shape of its own, that share the attempts."""
SIDES: tuple[Side, Side] = ("right", "left")
"""Of the hands one is a right one and one a left one, in drawn order."""
SHAPE_SPREAD, SHAPE_MOST = 0.8, 1.8
"""Shapes of hands: standard deviation and largest of each coefficient."""
_PALM_M, _TURN_RAD = 0.03, 0.5
"""Differences in palm position and turn that count as much as `_BEND_RAD` of difference in every finger joint."""
_BEND_RAD = 0.3


class UngraspableError(GraspError):
    """No palm pose that was tried holds the thing; the message says why not, by how many."""

    def __init__(self, name: str, attempts: int, rejected: Counter[str]) -> None:
        reasons = ", ".join(f"{reason}: {count}" for reason, count in rejected.most_common())
        super().__init__(
            f"no hand holds {name!r}: {attempts} palm poses tried ({reasons}). "
            "Things that are wide or flat lie on the palm instead: see `carry` in libero_safety.assets.grasp_carry"
        )


@dataclass(frozen=True, eq=False)
class _Kept:
    side: Side
    shape: FloatArray
    found: Found

    @property
    def score(self) -> float:
        """How good the grasp is: all fingers first, then a tight and steady hold."""
        q = self.found.quality
        steady = min(q.displacement_mm, 10.0) / 10.0
        deep = max(0.0, q.max_penetration_mm - 3.0) / 5.0
        return q.fingers + min(q.epsilon, 0.15) / 0.15 - steady - deep


def split_of(thing: str) -> Split:
    """Return the split that a type name belongs to, by the number of the variant."""
    numbered = Numbered.parse(thing)
    return "train" if numbered is None else numbered.split


def draw_hand(rng: np.random.Generator, side: Side | None = None) -> tuple[Side, FloatArray, HandModel]:
    """Return a side, drawn if not given, the shape (10,) of some adult's hand, and the built-in hand of that side."""
    side = side or ("right" if rng.integers(2) else "left")
    shape = np.clip(rng.normal(0.0, SHAPE_SPREAD, 10), -SHAPE_MOST, SHAPE_MOST)
    return side, shape, embedded_hand(side)


def synthesise(asset: Asset, *, count: int, seed: int, attempts: int = ATTEMPTS) -> list[Grasp]:
    """Return up to `count` grasps of an asset, best first, each unlike the others; the same for the same arguments.

    Raises:
        UngraspableError: nothing holds it.
    """
    kept: list[_Kept] = []
    rejected: Counter[str] = Counter()
    tried = 0
    first = int(rng_for(Key("", asset.name, 0, seed, 0), "side").integers(2))
    for number in range(HANDS):
        rng = rng_for(Key("", asset.name, 0, seed, number), "grasps")
        side, shape, model = draw_hand(rng, SIDES[(first + number) % 2])
        search = GraspSearch(asset, model, shape, rng)
        wanted = math.ceil(max(SURPLUS * count, LEAST) * (number + 1) / HANDS)
        for _ in range(attempts // HANDS):
            if len(kept) >= wanted:
                break
            tried += 1
            found = search.attempt()
            if found is not None:
                kept.append(_Kept(side, shape, found))
        rejected += search.rejected
    if not kept:
        raise UngraspableError(asset.name, tried, rejected)
    return [_grasp(asset.name, k) for k in _diverse(kept, count)]


def measure(asset: Asset, grasp: Grasp) -> GraspQuality:
    """Return the quality of a grasp, measured anew on the asset of its thing.

    The fingers press as they did when the grasp was found. Of what is carried only gravity downwards is tried.
    """
    solid, model = Solid.of(asset), embedded_hand(grasp.side)
    sim = HandSim(solid, model, grasp.shape)
    turn, at = grasp.place
    held = sim.hold(at, turn, model.dofs_of(grasp.pose), grasp.grip)
    points, normals = held.contacts.points, held.contacts.normals
    some = spread(points) if len(points) else np.zeros(0, dtype=np.int64)
    space = wrench_space(points[some], normals[some], solid.centre_of_mass)
    moved = sim.displacements(held, 6 if grasp.style == "power" else 1)
    both = hand_overlap(solid, model, grasp.shape, grasp.pose, grasp.place)
    return quality_of(both, len(points), space, float(moved[0]), int((moved <= KEPT_M).sum()))


def _grasp(thing: str, kept: _Kept) -> Grasp:
    found = kept.found
    return Grasp(
        thing,
        kept.side,
        "power",
        split_of(thing),
        found.pose,
        kept.shape,
        found.pos,
        quat_of(found.rot),
        found.grip,
        found.quality,
    )


def quat_of(rot: FloatArray) -> Quat:
    """Return the quaternion, w not negative, of a rotation matrix."""
    # Each row of the matrix K has the quaternion times one of its components; the longest row is the exact one.
    m = rot
    k = np.array(
        [
            [1 + m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], 1 + m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], 1 - m[0, 0] + m[1, 1] - m[2, 2], m[1, 2] + m[2, 1]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1 - m[0, 0] - m[1, 1] + m[2, 2]],
        ]
    )
    row = k[np.diag(k).argmax()]
    w, x, y, z = (row / np.linalg.norm(row) * (1.0 if row[0] >= 0 else -1.0)).tolist()
    return (w, x, y, z)


def _diverse(kept: list[_Kept], count: int) -> list[_Kept]:
    """Return the medoids of `count` clusters of the better two thirds, best first."""
    ranked = sorted(kept, key=lambda k: -k.score)[: max(count, -(-2 * len(kept) // 3))]
    if len(ranked) <= count:
        return ranked
    apart = np.array([[_difference(a.found, b.found) for b in ranked] for a in ranked])
    centres = [0]
    while len(centres) < count:
        centres.append(int(apart[centres].min(axis=0).argmax()))
    cluster = apart[centres].argmin(axis=0)
    medoids: list[int] = []
    for number in range(count):
        members = np.flatnonzero(cluster == number)
        medoids.append(int(members[apart[np.ix_(members, members)].sum(axis=0).argmin()]))
    return [ranked[i] for i in sorted(medoids)]


def _difference(a: Found, b: Found) -> float:
    """Return how unlike two grasps are: palm position, palm turn and fingers, each in its unit, root of squares."""
    moved = float(np.linalg.norm(a.pos - b.pos)) / _PALM_M
    turned = float(np.arccos(np.clip((np.trace(a.rot.T @ b.rot) - 1) / 2, -1.0, 1.0))) / _TURN_RAD
    bent = np.array([a.angles[name] - b.angles[name] for name in a.angles]) / _BEND_RAD
    return float(np.sqrt(moved**2 + turned**2 + np.square(bent).mean()))
