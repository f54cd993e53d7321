"""A cell of the matrix: one op, in one place of a file, under one method."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import contextlib
import tempfile
import threading
import time
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from tests.stress.sentences import Broken, check_sentence
from tests.untrusted import generic
from tests.untrusted.canary import Canary
from tests.untrusted.hostile import ENDS, HOSTILE, WAITS
from tests.untrusted.places import PLACES, Build
from tests.untrusted.verbs import METHODS, RAW, Opened
from tfgraphwidget.errors import GraphEditError, NotTrusted

v1 = tf.compat.v1
NO_FILE = "no file"  # of an op that cannot be built in a place
CONTROL_SECONDS = 3.0  # until an op counts as one that waits


class Cell(NamedTuple):
    """What is tried."""

    op: str
    place: str
    method: str


class Tried(NamedTuple):
    """What came of it.

    Attributes:
        effects: What the canary noticed.
        outcome: "done", "refused" for NotTrusted, "other refusal", "no file", or an error.
        says: The sentence of the refusal or the error.
        seconds: How long it took.
    """

    effects: frozenset[str]
    outcome: str
    says: str = ""
    seconds: float = 0.0

    @property
    def defect(self) -> str:
        """What is wrong, or ""."""
        if self.effects:
            return f"{', '.join(sorted(self.effects))} ({self.outcome}: {self.says[:200]})"
        return (
            ""
            if self.outcome in {"done", "refused", "other refusal", NO_FILE}
            else f"{self.outcome}: {self.says}"
        )


@cache
def canary() -> Canary:
    """The canary of this process."""
    return Canary(Path(tempfile.mkdtemp(prefix="canary-")))


@cache
def _files(op: str, place: str) -> dict[str, bytes] | str:
    """The files of an op in a place, by their paths in the folder of the model; a sentence if
    TensorFlow makes none.
    """
    bird = canary()
    bird.reset()
    build: Build = HOSTILE[op].build if op in HOSTILE else generic.builder(op)
    try:
        path = PLACES[place](bird, build)
    except Exception as error:  # TensorFlow refuses some ops in some places in many ways
        return f"{type(error).__name__}: {error}"
    files = {
        str(file.relative_to(bird.model)): file.read_bytes()
        for file in bird.model.rglob("*")
        if file.is_file()
    }
    return {"": str(path).encode(), **files}


def lay_out(op: str, place: str) -> Path | str:
    """Write the file of an op in a place, and begin to watch; a sentence if there is none."""
    files = _files(op, place)
    bird = canary()
    bird.reset()
    if isinstance(files, str):
        return files
    for name, data in files.items():
        if name:
            file = bird.model / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    bird.watch()
    return Path(files[""].decode())


def try_cell(cell: Cell) -> Tried:
    """Open the file of a cell, call its method, and look at the canary."""
    path = lay_out(cell.op, cell.place)
    if isinstance(path, str):
        return Tried(frozenset(), NO_FILE, path)
    started = time.monotonic()
    outcome, says = "done", ""
    with warnings.catch_warnings(), Path(os.devnull).open("w") as nowhere:
        warnings.simplefilter("ignore")
        try:
            with contextlib.redirect_stderr(nowhere):
                METHODS[cell.method](Opened(path, canary().saved))
        except GraphEditError as refusal:
            outcome, says = (
                "refused" if isinstance(refusal, NotTrusted) else "other refusal",
                refusal.why,
            )
            try:
                check_sentence(says)
            except Broken as broken:
                outcome = f"Broken: {broken}"
        except Exception as error:
            outcome, says = (
                "done" if cell.method.startswith(RAW) else type(error).__name__,
                str(error),
            )
    effects = canary().effects() | {f"secret in {name}" for name in canary().leaks()}
    return Tried(frozenset(effects), outcome, says, time.monotonic() - started)


def try_control(op: str) -> str:
    """The effect that an op has if TensorFlow runs the file; what became of the run if it has
    none.
    """
    path = lay_out(op, "top")
    if isinstance(path, str):
        return path
    ends: list[str] = []
    # Some ops never end, and cannot be canceled: the process is ended with them.
    threading.Thread(target=lambda: ends.append(_run(path)), daemon=True).start()
    last = time.monotonic() + CONTROL_SECONDS
    while time.monotonic() < last and not canary().effects() and not ends:
        time.sleep(0.02)
    time.sleep(0.05)
    return next(iter(canary().effects()), ends[0] if ends else WAITS)


def _run(path: Path) -> str:
    """Run the file of `top` as it is, and give what the error says."""
    config = v1.ConfigProto()
    # Optimizers remove what has no output that is read, and compute constants in a way of their
    # own.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=config) as session:
        graph_def = v1.GraphDef.FromString(path.read_bytes())
        tf.import_graph_def(graph_def, name="")
        try:
            session.run("y:0", {"x:0": [[1.0, 2.0]]})
        except tf.errors.OpError as error:  # what it reads is not what it wants, and was read
            return str(error)
    return "nothing"


__all__ = ["ENDS", "Cell", "Tried", "try_cell", "try_control"]
