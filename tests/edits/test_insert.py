"""Insert: a function between a tensor and its readers, in sessions, files, functions and loops."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import fill, initialised, read, v1
from tests.edits.drafts import ran, saved, written
from tfgraphwidget.errors import GraphEditError, GraphFinalized, NameTaken, SessionRefused
from tfgraphwidget.runtime.live import traced_ops
from tfgraphwidget.runtime.session.renewal import Renewal

X = {"x:0": np.ones((1, 2), np.float32)}


def add_one(tensor: tf.Tensor) -> tf.Tensor:
    """One more."""
    return tensor + 1.0


def dense(tensor: tf.Tensor) -> tf.Tensor:
    """A layer with a variable."""
    kernel = v1.get_variable("kernel", [2, 2], initializer=v1.ones_initializer())
    return tensor @ kernel


@pytest.fixture
def opened(line: tf.Graph) -> tuple[tgw.GraphEditor, v1.Session]:
    """An editor on `line` and a session that has run all of it."""
    session = v1.Session(graph=line)
    assert session.run("c:0", X).tolist() == [[8, 8]]
    return tgw.edit(line, session=session), session


def test_a_function_runs_in_the_session_that_ran_before(
    opened: tuple[tgw.GraphEditor, v1.Session],
) -> None:
    editor, session = opened
    done = editor.insert("a:0", add_one, "one")
    assert done.changed == ("b",)
    assert done.added == ("one/add/y", "one/add")
    assert session.run("c:0", X).tolist() == [[12, 12]]
    editor.undo()
    assert session.run("c:0", X).tolist() == [[8, 8]]
    assert "one/add" not in editor._core.index.ids
    editor.redo()
    assert session.run("c:0", X).tolist() == [[12, 12]]


@pytest.mark.parametrize(
    ("function", "options", "gives"),
    [
        ("Identity", {}, [[8, 8]]),
        ("Reshape", {"shape": [-1, 2]}, [[8, 8]]),
        ("Transpose", {"perm": [1, 0]}, [[8], [8]]),
        ("CheckNumerics", {"message": "where"}, [[8, 8]]),
        ("Relu6", {}, [[8, 8]]),
        ("LeakyRelu", {"alpha": 0.5}, [[8, 8]]),
        ("AddV2", {"y": 1.0}, [[12, 12]]),
    ],
)
def test_an_op_type_does_for_a_function(
    opened: tuple[tgw.GraphEditor, v1.Session],
    function: str,
    options: dict[str, Any],
    gives: list[Any],
) -> None:
    editor, session = opened
    editor.insert("a:0", function, **options)
    assert session.run("c:0", X).tolist() == gives


def test_a_cast_suits_consumers_that_take_any_dtype(line: tf.Graph) -> None:
    with line.as_default():
        tf.cast(line.get_tensor_by_name("c:0"), tf.int32, name="whole")
    with pytest.raises(
        GraphEditError, match=r"is float16, and op 'whole' reads 'c:0', which is float32"
    ):
        tgw.edit(line).insert("c:0", "Cast", dtype=tf.float16)


def test_prints_and_checks_happen(
    opened: tuple[tgw.GraphEditor, v1.Session], capfd: pytest.CaptureFixture[str]
) -> None:
    editor, session = opened

    def report(tensor: tf.Tensor) -> tf.Tensor:
        tf.print("seen", tensor)
        return tensor

    editor.insert("a:0", report)
    editor.insert("b:0", "Print", message="then")
    editor.insert("x:0", lambda tensor: tf.debugging.assert_less(tensor, 3.0))
    session.run("c:0", X)
    printed = capfd.readouterr().err
    assert "seen [[2 2]]" in printed
    assert "then [[4 4]]" in printed
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run("c:0", {"x:0": np.full((1, 2), 5.0)})


def test_only_and_never_name_the_consumers(diamond: tf.Graph) -> None:
    editor = tgw.edit(diamond)
    editor.insert("x:0", add_one, only=["left"])
    assert editor._core.index.nodes[editor._core.index.op("right")].input[0] == "x"
    editor.undo()
    editor.insert("x:0", add_one, never=["left"])
    assert editor._core.index.nodes[editor._core.index.op("left")].input[0] == "x"
    with pytest.raises(GraphEditError, match=r"'join' does not read 'x:0'"):
        editor.insert("x:0", add_one, only=["join"])


def test_new_variables_are_initialised_and_only_they(
    editor: tgw.GraphEditor, session: v1.Session
) -> None:
    old = editor.graph.get_collection("variables")[0]
    fill(old, 0.5, session)

    def scaled(tensor: tf.Tensor) -> tf.Tensor:
        return tensor * v1.get_variable("scale", [], initializer=v1.constant_initializer(3.0))

    editor.insert("net/one/out:0", scaled, "scaled")
    new = editor.graph.get_collection("trainable_variables")[-1]
    assert new.name == "scaled/scale:0"
    assert read([new], session)[0] == 3.0
    assert read([old], session)[0].ravel()[0] == 0.5
    fill(new, 4.0, session)
    editor.undo()
    assert new.name not in [v.name for v in editor.graph.get_collection("variables")]
    editor.redo()
    assert read(editor.graph.get_collection("variables")[-1:], session)[0] == 4.0


def test_a_table_of_the_function_is_filled(opened: tuple[tgw.GraphEditor, v1.Session]) -> None:
    def looked_up(tensor: tf.Tensor) -> tf.Tensor:
        pairs = tf.lookup.KeyValueTensorInitializer([2, 4], [20.0, 40.0], tf.int64, tf.float32)
        return tf.lookup.StaticHashTable(pairs, -1.0).lookup(tf.cast(tensor, tf.int64))

    editor, session = opened
    editor.insert("a:0", looked_up)
    assert session.run("c:0", X).tolist() == [[80, 80]]


def test_python_that_an_op_calls_is_kept_alive(opened: tuple[tgw.GraphEditor, v1.Session]) -> None:
    editor, session = opened
    editor.insert(
        "a:0",
        lambda tensor: tf.numpy_function(lambda array: array + 1, [tensor], tf.float32),
        "python",
    )
    editor.undo()
    editor.redo()
    history = editor._core.executor.history
    editor._core.executor.history = type(history)()  # as when the editor is gone
    gc.collect()
    assert session.run("c:0", X).tolist() == [[12, 12]]


def test_a_v2_loop_brings_its_functions(
    opened: tuple[tgw.GraphEditor, v1.Session], tmp_path: Path
) -> None:
    editor, session = opened

    def five_times(tensor: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2.0), [0, tensor])[1]

    editor.insert("a:0", five_times)
    assert session.run("c:0", X).tolist() == [[256, 256]]
    assert ran(editor, tmp_path, "c:0", X).tolist() == [[256, 256]]


def test_a_file_is_edited_without_being_imported(line: tf.Graph, tmp_path: Path) -> None:
    editor = tgw.edit(written(line, tmp_path))
    before = saved(editor, tmp_path)
    editor.insert("a:0", add_one, "one")
    assert editor._core.source.graph is None
    assert ran(editor, tmp_path, "c:0", X).tolist() == [[12, 12]]
    editor.undo()
    assert saved(editor, tmp_path) == before
    editor.redo()
    assert editor.session.run("c:0", X).tolist() == [[12, 12]]


def test_variables_come_to_a_file_that_is_imported_for_them(line: tf.Graph, tmp_path: Path) -> None:
    editor = tgw.edit(written(line, tmp_path))
    editor.insert("a:0", dense)
    assert editor.session.run("c:0", X).tolist() == [[16, 16]]


def decode(files: tf.Tensor) -> tf.Tensor:
    """Two numbers of each text."""
    return tf.cast(tf.strings.length(files), tf.float32)[:, None] * tf.ones([1, 2])


def test_a_decoder_goes_before_the_input_of_a_file_which_keeps_its_name(
    line: tf.Graph, tmp_path: Path
) -> None:
    editor = tgw.edit(written(line, tmp_path))
    before = saved(editor, tmp_path)
    editor.insert("x:0", decode, spec=tf.TensorSpec([None], tf.string))
    assert ran(editor, tmp_path, "c:0", {"x:0": ["ab", "abc"]}).tolist() == [[16, 16], [24, 24]]
    editor.undo()
    assert saved(editor, tmp_path) == before


def test_a_decoder_in_a_live_graph_reads_a_new_placeholder(
    opened: tuple[tgw.GraphEditor, v1.Session],
) -> None:
    editor, session = opened
    done = editor.insert("x:0", decode, spec=tf.TensorSpec([None], tf.string))
    assert any("'x' is 'x_1' now" in note for note in done.notes)
    assert session.run("c:0", {"x_1:0": ["ab"]}).tolist() == [[16, 16]]
    editor.undo()
    assert session.run("c:0", X).tolist() == [[8, 8]]


def test_what_comes_before_the_input_may_only_have_another_shape(
    opened: tuple[tgw.GraphEditor, v1.Session],
) -> None:
    editor, session = opened
    editor.insert(
        "x:0", lambda flat: tf.reshape(flat, [-1, 2]), spec=tf.TensorSpec([None], tf.float32)
    )
    assert session.run("c:0", {"x:0": [1, 1, 2, 2]}).tolist() == [[8, 8], [16, 16]]


def test_before_the_input_all_consumers_go(diamond: tf.Graph) -> None:
    with pytest.raises(
        GraphEditError, match=r"Op 'right' would go on reading 'x', which is to be string \(None,\)"
    ):
        tgw.edit(diamond).insert(
            "x:0", tf.strings.to_number, spec=tf.TensorSpec([None], tf.string), only=["left"]
        )


@pytest.fixture
def function() -> Any:
    """A tf.function with a variable."""
    scale = tf.Variable(2.0, name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def called(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.multiply(x, scale, name="scaled"), name="out")

    called.scale = scale
    return called


def test_a_function_body_is_edited_as_a_draft(function: Any) -> None:
    editor = tgw.edit(function)
    before = list(editor._core.index.nodes)
    editor.insert("scaled:0", add_one, "one")
    assert editor._core.index.nodes[editor._core.index.op("out")].input[0] == "one/add"
    editor.undo()
    assert list(editor._core.index.nodes) == before
    editor.insert("scaled:0", lambda t: dense(t[:, None] * tf.ones([1, 2]))[:, 0], "dense")
    assert [variable.name for variable in editor.to_module().trainable_variables] == [
        "scale:0",
        "kernel:0",
    ]


def test_what_a_function_body_returns_is_what_the_inserted_function_gives(function: Any) -> None:
    editor = tgw.edit(function)
    result = editor._core.view.body.returns["output_0"]
    editor.insert(result, add_one, "one")
    assert editor.history.done[-1].patch.output_renames == ((result, "one/add:0"),)


def test_inside_a_while_loop_it_runs_each_time_and_has_a_gradient(while_loop: tf.Graph) -> None:
    with v1.Session(graph=while_loop) as session:
        body = next(op.name for op in while_loop.get_operations() if op.type == "Mul")
        assert session.run("y:0", {"x:0": 1.0}) == 32
        editor = tgw.edit(while_loop, session=session)
        editor.insert(f"{body}:0", add_one, "one")
        assert session.run("y:0", {"x:0": 1.0}) == 63
        with while_loop.as_default():
            slope = tf.gradients(
                while_loop.get_tensor_by_name("y:0"), while_loop.get_tensor_by_name("x:0")
            )
        assert session.run(slope, {"x:0": 1.0}) == [32.0]
        editor.insert("while/Exit_1:0", add_one, "after")
        assert session.run("y:0", {"x:0": 1.0}) == 64
        editor.undo()
        editor.undo()
        assert session.run("y:0", {"x:0": 1.0}) == 32


@pytest.mark.parametrize(
    "function",
    [
        tf.function(add_one),
        lambda v: tf.cond(v > 0, lambda: v + 1.0, lambda: v),
        lambda v: tf.while_loop(lambda i, _: i < 2, lambda i, w: (i + 1, w + 0.5), [0, v])[1],
    ],
    ids=["call", "conditional", "loop"],
)
def test_functions_of_tensorflow_2_run_inside_a_while_loop(
    while_loop: tf.Graph, function: Any
) -> None:
    v1.enable_control_flow_v2()
    body = next(op.name for op in while_loop.get_operations() if op.type == "Mul")
    with v1.Session(graph=while_loop) as session:
        editor = tgw.edit(while_loop, session=session)
        editor.insert(f"{body}:0", function)
        assert session.run("y:0", {"x:0": 1.0}) == 63
        with while_loop.as_default():
            slope = tf.gradients(
                while_loop.get_tensor_by_name("y:0"), while_loop.get_tensor_by_name("x:0")
            )
        assert session.run(slope, {"x:0": 1.0}) == [32.0]


def test_nothing_goes_between_what_holds_a_loop_together(while_loop: tf.Graph) -> None:
    editor = tgw.edit(while_loop)
    for tensor in ("while/NextIteration_1:0", "while/LoopCond:0"):
        with pytest.raises(GraphEditError, match="hold a while loop together"):
            editor.insert(tensor, "Identity")


def shifted(tensor: tf.Tensor) -> tf.Tensor:
    return tensor + v1.get_variable("offset", [], tf.float32)


def looked_up(tensor: tf.Tensor) -> tf.Tensor:
    keys = tf.lookup.KeyValueTensorInitializer([0], [1.0])
    return tensor * tf.lookup.StaticHashTable(keys, 1.0).lookup(tf.zeros([], tf.int32))


METHODS = {
    "insert": lambda editor, op, function: editor.insert(f"{op}:0", function, "made"),
    "replace": lambda editor, op, function: editor.replace(
        op, lambda *given: function(given[0]), "made"
    ),
}


@pytest.mark.parametrize("function", [shifted, looked_up])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("where", ["while_loop", "conditional"])
def test_state_inside_a_loop_or_branch_is_refused_and_nothing_is_made(
    where: str, method: str, function: Any, request: pytest.FixtureRequest
) -> None:
    graph = request.getfixturevalue(where)
    inside = next(op.name for op in graph.get_operations() if op.type == "Mul")
    before = graph.as_graph_def()
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        with pytest.raises(
            GraphEditError,
            match=r"cannot be initialized inside of a loop or branch, where '.*' lies;",
        ):
            METHODS[method](editor, inside, function)
        assert graph.as_graph_def() == before
        assert not graph.get_collection("variables")
        assert not editor.history.done


def test_growing_state_at_a_tensor_in_a_loop_is_refused_in_a_sentence(while_loop: tf.Graph) -> None:
    inside = next(op.name for op in while_loop.get_operations() if op.type == "Mul")
    with v1.Session(graph=while_loop) as session:
        editor = tgw.edit(while_loop, session=session)
        names = editor._core.index.names
        with pytest.raises(GraphEditError, match="nothing of what it made is left in the graph"):
            editor.call(f"{inside}:0", shifted, into="made")
        assert editor._core.index.names == names
        assert not while_loop.get_collection("variables")


def test_state_is_grown_at_a_tensor_in_a_branch_outside_of_it(conditional: tf.Graph) -> None:
    inside = next(op.name for op in conditional.get_operations() if op.type == "Mul")
    with v1.Session(graph=conditional) as session:
        editor = tgw.edit(conditional, session=session)
        made = editor.call(f"{inside}:0", shifted, into="made")
        assert session.run(made.variables[0]).shape == ()


@pytest.fixture
def conditional() -> tf.Graph:
    """A v1 conditional: x * 3 where x is positive, else x * 5."""
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        branches = (
            (lambda: tf.multiply(x, 3.0, name="yes")),
            (lambda: tf.multiply(x, 5.0, name="no")),
        )
        tf.identity(v1.cond(x > 0, *branches), name="y")
    return graph


@pytest.mark.parametrize("tensor", ["cond/yes:0", "cond/yes/Switch:1"])
def test_inside_a_branch_it_runs_only_if_that_is_taken(conditional: tf.Graph, tensor: str) -> None:
    def constant(_: tf.Tensor) -> tf.Tensor:
        return tf.zeros([]) + 7.0

    with v1.Session(graph=conditional) as session:
        editor = tgw.edit(conditional, session=session)
        editor.insert(tensor, constant)
        assert session.run("y:0", {"x:0": 1.0}) in (7.0, 21.0)
        assert session.run("y:0", {"x:0": -1.0}) == -5


def test_who_writes_to_a_variable_needs_the_variable() -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", [2], initializer=v1.ones_initializer(), use_resource=False)
    editor = tgw.edit(graph, session=initialised(graph))
    with pytest.raises(
        GraphEditError, match=r"Op 'w/Assign' writes to the variable 'w:0'.*never=\[\"w/Assign\"\]"
    ):
        editor.insert("w:0", add_one)
    editor.insert("w:0", add_one, never=["w/Assign"])
    assert editor.session.run("w/read:0").tolist() == [2, 2]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda t: (t, t), r"The function gives 2 tensors for 'a:0'; let it give one"),
        (
            lambda t: t @ tf.ones([3, 3]),
            r"raised ValueError when it was called on float32 \[None, 2\]: Dimensions",
        ),
        (lambda t: tf.cast(t, tf.int32), r"is int32, and op 'b' reads 'a:0', which is float32"),
        (
            "Gelu",
            r"'Gelu' is not an op type but a function that makes several ops; give the function",
        ),
        ("tf.nn.gelu", r"makes several ops; give the function, tf\.nn\.gelu\."),
        ("Idetity", r"'Idetity' is not an op type that takes a tensor; did you mean 'Identity'"),
        (3, "'3' is not a function"),
    ],
)
def test_what_cannot_be_is_refused_and_the_graph_is_as_it_was(
    line: tf.Graph, function: Any, why: str
) -> None:
    editor, version = tgw.edit(line), line.version
    with pytest.raises(GraphEditError, match=why):
        editor.insert("a:0", function)
    assert line.version == version
    assert not editor.history.done


def test_a_shape_that_a_consumer_cannot_take_is_refused(editor: tgw.GraphEditor) -> None:
    version = editor.graph.version
    with pytest.raises(
        GraphEditError, match=r"Op 'net/two/MatMul' cannot take 'bad/.*of shape \(None, 5\)"
    ):
        editor.insert("net/one/out:0", lambda t: tf.concat([t, t[:, :1]], 1), "bad")
    assert editor.graph.version == version


def test_the_scope_must_be_free(line: tf.Graph) -> None:
    with pytest.raises(NameTaken, match="'a' is taken"):
        tgw.edit(line).insert("b:0", add_one, "a")


def test_an_op_that_gives_several_tensors_must_be_named_with_one() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(tf.split(tf.ones([2, 2]), 2, name="parts")[1], name="y")
    with pytest.raises(
        GraphEditError, match=r"'parts' has 2 output tensors \('parts:0' and 'parts:1'\)"
    ):
        tgw.edit(graph).insert("parts", add_one)
    tgw.edit(graph).insert("parts:1", add_one)


def test_a_scope_represents_its_only_result(
    editor: tgw.GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    before = session.run("net/two/out:0", {"x:0": batch})
    editor.insert("net/two/", add_one)
    assert np.allclose(session.run("net/logits:0", {"x:0": batch}), before + 1)


def test_finalized_graphs_and_closed_sessions_are_refused(
    opened: tuple[tgw.GraphEditor, v1.Session],
) -> None:
    editor, session = opened
    session.close()
    with pytest.raises(SessionRefused):
        editor.insert("a:0", add_one)
    editor.graph.finalize()
    with pytest.raises(GraphFinalized):
        tgw.edit(editor.graph).insert("a:0", add_one)


def test_an_op_that_tensorflow_does_not_know_is_no_hindrance(
    line: tf.Graph, tmp_path: Path
) -> None:
    graph_def = line.as_graph_def()
    graph_def.node.add(name="custom", op="NobodyKnowsThis", input=["b"])
    (tmp_path / "custom.pb").write_bytes(graph_def.SerializeToString())
    editor = tgw.edit(str(tmp_path / "custom.pb"))
    editor.insert("b:0", add_one, "one")
    assert editor._core.index.nodes[editor._core.index.op("custom")].input[0] == "one/add"
    with pytest.raises(GraphEditError, match="has 0 output tensors"):
        editor.insert("custom", add_one)


def test_the_printed_line_makes_an_equal_command(line: tf.Graph, tmp_path: Path) -> None:
    path = written(line, tmp_path)
    editor, again = tgw.edit(path), tgw.edit(path)
    editor.insert("a", add_one, "one", only=["b"])
    editor.insert("b:0", "Reshape", "shaped", shape=[-1, 2])
    editor.insert("x:0", decode, "decode", spec=tf.TensorSpec([None], tf.string))
    for call in editor.history.to_script().text.splitlines():
        if "insert(" in call:
            exec(call, {"editor": again, "add_one": add_one, "decode": decode})
    assert [step.command for step in again.history.done] == [
        step.command for step in editor.history.done
    ]
    assert saved(again, tmp_path) == saved(editor, tmp_path)


@pytest.mark.parametrize("method", ["insert", "replace"])
@pytest.mark.sample(2)
def test_a_variable_that_cannot_be_initialised_leaves_nothing_in_the_graph_and_its_name_free(
    method: str, editor: tgw.GraphEditor, session: v1.Session
) -> None:
    def edit(function: Any) -> None:
        if method == "insert":
            editor.insert("net/one/out:0", function, into="scale")
        else:
            editor.replace("net/one/out", function, into="scale")

    ops = len(editor.graph.get_operations())
    for _ in range(2):
        with pytest.raises(SessionRefused, match="must feed"):
            edit(lambda x: x * tf.Variable(v1.placeholder(tf.float32, [])))
    assert len(editor.graph.get_operations()) == ops
    edit(lambda x: tf.identity(x, "same") * tf.Variable(2.0))
    assert {"scale/mul", "scale/same", "scale/Variable"} <= editor._core.index.ids.keys()
    assert session.run("net/logits:0", {"x:0": np.ones((2, 3))}).shape == (2, 4)


@pytest.mark.parametrize(("owner", "step"), [(traced_ops, "initialize"), (Renewal, "apply")])
@pytest.mark.sample(2)
def test_an_edit_that_is_made_again_after_it_failed_gives_first_values_to_what_it_makes(
    owner: Any, step: str, mlp: tf.Graph, session: v1.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quarter(tensor: tf.Tensor) -> tf.Tensor:
        return tensor * v1.get_variable("quarter", [], initializer=v1.constant_initializer(0.25))

    def fail(*_: Any) -> None:
        raise MemoryError

    editor = tgw.edit(mlp, session=session)
    batch = {"x:0": np.ones((2, 3))}
    # It initialises what is in another graph.
    monkeypatch.setattr(traced_ops, "check_initializers", lambda *_: None)
    with monkeypatch.context() as patched:
        patched.setattr(owner, step, fail)
        with pytest.raises(MemoryError):
            editor.insert("net/one/out:0", quarter, into="scale")
    one, before = session.run(["net/one/out:0", "net/logits:0"], batch)
    editor.insert("net/one/out:0", quarter, into="scale")
    after = session.run("net/logits:0", batch)
    editor.undo()
    assert np.allclose(session.run("net/logits:0", {**batch, "net/one/out:0": one / 4}), after)
    assert np.allclose(session.run("net/logits:0", batch), before)
