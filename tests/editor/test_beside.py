"""Two models beside each other: which op is which, the list of differences, numbers, the page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.pages import unpack_page
from tfgraphwidget.editor import Beside, GraphEditor
from tfgraphwidget.editor.partners import likely_partner
from tfgraphwidget.errors import GraphEditError, InvalidArgument, NotAGraph, UnknownName

v1 = tf.compat.v1
X = {"x:0": np.ones([1, 4], np.float32)}


def graph(
    scope: str = "net", *, bias: float = 0.5, relu: bool = True, features: int = 4
) -> tf.Graph:
    """x → MatMul → Add → (Relu) → y, in a scope."""
    with tf.Graph().as_default() as made:
        x = v1.placeholder(tf.float32, [None, features], name="x")
        with tf.name_scope(scope):
            w = tf.constant(
                np.linspace(-1, 1, features * 3).reshape(features, 3), tf.float32, name="w"
            )
            y = tf.add(tf.matmul(x, w, name="MatMul"), tf.fill([3], bias), name="Add")
            if relu:
                y = tf.nn.relu(y, name="Relu")
        tf.identity(y, name="y")
    return made


def document(both: Beside) -> dict[str, Any]:
    """What the page knows of both."""
    return dict(json.loads(gzip.decompress(both.document())))


def steps(both: Beside) -> list[tuple[str, str, str]]:
    """The list of differences."""
    return [(s["kind"], s["before"], s["after"]) for s in document(both)["steps"]]


def test_equal_graphs_are_said_to_be_equal_in_a_sentence() -> None:
    both = tgw.beside(graph(), graph())
    assert not both
    assert document(both)["summary"] == "The two graphs are equal: 9 ops."
    assert steps(both) == []


def test_graphs_with_nothing_in_common_are_drawn_and_said_to_be() -> None:
    with tf.Graph().as_default() as other:
        v1.placeholder(tf.string, name="text")
    both = tgw.beside(graph(), other)
    assert document(both)["summary"] == "The two graphs have no op in common."
    assert len(both.before) == 9
    assert len(both.after) == 1


def test_a_renamed_scope_is_one_pair_and_one_step() -> None:
    both = tgw.beside(graph("net"), graph("tower"))
    record = document(both)
    assert record["scopes"] == [["net", "tower"]]
    assert record["ops"] == []
    assert steps(both) == [("renamed", "net/", "tower/")]
    assert record["steps"][0]["note"] == "7 ops"


def test_each_op_leads_to_its_partner_by_what_the_page_is_told() -> None:
    renamed = graph().as_graph_def()
    names = {"net/MatMul": "net/Product", "net/Relu": "net/MatMul"}  # a name of another op before
    for node in renamed.node:
        node.name = names.get(node.name, node.name)
        node.input[:] = [names.get(name, name) for name in node.input]
    both = tgw.beside(graph(), renamed, pairs=names)
    record = document(both)
    scopes = dict(map(tuple, record["scopes"]))
    ops = {was: now for was, now in record["ops"] if was is not None}
    partners = {
        name: ops[name] if name in ops else likely_partner(name, scopes)
        for name in both.before._core.index.names
    }
    assert partners["net/MatMul"] == "net/Product"
    assert partners["net/Relu"] == "net/MatMul"
    assert partners["net/Add"] == "net/Add"


def test_what_only_one_graph_has_is_shown_beside_what_both_have() -> None:
    both = tgw.beside(graph(), graph(relu=False))
    assert ("removed", "net/Relu", "net/Add") in steps(both)
    (changed,) = [step for step in document(both)["steps"] if step["kind"] == "changed"]
    assert changed["details"] == [["input 0", "net/Relu:0", "net/Add:0"]]


def test_the_original_is_beside_its_edits_and_stays_as_it_was() -> None:
    editor = tgw.edit(graph())
    editor.bypass("net/Relu")
    both = editor.beside()
    assert both.after is editor
    assert steps(both) == [("changed", "y", "y")]
    assert both.before._core.index.input_lists[both.before._core.index.ids["y"]] == [
        both.before._core.index.ids["net/Relu"]
    ]
    assert document(both)["titles"] == ["as it was opened", "as it is now"]


def test_an_edit_afterwards_is_followed() -> None:
    editor = tgw.edit(graph())
    both = editor.beside(feeds=X)
    assert not both
    editor.bypass("net/Relu")
    assert both
    assert steps(both) == [("changed", "y", "y")]
    assert both.comparison is None
    assert document(both)["sentences"] == [
        "The graph was edited since its values were compared; compare again."
    ]


def test_one_editor_twice_has_a_copy_on_the_left() -> None:
    editor = tgw.edit(graph())
    both = tgw.beside(editor, editor)
    assert both.before._core is not both.after._core
    assert not both


def test_pairs_correct_the_matching() -> None:
    with tf.Graph().as_default() as one:
        a = v1.placeholder(tf.float32, [2], name="a")
        tf.exp(a, name="first")
    with tf.Graph().as_default() as other:
        a = v1.placeholder(tf.float32, [2], name="a")
        tf.math.log1p(a, name="second")
    assert ("added", "a", "second") in steps(tgw.beside(one, other))
    both = tgw.beside(one, other, pairs={"first": "second"})
    assert both.difference.added == ()
    assert dict(both.difference.renamed) == {"first": "second"}
    with pytest.raises(UnknownName, match="fist"):
        tgw.beside(one, other, pairs={"fist": "second"})


def test_the_first_divergence_leads_the_list_with_what_it_reads_and_what_reads_it() -> None:
    both = tgw.beside(graph(), graph(relu=False), feeds=X)
    assert both.comparison is not None
    first = document(both)["steps"][0]
    assert (first["kind"], first["after"]) == ("first", "y")
    assert ["input net/Add:0", "", "agrees"] in first["details"]


def test_the_worst_tensor_comes_first_after_it_and_both_drawings_are_colored() -> None:
    both = tgw.beside(graph(), graph(bias=0.75), feeds=X)
    record = document(both)
    kinds = [step["kind"] for step in record["steps"]]
    assert kinds[0] == "first"
    notes = [float(step["note"]) for step in record["steps"] if step["kind"] == "value"]
    assert notes == sorted(notes, reverse=True)
    assert notes
    for editor in (both.before, both.after):
        assert editor._core.coloring.current == "difference"
        scene = editor.view.scene()
        assert editor._core.paint(scene).tint.any()


def test_weights_are_listed_without_a_run_with_norm_and_histogram() -> None:
    both = tgw.beside(graph(), graph(bias=0.75), values=True)
    assert not both.refusal
    assert both.comparison is not None
    assert both.comparison.what == "weight"
    (step,) = [each for each in document(both)["steps"] if each["kind"] == "first"]
    lines = {what: (before, after) for what, before, after in step["details"]}
    (name,) = [each.name for each in both.comparison if each.differs]
    was, now = (
        next(tf.make_ndarray(n.attr["value"].tensor) for n in g.as_graph_def().node if n.name == op)
        for g, op in ((graph(), name[:-2]), (graph(bias=0.75), name[:-2]))
    )
    assert lines["norm"] == tuple(f"{np.linalg.norm(value):.4g}" for value in (was, now))
    assert all(len(bar) == 16 for bar in lines["histogram"])
    assert not tgw.beside(graph(), graph(), values=True)


@pytest.mark.parametrize(
    ("feeds", "sentence"),
    [
        ({"z:0": 1.0}, "This graph has no op 'z'"),
        ({"x:0": np.ones([1, 5])}, "x:0"),
        ({}, "feeds={'x:0': …}"),
    ],
)
def test_what_stands_in_the_way_of_a_run_is_a_sentence(feeds: Any, sentence: str) -> None:
    both = tgw.beside(graph(), graph(relu=False), feeds=feeds)
    assert both.comparison is None
    texts = " ".join(document(both)["sentences"])
    assert both.refusal.startswith("The values were not compared: ")
    assert sentence in both.refusal
    assert both.refusal in texts
    assert "Traceback" not in repr(both)


def test_a_side_with_other_shapes_is_a_sentence_and_drawn() -> None:
    both = tgw.beside(graph(features=5), graph(), feeds=X)
    assert both.comparison is None
    assert both.refusal
    assert both.difference.changed


def test_no_second_model_is_refused() -> None:
    with pytest.raises(NotAGraph, match="the second model is None"):
        tgw.beside(graph(), None)


def test_a_frozen_graph_is_one_sentence_and_no_mark(tmp_path: Path) -> None:
    editor = tgw.example()
    path = editor.save(tmp_path / "frozen.pb", outputs=["net/logits:0"], frozen=True)
    both = editor.beside(path)
    record = document(both)
    assert record["sentences"][0].startswith("frozen: 3 variables became constants")
    assert record["steps"] == []
    for each in (both.before, both.after):
        assert not each._core.evaluator.marks()


def test_a_scope_with_most_ops_that_is_renamed_is_not_marked_op_by_op() -> None:
    both = tgw.beside(graph("net"), graph("tower"))
    assert both
    assert both.before._core.evaluator.marks() == {}
    part = tgw.edit(graph())
    part.rename("net/MatMul", "net/Product")
    small = part.beside()
    assert small
    assert small.before._core.evaluator.marks() == {"net/MatMul": 4}
    assert small.after._core.evaluator.marks() == {"net/Product": 4}


def pieces(path: Path) -> dict[str, bytes]:
    """The data of a page by name."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(
        r'<script type="text/plain" id="tfgraphwidget-(\w+)">(.*?)</script>', text, re.DOTALL
    )
    return {name: base64.b64decode(letters) for name, letters in found}


