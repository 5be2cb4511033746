"""Every name that scenarios use can be made, with the parts and zones that they name."""

import colorsys
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from libero_safety.assets.catalog import Catalog, UnknownAssetError, default_catalog
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.geometry import bounds, in_root, mass_kg
from libero_safety.assets.hand import SEGMENTS
from libero_safety.assets.objects.hand import HANDS

SHARED = Path(__file__).parents[3] / "shared" / "reference"
LIBERO_SUITES = ("libero_10", "libero_90", "libero_goal", "libero_object", "libero_spatial")


def scenario_files() -> list[Path]:
    files = sorted(SHARED.rglob("*.bddl"))
    found = find_spec("libero")
    if found is not None and found.submodule_search_locations:
        root = Path(found.submodule_search_locations[0]) / "libero" / "bddl_files"
        files += [f for suite in LIBERO_SUITES for f in sorted((root / suite).glob("*.bddl"))]
    return files


def tree(text: str) -> list:
    stack: list[list] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(";.*", "", text).lower()):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return stack[0][0]


def declared(sections: dict[str, list]) -> Iterator[tuple[str, str]]:
    """Yield (instance, type) of objects and fixtures."""
    for key in (":objects", ":fixtures"):
        names: list[str] = []
        words = iter(sections.get(key, []))
        for word in words:
            if word == "-":
                kind = next(words)
                yield from ((n, kind) for n in names)
                names = []
            else:
                names.append(word)


@pytest.fixture(scope="module")
def files() -> list[dict[str, list]]:
    found = scenario_files()
    if not found:
        pytest.skip("no reference or LIBERO scenario files here")
    return [{s[0]: s[1:] for s in tree(f.read_text())[1:] if isinstance(s, list)} for f in found]


def test_every_type_in_the_reference_and_libero_files_resolves(files: list[dict[str, list]]) -> None:
    catalog = default_catalog()
    surfaces = {t for a in catalog.arenas() for t in catalog.arena(a).workspace_types}
    types = {kind for sections in files for _, kind in declared(sections)}
    assert len(types) > 50
    for kind in sorted(types - surfaces):
        assert catalog.asset(kind).name == kind


def test_every_zone_that_the_files_name_exists(files: list[dict[str, list]]) -> None:
    catalog = default_catalog()
    for sections in files:
        kinds = dict(declared(sections))
        for region in sections.get(":regions", []):
            fields = {f[0]: f[1:] for f in region[1:]}
            if fields.get(":ranges", [[]])[0]:
                continue
            target = fields[":target"][0]
            if target in kinds:
                assert catalog.zone(kinds[target], region[0]) is not None, f"{kinds[target]}.{region[0]}"


@pytest.mark.parametrize(
    ("name", "zones"),
    [
        ("flat_stove", ["cook_region"]),
        ("microwave", ["heating_region", "top_side"]),
        ("wooden_cabinet", ["top_region", "middle_region", "bottom_region", "top_side"]),
        ("white_cabinet", ["top_region", "middle_region", "bottom_region", "top_side"]),
        ("desk_caddy", [f"{side}_contain_region" for side in ("left", "right", "front", "back")]),
        ("wine_rack", ["top_region"]),
        ("wooden_two_layer_shelf", ["top_side", "top_region", "bottom_region"]),
        ("wooden_shelf", ["top_side", "top_region", "middle_region", "bottom_region"]),
        ("white_place_box", ["top_side"]),
        ("basket", ["contain_region"]),
        ("wooden_tray", ["contain_region"]),
        ("salad_porcelain_plate", ["contain_region"]),
        ("left_hand", ["palm"]),
        ("plate_with_hand", ["contain_region"]),
    ],
)
def test_zones_that_scenarios_name(name: str, zones: list[str]) -> None:
    asset = default_catalog().asset(name)
    links = {"", *(k.name for k in asset.links)}
    for zone in zones:
        found = asset.zone(zone)
        assert found is not None
        assert found.link in links
        assert min(found.half) > 0.015


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("knife", {"handle", "blade"}),
        ("hammer", {"handle", "head"}),
        ("fork", {"handle", "tines"}),
        ("scissors", {"handle", "blade"}),
        ("white_yellow_mug", {"body", "handle", "rim"}),
        ("frypan", {"body", "handle"}),
        ("bottle", {"body", "neck", "cap"}),
        ("akita_black_bowl", {"body", "rim"}),
        ("plate", {"body", "rim"}),
        ("moka_pot", {"body", "handle"}),
        ("microwave", {"body", "door", "handle"}),
        ("wooden_cabinet", {"body", "drawer", "handle"}),
        ("left_hand", set(SEGMENTS)),
        ("bottle_of_beer_1_0_with_hand", {*SEGMENTS, "body", "neck", "cap"}),
        ("knife_with_hand", {*SEGMENTS, "blade", "handle"}),
    ],
)
def test_named_parts_can_be_touched(name: str, parts: set[str]) -> None:
    assert parts <= {s.part for s in in_root(default_catalog().asset(name))}


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("white_yellow_mug", 0.25, 0.45),
        ("akita_black_bowl", 0.15, 0.3),
        ("plate", 0.15, 0.3),
        ("bottle_of_beer", 0.3, 0.5),
        ("can_of_soda", 0.3, 0.42),
        ("milk", 0.3, 0.45),
        ("apple", 0.12, 0.25),
        ("banana", 0.1, 0.25),
        ("egg", 0.045, 0.07),
        ("hammer", 0.35, 0.7),
        ("knife", 0.08, 0.25),
        ("fork", 0.03, 0.1),
        ("black_book", 0.2, 0.45),
        ("moka_pot", 0.4, 0.7),
        ("chefmate_8_frypan", 0.25, 0.9),
        ("left_hand", 0.35, 0.7),
        ("toy_car", 0.05, 0.2),
    ],
)
def test_masses_are_those_of_real_things(name: str, low: float, high: float) -> None:
    assert low <= mass_kg(default_catalog().asset(name)) <= high


