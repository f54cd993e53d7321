"""Matching at 3,000, 10,000 and 100,000 ops; replacing all blocks of Inception v3, against a loop
with `replace`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.bench.results import record
from tests.conftest import v1
from tfgraphwidget.graph.patterns import Match, find_matches, parse

pytestmark = pytest.mark.bench
FIVE_OPS = {
    "plain": "Relu(Pad(Mul(BiasAdd(Conv2D(x, w), b), s), p))",
    "alternatives": "Relu((Pad(Mul(BiasAdd(Conv2D(x, w), b), s), p) | Sub(x, y)))",
    "Identity": "Exp(Identity(Tanh(Relu(Pad(x, p)))))",
}
BLOCK = (
    "Relu(FusedBatchNormV3(Conv2D(x, w=Variable, strides=$s, padding=$p), g=Const, b=Variable, "
    "m=Variable, v=Variable, epsilon=$e, is_training=False))"
)
NEW = (
    "Elu(FusedBatchNormV3(Conv2D(x, w, strides=$s, padding=$p), g, b, m, v, epsilon=$e, "
    "is_training=False))"
)
RUNS = 5
LOOP = 6  # blocks that the loop replaces; it is linear in them


def seconds(work: Callable[[], object]) -> float:
    """Of this process alone, whatever else the machine does."""
    start = time.process_time()
    work()
    return time.process_time() - start


def blocks(ops: int, every: int) -> v1.GraphDef:
    """Ten ops to a block, of which five in each `every`-th block are the pattern."""
    graph_def = v1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder")
    last = "x"
    for k in range(ops // 10):
        scope = f"block_{k}"
        kinds = [
            "Conv2D",
            "BiasAdd",
            "Mul",
            "Pad",
            "Elu" if k % every else "Relu",
            "Tanh",
            "Identity",
            "Exp",
        ]
        for name in ("w", "b"):
            graph_def.node.add(name=f"{scope}/{name}", op="Const")
        for kind in kinds:
            extra = [f"{scope}/w"] if kind in ("Conv2D", "BiasAdd", "Mul", "Pad") else []
            graph_def.node.add(name=f"{scope}/{kind}", op=kind, input=[last, *extra])
            last = f"{scope}/{kind}"
    return graph_def


@pytest.mark.parametrize("kind", FIVE_OPS)
@pytest.mark.parametrize("every", [100_000, 10, 1])
@pytest.mark.parametrize("ops", [3_000, 10_000, 100_000])
def test_match_of_a_pattern_of_five_ops(ops: int, every: int, kind: str) -> None:
    index = tgw.edit(blocks(ops, every))._core.index
    pattern = parse(FIVE_OPS[kind])
    hits = find_matches(index, pattern)
    assert len(hits) == max(1, ops // 10 // every)
    took = [seconds(lambda: find_matches(index, pattern)) for _ in range(5)]
    each = seconds(lambda: [hit.ops for hit in hits])
    what = (
        f"match of five ops ({kind}), {ops:,} ops, {len(hits):,} "
        f"{'match' if len(hits) == 1 else 'matches'}, CPU"
    )
    record(
        "Patterns",
        what,
        "ms",
        [second * 1e3 for second in took],
        note=f"their names {each * 1e3:.0f} ms more",
    )
    assert statistics.median(took) < 0.05


def test_replace_all_blocks_of_inception_against_a_loop(
    inception: tuple[tf.Graph, v1.Session],
) -> None:
    graph, session = inception
    editor = tgw.edit(graph, session=session)
    hits = editor.match(BLOCK)
    at_once, each = [], []
    for _ in range(RUNS):
        at_once.append(seconds(lambda: editor.replace_all(BLOCK, NEW, into="elu")))
        editor.undo()
        each.append(
            seconds(lambda: [replace(editor, hit) for hit in hits[:LOOP]]) / LOOP * len(hits)
        )
        editor.history.goto(0)
    what = f"replace_all of the {len(hits)} blocks of Inception v3, live, CPU"
    note = f"the loop is reckoned from its first {LOOP}"
    record("Patterns", what, "s", at_once, {"a Python loop with replace": each}, note)
    assert statistics.median(at_once) * 5 < statistics.median(each)


def replace(editor: tgw.GraphEditor, hit: Match) -> None:
    def block(
        x: tf.Tensor, w: tf.Tensor, g: tf.Tensor, b: tf.Tensor, m: tf.Tensor, v: tf.Tensor
    ) -> tf.Tensor:
        conv = tf.nn.conv2d(x, w, hit.s, hit.p)
        return tf.nn.elu(
            tf.compat.v1.nn.fused_batch_norm(conv, g, b, m, v, hit.e, is_training=False)[0]
        )

    editor.replace(list(hit.ops), block, remove=True)
