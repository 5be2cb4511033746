"""Keyposes: where the gripper should be, written down in TOML, one file per task.

    [[keypose]]
    name = "grasp"              # how errors and pictures call it
    frame = "moka_pot_1.handle" # entity, entity.part or entity.zone
    pos = [0.0, 0.0, 0.02]      # metres in that frame, of the grip site
    yaw_deg = 90                # the rest may be left out
    pitch_deg = 0
    gripper = 1                 # -1 open, +1 closed, on the way to and at the pose
    wait_steps = 12
    tolerance_m = 0.005

`types.Keypose` says what each of them means.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import FloatArray, Keypose

_REQUIRED = ("name", "frame", "pos")
_OPTIONAL = ("yaw_deg", "pitch_deg", "gripper", "wait_steps", "tolerance_m")
_POINTING_DOWN = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The grip site as at the robot's home: fingers down, closing along y."""


class KeyposeError(LiberoSafetyError):
    """A keypose file that cannot be used; the message names the file, the keypose and the key."""


def world_target(keypose: Keypose, frame_pos: FloatArray, frame_yaw: float) -> tuple[FloatArray, FloatArray]:
    """Return where the grip site should be: position (3,) in the world (m) and rotation matrix (3, 3).

    The columns of the matrix are the grip site's axes in the world: z is where the fingers point, straight
    down at no pitch; x is the axis along which they close, the frame's y axis at no yaw.

    Args:
        keypose: the place, relative to its frame.
        frame_pos: (3,) origin of the keypose's frame in the world (m).
        frame_yaw: angle of the frame about the vertical (rad).
    """
    frame = _about_z(frame_yaw)
    rotation = frame @ _about_y(-keypose.pitch) @ _about_z(keypose.yaw) @ _POINTING_DOWN
    return frame_pos + frame @ np.array(keypose.pos), rotation


def load_keyposes(path: Path) -> tuple[Keypose, ...]:
    """Return the keyposes of one file, in order.

    Raises:
        KeyposeError: no such file, not TOML, an unknown or missing key, or a value that makes no sense.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KeyposeError(f"cannot read keyposes from {path}: {error}") from error
    return parse_keyposes(text, str(path))


def task_keyposes(scenario_file: Path) -> tuple[Keypose, ...]:
    """Return the keyposes of the task in a scenario file: those in `keyposes/<task>.toml` beside it.

    Raises:
        KeyposeError: there are none, or they cannot be used.
    """
    folder = scenario_file.parent / "keyposes"
    file = folder / f"{scenario_file.stem}.toml"
    if not file.is_file():
        known = sorted(path.stem for path in folder.glob("*.toml"))
        raise KeyposeError(
            f"no keyposes for {scenario_file}: there is no {file}{near_match(scenario_file.stem, known)}. "
            f"That folder has keyposes for: {', '.join(known) or 'nothing'}"
        )
    return load_keyposes(file)


def parse_keyposes(text: str, where: str) -> tuple[Keypose, ...]:
    """Return the keyposes in the TOML `text`; errors call it `where`.

    Raises:
        KeyposeError: as `load_keyposes`.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KeyposeError(f"{where}: {error}") from error
    for key in document:
        if key != "keypose":
            raise KeyposeError(
                f"{where}: unknown entry {key!r}{near_match(key, ['keypose'])}. "
                "A keypose file holds nothing but [[keypose]] tables"
            )
    tables = document.get("keypose", [])
    if not isinstance(tables, list) or not tables:
        raise KeyposeError(f"{where}: no [[keypose]] table")
    keyposes: list[Keypose] = []
    for index, table in enumerate(cast("list[object]", tables)):
        if not isinstance(table, dict):
            raise KeyposeError(f"{where}: keypose {index} is not a table")
        keypose = _Reader(cast("dict[str, Any]", table), where, index).keypose()
        if any(keypose.name == other.name for other in keyposes):
            raise KeyposeError(f"{where}: keypose {index}: the name {keypose.name!r} is taken")
        keyposes.append(keypose)
    return tuple(keyposes)


def dump_keyposes(keyposes: Sequence[Keypose]) -> str:
    """Return TOML that `parse_keyposes` reads back: equal, angles to within 1e-11 rad."""
    return "\n".join(_dump(keypose) for keypose in keyposes)


def _dump(keypose: Keypose) -> str:
    values: Mapping[str, object] = {
        "name": keypose.name,
        "frame": keypose.frame,
        "pos": [float(x) for x in keypose.pos],
        "yaw_deg": round(math.degrees(keypose.yaw), 9),
        "pitch_deg": round(math.degrees(keypose.pitch), 9),
        "gripper": float(keypose.gripper),
        "wait_steps": keypose.wait_steps,
        "tolerance_m": float(keypose.tolerance_m),
    }
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    return "\n".join(["[[keypose]]", *lines, ""])


def _toml(value: object) -> str:
    # JSON writes numbers, lists and strings as TOML does, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Reader:
    """One [[keypose]] table; knows where it stands, so that every error does."""

    def __init__(self, table: Mapping[str, Any], where: str, index: int) -> None:
        self._table = table
        name = table.get("name")
        self._where = f"{where}: keypose {index}" + (f" {name!r}" if isinstance(name, str) else "")

    def keypose(self) -> Keypose:
        known = (*_REQUIRED, *_OPTIONAL)
        for key in self._table:
            if key not in known:
                raise self._error(f"unknown key {key!r}{near_match(key, known)}. Known: {', '.join(known)}")
        for key in _REQUIRED:
            if key not in self._table:
                raise self._error(f"{key!r} is missing")
        gripper = self._number("gripper", -1.0)
        if not -1 <= gripper <= 1:
            raise self._error(f"gripper is {gripper}, must be from -1 (open) to 1 (closed)")
        tolerance_m = self._number("tolerance_m", 0.01)
        if tolerance_m <= 0:
            raise self._error(f"tolerance_m is {tolerance_m}, must be above 0")
        return Keypose(
            name=self._word("name"),
            frame=self._word("frame"),
            pos=self._pos(),
            yaw=math.radians(self._number("yaw_deg", 0.0)),
            pitch=math.radians(self._number("pitch_deg", 0.0)),
            gripper=gripper,
            wait_steps=self._wait_steps(),
            tolerance_m=tolerance_m,
        )

    def _word(self, key: str) -> str:
        value = self._table[key]
        if not isinstance(value, str) or not value.strip():
            raise self._error(f"{key} is {value!r}, must be a name in quotes")
        return value

    def _pos(self) -> tuple[float, float, float]:
        value = self._table["pos"]
        if not isinstance(value, list) or not all(_is_number(x) for x in cast("list[object]", value)):
            raise self._error(f"pos is {value!r}, must be a list of three finite numbers (m)")
        numbers = [float(x) for x in cast("list[float]", value)]
        if len(numbers) != 3:
            raise self._error(f"pos has {len(numbers)} numbers, must have three (m)")
        return (numbers[0], numbers[1], numbers[2])

    def _wait_steps(self) -> int:
        value = self._table.get("wait_steps", 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._error(f"wait_steps is {value!r}, must be a whole number of control steps, 0 or more")
        return value

    def _number(self, key: str, default: float) -> float:
        value = self._table.get(key, default)
        if not _is_number(value):
            raise self._error(f"{key} is {value!r}, must be a finite number")
        return float(value)

    def _error(self, what: str) -> KeyposeError:
        return KeyposeError(f"{self._where}: {what}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _about_z(angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _about_y(angle: float) -> FloatArray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
