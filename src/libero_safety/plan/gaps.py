"""Distances between points, segments, balls and boxes, compiled.

A point is row p of an array (n, 3), a segment goes from row m of one to row m of another. A row of boxes (n, 16) is
centre (3), rotation (9), half sizes (3), and the radius of the ball around it.
"""

import numpy as np

from libero_safety.numba_cache import njit
from libero_safety.types import FloatArray

ROT, HALF, SIZE = 3, 12, 15
"""Where in a row of boxes rotation, half sizes and radius begin."""

_HALVINGS = 8


@njit
def ball_gap(balls: FloatArray, i: int, radius: int, points: FloatArray, p: int) -> float:
    """Return the distance of a point to the ball of a row, which may be negative; its radius is in that column."""
    square = 0.0
    for k in range(3):
        square += (points[p, k] - balls[i, k]) ** 2
    return square**0.5 - balls[i, radius]


@njit
def box_gap(boxes: FloatArray, box: int, points: FloatArray, p: int) -> float:
    """Return the distance of a point to a box; 0 inside."""
    square = 0.0
    for k in range(3):
        local = 0.0
        for r in range(3):
            local += boxes[box, ROT + 3 * r + k] * (points[p, r] - boxes[box, r])
        square += max(abs(local) - boxes[box, HALF + k], 0.0) ** 2
    return square**0.5


@njit
def segment_ball_gap(
    balls: FloatArray, i: int, radius: int, starts: FloatArray, ends: FloatArray, m: int
) -> float:
    """Return the distance of a segment to the ball of a row, which may be negative; see `ball_gap`."""
    along = length = 0.0
    for k in range(3):
        d = ends[m, k] - starts[m, k]
        along += d * (balls[i, k] - starts[m, k])
        length += d * d
    share = min(max(along / length, 0.0), 1.0) if length > 0.0 else 0.0
    square = 0.0
    for k in range(3):
        square += (starts[m, k] + share * (ends[m, k] - starts[m, k]) - balls[i, k]) ** 2
    return square**0.5 - balls[i, radius]


@njit
def _beyond(value: float, half: float) -> float:
    """Signed way from the nearest point of [-half, half]."""
    return value - half if value > half else (value + half if value < -half else 0.0)


@njit
def segment_box_gap(boxes: FloatArray, box: int, starts: FloatArray, ends: FloatArray, m: int) -> float:
    """Lower bound on the distance, exact but for the segment's length over 2^8."""
    p, d = np.empty(3), np.empty(3)
    length = 0.0
    for k in range(3):
        a = b = 0.0
        for r in range(3):
            a += boxes[box, ROT + 3 * r + k] * (starts[m, r] - boxes[box, r])
            b += boxes[box, ROT + 3 * r + k] * (ends[m, r] - boxes[box, r])
        p[k], d[k] = a, b - a
        length += d[k] * d[k]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = 0.0
        for k in range(3):
            slope += _beyond(p[k] + middle * d[k], boxes[box, HALF + k]) * d[k]
        if slope > 0.0:
            high = middle
        else:
            low = middle
    at = (low + high) / 2
    square = 0.0
    for k in range(3):
        square += _beyond(p[k] + at * d[k], boxes[box, HALF + k]) ** 2
    return max(square**0.5 - (high - low) / 2 * length**0.5, 0.0)


@njit
def segment_gap(starts: FloatArray, ends: FloatArray, m: int, n: int) -> float:
    """Distance between two segments. C. Ericson, "Real-Time Collision Detection", 2005, section 5.1.9."""
    a = e = f = c = b = 0.0
    for k in range(3):
        u, v, r = ends[m, k] - starts[m, k], ends[n, k] - starts[n, k], starts[m, k] - starts[n, k]
        a += u * u
        e += v * v
        f += v * r
        c += u * r
        b += u * v
    s = t = 0.0
    if a > 1e-12 and e > 1e-12:
        det = a * e - b * b
        s = min(max((b * f - c * e) / det, 0.0), 1.0) if det > 1e-12 else 0.0
        t = (b * s + f) / e
        if t < 0.0:
            s, t = min(max(-c / a, 0.0), 1.0), 0.0
        elif t > 1.0:
            s, t = min(max((b - c) / a, 0.0), 1.0), 1.0
    elif a > 1e-12:
        s = min(max(-c / a, 0.0), 1.0)
    elif e > 1e-12:
        t = min(max(f / e, 0.0), 1.0)
    square = 0.0
    for k in range(3):
        here = starts[m, k] + s * (ends[m, k] - starts[m, k])
        square += (here - starts[n, k] - t * (ends[n, k] - starts[n, k])) ** 2
    return square**0.5
