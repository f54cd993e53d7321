"""Bounds: limits on what TensorFlow would allocate for a file of a few bytes, checked before it imports the file.

An op takes and gives as many tensors as its attributes say, and TensorFlow takes them at their word while it imports a
graph: 87 bytes are two billion tensors, in a call that ends neither by itself nor by Ctrl-C. So does a name that is all
slashes, since each of the scopes that it lies in is looked up, and so do constants that it computes at once because a
shape hangs on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tfgraphwidget.graph import (
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
    shape_text,
    types_of,
)
from tfgraphwidget.naming import split_input, text_attribute
from tfgraphwidget.sources.inference.dtypes import MOST_OUTPUTS
from tfgraphwidget.tf_types import FunctionDef, NodeDef, OpDef

_MOST_IN_ALL = 1 << 18  # tensors that attributes say, of all ops together; or _MOST_EACH for each op, if that is more
_MOST_EACH = 16
_MOST_LETTERS = 1 << 32  # that are looked at to find the scopes around all names: a second's work
_MOST_NUMBERS = 1 << 26  # of a constant that is computed; 256 MB
_LARGEST_SHAPE = 1 << 10  # numbers that a shape may hang on
_LIGHT = 1 << 14  # bytes of a constant that a shape may hang on
_MOST_TEXT = 1 << 26  # bytes of a text that is computed; 64 MB
# Op types whose shape functions end the process on a scalar, from this input on: they ask for its first dimension.
_NO_SCALARS = {
    "BoostedTreesAggregateStats": 0,
    "BoostedTreesExampleDebugOutputs": 1,
    "BoostedTreesPredict": 1,
    "BoostedTreesTrainingPredict": 1,
    "XlaSparseGradientsStack": 0,
}
# Op types whose shape functions end the process if this input is no scalar.
_SCALAR = {"QueueDequeueManyV2": 1}
FATAL_SHAPES = frozenset(_NO_SCALARS.keys() | _SCALAR.keys())
"""Op types for which TensorFlow ends the process where it infers shapes of certain inputs."""
_NUMBER_TEXT = 400  # bytes of a number as text, at most: a double without exponent


class Excess(NamedTuple):
    """An op for which TensorFlow would allocate too much: its name, the function it is in or "", and why."""

    op: str
    function: str
    why: str


class Counting(NamedTuple):
    """The attributes that say how many tensors an op of some type takes and gives: numbers and lists of types."""

    numbers: tuple[str, ...]
    lists: tuple[str, ...]


class Bounds:
    """The limits; `definition` returns the OpDef of an op type, or None."""

    def __init__(self, definition: Callable[[str], OpDef | None]) -> None:
        self._definition = definition
        self._counting: dict[str, Counting] = {}

    def excess(self, nodes: Sequence[NodeDef], functions: Mapping[str, FunctionDef]) -> Excess | None:
        """The first op of a graph or of its functions that exceeds a limit; None if there is none.

        Args:
            nodes: The NodeDefs, in the order of the graph.
            functions: The FunctionDefs by name.
        """
        places = [("", nodes), *((name, functions[name].node_def) for name in sorted(functions))]
        most = max(_MOST_IN_ALL, _MOST_EACH * sum(len(place_nodes) for _, place_nodes in places))
        if self._are_within([place_nodes for _, place_nodes in places], most):
            return None
        tensors = letters = 0
        for place, place_nodes in places:
            for node in place_nodes:
                why = self.why(node) if any(self._of(node.op)) else ""
                tensors += self.tensors(node)
                letters += len(node.name) * node.name.count("/")
                if not why and tensors > most:
                    why = f"is one more of those that have {tensors:,} tensors together"
                if not why and letters > _MOST_LETTERS:
                    why = f"lies in {node.name.count('/'):,} name scopes"
                if why:
                    return Excess(node.name, place, why)
        return None

    def _are_within(self, places: Iterable[Sequence[NodeDef]], most: int) -> bool:
        """Whether no NodeDef exceeds a limit: the common case, which looks into the attributes of few op types only."""
        count = letters = 0
        for nodes in places:
            types, names = types_of(nodes), names_of(nodes)
            counted = {op_type for op_type in set(types) if any(self._of(op_type))}
            to_count = [node for node, op_type in zip(nodes, types, strict=True) if op_type in counted]
            if any(map(self.why, to_count)):
                return False
            count += sum(map(self.tensors, to_count))
            letters += max(map(len, names), default=0) * "\n".join(names).count("/")  # at most
        return count <= most and letters <= _MOST_LETTERS

    def why(self, node: NodeDef) -> str:
        """Why a NodeDef has too many tensors according to its attributes; "" when it does not.

        Args:
            node: The NodeDef of an op.
        """
        numbers, lists = self._of(node.op)
        for name in (*numbers, *lists):
            if name in node.attr and node.attr[name].placeholder:
                return f"has as many tensors as who calls the function says, by {name}"
        count = self.tensors(node)
        if count <= MOST_OUTPUTS:
            return ""
        counts = [(name, node.attr[name].i) for name in numbers if name in node.attr]
        largest = next((f"{name}={number:,}" for name, number in counts if number > MOST_OUTPUTS), "")
        return f"has {largest or f'{count:,}'} tensors, and no op has more than {MOST_OUTPUTS:,}"

    def tensors(self, node: NodeDef) -> int:
        """How many tensors a NodeDef takes and gives by what its attributes say, but for those that it always does.

        Args:
            node: The NodeDef of an op.
        """
        numbers, lists = self._of(node.op)
        if not numbers and not lists:
            return 0
        attributes = node.attr
        count: int = sum(max(attributes[name].i, 0) for name in numbers if name in attributes)
        return count + sum(len(attributes[name].list.type) for name in lists if name in attributes)

    def _of(self, op_type: str) -> Counting:
        counting = self._counting.get(op_type)
        if counting is None:
            definition = self._definition(op_type)
            args = [] if definition is None else [*definition.input_arg, *definition.output_arg]
            numbers, lists = ([getattr(arg, kind) for arg in args] for kind in ("number_attr", "type_list_attr"))
            counting = Counting(tuple(filter(None, numbers)), tuple(filter(None, lists)))
            self._counting[op_type] = counting
        return counting


def why_fatal(op_type: str, shapes: Sequence[Shape]) -> str:
    """Why TensorFlow would end the process when it infers the shapes of an op; "" if it does not.

    Args:
        op_type: Its type.
        shapes: The static shapes of its inputs.
    """
    for k in fatal_inputs(op_type, len(shapes)):
        shape = shapes[k]
        if shape is not None and bool(shape) == (op_type in _SCALAR):
            return f"has input {k} of shape {shape_text(shape)}, on which TensorFlow ends the process"
    return ""


def fatal_inputs(op_type: str, count: int) -> range:
    """The inputs whose shape may end the process.

    Args:
        op_type: The type of the op.
        count: How many inputs it has.
    """
    if op_type in _SCALAR:
        return range(_SCALAR[op_type], min(_SCALAR[op_type] + 1, count))
    return range(_NO_SCALARS.get(op_type, count), count)


def find_large_computation(nodes: Iterable[NodeDef], typing_of: Callable[[Sequence[NodeDef]], Typing]) -> Excess | None:
    """Return an op with too many elements that TensorFlow would compute while it imports the graph; None if there is
    none.

    TensorFlow computes what shapes depend on, as far as it depends on constants only: the sum of two billion ones is
        one
    number. Values that are as large in the file itself are allowed, and so are values that no shape can depend on, such
    as initial values of variables.

    Args:
        nodes: NodeDefs.
        typing_of: Returns the shapes of NodeDefs that read only each other.
    """
    some = [_without_large_value(node) for node in _in_order(nodes)]
    if all(node.op in VALUE_SOURCES for node in some):
        return None
    typing = typing_of(some)
    most = _MOST_NUMBERS + sum(node.ByteSize() for node in some)
    large: dict[str, str] = {}  # ops -> the large one that they are computed from, or ""
    lengths: dict[str, int] = {}  # ops -> bytes of their longest text, at most
    for node in some:
        size, reads = _size(typing, node), [split_input(text)[0] for text in node.input]
        lengths[node.name] = _text_length(typing, node, [lengths[op] for op in reads])
        is_large = size > most or lengths[node.name] * max(size, 1) > _MOST_TEXT
        is_large |= node.op in UNPACKING or (node.op in EXPANDING and not _is_known(typing, node.name))
        is_by_static_shape = node.op in SHAPE_QUERIES and all(_is_known(typing, op) for op in reads)
        from_large = "" if is_by_static_shape else next((large[op] for op in reads if large[op]), "")
        large[node.name] = node.name if is_large else from_large
        if from_large and size <= _LARGEST_SHAPE and not {"int32", "int64"}.isdisjoint(typing.dtypes(node)):
            return Excess(from_large, "", "makes more numbers than TensorFlow can compute a shape from")
    return None


def _without_large_value(node: NodeDef) -> NodeDef:
    """Return a NodeDef; for a large constant one that has its shape only, since shapes depend on small ones."""
    if node.op not in CONSTANTS or node.ByteSize() <= _LIGHT:
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
    shapes = (typing.shape(node.name, port) for port, _ in enumerate(typing.dtypes(node)))
    return max((_product(shape) for shape in shapes if shape is not None and None not in shape), default=0)


def _text_length(typing: Typing, node: NodeDef, lengths: Sequence[int]) -> int:
    """Bytes of the longest text that an op gives, at most, for those of its inputs; 0 for an op that gives none."""
    if "string" not in typing.dtypes(node):
        return 0
    if node.op in CONSTANTS:
        return max(map(len, node.attr["value"].tensor.string_val), default=0)
    longest = max(lengths, default=0)
    if node.op == "StringJoin":
        return sum(lengths) + len(text_attribute(node, "separator")) * len(lengths)
    if node.op in REGEX_REPLACEMENTS:  # each letter becomes the new text, which may repeat all
        new = lengths[2] if len(lengths) > 2 else len(text_attribute(node, "rewrite"))
        return min((longest + 1) * (new + 1) * (longest + 1), 1 << 62)
    if node.op in JOINS_OF_ALL:
        count = _product(size for size in typing.shape(split_input(node.input[0])[0], 0) or () if size is not None)
        return min((longest + len(text_attribute(node, "separator"))) * max(count, 1), 1 << 62)
    return longest * 4 + _NUMBER_TEXT  # at most four bytes for one, as in another encoding of Unicode


def _product(shape: Iterable[Any]) -> int:
    size = 1
    for length in shape:
        size = min(size * length, 1 << 62)
    return size


def _in_order(nodes: Iterable[NodeDef]) -> Iterable[NodeDef]:
    """The NodeDefs that are computed from constants alone, each behind those that it reads."""
    waits: dict[str, int] = {}
    readers: dict[str, list[NodeDef]] = {}
    ready = []
    for node in nodes:
        reads = {split_input(text)[0] for text in node.input}
        waits[node.name] = len(reads)
        for op in reads:
            readers.setdefault(op, []).append(node)
        if not reads and node.op in CONSTANTS:
            ready.append(node)
    while ready:
        node = ready.pop()
        yield node
        for reader in readers.get(node.name, ()):
            waits[reader.name] -= 1
            if not waits[reader.name]:
                ready.append(reader)
