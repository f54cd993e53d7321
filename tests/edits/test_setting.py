"""Devices, attributes and constants: set, checked against what reads them, and taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.edits.drafts import ran, saved, written
from tests.nothing import says_nothing
from tfgraphwidget.edits.serialization.json_format import encode
from tfgraphwidget.errors import GraphEditError, UnknownName

X = {"x:0": np.ones((1, 2), np.float32)}


def test_a_scope_is_put_on_a_device_and_back(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    editor.set_device("net/one/", "/device:CPU:0")
    assert mlp.get_operation_by_name("net/one/out").device == "/device:CPU:0"
    assert mlp.get_operation_by_name("net/two/out").device == ""
    editor.set_device(editor.ops(scope="net/one/"), None)
    assert {mlp.get_operation_by_name(n).device for n in editor.ops(scope="net/one/")} == {""}
    editor.undo()
    editor.undo()
    assert {node.device for node in editor._core.index.nodes} == {""}


def test_what_must_stay_next_to_it_moves_along(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", [2], use_resource=False)
        with v1.colocate_with(w):
            tf.constant(1.0, name="slot")
        tf.constant(1.0, name="else")
    editor = tgw.edit(written(graph, tmp_path))
    before = saved(editor, tmp_path)
    done = editor.set_device("w", "/job:worker/task:1")
    assert {n.name for n in editor._core.index.nodes if n.device} >= {
        "w",
        "w/Assign",
        "w/read",
        "slot",
    }
    assert "else" not in done.changed
    assert done.notes[0].endswith("must stand beside them and move along.")
    editor.undo()
    assert saved(editor, tmp_path) == before


@pytest.mark.parametrize("device", ["gpu 0", "/device:GPU", "/task:x", "GPU:0/"])
def test_what_is_no_device_is_refused(line: tf.Graph, device: str) -> None:
    with pytest.raises(GraphEditError, match="is not written as TensorFlow writes a device"):
        tgw.edit(line).set_device("a", device)


def test_nothing_changes_twice(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    for again in (
        lambda: editor.set_device("a", ""),
        lambda: editor.set_constant("a/y:0", 2.0),
        lambda: editor.set_attr("a", "T", tf.float32),
        lambda: editor.passes.set_input("x:0", [None, 2]),
    ):
        says_nothing(again(), "already")
    assert not editor.history


# Attributes


@pytest.fixture
def convolution() -> tf.Graph:
    """x -> convolved -> pooled -> whole, an int32."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [1, 8, 8, 1], name="x")
        convolved = tf.nn.conv2d(x, tf.ones([3, 3, 1, 1]), 1, "VALID", name="convolved")
        pooled = tf.nn.max_pool2d(convolved, 2, 2, "VALID", name="pooled")
        tf.cast(pooled, tf.int32, name="whole")
    return graph


def test_an_attribute_changes_what_the_session_runs_and_the_shapes(convolution: tf.Graph) -> None:
    feeds = {"x:0": np.ones((1, 8, 8, 1))}
    with v1.Session(graph=convolution) as session:
        session.run("pooled:0", feeds)
        editor = tgw.edit(convolution, session=session)
        done = editor.set_attr("convolved", "padding", "SAME")
        assert ("pooled", 0, (1, 3, 3, 1), (1, 4, 4, 1)) in done.shapes
        assert session.run("pooled:0", feeds).shape == (1, 4, 4, 1)
        editor.set_attr("pooled", "ksize", [1, 1, 1, 1])
        editor.undo()
        editor.undo()
        assert session.run("pooled:0", feeds).shape == (1, 3, 3, 1)