def test_the_page_has_both_graphs_their_marks_and_the_document(tmp_path: Path) -> None:
    both = tgw.beside(graph(), graph(relu=False), feeds=X)
    page = pieces(both.save(tmp_path / "compare.html"))
    assert json.loads(gzip.decompress(page["beside"])) == document(both)
    marks = []
    for name in ("before", "data"):
        _, (room,) = unpack_page(page[name])
        marks.append(
            dict(zip(room.head["names"], room.numbers["op_differs"].tolist(), strict=True))
        )
    assert marks[0]["net/Relu"] == 3
    assert marks[1]["y"] == 2
    assert marks[1]["net/MatMul"] == 0
    with pytest.raises(InvalidArgument, match=r"ends in '\.html'"):
        both.save(tmp_path / "compare.pdf")
    with pytest.raises(GraphEditError, match="does not exist"):
        both.save(tmp_path / "nowhere" / "compare.html")


def test_functions_and_keras_models_stand_beside_files(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.nn.relu(x) * 2.0, autograph=False)
    editor = tgw.edit(function, signature=[tf.TensorSpec([None], tf.float32)])
    editor.bypass("Relu")
    assert [step[0] for step in steps(editor.beside())] == ["changed"]
    assert isinstance(editor.beside(graph()).after, GraphEditor)


