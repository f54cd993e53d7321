"""Passes on what is odd: unknown ops, functions that call themselves, no ops; and what each of them
leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.edits.passes.networks import NETWORKS, X
from tests.nothing import says_nothing
from tfgraphwidget.errors import GraphEditError

v1 = tf.compat.v1
ALL: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "remove_identities": lambda editor: editor.passes.remove_identities(),
    "remove_devices": lambda editor: editor.passes.remove_devices(),
    "merge_duplicates": lambda editor: editor.passes.merge_duplicates(),
    "fold_constants": lambda editor: editor.passes.fold_constants(),
    "sort": lambda editor: editor.passes.sort(),
    "obfuscate_names": lambda editor: editor.passes.obfuscate_names(),
    "rename_type": lambda editor: editor.passes.rename_type("Relu", "Relu6"),
    "change_batch_size": lambda editor: editor.passes.change_batch_size(2),
    "cast": lambda editor: editor.passes.cast("float16"),
    "round_weights": lambda editor: editor.passes.round_weights(2),
    "quantize_weights": lambda editor: editor.passes.quantize_weights(),
}


def graph_def(text: str = "") -> Any:
    result = v1.GraphDef()
    from google.protobuf import text_format

    text_format.Parse(text, result)
    return result


UNKNOWN = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "same" op: "Identity" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "mine" op: "MyOp" input: "same" device: "/gpu:0" }
node { name: "mine2" op: "MyOp" input: "same" device: "/gpu:0" }
"""


def recursive(*, mutual: bool = False) -> Any:
    """A function that calls itself, or one that calls it, with an Identity and a constant sum in
    it.
    """
    with tf.Graph().as_default() as graph:

        @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
        def inner(x: Any) -> Any:
            return tf.nn.relu(tf.identity(x)) * (tf.constant(1.0) + tf.constant(2.0))

        tf.identity(inner(v1.placeholder(tf.float32, [2], "x")), "y")
    result = graph.as_graph_def()
    first = result.library.function[0]
    names = [first.signature.name]
    if mutual:
        result.library.function.add().CopyFrom(first)
        result.library.function[1].signature.name = "other"
        names = ["other", first.signature.name]
    for function, name in zip(result.library.function, names, strict=True):
        call = function.node_def.add(
            name="again", op="PartitionedCall", input=[function.signature.input_arg[0].name]
        )
        call.attr["Tin"].list.type.append(1)
        call.attr["Tout"].list.type.append(1)
        call.attr["f"].func.name = name
    return result


def unknown_in_a_function() -> Any:
    """A function with an op of an unknown type."""
    result = recursive()
    call = result.library.function[0].node_def[-1]
    call.op = "MyOp"
    call.attr.clear()
    return result


ODD: dict[str, Callable[[], Any]] = {
    "no ops, live": tf.Graph,
    "unknown ops": lambda: graph_def(UNKNOWN),
    "unknown op in a function": unknown_in_a_function,
    "recursive": recursive,
    "mutually recursive": lambda: recursive(mutual=True),
}
READING: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "match": lambda editor: editor.match("Relu(x)", functions=True),
    "like": lambda editor: tgw.pattern(editor.ops()),
    "optimized": lambda editor: editor.passes.grappler(),
    "cost": lambda editor: editor.table(batch=1),
    "lint": lambda editor: editor.lint(),
}
EVERY = {
    **ALL,
    **READING,
    "fold_batch_norm": lambda editor: editor.passes.fold_batch_norm(),
    "strip_training": lambda editor: editor.passes.strip_training(),
    "set_input": lambda editor: editor.passes.set_input("x:0", [3], fix=True),
    "replace_all": lambda editor: editor.replace_all("Relu(x)", "Relu6(x)", functions=True),
    "replace_all by a function": lambda editor: editor.replace_all(
        "Relu(x)", tf.nn.relu6, functions=True
    ),
    "replace_all until fixed": lambda editor: editor.replace_all(
        "Identity(x)", "x", until="fixed", functions=True
    ),
}


@pytest.mark.parametrize("graph", ODD)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.sample(44)
def test_each_pass_and_pattern_on_an_odd_graph_works_or_says_why_and_leaves_it(
    name: str, graph: str
) -> None:
    editor = tgw.edit(ODD[graph]())
    before = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
    functions = editor._core.index.functions
    try:
        EVERY[name](editor)
    except GraphEditError as error:
        text = str(error)
        assert text.endswith("."), text
        assert "Traceback" not in text
        assert "\n" not in text
        if name in ALL and name != "change_batch_size" and not before:
            assert text.startswith(f"{name}: "), text
        assert not editor.history.done
    if graph == "unknown ops":
        assert len(editor.ops(type="MyOp").ops) == 2
    while editor.history.done:
        editor.undo()
    assert not editor.diff()
    assert [
        node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
    ] == before
    assert editor._core.index.functions >= functions


