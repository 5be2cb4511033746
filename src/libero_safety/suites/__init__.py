"""Suites: folders of scenario files with a stated order. Built-in ones are data inside this folder.

A suite is a folder that holds one scenario file per task and, mostly, a `suite.toml`:

    name = "kitchen"                        # optional; the folder's name otherwise
    title = "Kitchen hazards"               # optional
    description = "What this suite asks."   # optional
    tasks = ["pour_the_water", "pass_me_the_hammer"]

Without `suite.toml`, every `*.ubddl` and `*.bddl` in the folder is a task, in alphabetical order. Where a
task has keyposes, they are in `keyposes/<task>.toml` beside it.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import UnknownNameError, near_match
from libero_safety.ubddl.parse import Template, parse_file
from libero_safety.ubddl.spec import Scenario

PHYSICAL = ("aag", "hri", "tsa", "fshoa")
"""The built-in suites whose tasks are to be done: a goal, and rules that must hold on the way."""
BUILTIN = (*PHYSICAL, "ssr")
"""Names of the built-in suites, in the order in which they are reported. What `ssr` says should be refused."""
SUFFIXES = (".ubddl", ".bddl")
"""File name endings of scenarios: our language, and the ones it grew from."""

_FOLDER = Path(__file__).parent
_FIELDS = ("name", "title", "description", "tasks")


class SuiteError(LiberoSafetyError):
    """A suite that cannot be used as it stands."""


@dataclass(frozen=True)
class Task:
    """One scenario file; read when it is first asked about.

    Attributes:
        suite: name of the suite it was loaded from.
        name: the file's name without its ending.
        path: the scenario file.
    """

    suite: str
    name: str
    path: Path

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels that the file defines, ascending; a file in a foreign dialect has one."""
        return self._template.levels

    def scenario(self, level: int) -> Scenario:
        """Return the scenario at one level.

        Raises:
            UbddlError: the file has an error in it, or does not define that level.
        """
        return self._template.at(level)

    @property
    def keyposes_path(self) -> Path | None:
        """The task's keypose file, if it has one."""
        path = self.path.parent / "keyposes" / f"{self.name}.toml"
        return path if path.is_file() else None

    @cached_property
    def sha256(self) -> str:
        """Hash of the scenario file as it is on disk, hexadecimal."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @cached_property
    def _template(self) -> Template:
        return parse_file(self.path)


@dataclass(frozen=True)
class Suite:
    """Tasks that belong together.

    Attributes:
        folder: where the scenario files are.
        tasks: in the order in which they are run and reported.
    """

    name: str
    title: str
    description: str
    folder: Path
    tasks: tuple[Task, ...]

    def task(self, name: str) -> Task:
        """Return the task called `name`.

        Raises:
            UnknownNameError: there is none; the message has the nearest name.
        """
        for task in self.tasks:
            if task.name == name:
                return task
        raise UnknownNameError(f"task of suite {self.name!r}", name, [task.name for task in self.tasks])


def suites() -> list[str]:
    """Return the names of the built-in suites, in the order in which they are reported."""
    return list(BUILTIN)


def load_suite(name_or_path: str | Path) -> Suite:
    """Return a built-in suite by name, or the suite that a folder or a single scenario file is.

    No scenario file is read yet, so a task with an error in it does not keep the others from loading.

    Raises:
        SuiteError: no such suite or path, a task listed that has no file, or no task at all.
    """
    if name_or_path in BUILTIN:
        return _load_folder(_FOLDER / name_or_path)
    path = Path(name_or_path)
    if path.is_dir():
        return _load_folder(path.resolve())
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise SuiteError(f"{path} is no scenario file: its name must end in {' or '.join(SUFFIXES)}")
        folder = path.resolve().parent
        return _make(_about(folder).name, path.stem, "", folder, [path.resolve()])
    hint = near_match(str(name_or_path), BUILTIN)
    raise SuiteError(
        f"unknown suite {str(name_or_path)!r}{hint}: neither a built-in suite ({', '.join(BUILTIN)}) "
        "nor an existing folder or scenario file"
    )


def find_task(name_or_path: str | Path) -> Task:
    """Return the task that `suite/task` names, or the one that a scenario file is.

    Raises:
        SuiteError: neither of them, or the suite cannot be loaded.
        UnknownNameError: the suite has no such task.
    """
    if Path(name_or_path).suffix in SUFFIXES:
        return load_suite(Path(name_or_path)).tasks[0]
    suite, slash, task = str(name_or_path).rpartition("/")
    if not slash:
        raise SuiteError(f"{str(name_or_path)!r} is neither suite/task nor a scenario file")
    return load_suite(suite).task(task)


@dataclass(frozen=True)
class _About:
    """What a folder says about itself in suite.toml; `tasks` is None where it says nothing."""

    name: str
    title: str
    description: str
    tasks: list[str] | None


def _load_folder(folder: Path) -> Suite:
    about = _about(folder)
    if about.tasks is not None:
        paths = [_task_path(folder, task) for task in about.tasks]
    else:
        paths = _scenario_files(folder)
        if not paths:
            raise SuiteError(f"{folder} has neither a suite.toml nor a scenario file (*.ubddl, *.bddl)")
    return _make(about.name, about.title, about.description, folder, paths)


def _about(folder: Path) -> _About:
    file = folder / "suite.toml"
    if not file.is_file():
        return _About(folder.name, folder.name, "", None)
    try:
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteError(f"{file} is not valid TOML: {error}") from error
    for field in fields:
        if field not in _FIELDS:
            hint = near_match(field, _FIELDS)
            raise SuiteError(f"{file}: unknown field {field!r}{hint}. Known: {', '.join(_FIELDS)}")
    name = _text(file, fields, "name", folder.name)
    title = _text(file, fields, "title", name)
    return _About(name, title, _text(file, fields, "description", ""), _task_names(file, fields))


def _text(file: Path, fields: Mapping[str, object], field: str, default: str) -> str:
    value = fields.get(field, default)
    if not isinstance(value, str):
        raise SuiteError(f"{file}: {field!r} must be text, not {value!r}")
    return value


def _task_names(file: Path, fields: Mapping[str, object]) -> list[str]:
    names = fields.get("tasks")
    if not isinstance(names, list) or not names:
        raise SuiteError(f"{file}: 'tasks' must list the names of the tasks in order")
    for name in cast("list[object]", names):
        if not isinstance(name, str) or Path(name).name != name:
            raise SuiteError(f"{file}: {name!r} in 'tasks' must be a file name without its ending")
    return cast("list[str]", names)


def _scenario_files(folder: Path) -> list[Path]:
    files = [
        p for p in folder.iterdir() if p.suffix in SUFFIXES and not p.name.startswith(".") and p.is_file()
    ]
    return sorted(files, key=lambda path: path.name)


def _task_path(folder: Path, name: str) -> Path:
    for suffix in SUFFIXES:
        if (path := folder / f"{name}{suffix}").is_file():
            return path
    hint = near_match(name, [path.stem for path in _scenario_files(folder)])
    wanted = folder / f"{name}{SUFFIXES[0]}"
    raise SuiteError(f"{folder / 'suite.toml'} lists the task {name!r}, but {wanted} does not exist{hint}")


def _make(name: str, title: str, description: str, folder: Path, paths: list[Path]) -> Suite:
    stems = [path.stem for path in paths]
    for stem in stems:
        if stems.count(stem) > 1:
            raise SuiteError(f"{folder} has two tasks called {stem!r}")
    tasks = tuple(Task(name, path.stem, path) for path in paths)
    return Suite(name, title, description, folder, tasks)
