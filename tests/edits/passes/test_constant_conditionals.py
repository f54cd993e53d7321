"""Conditionals with a constant predicate: the branch that is taken stays, and computes what it
did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.nothing import says_nothing

FEED = np.array([0.5, -1.0, 2.0], np.float32)
Build = Callable[[Any, Any], Any]


@pytest.fixture
def switches() -> Iterator[None]:
    """Conditionals of TensorFlow 1."""
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def graph_of(build: Build, chosen: object) -> tf.Graph:
    """x → `build`, given a constant predicate → y."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [3], name="x")
        predicate = (
            tf.logical_not(tf.constant(not chosen))
            if isinstance(chosen, bool)
            else tf.constant(chosen)
        )
        tf.identity(build(x, predicate), name="y")
    return graph


def run(graph_def: Any, output: str = "y:0") -> Any:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            return session.run(output, {"x:0": FEED})


def plain(x: Any, predicate: Any) -> Any:
    return v1.cond(predicate, lambda: x * 2.0, lambda: tf.exp(x))


def nested(x: Any, predicate: Any) -> Any:
    def inner() -> Any:
        return v1.cond(predicate, lambda: x + 1.0, lambda: tf.sin(x)) * x

    return v1.cond(predicate, inner, inner)


def nested_on_a_feed(x: Any, predicate: Any) -> Any:
    return v1.cond(predicate, lambda: v1.cond(x[0] > 0, lambda: x, lambda: -x), lambda: x * 3.0)


def inside_a_conditional_on_a_feed(x: Any, predicate: Any) -> Any:
    return v1.cond(x[0] > 0, lambda: plain(x, predicate), lambda: -x)


def inside_a_loop(x: Any, predicate: Any) -> Any:
    del predicate
    step = lambda i, a: (i + 1, v1.cond(tf.constant(True), lambda: a * 2.0, lambda: tf.exp(a)))  # noqa: E731
    return v1.while_loop(lambda i, _: i < 3, step, [0, x])[1]


def loop_inside(x: Any, predicate: Any) -> Any:
    def loop(by: float) -> Any:
        return v1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * by), [0, x])[1]

    return v1.cond(predicate, lambda: loop(2.0), lambda: loop(3.0))


def two_results(x: Any, predicate: Any) -> Any:
    first, second = v1.cond(predicate, lambda: (x, x * 2.0), lambda: (tf.exp(x), x))
    return first - second


def waited_for(x: Any, predicate: Any) -> Any:
    with tf.control_dependencies([plain(x, predicate)]):
        return x * 5.0


def with_its_gradient(x: Any, predicate: Any) -> Any:
    return v1.gradients(plain(x, predicate) ** 2.0, x)[0]


BUILDS = [
    plain,
    nested,
    nested_on_a_feed,
    inside_a_conditional_on_a_feed,
    inside_a_loop,
    loop_inside,
    two_results,
    waited_for,
    with_its_gradient,
]


@pytest.mark.usefixtures("switches")
@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
@pytest.mark.sample(9)
def test_the_branch_that_switches_take_stays(build: Build, chosen: bool) -> None:
    graph_def = graph_of(build, chosen).as_graph_def()
    expected = run(graph_def)
    editor = tgw.edit(graph_def)
    before = [op.op for op in graph_def.node].count("Merge")
    editor.passes.fold_constants()
    written = v1.GraphDef(node=editor._core.index.nodes, versions=graph_def.versions)
    merges = [node.op for node in written.node].count("Merge")
    loops = [node.op for node in written.node].count("LoopCond")
    on_feeds = {"nested_on_a_feed": int(chosen), "inside_a_conditional_on_a_feed": 1}.get(
        build.__name__, 0
    )
    assert merges == on_feeds + 2 * loops < before
    np.testing.assert_array_equal(run(written), expected)
    editor.undo()
    np.testing.assert_array_equal(
        run(v1.GraphDef(node=editor._core.index.nodes, versions=graph_def.versions)), expected
    )


@pytest.mark.usefixtures("switches")
@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("build", BUILDS[:-1], ids=lambda build: build.__name__)
@pytest.mark.sample(5)
def test_a_live_graph_runs_differentiates_and_is_saved_without_the_other_branch(
    build: Build, chosen: bool, tmp_path: Path
) -> None:
    graph = graph_of(build, chosen)
    session = v1.Session(graph=graph)
    with graph.as_default():
        slope = tf.identity(
            v1.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))[0]
        )
    values = session.run(["y:0", slope], {"x:0": FEED})
    graph = graph_of(build, chosen)
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    editor.passes.fold_constants()
    assert "Exp" not in editor._core.index.types or not chosen
    assert len(editor._core.index) < len(tgw.edit(graph_of(build, chosen))._core.index)
    with graph.as_default():
        slope = tf.identity(
            v1.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))[0]
        )
    for value, expected in zip(
        editor.session.run(["y:0", slope], {"x:0": FEED}), values, strict=True
    ):
        np.testing.assert_array_equal(value, expected)
    editor.save(tmp_path / "model.meta")
    again = tgw.edit(tmp_path / "model.meta")
    np.testing.assert_array_equal(again.probe(["y:0"], {"x:0": FEED})["y:0"].value, values[0])


