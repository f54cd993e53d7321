"""The page that `editor.save("view.html")` writes: what it carries, and that names cannot break out
of it.

`python -m tests.export.test_pages` writes the golden pages again, which vitest composes
(offline/page.test.ts).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import MODELS, build_mlp, v1
from tests.odd import GRAPHS, graph_def
from tests.pages import PageTables, unpack_page
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.editor.saving import page_input
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.html import page as pages
from tfgraphwidget.export.html.page_data import pack_page
from tfgraphwidget.graph import query
from tfgraphwidget.hierarchy import outline_of
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.sources import describe_op
from tfgraphwidget.widget.protocol import Search
from tfgraphwidget.widget.selection_requests import SelectionRequests, search
from tfgraphwidget.widget.untrusted_ops import effect_sentences

GOLDEN = Path(__file__).parents[1] / "golden" / "pages.json"


def here(data: bytes) -> PageTables:
    """The current graph, of packed data."""
    page, graphs = unpack_page(data)
    return graphs[page["path"][-1][1]]


def read(editor: GraphEditor) -> PageTables:
    """What a page of an editor would carry of the current graph."""
    return here(pack_page(page_input(editor._core)))


@pytest.fixture
def mlp_editor() -> GraphEditor:
    return tgw.edit(build_mlp(resource=True))


def test_each_container_is_drawn_once_and_as_it_is_seen(mlp_editor: GraphEditor) -> None:
    head, columns = read(mlp_editor)
    base = columns["inside_node"][columns["inside_saved"] == 0].tolist()
    assert sorted(base) == [node for node, ops in enumerate(columns["node_ops"].tolist()) if ops]
    saved = {
        head["nodes"][node]
        for node in columns["inside_node"][columns["inside_saved"] == 1].tolist()
    }
    assert saved == {"", *mlp_editor.view.expanded}


def test_every_op_stands_in_its_own_container(mlp_editor: GraphEditor) -> None:
    head, columns = read(mlp_editor)
    start, home = columns["inside_child"], columns["op_home"]
    for inside, (a, b) in enumerate(pairwise(start.tolist())):
        children = columns["child_is"][a:b]
        node = columns["inside_node"][inside]
        assert (home[-1 - children[children < 0]] == node).all()
        assert (columns["node_parent"][children[children >= 0]] == node).all()
    names = {head["names"][-1 - child] for child in columns["child_is"].tolist() if child < 0}
    names |= {head["names"][op] for op in columns["badge_op"].tolist()}
    assert names <= set(mlp_editor._core.index.names)


def test_of_each_op_it_knows_what_the_inspector_shows(mlp_editor: GraphEditor) -> None:
    head, columns = read(mlp_editor)
    index, text = mlp_editor._core.index, head["texts"]
    for op in range(len(index)):
        facts = describe_op(index, op)
        rows = range(columns["output_start"][op], columns["output_start"][op + 1])
        outputs = [
            (text[columns["output_dtype"][row]], text[columns["output_shape"][row]]) for row in rows
        ]
        assert outputs == [(out.dtype, out.shape) for out in facts.outputs]
        rows = range(columns["attribute_start"][op], columns["attribute_start"][op + 1])
        values = head["values"]
        report = [
            (text[columns["attribute_name"][row]], values[columns["attribute_value"][row]][0])
            for row in rows
        ]
        assert report == [(each.name, each.text) for each in facts.attributes]
        assert text[columns["op_type"][op]] == index.types[op]
        sources = columns["input_op"][columns["input_start"][op] : columns["input_start"][op + 1]]
        assert [head["names"][source] for source in sources] == [
            index.names[s] for s in index.input_lists[op]
        ]


def test_it_shows_the_selection_the_boundary_and_the_present_colours(
    mlp_editor: GraphEditor,
) -> None:
    mlp_editor.mark("x:0", "net/logits:0")
    mlp_editor.view.color_by("type")
    data = pack_page(page_input(mlp_editor._core))
    head, columns = here(data)
    assert mlp_editor.selection is not None
    assert [head["names"][op] for op in head["selected"]] == list(mlp_editor.selection.ops)
    assert (head["inputs"], head["outputs"]) == (["x:0"], ["net/logits:0"])
    assert unpack_page(data)[0]["color"] == "type"
    by = [legend["by"] for legend in head["legends"]]
    assert {"type", "dtype", "scope", "parameters"} <= set(by)
    assert columns[f"child_tint_{by.index('type')}"].any()


def test_reckoning_the_colours_changes_nothing_in_the_editor(mlp_editor: GraphEditor) -> None:
    mlp_editor.view.color_by("dtype")
    before = mlp_editor.view.legend
    pack_page(page_input(mlp_editor._core))
    assert mlp_editor.view.legend == before


def test_the_same_drawing_gives_the_same_bytes(mlp_editor: GraphEditor) -> None:
    assert pack_page(page_input(mlp_editor._core)) == pack_page(page_input(mlp_editor._core))


@pytest.mark.parametrize(
    "name", sorted({*GRAPHS} - {"ten thousand in a row", "an op with 5,000 inputs"})
)
@pytest.mark.sample(3)
def test_an_odd_graph_becomes_a_page_that_its_names_cannot_break(name: str, tmp_path: Path) -> None:
    editor = tgw.edit(tf.Graph() if name == "nothing" else GRAPHS[name]())
    text = editor.save(tmp_path / "view.html").read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script") == 2
    assert text.count("<!--") == 0
    data = base64.b64decode(
        re.findall(r'id="tfgraphwidget-data">\n(.*?)\n</script>', text, re.DOTALL)[0]
    )
    assert here(data).head["names"] == list(editor._core.index.names)


def test_the_title_is_text(tmp_path: Path) -> None:
    file = tmp_path / '<img src=x onerror=alert(1)>";.pb'
    file.write_bytes(
        graph_def([("</script><script>alert(2)</script>", "Placeholder", ())]).SerializeToString()
    )
    text = tgw.edit(file).save(tmp_path / "view.html").read_text(encoding="utf-8")
    assert "<img" not in text
    assert "alert(2)" not in text
    assert "&lt;img src=x" in text


def test_the_policy_lets_only_its_own_script_run(mlp_editor: GraphEditor, tmp_path: Path) -> None:
    text = mlp_editor.save(tmp_path / "view.html").read_text(encoding="utf-8")
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in text
    assert "unsafe-eval" not in text
    assert re.search(r"""(src|href)=["']?(https?:)?//""", text) is None


