"""The subgraph that signatures need, cut at their inputs, as NodeDefs of a separate graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.graph import (
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    Mask,
    Signature,
    needed_ops,
    pairs,
    traversal,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import (
    as_input,
    colocate,
    colocated_with,
    split_input,
    split_tensor,
    take_free_name,
)
from tfgraphwidget.runtime.sandbox import without_remote_device
from tfgraphwidget.sources import shape_proto, tf_protos
from tfgraphwidget.tf_types import DataType, NodeDef

Tensor = tuple[int, int]
"""Op and port."""


@dataclass(frozen=True)
class ExportedSubgraph:
    """A graph: its NodeDefs, and the signatures with the names that tensors have in it."""

    nodes: tuple[NodeDef, ...]
    signatures: tuple[Signature, ...]


def extract_subgraph(
    index: GraphIndex, signatures: Sequence[Signature], more: Collection[str] = ()
) -> ExportedSubgraph:
    """Extract the ops that signatures, and the ops `more`, need. Their inputs become placeholders.

    The placeholder of an input that is computed for another signature, or for `more`, has that
    value as its default.

    Raises:
        GraphEditError: For a placeholder that is not among the inputs.
    """
    needs = [*ops_needed_by(index, signatures), needed_ops(index, (), more)]
    placeholders = _InputPlaceholders(
        index, needs, [*(set(_inputs(index, s)) for s in signatures), set()]
    )
    for signature in signatures:
        for (key, _), tensor in zip(signature.inputs, _inputs(index, signature), strict=True):
            placeholders.add(key, tensor)
    renamed = [placeholders.signature(signature) for signature in signatures]
    ops = np.flatnonzero(placeholders.whole).tolist()
    inside = {index.names[i] for i in ops}
    nodes = [_rewire(index.nodes[i], placeholders.instead, inside) for i in ops]
    return ExportedSubgraph((*placeholders.nodes, *nodes), tuple(renamed))


def ops_needed_by(index: GraphIndex, signatures: Iterable[Signature]) -> list[Mask]:
    """The ops that each signature needs; raises GraphEditError for another placeholder."""
    masks = []
    for signature in signatures:
        inputs = [tensor for _, tensor in signature.inputs]
        starts = [*inputs, *fully_fed_ops(index, inputs)]
        need = needed_ops(
            index, starts, [tensor for _, tensor in signature.outputs if tensor not in inputs]
        )
        fed = {index.op(tensor) for tensor in inputs}
        for op in np.flatnonzero(need).tolist():
            if index.types[op] in REQUIRED_PLACEHOLDERS and op not in fed:
                name = index.names[op]
                raise GraphEditError(
                    f"The outputs also need placeholder {name!r}; add '{name}:0' to the inputs.",
                    [name],
                )
        masks.append(need)
    return masks


def ops_needed(index: GraphIndex, signatures: Iterable[Signature]) -> Mask:
    """The ops that any signature needs, none without signatures; raises as `ops_needed_by`."""
    needed: Mask = np.logical_or.reduce(
        [np.zeros(len(index), bool), *ops_needed_by(index, signatures)]
    )
    return needed


def fully_fed_ops(index: GraphIndex, inputs: Sequence[str]) -> set[str]:
    """The ops with all tensors among the inputs: control inputs from them can go."""
    input_tensors = set(pairs(index, inputs))
    ports = Counter(op for op, _ in input_tensors)
    return {index.names[op] for op, count in ports.items() if count == len(index.dtypes(op))}


def _inputs(index: GraphIndex, signature: Signature) -> list[Tensor]:
    return pairs(index, [tensor for _, tensor in signature.inputs])


class _InputPlaceholders:
    """Placeholders for the inputs; `whole` are the ops of the index to extract."""

    def __init__(self, index: GraphIndex, needs: list[Mask], inputs: list[set[Tensor]]) -> None:
        self.index, self._needs, self._inputs = index, needs, inputs
        self.whole: Mask = np.logical_or.reduce(needs)
        self.nodes: list[NodeDef] = []
        self.instead: dict[tuple[str, int], str] = {}
        self._used_names = {name.lower() for name in index.names}

    def add(self, key: str, tensor: Tensor) -> None:
        """Make a tensor that is the input of a signature under a key something that can be fed."""
        op, port = tensor
        name = self.index.names[op]
        if self.index.types[op] in REQUIRED_PLACEHOLDERS:
            self.whole[op] = True
        elif (name, port) not in self.instead:
            default = as_input(name, port) if self._is_computed(tensor) else ""
            self.instead[name, port] = self._placeholder(f"inputs/{key}", tensor, default)

    def _is_computed(self, tensor: Tensor) -> bool:
        """Whether a signature that does not have the tensor as an input needs it."""
        consumers = traversal.consumers_of(self.index, [tensor])
        return any(
            need[tensor[0]] and need[consumers].any()
            for need, signature_inputs in zip(self._needs, self._inputs, strict=True)
            if tensor not in signature_inputs
        )

    def signature(self, original: Signature) -> Signature:
        """A signature with the names that its tensors have in the subgraph."""
        inputs = {tensor for _, tensor in original.inputs}
        outputs = [
            (key, self._fed_tensor(t) if t in inputs else self._value(key, t))
            for key, t in original.outputs
        ]
        return Signature(
            original.name,
            tuple((key, self._fed_tensor(t)) for key, t in original.inputs),
            tuple(outputs),
        )

    def _fed_tensor(self, tensor: str) -> str:
        op, port = split_tensor(tensor)
        return f"{self.instead[op, port or 0]}:0" if (op, port or 0) in self.instead else tensor

    def _value(self, key: str, tensor: str) -> str:
        """The tensor itself; a reference variable's value, as loaders may not fetch references."""
        op, port = pairs(self.index, [tensor])[0]
        if not self.index.dtypes(op)[port].endswith("_ref"):
            return tensor
        node = tf_protos.NodeDef(name=self._free(f"outputs/{key}"), op="Identity")
        node.input.append(as_input(self.index.names[op], port))
        node.attr["T"].type = self._number((op, port))
        self.nodes.append(node)
        return f"{node.name}:0"

    def _placeholder(self, base: str, tensor: Tensor, default: str) -> str:
        node = tf_protos.NodeDef(
            name=self._free(base), op="PlaceholderWithDefault" if default else "Placeholder"
        )
        node.attr["dtype"].type = self._number(tensor)
        node.attr["shape"].shape.CopyFrom(shape_proto(self.index.shape(*tensor)))
        node.input[:] = [default] if default else []
        self.nodes.append(node)
        return str(node.name)

    def _number(self, tensor: Tensor) -> DataType.ValueType:
        return self.index.typing.number(
            self.index.dtypes(tensor[0])[tensor[1]].removesuffix("_ref")
        )

    def _free(self, base: str) -> str:
        return take_free_name(base, self._used_names)


def without_remote_devices(
    request: ExportRequest, nodes: Iterable[NodeDef], kind: str
) -> list[NodeDef]:
    """NodeDefs without devices of other processes, which loaders may lack; a notice says so."""
    nodes = list(nodes)
    here = [without_remote_device(node) for node in nodes]
    remote = [node for node, copy in zip(nodes, here, strict=True) if copy is not node]
    if remote:
        more = f" (and {len(remote) - 1:,} more)" if remote[1:] else ""
        request.notices.append(
            f"{kind} leaves out on which machine op {remote[0].name!r}{more} stands: "
            f"{remote[0].device!r}."
        )
    return here


def _rewire(
    node: NodeDef, instead: Mapping[tuple[str, int], str], inside: Collection[str]
) -> NodeDef:
    """A copy of a NodeDef that reads the placeholders, without references outside."""
    copy = copy_of(node)
    del copy.input[:]
    for text in node.input:
        op, port = key = split_input(text)
        if key in instead:
            copy.input.append(as_input(instead[key], 0))
        elif port >= 0 or op in inside:
            copy.input.append(text)
    beside = colocated_with(node)
    if any(name not in inside for name in beside):
        colocate(copy, [name for name in beside if name in inside])
    return copy
