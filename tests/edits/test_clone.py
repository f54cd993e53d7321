"""Clone: what the copy is, and that the original is untouched."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, initialised, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.errors import GraphEditError, NameTaken, NoPath, NotClonable, UnknownName
from tfgraphwidget.graph.index import build


def test_the_copy_gives_the_same_numbers(editor: GraphEditor, session: v1.Session, batch: np.ndarray) -> None:
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


def test_the_original_can_change_without_the_copy(editor: GraphEditor, session: v1.Session, batch: np.ndarray) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    before = session.run(copy["net/logits:0"], {"x:0": batch})
    for variable in editor.graph.get_collection("variables"):
        if variable.name in copy:
            fill(variable, 0, session)
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    assert np.array_equal(copied, before)
    assert not original.any()


def test_shared_variables_follow_the_original(editor: GraphEditor, session: v1.Session, batch: np.ndarray) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy", variables="shared")
    assert copy.variables == ()
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 0.5, session)
    original, copied = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    assert np.array_equal(original, copied)


def test_the_copies_are_real_variables_in_the_same_collections(mlp: tf.Graph, editor: GraphEditor) -> None:
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


def test_the_initial_values_of_the_copies_are_theirs(editor: GraphEditor, session: v1.Session) -> None:
    for variable in editor.graph.get_collection("variables"):
        fill(variable, 3.0, session)
    copy = editor.clone("x:0", "net/logits:0", "copy", init="initial")
    values = dict(zip([v.name for v in copy.variables], read(copy.variables, session), strict=True))
    assert not values["copy/net/one/b:0"].any()
    assert 0 < np.abs(values["copy/net/one/w:0"]).max() < 3


def test_init_none_leaves_the_copies_without_values(mlp: tf.Graph, editor: GraphEditor, session: v1.Session) -> None:
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
    assert all(np.array_equal(a, b) for a, b in zip(read(copy.variables, session), values, strict=True))
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


def test_a_variable_shared_by_towers_is_copied_once_with_its_regulariser(shared_weights: tf.Graph) -> None:
    with initialised(shared_weights) as session:
        copy = tgw.edit(shared_weights, session=session).clone(["a/x", "b/x"], ["a/y", "b/y"], "copy")
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
        assert [v.name for v in copy.variables] == [v.name for v in bare.get_collection("variables")]
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


def test_partitioned_variables_keep_their_slices() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", [4, 2], partitioner=v1.fixed_size_partitioner(2))
        tf.matmul(x, tf.convert_to_tensor(w), name="y")
    with initialised(graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [v._save_slice_info.spec for v in copy.variables] == ["4 2 0,2:0,2", "4 2 2,2:0,2"]
        feed = {"x:0": np.eye(4)}
        assert np.array_equal(*opened.run(["y:0", copy["y:0"]], feed))


def test_tables_and_queues_stay_shared_and_come_from_outside() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [None], name="x")
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        table = tf.lookup.StaticHashTable(init, -1, name="table")
        tf.identity(table.lookup(x), name="y")
    with v1.Session(graph=graph) as opened:
        with graph.as_default():
            opened.run(v1.tables_initializer())
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert any(name.startswith("table") for name in copy.outside)
        assert opened.run(copy["y:0"], {"x:0": ["b", "z"]}).tolist() == [2, -1]


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


def test_control_inputs_from_outside_are_kept() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.control_dependencies([tf.no_op(name="first")]):
            tf.identity(x, name="y")
    with v1.Session(graph=graph) as opened:
        copy = tgw.edit(graph, session=opened).clone("x", "y", "copy")
        assert [op.name for op in copy["y"].control_inputs] == ["first"]


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


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        ({"inputs": "y:0"}, UnknownName, "no op 'y'"),
        ({"inputs": "x:3"}, UnknownName, "no op or tensor 'x:3'"),
        ({"outputs": "net/logit:0"}, UnknownName, "Did you mean 'net/logits'"),
        ({"into": "net"}, NameTaken, "'net' is taken in this graph; 'net_1' is free"),
        ({"into": "NET/one"}, NameTaken, "'NET/one_1' is free"),
        ({"into": "not a scope"}, NameTaken, "'not a scope' is no name scope"),
        ({"into": ""}, NameTaken, "'' is no name scope"),
        ({"inputs": "net/logits:0", "outputs": "x:0"}, NoPath, "other way round"),
        ({"outputs": ()}, NoPath, "needs an output"),
        ({"variables": "some"}, GraphEditError, "variables='some' is not known"),
        ({"init": "zeros"}, GraphEditError, "init='zeros' is not known"),
        ({"inputs": 3.5}, GraphEditError, "3.5"),
    ],
)
def test_a_refusal_is_one_sentence_and_changes_nothing(
    mlp: tf.Graph, editor: GraphEditor, call: dict[str, object], error: type[Exception], sentence: str
) -> None:
    before = mlp.as_graph_def().SerializeToString(deterministic=True)
    collections = {key: len(mlp.get_collection(key)) for key in mlp.get_all_collection_keys()}
    arguments = {"inputs": "x:0", "outputs": "net/logits:0", "into": "copy", **call}
    with pytest.raises(error) as refusal:
        editor.clone(**arguments)  # type: ignore[arg-type]
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert mlp.as_graph_def().SerializeToString(deterministic=True) == before
    assert {key: len(mlp.get_collection(key)) for key in mlp.get_all_collection_keys()} == collections
    assert not editor.history.done


def test_a_tensor_of_another_graph_is_refused(editor: GraphEditor, line: tf.Graph) -> None:
    with pytest.raises(UnknownName, match="belongs to another graph"):
        editor.clone(line.get_tensor_by_name("x:0"), "net/logits:0")


def test_v1_control_flow_is_refused_by_name(while_loop: tf.Graph) -> None:
    with v1.Session(graph=while_loop) as opened:
        before = len(while_loop.get_operations())
        with pytest.raises(NotClonable, match="while loop or conditional"):
            tgw.edit(while_loop, session=opened).clone("x", "y", "copy")
        assert len(while_loop.get_operations()) == before


def test_a_variable_without_an_assign_is_refused() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="w", name="w")
        tf.add(x, tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), name="y")
    with v1.Session(graph=graph) as opened, pytest.raises(NotClonable, match='variables="shared"'):
        tgw.edit(graph, session=opened).clone("x", "y", "copy")


def test_planning_touches_nothing(mlp: tf.Graph) -> None:
    before = mlp.as_graph_def().SerializeToString(deterministic=True)
    patch = Clone(("x:0",), ("net/logits:0",), "copy").plan(build(mlp.as_graph_def().node))
    assert mlp.as_graph_def().SerializeToString(deterministic=True) == before
    assert patch.inverse().inverse() == patch
    assert all(node.name.startswith("copy/") for node in patch.add.nodes)
