"""The library of hand-object pairs: what is in it, that its records are true, and that it can be made again."""

from collections import Counter
from dataclasses import astuple, replace
from functools import lru_cache
from importlib import resources
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from libero_safety.assets.asset import Asset, Link, Shape
from libero_safety.assets.catalog import default_catalog
from libero_safety.assets.geometry import rotation
from libero_safety.assets.grasp_carry import carry
from libero_safety.assets.grasp_library import Order, make, make_all, orders, selected
from libero_safety.assets.grasp_synthesis import UngraspableError, measure, quat_of, split_of, synthesise
from libero_safety.assets.grasps import (
    APART_RAD,
    Grasp,
    GraspError,
    held_things,
    library,
    pairs,
    pose_distance,
    read_grasps,
    simulator,
    write_grasps,
)
from libero_safety.assets.hand import DOFS
from libero_safety.assets.splits import Numbered


def power() -> list[Grasp]:
    return [g for g in library() if g.style == "power"]


@lru_cache(maxsize=1)
def angles() -> np.ndarray:
    """Angles of all hands, in the order of the library."""
    return np.array([g.angles for g in library()])


def base(thing: str) -> str:
    numbered = Numbered.parse(thing)
    return thing if numbered is None else numbered.base


def same(a: Grasp, b: Grasp) -> bool:
    arrays = [(getattr(a, n), getattr(b, n)) for n in ("pose", "shape", "pos", "quat", "grip")]
    return all(np.array_equal(x, y) for x, y in arrays) and a.quality == b.quality


def test_library_has_enough_pairs_of_enough_things() -> None:
    assert len(library()) >= 462
    assert len({base(g.thing) for g in library()}) >= 60
    assert len(power()) >= 462
    splits = Counter(g.split for g in library())
    assert 0.6 <= splits["train"] / len(library()) <= 0.8


def test_both_hands_and_many_people_hold_things() -> None:
    sides = Counter(g.side for g in library())
    assert min(sides.values()) >= 0.35 * len(library())
    shapes = np.array([g.shape for g in library()])
    assert len(np.unique(shapes[:, 0])) >= 200
    assert np.abs(shapes).max() <= 2.0


def test_everything_held_is_in_the_catalog() -> None:
    catalog = default_catalog()
    for thing in held_things():
        assert catalog.split(thing) == pairs(thing)[0].split


def test_no_object_is_in_both_splits() -> None:
    assert not set(held_things("train")) & set(held_things("test"))


@pytest.mark.parametrize("style", ["power", "carried"])
def test_no_test_hand_pose_is_like_one_of_train(style: str) -> None:
    rows = {s: [g.split == s and g.style == style for g in library()] for s in ("train", "test")}
    test, train = angles()[rows["test"]], angles()[rows["train"]]
    assert len(test) >= 10
    assert min(pose_distance(a, train).min() for a in test) >= APART_RAD - 1e-5  # stored in single precision


def test_joints_are_within_their_limits() -> None:
    low, high = (np.array([getattr(d, end) for d in DOFS.values()]) for end in ("low", "high"))
    assert (angles() >= low - 1e-5).all()
    assert (angles() <= high + 1e-5).all()


def test_medians_of_power_grasps_are_good() -> None:
    quality = {
        n: np.median([getattr(g.quality, n) for g in power()]) for n in power()[0].quality.__annotations__
    }
    assert quality["max_penetration_mm"] <= 5.0
    assert quality["fingers"] >= 5
    assert quality["epsilon"] >= 0.05
    assert quality["displacement_mm"] <= 5.0


def test_every_power_grasp_holds() -> None:
    for grasp in power():
        assert grasp.quality.max_penetration_mm <= 8.0
        assert grasp.quality.epsilon >= 0.02
        assert grasp.quality.fingers >= 2
        assert grasp.quality.lifts == 6


