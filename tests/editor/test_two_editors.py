"""Two editors of one graph: after any edit of the other one undo, redo, jump and replay work, or
are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.slow import slow
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError

Edit = Callable[[GraphEditor], Any]


@cache
def definition() -> tf.compat.v1.GraphDef:
    """x -> net (MatMul, Relu, Identity) -> mul -> a function of a Relu and an Identity -> z, and a
    loop.
    """
    with v1.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("net"):
            product = tf.matmul(x, tf.zeros([2, 2], name="w"), name="product")
            same = tf.identity(tf.nn.relu(product, name="relu"), name="same")
        y = tf.multiply(same, 2.0, name="y")

        @tf.function
        def called(a: tf.Tensor) -> tf.Tensor:
            with tf.name_scope("s"):
                same = tf.identity(tf.nn.relu(a, name="relu"), name="same")
            return tf.add(same, 1.0, name="sum")

        tf.identity(called(y), name="z")
        count = v1.while_loop(
            lambda k: k < 3.0, lambda k: k + 1.0, [tf.constant(0.0)], name="while"
        )
        tf.identity(count, name="after")
    return graph.as_graph_def()


def editors() -> tuple[GraphEditor, GraphEditor]:
    """Two editors of a new graph."""
    with v1.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition(), name="")
    return tgw.edit(graph), tgw.edit(graph)


def call_of(editor: GraphEditor) -> str:
    """The op that calls the function; the editor is at the graph then."""
    editor.view.leave(0)
    calls = [
        n
        for n, t in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if t.endswith("PartitionedCall")
    ]
    return calls[0] if calls else "the call"


def inside(editor: GraphEditor) -> GraphEditor:
    """The editor, in the body of the function."""
    editor.view.enter(call_of(editor))
    return editor


def cloned_and_undone(editor: GraphEditor) -> None:
    editor.clone("x:0", "net/relu:0", into="copy")
    editor.undo()


def several(editor: GraphEditor) -> None:
    editor.insert("net/relu:0", "Tanh")
    editor.rename("net/relu", "net/other")
    editor.bypass("net/same")


EDITS: dict[str, Edit] = {
    "rename": lambda e: e.rename("net/relu", "net/other"),
    "rename a scope": lambda e: e.rename("net", "other"),
    "rename a loop": lambda e: e.rename("while", "loop"),
    "rename the call": lambda e: e.rename(call_of(e), "callee"),
    "rename all": lambda e: e.passes.obfuscate_names(),
    "remove": lambda e: e.remove(["z"]),
    "remove the call": lambda e: e.remove([call_of(e), "z"]),
    "replace": lambda e: e.replace("net/relu", "Tanh"),
    "replace the call": lambda e: e.replace(call_of(e), "Tanh"),
    "clone": lambda e: e.clone("x:0", "net/relu:0", into="copy"),
    "clone, undone": cloned_and_undone,
    "insert": lambda e: e.insert("net/relu:0", "Tanh"),
    "call": lambda e: e.call("net/relu", tf.tanh),
    "detach": lambda e: e.detach("net/relu"),
    "reroute": lambda e: e.reroute("net/relu:0", to="net/product:0"),
    "cast": lambda e: e.passes.cast("float16"),
    "several": several,
    "rename in the body": lambda e: inside(e).rename("s/relu", "s/other"),
    "bypass in the body": lambda e: inside(e).bypass("s/same"),
    "insert in the body": lambda e: inside(e).insert("s/relu:0", "Tanh"),
}


def refused(call: Callable[[], object]) -> str:
    """The refusal of a call, "" if it works; any other error is the test's."""
    try:
        call()
    except GraphEditError as error:
        return error.why
    return ""


def edits_of(editor: GraphEditor) -> list[dict[str, Any]]:
    return [] if any("call" in line for line in editor.history.lines) else editor.history.records()


MOVES: dict[str, Callable[[GraphEditor, list[dict[str, Any]]], object]] = {
    "undo": lambda e, _: e.undo(),
    "redo": lambda e, _: e.redo(),
    "jump": lambda e, _: e.history.goto(0),
    "replay": lambda e, given: e.history.replay(given),
}


@pytest.mark.parametrize("part", [slice(1), slow(slice(1, None))], ids=["next", "others"])
@pytest.mark.parametrize("own", EDITS)
@pytest.mark.sample(5)
def test_each_move_after_each_edit_of_the_other_editor_works_or_is_refused_in_a_sentence(
    own: str, part: slice
) -> None:
    behind = [*EDITS].index(own) + 1
    for other in [*[*EDITS][behind:], *[*EDITS][:behind]][part]:
        edit = EDITS[other]
        for name, move in MOVES.items():
            editor, second = editors()
            EDITS[own](editor)
            given = edits_of(editor)
            if name in ("redo", "replay"):
                editor.history.goto(0)
            refused(partial(edit, second))
            before = editor._core.index.names
            why = refused(partial(move, editor, given))
            assert not why or editor._core.index.names == before, (other, name)
            assert not why or re.fullmatch(r"[^.].*[.?]", why, re.DOTALL), (other, name)
            for each in (second, editor, second):  # each can still be worked with
                refused(each.undo)
                refused(each.redo)
                assert repr(each.inspect()), (other, name)
                assert each.history.lines is not None, (other, name)


def test_an_undo_after_the_other_editor_s_rename_says_what_has_which_name_now() -> None:
    editor, other = editors()
    editor.rename("net/relu", "net/other")
    other.rename("net/other", "net/third")
    with pytest.raises(
        GraphEditError,
        match="has renamed op 'net/other' to 'net/third' since; undo that there first",
    ):
        editor.undo()
    other.undo()
    editor.undo()
    assert "net/relu" in other._core.index.ids


def test_an_undo_that_would_change_an_op_that_the_other_editor_removed_names_it() -> None:
    editor, other = editors()
    editor.replace(call_of(editor), "Tanh", name="squashed")
    other.remove(["squashed", "z"])
    with pytest.raises(
        GraphEditError,
        match="removed op 'squashed'; redo it there, or undo the removal there, first",
    ):
        editor.undo()
    other.undo()
    editor.undo()
    assert call_of(other) in editor._core.index.ids


def test_an_undo_after_an_edit_in_the_same_body_names_the_call() -> None:
    editor, other = editors()
    inside(editor).rename("s/relu", "s/other")
    inside(other).bypass("s/same")
    with pytest.raises(
        GraphEditError,
        match=r"was changed by another edit meanwhile; undo that one first, in the ed",
    ):
        editor.undo()
    other.undo()
    editor.undo()
    assert "s/relu" in editor._core.index.ids


def test_what_the_other_editor_has_put_back_is_not_put_back_twice() -> None:
    editor, other = editors()
    editor.remove(["z"])
    editor.undo()
    other.remove(["z"])
    assert not refused(editor.redo)
    other.undo()
    with pytest.raises(
        GraphEditError, match="Another editor has put op 'z' back, or has made one of that name"
    ):
        editor.undo()
    assert "z" in editor._core.index.ids
