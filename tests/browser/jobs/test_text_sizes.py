"""At every zoom the letters of a rank have one size, none is under 9 pixels, and no line strikes
through its label.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.letters import check_texts, record_texts
from tests.browser.server import JupyterServer
from tests.slow import slow

pytestmark = pytest.mark.one_page

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    h = v1.placeholder(tf.float32, [None, 32, 32, 3], name="images")
    labels = v1.placeholder(tf.float32, [None, 10], name="labels")
    for k in range(3):
        with v1.variable_scope(f"block_{k}"), v1.variable_scope("convolution_with_a_long_name"):
            kernel, bias = (
                v1.get_variable("kernel", [3, 3, h.shape[3], 8]),
                v1.get_variable("bias", [8]),
            )
            h = tf.nn.relu(tf.nn.conv2d(h, kernel, 1, "SAME") + bias)
            h = v1.nn.dropout(
                tf.nn.max_pool2d(h, 2, 2, "SAME", name="pool"), rate=0.5, name="dropout"
            )
    with v1.variable_scope("logits"):
        logits = tf.reshape(h, [-1, 128]) @ v1.get_variable("kernel", [128, 10])
    parts = tf.split(logits, 5, 1, name="parts")
    logits = tf.concat([part * 2.0 for part in parts], 1, name="joined")
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits), name="loss")
    v1.train.AdamOptimizer(0.1).minimize(loss, name="step")
editor = tgw.edit(graph)
editor.view.expand()
editor.view.widget.height = 790
"""
ZOOMS = (0.35, 0.5, 0.7, 0.9, 1.2)
MOST_STEPS = 60


def zoom_to(widget: Widget, wanted: float) -> None:
    """Turn the wheel over the middle of the drawing until it is as near as that."""
    page = widget.page
    page.mouse.move(*widget.center())
    for _ in range(MOST_STEPS):
        zoom = widget.number("zoom")
        if abs(zoom / wanted - 1) < 0.12:
            break
        before = widget.root.get_attribute("data-zoom") or ""
        page.mouse.wheel(0, -40 if zoom < wanted else 40)
        expect(widget.root).not_to_have_attribute("data-zoom", before)
    else:
        raise AssertionError(f"the wheel does not lead to {wanted}")
    page.mouse.move(0, 0)
    widget.settled()


@pytest.mark.parametrize("theme", ["light", slow("dark")])
def test_letters_have_one_size_per_rank_at_every_zoom(
    page: Page, jupyter_server: JupyterServer, theme: str
) -> None:
    page.set_viewport_size({"width": 1600, "height": 900})
    page.emulate_media(reduced_motion="reduce")  # one step of the zoom is one drawing
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "sizes.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    root.focus()
    record_texts(page)
    set_theme(page, dark=theme == "dark")
    widget.settled()
    root.focus()
    page.keyboard.press("f")
    widget.settled()
    for wanted in ZOOMS:
        zoom_to(widget, wanted)
        texts = check_texts(root, widget.number("zoom"))
        assert len(texts) > 15, (theme, wanted)
        shoot(root, f"text_sizes_{round(100 * wanted)}_{theme}")
