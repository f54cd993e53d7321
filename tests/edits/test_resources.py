"""Copies of tables, queues, iterators and their like: each a state of its own, filled by what was
copied with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import data_flow_ops

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.conftest import build_mlp, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.clone.command import Clone
from tfgraphwidget.edits.context import IndexContext
from tfgraphwidget.graph.index import build
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.graph.state_initializers import first_contents
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.runtime.session import copy_tables


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """An empty graph, the default one in the test."""
    with tf.Graph().as_default() as made:
        yield made


def copied(graph: tf.Graph, *outputs: str, into: str = "copy", fresh: bool = False) -> GraphEditor:
    """Copy all that some ops need, with what makes it whole."""
    editor = tgw.edit(graph)
    editor.clone(outputs=outputs, into=into, init="none", reseed=fresh)
    return editor


def first_content(graph: tf.Graph, into: str = "copy") -> list[str]:
    """The ops to run for the copied state to have its first content."""
    index = tgw.edit(graph)._core.index
    return [
        index.names[i]
        for i in first_contents(index, range(len(index)))
        if index.names[i].startswith(f"{into}/")
    ]


def lines_of(path: Path, batches: tf.Tensor) -> tf.Tensor:
    """The lines of a file, in twos, as TensorFlow 1 read them."""
    path.write_text("a\nb\nc\nd\n")
    names = v1.train.string_input_producer([str(path)], num_epochs=1, name="files")
    _, line = v1.TextLineReader(name="reader").read(names)
    return tf.identity(batches([line]), name="y")


def all_of(session: v1.Session, tensor: str, threads: v1.train.Coordinator) -> list[bytes]:
    """What a pipeline gives until it ends."""
    got: list[bytes] = []
    while True:
        try:
            got += session.run(tensor).tolist()
        except tf.errors.OutOfRangeError:
            return sorted(got)
        assert not threads.should_stop() or got


@pytest.mark.parametrize(
    "batches",
    [
        lambda line: v1.train.batch(line, 2),
        lambda line: v1.train.shuffle_batch(line, 2, 9, 1, num_threads=2, seed=3),
        lambda line: v1.train.maybe_batch(line, tf.not_equal(line[0], "z"), 2),
        lambda line: v1.train.batch_join([line, line], 2),
    ],
    ids=["batch", "shuffle_batch", "maybe_batch", "batch_join"],
)
def test_an_input_pipeline_is_copied_with_its_threads_and_runs_on_its_own(
    graph: tf.Graph, tmp_path: Path, batches: object
) -> None:
    v1.disable_control_flow_v2()
    lines_of(tmp_path / "lines", batches)  # type: ignore[arg-type]
    runners = len(graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS))
    copied(graph, "y")
    assert len(graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS)) == 2 * runners
    assert len(graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES)) == 2
    with v1.Session(graph=graph) as session:
        session.run([v1.local_variables_initializer()])
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        assert all_of(session, "copy/y:0", coordinator) == [b"a", b"b", b"c", b"d"]
        assert all_of(session, "y:0", coordinator) == [b"a", b"b", b"c", b"d"]
        coordinator.request_stop()
        coordinator.join(threads)


def test_threads_are_taken_back_and_come_again(graph: tf.Graph, tmp_path: Path) -> None:
    lines_of(tmp_path / "lines", lambda line: v1.train.batch(line, 2))
    before = list(graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS))
    editor = copied(graph, "y")
    editor.undo()
    assert graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS) == before
    editor.redo()
    again = graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS)[len(before) :]
    assert [runner.queue.name for runner in again] == [
        f"copy/{runner.queue.name}" for runner in before
    ]


def test_a_runner_stands_in_the_collection_of_its_original(graph: tf.Graph) -> None:
    queue = tf.queue.FIFOQueue(3, [tf.float32], [()], name="queue")
    v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue([1.0])] * 2), "mine")
    tf.identity(queue.dequeue(), name="y")
    copied(graph, "y")
    runner = graph.get_collection("mine")[1]
    assert [op.name for op in runner.enqueue_ops] == ["copy/queue_enqueue"] * 2
    with v1.Session(graph=graph) as session:
        coordinator = v1.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        assert session.run("copy/y:0") == 1
        assert session.run(queue.size()) == 0
        coordinator.request_stop()
        coordinator.join(threads)


@pytest.mark.parametrize("shared_name", [None, "words"])
def test_a_copied_table_is_its_own(graph: tf.Graph, shared_name: str | None) -> None:
    x = tf.constant(["b", "z"], name="x")
    table = tf.raw_ops.HashTableV2(
        key_dtype=tf.string, value_dtype=tf.int64, shared_name=shared_name or "", name="table"
    )
    fill = {"keys": ["a", "b"], "values": tf.constant([1, 2], tf.int64)}
    tf.raw_ops.InitializeTableV2(table_handle=table, **fill, name="fill")
    tf.raw_ops.LookupTableFindV2(
        table_handle=table, keys=x, default_value=tf.constant(-1, tf.int64), name="y"
    )
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        session.run("fill")
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run("copy/y:0")
        assert first_content(graph) == ["copy/fill"]
        session.run("copy/fill")
        assert session.run("copy/y:0").tolist() == [2, -1]


def test_tables_initializer_initialises_the_copy_too(graph: tf.Graph) -> None:
    init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    tf.identity(
        tf.lookup.StaticHashTable(init, -1, name="table").lookup(tf.constant(["b"])), name="y"
    )
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        session.run(v1.tables_initializer())
        assert session.run(["y:0", "copy/y:0"]) == [[2], [2]]


def test_a_copied_queue_has_elements_of_its_own(graph: tf.Graph) -> None:
    for name, shared_name in (("one", "jobs"), ("two", "jobs"), ("three", None)):
        queue = tf.queue.FIFOQueue(9, [tf.float32], [()], shared_name=shared_name, name=name)
        queue.enqueue([1.0], name=f"{name}/put")
        queue.dequeue(name=f"{name}/take")
        queue.size(name=f"{name}/size")
    copied(
        graph, *(f"{name}/{what}" for name in ("one", "two", "three") for what in ("size", "take"))
    )
    with v1.Session(graph=graph) as session:
        session.run(["one/put", "three/put"])
        names = ("one", "two", "three")
        assert session.run([f"{name}/size:0" for name in names]) == [1, 1, 1]
        assert session.run([f"copy/{name}/size:0" for name in names]) == [0, 0, 0]
        session.run(["copy/two/put", "copy/one/put"])
        assert session.run([f"copy/{name}/size:0" for name in names]) == [2, 2, 0], (
            "aliases stay aliases"
        )
        assert session.run([f"{name}/size:0" for name in names]) == [1, 1, 1]


@pytest.mark.parametrize("shared_name", [None, "mine"])
def test_a_copied_iterator_goes_its_own_way(graph: tf.Graph, shared_name: str | None) -> None:
    scale = v1.Variable(10, name="scale", dtype=tf.int64, use_resource=True)
    dataset = tf.data.Dataset.range(5).map(lambda i: i * scale)
    iterator = v1.data.make_initializable_iterator(dataset, shared_name)
    tf.identity(iterator.get_next(), name="y")
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        session.run(iterator.initializer)
        assert [session.run("y:0") for _ in range(2)] == [0, 10]
        session.run(first_content(graph))
        session.run(graph.get_collection("variables")[1].assign(7))
        assert [session.run("copy/y:0") for _ in range(3)] == [0, 7, 14]
        assert session.run("y:0") == 20


def test_an_iterator_over_what_is_fed_reads_the_original_s_placeholder(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.int32, [None], name="x")
    iterator = v1.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(x))
    tf.identity(iterator.get_next(), name="y")
    copied(graph, "y")
    assert first_content(graph) == []
    with v1.Session(graph=graph) as session:
        session.run(iterator.initializer, {x: [1, 2]})
        session.run(f"copy/{iterator.initializer.name}", {x: [3, 4]})
        assert session.run(["y:0", "copy/y:0"]) == [1, 3]


def test_a_copied_staging_area_holds_its_own(graph: tf.Graph) -> None:
    area = data_flow_ops.StagingArea([tf.float32], [()])
    put, size = area.put([tf.constant(3.0)]), area.size()
    take = tf.identity(area.get()[0] if isinstance(area.get(), list) else area.get(), name="y")
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        session.run(f"copy/{put.name}")
        assert session.run([size, f"copy/{size.name}"]) == [0, 1]
        assert session.run("copy/y:0") == 3
        assert take.name == "y:0"


def test_a_copied_map_of_staged_tensors_holds_its_own(graph: tf.Graph) -> None:
    area = data_flow_ops.MapStagingArea([tf.float32], [()], ordered=True)
    put, size = area.put(tf.constant(7, tf.int64), [tf.constant(3.0)], [0]), area.size()
    tf.identity(area.get(tf.constant(7, tf.int64))[1], name="y")
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        session.run(f"copy/{put.name}")
        assert session.run([size, f"copy/{size.name}"]) == [0, 1]
        assert session.run("copy/y:0") == 3


def test_a_critical_section_has_a_mutex_of_its_own(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    total = v1.get_variable("total", [], initializer=v1.zeros_initializer(), use_resource=True)

    def add() -> tf.Tensor:
        with tf.control_dependencies([total.assign_add(x, read_value=False)]):
            return total.read_value()

    tf.identity(tf.CriticalSection(name="mutex").execute(add), name="y")
    with v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        copy = tgw.edit(graph, session=session).clone("x", "y", into="copy")
        assert [(state.kind, state.name) for state in copy.report.new] == [
            ("variable", "total"),
            ("MutexV2", "mutex"),
        ]
        assert (copy.shared, copy.outside) == ((), ("x:0", "^x"))
        assert [session.run(copy["y:0"], {x: 2.0}) for _ in range(2)] == [2, 4]
        assert session.run(["y:0", copy["y:0"]], {x: 1.0}) == [1, 5]


def test_a_copied_accumulator_and_barrier_hold_their_own(graph: tf.Graph) -> None:
    gradients = v1.ConditionalAccumulator(tf.float32, [], name="gradients")
    apply = gradients.apply_grad(tf.constant(4.0))
    tf.identity(gradients.take_grad(1), name="y")
    barrier = tf.raw_ops.Barrier(component_types=[tf.float32], shapes=[()], name="barrier")
    tf.raw_ops.BarrierInsertMany(
        handle=barrier, keys=["k"], values=[1.0], component_index=0, name="insert"
    )
    tf.raw_ops.BarrierReadySize(handle=barrier, name="ready")
    count = gradients.num_accumulated()
    copied(graph, "y", "ready", count.op.name)
    with v1.Session(graph=graph) as session:
        session.run([apply, "insert"])
        assert session.run([count, f"copy/{count.name}", "ready:0", "copy/ready:0"]) == [1, 0, 1, 0]
        session.run([f"copy/{apply.name}", "copy/insert"])
        assert session.run(["copy/y:0", "copy/ready:0"]) == [4, 1]


def test_chained_moving_averages_are_copied_and_move_on_their_own(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    y = tf.square(x, name="y")
    last: list[tf.Operation] = []
    for k in range(30):
        mean = v1.get_variable(
            f"mean_{k}", [], initializer=v1.zeros_initializer(), use_resource=True, trainable=False
        )
        with tf.control_dependencies(last):
            last = [mean.assign_add(y + k, name=f"update_{k}").op]
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, last[0])
    fed = v1.placeholder(tf.float32, [], name="fed")
    v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, mean.assign_sub(y * fed, name="fed_update").op)
    tgw.edit(graph).clone("x", "y", "copy", init="none")
    updates = [op.name for op in graph.get_collection(v1.GraphKeys.UPDATE_OPS)]
    assert updates[31:] == [f"copy/update_{k}" for k in range(30)], (
        "an update that is fed stays the original's"
    )
    with v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        session.run("copy/update_29", {x: 2.0})
        means = session.run(
            [f"{scope}mean_{k}/Read/ReadVariableOp:0" for scope in ("", "copy/") for k in range(30)]
        )
    assert means == [0.0] * 30 + [4.0 + k for k in range(30)]


def test_a_hundred_tables_are_copied_and_filled(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.string, [], name="x")
    found = []
    for k in range(100):
        init = tf.lookup.KeyValueTensorInitializer(["a"], [k])
        found.append(tf.lookup.StaticHashTable(init, -1, name=f"table_{k}").lookup(x))
    tf.stack(found, name="y")
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        session.run(first_content(graph))
        assert session.run("copy/y:0", {"x:0": "a"}).tolist() == list(range(100))
        assert session.run("copy/y:0", {"x:0": "z"}).tolist() == [-1] * 100
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run("y:0", {"x:0": "a"})


def test_temporary_variables_of_original_and_copy_live_side_by_side(graph: tf.Graph) -> None:
    temporary = tf.raw_ops.TemporaryVariable(
        shape=[], dtype=tf.float32, var_name="sum", name="temporary"
    )
    total = tf.raw_ops.Assign(ref=temporary, value=tf.constant(3.0))
    with tf.control_dependencies([tf.py_function(lambda: None, [], [])]):
        tf.raw_ops.DestroyTemporaryVariable(ref=total, var_name="sum", name="y")
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        for _ in range(3):
            assert session.run(["y:0", "copy/y:0"]) == [3, 3]
    # Whether two of one name meet in a step is a race, so that it is looked at, too.
    for name in ("copy/temporary", "copy/y"):
        assert graph.get_operation_by_name(name).get_attr("var_name") == b"copy/sum"


def test_batches_of_sparse_tensors_keep_a_map_of_their_own(graph: tf.Graph) -> None:
    sparse = tf.SparseTensor([[0]], tf.constant([5.0]), [3])
    batch = v1.train.batch([sparse], 2)
    tf.identity(tf.sparse.to_dense(batch), name="y")
    copied(graph, "y")
    with v1.Session(graph=graph) as session:
        coordinator = v1.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        for _ in range(3):
            assert session.run(["y:0", "copy/y:0"])[1].tolist() == [[5, 0, 0]] * 2
        coordinator.request_stop()
        coordinator.join(threads)


def test_a_clone_s_tables_and_iterators_are_ready_and_one_that_is_fed_waits(
    graph: tf.Graph,
) -> None:
    init = tf.lookup.KeyValueTensorInitializer(
        tf.range(3, dtype=tf.int64), tf.constant([5, 6, 7], tf.int64)
    )
    table = tf.lookup.StaticHashTable(init, -1, name="table")
    ready = v1.data.make_initializable_iterator(tf.data.Dataset.range(3).map(table.lookup))
    fed = v1.data.make_initializable_iterator(
        tf.data.Dataset.from_tensor_slices(v1.placeholder(tf.int64, [None], "x"))
    )
    tf.identity(ready.get_next(), name="y")
    tf.identity(fed.get_next(), name="z")
    with v1.Session(graph=graph) as session:
        copy = tgw.edit(graph, session=session).clone(outputs=["y", "z"], into="copy")
        assert [session.run(copy["y:0"]) for _ in range(2)] == [5, 6]
        session.run(copy[fed.initializer], {"x:0": [8, 9]})
        assert session.run(copy["z:0"]) == 8
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run("y:0")


def test_state_that_is_shared_stays_the_original_s_and_what_lives_for_a_step_is_never_shared(
    graph: tf.Graph,
) -> None:
    v1.disable_control_flow_v2()
    queue = tf.queue.FIFOQueue(9, [tf.float32], [()], name="queue")
    put = queue.enqueue_many([tf.range(5.0)])
    x = tf.identity(queue.dequeue(), name="x")
    doubled = v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * v), [0, x])[1]
    tf.identity(v1.gradients(doubled, x)[0], name="y")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        copy = editor.clone(outputs="y", into="copy", variables="shared")
        session.run(put)
        assert "StackV2" in {graph.get_operation_by_name(name).type for name in copy.ops}
        assert sorted(session.run(["y:0", copy["y:0"]])) == [0, 8], "two elements of one queue"
        assert session.run(queue.size()) == 3


def initial_values(*, fresh: bool, seed: int | None = 1) -> tuple[np.ndarray, ...]:
    """What the initialisers of an original and two copies give, one of a stateful op and one of a
    stateless.
    """
    with tf.Graph().as_default() as graph:
        w = tf.random.normal([4], seed=seed)
        v = tf.random.stateless_normal([4], seed=[0, 0] if seed == 0 else [seed or 0, 5])
        order = tf.random.shuffle(tf.range(40), seed=seed)
        shuffled = tf.data.Dataset.range(40).shuffle(40, seed=seed).batch(40)
        iterator = v1.data.make_initializable_iterator(shuffled)
        numbers = [w, v, order, iterator.get_next()]
        tf.concat([tf.cast(part, tf.float64) for part in numbers], 0, name="y")
        for into in ("one", "two"):
            copied(graph, "y", into=into, fresh=fresh)
        with v1.Session(graph=graph) as session:
            session.run(
                [iterator.initializer, *first_content(graph, "one"), *first_content(graph, "two")]
            )
            return tuple(
                np.split(value, [4, 8, 48]) for value in session.run(["y:0", "one/y:0", "two/y:0"])
            )


def test_seeds_are_kept_unless_new_ones_are_asked_for() -> None:
    for original, one, two in zip(*initial_values(fresh=False), strict=True):
        assert original.tolist() == one.tolist() == two.tolist()


@pytest.mark.parametrize("seed", [1, 2**31 + 5])
def test_new_seeds_differ_from_the_original_s_and_from_copy_to_copy(seed: int) -> None:
    values = initial_values(fresh=True, seed=seed)
    for k, (original, one, two) in enumerate(zip(*values, strict=True)):
        assert not (original == one).all(), k
        assert not (original == two).all(), k
        assert not (one == two).all(), k
    again = initial_values(fresh=True, seed=seed)
    assert [[part.tolist() for part in value] for value in again] == [
        [p.tolist() for p in v] for v in values
    ]


def test_a_constant_that_is_more_than_a_seed_stays_as_it_is(graph: tf.Graph) -> None:
    seed = tf.constant([3, 4], name="seed")
    tf.add(tf.random.stateless_uniform([2], seed=seed), tf.cast(seed, tf.float32), name="y")
    copied(graph, "y", fresh=True)
    with v1.Session(graph=graph) as session:
        assert session.run("copy/seed:0").tolist() == [3, 4]


def test_an_op_without_a_seed_stays_without(graph: tf.Graph) -> None:
    tf.random.normal([2], name="y")
    copied(graph, "y/RandomStandardNormal", fresh=True)
    node = graph.get_operation_by_name("copy/y/RandomStandardNormal").node_def
    assert (node.attr["seed"].i, node.attr["seed2"].i) == (0, 0)


def test_a_network_with_new_seeds_begins_elsewhere() -> None:
    graph = build_mlp(resource=True)
    copied(graph, "net/logits", fresh=True)
    with graph.as_default(), v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        values = {v.name: session.run(v) for v in graph.get_collection("variables")}
    assert not np.array_equal(values["net/one/w:0"], values["copy/net/one/w:0"])
    assert np.array_equal(values["net/one/b:0"], values["copy/net/one/b:0"])


def queue_in_a_scope() -> tf.Graph:
    """A queue in a name scope, with two threads that fill it."""
    graph = tf.Graph()
    with graph.as_default(), tf.name_scope("pipe"):
        queue = tf.queue.FIFOQueue(3, [tf.float32], [()], name="queue")
        v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue([1.0])] * 2))
        tf.identity(queue.dequeue(), name="y")
    return graph


def queues_filled(graph: tf.Graph) -> list[str]:
    """The queues that the graph's runners fill."""
    return [
        runner.close_op.inputs[0].op.name
        for runner in graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS)
    ]


