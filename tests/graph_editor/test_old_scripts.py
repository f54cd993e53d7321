"""Lines as old scripts have them; only the import of graph_editor is another, and `tf` is
TensorFlow 1's.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

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
    found = ge.select.get_within_boundary_ops(graph, seed_ops=c.op, boundary_ops=[a.op],
        inclusive=False,
                                              control_ios=control_outputs)
    assert found == [b.op, c.op]
    assert ge.subgraph.SubGraphView(ops).outputs + [a] == [c, a]
    """)
    assert [op.name for op in held["ops"]] == ["foo/b", "foo/c"]


def test_a_script_that_puts_recomputation_into_a_gradient():
    """As gradient-checkpointing scripts do: copies, told by `info`, then rewired by control
    inputs.
    """
    run("""
    tf.disable_resource_variables()
    with tf.Graph().as_default() as g:
      x = tf.placeholder(tf.float32, [2], name='x')
      a = tf.tanh(x * 2., name='a')
      b = tf.sigmoid(a * 3., name='b')
      y = tf.reduce_sum(b)
      checkpoints = [a]
      copied_sgv, info = ge.copy_with_input_replacements(
          ge.sgv([op for op in ge.get_backward_walk_ops(
          y.op, stop_at_ts=checkpoints) if op.inputs]), {a: tf.stop_gradient(a)})
      copied_ops = list(info._transformed_ops.values())
      assert copied_ops == copied_sgv.ops
      y_ = info._transformed_ts[y]
      dy = tf.gradients(y_, copied_sgv.ops[0].inputs[0])[0]
      assert dy is not None
      with tf.Session() as sess:
        assert np.allclose(*sess.run([y, y_], {x: [1., 2.]}))
    """)


def test_a_script_that_has_a_handler_of_its_own():
    """As in the original's tests, and as quantising scripts do."""
    held = run("""
    with tf.Graph().as_default() as graph:
      x = tf.placeholder(tf.float32, [3], name='x')
      y = tf.identity(tf.add(tf.add(x, 1.), 2.), name='y')
      transformer = ge.Transformer()
      def my_transform_op_handler(info, op, new_inputs):
        add_noise = op.type.startswith('Add')
        op_, op_outputs_ = ge.transform.copy_op_handler(info, op, new_inputs)
        if not add_noise:
          return op_, op_outputs_
        with info.graph_.as_default():
          t_ = tf.add(tf.constant(1.0, shape=[3], name='Noise'), op_.outputs[0], name='AddNoise')
        return op_, [t_]
      transformer.transform_op_handler = my_transform_op_handler
      top_scope = 'nice'
      sgv_, info = transformer(graph, graph, top_scope, '')
      new_x, new_y = info.transformed([x, y])
      with tf.Session() as sess:
        val, old = sess.run([new_y, y], {new_x: [0., 0., 0.], x: [0., 0., 0.]})
    """)
    assert held["val"].tolist() == [5.0] * 3  # each of the two adds has a noise of 1 after it
    assert held["old"].tolist() == [3.0] * 3
    assert len([op for op in held["graph"].get_operations() if op.name.startswith("AddNoise")]) == 2


def reads(t: Any, *names: str) -> bool:
    return [read.op.name for read in t.op.inputs] == list(names)


def test_a_script_that_saves_memory_in_gradients():
    """As `memory_saving_gradients` does: copies are cut off at checkpoints, and wait for the
    gradients after them.
    """
    held = run("""
    tf.disable_resource_variables()
    def my_add_control_inputs(wait_to_do_ops, inputs_to_do_before):
      for op in wait_to_do_ops:
        ci = [
            i
            for i in inputs_to_do_before
            if op.control_inputs is None or i not in op.control_inputs
        ]
        ge.add_control_inputs(op, ci)

    with tf.Graph().as_default() as g:
      x = tf.placeholder(tf.float32, [2, 2], name='x')
      t, ts = x, []
      for i in range(6):
        t = tf.sigmoid(tf.matmul(t, tf.get_variable('w%d' % i, [2, 2])), name='t%d' % i)
        ts.append(t)
      y = tf.reduce_sum(t, name='y')
      checkpoints = [ts[1], ts[3]]
      expected, = tf.gradients(y, [x])

      fwd_ops = [op for op in ge.get_forward_walk_ops(
          [x.op], within_ops=ge.get_backward_walk_ops([y.op]))
                 if op.inputs and op is not x.op]
      checkpoints_disconnected = {
          t: tf.stop_gradient(t, name=t.op.name + '_sg') for t in checkpoints
      }

      def fast_backward_ops(seed_ops, stop_at_ts):
        bwd_ops = set(ge.get_backward_walk_ops(seed_ops, stop_at_ts=stop_at_ts))
        return list(bwd_ops.intersection(fwd_ops).difference([t.op for t in stop_at_ts]))

      ops_to_copy = fast_backward_ops([y.op], checkpoints)
      copied_sgv, info = ge.copy_with_input_replacements(ge.sgv(ops_to_copy), {})
      copied_ops = info._transformed_ops.values()
      ge.reroute_ts(
          checkpoints_disconnected.values(), checkpoints_disconnected.keys(), can_modify=copied_ops
      )
      copied_y = info._transformed_ops[y.op].outputs[0]
      dv = tf.gradients([copied_y], list(checkpoints_disconnected.values()) + [x])
      my_add_control_inputs(list(copied_ops) + [d.op for d in dv if d is not None], [y.op])
      d_checkpoints = dict(zip(checkpoints, dv))

      for ts in [[checkpoints[1]], [checkpoints[0]]]:
        others = [r for r in checkpoints if r not in ts]
        ops_to_copy = fast_backward_ops([r.op for r in ts], others)
        copied_sgv, info = ge.copy_with_input_replacements(ge.sgv(ops_to_copy), {})
        copied_ops = info._transformed_ops.values()
        ge.reroute_ts([checkpoints_disconnected[r] for r in others], others, can_modify=copied_ops)
        boundary = [info._transformed_ops[r.op].outputs[0] for r in ts]
        dv = tf.gradients(boundary, [checkpoints_disconnected[r] for r in others] + [x],
                          grad_ys=[d_checkpoints[r] for r in ts])
        my_add_control_inputs(list(copied_ops) + [d.op for d in dv if d is not None],
                              [d_checkpoints[r].op for r in ts])
        for r, dr in zip(others, dv):
          if dr is not None and d_checkpoints[r] is None:
            d_checkpoints[r] = dr
      given = dv[-1]
      with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = sess.run([expected, given], {x: [[1., 2.], [3., 4.]]})
    """)
    assert held["values"][0] == pytest.approx(held["values"][1])
    assert [op.type for op in held["copied_ops"]] == ["MatMul", "Sigmoid"] * 2
    assert all(
        any("gradients" in waited.name for waited in op.control_inputs) for op in held["copied_ops"]
    )


