"""What an installed copy promises: importing does nothing, types are shipped, one version everywhere."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import libero_safety

ROOT = Path(__file__).parents[1]
PACKAGE = Path(libero_safety.__file__).parent
HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "matplotlib",
    "mujoco",
    "gymnasium",
    "imageio",
    "PIL",
    "tyro",
    "websockets",
)


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which every place for a user's files is under `home`."""
    places = {"HOME": home, "XDG_CACHE_HOME": home / "c", "XDG_CONFIG_HOME": home / "g", "TMPDIR": home / "t"}
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NUMBA_", "MPL"))
    }
    return {**kept, **{name: str(place) for name, place in places.items()}, "PYTHONDONTWRITEBYTECODE": "1"}


def files() -> list[Path]:
    """Return the files of the package, but for what other processes may be caching."""
    return sorted(path for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts)


def test_importing_loads_nothing_heavy() -> None:
    code = f"import libero_safety, sys; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sixteen_imports_at_once_write_nothing(tmp_path: Path) -> None:
    homes = [tmp_path / "writable", tmp_path / "read-only"]
    for home, mode in zip(homes, (0o700, 0o500), strict=True):
        home.mkdir(mode=mode)
    before = files()
    command = [sys.executable, "-c", "import libero_safety, libero_safety.registry, libero_safety.types"]
    running = [
        subprocess.Popen(
            command, env=environment(home), cwd=home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for home in homes
        for _ in range(8)
    ]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
        assert errors == b""
    assert [list(home.iterdir()) for home in homes] == [[], []]
    assert files() == before


def test_every_public_name_exists() -> None:
    missing = [name for name in libero_safety.__all__ if not hasattr(libero_safety, name)]
    assert missing == []


def test_types_are_shipped() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_one_version_everywhere() -> None:
    version = libero_safety.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", version)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_installed_version_is_this_one() -> None:
    try:
        installed = importlib.metadata.version("libero-safety")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is used without being installed")
    assert installed == libero_safety.__version__
