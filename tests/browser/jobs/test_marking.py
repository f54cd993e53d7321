"""A part is marked by its first and last op, or by a scope, and cloned; then the pointer is a
pointer again.
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
    h = v1.placeholder(tf.float32, [None, 8, 8, 2], name="image")
    for layer in ("conv1", "conv2", "conv3"):
        with v1.variable_scope(layer):
            w = v1.get_variable("w", [3, 3, 2, 2], use_resource=True)
            h = tf.nn.relu(tf.nn.conv2d(h, w, 1, "SAME", name="Conv2D"), name="Relu")
    with tf.name_scope("heads"):
        classes, boxes = tf.nn.softmax(h, name="classes"), tf.tanh(h, name="boxes")
    both = tf.concat([classes, boxes], 0, name="both")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.expand()
editor.view.collapse("conv3")
editor.view.collapse("heads")
editor.view.widget.height = 600
"""


@pytest.mark.slow  # test_clone_by_clicking.py marks and clones, by keys and a double click
def test_a_part_is_marked_and_cloned(page: Page, jupyter_server: JupyterServer) -> None:
    # The drawing is as wide, and all of it in view.
    page.set_viewport_size({"width": 1440, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "marks.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    toolbar = root.get_by_role("toolbar").first

    # From a convolution to a scope: each is taken in.
    hand.click(toolbar.get_by_role("button", name="Input", exact=True))
    hand.click_at(*hand.widget.place("conv2/Conv2D"))
    hand.click(toolbar.get_by_role("button", name="Output", exact=True))
    hand.click_at(*hand.widget.place("conv3"))
    expect(root).to_have_attribute("data-mode", "look")
    expect(root.locator(".tgw-expression")).to_have_text(
        "editor.between(['conv1/Relu:0'], ['conv3/Relu:0'])"
    )
    hand.widget.settled()
    shoot(page, "marking_light")
    hand.click(root.get_by_role("button", name="Clone", exact=True))
    (line,) = hand.lines(1)
    assert (
        line
        == 'copy = editor.clone(inputs=["conv1/Relu:0"], outputs=["conv3/Relu:0"], into="copy")'
    )
    names = set(notebook.kernel_eval("list(editor._core.index.names)"))
    assert {"copy/conv2/Conv2D", "copy/conv2/w", "copy/conv3/Relu"} <= names
    assert "copy/conv1/Relu" not in names
    assert hand.clicks == 5

    # A click selects nothing now, it only shows.
    hand.click_at(*hand.widget.place("both"))
    expect(root.locator(".tgw-inspector")).to_contain_text("both")
    assert notebook.kernel_eval("list(editor.inputs)") == ["conv1/Relu:0"]


@pytest.mark.slow
def test_of_several_tensors_of_a_scope_some_are_ticked(
    page: Page, jupyter_server: JupyterServer
) -> None:
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "ticks.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    ticks = root.get_by_role("dialog", name="Which tensors are the output?")
    for dark in (False, True):
        set_theme(page, dark=dark)
        hand.widget.settled()
        hand.right_click("heads")
        hand.choose("Mark as output")
        expect(ticks.get_by_role("checkbox", checked=True)).to_have_count(2)
        shoot(page, f"marking_ticks_{'dark' if dark else 'light'}")
        if not dark:
            hand.press("Escape")
            expect(ticks).to_be_hidden()
    hand.click(ticks.get_by_role("checkbox").last)
    hand.click(ticks.get_by_role("button", name="Mark as output"))
    expect(ticks).to_be_hidden()
    hand.widget.settled()
    assert notebook.kernel_eval("list(editor.outputs)") == ["heads/classes:0"]
    hand.right_click("image")
    hand.choose("Mark as input")
    hand.widget.settled()
    shoot(page, "marking_source_dark")
    assert notebook.kernel_eval("[list(editor.inputs), len(editor.selection.variables)]") == [
        ["image"],
        3,
    ]
