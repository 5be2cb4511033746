"""Pairs of a hand and a thing: as lines of text, as pictures from three sides, and made anew."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from libero_safety.assets.asset import Asset
from libero_safety.assets.catalog import Catalog
from libero_safety.assets.grasp_library import Made, make_all, orders, selected
from libero_safety.assets.grasps import Grasp, held_things, pairs, write_grasps
from libero_safety.assets.hand import SEGMENTS, embedded_hand
from libero_safety.assets.hand_shape import posed_capsules
from libero_safety.assets.pairs import PairName, stored_pairs
from libero_safety.assets.solid import Solid
from libero_safety.assets.splits import Numbered
from libero_safety.errors import LiberoSafetyError
from libero_safety.eval.sheet import contact_sheet, refuse_unwritable
from libero_safety.registry import near_match
from libero_safety.rng import rng_for
from libero_safety.types import Key
from libero_safety.ubddl.spec import Split

AZIMUTHS_DEG = (150.0, 30.0, -90.0)
"""The sides that a sheet shows a pair from: half front and right, half back and right, left."""
PAIRS_IN_A_ROW = 4
TOUCH_M = 0.0015
"""A segment nearer to the thing than this touches it."""


class HandsError(LiberoSafetyError):
    """Pairs that there are not."""


def every_pair(split: Split | None = None) -> list[str]:
    """Return the names of all stored pairs, of one split or both, in the order of the things' names."""
    bases = sorted(
        {thing if (n := Numbered.parse(thing)) is None else n.base for thing in held_things(split)}
    )
    splits: tuple[Split, ...] = ("train", "test") if split is None else (split,)
    return [name for base in bases for each in splits for name in stored_pairs(base, each)]


def chosen_pairs(names: Sequence[str], split: Split | None, count: int | None, seed: int) -> list[str]:
    """Return the pairs that the options of `hands` ask for.

    Args:
        names: pairs, or things: all pairs of these and of their variants; empty: all.
        split: only this split.
        count: only so many of them, drawn from the seed.
        seed: of `count`.

    Raises:
        HandsError: nobody holds it, or more pairs are asked for than there are.
    """
    known = every_pair(split)
    chosen = [pair for name in names for pair in _named(name, known)] if names else known
    if count is None:
        return chosen
    if not 0 <= count <= len(chosen):
        raise HandsError(f"{count} pairs are not to be had: there are {len(chosen)}")
    order = rng_for(Key("", "hands", 0, seed, 0), "hands").permutation(len(chosen))
    return [chosen[i] for i in sorted(order[:count].tolist())]


def _named(name: str, known: Sequence[str]) -> list[str]:
    """Return the stored pairs that a name means."""
    if name in known:
        return [name]
    pair = PairName.parse(name)
    things = {pair_name: _split_name(pair_name).thing for pair_name in known}
    thing = name if pair is None else pair.thing
    found = [p for p, held in things.items() if thing in (held, held.partition("__")[0])]
    if not found or (pair is not None and pair.number is not None):
        raise HandsError(f"no stored pair {name!r}{near_match(name, [*things, *things.values()])}")
    return found[:1] if pair is not None else found


def _split_name(name: str) -> PairName:
    pair = PairName.parse(name)
    assert pair is not None
    return pair


def grasp_of(name: str) -> Grasp:
    """Return the stored grasp that a pair is made of."""
    pair = _split_name(name)
    return pairs(pair.thing)[(pair.number or 1) - 1]


def touching_segments(grasp: Grasp, held: Asset) -> tuple[str, ...]:
    """Return the segments of the hand that touch what it holds, in the order of `SEGMENTS`."""
    model = embedded_hand(grasp.side)
    turn, at = grasp.place
    capsules = posed_capsules(model, model.pose(grasp.pose, grasp.shape), grasp.shape)
    shares = np.linspace(0.0, 1.0, 9)[:, None]
    points = np.concatenate([(c.start + shares * (c.end - c.start)) @ turn.T + at for c in capsules])
    gaps = Solid.of(held).signed_distance(points).reshape(len(capsules), -1).min(axis=1)
    near = {c.segment for c, gap in zip(capsules, gaps.tolist(), strict=True) if gap - c.radius < TOUCH_M}
    return tuple(segment for segment in SEGMENTS if segment in near)


def pair_lines(catalog: Catalog, names: Sequence[str]) -> Iterator[str]:
    """Yield a heading, and a line for each pair: name, split, side, hold, quality and the segments that touch."""
    rows = [
        ("name", "split", "side", "hold", "fingers", "depth mm", "epsilon", "moved mm", "lifts", "touching")
    ]
    rows += [_row(catalog, name, grasp_of(name)) for name in names]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(catalog: Catalog, name: str, grasp: Grasp) -> tuple[str, ...]:
    q = grasp.quality
    return (
        name,
        grasp.split,
        grasp.side,
        grasp.style,
        str(q.fingers),
        f"{q.max_penetration_mm:.1f}",
        f"{q.epsilon:.3f}",
        f"{q.displacement_mm:.1f}",
        str(q.lifts),
        " ".join(touching_segments(grasp, catalog.asset(grasp.thing))),
    )


def save_pair_sheet(catalog: Catalog, names: Sequence[str], out: Path, size: int = 128) -> None:
    """Write a picture with each pair from three sides.

    Raises:
        NoGLError: nothing here can draw.
        SheetError: `out` cannot be written, or there are no pairs.
    """
    from libero_safety.sim.portrait import portraits

    refuse_unwritable(out)
    views = portraits([catalog.asset(name) for name in names], size, azimuths_deg=AZIMUTHS_DEG)
    labels = [name for name in names for _ in AZIMUTHS_DEG]
    page = contact_sheet(zip(views, labels, strict=True), PAIRS_IN_A_ROW * len(AZIMUTHS_DEG))
    Image.fromarray(page).save(out)


def build_library(catalog: Catalog, out: Path, workers: int, say: Callable[[str], None]) -> int:
    """Make all pairs anew and write them to `out`; return how many, and say what nobody can hold."""

    def tell(made: Made) -> None:
        if made.problem:
            say(f"none   {made.problem}")
        else:
            say(f"found  {made.thing}: {len(made.grasps)}")

    made = make_all(orders(catalog), workers, told=tell)
    kept = selected([grasp for one in made for grasp in one.grasps])
    write_grasps(out, kept)
    return len(kept)
