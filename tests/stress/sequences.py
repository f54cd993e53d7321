"""A sequence of calls on an editor, with the invariants after each, and the shortest one that still
breaks them.

    python -m tests.stress.sequences FIRST NUMBER LENGTH [MODEL ...]

runs sequences of LENGTH calls on each model, of NUMBER seeds from FIRST on, in one process, and
prints what each model came to; when it is interrupted, too. Models by their names in `models.py`,
or by group: `models` (when none is named), `corpus` (every graph recorded with graph_editor, in a
session and as two files), `large` (the files of the notebooks and of the drawing, of up to 5,900
ops), `networks` (Keras models, modules and SavedModels), and `small` of at most some forty ops.
With its files in memory it is faster:

    TMPDIR=/dev/shm python -m tests.stress.sequences 0 200 6 small

runs 10,700: of four seeds of `small` one is for all its models and all methods, with values
compared and the edits made again by code and by data; three are for its files and the methods that
need no TensorFlow graph, made again in one of the two ways.
"""

from __future__ import annotations

import gc
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tests.rounds import COUNTS, count
from tests.stress.known import unknown
from tests.stress.models import GROUPS, SMALL, Model
from tests.stress.random_edits import PRESERVING, WEIGHTS, Call, Draw
from tests.stress.running import (
    Values,
    check_copy,
    check_part,
    check_saved_values,
    check_session_follows,
    feeds_of,
    pure_tensors,
    unlike,
    values_now,
)
from tests.stress.sentences import Broken, refusal_of
from tests.stress.state import GRAPH, NO_VALUE, State, check_follows, differing, state_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits import Edits

_STEPS = ("undo", "redo", "jump")
_LOOKS = ("mark", "select", "open", "close", "hide", "show_all", "pin", "refresh", "enter", "leave")
_QUESTIONS = (
    "preview",
    "extract",
    "diff",
    "save",
    "match",
    "split",
    "lint",
    "summary",
    "cost",
    "to_bytes",
)
_RUNS = ("run", "renew", "sync")
_LIVE_ONLY = ("live", "values", "collections")
_OF_A_PLACE = (
    "here",
    "path",
    "opened",
    "hidden",
    "pinned",
    "direction",
    "free scopes",
    "selection",
)
_WITHOUT_NAMES = ("history", "files", "direction", "live")
# What a clone may compute otherwise with.
_OTHERS = {
    "replace",
    "graph",
    "reseed",
    "device",
    "devices",
    "src_scope",
}
_TOLERANCES = dict.fromkeys(PRESERVING, 1e-4) | {"fold_batch_norm": 1e-2}
_ROUNDING = 1e-3
_WITH_VALUES = ("freeze", "fold_batch_norm")
_COUNTED = {"undo": "undone", "redo": "done again", "jump": "jumps", "save": "saves"}
_OPS = re.compile(r"(?<=editor\.ops\()[^()]*(?=\))")
QUICK_SCRIPT, QUICK_DATA = 1, 2
# TensorFlow must hold the graph.
_IMPORTS = (
    "call",
    "renew",
    "run",
    "split",
    "add",
    "sync",
    "insert",
    "replace",
)
_OF_FILES = {method: weight for method, weight in WEIGHTS.items() if method not in _IMPORTS}
_MOST_REPEATS = 80  # runs of parts of a sequence, to find the shortest one


def _comparable(part: Any) -> Any:
    """A part of a state; the ops that a line names have no order, as an import may give a graph
    another one.
    """
    if isinstance(part, tuple):
        return tuple(
            _OPS.sub(lambda ops: ", ".join(sorted(ops[0].split(", "))), line) for line in part
        )
    return dict(part) if isinstance(part, dict) else part


