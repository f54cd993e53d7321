"""One Chromium and one Jupyter server for all browser tests; a page for each or for many, which
must stay clean.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.chromium import FLAGS, find_chromium
from tests.browser.lab import FIRST_PAINT, WINDOW, SharedPage, shoot, watched_page
from tests.browser.server import JupyterServer, free_port
from tests.conftest import BROWSER

# What takes a moment on a machine of one's own takes many when others work there; a test that
# passes waits no longer.
expect.set_options(timeout=30_000)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies here `browser`, and run it last: what fails without a browser is known
    sooner.
    """
    for item in items:
        if item.nodeid.startswith(BROWSER):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.nodeid.startswith(BROWSER))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """When a test fails, keep a picture of its page."""
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if call.when == "call" and report.failed and page is not None:
        report.sections.append(("screenshot", str(shoot(page, f"failed-{item.name}"))))
    return report


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium with a profile, whose one page is blank; where it comes from is said in
    chromium.py.
    """
    with sync_playwright() as playwright:
        path = find_chromium(playwright.chromium.executable_path)
        folder = tmp_path_factory.mktemp("chromium")
        profile = playwright.chromium.launch_persistent_context(
            folder, executable_path=path, args=list(FLAGS), viewport=WINDOW
        )
        profile.set_default_timeout(30_000)
        profile.set_default_navigation_timeout(FIRST_PAINT)
        assert profile.browser
        yield profile.browser
        profile.close()


@pytest.fixture(scope="session")
def jupyter_server(
    tmp_path_factory: pytest.TempPathFactory, warm_kernels: str
) -> Iterator[JupyterServer]:
    """A JupyterLab, with Notebook 7 beside it, in a folder of its own; its kernels have TensorFlow
    loaded.
    """
    home = tmp_path_factory.mktemp("jupyter")
    server = JupyterServer(home, home / "root", free_port(), {"JUPYTER_PATH": warm_kernels})
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def shared_page(browser: Browser, jupyter_server: JupyterServer) -> Iterator[SharedPage]:
    """What the tests with the mark `one_page` use, one after the other."""
    shared = SharedPage(browser, jupyter_server)
    yield shared
    shared.close()


@pytest.fixture
def page(
    request: pytest.FixtureRequest, browser: Browser, jupyter_server: JupyterServer
) -> Iterator[Page]:
    """A new page, or a cleared one; the test fails on an uncaught exception, a console error, a
    request elsewhere.
    """
    mark = request.node.get_closest_marker("one_page")
    if mark is None or mark.args == (False,):
        with watched_page(browser, jupyter_server) as new:
            yield new
        return
    shared: SharedPage = request.getfixturevalue("shared_page")
    failed = request.session.testsfailed
    with shared.lent() as lent:
        yield lent
        if request.session.testsfailed > failed:
            shared.close()
