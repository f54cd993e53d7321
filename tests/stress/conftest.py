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
        terminalreporter.write_line("Run: " + ", ".join(f"{number:,} {what}" for what, number in sorted(total.items())))
    for known in KNOWN:
        terminalreporter.write_line(f"Passed over, since it is open: {known.name}: {known.reason}")
