"""The panel when things do not go as they mostly do: slow views, two views of a notebook, two
notebooks on a kernel.
"""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import OpenNotebook, open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_panel import GRAPH, NOTEBOOK_PANEL, SESSION, WAIT, open_panel

pytestmark = pytest.mark.one_page

# A page on a slow machine: a widget is drawn long after its model is known.
SLOW_VIEWS = f"""() => {{
    const {{ rendermime }} = {NOTEBOOK_PANEL}.content;
    const create = rendermime.createRenderer.bind(rendermime);
    rendermime.createRenderer = (type, ...more) => {{
        const made = create(type, ...more);
        const render = made.renderModel.bind(made);
        const wait = () => new Promise((go) => setTimeout(go, 1500));
        made.renderModel = (model) => wait().then(() => render(model));
        return made;
    }};
}}"""
INSERT = """(node) => node.dispatchEvent(new CustomEvent(
    "tfgraphwidget:host", { detail: { text: "1 + 1" }, bubbles: true, cancelable: true }))"""
SECOND_ON_KERNEL = """async ([path, id]) => {
    const { commands } = window.jupyterapp;
    const opened = await commands.execute('docmanager:open', { path, kernel: { id } });
    await opened.sessionContext.ready;
    await commands.execute('tfgraphwidget:open'); }"""


@pytest.fixture
def notebook(page: Page, jupyter_server: JupyterServer) -> OpenNotebook:
    """A notebook with a graph and a session; nothing has run."""
    page.set_viewport_size({"width": 1600, "height": 900})
    return open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "trouble.ipynb", [GRAPH, SESSION])
    )


@pytest.mark.slow
def test_a_view_that_is_slow_to_come_is_waited_for(notebook: OpenNotebook) -> None:
    notebook.run_cell(0)
    notebook.run_cell(1)
    panel = open_panel(notebook)
    panel.says("Which graph?").locator(".tgw-pane-row").first.click()
    panel.widget()
    notebook.page.evaluate(SLOW_VIEWS)
    panel.choice.select_option(index=2)  # the session: the kernel answers at once
    widget = panel.widget()
    assert widget.number("ops") == notebook.kernel_eval("len(graph.get_operations())")


@pytest.mark.one_page(False)
@pytest.mark.slow
def test_the_panel_opens_where_a_page_is_not_secure(
    page: Page, jupyter_server: JupyterServer
) -> None:
    # Over http from another machine a browser has none of these.
    page.add_init_script("delete Crypto.prototype.randomUUID; delete Navigator.prototype.locks;")
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "insecure.ipynb", ["1"])
    )
    assert page.evaluate("'locks' in navigator || 'randomUUID' in crypto") is False
    open_panel(notebook).says("There is no graph yet")


@pytest.mark.slow
def test_closing_one_of_two_views_of_a_notebook_leaves_the_panel_its_kernel(
    notebook: OpenNotebook,
) -> None:
    page = notebook.page
    panel = open_panel(notebook)
    panel.says("There is no graph yet")
    notebook.cell(0).locator(".cm-content").click()
    page.wait_for_function(f"() => window.jupyterapp.shell.currentWidget === {NOTEBOOK_PANEL}")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:clone')")
    expect(page.locator(".jp-NotebookPanel")).to_have_count(2)
    page.evaluate(f"() => {NOTEBOOK_PANEL}.close()")
    expect(page.locator(".jp-NotebookPanel")).to_have_count(1)
    panel.says("There is no graph yet")
    notebook.run_cell(0)
    widget = panel.widget()
    assert widget.number("ops") == notebook.kernel_eval("len(graph.get_operations())")
    page.evaluate(f"() => {NOTEBOOK_PANEL}.dispose()")
    panel.says("The notebook is closed")


