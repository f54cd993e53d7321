"""What a bypass leaves unused looks it, says so, and is removed with one click."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

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
    h = tf.nn.relu(v1.placeholder(tf.float32, [None, 4], name="x"), name="relu")
    tf.identity(v1.nn.dropout(h, rate=0.5, seed=1, name="dropout"), name="y")
    v1.placeholder(tf.float32, [2], name="alone")
editor = tgw.edit(graph)
editor.view.widget.height = 600
"""

TWO_OFFERS = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    w = v1.get_variable("w", [4, 4])
    h = tf.nn.relu(tf.matmul(v1.placeholder(tf.float32, [None, 4], name="x"), w), name="relu")
    tf.identity(v1.nn.dropout(h, rate=0.5, seed=1, name="dropout"), name="y")
session = v1.Session(graph=graph)
with graph.as_default():
    session.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=session)
editor.clone("x:0", "relu:0", into="copy_of_the_network")
editor.bypass(editor.ops(scope="dropout"))
editor.view.widget.height = 600
"""


@pytest.mark.slow
def test_unused_ops_are_removed_with_one_click(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "unused.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    hand.click_at(*hand.widget.place("alone"))
    expect(root.locator(".tgw-facts").first).to_contain_text("not connected")
    hand.right_click("dropout")
    hand.choose("Bypass")
    hand.lines(1)
    offers = root.get_by_role("group", name="Suggested edits")
    expect(hand.widget.status.get_by_role("button", name="Remove 8 unused ops")).to_be_visible()
    hand.click_at(*hand.widget.place("dropout"))
    expect(root.locator(".tgw-facts").first).to_contain_text("unused")
    hand.widget.tab("History")
    expect(offers.get_by_role("button")).to_have_text("Remove 8 unused ops")
    for dark in (False, True):
        set_theme(page, dark=dark)
        hand.widget.settled()
        shoot(page, f"unused_{'dark' if dark else 'light'}")
    hand.clicks = 0
    hand.click(offers.get_by_role("button"))
    assert hand.lines(2)[1].startswith('editor.remove(what=["dropout/Const", ')
    assert hand.clicks == 1
    expect(root.get_by_role("region", name="History")).to_be_visible()
    expect(offers).to_be_hidden()
    assert notebook.kernel_eval("list(editor._core.index.names)") == ["x", "relu", "y", "alone"]


def test_two_edits_that_are_suggested_have_room_for_their_words(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    cells = [TWO_OFFERS, "editor"]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "offers.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    hand.widget.tab("History")
    buttons = root.get_by_role("group", name="Suggested edits").locator("button")
    expect(buttons).to_have_count(2)
    shoot(page, "two_offers_light")
    for button in buttons.all():
        is_whole = "b => b.scrollHeight <= b.clientHeight && b.scrollWidth <= b.clientWidth"
        assert button.evaluate(is_whole), button.inner_text()
