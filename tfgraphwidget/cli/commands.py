"""The commands that open a graph to edit or to compare it: code, export, diff, lint, run-script."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import tokenize
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget import edits
from tfgraphwidget.cli.console import print_note, print_output
from tfgraphwidget.cli.files import check_output, check_sources
from tfgraphwidget.cli.formatting import format_count
from tfgraphwidget.cli.progress_bar import progress_bar
from tfgraphwidget.errors import GraphEditError, kind_and_reason
from tfgraphwidget.export import CONVERSION_OPTIONS, CONVERSIONS, FROZEN_OPTIONS, parse_options
from tfgraphwidget.graph import (
    HANDLES,
    PLACEHOLDERS,
    Difference,
    all_variables,
    own_ops,
)
from tfgraphwidget.naming import escape, split_tensor
from tfgraphwidget.progress import tell
from tfgraphwidget.readable import why_unreadable
from tfgraphwidget.sources import is_checkpoint, own_shapes_only

Names = list[str] | dict[str, str] | None
_SEE_INFO = "; tfgraphwidget info lists what they may be"

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.edits import Command
    from tfgraphwidget.lint import Report
    from tfgraphwidget.runtime.measure import Comparison


def print_code(options: argparse.Namespace) -> int:
    """Print the Python code of a file of edits."""
    check_sources(options.file, options.edits)
    with progress_bar():
        editor = _open_editor(options)
        editor.history.replay(options.edits)
    if options.json:
        print_output(
            json.dumps(
                {"python": editor.history.to_script().text, "edits": editor.history.records()},
                indent=1,
            )
        )
    else:
        print_output(editor.history.to_script().text.removesuffix("\n"))
    return 0


def print_summary(options: argparse.Namespace) -> int:
    """Print what a graph is, in at most 60 lines."""
    check_sources(options.file)
    with progress_bar(), own_shapes_only():
        text = repr(_open_editor(options).inspect())
    print_output(json.dumps({"summary": text.splitlines()}, indent=1) if options.json else text)
    return 0


def export(options: argparse.Namespace) -> int:
    """Write a graph in another format."""
    check_sources(options.file, *([] if options.edits is None else [options.edits]))
    check_output(options.out, frozen=options.frozen)
    with progress_bar():
        editor = _open_editor(options)
        if options.edits is not None:
            editor.history.replay(options.edits)
        else:
            # Of a SavedModel the whole, not the function where a signature's work is done.
            editor.view.leave(0)
        tell("Writing")
        boundary: dict[str, Any] = {
            "inputs": _names(options.inputs),
            "outputs": _names(options.outputs),
        }
        signature = options.signature
        opened = editor._core.source.signature
        if signature is None and options.frozen and opened is not None:
            signature = opened.name  # a graph to be run has one; Keras exports each model twice
        has_own_boundary = options.inputs is not None or options.outputs is not None
        is_function = editor._core.executor.boundary is not None
        if signature is not None and not has_own_boundary and not is_function:
            boundary = {"signatures": _signature_boundary(editor, signature)}
        _check_outputs(editor, options, **boundary)
        how = parse_options((name, getattr(options, name)) for name in CONVERSION_OPTIONS)
        how |= parse_options((each.name, getattr(options, each.name)) for each in FROZEN_OPTIONS)
        if options.timeout is not None:
            how["timeout"] = options.timeout
        if options.new_tags is not None:
            how["tags"] = options.new_tags.split(",")
        path = _save(
            editor,
            options.out,
            frozen=options.frozen,
            verify=not options.no_verify,
            **boundary,
            **how,
        )
    if options.json:
        saved = {"path": str(path), "notices": list(editor._core.save_notices)}
        print_output(json.dumps(saved, indent=1))
        return 0
    _print_notes(editor)
    print_output(escape(str(path)))
    return 0


def print_diff(options: argparse.Namespace) -> int:
    """Print the differences between two graphs. Returns 1 when there are any."""
    checkpoints = [path for path in (options.before, options.after) if is_checkpoint(path)]
    if checkpoints:
        return _print_diff_of_checkpoints(options, checkpoints)
    check_sources(options.before, options.after)
    with progress_bar():
        how = {"signature": options.signature, "tags": options.tags}
        prefixes = options.checkpoint or [None]
        if len(prefixes) > 2:
            raise GraphEditError("--checkpoint takes one prefix, or that of A and that of B.")
        ignore: Any = tuple(filter(None, (options.ignore or "").split(",")))
        after = _open_editor(argparse.Namespace(file=options.after, checkpoint=prefixes[-1], **how))
        before: object = options.before
        opened = None
        if options.signature is None:
            after.view.leave(0)
        if any((*how.values(), options.checkpoint, options.html, options.feeds)):
            file = argparse.Namespace(file=options.before, checkpoint=prefixes[0], **how)
            opened = _open_editor(file)
            if options.signature is None:
                opened.view.leave(0)
            before = opened
        else:
            tell(f"Opening {escape(Path(options.before).name)}")
        comparison = None
        if options.feeds:
            from tfgraphwidget.cli.feeds import parse_feeds

            tell("Running both graphs")
            feeds = parse_feeds(options.feeds, after, opened)
            comparison = after.compare(feeds, before, "all", tolerance=options.tolerance)
        if options.html:
            difference = _write_page(options, before, after, ignore, comparison)
        else:
            difference = after.diff(before, values=options.values, ignore=ignore)
    # What was asked for is all that was compared.
    difference = replace(difference, between=(options.before, options.after), function="")
    return _print_difference(options, difference, comparison)


def _print_diff_of_checkpoints(options: argparse.Namespace, checkpoints: Sequence[str]) -> int:
    """Print the values that differ between two checkpoints; raises GraphEditError for one next to
    a graph.
    """
    if len(checkpoints) == 1:
        path = checkpoints[0]
        raise GraphEditError(
            f"{path!r} is a checkpoint and has no graph; give the other one as a checkpoint too, "
            f"or the graph in its place, and --checkpoint {path}."
        )
    if options.feeds:
        raise GraphEditError("--feeds: checkpoints have no graph to run; leave it out.")
    if options.html:
        raise GraphEditError("--html: checkpoints have no graph to draw; leave it out.")
    synchronization = import_module("tfgraphwidget.editor.synchronization")
    values = synchronization.checkpoint_changes(options.before, options.after)
    between = options.before, options.after
    return _print_difference(options, Difference(values=values, between=between))


def _write_page(
    options: argparse.Namespace,
    before: object,
    after: GraphEditor,
    ignore: Any,
    comparison: Comparison | None,
) -> Difference:
    """Write both graphs and what differs as a page, and return what differs."""
    tell("Writing the page")
    values = options.values and "values" not in ignore
    both = import_module("tfgraphwidget").beside(
        before, after, values=values and comparison is None, ignore=ignore
    )
    if comparison is not None:
        both.take(comparison)
    both.save(options.html)
    difference: Difference = both.difference
    if values:
        synchronization = import_module("tfgraphwidget.editor.synchronization")
        difference = replace(difference, values=synchronization.changed_values(before, after))
    return difference


def _print_difference(
    options: argparse.Namespace, difference: Difference, comparison: Comparison | None = None
) -> int:
    if options.json and comparison is not None:
        rows = {"difference": difference.rows(), "comparison": comparison.record()}
        print_output(json.dumps(rows, indent=1))
    elif options.json:
        print_output(json.dumps(difference.rows(), indent=1))
    else:
        text = repr(difference)
        if comparison is not None:
            text += f"\n\n{comparison!r}"
        print_output("\n".join(map(escape, text.splitlines())))
    return 1 if difference or comparison else 0


def print_lint(options: argparse.Namespace) -> int:
    """Print what rules find in a graph; with --fix fix it first, and write it. Returns 1 when
    something is left.
    """
    if options.fix != (options.out is not None):
        raise GraphEditError(
            "lint --fix writes the fixed graph: give --fix and --out OUT together."
        )
    rules = {
        key: tuple(filter(None, (getattr(options, key) or "").split(",")))
        for key in ("only", "never")
    }
    with progress_bar():
        editor = _open_editor(options)
        # Fixes are the same for every target, and what a converter refuses, which takes a while to
        # find, has none.
        wanted: Any = options.target or None
        target = None if options.fix and f".{options.target}" in CONVERSIONS else wanted
        report = editor.lint(target, **rules)
        others = _other_signatures(editor, options)
        if options.fix:
            unread, tried = _unread_ops(editor), set[str]()
            # One at a time: a fix may name what another has bypassed.
            while fix := next((each for each in report.fixes if each.code() not in tried), None):
                unread |= _named_ops(editor, [fix])
                tried.add(fix.code())
                _apply_fix(editor, fix)
                report = editor.lint(target, **rules)
            _remove_unused(editor, unread)
            _save(editor, options.out)
            report = editor.lint(wanted, **rules)
        reports = {_signature_name(editor): report}
        if not options.fix:
            rules["never"] += ("missing-tensors",)  # of the whole file, which the first report has
            reports |= {_signature_name(other): other.lint(wanted, **rules) for other in others}
    _print_reports(reports, as_json=options.json, of_signatures=bool(others))
    if options.fix:
        print_note(f"tfgraphwidget: note: {escape(options.out)} is the fixed graph.")
        _print_notes(editor)
        if others:
            names = ", ".join(repr(_signature_name(other)) for other in others)
            print_note(
                f"tfgraphwidget: note: signature {names} was left as it is; give --signature NAME "
                "to fix it."
            )
    return 1 if any(reports.values()) else 0


def _print_reports(reports: Mapping[str, Report], *, as_json: bool, of_signatures: bool) -> None:
    if as_json:
        rows: list[dict[str, object]] = []
        for name, each in reports.items():
            of_signature = {"signature": name} if of_signatures else {}
            rows += [{**of_signature, **row} for row in each.rows()]
        print_output(json.dumps(rows, indent=1))
        return
    for name, each in reports.items():
        if each:
            lines = repr(each).splitlines()
            if of_signatures:
                lines.insert(0, f"signature {name!r}:" if name else "graph:")
            print_output("\n".join(map(escape, lines)))
    if not any(reports.values()):
        print_note("tfgraphwidget: nothing was found.")


def _signature_name(editor: GraphEditor) -> str:
    signature = editor._core.source.signature
    return "" if signature is None else signature.name


def _other_signatures(editor: GraphEditor, options: argparse.Namespace) -> list[GraphEditor]:
    """Editors of the further signatures of a SavedModel, whose functions `editor` does not show."""
    is_chosen = editor._core.source.signature is not None
    if options.signature is not None or (is_chosen and len(editor.view.breadcrumb) == 1):
        return []
    others = []
    # In a graph of TensorFlow 1 all of them lie in one graph.
    functions = {editor._core.navigator.function}
    for name in editor.signatures:
        if name == _signature_name(editor):
            continue
        other = _open_editor(argparse.Namespace(**{**vars(options), "signature": name}))
        if other._core.navigator.function not in functions:
            functions.add(other._core.navigator.function)
            others.append(other)
    return others


def _apply_fix(editor: GraphEditor, fix: Command) -> bool:
    """Apply a fix; one that an earlier fix made needless or impossible is left out and noted."""
    try:
        report = editor.apply(fix)
    except GraphEditError as error:
        why = str(error.why)
    else:
        if report:
            print_note(f"tfgraphwidget: fixed: {escape(fix.code())}")
            return True
        why = str(report)
    print_note(f"tfgraphwidget: note: {escape(fix.code())} was not applied: {escape(why)}")
    return False


def _remove_unused(editor: GraphEditor, unread: set[str]) -> None:
    """Remove what fixes have left without consumers, which a reader of the file would take for
    outputs; `unread` are the ops that had none before, and the outputs.
    """
    remove = import_module("tfgraphwidget.edits").Remove
    while True:
        unused = editor._core.executor.unused_ops() or tuple(sorted(_unread_ops(editor) - unread))
        if not unused:
            return
        if not _apply_fix(editor, remove(unused if len(unused) > 1 else unused[0])):
            return


def _named_ops(editor: GraphEditor, fixes: Iterable[Command]) -> set[str]:
    """The ops that signatures and fixes name as outputs: the fixes may remove what reads them."""
    names = [tensor for signature in editor.signatures.values() for _, tensor in signature.outputs]
    names += [name for fix in fixes for name in getattr(fix, "outputs", ())]
    return {split_tensor(name)[0] for name in names}


def _unread_ops(editor: GraphEditor) -> set[str]:
    """The ops that no op reads or waits for, without inputs and parts of variables."""
    index = editor._core.index
    used_by_callers = set[int]().union(*(own_ops(index, each) for each in all_variables(index)))
    for op, op_type in enumerate(index.types):
        if op_type in HANDLES | PLACEHOLDERS:
            used_by_callers.add(op)
    unread = set()
    for op, name in enumerate(index.names):
        has_consumers = index.consumer_lists[op] or index.control_consumer_lists[op]
        if not has_consumers and op not in used_by_callers:
            unread.add(name)
    return unread


def run_script(options: argparse.Namespace) -> int:
    """Run a script on the file that it opens, or once on each given file."""
    out = options.out
    if out is not None and len(options.files) > 1 and not Path(out).is_dir():
        raise GraphEditError(
            f"--out {out!r}: there are several files to edit; give an existing directory."
        )
    why = why_unreadable(options.script)
    if why:
        raise GraphEditError(why)
    if not Path(options.script).is_file():
        raise GraphEditError(
            f"There is no script {options.script!r}; give the path of one that "
            "editor.save('edits.py') wrote."
        )
    if out is not None:
        _check_names(options.files)
    for file in options.files or [None]:
        with progress_bar():
            on_file = f" on {escape(file)}" if file else ""
            tell(f"Running {escape(Path(options.script).name)}{on_file}")
            editor = _run(options.script, file)
            place = out if out is None or len(options.files) < 2 else Path(out) / Path(file).name
            prefix = f"{escape(file)}: " if file else ""
            output = None if place is None else _save(editor, str(place))
        _print_notes(editor)
        edits = format_count(len(editor.history.done), "edit")
        ops = format_count(len(editor._core.target.index), "op")
        written = f" → {escape(str(output))}" if output else ""
        print_output(f"{prefix}{edits}, {ops}{written}")
    return 0


def _check_names(files: list[str]) -> None:
    """Refuse files of the same name, because the output directory can hold only one of them."""
    files_by_name: dict[str, str] = {}
    for file in files:
        name = Path(file).name
        if name in files_by_name:
            raise GraphEditError(
                f"{files_by_name[name]!r} and {file!r} would both be written as {name!r}; edit "
                "them one at a time."
            )
        files_by_name[name] = file


def _open_editor(options: argparse.Namespace) -> GraphEditor:
    """Open the editor of the file in the options, without a widget."""
    tell(f"Opening {escape(Path(options.file).name)}")
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.sources import open_source

    tags = getattr(options, "tags", None)
    source = open_source(
        options.file,
        signature=getattr(options, "signature", None),
        checkpoint=getattr(options, "checkpoint", None),
        tags=None if tags is None else tags.split(","),
        trusted=getattr(options, "trust", False),
    )
    return GraphEditor(source, show=lambda _: None)


def _names(texts: list[str] | None) -> Names:
    """The tensors that an option names: a list, or with keys a dict."""
    if texts is None:
        return None
    parts = [part for text in texts for part in text.split(",") if part]
    keyed = [part.partition("=") for part in parts]
    if not any(sign for _, sign, _ in keyed):
        return parts
    if not all(sign and key and name for key, sign, name in keyed):
        raise GraphEditError(f"Give all of {','.join(parts)!r} a key, key=tensor, or none of them.")
    return {key: name for key, _, name in keyed}


def _check_outputs(
    editor: GraphEditor,
    options: argparse.Namespace,
    outputs: Names = None,
    signatures: object = None,
    **_: object,
) -> None:
    """Refuse formats that need outputs when there are none, and name the option to use."""
    is_named = bool(outputs or signatures)
    has_own = bool(editor.signatures) or editor._core.executor.boundary is not None
    is_marked = bool(editor._core.view.boundary[1])
    if is_named or has_own or is_marked:
        return
    if options.frozen:
        raise GraphEditError(
            f"A frozen graph is what its outputs need: give --outputs NAMES{_SEE_INFO}."
        )
    if options.out.endswith("/") or not Path(options.out).suffix or Path(options.out).is_dir():
        raise GraphEditError(
            f"A SavedModel needs a signature: give --inputs NAMES and --outputs NAMES{_SEE_INFO}."
        )


def _signature_boundary(
    editor: GraphEditor, name: str
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    signature = editor.signatures[name]
    return {name: (dict(signature.inputs), dict(signature.outputs))}


def _save(editor: GraphEditor, out: str, **how: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the editor's notices are printed as notes
        return editor.save(out, **how)


def _print_notes(editor: GraphEditor) -> None:
    for sentence in editor._core.save_notices:
        print_note(f"tfgraphwidget: note: {escape(sentence)}")


def _run(script: str, file: str | None) -> GraphEditor:
    """Run a script, on another file if one is given, and return its variable `editor`."""
    with _replace_opened_file(file):
        try:
            script_globals = _run_text(script)
        except GraphEditError as error:
            raise GraphEditError(f"{script}, line {_line(error, script)}: {error.why}") from error
        except SystemExit as error:
            raise GraphEditError(
                f"{script}, line {_line(error, script)}, ends Python, so nothing is saved; leave "
                "that line out."
            ) from error
        except Exception as error:
            where = f"line {_line(error, script)}"
            raise GraphEditError(
                f"{script}, {where}, raised {kind_and_reason(error)}; fix that line and run it "
                "again."
            ) from error
    from tfgraphwidget.editor import GraphEditor

    editor = script_globals.get("editor")
    if not isinstance(editor, GraphEditor):
        raise GraphEditError(f"{script!r} left no editor; give what editor.save('edits.py') wrote.")
    return editor


def _run_text(script: str) -> dict[str, Any]:
    """Run a script, one of version 0.2 with the names of today; its variables."""
    try:
        with tokenize.open(script) as opened:  # which knows the encoding that a script names
            text = opened.read()
    except (SyntaxError, UnicodeDecodeError):
        text = ""
    now = edits.serialization.upgrade(text)
    if now == text:
        return runpy.run_path(script, run_name="__main__")
    script_globals: dict[str, Any] = {"__name__": "__main__", "__file__": script}
    exec(compile(now, script, "exec"), script_globals)
    return script_globals


def _line(error: BaseException, script: str) -> int:
    """The number of the last line of the script in an error's traceback."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if _is(frame.filename, script)), 0)


def _is(name: str, script: str) -> bool:
    return name == script or os.path.realpath(name) == os.path.realpath(script)


@contextlib.contextmanager
def _replace_opened_file(file: str | None) -> Iterator[None]:
    """Make the first `tgw.edit` inside the context open another file."""
    package: Any = import_module("tfgraphwidget")
    edit = package.edit
    files = [] if file is None else [file]

    def open_given_file(*arguments: object, **options: object) -> object:
        if not files:
            return edit(*arguments, **options)
        for key in ("graph", "session"):  # of what the script opens itself
            options.pop(key, None)
        return edit(files.pop(), **options)

    package.edit = open_given_file
    try:
        yield
    finally:
        package.edit = edit
