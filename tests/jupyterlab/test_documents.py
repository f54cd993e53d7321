"""Documents of JupyterLab: found, opened, edited, saved, opened again with their edits."""

from __future__ import annotations

import gc
import json
import re
import signal
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import IPython
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised
from tests.slow import slow_if
from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.jupyterlab import documents
from tfgraphwidget.jupyterlab.comm_handler import CommHandler
from tfgraphwidget.widget import FileExists, exporter, save_formats

v1 = tf.compat.v1
ODD_NAMES = (
    'it\'s "quoted".pb',
    "two  spaces .pb",
    "größe 模型 🙂.pb",
    "line\nbreak.pb",
    "'); import os; os.remove('x') #.pb",
    "{path}%s$(x)`y`.pb",
)


@pytest.fixture(autouse=True)
def no_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test's kernel has opened nothing yet."""
    monkeypatch.setattr(documents, "_DOCUMENTS", {})
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)


@pytest.fixture
def frozen(tmp_path: Path, line: tf.Graph) -> Path:
    """The graph x -> a -> b -> c as a file."""
    path = tmp_path / "graph.pb"
    path.write_bytes(line.as_graph_def().SerializeToString())
    return path


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    """Two dense layers as a MetaGraphDef with its checkpoint; a folder of its name beside would
    hide that.
    """
    graph, folder = build_mlp(resource=True), tmp_path / "trained"
    folder.mkdir()
    with initialised(graph) as session, graph.as_default():
        v1.train.Saver().save(session, str(folder / "model"))
    return folder / "model.meta"


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    """A SavedModel of a module with one variable."""
    module = tf.Module()
    module.w = tf.Variable(3.0)
    module.f = tf.function(
        lambda x: {"y": x * module.w}, input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.f)
    return tmp_path / "model" / "saved_model.pb"


def open_at(path: Path, **kept: Any) -> documents.Document:
    """As the page asks: a path below the server's root."""
    return documents.open_document({"path": path.name, "root": str(path.parent), **kept})


def as_sent(report: dict[str, Any]) -> dict[str, Any]:
    """What has gone to the page and back."""
    sent: dict[str, Any] = json.loads(json.dumps(report))
    return sent


# Where a file lies


@pytest.mark.parametrize("path", ["none.pb", "a\0b.pb", "x" * 5000, "/", ""])
def test_a_path_that_is_nowhere_is_refused_in_one_sentence(tmp_path: Path, path: str) -> None:
    if path in {"", "/"}:
        with pytest.raises(NotAGraph, match="not a SavedModel"):
            documents.open_document({"path": path, "root": str(tmp_path)})
    else:
        with pytest.raises(UnknownName, match="not on a disk that this kernel can read"):
            documents.open_document({"path": path, "root": str(tmp_path)})


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(GraphEditError, match="path is not a text"):
        documents.open_document({"path": 3})


# Opening


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_is_data_whatever_it_holds(frozen: Path, name: str) -> None:
    odd = frozen.rename(frozen.parent / name)
    document = open_at(odd)
    assert document.path == odd
    assert document.title == name
    document.save({"kind": "text", "name": name + " 2"})
    assert (odd.parent / f"{name} 2.pbtxt").is_file()


def test_a_file_is_opened_once_and_again_when_asked(frozen: Path) -> None:
    document = open_at(frozen)
    assert open_at(frozen) is document
    document.editor.remove("c")
    again = open_at(frozen, again=True)
    assert again is not document
    assert not again.editor.history.done
    assert "c" in again.editor._core.index.ids


def test_a_file_that_is_opened_again_lets_go_of_its_old_graph(frozen: Path) -> None:
    document = open_at(frozen)
    assert document.editor.view.widget.comm is not None
    graph = weakref.ref(document.editor.graph)
    editor = weakref.ref(document.editor)
    del document
    open_at(frozen, again=True)
    gc.collect()
    assert (editor(), graph()) == (None, None)


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The kernel's variables."""
    names: dict[str, Any] = {}
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(user_ns=names))
    return names


