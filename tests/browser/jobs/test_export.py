"""Export from a notebook and a document: save a frozen graph, download, replace, open what was saved."""

from __future__ import annotations

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    with v1.variable_scope("net"):
        w = v1.get_variable("w", [3, 3], initializer=v1.ones_initializer(), use_resource=True)
        y = tf.nn.relu(tf.matmul(x, w), name="act")
    loss = tf.reduce_mean(tf.square(y), name="loss")
    v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="step")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.widget.height = 600
"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """A network that trains, in the widget of a notebook's cell, and no file beside it."""
    for file in jupyter_server.root.glob("graph*"):
        file.unlink()
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(page, jupyter_server, write_notebook(jupyter_server, "export.ipynb", [GRAPH, "editor"]))
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def test_a_graph_is_stripped_and_saved_frozen_in_four_clicks(hand: Hand, jupyter_server: JupyterServer) -> None:
    root, page = hand.root, hand.page
    hand.click(root.get_by_role("tab", name="Op"))
    hand.click(root.get_by_role("button", name="Strip training"))
    hand.widget.settled()
    export = root.get_by_role("button", name="Export")
    hand.click(export)
    menu = root.get_by_role("menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    shoot(root, "export_menu_light")
    hand.click(menu.get_by_role("menuitem", name="Frozen graph"))
    form = root.get_by_role("form", name="Save Frozen graph")
    expect(form).to_contain_text("What loss needs")
    expect(form.get_by_role("textbox", name="Path")).to_be_focused()
    shoot(root, "export_form_light")
    hand.press("Enter")
    expect(hand.widget.status).to_contain_text("Saved as graph_frozen.pb")
    assert (hand.clicks, hand.keys) == (4, 1)
    saved = tgw.edit(jupyter_server.root / "graph_frozen.pb").index
    assert "loss" in saved.ids
    assert not {"VarHandleOp", "ResourceApplyGradientDescent"} & set(saved.types)
    shoot(root, "export_saved_light")

    # A file that is there is replaced after it was asked in words.
    hand.click(export)
    hand.click(menu.get_by_role("menuitem", name="Frozen graph"))
    hand.press("Enter")
    expect(form).to_contain_text("A file 'graph_frozen.pb' is there already")
    shoot(root, "export_replace_light")
    hand.click(form.get_by_role("button", name="Replace"))
    expect(form).to_be_hidden()
    expect(hand.widget.status).to_contain_text("Saved as graph_frozen.pb")

    # What it says can be clicked: the file opens in a tab of its own.
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hand.click(hand.widget.status.get_by_role("button", name="Copy path"))
    assert page.evaluate("navigator.clipboard.readText()") == str(jupyter_server.root / "graph_frozen.pb")


def test_edits_and_pictures_are_downloaded_and_opened(hand: Hand, jupyter_server: JupyterServer) -> None:
    root, page = hand.root, hand.page
    export = root.get_by_role("button", name="Export")
    menu = root.get_by_role("menu")
    # Without edits the reason is there.
    hand.click(export)
    expect(menu.get_by_role("menuitem", name="SavedModel")).to_contain_text("mark its outputs in the drawing first")
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    hand.widget.notebook.kernel_eval("0", before="editor.rename('loss', 'cost')")
    hand.widget.settled()
    set_theme(page, dark=True)
    hand.widget.settled()
    hand.click(export)
    shoot(root, "export_menu_dark")
    hand.click(menu.get_by_role("menuitem", name="Edits", exact=True))
    shoot(root, "export_form_dark")
    with page.expect_download() as download:
        hand.click(root.get_by_role("form").get_by_role("button", name="Download"))
    assert download.value.suggested_filename == "graph.json"
    expect(hand.widget.status).to_contain_text("Downloaded graph.json")
    hand.click(export)
    hand.click(menu.get_by_role("menuitem", name="Picture, SVG"))
    hand.click(root.get_by_role("form").get_by_role("checkbox"))
    with page.expect_download() as download:
        hand.click(root.get_by_role("form").get_by_role("button", name="Download"))
    assert download.value.path().read_bytes().lstrip().startswith(b"<")
    hand.click(export)
    hand.click(menu.get_by_role("menuitem", name="Python script"))
    hand.press("Enter")
    hand.click(hand.widget.status.get_by_role("button", name="Open"))
    expect(page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text="graph.py")).to_be_visible()


def test_a_document_has_the_same_list_and_saves_beside_its_file(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    folder = jupyter_server.root / "exported"
    folder.mkdir()
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.relu(tf.negative(x, name="net/negative"), name="net/act")
    (folder / "small.pb").write_bytes(graph.as_graph_def().SerializeToString())
    page.goto(jupyter_server.page_url("exported/small.pb"))
    root = page.locator(".tfgraphwidget")
    expect(root).to_have_attribute("data-status", "ready", timeout=120_000)
    root.get_by_role("button", name="Export").click()
    labels = root.locator("[role=menuitem] > span:first-child").all_inner_texts()
    shoot(page, "export_document_light")
    root.get_by_role("menuitem", name="Frozen graph").click()
    page.keyboard.press("Enter")
    expect(root.locator(".tgw-status")).to_contain_text("Saved as small_frozen.pb")
    assert (folder / "small_frozen.pb").is_file()
    root.locator(".tgw-status").get_by_role("button", name="Open").click()
    expect(page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text="small_frozen.pb")).to_be_visible()
    page.locator(".lm-TabBar-tab").filter(has_text="small.pb").click()
    page.keyboard.press("Control+s")
    expect(page.locator(".tgw-save select")).to_be_visible()
    options = page.locator(".tgw-save select option").all_inner_texts()
    assert {option.split(" (")[0].split(":")[0] for option in options} == set(labels)
    page.keyboard.press("Escape")
