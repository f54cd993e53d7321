"""Selecting on wide graphs, against TensorFlow's own backward walk; and that every walk is linear.

TensorFlow 1.15's graph_editor took 9.4 s for what lies between x and y at 20,000 ops, measured elsewhere: it does not
run on this Python.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import pytest
from tensorflow.python.ops import op_selector

import tfgraphwidget as tgw
from tests.bench.graphs import live, wide
from tests.bench.results import record
from tfgraphwidget.editor import GraphEditor

pytestmark = pytest.mark.bench
SIZES = (5_000, 20_000, 80_000)
WORK: dict[str, Callable[[GraphEditor], object]] = {
    "between": lambda e: e.between("x:0", "y:0"),
    "upstream": lambda e: e.upstream("y"),
    "downstream": lambda e: e.downstream("x"),
    "upstream(stop_at)": lambda e: e.upstream("y", stop_at=["chain_3/add_7:0"]),
    "paths": lambda e: e.paths("x", "y"),
    "path": lambda e: e.path("x", "y"),
    "enclosed": lambda e: e.enclosed(["chain_0/add_3"], by=["y"]),
    "grow": lambda e: e.scope("chain_1").grow(),
    "inputs, outputs": lambda e: (~e.scope("chain_1")).inputs and (~e.scope("chain_1")).outputs,
    "fan_out": lambda e: e.fan_out(2),
    "downstream of half": lambda e: e.downstream(*tensors(e)),
    "ops of half": lambda e: e.ops(*tensors(e)) & e.ops(*tensors(e)),
    "between, 100 inputs": lambda e: e.between([f"chain_{k}/add_3:0" for k in range(100)], "y"),
    "ends": lambda e: e.paths("x", "y").ends,
    "around": lambda e: e.fan_out(2).around(),
}


def tensors(editor: GraphEditor) -> list[str]:
    """Every second op's tensor."""
    return [f"{name}:0" for name in editor.index.names[::2]]


def milliseconds(work: Callable[[], object], times: int = 7) -> tuple[float, float]:
    """Of the first run, and the median of all: of this thread alone, whatever else the machine does."""
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


def test_between_on_a_wide_graph_of_20000_ops() -> None:
    graph = live(wide(20_000))
    editor = tgw.edit(graph)
    first, *ours = runs_of(lambda: editor.between("x:0", "y:0"), 8)
    assert len(editor.between("x:0", "y:0")) == 20_001
    end = graph.get_operation_by_name("y")
    peer = runs_of(lambda: op_selector.get_backward_walk_ops([end]), 5)
    what, note = "what lies between two tensors of a live graph of 20,001 ops", f"the first time {first:.1f} ms"
    record("Select", what, "ms", ours, {"op_selector.get_backward_walk_ops": peer}, note)
    assert statistics.median(ours) <= 10


def test_every_walk_is_linear() -> None:
    editors = [tgw.edit(live(wide(size))) for size in SIZES]
    print(f"\n{'ms at ops':22}" + "".join(f"{size:>10,}" for size in SIZES) + "   80k : 20k")
    for name, work in WORK.items():
        taken = [milliseconds(lambda work=work, e=e: work(e), times=5)[1] for e in editors]  # type: ignore[misc]
        print(f"{name:22}" + "".join(f"{t:>10.1f}" for t in taken) + f"   {taken[2] / taken[1]:.1f}")
        assert taken[2] <= 4 * 2 * max(taken[1], 1), name
