"""What this package relies on in TensorFlow. A release that changes one of these is noticed here
first.
"""

from __future__ import annotations

import inspect
import re
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import CallableOptions
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import op_def_registry
from tensorflow.python.saved_model import function_deserialization

from tests.conftest import build_mlp, initialised, v1
from tests.graphs import old_graph
from tfgraphwidget.edits.clone.seeds import SEED_INPUTS
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.live import graph_import, patch_application
from tfgraphwidget.runtime.live.edit_record import operation_count, track_new_ops
from tfgraphwidget.runtime.live.graph_import import import_nodes
from tfgraphwidget.runtime.sandbox.preflight import ValidatedNodes, run_import, serialize_nodes
from tfgraphwidget.sources.variables import read_variable_def
from tfgraphwidget.tf_internals import (
    add_function,
    functions_from_library,
    import_serialized,
    remove_function,
)


def test_import_keeps_shared_name_and_so_shares_the_state() -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        tf.import_graph_def(graph.as_graph_def(), name="copy")
    with initialised(graph) as session:
        session.run("net/one/b/Assign", {"net/one/b/Initializer/zeros:0": np.full(4, 7.0)})
        assert session.run("copy/net/one/b/Read/ReadVariableOp:0").tolist() == [7.0] * 4


def test_import_registers_no_variables() -> None:
    graph = build_mlp(resource=False)
    with graph.as_default():
        before = len(v1.global_variables())
        tf.import_graph_def(graph.as_graph_def(), name="copy")
        assert len(v1.global_variables()) == before


def test_ops_cannot_be_removed() -> None:
    assert not any(hasattr(tf.Graph, name) for name in ("remove_op", "remove_node", "_remove_op"))


def test_version_counts_ops_and_does_not_see_edge_edits(line: tf.Graph) -> None:
    version = line.version
    assert version == len(line.get_operations())
    line.get_operation_by_name("c")._update_input(0, line.get_tensor_by_name("a:0"))
    assert line.version == version


def test_a_run_op_ignores_later_edge_edits(line: tf.Graph) -> None:
    with v1.Session(graph=line) as session:
        feed = {"x:0": np.ones((1, 2))}
        before = session.run("c:0", feed)
        line.get_operation_by_name("c")._update_input(0, line.get_tensor_by_name("x:0"))
        assert np.array_equal(session.run("c:0", feed), before)


def test_the_private_calls_that_apply_uses_are_there(line: tf.Graph) -> None:
    for name in ("_add_new_tf_operations", "_mutation_lock", "_c_graph", "_get_operation_by_name"):
        assert hasattr(line, name)
    for name in (
        "TF_GraphImportGraphDefWithResults",
        "TF_ImportGraphDefOptionsRemapControlDependency",
        "TF_ImportGraphDefOptionsAddInputMapping",
        "TF_ImportGraphDefOptionsSetValidateColocationConstraints",
        "TF_NewBufferFromString",
    ):
        assert hasattr(c_api, name)


def test_a_failed_import_leaves_no_ops(line: tf.Graph) -> None:
    before = len(line.get_operations())
    bad = v1.GraphDef(node=[v1.NodeDef(name="ok", op="NoOp"), v1.NodeDef(name="bad", op="MatMul")])
    with line.as_default(), pytest.raises(ValueError, match="bad"):
        tf.import_graph_def(bad, name="")
    assert len(line.get_operations()) == before


def test_closing_a_session_sets_the_flag_that_is_read() -> None:
    session = v1.Session(graph=tf.Graph())
    assert session._closed is False
    session.close()
    assert session._closed is True


def test_an_initial_value_can_be_fed(mlp: tf.Graph, session: v1.Session) -> None:
    assign = mlp.get_operation_by_name("net/one/b/Assign")
    session.run(assign, {assign.inputs[1]: np.arange(4.0)})
    variable = next(v for v in mlp.get_collection("variables") if v.name == "net/one/b:0")
    assert session.run(variable).tolist() == [0, 1, 2, 3]


def test_the_private_names_that_are_relied_on_are_there(line: tf.Graph) -> None:
    op = line.get_operations()[-1]
    for name in ("_inputs_val", "_control_outputs", "_id", "_update_input", "_c_op"):
        assert hasattr(op, name), name
    assert hasattr(line, "_functions")
    function = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([]))
    outer = tf.Graph()
    with outer.as_default():
        function(tf.constant(1.0))
    assert [held.cached_definition.signature.name for held in outer._functions.values()] == list(
        outer._functions
    )


def test_an_op_without_a_kernel_is_not_run_by_shape_inference(tmp_path: Path) -> None:
    secret = tmp_path / "dims"
    secret.write_bytes(np.array([3, 5], np.int32).tobytes())

    def shape_of(**attributes: object) -> tf.TensorShape:
        graph_def = v1.GraphDef()
        with tf.Graph().as_default() as graph:
            dims = tf.io.decode_raw(tf.io.read_file(str(secret)), tf.int32)
            tf.reshape(v1.placeholder(tf.float32, name="x"), dims, name="y")
            graph_def.CopyFrom(graph.as_graph_def())
        for node in graph_def.node:
            for name, value in attributes.items():
                node.attr[name].s = str(value).encode()
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(graph_def, name="")
            return graph.get_tensor_by_name("y:0").shape

    assert shape_of() == [3, 5], "TensorFlow read the file to know the shape"
    assert shape_of(_kernel="none").rank != 2


