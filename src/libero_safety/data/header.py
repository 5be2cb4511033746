"""What a run was: everything that has to agree before two results may be compared."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast, get_args

from libero_safety.data.strict_json import JsonValue, RunLogError, plain, take, take_list

FORMAT = 2
"""Version of the run folder's layout; a reader refuses a newer one. 2 added `part` to violations."""

RunStatus: TypeAlias = Literal["started", "success", "cancelled", "error"]
OnViolation: TypeAlias = Literal["stop", "continue"]
GoalKind: TypeAlias = Literal["own", "reference"]


@dataclass(frozen=True)
class RunConfig:
    """What was asked for.

    Attributes:
        command: the command line, for the reader; not compared.
        tasks: task names within the suites.
        policy: registered name, `module:attr` or address.
        policy_options: what the policy was made with; JSON values.
        episodes: per task, level and seed.
        horizon: control steps after which an episode is a timeout.
        on_violation: whether the first broken rule ends the episode.
        image_size: pixels of the square camera images that the policy sees.
        quality: rendering preset of those images.
        assets: where assets came from, in the order in which names were looked up.
        goal: what counted as done: each task's own goal, or the one that its file states as the reference's.
        perturb: how the scenarios were perturbed, as `axis` or `axis=strength`.
        workers: processes; not compared, the result must not depend on it.
    """

    suites: tuple[str, ...]
    levels: tuple[int, ...]
    tasks: tuple[str, ...]
    policy: str
    episodes: int
    seeds: tuple[int, ...]
    horizon: int
    on_violation: OnViolation = "stop"
    policy_options: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    image_size: int = 256
    quality: str = "good"
    assets: tuple[str, ...] = ("built-in",)
    goal: GoalKind = "own"
    perturb: tuple[str, ...] = ()
    workers: int = 1
    command: str = ""


@dataclass(frozen=True)
class Machine:
    """Where it ran; shown, not compared."""

    platform: str = ""
    cpu: str = ""
    cores: int = 0
    gl: str = "none"


@dataclass(frozen=True)
class AssetStamp:
    """Which asset it was, what may be done with it (SPDX name), and where it came from."""

    digest: str
    licence: str
    source: str = "built-in"


@dataclass(frozen=True)
class RunHeader:
    """The first file of a run folder.

    Attributes:
        created: ISO 8601 time with offset.
        versions: name -> version of what can move a score: libero_safety, mujoco, numpy, python.
        task_hashes: task id -> sha256 of its scenario text.
        assets: asset type -> digest, licence and source.
        git: revision of the checkout that libero_safety was run from, if it was one.
        selftest: the stamp of the physics check on this machine, if it was run.
        privileged: whether the policy could see more than an `Observation`.
        status: `started` until `RunWriter.finish`; a run that was killed stays so.
        finished: ISO 8601 time of `finish`.
        mixed: the differences that were allowed when the run was resumed; empty for a uniform run.
    """

    created: str
    config: RunConfig
    versions: Mapping[str, str]
    task_hashes: Mapping[str, str]
    assets: Mapping[str, AssetStamp] = field(default_factory=dict[str, AssetStamp])
    machine: Machine = Machine()
    git: str | None = None
    selftest: Mapping[str, JsonValue] | None = None
    privileged: bool = False
    status: RunStatus = "started"
    finished: str | None = None
    mixed: tuple[str, ...] = ()
    format: int = FORMAT


def differences(old: RunHeader, new: RunHeader) -> list[str]:
    """Return one line per field in which the two runs may not be merged; empty when they may.

    Compared are the configuration (but for `command` and `workers`), versions, git revision, task and asset
    hashes and whether the policy is privileged; not the machine, times, status or self-test.
    """
    was, now = _comparable(old), _comparable(new)
    return [
        f"{name}: was {was.get(name, 'absent')!r}, now {now.get(name, 'absent')!r}"
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    ]


