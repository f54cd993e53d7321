"""A person's hands on a notebook: open it, run its cells, change the theme. Waits on what is shown,
never sleeps.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    expect,
)

from tests.browser.server import App, JupyterServer

ARTIFACTS = Path(__file__).parent / "artifacts"
FIRST_PAINT = 120_000  # ms; JupyterLab's first load on two cold cores, which others may use, too
CELL = 120_000  # ms; a cell that imports TensorFlow
RAN = re.compile(r"\[\d+\]:")
_BEHIND = '[style*="content-visibility: hidden"]'
KERNEL_IS_IDLE = """() => {
    const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""
# `evaluate` has no timeout: it never returns if JupyterLab opens a dialog, which no test answers.
IN_TIME = """(...given) => Promise.race([
    (%s)(...given),
    new Promise((_, fail) => setTimeout(() => fail(new Error("not done within a minute")), 60_000)),
])"""
# What a page of JupyterLab is made of it when a test is done; whether it is then as a new one is.
CLEAR = """async () => {
    const { commands, shell } = window.jupyterapp;
    const isLight = () => document.body.dataset.jpThemeName === "JupyterLab Light";
    for (const widget of [...shell.widgets("main")]) widget.dispose();
    await commands.execute("filebrowser:go-to-path", { path: "" });
    if (shell.leftCollapsed) shell.expandLeft();
    if (!shell.rightCollapsed) shell.collapseRight();
    if (!isLight()) {
        await commands.execute("apputils:change-theme", { theme: "JupyterLab Light" });
        const covered = () => !isLight() || document.querySelector("#jupyterlab-splash");
        for (let frames = 600; covered() && frames > 0; frames--)
            await new Promise(requestAnimationFrame);
    }
    const isRecorded = "drawnTexts" in window;  // its canvases are not as they were
    window.isCleared = isLight() && shell.mode === "multiple-document" && !isRecorded
        && !document.querySelector("#jupyterlab-splash, .jp-Dialog, .lm-Menu, .Toastify__toast");
    return window.isCleared;
}"""
OPEN_IN_CLEARED = """async (path) => {
    const { commands, shell } = window.jupyterapp;
    window.isCleared = false;
    const opened = await commands.execute("docmanager:open", { path });
    // what else is open is JupyterLab's launcher
    for (const other of [...shell.widgets("main")]) if (other !== opened) other.dispose();
}"""
SHOW_FOLDER_IN_CLEARED = """async (path) => {
    window.isCleared = false;
    await window.jupyterapp.commands.execute("filebrowser:go-to-path", { path });
}"""
IS_CLEARED = "() => window.isCleared === true"
WINDOW = {"width": 1400, "height": 900}
TRACEBACK = "Traceback (most recent call last)"
# Where JupyterLab keeps the theme that was chosen last.
THEME = "config/lab/user-settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
# What Chromium keeps of a site for its pages; not what it keeps for itself, the cache of files and
# of compiled code.
LEFT_BEHIND = (
    "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems,storage_buckets"
)
KERNEL_SPEC = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}