def test_a_pass_after_a_refusal_and_in_a_function_body_works() -> None:
    net = NETWORKS["functions"]()
    editor = tgw.edit(net.graph.as_graph_def())
    with pytest.raises(
        GraphEditError, match="neither the graph nor TensorFlow has an op type 'Rellu'"
    ):
        editor.passes.rename_type("Rellu", "Relu6")
    op = next(name for name in editor._core.index.names if editor.view.called_functions(name))
    editor.view.enter(op)
    editor.passes.remove_identities()
    assert len(editor.history.done) == 1
    editor.view.leave(0)
    before = net.run()
    editor.passes.rename_type("Relu", "Relu6")
    assert not any(kind == "Relu" for kind in editor._core.index.types)
    np.testing.assert_allclose(
        editor.session.run("y:0", {"x:0": np.abs(X) * 0}), before[0] * 0 + 8.0, atol=20.0
    )


def test_an_op_that_signatures_collections_or_the_marks_name_stays() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        named, marked, plain = (tf.identity(x, name) for name in ("named", "marked", "plain"))
        graph.add_to_collection("ends", named)
        tf.add_n([named, marked, plain], "y")
    editor = tgw.edit(graph)
    editor.mark([], "marked:0")
    assert editor.passes.remove_identities().removed == ("plain",)
    assert editor.history.lines[-1] == 'editor.passes.remove_identities(keep=["marked"])'


def test_the_values_of_variables_stay_in_a_running_session() -> None:
    net = NETWORKS["variables"]()
    with net.graph.as_default():
        for variable in v1.global_variables():
            variable.load(np.full([4, 4], 0.5, np.float32), net.session)
    before, editor = net.run(), net.edit()
    editor.passes.remove_identities()
    editor.passes.cast("float16")
    with net.graph.as_default():
        assert all((value == 0.5).all() for value in net.session.run(v1.global_variables()))
    editor.history.goto(0)
    for one, other in zip(before, net.run(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_new_op_is_not_named_like_a_scope() -> None:
    with tf.Graph().as_default() as graph:  # TensorFlow would refuse it
        x = v1.placeholder(tf.float32, [2], "x")
        sums = tf.add(tf.constant(1.0), tf.constant(2.0), "sum")
        tf.multiply(tf.nn.relu(x * sums, "sum_1/relu"), tf.constant(2.0), "y")
    editor = tgw.edit(graph)
    editor.passes.fold_constants()
    assert "sum_2" in editor._core.index.ids
    with v1.Session(graph=graph) as session:
        assert session.run("y:0", {"x:0": [1, -1]}).tolist() == [6, 0]


def test_folding_leaves_what_fails_what_is_large_and_what_is_random() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.int32, [2], "x")
        fails = tf.math.floordiv(tf.constant(1), tf.constant(0), "fails")
        large = tf.range(100_000, name="large")
        drawn = v1.random_uniform([2], maxval=9, dtype=tf.int32, seed=1, name="drawn")
        stateless = tf.random.stateless_uniform([2], [1, 2], 0, 9, tf.int32, name="stateless")
        default = v1.placeholder_with_default(tf.constant(1) + tf.constant(2), [], "default")
        fine = tf.concat([tf.constant([1, 2]) * 3, tf.shape(x)], 0, name="fine")
        tf.identity(x + fails + large[0] + drawn + stateless + default + fine[:2], "y")
    editor = tgw.edit(graph.as_graph_def())
    report = editor.passes.fold_constants()
    types = {
        name: editor._core.index.types[editor._core.index.op(name)]
        for name in ("fails", "large", "default")
    }
    assert types == {"fails": "FloorDiv", "large": "Range", "default": "PlaceholderWithDefault"}
    assert any(
        "failed and stayed: 'fails' (FloorDiv): division by zero" in note for note in report.notes
    )
    assert any("larger than 102,400 bytes" in note for note in report.notes)
    assert {"RandomUniformInt", "StatelessRandomUniformIntV2"} <= set(editor._core.index.types)
    assert "fine" not in editor._core.index.ids, "its slice is constant"
    editor.undo()
    editor.passes.fold_constants(1 << 20)
    assert "Range" not in editor._core.index.types


@pytest.mark.parametrize(
    ("scales", "layer"), [(True, "conv"), (False, "conv"), (True, "depthwise")]
)
def test_the_old_batch_normalization_is_folded_after_both_convolutions(
    *, scales: bool, layer: str
) -> None:
    rng = np.random.default_rng(1)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4, 4, 2], "x")
        if layer == "conv":
            y = tf.nn.conv2d(x, tf.constant(rng.normal(size=(3, 3, 2, 4)), tf.float32), 1, "SAME")
        else:
            kernel = tf.constant(rng.normal(size=(3, 3, 2, 2)), tf.float32)
            y = tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
        numbers = [tf.constant(rng.uniform(0.5, 2, 4), tf.float32) for _ in range(4)]
        tf.nn.relu(tf.identity(y, "norm"), "y")
        y = tf.identity(y, "layer")
    old = graph.as_graph_def()  # of a release that had the op
    node = next(node for node in old.node if node.name == "norm")
    node.op = "BatchNormWithGlobalNormalization"
    node.input.extend(tensor.op.name for tensor in numbers)
    node.attr["variance_epsilon"].f, node.attr["scale_after_normalization"].b = 0.01, scales
    del old.node[[each.name for each in old.node].index("layer")]
    editor = tgw.edit(old)
    editor.passes.fold_batch_norm()
    assert "BatchNormWithGlobalNormalization" not in editor._core.index.types
    feeds = {"x:0": rng.normal(size=(2, 4, 4, 2)).astype(np.float32)}
    with v1.Session(graph=graph) as session:
        before, mean, variance, offset, scale = session.run([y, *numbers], feeds)
    expected = (before - mean) / np.sqrt(variance + 0.01) * (scale if scales else 1.0) + offset
    with tf.Graph().as_default() as after, v1.Session(graph=after) as session:
        tf.import_graph_def(v1.GraphDef(node=editor._core.index.nodes), name="")
        folded = session.run("y:0", feeds)
    np.testing.assert_allclose(folded, np.maximum(expected, 0), rtol=1e-4, atol=1e-4)


