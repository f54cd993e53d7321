"""Bypass and detach; and that rewiring takes effect wherever the graph is: in a session, a file, a
function's body.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, read, v1
from tests.edits.test_reroute import reads, refused, run, two_towers
from tests.nothing import says_nothing
from tfgraphwidget.edits.rewire import validation
from tfgraphwidget.errors import GraphEditError, GraphFinalized
from tfgraphwidget.graph.index import GraphIndex

X = np.float32([[1, 2, 3, 4], [5, 6, 7, 8]])


# Bypass


def built(layer: Any) -> tgw.GraphEditor:
    """x -> layer -> y, in a scope "layer"."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        with v1.name_scope("layer"):
            out = layer(x)
        tf.identity(out, name="y")
    return tgw.edit(graph)


def dropout(x: tf.Tensor) -> tf.Tensor:
    keep = v1.placeholder_with_default(0.5, [], name="keep")
    return v1.nn.dropout(x, rate=1 - keep, seed=1)


def batch_norm(x: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [0])
    return tf.nn.batch_normalization(x, mean, variance, tf.ones([4]), tf.zeros([4]), 1e-3)


def fused_batch_norm(x: tf.Tensor) -> tf.Tensor:
    four = tf.reshape(x, [-1, 1, 1, 4])
    scale, offset = tf.ones([4], name="scale"), tf.zeros([4], name="offset")
    out = v1.nn.fused_batch_norm(four, scale, offset, is_training=True, name="fused")
    tf.identity(out[1], name="mean")
    return tf.reshape(out[0], [-1, 4])


@pytest.mark.parametrize("layer", [dropout, batch_norm, fused_batch_norm, tf.identity, tf.nn.relu])
def test_a_layer_is_bypassed_by_its_scope(layer: Any) -> None:
    editor = built(layer)
    before = reads(editor)
    reported = editor.bypass("layer")
    assert reads(editor)["y"] == ["x"]
    assert reported.notes[0] == "'layer' stays in the graph, without consumers outside."
    assert np.array_equal(run(editor.graph, "y:0", {"x:0": X}), X)
    editor.undo()
    assert reads(editor) == before
    editor.bypass(editor.ops(scope="layer"))
    assert reads(editor)["y"] == ["x"]


def test_an_op_is_bypassed_by_the_only_input_of_its_dtype_and_shape() -> None:
    editor = built(lambda x: tf.reshape(tf.nn.bias_add(x, tf.ones([4])), [-1, 2, 2]))
    editor.bypass("layer/BiasAdd")
    assert reads(editor)["layer/Reshape"][0] == "x"
    editor = built(lambda x: tf.multiply(x, tf.zeros([1, 4]), name="scaled"))
    # Zeros of (1, 4) could replace (None, 4) too, but is a constant of the layer.
    editor.bypass("layer/scaled")
    assert reads(editor)["y"] == ["x"]


def test_what_is_left_out_is_said() -> None:
    editor = built(fused_batch_norm)
    fused = "layer/fused"
    reported = editor.bypass(fused, by={f"{fused}:0": "layer/Reshape:0"})
    assert reported.notes[0] == f"'{fused}:1' of '{fused}' is read as before."
    assert reads(editor)["layer/mean"] == [f"{fused}:1"]
    with pytest.raises(GraphEditError, match=f"No op outside of '{fused}' reads '{fused}:2' of it"):
        editor.bypass(fused, by={f"{fused}:2": "layer/scale:0"})


def test_several_outputs_that_are_left_out_are_said_in_the_plural() -> None:
    def layer(x: tf.Tensor) -> tf.Tensor:
        four = tf.reshape(x, [-1, 1, 1, 4])
        out = v1.nn.fused_batch_norm(
            four, tf.ones([4]), tf.zeros([4]), is_training=True, name="fused"
        )
        tf.add(out[1], out[2], name="sum")
        return tf.reshape(out[0], [-1, 4])

    reported = built(layer).bypass("layer/fused", by={"layer/fused:0": "layer/Reshape:0"})
    assert (
        reported.notes[0]
        == "'layer/fused:1' and 'layer/fused:2' of 'layer/fused' are read as before."
    )


def test_where_several_inputs_fit_each_is_offered() -> None:
    editor = built(lambda x: tf.add(x, tf.square(x), name="sum"))
    error = refused(lambda: editor.bypass("layer/sum"))
    assert error.why == (
        "'layer/sum' reads 'x:0' and 'layer/Square:0', and each would fit those that read "
        "'layer/sum:0' (float32 "
        '(None, 4)); choose one of them, such as editor.bypass(what="layer/sum", by="x:0").'
    )
    assert [fix.by for fix in error.fixes] == ["x:0", "layer/Square:0"]
    editor.apply(error.fixes[1])
    assert reads(editor)["y"] == ["layer/Square"]


