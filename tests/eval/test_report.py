import csv
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from libero_safety.data.header import AssetStamp, Machine, RunConfig, RunHeader
from libero_safety.data.runlog import RunLogError, RunWriter
from libero_safety.eval.report import ReportError, markdown, write_report
from libero_safety.eval.report_plots import Mark, ticks, timeline
from libero_safety.eval.report_view import key_rows
from libero_safety.types import Episode, ImageArray, Key, Outcome, Trace, Violation

EVIL = '<script>alert("x")</script> & ünïcödé 🫖 | `tick`'


def make_header(**changes: Any) -> RunHeader:
    header = RunHeader(
        created="2026-03-01T09:30:00+00:00",
        config=RunConfig(
            ("tsa", "fshoa"),
            (0, 1),
            ("put_both_moka_pots_on_the_stove", "hand_over_the_mug"),
            "careless",
            10,
            (0, 1, 2),
            600,
            policy_options={"speed": 1.4},
            workers=2,
            command="libero-safety eval --suite tsa fshoa --policy careless",
        ),
        versions={"libero_safety": "0.1.0", "mujoco": "3.17.0", "numpy": "2.4.6", "python": "3.11.2"},
        task_hashes={"tsa/put_both_moka_pots_on_the_stove": "ab" * 32},
        assets={"bottle": AssetStamp("0123456789abcdef", "CC0-1.0")},
        machine=Machine("Linux-6.1-x86_64", "a processor", 2, "osmesa"),
        selftest={"ok": True, "checks": [{"name": "weight of a box", "ok": True}]},
    )
    return replace(header, **changes)


def make_trace(n: int, seed: int, guarded: bool = True) -> Trace:
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, n + 1)
    reach = (10 * t**3 - 15 * t**4 + 6 * t**5)[:, None] * np.array([0.3, 0.2, -0.1])
    clearance = 0.01 + 0.4 * np.abs(t - 0.7) + rng.normal(0, 5e-4, n + 1)
    force = np.where(np.abs(t[1:] - 0.7) < 0.03, 8.0 + rng.normal(0, 1, n), 0.0)
    return Trace(
        dt_s=0.05,
        qpos=rng.normal(size=(n + 1, 9)),
        eef_pos=reach + rng.normal(0, 5e-4, reach.shape),
        eef_quat=np.tile([1.0, 0.0, 0.0, 0.0], (n + 1, 1)),
        gripper=np.zeros((n + 1, 2)),
        asked=np.zeros((n, 7)),
        executed=np.zeros((n, 7)),
        clearance_m=clearance if guarded else np.full(n + 1, np.nan),
        force_n=np.abs(force),
        state_hash=np.zeros(n + 1, np.uint64),
    )


def make_episode(key: Key, outcome: Outcome, **changes: Any) -> Episode:
    steps = {"success": 210, "violation": 140, "timeout": 300, "error": 12}[outcome]
    at_s = 0.7 * steps * 0.05
    touch = Violation(
        "(NoContact robot juice_1)", "NoContact", at_s, 97, ("juice_1",), "link5", 8.2, 0.0, "N", "cap"
    )
    near = Violation(
        "(MinClearance robot hand_1 0.02m)",
        "MinClearance",
        at_s - 1,
        80,
        ("hand_1",),
        "hand",
        0.012,
        0.02,
        "m",
        "index_tip",
    )
    episode = Episode(
        key=key,
        instruction=key.task.replace("_", " "),
        outcome=outcome,
        violations=(near, touch) if outcome == "violation" else (),
        steps=steps,
        goal_reached=outcome == "success",
        trace=None if outcome == "error" else make_trace(steps, key.index, key.suite != "aag"),
        error_class="connection" if outcome == "error" else None,
        error="ConnectionResetError: the policy server went away" if outcome == "error" else None,
        wall_s=3.5,
    )
    return replace(episode, **changes)


def make_run(folder: Path, episodes: Sequence[Episode], status: str = "success", **header: Any) -> Path:
    writer = RunWriter.create(folder, make_header(**header))
    for episode in episodes:
        writer.append(episode, {"placements": {"juice_1": [0.1, -0.2, 0.9]}, "look": "oak"})
    writer.finish(status)  # type: ignore[arg-type]
    return folder


def some_episodes() -> list[Episode]:
    outcomes: list[Outcome] = ["success", "success", "violation", "timeout", "success", "error", "success"]
    return [
        make_episode(Key(suite, task, level, i % 3, i), outcomes[(i + level) % 7])
        for suite, task in (
            ("tsa", "put_both_moka_pots_on_the_stove"),
            ("fshoa", "hand_over_the_mug"),
            ("aag", "pick_up_the_knife_by_its_handle"),
        )
        for level in (0, 1)
        for i in range(8)
    ]


