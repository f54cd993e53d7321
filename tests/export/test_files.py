"""What is written for other tools, how big it may be, and that nothing is left half done."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.sources.conftest import node
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats import graph_def as graph_defs
from tfgraphwidget.export.formats import graph_def as sizes
from tfgraphwidget.graph import dot
from tfgraphwidget.graph.index import build


def graph_def(*nodes: v1.NodeDef) -> v1.GraphDef:
    """A file's graph."""
    return v1.GraphDef(node=nodes)


def braces(text: str) -> str:
    """What a dot file says outside of its strings."""
    return re.sub(r'"(\\.|[^"\\])*"', "S", text)


def test_a_dot_file_has_a_cluster_for_each_scope_and_an_edge_for_each_input(
    editor: GraphEditor, tmp_path: Path
) -> None:
    text = editor.save(tmp_path / "g.dot").read_text()
    assert text.count("{") == text.count("}")
    assert braces(text).count("subgraph S {") == len(editor._core.index.scopes.names) - 1
    assert braces(text).count("->") == len(editor._core.index.sources.to)
    assert '    "net/one/out" [label="out\\nRelu", tooltip="net/one/out"];' in text.replace(
        "      ", "    "
    )
    assert (
        '"net/one/out" -> "net/two/MatMul" [label="float32 (None, 4)", '
        'edgetooltip="net/one/out:0"];' in text
    )


def test_in_a_dot_file_names_mean_nothing() -> None:
    index = build(
        [node('a"b\\', "NoOp"), node("];}\n//", "NoOp", '^a"b\\'), node("c", "Two", "c:1")]
    )
    text = dot.text(index)
    assert '"a\\"b\\\\" [label="a\\"b\\\\\\nNoOp"' in text
    assert '"a\\"b\\\\" -> "];}\\n//" [style=dashed];' in text
    assert braces(text).count("{") == braces(text).count("}")
    assert text == dot.text(index)


def test_a_graphml_file_reads_back_as_the_same_graph(editor: GraphEditor, tmp_path: Path) -> None:
    read = nx.read_graphml(editor.save(tmp_path / "g.graphml"), force_multigraph=True)
    ours = editor.to_networkx()
    assert list(read.nodes) == list(ours.nodes)
    assert sorted(read.edges()) == sorted(ours.edges())
    assert read.nodes["net/one/out"]["op"] == "Relu"
    (edge,) = read.get_edge_data("net/one/out", "net/two/MatMul").values()
    assert (edge["shape"], edge["slot"], edge["control"]) == ("(None, 4)", 0, False)
    held = [value for _, data in read.nodes(data=True) for value in data.values()]
    held += [value for *_, data in read.edges(data=True) for value in data.values()]
    assert {type(value) for value in held} <= {str, int, bool}


def test_a_graphml_file_holds_only_what_xml_may(tmp_path: Path) -> None:
    text = v1.AttrValue(s=b"a\x00b\x1b<&\xff")
    path = tgw.edit(graph_def(node("a", "NoOp", odd=text))).save(tmp_path / "g.graphml")
    ET.fromstring(path.read_text())
    assert nx.read_graphml(path).nodes["a"]["attr.odd"] == "a\\x00b\\x1b<&\\xff"


def test_the_code_is_a_script(editor: GraphEditor, tmp_path: Path) -> None:
    editor.clone("x:0", "net/logits:0")
    text = editor.save(tmp_path / "edits.py").read_text()
    compile(text, "edits.py", "exec")
    assert "editor.clone(" in text


def test_a_file_that_was_not_imported_is_written_as_it_is(line: tf.Graph, tmp_path: Path) -> None:
    whole = line.as_graph_def()
    whole.node.append(node("odd", "NobodyKnowsThis", "c"))
    editor = tgw.edit(whole)
    written = editor.save(tmp_path / "g.pb").read_bytes()
    assert written == whole.SerializeToString(deterministic=True)
    assert editor._core.source.graph is None
    assert tgw.edit(tmp_path / "g.pb").save(tmp_path / "h.pb").read_bytes() == written


