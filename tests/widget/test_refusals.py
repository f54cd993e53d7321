"""Refusals on the page: in words, with a button for what would do; Python is for those who call the editor."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import get_type_hints

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.parsing import parsed
from tfgraphwidget.edits import registry
from tfgraphwidget.edits.rewrite import Insert
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.page_words import CONTROLS, PYTHON, control, in_page_words, reply_in_page_words
from tfgraphwidget.widget.protocol import replies
from tfgraphwidget.widget.protocol.replies import Prose
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
    assert isinstance(reply, p.Refusal), (verb, what)
    assert not PYTHON.search(reply.why), reply.why
    assert reply.why.endswith(".")


def test_a_button_stands_for_the_line_that_python_names(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    reply = answer(handler, p.Change("bypass", ("sum",), (), ()))
    assert isinstance(reply, p.Refusal)
    assert [offer.text for offer in reply.mends] == ["Read x:0", "Read square:0"]
    with pytest.raises(GraphEditError, match=r"choose one of them, such as editor\.bypass\("):
        editor.bypass("sum")
    done = answer(handler, p.Mend(reply.mends[0].line))
    assert isinstance(done, p.SceneReply)
    assert editor.lines == ('editor.bypass(what="sum", by="x:0")',)


PAGE = Path(__file__).parents[2] / "labextension" / "src"
ODD = ("None", "1", "'x:0'", "'nowhere:0'", "['x', 'y']", "{'x': 1}", "-1", "'é é'", "'Cast'", "[7, 7]", "True")


def options_of(verb: str) -> list[str]:
    """The arguments that a page may give beside what is edited."""
    return [field.name for field in dataclasses.fields(registry.commands()[verb])]


@pytest.mark.parametrize("verb", sorted(registry.requested_verbs()))
def test_whatever_a_page_asks_of_a_verb_is_refused_in_words(editor: tgw.GraphEditor, verb: str) -> None:
    handler = RequestHandler(editor)
    asked = [p.Change(verb, what) for what in ((), ("x",), ("sum", "y"), ("y:0",), ("alone",), ("w",), ("no",))]
    asked += [p.Change(verb, ("sum",), (key,), (value,)) for key, value in product(options_of(verb), ODD)]
    refusals = [reply for request in asked if isinstance(reply := answer(handler, request), p.Refusal)]
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
    refusals = {reply.refusal for reply in replies if isinstance(reply, p.ClonePreview) and reply.refusal}
    assert len(refusals) > 3
    assert not [why for why in refusals if PYTHON.search(why)]
    handler.handle(p.Select("set", ("w",), ()))
    reply = answer(handler, p.Clone((), (), "copy"))
    assert isinstance(reply, p.Refusal)
    assert "choose" in reply.why
    assert "under Values" in reply.why


def sentences() -> list[str]:
    """The sentences of all errors that the package raises, with a name for each value in them."""
    package = Path(tgw.__file__).parent
    trees = (parsed(file) for file in package.rglob("*.py"))
    raised = (node.exc for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc)
    return [text for error in raised for node in ast.walk(error) if (text := text_of(node))]


def text_of(node: ast.AST) -> str:
    """The text of a literal."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "'net/x'" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_the_page_has_the_controls_that_refusals_name() -> None:
    source = "".join(file.read_text() for file in PAGE.rglob("*.ts"))
    labels = [name.removesuffix(" …") for name in CONTROLS.values() if name[0].isupper()]
    assert not [label for label in labels if f'"{label}' not in source]
    assert control("bypass") == "Bypass"
    assert control("table") == ""
    assert all(hasattr(tgw.GraphEditor, verb) for verb in CONTROLS)


def test_an_argument_that_is_wrong_is_no_way_out() -> None:
    assert in_page_words("variables='all' is not known; it is one of 'own'.").startswith(
        "variables 'all' is not known;"
    )
    assert in_page_words("init='here' cannot be had; use 'none'.") == "init 'here' cannot be had; use 'none'."


def test_no_sentence_of_the_package_speaks_python_on_a_page() -> None:
    every = sentences()
    python = [text for text in every if PYTHON.search(text)]
    assert len(python) > 50  # for those who call the editor
    assert not [text for text in python if PYTHON.search(in_page_words(text))]
    assert all(in_page_words(text) == text for text in every if not PYTHON.search(text))


# Notices


def test_whatever_is_prose_in_a_reply_is_written_in_the_words_of_the_page() -> None:
    kinds = [kind for kind in vars(replies).values() if dataclasses.is_dataclass(kind)]
    prose = {"why", "refusal", "warnings", "editable", "notice", "reasons", "dropped", "notes", "sentence", "exists"}
    hints = [(kind, get_type_hints(kind, include_extras=True)) for kind in kinds]
    named = [(kind, name, hint[name]) for kind, hint in hints for name in prose & set(hint)]
    assert len(named) > 12
    assert not [(kind, name) for kind, name, hint in named if hint not in (Prose, tuple[Prose, ...])]
    python = "No session is there; give tgw.edit(graph, session=session)."
    said = "No session is there; open the graph with its session in a cell."
    assert reply_in_page_words(p.RewireTargets("x:0", (), "y", (("z", python),), (p.Slot("x:0", python),))) == (
        p.RewireTargets("x:0", (), "y", (("z", said),), (p.Slot("x:0", said),))
    )
    assert reply_in_page_words(p.ScriptReply(python)) == p.ScriptReply(python)