def test_a_fix_goes_between_where_the_ends_do_not_fit() -> None:
    editor = built(lambda x: tf.cast(x, tf.int32, name="cast"))
    error = refused(lambda: editor.bypass("layer/cast"))
    assert [fix.adapter for fix in error.fixes] == ["Cast"]
    editor.apply(error.fixes[0])
    assert run(editor.graph, "y:0", {"x:0": X}).dtype == np.int32


def test_a_bypass_that_cannot_be_is_refused() -> None:
    editor = built(lambda x: tf.reduce_sum(x, name="sum"))
    assert refused(lambda: editor.bypass("layer/sum")).why == (
        "'layer/sum' reads 'x:0' (float32 (None, 4)), 'layer/Const:0' (int32 (2,)), and none of it "
        "fits those that read 'layer/sum:0' (float32 ()); connect each of them to another tensor "
        "instead."
    )
    says_nothing(editor.bypass("y"), "'y' has no consumers, so there is nothing to bypass")
    assert "reads nothing, and none of it fits" in refused(lambda: editor.bypass("x")).why
    with pytest.raises(GraphEditError, match="This graph has no op '\\^x'"):
        editor.bypass("layer/sum", by="^x")


def trained(rate: float | None, *, gradient_of: str = "") -> tf.Graph:
    """x -> relu -> dropout -> y -> loss, with a training step; without a rate no dropout."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable(
            "w", initializer=np.float32(np.arange(16).reshape(4, 4) / 8), use_resource=True
        )
        h = tf.nn.relu(tf.matmul(x, w), name="relu")
        if rate is not None:
            h = v1.nn.dropout(h, rate=rate, seed=1, name="net/dropout")
        v = v1.get_variable(
            "v", initializer=np.float32([[1, 2], [3, 4], [5, 6], [7, 8]]), use_resource=True
        )
        loss = tf.reduce_mean(tf.square(tf.matmul(h, v, name="y")), name="loss")
        v1.train.GradientDescentOptimizer(0.01).minimize(loss, name="step")
        if gradient_of:
            tf.gradients(tf.gradients(loss, x), graph.get_tensor_by_name(gradient_of))
    return graph


def weights_after_a_step(session: v1.Session) -> list[np.ndarray[Any, Any]]:
    """The values of both variables when they have been trained once."""
    with session.graph.as_default():
        session.run([variable.initializer for variable in v1.global_variables()])
        session.run("step", {"x:0": X})
        return [np.asarray(value) for value in session.run(v1.global_variables())]


def test_a_dropout_in_a_training_graph_is_bypassed_with_its_gradients() -> None:
    graph = trained(0.5)
    with v1.Session(graph=trained(None)) as plain, v1.Session(graph=graph) as session:
        wanted, before = weights_after_a_step(plain), weights_after_a_step(session)
        assert not all(np.array_equal(*pair) for pair in zip(wanted, before, strict=True))
        editor = tgw.edit(graph, session=session)
        reported = editor.bypass("net/dropout", gradients=True)
        assert editor.history.lines == ('editor.bypass(what="net/dropout", gradients=True)',)
        assert "Its gradients are bypassed" in str(reported)
        for pair in zip(weights_after_a_step(session), wanted, strict=True):
            np.testing.assert_allclose(*pair, rtol=1e-6)
        editor.undo()
        assert not all(
            np.array_equal(*pair)
            for pair in zip(wanted, weights_after_a_step(session), strict=True)
        )


@pytest.mark.parametrize("as_file", [False, True], ids=["live", "file"])
def test_gradients_of_what_was_renamed_are_bypassed_with_it(as_file: bool) -> None:
    graph = trained(0.5)
    editor = (
        tgw.edit(graph.as_graph_def())
        if as_file
        else tgw.edit(graph, session=v1.Session(graph=graph))
    )
    editor.rename("net/dropout", "net/noise")
    editor.rename("net", "model")
    reported = editor.bypass("model/noise", gradients=True)
    assert "Its gradients are bypassed" in str(reported)
    assert set(editor._core.executor.unused_ops()) >= {
        "model/noise/Mul",
        "gradients/net/dropout/Mul_grad/Mul",
    }
    if not as_file:
        with v1.Session(graph=trained(None)) as plain:
            for pair in zip(
                weights_after_a_step(editor.session), weights_after_a_step(plain), strict=True
            ):
                np.testing.assert_allclose(*pair, rtol=1e-6)
    editor.undo()
    editor.rename("relu", "activation")
    reported = editor.replace("activation", tf.round, into="other")
    assert "The gradients of activation ('gradients/relu_grad/ReluGrad')" in str(reported)
    editor.undo()
    assert "The gradients go through it, too." in str(editor.replace("activation", tf.tanh))


def test_gradients_of_what_another_editor_has_renamed_are_bypassed_with_it() -> None:
    graph = trained(0.5)
    session = v1.Session(graph=graph)
    first, second = (tgw.edit(graph, session=session) for _ in range(2))
    first.rename("net/dropout", "net/noise")
    second.rename("net", "model")
    for editor in (tgw.edit(graph, session=session), first):
        reported = editor.bypass("model/noise", gradients=True)
        assert "Its gradients are bypassed" in str(reported)
        assert set(editor._core.executor.unused_ops()) >= {
            "model/noise/Mul",
            "gradients/net/dropout/Mul_grad/Mul",
        }
        editor.undo()
    second.undo()
    first.undo()
    assert "Its gradients are bypassed" in str(
        tgw.edit(graph, session=session).bypass("net/dropout", gradients=True)
    )


def test_gradients_of_what_was_renamed_before_the_file_was_saved_are_said(tmp_path: Path) -> None:
    editor = tgw.edit(trained(0.5).as_graph_def())
    editor.rename("net/dropout", "net/noise")
    editor.rename("relu", "activation")
    editor.save(tmp_path / "renamed.pb")
    opened = tgw.edit(tmp_path / "renamed.pb")
    said = "of no op that is in the graph by that name; if they are some of "
    done = opened.bypass("net/noise", gradients=True)
    assert "'gradients/net/dropout/SelectV2_grad/SelectV2'" in str(done)
    assert f"{said}net/noise, compute the gradients again before you train" in str(done)
    opened.undo()
    assert f"{said}activation, compute the gradients again" in str(
        opened.replace("activation", tf.tanh)
    )
    opened.undo()
    # Not where no such op is near, and not where all ops have their names.
    assert "of no op" not in str(opened.replace("loss", lambda t, _: tf.reduce_sum(t)))
    assert "of no op" not in str(tgw.edit(trained(0.5).as_graph_def()).replace("relu", tf.tanh))


def test_without_gradients_a_bypass_is_what_it_was_and_its_line_too() -> None:
    editor = tgw.edit(trained(0.5))
    assert "compute them again" in str(editor.bypass("net/dropout"))
    plain = built(dropout)
    plain.bypass("layer/dropout", gradients=True)
    assert plain.history.lines == ('editor.bypass(what="layer/dropout")',)


@pytest.mark.parametrize("renamed", ["net", "sine"])
def test_gradients_of_a_tape_in_a_function_are_bypassed_with_the_scope(renamed: str) -> None:
    v = tf.Variable(np.float32([[1, 2], [3, 4], [5, 6], [7, 8]]))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def gradient(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.name_scope("net"):
                h = tf.multiply(tf.math.sin(x), 3.0, name="scaled")
            loss = tf.reduce_sum(tf.square(tf.matmul(h * 1.5, v)))
        return tape.gradient(loss, [x])[0] * 2.0

    editor = tgw.edit(gradient)
    assert any(name.startswith("gradient_tape/net/") for name in editor._core.index.names)
    if renamed != "net":
        editor.rename("net", renamed)
    editor.bypass(renamed, gradients=True)
    dead = (f"{renamed}/", "gradient_tape/net/")
    inputs = [
        text for name, read in reads(editor).items() if not name.startswith(dead) for text in read
    ]
    assert not [text for text in inputs if text.removeprefix("^").startswith(dead)]


def test_gradients_of_gradients_are_refused_in_words() -> None:
    editor = tgw.edit(trained(0.5, gradient_of="relu:0"))
    error = refused(lambda: editor.bypass("net/dropout", gradients=True))
    assert "gradient of a gradient" in error.why
    assert "=" not in error.sentence
    assert [type(fix).__name__ for fix in error.fixes] == ["StripTraining"]
    editor.apply(error.fixes[0])
    editor.bypass("net/dropout", gradients=True)


def test_who_waits_for_what_is_bypassed_waits_for_what_comes_before() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        check = tf.no_op(name="check")
        with tf.control_dependencies([check]):
            y = tf.identity(x, name="y")
        with tf.control_dependencies([y]):
            group = tf.no_op(name="group")
        with tf.control_dependencies([group]):
            tf.negative(y, name="z")
    editor = tgw.edit(graph)
    reported = editor.bypass("y")
    assert reads(editor)["z"] == ["x", "^check", "^group"]
    assert reads(editor)["group"] == ["^check", "^x"]
    assert "'z' waits for 'check' now, as 'y' did." in reported.notes
    editor.undo()
    editor.bypass("group")
    assert reads(editor)["z"] == ["y", "^y"]


def in_cond(x: tf.Tensor, step: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    return tf.cond(x > 0, lambda: tf.negative(step(x * 2.0)), lambda: x)


def in_loop(x: tf.Tensor, step: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    def body(i: tf.Tensor, t: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, tf.negative(step(t * 2.0))

    return tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]


def before_cond(x: tf.Tensor, step: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    y = step(x)
    return tf.cond(x > 0, lambda: y * 2.0, lambda: -y)


def before_loop(x: tf.Tensor, step: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    y = step(x)
    return tf.while_loop(lambda i, _: i < 3, lambda i, t: (i + 1, t * y), [0, y])[1]


@pytest.fixture
def v1_control_flow() -> Iterator[None]:
    """tf.cond and tf.while_loop as TensorFlow 1 built them; afterwards as before."""
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


@pytest.mark.usefixtures("v1_control_flow")
@pytest.mark.parametrize("form", [in_cond, in_loop, before_cond, before_loop])
def test_what_reads_past_a_part_waits_as_it_did_in_loops_and_branches(form: Any) -> None:
    def step(t: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([count.assign_add(1.0)]):
            return tf.identity(t, name="y")

    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [], name="x")
        count = v1.get_variable("count", [], initializer=v1.zeros_initializer(), use_resource=True)
        tf.identity(form(x, step), name="z")
        counted = count.read_value()
        session.run(v1.global_variables_initializer())
        z = session.run("z:0", {"x:0": 1.0})
        times = session.run(counted)
        editor = tgw.edit(graph, session=session)
        ops = {op.name for op in graph.get_operations()}
        editor.bypass(next(iter(ops & {"cond/y", "while/y"}), "y"))
        assert session.run("z:0", {"x:0": 1.0}) == z
        assert session.run(counted) == 2 * times


@pytest.mark.usefixtures("v1_control_flow")
def test_a_branch_that_gives_what_goes_past_does_not_wait_and_says_so() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")

        def counted() -> tf.Tensor:
            doubled = x * 2.0
            with tf.control_dependencies([tf.no_op(name="check")]):
                return tf.identity(doubled, name="y")

        tf.identity(tf.cond(x > 0, counted, lambda: x), name="z")
    done = tgw.edit(graph).bypass("cond/y")
    assert "'cond/y' waits for 'cond/check'; 'cond/Merge' does not." in done.notes


# Detach


def test_a_part_is_cut_off_by_placeholders() -> None:
    editor = two_towers()
    before = reads(editor)
    reported = editor.detach("one")
    assert reported.added == ("p_placeholder", "one/out_placeholder")
    assert (reads(editor)["one/mul"][0], reads(editor)["after_one"]) == (
        "p_placeholder",
        ["one/out_placeholder"],
    )
    assert run(
        editor.graph,
        ["one/out:0", "after_one:0"],
        {"p_placeholder:0": 2.0, "one/out_placeholder:0": 7.0},
    ) == [
        -4,
        7,
    ]
    editor.undo()
    assert reads(editor) == before
    assert editor.detach("one", outputs=False).changed == ("one/mul",)
    editor.undo()
    assert editor.detach("one", inputs=False).changed == ("after_one",)
    assert editor._core.index.shape(editor._core.index.op("one/out_placeholder_1"), 0) == ()


def test_one_placeholder_represents_one_tensor_with_its_dtype_and_shape() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.int32, [None, 2], name="x")
        a, b = tf.split(x, 2, axis=1, name="halves")
        with v1.name_scope("part"):
            tf.subtract(b * b, a, name="out")
    editor = tgw.edit(graph)
    reported = editor.detach("part")
    assert reported.added == ("halves_1_placeholder", "halves_placeholder")
    first, second = (graph.get_tensor_by_name(f"{name}:0") for name in reported.added)
    assert (first.dtype, first.shape.as_list(), second.shape.as_list()) == (
        tf.int32,
        [None, 1],
        [None, 1],
    )
    assert run(graph, "part/out:0", {first: [[3]], second: [[1]]}).tolist() == [[8]]


def test_control_edges_are_cut_only_when_asked() -> None:
    with tf.Graph().as_default() as graph:
        first = tf.no_op(name="first")
        with v1.name_scope("part"), tf.control_dependencies([first]):
            inner = tf.no_op(name="inner")
        with tf.control_dependencies([inner, first]):
            tf.no_op(name="last")
    editor = tgw.edit(graph)
    says_nothing(editor.detach("part"), "'part' has no such edges, so there is nothing to cut")
    editor.detach("part", control=True)
    assert (reads(editor)["part/inner"], reads(editor)["last"]) == ([], ["^first"])
    editor.undo()
    assert reads(editor)["last"] == ["^first", "^part/inner"]


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_no_placeholder_represents_a_variable_that_is_changed(resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        v = v1.get_variable("v", initializer=[1.0], use_resource=resource)
        v1.assign(v, v + 1.0, name="put")
    editor = tgw.edit(graph)
    put = next(
        name
        for name in editor.ops(matching="^put")
        if "Assign" in editor._core.index.types[editor._core.index.op(name)] or resource
    )
    before = reads(editor)
    with pytest.raises(GraphEditError, match="no placeholder can replace"):
        editor.detach(put)
    assert reads(editor) == before


# Loops and branches of TensorFlow 1


@pytest.fixture
def controlled() -> tgw.GraphEditor:
    """A while loop that does v = -(v * x + 1) three times, and a conditional: z² · 2 or -z."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x, z = (v1.placeholder(tf.float32, [], name=name) for name in "xz")

        def body(i: tf.Tensor, v: tf.Tensor) -> Any:
            return i + 1, tf.negative(
                tf.add(tf.multiply(v, x, name="mul"), 1.0, name="plus"), name="neg"
            )

        tf.identity(v1.while_loop(lambda i, _: i < 3, body, [0, x], name="loop")[1], name="y")
        taken = v1.placeholder(tf.bool, [], name="taken")

        def true() -> tf.Tensor:
            return tf.multiply(tf.square(z, name="square"), 2.0, name="twice")

        tf.identity(
            v1.cond(taken, true, lambda: tf.negative(z, name="minus"), name="cond"), name="r"
        )
    return tgw.edit(graph)


