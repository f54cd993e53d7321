"""The legend explains every mark in the drawing, and so does pointing at it; a part is cloned with
ten keys.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.jobs.counted import CLONE_BY_KEYS, Hand
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
    y = x
    with tf.name_scope("net"):
        for layer in range(4):
            with tf.name_scope(f"layer_{layer}"):
                y = tf.nn.relu(tf.negative(y, name="minus"), name="act")
    with graph.control_dependencies([tf.identity(x, name="check")]):
        out = tf.nn.softmax(y, name="out")
    lost = tf.nn.elu(out, name="lost")
editor = tgw.edit(graph, session=v1.Session(graph=graph))
editor.view.widget.height = 600
"""
# What is below the pointer in the legend's padding and in the empty end of its heading.
THROUGH = """legend => {
    const {left, top, bottom} = legend.getBoundingClientRect();
    const canvas = document.querySelector(".tgw-stage canvas");
    const below = (x, y) => document.elementsFromPoint(x, y)[0].closest(".tgw-stage") !== null
        && !legend.contains(document.elementFromPoint(x, y));
    return below(left + 2, top + 2) && below(left + 2, (top + bottom) / 2);
}"""
STACK = "Stacked box: a closed scope; double-click it to open it."
CONTROL = "Dashed line: control inputs only."
SMALL = """
with tf.Graph().as_default() as graph:
    tf.identity(v1.placeholder(tf.float32, [None, 3], name="x"), name="y")
small = tgw.edit(graph)
small.view.widget.height = 600
small
"""


@pytest.mark.slow
def test_a_legend_that_is_opened_moves_off_the_box_that_it_would_cover(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "way.ipynb", [GRAPH, SMALL])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    legend, canvas = root.locator(".tgw-legend"), root.locator("canvas").first.bounding_box()
    assert canvas
    # The ops are where the legend is when it is open, and above it when it is closed.
    x, y = widget.place("y")
    page.mouse.move(canvas["x"] + 20, canvas["y"] + canvas["height"] - 20)
    page.mouse.down()
    right, down = canvas["x"] + canvas["width"] - 110 - x, canvas["y"] + canvas["height"] - 90 - y
    page.mouse.move(canvas["x"] + 20 + right, canvas["y"] + canvas["height"] - 20 + down, steps=5)
    page.mouse.up()
    widget.place("y")
    expect(legend).not_to_have_class(re.compile("tgw-up"))
    root.get_by_role("button", name="Legend").click()
    expect(legend).to_have_class(re.compile("tgw-(up|left)"))
    root.get_by_role("button", name="Legend").click()
    expect(legend).not_to_have_class(re.compile("tgw-(up|left)"))


@pytest.mark.slow  # keys: test_keyboard.py; words of marks: meanings.test.ts
def test_a_part_is_cloned_with_ten_keys_and_each_mark_is_explained(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "legend.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))

    # Ten keys: a name that is typed in full is found, and the keys of the drawing are for it at
    # once.
    root.focus()
    for name, key, marked in (("x", "i", "inputs"), ("out", "o", "outputs")):
        hand.press("/")
        hand.type(name)
        hand.press("Enter")
        expect(root.get_by_role("combobox", name="Find ops")).not_to_be_focused()
        hand.press(key)
        hand.widget.settled()
        assert notebook.kernel_eval(f"len(editor.{marked})") == 1
    hand.press("c")
    expect(root.get_by_role("textbox", name="scope")).to_be_focused()
    hand.press("Enter")
    assert len(hand.lines(1)) == 1
    hand.done(CLONE_BY_KEYS)

    # The legend has the marks that are there; pointing at a mark says the same.
    root.get_by_role("button", name="Legend").click()
    legend = root.get_by_role("list", name="Marks")
    meanings = legend.get_by_role("listitem").all_inner_texts()
    assert {STACK, CONTROL, "Purple glow: made or changed by the last edit."} <= set(meanings)
    shoot(root, "legend_light")
    # Where nothing is written on it, the pointer is on the drawing.
    assert root.locator(".tgw-legend").evaluate(THROUGH)
    hint = root.locator(".tgw-tooltip-marks")
    closed = notebook.kernel_eval(
        "next(n for n, k in zip(editor.view.scene().names, editor.view.scene().kind) if k == 1)"
    )
    box = root.evaluate(AT_REST, closed)
    page.mouse.move(box["x"], box["y"] + box["height"] / 2 + 3)
    expect(hint).to_contain_text(STACK)
    shoot(root, "legend_hover_light")
    (x, y), (_, lower) = hand.widget.place("out"), hand.widget.place("lost")
    page.mouse.move(x, (y + lower) / 2)
    expect(hint).to_contain_text("▲ out: an output of the selection.")
    # So is a frame that the screen has beside the drawing's own marks.
    hand.widget.click("lost")
    hand.widget.settled()
    picked = root.evaluate(AT_REST, "lost")
    page.mouse.move(picked["x"] - picked["width"] / 2 - 3, picked["y"])
    expect(hint).to_contain_text("Black frame: the op in the Op tab")
    set_theme(page, dark=True)
    hand.widget.settled()
    shoot(root, "legend_dark")
    root.evaluate("root => { root.style.width = '520px'; }")
    hand.widget.settled()
    shoot(root, "legend_narrow_dark")
