"""Refusals on the page: in words, with a button for what would do; Python is for those who call the editor."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

PYTHON = re.compile(r"editor\.|\b(by|mend|only|never|outputs|inputs|control|k)=")


@pytest.fixture
def editor() -> tgw.GraphEditor:
    """x -> square -> sum (x + square) -> y; wide is x in float64; total has no shape."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        both = tf.add(x, tf.square(x, name="square"), name="sum")
        tf.identity(tf.cast(both, tf.float64, name="wide"), name="y")
        tf.identity(tf.reduce_sum(x, name="total"), name="end")
        v1.get_variable("w", [2], use_resource=True)
        tf.no_op("alone")
    return tgw.edit(graph)


def answer(handler: RequestHandler, request: p.Request) -> p.Reply:
    """The reply, also of a refusal, as the widget sends it."""
    try:
        return handler.handle(request)[0]
    except GraphEditError as error:
        return handler.refusal_reply(error)


@pytest.mark.parametrize(
    ("verb", "what", "options"),
    [
        ("bypass", "sum", {}),
        ("bypass", "wide", {}),
        ("bypass", "total", {}),
        ("bypass", "y", {}),
        ("detach", "alone", {}),
        ("rename", "w/Assign", {"new": "'v'"}),
        ("rename", "x", {"new": "'y'"}),
        ("replace", "sum", {"by": "'Relu'", "remove": "True"}),
        ("replace", "sum", {"by": "'Nothing'", "remove": "True"}),
        ("insert", "x:0", {"function": "'Cast'"}),
    ],
)
def test_a_refusal_of_an_edit_on_the_page_speaks_no_python(
    editor: tgw.GraphEditor, verb: str, what: str, options: dict[str, str]
) -> None:
    keys, values = tuple(options), tuple(options.values())
    reply = answer(RequestHandler(editor), p.Change(verb, (what,), keys, values))
    assert isinstance(reply, p.Refused), (verb, what)
    assert not PYTHON.search(reply.why), reply.why
    assert reply.why.endswith(".")


def test_a_button_stands_for_the_line_that_python_names(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    reply = answer(handler, p.Change("bypass", ("sum",), (), ()))
    assert isinstance(reply, p.Refused)
    assert [offer.text for offer in reply.mends] == ["Read x:0", "Read square:0"]
    with pytest.raises(GraphEditError, match=r"choose one of them, such as editor\.bypass\("):
        editor.bypass("sum")
    done = answer(handler, p.Mend(reply.mends[0].line))
    assert isinstance(done, p.Drawn)
    assert editor.lines == ('editor.bypass(what="sum", by="x:0")',)