def test_threads_of_a_queue_in_a_scope_are_copied_wherever_the_call_is_made() -> None:
    graph, other = queue_in_a_scope(), tf.Graph()
    editor = tgw.edit(graph)
    editor.clone([], "pipe/y", into="copy", init="none")
    editor.clone([], "pipe/y", into="moved", init="none", graph=other)
    assert (queues_filled(graph), queues_filled(other)) == (
        ["pipe/queue", "copy/pipe/queue"],
        ["moved/pipe/queue"],
    )
    editor.undo()
    editor.undo()
    assert queues_filled(graph) == ["pipe/queue"]
    editor.redo()
    assert queues_filled(graph) == ["pipe/queue", "copy/pipe/queue"]
    assert queues_filled(editor.extract([], ["pipe/y:0"]).graph) == ["pipe/queue"]
    with v1.Session(graph=graph) as session:
        coordinator = v1.train.Coordinator()
        threads = graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS)[1].create_threads(
            session, coordinator, start=True
        )
        assert session.run("copy/pipe/y:0") == 1
        coordinator.request_stop()
        session.run("copy/pipe/queue_Close_1")
        coordinator.join(threads)


@pytest.mark.parametrize(
    "method", ["copy", "copy_into_another_graph", "copy_to_graph", "rename", "save"]
)
def test_other_methods_keep_the_threads_too(method: str, tmp_path: Path) -> None:
    graph, other = queue_in_a_scope(), tf.Graph()
    if method == "copy":
        ge.copy(ge.sgv(graph.get_operations()), dst_graph=graph, dst_scope="copy")
        assert queues_filled(graph) == ["pipe/queue", "copy/pipe/queue"]
    elif method == "copy_into_another_graph":
        ge.copy(ge.sgv(graph.get_operations()), dst_graph=other, dst_scope="copy")
        assert queues_filled(other) == ["copy/pipe/queue"]
    elif method == "copy_to_graph":
        ge.copy_to_graph(graph.get_operation_by_name("pipe/y"), other, {}, "copy")
        assert queues_filled(other) == ["copy/pipe/queue"]
    elif method == "rename":
        tgw.edit(graph).rename("pipe/", "way")
        assert queues_filled(graph) == ["way/queue"]
    else:
        tgw.edit(graph).save(tmp_path / "pipe.meta")
        with other.as_default():
            v1.train.import_meta_graph(str(tmp_path / "pipe.meta"))
        assert queues_filled(other) == ["pipe/queue"]


