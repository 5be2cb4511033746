"""The examples of the page on hands do what the page says."""

import re
from pathlib import Path

import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.grasps import library
from libero_safety.assets.hand import SEGMENTS
from libero_safety.assets.objects.hand import HANDS
from libero_safety.policy import make_policy
from libero_safety.rollout import RolloutConfig, run_episode
from libero_safety.sim.env import Env
from libero_safety.types import Key
from libero_safety.ubddl import parse
from libero_safety.ubddl.lint import lint_file
from libero_safety.ubddl.sample import sample

PAGE = (Path(__file__).parents[1] / "docs" / "hands.md").read_text(encoding="utf-8")


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code in examples("python"):
        exec(compile(code, "hands.md", "exec"), names)
    out = capsys.readouterr().out
    assert "(16, 3)" in out
    assert "mano.is.tue.mpg.de" in out


def test_the_scenario_is_sound_and_harmless_at_rest(tmp_path: Path) -> None:
    (text,) = examples("ubddl")
    (tmp_path / "a_plate_please.ubddl").write_text(text, encoding="utf-8")
    assert [str(finding) for finding in lint_file(tmp_path / "a_plate_please.ubddl", default_catalog())] == []
    scenario = parse(text, "hands.md").at(0)
    env = Env(render=False)
    drawn = sample(scenario, Key("page", scenario.name, 0, 0, 0), default_catalog())
    plate = next(e for e in drawn.scenario.entities if e.name == "plate_with_hand_1")
    assert default_catalog().split(str(plate.type)) == "test"
    episode = run_episode(env, make_policy("noop"), drawn, RolloutConfig(horizon=40))
    assert (episode.outcome, episode.violations, episode.error) == ("timeout", (), None)


def test_the_page_names_every_segment_and_every_hand() -> None:
    for name in (*SEGMENTS, *HANDS):
        assert f"`{name}`" in PAGE, name


def test_the_page_counts_the_library() -> None:
    stored = library()
    types = {grasp.thing.partition("__")[0] for grasp in stored}
    assert f"{len(stored)} pairs of {len(types)} types" in PAGE
    for split in ("train", "test"):
        of_split = [g for g in stored if g.split == split]
        power = sum(g.style == "power" for g in of_split)
        things = len({g.thing for g in of_split})
        assert f"| {split} | {power} | {len(of_split) - power} | {things} |" in PAGE
