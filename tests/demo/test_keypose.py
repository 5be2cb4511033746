import math
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libero_safety.demo.keypose import (
    VERBS,
    KeyposeError,
    dump_keyposes,
    load_keyposes,
    parse_keyposes,
    task_keyposes,
)
from libero_safety.types import Keypose, Symmetry, Vary, Verb

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


def test_a_keypose_says_what_it_does_what_arrives_how_it_varies_and_how_to_get_there() -> None:
    (keypose,) = parse(
        one(
            verb='"pour"',
            tool='"mug_1.rim"',
            tilted="true",
            symmetry='"full"',
            vary="{ pos = [0.01, 0, 0.02], yaw_deg = 90, pitch_deg = 180 }",
            group='"bowl"',
            upright_deg="180",
            hinge='"microwave_1.door"',
            via="true",
            hint="true",
            roll_deg="90",
        )
    )
    assert (keypose.verb, keypose.tool, keypose.symmetry) == ("pour", "mug_1.rim", "full")
    assert (keypose.tilted, keypose.via, keypose.hint, keypose.straight) == (True, True, True, False)
    assert keypose.vary == Vary((0.01, 0.0, 0.02), math.pi / 2, math.pi)
    assert (keypose.group, keypose.upright, keypose.hinge) == ("bowl", math.pi, "microwave_1.door")
    assert keypose.roll == pytest.approx(math.pi / 2)


def test_a_quaternion_is_the_same_as_its_angles() -> None:
    half = math.sqrt(0.5)
    (keypose,) = parse(one(quat=f"[{half}, 0, 0, {half}]"))
    assert (keypose.yaw, keypose.pitch, keypose.roll) == pytest.approx((math.pi / 2, 0.0, 0.0))
    (keypose,) = parse(one(quat="[0.7071, 0, -0.7071, 0]"))
    assert keypose.pitch == pytest.approx(math.pi / 2, abs=1e-4)


def test_what_a_verb_may_touch_is_known_of_every_verb() -> None:
    assert set(VERBS) == set(get_args(Verb))


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
        (one(verb='"graps"'), "keypose 0 'a': unknown verb 'graps', did you mean 'grasp'"),
        (one(verb="3"), "verb is 3, must be a name"),
        (
            one(symmetry='"halfturn"'),
            "unknown symmetry 'halfturn', did you mean 'half-turn'.*none, half-turn, full",
        ),
        (one(tool='""'), "tool is '', must be a name"),
        (one(tilted='"yes"'), "tilted is 'yes', must be true or false"),
        (one(straight="1"), "straight is 1, must be true or false"),
        (one(quat="[1, 0, 0]"), "quat is .*four finite numbers"),
        (one(quat="[1, 0, 0, nan]"), "quat is .*four finite numbers"),
        (one(quat="[0, 0, 0, 0]"), "keypose 0 'a': quat .* is no rotation: its length is 0, must be 1"),
        (one(quat="[1, 1, 0, 0]"), "is no rotation: its length is 1.414"),
        (one(quat="[1, 0, 0, 0]", yaw_deg="5"), "quat and yaw_deg are both given"),
        (one(roll_deg="inf"), "roll_deg is inf"),
        (one(vary="0.01"), "vary is 0.01, must be a table such as"),
        (one(vary="{ position = [0, 0, 0] }"), "unknown key of vary 'position'"),
        (one(vary="{ pos = [0.01, -0.01, 0] }"), "pos of vary is .*0 or more"),
        (one(vary="{ pos = [0.01, 0.01] }"), "pos has 2 numbers"),
        (one(vary="{ yaw_deg = -5 }"), "yaw_deg of vary is -5.*0 or more"),
        (one(upright_deg="0"), "upright_deg is 0.0, must be above 0"),
        (one(straight="true", hinge='"stove_1.knob"'), "straight and hinge are both given"),
        (one(via="true", wait_steps="4"), "via and wait_steps are both given"),
        (one(hint="true", wait_steps="4"), "hint and wait_steps are both given"),
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
SIZE = st.floats(0, 3)
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
    roll=NUMBER,
    verb=st.sampled_from(get_args(Verb)),
    tool=st.sampled_from(["", "mug_1", "mug_1.rim"]),
    tilted=st.booleans(),
    symmetry=st.sampled_from(get_args(Symmetry)),
    vary=st.builds(Vary, st.tuples(SIZE, SIZE, SIZE), SIZE, SIZE),
    group=st.sampled_from(["", "grasp"]),
    straight=st.booleans(),
    upright=st.none() | st.floats(0.01, 3),
    hint=st.just(False),
)


@given(st.lists(KEYPOSE, min_size=1, max_size=3, unique_by=lambda keypose: keypose.name))
def test_what_is_written_is_read_back(keyposes: list[Keypose]) -> None:
    text = dump_keyposes(keyposes)
    back = parse(text)
    for before, after in zip(keyposes, back, strict=True):
        for angle in ("yaw", "pitch", "roll", "upright"):
            assert getattr(after, angle) == pytest.approx(getattr(before, angle), abs=1e-11)
        assert after.vary.pos == before.vary.pos
        assert (after.vary.yaw, after.vary.pitch) == pytest.approx(
            (before.vary.yaw, before.vary.pitch), abs=1e-11
        )
        same = {name: getattr(before, name) for name in ("yaw", "pitch", "roll", "upright", "vary")}
        assert replace(after, **same) == before
    assert dump_keyposes(back) == text


def test_angles_are_written_as_one_would() -> None:
    assert "yaw_deg = 90.0\n" in dump_keyposes([Keypose("a", "b", (0, 0, 0), yaw=math.pi / 2)])
