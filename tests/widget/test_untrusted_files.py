"""What a page shows of a file that is not trusted, and the switch with which the user trusts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import NotTrusted
from tfgraphwidget.graph import Effect
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler
from tfgraphwidget.widget.untrusted_ops import TRUSTED

WRITES, READS = (
    1 << scenes.EFFECTS.index(effect) for effect in (Effect.WRITES_FILES, Effect.READS_FILES)
)


def saved(graph: tf.Graph, folder: Path, name: str = "model.pb") -> Path:
    """A graph as a file."""
    path = folder / name
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A file that writes another one in a scope, and a third in a function that it calls twice; "y"
    needs the first.
    """

    @tf.function
    def keeping(x: Any) -> Any:
        tf.io.write_file(str(tmp_path / "kept"), tf.strings.as_string(x))
        return x + 1.0

    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0, name="x")
        with tf.name_scope("log"):
            written = tf.io.write_file(
                str(tmp_path / "log"), tf.strings.lower("HELLO", name="text"), name="write"
            )
        with tf.control_dependencies([written]):
            tf.multiply(x, 3.0, name="y")
        tf.add(keeping(x), keeping(x), name="z")
    return saved(graph, tmp_path)


@pytest.fixture
def harmless(tmp_path: Path) -> Path:
    """A file whose ops compute, and nothing else."""
    with tf.Graph().as_default() as graph:
        tf.multiply(tf.constant(2.0, name="x"), 3.0, name="y")
    return saved(graph, tmp_path, "harmless.pb")


def effects_drawn(editor: GraphEditor) -> dict[str, int]:
    """The bits of each item of the drawing that has some."""
    scene = editor.view.scene()
    bits = editor._core.paint(scene).effects.tolist()
    return {name: bit for name, bit in zip(scene.names, bits, strict=True) if bit}


def painted_effects(answer: tuple[p.Reply, list[bytes]]) -> np.ndarray:
    """The field of the effects in a reply."""
    reply, (data,) = answer
    assert isinstance(reply, p.SceneReply | p.SelectionReply)
    return scenes.from_bytes([(f.name, f.dtype, f.shape, f.offset) for f in reply.fields], data)[
        "effects"
    ]


def state_of(reply: p.Reply) -> p.State:
    """The state that comes with a drawing."""
    assert isinstance(reply, p.SceneReply | p.SelectionReply)
    return reply.state


def test_the_page_says_what_the_ops_of_the_file_may_do_until_it_is_trusted(
    strange: Path, tmp_path: Path
) -> None:
    handler = RequestHandler(tgw.edit(strange))
    reply, _ = opened = handler.handle(p.Open())
    assert state_of(reply).untrusted == (
        "Ops of this file may write files (2 ops), so they do not run. Turn this on only if you "
        "know where the file comes from; it stays on."
    )
    assert painted_effects(opened).any()
    with pytest.raises(NotTrusted):
        handler.handle(p.Probe("y"))
    assert not (tmp_path / "log").exists()
    reply, _ = turned = handler.handle(p.Trust())
    assert isinstance(reply, p.SelectionReply)
    assert (reply.text, reply.state.untrusted) == (TRUSTED, "")
    assert not painted_effects(turned).any()
    assert not (tmp_path / "log").exists()  # trust runs nothing by itself
    handler.handle(p.Probe("y"))
    assert (tmp_path / "log").read_text() == "hello"


def test_in_a_function_and_to_another_view_the_page_says_the_same_of_the_file(
    strange: Path,
) -> None:
    editor = tgw.edit(strange)
    handler, calls = RequestHandler(editor), list[bool]()
    outside, _ = handler.handle(p.Open())
    call = next(
        name for name in editor._core.index.names if name.startswith("StatefulPartitionedCall")
    )
    inside, _ = handler.handle(p.Enter(call))
    assert state_of(inside).untrusted == state_of(outside).untrusted != ""
    editor._core.listeners.append(lambda: calls.append(editor.source.trusted))
    handler.handle(p.Trust())
    assert calls == [True]
    handler.handle(p.Trust())  # of another view, which has not heard of it yet
    assert calls == [True]


def test_a_file_that_only_computes_and_a_live_graph_never_hear_of_it(harmless: Path) -> None:
    with tf.Graph().as_default() as live:
        tf.io.write_file("nowhere", "hello", name="write")
    for source in (harmless, live):
        editor = tgw.edit(source)
        reply, _ = opened = RequestHandler(editor).handle(p.Open())
        assert state_of(reply).untrusted == ""
        assert not painted_effects(opened).any()
    inspected, _ = RequestHandler(tgw.edit(live)).handle(p.Inspect("write"))
    assert isinstance(inspected, p.InspectReply)
    assert inspected.effects == ()


def test_a_refusal_has_the_switch_in_its_words_and_next_to_it(strange: Path) -> None:
    editor = tgw.edit(strange)
    handler = RequestHandler(editor)
    with pytest.raises(NotTrusted) as refused:
        handler.handle(p.Probe("y"))
    refusal = handler.refusal_reply(refused.value)
    assert refusal.trust
    assert refusal.why == (
        f"Op 'log/write' is of type WriteFile, which writes a file, and file {str(strange)!r} is "
        "not trusted, so nothing was run; if you trust it, turn on 'Trust this file'."
    )