def test_the_inputs_that_are_seeds() -> None:
    found = {}
    for name in dir(tf.raw_ops):
        definition = op_def_registry.get(name)
        inputs = [] if definition is None else [arg.name for arg in definition.input_arg]
        if slots := tuple(
            slot for slot, report in enumerate(inputs) if report in ("seed", "seed2")
        ):
            found[name] = slots
    assert found == {
        name: slots for name, slots in SEED_INPUTS.items() if hasattr(tf.raw_ops, name)
    }
    assert len(found) >= len(SEED_INPUTS) - 1  # GlobalShuffleDataset came with TensorFlow 2.17


def test_a_state_without_a_key_goes_by_the_name_of_its_op_but_for_variables() -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        queues = [
            tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], name=name) for name in ("a", "b")
        ]
        put = tf.raw_ops.QueueEnqueueV2(handle=queues[0], components=[1])
        session.run(put)
        assert session.run([tf.raw_ops.QueueSizeV2(handle=queue) for queue in queues]) == [1, 0]
        handles = [
            tf.raw_ops.VarHandleOp(dtype=tf.int32, shape=[], name=name) for name in ("c", "d")
        ]
        session.run(tf.raw_ops.AssignVariableOp(resource=handles[0], value=5))
        assert session.run(tf.raw_ops.ReadVariableOp(resource=handles[1], dtype=tf.int32)) == 5
    assert graph.version


def test_the_ends_of_a_staging_area_find_each_other_by_key_without_an_edge() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        put = tf.raw_ops.Stage(values=[tf.constant(3)], shared_name="area", name="put")
        taken = tf.raw_ops.Unstage(dtypes=[tf.int32], shared_name="area", name="take")
        assert not taken[0].op.inputs
        session.run(put)
        assert session.run(taken) == [3]


def test_two_temporary_variables_of_one_name_do_not_live_in_one_step() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        both = [
            tf.raw_ops.TemporaryVariable(shape=[], dtype=tf.float32, var_name="v") for _ in range(2)
        ]
        with (
            tf.control_dependencies([one.op for one in both]),
            pytest.raises(tf.errors.AlreadyExistsError),
        ):
            session.run(
                [tf.raw_ops.DestroyTemporaryVariable(ref=one, var_name="v") for one in both]
            )


def test_an_imported_call_has_the_gradient_of_the_function_that_it_is_passed() -> None:
    @tf.function(input_signature=[tf.TensorSpec([])])
    def cube(x: tf.Tensor) -> tf.Tensor:
        return x * x * x

    whole = tf.function(lambda x: cube(x) + 1.0).get_concrete_function(tf.TensorSpec([]))
    graph_def = whole.graph.as_graph_def()
    functions = function_deserialization.load_function_def_library(graph_def.library)
    nodes = [node for node in graph_def.node if node.op.endswith("PartitionedCall")]
    for node in nodes:
        function_deserialization.fix_node_def(node, functions, "_copy")

    @tf.function(input_signature=[tf.TensorSpec([])])
    def copy(x: tf.Tensor) -> tf.Tensor:
        graph = v1.get_default_graph()
        for function in functions.values():
            function.add_to_graph(graph)
        (y,) = tf.import_graph_def(
            v1.GraphDef(node=nodes), {"x:0": x}, [f"{nodes[0].name}:0"], name="copy"
        )
        (report,) = (f for f in functions.values() if f.name == y.op.get_attr("f").name.encode())
        y.op._gradient_function = report._get_gradient_function()
        return y

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = copy(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (8.0, 12.0)


def test_the_private_parts_of_control_flow_contexts_that_copies_rely_on_are_there() -> None:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [])
        y = v1.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * a), [0, x])[1]
        tf.gradients(y, x)
        forward, backward = (
            op._control_flow_context for op in graph.get_operations() if op.type == "LoopCond"
        )
    # The gradient's loop is in no collection.
    assert graph.get_collection("while_context") == [forward]
    assert forward.grad_state is None
    assert backward.grad_state.forward_context is forward
    assert forward.GetControlPivot().op.type == "Identity"  # which tells a loop
    assert backward.GetControlPivot().op.type == "Sub"  # from that of a gradient
    for name in (
        "_values",
        "_external_values",
        "_nested_contexts",
        "_pivot_for_pred",
        "_pivot_for_body",
    ):
        assert hasattr(forward, name)


def test_no_op_is_imported_under_the_name_of_a_scope_but_one_can_be_made() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="act/inner")
        node = v1.NodeDef(name="act", op="NoOp")
        (named,) = tf.import_graph_def(v1.GraphDef(node=[node]), name="", return_elements=["act"])
        assert named.name == "act_1"
        with pytest.raises(GraphEditError, match="Node name 'act' already exists in the Graph"):
            import_nodes(graph, [node])
        assert tf.Operation.from_node_def(node, graph) is graph.get_operation_by_name("act")


def test_a_loop_whose_merge_reads_what_comes_round_first_has_a_wrong_gradient() -> None:
    """So TensorFlow 1.15's graph_editor left its copies; they run all the same."""
    v1.disable_control_flow_v2()
    gradients = []
    for exchange in (False, True):
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [])
            y = v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * a), [0, x])[1]
            for merge in [op for op in graph.get_operations() if op.type == "Merge" and exchange]:
                enter, round_ = merge.inputs
                merge._update_input(0, round_)
                merge._update_input(1, enter)
            gradient = tf.gradients(y, x)[0]
        with v1.Session(graph=graph) as session:
            value, got = session.run([y, gradient], {x: 1.5})
            assert value == pytest.approx(1.5**8)
            gradients.append(got)
    assert gradients[0] == pytest.approx(8 * 1.5**7)
    assert gradients[1] != pytest.approx(8 * 1.5**7)


