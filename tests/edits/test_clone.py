"""Clone: what the copy is, and that the original is untouched."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.commands import clone_command
from tests.conftest import build_mlp, dense, fill, initialised, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.clone.command import Clone
from tfgraphwidget.edits.context import IndexContext
from tfgraphwidget.errors import GraphEditError, NameTaken, NoPath, NotClonable, UnknownName
from tfgraphwidget.graph.index import build

VARIABLES = ["net/one/w", "net/one/b", "net/two/w", "net/two/b"]


def test_the_copy_gives_the_same_numbers(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    assert np.array_equal(original, copied)
    assert original.any()


def test_own_variables_leave_the_original_untouched(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    before = session.run("net/logits:0", {"x:0": batch})
    copy = editor.clone("x:0", "net/logits:0", "copy")
    for variable in copy.variables:
        fill(variable, 1, session)
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    assert np.array_equal(original, before)
    assert not np.array_equal(copied, before)


def test_the_original_can_change_without_the_copy(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    before = session.run(copy["net/logits:0"], {"x:0": batch})
    for variable in editor.graph.get_collection("variables"):
        if variable.name in copy:
            fill(variable, 0, session)
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    assert np.array_equal(copied, before)
    assert not original.any()


def test_shared_variables_follow_the_original(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", variables="shared")
    assert copy.variables == ()
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 0.5, session)
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    assert np.array_equal(original, copied)


def test_the_copies_are_real_variables_in_the_same_collections(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    keys = ("variables", "trainable_variables")
    before = {key: [v.name for v in mlp.get_collection(key)] for key in keys}
    copy = editor.clone("x:0", "net/logits:0", "copy")
    assert all(isinstance(v, tf.Variable) for v in copy.variables)
    for key in keys:
        after = [v.name for v in mlp.get_collection(key)]
        assert after == before[key] + [f"copy/{name}" for name in before[key]]
    with mlp.as_default():
        assert {v.name for v in copy.variables} <= {v.name for v in v1.global_variables()}
        for variable in copy.variables:
            assert variable.initializer.name.startswith("copy/")
            assert variable.initial_value.name.startswith("copy/")


def test_the_initial_values_of_the_copies_are_theirs(
    editor: GraphEditor, session: v1.Session
) -> None:
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 3.0, session)
    copy = editor.clone("x:0", "net/logits:0", "copy", init="initial")
    values = dict(zip([v.name for v in copy.variables], read(copy.variables, session), strict=True))
    assert not values["copy/net/one/b:0"].any()
    assert 0 < np.abs(values["copy/net/one/w:0"]).max() < 3


def test_init_none_leaves_the_copies_without_values(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", init="none")
    with pytest.raises(tf.errors.FailedPreconditionError):
        read(copy.variables, session)
    with mlp.as_default():
        session.run(v1.variables_initializer(list(copy.variables)))
    assert not read(copy.variables, session)[1].any()


def test_the_copy_trains_and_the_original_does_not(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    before = session.run("net/logits:0", {"x:0": batch})
    with mlp.as_default():
        loss = tf.reduce_sum(tf.square(copy["net/logits:0"] - 1.0))
        step = v1.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=list(copy.variables))
    losses = [session.run([loss, step], {"x:0": batch})[0] for _ in range(5)]
    assert losses[-1] < losses[0]
    assert np.array_equal(session.run("net/logits:0", {"x:0": batch}), before)


def test_a_saver_saves_and_restores_the_copies(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session, tmp_path: object
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    values = read(copy.variables, session)
    with mlp.as_default():
        saver = v1.train.Saver()
        path = saver.save(session, f"{tmp_path}/model")
        for variable in copy.variables:
            fill(variable, 0, session)
        saver.restore(session, path)
    assert all(
        np.array_equal(a, b) for a, b in zip(read(copy.variables, session), values, strict=True)
    )
    assert {"net/one/w", "copy/net/one/w"} <= {name for name, _ in tf.train.list_variables(path)}


def test_a_copy_can_be_copied(editor: GraphEditor, session: v1.Session, batch: np.ndarray) -> None:
    first = editor.clone("x:0", "net/logits:0", "first")
    second = editor.clone("x:0", first["net/logits:0"], "second")
    out = second["first/net/logits:0"]
    assert np.array_equal(*session.run(["net/logits:0", out], {"x:0": batch}))


def test_cut_in_the_middle_the_copy_reads_the_original(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    copy = editor.clone("net/one/out:0", "net/logits:0", "head")
    assert copy.outside == ("net/one/out:0",)
    assert [v.name for v in copy.variables] == ["head/net/two/w:0", "head/net/two/b:0"]
    assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch}))


def test_a_variable_shared_by_towers_is_copied_once_with_its_regulariser(
    shared_weights: tf.Graph,
) -> None:
    with initialised(shared_weights) as session:
        copy = tgw.edit(shared_weights, session=session).clone(
            ["a/x", "b/x"], ["a/y", "b/y"], "copy"
        )
        assert len(copy.variables) == 1
        losses = shared_weights.get_collection("regularization_losses")
        assert len(losses) == 2
        fill(copy.variables[0], 0, session)
        assert session.run(losses) == [2.0, 0.0]


def test_variables_that_no_collection_lists_are_found_and_registered() -> None:
    bare = tf.Graph()
    with bare.as_default():
        tf.import_graph_def(build_mlp(resource=True).as_graph_def(), name="")
        assert not v1.global_variables()
    with v1.Session(graph=bare) as session:
        session.run([op for op in bare.get_operations() if op.type == "AssignVariableOp"])
        copy = tgw.edit(bare, session=session).clone("x:0", "net/logits:0", "copy")
        assert [v.name for v in copy.variables] == [
            v.name for v in bare.get_collection("variables")
        ]
        feed = {"x:0": np.ones((1, 3), np.float32)}
        assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], feed))


def test_variables_that_share_one_initial_value_get_each_their_own(session: v1.Session) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x, zero = v1.placeholder(tf.float32, [2], name="x"), tf.zeros([2])
        a, b = v1.Variable(zero, name="a"), v1.Variable(zero, name="b")
        tf.add_n([x, a, b], name="y")
    with initialised(graph) as opened:
        fill(a, [1.0, 1.0], opened)
        fill(b, [5.0, 5.0], opened)
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [v.tolist() for v in read(copy.variables, opened)] == [[1, 1], [5, 5]]


def test_an_initial_value_that_reads_another_variable() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        a = v1.Variable([1.0, 2.0], name="a", use_resource=True)
        b = v1.Variable(a.read_value() * 2, name="b", use_resource=True)
        tf.add_n([x, a, b], name="y")
    with v1.Session(graph=graph) as opened:
        opened.run(a.initializer)
        opened.run(b.initializer)
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy", init="initial")
        assert [v.tolist() for v in read(copy.variables, opened)] == [[1, 2], [2, 4]]


def partitioned() -> tf.Graph:
    """x times a variable in two slices."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", [4, 2], partitioner=v1.fixed_size_partitioner(2))
        tf.matmul(x, tf.convert_to_tensor(w), name="y")
    return graph


