"""Views of one editor in panes of different shape: each wraps to its own; scopes and selection are
those of both.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import AT_REST, Widget
from tests.browser.lab import open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

BRANCHES = tuple(f"branch_{letter}" for letter in "abcdefgh")
GRAPH = f"""
import ipywidgets
import tensorflow as tf
import tfgraphwidget as tgw

graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
    for branch in {BRANCHES}:
        tf.nn.relu(tf.negative(x, name=f"{{branch}}/negative"), name=f"{{branch}}/act")
editor = tgw.edit(graph)
editor.view.widget.height = 600
"""
NARROW = "ipywidgets.Box([editor.view.widget], layout={'width': '380px'})"


def places(root: Locator) -> dict[str, tuple[float, float]]:
    """Where the branches are on the canvas of a view."""
    canvas = root.locator(".tgw-stage canvas").first.bounding_box()
    assert canvas
    spots = {name: root.evaluate(AT_REST, name) for name in BRANCHES}
    return {
        name: (spot["x"] - canvas["x"], spot["y"] - canvas["y"]) for name, spot in spots.items()
    }


def is_wide(root: Locator) -> bool:
    """Whether the branches lie side by side rather than one below the other."""
    wide, high = (max(along) - min(along) for along in zip(*places(root).values(), strict=True))
    return bool(wide > high)


def test_each_view_wraps_to_its_own_pane(page: Page, jupyter_server: JupyterServer) -> None:
    page.set_viewport_size({"width": 1440, "height": 1500})
    path = write_notebook(jupyter_server, "two_panes.ipynb", [GRAPH, "editor", NARROW])
    notebook = open_notebook(page, jupyter_server, path)
    notebook.run_cell(0)
    first = Widget(notebook, notebook.run_cell(1).locator(".tfgraphwidget"))
    before = places(first.root)
    assert is_wide(first.root)
    second = Widget(notebook, notebook.run_cell(2).locator(".tfgraphwidget"))
    second.root.scroll_into_view_if_needed()
    shoot(page, "two_panes")
    assert not is_wide(second.root)
    assert places(first.root) == before

    # What is opened in one is open in both, where it was and in the shape of each.
    expect(second.root).to_have_attribute(
        "data-items", first.root.get_attribute("data-items") or ""
    )
    items = first.number("items")
    second.click("branch_a", double=True)
    expect(second.root).not_to_have_attribute("data-items", str(int(items)))
    expect(first.root).to_have_attribute(
        "data-items", second.root.get_attribute("data-items") or ""
    )
    assert is_wide(first.root)
    assert not is_wide(second.root)
    # So is what is selected, in the drawing of each.
    first.click("branch_b", "Control")
    for view in (first, second):
        expect(view.root).to_have_attribute("data-selected-ops", "2")
        view.settled()
    shoot(page, "two_panes_selected")

    # The layout of one is reset, the other stays as it is.
    after, narrow = places(first.root), places(second.root)
    second.root.focus()
    page.keyboard.press("U")
    second.settled()
    assert places(second.root) != narrow
    first.settled()
    assert places(first.root) == after
