"""Preview: what a clone will do, told before it is done; and afterwards, what it did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """One thing that keeps state: its op, and "variable", "hash table", "queue", "iterator" … in words."""

    kind: str
    name: str


@dataclass(frozen=True)
class Preview:
    """What a clone will do, in the names of the original; every tuple is in graph order.

    `ops` are the originals that are copied, `scopes` the name scopes that the copies take. `inputs` are the tensors and
    `control_inputs` the ops (as "^op") that the copies take from outside; `placeholders` are (tensor, name) of those
    that a new placeholder stands for instead, `replaced` (tensor, tensor) of those that another tensor stands for.
    `new` is the state that the copy gets of its own, `shared` what it goes on sharing with the original. `stateful`
    are the copied ops that do something beside computing tensors (assign, enqueue, print, write a file, draw random
    numbers), but for what initialises the variables: (op type, name). `dropped` says in a sentence each what could not
    come along.
    """

    ops: tuple[str, ...]
    scopes: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    control_inputs: tuple[str, ...] = ()
    placeholders: tuple[tuple[str, str], ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    new: tuple[State, ...] = ()
    shared: tuple[State, ...] = ()
    stateful: tuple[tuple[str, str], ...] = ()
    dropped: tuple[str, ...] = ()

    def __repr__(self) -> str:
        own, shared = len(self.new), len(self.shared)
        return f"<Preview: {len(self.ops)} ops into {', '.join(map(repr, self.scopes))}, {own} new, {shared} shared>"
