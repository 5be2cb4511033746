"""Which hand-object pairs the library holds, and how it is made again.

`libero-safety hands --build` makes the same pairs with the same version of MuJoCo, whatever the number of workers. It
takes half an hour of one core.

Every variant of the types that scenarios put into a hand has a pair; of other types a few variants do. Test pairs are
of held-out variants, and none has a hand pose like one of a train pair.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from libero_safety.assets.catalog import Catalog, default_catalog
from libero_safety.assets.grasp_carry import CARRIED, carry
from libero_safety.assets.grasp_synthesis import synthesise
from libero_safety.assets.grasps import APART_RAD, Grasp, GraspError, Style, pose_distance
from libero_safety.assets.objects.hand import HANDS
from libero_safety.assets.splits import TEST_NUMBERS, TRAIN_NUMBERS, Numbered
from libero_safety.types import FloatArray

SEED = 0
HELD = tuple(
    """akita_black_bowl banana bowl brussels_sprouts cap can_of_soda croissant cupcake hairbrush half_apple plate
    white_bowl bottle_of_alcohol bottle_of_alfredo_sauce bottle_of_beer bottle_of_black_pepper bottle_of_catsup
    bottle_of_cold_cream bottle_of_lemon_juice bottle_of_mustard_seeds bottle_of_pop bottle_of_shampoo
    bottle_of_tomato_paste bottle_of_water""".split()
)
"""Types that the human-robot scenarios put into a hand: each of their variants has a pair."""
ALSO_NUMBERED = {"bottle_of_pop": (16,), "bottle_of_water": (15,), "cap": (37,)}
"""Variants that scenarios of older formats name."""
OTHER_TRAIN, OTHER_TEST = TRAIN_NUMBERS[:1], TEST_NUMBERS[:1]
"""Variants of the other types that have a pair."""
NOT_HELD = frozenset(
    """apple__1 apple__7 keyboard water_ball rotated_classic_blue_mug rotated_fork
    rotated_frypan rotated_hammer rotated_knife""".split()
)
"""Types that are too large, small or limp for one hand, or others in another orientation."""
_TEST_CHOICE = 2
"""Grasps of a test thing that the one whose hand pose is unseen is chosen from."""


@dataclass(frozen=True)
class Order:
    """What to make: `count` pairs of a thing."""

    thing: str
    count: int


@dataclass(frozen=True)
class Made:
    """Grasps of one thing, or why there are none."""

    thing: str
    grasps: tuple[Grasp, ...]
    problem: str = ""


def orders(catalog: Catalog) -> list[Order]:
    """Return every thing of the library, in its order: some of each type, then all others of those in scenes."""
    some: list[Order] = []
    others: list[Order] = []
    for base in catalog.names():
        if base in NOT_HELD or base in HANDS or catalog.is_fixture(base):
            continue
        some.append(Order(base, 2))
        train = (*TRAIN_NUMBERS, *ALSO_NUMBERED.get(base, ())) if base in HELD else OTHER_TRAIN
        test = TEST_NUMBERS if base in HELD else OTHER_TEST
        for number in (*train, *test):
            order = Order(str(Numbered(base, number)), 1 if number in train else _TEST_CHOICE)
            (some if number in (*OTHER_TRAIN, *OTHER_TEST) else others).append(order)
    return some + others


def make(order: Order, seed: int = SEED) -> Made:
    """Return the grasps of one thing."""
    asset = default_catalog().asset(order.thing)
    numbered = Numbered.parse(order.thing)
    base = order.thing if numbered is None else numbered.base
    try:
        find = carry if base in CARRIED else synthesise
        return Made(order.thing, tuple(find(asset, count=order.count, seed=seed)))
    except GraspError as problem:
        return Made(order.thing, (), str(problem))


def make_all(
    things: Sequence[Order], workers: int = 1, seed: int = SEED, told: Callable[[Made], None] | None = None
) -> list[Made]:
    """Return the grasps of all things, in their order, made by some processes; `told` hears of each."""
    made: list[Made] = []
    for one in _results(things, workers, seed):
        made.append(one)
        if told is not None:
            told(one)
    return made


def _results(things: Sequence[Order], workers: int, seed: int) -> Iterator[Made]:
    work = partial(make, seed=seed)
    if workers == 1:
        yield from map(work, things)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(work, things)


def selected(grasps: Sequence[Grasp], apart_rad: float = APART_RAD) -> list[Grasp]:
    """Return the pairs of the library, in their order.

    Of each test thing only the grasp is kept whose hand pose is least like any of train with the same style, and none
    if that is nearer than `apart_rad`.
    """
    train: dict[Style, list[FloatArray]] = {}
    tests: dict[str, list[Grasp]] = {}
    for grasp in grasps:
        if grasp.split == "train":
            train.setdefault(grasp.style, []).append(grasp.angles)
        else:
            tests.setdefault(grasp.thing, []).append(grasp)
    seen = {style: np.array(angles) for style, angles in train.items()}
    unseen: set[int] = set()
    for rivals in tests.values():
        far = [
            float(pose_distance(g.angles, seen[g.style]).min()) if g.style in seen else np.inf for g in rivals
        ]
        best = int(np.argmax(far))
        if far[best] >= apart_rad:
            unseen.add(id(rivals[best]))
    return [g for g in grasps if g.split == "train" or id(g) in unseen]
