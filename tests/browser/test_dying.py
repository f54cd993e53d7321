"""A kernel that dies by itself, under a panel and under a file; and a page that is reloaded behind
it.
"""

from __future__ import annotations

import os
import signal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import CELL, OpenNotebook, shoot
from tests.browser.server import JupyterServer
from tests.browser.test_files import Files, remove
from tests.browser.test_panel import NOTEBOOK_PANEL, Panel, open_graph, open_panel
from tests.conftest import build_mlp

WAIT = 120_000  # ms; a kernel that loads TensorFlow
DIED = "appears to have died"


def kill_kernel(notebook: OpenNotebook) -> int:
    """What running out of memory does to it; the process that was."""
    process = int(notebook.kernel_eval("__import__('os').getpid()"))
    os.kill(process, signal.SIGKILL)
    return process


def dismiss_news(page: Page) -> None:
    """JupyterLab says by itself that a kernel has died."""
    dialog = page.locator(".jp-Dialog").filter(has_text=DIED)
    expect(dialog).to_be_visible(timeout=WAIT)
    dialog.get_by_role("button").first.click()
    expect(dialog).to_have_count(0)


@pytest.fixture
def notebook(page: Page, jupyter_server: JupyterServer) -> OpenNotebook:
    """A notebook with a graph."""
    return open_graph(page, jupyter_server, "dying.ipynb")


@pytest.fixture
def files(page: Page, jupyter_server: JupyterServer, request: pytest.FixtureRequest) -> Files:
    """The file browser on a folder with a GraphDef."""
    folder = jupyter_server.root / request.node.name[5:25]
    folder.mkdir()
    (folder / "graph.pb").write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?"
    return Files(page, jupyter_server, folder)


def is_back(notebook: OpenNotebook, panel: Panel) -> None:
    """Pressing what the panel offers brings the graph back."""
    panel.says("graph is not in the kernel")
    panel.press("Run all cells")
    assert panel.widget().number("ops") == notebook.kernel_eval("len(graph.get_operations())")


@pytest.mark.slow
def test_the_panel_says_what_died_and_brings_it_back(notebook: OpenNotebook) -> None:
    panel = open_panel(notebook)
    panel.widget()
    was = kill_kernel(notebook)
    dismiss_news(notebook.page)
    panel.says("graph is not in the kernel")
    shoot(notebook.page, "dying_1_panel")
    is_back(notebook, panel)
    assert notebook.kernel_eval("__import__('os').getpid()") != was
    # And once more, with the page reloaded while the new kernel has nothing yet.
    notebook.page.evaluate(f"() => {NOTEBOOK_PANEL}.context.save()")
    notebook.page.evaluate(f"() => void {NOTEBOOK_PANEL}.sessionContext.restartKernel()")
    panel.says("graph is not in the kernel")
    notebook.page.reload()
    is_back(notebook, panel)


@pytest.mark.slow
def test_a_file_has_its_edits_again_when_its_kernel_has_died(files: Files) -> None:
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    was = kill_kernel(widget.notebook)
    expect(files.message).to_be_visible()
    shoot(files.page, "dying_2_file")
    expect(files.news).to_contain_text("The kernel had died", timeout=CELL)
    expect(widget.root).to_have_attribute("data-ops", "43", timeout=CELL)
    expect(files.dirty).to_have_count(1)
    assert widget.notebook.kernel_eval("__import__('os').getpid()") != was
    assert widget.notebook.kernel_eval("len(editor.history.done)") == 1
    # Dead, and the page reloaded before anybody noticed.
    kill_kernel(widget.notebook)
    files.page.reload()
    widget = files.shown("graph.pb")
    expect(widget.root).to_have_attribute("data-ops", "43", timeout=CELL)
    expect(files.dirty).to_have_count(1)
    assert widget.notebook.kernel_eval("len(editor.history.done)") == 1
    shoot(files.page, "dying_3_again")


@pytest.mark.slow
def test_a_file_whose_kernel_is_shut_down_elsewhere_gets_another(
    files: Files, jupyter_server: JupyterServer
) -> None:
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    (session,) = jupyter_server.sessions()
    jupyter_server.end_session(session)
    expect(files.message).to_contain_text("The kernel has ended", timeout=CELL)
    expect(files.message).to_contain_text("The edit is done again when it is started again.")
    shoot(files.page, "dying_4_ended")
    files.message.get_by_role("button", name="Restart kernel").click()
    widget = files.shown("graph.pb")
    expect(widget.root).to_have_attribute("data-ops", "43", timeout=CELL)
    expect(files.dirty).to_have_count(1)
