"""Keyposes: where the gripper should be, written down in TOML, one file per task.

    [[keypose]]
    name = "grasp"              # how errors and pictures call it
    verb = "grasp"              # what the motion to it does, one of VERBS
    frame = "moka_pot_1.handle" # entity, entity.part, entity.zone, entity.grasp or target.region
    pos = [0.0, 0.0, 0.02]      # metres in that frame, of the grip site or the tool
    yaw_deg = 90                # the rest may be left out
    gripper = 1                 # -1 open, +1 closed, from when the pose is reached
    wait_steps = 12
    vary = { pos = [0.0, 0.0, 0.004], yaw_deg = 5 }

`types.Keypose` says what each of them means, docs/keyposes.md shows them.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from libero_safety.assets.geometry import rotation as matrix_of
from libero_safety.demo.target import angles_of
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match
from libero_safety.types import Keypose, Symmetry, Vary, Verb

_REQUIRED = ("name", "frame", "pos")
_ANGLES = ("yaw_deg", "pitch_deg", "roll_deg")
_OPTIONAL = (
    *("verb", "tool", "tilted", *_ANGLES, "quat", "symmetry", "gripper", "wait_steps", "tolerance_m"),
    *("vary", "group", "straight", "upright_deg", "hinge", "via", "hint"),
)
_VARY = ("pos", "yaw_deg", "pitch_deg")
_UNIT_TOLERANCE = 1e-3
"""How far from 1 the length of a quaternion may be: four decimals are enough."""


class KeyposeError(LiberoSafetyError):
    """A keypose file that cannot be used; the message names the file, the keypose and the key."""


@dataclass(frozen=True)
class VerbMeaning:
    """What a verb asks of the motion to its keypose.

    Attributes:
        text: in words.
        touches: what may touch the entity of the frame on the way: nothing, the gripper, or the thing held.
    """

    text: str
    touches: Literal["nothing", "gripper", "held"] = "nothing"


VERBS: dict[Verb, VerbMeaning] = {
    "move": VerbMeaning("go there"),
    "pre-grasp": VerbMeaning("open the fingers before or above the thing"),
    "grasp": VerbMeaning("go to the thing and close the fingers", "gripper"),
    "lift": VerbMeaning("take the held thing off what it stands on", "held"),
    "pre-place": VerbMeaning("carry the held thing to above or before its place"),
    "place": VerbMeaning("set the held thing down and let it go", "held"),
    "retreat": VerbMeaning("leave the thing that was let go", "gripper"),
    "cut": VerbMeaning("bring the held blade to the thing", "held"),
    "pour": VerbMeaning("tip the held vessel over the other"),
    "push": VerbMeaning("push the thing with the fingers", "gripper"),
    "turn": VerbMeaning("turn a knob", "gripper"),
    "open": VerbMeaning("open a door or drawer", "gripper"),
    "close": VerbMeaning("close a door or drawer", "gripper"),
    "hand-over": VerbMeaning("bring the held thing to a hand", "held"),
}
"""Every verb, and what it may touch."""


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
    values: dict[str, object] = {"name": keypose.name}
    if keypose.verb != "move":
        values["verb"] = keypose.verb
    if keypose.tool:
        values["tool"] = keypose.tool
    values["frame"] = keypose.frame
    values["pos"] = [float(x) for x in keypose.pos]
    values["yaw_deg"] = _degrees(keypose.yaw)
    values["pitch_deg"] = _degrees(keypose.pitch)
    if _degrees(keypose.roll):
        values["roll_deg"] = _degrees(keypose.roll)
    values["gripper"] = float(keypose.gripper)
    values["wait_steps"] = keypose.wait_steps
    values["tolerance_m"] = float(keypose.tolerance_m)
    if keypose.upright is not None:
        values["upright_deg"] = _degrees(keypose.upright)
    for key in ("tilted", "straight", "via", "hint", "group", "hinge"):
        if getattr(keypose, key):
            values[key] = getattr(keypose, key)
    if keypose.symmetry != "none":
        values["symmetry"] = keypose.symmetry
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    pos = [float(x) for x in keypose.vary.pos]
    yaw, pitch = _degrees(keypose.vary.yaw), _degrees(keypose.vary.pitch)
    if any((*pos, yaw, pitch)):
        lines.append(f"vary = {{ pos = {_toml(pos)}, yaw_deg = {yaw}, pitch_deg = {pitch} }}")
    return "\n".join(["[[keypose]]", *lines, ""])


def _degrees(angle: float) -> float:
    return round(math.degrees(angle), 9)


def _toml(value: object) -> str:
    # JSON writes numbers, lists, truth and strings as TOML does, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class _Reader:
    """One [[keypose]] table; knows where it stands, so that every error does."""

    def __init__(self, table: Mapping[str, Any], where: str, index: int) -> None:
        self._table = table
        name = table.get("name")
        self._where = f"{where}: keypose {index}" + (f" {name!r}" if isinstance(name, str) else "")

    def keypose(self) -> Keypose:
        self._check_keys(self._table, (*_REQUIRED, *_OPTIONAL), "key")
        for key in _REQUIRED:
            if key not in self._table:
                raise self._error(f"{key!r} is missing")
        gripper = self._number("gripper", -1.0)
        if not -1 <= gripper <= 1:
            raise self._error(f"gripper is {gripper}, must be from -1 (open) to 1 (closed)")
        tolerance_m = self._number("tolerance_m", 0.01)
        if tolerance_m <= 0:
            raise self._error(f"tolerance_m is {tolerance_m}, must be above 0")
        yaw, pitch, roll = self._rotation()
        return Keypose(
            name=self._word("name"),
            frame=self._word("frame"),
            pos=self._vector(self._table, "pos"),
            yaw=yaw,
            pitch=pitch,
            roll=roll,
            gripper=gripper,
            wait_steps=self._wait_steps(),
            tolerance_m=tolerance_m,
            verb=cast(Verb, self._one_of("verb", "move", tuple(VERBS))),
            tool=self._word("tool", ""),
            tilted=self._flag("tilted"),
            symmetry=cast(Symmetry, self._one_of("symmetry", "none", get_args(Symmetry))),
            vary=self._vary(),
            group=self._word("group", ""),
            straight=self._flag("straight"),
            upright=self._upright(),
            hinge=self._hinge(),
            via=self._via(),
            hint=self._hint(),
        )

    def _check_keys(self, table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
        for key in table:
            if key not in known:
                raise self._error(
                    f"unknown {what} {key!r}{near_match(key, known)}. Known: {', '.join(known)}"
                )

    def _word(self, key: str, default: str | None = None) -> str:
        value = self._table.get(key, default)
        if value == default and default is not None and key not in self._table:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self._error(f"{key} is {value!r}, must be a name in quotes")
        return value

    def _one_of(self, key: str, default: str, known: tuple[str, ...]) -> str:
        value = self._word(key, default)
        if value not in known:
            raise self._error(f"unknown {key} {value!r}{near_match(value, known)}. Known: {', '.join(known)}")
        return value

    def _flag(self, key: str) -> bool:
        value = self._table.get(key, False)
        if not isinstance(value, bool):
            raise self._error(f"{key} is {value!r}, must be true or false")
        return value

    def _rotation(self) -> tuple[float, float, float]:
        """Return yaw, pitch and roll (rad), however they are written."""
        if "quat" not in self._table:
            yaw, pitch, roll = (math.radians(self._number(key, 0.0)) for key in _ANGLES)
            return yaw, pitch, roll
        for key in _ANGLES:
            if key in self._table:
                raise self._error(f"quat and {key} are both given; one of them is the rotation")
        value = self._table["quat"]
        numbers = _numbers(value)
        if numbers is None or len(numbers) != 4:
            raise self._error(f"quat is {value!r}, must be a list of four finite numbers (w, x, y, z)")
        length = math.hypot(*numbers)
        if abs(length - 1.0) > _UNIT_TOLERANCE:
            raise self._error(f"quat {value!r} is no rotation: its length is {length:.4g}, must be 1")
        w, x, y, z = numbers
        return angles_of(matrix_of((w, x, y, z)))

    def _vary(self) -> Vary:
        table = self._table.get("vary", {})
        if not isinstance(table, dict):
            raise self._error(
                f"vary is {table!r}, must be a table such as {{ pos = [0.01, 0.01, 0], yaw_deg = 5 }}"
            )
        given = cast("dict[str, Any]", table)
        self._check_keys(given, _VARY, "key of vary")
        pos = self._vector(given, "pos") if "pos" in given else (0.0, 0.0, 0.0)
        yaw, pitch = (self._number(key, 0.0, given) for key in _VARY[1:])
        for key, size in (("pos", min(pos)), ("yaw_deg", yaw), ("pitch_deg", pitch)):
            if size < 0:
                raise self._error(
                    f"{key} of vary is {given[key]!r}: how far to either side, must be 0 or more"
                )
        return Vary(pos, math.radians(yaw), math.radians(pitch))

    def _upright(self) -> float | None:
        if "upright_deg" not in self._table:
            return None
        degrees = self._number("upright_deg", 0.0)
        if not 0 < degrees <= 180:
            raise self._error(f"upright_deg is {degrees}, must be above 0, at most 180")
        return math.radians(degrees)

    def _hinge(self) -> str:
        hinge = self._word("hinge", "")
        if hinge and self._flag("straight"):
            raise self._error("straight and hinge are both given: a hinge turns on an arc")
        return hinge

    def _via(self) -> bool:
        via = self._flag("via")
        if via and self._wait_steps():
            raise self._error("via and wait_steps are both given: what is passed without a stop cannot wait")
        return via

    def _hint(self) -> bool:
        hint = self._flag("hint")
        if hint and self._wait_steps():
            raise self._error("hint and wait_steps are both given: what may be left out is no place to wait")
        return hint

    def _vector(self, table: Mapping[str, Any], key: str) -> tuple[float, float, float]:
        value = table[key]
        numbers = _numbers(value)
        if numbers is None:
            raise self._error(f"{key} is {value!r}, must be a list of three finite numbers (m)")
        if len(numbers) != 3:
            raise self._error(f"{key} has {len(numbers)} numbers, must have three (m)")
        return (numbers[0], numbers[1], numbers[2])

    def _wait_steps(self) -> int:
        value = self._table.get("wait_steps", 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._error(f"wait_steps is {value!r}, must be a whole number of control steps, 0 or more")
        return value

    def _number(self, key: str, default: float, table: Mapping[str, Any] | None = None) -> float:
        value = (self._table if table is None else table).get(key, default)
        if not _is_number(value):
            raise self._error(f"{key} is {value!r}, must be a finite number")
        return float(value)

    def _error(self, what: str) -> KeyposeError:
        return KeyposeError(f"{self._where}: {what}")


def _numbers(value: object) -> list[float] | None:
    """Return a list of finite numbers as floats, None for anything else."""
    if not isinstance(value, list) or not all(_is_number(x) for x in cast("list[object]", value)):
        return None
    return [float(x) for x in cast("list[float]", value)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