def test_ops_are_wrapped_as_tensorflow_does_it(line: tf.Graph) -> None:
    graph_def = line.as_graph_def()
    left, right = tf.Graph(), tf.Graph()
    for graph in (left, right):
        buffer = c_api.TF_NewBufferFromString(graph_def.SerializeToString())
        c_api.TF_GraphImportGraphDefWithResults(graph, buffer, c_api.TF_NewImportGraphDefOptions())
    left._add_new_tf_operations(compute_devices=False)
    graph_import._wrap(right, [node.name for node in graph_def.node])
    assert left._names_in_use == right._names_in_use
    assert left.new_operations() == right.new_operations() == []
    slots = (
        "_original_op",
        "_device_code_locations",
        "_colocation_code_locations",
        "_control_flow_context",
    )
    for one, other in zip(left.get_operations(), right.get_operations(), strict=True):
        assert (one.name, one._id, type(one)) == (other.name, other._id, type(other))
        assert [type(t) for t in one.outputs] == [type(t) for t in other.outputs]
        assert [t.name for t in one.inputs] == [t.name for t in other.inputs]
        for slot in (*slots, "_gradient_function"):
            assert getattr(one, slot) == getattr(other, slot), slot
        assert other.graph is right


def test_ops_are_imported_in_the_order_of_their_nodes(
    line: tf.Graph,
) -> None:
    def relu(name: str, *inputs: str) -> v1.NodeDef:
        made = v1.NodeDef(name=name, op="Relu", input=inputs)
        made.attr["T"].type = tf.float32.as_datatype_enum
        return made

    def imported(*nodes: v1.NodeDef) -> list[str]:
        known = len(line.get_operations())
        import_nodes(line, nodes)
        return [op.name for op in line.get_operations()[known:]]

    rng = np.random.default_rng(0)
    names = [f"new_{k}" for k in rng.permutation(300)]
    before = [[*names[:k], "x"] for k in range(len(names))]
    nodes = [
        relu(name, rng.choice(held), f"^{rng.choice(held)}")
        for name, held in zip(names, before, strict=True)
    ]
    assert imported(*nodes) == names
    assert imported(relu("late", "early"), relu("early", "x"), relu("other", "x")) != [
        "late",
        "early",
        "other",
    ]


def test_there_is_one_object_of_each_dtype(line: tf.Graph) -> None:
    """So `runtime.live.static_attributes` may ask whether a tensor's dtype is `tf.resource`."""
    with line.as_default():
        handle = v1.get_variable("held", [2], use_resource=True).handle
        variant = tf.raw_ops.TensorListReserve(
            element_shape=[2], num_elements=3, element_dtype=tf.float32
        )
    again = tf.Graph()
    with again.as_default():
        tf.import_graph_def(line.as_graph_def(), name="")
    for tensor, dtype in ((handle, tf.resource), (variant, tf.variant)):
        assert tensor.dtype is again.get_tensor_by_name(tensor.name).dtype is dtype


def test_ops_without_a_python_side_are_found_again(line: tf.Graph) -> None:
    graph = tf.Graph()
    buffer = c_api.TF_NewBufferFromString(line.as_graph_def().SerializeToString())
    c_api.TF_GraphImportGraphDefWithResults(graph, buffer, c_api.TF_NewImportGraphDefOptions())
    c_ops = graph.new_operations()
    tf.Operation._from_c_op(c_ops[0], graph)
    assert len(graph.new_operations()) == len(c_ops) - 1


def test_the_c_api_has_graphs_without_python_ops(line: tf.Graph) -> None:
    scratch = c_api.PyGraph()
    buffer = c_api.TF_NewBufferFromString(line.as_graph_def().SerializeToString())
    c_api.TF_GraphImportGraphDefWithResults(scratch, buffer, c_api.TF_NewImportGraphDefOptions())
    names = {c_api.TF_OperationName(op) for op in scratch.new_operations()}
    assert names == {op.name for op in line.get_operations()}
    assert hasattr(line, "_collections")


def test_a_missing_function_is_noticed_only_when_it_runs(line: tf.Graph) -> None:
    call = v1.NodeDef(name="call", op="PartitionedCall", input=["x"])
    call.attr["f"].func.name = "gone"
    for key in ("Tin", "Tout"):
        call.attr[key].list.type.append(tf.float32.as_datatype_enum)
    line_def = line.as_graph_def()
    line_def.node.append(call)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(line_def, name="")
    with v1.Session(graph=graph) as session, pytest.raises(tf.errors.OpError, match="gone"):
        session.run("call:0", {"x:0": np.ones((1, 2))})


