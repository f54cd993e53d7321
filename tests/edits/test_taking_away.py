"""Methods that take away: a level of scope, attributes, functions, collections; and what edits must
not take away.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.edits.test_reroute import reads, refused, run
from tests.nothing import says_nothing

X = np.float32([[1, -2], [3, 4]])


def tower(scope: str = "clone_0") -> tf.Graph:
    """A dense layer in a scope, with a variable and an op beside it (colocation)."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        with v1.name_scope(f"{scope}/"), v1.variable_scope("net"):
            w = v1.get_variable("w", initializer=np.eye(2, dtype=np.float32), use_resource=True)
            y = tf.nn.relu(tf.matmul(x, w, name="product"), name="act")
        with v1.colocate_with(y.op):
            tf.identity(y, name="y")
    return graph


# A level of scope


@pytest.mark.parametrize("new", ["", "/"])
@pytest.mark.parametrize("old", ["clone_0/", "clone_0"])
def test_a_level_of_scope_is_left_out_of_names(old: str, new: str) -> None:
    editor = tgw.edit(tower())
    before = reads(editor)
    editor.rename(old, new)
    assert not [name for name in editor._core.index.names if "clone_0" in name]
    assert {"product", "act"} <= {name.split("/")[-1] for name in editor._core.index.names}
    assert "clone_0" not in str(
        [node.attr["_class"] for node in editor._core.index.nodes if "_class" in node.attr]
    )
    editor.undo()
    assert reads(editor) == before


def test_a_level_of_scope_is_left_out_in_a_file_and_by_its_line(tmp_path: Path) -> None:
    editor = tgw.edit(tower().as_graph_def())
    editor.rename("clone_0/", "")
    assert editor.history.lines == ('editor.rename(old="clone_0/", new="")',)
    names = set(editor._core.index.names)
    again = tgw.edit(tower().as_graph_def())
    again.history.replay(editor.history.records())
    assert set(again._core.index.names) == names
    editor.save(tmp_path / "without.pb")
    assert set(tgw.edit(tmp_path / "without.pb")._core.index.names) == names


def test_a_level_of_scope_stays_where_a_name_is_taken_or_none() -> None:
    with tf.Graph().as_default() as graph:
        tf.zeros([1], name="a/x")
        tf.zeros([1], name="x")
        tf.zeros([1], name="b/y")
        graph.get_operation_by_name("b/y")
    editor = tgw.edit(graph)
    assert refused(lambda: editor.rename("a/", "")).why == (
        "'x' is taken in this graph, so 'a/x' cannot have that name; rename that op first."
    )
    assert "is not a name" in refused(lambda: editor.rename("b/y", "")).why
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(v1.GraphDef(node=[v1.NodeDef(name="a/_x", op="NoOp")]), name="")
    assert "rename that op first" in refused(lambda: tgw.edit(graph).rename("a/", "")).why


# An op that reads one tensor twice


@pytest.mark.parametrize("as_function", [False, True])
def test_a_binary_op_takes_the_place_of_one_that_reads_a_tensor_twice(as_function: bool) -> None:
    def square(x: tf.Tensor) -> tf.Tensor:
        return tf.multiply(x, x, name="mul")

    if as_function:
        editor = tgw.edit(tf.function(square, input_signature=[tf.TensorSpec([2], tf.float32)]))
    else:
        with tf.Graph().as_default() as graph:
            square(v1.placeholder(tf.float32, [2], name="x"))
        editor = tgw.edit(graph)
    editor.replace("mul", "AddV2", name="sum")
    assert reads(editor)["sum"] == ["x", "x"]
    editor.undo()
    editor.replace("mul", "Tanh", name="one")  # an op type that takes one tensor represents it, too
    assert reads(editor)["one"] == ["x"]


# Defaults


def with_default() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        keep = v1.placeholder_with_default(0.5, [], name="keep")
        tf.multiply(x, keep, name="y")
    return graph


def test_placeholders_of_a_copy_keep_their_defaults() -> None:
    graph = with_default()
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    copy = editor.clone(["x:0", "keep:0"], "y:0", into="copy", placeholders=True)
    assert editor.session.run("copy/y:0", {"copy/x:0": X}).tolist() == (X * 0.5).tolist()
    assert (
        editor.session.run("copy/y:0", {"copy/x:0": X, "copy/keep:0": 2.0}).tolist()
        == (X * 2).tolist()
    )
    assert copy is not None
    editor.undo()
    assert not [name for name in editor._core.index.names if name.startswith("copy")]


