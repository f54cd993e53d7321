"""Edits in place: on a live graph, on a file, in a function's body; taken back, done again, refused
half way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tfgraphwidget.editor.transaction import transaction
from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import IndexContext, PlanContext
from tfgraphwidget.edits.patch import Change, NodeChange, Patch
from tfgraphwidget.errors import GraphEditError, GraphFinalized
from tfgraphwidget.runtime.live import graph_import, in_place_changes, patch_application


@dataclass(frozen=True)
class Put(Command):
    """Any change of ops, as a command: op name -> its inputs afterwards, and NodeDefs that come or
    go.
    """

    inputs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    add: tuple[Any, ...] = ()
    remove: tuple[str, ...] = ()

    def plan(self, context: PlanContext) -> Patch:
        index = context.index
        changed = []
        for name, inputs in self.inputs:
            before = index.nodes[index.op(name)]
            after = type(before)()
            after.CopyFrom(before)
            after.input[:] = inputs
            changed.append(NodeChange(before, after))
        gone = tuple(index.nodes[index.op(name)] for name in self.remove)
        return Patch(add=Change(nodes=self.add), remove=Change(nodes=gone), changed=tuple(changed))


def node(name: str, op: str, *inputs: str) -> Any:
    made = v1.NodeDef(name=name, op=op, input=inputs)
    made.attr["T"].type = tf.float32.as_datatype_enum
    return made


def shown(editor: tgw.GraphEditor) -> dict[str, tuple[str, ...]]:
    return {n.name: tuple(n.input) for n in editor._core.index.nodes}


def run(graph: tf.Graph, fetch: str, feeds: dict[str, Any]) -> Any:
    with v1.Session(graph=graph) as session:
        return session.run(fetch, feeds)


X = np.float32([[1, 2]])


def test_what_an_op_reads_is_changed_and_taken_back(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    before = shown(editor)
    report = editor.apply(Put(inputs=(("c", ("x", "c/y")),)))
    assert report.changed == ("c",)
    assert np.array_equal(run(line, "c:0", {"x:0": X}), 2 * X)
    editor.undo()
    assert shown(editor) == before
    assert np.array_equal(run(line, "c:0", {"x:0": X}), 8 * X)
    editor.redo()
    assert np.array_equal(run(line, "c:0", {"x:0": X}), 2 * X)


def test_an_op_put_between_and_taken_out_again(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    before = shown(editor)
    editor.apply(Put(add=(node("relu", "Relu", "a"),), inputs=(("b", ("relu", "b/y")),)))
    assert np.array_equal(run(line, "c:0", {"x:0": -X}), 0 * X)
    editor.undo()
    assert shown(editor) == before
    assert np.array_equal(run(line, "c:0", {"x:0": -X}), -8 * X)
    editor.redo()
    assert np.array_equal(run(line, "c:0", {"x:0": -X}), 0 * X)


def test_an_op_taken_out_comes_back_at_its_place(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    before = editor._core.index.names
    editor.apply(Put(inputs=(("c", ("a", "c/y")),), remove=("b", "b/y")))
    assert "b" not in editor._core.index.ids
    assert np.array_equal(run(line, "c:0", {"x:0": X}), 4 * X)
    editor.undo()
    assert list(editor._core.index.names) == list(before)


def test_an_input_that_was_of_a_sharper_shape_takes_others_again() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        tf.constant(np.ones((3, 2), np.float32), name="three")
        tf.constant(np.ones((5, 2), np.float32), name="five")
        tf.nn.relu(x, name="y")
    editor = tgw.edit(graph)
    for name, rows in (("three", 3), ("five", 5), ("three", 3), ("five", 5)):
        editor.apply(Put(inputs=(("y", (name,)),)))
        assert run(graph, "y:0", {}).shape == (rows, 2)
    assert set(shown(editor)) == {"x", "three", "five", "y"}
    # Another editor is not shown what lies between, either.
    assert shown(tgw.edit(graph)) == shown(editor)
    for _ in range(4):
        editor.undo()
    assert shown(editor)["y"] == ("x",)
    assert np.array_equal(run(graph, "y:0", {"x:0": X}), X)


def test_gradients_go_through_what_lies_between() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        z = v1.placeholder(tf.float32, [5, 2], name="z")
        tf.constant([[1.0, 2.0]], name="one")
        y = tf.square(x, name="y")
    editor = tgw.edit(graph)
    editor.apply(Put(inputs=(("y", ("one",)),)))
    editor.apply(Put(inputs=(("y", ("z",)),)))
    with graph.as_default():
        (slope,) = tf.gradients(tf.reduce_sum(y), z)
    assert np.array_equal(run(graph, slope.name, {"z:0": np.ones((5, 2))}), 2 * np.ones((5, 2)))


def test_tensors_say_the_shapes_that_an_edit_has_made_them_and_after_undo_those_they_had() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [3, 2], name="x")
        v1.placeholder(tf.float32, [None, 2], name="z")
        y = tf.square(x, name="y")
    editor = tgw.edit(graph)
    report = editor.apply(Put(inputs=(("y", ("z",)),)))
    assert report.shapes == (("y", 0, (3, 2), (None, 2)),)
    assert y.shape.as_list() == [None, 2]
    assert any("static shapes" in note for note in report.notes)
    editor.undo()
    assert y.shape.as_list() == [3, 2]


@pytest.mark.parametrize(
    "place",
    [(patch_application, "rewire"), (graph_import, "run_import"), (in_place_changes, "set_input")],
)
@pytest.mark.parametrize("error", [RuntimeError("injected"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_graph_as_it_was(
    line: tf.Graph, monkeypatch: pytest.MonkeyPatch, place: tuple[Any, str], error: BaseException
) -> None:
    editor = tgw.edit(line)
    before, calls = shown(editor), []
    real = getattr(*place)

    def failing(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == (2 if place[1] == "rewire" else 1):
            raise error
        return real(*given)

    command = Put(
        add=(node("relu", "Relu", "a"),), inputs=(("b", ("relu", "b/y")), ("c", ("relu", "c/y")))
    )
    with monkeypatch.context() as patched:
        patched.setattr(*place, failing)
        with pytest.raises(type(error)):
            editor.apply(command)
    assert shown(editor) == before
    assert not editor.history.done
    assert np.array_equal(run(line, "c:0", {"x:0": X}), 8 * X)
    editor.apply(command)
    assert np.array_equal(run(line, "c:0", {"x:0": -X}), 0 * X)


def test_a_finalized_graph_is_not_changed(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    line.finalize()
    with pytest.raises(GraphFinalized):
        editor.apply(Put(inputs=(("c", ("x", "c/y")),)))
    assert np.array_equal(run(line, "c:0", {"x:0": X}), 8 * X)


def test_a_copy_of_a_finalized_graph_with_its_values_is_made_as_the_refusal_says(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    session = initialised(mlp)
    mlp.finalize()
    editor = tgw.edit(mlp, session=session)
    with pytest.raises(
        GraphFinalized, match=r"editor.save\('copy.tgw'\) and tgw.edit\('copy.tgw'\)"
    ):
        editor.clone("x:0", "net/logits:0")
    editor.save(tmp_path / "copy.tgw")
    copy = tgw.edit(tmp_path / "copy.tgw")
    clone = copy.clone("x:0", "net/logits:0")["net/logits:0"]
    feeds = {"x:0": np.ones([2, 3], np.float32)}
    assert np.array_equal(copy.session.run(clone, feeds), session.run("net/logits:0", feeds))


def test_an_edit_of_an_op_that_is_not_as_it_was_planned_for_is_refused(line: tf.Graph) -> None:
    editor, other = tgw.edit(line), tgw.edit(line)
    patch = Put(inputs=(("c", ("x", "c/y")),)).plan(IndexContext(editor._core.index))
    other.apply(Put(inputs=(("c", ("a", "c/y")),)))
    editor.source.reload()
    with (
        pytest.raises(GraphEditError, match="'c' was changed by another edit"),
        transaction() as steps,
    ):
        editor._core.target.apply(patch, steps)


def test_a_file_is_edited_without_tensorflow_and_undone_byte_for_byte(
    line: tf.Graph, tmp_path: Path
) -> None:
    (tmp_path / "line.pb").write_bytes(line.as_graph_def().SerializeToString(deterministic=True))
    editor = tgw.edit(tmp_path / "line.pb")
    original = editor.save(tmp_path / "a.pb").read_bytes()
    index = editor._core.index
    editor.apply(Put(add=(node("relu", "Relu", "a"),), inputs=(("b", ("relu", "b/y")),)))
    editor.apply(Put(inputs=(("c", ("a", "c/y")),)))
    assert editor._core.source.graph is None
    assert editor.save(tmp_path / "b.pb").read_bytes() != original
    editor.undo()
    editor.undo()
    assert editor._core.index is index
    assert editor.save(tmp_path / "c.pb").read_bytes() == original


def test_what_was_edited_in_a_file_is_so_in_tensorflow_when_it_is_imported(
    line: tf.Graph, tmp_path: Path
) -> None:
    (tmp_path / "line.pb").write_bytes(line.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "line.pb")
    editor.apply(Put(add=(node("relu", "Relu", "a"),), inputs=(("b", ("relu", "b/y")),)))
    edited = shown(editor)
    copy = editor.clone("x:0", "c:0", "copy")
    assert np.array_equal(editor.session.run(copy["c:0"], {"x:0": -X}), 0 * X)
    assert {
        name: read for name, read in shown(editor).items() if not name.startswith("copy/")
    } == edited
    editor.undo()
    editor.undo()
    assert np.array_equal(run(editor.graph, "c:0", {"x:0": -X}), -8 * X)
    assert set(shown(editor)) == {op.name for op in line.get_operations()}


def test_a_function_s_body_is_edited_and_the_function_is_not() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def double(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(2 * x, name="twice")

    editor = tgw.edit(double)
    index = editor._core.index
    editor.apply(Put(inputs=(("twice", ("x",)),)))
    assert shown(editor)["twice"] == ("x",)
    assert double(tf.constant([3.0])).numpy() == [6]
    editor.undo()
    assert editor._core.index is index


def test_undo_goes_back_to_the_room_that_was_edited() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        tf.while_loop(lambda v: v < 9, lambda v: [v * 2], [x], name="loop")
    editor = tgw.edit(graph)
    loop = next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if "While" in kind
    )
    editor.view.enter(loop, "body")
    inside = shown(editor)
    mul = next(name for name in inside if name.lower().startswith("mul") and not name.endswith("y"))
    editor.apply(Put(inputs=((mul, (inside[mul][0], inside[mul][0])),)))
    room = editor.view.breadcrumb
    editor.view.leave(0)
    editor.undo()
    assert editor.view.breadcrumb == room
    assert shown(editor) == inside


def test_jump_goes_to_any_point_of_the_history(line: tf.Graph) -> None:
    editor = tgw.edit(line)
    states = [shown(editor)]
    for source in ("x", "a", "x"):
        editor.apply(Put(inputs=(("c", (source, "c/y")),)))
        states.append(shown(editor))
    for to in (0, 3, 1, 2, 2):
        editor.history.goto(to)
        assert shown(editor) == states[to]
    with pytest.raises(GraphEditError, match="3 edits"):
        editor.history.goto(4)


def test_a_jump_that_fails_half_way_leaves_everything_as_it_was() -> None:
    """A finalized graph lets ops be hidden and shown, and no op be changed in place."""
    editor = tgw.example()
    editor.rename("loss", "mean_loss")
    editor.bypass("net/hidden/Relu")
    editor.clone("x:0", "net/logits:0", into="copy")
    editor.mark("x:0", "copy/net/logits:0")
    editor.view.pin("copy", 30, 40)
    editor.view.hide("labels")
    editor.graph.finalize()
    revisions: list[int] = []
    editor._core.listeners.append(lambda: revisions.append(len(editor.history.done)))
    before, lines, fresh = (
        list(editor._core.index.nodes),
        editor.history.lines,
        editor._core.executor.latest_ops,
    )
    seen = editor.inputs, editor.outputs, editor._core.view.pinned, editor.view.hidden
    fed = {
        "x:0": np.ones((2, editor._core.index.shape(editor._core.index.op("x"), 0)[-1]), np.float32)
    }
    result = editor.session.run("copy/net/logits:0", fed)
    for to in (0, 1):
        with pytest.raises(GraphFinalized):
            editor.history.goto(to)
        assert editor.history.lines == lines
        assert sorted(map(str, editor._core.index.nodes)) == sorted(map(str, before))
        assert (editor.inputs, editor.outputs, editor._core.view.pinned, editor.view.hidden) == seen
        assert editor._core.executor.latest_ops == fresh
        assert not editor.history.undone
        assert np.array_equal(editor.session.run("copy/net/logits:0", fed), result)
    assert revisions == [3, 3], "who listens hears of no step between"
    editor.history.goto(2)
    assert "copy" not in editor._core.executor.copies


def test_a_jump_forward_that_fails_leaves_everything_undone() -> None:
    editor = tgw.example()
    editor.clone("x:0", "net/logits:0", into="copy")
    editor.bypass("net/hidden/Relu")
    editor.history.goto(0)
    before, history = list(editor._core.index.nodes), repr(editor.history)
    editor.graph.finalize()
    with pytest.raises(GraphFinalized):
        editor.history.goto(2)
    assert repr(editor.history) == history
    assert list(editor._core.index.nodes) == before
    assert not editor._core.executor.copies
    editor.redo()
    assert set(editor._core.executor.copies) == {"copy"}


def test_ops_come_in_the_same_order_when_an_edit_is_done_again() -> None:
    """A copy of an op that was inserted is imported before those that read it, and was planned
    after them.
    """
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(tf.abs(x, name="a"), name="b")
    editor = tgw.edit(graph)
    editor.insert("x:0", "Identity", into="between")
    editor.clone("x:0", "b:0", into="copy")
    names = editor._core.index.names
    assert names == [op.name for op in graph.get_operations()]
    editor.history.goto(0)
    editor.history.goto(2)
    assert editor._core.index.names == names


@pytest.fixture
def calling() -> tgw.GraphEditor:
    """y = x * 2 where x is positive, else x, by a v2 conditional."""
    graph = tf.Graph()
    with graph.as_default():
        v1.enable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(tf.cond(x > 0, lambda: x * 2.0, lambda: x), name="y")
    return tgw.edit(graph, session=v1.Session(graph=graph))


def doubled(tensor: tf.Tensor) -> tf.Tensor:
    return tf.function(lambda x: x * 2.0)(tensor)


BRINGING = {
    "clone": lambda editor: editor.clone("x:0", "y:0", into="copy"),
    "call": lambda editor: editor.call("x:0", doubled, into="grown"),
    "insert": lambda editor: editor.insert("x:0", doubled, into="inserted"),
}


@pytest.mark.parametrize("method", BRINGING)
def test_functions_that_came_with_an_edit_go_and_come_back_with_it(
    calling: tgw.GraphEditor, method: str, tmp_path: Path
) -> None:
    other = tgw.edit(calling.graph, session=calling.session)
    before = calling._core.index.functions
    BRINGING[method](calling)
    after = calling._core.index.functions
    assert before < after
    for _ in range(2):
        calling.undo()
        assert calling._core.index.functions == before
        assert other._core.index.functions == before
        for name in ("a.pb", "a.meta"):
            assert tgw.edit(calling.save(tmp_path / name))._core.index.functions == before
        calling.redo()
        assert calling._core.index.functions == after
        assert other._core.index.functions == after
        assert tgw.edit(calling.save(tmp_path / "a.pb"))._core.index.functions == after


def test_a_function_that_was_hidden_is_shown_when_another_cell_calls_it(
    calling: tgw.GraphEditor, tmp_path: Path
) -> None:
    calling.clone("x:0", "y:0", into="copy")
    functions = calling._core.index.functions
    saved = v1.GraphDef.FromString(calling.save(tmp_path / "a.pb").read_bytes())
    calling.undo()
    with calling.graph.as_default():
        tf.import_graph_def(saved, name="imported")
    assert calling._core.index.functions == functions
    assert tgw.edit(calling.save(tmp_path / "b.pb"))._core.index.functions == functions
    calling.redo()
    calling.undo()
    assert calling._core.index.functions == functions, "what was imported still calls them"


def test_an_undo_that_fails_leaves_the_functions(
    calling: tgw.GraphEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    calling.clone("x:0", "y:0", into="copy")
    functions = calling._core.index.functions

    def fail(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patching:
        patching.setattr(
            patch_application, "set_static_shapes", lambda *_: patching.undo() or fail()
        )
        with pytest.raises(MemoryError):
            calling.undo()
    assert calling._core.index.functions == functions
    assert "copy" in calling._core.executor.copies


def test_functions_of_a_function_that_failed_are_not_shown(calling: tgw.GraphEditor) -> None:
    def failing(tensor: tf.Tensor) -> tf.Tensor:
        doubled(tensor)
        raise ValueError("no")

    before = calling._core.index.functions
    with pytest.raises(GraphEditError):
        calling.call("x:0", failing, into="grown")
    assert calling._core.index.functions == before


def test_dropout_is_bypassed_where_gradients_were_taken_through_it() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        hidden = tf.nn.relu(x, name="hidden")
        dropped = v1.nn.dropout(hidden, rate=0.5, name="dropout")
        y = tf.reduce_sum(dropped, name="y")
        tf.gradients(y, x)
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        feeds = {"x:0": np.ones((3, 4))}
        report = editor.bypass(editor.ops(scope="dropout"))
        assert session.run("y:0", feeds) == 12
        assert "y" in report.changed
        assert editor._core.index.consumer_lists[editor._core.index.op("dropout/GreaterEqual")]
        assert any("compute them again" in note for note in report.notes)