def test_partitioned_variables_keep_their_slices() -> None:
    graph = partitioned()
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [v._save_slice_info.spec for v in copy.variables] == ["4 2 0,2:0,2", "4 2 2,2:0,2"]
        feed = {"x:0": np.eye(4)}
        assert np.array_equal(*opened.run(["y:0", copy["y:0"]], feed))


def test_a_table_is_copied_with_its_initialiser_and_a_queue_goes_on_bringing_in_values() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        found = tf.lookup.StaticHashTable(init, -1, name="table").lookup(x)
        queue = tf.queue.FIFOQueue(3, [tf.int32], [()], name="queue")
        filled = queue.enqueue_many([[10, 20]])
        tf.add(found, queue.dequeue(name="taken"), name="y")
    with v1.Session(graph=graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        with graph.as_default():
            opened.run([filled, v1.tables_initializer()])
        assert copy.outside == ("x:0", "taken:0")
        assert sorted(opened.run(copy["y:0"], {"x:0": ["b", "z"]}).tolist()) == [9, 12]
        assert opened.run("y:0", {"x:0": ["b", "z"]}).tolist() == [22, 19]


def test_colocation_follows_the_copy(mlp: tf.Graph, editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    groups = {
        op.name: [c for c in op.get_attr("_class") if c.startswith(b"loc:@")]
        for op in mlp.get_operations()
        if op.name.startswith("copy/") and "_class" in op.node_def.attr
    }
    assert groups
    assert all(c.startswith(b"loc:@copy/") for held in groups.values() for c in held)


def test_devices_are_kept() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        with tf.device("/cpu:0"):
            w = v1.get_variable("w", [2], use_resource=False)
            tf.add(x, w, name="y")
    with initialised(graph) as opened, tf.device("/cpu:7"):
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        for name in ("w", "w/read", "y"):
            assert copy[name].device == graph.get_operation_by_name(name).device != ""


def test_control_inputs_from_outside_are_kept_and_said() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x, other = (
            v1.placeholder(tf.float32, [], name="x"),
            v1.placeholder(tf.float32, [], name="other"),
        )
        with tf.control_dependencies([tf.identity(other, name="first")]):
            tf.identity(x, name="y")
    with v1.Session(graph=graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [op.name for op in copy["y"].control_inputs] == ["first"]
        assert copy.outside == ("x:0", "^first")


def test_a_tensor_given_as_input_is_read_although_its_op_is_copied_for_another() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [4], name="x")
        a, b = tf.split(x * 2, 2, name="split")
        tf.add(a * 10, b, name="y")
    with v1.Session(graph=graph) as opened:
        copy = tgw.edit(graph, session=opened).clone(["x:0", "split:0"], "y:0", "copy")
        feed = {"split:0": [100.0, 100.0], "x:0": [1.0, 2.0, 3.0, 4.0]}
        original, copied = opened.run(["y:0", copy["y:0"]], feed)
        assert original.tolist() == copied.tolist() == [1006, 1008]


def test_a_partitioned_copy_has_keys_of_its_own_in_a_checkpoint(tmp_path: Path) -> None:
    graph = partitioned()
    with initialised(graph) as opened:
        tgw.edit(graph, session=opened).clone("x", "y", "copy")
        path = v1.train.Saver().save(opened, str(tmp_path / "model"))
    assert {name for name, _ in tf.train.list_variables(path)} == {"w", "copy/w"}


def test_an_initial_value_guarded_by_a_conditional_is_the_copy_s_own() -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [2], name="x")
        a = v1.Variable(tf.random.uniform([2]), name="a", use_resource=False)
        b = v1.Variable(a.initialized_value() * 2, name="b", use_resource=False)
        tf.add_n([x, a, b], name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy", init="initial")
        first, second = read(copy.variables, opened)
        assert second.tolist() == (2 * first).tolist()
        assert not np.array_equal(
            first, opened.run(graph.get_collection("variables")[0].initial_value)
        )


def test_gradients_through_a_copied_custom_gradient_fail_rather_than_be_the_original_s() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)

        @tf.custom_gradient
        def square(value: tf.Tensor) -> object:
            return value * value, lambda upstream: upstream * 2 * value

        tf.identity(square(x * w), name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert opened.run(copy["y:0"], {"x:0": 3.0}) == 9
        with (
            graph.as_default(),
            pytest.raises(LookupError, match=r"No gradient defined for operation.*copy/IdentityN"),
        ):
            v1.gradients(copy["y:0"], list(copy.variables))


def test_a_copied_training_step_leaves_the_global_step_alone(mlp: tf.Graph) -> None:
    with mlp.as_default():
        loss = tf.reduce_sum(mlp.get_tensor_by_name("net/logits:0"), name="loss")
        step = v1.train.get_or_create_global_step()
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step, name="train")
    opened = initialised(mlp)
    copy = tgw.edit(mlp, session=opened).clone("x:0", "train", "copy")
    opened.run(copy["train"], {"x:0": np.ones((2, 3))})
    with mlp.as_default():
        assert v1.train.get_global_step() is step
    assert opened.run(mlp.get_collection("global_step")) == [0]
    opened.close()


def test_static_shapes_that_no_op_infers_are_kept() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        y = v1.py_func(lambda rows: rows * 2, [x], tf.float32, name="y")
        y.set_shape([None, 3])
    with v1.Session(graph=graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert copy["y:0"].shape.as_list() == [None, 3]


def test_a_value_that_its_initialiser_cannot_hold_is_refused_before_anything_moves() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.Variable(tf.zeros([2, 3]), name="w", use_resource=False)
        grown = v1.assign(w, tf.ones([5]), validate_shape=False)
        tf.add(x, tf.reduce_sum(w), name="y")
    with initialised(graph) as opened:
        opened.run(grown)
        before = graph.version
        with pytest.raises(GraphEditError, match=r"'w:0' now has shape \(5,\)"):
            tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert graph.version == before


@pytest.mark.parametrize(
    ("init", "way"),
    [("current", r"tgw\.renew\(session\) lets it run again"), ("initial", 'device=""')],
)
def test_what_the_session_cannot_run_is_one_sentence_with_a_way_out(init: str, way: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.device("/job:worker/task:3"):
            w = v1.get_variable("w", [], use_resource=True)
        tf.add(x, w, name="y")
    with v1.Session(graph=graph) as opened:
        editor = tgw.edit(graph, session=opened)
        with pytest.raises(GraphEditError, match=way) as refusal:
            editor.clone("x", "y", "copy", init=init)  # type: ignore[arg-type]
        assert "task:3" in str(refusal.value)
        assert "\n" not in str(refusal.value)
        assert "copy/y" not in editor._core.index.ids
        assert graph.get_collection("variables") == [w]
        tgw.renew(opened)
        editor.clone("x", "y", "copy", init="initial", device="")
        assert np.isfinite(opened.run("copy/y:0", {"x:0": 1.0}))


def test_an_eager_tensor_in_a_collection_does_no_harm(mlp: tf.Graph) -> None:
    mlp.add_to_collection("notes", tf.constant(1.0))
    assert len(tgw.edit(mlp)._core.index) == mlp.version


def test_an_update_that_runs_before_each_read_updates_the_copy() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)
        with tf.control_dependencies([w.assign(w * 0.5, read_value=False)]):
            tf.multiply(x, w.read_value(), name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [opened.run(copy["y:0"], {"x:0": 8.0}) for _ in range(2)] == [4, 2]
        assert opened.run("w/Read/ReadVariableOp:0") == 1
        assert copy.outside == ("x:0",)


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_a_net_under_control_dependencies_on_a_placeholder_is_the_copy_s_own(
    resource: bool,
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        mode = v1.placeholder(tf.bool, [], name="mode")
        with tf.control_dependencies([mode]), tf.control_dependencies([tf.identity(mode)]):
            tf.multiply(dense(x, 4, "one", resource=resource), tf.constant(2.0), name="y")
    assert {"Const", "one/w"} <= set(tgw.edit(graph).between("x", "y"))
    other = tf.Graph()
    with initialised(graph) as opened, v1.Session(graph=other) as elsewhere:
        editor = tgw.edit(graph, session=opened)
        preview = editor.preview(editor.clone, "x", "y", into="copy")
        assert ([state.name for state in preview.new], preview.shared) == (["one/w", "one/b"], ())
        assert (preview.inputs, preview.control_inputs) == (("x:0",), ("^Identity", "^mode"))
        copy = editor.clone("x", "y", "copy")
        assert [v.op.name for v in copy.variables] == ["copy/one/w", "copy/one/b"]
        moved = editor.clone("x", "y", "moved", graph=other, session=elsewhere)
        assert [name for name, _ in moved.report.placeholders] == ["x:0"]
        assert [
            name for name in moved.ops if other.get_operation_by_name(name).type == "Placeholder"
        ] == ["moved/x"]
        x_of_moved = moved["x:0"]
        assert np.array_equal(
            elsewhere.run(moved["y:0"], {x_of_moved: np.ones([2, 3])}),
            opened.run(copy["y:0"], {x: np.ones([2, 3]), mode: True}),
        )


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_what_only_waits_for_a_placeholder_is_no_end_of_a_selection_and_is_passed_by(
    resource: bool,
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        mode = v1.placeholder(tf.bool, [], name="mode")
        with tf.control_dependencies([mode]):
            tf.multiply(dense(x, 4, "one", resource=resource), tf.constant(2.0), name="y")
    editor = tgw.edit(graph)
    layer = editor.ops("one/MatMul", "one/add", "one/out")
    assert layer.boundary == (("x:0",), ("one/out:0",))
    editor.bypass(layer)
    assert graph.get_operation_by_name("y").inputs[0].name == "x:0"


def test_a_moving_average_under_control_dependencies_on_a_placeholder_moves_with_the_copy() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x, mode = v1.placeholder(tf.float32, [], name="x"), v1.placeholder(tf.bool, [], name="mode")
        mean = v1.get_variable(
            "mean", [], initializer=v1.zeros_initializer(), use_resource=True, trainable=False
        )
        with tf.control_dependencies([mode]):
            y = tf.subtract(x, mean.read_value(), name="y")
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, mean.assign_add(y * 0.5).op)
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert copy.report.shared == ()
        updates = graph.get_collection(v1.GraphKeys.UPDATE_OPS)
        opened.run(updates[1], {x: 4.0, mode: True})
        assert [opened.run(v) for v in (mean, *copy.variables)] == [0, 2]


def test_a_write_of_what_is_fed_that_runs_before_the_part_writes_to_the_copy_s_variable() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x, step = (
            v1.placeholder(tf.float32, [], name="x"),
            v1.placeholder(tf.float32, [], name="step"),
        )
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)
        seen = v1.get_variable(
            "seen", [], initializer=v1.zeros_initializer(), use_resource=True, trainable=False
        )
        with tf.control_dependencies(
            [w.assign(w * step, read_value=False), seen.assign_add(step).op]
        ):
            y = tf.multiply(x, w.read_value(), name="y")
    for chosen in (False, True):
        with initialised(graph) as opened:
            editor = tgw.edit(graph, session=opened)
            into = f"copy_{chosen}"
            copy = (
                editor.clone(editor.ops(y.op.name), into=into)
                if chosen
                else editor.clone("x", "y", into)
            )
            assert [opened.run(copy["y:0"], {x: 1.0, step: 0.5}) for _ in range(2)] == [0.5, 0.25]
            assert opened.run([w, seen]) == [1, 0]
            assert opened.run(list(copy.variables)) == [0.25, 1]
            assert set(copy.outside) == {"x:0", "step:0"}


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_a_net_that_waits_for_its_own_input_waits_for_what_represents_it(resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        with tf.control_dependencies([tf.group(x, name="arrived")]):
            dense(x, 4, "one", resource=resource)
    other = tf.Graph()
    with initialised(graph) as opened, v1.Session(graph=other) as elsewhere:
        editor = tgw.edit(graph, session=opened)
        copy = editor.clone("x:0", "one/out:0", "copy", placeholders=True)
        moved = editor.clone("x:0", "one/out:0", "moved", graph=other, session=elsewhere)
        assert (len(copy.variables), copy.shared, moved.report.dropped) == (2, (), ())
        for one, session in ((copy, opened), (moved, elsewhere)):
            assert session.run(one["one/out:0"], {one["x:0"]: np.ones([2, 3])}).shape == (2, 4)
            assert [op.name for op in one["arrived"].control_inputs] == [f"{one.scope}/x"]


def test_an_initial_value_that_waits_for_another_initialiser_leaves_the_original_alone() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        first = v1.get_variable("first", [], initializer=v1.ones_initializer(), use_resource=True)
        with tf.control_dependencies([first.initializer]):
            start = tf.identity(tf.constant(3.0))
        w = v1.Variable(start, name="w", use_resource=True)
        tf.multiply(x, w, name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        fill(first, 7.0, opened)
        opened.run([v.initializer for v in copy.variables])
        assert opened.run(first) == 7


def test_who_reads_what_a_write_to_a_reference_variable_gives_reads_that_variable() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x, step = (
            v1.placeholder(tf.float32, [], name="x"),
            v1.placeholder(tf.float32, [], name="step"),
        )
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=False)
        tf.multiply(x, v1.assign_add(w, step), name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [opened.run(copy["y:0"], {x: 1.0, step: 2.0}) for _ in range(2)] == [3, 5]
        assert (opened.run(w), copy.shared) == (1, ())


def test_variables_that_only_lie_upstream_of_the_part_are_not_shared(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    for preview in (
        editor.preview(editor.clone, editor.ops(scope="net/two"), into="copy"),
        editor.preview(editor.clone, "net/one/out:0", "net/logits:0", into="copy"),
        editor.preview(editor.clone, editor.ops(scope="net/two"), into="copy", variables="shared"),
    ):
        assert {state.name for state in preview.shared} <= {"net/two/w", "net/two/b"}
    with mlp.as_default():
        skip = tf.add(
            mlp.get_tensor_by_name("net/one/out:0"),
            mlp.get_tensor_by_name("net/logits:0"),
            name="skip",
        )
    assert editor.preview(editor.clone, "net/two/MatMul:0", skip.name, into="copy").shared == ()
    assert (
        editor.preview(
            editor.clone, "net/one/out:0", skip.name, into="copy", placeholders=True
        ).shared
        == ()
    )


def test_of_chosen_ops_the_variables_after_a_cast_or_of_slices_come_along() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float16, [None, 4], name="x")
        parts = v1.get_variable(
            "w", [4, 2], partitioner=v1.fixed_size_partitioner(2), use_resource=True
        )
        tf.matmul(x, tf.cast(tf.convert_to_tensor(parts), tf.float16), name="y")
    editor = tgw.edit(graph)
    preview = editor.preview(editor.clone, editor.ops("y"), into="copy", init="none")
    assert [state.name for state in preview.new] == ["w/part_0", "w/part_1"]
    assert (preview.shared, preview.inputs) == ((), ("x:0",))
    shared = editor.preview(editor.clone, editor.ops("y"), into="copy", variables="shared")
    assert [state.name for state in shared.shared] == ["w/part_0", "w/part_1"]


def test_a_tensor_from_outside_is_listed_and_not_the_variables_it_reads() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x, mask = (
            v1.placeholder(tf.float32, [2], name="x"),
            v1.placeholder(tf.float32, [2], name="mask"),
        )
        w = v1.get_variable("w", [2], initializer=v1.ones_initializer())
        tf.multiply(x, tf.multiply(w, mask, name="masked"), name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert copy.outside == ("x:0", "masked:0")
        assert copy.shared == ()  # a tensor comes from outside, however it is computed there


def test_a_placeholder_with_default_can_still_be_fed() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        tf.multiply(x, v1.placeholder_with_default(1.0, [], name="scale"), name="y")
    with v1.Session(graph=graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert opened.run(["y:0", copy["y:0"]], {"x:0": 2.0, "scale:0": 3.0}) == [6, 6]


def test_a_mutable_table_that_has_inputs_stays_shared() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.int64, [None], name="x")
        table = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.int64, -1, empty_key=-2, deleted_key=-3
        )
        insert = table.insert(tf.constant([1, 2], tf.int64), tf.constant([10, 20], tf.int64))
        tf.identity(table.lookup(x), name="y")
    with v1.Session(graph=graph) as opened:
        opened.run(insert)
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert opened.run(copy["y:0"], {"x:0": [1, 2]}).tolist() == [10, 20]


def test_updates_of_resource_variables_in_a_collection_are_copied() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        mean = v1.get_variable(
            "mean", [], initializer=v1.zeros_initializer(), use_resource=True, trainable=False
        )
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, mean.assign_add(x, name="update"))
        tf.subtract(x, mean, name="y")
    with initialised(graph) as opened:
        editor = tgw.edit(graph, session=opened)
        copy = editor.clone("x", ["y", "update"], "copy")
        updates = [op.name for op in graph.get_collection(v1.GraphKeys.UPDATE_OPS)[1:]]
        assert updates == ["copy/update"]
        opened.run(updates, {"x:0": 3.0})
        assert opened.run(["y:0", copy["y:0"]], {"x:0": 3.0}) == [3, 0]
        editor.undo()
        assert len(graph.get_collection(v1.GraphKeys.UPDATE_OPS)) == 1
        editor.redo()
        assert len(graph.get_collection(v1.GraphKeys.UPDATE_OPS)) == 2


def batch_norm(x: tf.Tensor, name: str, *, resource: bool) -> tf.Tensor:
    """Batch norm as TF 1 code wrote it: batch statistics, and moving ones in UPDATE_OPS."""
    with v1.variable_scope(name):
        moving = v1.get_variable(
            "moving_mean",
            [2],
            initializer=v1.zeros_initializer(),
            trainable=False,
            use_resource=resource,
        )
        gamma = v1.get_variable(
            "gamma", [2], initializer=v1.ones_initializer(), use_resource=resource
        )
        mean = tf.reduce_mean(x, 0)
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, v1.assign_sub(moving, (moving - mean) * 0.5))
        return tf.multiply(x - mean, gamma, name="out")


@pytest.mark.parametrize("resource", [False, True])
def test_moving_averages_of_the_part_are_copied_with_their_updates(resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        first = batch_norm(x, "first", resource=resource)
        batch_norm(first + 1.0, "second", resource=resource)
    feed = {"x:0": [[1.0, 2.0], [3.0, 6.0]]}
    with initialised(graph) as opened:
        editor = tgw.edit(graph, session=opened)
        copy = editor.clone("first/out", "second/out", "copy")
        assert [v.name for v in copy.variables] == [
            "copy/second/moving_mean:0",
            "copy/second/gamma:0",
        ]
        updates = [item.op.name for item in graph.get_collection(v1.GraphKeys.UPDATE_OPS)[:2]]
        new = graph.get_collection(v1.GraphKeys.UPDATE_OPS)[2:]
        assert [getattr(item, "op", item).name for item in new] == [f"copy/{updates[1]}"]
        opened.run([getattr(item, "op", item) for item in new], feed)
        original = [
            v for v in graph.get_collection("variables") if v.name == "second/moving_mean:0"
        ]
        assert read(original, opened)[0].tolist() == [0, 0]
        assert read(copy.variables, opened)[0].tolist() == [0.5, 0.5]
        editor.undo()
        assert len(graph.get_collection(v1.GraphKeys.UPDATE_OPS)) == 2


def test_a_constraint_holds_for_the_copy_too() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), constraint=tf.nn.relu)
        tf.multiply(x, w, name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert copy.variables[0].constraint is tf.nn.relu


def test_what_lies_after_a_loop_can_be_cloned(while_loop: tf.Graph) -> None:
    with while_loop.as_default():
        tf.square(while_loop.get_tensor_by_name("y:0"), name="z")
    with v1.Session(graph=while_loop) as opened:
        copy = tgw.edit(while_loop, session=opened).clone("y", "z", "copy")
        assert opened.run(["z:0", copy["z:0"]], {"x:0": 1.0}) == [1024, 1024]


@pytest.mark.parametrize("needs", ["placeholder", "variable"])
def test_an_initialiser_that_cannot_run_is_refused_before_anything_moves(needs: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        missing = v1.placeholder(tf.float32, [], name="missing")
        if needs == "variable":
            missing = v1.get_variable("missing_", [], use_resource=True).read_value()
        w = v1.Variable(missing * 2, name="w", use_resource=True)
        tf.multiply(x, w, name="y")
    with v1.Session(graph=graph) as opened:
        editor, before = tgw.edit(graph, session=opened), graph.version
        with pytest.raises(GraphEditError, match="initial value of 'w:0' needs 'missing"):
            editor.clone("x", "y", "copy", init="initial")
        assert graph.version == before
        assert editor._core.executor.free_scope() == "copy"


def test_the_scope_is_taken_for_later_cells(mlp: tf.Graph, editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    with mlp.as_default(), tf.name_scope("copy") as scope:
        assert scope == "copy_1/"


def test_cloning_inside_name_device_and_control_scopes_changes_nothing_of_it(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    with mlp.as_default(), tf.name_scope("outer"), tf.control_dependencies([tf.no_op()]):
        copy = editor.clone("x:0", "net/logits:0", "copy")
    assert copy["net/logits"].name == "copy/net/logits"
    assert not copy["net/logits"].control_inputs
    with mlp.as_default(), tf.name_scope("copy") as scope:
        assert scope == "copy_1/"


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        ({"inputs": "y:0"}, UnknownName, "no op 'y'"),
        ({"inputs": "x:3"}, UnknownName, "no tensor 'x:3': op 'x' has 1 output"),
        ({"outputs": "net/logit:0"}, UnknownName, "did you mean 'net/logits'"),
        ({"into": "net"}, NameTaken, "'net' is taken in this graph; 'net_1' is free"),
        ({"into": "NET/one"}, NameTaken, "'NET/one_1' is free"),
        ({"into": "not a scope"}, NameTaken, "'not a scope' is not a name scope"),
        ({"into": 5}, NameTaken, "5 is not a name scope"),
        ({"into": ""}, NameTaken, "'' is not a name scope"),
        ({"inputs": "net/logits:0", "outputs": "x:0"}, NoPath, "other way round"),
        ({"outputs": ()}, NoPath, "needs an output"),
        ({"variables": "some"}, GraphEditError, "variables='some' is not known"),
        ({"init": "zeros"}, GraphEditError, "init='zeros' is not known"),
        ({"inputs": 3.5}, GraphEditError, "3.5"),
        ({"device": 5}, GraphEditError, "device=5 is not what clone takes; give a device's name"),
        ({"device": {"net": 5}}, GraphEditError, "device={'net': 5} is not"),
        ({"device": ["/cpu:0"]}, GraphEditError, "device=['/cpu:0'] is not"),
        ({"devices": 5}, GraphEditError, "devices=5 is not what clone takes; give a list"),
        ({"devices": [None]}, GraphEditError, "devices=[None] is not"),
        ({"replace": 3}, GraphEditError, "replace=3 is not what clone takes; give a dict"),
        ({"replace": ["x:0"]}, GraphEditError, "replace=['x:0'] is not"),
        (
            {"src_scope": 5},
            GraphEditError,
            "src_scope=5 is not what clone takes; give the name of a scope",
        ),
    ],
)
def test_a_refusal_is_one_sentence_and_changes_nothing(
    mlp: tf.Graph,
    editor: GraphEditor,
    call: dict[str, object],
    error: type[Exception],
    sentence: str,
) -> None:
    before = mlp.as_graph_def().SerializeToString(deterministic=True)
    collections = {key: len(mlp.get_collection(key)) for key in mlp.get_all_collection_keys()}
    arguments = {"inputs": "x:0", "outputs": "net/logits:0", "into": "copy", **call}
    with pytest.raises(error) as refusal:
        editor.clone(**arguments)  # type: ignore[arg-type]
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert mlp.as_graph_def().SerializeToString(deterministic=True) == before
    assert {
        key: len(mlp.get_collection(key)) for key in mlp.get_all_collection_keys()
    } == collections
    assert not editor.history.done


def test_devices_may_come_one_by_one(editor: GraphEditor) -> None:
    copies = editor.clone(
        "x:0", "net/logits:0", "copy", devices=(f"/device:CPU:{k}" for k in range(2))
    )
    assert [copy["net/logits"].device for copy in copies] == ["/device:CPU:0", "/device:CPU:1"]


def test_a_preview_is_asked_for_as_a_clone_is(editor: GraphEditor) -> None:
    assert [*signature(editor.clone).parameters][:4] == ["inputs", "outputs", "into", "variables"]
    with pytest.raises(GraphEditError, match=r"no option 'time'; did you mean 'times'\?"):
        editor.preview(editor.clone, "x:0", "net/logits:0", time=3)


def test_a_tensor_of_another_graph_is_refused(editor: GraphEditor, line: tf.Graph) -> None:
    with pytest.raises(UnknownName, match="belongs to another graph"):
        editor.clone(line.get_tensor_by_name("x:0"), "net/logits:0")


def test_a_variable_without_an_assign_gets_one() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="w", name="w")
        tf.add(x, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), name="y")
        fill_it = tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 2.0], name="elsewhere")
    with v1.Session(graph=graph) as opened:
        opened.run(fill_it)
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert opened.run(copy["y:0"], {"x:0": [10, 10]}).tolist() == [11, 12]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            opened.run(copy.variables[0].initializer)
        fill(copy.variables[0], 0.0, opened)
        assert opened.run(["y:0", copy["y:0"]], {"x:0": [10, 10]})[0].tolist() == [11, 12]


