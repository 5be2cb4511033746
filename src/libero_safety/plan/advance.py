"""How far the arm can go before anything could be touched: lower bounds on distance, compiled.

Conservative advancement: if nothing is nearer than d, no motion that moves every point by less than d touches
anything. Links are wrapped in capsules, everything else in boxes; near contact the bounds say nothing any more, and
the simulator is asked. S. Quinlan, "Real-time modification of collision-free paths", Stanford 1994, chapter 4.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from libero_safety.numba_cache import njit
from libero_safety.sim.scene import IntArray
from libero_safety.types import FloatArray

_HALVINGS = 8


class Wrapping(NamedTuple):
    """Arm and load in capsules, the rest in boxes. Frame 0 is the robot's base, 1..7 the links after each joint.

    `base_pos` (3,), `base_rot` (3, 3): frame 0 in the world. `offset_pos` (7, 3), `offset_rot` (7, 3, 3): each
    joint's frame in the frame before, at joint angle zero. `frame` (m,), `start`, `end` (m, 3), `radius` (m,):
    capsules, by frame; `first` (9,) where those of each frame begin. `ball` (8, 3), `ball_radius` (8,): balls
    that hold the capsules of a frame. `reach` (7, m): how far a capsule's points are from a joint's axis at most.
    `centre` (n, 3), `rot` (n, 3, 3), `half` (n, 3), `size` (n,): boxes, world, and the balls around them. `place` (n,):
    the time at which a box is there, 0 for one that is always. `limits` (m, n): smallest free distance,
    `widest` (8, n) the largest of a frame. `own` (m, m) likewise among capsules, -inf where it does not matter.
    """

    base_pos: FloatArray
    base_rot: FloatArray
    offset_pos: FloatArray
    offset_rot: FloatArray
    frame: IntArray
    first: IntArray
    start: FloatArray
    end: FloatArray
    radius: FloatArray
    ball: FloatArray
    ball_radius: FloatArray
    reach: FloatArray
    centre: FloatArray
    rot: FloatArray
    half: FloatArray
    size: FloatArray
    place: IntArray
    limits: FloatArray
    widest: FloatArray
    own: FloatArray


@njit
def _frames(w: Wrapping, q: FloatArray, pos: FloatArray, rot: FloatArray) -> None:
    """Fill poses (8, 3), (8, 3, 3) of all frames."""
    pos[0], rot[0] = w.base_pos, w.base_rot
    for i in range(7):
        c, s = np.cos(q[i]), np.sin(q[i])
        for r in range(3):
            pos[i + 1, r] = pos[i, r]
            for k in range(3):
                pos[i + 1, r] += rot[i, r, k] * w.offset_pos[i, k]
            x = y = z = 0.0
            for k in range(3):
                x += rot[i, r, k] * w.offset_rot[i, k, 0]
                y += rot[i, r, k] * w.offset_rot[i, k, 1]
                z += rot[i, r, k] * w.offset_rot[i, k, 2]
            rot[i + 1, r, 0], rot[i + 1, r, 1], rot[i + 1, r, 2] = x * c + y * s, y * c - x * s, z


@njit
def _place(pos: FloatArray, rot: FloatArray, point: FloatArray, out: FloatArray) -> None:
    for r in range(3):
        out[r] = pos[r] + rot[r, 0] * point[0] + rot[r, 1] * point[1] + rot[r, 2] * point[2]


@njit
def _apart(w: Wrapping, box: int, point: FloatArray) -> float:
    """Return the distance of a point to the ball around a box; it may be negative."""
    square = 0.0
    for k in range(3):
        square += (point[k] - w.centre[box, k]) ** 2
    return square**0.5 - w.size[box]


@njit
def _point_box(w: Wrapping, box: int, point: FloatArray) -> float:
    square = 0.0
    for k in range(3):
        local = 0.0
        for r in range(3):
            local += w.rot[box, r, k] * (point[r] - w.centre[box, r])
        square += max(abs(local) - w.half[box, k], 0.0) ** 2
    return square**0.5


@njit
def _beyond(value: float, half: float) -> float:
    """Signed way from the nearest point of [-half, half]."""
    return value - half if value > half else (value + half if value < -half else 0.0)


@njit
def _segment_box(w: Wrapping, box: int, start: FloatArray, end: FloatArray) -> float:
    """Lower bound on the distance, exact but for the segment's length over 2^8."""
    p = np.empty(3)
    d = np.empty(3)
    length = 0.0
    for k in range(3):
        a = b = 0.0
        for r in range(3):
            a += w.rot[box, r, k] * (start[r] - w.centre[box, r])
            b += w.rot[box, r, k] * (end[r] - w.centre[box, r])
        p[k], d[k] = a, b - a
        length += d[k] * d[k]
    half = w.half[box]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        slope = 0.0
        for k in range(3):
            slope += _beyond(p[k] + middle * d[k], half[k]) * d[k]
        if slope > 0.0:
            high = middle
        else:
            low = middle
    at = (low + high) / 2
    square = 0.0
    for k in range(3):
        square += _beyond(p[k] + at * d[k], half[k]) ** 2
    return max(square**0.5 - (high - low) / 2 * length**0.5, 0.0)


