"""What is opened again: a file that is read from disk, a notebook whose kernel has ended."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import CELL, expecting, open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_files import Files, files, folder, remove
from tests.browser.test_widget import GRAPH

__all__ = ["files", "folder"]

SHOW = "editor = tgw.edit(graph, session=sess)\neditor"


@pytest.mark.slow
def test_a_file_that_is_read_again_is_shown_without_its_edits(files: Files) -> None:
    widget = files.open("graph.pb")
    remove(widget, "net/logits")
    expect(files.dirty).to_have_count(1)
    files.page.get_by_role("menuitem", name="File", exact=True).click()
    files.page.locator("[data-command='docmanager:reload']:visible").click()
    files.dialog.locator(".jp-mod-accept").click()
    expect(files.dirty).to_have_count(0, timeout=CELL)
    again = files.shown("graph.pb")
    again.settled()
    remove(again, "net/logits")
    expect(files.dirty).to_have_count(1)


@pytest.mark.slow
def test_a_notebook_whose_kernel_has_ended_shows_its_picture_of_the_graph(
    page: Page, jupyter_server: JupyterServer
) -> None:
    """In place of the error of Jupyter's widgets, also where the notebook is trusted."""
    path = write_notebook(jupyter_server, "ended.ipynb", [GRAPH, SHOW])
    notebook = open_notebook(page, jupyter_server, path)
    notebook.run_all()
    with page.expect_response(lambda reply: reply.request.method == "PUT"):
        page.keyboard.press("Control+s")
    for session in jupyter_server.sessions():
        page.goto("about:blank")
        jupyter_server.end_session(session)
    with expecting("widget model not found", "/@jupyter-widgets/jupyterlab-manager/"):
        again = open_notebook(page, jupyter_server, path)
        picture = again.output(1).get_by_role("img", name="<GraphEditor")
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.naturalWidth") > 200
        expect(again.output(1)).to_contain_text("run it again to work with the graph")
        expect(again.output(1)).not_to_contain_text("model not found")
    shoot(page, "reopened_notebook")
    again.run_all()
    expect(again.output(1).locator(".tfgraphwidget")).to_be_visible()
    expect(picture).to_have_count(0)
