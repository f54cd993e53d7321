"""`tfgraphwidget demo`, which `make demo` runs, prints a URL that opens the first notebook."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, expect

from tests.browser.server import free_port


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, running; with a home of its own."""
    homes = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR")
    command = [sys.executable, "-m", "tfgraphwidget", "demo", f"--port={free_port()}"]
    environment = {**os.environ, **{name: str(tmp_path / name) for name in homes}, "PYTHONUNBUFFERED": "1"}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=environment, start_new_session=True, **quiet) as running:
        yield running
        os.killpg(running.pid, signal.SIGTERM)


def test_the_printed_url_opens_the_notebook(demo: subprocess.Popen[str], browser: Browser) -> None:
    assert demo.stdout
    url = next(found[0] for line in demo.stdout if (found := re.search(r"http://\S+", line)))
    page = browser.new_context().new_page()
    for _ in range(60):  # the URL is printed before the server listens
        try:
            page.goto(url)
            break
        except Error:
            page.wait_for_timeout(500)
    title = page.get_by_role("heading", name="Clone a part of a live graph, by clicking")
    expect(title).to_be_visible(timeout=60_000)
    page.context.close()


def test_an_unknown_word_is_exit_code_2() -> None:
    done = subprocess.run([sys.executable, "-m", "tfgraphwidget", "dance"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "invalid choice" in done.stderr