def test_large_graphs_leave_out_what_takes_minutes_and_say_so(
    monkeypatch: pytest.MonkeyPatch, mlp_editor: GraphEditor
) -> None:
    monkeypatch.setattr("tfgraphwidget.export.html.page_data._MOST_INFERRED", 3)
    monkeypatch.setattr("tfgraphwidget.export.html.page_data._MOST_WITH_ATTRIBUTES", 3)
    head, columns = read(mlp_editor)
    assert [notice.split(":")[0] for notice in head["notices"][-2:]] == [
        (
            "This page does not have the shapes of "
            f"{len(set(np.flatnonzero(np.diff(columns['output_start'])))):,} ops"
        ),
        "This page has no attributes",
    ]
    assert len(columns["attribute_value"]) == 0


def test_hidden_ops_are_not_drawn(mlp_editor: GraphEditor) -> None:
    mlp_editor.view.hide("x")
    head, columns = read(mlp_editor)
    assert head["names"].index("x") not in (-1 - columns["child_is"]).tolist()
    assert head["hidden"] == 1


def test_a_failure_leaves_the_old_page(
    mlp_editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "view.html"
    file.write_text("old")
    monkeypatch.setattr(pages, "_BUNDLE", tmp_path / "nowhere.js")
    with pytest.raises(GraphEditError, match="bundle has not been built"):
        mlp_editor.save(file)
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["view.html"]


def test_saving_a_page_warns_of_nothing_and_edits_nothing(
    mlp_editor: GraphEditor, tmp_path: Path
) -> None:
    before = mlp_editor._core.index
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mlp_editor.save(tmp_path / "VIEW.HTML")
    assert mlp_editor._core.index is before
    assert (tmp_path / "VIEW.HTML").is_file()


def test_today_s_pages_have_the_golden_form() -> None:
    for golden, (_, editor) in zip(json.loads(GOLDEN.read_text()), made(), strict=True):
        was, now = (
            unpack_page(base64.b64decode(golden["data"])),
            unpack_page(pack_page(page_input(editor._core))),
        )
        assert sorted(was[0]) == sorted(now[0])
        for (old, _), (new, _) in zip(was[1], now[1], strict=True):
            assert sorted(old) == sorted(new)
            assert [field[:2] for field in old["fields"]] == [field[:2] for field in new["fields"]]


@tf.function(input_signature=[tf.TensorSpec([None, 3])])
def called(x: Any) -> Any:
    """Calls a function from two places, with a loop in it."""
    with tf.name_scope("twice"):
        doubled = tf.tanh(tf.nn.relu(2.0 * x) + 1.0)
    return repeated(x, tf.constant(0.5)) + repeated(doubled, tf.constant(0.25))


@tf.function(autograph=False)
def repeated(x: Any, step: Any) -> Any:
    """A loop."""
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.nn.relu(y) - step), [0, x])[1]


