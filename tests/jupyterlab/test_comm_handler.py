"""The comm between JupyterLab's page and a kernel: a real kernel, real messages, one reply for
each.
"""

from __future__ import annotations

import ast
import os
import queue
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from jupyter_client import BlockingKernelClient, KernelManager

LISTEN = '__import__("tfgraphwidget.lab", fromlist=["listen"]).listen()'
GRAPH = """
import tensorflow as tf
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    y = tf.negative(x, name="y")
"""
SECONDS = 120


class Page:
    """What a page of JupyterLab does: one silent line, then a comm."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client
        self.pushed: list[dict[str, Any]] = []
        self.worked: list[dict[str, Any]] = []
        self.on_work: Callable[[], None] = lambda: None
        # Not of `id(self)`: a page that is gone leaves its id to a new one, while the kernel still
        # has its comm.
        self.comm = uuid.uuid4().hex
        self.run(LISTEN, silent=True)
        self.send("comm_open", {"target_name": "tfgraphwidget.lab", "data": {}})

    def run(self, code: str, *, silent: bool = False) -> dict[str, Any]:
        reply = self.client.execute_interactive(
            code, silent=silent, store_history=False, timeout=SECONDS, output_hook=self.hear
        )
        assert reply["content"]["status"] == "ok", reply["content"]
        return dict(reply["content"])

    def hear(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Take a message of the kernel: what it says by itself is kept, a reply is given back."""
        content = message["content"]
        if message["msg_type"] != "comm_msg" or content["comm_id"] != self.comm:
            return None
        report = dict(content["data"])
        if report["type"] == "working":
            self.worked.append(report)
            self.on_work()
            return None
        if "id" in report:
            return report
        self.pushed.append(report)
        return None

    def value(self, expression: str) -> str:
        """The repr of an expression in the kernel."""
        reply = self.client.execute_interactive(
            "", user_expressions={"it": expression}, timeout=SECONDS, output_hook=self.hear
        )
        return str(reply["content"]["user_expressions"]["it"]["data"]["text/plain"])

    def send(self, kind: str, content: dict[str, Any]) -> None:
        message = self.client.session.msg(kind, {"comm_id": self.comm, **content})
        self.client.shell_channel.send(message)

    def say(self, data: Any) -> dict[str, Any]:
        """Send this, and give what the kernel answers; what it says by itself is kept in
        `pushed`.
        """
        self.send("comm_msg", {"data": data})
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            reply = self.hear(message)
            if reply is not None:
                return reply
        raise AssertionError(f"{data} was not answered")