@njit
def _segments(p: FloatArray, p_end: FloatArray, q: FloatArray, q_end: FloatArray) -> float:
    """Distance between two segments. C. Ericson, "Real-Time Collision Detection", 2005, section 5.1.9."""
    a = e = f = c = b = 0.0
    for k in range(3):
        u, v, r = p_end[k] - p[k], q_end[k] - q[k], p[k] - q[k]
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
        square += (p[k] + s * (p_end[k] - p[k]) - q[k] - t * (q_end[k] - q[k])) ** 2
    return square**0.5


@njit
def _share(room: float, speed: float, bend: float) -> float:
    """Return the largest s with speed s + bend s^2 / 2 <= room: on that part of the way nothing covers more."""
    if room <= 0.0:
        return 0.0
    if bend * room < 1e-6 * speed * speed:
        return room / speed
    if bend <= 0.0:
        return np.inf
    return ((speed * speed + 2.0 * bend * room) ** 0.5 - speed) / bend


@njit
def _twists(pos: FloatArray, rot: FloatArray, dq: FloatArray, turn: FloatArray, move: FloatArray) -> None:
    """Fill angular velocity (8, 3) and velocity of the point at the origin (8, 3) of all frames."""
    turn[0], move[0] = 0.0, 0.0
    for f in range(1, 8):
        x, y, z = rot[f, 0, 2] * dq[f - 1], rot[f, 1, 2] * dq[f - 1], rot[f, 2, 2] * dq[f - 1]
        turn[f, 0], turn[f, 1], turn[f, 2] = turn[f - 1, 0] + x, turn[f - 1, 1] + y, turn[f - 1, 2] + z
        move[f, 0] = move[f - 1, 0] + pos[f, 1] * z - pos[f, 2] * y
        move[f, 1] = move[f - 1, 1] + pos[f, 2] * x - pos[f, 0] * z
        move[f, 2] = move[f - 1, 2] + pos[f, 0] * y - pos[f, 1] * x


@njit
def _speed(turn: FloatArray, move: FloatArray, f: int, g: int, point: FloatArray, radius: float) -> float:
    """Upper bound on the speed of what is within a radius of a point of frame g, seen from frame f."""
    x, y, z = turn[g, 0] - turn[f, 0], turn[g, 1] - turn[f, 1], turn[g, 2] - turn[f, 2]
    a = move[g, 0] - move[f, 0] + y * point[2] - z * point[1]
    b = move[g, 1] - move[f, 1] + z * point[0] - x * point[2]
    c = move[g, 2] - move[f, 2] + x * point[1] - y * point[0]
    return (a * a + b * b + c * c) ** 0.5 + (x * x + y * y + z * z) ** 0.5 * radius


@njit
def _bends(w: Wrapping, dq: FloatArray, out: FloatArray) -> None:
    """Fill (8, 8) with upper bounds on the acceleration of the points of frame g, seen from frame f.

    The second derivative of a point by two joints is no longer than its distance from the outer one's axis.
    """
    for f in range(8):
        for g in range(8):
            out[f, g] = 0.0
            inner = 0.0
            for j in range(f, g):
                far = 0.0
                for m in range(w.first[g], w.first[g + 1]):
                    far = max(far, w.reach[j, m])
                out[f, g] += abs(dq[j]) * far * (abs(dq[j]) + 2.0 * inner)
                inner += abs(dq[j])


@njit
def _outside(
    w: Wrapping,
    balls: FloatArray,
    starts: FloatArray,
    ends: FloatArray,
    speeds: FloatArray,
    bends: FloatArray,
    least: float,
    step: float,
) -> float:
    """Return how far, at least `least` and at most `step`, nothing around the arm can be touched; 0 if unknown."""
    for f in range(1, 8):
        low, high = w.first[f], w.first[f + 1]
        fastest = 0.0
        for m in range(low, high):
            fastest = max(fastest, speeds[m])
        bend = bends[0, f]
        if fastest == 0.0 and bend == 0.0:
            continue
        for j in range(w.centre.shape[0]):
            if w.widest[f, j] == -np.inf:
                continue
            needed = w.ball_radius[f] + w.widest[f, j] + step * (fastest + bend * step / 2)
            if _apart(w, j, balls[f]) > needed or _point_box(w, j, balls[f]) > needed:
                continue
            for m in range(low, high):
                if w.limits[m, j] == -np.inf:
                    continue
                room = _segment_box(w, j, starts[m], ends[m]) - w.radius[m] - w.limits[m, j]
                if room <= 0.0:
                    return 0.0
                if room < step * (speeds[m] + bend * step / 2):
                    step = max(_share(room, speeds[m], bend), least)
    return step


