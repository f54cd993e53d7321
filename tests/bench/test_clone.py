"""A clone with variables of its own, against a bare `tf.import_graph_def` of the same nodes, in turn.

`pytest -m bench tests/bench -s` prints the table. Each pair runs on a graph of its own, since graphs only grow.
"""

from __future__ import annotations

import gc
import statistics
import time

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, INCEPTION_OUTPUT, initialised, v1

pytestmark = pytest.mark.bench
PAIRS = 9


def seconds(work: object) -> float:
    """Wall time of a call, with the garbage of what came before collected."""
    gc.collect()
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def one_pair() -> tuple[float, float, float]:
    """Seconds of our clone without initialisation, of bare import, and of initialisation with present values."""
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(str(INCEPTION))
    session = initialised(graph)
    editor = tgw.edit(graph, session=session)
    whole = len(editor.index)
    ours = seconds(lambda: editor.clone("input:0", INCEPTION_OUTPUT, "ours", init="none"))
    nodes = [n for n in graph.as_graph_def().node if n.name.startswith("ours/") or n.name == "input"]
    part = v1.GraphDef(node=nodes, versions=graph.graph_def_versions)
    with graph.as_default():
        bare = seconds(lambda: tf.import_graph_def(part, name="bare"))
    editor.undo()
    assert len(editor.index) >= whole
    filled = seconds(lambda: editor.clone("input:0", INCEPTION_OUTPUT, "filled", init="current"))
    session.close()
    return ours, bare, filled


def test_clone_of_the_inception_body_against_bare_import() -> None:
    pairs = [one_pair() for _ in range(PAIRS + 1)][1:]
    ours, bare, filled = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b, _ in pairs)
    print(f"\nclone of 2,701 ops, 378 variables, init='none': {ours * 1e3:.0f} ms (all included)")
    print(f"tf.import_graph_def of the same nodes:          {bare * 1e3:.0f} ms; ratio {ratio:.2f} (median of pairs)")
    print(f"the same clone with init='current' (95 MB):     {filled * 1e3:.0f} ms")
    assert ratio <= 2
