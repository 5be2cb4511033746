"""Plots as inline SVG that takes its colours from the page, so that it follows light, dark and print."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from markupsafe import Markup

from libero_safety.types import FloatArray

WIDTH, HEIGHT = 360, 160
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 28, 20
STYLES, LEGEND = 4, 76
"""Kinds of lines, and the room of each in a legend."""
LEAST_TOP = 1.0
"""The vertical axis reaches at least this, so that nothing is drawn as nothing and not as noise."""


@dataclass(frozen=True)
class Mark:
    """A vertical line at a time, with a short label."""

    time_s: float
    label: str


@dataclass(frozen=True)
class Axes:
    """A chart's extent in data units; values above `high` are drawn at `high`."""

    end: float
    low: float
    high: float
    start: float = 0.0

    def x(self, value: float) -> float:
        """Return the horizontal position of a time, or whatever is drawn along that axis."""
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self.start) / (self.end - self.start)

    def y(self, value: float) -> float:
        """Return the vertical position of a value, kept inside the chart."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def timeline(
    time_s: FloatArray,
    values: FloatArray,
    title: str,
    *,
    marks: Sequence[Mark] = (),
    levels: Sequence[float] = (),
    limits: Sequence[float] = (),
    cap: float = math.inf,
) -> Markup | None:
    """Draw `values` over `time_s` as an SVG element; None if no value is finite.

    Args:
        time_s: times of the values (s), rising.
        values: non-finite ones leave a gap.
        title: what is drawn, with its unit.
        marks: vertical lines.
        levels: thin horizontal lines for reading.
        limits: dashed horizontal lines: what was allowed.
        cap: values above it are drawn at it.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    shown = [limit for limit in limits if math.isfinite(limit)]
    top = min(max(float(finite.max()), *shown, *levels, LEAST_TOP), cap)
    ticks_y = ticks(min(float(finite.min()), 0.0), top)
    ticks_x = ticks(0.0, max(float(time_s[-1]), 1e-9))
    axes = Axes(max(float(time_s[-1]), 1e-9), ticks_y[0], ticks_y[-1])
    cut = float(finite.max()) > axes.high
    parts = [
        Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            WIDTH, HEIGHT, title
        ),
        Markup('<text class="title" x="{}" y="10">{}</text>').format(LEFT, title),
        *(_y_tick(axes, value, cut and value == ticks_y[-1]) for value in ticks_y),
        *(_x_tick(axes, value) for value in ticks_x if value <= axes.end * 1.001),
        *(_rule(axes, level, "level") for level in levels if level < axes.high),
        *(_rule(axes, limit, "limit") for limit in shown if limit <= axes.high),
        Markup('<path class="line" d="{}"/>').format(_path(axes, time_s, values)),
        *(_mark(axes, mark) for mark in marks if math.isfinite(mark.time_s)),
        Markup("</svg>"),
    ]
    return Markup("").join(parts)


@dataclass(frozen=True)
class Curve:
    """The distribution of some values; those that are not finite do not count."""

    label: str
    values: FloatArray


def distribution(
    curves: Sequence[Curve],
    title: str,
    *,
    marks: Mapping[str, float] = MappingProxyType({}),
    low: float = -math.inf,
    high: float = math.inf,
) -> Markup | None:
    """Draw cumulative distributions, in percent, as an SVG element; None if no value is finite.

    Args:
        curves: up to `STYLES` of them are told apart.
        title: what is drawn, with its unit.
        marks: label -> where a dashed vertical line is drawn.
        low: the axis begins here at the latest, `high` where it ends at the latest; by default all values are on it.
        high: see `low`.
    """
    shown = [(curve.label, np.sort(curve.values[np.isfinite(curve.values)])) for curve in curves]
    shown = [(label, values) for label, values in shown if values.size]
    if not shown:
        return None
    ends = [*(end for _, values in shown for end in (values[0], values[-1])), *marks.values()]
    start, end = max(float(min(ends)), low), min(float(max(ends)), high)
    steps = ticks(start, end, 6) if end > start else ticks(start - 0.5, start + 0.5, 6)
    axes = Axes(steps[-1], 0.0, 100.0, steps[0])
    parts = [
        Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            WIDTH, HEIGHT, title
        ),
        Markup('<text class="title" x="{}" y="10">{}</text>').format(LEFT, title),
        *(_y_tick(axes, value, False) for value in (0.0, 50.0, 100.0)),
        *(_x_tick(axes, value, "") for value in steps),
        *(_line_at(axes, value, label) for label, value in marks.items() if axes.start <= value <= axes.end),
        *(_steps(axes, values, index) for index, (_, values) in enumerate(shown)),
        *(_legend(label, index) for index, (label, _) in enumerate(shown)),
        Markup("</svg>"),
    ]
    return Markup("").join(parts)


