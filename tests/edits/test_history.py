"""Undo, redo, code; and that a failure half way leaves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import read, v1
from tests.slow import slow
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, GraphFinalized, SessionRefused, UnknownName
from tfgraphwidget.runtime.live import graph_import, patch_application
from tfgraphwidget.runtime.session import variable_values


def visible(editor: GraphEditor) -> tuple[list[str], dict[str, list[str]]]:
    """What a person sees: op names, and names in the collections."""
    graph = editor.graph
    held = {
        key: [item.name for item in graph.get_collection(key)]
        for key in graph.get_all_collection_keys()
    }
    return list(editor._core.index.names), {key: names for key, names in held.items() if names}


def test_undo_hides_the_clone_and_redo_brings_it_back(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    before = visible(editor)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    after = visible(editor)
    editor.undo()
    assert visible(editor) == before
    editor.redo()
    assert visible(editor) == after
    assert np.array_equal(*session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch}))


def test_a_step_prints_as_its_sentence(editor: GraphEditor) -> None:
    editor.rename("net/logits", "net/scores")
    assert repr(editor.history[-1]) == "<Step: Renamed net/logits to net/scores>"
    assert repr(editor.history.done) == "(<Step: Renamed net/logits to net/scores>,)"


def test_undo_and_redo_many_times(editor: GraphEditor) -> None:
    states = [visible(editor)]
    for k in range(4):
        editor.clone("x:0", "net/logits:0", f"copy_{k}")
        states.append(visible(editor))
    for _ in range(3):
        for state in states[-2::-1]:
            editor.undo()
            assert visible(editor)[0] == state[0]
            assert {k: sorted(v) for k, v in visible(editor)[1].items()} == {
                k: sorted(v) for k, v in state[1].items()
            }
        for state in states[1:]:
            editor.redo()
            assert visible(editor)[0] == state[0]


def test_an_undone_name_stays_taken(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    editor.undo()
    assert editor._core.executor.free_scope() == "copy_1"
    with pytest.raises(tgw.GraphEditError, match="'copy' is taken"):
        editor.clone("x:0", "net/logits:0", "copy")


def test_undo_takes_along_what_later_cells_built_on_the_clone(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    before = visible(editor)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    with mlp.as_default():
        tf.reduce_sum(copy["net/logits:0"], name="loss")
        v1.global_variables_initializer()
    editor.undo()
    assert "loss" not in editor._core.index.ids
    assert visible(editor)[1] == before[1]
    with mlp.as_default():
        tf.identity(mlp.get_tensor_by_name("copy/net/logits:0"), name="late")
        tf.identity(mlp.get_tensor_by_name("x:0"), name="other")
    assert "late" not in editor._core.index.ids
    assert "other" in editor._core.index.ids
    editor.redo()
    assert "loss" in editor._core.index.ids


def test_a_new_edit_forgets_what_was_undone(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", "first")
    editor.undo()
    editor.clone("x:0", "net/logits:0", "second")
    assert editor.redo() == ""
    assert [copy.scope for copy in editor.history.copies.values()] == ["second"]


def test_the_printed_line_does_the_same(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray
) -> None:
    editor.mark("x:0", "net/logits:0")
    editor.clone()
    (line,) = editor.history.lines
    assert line == 'copy = editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="copy")'
    names = set(editor._core.index.names)
    again = tgw.edit(editor.graph, session=session)
    scope: dict[str, object] = {"editor": again}
    exec(line.replace('into="copy"', 'into="again"'), scope)
    added = {n.removeprefix("again/") for n in set(again._core.index.names) - names}
    assert added == {n.removeprefix("copy/") for n in names if n.startswith("copy/")}
    assert np.array_equal(
        *session.run(["net/logits:0", scope["copy"]["net/logits:0"]], {"x:0": batch})
    )  # type: ignore[index]


def test_options_are_printed_when_they_are_not_the_default(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", "my/2nd-net", variables="shared")
    assert editor.history.lines[0].startswith("my_2nd_net = editor.clone(")
    assert editor.history.lines[0].endswith('into="my/2nd-net", variables="shared")')


@pytest.mark.parametrize("broken", ["load", "add_members", "make_variable"])
def test_a_failure_after_the_import_leaves_nothing_to_see(
    editor: GraphEditor, session: v1.Session, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    before = visible(editor)

    def fail(*_: object) -> None:
        raise RuntimeError("injected")

    owner, name = {
        "load": (variable_values, "load_values"),
        "add_members": (patch_application, "_add_members"),
        "make_variable": (patch_application, "make_variable"),
    }[broken]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fail)
        with pytest.raises(RuntimeError, match="injected"):
            editor.clone("x:0", "net/logits:0", "copy")
    assert visible(editor) == before
    assert not editor.history.done
    copy = editor.clone("x:0", "net/logits:0")
    assert copy.scope == "copy_1"
    assert read(copy.variables, session)[0].any()


def test_a_finalized_graph_is_refused(mlp: tf.Graph, editor: GraphEditor) -> None:
    mlp.finalize()
    before = mlp.version
    with pytest.raises(GraphFinalized, match="takes no new ops"):
        editor.clone("x:0", "net/logits:0", "copy")
    assert mlp.version == before


def test_a_closed_session_is_refused(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session
) -> None:
    session.close()
    before = mlp.version
    with pytest.raises(SessionRefused, match="session is closed"):
        editor.clone("x:0", "net/logits:0", "copy")
    assert mlp.version == before


@pytest.mark.parametrize(
    "without",
    [(), (0,), slow((69,)), slow((7, 33)), range(70)],
    ids=["none", "first", "last", "two", "all"],
)
def test_of_many_variables_those_without_a_value_are_found_in_a_few_runs(
    without: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tf.Graph().as_default() as graph:
        y = v1.placeholder(tf.float32, [2], name="x")
        variables = [v1.get_variable(f"v{k}", [2], use_resource=k % 2 == 0) for k in range(70)]
        for variable in variables:
            y = y + variable
        tf.identity(y, name="y")
    with v1.Session(graph=graph) as session:
        session.run([v.initializer for k, v in enumerate(variables) if k not in without])
        editor, runs = tgw.edit(graph, session=session), []
        run = v1.Session.run
        monkeypatch.setattr(
            v1.Session, "run", lambda *args, **kwargs: runs.append(1) or run(*args, **kwargs)
        )
        version = graph.version
        if not without:
            editor.clone("x:0", "y:0", "copy")
            return
        with pytest.raises(SessionRefused) as refusal:
            editor.clone("x:0", "y:0", "copy")
        assert graph.version == version
        assert len(runs) <= 26
        named = refusal.value.ops
        assert set(named) <= {f"v{k}" for k in without}
        with_value = variable_values.variables_with_value(session, editor._core.index.variable_defs)
        assert {v.handle for v in with_value} == {f"v{k}" for k in range(70) if k not in without}
        assert (
            set(named) == {f"v{k}" for k in without}
            or "'v0', 'v1', 'v2' and others have" in refusal.value.why
        )


def test_a_file_without_values_refuses_a_clone_with_them_as_a_file(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    with mlp.as_default():
        v1.train.export_meta_graph(str(tmp_path / "m.meta"))
    editor = tgw.edit(tmp_path / "m.meta")
    with pytest.raises(
        SessionRefused, match=r"The file has no value for variable 'net/one/w'.*init=\"initial\""
    ):
        editor.clone("x:0", "net/logits:0", "copy")
    assert editor._core.source.graph is None  # TensorFlow was not asked to import it
    value = np.full([4], 7.0, np.float32)
    copy = editor.clone(
        "x:0", "net/one/out:0", "copy", init={"net/one/w": "initial", "net/one/b": value}
    )
    assert len(copy.variables) == 2


def test_uninitialised_variables_are_named_and_can_be_initialised_instead(mlp: tf.Graph) -> None:
    with v1.Session(graph=mlp) as fresh:
        fresh.run("net/one/w/Assign")
        editor, before = tgw.edit(mlp, session=fresh), mlp.version
        with pytest.raises(
            SessionRefused,
            match=r"Variables 'net/one/b', 'net/two/w' and 'net/two/b' have no value"
            r".*init=\"initial\"",
        ):
            editor.clone("x:0", "net/logits:0", "copy")
        with pytest.raises(
            SessionRefused, match=r"Variable 'net/one/b' has no value .* run its initializer first"
        ) as one:
            editor.clone("x:0", "net/one/out:0", "copy")
        assert one.value.__suppress_context__  # TensorFlow's own words say less
        assert mlp.version == before
        copy = editor.clone("x:0", "net/logits:0", "copy", init="initial")
        assert read(copy.variables, fresh)[0].any()


def test_without_a_session_one_must_say_so(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp)
    with pytest.raises(SessionRefused, match='init="none"'):
        editor.clone("x:0", "net/logits:0", "copy")
    assert len(editor.clone("x:0", "net/logits:0", "copy", init="none").variables) == 4


def test_two_editors_of_one_graph_agree(editor: GraphEditor, session: v1.Session) -> None:
    other = tgw.edit(editor.graph, session=session)
    before = len(other._core.index)
    editor.clone("x:0", "net/logits:0", "copy")
    assert len(other._core.index) > before
    editor.undo()
    assert len(other._core.index) == before
    editor.redo()
    assert list(other._core.index.names) == list(editor._core.index.names)


def test_undo_takes_a_saver_along_whole(mlp: tf.Graph, editor: GraphEditor) -> None:
    before = visible(editor)
    editor.clone("x:0", "net/logits:0", "copy")
    with mlp.as_default():
        v1.train.Saver()
    editor.undo()
    assert visible(editor) == before


def test_redo_works_on_a_graph_that_was_finalized_meanwhile(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    after = visible(editor)
    mlp.finalize()
    editor.undo()
    editor.redo()
    assert visible(editor) == after


def test_undo_takes_an_optimiser_with_its_slots_along(
    mlp: tf.Graph, editor: GraphEditor, session: v1.Session, tmp_path: Path
) -> None:
    before = visible(editor)
    copy = editor.clone("x:0", "net/logits:0", "copy")
    with mlp.as_default():
        loss = tf.reduce_sum(copy["net/logits:0"])
        v1.train.AdamOptimizer().minimize(loss, var_list=list(copy.variables))
    editor.undo()
    assert visible(editor)[1]["variables"] == before[1]["variables"]
    left = set(editor._core.index.names) - set(before[0])
    assert not {name for name in left if "copy" in name or name.startswith(("gradients", "beta"))}
    written = v1.GraphDef.FromString(editor.save(tmp_path / "g.pb").read_bytes())
    with tf.Graph().as_default():
        tf.import_graph_def(written, name="")


def test_what_was_built_while_it_was_undone_comes_back_with_redo(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    editor.clone("x:0", "net/logits:0", "copy")
    editor.undo()
    with mlp.as_default():
        tf.identity(mlp.get_tensor_by_name("copy/net/logits:0"), name="late")
    assert "late" not in editor._core.index.ids
    editor.redo()
    assert "late" in editor._core.index.ids
    assert list(editor._core.index.names) == [op.name for op in mlp.get_operations()]


def test_a_redo_that_what_was_built_meanwhile_stands_in_the_way_of_names_both_ops_and_the_way_out(
    mlp: tf.Graph, editor: GraphEditor
) -> None:
    editor.remove("net/logits")
    editor.undo()
    with mlp.as_default():
        tf.identity(mlp.get_tensor_by_name("net/logits:0"), name="late")
    before = visible(editor)
    with pytest.raises(
        UnknownName, match="'late' reads 'net/logits', which the edit removes"
    ) as refused:
        editor.redo()
    assert "connect 'late' to another op or remove it, and make the edit again" in refused.value.why
    assert visible(editor) == before
    editor.connect("x:0", "late")
    editor.remove("net/logits")
    assert "late" in editor._core.index.ids
    assert "net/logits" not in editor._core.index.ids


def test_an_edit_that_another_editor_took_back_is_not_taken_back_twice(
    editor: GraphEditor, session: v1.Session
) -> None:
    other = tgw.edit(editor.graph, session=session)
    first = editor.clone("x:0", "net/logits:0", "first")
    other.clone(first["net/one/out:0"], first["net/logits:0"], "second")
    editor.undo()
    with pytest.raises(GraphEditError, match="Another editor has undone this"):
        other.undo()
    editor.redo()
    assert "second/first/net/logits" in other._core.index.ids
    other.undo()
    assert "second/first/net/logits" not in editor._core.index.ids
    assert "first/net/logits" in editor._core.index.ids


def test_a_failed_import_hides_nothing(
    mlp: tf.Graph, editor: GraphEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("injected")

    with monkeypatch.context() as patched:
        patched.setattr(graph_import, "run_import", fail)
        with pytest.raises(RuntimeError, match="injected"):
            editor.clone("x:0", "net/logits:0", "copy")
    assert editor._core.executor.free_scope() == "copy"
    with mlp.as_default():
        tf.no_op(name="copy/net/logits")
    assert "copy/net/logits" in editor._core.index.ids


@pytest.mark.parametrize(("scope", "name"), [("lambda", "lambda_"), ("editor", "editor_")])
def test_a_printed_line_is_python_whatever_the_scope(
    editor: GraphEditor, scope: str, name: str
) -> None:
    editor.clone("x:0", "net/logits:0", scope)
    assert editor.history.lines[0].startswith(f"{name} = editor.clone(")
    compile(editor.history.to_script().text, "line", "exec")


def test_a_boundary_that_loses_a_part_still_selects(editor: GraphEditor) -> None:
    copy = editor.clone("x:0", "net/logits:0", "copy")
    editor.mark("x:0", ["net/logits:0", copy["net/logits:0"]])
    editor.undo()
    assert editor.outputs == ("net/logits:0",)
    assert editor.selection == editor.between("x:0", "net/logits:0")


@pytest.mark.parametrize("kind", ["file", "function"])
def test_a_rename_to_names_that_it_frees_is_done_again(kind: str) -> None:
    def relus(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(tf.nn.relu(tf.nn.relu(x, name="a"), name="a/b/"), name="y")

    with tf.Graph().as_default() as graph:
        relus(v1.placeholder(tf.float32, [2], name="x"))
    if kind == "function":
        editor = tgw.edit(tf.function(relus, input_signature=[tf.TensorSpec([2])]))
    else:
        editor = tgw.edit(graph.as_graph_def())
    before = editor._core.index.names
    editor.rename("a/", "a/b")
    after = editor._core.index.names
    assert {"a/b", "a/b/b"} <= {*after}
    for _ in range(2):
        editor.undo()
        assert editor._core.index.names == before
        editor.redo()
        assert sorted(editor._core.index.names) == sorted(after)


def test_a_redo_does_not_mind_the_order_in_which_tensorflow_lists_control_inputs() -> None:
    with tf.Graph().as_default() as graph:
        x, gate = (v1.placeholder(tf.float32, [2], name=name) for name in "xy")
        with tf.control_dependencies([gate, tf.constant(1.0, name="z")]):
            tf.add(tf.exp(x, name="exp"), x, name="sum")
    editor = tgw.edit(graph)
    # Control inputs ^y and ^copy/z, which TensorFlow lists by their names.
    editor.clone([], ["sum:0"], into="copy")
    editor.reroute("copy/exp:0", "x:0")
    after = [node.SerializeToString(deterministic=True) for node in graph.as_graph_def().node]
    for _ in range(2):
        editor.history.goto(0)
        editor.history.goto(2)
        assert [
            node.SerializeToString(deterministic=True) for node in graph.as_graph_def().node
        ] == after


_EDITS_OF_MEMBERS: dict[str, Callable[[GraphEditor], object]] = {
    "freeze": lambda editor: editor.freeze(["z"]),
    "remove": lambda editor: editor.remove(editor.downstream("y")),
    "rename": lambda editor: editor.rename("y", "other"),
    "cast": lambda editor: editor.passes.cast("float16", boundary="cast"),
    "clone": lambda editor: editor.clone("x:0", "z:0", into="copy"),
}


@pytest.mark.parametrize("edit", _EDITS_OF_MEMBERS.values(), ids=_EDITS_OF_MEMBERS)
def test_what_is_twice_in_a_collection_is_so_after_an_undo(
    edit: Callable[[GraphEditor], object],
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        w = v1.get_variable("w", [2], use_resource=False)
        y = tf.multiply(x, w, name="y")
        for name, items in (("ends", (y, tf.abs(y, name="z"), y)), ("weights", (w, w))):
            for item in items:
                v1.add_to_collection(name, item)
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    before = visible(editor)
    edit(editor)
    after = visible(editor)
    for change, expected in ((editor.undo, before), (editor.redo, after), (editor.undo, before)):
        change()
        assert visible(editor) == expected
        members = {
            key: [member.name for member in entries]
            for key, entries in editor._core.index.collections.items()
        }
        assert {key: names for key, names in members.items() if names} == expected[1]
