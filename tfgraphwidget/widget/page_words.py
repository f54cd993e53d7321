r"""Refusals and notices as a page says them: the controls that do what Python would write.

A refusal is written once, for Python. `_WORDS`, `_CHOICES` and `CONTROLS` have its ways out in the words of the page;
what the page has no control for is left to a cell. `tests/widget/test_refusals.py` reads all refusals of the package:
none reaches the page with Python in it, and all controls that one names are there. Each reply goes through
`reply_in_page_words`: what a field of type `Prose` says is written in the words of the page.

>>> in_page_words('Variable \'w\' has no value; clone with init="initial" or init="none".')
"Variable 'w' has no value; choose 'initial values' or 'uninitialized' under Values."
>>> in_page_words("'f' is a result of the function; let another op give it first: editor.replace.")
"'f' is a result of the function; let another op give it first: Replace."
>>> in_page_words("There is no session to run it in; give tgw.edit(graph, session=session).")
'There is no session to run it in; open the graph with its session in a cell.'
>>> in_page_words("The name is a pattern; write editor.where(lambda op: …).")
'The name is a pattern; a cell of the notebook can do it.'
>>> in_page_words("'x:0' is float32 (None, 28, 1), and 'y:0' float32 ().")
"'x:0' is float32 ?×28×1, and 'y:0' float32 scalar."
>>> in_page_words("This pattern cannot be read: expected an op.\n    Relu(b=x)\n         ^")
'This pattern cannot be read: expected an op.\n    Relu(b=x)\n         ^'
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tfgraphwidget.edits import registry
from tfgraphwidget.naming import HOW_TO_TRUST
from tfgraphwidget.widget.protocol.replies import Prose

_Reply = TypeVar("_Reply")

_CALL = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
PYTHON = re.compile(
    r"`|\beditor\.\w|\btgw\.\w|(?<!['\"/])\btf\.(?:\w+\.)*[a-z]\w*\b(?![.\w])"
    r"|(?<![\w:./\[-])[a-z_]{1,24}=(?=[\w'\"{\[(…,;. ]|$)"
)
"""What only makes sense in a cell: an editor's method, a function of a module, an argument by its name."""

_SHAPE = re.compile(r"(?<![\w'\"])\(((?:None|\d+)(?:, (?:None|\d+))+|(?:None|\d+),)\)")
_SCALAR = re.compile(r"\b(bool|string|resource|variant|half|(?:u?int|float|bfloat|complex|double)\d*) \(\)")

_CHOICES = {
    "current": "'current values'",
    "initial": "'initial values'",
    "none": "'uninitialized'",
    "own": "'own copies'",
    "shared": "'shared with original'",
}
_FIELDS = {"init": "Values", "variables": "Variables"}
_CHOICE = re.compile(
    r"""(clone with |use |or )?\b(init|variables)=["'](\w+)["'](?! is not| cannot be)(?: or \2=["'](\w+)["'])?"""
)
CONTROLS = {
    "add": "Add a model …",
    "clone": "Clone",
    "color_by": "Color by",
    "compare": "Compare with …",
    "connect": "drag from the dot below an op",
    "cost": "the tab Costs",
    "detach": "Detach",
    "edits": "Export",
    "find": "the search",
    "leave": "leave the function in the path above the drawing",
    "measure": "Measure time",
    "probe": "Values",
    "reroute": "drag from the dot below an op",
    "save": "Export",
}
"""The control of a method; that of an edit with a button is in its registration, see `control`."""
_WORDS = (
    (re.escape(HOW_TO_TRUST), "if you trust it, turn on 'Trust this file'"),
    (
        r"editor\.open_signature\('[^']*'\) shows what that one computes, and signature='[^']*' opens it there",
        "'Check the graph' in the tab Op lists them, and 'Open' shows what one computes",
    ),
    (r"; checkpoint='[^']*' gives them", "; open it with its checkpoint in a cell"),
    (r"; choose a boundary, or give inputs= and outputs=, for another", "; mark an input and an output for another"),
    (r"^(?:checkpoint|session|signature|feeds)=(?:'[^']*'|[^\s:]+): (\w)", lambda match: match[1].upper()),
    (r" \(editor\.(?:\([^()]*\)|[^()])*\)", ""),
    (r"give tgw\.edit\(graph, session=session\)", "open the graph with its session in a cell"),
    (r"give replace=\{[^}]*\}(?:, or placeholders=True)?|placeholders=True", "choose 'New placeholders for inputs'"),
    (rf"(?:; |, |: )?\b(?:such as|or|call|write)? ?\beditor\.(?:edit|refresh){_CALL}", "; refresh the graph"),
    (r"open a new one and call tgw\.edit\(graph, session=new_session\)", "open the graph with a new one in a cell"),
    (r"open it with its checkpoint: tgw\.edit\(path, checkpoint='[^']*'\)", "open it with its checkpoint in a cell"),
    (r", save\(path, inputs, outputs\)", ""),
    (r"\btf\.(cast|reshape) it\b", r"\1 it"),
    (r"editor\.(?:function|module)\(\) is the edited (?:one|function|model)", "Export saves the edited one"),
    (r"\b(?:call|write) editor\.measure\b", "use editor.measure"),
    (r"leave (\w+)=\S* out\b|leave it out of (\w+)=", r"leave \1\2 empty"),
    (r"\bby k=", "by its number"),
    (r"tgw\.renew\(session\) lets it follow", "renew the session in a cell to let it follow"),
    (
        rf"open the session with tf\.compat\.v1\.ConfigProto{_CALL} to run (\w+)",
        r"open the session with soft placement in a cell to run \1",
    ),
    (
        rf"without devices to run (\w+): tf\.compat\.v1\.train\.import_meta_graph{_CALL}",
        r"without devices in a cell to run \1",
    ),
    (r"give \w+ values? too: feeds=\{[^}]*\}", "give it a value"),
)
"""What to write in place of what."""