def test_the_batch_size_of_all_inputs_changes_with_the_constants_that_hold_it() -> None:
    with tf.Graph().as_default() as graph:
        a, b = (v1.placeholder(tf.float32, [4, 6], name) for name in "ab")
        rate = v1.placeholder(tf.float32, [], "rate")
        tf.reshape(a + b, [4, 3, 2], name="y")
        tf.multiply(rate, 2.0, "twice")
    editor = tgw.edit(graph)
    editor.passes.change_batch_size(8)
    assert editor._core.index.shape(editor._core.index.op("y"), 0) == (8, 3, 2)
    says_nothing(editor.passes.change_batch_size(8), "The batch size is 8 already")
    editor.passes.change_batch_size(None)
    assert editor._core.index.shape(editor._core.index.op("a"), 0) == (None, 6)


def test_obfuscated_names_and_contents_leave_the_structure(tmp_path: Path) -> None:
    net = NETWORKS["texts"]()
    path = tmp_path / "secret.pb"
    path.write_bytes(net.graph.as_graph_def().SerializeToString())
    editor = tgw.edit(path)
    types = sorted(editor._core.index.types)
    report = editor.passes.obfuscate_names(contents=True)
    assert sorted(editor._core.index.types) == types
    assert report.notes[-1].startswith("These stay: op types")
    written = editor.save(tmp_path / "bug.pb", verify=False).read_bytes()
    assert b"StringJoin_1" in written
    assert b"hash_table_" not in written


def test_graphs_whose_functions_have_the_same_names_are_edited_undone_and_edited_again() -> None:
    definition = NETWORKS["functions"]().graph.as_graph_def()
    editors = []
    for _ in range(2):
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(definition, name="")
        editors.append(tgw.edit(graph))
    dtypes: tuple[Literal["float16", "bfloat16"], ...] = ("float16", "bfloat16")
    for _ in range(2):
        for editor, dtype in zip(editors, dtypes, strict=True):
            editor.passes.cast(dtype)
            editor.undo()
            editor.redo()
            editor.undo()
    assert not any(editor.history.done for editor in editors)


