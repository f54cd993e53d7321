"""A refusal is one sentence that begins with the public method that was called; the page's has no
Python.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.parsing import PYTHON
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

X = {"x:0": [[1.0, 2, 3, 4]]}


def other() -> Any:
    """A tensor of another graph, without a name in this one."""
    with tf.Graph().as_default():
        return v1.placeholder(tf.float32, [3], name="elsewhere")


def state(editor: tgw.GraphEditor) -> Any:
    return (
        editor._core.index.names,
        editor.history,
        editor.selection,
        editor.inputs,
        editor.outputs,
        editor.view.breadcrumb,
    )


def refusal(call: Callable[[], Any]) -> GraphEditError:
    with pytest.raises(GraphEditError) as info:
        call()
    return info.value


REFUSED: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "upstream('nowhere')": lambda e: e.upstream("nowhere"),
    "bypass('elsewhere:0')": lambda e: e.bypass(other()),
    "remove('net/logits')": lambda e: e.remove("net/logits"),
    "reroute(old='x:0')": lambda e: e.reroute(old="x:0", to="labels:0"),
    "rename('loss')": lambda e: e.rename("loss", "x"),
    "set_device('loss')": lambda e: e.set_device("loss", 3),
    "set_attr('loss')": lambda e: e.set_attr("loss", "nothing", 1),
    "set_constant('x:0')": lambda e: e.set_constant("x:0", np.zeros([2, 9])),
    "insert('x:0')": lambda e: e.insert("x:0", "Nothing"),
    "call('x:0')": lambda e: e.call("x:0", lambda _: 1 / 0),
    "clone(['x:0', ...])": lambda e: e.clone(["x:0", "labels:0"], "nowhere:0"),
    "clone('x:0')": lambda e: e.clone("x:0", "net/logits:0", times="two"),
    "preview(clone)": lambda e: e.preview(e.clone, e.ops(scope="net"), into="net"),
    "set_trainable('x')": lambda e: e.set_trainable("x"),
    "probe('x:0')": lambda e: e.probe("x:0"),
    "save('net.nothing')": lambda e: e.save("net.nothing"),
    "apply(int)": lambda e: e.apply(int),
    "match('Relu(')": lambda e: e.match("Relu("),
    "ops(file='none.npz')": lambda e: e.ops(file="none.npz"),
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_refusal_begins_with_the_call_and_changes_nothing(call: str) -> None:
    editor = tgw.example()
    editor.mark("x:0", "net/hidden/Relu:0")
    before = state(editor)
    for _ in range(2):  # a plan that was refused is remembered
        error = refusal(lambda: REFUSED[call](editor))
        assert str(error).startswith(f"{call}: ")
        assert error.call == call
        assert not error.sentence.startswith(call)
    assert state(editor) == before


def test_a_selection_whose_expression_is_long_is_cut_with_dots() -> None:
    editor = tgw.example()
    part = editor.ops(*editor._core.index.names[:30])
    error = refusal(lambda: editor.clone(part, into="x"))
    assert error.call == f"clone({repr(part)[:120]}...)"


def test_what_was_done_is_refused_the_second_time_by_its_own_name() -> None:
    editor = tgw.example()
    twice: list[tuple[str, Callable[[], Any]]] = [
        ("clone('x:0'): ", lambda: editor.clone("x:0", "net/logits:0", into="copy")),
        ("rename('labels'): ", lambda: editor.rename("labels", "truth")),
        ("signatures.add('s'): ", lambda: editor.signatures.add("s", "x:0", "net/logits:0")),
        ("signatures.remove('s'): ", lambda: editor.signatures.remove("s")),
    ]
    for start, call in twice:
        call()
        before = state(editor)
        assert str(refusal(call)).startswith(start)
        assert state(editor) == before


def test_after_the_session_is_closed_each_method_that_needs_it_says_so() -> None:
    editor = tgw.example()
    copy = editor.clone("x:0", "net/logits:0", into="copy")
    editor.session.close()
    before = state(editor)
    calls: dict[str, Callable[[], Any]] = {
        "probe('net/logits:0'): ": lambda: editor.probe("net/logits:0", X),
        "measure('net/logits:0'): ": lambda: editor.measure("net/logits:0", X),
        "clone('x:0'): ": lambda: editor.clone("x:0", "net/logits:0"),
        "freeze('net/logits:0'): ": lambda: editor.freeze("net/logits:0"),
        "sync(tau=0.5): ": lambda: copy.sync(tau=0.5),
        "drift(": lambda: tgw.drift(editor, copy),
    }
    for start, call in calls.items():
        assert str(refusal(call)).startswith(start)
    assert state(editor) == before


SET: dict[str, Callable[[tgw.GraphEditor], None]] = {
    "selection = 'nothing'": lambda e: setattr(e, "selection", "nothing"),
    "direction = 'up'": lambda e: setattr(e.view, "direction", "up"),
    "difference = 3": lambda e: setattr(e.view, "difference", 3),
}


@pytest.mark.parametrize("assignment", SET)
def test_a_property_that_refuses_a_value_names_the_assignment(assignment: str) -> None:
    editor = tgw.example()
    before = state(editor)
    error = refusal(lambda: SET[assignment](editor))
    assert str(error).startswith(f"{assignment}: ")
    assert state(editor) == before


def test_functions_of_the_package_name_themselves() -> None:
    assert str(refusal(lambda: tgw.layered("x"))).startswith(
        "layered('x'): 'x' is not a networkx graph"
    )
    assert str(refusal(lambda: tgw.renew(3))).startswith(
        "renew(3): 3 is not a tf.compat.v1.Session"
    )  # type: ignore[arg-type]
    assert str(refusal(lambda: tgw.edit("nothing.pb"))).startswith(
        "edit('nothing.pb'): There is no file"
    )
    assert str(refusal(lambda: tgw.sync(1, 2))).startswith("sync(1): ")
    assert str(refusal(lambda: tgw.pattern("Relu("))).startswith("pattern('Relu('): ")


@pytest.mark.parametrize("source", ["a session", "a file"])
def test_feeds_that_do_not_fit_leave_no_edit_of_a_pass_that_was_to_compare(source: str) -> None:
    editor = (
        tgw.example() if source == "a session" else tgw.edit(tgw.example().graph.as_graph_def())
    )
    editor.rename("net/w", "net/weights")
    before = state(editor)
    for call in (
        lambda feeds: editor.passes.cast("float16", feeds=feeds),
        lambda feeds: editor.passes.round_weights(4, minimum=1, feeds=feeds),
        lambda feeds: editor.passes.quantize_weights(minimum=1, feeds=feeds),
    ):
        refusal(lambda call=call: call({"nowhere:0": 1}))
        assert state(editor) == before
    editor.undo()
    assert "net/w" in editor._core.index.names


def test_a_sentence_that_names_its_method_already_is_left_alone() -> None:
    editor = tgw.example()
    assert str(refusal(lambda: editor.passes.round_weights(99))).count("round_weights") == 1
    assert (
        str(refusal(lambda: editor.passes.remove_identities("Relu"))).count("remove_identities")
        == 1
    )


def test_the_page_says_it_without_the_call() -> None:
    handler = RequestHandler(tgw.example())
    with pytest.raises(GraphEditError) as info:
        handler.handle(p.Change("rename", ("nowhere",), ("new",), ("'other'",)))
    reply = handler.refusal_reply(info.value)
    assert reply.why == "This graph has no op or name scope 'nowhere'; the search finds ops."
    assert not PYTHON.search(reply.why)


@pytest.mark.parametrize("name", ["net", "net/"])
def test_a_name_scope_where_an_op_is_asked_for_has_a_way_out(name: str) -> None:
    editor = tgw.example()
    way_out = "'net' is a name scope and not an op; editor.ops(scope='net') has its ops."
    for call in (editor.upstream, editor.downstream, editor.ops):
        assert str(refusal(lambda call=call: call(name))).endswith(way_out)
    assert "'net' is a name scope" in str(refusal(lambda: editor.clone(name, "loss:0")))


def test_a_worker_process_can_send_a_refusal() -> None:
    editor = tgw.example()
    for error in (
        refusal(lambda: editor.probe(3)),
        refusal(lambda: editor.clone(editor.ops(scope="net"), into="net")),
    ):
        sent = pickle.loads(pickle.dumps(error))
        assert (type(sent), str(sent), sent.ops, sent.row()["code"]) == (
            type(error),
            str(error),
            error.ops,
            error.code,
        )