@pytest.mark.parametrize(
    ("source", "op", "why"),
    [
        (
            "loop/mul:0",
            "y",
            "lies inside while loop 'loop/while_context', and 'y' outside; read the loop's result",
        ),
        ("z:0", "loop/neg", "lies outside while loop 'loop/while_context', and 'loop/neg' inside"),
        ("x:0", "loop/neg", "read 'loop/mul/Enter:0' instead"),
        ("loop/Enter_1:0", "loop/neg", "is there in the loop's first iteration only"),
        ("loop/NextIteration_1:0", "loop/neg", "goes round to the loop's next iteration"),
        ("loop/Switch_1:0", "loop/neg", "is there when the loop is done only"),
        ("loop/Identity_1:0", "loop/Exit_1", "takes what is there when the loop is done only"),
        ("loop/Merge_1:0", "loop/neg", "would run with its condition too, once more than the body"),
        ("loop/neg:0", "loop/mul", "loop/mul → loop/plus → loop/neg → loop/mul would be a cycle"),
        (
            "cond/twice:0",
            "r",
            "is there only if 'taken:0' is true, and 'r' runs elsewhere; read the conditional's",
        ),
        (
            "cond/minus:0",
            "cond/twice",
            "only if 'taken:0' is false, and 'cond/twice' runs only if 'taken:0' is true",
        ),
        ("z:0", "cond/square", "nothing else that it reads or waits for would keep it there"),
        ("z:0", "cond/Merge", "is there whatever branch is taken"),
    ],
)
def test_edges_do_not_cross_the_borders_of_loops_and_branches(
    controlled: tgw.GraphEditor, source: str, op: str, why: str
) -> None:
    before = reads(controlled)
    assert why in refused(lambda: controlled.connect(source, op, 0)).why
    assert reads(controlled) == before


