"""The draws of an episode whose scenario is perturbed, with what the asset catalog offers for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from libero_safety.assets.catalog import Catalog
from libero_safety.assets.lighting import LIGHTINGS
from libero_safety.assets.looks import find_look, look_names
from libero_safety.data.strict_json import JsonValue
from libero_safety.types import Episode, Key
from libero_safety.ubddl.perturb import ATTEMPTS, MAY_OBSTRUCT, Perturbation, Perturbed, Stock, perturb_all
from libero_safety.ubddl.sample import Draw, PlacementError, sample
from libero_safety.ubddl.spec import Choice, Num, Scenario, Word
from libero_safety.ubddl.write import write


@dataclass(frozen=True)
class EpisodeDraw:
    """One random outcome of an episode's scene.

    Attributes:
        perturbed: what the perturbations did to the scenario; None without any.
    """

    draw: Draw
    perturbed: Perturbed | None = None

    def to_dict(self) -> dict[str, JsonValue]:
        """Return what a log holds: of a perturbed episode also its scenario, as text, and what is other in it."""
        log: dict[str, JsonValue] = self.draw.to_dict()
        if self.perturbed is not None:
            log["scenario"] = write(self.perturbed.scenario)
            log["perturbed"] = list(self.perturbed.changes)
            log["kept"] = list(self.perturbed.kept)
        return log


def draws(
    scenario: Scenario, key: Key, perturbations: Sequence[Perturbation], catalog: Catalog
) -> Iterator[EpisodeDraw]:
    """Yield the draw of an episode, and then, if perturbed, those to fall back on where its start is impossible.

    Raises:
        PlacementError: things do not fit; of a perturbed scenario, in the last draw that is yielded.
        LiberoSafetyError: see `sample`.
    """
    if not perturbations:
        yield EpisodeDraw(sample(scenario, key, catalog))
        return
    stock = stock_of(scenario, catalog)
    attempts = ATTEMPTS if any(wanted.axis in MAY_OBSTRUCT for wanted in perturbations) else 1
    for attempt in range(attempts):
        perturbed = perturb_all(scenario, perturbations, key, stock, attempt)
        try:
            draw = sample(perturbed.scenario, key, catalog)
        except PlacementError:
            if attempt == attempts - 1:
                raise
            continue
        yield EpisodeDraw(draw, perturbed)


def impossible(episode: Episode) -> bool:
    """Return whether an episode could not begin: a rule is broken at rest, or things are inside each other."""
    return not episode.steps and episode.error_class in ("scene", "unstable")


def stock_of(scenario: Scenario, catalog: Catalog) -> Stock:
    """Return what the catalog has for the perturbations of a scenario: looks and types of the split `test`."""
    arena = catalog.arena(scenario.arena)
    shown: dict[str, Word | Num] = dict(arena.looks)
    shown |= {look.part: look.value for look in scenario.looks if look.part in shown}
    types = {name for e in scenario.entities if e.kind == "object" for name in _options(e.type)}
    return Stock(
        geometry=catalog,
        half_m=arena.workspace_half,
        looks={part: _other_looks(part, _options(value)) for part, value in shown.items()},
        unseen={name: catalog.variants(name, "test") for name in types},
    )


def _other_looks(part: str, shown: Sequence[str]) -> list[str]:
    if part == "lighting":
        return [name for name, light in LIGHTINGS.items() if light.split == "test" and name not in shown]
    names = {find_look(part, word).name for word in shown}
    return [name for name in look_names(part, "test") if name not in names]


def _options(value: Word | Num) -> tuple[str, ...]:
    return tuple(map(str, value.options)) if isinstance(value, Choice) else (str(value),)
