"""One edge of a graph of 50,000 ops moved, and moved back; against importing the graph again with
the edge changed.

That is what people do today: TensorFlow has no public call that changes an edge. `pytest -m bench
tests/bench -s` prints the table.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.bench.graphs import layered, wide
from tests.bench.results import record
from tests.conftest import v1
from tests.edits.test_rewiring_at_random import Random, seen, written
from tests.graph_editor.corpus import fresh_graph
from tfgraphwidget.edits.patch import Patch

pytestmark = pytest.mark.bench
OPS, ROUNDS = 50_000, 41

GRAPHS: dict[str, tuple[Callable[[], v1.MetaGraphDef], str, str]] = {
    "wide": (lambda: v1.MetaGraphDef(graph_def=wide(OPS)), "chain_50/add_250:0", "chain_7/add_3:0"),
    "layered": (lambda: layered(OPS), "layer_900/Relu:0", "layer_900/BiasAdd:0"),
}


class Clock:
    """Milliseconds of calls: by the clock on the wall, and of this thread alone, whatever else the
    machine does.
    """

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.own: list[float] = []

    def time(self, work: Callable[[], object]) -> None:
        before = time.perf_counter(), time.thread_time()
        work()
        after = time.perf_counter(), time.thread_time()
        self.wall.append((after[0] - before[0]) * 1e3)
        self.own.append((after[1] - before[1]) * 1e3)

    def __str__(self) -> str:
        wall, own = (statistics.median(times[1:] or times) for times in (self.wall, self.own))
        return (
            f"{wall:.2f} ms (of this thread {own:.2f}, best {min(self.own):.2f}; the first "
            f"{self.wall[0]:.1f})"
        )


def import_again(graph_def: v1.GraphDef, old: str, new: str) -> None:
    """Import a GraphDef in which the readers of one tensor read another."""
    changed = v1.GraphDef()
    changed.CopyFrom(graph_def)
    was, instead = old.removesuffix(":0"), new.removesuffix(":0")
    for node in changed.node:
        for k, text in enumerate(node.input):
            if text == was:
                node.input[k] = instead
    with tf.Graph().as_default():
        tf.import_graph_def(changed, name="")


@pytest.mark.parametrize("where", ["live graph", "file"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_reroute_and_its_undo_against_an_import_of_the_graph(
    kind: str, where: str, tmp_path: Path
) -> None:
    make, old, new = GRAPHS[kind]
    meta = make()
    if where == "file":
        (tmp_path / "graph.pb").write_bytes(meta.graph_def.SerializeToString())
        editor = tgw.edit(tmp_path / "graph.pb")
    else:
        with tf.Graph().as_default() as graph:
            v1.train.import_meta_graph(meta)
        editor = tgw.edit(graph)
    there, back, imported = Clock(), Clock(), Clock()
    gc.collect()
    for _ in range(ROUNDS):
        there.time(lambda: editor.reroute(old, to=new))
        back.time(editor.undo)
    imported.time(lambda: import_again(meta.graph_def, old, new))
    ratio = imported.wall[0] / statistics.median(there.wall[1:])
    what = f"{kind}, {where}, {len(editor._core.index):,} ops"
    record(
        "Edit",
        f"reroute, {what}",
        "ms",
        there.wall[1:],
        {"tf.import_graph_def with input_map": imported.wall[0]},
    )
    record("Edit", f"undo of that, {what}", "ms", back.wall[1:])
    assert ratio >= 50
    assert statistics.median(back.wall[1:]) * 50 <= imported.wall[0]


def test_ten_thousand_edits_leave_no_drift_and_memory_grows_with_the_edits_only() -> None:
    editor = tgw.edit(fresh_graph("graphs/rand_dag_1.meta.pb", []))
    before, at_random, ways = seen(editor), Random(editor, seed=11), random.Random(5)
    sizes, done = [], 0
    tracemalloc.start()
    start = time.perf_counter()
    while done < 10_000:
        way = ways.random()
        if way < 0.4:
            done += at_random.edit()
        elif way < 0.7 and editor.history.done:
            editor.undo()
            done += 1
        elif editor.history.undone:
            editor.redo()
            done += 1
        if done % 1_000 == 0 and len(sizes) < done // 1_000:
            gc.collect()
            at_random.refused.clear()
            steps = len(editor.history.done) + len(editor.history.undone)
            sizes.append(
                (tracemalloc.get_traced_memory()[0], steps, len(editor.graph.get_operations()))
            )
    spent = time.perf_counter() - start
    tracemalloc.stop()
    assert {
        n.name: n.SerializeToString(deterministic=True) for n in editor._core.index.nodes
    } == written(editor)
    editor.history.goto(0)
    assert seen(editor) == before
    record(
        "Edit",
        "10,000 random edits, undos and redos, each (while memory is traced)",
        "ms",
        spent * 1e3 / 10_000,
    )
    for size, steps, ops in sizes:
        print(
            f"{size / 1e6:7.1f} MB, {steps:6,} edits remembered, {ops:6,} ops in TensorFlow's graph"
        )
    assert isinstance(editor.history.undone[-1].patch, Patch)
