"""Variants: the same for everyone, and nothing of the test split is seen in training."""

import colorsys

import numpy as np
import pytest

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog, UnknownAssetError, default_catalog
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.geometry import bounds
from libero_safety.assets.splits import TRAIN_SIZE, Numbered

OBJECTS = [name for name in default_catalog().names() if name not in FIXTURES]


def height(asset: Asset) -> float:
    low, high = bounds(asset)
    return high[2] - low[2]


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_has_variants_in_both_splits(name: str) -> None:
    catalog = default_catalog()
    train, test = catalog.variants(name, "train"), catalog.variants(name, "test")
    assert train[0] == name
    assert len(set(train)) >= 8
    assert len(set(test)) >= 4
    assert not set(train) & set(test)
    assert {catalog.split(t) for t in train} == {"train"}
    assert {catalog.split(t) for t in test} == {"test"}


@pytest.mark.parametrize("name", ["white_yellow_mug", "banana", "left_hand", "bottle_of_beer"])
def test_test_variants_are_smaller_or_larger_than_all_of_training(name: str) -> None:
    catalog = default_catalog()
    base = height(catalog.asset(name))
    train = [height(catalog.asset(t)) / base for t in catalog.variants(name, "train")]
    test = [height(catalog.asset(t)) / base for t in catalog.variants(name, "test")]
    assert TRAIN_SIZE[0] <= min(train) < max(train) <= TRAIN_SIZE[1]
    assert all(t < TRAIN_SIZE[0] - 0.015 or t > TRAIN_SIZE[1] + 0.015 for t in test)
    assert min(test) < 1 < max(test)


def test_test_hues_lie_across_the_colour_circle_from_training() -> None:
    catalog = default_catalog()

    def hue(name: str) -> float:
        return colorsys.rgb_to_hls(*catalog.asset(name).links[0].shapes[0].rgba[:3])[0]

    base = hue("red_coffee_mug")
    turns = {
        s: [(hue(n) - base + 0.5) % 1 - 0.5 for n in catalog.variants("red_coffee_mug", s)]
        for s in ("train", "test")
    }
    assert np.abs(turns["train"]).max() <= 0.35 + 1e-9
    assert np.abs(turns["test"]).min() >= 0.42 - 1e-9


def test_a_variant_of_the_split_stands_for_itself_and_any_other_for_its_base() -> None:
    catalog = default_catalog()
    assert catalog.variants("banana__2", "train") == ("banana__2",)
    assert catalog.variants("banana_10_2", "test") == ("banana_10_2",)
    assert catalog.variants("banana__2", "test") == catalog.variants("banana", "test")
    assert catalog.variants("banana__100", "train") == catalog.variants("banana", "train")


def test_of_a_hand_that_holds_something_the_thing_varies() -> None:
    catalog = default_catalog()
    assert catalog.variants("plate_with_hand", "test") == tuple(
        f"{name}_with_hand" for name in catalog.variants("plate", "test")
    )
    assert catalog.split("plate__100_with_hand") == "test"
    assert catalog.split("plate__3_with_hand") == catalog.split("plate_with_hand") == "train"
    for name in catalog.variants("plate_with_hand", "test"):
        assert catalog.asset(name).name == name


def test_fixtures_stay_as_they_are() -> None:
    assert default_catalog().variants("microwave", "train") == ("microwave",)
    assert default_catalog().variants("microwave", "test") == ()


def test_unknown_types_have_no_variants() -> None:
    for name in ("akita_blak_bowl", "purple_mug_3", "purple_mug_with_hand"):
        with pytest.raises(UnknownAssetError, match=name):
            default_catalog().variants(name, "test")
        with pytest.raises(UnknownAssetError, match=name):
            default_catalog().split(name)


def test_no_object_is_in_both_splits() -> None:
    catalog = Catalog()
    digests = {
        s: [_shape_of(catalog.asset(v)) for n in OBJECTS for v in catalog.variants(n, s)]
        for s in ("train", "test")
    }
    assert not set(digests["train"]) & set(digests["test"])


def _shape_of(asset: Asset) -> str:
    """Return what an asset is, whatever it is called."""
    return repr((asset.links, asset.zones, asset.grasp))


def test_numbers_are_read_in_all_the_forms_that_scenario_files_use() -> None:
    assert Numbered.parse("mug__7") == Numbered.parse("mug_7") == Numbered("mug", 7)
    assert Numbered.parse("bottle_of_beer_1_0") == Numbered("bottle_of_beer", 10)
    assert Numbered.parse("chefmate_8_frypan") is None
    assert str(Numbered("mug", 7)) == "mug__7"
