"""`ge.util`: what may be given for ops and tensors, control outputs, placeholders, trees."""

from __future__ import annotations

import logging
from collections import OrderedDict, defaultdict, namedtuple

import pytest
import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tests.graph_editor.corpus import names

v1 = tf.compat.v1
util = ge.util


def test_ops_may_be_a_list_one_op_a_graph_or_anything_that_runs_out(net):
    assert util.make_list_of_op(net.c.op) == [net.c.op]
    assert util.make_list_of_op({net.c.op}) == [net.c.op]
    assert util.make_list_of_op(op for op in [net.a.op, net.c.op, net.a.op]) == [
        net.a.op,
        net.c.op,
        net.a.op,
    ]
    assert util.make_list_of_op(net.graph) == net.graph.get_operations()
    assert util.make_list_of_op([]) == util.make_list_of_op(()) == []
    assert util.make_list_of_op([net.a, net.c.op], ignore_ts=True) == [net.c.op]
    assert util.make_list_of_op([net.c.op, "x", 3], check_graph=False) == [net.c.op]


def test_tensors_likewise(net):
    assert names(util.make_list_of_t(net.c)) == ["foo/c:0"]
    assert names(util.make_list_of_t(net.graph)) == names(util.get_tensors(net.graph))
    assert names(util.make_list_of_t([net.a, net.c.op], ignore_ops=True)) == ["a:0"]
    assert util.make_list_of_t([]) == []
    assert names(util.get_tensors(net.graph))[-2:] == ["foo/bar/e:0", "foo/bar/e:1"]


@pytest.mark.parametrize("make", [util.make_list_of_op, util.make_list_of_t])
def test_what_is_neither_is_a_type_error_with_a_way_out(net, make):
    with pytest.raises(
        TypeError, match=r"Expected a tf\.(Operation|Tensor), got the tf\.(Operation|Tensor) 'a"
    ):
        make([net.a, net.a.op])
    with pytest.raises(TypeError, match="select_ops and select_ts find by name"):
        make(["foo/c"])
    with pytest.raises(TypeError, match="not taken apart"):
        make([[net.a]])
    with pytest.raises(TypeError, match="None"):
        make(None)
    with pytest.raises(TypeError, match=r"A whole tf.Graph is not taken here"):
        make(net.graph, allow_graph=False)
    with pytest.raises(TypeError, match="eager tensor is of no graph"):
        make([tf.constant(1.0)])


def test_ops_of_two_graphs_are_a_value_error(net):
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="other")
    with pytest.raises(ValueError, match="'other' is of another graph than 'a'"):
        util.make_list_of_op([net.a.op, other.op])
    with pytest.raises(ValueError, match="'other:0' is of another graph than 'a:0'"):
        util.make_list_of_t([net.a, other])
    assert util.make_list_of_op([net.a.op, other.op], check_graph=False) == [net.a.op, other.op]
    with pytest.raises(ValueError, match="Argument 2 is of another graph"):
        util.check_graphs(ge.sgv(), net.a, other)
    util.check_graphs(ge.sgv(), net.a, net.c.op)


def test_the_one_graph_of_many(net):
    assert util.get_unique_graph(net.graph) is util.get_unique_graph([net.a, net.c.op]) is net.graph
    assert util.get_unique_graph([net.a], check_types=tf.Tensor) is net.graph
    assert util.get_unique_graph([], none_if_empty=True) is None
    with pytest.raises(ValueError, match="An empty list belongs to no graph"):
        util.get_unique_graph([])
    with pytest.raises(TypeError, match="put it into a list"):
        util.get_unique_graph(net.a)
    with pytest.raises(TypeError, match=r"give one of its .outputs"):
        util.get_unique_graph([net.a.op], check_types=(tf.Tensor,))


def test_makers_come_as_often_as_their_tensors_and_consumers_once(net):
    assert names(util.get_generating_ops([net.f, net.e, net.a])) == ["foo/bar/e", "foo/bar/e", "a"]
    assert set(names(util.get_consuming_ops([net.c, net.c]))) == {"foo/bar/d", "foo/bar/e"}
    assert util.get_consuming_ops([]) == []


def test_control_outputs_follow_edges_that_are_changed_in_place(net):
    held = net.controls
    wait, d, b = net.wait, net.d.op, net.b.op
    assert held.graph is net.graph
    assert held.get(wait) == [d]
    assert held.get(d) == ()
    assert held.get_all() == {wait: [d]}
    b._add_control_inputs([wait])
    assert held.get(wait) == [b, d]
    d._remove_all_control_inputs()
    assert held.update() is held
    assert held.get_all() == {wait: [b]}
    with net.graph.as_default(), tf.control_dependencies([d]):
        last = tf.no_op(name="last")
    assert held.get(d) == [last]
    with tf.Graph().as_default():
        assert held.get(tf.no_op(name="wait")) == ()
    with pytest.raises(TypeError, match=r"Expected a tf.Graph, got the int 3"):
        ge.ControlOutputs(3)


def test_names_of_placeholders(net):
    assert ge.placeholder_name(net.c) == "foo/geph__c_0"
    assert ge.placeholder_name(net.f) == "foo/bar/geph__e_1"
    assert ge.placeholder_name(net.c, scope="") == "geph__c_0"
    assert ge.placeholder_name(net.c, "x/y", prefix="ph") == "x/y/ph__c_0"
    assert ge.placeholder_name() == "geph"
    assert ge.placeholder_name(scope="x") == "x/geph"
    with net.graph.as_default():
        held = ge.make_placeholder_from_tensor(net.c)
    assert ge.placeholder_name(held) == held.op.name == "foo/geph__c_0"
    with pytest.raises(TypeError, match=r"give one of its .outputs"):
        ge.placeholder_name(net.c.op)


