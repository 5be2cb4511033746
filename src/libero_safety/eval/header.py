"""What a run's header says before the first episode."""

import hashlib
import re
from collections.abc import Iterable, Mapping

from libero_safety.assets.arenas import Arena
from libero_safety.assets.catalog import Catalog
from libero_safety.data.header import AssetStamp, RunConfig, RunHeader
from libero_safety.data.machine import git_revision, installed_versions, now, this_machine
from libero_safety.data.strict_json import JsonValue, plain
from libero_safety.eval.plan import EvalConfig, Plan, task_id
from libero_safety.eval.simulator import RunnerInfo
from libero_safety.ubddl.spec import Choice, Scenario

HIDDEN = "(hidden)"
_SECRET = re.compile(r"(^|_)(api_?key|token|password|secret)$", re.IGNORECASE)


def run_header(
    config: EvalConfig,
    plan: Plan,
    info: RunnerInfo,
    catalog: Catalog,
    selftest: Mapping[str, JsonValue] | None = None,
) -> RunHeader:
    """Return the header of a run that begins now.

    Policy options that are secrets by their name (`api_key`, `token`, `password`, `secret`, also as the end
    of a longer name) are stored as `(hidden)`, in the options and in the command line.
    """
    return RunHeader(
        created=now(),
        config=_run_config(config, plan),
        versions=installed_versions(),
        task_hashes={task_id(task): task.sha256 for task in plan.tasks},
        assets=_assets((job.scenario for job in plan.jobs), catalog),
        machine=this_machine(info.gl),
        git=git_revision(),
        selftest=selftest,
        privileged=info.privileged,
    )


def _run_config(config: EvalConfig, plan: Plan) -> RunConfig:
    secrets = {name: str(value) for name, value in config.policy_options.items() if _SECRET.search(name)}
    command = config.command
    for secret in filter(None, secrets.values()):
        command = command.replace(secret, HIDDEN)
    return RunConfig(
        suites=plan.suites,
        levels=tuple(sorted({job.key.level for job in plan.jobs})),
        tasks=tuple(dict.fromkeys(task.name for task in plan.tasks)),
        policy=config.policy,
        policy_options={
            name: HIDDEN if name in secrets else plain(value) for name, value in config.policy_options.items()
        },
        episodes=config.episodes,
        seeds=config.seeds,
        horizon=config.horizon,
        on_violation=config.on_violation,
        image_size=config.image_size,
        quality=config.quality,
        workers=config.workers,
        command=command,
    )


def _assets(scenarios: Iterable[Scenario], catalog: Catalog) -> dict[str, AssetStamp]:
    """Stamps of everything that the scenarios can hold: all options of a drawn type, and the arenas."""
    unique = {id(scenario): scenario for scenario in scenarios}.values()
    arenas = {scenario.arena: catalog.arena(scenario.arena) for scenario in unique}
    types: set[str] = set()
    for scenario in unique:
        for entity in scenario.entities:
            options = entity.type.options if isinstance(entity.type, Choice) else (entity.type,)
            types |= {str(option) for option in options} - set(arenas[scenario.arena].workspace_types)
    stamps = {f"arena/{name}": AssetStamp(_digest(arena), "MIT") for name, arena in sorted(arenas.items())}
    for name in sorted(types):
        asset = catalog.asset(name)
        stamps[name] = AssetStamp(asset.digest(), asset.licence)
    return stamps


def _digest(arena: Arena) -> str:
    return hashlib.sha256(repr(arena).encode()).hexdigest()[:16]
