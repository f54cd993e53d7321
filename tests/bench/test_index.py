"""The index of a live graph, against `graph.as_graph_def()` of the same graph in the same run;
growth; memory.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
import tracemalloc
from functools import cached_property

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.bench.graphs import live, many_inceptions, wide
from tests.bench.results import record
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.tf_internals import graph_def_bytes

pytestmark = pytest.mark.bench


CACHED = [name for name, held in vars(GraphIndex).items() if isinstance(held, cached_property)]


def seconds(work: object) -> float:
    """Wall time of a call."""
    gc.collect()
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


@pytest.mark.parametrize(
    "made", [lambda: wide(100_000), lambda: many_inceptions(30)], ids=["wide", "inceptions"]
)
def test_index_of_a_live_graph_of_100000_ops(made: object) -> None:
    graph = live(made())  # type: ignore[operator]
    body = tgw.edit(graph)._core.source.body
    pairs = [(seconds(lambda: build(body.nodes())), seconds(graph.as_graph_def)) for _ in range(9)][
        1:
    ]
    ours = statistics.median(pair[0] for pair in pairs)
    ratio = statistics.median(a / b for a, b in pairs)
    columns = [list(column) for column in zip(*pairs, strict=True)]
    of_both = statistics.median(seconds(lambda: graph_def_bytes(graph)) for _ in range(5))
    what = f"index of {len(graph.get_operations()):,} live ops"
    record(
        "Read",
        what,
        "s",
        columns[0],
        {"graph.as_graph_def()": columns[1]},
        f"ratio {ratio:.2f}; TensorFlow's serialization, in both, {of_both:.3g} s; the rest is a "
        "text and a look-up for each name and input, which as_graph_def leaves to its user",
    )
    assert ratio <= 2.5
    assert ours <= 1.5


@pytest.mark.parametrize("size", [25_000, 100_000])
def test_growing_by_1000_ops(size: int) -> None:
    graph = live(wide(size))
    editor = tgw.edit(graph)
    assert len(editor._core.index) > size - 100
    taken = []
    for _ in range(9):
        with graph.as_default():
            x = graph.get_tensor_by_name("x:0")
            for _ in range(1_000):
                x = tf.raw_ops.Identity(input=x)
        taken.append(seconds(lambda: editor._core.index))
    record(
        "Read",
        f"1,000 new ops in a live graph of {size:,}",
        "ms",
        [1e3 * second for second in taken],
    )
    assert editor._core.index.names[-1] == x.op.name
    assert statistics.median(taken) <= 0.030


def test_memory_of_an_index() -> None:
    nodes = list(many_inceptions(30).node)
    gc.collect()
    tracemalloc.start()
    index = build(nodes)
    for name in CACHED:
        getattr(index, name)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    record(
        "Read",
        f"memory of an index beyond its NodeDefs, {len(index):,} ops, per op",
        "bytes",
        held / len(index),
    )
    assert held / len(index) <= 1024


def test_importing_the_package() -> None:
    code = (
        "import time; t = time.perf_counter(); import tfgraphwidget, sys; "
        "print(time.perf_counter() - t)"
    )
    code += "; assert 'tensorflow' not in sys.modules"
    taken = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    record(
        "Read",
        "import tfgraphwidget, cold, without TensorFlow",
        "ms",
        [1e3 * second for second in taken],
    )
    assert statistics.median(taken) <= 0.3