def test_a_documents_editor_is_the_variable_editor_and_follows_the_file(
    frozen: Path, meta: Path, variables: dict[str, Any]
) -> None:
    assert open_at(frozen).editor is variables["editor"]
    assert open_at(frozen, again=True).editor is variables["editor"]
    assert open_at(meta).editor is variables["editor"]


@pytest.mark.parametrize(
    "make", [lambda: None, lambda: "vim", tgw.example], ids=["None", "a text", "an editor"]
)
def test_a_variable_editor_of_ones_own_stays(
    frozen: Path, variables: dict[str, Any], make: Any
) -> None:
    variables["editor"] = mine = make()
    open_at(frozen)
    open_at(frozen, again=True)
    assert variables["editor"] is mine


def test_a_meta_graph_comes_with_the_checkpoint_of_its_name(meta: Path) -> None:
    assert open_at(meta).editor._core.executor.default_init() == "current"
    for file in meta.parent.glob("model.*-*"):
        file.unlink()
    (meta.parent / "model.index").unlink()
    assert open_at(meta, again=True).editor._core.executor.default_init() == "initial"


def test_a_saved_model_is_called_by_its_folder(saved_model: Path) -> None:
    document = open_at(saved_model)
    assert document.title == "model"
    assert document.exporter.folder == saved_model.parents[1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\x00\xff broken", "is not a GraphDef"),
        (b"%PDF-1.4 something else", "is not a GraphDef"),
    ],
)
def test_a_file_that_is_no_graph_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes, why: str
) -> None:
    (tmp_path / "g.pb").write_bytes(content)
    with pytest.raises(GraphEditError) as refused:
        open_at(tmp_path / "g.pb")
    assert why in refused.value.why
    assert "g.pb" in refused.value.why
    assert "\n" not in refused.value.why


# What the page keeps


def test_each_edit_is_reported_once_and_looking_is_not(frozen: Path) -> None:
    document, report = open_at(frozen), []
    document.follow(report.append)
    document.editor.mark("a:0", "b:0")
    assert report == []
    document.editor.bypass("b")
    document.editor.undo()
    document.editor.redo()
    assert [(one["dirty"], one["count"]) for one in report] == [(True, 1), (False, 0), (True, 1)]
    assert "bypass" in report[0]["line"]
    document.unfollow(report.append)
    document.editor.undo()
    assert len(report) == 3


def test_edits_are_done_again_after_a_restart(frozen: Path) -> None:
    before = open_at(frozen)
    before.editor.bypass("b")
    before.editor.remove("c")
    kept = as_sent(before.status())
    documents._DOCUMENTS.clear()
    after = open_at(frozen, edits=kept["edits"], stamp=kept["stamp"])
    assert after.editor.history.lines == before.editor.history.lines
    assert after.status() == before.status()
    assert after.notice == ""
    after.editor.history.goto(0)
    assert not after.status()["dirty"]


def test_edits_of_another_file_are_not_done(frozen: Path) -> None:
    before = open_at(frozen)
    before.editor.bypass("b")
    kept = as_sent(before.status())
    documents._DOCUMENTS.clear()
    frozen.write_bytes(frozen.read_bytes() + b"\x22\x02\x08\x01")  # the versions again
    after = open_at(frozen, edits=kept["edits"], stamp=kept["stamp"])
    assert not after.editor.history.done
    assert (
        after.notice
        == "graph.pb has changed on disk since, so 1 edit of last time was not done again."
    )


def test_only_the_page_that_gave_edits_learns_that_they_were_not_done(frozen: Path) -> None:
    before = open_at(frozen)
    before.editor.bypass("b")
    kept = as_sent(before.status())
    documents._DOCUMENTS.clear()
    frozen.write_bytes(frozen.read_bytes() + b"\x22\x02\x08\x01")
    after = open_at(frozen, edits=kept["edits"], stamp=kept["stamp"])
    assert after.notice
    assert open_at(frozen) is after  # a page that is reloaded, or another one
    assert after.notice == ""


