"""How far the arm can go before anything could be touched: lower bounds on distance, compiled.

Conservative advancement: if nothing is nearer than d, no motion that moves every point by less than d touches
anything. Links are wrapped in capsules, everything else in boxes; near contact the bounds say nothing any more, and
the simulator is asked. S. Quinlan, "Real-time modification of collision-free paths", Stanford 1994, chapter 4.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from libero_safety.numba_cache import njit
from libero_safety.plan.gaps import (
    ROT,
    SIZE,
    ball_gap,
    box_gap,
    segment_ball_gap,
    segment_box_gap,
    segment_gap,
)
from libero_safety.sim.scene import IntArray
from libero_safety.types import FloatArray

_BALL = 12
"""Where in a row of `links` the ball begins; rotation and radius are where they are in one of boxes."""


class Wrapping(NamedTuple):
    """Arm and load in capsules, the rest in boxes. Frame 0 is the robot's base, 1..7 the links after each joint.

    Attributes:
        links: (8, 16) pose of each frame in the frame before, at joint angle zero, that of the base in the world:
            position (3) and rotation (9); then centre (3) and radius of a ball that holds the frame's capsules.
        capsules: (m, 7) ends (3, 3) in their frame, and radius; by frame.
        first: (9,) where the capsules of each frame begin.
        reach: (7, m) how far the points of a capsule are from a joint's axis at most.
        boxes: (n, 16) centre (3), rotation (9) and half sizes (3) in the world, radius of the ball around it.
        place: (n,) number of the time at which a box is there, 0 for one that is always.
        clusters: (k, 4) centre and radius of balls around the boxes of one body at one time.
        cluster_first: (k + 1,) where the boxes of each cluster begin.
        limits: (m, n) smallest free distance of a capsule to a box, -inf where it does not matter.
        widest: (8, n) the largest of those of a frame; `cluster_widest` (8, k) the largest of a cluster.
        own: (m, m) smallest free distance among capsules, -inf where it does not matter.
    """

    links: FloatArray
    capsules: FloatArray
    first: IntArray
    reach: FloatArray
    boxes: FloatArray
    place: IntArray
    clusters: FloatArray
    cluster_first: IntArray
    limits: FloatArray
    widest: FloatArray
    cluster_widest: FloatArray
    own: FloatArray


class Poses(NamedTuple):
    """Where frames (8, 3), (8, 3, 3), ends of capsules (m, 3) and balls (8, 3) are, world."""

    pos: FloatArray
    rot: FloatArray
    starts: FloatArray
    ends: FloatArray
    balls: FloatArray


@njit
def _frames(links: FloatArray, q: FloatArray, pos: FloatArray, rot: FloatArray) -> None:
    """Fill poses (8, 3), (8, 3, 3) of all frames."""
    for r in range(3):
        pos[0, r] = links[0, r]
        for k in range(3):
            rot[0, r, k] = links[0, ROT + 3 * r + k]
    for i in range(7):
        c, s = np.cos(q[i]), np.sin(q[i])
        for r in range(3):
            pos[i + 1, r] = pos[i, r]
            x = y = z = 0.0
            for k in range(3):
                pos[i + 1, r] += rot[i, r, k] * links[i + 1, k]
                x += rot[i, r, k] * links[i + 1, ROT + 3 * k]
                y += rot[i, r, k] * links[i + 1, ROT + 3 * k + 1]
                z += rot[i, r, k] * links[i + 1, ROT + 3 * k + 2]
            rot[i + 1, r, 0], rot[i + 1, r, 1], rot[i + 1, r, 2] = x * c + y * s, y * c - x * s, z


@njit
def _place(
    pos: FloatArray, rot: FloatArray, f: int, row: FloatArray, at: int, out: FloatArray, m: int
) -> None:
    """Fill `out[m]` (3,) with the point that begins at `row[at]`, of frame f, in the world."""
    for r in range(3):
        out[m, r] = (
            pos[f, r] + rot[f, r, 0] * row[at] + rot[f, r, 1] * row[at + 1] + rot[f, r, 2] * row[at + 2]
        )


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
def _speed(
    turn: FloatArray, move: FloatArray, f: int, g: int, points: FloatArray, p: int, radius: float
) -> float:
    """Upper bound on the speed of what is within a radius of a point of frame g, seen from frame f."""
    x, y, z = turn[g, 0] - turn[f, 0], turn[g, 1] - turn[f, 1], turn[g, 2] - turn[f, 2]
    a = move[g, 0] - move[f, 0] + y * points[p, 2] - z * points[p, 1]
    b = move[g, 1] - move[f, 1] + z * points[p, 0] - x * points[p, 2]
    c = move[g, 2] - move[f, 2] + x * points[p, 1] - y * points[p, 0]
    return (a * a + b * b + c * c) ** 0.5 + (x * x + y * y + z * z) ** 0.5 * radius


@njit
def _bends(first: IntArray, reach: FloatArray, dq: FloatArray, out: FloatArray) -> None:
    """Fill (8, 8) with upper bounds on the acceleration of the points of frame g, seen from frame f.

    The second derivative of a point by two joints is no longer than its distance from the outer one's axis.
    """
    for f in range(8):
        for g in range(8):
            out[f, g] = 0.0
            inner = 0.0
            for j in range(f, g):
                far = 0.0
                for m in range(first[g], first[g + 1]):
                    far = max(far, reach[j, m])
                out[f, g] += abs(dq[j]) * far * (abs(dq[j]) + 2.0 * inner)
                inner += abs(dq[j])


@njit
def _pose(w: Wrapping, q: FloatArray, poses: Poses) -> None:
    """Fill where everything is at joints `q`."""
    _frames(w.links, q, poses.pos, poses.rot)
    for f in range(8):
        _place(poses.pos, poses.rot, f, w.links[f], _BALL, poses.balls, f)
        for m in range(w.first[f], w.first[f + 1]):
            _place(poses.pos, poses.rot, f, w.capsules[m], 0, poses.starts, m)
            _place(poses.pos, poses.rot, f, w.capsules[m], 3, poses.ends, m)


@njit
def _outside(
    w: Wrapping, poses: Poses, speeds: FloatArray, bends: FloatArray, least: float, step: float
) -> float:
    """Return how far, at least `least` and at most `step`, nothing around the arm can be touched; 0 if unknown."""
    for f in range(1, 8):
        low, high = w.first[f], w.first[f + 1]
        fastest = 0.0
        for m in range(low, high):
            fastest = max(fastest, speeds[m])
        bend, ball = bends[0, f], w.links[f, SIZE]
        if fastest == 0.0 and bend == 0.0:
            continue
        for k in range(w.clusters.shape[0]):
            needed = ball + w.cluster_widest[f, k] + step * (fastest + bend * step / 2)
            if ball_gap(w.clusters, k, 3, poses.balls, f) > needed:
                continue
            for j in range(w.cluster_first[k], w.cluster_first[k + 1]):
                needed = ball + w.widest[f, j] + step * (fastest + bend * step / 2)
                if ball_gap(w.boxes, j, SIZE, poses.balls, f) > needed:
                    continue
                if box_gap(w.boxes, j, poses.balls, f) > needed:
                    continue
                for m in range(low, high):
                    free = w.capsules[m, 6] + w.limits[m, j]
                    needed = free + step * (speeds[m] + bend * step / 2)
                    if segment_ball_gap(w.boxes, j, SIZE, poses.starts, poses.ends, m) > needed:
                        continue
                    gap = segment_box_gap(w.boxes, j, poses.starts, poses.ends, m)
                    if gap <= free:
                        return 0.0
                    if gap < needed:
                        step = max(_share(gap - free, speeds[m], bend), least)
    return step


@njit
def _inside(
    w: Wrapping,
    poses: Poses,
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
            speed = _speed(turn, move, f, g, poses.balls, g, w.links[g, SIZE])
            if speed == 0.0 and bend == 0.0:
                continue
            square = 0.0
            for k in range(3):
                square += (poses.balls[f, k] - poses.balls[g, k]) ** 2
            room = square**0.5 - w.links[f, SIZE] - w.links[g, SIZE]
            if room > step * (speed + bend * step / 2):
                continue
            for m in range(w.first[f], w.first[f + 1]):
                for n in range(w.first[g], w.first[g + 1]):
                    if w.own[m, n] == -np.inf:
                        continue
                    room = segment_gap(poses.starts, poses.ends, m, n) - w.capsules[m, 6] - w.capsules[n, 6]
                    room -= w.own[m, n]
                    if room <= 0.0:
                        return 0.0
                    if room < step * (speed + bend * step / 2):
                        step = max(_share(room, speed, bend), least)
    return step


@njit
def _poses(count: int) -> Poses:
    """Return room for poses of so many capsules."""
    return Poses(
        np.empty((8, 3)), np.empty((8, 3, 3)), np.empty((count, 3)), np.empty((count, 3)), np.empty((8, 3))
    )


@njit
def advance(w: Wrapping, rows: FloatArray, row: int, part: float, step_m: float) -> tuple[int, float, float]:
    """Go along the polyline `rows` (n, 7) from a part of a row's line as far as nothing can be touched.

    It looks again before any point has moved further than there is room, or than `step_m` if that is more.

    Returns:
        The row and the part at which the bounds cannot tell, and the part after which no point has moved further
        than `step_m` from there; row n - 1 when all the rest is free.
    """
    count = w.capsules.shape[0]
    poses = _poses(count)
    turn, move, bends = np.empty((8, 3)), np.empty((8, 3)), np.empty((8, 8))
    speeds, dq = np.empty(count), np.empty(7)
    while row < rows.shape[0] - 1:
        for i in range(7):
            dq[i] = rows[row + 1, i] - rows[row, i]
        _bends(w.first, w.reach, dq, bends)
        while part < 1.0:
            _pose(w, rows[row] + part * dq, poses)
            _twists(poses.pos, poses.rot, dq, turn, move)
            fastest = 0.0
            for f in range(8):
                for m in range(w.first[f], w.first[f + 1]):
                    radius = w.capsules[m, 6]
                    speeds[m] = _speed(turn, move, 0, f, poses.starts, m, radius)
                    speeds[m] = max(speeds[m], _speed(turn, move, 0, f, poses.ends, m, radius))
                    fastest = max(fastest, speeds[m])
            least = min(_share(step_m, fastest, bends[0, 7]), 1.0 - part)
            step = _outside(w, poses, speeds, bends, least, 1.0 - part)
            if step > 0.0:
                step = _inside(w, poses, turn, move, bends, least, step)
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
    count = w.capsules.shape[0]
    poses = _poses(count)
    _pose(w, q, poses)
    places[:] = False
    for f in range(1, 8):
        ball = w.links[f, SIZE]
        for k in range(w.clusters.shape[0]):
            first, last = w.cluster_first[k], w.cluster_first[k + 1]
            if places[w.place[first]]:
                continue
            if ball_gap(w.clusters, k, 3, poses.balls, f) > ball + w.cluster_widest[f, k]:
                continue
            for j in range(first, last):
                needed = ball + w.widest[f, j]
                if ball_gap(w.boxes, j, SIZE, poses.balls, f) > needed:
                    continue
                if box_gap(w.boxes, j, poses.balls, f) > needed:
                    continue
                for m in range(w.first[f], w.first[f + 1]):
                    needed = w.capsules[m, 6] + w.limits[m, j]
                    if segment_ball_gap(w.boxes, j, SIZE, poses.starts, poses.ends, m) > needed:
                        continue
                    if segment_box_gap(w.boxes, j, poses.starts, poses.ends, m) <= needed:
                        places[w.place[j]] = True
                        break
    if not places[0]:
        for m in range(count):
            for n in range(m + 1, count):
                if w.own[m, n] > -np.inf:
                    room = segment_gap(poses.starts, poses.ends, m, n) - w.capsules[m, 6] - w.capsules[n, 6]
                    if room <= w.own[m, n]:
                        places[0] = True
    return bool(places.any())
