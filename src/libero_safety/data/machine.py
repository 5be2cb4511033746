"""What a run header says about this machine and this installation."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from libero_safety.data.header import Machine


def now() -> str:
    """Return the time as ISO 8601 with offset, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def installed_versions(more: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of what can move a score; `unknown` for a package that is not installed.

    Args:
        more: further packages, by their names in the package index.
    """
    found = {"python": platform.python_version()}
    for name in ("libero-safety", "mujoco", "numpy", *more):
        try:
            found[name.replace("-", "_")] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name.replace("-", "_")] = "unknown"
    return found


def this_machine(gl: str = "none") -> Machine:
    """Return what runs here; `gl` is the off-screen rendering backend in use.

    `cores` counts the processors that this process may use, not those of the machine.
    """
    return Machine(platform.platform(), _cpu_name(), len(os.sched_getaffinity(0)), gl)


def git_revision(folder: Path | None = None) -> str | None:
    """Return the revision of the checkout that holds this package, `-dirty` appended if files differ from it.

    None for an installed package, also when its environment lies inside somebody's checkout.
    """
    package = folder or Path(__file__).parent.parent
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    revision = _git(package, "rev-parse", "HEAD")
    return revision and (f"{revision}-dirty" if _git(package, "status", "--porcelain", ".") else revision)


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
