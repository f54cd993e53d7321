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
_ABOUT_FEWEST = 1.25  # times the fewest values: after a ConcatV2 of two there is one less


class _Run(NamedTuple):
    """Boxes from number `first` up to `stop`, of which each is like the one a period later."""

    first: int
    stop: int
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
    place = np.full(len(color), -1)
    place[boxes] = np.arange(len(boxes))
    inner = (place[lines[0]] >= 0) & (place[lines[1]] >= 0)
    reads = place[lines[0]][inner], place[lines[1]][inner]
    steps: list[list[int]] = []
    stretches = [(0, len(boxes))]
    while stretches:
        start, end = stretches.pop()
        run = _longest_run(color[boxes[start:end]], start)
        if run is None:
            continue
        stretches += [(start, run.first), (run.stop, end)]
        cut = run.first + _phase(run, reads)
        count = (run.stop - cut) // run.period
        if _follow_each_other(cut, count, run.period, reads):
            cuts = range(cut, cut + count * run.period, run.period)
            steps += [boxes[cut : cut + run.period] for cut in cuts]
    return steps


def _longest_run(color: Hashes, start: int) -> _Run | None:
    """The run that covers the most boxes, of those the one of the shortest period; ops of one type
    in a row are no steps.
    """
    runs = []
    for period in range(_LEAST_LENGTH, min(_MOST_LENGTH, len(color) // _LEAST_STEPS) + 1):
        is_same = np.concatenate([[False], color[:-period] == color[period:], [False]])
        bounds = np.flatnonzero(np.diff(is_same.astype(np.int8)))
        firsts, lengths = bounds[::2], bounds[1::2] - bounds[::2]
        for at in np.argsort(-lengths).tolist():
            if lengths[at] < (_LEAST_STEPS - 1) * period:
                break
            first = int(firsts[at])
            if (color[first : first + period] != color[first]).any():
                stop = first + int(lengths[at]) + period
                runs.append(_Run(start + first, start + stop, period))
                break
    most = max((run.stop - run.first for run in runs), default=0)
    return next((run for run in runs if run.stop - run.first >= _ABOUT_ALL * most), None)


def _phase(run: _Run, reads: Lines) -> int:
    """How many boxes of a run come before the first cut: where about the fewest values pass."""
    inner = (reads[0] >= run.first) & (reads[1] < run.stop) & (reads[0] < reads[1])
    source, target = reads[0][inner] - run.first, reads[1][inner] - run.first
    count = run.stop - run.first
    furthest = np.zeros(count, dtype=np.int64)  # of each box the last of those that read it
    np.maximum.at(furthest, source, target)
    is_read = np.flatnonzero(furthest)
    passing = np.zeros(count + 1, dtype=np.int64)
    passing[is_read + 1] += 1  # from right after it on
    np.add.at(passing, furthest[is_read] + 1, -1)
    across = np.cumsum(passing)[run.period : count - count % run.period]  # not what comes before
    total = across.reshape(-1, run.period).sum(axis=0)
    return int((total <= _ABOUT_FEWEST * total.min()).argmax())


def _follow_each_other(cut: int, count: int, period: int, reads: Lines) -> bool:
    """Whether each step but the first reads the one before: others are strands, side by side."""
    before, after = (reads[0] - cut) // period, (reads[1] - cut) // period
    passes = np.zeros(count, dtype=bool)
    passes[before[(after == before + 1) & (before >= 0) & (after < count)]] = True
    return count >= _LEAST_STEPS - 1 and bool(passes[: count - 1].all())
