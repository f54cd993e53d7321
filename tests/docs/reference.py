"""The pages of docs/reference/ that are written from the code: `python -m tests.docs.reference`
writes them.
"""

from __future__ import annotations

import inspect
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import dedent
from unittest.mock import patch

import tfgraphwidget as tgw
from tests.editor.public_names import NOUNS, public_members
from tfgraphwidget import errors
from tfgraphwidget.cli import main
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.lint.linter import load_rules
from tfgraphwidget.lint.rule import RULES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@dataclass(frozen=True)
class Group:
    """A page of the reference: its file, its title, and the classes whose members it has; none for
    the functions of the package.
    """

    file: str
    title: str
    classes: tuple[str, ...] = ()


GROUPS = (
    Group("package.md", "Functions of the package"),
    Group("selecting.md", "Select and search", ("SelectionAPI", "PatternAPI")),
    Group("editing.md", "Clone and edit", ("EditMethods",)),
    Group("passes.md", "Passes over the whole graph", ("Passes",)),
    Group("undoing.md", "Apply, undo and redo", ("EditAPI",)),
    Group("history.md", "The history", ("EditHistory",)),
    Group("running.md", "Run, measure, compare", ("AnalysisAPI",)),
    Group("saving.md", "Save, replay, export", ("FileAPI",)),
    Group("signatures.md", "Signatures", ("Signatures",)),
    Group("drawing.md", "The drawing", ("View",)),
)
FUNCTIONS = ("edit", "example", "sync", "drift", "renew", "pattern", "layered")
SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Example):\n", re.MULTILINE)


def sentence(thing: object) -> str:
    """The first sentence of a docstring, as a cell of a table."""
    text = re.sub(r"\s+", " ", (inspect.getdoc(thing) or "").split("\n\n")[0])
    return text.replace("|", r"\|")


def methods() -> str:
    """All methods by what they are for, with the first sentence of each docstring."""
    lines = [
        "# Methods by task",
        "",
        "`tgw.edit(…)` makes an editor; these are its methods and properties, each with a link to",
        "its arguments, results, errors and an example. Shift-Tab in a notebook and",
        "`help(editor.clone)` show the same. [What works on which source](../verbs.md).",
    ]
    for group in GROUPS:
        lines += ["", f"## {group.title}", "", "| | |", "|---|---|"]
        lines += [
            f"| [`{name}`]({group.file}#{anchor_of(name)}) | {sentence(member)} |"
            for name, member in members_of(group)
        ]
    return "\n".join(lines) + "\n"


def anchor_of(heading: str) -> str:
    """The anchor that MkDocs gives a heading.

    >>> anchor_of("passes.fold_constants")
    'passesfold_constants'
    """
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


def members_of(group: Group) -> list[tuple[str, object]]:
    """The members of a page with their dotted names, in order; of the package its functions."""
    if not group.classes:
        return [(f"tgw.{name}", getattr(tgw, name)) for name in FUNCTIONS]
    everything = public_members()
    owners = [("", kind) for kind in GraphEditor.__bases__] + [
        (f"{noun}.", kind) for noun, kind in NOUNS.items()
    ]
    found = []
    for prefix, kind in owners:
        if kind.__name__ in group.classes:
            names = {
                name
                for base in kind.__mro__
                if base.__module__.startswith("tfgraphwidget.editor.")
                for name in vars(base)
            }
            found += sorted(prefix + name for name in names if prefix + name in everything)
    return [(name, everything[name]) for name in found]


def sections_of(thing: object) -> dict[str, str]:
    """A docstring by its sections, each without its indentation; "" has what comes before them.

    >>> def add(x, y=1):
    ...     '''Add numbers.
    ...
    ...     Returns:
    ...         The sum.
    ...     '''
    >>> sections_of(add)
    {'': 'Add numbers.', 'Returns': 'The sum.'}
    """
    start, *rest = SECTION.split(f"{inspect.getdoc(thing) or ''}\n")
    sections = {
        name: dedent(text).strip() for name, text in zip(rest[::2], rest[1::2], strict=True)
    }
    about, prompt, example = start.partition("\n\n>>> ")  # an example without a heading
    if prompt:
        sections["Example"] = f">>> {example.strip()}"
    return {"": about.strip(), **sections}


