"""How long planning takes, how often it succeeds, and how long the paths are. Processor time, on one core.

    python benchmarks/plan.py tasks
    python benchmarks/plan.py mbm motionbenchmaker_panda.json.gz

`mbm` puts `ompl` and `roboplan` beside each other, or those that `--planner` names; what is not installed is left out,
and the run says so.

`tasks`: every way from keypose to keypose that the expert asks for on draws of the tasks. `mbm`: the problems of
MotionBenchMaker for the Panda (C. Chamzas et al., IEEE RA-L 2022), with this package's robot, gripper open, and its own
margin. Their shapes of the robot are others, so starts and goals that touch something here are counted apart.
"""

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from libero_safety.plan.extra import MissingExtraError
from libero_safety.plan.planners import make_planner
from libero_safety.plan.problem import Hinge, PlanFailed, Problem, Straight, Upright
from libero_safety.plan.world import World
from libero_safety.sim.robot import FINGER_OPEN_QPOS, HOME_QPOS, resolve, robot_spec

IMPOSSIBLE = ("start_in_collision", "start_outside_limits", "goal_in_collision", "no_goal")
"""Reasons for which a problem counts as one that has no solution here."""


WITHIN_S = 5.0
"""What takes longer does not count as solved."""


class Tally:
    """What one planner did."""

    def __init__(self, name: str) -> None:
        self.name, self.planner = name, make_planner(name)
        self.seconds: list[float] = []
        self.way_rad: list[float] = []
        self.way_m: list[float] = []
        self.late = 0
        self.failed: Counter[str] = Counter()
        self.impossible: Counter[str] = Counter()

    def solve(self, problem: Problem) -> str:
        """Solve it and return how that went."""
        began = time.process_time()
        found = self.planner.plan(problem)
        spent = time.process_time() - began
        if isinstance(found, PlanFailed):
            if found.reason in IMPOSSIBLE:
                self.impossible[found.reason] += 1
                return found.detail
            self.failed[found.reason] += 1
            self.seconds.append(spent)
            return found.detail
        self.seconds.append(spent)
        tips = np.array([problem.world.arm.fk(row)[0] for row in found.joints])
        self.way_rad.append(float(np.linalg.norm(np.diff(found.joints, axis=0), axis=1).sum()))
        self.way_m.append(float(np.linalg.norm(np.diff(tips, axis=0), axis=1).sum()))
        self.late += spent > WITHIN_S
        return "solved" if spent <= WITHIN_S else f"solved after {spent:.1f} s"

    def row(self) -> str:
        """A row of the table."""
        times = 1e3 * np.array(self.seconds)
        solved = len(self.way_rad) - self.late
        failed = self.failed + Counter({"late": self.late})
        return (
            f"| {self.name} | {solved}/{len(times)} ({100 * solved / max(len(times), 1):.1f} %) "
            f"| {np.median(times):.1f} | {np.quantile(times, 0.98):.1f} | {times.max():.1f} "
            f"| {np.median(self.way_rad):.2f} / {np.mean(self.way_rad):.2f} | {np.median(self.way_m):.2f} "
            f"| {dict(failed) or '-'} | {dict(self.impossible) or '-'} |"
        )


def table(tallies: list[Tally]) -> str:
    """What all of them did."""
    titles = (
        "planner",
        f"solved within {WITHIN_S:g} s",
        "median ms",
        "98 %",
        "most",
        "rad, median / mean",
        "tip m, median",
        "failed",
        "no solution",
    )
    head = f"| {' | '.join(titles)} |"
    return "\n".join([head, "|" + "---|" * len(titles), *(tally.row() for tally in tallies)])


def tallies_of(names: list[str]) -> list[Tally]:
    """Return those of the planners that are installed; say which are not."""
    found: list[Tally] = []
    for name in names:
        try:
            found.append(Tally(name))
        except MissingExtraError as error:
            print(f"skipped: {error}")
    return found


