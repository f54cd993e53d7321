"""What makes the state in a part whole, what a part holds and shares, and what its ops do beside
computing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import data_flow_ops

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tfgraphwidget.graph import op_effects
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.graph.op_effects import side_effects
from tfgraphwidget.graph.state_closure import complete_state, without_shared
from tfgraphwidget.graph.state_initializers import StateWriters, first_contents, from_outside
from tfgraphwidget.graph.stateful_resources import (
    free_key,
    new_keys,
    persistent_state,
    resources,
    shared_state,
    used_keys,
)
from tfgraphwidget.graph.tensors import UnknownTyping


@pytest.fixture
def graph() -> tf.Graph:
    """An empty graph, the default one while the test builds it."""
    with tf.Graph().as_default() as made:
        yield made


def ids(index: GraphIndex, *names: str) -> set[int]:
    return {index.op(name) for name in names}


def whole(
    index: GraphIndex, *names: str, given: set[int] = frozenset(), shared: set[int] = frozenset()
) -> set[str]:
    return {index.names[i] for i in complete_state(index, ids(index, *names), given, shared)}


def types(index: GraphIndex, names: set[str]) -> set[str]:
    return {index.types[index.ids[name]] for name in names}


def lookup(x: tf.Tensor, name: str) -> tf.Tensor:
    """Looks x up in a table of constants."""
    init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    return tf.identity(
        tf.lookup.StaticHashTable(init, -1, name=name).lookup(x), name=f"{name}/found"
    )


@pytest.mark.parametrize(
    "make", [tf.raw_ops.HashTableV2, tf.raw_ops.HashTable], ids=["resource", "ref"]
)
def test_a_table_brings_its_initialisers_and_not_who_looks(graph: tf.Graph, make: object) -> None:
    table = make(key_dtype=tf.string, value_dtype=tf.int64, name="table")  # type: ignore[operator]
    version = "V2" if make is tf.raw_ops.HashTableV2 else ""
    keys, values = tf.constant(["a"], name="keys"), tf.constant([1], tf.int64, name="values")
    ops = tf.raw_ops
    getattr(ops, f"InitializeTable{version}")(
        table_handle=table, keys=keys, values=values, name="fill"
    )
    getattr(ops, f"LookupTableSize{version}")(table_handle=table, name="size")
    getattr(ops, f"LookupTableExport{version}")(
        table_handle=table, Tkeys=tf.string, Tvalues=tf.int64, name="export"
    )
    index = tgw.edit(graph)._core.index
    assert whole(index, "table") == {"table", "fill", "keys", "values"}
    assert first_contents(index, complete_state(index, ids(index, "table"))) == (index.op("fill"),)


def test_a_table_of_a_file_brings_the_file_s_name(graph: tf.Graph, tmp_path: Path) -> None:
    vocabulary = tmp_path / "words"
    vocabulary.write_text("a\nb\n")
    init = tf.lookup.TextFileInitializer(str(vocabulary), tf.string, 0, tf.int64, 1, delimiter=" ")
    table = tf.lookup.StaticVocabularyTable(init, 1)
    table.lookup(v1.placeholder(tf.string, [None], name="x"))
    index = tgw.edit(graph)._core.index
    handle = next(i for i, kind in enumerate(index.types) if kind == "HashTableV2")
    assert "InitializeTableFromTextFileV2" in types(index, whole(index, index.names[handle]))


def test_a_saver_s_restore_is_no_initialiser(graph: tf.Graph) -> None:
    table = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, -1, empty_key=-2, deleted_key=-3, name="table"
    )
    v1.train.Saver([v1.Variable(1.0)], name="save")
    found = table.lookup(v1.placeholder(tf.int64, [None], name="x"))
    restored = tf.raw_ops.RestoreV2(
        prefix=v1.placeholder_with_default("model", []), tensor_names=["k", "v"],
        shape_and_slices=["", ""],
        dtypes=[tf.int64, tf.int64],
    )  # fmt: skip
    tf.raw_ops.LookupTableImportV2(
        table_handle=table.resource_handle, keys=restored[0], values=restored[1], name="in"
    )
    tf.identity(found, name="y")
    editor = tgw.edit(graph)
    assert "in" not in whole(editor._core.index, table.resource_handle.op.name)
    assert table.resource_handle.op.name in editor.between("x", "y")
    assert StateWriters(editor._core.index).starts_empty(editor._core.index.op("table"))
    assert table.resource_handle.op.name in editor.between((), "y")


def test_tables_are_parameters_and_queues_and_iterators_bring_values_in(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.string, [None], name="x")
    found = lookup(x, "table")
    queue = tf.queue.FIFOQueue(3, [tf.int32], [()], name="queue")
    queue.enqueue([1], name="put")
    iterator = v1.data.make_initializable_iterator(
        tf.data.Dataset.range(3).map(lambda i: tf.cast(i, tf.int32))
    )
    tf.add_n([found, tf.fill(tf.shape(found), queue.dequeue() + iterator.get_next())], name="y")
    editor = tgw.edit(graph)
    inside = set(editor.between("x", "y"))
    assert {"table", "table/found"} <= inside
    assert types(editor._core.index, inside).isdisjoint(
        {"FIFOQueueV2", "QueueDequeueV2", "IteratorV2", "IteratorGetNext"}
    )
    everything = set(editor.between((), "y"))
    assert "x" not in everything
    assert {"FIFOQueueV2", "IteratorV2", "HashTableV2"} <= types(editor._core.index, everything)
    assert {"QueueEnqueueV2", "MakeIterator", "RangeDataset"} <= types(
        editor._core.index, whole(editor._core.index, *everything)
    )


def test_a_queue_that_an_op_on_the_path_reads_is_a_parameter(graph: tf.Graph) -> None:
    n = v1.placeholder(tf.int32, [], name="n")
    queue = tf.queue.FIFOQueue(9, [tf.float32], [()], name="queue")
    queue.enqueue_many([tf.range(9.0)], name="put")
    tf.identity(queue.dequeue_many(n), name="y")
    editor = tgw.edit(graph)
    assert "queue" in editor.between("n", "y")
    assert "queue" not in editor.between(["n", "queue"], "y")


def test_a_pipeline_of_queues_comes_whole_with_its_runners_ops(
    graph: tf.Graph, tmp_path: Path
) -> None:
    names = v1.train.string_input_producer([str(tmp_path / "a")], num_epochs=2, name="files")
    _, line = v1.TextLineReader(name="reader").read(names)
    tf.identity(v1.train.batch([line], 2, num_threads=2, name="batch"), name="y")
    editor = tgw.edit(graph)
    found = whole(editor._core.index, *editor.between((), "y"))
    runners = graph.get_collection(v1.GraphKeys.QUEUE_RUNNERS)
    assert len(runners) == 2
    for runner in runners:
        assert {
            op.name for op in (*runner.enqueue_ops, runner.close_op, runner.cancel_op, runner.queue)
        } <= found
    epochs = graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES)[0]
    assert {epochs.op.name, epochs.initializer.name} <= found
    assert {"reader", "files/Const"} <= found | {"files/Const"}
    assert not any("fraction" in name for name in found), (
        "a summary of how full the queue is makes nothing whole"
    )


def test_nothing_upstream_of_what_is_given_is_taken(graph: tf.Graph) -> None:
    a = tf.square(2.0, name="a")
    queue = tf.queue.FIFOQueue(3, [tf.float32], [()], name="queue")
    queue.enqueue([tf.negative(a, name="b")], name="put")
    queue.dequeue(name="y")
    index = tgw.edit(graph)._core.index
    assert {"a", "b", "put"} <= whole(index, "queue", "y")
    assert whole(index, "queue", "y", given=ids(index, "b")) == {"queue", "y", "put"}


def test_what_is_fed_is_read_from_the_original_but_the_way_to_the_state_is_copied(
    graph: tf.Graph,
) -> None:
    v1.disable_control_flow_v2()
    x = v1.placeholder(tf.float32, [], name="x")
    queue = tf.queue.FIFOQueue(3, [tf.float32], [()], name="queue")
    keep = tf.greater(x, 0.0, name="keep")
    put = v1.cond(keep, lambda: queue.enqueue([1.0], name="put"), tf.no_op)
    v1.train.add_queue_runner(v1.train.QueueRunner(queue, [put]))
    queue.dequeue(name="y")
    index = tgw.edit(graph)._core.index
    found = whole(index, "queue", "y")
    assert {put.op.name, "cond/put"} <= found
    assert found.isdisjoint({"x", "keep"})


def test_the_ends_of_a_staging_area_belong_together(graph: tf.Graph) -> None:
    for name in ("one", "two"):
        area = data_flow_ops.StagingArea([tf.float32], [()], shared_name=name)
        with tf.name_scope(name):
            area.put([tf.square(3.0, name="nine")])
            area.get()
            area.size()
    index = tgw.edit(graph)._core.index
    one = {name for name in index.names if name.startswith("one/")}
    get = next(name for name in one if index.types[index.ids[name]] == "Unstage")
    staged = whole(index, get)
    assert types(index, staged) == {"Unstage", "Stage", "StageSize", "Square", "Const"}
    assert {name for name in staged if index.types[index.ids[name]] != "Const"} <= one
    assert [kind for _, kind in resources(index, ids(index, *staged))] == ["staging area"]
    assert without_shared(index, ids(index, *staged), ids(index, get)) == set()


def test_an_alias_brings_what_is_initialised_through_the_other_handle(graph: tf.Graph) -> None:
    one, two = (
        tf.raw_ops.HashTableV2(
            key_dtype=tf.string, value_dtype=tf.int64, shared_name="key", name=name
        )
        for name in ("one", "two")
    )
    fill = {"keys": ["a"], "values": tf.constant([1], tf.int64)}
    tf.raw_ops.InitializeTableV2(table_handle=one, **fill, name="fill")
    assert two.op.name == "two"
    index = tgw.edit(graph)._core.index
    assert {"one", "fill"} <= whole(index, "two")


def test_a_state_of_a_kind_without_a_word_brings_what_writes_constants_to_it(
    graph: tf.Graph,
) -> None:
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(shared_name="trees", name="trees")
    create = {"tree_ensemble_handle": handle, "stamp_token": tf.constant(0, tf.int64)}
    tf.raw_ops.BoostedTreesCreateEnsemble(**create, tree_ensemble_serialized="", name="create")
    fed = v1.placeholder(tf.string, [], name="fed")
    tf.raw_ops.BoostedTreesDeserializeEnsemble(
        **create, tree_ensemble_serialized=fed, name="restore"
    )
    tf.raw_ops.DestroyResourceOp(resource=handle, name="destroy")
    index = tgw.edit(graph)._core.index
    found = whole(index, "trees")
    assert "create" in found
    assert found.isdisjoint({"restore", "destroy", "fed"})
    assert resources(index, ids(index, "trees")) == (
        (index.op("trees"), "BoostedTreesEnsembleResourceHandleOp"),
    )


def test_shared_handles_stay_with_all_that_only_they_need(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    start = tf.square(3.0, name="start")
    w = v1.Variable(start, name="w", use_resource=True)
    own = v1.Variable(2.0, name="own", use_resource=True)
    tf.add(x * w + own, start, name="y")
    editor = tgw.edit(graph)
    inside = {editor._core.index.ids[name] for name in editor.between("x", "y")}
    handles = ids(editor._core.index, "w")
    everything = complete_state(editor._core.index, inside)
    assert {"w", "w/Assign", "own/Assign", "start"} <= {
        editor._core.index.names[i] for i in everything
    }
    for left in (
        complete_state(editor._core.index, inside, shared=handles),
        without_shared(editor._core.index, everything, handles),
    ):
        names = {editor._core.index.names[i] for i in left}
        assert names.isdisjoint({"w", "w/Assign", "w/Read/ReadVariableOp"})
        assert {"own", "own/Assign", "y", "start"} <= names
    shared = shared_state(
        editor._core.index, complete_state(editor._core.index, inside, shared=handles)
    )
    assert shared == ((editor._core.index.op("w"), "variable"),)


def test_an_update_of_a_shared_variable_is_the_original_s() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        mean = v1.get_variable(
            "mean", [], initializer=v1.zeros_initializer(), use_resource=True, trainable=False
        )
        y = tf.subtract(x, mean, name="y")
        update = mean.assign_sub(y * 0.1, name="update")
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, update)
    index = tgw.edit(graph)._core.index
    given = ids(index, "x")
    assert "update" in whole(
        index,
        "y",
        "mean",
        "sub/ReadVariableOp" if "sub/ReadVariableOp" in index.ids else "y",
        given=given,
    )
    assert "update" not in whole(index, "y", given=given, shared=ids(index, "mean"))


def test_an_update_of_the_next_layer_stays_there(graph: tf.Graph) -> None:
    h = v1.placeholder(tf.float32, [None, 2], name="x")
    for layer in ("one", "two"):
        with v1.variable_scope(layer):
            mean = v1.get_variable("mean", [2], use_resource=True, trainable=False)
            with tf.name_scope(f"{layer}/"):
                batch = tf.reduce_mean(h, 0, name="batch")
                h = tf.nn.relu(h - batch, name="act")
                v1.summary.scalar("norm", tf.norm(batch))
        with tf.name_scope("updates"):
            update = mean.assign_sub((mean - batch) * 0.1, name=f"{layer}_update")
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, update)
    index = tgw.edit(graph)._core.index
    found = whole(index, "one/batch", "one/act", given=ids(index, "x"))
    assert {"updates/one_update", "one/mean", "one/mean/Assign"} <= found
    assert not [name for name in found if "two" in name]


def averages(count: int, start: tf.Tensor, read: tf.Tensor) -> list[tf.Operation]:
    """Update ops, each of a variable of its own, that read a tensor and wait for the one before,
    first for `start`.
    """
    made = [start.op]
    for k in range(count):
        mean = v1.get_variable(
            f"mean_{k}", [], initializer=v1.zeros_initializer(), use_resource=True, trainable=False
        )
        with tf.control_dependencies(made[-1:]):
            made.append(mean.assign_add(read, name=f"update_{k}").op)
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, made[-1])
    return made[1:]


def test_each_of_400_chained_updates_comes_along(graph: tf.Graph) -> None:
    updates = averages(400, tf.constant(1.0), tf.square(2.0, name="y"))
    means = {f"mean_{k}" for k in range(400)}
    found = whole(tgw.edit(graph)._core.index, "y")
    assert {op.name for op in updates} | means | {f"{name}/Assign" for name in means} <= found


def test_chained_updates_that_wait_for_what_is_fed_come_along_and_it_does_not(
    graph: tf.Graph,
) -> None:
    averages(20, v1.placeholder(tf.float32, [], name="x"), tf.square(2.0, name="y"))
    index = tgw.edit(graph)._core.index
    for given in (set(), ids(index, "x")):
        found = whole(index, "y", given=given)
        assert {"mean_19", "update_19", "update_0"} <= found
        assert "x" not in found


def test_no_update_comes_along_that_waits_for_one_of_a_shared_variable_or_for_one_that_is_fed(
    graph: tf.Graph,
) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    updates = averages(20, tf.constant(1.0), tf.square(2.0, name="y"))
    mean = graph.get_collection("variables")[0]
    with tf.control_dependencies(updates[-1:]):
        fed = [mean.assign_add(x * mean, name="fed_update").op]
    v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, fed[0])
    with tf.control_dependencies(fed):
        v1.add_to_collection(
            v1.GraphKeys.UPDATE_OPS, mean.assign_sub(tf.square(2.0), name="last").op
        )
    index = tgw.edit(graph)._core.index
    found = whole(index, "y", shared=ids(index, "mean_7"))
    assert "update_6" in found
    assert found.isdisjoint({"update_7", "update_8", "fed_update", "last"})
    assert "update_19" in whole(index, "y")
    assert whole(index, "y").isdisjoint({"fed_update", "last"})


def test_a_member_that_is_fed_keeps_no_other_from_coming_along(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    w = v1.Variable(2.0, name="w", use_resource=True)
    y = tf.square(w, name="y")
    small = tf.negative(y, name="small")
    for loss in (
        small,
        tf.add(small, x, name="fed"),
        tf.negative(small, name="smaller"),
        tf.square(3.0, name="other"),
    ):
        v1.add_to_collection(v1.GraphKeys.REGULARIZATION_LOSSES, loss)
    found = whole(tgw.edit(graph)._core.index, "w", "y")
    assert {"small", "smaller"} <= found
    assert found.isdisjoint({"fed", "x", "other"})


def test_only_the_variable_whose_initial_value_is_fed_reads_the_original_s(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    common = tf.square(2.0, name="common")
    for name, value in {"own": tf.negative(common), "fed": tf.add(tf.negative(common), x)}.items():
        v1.Variable(tf.identity(value, name=f"{name}_value"), name=name, use_resource=True)
    index = tgw.edit(graph)._core.index
    assert {"own_value", "common", "own/Assign", "fed/Assign"} <= whole(index, "own", "fed")
    assert whole(index, "own", "fed").isdisjoint({"fed_value", "x"})
    assert "common" not in whole(index, "fed")


def test_a_queue_that_a_loop_fills_comes_without_the_loop(graph: tf.Graph) -> None:
    v1.disable_control_flow_v2()
    queue = tf.queue.FIFOQueue(9, [tf.float32], [()], name="queue")

    def body(i: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([queue.enqueue([i], name="put")]):
            return tf.add(i, 1.0, name="next")

    v1.while_loop(lambda i: i < 3.0, body, [0.0], name="loop")
    queue.enqueue([4.0], name="put_one")
    queue.dequeue(name="y")
    found = whole(tgw.edit(graph)._core.index, "queue", "y")
    assert "put_one" in found
    assert not any(name.startswith("loop/") for name in found)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_what_a_part_shares_are_the_handles_that_it_reads(resource: bool) -> None:
    graph = build_mlp(resource=resource)
    index = tgw.edit(graph)._core.index
    part = ids(index, "net/one/MatMul", "net/one/out")
    if resource:
        part |= ids(index, "net/one/MatMul/ReadVariableOp")
    assert shared_state(index, part) == ((index.op("net/one/w"), "variable"),)
    assert (
        shared_state(
            index, part, ids(index, "net/one/w", "net/one/w/read" if not resource else "net/one/w")
        )
        == ()
    )


def test_every_kind_of_state_is_reported_in_words(graph: tf.Graph) -> None:
    v1.disable_resource_variables()
    v1.Variable(1.0, name="variable")
    tf.queue.PriorityQueue(3, [tf.int32], [()], name="queue")
    tf.raw_ops.Barrier(component_types=[tf.float32], name="barrier")
    v1.ConditionalAccumulator(tf.float32, [], name="accumulator")
    v1.WholeFileReader(name="reader")
    tf.raw_ops.SummaryWriter(name="summary_writer")
    tf.raw_ops.StackV2(max_size=1, elem_type=tf.int32, name="stack")
    tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, name="hash_table")
    tf.raw_ops.OneShotIterator(
        dataset_factory=dataset_factory(),
        output_types=[tf.int64],
        output_shapes=[[]],
        name="iterator",
    )
    tf.raw_ops.MutexV2(name="MutexV2")
    index = tgw.edit(graph)._core.index
    report = {index.names[i]: kind for i, kind in resources(index, range(len(index)))}
    names = (
        "queue",
        "barrier",
        "accumulator",
        "reader",
        "summary_writer",
        "stack",
        "hash_table",
        "iterator",
        "MutexV2",
    )
    assert report == {"variable": "variable", **{name: name.replace("_", " ") for name in names}}


def dataset_factory() -> object:
    """A function that makes a dataset, as make_one_shot_iterator registers it."""
    from tensorflow.python.framework import function

    @function.Defun()
    def factory() -> tf.Tensor:
        return tf.raw_ops.RangeDataset(
            start=tf.constant(0, tf.int64), stop=tf.constant(3, tf.int64),
            step=tf.constant(1, tf.int64),
            output_types=[tf.int64], output_shapes=[[]],
        )  # fmt: skip

    return factory


def test_keys_of_copies_are_new_and_aliases_stay_aliases(graph: tf.Graph) -> None:
    for name, key in (("one", "key"), ("two", "key"), ("three", "c/key"), ("four", "")):
        tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], shared_name=key, name=name)
    index = tgw.edit(graph)._core.index
    assert new_keys(index, ids(index, "one", "two", "four"), "c") == {"key": "c/key_1"}
    assert new_keys(index, ids(index, "one"), "d", reserved_keys=["d/key"]) == {"key": "d/key_1"}


def test_a_key_is_free_when_no_op_has_it_as_its_shared_name_or_its_name(graph: tf.Graph) -> None:
    for name, key in (
        ("one", "key"),
        ("c/three", ""),
        ("four", "c/three_1"),
        ("five", "c/Three_2"),
    ):
        tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], shared_name=key, name=name)
    tf.constant(1, name="c/six")
    index = tgw.edit(graph)._core.index
    assert used_keys(index) == {"key", "c/three", "c/three_1", "c/Three_2"}
    assert free_key("c/three", used_keys(index)) == "c/three_2"
    assert [free_key(name, used_keys(index)) for name in ("c/six", "one", "key")] == [
        "c/six",
        "one",
        "key_1",
    ]
    assert new_keys(index, ids(index, "one"), "c", reserved_keys=["c/key"]) == {"key": "c/key_1"}


def test_every_table_is_a_parameter_and_an_initialiser_that_is_added_later_counts(
    graph: tf.Graph,
) -> None:
    fed = v1.placeholder(tf.string, [None], name="fed")
    for k in range(40):
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, name=f"table_{k}")
        fill = tf.raw_ops.LookupTableImportV2(
            table_handle=table, keys=fed, values=[1], name=f"fill_{k}"
        )
        if k % 2:
            v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, fill)
    editor = tgw.edit(graph)
    before = editor._core.index
    outside = {
        name
        for name, is_outside in zip(before.names, from_outside(before), strict=True)
        if is_outside
    }
    assert outside == {"fed"}
    table = graph.get_tensor_by_name("table_0:0")
    tf.raw_ops.InitializeTableV2(
        table_handle=table, keys=["a"], values=tf.constant([1], tf.int64), name="late"
    )
    assert "late" in whole(editor._core.index, "table_0")
    assert first_contents(editor._core.index, ids(editor._core.index, "table_0", "late")) == (
        editor._core.index.op("late"),
    )
    assert StateWriters(before).starts_empty(before.op("table_0"))
    assert not StateWriters(editor._core.index).starts_empty(editor._core.index.op("table_0"))


def test_what_is_not_known_of_an_op_type_is_asked_again() -> None:
    class Loaded(UnknownTyping):
        known: tuple[str, ...] = ()

        def definition(self, op_type: str) -> object:
            return op_def_registry.get(op_type) if op_type in self.known else None

    typing = Loaded()
    index = build([v1.NodeDef(name="queue", op="FIFOQueueV2")], typing=typing)
    assert persistent_state(index).tolist() == [False]
    typing.known = ("FIFOQueueV2",)
    assert persistent_state(index).tolist() == [True]


def test_a_call_is_judged_by_what_it_calls_though_others_of_its_type_differ(
    graph: tf.Graph,
) -> None:
    w = v1.Variable(1.0, name="w", use_resource=True)
    pure, writes = tf.function(lambda: tf.square(2.0)), tf.function(lambda: w.assign_add(1.0))
    pure(), writes()
    index = tgw.edit(graph)._core.index
    calls = [i for i, kind in enumerate(index.types) if kind.endswith("PartitionedCall")]
    report = {index.names[i] for i in side_effects(index, range(len(index)))}
    assert len(calls) == 2
    assert [index.names[i] in report for i in calls] == [False, True]
    assert report - {"w/Assign"} == {index.names[calls[1]]}


def test_what_does_more_than_compute_is_reported(graph: tf.Graph) -> None:
    x = v1.placeholder(tf.float32, [], name="x")
    w = v1.Variable(1.0, name="w", use_resource=True)
    r = v1.Variable(1.0, name="r", use_resource=False)
    r.assign_add(x, name="assign_ref")
    w.assign_add(x, name="assign")
    tf.random.uniform([], name="random")
    tf.print(x, name="print")
    queue = tf.queue.FIFOQueue(3, [tf.float32], [()], name="queue")
    queue.enqueue([x], name="put")
    queue.dequeue(name="take")
    queue.size(name="size")
    lookup(v1.placeholder(tf.string, [None]), "table")
    v1.data.make_initializable_iterator(tf.data.Dataset.range(3)).get_next(name="next")
    tf.raw_ops.WriteFile(filename="f", contents="c", name="write")
    index = tgw.edit(graph)._core.index
    report = {index.names[i] for i in side_effects(index, range(len(index)))}
    doing = {
        "assign_ref",
        "assign",
        "random/RandomUniform",
        "put",
        "take",
        "next",
        "write",
        "MakeIterator",
    }
    assert doing <= report
    rest = {
        name
        for name in report - doing
        if not name.startswith("print") and not name.endswith("Assign")
    }
    assert types(index, rest) <= {"LookupTableImportV2"}


def test_a_call_is_judged_by_what_it_calls(graph: tf.Graph) -> None:
    w = v1.Variable(1.0, name="w", use_resource=True)
    x = v1.placeholder(tf.float32, [], name="x")

    @tf.function
    def looks(v: tf.Tensor) -> tf.Tensor:
        return v * w.read_value()

    @tf.function
    def writes(v: tf.Tensor) -> tf.Tensor:
        return looks(v) + w.assign_add(v)

    looks(x)
    writes(x)
    index = tgw.edit(graph)._core.index
    calls = [i for i, kind in enumerate(index.types) if kind.endswith("PartitionedCall")]
    assert len(calls) == 2
    assert side_effects(index, calls) == (calls[1],)


def recursive(*, first: str) -> GraphIndex:
    """Ops that call f, which calls g and prints, and g, which calls f; the op `first` comes
    first.
    """
    graph_def = v1.GraphDef()
    for name in (first, "fg".replace(first, "")):
        graph_def.node.add(name=f"call_{name}", op="PartitionedCall").attr["f"].func.name = name
    for name, other in ("fg", "gf"):
        function = graph_def.library.function.add()
        function.signature.name = name
        function.node_def.add(name="call", op="PartitionedCall").attr["f"].func.name = other
        if name == "f":
            function.node_def.add(name="print", op="PrintV2")
    return tgw.edit(graph_def)._core.index


@pytest.mark.parametrize("first", ["f", "g"])
def test_functions_that_call_each_other_have_the_effects_of_all(first: str) -> None:
    assert side_effects(recursive(first=first), [0, 1]) == (0, 1)


def test_an_interrupt_while_functions_are_judged_leaves_no_wrong_judgement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = recursive(first="f")
    with monkeypatch.context() as patch:
        patch.setattr(op_effects, "_functions", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            side_effects(index, [0, 1])
    assert side_effects(index, [0, 1]) == (0, 1)