def raw_variable(*, guarded: bool) -> tf.Graph:
    """A resource variable of raw ops, read only by the op that uses it; `guarded`: after an update
    that halves it.
    """
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="w", name="w")
        tf.raw_ops.AssignVariableOp(resource=handle, value=8.0, name="w/Assign")
        half = tf.raw_ops.AssignVariableOp(resource=handle, value=4.0, name="half")
        with tf.control_dependencies([half] if guarded else []):
            value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="value")
        tf.add(x, value, name="y")
    return graph


def test_any_plain_read_shows_the_value_of_a_variable() -> None:
    graph = raw_variable(guarded=False)
    with v1.Session(graph=graph) as opened:
        opened.run("w/Assign")
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert opened.run(["y:0", copy["y:0"]], {"x:0": 1.0}) == [9, 9]


def test_a_value_that_cannot_be_read_without_an_update_is_not_read() -> None:
    graph = raw_variable(guarded=True)
    with v1.Session(graph=graph) as opened:
        opened.run("w/Assign")
        before = graph.version
        with pytest.raises(NotClonable, match="reads it without running another op"):
            tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert graph.version == before
        handle = graph.get_tensor_by_name("w:0")
        with graph.as_default():
            assert opened.run(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)) == 8


def test_planning_touches_nothing(mlp: tf.Graph) -> None:
    before = mlp.as_graph_def().SerializeToString(deterministic=True)
    patch = Clone(("x:0",), ("net/logits:0",), "copy").plan(
        IndexContext(build(mlp.as_graph_def().node))
    )
    assert mlp.as_graph_def().SerializeToString(deterministic=True) == before
    assert patch.inverse().inverse() == patch
    assert all(node.name.startswith("copy/") for node in patch.add.nodes)


