"""FoldBatchNorm: a batch normalization of constants goes into the weights of the layer before or
after it.

What a normalization does in inference is to multiply each channel by a number and to add another
one. A convolution (or matrix product) with weights times these numbers gives the same, and what is
added to its result adds the rest. Three ways to write it are known: one FusedBatchNorm op, one
BatchNormWithGlobalNormalization op, and the arithmetic of `tf.nn.batch_normalization`. A matrix
product that reads what is normalized takes the numbers in by its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import Array, PlanContext
from tfgraphwidget.edits.freeze.variables_to_constants import only_read
from tfgraphwidget.edits.function_calls import redirect_call
from tfgraphwidget.edits.patch import Change, Patch, nothing_to_do, removal_of
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import (
    ConsumerRewriter,
    attribute,
    is_left_out,
    resolve_ops,
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    FOLDABLE_LAYERS,
    FUSED_BATCH_NORMS,
    SUMS,
    GraphIndex,
    Mask,
    Shape,
    called_functions,
    collection_ops,
    is_placeholder,
    traversal,
)
from tfgraphwidget.naming import free_name, split_input, split_tensor, take_free_name
from tfgraphwidget.sentences import editor_call, in_cell
from tfgraphwidget.tf_types import AttrValue, FunctionDef, NodeDef

Tensor = tuple[int, int]
_BIASES = SUMS | {"BiasAdd"}
_OLD_BATCH_NORM = "BatchNormWithGlobalNormalization"
_READS = frozenset({"ReadVariableOp"})
_NO_CONSTANTS = (
    "its numbers are not constants; freeze the graph first, which makes constants of variables"
)
_FED = "its numbers depend on a placeholder, whose value is not known before it is fed"
_NO_LAYER = (
    "{!r} before it is not a convolution or matrix product of constant weights that only it reads"
)


@register
@dataclass(frozen=True)
class FoldBatchNorm(Command):
    """Fold batch normalizations into the weights of the convolutions before them.

    One is folded if only it uses the weights. Without such a layer before it, it is folded into a
    matrix product that reads it. In a function, or a SavedModel of TensorFlow 2, variables that
    nothing updates count as constants of their present values.

    Args:
        what: The normalization ops; None for all. Their parameters must be constants (see
            `freeze`), and they must be in inference mode.

    Returns:
        What was changed.

    Raises:
        GraphEditError: A named op cannot be folded.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.nn.conv2d(
        ...         tf.ones([1, 8, 8, 3]), tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv"
        ...     )
        ...     four = [tf.ones([4])] * 4
        ...     _ = tf.compat.v1.nn.fused_batch_norm(y, *four, is_training=False, name="norm")
        >>> editor = tgw.edit(graph)
        >>> report = editor.passes.fold_batch_norm()
        >>> report.changed, "norm" in report.removed
        (('conv',), True)
    """

    method: ClassVar[str] = "passes.fold_batch_norm"

    what: kinds.PartOrAll = ()

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return "Folded batch normalization" + (
            f" of {subject_text(self.what)}" if self.what else ""
        )

    def plan(self, context: PlanContext) -> Patch:
        """The patch; one that does nothing when nothing can be folded, saying why not."""
        index = context.index
        ops = range(len(index)) if is_left_out(self.what) else resolve_ops(index, self.what)
        patch, why = _plan_folds(
            context, ops, _unchanging(context), frozenset(), set(index.functions)
        )
        if patch is not None:
            return patch
        none = "There is no batch normalization whose parameters are constants; " + editor_call(
            "freeze", "outputs"
        )
        reason = why or (none + " makes constants of variables.")
        if self.what:
            raise GraphEditError(reason)
        return nothing_to_do(reason)


def _plan_folds(
    context: PlanContext,
    ops: Iterable[int],
    variables: frozenset[str],
    ancestors: frozenset[str],
    names_in_use: set[str],
) -> tuple[Patch | None, str]:
    """The patch that folds what can be in a graph and in the functions that it calls; None, and
    why, for nothing.

    `variables` count as constants. `ancestors` are the functions around, `names_in_use` the names
    of functions.
    """
    index, ops = context.index, list(ops)
    folding = _BatchNormFolding(index, variables, context.external_tensors)
    folds = [fold for op in ops if (fold := folding.of(op)) is not None]
    tensors = list(dict.fromkeys(name for fold in folds for name in fold.numbers(index)))
    values = dict(zip(tensors, context.constant_values(tensors), strict=True)) if folds else {}
    making = _Making(context, values)
    for fold in folds:
        making.fold(fold)
    is_changed, why = bool(folds), folding.why
    for op in ops:
        for called in called_functions(index.nodes[op], index.functions):
            if called.function in ancestors:
                continue
            inner = context.enter(index.names[op], called.label)
            constant_arguments = frozenset(
                name for name, holder in inner.caller_handles.items() if holder in variables
            )
            around = ancestors | {called.function}
            patch, inner_why = _plan_folds(
                inner, range(len(inner.index)), constant_arguments, around, names_in_use
            )
            why = why or inner_why
            if patch is not None:
                name = free_name(
                    f"{called.function}_folded", {name.lower() for name in names_in_use}
                )
                names_in_use.add(name)
                making.call(op, called.label, inner.rewrite(patch, name), patch.add.functions)
                is_changed = True
    if not is_changed:
        return None, why
    return making.patch(
        {op for fold in folds for op in fold.unneeded_ops}, folding.constants, variables
    ), why


def _unchanging(context: PlanContext) -> frozenset[str]:
    """The variables that results read and nothing updates or initializes: they can be constants."""
    index = context.index
    named = [name for name in context.external_tensors if split_tensor(name)[0] in index.ids]
    captured = {
        variable.handle
        for variable in index.variable_defs
        if variable.resource and not variable.initializer
    }
    return only_read(index, named) & captured if named and captured else frozenset()


@dataclass(frozen=True)
class _Layer:
    """A convolution or matrix product, with the op that adds its bias, if there is one.

    Attributes:
        op: The convolution.
        weights: Its weights.
        bias: The BiasAdd or Add after it; None for none.
        slot: The input of that op which is the bias.
        added: The bias.
    """

    op: int
    weights: Tensor
    bias: int | None = None
    slot: int = 1
    added: Tensor | None = None


@dataclass(frozen=True)
class _Fold:
    """One normalization.

    Attributes:
        op: The fused op, or the multiplication.
        end: The op that gives the result: `op`, or the addition after it.
        layer: What its numbers go into.
        parameters: Scale, offset, mean and variance of a fused one; of a multiplication, the
            factor.
        epsilon: Of a fused one.
        shift: What `end` adds; None where it is `op`.
        base: What is normalized, if the layer is after; None if that is before.
        has_scale: Whether a fused one multiplies by its scale.
    """

    op: int
    end: int
    layer: _Layer
    parameters: tuple[Tensor, ...]
    epsilon: float = 0.0
    shift: Tensor | None = None
    base: Tensor | None = None
    has_scale: bool = True

    def numbers(self, index: GraphIndex) -> list[str]:
        """The names of all constants that take part."""
        tensors = (*self.parameters, self.layer.weights, self.layer.added, self.shift)
        return [f"{index.names[tensor[0]]}:{tensor[1]}" for tensor in tensors if tensor is not None]

    @property
    def unneeded_ops(self) -> set[int]:
        """The ops that are not needed any more."""
        return {self.op, self.end}


class _BatchNormFolding:
    """Finds what can be folded; `why` says why the first cannot, `constants` is constant."""

    def __init__(
        self, index: GraphIndex, variables: Collection[str], external: Iterable[str]
    ) -> None:
        self.index = index
        self.constants = _constants(index, variables)
        self._results = {split_tensor(name)[0] for name in external}
        self._fed = traversal.forward(
            index, [op for op, kind in enumerate(index.types) if is_placeholder(kind)]
        )
        self.why = ""

    def of(self, op: int) -> _Fold | None:
        """The normalization that an op is, or ends; None."""
        kind = self.index.types[op]
        if kind in FUSED_BATCH_NORMS:
            return self._fold_fused(op)
        if kind == _OLD_BATCH_NORM:
            return self._fold_old(op)
        return self._multiplication(op) if kind == "Mul" else None

    def _refuse(self, op: int, why: str) -> None:
        """Say why an op cannot be folded, if it is the first."""
        self.why = (
            self.why
            or f"Batch normalization {self.index.names[op]!r} cannot be folded: " + why + "."
        )

    def _fold_fused(self, op: int) -> _Fold | None:
        index, inputs = self.index, self.index.input_tensors(op)
        row = slice(int(index.consumer_edges.start[op]), int(index.consumer_edges.start[op + 1]))
        if _attribute(index, op, "is_training").b:
            self._refuse(
                op,
                "it is in training mode; "
                + in_cell('first editor.set_attr(op, "is_training", False)'),
            )
        elif not all(self.constants[end[0]] for end in inputs[1:5]):
            is_fed = any(self._fed[end[0]] for end in inputs[1:5])
            self._refuse(op, _FED if is_fed else _NO_CONSTANTS)
        elif (index.consumer_edges.port[row] > 0).any():
            self._refuse(op, "its statistics are read, too")
        elif (layer := self._before(op, inputs[0])) is None:
            self._refuse(op, _NO_LAYER.format(index.names[inputs[0][0]]))
        else:
            return _Fold(op, op, layer, tuple(inputs[1:5]), _attribute(index, op, "epsilon").f)
        return None

    def _fold_old(self, op: int) -> _Fold | None:
        """The normalization that one op of the first files of TensorFlow is."""
        inputs = self.index.input_tensors(op)
        if len(inputs) != 5 or not all(self.constants[end[0]] for end in inputs[1:]):
            self._refuse(op, _NO_CONSTANTS)
            return None
        layer = self._before(op, inputs[0])
        if layer is None:
            self._refuse(op, _NO_LAYER.format(self.index.names[inputs[0][0]]))
            return None
        mean, variance, offset, scale = inputs[1:]
        has_scale = _attribute(self.index, op, "scale_after_normalization").b
        epsilon = _attribute(self.index, op, "variance_epsilon").f
        return _Fold(op, op, layer, (scale, offset, mean, variance), epsilon, has_scale=has_scale)

    def _multiplication(self, op: int) -> _Fold | None:
        index, inputs = self.index, self.index.input_tensors(op)
        constants = [self.constants[end[0]] for end in inputs]
        if sorted(constants) != [False, True]:
            around = (source for end in inputs for source in self._around(end))
            if not any(constants) and any(
                index.types[op] == "Rsqrt" and not self._fed[op] for op in around
            ):
                self._refuse(op, _NO_CONSTANTS)
            return None
        factor, base = inputs[constants.index(True)], inputs[constants.index(False)]
        end, shift = self._addition(op)
        layer = self._before(op, base)
        if layer is not None and self._is_by_channel(factor, layer):
            if shift is None or not self._is_by_channel(shift, layer):
                end, shift = op, None
            return _Fold(op, end, layer, (factor,), shift=shift)
        layer = self._after(end)
        tensors = [factor] if shift is None else [factor, shift]
        if (
            layer is not None
            and all(self._is_by_row(tensor, layer) for tensor in tensors)
            and (
                shift is None
                or (layer.added is not None and self._is_by_channel(layer.added, layer))
            )
        ):
            return _Fold(op, end, layer, (factor,), shift=shift, base=base)
        if any(index.types[source] == "Rsqrt" for source in self._around(factor)):
            is_read = index.types[base[0]] in _READS
            self._refuse(op, _NO_CONSTANTS if is_read else _NO_LAYER.format(index.names[base[0]]))
        return None

    def _around(self, end: Tensor) -> Iterable[int]:
        """The op of a tensor, and those that it reads."""
        return (end[0], *self.index.input_lists[end[0]])

    def _addition(self, op: int) -> tuple[int, Tensor | None]:
        """The op that alone reads another and adds a constant, and that; or the op itself."""
        consumers = self.index.consumers.row(op).tolist()
        if (
            len(consumers) == 1
            and self._only(op, consumers[0])
            and self.index.types[consumers[0]] in SUMS
        ):
            others = [end for end in self.index.input_tensors(consumers[0]) if end[0] != op]
            if len(others) == 1 and self.constants[others[0][0]]:
                return consumers[0], others[0]
        return op, None

    def _before(self, op: int, end: Tensor) -> _Layer | None:
        """The layer that gives a tensor, if only `op` reads it."""
        bias, slot, added = None, 1, None
        if self.index.types[end[0]] in _BIASES and self._only(end[0], op):
            inputs = self.index.input_tensors(end[0])
            constants = [self.constants[source] for source, _ in inputs]
            if sorted(constants) == [False, True]:
                bias, slot, op = end[0], constants.index(True), end[0]
                added, end = inputs[slot], inputs[1 - slot]
        layer = end[0]
        if self.index.types[layer] not in FOLDABLE_LAYERS or not self._only(layer, op):
            return None
        weights = self.index.input_tensors(layer)[1]
        if not self.constants[weights[0]]:
            return None
        candidate = _Layer(layer, weights, bias, slot, added)
        is_known = (
            added is None
            or self.index.types[bias or 0] == "BiasAdd"
            or self._is_by_channel(added, candidate)
        )
        return candidate if is_known else None

    def _after(self, op: int) -> _Layer | None:
        """The matrix product that alone reads the rows that an op gives, with its bias."""
        index, consumers = self.index, self.index.consumers.row(op).tolist()
        if (
            len(consumers) != 1
            or index.types[consumers[0]] != "MatMul"
            or not self._only(op, consumers[0])
        ):
            return None
        product, inputs = consumers[0], self.index.input_tensors(consumers[0])
        if (
            inputs[0][0] != op
            or _attribute(index, product, "transpose_a").b
            or not self.constants[inputs[1][0]]
        ):
            return None
        consumers = index.consumers.row(product).tolist()
        if (
            len(consumers) == 1
            and index.types[consumers[0]] in _BIASES
            and self._only(product, consumers[0])
        ):
            sources = self.index.input_tensors(consumers[0])
            slot = 1 if sources[0][0] == product else 0
            if self.constants[sources[slot][0]]:
                return _Layer(product, inputs[1], consumers[0], slot, sources[slot])
        return _Layer(product, inputs[1])

    def _is_by_channel(self, tensor: Tensor, layer: _Layer) -> bool:
        """Whether a tensor has one number for each channel that a layer gives, or one for all."""
        index = self.index
        shape, channels = index.shape(*tensor), _channels(index, layer)
        if shape is None or channels is None:
            return False
        rank = {"MatMul": 2, "Conv3D": 5}.get(index.types[layer.op], 4)
        axis = 1 - rank if _is_channels_first(index, layer.op) else -1
        return _is_along(shape, axis, channels)

    def _is_by_row(self, tensor: Tensor, layer: _Layer) -> bool:
        """Whether a tensor has one number per column of a matrix product's input, or for all."""
        index = self.index
        shape, weights = index.shape(*tensor), index.shape(*layer.weights)
        if shape is None or not weights or None in weights:
            return False
        return _is_along(
            shape, -1, int(weights[1 if _attribute(index, layer.op, "transpose_b").b else 0] or 0)
        )

    def _only(self, op: int, consumer: int) -> bool:
        """Whether one op alone reads what another gives, and none waits for it."""
        index = self.index
        alone = index.consumers.row(op).tolist() == [consumer] and not len(
            index.control_consumers.row(op)
        )
        return alone and index.names[op] not in self._results


