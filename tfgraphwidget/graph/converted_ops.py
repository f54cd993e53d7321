"""Converted ops: which op of a model each operator of a converted model gives the value of.

A converter joins ops: one CONV_2D of TensorFlow Lite does the work of a convolution, of the batch
norm and the bias after it, and of the activation. It keeps the names of some of them, which the
operator has as ORIGINS. The value that it gives is that of the last of these, and, where it adds a
bias or applies an activation that none of the names is of, of the op further on that does. Where
that op is not found, or its tensor has another shape, nothing is paired: nothing is guessed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain
from string import digits

import numpy as np

from tfgraphwidget.graph.adjacency import walk_from
from tfgraphwidget.graph.axis_orders import (
    SAME,
    Axes,
    axes_by_shape,
    image_axes,
    model_shape,
    output_axes,
)
from tfgraphwidget.graph.contraction import computed_from_weights
from tfgraphwidget.graph.converted_op_types import (
    activation_of,
    are_of_one_kind,
    computes,
    has_bias,
    is_named,
    is_of_images,
    is_of_onnx,
    may_be_found_by_its_input,
    may_have_as_many_axes,
)
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import (
    CHANNEL_SHIFTS,
    CONSTANT_LIKE,
    FUSED_BATCH_NORMS,
    HANDLES,
    IN_PLACE_OF_CALLS,
    LAYER_KERNELS,
    PASSED_ON,
    REQUIRED_PLACEHOLDERS,
    SCALES_AND_SHIFTS,
    TRANSPOSITIONS,
    VARIABLE_READS,
)
from tfgraphwidget.graph.tensors import are_compatible
from tfgraphwidget.graph.traversal import forward, topological_rank
from tfgraphwidget.tf_types import NodeDef

ORIGINS = "tensor_names"
"""The attribute of an operator of a converted model that has the names of the ops that it came
from.
"""
SERVING_PREFIX = "serving_default_"  # of the names of a SavedModel's inputs
MOST_OUTER_SCOPES = 2  # around names of the model, which a converter may have added
_CALLS = re.compile(r"\A((Stateful)?PartitionedCall(_\d+)?/)+")
# A name of these is no sign of what an operator computes.
_NO_VALUES = CONSTANT_LIKE | HANDLES | VARIABLE_READS | IN_PLACE_OF_CALLS


def is_converted(index: GraphIndex) -> bool:
    """Whether a graph is of a converted model: the first op unknown to TensorFlow says so."""
    kinds, codes = index.kinds
    for code, kind in enumerate(kinds):
        if kind not in index.functions and index.typing.definition(kind) is None:
            first = int(np.argmax(codes == code))
            return ORIGINS in index.nodes[first].attr
    return False


def converted_pairs(
    model: GraphIndex, converted: GraphIndex
) -> tuple[dict[int, int], dict[str, Axes]]:
    """{op of a model: op of what was made of it that gives the same tensor}, and {tensor of what
    was made of it: the order of its axes} for those that are not in the order of the model.
    """
    pairing = _Pairing(model, converted)
    pairs = pairing.pairs()
    axes_by_tensor: dict[str, Axes] = {}
    for op, axes in pairing.axes.items():
        if axes:
            ports = range(len(converted.dtypes(op)))
            axes_by_tensor |= {f"{converted.names[op]}:{port}": axes for port in ports}
    return pairs, axes_by_tensor


def _placeholders(index: GraphIndex) -> dict[str, int]:
    """The placeholders of a graph that are no variables, by the names that a signature has."""
    return {
        name.removeprefix(SERVING_PREFIX): op
        for op, name in enumerate(index.names)
        if index.types[op] in REQUIRED_PLACEHOLDERS and index.dtypes(op) != ("resource",)
    }


def _original_names(operator: NodeDef) -> list[str]:
    """The names that an operator has of ops of the model; [] for none."""
    if ORIGINS not in operator.attr:  # by brackets a missing attribute would be added
        return []
    return [name.decode("utf-8", "replace") for name in operator.attr[ORIGINS].list.s]


class _Pairing:
    """Pairs the ops of a model with those of what was made of it.

    Attributes:
        axes: {op of the converted model: the order of its tensor's axes}.
    """

    def __init__(self, model: GraphIndex, converted: GraphIndex) -> None:
        self._model, self._converted = model, converted
        self._fed = np.ones(len(model), bool)
        self.axes = dict[int, Axes | None]()

    def pairs(self) -> dict[int, int]:
        """{op of the model: op of the converted model that gives the same tensor}."""
        pairs = self._inputs()
        self.axes = dict.fromkeys(pairs.values(), SAME)
        if pairs:  # of the signatures of a model one was converted
            self._fed &= forward(self._model, pairs)
        origins = {other: one for one, other in pairs.items()}
        rank = topological_rank(self._converted)
        fed = forward(self._converted, pairs.values()) if pairs else np.ones(len(rank), bool)
        for op in sorted(np.flatnonzero(fed).tolist(), key=rank.__getitem__):
            if ORIGINS not in self._converted.nodes[op].attr:
                continue
            first = self._last_named(op)
            if first is None and may_be_found_by_its_input(self._converted.nodes[op]):
                first = self._reader_of_the_same_type(op, origins)
            self.axes[op] = self._axes(op, first)
            origin = None if first is None else self._with_joined_ops(op, first)
            if origin is not None and self._gives(op, origin):
                pairs[origin] = op  # of several that one op became the last gives its value
                origins[op] = origin
        return pairs

    # Inputs

    def _inputs(self) -> dict[int, int]:
        """The placeholders of both, by name; where each graph has one more, that is it."""
        ours, theirs = _placeholders(self._model), _placeholders(self._converted)
        pairs = {ours[name]: theirs[name] for name in ours if name in theirs}
        only_ours = [op for name, op in ours.items() if name not in theirs]
        only_theirs = [op for name, op in theirs.items() if name not in ours]
        if len(only_ours) == len(only_theirs) == 1:
            pairs[only_ours[0]] = only_theirs[0]
        return {one: other for one, other in pairs.items() if self._may_be_equal(one, other)}

    # Operators

    def _last_named(self, op: int) -> int | None:
        """The last op of those that an operator has names of; None if a name is of several."""
        named = [self._ops_named(name) for name in _original_names(self._converted.nodes[op])]
        if any(len(ops) > 1 for ops in named):
            return None
        return max(chain.from_iterable(named), key=self._rank.__getitem__, default=None)

    def _with_joined_ops(self, op: int, last: int) -> int | None:
        """The op of the model that gives what an operator does, which adds a bias and applies an
        activation too; None where these are not found after the last op that is known.
        """
        operator, origin = self._converted.nodes[op], last
        if has_bias(operator) and self._model.types[last] in LAYER_KERNELS:
            shift = self._next(last, self._is_shift)
            if shift is None:
                return None
            origin = shift
        activation = activation_of(operator)
        if activation and self._model.types[origin] != activation:
            applied = self._next(origin, lambda op: self._model.types[op] == activation)
            if applied is None:
                return None
            origin = applied
        # A product holds no shift: where that of the model is of no operator, it was by 0.
        is_product = self._model.types[origin] in LAYER_KERNELS | {"Mul"}
        past = CHANNEL_SHIFTS | {"Sub"} if is_product and not has_bias(operator) else frozenset()
        return None if self._is_folded_further(origin, past) else origin

    def _is_scaled(self, op: int) -> bool:
        """Whether an op scales or shifts by weights, as a batch norm and a bias do."""
        return self._model.types[op] in SCALES_AND_SHIFTS and any(
            self._weights[each] for each in self._model.input_lists[op]
        )

    def _is_shift(self, op: int) -> bool:
        return self._is_scaled(op) and self._model.types[op] in CHANNEL_SHIFTS | FUSED_BATCH_NORMS

    def _is_folded_further(self, op: int, past: Collection[str]) -> bool:
        """Whether what scales or shifts an op further on, past op types that were not folded, is of
        no operator, so that it may have been folded into this one's weights.
        """
        further = self._next(op, self._is_scaled)
        while further is not None and self._model.types[further] in past:
            further = self._next(further, self._is_scaled)
        return further is not None and further not in self._every_named

    @cached_property
    def _every_named(self) -> frozenset[int]:
        """The ops of the model that any operator has the name of."""
        return frozenset(op for name in self._operator_names for op in self._ops_named(name))

    @cached_property
    def _weights(self) -> Mask:
        """Constants and variables, captured ones too, and what is computed of them alone."""
        return computed_from_weights(self._model)

    def _reader_of_the_same_type(self, op: int, origins: Mapping[int, int]) -> int | None:
        """The op of an operator's type that reads what this reads; None if there are several."""
        kind = self._converted.types[op]
        inputs = [each for each in self._converted.input_lists[op] if each in origins]
        if not inputs:
            return None
        readers = [
            reader
            for reader in self._readers(origins[inputs[0]])
            if is_named(kind, self._model.types[reader])
        ]
        others = [
            reader
            for reader in self._converted.consumer_lists[inputs[0]]
            if self._converted.types[reader] == kind
        ]
        return readers[0] if len(readers) == len(others) == 1 else None

    def _readers(self, op: int) -> set[int]:
        """The ops that read an op, past those that hand it on, scale it or shift it."""
        model = self._model

        def further(reader: int) -> Sequence[int]:
            is_passed = model.types[reader] in PASSED_ON or self._is_scaled(reader)
            return model.consumer_lists[reader] if is_passed else ()

        return set(walk_from(model.consumer_lists[op], further))

    def _next(self, op: int, is_wanted: Callable[[int], bool]) -> int | None:
        """The first wanted op that alone reads an op, past those that pass, scale or shift it."""
        while True:
            readers = set(self._model.consumer_lists[op])
            if len(readers) != 1:
                return None
            (op,) = readers
            if is_wanted(op):
                return op
            if self._model.types[op] not in PASSED_ON and not self._is_scaled(op):
                return None

    def _ops_named(self, name: str) -> Sequence[int]:
        """The ops that compute a value, of a name, whatever the scopes of calls around it; without
        the number that makes several tensors of one name differ.
        """
        local = _CALLS.sub("", name)
        local = local.split("/", self._outer_scopes)[-1]
        names = dict.fromkeys((name, local, local.rstrip(digits)))
        return next(filter(None, map(self._of_name, names)), ())

    @cached_property
    def _outer_scopes(self) -> int:
        """How many scopes the names of operators have around those of the model, but for calls."""
        names = [_CALLS.sub("", name) for name in self._operator_names]
        matches = Counter[int]()
        for name in names:
            parts = name.split("/", MOST_OUTER_SCOPES)
            for count in range(len(parts)):
                matches[count] += bool(self._of_name("/".join(parts[count:])))
        # Of the same count, the fewest: a scope may be all by which two ops differ.
        return max(matches, key=lambda count: (matches[count], -count), default=0)

    @cached_property
    def _operator_names(self) -> frozenset[str]:
        """The names that operators have of ops of the model."""
        return frozenset(chain.from_iterable(map(_original_names, self._converted.nodes)))

    def _of_name(self, name: str) -> Sequence[int]:
        """The ops that compute a value, of a name, or of one that ends with it."""
        ops = self._by_last_part.get(name.rpartition("/")[2], ())
        ops = [op for op in ops if self._fed[op]]
        full = [op for op in ops if self._model.names[op] == name]
        return full or [op for op in ops if self._model.names[op].endswith(f"/{name}")]

    @cached_property
    def _by_last_part(self) -> Mapping[str, list[int]]:
        by_last_part = defaultdict[str, list[int]](list)
        for op, name in enumerate(self._model.names):
            if self._model.types[op] not in _NO_VALUES:
                by_last_part[name.rpartition("/")[2]].append(op)
        return by_last_part

    @cached_property
    def _rank(self) -> Sequence[int]:
        return topological_rank(self._model)

    def _gives(self, op: int, origin: int) -> bool:
        """Whether an operator gives the value of an op: it is of its type, or the last of several
        that the op became, so that what reads it is of other ops further on.
        """
        dtypes, new_dtypes = self._model.dtypes(origin), self._converted.dtypes(op)
        if not (dtypes and new_dtypes and are_of_one_kind(dtypes[0], new_dtypes[0])):
            return False
        if not self._may_be_equal(origin, op):
            return False
        if computes(self._converted.nodes[op], self._model.types[origin]):
            return True
        if len(dtypes) > 1:
            return False  # one of several operators that give its outputs
        readers = [self._last_named(reader) for reader in self._converted.consumer_lists[op]]
        further = forward(self._model, [origin])
        return bool(readers) and all(
            reader is not None and reader != origin and further[reader] for reader in readers
        )

    # Shapes

    def _axes(self, op: int, origin: int | None) -> Axes | None:
        """The order of the axes of an operator's tensor, compared with those of the model."""
        if not is_of_onnx(self._converted.nodes[op]):
            return SAME
        shape = self._converted.shape(op, 0)
        if origin is not None and shape is not None and is_of_images(self._converted.nodes[op]):
            axes = image_axes(self._model.nodes[origin], len(shape))
            if axes is not None:
                return axes
        sources = [self.axes[each] for each in self._converted.input_lists[op] if each in self.axes]
        is_of_model = origin is not None and computes(
            self._converted.nodes[op], self._model.types[origin]
        )
        axes = output_axes(self._converted, op, sources, is_of_model=is_of_model)
        if origin is not None and self._reads_transposed(origin):
            axes = None  # a converter moves a transposition past others, and joins them
        other = None if origin is None else self._model.shape(origin, 0)
        if axes is None and other is not None and shape is not None:
            return axes_by_shape(other, shape)
        return axes

    def _reads_transposed(self, op: int) -> bool:
        """Whether an op of the model reads a transposition that no operator has a name of."""
        model = self._model

        def before(source: int) -> Sequence[int]:
            return model.input_lists[source] if model.types[source] in PASSED_ON else ()

        return any(
            model.types[source] in TRANSPOSITIONS and source not in self._every_named
            for source in walk_from(model.input_lists[op], before)
        )

    def _may_be_equal(self, one: int, other: int) -> bool:
        """Whether the first outputs of two ops may have one shape, whatever the batch."""
        axes = self.axes.get(other, SAME)
        if axes is None:
            return False
        shape, converted_shape = self._model.shape(one, 0), self._converted.shape(other, 0)
        if shape is None or converted_shape is None:
            return may_have_as_many_axes(self._converted.nodes[other], self._model.nodes[one])
        if len(shape) != len(converted_shape):
            return False
        # The first axis is the batch.
        return are_compatible(shape[1:], tuple(model_shape(converted_shape, axes)[1:]))