def test_chosen_ops_have_variables_of_their_own_without_choosing_the_reads(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    before = session.run("net/logits:0", {"x:0": batch})
    way = editor.path("x", "net/logits")
    assert not way.variables
    preview = editor.preview(editor.clone, way, into="copy")
    assert ([state.name for state in preview.new], preview.shared) == (VARIABLES, ())
    copy = editor.clone(way, into="copy")
    assert [variable.op.name for variable in copy.variables] == [
        f"copy/{name}" for name in VARIABLES
    ]
    feeds = {"x:0": batch, copy["x:0"]: batch}
    assert np.array_equal(session.run(copy["net/logits:0"], feeds), before)
    for variable in copy.variables:
        fill(variable, 1, session)
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], feeds)
    assert np.array_equal(original, before)
    assert not np.array_equal(copied, before)


def test_of_chosen_ops_each_variable_may_be_shared(editor: GraphEditor) -> None:
    way = editor.path("x", "net/logits")
    names = editor.clone(way, into="one", variables={"net/one": "shared"}).variables
    assert [variable.op.name for variable in names] == ["one/net/two/w", "one/net/two/b"]
    exactly = editor.preview(editor.clone, way, into="two", variables="shared")
    assert exactly.ops == way.ops
    assert [state.name for state in exactly.shared] == VARIABLES


