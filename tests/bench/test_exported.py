"""What we write, opened in the viewers that people have: `pytest -m bench -s
tests/bench/test_exported.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import tfgraphwidget as tgw
from tests.bench.peers import EXPLORER, NETRON, Peer

pytestmark = [pytest.mark.bench, pytest.mark.browser]
SECONDS = 120.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone and its original, in every kind that these viewers read."""
    folder = tmp_path_factory.mktemp("exported")
    editor = tgw.example()
    editor.clone(["x:0"], ["net/logits:0"], into="copy")
    for name in ("graph.pb", "graph.pbtxt", "graph.meta"):
        editor.save(folder / name)
    editor.save(folder / "saved", "x:0", "copy/net/logits:0")
    editor.save(folder / "frozen.pb", "x:0", "copy/net/logits:0", frozen=True)
    return folder


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        *(
            (NETRON, name)
            for name in (
                "graph.pb",
                "graph.pbtxt",
                "graph.meta",
                "saved/saved_model.pb",
                "frozen.pb",
            )
        ),
        *((EXPLORER, name) for name in ("graph.pb", "frozen.pb")),
    ],
    ids=lambda value: value.name if isinstance(value, Peer) else value,
)
def test_an_exported_file_opens(peer: Peer, name: str, folder: Path, browser: Browser) -> None:
    peer.install()
    file = folder / name
    with peer.served(file) as url, browser.new_context(bypass_csp=True) as context:
        page, seconds = peer.open(context, url, SECONDS)
        if (
            peer is NETRON
        ):  # Model Explorer draws with WebGL: what is in its picture cannot be asked
            expect(page.locator('[id="node-name-copy/net/logits"]')).to_be_attached()
    assert seconds <= SECONDS
    print(f"\n{name}, which we wrote, opened by {peer.name}: {seconds:.1f} s", flush=True)
