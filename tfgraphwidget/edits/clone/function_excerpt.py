"""An excerpt of a function's body that can run alone.

A part of a graph stays connected to the rest of it. A part of a function cannot: the rest runs only
while the function is called. So every tensor from outside is an input of the excerpt, or computed
inside it from constants and from what the function captured; one that hangs on another argument is
refused by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfgraphwidget.errors import NoPath, NotClonable
from tfgraphwidget.graph import (
    ANY_PORT,
    HANDLES,
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    Loop,
    Mask,
    between,
    enclosing_blocks,
    pairs,
    traversal,
)
from tfgraphwidget.sentences import in_cell

Tensor = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Excerpt:
    """Ops of a body that can run alone; op numbers are those of `index`.

    `ops` are copied, in graph order. `inputs` and `outputs` are (op, port) pairs. `reused` are the
    ops that represent state or captured values, which something among `ops` reads; they are not
    copied.
    """

    index: GraphIndex
    ops: tuple[int, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    reused: tuple[int, ...]

    def names(self, tensors: Iterable[Tensor]) -> tuple[str, ...]:
        """The names of tensors, "op:0"."""
        return tuple(f"{self.index.names[op]}:{port}" for op, port in tensors)

    @cached_property
    def waits(self) -> tuple[tuple[int, int], ...]:
        """(op, the op outside that it waits for) for every control edge that is cut through.

        Waiting for an input or for a variable needs no edge: they are there before the excerpt
        runs.
        """
        mask = traversal.mask_of(self.index, self.ops)
        there = {*self.reused, *(op for op, _ in self.inputs)}
        edges = zip(
            self.index.controls.owner.tolist(), self.index.controls.values.tolist(), strict=True
        )
        return tuple((a, b) for a, b in edges if mask[a] and not mask[b] and b not in there)


def excerpt(
    index: GraphIndex,
    reused: Collection[str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    also: Collection[int] = (),
    arguments: Sequence[str] = (),
) -> Excerpt:
    """The ops that `outputs`, and the ops `also`, need downstream of `inputs`.

    `reused` names the ops whose state or value is at hand: captured variables, tables, tensors.
    Without inputs it takes those of the function's `arguments` that are needed. Raises UnknownName,
    NoPath, and NotClonable for what cannot stand alone.
    """
    if not outputs:
        raise NoPath(
            "A part of a function needs an output boundary; name at least one op or tensor in "
            "outputs."
        )
    reused_mask = traversal.mask_of(index, (index.ids[name] for name in reused))
    results = _tensors(index, outputs)
    roots = [*(op for op, _ in results), *also]
    if inputs and not also:
        between(index, inputs, outputs)  # refuses inputs and outputs that no path joins
    elif not inputs:
        needed = traversal.backward(index, roots) & ~reused_mask
        inputs = [name for name in arguments if needed[index.op(name)]]
    cut = _tensors(index, inputs)
    _check_tensors(index, [*cut, *results])
    ops = _ops_to_copy(index, roots, cut, reused_mask)
    _check_copied(index, ops)
    read = traversal.mask_of(
        index, index.inputs.values[ops[index.inputs.owner]]
    ) | traversal.mask_of(index, roots)
    held_ids = np.flatnonzero(read & reused_mask).tolist()
    return Excerpt(
        index, tuple(np.flatnonzero(ops).tolist()), tuple(cut), tuple(results), tuple(held_ids)
    )


def _tensors(index: GraphIndex, names: Iterable[str]) -> list[Tensor]:
    """(op, port) of each name, once; an op's name represents all its tensors."""
    outputs: dict[Tensor, None] = {}
    for op, port in pairs(index, names):
        ports = range(len(index.dtypes(op))) if port == ANY_PORT else [port]
        if not ports:
            raise NotClonable(
                f"Op {index.names[op]!r} has no tensor that could go in or come out; name one that "
                "has.",
                [index.names[op]],
            )
        outputs.update(((op, k), None) for k in ports)
    return list(outputs)


def _ops_to_copy(index: GraphIndex, roots: list[int], cut: list[Tensor], excluded: Mask) -> Mask:
    """The ops to copy: all that the roots read, and what these wait for unless that hangs on
    another argument.
    """
    # Of an op with one tensor, which is given, nothing is left to wait for.
    stop = [(op, ANY_PORT if len(index.dtypes(op)) == 1 else port) for op, port in cut]
    cut_ops = traversal.mask_of(index, [op for op, port in stop if port == ANY_PORT])
    is_open = np.isin(
        np.arange(len(index)),
        [i for i, kind in enumerate(index.types) if kind in REQUIRED_PLACEHOLDERS],
    )
    is_open &= ~excluded
    read = traversal.backward(index, roots, stop=stop, controls=False) & ~cut_ops
    if (read & is_open).any():
        raise _argument_error(index, read, is_open, cut)
    needed = traversal.backward(index, roots, stop=stop) & ~cut_ops
    dependent = traversal.forward(index, np.flatnonzero(needed & is_open), within=needed)
    ops: Mask = (read | (needed & ~dependent)) & ~excluded
    return ops


def _argument_error(index: GraphIndex, read: Mask, is_open: Mask, cut: list[Tensor]) -> NotClonable:
    """The refusal that names the argument, and the tensors that have to be inputs too."""
    hanging = traversal.forward(index, np.flatnonzero(read & is_open), within=read)
    if cut:
        downstream = traversal.forward(index, traversal.consumers_of(index, cut), within=read)
    else:
        downstream = ~hanging & read
    edges = zip(
        index.inputs.owner.tolist(), index.inputs.values.tolist(), index.ports.tolist(), strict=True
    )
    entering = {
        (op, port): None
        for at, op, port in edges
        if downstream[at] and hanging[op] and not downstream[op]
    }
    first = int(np.flatnonzero(read & is_open)[0])
    tensors = [f"{index.names[op]}:{port}" for op, port in entering] or [f"{index.names[first]}:0"]
    some = ", ".join(map(repr, tensors[:3])) + (
        f" and {len(tensors) - 3} more" if tensors[3:] else ""
    )
    return NotClonable(
        f"The part needs {some}, which hangs on the function's argument {index.names[first]!r} and "
        "has no value outside of the function; add it to the inputs.",
        [index.names[op] for op, _ in entering] or [index.names[first]],
    )


def _check_tensors(index: GraphIndex, tensors: Iterable[Tensor]) -> None:
    """Raise for an end inside a v1 loop or conditional, half of which cannot run."""
    for op, _ in tensors:
        blocks = enclosing_blocks(index, op)
        inner = [
            block
            for block in blocks
            if op not in (block.exits if isinstance(block, Loop) else block.merges)
        ]
        if inner:
            kind = "loop" if isinstance(inner[0], Loop) else "conditional"
            raise NotClonable(
                f"Op {index.names[op]!r} is inside v1 {kind} {inner[0].name!r}, of which a copy "
                "needs the whole; choose boundaries wholly before or after it.",
                [index.names[op]],
            )


def _check_copied(index: GraphIndex, ops: Mask) -> None:
    """Raise for what a function's body may hold and a copy of it cannot have right."""
    inside = np.flatnonzero(ops).tolist()
    state = [index.names[i] for i in inside if index.types[i] in HANDLES]
    if state:
        raise NotClonable(
            f"Variable {state[0]!r} is not given by a call that is known here, so its value cannot "
            "be found; "
            + in_cell("enter the function through the op that calls it: editor.view.enter(op)."),
            state,
        )
