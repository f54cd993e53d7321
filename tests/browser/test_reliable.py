"""What happens around a widget: long work, a busy or restarted kernel, a lost connection, other
tabs and notebooks.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import (
    KERNEL_IS_IDLE,
    OpenNotebook,
    expecting,
    in_a_window,
    open_notebook,
    shoot,
    write_notebook,
)
from tests.browser.server import JupyterServer
from tests.browser.test_widget import GRAPH

pytestmark = pytest.mark.one_page

SHOW = """
import time
from tfgraphwidget.progress import report_each
pace = 0
def slowly(graph):
    for _ in report_each(range(200), "Waiting for nothing", 1):
        time.sleep(pace)
    return {name: (40 * i, 60 * i) for i, name in enumerate(graph)}
editor = tgw.edit(graph, session=sess, layout=slowly)
editor.view.widget.height = 480
sent = []
send = editor.view.widget.send
def noted(content, buffers=None):
    sent.append((content["id"], content["type"]))
    send(content, buffers)
editor.view.widget.send = noted
editor
"""
RESTART = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
RENDER_AGAIN = """() => {
    const outputs = window.jupyterapp.shell.currentWidget.content.widgets[1].outputArea.model;
    outputs.fromJSON(outputs.toJSON());
}"""
GONE = "The kernel was restarted or shut down: run the cell again."
SLEEP = """
from pathlib import Path
while not Path("awake").exists():
    time.sleep(0.05)
