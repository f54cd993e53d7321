"""Each edit says in words what it has done, and which ops it changed."""

from __future__ import annotations

import numpy as np
import pytest

from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits import Command, registry
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler


@pytest.mark.parametrize("command", sorted(registry.commands()))
def test_every_registered_command_has_a_sentence_of_its_own(command: str) -> None:
    assert registry.commands()[command].sentence is not Command.sentence


def test_sentences_name_what_was_edited(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/logits:0", into="tower")
    editor.clone(editor.ops(scope="net/one"), into="part", variables="shared")
    editor.bypass("net/two/out")
    editor.rename("net/logits", "net/scores")
    editor.insert("net/one/out:0", "Identity", into="net/one/probe")
    editor.set_constant("x:0", np.zeros([5, 3], np.float32))
    editor.set_device(editor.ops(scope="net/one"), "/device:CPU:0")
    editor.add_control_inputs("net/scores", "net/one/out")
    editor.remove("net/scores")
    sentences = [step.sentence for step in editor.history.done]
    assert sentences[0] == "Cloned x:0 … net/logits:0 as tower"
    assert sentences[1].startswith("Cloned ")
    assert sentences[1].endswith(" ops as part, with shared variables")
    assert sentences[2:6] == [
        "Bypassed net/two/out",
        "Renamed net/logits to net/scores",
        "Inserted Identity after net/one/out:0",
        "Set x:0 to a list of 5",
    ]
    assert sentences[7:] == [
        "Added control dependency of net/scores on net/one/out",
        "Removed net/scores",
    ]
    assert all(len(sentence) < 120 for sentence in sentences)


def test_a_rename_into_another_scope_is_a_move(editor: GraphEditor) -> None:
    editor.rename("net/logits", "net/one/logits")
    editor.rename("net/one/", "one")
    editor.rename("one/", "net/two/first")
    assert [step.sentence for step in editor.history.done] == [
        "Moved net/logits to net/one",
        "Moved net/one to the top level",
        "Moved one to net/two, as first",
    ]


def test_the_status_says_in_words_what_an_edit_did_and_counts_what_is_too_much_to_list(
    editor: GraphEditor,
) -> None:
    handler = RequestHandler(editor)
    handler.handle(p.Refresh())

    def report(request: p.Request) -> str:
        reply, _ = handler.handle(request)
        assert isinstance(reply, p.SceneReply)
        assert reply.edited is not None
        return reply.edited.text

    tanh = p.Change("insert", ("net/one/out:0",), ("function",), ('"Tanh"',))
    assert report(tanh) == "Inserted Tanh after net/one/out:0."
    assert (
        report(p.Change("rename", ("net/two",), ("new",), ('"two"',)))
        == "Moved net/two to the top level."
    )
    assert report(p.Change("bypass", ("two/out",))).startswith("Bypassed two/out. ")
    removed = report(p.Change("remove", ("net/",), ("consumers",), ("True",)))
    assert removed.startswith("Removed net (")
    assert " ops removed" in removed


def test_the_ops_of_an_edit_are_found_by_the_names_they_have_now(editor: GraphEditor) -> None:
    handler = RequestHandler(editor)
    editor.clone("x:0", "net/logits:0", into="tower")
    editor.bypass("net/two/out")
    editor.rename("tower/net/one", "first")

    def names(step: int) -> tuple[str, ...]:
        reply, _ = handler.handle(p.FindEditOps(step))
        assert isinstance(reply, p.EditOps)
        return reply.names

    assert {"tower/", "first/"} <= set(names(1))
    assert names(2) == ("net/logits",)
    editor.undo()
    editor.undo()
    assert names(1) == ("tower/",)
    with pytest.raises(GraphEditError, match="no edit 4 in the history"):
        names(4)
