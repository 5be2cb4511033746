"""Planners find ways that are free, keep what they are asked to keep, repeat themselves, and say why they fail."""

import re
import runpy
import time
from itertools import pairwise
from pathlib import Path as File

import numpy as np
import pytest

from libero_safety.plan import check
from libero_safety.plan.bounds import Allow, Held
from libero_safety.plan.check import Query, Validity
from libero_safety.plan.extra import MissingExtraError, need
from libero_safety.plan.guarded import GuardedPlanner
from libero_safety.plan.planners import PLANNERS, PlannerError, make_planner
from libero_safety.plan.problem import EFFORT, Hinge, Path, PlanFailed, Problem, Straight, Upright
from libero_safety.plan.world import World
from libero_safety.registry import UnknownNameError
from libero_safety.sim.robot import HOME_QPOS

pytest.importorskip("ompl")
HOME = np.array(HOME_QPOS)
BOTH = pytest.mark.parametrize("name", ["ompl", "tip"])


def side(angle: float) -> np.ndarray:
    """Home turned about the base: to the left when positive."""
    joints = HOME.copy()
    joints[0] = angle
    return joints


def stretched(extra_rad: float) -> np.ndarray:
    """Elbow bent to its limit and a little further."""
    joints = HOME.copy()
    joints[1], joints[3], joints[5] = -0.5, -3.0718 - extra_rad, 2.6
    return joints


def test_joints_give_a_little_at_the_start(among):
    path = solve("ompl", among(), stretched(0.005), side(0.0))
    assert isinstance(path, Path), path
    failed = solve("ompl", among(), stretched(0.05), side(0.0))
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "start_outside_limits"


def roofed(among):
    """A wall with a roof: no simple way leads over it."""
    return among([((0.55, 0.0, 0.2), (0.2, 0.02, 0.2)), ((0.55, 0.0, 0.72), (0.25, 0.3, 0.02))])


def solve(name: str, world, start, goals, **options) -> Path | PlanFailed:
    return make_planner(name).plan(Problem(world, start, np.atleast_2d(goals), **options))


def touches(world, joints: np.ndarray) -> bool:
    """Look at a path far more finely than any planner does."""
    rows = [a + (b - a) * s for a, b in pairwise(joints) for s in np.linspace(0, 1, 60)]
    return any(world.clearance(row, cap_m=0.01) == 0.0 for row in rows)


@BOTH
def test_a_straight_way_is_taken_where_there_is_one(among, name):
    path = solve(name, among(), side(0.2), side(-0.2))
    assert isinstance(path, Path)
    assert path.planner == name
    np.testing.assert_array_equal(path.joints[0], side(0.2))
    tips = np.array([among().arm.fk(row)[0] for row in path.joints])
    way = np.linalg.norm(np.diff(tips, axis=0), axis=1).sum()
    assert way < 1.02 * np.linalg.norm(tips[-1] - tips[0]) if name == "tip" else len(path.joints) == 2


@BOTH
def test_a_wall_is_gone_around(walled, name):
    path = solve(name, walled, side(0.45), side(-0.45))
    assert isinstance(path, Path), path
    assert not touches(walled, path.joints)
    here, there = walled.arm.fk(path.joints[-1])[0], walled.arm.fk(side(-0.45))[0]
    np.testing.assert_allclose(here, there, atol=1e-6)


def test_a_fence_is_passed_by_a_way_that_is_hardly_longer_than_it_must_be(among):
    """The shortest polyline over a thin fence has one corner, above it: up, across and down is much longer."""
    there = among().arm.fk(side(0.45))[0]
    across_m, over_m = 2.0 * there[1], 0.12
    fence = among([((there[0], 0.0, 0.2), (0.3, 0.005, there[2] + over_m - 0.2 - 0.1))])
    path = solve("tip", fence, side(0.45), side(-0.45))
    assert isinstance(path, Path), path
    tips = np.array([fence.arm.fk(row)[0] for row in path.joints])
    assert tips[:, 2].max() > there[2] + 0.02
    way_m = float(np.linalg.norm(np.diff(tips, axis=0), axis=1).sum())
    high_m = float(tips[:, 2].max() - there[2])
    assert way_m < 1.05 * 2.0 * np.hypot(0.5 * across_m, high_m)


