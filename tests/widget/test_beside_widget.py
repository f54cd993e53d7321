"""The widget of two graphs: each pane is answered by its own editor, and both follow an edit."""

from __future__ import annotations

import gzip
import json
from typing import Any

import tfgraphwidget as tgw
from tests.front_end import FrontEnd, lines
from tfgraphwidget.editor import Beside


class Panes(FrontEnd):
    """One page with two panes."""

    def __init__(self, both: Beside) -> None:
        self.both, self.next = both, 1
        with lines():
            self.widget = both.widget
        self.line = self.widget.comm

    def in_pane(self, side: int, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a request from a pane; its reply."""
        return self.ask(kind, side=side, **fields)


def test_each_pane_is_answered_by_its_own_editor() -> None:
    editor = tgw.example()
    editor.bypass("net/hidden/Relu")
    panes = Panes(editor.beside())
    replies = [panes.in_pane(side, "open") for side in (0, 1)]
    assert [reply["type"] for reply in replies] == ["scene_reply", "scene_reply"]
    assert [reply["state"]["path"] for reply in replies] == [
        ["Graph (as it was opened)"],
        ["Graph"],
    ]
    panes.in_pane(0, "select", command="set", ops=["net/logits"], scopes=[])
    assert panes.both.before.selection.ops == ("net/logits",)
    assert panes.both.after.selection is None


def test_only_what_is_asked_for_is_open() -> None:
    panes = Panes(tgw.beside(tgw.example(), tgw.example()))
    panes.in_pane(1, "open_only", scopes=["net"], names=["gradients/loss_grad/Reshape"])
    assert sorted(panes.both.after.view.expanded) == sorted(
        {"net", *panes.both.after.view.expanded} - {"net/hidden", "cross_entropy"}
    )
    assert "net" in panes.both.after.view.expanded
    reply = panes.in_pane(1, "open_only", scopes=["nowhere"], names=[])
    assert reply["type"] == "refusal"


def test_an_edit_is_compared_again_and_both_panes_ask_again() -> None:
    editor = tgw.example()
    panes = Panes(editor.beside())
    before, revisions = panes.widget.document, list(panes.widget.revisions)
    editor.bypass("net/hidden/Relu")
    assert panes.widget.document != before
    record = json.loads(gzip.decompress(panes.widget.document))
    assert record["steps"][0]["after"] == "net/logits"
    assert all(now > was for now, was in zip(panes.widget.revisions, revisions, strict=True))


def test_a_closed_widget_follows_no_editor() -> None:
    editor = tgw.example()
    panes = Panes(editor.beside())
    panes.widget.close()
    before = panes.widget.document
    editor.bypass("net/hidden/Relu")
    assert panes.widget.document == before
