"""A part of a graph: its ops, the tensors at its boundary, and its variables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.edges import CONTROL, Ids, Mask
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.op_types import HANDLES
from tfgraphwidget.graph.state_initializers import computed_from_outside, from_outside
from tfgraphwidget.graph.variables import definitions
from tfgraphwidget.naming import split_tensor

Tensor = tuple[int, int]


class Part:
    """The ops of `index` in `mask`; `tensors` are names of tensors chosen beside them."""

    index: GraphIndex
    mask: Mask
    tensors: tuple[str, ...]

    @cached_property
    def ids(self) -> frozenset[int]:
        """The numbers of the ops."""
        return frozenset(np.flatnonzero(self.mask).tolist())

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """Names of the ops, in graph order."""
        return tuple(map(self.index.names.__getitem__, np.flatnonzero(self.mask).tolist()))

    @cached_property
    def _read(self) -> dict[Tensor, None]:
        """The tensors that ops inside read, in the order of first use."""
        return self._tensors(self.index.inputs.values, self.index.ports, self.mask[self._owners])

    @cached_property
    def _owners(self) -> Ids:
        """For each data edge the op that reads."""
        return self.index.inputs.owner

    @staticmethod
    def _tensors(ops: Ids, ports: Ids, selected: Mask) -> dict[Tensor, None]:
        return dict.fromkeys(zip(ops[selected].tolist(), ports[selected].tolist(), strict=True))

    def _tensor_names(self, tensors: Iterable[Tensor]) -> tuple[str, ...]:
        return tuple(f"{self.index.names[op]}:{port}" for op, port in tensors)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tensors read inside and produced outside, by first use; then the passthroughs."""
        return self._tensor_names(t for t in self._read if not self.mask[t[0]]) + self.passthroughs

    @cached_property
    def inside(self) -> tuple[str, ...]:
        """Tensors produced and read inside, by first use; those read outside are outputs."""
        return self._tensor_names(t for t in self._read if self.mask[t[0]])

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Tensors produced inside and read outside or nowhere, in order; then passthroughs."""
        edges = self.index.consumer_edges
        owner = edges.owner
        data = self.mask[owner] & (edges.port != CONTROL)
        outward = self._tensors(owner, edges.port, data & ~self.mask[edges.to])
        read = self._tensors(owner, edges.port, data)
        tensors = set(outward)
        for op in np.flatnonzero(self.mask).tolist():
            count = len(self.index.typing.dtypes(self.index.nodes[op]))
            tensors.update((op, port) for port in range(count) if (op, port) not in read)
        return self._tensor_names(sorted(tensors)) + self.passthroughs

    @cached_property
    def boundary(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The inputs and outputs that a path joins: what a boundary around these ops would name.

        Tensors that are computed from nothing that comes from outside are not inputs: variables and
        constants belong to the part, also those that wait for an op outside. What an op inside
        brings in (a placeholder) is one. Tensors without consumers are outputs of ops that only end
        there.
        """
        source, outside = self.index.inputs.values, from_outside(self.index)
        fed = computed_from_outside(self.index)
        brings_in = ~self.mask & fed if fed.any() else ~self.mask
        entering = self.mask[self._owners] & (outside | brings_in)[source]
        reached = traversal.forward(self.index, self._owners[entering], within=self.mask)
        ops = {name: self.index.op(name) for name in self.outputs}
        outputs = [name for name, op in ops.items() if reached[op]]
        outputs = [name for name in outputs if not self._is_by_product(name, ops[name])]
        used = traversal.backward(self.index, [ops[name] for name in outputs], within=self.mask)
        inputs = self._tensors(source, self.index.ports, entering & used[self._owners])
        return self._tensor_names(inputs), tuple(outputs)

    def _is_by_product(self, name: str, op: int) -> bool:
        """Whether a tensor has no consumer and another of its op has: a norm's batch statistics."""
        edges = self.index.consumer_edges
        ports = edges.port[edges.start[op] : edges.start[op + 1]]
        return bool((ports != CONTROL).any()) and split_tensor(name)[1] not in ports

    @cached_property
    def passthroughs(self) -> tuple[str, ...]:
        """The chosen tensors that no op inside produces or reads: they pass through as is."""
        pairs = {name: (self.index.op(name), split_tensor(name)[1]) for name in self.tensors}
        return tuple(
            name for name, t in pairs.items() if not self.mask[t[0]] and t not in self._read
        )

    @cached_property
    def control_inputs(self) -> tuple[str, ...]:
        """Ops outside that ops inside wait for, as "^op", in the order of first use."""
        waited_for = self.index.controls.values[self.mask[self.index.controls.owner]]
        outside = dict.fromkeys(waited_for[~self.mask[waited_for]].tolist())
        return tuple(f"^{self.index.names[op]}" for op in outside)

    @cached_property
    def variables(self) -> tuple[VariableDef, ...]:
        """The variables whose state lies inside, in graph order."""
        variable_ops = [
            i for i in np.flatnonzero(self.mask).tolist() if self.index.types[i] in HANDLES
        ]
        return tuple(definitions(self.index, variable_ops).values())