def test_a_placeholder_keeps_dtype_and_shape(net):
    with net.graph.as_default():
        made = ge.make_placeholder_from_tensor(net.e, scope="in")
        free = ge.ph(tf.int32)
        shaped = ge.make_placeholder_from_dtype_and_shape(
            dtype=tf.int32, shape=[None, 2], scope="in", prefix="ph"
        )
    assert (made.op.type, made.name, made.dtype, made.shape) == (
        "Placeholder",
        "in/geph__e_0:0",
        tf.float32,
        [1],
    )
    assert (free.name, free.shape.rank) == ("geph:0", None)
    assert (shaped.name, shaped.shape.as_list()) == ("in/ph:0", [None, 2])


def test_a_placeholder_for_a_variable_can_be_read_as_the_variable_can(net):
    with net.graph.as_default():
        resource = v1.get_variable("r", [2, 3], use_resource=True)
        reference = v1.get_variable("w", [2, 3], use_resource=False)
        made = ge.make_placeholder_from_tensor(resource.handle)
        value = ge.make_placeholder_from_tensor(reference._ref())
        read = tf.raw_ops.ReadVariableOp(resource=made, dtype=tf.float32)
    assert read.shape == [2, 3]
    assert (value.dtype, value.shape) == (tf.float32, [2, 3])


def test_a_list_view_is_read_as_a_list_and_cannot_be_written(net):
    view = util.ListView([1, 2])
    assert (list(view), len(view), view[0], view[-1:], bool(view), 2 in view) == (
        [1, 2],
        2,
        1,
        [2],
        True,
        True,
    )
    assert view + (3,) == [1, 2, 3]  # noqa: RUF005 this is the addition that is tried
    assert [0] + view == [0, 1, 2]  # noqa: RUF005 the same
    assert not util.ListView([])
    with pytest.raises(TypeError, match="does not support item assignment"):
        view[0] = 3
    with pytest.raises(TypeError, match="A ListView shows a list, not the tuple"):
        util.ListView((1, 2))


def test_concatenating_adds_what_is_new(net):
    held = [3, 1]
    assert util.concatenate_unique(held, [1, 2, 2]) is held
    assert held == [3, 1, 2]
    assert names(util.concatenate_unique([net.a], [net.c, net.a])) == ["a:0", "foo/c:0"]


def test_what_can_be_looped_over(net):
    assert [util.is_iterable(x) for x in ([], (), {}, iter([]), net.a, net.a.op, net.graph, 3)] == [
        True
    ] * 4 + [False] * 4


Pair = namedtuple("Pair", "x y")


def test_trees_keep_their_shape():
    tree = {"b": [1, (2, 3)], "a": Pair(4, [5]), "s": "text", "n": None}
    assert util.flatten_tree(tree) == [1, 2, 3, 4, 5, "text", None]
    assert util.flatten_tree([6], [0]) == [0, 6]
    doubled = util.transform_tree(tree, lambda x: (x or 0) * 2)
    assert doubled == {"b": [2, (4, 6)], "a": Pair(8, [10]), "s": "texttext", "n": 0}
    assert isinstance(doubled["a"], Pair)
    assert util.transform_tree(3, str) == "3"
    assert util.transform_tree({4, 5}, abs) in {(4, 5), (5, 4)}
    assert util.transform_tree([iter([1])], abs, iterable_type=list) == [[1]]


def test_dicts_of_other_types_stay_of_their_type():
    ordered = util.transform_tree(OrderedDict(b=1, a=2), str)
    assert (type(ordered), list(ordered.items())) == (OrderedDict, [("b", "1"), ("a", "2")])
    grouped = util.transform_tree(defaultdict(list, a=[1]), str)
    assert grouped == {"a": ["1"]}
    assert grouped["new"] == []


def test_the_same_op_in_another_graph_is_found_by_name(net):
    other = tf.Graph()
    with other.as_default():
        tf.graph_util.import_graph_def(net.graph.as_graph_def(), name="copy")
    found = util.find_corresponding({"t": net.c, "ops": [net.d.op]}, other, dst_scope="copy")
    assert (found["t"].name, found["t"].graph is other) == ("copy/foo/c:0", True)
    assert names(found["ops"]) == ["copy/foo/bar/d"]
    assert util.find_corresponding_elem(found["t"], net.graph, src_scope="copy/") is net.c
    assert util.find_corresponding_elem(net.c, other, "copy/foo", "foo").name == "copy/foo/c:0"
    with pytest.raises(ValueError, match="'a:0' does not lie in the scope 'foo'"):
        util.find_corresponding_elem(net.a, other, src_scope="foo")
    with pytest.raises(KeyError, match="no 'a:0', wanted for 'a:0'"):
        util.find_corresponding_elem(net.a, other)
    with pytest.raises(TypeError, match="select_ops and select_ts find by name"):
        util.find_corresponding_elem("a", other)


def test_scopes_as_text():
    assert [util.scope_finalize(s) for s in ("", "a", "a/")] == ["", "a/", "a/"]
    assert [util.scope_dirname(s) for s in ("", "a", "a/b/c", "a/")] == ["", "", "a/b/", "a/"]
    assert [util.scope_basename(s) for s in ("", "a", "a/b/c", "a/")] == ["", "a", "c", ""]


def test_predefined_collections_are_listed_without_a_word_about_old_ones(caplog):
    with caplog.at_level(logging.DEBUG):
        found = util.get_predefined_collection_names()
    assert {"variables", "trainable_variables", "while_context", "losses"} <= set(found)
    assert len(found) == len(set(found))
    assert caplog.text == ""
