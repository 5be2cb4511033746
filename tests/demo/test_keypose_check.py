"""What is wrong with keyposes is said before anything is planned."""

import re

import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.demo.check import check_keyposes
from libero_safety.demo.keypose import load_keyposes
from libero_safety.demo.variants import sample_variants
from libero_safety.rng import rng_for
from libero_safety.suites import PHYSICAL, Task, load_suite
from libero_safety.types import Key, Keypose
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.spec import Scenario

SCENE = """
(define (problem warm_the_mug)
  (:ubddl 1) (:suite test) (:arena tabletop)
  (:language warm the mug)
  (:regions (left (:target main_table) (:ranges ((-0.1 -0.1 0.1 0.1)))))
  (:fixtures main_table - table  microwave_1 - microwave)
  (:objects mug_1 - porcelain_mug :split test  stove_1 - flat_stove)
  (:init (On mug_1 main_table.left) (On microwave_1 main_table.left) (On stove_1 main_table.left))
  (:goal (In mug_1 microwave_1.inside)))
"""
GRASP = Keypose("grasp", "mug_1.grasp", (0, 0, 0), gripper=1.0, wait_steps=12, verb="grasp")
TASKS = [task for suite in PHYSICAL for task in load_suite(suite).tasks]


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return parse(SCENE).at(0)


@pytest.mark.parametrize(
    "keypose",
    [
        Keypose("a", "mug_1", (0, 0, 0)),
        Keypose("a", "mug_1.rim", (0, 0, 0)),
        Keypose("a", "mug_1.contain_region.top", (0, 0, 0)),
        Keypose("a", "microwave_1.door.bottom", (0, 0, 0)),
        Keypose("a", "microwave_1.inside", (0, 0, 0)),
        Keypose("a", "main_table", (0, 0, 0)),
        Keypose("a", "workspace", (0, 0, 0)),
        Keypose("a", "main_table.left", (0, 0, 0)),
        Keypose("a", "gripper", (0, 0, 0.1)),
        Keypose("a", "microwave_1", (0, 0, 0), hinge="microwave_1.door", verb="close"),
    ],
    ids=lambda keypose: keypose.frame,
)
def test_what_is_there_is_found(scenario: Scenario, keypose: Keypose) -> None:
    assert check_keyposes([keypose], scenario, default_catalog()) == []


@pytest.mark.parametrize(
    ("keyposes", "message"),
    [
        (
            [Keypose("a", "mugg_1", (0, 0, 0))],
            "keypose 0 'a': frame is 'mugg_1'.*no 'mugg_1', did you mean 'mug_1'",
        ),
        (
            [Keypose("a", "mug_1.handel", (0, 0, 0))],
            "porcelain_mug.* has no part or zone 'handel', did you mean 'handle'",
        ),
        (
            [Keypose("a", "microwave_1.grasp", (0, 0, 0))],
            "microwave has no part or zone 'grasp'.*It has: .*door",
        ),
        ([Keypose("a", "mug_1.rim.topp", (0, 0, 0))], "'topp' is no face, did you mean 'top'"),
        ([Keypose("a", "main_table.right", (0, 0, 0))], "'main_table' has no region 'right'"),
        ([Keypose("a", "mug_1", (0, 0, 0), hinge="microwave_1.dor")], "no joint 'dor', did you mean 'door'"),
        ([Keypose("a", "mug_1", (0, 0, 0), hinge="mug_1.lid")], "no joint 'lid'. It has: none"),
        ([Keypose("a", "mug_1", (0, 0, 0), hinge="oven_1.door")], "the scenario has no 'oven_1'"),
        ([Keypose("a", "stove_1", (0, 0, 0), tool="mug_1")], "tool is 'mug_1', but .* it holds nothing"),
        (
            [GRASP, Keypose("b", "mug_1", (0, 0, 0), tool="stove_1", gripper=1.0)],
            "keypose 1 'b': tool is 'stove_1', but .* it holds 'mug_1'",
        ),
        (
            [GRASP, Keypose("open", "gripper", (0, 0, 0)), Keypose("b", "stove_1", (0, 0, 0), tool="mug_1")],
            "keypose 2 'b': tool is 'mug_1', but .* it holds nothing",
        ),
        (
            [GRASP, Keypose("b", "stove_1", (0, 0, 0), tool="mug_1.lip", gripper=1.0)],
            "tool is 'mug_1.lip', but",
        ),
        (
            [Keypose("b", "stove_1", (0, 0, 0), verb="place")],
            "verb is 'place', but the gripper holds nothing",
        ),
        ([Keypose("b", "mug_1", (0, 0, 0), verb="grasp")], "verb is 'grasp', but gripper is -1.0"),
        ([Keypose("b", "mug_1", (0, 0, 0), gripper=1.0, hint=True)], "hint, but it opens or closes"),
    ],
)
def test_what_is_not_is_said_with_its_place(
    scenario: Scenario, keyposes: list[Keypose], message: str
) -> None:
    problems = check_keyposes(keyposes, scenario, default_catalog(), "warm.toml")
    assert len(problems) == 1
    assert re.search(message, problems[0]), problems[0]
    assert problems[0].startswith("warm.toml: keypose ")


def test_all_that_is_wrong_is_said(scenario: Scenario) -> None:
    keypose = Keypose("a", "mugg_1", (0, 0, 0), tool="plate_1", hinge="oven_1.door", verb="cut")
    assert len(check_keyposes([keypose], scenario, default_catalog())) == 5


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.suite}-{task.name[:32]}")
def test_the_keyposes_of_every_task_fit_every_level(task: Task) -> None:
    assert task.keyposes_path is not None
    keyposes = load_keyposes(task.keyposes_path)
    for level in task.levels:
        assert check_keyposes(keyposes, task.scenario(level), default_catalog()) == []


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.suite}-{task.name[:32]}")
def test_every_task_has_many_variants_and_says_what_it_does(task: Task) -> None:
    assert task.keyposes_path is not None
    keyposes = load_keyposes(task.keyposes_path)
    verbs = [keypose.verb for keypose in keyposes]
    assert verbs[:3] == ["pre-grasp", "grasp", "lift"]
    variants = sample_variants(keyposes, rng_for(Key(task.suite, task.name, 0, 0, 0), "test"))
    assert variants.combinations >= 5**3
