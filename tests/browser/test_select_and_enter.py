"""Selecting with box, lasso and Ctrl-click; rooms; a graph that grows while it is looked at."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_widget import shown

pytestmark = pytest.mark.one_page

FUNCTION = """
import tensorflow as tf
import tfgraphwidget as tgw

class Doubler(tf.Module):
    def __init__(self):
        super().__init__(name="doubler")
        self.w = tf.Variable([1.0, 2.0], name="scale/w")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="rows")])
    def __call__(self, rows):
        body = lambda i, v: (i + 1, tf.cond(i % 2 == 0, lambda: v * 2.0, lambda: v + self.w))
        return {"large": tf.while_loop(lambda i, _: i < 5, body, [0, rows * self.w])[1]}

tf.saved_model.save(Doubler(), "doubler")
editor = tgw.edit("doubler")
editor.view.widget.height = 480
"""


def drag(widget: Widget, *points: tuple[float, float], key: str = "") -> None:
    """Press at the first point, move through the others, let go at the last."""
    mouse, keyboard = widget.page.mouse, widget.page.keyboard
    mouse.move(*points[0])
    if key:
        keyboard.down(key)
    mouse.down()
    for point in points[1:]:
        mouse.move(*point, steps=5)
    mouse.up()
    if key:
        keyboard.up(key)


def around(widget: Widget, names: list[str], margin: float) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a box well around the middles of some items."""
    spots = [widget.place(name) for name in names]
    xs, ys = [x for x, _ in spots], [y for _, y in spots]
    return min(xs) - margin, min(ys) - margin, max(xs) + margin, max(ys) + margin


def chosen(widget: Widget) -> set[str]:
    """The ops of the selection, as the kernel has it."""
    widget.settled()
    return set(widget.notebook.kernel_eval("list(editor.selection or ())"))


