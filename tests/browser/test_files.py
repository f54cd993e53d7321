"""Graphs in files as documents of JupyterLab and of Notebook 7: a real mouse, a real kernel, real
files.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import tensorflow as tf
from onnx import helper
from playwright.sync_api import Locator, Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import Widget
from tests.browser.lab import CELL, FIRST_PAINT, OpenNotebook, in_front, shoot, show_folder
from tests.browser.server import JupyterServer
from tests.conftest import build_mlp
from tests.jupyterlab.test_comm_handler import write_large_graph

pytestmark = pytest.mark.one_page

v1 = tf.compat.v1
ODD = "it's a \"graph\" '); import os 🙂.pb"


@pytest.fixture
def folder(jupyter_server: JupyterServer, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own, below the server's root, with a GraphDef in it."""
    made = jupyter_server.root / "models of mine" / request.node.name[5:25]
    made.mkdir(parents=True)
    graph = build_mlp(resource=True)
    (made / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return made


class Files:
    """A person before the file browser of JupyterLab."""

    def __init__(self, page: Page, server: JupyterServer, folder: Path) -> None:
        self.page, self.server = page, server
        self.place = str(folder.relative_to(server.root))
        show_folder(page, server, self.place)

    def item(self, name: str) -> Locator:
        """A line of the file browser."""
        return self.page.locator(".jp-DirListing-item").filter(
            has=self.page.get_by_text(name, exact=True)
        )

    def open(self, name: str) -> Widget:
        """Double-click a file, and wait until its graph is drawn."""
        self.item(name).dblclick()
        return self.shown(name)

    def shown(self, name: str) -> Widget:
        """The editor of the document in front, drawn."""
        root = self.document.locator(".tfgraphwidget")
        expect(root).to_be_visible(timeout=CELL)
        return Widget(OpenNotebook(self.page, self.server, f"{self.place}/{name}"), root)

    @property
    def document(self) -> Locator:
        """The document in front."""
        return self.page.locator(in_front(".jp-Document")).first

    @property
    def message(self) -> Locator:
        """What stands in place of the editor."""
        return self.document.locator(".tgw-pane-message")

    @property
    def news(self) -> Locator:
        """The line above the drawing."""
        return self.document.locator(".tgw-file-line")

    @property
    def dirty(self) -> Locator:
        """The tab of a document with edits that are not saved."""
        return self.page.locator(".lm-TabBar-tab.jp-mod-dirty")

    @property
    def dialog(self) -> Locator:
        """What asks."""
        return self.page.locator(".jp-Dialog")

    def press(self, name: str) -> None:
        """A button of the dialog."""
        self.dialog.get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def files(page: Page, jupyter_server: JupyterServer, folder: Path) -> Files:
    """The file browser on the test's folder."""
    return Files(page, jupyter_server, folder)


def remove(widget: Widget, name: str) -> None:
    """Click an op or scope, press Delete."""
    widget.click(name)
    widget.page.keyboard.press("Delete")
    expect(widget.status).to_contain_text(f"Removed {name}")
    widget.settled()


def kinds_of(files: Files) -> list[str]:
    """What the dialog offers, in its order."""
    options = files.dialog.get_by_label("Kind").locator("option:enabled")
    return [str(option.get_attribute("value")) for option in options.all()]


@pytest.mark.slow
def test_a_file_that_another_process_writes_is_followed_with_the_edits(
    files: Files, folder: Path
) -> None:
    path = folder / "graph.pb"
    message = v1.GraphDef.FromString(path.read_bytes())
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    more = message.node.add(name="written_later", op="Identity", input=["x"])
    more.attr["T"].type = 1
    data = message.SerializeToString()
    path.write_bytes(data[: len(data) // 2])  # half of it, then the rest
    path.write_bytes(data)
    expect(files.document).to_contain_text("1 edit was made again", timeout=CELL)
    widget.click("written_later")
    expect(files.dirty).to_have_count(1)
    shoot(files.page, "file_watched_1_followed")
    for node in [node for node in message.node if node.name.startswith("net/logits")]:
        message.node.remove(node)
    path.write_bytes(message.SerializeToString())
    expect(files.document).to_contain_text("the edits do not fit it", timeout=CELL)
    widget.click("written_later")
    shoot(files.page, "file_watched_2_does_not_fit")
    path.unlink()
    expect(files.document).to_contain_text("graph.pb is gone", timeout=CELL)
    widget.click("written_later")


def test_a_graph_is_opened_edited_and_saved(files: Files, folder: Path) -> None:
    widget = files.open("graph.pb")
    shoot(files.page, "file_1_opened")
    expect(files.dirty).to_have_count(0)
    remove(widget, "net/logits")
    expect(files.dirty).to_have_count(1)
    files.page.keyboard.press("Control+s")
    expect(files.dialog.get_by_label("Kind")).to_have_value("graph")
    expect(files.dialog.get_by_label("Name")).to_have_value("graph_edited.pb")
    assert {"text", "meta", "script", "svg"} <= set(kinds_of(files))
    assert {"saved_model", "frozen"}.isdisjoint(kinds_of(files))  # variables without values
    shoot(files.page, "file_2_saving")
    files.press("Save")
    expect(files.news).to_contain_text("Saved as graph_edited.pb", timeout=120_000)
    expect(files.dirty).to_have_count(0)
    expect(files.item("graph_edited.pb")).to_be_visible()
    shoot(files.page, "file_3_saved")
    edited, original = (
        tgw.edit(folder / "graph_edited.pb")._core.index.ids,
        tgw.edit(folder / "graph.pb")._core.index.ids,
    )
    assert "net/logits" not in edited
    assert "net/logits" in original


@pytest.mark.slow
def test_nothing_is_overwritten_unasked(files: Files, folder: Path) -> None:
    before = (folder / "graph.pb").read_bytes()
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    files.document.get_by_role("button", name="Save").click()
    files.dialog.get_by_label("Name").fill("graph")
    files.dialog.get_by_label("Kind").select_option("text")
    expect(files.dialog.get_by_label("Name")).to_have_value("graph.pbtxt")
    files.dialog.get_by_label("Kind").select_option("graph")
    expect(files.dialog.get_by_label("Name")).to_have_value("graph.pb")
    files.press("Save")
    expect(files.dialog).to_contain_text("A file 'graph.pb' is there already")
    shoot(files.page, "file_4_replace")
    files.press("Choose another name")
    expect(files.dialog.get_by_label("Name")).to_have_value("graph.pb")
    files.press("Cancel")
    assert (folder / "graph.pb").read_bytes() == before
    expect(files.dirty).to_have_count(1)
    # The menu's Save is the same.
    files.page.get_by_role("menuitem", name="File", exact=True).click()
    files.page.get_by_role("menuitem").filter(has_text="Save TensorFlow graph").first.click()
    files.dialog.get_by_label("Name").fill("graph.pb")
    files.press("Save")
    files.press("Replace")
    expect(files.news).to_contain_text("Saved as graph.pb", timeout=120_000)
    assert "net/logits" not in tgw.edit(folder / "graph.pb")._core.index.ids


@pytest.mark.slow
def test_long_saving_shows_how_far_it_is_and_is_cancelled(files: Files, folder: Path) -> None:
    write_large_graph(folder / "large.pb", 300_000)
    files.page.get_by_role("button", name="Refresh the file browser.").click()
    files.open("large.pb")
    expect(files.document.locator(".tfgraphwidget")).to_be_visible(timeout=CELL)
    progress = files.document.get_by_role("progressbar", name="Progress").first
    expect(progress).to_be_hidden()
    expect(files.news.get_by_role("status")).to_have_text("")
    files.page.keyboard.press("Control+s")
    files.dialog.get_by_label("Kind").select_option("text")
    files.press("Save")
    expect(progress).to_be_visible()
    expect(files.news).to_contain_text("Saving large_edited.pbtxt …")
    shoot(files.page, "file_10_saving")
    files.news.get_by_role("button", name="Cancel").click()
    expect(files.news).to_contain_text("Canceled; nothing was saved.", timeout=CELL)
    expect(progress).to_be_hidden()
    assert {file.name for file in folder.iterdir()} == {"graph.pb", "large.pb"}


def test_edits_survive_a_reload_a_restart_and_the_end_of_the_kernel(
    files: Files, jupyter_server: JupyterServer
) -> None:
    files.page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?"
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    files.page.reload()
    widget = files.shown("graph.pb")
    expect(files.dirty).to_have_count(1)
    assert widget.notebook.kernel_eval("len(editor.history.done)") == 1
    files.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    files.page.get_by_role("menuitem", name="Restart Kernel…", exact=True).click()
    files.dialog.locator(".jp-mod-accept").click()
    expect(files.message).to_be_visible()
    widget = files.shown("graph.pb")
    expect(widget.root).to_have_attribute("data-ops", "43")
    expect(files.dirty).to_have_count(1)
    assert widget.notebook.kernel_eval("len(editor.history.done)") == 1
    session = next(
        one["id"] for one in jupyter_server.api("sessions") if one["path"].endswith("graph.pb")
    )
    jupyter_server.end_session(session)
    files.page.reload()
    widget = files.shown("graph.pb")
    expect(widget.root).to_have_attribute("data-ops", "43")
    expect(files.dirty).to_have_count(1)


@pytest.mark.slow
def test_closing_asks_for_what_is_not_saved_and_ends_the_kernel(
    files: Files, jupyter_server: JupyterServer
) -> None:
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    close = files.dirty.locator(".lm-TabBar-tabCloseIcon")
    close.click()
    expect(files.dialog).to_contain_text("1 edit of graph.pb would be lost.")
    shoot(files.page, "file_5_closing")
    files.press("Cancel")
    expect(widget.root).to_be_visible()
    close.click()
    with files.page.expect_response(
        lambda reply: "/api/sessions/" in reply.url and reply.request.method == "DELETE"
    ):
        files.press("Discard")
    expect(files.page.locator(".tfgraphwidget")).to_have_count(0)
    assert not [one for one in jupyter_server.api("sessions") if "closing" in one["path"]]
    widget = files.open("graph.pb")
    expect(widget.root).to_have_attribute("data-ops", "44")
    expect(files.dirty).to_have_count(0)


@pytest.mark.slow
def test_a_name_is_data_and_what_is_no_graph_says_so(files: Files, folder: Path) -> None:
    (folder / ODD).write_bytes((folder / "graph.pb").read_bytes())
    (folder / "empty.pb").touch()
    (folder / "other.pb").write_bytes(b"%PDF-1.4 no graph")
    (folder / "words.meta").write_text("guid: 0123456789abcdef")
    files.page.get_by_role("button", name="Refresh the file browser.").click()
    widget = files.open(ODD)
    expect(files.page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text=ODD)).to_be_visible()
    expect(widget.root).to_have_attribute("data-ops", "44")
    shoot(files.page, "file_6_odd_name")
    for name, why in (
        ("empty.pb", "is empty"),
        ("other.pb", "is not a GraphDef"),
        ("words.meta", "holds no TensorFlow graph"),
    ):
        files.item(name).dblclick()
        expect(files.message).to_contain_text(why, timeout=CELL)
        expect(files.message.get_by_role("button", name="Try again")).to_be_visible()
    shoot(files.page, "file_7_no_graph")
    files.message.get_by_role("button", name="Open as text").click()
    expect(files.page.locator(in_front(".jp-FileEditor"))).to_contain_text("guid: 0123456789abcdef")


@pytest.mark.slow  # a further format
def test_an_onnx_model_is_opened_to_look_at(files: Files, folder: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
    branches = [
        helper.make_graph(
            [helper.make_node(kind, ["net/minus"], [f"{kind}_out"])],
            kind,
            [],
            [helper.make_tensor_value_info(f"{kind}_out", onnx.TensorProto.FLOAT, [2])],
        )
        for kind in ("Tanh", "Abs")
    ]
    yes = helper.make_tensor("yes", onnx.TensorProto.BOOL, [], [True])
    nodes = [
        helper.make_node("Neg", ["x"], ["net/minus"], name="net/minus"),
        helper.make_node("Constant", [], ["yes"], value=yes),
        helper.make_node(
            "If", ["yes"], ["y"], "choice", then_branch=branches[0], else_branch=branches[1]
        ),
    ]
    onnx.save(helper.make_model(helper.make_graph(nodes, "main", [x], [y])), folder / "model.onnx")
    files.page.get_by_role("button", name="Refresh the file browser.").click()
    widget = files.open("model.onnx")
    expect(widget.root).to_have_attribute("data-ops", "4")
    expect(widget.root).to_contain_text(
        "File 'model.onnx' is an ONNX model, to look at, to search, to compare and to run"
    )
    model = widget.root.get_by_role("tabpanel", name="Model")
    expect(model).to_contain_text("which TensorFlow does not run; edit the model")
    expect(model.locator("[data-change]:visible")).to_have_text(["Export …", "Compare with …"])
    shoot(files.page, "file_11_onnx")
    widget.click("net/minus")
    op = widget.root.get_by_role("tabpanel", name="Op")
    expect(op.get_by_role("button", name="Values")).to_be_visible()
    expect(op.get_by_role("group", name="Edit this op")).to_have_count(0)
    expect(op.get_by_role("button", name="Set ")).to_have_count(0)
    expect(op.get_by_label("Op types").first).to_be_hidden()
    files.page.keyboard.press("Delete")
    expect(widget.status).to_contain_text("edit the model that it was converted from")
    files.page.keyboard.press("Control+s")
    expect(files.dialog.get_by_label("Kind")).not_to_have_value("graph")
    expect(files.dialog.get_by_role("option", name="GraphDef (.pb)")).to_be_disabled()
    shoot(files.page, "file_13_onnx_saved")
    files.dialog.get_by_role("button", name="Cancel").click()
    widget.click("choice", double=True)
    expect(widget.root).to_have_attribute("data-ops", "2")
    shoot(files.page, "file_12_onnx_branch")


def test_a_saved_model_is_opened_by_its_file_and_saved_as_a_folder(
    files: Files, folder: Path
) -> None:
    module = tf.Module()
    module.w = tf.Variable(3.0)
    module.f = tf.function(
        lambda x: {"y": x * module.w}, input_signature=[tf.TensorSpec([None], tf.float32)]
    )
    tf.saved_model.save(module, str(folder / "tripled"), signatures=module.f)
    files.page.get_by_role("button", name="Refresh the file browser.").click()
    files.item("tripled").dblclick()
    files.item("saved_model.pb").click(button="right")
    files.page.get_by_text("Open With", exact=True).hover()
    files.page.get_by_role("menuitem", name="TensorFlow Graph Editor", exact=True).click()
    files.shown("tripled/saved_model.pb")
    expect(
        files.page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text="tripled")
    ).to_be_visible()
    files.page.keyboard.press("Control+s")
    expect(files.dialog.get_by_label("Name")).to_have_value("tripled_edited/")
    shoot(files.page, "file_8_saved_model")
    files.press("Save")
    expect(files.news).to_contain_text("Saved as tripled_edited/", timeout=CELL)
    loaded = tf.saved_model.load(str(folder / "tripled_edited"))
    assert loaded.signatures["serving_default"](x=tf.constant([2.0]))["y"].numpy().tolist() == [6.0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:__array__ implementation")  # Keras's own, while it saves
def test_a_keras_model_is_opened_in_a_notebook(
    files: Files, folder: Path, jupyter_server: JupyterServer
) -> None:
    keras = tf.keras
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, name="wide")]).save(
        folder / "my model.keras"
    )
    before = jupyter_server.sessions()
    files.page.get_by_role("button", name="Refresh the file browser.").click()
    files.item("my model.keras").dblclick()
    expect(
        files.message.get_by_role("heading", name="my model.keras is a Keras model")
    ).to_be_visible(timeout=CELL)
    assert jupyter_server.sessions() == before  # no kernel is started for a message
    shoot(files.page, "file_11_keras")
    files.message.get_by_role("button", name="Open in a notebook").click()
    root = files.page.locator(f"{in_front('.jp-NotebookPanel')} .tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=CELL)
    expect(root).to_contain_text("Keras model")
    shoot(files.page, "file_12_keras_in_a_notebook")
    assert [path.name for path in folder.glob("*.ipynb")] == ["Untitled.ipynb"]


@pytest.mark.slow
def test_notebook_7_opens_graphs_too(
    page: Page, jupyter_server: JupyterServer, folder: Path
) -> None:
    place = str(folder.relative_to(jupyter_server.root))
    page.goto(f"{jupyter_server.url}/tree/{place}?token={jupyter_server.token}")
    with page.expect_popup() as opened:
        page.locator(".jp-DirListing-item").filter(has_text="graph.pb").dblclick(
            timeout=FIRST_PAINT
        )
    tab = opened.value
    root = tab.locator(".tfgraphwidget")
    expect(root).to_be_visible(timeout=CELL)
    widget = Widget(OpenNotebook(tab, jupyter_server, f"{place}/graph.pb"), root)
    remove(widget, "net/logits")
    shoot(tab, "file_9_notebook_7")
    tab.keyboard.press("Control+s")
    tab.locator(".jp-Dialog").get_by_role("button", name="Save", exact=True).click()
    expect(tab.locator(".tgw-file-line")).to_contain_text(
        "Saved as graph_edited.pb", timeout=120_000
    )
    assert "net/logits" not in tgw.edit(folder / "graph_edited.pb")._core.index.ids