def test_what_is_over_2_gb_is_foreseen_by_the_name_of_the_constants(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [1000], name="x")
        big = tf.constant(np.arange(1000, dtype=np.float32), name="big")
        w = v1.get_variable("w", initializer=np.arange(1000, dtype=np.float32), use_resource=True)
        tf.identity(x + big + w, name="y")
        init = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(init)
        editor = tgw.edit(graph, session=session)
        monkeypatch.setattr(sizes, "LARGEST", 6_000)
        with pytest.raises(
            GraphEditError, match=r"The GraphDef would be .* 'big' .* a SavedModel or a '\.meta'"
        ) as e:
            editor.save(tmp_path / "g.pb")
        assert "big" in e.value.ops
        with pytest.raises(
            GraphEditError,
            match=r"The frozen graph would be .* 'w' \(\d\.\d kB\).* in files of their own",
        ):
            editor.save(tmp_path / "g.pb", outputs="y", frozen=True)
        with pytest.raises(
            GraphEditError, match=r"The MetaGraphDef would be .* make variables of these constants"
        ):
            editor.save(tmp_path / "g.meta")
        with pytest.raises(GraphEditError, match="The graph of the SavedModel would be"):
            editor.save(tmp_path / "sm", "x", "y")
        monkeypatch.setattr(sizes, "LARGEST", 11_000)
        editor.save(tmp_path / "sm", "x", "y")  # the variable's value is in a file of its own
    assert [path.name for path in tmp_path.iterdir()] == ["sm"]


@pytest.mark.parametrize("suffix", [".pb", ".pbtxt"])
def test_a_graph_def_that_does_not_read_back_is_not_written(
    line: tf.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tgw.edit(line).save(tmp_path / f"g{suffix}")
    old = path.read_bytes()
    monkeypatch.setattr(graph_defs, "read_graph_def", lambda _: graph_def())
    with pytest.raises(GraphEditError, match="does not read back"):
        tgw.edit(line).save(path)
    assert path.read_bytes() == old
    tgw.edit(line).save(path, verify=False)


@pytest.mark.parametrize("suffix", [".pb", ".pbtxt"])
def test_numbers_that_are_none_read_back_as_such(tmp_path: Path, suffix: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(np.float32(np.nan), name="nan")
        tf.constant(np.float64(0.1), name="tenth")
        tf.constant(b"\xff\x00", name="bytes")
    path = tgw.edit(graph).save(tmp_path / f"g{suffix}")
    with v1.Session(graph=tgw.edit(path).graph) as session:
        nan, tenth, text = session.run(["nan:0", "tenth:0", "bytes:0"])
    assert np.isnan(nan)
    assert (tenth, text) == (0.1, b"\xff\x00")


def test_names_that_no_file_can_have(line: tf.Graph, tmp_path: Path) -> None:
    for name in ("a\0b.pb", "x" * 300 + ".pb"):
        with pytest.raises(GraphEditError):
            tgw.edit(line).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_symbolic_link_to_a_model_is_followed(editor: GraphEditor, tmp_path: Path) -> None:
    editor.save(tmp_path / "v1", "x", "net/one/out")
    (tmp_path / "now").symlink_to("v1")
    editor.save(tmp_path / "now", "x", "net/logits")
    assert (tmp_path / "now").readlink() == Path("v1")
    assert tgw.edit(tmp_path / "v1").signatures["serving_default"].outputs == (
        ("logits", "net/logits:0"),
    )


def test_an_empty_graph_is_drawn_and_no_file_of_it_is_written_that_cannot_be_opened(
    tmp_path: Path,
) -> None:
    editor: Any = tgw.edit(tf.Graph())
    for name in ("g.dot", "g.graphml", "g.svg"):
        assert editor.save(tmp_path / name).exists()
    for name in ("g.pb", "g.pbtxt", "g.meta", "g.tgw"):
        with pytest.raises(
            GraphEditError,
            match=r"save\(.*The graph has no ops, and a file of it could not be opened",
        ):
            editor.save(tmp_path / name)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("is_file", [False, True])
def test_a_graph_whose_ops_are_all_removed_is_saved_as_an_editor_alone(
    tmp_path: Path, is_file: bool
) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
    editor = tgw.edit(graph.as_graph_def() if is_file else graph)
    editor.remove("c")
    with pytest.raises(
        GraphEditError, match=r"add some, or save the edits that removed them, in a '\.tgw' file"
    ):
        editor.save(tmp_path / "g.pb")
    again = tgw.edit(editor.save(tmp_path / "g.tgw"))
    assert list(again._core.index.names) == []
    again.undo()
    assert list(again._core.index.names) == ["c"]