@pytest.mark.parametrize(
    ("op", "name", "value", "why"),
    [
        (
            "convolved",
            "pading",
            "SAME",
            r"Conv2D 'convolved' has no attribute 'pading'; did you mean 'padding'",
        ),
        (
            "convolved",
            "note",
            "a",
            r"Conv2D 'convolved' has no attribute 'note'; it has 'T', .* and \d+ more\.",
        ),
        (
            "convolved",
            "padding",
            "ROUND",
            r"'ROUND' is not allowed for attribute 'padding'.*'SAME', 'VALID', 'EXPLICIT'",
        ),
        (
            "convolved",
            "padding",
            3,
            r"3 does not suit attribute 'padding' of op 'convolved', which is a text",
        ),
        ("convolved", "strides", "1", r"which is a list, each entry a int"),
        ("convolved", "use_cudnn_on_gpu", 1, "which is a bool"),
        ("convolved", "T", "float33", r"which is a dtype"),
        ("convolved", "T", tf.int8, r"'int8' is not allowed for attribute 'T'"),
        (
            "convolved",
            "T",
            tf.float64,
            r"reads 'x:0', which is float32, and would take another dtype",
        ),
        ("whole", "DstT", "float99", "which is a dtype"),
        ("pooled", "ksize", [1, 1], r"needs 4 at entries"),
        ("convolved", "strides", [1, 1], r"Op 'convolved' cannot take|TensorFlow"),
        ("x", "shape", [1, -8], r"which is a shape"),
        ("x", "shape", [1, 2**63], r"which is a shape"),
        ("convolved", "strides", [1, 2**63, 1, 1], r"which is a list, each entry a int"),
    ],
)
def test_what_an_op_cannot_take_is_refused(
    convolution: tf.Graph, op: str, name: str, value: Any, why: str
) -> None:
    editor, before = tgw.edit(convolution), convolution.as_graph_def()
    with pytest.raises(GraphEditError, match=why):
        editor.set_attr(op, name, value)
    assert convolution.as_graph_def() == before


def test_another_dtype_must_suit_the_consumers(convolution: tf.Graph, tmp_path: Path) -> None:
    with convolution.as_default():
        tf.add(convolution.get_tensor_by_name("whole:0"), 1, name="more")
    editor = tgw.edit(written(convolution, tmp_path))
    with pytest.raises(
        GraphEditError, match=r"'whole:0' is int32 and would be int64, and op 'more' reads it"
    ):
        editor.set_attr("whole", "DstT", tf.int64)
    editor.remove("more")
    editor.set_attr("whole", "DstT", tf.int64)
    assert ran(editor, tmp_path, "whole:0", {"x:0": np.ones((1, 8, 8, 1))}).dtype == np.int64


def test_an_op_whose_number_of_tensors_would_change_is_refused() -> None:
    graph = tf.Graph()
    with graph.as_default():
        parts = tf.split(tf.ones([4]), 2, name="parts")
        tf.add_n(parts, name="sum")
    editor = tgw.edit(graph)
    with pytest.raises(GraphEditError, match="would take 3 tensors, and reads 2"):
        editor.set_attr("sum", "N", 3)
    with pytest.raises(
        GraphEditError, match="'parts:1' is float32 and would be gone, and op 'sum' reads it"
    ):
        editor.set_attr("parts", "num_split", 1)
    with pytest.raises(GraphEditError, match="needs 1 at least, and 0 was given"):
        editor.set_attr("sum", "N", 0)


