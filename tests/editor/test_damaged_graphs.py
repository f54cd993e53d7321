"""What is damaged in a file is refused in a sentence, or left aside, wherever it is met."""

from __future__ import annotations

import contextlib
import xml.dom.minidom
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import reason_of
from tfgraphwidget.sources import error_text

FLOAT, INT, BOOL = (each.as_datatype_enum for each in (tf.float32, tf.int32, tf.bool))
FEEDS = {"x:0": np.ones((2, 2), np.float32)}


def graph_of(*nodes: v1.NodeDef) -> v1.GraphDef:
    """x, of two columns, its product with a matrix, and other ops."""
    x = v1.NodeDef(name="x", op="Placeholder")
    x.attr["dtype"].type = FLOAT
    x.attr["shape"].shape.CopyFrom(tf.TensorShape([None, 2]).as_proto())
    graph_def = v1.GraphDef(node=[x, constant("w", np.eye(2, dtype=np.float32)), *nodes])
    graph_def.node.append(op("y", "MatMul", "x", "w"))
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    return graph_def


def op(name: str, kind: str, *inputs: str, **texts: bytes) -> v1.NodeDef:
    node = v1.NodeDef(name=name, op=kind, input=inputs)
    node.attr["T"].type = FLOAT
    for key, text in texts.items():
        node.attr[key].s = text
    return node


def constant(name: str, value: Any) -> v1.NodeDef:
    node = v1.NodeDef(name=name, op="Const")
    proto = value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value)
    node.attr["dtype"].type = proto.dtype
    node.attr["value"].tensor.CopyFrom(proto)
    return node


def too_long() -> v1.NodeDef:
    proto = tf.make_tensor_proto([1.0, 2.0, 3.0])
    proto.tensor_content = b""
    proto.float_val[:] = [1.0, 2.0, 3.0]
    proto.tensor_shape.dim[0].size = 2
    return constant("long", proto)


def endless_shape() -> v1.NodeDef:
    node = v1.NodeDef(name="huge", op="Placeholder")
    node.attr["dtype"].type = FLOAT
    node.attr["shape"].shape.CopyFrom(tf.TensorShape([2**62]).as_proto())
    return node


def negative_size() -> v1.NodeDef:
    node = endless_shape()
    node.attr["shape"].shape.dim[0].size = -7
    return node


def not_utf8() -> tuple[v1.NodeDef, ...]:
    wrong = op("wrong", "Conv2D", "x", "w", padding=b"\xff\xfe")
    wrong.attr["strides"].list.i.extend([1] * 4)
    return op("enter", "Enter", "x", frame_name=b"\xff"), wrong


def without_body() -> v1.NodeDef:
    node = v1.NodeDef(name="loop", op="While", input=["x"])
    node.attr["T"].list.type.append(FLOAT)
    node.attr["cond"].func.name = node.attr["body"].func.name = "missing"
    return node


def many_conditions() -> tuple[v1.NodeDef, ...]:
    switch = op("switch", "Switch", "x", "x")
    merge = op("merge", "Merge", "switch", "switch:1")
    merge.attr["N"].i = 2
    return switch, merge


Call = Callable[[GraphEditor], object]
CALLS: dict[str, tuple[tuple[v1.NodeDef, ...], Call]] = {
    "a constant with too many values, compared": (
        (too_long(), op("read", "Neg", "long")),
        lambda e: e.compare(FEEDS, graph_of(too_long(), op("read", "Neg", "long")), "all"),
    ),
    "a text that is not UTF-8": (
        not_utf8(),
        lambda e: e.compare(FEEDS, graph_of(*not_utf8()), "all"),
    ),
    "a loop without its functions": (
        (without_body(),),
        lambda e: e.passes.change_batch_size(3),
    ),
    "a condition of many values": (
        many_conditions(),
        lambda e: e.compare(FEEDS, graph_of(*many_conditions()), "all"),
    ),
    "a placeholder that no memory can hold": (
        (endless_shape(), op("sum", "Neg", "huge")),
        lambda e: e.save("model/", ["huge:0"], ["sum:0"]),
    ),
    "a fix that holds a list": ((negative_size(),), lambda e: e.lint().fixes),
}


@pytest.mark.parametrize(("nodes", "call"), CALLS.values(), ids=CALLS)
@pytest.mark.filterwarnings("ignore")
def test_what_is_damaged_raises_nothing_but_sentences(
    nodes: tuple[v1.NodeDef, ...],
    call: Call,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(tgw.GraphEditError):
        call(tgw.edit(graph_of(*nodes)))


def test_ops_that_end_the_process_as_they_are_imported_are_not_run_apart() -> None:
    graph_def = v1.GraphDef()
    names = {"node_ids": INT, "gradients": FLOAT, "hessians": FLOAT, "feature": INT}
    for name, dtype in names.items():
        scalar = graph_def.node.add(name=name, op="Placeholder")
        scalar.attr["dtype"].type = dtype
        scalar.attr["shape"].shape.SetInParent()
    trees = graph_def.node.add(name="y", op="BoostedTreesAggregateStats", input=list(names))
    trees.attr["max_splits"].i = trees.attr["num_buckets"].i = 1
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    feeds = {f"{name}:0": 1 for name in names}
    with pytest.raises(tgw.GraphEditError, match=r"input 0 of shape \(\), on which .* ends the"):
        tgw.edit(graph_def).compare(feeds, graph_def, "y:0")


def test_what_tensorflow_quotes_of_a_file_moves_no_cursor() -> None:
    quoted = tf.errors.InvalidArgumentError(None, None, "Node '\x1b[2J\x1b]0;title\x07' is bad")
    assert error_text(quoted) == r"Node '\x1b[2J\x1b]0;title\x07' is bad"
    assert reason_of(ValueError("\u202eyes")) == r"\u202eyes"


def test_what_is_printed_or_written_of_a_file_has_no_control_characters(tmp_path: Path) -> None:
    text = "a\x1b[2Jb"
    node = op("odd", "Neg", "x")
    node.attr[text].s = text.encode()
    node.device = f"/device:{text}"
    editor = tgw.edit(graph_of(node, v1.NodeDef(name="unknown", op=text)))
    printed = [editor.inspect("odd"), editor.inspect("unknown"), editor.inspect(), editor.lint()]
    assert [each for each in map(repr, printed) if "\x1b" in each] == []
    xml.dom.minidom.parse(str(editor.save(tmp_path / "a.graphml")))
