"""FoldBatchNorm: fold a batch normalization of constants into the weights of the convolution before it.

What a normalization does in inference is to multiply each channel by a number and to add another one. A convolution (or
matrix product) with weights times these numbers gives the same, and a BiasAdd adds the rest. Both ways to write it are
known: one FusedBatchNorm op, and the arithmetic of `tf.nn.batch_normalization`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import Array, PlanContext
from tfgraphwidget.edits.patch import Change, Patch, removal_of
from tfgraphwidget.edits.registry import EditButton, register
from tfgraphwidget.edits.rewrite.consumers import ConsumerRewriter, OpsArgument, attribute, resolve_ops
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, FOLDABLE_LAYERS, FUSED_BATCH_NORMS, GraphIndex, Mask, traversal
from tfgraphwidget.naming import as_input, free_name, split_input, split_tensor
from tfgraphwidget.tf_types import AttrValue, NodeDef

Tensor = tuple[int, int]


@register(
    button=EditButton("Fold batch norm", "Fold batch normalization into the preceding weights", on="graph", order=120)
)
@dataclass(frozen=True)
class FoldBatchNorm(Command):
    """Fold batch normalizations into the weights of the convolution or matrix product before them.

    A normalization is folded if its parameters are constants, it is in inference mode, and only it uses the weights.

    Attributes:
        what: Ops that hold the normalizations; () for all of the graph.
    """

    what: OpsArgument = ()

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError when there is nothing to fold, saying why the first one cannot be."""
        index = context.index
        ops = resolve_ops(index, self.what) if self.what else range(len(index))
        folding = _FoldFinder(index)
        found = [fold for op in ops if (fold := folding.of(op)) is not None]
        if not found:
            raise GraphEditError(folding.why or "There is no batch normalization here; name ops that hold one.")
        tensors = list(dict.fromkeys(name for fold in found for name in fold.numbers(index)))
        values = dict(zip(tensors, context.constant_values(tensors), strict=True))
        making = _FoldedOps(context, values)
        for fold in found:
            making.fold(fold)
        return making.patch([fold.op for fold in found], folding.constants)


@dataclass(frozen=True)
class _Fold:
    """One normalization: `op` ends it, `weighted` is the convolution, `bias` a BiasAdd between, or None.

    `parameters` are the tensors of scale, offset, mean and variance of a fused one; of a multiplication, the factor.
    """

    op: int
    weighted: int
    weights: Tensor
    bias: int | None
    added: Tensor | None
    parameters: tuple[Tensor, ...]
    epsilon: float = 0.0

    def numbers(self, index: GraphIndex) -> list[str]:
        """The names of all constants that take part."""
        tensors = [*self.parameters, self.weights, *([self.added] if self.added else [])]
        return [f"{index.names[op]}:{port}" for op, port in tensors]


