"""What this machine can do for the benchmark, and what to change where it cannot."""

import importlib
import importlib.metadata
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from libero_safety.errors import LiberoSafetyError
from libero_safety.sim.gl import gl_backend, load_mujoco
from libero_safety.sim.vision import Vision, VisionError

Status: TypeAlias = Literal["ok", "warning", "failure"]

MUJOCO_TESTED = ((3, 14), (4, 0))
"""From the first version up to, not including, the second, forces and mesh distances were found right; several
earlier 3.x versions return wrong mesh distances."""
MIN_MEMORY_GIB = 2.0
MIN_DISK_GIB = 1.0
FRAME_PIXELS = 256

_GIB = 2**30
_LIBRARIES = ("numpy", "scipy", "numba", "pillow", "gymnasium")
_FRAME_SCENE = """
<mujoco>
  <worldbody>
    <light pos="0.5 0.5 2" dir="-0.2 -0.2 -1"/>
    <geom type="plane" size="1 1 0.1"/>
    <geom type="box" size="0.1 0.1 0.1" pos="0 0 0.1" rgba="0.8 0.3 0.2 1"/>
    <geom type="sphere" size="0.1" pos="0.3 0 0.1" rgba="0.2 0.3 0.8 1"/>
    <camera name="front" pos="1.2 0 0.8" xyaxes="0 1 0 -0.5 0 0.85"/>
  </worldbody>
</mujoco>
"""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        found: what there is, in words.
        fix: what to do about it; empty when all is well.
    """

    name: str
    status: Status
    found: str
    fix: str = ""


@dataclass(frozen=True)
class DoctorReport:
    """All checks, in the order to read them."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed; warnings are allowed."""
        return all(check.status != "failure" for check in self.checks)

    def lines(self) -> list[str]:
        """Return one line per check, and one more, indented, where there is something to mend."""
        width = max((len(check.name) for check in self.checks), default=0)
        lines: list[str] = []
        for check in self.checks:
            lines.append(f"{check.status:7}  {check.name:{width}}  {check.found}")
            if check.fix:
                lines.append(f"{'':7}  {'':{width}}  -> {check.fix}")
        return lines


def doctor() -> DoctorReport:
    """Look at this machine; a check that breaks is reported as a failure and stops no other."""
    return DoctorReport(tuple(_guarded(name, check) for name, check in CHECKS.items()))


def _guarded(name: str, check: Callable[[str], Check]) -> Check:
    try:
        return check(name)
    except LiberoSafetyError as error:
        return Check(name, "failure", "does not work", str(error))
    except Exception as error:
        return Check(
            name, "failure", f"{type(error).__name__}: {error}", "the check itself failed; report this"
        )


def _python(name: str) -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()}"
    return Check(name, "ok", found)


def _platform(name: str) -> Check:
    found = f"{platform.platform()}, {platform.machine()}"
    if platform.system() == "Linux":
        return Check(name, "ok", found)
    return Check(name, "warning", found, "the benchmark is tested on Linux only")


def _cores(name: str) -> Check:
    usable, present = len(_affinity()), os.cpu_count() or 1
    fix = "" if usable > 1 else "one core: run with --workers 1"
    return Check(name, "warning" if fix else "ok", f"{usable} usable of {present}", fix)


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _memory(name: str) -> Check:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _container_limit()
    free = _available_memory()
    usable = min(size for size in (total, limit, free) if size is not None)
    found = f"{usable / _GIB:.1f} GiB usable of {total / _GIB:.1f} GiB"
    if limit is not None and limit < total:
        found += f" (container limit {limit / _GIB:.1f} GiB)"
    if usable < MIN_MEMORY_GIB * _GIB:
        return Check(name, "warning", found, "a worker that draws needs about 0.5 GiB: use fewer --workers")
    return Check(name, "ok", found)


