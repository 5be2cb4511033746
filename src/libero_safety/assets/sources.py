"""Where assets come from: the built-in recipes, LIBERO's meshes, folders of MJCF files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from libero_safety.assets.asset import Asset
from libero_safety.assets.fixtures import FIXTURES
from libero_safety.assets.libero import libero_recipes
from libero_safety.assets.mjcf import read_asset
from libero_safety.assets.objects.bottles import BOTTLES
from libero_safety.assets.objects.boxes import BOXES
from libero_safety.assets.objects.food import FOODS
from libero_safety.assets.objects.hand import HANDS
from libero_safety.assets.objects.shapes import Recipe
from libero_safety.assets.objects.tools import TOOLS
from libero_safety.assets.objects.toys import TOYS
from libero_safety.assets.objects.vessels import VESSELS
from libero_safety.errors import LiberoSafetyError
from libero_safety.registry import near_match

BUILT_IN, LIBERO = "built-in", "libero"
_REFERENCE_LAYOUT = ("usd", "MJCF")
"""The folders in `<category>/<id>/usd/MJCF/<id>.xml`."""
_WITH_HAND = "_with_hand"


class SourceError(LiberoSafetyError):
    """A place for assets that there is not, or that holds none."""


@dataclass(frozen=True)
class Source:
    """Recipes by type name."""

    name: str
    recipes: Mapping[str, Recipe]


def source(name: str) -> Source:
    """Return the source that a word of `--assets` means: `built-in`, `libero`, or a folder.

    Raises:
        SourceError: there is no such source or folder, or it holds no assets.
    """
    if name in _NAMED:
        return Source(name, _NAMED[name]())
    folder = Path(name).expanduser()
    if not folder.is_dir():
        near = near_match(name, _NAMED)
        raise SourceError(f"no asset source {name!r}{near}: neither {' nor '.join(_NAMED)} nor a folder")
    return Source(name, folder_recipes(folder))


def source_names(text: str) -> tuple[str, ...]:
    """Return the sources that a text such as `libero,built-in,~/my/objects` names; folders as absolute paths.

    Raises:
        SourceError: it names none.
    """
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise SourceError(
            f"no asset source in {text!r}: expected {', '.join(_NAMED)} or folders, with commas between"
        )
    return tuple(word if word in _NAMED else str(Path(word).expanduser().resolve()) for word in words)


def built_in_recipes() -> dict[str, Recipe]:
    """Return the recipes of all built-in objects and fixtures."""
    merged: dict[str, Recipe] = {}
    for table in (VESSELS, BOTTLES, BOXES, FOODS, TOOLS, TOYS, HANDS, FIXTURES):
        twice = merged.keys() & table.keys()
        if twice:
            raise LiberoSafetyError(f"asset types defined twice: {', '.join(sorted(twice))}")
        merged.update(table)
    return merged


def folder_recipes(folder: Path) -> dict[str, Recipe]:
    """Return a recipe for each object in a folder of MJCF files.

    Found are `NAME.xml`, `NAME/NAME.xml`, and LIBERO-Safety's `CATEGORY/ID/usd/MJCF/ID.xml`, which is called ID, and
    CATEGORY__1, CATEGORY__2, ... in the order of the ids; CATEGORY alone means the first. Files are read when they are
    asked for.

    Raises:
        SourceError: there is none, or two have one name.
    """
    found: dict[str, Path] = {}
    for name, path in _objects(folder):
        if name in found:
            raise SourceError(f"{folder}: {found[name]} and {path} are both called {name!r}")
        found[name] = path
    if not found:
        raise SourceError(
            f"{folder}: no objects; expected NAME.xml, NAME/NAME.xml or CATEGORY/ID/usd/MJCF/ID.xml"
        )
    return {name: partial(_from_file, path, folder) for name, path in found.items()}


def _objects(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield name and file of each object, some under several names."""
    for path in sorted(folder.glob("*.xml")):
        yield path.stem, path
    for path in sorted(folder.glob("*/*.xml")):
        if path.stem == path.parent.name:
            yield path.stem, path
    for category in sorted(c for c in folder.iterdir() if c.is_dir()):
        for hand in ("", _WITH_HAND):
            files = sorted(category.glob(f"*/{'/'.join(_REFERENCE_LAYOUT)}/*.xml"))
            files = [f for f in files if f.stem == f.parents[2].name + hand]
            for number, path in enumerate(files, start=1):
                yield path.stem, path
                yield f"{category.name}__{number}{hand}", path
            if files:
                yield f"{category.name}{hand}", files[0]


def _from_file(path: Path, folder: Path, name: str) -> Asset:
    return read_asset(path, name, str(path), folder)


_NAMED: dict[str, Callable[[], Mapping[str, Recipe]]] = {BUILT_IN: built_in_recipes, LIBERO: libero_recipes}
