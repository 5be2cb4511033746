"""A benchmark of physical and semantic safety for vision-language-action robot policies.

The public names below are imported when they are first used: `import libero_safety` does no work.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from libero_safety.assets.catalog import Catalog as Catalog
    from libero_safety.assets.catalog import default_catalog as default_catalog
    from libero_safety.data.runlog import Run as Run
    from libero_safety.data.runlog import read_run as read_run
    from libero_safety.errors import LiberoSafetyError as LiberoSafetyError
    from libero_safety.eval.plan import EvalConfig as EvalConfig
    from libero_safety.eval.report import write_report as write_report
    from libero_safety.eval.runner import evaluate as evaluate
    from libero_safety.gym_env import SafetyEnv as SafetyEnv
    from libero_safety.policy.load import make_policy as make_policy
    from libero_safety.rng import rng_for as rng_for
    from libero_safety.rollout import RolloutConfig as RolloutConfig
    from libero_safety.rollout import run_episode as run_episode
    from libero_safety.safety.monitor import MonitorSet as MonitorSet
    from libero_safety.sim.env import Env as Env
    from libero_safety.suites import Task as Task
    from libero_safety.suites import find_task as find_task
    from libero_safety.suites import load_suite as load_suite
    from libero_safety.types import Episode as Episode
    from libero_safety.types import Key as Key
    from libero_safety.types import Observation as Observation
    from libero_safety.types import Policy as Policy
    from libero_safety.types import Trace as Trace
    from libero_safety.types import Violation as Violation
    from libero_safety.ubddl.parse import parse as parse
    from libero_safety.ubddl.parse import parse_file as parse_file
    from libero_safety.ubddl.sample import Draw as Draw
    from libero_safety.ubddl.sample import sample as sample
    from libero_safety.ubddl.spec import Scenario as Scenario
    from libero_safety.ubddl.write import write as write

_HOMES = {
    "assets.catalog": ("Catalog", "default_catalog"),
    "data.runlog": ("Run", "read_run"),
    "errors": ("LiberoSafetyError",),
    "eval.plan": ("EvalConfig",),
    "eval.report": ("write_report",),
    "eval.runner": ("evaluate",),
    "gym_env": ("SafetyEnv",),
    "policy.load": ("make_policy",),
    "rng": ("rng_for",),
    "rollout": ("RolloutConfig", "run_episode"),
    "safety.monitor": ("MonitorSet",),
    "sim.env": ("Env",),
    "suites": ("Task", "find_task", "load_suite"),
    "types": ("Episode", "Key", "Observation", "Policy", "Trace", "Violation"),
    "ubddl.parse": ("parse", "parse_file"),
    "ubddl.sample": ("Draw", "sample"),
    "ubddl.spec": ("Scenario",),
    "ubddl.write": ("write",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'libero_safety' has no attribute {name!r}")
    return getattr(importlib.import_module(f"libero_safety.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
