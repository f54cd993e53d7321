"""The layout of one container, relative to its upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Point = tuple[float, float]
Ports = tuple[float, ...]
"""The x of each port of a border; NaN for one of another component."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ContainerLayout:
    """Boxes and routes in a container, in pixels.

    Attributes:
        corner: float64 (n, 2), left and top of each node.
        width: of the container's inside.
        height: of the container's inside.
        route: float64 (p, 2), the points of all edges, each from its source to its target.
        points: int64 (m,), how many points each edge has.
        enter: the x where edges come from the upper border, by port.
        leave: the x where edges go to the lower border, by port.
    """

    corner: Floats
    width: float
    height: float
    route: Floats
    points: npt.NDArray[np.int64]
    enter: Ports = ()
    leave: Ports = ()


@dataclass
class MutableLayout:
    """A `ContainerLayout` in lists, while it is being computed."""

    left: list[float]
    top: list[float]
    width: float
    height: float
    routes: list[list[Point]]
    enter: Ports = ()
    leave: Ports = ()

    def to_arrays(self) -> ContainerLayout:
        """Return the layout as arrays."""
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
    """Return the points of all routes in one array, float64 (p, 2)."""
    return np.array([point for route in routes for point in route], dtype=np.float64).reshape(-1, 2)


def remove_collinear(points: list[Point]) -> list[Point]:
    """Return a route without the points in the middle of a straight segment."""
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
