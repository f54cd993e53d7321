"""The first picture of a graph can be read in a small pane, too, and stays as it is when the pane
grows.
"""

from __future__ import annotations

import pytest
import tensorflow as tf
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.letters import drawn_texts, record_texts
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

READABLE = 0.55
LEAST = 9 - 1e-6  # the size of the smallest letters
ACTS = tf.nn.relu, tf.tanh, tf.sqrt, tf.negative, tf.abs, tf.exp


@pytest.mark.slow
def test_what_is_open_at_first_can_be_read_in_its_pane(
    page: Page, jupyter_server: JupyterServer
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        for tower in range(4):
            last = x
            for block in range(6):
                for k in range(3):
                    name = f"tower_{tower}/convolution_and_normalization_{block}/n{k}"
                    last = ACTS[(tower + block + k) % 6](last, name=name)
            tf.nn.softmax(last, name=f"predictions_{tower}")
    path = jupyter_server.root / "towers.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())

    # In a small cell the towers are closed; all of the drawing is in the frame, and can be read.
    page.set_viewport_size({"width": 1360, "height": 860})
    show = f"editor = tgw.edit({str(path)!r})\neditor.view.widget.height = 340\neditor"
    cells = ["import tfgraphwidget as tgw", show]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "first.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    assert notebook.kernel_eval("sorted(editor.view.expanded)") == []
    assert widget.number("zoom") >= READABLE
    record_texts(page)
    set_theme(page, dark=True)
    widget.settled()
    texts = drawn_texts(root)
    assert {f"tower_{k}" for k in range(4)} <= {text.text for text in texts}
    assert [text for text in texts if text.size < LEAST] == []
    shoot(root, "first_picture_cell_dark")
    items = root.get_attribute("data-items")
    set_theme(page, dark=False)
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    widget.settled()
    expect(root).to_have_attribute("data-items", items or "")

    # A document has more room: the towers are open.
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(jupyter_server.page_url("towers.pb"))
    document = page.locator(".tfgraphwidget")
    expect(document).to_have_attribute("data-status", "ready", timeout=120_000)
    assert float(document.get_attribute("data-zoom") or 0) >= READABLE
    assert int(document.get_attribute("data-items") or 0) > int(items or 0) + 20
    shoot(page, "first_picture_document_light")
    # There the wheel zooms, though nothing was clicked.
    canvas, zoom = (
        document.locator("canvas").first.bounding_box(),
        document.get_attribute("data-zoom") or "",
    )
    assert canvas
    page.mouse.move(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2)
    page.mouse.wheel(0, -100)
    expect(document).not_to_have_attribute("data-zoom", zoom)