def test_a_value_that_is_replaced_brings_no_variable(mlp: tf.Graph, editor: GraphEditor) -> None:
    with mlp.as_default():
        halves = tf.fill([3, 4], 0.5)
    way = editor.path("x", "net/logits")
    new = editor.preview(editor.clone, way, into="copy", replace={way.inputs[0]: halves}).new
    assert [state.name for state in new] == VARIABLES[1:]


def test_a_lookup_and_a_gather_alone_bring_their_table_and_their_variable() -> None:
    graph = tf.Graph()
    with graph.as_default():
        words = v1.placeholder(tf.string, [None], name="words")
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
        ids = tf.lookup.StaticHashTable(init, -1, name="table").lookup(words, name="ids")
        weights = v1.get_variable("w", [2, 3], use_resource=True)
        rows = tf.gather(weights, ids, name="rows")
        tables = v1.tables_initializer()
    with initialised(graph) as session:
        session.run(tables)
        editor = tgw.edit(graph, session=session)
        chosen = editor.path("words", rows.op.name)
        preview = editor.preview(editor.clone, chosen, into="copy")
        assert [state.kind for state in preview.new] == ["hash table", "variable"]
        assert preview.shared == ()
        copy = editor.clone(chosen, into="copy")
        fill(copy.variables[0], 7, session)
        kept, new = session.run([rows, copy[rows.name]], {words: ["b"], copy["words:0"]: ["b"]})
    assert (new == 7).all()
    assert not (kept == 7).any()


