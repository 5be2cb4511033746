"""Objects of a catalog, as lines of text or as a sheet of pictures."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import get_args

from PIL import Image

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog
from libero_safety.assets.geometry import bounds, mass_kg
from libero_safety.assets.splits import SPLIT_NUMBERS, Numbered
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.sheet import contact_sheet
from libero_safety.rng import rng_for
from libero_safety.types import Key
from libero_safety.ubddl.spec import Split


class ObjectsError(LiberoSafetyError):
    """More objects than there are."""


def object_types(catalog: Catalog) -> list[str]:
    """Return the types that are no variants, furniture or pairs of a hand and a thing, sorted."""
    known = set(catalog.names())
    return [
        name
        for name in catalog.names()
        if not name.endswith("_with_hand")
        and not ((numbered := Numbered.parse(name)) and numbered.base in known)
        and not catalog.is_fixture(name)
    ]


def every_object(catalog: Catalog, split: Split | None = None) -> list[str]:
    """Return all types that a scenario's `:split` can draw, of one split or both."""
    splits = get_args(Split) if split is None else (split,)
    return [
        name for base in object_types(catalog) for each in splits for name in catalog.variants(base, each)
    ]


def draw_objects(catalog: Catalog, count: int, seed: int, split: Split | None = None) -> list[str]:
    """Return `count` different objects: as many of each type as possible, their numbers drawn from the seed.

    A longer list begins with the shorter one.

    Raises:
        ObjectsError: there are not so many.
    """
    numbers = list(chain(*(SPLIT_NUMBERS[s] for s in (get_args(Split) if split is None else (split,)))))
    types = object_types(catalog)
    if not 0 <= count <= len(types) * len(numbers):
        most = f"{len(types)} types of {len(numbers)} variants each"
        raise ObjectsError(f"{count} objects are not to be had: there are {most}")
    rng = rng_for(Key("", "objects", 0, seed, 0), "objects")
    order = [types[i] for i in rng.permutation(len(types))]
    of_type = {name: rng.permutation(numbers) for name in sorted(types)}
    return [
        str(Numbered(order[i % len(order)], int(of_type[order[i % len(order)]][i // len(order)])))
        for i in range(count)
    ]


def chosen_objects(
    catalog: Catalog, names: Sequence[str], split: Split | None, count: int | None, seed: int
) -> list[str]:
    """Return the types that the options of `objects` ask for.

    Raises:
        ObjectsError: options that exclude each other, or more objects than there are.
        UnknownAssetError: a name that is no type; the message has near names.
    """
    if names and count is not None:
        raise ObjectsError("name objects, or ask for a count of drawn ones, not both")
    if count is not None:
        return draw_objects(catalog, count, seed, split)
    if not names:
        return every_object(catalog, split)
    return [name for name in names if split in (None, catalog.split(name))]


def object_lines(catalog: Catalog, names: Sequence[str]) -> Iterator[str]:
    """Yield a heading, and a line for each type: name, split, size, mass, hash, licence, source and parts."""
    rows = [("name", "split", "size cm", "mass g", "hash", "licence", "source", "parts")]
    rows += [_row(catalog, catalog.asset(name)) for name in names]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(catalog: Catalog, asset: Asset) -> tuple[str, ...]:
    low, high = bounds(asset)
    size = " x ".join(f"{100 * (h - w):.1f}" for w, h in zip(low, high, strict=True))
    return (
        asset.name,
        catalog.split(asset.name),
        size,
        f"{1000 * mass_kg(asset):.0f}",
        asset.digest(),
        asset.licence,
        asset.source,
        " ".join(asset.parts),
    )


def save_sheet(catalog: Catalog, names: Sequence[str], out: Path, size: int = 128) -> None:
    """Write a PNG with a picture of each type.

    Raises:
        NoGLError: nothing here can draw.
    """
    from libero_safety.sim.portrait import portraits

    assets = [catalog.asset(name) for name in names]
    page = contact_sheet(zip(portraits(assets, size), names, strict=True))
    Image.fromarray(page).save(out)
