"""Copies of ops that TensorFlow has accepted are imported without a sandbox; what may be refused is
tried in one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_line, build_mlp, initialised, v1
from tests.runtime.test_preflight import state
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.runtime.sandbox import preflight


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many ops each sandbox held."""
    counts: list[int] = []
    works = preflight._import_in_sandbox

    def counted(graph: tf.Graph, validated: preflight.ValidatedNodes, types: Any) -> Any:
        counts.append(len(validated.names))
        return works(graph, validated, types)

    monkeypatch.setattr(preflight, "_import_in_sandbox", counted)
    return counts


def everything() -> tf.Graph:
    """A net with both kinds of variables, a v1 conditional, a v1 loop, functions with and without
    state, a summary.
    """
    graph = tf.Graph()
    v1.disable_control_flow_v2()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        h = x
        for kind, is_resource in (("ref", False), ("resource", True)):
            w = v1.get_variable(
                kind, [3, 3], initializer=v1.ones_initializer(), use_resource=is_resource
            )
            h = tf.matmul(h, w, name=f"by_{kind}")
        tf.identity(h, name="y")
        v1.summary.scalar("summary", tf.reduce_mean(h))
        tf.identity(v1.cond(tf.reduce_sum(h) > 0, lambda: h + 1, lambda: h - 1), name="chosen")
        tf.identity(
            tf.while_loop(lambda k: tf.reduce_sum(k) < 9, lambda k: k + 1, [h]), name="looped"
        )
        v1.placeholder_with_default(tf.ones([2, 3]), [None, 3], name="other")
        plain = tf.function(lambda value: value * 2)

        @tf.function
        def stateful(value: tf.Tensor) -> tf.Tensor:
            table = tf.raw_ops.HashTableV2(
                key_dtype=tf.int64, value_dtype=tf.float32, shared_name="kept"
            )
            return value + tf.cast(tf.raw_ops.LookupTableSizeV2(table_handle=table), tf.float32)

        tf.identity(plain(h), name="called")
        tf.identity(stateful(h), name="counted")
    return graph


def bypassed(editor: GraphEditor) -> Any:
    editor.bypass("by_ref")
    return editor.clone("x:0", "y:0", into="copy")


AT_ONCE: dict[str, Callable[[GraphEditor], Any]] = {
    "a part": lambda editor: editor.clone("x:0", "y:0", into="copy"),
    "everything after the inputs": lambda editor: editor.clone([], ["y:0"], into="copy"),
    "several copies": lambda editor: editor.clone("x:0", "y:0", into="copy", times=3),
    "shared variables": lambda editor: editor.clone("x:0", "y:0", into="copy", variables="shared"),
    "another device": lambda editor: editor.clone("x:0", "y:0", into="copy", device="/cpu:0"),
    "a summary": lambda editor: editor.clone(["x:0"], ["summary:0"], into="copy"),
    "a conditional": lambda editor: editor.clone("x:0", "chosen:0", into="copy"),
    "a call of a function": lambda editor: editor.clone("x:0", "called:0", into="copy"),
    "a copy of a copy": lambda editor: (
        editor.clone("x:0", "y:0", into="copy"),
        editor.clone("x:0", "copy/y:0", into="again"),
    )[1],
}
TRIED: dict[str, Callable[[GraphEditor], Any]] = {
    "placeholders": lambda editor: editor.clone("x:0", "y:0", into="copy", placeholders=True),
    "another input": lambda editor: editor.clone(
        "x:0", "y:0", into="copy", replace={"x:0": "other:0"}
    ),
    "new seeds": lambda editor: editor.clone("x:0", "y:0", into="copy", reseed=True),
    "a v1 loop": lambda editor: editor.clone("x:0", "looped:0", into="copy"),
    "a function with state": lambda editor: editor.clone("x:0", "counted:0", into="copy"),
    "another graph": lambda editor: editor.clone(
        "x:0", "y:0", into="copy", graph=tf.Graph(), init="none"
    ),
    "after an edit in place": bypassed,
    "a graph that is added": lambda editor: editor.add(build_line(), into="copy"),
}


@pytest.mark.parametrize("call", [*AT_ONCE, *TRIED])
def test_a_sandbox_is_left_out_for_copies_of_what_is_there_and_for_nothing_else(
    tried: list[int], call: str
) -> None:
    graph = everything()
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        made = {**AT_ONCE, **TRIED}[call](editor)
        assert bool(tried) is (call in TRIED), tried
        if call in AT_ONCE:
            *_, output = (made[-1] if isinstance(made, list) else made).ops
            values = session.run(
                [f"{output}:0", f"{original(output)}:0"], {"x:0": [[1.0, 2.0, 3.0]]}
            )
            copied, given = (
                v1.Summary.FromString(v).value[0].simple_value if call == "a summary" else v
                for v in values
            )
            assert np.array_equal(copied, given)


def original(name: str) -> str:
    """The op that an op was copied from."""
    return re.sub(r"^((copy(_\d)?|again)/)+", "", name)


def test_an_op_with_shapes_that_an_import_holds_against_its_own_is_tried(tried: list[int]) -> None:
    graph = build_mlp(resource=True)
    shapes = v1.AttrValue()
    shapes.list.shape.add().unknown_rank = True
    graph.get_operation_by_name("net/one/out")._set_attr("_output_shapes", shapes)
    tgw.edit(graph).clone("x:0", "net/logits:0", into="copy", init="none")
    assert tried


def test_what_tensorflow_refuses_without_a_sandbox_changes_nothing(tried: list[int]) -> None:
    """A static shape that was set after the ops that read it is the one fact that no op of the
    graph shows.
    """
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, None, name="x")
        w = v1.get_variable("w", [3, 2], initializer=v1.ones_initializer(), use_resource=True)
        tf.matmul(x, w, name="y")
        tf.reduce_sum(w, name="z")
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        x.set_shape([5, 7])
        before, version, seen = state(graph), graph.version, editor._core.index.names
        for _ in range(2):
            with pytest.raises(
                tgw.GraphEditError, match=r"TensorFlow refuses the new ops: .* must be equal"
            ) as raised:
                editor.clone("x:0", "y:0", into="copy")
            assert "copy/y" in raised.value.ops
        assert (state(graph), graph.version) == (before, version)
        assert graph.new_operations() == []
        assert (editor._core.index.names, editor.history.done, tried) == (seen, (), [])
        # The name scope is free, and the session goes on.
        copy = editor.clone([], "z:0", into="copy")
        assert session.run([copy["z:0"], "z:0"]) == [6.0, 6.0]
        editor.undo()
        assert editor.redo()
        assert session.run("copy/z:0") == 6.0
