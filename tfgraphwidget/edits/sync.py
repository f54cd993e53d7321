"""Sync: keep variables up to date with others, of which they are copies.

In one graph and session this is one op: it first takes all values, then assigns all, so that a variable without a
value leaves everything as it was. Between two graphs or two sessions, and in a finalized graph that has no such op
yet, the values go through Python: all are read, then all are loaded by the variables' own initialisers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

from tfgraphwidget.edits import values
from tfgraphwidget.edits.apply import check_open
from tfgraphwidget.edits.running import PATIENCE, Answered
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph.index import VariableDef

Array = np.ndarray[Any, Any]
Pair = tuple[VariableDef, VariableDef]


@dataclass(frozen=True, eq=False)
class Held:
    """A graph and the session that holds the values of its variables; without one, only ops can be made."""

    graph: tf.Graph
    session: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.graph is other.graph and self.session is other.session

    def __hash__(self) -> int:
        return hash((id(self.graph), id(self.session)))


@dataclass(frozen=True, eq=False)
class Sync:
    """Variables in pairs (original, copy): the originals as `source` holds them, the copies as `target` does.

    Ops are made in the name scope `scope`/sync, on the devices of the copies, and stand in no collection. Shapes and
    dtypes of a pair must agree, or GraphEditError names both. `patience` is how many seconds servers may take.
    """

    pairs: tuple[Pair, ...]
    source: Held
    target: Held
    scope: str = ""
    patience: float = PATIENCE
    _made: dict[str, tf.Operation] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        _check_pairs(self)

    def sync(self, tau: float = 1.0) -> None:
        """Give each copy (1 - tau) of its own value and tau of the original's: with 1, the original's value.

        Variables of integers, booleans and strings are copied whatever tau is. All are assigned, or none. Raises
        SessionRefused for a closed session, a variable without a value, or servers that do not answer.
        """
        if not isinstance(tau, int | float) or not 0 <= tau <= 1:
            raise GraphEditError(f"tau={tau!r} is no mixture: it is a number from 0 (keep) to 1 (copy).")
        target = self._session(self.target)
        kind = "copy" if tau == 1 else "mix"
        if self.source != self.target or (self.target.graph.finalized and kind not in self._made):
            self._through_python(tau)
            return
        run = self.op() if kind == "copy" else self._mixing()
        try:
            target.run(run, None if kind == "copy" else {f"{self._made['tau'].name}:0": tau})
        except tf.errors.FailedPreconditionError as error:
            raise self._without_value(target, mixed=kind == "mix") from error
        except tf.errors.OpError as error:
            raise SessionRefused(f"The copies in {self.scope!r} cannot be brought up to date: {_told(error)}.") from error

    def op(self, tau: Any = None) -> tf.Operation:
        """One op that brings the copies up to date whenever it is run; made once, and again for each `tau`.

        `tau` is a number or a scalar tensor; None copies. Asked for under `tf.control_dependencies`, in a branch of
        `tf.cond` or in the body of a loop, it is an op of that place: made anew, it reads after what it depends on.
        Raises GraphFinalized, and GraphEditError when the copies are in another graph than the originals.
        """
        graph = self.target.graph
        if self.source.graph is not graph:
            raise GraphEditError(
                "No op can bring variables of one graph up to date with another graph's; call sync() between the runs."
            )
        here = _place(graph)
        key = "copy" if tau is None else repr(tau) if isinstance(tau, int | float) else ""
        if here is None and key in self._made:
            return self._made[key]
        check_open(graph)
        made = self._build(tau, here)
        if here is None and key:
            self._made[key] = made
        return made

    def drift(self) -> dict[str, float]:
        """How far each copy is from its original: the largest absolute difference of any two elements, 0.0 if equal.

        By the original's name ("net/w:0"). Of booleans and strings, 1.0 if any differ; inf where only one is NaN.
        """
        originals, copies = self._values()
        return {o.name: _distance(originals[o.handle], copies[c.handle]) for o, c in self.pairs}

    def save(self, path: str) -> str:
        """Write the originals' present values under their names, as a `Saver` of the originals would; its path."""
        originals = self._read(self.source, [o for o, _ in self.pairs])
        checkpoint(path, {_key(o): (originals[o.handle], o.slice_info) for o, _ in self.pairs})
        return path

    def load(self, path: str) -> None:
        """Give the copies the values that their originals have in a checkpoint."""
        reader = tf.train.load_checkpoint(path)
        missing = [o.handle for o, _ in self.pairs if not reader.has_tensor(_key(o))]
        if missing:
            raise GraphEditError(f"Checkpoint {path!r} has no value for {missing[0]!r}.", missing)
        self._load({c.handle: _sliced(reader.get_tensor(_key(o)), o.slice_info) for o, c in self.pairs})