def test_functions_are_entered_through_the_ops_that_call_them() -> None:
    editor = tgw.edit(called)
    page, graphs = unpack_page(pack_page(page_input(editor._core)))
    assert page["path"] == [["tf.function 'called'", 0]]
    first = graphs[0].head
    calls = [
        (first["names"][op], name, graph)
        for op, _, name, _, graph, _, _ in first["called_functions"]
    ]
    assert len(calls) == 2
    for op, name, graph in calls:
        editor.view.enter(op)
        assert graphs[graph].head["names"] == list(editor._core.index.names)
        assert graphs[graph].head["opened"] == sorted(editor._core.view.view_spec.opened)
        assert name in editor._core.view.body.functions()
        loops = [
            (graphs[graph].head["names"][op], label)
            for op, label, *_ in graphs[graph].head["called_functions"]
        ]
        assert loops == [("while", "body"), ("while", "cond")]
        editor.view.leave()
    assert first["called_functions"][0][6] == [
        ["argument", "x", "float32 (None, 3)"],
        ["argument", "step", "float32 ()"],
    ] + [line for line in first["called_functions"][0][6] if line[0] == "result"]


def test_a_body_that_is_called_alike_from_two_places_is_there_once() -> None:
    @tf.function(input_signature=[tf.TensorSpec([3])])
    def both(x: Any) -> Any:
        return inner(x) + inner(x * 2.0)

    @tf.function
    def inner(x: Any) -> Any:
        return tf.nn.relu(x)

    _, graphs = unpack_page(pack_page(page_input(tgw.edit(both)._core)))
    assert [len(graph.head["called_functions"]) for graph in graphs] == [2, 0]
    assert {entry[4] for entry in graphs[0].head["called_functions"]} == {1}


def inside_of_called() -> tuple[GraphEditor, str]:
    """An editor that stands in the function that `called` calls, and the op that leads there."""
    editor = tgw.edit(called)
    call = editor.ops(where=lambda op: op.type.endswith("PartitionedCall")).ops[0]
    editor.view.enter(call)
    return editor, call


def test_where_one_stands_in_a_function_the_rooms_around_are_there() -> None:
    editor, call = inside_of_called()
    editor.view.enter("while", "body")
    editor.view.expand()
    page, graphs = unpack_page(pack_page(page_input(editor._core)))
    assert [title for title, _ in page["path"]] == ["tf.function 'called'", call, "while:body"]
    assert [graphs[graph].head["names"] for _, graph in page["path"]][-1] == list(
        editor._core.index.names
    )
    outer = next(entry for entry in graphs[1].head["called_functions"] if entry[1] == "body")
    assert outer[4] == page["path"][2][1]


def test_an_edited_body_is_shown_as_it_is_now() -> None:
    editor, call = inside_of_called()
    editor.rename("x", "renamed")
    editor.view.leave()
    _, graphs = unpack_page(pack_page(page_input(editor._core)))
    called_graph = next(
        entry[4]
        for entry in graphs[0].head["called_functions"]
        if graphs[0].head["names"][entry[0]] == call
    )
    assert "renamed" in graphs[called_graph].head["names"]


def test_a_body_for_which_there_is_no_room_is_left_out_and_its_call_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tfgraphwidget.export.html.function_pages._MOST_OPS", 20)
    _, graphs = unpack_page(pack_page(page_input(tgw.edit(called)._core)))
    calls = [entry for graph in graphs for entry in graph.head["called_functions"]]
    left = [entry for entry in calls if entry[4] < 0]
    assert 0 < len(left) < len(calls)
    assert all(" ops" in entry[5] and "tgw.edit" in entry[5] for entry in left)