def test_an_identity_between_chosen_ops_is_no_state_and_stays_with_the_original() -> None:
    graph = tf.Graph()
    with graph.as_default():
        a = tf.nn.relu(v1.placeholder(tf.float32, [2], name="x"), name="a")
        tf.tanh(tf.identity(a, name="between"), name="c")
    editor = tgw.edit(graph)
    assert editor.preview(editor.clone, editor.ops("a", "c"), into="copy").ops == ("a", "c")


def test_identities_that_read_themselves_or_are_many_end() -> None:
    nodes = [("loop", "Identity", "loop"), ("reads", "Relu", "loop"), ("first", "Placeholder", "")]
    nodes += [(f"i{k}", "Identity", f"i{k - 1}" if k else "first") for k in range(10_000)]
    definition = v1.GraphDef()
    for name, kind, before in (*nodes, ("last", "Relu", "i9999")):
        node = definition.node.add(name=name, op=kind, input=[before] if before else [])
        node.attr["dtype" if kind == "Placeholder" else "T"].type = tf.float32.as_datatype_enum
    editor = tgw.edit(definition)
    assert editor.preview(editor.clone, editor.ops("reads", "last"), into="copy").ops == (
        "reads",
        "last",
    )


def test_a_read_between_a_chosen_variable_and_a_chosen_op_comes_along(editor: GraphEditor) -> None:
    way = editor.path("x", "net/one/out")
    read = way.inputs[0].partition(":")[0]
    preview = editor.preview(editor.clone, way | editor.ops("net/one/w"), into="copy")
    assert read in preview.ops
    assert preview.shared == ()


