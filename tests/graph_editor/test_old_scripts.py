"""Lines as old scripts have them; only the import of graph_editor is another, and `tf` is TensorFlow 1's."""

from __future__ import annotations

import inspect
from typing import Any

import tfgraphwidget.graph_editor as ge

HEAD = """
import numpy as np
import tensorflow.compat.v1 as tf
import tfgraphwidget.graph_editor as ge
"""


def run(script: str) -> dict[str, Any]:
    held: dict[str, Any] = {}
    exec(HEAD + inspect.cleandoc(script), held)
    return held


def test_a_script_that_looks_at_a_scope():
    held = run("""
    g = tf.Graph()
    with g.as_default():
      x = tf.placeholder(tf.float32, [None, 4], name='x')
      with tf.variable_scope('layer1'):
        w = tf.get_variable('w', [4, 3])
        h = tf.nn.relu(tf.matmul(x, w), name='h')
      with tf.variable_scope('layer2'):
        w = tf.get_variable('w', [3, 2])
        y = tf.matmul(h, w, name='y')
    layer1 = ge.sgv_scope('layer1', graph=g)
    print(layer1)
    assert [t.name for t in layer1.inputs] == ['x:0']
    assert layer1.outputs[-1] is h
    layer1 = layer1.remap_outputs([layer1.output_index(h)])
    assert [op.name for op in layer1.consumers()] == ['layer2/y']
    layer2 = ge.make_view_from_scope('layer2', g)
    assert h in layer2.inputs
    assert ge.get_walks_intersection_ops([x], [y]) == [h.op.inputs[0].op, h.op, y.op]
    """)
    assert isinstance(held["layer1"], ge.SubGraphView)


def test_a_script_that_looks_for_checkpoints_between_tensors():
    """As gradient-checkpointing scripts do."""
    run("""
    import tfgraphwidget.graph_editor as graph_editor

    def fast_backward_ops(within_ops, seed_ops, stop_at_ts):
      bwd_ops = set(ge.get_backward_walk_ops(seed_ops, stop_at_ts=stop_at_ts))
      ops = bwd_ops.intersection(within_ops).difference([t.op for t in stop_at_ts])
      return list(ops)

    tf.disable_resource_variables()
    with tf.Graph().as_default() as g:
      x = tf.placeholder(tf.float32, [2, 2], name='x')
      v = tf.get_variable('v', [2, 2])
      t = x
      for i in range(4):
        t = tf.nn.sigmoid(tf.matmul(t, v), name='act%d' % i)
      ys = tf.reduce_sum(t)
    bwd_ops = ge.get_backward_walk_ops([ys.op], inclusive=True)
    fwd_ops = ge.get_forward_walk_ops([x.op], inclusive=True, within_ops=bwd_ops)
    fwd_ops = [op for op in fwd_ops if op.inputs]
    fwd_ops = [op for op in fwd_ops if not '/assign' in op.name]
    ts_all = ge.filter_ts(fwd_ops, True)
    ts_all = [t for t in ts_all if '/read' not in t.name]
    checkpoints = [t for t in ts_all if t.op.type == 'Sigmoid']
    assert [t.op.name for t in checkpoints] == ['act%d' % i for i in range(4)]
    ops = fast_backward_ops(within_ops=fwd_ops, seed_ops=[ys.op], stop_at_ts=checkpoints)
    assert set(op.type for op in ops) == {'Sum'}
    sgv = graph_editor.sgv(fwd_ops)
    with graph_editor.sgv(ops) as inner:
      assert inner.graph is g
    """)


def test_a_script_that_selects_by_pattern():
    held = run(r"""
    graph = tf.Graph()
    with graph.as_default():
      a = tf.constant([1., 1.], shape=[2], name="a")
      with tf.name_scope("foo"):
        b = tf.constant([2., 2.], shape=[2], name="b")
        c = tf.add(a, b, name="c")
      ph = ge.ph(tf.float32, shape=[2], scope='in')
    ops = ge.select_ops("^foo/.*", graph=graph)
    ts = ge.select_ts(r"^foo(/.*)?:\d+$", graph=graph)
    both = ge.select_ops_and_ts(a.op, "(?#ts)^in/", graph=graph)
    assert ge.util.get_unique_graph(ops) is graph
    assert len(ops) == 2 and len(ts) == 2 and both == ([a.op], [ph])
    control_outputs = ge.util.ControlOutputs(graph)
    ins, outs, inside = ge.select.compute_boundary_ts(ops)
    assert (ins, outs, inside) == ([a], [c], [b])
    found = ge.select.get_within_boundary_ops(graph, seed_ops=c.op, boundary_ops=[a.op], inclusive=False,
                                              control_ios=control_outputs)
    assert found == [b.op, c.op]
    assert ge.subgraph.SubGraphView(ops).outputs + [a] == [c, a]
    """)
    assert [op.name for op in held["ops"]] == ["foo/b", "foo/c"]


