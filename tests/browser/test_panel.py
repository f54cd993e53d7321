"""The panel beside a notebook, with a real mouse: a clone is a variable, its line a cell; restarts,
reloads.
"""

from __future__ import annotations

import os
import re
import signal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import OpenNotebook, open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer

pytestmark = pytest.mark.one_page

GRAPH = """\
import tensorflow as tf
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
    with tf.name_scope("dense"):
        w = tf.compat.v1.get_variable("w", [3, 2])
        y = tf.nn.relu(tf.matmul(x, w), name="y")
"""
SESSION = """\
sess = tf.compat.v1.Session(graph=graph)
with graph.as_default():
    sess.run(tf.compat.v1.global_variables_initializer())
"""
WAIT = 120_000  # ms; a kernel that loads TensorFlow
NOTEBOOK_PANEL = (
    "[...window.jupyterapp.shell.widgets('main')].find(one => one.context?.path.endsWith('.ipynb'))"
)


class Panel:
    """A person's eyes and hands on the panel of the notebook that is open."""

    def __init__(self, notebook: OpenNotebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.pane = self.page.locator(".tgw-graph-panel")
        self.bar = self.page.locator(".tgw-bar")
        self.choice = self.bar.get_by_role("combobox", name="Graph to show")
        self.message = self.pane.locator(".tgw-pane-message")

    def says(self, title: str) -> Locator:
        """Wait until the panel says this in place of an editor."""
        expect(self.message.get_by_role("heading", name=title)).to_be_visible(timeout=WAIT)
        return self.message

    def press(self, label: str) -> None:
        """Press one of its ways out."""
        self.message.get_by_role("button", name=label).click()

    def widget(self) -> Widget:
        """The editor that it shows."""
        expect(self.pane).to_have_attribute("data-status", "shown", timeout=WAIT)
        return Widget(self.notebook, self.pane.locator(".tfgraphwidget"))


def open_panel(notebook: OpenNotebook) -> Panel:
    """Press the button in the notebook's toolbar."""
    notebook.panel.locator(".jp-Toolbar [data-jp-item-name=tfgraphwidget] jp-button").click()
    panel = Panel(notebook)
    expect(panel.pane).to_be_visible()
    return panel


def open_graph(page: Page, server: JupyterServer, name: str, *more: str) -> OpenNotebook:
    """A notebook with a graph, and what `more` cells make, on a wide page; the graph's cell has
    run.
    """
    page.set_viewport_size({"width": 1600, "height": 900})
    notebook = open_notebook(page, server, write_notebook(server, name, [GRAPH, *more]))
    notebook.run_cell(0)
    return notebook


@pytest.fixture
def notebook(page: Page, jupyter_server: JupyterServer) -> OpenNotebook:
    """A notebook with a graph and a session; its first cell has run."""
    return open_graph(page, jupyter_server, "panel.ipynb", SESSION)


def mark_and_clone(widget: Widget, into: str) -> None:
    """Click the input and the output, open the side panel, press Clone."""
    widget.click("x", "Shift")
    widget.settled()
    widget.click("dense/y", "Alt")
    expect(widget.root).to_have_attribute("data-selected-ops", "4")
    if not widget.root.locator(".tgw-panel").is_visible():  # a narrow panel begins without it
        widget.root.get_by_role("button", name="Show or hide the side panel").click()
    widget.clone(into)
    expect(widget.status).to_contain_text(f"Cloned 14 ops into '{into}'", timeout=WAIT)
    widget.settled()


def test_a_clone_made_in_the_panel_is_a_variable_and_its_line_a_cell(
    notebook: OpenNotebook,
) -> None:
    notebook.run_cell(1)
    panel = open_panel(notebook)
    panel.says("Which graph?")
    rows = panel.message.locator(".tgw-pane-row")
    expect(rows).to_have_text([re.compile(r"^graph.*tf\.Graph"), re.compile(r"^sess.*session")])
    shoot(notebook.page, "panel_choices")
    rows.first.click()
    widget = panel.widget()
    assert widget.number("ops") == notebook.kernel_eval("len(editor._core.index)")
    assert notebook.kernel_eval("editor.graph is graph and editor.session is sess")
    box, pane = widget.root.bounding_box(), panel.pane.bounding_box()
    assert box
    assert pane
    assert abs(box["height"] - pane["height"]) < 4
    shoot(notebook.page, "panel_opened")

    mark_and_clone(widget, "copy")
    assert notebook.kernel_eval("copy['dense/y:0'].name") == "copy/dense/y:0"
    # The list of graphs has the size that the editor has now.
    size = f"{notebook.kernel_eval('len(editor._core.index)')} ops"
    expect(panel.choice.locator("option:checked")).to_contain_text(size)
    expect(panel.bar.locator(".tgw-bar-line")).to_contain_text("copy = editor.clone(")
    # the list of graphs follows the edits
    size = f"{notebook.kernel_eval('len(editor._core.index)')} ops"
    expect(panel.choice.locator("option:checked")).to_contain_text(size)
    panel.bar.locator("jp-button").filter(has_text="Insert as cell").click()
    inserted = notebook.panel.locator(".jp-CodeCell").filter(has_text="copy = editor.clone(")
    expect(inserted).to_have_count(1)
    shoot(notebook.page, "panel_cloned")
    reload_and_restart(notebook, panel)


def reload_and_restart(notebook: OpenNotebook, panel: Panel) -> None:
    """The rest of a day: the page is reloaded, the notebook closed and opened, the kernel
    restarted.
    """
    page = notebook.page
    page.evaluate(f"() => {NOTEBOOK_PANEL}.context.save()")
    page.reload()
    widget = panel.widget()
    assert widget.number("ops") == notebook.kernel_eval("len(editor._core.index)")
    expect(panel.bar.locator(".tgw-bar-variable")).to_have_text("editor")

    page.evaluate(f"() => {NOTEBOOK_PANEL}.dispose()")
    panel.says("The notebook is closed")
    shoot(page, "panel_closed")
    panel.press("Open the notebook")
    panel.widget()
    expect(panel.pane).to_be_visible()

    page.evaluate(f"() => void {NOTEBOOK_PANEL}.sessionContext.restartKernel()")
    panel.says("graph is not in the kernel")
    shoot(page, "panel_restarted")
    panel.press("Run all cells")
    widget = panel.widget()
    assert widget.number("ops") == notebook.kernel_eval("len(graph.get_operations())")


@pytest.fixture
def empty(page: Page, jupyter_server: JupyterServer) -> OpenNotebook:
    """A notebook whose kernel has not loaded TensorFlow."""
    cells = ["import time\ntime.sleep(600)", "answer = 42"]
    return open_notebook(page, jupyter_server, write_notebook(jupyter_server, "empty.ipynb", cells))


@pytest.mark.one_page(False)
@pytest.mark.slow
def test_nothing_of_ours_is_loaded_until_it_is_used(empty: OpenNotebook) -> None:
    loaded = (
        "() => performance.getEntriesByType('resource').map(e => e.name).filter(n => "
        "n.includes('tfgraphwidget'))"
    )
    (entry,) = [name for name in empty.page.evaluate(loaded) if name.endswith(".js")]
    assert "remoteEntry" in entry
    assert empty.page.locator("[class*=tgw-]").count() == 0
    assert empty.kernel_eval("'tfgraphwidget' in __import__('sys').modules") is False


def test_a_busy_kernel_is_said_to_be_busy_and_can_be_interrupted(empty: OpenNotebook) -> None:
    empty.cell(0).locator(".cm-content").click()
    empty.page.keyboard.press("Shift+Enter")
    expect(empty.cell(0).locator(".jp-InputPrompt")).to_have_text("[*]:")
    panel = open_panel(empty)
    panel.says("The kernel is busy")
    shoot(empty.page, "panel_busy")
    panel.press("Interrupt the kernel")
    panel.says("There is no graph yet")
    expect(empty.output(0)).to_contain_text("KeyboardInterrupt")
    assert empty.kernel_eval("[n for n in globals() if 'tgw' in n or 'tfgraph' in n]") == []
    shoot(empty.page, "panel_no_graph")


@pytest.mark.slow
def test_a_kernel_that_takes_a_cell_late_is_said_to_be_busy_then(empty: OpenNotebook) -> None:
    """As one that is starting still, and has the cell to run as soon as it can."""
    kernel = empty.kernel_eval("__import__('os').getpid()")
    os.kill(kernel, signal.SIGSTOP)
    try:
        empty.cell(0).locator(".cm-content").click()
        empty.page.keyboard.press("Shift+Enter")
        panel = open_panel(empty)
        panel.says("Waiting for the kernel …")
    finally:
        os.kill(kernel, signal.SIGCONT)
    panel.says("The kernel is busy")
    panel.press("Interrupt the kernel")
    panel.says("There is no graph yet")
    expect(empty.output(0)).to_contain_text("KeyboardInterrupt")
    assert empty.kernel_eval("__import__('os').getpid()") == kernel


def test_without_a_kernel_the_panel_starts_one(empty: OpenNotebook) -> None:
    panel = open_panel(empty)
    panel.says("There is no graph yet")
    empty.page.evaluate(f"() => void {NOTEBOOK_PANEL}.sessionContext.shutdown()")
    panel.says("There is no kernel")
    shoot(empty.page, "panel_no_kernel")
    panel.press("Start the kernel")
    panel.says("There is no graph yet")
    assert empty.server.kernel_of(empty.path)


def test_an_editor_may_ask_who_interrupts_and_have_its_line_inserted(empty: OpenNotebook) -> None:
    ask = """(node, [type, detail]) => node.dispatchEvent(
        new CustomEvent(`tfgraphwidget:${type}`, { detail, bubbles: true, cancelable: true }))"""
    cell = empty.cell(0)
    # dispatchEvent gives false when somebody has dealt with it.
    assert cell.evaluate(ask, ["interrupt", {"ask": True}]) is False
    assert empty.page.locator("body").evaluate(ask, ["interrupt", {"ask": True}]) is True
    assert cell.evaluate(ask, ["host", {"text": "'); import os # <b>"}]) is False
    expect(empty.panel.locator(".jp-CodeCell")).to_have_count(3)
    expect(empty.cell(1).locator(".cm-content")).to_have_text("'); import os # <b>")


def test_settings_answer_what_views_ask(empty: OpenNotebook) -> None:
    ask = """() => { const detail = {};
        document.dispatchEvent(new CustomEvent("tfgraphwidget:settings", { detail }));
        return detail; }"""
    report = empty.page.evaluate(ask)
    defaults = {
        "direction": "down",
        "animation": True,
        "softwareCanvas": True,
        "colours": "theme",
        "wheel": "focused",
    }
    assert report == defaults


@pytest.mark.slow
def test_the_panel_is_in_the_right_area_of_notebook_7(
    page: Page, jupyter_server: JupyterServer
) -> None:
    page.set_viewport_size({"width": 1600, "height": 900})
    path = write_notebook(jupyter_server, "seven.ipynb", [GRAPH])
    notebook = open_notebook(page, jupyter_server, path, app="notebook")
    notebook.run_cell(0)
    panel = open_panel(notebook)
    widget = panel.widget()  # the only graph there is
    assert widget.number("ops") == notebook.kernel_eval("len(graph.get_operations())")
    expect(page.locator("#jp-right-stack .tgw-graph-panel")).to_be_visible()
    shoot(page, "panel_notebook_7")
    # Narrow, all of it can still be used.
    stack = page.locator("#jp-right-stack").bounding_box()
    assert stack
    page.mouse.move(stack["x"] - 1, stack["y"] + 300)
    page.mouse.down()
    page.mouse.move(stack["x"] + stack["width"] - 320, stack["y"] + 300, steps=5)
    page.mouse.up()
    pane = panel.pane.bounding_box()
    assert pane
    assert 300 <= pane["width"] <= 330
    mark_and_clone(widget, "copy")
    expect(panel.bar.locator(".tgw-bar-line")).to_contain_text("copy = editor.clone(")
    shoot(page, "panel_narrow")
    panel.bar.locator("jp-button[title*='into the notebook']").click()
    expect(
        notebook.panel.locator(".jp-CodeCell").filter(has_text="copy = editor.clone(")
    ).to_have_count(1)


@pytest.mark.slow
def test_two_notebooks_on_one_kernel_have_a_panel_each(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    panel = open_panel(notebook)
    panel.widget()
    second = write_notebook(jupyter_server, "second.ipynb", ["1"])
    opening = """async ([path, id]) => {
        const { commands } = window.jupyterapp;
        const opened = await commands.execute('docmanager:open', { path, kernel: { id } });
        await opened.sessionContext.ready;
        await commands.execute('tfgraphwidget:open'); }"""
    notebook.page.evaluate(opening, [second, jupyter_server.kernel_of(notebook.path)])
    panels = notebook.page.locator(".tgw-graph-panel")
    expect(panels).to_have_count(2)
    row = panels.last.locator(".tgw-pane-row").filter(has_text="graph").first
    row.click()
    expect(panels.last).to_have_attribute("data-status", "shown", timeout=WAIT)
    expect(panels.last.locator(".tfgraphwidget")).to_have_attribute(
        "data-ops", re.compile(r"\d+"), timeout=WAIT
    )
