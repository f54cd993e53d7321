"""A graph is compared with its own frozen file: the page says that it was frozen, and colors no op
as added or removed. Boxes that are like the clicked one are selected with one more click.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer

# What is compared and what is alike: tests/graph; that a page compares: test_beside.py.
pytestmark = [pytest.mark.one_page, pytest.mark.slow]

GRAPH = """
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    x = v1.placeholder(tf.float32, [None, 4], name="x")
    for k in range(3):
        with v1.variable_scope(f"layer_{k}"):
            w = v1.get_variable("w", [4, 4], use_resource=True)
            x = tf.nn.relu(tf.matmul(x, w, name="product"), name="act")
    sess = v1.Session(graph=graph)
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
path = editor.save("frozen.pb", outputs=["layer_2/act:0"], frozen=True, verify=False)
editor.view.widget.height = 600
"""


def test_a_frozen_file_is_explained_and_equal_layers_are_selected(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "usual.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    box = root.locator(".tgw-stage canvas").first.bounding_box()
    assert box
    hand.click_at(box["x"] + 12, box["y"] + box["height"] / 2, button="right")
    hand.choose("Compare with …")
    hand.fill(hand.menu.get_by_role("combobox", name="Graph"), "frozen.pb")
    hand.click(hand.menu.get_by_role("button", name="Compare"))
    expect(hand.menu).to_be_hidden()
    changes = root.locator(".tgw-changes")
    expect(changes).to_contain_text("not frozen: 3 constants became variables")
    expect(changes.locator("details")).to_have_count(0)
    hand.widget.settled()
    shoot(page, "explained_light")

    hand.click_at(*hand.widget.place("layer_1"))
    more = root.get_by_role("button", name="×2 more like this")
    expect(more).to_be_visible()
    hand.click(more)
    hand.widget.settled()
    shoot(page, "alike_light")
    selected = "sorted({op.split('/')[0] for op in editor.selection.ops})"
    assert notebook.kernel_eval(selected) == ["layer_0", "layer_1", "layer_2"]
