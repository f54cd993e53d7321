"""Copies of v1 while loops and conditionals: they run beside their originals, and can be
differentiated like them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tests.conftest import MODELS, fill, initialised, read, v1
from tests.graph.test_frames import Cell, contexts_of, given, times
from tests.graph_editor.corpus import CORPUS
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NotClonable

SEQ2SEQ = MODELS / "seq2seq_v1.meta"
FED = [{"x:0": 1.1, "p:0": True}, {"x:0": 0.4, "p:0": False}]


@pytest.fixture(autouse=True)
def old_control_flow() -> Iterator[None]:
    """tf.cond and tf.while_loop as TensorFlow 1 built them; afterwards as before."""
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def loop(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    return times(3, lambda a: a * x + tf.square(x), x)


def loop_in_loop(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    return times(3, lambda a: times(2, lambda b: b * x + a, times(2, lambda b: b - a, a)), x)


def cond(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return v1.cond(p, lambda: x * x, lambda: tf.constant(2.0) - x)


def cond_in_cond(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return v1.cond(p, lambda: v1.cond(x > 1, lambda: x * x, lambda: x - 1), lambda: x / 2.0)


def cond_in_loop(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return times(
        3,
        lambda a: v1.cond(a > 1, lambda: v1.cond(p, lambda: a * x, lambda: a / x), lambda: a + 1.0),
        x,
    )


def loop_in_cond(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return v1.cond(p, lambda: times(3, lambda a: a * x, tf.constant(1.0)), lambda: x)


def loop_in_cond_in_loop(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return times(3, lambda a: v1.cond(p, lambda: times(2, lambda b: b * a, x), lambda: a - x), x)


def case(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    return v1.case(
        [(x > 1, lambda: x * 2), (x > 0.3, lambda: x * x)], default=lambda: x - 1, exclusive=False
    )


def array(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    rows = tf.TensorArray(tf.float32, 4).unstack(x * tf.range(4.0))

    def step(i: tf.Tensor, a: tf.Tensor, written: tf.TensorArray) -> tuple[Any, ...]:
        return i + 1, a * rows.read(i) + x, written.write(i, a)

    return tf.reduce_sum(
        v1.while_loop(lambda i, *_: i < 4, step, [0, x, tf.TensorArray(tf.float32, 4)])[2].stack()
    )


def recurrent(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    rows = x * tf.reshape(tf.range(24.0), [2, 4, 3])
    outputs, state = v1.nn.dynamic_rnn(Cell("cell"), rows, sequence_length=[4, 2], dtype=tf.float32)
    return tf.reduce_sum(outputs) + tf.reduce_sum(state)


def side_effects(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    def checked(a: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.no_op(), v1.assert_less(a, 1e6)]):
            return tf.identity(a * x)

    return times(2, lambda a: v1.cond(p, lambda: checked(a), lambda: a), x)


def scanned(x: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    rows = x * tf.reshape(tf.range(12.0), [4, 3])
    return tf.reduce_sum(tf.scan(tf.multiply, tf.map_fn(lambda row: tf.reduce_sum(row) * x, rows)))


MODELS = [
    loop, loop_in_loop, cond, cond_in_cond, cond_in_loop, loop_in_cond, loop_in_cond_in_loop, case,
    array, recurrent,
    side_effects, scanned,
]  # fmt: skip
Model = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)


def built(model: Model) -> tf.Graph:
    """x -> model -> y, and p beside."""
    with tf.Graph().as_default() as graph:
        tf.identity(model(*given()), name="y")
    return graph


def opened(graph: tf.Graph) -> tuple[GraphEditor, v1.Session]:
    session = initialised(graph)
    return tgw.edit(graph, session=session), session


def gradient(graph: tf.Graph, y: str, x: str = "x:0") -> tf.Tensor:
    with graph.as_default():
        return tf.gradients(graph.get_tensor_by_name(y), graph.get_tensor_by_name(x))[0]


def names_around(op: tf.Operation) -> list[str]:
    return [context.name for context in contexts_of(op)]


def contexts_held(graph: tf.Graph) -> dict[str, list[Any]]:
    return {key: list(graph.get_collection(key)) for key in ("while_context", "cond_context")}


def reported(graph: tf.Graph) -> list[Any]:
    """All that the contexts of the ops in a graph say."""
    contexts = dict.fromkeys(
        context for op in graph.get_operations() for context in contexts_of(op)
    )
    return [
        (c.to_proto(), dict(c._external_values), list(c._nested_contexts), c.outer_context)
        for c in contexts
    ]


@every_model
@pytest.mark.sample(3)
def test_a_copy_runs_next_to_its_original_and_has_its_gradient(model: Model) -> None:
    graph = built(model)
    editor, session = opened(graph)
    editor.clone("x:0", "y", into="copy")
    one, other = gradient(graph, "y:0"), gradient(graph, "copy/y:0")
    with graph.as_default():
        both = tf.gradients(
            [graph.get_tensor_by_name(y) for y in ("y:0", "copy/y:0")],
            graph.get_tensor_by_name("x:0"),
        )
    for fed in FED:
        y, copied, dx, copied_dx, twice = session.run(["y:0", "copy/y:0", one, other, both[0]], fed)
        assert copied == pytest.approx(y)
        assert copied_dx == pytest.approx(dx)
        assert twice == pytest.approx(2 * dx, rel=1e-5)


@every_model
@pytest.mark.sample(3)
def test_a_copy_of_a_differentiated_model_computes_its_gradient_too(model: Model) -> None:
    graph = built(model)
    with graph.as_default():
        tf.identity(gradient(graph, "y:0"), name="dx")
    editor, session = opened(graph)
    editor.clone("x:0", ["y", "dx"], into="copy")
    again = gradient(graph, "copy/y:0")
    for fed in FED:
        y, copied, dx, copied_dx, copied_again = session.run(
            ["y:0", "copy/y:0", "dx:0", "copy/dx:0", again], fed
        )
        assert copied == pytest.approx(y)
        assert copied_dx == pytest.approx(dx)
        assert copied_again == pytest.approx(dx)


@every_model
@pytest.mark.sample(3)
def test_copies_lie_in_contexts_like_those_of_their_originals(model: Model) -> None:
    graph = built(model)
    with graph.as_default():
        tf.identity(gradient(graph, "y:0"), name="dx")
    before = contexts_held(graph)
    editor, _ = opened(graph)
    copy = editor.clone("x:0", ["y", "dx"], into="copy")
    originals = [graph.get_operation_by_name(name.removeprefix("copy/")) for name in copy.ops]
    for original, name in zip(originals, copy.ops, strict=True):
        made = graph.get_operation_by_name(name)
        assert names_around(made) == [f"copy/{context}" for context in names_around(original)]
        assert graph.is_fetchable(made) == graph.is_fetchable(original)
        if names_around(made):
            assert [*map(graph.is_feedable, made.outputs)] == [
                *map(graph.is_feedable, original.outputs)
            ]
    for key, held in contexts_held(graph).items():
        assert held[: len(before[key])] == before[key]
        assert [c.name for c in held[len(before[key]) :]] == [f"copy/{c.name}" for c in before[key]]


@every_model
@pytest.mark.sample(3)
def test_the_contexts_of_the_original_stay_as_they_are(model: Model) -> None:
    graph = built(model)
    with graph.as_default():
        tf.identity(gradient(graph, "y:0"), name="dx")
    known = graph.get_operations()
    around = [names_around(op) for op in known]
    before = reported(graph)
    editor, _ = opened(graph)
    editor.clone("x:0", ["y", "dx"], into="copy")
    assert reported(graph)[: len(before)] == before
    assert [names_around(op) for op in known] == around


@every_model
@pytest.mark.sample(3)
def test_undo_takes_the_contexts_out_of_the_graph_and_redo_brings_them_back(model: Model) -> None:
    graph = built(model)
    before = contexts_held(graph)
    editor, session = opened(graph)
    editor.clone("x:0", "y", into="copy")
    done = contexts_held(graph)
    gradient(graph, "copy/y:0")
    editor.undo()
    assert contexts_held(graph) == before
    editor.redo()
    assert contexts_held(graph) == done
    one, other = gradient(graph, "y:0"), gradient(graph, "copy/y:0")
    dx, copied = session.run([one, other], FED[0])
    assert copied == pytest.approx(dx)


@every_model
@pytest.mark.sample(3)
def test_a_copy_can_be_fed_by_its_original(model: Model) -> None:
    graph = built(model)
    editor, session = opened(graph)
    editor.clone("x:0", "y", into="copy", replace={"x:0": "y:0"})
    chained = gradient(graph, "copy/y:0")
    first, one = gradient(graph, "y:0"), gradient(graph, "copy/y:0", "y:0")
    for fed in ({"x:0": 0.7, "p:0": True}, {"x:0": 0.4, "p:0": False}):
        y, copied = session.run(["y:0", "copy/y:0"], fed)
        np.testing.assert_allclose(copied, session.run("y:0", {**fed, "x:0": y}), rtol=1e-4)
        through, outer, inner = session.run([chained, one, first], fed)
        np.testing.assert_allclose(through, outer * inner, rtol=1e-4)


def outcome(graph: tf.Graph, y: str) -> str:
    """What TensorFlow says when it is asked for a gradient."""
    try:
        return str(gradient(graph, y) is None)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error).__name__
    finally:
        # A gradient that fails leaves the graph in the middle of it.
        graph._set_control_flow_context(None)


@pytest.mark.parametrize(
    ("model", "expected"), [(loop, "TypeError"), (array, "TypeError"), (cond, "False")]
)
def test_a_second_gradient_of_a_copy_comes_to_what_that_of_the_original_comes_to(
    model: Model, expected: str
) -> None:
    graph = built(model)
    with graph.as_default():
        tf.identity(gradient(graph, "y:0"), name="dx")
    editor, _ = opened(graph)
    editor.clone("x:0", ["y", "dx"], into="copy")
    assert [outcome(graph, "copy/dx:0"), outcome(graph, "dx:0")] == [expected, expected]


def test_a_recurrent_training_step_trains_variables_of_its_own() -> None:
    with tf.Graph().as_default() as graph:
        rows = v1.placeholder(tf.float32, [2, 5, 3], name="rows")
        outputs, _ = v1.nn.dynamic_rnn(Cell("cell"), rows, sequence_length=[5, 3], dtype=tf.float32)
        v1.train.MomentumOptimizer(0.1, 0.9).minimize(
            tf.reduce_sum(tf.square(outputs - 0.5)), name="train"
        )
    editor, session = opened(graph)
    copy = editor.clone("rows:0", "train", into="copy")
    originals = graph.get_collection("variables")[: len(copy.variables)]
    fed = {"rows:0": np.random.default_rng(0).normal(size=[2, 5, 3])}
    before = read(originals, session)
    session.run("copy/train", fed)
    assert all(np.array_equal(a, b) for a, b in zip(read(originals, session), before, strict=True))
    session.run("train", fed)
    for _ in range(2):
        session.run(["train", "copy/train"], fed)
    after = read(originals, session)
    assert not np.allclose(after[0], before[0])
    for value, copied in zip(after, read(copy.variables, session), strict=True):
        np.testing.assert_allclose(copied, value, rtol=1e-6)


@pytest.mark.slow
def test_a_sequence_to_sequence_training_step_trains_on_its_own() -> None:
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(str(SEQ2SEQ))
    editor, session = opened(graph)
    [bias] = [v for v in graph.get_collection("variables") if v.name == "decoder/dense/bias:0"]
    fill(bias, 1.0, session)  # else the loss is 1e-7 at first, and Adam's first steps go too far
    copy = editor.clone(["ids:0", "len:0"], ["Mean:0", "Adam"], into="copy")
    fed = {"ids:0": np.random.default_rng(0).integers(1, 20, [4, 6]), "len:0": [6, 5, 4, 3]}
    first, copied = session.run(["Mean:0", "copy/Mean:0"], fed)
    assert copied == pytest.approx(first)
    for _ in range(3):
        session.run(["Adam", "copy/Adam"], fed)
    loss, copied = session.run(["Mean:0", "copy/Mean:0"], fed)
    assert loss < first
    assert copied == pytest.approx(loss, rel=1e-5)
    session.run("copy/Adam", fed)
    ahead, behind = session.run(["copy/Mean:0", "Mean:0"], fed)
    assert behind == pytest.approx(loss, rel=1e-5)
    assert ahead < behind
    variable = graph.get_collection("trainable_variables")[1]
    theirs = next(v for v in copy.variables if v.name == f"copy/{variable.name}")
    with graph.as_default():
        one = tf.gradients(graph.get_tensor_by_name("Mean:0"), variable)[0]
        other = tf.gradients(graph.get_tensor_by_name("copy/Mean:0"), theirs)[0]
    for original in graph.get_collection("trainable_variables"):
        if not original.name.startswith("copy/"):
            fill(
                next(v for v in copy.variables if v.name == f"copy/{original.name}"),
                read([original], session)[0],
                session,
            )
    np.testing.assert_allclose(*session.run([one, other], fed), rtol=1e-5)


def test_a_copy_in_a_body_joins_the_loop_that_it_is_made_in() -> None:
    with tf.Graph().as_default() as graph:
        x, _ = given()
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(2.0), use_resource=False)
        tf.identity(times(3, lambda a: tf.multiply(a, w, name="scaled"), x), name="y")
    editor, _ = opened(graph)
    editor.clone(editor.ops("while/scaled"), into="copy")
    made, original = (
        graph.get_operation_by_name(name) for name in ("copy/while/scaled", "while/scaled")
    )
    assert contexts_held(graph)["while_context"] == [made._control_flow_context]
    assert made._control_flow_context is original._control_flow_context
    made._update_input(0, original.outputs[0])
    [after] = [op for op in original.outputs[0].consumers() if op.type == "NextIteration"]
    after._update_input(0, made.outputs[0])
    dx = gradient(graph, "y:0")
    with v1.Session(graph=graph) as session:
        session.run("w/Assign")
        assert session.run(["y:0", dx], {"x:0": 1.5}) == [
            pytest.approx(1.5 * 4**3),
            pytest.approx(4.0**3),
        ]


def test_an_inner_loop_is_copied_in_the_body_of_the_outer_one() -> None:
    graph = built(loop_in_loop)
    editor, _ = opened(graph)
    inner = editor.ops("while/while_1/Merge").whole() & editor.ops(scope="while/while_1")
    before = contexts_held(graph)
    copy = editor.clone(inner, into="copy")
    assert contexts_held(graph) == before
    [outer] = before["while_context"]
    [made] = {graph.get_operation_by_name(name)._control_flow_context for name in copy.ops} - {
        outer
    }
    assert made.outer_context is outer
    assert made in outer._nested_contexts
    assert made.name == "copy/while/while_1/while_context"
    results = [
        graph.get_tensor_by_name(f"{scope}while/while_1/Exit_1:0") for scope in ("", "copy/")
    ]
    for reader in [op for op in results[0].consumers() if op.type == "NextIteration"]:
        reader._update_input(0, results[1])
    plain = built(loop_in_loop)
    dx, expected = gradient(graph, "y:0"), gradient(plain, "y:0")
    with v1.Session(graph=graph) as session, v1.Session(graph=plain) as other:
        assert session.run(["y:0", dx], FED[0]) == pytest.approx(
            other.run(["y:0", expected], FED[0])
        )
    editor.undo()
    assert made not in outer._nested_contexts


def test_half_a_loop_is_refused_and_nothing_changes() -> None:
    graph = built(loop)
    editor, _ = opened(graph)
    version, before = graph.version, reported(graph)
    for part in (["while/Merge", "while/Switch"], ["while/mul", "y"]):
        with pytest.raises(NotClonable, match="while loop 'while/while_context'"):
            editor.clone(editor.ops(*part), into="copy")
    with pytest.raises(NotClonable, match="lies inside while loop 'while/while_context'"):
        editor.clone("while/mul:0", "y", into="copy")
    assert (graph.version, reported(graph)) == (version, before)
    copy = editor.clone(editor.ops("while/Merge", "while/Switch").whole(), into="copy")
    assert "copy/while/Exit_1" in copy.ops


@every_model
@pytest.mark.sample(3)
def test_a_copy_in_another_graph_has_the_gradient_too(model: Model) -> None:
    graph, other = built(model), tf.Graph()
    editor, session = opened(graph)
    with v1.Session(graph=other) as elsewhere:
        editor.clone("x:0", "y", into="copy", graph=other, session=elsewhere)
        dx, copied_dx = gradient(graph, "y:0"), gradient(other, "copy/y:0", "copy/x:0")
        assert {key: len(held) for key, held in contexts_held(other).items()} == {
            key: len(held) for key, held in contexts_held(graph).items()
        }
        for fed in FED:
            placeholders = [op.name for op in other.get_operations() if op.type == "Placeholder"]
            theirs = {f"{name}:0": fed[f"{name}:0".removeprefix("copy/")] for name in placeholders}
            expected = session.run(["y:0", dx], fed)
            assert elsewhere.run(["copy/y:0", copied_dx], theirs) == pytest.approx(
                expected, rel=1e-5
            )


@pytest.mark.parametrize(
    "model", [loop, loop_in_loop, cond_in_loop, loop_in_cond, array], ids=lambda m: m.__name__
)
def test_what_was_imported_without_contexts_is_copied_and_runs(model: Model) -> None:
    definition = built(model).as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    editor, session = opened(graph)
    editor.clone("x:0", "y", into="copy", replace={"x:0": "y:0"})
    for fed in FED:
        y, copied = session.run(["y:0", "copy/y:0"], fed)
        assert copied == pytest.approx(session.run("y:0", {**fed, "x:0": y}), rel=1e-4)


def test_the_lowered_loops_of_a_frozen_function_are_copied_and_run() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def double(x: tf.Tensor) -> tf.Tensor:
        while x < 10.0:
            x = x * 2.0 if x > 3.0 else x * x + 1.0
        return x

    v1.enable_control_flow_v2()
    frozen = convert_variables_to_constants_v2(double.get_concrete_function()).graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        [y] = tf.import_graph_def(frozen, return_elements=["Identity:0"], name="")
    editor, session = opened(graph)
    assert any(op.type == "Enter" for op in graph.get_operations())
    editor.clone("x:0", "Identity", into="copy")
    for x in (0.5, 4.0, 20.0):
        original, copied = session.run([y, "copy/Identity:0"], {"x:0": x})
        assert copied == original


def carried_along(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    """Of the three results of the loop, and of the two of the conditional, y needs one."""
    square, p = tf.square(x), tf.identity(p)
    body = lambda i, a, b: (i + 1, a * x, b + a)  # noqa: E731
    _, a, _ = v1.while_loop(lambda i, *_: i < 3, body, [0, x, tf.stack([square, x])[0] * 2.0])
    return v1.cond(p, lambda: (a + 1.0, tf.exp(square) + 1.0), lambda: (a, square * x))[0]


def test_what_loops_carry_besides_what_is_needed_comes_from_the_copy_s_inputs_too() -> None:
    editor, session = opened(built(carried_along))
    copy = editor.clone(["x:0", "p:0"], "y", into="copy", placeholders=True)
    assert copy.outside == ()
    assert [name for name, _ in copy.report.placeholders] == ["x:0", "p:0"]
    for fed in FED:
        theirs = {copy[name]: value for name, value in fed.items()}
        assert session.run("copy/y:0", theirs) == pytest.approx(session.run("y:0", fed))


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_a_copy_in_the_body_of_a_loop_has_a_variable_of_its_own(resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=resource)
        tf.identity(
            v1.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * w.read_value()), [0, x])[1],
            name="y",
        )
    with v1.Session(graph=graph) as session:
        session.run(w.initializer)
        editor = tgw.edit(graph, session=session)
        copy = editor.clone("while/Identity_1:0", "while/mul:0", into="copy")
        assert ([v.op.name for v in copy.variables], copy.shared) == (["copy/w"], ())
        assert session.run("y:0", {x: 5.0}) == 5
        editor.reroute("while/mul:0", to=copy["while/mul:0"].name)
        with graph.as_default():
            double = v1.assign(copy.variables[0], 2.0)
        session.run(double)
        assert session.run(["y:0", w], {x: 5.0}) == [40, 1]


@pytest.mark.parametrize(
    ("inputs", "output", "fed"),
    [
        (
            ["ocond/Switch:0", "ocond/Const:0", "ocond/switch_f:0"],
            "ocond/Const:0",
            {"ocond/Switch:0": True},
        ),
        (["ocond/Switch:0"], "ocond/switch_f:0", {"ocond/Switch:0": False}),
        (["ocond/icond/Switch:0"], "ocond/icond/sub/y:0", {"ocond/icond/Switch:0": True}),
    ],
)
def test_what_is_extracted_without_the_switch_of_its_conditional_lies_in_none_and_can_be_fetched(
    inputs: list[str], output: str, fed: dict[str, bool]
) -> None:
    path = CORPUS / "graphs" / "cond_v1.meta.pbtxt"
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(text_format.Parse(path.read_text(), v1.MetaGraphDef()))
    with v1.Session(graph=graph) as session:
        made = tgw.edit(graph, session=session).extract(inputs, [output])
    assert all(op._get_control_flow_context() is None for op in made.graph.get_operations())
    expected = made.session.run(output, fed)
    made.clone([], [output], into="copy")
    made.undo()
    made.redo()
    assert np.array_equal(made.session.run(f"copy/{output}", fed), expected)


def test_a_conditional_inside_of_one_copied_without_its_switch_is_copied_and_undone() -> None:
    path = CORPUS / "graphs" / "cond_v1.meta.pbtxt"
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(text_format.Parse(path.read_text(), v1.MetaGraphDef()))
    boundary, merged = ["ocond/Switch:0", "ocond/Sum/Switch:0"], "ocond/icond/Merge:0"
    with tf.Graph().as_default() as other, v1.Session() as session:
        editor = tgw.edit(graph, session=v1.Session(graph=graph))
        editor.clone(boundary, [merged], into="copy", graph=other, session=session)
        made = other.get_collection(v1.GraphKeys.COND_CONTEXT)
        assert {context.name.rpartition("/")[0] for context in made} == {"copy/ocond/icond"}
        assert [context.outer_context for context in made] == [None, None]
        summed, feeds = (
            "copy/ocond/Sum/Switch:0",
            {"copy/ocond/Switch:0": True, "copy/ocond/Sum/Switch:0": [1.0, 2, 3]},
        )
        (gradient,) = tf.gradients(
            other.get_tensor_by_name(f"copy/{merged}"), other.get_tensor_by_name(summed)
        )
        assert session.run(gradient, feeds).tolist() == [1.0, 1.0, 1.0]
        editor.undo()
        assert other.get_collection(v1.GraphKeys.COND_CONTEXT) == []
        editor.redo()
        assert other.get_collection(v1.GraphKeys.COND_CONTEXT) == made


@pytest.mark.parametrize("live", [True, False])
def test_what_lies_in_a_conditional_that_is_detached_from_its_predicate_is_copied(
    live: bool,
) -> None:
    path = CORPUS / "graphs" / "cond_v1.meta.pbtxt"
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(text_format.Parse(path.read_text(), v1.MetaGraphDef()))
    editor = tgw.edit(graph if live else graph.as_graph_def())
    editor.detach("ocond/pred_id", inputs=False, control=False)
    copy = editor.clone([], ["ocond/icond/sub/y:0"], into="head", init="none")
    assert "head/ocond/icond/sub/y" in editor._core.index.ids
    assert copy.scope == "head"
    editor.undo()
    editor.undo()
    assert "ocond/pred_id_placeholder" not in editor._core.index.ids


NESTED = [loop, loop_in_loop, cond, cond_in_cond, cond_in_loop, loop_in_cond, loop_in_cond_in_loop]


def named_ops(graph: tf.Graph) -> set[str]:
    """All ops that the control flow contexts of a graph name."""
    protos = [
        context.to_proto()
        for key in ("while_context", "cond_context")
        for context in graph.get_collection(key)
    ]
    return {
        text.partition(":")[0] for text in re.findall(r': "([^"]*)"', "".join(map(str, protos)))
    }


# A Cast that is put into a loop of a file (that of `loop`) joins no context: a file's are read when
# it is imported.
@pytest.mark.parametrize(
    ("build", "kind"),
    [*((build, "live") for build in NESTED), *((build, "file") for build in NESTED[1:])],
)
@pytest.mark.sample(4)
def test_contexts_hold_the_ops_that_took_the_places_of_others(
    build: Callable[..., tf.Tensor], kind: str
) -> None:
    """A cast makes new ops for those of another dtype, also when TensorFlow imports a file that was
    cast before.
    """

    def made() -> tf.Graph:
        with tf.Graph().as_default() as graph:
            x, p = v1.placeholder(tf.float32, [], name="x"), v1.placeholder(tf.bool, [], name="p")
            tf.identity(build(x, p), name="y")
        return graph

    def slopes(graph: tf.Graph, end: str) -> list[float]:
        with graph.as_default(), v1.Session() as session:
            slope = tf.gradients(
                graph.get_tensor_by_name(f"{end}:0"), graph.get_tensor_by_name("x:0")
            )
            return [session.run(slope, feed)[0] for feed in FED]

    graph = made()
    with graph.as_default():
        editor = tgw.edit(graph if kind == "live" else v1.train.export_meta_graph(graph=graph))
    editor.passes.cast("float16")
    live = editor.graph
    names = named_ops(live)
    if kind == "live":  # the ops of a file keep their names
        assert names != named_ops(made())
    assert {name for name in names if name in live_names(live)} <= editor._core.index.ids.keys()
    editor.undo()
    if kind == "live":
        assert named_ops(live) == named_ops(made())
    editor.redo()
    assert named_ops(live) == names
    end = next(
        name
        for name in editor._core.index.names
        if name.partition("_")[0] == "y" and "/" not in name
    )
    assert np.allclose(slopes(live, end), slopes(made(), "y"), rtol=2e-2)


def live_names(graph: tf.Graph) -> set[str]:
    return {op.name for op in graph.get_operations()}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (
            lambda e: e.passes.rename_type("Enter", "Exit"),
            "cannot become Exit: a while loop or conditional needs its",
        ),
        (
            lambda e: e.passes.rename_type("NextIteration", "Identity"),
            "cannot become Identity: .* Identity ops have no",
        ),
        (
            lambda e: e.replace("z", "Exit"),
            "of type Exit would be alone, and is a part of a while loop only",
        ),
        (lambda e: e.replace_all("Neg(x)", "Exit(x)"), "of type Exit would be alone"),
        (lambda e: e.insert("z:0", "NextIteration"), "of type NextIteration would be alone"),
        (
            lambda e: e.insert("x:0", "Enter", attributes={"frame_name": "w/while_context"}),
            "of type Enter would be",
        ),
        (
            lambda e: e.insert("z:0", lambda t: tf.raw_ops.Exit(data=t)),
            "of type Exit would be alone",
        ),
        (
            lambda e: e.insert(
                "z:0",
                lambda t: tf.raw_ops.Exit(
                    data=tf.while_loop(lambda a: a < 9.0, lambda a: a * 2, [t])
                ),
            ),
            "of type Exit would be alone",
        ),
    ],
    ids=[
        "Enter-Exit",
        "NextIteration-Identity",
        "replace",
        "replace_all",
        "insert",
        "Enter",
        "function",
        "after a loop",
    ],
)
@pytest.mark.parametrize("is_file", [False, True], ids=["live", "file"])
@pytest.mark.sample(8)
def test_an_op_that_holds_a_loop_together_is_not_made_alone(
    edit: Callable[[GraphEditor], object], why: str, is_file: bool, tmp_path: Path
) -> None:
    """TensorFlow's executor ends the process where an Exit runs outside of all loops."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        _, y = tf.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, a * x), [tf.constant(0), x], name="w"
        )
        tf.negative(y, name="z")
    with v1.Session(graph=graph) as session:
        (tmp_path / "loop.pb").write_bytes(graph.as_graph_def().SerializeToString())
        editor = tgw.edit(tmp_path / "loop.pb") if is_file else tgw.edit(graph, session=session)
        before = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
        with pytest.raises(GraphEditError, match=why):
            edit(editor)
        assert [
            node.SerializeToString(deterministic=True) for node in editor._core.index.nodes
        ] == before
        # A whole loop can be added, also in the body of another one.
        editor.insert("w/mul:0", lambda t: tf.while_loop(lambda a: a < 9.0, lambda a: a * 2, [t]))
        assert editor.session.run("z:0", {"x:0": 2.0}) == -64.0  # 4 becomes 16; 32; 64
