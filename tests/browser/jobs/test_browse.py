"""Browse …: JupyterLab's own dialog of files in every form that asks for a file or folder of the
kernel's machine.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest
import tensorflow as tf
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import KERNEL_SPEC, open_document, open_notebook, set_theme, shoot
from tests.browser.server import App, JupyterServer
from tests.slow import slow

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
    tf.nn.relu(x, name="act")
editor = tgw.edit(graph, session=tf.compat.v1.Session(graph=graph))
editor.view.widget.height = 600
"""


def write_model(path: Path, name: str) -> None:
    """A GraphDef with one op of that name behind a placeholder."""
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.softmax(tf.compat.v1.placeholder(tf.float32, [None, 4], name="scores"), name=name)
    path.write_bytes(graph.as_graph_def().SerializeToString())


@pytest.fixture
def folder(jupyter_server: JupyterServer) -> Path:
    """The folder of a notebook below the server's root; models beside it, and others of the same
    names elsewhere.
    """
    folder = jupyter_server.root / "browse" / "work"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    models = folder.parent / "models"
    models.mkdir(exist_ok=True)
    write_model(models / "head.pb", "wanted")
    write_model(folder / "head.pb", "other")
    np.save(folder / "data" / "x.npy", np.ones((2, 4), np.float32))
    cells = [nbformat.v4.new_code_cell(code) for code in (GRAPH, "editor")]
    nbformat.write(
        nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL_SPEC}),
        folder / "browse.ipynb",
    )
    return folder


def opened(page: Page, server: JupyterServer, app: App = "lab") -> Hand:
    """The widget of a notebook that lies in a folder below the server's root."""
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(page, server, "browse/work/browse.ipynb", app)
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def corner(hand: Hand) -> tuple[float, float]:
    """An empty place of the drawing."""
    box = hand.root.locator(".tgw-stage canvas").first.bounding_box()
    assert box
    return box["x"] + 12, box["y"] + box["height"] / 2


def choose(page: Page, form: Locator, *names: str, picture: str = "") -> None:
    """Press Browse …, go through folders, and select the last one."""
    form.get_by_role("button", name="Browse …").click()
    dialog = page.locator(".jp-Dialog:has(.jp-Open-Dialog)")
    for place, name in enumerate(names):
        if name == "..":
            dialog.locator(".jp-BreadCrumbs-item").nth(-2).click()
            continue
        item = dialog.locator(".jp-DirListing-item").filter(has=page.get_by_text(name, exact=True))
        item.dblclick() if place < len(names) - 1 else item.click()
    if picture:
        shoot(page, picture)
    dialog.get_by_role("button", name="Select").click()
    expect(dialog).to_have_count(0)


@pytest.mark.parametrize("app", ["lab", slow("notebook")])
def test_a_model_of_another_folder_is_browsed_for_and_added(
    page: Page, jupyter_server: JupyterServer, folder: Path, app: App
) -> None:
    hand = opened(page, jupyter_server, app)
    hand.click_at(*corner(hand), button="right")
    hand.choose("Add a model …")
    field = hand.menu.get_by_role("combobox", name="Graph")
    joint = hand.menu.get_by_role("combobox", name="scores:0")
    expect(field).to_have_value("head.pb")  # the only file beside the notebook
    expect(joint).to_be_visible()
    # The inputs shown are those of the graph that is named, at any time.
    field.fill("head.p")
    expect(joint).to_be_hidden()
    field.fill("head.pb")
    expect(joint).to_be_visible()
    shoot(page, f"browse_form_{app}")
    choose(page, hand.menu, "..", "models", "head.pb", picture=f"browse_dialog_{app}")
    expect(field).to_have_value("../models/head.pb")
    expect(field).to_be_focused()
    # The form waits for a click on an op, too; without one it goes on.
    hand.menu.get_by_role("button", name="Click an op").click()
    expect(hand.root).to_have_attribute("data-picking", "")
    page.keyboard.press("Escape")
    expect(hand.root).not_to_have_attribute("data-picking", "")
    expect(joint).to_be_visible()
    hand.menu.get_by_role("button", name="Click an op").click()
    hand.widget.click("act")
    expect(joint).to_have_value("act:0")
    expect(joint).to_be_focused()
    hand.menu.get_by_role("button", name="Add").click()
    hand.lines(1)
    assert hand.widget.notebook.kernel_eval("list(editor.ops('head/wanted').inputs)") == ["act:0"]