def test_static_shapes_show_what_set_shape_said_without_python_objects() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32)
        assert x._shape == ([], True)
        x.set_shape([None, 2])
        assert x._shape == ([None, 2], False)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_a_variable_is_made_as_tensorflow_makes_it(resource: bool) -> None:
    graph = build_mlp(resource=resource)
    with graph.as_default():
        v1.get_variable(
            "still",
            dtype=tf.int64,
            initializer=np.arange(3),
            trainable=False,
            use_resource=resource,
        )
        originals = v1.global_variables()
        for original in originals:
            proto = original.to_proto()
            held = read_variable_def(proto, None)
            made = patch_application.make_variable(graph, held)
            known = type(original).from_proto(proto)
            assert type(made) is type(known)
            assert vars(made).keys() == vars(known).keys()
            for field, value in vars(known).items():
                assert vars(made)[field] is value or vars(made)[field] == value, field
            report = patch_application.make_variable(
                graph, held, {node.name: node for node in graph.as_graph_def().node}
            )
            assert vars(report) == vars(made)
            assert type(made._aggregation) is type(known._aggregation)


def test_an_input_remembers_its_static_shape(line: tf.Graph) -> None:
    """So an edge may be refused for one that was there long ago; `runtime.live.in_place_changes`
    puts a veil between.
    """
    with line.as_default():
        three, five = tf.zeros([3, 2]), tf.zeros([5, 2])
        relu = tf.nn.relu(line.get_tensor_by_name("x:0"))
        relu.op._update_input(0, three)
        relu.op._update_input(0, line.get_tensor_by_name("x:0"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shapes"):
            relu.op._update_input(0, five)
        relu.op._update_input(0, v1.placeholder_with_default(five, shape=None))
    assert relu.shape.as_list() == [None, 2]  # and is not inferred anew
    with v1.Session(graph=line) as session:
        assert session.run(relu).shape == (5, 2)


def test_a_tensor_of_python_says_the_shape_that_it_is_given(line: tf.Graph) -> None:
    tensor = line.get_tensor_by_name("a:0")
    assert tensor.shape.as_list() == [None, 2]
    tensor._shape_val = tf.TensorShape([7])
    assert line.get_operation_by_name("a").outputs[0].shape.as_list() == [7]


def test_two_sessions_of_a_graph_can_exchange_their_c_sessions(line: tf.Graph) -> None:
    config = v1.ConfigProto(inter_op_parallelism_threads=3)
    one, other = v1.Session(graph=line, config=config), v1.Session(graph=line, config=config)
    assert (one._target, one.sess_str, one._config) == (other._target, other.sess_str, config)
    line.get_operation_by_name("c")
    one.run("c:0", {"x:0": np.ones((1, 2))})
    line.get_operation_by_name("c")._update_input(0, line.get_tensor_by_name("a:0"))
    one._session, other._session = other._session, one._session
    assert one.run("c:0", {"x:0": np.ones((1, 2))}).tolist() == [[4.0, 4.0]]
    c_api.TF_CloseSession(other._session)
    with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
        other.run("c:0", {"x:0": np.ones((1, 2))})
    other._closed = True
    del other  # which deletes the closed one
    assert one.run("c:0", {"x:0": np.ones((1, 2))}).tolist() == [[4.0, 4.0]]


def test_a_state_without_a_key_belongs_to_one_session_even_on_a_server() -> None:
    server = tf.distribute.Server.create_local_server()
    with tf.Graph().as_default() as graph:
        queues = [
            v1.FIFOQueue(5, [tf.int32], shapes=[[]], shared_name=name) for name in (None, "facts")
        ]
        put, sizes = [queue.enqueue([1]) for queue in queues], [queue.size() for queue in queues]
        variable = v1.Variable(3, name="facts")
        with v1.Session(server.target, graph=graph) as session:
            session.run([variable.initializer, *put])
        with v1.Session(server.target, graph=graph) as session:
            assert session.run([variable, *sizes]) == [3, 0, 1]


def test_the_state_of_an_iterator_goes_through_python_as_bytes() -> None:
    with tf.Graph().as_default() as graph:
        iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(9).shuffle(3, seed=1))
        state = tf.raw_ops.SerializeIterator(
            resource_handle=iterator._iterator_resource, external_state_policy=1
        )
        saved, fed, following = (
            tf.raw_ops.SerializeTensor(tensor=state),
            v1.placeholder(tf.string),
            iterator.get_next(),
        )
        restore = tf.raw_ops.DeserializeIterator(
            resource_handle=iterator._iterator_resource,
            serialized=tf.raw_ops.ParseTensor(serialized=fed, out_type=tf.variant),
        )
        with v1.Session(graph=graph) as one, v1.Session(graph=graph) as other:
            with pytest.raises(tf.errors.FailedPreconditionError):
                one.run(saved)
            for session in (one, other):
                session.run(iterator.initializer)
            one.run(following)
            other.run(restore, {fed: one.run(saved)})
            assert one.run(following) == other.run(following)


def test_a_table_that_was_not_filled_cannot_be_exported_and_says_aborted() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        with pytest.raises(tf.errors.AbortedError):
            session.run(
                tf.raw_ops.LookupTableExportV2(
                    table_handle=table, Tkeys=tf.string, Tvalues=tf.int64
                )
            )


def test_the_importer_fills_in_attributes_at_their_default() -> None:
    node = v1.NodeDef(name="fed", op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    with tf.Graph().as_default() as graph:
        import_nodes(graph, [node])
        assert graph.get_operation_by_name("fed").get_attr("shape").unknown_rank


def test_a_callable_and_a_tensor_handle_know_their_session_by_these_fields(line: tf.Graph) -> None:
    with line.as_default():
        kept = v1.get_session_handle(tf.constant(1.0))
    with v1.Session(graph=line) as session:
        made = session._make_callable_from_options(CallableOptions(feed=["x:0"], fetch=["c:0"]))
        handle = session.run(kept)
        assert vars(made) == {"_session": session, "_handle": 0}
        assert {"_session", "_handle", "_auto_gc_enabled"} <= vars(handle).keys()
        made._handle = -1  # which is released without a word
        del made


def test_a_thread_of_a_queue_runner_is_known_by_what_it_runs() -> None:
    with tf.Graph().as_default():
        v1.train.string_input_producer(["a"])
        with v1.Session() as session:
            session.run(v1.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            for thread in v1.train.start_queue_runners(session, coordinator, start=False):
                assert isinstance(thread._target.__self__, v1.train.QueueRunner)
                assert thread._args[0] is session


def test_a_renamed_op_finds_its_state_by_the_key_it_had() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        old = tf.raw_ops.VariableV2(shape=[], dtype=tf.int32, name="old")
        session.run(tf.raw_ops.Assign(ref=old, value=1))
        assert (
            session.run(
                tf.raw_ops.VariableV2(shape=[], dtype=tf.int32, name="new", shared_name="old")
            )
            == 1
        )
        for by_name in (True, False):
            kind = {
                "key_dtype": tf.int32,
                "value_dtype": tf.int32,
                "use_node_name_sharing": by_name,
            }
            table = tf.raw_ops.HashTableV2(**kind, name=f"table_{by_name}")
            session.run(tf.raw_ops.InitializeTableV2(table_handle=table, keys=[1], values=[2]))
            renamed = tf.raw_ops.HashTableV2(
                **kind, name=f"renamed_{by_name}", shared_name=f"table_{by_name}"
            )
            assert session.run(tf.raw_ops.LookupTableSizeV2(table_handle=renamed)) == by_name
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], name="queue")
        session.run(tf.raw_ops.QueueEnqueueV2(handle=queue, components=[1]))
        renamed = tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], shared_name="queue")
        assert session.run(tf.raw_ops.QueueSizeV2(handle=renamed)) == 0
        session.run(tf.raw_ops.Stage(values=[3], name="area"))
        assert session.run(tf.raw_ops.StageSize(dtypes=[tf.int32], shared_name="area")) == 1


