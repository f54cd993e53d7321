"""Refusals on the page: in words, with a button for what would do; Python is for those who call the
editor.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import json
import pickle
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor.public_names import public_methods
from tests.parsing import PYTHON, parsed
from tests.sources.test_broken_graphs import KINDS, broken_file
from tfgraphwidget.edits import registry
from tfgraphwidget.edits.rewrite import Insert
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sentences import (
    OPEN_WITH_SESSION,
    Sentence,
    clone_with,
    editor_call,
    either,
    in_cell,
)
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.exporter import Exporter
from tfgraphwidget.widget.page_text import (
    CLONE_CHOICES,
    CLONE_FIELDS,
    CONTROLS,
    control,
    on_page,
    reply_on_page,
)
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
    ("command", "what", "options"),
    [
        ("bypass", "sum", {}),
        ("bypass", "wide", {}),
        ("bypass", "total", {}),
        ("rename", "w/Assign", {"new": "'v'"}),
        ("rename", "x", {"new": "'y'"}),
        ("replace", "sum", {"by": "'Relu'", "remove": "True"}),
        ("replace", "sum", {"by": "'Nothing'", "remove": "True"}),
        ("insert", "x:0", {"function": "'Cast'"}),
    ],
)
def test_a_refusal_of_an_edit_on_the_page_speaks_no_python(
    editor: tgw.GraphEditor, command: str, what: str, options: dict[str, str]
) -> None:
    keys, values = tuple(options), tuple(options.values())
    reply = answer(RequestHandler(editor), p.Change(command, (what,), keys, values))
    assert isinstance(reply, p.Refusal), (command, what)
    assert not PYTHON.search(reply.why), reply.why
    assert reply.why.endswith(".")


def test_a_button_represents_the_line_that_python_names(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    reply = answer(handler, p.Change("bypass", ("sum",), (), ()))
    assert isinstance(reply, p.Refusal)
    assert [offer.text for offer in reply.fixes] == ["Read x:0", "Read square:0"]
    with pytest.raises(GraphEditError, match=r"choose one of them, such as editor\.bypass\("):
        editor.bypass("sum")
    done = answer(handler, p.Fix(reply.fixes[0].line))
    assert isinstance(done, p.SceneReply)
    assert editor.history.lines == ('editor.bypass(what="sum", by="x:0")',)


PAGE = Path(__file__).parents[2] / "labextension" / "src"
ODD = (
    "None",
    "1",
    "'x:0'",
    "'nowhere:0'",
    "['x', 'y']",
    "{'x': 1}",
    "-1",
    "'é é'",
    "'Cast'",
    "[7, 7]",
    "True",
)


def options_of(command: str) -> list[str]:
    """The arguments that a page may give beside what is edited."""
    return [field.name for field in dataclasses.fields(registry.commands()[command])]


@pytest.mark.parametrize("command", sorted(registry.requested_commands()))
@pytest.mark.sample(16)
def test_whatever_a_page_asks_of_a_command_is_refused_in_words(
    editor: tgw.GraphEditor, command: str
) -> None:
    handler = RequestHandler(editor)
    asked = [
        p.Change(command, what)
        for what in ((), ("x",), ("sum", "y"), ("y:0",), ("alone",), ("w",), ("no",))
    ]
    asked += [
        p.Change(command, ("sum",), (key,), (value,))
        for key, value in product(options_of(command), ODD)
    ]
    refusals = [
        reply for request in asked if isinstance(reply := answer(handler, request), p.Refusal)
    ]
    assert refusals
    for reply in refusals:
        assert not PYTHON.search(reply.why), reply.why
        assert all(not PYTHON.search(offer.text) for offer in reply.fixes), reply.fixes


def test_a_clone_is_refused_in_words_and_names_the_field_to_change(editor: tgw.GraphEditor) -> None:
    handler = RequestHandler(editor)
    forms = [
        p.Preview(inputs, outputs, into, variables, (), init, placeholders, False, times, device)
        for inputs, outputs in (
            ((), ()),
            (("x",), ("w",)),
            (("y",), ("x",)),
            (("no",), ("y",)),
            (("x",), ("y",)),
        )
        for into, variables, init in (
            ("c", "own", "current"),
            ("sum", "shared", "none"),
            ("é", "own", "initial"),
        )
        for placeholders, times, device in ((False, None, ""), (True, 3, "/what"))
    ]
    replies = [handler.handle(form)[0] for form in forms]
    refusals = {
        reply.refusal for reply in replies if isinstance(reply, p.ClonePreview) and reply.refusal
    }
    assert len(refusals) > 3
    assert not [why for why in refusals if PYTHON.search(why)]
    handler.handle(p.Select("set", ("w",), ()))
    reply = answer(handler, p.Clone((), (), "copy"))
    assert isinstance(reply, p.Refusal)
    assert "choose" in reply.why
    assert "under Values" in reply.why


def has_method(name: str) -> bool:
    """Whether an editor has a method of that dotted name."""
    return name in public_methods()


FIELDS = {"argument_value", "clone_with", "editor_call", "either", "in_cell", "leave_out"}
PACKAGE = Path(tgw.__file__).parent
# What is not shown on a page: the shell, the names of TensorFlow 1, patterns of documentation,
# code, SVG and DOT.
ELSEWHERE = (
    "cli",
    "graph_editor",
    "edits/serialization/names_of_0_2.py",
    "scene/rendering",
    "edits/serialization/python_source.py",
    "graph/dot.py",
    "sources/describe/docs.py",
)


def python_outside_of_fields(file: Path) -> list[str]:
    """The texts of a module, docstrings aside, that have Python in them and are not what a field
    says in Python.
    """
    found = []

    def visit(node: ast.AST, *, is_raised: bool) -> None:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in FIELDS
        ):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.JoinedStr | ast.Constant):
            text = text_of(node)
            if PYTHON.search(text) and (is_raised or is_sentence(text)):
                found.append(f"{file.relative_to(PACKAGE)}: {text}")
            return
        for child in ast.iter_child_nodes(node):
            visit(child, is_raised=is_raised or isinstance(node, ast.Raise))

    visit(parsed(file), is_raised=False)
    return found


def is_sentence(text: str) -> bool:
    """Whether a text is a sentence or a part of one, and not markup or code."""
    return len(text.split()) > 3 and not re.match(r"\s*<|.*  # |.*\n.*\n", text)


def text_of(node: ast.AST) -> str:
    """The text of a literal, with a name for each value in it."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            text_of(part) if isinstance(part, ast.Constant) else "'net/x'" for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_sentence_of_the_package_has_python_outside_of_its_fields() -> None:
    files = [
        file
        for file in PACKAGE.rglob("*.py")
        if not str(file.relative_to(PACKAGE)).startswith(ELSEWHERE)
    ]
    assert len(files) > 300
    found = [text for file in files for text in python_outside_of_fields(file)]
    assert [
        text for text in found if "Such as " not in text
    ] == []  # hints of the page's form of patterns