def test_a_part_keeps_the_defaults_of_its_inputs(tmp_path: Path) -> None:
    part = tgw.edit(with_default()).extract(["x:0", "keep:0"], "y:0")
    assert run(part.graph, "y:0", {"x:0": X}).tolist() == (X * 0.5).tolist()
    part = tgw.edit(with_default().as_graph_def()).extract(["x:0", "keep:0"], "y:0")
    part.save(tmp_path / "part.pb")
    assert (
        run(tgw.edit(tmp_path / "part.pb").graph, "y:0", {"x:0": X}).tolist() == (X * 0.5).tolist()
    )


def test_a_computed_default_is_none_of_a_copy() -> None:
    with tf.Graph().as_default() as graph:
        z = v1.placeholder(tf.float32, [], name="z")
        keep = v1.placeholder_with_default(z * 2.0, [], name="keep")
        tf.multiply(keep, 3.0, name="y")
    editor = tgw.edit(graph)
    editor.clone("keep:0", "y:0", into="copy", placeholders=True)
    assert editor._core.index.types[editor._core.index.ids["copy/keep"]] == "Placeholder"


# Keys


def test_the_parts_of_a_split_keep_the_keys_of_the_signature(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [None, 2], name="p0")
        h = tf.nn.relu(x, name="h")
        v1.saved_model.simple_save(
            session,
            str(tmp_path / "model"),
            {"image": x},
            {"scores": tf.nn.softmax(h, name="s"), "hidden": h},
        )
    halves = tgw.edit(tmp_path / "model").split(at="h:0")
    expected: list[tuple[set[str], set[str]]] = [({"image"}, {"hidden"}), ({"hidden"}, {"scores"})]
    for k, (part, (inputs, outputs)) in enumerate(zip(halves, expected, strict=True)):
        part.save(tmp_path / f"part{k}")
        signature = tf.saved_model.load(str(tmp_path / f"part{k}")).signatures["serving_default"]
        assert set(signature.structured_input_signature[1]) == inputs
        assert set(signature.structured_outputs) == outputs
    assert halves.check({"p0:0": X}) == 0


def test_the_parts_of_a_function_keep_the_keys_of_its_results(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="image")])
    def model(image: tf.Tensor) -> Any:
        a = tf.nn.relu(image, name="a")
        return {"scores": tf.nn.softmax(a, name="b"), "other": a * 2.0}

    halves = tgw.edit(model).split(at="a:0")
    halves[1].save(tmp_path / "last")
    signature = tf.saved_model.load(str(tmp_path / "last")).signatures["serving_default"]
    assert set(signature.structured_outputs) == {"scores", "other"}
    assert halves.check({"image:0": X}) == 0


# Scopes of variables in functions


def test_the_variables_of_a_scope_are_shared_in_a_function() -> None:
    v, u, t = (
        tf.Variable(np.float32(k), name=name)
        for k, name in enumerate(("body/v", "body/u", "out/t"), 1)
    )
    model = tf.function(lambda x: (x * v + u) * t, input_signature=[tf.TensorSpec([2])])
    editor = tgw.edit(model)
    scoped = editor.clone(into="some", variables={"body": "shared"})
    assert (len(scoped.own), len(scoped.shared)) == (1, 2)
    again = editor.clone(into="more", variables={"body/": "shared", "body/u": "own"})
    assert (len(again.own), len(again.shared)) == (2, 1)
    assert (
        "no op 'missing'"
        in refused(lambda: editor.clone(into="no", variables={"missing": "shared"})).why
    )


# Functions, collections, attributes


def with_iterator() -> v1.GraphDef:
    """A dataset's function, whose iterator gives what y is computed of."""
    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.from_tensor_slices(X).map(lambda row: row * 2.0)
        following = v1.data.make_one_shot_iterator(data).get_next()
        tf.nn.relu(tf.identity(following, name="fed"), name="y")
    return graph.as_graph_def()


