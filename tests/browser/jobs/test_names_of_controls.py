"""No two controls of a toolbar, a tab or a menu have the same name, by which a screen reader tells
them apart.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import open_notebook, write_notebook
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
        with v1.variable_scope(layer):
            w = v1.get_variable("w", [3, 3], initializer=v1.ones_initializer(), use_resource=True)
            h = tf.nn.relu(tf.matmul(h, w, name="product"), name="act")
    y = tf.negative(h, name="y")
    doubled = tf.function(lambda t: t + t, autograph=False)(y)
    both = tf.add(y, y, name="both")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 600
"""
# The names that several visible controls have, each with its place and the roles of the controls.
# Links to one op do the same everywhere, and items of the tree of ops and scopes have different
# places in it: both are left out.
SHARED = """root => {
    const CONTROLS = "button, input, select, textarea, summary, a[href], [tabindex], [role=option]";
    const PLACES = "[role=toolbar], [role=tabpanel], [role=menu], [role=dialog], "
        + "[role=listbox] [role=group]";
    const text = (element) => element.innerText.trim().replace(/\\s+/g, " ");
    const named = (element) =>
        (element.getAttribute("aria-labelledby") ?? "").split(" ")
            .map((id) => root.querySelector(`[id="${id}"]`))
            .filter(Boolean).map(text).join(" ") ||
        element.getAttribute("aria-label") || [...(element.labels ?? [])].map(text).join(" ") ||
        (element.matches("input, select, textarea") ? "" : text(element)) || element.title ||
            element.placeholder || "";
    const kind = (element) =>
        element.getAttribute("role") ??
            (element.type === "checkbox" ? "checkbox" : element.tagName.toLowerCase());
    const found = new Map();
    for (const element of root.querySelectorAll(CONTROLS)) {
        if (!element.checkVisibility({ visibilityProperty: true }) || element === root) continue;
        if (element.closest("[role=tree]") || element.matches(".tgw-link[data-name]")) continue;
        const place = element.parentElement.closest(PLACES);
        const key = JSON.stringify([place ? named(place) || place.className : "", named(element)]);
        found.set(key, [...(found.get(key) ?? []), kind(element)]);
    }
    return [...found].filter(([, kinds]) => kinds.length > 1)
        .map(([key, kinds]) => [...JSON.parse(key), kinds]);
}"""


@pytest.fixture
def hand(page: Page, jupyter_server: JupyterServer) -> Hand:
    """Two layers and a called function in the widget of a notebook's cell."""
    page.set_viewport_size({"width": 1360, "height": 860})
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "names.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Hand(Widget(notebook, root))


def test_no_two_controls_of_a_place_have_the_same_name(hand: Hand) -> None:
    root, widget = hand.root, hand.widget
    shared: list[object] = []

    def look(state: str) -> None:
        widget.settled()
        shared.extend((state, *one) for one in root.evaluate(SHARED))

    for name in ("Costs", "History", "Op", "Selection", "Model"):
        widget.tab(name)
        look(f"{name}, nothing done")
    widget.click("both")
    look("an op")
    expect(root.get_by_role("button", name="Close the inspector")).to_have_text("Close")
    root.get_by_role("tabpanel", name="Op").get_by_role("button", name="Insert after").click()
    look("an op and a form")
    widget.click("one")
    look("a scope")
    widget.click("x", "Shift")
    widget.click("y", "Alt")
    look("a boundary")
    widget.notebook.kernel_eval(
        "0", before="editor.clone(); editor.rename('y', 'end'); editor.undo()"
    )
    for name in ("History", "Costs", "Op", "Selection", "Model"):
        widget.tab(name)
        look(f"{name}, with edits")
    widget.show_python()
    look("lines of Python")
    for name in ("View", "Export"):
        root.get_by_role("button", name=name, exact=True).click()
        look(name)
        hand.press("Escape")
    for name in ("one", "both"):
        hand.right_click(name)
        look(f"the menu of {name}")
        hand.press("Escape")
    root.get_by_role("combobox", name="Find ops").fill("act")
    expect(root.get_by_role("option").first).to_be_visible()
    look("search")
    root.get_by_role("button", name="How to search").click()
    look("how to search")
    hand.press("Escape")
    hand.press("?")
    look("help")
    assert shared == []
