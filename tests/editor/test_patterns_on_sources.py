"""The rules of patterns on one network from six sources: each pattern finds as much, each
replacement computes as much.

1. A pattern is a connected DAG over tensors; a name used twice is one tensor.
2. Two ops of a pattern are two ops of the graph.
3. The number of inputs is exact but for `...`; control inputs count only if written, and move to
  the replacement.
4. What somebody outside reads, fetches or waits for inside is a match that is not replaced, and
  says why.
5. Inputs of commutative ops match in any order.
6. Identity ops and reads of variables are seen through.
7. Attributes are any, a value, a set, a condition; dtypes of one name are one.
8. Constants match by value, with a tolerance, as scalars and arrays of one number.
9. Shapes are written as in queries.
10. A match is in one graph: never across a function's body or into half a loop.
11. Ops with state match only when named, and are replaced with `effects=True`.
12. Of matches that overlap the first in topological order is replaced; `until="fixed"` repeats.
13. A replacement is traced once for a signature; it is one step of history, one line of code.
14. The report says what was replaced, what not and why; `compare` is the proof.
15. It is fast; the number of matches is limited; it can be canceled.

`# semantics N` in this folder, tests/graph/patterns and tests/edits says which tests show which.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.nothing import says_nothing

VALUES = {
    "w": np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4),
    "b": np.arange(4, dtype=np.float32),
}
SPEC = tf.TensorSpec([None, 4], tf.float32, name="x")


def network(x: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """A dense layer, two swishes of which one is written the other way round, a GELU, and a bit of
    everything.
    """
    h = tf.nn.bias_add(tf.matmul(x, w), b)
    h = tf.multiply(h, tf.sigmoid(h))
    h = tf.multiply(tf.sigmoid(h), h)
    h = (h * 0.5) * (tf.math.erf(h / 1.4142135) + 1.0)
    h = tf.nn.relu(tf.identity(tf.identity(h)) + 1.0)
    a, c = tf.split(h, 2, 1)
    joined = tf.concat([a, c, tf.nn.relu6(a)], 1)
    total = tf.nn.leaky_relu(tf.add_n([tf.tanh(a), tf.exp(c), a]), 0.3)
    total = tf.cast(tf.cast(total, tf.float64), tf.float32)
    with tf.control_dependencies([joined]):
        return tf.nn.elu(total), joined


class Module(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = (tf.Variable(VALUES[name], name=name) for name in "wb")

    @tf.function(input_signature=[SPEC], autograph=False)
    def __call__(self, x: Any) -> Any:
        return network(x, self.w, self.b)


class Layer(keras.layers.Layer):
    def build(self, _: Any) -> None:
        fill = keras.initializers.Constant
        self.w, self.b = (
            self.add_weight(name=n, shape=VALUES[n].shape, initializer=fill(VALUES[n]))
            for n in "wb"
        )

    def call(self, x: Any) -> Any:
        return network(x, self.w.value, self.b.value)


def live(*, use_resource: bool) -> tgw.GraphEditor:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], "x")
        w, b = (
            v1.get_variable(name, initializer=VALUES[name], use_resource=use_resource)
            for name in "wb"
        )
        for name, result in zip(("one", "two"), network(x, w, b), strict=True):
            tf.identity(result, name)
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    return tgw.edit(graph, session=session)


def function(_: Path) -> tgw.GraphEditor:
    module = Module()
    editor = tgw.edit(module.__call__)
    weakref.finalize(editor, list, [module])  # its function holds the module weakly
    return editor


def frozen(folder: Path) -> tgw.GraphEditor:
    source = live(use_resource=False)
    return tgw.edit(source.save(folder / "frozen.pb", outputs=["one:0", "two:0"], frozen=True))


def saved_model(folder: Path) -> tgw.GraphEditor:
    tf.saved_model.save(Module(), str(folder / "saved"))
    return tgw.edit(folder / "saved")


def keras_model(_: Path) -> tgw.GraphEditor:
    x = keras.Input((4,))
    return tgw.edit(keras.Model(x, Layer()(x)))


SOURCES: dict[str, Callable[[Path], tgw.GraphEditor]] = {
    "reference variables": lambda _: live(use_resource=False),
    "resource variables": lambda _: live(use_resource=True),
    "frozen file": frozen,
    "tf.function": function,
    "Keras model": keras_model,
    "SavedModel": saved_model,
}


@pytest.fixture(scope="module", params=SOURCES)
def editor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tgw.GraphEditor:
    return SOURCES[request.param](tmp_path_factory.mktemp("source"))


FOUND = [  # semantics, pattern, how many there are, how many can be replaced
    (1, "Mul(x, Sigmoid(x))", 2, 2),
    (1, "Mul(Mul(s, 0.5), AddV2(Erf(RealDiv(s, d)), 1.0))", 1, 1),
    (2, "AddN(Tanh(a), Exp(c), Tanh(b))", 0, 0),
    (3, "ConcatV2(a, b, 1)", 0, 0),
    (3, "ConcatV2(a, ..., 1)", 1, 1),
    (3, "Elu(x, ^ConcatV2)", 1, 0),
    (3, "Elu(x, ^Relu)", 0, 0),
    (4, "LeakyRelu(AddN(Tanh(s=Split(1, x)), ...))", 1, 0),
    (5, "AddN(y, Exp(c), Tanh(a))", 1, 1),
    (5, "Mul(Sigmoid(x), x)", 2, 2),
    (6, "BiasAdd(MatMul(x, w=Const|Variable), b=Const|Variable)", 1, 1),
    (6, "Relu(AddV2(Mul(a, b), 1.0))", 1, 1),
    (6, "Relu(AddV2(Identity(Identity(Mul(a, b))), 1.0))", 1, 1),
    (7, "LeakyRelu(x, alpha>0.2)", 1, 1),
    (7, "Cast(Cast(x: $t), DstT=$t)", 1, 1),
    (7, "Cast(Cast(x: $t), SrcT=$t)", 0, 0),
    (8, "Mul(x, 0.5)", 1, 1),
    (8, "RealDiv(x, Const(1.41, tolerance=0.01))", 1, 1),
    (9, "MatMul(x: [?x4], w: [4x4])", 1, 1),
    (9, "MatMul(x: [?x5], w)", 0, 0),
]


@pytest.mark.parametrize(
    ("pattern", "count", "replaceable"),
    [row[1:] for row in FOUND],
    ids=[str(row[:2]) for row in FOUND],
)
def test_a_pattern_finds_as_much_in_each_source(
    editor: tgw.GraphEditor, pattern: str, count: int, replaceable: int
) -> None:
    hits = editor.match(pattern)
    assert (len(hits), len(hits.replaceable)) == (count, replaceable)
    assert all(hit.why for hit in hits if hit not in hits.replaceable)


REPLACED: list[tuple[str, Any]] = [
    ("Mul(x, Sigmoid(x))", "RealDiv(x, AddV2(1.0, Exp(Neg(x))))"),
    (
        "Mul(Mul(s, 0.5), AddV2(Erf(RealDiv(s, d)), 1.0))",
        lambda s: tf.nn.gelu(s, approximate=False),
    ),
    (
        "BiasAdd(MatMul(x, w=Const|Variable), b=Const|Variable)",
        lambda x, w, b: tf.einsum("ij,jk->ik", x, w) + b,
    ),
    ("AddV2(Identity(Identity(x)), y)", "AddV2(x, y)"),
    ("LeakyRelu(x, alpha=$a)", "LeakyRelu(LeakyRelu(x, alpha=1.0), alpha=$a)"),
    ("Elu(x)", "Elu(Identity(x))"),
]


@pytest.mark.sample(2)
def test_replacements_compute_the_same_are_one_step_each_and_undone_in_each_source(
    editor: tgw.GraphEditor,
) -> None:
    """Semantics 3, 4, 6, 13, 14."""
    nodes, done = list(editor._core.index.nodes), len(editor.history.done)
    for pattern, by in REPLACED:
        report = editor.replace_all(pattern, by)
        assert (len(report.replaced), report.skipped) == (
            len(editor.history.done[-1].patch.report.replaced),
            (),
        )
    assert len(editor.history.done) == done + len(REPLACED)
    elu = next(op for op, kind in enumerate(editor._core.index.types) if kind == "Elu")
    concat = next(op for op, kind in enumerate(editor._core.index.types) if kind == "ConcatV2")
    before_elu = [
        *editor._core.index.control_lists[elu],
        *editor._core.index.control_lists[editor._core.index.input_lists[elu][0]],
    ]
    assert concat in before_elu, "what waited still waits"
    (x,) = [
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if is_input(editor, name, kind)
    ]
    compared = editor.compare({f"{x}:0": np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)})
    assert len(compared) == 2
    assert all(output.relative is not None and output.relative < 1e-5 for output in compared)
    for _ in REPLACED:
        editor.undo()
    assert [node.name for node in editor._core.index.nodes] == [node.name for node in nodes]
    assert list(editor._core.index.nodes) == nodes


def is_input(editor: tgw.GraphEditor, name: str, kind: str) -> bool:
    return (
        kind == "Placeholder"
        and editor._core.index.dtypes(editor._core.index.ids[name])[0] == "float32"
    )


def test_a_refusal_of_a_replacement_leaves_each_source_as_it_was(editor: tgw.GraphEditor) -> None:
    """Semantics 4, 14."""
    nodes, done = list(editor._core.index.nodes), len(editor.history.done)
    says_nothing(
        editor.replace_all("LeakyRelu(AddN(Tanh(s=Split(1, x)), ...))", "x"), "outside reads"
    )
    assert list(editor._core.index.nodes) == nodes
    assert len(editor.history.done) == done