class Run:
    """An editor of a model, and what it was after each edit."""

    def __init__(self, model: Model, folder: Path, quick: int = 0) -> None:
        """`quick` is QUICK_SCRIPT or QUICK_DATA for one of the two ways to make the edits again; 0
        for both.

        A quick run does not evaluate a file, in a session of its own, before and after each pass.
        """
        self.model, self.folder, self.quick = model, folder, quick
        _write_others(folder)
        self.editor = model.open(folder)
        self.opened_at = len(self.editor.view.breadcrumb)
        self.state = self._look()
        self.known: list[State] = [self.state]
        self.has_run = False  # and values are others than those that are opened
        self.has_run_values = False  # in constants, which no script has

    def _look(self) -> State:
        """The state as it is now, if the index follows the graph."""
        state = state_of(self.editor, self.folder)
        check_follows(self.editor)
        return state

    def step(self, call: Call) -> bool:
        """Make a call, and check what it must have left alone; whether it was done."""
        results: list[Any] = []
        before, computed = self.state, self._computed(call)
        refusal = refusal_of(lambda: results.append(call.on(self.editor, self.folder)))
        count("refusals" if refusal else "edits")
        if call.method in _COUNTED and not refusal:
            count(_COUNTED[call.method])
        after = self.state = self._look()
        keys = list(before)
        if refusal or call.method in _QUESTIONS:
            # What a function made before it failed stays in TensorFlow's graph; the same scope can
            # be grown again.
            passed = {"save": "" if refusal else "files", "call": "free scopes"}.get(
                call.method, ""
            )
            left = [key for key in keys if key != passed]
            _same(before, after, left, "a refusal changes" if refusal else "a question changes")
        elif call.method in _RUNS:
            self.has_run |= before["values"] != after["values"]
            _same(
                before,
                after,
                [key for key in keys if key != "values" or call.method == "renew"],
                "a run changes",
            )
        elif call.method in _LOOKS:
            graph = [
                k
                for k in keys
                if k in (*GRAPH, "values", "history", "files", "free scopes") and k != "here"
            ]
            _same(before, after, graph, "a look changes")
        elif isinstance(results[0], Edits) and not results[0]:
            _same(before, after, keys, "an edit that found nothing to do changes")
        else:
            self._check_edit(call, before, after)
            if call.method in PRESERVING:
                self._check_computed(call, results[0], computed, was_live=before["live"])
        if not refusal:
            self.has_run_values |= self.has_run and call.method in _WITH_VALUES
            self._check_result(call, results[0])
        return refusal is None

    def _computed(self, call: Call) -> tuple[Values, Values]:
        """Before an edit that changes no value: the feeds, and some values."""
        if call.method not in PRESERVING or (self.quick and not self.state["live"]):
            return {}, {}
        fetches = pure_tensors(self.editor, len(self.editor.history.done))
        feeds = feeds_of(self.editor) if fetches else {}
        return feeds, values_now(self.editor, fetches, feeds)

    def _check_computed(
        self, call: Call, result: Any, computed: tuple[Values, Values], *, was_live: bool
    ) -> None:
        """Raise Broken where an edit that changes no value has changed one."""
        feeds, before = computed
        if not before or self.state["live"] != was_live:
            return  # a file that the edit has imported: its values are initial ones now
        if not was_live and (call.method in _WITH_VALUES or getattr(result, "renamed", ())):
            return  # values were made up for the variables of a file, by their names
        new_names = dict(getattr(result, "renamed", ()))
        ids = self.editor._core.target.index.ids

        def now(tensor: str) -> str:
            op, _, port = tensor.rpartition(":")
            return f"{new_names.get(op, op)}:{port}"

        names = {name: now(name) for name in before if now(name).rpartition(":")[0] in ids}
        feeds = {
            now(name): value for name, value in feeds.items() if now(name).rpartition(":")[0] in ids
        }
        after = values_now(self.editor, [*names.values()], feeds)
        reported = unlike(
            before,
            {name: after[new] for name, new in names.items() if new in after},
            _TOLERANCES[call.method],
        )
        if reported:
            raise Broken(f"{call.method} changes the value of {reported}")
        count("values unchanged by an edit", len(after))

    def _check_result(self, call: Call, result: Any) -> None:
        """What a call returned computes what it must."""
        editor, in_function = self.editor, self.editor._core.executor.boundary is not None
        if call.method == "save":
            self._check_saved(result)
            seed = len(editor.history.done)
            if result.name in ("frozen.pb", "saved") and not in_function:
                check_saved_values(editor, result, call.args[1:], seed)
        elif call.method == "extract":
            self._check_extracted(result)
            if not in_function:
                check_part(editor, result, *call.args)
            if result._core.source.session is not None:
                result._core.source.session.close()
        elif call.method == "split" and result > _ROUNDING:
            raise Broken(f"the parts of a split compute something else, by {result}")
        elif (
            call.method == "clone"
            and not in_function
            and len(call.args) == 2
            and not _OTHERS & call.options.keys()
        ):
            for copy in result if isinstance(result, list) else [result]:
                check_copy(editor, call.args, call.options, copy)

    def _check_edit(self, call: Call, before: State, after: State) -> None:
        kept = [name for name in before["values"] if name in after["values"]]
        changed = [name for name in kept if before["values"][name] != after["values"][name]]
        if changed:
            raise Broken(f"the values of {changed[:5]} were changed")
        position = len(self.editor.history.done)
        if call.method in _STEPS and not self.known[position]:
            self.known[position] = after
        elif call.method in _STEPS:
            _same(self.known[position], after, GRAPH, "a step in the history gives another graph:")
            lost = self.known[position]["values"].keys() - after["values"].keys()
            if lost:
                raise Broken(f"a step in the history lost the values of {sorted(lost)[:5]}")
        else:
            if self.editor.history.undone or position < 1:
                raise Broken("an edit is not the last of the history")
            self.known[position:] = [after]

    def _check_saved(self, path: Path) -> None:
        """What was saved opens, and has the ops that the editor shows."""
        if path.suffix == ".tgw":
            self._check_saved_editor(path)
        in_function = self.editor._core.executor.boundary is not None
        if path.suffix not in (".pb", ".pbtxt", ".meta") or path.name == "frozen.pb" or in_function:
            return
        saved = tgw.edit(path)._core.index
        index = self.editor._core.index
        for op, name in enumerate(index.names):
            if name not in saved.ids:
                raise Broken(f"the file {path.name} lacks the op {name!r}")
            mine, other = index.nodes[op], saved.nodes[saved.ids[name]]
            if (mine.op, list(mine.input), mine.device) != (
                other.op,
                list(other.input),
                other.device,
            ):
                raise Broken(
                    f"the file {path.name} has {name!r} otherwise: {mine} is {other}"[:600]
                )
        count("files opened again")

    def _check_saved_editor(self, path: Path) -> None:
        """A file with an editor gives it again, with its edits."""
        editor = tgw.edit(path)
        with (
            _fresh_folder() as folder
        ):  # a Python function in an edit cannot be written, and no edit is then
            is_data = refusal_of(lambda: self.editor.save(folder / "edits.json")) is None
        keys = ("ops", "functions", "lines") if is_data else ("ops", "functions")
        mine, other = (
            {key: _comparable(state[key]) for key in keys}
            for state in (self.state, state_of(editor, self.folder))
        )
        for node in self.editor._core.target.index.nodes:
            texts = node.attr["value"].tensor.string_val if node.op == "Const" else ()
            for state in (mine, other) if any(b"/assets/" in text for text in texts) else ():
                state["ops"].pop(node.name, None)  # the file has its assets in another folder
        differ = differing(mine, other)
        if differ:
            raise Broken(f"the editor of {path.name} is another one: {differ}")
        count("editors opened again")

    def _check_extracted(self, part: GraphEditor) -> None:
        check_follows(part)
        state = state_of(part)
        # What a queue of the graph holds is taken out by those that read it, so a part begins with
        # an empty one.
        kinds = dict(zip(part._core.target.index.names, part._core.target.index.types, strict=True))
        values = {
            name: value
            for name, value in state["values"].items()
            if kinds.get(name) != "QueueSizeV2"
        }
        mine = self.state["values"]
        differ = [
            name
            for name, value in values.items()
            if mine.get(name, NO_VALUE) not in (value, NO_VALUE)
        ]
        if differ:
            raise Broken(f"the extracted part has other values of {differ[:5]}")

    def finish(self) -> None:
        """Undo everything, redo everything; the script and the data of the edits give the same
        graph.
        """
        editor, done = self.editor, len(self.editor.history.done)
        check_session_follows(editor, done)
        final, returned = self.state, [self._returned(editor)]
        for place in (0, done):
            self.step(Call("jump", (place,)))
            _same(
                (self.known[0], final)[place == done], self.state, GRAPH, f"after a jump to {place}"
            )
            returned.append(self._returned(editor))
        self._check_returned(*returned)
        if self.known[0]["live"] and list(self.state["ops"]) != list(final["ops"]):
            raise Broken("after undoing and doing everything again the ops come in another order")
        is_told = not any(
            getattr(step.command, "graph", None) is not None for step in editor.history.done
        )
        if is_told and not self.has_run_values:
            if self.quick != QUICK_DATA:
                self._check_script(final)
            if self.quick != QUICK_SCRIPT:
                self._check_data(final, returned[0])
        if editor._core.source.session is not None:
            editor._core.source.session.close()

    def _returned(self, editor: GraphEditor) -> Any:
        """What the function that is edited returns, as arrays by number; how it is refused, if it
        is.
        """
        if not self.model.arguments:
            return {}
        found: Values = {}
        editor.view.leave(min(self.opened_at, len(editor.view.breadcrumb)) - 1)

        def run() -> None:
            results = editor.to_function()(*self.model.arguments)
            found.update(
                {str(k): np.asarray(leaf) for k, leaf in enumerate(tf.nest.flatten(results))}
            )

        try:
            refusal_of(run)
        except Broken:
            found.clear()  # an edit may have made it a function that cannot run
        count("calls of edited functions")
        return found

    def _check_returned(self, edited: Values, original: Values, again: Values) -> None:
        """Undone, the function returns what it returned at first; done again, what it returned
        after the edits.
        """
        if not self.model.arguments:
            return
        with _fresh_folder() as folder:
            first = self._returned(self.model.open(folder))
        for found, expected, when in ((original, first, "undone"), (again, edited, "done again")):
            if found.keys() != expected.keys():
                raise Broken(
                    f"with all edits {when} the function returns {len(found)} of {len(expected)} "
                    "results"
                )
            reported = unlike(expected, found)
            if reported:
                raise Broken(
                    f"with all edits {when} the function returns something else: {reported}"
                )

    def _check_script(self, final: State) -> None:
        """The script, run where nothing of this editor is known, gives the same graph."""
        texts: list[str] = []
        if self.model.is_object or refusal_of(
            lambda: texts.append(self.editor.history.to_script().text)
        ):
            return
        with _fresh_folder() as folder:
            names: dict[str, Any] = {"__name__": "elsewhere"}
            if self.model.is_live:
                other = self.model.open(folder)
                with other.graph.as_default(), other.session.as_default():
                    self._execute(texts[0], names)
            else:
                with tf.Graph().as_default():
                    self._execute(texts[0], names)
            self._compare("code()", final, names["editor"], texts[0])
        count("scripts")

    def _execute(self, text: str, names: dict[str, Any]) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(text, "script", "exec"), names)
        except BaseException as error:
            raise Broken(
                f"code() does not run: {type(error).__name__}: {str(error)[:400]}\n{text}"
            ) from error

    def _check_data(self, final: State, edited: Values) -> None:
        """The edits as JSON, replayed on what was opened, give the same graph."""
        path = self.folder / "edits.json"
        if refusal_of(lambda: self.editor.save(path)):
            return  # of a Python function there is no data
        with _fresh_folder() as folder:
            other = self.model.open(folder)
            refusal = refusal_of(lambda: other.history.replay(path))
            if refusal:
                raise Broken(f"edits.json is refused: {refusal.why}\n{path.read_text()[:2000]}")
            self._compare("edits.json", final, other, path.read_text())
            reported = unlike(edited, self._returned(other))
            if reported:
                raise Broken(
                    f"replayed, the edits give a function that returns something else: {reported}"
                )
        count("replays")

    def _compare(self, what: str, final: State, other: GraphEditor, text: str) -> None:
        state = state_of(other)
        differ = differing(final, state, ("ops", "functions"))
        if other._core.source.session is not None:
            other._core.source.session.close()
        if differ:
            raise Broken(f"{what} gives another graph: {differ}\n{text[:3000]}")