@pytest.fixture(scope="module")
def client() -> Iterator[BlockingKernelClient]:
    """A kernel of one's own."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=SECONDS)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_page_lists_opens_and_follows_edits(client: BlockingKernelClient) -> None:
    page = Page(client)
    assert page.say({"id": 1, "type": "choices"}) == {"id": 1, "type": "choices", "choices": []}
    assert page.value("'tensorflow' in __import__('sys').modules") == "False"
    assert page.value("sorted(n for n in globals() if 'tgw' in n or 'tfgraph' in n)") == "[]"

    page.run(GRAPH)
    choices = page.say({"id": 2, "type": "choices"})["choices"]
    assert choices == [{"name": "graph", "kind": "tf.Graph", "about": "2 ops"}]

    opened = page.say({"id": 3, "type": "open", "name": "graph", "direction": "right"})
    assert (opened["id"], opened["type"], opened["variable"]) == (3, "opened", "editor")
    assert page.value("editor.view.widget.model_id") == repr(opened["model_id"])
    assert page.value("editor.view.direction") == "'right'"
    again = page.say({"id": 4, "type": "open", "name": "graph", "direction": "down"})
    assert again["model_id"] == opened["model_id"]
    assert page.value("editor.view.direction") == "'right'"  # somebody has looked at it already

    page.run("copied = editor.clone(['x:0'], ['y:0'], into='copy')")
    page.say({"id": 5, "type": "choices"})
    assert [push["type"] for push in page.pushed] == ["changed"]
    assert page.pushed[0]["line"].startswith("copy = editor.clone(")
    assert page.value("'copy' in globals()") == "False"  # the cell has given it a name itself


def test_what_code_has_chosen_is_kept(client: BlockingKernelClient) -> None:
    page = Page(client)
    page.run(
        "import tensorflow as tf, tfgraphwidget as tgw\nchosen = "
        "tgw.edit(tf.Graph())\nchosen.view.direction = 'right'"
    )
    assert (
        page.say({"id": 1, "type": "open", "name": "chosen", "direction": "down"})["type"]
        == "opened"
    )
    assert page.value("chosen.view.direction") == "'right'"


def write_large_graph(path: Path, ops: int = 8_000) -> None:
    """A GraphDef whose drawing takes a second or more."""
    graph = tf.compat.v1.GraphDef()
    for i in range(ops):
        node = graph.node.add(name=f"op_{i}", op="Const")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
    path.write_bytes(graph.SerializeToString())


def test_long_work_reports_its_progress_and_is_cancelled(
    client: BlockingKernelClient, tmp_path: Path
) -> None:
    write_large_graph(tmp_path / "large.pb")
    page = Page(client)
    # A fast machine is done within 0.1 s.
    page.run(
        "from tfgraphwidget.widget import request_loop\nrequest_loop._SECONDS_OF_SILENCE = 0.0"
    )
    opened = page.say(
        {"id": 1, "type": "file", "path": "large.pb", "root": str(tmp_path), "wants_progress": True}
    )
    assert opened["type"] == "opened"
    assert {"type": "working", "id": 1, "what": "Reading the graph"}.items() <= page.worked[
        0
    ].items()
    page.worked.clear()

    kernel = int(page.value("__import__('os').getpid()"))
    page.on_work = lambda: os.kill(kernel, signal.SIGINT)
    asked = {"type": "save", "kind": "page", "name": "large.html"}
    reply = page.say({"id": 2, **asked, "wants_progress": True})
    assert (reply["type"], reply["error"]) == ("refusal", "Interrupted")
    assert page.worked
    assert [file.name for file in tmp_path.iterdir()] == ["large.pb"]
    page.worked.clear()
    assert page.say({"id": 3, **asked})["type"] == "saved"
    assert page.worked == []  # a page that has not asked does not know what to make of it


@pytest.mark.parametrize(
    "data",
    [
        {"id": 1}, {"id": 2, "type": "no such"}, {"id": 3, "type": ["open"]},
        {"id": 4, "type": "open"},
        {"id": 5, "type": "open", "name": {"a": 1}}, {"id": 6, "type": "save"},
        {"id": 7, "type": "kinds"},
        {"id": 8, "type": "open", "name": "'); import os; os._exit(1) #"},
        {"id": 9, "type": "file", "path": 3},
        {"id": None, "type": "open", "name": "graph" * 10_000}, {},
    ],
)  # fmt: skip
def test_what_makes_no_sense_gets_one_refusal(
    client: BlockingKernelClient, data: dict[str, Any]
) -> None:
    page = Page(client)
    reply = page.say(data)
    assert (reply["type"], reply["id"]) == ("refusal", data.get("id"))
    assert reply["why"]


def test_the_oldest_talks_end_when_pages_leave_them(client: BlockingKernelClient) -> None:
    pages = [Page(client) for _ in range(40)]
    assert pages[-1].say({"id": 1, "type": "choices"})["type"] == "choices"
    assert page_count(pages[-1]) <= 32


def page_count(page: Page) -> int:
    return int(
        page.value(
            "sum(t.is_open for t in __import__('tfgraphwidget.jupyterlab').jupyterlab._handlers)"
        )
    )


IN_CELLS = """
import tensorflow as tf, tfgraphwidget as tgw
from tfgraphwidget.widget.kernel_namespace import code_for_cell
with tf.Graph().as_default() as mine:
    tf.exp(tf.compat.v1.placeholder(tf.float32, [2], name="x"), name="y")
running = tf.compat.v1.Session(graph=mine)
squared = tf.function(lambda x: x * x, input_signature=[tf.TensorSpec([2])], autograph=False)
editors = (
    tgw.edit(mine, session=running),
    tgw.edit(mine),
    tgw.edit(squared),
    tgw.edit(tf.Graph()),
    tgw.edit(squared),
)
texts = [code_for_cell(each.history.to_script().text, each._core.source) for each in editors]
del squared
texts.append(code_for_cell(editors[-1].history.to_script().text, editors[-1]._core.source))
opened = {}
exec(texts[0], globals(), opened)
"""


def test_a_script_for_a_cell_names_the_variables_that_hold_what_was_opened(
    client: BlockingKernelClient,
) -> None:
    page = Page(client)
    page.run(IN_CELLS)
    opening = (
        "[''.join(text.partition('tgw.edit(')[2].partition(')\\n')[0].split()) for text in texts]"
    )
    with_session, alone, function, unknown, again, gone = ast.literal_eval(page.value(opening))
    assert (with_session, alone, function, again) == (
        "mine,session=running,",
        "mine,",
        "squared,",
        "squared,",
    )
    assert unknown.startswith("tf.compat.v1.get_default_graph(")
    assert gone.startswith("...,#givehere")
    assert (
        page.value("opened['editor'].graph is mine and opened['editor'].session is running")
        == "True"
    )