def looked_up(kind: str) -> tf.Graph:
    """x -> y, looked up in a table that is empty at first; the op "insert" takes "keys" and
    "values".
    """
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.int64, [None], name="x")
        keys, found = (
            v1.placeholder(tf.int64, [None], name="keys"),
            v1.placeholder(tf.float32, name="values"),
        )
        made = {"key_dtype": tf.int64, "value_dtype": tf.float32, "name": "table"}
        if kind == "ref":
            table = tf.raw_ops.MutableHashTable(**made, shared_name="words")
            tf.raw_ops.LookupTableInsert(table_handle=table, keys=keys, values=found, name="insert")
            y = tf.raw_ops.LookupTableFind(table_handle=table, keys=x, default_value=-1.0)
        elif kind == "fed once":
            table = tf.raw_ops.HashTableV2(**made, shared_name="words")
            tf.raw_ops.InitializeTableV2(table_handle=table, keys=keys, values=found, name="insert")
            y = tf.raw_ops.LookupTableFindV2(table_handle=table, keys=x, default_value=-1.0)
        else:
            lookup = tf.lookup.experimental
            if kind == "dense":
                made_table = lookup.DenseHashTable(
                    tf.int64, tf.float32, -1.0, empty_key=-1, deleted_key=-2, name="table"
                )
            else:
                default = [-1.0, -1.0] if kind == "of tensors" else -1.0
                made_table = lookup.MutableHashTable(tf.int64, tf.float32, default, name="table")
            tf.raw_ops.LookupTableInsertV2(
                table_handle=made_table.resource_handle, keys=keys, values=found, name="insert"
            )
            y = made_table.lookup(x)
        tf.identity(y, name="y")
    return graph


