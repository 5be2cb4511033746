"""The example of the page on planners does what the page says."""

import re
import sys
from pathlib import Path as File
from types import ModuleType

import numpy as np
import pytest

from libero_safety.plan.ompl import OmplPlanner
from libero_safety.plan.planners import PLANNERS, make_planner
from libero_safety.plan.problem import Path, PlanFailed, Problem
from libero_safety.sim.robot import HOME_QPOS

PAGE = (File(__file__).parents[2] / "docs" / "planners.md").read_text()


def side(angle: float) -> np.ndarray:
    joints = np.array(HOME_QPOS)
    joints[0] = angle
    return joints


def test_the_example(walled, among, monkeypatch):
    planner, use = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    module = ModuleType("my_planners")
    exec(compile(planner, "planners.md", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "my_planners", module)
    scope: dict = {}
    exec(compile(use, "planners.md", "exec"), scope)
    path = scope["planner"].plan(Problem(walled, side(0.45), side(-0.45)[None]))
    assert isinstance(path, Path), path
    assert len(path.joints) == 3
    high = among([((0.55, 0.0, 0.2), (0.2, 0.02, 0.2)), ((0.5, 0.0, 0.9), (0.3, 0.3, 0.02))])
    failed = make_planner("my_planners:Detour").plan(Problem(high, side(0.45), side(-0.45)[None]))
    assert isinstance(failed, PlanFailed)
    assert "box_" in failed.detail


def test_the_page_names_every_planner_option_and_reason():
    for name in PLANNERS.names():
        assert f"| `{name}` |" in PAGE, name
    pytest.importorskip("ompl")
    defaults = OmplPlanner.__init__.__kwdefaults__
    assert defaults is not None
    for option, value in defaults.items():
        assert f"| `{option}` | {value} |" in PAGE, option
    for reason in re.findall(r"`([a-z_]+)`", PlanFailed.__doc__ or ""):
        assert f"`{reason}`" in PAGE, reason
