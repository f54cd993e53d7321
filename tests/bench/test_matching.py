"""Matching two graphs: one and the same with some ops more, and with other names."""

from __future__ import annotations

import gc
import time

import pytest

import tfgraphwidget as tgw
from tests.bench.graphs import many_inceptions, v1
from tests.bench.results import record
from tests.graph import changes
from tfgraphwidget.graph import difference

pytestmark = pytest.mark.bench

EDITS = 20
OPS = 3_379  # of an Inception v3


def edited(graph_def: v1.GraphDef) -> v1.GraphDef:
    """The graph with some identities more."""
    copy = v1.GraphDef()
    copy.CopyFrom(graph_def)
    for number in range(EDITS):
        source = graph_def.node[number * len(graph_def.node) // EDITS]
        copy.node.add(name=f"new_{number}", op="Identity", input=[source.name])
    return copy


@pytest.mark.parametrize(
    ("copies", "change", "limit"),
    [(15, "edited", 5.0), (30, "edited", 12.0), (1, "edited", 1.0), (1, "renamed", 1.0)],
)
def test_matching_of_two_graphs(copies: int, change: str, limit: float) -> None:
    graph_def = many_inceptions(copies)
    other = edited(graph_def) if change == "edited" else changes.renamed(graph_def)
    before, after = tgw.edit(graph_def)._core.index, tgw.edit(other)._core.index
    times = []
    for _ in range(3):
        gc.collect()
        start = time.perf_counter()
        found = difference(before, after)
        times.append(time.perf_counter() - start)
    assert len(found.added) == (EDITS if change == "edited" else len(found.removed))
    record("Compare", f"matching of {copies * OPS:,} ops and the same {change}", "s", times, {}, "")
    assert min(times) <= limit
