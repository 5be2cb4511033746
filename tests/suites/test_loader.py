import hashlib
from pathlib import Path

import pytest

from libero_safety.registry import UnknownNameError
from libero_safety.suites import SuiteError, find_task, load_suite, suites
from libero_safety.ubddl.reader import UbddlError

STRICT = """
(define (problem {name})
  (:ubddl 1) (:arena kitchen)
  (:language pick up the mug)
  (:objects mug_1 - mug)
  (:goal (Up mug_1))
  (:level 2 (:language lift the mug)))
"""
FOREIGN = """
(define (problem LIBERO_Tabletop_Manipulation)
  (:domain robosuite)
  (:language pick up the bowl)
  (:regions (place (:target main_table) (:ranges ((-0.1 -0.1 0.1 0.1)))))
  (:fixtures main_table - table)
  (:objects akita_black_bowl_1 - akita_black_bowl)
  (:obj_of_interest akita_black_bowl_1)
  (:init (On akita_black_bowl_1 main_table_place))
  (:goal (And (On akita_black_bowl_1 main_table_place))))
"""


def write(folder: Path, *names: str, about: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = FOREIGN if name.endswith(".bddl") else STRICT.format(name=Path(name).stem)
        (folder / name).write_text(text)
    if about is not None:
        (folder / "suite.toml").write_text(about)
    return folder


def test_the_stated_order_is_the_order(tmp_path: Path) -> None:
    about = 'name = "cups"\ntitle = "Cups"\ndescription = "About cups."\ntasks = ["b", "c", "a"]\n'
    suite = load_suite(write(tmp_path / "x", "a.ubddl", "b.ubddl", "c.bddl", "unlisted.ubddl", about=about))
    assert (suite.name, suite.title, suite.description) == ("cups", "Cups", "About cups.")
    assert [task.name for task in suite.tasks] == ["b", "c", "a"]
    assert {task.suite for task in suite.tasks} == {"cups"}


def test_without_suite_toml_every_scenario_counts_but_hidden_files(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", "b.ubddl", "a.bddl", "C.ubddl")
    for hidden in (".DS_Store", "._b.ubddl", ".ubddl", ".bddl", "notes.txt"):
        (folder / hidden).write_bytes(b"\0\0\0\1Bud1")
    (folder / "old.ubddl").mkdir()
    suite = load_suite(folder)
    assert suite.name == "mine"
    assert [task.name for task in suite.tasks] == ["C", "a", "b"]


def test_levels_and_scenarios_come_from_the_file(tmp_path: Path) -> None:
    task = load_suite(write(tmp_path, "lift.ubddl")).task("lift")
    assert task.levels == (0, 2)
    assert task.scenario(0).instruction == "pick up the mug"
    assert task.scenario(2).instruction == "lift the mug"
    assert task.scenario(2).level == 2
    with pytest.raises(UbddlError, match=r"lift has no level 1\. Levels: 0, 2"):
        task.scenario(1)


def test_a_foreign_file_is_a_task_with_one_level(tmp_path: Path) -> None:
    task = load_suite(write(tmp_path, "bowl.bddl")).task("bowl")
    assert task.levels == (0,)
    assert task.scenario(0).instruction == "pick up the bowl"


def test_a_single_file_keeps_the_suite_it_is_part_of(tmp_path: Path) -> None:
    folder = write(tmp_path / "x", "a.ubddl", "b.ubddl", about='name = "cups"\ntasks = ["a"]\n')
    suite = load_suite(folder / "b.ubddl")
    assert [(task.suite, task.name) for task in suite.tasks] == [("cups", "b")]
    alone = load_suite(write(tmp_path / "mine", "a.ubddl") / "a.ubddl")
    assert [(task.suite, task.name) for task in alone.tasks] == [("mine", "a")]


def test_a_broken_file_breaks_only_its_own_task(tmp_path: Path) -> None:
    folder = write(tmp_path, "good.ubddl")
    (folder / "broken.ubddl").write_text("(define (problem broken) (:ubddl 1)")
    suite = load_suite(folder)
    assert suite.task("good").levels == (0, 2)
    with pytest.raises(UbddlError, match=r"broken\.ubddl:1:"):
        _ = suite.task("broken").levels


def test_the_hash_is_that_of_the_bytes_and_keyposes_are_beside(tmp_path: Path) -> None:
    folder = write(tmp_path, "a.ubddl", "b.ubddl")
    (folder / "keyposes").mkdir()
    (folder / "keyposes" / "a.toml").write_text("")
    suite = load_suite(folder)
    assert suite.task("a").sha256 == hashlib.sha256((folder / "a.ubddl").read_bytes()).hexdigest()
    assert suite.task("a").keyposes_path == folder / "keyposes" / "a.toml"
    assert suite.task("b").keyposes_path is None


def test_a_relative_path_stays_good_when_the_working_folder_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "mine", "a.ubddl")
    monkeypatch.chdir(tmp_path)
    suite = load_suite("mine")
    monkeypatch.chdir("/")
    assert suite.tasks[0].levels == (0, 2)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ('tasks = ["a", "lost"]', r"lists the task 'lost', but .*lost\.ubddl does not exist"),
        ('tasks = ["bb"]', r"lists the task 'bb'.* did you mean 'bbb'"),
        ("tasks = []", "'tasks' must list"),
        ('title = "no tasks"', "'tasks' must list"),
        ("tasks = [1]", "1 in 'tasks' must be a file name"),
        ('tasks = ["../a"]', "'../a' in 'tasks' must be a file name"),
        ('tasks = ["a", "a"]', "has two tasks called 'a'"),
        ('tasks = ["a"]\nname = 3', "'name' must be text, not 3"),
        ('tasks = ["a"]\ntitel = "x"', "unknown field 'titel', did you mean 'title'"),
        ("tasks = [", "is not valid TOML"),
    ],
)
def test_a_wrong_suite_toml_says_what_is_wrong(tmp_path: Path, about: str, message: str) -> None:
    folder = write(tmp_path, "a.ubddl", "bbb.ubddl", about=about)
    with pytest.raises(SuiteError, match=message):
        load_suite(folder)


