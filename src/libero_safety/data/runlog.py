"""The run folder: a header, one line per episode and one trace file per episode.

    run/
      header.json       what was run, on what, and how it ended
      episodes.jsonl    one episode per line, in the order in which they ended
      traces/*.npz      the arrays of `types.Trace`

A line is written only after its trace is safely on disk, so a kill at any moment loses at most the episode in
flight. `docs/run-log.md` describes every field.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from libero_safety.data.files import LineFile, decode, naming, read_bytes, read_lines, write_file
from libero_safety.data.header import (
    FORMAT,
    AssetStamp,
    Machine,
    RunConfig,
    RunHeader,
    RunStatus,
    differences,
    header_from_json,
)
from libero_safety.data.machine import now
from libero_safety.data.record import (
    Record,
    record_from_json,
    record_to_json,
    trace_from_bytes,
    trace_name,
    trace_to_bytes,
)
from libero_safety.data.strict_json import JsonObject, JsonValue, RunLogError, dumps, loads
from libero_safety.types import Episode, Key

__all__ = [
    "FORMAT",
    "AssetStamp",
    "JsonObject",
    "JsonValue",
    "Machine",
    "Record",
    "Run",
    "RunConfig",
    "RunHeader",
    "RunLogError",
    "RunMismatchError",
    "RunStatus",
    "RunWriter",
    "read_header",
    "read_run",
]

HEADER, EPISODES, TRACES = "header.json", "episodes.jsonl", "traces"


class RunMismatchError(RunLogError):
    """The run on disk was made with another configuration, other versions or other tasks."""

    def __init__(self, folder: Path, lines: list[str]) -> None:
        self.lines = tuple(lines)
        listed = "\n".join(f"  {line}" for line in lines)
        super().__init__(
            f"{folder} holds a run that differs:\n{listed}\n"
            "Write to another folder, or allow mixed runs, which labels the result as mixed."
        )


@dataclass(frozen=True)
class Run:
    """A run folder as read.

    Attributes:
        records: the latest attempt of every key, sorted by key, `error` episodes included.
        attempts: every line, in file order.
        note: what had to be left out on reading, or an empty string.
    """

    folder: Path
    header: RunHeader
    records: tuple[Record, ...]
    attempts: tuple[Record, ...]
    note: str = ""

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """The latest attempt of every key, sorted by key, without traces."""
        return tuple(record.episode for record in self.records)

    def done(self) -> set[Key]:
        """Return the keys that need not run again: those whose latest outcome is not `error`."""
        return {record.key for record in self.records if record.episode.outcome != "error"}

    def record(self, key: Key) -> Record:
        """Return the latest attempt of `key`.

        Raises:
            RunLogError: no such episode.
        """
        found = next((record for record in self.records if record.key == key), None)
        if found is None:
            raise RunLogError(f"{self.folder}: no episode {key}")
        return found

    def episode(self, record: Record) -> Episode:
        """Return the episode of `record` with its trace, if it has one.

        Raises:
            RunLogError: the trace file is missing, differs from its sha256, or holds something else.
        """
        if record.trace_file is None:
            return record.episode
        path = self.folder / TRACES / Path(record.trace_file).name
        content = read_bytes(path)
        if hashlib.sha256(content).hexdigest() != record.trace_sha256:
            raise RunLogError(f"{path}: differs from the sha256 in line {record.line} of {EPISODES}")
        return replace(record.episode, trace=trace_from_bytes(content, str(path)))


class RunWriter:
    """Appends episodes to one run folder; the only writer of it (a lock holds others off).

    As a context manager it finishes the run on leaving, unless `finish` was called: `success`, or `cancelled`
    on KeyboardInterrupt, or `error` on any other exception.
    """

    def __init__(self, folder: Path, header: RunHeader, lines: LineFile, attempts: dict[Key, int]) -> None:
        self.folder = folder
        self.header = header
        self._lines = lines
        self._attempts = attempts

    @classmethod
    def create(cls, folder: Path, header: RunHeader) -> Self:
        """Start a run in a new or empty folder.

        Raises:
            RunLogError: the folder holds a run or anything else, or cannot be written.
        """
        with naming(folder):
            if (folder / HEADER).exists():
                raise RunLogError(f"{folder} holds a run already: resume it, or choose another folder")
            if folder.exists() and any(folder.iterdir()):
                raise RunLogError(f"{folder} is not empty and holds no run: choose another folder")
            folder.mkdir(parents=True, exist_ok=True)
            header = replace(header, status="started", finished=None)
            _write_header(folder, header)
            (folder / TRACES).mkdir()
        return cls(folder, header, LineFile.open(folder / EPISODES), {})

    @classmethod
    def resume(cls, folder: Path, header: RunHeader, allow_mixed: bool = False) -> Self:
        """Go on with the run in `folder`; what a kill left unfinished is removed.

        Raises:
            RunMismatchError: `header` differs from the one on disk and `allow_mixed` is false. When it is
                true, the new header is kept and the differences are noted in its `mixed`.
            RunLogError: no run there, or it cannot be read or written, or another process is writing it.
        """
        read_header(folder)
        file = LineFile.open(folder / EPISODES)
        try:
            run = read_run(folder)
            lines = differences(run.header, header)
            if lines and not allow_mixed:
                raise RunMismatchError(folder, lines)
            kept = replace(header, created=run.header.created) if lines else run.header
            kept = replace(kept, status="started", finished=None, mixed=(*run.header.mixed, *lines))
            file.cut()
            with naming(folder):
                (folder / TRACES).mkdir(exist_ok=True)
                for unfinished in folder.glob("**/.*.part"):
                    unfinished.unlink()
            _write_header(folder, kept)
        except BaseException:
            file.close()
            raise
        attempts = {record.key: record.attempt for record in run.attempts}
        return cls(folder, kept, file, attempts)

    def append(self, episode: Episode, draw: Mapping[str, JsonValue]) -> Record:
        """Store one episode; when this returns, it is on disk.

        Raises:
            RunLogError: it cannot be stored (disk full, read-only, ...). Everything before it is intact, and
                the same call may be made again.
        """
        attempt = self._attempts.get(episode.key, 0) + 1
        record = Record(replace(episode, trace=None), dict(draw), attempt)
        content = b"" if episode.trace is None else trace_to_bytes(episode.trace)
        if content:
            name, digest = trace_name(episode.key, attempt), hashlib.sha256(content).hexdigest()
            record = replace(record, trace_file=name, trace_sha256=digest)
        line = dumps(record_to_json(record))
        if record.trace_file is not None:
            write_file(self.folder / TRACES / record.trace_file, content)
        self._lines.append(line)
        self._attempts[episode.key] = attempt
        return record

    def finish(self, status: RunStatus) -> None:
        """Write how the run ended and release the folder."""
        self.header = replace(self.header, status=status, finished=now())
        _write_header(self.folder, self.header)
        self.close()

    def close(self) -> None:
        """Release the folder and leave its status as it is."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lines.closed:
            return
        if kind is None:
            self.finish("success")
        else:
            self.finish("cancelled" if issubclass(kind, KeyboardInterrupt) else "error")


def read_header(folder: Path) -> RunHeader:
    """Read the header of a run folder.

    Raises:
        RunLogError: no run there, or not a header that this version reads.
    """
    path = folder / HEADER
    if not path.is_file():
        raise RunLogError(f"{folder} is no run folder: it has no {HEADER}")
    return header_from_json(loads(decode(read_bytes(path), path), str(path)), str(path))


def read_run(folder: Path) -> Run:
    """Read a run folder; traces are left on disk until asked for.

    A last line that was not written to its end is left out and mentioned in `Run.note`.

    Raises:
        RunLogError: no run there, or a line that is no episode (file and line number are named).
    """
    header = read_header(folder)
    lines, note = read_lines(folder / EPISODES)
    attempts = tuple(
        record_from_json(loads(text, where), number, where)
        for number, text in enumerate(lines, start=1)
        for where in (f"{folder / EPISODES}:{number}",)
    )
    latest = {record.key: record for record in attempts}
    records = tuple(latest[key] for key in sorted(latest))
    return Run(folder, header, records, attempts, note)


def _write_header(folder: Path, header: RunHeader) -> None:
    write_file(folder / HEADER, (dumps(asdict(header), indent=2) + "\n").encode("utf-8"))