# Jupyter's own noise: a part of the message, and a part of the address or the stack it came with.
NOT_OURS = (
    # Notebook 7.6's plugin of shortcuts asks for its own settings before it has loaded them: in
    # each page, with our plugins disabled too. It has no effect, and we cannot keep it away;
    # JupyterLab does not do that.
    ("Cannot read properties of undefined (reading 'schema')", "notebook_core."),
    # JupyterLab's debugger asks each kernel for its state; the page may be closed before the
    # answer.
    ("Could not restore the debugger state", "jlab_core."),
    # Notebook 7.6 restores JupyterLab's file browser in a notebook's page, which does not have its
    # commands; whether it comes to the command depends on what is loaded first. What we open
    # ourselves: jupyterlab/host-requests.ts.
    ("Command 'filebrowser:open-path' not registered", "notebook_core."),
    # Two pages on one kernel: what one of them opens, and the kernel closes again, the other has
    # never heard of.
    ("Comm not found for comm id", "jlab_core."),
    # JupyterLab asks for a subshell when a comm opens; a kernel that is shut down meanwhile does
    # not answer. Nobody else sends that; of a page that is closing there is no stack to see it by.
    ("Canceled future for create_subshell_request", ""),
    # A toolbar of JupyterLab's waits a moment before it measures itself, also where its tab is
    # closed meanwhile.
    ("Cannot read properties of null (reading 'promise')", "jlab_core."),
    # A document that is closed while JupyterLab connects it to a session that runs already for its
    # path.
    ("Disposed", "._handleNewSession ("),
    # Jupyter's icon tells whether the kernel is busy; a test that cuts the network keeps it from
    # being fetched.
    ("ERR_INTERNET_DISCONNECTED", "/static/favicons/"),
    # JupyterLab asks now and then for the file of a document that a test has deleted.
    ("the server responded with a status of 404", "/a_file_that_another_/"),
    # And what JupyterLab asks for every few seconds, and when its layout has changed: files,
    # kernels, sessions, terminals, workspaces.
    ("ERR_INTERNET_DISCONNECTED", "/api/"),
)


_expected: list[tuple[str, str]] = []


@contextmanager
def expecting(text: str, place: str) -> Iterator[None]:
    """While this lasts, a message of Jupyter's own is expected that would fail a test anywhere
    else.

    Args:
        text: A part of the message.
        place: A part of the address or the stack it comes with.
    """
    _expected.append((text, place))
    try:
        yield
    finally:
        _expected.remove((text, place))


def is_ours(message: str, where: str) -> bool:
    """Whether a message is not one of Jupyter's own."""
    return not any(text in message and place in where for text, place in (*NOT_OURS, *_expected))


@dataclass
class Watch:
    """Collects what no test may cause: exceptions, console errors, and requests to another
    origin.
    """

    origin: str
    problems: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        """Watch this page from now on."""
        page.on("pageerror", self.on_error)
        page.on("console", self.on_console)
        page.on("request", self.on_request)

    def detach(self, page: Page) -> None:
        """What this page does from now on is for others to see."""
        page.remove_listener("pageerror", self.on_error)
        page.remove_listener("console", self.on_console)
        page.remove_listener("request", self.on_request)

    def on_error(self, error: Error) -> None:
        """An exception that nobody caught."""
        if is_ours(error.message, error.stack or ""):
            self.problems.append(f"uncaught: {error.stack or error.message}")

    def on_console(self, message: ConsoleMessage) -> None:
        """`console.error`, and what the browser reports there itself."""
        source = message.location.get("url", "")
        if message.type == "error" and is_ours(message.text, source):
            self.problems.append(f"console: {message.text} ({source})")

    def on_request(self, request: Request) -> None:
        """A request for something that is not the server's."""
        parts = urlsplit(request.url)
        if parts.scheme in {"http", "https"} and f"http://{parts.netloc}" != self.origin:
            self.problems.append(f"request to another origin: {request.url}")


def in_front(selector: str) -> str:
    """The selector of the panels of tabs in front. Those behind have a box in JupyterLab 4.7, in
    4.6 they have none.

    Args:
        selector: The selector of a panel, as ".jp-Document".
    """
    return f"{selector}:visible:not({_BEHIND})"


