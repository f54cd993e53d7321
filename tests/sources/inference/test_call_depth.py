"""Function libraries whose calls do not end, or go deep, or compute shapes from files; and what is
left of a graph.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.sources.conftest import Affine, facts, index_of, node
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.sources import body_index, open_function, open_source
from tfgraphwidget.sources.node_body import GraphDefLibrary


def of_type(dtype: tf.DType) -> v1.AttrValue:
    return v1.AttrValue(list={"type": [dtype.as_datatype_enum]})


def call(name: str, function: str, read: str) -> v1.NodeDef:
    types = {"Tin": of_type(tf.float32), "Tout": of_type(tf.float32)}
    return node(name, "PartitionedCall", read, f=v1.AttrValue(func={"name": function}), **types)


def calling(name: str, *callees: str) -> function_pb2.FunctionDef:
    """A function of one argument that calls others one after the other."""
    definition = function_pb2.FunctionDef()
    definition.signature.name = name
    definition.signature.input_arg.add(name="x", type=tf.float32.as_datatype_enum)
    definition.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    read = "x"
    for k, callee in enumerate(callees):
        definition.node_def.append(call(f"call{k}", callee, read))
        read = f"call{k}:output:0"
    definition.node_def.append(node("end", "Neg", read, T=tf.float32))
    definition.ret["y"] = "end:y:0"
    return definition


def graph_of(*functions: function_pb2.FunctionDef, first: str = "f0") -> v1.GraphDef:
    shape = v1.AttrValue(shape=tf.TensorShape([2, 3]).as_proto())
    x = node("x", "Placeholder", dtype=tf.float32, shape=shape)
    plain, by_type = node("plain", "Relu", "x", T=tf.float32), node("by_type", first, "x")
    graph_def = v1.GraphDef(node=[x, plain, call("call", first, "x"), by_type])
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    graph_def.library.function.extend(functions)
    return graph_def


LIBRARIES = {
    "itself": [calling("f0", "f0")],
    "in a circle": [calling("f0", "f1"), calling("f1", "f2"), calling("f2", "f0", "f1")],
    "behind": [calling("f0", "f1"), calling("f1", "f1")],
    "deep": [calling(f"f{k}", f"f{k + 1}") for k in range(5000)] + [calling("f5000")],
}


@pytest.mark.parametrize("functions", LIBRARIES.values(), ids=LIBRARIES)
def test_calls_that_do_not_end_can_be_looked_at_and_not_run(
    functions: list[function_pb2.FunctionDef],
) -> None:
    source = open_source(graph_of(*functions))
    index = index_of(source.body)
    assert index.shape(index.op("plain"), 0) == (2, 3)
    assert index.shape(index.op("call"), 0) is None
    assert len(facts(index)) == 4
    for name in ("f0", functions[-1].signature.name):
        assert facts(index_of(open_function(name, source.body)))
    (notice,) = source.notices
    assert "which TensorFlow cannot import" in notice
    with pytest.raises(NotRunnable, match=r"calls itself|over 100 deep"):
        source.live()


def test_calls_that_double_at_each_level_are_not_followed_to_their_end() -> None:
    functions = [calling(f"f{k}", f"f{k + 1}", f"f{k + 1}") for k in range(60)]
    source = open_source(graph_of(*functions, calling("f60")))
    index = index_of(source.body)
    assert index.shape(index.op("plain"), 0) == (2, 3)
    with pytest.raises(NotRunnable, match=r"leads to too many ops, .* with a loop in its place"):
        source.live()  # TensorFlow would follow them, and Ctrl-C not stop it


def test_doubling_calls_are_neither_run_apart_nor_loaded_nor_inlined() -> None:
    functions = [calling(f"f{k}", f"f{k + 1}", f"f{k + 1}") for k in range(40)]
    editor = tgw.edit(graph_of(*functions, calling("f40")))
    feeds = {"x": np.ones((2, 3), np.float32)}
    for call in (
        lambda: editor.probe("call", feeds),
        lambda: editor.compare(feeds, graph_of(calling("f0")), "call"),
    ):
        with pytest.raises(GraphEditError, match="leads to too many ops"):
            call()
    with pytest.raises(GraphEditError, match="leads to too many ops"):
        editor.extract(["x:0"], ["call:0"]).to_function()


def test_doubling_calls_are_not_inlined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgraphwidget.graph.flattening.MAX_OPS", 1000)
    functions = [calling(f"f{k}", f"f{k + 1}", f"f{k + 1}") for k in range(40)]
    editor = tgw.edit(graph_of(*functions, calling("f40")))
    with pytest.raises(GraphEditError, match=r"over 1,000 ops, too many to inline; .*inline=True"):
        editor.freeze("call", inline=True)
    assert editor.history.done == ()


def test_a_name_is_asked_for_once_however_deep_calls_are_nested() -> None:
    """The library of a body asks that of the body around."""
    depth = 12
    functions = [calling(f"f{k}", f"f{k + 1}") for k in range(depth)]
    outermost: Any = open_source(graph_of(*functions, calling(f"f{depth}"))).body
    asked: list[str] = []

    class Library(GraphDefLibrary):
        """The outermost library, which notes what it is asked for."""

        def function(self, name: str) -> function_pb2.FunctionDef:
            asked.append(name)
            return super().function(name)

    library = Library(outermost.library.graph_def, outermost.library.by_name)
    body = replace(outermost, library=library)
    call = "call"
    for k in range(depth):
        index = body_index(body)
        body = open_function(f"f{k}", body, index, index.op(call))
        call = "call0"
    asked.clear()
    with pytest.raises(KeyError):
        body.function("Neg")
    assert asked == ["Neg"]


def test_a_function_that_is_passed_the_one_it_calls_is_not_followed() -> None:
    report = calling("f0", "")
    report.node_def[0].attr["f"].placeholder = "F"
    report.signature.attr.add(name="F", type="func")
    graph_def = graph_of(report)
    graph_def.node[2].attr["f"].func.attr["F"].func.name = "f0"
    graph_def.node[3].attr["F"].func.name = "f0"
    index = index_of(open_source(graph_def).body)
    assert index.shape(index.op("plain"), 0) == (2, 3)


def test_shapes_of_calls_that_end_are_known() -> None:
    source = open_source(graph_of(calling("f0", "f1", "f1"), calling("f1")))
    index = index_of(source.body)
    assert [index.shape(index.op(name), 0) for name in ("call", "by_type")] == [(2, 3), (2, 3)]
    assert source.notices == ()


def test_shapes_that_a_function_computes_from_a_file_are_not_computed(tmp_path: Path) -> None:
    file = tmp_path / "shape"
    file.write_bytes(np.array([2, 3], np.int32).tobytes())

    @tf.function(input_signature=[tf.TensorSpec([None])], autograph=False)
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(x, tf.io.decode_raw(tf.io.read_file(str(file)), tf.int32))

    @tf.function(input_signature=[tf.TensorSpec([None])], autograph=False)
    def outer(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(inner(x), name="result")

    graph_def = outer.get_concrete_function().graph.as_graph_def()
    for held in (*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)):
        held.attr.pop("_output_shapes", None)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    # TensorFlow has read the file to know this.
    assert graph.get_tensor_by_name("result:0").shape == [
        2,
        3,
    ]
    body = open_source(graph_def).body
    index = index_of(body)
    assert index.shape(index.op("result"), 0) is None
    for name in body.functions():
        report = [t.shape for op in facts(index_of(open_function(name, body))) for t in op.outputs]
        assert "(2, 3)" not in report


def test_the_envelope_of_a_graph_is_its_versions_and_its_library(affine: Affine) -> None:
    live = open_source(affine.__call__).body
    graph_def = affine.__call__.get_concrete_function().graph.as_graph_def()
    file = open_source(graph_def).body
    room = open_function(min(file.functions()), file)
    for body in (live, file, room, open_function(min(live.functions()), live)):
        envelope = body.envelope()
        assert {f.signature.name for f in envelope.library.function} == live.functions()
        assert envelope.versions == graph_def.versions
        assert len(envelope.node) == 0
