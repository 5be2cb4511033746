"""The examples of the pages on constraints and predicates do what the pages say."""

import re
from pathlib import Path

import numpy as np
import pytest

from libero_safety.safety.monitor import MONITORS
from libero_safety.sim import predicate
from libero_safety.ubddl import words

DOCS = Path(__file__).parents[1] / "docs"


def example(page: str) -> str:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)[0]


@pytest.fixture
def tables():
    """The pages assign to the tables; put them back afterwards."""
    saved = [(t, dict(t)) for t in (MONITORS, predicate.PREDICATES, words.CONSTRAINTS, words.PREDICATES)]
    yield
    for table, before in saved:
        table.clear()
        table.update(before)


def test_a_new_rule(tables, lab):
    exec(compile(example("constraints.md"), "constraints.md", "exec"), {})
    here = lab("(MaxHeight can_1 20cm)")
    assert here.look() == []
    here.put("can_1", here.pos("can_1") + np.array([0.0, 0.0, 0.25]))
    assert here.look() == ["(MaxHeight can_1 0.2m)"]
    assert here.monitors.violations[0].value == pytest.approx(0.25, abs=1e-3)


def test_a_new_goal_word(tables, lab):
    exec(compile(example("predicates.md"), "predicates.md", "exec"), {})
    here = lab(goal="(LeftOf soup_1 can_1)")
    assert not here.env.goal_reached()
    here.put("soup_1", here.pos("can_1") + np.array([0.0, 0.2, 0.0]))
    assert here.env.goal_reached()


@pytest.mark.parametrize(
    ("page", "tables"),
    [
        ("constraints.md", [words.CONSTRAINTS]),
        ("predicates.md", [words.PREDICATES, words.MEASURES]),
    ],
)
def test_the_pages_name_every_word(page, tables):
    text = (DOCS / page).read_text()
    for table in tables:
        for word in table:
            assert f"`({word}" in text, word
