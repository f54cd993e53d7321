"""Every method that changes the forward path says that gradients are stale exactly where
TensorFlow's own are others.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError

X = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
SAYS = "stay as they were; compute them again before you train."
CARRIES = "The gradients go through it, too."


def trained(*, resource: bool = True, gated: bool = True) -> tf.Graph:
    """x -> scaled -> dense one -> act -> dense two -> loss, with a branch that skips, and a step of
    training.
    """
    rng = np.random.default_rng(1)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        scaled = tf.multiply(x, 0.5, name="scaled")
        shapes = {"one/w": (4, 4), "one/b": (4,), "two/w": (4, 4), "skip/w": (4, 4)}
        w = {
            name: v1.get_variable(
                name, initializer=rng.normal(size=shape).astype(np.float32), use_resource=resource
            )
            for name, shape in shapes.items()
        }
        one = tf.nn.bias_add(
            tf.matmul(scaled, w["one/w"], name="one/MatMul"), w["one/b"], name="one/BiasAdd"
        )
        act = tf.nn.leaky_relu(one, alpha=0.2, name="act")
        tf.nn.sigmoid(tf.stop_gradient(one), name="other")
        same = tf.identity(act, name="same")
        two = tf.matmul(same, w["two/w"], name="two/MatMul")
        skip = tf.matmul(act, w["skip/w"], name="skip/MatMul")
        y = tf.subtract(two, skip, name="y")
        tf.nn.softmax(y, name="scores")
        tf.reduce_mean(tf.abs(y), name="metric")
        loss = tf.reduce_mean(tf.square(y, name="square"), name="loss")
        gates = v1.train.Optimizer.GATE_OP if gated else v1.train.Optimizer.GATE_NONE
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, gate_gradients=gates, name="step")
    return graph


def gradients_that_train(graph: tf.Graph) -> tuple[list[tf.Tensor], list[str]]:
    """The gradients that the optimizer reads, and the variables that it changes by them."""
    updates = [op for op in graph.get_operations() if "ApplyGradientDescent" in op.type]
    return [op.inputs[2] for op in updates], [op.inputs[0].op.name for op in updates]


def same_gradients(graph: tf.Graph, loss: str = "loss:0") -> bool:
    """Whether the gradients in the graph are those that TensorFlow takes of it as it is now."""
    old, names = gradients_that_train(graph)
    with graph.as_default(), v1.Session(graph=graph) as session:
        variables = {variable.op.name: variable for variable in v1.global_variables()}
        new = tf.gradients(graph.get_tensor_by_name(loss), [variables[name] for name in names])
        session.run(v1.global_variables_initializer())
        session.run([variable.initializer for variable in variables.values()])
        feeds = {"x:0": X}
        pairs = [(a, b) for a, b in zip(old, new, strict=True)]
        for a, b in pairs:
            if b is None:
                return False
            one, other = session.run([a, b], feeds)
            if not np.allclose(one, other, atol=1e-6):
                return False
    return True


def inputs(editor: tgw.GraphEditor) -> dict[str, list[str]]:
    """What each op of a graph reads; TensorFlow changes other fields where it takes gradients."""
    return {node.name: list(node.input) for node in editor._core.index.nodes}


def halve(t: tf.Tensor) -> tf.Tensor:
    return t * 0.5 + tf.sin(t)


def with_constant_input(editor: tgw.GraphEditor) -> Any:
    return editor.set_constant("x:0", X)


METHODS: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "insert after an activation": lambda e: e.insert("act:0", halve),
    "insert for one consumer": lambda e: e.insert("act:0", halve, only=["skip/MatMul"]),
    "insert at the input": lambda e: e.insert("x:0", halve),
    "insert before the first layer": lambda e: e.insert("scaled:0", halve),
    "insert for the forward path alone": lambda e: e.insert("scaled:0", halve, only=["one/MatMul"]),
    "insert an identity": lambda e: e.insert("act:0", "Identity"),
    "insert where training stops": lambda e: e.insert("act:0", "StopGradient"),
    "insert after the model": lambda e: e.insert("y:0", halve),
    "insert before the scores": lambda e: e.insert("y:0", halve, only=["scores"]),
    "insert before a metric": lambda e: e.insert("y:0", halve, only=["Abs"]),
    "insert at the loss": lambda e: e.insert("square:0", halve),
    "insert at a bias": lambda e: e.insert("one/MatMul:0", halve),
    "reroute an activation": lambda e: e.reroute("act:0", "one/BiasAdd:0"),
    "reroute to another activation": lambda e: e.reroute("act:0", "other:0"),
    "reroute past an identity": lambda e: e.reroute("same:0", "act:0"),
    "reroute the input": lambda e: e.reroute("scaled:0", "x:0"),
    "reroute the input of the forward path alone": lambda e: e.reroute(
        "scaled:0", "x:0", only=["one/MatMul"]
    ),
    "reroute the scores": lambda e: e.reroute("y:0", "two/MatMul:0", only=["scores"]),
    "swap the layers": lambda e: e.swap("two/MatMul:0", "skip/MatMul:0"),
    "swap activations": lambda e: e.swap("act:0", "other:0", only=["same", "skip/MatMul"]),
    "connect": lambda e: e.connect("one/BiasAdd:0", "skip/MatMul", k=0),
    "connect the input": lambda e: e.connect("x:0", "one/MatMul", k=0),
    "bypass": lambda e: e.bypass("act"),
    "bypass with gradients": lambda e: e.bypass("act", gradients=True),
    "bypass an identity": lambda e: e.bypass("same"),
    "detach an activation": lambda e: e.detach("act", inputs=False, names=["fed"]),
    "replace an activation": lambda e: e.replace("act", "Tanh"),
    "replace an activation and remove it": lambda e: e.replace("act", tf.nn.elu, remove=True),
    "replace the scores": lambda e: e.replace("scores", "LogSoftmax"),
    "replace the scaling": lambda e: e.replace("scaled", lambda x, _: x + 1.0),
    "replace all": lambda e: e.replace_all("LeakyRelu(x)", "Tanh(x)"),
    "replace all of the gradients, too": lambda e: e.replace_all("Mul(a, b)", "Sub(a, b)"),
    "replace all with a part of it": lambda e: e.replace_all("BiasAdd(a, b)", "a"),
    "set an attribute": lambda e: e.set_attr("act", "alpha", 0.7),
    "rename a type": lambda e: e.passes.rename_type("Softmax", "LogSoftmax"),
    "rename a type on the path": lambda e: e.passes.rename_type("Square", "Exp"),
    "set a constant": lambda e: e.set_constant("scaled/y:0", 2.0),
    "set the input": with_constant_input,
    "rename": lambda e: e.rename("act", "activation"),
    "rename a scope": lambda e: e.rename("one", "first"),
    "remove identities": lambda e: e.passes.remove_identities(),
    "merge duplicates": lambda e: e.passes.merge_duplicates(),
    "remove a branch": lambda e: e.remove("scores"),
    "add a control edge": lambda e: e.add_control_inputs("act", ["other"]),
    "replace the input": lambda e: e.passes.set_input("x:0", [5, 4]),
    "set_device": lambda e: e.set_device("act", "/device:CPU:0"),
    "fold constants": lambda e: e.passes.fold_constants(),
    "remove a gradient stop": lambda e: e.passes.remove_identities(also=["StopGradient"]),
    "replace by another part": lambda e: e.replace("act", e.ops("other")),
    "set_trainable": lambda e: e.set_trainable("skip/w"),
}


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.sample(6)
def test_stale_gradients_are_said_where_they_are_others_and_only_there(
    method: str, resource: bool
) -> None:
    graph = trained(resource=resource)
    assert same_gradients(graph)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    reported = str(METHODS[method](editor))
    assert same_gradients(graph) != (SAYS in reported), reported
    if "Its gradients" in reported or CARRIES in reported:
        assert same_gradients(graph)


def sliced(kind: str) -> tf.Graph:
    """x -> h -> y, where the gradient of y is taken by x, by h, or by a variable inside of a called
    function.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        before = tf.sin(x, name="before")
        h = tf.exp(before, name="h")
        y = tf.reduce_sum(tf.square(tf.tanh(h, name="tanh"), name="square"), name="y")
        tf.identity(tf.gradients(y, x if kind == "x" else h)[0], name="slope")
    return graph