def test_a_chosen_update_leaves_the_original_variable_alone(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session
) -> None:
    with mlp.as_default():
        w = mlp.get_collection("variables")[0]
        step = v1.assign_add(w, tf.ones_like(w)).op
    before = read([w], session)[0]
    copy = editor.clone(editor.ops(step), into="copy")
    session.run(copy[step.name])
    assert np.array_equal(read([w], session)[0], before)
    assert np.array_equal(read(copy.variables, session)[0], before + 1)


def test_a_taken_name_offers_a_free_one(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    with pytest.raises(NameTaken, match="'copy_1' is free") as refused:
        editor.clone("x:0", "net/logits:0", "copy", init="initial")
    done = editor.apply(refused.value.fixes[0])
    assert "copy_1/net/logits" in done.added
    assert editor.history.lines[-1].startswith("copy_1 = editor.clone(")
    assert 'init="initial"' in editor.history.lines[-1]
    session.run("copy_1/net/logits:0", {"x:0": batch})
    for refused_too in ({"into": "copy", "times": 0}, {"into": "no scope"}, {"into": "x" * 1001}):
        with pytest.raises(GraphEditError) as plain:
            editor.clone("x:0", "net/logits:0", **refused_too)
        assert plain.value.fixes == ()
    with pytest.raises(NameTaken) as no_way:
        editor.clone("net/logits:0", "x:0", "copy")  # under no name is there a path
    assert no_way.value.fixes == ()


def test_a_clone_that_is_done_as_an_edit_has_its_values(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    done = editor.apply(clone_command(editor, "x:0", "net/logits:0", "copy"))
    assert "copy/net/one/w" in done.added
    original, copied = session.run(["net/logits:0", "copy/net/logits:0"], {"x:0": batch})
    assert np.array_equal(original, copied)
    editor.undo()
    assert "copy/net/logits" not in editor._core.index.ids


def test_what_cannot_be_planned_names_the_call_that_does_it(editor: GraphEditor) -> None:
    grown = editor.call("net/logits", tf.nn.relu, into="grown")
    assert grown
    with pytest.raises(
        GraphEditError, match=r"adds to a graph is known once it was called; call .*editor\.call\("
    ):
        editor.preview(editor.history.done[-1].command)
    with pytest.raises(GraphEditError, match=r"'clone' is not an edit; give error"):
        editor.apply("clone")


@pytest.mark.parametrize("by_name", [True, False], ids=["name", "variable"])
def test_a_partitioned_variable_is_one_variable_for_init_and_variables(*, by_name: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        rows = v1.placeholder(tf.int32, [None], "rows")
        table = v1.get_variable("table", [10, 3], partitioner=v1.fixed_size_partitioner(3))
        found = v1.nn.embedding_lookup(table, rows, partition_strategy="div")
        tf.identity(found, name="found")
    values = np.arange(30, dtype=np.float32).reshape(10, 3)
    with initialised(graph) as session:
        editor, key = tgw.edit(graph, session=session), "table" if by_name else table
        copy = editor.clone("rows:0", "found:0", into="copy", init={key: values})
        given = session.run(copy["found:0"], {"rows:0": range(10)})
        assert np.array_equal(given, values)
        with pytest.raises(GraphEditError, match=r"'table' is of shape \(10, 3\); give a value"):
            editor.clone("rows:0", "found:0", into="wrong", init={key: values[:4]})
        twin = editor.clone("rows:0", "found:0", into="twin", variables={key: "shared"})
        assert twin.variables == ()


@pytest.mark.parametrize("resource", [False, True])
def test_slots_of_an_optimizer_are_no_part_of_a_scope_that_is_cloned(*, resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.variable_scope("net", use_resource=resource):
        x = v1.placeholder(tf.float32, [None, 3], "x")
        kernel = v1.get_variable("kernel", [3, 3])
        y = tf.matmul(tf.matmul(x, kernel), v1.get_variable("extra", [3, 2]), name="y")
    with graph.as_default():
        averages = tf.train.ExponentialMovingAverage(0.9)
        step = v1.train.AdamOptimizer().minimize(tf.reduce_sum(y))
        with tf.control_dependencies([step]):
            averages.apply([kernel])
    session = v1.Session(graph=graph)
    for variable in graph.get_collection("variables"):
        session.run(variable.initializer)  # in order: an average begins with its variable's value
    editor = tgw.edit(graph, session)
    copy = editor.clone(editor.ops(scope="net"), into="copy")
    assert [v.name for v in copy.variables] == ["copy/net/kernel:0", "copy/net/extra:0"]
    (dropped,) = copy.report.dropped
    assert dropped == (
        "'net/kernel/Adam', 'net/kernel/Adam_1', 'net/extra/Adam' and 2 more are not copied: only "
        "ops outside of the part, such as an optimizer's, use them."
    )
    assert not any("Adam" in op.name for op in graph.get_operations() if op.name in copy.ops)

    shared = editor.clone(editor.ops(scope="net"), into="shared", variables="shared")
    assert not shared.report.dropped

    trained = editor.clone(~editor.ops(scope="copy") - editor.ops(scope="shared"), into="trained")
    assert len(trained.variables) == 2 + 4 + 2 + 1  # weights, slots, powers of beta, an average
    assert not trained.report.dropped


@pytest.mark.parametrize("name", ["net/hidden", "net/hidden/"])
def test_the_name_of_a_scope_means_its_ops(name: str) -> None:
    editor = tgw.example()
    by_name = editor.clone(name, into="copy")
    editor.undo()
    by_ops = editor.clone(editor.ops(scope="net/hidden"), into="other")
    copied = {name.removeprefix("copy/") for name in by_name.ops}
    assert copied == {name.removeprefix("other/") for name in by_ops.ops}
    assert {"net/hidden/w", "net/hidden/MatMul"} <= copied
