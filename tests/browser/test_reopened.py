"""File > Reload from Disk on a graph: the file as it is, in place of the editor with its edits."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import CELL
from tests.browser.test_files import Files, files, folder, remove

__all__ = ["files", "folder"]


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
