"""Copying with everything that an op depends on into another graph, as the script of 2015 did."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.conftest import initialised
from tests.graph_editor.corpus import names

v1 = tf.compat.v1


class Fit:
    """y = W x + b, fitted to 0.1 x + 0.3, as TensorFlow's first tutorial did."""

    def __init__(self, resource: bool, optimizer: v1.train.Optimizer) -> None:
        (v1.enable_resource_variables if resource else v1.disable_resource_variables)()
        self.graph = tf.Graph()
        with self.graph.as_default():
            x_data = np.random.default_rng(0).random(100).astype(np.float32)
            y_data = x_data * 0.1 + 0.3
            self.W = v1.Variable(v1.random_uniform([1], -1.0, 1.0), name="W")
            self.b = v1.Variable(tf.zeros([1]), name="b")
            y = self.W * x_data + self.b
            self.loss = tf.reduce_mean(tf.square(y - y_data), name="loss")
            self.train = optimizer.minimize(self.loss)
            v1.add_to_collection("mine", self.W)


@pytest.fixture(params=[False, True], ids=["ref", "resource"])
def resource(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def fit(resource: bool) -> Fit:
    return Fit(resource, v1.train.GradientDescentOptimizer(0.5))


@pytest.mark.parametrize("namespace", ["CopiedOps", ""])
def test_a_training_step_copied_alone_trains_in_an_empty_graph(fit, namespace):
    to_graph, copied = tf.Graph(), {}
    train = ge.copy_to_graph(fit.train, to_graph, copied, namespace)
    scope = f"{namespace}/" if namespace else ""
    assert train.name == f"{scope}GradientDescent"
    assert set(copied) == {f"{scope}W:0", f"{scope}b:0"}
    assert names(to_graph.get_collection("trainable_variables")) == [f"{scope}W:0", f"{scope}b:0"]
    assert to_graph.get_collection(f"{scope}mine") == [copied[f"{scope}W:0"]]
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(v1.variables_initializer(copied.values()))
        for _ in range(400):
            session.run(train)
        w, b = session.run([copied[f"{scope}W:0"], copied[f"{scope}b:0"]])
    assert (w[0], b[0]) == (pytest.approx(0.1, abs=1e-4), pytest.approx(0.3, abs=1e-4))


def test_what_is_there_already_is_not_copied_again(fit):
    to_graph, copied = tf.Graph(), {}
    w = ge.copy_variable_to_graph(fit.W, to_graph, "ns", copied)
    assert ge.copy_variable_to_graph(fit.W, to_graph, "ns", copied) is w
    assert ge.copy_variable_to_graph(fit.W, to_graph, "ns") is w
    train = ge.copy_to_graph(fit.train, to_graph, copied, "ns")
    loss = ge.copy_to_graph(fit.loss, to_graph, copied, "ns")
    count = len(to_graph.get_operations())
    assert len({op.name for op in to_graph.get_operations()}) == count
    assert ge.copy_to_graph(fit.train, to_graph, copied, "ns") is train
    assert ge.copy_to_graph(fit.loss.op, to_graph, namespace="ns") is loss.op
    assert ge.copy_to_graph(fit.W, to_graph, copied, "ns").name == "ns/W:0"
    assert len(to_graph.get_operations()) == count
    assert names(to_graph.get_collection("variables")) == ["ns/W:0", "ns/b:0"]
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(v1.global_variables_initializer())
        first = session.run(loss)
        session.run([train] * 2)
        assert session.run(loss) < first


def test_copies_are_found_by_their_originals(fit):
    to_graph, copied = tf.Graph(), {}
    train = ge.copy_to_graph(fit.train, to_graph, copied, "ns")
    assert ge.get_copied(fit.train, to_graph, copied, "ns") is train
    assert ge.get_copied(fit.W, to_graph, copied, "ns") is copied["ns/W:0"]
    assert ge.get_copied(fit.W, to_graph, namespace="ns") is copied["ns/W:0"]
    with pytest.raises(
        KeyError, match="The graph has no 'loss:0'; copy 'loss:0' there with copy_to_graph first"
    ):
        ge.get_copied(fit.loss, to_graph)


def test_variables_of_the_callers_own_are_used_under_the_names_of_the_copies(fit):
    to_graph = tf.Graph()
    with to_graph.as_default():
        mine = v1.Variable([7.0], name="mine")
    copied = {"ns/W:0": mine}
    ge.copy_to_graph(fit.loss, to_graph, copied, "ns")
    assert set(copied) == {"ns/W:0", "ns/b:0"}
    assert "ns/W" not in {op.name for op in to_graph.get_operations()}
    session = initialised(to_graph)
    with to_graph.as_default():
        low = session.run("ns/loss:0")
        mine.load([0.1], session)
        assert session.run("ns/loss:0") < low


def test_slots_of_an_optimiser_follow(resource):
    fit = Fit(resource, v1.train.AdamOptimizer(0.1))
    to_graph, copied = tf.Graph(), {}
    train = ge.copy_to_graph(fit.train, to_graph, copied, "ns")
    assert set(names(to_graph.get_collection("variables"))) == set(copied)
    assert {"ns/W/Adam:0", "ns/W/Adam_1:0", "ns/beta1_power:0"} <= set(copied)
    session = initialised(to_graph)
    for _ in range(300):
        session.run(train)
    with to_graph.as_default():
        assert session.run(copied["ns/W:0"])[0] == pytest.approx(0.1, abs=0.02)


def test_loops_functions_tables_and_what_fills_them_follow():
    v1.disable_control_flow_v2()
    graph, to_graph = tf.Graph(), tf.Graph()
    with graph.as_default():
        twice = tf.function(lambda t: t * 2.0)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["k"], [3.0]), -1.0)
        v = v1.get_variable(
            "v", initializer=table.lookup(tf.constant("k")) * 2.0, use_resource=True
        )
        y = v1.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, twice(t) + v), [0, 1.0])[1]
        dv = tf.gradients(y, v)[0]
    copied = {}
    both = [ge.copy_to_graph(t, to_graph, copied, "ns") for t in (y, dv)]
    assert set(copied) == {"ns/v:0"}
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(v1.tables_initializer())
        session.run(v1.global_variables_initializer())
        assert session.run(both) == [50.0, 7.0]
        assert session.run(tf.gradients(both[0], copied["ns/v:0"])[0]) == 7.0