def test_python_outside_of_a_field_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(
        'raise E("Give k=.")\nway = f"{x} can be had from editor.freeze() alone"\n'
        'raise E("Give it; " + in_cell("write k=3."))\ndef f():\n    "What editor.f() gives in the '
        'end."\n'
    )
    assert python_outside_of_fields(module) == [
        "module.py: Give k=.",
        "module.py: 'net/x' can be had from editor.freeze() alone",
    ]


def calls_of(name: str) -> list[ast.Call]:
    """The calls of a function in the package."""
    nodes = (
        node
        for file in PACKAGE.rglob("*.py")
        if f"{name}(" in file.read_text(encoding="utf-8")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call)
    )
    return [node for node in nodes if isinstance(node.func, ast.Name) and node.func.id == name]


def constants(call: ast.Call) -> list[str]:
    """The texts among the arguments of a call."""
    return [
        node.value
        for node in call.args
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_each_field_has_words_for_the_page() -> None:
    methods = {constants(call)[0] for call in calls_of("editor_call")}
    assert len(methods) > 10
    assert all(control(method) and has_method(method) for method in methods)
    options = [constants(call) for call in calls_of("clone_with")]
    assert {option for option, *_ in options} == set(CLONE_FIELDS)
    assert all(value in CLONE_CHOICES for _, *values in options for value in values)
    pages = [text_of(call.args[1]) for call in calls_of("either") if len(call.args) > 1]
    assert len(pages) > 30
    assert not [text for text in pages if PYTHON.search(text)]


def test_the_page_has_the_controls_that_refusals_name() -> None:
    source = "".join(file.read_text() for file in PAGE.rglob("*.ts"))
    labels = [name.removesuffix(" …") for name in CONTROLS.values() if name[0].isupper()]
    assert not [label for label in labels if f'"{label}' not in source]
    assert control("bypass") == "Bypass"
    assert control("summary") == ""
    assert all(has_method(method) for method in CONTROLS)


# Notices


def test_a_sentence_anywhere_in_a_reply_is_written_in_the_words_of_the_page() -> None:
    python = "No session is there; " + OPEN_WITH_SESSION + "."
    said = "No session is there; open the graph with its session in a cell."
    assert python == "No session is there; give tgw.edit(graph, session=session)."
    assert reply_on_page(
        p.RewireTargets("x:0", (), "y", (("z", python),), (p.Slot("x:0", python),))
    ) == (p.RewireTargets("x:0", (), "y", (("z", said),), (p.Slot("x:0", said),)))
    plain = p.ScriptReply(str(python))
    assert reply_on_page(plain) is plain


def test_what_a_page_says_of_a_file_speaks_no_python(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    path = tmp_path / "train.meta"
    with v1.Session(graph=editor.graph) as session, editor.graph.as_default():
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(tmp_path / "train"))
    opened = tgw.edit(path)
    assert "checkpoint='" in opened.source.notices[0]
    reply = answer(RequestHandler(opened), p.Open())
    assert isinstance(reply, p.SceneReply)
    assert "Open checkpoint in the tab Model" in reply.state.warnings[0]
    assert not [
        text for text in (*reply.state.warnings, reply.state.editable) if PYTHON.search(text)
    ]
    restored = answer(RequestHandler(opened), p.Restore(str(tmp_path / "train")))
    assert isinstance(restored, p.SceneReply)
    assert restored.state.warnings == ()
    opened = tgw.edit(path)
    exporter = Exporter(opened)
    assert not [kind.refused for kind in exporter.formats() if PYTHON.search(kind.refused)]
    # What is said of what was saved: the signature is one that the graph seems to be for.
    about = Exporter(editor, path).save("frozen", "frozen").about
    assert not PYTHON.search(about), about


@pytest.mark.parametrize("name", KINDS)
def test_what_lint_says_of_a_broken_graph_speaks_no_python(name: str, tmp_path: Path) -> None:
    opened = tgw.edit(broken_file(KINDS[name], tmp_path))
    reply = answer(RequestHandler(opened), p.Lint())
    assert isinstance(reply, p.LintReply)
    assert any(PYTHON.search(finding.sentence) for finding in opened.lint())
    assert not [finding.sentence for finding in reply.findings if PYTHON.search(finding.sentence)]


def test_no_sentence_that_the_page_has_itself_speaks_python() -> None:
    files = [file for file in PAGE.rglob("*.ts") if "protocol" not in file.parts]
    quoted = [text for file in files for text in re.findall(r'"([^"\n]*)"', file.read_text())]
    sentences = [text for text in quoted if re.match(r"[A-Z].* .*\.$", text)]
    assert len(sentences) > 50
    assert not [text for text in sentences if re.search(r"\b(editor|tgw)\.\w", text)]


def test_a_sentence_keeps_its_fields_when_it_becomes_a_part_of_another_one() -> None:
    clone = "Variable 'w' has no value; " + clone_with("init", "initial", "none") + "."
    assert clone == 'Variable \'w\' has no value; clone with init="initial" or init="none".'
    assert (
        on_page(clone)
        == "Variable 'w' has no value; choose 'initial values' or 'uninitialized' under Values."
    )
    joined = "Not run: " + clone.clause + ", or " + editor_call("view.leave", "0") + "."
    for copied in (joined, copy.deepcopy(joined), pickle.loads(pickle.dumps(joined))):
        assert (
            copied == "Not run: Variable 'w' has no value; "
            'clone with init="initial" or init="none", or editor.view.leave(0).'
        )
        assert on_page(copied).endswith("or leave the function in the path above the drawing.")
    assert (
        on_page(clone.partition("; ")[2])
        == "choose 'initial values' or 'uninitialized' under Values."
    )
    both = Sentence(" and ").join(["one", in_cell("k=2"), either("tf.cast", "cast")])
    assert (both, on_page(both)) == (
        "one and k=2 and tf.cast",
        "one and a cell of the notebook can do it and cast",
    )


def test_a_refusal_keeps_its_fields_and_a_long_one_its_way_out() -> None:
    error = GraphEditError(f"{'x' * 20_000!r} has no value; " + in_cell("give feeds={…}."), ["x"])
    assert len(error.why) < 2_100
    assert str(error).endswith("; give feeds={…}.")
    sent = pickle.loads(pickle.dumps(error))
    assert on_page(sent.sentence).endswith("; a cell of the notebook can do it.")


# As data


def subclasses(kind: type) -> set[type]:
    """All classes that extend one."""
    return {kind, *(each for child in kind.__subclasses__() for each in subclasses(child))}


def test_every_class_of_errors_has_a_code_of_its_own() -> None:
    errors = [
        kind
        for kind in subclasses(GraphEditError)
        if kind.__module__.startswith("tfgraphwidget.errors")
    ]
    codes = {kind.code for kind in errors}
    assert len(codes) == len(errors) > 10
    assert {"refused", "invalid-argument", "name-taken", "unknown-name"} <= codes
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in codes)


