"""Files that survive a kill at any moment: whole files under their name or none, and lines that are only appended."""

import fcntl
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from libero_safety.data.strict_json import RunLogError


class LineFile:
    """A text file that one process appends lines to; a lock holds others off."""

    def __init__(self, path: Path, file: int, end: int) -> None:
        self.path = path
        self._file: int | None = file
        self._end = end

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or make a file, and lock it; a last line without an end is cut off by the first `append`.

        Raises:
            RunLogError: it cannot be opened, or another process is writing it.
        """
        with naming(path):
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                raise RunLogError(f"{path.parent}: another process is writing this run") from None
            _sync_folder(path.parent)
            end = path.read_bytes().rfind(b"\n") + 1
        return cls(path, file, end)

    def cut(self) -> None:
        """Remove what a kill has left behind the last whole line."""
        with naming(self.path):
            os.ftruncate(self._open_file(), self._end)

    def append(self, line: str) -> None:
        """Append a line; when this returns, it is on disk.

        Raises:
            RunLogError: it cannot be written (disk full, ...). All before it is intact; the call may be repeated.
        """
        content = (line + "\n").encode("utf-8", "backslashreplace")
        file = self._open_file()
        try:
            with naming(self.path):
                # At the known end: what a failed write may have left there is overwritten, never continued.
                written = 0
                while written < len(content):
                    written += os.pwrite(file, content[written:], self._end + written)
                os.fsync(file)
        except RunLogError:
            os.ftruncate(file, self._end)
            raise
        self._end += len(content)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._file is None

    def close(self) -> None:
        """Release the file; may be called twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open_file(self) -> int:
        if self._file is None:
            raise RunLogError(f"{self.path.parent}: this writer is closed")
        return self._file


def read_lines(path: Path) -> tuple[list[str], str]:
    """Return the whole lines of a UTF-8 file, none if there is no file, and what had to be left out, if anything.

    Raises:
        RunLogError: it cannot be read or is no UTF-8 text.
    """
    if not path.exists():
        return [], ""
    whole, _, rest = read_bytes(path).rpartition(b"\n")
    note = f"{path}: the last line was not written to its end and is left out" if rest else ""
    return decode(whole, path).split("\n") if whole else [], note


def decode(content: bytes, path: Path) -> str:
    """Return the text of a UTF-8 file's content; RunLogError names the file where it is none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RunLogError(f"{path}: not UTF-8 text ({error})") from error


def read_bytes(path: Path) -> bytes:
    """Return what is in a file; RunLogError names it where it cannot be read."""
    with naming(path):
        return path.read_bytes()


def write_file(path: Path, content: bytes) -> None:
    """Write all of `content` to disk under a temporary name, then give it its name."""
    with naming(path):
        file, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


@contextmanager
def naming(path: Path) -> Generator[None]:
    """Turn an OSError into a RunLogError that names `path` and the cause."""
    try:
        yield
    except OSError as error:
        raise RunLogError(f"{path}: {error.strerror or error}") from error


def _sync_folder(folder: Path) -> None:
    """Make the names of the files in `folder` survive a power cut."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
