"""The browser benches use the tests' Chromium, kernels of their own, and a page that may misbehave:
peers do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.bench import page as performance
from tests.bench import release, results
from tests.browser.conftest import browser
from tests.browser.server import JupyterServer, free_port

__all__ = ["browser"]


@pytest.fixture(scope="session")
def jupyter_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A JupyterLab whose kernels have not imported TensorFlow, as a user's have not."""
    home = tmp_path_factory.mktemp("jupyter")
    server = JupyterServer(home, home / "root", free_port())
    server.start()
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser, jupyter_server: JupyterServer) -> Iterator[Page]:
    """A new page that nobody watches."""
    context = browser.new_context(
        viewport={"width": 1600, "height": 900}, base_url=jupyter_server.url
    )
    yield context.new_page()
    context.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """`make bench` writes what was measured, a part of it beside what was measured before; a single
    bench prints it. What got slower than at the last release fails.
    """
    way = os.environ.get("TFGRAPHWIDGET_RESULTS")
    if way and results.ROWS:
        rows = [*(results.earlier(results.ROWS) if way == "add" else ()), *results.ROWS]
        results.write(rows, growths=release.growths(rows))
        performance.write(rows)
    for sentence in release.shortfalls(results.ROWS) if results.ROWS else ():
        print(f"\n{sentence}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
