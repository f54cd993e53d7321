"""Proof: what TensorFlow would refuse is refused in one sentence, and the graph is as it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2

from tests.conftest import v1
from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName
from tfgraphwidget.runtime.live.patch_application import apply_live, import_nodes
from tfgraphwidget.runtime.sandbox import preflight
from tfgraphwidget.runtime.sandbox.preflight import serialize_nodes, validate

FLOAT, INT = tf.float32.as_datatype_enum, tf.int32.as_datatype_enum


def node(name: str, op: str, *inputs: str, **types: int) -> v1.NodeDef:
    """A NodeDef with type attributes."""
    made = v1.NodeDef(name=name, op=op, input=inputs)
    for key, value in types.items():
        made.attr[key].type = value
    return made


def called(name: str) -> v1.NodeDef:
    """A call of the library function `name` on x."""
    made = node("new", "PartitionedCall", "x")
    made.attr["f"].func.name = name
    for key in ("Tin", "Tout"):
        made.attr[key].list.type.append(FLOAT)
    return made


def on(device: str) -> v1.NodeDef:
    """An op on a device."""
    made = node("new", "Relu", "x", T=FLOAT)
    made.device = device
    return made


def state(graph: tf.Graph) -> tuple[bytes, set[str], dict[str, list[object]], dict[str, int]]:
    """All that an import may change."""
    held = {key: list(graph.get_collection_ref(key)) for key in graph.get_all_collection_keys()}
    return (
        graph.as_graph_def().SerializeToString(deterministic=True),
        set(graph._functions),
        held,
        dict(graph._names_in_use),
    )


REFUSED: dict[str, Callable[[], list[v1.NodeDef]]] = {
    "op type 'Nope'": lambda: [node("new", "Nope", "x")],
    "expected int32": lambda: [node("new", "Relu", "x", T=INT)],
    "not unique": lambda: [node("new", "Relu", "x", T=FLOAT), node("new", "Relu", "x", T=FLOAT)],
    "missing attr 'T'": lambda: [node("new", "Relu", "x")],
    "not in the list of allowed": lambda: [node("new", "Relu", "x", T=tf.string.as_datatype_enum)],
    "must be rank 2": lambda: [node("new", "MatMul", "flat", "flat", T=FLOAT)],
    "cycle": lambda: [node("new", "Relu", "other", T=FLOAT), node("other", "Relu", "new", T=FLOAT)],
    "invalid characters": lambda: [node("new op", "Relu", "x", T=FLOAT)],
    "'new' is to read 'gone:1'": lambda: [node("new", "Relu", "gone:1", T=FLOAT)],
    "'new' is to read '\\^gone'": lambda: [node("new", "Relu", "x", "^gone", T=FLOAT)],
    "'new' is to read 'x:4'": lambda: [node("new", "Relu", "x:4", T=FLOAT)],
    "already; copy into another": lambda: [node("a", "Relu", "x", T=FLOAT)],
    "function 'gone'": lambda: [called("gone")],
    "'/cpu/7', the device of op 'new'": lambda: [on("/cpu/7")],
    "Number of inputs|inputs": lambda: [node("new", "Relu", "x", "x", T=FLOAT)],
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_tensorflow_refuses_is_said_in_one_sentence_and_changes_nothing(
    line: tf.Graph, reason: str
) -> None:
    with line.as_default():
        v1.placeholder(tf.float32, [3], name="flat")
    before = state(line)
    good = node("good", "Relu", "x", T=FLOAT)
    with pytest.raises(GraphEditError, match=reason.replace("op type 'Nope'", "'Nope'")) as raised:
        apply_live(Patch(add=Change(nodes=(good, *REFUSED[reason]()))), line)
    assert state(line) == before
    assert raised.value.why.endswith(".")
    assert "\n" not in raised.value.why
    assert ". " not in raised.value.why


def test_the_bytes_are_those_of_a_graph_def_that_holds_the_same(line: tf.Graph) -> None:
    nodes = [
        node("n" * length, "NoOp")
        for length in (1, 100, 123, 124, 125, 16_000, 16_377, 16_378, 16_379, 70_000)
    ]
    library = function_pb2.FunctionDefLibrary()
    library.function.add().signature.name = "f"
    for held in (library, None):
        whole = v1.GraphDef(node=nodes, versions=line.graph_def_versions, library=held)
        assert v1.GraphDef.FromString(serialize_nodes(line, iter(nodes), held)) == whole


def test_more_than_protobuf_reads_is_refused(
    line: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [node("new", "Relu", "x", T=FLOAT)]
    monkeypatch.setattr(preflight, "_MOST_BYTES", len(serialize_nodes(line, nodes)) - 1)
    before = state(line)
    with pytest.raises(GraphEditError, match="over 2 GB"):
        import_nodes(line, nodes)
    assert state(line) == before


def test_a_refusal_holds_the_op_to_highlight(line: tf.Graph) -> None:
    with pytest.raises(GraphEditError) as raised:
        validate(
            line, [node("fine", "Relu", "x", T=FLOAT), node("wrong/one", "Relu", "fine", T=INT)]
        )
    assert "wrong/one" in raised.value.ops
    with pytest.raises(NameTaken) as taken:
        validate(line, [node("a", "Relu", "x", T=FLOAT)])
    assert taken.value.ops == ("a",)
    with pytest.raises(UnknownName) as unknown:
        validate(line, [node("new", "Relu", "gone", T=FLOAT)])
    assert unknown.value.ops == ("new",)


def test_a_name_in_other_letters_is_free(line: tf.Graph) -> None:
    import_nodes(line, [node("A", "Relu", "x", T=FLOAT)])
    assert line.get_operation_by_name("A").type == "Relu"


def test_what_is_proven_is_what_is_imported_whatever_it_reads_from_outside() -> None:
    graph = tf.Graph()
    with graph.as_default():
        ref = v1.get_variable("ref", [2], initializer=v1.ones_initializer(), use_resource=False)
        own = v1.get_variable("own", [2], initializer=v1.ones_initializer(), use_resource=True)
        split = tf.split(v1.placeholder(tf.float32, [4], name="x"), 2, name="split")
        shape = tf.constant([2, 1], name="shape")
        text = tf.constant(["a"], name="text")
        done = tf.no_op(name="done")
    read = node("new/read", "ReadVariableOp", own.handle.op.name, dtype=FLOAT)
    nodes = [
        read,
        node("new/ref", "Identity", ref.op.name, T=FLOAT),
        node("new/sum", "AddV2", f"{split[1].op.name}:1", "new/read", "^done", T=FLOAT),
        node("new/all", "AddV2", "new/sum", "new/ref", T=FLOAT),
        node("new/shaped", "Reshape", "new/all", shape.op.name, T=FLOAT, Tshape=INT),
        node("new/text", "Identity", text.op.name, T=tf.string.as_datatype_enum),
    ]
    assert done.name == "done"
    apply_live(Patch(add=Change(nodes=tuple(nodes))), graph)
    assert graph.get_tensor_by_name("new/shaped:0").shape == [2, 1]
    assert graph.get_operation_by_name("new/sum").control_inputs == [done]
    with v1.Session(graph=graph) as session, graph.as_default():
        session.run(v1.global_variables_initializer())
        shaped, report = session.run(["new/shaped:0", "new/text:0"], {"x:0": [0, 0, 1, 2]})
    assert np.array_equal(shaped, [[3], [4]])
    assert report == [b"a"]


def test_a_function_that_the_graph_lacks_comes_along(line: tf.Graph) -> None:
    made = tf.function(lambda x: x * 3).get_concrete_function(tf.TensorSpec([None, 2]))
    name = made.function_def.signature.name
    apply_live(Patch(add=Change(nodes=(called(name),), functions=(made.function_def,))), line)
    assert name in line._functions
    with v1.Session(graph=line) as session:
        assert session.run("new:0", {"x:0": [[1, 2]]}).tolist() == [[3, 6]]


def test_a_function_without_a_kernel_for_its_body_is_refused_with_its_name(line: tf.Graph) -> None:
    wrong = function_pb2.FunctionDef()
    wrong.signature.name = "wrong"
    wrong.signature.output_arg.add(name="y", type=FLOAT)
    before = state(line)
    with pytest.raises(GraphEditError):
        apply_live(Patch(add=Change(nodes=(called("wrong"),), functions=(wrong,))), line)
    assert state(line) == before


def test_an_op_whose_type_is_a_function_of_the_graph_is_proven(line: tf.Graph) -> None:
    made = tf.function(lambda x: x * 3).get_concrete_function(tf.TensorSpec([None, 2]))
    made.add_to_graph(line)
    name = made.function_def.signature.name
    apply_live(Patch(add=Change(nodes=(node("new", name, "x"),))), line)
    with v1.Session(graph=line) as session:
        assert session.run("new:0", {"x:0": [[1, 2]]}).tolist() == [[3, 6]]