def test_a_script_that_puts_fake_quantisation_after_activations():
    held = run("""
    with tf.Graph().as_default() as g:
      x = tf.placeholder(tf.float32, [None, 2], name='x')
      h = tf.nn.relu(x * 2., name='h1')
      h = tf.nn.relu(h * 2., name='h2')
      y = tf.identity(h, name='y')
      for op in g.get_operations():
        if op.type == 'Relu':
          t = op.outputs[0]
          consumers = t.consumers()
          q = tf.quantization.fake_quant_with_min_max_args(t, 0., 255., name=op.name + '_quant')
          modified = ge.reroute_ts([q], [t], can_modify=consumers)
          assert modified == len(consumers)
      with tf.Session() as sess:
        value = sess.run(y, {x: [[1.2, -1.]]})
    """)
    assert reads(held["y"], "h2_quant")
    assert held["value"].tolist() == [[4.0, 0.0]]  # 1.2 * 2 is 2.4, hence 2; 2 * 2 is 4


def test_a_script_that_takes_dropout_out_and_feeds_from_elsewhere():
    held = run("""
    with tf.Graph().as_default() as graph:
      x = tf.placeholder(tf.float32, [None, 4], name='x')
      with tf.name_scope('dropout'):
        noise = tf.random.uniform(tf.shape(x), name='noise')
        kept = tf.multiply(x, tf.floor(noise + .5), name='mul')
      y = tf.reduce_sum(kept, name='y')
    dropout = ge.sgv_scope('dropout', graph)
    dropout = dropout.remap_inputs([dropout.input_index(x)]).remap_outputs(
        [dropout.output_index(kept)]
    )
    dropout, detached = ge.bypass(dropout)
    with graph.as_default():
      stored = tf.constant([[1., 2., 3., 4.]], name='stored')
    ge.swap_inputs(ge.sgv(y.op).remap_inputs([0]), [stored])
    with tf.Session(graph=graph) as sess:
      value = sess.run(y)
    """)
    assert held["value"] == 10.0
    assert [t.name for t in held["detached"]] == ["geph__x_0:0"]
    assert [t.name for t in held["dropout"].inputs] == ["geph__x_0:0"]