def test_edits_that_a_page_lets_one_download_can_be_done(frozen: Path, tmp_path: Path) -> None:
    before = open_at(frozen)
    before.editor.bypass("b")
    file = tmp_path / "graph.pb.edits.json"
    file.write_text(json.dumps(as_sent(before.status())["edits"]))
    again = tgw.edit(frozen)
    assert again.history.replay(file) == 1
    assert again.history.lines == before.editor.history.lines


def test_a_file_that_is_renamed_goes_on_under_its_new_name(frozen: Path) -> None:
    document = open_at(frozen)
    document.editor.remove("c")
    stamp = document.status()["stamp"]
    (frozen.parent / "below").mkdir()
    moved = frozen.rename(frozen.parent / "below" / "other.pb")
    with pytest.raises(UnknownName):
        document.move({"path": "nowhere.pb", "root": str(frozen.parent)})
    assert document.title == "graph.pb"
    document.move({"path": "below/other.pb", "root": str(frozen.parent)})
    # Another page says so too.
    document.move({"path": "below/other.pb", "root": str(frozen.parent)})
    report = document.status()
    assert (report["title"], report["count"], report["stamp"]) == ("other.pb", 1, stamp)
    assert document.exporter.folder == moved.parent
    assert (
        documents.open_document({"path": "below/other.pb", "root": str(frozen.parent)}) is document
    )
    assert document.save({"kind": "graph", "name": "edited.pb"})["path"] == str(
        moved.parent / "edited.pb"
    )
    assert f'tgw.edit("{moved}")' in document.editor.history.to_script().text


def test_edits_that_cannot_be_done_again_leave_the_file_open_and_a_sentence(frozen: Path) -> None:
    before = open_at(frozen)
    before.editor.bypass("b")
    kept = as_sent(before.status())
    documents._DOCUMENTS.clear()
    edits = json.loads(json.dumps(kept["edits"]).replace('"b"', '"gone"'))
    after = open_at(frozen, edits=edits, stamp=kept["stamp"])
    assert not after.editor.history.done
    assert after.notice.startswith("1 edit of last time was not done again: ")
    assert open_at(frozen, again=True, edits=[{"command": "__import__('os')"}]).notice


def test_an_edit_that_no_file_can_hold_is_reported(frozen: Path) -> None:
    document = open_at(frozen)
    document.editor.insert("a:0", lambda t: t + 1)
    report = document.status()
    assert report["edits"] is None
    assert "function" in report["lost"]
    assert report["dirty"]


# Saving


def test_the_kinds_begin_with_the_files_own(frozen: Path, meta: Path, saved_model: Path) -> None:
    for path, first in ((frozen, "graph"), (meta, "meta"), (saved_model, "saved_model")):
        report = open_at(path).kinds()
        assert report["kinds"][0]["kind"] == first
        assert report["kinds"][0]["name"] in {f"{path.stem}_edited{path.suffix}", "model_edited/"}
        names = {kind["name"] for kind in report["kinds"]}
        assert not any((Path(report["folder"]) / name).exists() for name in names)


def test_kinds_that_the_source_does_not_allow_say_why(meta: Path) -> None:
    for file in meta.parent.glob("model.*[!a]"):
        file.unlink()
    document = open_at(meta)
    report = {kind["kind"]: kind for kind in document.kinds()["kinds"]}
    assert all("no checkpoint" in report[kind]["refused"] for kind in ("saved_model", "frozen"))
    assert all("no edits" in report[kind]["refused"] for kind in ("script", "edits"))
    assert not any(report[kind]["refused"] for kind in ("graph", "text", "meta", "svg"))
    assert "without a checkpoint" in report["meta"]["about"]
    about = document.save({"kind": "meta", "name": report["meta"]["name"]})["about"]
    assert "no values here" in about
    assert sorted(file.name for file in meta.parent.glob("model*")) == [
        "model.meta",
        "model_edited.meta",
    ]