def test_a_function_that_calls_itself_does_not_end_the_page() -> None:
    held = v1.GraphDef()
    function = held.library.function.add()
    function.signature.name = "again"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="y", type=1)
    function.node_def.add(name="more", op="again", input=["x"])
    function.ret["y"] = "more:y:0"
    held.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    held.node.add(name="call", op="again", input=["x"])
    _, graphs = unpack_page(pack_page(page_input(tgw.edit(held)._core)))
    assert [len(graph.head["called_functions"]) for graph in graphs] == [1, 1]
    assert graphs[1].head["called_functions"][0][4] == 1


def test_a_file_is_called_by_its_name_alone(tmp_path: Path) -> None:
    file = tmp_path / "net.pb"
    file.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    page = tgw.edit(file).save(tmp_path / "view.html").read_text(encoding="utf-8")
    data = base64.b64decode(
        re.findall(r'id="tfgraphwidget-data">\n(.*?)\n</script>', page, re.DOTALL)[0]
    )
    assert unpack_page(data)[0]["path"] == [["net.pb", 0]]
    assert str(tmp_path) not in page


def test_the_golden_queries_and_marks_are_answered_so_by_a_kernel() -> None:
    for golden, (_, editor) in zip(json.loads(GOLDEN.read_text()), made(), strict=True):
        assert golden["asked"] == asked(editor)
        assert golden["scopes_found"] == scopes_found(editor)
        assert golden["between"] == json.loads(json.dumps(between_marks(editor)))
        assert golden["marks"] == marks_of(editor)


def test_of_a_graph_that_is_not_trusted_it_knows_which_ops_do_more_than_compute() -> None:
    editor = tgw.edit(writing())
    page, graphs = unpack_page(pack_page(page_input(editor._core)))
    assert page["path"] == [["GraphDef", 0]]
    found = {
        graphs[0].head["names"][op]: (bits, sentences)
        for op, bits, sentences in graphs[0].head["effects"]
    }
    calls = [
        name for name in editor._core.index.names if name.startswith("StatefulPartitionedCall")
    ]
    assert [bits for bits, _ in found.values()] == [1, 2, 2, 2]
    assert [*found] == ["log/read", "log/write", *calls]
    assert found["log/write"][1] == ["Op 'log/write' is of type WriteFile, which writes a file."]
    assert [
        [graph.head["names"][op] for op, _, _ in graph.head["effects"]] for graph in graphs[1:]
    ] == [["WriteFile"]]
    editor.source.trusted = True
    assert all(
        graph.head["effects"] == [] for graph in unpack_page(pack_page(page_input(editor._core)))[1]
    )


QUERIES = (
    (Path(__file__).parents[1] / "golden" / "queries.txt").read_text(encoding="utf-8").splitlines()
)


def asked(editor: GraphEditor) -> dict[str, list[int] | None]:
    """The ops that queries mean to a kernel; None for what is not a query."""
    answers = {text: query.search(editor._core.index, text) for text in QUERIES}
    return {text: None if answer.why else answer.ops for text, answer in answers.items()}


def scopes_found(editor: GraphEditor) -> dict[str, list[list[Any]]]:
    """Each query that means name scopes, with their names and how many ops they hold."""
    replies = {text: search(editor, Search(text)).name_scopes for text in QUERIES}
    return {text: [[s.name, s.ops] for s in scopes] for text, scopes in replies.items() if scopes}


@tf.function
def keeping(x: Any) -> Any:
    """Writes its argument into a file."""
    tf.io.write_file("kept", tf.strings.as_string(x))
    return x + 1.0


