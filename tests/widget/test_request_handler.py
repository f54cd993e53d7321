"""Every request of the browser gets the reply that it should, without a browser."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import tfgraphwidget as tgw
from tests.conftest import INCEPTION_OUTPUT, v1
from tests.test_golden import texts
from tests.widget.replies import text_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.layout import aspect_of, level_of
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.scene import zoom_in
from tfgraphwidget.visible import ROOT_ASPECT
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.protocol.typescript import to_typescript
from tfgraphwidget.widget.request_handler import RequestHandler

VGG = Path(__file__).parents[1] / "models" / "slim_vgg16_infer.meta.gz"


@pytest.fixture
def answers(editor: GraphEditor) -> RequestHandler:
    """The answers of an editor on `mlp`."""
    return RequestHandler(editor)


def arrays(answer: tuple[p.Reply, list[bytes]]) -> dict[str, np.ndarray]:
    """The arrays that came with a reply."""
    reply, (data,) = answer
    assert isinstance(reply, p.SceneReply | p.SelectionReply)
    return scenes.from_bytes([(f.name, f.dtype, f.shape, f.offset) for f in reply.fields], data)


def drawn(answer: tuple[p.Reply, list[bytes]]) -> p.SceneReply:
    """The reply, which is a drawing."""
    assert isinstance(answer[0], p.SceneReply)
    return answer[0]


def test_open_draws_everything(answers: RequestHandler) -> None:
    reply, _ = drawn = answers.handle(p.Open())
    assert isinstance(reply, p.SceneReply)
    fields = arrays(drawn)
    assert set(fields) == {
        name for name, _, _ in (*scenes.ITEM_FIELDS, *scenes.EDGE_FIELDS, *scenes.PAINT_FIELDS)
    }
    assert fields["box"].shape == (len(fields["kind"]), 4)
    assert reply.state.variables == 4


def test_a_boundary_repaints_and_counts(answers: RequestHandler) -> None:
    answers.handle(p.Open())
    reply, _ = painted = answers.handle(p.Boundary(("x:0",), ("net/logits:0",)))
    assert isinstance(reply, p.SelectionReply)
    assert reply.state.selected_variables == 4
    assert set(arrays(painted)) == {name for name, _, _ in scenes.PAINT_FIELDS}
    assert arrays(painted)["coverage"].max() > 0


def test_a_boundary_after_another_cell_added_ops_draws_again(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    answers.handle(p.Open())
    with editor.graph.as_default():
        tf.identity(editor.graph.get_tensor_by_name("x:0"), name="late")
    reply, _ = drawn = answers.handle(p.Boundary(("x:0",), ("late",)))
    assert isinstance(reply, p.SceneReply)
    assert "late" in bytes(arrays(drawn)["name_bytes"]).decode()
    assert reply.state.selected_ops == 1


def test_clone_undo_redo(answers: RequestHandler, editor: GraphEditor) -> None:
    reply, _ = cloned = answers.handle(p.Clone(("x:0",), ("net/logits:0",), "copy"))
    assert isinstance(reply, p.SceneReply)
    assert "4 variables of its own" in text_of(reply)
    assert reply.state.code == (
        'copy = editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="copy")',
    )
    assert reply.focus == "copy"
    assert arrays(cloned)["fresh"].any()
    undone, _ = answers.handle(p.Undo())
    assert isinstance(undone, p.SceneReply)
    assert (undone.state.undo, undone.state.redo) == ("", reply.state.code[0])
    assert "copy/x" not in editor._core.index.ids
    again, _ = answers.handle(p.Redo())
    assert isinstance(again, p.SceneReply)
    assert again.state.ops == reply.state.ops


def test_inspect_shows_an_op_and_a_scope(answers: RequestHandler) -> None:
    op, _ = answers.handle(p.Inspect("net/logits"))
    assert isinstance(op, p.InspectReply)
    assert op.op_type == "Identity"
    assert op.inputs == (p.Tensor("net/two/out:0", "float32", "(None, 4)", ("net/two/out",), 1),)
    assert p.Attribute("T", "float32", settable=True) in op.attributes
    assert op.shape == "(None, 4)"
    scope, _ = answers.handle(p.Inspect("net/two"))
    assert isinstance(scope, p.InspectReply)
    assert scope.op_type == ""
    assert scope.variables == 2
    assert [t.name for t in scope.inputs] == ["net/one/out:0"]


def test_inspect_names_the_scopes_of_equal_structure_and_the_ops_of_one_type() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        for tower in range(4):
            with tf.name_scope(f"tower_{tower}"):
                tf.nn.relu(tf.square(x))
        with tf.name_scope("other"):
            tf.nn.relu(x)
    answers = RequestHandler(tgw.edit(graph))
    scope, _ = answers.handle(p.Inspect("tower_1/"))
    assert isinstance(scope, p.InspectReply)
    assert scope.alike == ("tower_0/", "tower_2/", "tower_3/")
    assert scope.alike_count == 3
    op, _ = answers.handle(p.Inspect("tower_1/Relu"))
    assert isinstance(op, p.InspectReply)
    assert op.alike == ("tower_0/Relu", "tower_2/Relu", "tower_3/Relu", "other/Relu")
    alone, _ = answers.handle(p.Inspect("other/"))
    assert isinstance(alone, p.InspectReply)
    assert alone.alike == ()


def test_inspect_reads_every_op_of_inception(inception: tuple[tf.Graph, v1.Session]) -> None:
    answers = RequestHandler(tgw.edit(inception[0], session=inception[1]))
    for name in answers._editor._core.index.names[::97]:
        reply, _ = answers.handle(p.Inspect(name))
        assert isinstance(reply, p.InspectReply)
        assert all(len(each.text) <= 200 for each in reply.attributes)


def test_search_then_reveal_opens_the_way(inception: tuple[tf.Graph, v1.Session]) -> None:
    answers = RequestHandler(tgw.edit(inception[0], session=inception[1]))
    found, _ = answers.handle(p.Search("mixed_6b/branch_0", 5))
    assert isinstance(found, p.SearchReply)
    assert len(found.hits) == 5 < found.total
    reply, _ = revealed = answers.handle(p.Reveal(found.hits[0].name))
    assert isinstance(reply, p.SceneReply)
    assert reply.focus == found.hits[0].name
    names = bytes(arrays(revealed)["name_bytes"]).decode()
    assert found.hits[0].name in names


def test_hits_are_counted_in_what_is_closed_also_in_groups_until_it_is_opened() -> None:
    with tf.Graph().as_default() as graph:
        h = v1.placeholder(tf.float32, [None], name="x")
        for layer in ("one", "two"):
            h = tf.nn.relu(tf.nn.relu(h, name=f"net/{layer}/first"), name=f"net/{layer}/second")
        for _ in range(5):
            tf.nn.relu(h, name="net/alike")
    editor = tgw.edit(graph)
    answers = RequestHandler(editor)
    groups = [name for name in editor._core.view.outline.names if "alike" in name]
    assert len(groups) == 1  # ops that are alike lie in one

    def counts(text: str = "type:Relu") -> dict[str, int]:
        reply, _ = answers.handle(p.CountHits(text))
        assert isinstance(reply, p.HitCounts)
        return dict(reply.counts)

    answers.handle(p.ExpandAll(False))
    assert counts() == {"net": 9}
    answers.handle(p.Toggle("net"))
    assert counts() == {"net/one": 2, "net/two": 2, groups[0]: 5}
    assert counts("first") == {"net/one": 1, "net/two": 1}
    answers.handle(p.Toggle("net/one"))
    assert counts() == {"net/two": 2, groups[0]: 5}
    assert counts("nothing is called so") == {}


def test_the_first_drawing_of_inception_is_small(inception: tuple[tf.Graph, v1.Session]) -> None:
    _, (data,) = RequestHandler(tgw.edit(inception[0], session=inception[1])).handle(p.Open())
    assert len(data) < 20_000


def test_a_drawing_has_the_shape_of_the_pane_that_shows_it_unless_it_is_the_users_own() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        for branch in range(12):
            tf.negative(tf.abs(x, name=f"branch_{branch}/abs"), name=f"branch_{branch}/end")
    editor = tgw.edit(graph)
    handler = RequestHandler(editor)
    changes: list[int] = []

    def shape(request: p.Request, *pane: float) -> float:
        width, height = arrays(handler.handle(request, pane or None))["box"][0, 2:]  # type: ignore[arg-type]
        return float(width / height)

    wide = shape(p.Open(alone=True), 1500, 1000)
    editor._core.listeners.append(lambda: changes.append(1))
    assert shape(p.Open()) == shape(p.Open(alone=True), 1500, 1000) == wide
    assert not changes
    # Opened again in a narrow pane, and in a wide one; other views hear of it.
    narrow = shape(p.Open(alone=True), 500, 1000)
    assert narrow < wide / 2
    assert len(changes) == 1
    assert shape(p.Open(alone=True), 1500, 1000) == wide
    # Between the two: a pane that is as wide as high.
    assert narrow < shape(p.Open(alone=True), 1000, 1000) < wide
    assert shape(p.Open(alone=True), 1500, 1000) == wide
    # With another scope open, or something in another place, it still wraps to the pane.
    handler.handle(p.Pin("x", 40, 40))
    handler.handle(p.Toggle("branch_0"))
    assert shape(p.Open(alone=True), 500, 1000) < wide / 2
    assert shape(p.Unpin(), 500, 1000) < wide / 2


def test_what_a_save_could_not_do_is_reported_once_with_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
        v1.add_to_collection("mine", object())
    editor = tgw.edit(graph)
    handler = RequestHandler(editor)
    handler.handle(p.Open())
    (saved, _) = handler.handle(p.Export("meta", "kept"))
    assert isinstance(saved, p.ExportReply)
    assert "Collection 'mine' holds Python objects" in saved.about
    assert any("Collection 'mine'" in notice for notice in editor.source.notices)
    # Neither the next action nor a page that is loaded again tells it once more.
    for request in (p.Select("set", ("one",), ()), p.Open()):
        reply, _ = handler.handle(request)
        assert isinstance(reply, p.SceneReply | p.SelectionReply)
        assert reply.state.warnings == ()


@pytest.mark.parametrize("pane", [(780.0, 790.0), (500.0, 1000.0), (656.0, 522.0), (1500.0, 900.0)])
def test_a_drawing_uses_the_width_that_it_has(pane: tuple[float, float], tmp_path: Path) -> None:
    file = tmp_path / "vgg.meta"
    file.write_bytes(gzip.decompress(VGG.read_bytes()))
    editor = tgw.edit(file)
    handler = RequestHandler(editor)
    drawn = arrays(handler.handle(p.Open(alone=True), pane))["box"]
    # No other proportions, of those that would do for the pane, give a larger drawing.
    view = editor._core.view
    view.shape(*pane)
    level = level_of(pane[0] / pane[1])
    others = [view.aspect] if view.aspect == ROOT_ASPECT else map(aspect_of, (level, level + 1))
    specs = [dataclasses.replace(view.view_spec, aspect=aspect) for aspect in others]
    zooms = [zoom_in(scenes.build(view.index, spec), *pane) for spec in specs]
    zoom = min((side - 48) / drawn[0, 2 + k] for k, side in enumerate(pane))
    assert zoom == pytest.approx(max(zooms))
    if pane == (780, 790):
        assert drawn[0, 2] * zoom == pytest.approx(780 - 48)
    # With something else open it keeps its proportions, and in another narrow pane has its own.
    aspect = view.aspect
    handler.handle(p.Toggle("net"), pane)
    view.shape(*pane)
    assert view.aspect == aspect


def test_views_in_panes_of_different_shape_keep_drawings_of_their_own() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        for branch in range(12):
            tf.negative(tf.abs(x, name=f"branch_{branch}/abs"), name=f"branch_{branch}/end")
    editor = tgw.edit(graph)
    handler = RequestHandler(editor)
    wide, narrow = (1500.0, 1000.0), (500.0, 1000.0)

    def boxes(request: p.Request, pane: tuple[float, float]) -> list[list[float]]:
        return arrays(handler.handle(request, pane))["box"].tolist()  # type: ignore[no-any-return]

    first = boxes(p.Open(alone=True), wide)
    opened = editor.view.expanded
    second = boxes(p.Open(), narrow)
    assert editor.view.expanded == opened, (
        "the view that was there first has as many scopes open as before"
    )
    assert second[0][2] / second[0][3] < first[0][2] / first[0][3] / 2
    assert boxes(p.Open(), wide) == first
    # What one of them opens is open in both, where it was and in the shape of each.
    wider = boxes(p.Toggle("branch_0"), wide)
    narrower = boxes(p.Open(), narrow)
    assert len(wider) == len(narrower) > len(first)
    assert boxes(p.Open(), wide) == wider
    # One is wrapped again, which is nothing to the other; a selection is painted on the drawing of
    # its own view.
    assert boxes(p.Unpin(), narrow) != wider
    reply = handler.handle(p.Select("set", ("x",), ()), wide)
    assert len(arrays(reply)["coverage"]) == len(wider)
    assert boxes(p.Open(), wide) == wider
    assert boxes(p.Toggle("branch_0"), wide) == first


@pytest.mark.parametrize(
    "change", [p.Toggle("net"), p.Pin("x", 40, 40), p.Hide("hide", ("x",)), p.SetDirection("right")]
)
def test_a_selection_is_painted_on_no_drawing_that_another_view_has_changed(
    editor: GraphEditor, change: p.Request
) -> None:
    handler, wide, narrow = RequestHandler(editor), (1500.0, 1000.0), (500.0, 1000.0)
    select = p.Select("set", ("x",), ())
    handler.handle(p.Open(), wide)
    seen = drawn(handler.handle(p.Open(), narrow)).stamp
    painted, _ = handler.handle(select, narrow)
    assert isinstance(painted, p.SelectionReply)
    assert painted.stamp == seen
    new = drawn(handler.handle(change, wide)).stamp
    # A pane of another shape gets its own new drawing. To one of the same shape the stamp says that
    # its drawing is old.
    reply = drawn(handler.handle(select, narrow))
    assert reply.stamp not in (seen, new)
    painted, _ = handler.handle(select, wide)
    assert isinstance(painted, p.SelectionReply)
    assert painted.stamp == new
    assert drawn(handler.handle(p.Open(), narrow)).stamp == reply.stamp


def test_a_cell_draws_the_same_whichever_pane_asked_last(editor: GraphEditor) -> None:
    handler = RequestHandler(editor)
    editor.view.expand()
    before = editor.view.scene().box.tolist()
    narrow = arrays(handler.handle(p.Open(), (300.0, 1000.0)))["box"].tolist()
    assert narrow != before
    assert editor.view.scene().box.tolist() == before
    with pytest.raises(GraphEditError):
        handler.handle(p.Toggle("nowhere"), (300.0, 1000.0))
    assert editor._core.view.view_spec.aspect > 1
    # The picture of a pane is that of the pane.
    (svg,) = handler.handle(p.Picture("svg"), (300.0, 1000.0))[1]
    assert svg.decode() != editor.view.to_svg()


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (p.Toggle("nowhere"), "no name scope"),
        (p.Reveal("nowhere"), "no op"),
        (p.Inspect("nowhere"), "no name scope"),
        (p.Boundary(("net/logits",), ("x",)), "other way round"),
        (p.Clone(("x",), ("net/logits",), "net"), "is taken"),
    ],
)
def test_refusals(
    answers: RequestHandler, editor: GraphEditor, request_: p.Request, sentence: str
) -> None:
    before = editor.graph.version
    with pytest.raises(GraphEditError, match=sentence):
        answers.handle(request_)
    assert editor.graph.version == before


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (p.Undo(), "There is nothing to undo."),
        (p.Redo(), "There is nothing to redo."),
        (p.Change("rename", ("x",), ("new",), ('"x"',)), "'x' has that name already."),
        (p.Change("set_device", ("x",), ("device",), ("None",)), "without a device already."),
        (p.Change("bypass", ("net/logits",), (), ()), "so there is nothing to bypass."),
    ],
)
def test_nothing_to_do_is_a_result_that_the_page_shows_in_gray(
    answers: RequestHandler, editor: GraphEditor, request_: p.Request, sentence: str
) -> None:
    before = editor._core.index, editor.history
    reply, _ = answers.handle(request_)
    assert isinstance(reply, p.SceneReply)
    assert reply.edited is not None
    assert reply.edited.is_nothing
    assert sentence in reply.edited.text
    assert (editor._core.index, editor.history) == before


def test_a_boundary_selects_all_variables_of_inception(
    inception: tuple[tf.Graph, v1.Session],
) -> None:
    answers = RequestHandler(tgw.edit(inception[0], session=inception[1]))
    reply, _ = answers.handle(p.Boundary(("input:0",), (INCEPTION_OUTPUT,)))
    assert isinstance(reply, p.SceneReply)
    assert reply.state.selected_variables == 378


def reads(editor: GraphEditor, op: str) -> list[str]:
    """What an op reads, by the names of its inputs."""
    return [tensor.name for tensor in editor.graph.get_operation_by_name(op).inputs]


def test_a_change_is_the_editor_s_method_of_that_name(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    reply = drawn(
        answers.handle(p.Change("connect", ("net/two/add:0", "net/logits"), ("k",), ("0",)))
    )
    assert reads(editor, "net/logits") == ["net/two/add:0"]
    assert reply.state.code == ('editor.connect(source="net/two/add:0", target="net/logits", k=0)',)
    assert text_of(reply).startswith("Connected net/two/add:0 to net/logits, input 0.")
    assert reply.focus == ""
    drawn(answers.handle(p.Change("rename", ("net/logits",), ("new",), ('"net/scores"',))))
    assert "net/scores" in editor._core.index.ids


def test_a_change_of_nothing_named_is_one_of_the_selection(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    with pytest.raises(GraphEditError, match="Nothing is selected"):
        answers.handle(p.Change("bypass"))
    answers.handle(p.Select("set", ("net/two/out",), ()))
    answers.handle(p.Change("bypass"))
    assert reads(editor, "net/logits") == ["net/two/add:0"]


def test_a_change_that_no_method_takes_is_refused(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    with pytest.raises(GraphEditError, match="reload the page"):
        answers.handle(p.Change("rename", ("net/logits",), ("colour",), ("red",)))
    assert editor.history.lines == ()


def test_a_refusal_offers_fixes_and_one_of_them_is_done(mlp: tf.Graph) -> None:
    with mlp.as_default():
        tf.identity(tf.cast(mlp.get_tensor_by_name("x:0"), tf.float64), name="wide")
        tf.identity(mlp.get_tensor_by_name("x:0"), name="narrow")
    editor = tgw.edit(mlp)
    answers = RequestHandler(editor)
    with pytest.raises(GraphEditError) as caught:
        answers.handle(p.Change("connect", ("wide:0", "narrow"), ("k",), ("0",)))
    refused = answers.refusal_reply(caught.value)
    assert [offer.text for offer in refused.fixes] == ["Insert a Cast"]
    assert editor.history.lines == ()
    reply = drawn(answers.handle(p.Fix(refused.fixes[0].line)))
    assert reply.state.code == (refused.fixes[0].line,)
    assert editor.graph.get_operation_by_name("narrow").inputs[0].op.type == "Cast"
    with pytest.raises(GraphEditError, match="try the edit again"):
        answers.handle(p.Fix("editor.remove()"))


def test_history_goes_to_and_fro(answers: RequestHandler) -> None:
    for name in ("first", "second", "third"):
        answers.handle(p.Clone(("x:0",), ("net/logits:0",), name))
    done = drawn(answers.handle(p.Open())).state.code
    reply = drawn(answers.handle(p.Jump(1)))
    assert reply.state.code + reply.state.ahead == done
    assert text_of(reply) == "Now after edit 1 of 3."
    assert drawn(answers.handle(p.Jump(3))).state.code == done
    with pytest.raises(GraphEditError, match="from 0 to 3"):
        answers.handle(p.Jump(4))


def test_targets_report_why_they_cannot_read_a_tensor(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    editor.view.expand("net/two")
    editor.view.collapse("net/one")
    answers.handle(p.Open())
    report, _ = answers.handle(p.Targets("net/logits"))
    assert isinstance(report, p.RewireTargets)
    assert report.outputs == ("net/logits:0",)
    refused = dict(report.refused)
    assert "depends on" in refused["net/two/out"]
    assert refused["x"] == "'x' reads nothing."
    assert all(not name.startswith("net/one/") for name in refused)
    of_one, _ = answers.handle(p.Targets("x:0", "net/two/add"))
    assert isinstance(of_one, p.RewireTargets)
    assert of_one.slots[0].tensor == "net/two/MatMul:0"
    assert of_one.refused == ()


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (p.Change("detach", ("net/two/",)), 'editor.detach(what="net/two/")'),
        (p.Change("set_device", ("net/one/",), ("device",), ('"/device:CPU:0"',)), "device="),
        (
            p.Change("rename", ("net/one/",), ("new",), ('"net/first"',)),
            'editor.rename(old="net/one/"',
        ),
        (
            p.Change("insert", ("net/one/out:0",), ("function",), ('"Identity"',)),
            'function="Identity"',
        ),
        (
            p.Change(
                "insert",
                ("net/one/out:0",),
                ("function", "options"),
                ('"CheckNumerics"', '{"message": "bad"}'),
            ),
            'options={"message": "bad"}',
        ),
        (p.Change("set_constant", ("x:0",), ("value",), ("[[1, 2, 3]]",)), "value=[[1, 2, 3]]"),
        (p.Change("set_input", ("x:0",), ("shape",), ("(8, 3)",)), "shape=[8, 3]"),
        (
            p.Change("set_attr", ("net/one/MatMul",), ("name", "value"), ('"grad_a"', "true")),
            "set_attr(",
        ),
        (
            p.Change("add_control_inputs", ("net/logits",), ("ops",), ('"x:0"',)),
            "add_control_inputs(",
        ),
        (p.Change("freeze"), "editor.freeze("),
    ],
    ids=lambda value: value.command if isinstance(value, p.Change) else "",
)
@pytest.mark.sample(7)
def test_the_panel_s_forms_are_calls(answers: RequestHandler, asked: p.Change, line: str) -> None:
    reply = drawn(answers.handle(asked))
    assert line in reply.state.code[0]


def test_differences_are_painted_and_follow_edits(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    editor.view.expand("net/two")
    answers.handle(p.Open())
    reply, _ = answers.handle(p.Compare(show=True))
    assert isinstance(reply, p.SelectionReply)
    assert (reply.state.comparing, reply.state.changes) == (True, ())
    answers.handle(p.Change("insert", ("net/two/out:0",), ("function",), ('"Identity"',)))
    compared = answers.handle(p.Open())
    assert {group.kind: group.total for group in drawn(compared).state.changes} == {
        "added": 1,
        "changed": 1,
    }
    differs = dict(
        zip(texts(arrays(compared), "name"), arrays(compared)["differs"].tolist(), strict=True)
    )
    assert (differs["net/logits"], differs["x"]) == (2, 0)
    assert 1 in differs.values()
    hidden, _ = shown = answers.handle(p.Compare(show=False))
    assert isinstance(hidden, p.SelectionReply)
    assert not hidden.state.comparing
    assert not arrays(shown)["differs"].any()


def test_a_difference_that_a_cell_shows_stays_what_it_is(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    answers.handle(p.Compare(show=True))
    answers.handle(p.Change("bypass", ("net/two/out",)))
    editor.view.difference = mine = editor.diff()
    answers.handle(p.Change("bypass", ("net/one/out",)))
    assert editor.view.difference is mine


def test_what_an_op_gives_is_looked_at_in_a_run(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    editor.view.expand("net/two", "net/one")
    # Not after a Relu: some processors' give 0 for a NaN.
    editor.probe(["net/one/MatMul", "net/two/out"], {"x:0": [[np.nan] * 3, [1.0, 2.0, 3.0]]})
    painted = arrays(answers.handle(p.Open()))
    probed = dict(zip(texts(painted, "name"), painted["probed"].tolist(), strict=True))
    assert (probed["net/one/MatMul"], probed["x"]) == (2, 0)
    report, _ = answers.handle(p.Inspect("net/one/MatMul"))
    assert isinstance(report, p.InspectReply)
    seen = report.outputs[0].value
    assert seen is not None
    assert (seen.shape, seen.nans) == ("(2, 4)", 4)
    assert "nan" in seen.value
    with pytest.raises(GraphEditError, match="feeds="):
        answers.handle(p.Probe("net/logits"))
    answers.handle(p.Probe("net/one/b"))
    report, _ = answers.handle(p.Inspect("net/one/b"))
    assert isinstance(report, p.InspectReply)
    assert report.outputs[0].value is not None


def test_the_script_is_the_editor_s(answers: RequestHandler, editor: GraphEditor) -> None:
    answers.handle(p.Change("bypass", ("net/two/out",)))
    assert answers.handle(p.Script()) == (p.ScriptReply(editor.history.to_script().text), [])


def test_messages_decode_to_the_requests_they_name() -> None:
    message = {
        "id": 3,
        "type": "clone",
        "inputs": ["x:0"],
        "outputs": ["y:0"],
        "into": "copy",
        "init": "none",
    }
    assert codec.decode(message) == (3, p.Clone(("x:0",), ("y:0",), "copy", init="none"))
    assert codec.decode({"id": 0, "type": "open"}) == (0, p.Open())
    form = {
        "inputs": [],
        "outputs": [],
        "into": "copy",
        "others": ["w"],
        "placeholders": True,
        "times": 3,
    }
    asked = p.Preview((), (), "copy", others=("w",), placeholders=True, times=3)
    assert codec.decode({"id": 1, "type": "preview", **form}) == (1, asked)
    assert codec.decode({"id": 1, "type": "preview", **form, "times": None})[
        1
    ] == dataclasses.replace(asked, times=None)
    for wrong in (
        {"times": True},
        {"times": "3"},
        {"placeholders": 1},
        {"variables": "mine"},
        {"others": "w"},
    ):
        with pytest.raises(GraphEditError, match="reload the page"):
            codec.decode({"id": 1, "type": "preview", **form, **wrong})


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
fields = ("id", "type", "scope", "name", "inputs", "outputs", "text", "limit", "into", "variables",
    "init", "times",
          "command", "what", "keys", "values", "show", "to", "line", "tensor")  # fmt: skip
values = json | st.sampled_from(sorted(codec.REQUESTS)) | st.lists(st.text(max_size=3), max_size=3)


@given(json | st.dictionaries(st.sampled_from(fields), values, max_size=7))
def test_any_message_decodes_or_is_refused_in_one_sentence(message: object) -> None:
    why = ""
    try:
        number, request = codec.decode(message)
    except GraphEditError as refusal:
        why = refusal.why
    assert (
        why.endswith("reload the page.")
        if why
        else type(request) in codec.REQUESTS.values() and isinstance(number, int)
    )


def test_the_typescript_twin_is_fresh() -> None:
    twin = Path(__file__).parents[2] / "labextension" / "src" / "protocol" / "messages.ts"
    assert twin.read_text() == to_typescript(), (
        "write it again: python -m tests.widget.test_request_handler"
    )


if __name__ == "__main__":
    (Path(__file__).parents[2] / "labextension" / "src" / "protocol" / "messages.ts").write_text(
        to_typescript()
    )