def test_what_a_page_says_of_a_file_speaks_no_python(editor: tgw.GraphEditor, tmp_path: Path) -> None:
    path = tmp_path / "train.meta"
    with v1.Session(graph=editor.graph) as session, editor.graph.as_default():
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(tmp_path / "train"))
    opened = tgw.edit(path)
    assert "checkpoint='" in opened.notices[0]
    reply = answer(RequestHandler(opened), p.Open())
    assert isinstance(reply, p.SceneReply)
    assert "open it with its checkpoint in a cell" in reply.state.warnings[0]
    assert not [text for text in (*reply.state.warnings, reply.state.editable) if PYTHON.search(text)]
    exporter = Exporter(opened)
    assert not [kind.refused for kind in exporter.formats() if PYTHON.search(kind.refused)]
    # What is said of what was saved: the signature is one that the graph seems to be for.
    about = Exporter(editor, path).save("frozen", "frozen").about
    assert not PYTHON.search(about), about


def all_texts() -> list[str]:
    """The texts in the package that are no docstrings, a name for each value in them."""
    package = Path(tgw.__file__).parent
    trees = [ast.parse(file.read_text()) for file in package.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    passed_over = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    passed_over |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    return [text for node in nodes if id(node) not in passed_over and (text := text_of(node))]


def test_what_is_said_before_the_python_of_a_sentence_is_said_on_a_page_too() -> None:
    first = [(text.split("; ")[0], text) for text in all_texts() if "; " in text and PYTHON.search(text)]
    kept = [(clause, in_page_words(text)) for clause, text in first if not PYTHON.search(clause)]
    assert len(kept) > 100
    assert not [said for clause, said in kept if not said.startswith(clause)]
    assert not [said for _, said in kept if PYTHON.search(said.partition("\n")[0])]


def test_no_sentence_that_the_page_has_itself_speaks_python() -> None:
    files = [file for file in PAGE.rglob("*.ts") if "protocol" not in file.parts]
    quoted = [text for file in files for text in re.findall(r'"([^"\n]*)"', file.read_text())]
    sentences = [text for text in quoted if re.match(r"[A-Z].* .*\.$", text)]
    assert len(sentences) > 50
    assert not [text for text in sentences if re.search(r"\b(editor|tgw)\.\w", text)]


@pytest.mark.parametrize(
    ("python", "page"),
    [
        (
            "checkpoint='train': variable 'w' is [2]; leave checkpoint= out to edit the graph without values.",
            "Variable 'w' is [2]; leave checkpoint empty to edit the graph without values.",
        ),
        (
            "Signature 'a' gives 'y'; choose a boundary, or give inputs= and outputs=, for another.",
            "Signature 'a' gives 'y'; mark an input and an output for another.",
        ),
        (
            "Edits make a new function of it (editor.module()); what needs a session cannot run.",
            "Edits make a new function of it; what needs a session cannot run.",
        ),
        ("'tf.math.add/Add' reads nothing.", "'tf.math.add/Add' reads nothing."),
        (
            "A session that ran 'x' goes on running it as it was; tgw.renew(session) lets it follow.",
            "A session that ran 'x' goes on running it as it was; renew the session in a cell to let it follow.",
        ),
        (
            "No GPU; open the session with tf.compat.v1.ConfigProto(allow_soft_placement=True) to run them on the CPU.",
            "No GPU; open the session with soft placement in a cell to run them on the CPU.",
        ),
        (
            "All of it; editor.open_signature('a') shows what that one computes, and signature='a' opens it there.",
            "All of it; 'Check the graph' in the tab Op lists them, and 'Open' shows what one computes.",
        ),
        (
            "Import it without devices to run it: tf.compat.v1.train.import_meta_graph(file, clear_devices=True).",
            "Import it without devices in a cell to run it.",
        ),
    ],
)
def test_a_notice_says_in_words_what_to_choose(python: str, page: str) -> None:
    assert in_page_words(python) == page


# As data


def subclasses(kind: type) -> set[type]:
    """All classes that extend one."""
    return {kind, *(each for child in kind.__subclasses__() for each in subclasses(child))}


def test_every_class_of_errors_has_a_code_of_its_own() -> None:
    errors = [kind for kind in subclasses(GraphEditError) if kind.__module__.startswith("tfgraphwidget.errors")]
    codes = {kind.code for kind in errors}
    assert len(codes) == len(errors) > 10
    assert {"refused", "invalid-argument", "name-taken", "unknown-name"} <= codes
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


def test_a_refusal_is_data_of_which_each_mend_can_be_replayed(editor: tgw.GraphEditor) -> None:
    with pytest.raises(GraphEditError) as info:
        editor.bypass("sum")
    row = json.loads(json.dumps(info.value.row()))
    assert (row["code"], row["ops"]) == ("several-inputs-fit", ["sum", "x", "square"])
    assert "editor." not in row["sentence"]
    assert [mend["label"] for mend in row["mends"]] == ["Read x:0", "Read square:0"]
    assert editor.lines == ()
    editor.replay([row["mends"][0]["edit"]])
    assert editor.lines == (row["mends"][0]["python"],)


def test_a_refusal_has_the_code_of_its_case_of_its_class_or_of_its_edit(editor: tgw.GraphEditor) -> None:
    def code_of(call: Callable[[], object]) -> str:
        with pytest.raises(GraphEditError) as info:
            call()
        return info.value.code

    assert code_of(lambda: editor.bypass("alone")) == "nothing-to-bypass"
    assert code_of(lambda: editor.bypass("nowhere")) == "unknown-name"
    assert code_of(lambda: editor.insert("x:0", "Elu", name="sum")) == "name-taken"
    assert code_of(lambda: editor.replace("sum", "y")) == "replace-refused"


def test_a_mend_with_a_python_function_has_no_json() -> None:
    row = Insert("x:0", len, name="size").row()
    assert row["edit"] is None
    assert row["python"].startswith("editor.insert(")