def test_the_outputs_that_a_kind_would_keep_are_proposed_until_some_are_marked(
    frozen: Path,
) -> None:
    document = open_at(frozen)

    def models() -> list[dict[str, Any]]:
        return [kind for kind in document.kinds()["kinds"] if kind["group"] == "Model"]

    def options() -> set[str]:
        return {option["name"] for kind in models() for option in kind["options"]}

    assert not any(kind["refused"] for kind in models() if "pip install" not in kind["refused"])
    assert "outputs" in options()
    document.editor.mark("x:0", "b:0")
    assert not any(kind["refused"] for kind in models() if "pip install" not in kind["refused"])
    assert "outputs" not in options()


@pytest.mark.parametrize(
    "kind", slow_if({"tflite", "onnx"}.__contains__, [kind.kind for kind in save_formats._ALL])
)
@pytest.mark.sample(4)
def test_every_kind_is_written_under_the_name_it_proposes(meta: Path, kind: str) -> None:
    document = open_at(meta)
    document.editor.mark("x:0", "net/logits:0")
    document.editor.set_attr("x", "shape", [2, 3])
    report = {one["kind"]: one for one in document.kinds()["kinds"]}
    reply = document.save({"kind": kind, "name": report[kind]["name"]})
    assert Path(reply["path"]).exists()
    ending = "frozen" if kind == "frozen" else "edited"
    name = f"model_{ending}{save_formats.find_save_format(kind).suffix}"
    assert reply["about"].startswith(f"Saved as {name}, ")
    assert document.status()["dirty"] is not report[kind]["keeps"]
    if kind in {"saved_model", "frozen", "graph", "text", "meta"}:
        assert tgw.edit(reply["path"])._core.index.names


def test_nothing_is_overwritten_without_being_asked(frozen: Path) -> None:
    document, content = open_at(frozen), frozen.read_bytes()
    document.editor.remove("c")
    with pytest.raises(FileExists, match=r"A file 'graph\.pb' is there already"):
        document.save({"kind": "graph", "name": "graph.pb"})
    with pytest.raises(FileExists):
        document.save({"kind": "graph", "name": "graph", "replace": "yes"})
    assert frozen.read_bytes() == content
    document.save({"kind": "graph", "name": "graph.pb", "replace": True})
    assert "c" not in tgw.edit(frozen)._core.index.ids


def test_edits_in_the_file_itself_are_not_done_twice(frozen: Path) -> None:
    document = open_at(frozen)
    document.editor.remove("c")
    document.save({"kind": "graph", "name": "graph.pb", "replace": True})
    assert not document.status()["dirty"]
    document.editor.bypass("a")
    kept = as_sent(document.status())
    assert len(kept["edits"]) == 1
    documents._DOCUMENTS.clear()
    after = open_at(frozen, edits=kept["edits"], stamp=kept["stamp"])
    assert after.notice == ""
    assert len(after.editor.history.done) == 1
    document.editor.history.goto(0)
    assert document.status()["edits"] is None
    assert "save again" in document.status()["lost"]


def test_the_file_that_is_edited_does_not_become_a_frozen_part_of_itself(frozen: Path) -> None:
    """The edits that are done since could not be done again on what is left in it."""
    document, content = open_at(frozen), frozen.read_bytes()
    document.editor.mark("x:0", "b:0")
    for name in ("graph.pb", "graph", "./graph.pb"):
        with pytest.raises(
            GraphEditError,
            match=r"^graph\.pb is the graph that is edited here.*give another name\.$",
        ):
            document.save({"kind": "frozen", "name": name, "replace": True})
    assert frozen.read_bytes() == content
    assert document.save({"kind": "frozen", "name": "part"})["name"] == "part.pb"


def test_a_saved_models_own_folder_can_be_replaced(saved_model: Path) -> None:
    document = open_at(saved_model)
    with pytest.raises(FileExists, match="The folder 'model' is there already"):
        document.save({"kind": "saved_model", "name": "model/"})
    document.save({"kind": "saved_model", "name": "model/", "replace": True})
    assert tf.saved_model.load(str(saved_model.parent)).signatures