def test_a_name_that_another_op_has_there_is_refused(fit):
    to_graph, copied = tf.Graph(), {}
    with to_graph.as_default():
        tf.constant(1.0, name="ns/loss")
    with pytest.raises(
        ValueError, match="has another op 'ns/loss', a Const, which is not a copy of 'loss'"
    ):
        ge.copy_to_graph(fit.loss, to_graph, copied, "ns")
    assert (names(to_graph.get_operations()), copied, to_graph.get_collection("variables")) == (
        ["ns/loss"],
        {},
        [],
    )


def test_what_is_neither_op_tensor_nor_variable_is_refused(fit):
    with pytest.raises(TypeError, match="is not a Variable of a graph"):
        ge.copy_variable_to_graph(fit.loss, tf.Graph(), "ns")
    with pytest.raises(TypeError, match=r"Expected a tf.Operation or tf.Tensor"):
        ge.copy_to_graph("loss", tf.Graph())
    with pytest.raises(TypeError, match=r"Expected a tf.Graph"):
        ge.copy_to_graph(fit.loss, "graph")


def test_a_variable_in_no_collection_is_copied_too():
    graph, to_graph = tf.Graph(), tf.Graph()
    with graph.as_default():
        hidden = v1.Variable([1.0, 2.0], name="hidden", collections=[])
    copy = ge.copy_variable_to_graph(hidden, to_graph, "")
    assert to_graph.get_collection("variables") == []
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(copy.initializer)
        assert session.run(copy).tolist() == [1.0, 2.0]