@pytest.mark.parametrize("number", range(5))
def test_stored_records_are_measured_again(number: int) -> None:
    grasp = power()[len(power()) * (2 * number + 1) // 10]
    again = measure(default_catalog().asset(grasp.thing), grasp)
    stored = grasp.quality
    assert again.max_penetration_mm == pytest.approx(stored.max_penetration_mm, abs=0.05)
    assert again.mean_penetration_mm == pytest.approx(stored.mean_penetration_mm, abs=0.1)
    assert again.volume_cm3 == pytest.approx(stored.volume_cm3, abs=0.1)
    assert again.contact_ratio == pytest.approx(stored.contact_ratio, abs=0.003)
    assert again.fingers == stored.fingers
    # Single precision decides whether a contact that hardly presses is one.
    assert again.contacts == pytest.approx(stored.contacts, abs=3)
    assert again.epsilon == pytest.approx(stored.epsilon, abs=0.05)
    assert again.displacement_mm == pytest.approx(stored.displacement_mm, abs=2.0)
    assert again.lifts == 6


def test_same_seed_gives_same_grasps_and_another_seed_others() -> None:
    ball = default_catalog().asset("ball")
    first, again, other = (synthesise(ball, count=2, seed=seed) for seed in (3, 3, 4))
    assert all(same(a, b) for a, b in zip(first, again, strict=True))
    assert not same(first[0], other[0])
    assert len(first) == 2
    assert not np.allclose(first[0].pos, first[1].pos, atol=0.005)


def test_carried_things_lie_on_a_level_hand() -> None:
    plate = default_catalog().asset("plate")
    (grasp,) = carry(plate, count=1, seed=1)
    assert same(grasp, carry(plate, count=1, seed=1)[0])
    assert grasp.quality.displacement_mm < 10.0
    assert grasp.forearm[0] > 0.8
    assert grasp.pos[2] < 0.0


def test_what_is_too_large_says_why() -> None:
    crate = Asset("crate", (Link("root", (Shape("box", (0.2, 0.2, 0.2), pos=(0, 0, 0.2)),)),))
    with pytest.raises(UngraspableError, match=r"no hand holds 'crate': 12 palm poses tried \(too wide"):
        synthesise(crate, count=1, seed=0, attempts=12)


def test_what_slides_off_says_so() -> None:
    needle = Asset("needle", (Link("root", (Shape("box", (0.002, 0.002, 0.4), pos=(0, 0, 0.4)),)),))
    with pytest.raises(GraspError, match="'needle' slides off the palm"):
        carry(needle, count=1, seed=0)


def test_pairs_are_found_by_any_form_of_a_variants_name_and_split() -> None:
    assert pairs("bottle_of_beer_1_0") == pairs("bottle_of_beer__10")
    assert all(g.split == "test" for g in pairs("bottle_of_water__100"))
    with pytest.raises(
        GraspError, match="no hand holds 'bottle_of_waters' in the library, did you mean 'bottle_of_water'"
    ):
        pairs("bottle_of_waters")
    with pytest.raises(GraspError, match="in the test split"):
        pairs("bottle_of_water", "test")


def test_files_keep_grasps_and_others_are_refused(tmp_path: Path) -> None:
    some = library()[:3]
    write_grasps(tmp_path / "some.npz", some)
    assert all(
        same(a, b) for a, b in zip(some, read_grasps((tmp_path / "some.npz").read_bytes()), strict=True)
    )
    np.savez(tmp_path / "other.npz", thing=np.array(["mug"]))
    for content in (b"no zip", (tmp_path / "other.npz").read_bytes()):
        with pytest.raises(GraspError, match="no library of grasps"):
            read_grasps(content)


def test_selection_keeps_unseen_hand_poses_only() -> None:
    train = library()[0]
    assert train.split == "train"
    near = replace(train, thing="ball__100", split="test")
    far = replace(near, pose=np.zeros(48))
    assert pose_distance(far.angles, train.angles[None])[0] > APART_RAD
    assert selected([train, near]) == [train]
    assert selected([train, near, far]) == [train, far]


def test_quaternions_are_those_of_their_matrices() -> None:
    for quat in ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.5, -0.5, 0.5, -0.5), (0.1, 0.2, -0.9, 0.3)):
        found = quat_of(rotation(quat))
        unit = np.array(quat) / np.linalg.norm(quat)
        assert np.array(found) == pytest.approx(unit)


def test_orders_are_of_both_splits_and_name_known_things() -> None:
    found = orders(default_catalog())
    assert {split_of(o.thing) for o in found} == {"train", "test"}
    assert len({o.thing for o in found}) == len(found)
    stored = set(held_things())
    assert len(stored & {o.thing for o in found}) == len(stored)


def test_library_can_be_made_again() -> None:
    """If this fails, a thing, the hand or the search has changed: `libero-safety hands --build` makes the file anew."""
    file = resources.files("libero_safety.assets") / "data" / "grasps.npz"
    with np.load(BytesIO(file.read_bytes())) as data:
        if str(data["made_with"]) != simulator():
            pytest.skip(f"made with {data['made_with']}, here is {simulator()}")
    thing = next(g.thing for g in power() if g.split == "train")
    again = make(next(o for o in orders(default_catalog()) if o.thing == thing)).grasps
    for grasp, stored in zip(again, pairs(thing), strict=True):
        assert grasp.pose == pytest.approx(stored.pose, abs=1e-4)
        assert astuple(grasp.quality) == pytest.approx(astuple(stored.quality), rel=1e-3, abs=1e-3)


@pytest.mark.slow
def test_workers_give_the_same_as_one() -> None:
    things = [Order("ball", 1), Order("banana", 1)]
    one, two = make_all(things), make_all(things, workers=2)
    assert [m.thing for m in two] == ["ball", "banana"]
    assert all(same(a.grasps[0], b.grasps[0]) for a, b in zip(one, two, strict=True))
