"""The specification page is tested: its examples read, its tables are complete."""

import ast
import re
from pathlib import Path

import pytest
from ubddl_frame import HEAD

import libero_safety.ubddl as package
from libero_safety.ubddl import parse, words, write
from libero_safety.ubddl.motion import KINDS
from libero_safety.ubddl.parse import LEVEL_SECTIONS, TOP_SECTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "ubddl.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```(ubddl|bddl)\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(("kind", "example"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_reads(kind: str, example: str) -> None:
    text = example
    if not example.startswith("(define"):
        declared = "(:objects mug_1 bottle_1 - mug)" if ":remove" in example else ""
        language = "" if example.startswith("(:language") else "(:language x)"
        text = f"{HEAD} {language} {declared} {example})"
    template = parse(text)
    assert (template.dialect == "ubddl") == (kind == "ubddl")
    for level in template.levels:
        scenario = template.at(level)
        assert parse(write(scenario)).at(level) == scenario


def test_the_first_example_is_clean() -> None:
    from libero_safety.ubddl import lint

    template = parse(EXAMPLES[0][1])
    assert [lint(template.at(level)) for level in template.levels] == [[], []]


def test_every_word_is_on_the_page() -> None:
    known = [*words.PREDICATES, *words.MEASURES, *words.CONSTRAINTS, *words.FACTS]
    known += [*words.NOISES, *words.CAMERAS, *words.LOOKS, *words.ROBOT_GROUPS, *words.RESERVED, *KINDS]
    known += [*words.WORKSPACES, *words.WORKSPACES.values(), *LEVEL_SECTIONS, *TOP_SECTIONS]
    assert [word for word in known if word not in PAGE] == []


def test_every_finding_code_is_on_the_page_and_no_other() -> None:
    emitted: set[str] = set()
    for source in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ("error", "warning", "note", "Finding") and len(node.args) > 1:
                code = node.args[1]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    emitted.add(code.value)
    table = PAGE.split("## Findings")[1].split("## From Python")[0]
    assert set(re.findall(r"^\| `([a-z-]+)`", table, re.MULTILINE)) == emitted