def writing() -> v1.GraphDef:
    """A graph that writes files in a scope and in a function that it calls twice, and reads one, if
    it runs.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.name_scope("log"):
            tf.io.write_file("log", tf.io.read_file("text", name="read"), name="write")
        with tf.name_scope("plain"):
            tf.nn.relu(x)
        tf.add(keeping(x), keeping(x), name="y")
    return graph.as_graph_def()


def pairs_of(editor: GraphEditor) -> list[tuple[str, str]]:
    """Some fourteen ops as input, the placeholders among them, each with as many others as
    output.
    """
    names, types = editor._core.index.names, editor._core.index.types
    some = list(names[:: max(1, len(names) // 14)])
    placeholders = [name for name, kind in zip(names, types, strict=True) if kind == "Placeholder"]
    return [(a, b) for a in dict.fromkeys([*placeholders, *some]) for b in some if a != b]


def between_marks(editor: GraphEditor) -> list[list[Any]]:
    """Of pairs of an input and an output, the ops that lie between for a kernel; None where there
    is no path.
    """
    return [[first, last, _between(editor, first, last)] for first, last in pairs_of(editor)]


def _between(editor: GraphEditor, first: str, last: str) -> list[int] | None:
    try:
        ops: list[int] = np.flatnonzero(editor.between(first, last).mask).tolist()
    except GraphEditError:
        return None
    return ops


def marks_of(editor: GraphEditor) -> dict[str, list[list[str]]]:
    """Of each drawn scope, and every 13th op, the tensors by which it is marked as input and as
    output; [] where it cannot be.
    """
    outline, _ = outline_of(editor._core.index)
    scopes = [f"{outline.names[node]}/" for node in np.flatnonzero(~outline.is_collapsed) if node]
    requests, found = SelectionRequests(editor), {}
    for name in [*scopes, *list(editor._core.index.names)[::13]]:
        found[name] = [_crossings(requests, side, name) for side in ("inputs", "outputs")]
    return found


def _crossings(requests: SelectionRequests, side: Any, name: str) -> list[str]:
    try:
        tensors = requests.crossings(side, name).tensors
    except GraphEditError:
        return []
    return sorted(f"{'!' if each.proposed else ''}{each.tensor}" for each in tensors)


def effect_sentences_of(editor: GraphEditor) -> dict[str, list[str]]:
    """The sentences of the inspector on each op and drawn scope that does more than compute."""
    outline, _ = outline_of(editor._core.index)
    scopes = [outline.names[node] for node in np.flatnonzero(~outline.is_collapsed) if node]
    names = [*editor._core.index.names, *(f"{scope}/" for scope in scopes)]
    inspected = {name: effect_sentences(editor, name) for name in names}
    return {name: list(sentences) for name, sentences in inspected.items() if sentences}


def made() -> list[tuple[str, GraphEditor]]:
    """The editors of the golden pages."""
    small = tgw.edit(build_mlp(resource=True))
    right = tgw.edit(build_mlp(resource=True))
    right.view.expand("net/one")
    right.view.direction = "right"
    trained = tgw.edit(MODELS / "dqn_online_train.meta")
    calls = tgw.edit(called)
    calls.view.collapse()
    strange = tgw.edit(writing())
    compared = tgw.edit(build_mlp(resource=True))
    relu = next(op for op in compared if compared.inspect(op).op_type == "Relu")
    compared.insert(f"{relu}:0", "Tanh")
    compared.rename("net/one", "net/first")
    compared.view.difference = compared.diff()
    return [
        ("mlp", small),
        ("mlp to the right", right),
        ("dqn", trained),
        ("not trusted", strange),
        ("compared", compared),
        ("calls", calls),
    ]


def golden_of(name: str, editor: GraphEditor) -> dict[str, Any]:
    """A golden page, and the editor's own drawing of the same."""
    scene = editor.view.scene()
    arrays = (
        "kind",
        "parent",
        "family",
        "aside",
        "count",
        "source",
        "target",
        "tensors",
        "loop",
        "route_start",
    )
    return {
        "name": name,
        "data": base64.b64encode(pack_page(page_input(editor._core))).decode(),
        "names": list(scene.names),
        "labels": list(scene.labels),
        **{array: getattr(scene, array).tolist() for array in arrays},
        "box": np.round(scene.box, 1).tolist(),
        "route": np.round(scene.route, 1).tolist(),
        "asked": asked(editor),
        "scopes_found": scopes_found(editor),
        "effects": editor._core.paint(scene).effects.tolist(),
        "effect_sentences": effect_sentences_of(editor),
        "between": between_marks(editor),
        "marks": marks_of(editor),
        "differs": scenes.mark_differences(scene, editor._core.evaluator.marks() or {}).tolist(),
    }


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps([golden_of(*one) for one in made()]) + "\n")
