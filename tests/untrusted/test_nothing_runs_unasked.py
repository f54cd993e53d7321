"""Whatever a user does with a file that he has not called trusted, none of its ops does more than
compute.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from tests.rounds import ROUNDS, count, seeds
from tests.slow import slow
from tests.untrusted.cells import NO_FILE, Cell, Tried, try_cell, try_control
from tests.untrusted.generic import dangerous_types
from tests.untrusted.hostile import ENDS, HOSTILE, NO_CONTROL
from tests.untrusted.places import PLACES
from tests.untrusted.processes import Ended, run_apart
from tests.untrusted.verbs import METHODS, RAW
from tfgraphwidget.graph import effect_of

SAMPLE = 140  # cells of the matrix in `make test`; most take a tenth of a second
# What runs a graph, or hands it to TensorFlow: what is tried on each op type that there is.
RUNNING = (
    *(
        "session",
        "cost",
        "fold_constants",
        "optimized",
        "save SavedModel of the part",
        "freeze",
        "probe",
        "function",
    ),
    *(
        "clone all",
        "extract",
        "session, insert, undo, redo",
        "session.run",
        "to_bytes, open",
        "call",
    ),
)
PARTS = 5  # of the op types; prime to the numbers of places and methods, so that each part has all
# the share of dangerous op types that a NodeDef can be made of; a shape function refuses the others
BUILT_TYPES = 0.9
slow_in_parts = pytest.mark.skipif(ROUNDS == 1, reason="make stress tries the whole matrix")


def defects(cells: Sequence[Cell], *, built: float = 0.0) -> list[str]:
    """What was wrong with cells, as lines; at least a share of their files could be made."""
    found, made = [], 0
    for cell, tried in zip(cells, run_apart(try_cell, cells), strict=True):
        what = tried.how if isinstance(tried, Ended) else tried.defect
        if what:
            found.append(f"{cell.op} in {cell.place} under {cell.method}: {what}")
        made += isinstance(tried, Tried) and tried.outcome != NO_FILE
    count("hostile files", len(cells))
    assert made >= built * len(cells) - len(found)
    return found


def spread(values: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Each of some values once, in random order, then again in another."""
    while True:
        yield from rng.sample(values, len(values))


def sample(seed: int) -> list[Cell]:
    """Cells in which all ops, places and methods have their turn."""
    rng = random.Random(seed)
    columns = (spread(list(values), rng) for values in (HOSTILE, PLACES, METHODS))
    return [Cell(*cell) for cell in islice(zip(*columns, strict=False), SAMPLE)]


@pytest.mark.slow  # says of the ops of these tests what they are; the others say what we do
def test_each_op_has_its_effect_when_tensorflow_runs_it() -> None:
    ops = [op for op in HOSTILE if op not in NO_CONTROL]
    found = dict(zip(ops, run_apart(try_control, ops, alone=True), strict=True))
    had = {op: ENDS if isinstance(what, Ended) else what for op, what in found.items()}
    assert had == {op: HOSTILE[op].effect for op in ops}


def test_each_op_is_dangerous_by_the_table() -> None:
    assert all(effect_of(op.split(" ")[0]).is_dangerous for op in HOSTILE)


@pytest.mark.parametrize("seed", seeds(1))
def test_no_op_has_its_effect(seed: int) -> None:
    cells = sample(seed)
    assert {cell.method for cell in cells} == set(METHODS)
    assert {cell.op for cell in cells} == set(HOSTILE)
    assert defects(cells, built=BUILT_TYPES) == []


@pytest.mark.parametrize("op", ["PyFunc", "WriteFile"])
def test_no_way_of_a_session_runs_an_op_unasked(op: str) -> None:
    ways = [method for method in METHODS if method.startswith(RAW)]
    assert len(ways) > 3
    assert defects([Cell(op, place, way) for place in ("top", "function") for way in ways]) == []


@pytest.mark.parametrize("part", [0, *map(slow, range(1, PARTS))])
def test_no_op_type_that_there_is_has_its_effect(part: int) -> None:
    places = ("top", "function", "loop", "initializer")
    cells = [
        Cell(op, places[k % len(places)] if k % 3 else "top", RUNNING[k % len(RUNNING)])
        for k, op in enumerate(dangerous_types())
    ]
    assert defects(cells[part::PARTS], built=0.8) == []


@slow_in_parts
@pytest.mark.parametrize("op", HOSTILE)
@pytest.mark.parametrize("place", PLACES)
def test_the_whole_matrix(place: str, op: str) -> None:
    assert defects([Cell(op, place, method) for method in METHODS]) == []


@slow_in_parts
@pytest.mark.parametrize("method", RUNNING)
def test_the_whole_table(method: str) -> None:
    assert (
        defects(
            [Cell(op, place, method) for op in dangerous_types() for place in ("top", "function")]
        )
        == []
    )
