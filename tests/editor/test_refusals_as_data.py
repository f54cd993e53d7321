"""Refusals as data: each fix is an edit that JSON holds and that does what the refused call was to
do.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError


@cache
def graph_def() -> Any:
    """x → layer/a → layer/sum → casts → dropout → r, of shape [4, 1, 3] → y; beside it inputs that
    do not fit x.
    """
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [4, 3], name="x")
        v1.placeholder(tf.int32, [4, 3], name="whole")
        v1.placeholder(tf.float32, [3, 4], name="turned")
        v1.placeholder(tf.float32, [12], name="flat")
        with v1.name_scope("layer"):
            a = tf.matmul(x, tf.ones([3, 3], name="ones"), name="a")
            total = tf.add(a, tf.square(a, name="square"), name="sum")
            back = tf.cast(tf.cast(total, tf.int32, name="cast"), tf.float32, name="back")
        dropped = v1.nn.dropout(back, rate=0.5, name="dropout")
        tf.negative(tf.reshape(dropped, [4, 1, 3], name="r"), name="y")
    return graph.as_graph_def()


def opened() -> tgw.GraphEditor:
    editor = tgw.edit(graph_def())
    editor.signatures.add("s", {"x": "x:0"}, {"y": "y:0"})
    editor.signatures.add("t", {"x": "x:0"}, {"a": "layer/a:0"})
    return editor


ENDS = "x:0", "layer/a:0"
CASES: dict[str, tuple[str, list[str], Callable[[tgw.GraphEditor], Any]]] = {
    "rename": ("name-taken", ["Name it 'x_1'"], lambda e: e.rename("layer/a", "x")),
    "clone": ("name-taken", ["Clone into 'layer_1'"], lambda e: e.clone(*ENDS, into="layer")),
    "insert": ("name-taken", ["Name it 'x_1'"], lambda e: e.insert(ENDS[1], "Tanh", name="x")),
    "replace": (
        "name-taken",
        ["Name it 'x_1'"],
        lambda e: e.replace("layer/square", "Tanh", name="x"),
    ),
    "signature": (
        "name-taken",
        ["Name it 's_1'"],
        lambda e: e.signatures.add("s", {"x": ENDS[0]}, {"a": ENDS[1]}),
    ),
    "rename signature": ("name-taken", ["Name it 's_1'"], lambda e: e.signatures.rename("t", "s")),
    "dtype": ("reroute-refused", ["Insert a Cast"], lambda e: e.reroute("x:0", to="whole:0")),
    "turned": (
        "reroute-refused",
        ["Insert a Transpose", "Insert a Reshape"],
        lambda e: e.reroute("x:0", to="turned:0"),
    ),
    "flat": ("reroute-refused", ["Insert a Reshape"], lambda e: e.reroute("x:0", to="flat:0")),
    "itself": (
        "reroute-refused",
        ["Leave out 'layer/square'"],
        lambda e: e.reroute("layer/a:0", to="layer/square:0"),
    ),
    "connect": (
        "connect-refused",
        ["Insert a Cast"],
        lambda e: e.connect("whole:0", "layer/square", 0),
    ),
    "swap": ("swap-refused", ["Insert a Cast"], lambda e: e.swap("x:0", "whole:0")),
    "several inputs": (
        "several-inputs-fit",
        ["Read layer/a:0", "Read layer/square:0"],
        lambda e: e.bypass("layer/sum"),
    ),
    "bypass": ("bypass-refused", ["Insert a Cast"], lambda e: e.bypass("layer/cast")),
    "remove": ("remove-refused", ["Remove its consumers too"], lambda e: e.remove("layer/sum")),
    "shape": (
        "set-input-refused",
        ["Change the shape, and the constants too"],
        lambda e: e.passes.set_input("x:0", [6, 3]),
    ),
    "input": (
        "set-input-refused",
        ["Insert a Cast"],
        lambda e: e.passes.set_input("x:0", dtype="float16"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_fix_of_a_refusal_is_an_edit_that_json_holds_and_that_works(case: str) -> None:
    code, labels, call = CASES[case]
    editor = opened()
    for _ in range(2):  # refused again, it says the same
        with pytest.raises(GraphEditError) as refusal:
            call(editor)
        row = json.loads(json.dumps(refusal.value.row()))
        assert row["code"] == code
        assert [fix["label"] for fix in row["fixes"]] == labels
        assert row["fixes"][0]["python"] not in row["sentence"]
        assert len(editor.history.done) == 2
    for fix, command in zip(row["fixes"], refusal.value.fixes, strict=True):
        impact = editor.preview(fix["edit"])
        assert editor.history.replay([fix["edit"]]) == 1
        assert editor.history.lines[2:] == (fix["python"],)
        done = editor.history.done[-1].patch
        assert done.add.nodes or done.remove.nodes or done.changed or done.signature_edits
        editor.undo()
        assert editor.preview(command) == impact


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda e: e.add(graph_def(), into="layer"), 'editor.add(source=source, into="layer_1")'),
        (
            lambda e: e.call("x:0", tf.nn.tanh, into="layer"),
            'editor.call(at=["x:0"], function=tf.tanh, into="layer_1")',
        ),
    ],
)
def test_a_fix_that_holds_a_function_or_graph_is_an_edit_here_though_no_data(
    call: Callable[[tgw.GraphEditor], Any], why: str
) -> None:
    editor = opened()
    with pytest.raises(GraphEditError) as refusal:
        call(editor)
    (fix,) = refusal.value.fixes
    assert why in fix.code()
    assert refusal.value.row()["fixes"][0]["edit"] is None
    editor.apply(fix)
    assert any(name.startswith("layer_1/") for name in editor._core.index.names)


WRONG_TYPES: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "times": lambda e: e.clone(*ENDS, times="two"),
    "op": lambda e: e._core.index.op(3),
    "query": lambda e: e.find(3),
    "feeds": lambda e: e.split(at="layer/sum:0").run([1.0]),
    "edits": lambda e: e.history.replay(3),
    "difference": lambda e: setattr(e.view, "difference", 3),
}


@pytest.mark.parametrize("what", WRONG_TYPES)
def test_a_value_of_a_wrong_type_is_a_type_error(what: str) -> None:
    with pytest.raises(TypeError) as refused:
        WRONG_TYPES[what](opened())
    assert isinstance(refused.value, GraphEditError)
    assert refused.value.code == "wrong-type"
    assert refused.value.argument


def test_a_text_that_is_not_a_choice_is_a_value_error_and_no_type_error() -> None:
    with pytest.raises(ValueError, match="is not what swap takes; give 'inputs'") as refused:
        opened().swap("layer/a", "layer/square", what="neither")
    assert not isinstance(refused.value, TypeError)
    assert refused.value.argument == "what"


MISSING_KEYS: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "op": lambda e: e._core.index.op("nowhere"),
    "scope": lambda e: e.ops(scope="nowhere"),
    "copy": lambda e: e["nowhere"],
    "signature": lambda e: e.signatures.remove("nowhere"),
    "feed": lambda e: e.probe("y:0", {"nowhere:0": 1.0}),
    "option": lambda e: e.clone(*ENDS, nowhere=1),
    "collection": lambda e: e.passes.remove_collection("nowhere"),
}


@pytest.mark.parametrize("what", MISSING_KEYS)
def test_a_name_that_is_missing_is_a_key_error_whose_text_is_the_sentence(what: str) -> None:
    with pytest.raises(KeyError) as refused:
        MISSING_KEYS[what](opened())
    assert isinstance(refused.value, GraphEditError)
    assert "nowhere" in str(refused.value)
    assert not str(refused.value).startswith(("'This", '"This'))  # KeyError quotes what it is given
