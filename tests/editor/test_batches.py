"""Batches, passes as values, and previews of calls: several edits as one step, and edits that are
said before.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.commands import clone_command
from tests.widget.test_request_handler import drawn
from tfgraphwidget import edits
from tfgraphwidget.errors import GraphEditError, InvalidArgument, UnknownName, WrongType
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

FEEDS = {"x:0": np.ones([2, 4], np.float32)}


@pytest.fixture
def editor() -> tgw.GraphEditor:
    return tgw.example()


@pytest.fixture(params=["live", "file", "function"])
def any_editor(request: pytest.FixtureRequest, tmp_path: Path) -> tgw.GraphEditor:
    """A live graph, a file of it, and a function of it."""
    editor = tgw.example()
    if request.param == "live":
        return editor
    path = editor.save(tmp_path / "saved/", "x:0", "net/logits:0")
    if request.param == "file":
        return tgw.edit(path)
    return tgw.edit(editor.extract("x:0", "net/logits:0").to_function())


def two_edits(editor: tgw.GraphEditor) -> None:
    """A batch of a bypass and a rename."""
    relu = editor.ops(type="Relu").ops[0]
    with editor.batch("Without the activation"):
        editor.bypass(relu)
        editor.rename(relu, "unused")


def test_a_batch_is_one_step_to_undo_and_to_redo(any_editor: tgw.GraphEditor) -> None:
    editor = any_editor
    before = [*editor]
    two_edits(editor)
    after = [*editor]
    assert (len(editor.history), len(editor.history.undone)) == (1, 0)
    assert editor.history[0].sentence == "Without the activation"
    assert editor.undo().startswith(
        'with editor.batch("Without the activation"):\n    editor.bypass('
    )
    assert [*editor] == before
    assert (len(editor.history), len(editor.history.undone)) == (0, 1)
    editor.redo()
    assert [*editor] == after
    assert len(editor.history) == 1
    editor.history.goto(0)
    assert [*editor] == before


def test_steps_before_and_after_a_batch_are_steps_of_their_own(editor: tgw.GraphEditor) -> None:
    editor.rename("loss", "mean_loss")
    two_edits(editor)
    with editor.batch("Without the activation"):  # of the same name, and another one
        editor.set_device("x", "/cpu:0")
    editor.rename("labels", "truth")
    assert [len(getattr(step, "steps", (step,))) for step in editor.history] == [1, 2, 1, 1]
    editor.history.goto(1)
    assert "mean_loss" in editor
    assert not editor.find("name:unused")
    editor.history.goto(4)
    assert "truth" in editor
    with pytest.raises(InvalidArgument, match="from 0 to 4"):
        editor.history.goto(5)


def test_an_edit_that_fails_takes_the_batch_back(any_editor: tgw.GraphEditor) -> None:
    editor = any_editor
    before, history = [*editor], editor.history

    def fails() -> None:
        with editor.batch("Two edits"):
            editor.bypass(editor.ops(type="Relu"))
            editor.rename("nowhere", "somewhere")

    with pytest.raises(UnknownName):
        fails()
    assert ([*editor], editor.history) == (before, history)
    two_edits(editor)  # the names are free, and it is not a part of the batch that failed
    assert len(editor.history) == 1


def test_an_error_of_other_code_takes_the_batch_back_too(editor: tgw.GraphEditor) -> None:
    def fails() -> None:
        with editor.batch("Two edits"):
            editor.rename("loss", "mean_loss")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails()
    assert "loss" in editor
    assert len(editor.history) == 0


def test_a_batch_without_an_edit_is_no_step(editor: tgw.GraphEditor) -> None:
    with editor.batch("Nothing"):
        assert not editor.passes.remove_devices()
    assert len(editor.history) == 0


def test_a_batch_in_a_batch_belongs_to_it(editor: tgw.GraphEditor) -> None:
    with editor.batch("All"):
        two_edits(editor)
        editor.rename("loss", "mean_loss")
    assert [step.sentence for step in editor.history] == ["All"]
    assert len(editor.history[0].steps) == 3  # type: ignore[union-attr]


def test_a_batch_is_written_and_read(any_editor: tgw.GraphEditor, tmp_path: Path) -> None:
    editor = any_editor
    original = bytes(editor)

    def fresh() -> tgw.GraphEditor:
        return tgw.edit(original)

    two_edits(editor)
    other = fresh()
    assert other.history.replay(editor.history.records()) == 2
    assert other.history.lines == editor.history.lines
    assert {*other} == {*editor}
    other.undo()
    assert {*other} == {*fresh()}
    again = copy.deepcopy(editor)
    assert again.history.lines == editor.history.lines
    again.undo()
    assert not again.history
    document = editor.save(tmp_path / "edits.json")
    assert fresh().history.replay(document) == 2
    script = editor.history.to_script().text
    assert '\nwith editor.batch("Without the activation"):\n    editor.bypass(' in script


def test_a_script_with_a_batch_runs(editor: tgw.GraphEditor, tmp_path: Path) -> None:
    file = tgw.edit(editor.save(tmp_path / "net.pb"))
    with file.batch('It\'s "new"'):
        file.insert("net/hidden/Relu:0", "Tanh")
        file.renew = False
        file.bypass("net/hidden/Relu")
        file.renew = True
    file.rename("loss", "mean_loss")
    names: dict[str, Any] = {}
    exec(file.history.to_script().text, names)
    assert [*names["editor"]] == [*file]
    assert names["editor"].history.lines == file.history.lines


def test_the_page_shows_a_batch_as_one_edit(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    two_edits(editor)
    reply = drawn(handler.handle(p.Undo()))
    assert (len(reply.state.code), len(reply.state.ahead)) == (0, 1)
    assert reply.state.sentences == ("Without the activation",)
    assert reply.edited is not None
    assert reply.edited.text == "Undone: Without the activation."


def test_passes_are_values_that_any_editor_applies(editor: tgw.GraphEditor, tmp_path: Path) -> None:
    passes = tgw.passes
    smaller = passes.Sequential(
        passes.strip_training("net/logits:0"),
        passes.freeze("net/logits:0"),
        passes.fold_constants(),
        name="Smaller",
    )
    wanted = editor.session.run("net/logits:0", FEEDS)  # type: ignore[union-attr]
    for source in (
        editor,
        tgw.example(),
        tgw.edit(editor.save(tmp_path / "live.meta"), checkpoint=tmp_path / "live"),
    ):
        report = source.apply(smaller)
        assert report
        assert "train" in report.removed
        assert [step.sentence for step in source.history] == ["Smaller"]
        assert not source.find("is:variable")
        if source is editor:
            np.testing.assert_allclose(source.session.run("net/logits:0", FEEDS), wanted)  # type: ignore[union-attr]
        source.undo()
        assert "train" in source
    assert repr(smaller).startswith("Sequential(strip_training('net/logits:0'), freeze(")


def test_a_pass_that_is_repeated_ends_when_it_finds_nothing(editor: tgw.GraphEditor) -> None:
    passes = tgw.passes
    repeated = passes.Repeat(passes.remove_identities(), passes.merge_duplicates())
    done = editor.apply(repeated)
    assert done.is_nothing == (not editor.history)
    assert not editor.apply(repeated)
    assert len(editor.history) == (0 if done.is_nothing else 1)


def test_passes_that_undo_each_other_are_refused(line: tf.Graph) -> None:
    with line.as_default():
        tf.nn.relu(line.get_tensor_by_name("x:0"), name="relu")
    editor, passes = tgw.edit(line), tgw.passes  # a hundred rounds, on a small graph
    names = [*editor]
    with pytest.raises(GraphEditError, match="100 rounds"):
        editor.apply(
            passes.Repeat(passes.rename_type("Relu", "Elu"), passes.rename_type("Elu", "Relu"))
        )
    assert [*editor] == names
    assert not editor.history


def test_apply_takes_commands_json_and_lists_of_them(editor: tgw.GraphEditor) -> None:
    editor.apply(edits.Rename("loss", "mean_loss"))
    editor.apply({"command": "rename", "arguments": {"old": "mean_loss", "new": "cost"}})
    editor.apply(edits.Rename("cost", "objective"), tgw.passes.sort())
    editor.apply(clone_command(editor, "x:0", "net/logits:0", "copy"))
    assert [len(getattr(step, "steps", (step,))) for step in editor.history] == [1, 1, 1, 1]
    assert editor.history[2].sentence == "rename, sort"


@pytest.mark.parametrize("value", [None, 3, "clone", [3], tgw.GraphEditor])
def test_what_is_no_edit_is_refused(editor: tgw.GraphEditor, value: Any) -> None:
    with pytest.raises(GraphEditError):
        editor.apply(value)
    with pytest.raises((GraphEditError, TypeError)):
        editor.preview(value)
    with pytest.raises(WrongType, match="is not a pass"):
        tgw.passes.Sequential(value)
    assert not editor.history


def test_a_misspelled_pass_or_argument_is_an_error() -> None:
    with pytest.raises(AttributeError, match=r"did you mean 'fold_constants'"):
        _ = tgw.passes.fold_constant  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"passes\.cast\(\).*nothing"):
        tgw.passes.cast("float16", nothing=1)  # type: ignore[call-arg]
    assert "dtype" in inspect.signature(tgw.passes.cast).parameters
    assert "float16" in (inspect.getdoc(tgw.passes.cast) or "")
    assert {"freeze", "cast", "Sequential", "Repeat"} <= set(dir(tgw.passes))


def test_a_preview_of_a_call_changes_nothing_and_says_what_the_call_then_does(
    any_editor: tgw.GraphEditor,
) -> None:
    editor = any_editor
    relu = editor.ops(type="Relu").ops[0]
    before, history = [*editor], editor.history
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (editor.bypass, (relu,)),
        (editor.insert, (f"{relu}:0", "Tanh")),
        (editor.passes.rename_type, ("Relu", "Elu")),
    ]
    for method, arguments in calls:
        reported = editor.preview(method, *arguments)
        assert ([*editor], editor.history) == (before, history)
        done = method(*arguments)
        assert (reported.added, reported.removed, reported.changed) == (
            done.added,
            done.removed,
            done.changed,
        )
        editor.undo()
        history = editor.history
    assert editor.preview(lambda other: other.bypass(relu)) == editor.preview(editor.bypass, relu)
    assert editor.preview(tgw.passes.rename_type("Relu", "Elu")) == editor.preview(
        *calls[2][:1], *calls[2][1]
    )


def test_a_function_that_edits_the_editor_itself_is_refused(editor: tgw.GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="was not done"):
        editor.preview(lambda _: editor.bypass("net/hidden/Relu"))
    assert not editor.history
    with pytest.raises(GraphEditError, match="makes no edit, or several"):
        editor.preview(lambda other: other.ops("x"))
    with pytest.raises(GraphEditError, match="each pass changes"):
        editor.preview(tgw.passes.Sequential(tgw.passes.sort(), tgw.passes.remove_devices()))
    one = tgw.passes.rename_type("Relu", "Elu")
    assert (
        editor.preview(tgw.passes.Sequential(one))
        == editor.preview(one)
        == editor.preview(editor.apply, one)
    )


def test_without_renewal_a_session_runs_what_it_has_run(editor: tgw.GraphEditor) -> None:
    session = editor.session
    assert session is not None
    before = session.run("net/logits:0", FEEDS)
    editor.renew = False
    editor.bypass("net/hidden/Relu")
    np.testing.assert_array_equal(session.run("net/logits:0", FEEDS), before)
    editor.renew = True
    editor.undo()
    editor.bypass("net/hidden/Relu")
    assert not np.allclose(session.run("net/logits:0", FEEDS), before)
    with pytest.raises(WrongType):
        editor.renew = "never"  # type: ignore[assignment]


def test_the_boundary_of_a_graph_can_be_asked_for_before_anything_is_marked(
    any_editor: tgw.GraphEditor,
) -> None:
    editor = any_editor
    inputs, outputs = editor.inputs, editor.outputs
    assert inputs
    assert outputs
    relu = editor.ops(type="Relu").ops[0]
    editor.mark([], [f"{relu}:0"])
    assert editor.outputs == (f"{relu}:0",)
    assert editor.inputs == ("x:0",)  # what they need; the loss needs more
    editor.mark()
    assert (editor.inputs, editor.outputs) == (inputs, outputs)


def test_on_change_ends_when_it_is_asked_to(editor: tgw.GraphEditor) -> None:
    events: list[int] = []
    end = editor.view.on_change(lambda: events.append(len(editor.history)))
    editor.rename("loss", "mean_loss")
    end()
    end()
    editor.undo()
    assert events == [1]


def test_the_drawing_marks_what_all_edits_of_a_batch_have_changed(editor: tgw.GraphEditor) -> None:
    with editor.batch("Two edits"):
        editor.bypass("net/hidden/Relu")
        editor.rename("net/logits", "net/scores")
        editor.set_device("x", "/cpu:0")
    assert {"net/scores", "x"} <= editor._core.executor.latest_ops
    assert "net/logits" not in editor._core.executor.latest_ops
    editor.undo()
    editor.redo()
    assert {"net/scores", "x"} <= editor._core.executor.latest_ops
    editor.rename("loss", "mean_loss")
    assert "x" not in editor._core.executor.latest_ops


# What went wrong once


def test_inside_a_batch_what_was_done_before_it_stays(editor: tgw.GraphEditor) -> None:
    editor.rename("loss", "mean_loss")
    with editor.batch("Two edits"):
        with pytest.raises(GraphEditError, match="is open"):
            editor.undo()
        with pytest.raises(GraphEditError, match="is open"):
            editor.history.goto(0)
        editor.set_device("x", "/cpu:0")
        editor.undo()
        editor.set_device("labels", "/cpu:0")
    assert [step.line.partition("(")[0] for step in editor.history] == [
        "editor.rename",
        "with editor.batch",
    ]
    editor.history.goto(0)
    assert "loss" in editor


@pytest.mark.parametrize(
    "ask",
    [
        lambda e: e.preview(e.undo),
        lambda e: e.preview(e.redo),
        lambda e: e.preview(e.history.goto, 0),
        lambda e: e.preview(lambda _: e.undo()),
        lambda e: e.preview(lambda other: other.undo()),
        lambda e: e.preview(e.save, "written.pb"),
        lambda e: e.preview(lambda other: other.save("written.pb")),
        lambda e: e.preview(e.view.hide, "train"),
        lambda e: e.preview(lambda other: other.view.hide("train")),
        lambda e: e.preview(e.mark, "x:0", "net/logits:0"),
        lambda e: e.preview(e.history.replay, e.history.records()),
        lambda e: e.preview(lambda other: other.apply(tgw.passes.Sequential(tgw.passes.sort()))),
        lambda e: e.preview(tgw.example().bypass, "net/hidden/Relu"),
        lambda e: e.preview({"batch": "none", "edits": []}),
        lambda e: e.preview({"command": "sort", "arguments": {}, "functions": ["nowhere"]}),
    ],
)
def test_a_preview_of_what_has_none_changes_nothing(
    ask: Callable[[tgw.GraphEditor], Any],
    editor: tgw.GraphEditor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    editor.rename("loss", "mean_loss")
    names, history, boundary = [*editor], editor.history, editor._core.view.boundary
    hidden = editor.view.hidden
    with pytest.raises(GraphEditError):
        ask(editor)
    assert ([*editor], editor.history, editor._core.view.boundary) == (names, history, boundary)
    assert editor.view.hidden == hidden
    assert not [*tmp_path.iterdir()]
    editor.undo()
    assert "loss" in editor


def test_what_a_function_marks_for_a_preview_is_put_back(editor: tgw.GraphEditor) -> None:
    def marks_and_edits(other: tgw.GraphEditor) -> None:
        other.mark("x:0", "net/logits:0")
        other.view.hide("train")
        other.bypass("net/hidden/Relu")

    assert editor.preview(marks_and_edits).changed
    assert (editor._core.view.boundary, editor.view.hidden) == (((), ()), frozenset())

    def edits_and_raises(_: tgw.GraphEditor) -> None:
        editor.bypass("net/hidden/Relu")

    with pytest.raises(GraphEditError, match="was not done"):
        editor.preview(edits_and_raises)
    assert not editor.history


def test_a_method_of_another_object_gets_the_editor_as_its_argument(
    editor: tgw.GraphEditor,
) -> None:
    class Pruning:
        def run(self, other: tgw.GraphEditor) -> None:
            other.bypass("net/hidden/Relu")

    assert editor.preview(Pruning().run) == editor.preview(editor.bypass, "net/hidden/Relu")


def test_a_file_is_not_opened_again_inside_a_batch_or_preview(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    path = editor.save(tmp_path / "net.pb")
    watching = tgw.edit(path, watch=True)
    watching.rename("loss", "mean_loss")
    editor.passes.strip_training("net/logits")
    editor.save(path)
    with pytest.raises(GraphEditError):
        watching.preview(lambda _: watching.source.reload())

    def reloads() -> None:
        with watching.batch("Two edits"):
            watching.rename("labels", "truth")
            watching.source.reload()

    with pytest.raises(GraphEditError, match="a batch or preview is under way"):
        reloads()
    assert "labels" in watching
    watching.undo()
    assert "loss" in watching


def test_json_of_an_edit_of_a_function_is_made_there(tmp_path: Path) -> None:
    def fresh() -> tgw.GraphEditor:
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            tf.function(lambda t: tf.nn.relu(t, name="act"))(tf.nn.relu(x, name="act"))
        return tgw.edit(graph.as_graph_def())

    editor = fresh()
    call = next(name for name in editor if editor.view.called_functions(name))
    editor.view.enter(call)
    editor.bypass("act")
    (record,) = editor.history.records()
    other = fresh()
    other.apply(record)
    other.view.leave(0)
    assert other.ops("act").whole()
    assert other.history.records() == [record]


def test_a_batch_replayed_in_a_batch_belongs_to_it(editor: tgw.GraphEditor) -> None:
    two_edits(editor)
    other = tgw.example()
    with other.batch("All"):
        other.rename("loss", "mean_loss")
        other.history.replay(editor.history.records())
        other.rename("labels", "truth")
    assert [len(step.steps) for step in other.history] == [4]  # type: ignore[union-attr]
    without_renewal = tgw.example()
    without_renewal.renew = False
    without_renewal.history.replay(editor.history.records())
    assert not any(step.renewed for step in without_renewal._core.executor.history.done)
    assert not without_renewal.renew


def test_text_over_several_lines_in_a_batch_is_written_as_it_is(tmp_path: Path) -> None:
    editor = tgw.edit(tgw.example().graph)
    with editor.batch("A note"):
        editor.rename("loss", "mean_loss")
        editor.call("x:0", noted, into="note")
    script = editor.history.to_script().text
    assert '"""first\nsecond"""' in script
    assert script.index("def noted") < script.index("with editor.batch")
    compile(script, "script", "exec")


def noted(x: tf.Tensor) -> tf.Tensor:
    """A constant of two lines."""
    text = """first