TABLES = ["mutable", "of tensors", "dense", "ref", "fed once"]


@pytest.mark.filterwarnings("ignore:The frozen graph keeps hash table")
@pytest.mark.parametrize("name", ["frozen.pb", "saved/"])
@pytest.mark.parametrize("kind", ["mutable", "of tensors", "dense"])
def test_a_table_that_a_person_fills_is_saved_with_its_contents(
    kind: str, name: str, tmp_path: Path
) -> None:
    graph = looked_up(kind)
    values = [[5, 5], [6, 6]] if kind == "of tensors" else [5, 6]
    with v1.Session(graph=graph) as session:
        session.run("insert", {"keys:0": [1, 2], "values:0": values})
        given = session.run("y:0", {"x:0": [2, 3]})
        tgw.edit(graph, session=session).save(
            tmp_path / name, inputs="x:0", outputs="y:0", frozen=name == "frozen.pb"
        )
    with tf.Graph().as_default() as loaded, v1.Session(graph=loaded) as session:
        if name == "saved/":
            v1.saved_model.load(session, ["serve"], str(tmp_path / name))
        else:
            definition = v1.GraphDef.FromString((tmp_path / name).read_bytes())
            tf.import_graph_def(definition, name="")
            session.run("table/content")  # as the warning says
        assert np.array_equal(session.run("y:0", {"x:0": [2, 3]}), given)


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_that_a_person_fills_is_the_copy_s_own_and_has_the_same_contents(kind: str) -> None:
    graph, other = looked_up(kind), tf.Graph()

    def values(*of: float) -> object:
        return [[value, value] for value in of] if kind == "of tensors" else list(of)

    with v1.Session(graph=graph) as session, v1.Session(graph=other) as elsewhere:
        session.run("insert", {"keys:0": [1, 2], "values:0": values(5, 6)})
        editor = tgw.edit(graph, session=session)
        preview = editor.preview(editor.clone, "x:0", "y:0", into="copy")
        assert ([state.kind for state in preview.new], preview.shared, preview.dropped) == (
            ["hash table"],
            (),
            (),
        )
        copies = [editor.clone("x:0", "y:0", into="copy"), editor.clone([], "y:0", into="all")]
        copies.append(editor.clone(editor.ops("y").upstream(), into="chosen"))
        moved = editor.clone("x:0", "y:0", into="moved", graph=other, session=elsewhere)
        if kind != "fed once":
            session.run("insert", {"keys:0": [1, 3], "values:0": values(7, 8)})
            assert session.run("y:0", {"x:0": [1, 2, 3]}).tolist() == values(7, 6, 8)
            with graph.as_default():
                insert = (
                    tf.raw_ops.LookupTableInsert
                    if kind == "ref"
                    else tf.raw_ops.LookupTableInsertV2
                )
                written = insert(
                    table_handle=copies[0]["table:0"],
                    keys=tf.constant([4], tf.int64),
                    values=tf.constant(values(9), tf.float32),
                )
            session.run(written)
            assert session.run("y:0", {"x:0": [4]}).tolist() == values(-1)
            assert session.run(copies[0]["y:0"], {"x:0": [4]}).tolist() == values(9)
        for copy in copies:
            feeds = {
                name: [1, 2, 3] for name in {"x:0", copy["x:0"].name if "x" in copy else "x:0"}
            }
            assert session.run(copy["y:0"], feeds).tolist() == values(5, 6, -1)
        assert elsewhere.run(moved["y:0"], {moved["x:0"]: [1, 2, 3]}).tolist() == values(5, 6, -1)