@BOTH
def test_the_same_seed_gives_the_same_path_whatever_came_before(among, name):
    planner = make_planner(name)
    ask = dict(goals=side(-0.5)[None])
    first = planner.plan(Problem(roofed(among), side(0.5), **ask, seed=3))
    other = planner.plan(Problem(roofed(among), side(0.5), **ask, seed=4))
    again = make_planner(name).plan(Problem(roofed(among), side(0.5), **ask, seed=3))
    assert isinstance(first, Path), first
    assert isinstance(other, Path), other
    assert isinstance(again, Path), again
    np.testing.assert_array_equal(first.joints, again.joints)
    assert first.joints.shape != other.joints.shape or not np.array_equal(first.joints, other.joints)


@BOTH
def test_the_first_goal_that_will_do_is_reached(walled, name):
    blocked, good = side(0.0), side(-0.45)
    assert not walled.free(blocked)
    path = solve(name, walled, side(0.45), [blocked, good])
    assert isinstance(path, Path), path
    np.testing.assert_allclose(walled.arm.fk(path.joints[-1])[0], walled.arm.fk(good)[0], atol=1e-6)


def test_of_several_ways_the_shortest_is_taken(among):
    world = roofed(among)

    def length(starts: int) -> float:
        path = make_planner("ompl", starts=starts).plan(Problem(world, side(0.5), side(-0.5)[None], seed=5))
        assert isinstance(path, Path), path
        assert not touches(world, path.joints)
        return float(np.linalg.norm(np.diff(path.joints, axis=0), axis=1).sum())

    assert length(4) <= length(1)


@BOTH
def test_what_is_held_is_carried_around(lab, name):
    here = lab()
    here.grasp("can_1")
    tip, rot = here.env.eef_pose()
    # So low that the fingers pass over it, but the can does not.
    here.put("soup_1", tip - (0.0, 0.0, here.bounds("soup_1")[1][2] + 0.03))
    held = Held.now(here.scene, here.data, "can_1")
    empty = World.of_scene(here.scene, here.data, allow=[Allow("robot", "can_1", -1.0)])
    loaded = World.of_scene(here.scene, here.data, held=held)
    start, goal = (empty.arm.natural(tip + (0.0, y, 0.0), rot, empty.home) for y in (0.2, -0.2))
    bare = solve(name, empty, start, goal)
    path = solve(name, loaded, start, goal)
    assert isinstance(bare, Path), bare
    assert isinstance(path, Path), path
    assert loaded.first_hit(bare.joints) is not None
    assert not touches(loaded, path.joints)


def beyond() -> np.ndarray:
    joints = HOME.copy()
    joints[3] = 0.3
    return joints


@BOTH
@pytest.mark.parametrize(
    ("reason", "start", "goals", "says"),
    [
        ("start_outside_limits", beyond(), side(0.4), "joint 4 is at 0.300 rad"),
        ("start_in_collision", side(0.0), side(0.4), "box_0"),
        ("no_goal", side(0.4), np.empty((0, 7)), "no goal"),
        ("no_goal", side(0.4), beyond(), "joint limits"),
        ("goal_in_collision", side(0.45), side(0.0), "box_0"),
    ],
)
def test_every_failure_says_why(walled, name, reason, start, goals, says):
    failed = solve(name, walled, start, goals)
    assert isinstance(failed, PlanFailed)
    assert failed.reason == reason
    assert says in failed.detail


@BOTH
def test_effort_is_counted_in_edges(among, name):
    failed = solve(name, roofed(among), side(0.5), side(-0.5), effort=3)
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "exhausted"
    edges = int(re.findall(r"(\d+) edges were looked at", failed.detail)[0])
    assert 3 <= edges < 40