Path("awake").unlink()
print("slept", flush=True)
"""
ONCE = (
    "len([n for n, kind in sent if kind != 'working']) == "
    "len({n for n, kind in sent if kind != 'working'})"
)


def shown(page: Page, server: JupyterServer, name: str, *cells: str) -> Widget:
    """A new notebook with the small graph; the widget of its second cell."""
    notebook = open_notebook(
        page, server, write_notebook(server, f"{name}.ipynb", [GRAPH, SHOW, *cells])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    return Widget(notebook, root)


def shown_elsewhere(page: Page, server: JupyterServer, path: str) -> Widget:
    """The widget of a saved cell, on a further page of the kernel that made it.

    ipywidgets waits 2 s for the state of a widget, and shows an error if the state comes later, as
    on a busy machine. In that case this renders the output again.
    """
    with expecting("widget model not found", "/@jupyter-widgets/jupyterlab-manager/"):
        notebook = open_notebook(page, server, path)
        root, lost = (
            notebook.panel.locator(".tfgraphwidget"),
            notebook.panel.locator(".tgw-saved-picture"),  # in place of the error
        )
        expect(root.or_(lost)).to_be_visible(timeout=30_000)
    if lost.is_visible():
        notebook.page.evaluate(RENDER_AGAIN)
    return Widget(notebook, root)


def start(notebook: OpenNotebook, index: int) -> None:
    """Run a cell and do not wait for its end."""
    notebook.cell(index).locator(".cm-content").click()
    notebook.page.keyboard.press("Shift+Enter")
    expect(notebook.cell(index).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\*\]"))


def zoom_by_wheel(widget: Widget) -> None:
    """The drawing is still to be looked at."""
    before = widget.root.get_attribute("data-zoom") or ""
    widget.root.focus()
    widget.page.mouse.move(*widget.center())
    widget.page.mouse.wheel(0, -240)
    expect(widget.root).not_to_have_attribute("data-zoom", before)


def chosen_when_run_again(notebook: OpenNotebook) -> list[str]:
    """The editor's inputs when its cells have been run again in another kernel, and x was
    clicked.
    """
    for cell in (2, 0):  # else the first would be [1] again, as it was
        notebook.run_cell(cell)
    again = Widget(notebook, notebook.run_cell(1).locator(".tfgraphwidget"))
    again.click("x", "Shift")
    again.settled()
    return notebook.kernel_eval("editor.inputs")


@pytest.mark.slow
def test_long_work_shows_how_far_it_is_and_is_cancelled(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "long", "pace = 0.5")
    notebook, root, status = widget.notebook, widget.root, widget.status
    notebook.run_cell(2)
    bar = status.get_by_role("progressbar")
    opened = notebook.kernel_eval("sorted(editor.view.expanded)")

    root.focus()
    page.keyboard.press("E")
    expect(status).to_contain_text("Waiting for nothing …")
    expect(status.get_by_role("button", name="Cancel")).to_be_visible()
    expect(bar).to_have_attribute("max", "200")
    page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()"
    )
    expect(status).to_contain_text("Cancelled; nothing has changed.")
    expect(bar).to_be_hidden()

    interrupts: list[str] = []
    page.on(
        "request",
        lambda request: interrupts.append(request.url) if "/interrupt" in request.url else None,
    )
    root.focus()
    page.keyboard.press("E")
    expect(bar).to_have_attribute("value", re.compile(r"[1-9]\d*"))
    shoot(root, "progress")
    status.get_by_role("button", name="Cancel").click()
    expect(status).to_contain_text("Cancelled; nothing has changed.")
    # A second one would stop whatever the kernel does next.
    assert len(interrupts) == 1
    assert notebook.kernel_eval("sorted(editor.view.expanded)") == opened
    assert notebook.kernel_eval(ONCE)

    notebook.kernel_eval("0", before="pace = 0")
    root.focus()
    page.keyboard.press("E")
    widget.settled()
    assert notebook.kernel_eval("len(editor.view.expanded)") > len(opened)


@pytest.mark.slow
def test_a_busy_kernel_answers_when_its_cell_is_done(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "busy", SLEEP)
    notebook = widget.notebook
    for _ in range(
        2
    ):  # ipykernel brings the first messages to the main thread, later ones to others
        start(notebook, 2)
        widget.root.scroll_into_view_if_needed()
        widget.click("x", "Shift")
        expect(widget.status).to_contain_text(
            "The kernel is running a cell; waiting for it to finish …"
        )
        expect(widget.status.get_by_role("progressbar")).to_be_hidden()
        zoom_by_wheel(widget)
        # A menu has at once what needs no kernel, and the edits when the kernel answers.
        page.mouse.click(*widget.place("three/out"), button="right")
        menu = widget.root.locator(".tgw-context")
        expect(menu).to_have_attribute("aria-busy", "true")
        expect(menu).to_contain_text("Copy name")
        expect(menu).not_to_contain_text("Bypass")
        (jupyter_server.root / "awake").touch()
        expect(menu).to_contain_text("Bypass")
        expect(menu.get_by_role("menuitem").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(notebook.output(2)).to_contain_text("slept")
        widget.settled()
        notebook.run_cell(0)
        notebook.run_cell(1)
        widget = Widget(notebook, notebook.output(1).locator(".tfgraphwidget"))


def test_a_restarted_kernel_leaves_the_last_picture_and_says_the_way_back(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "restarted", "import time")
    root = widget.root
    widget.click("x", "Shift")
    widget.settled()
    page.evaluate(RESTART)
    expect(root).to_have_attribute("data-status", "gone")
    expect(widget.status).to_contain_text(GONE)
    zoom_by_wheel(widget)
    widget.click("y")
    expect(widget.status).to_contain_text(GONE)
    search: Locator = root.locator(".tgw-search")
    assert search.evaluate("search => search.inert")
    shoot(root, "gone")
    page.wait_for_function(KERNEL_IS_IDLE)
    assert chosen_when_run_again(widget.notebook) == ["x"]


@pytest.mark.slow
def test_a_kernel_that_someone_else_restarted_is_missed_at_the_next_click(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "restarted_elsewhere", "import time")
    jupyter_server.api(f"kernels/{jupyter_server.kernel_of(widget.notebook.path)}/restart", "POST")
    expect(widget.root).to_have_attribute("data-status", "ready")
    widget.click("x", "Shift")
    expect(widget.root).to_have_attribute("data-status", "gone", timeout=15_000)
    expect(widget.status).to_contain_text(GONE)
    # JupyterLab does not know that the kernel is another, and would send to threads of the one
    # before.
    assert chosen_when_run_again(widget.notebook) == ["x"]


@pytest.mark.slow
@pytest.mark.one_page(False)  # JupyterLab itself may ask for something while there is no network
def test_a_view_catches_up_when_the_connection_is_back(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "reconnected")
    page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel._ws.close()"
    )
    widget.notebook.kernel_eval("0", before="editor.clone('x', 'y', into='meanwhile')")
    expect(widget.root).to_have_attribute(
        "data-ops", str(widget.notebook.kernel_eval("len(editor._core.index)"))
    )
    page.context.set_offline(True)
    widget.click("x", "Shift")
    page.context.set_offline(False)
    widget.settled()
    expect(widget.root).to_have_attribute(
        "data-revision", str(widget.notebook.kernel_eval("editor.view.widget.revision"))
    )
    assert widget.notebook.kernel_eval(ONCE)


@pytest.mark.slow
def test_two_tabs_and_two_notebooks_on_one_kernel_stay_in_step(
    page: Page, jupyter_server: JupyterServer
) -> None:
    first = shown(page, jupyter_server, "tabs")
    page.keyboard.press("Control+s")
    expect(page.locator(".lm-TabBar-tab.jp-mod-dirty")).to_have_count(0)
    tab = in_a_window(page)
    second = shown_elsewhere(tab, jupyter_server, first.notebook.path)

    other = write_notebook(jupyter_server, "other.ipynb", ["editor"])
    third_page = in_a_window(page)
    third_notebook = open_notebook(third_page, jupyter_server, other)
    third_page.evaluate(
        "id => window.jupyterapp.shell.currentWidget.sessionContext.changeKernel({id})",
        jupyter_server.kernel_of(first.notebook.path),
    )
    third_page.wait_for_function(KERNEL_IS_IDLE)
    third = Widget(third_notebook, third_notebook.run_cell(0).locator(".tfgraphwidget"))

    widgets = (first, second, third)
    for turn, widget in enumerate(widgets):
        widget.page.bring_to_front()
        widget.root.scroll_into_view_if_needed()
        widget.click("x", "Shift")
        widget.settled()
        chosen = ["x"] if turn % 2 == 0 else []
        # Without a mark those of the graph.
        inputs = chosen or ["x:0", "other:0"]
        assert first.notebook.kernel_eval("editor.inputs") == inputs
        revision = str(first.notebook.kernel_eval("editor.view.widget.revision"))
        for each in widgets:
            each.page.bring_to_front()
            expect(each.root.locator(".tgw-chip[data-name=x]")).to_have_count(len(chosen))
            expect(each.root).to_have_attribute("data-revision", revision)
    assert first.notebook.kernel_eval(ONCE)