def test_what_is_saved_next_to_a_saved_model_is_found_from_its_folder(saved_model: Path) -> None:
    document = open_at(saved_model)
    saved = document.save({"kind": "graph", "name": "beside.pb"})
    assert saved["about"].startswith("Saved as beside.pb, ")
    assert saved["relative"] == "../beside.pb"
    assert (saved_model.parent / saved["relative"]).is_file()


def test_a_folder_of_jupyterlab_is_named_from_the_folder_on_that_names_are_relative_to(
    frozen: Path, saved_model: Path
) -> None:
    (saved_model.parent.parent / "models").mkdir()
    root = str(saved_model.parents[2])
    for document in (open_at(frozen), open_at(saved_model)):
        chosen = {"path": f"{saved_model.parents[1].name}/models", "root": root}
        assert document.locate(chosen) == "models"
    with pytest.raises(UnknownName, match="not on a disk that this kernel can read"):
        document.locate({"path": "nowhere", "root": root})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "x\0y",
        "sub/",
        "nowhere/g.pb",
        ".",
        "..",
        "./..",
        "~no one is called so/g.pb",
        "a\ud800",
    ],
)
def test_a_name_that_cannot_be_is_refused(frozen: Path, name: str) -> None:
    with pytest.raises(GraphEditError):
        open_at(frozen).save({"kind": "graph", "name": name})
    assert sorted(entry.name for entry in frozen.parent.iterdir()) == ["graph.pb"]


def test_a_name_with_the_ending_of_another_kind_is_refused(frozen: Path) -> None:
    document = open_at(frozen)
    for kind, name, why in (
        (
            "graph",
            "b.meta",
            (
                "'b.meta' ends in .meta, and the kind chosen is GraphDef: choose the kind "
                "MetaGraph, or "
            ),
        ),
        (
            "meta",
            "b.PB",
            (
                "ends in .pb, and the kind chosen is MetaGraph: choose the kind Frozen graph or "
                "GraphDef, or "
            ),
        ),
        (
            "saved_model",
            "b.svg/",
            "ends in .svg, and the kind chosen is SavedModel: choose the kind Picture, SVG, or ",
        ),
    ):
        with pytest.raises(GraphEditError, match=re.escape(why)):
            document.save({"kind": kind, "name": name})
    assert [entry.name for entry in frozen.parent.iterdir()] == ["graph.pb"]
    for name, written in (("v1.2", "v1.2.pb"), ("net.PB", "net.PB"), ("a.meta.pb", "a.meta.pb")):
        assert document.save({"kind": "graph", "name": name})["name"] == written


def test_an_unknown_kind_is_refused(frozen: Path) -> None:
    with pytest.raises(GraphEditError, match="format is unknown"):
        open_at(frozen).save({"kind": "exe", "name": "g"})


