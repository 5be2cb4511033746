"""`:split`: types drawn among the variants of a split."""

import dataclasses
import json

import pytest
from ubddl_frame import Sizes, codes, scenario

from libero_safety.types import Footprint, Key
from libero_safety.ubddl import Draw, lint, parse, sample, write
from libero_safety.ubddl.sample import NoVariantError

KEY = Key("tsa", "test", 0, 1, 7)

SPLIT = {
    "objects": "(:objects mug_1 - mug :split test plate_1 - (Choice plate dish) :split test bottle_1 - bottle)"
}


def test_a_split_draws_the_type_among_its_variants() -> None:
    s = scenario(**SPLIT)
    draws = [sample(s, dataclasses.replace(KEY, index=i), Sizes()) for i in range(60)]
    types = [{e.name: (e.type, e.split) for e in d.scenario.entities} for d in draws]
    assert {t["mug_1"] for t in types} == {("mug__100", None), ("mug__101", None)}
    plates = [t["plate_1"][0] for t in types]
    assert set(plates) == {"plate__100", "plate__101", "dish__100", "dish__101"}
    assert min(map(plates.count, set(plates))) >= 5  # 15 expected
    assert {t["bottle_1"] for t in types} == {("bottle", None)}
    assert [d.values["entities/mug_1/type"] for d in draws] == [t["mug_1"][0] for t in types]


def test_a_type_drawn_from_a_split_survives_json() -> None:
    s = scenario(**SPLIT)
    draw = sample(s, KEY, Sizes())
    assert Draw.from_dict(s, json.loads(json.dumps(draw.to_dict()))) == draw


def test_a_variant_of_the_split_is_no_draw_of_another() -> None:
    s = scenario(objects="(:objects mug_1 - mug__101 :split test plate_1 - plate bottle_1 - bottle)")
    for index in range(10):
        draw = sample(s, dataclasses.replace(KEY, index=index), Sizes())
        assert draw.scenario.entity("mug_1").type == "mug__101"


def test_a_type_without_variants_in_its_split_is_an_error_with_its_place() -> None:
    s = scenario(fixtures="(:fixtures table_1 - kitchen_table stove_1 - flat_stove :split test)")
    with pytest.raises(
        NoVariantError, match=r"<text>:\d+:\d+: 'stove_1' .* 'test', where there is no flat_stove"
    ):
        sample(s, KEY, Sizes())


def test_lint_looks_at_every_variant() -> None:
    types: list[str] = []

    class Seen(Sizes):
        def footprint(self, type_name: str) -> Footprint:
            types.append(type_name)
            return super().footprint(type_name)

    assert lint(scenario(**SPLIT), geometry=Seen()) == []
    assert {"mug__100", "mug__101", "plate__100", "dish__101", "bottle"} <= set(types)
    assert not {"mug", "plate", "dish"} & set(types)


def test_a_type_without_variants_is_found_where_it_is_declared() -> None:
    s = scenario(fixtures="(:fixtures table_1 - kitchen_table stove_1 - flat_stove :split test)")
    assert codes(lint(s)) == []
    (finding,) = lint(s, geometry=Sizes())
    assert (finding.code, finding.severity) == ("no-variant", "error")
    assert finding.place == s.entity("stove_1").place
    assert "no variant of flat_stove in the split 'test'" in finding.message


def test_a_split_is_written_as_it_is_read() -> None:
    s = scenario(**SPLIT)
    assert parse(write(s)).at(0) == s
    assert [e.split for e in s.entities if e.kind == "object"] == ["test", "test", None]