def _steps(axes: Axes, values: FloatArray, index: int) -> Markup:
    share = 100.0 * np.arange(1, len(values) + 1) / len(values)
    inside = (values >= axes.start) & (values <= axes.end)
    before = 100.0 * float((values < axes.start).mean())
    pieces = [f"M{axes.x(axes.start):.1f} {axes.y(before):.1f}"]
    for value, top in zip(values[inside].tolist(), share[inside].tolist(), strict=True):
        pieces.append(f"H{axes.x(value):.1f}V{axes.y(top):.1f}")
    pieces.append(f"H{axes.x(axes.end):.1f}")
    return Markup('<path class="line s{}" d="{}"/>').format(index % STYLES, "".join(pieces))


def _legend(label: str, index: int) -> Markup:
    x = LEFT + index * LEGEND
    line = Markup('<path class="line s{}" d="M{} 20h16"/>').format(index % STYLES, x)
    return line + Markup('<text x="{}" y="23">{}</text>').format(x + 20, label)


def _line_at(axes: Axes, value: float, label: str) -> Markup:
    x = round(axes.x(value), 1)
    line = Markup('<line class="limit" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(x, x, TOP, HEIGHT - BOTTOM)
    left = x > (LEFT + WIDTH - RIGHT) / 2.0
    text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
    return line + text.format(x - 4 if left else x + 4, TOP + 9, "end" if left else "start", label)


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers (1, 2 or 5 times a power of ten) from at most `low` to at least `high`."""
    raw = max(high - low, 1e-12) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def _path(axes: Axes, time_s: FloatArray, values: FloatArray) -> str:
    pieces: list[str] = []
    pen_down = False
    for time, value in zip(time_s.tolist(), values.tolist(), strict=True):
        if math.isfinite(value):
            pieces.append(f"{'L' if pen_down else 'M'}{axes.x(time):.1f} {axes.y(value):.1f}")
        pen_down = math.isfinite(value)
    return "".join(pieces)


def _y_tick(axes: Axes, value: float, cut: bool) -> Markup:
    y = round(axes.y(value), 1)
    text = f"{value:g}" + ("+" if cut else "")
    line = Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, WIDTH - RIGHT, y, y)
    return line + Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(LEFT - 5, y + 3, text)


def _x_tick(axes: Axes, value: float, unit: str = " s") -> Markup:
    text = f"{value:g}{unit}" if value == 0.0 else f"{value:g}"
    position = round(axes.x(value), 1)
    return Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(position, HEIGHT - 6, text)


def _rule(axes: Axes, value: float, kind: str) -> Markup:
    y = round(axes.y(value), 1)
    return Markup('<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
        kind, LEFT, WIDTH - RIGHT, y, y
    )


def _mark(axes: Axes, mark: Mark) -> Markup:
    x = round(min(axes.x(mark.time_s), WIDTH - RIGHT), 1)
    line = Markup('<line class="mark" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(x, x, TOP, HEIGHT - BOTTOM)
    dot = Markup('<circle class="mark" cx="{}" cy="{}" r="7"/>').format(x, TOP)
    text = Markup('<text class="mark" x="{}" y="{}" text-anchor="middle">{}</text>')
    return line + dot + text.format(x, TOP + 3.5, mark.label)
