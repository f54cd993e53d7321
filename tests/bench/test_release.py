"""`make bench` fails for rows that got slower since the last release, and for jobs that grow faster
than n log n.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.release import FEWEST, growths, shortfalls, write
from tests.bench.results import FOLDER, Row


def row(what: str, *ours: float, other: float = 0, unit: str = "ms") -> Row:
    """A row of the chapter on growth."""
    return Row("Grow", what, unit, ours, {"peer": (other,)} if other else {})


@pytest.mark.parametrize(
    ("now", "times"),
    [
        (row("cut", 10, other=20), ""),
        (row("cut", 20, other=40), ""),  # the machine is slower, and the other too
        (row("cut", 20, other=20), "2.00"),
        (row("alone", 10, 14, 15), ""),  # one run was as fast as then
        (row("alone", 14, 15, 16), "1.40"),
        (row("alone", 99, unit="ops"), ""),
        (row("new", 99), ""),
    ],
)
def test_a_row_that_got_slower_is_named(now: Row, times: str, tmp_path: Path) -> None:
    write([row("cut", 10, other=20), row("alone", 10)], tmp_path)
    expected = f"{now.what}: {times} times as long as at the last release."
    assert shortfalls([now], tmp_path) == ([expected] if times else [])


def test_growth_is_a_power_of_the_ops(tmp_path: Path) -> None:
    rows = [
        row(f"{what}, {ops:,} ops (a note)", ops**power)
        for what, power in (("walk", 1.0), ("pairs", 2.0))
        for ops in (100, FEWEST, 100_000, 1_000_000)
    ]
    rows.append(row("once, 1,000,000 ops", 5))
    found = growths(rows)
    assert [(growth.what, round(growth.exponent, 6)) for growth in found] == [
        ("walk", 1.0),
        ("pairs", 2.0),
    ]
    assert (found[0].least, found[0].most) == (FEWEST, 1_000_000)
    write([], tmp_path)
    assert shortfalls(rows, tmp_path) == ["pairs: grows with the ops to the power of 2.00."]


def test_the_results_of_the_last_release_are_there() -> None:
    assert (FOLDER / "release.json").is_file()
