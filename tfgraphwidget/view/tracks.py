"""Tracks: at which height the horizontal parts of lines run in the space between two rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

_NEAR = 3.0
_BUBBLE = 40


class Net(NamedTuple):
    """One line with all its branches: the x where it comes from above and where from below, both ascending."""

    tops: tuple[float, ...]
    bottoms: tuple[float, ...]

    @property
    def low(self) -> float:
        """Its left end."""
        return min(self.tops[:1] + self.bottoms[:1])

    @property
    def high(self) -> float:
        """Its right end."""
        return max(self.tops[-1:] + self.bottoms[-1:])


def tracks(nets: Sequence[Net]) -> list[int]:
    """The track of each net, 0 on top; -1 for one that goes straight down. Few crossings, no overlap.

    >>> tracks([Net((0.0,), (50.0,)), Net((20.0,), (20.0,)), Net((30.0,), (90.0,))])
    [1, -1, 0]
    """
    track = [-1] * len(nets)
    bent = [i for i, net in enumerate(nets) if net.high - net.low >= 1.0]
    # Of two lines that go right, the one that starts further right is upper: they do not cross then.
    bent.sort(key=lambda i: _start(nets[i]))
    for _ in range(_BUBBLE if len(bent) < _BUBBLE else 0):
        moved = False
        for k in range(len(bent) - 1):
            a, b = nets[bent[k]], nets[bent[k + 1]]
            if _cost(b, a) < _cost(a, b):
                bent[k], bent[k + 1], moved = bent[k + 1], bent[k], True
        if not moved:
            break
    ends: list[float] = []
    if len(bent) > 400:
        return _packed(nets, bent, track, ends)
    for k, i in enumerate(bent):
        low, high = nets[i].low - _NEAR, nets[i].high + _NEAR
        over = [track[j] for j in bent[:k] if nets[j].low < high and nets[j].high > low]
        track[i] = max(over, default=-1) + 1
    return track


def _packed(nets: Sequence[Net], bent: list[int], track: list[int], ends: list[float]) -> list[int]:
    """The same for hundreds of nets: from left to right, each on the first track that is free; crossings unheeded."""
    for i in sorted(bent, key=lambda i: nets[i].low):
        at = next((t for t, end in enumerate(ends) if end + _NEAR < nets[i].low), len(ends))
        ends[at : at + 1] = [nets[i].high]
        track[i] = at
    return track


def _start(net: Net) -> float:
    start = sum(net.tops) / len(net.tops) if net.tops else net.low
    end = sum(net.bottoms) / len(net.bottoms) if net.bottoms else net.high
    return -start if end >= start else start


def _cost(upper: Net, lower: Net) -> float:
    """Crossings when `upper` runs above `lower`; lines that would run on top of each other cost more."""
    cost: float = _between(lower.tops, upper) + _between(upper.bottoms, lower)
    for x in upper.bottoms:
        at = bisect_left(lower.tops, x - _NEAR)
        cost += 5 * (at < len(lower.tops) and lower.tops[at] < x + _NEAR)
    return cost


def _between(points: tuple[float, ...], net: Net) -> int:
    return bisect_right(points, net.high) - bisect_left(points, net.low)
