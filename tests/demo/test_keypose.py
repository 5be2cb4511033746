import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from libero_safety.demo.keypose import (
    KeyposeError,
    dump_keyposes,
    load_keyposes,
    parse_keyposes,
    task_keyposes,
)
from libero_safety.demo.target import about_z, world_target
from libero_safety.types import Keypose

TEXT = """
[[keypose]]
name = "above"
frame = "moka_pot_1.handle"
pos = [0, 0.01, 0.1]

[[keypose]]
name = "grasp"
frame = "moka_pot_1.handle"
pos = [0.0, 0.01, 0.02]
yaw_deg = 90
pitch_deg = -30
gripper = 1
wait_steps = 12
tolerance_m = 0.005
"""


def parse(text: str) -> tuple[Keypose, ...]:
    return parse_keyposes(text, "pour.toml")


def one(**changes: str) -> str:
    """One valid keypose as TOML, with lines changed; an empty change removes the line."""
    lines = {"name": '"a"', "frame": '"mug_1"', "pos": "[0, 0, 0.1]"} | changes
    return "[[keypose]]\n" + "\n".join(f"{key} = {value}" for key, value in lines.items() if value)


def test_a_file_gives_its_keyposes_in_order(tmp_path: Path) -> None:
    file = tmp_path / "pour.toml"
    file.write_text(TEXT)
    above, grasp = load_keyposes(file)
    assert above == Keypose("above", "moka_pot_1.handle", (0.0, 0.01, 0.1))
    assert grasp.yaw == pytest.approx(math.pi / 2)
    assert grasp.pitch == pytest.approx(-math.pi / 6)
    assert (grasp.gripper, grasp.wait_steps, grasp.tolerance_m) == (1.0, 12, 0.005)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"pour\.toml: no \[\[keypose\]\] table"),
        ("keypose = 3", "no .*table"),
        ("keypose = [3]", "keypose 0 is not a table"),
        ("[[keypos]]", "unknown entry 'keypos', did you mean 'keypose'"),
        ("[[keypose]", r"pour\.toml: .*line 1"),
        (one(name=""), "keypose 0: 'name' is missing"),
        (one(frame=""), "keypose 0 'a': 'frame' is missing"),
        (one(wait_step="3"), "keypose 0 'a': unknown key 'wait_step', did you mean 'wait_steps'"),
        (one(pos="[0, 0]"), "keypose 0 'a': pos has 2 numbers"),
        (one(pos='"here"'), "pos is 'here', must be a list of three"),
        (one(pos="[0, 0, inf]"), "pos is .*finite"),
        (one(pos="[0, 0, true]"), "pos is .*finite"),
        (one(frame='" "'), "frame is ' ', must be a name"),
        (one(gripper="2"), "gripper is 2.0, must be from -1"),
        (one(gripper='"closed"'), "gripper is 'closed', must be a finite number"),
        (one(yaw_deg="nan"), "yaw_deg is nan"),
        (one(wait_steps="1.5"), "wait_steps is 1.5, must be a whole number"),
        (one(wait_steps="-1"), "wait_steps is -1"),
        (one(wait_steps="true"), "wait_steps is True"),
        (one(tolerance_m="0"), "tolerance_m is 0.0, must be above 0"),
        (TEXT + one(name='"above"'), "keypose 2: the name 'above' is taken"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str) -> None:
    with pytest.raises(KeyposeError, match=message):
        parse(text)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name in ("absent.toml", "binary.toml"):
        with pytest.raises(KeyposeError, match=f"cannot read keyposes from .*{name}"):
            load_keyposes(tmp_path / name)


def test_the_keyposes_of_a_task_lie_beside_its_scenario(tmp_path: Path) -> None:
    (tmp_path / "keyposes").mkdir()
    (tmp_path / "keyposes" / "pour_water.toml").write_text(TEXT)
    assert [k.name for k in task_keyposes(tmp_path / "pour_water.ubddl")] == ["above", "grasp"]
    with pytest.raises(KeyposeError, match=r"no keyposes for .*pour_watr\.ubddl.*did you mean 'pour_water'"):
        task_keyposes(tmp_path / "pour_watr.ubddl")


NUMBER = st.floats(-10, 10)
KEYPOSE = st.builds(
    Keypose,
    name=st.text(min_size=1).filter(str.strip),
    frame=st.text(min_size=1).filter(str.strip),
    pos=st.tuples(NUMBER, NUMBER, NUMBER),
    yaw=NUMBER,
    pitch=NUMBER,
    gripper=st.floats(-1, 1),
    wait_steps=st.integers(0, 1000),
    tolerance_m=st.floats(1e-6, 1),
)


@given(st.lists(KEYPOSE, min_size=1, max_size=3, unique_by=lambda keypose: keypose.name))
def test_what_is_written_is_read_back(keyposes: list[Keypose]) -> None:
    text = dump_keyposes(keyposes)
    back = parse(text)
    for before, after in zip(keyposes, back, strict=True):
        assert after.yaw == pytest.approx(before.yaw, abs=1e-11)
        assert after.pitch == pytest.approx(before.pitch, abs=1e-11)
        assert (after.name, after.frame, after.pos) == (before.name, before.frame, before.pos)
        assert (after.gripper, after.wait_steps) == (before.gripper, before.wait_steps)
        assert after.tolerance_m == before.tolerance_m
    assert dump_keyposes(back) == text


def test_angles_are_written_as_one_would() -> None:
    assert "yaw_deg = 90.0\n" in dump_keyposes([Keypose("a", "b", (0, 0, 0), yaw=math.pi / 2)])


ORIGIN = np.zeros(3)


def test_at_no_yaw_the_fingers_point_down_and_close_along_the_frames_y() -> None:
    pos, rotation = world_target(Keypose("a", "f", (0.1, 0.0, 0.2)), np.array([1.0, 2.0, 3.0]), np.eye(3))
    np.testing.assert_allclose(pos, (1.1, 2.0, 3.2))
    np.testing.assert_allclose(rotation[:, 2], (0, 0, -1), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 0], (0, 1, 0), atol=1e-15)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_the_frames_yaw_turns_place_and_gripper() -> None:
    pos, rotation = world_target(Keypose("a", "f", (0.1, 0.0, 0.2)), ORIGIN, about_z(math.pi / 2))
    np.testing.assert_allclose(pos, (0.0, 0.1, 0.2), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 0], (-1, 0, 0), atol=1e-15)


def test_yaw_turns_the_closing_axis_about_the_vertical() -> None:
    _, rotation = world_target(Keypose("a", "f", (0, 0, 0), yaw=math.pi / 2), ORIGIN, np.eye(3))
    np.testing.assert_allclose(np.abs(rotation[:, 0]), (1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(rotation[:, 2], (0, 0, -1), atol=1e-15)


@pytest.mark.parametrize("yaw", [0.0, 0.7, math.pi / 2])
def test_pitch_tilts_the_fingers_towards_the_frames_x(yaw: float) -> None:
    _, rotation = world_target(Keypose("a", "f", (0, 0, 0), yaw=yaw, pitch=math.pi / 6), ORIGIN, np.eye(3))
    np.testing.assert_allclose(rotation[:, 2], (0.5, 0, -math.sqrt(0.75)), atol=1e-12)
