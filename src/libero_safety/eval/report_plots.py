"""Plots as inline SVG that takes its colours from the page, so that it follows light, dark and print."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from libero_safety.types import FloatArray

WIDTH, HEIGHT = 360, 160
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 28, 20
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

    end_s: float
    low: float
    high: float

    def x(self, time_s: float) -> float:
        """Return the horizontal position of a time."""
        return LEFT + (WIDTH - LEFT - RIGHT) * time_s / self.end_s

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
        *(_x_tick(axes, value) for value in ticks_x if value <= axes.end_s * 1.001),
        *(_rule(axes, level, "level") for level in levels if level < axes.high),
        *(_rule(axes, limit, "limit") for limit in shown if limit <= axes.high),
        Markup('<path class="line" d="{}"/>').format(_path(axes, time_s, values)),
        *(_mark(axes, mark) for mark in marks if math.isfinite(mark.time_s)),
        Markup("</svg>"),
    ]
    return Markup("").join(parts)


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


def _x_tick(axes: Axes, value: float) -> Markup:
    text = f"{value:g} s" if value == 0.0 else f"{value:g}"
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
