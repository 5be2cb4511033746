"""What the expert decided in one episode: values that are stored beside a demonstration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from libero_safety.demo.rejects import ReasonName


@dataclass(frozen=True)
class Failure:
    """Why there is no demonstration.

    Attributes:
        reason: a name in `rejects.REASONS`.
        stage: name of the keypose on the way to which it happened; empty before the first.
        detail: in words, with the names of what is concerned.
    """

    reason: ReasonName
    stage: str
    detail: str


@dataclass(frozen=True)
class StageReport:
    """One motion without a stop, as it was planned and carried out.

    Attributes:
        name: the keypose at its end.
        planner: what found the way: `straight` or the name of a planner.
        plan_s: seconds of planning and timing, those of replanning included.
        margin_m: clearance to protected things that the motion was planned with.
        steps: control steps that it took, the gripper's included.
        waited_steps: control steps among them spent waiting for a moving hazard.
        replans: how often it was planned again.
        tracking_error_m: largest distance between where the tip was and where it should have been.
    """

    name: str
    planner: str
    plan_s: float
    margin_m: float
    steps: int
    waited_steps: int = 0
    replans: int = 0
    tracking_error_m: float = 0.0


@dataclass(frozen=True)
class ExpertReport:
    """Everything that the expert decided in one episode.

    Attributes:
        variants: keypose name -> id of the variant that was drawn for it.
        seed: of the random planners.
        stages: in the order in which they were carried out; the last may be unfinished.
        failure: why it gave up, if it did.
    """

    variants: Mapping[str, int] = field(default_factory=dict[str, int])
    seed: int = 0
    stages: tuple[StageReport, ...] = ()
    failure: Failure | None = None

    @property
    def plan_s(self) -> float:
        """Seconds of planning and timing."""
        return sum(stage.plan_s for stage in self.stages)

    @property
    def tracking_error_m(self) -> float:
        """Largest distance between where the tip was and where it should have been."""
        return max((stage.tracking_error_m for stage in self.stages), default=0.0)

    @property
    def margin_m(self) -> float:
        """Smallest clearance that any motion was planned with."""
        return min((stage.margin_m for stage in self.stages), default=0.0)
