"""What a run's header says before the first episode."""

import hashlib
import re
from collections.abc import Mapping

from libero_safety.assets.arenas import Arena
from libero_safety.assets.catalog import Catalog
from libero_safety.data.header import AssetStamp, RunConfig, RunHeader
from libero_safety.data.machine import git_revision, installed_versions, now, this_machine
from libero_safety.data.strict_json import JsonValue, plain
from libero_safety.eval.perturbed import stock_of
from libero_safety.eval.plan import EvalConfig, Plan, task_id
from libero_safety.eval.simulator import RunnerInfo
from libero_safety.ubddl.sample import variants_of

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
        assets=_assets(config, plan, catalog),
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
        assets=config.assets,
        goal=config.goal,
        perturb=config.perturb,
        workers=config.workers,
        command=command,
    )


def _assets(config: EvalConfig, plan: Plan, catalog: Catalog) -> dict[str, AssetStamp]:
    """Stamps of everything that the episodes can hold: all options of a drawn type, and the arenas."""
    unique = {id(job.scenario): job.scenario for job in plan.jobs}.values()
    arenas = {scenario.arena: catalog.arena(scenario.arena) for scenario in unique}
    unseen = any(wanted.axis == "unseen" for wanted in config.perturbations)
    types: set[str] = set()
    for scenario in unique:
        for entity in scenario.entities:
            types |= set(variants_of(entity, catalog)) - set(arenas[scenario.arena].workspace_types)
        if unseen:
            types |= {name for names in stock_of(scenario, catalog).unseen.values() for name in names}
    stamps = {f"arena/{name}": AssetStamp(_digest(arena), "MIT") for name, arena in sorted(arenas.items())}
    for name in sorted(types):
        asset = catalog.asset(name)
        stamps[name] = AssetStamp(asset.digest(), asset.licence, asset.source)
    return stamps


def _digest(arena: Arena) -> str:
    return hashlib.sha256(repr(arena).encode()).hexdigest()[:16]