@pytest.mark.one_page(False)
@pytest.mark.slow
def test_a_kernel_whose_first_notebook_was_closed_wants_the_page_reloaded(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    page = notebook.page
    page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?"
    notebook.run_cell(0)
    open_panel(notebook)
    second = write_notebook(jupyter_server, "second.ipynb", ["1"])
    page.evaluate(SECOND_ON_KERNEL, [second, jupyter_server.kernel_of(notebook.path)])
    panels = page.locator(".tgw-graph-panel")
    expect(panels).to_have_count(2)
    panels.last.locator(".tgw-pane-row").filter(has_text="graph").first.click()
    expect(panels.last).to_have_attribute("data-status", "shown", timeout=WAIT)
    page.evaluate(f"() => {NOTEBOOK_PANEL.replace('.ipynb', 'trouble.ipynb')}.dispose()")
    expect(panels.last.get_by_role("heading")).to_have_text("The connection has ended")
    panels.last.get_by_role("button", name="Open it again").click()
    expect(panels.last).to_contain_text("through another tab; reload the page")
    shoot(page, "trouble_1_elsewhere")
    panels.last.get_by_role("button", name="Reload the page").click()
    expect(panels.last.locator(".tfgraphwidget")).to_have_attribute(
        "data-ops", re.compile(r"\d+"), timeout=WAIT
    )


@pytest.mark.slow
def test_a_line_is_inserted_as_code_whatever_new_cells_are_set_to_be(
    notebook: OpenNotebook,
) -> None:
    notebook.page.evaluate(f"""() => {{
        const {{ content }} = {NOTEBOOK_PANEL};
        content.notebookConfig = {{ ...content.notebookConfig, defaultCell: 'markdown' }}; }}""")
    assert notebook.cell(0).evaluate(INSERT) is False
    expect(notebook.panel.locator(".jp-Cell")).to_have_count(3)
    expect(notebook.panel.locator(".jp-CodeCell")).to_have_count(3)
    expect(notebook.cell(1).locator(".cm-content")).to_have_text("1 + 1")
    expect(notebook.cell(1)).to_have_class(re.compile("jp-mod-active"))
    expect(notebook.run_cell(1)).to_contain_text("2")


@pytest.mark.slow
def test_a_pressed_button_leaves_the_keyboard_in_the_panel(notebook: OpenNotebook) -> None:
    panel = open_panel(notebook)
    again = panel.says("There is no graph yet").get_by_role("button", name="Look again")
    again.focus()
    notebook.page.keyboard.press("Enter")
    expect(panel.message.locator("button:focus")).to_have_text("Run all cells")
    expect(panel.pane.get_by_role("status")).to_contain_text("There is no graph yet")
    notebook.page.keyboard.press("Enter")
    panel.says("Which graph?")
    panel.message.locator(".tgw-pane-row").first.focus()
    shoot(notebook.page, "trouble_2_focus")
    notebook.page.keyboard.press("Enter")
    panel.widget()
    expect(panel.pane.locator(".tfgraphwidget")).to_be_focused()


@pytest.mark.slow
def test_a_kernel_that_another_program_restarted_takes_the_graph_with_it(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    notebook.run_cell(0)
    panel = open_panel(notebook)
    widget = panel.widget()
    notebook.kernel_eval("0", before="editor.rename('dense/y', 'result')")
    expect(panel.bar.locator(".tgw-bar-line")).to_contain_text("editor.rename(")
    panel.bar.locator("jp-button").filter(has_text="Insert as cell").click()
    inserted = (
        notebook.panel.locator(".jp-CodeCell").filter(has_text="editor.rename(").locator(".cm-line")
    )
    expect(inserted.first).to_have_text(
        "# Done already in the panel. After a restart, first: import tfgraphwidget as tgw; editor "
        "= tgw.edit(graph)"
    )
    assert widget.root.is_visible()
    jupyter_server.api(f"kernels/{jupyter_server.kernel_of(notebook.path)}/restart", "POST")
    panel.bar.locator("jp-button[title*='Refresh the list of graphs']").click()
    expect(panel.says("graph is not in the kernel")).to_contain_text(
        "The edit made in it is gone too"
    )
    shoot(notebook.page, "trouble_6_restarted")


@pytest.mark.slow
def test_a_panel_that_is_left_alone_sees_that_another_program_restarted_its_kernel(
    notebook: OpenNotebook, jupyter_server: JupyterServer
) -> None:
    notebook.run_cell(0)
    panel = open_panel(notebook)
    panel.widget()
    jupyter_server.api(f"kernels/{jupyter_server.kernel_of(notebook.path)}/restart", "POST")
    gone = panel.message.get_by_role("heading", name="graph is not in the kernel")
    for _ in range(20):
        # That program, at work; what it says before the server listens again is lost.
        notebook.kernel_eval("0")
        with suppress(AssertionError):
            expect(gone).to_be_visible(timeout=3000)
            break
    panel.says("graph is not in the kernel")
    panel.press("Run all cells")
    assert panel.widget().number("ops") == notebook.kernel_eval("len(graph.get_operations())")
