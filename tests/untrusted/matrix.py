"""The matrix as a table: for each method and each effect the runs, and in how many of them there
was an effect.

python -m tests.untrusted.matrix                   # everything: some hours
python -m tests.untrusted.matrix 5                 # each fifth op in each place under each method
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.untrusted.cells import Cell, try_cell
from tests.untrusted.hostile import HOSTILE
from tests.untrusted.places import PLACES
from tests.untrusted.processes import Ended, run_apart
from tests.untrusted.verbs import METHODS


def main(step: int = 1) -> None:
    """Print each defect as it is found, and the table at the end.

    Args:
        step: Each which op is tried in a place.
    """
    pairs = [(op, place) for place in PLACES for op in HOSTILE][::step]
    cells = [Cell(op, place, method) for op, place in pairs for method in METHODS]
    runs, defects, outcomes = Counter[tuple[str, str]](), Counter[tuple[str, str]](), Counter[str]()
    for cell, tried in zip(cells, run_apart(try_cell, cells), strict=True):
        what = tried.how if isinstance(tried, Ended) else tried.defect
        place = cell.method, HOSTILE[cell.op].effect
        runs[place] += 1
        outcomes["defect" if what else tried.outcome] += 1
        if what:
            defects[place] += 1
            sys.stdout.write(f"{cell.op} in {cell.place} under {cell.method}: {what}\n")
            sys.stdout.flush()
    effects = sorted({each.effect for each in HOSTILE.values()})
    sys.stdout.write(
        "| method | " + " | ".join(effects) + " |\n|---|" + "---:|" * len(effects) + "\n"
    )
    for method in METHODS:
        ran = [f"{defects[method, effect]} of {runs[method, effect]}" for effect in effects]
        sys.stdout.write(f"| {method} | " + " | ".join(ran) + " |\n")
    sys.stdout.write(
        f"{runs.total():,} runs, {defects.total():,} with an effect; " + f"{dict(outcomes)}\n"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
