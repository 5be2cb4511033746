"""The scenario language: reading, writing, checking and drawing scenarios; imports no simulator."""

from libero_safety.ubddl.lint import lint, lint_file
from libero_safety.ubddl.parse import parse, parse_file
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.sample import Draw, Geometry, PlacementError, sample
from libero_safety.ubddl.spec import Finding, Scenario
from libero_safety.ubddl.template import Template
from libero_safety.ubddl.write import write

__all__ = [
    "Draw",
    "Finding",
    "Geometry",
    "PlacementError",
    "Scenario",
    "Template",
    "UbddlError",
    "lint",
    "lint_file",
    "parse",
    "parse_file",
    "sample",
    "write",
]
