"""Scenes by the thousand: distinct, valid draws over suites and levels, written with a manifest."""

import hashlib
import json
import multiprocessing
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import count as count_up
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from libero_safety.data.machine import installed_versions
from libero_safety.errors import LiberoSafetyError
from libero_safety.rollout import refuse_invalid_start
from libero_safety.safety.monitor import MonitorSet
from libero_safety.sim import contact
from libero_safety.sim.env import Env
from libero_safety.sim.scene import Scene
from libero_safety.suites import Task, load_suite
from libero_safety.types import Key
from libero_safety.ubddl.sample import Draw, sample

MANIFEST, SCENES, REJECTS = "manifest.json", "scenes.jsonl", "rejects.jsonl"
BATCH = 16
"""Scenes that one process makes before it reports."""
SETTLE_MOVE_M = 0.02
"""A thing that moves further than this while the scene settles was not placed at rest."""


class ScenesError(LiberoSafetyError):
    """A scene folder that cannot be made, resumed or read."""


@dataclass(frozen=True)
class SceneRecord:
    """One valid scene.

    Attributes:
        key: its identity.
        draw: every random outcome, as `Draw.to_dict` writes it.
        state_hash: what `validate` returned.
    """

    key: Key
    draw: Mapping[str, Any]
    state_hash: str


@dataclass(frozen=True)
class SceneReject:
    """A draw that gave no valid scene, and why."""

    key: Key
    why: str


@dataclass(frozen=True)
class ScenesSummary:
    """What was made: valid scenes in the folder, rejected draws, and scenes per second of this call."""

    valid: int
    rejected: int
    per_second: float


def plan_scenes(suites: Sequence[str], levels: Sequence[int], seed: int, start: int = 0) -> Iterator[Key]:
    """Yield keys for ever: every task at every level, then the next index."""
    tasks = [task for name in suites for task in load_suite(name).tasks]
    pairs = [(task, level) for task in tasks for level in task.levels if not levels or level in levels]
    if not pairs:
        raise ScenesError(f"no task of {', '.join(suites)} has any of the levels {list(levels)}")
    index = 0
    while True:
        for task, level in pairs:
            if start <= 0:
                yield Key(task.suite, task.name, level, seed, index)
            start -= 1
        index += 1


def validate(env: Env, draw: Draw) -> str:
    """Build a draw, settle it, and return a hash (hexadecimal) of its state and of where everything fixed stands.

    Raises:
        LiberoSafetyError: it cannot be built, something was not placed at rest, a rule is broken or the goal holds.
    """
    env.hooks = []
    env.reset(draw)
    _refuse_unrest(env)
    scene = env.scene
    refuse_invalid_start(env, MonitorSet(scene, env.data))
    fixed = scene.model.body_pos.tobytes() + scene.model.body_quat.tobytes() + scene.model.geom_size.tobytes()
    return hashlib.sha256(fixed + env.state_hash().to_bytes(8, "little")).hexdigest()[:16]


def _refuse_unrest(env: Env) -> None:
    """Raise ScenesError if something was not placed at rest; what is in a vessel may shift in it."""
    scene = env.scene
    prescribed = {hazard.entity for hazard in scene.hazards}
    contained = _contained(scene)
    for entity in scene.entities.values():
        if entity.qpos is None or entity.name in prescribed:
            continue
        moved = env.data.qpos[entity.qpos : entity.qpos + 3] - scene.start[entity.qpos : entity.qpos + 3]
        distance_m = float(np.linalg.norm(moved))
        if entity.name in contained:
            if contact.touching(scene.model, env.data, entity.geoms, scene.geoms("workspace")):
                raise ScenesError(f"{scene.draw.key}: {entity.name} fell out while settling")
        elif distance_m > SETTLE_MOVE_M:
            raise ScenesError(f"{scene.draw.key}: {entity.name} moved {distance_m:.3f} m while settling")


def _contained(scene: Scene) -> set[str]:
    """Return what was put into something, and what was put on such things."""
    supports = {
        f.args[0]: (f.word, f.args[1].partition(".")[0]) for f in scene.scenario.init if len(f.args) == 2
    }
    names: set[str] = set()
    for _ in supports:  # as deep as the highest pile
        names |= {name for name, (word, under) in supports.items() if word == "In" or under in names}
    return names


def make_scenes(
    out: Path,
    count: int,
    *,
    suites: Sequence[str],
    levels: Sequence[int] = (),
    seed: int = 0,
    workers: int = 1,
) -> ScenesSummary:
    """Write `count` valid, distinct scenes to a folder; goes on where an earlier call with the same plan stopped.

    Raises:
        ScenesError: the folder holds scenes of another plan, or something else.
    """
    plan = {"suites": list(suites), "levels": list(levels), "seed": seed, "versions": installed_versions()}
    records, rejects = _open(out, plan)
    seen = {_fingerprint(r.draw) for r in records}
    started, before = time.perf_counter(), len(records)
    keys = plan_scenes(suites, levels, seed, start=len(records) + len(rejects))
    with (out / SCENES).open("a") as scenes_file, (out / REJECTS).open("a") as rejects_file:
        produced = _produce(tuple(suites), keys, workers) if len(records) < count else iter(())
        for found in produced:
            if isinstance(found, SceneRecord) and _fingerprint(found.draw) in seen:
                found = SceneReject(found.key, "the same scene as an earlier one")
            if isinstance(found, SceneReject):
                rejects.append(found)
                rejects_file.write(json.dumps(asdict(found)) + "\n")
            else:
                records.append(found)
                seen.add(_fingerprint(found.draw))
                scenes_file.write(json.dumps(asdict(found)) + "\n")
            scenes_file.flush()
            rejects_file.flush()
            if len(records) >= count:
                break
    elapsed = time.perf_counter() - started
    summary = ScenesSummary(len(records), len(rejects), (len(records) - before) / max(elapsed, 1e-9))
    _write_manifest(out, plan, records, rejects)
    return summary