class Line:
    """The kernel's end of a comm, and what has gone through it."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.send = self.sent.append

    def on_msg(self, calls: Any) -> None:
        self.say = lambda data: calls({"content": {"data": data}})

    def on_close(self, closed: Any) -> None:
        pass


def test_an_interrupt_after_the_writing_claims_nothing_of_the_file(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, size = Line(), exporter.format_size

    def interrupted(count: int) -> str:
        signal.raise_signal(signal.SIGINT)
        return size(count)

    CommHandler(line)
    line.say({"id": 1, "type": "file", "path": frozen.name, "root": str(frozen.parent)})
    monkeypatch.setattr(exporter, "format_size", interrupted)
    line.say({"id": 2, "type": "save", "kind": "graph", "name": "other.pb"})
    assert (frozen.parent / "other.pb").is_file()
    assert line.sent[-1] == {
        "type": "refusal",
        "why": "This was interrupted.",
        "error": "Interrupted",
        "id": 2,
    }


# A file with edits


@pytest.fixture
def edited(frozen: Path) -> Path:
    """The same graph in a .tgw file, with one edit."""
    document = open_at(frozen)
    op = next(
        name
        for name, kind in zip(
            document.editor._core.index.names, document.editor._core.index.types, strict=True
        )
        if kind != "Placeholder"
    )
    document.editor.rename(op, f"{op}_renamed")
    document.save({"kind": "editor", "name": "work.tgw"})
    return frozen.parent / "work.tgw"


def test_a_file_with_edits_goes_on_with_them_and_has_nothing_to_save_yet(edited: Path) -> None:
    document = open_at(edited)
    status = document.status()
    assert (len(document.editor.history.done), status["count"], status["dirty"]) == (1, 0, False)
    assert status["edits"] == []
    document.editor.rename(document.editor._core.index.names[0], "first")
    status = document.status()
    assert (status["count"], status["dirty"]) == (1, True)
    assert len(as_sent(status)["edits"]) == 1
    document.editor.undo()
    document.editor.undo()  # one of the file's own
    assert document.status()["dirty"]


def test_a_file_with_edits_is_saved_under_its_own_name_by_default(edited: Path) -> None:
    document = open_at(edited)
    first = document.kinds()["kinds"][0]
    assert (first["kind"], first["name"]) == ("editor", "work.tgw")
    document.editor.rename(document.editor._core.index.names[0], "first")
    with pytest.raises(FileExists):
        document.save({"kind": "editor", "name": "work.tgw"})
    document.save({"kind": "editor", "name": "work.tgw", "replace": True})
    assert not document.status()["dirty"]
    assert [line.partition("(")[0] for line in tgw.edit(edited).history.lines] == [
        "editor.rename"
    ] * 2


def test_edits_that_a_file_with_edits_does_not_hold_are_made_again_after_a_restart(
    edited: Path,
) -> None:
    document = open_at(edited)
    document.editor.rename(document.editor._core.index.names[0], "first")
    status = as_sent(document.status())
    again = open_at(
        edited, again=True, edits=status["edits"], stamp=status["stamp"], saved=status["saved"]
    )
    assert again.notice == ""
    assert len(again.editor.history.done) == 2
    assert again.status()["dirty"]


def rename_elsewhere(path: Path, name: str) -> None:
    """Another program opens the file, renames its last op, and saves it."""
    other = tgw.edit(path)
    other.rename(other._core.index.names[-1], name)
    other.save(path)


def test_a_file_with_edits_follows_what_another_program_writes_and_keeps_its_own(
    edited: Path,
) -> None:
    document = open_at(edited)
    editor = document.editor
    rename_elsewhere(edited, "elsewhere")
    assert editor.source.reload() == "work.tgw has changed; it was opened again."
    assert "elsewhere" in editor._core.index.ids
    status = document.status()
    assert (len(editor.history.done), status["count"], status["dirty"], status["edits"]) == (
        2,
        0,
        False,
        [],
    )
    editor.rename(editor._core.index.names[0], "here")
    rename_elsewhere(edited, "elsewhere_again")
    assert (
        editor.source.reload()
        == "work.tgw has changed; it was opened again, and 1 edit was made again."
    )
    assert {"elsewhere_again", "here"} <= set(editor._core.index.ids)
    status = document.status()
    assert (len(editor.history.done), status["count"], status["dirty"]) == (4, 1, True)
    assert editor.undo()
    assert not document.status()["dirty"]


def test_a_file_whose_own_edits_are_undone_here_is_not_opened_on_top_of_that(edited: Path) -> None:
    document = open_at(edited)
    document.editor.undo()
    index = document.editor._core.index
    rename_elsewhere(edited, "elsewhere")
    assert "edits that it held are undone here" in document.editor.source.reload()
    assert document.editor._core.index is index


def test_a_file_with_edits_that_is_touched_is_not_opened_again(edited: Path) -> None:
    document = open_at(edited)
    assert document.editor.source.reload() == ""
    edited.touch()
    document.editor.rename(document.editor._core.index.names[0], "first")
    assert document.editor.source.reload() == ""
    assert len(document.editor.history.done) == 2