INSERTS = ("x", "before", "h", "tanh", "square")


@pytest.mark.parametrize("by", ["x", "h"])
@pytest.mark.parametrize("at", INSERTS)
@pytest.mark.sample(5)
def test_gradients_by_a_tensor_are_stale_after_it_only(by: str, at: str) -> None:
    graph = sliced(by)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    reported = str(editor.insert(f"{at}:0", halve))
    with graph.as_default(), v1.Session(graph=graph) as session:
        tensor = graph.get_tensor_by_name
        one, other = session.run(
            [tensor("slope:0"), tf.gradients(tensor("y:0"), tensor(f"{by}:0"))[0]], {"x:0": X}
        )
    assert np.allclose(one, other, atol=1e-6) != (SAYS in reported), reported


# What is inserted carries the gradients


FUNCTIONS: dict[str, Any] = {
    "two ops": halve,
    "an op type": "Tanh",
    "a clip": lambda t: tf.clip_by_value(t, -0.3, 0.3),
    "a norm": lambda t: tf.math.l2_normalize(t, 1),
    "noise of a constant": lambda t: t * tf.constant([1.0, 2.0, 3.0, 4.0]),
}


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize(
    "at", ["act", "one/MatMul", "one/BiasAdd", "two/MatMul", "y", "square", "of two/w"]
)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.sample(4)
def test_gradients_go_through_what_is_inserted(function: str, at: str, resource: bool) -> None:
    graph = trained(resource=resource)
    if at.startswith("of "):
        at = graph.get_operation_by_name("two/MatMul").inputs[1].op.name
    session = v1.Session(graph=graph)
    editor = tgw.edit(graph, session=session)
    before = inputs(editor)
    reported = str(editor.insert(f"{at}:0", FUNCTIONS[function], into="new"))
    assert CARRIES in reported
    assert same_gradients(graph)
    editor.undo()
    assert {name: read for name, read in inputs(editor).items() if name in before} == before
    assert same_gradients(graph)