def test_within_a_loop_and_a_branch_edges_move_as_anywhere(controlled: tgw.GraphEditor) -> None:
    graph = controlled.graph
    controlled.connect("loop/mul:0", "loop/neg", 0)
    assert run(graph, "y:0", {"x:0": 2.0}) == -16
    controlled.connect("loop/mul:0", "loop/NextIteration_1", 0)
    assert run(graph, "y:0", {"x:0": 2.0}) == 16
    # What comes whatever branch is taken may be read in one, by an op that something else keeps
    # there.
    controlled.connect("z:0", "cond/twice", 0)
    assert [run(graph, "r:0", {"z:0": 3.0, "taken:0": taken}) for taken in (True, False)] == [6, -3]


def test_an_op_that_a_control_edge_keeps_in_a_loop_keeps_it(controlled: tgw.GraphEditor) -> None:
    controlled.add_control_inputs("loop/add/y", "loop/mul")
    controlled.remove_control_inputs("loop/add/y", "loop/Identity")
    assert run(controlled.graph, "y:0", {"x:0": 2.0}) == -(2 * -(2 * -(2 * 2 + 1) + 1) + 1)
    with pytest.raises(GraphEditError, match="'loop/add/y' runs inside while loop"):
        controlled.remove_control_inputs("loop/add/y", "loop/mul")
    with pytest.raises(GraphEditError, match="where no placeholder can be fed; cut outside of it"):
        controlled.detach("loop/neg", outputs=False)
    with pytest.raises(GraphEditError, match="lies outside while loop"):
        controlled.add_control_inputs("loop/neg", "r")
    with pytest.raises(GraphEditError, match="lies inside while loop"):
        controlled.add_control_inputs("r", "loop/neg")


