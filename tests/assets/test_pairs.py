"""Pairs of a hand and a thing by name: which there are, how they stand, and what they are made of."""

import numpy as np
import pytest

from libero_safety.assets.asset import Asset, Shape
from libero_safety.assets.catalog import Catalog, UnknownAssetError, default_catalog
from libero_safety.assets.geometry import bounds, in_root, rotation
from libero_safety.assets.grasps import GraspError, held_things, library, pairs
from libero_safety.assets.hand import SEGMENTS
from libero_safety.assets.pairs import PairName, canonical, stored_pairs
from libero_safety.assets.solid import Solid
from libero_safety.assets.splits import Numbered

CATALOG = default_catalog()


def shown() -> list[str]:
    """Every 40th pair of the library and all of the plate's first."""
    names = [name for split in ("train", "test") for base in bases() for name in stored_pairs(base, split)]
    return [*names[::40], "plate_with_hand"]


def bases() -> list[str]:
    return sorted({thing if (n := Numbered.parse(thing)) is None else n.base for thing in held_things()})


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("plate_with_hand", PairName("plate", None)),
        ("plate__3_with_hand", PairName("plate__3", None)),
        ("bottle_of_beer_1_0_with_hand__2", PairName("bottle_of_beer_1_0", 2)),
        ("plate__3", None),
        ("left_hand", None),
    ],
)
def test_names_are_taken_apart(name: str, pair: PairName | None) -> None:
    assert PairName.parse(name) == pair
    assert pair is None or str(pair) == name
    assert canonical("bottle_of_beer_1_0") == "bottle_of_beer__10"


def test_every_stored_pair_has_a_name_and_no_two_share_one() -> None:
    names = [name for base in bases() for split in ("train", "test") for name in stored_pairs(base, split)]
    assert len(set(names)) == len(names) == len(library())
    assert {CATALOG.split(name) for name in stored_pairs("plate", "test")} == {"test"}


@pytest.mark.parametrize("name", shown())
def test_a_pair_is_one_rigid_thing_whose_forearm_comes_from_the_far_side(name: str) -> None:
    asset = CATALOG.asset(name)
    pair = PairName.parse(name)
    assert pair is not None
    assert len(asset.links) == 1
    assert bounds(asset)[0][2] == pytest.approx(0.0, abs=1e-9)
    assert {*SEGMENTS, *CATALOG.asset(pair.thing).parts} == set(asset.parts)
    away = where(asset, "forearm") - where(asset, "palm")
    assert away[0] > 0.9 * np.hypot(away[0], away[1])
    assert "CC0-1.0" in asset.licence


def where(asset: Asset, part: str) -> np.ndarray:
    return np.mean([shape.pos for shape in in_root(asset) if shape.part == part], axis=0)


@pytest.mark.parametrize("name", shown())
def test_what_is_held_stands_upright_and_is_touched_and_not_pierced(name: str) -> None:
    pair = PairName.parse(name)
    assert pair is not None
    thing = CATALOG.asset(pair.thing)
    shapes = in_root(CATALOG.asset(name))
    alone, held = in_root(thing), shapes[: len(in_root(thing))]
    for before, after in zip(alone, held, strict=True):
        assert rotation(after.quat)[2] == pytest.approx(rotation(before.quat)[2], abs=1e-9)
    solid, hand = Solid(tuple(held)), shapes[len(held) :]
    gaps = [solid.signed_distance(axis(capsule)).min() - capsule.size[0] for capsule in hand]
    assert -0.012 < min(gaps) < 0.002


def axis(capsule: Shape) -> np.ndarray:
    return (
        np.linspace(-capsule.size[1], capsule.size[1], 9)[:, None] * rotation(capsule.quat)[:, 2]
        + capsule.pos
    )


def height(plate: Asset) -> float:
    return min(shape.pos[2] for shape in in_root(plate) if shape.part == "body")


def test_a_thing_on_the_palm_keeps_its_zones_and_one_in_the_fist_has_none() -> None:
    plate = CATALOG.asset("plate_with_hand")
    zone, alone = plate.zone("contain_region"), CATALOG.asset("plate").zone("contain_region")
    assert zone is not None
    assert alone is not None
    assert zone.half == alone.half
    assert zone.pos[2] - alone.pos[2] == pytest.approx(height(plate) - height(CATALOG.asset("plate")))
    assert CATALOG.asset("can_of_soda_with_hand").zones == ()


def test_the_library_is_counted_from_one() -> None:
    count = len(pairs("plate"))
    first, named = CATALOG.asset("plate_with_hand"), CATALOG.asset("plate_with_hand__1")
    assert first.digest() == named.digest()
    for number in (0, count + 1):
        with pytest.raises(GraspError, match=f"the library has {count} pairs of plate, counted from 1"):
            CATALOG.asset(f"plate_with_hand__{number}")
    with pytest.raises(UnknownAssetError, match=r"plat_with_hand__2.*did you mean"):
        CATALOG.asset("plat_with_hand__2")


def test_a_thing_without_a_stored_pair_is_held_all_the_same() -> None:
    assert "spatula__150" not in held_things()
    first, again, other = (Catalog().asset(f"spatula__150_with_hand__{n}") for n in (1, 1, 2))
    assert first.digest() == again.digest() != other.digest()
    assert Catalog().asset("spatula__150_with_hand").digest() == first.digest()


@pytest.mark.parametrize("base", ["plate", "bottle_of_water"])
def test_a_split_draws_unseen_things_in_unseen_hands(base: str) -> None:
    train, test = (CATALOG.variants(f"{base}_with_hand", split) for split in ("train", "test"))
    assert {CATALOG.split(name) for name in train} == {"train"}
    assert {CATALOG.split(name) for name in test} == {"test"}
    assert len(train) >= 5
    assert len(test) >= 3
    assert CATALOG.variants(f"{base}__2_with_hand", "train") == (f"{base}__2_with_hand",)
