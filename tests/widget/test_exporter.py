"""The current graph as a file in the kernel's folder, or as a download; nothing is replaced
unasked.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.slow import slow
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.exporter import Exporter, FileExists
from tfgraphwidget.widget.request_handler import RequestHandler


@pytest.fixture
def exporter(editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exporter:
    """The exporter of an editor on `mlp`, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    return Exporter(editor)


@pytest.mark.parametrize("mlp", [slow(False), True], ids=["ref", "resource"], indirect=True)
def test_every_format_is_written_and_downloaded_under_the_name_it_proposes(
    exporter: Exporter, tmp_path: Path
) -> None:
    editor = exporter._editor
    editor.mark("x:0", "net/logits:0")
    editor.rename("net/logits", "net/scores")
    formats = [one for one in exporter.formats() if "pip install" not in one.refused]
    assert {one.kind for one in formats} >= {
        "saved_model",
        "frozen",
        "meta",
        "script",
        "edits",
        "page",
        "svg",
        "png",
    }
    assert not any(one.refused for one in formats)
    for one in formats:
        saved = exporter.save(one.kind, one.name)
        assert saved.path == tmp_path / one.name
        assert saved.relative == (one.name if one.opens else "")
        assert saved.about.startswith(f"Saved as {one.name}, ")
        name, data, about = exporter.download(one.kind)
        assert about.startswith(f"Downloaded {name}, ")
        if one.kind in {"saved_model", "meta"}:
            assert name == "graph.zip"
            files = set(zipfile.ZipFile(io.BytesIO(data)).namelist())
            assert files & {"graph/saved_model.pb", "graph.meta"}
            assert len(files) > 1
        else:
            assert name == one.name
            assert data
    assert "net/scores" in tgw.edit("graph/")._core.index.ids


def test_a_download_has_the_name_that_was_typed_and_is_no_path(
    exporter: Exporter, tmp_path: Path
) -> None:
    handler = RequestHandler(exporter._editor)
    for typed, name in (("net.pbtxt", "net.pbtxt"), ("../mine", "mine.pbtxt"), ("", "graph.pbtxt")):
        reply, (data,) = handler.handle(p.Download("text", name=typed))
        assert isinstance(reply, p.DownloadReply)
        assert (reply.name, data[:4]) == (name, b"node")
    with pytest.raises(GraphEditError, match=r"'net\.pb' ends in \.pb"):
        handler.handle(p.Download("text", name="net.pb"))
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_the_visible_part_is_saved(exporter: Exporter, tmp_path: Path) -> None:
    handler, colors = RequestHandler(exporter._editor), ("#ffffff", "#000000")
    handler.handle(p.Export("svg", "part.svg", colors=colors, area=(0.0, 0.0, 50.0, 40.0)))
    assert 'viewBox="0 0 50 40"' in (tmp_path / "part.svg").read_text()
    with pytest.raises(GraphEditError, match="left, top, width and height"):
        handler.handle(p.Export("svg", "none.svg", colors=colors, area=(0.0, 0.0, 0.0, 40.0)))
    assert not (tmp_path / "none.svg").exists()


def test_what_is_there_is_replaced_only_when_asked(exporter: Exporter, tmp_path: Path) -> None:
    (tmp_path / "graph.pb").write_text("mine")
    with pytest.raises(FileExists, match=r"A file 'graph\.pb' is there already"):
        exporter.save("graph", "graph.pb")
    handler = RequestHandler(exporter._editor)
    reply, _ = handler.handle(p.Export("graph", "graph.pb"))
    assert isinstance(reply, p.ExportReply)
    assert "is there already" in reply.exists
    assert (tmp_path / "graph.pb").read_text() == "mine"
    reply, _ = handler.handle(p.Export("graph", "graph.pb", replace=True))
    assert isinstance(reply, p.ExportReply)
    assert reply.exists == ""
    assert "x" in tgw.edit(reply.path)._core.index.ids


@pytest.mark.parametrize("name", ["", "sub/", "nowhere/g.pb", "..", "a\0", "g.meta"])
def test_a_name_that_cannot_be_is_refused_in_words(
    exporter: Exporter, tmp_path: Path, name: str
) -> None:
    with pytest.raises(GraphEditError):
        exporter.save("graph", name)
    assert list(tmp_path.iterdir()) == []


def test_a_stripped_graph_is_frozen_without_marking_its_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", [2, 2], use_resource=True)
        y = tf.matmul(x, w, name="y")
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y), name="step")
        session = v1.Session()
        session.run(v1.global_variables_initializer())
    editor = tgw.edit(graph, session=session)
    exporter = Exporter(editor)
    editor.passes.strip_training("y:0")
    frozen = next(one for one in exporter.formats() if one.kind == "frozen")
    assert (frozen.refused, frozen.about) == (
        "",
        "The ops that y needs, with constants in place of variables.",
    )
    saved = exporter.save("frozen", frozen.name)
    assert (
        set(tgw.edit(saved.path)._core.index.types) & {"VarHandleOp", "ApplyGradientDescent"}
        == set()
    )
    assert "y" in tgw.edit(saved.path)._core.index.ids


