"""The most expensive layer is one click away, with its number; the table and the drawing show each
other's items.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import COSTS, Hand
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    h = v1.placeholder(tf.float32, [None, 32, 32, 3], name="images")
    for k, channels in enumerate((8, 64, 16), 1):
        with v1.variable_scope(f"conv{k}"):
            kernel = v1.get_variable("kernel", [3, 3, h.shape[3], channels], use_resource=True)
            h = tf.nn.relu(tf.nn.conv2d(h, kernel, 1, "SAME", name="Conv2D"), name="Relu")
    y = tf.reduce_mean(h, [1, 2], name="pooled")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.collapse()
editor.view.widget.height = 600
"""


def test_the_most_expensive_layer_is_one_click_away(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "costs.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))

    # One click: the first row, with its number.
    hand.click(root.get_by_role("tab", name="Costs"))
    table = root.get_by_role("table", name="Costs")
    rows = table.locator("tbody tr")
    expect(rows.first).to_have_attribute("data-name", "conv3/Conv2D")
    expect(rows.first).to_contain_text("18.9M")
    expect(rows.first).to_contain_text("66 %")
    expect(rows.nth(1)).to_have_attribute("data-name", "conv2/Conv2D")
    expect(table.locator("tfoot")).to_contain_text("28.8M")
    hand.done(COSTS)
    # A name has the whole width of the table, and of a longer one the end is shown.
    name, row = rows.first.get_by_role("button").bounding_box(), rows.first.bounding_box()
    assert name
    assert row
    assert name["width"] > 0.9 * row["width"]
    shoot(page, "costs_light")

    # The top 10 at first; the rest on demand.
    expect(rows).to_have_count(10)
    more = root.get_by_role("button", name="Show more (")
    more.click()
    expect(rows.nth(10)).to_be_attached()
    root.get_by_role("button", name="Show the top 10").click()
    expect(rows).to_have_count(10)

    # A row shows its op in the drawing; what is selected there is the row that is marked.
    hand.click(rows.nth(1))
    hand.widget.settled()
    assert "conv2" in notebook.kernel_eval("list(editor.view.expanded)")
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    hand.widget.click("conv2/Relu")
    hand.widget.settled()
    root.get_by_role("tab", name="Costs").click()
    expect(table.locator("tr[aria-selected=true]")).to_have_attribute("data-name", "conv2/Relu")

    # Sorted by the head that is clicked; by scope.
    table.get_by_role("button", name="Params").click()
    expect(rows.first).to_have_attribute("data-name", "conv3/Conv2D")
    expect(rows.first).to_contain_text("9.22k")
    root.get_by_role("button", name="Scopes").click()
    expect(rows.first).to_have_attribute("data-name", "conv3/")
    table.get_by_role("button", name="Name").click()
    expect(rows.first).to_have_attribute("data-name", "conv1/")

    # Times are measured with the feeds that the form asks for.
    root.get_by_role("button", name="Measure time").click()
    panel = root.get_by_role("tabpanel", name="Costs")
    panel.get_by_role("button", name="Run").click()
    hand.widget.settled()
    expect(table.locator("tfoot td").last).to_contain_text("s")
    set_theme(page, dark=True)
    hand.widget.settled()
    root.get_by_role("group", name="Color by cost").get_by_role("button", name="FLOPs").click()
    hand.widget.settled()
    shoot(page, "costs_dark")
    page.mouse.move(*hand.widget.place("conv3"))
    expect(root.locator(".tgw-tooltip")).to_contain_text("FLOPs: 18.9 MFLOP")
