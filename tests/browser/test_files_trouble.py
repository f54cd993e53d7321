"""Files when things do not go as they mostly do: lost edits, borrowed kernels, Jupyter's own ways
to save.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, Response, expect

from tests.browser.lab import CELL, in_front, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_files import Files, remove
from tests.conftest import build_mlp

pytestmark = pytest.mark.one_page

DOCUMENT = (
    "[...window.jupyterapp.shell.widgets('main')].find(one => one.context?.path.endsWith('.pb'))"
)
RUN = "([id, args]) => void window.jupyterapp.commands.execute(id, args)"
# Whatever the document says in place of the graph, from now on; each message has a heading of its
# own, so that one is known which another follows before the page is drawn.
COLLECT = """() => {
    window.said = [];
    new MutationObserver((records) => {
        for (const { addedNodes } of records)
            for (const node of addedNodes)
                if (node.nodeName === "H2") window.said.push(node.textContent);
    }).observe(document.querySelector(".tgw-pane-status"), { childList: true }); }"""


@pytest.fixture
def folder(jupyter_server: JupyterServer, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own, with two GraphDefs in it."""
    made = jupyter_server.root / f"trouble {request.node.name[5:25]}"
    made.mkdir()
    for name in ("graph.pb", "second.pb"):
        (made / name).write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    return made


@pytest.fixture
def files(page: Page, jupyter_server: JupyterServer, folder: Path) -> Iterator[Files]:
    """The file browser on the test's folder."""

    def leave(dialog: Dialog) -> None:  # "leave this page?"
        dialog.accept()

    page.on("dialog", leave)
    yield Files(page, jupyter_server, folder)
    page.remove_listener("dialog", leave)


def run(files: Files, command: str, **arguments: Any) -> None:
    """Begin a command of JupyterLab."""
    files.page.evaluate(RUN, [command, arguments])


def restart(files: Files) -> None:
    """Restart the kernel of the document."""
    files.page.evaluate(f"() => void {DOCUMENT}.context.sessionContext.restartKernel()")


@pytest.mark.slow
def test_a_kernel_that_is_being_started_has_not_ended(files: Files) -> None:
    files.open("graph.pb")
    files.page.evaluate(f"() => {DOCUMENT}.context.sessionContext.shutdown()")
    expect(files.message).to_contain_text("The kernel has ended")
    files.page.evaluate(COLLECT)
    files.message.get_by_role("button", name="Restart kernel").click()
    files.shown("graph.pb")
    said = files.page.evaluate("() => window.said")
    assert "Starting a kernel …" in said
    assert "The kernel has ended" not in said


@pytest.mark.slow
def test_edits_that_were_not_done_again_are_offered_until_they_are_discarded(
    files: Files, folder: Path
) -> None:
    remove(files.open("graph.pb"), "net/logits")
    os.utime(folder / "graph.pb", ns=(1, 1))  # written by somebody else
    restart(files)
    expect(files.news).to_contain_text(
        "changed on disk since, so 1 edit of last time was not done again", timeout=CELL
    )
    widget = files.shown("graph.pb")
    expect(widget.root).to_have_attribute("data-ops", "44")
    expect(files.dirty).to_have_count(0)
    remove(widget, "net/logits")  # which would have been kept in its place
    expect(files.news).to_contain_text("1 edit of last time was not done again")
    shoot(files.page, "trouble_3_aside")
    with files.page.expect_download() as downloaded:
        files.news.get_by_role("button", name="Download them").click()
    (edit,) = json.loads(downloaded.value.path().read_text())
    assert downloaded.value.suggested_filename == "graph.pb.edits.json"
    assert "net/logits" in json.dumps(edit)
    files.dirty.locator(".lm-TabBar-tabCloseIcon").click()
    with files.page.expect_response(
        lambda reply: reply.request.method == "DELETE"
    ):  # of the session
        files.press("Discard")
    expect(files.page.locator(".tfgraphwidget")).to_have_count(0)
    files.open("graph.pb")
    run(files, "docmanager:clone")  # a tab that comes later says the same
    expect(files.page.locator(".tgw-file-news", has_text="was not done again")).to_have_count(2)
    expect(files.page.locator(".tfgraphwidget")).to_have_count(2)

    def without_them(reply: Response) -> bool:
        """The state of the page as it is without them was saved; one before it may be on its
        way.
        """
        text = reply.request.post_data or ""
        is_saved = "/workspaces/" in reply.url and reply.request.method == "PUT"
        return is_saved and f"edits-aside:{folder.name}" not in text

    with files.page.expect_response(without_them):
        files.news.get_by_role("button", name="Discard them").click()
    expect(files.page.locator(".tgw-file-actions button")).to_have_count(0)
    files.page.reload()
    files.shown("graph.pb")
    expect(files.news).not_to_contain_text("not done again")