def test_the_constants_of_a_fix_run_in_the_loop_too() -> None:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 3], name="x")

        def body(i: tf.Tensor, v: tf.Tensor) -> Any:
            tf.transpose(v, name="turned")
            return i + 1, tf.add(v, 1.0, name="add")

        tf.identity(v1.while_loop(lambda i, _: i < 3, body, [0, x], name="loop")[1], name="y")
    editor = tgw.edit(graph)
    editor.connect("loop/turned:0", "loop/NextIteration_1", 0, adapter="Reshape")
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    wanted = value
    for _ in range(3):
        wanted = wanted.T.reshape(2, 3)
    assert np.array_equal(run(graph, "y:0", {"x:0": value}), wanted)


# Where the graph is


def test_a_session_that_has_run_sees_the_edit_and_keeps_its_values(
    mlp: tf.Graph, session: v1.Session, batch: np.ndarray
) -> None:
    with mlp.as_default():
        variables = v1.global_variables()
    for number, variable in enumerate(variables):
        fill(variable, number + 1, session)
    kept = read(variables, session)
    whole = session.run("net/logits:0", {"x:0": batch})
    editor = tgw.edit(mlp, session=session)
    editor.bypass("net/two/out")
    passed = session.run("net/logits:0", {"x:0": batch})
    assert np.array_equal(passed, session.run("net/two/add:0", {"x:0": batch}))
    editor.reroute("net/two/add:0", to="net/one/out:0")
    assert np.array_equal(
        session.run("net/logits:0", {"x:0": batch}), session.run("net/one/out:0", {"x:0": batch})
    )
    editor.history.goto(0)
    assert np.array_equal(session.run("net/logits:0", {"x:0": batch}), whole)
    assert all(np.array_equal(a, b) for a, b in zip(kept, read(variables, session), strict=True))