def test_box_lasso_and_clicks_choose_ops(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "choosing")
    root = widget.root
    expression = root.locator(".tgw-expression")

    # A box takes what lies wholly inside: the closed scope "two" with all its ops.
    widget.notebook.kernel_eval("0", before="editor.view.collapse('one', 'two', 'three')")
    expect(root.locator("[role=treeitem][data-name='two/product']")).to_have_count(0)
    widget.settled()
    root.get_by_role("button", name="Box", exact=True).click()
    left, top, right, bottom = around(widget, ["two"], 58)
    drag(widget, (left, top), (right, bottom))
    expect(expression).to_contain_text("editor.ops(scope='two')")
    everything = set(
        widget.notebook.kernel_eval("[n for n in editor._core.index.names if n.startswith('two/')]")
    )
    assert everything <= chosen(widget)
    shoot(root, "box-selected")

    # Ctrl-click adds, and again takes away.
    page.keyboard.press("Escape")
    widget.click("y", "Control")
    expect(expression).to_contain_text("editor.ops('y')")
    assert "y" in chosen(widget)
    widget.click("y", "Control")
    expect(expression).to_contain_text(" - editor.ops('y')")
    assert "y" not in chosen(widget)

    # A lasso takes what it goes around.
    root.get_by_role("button", name="Lasso", exact=True).click()
    left, top, right, bottom = around(widget, ["y"], 60)
    drag(widget, (left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    expect(expression).to_contain_text("'y'")
    assert "y" in chosen(widget)


@pytest.mark.slow
def test_selections_lead_to_selections(page: Page, jupyter_server: JupyterServer) -> None:
    widget = shown(page, jupyter_server, "deriving")
    root = widget.root
    expression = root.locator(".tgw-expression")

    def press(name: str) -> None:
        root.get_by_role("button", name=name, exact=True).click()

    widget.click("x", "Control")
    root.get_by_text("Change the selection").click()
    expect(expression).to_have_text("editor.ops('x')")
    press("Downstream")
    expect(expression).to_have_text("editor.ops('x').downstream()")
    assert {"y", "three/out", "x"} <= chosen(widget)
    press("Invert")
    expect(expression).to_have_text("~editor.ops('x').downstream()")
    assert {"other", "aside"} <= chosen(widget)
    press("Clear selection")
    assert chosen(widget) == set()

    widget.click("x", "Control")
    expect(root.get_by_role("button", name="Path", exact=True)).to_be_disabled()
    widget.click("y", "Control")
    press("Path")
    expect(expression).to_have_text("editor.path('x', 'y')")
    assert chosen(widget) == set(
        widget.notebook.kernel_eval("list(editor.between('x:0', 'y') & editor.path('x', 'y'))")
    ) | {"x"}
    shoot(root, "path-selected")
    press("Grow")
    assert "three/product/ReadVariableOp" in chosen(widget)

    # What is chosen can become the boundary of a clone.
    press("Clear selection")
    widget.click("two", "Control")
    press("Use as boundary")
    expect(root.locator(".tgw-chip[data-name='two/out:0']")).to_be_visible()
    widget.settled()
    assert widget.notebook.kernel_eval("(list(editor.inputs), list(editor.outputs))") == [
        ["one/out:0"],
        ["two/out:0"],
    ]


@pytest.mark.slow
def test_functions_are_rooms(page: Page, jupyter_server: JupyterServer) -> None:
    cells = [FUNCTION, "editor"]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "rooms.ipynb", cells)
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tgw-root, .tfgraphwidget").first
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    where = root.get_by_role("navigation", name="Current graph")
    depth = where.get_by_role("button").count()
    expect(where).to_contain_text("StatefulPartitionedCall")
    loop = notebook.kernel_eval("list(editor.ops(where=lambda op: op.type.endswith('While')))[0]")
    notebook.kernel_eval("editor.view.reveal(" + repr(loop) + ")")
    widget.settled()
    widget.click(loop, double=True)
    expect(where).to_contain_text(f"{loop}:body")
    widget.settled()
    shoot(root, "inside-a-loop-body")
    widget.click("while_placeholder", "Shift")
    widget.click("while/Identity", "Alt")
    widget.settled()
    preview = root.locator(".tgw-preview")
    expect(preview).to_contain_text(
        "which hangs on the function's argument 'while_while_loop_counter'"
    )
    widget.click("while_while_loop_counter", "Shift")
    expect(preview).to_contain_text("into copy.")
    root.get_by_role("button", name="Clone", exact=True).click()
    root.get_by_role("button", name="Details").click()
    text = "It is a module, which is not drawn; a cell has it by that name in the editor's copies."
    expect(root.get_by_text(text)).to_be_visible(timeout=30_000)
    # What was marked as the output is the loop's own counter, one higher; TensorFlow keeps it
    # beside the person's i.
    called = "editor['copy'](while_placeholder=0, while_while_loop_counter=7).numpy().item()"
    assert notebook.kernel_eval(called) == 8
    assert notebook.kernel_eval("editor.view.breadcrumb[-1]") == f"{loop}:body"

    # Out again: by the breadcrumb, and by Backspace.
    where.get_by_role("button").first.click()
    widget.settled()
    assert notebook.kernel_eval("len(editor.view.breadcrumb)") == 1
    notebook.kernel_eval(
        "editor.view.enter(list(editor.ops(where=lambda op: op.type == "
        "'StatefulPartitionedCall'))[0])"
    )
    expect(where).to_contain_text("StatefulPartitionedCall")
    widget.settled()
    root.focus()
    page.keyboard.press("Backspace")
    widget.settled()
    assert notebook.kernel_eval("len(editor.view.breadcrumb)") == 1
    assert depth > 1


def test_ops_of_later_cells_appear_by_themselves(page: Page, jupyter_server: JupyterServer) -> None:
    later = "with graph.as_default():\n    late = tf.square(y, name='late')"
    widget = shown(page, jupyter_server, "growing", later)
    before = widget.number("items")
    widget.notebook.run_cell(2)
    expect(widget.root).not_to_have_attribute("data-items", f"{before:.0f}")
    widget.settled()
    assert widget.place("late")


@pytest.mark.slow
def test_an_empty_graph_says_so_and_fills(page: Page, jupyter_server: JupyterServer) -> None:
    cells = [
        (
            "import tensorflow as tf, tfgraphwidget as tgw\ngraph = tf.Graph()\neditor = "
            "tgw.edit(graph)\neditor"
        ),
        "with graph.as_default():\n    tf.compat.v1.placeholder(tf.float32, [], name='first')",
    ]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "empty.ipynb", cells)
    )
    widget = Widget(notebook, notebook.run_cell(0).locator(".tfgraphwidget"))
    expect(widget.root).to_contain_text("no ops yet")
    notebook.run_cell(1)
    expect(widget.root).not_to_contain_text("no ops yet")
    widget.settled()
    assert widget.place("first")