@pytest.mark.slow
def test_a_graph_is_saved_in_a_folder_that_is_browsed_for(
    page: Page, jupyter_server: JupyterServer, folder: Path
) -> None:
    hand = opened(page, jupyter_server)
    hand.root.get_by_role("button", name="Export", exact=True).click()
    hand.root.get_by_role("menuitem", name="GraphDef", exact=True).click()
    form = hand.root.get_by_role("form", name="Save GraphDef")
    shoot(page, "browse_export_light")
    choose(page, form, "data")
    expect(form.get_by_role("textbox", name="Path")).to_have_value("data/graph.pb")
    choose(page, form, "..", "models")
    expect(form.get_by_role("textbox", name="Path")).to_have_value("../models/graph.pb")
    form.get_by_role("button", name="Save").click()
    expect(hand.widget.status).to_contain_text("Saved as")
    assert (folder.parent / "models" / "graph.pb").is_file()
    hand.widget.status.get_by_role("button", name="Open").click()
    expect(page.locator(".lm-TabBar-tab", has_text="graph.pb")).to_have_count(1)


def test_a_cancelled_dialog_leaves_the_form_as_it_was(
    page: Page, jupyter_server: JupyterServer, folder: Path
) -> None:
    hand = opened(page, jupyter_server)
    hand.click_at(*corner(hand), button="right")
    hand.choose("Compare with …")
    field = hand.menu.get_by_role("combobox", name="Graph")
    field.fill("typed.pb")
    hand.menu.get_by_role("button", name="Browse …").click()
    expect(page.locator(".jp-Dialog .jp-DirListing-item").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    expect(field).to_have_value("typed.pb")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(hand.menu).to_be_hidden()


@pytest.mark.slow
def test_values_of_a_file_are_browsed_for_and_fed(
    page: Page, jupyter_server: JupyterServer, folder: Path
) -> None:
    hand = opened(page, jupyter_server)
    set_theme(page, dark=True)
    hand.widget.settled()
    hand.right_click("act")
    hand.choose("Values")
    hand.menu.get_by_role("combobox", name="Value", exact=True).select_option(label=".npy file")
    choose(page, hand.menu, "data", "x.npy", picture="browse_npy_dark")
    source = hand.menu.get_by_role("textbox", name="Path")
    expect(source).to_have_value("data/x.npy")
    shoot(page, "browse_feeds_dark")
    hand.menu.get_by_role("button", name="Run").click()
    expect(hand.menu).to_be_hidden()
    assert hand.widget.notebook.kernel_eval("editor._core.evaluator.probed['act'][0].shape") == [
        2,
        4,
    ]


def test_a_document_is_saved_in_a_folder_that_is_browsed_for(
    page: Page, jupyter_server: JupyterServer, folder: Path
) -> None:
    (folder.parent / "models" / "saved.pb").unlink(missing_ok=True)
    page.set_viewport_size({"width": 1440, "height": 900})
    open_document(page, jupyter_server, "browse/work/head.pb")
    root = page.locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    # The form of the toolbar: its kernel does not run in the folder of the file.
    root.get_by_role("button", name="Export", exact=True).click()
    root.get_by_role("menuitem", name="GraphDef", exact=True).click()
    form = root.get_by_role("form", name="Save GraphDef")
    choose(page, form, "..", "models")
    expect(form.get_by_role("textbox", name="Path")).to_have_value("../models/head_edited.pb")
    page.keyboard.press("Escape")

    # The dialog of the document.
    page.locator(".jp-Document").get_by_role("button", name="Save", exact=True).click()
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_role("combobox", name="Kind").select_option(label="GraphDef (.pb)")
    dialog.get_by_role("textbox", name="Name").fill("saved.pb")
    shoot(page, "browse_save_light")
    choose(page, dialog, "..", "models")
    expect(dialog.get_by_role("textbox", name="Name")).to_have_value("../models/saved.pb")
    expect(dialog.get_by_role("combobox", name="Kind")).to_have_value("graph")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    page.locator(".tgw-file-actions").get_by_role("button", name="Open").click()
    expect(page.locator(".lm-TabBar-tab", has_text="saved.pb")).to_have_count(1)
    assert (folder.parent / "models" / "saved.pb").is_file()


@pytest.mark.slow
def test_a_saved_folder_opens_in_notebook_7_on_a_page_of_its_own(
    page: Page, jupyter_server: JupyterServer, folder: Path
) -> None:
    shutil.rmtree(folder / "graph", ignore_errors=True)
    hand = opened(page, jupyter_server, "notebook")
    for name, side in (("x", "input"), ("act", "output")):
        hand.right_click(name)
        hand.choose(f"Mark as {side}")
        hand.widget.settled()
    hand.root.get_by_role("button", name="Export", exact=True).click()
    hand.root.get_by_role("menuitem", name="SavedModel", exact=True).click()
    hand.root.get_by_role("form", name="Save SavedModel").get_by_role("button", name="Save").click()
    expect(hand.widget.status).to_contain_text("Saved as graph/", timeout=120_000)
    with page.context.expect_page() as opening:
        hand.widget.status.get_by_role("button", name="Open").click()
    expect(opening.value.locator(".jp-DirListing-item", has_text="saved_model.pb")).to_be_visible()
    assert "/tree/browse/work/graph" in opening.value.url
