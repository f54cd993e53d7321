"""A page that is open while tfgraphwidget is updated: what it would still fetch is gone, and it
says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.lab import CELL, open_notebook, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_files import Files
from tests.browser.test_panel import open_panel
from tests.conftest import build_mlp

LAZY_BUNDLE = "**/tfgraphwidget/static/lazy.*"


def has_another_name(route: Route) -> None:
    """After an update the server has no file of the name that the page knows."""
    route.continue_(url=route.request.url.replace("lazy.", "lazy.0"))


@pytest.fixture
def page(browser: Browser, jupyter_server: JupyterServer) -> Iterator[Page]:
    """A page whose console is not watched: the browser itself notes there what the server does not
    have.
    """
    context = browser.new_context(
        viewport={"width": 1400, "height": 900}, base_url=jupyter_server.url
    )
    context.set_default_timeout(30_000)
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?"
    page.route(LAZY_BUNDLE, has_another_name)
    yield page
    context.close()
    for session in jupyter_server.sessions():
        jupyter_server.end_session(session)


@pytest.mark.slow
def test_a_page_from_before_an_update_says_so_and_reloads(
    page: Page, jupyter_server: JupyterServer
) -> None:
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(error.message))
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "updated.ipynb", ["1"])
    )
    button = notebook.panel.locator(".jp-Toolbar [data-jp-item-name=tfgraphwidget] jp-button")
    dialog = page.locator(".jp-Dialog")
    for label in ("Later", "Reload the page"):
        button.click()
        expect(dialog).to_contain_text(
            "tfgraphwidget was updated after this page was opened; reload the page."
        )
        if label == "Reload the page":
            shoot(page, "updated_1_panel")
            page.unroute(LAZY_BUNDLE)
        dialog.get_by_role("button", name=label).click()
    expect(dialog).to_have_count(0)
    notebook.panel.locator(".jp-CodeCell").first.wait_for()
    open_panel(notebook).says("There is no graph yet")
    assert failed == []


@pytest.mark.slow
def test_a_file_says_it_in_its_tab(page: Page, jupyter_server: JupyterServer) -> None:
    folder: Path = jupyter_server.root / "updated"
    folder.mkdir()
    (folder / "graph.pb").write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    files = Files(page, jupyter_server, folder)
    files.item("graph.pb").dblclick()
    expect(files.dialog).to_contain_text("tfgraphwidget was updated")
    expect(files.document).to_contain_text("tfgraphwidget was updated")
    shoot(page, "updated_2_file")
    page.unroute(LAZY_BUNDLE)
    files.press("Reload the page")
    expect(files.document.locator(".tfgraphwidget")).to_be_visible(timeout=CELL)
