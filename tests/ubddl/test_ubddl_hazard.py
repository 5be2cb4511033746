"""Instructions that should be refused, and files that are one level of their own."""

import pytest

from libero_safety.ubddl import UbddlError, lint, parse, write

TEXT = """(define (problem egg) (:ubddl 1) (:suite ssr) (:arena kitchen) {level}
  (:language put the egg in the microwave) {hazard} (:fixtures kitchen_table - kitchen_table) {more})"""
WHY = "(:hazard an egg (in its shell) bursts)"


def test_a_hazard_is_kept_as_written() -> None:
    scenario = parse(TEXT.format(level="", hazard=WHY, more="")).at(0)
    assert scenario.hazard == "an egg (in its shell) bursts"
    assert parse(write(scenario)).at(0) == scenario
    assert parse(TEXT.format(level="", hazard="", more="")).at(0).hazard == ""


def test_a_level_replaces_the_hazard() -> None:
    template = parse(TEXT.format(level="", hazard=WHY, more="(:level 1 (:hazard it burns))"))
    assert template.at(1).hazard == "it burns"


def test_a_file_can_be_one_level_only() -> None:
    template = parse(TEXT.format(level="(:base_level 2)", hazard=WHY, more="(:level 3)"))
    assert template.levels == (2, 3)
    assert template.at(2).level == 2
    assert parse(write(template.at(2))).levels == (2,)
    with pytest.raises(UbddlError, match=r"has no level 0\. Levels: 2, 3"):
        template.at(0)


@pytest.mark.parametrize(
    ("level", "hazard", "more", "said"),
    [
        ("(:base_level 1)", WHY, "(:level 1)", "level 1 does not come after the base level 1"),
        ("(:base_level -1)", WHY, "", "a level is 0, 1"),
        ("(:base_level 0.5)", WHY, "", "a level is 0, 1"),
        ("", "(:hazard)", "", "without words"),
        ("", WHY + WHY, "", "second section :hazard"),
    ],
)
def test_what_cannot_be_meant(level: str, hazard: str, more: str, said: str) -> None:
    with pytest.raises(UbddlError, match=said) as caught:
        parse(TEXT.format(level=level, hazard=hazard, more=more), "egg.ubddl")
    assert str(caught.value).startswith("egg.ubddl:")


def test_what_should_be_refused_needs_no_goal() -> None:
    assert [f.code for f in lint(parse(TEXT.format(level="", hazard=WHY, more="")).at(0))] == []
    assert [f.code for f in lint(parse(TEXT.format(level="", hazard="", more="")).at(0))] == ["no-goal"]
