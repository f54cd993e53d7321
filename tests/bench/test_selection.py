"""Selecting on wide graphs, against TensorFlow's own walks; and that every walk is linear."""

from __future__ import annotations

import gc
import statistics
import time
from collections import defaultdict
from collections.abc import Callable

import pytest
import tensorflow as tf
from tensorflow.python.ops import op_selector
from tensorflow.python.util import object_identity

import tfgraphwidget as tgw
from tests.bench.graphs import live, wide
from tests.bench.results import GRAPH_EDITOR, record
from tfgraphwidget.editor import GraphEditor

pytestmark = pytest.mark.bench
SIZES = (5_000, 20_000, 80_000)
WORK: dict[str, Callable[[GraphEditor], object]] = {
    "between": lambda e: e.between("x:0", "y:0"),
    "upstream": lambda e: e.upstream("y"),
    "downstream": lambda e: e.downstream("x"),
    "upstream(stop_at)": lambda e: e.upstream("y", stop_at=["chain_3/add_7:0"]),
    "paths": lambda e: e.path("x", "y", all=True),
    "path": lambda e: e.path("x", "y"),
    "enclosed": lambda e: e.ops("chain_0/add_3").connected(until=["y"]),
    "grow": lambda e: e.ops(scope="chain_1").grow(),
    "inputs, outputs": lambda e: (
        (~e.ops(scope="chain_1")).inputs and (~e.ops(scope="chain_1")).outputs
    ),
    "fan_out": lambda e: e.ops(consumers=2),
    "downstream of half": lambda e: e.downstream(*tensors(e)),
    "ops of half": lambda e: e.ops(*tensors(e)) & e.ops(*tensors(e)),
    "between, 100 inputs": lambda e: e.between([f"chain_{k}/add_3:0" for k in range(100)], "y"),
    "boundary": lambda e: e.path("x", "y", all=True).boundary,
    "around": lambda e: e.ops(consumers=2).around(),
}


def tensors(editor: GraphEditor) -> list[str]:
    """Every second op's tensor."""
    return [f"{name}:0" for name in editor._core.index.names[::2]]


def milliseconds(work: Callable[[], object], times: int = 7) -> tuple[float, float]:
    """Of the first run, and the median of all: of this thread alone, whatever else the machine
    does.
    """
    taken = runs_of(work, times)
    return taken[0], statistics.median(taken)


def runs_of(work: Callable[[], object], times: int) -> list[float]:
    """The milliseconds of each run."""
    taken = []
    for _ in range(times):
        gc.collect()
        start = time.thread_time()
        work()
        taken.append((time.thread_time() - start) * 1e3)
    return taken


def mapped(start: tf.Operation, end: tf.Operation) -> int:
    """How many ops lie between two of one output, as `lift_to_graph` finds them."""
    visited = {start}
    op_selector.map_subgraph(
        init_tensor=end.outputs[0],
        sources=object_identity.ObjectIdentitySet([start.outputs[0]]),
        disallowed_placeholders=None,
        visited_ops=visited,
        op_outputs=defaultdict(set),
        add_sources=False,
    )
    return len(visited) - 1


def test_between_on_a_wide_graph_of_20000_ops() -> None:
    graph = live(wide(20_000))
    editor = tgw.edit(graph)
    first, *ours = runs_of(lambda: editor.between("x:0", "y:0"), 8)
    assert len(editor.between("x:0", "y:0")) == 20_001
    start, end = (graph.get_operation_by_name(name) for name in ("x", "y"))
    peers = {"op_selector.map_subgraph": runs_of(lambda: mapped(start, end), 5)}
    assert mapped(start, end) == len(graph.get_operations()) - 1  # it leaves x out, which is given
    peers["op_selector.get_backward_walk_ops"] = runs_of(
        lambda: op_selector.get_backward_walk_ops([end]), 5
    )
    what, note = (
        "what lies between two tensors of a live graph of 20,001 ops",
        f"the first time {first:.1f} ms",
    )
    record("Select", what, "ms", ours, peers, note, {GRAPH_EDITOR: "9,400 ms"})
    assert statistics.median(ours) <= 10


def test_every_walk_is_linear() -> None:
    editors = [tgw.edit(live(wide(size))) for size in SIZES]
    print(f"\n{'ms at ops':22}" + "".join(f"{size:>10,}" for size in SIZES) + "   80k : 20k")
    for name, work in WORK.items():
        taken = [milliseconds(lambda work=work, e=e: work(e), times=5)[1] for e in editors]  # type: ignore[misc]
        print(
            f"{name:22}" + "".join(f"{t:>10.1f}" for t in taken) + f"   {taken[2] / taken[1]:.1f}"
        )
        assert taken[2] <= 4 * 2 * max(taken[1], 1), name
