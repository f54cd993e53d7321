"""Bounds: limits on what TensorFlow would allocate for a file of a few bytes.

They are checked before TensorFlow imports the file. An op has as many inputs and outputs as its
attributes say, and TensorFlow believes them while it imports a graph: 87 bytes are two billion
tensors, in a call that ends neither by itself nor by Ctrl-C. A name that is all slashes has the
same effect, since each of the scopes around it is looked up; and so have constants that TensorFlow
computes at once because a shape depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget.graph import (
    ADD_NUMBERS,
    CHOOSE_NUMBERS,
    CONSTANTS,
    EXPANDING,
    JOINS_OF_ALL,
    REGEX_REPLACEMENTS,
    SHAPE_QUERIES,
    UNPACKING,
    VALUE_SOURCES,
    Shape,
    Typing,
    names_of,
    nodes_of_types,
    shape_text,
    types_of,
)
from tfgraphwidget.naming import split_input, text_attribute
from tfgraphwidget.sources.inference.dtypes import MOST_OUTPUTS
from tfgraphwidget.sources.tf_protos import array_of
from tfgraphwidget.tf_types import FunctionDef, NodeDef, OpDef

MAX_TENSORS = 1 << 18  # inputs and outputs of all ops together, by what attributes say
MAX_TENSORS_PER_OP = 16  # so many for each op, if that is more
MAX_LETTERS = 1 << 32  # that are read to find the scopes around all names: a second's work
MAX_NUMBERS = 1 << 26  # of a constant that is computed: 256 MB
MAX_SHAPE_NUMBERS = 1 << 10  # of a tensor on which a shape may depend
MAX_SHAPE_BYTES = 1 << 14  # of a constant on which a shape may depend
MAX_TEXT = 1 << 26  # bytes of a text that is computed: 64 MB
MAX_SIZE = 1 << 62  # numbers and bytes beyond all limits; what would be more counts as this
MAX_NUMBER_TEXT = 400  # bytes of a number as text: a double without exponent
# Op types whose shape functions end the process on a scalar, from this input on: they ask for its
# first dimension.
_NO_SCALARS = {
    "BoostedTreesAggregateStats": 0,
    "BoostedTreesExampleDebugOutputs": 1,
    "BoostedTreesPredict": 1,
    "BoostedTreesTrainingPredict": 1,
    "XlaSparseGradientsStack": 0,
}
# Op types whose shape functions end the process if this input is not a scalar.
_SCALAR = {"QueueDequeueManyV2": 1}
FATAL_SHAPES = frozenset(_NO_SCALARS.keys() | _SCALAR.keys())
"""Op types for which TensorFlow ends the process where it infers shapes of certain inputs."""


class Excess(NamedTuple):
    """An op for which TensorFlow would allocate too much: its name, its function or "", and why."""

    op: str
    function: str
    why: str


class Counting(NamedTuple):
    """The attributes that say how many tensors an op takes and gives: numbers, lists of types."""

    numbers: tuple[str, ...]
    lists: tuple[str, ...]


class Bounds:
    """The limits; `definition` returns the OpDef of an op type, or None."""

    def __init__(self, definition: Callable[[str], OpDef | None]) -> None:
        self._definition = definition
        self._counting: dict[str, Counting] = {}

    def excess(
        self, nodes: Sequence[NodeDef], functions: Mapping[str, FunctionDef]
    ) -> Excess | None:
        """The first op of a graph or its functions that exceeds a limit; None if there is none."""
        places = [("", nodes), *((name, functions[name].node_def) for name in sorted(functions))]
        ops = sum(len(place_nodes) for _, place_nodes in places)
        max_tensors = max(MAX_TENSORS, MAX_TENSORS_PER_OP * ops)
        if self._are_within([place_nodes for _, place_nodes in places], max_tensors):
            return None
        tensors = 0
        letters = 0
        for place, place_nodes in places:
            for node in place_nodes:
                why = self.why(node) if any(self._of(node.op)) else ""
                tensors += self.tensors(node)
                letters += len(node.name) * node.name.count("/")
                if not why and tensors > max_tensors:
                    why = f"is one more of those that have {tensors:,} tensors together"
                if not why and letters > MAX_LETTERS:
                    why = f"lies in {node.name.count('/'):,} name scopes"
                if why:
                    return Excess(node.name, place, why)
        return None

    def _are_within(self, places: Iterable[Sequence[NodeDef]], max_tensors: int) -> bool:
        """Whether no NodeDef exceeds a limit: commonly so, and few attributes are read then."""
        count = 0
        letters = 0
        for nodes in places:
            names = names_of(nodes)
            counted = {op_type for op_type in set(types_of(nodes)) if any(self._of(op_type))}
            to_count = list(nodes_of_types(nodes, counted))
            if any(map(self.why, to_count)):
                return False
            count += sum(map(self.tensors, to_count))
            # At most: as if each scope were around the longest name.
            letters += max(map(len, names), default=0) * "\n".join(names).count("/")
        return count <= max_tensors and letters <= MAX_LETTERS

    def why(self, node: NodeDef) -> str:
        """Why a NodeDef has too many tensors according to its attributes; "" when it does not."""
        numbers, lists = self._of(node.op)
        for name in (*numbers, *lists):
            if name in node.attr and node.attr[name].placeholder:
                return f"has as many tensors as who calls the function says, by {name}"
        count = self.tensors(node)
        if count <= MOST_OUTPUTS:
            return ""
        counts = [(name, node.attr[name].i) for name in numbers if name in node.attr]
        largest = next(
            (f"{name}={number:,}" for name, number in counts if number > MOST_OUTPUTS), ""
        )
        return f"has {largest or f'{count:,}'} tensors, and no op has more than {MOST_OUTPUTS:,}"

    def tensors(self, node: NodeDef) -> int:
        """How many inputs and outputs the attributes of a NodeDef say that it has.

        Those that it has in any case are not counted.
        """
        numbers, lists = self._of(node.op)
        if not numbers and not lists:
            return 0
        attributes = node.attr
        count: int = sum(max(attributes[name].i, 0) for name in numbers if name in attributes)
        return count + sum(len(attributes[name].list.type) for name in lists if name in attributes)

    def _of(self, op_type: str) -> Counting:
        """The attributes that say how many tensors ops of a type have."""
        counting = self._counting.get(op_type)
        if counting is None:
            definition = self._definition(op_type)
            args = [] if definition is None else [*definition.input_arg, *definition.output_arg]
            numbers = tuple(arg.number_attr for arg in args if arg.number_attr)
            lists = tuple(arg.type_list_attr for arg in args if arg.type_list_attr)
            counting = self._counting[op_type] = Counting(numbers, lists)
        return counting


def why_fatal(op_type: str, shapes: Sequence[Shape]) -> str:
    """Why TensorFlow would end the process as it infers the shapes of an op; "" if it does not."""
    for k in fatal_inputs(op_type, len(shapes)):
        shape = shapes[k]
        if shape is not None and bool(shape) == (op_type in _SCALAR):
            return (
                f"has input {k} of shape {shape_text(shape)}, on which TensorFlow ends the process"
            )
    return ""


def fatal_inputs(op_type: str, count: int) -> range:
    """The inputs whose shape may end the process."""
    if op_type in _SCALAR:
        return range(_SCALAR[op_type], min(_SCALAR[op_type] + 1, count))
    return range(_NO_SCALARS.get(op_type, count), count)


def find_large_computation(
    nodes: Iterable[NodeDef], typing_of: Callable[[Sequence[NodeDef]], Typing]
) -> Excess | None:
    """Return an op with too many elements that TensorFlow would compute while it imports the graph,
    or None; `typing_of` returns the shapes of NodeDefs that consume only each other.

    TensorFlow computes what shapes depend on, as far as it depends on constants only: the sum of
    two billion ones is one number. Values that are as large in the file itself are allowed, and so
    are values on which no shape can depend, such as initial values of variables.
    """
    constant_nodes = [_without_large_value(node) for node in _in_order(nodes)]
    if all(node.op in VALUE_SOURCES for node in constant_nodes):
        return None
    typing = typing_of(constant_nodes)
    max_numbers = MAX_NUMBERS + sum(node.ByteSize() for node in constant_nodes)
    large: dict[str, str] = {}  # ops -> the large one that they are computed from, or ""
    lengths: dict[str, int] = {}  # ops -> bytes of their longest text, at most
    numbers: dict[str, float] = {}  # ops -> their largest number, at most
    for node in constant_nodes:
        size = _size(typing, node)
        sources = [split_input(text)[0] for text in node.input]
        length = _text_length(typing, node, [lengths[op] for op in sources])
        lengths[node.name] = length
        numbers[node.name] = _largest_number(typing, node, [numbers[op] for op in sources])
        has_unknown_size = node.op in UNPACKING or (
            node.op in EXPANDING
            and not _is_known(typing, node.name)
            and not (node.op == "Range" and numbers[node.name] <= max_numbers)
        )
        is_large = has_unknown_size or size > max_numbers or length * max(size, 1) > MAX_TEXT

        large_source = next((large[op] for op in sources if large[op]), "")
        if node.op in SHAPE_QUERIES and all(_is_known(typing, op) for op in sources):
            large_source = ""  # the static shape is the answer, and nothing is computed
        large[node.name] = node.name if is_large else large_source
        can_be_shape = not {"int32", "int64"}.isdisjoint(typing.dtypes(node))
        if large_source and size <= MAX_SHAPE_NUMBERS and can_be_shape:
            why = "makes more numbers than TensorFlow can compute a shape from"
            return Excess(large_source, "", why)
    return None


def _without_large_value(node: NodeDef) -> NodeDef:
    """Return a NodeDef; in place of a large constant, on which no shape depends, its shape only."""
    if node.op not in CONSTANTS or node.ByteSize() <= MAX_SHAPE_BYTES:
        return node
    light = type(node)(name=node.name, op="Placeholder")
    light.attr["dtype"].CopyFrom(node.attr["dtype"])
    light.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
    return light


def _is_known(typing: Typing, op: str) -> bool:
    """Whether the static shape of the first output of an op is wholly known."""
    shape = typing.shape(op, 0)
    return shape is not None and None not in shape


def _size(typing: Typing, node: NodeDef) -> int:
    """Numbers in the largest output, by its static shape; 0 for none that is known."""
    largest = 0
    for port in range(len(typing.dtypes(node))):
        shape = typing.shape(node.name, port)
        if shape is not None and None not in shape:
            largest = max(largest, _product(shape))
    return largest


def _largest_number(typing: Typing, node: NodeDef, of_inputs: Sequence[float]) -> float:
    """The largest number that an op gives, without its sign, at most; infinity where that is not
    known. A range of whole numbers has no more of them.
    """
    if not {"int32", "int64"}.issuperset(typing.dtypes(node)):
        return 1.0 if set(typing.dtypes(node)) == {"bool"} else math.inf
    if node.op in CONSTANTS:
        if _size(typing, node) > MAX_SHAPE_NUMBERS:
            return math.inf
        return float(np.abs(array_of(node.attr["value"].tensor).astype(float)).max(initial=0))
    if node.op in CHOOSE_NUMBERS:
        return max(of_inputs)
    return sum(of_inputs, 1.0) if node.op in ADD_NUMBERS else math.inf


def _text_length(typing: Typing, node: NodeDef, lengths: Sequence[int]) -> int:
    """Bytes of the longest text that an op gives, at most, by those of its inputs; 0 for none."""
    if "string" not in typing.dtypes(node):
        return 0
    if node.op in CONSTANTS:
        tensor = node.attr["value"].tensor
        return max([len(tensor.tensor_content), *map(len, tensor.string_val)])
    longest = max(lengths, default=0)
    if node.op == "StringJoin":
        return sum(lengths) + len(text_attribute(node, "separator")) * len(lengths)
    if node.op in REGEX_REPLACEMENTS:  # each letter becomes the new text, which may repeat all
        new = lengths[2] if len(lengths) > 2 else len(text_attribute(node, "rewrite"))
        return min((longest + 1) * (new + 1) * (longest + 1), MAX_SIZE)
    if node.op in JOINS_OF_ALL:
        source, _ = split_input(node.input[0])
        shape = typing.shape(source, 0) or ()
        count = _product(size for size in shape if size is not None)
        separator = text_attribute(node, "separator")
        return min((longest + len(separator)) * max(count, 1), MAX_SIZE)
    # At most four bytes for one, as in another encoding of Unicode.
    return longest * 4 + MAX_NUMBER_TEXT


def _product(shape: Iterable[Any]) -> int:
    """The product of sizes, but no more than MAX_SIZE: a file may say what is a number of pages."""
    product = 1
    for size in shape:
        product = min(product * size, MAX_SIZE)
    return product


def _in_order(nodes: Iterable[NodeDef]) -> Iterable[NodeDef]:
    """The NodeDefs that are computed from constants alone, each after those that it consumes."""
    waiting: dict[str, int] = {}
    consumers: dict[str, list[NodeDef]] = {}
    ready = []
    for node in nodes:
        sources = {split_input(text)[0] for text in node.input}
        waiting[node.name] = len(sources)
        for op in sources:
            consumers.setdefault(op, []).append(node)
        if not sources and node.op in CONSTANTS:
            ready.append(node)
    while ready:
        node = ready.pop()
        yield node
        for consumer in consumers.get(node.name, ()):
            waiting[consumer.name] -= 1
            if not waiting[consumer.name]:
                ready.append(consumer)