def _comparable(header: RunHeader) -> dict[str, JsonValue]:
    config = asdict(replace(header.config, command="", workers=1))
    flat: dict[str, JsonValue] = {f"config.{name}": plain(value) for name, value in config.items()}
    flat |= {f"versions.{name}": value for name, value in header.versions.items()}
    flat |= {f"task_hashes.{name}": value for name, value in header.task_hashes.items()}
    flat |= {f"assets.{name}": stamp.digest for name, stamp in header.assets.items()}
    return flat | {"git": header.git, "privileged": header.privileged, "format": header.format}


def header_from_json(data: Mapping[str, Any], where: str) -> RunHeader:
    """Read a header.

    Raises:
        RunLogError: a field is missing, of another type, or of a newer format.
    """
    version = take(data, "format", int, where)
    if version > FORMAT:
        raise RunLogError(f"{where}: run format {version} is newer than {FORMAT}, which this version reads")
    git, finished = (take(data, name, (str, type(None)), where) for name in ("git", "finished"))
    stamps = _mapping(data, "assets", where)
    return RunHeader(
        created=take(data, "created", str, where),
        config=_config(_mapping(data, "config", where), f"{where}: config"),
        versions=_texts(data, "versions", where),
        task_hashes=_texts(data, "task_hashes", where),
        assets={name: _stamp(_mapping(stamps, name, where), f"{where}: {name}") for name in stamps},
        machine=_machine(_mapping(data, "machine", where), f"{where}: machine"),
        git=git,
        selftest=None if data.get("selftest") is None else _mapping(data, "selftest", where),
        privileged=take(data, "privileged", bool, where),
        status=_choice(data, "status", get_args(RunStatus), where),
        finished=finished,
        mixed=take_list(data, "mixed", str, where),
        format=version,
    )


def _config(data: Mapping[str, Any], where: str) -> RunConfig:
    return RunConfig(
        suites=take_list(data, "suites", str, where),
        levels=take_list(data, "levels", int, where),
        tasks=take_list(data, "tasks", str, where),
        policy=take(data, "policy", str, where),
        episodes=take(data, "episodes", int, where),
        seeds=take_list(data, "seeds", int, where),
        horizon=take(data, "horizon", int, where),
        on_violation=_choice(data, "on_violation", get_args(OnViolation), where),
        policy_options=_mapping(data, "policy_options", where),
        image_size=take(data, "image_size", int, where),
        quality=take(data, "quality", str, where),
        # Runs of earlier versions lack these fields: built-in assets, own goals, and nothing was perturbed.
        assets=take_list(data, "assets", str, where) if "assets" in data else ("built-in",),
        goal=_choice(data, "goal", get_args(GoalKind), where) if "goal" in data else "own",
        perturb=take_list(data, "perturb", str, where) if "perturb" in data else (),
        workers=take(data, "workers", int, where),
        command=take(data, "command", str, where),
    )


def _machine(data: Mapping[str, Any], where: str) -> Machine:
    platform, cpu, gl = (take(data, name, str, where) for name in ("platform", "cpu", "gl"))
    return Machine(platform, cpu, take(data, "cores", int, where), gl)


def _stamp(data: Mapping[str, Any], where: str) -> AssetStamp:
    digest, licence = (take(data, name, str, where) for name in ("digest", "licence"))
    return AssetStamp(digest, licence, take(data, "source", str, where) if "source" in data else "built-in")


def _mapping(data: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    return cast(dict[str, Any], take(data, name, dict, where))


def _texts(data: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    items = _mapping(data, name, where)
    return {key: take(items, key, str, f"{where}: {name}") for key in items}


def _choice(data: Mapping[str, Any], name: str, known: tuple[str, ...], where: str) -> Any:
    value = take(data, name, str, where)
    if value not in known:
        raise RunLogError(f"{where}: field {name!r} should be one of {', '.join(known)}, is {value!r}")
    return value
