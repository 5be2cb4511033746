"""Pairs of a hand and a thing as assets: `NAME_with_hand`, `NAME_with_hand__2`.

The number counts the stored pairs of NAME, from 1; without one it is the first. Of a thing that nobody holds in the
library a grasp is looked for when it is asked for, another for each number; what cannot be gripped lies on the palm.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from libero_safety.assets.asset import Asset
from libero_safety.assets.geometry import moved, quat_about
from libero_safety.assets.grasp_carry import CARRIED, carry
from libero_safety.assets.grasp_synthesis import UngraspableError, synthesise
from libero_safety.assets.grasps import Grasp, GraspError, held_things, pairs
from libero_safety.assets.hand import embedded_hand
from libero_safety.assets.objects.hand import HAND_LICENCE, Person, flesh, person
from libero_safety.assets.objects.shapes import solid
from libero_safety.assets.splits import Numbered
from libero_safety.ubddl.spec import Split

WITH_HAND = "_with_hand"


@dataclass(frozen=True)
class PairName:
    """The name of a pair, taken apart; `number` is None where the name has none."""

    thing: str
    number: int | None

    @classmethod
    def parse(cls, name: str) -> "PairName | None":
        """Return the parts of a name, or None if it is not one of a pair."""
        if name.endswith(WITH_HAND):
            return cls(name.removesuffix(WITH_HAND), None)
        numbered = Numbered.parse(name)
        if numbered is None or not numbered.base.endswith(WITH_HAND):
            return None
        return cls(numbered.base.removesuffix(WITH_HAND), numbered.number)

    def __str__(self) -> str:
        return f"{self.thing}{WITH_HAND}" + (f"__{self.number}" if self.number is not None else "")


def canonical(thing: str) -> str:
    """Return a type's name as the library has it: a variant's with its number behind two underscores."""
    numbered = Numbered.parse(thing)
    return thing if numbered is None else str(numbered)


def stored_pairs(base: str, split: Split) -> tuple[str, ...]:
    """Return the names of all stored pairs of a type or its variants in a split."""
    kin = [t for t in held_things(split) if t == base or ((n := Numbered.parse(t)) and n.base == base)]
    return tuple(f"{thing}{WITH_HAND}__{i + 1}" for thing in kin for i in range(len(pairs(thing, split))))


def pair_asset(name: str, pair: PairName, held: Asset, *, stored: bool) -> Asset:
    """Return a thing and the hand that holds it as one rigid thing, which stands as the thing does at rest.

    Args:
        name: of the result.
        pair: which pair.
        held: the thing.
        stored: whether it is what the library knows by this name.

    Raises:
        GraspError: the library has fewer pairs of it, or no hand can hold it.
    """
    number = 1 if pair.number is None else pair.number
    thing = canonical(pair.thing)
    known = pairs(thing) if stored and thing in held_things() else ()
    if known and not 1 <= number <= len(known):
        raise GraspError(f"{name}: the library has {len(known)} pairs of {thing}, counted from 1")
    grasp = known[number - 1] if known else _found(_Content(held), number)
    return held_asset(name, held, grasp, person(thing, number, grasp.split).skin)


def held_asset(name: str, held: Asset, grasp: Grasp, skin: str) -> Asset:
    """Return `held` in the hand of a grasp, as one rigid thing, the lowest point on z = 0.

    What is gripped is turned about the vertical until the forearm comes from +x. What lies on the palm stays as it is,
    where the forearm comes from there in any case, and keeps its zones.
    """
    model = embedded_hand(grasp.side)
    hand = flesh(model, grasp.pose, Person(grasp.shape, skin), grasp.place)
    shapes, zones = (*held.links[0].shapes, *hand), held.zones
    if grasp.style == "power":
        x, y, _ = (grasp.place[0] @ -model.palm_frame[0]).tolist()
        turn = quat_about((0.0, 0.0, 1.0), -math.atan2(y, x))
        shapes, zones = tuple(moved(s, (0.0, 0.0, 0.0), turn) for s in shapes), ()
    licence = f"{held.licence} AND {HAND_LICENCE}"
    return replace(solid(name, shapes, None, zones), licence=licence, source=held.source)


@dataclass(frozen=True, eq=False)
class _Content:
    """An asset that equals any other of the same content and name."""

    asset: Asset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[str, str]:
        return self.asset.name, self.asset.digest()


@lru_cache(maxsize=256)
def _found(content: _Content, number: int) -> Grasp:
    """Return a grasp of a thing that is not in the library."""
    asset = content.asset
    numbered = Numbered.parse(asset.name)
    if (asset.name if numbered is None else numbered.base) in CARRIED:
        return carry(asset, count=1, seed=number)[0]
    try:
        return synthesise(asset, count=1, seed=number)[0]
    except UngraspableError:
        return carry(asset, count=1, seed=number)[0]
