"""The wheel scrolls the notebook until the drawing is clicked; regular expressions are a switch;
help is `?`.
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
graph = tf.Graph()
with graph.as_default():
    h = v1.placeholder(tf.float32, [None, 3], name="x")
    for layer in ("one", "two"):
        h = tf.nn.relu(tf.negative(h, name=f"{layer}/neg"), name=f"{layer}/act")
editor = tgw.edit(graph)
editor.view.widget.height = 600
"""
IS_ABOVE = "([root, before]) => root.getBoundingClientRect().top < before"


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """A small graph in a cell of a notebook that is longer than the window."""
    page.set_viewport_size({"width": 1360, "height": 860})
    cells = [GRAPH, "editor", *["\n" * 12] * 4]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "wheel.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    notebook.cell(2).locator(".cm-content").click()
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def top_of(hand: Hand) -> float:
    """Where the widget begins on the page."""
    box = hand.root.bounding_box()
    assert box
    return box["y"]


def test_the_wheel_scrolls_the_notebook_until_the_drawing_is_clicked(hand: Hand) -> None:
    page, widget = hand.page, hand.widget
    zoom, hint = widget.number("zoom"), hand.root.locator(".tgw-wheel-hint")
    page.mouse.move(*widget.center())
    before = top_of(hand)
    page.mouse.wheel(0, 60)
    expect(hint).to_have_text("Click to zoom with the wheel, or hold Ctrl")
    page.wait_for_function(IS_ABOVE, arg=[hand.root.element_handle(), before])
    assert widget.number("zoom") == zoom
    shoot(page, "wheel_hint_light")
    expect(hint).to_be_hidden()

    # With Ctrl it zooms, and the notebook stays.
    page.mouse.move(*widget.center())
    before = top_of(hand)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -20)
    page.keyboard.up("Control")
    expect(hand.root).not_to_have_attribute("data-zoom", f"{zoom:.3f}")
    widget.settled()
    zoom = widget.number("zoom")

    # Once it is clicked, it zooms without.
    hand.click_at(*widget.center())
    widget.settled()
    page.mouse.wheel(0, -100)
    expect(hand.root).not_to_have_attribute("data-zoom", f"{zoom:.3f}")
    assert top_of(hand) == before


@pytest.mark.slow
def test_regular_expressions_are_a_switch_and_help_is_a_question_mark(hand: Hand) -> None:
    root, page = hand.root, hand.page
    field = root.get_by_role("combobox", name="Find ops")
    switch = root.get_by_role("button", name="Use regular expression")
    expect(switch).to_have_text(".*")
    hand.click(field)
    hand.type("^one.*t$")
    expect(root.locator(".tgw-hits-total")).to_have_text("No matches")
    hand.click(switch)
    expect(switch).to_have_attribute("aria-pressed", "true")
    expect(root.locator(".tgw-hit")).to_have_count(1)
    expect(root.locator(".tgw-hit")).to_have_attribute("data-name", "one/act")
    shoot(root, "search_regex_light")
    hand.press("Alt+r")
    expect(switch).to_have_attribute("aria-pressed", "false")
    expect(root.locator(".tgw-hits-total")).to_have_text("No matches")
    hand.press("Escape")
    expect(root.get_by_role("button", name="How to search")).to_have_text("?")
    hand.press("?")
    sheet = root.get_by_role("dialog", name="Keys and gestures")
    for words in (
        "Expand all scopes",
        "Toggle minimap",
        "Reset layout",
        "Clone the selection",
        "Refresh",
    ):
        expect(sheet).to_contain_text(words)
    set_theme(page, dark=True)
    shoot(root, "help_dark")
