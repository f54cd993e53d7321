"""Steps: what a loop of Python made again and again, such as a recurrent network that is unrolled.

`for t in range(20)` puts twenty copies of the same ops side by side, without a scope around each.
In the order in which they were made, ops of the same types come again at the same distance, the
period. Each period is a box. It is cut where the fewest values pass from one to the next, which are
the state; without one, they are strands that lie side by side, of which `repeats` makes folds. What
a step reads was made before it, so that such boxes are in no cycle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tfgraphwidget.hierarchy.quotient import Lines
from tfgraphwidget.hierarchy.structural_hash import Hashes

_LEAST_STEPS = 4
_LEAST_LENGTH = 3  # boxes of a step
_MOST_LENGTH = 96  # boxes of a step
_ABOUT_ALL = 0.95  # of the boxes: a longer period that covers little more is several steps in one


class _Run(NamedTuple):
    """Boxes from number `first` on, of which each is like the one a period later."""

    covered: int
    first: int
    period: int


def find_steps(boxes: list[int], color: Hashes, lines: Lines) -> list[list[int]]:
    """Find the steps among the boxes of a container.

    Args:
        boxes: The siblings that are drawn as boxes, in the order in which they were made.
        color: A number per thing, equal for things that are alike.
        lines: (source, target) of the data edges between siblings.

    Returns:
        The boxes of each step, in their order; none where nothing comes again often enough.
    """
    steps: list[list[int]] = []
    stretches = [boxes]
    while stretches:
        stretch = stretches.pop()
        run = _longest_run(color[stretch])
        if run is None:
            continue
        cut = run.first + _phase(stretch[run.first : run.first + run.covered], run.period, lines)
        stop = run.first + run.covered
        starts = range(cut, stop - run.period + 1, run.period)
        rounds = [stretch[start : start + run.period] for start in starts]
        if _follow_each_other(rounds, lines):
            steps += rounds
        stretches += [stretch[: run.first], stretch[stop:]]
    return steps


def _longest_run(color: Hashes) -> _Run | None:
    """The run that covers the most boxes, of those the one of the shortest period."""
    runs = []
    for period in range(_LEAST_LENGTH, min(_MOST_LENGTH, len(color) // _LEAST_STEPS) + 1):
        is_same = np.concatenate([[False], color[:-period] == color[period:], [False]])
        edges = np.flatnonzero(np.diff(is_same.astype(np.int8)))
        lengths = edges[1::2] - edges[::2]
        if len(lengths) and lengths.max() >= (_LEAST_STEPS - 1) * period:
            first = int(edges[2 * int(lengths.argmax())])
            runs.append(_Run(int(lengths.max()) + period, first, period))
    if not runs:
        return None
    most = max(run.covered for run in runs)
    return next(run for run in runs if run.covered >= _ABOUT_ALL * most)


def _follow_each_other(rounds: list[list[int]], lines: Lines) -> bool:
    """Whether each round but the first reads the one before: others are strands, side by side."""
    round_of = {box: number for number, boxes in enumerate(rounds) for box in boxes}
    pairs = zip(lines[0].tolist(), lines[1].tolist(), strict=True)
    passed = {(round_of.get(source, -1), round_of.get(target, -1)) for source, target in pairs}
    return all((number, number + 1) in passed for number in range(len(rounds) - 1))


def _phase(boxes: list[int], period: int, lines: Lines) -> int:
    """How many boxes of a run come before the first cut: where the fewest values pass."""
    place = {box: at for at, box in enumerate(boxes)}
    passing = np.zeros(len(boxes) + 1, dtype=np.int64)
    last: dict[int, int] = {}  # of each box the furthest of those that read it
    for source, target in zip(lines[0].tolist(), lines[1].tolist(), strict=True):
        if source in place and target in place:
            last[source] = max(last.get(source, 0), place[target])
    for source, furthest in last.items():
        passing[place[source] + 1] += 1  # from right after it on
        passing[furthest + 1] -= 1
    across = np.cumsum(passing)[:-1]
    inner = across[period : len(boxes) - len(boxes) % period]  # what comes before the run is not it
    return int(inner.reshape(-1, period).sum(axis=0).argmin())
