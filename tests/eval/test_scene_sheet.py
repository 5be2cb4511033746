"""Contact sheets: every picture in its place, with a name that can be read."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from libero_safety.cli import main
from libero_safety.eval.scene_sheet import MISSING_GREY, save_scene_sheet
from libero_safety.eval.sheet import GAP_PX, LINE_PX, SheetError, contact_sheet
from libero_safety.sim.vision import gl_backend
from libero_safety.suites import load_suite
from libero_safety.types import ImageArray

SIZE = 48
STEP_X, STEP_Y = SIZE + GAP_PX, SIZE + GAP_PX + LINE_PX


@pytest.fixture
def gl() -> None:
    report = gl_backend()
    if not report.ok:
        pytest.skip(f"no off-screen GL: {report.why}")


def tile(page: ImageArray, row: int, column: int) -> ImageArray:
    y, x = GAP_PX + row * STEP_Y, GAP_PX + column * STEP_X
    return page[y : y + SIZE, x : x + SIZE]


def words(page: ImageArray, row: int, column: int) -> ImageArray:
    y, x = GAP_PX + row * STEP_Y + SIZE, GAP_PX + column * STEP_X
    return page[y : y + LINE_PX, x : x + SIZE]


def test_pictures_are_laid_out_in_reading_order() -> None:
    colours = [np.full((SIZE, SIZE, 3), 10 * i, np.uint8) for i in range(5)]
    page = contact_sheet([(colour, f"n{i}") for i, colour in enumerate(colours)], columns=3)
    assert page.shape == (2 * STEP_Y + GAP_PX, 3 * STEP_X + GAP_PX, 3)
    for i, colour in enumerate(colours):
        assert np.array_equal(tile(page, i // 3, i % 3), colour)
        assert words(page, i // 3, i % 3).min() < 128
    assert tile(page, 1, 2).min() == 255
    with pytest.raises(SheetError, match="no pictures"):
        contact_sheet([])


@pytest.mark.parametrize("length", [9, 10, 30, 31, 90])
def test_a_long_label_keeps_its_ends_and_stays_under_its_picture(length: int) -> None:
    black = np.zeros((SIZE, SIZE, 3), np.uint8)
    label = "ab" + "m" * (length - 4) + "yz"
    page = contact_sheet([(black, label), (black, "")])
    assert words(page, 0, 0).min() < 128
    assert words(page, 0, 1).min() == 255
    assert page[:, SIZE + GAP_PX : STEP_X + GAP_PX].min() == 255
    plain = contact_sheet([(black, "ab"), (black, "")])
    assert np.array_equal(words(page, 0, 0)[:, :10], words(plain, 0, 0)[:, :10])


@pytest.mark.gl
def test_a_sheet_shows_both_cameras_at_level_0_and_one_at_the_others(gl: None, tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    task = load_suite("ssr").task("smash_the_vase_with_a_hammer")
    other = load_suite("ssr").task("put_the_frypan_on_the_egg")
    assert save_scene_sheet(out, suites=[str(task.path), str(other.path)], size=SIZE) == []
    page = np.asarray(Image.open(out))
    assert page.shape == (STEP_Y + GAP_PX, 3 * STEP_X + GAP_PX, 3)
    pictures = [tile(page, 0, column) for column in range(3)]
    assert all(picture.std() > 15 for picture in pictures)
    assert not np.array_equal(pictures[0], pictures[1])


@pytest.mark.gl
def test_a_scene_without_room_is_grey_and_the_exit_code_says_so(
    gl: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = load_suite("ssr").task("put_the_frypan_on_the_egg").path.read_text()
    crowded = text.replace("((-0.04 0.06 0.10 0.24))", "((0.00 0.14 0.01 0.15))")
    assert crowded != text
    (tmp_path / "a_crowded.ubddl").write_text(crowded)
    (tmp_path / "b_roomy.ubddl").write_text(text)
    out = tmp_path / "sheet.png"
    args = ["scenes", "--suite", str(tmp_path), "--sheet", str(out), "--size", str(SIZE), "--count", "4"]
    assert main([*args, "--camera", "agentview"]) == 1
    assert "no room for 'egg_2'" in capsys.readouterr().out
    page = np.asarray(Image.open(out))
    grey = [bool((tile(page, 0, column) == MISSING_GREY).all()) for column in range(4)]
    assert grey == [True, False, True, False]


@pytest.mark.parametrize(
    ("name", "said"), [("sheet", "must end in .png"), ("nowhere/sheet.png", "nowhere is no folder")]
)
def test_what_cannot_be_written_is_said_before_anything_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    assert main(["scenes", "--suite", "ssr", "--sheet", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.gl
def test_a_task_is_viewed_at_its_lowest_level(gl: None, tmp_path: Path) -> None:
    out = tmp_path / "egg.png"
    assert main(["view", "ssr/put_the_frypan_on_the_egg", "--size", "32", "--out", str(out)]) == 0
    assert np.asarray(Image.open(out)).std() > 15
