"""One line of the run log and its trace file, to and from the values that flow."""

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, cast, get_args

import numpy as np

from libero_safety.data.strict_json import JsonObject, RunLogError, plain, take, take_list, take_number
from libero_safety.types import Episode, Key, Outcome, Trace, Violation

TRACE_FIELDS = tuple(f.name for f in fields(Trace))


@dataclass(frozen=True)
class Record:
    """One line of `episodes.jsonl`.

    Attributes:
        episode: what happened; its `trace` is None, `Run.episode` loads it.
        draw: every random outcome of the scene, as the caller gave it.
        attempt: 1 for the first try of this key.
        trace_file: name within `traces/`, if there is a trace.
        trace_sha256: of that file.
        line: line number in the file, from 1.
    """

    episode: Episode
    draw: JsonObject
    attempt: int = 1
    trace_file: str | None = None
    trace_sha256: str | None = None
    line: int = 0

    @property
    def key(self) -> Key:
        """The identity of the episode."""
        return self.episode.key


def record_to_json(record: Record) -> JsonObject:
    """Return the line of `record`; non-finite numbers become null."""
    episode = record.episode
    return {
        "key": plain(asdict(episode.key)),
        "attempt": record.attempt,
        "outcome": episode.outcome,
        "steps": episode.steps,
        "goal_reached": episode.goal_reached,
        "instruction": episode.instruction,
        "violations": [plain(asdict(violation)) for violation in episode.violations],
        "error_class": episode.error_class,
        "error": episode.error,
        "wall_s": plain(episode.wall_s),
        "trace": record.trace_file,
        "trace_sha256": record.trace_sha256,
        "draw": plain(record.draw),
    }


def record_from_json(data: Mapping[str, Any], line: int, where: str) -> Record:
    """Read one line.

    Raises:
        RunLogError: a field is missing or of another type.
    """
    outcome = take(data, "outcome", str, where)
    if outcome not in get_args(Outcome):
        raise RunLogError(f"{where}: outcome should be one of {', '.join(get_args(Outcome))}, is {outcome!r}")
    texts = ("error_class", "error", "trace", "trace_sha256")
    error_class, error, trace_file, trace_sha256 = (
        take(data, name, (str, type(None)), where) for name in texts
    )
    episode = Episode(
        key=_key(cast(dict[str, Any], take(data, "key", dict, where)), f"{where}: key"),
        instruction=take(data, "instruction", str, where),
        outcome=cast(Outcome, outcome),
        violations=tuple(
            _violation(cast(dict[str, Any], item), f"{where}: violations[{i}]")
            for i, item in enumerate(take_list(data, "violations", dict, where))
        ),
        steps=take(data, "steps", int, where),
        goal_reached=take(data, "goal_reached", bool, where),
        trace=None,
        error_class=error_class,
        error=error,
        wall_s=take_number(data, "wall_s", where),
    )
    draw = cast(JsonObject, take(data, "draw", dict, where))
    return Record(episode, draw, take(data, "attempt", int, where), trace_file, trace_sha256, line)


def _key(data: Mapping[str, Any], where: str) -> Key:
    suite, task = (take(data, name, str, where) for name in ("suite", "task"))
    level, seed, index = (take(data, name, int, where) for name in ("level", "seed", "index"))
    return Key(suite, task, level, seed, index)


def _violation(data: Mapping[str, Any], where: str) -> Violation:
    return Violation(
        rule=take(data, "rule", str, where),
        kind=take(data, "kind", str, where),
        time_s=take_number(data, "time_s", where),
        step=take(data, "step", int, where),
        entities=take_list(data, "entities", str, where),
        link=take(data, "link", (str, type(None)), where),
        value=take_number(data, "value", where),
        limit=take_number(data, "limit", where),
        unit=take(data, "unit", str, where),
        part=take({"part": None, **data}, "part", (str, type(None)), where),  # formats before 2 have none
    )


def trace_name(key: Key, attempt: int) -> str:
    """Return a file name that is safe on any file system and different for every (key, attempt)."""
    parts = (key.suite, key.task, f"L{key.level}", f"s{key.seed}", f"{key.index}")
    readable = re.sub(r"[^A-Za-z0-9-]+", "_", "-".join(parts))[:120].strip("_")
    unique = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{readable}-{unique}-try{attempt}.npz"


def trace_to_bytes(trace: Trace) -> bytes:
    """Return the trace as a compressed npz file; equal traces give equal bytes under one NumPy and zlib."""
    buffer = io.BytesIO()
    arrays = {name: np.asarray(getattr(trace, name)) for name in TRACE_FIELDS}
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def trace_from_bytes(content: bytes, where: str) -> Trace:
    """Read a trace file; nothing in it is ever executed.

    Raises:
        RunLogError: not an npz file of plain arrays, or not exactly the arrays of `Trace`.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise RunLogError(f"{where}: not a trace file ({error})") from error
    if set(arrays) != set(TRACE_FIELDS):
        missing = sorted(set(TRACE_FIELDS) - set(arrays))
        unknown = sorted(set(arrays) - set(TRACE_FIELDS))
        raise RunLogError(f"{where}: not a trace file (missing {missing}, unknown {unknown})")
    dt_s = float(arrays.pop("dt_s"))
    return Trace(dt_s=dt_s, **cast(dict[str, Any], arrays))
