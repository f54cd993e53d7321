"""A clone with variables of its own, against a bare `tf.import_graph_def` of the same nodes; either
goes first in turn.

`pytest -m bench tests/bench -s` prints the table. Each pair runs on a graph of its own, since
graphs only grow. What the bare import adds is read by the editor before its clone is timed: a panel
does that by itself, within a second. Both run in one thread, and their CPU time is taken: that of a
machine with nothing else to do.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from functools import cache

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.bench.graphs import layered
from tests.bench.results import record
from tests.conftest import INCEPTION, INCEPTION_OUTPUT, initialised, v1

pytestmark = pytest.mark.bench
PAIRS = 9
SIZES = {1_000: 15, 5_000: 9, 20_000: 5, 80_000: 3}
BOUND = 1.1


def seconds(work: object, clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of a call by a clock, wall time if none is given, with the garbage of what came before
    collected.
    """
    gc.collect()
    start = clock()
    work()  # type: ignore[operator]
    return clock() - start


def one_pair(ours_first: bool) -> tuple[float, float, float]:
    """CPU seconds of our clone without initialisation and of bare import; wall seconds of a clone
    with values.
    """
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(str(INCEPTION))
    session = initialised(graph)
    editor = tgw.edit(graph, session=session)
    nodes = [graph.get_operation_by_name(name).node_def for name in names_of_the_part()]
    for node in nodes:
        if "_class" in node.attr:
            del node.attr["_class"]  # import_graph_def wants every colocated op among the nodes
    part = v1.GraphDef(node=nodes, versions=graph.graph_def_versions)

    def bare() -> None:
        with graph.as_default():
            tf.import_graph_def(part, name="bare")

    def ours() -> None:
        editor.clone("input:0", INCEPTION_OUTPUT, "ours", init="none")

    times = {}
    for work in (ours, bare) if ours_first else (bare, ours):
        times[work] = seconds(work, time.process_time)
        assert len(editor._core.index) == len(graph.get_operations())
    filled = seconds(lambda: editor.clone("input:0", INCEPTION_OUTPUT, "filled", init="current"))
    session.close()
    return times[ours], times[bare], filled


@cache
def names_of_the_part() -> list[str]:
    """The ops that the clone copies, and the input."""
    meta = v1.MetaGraphDef.FromString(INCEPTION.read_bytes())
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(meta)
    copied = tgw.edit(graph).clone("input:0", INCEPTION_OUTPUT, "copy", init="none").ops
    return ["input", *(name.removeprefix("copy/") for name in copied)]


def test_clone_of_the_inception_body_against_bare_import() -> None:
    pairs = [one_pair(ours_first=number % 2 == 0) for number in range(PAIRS + 1)][1:]
    ratio, spread = ratio_of(pairs)
    what = "clone of Inception's body, 2,701 ops, 378 variables, "
    columns = [[second * 1e3 for second in column] for column in zip(*pairs, strict=True)]
    peer = "tf.import_graph_def of the same nodes"
    record("Clone", f"{what}init='none'", "ms", columns[0], {peer: columns[1]}, spread)
    record("Clone", f"{what}init='current' (95 MB)", "ms", columns[2])
    assert ratio <= BOUND


def ratio_of(pairs: list[tuple[float, float, float]]) -> tuple[float, str]:
    """The median of the ratios of pairs, and a text with their spread."""
    ratios = sorted(ours / bare for ours, bare, _ in pairs)
    ratio = statistics.median(ratios)
    return (
        ratio,
        f"ratio {ratio:.2f} (median of {len(pairs)} pairs, {ratios[0]:.2f} to {ratios[-1]:.2f})",
    )


def layers_pair(meta: v1.MetaGraphDef, ours_first: bool) -> tuple[float, float, float]:
    """CPU seconds per op of our clone and of a bare import of as many ops; wall seconds of its
    initialisation.
    """
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(meta)
    session = v1.Session(graph=graph)
    editor = tgw.edit(graph, session=session)
    nodes = v1.GraphDef()
    nodes.CopyFrom(meta.graph_def)
    for node in nodes.node:
        if "_class" in node.attr and "loc:@" in str(node.attr["_class"]):
            # Among the nodes, as it wants them.
            assert node.attr["_class"].list.s[0][5:].decode() in editor._core.index.ids
    made = []

    def bare() -> None:
        with graph.as_default():
            tf.import_graph_def(nodes, name="bare")

    def ours() -> None:
        made.append(editor.clone("x:0", "y:0", "ours", init="none"))

    times = {}
    for work in (ours, bare) if ours_first else (bare, ours):
        times[work] = seconds(work, time.process_time)
        assert len(editor._core.index) == len(graph.get_operations())
    initialisers = [variable.initializer for variable in made[0].variables]
    filled = seconds(lambda: session.run(initialisers))
    session.close()
    assert len(made[0].ops) == len(nodes.node) - 1  # x stays shared
    return times[ours] / len(made[0].ops), times[bare] / len(nodes.node), filled / len(made[0].ops)


@pytest.mark.parametrize("size", SIZES)
def test_an_own_clone_costs_little_more_than_a_bare_import(size: int) -> None:
    meta = layered(size)
    pairs = [layers_pair(meta, ours_first=number % 2 == 0) for number in range(SIZES[size] + 1)][1:]
    ratio, spread = ratio_of(pairs)
    columns = [[second * 1e6 for second in column] for column in zip(*pairs, strict=True)]
    what = f"clone with own variables, {size:,} ops, per op, CPU"
    record(
        "Clone",
        what,
        "µs",
        columns[0],
        {"tf.import_graph_def of the same nodes": columns[1]},
        spread,
    )
    record(
        "Clone", f"initialization of that, one session.run, {size:,} ops, per op", "µs", columns[2]
    )
    assert ratio <= BOUND