@pytest.fixture(scope="module")
def big_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("big") / "run", some_episodes())


class Painter:
    """Draws a grey card whose brightness is the row."""

    def __init__(self, nothing: bool = False, error: bool = False) -> None:
        self.asked: list[tuple[Key, tuple[int, ...]]] = []
        self._nothing = nothing
        self._error = error

    def frames(
        self, episode: Episode, steps: Sequence[int], size: tuple[int, int]
    ) -> list[ImageArray] | None:
        if self._error:
            raise RunLogError("the scene is gone")
        self.asked.append((episode.key, tuple(steps)))
        width, height = size
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        return (
            None
            if self._nothing
            else [
                np.stack([(x + s) % 256, (y * 2) % 256, 0 * x + 90], axis=-1).astype(np.uint8) for s in steps
            ]
        )


class Page(HTMLParser):
    """Checks that every element is closed and collects what would be loaded from elsewhere."""

    VOID = frozenset({"meta", "img", "br", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.scripts = 0
        self.tags: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.scripts += tag == "script"
        self.loads += [v for k, v in attrs if k in ("src", "href", "data", "poster") and v is not None]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_says_what_happened_and_loads_nothing(tmp_path: Path) -> None:
    painter = Painter()
    files = write_report(make_run(tmp_path / "run", some_episodes()), frames=painter)
    text = files.html.read_text(encoding="utf-8")
    page = Page(text)
    assert files.html == tmp_path / "run" / "report.html"
    assert page.scripts == 1
    assert page.loads
    assert all(address.startswith("data:image/jpeg;base64,") for address in page.loads)
    assert "url(" not in text
    assert "@import" not in text
    for part in (
        "✓ success",
        "✕ violation",
        "◔ timeout",
        "! error",
        "(NoContact robot juice_1)",
        "link5 at juice_1.cap",
        "hand at hand_1.index_tip",
        "<td>index_tip</td>",
        "ConnectionResetError",
        "CC0-1.0",
        "1 of 1 checks passed",
        "put both moka pots on the stove",
        "6 of 48 episodes ended in an error",
    ):
        assert part in text, part
    assert page.tags.count("article") == 12
    assert page.tags.count("img") == 4 * sum(1 for _ in painter.asked)
    assert len({key.suite for key, _ in painter.asked}) == 3


def test_the_tables_agree_with_the_run(big_run: Path, tmp_path: Path) -> None:
    files = write_report(big_run, tmp_path / "out")
    episodes = read_csv(files.tables["episodes"])
    assert len(episodes) == 48
    by_suite = read_csv(files.tables["by_suite"])
    assert [(row["suite"], row["level"]) for row in by_suite][:2] == [("aag", "0"), ("aag", "1")]
    for row in by_suite:
        members = [e for e in episodes if (e["suite"], e["level"]) == (row["suite"], row["level"])]
        ran = [e for e in members if e["outcome"] != "error"]
        wins = [e for e in ran if e["outcome"] == "success"]
        assert (int(row["n"]), int(row["errors"])) == (len(ran), len(members) - len(ran))
        assert float(row["sr"]) == pytest.approx(len(wins) / len(ran), abs=1e-5)
        assert float(row["cr"]) == pytest.approx(sum(e["collision"] == "1" for e in ran) / len(ran), abs=1e-5)
        assert float(row["ldlj"]) == pytest.approx(np.mean([float(e["ldlj"]) for e in ran]), abs=1e-4)
        assert float(row["sr_low"]) < float(row["sr"]) < float(row["sr_high"])
    unguarded = next(row for row in by_suite if row["suite"] == "aag")
    assert (unguarded["min_clearance_m"], unguarded["min_clearance_m_n"]) == ("", "0")
    assert len(read_csv(files.tables["violations"])) == 2 * sum(e["outcome"] == "violation" for e in episodes)
    assert len(read_csv(files.tables["by_task"])) == 6
    summary = files.markdown.read_text(encoding="utf-8")
    assert "| tsa | L0 | 7 | 1 | 71.4 | 35.9 to 91.8 |" in summary


def test_names_are_shown_as_text_not_run(tmp_path: Path) -> None:
    key = Key(EVIL, EVIL, 0, 0, 0)
    rule = Violation(EVIL, "NoContact", 1.0, 20, (EVIL,), EVIL, float("nan"), float("inf"), EVIL)
    episodes = [
        make_episode(key, "violation", violations=(rule,), instruction=EVIL),
        make_episode(replace(key, index=1), "error", error=EVIL, error_class=EVIL),
    ]
    config = replace(make_header().config, policy=EVIL, suites=(EVIL,), policy_options={EVIL: EVIL})
    folder = make_run(
        tmp_path / "run", episodes, config=config, assets={EVIL: AssetStamp(EVIL, EVIL)}, git=EVIL
    )
    files = write_report(folder, frames=Painter(nothing=True))
    text = files.html.read_text(encoding="utf-8")
    assert Page(text).scripts == 1
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text
    assert "ünïcödé 🫖" in text
    summary = files.markdown.read_text(encoding="utf-8")
    assert "<script>" not in summary
    for table in re.findall(r"(?:^\|.*\n)+", summary, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table
    assert read_csv(files.tables["episodes"])[0]["suite"] == EVIL


def test_a_run_without_episodes(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [], status="cancelled")
    files = write_report(folder)
    text = files.html.read_text(encoding="utf-8")
    Page(text)
    assert "This run holds no episode yet" in text
    assert "This run was cancelled" in text
    assert "nan" not in re.sub(r'data-v="nan"', "", text[: text.index("<script>")])
    assert "nan" not in files.markdown.read_text(encoding="utf-8")
    assert files.markdown.exists()
    assert read_csv(files.tables["by_suite"]) == []


def test_a_run_of_errors_only_has_no_rates(tmp_path: Path) -> None:
    episodes = [make_episode(Key("tsa", "moka", 0, 0, i), "error") for i in range(3)]
    files = write_report(make_run(tmp_path / "run", episodes, status="error"))
    text = files.html.read_text(encoding="utf-8")
    Page(text)
    assert "3 of 3 episodes ended in an error" in text
    assert "<b>n/a</b>" in text
    row = read_csv(files.tables["by_suite"])[0]
    assert (row["n"], row["errors"], row["sr"], row["cr"], row["ldlj"]) == ("0", "3", "", "", "")


@pytest.mark.parametrize(
    ("header", "status", "words"),
    [
        ({"privileged": True}, "success", "given privileged simulator state"),
        ({"selftest": None}, "success", "The physics self-test was not run"),
        (
            {"selftest": {"ok": False, "checks": [{"name": "weight", "ok": False}]}},
            "success",
            "The physics self-test failed",
        ),
        ({}, "started", "has not finished, or was killed"),
        ({"mixed": ("versions.mujoco: was '3.3.3', now '3.17.0'",)}, "success", "Mixed run"),
        ({}, "success", "with fewer than 50 episodes"),
    ],
)
def test_what_a_reader_must_know_stands_above_the_numbers(
    tmp_path: Path, header: dict[str, Any], status: str, words: str
) -> None:
    episodes = [make_episode(Key("tsa", "moka", 0, 0, 0), "success")]
    files = write_report(make_run(tmp_path / "run", episodes, status=status, **header))
    text = files.html.read_text(encoding="utf-8")
    assert words in text[: text.index('<div class="tiles">')]
    assert words in files.markdown.read_text(encoding="utf-8").replace("\\", "")


def test_an_instruction_that_is_not_the_task_name_is_shown(tmp_path: Path) -> None:
    same = make_episode(Key("ssr", "place_the_knife_on_the_cabinet", 0, 0, 0), "success")
    other = replace(same, key=replace(same.key, level=2), instruction="Place the knife on the table")
    text = write_report(make_run(tmp_path / "run", [same, other])).html.read_text(encoding="utf-8")
    assert text.count("told: “") == 1
    assert "told: “Place the knife on the table”" in text


def test_without_a_renderer_the_page_names_the_packages(big_run: Path, tmp_path: Path) -> None:
    text = write_report(big_run, tmp_path).html.read_text(encoding="utf-8")
    assert "libegl1" in text
    assert "libosmesa6" in text
    assert "<img" not in text
    assert '<svg class="plot"' in text
    text = write_report(big_run, tmp_path, frames=Painter(error=True)).html.read_text(encoding="utf-8")
    assert "No pictures: the scene is gone" in text
    assert "libegl1" not in text


def test_the_violation_is_among_the_pictures_and_on_the_timelines(tmp_path: Path) -> None:
    episode = make_episode(Key("tsa", "moka", 0, 0, 0), "violation")
    assert episode.trace is not None
    first_s = episode.violations[0].time_s
    end = round(first_s / 0.05)
    assert key_rows(episode, episode.trace) == [0, end // 3, 2 * end // 3, end]
    painter = Painter()
    files = write_report(make_run(tmp_path / "run", [episode]), frames=painter)
    assert painter.asked == [(episode.key, (0, end // 3, 2 * end // 3, end))]
    text = files.html.read_text(encoding="utf-8")
    assert f"{end * 0.05:.2f} s, the first violation" in text
    assert text.count('<circle class="mark"') == 4  # two violations on two timelines


def test_a_success_ends_its_pictures_at_the_end() -> None:
    episode = make_episode(Key("tsa", "moka", 0, 0, 0), "success")
    assert episode.trace is not None
    assert key_rows(episode, episode.trace) == [0, 70, 140, 210]
    assert key_rows(episode, replace(episode.trace, qpos=np.zeros((1, 9)))) == [0]


def test_named_episodes_are_told(big_run: Path, tmp_path: Path) -> None:
    key = Key("tsa", "put_both_moka_pots_on_the_stove", 1, 1, 7)
    text = write_report(big_run, tmp_path, episodes=[key]).html.read_text(encoding="utf-8")
    assert text.count("<article") == 1
    with pytest.raises(RunLogError, match="no episode tsa/nothing"):
        write_report(big_run, tmp_path, episodes=[Key("tsa", "nothing", 0, 0, 0)])


def test_a_video_is_in_the_page(tmp_path: Path) -> None:
    episode = make_episode(Key("tsa", "moka", 0, 0, 0), "success", trace=make_trace(12, 0), steps=12)
    text = write_report(make_run(tmp_path / "run", [episode]), frames=Painter(), videos=True).html.read_text()
    assert '<video controls preload="metadata" src="data:video/mp4;base64,AAAA' in text


def test_a_broken_trace_is_said_and_left_out(tmp_path: Path) -> None:
    folder = make_run(
        tmp_path / "run", [make_episode(Key("tsa", "moka", 0, 0, i), "success") for i in range(2)]
    )
    next(iter(sorted((folder / "traces").iterdir()))).write_bytes(b"broken")
    files = write_report(folder)
    assert "Some traces could not be read" in files.html.read_text(encoding="utf-8")
    assert sorted(bool(row["ldlj"]) for row in read_csv(files.tables["episodes"])) == [False, True]
    assert "1 without: the trace could not be read" in files.html.read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", [])
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"cannot write the report to .*file/out: Not a directory"):
        write_report(folder, tmp_path / "file" / "out")


def test_writing_again_gives_the_same_bytes(big_run: Path, tmp_path: Path) -> None:
    first = write_report(big_run, tmp_path / "a")
    second = write_report(big_run, tmp_path / "b")
    for one, two in ((first.html, second.html), (first.markdown, second.markdown)):
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 10.0, [0, 5, 10]),
        (0.0, 18.0, [0, 5, 10, 15, 20]),
        (0.0, 0.3, [0, 0.1, 0.2, 0.3]),
        (-3.0, 7.0, [-5, 0, 5, 10]),
        (0.0, 0.0, [0, 5e-13]),
    ],
)
def test_ticks_are_round_and_hold_the_range(low: float, high: float, expected: list[float]) -> None:
    found = ticks(low, high)
    assert found == pytest.approx(expected)


def test_a_timeline_leaves_gaps_and_draws_no_more_than_the_cap() -> None:
    values = np.array([1.0, 2.0, np.nan, 50.0, np.inf, 3.0])
    svg = timeline(np.arange(6) * 0.5, values, "a < b", marks=[Mark(1.0, "1")], cap=20.0)
    assert svg is not None
    (path,) = re.findall(r'class="line" d="([^"]*)"', svg)
    assert path.count("M") == 3
    assert path.count("L") == 1
    assert "20+" in svg
    assert "a &lt; b" in svg
    assert "nan" not in svg
    assert timeline(np.arange(2) * 0.5, np.full(2, np.nan), "nothing") is None


def test_a_timeline_of_zeros_has_a_readable_axis() -> None:
    svg = timeline(np.arange(6) * 0.5, np.zeros(6), "Force (N)")
    assert svg is not None
    assert re.findall(r'text-anchor="end">([^<]*)<', svg) == ["0", "0.5", "1"]


def test_markdown_shows_any_text_as_it_is() -> None:
    assert markdown("a|b\n*c* <d> `e` [f]") == r"a\|b \*c\* &lt;d&gt; \`e\` \[f\]"
