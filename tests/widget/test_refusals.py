"""Refusals on the page: in words, with a button for what would do; Python is for those who call the editor."""

from __future__ import annotations

import ast
import dataclasses
from itertools import product
from pathlib import Path

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.edits import registry
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.page_words import PYTHON, in_page_words
from tfgraphwidget.widget.request_handler import RequestHandler


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


ODD = ("None", "1", "'x:0'", "'nowhere:0'", "['x', 'y']", "{'x': 1}", "-1", "'é é'", "'Cast'", "[7, 7]", "True")


def options_of(verb: str) -> list[str]:
    """The arguments that a page may give beside what is edited."""
    return [field.name for field in dataclasses.fields(registry.commands()[verb])]


@pytest.mark.parametrize("verb", sorted(registry.requested_verbs()))
def test_whatever_a_page_asks_of_a_verb_is_refused_in_words(editor: tgw.GraphEditor, verb: str) -> None:
    handler = RequestHandler(editor)
    asked = [p.Change(verb, what) for what in ((), ("x",), ("sum", "y"), ("y:0",), ("alone",), ("w",), ("no",))]
    asked += [p.Change(verb, ("sum",), (key,), (value,)) for key, value in product(options_of(verb), ODD)]
    refusals = [reply for request in asked if isinstance(reply := answer(handler, request), p.Refused)]
    assert refusals
    for reply in refusals:
        assert not PYTHON.search(reply.why), reply.why
        assert all(not PYTHON.search(offer.text) for offer in reply.mends), reply.mends


def test_a_clone_is_refused_in_words_and_names_the_field_to_change(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    forms = [
        p.Preview(inputs, outputs, into, variables, (), init, placeholders, False, times, device)
        for inputs, outputs in (((), ()), (("x",), ("w",)), (("y",), ("x",)), (("no",), ("y",)), (("x",), ("y",)))
        for into, variables, init in (("c", "own", "current"), ("sum", "shared", "none"), ("é", "own", "initial"))
        for placeholders, times, device in ((False, None, ""), (True, 3, "/what"))
    ]
    replies = [handler.handle(form)[0] for form in forms]
    refusals = {reply.refusal for reply in replies if isinstance(reply, p.Previewed) and reply.refusal}
    assert len(refusals) > 3
    assert not [why for why in refusals if PYTHON.search(why)]
    handler.handle(p.Select("set", ("w",), ()))
    reply = answer(handler, p.Clone((), (), "copy"))
    assert isinstance(reply, p.Refused)
    assert "choose" in reply.why
    assert "under Values" in reply.why


def sentences() -> list[str]:
    """The sentences of all errors that the package raises, with a name for each value in them."""
    package = Path(tgw.__file__).parent
    trees = (ast.parse(file.read_text()) for file in package.rglob("*.py"))
    raised = (node.exc for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc)
    return [text for error in raised for node in ast.walk(error) if (text := text_of(node))]


def text_of(node: ast.AST) -> str:
    """The text of a literal."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "'net/x'" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_sentence_of_the_package_speaks_python_on_a_page() -> None:
    python = [text for text in sentences() if PYTHON.search(text)]
    assert len(python) > 50  # for those who call the editor
    assert not [text for text in python if PYTHON.search(in_page_words(text))]
    assert all(in_page_words(text) == text for text in sentences() if not PYTHON.search(text))
