"""Demonstrations on disk: a header, one line per draw and one file of arrays per demonstration.

    demos/
      demos.json        what was made, with which versions
      draws.jsonl       one draw per line: a demonstration, or why there is none
      arrays/*.npz      the arrays of `types.Trace`: actions, states, clearance

A line is written only after its arrays are safely on disk, so a kill at any moment loses at most the draw in
flight. Nothing here needs the simulator, and nothing that is read is ever executed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from libero_safety.data.files import LineFile, decode, naming, read_bytes, read_lines, write_file
from libero_safety.data.record import trace_from_bytes, trace_name, trace_to_bytes
from libero_safety.data.strict_json import (
    JsonObject,
    JsonValue,
    RunLogError,
    dumps,
    loads,
    plain,
    take,
    take_number,
)
from libero_safety.demo.generate import Demo, Reject
from libero_safety.types import Key, Trace

FORMAT = 1
HEADER, DRAWS, ARRAYS = "demos.json", "draws.jsonl", "arrays"
MIXABLE = ("versions", "git", "task_hashes")
"""Fields of a header in which what is added to a folder may differ, if that is allowed: by whom it was made."""


class DemosError(RunLogError):
    """A folder of demonstrations that cannot be made, gone on with, or read."""


@dataclass(frozen=True)
class DemoRecord:
    """A demonstration as listed.

    Attributes:
        draw: every random outcome of the scene, as `Draw.to_dict` writes it.
        draw_sha256: of the draw without its key: equal scenes have equal digests.
        report: what the expert decided, as `demo.report.ExpertReport` has it.
        measures: numbers of the executed motion by name, NaN where there is none.
        tries: how many were needed.
        file: name within `arrays/`; `sha256` is its hash.
        line: line number in the index, from 1.
    """

    key: Key
    instruction: str
    steps: int
    tries: int
    draw: JsonObject
    draw_sha256: str
    report: JsonObject
    measures: Mapping[str, float]
    file: str
    sha256: str
    line: int = 0


@dataclass(frozen=True)
class RejectRecord:
    """A draw that gave no demonstration.

    Attributes:
        draw: as in `DemoRecord`; empty where the scenario could not be drawn.
        reason: a name in `demo.rejects.REASONS`.
        stage: the keypose on the way to which it happened; empty where there was none.
        detail: what happened, in words.
        tries: how many were made.
    """

    key: Key
    draw: JsonObject
    reason: str
    stage: str
    detail: str
    tries: int
    line: int = 0


@dataclass(frozen=True)
class Demos:
    """A folder of demonstrations as read.

    Attributes:
        header: what was made, with which versions.
        demos: in file order; `rejects` likewise.
        note: what had to be left out on reading, or an empty string.
    """

    folder: Path
    header: JsonObject
    demos: tuple[DemoRecord, ...]
    rejects: tuple[RejectRecord, ...]
    note: str = ""

    def done(self) -> set[Key]:
        """Return the keys that were drawn, with whatever came of them."""
        return {record.key for record in (*self.demos, *self.rejects)}

    def trace(self, record: DemoRecord) -> Trace:
        """Return the arrays of a demonstration.

        Raises:
            RunLogError: the file is missing, differs from its sha256, or holds something else.
        """
        path = self.folder / ARRAYS / Path(record.file).name
        content = read_bytes(path)
        if hashlib.sha256(content).hexdigest() != record.sha256:
            raise DemosError(f"{path}: differs from the sha256 in line {record.line} of {DRAWS}")
        return trace_from_bytes(content, str(path))


class DemoWriter:
    """Appends draws to one folder; the only writer of it (a lock holds others off).

    A folder is gone on with when its header says the same. Of its fields, `count` may grow; those of `MIXABLE` may
    differ when the caller allows it, and the differences are kept in the field `mixed`.
    """

    def __init__(self, folder: Path, lines: LineFile) -> None:
        self.folder = folder
        self._lines = lines

    @classmethod
    def open(cls, folder: Path, header: Mapping[str, JsonValue], *, allow_mixed: bool = False) -> Self:
        """Start a folder, or go on with one that has the same header.

        Raises:
            DemosError: the folder holds other demonstrations or anything else.
            RunLogError: it cannot be written, or another process is writing it.
        """
        stated = cast(JsonObject, plain({"format": FORMAT, **header}))
        with naming(folder):
            if not (folder / HEADER).is_file() and folder.exists() and any(folder.iterdir()):
                raise DemosError(f"{folder} is not empty and holds no demonstrations: choose another folder")
            if (folder / HEADER).is_file():
                stated = _merged(folder, stated, allow_mixed)
            (folder / ARRAYS).mkdir(parents=True, exist_ok=True)
        lines = LineFile.open(folder / DRAWS)
        try:
            lines.cut()
            with naming(folder):
                for unfinished in folder.glob("**/.*.part"):
                    unfinished.unlink()
            write_file(folder / HEADER, (dumps(stated, indent=2) + "\n").encode("utf-8"))
        except BaseException:
            lines.close()
            raise
        return cls(folder, lines)

    def append(
        self,
        made: Demo | Reject,
        measures: Mapping[str, float] | None = None,
        draw: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Store what came of one draw; when this returns, it is on disk.

        Args:
            made: a demonstration or a reject.
            measures: of a demonstration's executed motion.
            draw: what is stored as the draw, where more than `Draw.to_dict` says is needed to build its scene.

        Raises:
            RunLogError: it cannot be stored. All before it is intact; the call may be repeated.
        """
        if draw is None:
            draw = made.draw.to_dict() if made.draw is not None else {}
        stored = cast(JsonObject, plain(draw))
        if isinstance(made, Reject):
            line = _reject_line(made, stored)
        else:
            line = self._demo_line(made, measures or {}, stored)
        self._lines.append(dumps(line))

    def _demo_line(self, demo: Demo, measures: Mapping[str, float], draw: JsonObject) -> JsonObject:
        content = trace_to_bytes(demo.trace)
        name = trace_name(demo.draw.key, 1)
        write_file(self.folder / ARRAYS / name, content)
        return {
            "key": plain(asdict(demo.draw.key)),
            "made": "demo",
            "instruction": demo.episode.instruction,
            "steps": demo.episode.steps,
            "tries": demo.tries,
            "draw": draw,
            "draw_sha256": draw_digest(draw),
            "report": plain(asdict(demo.report)),
            "measures": plain(measures),
            "file": name,
            "sha256": hashlib.sha256(content).hexdigest(),
        }

    def close(self) -> None:
        """Release the folder."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_demos(folder: Path) -> Demos:
    """Read a folder of demonstrations; arrays are left on disk until asked for.

    A last line that was not written to its end is left out and mentioned in `Demos.note`.

    Raises:
        DemosError: the folder holds none.
        RunLogError: a line that is no draw (file and line number are named).
    """
    header = _read_header(folder)
    lines, note = read_lines(folder / DRAWS)
    demos: list[DemoRecord] = []
    rejects: list[RejectRecord] = []
    for number, text in enumerate(lines, start=1):
        where = f"{folder / DRAWS}:{number}"
        data = loads(text, where)
        made = take(data, "made", str, where)
        if made == "demo":
            demos.append(_demo(data, number, where))
        elif made == "reject":
            rejects.append(_reject(data, number, where))
        else:
            raise DemosError(f"{where}: field 'made' should be 'demo' or 'reject', is {made!r}")
    return Demos(folder, header, tuple(demos), tuple(rejects), note)


def draw_digest(draw: Mapping[str, JsonValue]) -> str:
    """Return a hash (hexadecimal) of what is in a draw, without its identity."""
    content = {name: value for name, value in sorted(draw.items()) if name != "key"}
    return hashlib.sha256(dumps(content).encode("utf-8")).hexdigest()


def _read_header(folder: Path) -> JsonObject:
    path = folder / HEADER
    if not path.is_file():
        raise DemosError(f"{folder} holds no demonstrations: it has no {HEADER}")
    header = loads(decode(read_bytes(path), path), str(path))
    version = take(header, "format", int, str(path))
    if version > FORMAT:
        raise DemosError(f"{path}: format {version} is newer than {FORMAT}, which this version reads")
    return header


def _merged(folder: Path, new: JsonObject, allow_mixed: bool) -> JsonObject:
    """Return the header of a folder that is gone on with.

    Raises:
        DemosError: it holds what was made otherwise, or more than is wanted now.
    """
    old = _read_header(folder)
    mixed = old.get("mixed") or []
    was, now = _flat(old), _flat(new)
    # Folders of earlier versions lack fields of which the empty one means the same.
    names = sorted(
        n for n in {*was, *now} - {"count", "mixed"} if (was.get(n) or None) != (now.get(n) or None)
    )
    lines = [f"{n}: was {was.get(n, 'absent')!r}, now {now.get(n, 'absent')!r}" for n in names]
    by_whom = all(name.partition(".")[0] in MIXABLE for name in names)
    if lines and not (allow_mixed and by_whom):
        raise DemosError(
            f"{folder} holds demonstrations made otherwise ({'; '.join(lines)}): choose another folder"
            + (", or allow mixed ones" if by_whom else "")
        )
    fewer, more = old.get("count"), new.get("count")
    if isinstance(fewer, int) and isinstance(more, int) and more < fewer:
        raise DemosError(
            f"{folder} is to hold {fewer} demonstrations of each task and level: ask for as many or more"
        )
    assert isinstance(mixed, list)
    return {**new, "mixed": [*mixed, *lines]} if mixed or lines else new


def _flat(header: JsonObject) -> JsonObject:
    """Return the fields of a header, those of what it names by whom it was made one by one."""
    flat = {name: value for name, value in header.items() if name not in MIXABLE}
    for name in MIXABLE:
        value = header.get(name)
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": item for key, item in value.items()}
        elif value is not None:
            flat[name] = value
    return flat


def _reject_line(reject: Reject, draw: JsonObject) -> JsonObject:
    return {
        "key": plain(asdict(reject.key)),
        "made": "reject",
        "reason": reject.failure.reason,
        "stage": reject.failure.stage,
        "detail": reject.failure.detail,
        "tries": reject.tries,
        "draw": draw,
    }


def _demo(data: Mapping[str, Any], line: int, where: str) -> DemoRecord:
    measures = _mapping(data, "measures", where)
    return DemoRecord(
        key=_key(data, where),
        instruction=take(data, "instruction", str, where),
        steps=take(data, "steps", int, where),
        tries=take(data, "tries", int, where),
        draw=_mapping(data, "draw", where),
        draw_sha256=take(data, "draw_sha256", str, where),
        report=_mapping(data, "report", where),
        measures={name: take_number(measures, name, where) for name in measures},
        file=take(data, "file", str, where),
        sha256=take(data, "sha256", str, where),
        line=line,
    )


def _reject(data: Mapping[str, Any], line: int, where: str) -> RejectRecord:
    reason, stage, detail = (take(data, name, str, where) for name in ("reason", "stage", "detail"))
    tries = take(data, "tries", int, where)
    return RejectRecord(_key(data, where), _mapping(data, "draw", where), reason, stage, detail, tries, line)


def _key(data: Mapping[str, Any], where: str) -> Key:
    key = _mapping(data, "key", where)
    suite, task = (take(key, name, str, where) for name in ("suite", "task"))
    level, seed, index = (take(key, name, int, where) for name in ("level", "seed", "index"))
    return Key(suite, task, level, seed, index)


def _mapping(data: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    return cast(dict[str, Any], take(data, name, dict, where))