def calling(bias: float) -> tf.Graph:
    """x → f(x) → y, where f adds a bias to an op of the name of one outside."""
    function = tf.function(lambda x: tf.nn.relu(tf.add(x, bias, name="y")), autograph=False)
    with tf.Graph().as_default() as made:
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.identity(function(x), name="y")
    return made


def test_what_differs_inside_of_a_function_is_marked_where_it_is_entered() -> None:
    both = tgw.beside(calling(0.5), calling(0.75))
    call = next(name for name in both.after if both.after.view.called_functions(name))
    (step,) = document(both)["steps"]
    assert (step["kind"], step["after"]) == ("changed", call)
    assert step["details"] == [["in functions that it calls", "", "1 difference"]]
    for editor in (both.before, both.after):
        assert editor._core.evaluator.marks() == {call: 2}
        editor.view.enter(call)
        (name,) = editor._core.evaluator.marks() or {}
        assert editor.inspect(name).op_type == "Const"
        editor.view.leave()
        assert editor._core.evaluator.marks() == {call: 2}


def test_panes_have_the_names_of_files_also_where_a_function_is_entered(tmp_path: Path) -> None:
    paths = [tmp_path / "one.pb", tmp_path / "deep" / "two.pb", tmp_path / "deep" / "one.pb"]
    paths[1].parent.mkdir()
    for path in paths:
        path.write_bytes(calling(0.5).as_graph_def().SerializeToString())
    editors = [tgw.edit(path) for path in paths[:2]]
    for editor in editors:
        editor.view.enter("PartitionedCall")
    assert document(tgw.beside(*editors))["titles"] == ["one.pb", "two.pb"]
    assert document(tgw.beside(paths[0], paths[2]))["titles"] == [str(paths[0]), str(paths[2])]


def test_what_differs_in_the_place_of_a_call_is_marked_and_colored_at_the_call() -> None:
    """Only one of the graphs calls a function: its ops are compared with those of the other one."""

    def flat(bias: float) -> tf.Graph:
        with tf.Graph().as_default() as made:
            x = v1.placeholder(tf.float32, [2], name="x")
            tf.identity(tf.nn.relu(tf.add(x, bias, name="plus"), name="relu"), name="y")
        return made

    feeds = {"x:0": [1.0, 2.0]}
    for one, other in ((flat(0.5), calling(0.75)), (calling(0.75), flat(0.5))):
        both = tgw.beside(one, other, feeds=feeds)
        assert document(both)["steps"]
        caller = both.before if one.get_operations()[-1].inputs[0].op.type != "Relu" else both.after
        flat_one = both.after if caller is both.before else both.before
        assert caller._core.evaluator.marks() == {"PartitionedCall": 2}
        assert "plus/y" in (flat_one._core.evaluator.marks() or {})
        index = caller._core.index
        colored = caller._core.coloring._of(index)
        assert colored.value[index.ids["PartitionedCall"]] > 0
        caller.view.enter("PartitionedCall")
        assert (caller._core.evaluator.marks() or {})["y/y"] == 2
        caller.view.leave()