def test_a_tensor_says_the_shape_that_python_remembers_and_is_fed_by_it(line: tf.Graph) -> None:
    tensor = line.get_tensor_by_name("x:0")
    value = v1.AttrValue(shape=tf.TensorShape([None, 2]).as_proto())
    tensor.op._set_attr("shape", value)
    tensor._shape_val = tf.TensorShape([1, 2])
    with v1.Session(graph=line) as session:
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run("c:0", {"x:0": np.ones((3, 2))})
        tensor._shape_val = tf.TensorShape([None, 2])
        assert session.run("c:0", {"x:0": np.ones((3, 2))}).shape == (3, 2)


def test_an_attribute_does_not_change_the_dtype_of_an_output(line: tf.Graph) -> None:
    op = line.get_operation_by_name("x")
    op._set_attr("dtype", v1.AttrValue(type=tf.uint8.as_datatype_enum))
    assert op.node_def.attr["dtype"].type == tf.uint8.as_datatype_enum
    assert op.outputs[0].dtype == tf.float32


def test_raw_ops_carry_the_documentation() -> None:
    """OpDefs come without words; the functions of tf.raw_ops have them."""
    from tensorflow.python.framework import op_def_registry

    assert op_def_registry.get("MatMul").summary == ""
    assert tf.raw_ops.MatMul.__doc__.startswith('Multiply the matrix "a" by the matrix "b".')
    # Python 3.13 has done that.
    assert "\nArgs:\n  a: A `Tensor`." in inspect.cleandoc(tf.raw_ops.MatMul.__doc__)


def test_one_op_that_cannot_be_placed_ends_every_run() -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph, config=v1.ConfigProto()) as session:
        one = tf.constant(1.0)
        assert session.run(one) == 1.0
        with tf.device("/job:nobody"):
            two = tf.constant(2.0)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="nobody"):
                session.run(one)
        # What was there before runs, if the session is not told of what has come.
        session._extend_graph = lambda: None
        assert session.run(one) == 1.0
        del session._extend_graph
        # What was never sent can be changed.
        two.op._set_device("")
        assert session.run([one, two]) == [1.0, 2.0]


def test_a_session_that_places_what_it_runs_is_not_ended_by_another_op() -> None:
    graph = tf.Graph()
    config = v1.ConfigProto()
    config.graph_options.place_pruned_graph = True
    with graph.as_default(), v1.Session(graph=graph, config=config) as session:
        one = tf.constant(1.0)
        with tf.device("/job:nobody"):
            two = tf.constant(2.0)
        assert session.run(one) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="nobody"):
            session.run(two)


def test_soft_placement_exchanges_devices_of_one_task_only() -> None:
    for device, placed in (
        ("/device:GPU:7", True),
        ("/cpu:9", True),
        ("/job:nobody", False),
        ("/task:1", False),
    ):
        graph = tf.Graph()
        with (
            graph.as_default(),
            v1.Session(graph=graph, config=v1.ConfigProto(allow_soft_placement=True)) as session,
        ):
            one = tf.constant(1.0)
            with tf.device(device):
                tf.constant(2.0)
            if placed:
                assert session.run(one) == 1.0
            else:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(one)


