"""A laboratory: small scenes from a few lines of scenario text."""

from collections.abc import Callable, Sequence

import mujoco
import numpy as np
import pytest

from libero_safety.assets.catalog import default_catalog
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim.env import Env
from libero_safety.types import Key
from libero_safety.ubddl import parse
from libero_safety.ubddl.sample import Draw, sample


class Lab:
    """An environment without cameras, a scene, its rules, and hands to move things with."""

    def __init__(self, text: str, *, index: int = 0) -> None:
        scenario = parse(text, "lab").at(0)
        self.env = Env(default_catalog(), render=False)
        self.env.reset(sample(scenario, Key("lab", scenario.name, 0, 0, index), default_catalog()))
        self.start_monitors()

    @property
    def scene(self):
        return self.env.scene

    @property
    def data(self):
        return self.env.data

    def start_monitors(self) -> MonitorSet:
        self.monitors = MonitorSet(self.scene, self.data)
        self.env.hooks = [self.monitors]
        return self.monitors

    def put(self, name: str, pos: Sequence[float], quat: Sequence[float] = (1, 0, 0, 0)) -> None:
        """Teleport an object's root (world) and bring everything derived up to date."""
        entity = self.scene.entity(name)
        assert entity.qpos is not None
        assert entity.dof is not None
        self.data.qpos[entity.qpos : entity.qpos + 7] = [*pos, *quat]
        self.data.qvel[entity.dof : entity.dof + 6] = 0.0
        mujoco.mj_forward(self.scene.model, self.data)

    def pos(self, name: str) -> np.ndarray:
        return np.array(self.data.xpos[self.scene.entity(name).body])

    def link(self, name: str) -> np.ndarray:
        """World position of the last colliding geom of a robot link: of a finger, its pad."""
        return np.array(self.data.geom_xpos[self.scene.robot.link_geoms[name][-1]])

    def look(self) -> list[str]:
        """Check every rule now; return the names of the broken ones."""
        self.monitors.look(self.data)
        return [v.rule for v in self.monitors.violations]

    def act(self, action: Sequence[float], steps: int = 1) -> None:
        for _ in range(steps):
            self.env.step(np.array(action, dtype=float))

    def grasp(self, name: str) -> None:
        """Close the gripper on an object that is put between the fingers; gravity is off meanwhile."""
        gravity = np.array(self.scene.model.opt.gravity)
        self.scene.model.opt.gravity[:] = 0.0
        low, high = self.bounds(name)
        middle = np.add(low, high) / 2
        # The palm is about 4 cm above the grip site.
        self.put(name, self.env.eef_pose()[0] - (middle[0], middle[1], high[2] - 0.025))
        self.act([0, 0, 0, 0, 0, 0, 1], 15)
        self.scene.model.opt.gravity[:] = gravity

    def bounds(self, name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
        from libero_safety.assets.geometry import bounds

        asset = self.scene.entity(name).asset
        assert asset is not None
        return bounds(asset)


SCENE = """(define (problem lab) (:ubddl 1) (:arena tabletop) (:language do it)
  (:regions (a (:target main_table) (:ranges ((0.20 0.30 0.20 0.30))))
            (b (:target main_table) (:ranges ((0.20 -0.30 0.20 -0.30))))
            (c (:target main_table) (:ranges ((0.30 0.00 0.30 0.00))))
            (b_wide (:target main_table) (:ranges ((0.15 -0.35 0.25 -0.25))))
            (s (:target main_table) (:ranges ((-0.3 -0.45 -0.3 -0.45))))
            (k (:target main_table) (:ranges ((-0.1 0.45 -0.1 0.45))))
            (p (:target main_table) (:ranges ((0.05 0.15 0.05 0.15))))
            (q (:target main_table) (:ranges ((0.05 -0.15 0.05 -0.15))))
            (grip (:target main_table) (:ranges ((-0.2083 0.0 -0.2083 0.0)))))
  (:fixtures main_table - table {fixtures})
  (:objects can_1 - can_of_soda  soup_1 - alphabet_soup {objects})
  (:init (On can_1 main_table.a) (On soup_1 main_table.b) {init})
  (:goal {goal}) (:constraints {rules}) {more})"""


@pytest.fixture
def lab() -> Callable[..., Lab]:
    """Return a maker of laboratories: rules, goal, extra objects and sections as scenario text."""

    def make(
        rules: str = "",
        *,
        goal: str = "(Up can_1 1m)",
        objects: str = "",
        fixtures: str = "",
        init: str = "",
        more: str = "",
    ) -> Lab:
        return Lab(
            SCENE.format(rules=rules, goal=goal, objects=objects, fixtures=fixtures, init=init, more=more)
        )

    return make


@pytest.fixture
def draw() -> Callable[..., Draw]:
    """Return a maker of draws from the same scenario text, which nothing has been built from yet."""

    def make(rules: str = "", goal: str = "(Up can_1 1m)") -> Draw:
        text = SCENE.format(rules=rules, goal=goal, objects="", fixtures="", init="", more="")
        return sample(parse(text, "lab").at(0), Key("lab", "lab", 0, 0, 0), default_catalog())

    return make
