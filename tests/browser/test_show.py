"""`tfgraphwidget show FILE` prints a URL that opens the file in the editor's document, whatever it
is called.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.commanded import opened, printed_url
from tests.browser.lab import CELL, FIRST_PAINT, in_front
from tests.conftest import build_mlp


@pytest.mark.slow
def test_the_printed_url_opens_the_file_in_the_editor(tmp_path: Path, browser: Browser) -> None:
    folder = tmp_path / "my models"
    folder.mkdir()
    file = folder / "it's 100% '); import os # naïve.pb"
    file.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    with printed_url(tmp_path, "show", file.name, "--no-browser", folder=folder) as url:
        page = opened(browser, url)
        document = page.locator(in_front(".jp-Document")).first
        expect(document).to_be_visible(timeout=FIRST_PAINT)
        expect(document.locator(".tfgraphwidget")).to_be_visible(timeout=CELL)
        expect(
            page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text=file.name)
        ).to_have_count(1)
        page.context.close()