def test_what_is_no_suite_says_so(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"unknown suite 'fshoe', did you mean 'fshoa'"):
        load_suite("fshoe")
    with pytest.raises(SuiteError, match=r"neither a suite\.toml nor a scenario"):
        load_suite(tmp_path)
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(SuiteError, match=r"must end in \.ubddl or \.bddl"):
        load_suite(tmp_path / "a.txt")


def test_an_unknown_task_gets_the_nearest(tmp_path: Path) -> None:
    suite = load_suite(write(tmp_path, "pour_the_water.ubddl"))
    with pytest.raises(UnknownNameError, match="did you mean 'pour_the_water'"):
        suite.task("pour_the_watr")


def test_a_task_is_found_by_suite_and_name_or_by_file(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", "lift.ubddl")
    by_name, by_file = find_task(f"{folder}/lift"), find_task(folder / "lift.ubddl")
    assert by_name == by_file
    assert str(by_name.path) == str(folder / "lift.ubddl")
    with pytest.raises(SuiteError, match="'lift' is neither suite/task nor a scenario file"):
        find_task("lift")
    with pytest.raises(SuiteError, match="unknown suite 'agg', did you mean 'aag'"):
        find_task("agg/lift")
    with pytest.raises(SuiteError, match=r"unknown suite 'lost\.ubddl'"):
        find_task("lost.ubddl")


@pytest.mark.parametrize("name", suites())
def test_every_built_in_suite_states_all_its_files(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert suite.title
    assert suite.description
    present = {path.stem for path in suite.folder.glob("*.ubddl")}
    assert {task.name for task in suite.tasks} == present
    assert all(task.scenario(level).suite == name for task in suite.tasks for level in task.levels)