@pytest.fixture
def custom(line: tf.Graph) -> tgw.GraphEditor:
    """A file with an op that TensorFlow does not know, and one with an attribute that it does not
    know of.
    """
    graph_def = line.as_graph_def()
    held = graph_def.node.add(name="custom", op="NobodyKnowsThis", input=["b"]).attr
    held["mode"].s, held["k"].i, held["rate"].f, held["on"].b, held["T"].type = (
        b"fast",
        3,
        0.5,
        False,
        1,
    )
    held["ks"].list.i.extend([1, 2])
    held["shape"].shape.dim.add(size=3)
    held["none"].list.SetInParent()
    held["_class"].list.s.append(b"loc:@a")
    reader = graph_def.node.add(name="reader", op="Neg", input=["custom"])
    reader.attr["T"].type = 1
    reader.attr["_mine"].s = b"old"
    return tgw.edit(graph_def)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "slow"),
        ("k", 4),
        ("rate", 0.25),
        ("on", True),
        ("T", "float64"),
        ("ks", (3,)),
        ("shape", (None, 2)),
    ],
)
def test_an_op_that_tensorflow_does_not_know_takes_other_values_of_the_attributes_it_has(
    custom: tgw.GraphEditor, name: str, value: Any
) -> None:
    first = v1.GraphDef(node=custom._core.index.nodes)
    before = custom._core.index.nodes[custom._core.index.op("custom")].attr[name]
    report = custom.set_attr("custom", name, value)
    after = custom._core.index.nodes[custom._core.index.op("custom")].attr[name]
    assert before != after
    assert before.WhichOneof("value") == after.WhichOneof("value")
    assert "it is not checked" in report.notes[0]
    again = tgw.edit(first)
    again.history.replay(
        [
            {
                "command": "set_attr",
                "arguments": {"op": "custom", "name": name, "value": encode(value)},
            }
        ]
    )
    assert again._core.index.nodes[again._core.index.op("custom")].attr[name] == after


def test_an_empty_list_of_an_unknown_op_takes_what_is_given(custom: tgw.GraphEditor) -> None:
    custom.set_attr("custom", "none", [1, 2])
    assert list(custom._core.index.nodes[custom._core.index.op("custom")].attr["none"].list.i) == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("k", "x", "does not suit"),
        ("k", 2**70, "does not suit"),
        ("mode", 3, "does not suit"),
        ("mod", 1, "did you mean 'mode'"),
        ("padding", "SAME", "TensorFlow does not know the type; load its library"),
        ("_class", ["loc:@gone"], "cannot be placed beside 'gone', which the graph does not have"),
        ("_class", ["gone"], "cannot be placed beside 'gone', which the graph does not have"),
    ],
)
def test_what_an_unknown_op_has_not_or_cannot_hold_is_refused(
    custom: tgw.GraphEditor, name: str, value: Any, why: str
) -> None:
    with pytest.raises(GraphEditError, match=why):
        custom.set_attr("custom", name, value)
    assert not custom.history.done


def test_an_attribute_that_only_the_op_has_can_be_set_in_a_file_and_in_a_live_graph(
    custom: tgw.GraphEditor,
) -> None:
    custom.set_attr("reader", "_mine", "new")
    assert custom._core.index.nodes[custom._core.index.op("reader")].attr["_mine"].s == b"new"
    with tf.Graph().as_default() as graph, graph._attr_scope({"_mine": v1.AttrValue(s=b"old")}):
        tf.add(1.0, 2.0, name="sum")
    editor = tgw.edit(graph)
    editor.set_attr("sum", "_mine", "new")
    assert graph.get_operation_by_name("sum").get_attr("_mine") == b"new"
    editor.undo()
    assert graph.get_operation_by_name("sum").get_attr("_mine") == b"old"


# Constants


def test_a_constant_has_another_value(line: tf.Graph, tmp_path: Path) -> None:
    with v1.Session(graph=line) as session:
        session.run("c:0", X)
        editor = tgw.edit(line, session=session)
        editor.set_constant("a/y:0", np.float32(5))
        assert session.run("c:0", X).tolist() == [[20, 20]]
        assert ran(editor, tmp_path, "c:0", X).tolist() == [[20, 20]]
        editor.undo()
        assert session.run("c:0", X).tolist() == [[8, 8]]


def test_a_placeholder_is_fixed_and_may_still_be_fed() -> None:
    graph = tf.Graph()
    with graph.as_default():
        training = v1.placeholder_with_default(True, [], name="is_training")
        tf.where(training, 1.0, 2.0, name="y")
    with v1.Session(graph=graph) as session:
        assert session.run("y:0") == 1
        editor = tgw.edit(graph, session=session)
        done = editor.set_constant("is_training:0", False)
        assert done.added == ("is_training/value",)
        assert session.run("y:0") == 2
        assert session.run("y:0", {"is_training:0": True}) == 2
        editor.undo()
        assert session.run("y:0") == 1