def test_every_public_name_is_there():
    """The names of the original's modules, and its aliases."""
    of_util = """make_list_of_op get_tensors make_list_of_t get_generating_ops get_consuming_ops ControlOutputs
        placeholder_name make_placeholder_from_tensor make_placeholder_from_dtype_and_shape"""
    inner = """concatenate_unique ListView is_iterable flatten_tree transform_tree check_graphs get_unique_graph
        scope_finalize scope_dirname scope_basename get_predefined_collection_names find_corresponding
        find_corresponding_elem"""
    of_select = """can_be_regex make_regex filter_ts filter_ts_from_regex filter_ops filter_ops_from_regex
        get_name_scope_ops check_cios get_ops_ios compute_boundary_ts get_within_boundary_ops get_forward_walk_ops
        get_backward_walk_ops get_walks_intersection_ops get_walks_union_ops select_ops select_ts select_ops_and_ts"""
    of_subgraph = "SubGraphView make_view make_view_from_scope"
    for module, held in ((ge.util, of_util + " " + inner), (ge.select, of_select), (ge.subgraph, of_subgraph)):
        assert set(held.split()) == set(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    public = f"{of_util} {of_select} {of_subgraph} ph sgv sgv_scope util select subgraph"
    assert set(public.split()) == set(ge.__all__)
    assert all(getattr(ge, name) is getattr(ge.select, name) for name in of_select.split())


def test_arguments_are_named_and_ordered_as_they_were():
    told = {
        ge.make_list_of_op: "ops, check_graph=True, allow_graph=True, ignore_ts=False",
        ge.make_list_of_t: "ts, check_graph=True, allow_graph=True, ignore_ops=False",
        ge.get_tensors: "graph",
        ge.get_generating_ops: "ts",
        ge.get_consuming_ops: "ts",
        ge.ControlOutputs: "graph",
        ge.placeholder_name: "t=None, scope=None, prefix='geph'",
        ge.make_placeholder_from_tensor: "t, scope=None, prefix='geph'",
        ge.ph: "dtype, shape=None, scope=None, prefix='geph'",
        ge.util.concatenate_unique: "la, lb",
        ge.util.is_iterable: "obj",
        ge.util.flatten_tree: "tree, leaves=None",
        ge.util.check_graphs: "*args",
        ge.util.get_unique_graph: "tops, check_types=None, none_if_empty=False",
        ge.util.find_corresponding: "targets, dst_graph, dst_scope='', src_scope=''",
        ge.util.find_corresponding_elem: "target, dst_graph, dst_scope='', src_scope=''",
        ge.filter_ts: "ops, positive_filter",
        ge.filter_ts_from_regex: "ops, regex",
        ge.filter_ops: "ops, positive_filter",
        ge.filter_ops_from_regex: "ops, regex",
        ge.get_name_scope_ops: "ops, scope",
        ge.check_cios: "control_inputs=False, control_outputs=None, control_ios=None",
        ge.get_ops_ios: "ops, control_inputs=False, control_outputs=None, control_ios=None",
        ge.compute_boundary_ts: "ops",
        ge.get_within_boundary_ops: "ops, seed_ops, boundary_ops=(), inclusive=True, control_inputs=False, "
        "control_outputs=None, control_ios=None",
        ge.get_forward_walk_ops: "seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(), "
        "control_outputs=None",
        ge.get_backward_walk_ops: "seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(), "
        "control_inputs=False, only_differentiable=False",
        ge.get_walks_intersection_ops: "forward_seed_ops, backward_seed_ops, forward_inclusive=True, "
        "backward_inclusive=True, within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None, "
        "control_ios=None",
        ge.get_walks_union_ops: "forward_seed_ops, backward_seed_ops, forward_inclusive=True, "
        "backward_inclusive=True, within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None, "
        "control_ios=None",
        ge.select_ops: "*args, **kwargs",
        ge.select_ts: "*args, **kwargs",
        ge.select_ops_and_ts: "*args, **kwargs",
        ge.SubGraphView: "inside_ops=(), passthrough_ts=()",
        ge.SubGraphView.remap_inputs: "self, new_input_indices",
        ge.SubGraphView.remap_outputs: "self, new_output_indices",
        ge.SubGraphView.remap: "self, new_input_indices=None, new_output_indices=None",
        ge.SubGraphView.remap_default: "self, remove_input_map=True, remove_output_map=True",
        ge.SubGraphView.remove_unused_ops: "self, control_inputs=True",
        ge.SubGraphView.find_op_by_name: "self, op_name",
        ge.SubGraphView.op: "self, op_id",
        ge.SubGraphView.is_passthrough: "self, t",
        ge.SubGraphView.input_index: "self, t",
        ge.SubGraphView.output_index: "self, t",
        ge.sgv: "*args, **kwargs",
        ge.sgv_scope: "scope, graph",
    }
    for function, wanted in told.items():
        parameters = inspect.signature(function).parameters.values()
        bare = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters]
        assert ", ".join(bare) == wanted, function
