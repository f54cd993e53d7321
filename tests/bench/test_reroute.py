"""One edge of a graph of 50,000 ops moved, and moved back; against importing the graph anew with the edge changed.

That is what people do today: TensorFlow has no public call that changes an edge. `pytest -m bench tests/bench -s`
prints the table.
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
from tests.bench.graphs import layered, many_inceptions, wide
from tests.conftest import v1
from tests.edits.test_rewiring_at_random import Random, seen, written
from tests.graph_editor.corpus import fresh_graph
from tfgraphwidget.edits.patch import Patch

pytestmark = pytest.mark.bench
OPS, ROUNDS = 50_000, 41

GRAPHS: dict[str, tuple[Callable[[], v1.GraphDef], str, str]] = {
    "wide": (lambda: wide(OPS), "chain_50/add_250:0", "chain_7/add_3:0"),
    "layered": (lambda: layered(OPS).graph_def, "layer_900/Relu:0", "layer_900/BiasAdd:0"),
    "fifteen inceptions": (
        lambda: many_inceptions(15),
        "tower_7/net/InceptionV3/InceptionV3/Mixed_6a/concat:0",
        "tower_7/net/InceptionV3/InceptionV3/Mixed_6b/concat:0",
    ),
}


def milliseconds(work: Callable[[], object]) -> float:
    """Wall time of a call."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def imported_anew(graph_def: v1.GraphDef, old: str, new: str) -> float:
    """Milliseconds of a fresh import of the GraphDef, in which the readers of one tensor read another."""

    def work() -> None:
        changed = v1.GraphDef()
        changed.CopyFrom(graph_def)
        was, is_ = old.removesuffix(":0"), new.removesuffix(":0")
        for node in changed.node:
            for k, text in enumerate(node.input):
                if text == was and node.name != is_:
                    node.input[k] = is_
        with tf.Graph().as_default():
            tf.import_graph_def(changed, name="")

    return milliseconds(work)


@pytest.mark.parametrize("where", ["live graph", "file"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_reroute_and_its_undo_take_five_milliseconds(kind: str, where: str, tmp_path: Path) -> None:
    make, old, new = GRAPHS[kind]
    graph_def = make()
    if where == "file":
        (tmp_path / "graph.pb").write_bytes(graph_def.SerializeToString())
        editor = tgw.edit(tmp_path / "graph.pb")
    else:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        editor = tgw.edit(graph)
    never = [new.removesuffix(":0")]
    if kind == "fifteen inceptions":
        old, new = new, old  # what comes later is passed by
        never = []
    there, back = [], []
    gc.collect()
    for _ in range(ROUNDS):
        there.append(milliseconds(lambda: editor.reroute(old, to=new, never=never)))
        back.append(milliseconds(editor.undo))
    anew = statistics.median(imported_anew(graph_def, old, new) for _ in range(3))
    do, undo = statistics.median(there[1:]), statistics.median(back[1:])
    print(
        f"\n{kind}, {where}, {len(editor.index):,} ops: reroute {do:.2f} ms (the first {there[0]:.1f}), undo "
        f"{undo:.2f} ms; anew by tf.import_graph_def {anew:.0f} ms, {anew / do:.0f} times as long"
    )
    assert do * 50 <= anew
    assert undo * 50 <= anew


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
            sizes.append((tracemalloc.get_traced_memory()[0], steps, len(editor.graph.get_operations())))
    spent = time.perf_counter() - start
    tracemalloc.stop()
    assert {n.name: n.SerializeToString(deterministic=True) for n in editor.index.nodes} == written(editor)
    editor.jump(0)
    assert seen(editor) == before
    print(f"\n10,000 steps, {spent * 1e3 / 10_000:.1f} ms each (tracing memory)")
    for size, steps, ops in sizes:
        print(f"{size / 1e6:7.1f} MB, {steps:6,} edits remembered, {ops:6,} ops in TensorFlow's graph")
    assert isinstance(editor.history.undone[-1].patch, Patch)
