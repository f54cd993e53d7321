"""Renewal: a session sees changes made in place, and keeps what it holds, or says what it does not
keep.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client.session import BaseSession
from tensorflow.python.ops import gen_data_flow_ops, gen_lookup_ops, gen_state_ops

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, initialised, read, v1
from tests.editor.test_cancelling import Interrupting, moments
from tests.slow import slow_if
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.runtime.live import graph_import
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.runtime.session import transfer_ops as carriers_module
from tfgraphwidget.runtime.session.renewal import Renewal, renew
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

raw = tf.raw_ops


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """An empty graph that ops are made in."""
    with tf.Graph().as_default() as made:
        yield made


def transfer_op_types(graph: tf.Graph) -> list[str]:
    """The hidden ops that renewals have added, by type."""
    return [
        op.type for op in graph.get_operations() if op.name.startswith("tfgraphwidget_renewal/")
    ]


def has_value(session: v1.Session, fetch: Any) -> bool:
    try:
        session.run(fetch)
    except (tf.errors.FailedPreconditionError, tf.errors.AbortedError):
        return False
    return True


# --- What it is for ---


def test_a_session_sees_a_change_in_place_after_renewal_only(
    mlp: tf.Graph, session: v1.Session
) -> None:
    x = np.ones((2, 3))
    whole = session.run("net/logits:0", {"x:0": x})
    mlp.get_operation_by_name("net/logits")._update_input(
        0, mlp.get_tensor_by_name("net/one/out:0")
    )
    first = session.run("net/one/out:0", {"x:0": x})
    assert np.array_equal(session.run("net/logits:0", {"x:0": x}), whole)
    before = read(mlp.get_collection("variables"), session)
    assert renew(session) == ()
    assert np.array_equal(session.run("net/logits:0", {"x:0": x}), first)
    for old, new in zip(before, read(mlp.get_collection("variables"), session), strict=True):
        assert np.array_equal(old, new)
    assert transfer_op_types(mlp) == []


def test_values_are_kept_that_were_read_before_the_graph_changed(
    mlp: tf.Graph, session: v1.Session
) -> None:
    bias = next(v for v in mlp.get_collection("variables") if v.name == "net/one/b:0")
    fill(bias, 7.0, session)
    renewal = Renewal.read(session, mlp)
    assign = mlp.get_operation_by_name("net/one/b/Assign")
    assign._update_input(1, mlp.get_tensor_by_name("net/two/b/Initializer/zeros:0"))
    renewal.apply()
    assert read([bias], session)[0].tolist() == [7.0] * 4


def test_the_session_object_stays_what_it_is(line: tf.Graph) -> None:
    with v1.Session(graph=line, config=v1.ConfigProto(inter_op_parallelism_threads=3)) as session:
        callable_, again = session.make_callable("c:0", ["x:0"]), session.list_devices()
        assert renew(session) == ()
        assert v1.get_default_session() is session
        assert session._config.inter_op_parallelism_threads == 3
        assert line.get_tensor_by_name("c:0").eval({"x:0": [[1.0, 1.0]]}).tolist() == [[8.0, 8.0]]
        assert callable_([[1.0, 1.0]]).tolist() == [[8.0, 8.0]]
        assert [device.name for device in session.list_devices()] == [
            device.name for device in again
        ]
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run("c:0")
    with pytest.raises(SessionRefused, match="closed"):
        renew(session)


def test_an_interactive_session_goes_on() -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        session = v1.InteractiveSession()
        try:
            v1.global_variables_initializer().run()
            fill(v1.global_variables()[1], 5.0, session)
            renew(session)
            assert v1.global_variables()[1].eval().tolist() == [5.0] * 4
        finally:
            session.close()


@pytest.mark.sample(1)
def test_a_session_in_a_with_block_closes_after_it(mlp: tf.Graph) -> None:
    with initialised(mlp) as session:
        for _ in range(3):
            renew(session)
        assert v1.get_default_session() is session
        assert len(read(mlp.get_collection("variables"), session)) == 4
    assert session._closed


# --- Variables ---

KEPT = {
    "bool": [True, False],
    "string": [b"a\0", b"\xff"],
    "int8": [-128, 127],
    "uint64": [2**64 - 1, 0],
    "bfloat16": [1.5, -2.0],
    "half": [0.5, np.inf],
    "complex128": [1 + 2j, 0],
    "float64": [np.nan, -0.0],
}


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_every_dtype_is_kept_to_the_bit(graph: tf.Graph, resource: bool) -> None:
    made = [
        v1.Variable(
            tf.zeros([2], dtype) if dtype != "string" else ["", ""],
            name=dtype,
            use_resource=resource,
        )
        for dtype in KEPT
    ]
    with initialised(graph) as session:
        for variable, value in zip(made, KEPT.values(), strict=True):
            variable.load(
                np.array(
                    value, object if variable.dtype == tf.string else variable.dtype.as_numpy_dtype
                ),
                session,
            )
        before = session.run(made)
        assert renew(session) == ()
        after = session.run(made)
    for old, new in zip(before, after, strict=True):
        assert old.dtype == new.dtype
        assert (
            old.tolist() == new.tolist() if old.dtype == object else old.tobytes() == new.tobytes()
        )
    assert before[1].tolist() == KEPT["string"]


def test_int4_and_float8_are_kept(graph: tf.Graph) -> None:
    values = []
    for dtype in (tf.dtypes.experimental.int4, tf.dtypes.experimental.float8_e4m3fn):
        handle = raw.VarHandleOp(dtype=dtype, shape=[2], shared_name=dtype.name)
        fed = v1.placeholder(dtype, [2])
        values.append(
            (
                raw.AssignVariableOp(resource=handle, value=fed),
                fed,
                raw.ReadVariableOp(resource=handle, dtype=dtype),
            )
        )
    with v1.Session(graph=graph) as session:
        for assign, fed, _ in values:
            session.run(assign, {fed: np.array([1, -2]).astype(fed.dtype.as_numpy_dtype)})
        assert renew(session) == ()
        assert [session.run(got).astype(int).tolist() for _, _, got in values] == [[1, -2]] * 2


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_variables_without_a_value_stay_so(graph: tf.Graph, resource: bool) -> None:
    made = [v1.Variable([float(k)], name=f"v{k}", use_resource=resource) for k in range(6)]
    with v1.Session(graph=graph) as session:
        renew(session)
        assert not any(has_value(session, variable) for variable in made)
        session.run([made[1].initializer, made[4].initializer])
        assert renew(session) == ()
        assert [has_value(session, variable) for variable in made] == [
            False,
            True,
            False,
            False,
            True,
            False,
        ]
        assert session.run(made[4]).tolist() == [4.0]
    assert set(transfer_op_types(graph)) == (set() if resource else {"IsVariableInitialized"})


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_partitioned_scalar_and_shapeless_variables_are_kept(
    graph: tf.Graph, resource: bool
) -> None:
    with v1.variable_scope(
        "parts", partitioner=v1.fixed_size_partitioner(3), use_resource=resource
    ):
        parts = v1.get_variable("p", [7, 2], initializer=v1.zeros_initializer())
    step = v1.Variable(0, name="step", use_resource=resource)
    shape = tf.TensorShape(None) if resource else None
    grows = v1.Variable(
        [1.0], validate_shape=False, name="grows", use_resource=resource, shape=shape
    )
    larger = v1.assign(grows, [[1.0, 2.0], [3.0, 4.0]], validate_shape=False)
    with initialised(graph) as session:
        for k, part in enumerate(parts):
            session.run(part.assign(tf.fill(part.shape, float(k))))
        session.run([step.assign(12), larger])
        whole = session.run(tf.convert_to_tensor(parts))
        assert renew(session) == ()
        assert np.array_equal(session.run(tf.convert_to_tensor(parts)), whole)
        assert session.run(step) == 12
        assert session.run(grows).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_ref_variable_of_another_shape_than_it_says_is_kept(graph: tf.Graph) -> None:
    variable = v1.Variable([1.0, 2.0], name="v", use_resource=False)
    grown = v1.assign(variable, [1.0, 2.0, 3.0], validate_shape=False)
    with initialised(graph) as session:
        session.run(grown)
        assert renew(session) == ()
        assert session.run("v:0").tolist() == [1.0, 2.0, 3.0]


def test_variables_that_nothing_registers_reads_or_initialises_are_kept(graph: tf.Graph) -> None:
    ref = raw.VariableV2(shape=[2], dtype=tf.float32, name="ref")
    oldest = gen_state_ops.variable(shape=[], dtype=tf.float32, name="oldest")
    handle = raw.VarHandleOp(dtype=tf.int32, shape=[], name="handle")
    bare = v1.Variable(3.0, collections=[], use_resource=True, name="bare")
    assigns = [
        raw.Assign(ref=ref, value=[1.0, 2.0]),
        raw.Assign(ref=oldest, value=9.0),
        raw.AssignVariableOp(resource=handle, value=4),
    ]
    with v1.Session(graph=graph) as session:
        session.run([*assigns, bare.initializer])
        assert renew(session) == ()
        assert session.run([oldest, bare]) == [9.0, 3.0]
        assert session.run(raw.ReadVariableOp(resource=handle, dtype=tf.int32)) == 4
        assert session.run(ref).tolist() == [1.0, 2.0]
        assert transfer_op_types(graph).count("ReadVariableOp") == 1


def test_variables_with_one_initial_value_are_kept_apart(graph: tf.Graph) -> None:
    shared = tf.zeros([2])
    made = [v1.Variable(shared, name=f"v{k}", use_resource=bool(k)) for k in range(2)]
    with initialised(graph) as session:
        for k, variable in enumerate(made):
            variable.load([float(k)] * 2, session)
        renew(session)
        assert [value.tolist() for value in session.run(made)] == [[0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_values_do_not_come_by_ops_that_were_edited(graph: tf.Graph, resource: bool) -> None:
    a, b = (
        v1.Variable([float(k)], name=name, use_resource=resource) for k, name in enumerate("ab")
    )
    handles = [graph.get_tensor_by_name(f"{name}:0") for name in "ab"]
    with initialised(graph) as session:
        a.load([5.0], session)
        b.load([6.0], session)
        for name, handle in zip("ba", handles, strict=True):  # each now assigns and reads the other
            graph.get_operation_by_name(f"{name}/Assign")._update_input(0, handle)
            if resource:
                graph.get_operation_by_name(f"{name}/Read/ReadVariableOp")._update_input(0, handle)
        renew(session)
        if resource:
            assert session.run([a.value(), b.value()]) == [[5.0], [6.0]]
            assert session.run([f"{name}/Read/ReadVariableOp:0" for name in "ab"]) == [[6.0], [5.0]]
        else:
            assert session.run(handles) == [[5.0], [6.0]]


def test_an_initialiser_that_waits_for_another_op_is_not_run(graph: tf.Graph) -> None:
    a = v1.Variable([1.0], name="a", use_resource=True)
    count = v1.Variable(0, name="count", use_resource=True)
    counted = v1.assign_add(count, 1)
    with initialised(graph) as session:
        renewal = Renewal.read(session, graph)
        graph.get_operation_by_name("a/Assign")._add_control_input(counted.op)
        renewal.apply()
        assert session.run([a, count]) == [[1.0], 0]


def test_a_variable_of_variants_is_named(graph: tf.Graph) -> None:
    handle = raw.VarHandleOp(dtype=tf.variant, shape=[], name="list")
    item = raw.EmptyTensorList(element_shape=[1], max_num_elements=3, element_dtype=tf.float32)
    with v1.Session(graph=graph) as session:
        session.run(raw.AssignVariableOp(resource=handle, value=item))
        (lost,) = renew(session)
    assert (
        lost
        == "Variable 'list' is not carried over: Python cannot read its dtype; run its initializer "
        "again."
    )


def test_a_variable_in_the_body_of_a_function_is_kept(graph: tf.Graph) -> None:
    @tf.function(input_signature=[tf.TensorSpec([])])
    def total(x: tf.Tensor) -> tf.Tensor:
        handle = raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name="total")
        with tf.control_dependencies([raw.AssignAddVariableOp(resource=handle, value=x)]):
            return raw.ReadVariableOp(resource=handle, dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([])])
    def start(x: tf.Tensor) -> tf.Tensor:
        handle = raw.VarHandleOp(dtype=tf.float32, shape=[], shared_name="total")
        raw.AssignVariableOp(resource=handle, value=x)
        return x

    begin, more = start(tf.constant(1.0)), total(tf.constant(2.0))
    with v1.Session(graph=graph) as session:
        session.run(begin)
        session.run(more)
        assert renew(session) == ()
        assert session.run(more) == 5.0
        renew(session)
        assert session.run(more) == 7.0


def test_variables_of_an_undone_clone_come_back_with_their_values(
    mlp: tf.Graph, session: v1.Session
) -> None:
    editor = tgw.edit(mlp, session=session)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    fill(copy.variables[1], 3.0, session)
    editor.undo()
    renew(session)
    editor.redo()
    assert read([copy.variables[1]], session)[0].tolist() == [3.0] * 4


def test_what_an_edit_fills_between_reading_and_carrying_is_kept(
    mlp: tf.Graph, session: v1.Session
) -> None:
    renewal = Renewal.read(session, mlp)
    with mlp.as_default():
        new = [v1.Variable([1.0, 2.0], name=f"new{k}", use_resource=bool(k)) for k in range(2)]
    session.run([variable.initializer for variable in new])
    renewal.apply()
    assert [value.tolist() for value in read(new, session)] == [[1.0, 2.0]] * 2


# --- Tables and iterators ---


def test_tables_keep_what_they_hold_and_unfilled_ones_stay_so(graph: tf.Graph) -> None:
    static, unfilled = (
        tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values, tf.string, tf.int64), -1
        )
        for keys, values in ((["a", "b\0"], [1, 2]), (["c"], [3]))
    )
    tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0, name="never")
    mutable = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    dense = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "?empty", "?gone")
    inserted = [
        mutable.insert(tf.constant([1, 2], tf.int64), [[1.0, 2.0], [3.0, 4.0]]),
        dense.insert(["x", "y", "z"], tf.constant([1, 2, 3], tf.int64)),
    ]
    removed = dense.remove(tf.constant(["y"]))
    looks = [
        static.lookup(tf.constant(["b\0", "none"])),
        mutable.lookup(tf.constant([2, 3], tf.int64)),
        dense.lookup(tf.constant(["x", "y", "z"])),
    ]
    unfilled_look = unfilled.lookup(tf.constant(["c"]))
    start, other = v1.get_collection("table_initializer")
    with v1.Session(graph=graph) as session:
        session.run([start, *inserted])
        session.run(removed)
        before = session.run(looks)
        assert renew(session) == ()
        for old, new in zip(before, session.run(looks), strict=True):
            assert np.array_equal(old, new)
        assert before[2].tolist() == [1, -1, 3]
        assert not has_value(session, unfilled_look)
        session.run([start, other])
        assert session.run(unfilled_look).tolist() == [3]


def test_tables_of_tensorflow_1_are_kept(graph: tf.Graph) -> None:
    static = gen_lookup_ops.hash_table(key_dtype=tf.string, value_dtype=tf.int64, name="static")
    mutable = gen_lookup_ops.mutable_hash_table(
        key_dtype=tf.string, value_dtype=tf.int64, name="mutable"
    )
    keys, values = tf.constant(["a"]), tf.constant([9], tf.int64)
    filled = [
        gen_lookup_ops.initialize_table(static, keys, values),
        gen_lookup_ops.lookup_table_insert(mutable, keys, values),
    ]
    found = [
        gen_lookup_ops.lookup_table_find(table, keys, tf.constant(-1, tf.int64))
        for table in (static, mutable)
    ]
    with v1.Session(graph=graph) as session:
        session.run(filled)
        assert renew(session) == ()
        assert session.run(found) == [[9], [9]]


def test_iterators_go_on_from_where_they_were(graph: tf.Graph) -> None:
    shuffled = tf.data.Dataset.range(100).shuffle(10, seed=3).batch(2)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1, 2], [10, 20]), 0)
    made = [
        v1.data.make_initializable_iterator(each)
        for each in (shuffled, tf.data.Dataset.range(9).repeat(), shuffled)
    ]
    one = v1.data.make_one_shot_iterator(tf.data.Dataset.range(50).map(lambda x: x * 3)).get_next()
    offset = v1.Variable(5, name="offset", use_resource=True)
    seen = v1.data.make_initializable_iterator(
        tf.data.Dataset.range(9).map(lambda x: table.lookup(tf.cast(x, tf.int32)) + offset)
    )
    following = [made[0].get_next(), made[1].get_next(), one, seen.get_next()]
    unset = made[2].get_next()
    with initialised(graph) as session, v1.Session(graph=graph) as other:
        for each in (session, other):
            each.run([v1.tables_initializer(), offset.initializer])
            each.run([made[0].initializer, made[1].initializer, seen.initializer])
            each.run(following)
            each.run(following)
        assert renew(session) == ()
        for _ in range(2):
            for ours, theirs in zip(session.run(following), other.run(following), strict=True):
                assert np.array_equal(ours, theirs)
        assert not has_value(session, unset)


def test_iterators_that_cannot_go_on_are_named(graph: tf.Graph) -> None:
    size = v1.placeholder(tf.int64, [], name="size")
    fed = v1.data.make_initializable_iterator(tf.data.Dataset.range(size))
    train, test = tf.data.Dataset.range(5), tf.data.Dataset.range(7)
    either = v1.data.Iterator.from_structure(
        v1.data.get_output_types(train), v1.data.get_output_shapes(train)
    )
    starts = [either.make_initializer(each) for each in (train, test)]
    python = v1.data.make_initializable_iterator(
        tf.data.Dataset.from_generator(lambda: iter(range(9)), tf.int64)
    )
    following = [fed.get_next(), either.get_next(), python.get_next()]
    v1.data.Iterator.from_string_handle(fed.string_handle(), tf.int64)
    with v1.Session(graph=graph) as session:
        assert len(renew(session)) == 1
        session.run([fed.initializer, starts[1], python.initializer], {size: 9})
        session.run(following)
        lost = renew(session)
        assert [has_value(session, each) for each in following] == [False, False, True]
        session.run([fed.initializer, starts[0]], {size: 3})
        assert session.run(following[:2]) == [0, 0]
    assert [sentence.partition(":")[0] for sentence in lost] == [
        "Iterator 'IteratorV2_2' starts at its beginning",
        "Iterator 'IteratorV2' is not carried over",
        "Iterator 'IteratorV2_1' is not carried over",
        (
            "String handles of iterators, as 'IteratorFromStringHandleV2' takes them, have to be "
            "fetched again."
        ),
    ]
    assert "You must feed a value for placeholder tensor 'size'" in lost[1]
    assert "2 ops initialize it" in lost[2]


# --- Queues ---


def test_queues_keep_their_elements_in_order(graph: tf.Graph) -> None:
    fifo = v1.FIFOQueue(9, [tf.int32, tf.string], shapes=[[2], []])
    shapeless = v1.FIFOQueue(9, [tf.int32])
    padding = v1.PaddingFIFOQueue(9, [tf.int32], shapes=[[None]])
    priority = v1.PriorityQueue(9, [tf.string], shapes=[[]])
    shuffled = v1.RandomShuffleQueue(9, 4, [tf.int32], shapes=[[]])
    old = gen_data_flow_ops.fifo_queue(component_types=[tf.int32], shapes=[[]])
    v1.FIFOQueue(9, [tf.int32], name="never_used")
    puts = [
        fifo.enqueue_many([[[1, 2], [3, 4]], ["a", "b\0"]]),
        shapeless.enqueue([[1, 2, 3]]),
        padding.enqueue([[1, 2]]),
        priority.enqueue_many([tf.constant([3, 1], tf.int64), ["late", "soon"]]),
        shuffled.enqueue_many([tf.range(6)]),
        gen_data_flow_ops.queue_enqueue_many(old, [[7, 8]]),
    ]
    takes = [each.dequeue() for each in (fifo, shapeless, padding, priority)]
    takes.append(gen_data_flow_ops.queue_dequeue(old, [tf.int32]))
    rest = shuffled.dequeue_many(6)
    with v1.Session(graph=graph) as session:
        session.run(puts)
        session.run([shapeless.enqueue([[4]]), padding.enqueue([[3]])])
        session.run(shuffled.close(), options=v1.RunOptions(timeout_in_ms=5000))
        assert renew(session) == ()
        assert str(session.run(takes)) == (
            "[[array([1, 2], dtype=int32), b'a'], array([1, 2, 3], dtype=int32), array([1, 2], "
            "dtype=int32), [np.int64(1), b'soon'], [np.int32(7)]]"
        )
        assert str(session.run(takes)) == (
            "[[array([3, 4], dtype=int32), b'b\\x00'], array([4], dtype=int32), array([3], "
            "dtype=int32), [np.int64(3), b'late'], [np.int32(8)]]"
        )
        assert sorted(session.run(rest).tolist()) == list(range(6))
        assert session.run([each.is_closed() for each in (fifo, shuffled)]) == [False, True]


def test_a_queue_that_an_edit_makes_too_small_is_named(
    graph: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfgraphwidget.runtime.session.queue_transfer._PATIENCE", 1.0)
    queue = v1.FIFOQueue(5, [tf.int32], shapes=[[]], name="q")
    put = queue.enqueue_many([tf.range(3)])
    with v1.Session(graph=graph) as session:
        session.run(put)
        renewal = Renewal.read(session, graph)
        queue.queue_ref.op._set_attr("capacity", tf.compat.v1.AttrValue(i=2))
        renewal.apply()
        (lost,) = renewal.losses
        assert lost.startswith(
            "The elements of queue 'q' are not carried over, or not all of them: "
        )
        assert session.run(queue.size()) <= 2


def test_queue_runners_stop_and_can_be_started_again(graph: tf.Graph) -> None:
    (names,) = v1.train.slice_input_producer([tf.constant(["a", "b"])], shuffle=False)
    batch = v1.train.batch([names], 2, capacity=4)
    with v1.Session(graph=graph) as session:
        session.run(v1.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        assert session.run(batch).tolist() == [b"a", b"b"]
        lost = renew(session)
        assert not any(thread.is_alive() for thread in threads)
        assert len(lost) == 1
        assert lost[0].startswith(
            "The threads that fill queue 'input_producer/input_producer' and 1 more have stopped;"
        )
        again = tf.train.Coordinator()
        threads = v1.train.start_queue_runners(session, again)
        assert sorted(session.run(batch).tolist() + session.run(batch).tolist()) == [
            b"a",
            b"a",
            b"b",
            b"b",
        ]
        again.request_stop()
        again.join(threads)
        with pytest.raises(tf.errors.CancelledError):
            coordinator.join()


# --- What is lost ---


def test_what_cannot_be_read_is_named_if_it_holds_anything(graph: tf.Graph) -> None:
    stage = raw.Stage(values=[1.0], shared_name="area")
    alone = raw.Stage(values=[1.0], name="alone")
    raw.Unstage(dtypes=[tf.float32], shared_name="area")
    mapped = raw.OrderedMapStage(
        key=tf.constant(1, tf.int64), indices=[0], values=[1.0], dtypes=[tf.float32], name="mapped"
    )
    barrier = gen_data_flow_ops.barrier(
        component_types=[tf.int32, tf.int32], shapes=[[], []], name="barrier"
    )
    half = gen_data_flow_ops.barrier_insert_many(barrier, ["k"], [1], component_index=0)
    gradients = v1.ConditionalAccumulator(tf.float32, shape=[], name="gradients")
    mean = gradients.apply_grad(1.0)
    reader = v1.TextLineReader(name="reader")
    del reader
    with v1.Session(graph=graph) as session:
        notice = "What 'reader' (TextLineReaderV2) holds is not carried over: it starts empty."
        assert renew(session) == (notice,)
        session.run([stage, stage, alone, mapped, half, mean])
        session.run(stage)
        assert sorted(renew(session)) == [
            "Accumulator 'gradients' starts empty; it held 1.",
            "Barrier 'barrier' starts empty; it held 1.",
            "Staging area 'Stage' starts empty; it held 2.",
            "Staging area 'alone' starts empty; it held 1.",
            "Staging area 'mapped' starts empty; it held 1.",
            notice,
        ]
        assert renew(session) == (notice,)


def test_random_ops_begin_again_and_it_is_said(graph: tf.Graph) -> None:
    v1.set_random_seed(1)
    weights = v1.get_variable("w", [2], initializer=v1.glorot_normal_initializer())
    noisy = v1.assign(weights, weights + tf.random.normal([2], name="noise"))
    drawn = tf.random.uniform([2], name="drawn")
    with initialised(graph) as session:
        first, second = session.run(drawn), session.run(drawn)
        session.run(noisy)
        assert renew(session) == (
            (
                "Random ops with a seed begin their sequences again: 'noise/RandomStandardNormal' "
                "and 1 more."
            ),
        )
        assert np.array_equal(session.run(drawn), first)
        assert not np.array_equal(first, second)


def test_state_in_the_body_of_a_function_is_named(graph: tf.Graph) -> None:
    @tf.function(input_signature=[])
    def size() -> tf.Tensor:
        tf.random.uniform([], seed=1)
        return raw.QueueSizeV2(handle=raw.FIFOQueueV2(component_types=[tf.int32], name="inner"))

    got = size()
    with v1.Session(graph=graph) as session:
        session.run(got)
        assert renew(session) == (
            "What 'inner' (FIFOQueueV2) in the body of a function holds is not carried over.",
            "Random ops with a seed begin their sequences again: 'random_uniform/RandomUniform'.",
        )


def test_callables_and_handles_of_the_old_session_are_named_and_do_no_harm(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    tf.multiply(x, tf.constant(2.0), name="y")
    kept = v1.get_session_handle(tf.constant([1.0, 2.0]))
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=["y:0"])
    with v1.Session(graph=graph) as session:
        old, handle = session._make_callable_from_options(options), session.run(kept)
        assert old(np.float32(3)) == [6.0]
        assert renew(session) == (
            "1 callable made of this session by options cannot be called any more.",
            "1 tensor kept in the session by get_session_handle cannot be read any more.",
        )
        new = session._make_callable_from_options(options)
        with pytest.raises(tf.errors.InvalidArgumentError):
            old(np.float32(3))
        del old, handle
        gc.collect()
        assert new(np.float32(3)) == [6.0]
        assert session._dead_handles == []


def test_callables_that_were_made_before_the_first_renewal_are_named(
    warm_python: list[str],
) -> None:
    """In a process that has renewed no session, and has therefore recorded none of them yet."""
    code = """
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
import tfgraphwidget as tgw
with tf.Graph().as_default() as graph:
    x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    tf.add(x, 1.0, name="y")
