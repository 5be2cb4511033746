"""The pages: no link leads nowhere, no page is lost."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


def links(page: Path) -> list[str]:
    """Return the relative links of a page, without their anchors."""
    found = [first or second for first, second in LINK.findall(page.read_text(encoding="utf-8"))]
    return [link.partition("#")[0] for link in found if not re.match(r"[a-z]+:|#", link)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    pages = {str(page.relative_to(index.parent)) for page in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert pages - set(links(index)) == set()


@pytest.mark.parametrize(
    "code", re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
)
def test_the_python_in_the_readme_runs(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
