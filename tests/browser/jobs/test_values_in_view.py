"""What a run has found is in view in the panel; only variables that can be fed are offered, others
get a sentence.
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
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 64], name="x")
    weights = v1.get_variable("weights", [64, 3000], use_resource=True)
    product = tf.matmul(x, weights, name="product")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
batch, narrow, eager, text = np.ones([5, 64]), np.ones([5, 8], np.float32), tf.ones([2, 64]), "text"
number = 1.5
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600
"""
OPTIONS = "row => [...row.querySelectorAll('datalist option')].map((option) => option.value)"
# Whether all of an element is inside of the scrolled page of its tab.
IN_VIEW = """element => {
    const [box, page] = [element, element.closest(".tgw-tab-page")]
        .map((one) => one.getBoundingClientRect());
    return page.top <= box.top && box.bottom <= page.bottom;
}"""


def test_a_result_comes_into_view_and_only_what_fits_is_offered(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    path = write_notebook(jupyter_server, "in_view.ipynb", [GRAPH, "editor"])
    notebook = open_notebook(page, jupyter_server, path)
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    hand = Hand(Widget(notebook, root))
    panel = root.get_by_role("tabpanel", name="Op")
    hand.widget.click("product")
    hand.widget.settled()

    # Neither tensors and variables of a graph, nor arrays of another shape.
    panel.get_by_role("button", name="Values", exact=True).click()
    row = panel.get_by_role("group", name="x:0")
    row.get_by_role("combobox", name="Value", exact=True).select_option("variable")
    assert row.evaluate(OPTIONS) == ["eager", "batch"]
    source = row.get_by_role("combobox", name="Name")
    for name, why in (
        (
            "weights",
            (
                "'weights' is a ResourceVariable; choose an array, a number, a list or an eager "
                "tensor."
            ),
        ),
        ("narrow", "shape 5×8 does not fit ?×64"),
        ("text", "'text' is string, which does not fit float32; cast it in a cell."),
        ("number", "x:0: a scalar does not fit ?×64"),
        ("nothing", "The notebook has no variable 'nothing'"),
    ):
        source.fill(name)
        page.keyboard.press("Enter")
        expect(row.get_by_role("alert")).to_contain_text(why)
    shoot(page, "feed_refused_light")

    # The result is in view, with its button, and nothing but the panel was scrolled.
    source.fill("batch")
    source.scroll_into_view_if_needed()
    place = root.bounding_box()
    page.keyboard.press("Enter")
    result = panel.get_by_role("group", name="Value in the last run")
    expect(result).to_contain_text("5×3000")
    page.wait_for_function(IN_VIEW, arg=result.element_handle())
    assert (
        panel.locator(".tgw-outputs").get_by_role("button", name="As variable …").evaluate(IN_VIEW)
    )
    assert root.bounding_box() == place
    set_theme(page)
    shoot(page, "values_in_view_dark")

    # The next run, too, which finds the same values: by the menu, after the panel was scrolled
    # away.
    panel.evaluate("page => { page.scrollTop = 0; }")
    assert not result.evaluate(IN_VIEW)
    hand.right_click("product")
    hand.choose("Values")
    page.wait_for_function(IN_VIEW, arg=result.element_handle())
