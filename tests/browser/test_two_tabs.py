"""One file in two tabs of a browser: both show it and its edits; saved in one, saved in the other;
nothing is lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import Widget
from tests.browser.lab import in_a_window, shoot
from tests.browser.server import JupyterServer
from tests.browser.test_files import Files, remove
from tests.conftest import build_mlp


@pytest.fixture
def folder(jupyter_server: JupyterServer, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own, with a GraphDef in it."""
    made = jupyter_server.root / request.node.name[5:25]
    made.mkdir()
    (made / "graph.pb").write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    return made


class Tabs:
    """The file in two tabs, each in a workspace of its own."""

    def __init__(self, page: Page, server: JupyterServer, folder: Path, script: str = "") -> None:
        page.on("dialog", lambda dialog: dialog.accept())  # "leave this page?"
        page.add_init_script(script)
        self.first = Files(page, server, folder)
        self.one = self.first.open("graph.pb")
        other = in_a_window(page)
        other.add_init_script(script)
        self.second = Files(other, server, folder)
        self.two = self.second.open("graph.pb")


@pytest.fixture
def tabs(page: Page, jupyter_server: JupyterServer, folder: Path) -> Tabs:
    """The file is open in both."""
    return Tabs(page, jupyter_server, folder)


@pytest.fixture
def plain_tabs(page: Page, jupyter_server: JupyterServer, folder: Path) -> Tabs:
    """The same as over plain http from another machine, where a browser has no locks."""
    return Tabs(page, jupyter_server, folder, "delete Navigator.prototype.locks;")


def has_ops(widget: Widget, count: int) -> None:
    """The tab shows a graph of that many ops."""
    expect(widget.root).to_have_attribute("data-ops", str(count))
    widget.settled()


@pytest.mark.slow
def test_edits_and_saving_are_seen_in_both_tabs(tabs: Tabs, folder: Path) -> None:
    remove(tabs.one, "net/logits")
    has_ops(tabs.two, 43)
    expect(tabs.second.dirty).to_have_count(1)
    tabs.second.page.bring_to_front()
    remove(tabs.two, "net/two/out")
    count = int(tabs.two.number("ops"))
    assert count < 43
    has_ops(tabs.one, count)
    tabs.second.page.keyboard.press("Control+s")
    tabs.second.press("Save")
    expect(tabs.second.news).to_contain_text("Saved as graph_edited.pb", timeout=120_000)
    for files in (tabs.first, tabs.second):
        expect(files.dirty).to_have_count(0)
    edited = tgw.edit(folder / "graph_edited.pb")._core.index.ids
    assert len(edited) == count
    shoot(tabs.first.page, "tabs_1_first")
    shoot(tabs.second.page, "tabs_2_second")


@pytest.mark.slow
def test_closing_one_tab_leaves_the_other_its_kernel(
    tabs: Tabs, jupyter_server: JupyterServer
) -> None:
    remove(tabs.one, "net/logits")
    has_ops(tabs.two, 43)
    tabs.first.page.locator(".lm-TabBar-tab.jp-mod-dirty .lm-TabBar-tabCloseIcon").click()
    # Nothing is lost, so nothing is asked.
    expect(tabs.first.page.locator(".tfgraphwidget")).to_have_count(0)
    tabs.second.page.bring_to_front()
    expect(tabs.second.dirty).to_have_count(1)
    remove(tabs.two, "net/two/out")
    assert tabs.two.notebook.kernel_eval("len(editor.history.done)") == 2
    # It comes back with all edits, and the last one to close asks.
    tabs.first.item("graph.pb").dblclick()
    expect(tabs.first.message).to_contain_text("reload this page")
    shoot(tabs.first.page, "tabs_3_left")
    tabs.first.message.get_by_role("button", name="Reload the page").click()
    has_ops(tabs.first.shown("graph.pb"), int(tabs.two.number("ops")))
    tabs.first.dirty.locator(".lm-TabBar-tabCloseIcon").click()
    expect(tabs.first.page.locator(".tfgraphwidget")).to_have_count(0)
    tabs.second.dirty.locator(".lm-TabBar-tabCloseIcon").click()
    expect(tabs.second.dialog).to_contain_text("2 edits of graph.pb would be lost.")
    with tabs.second.page.expect_response(lambda reply: reply.request.method == "DELETE"):
        tabs.second.press("Discard")
    assert not jupyter_server.sessions()


@pytest.mark.slow
def test_closing_one_tab_over_plain_http_leaves_the_other_its_kernel(
    plain_tabs: Tabs, jupyter_server: JupyterServer
) -> None:
    first, second = plain_tabs.first, plain_tabs.second
    remove(plain_tabs.one, "net/logits")
    has_ops(plain_tabs.two, 43)
    first.dirty.locator(".lm-TabBar-tabCloseIcon").click()
    expect(first.page.locator(".tfgraphwidget")).to_have_count(0)
    second.page.bring_to_front()
    remove(plain_tabs.two, "net/two/out")
    assert plain_tabs.two.notebook.kernel_eval("len(editor.history.done)") == 2
    second.dirty.locator(".lm-TabBar-tabCloseIcon").click()
    with second.page.expect_response(lambda reply: reply.request.method == "DELETE"):
        second.press("Discard")
    assert not jupyter_server.sessions()


@pytest.mark.slow
def test_a_restart_in_one_tab_brings_the_edits_back_in_both(tabs: Tabs) -> None:
    remove(tabs.one, "net/logits")
    has_ops(tabs.two, 43)
    page = tabs.first.page
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Restart Kernel…", exact=True).click()
    tabs.first.dialog.locator(".jp-mod-accept").click()
    expect(tabs.first.message).to_be_visible()
    for files in (tabs.first, tabs.second):
        widget = files.shown("graph.pb")
        has_ops(widget, 43)
        expect(files.dirty).to_have_count(1)
    assert tabs.two.notebook.kernel_eval("len(editor.history.done)") == 1
