"""Pictures of logged episodes: the scene is rebuilt from the log, nothing is simulated again."""

from collections.abc import Sequence

from libero_safety.assets.catalog import Catalog, catalog_of
from libero_safety.data.runlog import Record, Run
from libero_safety.errors import LiberoSafetyError
from libero_safety.sim.env import Env
from libero_safety.suites import Task, load_suite
from libero_safety.types import Episode, ImageArray, Key
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.sample import Draw


class ChangedTaskError(LiberoSafetyError):
    """A logged episode whose scenario file is no longer the one that was run."""


def run_tasks(run: Run) -> dict[tuple[str, str], Task]:
    """Return the tasks of a run by (suite name, task name).

    Raises:
        SuiteError: a suite of the run is not there any more.
    """
    suites = [load_suite(name) for name in run.header.config.suites]
    return {(suite.name, task.name): task for suite in suites for task in suite.tasks}


def logged_draw(run: Run, record: Record) -> Draw:
    """Return the draw of a logged episode: what was drawn then, whatever the sampler does now.

    Raises:
        ChangedTaskError: the scenario file is gone or differs from the one that was run.
    """
    key = record.key
    task = run_tasks(run).get((key.suite, key.task))
    if task is None:
        raise ChangedTaskError(f"{key}: the suite has no task {key.task!r} any more")
    stored = run.header.task_hashes.get(f"{key.suite}/{key.task}")
    if stored is not None and stored != task.sha256:
        raise ChangedTaskError(
            f"{key}: {task.path} has changed since the run (sha256 {task.sha256[:12]}, was {stored[:12]})"
        )
    scenario = task.scenario(key.level)
    if "scenario" in record.draw:  # a perturbed one
        scenario = parse(str(record.draw["scenario"]), str(key)).at(key.level)
    return Draw.from_dict(scenario, record.draw)


class RunFrames:
    """Frames of the episodes of one run, drawn from their recorded positions."""

    def __init__(self, run: Run, catalog: Catalog | None = None, camera: str = "agentview") -> None:
        self._run = run
        self._records = {record.key: record for record in run.records}
        self._camera = camera
        self._env = Env(catalog or catalog_of(run.header.config.assets))
        self._shown: Key | None = None

    def frames(
        self, episode: Episode, steps: Sequence[int], size: tuple[int, int]
    ) -> list[ImageArray] | None:
        """Return one (height, width, 3) image per control step asked for; None for an episode without a trace.

        Raises:
            NoGLError: no off-screen GL library is installed.
        """
        if episode.trace is None:
            return None
        if self._shown != episode.key:
            self._env.reset(logged_draw(self._run, self._records[episode.key]), settle_steps=0)
            self._shown = episode.key
        last = len(episode.trace.qpos) - 1
        images: list[ImageArray] = []
        for step in steps:
            self._env.show(episode.trace.qpos[min(step, last)])
            images.append(self._env.image(self._camera, size, clean=True))
        return images

    def close(self) -> None:
        """Free what rendering holds."""
        self._env.close()
