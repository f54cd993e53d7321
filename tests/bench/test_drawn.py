"""From the cell's start to the picture, in a real JupyterLab: time, messages, bytes; ipysigma on
the same graph.

ipysigma is the notebook widget that does best on messages and bytes. It is given the same ops and
edges, laid out by nobody: its own layout runs in the browser.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Page, WebSocket, expect

from tests.bench.results import record
from tests.browser.lab import KERNEL_IS_IDLE, open_notebook, write_notebook
from tests.browser.server import JupyterServer
from tests.conftest import INCEPTION

pytestmark = [pytest.mark.bench, pytest.mark.browser]
RUNS = 5
LOAD = f"""
import networkx as nx
import tensorflow as tf
import tfgraphwidget as tgw
import tfgraphwidget.editor, tfgraphwidget.widget
graph = tf.Graph()
with graph.as_default():
    tf.compat.v1.train.import_meta_graph({str(INCEPTION)!r})
    init = tf.compat.v1.global_variables_initializer()
sess = tf.compat.v1.Session(graph=graph)
sess.run(init)
"""
OURS = "editor = tgw.edit(graph, session=sess)\neditor"
PEER = """from ipysigma import Sigma
flat = nx.DiGraph()
flat.add_nodes_from(op.name for op in graph.get_operations())
flat.add_edges_from((t.op.name, op.name) for op in graph.get_operations() for t in op.inputs)
Sigma(flat, start_layout=False)"""


@dataclass
class Wire:
    """What the kernel sends to the page: number and size of the widget's messages."""

    sizes: list[int] = field(default_factory=list)

    def attach(self, socket: WebSocket) -> None:
        """Count what arrives on this socket from now on."""
        socket.on("framereceived", self.count)

    def count(self, frame: str | bytes) -> None:
        """One frame; only those of widgets count, not the kernel's own talk."""
        data = frame if isinstance(frame, bytes) else frame.encode()
        if b"comm_" in data:
            self.sizes.append(len(data))


def test_first_drawing_of_inception(page: Page, jupyter_server: JupyterServer) -> None:
    wire = Wire()
    page.on("websocket", wire.attach)
    has_peer = importlib.util.find_spec("ipysigma") is not None
    cells = [LOAD, *([OURS, PEER] if has_peer else [OURS]) * (RUNS + 1)]
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "bench.ipynb", cells)
    )
    notebook.run_cell(0)

    def drawn(cell: int, look: Callable[[], None]) -> tuple[float, int, int]:
        notebook.cell(cell).locator(".cm-content").click()
        # What the cell before has sent is there, and is not counted here.
        page.wait_for_function(KERNEL_IS_IDLE)
        wire.sizes.clear()
        start = time.perf_counter()
        page.keyboard.press("Shift+Enter")
        look()
        return time.perf_counter() - start, len(wire.sizes), sum(wire.sizes)

    ours, peer = [], []
    for cell in range(1, len(cells), 2 if has_peer else 1):
        root = notebook.output(cell).locator(".tfgraphwidget[data-status=ready]")
        ours.append(drawn(cell, lambda root=root: expect(root).to_be_attached(timeout=60_000)))  # type: ignore[misc]
        if has_peer:
            canvas = notebook.output(cell + 1).locator("canvas").first
            peer.append(
                drawn(cell + 1, lambda canvas=canvas: expect(canvas).to_be_attached(timeout=60_000))
            )  # type: ignore[misc]
    if not has_peer:
        print("\nipysigma is not installed: pip install '.[bench]'")
    what = "Inception v3 (3,379 ops, live) drawn in a notebook"
    for k, (title, unit) in enumerate(
        (("run the cell again", "s"), ("messages", ""), ("bytes", "MB"))
    ):
        scale = 1e-6 if unit == "MB" else 1
        columns = [[run[k] * scale for run in runs[1:]] for runs in (ours, peer)]
        record(
            "Draw",
            f"{what}: {title}",
            unit,
            columns[0],
            {"ipysigma": columns[1]} if has_peer else {},
        )
    firsts = [runs[0][0] for runs in (ours, peer) if runs]
    record(
        "Draw",
        f"{what}: the first cell",
        "s",
        firsts[0],
        {"ipysigma": firsts[1]} if has_peer else {},
    )
    assert max(run[1] for run in ours) <= 10
    assert max(run[2] for run in ours) <= 500_000
    assert statistics.median(run[0] for run in ours) <= 1.0
