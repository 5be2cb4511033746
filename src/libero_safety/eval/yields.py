"""What came of draws: demonstrations, or reasons why there are none."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from libero_safety.data.demos import Demos
from libero_safety.eval.statistics import Rate, rate
from libero_safety.types import Key

LEAST_YIELD = 0.2
"""A task at a level whose draws give fewer demonstrations than this is given up once that is clear."""
CLEAR_AFTER = 20
"""Draws after which a yield is clear."""

Config: TypeAlias = tuple[str, str, int]
"""Suite, task and level."""


def config_of(key: Key) -> Config:
    """Return the task and level of an episode."""
    return key.suite, key.task, key.level


@dataclass
class Yield:
    """What came of the draws of one task at one level.

    Attributes:
        demos: draws that gave a demonstration.
        reasons: reject reason -> draws.
    """

    demos: int = 0
    reasons: Counter[str] = field(default_factory=Counter[str])

    @property
    def draws(self) -> int:
        """All draws."""
        return self.demos + self.reasons.total()

    @property
    def rate(self) -> Rate:
        """Share of draws that gave a demonstration, with its interval."""
        return rate(self.demos, self.draws)

    @property
    def share(self) -> float:
        """Share of draws that gave a demonstration; NaN without draws."""
        return self.rate.value

    @property
    def hopeless(self) -> bool:
        """Whether it is clear that too few draws will do."""
        return self.draws >= CLEAR_AFTER and self.share < LEAST_YIELD


def yields(demos: Demos) -> dict[Config, Yield]:
    """Return what came of the draws of each task at each level."""
    found: dict[Config, Yield] = {}
    for record in demos.demos:
        found.setdefault(config_of(record.key), Yield()).demos += 1
    for record in demos.rejects:
        found.setdefault(config_of(record.key), Yield()).reasons[record.reason] += 1
    return dict(sorted(found.items()))


def yield_lines(demos: Demos) -> list[str]:
    """Return a table: for each task and level the draws, demonstrations, their share, and the reject reasons."""
    lines = [f"{'task':<72} level draws demos yield  rejects"]
    for (suite, task, level), found in yields(demos).items():
        reasons = ", ".join(f"{count} {reason}" for reason, count in found.reasons.most_common())
        name = f"{suite}/{task}"
        lines.append(
            f"{name[:72]:<72} L{level:<4} {found.draws:>5} {found.demos:>5} {found.share:>5.0%}  {reasons}"
        )
    total = Counter(record.reason for record in demos.rejects)
    lines.append(f"{len(demos.demos)} demonstrations of {len(demos.done())} draws")
    lines += [f"  {count} rejected: {reason}" for reason, count in total.most_common()]
    return lines