def test_a_name_of_a_clone_that_was_undone_is_refused_until_it_is_redone():
    graph, to_graph = tf.Graph(), tf.Graph()
    for held in (graph, to_graph):
        with held.as_default():
            w = v1.get_variable("w", [2], use_resource=True)
            y = tf.identity(w * 2.0, name="y")
    y = graph.get_tensor_by_name("y:0")
    (w,) = graph.get_collection("variables")
    editor = tgw.edit(to_graph)
    editor.clone(outputs="y", into="ns", variables="own", init="none")
    editor.undo()
    count, copied = len(to_graph.get_operations()), {}
    for copy in (
        lambda: ge.copy_to_graph(y, to_graph, copied, "ns"),
        lambda: ge.copy_variable_to_graph(w, to_graph, "ns", copied),
    ):
        with pytest.raises(
            ValueError, match=r"'ns/[wy].*' is taken in the other graph by an edit that was undone"
        ):
            copy()
    for original in (y, w):
        with pytest.raises(KeyError, match=r"copy '[wy]:0' there with copy_to_graph first"):
            ge.get_copied(original, to_graph, namespace="ns")
    assert (len(to_graph.get_operations()), copied) == (count, {})
    assert ge.copy_to_graph(y, to_graph, copied, "free").name == "free/y:0"
    editor.redo()
    assert ge.copy_to_graph(y, to_graph, namespace="ns").name == "ns/y:0"
    assert len([v for v in to_graph.get_collection("variables") if v.name == "ns/w:0"]) == 1


def test_a_copy_that_failed_can_be_tried_again_under_the_same_names(fit):
    class Full(list):
        def append(self, item: object) -> None:
            raise MemoryError("full")

    to_graph, copied = tf.Graph(), {}
    to_graph._collections["ns/mine"] = Full()
    with pytest.raises(MemoryError, match="full"):
        ge.copy_to_graph(fit.train, to_graph, copied, "ns")
    count = len(to_graph.get_operations())
    assert (copied, to_graph.get_collection("variables")) == ({}, [])
    with pytest.raises(KeyError):
        ge.get_copied(fit.W, to_graph, copied, "ns")
    to_graph._collections["ns/mine"] = []
    train = ge.copy_to_graph(fit.train, to_graph, copied, "ns")
    assert len(to_graph.get_operations()) == count
    loss = ge.copy_to_graph(fit.loss, to_graph, copied, "ns")
    assert to_graph.get_collection("ns/mine") == [copied["ns/W:0"]]
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(v1.global_variables_initializer())
        first = session.run(loss)
        session.run([train] * 2)
        assert session.run(loss) < first


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_several_outputs_of_a_loop_are_of_one_copy_whichever_is_copied_first(order):
    v1.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], "x")
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(2.0))
        outputs = v1.while_loop(
            lambda i, *_: i < 3, lambda i, a, b: (i + 1, a * w, b + a), [0, x, x], name="loop"
        )
    to_graph, copies = tf.Graph(), {}
    for number in order:
        copies[number] = ge.copy_to_graph(outputs[number], to_graph, namespace="n")
    assert [op.type for op in to_graph.get_operations()].count("LoopCond") == 1
    assert [copies[number] for number in order] == [
        ge.copy_to_graph(outputs[number], to_graph, namespace="n") for number in order
    ]
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(v1.global_variables_initializer())
        a, b, values = (
            1.5,
            1.5,
            session.run([copies[number] for number in range(3)], {"n/x:0": 1.5}),
        )
        for _ in range(3):
            a, b = a * 2.0, b + a
        assert values == [3, a, b]


@pytest.mark.parametrize(
    "kind", [list, tuple, lambda items: dict(zip("iab", items, strict=True)), lambda items: [items]]
)
def test_several_outputs_are_copied_by_one_call(kind):
    """Item by item an output that comes later would find the loop there without what only it
    needs.
    """
    v1.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], "x")
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(2.0))
        outputs = v1.while_loop(
            lambda i, *_: i < 3, lambda i, a, b: (i + 1, a * w, b + a), [0, x, x], name="loop"
        )
    to_graph, copied = tf.Graph(), {}
    copies = ge.copy_to_graph(kind(list(outputs)), to_graph, copied, "n")
    assert type(copies) is type(kind(list(outputs)))
    assert list(copied) == ["n/w:0"]
    assert [op.type for op in to_graph.get_operations()].count("LoopCond") == 1
    with v1.Session(graph=to_graph) as session, to_graph.as_default():
        session.run(v1.global_variables_initializer())
        assert ge.util.flatten_tree(session.run(copies, {"n/x:0": 1.5})) == [3, 12.0, 12.0]


