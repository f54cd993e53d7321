"""Harnesses that try to break the editor: random edits, injected faults, damaged files, odd
messages, real models.

`make test` runs fixed seeds. `make stress` runs `TFGRAPHWIDGET_STRESS` times as many, from the seed
`TFGRAPHWIDGET_STRESS_SEED` on, and prints how many edits, faults, files and messages that came to.
"""

from __future__ import annotations

from tests.rounds import COUNTS, ROUNDS, count, seeds
from tests.stress.known import KNOWN, Known, unknown
from tests.stress.sentences import Broken, refusal_of

__all__ = [
    "COUNTS",
    "KNOWN",
    "ROUNDS",
    "Broken",
    "Known",
    "count",
    "refusal_of",
    "seeds",
    "unknown",
]