@BOTH
def test_a_slow_machine_finds_the_same_way(among, name, monkeypatch):
    world = roofed(among)
    quick = solve(name, world, side(0.5), side(-0.5), seed=3)
    first_hit, naps = World.first_hit, np.random.default_rng(0)

    def slow(*args):
        time.sleep(float(naps.uniform(0.0, 2e-3)))
        return first_hit(*args)

    monkeypatch.setattr(World, "first_hit", slow)
    tired = solve(name, world, side(0.5), side(-0.5), seed=3)
    assert isinstance(quick, Path), quick
    assert isinstance(tired, Path), tired
    np.testing.assert_array_equal(quick.joints, tired.joints)


class Leaping:
    """A clock that is `leap_s` further at its `at`-th reading and stays so."""

    def __init__(self, at: int, leap_s: float) -> None:
        self.readings, self._at, self._leap_s = 0, at, leap_s

    def perf_counter(self) -> float:
        self.readings += 1
        return self._leap_s if self.readings >= self._at else 0.0


@BOTH
def test_the_clock_stops_a_search_or_changes_nothing(among, name, monkeypatch):
    world = roofed(among)
    clock = Leaping(10**9, 0.0)
    monkeypatch.setattr(check, "time", clock)
    undisturbed = solve(name, world, side(0.5), side(-0.5), seed=3)
    assert isinstance(undisturbed, Path), undisturbed
    total = clock.readings
    for leap_s, at in [(59.0, 2), *((61.0, at) for at in np.linspace(2, total, 6).astype(int))]:
        monkeypatch.setattr(check, "time", Leaping(at, leap_s))
        other = solve(name, world, side(0.5), side(-0.5), seed=3)
        if isinstance(other, Path):
            np.testing.assert_array_equal(other.joints, undisturbed.joints)
            assert leap_s < 60.0 or at == total
        else:
            assert other.reason == "timeout"
            assert other.detail == f"{name} was stopped by the clock after 60 s"


@BOTH
def test_upright_is_kept(walled, name):
    tilt = np.deg2rad(15)
    path = solve(name, walled, side(0.45), side(-0.45), constraint=Upright(tilt))
    assert isinstance(path, Path), path
    axis = walled.arm.fk(path.joints[0])[1][:, 2]
    rows = np.concatenate([np.linspace(a, b, 20) for a, b in pairwise(path.joints)])
    assert min(walled.arm.fk(row)[1][:, 2] @ axis for row in rows) > np.cos(tilt + 0.02)


@BOTH
def test_a_goal_that_spills_is_refused(among, name):
    tilted = side(0.0)
    tilted[5] -= 0.6
    failed = solve(name, among(), side(0.3), tilted, constraint=Upright(0.2))
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "constraint"


@BOTH
def test_straight_is_straight_or_nothing(among, walled, name):
    world = among()
    path = solve(name, world, side(0.45), side(-0.45), constraint=Straight())
    assert isinstance(path, Path), path
    tips = np.array([world.arm.fk(row)[0] for row in path.joints])
    way = (tips[-1] - tips[0]) / np.linalg.norm(tips[-1] - tips[0])
    off = (tips - tips[0]) - ((tips - tips[0]) @ way)[:, None] * way
    assert np.linalg.norm(off, axis=1).max() < 1e-4
    failed = solve(name, walled, side(0.45), side(-0.45), constraint=Straight())
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "constraint"
    assert "box_0" in failed.detail


@BOTH
def test_a_hinge_is_turned_about(among, name):
    world = among()
    base = Hinge(np.zeros(3), np.array([0.0, 0.0, 1.0]))
    path = solve(name, world, side(0.4), side(-0.4), constraint=base)
    assert isinstance(path, Path), path
    tips = np.array([world.arm.fk(row)[0] for row in path.joints])
    radius = np.linalg.norm(tips[:, :2], axis=1)
    assert np.ptp(radius) < 2e-3
    assert np.ptp(tips[:, 2]) < 2e-3
    elsewhere = Hinge(np.array([0.3, 0.3, 0.0]), np.array([0.0, 0.0, 1.0]))
    failed = solve(name, world, side(0.4), side(-0.4), constraint=elsewhere)
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "constraint"
    assert "hinge" in failed.detail


