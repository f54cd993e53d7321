"""Cases that testers found: what a copy of some kind of op must do, and what initial values may
depend on.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, read, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, SessionRefused


@pytest.mark.parametrize("kind", ["while", "cond", "case"])
def test_gradients_go_through_a_v2_loop_and_its_copy_in_one_graph(kind: str) -> None:
    v1.enable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        if kind == "while":
            y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]
        elif kind == "cond":
            y = tf.cond(
                x > 0,
                lambda: tf.while_loop(lambda a: a < 10.0, lambda a: [a * x], [x])[0],
                lambda: x,
            )
        else:
            y = tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: x * x, lambda: x * x * x])
        tf.identity(y, name="y")
    with v1.Session(graph=graph) as session:
        copy = tgw.edit(graph, session=session).clone("x:0", "y:0", "copy", placeholders=True)
        with graph.as_default():
            (ours,) = tf.gradients(graph.get_tensor_by_name("y:0"), x)
            (theirs,) = tf.gradients(copy["y:0"], copy["x:0"])
        a, b = session.run([ours, theirs], {x: 2.0, copy["x:0"]: 2.0})
        assert a == b != 0


def test_a_one_shot_iterator_of_a_copy_brings_values_of_its_own() -> None:
    graph = tf.Graph()
    with graph.as_default():
        value = v1.data.make_one_shot_iterator(v1.data.Dataset.range(3)).get_next()
        tf.identity(value, name="y")
    with v1.Session(graph=graph) as session:
        copy = tgw.edit(graph, session=session).clone(None, "y:0", "copy")
        assert [session.run("y:0"), session.run("y:0"), session.run(copy["y:0"])] == [0, 1, 0]


def chained() -> tf.Graph:
    """y = x a b, where b starts as 2 a."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        a = v1.Variable(1.0, name="a", use_resource=True)
        b = v1.Variable(2.0 * a.read_value(), name="b", use_resource=True)
        tf.multiply(x * a, b, name="y")
    return graph


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ({"b": "initial"}, [5.0, 10.0]),
        ({"a": 7.0, "b": "initial"}, [7.0, 14.0]),
        ("initial", [1.0, 2.0]),
    ],
)
def test_an_initial_value_follows_the_values_that_the_others_are_given(
    init: object, expected: list[float]
) -> None:
    graph = chained()
    with v1.Session(graph=graph) as session:
        a, b = graph.get_collection("variables")
        session.run(a.initializer)
        session.run(b.initializer)
        session.run(a.initializer, {a.initializer.inputs[1]: 5.0})
        copy = tgw.edit(graph, session=session).clone("x", "y", "copy", init=init)  # type: ignore[arg-type]
        assert read(copy.variables, session) == expected


def behind(kind: str) -> tf.Graph:
    """A variable whose initial value is looked up in a table, or taken from a queue."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.int64, [], name="x")
        one = tf.constant(1, tf.int64)
        if kind == "static":
            pairs = tf.lookup.KeyValueTensorInitializer(one[None], 8 * one[None])
            value = tf.lookup.StaticHashTable(pairs, 0).lookup(one)
        elif kind == "mutable":
            value = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, 0).lookup(one)
        else:
            value = tf.queue.FIFOQueue(2, [tf.int64], [()]).dequeue()
        w = v1.get_variable("w", initializer=tf.reshape(value, []), use_resource=True)
        tf.multiply(x, w, name="y")
    return graph


def test_an_initial_value_from_a_table_is_looked_up() -> None:
    graph = behind("static")
    with graph.as_default(), v1.Session(graph=graph) as session:
        session.run(v1.tables_initializer())
        session.run(v1.global_variables_initializer())
        copy = tgw.edit(graph, session=session).clone("x", "y", "copy", init="initial")
        assert read(copy.variables, session) == [8]


@pytest.mark.parametrize("kind", ["mutable", "queue"])
def test_an_initial_value_that_hangs_on_state_of_the_session_is_refused(kind: str) -> None:
    graph = behind(kind)
    with v1.Session(graph=graph) as session:
        before = graph.version
        with pytest.raises(SessionRefused, match="initial value of 'w:0' needs"):
            tgw.edit(graph, session=session).clone("x", "y", "copy", init="initial")
        assert graph.version == before


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (tf.int32, 1.7),
        (tf.int8, 300),
        (tf.bool, "False"),
        (tf.int32, 2**40),
        (tf.string, 3),
        (tf.float32, "many"),
    ],
)
def test_a_value_that_would_become_another_is_refused(dtype: tf.DType, value: object) -> None:
    graph = tf.Graph()
    with graph.as_default():
        start = {"string": "a", "bool": True}.get(dtype.name, 1)
        w = v1.get_variable("w", initializer=tf.constant(start, dtype), use_resource=True)
        tf.identity(w, name="y")
    with initialised(graph) as session:
        before = graph.version
        with pytest.raises(GraphEditError, match="'w:0'"):
            tgw.edit(graph, session=session).clone(None, "y", "copy", init={"w": value})
        assert graph.version == before
        copy = tgw.edit(graph, session=session).clone(None, "y", "fits", init={"w": start})
        assert read(copy.variables, session)[0] in (start, b"a")


def test_many_copies_without_a_name_find_one_each_time(editor: GraphEditor) -> None:
    names = [copy.scope for _ in range(2) for copy in editor.clone("x:0", "net/logits:0", times=2)]
    assert len(set(names)) == 4


def test_the_contents_of_a_mutable_table_that_stay_are_reported() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.string, [], name="x")
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
        tf.identity(table.lookup(x), name="y")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        part = (
            editor.ops("y")
            | editor.ops(type="LookupTableFindV2")
            | editor.ops(type="MutableHashTableV2")
        )
        for init in ("initial", "none"):
            copy = editor.clone(part, into=f"copy_{init}", init=init)
            assert any(
                "'table' holds is not copied" in sentence for sentence in copy.report.dropped
            )
        assert editor.clone(part, into="copy").report.dropped == ()


def test_a_saver_of_a_copy_works_wherever_one_is(
    editor: GraphEditor, session: v1.Session, tmp_path: object
) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    before = read(copy.variables, session)
    saver = copy.saver()
    path = saver.save(session, f"{tmp_path}/copy")
    saver.restore(session, path)
    assert all(
        np.array_equal(*pair) for pair in zip(before, read(copy.variables, session), strict=True)
    )