@njit
def _inside(
    w: Wrapping,
    balls: FloatArray,
    starts: FloatArray,
    ends: FloatArray,
    turn: FloatArray,
    move: FloatArray,
    bends: FloatArray,
    least: float,
    step: float,
) -> float:
    """Likewise for the arm against itself and its load: only the joints between two frames matter."""
    for f in range(8):
        for g in range(f + 1, 8):
            bend = bends[f, g]
            speed = _speed(turn, move, f, g, balls[g], w.ball_radius[g])
            if speed == 0.0 and bend == 0.0:
                continue
            square = 0.0
            for k in range(3):
                square += (balls[f, k] - balls[g, k]) ** 2
            room = square**0.5 - w.ball_radius[f] - w.ball_radius[g]
            if room > step * (speed + bend * step / 2):
                continue
            for m in range(w.first[f], w.first[f + 1]):
                for n in range(w.first[g], w.first[g + 1]):
                    if w.own[m, n] == -np.inf:
                        continue
                    room = _segments(starts[m], ends[m], starts[n], ends[n]) - w.radius[m] - w.radius[n]
                    room -= w.own[m, n]
                    if room <= 0.0:
                        return 0.0
                    if room < step * (speed + bend * step / 2):
                        step = max(_share(room, speed, bend), least)
    return step


@njit
def advance(w: Wrapping, rows: FloatArray, row: int, part: float, step_m: float) -> tuple[int, float, float]:
    """Go along the polyline `rows` (n, 7) from a part of a row's line as far as nothing can be touched.

    It looks again before any point has moved further than there is room, or than `step_m` if that is more.

    Returns:
        The row and the part at which the bounds cannot tell, and the part after which no point has moved further
        than `step_m` from there; row n - 1 when all the rest is free.
    """
    pos, rot = np.empty((8, 3)), np.empty((8, 3, 3))
    turn, move, bends = np.empty((8, 3)), np.empty((8, 3)), np.empty((8, 8))
    count = w.frame.shape[0]
    starts, ends, balls = np.empty((count, 3)), np.empty((count, 3)), np.empty((8, 3))
    speeds, dq = np.empty(count), np.empty(7)
    while row < rows.shape[0] - 1:
        for i in range(7):
            dq[i] = rows[row + 1, i] - rows[row, i]
        _bends(w, dq, bends)
        while part < 1.0:
            _frames(w, rows[row] + part * dq, pos, rot)
            _twists(pos, rot, dq, turn, move)
            fastest = 0.0
            for m in range(count):
                f = w.frame[m]
                _place(pos[f], rot[f], w.start[m], starts[m])
                _place(pos[f], rot[f], w.end[m], ends[m])
                speeds[m] = max(
                    _speed(turn, move, 0, f, starts[m], w.radius[m]),
                    _speed(turn, move, 0, f, ends[m], w.radius[m]),
                )
                fastest = max(fastest, speeds[m])
            for f in range(8):
                _place(pos[f], rot[f], w.ball[f], balls[f])
            least = min(_share(step_m, fastest, bends[0, 7]), 1.0 - part)
            step = _outside(w, balls, starts, ends, speeds, bends, least, 1.0 - part)
            if step > 0.0:
                step = _inside(w, balls, starts, ends, turn, move, bends, least, step)
            if step <= 0.0:
                return row, part, least
            part += step
        row, part = row + 1, 0.0
    return row, 0.0, 0.0


@njit
def doubtful(w: Wrapping, q: FloatArray, places: NDArray[np.bool_]) -> bool:
    """Mark the times at which something may be too near at joints `q`; return whether there is any.

    What stands still, and the arm itself, count for the first.
    """
    pos, rot = np.empty((8, 3)), np.empty((8, 3, 3))
    count = w.frame.shape[0]
    starts, ends, ball = np.empty((count, 3)), np.empty((count, 3)), np.empty(3)
    _frames(w, q, pos, rot)
    for m in range(count):
        _place(pos[w.frame[m]], rot[w.frame[m]], w.start[m], starts[m])
        _place(pos[w.frame[m]], rot[w.frame[m]], w.end[m], ends[m])
    places[:] = False
    found = False
    for f in range(1, 8):
        _place(pos[f], rot[f], w.ball[f], ball)
        for j in range(w.centre.shape[0]):
            if w.widest[f, j] == -np.inf or places[w.place[j]]:
                continue
            needed = w.ball_radius[f] + w.widest[f, j]
            if _apart(w, j, ball) > needed or _point_box(w, j, ball) > needed:
                continue
            for m in range(w.first[f], w.first[f + 1]):
                if w.limits[m, j] > -np.inf:
                    if _segment_box(w, j, starts[m], ends[m]) <= w.radius[m] + w.limits[m, j]:
                        places[w.place[j]] = found = True
                        break
    if not places[0]:
        for m in range(count):
            for n in range(w.first[w.frame[m] + 1], count):
                if w.own[m, n] > -np.inf:
                    needed = w.radius[m] + w.radius[n] + w.own[m, n]
                    if _segments(starts[m], ends[m], starts[n], ends[n]) <= needed:
                        places[0] = found = True
    return found
