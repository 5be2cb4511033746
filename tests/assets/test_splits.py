"""Variants: the same for everyone, and nothing of the test split is seen in training."""

import colorsys
from typing import get_args

import numpy as np
import pytest

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog, UnknownAssetError, default_catalog
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.geometry import bounds
from libero_safety.assets.objects.shapes import disc, solid
from libero_safety.assets.sources import Source
from libero_safety.assets.splits import TEST_FROM, Numbered
from libero_safety.ubddl.spec import Split

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


def built(catalog: Catalog, name: str) -> dict[Split, list[Asset]]:
    """Return the first variants of a type in each split."""
    numbers: dict[Split, range] = {"train": range(1, 25), "test": range(TEST_FROM, TEST_FROM + 25)}
    return {s: [catalog.asset(str(Numbered(name, n))) for n in numbers[s]] for s in numbers}


@pytest.mark.parametrize(
    ("name", "middle", "ends"),
    [
        ("bottle_of_beer", 0.048, 0.056),  # heights from 0.92 to 1.08 times the type's own
        ("white_yellow_mug", 0.06, 0.07),  # 0.9 to 1.1
    ],
)
def test_test_variants_are_lower_or_higher_than_all_of_training(
    name: str, middle: float, ends: float
) -> None:
    catalog = default_catalog()
    base, variants = height(catalog.asset(name)), built(catalog, name)
    off = {s: np.array([height(a) / base - 1 for a in variants[s]]) for s in variants}
    assert np.abs(off["train"]).max() <= middle + 1e-3
    assert np.abs(off["train"]).max() > middle / 2
    assert np.abs(off["test"]).min() >= ends - 1e-3
    assert off["test"].min() < 0 < off["test"].max()


def colours(assets: list[Asset]) -> set[tuple[float, ...]]:
    return {a.links[0].shapes[0].rgba for a in assets}


def test_test_colours_are_not_those_of_training() -> None:
    catalog = default_catalog()
    variants = built(catalog, "bowl")
    train, test = colours(variants["train"]), colours(variants["test"])
    assert len(train) > 3
    assert len(test) > 1
    assert not test & (train | colours([catalog.asset("bowl")]))


@pytest.mark.parametrize(
    ("name", "hue"), [("red_coffee_mug", 0.0), ("classic_blue_mug", 0.61), ("yellow_book", 0.13)]
)
def test_a_colour_in_the_name_stays(name: str, hue: float) -> None:
    for assets in built(default_catalog(), name).values():
        shown = [s for a in assets for s in a.links[0].shapes if s.part in ("body", "cover")]
        assert shown
        hues = {colorsys.rgb_to_hls(*s.rgba[:3])[0] for s in shown if s.role != "collision"}
        assert min(abs((h - hue + 0.5) % 1 - 0.5) for h in hues) < 0.04


def test_hues_of_what_is_only_scaled_lie_across_the_colour_circle_from_training() -> None:
    catalog = Catalog(
        Source(
            "mine", {"ball": lambda name: solid(name, [disc("body", 0.03, 0.0, 0.05, (1.0, 0.0, 0.0, 1.0))])}
        )
    )
    variants = built(catalog, "ball")
    turns = {
        s: [(colorsys.rgb_to_hls(*c[:3])[0] + 0.5) % 1 - 0.5 for c in colours(a)] for s, a in variants.items()
    }
    assert np.abs(turns["train"]).max() <= 0.35 + 1e-9
    assert np.abs(turns["test"]).min() >= 0.42 - 1e-9


def test_a_variant_of_the_split_stands_for_itself_and_any_other_for_its_base() -> None:
    catalog = default_catalog()
    assert catalog.variants("banana__2", "train") == ("banana__2",)
    assert catalog.variants("banana_10_2", "test") == ("banana_10_2",)
    assert catalog.variants("banana__2", "test") == catalog.variants("banana", "test")
    assert catalog.variants("banana__100", "train") == catalog.variants("banana", "train")


def test_a_pair_belongs_to_the_split_of_the_thing() -> None:
    catalog = default_catalog()
    assert catalog.split("plate__100_with_hand") == catalog.split("plate__100_with_hand__2") == "test"
    assert catalog.split("plate__3_with_hand") == catalog.split("plate_with_hand") == "train"


def test_fixtures_stay_as_they_are() -> None:
    assert default_catalog().variants("microwave", "train") == ("microwave",)
    assert default_catalog().variants("microwave", "test") == ()


def test_unknown_types_have_no_variants() -> None:
    for name in ("akita_blak_bowl", "purple_mug_3", "purple_mug_with_hand"):
        with pytest.raises(UnknownAssetError, match=name):
            default_catalog().variants(name, "test")
        with pytest.raises(UnknownAssetError, match=name):
            default_catalog().split(name)


@pytest.mark.slow
def test_no_object_is_in_both_splits() -> None:
    catalog = Catalog()
    digests = {
        s: [catalog.asset(v).digest() for n in OBJECTS for v in catalog.variants(n, s)]
        for s in get_args(Split)
    }
    assert not set(digests["train"]) & set(digests["test"])
    assert all(len(set(d)) > 0.97 * len(d) for d in digests.values())  # some types are others turned round


def test_numbers_are_read_in_all_the_forms_that_scenario_files_use() -> None:
    assert Numbered.parse("mug__7") == Numbered.parse("mug_7") == Numbered("mug", 7)
    assert Numbered.parse("bottle_of_beer_1_0") == Numbered("bottle_of_beer", 10)
    assert Numbered.parse("chefmate_8_frypan") is None
    assert str(Numbered("mug", 7)) == "mug__7"