@pytest.mark.usefixtures("switches")
def test_switches_stay_where_the_predicate_is_fed_or_the_other_branch_is_needed() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [3], name="x")
        plain(x, v1.placeholder_with_default(True, [], name="fed"))
    says_nothing(tgw.edit(graph.as_graph_def()).passes.fold_constants())
    meta = v1.MetaGraphDef(graph_def=graph_of(plain, True).as_graph_def())
    call = meta.signature_def["call"]
    call.inputs["x"].name, call.outputs["other"].name = "x:0", "cond/Exp:0"
    editor = tgw.edit(meta)
    editor.passes.fold_constants()
    assert "Merge" in editor._core.index.types
    keeping = tgw.edit(graph_of(plain, True).as_graph_def())
    keeping.passes.fold_constants(keep=["cond/Merge"])
    assert "Merge" in keeping._core.index.types


def branches(x: Any, number: Any) -> Any:
    return tf.switch_case(number, [lambda: x * 2.0, lambda: tf.exp(x), lambda: -x])


def functional(x: Any, predicate: Any) -> Any:
    return tf.cond(predicate, lambda: x * 2.0, lambda: tf.exp(x))


def with_state(x: Any, predicate: Any) -> Any:
    def loud() -> Any:
        with tf.control_dependencies([tf.debugging.Assert(tf.reduce_all(x < 9.0), [x])]):
            return x * 2.0

    return tf.cond(predicate, loud, lambda: tf.exp(x))


@pytest.mark.parametrize(
    ("build", "chosen"),
    [
        *((functional, chosen) for chosen in (True, False)),
        *((with_state, chosen) for chosen in (True, False)),
        *((branches, number) for number in (-1, 0, 1, 2, 7)),
    ],
)
@pytest.mark.sample(4)
def test_a_functional_conditional_becomes_a_call_of_the_branch_that_is_taken(
    build: Build, chosen: Any
) -> None:
    graph = graph_of(build, chosen)
    graph_def = graph.as_graph_def()
    expected = run(graph_def)
    editor = tgw.edit(graph_def)
    report = editor.passes.fold_constants()
    types = set(editor._core.index.types)
    assert types.isdisjoint({"If", "StatelessIf", "Case", "StatelessCase"})
    assert not types.isdisjoint({"PartitionedCall", "StatefulPartitionedCall"})
    assert report.notes[0].startswith("Of 1 conditional the branch that is taken stayed: 1 ")
    np.testing.assert_array_equal(run(editor.graph.as_graph_def()), expected)
    live = tgw.edit(graph, session=v1.Session(graph=graph))
    live.passes.fold_constants()
    np.testing.assert_array_equal(live.session.run("y:0", {"x:0": FEED}), expected)


@pytest.mark.parametrize(
    ("predicate", "taken"), [(2.0, True), (0, False), ("", False), ("a", True)]
)
def test_a_predicate_that_is_no_bool_is_taken_as_tensorflow_takes_it(
    predicate: object, taken: bool
) -> None:
    graph_def = graph_of(functional, True).as_graph_def()
    (node,) = (node for node in graph_def.node if node.op in ("If", "StatelessIf"))
    given = v1.NodeDef(name="given", op="Const")
    value = tf.make_tensor_proto(predicate)
    given.attr["value"].tensor.CopyFrom(value)
    given.attr["dtype"].type = node.attr["Tcond"].type = value.dtype
    graph_def.node.insert(0, given)
    node.attr["_lower_using_switch_merge"].b = False  # a Switch takes a bool only
    node.input[0] = "given"
    expected = run(graph_def)
    np.testing.assert_allclose(expected, FEED * 2 if taken else np.exp(FEED), rtol=1e-5)
    editor = tgw.edit(graph_def)
    editor.passes.fold_constants()
    np.testing.assert_array_equal(run(editor.graph.as_graph_def()), expected)


def test_a_conditional_in_a_function_is_folded_there() -> None:
    spec = tf.TensorSpec([3], tf.float32, "x")
    function = tf.function(lambda x: functional(x, tf.constant(True)), input_signature=[spec])
    editor = tgw.edit(function)
    editor.passes.fold_constants()
    assert {"If", "StatelessIf"}.isdisjoint(editor._core.index.types)
    output = editor._core.index.names[-1]
    np.testing.assert_array_equal(editor.probe([output], {"x:0": FEED})[output].value, FEED * 2)
