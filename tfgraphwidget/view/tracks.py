"""Tracks: at which height the horizontal parts of lines run in the space between two rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

_NEAR = 3.0
_BUBBLE, _PACKED = 40, 400


class Net(NamedTuple):
    """One line with all its branches: the x where it comes from above and where from below, both ascending."""

    tops: tuple[float, ...]
    bottoms: tuple[float, ...]


def tracks(nets: Sequence[Net]) -> list[int]:
    """The track of each net, 0 on top; -1 for one that goes straight down. Few crossings, no overlap.

    >>> tracks([Net((0.0,), (50.0,)), Net((20.0,), (20.0,)), Net((30.0,), (90.0,))])
    [1, -1, 0]
    """
    track = [-1] * len(nets)
    bent = [_Bent(i, net) for i, net in enumerate(nets) if len(net.tops) + len(net.bottoms) > 1]
    bent = [net for net in bent if net.high - net.low >= 1.0]
    if len(bent) > _PACKED:
        return _packed(bent, track)
    # Of two lines that go right, the one that starts further right is upper: they do not cross then.
    bent.sort(key=lambda net: net.start)
    if 1 < len(bent) < _BUBBLE:
        _swapped(bent)
    for k, net in enumerate(bent):
        low, high, at = net.low - _NEAR, net.high + _NEAR, 0
        for other in bent[:k]:
            if other.low < high and other.high > low and other.track >= at:
                at = other.track + 1
        track[net.number] = net.track = at
    return track


class _Bent:
    """A net that does not go straight down: its left and right end, and what it is sorted by."""

    __slots__ = ("bottoms", "high", "low", "number", "start", "tops", "track")

    def __init__(self, number: int, net: Net) -> None:
        tops, bottoms = net
        self.number, self.tops, self.bottoms, self.track = number, tops, bottoms, 0
        self.low = min(tops[0], bottoms[0]) if tops and bottoms else (tops or bottoms)[0]
        self.high = max(tops[-1], bottoms[-1]) if tops and bottoms else (tops or bottoms)[-1]
        start = sum(tops) / len(tops) if tops else self.low
        end = sum(bottoms) / len(bottoms) if bottoms else self.high
        self.start = -start if end >= start else start


def _swapped(bent: list[_Bent]) -> None:
    """Exchange neighbours as long as that saves crossings."""
    last = len(bent) - 1
    stale = [True] * last  # pairs that are not known to be right
    for _ in range(_BUBBLE):
        if True not in stale:
            return
        for k in range(last):
            if stale[k]:
                stale[k] = False
                a, b = bent[k], bent[k + 1]
                if a.low - _NEAR < b.high and b.low - _NEAR < a.high and _cost(b, a) < _cost(a, b):
                    bent[k], bent[k + 1] = b, a
                    stale[max(0, k - 1) : k + 2] = [True] * len(stale[max(0, k - 1) : k + 2])
                    stale[k] = False


def _packed(bent: list[_Bent], track: list[int]) -> list[int]:
    """The same for hundreds of nets: from left to right, each on the first track that is free; crossings unheeded."""
    free: list[int] = []
    ends: list[tuple[float, int]] = []
    for net in sorted(bent, key=lambda net: net.low):
        while ends and ends[0][0] + _NEAR < net.low:
            heappush(free, heappop(ends)[1])
        at = heappop(free) if free else len(ends)
        heappush(ends, (net.high, at))
        track[net.number] = at
    return track


def _cost(upper: _Bent, lower: _Bent) -> int:
    """Crossings when `upper` runs above `lower`; lines that would run on top of each other cost more."""
    tops, bottoms = lower.tops, upper.bottoms
    cost = bisect_right(tops, upper.high) - bisect_left(tops, upper.low)
    cost += bisect_right(bottoms, lower.high) - bisect_left(bottoms, lower.low)
    for x in bottoms:
        at = bisect_left(tops, x - _NEAR)
        if at < len(tops) and tops[at] < x + _NEAR:
            cost += 5
    return cost
