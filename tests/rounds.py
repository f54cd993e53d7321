"""How much is run, and what it came to."""

from __future__ import annotations

import os
from collections import Counter

ROUNDS = int(os.environ.get("TFGRAPHWIDGET_STRESS", "1"))
_FIRST = int(os.environ.get("TFGRAPHWIDGET_STRESS_SEED", "0"))

COUNTS: Counter[str] = Counter()
"""What this process has run: edits, refusals, faults, files, messages. `conftest.py` prints the sum
of all workers.
"""


def seeds(fixed: int) -> range:
    """The seeds of a test that runs `fixed` of them in `make test`."""
    return range(_FIRST, _FIRST + fixed * ROUNDS)


def count(what: str, number: int = 1) -> None:
    """Add to what was run."""
    COUNTS[what] += number
