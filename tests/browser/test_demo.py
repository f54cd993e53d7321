"""`tfgraphwidget demo`, which `make demo` runs, prints a URL that opens the first notebook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.commanded import opened, printed_url


def test_the_printed_url_opens_the_notebook(tmp_path: Path, browser: Browser) -> None:
    with printed_url(tmp_path, "demo") as url:
        page = opened(browser, url)
        title = page.get_by_role("heading", name="Clone a part of a live graph, by clicking")
        expect(title).to_be_visible(timeout=60_000)
        page.context.close()


def test_an_unknown_word_is_exit_code_2() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfgraphwidget", "dance"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "invalid choice" in done.stderr