def test_every_public_name_is_there():
    """The names of the original's modules, and its aliases."""
    of_util = """make_list_of_op get_tensors make_list_of_t get_generating_ops get_consuming_ops
        ControlOutputs placeholder_name make_placeholder_from_tensor
        make_placeholder_from_dtype_and_shape"""
    inner = """concatenate_unique ListView is_iterable flatten_tree transform_tree check_graphs
        get_unique_graph scope_finalize scope_dirname scope_basename
        get_predefined_collection_names find_corresponding find_corresponding_elem"""
    of_select = """can_be_regex make_regex filter_ts filter_ts_from_regex filter_ops
        filter_ops_from_regex get_name_scope_ops check_cios get_ops_ios compute_boundary_ts
        get_within_boundary_ops get_forward_walk_ops get_backward_walk_ops
        get_walks_intersection_ops get_walks_union_ops select_ops select_ts select_ops_and_ts"""
    of_subgraph = "SubGraphView make_view make_view_from_scope"
    of_transform = """replace_t_with_placeholder_handler keep_t_if_possible_handler
        assign_renamed_collections_handler transform_op_if_inside_handler copy_op_handler
        transform_op_in_place Transformer TransformerInfo copy copy_with_input_replacements
        graph_replace"""
    of_reroute = """swap_ts reroute_ts swap_inputs reroute_inputs swap_outputs reroute_outputs
        swap_ios reroute_ios add_control_inputs remove_control_inputs"""
    of_edit = """detach_control_inputs detach_control_outputs detach_inputs detach_outputs detach
        connect bypass"""
    of_match = "matcher OpMatcher op_type match_pattern"  # of TensorFlow 1.4, but the last
    of_2015 = "copy_variable_to_graph copy_to_graph get_copied elsewhere"
    for module, held in (
        (ge.util, of_util + " " + inner),
        (ge.select, of_select),
        (ge.subgraph, of_subgraph),
        (ge.transform, of_transform),
        (ge.reroute, of_reroute),
        (ge.edit, of_edit),
        (ge.match, of_match),
    ):
        assert set(held.split()) == set(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
    modules = (
        f"{of_util} {of_select} {of_subgraph} {of_transform} {of_reroute} {of_edit} {of_match} "
        f"{of_2015}"
    )
    public = f"{modules} ph sgv sgv_scope"
    assert {
        *public.split(),
        "util",
        "select",
        "subgraph",
        "transform",
        "reroute",
        "edit",
        "match",
    } == set(ge.__all__)
    assert all(getattr(ge, name) is getattr(ge.select, name) for name in of_select.split())


def test_arguments_are_named_and_ordered_as_they_were():
    report = {
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
        ge.get_within_boundary_ops: "ops, seed_ops, boundary_ops=(), inclusive=True, "
        "control_inputs=False, "
        "control_outputs=None, control_ios=None",
        ge.get_forward_walk_ops: "seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, "
        "stop_at_ts=(), "
        "control_outputs=None",
        ge.get_backward_walk_ops: "seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, "
        "stop_at_ts=(), "
        "control_inputs=False, only_differentiable=False",
        ge.get_walks_intersection_ops: "forward_seed_ops, backward_seed_ops, "
        "forward_inclusive=True, "
        "backward_inclusive=True, within_ops=None, within_ops_fn=None, control_inputs=False, "
        "control_outputs=None, "
        "control_ios=None",
        ge.get_walks_union_ops: "forward_seed_ops, backward_seed_ops, forward_inclusive=True, "
        "backward_inclusive=True, within_ops=None, within_ops_fn=None, control_inputs=False, "
        "control_outputs=None, "
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
        ge.Transformer: "",
        ge.Transformer.__call__: "self, sgv, dst_graph, dst_scope, src_scope='', "
        "reuse_dst_scope=False",
        ge.TransformerInfo: "info",
        ge.TransformerInfo.transformed: "self, original, missing_fn=None",
        ge.TransformerInfo.original: "self, transformed, missing_fn=None",
        ge.replace_t_with_placeholder_handler: "info, t",
        ge.keep_t_if_possible_handler: "info, t",
        ge.assign_renamed_collections_handler: "info, elem, elem_",
        ge.transform_op_if_inside_handler: "info, op, keep_if_possible=True",
        ge.copy_op_handler: "info, op, new_inputs, copy_shape=False, nodedef_fn=None",
        ge.transform_op_in_place: "info, op, detach_outputs=False",
        ge.copy: "sgv, dst_graph=None, dst_scope='', src_scope='', reuse_dst_scope=False",
        ge.copy_with_input_replacements: "sgv, replacement_ts, dst_graph=None, dst_scope='', "
        "src_scope='', "
        "reuse_dst_scope=False",
        ge.graph_replace: "target_ts, replacement_ts, dst_scope='', src_scope='', "
        "reuse_dst_scope=False",
        ge.swap_ts: "ts0, ts1, can_modify=None, cannot_modify=None",
        ge.reroute_ts: "ts0, ts1, can_modify=None, cannot_modify=None",
        ge.add_control_inputs: "op, cops",
        ge.remove_control_inputs: "op, cops",
        ge.detach_control_inputs: "sgv",
        ge.detach_control_outputs: "sgv, control_outputs",
        ge.detach_inputs: "sgv, control_inputs=False",
        ge.detach_outputs: "sgv, control_outputs=None",
        ge.detach: "sgv, control_inputs=False, control_outputs=None, control_ios=None",
        ge.connect: "sgv0, sgv1, disconnect_first=False",
        ge.bypass: "sgv",
        ge.copy_variable_to_graph: "variable, to_graph, namespace, copied_variables=None",
        ge.copy_to_graph: "op_or_tensor, to_graph, copied_variables=None, namespace=''",
        ge.get_copied: "original, graph, copied_variables=None, namespace=''",
    }
    two_views = (
        f"{how}_{what}" for how in ("swap", "reroute") for what in ("inputs", "outputs", "ios")
    )
    report |= {getattr(ge, name): "sgv0, sgv1" for name in two_views}
    for function, wanted in report.items():
        parameters = inspect.signature(function).parameters.values()
        bare = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters]
        assert ", ".join(bare) == wanted, function
