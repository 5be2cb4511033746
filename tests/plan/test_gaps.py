"""Distances of simple shapes against closed forms and against a fine search."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from libero_safety.plan import gaps


def box(centre, half, turn=None) -> np.ndarray:
    rot = np.eye(3) if turn is None else turn
    return np.array([[*centre, *rot.ravel(), *half, np.linalg.norm(half)]])


def test_points_and_a_box():
    boxes = box((1.0, 0.0, 0.0), (0.5, 0.2, 0.1))
    points = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.8, 0.6, 0.0], [1.5, 0.2, 0.1]])
    assert [gaps.box_gap(boxes, 0, points, i) for i in range(4)] == pytest.approx([0.0, 0.5, 0.5, 0.0])
    assert gaps.ball_gap(boxes, 0, gaps.SIZE, points, 1) == pytest.approx(1.0 - np.sqrt(0.3))


def test_segments_and_boxes():
    rng = np.random.default_rng(0)
    along = np.linspace(0.0, 1.0, 2001)[:, None]
    for _ in range(100):
        turn = Rotation.random(random_state=rng).as_matrix()
        boxes = box(rng.normal(0, 0.3, 3), rng.uniform(0.05, 0.3, 3), turn)
        starts, ends = rng.normal(0, 0.5, (1, 3)), rng.normal(0, 0.5, (1, 3))
        points = starts + along * (ends - starts)
        exact = min(gaps.box_gap(boxes, 0, points, i) for i in range(len(points)))
        bound = gaps.segment_box_gap(boxes, 0, starts, ends, 0)
        assert exact - np.linalg.norm(ends - starts) / 256 - 1e-3 <= bound <= exact + 1e-12
        nearest = min(gaps.ball_gap(boxes, 0, gaps.SIZE, points, i) for i in range(len(points)))
        ball = gaps.segment_ball_gap(boxes, 0, gaps.SIZE, starts, ends, 0)
        assert nearest - 1e-3 <= ball <= min(nearest, exact) + 1e-12


def test_a_segment_of_no_length_and_a_ball():
    points = np.array([[2.0, 0.0, 0.0]])
    ball = gaps.segment_ball_gap(box((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 0, gaps.SIZE, points, points, 0)
    assert ball == pytest.approx(1.0)


def test_segments():
    starts = np.array([[0.0, 0, 0], [0.5, 1, -1], [0.0, 0, 3], [2.0, 0, 0], [0.2, 0.3, 0]])
    ends = np.array([[1.0, 0, 0], [0.5, 1, 1], [1.0, 0, 3], [3.0, 0, 0], [0.2, 0.3, 0]])
    crossing, parallel, in_line, point = (gaps.segment_gap(starts, ends, 0, n) for n in (1, 2, 3, 4))
    assert (crossing, parallel, in_line, point) == pytest.approx((1.0, 3.0, 1.0, 0.3))
    assert gaps.segment_gap(starts, ends, 4, 0) == pytest.approx(0.3)