@pytest.mark.slow
def test_save_as_closes_nothing(files: Files, folder: Path) -> None:
    widget = files.open("graph.pb")
    run(files, "docmanager:save-as")
    expect(files.dialog).to_contain_text("Save graph.pb")
    files.page.evaluate(
        "(path) => window.jupyterapp.serviceManager.contents.save(path, "
        "{ type: 'file', format: 'text', content: 'saved meanwhile' })",
        f"{files.place}/other.txt",
    )
    assert (folder / "other.txt").read_text() == "saved meanwhile"
    files.press("Cancel")
    expect(files.dialog).to_have_count(0)
    expect(widget.root).to_be_visible()
    expect(files.page.locator(".jp-FileEditor")).to_have_count(0)


@pytest.mark.slow
def test_save_all_asks_for_what_is_changed_alone(files: Files) -> None:
    files.open("second.pb")
    remove(files.open("graph.pb"), "net/logits")
    run(files, "launcher:create")
    expect(files.page.locator(in_front(".jp-Launcher"))).to_be_visible()
    run(files, "docmanager:save-all")
    expect(files.dialog).to_contain_text("Save graph.pb")
    files.press("Cancel")
    expect(files.dialog).to_have_count(0)
    run(files, "docmanager:save-all")
    files.press("Save")
    expect(files.dirty).to_have_count(0)
    expect(files.dialog).to_have_count(0)


@pytest.mark.slow
def test_save_that_is_pressed_twice_asks_once_and_says_what_it_waits_for(
    files: Files, tmp_path: Path
) -> None:
    files.open("graph.pb")
    busy = (
        f"import pathlib, time\nwhile not pathlib.Path({str(tmp_path / 'done')!r}).exists(): "
        "time.sleep(0.05)"
    )
    files.page.evaluate(
        f"(code) => void {DOCUMENT}.context.sessionContext.session.kernel.requestExecute({{ code "
        f"}})",
        busy,
    )
    save = files.document.get_by_role("button", name="Save")
    save.click()
    save.click()
    expect(files.news).to_contain_text("Asking the kernel …")
    shoot(files.page, "trouble_4_asking")
    (tmp_path / "done").touch()
    expect(files.dialog).to_have_count(1)
    expect(files.news).not_to_contain_text("Asking")
    files.press("Cancel")
    expect(files.dialog).to_have_count(0)
    save.click()
    expect(files.dialog).to_have_count(1)
    files.press("Cancel")


def test_what_goes_wrong_in_saving_stands_above_the_graph(files: Files) -> None:
    widget = files.open("graph.pb")
    broken = (
        "import tfgraphwidget.jupyterlab.documents as documents\ndocuments.Document.kinds = "
        "lambda self: 1 / 0"
    )
    widget.notebook.kernel_eval("1", broken)
    files.document.get_by_role("button", name="Save").click()
    expect(files.news).to_contain_text("Not saved: ZeroDivisionError in the kernel")
    expect(widget.root).to_be_visible()