def test_a_planner_by_name():
    assert {"ompl", "tip", "roboplan", "vamp", "curobo"} <= set(PLANNERS.names())
    with pytest.raises(UnknownNameError, match="did you mean 'ompl'"):
        make_planner("ompel")
    with pytest.raises(PlannerError, match="without a method plan"):
        make_planner("builtins:dict")
    with pytest.raises(PlannerError, match="colour"):
        make_planner("ompl", colour="red")
    with pytest.raises(PlannerError, match="expected a class"):
        make_planner("math:pi")


def test_what_is_missing_says_how_to_get_it():
    with pytest.raises(MissingExtraError, match=r"pip install 'libero-safety\[plan\]'"):
        need("no_such_library.base")


def test_the_clock_outlasts_what_is_found(among):
    query = Query.of(Problem(among(), side(0.0), side(0.1)[None], stop_s=0.0), "mine")
    assert isinstance(query, Query)
    rows = np.stack([query.start, query.goals[0]])
    assert isinstance(query.found(rows), Path)
    assert query.over
    failed = query.found(rows)
    assert isinstance(failed, PlanFailed)
    assert failed.reason == "timeout"


def test_an_edge_is_judged_with_its_tilt(among):
    tilted = side(0.0)
    tilted[5] -= 0.6
    problem = Problem(among(), side(0.0), side(0.0)[None])
    assert Validity(problem).edge(side(0.0), tilted)
    upright = Problem(among(), side(0.0), side(0.0)[None], constraint=Upright(0.3))
    assert not Validity(upright).edge(side(0.0), tilted)


class Plugin:
    """A planner as a user writes one: it does what it is told to."""

    def __init__(self, does) -> None:
        self.plan = does


def hang(_):
    while True:
        pass


@pytest.mark.parametrize(
    ("does", "reason", "says"),
    [
        (hang, "timeout", "did not come back within 0.1 s"),
        (lambda problem: 1 / 0, "backend", "raised ZeroDivisionError"),
        (lambda problem: None, "backend", "returned a NoneType"),
        (lambda problem: Path(np.zeros((1, 7)), "x", 0.0), "backend", "not (n >= 2, 7)"),
        (lambda problem: Path(np.zeros((2, 7)), "x", 0.0), "backend", "does not begin at the start"),
        (
            lambda problem: Path(np.stack([problem.start, problem.goals[0]]), "x", 0.0),
            "backend",
            "is too near to box_0",
        ),
        (lambda problem: PlanFailed("no_goal", "I know no goal"), "no_goal", "I know no goal"),
    ],
)
def test_planners_of_others_are_kept_to_their_word(walled, does, reason, says):
    failed = GuardedPlanner(Plugin(does), "mine").plan(
        Problem(walled, side(0.45), side(-0.45)[None], stop_s=0.1)
    )
    assert isinstance(failed, PlanFailed)
    assert failed.reason == reason
    assert says in failed.detail


def test_what_holds_is_passed_on(walled):
    path = GuardedPlanner(make_planner("tip"), "mine").plan(Problem(walled, side(0.45), side(-0.45)[None]))
    assert isinstance(path, Path), path


def test_a_narrow_way_is_found():
    """The hardest of MotionBenchMaker's problems for RRT-Connect alone."""
    root = File(__file__).parents[2]
    data = root.parent / "shared" / "data" / "motionbenchmaker_panda.json.gz"
    if not data.is_file():
        pytest.skip(f"the problems of MotionBenchMaker are not there ({data})")
    problems = runpy.run_path(str(root / "benchmarks" / "plan.py"))["mbm_problems"]
    found = dict(problems(data, 0.0, EFFORT, 100, 88))
    problem = found["bookshelf_thin 89"]
    path = make_planner("ompl").plan(problem)
    assert isinstance(path, Path), path
    assert problem.world.first_hit(path.joints) is None