def reply_in_page_words(reply: _Reply) -> _Reply:
    """A reply whose sentences, the fields of type `Prose`, have no Python in them.

    Args:
        reply: The reply, or a part of one.
    """
    kind: Any = type(reply)
    parts = {name: getattr(reply, name) for name in _prose_fields(kind)}
    words = {name: _words_of(parts[name], hint) for name, hint in _prose_fields(kind).items()}
    return dataclasses.replace(reply, **words) if words != parts else reply  # type: ignore[type-var]


def _words_of(value: Any, hint: Any) -> Any:
    if hint == Prose:
        return in_page_words(value)
    if dataclasses.is_dataclass(value):
        return reply_in_page_words(value)
    if isinstance(value, tuple):
        kinds = get_args(hint)
        each = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
        return tuple(_words_of(item, kind) for item, kind in zip(value, each, strict=True))
    return value


@functools.cache
def _prose_fields(kind: Any) -> dict[str, Any]:
    """The fields of a reply that are prose or have some in them."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hint for name, hint in hints.items() if _has_prose(hint)}


def _has_prose(hint: Any) -> bool:
    is_part: bool = dataclasses.is_dataclass(hint)
    if hint == Prose or is_part:
        return hint == Prose or bool(_prose_fields(hint))
    return get_origin(hint) is not None and any(map(_has_prose, get_args(hint)))


def in_page_words(why: str) -> str:
    """A sentence of a refusal or a notice without Python.

    Args:
        why: The sentence: what cannot be, and what to do.

    Returns:
        The sentence with the names of controls; what has none is to be done in a cell. What stands below it, a line of
        the text that cannot be read and a caret, stays.
    """
    sentence, newline, excerpt = why.partition("\n")
    return _sentence_in_page_words(sentence) + newline + excerpt


def _sentence_in_page_words(why: str) -> str:
    why = _SHAPE.sub(_drawn_shape, _SCALAR.sub(r"\1 scalar", why))
    for pattern, words in _WORDS:
        why = re.sub(pattern, words, why)
    why = _CHOICE.sub(_choice, why)
    why = re.sub(rf"\beditor\.(\w+)(?:{_CALL})?", lambda match: control(match[1]) or match[0], why)
    why = re.sub(r"^(\w+)=(?=\S+ (?:is|names|are|cannot)\b)", r"\1 ", why)
    if not PYTHON.search(why):
        return why
    # A way out of which nothing else is known to the page.
    clauses = [clause for clause in re.split(r"(?<=;) ", why.rstrip(".")) if not PYTHON.search(clause)]
    sentence = " ".join(clauses).rstrip(";")
    return (
        f"{sentence}; a cell of the notebook can do it."
        if sentence
        else "This can be done in a cell of the notebook only."
    )


def _drawn_shape(match: re.Match[str]) -> str:
    """A shape as the drawing writes it."""
    sizes = (size for size in re.split(", ?", match[1]) if size)
    return "×".join("?" if size == "None" else size for size in sizes)


def _choice(match: re.Match[str]) -> str:
    options = " or ".join(_CHOICES.get(each, repr(each)) for each in match.groups()[2:] if each)
    way = "or " if match[1] == "or " else ""
    return f"{way}choose {options} under {_FIELDS[match[2]]}" if match[1] else options


def control(verb: str) -> str:
    """The control of the page that does what a method of the editor does; "" if it has none.

    Args:
        verb: The name of the method.

    Returns:
        What the control says.
    """
    registered = registry.registration_of(verb)
    button = registered.button if registered is not None else None
    return button.name if button else CONTROLS.get(verb, "")
