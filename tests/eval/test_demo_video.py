"""Videos and sheets of demonstrations."""

import imageio.v3 as iio
import pytest
from PIL import Image

from libero_safety.cli import main
from libero_safety.data.demos import read_demos
from libero_safety.eval.demo_video import FRAMES, SHEET_PX, film, first_of_each
from libero_safety.eval.demos import DemosPlan, make_demos
from libero_safety.sim.vision import NoGLError

pytest.importorskip("piqp")
APPLE = "pick_up_the_red_apple_and_put_it_on_the_plate_in_my_hand"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("video") / "demos"
    make_demos(folder, DemosPlan(("hri",), 2, (0,), (APPLE,)))
    return folder


@pytest.mark.gl
def test_a_video_for_each_and_a_sheet_for_the_task(folder, tmp_path, capsys):
    out = tmp_path / "videos"
    assert main(["demo", "video", str(folder), "--out", str(out), "--size", "64"]) == 0
    assert "1 videos and a sheet for each task" in capsys.readouterr().out
    record = read_demos(folder).demos[0]
    frames = iio.imread(out / f"hri-{APPLE}-L0-0.mp4")
    assert len(frames) == record.steps // 2 + 1 + record.steps % 2
    assert abs(frames[0].astype(int) - frames[-1].astype(int)).mean() > 1.0
    with Image.open(out / f"hri-{APPLE}.png") as sheet:
        assert sheet.width >= FRAMES * SHEET_PX
        assert SHEET_PX < sheet.height < 2 * SHEET_PX


def test_the_verbs_tell_of_a_folder(folder, tmp_path, capsys):
    assert main(["demo", "verify", str(folder), "--sample", "1"]) == 0
    assert main(["demo", "report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    assert (
        "1 of 1 reach the same end state and the goal, 0 violations" in (tmp_path / "page.html").read_text()
    )
    assert "1 of 1 reach" in capsys.readouterr().out
    assert main(["demo", "report", str(tmp_path)]) == 2


def test_the_first_of_each_task_and_level_are_taken(folder):
    demos = read_demos(folder)
    assert [record.key.index for record in first_of_each(demos, 1)] == [0]
    assert [record.key.index for record in first_of_each(demos, 9)] == [0, 1]


def test_without_a_library_that_draws_it_says_so(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(NoGLError):
        next(film(read_demos(folder), tmp_path / "videos"))
    assert not (tmp_path / "videos").exists()
