"""Ways by which TensorFlow comes to an op, or to the name of a file, that no attribute or input of
an op shows; each is tried with plain TensorFlow first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.trackable import resource

import tfgraphwidget as tgw
from tfgraphwidget.errors import NotTrusted

v1, r = tf.compat.v1, tf.raw_ops
FEEDS = {"x:0": np.ones(2, np.float32)}
FLOAT, TEXT = tf.float32.as_datatype_enum, tf.string.as_datatype_enum


def call(node: v1.NodeDef, function: str, inputs: int = 1) -> v1.NodeDef:
    """Make a NodeDef call a function of numbers."""
    node.attr["Tin"].list.type.extend([FLOAT] * inputs)
    node.attr["Tout"].list.type.append(FLOAT)
    node.attr["f"].func.name = function
    return node


def add_function(
    graph_def: v1.GraphDef, name: str, op: str = "Neg", arguments: tuple[str, ...] = ("a",)
) -> function_pb2.FunctionDef:
    """Add a function that gives its first argument to an op."""
    function: function_pb2.FunctionDef = graph_def.library.function.add()
    function.signature.name, function.signature.is_stateful = name, True
    for argument in arguments:
        function.signature.input_arg.add(name=argument, type=FLOAT)
    function.signature.output_arg.add(name="r", type=FLOAT)
    if op:
        function.node_def.add(name="op", op=op, input=["a"]).attr["T"].type = FLOAT
        function.ret["r"] = "op:y:0"
    return function


def add_hostile(
    graph_def: v1.GraphDef, marker: Path, arguments: tuple[str, ...] = ("a",)
) -> function_pb2.FunctionDef:
    """Add a function that writes the marker."""
    function = add_function(graph_def, "hostile", arguments=arguments)
    for name in ("path", "contents"):
        constant = function.node_def.add(name=name, op="Const")
        constant.attr["dtype"].type = TEXT
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(str(marker)))
    function.node_def.add(
        name="write", op="WriteFile", input=["path:output:0", "contents:output:0"]
    )
    function.control_ret["write"] = "write"
    function.signature.control_output.append("write")
    function.node_def[0].input.append("^write")
    return function


def with_parameter(graph_def: v1.GraphDef) -> function_pb2.FunctionDef:
    """Add a function that calls the one in its attribute F."""
    function = add_function(graph_def, "outer", "")
    function.signature.attr.add(name="F", type="func")
    inner = call(function.node_def.add(name="inner", op="StatefulPartitionedCall"), "")
    inner.input.append("a")
    inner.attr["f"].placeholder = "F"
    function.ret["r"] = "inner:output:0"
    return function


def handed_on(graph_def: v1.GraphDef, marker: Path, last: v1.NodeDef) -> None:
    """An attribute of the function that an op calls."""
    add_hostile(graph_def, marker)
    with_parameter(graph_def)
    last.op = "StatefulPartitionedCall"
    call(last, "outer").attr["f"].func.attr["F"].func.name = "hostile"


def default_of_attribute(graph_def: v1.GraphDef, marker: Path, last: v1.NodeDef) -> None:
    """The default of an attribute that the call leaves out."""
    add_hostile(graph_def, marker)
    with_parameter(graph_def).signature.attr[0].default_value.func.name = "hostile"
    last.op = "outer"


def gradient(graph_def: v1.GraphDef, marker: Path, last: v1.NodeDef) -> None:
    """What the file registers as the gradient of a function."""
    add_hostile(graph_def, marker, ("a", "upstream"))
    add_function(graph_def, "harmless")
    graph_def.library.gradient.add(function_name="harmless", gradient_func="hostile")
    last.op = "SymbolicGradient"
    last.input.append(last.input[0])
    call(last, "harmless", 2)


def stand_in(graph_def: v1.GraphDef, marker: Path, last: v1.NodeDef) -> None:
    """A function that says that it does the same, for another device."""
    for function, device in (
        (add_hostile(graph_def, marker), b"CPU"),
        (add_function(graph_def, "harmless"), b"GPU"),
    ):
        function.attr["api_implements"].s, function.attr["api_preferred_device"].s = b"it", device
    last.op = "StatefulPartitionedCall"
    call(last, "harmless")


WAYS = [handed_on, default_of_attribute, gradient, stand_in]


def graph_of(way: Callable[..., None], marker: Path) -> v1.GraphDef:
    """x, some ops, since TensorFlow optimizes no graph of fewer, the hidden way, and y."""
    graph_def = v1.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    x = graph_def.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = FLOAT
    x.attr["shape"].shape.dim.add(size=2)
    for k in range(5):
        graph_def.node.add(name=f"n{k}", op="Sin", input=[f"n{k - 1}" if k else "x"]).attr[
            "T"
        ].type = FLOAT
    way(graph_def, marker, graph_def.node.add(name="hidden", input=["n4"]))
    graph_def.node.add(name="y", op="Sin", input=["hidden"]).attr["T"].type = FLOAT
    return graph_def


def runs_plainly(graph_def: v1.GraphDef) -> None:
    config = v1.ConfigProto()  # with an optimizer, as a user's
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=config) as session:
        tf.import_graph_def(graph_def, name="")
        session.run("y:0", FEEDS)


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_runs_in_a_hidden_way_asks_first(
    tmp_path: Path, way: Callable[..., None]
) -> None:
    marker = tmp_path / "marker"
    graph_def = graph_of(way, marker)
    runs_plainly(graph_def)
    assert marker.exists(), "TensorFlow goes this way"
    marker.unlink()
    path = tmp_path / "model.pb"
    path.write_bytes(graph_def.SerializeToString())
    editor = tgw.edit(path)
    assert not editor.source.trusted
    assert any("WriteFile" in str(finding) for finding in editor.lint("untrusted"))
    with pytest.raises(NotTrusted, match="writes a file"):
        editor.session.run("y:0", FEEDS)
    with pytest.raises(NotTrusted, match="writes a file"):
        editor.probe("y:0", FEEDS)
    assert not marker.exists()


def as_content(text: str) -> bytes:
    """A text as the content of a tensor has it: its length, then itself."""
    assert len(text) < 1 << 14
    return bytes([len(text) & 127 | 128, len(text) >> 7]) + text.encode()


def test_the_name_of_a_file_is_the_one_that_tensorflow_reads(tmp_path: Path) -> None:
    """A constant of texts may have its content twice, and TensorFlow reads one of them."""
    structure: dict[str, Any] = {"output_types": [tf.float32], "output_shapes": [[2]]}
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        pairs = r.TensorDataset(components=[tf.constant([1.0, 2.0])], output_shapes=[[2]])
        name = tf.constant("", name="name")
        cached = r.CacheDatasetV2(
            input_dataset=pairs, filename=name, cache=r.DummyMemoryCache(), **structure
        )
        iterator = r.AnonymousIteratorV3(**structure)
        with tf.control_dependencies([r.MakeIterator(dataset=cached, iterator=iterator)]):
            first = r.IteratorGetNext(iterator=iterator, **structure)
        with tf.control_dependencies(first):
            last = r.IteratorGetNextAsOptional(iterator=iterator, **structure)
        with tf.control_dependencies([last]):
            tf.identity(x, "y")
    graph_def = graph.as_graph_def()
    tensor = next(node for node in graph_def.node if node.name == "name").attr["value"].tensor
    tensor.tensor_content = as_content(str(tmp_path / "marker"))
    runs_plainly(graph_def)
    written = list(tmp_path.iterdir())
    assert written, "TensorFlow reads the content"
    for file in written:
        file.unlink()
    with pytest.raises(NotTrusted, match="'CacheDatasetV2'"):
        tgw.edit(graph_def).session.run("y:0", FEEDS)
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path)[:20] in str(tgw.edit(graph_def).inspect("name").value)


class Captured(resource.TrackableResource):
    """A resource whose initializer saves a file under a name that it has captured."""

    def __init__(self, path: tf.Tensor) -> None:
        super().__init__()
        self._path = path

    def _create_resource(self) -> tf.Tensor:
        return r.MutableHashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, shared_name="captured"
        )

    def _initialize(self) -> None:
        if not tf.executing_eagerly():
            argument = v1.get_default_graph()._capture_helper(self._path, "path")
            value = tf.constant(1.0)
            r.SaveV2(prefix=argument, tensor_names=["a"], shape_and_slices=[""], tensors=[value])


def test_what_a_saved_model_gives_its_functions_is_not_what_a_caller_gives(tmp_path: Path) -> None:
    """`tf.saved_model.load` calls an initializer with the constants that it has captured."""
    written = tmp_path / "written"
    written.mkdir()
    module = tf.Module()
    module.path = tf.constant(str(written / "marker"))
    module.resource = Captured(module.path)
    module.twice = tf.function(
        lambda x: {"y": x * 2.0}, autograph=False, input_signature=[tf.TensorSpec([2])]
    )
    folder = tmp_path / "model"
    tf.saved_model.save(module, str(folder), signatures=module.twice)
    file = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    graph_def = model.meta_graphs[0].graph_def
    for function in graph_def.library.function:
        if "initializer" in function.signature.name:
            function.control_ret["SaveV2"] = "SaveV2"
            function.signature.control_output.append("SaveV2")
            function.signature.is_stateful = True
    for node in graph_def.node:  # the call of the initializer in the graph, which shows the name
        if "initializer" in node.attr["f"].func.name:
            node.op = "NoOp"
            node.ClearField("attr")
            node.ClearField("input")
    file.write_bytes(model.SerializeToString())
    tf.saved_model.load(str(folder))
    names = [each.name for each in written.iterdir()]
    assert names, "TensorFlow calls it"
    for name in names:
        (written / name).unlink()
    editor = tgw.edit(folder)
    assert not editor.source.trusted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        editor.save(tmp_path / "saved/")
    assert list(written.iterdir()) == []


def test_a_variable_holds_what_the_checkpoint_says(tmp_path: Path) -> None:
    """The graph assigns what a caller feeds, and the checkpoint the name of a file."""
    written, prefix = tmp_path / "written", str(tmp_path / "model")
    written.mkdir()
    with tf.Graph().as_default(), v1.Session() as session:
        text = tf.constant(str(written / "marker"))
        variable = v1.get_variable("v", initializer=text, use_resource=True)
        session.run(variable.initializer)
        v1.train.Saver([variable]).save(session, prefix, write_meta_graph=False)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], "x")
        handle = r.VarHandleOp(dtype=tf.string, shape=[], shared_name="v", name="v")
        r.AssignVariableOp(resource=handle, value=v1.placeholder(tf.string, []))
        name = r.ReadVariableOp(resource=handle, dtype=tf.string)
        value = tf.constant(1.0)
        saved = r.SaveV2(prefix=name, tensor_names=["a"], shape_and_slices=[""], tensors=[value])
        with tf.control_dependencies([saved]):
            tf.identity(x, "y")
    editor = tgw.edit(v1.MetaGraphDef(graph_def=graph.as_graph_def()), checkpoint=prefix)
    with pytest.raises(NotTrusted, match="'SaveV2'"):
        editor.session.run("y:0", FEEDS)
    with pytest.raises(NotTrusted, match="'SaveV2'"):
        editor.probe("y:0", FEEDS)
    assert list(written.iterdir()) == []