def test_a_queue_has_its_whole_name_in_its_graph_only() -> None:
    with tf.Graph().as_default() as graph, tf.name_scope("pipe"):
        queue = tf.queue.FIFOQueue(3, [tf.float32], [()], name="queue")
        runner = v1.train.QueueRunner(queue, [queue.enqueue([1.0])])
        assert runner.to_proto().queue_name == "pipe/queue"
    assert runner.to_proto().queue_name == "queue", "outside, TensorFlow takes it for an eager one"
    with graph.as_default():
        assert runner.to_proto().queue_name == "pipe/queue"


def test_a_table_can_be_exported_and_imported_whichever_kind_it_is() -> None:
    # A dense one gives its buckets, of one rank more than TensorFlow's shape inference takes: so
    # placeholders of unknown shape are fed.
    lookup, imports = tf.lookup.experimental, tf.raw_ops.LookupTableImportV2
    with tf.Graph().as_default(), v1.Session() as session:
        fed = v1.placeholder(tf.int64), v1.placeholder(tf.float32)
        for make in (
            lambda: lookup.MutableHashTable(tf.int64, tf.float32, -1.0),
            lambda: lookup.DenseHashTable(tf.int64, tf.float32, -1.0, empty_key=-1, deleted_key=-2),
        ):
            one, other = make(), make()
            session.run(one.insert(tf.constant([1, 2], tf.int64), [5.0, 6.0]))
            session.run(other.insert(tf.constant([3], tf.int64), [7.0]))
            held = session.run(one.export())
            given = dict(zip(fed, held, strict=True))
            session.run(
                imports(table_handle=other.resource_handle, keys=fed[0], values=fed[1]), given
            )
            assert session.run(other.lookup(tf.constant([1, 2, 3], tf.int64))).tolist() == [
                5,
                6,
                -1,
            ]


def test_a_graph_def_has_ops_that_are_not_made_yet(line: tf.Graph) -> None:
    """An op is in TensorFlow's own graph before its Python object is; `get_operations` tells of
    finished ones only.
    """
    known = len(line.get_operations())
    nodes = [v1.NodeDef(name="half", op="NoOp")]
    run_import(line, ValidatedNodes(("half",), serialize_nodes(line, nodes), ()), {})
    assert [node.name for node in line.as_graph_def().node][known:] == ["half"]
    assert len(line.get_operations()) == line.version == known


def test_each_op_comes_to_its_graph_by_add_op_in_the_thread_that_makes_it(line: tf.Graph) -> None:
    def add() -> None:
        with line.as_default():
            tf.no_op("theirs")

    with track_new_ops(line) as here, line.as_default():
        tf.import_graph_def(v1.GraphDef(node=[v1.NodeDef(name="mine", op="NoOp")]), name="")
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
        with track_new_ops(line) as inner:
            tf.no_op("too")
    assert (here, inner) == ({"mine", "too"}, {"too"})
    assert line.get_operation_by_name("theirs")


def test_no_op_is_made_while_a_session_takes_ops_over(line: tf.Graph) -> None:
    """The lock that a session holds then keeps all out who add ops, and no session."""

    def add() -> None:
        with line.as_default():
            tf.no_op("late")

    thread = threading.Thread(target=add, daemon=True)
    with line._session_run_lock():
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert "late" not in [node.name for node in line.as_graph_def().node]
        with v1.Session(graph=line) as session:
            session.run([])
    thread.join(60)
    assert line.get_operation_by_name("late")


def test_a_session_without_a_config_places_ops_softly() -> None:
    with tf.Graph().as_default() as graph, tf.device("/device:GPU:7"):
        tf.add(1.0, 2.0, name="sum")
    with v1.Session(graph=graph) as session:
        assert session._config.allow_soft_placement
        assert session.run("sum:0") == 3.0
    with (
        v1.Session(graph=graph, config=v1.ConfigProto()) as session,
        pytest.raises(tf.errors.InvalidArgumentError),
    ):
        session.run("sum:0")


def test_a_reader_of_checkpoints_takes_a_prefix_for_the_folder_of_its_name(tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("w", [], initializer=v1.zeros_initializer())
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(tmp_path / "m"))
    (tmp_path / "m").mkdir()
    with pytest.raises(ValueError, match="in given directory"):
        tf.train.load_checkpoint(str(tmp_path / "m"))
    assert v1.train.NewCheckpointReader(str(tmp_path / "m")).has_tensor("w")


@pytest.mark.parametrize("resource", [True, False])
def test_a_variable_is_named_as_the_tensor_that_all_its_ops_take(resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        variable = tf.compat.v1.get_variable("w", [], use_resource=resource)
        assert variable.op.outputs[0] is graph.get_tensor_by_name(variable.name)
        assert variable.to_proto().snapshot_name == (
            "w/Read/ReadVariableOp:0" if resource else "w/read:0"
        )


def test_gradients_know_the_op_that_they_are_of() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0)
        y = tf.multiply(x, x, name="y")
        tf.gradients(y, x, name="grad")
        op = graph.get_operation_by_name("grad/y_grad/Mul")
        assert op._original_op is y.op
        op._original_op = None
        assert op._original_op is None