@dataclass
class OpenNotebook:
    """A notebook that is open on a page, with its kernel running."""

    page: Page
    server: JupyterServer
    path: str

    @property
    def panel(self) -> Locator:
        """The notebook as shown."""
        return self.page.locator(in_front(".jp-NotebookPanel")).first

    @property
    def tracebacks(self) -> Locator:
        """The outputs of the cells that raised."""
        return self.panel.locator(".jp-OutputArea-output.jp-RenderedText").filter(
            has_text=TRACEBACK
        )

    def cell(self, index: int) -> Locator:
        """The cell at this place, counting from 0, markdown cells included."""
        return self.panel.locator(".jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        """What the cell shows below its code."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def run_cell(self, index: int, timeout: float = CELL, raises: bool = False) -> Locator:
        """Click into the cell, press Shift+Enter, wait until it has run; its output. Fails if it
        raises unless told.
        """
        prompt = self.cell(index).locator(".jp-InputPrompt")
        before = prompt.inner_text()
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        # [ ]: becomes [*]: and then [1]:, and a second run ends on another number.
        expect(prompt).not_to_have_text(before, timeout=timeout)
        expect(prompt).to_have_text(RAN, timeout=timeout)
        failed = (
            self.output(index)
            .locator(".jp-OutputArea-output.jp-RenderedText")
            .filter(has_text=TRACEBACK)
        )
        assert raises or failed.count() == 0, failed.first.inner_text()
        return self.output(index)

    def run_all(self, timeout: float = CELL) -> None:
        """Run > Run All Cells, and wait until the last code cell has run; fails with the first
        traceback.
        """
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = (
            self.panel.locator(".jp-CodeCell").last.locator(".jp-InputPrompt").filter(has_text=RAN)
        )
        expect(last.or_(self.tracebacks).first).to_be_attached(timeout=timeout)
        # A traceback comes before the kernel's answer, and what is asked until then is passed over.
        expect(self.panel.locator(".jp-InputPrompt").filter(has_text="[*]")).to_have_count(
            0, timeout=timeout
        )
        assert self.tracebacks.count() == 0, self.tracebacks.first.inner_text()

    def kernel_eval(self, expression: str, before: str = "") -> Any:
        """The value of a Python expression, as JSON, in this notebook's kernel: see
        JupyterServer.kernel_eval.
        """
        return self.server.kernel_eval(self.path, expression, before)


@contextmanager
def watched(browser: Browser, server: JupyterServer) -> Iterator[BrowserContext]:
    """The browser's profile, watched; at the end its kernels are shut down, and whatever went wrong
    fails.

    The profile is the one that the browser was started with. Only there does it keep what it has
    compiled: a context of its own would cost each test two seconds.
    """
    already = server.sessions()
    profile = browser.contexts[0]
    watch = Watch(server.url)
    profile.on("page", watch.attach)
    for page in profile.pages[1:]:
        watch.attach(page)
    try:
        yield profile
    finally:
        profile.remove_listener("page", watch.attach)
        for page in profile.pages[1:]:
            watch.detach(page)
        profile.set_offline(False)
        for session in server.sessions() - already:
            server.end_session(session)
    assert not watch.problems, "\n".join(watch.problems)


def new_page(profile: BrowserContext, server: JupyterServer) -> Page:
    """A page in a browser as good as new: all that a page can leave behind is cleared away
    before.
    """
    (server.home / THEME).unlink(missing_ok=True)
    cleaner = profile.new_cdp_session(profile.pages[0])
    cleaner.send("Storage.clearDataForOrigin", {"origin": server.url, "storageTypes": LEFT_BEHIND})
    cleaner.detach()
    return profile.new_page()


def in_a_window(page: Page) -> Page:
    """Another page of the same profile, in a window of its own: behind another tab it would draw
    one frame a second.
    """
    assert page.context.browser
    session = page.context.browser.new_browser_cdp_session()
    with page.context.expect_page() as opened:
        session.send("Target.createTarget", {"url": "about:blank", "newWindow": True})
    session.detach()
    return opened.value


@contextmanager
def watched_page(browser: Browser, server: JupyterServer) -> Iterator[Page]:
    """A page of one's own, closed at the end; what other tests share is closed before."""
    for page in browser.contexts[0].pages[1:]:
        page.close()
    with watched(browser, server) as profile:
        try:
            yield new_page(profile, server)
        finally:
            for page in profile.pages[1:]:
                page.close()


@dataclass
class SharedPage:
    """A page of JupyterLab that one test after the other uses: it is as good as new then, or it is
    another one.

    To load JupyterLab takes 3 s of CPU, to open a notebook in it half a second.
    """

    browser: Browser
    server: JupyterServer
    page: Page | None = None

    @contextmanager
    def lent(self) -> Iterator[Page]:
        """The page, watched; all documents in it are closed at the end."""
        with watched(self.browser, self.server) as profile:
            if self.page is None or self.page.is_closed():
                self.page = new_page(profile, self.server)
            loads: list[Page] = [] if self.page.url == "about:blank" else [self.page]

            def count(page: Page) -> None:
                loads.append(page)

            self.page.on("domcontentloaded", count)
            try:
                yield self.page
            finally:
                # A page that the test itself has loaded again opens, sooner or later, what was open
                # before.
                if self.page and not (len(loads) == 1 and self.clear(self.page)):
                    self.close()
                for page in profile.pages[1:]:
                    if page is self.page:
                        page.remove_listener("domcontentloaded", count)
                    else:
                        page.close()

    def clear(self, page: Page) -> bool:
        """Close all documents; whether the page is now as a new one is."""
        if page.is_closed() or not page.url.startswith(f"{self.server.url}/lab/"):
            return False
        page.set_viewport_size(WINDOW)
        page.emulate_media(forced_colors="null", reduced_motion="null", color_scheme="null")
        page.mouse.move(0, 0)
        if page.locator(".lm-Menu").count():
            page.keyboard.press("Escape")
        with suppress(Error):  # not done within a minute
            return bool(page.evaluate(IN_TIME % CLEAR))
        return False

    def close(self) -> None:
        """The next test gets another page."""
        if self.page:
            self.page.close()
        self.page = None


def write_notebook(server: JupyterServer, name: str, cells: list[str]) -> str:
    """A notebook of code cells in the server's folder; its path there, for `open_notebook`."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in cells],
        metadata={"kernelspec": KERNEL_SPEC},
    )
    nbformat.write(notebook, server.root / name)
    return name


def copy_notebook(server: JupyterServer, source: Path) -> str:
    """A fresh copy of a notebook, with the folder it lies in, in the server's folder; its path
    there.

    Outputs and prompts are cleared: a saved prompt [1]: looks the same before and after the cell
    runs.
    """
    folder = shutil.copytree(source.parent, server.root / source.stem, dirs_exist_ok=True)
    notebook = nbformat.read(source, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, folder / source.name)
    return str((folder / source.name).relative_to(server.root))


def open_notebook(page: Page, server: JupyterServer, path: str, app: App = "lab") -> OpenNotebook:
    """Open a notebook that lies in the server's folder, and wait until its kernel is idle."""
    open_document(page, server, path, app)
    notebook = OpenNotebook(page, server, path)
    notebook.panel.locator(".jp-CodeCell").first.wait_for(timeout=FIRST_PAINT)
    page.wait_for_function(KERNEL_IS_IDLE, timeout=FIRST_PAINT)
    return notebook


def open_document(page: Page, server: JupyterServer, path: str, app: App = "lab") -> None:
    """Open a file that lies in the server's folder."""
    if app == "lab" and page.evaluate(IS_CLEARED):
        page.evaluate(IN_TIME % OPEN_IN_CLEARED, path)
    else:
        page.goto(server.page_url(path, app))


def show_folder(page: Page, server: JupyterServer, path: str) -> None:
    """Show a folder in JupyterLab's file browser."""
    if page.evaluate(IS_CLEARED):
        page.evaluate(IN_TIME % SHOW_FOLDER_IN_CLEARED, path)
    else:
        page.goto(server.page_url(path))
    page.locator(".jp-DirListing-item").first.wait_for(timeout=FIRST_PAINT)


def set_theme(page: Page, dark: bool = True) -> None:
    """JupyterLab's dark or light theme, and wait until it shows."""
    name = "JupyterLab Dark" if dark else "JupyterLab Light"
    change = "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})"
    page.evaluate(IN_TIME % change, name)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", name)
    expect(
        page.locator("#jupyterlab-splash")
    ).not_to_be_attached()  # it covers the page while the theme loads


def shoot(target: Page | Locator, name: str) -> Path:
    """A screenshot in tests/browser/artifacts/, which git does not keep."""
    ARTIFACTS.mkdir(exist_ok=True)
    path = ARTIFACTS / f"{name}.png"
    target.screenshot(path=path, animations="disabled")
    return path