def test_a_refusal_of_another_file_names_no_switch_that_is_not_there(
    strange: Path, harmless: Path
) -> None:
    handler = RequestHandler(tgw.edit(harmless))
    with pytest.raises(NotTrusted) as refused:
        handler.handle(p.Add(str(strange)))
    refusal = handler.refusal_reply(refused.value)
    assert not refusal.trust
    assert refusal.why.endswith(
        "to a graph that is; if you trust it, open it as trusted in a cell, and add that."
    )


def test_the_bits_of_effects_are_in_the_order_of_the_page_s_list() -> None:
    """Its twin is EFFECTS of labextension/src/protocol/scene.ts."""
    words = [
        "reads files",
        "writes files",
        "network",
        "Python",
        "waits",
        "ends the process",
        "unknown",
    ]
    assert [str(effect) for effect in scenes.EFFECTS] == words


def test_each_box_that_is_or_holds_or_calls_such_an_op_is_marked(strange: Path) -> None:
    editor = tgw.edit(strange)
    calls = [
        name for name in editor._core.index.names if name.startswith("StatefulPartitionedCall")
    ]
    assert len(calls) == 2
    editor.view.collapse()
    assert effects_drawn(editor) == dict.fromkeys(["", "log", *calls], WRITES)
    editor.view.expand("log")
    assert effects_drawn(editor) == dict.fromkeys(["", "log", *calls, "log/write"], WRITES)
    editor.view.enter(calls[1])
    assert effects_drawn(editor) == {"": WRITES, "WriteFile": WRITES}


def test_marks_follow_edits(strange: Path) -> None:
    editor = tgw.edit(strange)
    editor.view.expand("log")
    editor.rename("log/write", "log/kept")
    assert effects_drawn(editor)["log/kept"] == WRITES
    editor.remove("log/kept")
    assert "log" not in effects_drawn(editor)
    editor.undo()
    assert effects_drawn(editor)["log/kept"] == WRITES


def test_what_an_op_or_a_scope_does_is_in_the_inspector(strange: Path) -> None:
    editor = tgw.edit(strange)
    handler = RequestHandler(editor)

    def effects(name: str) -> tuple[str, ...]:
        reply, _ = handler.handle(p.Inspect(name))
        assert isinstance(reply, p.InspectReply)
        return reply.effects

    sentence = "Op 'log/write' is of type WriteFile, which writes a file."
    assert effects("log/write") == effects("log/") == (sentence,)
    assert effects("y") == ()
    call = next(
        name for name in editor._core.index.names if name.startswith("StatefulPartitionedCall")
    )
    (of_call,) = effects(call)
    assert of_call.startswith("Op 'WriteFile' in function '__inference_keeping_")
    assert effects("/") == (sentence, of_call)
    handler.handle(p.Trust())
    assert effects("log/write") == ()


def test_of_many_such_ops_the_inspector_shows_the_first(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.name_scope("many"):
        for _ in range(7):
            tf.io.read_file("text", name="read")
    reply, _ = RequestHandler(tgw.edit(saved(graph, tmp_path))).handle(p.Inspect("many/"))
    assert isinstance(reply, p.InspectReply)
    assert len(reply.effects) == 6
    assert reply.effects[-1] == "And more."


def test_a_file_whose_functions_alone_do_more_says_so(tmp_path: Path) -> None:
    held = v1.GraphDef()
    held.node.add(name="x", op="NoOp")
    function = held.library.function.add()
    function.signature.name = "idle"
    function.node_def.add(name="read", op="ReadFile", input=["name"])
    function.node_def.add(name="odd", op="NoSuchOpAtAll")
    path = tmp_path / "idle.pb"
    path.write_bytes(held.SerializeToString())
    editor = tgw.edit(path)
    reply, _ = RequestHandler(editor).handle(p.Open())
    assert state_of(reply).untrusted.startswith(
        "Ops of this file may read files or do what is not known (2 ops), so"
    )
    assert effects_drawn(editor) == {}


def test_two_effects_of_a_scope_are_both_reported(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, tf.name_scope("copy"):
        tf.io.write_file("to", tf.io.read_file("from", name="read"), name="write")
    editor = tgw.edit(saved(graph, tmp_path))
    editor.view.collapse()
    assert effects_drawn(editor)["copy"] == READS | WRITES
    reply, _ = RequestHandler(editor).handle(p.Open())
    assert state_of(reply).untrusted.startswith(
        "Ops of this file may read files or write files (2 ops)"
    )


def test_a_saved_picture_has_the_warning_sign(strange: Path) -> None:
    editor = tgw.edit(strange)
    with_sign = editor.view.to_svg().count(">!<")
    editor.source.trusted = True
    # The op or its scope, and the two calls.
    assert (with_sign, editor.view.to_svg().count(">!<")) == (
        3,
        0,
    )
