"""What `make bench` fails for: a row that got slower than it was at the last release, and a time
that grows faster than the graph.

python -m tests.bench.release    writes release.json of results.json, when a release is made
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.page import rows_of
from tests.bench.results import FOLDER, Row, machine

SLOWER = 1.25  # times as long: what runs of one release differ by, on a machine with other work
FEWEST = 10_000  # ops; below, imports and what is done once take most of the time
STEEPEST = 1.15  # n log n has 1.09 from ten thousand to a million; the rest is what runs differ by
_TIMES = ("s", "ms", "µs")
_SIZE = re.compile(r", ([\d,]+) ops\b.*")


@dataclass(frozen=True)
class Growth:
    """How a job grows with the ops of a graph.

    Attributes:
        what: The job.
        unit: The unit of its figures.
        exponent: Its cost is the number of ops to this power, about.
        least: The ops of the smallest graph that counts.
        most: The ops of the largest.
    """

    what: str
    unit: str
    exponent: float
    least: int
    most: int


def growths(rows: Sequence[Row]) -> list[Growth]:
    """The growth of each job that was measured at two sizes and more from FEWEST ops on.

    Args:
        rows: What was measured.
    """
    medians: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for row in rows:
        size = _SIZE.search(row.what)
        ops = int(size[1].replace(",", "")) if size else 0
        if row.chapter == "Grow" and ops >= FEWEST:
            medians[_SIZE.sub("", row.what), row.unit][ops] = statistics.median(row.ours)
    return [
        Growth(what, unit, _slope(by_ops), min(by_ops), max(by_ops))
        for (what, unit), by_ops in medians.items()
        if len(by_ops) > 1
    ]


def _slope(by_ops: dict[int, float]) -> float:
    """The slope of the line through the logarithms."""
    logarithms = [math.log(ops) for ops in by_ops], [math.log(of) for of in by_ops.values()]
    return statistics.linear_regression(*logarithms).slope


def shortfalls(rows: Sequence[Row], folder: Path = FOLDER) -> list[str]:
    """A sentence on each row that got slower than at the last release, and on each job that grows
    faster than n log n.

    Beside another tool the times as long as its own are compared, of the same run; alone, on the
    same machine, the fastest run with the median of then.

    Args:
        rows: What was measured.
        folder: Where release.json is.
    """
    release = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    is_same_machine = release["machine"] == machine()[0]
    sentences = []
    for row in rows:
        median, ratio = release["rows"].get(row.what, (None, None))
        if row.ratio and ratio:
            times = ratio / row.ratio
        elif median and is_same_machine and row.unit in _TIMES and not row.others:
            times = min(row.ours) / median
        else:
            continue
        if times > SLOWER:
            sentences.append(f"{row.what}: {times:.2f} times as long as at the last release.")
    sentences += [
        f"{growth.what}: grows with the ops to the power of {growth.exponent:.2f}."
        for growth in growths(rows)
        if growth.unit in _TIMES and growth.exponent > STEEPEST
    ]
    return sentences


def write(rows: Sequence[Row], folder: Path = FOLDER) -> None:
    """Write release.json: the median of each row, and the times as long that the fastest other
    took.

    Args:
        rows: What was measured.
        folder: Where to.
    """
    document = {
        "machine": machine()[0],
        "rows": {row.what: (statistics.median(row.ours), row.ratio) for row in rows if row.ours},
    }
    (folder / "release.json").write_text(
        json.dumps(document, indent=0, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    write(rows_of())
