"""Prints, at the end of `make stress`, what was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stress import COUNTS, KNOWN


@pytest.fixture(autouse=True)
def _counts(record_property: Any) -> Iterator[None]:
    """What a test has run goes along with its report, from whichever process."""
    before = COUNTS.copy()
    yield
    for what, number in (COUNTS - before).items():
        record_property(f"stress {what}", number)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The sums over all tests and processes."""
    total: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for key, number in report.user_properties:
                    if key.startswith("stress "):
                        total[key.removeprefix("stress ")] += number
    if total:
        terminalreporter.write_line(
            "Run: " + ", ".join(f"{number:,} {what}" for what, number in sorted(total.items()))
        )
    _print_longest_interrupt(terminalreporter)
    _print_real_models(terminalreporter)
    for known in KNOWN:
        terminalreporter.write_line(f"Passed over, since it is open: {known.name}: {known.reason}")


def _print_longest_interrupt(terminalreporter: Any) -> None:
    """The longest time from an interrupt to control, and the call that was interrupted."""
    found = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "teardown"
        for key, value in report.user_properties
        if key == "longest interrupt"
    ]
    if found:
        case, seconds = max(found, key=lambda pair: pair[1])
        terminalreporter.write_line(
            f"Longest time from an interrupt to control: {1000 * seconds:.0f} ms, in {case}"
        )


def _print_real_models(terminalreporter: Any) -> None:
    """What `test_real_models.py` has found, as a table: the seconds of each step, or FAILED."""
    found: dict[str, dict[str, str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for key, value in report.user_properties:
                    if key == "real model":
                        found.setdefault(value[0], {})[value[1]] = value[2]
    steps = list(next(iter(found.values()), ()))
    width = max(map(len, found), default=0)
    widths = {step: max(len(step), 7) for step in steps}
    if found:
        terminalreporter.write_line(
            f"{'Seconds of':{width}}  " + "  ".join(f"{step:>{widths[step]}}" for step in steps)
        )
    for name, seconds in found.items():
        cells = (f"{seconds.get(step, ''):>{widths[step]}}" for step in steps)
        terminalreporter.write_line(f"{name:{width}}  " + "  ".join(cells))