def test_a_refusal_is_data_of_which_each_fix_can_be_replayed(editor: tgw.GraphEditor) -> None:
    with pytest.raises(GraphEditError) as info:
        editor.bypass("sum")
    row = json.loads(json.dumps(info.value.row()))
    assert (row["code"], row["ops"]) == ("several-inputs-fit", ["sum", "x", "square"])
    assert "editor." not in row["sentence"]
    assert [fix["label"] for fix in row["fixes"]] == ["Read x:0", "Read square:0"]
    assert editor.history.lines == ()
    editor.history.replay([row["fixes"][0]["edit"]])
    assert editor.history.lines == (row["fixes"][0]["python"],)


def test_a_refusal_has_the_code_of_its_case_of_its_class_or_of_its_edit(
    editor: tgw.GraphEditor,
) -> None:
    def code_of(call: Callable[[], object]) -> str:
        with pytest.raises(GraphEditError) as info:
            call()
        return info.value.code

    assert code_of(lambda: editor.bypass("nowhere")) == "unknown-name"
    assert code_of(lambda: editor.insert("x:0", "Elu", name="sum")) == "name-taken"
    assert code_of(lambda: editor.replace("sum", "y")) == "replace-refused"


def test_a_fix_with_a_python_function_has_no_json() -> None:
    row = Insert("x:0", len, name="size").row()
    assert row["edit"] is None
    assert row["python"].startswith("editor.insert(")