def test_gradients_by_several_inputs_are_numbered() -> None:
    with tf.Graph().as_default():
        inputs = [tf.compat.v1.placeholder(tf.float32, [3, 3], name=f"in_{k}") for k in range(2)]
        for k, function in enumerate((tf.subtract, tf.matmul, tf.maximum, tf.math.divide)):
            result = function(*inputs, name=f"of_{k}")
            taken = tf.gradients(result, inputs, gate_gradients=True)
            assert [tensor.op.name for tensor in taken] == [
                f"gradients{f'_{k}' if k else ''}/of_{k}_grad/tuple/control_dependency{number}"
                for number in ("", "_1")
            ]
        # As optimizers take them; otherwise a sum hands on what arrives.
        arriving = tf.ones([3, 3])
        taken = tf.gradients(tf.subtract(*inputs), inputs, arriving, name="without_gates")
        assert taken[0].op.name == "without_gates/grad_ys_0"


def test_gradients_have_the_names_of_their_ops() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0)
        y = tf.sin(x, name="net/y")
        tf.gradients(y, x)
    assert "gradients/net/y_grad/mul" in {op.name for op in graph.get_operations()}

    @tf.function
    def taped(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.name_scope("net"):
                y = tf.sin(x, name="y")
        return tape.gradient(y, x)

    names = {op.name for op in taped.get_concrete_function(tf.constant(2.0)).graph.get_operations()}
    assert "gradient_tape/net/Cos" in names


def test_an_import_adds_default_attributes_to_the_graph_def_that_it_is_given() -> None:
    given = v1.GraphDef(node=[v1.NodeDef(name="h", op="VarHandleOp")])
    given.node[0].attr["dtype"].type = tf.float32.as_datatype_enum
    given.node[0].attr["shape"].shape.SetInParent()
    with tf.Graph().as_default():
        tf.import_graph_def(given, name="")
    assert "container" in given.node[0].attr


def test_a_saveable_object_comes_back_as_an_op_that_no_saver_takes() -> None:
    with tf.Graph().as_default():
        tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
        v1.train.Saver()
        meta = v1.train.export_meta_graph()
    assert meta.collection_def[v1.GraphKeys.SAVEABLE_OBJECTS].node_list.value == ["table"]
    with (
        tf.Graph().as_default(),
        pytest.raises(TypeError, match="can't convert Operation 'table' to Tensor"),
    ):
        v1.train.import_meta_graph(meta)


# Functions that ops call


def _with_a_sum(graph: tf.Graph, op: tf.Operation, key: str, branch: int | None = None) -> None:
    """Let an op call a copy of its function that adds where the function multiplies."""
    value = v1.AttrValue()
    value.CopyFrom(op.node_def.attr[key])
    called = value.func if branch is None else value.list.func[branch]
    definition = next(
        f for f in graph.as_graph_def().library.function if f.signature.name == called.name
    )
    called.name = definition.signature.name = f"{called.name}_edited"
    for node in definition.node_def:
        node.op = {"Mul": "AddV2"}.get(node.op, node.op)
    (made,) = functions_from_library(type(graph.as_graph_def().library)(function=[definition]))
    add_function(graph, made)
    op._set_attr(key, value)


def _call(x: tf.Tensor) -> tf.Tensor:
    return tf.function(lambda t: t * 3.0)(x)


_CALLS = {
    "call": (_call, "f", None),
    "while": (
        lambda x: tf.while_loop(lambda i, _: i < 1, lambda i, t: (i + 1, t * 3.0), [0, x])[1],
        "body",
        None,
    ),
    "cond": (
        lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 3.0, lambda: x),
        "then_branch",
        None,
    ),
    "case": (lambda x: tf.switch_case(tf.size(x) - 2, [lambda: x * 3.0, lambda: x]), "branches", 0),
}


@pytest.mark.parametrize("kind", _CALLS)
def test_a_new_session_sees_another_function_of_an_op_and_one_that_has_run_it_does_not(
    kind: str,
) -> None:
    build, key, branch = _CALLS[kind]
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        y = build(x)
        with v1.Session() as session:
            assert session.run(y, {x: [1.0, 2.0]}).tolist() == [3, 6]
            op = next(op for op in graph.get_operations() if key in op.node_def.attr)
            _with_a_sum(graph, op, key, branch)
            assert session.run(y, {x: [1.0, 2.0]}).tolist() == [3, 6]
        with v1.Session() as session:
            assert session.run(y, {x: [1.0, 2.0]}).tolist() == [4, 5]


@pytest.mark.parametrize("kind", _CALLS)
def test_the_gradient_of_a_call_goes_by_what_python_knows_of_it(kind: str) -> None:
    build, key, branch = _CALLS[kind]
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        y = build(x)
        op = next(op for op in graph.get_operations() if key in op.node_def.attr)
        _with_a_sum(graph, op, key, branch)
        (gradient,) = tf.gradients(y, x)
        with v1.Session() as session:
            value, slope = session.run([y, gradient], {x: [1.0, 2.0]})
    assert slope.tolist() == [3, 3]  # of the function that was exchanged; the sum's is 1
    # Some call it again, too.
    assert value.tolist() == ([3, 6] if kind in ("call", "while") else [4, 5])


def test_gradients_let_a_call_call_another_function_that_gives_more() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        y = tf.function(lambda t: tf.exp(t) * t)(x)
        op = next(op for op in graph.get_operations() if op.type == "PartitionedCall")
        before = op.get_attr("f").name, len(op.outputs)
        tf.gradients(y, x)
    assert op.get_attr("f").name != before[0]
    assert len(op.outputs) > before[1]