def mbm_world(problem: dict, margin_m: float) -> World:
    """Our robot at the origin, gripper open, among a problem's boxes, cylinders and balls."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.attach(robot_spec(), prefix="robot/", frame=spec.worldbody.add_frame())
    for kind in ("box", "cylinder", "sphere"):
        for number, shape in enumerate(problem[kind]):
            geom = spec.worldbody.add_geom(name=f"{kind}/{number}", pos=shape["position"])
            if kind == "box":
                geom.type, geom.size = mujoco.mjtGeom.mjGEOM_BOX, shape["half_extents"]
            elif kind == "cylinder":
                geom.type = mujoco.mjtGeom.mjGEOM_CYLINDER
                geom.size = (shape["radius"], shape["length"] / 2, 0.0)
            else:
                geom.size = (shape["radius"], 0.0, 0.0)
            if kind != "sphere":
                turn = Rotation.from_euler("xyz", shape["orientation_euler_xyz"])
                geom.quat = turn.as_quat(scalar_first=True)
    model = spec.compile()
    qpos = np.array(model.qpos0)
    robot = resolve(model)
    qpos[list(robot.arm_qpos)] = HOME_QPOS
    qpos[list(robot.finger_qpos)] = FINGER_OPEN_QPOS
    return World(model, robot, qpos, margin_m=margin_m)


def mbm_problems(
    path: Path, margin_m: float, effort: int, every: int, offset: int
) -> Iterator[tuple[str, Problem]]:
    """Yield the valid problems: joint goals, as they are given."""
    with gzip.open(path) as file:
        kinds = json.load(file)["problems"]
    for kind, problems in kinds.items():
        for problem in problems[offset::every]:
            if problem["valid"]:
                start, goals = (np.array(problem[key], np.float64) for key in ("start", "goals"))
                world = mbm_world(problem, margin_m)
                yield (
                    f"{kind} {problem['index']}",
                    Problem(world, start, goals, effort=effort, seed=problem["index"]),
                )


def task_problems(names: list[str], draws: int, effort: int) -> Iterator[tuple[str, Problem]]:
    """Yield every way that the expert looks for on draws of all tasks, levels 0 and 1; straight ones too."""
    from libero_safety.demo import segments
    from libero_safety.demo.expert import ExpertPolicy
    from libero_safety.rng import rng_for
    from libero_safety.sim.env import Env
    from libero_safety.suites import load_suite, suites
    from libero_safety.types import Key
    from libero_safety.ubddl.sample import sample

    asked: list[Problem] = []
    ways = segments.Segmenter._way

    def note(self, situation, keypose, world, tip, joints, goal, end):
        constraint = Upright(keypose.upright) if keypose.upright is not None else None
        if keypose.hinge:
            constraint = Hinge(*situation.hinge(keypose.hinge))
        elif keypose.straight:
            constraint = Straight()
        if not any(np.array_equal(p.start, joints) and np.array_equal(p.goals[0], end) for p in asked):
            asked.append(Problem(world.detached(), joints, end[None], constraint, effort))
        return ways(self, situation, keypose, world, tip, joints, goal, end)

    segments.Segmenter._way = note
    env, expert = Env(render=False), ExpertPolicy(tries=1)
    for suite in names or suites():
        for task in load_suite(suite).tasks:
            for level, index in [(level, index) for level in task.levels[:2] for index in range(draws)]:
                key = Key(suite, task.name, level, 0, index)
                env.reset(sample(task.scenario(level), key, env.catalog))
                expert.attach(env)
                expert.reset(task.name, rng_for(key, "expert"))
                asked.clear()
                expert.foresee()
                for number, problem in enumerate(asked):
                    yield f"{key} {number}", problem


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["tasks", "mbm"])
    parser.add_argument("problems", nargs="?", type=Path, help="of mbm: the file with the problems")
    parser.add_argument("--planner", action="append", help="which; give it twice to compare")
    parser.add_argument("--margin", type=float, default=0.0, help="clearance in mbm (m)")
    parser.add_argument("--effort", type=int, default=40_000, help="edges to look at in one problem")
    parser.add_argument("--suite", action="append", default=[], help="only this one; all by default")
    parser.add_argument("--verbose", action="store_true", help="say what was not solved")
    parser.add_argument("--draws", type=int, default=1, help="of each task and level")
    parser.add_argument("--every", type=int, default=1, help="take every so manieth problem of mbm")
    parser.add_argument("--offset", type=int, default=0, help="from this one on")
    given = parser.parse_args()
    if given.what == "mbm" and (given.problems is None or not given.problems.is_file()):
        print(f"skipped: the problems of MotionBenchMaker are not there ({given.problems})")
        return
    tallies = tallies_of(given.planner or (["tip"] if given.what == "tasks" else ["ompl", "roboplan"]))
    if not tallies:
        return
    if given.what == "mbm":
        problems = mbm_problems(given.problems, given.margin, given.effort, given.every, given.offset)
    else:
        problems = task_problems(given.suite, given.draws, given.effort)
    for number, (name, problem) in enumerate(problems):
        for tally in tallies:
            if number == 0:  # compiles what is compiled on first use
                tally.planner.plan(problem)
            said = tally.solve(problem)
            if said != "solved" and given.verbose:
                print(f"{name}: {tally.name}: {said}")
    print(table(tallies))


if __name__ == "__main__":
    main()
