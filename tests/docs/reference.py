"""The pages of docs/reference/ that are written from the code: `python -m tests.docs.reference` writes them."""

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
from tfgraphwidget import errors
from tfgraphwidget.cli import main
from tfgraphwidget.editor import GraphEditor

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
TITLES = {
    "SelectionAPI": "Select and search",
    "ViewAPI": "The drawing",
    "EditAPI": "Clone and edit",
    "PassAPI": "Passes over the whole graph",
    "PatternAPI": "Patterns",
    "AnalysisAPI": "Run, measure, compare",
    "FileAPI": "Save, replay, export",
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
        "`tgw.edit(…)` makes an editor; these are its methods and properties. Shift-Tab in a notebook,",
        "`help(editor.clone)` and `make reference` show arguments, errors and an example of each.",
        "[What works on which source](../verbs.md).",
        "",
        "| function of the package | |",
        "|---|---|",
        *(f"| `tgw.{name}` | {sentence(getattr(tgw, name))} |" for name in FUNCTIONS),
    ]
    for base in GraphEditor.__bases__:
        members = {name: member for name, member in vars(base).items() if not name.startswith("_")}
        if base.__name__ in TITLES and members:
            lines += ["", f"## {TITLES[base.__name__]}", "", "| | |", "|---|---|"]
            lines += [f"| `{name}` | {sentence(member)} |" for name, member in sorted(members.items())]
    return "\n".join(lines) + "\n"


def help_of(*command: str) -> str:
    """What `tfgraphwidget COMMAND --help` prints in a terminal of 80 columns."""
    printed = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": "80"}), redirect_stdout(printed), suppress(SystemExit):
        main([*command, "--help"])
    return printed.getvalue().strip()


def commands() -> Iterator[str]:
    """The names of the commands, in their order."""
    yield from re.findall(r"^    ([a-z][a-z-]*)(?:  |\n)", help_of().partition("COMMAND\n")[2], re.MULTILINE)


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
        "Every refusal is a `tgw.GraphEditError`: one sentence that names the object, the problem and the way out.",
        "Nothing has changed then. `error.ops` are the ops that it is about, `error.mends` edits that would do",
        "instead.",
        "",
        "| class | raised for |",
        "|---|---|",
    ]
    classes = [thing for thing in vars(errors).values() if inspect.isclass(thing) and issubclass(thing, Exception)]
    lines += [f"| `{one.__name__}` | {sentence(one)} |" for one in classes if one.__module__ == errors.__name__]
    return "\n".join(lines) + "\n"


PAGES = {"methods.md": methods, "command-line.md": command_line, "errors.md": error_classes}

if __name__ == "__main__":
    for file, write in PAGES.items():
        (REFERENCE / file).write_text(write(), encoding="utf-8")