class _FoldFinder:
    """Finds what can be folded; `why` says why the first one that cannot be is none, `constants` what is constant."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.constants = _constants(index)
        self.why = ""

    def of(self, op: int) -> _Fold | None:
        """The normalization that an op is, or ends; None."""
        kind = self.index.types[op]
        if kind not in FUSED_BATCH_NORMS and kind != "Mul":
            return None
        ends = self._inputs(op)
        fixed = [self.constants[end[0]] for end in ends]
        if kind == "Mul":
            if sorted(fixed) != [False, True]:
                return None
            fold = self._before(op, ends[fixed.index(False)], (ends[fixed.index(True)],), 0.0)
            return fold if fold and self._is_by_channel(fold) else None
        why = self._fused(op, fixed)
        if why:
            self.why = self.why or f"Batch normalization {self.index.names[op]!r} cannot be folded: {why}."
            return None
        fold = self._before(op, ends[0], tuple(ends[1:5]), _attribute(self.index, op, "epsilon").f)
        if fold is None:
            name = self.index.names[ends[0][0]]
            self.why = self.why or (
                f"Batch normalization {self.index.names[op]!r} cannot be folded: {name!r} before it is no convolution "
                "or matrix product of constant weights that only it reads."
            )
        return fold

    def _fused(self, op: int, fixed: list[bool]) -> str:
        """Why a fused normalization cannot be folded."""
        index = self.index
        if _attribute(index, op, "is_training").b:
            return 'it is in training mode; first editor.set_attr(op, "is_training", False)'
        if not all(fixed[1:5]):
            return "its numbers are not constants; freeze the graph first, which makes constants of variables"
        row = slice(int(index.readers.start[op]), int(index.readers.start[op + 1]))
        return "its statistics are read, too" if (index.readers.port[row] > 0).any() else ""

    def _before(self, op: int, end: Tensor, parameters: tuple[Tensor, ...], epsilon: float) -> _Fold | None:
        """The convolution that gives a tensor, directly or by a BiasAdd, if it has no other consumer."""
        index, bias, added = self.index, None, None
        if index.types[end[0]] == "BiasAdd" and self._only(end[0], op) and self.constants[self._inputs(end[0])[1][0]]:
            bias, (end, added), op = end[0], self._inputs(end[0])[:2], end[0]
        weighted = end[0]
        if index.types[weighted] not in FOLDABLE_LAYERS or not self._only(weighted, op):
            return None
        weights = self._inputs(weighted)[1]
        if not self.constants[weights[0]]:
            return None
        return _Fold(op if bias is None else self._reader(op), weighted, weights, bias, added, parameters, epsilon)

    def _is_by_channel(self, fold: _Fold) -> bool:
        """Whether a factor has one number for each channel of what is weighted."""
        index = self.index
        shape, op_type = index.shape(*fold.parameters[0]), index.types[fold.weighted]
        channels = _channels(index, fold)
        if shape is None or channels is None:
            return False
        first = _attribute(index, fold.weighted, "data_format").s in (b"NCHW", b"NCDHW")
        long = [(k - len(shape), size) for k, size in enumerate(shape) if size != 1]
        rank = 2 if op_type == "MatMul" else 5 if op_type == "Conv3D" else 4
        return long == [((1 - rank) if first else -1, channels)] or (not long and not shape)

    def _only(self, op: int, reader: int) -> bool:
        """Whether one op alone reads what another gives, and no op waits for it."""
        return self.index.consumers.row(op).tolist() == [reader] and not len(self.index.control_consumers.row(op))

    def _reader(self, op: int) -> int:
        return int(self.index.consumers.row(op)[0])

    def _inputs(self, op: int) -> list[Tensor]:
        index = self.index
        row = slice(int(index.inputs.start[op]), int(index.inputs.start[op + 1]))
        return list(zip(index.inputs.values[row].tolist(), index.ports[row].tolist(), strict=True))


def _constants(index: GraphIndex) -> Mask:
    """The ops whose values hang on constants only."""
    definition = index.typing.definition
    sources = []
    for i in range(len(index)):
        told = definition(index.types[i])
        is_open = index.inputs.start[i] == index.inputs.start[i + 1] and index.types[i] not in CONSTANTS
        if is_open or told is None or told.is_stateful:
            sources.append(i)
    return ~traversal.forward(index, sources)


def _channels(index: GraphIndex, fold: _Fold) -> int | None:
    shape, op_type = index.shape(*fold.weights), index.types[fold.weighted]
    if not shape or None in shape:
        return None
    if op_type == "DepthwiseConv2dNative":
        return int((shape[-1] or 0) * (shape[-2] or 0))
    return shape[0] if _attribute(index, fold.weighted, "transpose_b").b else shape[-1]


class _FoldedOps:
    """Makes the ops that stand for what is folded."""

    def __init__(self, context: PlanContext, values: dict[str, Array]) -> None:
        self._context, self._values = context, values
        index = self.index = context.index
        self._rewriter = ConsumerRewriter(index)
        self._nodes: list[NodeDef] = []
        self._taken = {name.lower() for name in index.names} | set(index.reserved)

    def fold(self, fold: _Fold) -> None:
        """Scale the weights; the consumers of the normalization read the weighted op, or a BiasAdd behind it."""
        index = self.index
        factor, offset = self._numbers(fold)
        weights = self._value(fold.weights)
        prefix = index.names[fold.op]
        values = _scale(index, fold.weighted, weights, factor).astype(weights.dtype)
        scaled = self._made(f"{prefix}/folded_weights", values)
        self._set(fold.weighted, 1, scaled)
        last = index.names[fold.weighted]
        if fold.bias is not None and fold.added is not None:
            added = self._value(fold.added)
            offset = added * factor if offset is None else added * factor + offset
            self._set(fold.bias, 1, self._made(f"{prefix}/folded_bias", offset.astype(weights.dtype)))
            last = index.names[fold.bias]
        elif offset is not None:
            last = self._add(fold, last, offset.astype(weights.dtype))
        for reader in dict.fromkeys(index.consumers.row(fold.op).tolist()):
            self._rewriter.redirect(reader, (fold.op, 0), last)
        for waiting in index.control_consumers.row(fold.op).tolist():
            node = self._rewriter.node(waiting)
            node.input[:] = [f"^{last}" if text == f"^{prefix}" else text for text in node.input]

    def _numbers(self, fold: _Fold) -> tuple[Array, Array | None]:
        """What each channel is multiplied by, and what is added; None for nothing."""
        values = [self._value(tensor).astype(np.float64) for tensor in fold.parameters]
        if len(values) == 1:
            return values[0].reshape(-1), None
        scale, offset, mean, variance = values
        factor = scale / np.sqrt(variance + fold.epsilon)
        return factor, offset - mean * factor

    def _value(self, tensor: Tensor) -> Array:
        return self._values[f"{self.index.names[tensor[0]]}:{tensor[1]}"]

    def _made(self, wanted: str, value: Array) -> str:
        name = free_name(wanted, self._taken)
        self._taken.add(name.lower())
        node = type(self.index.nodes[0])(name=name, op="Const")
        held = self._context.constant(value, value.dtype.name, value.shape)
        node.attr["dtype"].type = held.dtype
        node.attr["value"].tensor.CopyFrom(held)
        self._nodes.append(node)
        return name

    def _add(self, fold: _Fold, last: str, offset: Array) -> str:
        """A BiasAdd behind the weighted; its name."""
        weighted = self.index.nodes[fold.weighted]
        added = self._made(f"{self.index.names[fold.op]}/folded_bias", offset)
        name = free_name(f"{self.index.names[fold.op]}/folded", self._taken)
        self._taken.add(name.lower())
        node = type(weighted)(name=name, op="BiasAdd", input=[last, added], device=weighted.device)
        node.attr["T"].CopyFrom(weighted.attr["T"])
        data_format = _attribute(self.index, fold.weighted, "data_format").s
        node.attr["data_format"].s = data_format.replace(b"NDHWC", b"NHWC") or b"NHWC"
        self._nodes.append(node)
        return name

    def _set(self, op: int, k: int, name: str) -> None:
        self._rewriter.node(op).input[k] = as_input(name, 0)

    def patch(self, gone: Iterable[int], constants: Mask) -> Patch:
        """All of it; with the normalizations go the constants that only they read."""
        index, ops = self.index, set(gone)
        edited = self._rewriter.changes()
        after = {index.ids[e.name]: e.after for e in edited}
        read = {split_input(text)[0] for node in after.values() for text in node.input}
        stack = [source for op in sorted(ops | after.keys()) for source in index.input_lists[op]]
        held = {split_tensor(member.name)[0] for members in index.collections.values() for member in members}
        while stack:
            op = stack.pop()
            if op in ops or not constants[op] or index.names[op] in held or index.names[op] in read:
                continue
            if all(user in ops or user in after for user in index.consumer_lists[op] + index.waiting_lists[op]):
                ops.add(op)
                stack += index.input_lists[op]
        return Patch(add=Change(nodes=tuple(self._nodes)), remove=removal_of(index, ops), changed=edited)


def _attribute(index: GraphIndex, op: int, name: str) -> AttrValue:
    """The AttrValue of an op, the default where its NodeDef leaves it out; an empty one of what it cannot have."""
    node = index.nodes[op]
    known = attribute(node, index.typing.definition(node.op), name)
    return type(node)().attr[name] if known is None else known


def _scale(index: GraphIndex, weighted: int, weights: Array, factor: Array) -> Array:
    """Weights times a number for each channel of what they give."""
    if factor.size == 1:
        return weights * factor.reshape(())
    if index.types[weighted] == "DepthwiseConv2dNative":
        return weights * factor.reshape(weights.shape[-2:])
    if _attribute(index, weighted, "transpose_b").b:
        return weights * factor.reshape(-1, 1)
    return weights * factor
