"""The command `tfgraphwidget` running as a person's shell runs it, and the page that the URL it
prints opens.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, Error, Page

from tests.browser.server import free_port

HOMES = (
    "HOME",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
)


@contextmanager
def printed_url(home: Path, *words: str, folder: Path | None = None) -> Iterator[str]:
    """The URL that the command prints; it runs in `folder`, with homes of its own in `home`, until
    the block ends.
    """
    # `python -m` would import from `folder`.
    program = str(Path(sysconfig.get_path("scripts"), "tfgraphwidget"))
    command = [sys.executable, program, *words, f"--port={free_port()}"]
    environment = {
        **os.environ,
        **{name: str(home / name) for name in HOMES},
        "PYTHONUNBUFFERED": "1",
    }
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True, **quiet
    ) as running:
        try:
            assert running.stdout
            yield next(
                found[0] for line in running.stdout if (found := re.search(r"http://\S+", line))
            )
        finally:
            os.killpg(running.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                running.wait(timeout=30)
            with suppress(
                ProcessLookupError
            ):  # a JupyterLab that has not heard the first signal outlives the command
                os.killpg(running.pid, signal.SIGKILL)


def opened(browser: Browser, url: str) -> Page:
    """A page at the URL: it is printed before the server listens."""
    page = browser.new_context().new_page()
    for _ in range(60):
        try:
            page.goto(url)
            break
        except Error:
            page.wait_for_timeout(500)
    return page
