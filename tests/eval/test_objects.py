"""Lists, draws and sheets of objects."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from libero_safety.assets.catalog import UnknownAssetError, default_catalog
from libero_safety.cli import main
from libero_safety.eval.objects import (
    ObjectsError,
    chosen_objects,
    draw_objects,
    every_object,
    object_lines,
    object_types,
    save_sheet,
)
from libero_safety.sim.vision import gl_backend

CATALOG = default_catalog()
PAPER_COUNT = 953
"""Objects that the paper counts."""


def test_a_seed_draws_as_many_objects_as_the_paper_has_all_of_them_different() -> None:
    names = draw_objects(CATALOG, PAPER_COUNT, 0)
    assert len(set(names)) == PAPER_COUNT
    assert names == draw_objects(CATALOG, PAPER_COUNT, 0)
    assert names != draw_objects(CATALOG, PAPER_COUNT, 1)
    assert names[:100] == draw_objects(CATALOG, 100, 0)
    assert {CATALOG.split(name) for name in names} == {"train", "test"}
    types = [name.rpartition("__")[0] for name in names]
    assert set(types) == set(object_types(CATALOG))
    counts = [types.count(name) for name in set(types)]
    assert max(counts) - min(counts) <= 1


@pytest.mark.slow
def test_what_a_seed_draws_differs_in_more_than_its_name() -> None:
    digests = {CATALOG.asset(name).digest() for name in draw_objects(CATALOG, PAPER_COUNT, 0)}
    assert len(digests) == PAPER_COUNT


def test_the_first_hundred_of_a_seed_differ_in_more_than_their_name() -> None:
    assert len({CATALOG.asset(name).digest() for name in draw_objects(CATALOG, 150, 3)}) == 150


def test_one_split_holds_only_its_own() -> None:
    for split in ("train", "test"):
        assert {CATALOG.split(n) for n in draw_objects(CATALOG, 200, 0, split)} == {split}
        assert {CATALOG.split(n) for n in every_object(CATALOG, split)} == {split}
    both = every_object(CATALOG)
    assert len(both) == len(set(both)) > PAPER_COUNT
    assert "knife" in both
    assert "microwave" not in both


def test_more_than_there_are_is_an_error() -> None:
    with pytest.raises(ObjectsError, match=r"are not to be had: there are \d+ types of 99 variants"):
        draw_objects(CATALOG, 10**6, 0, "train")
    with pytest.raises(ObjectsError, match="-1 objects"):
        draw_objects(CATALOG, -1, 0)


def test_options_that_exclude_each_other_are_an_error() -> None:
    with pytest.raises(ObjectsError, match="not both"):
        chosen_objects(CATALOG, ("mug",), None, 3, 0)
    with pytest.raises(UnknownAssetError, match="did you mean 'plate'"):
        chosen_objects(CATALOG, ("plat",), "train", None, 0)
    assert chosen_objects(CATALOG, ("mug", "mug__100"), "test", None, 0) == ["mug__100"]


def test_a_line_says_all_about_an_object() -> None:
    heading, line = object_lines(CATALOG, ["mug__100"])
    cells = line.split()
    assert heading.split()[:2] == ["name", "split"]
    assert cells[:2] == ["mug__100", "test"]
    assert {CATALOG.asset("mug__100").digest(), "MIT", "built-in", "body", "rim", "handle"} <= set(cells)


def test_the_verb_lists_what_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["objects", "--count", "7", "--seed", "2", "--split", "test"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == draw_objects(CATALOG, 7, 2, "test")
    assert main(["objects", "mug", "--assets", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.skipif(not gl_backend().ok, reason="no off-screen GL library here")
def test_a_sheet_shows_every_object(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    save_sheet(CATALOG, ["mug", "knife", "apple"], out, size=64)
    page = np.asarray(Image.open(out).convert("RGB")).astype(int)
    assert page.shape[1] > 3 * 64
    step = page.shape[1] // 3
    for column in range(3):
        cell = page[4:68, column * step + 4 : column * step + 64]
        ground = cell[2, 2]
        assert 0.02 < (np.abs(cell - ground).max(axis=2) > 30).mean() < 0.9
    red = page[4:68, 2 * step + 4 : 2 * step + 64]
    assert (red[..., 0] - red[..., 1]).max() > 100  # the apple