OWN_ORIGIN = {
    "flat_stove": "the knob, as in LIBERO",
    "microwave": "the housing without the door, as in LIBERO",
    "wooden_cabinet": "the chest without handles, as in LIBERO",
    "white_cabinet": "the chest without handles, as in LIBERO",
    "frypan": "the pan without its handle, as in LIBERO",
    "chefmate_8_frypan": "the pan without its handle, as in LIBERO",
    "rotated_frypan": "the pan without its handle, as in LIBERO",
}


@pytest.mark.parametrize("name", [n for n in default_catalog().names() if n not in OWN_ORIGIN])
def test_the_origin_is_below_the_middle_of_the_bounding_box(name: str) -> None:
    low, high = bounds(default_catalog().asset(name))
    assert np.add(low[:2], high[:2]) == pytest.approx([0, 0], abs=1e-9)
    assert low[2] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", [n for n in default_catalog().names() if n not in (*FIXTURES, *HANDS)])
def test_objects_have_few_collision_shapes(name: str) -> None:
    assert len(in_root(default_catalog().asset(name))) <= 12


def test_variants_differ_and_are_the_same_every_time() -> None:
    one, other = Catalog(), Catalog()
    assert one.asset("bottle_of_beer__7").digest() == other.asset("bottle_of_beer__7").digest()
    seven, eight = one.asset("bottle_of_beer__7"), one.asset("bottle_of_beer__8")
    assert bounds(seven) != bounds(eight)
    assert seven.links[0].shapes[0].rgba != eight.links[0].shapes[0].rgba


def test_number_artefacts_mean_the_same_variant() -> None:
    catalog = default_catalog()
    forms = [catalog.asset(n) for n in ("bottle_of_beer__10", "bottle_of_beer_10", "bottle_of_beer_1_0")]
    assert {bounds(a) for a in forms} == {bounds(forms[0])}
    assert catalog.asset("chefmate_8_frypan").name == "chefmate_8_frypan"


def test_food_keeps_its_hue() -> None:
    catalog = default_catalog()
    hues = [
        colorsys.rgb_to_hls(*catalog.asset(name).links[0].shapes[0].rgba[:3])[0]
        for name in ("banana", "banana__2", "banana__101")
    ]
    assert hues == pytest.approx([hues[0]] * 3, abs=0.01)


def test_rotated_tools_point_elsewhere() -> None:
    catalog = default_catalog()
    for name in ("knife", "fork", "hammer", "frypan", "classic_blue_mug"):
        straight, turned = catalog.asset(name), catalog.asset(f"rotated_{name}")
        assert mass_kg(straight) == pytest.approx(mass_kg(turned))
        assert straight.grasp is not None
        assert turned.grasp is not None
        assert np.linalg.norm(np.subtract(straight.grasp[0], turned.grasp[0])) > 0.01


def test_an_unknown_type_is_an_error_with_near_names() -> None:
    with pytest.raises(UnknownAssetError, match="did you mean 'akita_black_bowl'"):
        default_catalog().asset("akita_blak_bowl")
    with pytest.raises(UnknownAssetError, match=r"unknown asset type 'purple_mug'.*red_coffee_mug"):
        default_catalog().asset("purple_mug")
    with pytest.raises(UnknownAssetError, match="spade_3_with_hand"):
        default_catalog().asset("spade_3_with_hand")
    with pytest.raises(UnknownAssetError, match="did you mean 'kitchen'"):
        default_catalog().arena("kitchn")


def test_top_and_inside_mean_the_only_surface_and_interior() -> None:
    catalog = default_catalog()
    assert catalog.zone("basket", "inside") == catalog.zone("basket", "contain_region")
    assert catalog.zone("microwave", "inside") == catalog.zone("microwave", "heating_region")
    assert catalog.zone("microwave", "top") == catalog.zone("microwave", "top_side")
    assert catalog.zone("plate", "top") == catalog.zone("plate", "contain_region")
    assert catalog.zone("wooden_cabinet", "inside") is None
    assert catalog.zone("alphabet_soup", "top") is None


def test_geometry_protocol() -> None:
    catalog = default_catalog()
    assert catalog.footprint("plate").radius_m == pytest.approx(0.07, abs=0.004)
    assert catalog.zone("flat_stove", "cook_region") is not None
    assert catalog.zone("flat_stove", "oven") is None
    drawers = [catalog.zone("white_cabinet", f"{level}_region") for level in ("bottom", "middle", "top")]
    assert [z.pos[2] for z in drawers if z is not None] == pytest.approx([0.047, 0.117, 0.186], abs=0.01)
    assert [catalog.workspace_type(a) for a in ("kitchen", "tabletop", "floor")] == [
        "kitchen_table",
        "table",
        "floor",
    ]
    assert default_catalog() is catalog
