"""A kernel that is far away: a slow connection that drops, and a server below a path, as JupyterHub
has it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, shoot, watched_page, write_notebook
from tests.browser.link import Link
from tests.browser.server import JupyterServer, free_port
from tests.browser.test_files import Files
from tests.browser.test_settings import SET
from tests.browser.test_widget import GRAPH, SHOW
from tests.conftest import build_mlp

LARGE = """
with graph.as_default():
    large = tf.constant(np.random.default_rng(0).bytes(9_000_000), name="large")
"""
CLOSED = SHOW.replace(
    "editor.view.widget.height", "editor.view.collapse('two')\neditor.view.widget.height"
)
MOST = 4_000_000  # bytes of a message; proxies close connections with more in one
DELAY, RATE = 0.075, 250_000  # 150 ms there and back, 2 Mbit/s


@dataclass
class Messages:
    """What went through the page's websockets to kernels: the type, what it says, and its size."""

    sent: list[tuple[str, str]] = field(default_factory=list)
    received: list[tuple[str, str]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        """Listen to all websockets that the page opens."""
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        if "/api/kernels/" in socket.url:
            socket.on("framesent", lambda data: self._note(self.sent, data))
            socket.on("framereceived", lambda data: self._note(self.received, data))

    def _note(self, where: list[tuple[str, str]], data: str | bytes) -> None:
        assert isinstance(data, bytes)
        self.sizes.append(len(data))
        (count,) = struct.unpack_from("<Q", data)
        ends = struct.unpack_from(f"<{count}Q", data, 8)
        _, header, _, _, content = (data[start:end] for start, end in pairwise(ends[:6]))
        said = (
            json.loads(content).get("data", {}).get("content", {})
            if b'"comm_msg"' in header
            else {}
        )
        where.append((json.loads(header)["msg_type"], said.get("type", "")))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, warm_kernels: str) -> Iterator[JupyterServer]:
    """A JupyterLab below a path with a space in it."""
    home = tmp_path_factory.mktemp("far")
    far = JupyterServer(
        home, home / "root", free_port(), {"JUPYTER_PATH": warm_kernels}, "/user/some%20one/"
    )
    far.start()
    yield far
    far.stop()


@pytest.fixture(scope="module")
def link(server: JupyterServer) -> Iterator[Link]:
    """What lies between the pages and the server."""
    link = Link(server.port)
    link.start()
    server.page_port = link.port
    yield link
    link.stop()


@pytest.fixture
def page(browser: Browser, server: JupyterServer, link: Link) -> Iterator[Page]:
    """A page on the other end of the link, which is fast until a test makes it slow."""
    link.delay, link.rate = 0.0, float("inf")
    with watched_page(browser, server) as new:
        yield new


def download_graph(widget: Widget) -> None:
    """Download the graph as a GraphDef."""
    widget.root.get_by_role("button", name="Export", exact=True).click()
    widget.root.get_by_role("menuitem", name="GraphDef", exact=True).click()
    widget.root.get_by_role("form").get_by_role("button", name="Download").click()


@pytest.mark.slow
def test_a_slow_connection_that_drops(
    page: Page, server: JupyterServer, link: Link, tmp_path: Path
) -> None:
    messages = Messages()
    messages.attach(page)
    notebook = open_notebook(
        page, server, write_notebook(server, "far.ipynb", [GRAPH + LARGE, CLOSED])
    )
    notebook.run_cell(0)
    link.delay, link.rate = DELAY, RATE
    start = len(messages.sent)

    # The first picture takes two messages: JupyterLab's for a thread of the kernel, and the one for
    # the drawing. Its debugger may ask of the kernel beside that, when it is slow to start.
    widget = Widget(notebook, notebook.run_cell(1).locator(".tfgraphwidget"))
    root = widget.root
    asked = [
        message
        for message in messages.sent[start:]
        if message[0] not in ("execute_request", "debug_request")
    ]
    assert len(asked) <= 2, asked
    assert asked[-1] == ("comm_msg", "open")

    # To point at something asks nothing: the next messages are those of the click.
    root.scroll_into_view_if_needed()
    start = len(messages.sent)
    for name in ("two", "three", "y", "one"):
        page.mouse.move(*widget.place(name))
        expect(root.locator(".tgw-tooltip")).to_be_visible()
    widget.click("x", "Shift")
    widget.click("y", "Alt")
    widget.settled()
    said = {said for _, said in messages.sent[start:]}
    assert "mark" in said
    assert "prefetch_scene" not in said

    # The request is lost with the connection; then, after it was done, its reply. Each clone is
    # made once.
    for number, (lost, name) in enumerate([("requests", "first"), ("replies", "second")], 1):
        link.loses = lost
        widget.clone(name)
        expect(root).to_have_attribute("data-status", "busy")
        if lost == "replies":
            assert any(
                notebook.kernel_eval("len(editor.history.done)") == number for _ in range(200)
            )
        link.cut()
        expect(widget.status).to_contain_text(f"into {name!r}")
        widget.settled()
        assert notebook.kernel_eval("len(editor.history.done)") == number
        expect(root).to_have_attribute(
            "data-ops", str(notebook.kernel_eval("len(editor._core.index)"))
        )
    clones = [said for _, said in messages.sent if said == "clone"]
    assert len(clones) == 4

    # What another cell does is seen, and 9 MB arrive, in messages that a proxy passes on.
    notebook.kernel_eval("0", before="editor.bypass('two/out')")
    expect(root).to_have_attribute("data-ops", str(notebook.kernel_eval("len(editor._core.index)")))
    link.delay, link.rate = 0.0, float("inf")
    with page.expect_download() as download:
        download_graph(widget)
    download.value.save_as(tmp_path / "graph.pb")
    assert (tmp_path / "graph.pb").stat().st_size > 9_000_000
    assert ("comm_msg", "piece") in messages.received
    assert max(messages.sizes) < MOST


@pytest.mark.slow
def test_a_file_and_its_settings_on_a_server_below_a_path(
    page: Page, server: JupyterServer
) -> None:
    started: list[str] = []
    page.on(
        "request", lambda request: started.append(request.url) if request.method == "POST" else None
    )
    folder = server.root / "models of mine"
    folder.mkdir()
    (folder / "graph.pb").write_bytes(build_mlp(resource=True).as_graph_def().SerializeToString())
    files = Files(page, server, folder)
    widget = files.open("graph.pb")
    assert any(url.startswith(f"{server.url}{server.base_url}tfgraphwidget/") for url in started), (
        started
    )
    assert widget.number("ops") > 0
    page.evaluate(SET, ["colours", "dark"])
    expect(widget.root).to_have_attribute("data-colours", "dark")
    page.evaluate(SET, ["colours", None])
    with page.expect_download() as download:
        download_graph(widget)
    assert download.value.suggested_filename.endswith(".pb")
    shoot(page, "far-file")