def test_undo_brings_back_what_tensorflow_would_write(mlp: tf.Graph, session: v1.Session) -> None:
    editor = tgw.edit(mlp, session=session)
    before = sorted(n.SerializeToString(deterministic=True) for n in mlp.as_graph_def().node)
    editor.swap("net/one/out:0", "net/two/out:0", never=["net/two/MatMul"])
    editor.add_control_inputs("net/logits", ["net/one/out", "x"])
    editor.detach("net/two")
    editor.history.goto(0)
    hidden = {node.name for node in mlp.as_graph_def().node} - set(editor._core.index.names)
    after = (n for n in mlp.as_graph_def().node if n.name not in hidden)
    assert sorted(n.SerializeToString(deterministic=True) for n in after) == before


def test_a_finalized_graph_is_not_rewired(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    before = reads(editor)
    line.finalize()
    with pytest.raises(GraphFinalized):
        editor.reroute("a:0", to="x:0")
    assert reads(editor) == before
    assert [t.name for t in line.get_operation_by_name("b").inputs] == ["a:0", "b/y:0"]


def test_a_file_is_rewired_before_tensorflow_imports_it(line: tf.Graph, tmp_path: Path) -> None:
    file = tmp_path / "line.pb"
    file.write_bytes(line.as_graph_def().SerializeToString())
    editor = tgw.edit(file)
    opened = editor._core.index
    whole = [node.SerializeToString() for node in opened.nodes]
    editor.bypass("b")
    assert "insert a Reshape" not in refused(lambda: editor.reroute("a:0", to="c:0")).why
    editor.detach("c", outputs=False)
    assert reads(editor)["c"] == ["a_placeholder", "c/y_placeholder"]
    editor.undo()
    editor.undo()
    assert editor._core.index is opened
    assert [node.SerializeToString() for node in editor._core.index.nodes] == whole
    editor.redo()
    copy = editor.clone("x:0", "c:0", "copy", init="none")
    assert np.array_equal(run(editor.graph, copy["c:0"], {"x:0": X[:, :2]}), X[:, :2] * 4)
    assert np.array_equal(run(editor.graph, "c:0", {"x:0": X[:, :2]}), X[:, :2] * 4)


def test_of_many_states_of_a_file_a_few_are_kept_and_undo_makes_the_others_again(
    line: tf.Graph, tmp_path: Path
) -> None:
    file = tmp_path / "line.pb"
    file.write_bytes(line.as_graph_def().SerializeToString())
    editor = tgw.edit(file)
    opened, states = editor._core.index, []
    for k in range(300):
        states.append(reads(editor))
        editor.connect("xab"[k % 3] + ":0", "c", k % 2)
    gc.collect()
    kept = [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, GraphIndex) and thing.origin is opened.origin
    ]
    assert len(kept) < 80
    for state in reversed(states):
        editor.undo()
        assert reads(editor) == state
    assert editor._core.index is opened