session = tf.compat.v1.Session(graph=graph)
options = config_pb2.CallableOptions(feed=["x:0"], fetch=["y:0"])
before = session._make_callable_from_options(options)
print(tgw.renew(session))
after = [session._make_callable_from_options(options) for _ in range(2)]
print(tgw.renew(session))
"""
    done = subprocess.run([*warm_python, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()[-2:]
    assert "1 callable made of this session by options" in first
    assert "2 callables made of this session by options" in second


def test_partial_runs_are_set_up_again(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    y = tf.multiply(x, 2.0)
    with v1.Session(graph=graph) as session:
        under_way = session.partial_run_setup([y], [x])
        renew(session)
        with pytest.raises(tf.errors.InvalidArgumentError, match="setup"):
            session.partial_run(under_way, y, {x: 1.0})
        assert session.partial_run(session.partial_run_setup([y], [x]), y, {x: 1.0}) == 2.0


def test_a_run_of_another_thread_ends_and_the_next_one_is_in_the_renewed_session(
    graph: tf.Graph,
) -> None:
    queue = v1.FIFOQueue(5, [tf.int32], shapes=[[]])
    take, put = queue.dequeue(), queue.enqueue([1])
    ended = []

    def wait() -> None:
        with pytest.raises(tf.errors.CancelledError):
            session.run(take)
        ended.append(session.run(take))

    with v1.Session(graph=graph) as session:
        session.run(queue.size())
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.5)  # so that it waits for an element
        renew(session)
        session.run(put)
        thread.join(30)
        assert ended == [1]


# --- Failures ---


def everything(graph: tf.Graph) -> tuple[list[Any], list[Any]]:
    """What fills a variable, a table, an iterator and a queue, and what looks at them."""
    with graph.as_default():
        variable = v1.Variable([1.0], name="v", use_resource=True)
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(9))
        queue = v1.FIFOQueue(9, [tf.int32], shapes=[[]], name="q")
        fill_ = [
            variable.initializer,
            table.insert(["x"], tf.constant([5], tf.int64)),
            iterator.initializer,
            queue.enqueue_many([[4, 5]]),
        ]
        return fill_, [variable.value(), table.lookup(tf.constant(["x"])), queue.size()]


def test_a_graph_that_cannot_take_the_values_leaves_the_session_as_it_was(graph: tf.Graph) -> None:
    fills, looks = everything(graph)
    x = v1.placeholder(tf.float32, [], name="x")
    y = tf.negative(tf.negative(x))
    with v1.Session(graph=graph) as session:
        session.run(fills)
        before = session.run(looks)
        assert session.run(y, {x: 3.0}) == 3.0
        c_session = session._session
        renewal = Renewal.read(session, graph)
        graph.get_operation_by_name("v")._set_device("/device:GPU:7")
        y.op._update_input(0, x)
        with pytest.raises(SessionRefused, match="GPU:7") as refused:
            renewal.apply()
        assert "\n" not in refused.value.why
        assert session._session is c_session
        assert str(session.run(looks)) == str(before)
        assert session.run(y, {x: 3.0}) == 3.0
        graph.get_operation_by_name("v")._set_device("")
        assert renew(session) == ()
        assert str(session.run(looks)) == str(before)
        assert session.run(y, {x: 3.0}) == -3.0


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_while_loading_leaves_the_session_as_it_was(
    graph: tf.Graph, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise error

    def open_sessions() -> list[BaseSession]:
        return [each for each in gc.get_objects() if type(each) is BaseSession and not each._closed]

    fills, looks = everything(graph)
    with v1.Session(graph=graph) as session:
        session.run(fills)
        before = str(session.run(looks))
        renewal = Renewal.read(session, graph)
        with monkeypatch.context() as patched:
            patched.setattr(
                "tfgraphwidget.runtime.session.state_transfer.IteratorTransfer.load", interrupted
            )
            with pytest.raises(error):
                renewal.apply()
        assert open_sessions() == []
        assert str(session.run(looks)) == before
        assert renew(session) == ()
        assert str(session.run(looks)) == before


def test_a_cycle_is_refused(line: tf.Graph) -> None:
    with v1.Session(graph=line) as session:
        session.run("c:0", {"x:0": [[1.0, 1.0]]})
        renewal = Renewal.read(session, line)
        line.get_operation_by_name("a")._update_input(0, line.get_tensor_by_name("b:0"))
        with pytest.raises(SessionRefused, match="cycle"):
            renewal.apply()
        assert session.run("c:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[8.0, 8.0]]


def test_what_is_no_open_session_of_the_graph_is_refused(line: tf.Graph) -> None:
    session = v1.Session(graph=line)
    with pytest.raises(SessionRefused, match="another graph"):
        Renewal.read(session, tf.Graph())
    session.close()
    for call in (lambda: renew(session), lambda: Renewal.read(session, line)):
        with pytest.raises(SessionRefused, match="closed"):
            call()
    with pytest.raises(SessionRefused, match=r"None is not a tf\.compat\.v1\.Session"):
        renew(None)


# --- Transfer ops ---


def test_carriers_are_hidden_and_made_once(graph: tf.Graph) -> None:
    fills, looks = everything(graph)
    tf.identity(1.0, name="tfgraphwidget_renewal")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        shown = list(editor._core.index.names)
        session.run(fills)
        renew(session)
        made = graph.version
        assert made > len(shown)
        assert list(editor._core.index.names) == shown
        for _ in range(3):
            assert renew(session) == ()
        assert graph.version == made
        assert list(tgw.edit(graph, session=session)._core.index.names) == shown
        assert session.run(looks)[0] == [1.0]


def test_carriers_that_a_failed_edit_showed_are_hidden_again(graph: tf.Graph) -> None:
    fills, _ = everything(graph)
    with v1.Session(graph=graph) as session:
        session.run(fills)
        renew(session)
        record_of(graph).hidden.clear()
        renew(session)
        assert record_of(graph).hidden == set(record_of(graph).transfer_ops.values())


def test_a_finalized_graph_is_renewed_without_carriers(graph: tf.Graph) -> None:
    fills, looks = everything(graph)
    v1.Variable([2.0], name="unset", use_resource=False)
    with v1.Session(graph=graph) as session:
        session.run(fills)
        before = graph.version
        graph.finalize()
        assert [sentence.partition(":")[0] for sentence in renew(session)] == [
            "Hash table 'MutableHashTable' is not carried over",
            "Iterator 'IteratorV2' is not carried over",
            "The elements of queue 'q' are not carried over, or not all of them",
        ]
        assert graph.version == before
        assert [value.tolist() for value in session.run(looks)] == [[1.0], [-1], 0]
        assert not has_value(session, "unset:0")


def test_the_session_inside_a_monitored_one_is_renewed(graph: tf.Graph) -> None:
    variable = v1.Variable([1.0], name="v", use_resource=True)
    add = v1.assign_add(variable, [1.0])
    with v1.train.MonitoredSession() as monitored:
        monitored.run(add)
        assert renew(monitored) == ()
        assert monitored.run(add) == [3.0]
    with pytest.raises(SessionRefused, match="The MonitoredSession is closed"):
        renew(monitored)
    with pytest.raises(SessionRefused, match="'session' is not a"):
        renew("session")


@pytest.mark.slow
def test_many_renewals_leave_nothing(graph: tf.Graph) -> None:
    fills, looks = everything(graph)
    with v1.Session(graph=graph) as session:
        session.run(fills)
        before = []
        for _ in range(5):
            renew(session)
            before.append(weakref.ref(session._tfgraphwidget_before))
        assert [each() is None for each in before] == [True] * 4 + [False]
        assert before[-1]()._closed
        session.run(looks)
    del session
    gc.collect()
    assert before[-1]() is None


# --- Servers ---


@pytest.fixture(scope="module")
def server() -> tf.distribute.Server:
    """A server in this process; TensorFlow has no way to stop it."""
    return tf.distribute.Server.create_local_server()


@pytest.mark.parametrize("isolated", [False, True])
def test_a_session_on_a_server_keeps_what_it_holds(
    graph: tf.Graph, server: tf.distribute.Server, isolated: bool
) -> None:
    variables = [v1.Variable([1.0], name=f"v{isolated}{k}", use_resource=bool(k)) for k in range(2)]
    unset = v1.Variable([1.0], name=f"unset{isolated}", use_resource=False)
    named, own = (
        v1.FIFOQueue(9, [tf.int32], shapes=[[]], shared_name=name)
        for name in (f"named{isolated}", None)
    )
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["c"], [3]), -1)
    iterator = v1.data.make_initializable_iterator(tf.data.Dataset.range(9))
    x = v1.placeholder(tf.float32, [], name="x")
    y = tf.negative(tf.negative(x))
    following, sizes = iterator.get_next(), [named.size(), own.size()]
    found = table.lookup(tf.constant(["x"]))
    config = v1.ConfigProto(isolate_session_state=isolated)
    with v1.Session(server.target, graph=graph, config=config) as session:
        session.run([*(v.initializer for v in variables), iterator.initializer])
        session.run(
            [table.insert(["x"], tf.constant([5], tf.int64)), named.enqueue([1]), own.enqueue([2])]
        )
        assert session.run([following, y], {x: 3.0}) == [0, 3.0]
        for variable in variables:
            variable.load([7.0], session)
        y.op._update_input(0, x)
        assert session.run(y, {x: 3.0}) == 3.0
        assert renew(session) == ()
        assert session.run([following, y], {x: 3.0}) == [1, -3.0]
        assert session.run([*variables, found, sizes]) == [[7.0], [7.0], [5], [1, 1]]
        assert not has_value(session, unset)


def test_a_server_that_is_gone_is_no_hang(graph: tf.Graph) -> None:
    v1.Variable([1.0], name="v")
    config = v1.ConfigProto(operation_timeout_in_ms=2000)
    with pytest.raises(SessionRefused, match="does not answer"):
        renew(v1.Session("grpc://127.0.0.1:9", graph=graph, config=config))


# --- Faults ---


class Fault(RuntimeError):
    """What is not an answer of TensorFlow's: no memory, say."""