def test_pairs_of_one_graph_are_refused_at_once() -> None:
    editor = tgw.example()
    with pytest.raises(tgw.GraphEditError, match=r"^beside: pairs are of two models; name the oth"):
        editor.beside(pairs={"x": "x"})
    assert editor.view.difference is None


def test_pairs_by_hand_are_compared_kept_and_undone(tmp_path: Path) -> None:
    both = tgw.beside(graph(), graph(relu=False), feeds=X)
    first = both.comparison
    assert both.pairs == {}
    both.pair("net/Relu", "net/Add")
    assert both.pairs == {"net/Relu": "net/Add"}
    assert [pair.was for pair in both.difference.pairs if pair.evidence == "hand"] == ["net/Relu"]
    assert both.comparison is not None
    assert both.comparison is not first, "the values are compared again"
    assert both.comparison["net/Add"].other == "net/Relu:0"
    both.pair("net/Relu", "y")  # corrects it
    assert both.pairs == {"net/Relu": "y"}
    both.unpair()
    record = json.loads(gzip.decompress(pieces(both.save(tmp_path / "compare.html"))["beside"]))
    assert record["pairs"] == [["net/Relu", "net/Add"]]
    assert record["evidence"]["hand"] == ["net/Add"]
    assert record["evidence"]["name"] == [], "most are of one name"
    both.unpair()
    both.unpair()
    assert both.pairs == {}
    both.take(both.after.compare(X, both.before, "all"))  # which no one can ask for again
    both._feeds_and_tolerance = None
    both.pair("net/Relu", "net/Add")
    assert both.refusal.endswith("compare again.")
    with pytest.raises(UnknownName, match="nowhere"):
        both.pair("net/Relu", "nowhere")
    with pytest.raises(GraphEditError, match="pairs are of two models"):
        tgw.edit(graph()).beside().pair("x", "x")


def test_ops_of_functions_that_are_compared_in_place_of_calls_are_shown_at_these(
    tmp_path: Path,
) -> None:
    """Of two signatures one was frozen: what only the other one has is in functions."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(np.eye(4, dtype=np.float32))
            self.v = tf.Variable(np.ones([4, 2], np.float32))

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def embed(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"e": tf.nn.l2_normalize(tf.matmul(x, self.w), 1)}

        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def classify(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"p": tf.nn.softmax(tf.matmul(self.embed(x)["e"], self.v))}

    model = Model()
    signatures = {"embed": model.embed, "classify": model.classify}
    tf.saved_model.save(model, str(tmp_path / "saved"), signatures)
    tgw.edit(tmp_path / "saved", signature="classify").save(tmp_path / "one.pb", frozen=True)
    whole = tgw.edit(tmp_path / "saved")
    whole.view.leave(0)
    for one, other in ((whole, tmp_path / "one.pb"), (tmp_path / "one.pb", whole)):
        both = tgw.beside(one, other)
        assert both.difference.removed or both.difference.added
        for step in document(both)["steps"]:
            for name, editor in ((step["before"], both.before), (step["after"], both.after)):
                scope = name.rstrip("/") + "/"
                assert not name or name in editor or any(op.name.startswith(scope) for op in editor)
        assert both.save(tmp_path / "both.html").exists()


@pytest.mark.parametrize("saved", ["before", "after", "both"])
@pytest.mark.parametrize("by", ["argument", "method"])
def test_pairs_by_hand_are_kept_in_a_saved_editor(saved: str, by: str, tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_bytes(graph("net").as_graph_def().SerializeToString())
    (tmp_path / "b.pb").write_bytes(graph("tower").as_graph_def().SerializeToString())
    given = {"net/Add": "tower/Relu"}
    both = tgw.beside(
        tmp_path / "a.pb", tmp_path / "b.pb", pairs=given if by == "argument" else None
    )
    if by == "method":
        both.pair("net/Add", "tower/Relu")
    before, after = tmp_path / "a.pb", tmp_path / "b.pb"
    if saved in ("before", "both"):
        before = both.before.save(tmp_path / "a.tgw")
    if saved in ("after", "both"):
        after = tgw.edit(both.after.save(tmp_path / "b.tgw")).save(tmp_path / "c.tgw")
    again = tgw.beside(before, after)
    assert again.pairs == given
    assert [pair.name for pair in again.difference.pairs if pair.evidence == "hand"] == [
        "tower/Relu"
    ]
    assert tgw.beside(before, after, pairs={}).pairs == {}
    assert tgw.beside(before, graph("tower")).pairs == {}
    both.pair("net/Relu", "tower/Add")
    both.unpair()
    both.unpair()
    path = both.after.save(tmp_path / "d.tgw")
    expected = given if by == "argument" else {}
    assert tgw.beside(tmp_path / "a.pb", path).pairs == expected
