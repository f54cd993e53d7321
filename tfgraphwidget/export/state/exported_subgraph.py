"""The part of a graph that signatures need, cut at their inputs, as NodeDefs of a graph of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.request import Export
from tfgraphwidget.graph import REQUIRED_PLACEHOLDERS, GraphIndex, Mask, needed, pairs, traversal
from tfgraphwidget.naming import as_input, colocated_with, free_name, split_input, split_tensor
from tfgraphwidget.runtime.sandbox import without_remote_device
from tfgraphwidget.sources import Signature
from tfgraphwidget.tf_types import NodeDef

Tensor = tuple[int, int]
"""Op and port."""


@dataclass(frozen=True)
class Part:
    """NodeDefs that read only each other, and the signatures by the names that tensors have there."""

    nodes: tuple[NodeDef, ...]
    signatures: tuple[Signature, ...]


def cut(index: GraphIndex, signatures: Sequence[Signature], more: Collection[str] = ()) -> Part:
    """What the signatures need, and the ops `more` with all that they need.

    Placeholders stand for the inputs; for one that another signature, or `more`, computes a placeholder with that as
    its default. Raises GraphEditError for a placeholder that nobody would feed.
    """
    needs = [*needed_by(index, signatures), needed(index, (), more)]
    stand_ins = _StandIns(index, needs, [*(set(_inputs(index, s)) for s in signatures), set()])
    for signature in signatures:
        for (key, _), tensor in zip(signature.inputs, _inputs(index, signature), strict=True):
            stand_ins.add(key, tensor)
    made = [stand_ins.signature(signature) for signature in signatures]
    ops = np.flatnonzero(stand_ins.whole).tolist()
    inside = {index.names[i] for i in ops}
    nodes = [_rewired(index.nodes[i], stand_ins.instead, inside) for i in ops]
    return Part((*stand_ins.nodes, *nodes), tuple(made))


def needed_by(index: GraphIndex, signatures: Iterable[Signature]) -> list[Mask]:
    """The ops that each signature needs; raises GraphEditError for a placeholder that nobody would feed."""
    found = []
    for signature in signatures:
        inputs = [tensor for _, tensor in signature.inputs]
        ends = [*inputs, *given_whole(index, inputs)]
        need = needed(index, ends, [tensor for _, tensor in signature.outputs if tensor not in inputs])
        given = {index.op(tensor) for tensor in inputs}
        for op in np.flatnonzero(need).tolist():
            if index.types[op] in REQUIRED_PLACEHOLDERS and op not in given:
                name = index.names[op]
                raise GraphEditError(
                    f"The outputs also need placeholder {name!r}; add '{name}:0' to the inputs.", [name]
                )
        found.append(need)
    return found


def given_whole(index: GraphIndex, inputs: Sequence[str]) -> set[str]:
    """The ops all of whose tensors are among the inputs: nobody waits for these then."""
    given = set(pairs(index, inputs))
    ports = Counter(op for op, _ in given)
    return {index.names[op] for op, count in ports.items() if count == len(index.dtypes(op))}


def _inputs(index: GraphIndex, signature: Signature) -> list[Tensor]:
    return pairs(index, [tensor for _, tensor in signature.inputs])


class _StandIns:
    """The NodeDefs that stand for inputs; `whole` are the ops of the index that go along."""

    def __init__(self, index: GraphIndex, needs: list[Mask], inputs: list[set[Tensor]]) -> None:
        self.index, self._needs, self._inputs = index, needs, inputs
        self.whole: Mask = np.logical_or.reduce(needs)
        self.nodes: list[NodeDef] = []
        self.instead: dict[tuple[str, int], str] = {}
        self._taken = {name.lower() for name in index.names}

    def add(self, key: str, tensor: Tensor) -> None:
        """Something to feed for a tensor that some signature takes in under a key."""
        op, port = tensor
        name = self.index.names[op]
        if self.index.types[op] in REQUIRED_PLACEHOLDERS:
            self.whole[op] = True
        elif (name, port) not in self.instead:
            default = as_input(name, port) if self._is_computed(tensor) else ""
            self.instead[name, port] = self._placeholder(f"inputs/{key}", tensor, default)

    def _is_computed(self, tensor: Tensor) -> bool:
        """Whether something that is not given the tensor reads it."""
        readers = traversal.readers_of(self.index, [tensor])
        return any(
            need[tensor[0]] and need[readers].any()
            for need, given in zip(self._needs, self._inputs, strict=True)
            if tensor not in given
        )

    def signature(self, given: Signature) -> Signature:
        """A signature by the names that its tensors have in the part."""
        own = {tensor for _, tensor in given.inputs}
        outputs = [(key, self._fed(t) if t in own else self._value(key, t)) for key, t in given.outputs]
        return Signature(given.name, tuple((key, self._fed(t)) for key, t in given.inputs), tuple(outputs))

    def _fed(self, tensor: str) -> str:
        op, port = split_tensor(tensor)
        return f"{self.instead[op, port or 0]}:0" if (op, port or 0) in self.instead else tensor

    def _value(self, key: str, tensor: str) -> str:
        """The tensor itself; of a reference variable what it holds, since not all who load a model can fetch that."""
        op, port = pairs(self.index, [tensor])[0]
        if not self.index.dtypes(op)[port].endswith("_ref"):
            return tensor
        node = tf.compat.v1.NodeDef(name=self._free(f"outputs/{key}"), op="Identity")
        node.input.append(as_input(self.index.names[op], port))
        node.attr["T"].type = self._number((op, port))
        self.nodes.append(node)
        return f"{node.name}:0"

    def _placeholder(self, wanted: str, tensor: Tensor, default: str) -> str:
        node = tf.compat.v1.NodeDef(name=self._free(wanted), op="PlaceholderWithDefault" if default else "Placeholder")
        node.attr["dtype"].type = self._number(tensor)
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(self.index.shape(*tensor)).as_proto())
        node.input[:] = [default] if default else []
        self.nodes.append(node)
        return str(node.name)

    def _number(self, tensor: Tensor) -> int:
        return self.index.typing.number(self.index.dtypes(tensor[0])[tensor[1]].removesuffix("_ref"))

    def _free(self, wanted: str) -> str:
        name = free_name(wanted, self._taken)
        self._taken.add(name.lower())
        return name


def placed(what: Export, nodes: Iterable[NodeDef], kind: str) -> list[Any]:
    """NodeDefs without devices of other processes, which whoever loads the model need not have; a notice says so."""
    nodes = list(nodes)
    here = [without_remote_device(node) for node in nodes]
    moved = [node for node, copy in zip(nodes, here, strict=True) if copy is not node]
    if moved:
        more = f" (and {len(moved) - 1:,} more)" if moved[1:] else ""
        what.notice(f"{kind} leaves out on which machine op {moved[0].name!r}{more} stands: {moved[0].device!r}.")
    return here


def _rewired(node: NodeDef, instead: Mapping[tuple[str, int], str], inside: Collection[str]) -> Any:
    """A copy of a NodeDef that reads placeholders, without control inputs and colocation to what is left behind."""
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.input[:]
    for text in node.input:
        op, port = key = split_input(text)
        if key in instead:
            copy.input.append(as_input(instead[key], 0))
        elif port >= 0 or op in inside:
            copy.input.append(text)
    beside = colocated_with(node)
    if any(name not in inside for name in beside):
        kept = [f"loc:@{name}".encode() for name in beside if name in inside]
        copy.attr["_class"].list.s[:] = kept
    return copy
