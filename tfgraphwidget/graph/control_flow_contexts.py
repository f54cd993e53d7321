"""The v1 control flow context that each op runs in, as TensorFlow's executor has it.

A NodeDef says of control flow only this: an Enter carries its loop's `frame_name`, and a Switch sends its tensor on by
one of its outputs. The rest follows. An op runs in the innermost *context* of what it reads and waits for; an Enter
opens the context of a loop and an Exit leaves it, each output of a Switch opens that of a branch and a Merge of several
branches leaves them. So one walk in the order of dependency, against which only NextIterations run, gives each op its
context. What breaks the rules (a damaged file) gives some answer, and no more work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import ENTER, EXIT, IDENTITY, LOOP_CONDITION, MERGE, NEXT, SWITCH
from tfgraphwidget.naming import text_attribute

_SPECIAL = ENTER | EXIT | SWITCH | {"ControlTrigger"}

Tensor = tuple[int, int]
"""Op and port."""

_OUTSIDE, _BY_PORT, _NEW, _OPEN = 0, -1, -2, -3
# Only damaged graphs nest deeper (a v1 tf.case nests once per branch); there this bounds the work.
_DEEPEST = 100


class Contexts:
    """The context that each op runs in; context 0 is outside of all.

    `parent[c]` is the context around c. `key[c]` is a loop's frame name, or a branch's predicate with the branch in
    `branch[c]`. `inside[op]` is an op's context. `opens` and `closes` hold the Switches and the Merges at the ends of
    conditionals, by the context around and the predicate.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.parent, self.branch = [_OUTSIDE], [-1]
        self.key: list[str | Tensor] = [""]
        self.inside = [_OUTSIDE] * len(index)
        self.opens: defaultdict[tuple[int, str | Tensor], list[int]] = defaultdict(list)
        self.closes: defaultdict[tuple[int, str | Tensor], list[int]] = defaultdict(list)
        self._gives = [_OUTSIDE] * len(index)  # the context of what an op hands on, _BY_PORT for a Switch
        self._splits: dict[int, tuple[int, Tensor]] = {}
        self._context_numbers: dict[tuple[int, str | Tensor, int], int] = {}
        self._paths: dict[int, tuple[int, ...]] = {_OUTSIDE: ()}
        self._deeper: dict[tuple[int, int], int] = {}
        self._start: list[int] = index.sources.start.tolist()
        self._to: list[int] = index.sources.to.tolist()
        self._port: list[int] = index.sources.port.tolist()
        first = [i for i, kind in enumerate(index.types) if kind in ENTER or kind in SWITCH]
        self._walk(np.flatnonzero(traversal.forward(index, first)).tolist())

    def sources(self, op: int) -> list[int]:
        """The ops that an op reads, in slot order, then those that it waits for."""
        return self._to[self._start[op] : self._start[op + 1]]

    def slot(self, op: int, slot: int) -> Tensor | None:
        """The tensor that an op reads at a slot."""
        edge = self._start[op] + slot
        exists = edge < self._start[op + 1] and self._port[edge] >= 0
        return (self._to[edge], self._port[edge]) if exists else None

    def path(self, context: int) -> tuple[int, ...]:
        """The contexts around a context, outermost first, then itself."""
        new, at = [], context
        while at not in self._paths:
            new.append(at)
            at = self.parent[at]
        for inner in reversed(new):
            self._paths[inner] = (*self._paths[self.parent[inner]], inner)
        return self._paths[context]

    def frame(self, path: Iterable[int]) -> int:
        """The first loop of some contexts.

        Args:
            path: The ops to follow.
        """
        return next((c for c in path if isinstance(self.key[c], str)), _OUTSIDE)

    def _walk(self, behind: list[int]) -> None:
        """Settle the ops behind an Enter or a Switch, each after all that it reads or waits for."""
        types, inside, gives, start, to = self.index.types, self.inside, self._gives, self._start, self._to
        back = [op for op in behind if types[op] in NEXT]
        for op in behind:
            gives[op] = _NEW
        for op in back:
            gives[op] = _OUTSIDE
        for op in behind:
            if gives[op] != _NEW:
                continue
            # What reads from one context only is told here, for speed: nearly all ops.
            contexts = {gives[source] for source in to[start[op] : start[op + 1]]}
            contexts.discard(_OUTSIDE)
            if len(contexts) < 2 and types[op] not in _SPECIAL and min(contexts, default=_OUTSIDE) >= 0:
                inside[op] = gives[op] = contexts.pop() if contexts else _OUTSIDE
            else:
                self._settle(op)
        for op in back:
            inside[op] = self._around(op)

    def _settle(self, op: int) -> None:
        """Settle an op; before that, what it reads and waits for. Of a cycle the first op comes last."""
        stack, gives = [op], self._gives
        while stack:
            op = stack[-1]
            if gives[op] == _NEW:
                gives[op] = _OPEN
                before = [source for source in self.sources(op) if gives[source] == _NEW]
                if before:
                    stack += before
                    continue
            stack.pop()
            if gives[op] == _OPEN:
                self.inside[op], gives[op] = self._resolve(op)

    def _resolve(self, op: int) -> tuple[int, int]:
        """The context of an op, and that of what it hands on."""
        kind = self.index.types[op]
        here = self._behind_merge(op) if kind in MERGE else self._around(op)
        if kind in ENTER:
            here = self._loop(here, op)
        elif kind in SWITCH:
            predicate = self._predicate(op)
            if predicate is not None:
                self._splits[op] = here, predicate
                self.opens[here, predicate].append(op)
                return here, _BY_PORT
        elif kind in EXIT:
            here = self.frame(reversed(self.path(here)))
            return here, self.parent[here]
        elif kind == "ControlTrigger":  # it runs whatever branch was taken
            here = self.frame(reversed(self.path(here)))
        return here, here

    def _input_contexts(self, op: int) -> list[tuple[int, int]]:
        """The context of what comes in by each edge of an op, with the edge's number."""
        edges = range(self._start[op], self._start[op + 1])
        return [(self.output_context(self._to[edge], self._port[edge]), edge) for edge in edges]

    def output_context(self, op: int, port: int) -> int:
        """The context of what an op hands on: by an output, or by a control edge (port CONTROL)."""
        context = self._gives[op]
        return self._branch(op, port) if context == _BY_PORT else max(context, _OUTSIDE)

    def _around(self, op: int) -> int:
        """The innermost context of what an op reads and waits for."""
        here = _OUTSIDE
        for context, _ in self._input_contexts(op):
            here = self.inner(here, context)
        return here

    def _behind_merge(self, op: int) -> int:
        """The context that is left when the branches that a Merge joins are done; a loop's Merge stays in the loop."""
        types, to, port = self.index.types, self._to, self._port
        paths = [
            self.path(c) for c, edge in self._input_contexts(op) if port[edge] >= 0 and types[to[edge]] not in NEXT
        ]
        shared = shared_prefix(paths)
        closed = next((self.key[path[shared]] for path in paths if len(path) > shared), "")
        here = paths[0][shared - 1] if shared else _OUTSIDE
        if not isinstance(closed, str):
            self.closes[here, closed].append(op)
        return here

    def _branch(self, switch: int, port: int) -> int:
        """The context of what a Switch hands on."""
        here, predicate = self._splits[switch]
        ports = len(self.index) if self.index.types[switch] == "_SwitchN" else 2
        return self._context(here, here, predicate, port) if 0 <= port < ports else here

    def _loop(self, here: int, op: int) -> int:
        """The context of an Enter's loop; it lies in the innermost context of all its Enters."""
        name = text_attribute(self.index.nodes[op], "frame_name").decode(errors="replace")
        # By the loop around, since not every Enter of a loop in a branch need be in that branch.
        loop = self._context(here, self.frame(reversed(self.path(here))), name)
        loop_path, here_path = self.path(self.parent[loop]), self.path(here)
        if loop_path[: len(here_path)] != here_path[: len(loop_path)]:
            return self._context(here, here, name)  # imported once for each branch
        if len(here_path) > len(loop_path) and loop not in here_path:
            self.parent[loop] = here
            self._paths, self._deeper = {_OUTSIDE: ()}, {}
        return loop

    def _context(self, parent: int, at: int, key: str | Tensor, branch: int = -1) -> int:
        """The context that has this key at another one; made if there is none, unless it lay too deep."""
        if (at, key, branch) not in self._context_numbers:
            if len(self.path(parent)) >= _DEEPEST:
                return parent
            self._context_numbers[at, key, branch] = len(self.key)
            self.parent.append(parent)
            self.key.append(key)
            self.branch.append(branch)
        return self._context_numbers[at, key, branch]

    def inner(self, a: int, b: int) -> int:
        """The inner one of two contexts; of two branches beside each other, a context that is in both.

        Args:
            a: The number of one op.
            b: The number of the other op.
        """
        if a == b or not b:
            return a
        if (a, b) not in self._deeper:
            one, other = sorted((self.path(a), self.path(b)), key=len)
            shared = shared_prefix([one, other])
            if self.frame(one[shared:]):
                one, other = other, one
            here = other[-1]
            for c in one[shared:]:
                if not isinstance(self.key[c], str) and self.key[c] not in {self.key[k] for k in self.path(here)}:
                    here = self._context(here, here, self.key[c], self.branch[c])
            self._deeper[a, b] = here
        return self._deeper[a, b]

    def _predicate(self, switch: int) -> Tensor | None:
        """The tensor that decides a Switch, seen through Identities; None for a loop's Switch, or if there is none."""
        predicate = self.slot(switch, 1)
        for _ in range(_DEEPEST):
            before = self.slot(predicate[0], 0) if predicate and self.index.types[predicate[0]] in IDENTITY else None
            if before is None:
                break
            predicate = before
        return None if predicate and self.index.types[predicate[0]] in LOOP_CONDITION else predicate


def shared_prefix(rows: Sequence[list[str]] | Sequence[tuple[int, ...]]) -> int:
    """How many first items all of some sequences have in common.

    Args:
        rows: The rows.
    """
    if not rows:
        return 0
    low, high = min(rows), max(rows)
    return next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))


def ends_outside_loops(contexts: Contexts) -> list[int]:
    """The Exits and NextIterations that run outside of all loops: TensorFlow's executor may end the process there.

    Args:
        contexts: The contexts of a graph.
    """
    ends = (op for op, kind in enumerate(contexts.index.types) if kind in EXIT or kind in NEXT)
    return [op for op in ends if not contexts.frame(reversed(contexts.path(contexts.inside[op])))]