def test_a_file_with_ops_that_tensorflow_does_not_know_is_rewired(tmp_path: Path) -> None:
    graph_def = v1.GraphDef()
    for name, op, inputs in (
        ("x", "Placeholder", ()),
        ("odd", "NobodyKnows", ("x",)),
        ("y", "Foreign", ("odd:3",)),
    ):
        graph_def.node.add(name=name, op=op, input=inputs)
    graph_def.node[0].attr["dtype"].type = tf.float32.as_datatype_enum
    file = tmp_path / "odd.pb"
    file.write_bytes(graph_def.SerializeToString())
    editor = tgw.edit(file)
    editor.reroute("odd:3", to="x:0")
    assert reads(editor)["y"] == ["x"]
    editor.undo()
    editor.add_control_inputs("y", "x")
    assert reads(editor)["y"] == ["odd:3", "^x"]
    assert "odd → y → odd" in refused(lambda: editor.reroute("x:0", to="y:5")).why


def test_the_body_of_a_function_is_rewired() -> None:
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def double_and_square(x: tf.Tensor) -> tf.Tensor:
        return tf.square(tf.multiply(x, 2.0, name="double"), name="square")

    editor = tgw.edit(double_and_square)
    opened = editor._core.index
    before = reads(editor)
    editor.bypass("double")
    assert reads(editor)["square"] == ["x"]
    assert float(double_and_square(3.0)) == 36  # the function itself is as it was
    assert editor.undo() == 'editor.bypass(what="double")'
    assert editor._core.index is opened
    assert reads(editor) == before


def test_a_v2_loop_is_rewired_outside_and_inside() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        v1.placeholder(tf.float32, [], name="other")
        tf.identity(
            tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * x), [0, x])[1], name="y"
        )
    editor = tgw.edit(graph)
    assert editor.reroute("x:0", to="other:0").changed
    assert run(graph, "y:0", {"other:0": 2.0}) == 16
    editor.undo()
    loop = next(iter(editor.ops(type="StatelessWhile")))
    assert "would be a cycle" in refused(lambda: editor.connect("y:0", loop, 3)).why
    editor.view.enter(loop, "body")
    mul = next(iter(editor.ops(type="Mul")))
    inputs = reads(editor)[mul]
    editor.swap(f"{inputs[0]}:0", f"{inputs[1]}:0", only=mul)
    assert reads(editor)[mul] == inputs[::-1]
    editor.undo()
    assert reads(editor)[mul] == inputs


def test_a_failure_half_way_leaves_graph_and_history_as_they_were(
    line: tf.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tgw.edit(line)
    before = reads(editor)
    update, calls = tf.Operation._update_input, []

    def fails_at_the_second(op: tf.Operation, k: int, tensor: tf.Tensor) -> None:
        calls.append(op.name)
        if len(calls) == 2:
            raise RuntimeError("no more")
        update(op, k, tensor)

    with monkeypatch.context() as patch:
        patch.setattr(tf.Operation, "_update_input", fails_at_the_second)
        with pytest.raises(RuntimeError, match="no more"):
            editor.reroute(["a:0", "b:0"], to=["x:0", "a:0"])
    assert reads(editor) == before
    assert editor.history.done == ()
    assert np.array_equal(run(line, "c:0", {"x:0": X[:, :2]}), X[:, :2] * 8)


def graph_of_handles() -> Any:
    """Readers of handles of several kinds, all of dtype resource or variant, and of references to
    texts.
    """
    with tf.Graph().as_default() as graph:
        variable = v1.get_variable("variable", [], use_resource=True)
        tf.identity(variable.handle, name="same_variable")
        queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.float32], name="queue")
        tf.raw_ops.QueueSizeV2(handle=queue, name="size")
        table = tf.raw_ops.MutableHashTableV2(
            key_dtype=tf.int64, value_dtype=tf.int64, name="table"
        )
        tf.raw_ops.LookupTableSizeV2(table_handle=table, name="entries")
        array = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32, name="array")
        tf.raw_ops.TensorArraySizeV3(handle=array.handle, flow_in=array.flow, name="length")
        data = tf.data.Dataset.range(3)._variant_tensor
        tf.raw_ops.DatasetCardinality(
            input_dataset=tf.identity(data, name="same_data"), name="cardinality"
        )
        elements = tf.raw_ops.TensorListReserve(
            element_shape=[1], num_elements=2, element_dtype=tf.float32, name="elements"
        )
        tf.raw_ops.TensorListLength(input_handle=elements, name="count")
        tf.raw_ops.TensorListSetItem(input_handle=elements, index=0, item=tf.ones([1]), name="set")
        tf.raw_ops.TensorListReserve(
            element_shape=[2], num_elements=2, element_dtype=tf.float32, name="pairs"
        )
        tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, name="words")
        one = tf.constant(1, tf.int64)
        tf.raw_ops.LookupTableFindV2(table_handle=table, keys=one, default_value=one, name="find")
        tf.raw_ops.DestroyResourceOp(resource=table, name="destroy")
        tf.raw_ops.OptionalFromValue(components=[data], name="optional")
        tf.stack([data, data], name="stack")
        old = tf.raw_ops.FIFOQueue(component_types=[tf.float32], name="old_queue")
        tf.raw_ops.QueueSize(handle=old, name="old_size")
        v1.get_variable("text", initializer="", use_resource=False)
    return graph


