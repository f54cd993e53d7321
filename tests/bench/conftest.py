"""The browser benches use the browser tests' Chromium and server, and a page that may misbehave: peers do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import browser, jupyter_server
from tests.browser.server import JupyterServer

__all__ = ["browser", "jupyter_server"]


@pytest.fixture
def page(browser: Browser, jupyter_server: JupyterServer) -> Iterator[Page]:
    """A new page that nobody watches."""
    context = browser.new_context(viewport={"width": 1600, "height": 900}, base_url=jupyter_server.url)
    yield context.new_page()
    context.close()
