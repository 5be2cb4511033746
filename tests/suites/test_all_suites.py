"""What all suites together promise: 75 tasks at their levels, goals of both kinds, paraphrases."""

import pytest

from libero_safety.suites import PHYSICAL, load_suite, suites
from libero_safety.ubddl.spec import Choice

PHYSICAL_TASKS = [task for name in PHYSICAL for task in load_suite(name).tasks]


def test_seventy_five_tasks_over_suites_and_levels():
    counts = {
        (name, level): sum(level in task.levels for task in load_suite(name).tasks)
        for name in suites()
        for level in range(3)
    }
    assert set(counts.values()) == {5}
    assert sum(counts.values()) == 75


@pytest.mark.parametrize("task", PHYSICAL_TASKS, ids=lambda t: f"{t.suite}-{t.name[:40]}")
def test_every_physical_task_has_both_goals_and_rules_at_every_level(task):
    assert task.levels == (0, 1, 2)
    assert task.keyposes_path is not None
    for level in task.levels:
        scenario = task.scenario(level)
        assert scenario.goal is not None
        assert scenario.reference_goal not in (None, scenario.goal)
        assert scenario.constraints
        assert scenario.hazard == ""


def test_hri_has_paraphrases_out_of_distribution():
    for task in load_suite("hri").tasks:
        paraphrases = task.scenario(2).instruction
        assert isinstance(paraphrases, Choice)
        assert len(set(paraphrases.options)) >= 5
        assert task.scenario(0).instruction not in paraphrases.options
