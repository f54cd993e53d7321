"""The matrix as a table: for each verb the cells, how many were done or refused, and what the canary noticed.

python -m tests.untrusted.matrix                   # everything: some hours
python -m tests.untrusted.matrix 5                 # each fifth op in each place under each verb
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.untrusted.cells import NO_FILE, Cell, try_cell
from tests.untrusted.hostile import HOSTILE
from tests.untrusted.places import PLACES
from tests.untrusted.processes import Ended, run_apart
from tests.untrusted.verbs import VERBS


def main(step: int = 1) -> None:
    """Print each defect as it is found, and the table at the end.

    Args:
        step: Each which op is tried in a place.
    """
    pairs = [(op, place) for place in PLACES for op in HOSTILE][::step]
    cells = [Cell(op, place, verb) for op, place in pairs for verb in VERBS]
    counts: dict[str, Counter[str]] = {verb: Counter() for verb in VERBS}
    for cell, tried in zip(cells, run_apart(try_cell, cells), strict=True):
        what = tried.how if isinstance(tried, Ended) else tried.defect
        outcome = "defect" if what else tried.outcome
        counts[cell.verb][outcome] += 1
        if what:
            sys.stdout.write(f"{cell.op} in {cell.place} under {cell.verb}: {what}\n")
    columns = ("done", "refused", "other refusal", NO_FILE, "defect")
    sys.stdout.write("| verb | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns) + "\n")
    for verb, found in counts.items():
        sys.stdout.write(f"| {verb} | " + " | ".join(str(found[column]) for column in columns) + " |\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
