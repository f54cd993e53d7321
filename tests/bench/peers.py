"""The other viewers: installed into an environment of their own, served, opened, and known to have
drawn.

Their environment is `$TFGRAPHWIDGET_PEERS`, else a folder in the user's cache: ours keeps its pins.
What cannot be installed is skipped, saying why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.server import free_port

HOME = Path(os.environ.get("TFGRAPHWIDGET_PEERS") or Path.home() / ".cache" / "tfgraphwidget-peers")
PYTHON = HOME / "bin" / "python"
INSTALL_SECONDS = 600
START_SECONDS = 120
EVENTS = """
import sys
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as target:
    for event in (Event(file_version="brain.Event:2"), Event(graph_def=source.read())):
        RecordWriter(target).write(event.SerializeToString())
"""
# Netron takes `eval` away from its page, and with it Playwright's way to ask it anything.
KEEP_EVAL = (
    "const own = window.eval; Object.defineProperty(window, 'eval', "
    "{get: () => own, set: () => {}});"
)
# Without its question to the package index whether there is a newer version.
MODEL_EXPLORER = """
import sys
from model_explorer import server
from model_explorer.config import ModelExplorerConfig
server._check_new_version = lambda *_: {}
server.start(
    host="127.0.0.1", port=int(sys.argv[1]), config=ModelExplorerConfig(), no_open_in_browser=True
)
"""


@dataclass(frozen=True)
class Peer:
    """A viewer: what to install, how to serve a file, where its page is, and what is there once it
    has drawn.
    """

    name: str
    requirement: str
    command: Callable[[Path, int], list[str]]
    path: Callable[[Path], str]
    drawn: str  # a selector: the first of it is there only when the graph is
    cookie: str = ""  # a cookie without which it asks first

    def install(self) -> None:
        """Install it once; skips the test when that cannot be done."""
        done = HOME / f".{self.name.replace(' ', '-')}"
        if done.exists() and done.read_text() == self.requirement:
            return
        if not PYTHON.exists():
            subprocess.run(
                [sys.executable, "-m", "venv", str(HOME)], check=True, timeout=INSTALL_SECONDS
            )
        command = [str(PYTHON), "-m", "pip", "install", "--quiet", self.requirement]
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        if result.returncode:
            pytest.skip(
                f"{self.requirement} cannot be installed: "
                f"{result.stderr.strip().rpartition(chr(10))[2]}"
            )
        done.write_text(self.requirement)

    @contextmanager
    def served(self, file: Path) -> Iterator[str]:
        """Serve the file on loopback, until left; the address of its page."""
        port = free_port()
        with (file.parent / f"{self.name}.log").open("wb") as log:
            process = subprocess.Popen(
                self.command(file, port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            await_answer(process, f"http://127.0.0.1:{port}/", Path(log.name))
            yield f"http://127.0.0.1:{port}/{self.path(file)}"
        finally:
            process.terminate()
            process.wait(timeout=30)

    def open(self, context: BrowserContext, url: str, seconds: float) -> tuple[Page, float]:
        """The page, and the seconds from asking for it to the first frame after the graph is
        there.
        """
        context.route(
            "**/*",
            lambda route: (
                route.continue_() if "//127.0.0.1:" in route.request.url else route.abort()
            ),
        )
        context.route("**/api/v1/check_new_version", lambda route: route.fulfill(body="{}"))
        context.add_init_script(KEEP_EVAL)
        if self.cookie:
            context.add_cookies(
                [{"name": self.cookie, "value": str(int(time.time() * 1000)), "url": url}]
            )
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.locator(self.drawn).first.wait_for(state="attached", timeout=seconds * 1000)
        page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        return page, time.perf_counter() - start


def await_answer(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server answers; skips with the end of its log when it ends or stays silent."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if answers(url):
            return
        time.sleep(0.1)
    pytest.skip(f"the viewer did not start: {log.read_text(errors='replace')[-500:]}")


def answers(url: str) -> bool:
    """Whether something is served there."""
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except (urllib.error.URLError, OSError):
        return False
    return True


def tensorboard(file: Path, port: int) -> list[str]:
    """The command that shows the graph, written as the event file that TensorBoard reads."""
    folder = file.parent / f"events-{file.stem}"
    folder.mkdir(exist_ok=True)
    subprocess.run(
        [str(PYTHON), "-c", EVENTS, str(file), str(folder / "events.out.tfevents.1.graph")],
        check=True,
    )
    return [
        str(HOME / "bin" / "tensorboard"),
        f"--logdir={folder}",
        f"--port={port}",
        "--host=127.0.0.1",
    ]


def models(file: Path) -> str:
    """The query that Model Explorer opens a GraphDef with; left to itself it takes a .pb for a
    SavedModel.
    """
    return "?data=" + quote(
        json.dumps({"models": [{"url": str(file), "adapterId": "builtin_graphdef"}]})
    )


TENSORBOARD = Peer(
    "TensorBoard", "tensorboard==2.21.0", tensorboard, lambda _: "#graphs", "tf-graph-scene g.node"
)
EXPLORER = Peer(
    "Model Explorer",
    "ai-edge-model-explorer==0.1.34",
    lambda _, port: [str(PYTHON), "-c", MODEL_EXPLORER, str(port)],
    models,
    "webgl-renderer canvas",
)
NETRON = Peer(
    "Netron",
    "netron==9.3.3",
    lambda file, port: [
        str(HOME / "bin" / "netron"),
        str(file),
        f"--port={port}",
        "--host=127.0.0.1",
    ],
    lambda _: "",
    "body.default #canvas .node",
    cookie="consent",
)
PEERS = (TENSORBOARD, EXPLORER, NETRON)