def test_formats_come_with_their_folder(exporter: Exporter, tmp_path: Path) -> None:
    reply, _ = RequestHandler(exporter._editor).handle(p.ListFormats())
    assert isinstance(reply, p.Formats)
    assert reply.folder == str(tmp_path)
    assert [(one.kind, one.refused) for one in reply.formats if one.group == "Edits"] == [
        ("editor", ""),
        ("script", "there are no edits yet"),
        ("edits", "there are no edits yet"),
    ]


def test_the_outputs_that_are_guessed_are_shown_with_the_signature_and_can_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.relu(tf.matmul(x, tf.ones([2, 2]), name="scores"), name="y")
        tf.negative(x, name="z")
    exporter = Exporter(tgw.edit(graph, session=v1.Session(graph=graph)))
    formats = {one.kind: one for one in exporter.formats()}
    assert {
        kind for kind, one in formats.items() if "outputs" in [o.name for o in one.options]
    } == {
        "saved_model",
        "frozen",
        "tflite",
        "onnx",
    }
    one = formats["saved_model"]
    assert (one.refused, one.options[0].choices) == ("", ("y, z",))
    assert "its signature serving_default (x → y, z)" in one.about
    for chosen, ends in (("y, z", {"y:0", "z:0"}), (" scores ", {"scores:0"})):
        saved = exporter.save("saved_model", one.name, replace=True, options=(("outputs", chosen),))
        (signature,) = tgw.edit(saved.path).signatures.values()
        assert {tensor for _, tensor in signature.outputs} == ends
    saved = exporter.save("frozen", "part.pb", options=(("outputs", "scores"),))
    assert "y" not in tgw.edit(saved.path)._core.index.ids
    with pytest.raises(GraphEditError, match="nothing"):
        exporter.save("frozen", "other.pb", options=(("outputs", "nothing"),))


@pytest.mark.parametrize("is_file", [True, False], ids=["meta", "live"])
def test_what_needs_values_that_are_not_there_is_listed_with_the_reason(
    tmp_path: Path, is_file: bool
) -> None:
    v1, path = tf.compat.v1, tmp_path / "graph.meta"
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", [2, 2], use_resource=True)
        v1.train.export_meta_graph(str(path))
    formats = Exporter(tgw.edit(path if is_file else graph)).formats()
    assert formats[0].refused == ""
    refused = {one.kind: one.refused for one in formats if one.group == "Model" and one.refused}
    assert refused.keys() == {"saved_model", "frozen", "tflite", "onnx"}
    why = "no checkpoint beside the file" if is_file else "opened without the session"
    assert all(why in each for each in refused.values())


def test_a_graph_without_ops_is_refused_for_every_kind_of_model(tmp_path: Path) -> None:
    exporter = Exporter(tgw.edit(tf.Graph()), tmp_path / "graph.pb")
    models = [one for one in exporter.formats() if one.group == "Model"]
    assert {one.refused for one in models} == {"the graph has no ops"}
    for one in models:
        with pytest.raises(GraphEditError):
            exporter.save(one.kind, f"copy{one.suffix}")
    assert [*tmp_path.iterdir()] == []


def test_a_graph_without_a_result_has_a_list_of_formats(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0)
        tf.constant(2.0)
    exporter = Exporter(tgw.edit(graph), tmp_path / "graph.pb")
    refused = {one.kind: one.refused for one in exporter.formats() if one.refused}
    assert refused["frozen"] == "mark its outputs in the drawing first"
    assert exporter.save("graph", "copy.pb").path == tmp_path / "copy.pb"
    with pytest.raises(GraphEditError, match=r"name them|[Nn]o ops|outputs"):
        exporter.save("frozen", "frozen.pb")


def test_the_form_offers_the_tags_of_a_saved_model(exporter: Exporter) -> None:
    exporter._editor.mark("x:0", "net/logits:0")
    (kind,) = (one for one in exporter.formats() if one.kind == "saved_model")
    (option,) = kind.options
    for tag, loaded in (("", "serve"), *((choice, choice) for choice in option.choices[1:])):
        saved = exporter.save("saved_model", f"saved{tag}", options=[(option.name, tag)])
        with tf.compat.v1.Session(graph=tf.Graph()) as session:
            assert tf.compat.v1.saved_model.load(session, [loaded], str(saved.path)).signature_def