def run_at_random(
    model: Model,
    seed: int | str,
    length: int,
    weights: dict[str, int] | None = None,
    quick: int = 0,
) -> str:
    """Make calls at random; the shortest sequence that was found to break an invariant, or "" when
    none breaks.
    """
    calls: list[Call] = []

    def attempt(folder: Path) -> None:
        run = Run(model, folder, quick)
        draw = Draw(run.editor, seed, weights)
        for _ in range(length):
            calls.append(draw.call())
            run.step(calls[-1])
        run.finish()

    why = _failure(attempt)
    if not why:
        return ""
    counted = COUNTS.copy()
    shortest, why = shorten(model, calls, why, quick)
    COUNTS.clear()
    COUNTS.update(counted)  # the repeats are not counted
    report = f"{model.name}, seed {seed}:\n" + "\n".join(map(str, shortest)) + f"\n-> {why}"
    return unknown(report)


def shorten(
    model: Model, calls: Sequence[Call], why: str, quick: int = 0
) -> tuple[list[Call], str]:
    """The calls that are needed for a failure of the same kind, and what it says then."""

    def failure_of(some: Sequence[Call]) -> str:
        def attempt(folder: Path) -> None:
            run = Run(model, folder, quick)
            for call in some:
                run.step(call)
            run.finish()

        return _failure(attempt)

    shortest, size, tries = list(calls), max(len(calls) // 2, 1), 0
    while tries < _MOST_REPEATS:
        start, shorter = 0, False
        while start < len(shortest) and tries < _MOST_REPEATS:
            tries += 1
            rest = shortest[:start] + shortest[start + size :]
            said = failure_of(rest)
            if _kind(said) == _kind(why):
                shortest, why, shorter = rest, said, True
            else:
                start += size
        if size == 1 and not shorter:
            break
        size = max(size // 2, 1)
    return shortest, why


def _kind(why: str) -> str:
    """What a failure is about, less the names in it."""
    return " ".join(why.split()[:5])


def _failure(attempt: Callable[[Path], None]) -> str:
    with _fresh_folder() as folder:
        try:
            attempt(folder)
        except Broken as broken:
            return str(broken)
        except Exception as error:  # an invariant that could not even be looked at
            return (
                f"raised {type(error).__name__} outside of the call: "
                f"{traceback.format_exc()[-1500:]}"
            )
    return ""


@contextmanager
def _fresh_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="stress"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _same(before: State, after: State, keys: Any, what: str) -> None:
    if before["path"] != after["path"]:  # one stands where the last edit was made
        keys = [key for key in keys if key not in _OF_A_PLACE]
    # A file's graph is imported when it is to run: then there are values and collections where none
    # were before.
    reported = differing(
        before, after, [key for key in keys if before["live"] or key not in _LIVE_ONLY]
    )
    if reported:
        raise Broken(f"{what} {reported}")


def _write_others(folder: Path) -> None:
    """Files that can be added to a graph."""
    for name, data in _others().items():
        (folder / name).write_bytes(data)


@cache
def _others() -> dict[str, bytes]:
    graph = build_mlp(resource=True)
    with graph.as_default():
        meta = v1.train.export_meta_graph()
    return {"other.pb": meta.graph_def.SerializeToString(), "other.meta": meta.SerializeToString()}


@dataclass
class Sums:
    """What the sequences of one source came to; seconds are of the processor."""

    sequences: int = 0
    edits: int = 0
    refusals: int = 0
    failures: int = 0
    seconds: float = 0.0

    def row(self) -> list[str]:
        """The cells of its line in the table."""
        return [
            *(f"{n:,}" for n in (self.sequences, self.edits, self.refusals, self.failures)),
            f"{self.seconds:.0f}",
        ]


def table(sums: Mapping[str, Sums]) -> str:
    """The sums of each source, and of all, in Markdown."""
    total = Sums(
        *(sum(getattr(each, field.name) for each in sums.values()) for field in fields(Sums))
    )
    lines = [["", *(field.name for field in fields(Sums))], ["---"] * (len(fields(Sums)) + 1)]
    lines += [[name, *each.row()] for name, each in sums.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in [*lines, ["all", *total.row()]])


def main(first: int, number: int, length: int, names: Sequence[str]) -> None:
    """Run sequences of the seeds `first` and on for each model; print each failure when it is
    found, and the sums.
    """
    everything = {model.name: model for models in GROUPS.values() for model in models}
    unknown_names = [name for name in names if name not in GROUPS and name not in everything]
    if unknown_names:
        sys.exit(f"No model is named {unknown_names}; groups are {', '.join(GROUPS)}.")
    models = [
        model
        for name in names or ["models"]
        for model in GROUPS.get(name, (everything.get(name),))
        if model
    ]
    # Threads cost more than they save on small graphs.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    gc.freeze()  # so that what looks through all objects does not look through TensorFlow's
    for ending in (signal.SIGINT, signal.SIGTERM):
        # In the background a shell has SIGINT ignored.
        signal.signal(ending, signal.default_int_handler)
    sums = {model.name: Sums() for model in models}
    begin = time.monotonic()
    with suppress(KeyboardInterrupt):  # the table of what was run until then
        for seed in range(first, first + number):
            for model in models:
                gc.collect()
                _run_seed(model, seed, length, sums[model.name], is_quick="small" in names)
            counts = ", ".join(f"{value:,} {what}" for what, value in sorted(COUNTS.items()))
            failures = sum(each.failures for each in sums.values())
            sys.stdout.write(
                f"seed {seed}, {time.monotonic() - begin:.0f} s, {failures} failures: {counts}\n"
            )
            sys.stdout.flush()
    sys.stdout.write(f"{table(sums)}\n")


def _run_seed(model: Model, seed: int, length: int, sums: Sums, *, is_quick: bool) -> None:
    """Run one sequence, print its failure, and add what it came to."""
    # Of the small ones three of four seeds are for quick sequences, on files alone.
    quick = (
        (0, QUICK_SCRIPT, QUICK_DATA, QUICK_SCRIPT)[seed % 4] if is_quick and model in SMALL else 0
    )
    if quick and (model.is_live or model.arguments):
        return
    before, begin = COUNTS.copy(), time.process_time()
    report = run_at_random(
        model, f"{model.name} {seed}", length, _OF_FILES if quick else None, quick
    )
    count("sequences")
    sums.sequences += 1
    sums.edits += COUNTS["edits"] - before["edits"]
    sums.refusals += COUNTS["refusals"] - before["refusals"]
    sums.failures += bool(report)
    sums.seconds += time.process_time() - begin
    if report:
        sys.stdout.write(f"{report}\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    first, number, length, *names = sys.argv[1:]
    main(int(first), int(number), int(length), names)