def _constants(index: GraphIndex, variables: Collection[str]) -> Mask:
    """The ops whose values hang on constants only, or on variables of these names."""
    definition = index.typing.definition
    constant_ops = {index.ids[name] for name in variables if name in index.ids}
    sources = []
    for i in range(len(index)):
        if i in constant_ops or (
            index.types[i] in _READS and index.input_lists[i][0] in constant_ops
        ):
            continue
        op_def = definition(index.types[i])
        has_inputs = index.inputs.start[i] < index.inputs.start[i + 1]
        is_open = is_placeholder(index.types[i]) or not (has_inputs or index.types[i] in CONSTANTS)
        if is_open or op_def is None or op_def.is_stateful:
            sources.append(i)
    return ~traversal.forward(index, sources)


def _is_along(shape: Shape, axis: int, size: int) -> bool:
    """Whether a shape has `size` along one axis, counted from the end, or is a scalar's."""
    sizes = shape or ()
    dimensions = [(k - len(sizes), length) for k, length in enumerate(sizes) if length != 1]
    return dimensions == [(axis, size)] or (not dimensions and not shape)


def _is_channels_first(index: GraphIndex, layer: int) -> bool:
    return _attribute(index, layer, "data_format").s in (b"NCHW", b"NCDHW")


def _channels(index: GraphIndex, layer: _Layer) -> int | None:
    shape = index.shape(*layer.weights)
    if not shape or None in shape:
        return None
    if index.types[layer.op] == "DepthwiseConv2dNative":
        return int((shape[-1] or 0) * (shape[-2] or 0))
    return shape[0] if _attribute(index, layer.op, "transpose_b").b else shape[-1]


