"""The commands that open a graph with TensorFlow: code, export, diff, show --html, run-script."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget.cli.console import print_note, print_output
from tfgraphwidget.cli.formatting import escape, format_count
from tfgraphwidget.cli.preflight import check_output, check_sources
from tfgraphwidget.cli.progress_bar import progress_bar
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.progress import tell

_PROPOSED = "; tfgraphwidget info lists what they may be"

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor


def print_code(options: argparse.Namespace) -> int:
    """Print the script of a file of edits."""
    with progress_bar():
        editor = _opened(options)
        editor.replay(options.edits)
    print_output(editor.code().removesuffix("\n"))
    return 0


def export(options: argparse.Namespace) -> int:
    """Write a graph in another form."""
    check_sources(options.file, *([] if options.edits is None else [options.edits]))
    check_output(options.out, frozen=options.frozen)
    with progress_bar():
        editor = _opened(options)
        if options.edits is not None:
            editor.replay(options.edits)
        else:
            editor.leave(0)  # of a SavedModel the whole, not the function where a signature's work is done
        tell("Writing")
        ends: dict[str, Any] = {"inputs": _names(options.inputs), "outputs": _names(options.outputs)}
        if options.signature is not None and ends == {"inputs": None, "outputs": None} and not editor.in_function:
            ends = {"signatures": _only(editor, options.signature)}
        _check_ends(editor, options, **ends)
        written = _saved(editor, options.out, frozen=options.frozen, verify=not options.no_verify, **ends)
    _notes(editor)
    print_output(escape(str(written)))
    return 0


def write_page(options: argparse.Namespace) -> int:
    """Write a page that needs no server."""
    if Path(options.html).suffix.lower() not in (".html", ".htm"):
        raise GraphEditError(f"{options.html!r} is no name of a page; let it end in .html.")
    check_sources(options.file)
    check_output(options.html)
    with progress_bar():
        editor = _opened(options)
        tell("Writing")
        written = _saved(editor, options.html)
    print_output(escape(str(written)))
    return 0


def print_diff(options: argparse.Namespace) -> int:
    """Print what differs; 1 when anything does."""
    check_sources(options.before, options.after)
    with progress_bar():
        after = _opened(argparse.Namespace(file=options.after))
        after.leave(0)
        tell(f"Opening {escape(Path(options.before).name)}")
        found = replace(after.diff(options.before), between=(options.before, options.after))
    if options.json:
        print_output(json.dumps(found.rows(), indent=1))
    else:
        print_output("\n".join(map(escape, repr(found).splitlines())))
    return 1 if found else 0


def run_script(options: argparse.Namespace) -> int:
    """Run a script, once as it is or once for each file."""
    out = options.out
    if out is not None and len(options.files) > 1 and not Path(out).is_dir():
        raise GraphEditError(f"There are several files to edit, and {out!r} is no folder that could take them.")
    if not Path(options.script).is_file():
        raise GraphEditError(f"There is no script {options.script!r}.")
    if out is not None:
        _check_names(options.files)
    for file in options.files or [None]:
        with progress_bar():
            tell(f"Running {escape(Path(options.script).name)}" + (f" on {escape(file)}" if file else ""))
            editor = _ran(options.script, file)
            place = out if out is None or len(options.files) < 2 else Path(out) / Path(file).name
            told = f"{escape(file)}: " if file else ""
            written = None if place is None else _saved(editor, str(place))
        _notes(editor)
        edits = format_count(len(editor.history.done), "edit")
        print_output(
            f"{told}{edits}, {format_count(len(editor.outermost), 'op')}"
            + (f" → {escape(str(written))}" if written else "")
        )
    return 0


def _check_names(files: list[str]) -> None:
    """Refuse files of one name, which a folder that takes what becomes of them cannot all hold."""
    known: dict[str, str] = {}
    for file in files:
        name = Path(file).name
        if name in known:
            raise GraphEditError(
                f"{known[name]!r} and {file!r} would both be written as {name!r}; edit them one at a time."
            )
        known[name] = file


def _opened(options: argparse.Namespace) -> GraphEditor:
    """An editor for what the options name; it is asked no picture and no widget."""
    tell(f"Opening {escape(Path(options.file).name)}")
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.sources import open_source

    tags = getattr(options, "tags", None)
    source = open_source(
        options.file,
        signature=getattr(options, "signature", None),
        checkpoint=getattr(options, "checkpoint", None),
        tags=None if tags is None else tags.split(","),
    )
    return GraphEditor(source, show=lambda _: None)


def _names(given: list[str] | None) -> Any:
    """The tensors that an option names: a list, or with keys a dict."""
    if given is None:
        return None
    parts = [part for text in given for part in text.split(",") if part]
    keyed = [part.partition("=") for part in parts]
    if not any(sign for _, sign, _ in keyed):
        return parts
    if not all(sign and key and name for key, sign, name in keyed):
        raise GraphEditError(f"Give all of {','.join(parts)!r} a key, key=tensor, or none of them.")
    return {key: name for key, _, name in keyed}


def _check_ends(
    editor: GraphEditor, options: argparse.Namespace, outputs: Any = None, signatures: Any = None, **_: Any
) -> None:
    """Refuse in the words of the command line what needs outputs and has none."""
    if outputs or signatures or editor.signatures or editor.outputs or editor.in_function:
        return
    if options.frozen:
        raise GraphEditError(f"A frozen graph is what its outputs need: give --outputs NAMES{_PROPOSED}.")
    if options.out.endswith("/") or not Path(options.out).suffix or Path(options.out).is_dir():
        raise GraphEditError(f"A SavedModel needs a signature: give --inputs NAMES and --outputs NAMES{_PROPOSED}.")


def _only(editor: GraphEditor, name: str) -> Any:
    found = next(signature for signature in editor.signatures if signature.name == name)
    return {name: (dict(found.inputs), dict(found.outputs))}


def _saved(editor: GraphEditor, out: str, **how: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are the editor's notices, which are printed in our own words
        return editor.save(out, **how)


def _notes(editor: GraphEditor) -> None:
    for sentence in editor._told:
        print_note(f"tfgraphwidget: note: {escape(sentence)}")


def _ran(script: str, file: str | None) -> GraphEditor:
    """The editor that a script leaves behind, after it ran on the file that it opens, or on another."""
    with _opening_instead(file):
        try:
            left = runpy.run_path(script, run_name="__main__")
        except GraphEditError as error:
            raise GraphEditError(f"{script}, line {_line(error, script)}: {error.why}") from error
        except SystemExit as error:
            raise GraphEditError(
                f"{script}, line {_line(error, script)}, ends Python, so nothing is saved; leave that line out."
            ) from error
        except Exception as error:
            told = (str(error).strip().splitlines() or [""])[0].rstrip(".")
            where = f"line {_line(error, script)}"
            raise GraphEditError(f"{script}, {where}, raised {type(error).__name__}: {told}.") from error
    from tfgraphwidget.editor import GraphEditor

    editor = left.get("editor")
    if not isinstance(editor, GraphEditor):
        raise GraphEditError(f"{script!r} left no editor behind; give what editor.save('edits.py') wrote.")
    return editor


def _line(error: BaseException, script: str) -> int:
    """The last line of the script itself that an error passed through."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if _is(frame.filename, script)), 0)


def _is(name: str, script: str) -> bool:
    return name == script or os.path.realpath(name) == os.path.realpath(script)


@contextlib.contextmanager
def _opening_instead(file: str | None) -> Iterator[None]:
    """Let the first `tgw.edit` in here open another file than it says."""
    package: Any = import_module("tfgraphwidget")
    edit, left = package.edit, [file] if file is not None else []

    def opened(*given: Any, **options: Any) -> Any:
        if not left:
            return edit(*given, **options)
        return edit(left.pop(), **{key: value for key, value in options.items() if key not in ("graph", "session")})

    package.edit = opened
    try:
        yield
    finally:
        package.edit = edit