@pytest.mark.slow
def test_a_file_may_use_a_notebooks_kernel_and_leaves_it_running(
    files: Files, jupyter_server: JupyterServer
) -> None:
    path = write_notebook(jupyter_server, f"{files.place}/lender.ipynb", ["lent = 1"])
    files.page.evaluate(
        """async (path) => {
        const opened = await window.jupyterapp.commands.execute('docmanager:open', { path });
        await opened.sessionContext.ready; }""",
        path,
    )
    files.open("graph.pb")
    kernel = jupyter_server.kernel_of(path)
    files.page.evaluate(
        f"(id) => void {DOCUMENT}.context.sessionContext.changeKernel({{ id }})", kernel
    )
    expect(files.message).to_be_visible()
    widget = files.shown("graph.pb")
    assert jupyter_server.kernel_eval(path, "'net/logits' in editor._core.index.ids")
    remove(widget, "net/logits")
    shoot(files.page, "trouble_5_borrowed")
    files.dirty.filter(has_text="graph.pb").locator(".lm-TabBar-tabCloseIcon").click()
    files.press("Discard")
    expect(files.page.locator(".tfgraphwidget")).to_have_count(0)
    assert jupyter_server.kernel_eval(path, "1 + 1") == 2


@pytest.mark.slow
def test_a_renamed_file_is_saved_and_opened_again_under_its_new_name(
    files: Files, folder: Path
) -> None:
    remove(files.open("graph.pb"), "net/logits")
    files.page.evaluate(
        "([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to)",
        [f"{files.place}/graph.pb", f"{files.place}/renamed.pb"],
    )
    files.page.keyboard.press("Control+s")
    expect(files.dialog.get_by_label("Name")).to_have_value("renamed_edited.pb")
    files.press("Cancel")
    expect(files.dialog).to_have_count(0)
    restart(files)
    expect(files.message).to_be_visible()
    expect(files.shown("renamed.pb").root).to_have_attribute("data-ops", "43")
    expect(files.dirty).to_have_count(1)


@pytest.mark.slow
def test_a_file_that_is_closed_and_opened_again_at_once_is_open(
    files: Files, jupyter_server: JupyterServer
) -> None:
    widget = files.open("graph.pb")
    was = widget.notebook.kernel_eval("__import__('os').getpid()")
    for _ in range(2):
        files.page.locator(
            ".lm-TabBar-tab.lm-mod-current .lm-TabBar-tabCloseIcon:visible"
        ).last.click()
        expect(files.page.locator(".tgw-pane")).to_have_count(0)
        widget = files.open("graph.pb")
        expect(widget.root).to_have_attribute("data-ops", "44")
    now = files.page.evaluate(f"() => {DOCUMENT}.context.sessionContext.session.kernel.id")
    assert now == jupyter_server.kernel_of(widget.notebook.path)
    assert widget.notebook.kernel_eval("__import__('os').getpid()") != was


@pytest.mark.slow
def test_a_typed_suffix_chooses_the_kind_of_file(files: Files) -> None:
    remove(files.open("graph.pb"), "net/logits")
    files.document.get_by_role("button", name="Save").click()
    name, kind = files.dialog.get_by_label("Name"), files.dialog.get_by_label("Kind")
    expect(kind).to_have_value("graph")
    for typed, meant in (
        ("other.pbtxt", "text"),
        ("other.py", "script"),
        ("other", "script"),  # nothing said
        ("folder/other", "script"),
        ("OTHER.PBTXT", "text"),
        ("other.meta", "meta"),
        ("other.pb", "graph"),
    ):
        name.fill(typed)
        expect(kind).to_have_value(meant)
        expect(name).to_have_value(typed)
    name.fill("typed.pbtxt")
    expect(files.dialog).to_contain_text("to be read")
    files.press("Save")
    expect(files.news).to_contain_text("Saved as typed.pbtxt", timeout=120_000)
