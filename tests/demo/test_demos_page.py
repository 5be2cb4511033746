"""The example of the page on demonstrations does what the page says, and the page names every reason."""

import re
from pathlib import Path

import pytest

from libero_safety.demo.rejects import REASONS

PAGE = (Path(__file__).parents[2] / "docs" / "demos.md").read_text()


def test_the_example_runs(capsys):
    pytest.importorskip("piqp")
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    exec(compile(code, "demos.md", "exec"), {})
    assert capsys.readouterr().out.startswith("success ")


def test_the_page_names_every_reason_with_its_advice():
    for name, reason in REASONS.items():
        assert f"| `{name}` | {reason.doc} | {reason.advice} |" in PAGE