class _Making:
    """Makes the ops that represent what is folded."""

    def __init__(self, context: PlanContext, values: dict[str, Array]) -> None:
        self._context, self._values = context, values
        index = self.index = context.index
        self._rewriter = ConsumerRewriter(index)
        # By op and input slot: the constant that it reads now.
        self._nodes: dict[tuple[int, int], NodeDef] = {}
        self._more: list[NodeDef] = []
        self._functions: list[FunctionDef] = []
        self._renamed: list[tuple[str, str]] = []
        self._now: dict[tuple[int, int], Array] = {}
        self._used_names = index.used_names()

    def fold(self, fold: _Fold) -> None:
        """Let the layer do the normalization; consumers read it, or what adds its bias."""
        factor, offset = self._numbers(fold)
        if fold.base is not None:
            self._fold_into_rows(fold, fold.base, factor, offset)
            return
        index, layer = self.index, fold.layer
        weights = self._at(layer.op, 1, layer.weights)
        self._put(fold, layer.op, 1, _scale_weights(index, layer.op, weights, factor), "weights")
        last = index.names[layer.op]
        if layer.bias is not None and layer.added is not None:
            added = self._at(layer.bias, layer.slot, layer.added).reshape(-1) * factor
            self._put_bias(fold, added if offset is None else added + offset)
            last = index.names[layer.bias]
        elif offset is not None:
            last = self._add(fold, last, offset)
        self._lead(fold.end, last)
        self._renamed.append((f"{index.names[fold.end]}:0", f"{last}:0"))

    def _fold_into_rows(
        self, fold: _Fold, base: Tensor, factor: Array, offset: Array | None
    ) -> None:
        """Let a matrix product read what was normalized, with scaled rows and shifted bias."""
        index, layer = self.index, fold.layer
        weights = self._at(layer.op, 1, layer.weights)
        is_transposed = _attribute(index, layer.op, "transpose_b").b
        rows = weights.T if is_transposed else weights
        if offset is not None and layer.bias is not None and layer.added is not None:
            added = self._at(layer.bias, layer.slot, layer.added).reshape(-1)
            self._put_bias(fold, added + np.broadcast_to(offset, rows.shape[:1]) @ rows)
        scaled = rows * factor.reshape(-1, 1)
        self._put(fold, layer.op, 1, scaled.T if is_transposed else scaled, "weights")
        self._rewriter.redirect(layer.op, (fold.end, 0), f"{index.names[base[0]]}:{base[1]}")

    def call(
        self,
        op: int,
        label: str,
        new: tuple[FunctionDef, tuple[int, ...]],
        functions: Iterable[FunctionDef],
    ) -> None:
        """Let an op call another function as `label`, without the arguments that this does not
        read.

        `functions` are those that the other one calls, and the graph lacks.
        """
        definition, unread = new
        redirect_call(self._rewriter.node(op), label, definition, unread)
        self._functions += [*functions, definition]

    def _lead(self, old: int, last: str) -> None:
        """Let all that read or wait for an op read and wait for another."""
        index = self.index
        for consumer in dict.fromkeys(index.consumers.row(old).tolist()):
            self._rewriter.redirect(consumer, (old, 0), last)
        for waiting in index.control_consumers.row(old).tolist():
            node = self._rewriter.node(waiting)
            node.input[:] = [
                f"^{last}" if text == f"^{index.names[old]}" else text for text in node.input
            ]

    def _numbers(self, fold: _Fold) -> tuple[Array, Array | None]:
        """The factor and the addend of each channel; None if there are none."""
        values = [self._value(tensor).astype(np.float64) for tensor in fold.parameters]
        if len(values) == 1:
            if fold.shift is None:
                shift = None
            else:
                shift = self._value(fold.shift).astype(np.float64).reshape(-1)
            return values[0].reshape(-1), shift
        scale, offset, mean, variance = values
        factor = (scale if fold.has_scale else 1.0) / np.sqrt(variance + fold.epsilon)
        return factor, offset - mean * factor

    def _value(self, tensor: Tensor) -> Array:
        return self._values[f"{self.index.names[tensor[0]]}:{tensor[1]}"]

    def _at(self, op: int, slot: int, tensor: Tensor) -> Array:
        """The constant that an op reads, as folding has left it."""
        return self._now.get((op, slot), self._value(tensor)).astype(np.float64)

    def _put(self, fold: _Fold, op: int, slot: int, value: Array, what: str) -> None:
        """Let an op read another constant."""
        dtype = self._value(fold.layer.weights).dtype
        self._now[op, slot] = value
        if (op, slot) not in self._nodes:
            self._nodes[op, slot] = self._new_constant(f"{self.index.names[fold.op]}/folded_{what}")
            self._rewriter.node(op).input[slot] = self._nodes[op, slot].name
        self._fill(self._nodes[op, slot], value.astype(dtype))

    def _put_bias(self, fold: _Fold, bias: Array) -> None:
        """Let the op that adds the bias add another one, which has a number for each channel."""
        index, layer = self.index, fold.layer
        assert layer.bias is not None
        if index.types[layer.bias] in SUMS and _is_channels_first(index, layer.op):
            bias = bias.reshape(-1, *([1] * (3 if index.types[layer.op] == "Conv3D" else 2)))
        self._put(fold, layer.bias, layer.slot, bias, "bias")

    def _new_constant(self, base: str) -> NodeDef:
        """A new constant, without a value."""
        name = take_free_name(base, self._used_names)
        return type(self.index.nodes[0])(name=name, op="Const")

    def _fill(self, node: NodeDef, value: Array) -> None:
        proto = self._context.constant(value, value.dtype.name, value.shape)
        node.attr["dtype"].type = proto.dtype
        node.attr["value"].tensor.CopyFrom(proto)

    def _add(self, fold: _Fold, last: str, offset: Array) -> str:
        """A BiasAdd after the layer; its name."""
        layer = self.index.nodes[fold.layer.op]
        added = self._new_constant(f"{self.index.names[fold.op]}/folded_bias")
        channels = _channels(self.index, fold.layer)
        self._fill(
            added,
            np.broadcast_to(offset, (channels or 1,)).astype(self._value(fold.layer.weights).dtype),
        )
        name = take_free_name(f"{self.index.names[fold.op]}/folded", self._used_names)
        node = type(layer)(name=name, op="BiasAdd", input=[last, added.name], device=layer.device)
        node.attr["T"].CopyFrom(layer.attr["T"])
        data_format = _attribute(self.index, fold.layer.op, "data_format").s
        node.attr["data_format"].s = data_format.replace(b"NDHWC", b"NHWC") or b"NHWC"
        self._more += [added, node]
        return name

    def patch(self, removed: Iterable[int], constants: Mask, variables: Collection[str]) -> Patch:
        """All of it; with normalizations go constants, also of variables, that only they read."""
        index, ops = self.index, set(removed)
        after = {index.ids[edited.name]: edited.after for edited in self._rewriter.changes()}
        now = (*after.values(), *self._more)
        read = {split_input(text)[0] for node in now for text in node.input if text[:1] != "^"}
        stack = [source for op in sorted(ops | after.keys()) for source in index.input_lists[op]]
        protected = collection_ops(index)
        protected -= set(variables)
        protected |= {split_tensor(name)[0] for name in self._context.external_tensors}
        late = traversal.forward(index, np.flatnonzero(np.diff(index.controls.start)).tolist())
        while stack:
            op = stack.pop()
            if (
                op in ops
                or not constants[op]
                or index.names[op] in protected
                or index.names[op] in read
            ):
                continue
            # Who only waits for a constant that waits for nothing, or for a variable to be read,
            # need not.
            is_idle = index.types[op] in _READS or not late[op]
            if is_idle:
                users = index.consumer_lists[op]
            else:
                users = [*index.consumer_lists[op], *index.control_consumer_lists[op]]
            if all(user in ops or user in after for user in users):
                ops.add(op)
                stack += index.input_lists[op]
        names = {f"^{index.names[op]}" for op in ops}
        for waiting in {user for op in ops for user in index.control_consumer_lists[op]} - ops:
            node = self._rewriter.node(waiting)
            node.input[:] = [text for text in node.input if text not in names]
        return Patch(
            add=Change(
                nodes=(*self._nodes.values(), *self._more), functions=tuple(self._functions)
            ),
            remove=removal_of(index, ops),
            changed=self._rewriter.changes(),
            output_renames=tuple(self._renamed),
        )


def _attribute(index: GraphIndex, op: int, name: str) -> AttrValue:
    """The AttrValue of an op, the default if its NodeDef has none; empty if it cannot have it."""
    node = index.nodes[op]
    value = attribute(node, index.typing.definition(node.op), name)
    return type(node)().attr[name] if value is None else value


def _scale_weights(index: GraphIndex, layer: int, weights: Array, factor: Array) -> Array:
    """Weights times a number for each channel that they give."""
    if factor.size == 1:
        factor = factor.reshape(())
    elif index.types[layer] == "DepthwiseConv2dNative":
        factor = factor.reshape(weights.shape[-2:])
    elif _attribute(index, layer, "transpose_b").b:
        factor = factor.reshape(-1, 1)
    scaled: Array = weights * factor
    return scaled