@pytest.mark.parametrize(
    ("handle", "reader", "kinds"),
    [
        ("variable", "size", "of a variable, and 'size' takes that of a queue"),
        ("same_variable", "entries", "of a variable, and 'entries' takes that of a hash table"),
        ("table", "variable/Read/ReadVariableOp", "takes that of a variable, as 'variable:0' is"),
        ("queue", "length", "of a queue, and 'length' takes that of a TensorArray"),
        (
            "elements",
            "cardinality",
            "of a list of tensors, and 'cardinality' takes that of a dataset",
        ),
        ("same_data", "count", "of a dataset, and 'count' takes that of a list of tensors"),
        ("text", "old_size", "of a variable, and 'old_size' takes that of a queue"),
    ],
)
def test_a_handle_of_another_kind_is_refused(handle: str, reader: str, kinds: str) -> None:
    editor = tgw.edit(graph_of_handles())
    with pytest.raises(GraphEditError, match=kinds):
        editor.connect(f"{handle}:0", reader, k=0)
    index = editor._core.index
    assert kinds in validation.why_not(index, (index.ids[handle], 0), index.ids[reader], 0)
    assert index.ids[reader] in validation.refusals(
        index, (index.ids[handle], 0), [index.ids[reader]]
    )


def hash_table(*_: tf.Tensor) -> Any:
    return tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.int64)


@pytest.mark.parametrize("is_file", [False, True], ids=["live", "file"])
def test_a_new_op_gives_no_handle_of_another_kind(is_file: bool, tmp_path: Path) -> None:
    graph = graph_of_handles()
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "graph.pb" if is_file else graph)
    why = "is the handle of a hash table, and 'size' takes that of a queue, as 'queue:0' is"
    for edit in (
        lambda: editor.replace("queue", hash_table),
        lambda: editor.insert("queue:0", hash_table),
    ):
        with pytest.raises(GraphEditError, match=why):
            edit()
    editor.replace("queue", lambda: tf.raw_ops.FIFOQueueV2(component_types=[tf.float32]))
    assert editor.inspect("size").inputs[0].name != "queue:0"


@pytest.mark.parametrize(
    ("handle", "reader", "cannot"),
    [
        (
            "pairs",
            "set",
            (
                "Op 'set' cannot take the handle 'pairs:0' in place of 'elements:0', beside "
                "'set/index:0'"
            ),
        ),
        (
            "words",
            "find",
            "Op 'find' cannot take the handle 'words:0' in place of 'table:0', beside 'Const",
        ),
    ],
)
def test_a_handle_of_what_holds_other_tensors_is_refused(
    handle: str, reader: str, cannot: str
) -> None:
    editor = tgw.edit(graph_of_handles())
    with pytest.raises(
        GraphEditError, match=rf"{cannot}.*; choose a handle of what holds the same dtype and shape"
    ):
        editor.connect(f"{handle}:0", reader, k=0)


@pytest.mark.parametrize(
    ("handle", "reader"),
    [("queue", "destroy"), ("elements", "optional"), ("elements", "stack"), ("pairs", "count")],
)
def test_what_takes_any_handle_takes_one_of_another_kind(
    handle: str, reader: str, tmp_path: Path
) -> None:
    editor = tgw.edit(graph_of_handles())
    editor.connect(f"{handle}:0", reader, k=0)
    assert editor.inspect(reader).inputs[0].name == f"{handle}:0"
    graph_def = v1.GraphDef.FromString(editor.save(tmp_path / "graph.pb").read_bytes())
    with tf.Graph().as_default():
        tf.graph_util.import_graph_def(graph_def, name="")


def test_a_handle_of_the_same_kind_is_taken() -> None:
    editor = tgw.edit(graph_of_handles())
    editor.connect("same_variable:0", "variable/Read/ReadVariableOp", k=0)
    assert editor.inspect("variable/Read/ReadVariableOp").inputs[0].name == "same_variable:0"


def test_a_bypass_names_the_gradient_ops_that_still_read_what_stays() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2, 2], name="x")
        w = v1.get_variable("w", [2, 2], use_resource=True)
        y = tf.nn.relu(tf.matmul(x, w), name="act")
        v1.gradients(tf.reduce_mean(y * 2.0), [w])
    editor = tgw.edit(graph)
    report = editor.bypass("act", gradients=True)
    index = editor._core.index
    (reader,) = {index.names[op] for op in index.consumers.row(index.op("act")).tolist()}
    assert f"'act' stays in the graph, read by '{reader}'." in report.notes
