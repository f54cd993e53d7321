"""A sequence of calls on an editor, with the invariants after each, and the shortest one that still breaks them."""

from __future__ import annotations

import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tests.rounds import count
from tests.stress.known import unknown
from tests.stress.models import Model
from tests.stress.random_edits import Call, Draw, File
from tests.stress.running import check_session_follows
from tests.stress.sentences import refusal_of
from tests.stress.state import GRAPH, NO_VALUE, Broken, State, check_follows, differing, state_of
from tfgraphwidget.editor import GraphEditor

_STEPS = ("undo", "redo", "jump")
_LOOKS = ("mark", "select", "open", "close", "hide", "show_all", "pin", "refresh", "enter", "leave")
_QUESTIONS = ("preview", "extract", "diff", "save")
_RUNS = ("run", "renew")
_LIVE_ONLY = ("live", "values", "collections")
_OF_A_PLACE = ("here", "path", "opened", "hidden", "pinned", "direction", "free scopes", "selection")
_MOST_REPEATS = 80  # runs of parts of a sequence, to find the shortest one


class Run:
    """An editor of a model, and what it was after each edit."""

    def __init__(self, model: Model, folder: Path) -> None:
        self.model, self.folder = model, folder
        _write_others(folder)
        self.editor = model.open(folder)
        self.state = self._look()
        self.known: list[State] = [self.state]

    def _look(self) -> State:
        """The state as it is now, if the index follows the graph."""
        state = state_of(self.editor, self.folder)
        check_follows(self.editor)
        return state

    def step(self, call: Call) -> bool:
        """Make a call, and check what it must have left alone; whether it was done."""
        results: list[Any] = []
        before = self.state
        refusal = refusal_of(lambda: results.append(call.on(self.editor, self.folder)))
        count("refusals" if refusal else "edits")
        after = self.state = self._look()
        keys = list(before)
        if refusal or call.verb in _QUESTIONS:
            # What a function made before it failed stays in TensorFlow's graph; the same scope can be grown again.
            passed = {"save": "" if refusal else "files", "grow": "free scopes"}.get(call.verb, "")
            left = [key for key in keys if key != passed]
            _same(before, after, left, "a refusal changes" if refusal else "a question changes")
        elif call.verb in _RUNS:
            _same(before, after, [key for key in keys if key != "values" or call.verb == "renew"], "a run changes")
        elif call.verb in _LOOKS:
            graph = [k for k in keys if k in (*GRAPH, "values", "history", "files", "free scopes") and k != "here"]
            _same(before, after, graph, "a look changes")
        else:
            self._check_edit(call, before, after)
        if call.verb == "save" and not refusal:
            self._check_saved(results[0])
        if call.verb == "extract" and not refusal:
            self._check_extracted(results[0])
        return refusal is None

    def _check_edit(self, call: Call, before: State, after: State) -> None:
        kept = [name for name in before["values"] if name in after["values"]]
        changed = [name for name in kept if before["values"][name] != after["values"][name]]
        if changed:
            raise Broken(f"the values of {changed[:5]} were changed")
        position = len(self.editor.history.done)
        if call.verb in _STEPS:
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
        in_function = self.editor.core.executor.in_function
        if path.suffix not in (".pb", ".pbtxt", ".meta") or path.name == "frozen.pb" or in_function:
            return
        saved = tgw.edit(path).index
        index = self.editor.index
        for op, name in enumerate(index.names):
            if name not in saved.ids:
                raise Broken(f"the file {path.name} lacks the op {name!r}")
            mine, other = index.nodes[op], saved.nodes[saved.ids[name]]
            if (mine.op, list(mine.input), mine.device) != (other.op, list(other.input), other.device):
                raise Broken(f"the file {path.name} has {name!r} otherwise: {mine} is {other}"[:600])

    def _check_extracted(self, part: GraphEditor) -> None:
        check_follows(part)
        state = state_of(part)
        mine = self.state["values"]
        differ = [name for name, value in state["values"].items() if mine.get(name, NO_VALUE) not in (value, NO_VALUE)]
        part.session.close()
        if differ:
            raise Broken(f"the extracted part has other values of {differ[:5]}")

    def finish(self) -> None:
        """Undo everything, redo everything; the script and the data of the edits give the same graph."""
        editor, done = self.editor, len(self.editor.history.done)
        check_session_follows(editor, done)
        final = self.state
        for place in (0, done):
            self.step(Call("jump", (place,)))
            _same((self.known[0], final)[place == done], self.state, GRAPH, f"after a jump to {place}")
        if self.known[0]["live"] and list(self.state["ops"]) != list(final["ops"]):
            raise Broken("after undoing and doing everything again the ops come in another order")
        if not any(getattr(step.command, "graph", None) is not None for step in editor.history.done):
            self._check_script(final)
            self._check_data(final)
        if editor.core.source.session is not None:
            editor.core.source.session.close()

    def _check_script(self, final: State) -> None:
        """The script, run where nothing of this editor is known, gives the same graph."""
        texts: list[str] = []
        if refusal_of(lambda: texts.append(self.editor.code())) or self.model.name == "tf.function":
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
            raise Broken(f"code() does not run: {type(error).__name__}: {str(error)[:400]}\n{text}") from error

    def _check_data(self, final: State) -> None:
        """The edits as JSON, replayed on what was opened, give the same graph."""
        path = self.folder / "edits.json"
        if refusal_of(lambda: self.editor.save(path)):
            return  # of a Python function there is no data
        with _fresh_folder() as folder:
            other = self.model.open(folder)
            refusal = refusal_of(lambda: other.replay(path))
            if refusal:
                raise Broken(f"edits.json is refused: {refusal.why}\n{path.read_text()[:2000]}")
            self._compare("edits.json", final, other, path.read_text())
        count("replays")

    def _compare(self, what: str, final: State, other: GraphEditor, text: str) -> None:
        state = state_of(other)
        differ = differing(final, state, ("ops", "functions"))
        if other.core.source.session is not None:
            other.core.source.session.close()
        if differ:
            raise Broken(f"{what} gives another graph: {differ}\n{text[:3000]}")


def run_at_random(model: Model, seed: int, length: int, weights: dict[str, int] | None = None) -> str:
    """Make calls at random; the shortest sequence that was found to break an invariant, or "" when none breaks."""
    calls: list[Call] = []

    def attempt(folder: Path) -> None:
        run = Run(model, folder)
        draw = Draw(run.editor, seed, weights)
        for _ in range(length):
            calls.append(draw.call())
            run.step(calls[-1])
        run.finish()

    why = _failure(attempt)
    if not why:
        return ""
    shortest, why = shorten(model, calls, why)
    report = f"{model.name}, seed {seed}:\n" + "\n".join(map(str, shortest)) + f"\n-> {why}"
    return unknown(report)


def shorten(model: Model, calls: Sequence[Call], why: str) -> tuple[list[Call], str]:
    """The calls that are needed for a failure of the same kind, and what it says then."""

    def failure_of(some: Sequence[Call]) -> str:
        def attempt(folder: Path) -> None:
            run = Run(model, folder)
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
            return f"raised {type(error).__name__} outside of the call: {traceback.format_exc()[-1500:]}"
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
    # A file's graph is imported when it is to run: then there are values and collections where none were before.
    told = differing(before, after, [key for key in keys if before["live"] or key not in _LIVE_ONLY])
    if told:
        raise Broken(f"{what} {told}")


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


__all__ = ["File", "Run", "run_at_random", "shorten"]
