"""What docs/keyposes.md shows is so."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.demo.check import check_keyposes
from libero_safety.demo.keypose import VERBS, dump_keyposes, load_keyposes, parse_keyposes
from libero_safety.demo.variants import sample_variants
from libero_safety.policy import make_policy
from libero_safety.rng import rng_for
from libero_safety.rollout import run_episode
from libero_safety.sim.env import Env
from libero_safety.types import Key, Keypose
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.sample import sample

PAGE = (Path(__file__).parents[2] / "docs" / "keyposes.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


KEYPOSES = parse_keyposes(blocks("toml")[0], "keyposes.md")


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(render=False)


def test_the_example_fits_its_scene() -> None:
    assert check_keyposes(KEYPOSES, parse(blocks("lisp")[0]).at(0), default_catalog()) == []


@pytest.mark.parametrize("index", range(3))
def test_the_example_does_what_it_should_in_every_variant(env: Env, index: int) -> None:
    scenario = parse(blocks("lisp")[0]).at(0)
    key = Key("mine", scenario.name, 0, 0, index)
    variants = sample_variants(KEYPOSES, rng_for(key, "test"))
    keyposes = variants.choose([index * 2, index, index * 2, 0])
    episode = run_episode(
        env, make_policy("reckless", keyposes=keyposes), sample(scenario, key, default_catalog())
    )
    assert (episode.outcome, episode.error) == ("success", None)


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keyposes").mkdir()
    (tmp_path / "keyposes" / "put_the_can_on_the_plate.toml").write_text(blocks("toml")[0])
    monkeypatch.chdir(tmp_path)
    for code in blocks("python"):
        exec(compile(code, "keyposes.md", "exec"), {})


def test_the_error_is_the_one_that_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "put_the_can_on_the_plate.toml"
    file.write_text(blocks("toml")[0].replace("plate_1.contain_region.bottom", "plate_1.handle", 1))
    problems = check_keyposes(
        load_keyposes(file),
        parse(blocks("lisp")[0].replace(":split test", "")).at(0),
        default_catalog(),
        file.name,
    )
    shown = re.search(r"    (put_the_can_on_the_plate\.toml: .*\n    .*)", PAGE)
    assert shown is not None
    assert problems == [re.sub(r"\n +", " ", shown[1])]


def test_every_key_and_verb_is_explained() -> None:
    written = {"yaw": "yaw_deg", "pitch": "pitch_deg", "roll": "roll_deg", "upright": "upright_deg"}
    keys = {written.get(field.name, field.name) for field in fields(Keypose)} | {"quat"}
    rows = dict(re.findall(r"^\| `([a-z-]+(?:_[a-z]+)*)` \|.*\| (\w+) \|$", PAGE, re.MULTILINE))
    assert {verb: meaning.touches for verb, meaning in VERBS.items()} == {
        verb: rows.get(verb) for verb in VERBS
    }
    assert keys <= set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))


def test_what_is_written_back_is_the_same() -> None:
    again = parse_keyposes(dump_keyposes(KEYPOSES), "again")
    assert again == KEYPOSES
