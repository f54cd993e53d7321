"""A structure is found everywhere from one selection, stepped through, and replaced everywhere,
with counts before.
"""

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
    h = v1.placeholder(tf.float32, [None, 4], name="x")
    for layer in ("dense1", "dense2", "dense3", "dense4"):
        with tf.name_scope(layer):
            product = tf.matmul(h, tf.fill([4, 4], 0.5), name="product")
            biased = tf.nn.bias_add(product, tf.constant([1.0] * 4), name="biased")
            h = tf.nn.relu(biased, name="act")
    tf.tanh(graph.get_tensor_by_name("dense2/biased:0"), name="tapped")
    y = tf.identity(tf.identity(h, name="same"), name="y")
editor = tgw.edit(graph)
editor.view.expand()
editor.view.collapse("dense4")
editor.view.widget.height = 600


def leaky(x, b):
    return tf.nn.leaky_relu(tf.nn.bias_add(x, b), alpha=0.1)
"""
PATTERN = "pattern:Relu(BiasAdd(x, Const))"


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """Four layers, one of them closed and one read inside, in the widget of a notebook's cell."""
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "patterns.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def found_like_two_ops(hand: Hand) -> None:
    """Select two ops of a layer, and find what is like them."""
    hand.widget.click("dense1/biased", "Control")
    hand.widget.click("dense1/act", "Control")
    hand.widget.settled()
    hand.right_click("dense1/act")
    hand.choose("Find more like this")
    expect(hand.root.get_by_role("combobox", name="Find ops")).to_have_value(PATTERN)
    expect(hand.root.locator(".tgw-hits-total")).to_have_text(
        "4 matches in 4 scopes, 3 of them replaceable"
    )


@pytest.mark.slow
def test_more_like_a_selection_is_framed_and_stepped_through(hand: Hand) -> None:
    root, box = hand.root, hand.root.get_by_role("combobox", name="Find ops")
    found_like_two_ops(hand)
    assert hand.clicks == 2
    expect(box).to_be_focused()
    notes = root.get_by_role("list", name="About the matches")
    expect(notes).to_contain_text("'tapped' outside reads 'dense2/biased', which is inside.")
    expect(notes).to_contain_text("'tapped' is Tanh where the pattern has Relu")
    for dark in (False, True):
        set_theme(hand.page, dark=dark)
        hand.widget.settled()
        shoot(root, f"patterns_found_{'dark' if dark else 'light'}")
    for key, where, name in (
        ("Enter", "1 of 4", "dense1/act"),
        ("Enter", "2 of 4", "dense2/act"),
        ("Shift+Enter", "1 of 4", "dense1/act"),
        ("Shift+Enter", "4 of 4", "dense4/act"),
    ):
        hand.press(key)
        expect(root.locator(".tgw-hit-place")).to_have_text(where)
        expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", name)
        hand.widget.settled()
    shoot(root, "patterns_stepped_dark")
    # The text is a pattern like any other; what cannot be read has a caret under the place.
    box.fill("pattern:Relu(BiasAdd(x, b=))")
    why = root.locator(".tgw-hits-total[data-wrong=true]")
    expect(why).to_contain_text("expected an op type, a name or a number")
    lines = why.inner_text().splitlines()
    assert lines[2].index("^") == lines[1].index("))")
    shoot(root, "patterns_caret_dark")
    assert hand.widget.notebook.kernel_eval("editor.history.done") == []


def test_all_matches_are_replaced_as_one_step_after_their_count(hand: Hand) -> None:
    root = hand.root
    before = hand.widget.notebook.kernel_eval("sorted(editor._core.index.names)")
    found_like_two_ops(hand)
    hand.click(root.get_by_role("button", name="Replace all …"))
    form = root.locator(".tgw-replace-all form")
    preview = form.get_by_role("status", name="Preview")
    field = form.get_by_role("combobox", name="Replace by")
    expect(field).to_be_focused()

    # A replacement that cannot be is refused before it is made, and Escape leaves all as it was.
    hand.type("LeakyRelu(nothing)")
    expect(preview).to_contain_text("The pattern has no tensor 'nothing'")
    hand.press("Escape")
    expect(form).to_be_hidden()
    expect(root.get_by_role("combobox", name="Find ops")).to_be_focused()

    hand.click(root.get_by_role("button", name="Replace all …"))
    hand.type("Relu6")
    expect(preview).to_contain_text("4 matches, 3 replaceable, 1 not.")
    expect(preview).to_contain_text("'tapped' outside reads 'dense2/biased', which is inside")
    hand.widget.settled()
    for dark in (False, True):
        set_theme(hand.page, dark=dark)
        hand.widget.settled()
        shoot(root, f"patterns_replace_{'dark' if dark else 'light'}")
    hand.click(form.get_by_role("button", name="Apply"))
    (line,) = hand.lines(1)
    assert line.startswith("editor.replace_all(")
    expect(hand.widget.status).to_contain_text("Replaced 3 of 4 matches")
    shoot(root, "patterns_replaced_dark")
    hand.page.keyboard.press("Control+z")
    expect(hand.widget.status).to_contain_text("Undone: ")
    assert hand.widget.notebook.kernel_eval("sorted(editor._core.index.names)") == before
