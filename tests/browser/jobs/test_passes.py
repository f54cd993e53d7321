"""Edits of the whole graph: found by their names, previewed with counts, applied, shown in the
drawing, undone.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for layer in ("dense1", "dense2"):
        with tf.name_scope(layer):
            w = tf.identity(tf.fill([4, 4], 0.5), name="w")
            h = tf.identity(tf.nn.relu(tf.matmul(h, w, name="product"), name="act"), name="same")
    y = tf.identity(h, name="y")
editor = tgw.edit(graph)
editor.view.expand()
editor.view.widget.height = 600
"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """Two layers with Identity ops, in the widget of a notebook's cell; the Op tab is in front."""
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "passes.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    expect(root.locator(".tgw-model")).to_have_attribute("data-known", "true")
    return hand


def commands(hand: Hand) -> Locator:
    """The edits of the whole graph: the usual ones, and the passes further down."""
    return hand.root.locator(".tgw-model-tab")


@pytest.mark.slow
def test_an_edit_of_the_whole_graph_is_previewed_applied_and_undone(hand: Hand) -> None:
    root, whole = hand.root, commands(hand)
    headings = ["Clean up", "Make smaller", "Replace and rename", "Signatures"]
    expect(whole.locator(".tgw-subtitle")).to_have_text(headings)
    names = [
        name.removesuffix(" …")
        for name in whole.locator(".tgw-derive .tgw-button").all_inner_texts()
    ]
    assert len(set(names)) == len(names) >= 19
    shoot(root, "passes_groups_light")

    # Found by the name that it has elsewhere.
    field = whole.get_by_role("searchbox")
    hand.click(field)
    hand.type("cse")
    expect(whole.locator(".tgw-derive .tgw-button:visible")).to_have_text(["Merge duplicates …"])
    hand.press("Escape")
    expect(field).to_have_value("")

    before = hand.widget.notebook.kernel_eval("sorted(editor._core.index.names)")
    clicks = hand.clicks
    hand.click(whole.get_by_role("button", name="Remove identities …"))
    preview = whole.get_by_role("status", name="Preview")
    expect(preview).to_contain_text("Removes 4 ops, changes 3.")
    for dark in (False, True):
        set_theme(hand.page, dark=dark)
        hand.widget.settled()
        shoot(root, f"passes_preview_{'dark' if dark else 'light'}")
    assert hand.widget.notebook.kernel_eval("editor.history.lines") == []
    hand.click(whole.get_by_role("button", name="Apply"))
    assert hand.clicks - clicks == 2
    assert hand.lines(1) == ["editor.passes.remove_identities()"]
    expect(hand.widget.status).to_contain_text("4 ops removed")
    shoot(root, "passes_applied_dark")
    hand.page.keyboard.press("Control+z")
    expect(hand.widget.status).to_contain_text("Undone: ")
    assert hand.widget.notebook.kernel_eval("sorted(editor._core.index.names)") == before


@pytest.mark.slow
def test_a_model_is_added_where_edits_are_found(hand: Hand) -> None:
    root, whole = hand.root, commands(hand)
    head = (
        "with tf.Graph().as_default() as head: tf.nn.softmax(v1.placeholder(tf.float32, [None, "
        "4], name='scores'))"
    )
    hand.widget.notebook.kernel_eval("0", before=head)
    hand.click(whole.get_by_role("searchbox"))
    hand.type("add a model")
    opener = whole.get_by_role("button", name="Add a model …")
    expect(opener).to_be_visible()
    expect(whole.get_by_role("button", name="Compare with …")).to_be_hidden()
    hand.click(opener)
    expect(opener).to_have_attribute("aria-expanded", "true")
    hand.fill(whole.get_by_role("combobox", name="Graph", exact=True), "head")
    hand.press("Tab")  # shows its inputs, if it was not proposed already
    expect(whole.get_by_role("combobox", name="scores:0")).to_be_visible()
    shoot(root, "passes_add_a_model")
    hand.click(whole.locator("form").get_by_role("button", name="Add", exact=True))
    expect(opener).to_have_attribute("aria-expanded", "false")
    assert "head/Softmax" in hand.widget.notebook.kernel_eval("list(editor._core.index.names)")


@pytest.mark.slow
def test_a_refusal_a_form_and_escape_leave_the_graph_as_it_was(hand: Hand) -> None:
    root, whole = hand.root, commands(hand)
    preview = whole.get_by_role("status", name="Preview")
    hand.click(whole.get_by_role("button", name="Remove devices …"))
    expect(preview).to_contain_text("No op of the graph has a device")
    expect(whole.get_by_role("button", name="Apply")).to_be_focused()
    hand.press("Escape")
    expect(preview).to_be_hidden()

    # What is typed is previewed.
    hand.click(whole.get_by_role("button", name="Rename type …"))
    hand.page.keyboard.type("Relu")
    hand.page.keyboard.press("Tab")
    hand.page.keyboard.type("Relu6")
    expect(preview).to_contain_text("2 Relu ops became Relu6.")
    whole.get_by_role("textbox", name="Type", exact=True).fill("Rellu")
    expect(preview).to_have_attribute("data-wrong", "true")
    hand.press("Escape")

    # What TensorFlow would make of it is compared with, and the graph stays.
    hand.click(whole.get_by_role("button", name="Compare with TensorFlow's optimizer"))
    expect(hand.widget.status).to_contain_text("TensorFlow's graph optimizer makes")
    hand.widget.settled()
    shoot(root, "passes_optimized_light")
    hand.click(hand.widget.status.get_by_role("button", name="Open in a cell"))
    expect(
        hand.page.locator(".jp-Cell .cm-content").filter(has_text="editor.passes.grappler()")
    ).to_be_visible()
    assert hand.widget.notebook.kernel_eval("editor.history.lines") == []
