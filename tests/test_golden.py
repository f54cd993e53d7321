"""One drawn reply, written once: Python and vitest (labextension/tests/protocol/golden.test.ts)
read the same from it.

`python -m tests.test_golden` writes it anew, when a field is added on purpose.
"""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import tfgraphwidget as tgw
from tests.conftest import build_mlp
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.widget import protocol
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.request_handler import RequestHandler

GOLDEN = Path(__file__).parent / "golden" / "drawn.json"


def arrays(message: dict[str, Any], buffer: bytes) -> dict[str, np.ndarray]:
    """The arrays of a reply."""
    fields = [(f["name"], f["dtype"], tuple(f["shape"]), f["offset"]) for f in message["fields"]]
    return scenes.from_bytes(fields, buffer)


def texts(read: dict[str, np.ndarray], kind: str) -> list[str]:
    """The strings of a pair of fields."""
    start, data = read[f"{kind}_start"].tolist(), bytes(read[f"{kind}_bytes"])
    return [data[a:b].decode() for a, b in pairwise(start)]


def made_now() -> tuple[dict[str, Any], bytes]:
    """The reply that a selection on the small network gives today."""
    editor = tgw.edit(build_mlp(resource=True))
    editor.view.expand("net/one")
    editor.mark("x:0", "net/logits:0")
    reply, (buffer,) = RequestHandler(editor).handle(protocol.Open())
    return json.loads(json.dumps(codec.encode(7, reply))), buffer


def test_the_golden_reply_reads_as_it_says() -> None:
    golden = json.loads(GOLDEN.read_text())
    read = arrays(golden["message"], base64.b64decode(golden["buffer"]))
    assert texts(read, "name") == golden["expected"]["names"]
    assert texts(read, "type") == golden["expected"]["types"]
    for name in ("box", "coverage", "mark"):
        assert read[name].tolist() == golden["expected"][name]


def test_today_s_reply_has_the_golden_form() -> None:
    golden = json.loads(GOLDEN.read_text())["message"]
    message, _ = made_now()

    def form(reply: dict[str, Any]) -> object:
        return [
            sorted(reply),
            sorted(reply["state"]),
            [(f["name"], f["dtype"]) for f in reply["fields"]],
        ]

    assert form(message) == form(golden)


if __name__ == "__main__":
    message, buffer = made_now()
    read = arrays(message, buffer)
    expected: dict[str, Any] = {"names": texts(read, "name"), "types": texts(read, "type")}
    expected |= {name: read[name].tolist() for name in ("box", "coverage", "mark")}
    golden = {"message": message, "buffer": base64.b64encode(buffer).decode(), "expected": expected}
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n")
