"""Rewriting of constants that hold an old size, within the patch that changes the size."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import cast

import numpy as np

from tfgraphwidget.edits.patch import NodeChange, Patch, StaleConstant, apply_patch
from tfgraphwidget.edits.rewrite import constant_sizes
from tfgraphwidget.graph import GraphIndex, tensor_values, walk_from
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_input, take_free_name
from tfgraphwidget.tf_types import DataType, NodeDef


class SizeRewriter:
    """Rewrites constants in a patch.

    Args:
        index: The graph.
        op: The placeholder that has the size when the graph runs.
        patch: The patch.
        keep: Constants that stay: those that a call gives for a function's arguments.
    """

    def __init__(
        self, index: GraphIndex, op: int, patch: Patch, keep: Collection[str] = ()
    ) -> None:
        self.index, self.op, self.patch, self.keep = index, op, patch, keep
        self.after = apply_patch(index, replace(patch, shapes=()))
        self.nodes: dict[str, NodeDef] = {}
        self.new_nodes: list[NodeDef] = []
        self._copies: dict[tuple[str, str], str] = {}
        names = (*self.after.names, *self.after.scopes.names)
        self.used_names = {name.lower() for name in names} | self.after.reserved

    def rewrite(self, stale: Iterable[StaleConstant]) -> Patch:
        """The patch with these rewritten."""
        groups: dict[tuple[str, str], list[StaleConstant]] = {}
        uniform: dict[str, list[StaleConstant]] = {}
        for one in stale:
            if one.proposed is not None and one.at is None:
                uniform.setdefault(one.op, []).append(one)
            elif one.proposed is not None and self._place(one) is not None:
                groups.setdefault((one.op, self._nearest_consumer(one)), []).append(one)
        for group in uniform.values():
            self._resize_uniform(group)
        for (_, consumer), group in groups.items():
            if all(isinstance(self._new_size(one), int) for one in group):
                for one in group:
                    self._rewrite(one, consumer)
            else:
                self._compute(group, consumer)
        return self._merge_patch()

    def _new_size(self, one: StaleConstant) -> int | str:
        """The new size, as a number or as the text of what computes it."""
        at = self._place(one) or 0
        return one.proposed[at] if isinstance(one.proposed, tuple) else one.proposed or 0

    def _place(self, one: StaleConstant) -> int | None:
        """The position of the size in the value."""
        if isinstance(one.value, int) or one.at is None:
            return one.at
        node = self.after.nodes[self.after.ids[one.op]]
        values = constant_sizes.constant_integers(self.after, node, max_rank=2) or []
        return one.at if len(values) == len(one.value) else None

    def _node(self, name: str) -> NodeDef:
        if name not in self.nodes:
            node = self.nodes[name] = type(self.after.nodes[0])()
            node.CopyFrom(self.after.nodes[self.after.ids[name]])
        return self.nodes[name]

    def _rewrite(self, one: StaleConstant, consumer: str) -> None:
        """In the constant itself if it has no other consumer and may change, else beside it."""
        op = self.after.ids[one.op]
        name = one.op
        if name in self.keep or len(set(self.after.consumer_lists[op])) > 1:
            name = self._beside(one, consumer)
        if name in self.after.ids:
            node = self._node(name)
        else:
            node = next(n for n in self.new_nodes if n.name == name)
        values = constant_sizes.constant_integers(self.after, node, max_rank=2)
        if values is None:  # a single number of another dtype
            dtype = tensor_values.numpy_dtype(self.after.dtypes(op)[0])
            tensor = node.attr["value"].tensor
            shape = [dimension.size for dimension in tensor.tensor_shape.dim]
            number = np.full(shape, self._new_size(one), dtype)
            tensor_values.set_tensor(tensor, number, tensor.dtype)
            return
        values[one.at or 0] = int(self._new_size(one))
        constant_sizes.set_integers(self.after, node, values)

    def _resize_uniform(self, group: list[StaleConstant]) -> None:
        """Give a constant of one number everywhere its new size in each dimension `slot`, or let
        its consumers read the number in a size that is computed when the graph runs.
        """
        sizes = list(cast("tuple[int, ...]", group[0].value))
        computed: dict[int, StaleConstant] = {}
        for one in group:
            size = cast("tuple[int | str, ...]", one.proposed)[one.slot]
            if isinstance(size, int):
                sizes[one.slot] = size
            else:
                computed[one.slot] = one
        name = group[0].op
        if computed:
            self._fill(name, sizes, computed)
            return
        for one in group:
            constant_sizes.set_uniform_size(self._node(name), one.slot, sizes[one.slot])

    def _fill(self, name: str, sizes: list[int], computed: dict[int, StaleConstant]) -> None:
        """Let the consumers of a constant of one number everywhere read a tensor of that number, of
        which some sizes are computed.
        """
        int32, constant = self.index.typing.number("int32"), self.after.ids[name]
        scope = f"{name}/sizes"
        value = copy_of(self.after.nodes[constant])
        value.name = self._free(f"{name}/value")
        constant_sizes.set_scalar(value)
        self.new_nodes.append(value)
        dims = self._add(
            f"{scope}/Pack",
            "Pack",
            [
                self._size(computed[k], scope)
                if k in computed
                else self._constant(f"{scope}/{k}", [size], scalar=True)
                for k, size in enumerate(sizes)
            ],
            T=int32,
            N=len(sizes),
            axis=0,
        )
        filled = self._add(
            f"{name}/Fill", "Fill", [dims, value.name], T=value.attr["dtype"].type, index_type=int32
        )
        for consumer in dict.fromkeys(self.after.consumer_lists[constant]):
            self._redirect(name, self.after.names[consumer], filled)

    def _beside(self, one: StaleConstant, consumer_name: str) -> str:
        """A copy of the constant for one consumer alone; the same one for each size of it."""
        key = one.op, consumer_name
        if key not in self._copies:
            node = copy_of(self.after.nodes[self.after.ids[one.op]])
            node.name = self._free(f"{one.consumer}/{one.op.rpartition('/')[2]}")
            self.new_nodes.append(node)
            self._redirect(one.op, consumer_name, str(node.name))
            self._copies[key] = str(node.name)
        return self._copies[key]

    def _redirect(self, constant: str, consumer: str, name: str) -> None:
        """Let a consumer read an op in place of a constant."""
        node = self._node(consumer)
        node.input[:] = [
            name if split_input(text) == (constant, 0) else text for text in node.input
        ]

    def _nearest_consumer(self, one: StaleConstant) -> str:
        """The op by which the constant goes to its consumer: itself, or one that joins sizes."""
        after, const = self.after, self.after.ids[one.op]
        way = walk_from([after.ids[one.consumer]], after.input_lists.__getitem__)
        nearest = (after.names[op] for op in way if const in after.input_lists[op])
        return next(nearest, one.consumer)

    def _free(self, base: str) -> str:
        return take_free_name(base, self.used_names)

    def _add(self, name: str, op_type: str, inputs: Iterable[str], **attributes: int) -> str:
        node = type(self.after.nodes[0])(name=self._free(name), op=op_type, input=inputs)
        for key, value in attributes.items():
            if key in ("T", "out_type", "Index", "index_type"):
                node.attr[key].type = cast("DataType.ValueType", value)
            else:
                node.attr[key].i = value
        self.new_nodes.append(node)
        return str(node.name)

    def _constant(self, name: str, values: list[int], *, scalar: bool = False) -> str:
        int32 = self.index.typing.number("int32")
        self.new_nodes.append(
            constant_sizes.integer_constant(
                self.after.nodes[0], self._free(name), values, int32, scalar=scalar
            )
        )
        return str(self.new_nodes[-1].name)

    def _compute(self, group: list[StaleConstant], consumer: str) -> None:
        """Let the consumer take sizes that are computed when the graph runs in place of the numbers
        of a constant.
        """
        int32, first = self.index.typing.number("int32"), group[0]
        scope = f"{first.consumer}/sizes"
        values = list(first.value) if isinstance(first.value, tuple) else [first.value]
        sizes: dict[int, str] = {}
        for one in group:
            at, new = self._place(one) or 0, self._new_size(one)
            if isinstance(new, int):
                values[at] = new
            else:
                sizes[at] = self._size(one, scope)
        size = next(iter(sizes.values()))
        if isinstance(first.value, tuple):
            parts = [
                sizes[k] if k in sizes else self._constant(f"{scope}/{k}", [value], scalar=True)
                for k, value in enumerate(values)
            ]
            size = self._add(f"{scope}/Pack", "Pack", parts, T=int32, N=len(parts), axis=0)
        tensor = self.after.nodes[self.after.ids[first.op]].attr["value"].tensor
        if tensor.dtype != int32:
            size = self._cast(f"{scope}/Cast", size, tensor.dtype)
        self._redirect(first.op, consumer, size)

    def _size(self, one: StaleConstant, scope: str) -> str:
        """The op that computes a size from the shape of a tensor: of the input, or of what the
        consumer reads.
        """
        int32 = self.index.typing.number("int32")
        source = one.source or self.index.names[self.op]
        name, port = split_input(source)
        dtype = self.index.typing.number(self.after.dtypes(self.after.ids[name])[port])
        shape = self._add(
            f"{scope}/Shape", "Shape", [source if port else name], T=dtype, out_type=int32
        )
        step = self._constant(f"{scope}/strides", [1])
        masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask"), 0)
        size = ""
        for position in one.positions:
            bounds = [
                self._constant(f"{scope}/{part}", [k])
                for part, k in (("begin", position), ("end", position + 1))
            ]
            sliced = [shape, *bounds, step]
            factor = self._add(
                f"{scope}/size",
                "StridedSlice",
                sliced,
                T=int32,
                Index=int32,
                shrink_axis_mask=1,
                **masks,
            )
            size = self._add(f"{scope}/Mul", "Mul", [size, factor], T=int32) if size else factor
        if one.times != 1:
            times = self._constant(f"{scope}/times", [one.times], scalar=True)
            size = self._add(f"{scope}/Mul", "Mul", [size, times], T=int32)
        if one.plus:
            plus = self._constant(f"{scope}/plus", [one.plus], scalar=True)
            size = self._add(f"{scope}/AddV2", "AddV2", [size, plus], T=int32)
        return size

    def _cast(self, name: str, size: str, dtype: DataType.ValueType) -> str:
        node = type(self.after.nodes[0])(name=self._free(name), op="Cast", input=[size])
        node.attr["SrcT"].type, node.attr["DstT"].type = self.index.typing.number("int32"), dtype
        node.attr["Truncate"].b = False
        self.new_nodes.append(node)
        return str(node.name)

    def _merge_patch(self) -> Patch:
        """The patch, together with the new and changed constants."""
        ids = self.index.ids
        changed = {edited.name: edited for edited in self.patch.changed}
        for name, node in self.nodes.items():
            if name in ids:
                changed[name] = NodeChange(self.index.nodes[ids[name]], node)
        added = tuple(self.nodes.get(node.name, node) for node in self.patch.add.nodes)
        return replace(
            self.patch,
            add=replace(self.patch.add, nodes=(*added, *self.new_nodes)),
            changed=tuple(sorted(changed.values(), key=lambda edited: ids[edited.name])),
        )
