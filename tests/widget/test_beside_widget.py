"""The widget of two graphs: each pane is answered by its own editor, and both follow an edit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
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
        return self.ask(kind, left=side == 0, **fields)


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
    before = panes.widget.document
    revisions = panes.widget.left_revision, panes.widget.revision
    editor.bypass("net/hidden/Relu")
    assert panes.widget.document != before
    record = json.loads(gzip.decompress(panes.widget.document))
    assert record["steps"][0]["after"] == "net/logits"
    assert panes.widget.left_revision > revisions[0]
    assert panes.widget.revision > revisions[1]


def test_numbers_that_come_later_are_on_the_page() -> None:
    editor = tgw.example()
    editor.bypass("net/hidden/Relu")
    panes = Panes(editor.beside())
    panes.both.compare({"x:0": [[1, 2, 3, 4]]})
    record = json.loads(gzip.decompress(panes.widget.document))
    assert record["steps"][0]["kind"] == "first"
    panes.both.compare({"z:0": 1})
    record = json.loads(gzip.decompress(panes.widget.document))
    assert record["sentences"][0].startswith("The values were not compared: ")


def test_a_closed_widget_follows_no_editor() -> None:
    editor = tgw.example()
    panes = Panes(editor.beside())
    panes.widget.close()
    before = panes.widget.document
    editor.bypass("net/hidden/Relu")
    assert panes.widget.document == before


def test_another_graph_comes_and_goes_in_a_pane_of_a_widget(tmp_path: Path) -> None:
    editor = tgw.example()
    path = tgw.example().save(tmp_path / "other.pb")
    editor.bypass("net/hidden/Relu")
    front = FrontEnd(editor)
    widget = editor.view.widget
    front.ask("open")
    assert widget.document == b""
    assert front.ask("beside", source=str(path))["type"] == "selection_reply"
    record = json.loads(gzip.decompress(widget.document))
    assert record["titles"] == ["other.pb", "Graph"]
    assert record["steps"][0]["after"] == "net/logits"
    assert front.ask("open", left=True)["state"]["path"] == [str(path)]
    assert front.ask("open")["state"]["path"] == ["Graph"]
    assert editor.view.difference is not None
    assert front.ask("beside", source="")["type"] == "selection_reply"
    assert widget.document == b""
    assert editor.view.difference is None
    refused = front.ask("beside", source="nowhere.pb")
    assert refused["type"] == "refusal"
    assert "nowhere.pb" in refused["why"]


def test_ops_are_paired_by_hand_and_unpaired_from_the_page() -> None:
    panes = Panes(tgw.beside(tgw.example(), tgw.example()))
    reply = panes.in_pane(1, "pair_by_hand", before="x", after="labels")
    assert reply["type"] != "refusal"
    record = json.loads(gzip.decompress(panes.widget.document))
    assert record["pairs"] == [["x", "labels"]]
    refused = panes.in_pane(1, "pair_by_hand", before="x", after="nowhere")
    assert refused["type"] == "refusal"
    assert "nowhere" in refused["why"]
    panes.in_pane(1, "pair_by_hand", before="", after="")
    record = json.loads(gzip.decompress(panes.widget.document))
    assert record["pairs"] == []
    assert record["summary"].startswith("The two graphs are equal")
    alone = FrontEnd(tgw.example())
    alone.ask("open")
    assert alone.ask("pair_by_hand", before="x", after="x")["type"] == "refusal"
