"""The script that does what was done: complete, and the same in another process."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, build_mlp, dense, initialised, v1
from tfgraphwidget.edits.rewire.reroute import AddControlInputs
from tfgraphwidget.edits.serialization.python_source import array_expression, expression_of
from tfgraphwidget.graph.diff import difference

RATE = 0.5
ONES = np.ones((2, 3), np.float32)


def scaled(x: tf.Tensor) -> tf.Tensor:
    """Needs a number of this module."""
    return x * RATE


def head(features: tf.Tensor) -> tf.Tensor:
    """Needs a function of this module, and its imports."""
    kernel = v1.get_variable("kernel", [features.shape[1], 2], initializer=v1.ones_initializer())
    return scaled(tf.nn.softmax(features @ kernel)) * np.float32(2)


def head_of(units: int) -> Any:
    """Functions of one name that differ in what is around them."""

    def made(features: tf.Tensor, times: float = float(units)) -> tf.Tensor:
        kernel = v1.get_variable(
            "kernel", [features.shape[1], units], initializer=v1.ones_initializer()
        )
        return features @ kernel * times

    return made


def replayed(text: str, graph: tf.Graph | None = None) -> dict[str, Any]:
    """What a script leaves; `graph` is the default one, with a session if it has
    variables.
    """
    names: dict[str, Any] = {"__name__": "elsewhere"}
    if graph is None:
        exec(compile(text, "script", "exec"), names)
    else:
        with graph.as_default(), initialised(graph).as_default():
            exec(compile(text, "script", "exec"), names)
    return names


def again(editor: tgw.GraphEditor) -> tgw.GraphEditor:
    """The editor after its script has run on a new graph like the one that it was opened on."""
    replay: tgw.GraphEditor = replayed(editor.history.to_script().text, build_mlp(resource=True))[
        "editor"
    ]
    assert not difference(editor._core.index, replay._core.index)
    return replay


@pytest.fixture
def live() -> tgw.GraphEditor:
    """An editor on a live graph."""
    graph = build_mlp(resource=True)
    return tgw.edit(graph, session=initialised(graph))


def test_a_method_of_several_words_is_printed_as_python_writes_it() -> None:
    assert AddControlInputs("b", ("a",)).code() == 'editor.add_control_inputs(op="b", ops=["a"])'


def test_a_file_is_opened_as_it_was_and_edited_the_same() -> None:
    editor = tgw.edit(INCEPTION)
    logits = "net/InceptionV3/Logits/SpatialSqueeze"
    editor.rename(logits, "logits")
    editor.insert("logits:0", "CheckNumerics", into="checked", message="is finite")
    text = editor.history.to_script().text
    assert text.startswith("import tfgraphwidget as tgw\n\n")
    assert f'editor = tgw.edit("{INCEPTION}")' in text
    assert not difference(editor._core.index, replayed(text)["editor"]._core.index)


def test_a_live_graph_is_the_default_one_where_the_script_runs(live: tgw.GraphEditor) -> None:
    live.reroute("net/two/out:0", to="net/one/out:0")
    live.clone(live.ops(scope="net"), into="copy")
    replay = again(live)
    assert replay.session is not None
    assert "# the graph that was opened" in live.history.to_script().text


def test_functions_come_with_what_they_need(live: tgw.GraphEditor) -> None:
    live.call("net/one/out:0", head, into="head")
    live.call("net/one/out:0", head_of(3), into="three")
    live.call("net/one/out:0", head_of(4), into="four")
    live.call("net/one/out:0", head, into="head_2")
    live.insert("net/logits:0", lambda x: x * RATE, into="less")
    live.insert("net/two/out:0", tf.math.abs, into="positive")
    replay = again(live)
    assert replay._core.index.shape(replay._core.index.op("four/mul"), 0) == (None, 4)
    text = live.history.to_script().text
    assert text.count("RATE = 0.5") == text.count("def scaled") == 1
    assert "function=tf.abs" in text or "function=tf.math.abs" in text
    assert "function=lambda x: x * RATE" in text


def test_a_function_without_source_is_to_be_given(live: tgw.GraphEditor) -> None:
    live.call("net/one/out:0", functools.partial(tf.multiply, y=2.0), into="twice")
    assert "function = ...  # give here the functools partial" in live.history.to_script().text
    compile(live.history.to_script().text, "script", "exec")
    made: dict[str, Any] = {"tf": tf}
    exec("def blind(x): return x + 1.0", made)
    live.call("net/one/out:0", made["blind"], into="blind")
    assert "blind = ...  # give here the function 'blind'" in live.history.to_script().text


def test_what_a_function_reads_and_cannot_be_written_down_is_to_be_given() -> None:
    weights = tf.Variable([1.0])
    said = expression_of(lambda x: x * weights, "function", {}, "values.npz")
    assert said.text == "lambda x: x * weights"
    assert said.statements == {
        "weights": "weights = ...  # give here the tensorflow ResourceVariable"
    }


def test_two_closures_of_one_name_are_not_mixed_up() -> None:
    two, three = head_of(2), head_of(3)
    said = expression_of(lambda x: (two(x), three(x)), "function", {}, "values.npz")
    assert said.text == "function"
    assert said.statements["function"].startswith(
        "function = ...  # give here the function 'test_two_closures"
    )


def test_arrays_are_written_in_the_line_or_above_it(live: tgw.GraphEditor) -> None:
    small = np.linspace(0, 1, 16).reshape(4, 4)
    small[0, 0], small[1, 1] = np.nan, -np.inf
    live.clone("x:0", "net/logits:0", "small", init={"net/two/w": small})
    live.set_constant("net/one/b/Initializer/zeros", np.arange(20.0, dtype=np.float32)[:4])
    replay = again(live)
    with replay.graph.as_default():
        kernel = replay.session.run(replay["small"].variables)[2]
    assert np.array_equal(kernel, small.astype(np.float32), equal_nan=True)


def test_an_array_over_a_megabyte_is_read_from_a_file_nearby(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wide() -> tf.Graph:
        with tf.Graph().as_default() as graph:
            dense(v1.placeholder(tf.float32, [None, 600], name="x"), 600, "one", resource=True)
        return graph

    graph = wide()
    editor = tgw.edit(graph, session=initialised(graph))
    value = np.random.default_rng(0).normal(size=(600, 600)).astype(np.float32)
    editor.clone(
        "x:0", "one/out:0", "copy", init={"one/w": value, "one/b": np.ones(600, np.float32)}
    )
    assert list(editor.history.to_script().arrays) == ["one/w"]
    assert "# editor.save writes values.npz beside the script" in editor.history.to_script().text
    assert len(editor.history.to_script().text) < 10_000
    written = editor.save(tmp_path / "large.py").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.npz", "large.py"]
    monkeypatch.chdir(tmp_path)
    replay = replayed(written, wide())["editor"]
    with replay.graph.as_default():
        kernel, bias = replay.session.run(replay["copy"].variables)
    assert np.array_equal(kernel, value)
    assert (bias == 1).all()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(100, dtype=np.int64),
        np.ones((5, 5), ml_dtypes.bfloat16),
        np.array(["a", b"b", "ü"], dtype=object),
        np.array([np.nan, np.inf, -0.0]),
        np.zeros((0, 3), np.complex64),
    ],
)
def test_an_array_of_any_dtype_is_the_same_again(array: np.ndarray[Any, Any]) -> None:
    said = array_expression(array, "x", {}, "values.npz")
    names: dict[str, Any] = {}
    exec("\n".join(said.statements.values()), names)
    back = eval(said.text, names)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert (
        back.tobytes() == array.tobytes()
        if array.dtype != object
        else back.tolist() == array.tolist()
    )


def test_a_selection_is_printed_as_it_was_when_it_was_edited(live: tgw.GraphEditor) -> None:
    net = live.ops(scope="net")
    live.clone(net, into="net/copy")
    live.clone(net, into="other")
    assert "editor.ops(scope='net'), into=\"net/copy\"" in live.history.lines[0]
    assert "editor.ops(" in live.history.lines[1]
    again(live)


def test_a_selection_by_a_function_is_printed_as_the_ops(live: tgw.GraphEditor) -> None:
    wanted = {"net/one/MatMul"}

    def is_wanted(op: Any) -> bool:
        return op.name in wanted

    live.set_device(live.ops(where=is_wanted), "/device:CPU:0")
    assert "net/one/MatMul" in live.history.to_script().text
    again(live)


@pytest.mark.parametrize("scope", ["editor", "tf", "tgw", "np", "print", "lambda", "values"])
def test_a_result_takes_no_name_that_the_script_needs(live: tgw.GraphEditor, scope: str) -> None:
    live.clone("x:0", "net/logits:0", scope)
    live.call("net/logits:0", lambda x: tf.square(x) + 1, into="more")
    assert f"\n{scope}_ = editor.clone(" in live.history.to_script().text
    again(live)


def test_an_edit_that_the_session_does_not_see_says_so(live: tgw.GraphEditor) -> None:
    live.renew = False
    live.reroute("net/two/out:0", to="net/one/out:0")
    lines = 'editor.renew = False\neditor.reroute(old="net/two/out:0", to="net/one/out:0")'
    assert live.history.to_script().text.rstrip().endswith(lines)
    again(live)


def test_what_was_undone_is_not_in_the_script(live: tgw.GraphEditor) -> None:
    live.clone("x:0", "net/logits:0", "copy")
    live.reroute("net/two/out:0", to="net/one/out:0")
    live.undo()
    assert "reroute" not in live.history.to_script().text
    again(live)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
def looped(x: tf.Tensor) -> tf.Tensor:
    """A loop, so that there are rooms."""
    return tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 2.0), [0, x])[1]


def test_edits_in_rooms_lead_there_and_back(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        looped(v1.placeholder(tf.float32, [None], name="x"))
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(path)
    call = next(iter(editor.ops(where=lambda op: op.type.endswith("PartitionedCall"))))
    editor.view.enter(call)
    loop = next(iter(editor.ops(where=lambda op: op.type.endswith("While"))))
    editor.view.enter(loop, "body")
    product = next(iter(editor.ops(type="Mul")))
    editor.set_constant(
        editor._core.index.names[editor._core.index.input_lists[editor._core.index.op(product)][1]],
        3.0,
    )
    inner = editor._core.index
    editor.view.leave(0)
    editor.rename("x", "input")
    text = editor.history.to_script().text
    assert text.splitlines()[-5:][0] == f'editor.view.enter("{call}")'
    assert f'editor.view.enter("{loop}", "body")' in text
    assert text.rstrip().endswith('editor.view.leave(0)\neditor.rename(old="x", new="input")')
    replay = replayed(text)["editor"]
    assert not difference(editor._core.index, replay._core.index)
    replay.view.enter(call)
    replay.view.enter(loop, "body")
    assert not difference(inner, replay._core.index)


def test_what_was_opened_from_memory_comes_along_when_it_is_small(line: tf.Graph) -> None:
    editor = tgw.edit(line.as_graph_def())
    editor.reroute("b:0", to="a:0")
    assert not difference(
        editor._core.index, replayed(editor.history.to_script().text)["editor"]._core.index
    )
    function = tgw.edit(looped)
    assert (
        "...,  # give here what was opened: tf.function 'looped'"
        in function.history.to_script().text
    )
    compile(function.history.to_script().text, "script", "exec")


def test_the_history_prints_with_numbers_to_jump_to_and_a_mark(live: tgw.GraphEditor) -> None:
    live.clone("x:0", "net/logits:0", "copy")
    live.reroute("net/two/out:0", to="net/one/out:0")
    live.rename("net/logits", "logits")
    live.history.goto(1)
    assert repr(live.history).splitlines() == [
        "  0  as it was opened",
        '▸ 1  copy = editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="copy")',
        '  2  editor.reroute(old="net/two/out:0", to="net/one/out:0")',
        '  3  editor.rename(old="net/logits", new="logits")',
    ]
    names = set(live._core.index.names)
    live.history.goto(3)
    assert "logits" in live._core.index.ids
    live.history.goto(0)
    assert "copy/net/logits" not in live._core.index.ids
    live.history.goto(1)
    assert set(live._core.index.names) == names
    with pytest.raises(tgw.GraphEditError, match="give a number from 0 to 3"):
        live.history.goto(4)