def test_a_session_takes_no_second_definition_of_a_function() -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], name="x")
        y = tf.function(lambda t: t * 3.0)(x)
        session.run(y, {x: [1.0]})
        library = graph.as_graph_def().library
        for op_type in ("AddV2", "Sub"):
            definition = type(library.function[0])()
            definition.CopyFrom(library.function[0])
            definition.signature.name = "other"
            next(node for node in definition.node_def if node.op == "Mul").op = op_type
            add_function(graph, *functions_from_library(type(library)(function=[definition])))
            tf.constant(1.0)  # functions come to a session with new ops
            if op_type == "AddV2":
                session.run(y, {x: [1.0]})
                remove_function(graph, "other")
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="different function with the same name"
        ):
            session.run(y, {x: [1.0]})


def test_a_graph_counts_its_ops_as_its_list_does() -> None:
    with tf.Graph().as_default() as graph:
        for expected in (0, 3, 6):
            assert operation_count(graph) == len(graph.get_operations()) == expected
            tf.add(tf.constant(1), tf.constant(2))
    body = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([])).graph
    assert operation_count(body) == len(body.get_operations()) > 0


def test_a_lookup_refuses_dtypes_by_which_an_export_of_a_table_would_end_the_process() -> None:
    def look_up(table: tf.Tensor) -> None:
        tf.raw_ops.LookupTableFindV2(
            table_handle=table, keys=tf.zeros([0], tf.string), default_value=0.0
        )

    pairs = ["a"], tf.constant([1], tf.int64)
    static = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(*pairs), -1)
    mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, [-1])
    for table in (static, mutable):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Signature mismatch"):
            look_up(table.resource_handle)
    # Without what is in it.
    handle = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Signature mismatch"):
        look_up(handle)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="wrong dtype"):
        look_up(tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64))


def test_the_gradient_of_a_loop_misses_consumers_of_its_switch_but_one() -> None:
    """TensorFlow's own loops have an Identity there, which all of the body reads."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        _, y = v1.while_loop(
            lambda i, _: i < 2, lambda i, a: (i + 1, a * 3.0 + a), [0, x], name="loop"
        )
        add = next(
            op
            for op in graph.get_operations()
            if op.type == "AddV2" and op.inputs[1].name == "loop/Identity_1:0"
        )
        add._update_input(1, graph.get_tensor_by_name("loop/Switch_1:1"))
        gradient = tf.gradients(y, x)[0]
    v1.enable_control_flow_v2()
    with v1.Session(graph=graph) as session:
        assert session.run(y, {x: 1.0}) == 16
        assert session.run(gradient, {x: 1.0}) != 16


def test_an_interrupt_leaves_the_lock_of_a_graph_taken(
    line: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow takes it by hand: an interrupt between two of its lines keeps all others out for
    ever.
    """
    lock = line._group_lock

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(lock), "_another_group_active", interrupt)
    with pytest.raises(KeyboardInterrupt), line._session_run_lock():
        pass
    assert lock._ready._lock.locked()
    lock._ready._lock.release()


def test_only_the_lock_of_a_graph_is_taken_by_hand() -> None:
    """Python takes a lock of a `with` statement and enters the block in one step, into which no
    interrupt comes.
    """
    root = Path(tf.__file__).parent / "python"
    by_hand = {
        file.name
        for folder in ("client", "eager", "framework", "ops", "training", "util")
        for file in (root / folder).glob("*.py")
        if re.search(r"[lL]ock\w*\.acquire\(|_ready\.acquire\(", file.read_text(encoding="utf-8"))
    }
    assert by_hand == {"lock_util.py"}


def test_an_import_gives_a_graph_its_versions() -> None:
    versions = tf.compat.v1.GraphDef()
    versions.versions.producer, versions.versions.min_consumer = 9, 3
    versions.versions.bad_consumers.append(5)
    graph = tf.Graph()
    import_serialized(graph, versions.SerializeToString())
    assert graph.graph_def_versions == versions.versions


@pytest.mark.parametrize(("producer", "rank"), [(0, None), (21, None), (22, 0)])
def test_a_placeholder_without_dimensions_was_one_of_unknown_shape_until_version_22(
    producer, rank
) -> None:
    graph_def, _ = old_graph(producer, lambda: tf.compat.v1.placeholder(tf.float32, (), name="x"))
    assert not graph_def.node[0].attr["shape"].shape.unknown_rank
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    assert graph.get_tensor_by_name("x:0").shape.rank == rank


@pytest.mark.parametrize(("producer", "is_taken"), [(0, True), (20, True), (21, False)])
def test_a_reduction_took_its_axes_in_a_matrix_until_version_21(producer, is_taken) -> None:
    graph_def, _ = old_graph(0, lambda: tf.raw_ops.Sum(input=[[1.0, 2.0]], axis=[[1]], name="sum"))
    graph_def.versions.producer = producer
    with tf.Graph().as_default():
        if is_taken:
            tf.import_graph_def(graph_def, name="")
        else:
            with pytest.raises(ValueError, match="must be at most rank 1"):
                tf.import_graph_def(graph_def, name="")


def test_an_ended_op_does_not_run_in_a_function() -> None:
    graph_def, _ = old_graph(8, lambda: tf.raw_ops.BatchCholesky(input=[[[4.0]]], name="root"))

    @tf.function
    def root() -> tf.Tensor:
        return tf.import_graph_def(graph_def, return_elements=["root:0"])[0]

    with pytest.raises(tf.errors.UnimplementedError, match="removed in version 13"):
        root()
