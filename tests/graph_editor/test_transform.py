"""`ge.transform` where the original was wrong or the corpus has no case."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget.graph_editor as ge
from tests.conftest import build_mlp, initialised
from tests.graph_editor.corpus import names
from tests.graph_editor.transformed import canonical, collected
from tfgraphwidget.errors import GraphFinalized

v1 = tf.compat.v1


def state(graph: tf.Graph) -> tuple[int, dict[str, list[str]]]:
    """How many ops, and what is in the collections."""
    return len(graph.get_operations()), {
        key: held for key, held in collected(graph).items() if held
    }


@pytest.fixture
def loop() -> tf.Graph:
    """y = x through four rounds of v tanh(k v), in a conditional on x > 0; dy is its gradient."""
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        k = tf.constant(0.5, name="k")

        def rounds() -> tf.Tensor:
            return v1.while_loop(
                lambda i, _: i < 4, lambda i, v: (i + 1, v * tf.tanh(k * v) + x), [0, x]
            )[1]

        y = tf.identity(v1.cond(x > 0, rounds, lambda: x - 1), name="y")
        tf.identity(tf.gradients(y, x)[0], name="dy")
    return graph


def test_copied_variables_are_new_variables_in_the_collections_of_the_originals(mlp, session):
    net = ge.sgv_scope("net", mlp)
    view, info = ge.copy(net, dst_scope="twin")
    copies = [v for v in mlp.get_collection("trainable_variables") if v.name.startswith("twin/")]
    assert names(copies) == [f"twin/{v.name}" for v in mlp.get_collection("variables")[:4]]
    assert names(view.inputs) == ["twin/geph__x_0:0"]
    with mlp.as_default():
        session.run(v1.variables_initializer(copies))
        copies[0].load(np.zeros([3, 4]), session)
    batch = np.ones([2, 3], np.float32)
    feeds = {"x:0": batch, view.inputs[0]: batch}
    logits = mlp.get_tensor_by_name("net/logits:0")
    before, after = session.run([logits, info.transformed(logits)], feeds)
    assert np.abs(before).max() > 0
    assert np.abs(after).max() == 0


def test_a_copy_in_another_graph_is_initialised_and_trained_there(mlp):
    other = tf.Graph()
    view, info = ge.copy(mlp, other, "there")
    with other.as_default():
        loss = tf.reduce_mean(
            tf.square(info.transformed(mlp.get_tensor_by_name("net/logits:0")) - 1.0)
        )
        step = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session = initialised(other)
    feeds = {"there/x:0": np.ones([4, 3], np.float32)}
    first = session.run(loss, feeds)
    session.run([step] * 1, feeds)
    for _ in range(30):
        session.run(step, feeds)
    assert session.run(loss, feeds) < first
    assert len(other.get_collection("trainable_variables")) == 4
    assert view.graph is other


def test_loops_and_conditionals_run_next_to_their_originals_and_have_the_same_gradients(loop):
    _, info = ge.copy(loop, dst_scope="cp")
    x, y, dy = (loop.get_tensor_by_name(f"{name}:0") for name in ("x", "y", "dy"))
    x_, y_, dy_ = info.transformed((x, y, dy))
    with loop.as_default():
        anew = tf.gradients(y_, x_)[0]
    with v1.Session(graph=loop) as session:
        for value in (0.7, -0.3):
            got = session.run([y, y_, dy, dy_, anew], {x: value, x_: value})
            assert got[0] == got[1]
            assert got[2:] == pytest.approx([got[2]] * 3)


def test_replacing_takes_the_whole_loop_and_differentiates(loop):
    x, y, dy = (loop.get_tensor_by_name(f"{name}:0") for name in ("x", "y", "dy"))
    with loop.as_default():
        new = tf.constant(0.4, name="new")
        both = ge.graph_replace({"y": y, "dy": dy}, {x: new}, dst_scope="other")
        anew = tf.gradients(both["y"], new)[0]
    with v1.Session(graph=loop) as session:
        wanted = session.run([y, dy], {x: 0.4})
        got = session.run([both["y"], both["dy"], y, dy, anew], {x: 0.4})
    assert got == pytest.approx([*wanted, *wanted, wanted[1]])


def test_a_tensor_inside_a_loop_cannot_be_replaced_alone(loop):
    inside = next(op for op in loop.get_operations() if op.type == "Tanh").outputs[0]
    before = state(loop)
    with (
        loop.as_default(),
        pytest.raises(ValueError, match="lies inside a while loop, which can only be copied whole"),
    ):
        ge.graph_replace(loop.get_tensor_by_name("y:0"), {inside: tf.constant(1.0)})
    assert state(loop)[1] == before[1]


@pytest.mark.parametrize("kind", ["copy", "one by one"])
def test_library_functions_go_along_into_another_graph(kind):
    graph, other = tf.Graph(), tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")

        @tf.function
        def twice(t: tf.Tensor) -> tf.Tensor:
            return tf.cond(t > 0, lambda: t * 2, lambda: t)

        y = tf.identity(twice(x), name="y")
        dy = tf.gradients(y, x)[0]
    copier = ge.Transformer()
    if kind == "one by one":
        copier.transform_op_handler = lambda info, op, inputs: ge.copy_op_handler(
            info, op, new_inputs=inputs
        )
    _, info = copier(graph, other, "there")
    with other.as_default():
        anew = tf.gradients(info.transformed(y), info.transformed(x))[0]
    with v1.Session(graph=other) as session:
        got = session.run(
            [info.transformed(y), info.transformed(dy), anew], {info.transformed(x): 3.0}
        )
    assert got == [6.0, 2.0, 2.0]


def test_a_handler_of_ones_own_sees_op_by_op_and_gives_the_same(loop):
    seen = []

    def handler(info: Any, op: tf.Operation, new_inputs: list[tf.Tensor]) -> Any:
        seen.append(op.name)
        assert [t.graph for t in new_inputs] == [info.graph_] * len(op.inputs)
        return ge.copy_op_handler(info, op, new_inputs)

    one, other = tf.Graph(), tf.Graph()
    copier = ge.Transformer()
    copier.transform_op_handler = handler
    _, info = copier(loop, one, "cp")
    ge.copy(loop, other, "cp")
    assert seen == names(loop.get_operations())
    nodes = {op.name: canonical(op) for op in one.get_operations() if "geph_tmp" not in op.name}
    assert nodes == {op.name: canonical(op) for op in other.get_operations()}
    x, y, dy = (info.transformed(loop.get_tensor_by_name(f"{name}:0")) for name in ("x", "y", "dy"))
    with one.as_default():
        anew = tf.gradients(y, x)[0]
    with v1.Session(graph=one) as session:
        got = session.run([dy, anew], {x: 0.7})
    assert got[0] == got[1]


def test_a_handler_may_give_another_op(line):
    def handler(info: Any, op: tf.Operation, new_inputs: list[tf.Tensor]) -> Any:
        if op.name != "b":
            return ge.copy_op_handler(info, op, new_inputs)
        with info.graph_.as_default():
            made = tf.add(new_inputs[0], 100.0, name=info.new_name("instead")).op
        return made, made.outputs

    copier = ge.Transformer()
    copier.transform_op_handler = handler
    _, info = copier(line, line, "cp")
    c, x = line.get_tensor_by_name("c:0"), line.get_tensor_by_name("x:0")
    with v1.Session(graph=line) as session:
        assert session.run(info.transformed(c), {info.transformed(x): [[1.0, 2.0]]}).tolist() == [
            [204.0, 208.0]
        ]
    copier.transform_op_handler = lambda _, op, __: (op, op.outputs)
    with pytest.raises(ValueError, match="none is transformed in place"):
        copier(line, line, "cp")


def by_hand(nodedef_fn: Any = None) -> ge.Transformer:
    """A Transformer whose handler is called op by op."""
    copier = ge.Transformer()
    copier.transform_op_handler = lambda info, op, inputs: ge.copy_op_handler(
        info, op, inputs, nodedef_fn=nodedef_fn
    )
    return copier


def test_op_by_op_a_model_is_copied_that_trains_as_its_original(mlp):
    with mlp.as_default():
        labels = v1.placeholder(tf.float32, [None, 4], name="labels")
        loss = tf.reduce_mean(
            tf.square(mlp.get_tensor_by_name("net/logits:0") - labels), name="loss"
        )
        step = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
        _, info = by_hand()(mlp, mlp, "cp")
        originals, copies = (v1.trainable_variables(scope) for scope in ("net", "cp"))
        session = initialised(mlp)
        session.run([tf.group(*(v_.assign(v) for v, v_ in zip(originals, copies, strict=True)))])
    batch = {"x": np.ones([2, 3], np.float32), "labels": np.zeros([2, 4], np.float32)}
    feeds = {f"{scope}{name}:0": value for name, value in batch.items() for scope in ("", "cp/")}
    losses = [
        session.run([loss, info.transformed(loss), step, info.transformed(step)], feeds)[:2]
        for _ in range(3)
    ]
    assert len(copies) == 4
    assert losses[0][0] > losses[2][0]
    assert [copy for _, copy in losses] == pytest.approx([original for original, _ in losses])


def test_op_by_op_a_node_may_become_an_op_of_another_type_and_name():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [3], name="x")
        y = tf.nn.relu(x, name="y")

    def edited(node: Any) -> Any:
        node.op = "Neg" if node.op == "Relu" else node.op
        node.name += "_Edited"
        return node

    _, info = by_hand(edited)(graph, graph, "cp")
    assert names(info.transformed([x, y])) == ["cp/x_Edited:0", "cp/y_Edited:0"]
    with v1.Session(graph=graph) as session:
        assert session.run(info.transformed(y), {"cp/x_Edited:0": [1.0, -2.0, 3.0]}).tolist() == [
            -1.0,
            2.0,
            -3.0,
        ]
    with graph.as_default():
        assert tf.no_op(name="cp/y_Edited").name == "cp/y_Edited_1"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "c"}, "has an op 'c' already; copy into another name scope"),
        ({"op": "NoSuchOp"}, "TensorFlow refuses the new ops: .*NoSuchOp"),
        (
            {"device": "gpu zero"},
            "'gpu zero', the device of op 'cp/b', is not written as TensorFlow writes one",
        ),
    ],
)
def test_op_by_op_what_a_handler_made_wrong_is_refused_in_a_sentence(line, change, words):
    def edited(node: Any) -> Any:
        for key, value in change.items() if node.name == "cp/b" else ():
            setattr(node, key, value)
        return node

    with line.as_default():
        v1.add_to_collection("mine", line.get_tensor_by_name("a:0"))
    ops, before = line.get_operations(), state(line)[1]
    with pytest.raises(ValueError, match=words) as caught:
        by_hand(edited)(ops, line, "cp")
    assert "\n" not in str(caught.value)
    assert state(line)[1] == before
    copies, _ = by_hand()(ops, line, "cp")
    assert names(copies.ops) == [f"cp_1/{op.name}" for op in ops]


@pytest.mark.parametrize("kind", ["together", "op by op"])
def test_a_copy_stands_next_to_the_copy_of_an_op_that_comes_later(line, kind):
    early, later = (line.get_operation_by_name(name) for name in ("a", "c"))
    early._set_attr("_class", v1.AttrValue(list=v1.AttrValue.ListValue(s=[b"loc:@c"])))
    copier = ge.Transformer() if kind == "together" else by_hand()
    for target in (line, tf.Graph()):
        _, info = copier(line, target, "cp")
        assert (
            info.transformed(early).colocation_groups()
            == info.transformed(later).colocation_groups()
        )
        assert info.transformed(early).colocation_groups() != early.colocation_groups()


def test_op_by_op_inputs_that_do_not_fit_are_refused_in_a_sentence(line):
    with line.as_default():
        whole = tf.constant(3, name="whole")
    copier = ge.Transformer()
    copier.transform_op_handler = lambda info, op, inputs: ge.copy_op_handler(
        info, op, [whole] * len(inputs)
    )
    with pytest.raises(
        ValueError,
        match=r"TensorFlow refuses the new ops: .*; choose others, or other inputs for them",
    ):
        copier(line, line, "cp")


def test_op_by_op_a_copy_may_be_named_as_a_scope_is_and_has_the_static_shape_of_its_original():
    graph, other = tf.Graph(), tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2], name="in")
        y = v1.py_func(lambda t: t * 2, [x], tf.float32, name="act")
        y.set_shape([2])
    with other.as_default(), tf.name_scope("act"):
        tf.constant(1.0, name="inner")
    other._names_in_use.pop("act")  # as after a bare import, which marks no scopes
    _, info = by_hand()(graph, other, "")
    assert info.transformed(y).name == "act:0"
    assert info.transformed(y).shape == [2]
    with v1.Session(graph=other) as session:
        assert session.run("act:0", {"in:0": [1.0, 2.0]}).tolist() == [2.0, 4.0]


def test_a_handler_may_edit_each_node():
    graph = build_mlp(resource=True)

    def edited(node: Any) -> Any:
        node.device = "/device:CPU:0"
        node.name += "_edited"
        return node

    copier = ge.Transformer()
    copier.transform_op_handler = partial(ge.copy_op_handler, nodedef_fn=edited)
    _, info = copier(graph, graph, "cp")
    w = graph.get_operation_by_name("net/one/w")
    assert info.transformed(w).name == "cp/net/one/w_edited"
    assert {info.transformed(op).device for op in info.original([info.transformed(w)])} == {
        "/device:CPU:0"
    }
    session = initialised(graph)
    logits = info.transformed(graph.get_tensor_by_name("net/logits:0"))
    assert session.run(logits, {"cp/x_edited:0": np.ones([2, 3])}).shape == (2, 4)
    assert "cp/net/one/w_edited:0" in names(graph.get_collection("variables"))


def test_the_other_handlers_are_asked(net):
    copier = ge.Transformer()
    with net.graph.as_default():
        ten = tf.constant([10.0, 10.0], name="ten")
        tf.compat.v1.add_to_collection("mine", net.d)
    given = []
    copier.transform_external_input_handler = lambda *_: ten
    copier.transform_control_input_handler = partial(
        ge.transform_op_if_inside_handler, keep_if_possible=False
    )
    copier.assign_collections_handler = lambda _, elem, elem_: given.append((elem.name, elem_.name))
    view, info = copier(ge.sgv(net.c.op, net.d.op), net.graph, "cp")
    assert names(view.inputs) == ["ten:0"]
    assert info.transformed(net.d.op).control_inputs == []
    originals = ["foo/c", "foo/c:0", "foo/bar/d", "foo/bar/d:0"]
    assert given == [(name, f"cp/{name}") for name in originals]
    assert net.graph.get_collection("mine") == [net.d]


def test_one_placeholder_for_each_tensor_from_outside(net):
    view, info = ge.copy([net.d.op, net.e.op], dst_scope="cp")
    assert names(view.inputs) == ["cp/geph__c_0:0", "cp/geph__split_dim_0:0"]
    assert info.inputs[net.c] is view.inputs[0]
    assert view.inputs[0].shape == net.c.shape
    assert info.transformed(net.e).op.inputs[1] is info.transformed(net.d).op.inputs[0]


def test_a_name_that_is_a_scope_in_the_destination_is_no_obstacle():
    graph, other = tf.Graph(), tf.Graph()
    with graph.as_default():
        tf.identity(tf.constant([1.0, -2.0], name="in"), name="act")
    with other.as_default(), tf.name_scope("act"):
        tf.constant(1.0, name="inner")
    other._names_in_use.pop("act")  # as after a bare import, which marks no scopes
    _, info = ge.copy(graph, other)
    assert names(info.transformed(graph.get_operations())) == ["in", "act"]
    with v1.Session(graph=other) as session:
        assert session.run("act:0").tolist() == [1.0, -2.0]


def test_static_shapes_are_kept_unless_an_input_has_another():
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [2, 3], name="x")
        y = v1.py_func(lambda t: t * 2, [x], tf.float32, name="y")
        y.set_shape([2, 3])
        z = tf.add(y, 1.0, name="z")
        wider = v1.placeholder(tf.float32, [None, 3], name="wider")
    _, info = ge.copy(graph, dst_scope="cp")
    assert info.transformed([y, z])[1].shape == info.transformed(y).shape == [2, 3]
    assert ge.graph_replace(z, {x: wider}).shape.rank is None


def test_what_is_replaced_and_lies_between_is_replaced_too():
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(2.0, name="a")
        b = tf.multiply(a, 10.0, name="b")
        c = tf.add(a, b, name="c")
        new_a, new_b = tf.constant(3.0), tf.constant(100.0)
    before = len(graph.get_operations())
    made = ge.graph_replace([c, a], {a.ref(): new_a, b.ref(): new_b})
    assert made[1] is a
    assert len(graph.get_operations()) == before + 1
    with v1.Session(graph=graph) as session:
        assert session.run(made[0]) == 103.0


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (tf.int32, TypeError, "is int32, but represents 'x:0', which is float32"),
        (tf.float32, ValueError, "refuses"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(line, value, error, words):
    with line.as_default():
        wrong = v1.placeholder(value, [5, 2, 2], name="wrong")
        line.get_tensor_by_name("a:0").set_shape([3, 2])
        v1.add_to_collection(
            "mine", tf.reshape(line.get_tensor_by_name("a:0"), [3, 2], name="last")
        )
    before = state(line)
    with pytest.raises(error, match=words):
        ge.graph_replace(
            line.get_tensor_by_name("last:0"), {line.get_tensor_by_name("x:0"): wrong}, "cp"
        )
    assert state(line) == before
    copies, _ = ge.copy(line, dst_scope="cp")
    assert copies.ops[0].name == "cp/x"


def test_a_handler_that_fails_leaves_collections_as_they_were(mlp):
    def handler(info: Any, elem: Any, elem_: Any) -> None:
        ge.assign_renamed_collections_handler(info, elem, elem_)
        if elem.name == "net/two/w:0":
            raise KeyError("mine")

    copier = ge.Transformer()
    copier.assign_collections_handler = handler
    before = state(mlp)[1]
    with pytest.raises(KeyError, match="mine"):
        copier(mlp, mlp, "cp")
    assert state(mlp)[1] == before


def test_a_finalized_graph_is_not_touched(line):
    line.finalize()
    with pytest.raises(GraphFinalized, match="is finalized"):
        ge.copy(line, dst_scope="cp")
    assert len(line.get_operations()) == 7


def test_what_changes_a_variable_outside_shares_it_or_is_refused():
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_resource_variables()
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        add = v1.assign_add(v, 5.0, name="add")
        total = tf.identity(add, name="total")
    view, info = ge.copy([add.op, total.op], dst_scope="cp")
    assert names(view.inputs) == ["v:0", "cp/geph__value_0:0"]
    session = initialised(graph)
    assert session.run(info.transformed(total), {view.inputs[1]: 2.0}) == 2.0
    assert session.run(total) == 7.0
    with pytest.raises(
        TypeError, match="'add' changes the variable 'v:0', and no placeholder can replace"
    ):
        ge.copy([add.op, total.op], tf.Graph())


def test_info_says_what_has_become_of_what(net):
    view, info = ge.copy([net.c.op, net.d.op], tf.Graph(), "cp", src_scope="foo")
    assert names(info.transformed({"c": net.c, "ops": [net.d.op]})["ops"]) == ["cp/bar/d"]
    assert info.transformed("foo/c:0") is info.transformed(net.c)
    assert info.transformed("foo/c") is info.transformed(net.c.op)
    assert info.transformed([net.a, net.c.op], missing_fn=lambda top: top)[0] is net.a
    assert info.transformed(net.a) is None
    assert info.original(info.transformed((net.c, net.d.op))) == (net.c, net.d.op)
    assert info.original("cp/c") is net.c.op
    assert info.original(view.inputs[0]) is None
    assert info.dropped == (
        "Control input 'foo/wait' is left out: it is not copied, and lies in the other graph.",
    )
    assert str(info).splitlines()[-3:] == [
        "Operations mapping:",
        "  foo/c => cp/c",
        "  foo/bar/d => cp/bar/d",
    ]
    with pytest.raises(TypeError, match="Expected a"):
        info.transformed(3)


def test_tables_queues_and_their_runners_are_new():
    graph = tf.Graph()
    with graph.as_default():
        files = v1.train.string_input_producer(["a", "b"], shuffle=False, shared_name="files")
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1
        )
        found = table.lookup(files.dequeue(), name="found")
        _, info = ge.copy(graph, dst_scope="cp")
        assert len(graph.get_collection("queue_runners")) == 2
        with v1.Session(graph=graph) as session:
            session.run([v1.tables_initializer(), v1.local_variables_initializer()])
            stop = tf.train.Coordinator()
            threads = v1.train.start_queue_runners(session, stop)
            got = [session.run([found, info.transformed(found)]) for _ in range(3)]
            stop.request_stop()
            stop.join(threads)
    assert got == [[1, 1], [2, 2], [1, 1]]


def test_partitioned_variables_have_keys_of_their_own_in_checkpoints():
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("part/table", [4, 2], partitioner=v1.fixed_size_partitioner(2))
    ge.copy(graph, dst_scope="cp", src_scope="part")
    assert [v._save_slice_info.full_name for v in graph.get_collection("variables")] == [
        "part/table"
    ] * 2 + ["cp/table"] * 2


def test_an_op_may_be_made_to_read_other_tensors_in_place(net):
    copier = ge.Transformer()
    replaced = []

    def handler(info: Any, op: tf.Operation, new_inputs: list[tf.Tensor]) -> Any:
        if op is net.c.op:
            return ge.copy_op_handler(info, op, new_inputs)
        replaced.append(ge.transform_op_in_place(info, op))
        return ge.copy_op_handler(info, op, new_inputs)

    copier.transform_op_handler = handler
    _, info = copier([net.c.op, net.d.op], net.graph, "cp")
    assert replaced == [net.d.op]
    assert net.d.op.inputs[0] is info.transformed(net.c)


def test_an_empty_view_cannot_be_copied(line):
    with pytest.raises(TypeError, match="The view is empty"):
        ge.copy(ge.sgv())
    with pytest.raises(TypeError, match="The view is empty"):
        ge.copy([], line, "cp")
    assert len(line.get_operations()) == 7