def test_ops_tensors_and_variables_are_copied_by_one_call_and_a_generator_is_read_once(fit):
    to_graph, copied = tf.Graph(), {}
    train, loss, weight = ge.copy_to_graph(
        (e for e in (fit.train, fit.loss, fit.W)), to_graph, copied
    )
    assert (train.name, loss.name, weight.name) == (fit.train.name, fit.loss.name, fit.W.name)
    assert ge.copy_to_graph([], to_graph) == []
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="other")
    count = len(to_graph.get_operations())
    with pytest.raises(ValueError, match="'other:0' is of another graph"):
        ge.copy_to_graph([fit.loss, other], to_graph)
    with pytest.raises(TypeError, match=r"Expected a tf.Operation or tf.Tensor"):
        ge.copy_to_graph([fit.loss, "loss"], to_graph)
    assert len(to_graph.get_operations()) == count


def _one(x, w):
    return v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * w + tf.sin(y)), (0, x))[1]


def _two(x, w):
    return v1.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, tf.cos(y * w)), (0, _one(x, w)))[
        1
    ]


def _nested(x, w):
    def inner(z):
        return v1.while_loop(
            lambda j, _: j < 2,
            lambda j, z: (
                j + 1,
                v1.cond(tf.reduce_sum(z) > 1.0, lambda: tf.sin(z) * w, lambda: z * z),
            ),
            (0, z),
        )[1]

    return v1.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, inner(y) * w), (0, x))[1]


def _array(x, w):
    def body(i, written, y):
        return i + 1, written.write(i, y * w), y * tf.gather(w, i)

    _, written, y = v1.while_loop(lambda i, *_: i < 3, body, (0, tf.TensorArray(tf.float32, 3), x))
    return tf.reduce_sum(written.stack(), 0) + y


def _growing(x, w):
    shapes = tf.TensorShape([]), tf.TensorShape([None])
    body = lambda i, y: (i + 1, tf.concat([y, y * w[:1]], 0))  # noqa: E731
    return (
        tf.reduce_sum(v1.while_loop(lambda i, _: i < 3, body, (0, x), shape_invariants=shapes)[1])
        * w
    )


def _conditional(x, w):
    return v1.cond(tf.reduce_sum(x) > 0, lambda: _one(x, w), lambda: x)


@pytest.mark.parametrize("loop", [_one, _two, _nested, _array, _growing, _conditional])
@pytest.mark.parametrize("way", ["forward first", "gradient first", "both", "copy"])
@pytest.mark.parametrize("namespace", ["", "ns"])
@pytest.mark.sample(4)
def test_a_loop_and_its_gradient_are_copied_in_turn_and_the_copy_has_its_own_gradient(
    loop, way, namespace
):
    """The ops of a gradient are named below those of the loop, which TensorFlow imports no op
    under.
    """
    v1.disable_control_flow_v2()
    given = np.array([1.0, 0.5, -0.3], np.float32)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [3], "x")
        w = v1.get_variable("w", initializer=[2.0, 3.0, 4.0], use_resource=True)
        y = tf.identity(loop(x, w) * 2.0, "y")
        gradients = tf.gradients(y, [x, w])
        gradients[1] = tf.convert_to_tensor(gradients[1])
        session.run(v1.global_variables_initializer())
        expected = session.run([y, *gradients], {x: given})
    to_graph = tf.Graph()
    if way == "copy":
        _, info = ge.copy(ge.sgv(graph), to_graph, namespace)
        copies = [info.transformed(t) for t in (y, *gradients)]
    elif way == "both":
        copies = ge.copy_to_graph([y, *gradients], to_graph, namespace=namespace)
    else:
        order = [y, *gradients] if way == "forward first" else [gradients[0], y, gradients[1]]
        of_name = {t.name: ge.copy_to_graph(t, to_graph, namespace=namespace) for t in order}
        copies = [of_name[t.name] for t in (y, *gradients)]
    fed = f"{namespace}/x:0" if namespace else "x:0"
    with to_graph.as_default(), v1.Session() as session:
        (new_w,) = v1.global_variables()
        own = tf.gradients(copies[0], [to_graph.get_tensor_by_name(fed), new_w])
        session.run(v1.global_variables_initializer())
        got = session.run(copies, {fed: given})
        # An array's gradient runs once a run.
        got += session.run(list(map(tf.convert_to_tensor, own)), {fed: given})
    for value, wanted in zip(got, [*expected, *expected[1:]], strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4)
