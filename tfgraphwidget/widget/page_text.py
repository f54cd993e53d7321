r"""Sentences as a page says them: the controls that do what Python would write.

The fields of a `Sentence` are what differs. What a method or an option of clone is called on the
page stands here; `tests/widget/test_refusals.py` reads all refusals of the package: none has Python
in it outside of its fields, and all controls that one names are there.

>>> from tfgraphwidget.sentences import clone_with, editor_call, in_cell
>>> on_page("Variable 'w' has no value; " + clone_with("init", "initial", "none") + ".")
"Variable 'w' has no value; choose 'initial values' or 'uninitialized' under Values."
>>> on_page(
...     "'f' is a result of the function; let another op give it first: "
...     + editor_call("replace")
...     + "."
... )
"'f' is a result of the function; let another op give it first: Replace."
>>> on_page("The name is a pattern; " + in_cell("write editor.ops(where=lambda op: …)."))
'The name is a pattern; a cell of the notebook can do it.'
>>> on_page("'x' is not an op.")
"'x' is not an op."
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, TypeVar

from tfgraphwidget.sentences import CloneOption, EditorCall, Field, Sentence
from tfgraphwidget.widget.edit_buttons import BUTTONS

_Reply = TypeVar("_Reply")

# What holds no sentence; there may be 100,000 names in a reply.
_PLAIN = frozenset({str, int, float, bool, type(None)})

CONTROLS = {
    "add": "Add a model …",
    "clone": "Clone",
    "view.color_by": "Color by",
    "compare": "Compare with …",
    "connect": "drag from the dot below an op",
    "detach": "Detach",
    "history.records": "Export",
    "find": "the search",
    "view.leave": "leave the function in the path above the drawing",
    "measure": "Measure time",
    "probe": "Values",
    "reroute": "drag from the dot below an op",
    "save": "Export",
    "table": "the tab Costs",
}
"""The control of a method; that of an edit with a button is in its registration, see `control`."""
_COMMANDS = {
    "passes.set_input": "set_input",
    "signatures.add": "add_signature",
    "signatures.remove": "remove_signature",
}
"""The name of a command whose method has another name."""
CLONE_FIELDS = {"init": "Values", "variables": "Variables"}
"""The field of the form of Clone for an option."""
CLONE_CHOICES = {
    "current": "current values",
    "initial": "initial values",
    "none": "uninitialized",
    "own": "own copies",
    "shared": "shared with original",
}
"""What the form of Clone calls the values of its options."""


def on_page(sentence: str) -> str:
    """A sentence in the words of the page; a text without fields stays as it is."""
    return sentence.render(_words) if isinstance(sentence, Sentence) else sentence


def _words(field: Field) -> str:
    match field:
        case EditorCall(method):
            return control(method)
        case CloneOption(option, values):
            choices = " or ".join(repr(CLONE_CHOICES[value]) for value in values)
            return f"choose {choices} under {CLONE_FIELDS[option]}"
    return field.page


def reply_on_page(reply: _Reply) -> _Reply:
    """A reply, or a part of one, whose sentences are in the words of the page."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(reply):  # type: ignore[arg-type]
        value = getattr(reply, field.name)
        new = _value_on_page(value)
        if new is not value:
            changed[field.name] = new
    return dataclasses.replace(reply, **changed) if changed else reply  # type: ignore[type-var]


def _value_on_page(value: Any) -> Any:
    """A value of a reply; the same object where no sentence is in it."""
    if isinstance(value, Sentence):
        return on_page(value)
    if isinstance(value, tuple) and not _PLAIN.issuperset(map(type, value)):
        new = tuple(map(_value_on_page, value))
        return value if all(map(operator.is_, new, value)) else new
    return reply_on_page(value) if dataclasses.is_dataclass(value) else value


def control(method: str) -> str:
    """What the page's control says that does what an editor's method does; "" without one."""
    button = BUTTONS.get(_COMMANDS.get(method, method))
    return button.name if button else CONTROLS.get(method, "")