def faults(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, late: bool
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Contexts in which one call of a function fails, before its work is done or after: each of
    them in turn.
    """
    function = getattr(owner, name)
    for number in itertools.count(1):
        calls = [0]

        @contextlib.contextmanager
        def failing(number: int = number, calls: list[int] = calls) -> Iterator[None]:
            def fails(*given: Any, **options: Any) -> Any:
                calls[0] += 1
                if calls[0] == number and not late:
                    raise Fault(name)
                done = function(*given, **options)
                if calls[0] == number:
                    raise Fault(name)
                return done

            with monkeypatch.context() as patched, contextlib.suppress(Fault):
                patched.setattr(owner, name, fails)
                yield

        yield failing
        if calls[0] < number:
            return


FAILING = {
    "a run": (BaseSession, "run"),
    "an import": (graph_import, "run_import"),
    "the Python side of an import": (graph_import, "_wrap"),
    "the end of an import": (carriers_module, "import_nodes"),
}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("what", slow_if(lambda what: what != "the end of an import", FAILING))
@pytest.mark.sample(1)
def test_whatever_fails_in_a_renewal_nothing_is_seen_of_it_and_nothing_lost_untold(
    what: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for failing in faults(monkeypatch, *FAILING[what], late=late):
        with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            fills, looks = everything(graph)
            # Of no known shape, so not moved all at once.
            one = v1.FIFOQueue(9, [tf.int32], name="singly")
            size = one.size()
            fills += [one.enqueue([[7, 8]]), one.enqueue([9])]
            session.run(fills)
            editor = tgw.edit(graph, session=session)
            nodes = editor._core.index.names
            lost: tuple[str, ...] = ()
            with failing():
                lost = renew(session)
            assert editor._core.index.names == nodes
            for again in range(2):
                values = [value.tolist() for value in session.run([*looks, size])]
                if lost:  # what a run has taken out and Python not given is nowhere
                    assert late
                    assert values in ([[1.0], [5], 0, 2], [[1.0], [5], 2, 1], [[1.0], [5], 2, 0]), (
                        lost
                    )
                    assert "elements of queue" in "".join(lost)
                else:
                    assert values == [[1.0], [5], 2, 2], again
                assert renew(session) == ()
            assert editor._core.index.names == nodes


def test_elements_that_could_not_be_moved_at_all_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*_: Any) -> Any:
        raise Fault("no memory")

    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        fills, looks = everything(graph)
        session.run(fills)
        with monkeypatch.context() as patched:
            patched.setattr("tfgraphwidget.runtime.session.queue_transfer.run_each", failing)
            (lost,) = {*renew(session)}
        assert (
            lost == "The elements of queue 'q' are not carried over, or not all of them: no memory."
        )
        assert session.run(looks)[0].tolist() == [1.0]


@pytest.mark.slow
def test_a_renewal_that_is_interrupted_leaves_nothing_to_be_seen() -> None:
    def prepare() -> tuple[tf.Graph, v1.Session, list[Any], GraphEditor]:
        with tf.Graph().as_default() as graph:
            fills, looks = everything(graph)
        session = v1.Session(graph=graph)
        session.run(fills)
        return graph, session, looks, tgw.edit(graph, session=session)

    for moment in moments(prepare, lambda prepared: renew(prepared[1])):
        _, session, looks, editor = prepare()
        before, nodes = str(session.run(looks)), editor._core.index.names
        with pytest.raises(KeyboardInterrupt), Interrupting(moment):
            renew(session)
        assert str(session.run(looks)) == before, moment
        assert editor._core.index.names == nodes, moment
        assert renew(session) == (), moment
        assert str(session.run(looks)) == before, moment
        session.close()


def test_a_partial_run_under_way_is_reported_and_one_that_is_over_is_not(graph: tf.Graph) -> None:
    x, other = (v1.placeholder(tf.float32, [], name=name) for name in ("x", "other"))
    y = tf.multiply(x, tf.constant(2.0), name="y")
    tf.add(y, other, name="z")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        tgw.edit(graph, session=session)  # a second editor remembers no second time
        over = session.partial_run_setup(["y:0"], [x])
        assert session.partial_run(over, "y:0", {x: 1.0}) == 2.0
        assert renew(session) == ()
        under_way = session.partial_run_setup(["y:0", "z:0"], [x, other])
        assert session.partial_run(under_way, "y:0", {x: 1.0}) == 2.0
        (lost,) = editor.bypass("y").lost
        assert (
            lost
            == "The partial run of 'y:0' and 'z:0' is cut; set it up again by partial_run_setup."
        )
        again = session.partial_run_setup(["z:0"], [x, other])
        assert session.partial_run(again, "z:0", {x: 1.0, other: 1.0}) == 2.0
        assert renew(session) == ()


def test_a_preview_says_which_partial_run_the_edit_will_cut_and_cuts_none(graph: tf.Graph) -> None:
    x, other = (v1.placeholder(tf.float32, [], name=name) for name in ("x", "other"))
    y = tf.multiply(
        tf.function(lambda x: tf.identity(x, "inner") * 2.0)(x), tf.constant(2.0), name="y"
    )
    tf.add(y, other, name="z")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        bypass = {"command": "bypass", "arguments": {"what": "y"}}
        left = editor.preview(bypass).notes
        run = session.partial_run_setup(["y:0", "z:0"], [x, other])
        assert session.partial_run(run, "y:0", {x: 1.0}) == 4.0
        will = (
            "The partial run of 'y:0' and 'z:0' will be cut; end it before, or set it up again "
            "by partial_run_setup."
        )
        assert editor.preview(bypass).notes == (*left, will)
        editor.renew = False
        assert editor.preview(editor.bypass, "y").notes == left
        editor.renew = True
        # Needs no renewal.
        assert editor.preview({"command": "remove", "arguments": {"what": "z"}}).notes == ()
        preview, _ = RequestHandler(editor).handle(p.PreviewEdit("bypass", ("y",)))
        assert isinstance(preview, p.PreviewedEdit)
        assert will in preview.notes
        editor.view.enter(editor.ops(type="PartitionedCall").ops[0])
        # Changes the call, too.
        assert will in editor.preview({"command": "bypass", "arguments": {"what": "inner"}}).notes
        editor.view.leave(0)
        assert session.partial_run(run, "z:0", {other: 1.0}) == 5.0  # it was not cut
        assert editor.preview(bypass).notes == left
        again = session.partial_run_setup(["y:0", "z:0"], [x, other])
        session.partial_run(again, "y:0", {x: 1.0})
        (lost,) = editor.bypass("y").lost
        assert (
            lost
            == "The partial run of 'y:0' and 'z:0' is cut; set it up again by partial_run_setup."
        )


def test_a_session_that_an_editor_has_had_is_closed_when_nothing_holds_it(graph: tf.Graph) -> None:
    tf.constant(1.0)
    session = v1.Session(graph=graph)
    tgw.edit(graph, session=session)
    gc.collect()
    gone = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert gone() is None
    finally:
        gc.enable()