def beside_what_it_reads(tensor: tf.Tensor) -> tf.Tensor:
    """Three ops on the device of what they read."""
    with v1.colocate_with(tensor):
        return tensor * tf.random.stateless_uniform([4], [1, 2])


@pytest.mark.parametrize(
    "edit",
    [
        lambda e: e.insert("act:0", beside_what_it_reads),
        lambda e: e.call("act:0", beside_what_it_reads),
        lambda e: e.replace("act", beside_what_it_reads, remove=True),
        lambda e: e.replace("act", "Tanh"),
        lambda e: e.replace("y", "Mul", remove=True),
        lambda e: e.replace_all("LeakyRelu(x)", beside_what_it_reads),
        lambda e: e.replace_all("Sub(x, y)", "AddV2(x, Tanh(y))"),
    ],
    ids=["insert", "call", "replace", "type", "types", "replace all", "pattern"],
)
def test_what_tensorflow_exports_after_an_edit_it_imports(edit: Any) -> None:
    """No new op, of the gradients neither, is colocated with an op that is not there."""
    graph = trained()
    edit(tgw.edit(graph, session=v1.Session(graph=graph)))
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name="")
    names = {op.name for op in graph.get_operations()}
    assert {op.name for op in imported.get_operations()} == names


def test_two_insertions_carry_the_gradients_one_after_the_other() -> None:
    graph = trained()
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    assert CARRIES in str(editor.insert("act:0", halve, into="one_more"))
    assert CARRIES in str(editor.insert("y:0", tf.tanh, into="another"))
    assert same_gradients(graph)
    # What is inserted at the same place again is not carried, but said.
    assert (SAYS in str(editor.insert("act:0", tf.tanh, into="third"))) != same_gradients(graph)


