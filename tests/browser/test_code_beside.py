"""Code that lies beside a graph is not run when the graph is opened: a kernel that starts as a
person's does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.commanded import opened, printed_url
from tests.browser.hands import Widget
from tests.browser.lab import CELL, OpenNotebook, in_front, watched_page
from tests.browser.server import JupyterServer, free_port
from tests.conftest import build_mlp

# What a kernel, the editor and Python itself import: at once, with the first graph, or when a
# picture is drawn.
MODULES = (
    "tensorflow",
    "tfgraphwidget",
    "json",
    "pathlib",
    "runpy",
    "pkgutil",
    "networkx",
    "matplotlib",
    "anywidget",
)
MODULES += (
    "sitecustomize",
    "usercustomize",
    "ipykernel_launcher",
    "ipykernel",
    "IPython",
    "jupyterlab",
    "numpy",
)
# Says so when it is imported, and goes on as a module that nothing can be done with.
HOSTILE = "open(__file__ + '.ran', 'w').close()\n"
LAZILY = "import os, networkx, matplotlib.figure; os.chdir({folder!r}); import beside_alone"


def with_hostile_code(folder: Path) -> Path:
    """A graph in a folder, with modules beside it that must not be imported."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        (folder / f"{name}.py").write_text(HOSTILE)
    (folder / "graph.pb").write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    return folder


def ran(folder: Path) -> list[str]:
    """The modules that were imported."""
    return sorted(file.name.removesuffix(".py.ran") for file in folder.rglob("*.ran"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[JupyterServer]:
    """A server whose kernels nobody has prepared, as one that was started with an empty entry in
    PYTHONPATH.
    """
    places = os.pathsep + os.environ.get("PYTHONPATH", "")
    made = JupyterServer(tmp_path, tmp_path / "root", free_port(), {"PYTHONPATH": places})
    made.start()
    yield made
    made.stop()


@pytest.fixture
def own_page(browser: Browser, server: JupyterServer) -> Iterator[Page]:
    """A page of that server."""
    with watched_page(browser, server) as page:
        yield page


class Document:
    """The document in front, whose kernel is told from those before it."""

    def __init__(self, page: Page, server: JupyterServer, path: str) -> None:
        self.page, self.server, self.path = page, server, path
        page.goto(server.page_url(path))
        self.drawn()

    def drawn(self) -> None:
        """Wait until a graph is drawn that was not there before; it is the file's."""
        root = self.page.locator(f"{in_front('.jp-Document')} .tfgraphwidget:not([data-before])")
        expect(root).to_be_visible(timeout=CELL)
        Widget(OpenNotebook(self.page, self.server, self.path), root)
        expect(root).to_have_attribute("data-ops", "44")
        root.evaluate("(root) => { root.dataset.before = 'yes'; }")

    def menu(self, item: str) -> Locator:
        """Choose an item of the Kernel menu; the dialog that it opens."""
        self.page.get_by_role("menuitem", name="Kernel", exact=True).click()
        self.page.get_by_role("menuitem", name=item, exact=True).click()
        return self.page.locator(".jp-Dialog")

    def goes_into(self, folder: Path) -> None:
        """A person's own lines: what is not installed is not found even then."""
        (folder / "beside_alone.py").write_text(HOSTILE)
        with pytest.raises(AssertionError, match="No module named 'beside_alone'"):
            self.server.kernel_eval(self.path, "1", before=LAZILY.format(folder=str(folder)))


@pytest.mark.slow
def test_opening_restarting_and_changing_the_kernel_run_no_code_next_to_the_file(
    own_page: Page, server: JupyterServer
) -> None:
    inside = with_hostile_code(server.root / "mail")
    with_hostile_code(server.root)
    document = Document(own_page, server, "mail/graph.pb")
    document.goes_into(inside)
    document.menu("Restart Kernel…").locator(".jp-mod-accept").click()
    document.drawn()
    document.goes_into(inside)
    document = Document(own_page, server, "graph.pb")
    document.goes_into(server.root)
    before = server.kernel_of("graph.pb")
    dialog = document.menu("Change Kernel…")
    dialog.locator("select").select_option(label="Python 3 (ipykernel)")
    dialog.locator(".jp-mod-accept").click()
    document.drawn()
    assert server.kernel_of("graph.pb") != before
    assert ran(server.root) == []


@pytest.mark.slow
def test_the_command_show_runs_no_code_next_to_the_file(tmp_path: Path, browser: Browser) -> None:
    folder = with_hostile_code(tmp_path / "downloads")
    with printed_url(tmp_path, "show", "graph.pb", "--no-browser", folder=folder) as url:
        page = opened(browser, url)
        document = page.locator(in_front(".jp-Document")).first
        expect(document.locator(".tfgraphwidget")).to_be_visible(timeout=CELL)
        page.context.close()
    assert ran(folder) == []
