"""RRT-Connect over nodes that carry whatever the steering function puts into them.

J. J. Kuffner, S. M. LaValle, "RRT-Connect: an efficient approach to single-query path planning", ICRA 2000.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from libero_safety.types import FloatArray

T = TypeVar("T")


class Node(NamedTuple, Generic[T]):
    """A point (d,) of the space that is searched, in units in which straight distances mean something."""

    point: FloatArray
    payload: T


class _Tree(Generic[T]):
    """Nodes and the node that each came from."""

    def __init__(self, roots: Sequence[Node[T]]) -> None:
        self.nodes = list(roots)
        self.parents = [-1] * len(roots)
        self._points = np.array([node.point for node in roots])

    def nearest(self, point: FloatArray) -> int:
        count = len(self.nodes)
        return int(np.argmin(((self._points[:count] - point) ** 2).sum(axis=1)))

    def add(self, node: Node[T], parent: int) -> int:
        count = len(self.nodes)
        if count == len(self._points):
            self._points = np.concatenate([self._points, np.empty_like(self._points)])
        self._points[count] = node.point
        self.nodes.append(node)
        self.parents.append(parent)
        return count

    def branch(self, index: int) -> list[Node[T]]:
        """Nodes from a root to that one."""
        found: list[Node[T]] = []
        while index >= 0:
            found.append(self.nodes[index])
            index = self.parents[index]
        return found[::-1]


def connect(
    start: Node[T],
    goals: Sequence[Node[T]],
    *,
    sample: Callable[[], FloatArray],
    steer: Callable[[Node[T], FloatArray], Node[T] | None],
    over: Callable[[], bool],
    step: float,
) -> list[FloatArray] | None:
    """Return the points of a way from the start to a goal, or None when it is over.

    Args:
        start: where to begin.
        goals: where to end, any one of them.
        sample: returns a random point (d,).
        steer: returns the node at a point, if the way there from a node is free.
        over: whether to give up; asked once a round.
        step: how far a tree grows at once.
    """
    here, there = _Tree([start]), _Tree(goals)
    forward = True
    while not over():
        new = _grow(here, sample(), steer, step)
        if new is not None:
            target = here.nodes[new].point
            reached: int | None = -1
            while reached is not None:
                reached = _grow(there, target, steer, step)
                if reached is not None and np.array_equal(there.nodes[reached].point, target):
                    first, second = here.branch(new), there.branch(reached)
                    way = [n.point for n in first] + [n.point for n in second[-2::-1]]
                    return way if forward else way[::-1]
                if over():
                    return None
        here, there, forward = there, here, not forward
    return None


def _grow(
    tree: _Tree[T],
    target: FloatArray,
    steer: Callable[[Node[T], FloatArray], Node[T] | None],
    step: float,
) -> int | None:
    """Add a node on the way from the nearest one to the target; return its index, or None if that is not free."""
    nearest = tree.nearest(target)
    origin = tree.nodes[nearest]
    way = target - origin.point
    length = float(np.linalg.norm(way))
    point = target if length <= step else origin.point + way * (step / length)
    node = steer(origin, point)
    return None if node is None else tree.add(node, nearest)
