"""The pages of docs/reference/ that are written from the code: `python -m tests.docs.reference`
writes them.
"""

from __future__ import annotations

import inspect
import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

import tfgraphwidget as tgw
from tests.editor.public_names import NOUNS, public_members
from tfgraphwidget import errors
from tfgraphwidget.cli import main
from tfgraphwidget.editor import GraphEditor

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TITLES = {
    "SelectionAPI": "Select and search",
    "EditMethods": "Clone and edit",
    "EditAPI": "Apply, undo and redo",
    "PatternAPI": "Patterns",
    "AnalysisAPI": "Run, measure, compare",
    "FileAPI": "Save, replay, export",
    "View": "The drawing",
    "Passes": "Passes over the whole graph",
    "Signatures": "Signatures",
    "EditHistory": "The history",
}
FUNCTIONS = ("edit", "example", "sync", "drift", "renew", "pattern", "layered")


def sentence(thing: object) -> str:
    """The first sentence of a docstring, as a cell of a table."""
    text = re.sub(r"\s+", " ", (inspect.getdoc(thing) or "").split("\n\n")[0])
    return text.replace("|", r"\|")


def methods() -> str:
    """All methods by what they are for, with the first sentence of each docstring."""
    lines = [
        "# Methods by task",
        "",
        (
            "`tgw.edit(…)` makes an editor; these are its methods and properties. "
            "[Arguments](arguments.md) has the"
        ),
        (
            "options of each; Shift-Tab in a notebook, `help(editor.clone)` and `make reference` "
            "show the rest."
        ),
        "[What works on which source](../verbs.md).",
        "",
        "| function of the package | |",
        "|---|---|",
        *(f"| `tgw.{name}` | {sentence(getattr(tgw, name))} |" for name in FUNCTIONS),
    ]
    for title, members in by_task():
        lines += ["", f"## {title}", "", "| | |", "|---|---|"]
        lines += [f"| `{name}` | {sentence(member)} |" for name, member in members]
    return "\n".join(lines) + "\n"


def by_task() -> Iterator[tuple[str, list[tuple[str, object]]]]:
    """What the editor's methods and properties are for, with their names in order."""
    everything = public_members()
    groups = [("", kind) for kind in GraphEditor.__bases__] + [
        (f"{noun}.", kind) for noun, kind in NOUNS.items()
    ]
    for prefix, kind in groups:
        ours = {
            name
            for base in kind.__mro__
            if base.__module__.startswith("tfgraphwidget.editor.")
            for name in vars(base)
        }
        names = sorted(prefix + name for name in ours if prefix + name in everything)
        if kind.__name__ in TITLES and names:
            yield TITLES[kind.__name__], [(name, everything[name]) for name in names]


def arguments_of(thing: object) -> dict[str, str]:
    """What a docstring says of each argument, lists in it as lines of a cell.

    >>> def add(x, y=1):
    ...     '''Add numbers.
    ...
    ...     Args:
    ...         x: One | of
    ...             two.
    ...         y: The other.
    ...
    ...     Returns:
    ...         The sum.
    ...     '''
    >>> arguments_of(add)
    {'x': 'One \\\\| of two.', 'y': 'The other.'}
    """
    section = re.search(
        r"^Args:\n((?:    .*\n|\n)+)", f"{inspect.getdoc(thing) or ''}\n", re.MULTILINE
    )
    found = re.findall(
        r"^    \*{0,2}(\w+): (.*\n(?: {8}.*\n|\n)*)", section[1] if section else "", re.MULTILINE
    )
    return {name: _cell(text) for name, text in found}


def _cell(text: str) -> str:
    lines = re.sub(r"\n+ +\* ", "<br>• ", text)
    return re.sub(r"\s+", " ", lines).strip().replace("|", r"\|")


def arguments() -> str:
    """The arguments of all functions and methods, by what they are for."""
    lines = [
        "# Arguments of all methods",
        "",
        "By task, as in [methods](methods.md), which has those too that take none.",
    ]
    functions: list[tuple[str, object]] = [
        (f"tgw.{name}", getattr(tgw, name)) for name in FUNCTIONS
    ]
    for title, members in (("Functions of the package", functions), *by_task()):
        lines += ["", f"## {title}"]
        for name, member in members:
            texts = arguments_of(member)
            if not callable(member) or not texts:
                continue
            defaults = {
                key: each.default for key, each in inspect.signature(member).parameters.items()
            }
            lines += [
                "",
                f"### {name}",
                "",
                sentence(member),
                "",
                "| argument | default | |",
                "|---|---|---|",
            ]
            for key, text in texts.items():
                default = defaults.get(key, inspect.Parameter.empty)
                shown = "" if default is inspect.Parameter.empty else f"`{default!r}`"
                lines.append(f"| `{key}` | {shown} | {text} |")
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


PAGES = {
    "methods.md": methods,
    "arguments.md": arguments,
    "command-line.md": command_line,
    "errors.md": error_classes,
}

if __name__ == "__main__":
    for file, write in PAGES.items():
        (REFERENCE / file).write_text(write(), encoding="utf-8")
