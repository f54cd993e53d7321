"""A front end without a browser: messages go to a real GraphWidget as JSON, and what it sends comes
back as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import comm
from comm.base_comm import BaseComm
from jupyter_client.session import Session

from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol.codec import REQUESTS, message_type

REPLIES = frozenset(message_type(kind) for kind in p.Reply.__args__)
"""What the types of replies are called in messages; anything else that a widget sends is told, not
replied.
"""


class Line(BaseComm):
    """The kernel's end of a comm, as ipykernel has it: what cannot be made JSON cannot be sent."""

    session = Session(key=b"")

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
    ) -> None:
        """Keep what would go to the browser."""
        held = self.__dict__.setdefault("sent", [])
        held.append(
            (self.session.unpack(self.session.pack(data)), [bytes(some) for some in buffers or ()])
        )


@contextmanager
def lines() -> Iterator[None]:
    """While this holds, widgets are made with a Line; outside of a kernel ipywidgets has none."""
    with patch.object(comm, "create_comm", Line):
        yield


class FrontEnd:
    """One page that shows an editor."""

    def __init__(self, editor: GraphEditor) -> None:
        self.editor, self.next = editor, 1
        with lines():
            self.line: Line = editor.view.widget.comm

    def say(
        self, message: Any, buffers: Iterable[bytes] = ()
    ) -> list[tuple[dict[str, Any], list[bytes]]]:
        """Send a message, whatever it is, and bytes along with it; the replies to it."""
        # As browsers write it: they escape half characters, which Python refuses to encode.
        arrived = self.line.session.unpack(json.dumps(message).encode())
        self.line.__dict__["sent"] = []
        self.line.handle_msg(
            {
                "content": {"data": {"method": "custom", "content": arrived}},
                "buffers": list(buffers),
            }
        )
        report = [
            (data["content"], buffers)
            for data, buffers in self.line.__dict__["sent"]
            if "content" in data
        ]
        return [(content, buffers) for content, buffers in report if content.get("type") in REPLIES]

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a request; its only reply."""
        self.next += 1
        replies = self.say({"id": self.next, "type": kind, **fields})
        assert [reply["id"] for reply, _ in replies] == [self.next], replies
        return replies[0][0]


def message_of(number: int, request: p.Request) -> dict[str, Any]:
    """What a page sends for a request."""
    assert type(request) in REQUESTS.values()
    return {
        "id": number,
        "type": message_type(type(request)),
        **json.loads(json.dumps(vars(request))),
    }


def graph_of(editor: GraphEditor) -> dict[str, Any]:
    """The graph as a person sees it: ops with all that they are, functions, names in the
    collections, values.
    """
    graph = getattr(editor._core.source.body, "graph", None)
    return {
        "ops": sorted(_bytes(node) for node in editor._core.target.index.nodes),
        "here": sorted(_bytes(node) for node in editor._core.index.nodes),
        "functions": sorted(editor._core.target.index.functions),
        "collections": _collections_of_file(editor) if graph is None else _collections(graph),
        "values": {} if graph is None else _values(graph, editor._core.source.session),
        "copies": sorted(editor._core.executor.copies),
        "lines": editor.history.lines,
    }


def _collections_of_file(editor: GraphEditor) -> dict[str, list[str]]:
    """The names in the collections of a graph that TensorFlow has not imported."""
    collections = editor._core.target.index.collections
    return {
        key: sorted(member.name for member in members)
        for key, members in collections.items()
        if members
    }


def all_of(editor: GraphEditor) -> dict[str, Any]:
    """All that a refused message must leave alone, what TensorFlow hides and what is only seen
    included.
    """
    graph, room = getattr(editor._core.source.body, "graph", None), editor._core.view
    return {
        **graph_of(editor),
        "GraphDef": b"" if graph is None else _bytes(graph.as_graph_def()),
        "history": editor._core.executor.history.commands,
        "chosen": chosen_of(editor),
        "path": editor.view.breadcrumb,
        "opened": editor.view.expanded,
        "hidden": editor.view.hidden,
        "pinned": dict(room.pinned),
        "direction": editor.view.direction,
        "legend": editor.view.legend,
        "difference": id(editor.view.difference),
        "probed": sorted(editor._core.evaluator.probed),
        "fresh": editor._core.executor.latest_ops,
    }


def chosen_of(editor: GraphEditor) -> tuple[Any, ...]:
    """What is selected, and between which boundaries."""
    return editor.inputs, editor.outputs, None if editor.selection is None else editor.selection.ops


def _collections(graph: Any) -> dict[str, list[str]]:
    held = {key: graph.get_collection(key) for key in graph.get_all_collection_keys()}
    return {
        key: sorted(str(getattr(item, "name", item)) for item in items)
        for key, items in held.items()
        if items
    }


def _values(graph: Any, session: Any) -> dict[str, bytes]:
    """What the variables hold, read by ops that are there: reading must not change the graph
    either.
    """
    if session is None:
        return {}
    names = [
        op.name
        for op in graph.get_operations()
        if op.type == "ReadVariableOp" and op.name.endswith("/Read")
    ]
    found = {}
    for name in names:
        try:
            found[name] = session.run(f"{name}:0").tobytes()
        except v1.errors.FailedPreconditionError:  # noqa: PERF203 (each variable on its own)
            found[name] = b"not initialised"
    return found


def _bytes(message: Any) -> bytes:
    data: bytes = message.SerializeToString(deterministic=True)
    return data
