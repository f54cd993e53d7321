"""`lint` for a runtime finds an error exactly where `save` for it is refused: kinds of graphs, two
converters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.export.test_converted_models import InProcess
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats import converted_model

ROW = [2, 4]


def of_function(
    body: Callable[[Any], Any], shape: Any = ROW, dtype: Any = tf.float32
) -> GraphEditor:
    """An editor of a function of one argument."""
    return tgw.edit(
        tf.function(body, autograph=False), signature=[tf.TensorSpec(shape, dtype, "x")]
    )


def of_graph(build: Callable[[Any], Any], shape: Any = ROW, dtype: Any = tf.float32) -> GraphEditor:
    """An editor of a graph of TensorFlow 1, x → `build` → y, with loops and conditionals of that
    time.
    """
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            tf.identity(build(v1.placeholder(dtype, shape, "x")), "y")
            session = v1.Session(graph=graph)
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
    finally:
        v1.enable_control_flow_v2()
    return tgw.edit(graph, session=session)


def of_file(build: Callable[[Any], Any]) -> GraphEditor:
    """An editor of a GraphDef that is not trusted."""
    return tgw.edit(of_graph(build).graph.as_graph_def())


def looked_up(words: Any) -> Any:
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0, name="words"
    )
    return table.lookup(words)


def embedded(ids: Any) -> Any:
    return tf.nn.embedding_lookup(v1.get_variable("table", [9, 3], use_resource=True), ids)


def looped(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, step(a)), [0, x])[1]


def array_filled(x: Any) -> Any:
    """A loop of TensorFlow 1 that writes rows into a TensorArray."""
    rows = tf.TensorArray(tf.float32, 2, element_shape=[4])
    filled = tf.while_loop(
        lambda i, _: i < 2, lambda i, a: (i + 1, a.write(i, x[i] * 2.0)), [0, rows]
    )[1]
    return filled.stack()


def compiled(x: Any) -> Any:
    return tf.function(lambda a: tf.tanh(a) * a, autograph=False, jit_compile=True)(x)


def conditional(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: tf.exp(x))


def suppressed(x: Any) -> Any:
    boxes = tf.constant(np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]], np.float32))
    return tf.gather(boxes, tf.image.non_max_suppression(boxes, x, 3, 0.5))


QUICK: dict[str, Callable[[], GraphEditor]] = {
    "an op that neither has": lambda: of_graph(lambda x: tf.math.igamma(x, x)),
    "such an op of constants": lambda: of_graph(
        lambda x: x + tf.math.igamma(np.ones(4, np.float32), 2.0)
    ),
    "a table": lambda: of_graph(looked_up, [None], tf.string),
    "rows of a variable": lambda: of_graph(embedded, [3], tf.int32),
    "a loop of a function": lambda: of_function(looped(tf.tanh)),
    "rows of unknown size": lambda: of_function(
        lambda x: tf.map_fn(lambda row: row * 2.0, x), [3, None]
    ),
}
SLOW: dict[str, Callable[[], GraphEditor]] = {
    "a loop of TensorFlow 1": lambda: of_graph(looped(tf.tanh)),
    "a file": lambda: of_file(tf.nn.relu),
    "an op that one rewrites": lambda: of_graph(tf.math.erfc),
    "an op in a loop that neither has": lambda: of_function(looped(lambda a: tf.math.igamma(a, a))),
    "a table in a function": lambda: of_function(looked_up, [None], tf.string),
    "an array of TensorFlow 1": lambda: of_graph(array_filled),
    "a function that XLA compiles": lambda: of_function(compiled),
    "a conditional of TensorFlow 1": lambda: of_graph(conditional),
    "a conditional of a function": lambda: of_function(conditional),
    "an output whose size the values say": lambda: of_graph(suppressed, [3]),
    "texts": lambda: of_graph(lambda x: tf.strings.join([x, "a"]), [None], tf.string),
    "numbers of texts": lambda: of_graph(tf.strings.to_number, [None], tf.string),
    "complex numbers": lambda: of_graph(
        lambda x: tf.math.real(tf.signal.fft(tf.cast(x, tf.complex64)))
    ),
    "products of complex numbers": lambda: of_graph(lambda x: tf.math.abs(tf.complex(x, x) * 2.0)),
    "an unknown rank": lambda: of_graph(
        lambda x: tf.nn.conv2d(x, np.ones([3, 3, 3, 2], np.float32), 1, "SAME"), None
    ),
    "an unknown rank of an elementwise op": lambda: of_graph(tf.nn.relu, None),
    "sizes that vary": lambda: of_graph(lambda x: tf.boolean_mask(x, tf.reduce_sum(x, 1) > 0),
        [None, None]),
    "float64": lambda: of_graph(lambda x: tf.matmul(x, x, transpose_b=True), ROW, tf.float64),
    "bfloat16": lambda: of_graph(lambda x: tf.nn.relu(tf.cast(x, tf.bfloat16))),
    "uint16": lambda: of_graph(lambda x: tf.cast(x, tf.uint16) + 1),
    "convolutions in three dimensions": lambda: of_graph(
        lambda x: tf.nn.conv3d(x, np.ones([2, 2, 2, 1, 3], np.float32), [1] * 5, "SAME"),
        [1, 3, 3, 3, 1]
    ),
    "a call of Python": lambda: of_graph(lambda x: v1.py_func(np.tanh, [x], tf.float32)),
    "random numbers": lambda: of_graph(lambda x: x + tf.random.uniform(ROW, seed=1)),
    "a count that is written": lambda: of_graph(
        lambda x: x + v1.assign_add(v1.get_variable("count", initializer=tf.zeros([])), 1.0)
    ),
    "a singular value": lambda: of_graph(lambda x: tf.linalg.svd(x, compute_uv=False)),
    "a sparse product": lambda: of_graph(
        lambda x: tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(tf.eye(2)), x)
    ),
    "nothing": lambda: tgw.edit(tf.Graph()),
}  # fmt: skip
KINDS = [*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW)]


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Converters in this process, which has imported TensorFlow; what saves report are not warnings
    here.
    """
    monkeypatch.setattr(converted_model, "CONVERTERS", InProcess())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refusal_of_save(editor: GraphEditor, path: Path) -> GraphEditError | None:
    try:
        editor.save(path)
    except GraphEditError as refusal:
        return refusal
    return None


@pytest.mark.parametrize("target", ["tflite", "onnx"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(4)
def test_lint_finds_an_error_where_save_is_refused_and_nowhere_else(
    kind: str, target: Any, tmp_path: Path
) -> None:
    editor = (QUICK | SLOW)[kind]()
    index, notices = editor._core.index, editor.source.notices
    errors = [
        finding for finding in editor.lint(target, only="no-kernel") if finding.severity == "error"
    ]
    assert editor._core.index is index
    assert editor.source.notices == notices
    refusal = refusal_of_save(editor, tmp_path / f"model.{target}")
    assert bool(errors) == (refusal is not None), f"{errors} but {refusal}"
