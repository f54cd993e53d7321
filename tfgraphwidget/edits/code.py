"""Python that does what a history did: one line for each edit, or a script that needs nothing else."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfgraphwidget.edits.command import Wording, arguments, literal
from tfgraphwidget.edits.quoted import Arrays, Quoted, array_text, quoted, stands_alone, to_give
from tfgraphwidget.graph.part import Part
from tfgraphwidget.graph.spoken import call
from tfgraphwidget.names import identifier

if TYPE_CHECKING:
    from tfgraphwidget.edits.history import Step

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TAKEN = frozenset({"tf", "tgw", "np", "io", "base64", "values", "graph", "session"})


def line(command: Any, wording: Wording | None = None, *, renewed: bool = True) -> str:
    """One call of the editor, for example `copy = editor.clone(inputs=["x:0"], outputs=["y:0"], into="copy")`."""
    command = command.spoken() if hasattr(command, "spoken") else command
    options = filter(None, [arguments(command, wording), "" if renewed else 'renew="never"'])
    text = f"editor.{_WORD.sub('_', type(command).__name__).lower()}({', '.join(options)})"
    made, where = result(command), getattr(command, "where", "")
    return (f"{made} = {text}" if made else text) + (f"  # in {where}" if where else "")


def lines(commands: Iterable[Any]) -> tuple[str, ...]:
    """One line per command, oldest first."""
    return tuple(line(command) for command in commands)


def result(command: Any) -> str:
    """The name that a line gives to what its edit makes; "" for an edit that makes nothing with a name."""
    into = getattr(command, "into", "")
    name = identifier(into) if into else ""
    return f"{name}_" if name in _TAKEN or hasattr(builtins, name) else name


@dataclass(frozen=True)
class Script:
    """A Python script, and the arrays that it reads from a file beside it: those over 1 MB."""

    text: str
    arrays: Arrays


def script(opened: str, path: tuple[str, ...], steps: Sequence[Step], file: str = "values.npz") -> Script:
    """The script that opens what was opened, by the expression `opened`, and does the steps.

    `path` are the rooms one stands in when it is open. `file` is what the script calls the file of its arrays.
    """
    writing = _Writing(file)
    writing.define("tgw", "import tfgraphwidget as tgw")
    body = [*f"editor = {opened}".splitlines(), ""]
    imported, reserved = False, set[str]()
    for step in steps:
        body += _moves(path, step.path)
        path = step.path
        if step.imported and not imported:
            body.append("editor.graph  # TensorFlow holds the graph from here on, and cannot change all of it in place")
        if more := [name for name in step.reserved if name not in reserved]:
            body.append(f"editor.reserve({literal(more)})")
        imported, reserved = imported or step.imported, reserved | set(more)
        changed = bool(step.patch.changed)
        told = line(step.command, writing, renewed=step.renewed or not changed)
        body += [*writing.before(), told]
        writing.forget(result(step.command))
    head = sorted(writing.imports(body), key=lambda text: (text.startswith("from"), text))
    return Script("\n".join([*head, "", *body]).rstrip() + "\n", writing.arrays)


def _moves(here: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
    """The lines that lead from one room to another, by the titles of those on the way."""
    shared = sum(1 for k in range(1, min(len(here), len(there)) + 1) if here[:k] == there[:k])
    moves = [f"editor.leave({shared - 1})"] if shared < len(here) else []
    for title in there[shared:]:
        op, _, label = title.partition(":")
        moves.append(f"editor.enter({literal(op)}, {literal(label)})" if label else f"editor.enter({literal(op)})")
    return moves


class _Writing(Wording):
    """Names in a script: each is defined before the line that has it, and again when it means something else."""

    def __init__(self, file: str) -> None:
        self.arrays: Arrays = {}
        self._file = file
        self._defined: dict[str, str] = {}
        self._before: list[str] = []
        self._imports: dict[str, str] = {}

    def define(self, name: str, statement: str) -> None:
        """Have a statement that defines a name come first."""
        if self._defined.get(name) == statement:
            return
        known, self._defined[name] = name in self._defined, statement
        if statement.startswith(("import ", "from ")) and not known:
            self._imports[name] = statement
        else:
            lines = statement.splitlines()
            self._before += ["", *lines, ""] if lines[0].startswith(("def ", "@")) else lines

    def before(self) -> list[str]:
        """What is to come before the next line."""
        before, self._before = self._before, []
        return before

    def forget(self, name: str) -> None:
        """A line has given the name another meaning."""
        self._defined[name] = ""

    def imports(self, body: Iterable[str]) -> list[str]:
        """The imports of a script."""
        if any(re.search(r"\btf\.", text) for text in body):
            self.define("tf", "import tensorflow as tf")
        if any("base64." in text for text in body):
            self.define("base64", "import base64")
        return list(self._imports.values())

    def _said(self, said: Quoted) -> str:
        for name, statement in said.needs.items():
            self.define(name, statement)
        return said.text

    def function(self, function: Any) -> str:
        """The function's name, or the lambda itself; its source comes before."""
        return self._said(quoted(function, super().function(function), self.arrays, self._file))

    def array(self, array: Any, called: str) -> str:
        """The entry of `values` that the script makes before."""
        key = literal(called)
        if "values" not in self._defined:
            self.define("values", "values = {}")
        beside = len(self.arrays)
        text = self._said(array_text(array, called, self.arrays, self._file))
        note = f"  # editor.save writes {self._file} beside the script" if len(self.arrays) > beside else ""
        self.define(f"values {key}", f"values[{key}] = {text}{note}")
        return f"values[{key}]"

    def given(self, thing: Any, called: str) -> str:
        """The name, after a line that says what to give."""
        self.define(called, to_give(called, f"the {type(thing).__name__}"))
        return called

    def selection(self, part: Part) -> str:
        """The expression, or the names of the ops where that needs something that the script lacks."""
        text = super().selection(part)
        return text if stands_alone(text, {"editor"}) else call("ops", [*part.ops, *part.tensors])
