"""The editor without a browser: what it opens, marks, shows, and how it follows the graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION_OUTPUT, fill, initialised, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import InvalidArgument, NoPath, NotAGraph, SessionRefused, UnknownName


def test_the_default_graph_and_session_are_taken_when_nothing_is_given(mlp: tf.Graph) -> None:
    with mlp.as_default(), v1.Session() as opened:
        editor = tgw.edit()
    assert editor.graph is mlp
    assert editor.session is opened


def test_a_session_brings_its_graph(mlp: tf.Graph, session: v1.Session) -> None:
    assert tgw.edit(session).graph is mlp
    assert tgw.edit(session=session).session is session


@pytest.mark.parametrize("thing", [7, b"\x00", [tf.Graph()], tf.constant(1.0)])
def test_what_is_no_graph_is_refused(thing: object) -> None:
    with pytest.raises(NotAGraph):
        tgw.edit(thing)


def test_a_closed_session_or_one_of_another_graph_is_refused(mlp: tf.Graph, line: tf.Graph) -> None:
    with v1.Session(graph=line) as other, pytest.raises(SessionRefused, match="another graph"):
        tgw.edit(mlp, session=other)
    with pytest.raises(SessionRefused, match="closed"):
        tgw.edit(line, session=other)
    with pytest.raises(SessionRefused, match="'foo' is not a session"):
        tgw.edit(line, session="foo")


def test_an_empty_graph_opens() -> None:
    editor = tgw.edit(tf.Graph())
    assert len(editor._core.index) == 0
    assert len(editor.view.scene()) == 1


def test_ops_of_later_cells_appear(mlp: tf.Graph, editor: GraphEditor) -> None:
    before = len(editor._core.index)
    with mlp.as_default():
        loss = tf.reduce_mean(mlp.get_tensor_by_name("net/logits:0"), name="loss")
        v1.add_to_collection("losses", loss)
        v1.get_variable("late", [2])
    assert len(editor._core.index) > before
    assert "loss" in editor._core.index.ids
    assert [m.name for m in editor._core.index.collections["losses"]] == ["loss:0"]
    assert "late" in {v.handle for v in editor._core.index.variable_defs}


def test_looking_leaves_the_graph_as_it_is(mlp: tf.Graph, editor: GraphEditor) -> None:
    before = mlp.as_graph_def().SerializeToString(deterministic=True)
    editor.mark("x", "net/logits")
    editor.view.scene()
    editor.view.expand("net/one")
    editor.upstream("net/logits")
    assert mlp.as_graph_def().SerializeToString(deterministic=True) == before


def test_marking_takes_names_tensors_and_ops(mlp: tf.Graph, editor: GraphEditor) -> None:
    by_name = editor.mark("x:0", ["net/logits:0"])
    by_object = editor.mark(mlp.get_tensor_by_name("x:0"), mlp.get_operation_by_name("net/logits"))
    assert by_name == by_object
    assert editor.inputs == ("x:0",)
    assert editor.outputs == ("net/logits",)


def test_a_refused_boundary_leaves_the_old_one(editor: GraphEditor) -> None:
    selection = editor.mark("x:0", "net/logits:0")
    with pytest.raises(NoPath):
        editor.mark("net/logits:0", "x:0")
    with pytest.raises(UnknownName):
        editor.mark("x:0", "nowhere")
    assert editor.inputs == ("x:0",)
    assert editor.selection == selection


def test_one_side_alone_is_a_boundary_without_a_selection(editor: GraphEditor) -> None:
    assert editor.mark(outputs="net/logits:0") is None
    assert editor.outputs == ("net/logits:0",)


def test_listeners_hear_of_every_change(editor: GraphEditor) -> None:
    calls = []
    editor._core.listeners.append(
        lambda: calls.append((len(editor._core.index), editor.selection is not None))
    )
    editor.mark("x:0", "net/logits:0")
    editor.clone()
    editor.undo()
    assert calls[0] == (calls[2][0], True)
    assert calls[1][0] > calls[0][0]


def test_what_a_listener_raises_is_logged_and_the_others_hear_all_the_same(
    editor: GraphEditor, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []
    editor._core.listeners += [
        lambda: {}["nothing"],
        lambda: calls.append(len(editor.history.done)),
    ]
    copy = editor.clone("x:0", "net/logits:0", "copy")
    assert editor["copy"] is copy
    assert calls == [1]
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [KeyError]
    editor.undo()
    assert calls == [1, 0]


def test_a_widget_that_was_closed_is_replaced_by_a_new_one(editor: GraphEditor) -> None:
    calls = len(editor._core.listeners)
    first = editor.view.widget
    assert editor.view.widget is first
    first.close()
    first.close()
    assert len(editor._core.listeners) == calls
    editor.mark("x:0", "net/logits:0")
    second = editor.view.widget
    assert second is not first
    assert second.outputs == ("net/logits:0",)
    assert first.outputs == ()
    data, *_ = editor._repr_mimebundle_()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == second.model_id
    assert data["text/plain"] == repr(editor)


@pytest.mark.parametrize("to", ["1", True, 1.0, None, 2, -1])
def test_a_jump_goes_to_a_number_of_edits_only(editor: GraphEditor, to: object) -> None:
    editor.rename("net/logits", "scores")
    editor.undo()
    with pytest.raises(InvalidArgument, match=r"give a number from 0 to 1\.$"):
        editor.history.goto(to)
    assert not editor.history.done


def test_a_copy_that_there_is_not_is_refused_with_the_nearest(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", "tower")
    with pytest.raises(
        UnknownName, match=r"no copy 'towre', or it was undone; did you mean 'tower'\?"
    ):
        editor["towre"]
    assert "towre" not in editor._core.executor.copies
    assert editor._core.executor.copies.get("towre") is None
    editor.undo()
    with pytest.raises(LookupError, match="no copy 'tower', or it was undone"):
        editor["tower"]


def test_scopes_open_and_close(editor: GraphEditor) -> None:
    editor.view.expand("net/one")
    assert {"net", "net/one"} <= editor.view.expanded
    names = set(editor.view.scene().names)
    assert {"net/one", "net/one/out"} <= names
    editor.view.collapse("net")
    assert "net/one" not in editor.view.scene().names
    with pytest.raises(UnknownName, match="no name scope 'nett'"):
        editor.view.expand("nett")


def test_reveal_opens_the_scopes_around(editor: GraphEditor) -> None:
    editor.view.collapse("net")
    assert (
        editor.view.reveal(
            "net/one/w/read:0" if "net/one/w/read" in editor._core.index.ids else "net/one/w"
        )
        in editor._core.index.ids
    )
    assert "net/one" in editor.view.expanded


def test_any_networkx_layout_can_be_given(mlp: tf.Graph, session: v1.Session) -> None:
    ours = tgw.edit(mlp, session=session).view.scene()
    theirs = tgw.edit(mlp, session=session, layout=nx.kamada_kawai_layout).view.scene()
    assert list(theirs.names) == list(ours.names)
    assert not np.allclose(theirs.box[:, :2], ours.box[:, :2])


@pytest.mark.slow
def test_inception_is_cloned_whole(inception: tuple[tf.Graph, v1.Session]) -> None:
    graph, opened = inception
    editor = tgw.edit(graph, session=opened)
    copy = editor.clone("input:0", INCEPTION_OUTPUT)
    assert len(copy.ops) > 2_600
    assert len(copy.variables) == 378
    assert copy.outside == ("input:0",)
    feed = {"input:0": np.random.default_rng(0).normal(size=(1, 299, 299, 3))}
    original, copied = opened.run([INCEPTION_OUTPUT, copy[INCEPTION_OUTPUT]], feed)
    assert np.array_equal(original, copied)
    variable = copy.variables[0]
    fill(variable, 0, opened)
    again, changed = opened.run([INCEPTION_OUTPUT, copy[INCEPTION_OUTPUT]], feed)
    assert np.array_equal(original, again)
    assert not np.array_equal(original, changed)
    editor.undo()


def test_the_regularisers_of_a_copy_are_losses_too(inception: tuple[tf.Graph, v1.Session]) -> None:
    graph, opened = inception
    editor = tgw.edit(graph, session=opened)
    before = len(graph.get_collection("regularization_losses"))
    editor.clone("input:0", INCEPTION_OUTPUT, init="none")
    assert len(graph.get_collection("regularization_losses")) == before + 95
    editor.undo()


def test_a_network_that_others_wrote_still_trains_after_cloning(mlp: tf.Graph) -> None:
    with initialised(mlp) as opened:
        tgw.edit(mlp, session=opened).clone("x:0", "net/logits:0")
        with mlp.as_default():
            loss = tf.reduce_sum(mlp.get_tensor_by_name("net/logits:0"))
            step = v1.train.AdamOptimizer().minimize(loss)
            opened.run(v1.global_variables_initializer())
        opened.run(step, {"x:0": np.ones((2, 3))})
        assert np.isfinite(opened.run(loss, {"x:0": np.ones((2, 3))}))


def test_what_an_editor_gives_prints_what_it_is_and_fits_in_a_cell() -> None:
    editor = tgw.example()
    feeds = {"x:0": [[1, 2, 3, 4]]}
    copy = editor.clone("x:0", "net/logits:0", into="copy")
    things = (
        editor, editor.view, editor.passes, editor.signatures, editor.history, editor.source,
        editor.history[-1], editor.history.to_script(), editor.view.scene(), editor.inspect(),
        editor.inspect("net/w"), editor.lint(), editor.lint()[0], editor.match("Relu(x)"),
        editor.diff(), editor.probe(["net/logits:0"], feeds), copy, copy.report,
        editor.compare(feeds, tgw.example(), "all")["x:0"], editor.split(at="net/hidden/Relu:0"),
        editor.preview(editor.rename, "loss", "mean"), tgw.pattern("Relu(x)"), tgw.passes,
    )  # fmt: skip
    for thing in things:
        text = repr(thing)
        assert " object at 0x" not in text
        assert len(text) < 6_000
        assert len(text.splitlines()) <= 60
    assert repr(editor.view) == "<View: Graph>"
    assert repr(editor.view.scene()).startswith("<Scene: ")


def test_a_notebook_completes_the_names_of_what_an_editor_has() -> None:
    jedi = pytest.importorskip("jedi")
    editor = tgw.example()
    wanted = {
        "editor.": {"view", "passes", "clone", "history"},
        "editor.view.": {"expand", "direction", "color_by"},
        "editor.passes.": {"fold_constants", "cast"},
        "editor.signatures.": {"add", "open"},
        "editor.history.": {"goto", "lines"},
        "editor.source.": {"notices", "trusted"},
        "editor.clone().": {"variables", "sync"},
        "tgw.passes.": {"freeze", "Sequential"},
    }
    for text, names in wanted.items():
        completed = jedi.Interpreter(text, [{"editor": editor, "tgw": tgw}]).complete()
        assert names <= {completion.name for completion in completed}
