"""Colouring: every way, its legend, and a person's own values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

WITHOUT_A_RUN = (
    "type", "device", "structure", "dtype", "scope", "trainable", "parameters", "output bytes",
    "FLOPs", "diff",
)  # fmt: skip


def shown(editor: tgw.GraphEditor) -> dict[str, tuple[int, str]]:
    """Tint and note of the items, by name; of badges none."""
    scene = editor.view.scene()
    paint = editor._core.paint(scene)
    rows = zip(scene.names, scene.kind.tolist(), paint.tint.tolist(), paint.notes, strict=True)
    return {name: (tint, note) for name, kind, tint, note in rows if kind != 3}


def test_nothing_is_coloured_until_a_person_asks_for_it(editor):
    assert editor.view.legend is None
    assert set(shown(editor).values()) == {(0, "")}


@pytest.mark.parametrize("by", WITHOUT_A_RUN)
def test_every_way_has_a_legend_and_goes_again(editor, by):
    editor.view.color_by(by)
    assert editor.view.legend is not None
    assert editor.view.legend.by == by
    assert editor.view.legend.entries or editor.view.legend.high
    for tint, note in shown(editor).values():
        assert note or not tint  # colour is never the only sign
    editor.view.color_by(None)
    assert editor.view.legend is None


def test_all_ways_are_reported_and_another_one_is_refused(editor):
    assert set(editor._core.coloring.names) == {*WITHOUT_A_RUN, "time", "memory"}
    editor.view.color_by("dtype")
    with pytest.raises(
        GraphEditError, match=r"cannot be colored by 'taste'; by \"type\", .* or \"diff\""
    ):
        editor.view.color_by("taste")
    assert editor.view.legend.by == "dtype"


def test_colours_stay_when_scopes_are_opened(editor):
    editor.view.color_by("parameters")
    editor.view.expand("net")
    legend = editor.view.legend
    editor.view.expand()
    assert editor.view.legend == legend
    assert shown(editor)["net/one/MatMul"][1] == "12"


def test_a_layer_has_the_parameters_that_it_reads(editor):
    editor.view.color_by("parameters")
    editor.view.collapse()
    assert shown(editor)["net"][1] == str(3 * 4 + 4 + 4 * 4 + 4)


def test_an_assumed_batch_is_reported_and_so_is_what_is_unknown(editor):
    editor.view.color_by("FLOPs", batch=8)
    assert "batch = 8" in editor.view.legend.notice
    assert "unknown" in editor.view.legend.notice
    editor.view.expand()
    assert shown(editor)["net/one/MatMul"][1] == f"{2 * 8 * 3 * 4} FLOP"
    with pytest.raises(GraphEditError, match="not a batch size"):
        editor.view.color_by("FLOPs", batch=0)


def test_time_measures_itself_when_nothing_is_fed_and_else_says_how(editor):
    with pytest.raises(GraphEditError, match=r"needed and not fed.*editor\.measure\("):
        editor.view.color_by("time")
    assert editor.view.legend is None
    with tf.Graph().as_default() as graph:
        tf.reduce_sum(v1.random_normal([50, 50]), name="y")
    alone = tgw.edit(graph, session=v1.Session(graph=graph))
    alone.view.color_by("time")
    assert alone.view.legend.high.endswith("s")
    assert shown(alone)["y"][1].endswith("s")


def test_after_an_edit_time_is_no_longer_known_and_the_legend_says_so(editor, batch):
    editor.measure("net/logits", {"x": batch})
    editor.view.color_by("time")
    assert any(note for _, note in shown(editor).values())
    editor.rename("net/logits", "net/scores")
    assert not any(note for _, note in shown(editor).values())
    assert "editor.measure" in editor.view.legend.notice


def test_edits_are_coloured(editor):
    editor.view.color_by("diff")
    editor.view.expand()
    assert shown(editor)["net/two/MatMul"] == (0, "")
    copy = editor.clone("net/one/out", "net/logits", into="copy")
    editor.view.expand()
    added = {name for name, report in shown(editor).items() if report == (1, "added")}
    assert {name for name in added if name.endswith("two/MatMul")} == {"copy/net/two/MatMul"}
    assert len(added) <= len(copy.ops)


def test_own_numbers_are_a_ramp_and_own_words_are_categories(editor):
    editor.view.expand()
    editor.view.color_by({"net/one/MatMul": 1, "net/two/MatMul:0": 3.5, "x": None})
    found = shown(editor)
    assert (found["net/one/MatMul"], found["net/two/MatMul"], found["x"]) == (
        (128, "1"),
        (255, "3.5"),
        (0, ""),
    )
    assert (editor.view.legend.by, editor.view.legend.low, editor.view.legend.high) == (
        "own values",
        "1",
        "3.5",
    )
    editor.view.color_by({"net": "all", "net/two": "two", "net/two/MatMul": "product"})
    found = shown(editor)
    assert [found[f"net/{n}/MatMul"][1] for n in ("one", "two")] == ["all", "product"]
    assert found["net/two/out"][1] == "two"
    assert found["x"] == (0, "")
    assert [e.label for e in editor.view.legend.entries][-1] == "no value"


def test_own_yes_and_no_are_categories_and_a_function_gives_them(editor):
    def heavy(op):
        return op.type == "MatMul"

    editor.view.expand()
    editor.view.color_by(heavy)
    assert editor.view.legend.by == "heavy"
    assert shown(editor)["net/one/MatMul"][1] == "True"
    assert "heavy" in editor._core.coloring.names
    editor.view.color_by("")
    editor.view.color_by("heavy")
    assert shown(editor)["net/one/MatMul"][1] == "True"


def test_a_column_colours_by_its_name_or_itself(editor):
    editor.view.expand()
    editor.view.color_by("consumers")
    by_name = shown(editor)
    assert by_name["net/one/MatMul"][1] == "1"
    table = editor.table()
    editor.view.color_by(table["consumers"])
    assert shown(editor) == by_name
    editor.view.color_by(table.set_index("name")["consumers"])
    assert shown(editor) == by_name
    with pytest.raises(GraphEditError, match="name the ops"):
        editor.view.color_by(pd.Series([1, 2]))


def test_own_values_that_say_nothing_are_refused_and_change_nothing(editor):
    editor.view.color_by("dtype")
    with pytest.raises(UnknownName, match="no op, tensor or scope 'net/oen'"):
        editor.view.color_by({"net/oen": 1})
    with pytest.raises(GraphEditError, match="says nothing of ops"):
        editor.view.color_by(42)
    with pytest.raises(GraphEditError, match="color of op 'x' is not known: ZeroDivisionError"):
        editor.view.color_by(lambda op: 1 / len(op.inputs))
    assert editor.view.legend.by == "dtype"
    assert editor._core.coloring.names[-1] == "diff"


def test_ops_that_come_later_may_be_beyond_an_own_function(mlp):
    editor = tgw.edit(mlp)
    known = {op.name: 1 for op in mlp.get_operations()}
    editor.view.color_by(lambda op: known[op.name])
    with mlp.as_default():
        tf.identity(mlp.get_tensor_by_name("x:0"), name="later")
    assert shown(editor)["later"] == (0, "")


def test_an_op_that_is_gone_has_no_colour_and_no_error(editor):
    editor.view.color_by({"net/logits": 1, "net/one/MatMul": 2})
    editor.remove("net/logits")
    assert editor.view.legend.high == "2"


def test_the_browser_gets_tints_notes_and_a_legend():
    answers = RequestHandler(editor := tgw.edit(build_mlp(resource=True)))
    answers.handle(p.Open())
    report, _ = answers.handle(p.Color("dtype"))
    assert isinstance(report, p.SelectionReply)
    assert report.state.legend is not None
    assert report.state.legend.by == "dtype"
    assert isinstance(report.state.legend.entries[0], p.Entry)
    assert {field.name for field in report.fields} >= {"tint", "note_start", "note_bytes"}
    assert report.state.colors == editor._core.coloring.names
    assert answers.handle(p.Color(""))[0].state.legend is None


def test_a_function_s_body_is_coloured_too():
    w = tf.Variable(tf.ones([3, 4]), name="w")
    editor = tgw.edit(
        tf.function(lambda x: tf.matmul(x, w)).get_concrete_function(tf.TensorSpec([None, 3]))
    )
    for by in WITHOUT_A_RUN:
        editor.view.color_by(by)
        assert len(editor._core.paint(scene := editor.view.scene()).tint) == len(scene)
    editor.view.color_by("parameters")
    assert editor.view.legend.high == "12"


def test_every_op_of_many_is_coloured():
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4], name="x")
        for k in range(300):
            x = tf.nn.relu(x, name=f"block_{k % 20}/relu")
    editor = tgw.edit(graph)
    editor.view.expand()
    editor.view.color_by("type")
    assert np.count_nonzero(editor._core.paint(editor.view.scene()).tint) >= 300
