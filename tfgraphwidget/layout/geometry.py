"""A drawing of one container's inside, relative to its upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Point = tuple[float, float]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContainerLayout:
    """`corner` float64 (n, 2): left and top per node. `route` (p, 2): the points of all lines, each from its source.

    `points` int64 (m,) says how many points each line has. `enter` and `leave` are the x where lines come from the
    border above and go to the border below.
    """

    corner: Floats
    width: float
    height: float
    route: Floats
    points: npt.NDArray[np.int64]
    enter: float | None = None
    leave: float | None = None


@dataclass
class MutableLayout:
    """The same in lists, while it is being drawn."""

    left: list[float]
    top: list[float]
    width: float
    height: float
    routes: list[list[Point]]
    enter: float | None = None
    leave: float | None = None

    def to_arrays(self) -> ContainerLayout:
        """As arrays."""
        return ContainerLayout(
            np.array([self.left, self.top], dtype=np.float64).T.copy(),
            self.width,
            self.height,
            flatten(self.routes),
            np.array([len(route) for route in self.routes], dtype=np.int64),
            self.enter,
            self.leave,
        )


def flatten(routes: Sequence[Sequence[Point]]) -> Floats:
    """The points of all routes in one array (p, 2)."""
    return np.array([point for route in routes for point in route], dtype=np.float64).reshape(-1, 2)


def remove_collinear(points: list[Point]) -> list[Point]:
    """The same way without the points in the middle of a straight piece."""
    result: list[Point] = []
    for point in points:
        x, y = point
        if result:
            u, v = result[-1]
            if abs(u - x) + abs(v - y) < 0.01:
                continue
            while len(result) > 1:
                p, q = result[-2]
                if abs(p - u) + abs(u - x) >= 0.01 and abs(q - v) + abs(v - y) >= 0.01:
                    break
                result.pop()
                u, v = result[-1]
        result.append(point)
    return result