second"""
    return tf.strings.join([text, tf.strings.as_string(tf.reduce_sum(x))])


def test_reports_of_several_edits_name_what_is_different_at_the_end(
    editor: tgw.GraphEditor,
) -> None:
    file = tgw.edit(editor.graph.as_graph_def())
    passes = tgw.passes
    report = file.apply(passes.set_input("x:0", [8, 4]), passes.set_input("x:0", [None, 4]))
    assert report.shapes == ()
    assert {passes.cast("float16"), passes.cast("float16")} == {passes.cast("float16")}
    assert copy.deepcopy(passes).cast("float16") == passes.cast("float16")


def test_records_are_applied_as_a_list(editor: tgw.GraphEditor) -> None:
    two_edits(editor)
    editor.rename("loss", "mean_loss")
    other = tgw.example()
    assert other.apply(editor.history.records()).changed
    assert len(other.history) == 1
    assert {*other} == {*editor}


def test_an_output_must_be_named_for_a_comparison_that_names_outputs(
    editor: tgw.GraphEditor,
) -> None:
    with pytest.raises(GraphEditError, match="named are none"):
        editor.compare(FEEDS, tensors=editor.ops(), other=tgw.example())


def test_values_of_graphs_without_variables_are_compared_as_constants(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    frozen = editor.save(tmp_path / "frozen.pb", "x:0", "net/logits:0", frozen=True)
    other = tgw.edit(frozen)
    other.set_constant("net/hidden/b:0", np.ones(8, np.float32))
    assert [changed.name for changed in other.diff(frozen, values=True).changed] == ["net/hidden/b"]
    assert not tgw.edit(frozen).diff(frozen, values=True)


def test_the_package_and_the_editor_suggest_names(editor: tgw.GraphEditor) -> None:
    assert {"passes", "pattern", "edit", "GraphEditor"} <= set(dir(tgw))
    with pytest.raises(AttributeError, match="did you mean 'replace'"):
        _ = editor.repace  # type: ignore[attr-defined]
