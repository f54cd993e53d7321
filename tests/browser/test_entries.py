"""Every way to the panel of JupyterLab: palette, Kernel menu, launcher; on the kernel that is
meant, or it asks.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import FIRST_PAINT, OpenNotebook, in_front, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_panel import Panel, open_graph

OTHER = (
    "import tensorflow as tf\nother = tf.Graph()\nwith other.as_default(): tf.constant(1.0, "
    "name='alone')"
)
OPEN = """async (path) => {
    const { commands } = window.jupyterapp;
    const opened = await commands.execute('docmanager:open', { path });
    await opened.sessionContext.ready; }"""


@pytest.fixture
def notebook(page: Page, jupyter_server: JupyterServer) -> OpenNotebook:
    """A notebook with a graph."""
    return open_graph(page, jupyter_server, "first.ipynb")


def open_launcher(page: Page) -> None:
    """File > New Launcher."""
    page.get_by_role("menuitem", name="File", exact=True).click()
    page.get_by_role("menuitem", name="New Launcher").click()
    expect(page.locator(in_front(".jp-Launcher"))).to_be_visible()


def press_card(page: Page) -> None:
    """The launcher's card."""
    page.locator(f"{in_front('.jp-Launcher')} .jp-LauncherCard").filter(
        has_text="Graph Editor"
    ).click()


def shows_graph_of(notebook: OpenNotebook) -> None:
    """The panel shows the graph of this notebook's kernel."""
    widget = Panel(notebook).widget()
    assert widget.number("ops") == notebook.kernel_eval("len(graph.get_operations())")
    assert notebook.kernel_eval("editor.graph is graph")


@pytest.mark.slow
def test_the_palette_opens_the_panel(notebook: OpenNotebook) -> None:
    page = notebook.page
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Shift+C")
    palette = page.locator(".lm-CommandPalette:visible")
    palette.locator("input").fill("open graph editor")
    expect(palette.locator(".lm-CommandPalette-item")).to_have_count(1)
    shoot(page, "entry_1_palette")
    page.keyboard.press("Enter")
    shows_graph_of(notebook)


@pytest.mark.slow
def test_the_kernel_menu_opens_the_panel_of_the_notebook_in_front(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    page = notebook.page
    second = OpenNotebook(
        page, jupyter_server, write_notebook(jupyter_server, "other.ipynb", [OTHER])
    )
    page.evaluate(OPEN, second.path)
    second.run_cell(0)
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    entry = page.get_by_role("menuitem", name="Open Graph Editor")
    expect(entry).to_be_visible()
    shoot(page, "entry_2_kernel_menu")
    entry.click()
    assert Panel(second).widget().number("ops") == 1
    assert second.kernel_eval("editor.graph is other")
    assert notebook.kernel_eval("'editor' in globals()") is False


@pytest.mark.slow
def test_the_launcher_opens_the_panel_of_the_only_notebook(notebook: OpenNotebook) -> None:
    page = notebook.page
    open_launcher(page)
    press_card(page)
    shows_graph_of(notebook)
    expect(notebook.panel).to_be_visible()  # and not the launcher over it
    shoot(page, "entry_3_launcher")


@pytest.mark.slow
def test_the_launcher_asks_which_of_two_notebooks_is_meant(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    page = notebook.page
    page.evaluate(OPEN, write_notebook(jupyter_server, "other.ipynb", [OTHER]))
    open_launcher(page)
    press_card(page)
    dialog = page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("graphs of a notebook's kernel")
    expect(dialog.locator("option")).to_have_text(["first.ipynb", "other.ipynb", "A new notebook"])
    shoot(page, "entry_4_which")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".tgw-graph-panel")).to_have_count(0)
    press_card(page)
    dialog.locator("select").select_option("first.ipynb")
    dialog.get_by_role("button", name="Open").click()
    shows_graph_of(notebook)


@pytest.mark.slow
def test_the_launcher_finds_a_notebook_that_only_runs(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    page = notebook.page
    (jupyter_server.root / "elsewhere").mkdir()
    page.goto(jupyter_server.page_url("elsewhere"))  # another workspace: nothing is open
    page.locator(in_front(".jp-Launcher")).wait_for(timeout=FIRST_PAINT)
    press_card(page)
    dialog = page.locator(".jp-Dialog")
    expect(dialog.locator("option")).to_have_text(["first.ipynb", "A new notebook"])
    dialog.get_by_role("button", name="Open").click()
    shows_graph_of(notebook)
    expect(notebook.panel).to_be_visible()
    expect(page.locator(".jp-Launcher")).to_have_count(0)
    shoot(page, "entry_5_running")


@pytest.mark.slow
def test_the_launcher_makes_a_notebook_when_none_runs(
    page: Page, jupyter_server: JupyterServer
) -> None:
    (jupyter_server.root / "folder of mine").mkdir()
    page.goto(jupyter_server.page_url("folder of mine"))
    page.locator(in_front(".jp-Launcher")).wait_for(timeout=FIRST_PAINT)
    press_card(page)
    choosing = page.locator(".jp-Dialog").get_by_role("button", name="Select Kernel")
    choosing.click()
    notebook = OpenNotebook(page, jupyter_server, "folder of mine/Untitled.ipynb")
    Panel(notebook).says("There is no graph yet")
    expect(notebook.panel).to_be_visible()
    assert (jupyter_server.root / notebook.path).is_file()
    shoot(page, "entry_6_new")
