"""What there is, as lines of text; and linting many files."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from libero_safety.assets.catalog import Catalog, default_catalog
from libero_safety.errors import LiberoSafetyError
from libero_safety.plan.planners import PLANNERS
from libero_safety.policy.load import POLICIES
from libero_safety.suites import SUFFIXES, load_suite, suites
from libero_safety.ubddl import words
from libero_safety.ubddl.lint import lint_file
from libero_safety.ubddl.spec import Finding


class NoFileError(LiberoSafetyError):
    """A path to check that is not there or holds no scenario."""


def _suites() -> Iterator[str]:
    for name in suites():
        suite = load_suite(name)
        yield f"{name:6} {len(suite.tasks)} tasks  {suite.title}"


def _tasks() -> Iterator[str]:
    for name in suites():
        for task in load_suite(name).tasks:
            levels = " ".join(f"L{level}" for level in task.levels)
            yield f"{name}/{task.name}  [{levels}]  {task.scenario(task.levels[0]).instruction}"


def _words() -> Iterator[str]:
    for title, table in (
        ("predicate", words.PREDICATES),
        ("measure", words.MEASURES),
        ("constraint", words.CONSTRAINTS),
    ):
        for word, signature in table.items():
            yield f"{title:10} ({' '.join([word, *signature.roles])}): {signature.doc}"


LISTINGS: dict[str, Callable[[], Iterator[str]]] = {
    "suites": _suites,
    "tasks": _tasks,
    "policies": lambda: iter(POLICIES.names()),
    "planners": lambda: iter(PLANNERS.names()),
    "types": lambda: iter(default_catalog().names()),
    "arenas": lambda: iter(default_catalog().arenas()),
    "words": _words,
}


def lint_paths(paths: Sequence[Path], catalog: Catalog) -> Iterator[tuple[Path, list[Finding]]]:
    """Yield every scenario file under `paths`, sorted within each folder, and what is wrong with it.

    Raises:
        NoFileError: a path does not exist, or nothing was found at all.
    """
    found = False
    for path in paths:
        if not path.exists():
            raise NoFileError(f"{path} does not exist")
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES)
        for file in files:
            if path.is_file() or not file.name.startswith("."):
                found = True
                yield file, lint_file(file, catalog)
    if not found:
        raise NoFileError(
            f"no scenario file ({', '.join(SUFFIXES)}) in {', '.join(map(str, paths)) or 'nothing'}"
        )