@pytest.mark.parametrize("init", ["initial", "none"])
@pytest.mark.parametrize("kind", TABLES)
def test_that_a_table_which_a_person_fills_starts_empty_is_reported(kind: str, init: str) -> None:
    graph = looked_up(kind)
    with v1.Session(graph=graph) as session:
        copy = tgw.edit(graph, session=session).clone("x:0", "y:0", into="copy", init=init)
        assert copy.report.dropped == (
            "What hash table 'table' holds is not copied: the copy starts empty.",
        )


def test_a_refused_clone_leaves_no_op_though_a_table_is_to_be_read() -> None:
    graph = looked_up("mutable")
    with v1.Session(graph=graph) as session:
        editor, before = tgw.edit(graph, session=session), graph.version
        for refused in ({"into": "no scope"}, {"into": "copy", "init": (("w", 1.0),)}):
            with pytest.raises(tgw.GraphEditError):
                editor.clone("x:0", "y:0", **refused)
        assert graph.version == before
        session.close()
        with pytest.raises(tgw.GraphEditError, match="closed"):
            editor.clone("x:0", "y:0", into="copy")
        assert graph.version == before


def test_a_clone_that_fails_after_its_tables_were_filled_shows_nothing_and_works_the_next_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = looked_up("mutable")
    with v1.Session(graph=graph) as session:
        session.run("insert", {"keys:0": [1], "values:0": [5.0]})
        editor = tgw.edit(graph, session=session)
        before = list(editor._core.index.names)

        def interrupted(*given: object) -> None:
            copy_tables(*given)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(sessions, "copy_tables", interrupted)
            with pytest.raises(KeyboardInterrupt):
                editor.clone("x:0", "y:0", into="copy")
        assert list(editor._core.index.names) == before
        copy = editor.clone("x:0", "y:0", into="copy")
        assert session.run([copy["y:0"], "y:0"], {"x:0": [1]}) == [[5], [5]]
        assert list(editor._core.index.names) == [*before, *copy.ops]


