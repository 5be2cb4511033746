"""What a control step, a picture and a reset are made of, in processor time.

    python benchmarks/costs.py

The scene is `libero_spatial_0.ubddl` with a rule on everything; the arm moves at random. Processor time, because it
hardly depends on what else the machine does; a picture uses several processors at once.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import mujoco
from subject import random_actions

from libero_safety.assets.catalog import default_catalog
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.compose import ModelCache, build_scene
from libero_safety.sim.env import IDLE_ACTION, Env, SubstepHook
from libero_safety.sim.vision import QUALITIES, Vision, gl_backend
from libero_safety.types import SETTLE_STEPS, SUBSTEPS, Key
from libero_safety.ubddl import parse
from libero_safety.ubddl.sample import Draw, sample
from libero_safety.ubddl.words import CAMERAS

SCENE = Path(__file__).with_name("libero_spatial_0.ubddl")


def cost_ms(work: Callable[[], object], repeats: int) -> float:
    """Median processor time (ms)."""
    samples: list[float] = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        samples.append(1e3 * (time.process_time() - begun))
    return median(samples)


def step_costs(env: Env, draw: Draw, steps: int) -> dict[str, float]:
    """Return the parts of a control step (ms)."""
    hooks: dict[str, Callable[[], list[SubstepHook]]] = {
        "physics and controller": list,
        "with all rules": lambda: [MonitorSet(env.scene, env.data)],
    }
    costs: dict[str, float] = {}
    for name, make in hooks.items():
        env.reset(draw)
        env.hooks = make()
        actions = iter(random_actions(steps, 0))
        costs[name] = cost_ms(lambda actions=actions: env.step(next(actions)), steps)
    rules = costs.pop("with all rules") - costs["physics and controller"]
    costs[f"{len(env.scenario.constraints)} rules, {SUBSTEPS} times"] = rules
    monitors = MonitorSet(env.scene, env.data)
    costs["observation without images"] = cost_ms(lambda: env.observe(images=False), steps)
    costs["goal"] = cost_ms(env.goal_reached, steps)
    costs["clearance for the trace"] = cost_ms(lambda: monitors.clearance_m(env.data), steps)
    costs["hash for the trace"] = cost_ms(env.state_hash, steps)
    return costs


MOTIONS = {
    "a thing that stands": "",
    "a thing held in the air": "(:motion still)",
    "it goes to and fro": "(:motion line) (:direction (0 1 0)) (:travel 5cm) (:period 6s)",
    "it trembles": "(:motion still) (:jitter (:amplitude 3mm) (:frequency 2Hz))",
    "it draws back within 10 cm": "(:motion still) (:withdraw (:closer_than 10cm) {back})",
    "it draws back within 16 cm": "(:motion still) (:withdraw (:closer_than 16cm) {back})",
}
"""What one thing in the air does, as a scenario says it."""


def motion_costs(env: Env, steps: int) -> dict[str, float]:
    """Return what a control step without rules takes (ms) while one thing moves; the arm stays put."""
    text = SCENE.read_text(encoding="utf-8").rstrip().removesuffix(")")
    back = "(:direction (0 0 1)) (:travel 20cm) (:speed 0.3m/s)"
    costs: dict[str, float] = {}
    for name, motion in MOTIONS.items():
        more = f"(akita_black_bowl_2 {motion.format(back=back)} (:height 10cm))" if motion else ""
        scenario = parse(f"{text} (:dynamics {more}))", str(SCENE)).at(0)
        env.hooks = []
        env.reset(sample(scenario, Key("benchmark", scenario.name, 0, 0, 0), env.catalog))
        costs[name] = cost_ms(lambda: env.step(IDLE_ACTION), steps)
    return costs


def reset_costs(env: Env, draw: Draw, repeats: int) -> dict[str, float]:
    """Return the parts of a reset (ms)."""
    cache = ModelCache()
    compiled = cost_ms(lambda: build_scene(draw, env.catalog), repeats)
    build = cost_ms(lambda: build_scene(draw, env.catalog, cache), repeats)
    unsettled = cost_ms(lambda: env.reset(draw, settle_steps=0), repeats)
    settled = cost_ms(lambda: env.reset(draw), repeats)
    return {
        "drawing the layout": cost_ms(lambda: sample(env.scenario, draw.key, env.catalog), repeats),
        "building the scene, its model compiled": compiled,
        "building the scene, its model kept": build,
        "goal, controller, first contacts": unsettled - build,
        f"{SETTLE_STEPS} settling steps": settled - unsettled,
        "a whole reset, its model kept": settled,
        "rules": cost_ms(lambda: MonitorSet(env.scene, env.data), repeats),
    }


def picture_costs(model: mujoco.MjModel, data: mujoco.MjData, repeats: int) -> dict[str, float]:
    """Return what two 256 x 256 pictures cost at each quality (ms)."""
    costs: dict[str, float] = {}
    for quality in QUALITIES:
        with Vision(quality=quality) as vision:  # type: ignore[arg-type]
            costs[f"`{quality}`: load the scene"] = cost_ms(lambda v=vision: v.load(model), repeats)
            names = [CAMERAS[0], f"robot/{CAMERAS[1]}"]
            vision.render(data, names[0])
            costs[f"`{quality}`: two pictures"] = cost_ms(
                lambda v=vision, names=names: [v.render(data, name) for name in names], repeats
            )
    return costs


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    env = Env(default_catalog(), render=False)
    scenario = parse(SCENE.read_text(encoding="utf-8"), str(SCENE)).at(0)
    draw = sample(scenario, Key("benchmark", scenario.name, 0, 0, 0), env.catalog)
    tables = {"a control step": step_costs(env, draw, options.steps)}
    tables["a control step with something that moves"] = motion_costs(env, options.steps)
    env.reset(draw)
    tables["a reset"] = reset_costs(env, draw, options.repeats)
    if gl_backend().ok:
        tables["pictures"] = picture_costs(env.scene.model, env.data, options.repeats)
    for title, costs in tables.items():
        print(f"| {title} | ms |\n|---|--:|")
        print("\n".join(f"| {name} | {cost:.3g} |" for name, cost in costs.items()), end="\n\n")


if __name__ == "__main__":
    main()
