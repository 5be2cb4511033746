"""A small kitchen for tests: a base text, and sizes made up for it."""

from pathlib import Path

from libero_safety.types import Footprint, Zone
from libero_safety.ubddl import Finding
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.spec import Scenario, Split

SHARED = Path(__file__).parents[3] / "shared"
HEAD = "(define (problem test) (:ubddl 1) (:arena kitchen)"
KITCHEN = {
    ":language": "(:language put the mug on the plate)",
    ":regions": """(:regions
      (left (:target table_1) (:ranges ((-0.2 -0.3 -0.1 -0.2))))
      (right (:target table_1) (:ranges ((-0.2 0.2 -0.1 0.3))))
      (far (:target table_1) (:ranges ((0.2 0 0.3 0.1)))))""",
    ":fixtures": "(:fixtures table_1 - kitchen_table stove_1 - flat_stove)",
    ":objects": "(:objects mug_1 - mug plate_1 - plate bottle_1 - bottle)",
    ":init": """(:init (On mug_1 table_1.left) (On plate_1 table_1.right) (On bottle_1 table_1.far)
      (On stove_1 table_1.back))""",
    ":goal": "(:goal (And (On mug_1 plate_1)))",
    ":constraints": "(:constraints (NoContact robot bottle_1))",
}
KITCHEN[":regions"] = KITCHEN[":regions"][:-1] + "(back (:target table_1) (:ranges ((0.2 -0.35 0.25 -0.3)))))"


def text(**sections: str) -> str:
    """Return the kitchen with some sections replaced or added (without the colon in the keyword)."""
    merged = KITCHEN | {f":{name}": value for name, value in sections.items()}
    return "\n".join([HEAD, *merged.values()]) + ")"


def scenario(**sections: str) -> Scenario:
    return parse(text(**sections)).at(0)


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


class Sizes:
    """Everything is a disc of 4 cm radius and 10 cm height, but for what `special` says."""

    def __init__(self, **special: Footprint) -> None:
        self.special = special

    def footprint(self, type_name: str) -> Footprint:
        return self.special.get(type_name, Footprint(0.04, -0.05, 0.05))

    def zone(self, type_name: str, zone: str) -> Zone | None:
        zones = {
            ("flat_stove", "burner"): Zone("burner", (0.02, 0.0, 0.06), (0.05, 0.05, 0.01), "surface"),
            ("cabinet", "inside"): Zone("inside", (0.0, 0.0, 0.0), (0.2, 0.06, 0.04), "inside"),
        }
        return zones.get((type_name, zone))

    def variants(self, type_name: str, split: Split) -> tuple[str, ...]:
        if type_name == "flat_stove":
            return (type_name,) if split == "train" else ()
        if "__" in type_name:
            return (type_name,)
        return (
            (type_name, f"{type_name}__1") if split == "train" else (f"{type_name}__100", f"{type_name}__101")
        )

    def workspace_type(self, arena: str) -> str:
        return "kitchen_table"

    def looks(self, arena: str) -> dict[str, tuple[str, ...]]:
        return {"table": ("oak", "marble", "slate"), "wall": ("white",), "lighting": ("day", "evening")}