def frozen_with_waits(layer: Callable[[Any, Any, Any], Any]) -> Any:
    """A frozen graph as TensorFlow makes it of a function: an op waits for the reads of variables,
    now Identity ops.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4, 4, 64], "x")
        scale = tf.identity(tf.constant(np.linspace(0.5, 2, 64), tf.float32), "scale")
        kernel = tf.identity(
            tf.constant(np.random.default_rng(0).normal(size=[1, 1, 64, 64]), tf.float32), "kernel"
        )
        y = layer(x, kernel, scale)
        with tf.control_dependencies([tf.group(scale, kernel, name="reads")]):
            tf.identity(y, "y")
    return graph.as_graph_def()


def normalized(x: Any, kernel: Any, scale: Any) -> Any:
    convolved = tf.nn.conv2d(x, kernel, 1, "SAME")
    return tf.nn.relu(tf.nn.batch_normalization(convolved, scale, scale, scale, scale, 0.1))


@pytest.mark.parametrize(
    ("layer", "edit"),
    [
        (normalized, lambda editor: editor.passes.fold_batch_norm()),
        (lambda x, _, scale: x * tf.exp(scale), lambda editor: editor.passes.fold_constants()),
    ],
    ids=["fold_batch_norm", "fold_constants"],
)
def test_what_was_folded_goes_although_an_op_waits_for_it(
    layer: Any, edit: Callable[[Any], Any]
) -> None:
    definition = frozen_with_waits(layer)
    editor = tgw.edit(definition)
    edit(editor)
    assert not {"scale", "reads/scale"} & set(editor._core.index.names)
    assert sum(node.ByteSize() for node in editor._core.index.nodes) < definition.ByteSize()
    feeds = {"x:0": np.random.default_rng(1).normal(size=[2, 4, 4, 64]).astype(np.float32)}
    largest = editor.compare(feeds, tensors="y:0").largest
    assert largest is not None
    assert largest < 1e-4


def test_the_parts_of_sparse_and_ragged_inputs_have_no_batch_size() -> None:
    said = "they are parts of sparse or ragged inputs, and have no row for each of the batch."
    graph = tf.Graph()
    with graph.as_default():
        words = v1.sparse_placeholder(tf.int64, [None, None], name="words")
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        rows = v1.nn.embedding_lookup_sparse(tf.ones([9, 2]), words, None, combiner="sum")
        tf.add(rows, x, name="y")
    editor = tgw.edit(graph)
    notes = editor.passes.change_batch_size(2).notes
    assert notes[0] == f"'words/values' and 'words/indices' stay what they are: {said}"
    assert graph.get_tensor_by_name("x:0").shape == [2, 2]
    feeds = {"words/indices:0": [[0, 0], [0, 1], [1, 0]], "words/values:0": [1, 2, 3]}
    feeds |= {"words/shape:0": [2, 2], "x:0": np.zeros([2, 2])}
    with v1.Session(graph=graph) as session:
        assert session.run("y:0", feeds).tolist() == [[2, 2], [1, 1]]

    ragged, sparse = tf.RaggedTensorSpec([None, None]), tf.SparseTensorSpec([None, 3])

    @tf.function(input_signature=[ragged, sparse, tf.TensorSpec([None, 3])])
    def add(r: tf.RaggedTensor, s: tf.SparseTensor, x: tf.Tensor) -> tf.Tensor:
        return r.to_tensor() + tf.sparse.to_dense(s) + x

    arguments = tf.ragged.constant([[1.0, 2, 3], [4.0, 5, 6]]), tf.sparse.eye(2, 3), tf.ones([2, 3])
    editor = tgw.edit(add)
    assert editor.passes.change_batch_size(2).notes[0].endswith(said)
    changed = editor.to_function()
    assert np.array_equal(changed(*arguments), add(*arguments))


class TakesParts(tf.Module):
    """Its functions take a ragged or sparse value, and rows."""

    @tf.function(
        input_signature=[tf.RaggedTensorSpec([None, None]), tf.TensorSpec([None, 2], name="rows")]
    )
    def ragged(self, words: Any, rows: Any) -> Any:
        return {"sum": tf.reduce_sum(words, axis=1, keepdims=True) + rows}

    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], name="rows"), tf.SparseTensorSpec([None, 2])]
    )
    def sparse(self, rows: Any, words: Any) -> Any:
        return {"sum": tf.sparse.to_dense(words) + rows}


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("kind", ["ragged", "sparse"])
def test_a_batch_size_leaves_the_parts_of_ragged_and_sparse_inputs_of_a_saved_model(
    kind: str, depth: int, tmp_path: Path
) -> None:
    module = TakesParts()
    signatures = {name: getattr(module, name) for name in ("ragged", "sparse")}
    tf.saved_model.save(module, tmp_path / "model", signatures=signatures)
    editor = tgw.edit(tmp_path / "model", signature=kind)
    editor.insert(editor.outputs[0], "Identity")
    if depth == 0:
        editor.view.leave(0)
    before = {op: editor.inspect(op).outputs[0].shape for op in editor.inputs}
    report = editor.passes.change_batch_size(3)
    after = {op: editor.inspect(op).outputs[0].shape for op in editor.inputs}
    changed = [op for op in before if before[op] != after[op]]
    assert len(changed) == 1
    assert "rows" in changed[0]
    assert "parts of sparse or ragged inputs" in report.notes[0]
