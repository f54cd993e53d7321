"""Operands of commands: names as tensors, ops and parts of an index."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tfgraphwidget.edits.rewire.edge_moves import Boundary, Slot, Tensor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, GraphIndex, Selection, check_ports, weak_components
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.sentences import Sentence, either

Names = str | tuple[str, ...]
"""A name, or several."""

Ops = tuple[str, ...] | Selection
"""Ops and name scopes by name, or a selection."""


def as_tuple(names: Names) -> tuple[str, ...]:
    """A name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def tensors(index: GraphIndex, name: str) -> list[Tensor]:
    """The tensor of a name, all tensors of an op's, the control edges of "^op", or UnknownName."""
    if name[:1] == "^" and name not in index.ids:
        return [(index.op(name[1:]), CONTROL)]
    check_ports(index, [name])
    op = index.op(name)
    port = None if name in index.ids else split_tensor(name)[1]
    ports = range(len(index.dtypes(op))) if port is None else [port]
    return [(op, k) for k in ports]


def pair_tensors(
    index: GraphIndex, ones: Names, others: Names, labels: tuple[str, str] | None = None
) -> list[tuple[Tensor, Tensor]]:
    """Pair names of tensors, of ops for all their outputs, or "^op" for control edges, in order.
    Raises UnknownName, and GraphEditError where the numbers differ, or a tensor is named twice.
    """
    ones, others = as_tuple(ones), as_tuple(others)
    one_side = [tensor for name in ones for tensor in tensors(index, name)]
    other_side = [tensor for name in others for tensor in tensors(index, name)]
    a, b = labels or (names_text(ones) or "nothing", names_text(others) or "nothing")
    if len(one_side) != len(other_side):
        raise GraphEditError(
            a
            + f" is {len(one_side)} tensor{'s' * (len(one_side) != 1)} and "
            + b
            + f" is {len(other_side)} tensor{'s' * (len(other_side) != 1)}, so they make no pairs; "
            "name as many on both sides ('op:0' is a tensor, '^op' the control edges of an op).",
            _ops(index, (*one_side, *other_side)),
        )
    if len(set(one_side)) < len(one_side):
        twice = next(tensor for k, tensor in enumerate(one_side) if tensor in one_side[:k])
        raise GraphEditError(
            f"{index.names[twice[0]]!r} is named twice in " + a + "; name each tensor once.",
            _ops(index, [twice]),
        )
    pairs = list(zip(one_side, other_side, strict=True))
    for old, new in pairs:
        if (old[1] == CONTROL) != (new[1] == CONTROL):
            raise GraphEditError(
                a
                + " and "
                + b
                + " pair a tensor with control edges; write '^op' on both sides, or on none.",
                _ops(index, [old, new]),
            )
    return pairs


def _ops(index: GraphIndex, tensor_pairs: Iterable[Tensor]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(index.names[op] for op, _ in tensor_pairs))


def is_scope(index: GraphIndex, name: str) -> bool:
    """Whether a name means a name scope: "a/", or "a" where no op has that name."""
    return name not in index.ids and name.rstrip("/") in index.scopes.ids


def members(index: GraphIndex, what: Ops) -> frozenset[int]:
    """The numbers of ops that are given by their names and scopes. Raises UnknownName for a name
    that neither an op nor a scope has.
    """
    if isinstance(what, Selection):
        return what.on(index).ids
    numbers = set()
    for name in what:
        if is_scope(index, name):
            numbers.update(index.scopes.ops(index.scopes.scope(name)).tolist())
        else:
            numbers.add(index.op(name))
    return frozenset(numbers)


def part_text(part: str | Iterable[str] | Selection) -> Sentence:
    """A part of a graph as a part of a sentence; a selection is Python, or on the page ops."""
    if isinstance(part, Selection):
        return either(repr(part), names_text(part.ops))
    return Sentence(repr(part))


def as_part(index: GraphIndex, what: str | Selection) -> Selection:
    """An op, a scope, or a selection without tensors chosen with it; empty without ops."""
    selection = what.on(index) if isinstance(what, Selection) else None
    ops = members(index, (what,)) if isinstance(what, str) else members(index, what)
    return Selection.of(index, sorted(ops), "" if selection is None else selection.expression)


def connected_parts(index: GraphIndex, part: Selection) -> list[Selection]:
    """The parts of a selection that no edge between two of its ops joins, in graph order."""
    ops = sorted(part.ids)
    number = np.full(len(index), -1, dtype=np.int64)  # of each op among those of the part
    number[ops] = np.arange(len(ops))
    consumers = np.concatenate([index.inputs.owner, index.controls.owner])
    sources = np.concatenate([index.inputs.values, index.controls.values])
    edges = np.stack([number[consumers], number[sources]], axis=1)
    labels = weak_components(len(ops), edges[(edges >= 0).all(axis=1)])
    parts: dict[int, list[int]] = {}
    for op, label in zip(ops, labels, strict=True):
        parts.setdefault(label, []).append(op)
    return [part] if len(parts) == 1 else [Selection.of(index, some, "") for some in parts.values()]


def outputs_of(index: GraphIndex, what: str | Selection) -> tuple[str, ...]:
    """The tensors that an op, a scope or a selection gives, in graph order."""
    if isinstance(what, Selection) and not what.on(index).ids:
        return what.on(index).tensors
    if isinstance(what, str) and what in index.ids:
        op = index.ids[what]
        return tuple(f"{what}:{port}" for port in range(len(index.dtypes(op))))
    return as_part(index, what).outputs


def slots_of(index: GraphIndex, what: str | Selection) -> list[list[Slot]]:
    """The inputs of an op one by one; of a scope or selection, each tensor's consumers."""
    if isinstance(what, str) and what in index.ids:
        op = index.ids[what]
        return [[(op, k)] for k in range(len(index.inputs.row(op)))]
    return list(Boundary(index, as_part(index, what).mask).entering.values())
