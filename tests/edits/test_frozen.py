"""Freezing as a plan: which ops, which constants, what is cut and what is kept; no session, no
graph.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tfgraphwidget.edits.freeze.variables_to_constants import convert_variables
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.tf_types import TensorProto


def index_of(graph: tf.Graph) -> GraphIndex:
    """The index of a graph."""
    return tgw.edit(graph)._core.index


def ones(index: GraphIndex) -> object:
    """Sets a TensorProto to ones of a variable's shape."""

    def set_value(name: str, tensor: TensorProto) -> None:
        attr = index.nodes[index.ids[name]].attr
        ones = np.ones([dim.size for dim in attr["shape"].shape.dim])
        tensor.CopyFrom(tf.make_tensor_proto(ones, attr["dtype"].type))

    return set_value


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_the_handles_become_constants_under_their_own_names(resource: bool) -> None:
    index = index_of(build_mlp(resource=resource))
    before = [node.SerializeToString(deterministic=True) for node in index.nodes]
    made = convert_variables(index, ["net/logits:0"], ones(index))
    assert made.variables == ("net/one/w", "net/one/b", "net/two/w", "net/two/b")
    assert (made.cut, made.remaining_state, made.functions) == ((), (), ())
    held = {node.name: node for node in made.nodes}
    assert held["net/one/w"].op == "Const"
    assert (
        tf.make_ndarray(held["net/one/w"].attr["value"].tensor).tolist() == np.ones([3, 4]).tolist()
    )
    assert not any("Assign" in name or "Initializer" in name for name in held)
    assert [node.SerializeToString(deterministic=True) for node in index.nodes] == before


def test_it_stops_at_the_inputs() -> None:
    index = index_of(build_mlp(resource=True))
    made = convert_variables(index, ["net/logits:0"], ones(index), ["net/one/out:0"])
    assert made.variables == ("net/two/w", "net/two/b")


def test_updates_that_are_only_waited_for_are_cut_with_what_only_they_need() -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", initializer=1.0, use_resource=True)
        read = tf.identity(w, name="read")
        with tf.control_dependencies([w.assign_add(tf.constant(2.0, name="step"))]):
            tf.add(read, 1.0, name="y")
        tf.identity(w.assign_add(1.0), name="after")
    index = index_of(graph)
    made = convert_variables(index, ["y"], ones(index))
    assert made.cut == ("AssignAddVariableOp",)
    assert {node.name for node in made.nodes} == {"w", "read/ReadVariableOp", "read", "y/y", "y"}
    with pytest.raises(
        GraphEditError, match="reads variable 'w' after 'AssignAddVariableOp_1' has updated it"
    ) as refusal:
        convert_variables(index, ["after"], ones(index))
    assert refusal.value.ops[1] == "AssignAddVariableOp_1"


@pytest.mark.parametrize("resource", [False, True])
def test_what_reads_a_variable_after_its_update_is_refused(resource: bool) -> None:
    """An Identity of a reference variable is its memory: TensorFlow gives what the update wrote."""
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", initializer=1.0, use_resource=resource)
        flag = v1.placeholder_with_default(True, [])
        with tf.control_dependencies([v1.assign_add(w, 2.0)]):
            outputs = (tf.add(w, 1.0), v1.cond(flag, lambda: w * 3.0, lambda: w + 0.0))
        with v1.Session() as session:
            session.run(w.initializer)
            assert [session.run(output) for output in outputs] == [4.0, 15.0]
    index = index_of(graph)
    for output in [output.op.name for output in outputs]:
        with pytest.raises(GraphEditError, match=r"reads variable 'w' after '.*' has updated"):
            convert_variables(index, [output], ones(index))


@pytest.mark.parametrize("resource", [False, True])
def test_what_an_update_reads_after_another_update_goes_with_it(resource: bool) -> None:
    """As in a moving average without bias, which is updated by what two updates before it give."""
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", initializer=1.0, use_resource=resource)
        biased = v1.get_variable("biased", initializer=1.0, use_resource=resource)
        average = v1.get_variable("average", initializer=1.0, use_resource=resource)
        with tf.control_dependencies([v1.assign_add(biased, 2.0)]):
            update = v1.assign(average, biased * 2.0)
        with tf.control_dependencies([update]):
            tf.add(w, 1.0, name="y")
    index = index_of(graph)
    made = convert_variables(index, ["y"], ones(index))
    assert made.variables == ("w",)


def test_other_state_is_kept_and_reported() -> None:
    graph = tf.Graph()
    with graph.as_default():
        pairs = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1.0]))
        table = tf.lookup.StaticHashTable(pairs, 0.0)
        w = v1.get_variable("w", initializer=1.0, use_resource=False)
        tf.add(table.lookup(tf.constant("a")), w, name="y")
    index = index_of(graph)
    made = convert_variables(index, ["y"], ones(index))
    assert made.remaining_state == (("hash_table", "hash table"),)
    assert made.variables == ("w",)


def test_colocation_with_what_is_left_out_goes() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", initializer=1.0, use_resource=False)
        with graph.colocate_with(w.initializer, ignore_existing=True):
            tf.add(x, w, name="y")
    index = index_of(graph)
    (y,) = (node for node in convert_variables(index, ["y"], ones(index)).nodes if node.name == "y")
    assert "_class" not in y.attr or y.attr["_class"].list.s == [b"loc:@w"]