def read_scenes(folder: Path) -> list[SceneRecord]:
    """Return the scenes of a folder.

    Raises:
        ScenesError: there are none, or a line cannot be read.
    """
    path = folder / SCENES
    if not path.is_file():
        raise ScenesError(f"{folder} holds no scenes: {SCENES} is missing")
    return [SceneRecord(_key(line), line["draw"], line["state_hash"]) for line in _lines(path)]


def recheck(folder: Path) -> Iterator[tuple[Key, str | None]]:
    """Rebuild every scene of a folder; yield its key and what is wrong with it, or None.

    Raises:
        ScenesError: the folder holds no scenes.
    """
    records = read_scenes(folder)
    suites = tuple(json.loads((folder / MANIFEST).read_text())["plan"]["suites"])
    env = _env()
    for record in records:
        yield record.key, _wrong(record, suites, env)


def _wrong(record: SceneRecord, suites: tuple[str, ...], env: Env) -> str | None:
    try:
        task = _tasks(suites)[record.key.suite, record.key.task]
        draw = Draw.from_dict(task.scenario(record.key.level), record.draw)
        found = validate(env, draw)
    except KeyError:
        return f"{record.key}: no such task any more"
    except LiberoSafetyError as error:
        return str(error)
    return (
        None
        if found == record.state_hash
        else f"{record.key}: settles differently (state {found}, was {record.state_hash})"
    )


def _produce(
    suites: tuple[str, ...], keys: Iterator[Key], workers: int
) -> Iterator[SceneRecord | SceneReject]:
    """Yield an outcome per key, in the order of the keys, whatever the number of processes."""
    batches = (list(islice(keys, BATCH)) for _ in count_up())
    if workers == 1:
        for batch in batches:
            yield from _make_batch(suites, batch)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        pending = deque(pool.submit(_make_batch, suites, next(batches)) for _ in range(2 * workers))
        try:
            while True:
                yield from pending.popleft().result()
                pending.append(pool.submit(_make_batch, suites, next(batches)))
        finally:
            for future in pending:
                future.cancel()


def _make_batch(suites: tuple[str, ...], keys: Sequence[Key]) -> list[SceneRecord | SceneReject]:
    env = _env()
    results: list[SceneRecord | SceneReject] = []
    for key in keys:
        task = _tasks(suites)[key.suite, key.task]
        try:
            draw = sample(task.scenario(key.level), key, env.catalog)
            results.append(SceneRecord(key, draw.to_dict(), validate(env, draw)))
        except LiberoSafetyError as error:
            results.append(SceneReject(key, str(error)))
    return results


@cache
def _env() -> Env:
    """One environment per process."""
    return Env(render=False)


@cache
def _tasks(suites: tuple[str, ...]) -> dict[tuple[str, str], Task]:
    loaded = [load_suite(name) for name in suites]
    return {(suite.name, task.name): task for suite in loaded for task in suite.tasks}


def _fingerprint(draw: Mapping[str, Any]) -> str:
    """Return a hash of what is in a draw, without its identity."""
    content = {name: value for name, value in draw.items() if name != "key"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _open(out: Path, plan: dict[str, Any]) -> tuple[list[SceneRecord], list[SceneReject]]:
    """Make the folder, or read what an earlier call left in it."""
    manifest = out / MANIFEST
    try:
        if not out.exists() or not any(out.iterdir()):
            out.mkdir(parents=True, exist_ok=True)
            manifest.write_text(json.dumps({"plan": plan}, indent=1))
            return [], []
        if not manifest.is_file():
            raise ScenesError(f"{out} is not empty and holds no scenes: choose another folder")
        old = json.loads(manifest.read_text())["plan"]
    except OSError as error:
        raise ScenesError(f"{out}: {error.strerror}") from error
    different = [
        f"{name}: was {old.get(name)}, now {plan[name]}" for name in plan if old.get(name) != plan[name]
    ]
    if different:
        raise ScenesError(
            f"{out} holds scenes of another plan ({'; '.join(different)}): choose another folder"
        )
    records = read_scenes(out) if (out / SCENES).is_file() else []
    rejects = [SceneReject(_key(line), line["why"]) for line in _lines(out / REJECTS)]
    return records, rejects


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file; a last line that a kill cut short is dropped from it."""
    if not path.is_file():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def _key(line: Mapping[str, Any]) -> Key:
    return Key(**line["key"])


def _write_manifest(
    out: Path, plan: dict[str, Any], records: Sequence[SceneRecord], rejects: Sequence[SceneReject]
) -> None:
    per_level = Counter(f"{r.key.suite} L{r.key.level}" for r in records)
    content = {
        "plan": plan,
        "valid": len(records),
        "rejected": len(rejects),
        "per_suite_and_level": dict(sorted(per_level.items())),
        "sha256": hashlib.sha256((out / SCENES).read_bytes()).hexdigest(),
    }
    (out / MANIFEST).write_text(json.dumps(content, indent=1))
