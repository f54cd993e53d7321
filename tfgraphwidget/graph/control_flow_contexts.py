"""The v1 control flow context that each op runs in, as TensorFlow's executor has it.

A NodeDef says of control flow only this: an Enter carries its loop's `frame_name`, and a Switch
sends its tensor on by one of its outputs. The rest follows. An op runs in the innermost *context*
of what it consumes and waits for; an Enter opens the context of a loop and an Exit leaves it, each
output of a Switch opens that of a branch and a Merge of several branches leaves them. So one walk
in the order of dependency, against which only NextIterations run, gives each op its context. What
breaks the rules (a damaged file) gives some answer, and no more work.

How the executor runs loops and branches: Y. Yu et al., "Dynamic control flow in large-scale machine
learning" (2018).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import ENTER, EXIT, IDENTITY, LOOP_CONDITION, MERGE, NEXT, SWITCH
from tfgraphwidget.naming import text_attribute

_SPECIAL = ENTER | EXIT | SWITCH | {"ControlTrigger"}  # types that open or leave a context

Tensor = tuple[int, int]
"""Op and port."""

# The context of what an op hands on, where that is not the number of one.
_OUTSIDE = 0  # that of ops outside of all loops and conditionals
_BY_PORT = -1  # a Switch has one context for each of its outputs
_NEW = -2  # not known yet
_OPEN = -3  # being settled: a cycle leads back to it

# Only damaged graphs nest deeper (a v1 tf.case nests once per branch); there this bounds the work.
_MAX_DEPTH = 100


class Contexts:
    """The context that each op runs in; context 0 is outside of all.

    Attributes:
        index: the graph.
        parent: per context, the one around it.
        key: per context, a loop's frame name or a branch's predicate.
        branch: per context, the number of the branch; -1 for a loop.
        inside: per op, its context.
        opens: the Switches of conditionals, by the context around and the predicate.
        closes: the Merges of conditionals, by the context around and the predicate.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.parent = [_OUTSIDE]
        self.branch = [-1]
        self.key: list[str | Tensor] = [""]
        self.inside = [_OUTSIDE] * len(index)
        self.opens: defaultdict[tuple[int, str | Tensor], list[int]] = defaultdict(list)
        self.closes: defaultdict[tuple[int, str | Tensor], list[int]] = defaultdict(list)
        self._output = [_OUTSIDE] * len(index)  # per op, the context of what it hands on
        self._splits: dict[int, tuple[int, Tensor]] = {}  # context and predicate of each Switch
        self._context_numbers: dict[tuple[int, str | Tensor, int], int] = {}
        self._paths: dict[int, tuple[int, ...]] = {_OUTSIDE: ()}  # results of `path`
        self._inner: dict[tuple[int, int], int] = {}  # results of `inner`
        self._start: list[int] = index.sources.start.tolist()
        self._to: list[int] = index.sources.to.tolist()
        self._port: list[int] = index.sources.port.tolist()
        first = [i for i, kind in enumerate(index.types) if kind in ENTER or kind in SWITCH]
        self._walk(np.flatnonzero(traversal.forward(index, first)).tolist())

    def sources(self, op: int) -> list[int]:
        """The ops whose tensors an op consumes, in slot order, then those that it waits for."""
        return self._to[self._start[op] : self._start[op + 1]]

    def slot(self, op: int, slot: int) -> Tensor | None:
        """The tensor that an op consumes at a slot."""
        edge = self._start[op] + slot
        exists = edge < self._start[op + 1] and self._port[edge] >= 0
        return (self._to[edge], self._port[edge]) if exists else None

    def path(self, context: int) -> tuple[int, ...]:
        """The contexts around a context, outermost first, then itself."""
        without_path = []
        at = context
        while at not in self._paths:
            without_path.append(at)
            at = self.parent[at]
        for inner in reversed(without_path):
            self._paths[inner] = (*self._paths[self.parent[inner]], inner)
        return self._paths[context]

    def frame(self, path: Iterable[int]) -> int:
        """The first loop of some contexts, in the order to look at; 0 if there is none."""
        return next((c for c in path if isinstance(self.key[c], str)), _OUTSIDE)

    def _walk(self, ops: list[int]) -> None:
        """Settle the ops after an Enter or a Switch, each after what it consumes and waits for."""
        types, inside, output = self.index.types, self.inside, self._output
        start, to = self._start, self._to
        next_iterations = [op for op in ops if types[op] in NEXT]
        for op in ops:
            output[op] = _NEW
        for op in next_iterations:
            output[op] = _OUTSIDE  # what comes back by them is in the loop anyway
        for op in ops:
            if output[op] != _NEW:
                continue
            contexts = {output[source] for source in to[start[op] : start[op + 1]]}
            contexts.discard(_OUTSIDE)
            is_known = min(contexts, default=_OUTSIDE) >= 0
            if len(contexts) < 2 and types[op] not in _SPECIAL and is_known:
                # Its inputs are from one context, as with nearly all ops: settled here, for speed.
                inside[op] = output[op] = contexts.pop() if contexts else _OUTSIDE
            else:
                self._settle(op)
        for op in next_iterations:
            inside[op] = self._around(op)

    def _settle(self, op: int) -> None:
        """Settle an op after what it consumes and waits for; of a cycle, the first op is last."""
        output = self._output
        stack = [op]
        while stack:
            op = stack[-1]
            if output[op] == _NEW:
                output[op] = _OPEN
                before = [source for source in self.sources(op) if output[source] == _NEW]
                if before:
                    stack += before
                    continue
            stack.pop()
            if output[op] == _OPEN:
                self.inside[op], output[op] = self._resolve(op)

    def _resolve(self, op: int) -> tuple[int, int]:
        """The context of an op, and that of what it hands on."""
        kind = self.index.types[op]
        here = self._after_merge(op) if kind in MERGE else self._around(op)
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
        to, port = self._to, self._port
        edges = range(self._start[op], self._start[op + 1])
        return [(self.output_context(to[edge], port[edge]), edge) for edge in edges]

    def output_context(self, op: int, port: int) -> int:
        """The context of what an op hands on: by an output, or by a control edge (port CONTROL)."""
        context = self._output[op]
        if context == _BY_PORT:
            return self._branch(op, port)
        return max(context, _OUTSIDE)  # one that is not known yet does not count

    def _around(self, op: int) -> int:
        """The innermost context of what an op consumes and waits for."""
        here = _OUTSIDE
        for context, _ in self._input_contexts(op):
            here = self.inner(here, context)
        return here

    def _after_merge(self, op: int) -> int:
        """The context after the branches that a Merge joins; a loop's Merge stays in the loop."""
        paths = []
        for context, edge in self._input_contexts(op):
            is_control = self._port[edge] < 0
            if not is_control and self.index.types[self._to[edge]] not in NEXT:
                paths.append(self.path(context))
        shared = shared_prefix(paths)
        here = paths[0][shared - 1] if shared else _OUTSIDE
        closed = next((self.key[path[shared]] for path in paths if len(path) > shared), "")
        if not isinstance(closed, str):  # it is a predicate
            self.closes[here, closed].append(op)
        return here

    def _branch(self, switch: int, port: int) -> int:
        """The context of what a Switch hands on."""
        here, predicate = self._splits[switch]
        ports = len(self.index) if self.index.types[switch] == "_SwitchN" else 2
        return self._context(here, here, predicate, port) if 0 <= port < ports else here

    def _loop(self, here: int, op: int) -> int:
        """The context of an Enter's loop, which is in the innermost context of all its Enters."""
        name = text_attribute(self.index.nodes[op], "frame_name").decode(errors="replace")
        # By the loop around, since not every Enter of a loop in a branch need be in that branch.
        outer_loop = self.frame(reversed(self.path(here)))
        loop = self._context(here, outer_loop, name)
        path_of_loop, path_of_enter = self.path(self.parent[loop]), self.path(here)
        shared = shared_prefix([path_of_loop, path_of_enter])
        if shared < min(len(path_of_loop), len(path_of_enter)):
            return self._context(here, here, name)  # imported once for each branch
        if len(path_of_enter) > len(path_of_loop) and loop not in path_of_enter:
            self.parent[loop] = here
            # The results that are kept may have passed the old parent.
            self._paths = {_OUTSIDE: ()}
            self._inner = {}
        return loop

    def _context(self, parent: int, at: int, key: str | Tensor, branch: int = -1) -> int:
        """The context that has a key at another one, which is made if there is none.

        One that would be too deep is not made; its `parent` is in its place.
        """
        if (at, key, branch) not in self._context_numbers:
            if len(self.path(parent)) >= _MAX_DEPTH:
                return parent
            self._context_numbers[at, key, branch] = len(self.key)
            self.parent.append(parent)
            self.key.append(key)
            self.branch.append(branch)
        return self._context_numbers[at, key, branch]

    def inner(self, a: int, b: int) -> int:
        """The inner one of two contexts; of two branches beside each other, a context in both."""
        if a == b or not b:
            return a
        if (a, b) not in self._inner:
            shorter, longer = sorted((self.path(a), self.path(b)), key=len)
            shared = shared_prefix([shorter, longer])
            # The branches of one path are opened again in the other; a loop cannot be.
            if self.frame(shorter[shared:]):
                shorter, longer = longer, shorter
            here = longer[-1]
            for context in shorter[shared:]:
                key = self.key[context]
                is_branch = not isinstance(key, str)
                if is_branch and key not in {self.key[outer] for outer in self.path(here)}:
                    here = self._context(here, here, key, self.branch[context])
            self._inner[a, b] = here
        return self._inner[a, b]

    def _predicate(self, switch: int) -> Tensor | None:
        """The tensor that decides a Switch, before Identities; None for a loop's Switch."""
        predicate = self.slot(switch, 1)
        for _ in range(_MAX_DEPTH):
            if predicate is None or self.index.types[predicate[0]] not in IDENTITY:
                break
            before = self.slot(predicate[0], 0)
            if before is None:
                break
            predicate = before
        if predicate is not None and self.index.types[predicate[0]] in LOOP_CONDITION:
            return None
        return predicate


def shared_prefix(rows: Sequence[list[str]] | Sequence[tuple[int, ...]]) -> int:
    """How many first items all of some sequences have in common."""
    if not rows:
        return 0
    # What the least and the greatest have in common, all between them have too.
    least, greatest = min(rows), max(rows)
    for count, (a, b) in enumerate(zip(least, greatest, strict=False)):
        if a != b:
            return count
    return len(least)


def ops_outside_loops(contexts: Contexts) -> list[int]:
    """The Exits and NextIterations that run outside of all loops.

    TensorFlow's executor may end the process there.
    """
    result = []
    for op, kind in enumerate(contexts.index.types):
        if kind in EXIT or kind in NEXT:
            path = contexts.path(contexts.inside[op])
            if not contexts.frame(reversed(path)):
                result.append(op)
    return result