def test_a_placeholder_that_nothing_names_any_more_goes_and_comes_back(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        keep = v1.placeholder(tf.float32, [], name="keep")
        v1.add_to_collection("options", keep)
        with v1.colocate_with(keep):
            tf.multiply(x, keep, name="y")
    for editor in (tgw.edit(graph.as_graph_def()), tgw.edit(graph)):
        before = list(editor._core.index.nodes), editor._core.index.collections
        editor.set_constant("keep:0", 0.5)
        assert [node.name for node in editor._core.index.nodes if node.op == "Placeholder"] == ["x"]
        saved = v1.GraphDef.FromString(editor.save(tmp_path / "edited.pb").read_bytes())
        with tf.Graph().as_default() as again, v1.Session(graph=again) as session:
            tf.import_graph_def(saved, name="")
            assert session.run("y:0", {"x:0": [2.0, 4.0]}).tolist() == [1, 2]
        editor.undo()
        assert (list(editor._core.index.nodes), editor._core.index.collections) == before


def test_a_placeholder_that_a_signature_names_stays(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x, keep = (
            v1.placeholder(tf.float32, [None], name="x"),
            v1.placeholder(tf.float32, [], name="keep"),
        )
        v1.saved_model.simple_save(
            session, str(tmp_path / "sm"), {"x": x, "keep": keep}, {"y": tf.multiply(x, keep)}
        )
    editor = tgw.edit(tmp_path / "sm")
    editor.set_constant("keep:0", 0.5)
    assert "keep" in editor._core.index.names


@pytest.mark.parametrize(
    ("tensor", "value", "why"),
    [
        ("a/y:0", True, "True is not a value of float32"),
        ("a/y:0", "text", "'text' is not a value of float32; give a number, or an array of these"),
        ("a/y:0", [1.0, 2.0], r"The value has shape \(2,\), and the tensor \(\)"),
        ("x:0", [[1.0, 2.0, 3.0]], r"The value has shape \(1, 3\), and the tensor \(None, 2\)"),
        ("a:0", 1.0, "Op 'a' is a Mul, which computes its value|The value has shape"),
        ("q:0", 1.0, "no op 'q'"),
    ],
)
def test_a_value_must_suit_the_tensor(line: tf.Graph, tensor: str, value: Any, why: str) -> None:
    with pytest.raises((GraphEditError, UnknownName), match=why):
        tgw.edit(line).set_constant(tensor, value)


def test_values_of_every_kind() -> None:
    graph = tf.Graph()
    kinds = {
        "text": tf.constant(["a", "b"]),
        "whole": tf.constant([1, 2], tf.int64),
        "no": tf.constant(False),
    }
    with graph.as_default():
        for name, value in kinds.items():
            tf.identity(tf.constant(value.numpy(), name=name), name=f"{name}_read")
    editor = tgw.edit(graph)
    editor.set_constant("text:0", ["c", "ä"])
    editor.set_constant("whole:0", (3, 4))
    editor.set_constant("no:0", np.bool_(True))
    with v1.Session(graph=graph) as session:
        text, whole, no = session.run(["text_read:0", "whole_read:0", "no_read:0"])
    assert [word.decode() for word in text] == ["c", "ä"]
    assert (whole.tolist(), bool(no)) == ([3, 4], True)
    assert 'editor.set_constant(tensor="whole:0", value=[3, 4])' in editor.history.to_script().text


@pytest.mark.parametrize("is_file", [False, True])
def test_a_constant_says_the_dtype_that_its_value_has(is_file: bool) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
    editor = tgw.edit(graph.as_graph_def() if is_file else graph)
    for _ in range(2):
        with pytest.raises(
            GraphEditError, match="The value of constant 'c' is float32 and stays it; cast it"
        ):
            editor.set_attr("c", "dtype", "int32")
    assert not editor.history.done
    assert editor._core.index.dtypes(0) == ("float32",)