@pytest.mark.parametrize("live", [False, True])
def test_functions_go_with_the_ops_that_call_them(live: bool, tmp_path: Path) -> None:
    graph_def = with_iterator()
    assert graph_def.library.function
    if live:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        editor = tgw.edit(graph)
    else:
        editor = tgw.edit(graph_def)
    editor.detach("fed", outputs=False, names=["row"])
    editor.passes.strip_training(["y:0"])
    editor.save(tmp_path / "without.pb", verify=False)
    assert not v1.GraphDef.FromString((tmp_path / "without.pb").read_bytes()).library.function
    editor.undo()
    editor.save(tmp_path / "with.pb", verify=False)
    with_functions = v1.GraphDef.FromString((tmp_path / "with.pb").read_bytes())
    assert {f.signature.name for f in with_functions.library.function} == {
        f.signature.name for f in graph_def.library.function
    }


@pytest.mark.parametrize("live", [False, True])
def test_functions_that_no_op_calls_are_removed(live: bool, tmp_path: Path) -> None:
    graph_def = with_iterator()
    names = {f.signature.name for f in graph_def.library.function}
    graph_def.library.function.add().CopyFrom(graph_def.library.function[0])
    graph_def.library.function[-1].signature.name = "unused"
    if live:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        editor = tgw.edit(graph)
    else:
        editor = tgw.edit(graph_def)
    assert "Removed 'unused'." in editor.passes.remove_functions().notes
    editor.save(tmp_path / "without.pb", verify=False)
    written = v1.GraphDef.FromString((tmp_path / "without.pb").read_bytes())
    assert {f.signature.name for f in written.library.function} == names
    says_nothing(editor.passes.remove_functions(), "Ops call every function")
    editor.undo()
    assert "unused" in editor._core.index.functions
    assert editor.history.lines == ()


def test_a_collection_goes_and_its_ops_stay() -> None:
    editor = tgw.edit(tower())
    names = list(editor._core.index.names)
    editor.passes.remove_collection("trainable_variables")
    assert editor.graph.get_collection("trainable_variables") == []
    assert editor._core.index.names == names
    assert (
        "did you mean 'variables'"
        in refused(lambda: editor.passes.remove_collection("variable")).why
    )
    editor.undo()
    assert len(editor.graph.get_collection("trainable_variables")) == 1


@pytest.mark.parametrize("live", [False, True])
def test_an_attribute_is_taken_from_ops_and_from_the_functions_that_they_call(
    live: bool, tmp_path: Path
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        inner = tf.function(lambda t: tf.nn.relu(t, name="act"), jit_compile=True)
        tf.identity(tf.function(lambda t: inner(t) * 2.0)(x), name="y")
    graph_def = graph.as_graph_def()
    for node in (*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)):
        node.attr["_tpu_replicate"].s = b"cluster"
    if live:
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
        editor = tgw.edit(graph)
    else:
        editor = tgw.edit(graph_def)
    assert b"_XlaMustCompile" in graph_def.SerializeToString()
    editor.passes.remove_attr("_tpu_replicate")
    editor.passes.remove_attr("_XlaMustCompile")
    editor.save(tmp_path / "without.pb", verify=False)
    written = (tmp_path / "without.pb").read_bytes()
    assert b"_tpu_replicate" not in written
    assert b"_XlaMustCompile" not in written
    assert run(tgw.edit(tmp_path / "without.pb").graph, "y:0", {"x:0": [1.0, -1.0]}).tolist() == [
        2.0,
        0.0,
    ]
    editor.undo()
    editor.undo()
    editor.save(tmp_path / "with.pb", verify=False)
    assert b"_tpu_replicate" in (tmp_path / "with.pb").read_bytes()


def test_an_attribute_is_taken_from_some_ops_and_not_where_it_is_needed() -> None:
    editor = tgw.edit(tower())
    product = next(name for name in editor._core.index.names if name.endswith("product"))
    editor.set_attr(product, "transpose_a", True)
    editor.passes.remove_attr("transpose_a", product)
    assert not editor._core.index.nodes[editor._core.index.ids[product]].attr["transpose_a"].b
    assert (
        "cannot be without 'T', which every MatMul has"
        in refused(lambda: editor.passes.remove_attr("T", product)).why
    )
    assert (
        "No op here has attribute 'transpose_q'"
        in refused(lambda: editor.passes.remove_attr("transpose_q")).why
    )
