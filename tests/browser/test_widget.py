"""Gestures, refusals, other cells, other views: the widget on a small graph."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, shoot, write_notebook
from tests.browser.server import App, JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import numpy as np, tensorflow as tf
import tfgraphwidget as tgw
v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 4], name="x")
    other = v1.placeholder(tf.float32, [], name="other")
    h = x
    for layer in ("one", "two", "three"):
        with v1.variable_scope(layer):
            w = v1.get_variable("w", [4, 4], initializer=v1.ones_initializer())
            h = tf.nn.relu(tf.matmul(h, w, name="product"), name="out")
    with tf.device("/cpu:0"):
        y = tf.identity(h, name="y")
    aside = tf.square(other, name="aside")
    init = v1.global_variables_initializer()
sess = v1.Session(graph=graph)
sess.run(init)
seen = []
"""
SHOW = "editor = tgw.edit(graph, session=sess)\neditor.view.widget.height = 480\neditor"
OPS = "graph.version"


def shown(page: Page, server: JupyterServer, name: str, *cells: str, app: App = "lab") -> Widget:
    """A new notebook with the small graph, run cell by cell; the widget of the cell that shows the
    editor.
    """
    notebook = open_notebook(
        page, server, write_notebook(server, f"{name}.ipynb", [GRAPH, SHOW, *cells]), app
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Widget(notebook, root)


def test_gestures(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "gestures")
    root, mouse = widget.root, page.mouse

    # The wheel zooms at the pointer: what lies under it stays there.
    before, zoom = widget.place("x"), widget.number("zoom")
    root.focus()
    mouse.move(*before)
    mouse.wheel(0, -240)
    expect(root).not_to_have_attribute("data-zoom", f"{zoom:.3f}")
    assert widget.number("zoom") > zoom
    assert widget.place("x") == pytest.approx(before, abs=1.5)

    # Dragging the empty ground pans; what is shown moves with the pointer.
    at = widget.place("x")
    box = root.locator("canvas").first.bounding_box()
    assert box
    mouse.move(box["x"] + 8, box["y"] + 8)
    mouse.down()
    mouse.move(box["x"] + 68, box["y"] + 48, steps=4)
    mouse.up()
    assert widget.place("x") == pytest.approx((at[0] + 60, at[1] + 40), abs=1.5)

    # `f` fits again.
    page.keyboard.press("f")
    expect(root).to_have_attribute("data-zoom", f"{zoom:.3f}")

    # Hovering names an op.
    mouse.move(*widget.place("y"))
    expect(root.locator(".tgw-tooltip")).to_contain_text("Identity")

    # A double-click opens a scope and closes it again.
    items = root.get_attribute("data-items")
    widget.click("two", double=True)
    expect(root).not_to_have_attribute("data-items", items or "")
    widget.settled()
    assert widget.notebook.kernel_eval("'two' in editor.view.expanded") is (
        widget.number("items") > float(items or 0)
    )
    widget.click("two", double=True)
    expect(root).to_have_attribute("data-items", items or "")
    widget.settled()


@pytest.mark.slow
def test_inspector_and_search_lead_to_ops(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "inspector")
    root = widget.root
    widget.click("y")
    inspector = root.locator(".tgw-inspector")
    expect(inspector).to_contain_text("Identity")
    expect(inspector).to_contain_text("float32 ?×4")
    expect(inspector).to_contain_text("/device:CPU:0")
    inspector.locator("button[data-name='three/out']").first.click()
    expect(inspector).to_have_attribute("data-name", "three/out")
    widget.settled()
    assert widget.place("three/out")

    page.keyboard.press("/")
    page.keyboard.type("two/prod")
    hits = root.locator(".tgw-hits [role=option]")
    expect(hits.first).to_have_attribute("data-name", "two/product")
    page.keyboard.press("Enter")
    expect(inspector).to_have_attribute("data-name", "two/product")
    widget.settled()
    x, y = widget.place("two/product")
    box = root.locator("canvas").first.bounding_box()
    assert box
    assert box["x"] < x < box["x"] + box["width"]
    assert box["y"] < y < box["y"] + box["height"]
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("MatMul")
    expect(hits).to_have_count(3)
    shoot(page, "search")


@pytest.mark.slow
def test_refusals_are_sentences_and_change_nothing(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "refusals")
    notebook, root = widget.notebook, widget.root
    ops = notebook.kernel_eval(OPS)

    def refused(sentence: str) -> None:
        expect(widget.status).to_contain_text(sentence)
        widget.settled("refused")
        assert notebook.kernel_eval(OPS) == ops
        assert notebook.kernel_eval("len(editor.history.done)") == 0

    widget.click("other", "Shift")
    widget.settled()
    widget.click("y", "Alt")
    refused("No path leads from 'other' to 'y'")
    shoot(page, "refused")
    assert notebook.kernel_eval("editor.outputs") == []
    widget.click("other", "Shift")
    widget.settled()
    widget.click("x", "Shift")
    widget.click("y", "Alt")
    widget.settled()
    widget.clone("one")
    refused("The name 'one' is taken in this graph; 'one_1' is free.")
    widget.clone("not a scope")
    refused("'not a scope' is not a name scope")
    notebook.kernel_eval("0", before="sess.close()")
    widget.clone("copy")
    refused("The session is closed")
    notebook.kernel_eval(
        "0", before="editor._core.target.source.session = sess = v1.Session(graph=graph)"
    )
    widget.clone("copy")
    refused("no value in this session")
    notebook.kernel_eval("0", before="sess.run(init); graph.finalize()")
    widget.clone("copy")
    refused("The graph is finalized")
    expect(root).to_have_attribute(
        "data-selected-ops", str(notebook.kernel_eval("len(editor.selection)"))
    )


@pytest.mark.slow
def test_cells_views_and_clicks_stay_in_step(page: Page, jupyter_server: JupyterServer) -> None:
    composed = (
        "import ipywidgets\n"
        "editor.view.widget.observe(lambda change: seen.append(len(change.new)), 'selection')\n"
        "ipywidgets.HBox([editor.view.widget], layout={'width': '100%'})"
    )
    widget = shown(
        page, jupyter_server, "steps", "copy = editor.clone('x', 'y', 'by_cell')", composed
    )
    notebook, root = widget.notebook, widget.root
    ops = widget.number("ops")
    notebook.run_cell(2)
    expect(root).to_have_attribute("data-ops", str(notebook.kernel_eval("len(editor._core.index)")))
    assert widget.number("ops") > ops
    second = Widget(notebook, notebook.run_cell(3).locator(".tfgraphwidget"))
    assert second.number("ops") == widget.number("ops")
    second.root.scroll_into_view_if_needed()
    # The boundary of the clone in the cell.
    selected = notebook.kernel_eval("len(editor.selection)")
    expect(second.root).to_have_attribute("data-selected-ops", str(selected))
    second.click("x", "Shift")
    expect(root).to_have_attribute("data-selected-ops", "0")
    assert notebook.kernel_eval("[editor.inputs, editor.selection]") == [[], None]
    second.click("x", "Shift")
    second.settled()
    assert notebook.kernel_eval("seen[-1]") == selected
    expect(root).to_have_attribute("data-selected-ops", str(selected))

    # Other cells add ops: they appear with the next action.
    notebook.kernel_eval("0", before="with graph.as_default(): tf.identity(y, name='later')")
    second.root.get_by_role("button", name=re.compile("^Undo")).click()
    expect(root).to_have_attribute("data-ops", str(int(ops) + 1))


@pytest.mark.slow
def test_keyboard_and_outline_do_what_the_mouse_does(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "outline")
    tree = widget.root.get_by_role("tree")
    names = set(
        tree.get_by_role("treeitem").evaluate_all("items => items.map(item => item.dataset.name)")
    )
    assert {"x", "y"} <= names
    tree.locator("[role=treeitem][data-name=x]").first.focus()
    page.keyboard.press("i")
    widget.settled()
    tree.locator("[role=treeitem][data-name=y]").first.focus()
    page.keyboard.press("o")
    widget.settled()
    assert widget.notebook.kernel_eval("[editor.inputs, editor.outputs]") == [["x"], ["y"]]


@pytest.mark.slow
def test_a_page_that_is_loaded_again_shows_the_graph_again(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "again")
    widget.click("x", "Shift")
    widget.settled()
    page.keyboard.press("Control+s")
    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)
    page.reload()
    root = page.locator(".tfgraphwidget")
    root.wait_for(timeout=60_000)
    again = Widget(widget.notebook, root)
    assert again.number("ops") == widget.notebook.kernel_eval("len(editor._core.index)")
    again.tab("Selection")
    expect(again.root.locator(".tgw-chip[data-name=x]")).to_be_visible()


FONTS = """(() => {
    window.drawnFonts = new Set();
    for (const { prototype } of [CanvasRenderingContext2D, OffscreenCanvasRenderingContext2D]) {
        const { fillText } = prototype;
        prototype.fillText = function (...args) {
            window.drawnFonts.add(this.font);
            return fillText.apply(this, args);
        };
    }
})()"""


@pytest.mark.slow
def test_notebook_7_shows_it_too(page: Page, jupyter_server: JupyterServer) -> None:
    page.add_init_script(FONTS)
    widget = shown(page, jupyter_server, "seven_shows", app="notebook")
    # It is made before it is on the page, where it has no style yet: a canvas without a font writes
    # in its own.
    fonts = page.evaluate("[...window.drawnFonts]")
    assert fonts
    assert not [font for font in fonts if font.endswith("px sans-serif")]
    widget.click("x", "Shift")
    widget.settled()
    assert widget.notebook.kernel_eval("editor.inputs") == ["x"]
    shoot(page, "notebook_7")
