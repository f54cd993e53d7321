"""Converted ops: which op of a model each operator of a converted model gives the value of.

A converter joins ops: one CONV_2D of TensorFlow Lite does the work of a convolution, of the batch
norm and the bias after it, and of the activation. It keeps the names of some of them, which the
operator has as ORIGINS. The value that it gives is that of the last of these, and, where it adds a
bias or applies an activation that none of the names is of, of the op further on that does. Where
that op is not found, or its tensor has another shape, nothing is paired: nothing is guessed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from string import digits

import numpy as np

from tfgraphwidget.graph.contraction import WEIGHTS
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import (
    BATCH_MATMULS,
    CHANNEL_SHIFTS,
    CONSTANT_LIKE,
    FUSED_BATCH_NORMS,
    HANDLES,
    IN_PLACE_OF_CALLS,
    LAYER_KERNELS,
    PASSED_ON,
    REQUIRED_PLACEHOLDERS,
    SCALES_AND_SHIFTS,
    VARIABLE_READS,
)
from tfgraphwidget.graph.traversal import forward, topological_rank
from tfgraphwidget.tf_types import NodeDef

ORIGINS = "tensor_names"
"""The attribute of an operator of a converted model that has the names of the ops that it came
from.
"""
BIASED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "CONV_3D"})
"""The operators of TensorFlow Lite whose third input, which may be left out, is a bias."""
BIASED_INPUTS = 3
ACTIVATIONS = {"RELU": "Relu", "RELU6": "Relu6", "TANH": "Tanh", "SIGN_BIT": "Sign"}
"""What TensorFlow calls the activations that operators of TensorFlow Lite apply."""
OTHER_NAMES = {
    "FULLY_CONNECTED": "MatMul",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2dNative",
    "AVERAGE_POOL_2D": "AvgPool",
    "MAX_POOL_2D": "MaxPool",
    "LOGISTIC": "Sigmoid",
    "CONCATENATION": "Concat",
    "ADD": "BiasAdd",
}
"""Operators of TensorFlow Lite that TensorFlow calls by another name, and not only in letters."""
REDUCING = "REDUCE_"  # how it calls reductions: REDUCE_MAX
WITH_LAYERS = BIASED | {"TRANSPOSE_CONV", "BATCH_MATMUL"}
"""Operators that do the work of a layer, and what they may have joined to it."""
HANDING_ON = frozenset({"QUANTIZE", "DEQUANTIZE"})
SERVING_PREFIX = "serving_default_"  # of the names of a SavedModel's inputs
# A name of these is no sign of what an operator computes.
_NO_VALUES = CONSTANT_LIKE | HANDLES | VARIABLE_READS | IN_PLACE_OF_CALLS
_VERSION = re.compile(r"v\d+\Z")


def is_converted(index: GraphIndex) -> bool:
    """Whether a graph is of a converted model: the first of its ops that TensorFlow does not know
    says so.
    """
    kinds, codes = index.kinds
    for code, kind in enumerate(kinds):
        if kind not in index.functions and index.typing.definition(kind) is None:
            first = int(np.argmax(codes == code))
            return ORIGINS in index.nodes[first].attr
    return False


def converted_pairs(model: GraphIndex, converted: GraphIndex) -> dict[int, int]:
    """{op of a model: op of what was made of it that gives the same tensor}."""
    return _Pairing(model, converted).pairs()


class _Pairing:
    def __init__(self, model: GraphIndex, converted: GraphIndex) -> None:
        self._model, self._converted = model, converted
        self._fed = np.ones(len(model), bool)

    def pairs(self) -> dict[int, int]:
        pairs = self._inputs()
        if pairs:  # of the signatures of a model one was converted
            self._fed &= forward(self._model, pairs)
        origins = {other: one for one, other in pairs.items()}
        rank = topological_rank(self._converted)
        fed = forward(self._converted, pairs.values()) if pairs else np.ones(len(rank), bool)
        for op in sorted(np.flatnonzero(fed).tolist(), key=rank.__getitem__):
            if ORIGINS not in self._converted.nodes[op].attr:
                continue
            first = self._last_named(op)
            if first is None:
                first = self._reader_of_the_same_type(op, origins)
            origin = None if first is None else self._with_joined_ops(op, first)
            if origin is not None and self._gives(op, origin):
                pairs[origin] = op  # of several that one op became the last gives its value
                origins[op] = origin
        return pairs

    # Inputs

    def _inputs(self) -> dict[int, int]:
        """The placeholders of both, by name; where each graph has one more, that is it."""
        ours, theirs = (
            {
                index.names[op].removeprefix(SERVING_PREFIX): op
                for op, kind in enumerate(index.types)
                if kind in REQUIRED_PLACEHOLDERS and index.dtypes(op) != ("resource",)
            }
            for index in (self._model, self._converted)
        )
        pairs = {ours[name]: theirs[name] for name in ours if name in theirs}
        rest = [
            [op for name, op in one.items() if name not in other]
            for one, other in ((ours, theirs), (theirs, ours))
        ]
        if len(rest[0]) == len(rest[1]) == 1:
            pairs[rest[0][0]] = rest[1][0]
        return {one: other for one, other in pairs.items() if self._may_be_equal(one, other)}

    # Operators

    def _last_named(self, op: int) -> int | None:
        """The last op of the model of those that an operator has the names of; None where a name is
        that of several.
        """
        names = self._converted.nodes[op].attr[ORIGINS].list.s
        named = [self._ops_named(name.decode("utf-8", "replace")) for name in names]
        if not any(named) or any(len(ops) > 1 for ops in named):
            return None
        return max((each for ops in named for each in ops), key=self._rank.__getitem__)

    def _with_joined_ops(self, op: int, last: int) -> int | None:
        """The op of the model that gives what an operator does, which adds a bias and applies an
        activation too; None where these are not found after the last op that is known.
        """
        node, origin = self._converted.nodes[op], last
        has_bias = node.op in BIASED and len(node.input) >= BIASED_INPUTS
        if has_bias and self._model.types[last] in LAYER_KERNELS:
            shift = self._next(last, self._is_shift)
            if shift is None:
                return None
            origin = shift
        activation = node.attr["fused_activation_function"].s.decode("ascii", "replace")
        wanted = ACTIVATIONS.get(activation, "")
        if activation not in ("", "NONE") and self._model.types[origin] != wanted:
            applied = self._next(origin, lambda op: self._model.types[op] == wanted)
            if applied is None:
                return None
            origin = applied
        return None if self._is_folded_further(origin) else origin

    def _is_scaled(self, op: int) -> bool:
        """Whether an op scales or shifts by weights, as a batch norm and a bias do."""
        return self._model.types[op] in SCALES_AND_SHIFTS and any(
            self._weights[each] for each in self._model.input_lists[op]
        )

    def _is_shift(self, op: int) -> bool:
        return self._is_scaled(op) and self._model.types[op] in CHANNEL_SHIFTS | FUSED_BATCH_NORMS

    def _is_folded_further(self, op: int) -> bool:
        """Whether what scales or shifts an op further on is of no operator, so that it may have
        been folded into this one's weights.
        """
        further = self._next(op, self._is_scaled)
        return further is not None and further not in self._every_named

    @cached_property
    def _every_named(self) -> frozenset[int]:
        """The ops of the model that any operator has the name of."""
        names = {
            name.decode("utf-8", "replace")
            for node in self._converted.nodes
            if ORIGINS in node.attr
            for name in node.attr[ORIGINS].list.s
        }
        return frozenset(op for name in names for op in self._ops_named(name))

    @cached_property
    def _weights(self) -> Mask:
        """Constants and variables, captured ones too, and what is computed of them alone."""
        model = self._model
        fed = [
            op
            for op in np.flatnonzero(np.diff(model.inputs.start) == 0).tolist()
            if model.types[op] not in WEIGHTS and model.dtypes(op) != ("resource",)
        ]
        return ~forward(model, fed, controls=False)

    def _reader_of_the_same_type(self, op: int, origins: Mapping[int, int]) -> int | None:
        """The op of an operator's type that reads what this reads; None if there are several."""
        kind = self._converted.types[op]
        wanted = {_plain(kind), _plain(OTHER_NAMES.get(kind, kind))}
        sources = [origins[each] for each in self._converted.input_lists[op] if each in origins]
        readers = [
            reader
            for reader in (self._readers(sources[0]) if sources else ())
            if _plain(self._model.types[reader]) in wanted
        ]
        return readers[0] if len(readers) == 1 else None

    def _readers(self, op: int) -> set[int]:
        """The ops that read an op, past those that hand it on, scale it or shift it."""
        readers, stack = set[int](), [op]
        while stack:
            for reader in self._model.consumer_lists[stack.pop()]:
                if reader not in readers:
                    readers.add(reader)
                    is_passed = self._model.types[reader] in PASSED_ON or self._is_scaled(reader)
                    stack += [reader] if is_passed else []
        return readers

    def _next(self, op: int, is_wanted: Callable[[int], bool]) -> int | None:
        """The first op that is wanted and alone reads an op, past those that hand it on, scale it
        or shift it.
        """
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
        return self._of_name(name) or self._of_name(name.rstrip(digits))

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
        if not self._may_be_equal(origin, op):
            return False
        if self._is_of_its_type(self._converted.nodes[op], self._model.types[origin]):
            return True
        readers = [self._last_named(reader) for reader in self._converted.consumer_lists[op]]
        further = forward(self._model, [origin])
        return bool(readers) and all(
            reader is not None and reader != origin and further[reader] for reader in readers
        )

    @staticmethod
    def _is_of_its_type(operator: NodeDef, op_type: str) -> bool:
        """Whether an operator computes what an op of a type does, and ops that are joined to it."""
        kind = operator.op
        activation = operator.attr["fused_activation_function"].s.decode("ascii", "replace")
        if kind in HANDING_ON or op_type == ACTIVATIONS.get(activation):
            return True
        if kind in WITH_LAYERS:
            return op_type in LAYER_KERNELS | BATCH_MATMULS | CHANNEL_SHIFTS | FUSED_BATCH_NORMS
        names = {kind, kind.removeprefix(REDUCING), OTHER_NAMES.get(kind, kind)}
        return _plain(op_type) in map(_plain, names)

    def _may_be_equal(self, one: int, other: int) -> bool:
        """Whether the first outputs of two ops may have one shape, whatever the batch."""
        shapes = self._model.shape(one, 0), self._converted.shape(other, 0)
        if shapes[0] is None or shapes[1] is None:
            return True
        return len(shapes[0]) == len(shapes[1]) and all(
            a is None or b is None or a == b
            for a, b in zip(shapes[0][1:], shapes[1][1:], strict=True)
        )


def _plain(op_type: str) -> str:
    """An op type as either runtime writes it: SOFTMAX and Softmax are one."""
    return _VERSION.sub("", op_type.replace("_", "").lower())