def signature_of(name: str, member: object) -> str:
    """How a method is called, without types and `self`; the name alone of a property."""
    called = name if name.startswith("tgw.") else f"editor.{name}"
    if not callable(member):
        return called
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for key, parameter in inspect.signature(member).parameters.items()
        if key != "self"
    ]
    signature = str(inspect.Signature(parameters)).replace("(/, ", "(")
    line = f"{called}{signature}"
    if len(line) <= 88:
        return line
    inside = signature[1:-1].split(", ")
    return "\n".join([f"{called}(", *(f"    {each}," for each in inside), ")"])


def entries_of(section: str) -> dict[str, str]:
    """The entries of a section "name: text", lists in them as lines of a cell.

    >>> entries_of("x: One | of\\n    two.\\ny: The other.")
    {'x': 'One \\\\| of two.', 'y': 'The other.'}
    """
    found = re.findall(r"^\*{0,2}(\w+): (.*\n(?: {4}.*\n|\n)*)", f"{section}\n", re.MULTILINE)
    return {name: _cell(text) for name, text in found}


def _cell(text: str) -> str:
    lines = re.sub(r"\n+ +\* ", "<br>• ", text)
    return re.sub(r"\s+", " ", lines).strip().replace("|", r"\|")


def page_of(group: Group) -> str:
    """A page of the reference: how each member is called, what it takes, returns and raises, and an
    example.
    """
    lines = [f"# {group.title}"]
    for name, member in members_of(group):
        sections = sections_of(member)
        lines += ["", f"## {name}", "", sections[""], ""]
        lines += ["```py", signature_of(name, member), "```"]
        if entries := entries_of(sections.get("Args", "")):
            lines += ["", "| argument | |", "|---|---|"]
            lines += [f"| `{key}` | {text} |" for key, text in entries.items()]
        if "Returns" in sections:
            lines += ["", f"**Returns** {_cell(sections['Returns'])}"]
        if entries := entries_of(sections.get("Raises", "")):
            lines += ["", "**Raises**", ""]
            lines += [f"* `{key}`: {text}" for key, text in entries.items()]
        if "Example" in sections:
            lines += ["", "```pycon", sections["Example"], "```"]
    return "\n".join(lines) + "\n"


def lint_rules() -> str:
    """The rules of `lint`, by code."""
    load_rules()
    rules = sorted(RULES.values(), key=lambda each: each.code)
    lines = [
        "# Rules of lint",
        "",
        '`editor.lint(only=["float64"])` and `never=["asserts"]`, or `--only` and `--never`,',
        "choose rules by their codes. An error is what TensorFlow or the target refuses, a warning",
        "what costs time, memory or freedom. [How to use them](../how-to/lint.md).",
        "",
        "| code | | finds |",
        "|---|---|---|",
        *(f"| `{each.code}` | {each.severity} | {_cell(each.about)} |" for each in rules),
    ]
    return "\n".join(lines) + "\n"


def help_of(*command: str) -> str:
    """What `tfgraphwidget COMMAND --help` prints in a terminal of 80 columns."""
    printed = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": "80"}), redirect_stdout(printed), suppress(SystemExit):
        main([*command, "--help"])
    return printed.getvalue().strip()


def commands() -> Iterator[str]:
    """The names of the commands, in their order."""
    yield from re.findall(
        r"^    ([a-z][a-z-]*)(?:  |\n)", help_of().partition("COMMAND\n")[2], re.MULTILINE
    )


def command_line() -> str:
    """Every command with its options, and the exit codes."""
    lines = ["# Command line", "", "```", help_of(), "```"]
    for command in commands():
        lines += ["", f"## {command}", "", "```", help_of(command), "```"]
    return "\n".join(lines) + "\n"


def error_classes() -> str:
    """The exceptions."""
    lines = [
        "# Errors",
        "",
        (
            "Every refusal is a `tgw.GraphEditError`: one sentence that names the object, the "
            "problem and the fix."
        ),
        (
            "Nothing has changed then. `error.ops` are the ops that it is about, `error.fixes` "
            "edits that would do"
        ),
        "instead.",
        "",
        "| class | raised for |",
        "|---|---|",
    ]
    classes = [
        thing
        for thing in vars(errors).values()
        if inspect.isclass(thing) and issubclass(thing, Exception)
    ]
    lines += [
        f"| `{one.__name__}` | {sentence(one)} |"
        for one in classes
        if one.__module__ == errors.__name__
    ]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "methods.md": methods,
    **{group.file: partial(page_of, group) for group in GROUPS},
    "rules.md": lint_rules,
    "command-line.md": command_line,
    "errors.md": error_classes,
}

if __name__ == "__main__":
    for file, write in PAGES.items():
        (REFERENCE / file).write_text(write(), encoding="utf-8")