@pytest.mark.parametrize(
    "edit",
    [
        lambda e: e.insert("act:0", "Tanh", into="fresh"),
        lambda e: e.replace("act", "Tanh", into="fresh"),
        lambda e: e.replace("y", lambda a, b: a * b, into="fresh", remove=True),
        lambda e: e.replace_all("LeakyRelu(x)", "Tanh(x)", into="fresh"),
    ],
    ids=["insert", "replace", "replace and remove", "replace all"],
)
def test_gradients_go_through_what_is_new_in_a_file(edit: Any) -> None:
    editor = tgw.edit(trained().as_graph_def())
    assert CARRIES in str(edit(editor))
    assert "gradients/fresh_grad" in editor._core.index.scopes.names
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(editor.graph.as_graph_def(), name="")
    gradients, handles = gradients_that_train(graph)
    tensors = [
        graph.get_tensor_by_name("loss:0"),
        *(graph.get_tensor_by_name(f"{name}:0") for name in handles),
    ]
    with graph.as_default(), v1.Session(graph=graph) as session:
        session.run(
            [
                op
                for op in graph.get_operations()
                if op.type == "AssignVariableOp" and "Assign" in op.name
            ]
        )
        new = tf.gradients(tensors[0], tensors[1:])
        for one, other in session.run(list(zip(gradients, new, strict=True)), {"x:0": X}):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    ("function", "only"),
    [
        (tf.stop_gradient, None),
        (tf.round, None),
        (lambda t: t + tf.random.normal([4]), None),
        (lambda t: t * v1.get_variable("scale", initializer=2.0, use_resource=True), None),
        (halve, ["same"]),
    ],
    ids=["a stop", "no gradient", "random", "state", "one consumer"],
)
def test_where_gradients_cannot_go_through_it_is_said(function: Any, only: Any) -> None:
    graph = trained()
    reported = str(
        tgw.edit(graph, session=v1.Session(graph=graph)).insert("act:0", function, only=only)
    )
    assert SAYS in reported
    assert CARRIES not in reported


# What takes the place of ops carries the gradients


REPLACEMENTS: dict[str, tuple[Any, Any]] = {
    "an activation": ("act", "Tanh"),
    "an activation by a function": ("act", tf.nn.elu),
    "an activation by several ops": ("act", halve),
    "a difference": ("y", lambda a, b: a * b),
    "a difference turned round": ("y", lambda a, b: tf.sin(b) - a),
    "a difference by one of both": ("y", lambda a, b: tf.tanh(b) + 0.0 * a),
    "a bias": ("one/BiasAdd", lambda a, b: a * b + b),
    "a layer": ("two/MatMul", lambda a, w: tf.matmul(a, tf.tanh(w)) * 2 + 1),
    "a square": ("square", tf.exp),
    "two ops in a row": (["same", "two/MatMul"], lambda a, w: tf.matmul(tf.exp(a), w)),
}


@pytest.mark.parametrize(
    ("resource", "remove"),
    [(True, False), (True, True), (False, True)],
    ids=["resource", "resource and remove", "ref and remove"],
)
@pytest.mark.parametrize("what", REPLACEMENTS)
@pytest.mark.sample(4)
def test_gradients_go_through_what_takes_the_place_of_ops(
    what: str, resource: bool, remove: bool
) -> None:
    graph = trained(resource=resource)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    before = inputs(editor)
    part, by = REPLACEMENTS[what]
    reported = str(editor.replace(part, by, into="new", remove=remove))
    assert CARRIES in reported
    assert SAYS not in reported
    assert same_gradients(graph)
    editor.undo()
    assert {name: read for name, read in inputs(editor).items() if name in before} == before
    assert same_gradients(graph)
    editor.redo()
    assert same_gradients(graph)


@pytest.mark.parametrize("what", [*REPLACEMENTS, "same", "scaled"])
@pytest.mark.sample(5)
def test_gradients_without_gates_go_through_it_or_it_is_said(what: str) -> None:
    graph = trained(gated=False)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    part, by = REPLACEMENTS.get(what, (what, lambda *tensors: tf.sin(tensors[0])))
    reported = str(editor.replace(part, by))
    assert same_gradients(graph) != (SAYS in reported)
    assert not (CARRIES in reported and SAYS in reported)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_what_takes_the_place_of_a_replacement_carries_the_gradients_again(count: int) -> None:
    graph = trained()
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    part: Any = "act"
    for by, into in ((tf.nn.elu, "first"), (halve, "second"), ("Tanh", "third"))[:count]:
        assert CARRIES in str(editor.replace(part, by, into=into, remove=True)), into
        part = editor.ops(scope=into)
    if count == 4:
        assert CARRIES in str(editor.insert("y:0", halve, into="inserted"))
    assert same_gradients(graph)


def test_nothing_of_the_old_gradient_is_left_after_a_removed_op() -> None:
    graph = trained()
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    editor.replace("act", "Tanh", remove=True)
    assert not [name for name in editor._core.index.names if "LeakyRelu" in name]
    assert "gradients/act_grad" not in editor._core.index.scopes.names


