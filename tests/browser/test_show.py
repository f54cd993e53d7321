"""`tfgraphwidget show FILE` prints a URL that opens the file in the editor's document, whatever it is called."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.browser.lab import CELL, FIRST_PAINT
from tests.browser.server import free_port
from tests.conftest import build_mlp

HOMES = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR")


@pytest.mark.browser
def test_the_printed_url_opens_the_file_in_the_editor(tmp_path: Path, browser: Browser) -> None:
    folder = tmp_path / "my models"
    folder.mkdir()
    file = folder / "it's 100% '); import os # naïve.pb"
    file.write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    command = [sys.executable, "-m", "tfgraphwidget", "show", file.name, "--no-browser", f"--port={free_port()}"]
    environment = {**os.environ, **{name: str(tmp_path / name) for name in HOMES}, "PYTHONUNBUFFERED": "1"}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **quiet) as running:
        try:
            assert running.stdout
            url = next(found[0] for line in running.stdout if (found := re.search(r"http://\S+", line)))
            page = browser.new_context().new_page()
            for _ in range(60):  # the URL is printed before the server listens
                try:
                    page.goto(url)
                    break
                except Error:
                    page.wait_for_timeout(500)
            document = page.locator(".jp-Document:visible").first
            expect(document).to_be_visible(timeout=FIRST_PAINT)
            expect(document.locator(".tfgraphwidget")).to_be_visible(timeout=CELL)
            expect(page.locator(".lm-TabBar-tab.lm-mod-current").filter(has_text=file.name)).to_have_count(1)
            page.context.close()
        finally:
            os.killpg(running.pid, signal.SIGTERM)