def test_a_table_whose_initialiser_waits_for_a_placeholder_has_the_contents_of_the_original(
    graph: tf.Graph,
) -> None:
    x, mode = v1.placeholder(tf.string, [None], name="x"), v1.placeholder(tf.bool, [], name="mode")
    with tf.control_dependencies([mode]):
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        tf.identity(tf.lookup.StaticHashTable(init, -1, name="table").lookup(x), name="y")
    fill = v1.tables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(fill, {mode: True})
        editor = tgw.edit(graph, session=session)
        copy = editor.clone("x", "y", into="copy")
        assert (copy.shared, copy.report.dropped) == ((), ())
        assert session.run(copy["y:0"], {x: ["b", "z"], mode: True}).tolist() == [2, -1]
        assert (
            "starts empty" in editor.clone("x", "y", into="anew", init="initial").report.dropped[0]
        )


def test_every_op_type_that_keeps_state_under_a_name_is_copied_under_another() -> None:
    nodes, wanted = [], []
    for name in dir(tf.raw_ops):
        definition = op_def_registry.get(name)
        if definition is None or not any(attr.name == "shared_name" for attr in definition.attr):
            continue
        node = v1.NodeDef(name=f"kept/{name}", op=name)
        for attr in definition.attr:
            if attr.type == "type":
                node.attr[attr.name].type = tf.float32.as_datatype_enum
            elif attr.type == "string":
                node.attr[attr.name].s = b"key"
        nodes.append(node)
        wanted.append(name)
    index = build(nodes)
    made = (
        Clone(selection=Selection.of(index, range(len(index)), "all"), into="copy")
        .plan(IndexContext(index))
        .add.nodes
    )
    kept = [node for node in made if "shared_name" in node.attr]
    assert [node.op for node in kept] == wanted
    assert len(wanted) > 70
    assert {node.attr["shared_name"].s for node in kept} == {b"copy/key"}
