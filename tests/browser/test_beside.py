"""Two models side by side in a real notebook: what a mouse does in one pane happens in both; the
list, the keys, an edit in a cell, and the page that is saved of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import Watch, open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

CELLS = (
    """import tensorflow as tf
import tfgraphwidget as tgw

def model(scope, epsilon):
    with tf.Graph().as_default() as graph:
        h = tf.compat.v1.placeholder(tf.float32, [2, 8], name="x")
        with tf.name_scope(scope):
            for k in range(4):
                with tf.name_scope(f"block{k}"):
                    w = tf.constant(0.1 * (k + 1), tf.float32, [8, 8], name="w")
                    h = tf.matmul(h, w, name="MatMul")
                    h = tf.add(h, epsilon if k == 2 else 0.5, name="Add")
                    h = tf.nn.relu(h, name="Relu")
        tf.identity(h, name="y")
    return graph

after = tgw.edit(model("tower", 0.75))""",
    """both = tgw.beside(model("net", 0.5), after, feeds={"x:0": [[1.0] * 8] * 2})
both""",
)


def pane(root: Locator, side: int) -> Locator:
    """The view of one graph: 0 is the left one."""
    return root.locator(f".tgw-pane[data-side='{side}'] .tfgraphwidget")


def panes(page: Page, server: JupyterServer, name: str) -> tuple[Locator, Widget, Widget]:
    """The whole widget, and the hands in both panes."""
    notebook = open_notebook(page, server, write_notebook(server, f"{name}.ipynb", [*CELLS]))
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tgw-beside")
    root.scroll_into_view_if_needed()
    left, right = (Widget(notebook, pane(root, side)) for side in (0, 1))
    return root, left, right


def in_pane(widget: Widget, name: str) -> tuple[float, float]:
    """Where an item is, from the corner of its pane."""
    box = widget.root.bounding_box()
    assert box
    x, y = widget.place(name)
    return x - box["x"], y - box["y"]


def open_scopes(widget: Widget, scope: str) -> bool:
    """Whether what is in a scope is shown."""
    return bool(
        widget.root.evaluate(
            "(root, name) => root.tfgraphwidget.screenPosition(name) !== null", f"{scope}/MatMul"
        )
    )


def test_two_panes_move_expand_select_and_step_together(
    page: Page, jupyter_server: JupyterServer, browser: Browser, tmp_path: Path
) -> None:
    root, left, right = panes(page, jupyter_server, "beside")
    current = root.locator("[aria-current='step']")

    # The first divergence is selected and named, with what it reads and what reads it.
    expect(current).to_have_attribute("data-kind", "first")
    expect(current).to_contain_text("tower/block2/Add/y")
    expect(current).to_contain_text("output tower/block2/Add:0")
    expect(root.locator(".tgw-beside-said")).to_contain_text("tensors differ")
    for widget in (left, right):
        widget.settled()
    assert open_scopes(left, "net/block2")
    assert open_scopes(right, "tower/block2")
    shoot(root, "beside")

    # A scope that is closed or opened in one pane is so in the other one, at the same height.
    left.click("net/block0", double=True)
    left.settled()
    expect(right.root).to_have_attribute("data-items", left.root.get_attribute("data-items") or "")
    right.settled()
    assert not open_scopes(right, "tower/block0")
    left.click("net/block0", double=True)
    left.settled()
    expect(right.root).to_have_attribute("data-items", left.root.get_attribute("data-items") or "")
    right.settled()
    assert open_scopes(right, "tower/block0")
    assert in_pane(left, "net/block0/MatMul")[1] == pytest.approx(
        in_pane(right, "tower/block0/MatMul")[1], abs=6
    )

    # Panning and zooming move both.
    before = in_pane(left, "net/block0/MatMul"), in_pane(right, "tower/block0/MatMul")
    box = right.root.locator("canvas").first.bounding_box()
    assert box
    x, y = box["x"] + box["width"] - 60, box["y"] + box["height"] - 20  # on the empty ground
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y - 50, steps=5)
    page.mouse.up()
    moved = in_pane(left, "net/block0/MatMul"), in_pane(right, "tower/block0/MatMul")
    for was, now in zip(before, moved, strict=True):
        assert (now[0] - was[0], now[1] - was[1]) == pytest.approx((40, -50), abs=6)
    right.root.focus()
    page.keyboard.press("+")
    left.settled()
    right.settled()
    assert left.number("zoom") == right.number("zoom")

    # Selecting does, by the names of each graph.
    page.keyboard.press("f")
    right.settled()
    right.click("tower/block0/Relu", "Control")
    right.settled()
    left.settled()
    assert left.notebook.kernel_eval("list(both.before.selection)") == ["net/block0/Relu"]
    assert left.notebook.kernel_eval("list(both.after.selection)") == ["tower/block0/Relu"]

    # The list goes on with n, and back with p; a click goes anywhere.
    page.keyboard.press("n")
    expect(root.locator(".tgw-diff-place")).to_have_text("2 / 9")
    page.keyboard.press("p")
    expect(root.locator(".tgw-diff-place")).to_have_text("1 / 9")
    root.locator("[data-kind='renamed'] .tgw-diff").click()
    expect(root.locator(".tgw-diff-place")).to_have_text("9 / 9")
    for side in (0, 1):
        expect(pane(root, side)).to_have_attribute("data-status", "ready")

    # What is equal is closed, and opened again.
    root.get_by_role("button", name="Only differences").click()
    left.settled()
    right.settled()
    for widget, scope in ((left, "net"), (right, "tower")):
        assert open_scopes(widget, f"{scope}/block2")
        assert not open_scopes(widget, f"{scope}/block0")
    root.get_by_role("button", name="Only differences").click()
    right.settled()
    assert open_scopes(right, "tower/block0")

    set_theme(page)
    shoot(root, "beside_dark")

    # An edit in a cell is compared again.
    left.notebook.kernel_eval("0", before='report = after.bypass("tower/block1/Relu")')
    expect(root.locator(".tgw-beside-said")).to_contain_text("compare again")
    changed = root.locator("[data-kind='changed']", has_text="MatMul")
    expect(changed.first).to_be_visible()

    path = tmp_path / "compare.html"
    save = f"both.compare({{'x:0': [[1.0] * 8] * 2}}); both.save({str(path)!r})"
    left.notebook.kernel_eval("0", before=save)
    see_saved_page(browser, path)


def test_two_ops_are_paired_by_hand_by_button_menu_key_and_drag(
    page: Page, jupyter_server: JupyterServer
) -> None:
    root, left, right = panes(page, jupyter_server, "pairs")
    for widget in (left, right):
        widget.settled()
    pairs = "dict(both.pairs)"

    # What shows a pair is said in the pane that follows.
    left.click("net/block0/Relu")
    expect(root.locator(".tgw-pane[data-side='1'] .tgw-matched-by")).to_have_text("matched by name")

    # The op, the button, the op that it is.
    root.get_by_role("button", name="Pair", exact=True).click()
    expect(root.locator(".tgw-pairing")).to_contain_text("net/block0/Relu")
    right.click("tower/block1/Relu")
    undo = root.get_by_role("button", name="Undo pair")
    expect(undo).to_be_visible()
    assert left.notebook.kernel_eval(pairs) == {"net/block0/Relu": "tower/block1/Relu"}
    undo.click()
    expect(undo).to_be_hidden()
    assert left.notebook.kernel_eval(pairs) == {}

    # From the menus of both.
    for widget, name in ((right, "tower/block1/Relu"), (left, "net/block0/Relu")):
        widget.settled()
        page.mouse.click(*widget.place(name), button="right")
        widget.root.get_by_role("menuitem", name="Pair with an op of the other pane").click()
    expect(undo).to_be_visible()
    assert left.notebook.kernel_eval(pairs) == {"net/block0/Relu": "tower/block1/Relu"}
    undo.click()
    expect(undo).to_be_hidden()

    # By keys; Escape takes it back.
    left.settled()
    left.click("net/block0/Relu")
    page.keyboard.press("P")
    expect(root.locator(".tgw-pairing")).to_contain_text("net/block0/Relu")
    page.keyboard.press("Escape")
    expect(root.locator(".tgw-pairing")).to_have_text("")

    # Dragged with Alt from one pane to the other.
    for widget in (left, right):
        widget.settled()
    page.keyboard.down("Alt")
    page.mouse.move(*left.place("net/block0/Relu"))
    page.mouse.down()
    right.settled()  # it follows the pane in which something is done
    page.mouse.move(*right.place("tower/block1/Relu"), steps=5)
    page.mouse.up()
    page.keyboard.up("Alt")
    expect(undo).to_be_visible()
    assert left.notebook.kernel_eval(pairs) == {"net/block0/Relu": "tower/block1/Relu"}


def test_compare_with_opens_a_second_pane_in_a_widget_and_closes_it(
    page: Page, jupyter_server: JupyterServer
) -> None:
    cells = [*CELLS[:1], 'other = tgw.edit(model("net", 0.5))\nafter']
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "beside_form.ipynb", cells)
    )
    notebook.run_cell(0)
    widget = Widget(notebook, notebook.run_cell(1).locator(".tfgraphwidget"))
    widget.tab("Model")
    widget.root.get_by_role("button", name="Compare with …").click()
    widget.root.locator("input[name='source']").fill("other")
    widget.root.get_by_role("button", name="Side by side").click()
    root = notebook.output(1).locator(".tgw-beside")
    expect(root.locator(".tgw-beside-said")).to_contain_text("1 changed")
    for side in (0, 1):
        expect(pane(root, side)).to_have_attribute("data-status", "ready")
    root.get_by_role("button", name="Next difference").click()
    expect(root.locator("[aria-current='step']")).to_contain_text("0.5")
    shoot(page, "beside_form")
    root.get_by_role("button", name="Show the right graph alone").click()
    expect(root).to_have_count(0)
    Widget(notebook, notebook.output(1).locator(".tfgraphwidget")).settled()


def see_saved_page(browser: Browser, path: Path) -> None:
    """The page needs no kernel: both panes, the list and the link are in it."""
    watch = Watch("")
    with browser.new_context(viewport={"width": 1600, "height": 1000}, offline=True) as context:
        context.on("page", watch.attach)
        page = context.new_page()
        page.goto(path.as_uri())
        root = page.locator(".tgw-beside")
        for side in (0, 1):
            expect(pane(root, side)).to_have_attribute("data-status", "ready")
        expect(root.locator("[aria-current='step']")).to_have_attribute("data-kind", "first")
        page.keyboard.press("n")
        expect(root.locator(".tgw-diff-place")).to_contain_text("2 / ")
        zooms = [pane(root, side).get_attribute("data-zoom") for side in (0, 1)]
        assert zooms[0] == zooms[1]
        root.get_by_role("button", name="Only differences").click()
        expect(pane(root, 1)).to_have_attribute("data-status", "ready")
        shoot(page, "beside_page")
    assert watch.problems == []
