"""Lists, draws and sheets of pairs of a hand and a thing."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.grasp_library import Order
from libero_safety.assets.grasps import library, read_grasps
from libero_safety.cli import main
from libero_safety.eval import hands
from libero_safety.eval.hands import (
    HandsError,
    chosen_pairs,
    every_pair,
    grasp_of,
    pair_lines,
    save_pair_sheet,
    touching_segments,
)
from libero_safety.eval.sheet import SheetError
from libero_safety.sim.vision import gl_backend

CATALOG = default_catalog()


def test_all_pairs_of_one_split_or_both() -> None:
    both, train, test = every_pair(), every_pair("train"), every_pair("test")
    assert len(both) == len(set(both)) == len(library())
    assert set(train) | set(test) == set(both)
    assert {CATALOG.split(name) for name in test} == {"test"}
    assert {grasp_of(name).split for name in train} == {"train"}


def test_names_choose_pairs_things_and_their_variants() -> None:
    plates = chosen_pairs(["plate"], None, None, 0)
    assert len(plates) > 2
    assert {grasp_of(name).thing.partition("__")[0] for name in plates} == {"plate"}
    assert chosen_pairs(["plate__100"], None, None, 0) == ["plate__100_with_hand__1"]
    assert chosen_pairs(["plate_with_hand"], None, None, 0) == ["plate_with_hand__1"]
    assert set(chosen_pairs(["plate"], "test", None, 0)) == {n for n in plates if CATALOG.split(n) == "test"}


def test_a_count_is_drawn_from_the_seed() -> None:
    some = chosen_pairs([], None, 7, 0)
    assert len(set(some)) == 7
    assert some == chosen_pairs([], None, 7, 0) != chosen_pairs([], None, 7, 1)


def test_pairs_that_there_are_not_are_an_error() -> None:
    with pytest.raises(HandsError, match=r"no stored pair 'plat'.*did you mean 'plate'"):
        chosen_pairs(["plat"], None, None, 0)
    with pytest.raises(HandsError, match="no stored pair 'plate_with_hand__99'"):
        chosen_pairs(["plate_with_hand__99"], None, None, 0)
    with pytest.raises(HandsError, match=f"1000000 pairs are not to be had: there are {len(library())}"):
        chosen_pairs([], None, 10**6, 0)


def test_a_fist_touches_with_thumb_and_fingers_and_a_waiter_with_the_palm() -> None:
    can, plate = grasp_of("can_of_soda_with_hand"), grasp_of("plate_with_hand")
    closed = touching_segments(can, CATALOG.asset("can_of_soda"))
    assert {s.removesuffix("_tip") for s in closed} >= {"thumb", "index", "middle"}
    carried = touching_segments(plate, CATALOG.asset("plate"))
    assert carried
    assert not {"back", "forearm"} & {*closed, *carried}


def test_a_line_says_all_about_a_pair() -> None:
    heading, line = pair_lines(CATALOG, ["plate__100_with_hand__1"])
    assert heading.split()[:4] == ["name", "split", "side", "hold"]
    assert line.split()[0:4:3] == ["plate__100_with_hand__1", "carried"]
    assert line.split()[1] == "test"


@pytest.mark.skipif(gl_backend() is None, reason="no off-screen OpenGL library")
def test_a_sheet_shows_each_pair_from_three_sides(tmp_path: Path) -> None:
    save_pair_sheet(CATALOG, ["plate_with_hand", "can_of_soda_with_hand"], tmp_path / "a.png", size=64)
    page = np.asarray(Image.open(tmp_path / "a.png"))
    assert page.shape[1] > 6 * 64
    views = [page[4:68, 4 + 68 * i : 68 + 68 * i].astype(float) for i in range(6)]
    assert all(np.abs(views[i] - views[j]).max() > 50 for i in range(6) for j in range(i))
    with pytest.raises(SheetError):
        save_pair_sheet(CATALOG, ["plate_with_hand"], tmp_path / "a.txt")


def test_the_verb_lists_and_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["hands", "--split", "test", "--count", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(" test " in line for line in lines[1:])
    assert main(["hands", "nothing_like_it"]) == 2
    assert "no stored pair 'nothing_like_it'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_library_is_built_by_one_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(hands, "orders", lambda catalog: [Order("plate", 1), Order("can_of_soda", 1)])
    files = [tmp_path / "one.npz", tmp_path / "two.npz"]
    for file in files:
        assert main(["hands", "--build", str(file)]) == 0
    assert f"2 pairs in {files[0]}" in capsys.readouterr().out
    assert files[0].read_bytes() == files[1].read_bytes()
    assert [g.thing for g in read_grasps(files[0].read_bytes())] == ["plate", "can_of_soda"]
