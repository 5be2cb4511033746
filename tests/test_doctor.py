import tomllib
from pathlib import Path

import numba
import pytest

from libero_safety import doctor as module
from libero_safety.doctor import CHECKS, Check, DoctorReport, doctor
from libero_safety.sim.gl import GLReport

NO_GL = GLReport("none", ok=False, why="install libegl1")


@pytest.fixture
def without_gl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "gl_backend", lambda: NO_GL)


def by_name(report: DoctorReport) -> dict[str, Check]:
    return {check.name: check for check in report.checks}


@pytest.mark.gl
def test_a_machine_that_draws_is_told_by_what_and_how_fast() -> None:
    check = by_name(doctor())["rendering"]
    if check.status != "ok":
        pytest.skip(f"no off-screen GL: {check.fix}")
    assert any(name in check.found for name in ("egl", "osmesa", "glfw"))
    assert " ms for a simple picture of 256 x 256" in check.found


def test_every_check_is_made_and_nothing_is_printed(
    without_gl: None, capfd: pytest.CaptureFixture[str]
) -> None:
    report = doctor()
    assert list(by_name(report)) == list(CHECKS)
    checks = by_name(report)
    assert "3." in checks["mujoco"].found
    assert "usable of" in checks["cores"].found
    assert "GiB" in checks["memory"].found
    assert capfd.readouterr() == ("", "")


def test_no_gl_is_a_failure_that_names_the_packages(without_gl: None) -> None:
    report = doctor()
    assert not report.ok
    assert by_name(report)["rendering"].fix == "install libegl1"
    assert any("install libegl1" in line for line in report.lines())


def test_a_check_that_breaks_stops_no_other(without_gl: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Check:
        raise ZeroDivisionError("by nought")

    monkeypatch.setitem(module.CHECKS, "disk", broken)
    checks = by_name(doctor())
    assert checks["disk"].status == "failure"
    assert "ZeroDivisionError: by nought" in checks["disk"].found
    assert checks["home"].status == "ok"


def test_warnings_do_not_fail_and_failures_do() -> None:
    fine, warned, failed = (Check(s, s, "found", "fix" * (s != "ok")) for s in ("ok", "warning", "failure"))
    assert DoctorReport((fine, warned)).ok
    assert not DoctorReport((fine, warned, failed)).ok
    lines = DoctorReport((fine, warned)).lines()
    assert [line.split() for line in lines] == [
        ["ok", "ok", "found"],
        ["warning", "warning", "found"],
        ["->", "fix"],
    ]


@pytest.mark.parametrize(
    ("version", "status"),
    [("3.13.9", "failure"), ("3.14.0", "ok"), ("3.17.0", "ok"), ("4.0.0", "failure"), ("3.8.1", "failure")],
)
def test_mujoco_is_held_to_the_tested_range(
    version: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FakeMujoco:
        __version__ = version

    monkeypatch.setattr(module, "load_mujoco", lambda: FakeMujoco)
    check = CHECKS["mujoco"]("mujoco")
    assert check.status == status
    assert version in check.found
    assert status == "ok" or "mujoco>=3.14,<4" in check.fix


def test_the_tested_range_is_the_one_that_is_installed() -> None:
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    dependencies = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    (low, low_minor), (high, _) = module.MUJOCO_TESTED
    assert f"mujoco>={low}.{low_minor},<{high}" in dependencies


def test_a_bad_gl_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "elg")
    check = by_name(doctor())["rendering"]
    assert check.status == "failure"
    assert "MUJOCO_GL=elg" in check.fix


def test_no_writable_cache_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def njit(function, cache: bool = False):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(function)

    monkeypatch.setattr(numba, "njit", njit)
    check = CHECKS["numba"]("numba")
    assert check.status == "warning"
    assert "NUMBA_CACHE_DIR" in check.fix


def test_home_is_only_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "is writable" in CHECKS["home"]("home").found
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    check = CHECKS["home"]("home")
    assert "not writable" in check.found
    assert check.status == "ok"


def test_little_room_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_DISK_GIB", 1e9)
    monkeypatch.setattr(module, "MIN_MEMORY_GIB", 1e9)
    assert CHECKS["disk"]("disk").status == "warning"
    assert CHECKS["memory"]("memory").status == "warning"


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LIBRARIES", ("numpy", "no-such-library-anywhere"))
    check = CHECKS["libraries"]("libraries")
    assert check.status == "failure"
    assert "pip install no-such-library-anywhere" in check.fix