def _container_limit() -> int | None:
    """Return the memory limit of the control group (version 2, then 1) in bytes, if there is one."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return int(Path(path).read_text())
        except (OSError, ValueError):
            continue
    return None


def _available_memory() -> int | None:
    """Return what the kernel thinks can be used without swapping (bytes), where it says so."""
    try:
        rows = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(row.split()[1]) * 1024 for row in rows if row.startswith("MemAvailable:")), None)


def _libraries(name: str) -> Check:
    found: list[str] = []
    missing: list[str] = []
    for library in _LIBRARIES:
        try:
            found.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(library)
    if missing:
        return Check(name, "failure", f"missing: {', '.join(missing)}", f"`pip install {' '.join(missing)}`")
    return Check(name, "ok", ", ".join(found))


def _mujoco(name: str) -> Check:
    version = str(load_mujoco().__version__)
    numbers = tuple(int(part) for part in version.split(".")[:2])
    low, high = MUJOCO_TESTED
    if low <= numbers < high:
        return Check(name, "ok", version)
    wanted = f"mujoco>={low[0]}.{low[1]},<{high[0]}"
    return Check(
        name, "failure", f"{version}, outside the tested range", f"`pip install '{wanted}'`, then `selftest`"
    )


def _triangle(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def _numba(name: str) -> Check:
    numba = importlib.import_module("numba")
    try:
        compiled, cached = numba.njit(_triangle, cache=True), True
    except RuntimeError:
        compiled, cached = numba.njit(_triangle), False
    begin = time.perf_counter()
    if compiled(5) != 10:
        return Check(name, "failure", "compiled code gives wrong results", "reinstall numba and llvmlite")
    wall_s = time.perf_counter() - begin
    if not cached:
        fix = "set NUMBA_CACHE_DIR to a writable folder, or every process compiles anew"
        return Check(name, "warning", f"compiles ({wall_s:.1f} s), no cache folder is writable", fix)
    return Check(name, "ok", f"compiles ({wall_s:.1f} s), cache in {compiled.stats.cache_path}")


def _rendering(name: str) -> Check:
    report = gl_backend()
    if not report.ok:
        found = f"{report.name}: nothing can be drawn (physics, `check` and `report` still work)"
        return Check(name, "failure", found, report.why)
    drawn_by = ", software on the CPU" if report.software else ""
    frame_ms = _frame_ms()
    found = (
        f"{report.name} ({report.why}) on {report.device or 'an unnamed device'}{drawn_by}; "
        f"{frame_ms:.1f} ms for a simple picture of {FRAME_PIXELS} x {FRAME_PIXELS}"
    )
    return Check(name, "ok", found)


def _frame_ms() -> float:
    """Return the median time of a picture of a few shapes at the default quality (ms)."""
    mujoco = load_mujoco()
    model = mujoco.MjModel.from_xml_string(_FRAME_SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    times_ms: list[float] = []
    with Vision(FRAME_PIXELS, FRAME_PIXELS) as vision:
        vision.load(model)
        if not vision.render(data, "front").any():
            raise VisionError("a picture of a lit scene came out black; try another MUJOCO_GL or driver")
        for _ in range(5):
            begin = time.perf_counter()
            vision.render(data, "front")
            times_ms.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times_ms)


def _disk(name: str) -> Check:
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    found = f"{free / _GIB:.1f} GiB free in {here}"
    if free < MIN_DISK_GIB * _GIB:
        return Check(name, "warning", found, "runs and videos need room: make some or use --out elsewhere")
    return Check(name, "ok", found)


def _home(name: str) -> Check:
    home = os.environ.get("HOME", "")
    if home and _writable(Path(home)):
        return Check(name, "ok", f"{home} is writable")
    return Check(name, "ok", f"{home or 'HOME'} is not writable; nothing is written there")


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


CHECKS: dict[str, Callable[[str], Check]] = {
    "python": _python,
    "platform": _platform,
    "cores": _cores,
    "memory": _memory,
    "libraries": _libraries,
    "mujoco": _mujoco,
    "numba": _numba,
    "rendering": _rendering,
    "disk": _disk,
    "home": _home,
}
