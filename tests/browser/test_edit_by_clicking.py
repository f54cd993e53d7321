"""Edits with a real mouse, in a real JupyterLab: bypass, drag from a port, fix, remove, history,
differences.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import in_front, open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """
import numpy as np
import tensorflow as tf
import tfgraphwidget as tgw

v1 = tf.compat.v1
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 3], name="x")
    w = v1.get_variable("w", [3, 3], initializer=v1.ones_initializer(), use_resource=True)
    hidden = tf.nn.relu(tf.matmul(x, w, name="matmul"), name="relu")
    dropped = tf.multiply(hidden, tf.constant([0.0, 0.0, 0.0], name="mask"), name="dropout")
    y = tf.add(dropped, hidden, name="y")
    wide = tf.cast(x, tf.float64, name="wide")
    z = tf.identity(y, name="z")
    spare = tf.negative(z, name="spare")
sess = v1.Session(graph=graph)
with graph.as_default():
    sess.run(v1.global_variables_initializer())
ones = np.ones((1, 3), np.float32)
before = sess.run("z:0", {"x:0": ones}).tolist()
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 560
"""
OUTPUT = "sess.run('z:0', {'x:0': ones}).tolist()"


@pytest.fixture
def widget(page: Page, jupyter_server: JupyterServer) -> Widget:
    """A graph that a session has run, in the widget."""
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "edits.ipynb", [GRAPH, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Widget(notebook, root)


def drag(widget: Widget, source: str, target: str) -> None:
    """From the port below an op to the middle of another, and let go there."""
    hold(widget, source, target)
    widget.page.mouse.up()
    widget.settled()


def hold(widget: Widget, source: str, target: str) -> None:
    """The same, with the button still down."""
    mouse = widget.page.mouse
    x, y = widget.place(source)
    mouse.move(x, y)
    port = widget.root.locator(".tgw-port")
    expect(port).to_be_visible()
    port.hover()
    mouse.down()
    x, y = widget.place(target)
    mouse.move(x, y - 30, steps=5)
    expect(widget.root).to_have_attribute("data-aim", re.compile(r".+:\d"))
    mouse.move(x, y, steps=5)


def press(widget: Widget, name: str) -> None:
    """Click a button by what is written on it."""
    widget.root.get_by_role("button", name=name, exact=True).click()
    widget.settled()


def changed_lines(widget: Widget, count: int) -> list[str]:
    """The lines of code, once there are so many."""
    expect(widget.root.locator(".tgw-step")).to_have_count(count + 1)
    widget.settled()
    return widget.notebook.kernel_eval("list(editor.history.lines)")


@pytest.mark.slow
def test_an_op_is_bypassed_and_the_session_follows(widget: Widget) -> None:
    notebook, page, root = widget.notebook, widget.page, widget.root
    assert notebook.kernel_eval(OUTPUT) == [[3, 3, 3]]
    widget.click("dropout")
    press(widget, "Bypass")
    assert changed_lines(widget, 1) == ['editor.bypass(what="dropout")']
    assert notebook.kernel_eval(OUTPUT) == [[6, 6, 6]]
    expect(widget.status).to_contain_text("Bypassed dropout.")
    shoot(page, "edit_1_bypassed")

    press(widget, "Changes")
    expect(root.locator(".tgw-changes")).to_contain_text("1 op changed")
    shoot(page, "edit_2_changes")
    root.locator(".tgw-step").first.click()
    widget.settled()
    assert notebook.kernel_eval(OUTPUT) == [[3, 3, 3]]
    expect(root.locator(".tgw-changes")).to_contain_text("No op differs")
    root.locator(".tgw-step").nth(1).click()
    widget.settled()
    assert notebook.kernel_eval(OUTPUT) == [[6, 6, 6]]

    widget.show_python()
    press(widget, "Insert as cell")
    cells = page.locator(f"{in_front('.jp-Notebook')} .jp-Cell")
    expect(cells).to_have_count(4)  # Shift+Enter in the last one has made an empty one
    expect(cells.nth(2).locator(".cm-content")).to_contain_text('editor.bypass(what="dropout")')
    assert cells.nth(2).locator(".cm-line").all_inner_texts()[0] == "import tensorflow as tf"
    expect(cells.nth(2)).to_contain_text("session=sess,")
    set_theme(page, dark=True)
    widget.settled()
    shoot(page, "edit_3_dark")


def test_a_drag_from_a_port_rewires_and_refusals_offer_fixes(widget: Widget) -> None:
    notebook, page, root = widget.notebook, widget.page, widget.root
    hold(widget, "z", "dropout")
    expect(root.locator(".tgw-tooltip")).to_contain_text("depends on")
    shoot(page, "edit_4_dragging")
    page.keyboard.press("Escape")
    page.mouse.up()
    widget.settled()
    assert notebook.kernel_eval("len(editor.history.lines)") == 0

    drag(widget, "relu", "z")
    assert changed_lines(widget, 1) == ['editor.connect(source="relu:0", target="z", k=0)']
    assert notebook.kernel_eval(OUTPUT) == [[3, 3, 3]]

    hold(widget, "wide", "spare")
    expect(root.locator(".tgw-tooltip")).to_contain_text("float64")
    page.mouse.up()
    stage, counts = root.locator(".tgw-stage"), root.locator(".tgw-size")
    size, zoom = stage.bounding_box(), widget.number("zoom")
    widget.settled("refused")
    shoot(page, "edit_5_refused")
    # The message lies over the edge of the drawing, beside the counts.
    assert (stage.bounding_box(), widget.number("zoom")) == (size, zoom)
    expect(counts).to_contain_text("ops")
    said, counted = root.locator(".tgw-message").bounding_box(), counts.bounding_box()
    assert said
    assert counted
    assert said["x"] + said["width"] <= counted["x"]
    widget.root.get_by_role("button", name="Insert a Cast").click()
    line = changed_lines(widget, 2)[1]
    assert line == 'editor.connect(source="wide:0", target="spare", k=0, adapter="Cast")'

    drag(widget, "x", "dropout")
    menu = root.get_by_role("menu")
    expect(menu.get_by_role("menuitem")).to_have_count(2)
    shoot(page, "edit_6_menu")
    menu.get_by_role("menuitem").first.click()
    assert changed_lines(widget, 3)[2] == 'editor.connect(source="x:0", target="dropout", k=0)'

    widget.click("spare")
    widget.settled()
    page.keyboard.press("Delete")
    assert changed_lines(widget, 4)[3].startswith('editor.remove(what="spare"')
    assert notebook.kernel_eval("'spare' in editor._core.index.ids") is False


@pytest.mark.slow
def test_forms_values_and_probes(widget: Widget) -> None:
    notebook, page, root = widget.notebook, widget.page, widget.root
    widget.click("mask")
    root.get_by_role("button", name="Set constant").click()
    field = root.get_by_role("textbox", name="Value", exact=True)
    expect(field).to_have_value("[0.0, 0.0, 0.0]")
    field.fill("[1.0, 1.0, float('nan')]")
    page.keyboard.press("Enter")
    widget.settled("refused")
    field.fill("[1.0, 1.0, 2.0]")
    shoot(page, "edit_7_form")
    page.keyboard.press("Enter")
    assert len(changed_lines(widget, 1)) == 1
    assert notebook.kernel_eval(OUTPUT) == [[6, 6, 9]]
    press(widget, "Values")
    expect(root.get_by_role("group", name="Value in the last run")).to_contain_text("[1., 1., 2.]")
    notebook.kernel_eval(
        "1", before="editor.probe('relu', {'x:0': np.array([[np.nan] * 3, [1, 2, 3]])})"
    )
    widget.click("relu")
    expect(root.locator(".tgw-broken")).to_contain_text("NaN")
    widget.settled()
    shoot(page, "edit_8_probed")

    widget.click("z")
    root.get_by_role("button", name="Rename").click()
    root.get_by_role("textbox", name="Name", exact=True).fill("scores")
    page.keyboard.press("Enter")
    assert changed_lines(widget, 2)[1] == 'editor.rename(old="z", new="scores")'

    widget.click("spare")
    root.get_by_role("button", name="Connect input 0 to another tensor").click()
    root.get_by_role("button", name="Click an op").click()
    widget.click("relu")
    expect(root.get_by_role("combobox", name="Read", exact=True)).to_have_value("relu:0")
    page.keyboard.press("Enter")
    assert changed_lines(widget, 3)[2] == 'editor.connect(source="relu:0", target="spare", k=0)'


@pytest.mark.slow
def test_a_script_becomes_a_cell_in_notebook_7_too(
    page: Page, jupyter_server: JupyterServer
) -> None:
    show = "editor = tgw.edit(graph)\neditor.bypass('dropout')\neditor"
    path = write_notebook(
        jupyter_server, "seven.ipynb", [GRAPH.split("sess =", maxsplit=1)[0], show, "last = 1"]
    )
    notebook = open_notebook(page, jupyter_server, path, app="notebook")
    notebook.run_cell(0)
    widget = Widget(notebook, notebook.run_cell(1).locator(".tfgraphwidget"))
    widget.show_python()
    press(widget, "Insert as cell")
    shown = page.locator(f"{in_front('.jp-Notebook')} .jp-Cell")
    expect(shown).to_have_count(4)
    expect(shown.nth(2)).to_contain_text('editor.bypass(what="dropout")')
    expect(shown.nth(3)).to_contain_text("last = 1")


@pytest.mark.slow
def test_an_edit_that_cuts_the_chosen_part_is_done_and_the_panel_says_why_nothing_is_chosen(
    widget: Widget,
) -> None:
    notebook, root = widget.notebook, widget.root
    widget.click("x", "Shift")
    widget.click("z", "Alt")
    widget.settled()
    assert notebook.kernel_eval("len(editor.selection)") > 4
    size = root.locator(".tgw-stage").bounding_box()
    notebook.kernel_eval("str(editor.detach('relu'))")
    changed_lines(widget, 1)
    assert notebook.kernel_eval("editor.selection is None")
    warnings = root.locator(".tgw-warnings")
    expect(warnings).to_contain_text("Nothing is selected: no path leads")
    shoot(widget.page, "edit_cut_selection")
    assert root.locator(".tgw-stage").bounding_box() == size
    widget.click("y")  # the panel goes on
    expect(root.locator(".tgw-inspector")).to_contain_text("AddV2")
    root.get_by_role("button", name=re.compile("^Undo")).click()
    widget.settled()
    assert notebook.kernel_eval("len(editor.selection)") > 4
    expect(warnings).not_to_contain_text("Nothing is selected")