def towers(resource: bool) -> tf.Graph:
    """Four layers in a row, the third one gated, and a step of training."""
    rng = np.random.default_rng(1)
    with tf.Graph().as_default() as graph:
        h = v1.placeholder(tf.float32, [None, 4], name="x")
        for k in range(4):
            w, b = (
                v1.get_variable(
                    f"{name}{k}",
                    initializer=rng.normal(size=shape).astype(np.float32),
                    use_resource=resource,
                )
                for name, shape in (("w", (4, 4)), ("b", (4,)))
            )
            h = tf.nn.relu(tf.matmul(h, w) + b, name=f"act{k}")
            h = tf.multiply(h, h + 1.0, name="gate") if k == 2 else h
        loss = tf.reduce_sum(tf.square(h), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return graph


PATTERNS: dict[str, tuple[str, Any, int]] = {
    "an op type": ("Relu(x)", "Tanh(x)", 4),
    "an op type with attributes": ("Relu(x)", "LeakyRelu(x, alpha=0.3)", 4),
    "a function": ("Relu(x)", lambda x: tf.nn.elu(x) + x, 4),
    "what it reads": ("Relu(x)", "x", 4),
    "layers": ("MatMul(a, b)", lambda a, b: tf.tanh(tf.matmul(a, b)), 4),
    "biases": ("AddV2(a, b)", lambda a, b: a * b, 5),
    "a gate": ("Mul(a, b)", "Sub(a, b)", 1),
}


@pytest.mark.parametrize("resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.sample(5)
def test_gradients_go_through_all_replacements(kind: str, resource: bool) -> None:
    pattern, by, count = PATTERNS[kind]
    graph = towers(resource)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    before = inputs(editor)
    until: Any = "fixed" if kind == "what it reads" else "once"
    report = editor.replace_all(pattern, by, until=until)
    assert len(report.replaced) == count
    assert CARRIES in str(report)
    assert SAYS not in str(report)
    assert same_gradients(graph)
    editor.undo()
    assert {name: read for name, read in inputs(editor).items() if name in before} == before


def test_ops_of_gradients_are_replaced_only_where_they_are_named() -> None:
    graph = towers(True)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    report = editor.replace_all("Mul(a, b)", "Sub(a, b)")
    assert len(report.replaced) == 1
    assert all(
        "belongs to the gradients, which follow the ops that they are of; give within= to replace "
        "it, too." in each.why
        for each in report.skipped
    )
    assert len(report.skipped) == 4
    editor.undo()
    squares = editor.ops(scope="gradients/Square_grad")
    assert len(editor.replace_all("Mul(a, b)", "Mul(b, a)", within=squares).replaced) == 2
    assert same_gradients(graph)


@pytest.mark.parametrize(
    ("what", "by"),
    [
        ("act", tf.stop_gradient),
        ("act", tf.round),
        ("act", lambda t: t + tf.random.normal([4])),
        ("act", lambda t: t * v1.get_variable("scale", initializer=2.0, use_resource=True)),
        ("y", lambda a, _: a),
    ],
    ids=["a stop", "no gradient", "random", "state", "one of both"],
)
def test_where_gradients_cannot_go_through_a_replacement_is_said(what: str, by: Any) -> None:
    graph = trained()
    reported = str(tgw.edit(graph, session=v1.Session(graph=graph)).replace(what, by))
    assert SAYS in reported
    assert CARRIES not in reported


@pytest.mark.parametrize(
    ("edit", "is_inside"),
    [
        (lambda editor: editor.replace_all("Tanh(x)", "Sigmoid(x)"), True),
        (lambda editor: editor.replace("Tanh", "Sigmoid"), True),
        (lambda editor: editor.insert("Tanh:0", tf.nn.relu), True),
        (lambda editor: editor.bypass("Tanh"), True),
        (lambda editor: editor.insert("Neg:0", tf.nn.relu), False),
        (lambda editor: editor.replace("Neg", "Sigmoid"), False),
        (lambda editor: editor.insert("IdentityN:0", tf.nn.relu), False),
        (lambda editor: editor.rename("Neg", "negated"), False),
    ],
    ids=[
        "all",
        "replaced",
        "inserted",
        "bypassed",
        "before",
        "replaced before",
        "after",
        "renamed",
    ],
)
def test_a_gradient_of_its_own_that_is_not_that_of_the_new_ops_is_said(
    edit: Any, *, is_inside: bool
) -> None:
    @tf.custom_gradient
    def steep(x: tf.Tensor) -> Any:
        return tf.tanh(x), lambda upstream: upstream * 7.0

    spec = [tf.TensorSpec([2], tf.float32)]
    editor = tgw.edit(tf.function(lambda x: steep(-x), input_signature=spec))
    done = edit(editor)
    said = any("'IdentityN' stays that of the ops as they were" in note for note in done.notes)
    assert said == is_inside


EDITS_OF_AN_OP: dict[str, Callable[[tgw.GraphEditor, str], Any]] = {
    "replace": lambda e, op: e.replace(op, "Tanh"),
    "replace by a function": lambda e, op: e.replace(op, tf.nn.elu, remove=True),
    "replace all": lambda e, op: e.replace_all(
        "LeakyRelu(x)", "Tanh(x)", where=lambda match: match.ops[0] == op
    ),
    "insert": lambda e, op: e.insert(f"{op}:0", halve),
    "bypass": lambda e, op: e.bypass(op, gradients=True),
}


@pytest.mark.parametrize("edited", ["act", "copy/act", "again/copy/act", "moved/act"])
@pytest.mark.parametrize("edit", EDITS_OF_AN_OP)
@pytest.mark.sample(7)
def test_an_edit_changes_the_gradients_of_its_own_copy_of_a_training_step(
    edit: str, edited: str
) -> None:
    graph = trained()
    with graph.as_default():
        for name in ("x1", "x2", "x3"):
            v1.placeholder(tf.float32, [None, 4], name=name)
    editor = tgw.edit(graph)
    step = ["loss:0", "step"]
    editor.clone("x:0", step, into="copy", replace={"x:0": "x1:0"}, init="none")
    inner = [f"copy/{name}" for name in step]
    editor.clone("x1:0", inner, into="again", replace={"x1:0": "x2:0"}, init="none")
    editor.clone("x:0", step, into="third", replace={"x:0": "x3:0"}, init="none")
    editor.rename("third/", "moved")
    report = EDITS_OF_AN_OP[edit](editor, edited)
    assert SAYS not in str(report)
    feeds = {f"{name}:0": X * factor for name, factor in (("x", 1), ("x1", -1), ("x2", 2))}
    feeds["x3:0"] = X[::-1]
    updates = [
        graph.get_operation_by_name(name)
        for name in editor.ops(type="ResourceApplyGradientDescent").ops
    ]
    assert len(updates) == 16, "four variables of four copies"
    with graph.as_default(), v1.Session(graph=graph) as session:
        session.run(v1.global_variables_initializer())
        handles = {variable.handle.name: variable for variable in v1.global_variables()}
        for op in updates:
            loss = f"{op.name.partition('step')[0]}loss:0"
            variable = handles[op.inputs[0].name]
            new = tf.gradients(graph.get_tensor_by_name(loss), variable)[0]
            one, other = session.run([op.inputs[2], new], feeds)
            np.testing.assert_allclose(one, other, atol=1e-6, err_msg=op.name)


@pytest.mark.parametrize("edited", ["net/act", "train/net/act"])
@pytest.mark.parametrize("edit", EDITS_OF_AN_OP)
def test_gradients_taken_in_a_name_scope_are_of_the_ops_that_they_read(
    edit: str, edited: str
) -> None:
    def net(t: tf.Tensor, w: tf.Variable) -> tf.Tensor:
        with tf.name_scope("net"):
            return tf.nn.leaky_relu(tf.matmul(t, w, name="MatMul"), name="act")

    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", initializer=np.ones([4, 3], np.float32), use_resource=True)
        one = net(x, w)
        with tf.name_scope("train"):
            two = net(-2.0 * x, w)
            loss = tf.reduce_sum(one**2) + tf.reduce_sum(tf.exp(two / 9.0))
            tf.identity(loss, "loss")
            tf.identity(tf.gradients(loss, w)[0], "gradient")
    editor = tgw.edit(graph)
    assert SAYS not in str(EDITS_OF_AN_OP[edit](editor, edited))
    with graph.as_default(), v1.Session(graph=graph) as session:
        session.run(w.initializer)
        new = tf.gradients(graph.get_tensor_by_name("train/loss:0"), w)[0]
        old, now = session.run(["train/gradient:0", new], {"x:0": X})
    np.testing.assert_allclose(old, now, rtol=1e-5)


def test_the_gradients_of_a_renamed_clone_are_not_those_of_the_original(tmp_path: Path) -> None:
    graph = trained()
    with graph.as_default():
        v1.placeholder(tf.float32, [None, 4], name="x1")
    editor = tgw.edit(graph)
    editor.clone("x:0", ["loss:0", "step"], into="copy", replace={"x:0": "x1:0"}, init="none")
    editor.rename("copy/act", "copy/leaky")
    editor.rename("copy/one/", "copy/first")
    editor.rename("copy/two/", "copy/second")
    editor.save(tmp_path / "graph.pb")
    editor = tgw.edit(tmp_path / "graph.pb")
    report = editor.replace("act", "Tanh")
    assert CARRIES in str(report)
    assert SAYS not in str(report)
    assert not [
        change.name
        for change in editor.history[-1].patch.changed
        if change.name.startswith("copy/")
    ]


def clipped(*, by: str) -> tf.Graph:
    """x -> one -> act -> two -> loss, with w as it is or through an op, and clipped gradients."""
    with tf.Graph().as_default() as graph:
        rng = np.random.default_rng(1)
        w, of_tanh, last = (
            v1.get_variable(name, initializer=rng.normal(size=(4, 4)).astype(np.float32))
            for name in ("w", "of_tanh", "last")
        )
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        scaled = tf.matmul(x, tf.tanh(of_tanh, name="squashed"), name="first")
        act = tf.tanh(tf.matmul(scaled, w, name="one"), name="act")
        loss = tf.reduce_mean(tf.square(tf.matmul(act, last, name="two")), name="loss")
        variables = v1.trainable_variables()
        gradients = tf.gradients(loss, variables)
        if by == "norm":
            gradients, _ = tf.clip_by_global_norm(gradients, 0.5)
        elif by == "value":
            gradients = [tf.clip_by_value(each, -0.01, 0.01) for each in gradients]
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        optimizer.apply_gradients(zip(gradients, variables, strict=True), name="step")
    return graph


@pytest.mark.parametrize("by", ["norm", "value", "nothing"])
@pytest.mark.parametrize(
    ("what", "left"),
    [
        ("act", ()),
        ("squashed", ()),
        ("first", ("of_tanh",)),
        ("one", ("w",)),
        ("two", ("last",)),
        (("first", "one"), ("of_tanh", "w")),
    ],
)
def test_a_bypass_takes_the_gradients_of_no_weight_for_those_of_what_is_read_instead(
    what: Any, left: tuple[str, ...], by: str
) -> None:
    """Nor does a weight of the part train on without a word: what reads its gradient is named."""
    graph = clipped(by=by)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    reported = str(editor.bypass(what, gradients=True))
    assert ("as before; compute gradients again before you train" in reported) == bool(left)
    before = [op for op in graph.get_operations() if op.type.endswith("ApplyGradientDescent")]
    with graph.as_default(), v1.Session(graph=graph) as session:
        variables = v1.trainable_variables()
        new = tf.gradients(graph.get_tensor_by_name("loss:0"), variables)
        assert {v.op.name for v, each in zip(variables, new, strict=True) if each is None} == {
            *left
        }
        session.run(v1.global_variables_initializer())
        for op, each in zip(before, new, strict=True):
            if each is not None:
                read = clipped_from(op.inputs[2])
                assert np.allclose(*session.run([read, each], {"x:0": X}), atol=1e-6)
            else:
                assert clipped_from(op.inputs[2]).shape == (4, 4)


def clipped_from(tensor: tf.Tensor) -> tf.Tensor:
    """The gradient that was clipped."""
    while "grad" not in tensor.op.name:
        tensor = next(each for each in tensor.op.inputs if each.shape.rank)
    return tensor


@pytest.mark.parametrize("gated", [False, True], ids=["free", "gated"])
@pytest.mark.parametrize("logged", [False, True], ids=["alone", "logged"])
@pytest.mark.parametrize(
    ("minimized", "at"),
    [
        *(("loss", at) for at in ("loss", "data", "penalty")),
        *(("total", at) for at in ("loss", "data", "penalty", "same", "total")),
    ],
)
@pytest.mark.parametrize(
    "edit",
    [
        lambda e, at: e.insert(f"{at}:0", tf.square),
        lambda e, at: e.bypass(at, "penalty/half:0" if at == "penalty" else None),
        lambda e, at: e.bypass(at, "data:0" if at == "loss" else None, gradients=True),
        lambda e, at: e.replace(at, lambda *tensors: 3.0 * tensors[0]),
        lambda e, at: e.reroute(f"{at}:0", "penalty/half:0"),
    ],
    ids=["insert", "bypass", "bypass with gradients", "replace", "reroute"],
)
def test_the_gradients_of_a_sum_of_losses_are_carried_or_said(
    edit: Any, at: str, minimized: str, logged: bool, gated: bool
) -> None:
    """A sum hands its gradient on as it is, so no gradient op is named after it."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", initializer=np.full((4, 4), 0.5, np.float32))
        data = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="data")
        penalty = tf.multiply(0.1, tf.nn.l2_loss(w, name="penalty/half"), name="penalty")
        loss = tf.add(data, penalty, name="loss")
        total = tf.add_n([tf.identity(loss, name="same"), data], name="total")
        if logged:
            for name, each in ("data", data), ("loss", loss):
                v1.summary.scalar(f"of_{name}", each)
            v1.train.ExponentialMovingAverage(0.9).apply([data])
        gates = v1.train.Optimizer.GATE_OP if gated else v1.train.Optimizer.GATE_NONE
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        optimizer.minimize(
            {"loss": loss, "total": total}[minimized], gate_gradients=gates, name="step"
        )
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    try:
        reported = str(edit(editor, at))
    except GraphEditError:
        return
    said = SAYS in reported or "compute gradients again" in reported
    assert said or same_gradients(graph, f"{minimized}:0")


@pytest.mark.parametrize("at", ["sign", "before", "after"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda e, at: e.insert(f"{at}:0", tf.square),
        lambda e, at: e.bypass(at),
        lambda e, at: e.replace(at, tf.tanh),
        lambda e, _: e.replace_all("Sin(x)", "Square(x)"),
    ],
    ids=["insert", "bypass", "replace", "replace all"],
)
def test_a_rounding_that_was_given_a_gradient_has_one(edit: Any, at: str) -> None:
    """As a straight-through estimator has it, by `gradient_override_map`."""
    name = "GradientOfARounding"
    with suppress(KeyError):  # it is registered once
        tf.RegisterGradient(name)(lambda _, gradient: gradient)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", initializer=np.full((4, 4), 0.5, np.float32))
        before = tf.sin(tf.matmul(x, w), name="before")
        with graph.gradient_override_map({"Sign": name}):
            signs = tf.sign(before, name="sign")
        loss = tf.reduce_mean(tf.square(tf.sin(signs, name="after")), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    assert SAYS in str(edit(editor, at)) or same_gradients(graph)


def test_what_is_made_of_a_loss_for_a_summary_is_not_minimized() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", initializer=np.full((4, 4), 0.5, np.float32))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)), name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
        v1.summary.scalar("of_loss", loss)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    reported = str(editor.insert("loss:0", tf.math.log))
    assert CARRIES not in reported
    assert SAYS not in reported
    assert same_gradients(graph)


@pytest.mark.parametrize("at", ["mm", "act", "soft", "out", "square", "data"])
@pytest.mark.parametrize(
    "edit",
    [
        lambda e, at: e.insert(f"{at}:0", tf.sin),
        lambda e, at: e.replace(at, lambda *tensors: tf.sin(tensors[0])),
        lambda e, at: e.bypass(at, gradients=True),
    ],
    ids=["insert", "replace", "bypass"],
)
def test_of_a_tape_stale_gradients_are_said_also_where_no_op_is_named_after_them(
    edit: Any, at: str
) -> None:
    w, v = (tf.Variable(np.eye(4, dtype=np.float32) * k) for k in (0.5, 0.7))

    @tf.function(input_signature=[tf.TensorSpec([5, 4], tf.float32, name="x")])
    def step(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            act = tf.tanh(tf.matmul(x, w, name="mm"), name="act")
            out = tf.matmul(tf.nn.softplus(act * 2.0, name="soft"), v, name="out")
            data = tf.reduce_mean(tf.square(out, name="square"), name="data")
            loss = tf.add(data, 0.01 * tf.nn.l2_loss(w), name="loss")
        return loss, tf.argmax(out, 1), tape.gradient(loss, [w, v])

    editor = tgw.edit(step)
    try:
        reported = str(edit(editor, at))
        assert SAYS in reported or "as before; compute gradients again" in reported
    except GraphEditError:
        assert at in ("mm", "out", "data")
    else:
        editor.undo()
    # What is made of the result for callers leaves the gradients right.
    assert SAYS not in str(editor.insert("loss:0", tf.math.log))
