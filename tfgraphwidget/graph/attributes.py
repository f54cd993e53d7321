"""Digests of attributes, equal where they mean the same: defaults count, functions are compared by
their bodies.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from tfgraphwidget.graph import op_types
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import attr_value, dtype_name
from tfgraphwidget.graph.tensor_values import tensor_array
from tfgraphwidget.graph.tensors import shape_text
from tfgraphwidget.messages import copy_of
from tfgraphwidget.tf_types import (
    AttrValue,
    NameAttrList,
    NodeDef,
    OpDef,
    TensorProto,
    TensorShapeProto,
)

MISSING_INPUT = "_missing_input"
"""On an op that represents what a file lacks: the input that names it, "op:1"."""
NAME_IN_FILE = "_name_in_file"
"""On an op that was opened under another name than the file gives it, which names no op or another
one: the name.
"""
INPUTS_IN_FILE = "_inputs_in_file"
"""On an op whose control inputs stand before tensors in the file: the inputs in that order."""
FILLED_IN = (INPUTS_IN_FILE, MISSING_INPUT, NAME_IN_FILE)
"""What is on ops that are not in the file as they are here."""
UNNAMED = "unnamed"
"""What an op without a name is opened as."""

IGNORED = frozenset(
    {
        "_output_shapes",
        "_input_shapes",  # an optimizer's note
        "_user_specified_name",
        "_has_manual_control_dependencies",
        "_read_only_resource_inputs",
        "_collective_manager_ids",
        "_lower_using_switch_merge",
        *FILLED_IN,
    }
)
"""What TensorFlow and the editor note for themselves, and what changes nothing."""

GRADIENT_NAME = "_gradient_op_type"
"""The name under which a process has registered the gradient of an op, such as
"CustomGradient-74".
"""
_GRADIENT_NUMBER = re.compile(rb"^(\w+)-\d+")

NAMES = frozenset({"_class", "shared_name", "frame_name"})
"""What names ops, or is a name."""


def without_gradient_number(name: bytes) -> bytes:
    """The name of a gradient without its number, which counts what the process has registered.

    >>> without_gradient_number(b"CustomGradient-74")
    b'CustomGradient'
    """
    return _GRADIENT_NUMBER.sub(rb"\1", name)


def is_filled_in(nodes: Iterable[NodeDef]) -> bool:
    """Whether opening a file had to fill in names or inputs of its ops."""
    return any(key in node.attr for node in nodes for key in FILLED_IN)


_NOT_COMPARED = (*IGNORED, *NAMES)
_Field = Literal["name", "input", "device", "experimental_debug_info"]
_NOT_KIND: tuple[_Field, ...] = ("name", "input", "device", "experimental_debug_info")
_WEIGHTS = op_types.CONSTANTS | op_types.HANDLES
_GATHERS = op_types.GATHERS | {"ResourceGather"}  # a frozen variable is read by another type
_OF_COMPUTATION = frozenset({"i", "f", "b", "s"})  # no dtypes, shapes, tensors, functions
# TensorFlow names an argument that a loop's condition or a branch does not read after its function,
# which has a number.
_UNREAD_ARGUMENT = "___redundant_placeholder"
_NO_DEFAULT: tuple[bytes, AttrValue | None] = (b"", None)  # of an attribute without one
_LARGE = 4096  # bytes of a NodeDef that is not remembered
_MOST_REPEATED = 1 << 20  # bytes of a tensor of which not all elements are stored
_LONGEST = 80  # characters of an attribute
_MOST_ELEMENTS = 6  # of a constant that is written out


def _shape_of_weight(node: NodeDef) -> tuple[int, ...] | None:
    """The sizes of a constant or a variable without those of one, which optimizers add and take
    away; None where they are missing.
    """
    attribute = node.attr.get("value" if node.op in op_types.CONSTANTS else "shape")
    if attribute is None:
        return None
    shape = attribute.tensor.tensor_shape if node.op in op_types.CONSTANTS else attribute.shape
    return tuple(dim.size for dim in shape.dim if dim.size != 1)


class AttributeDigests:
    """The attributes of an index's ops in a form that is equal when they mean the same.

    The numbers of gradients count in one process only.
    """

    def __init__(self, index: GraphIndex, *, gradient_numbers: bool = True) -> None:
        self._index, self._gradient_numbers = index, gradient_numbers
        self._in_progress: set[str] = set()
        self.default = cache(self._default)
        self.function = cache(self._function)
        self.kind = cache(self._kind)
        self.loose_kind = cache(self._loose_kind)
        self._kinds: dict[bytes, bytes] = {}

    def _kind(self, op: int) -> bytes:
        """A digest of an op's type and its attributes but NAMES; made once for alike ops."""
        node = self._index.nodes[op]
        bare = copy_of(node)
        for field in _NOT_KIND:
            bare.ClearField(field)
        attributes = bare.attr
        for name in _NOT_COMPARED:
            if name in attributes:
                del attributes[name]
        key = bare.SerializeToString(deterministic=True)
        digest = self._kinds.get(key)
        if digest is None:
            digest = _digest(node.op, self.explicit_values(bare))
            if len(key) < _LARGE:
                self._kinds[key] = digest
        return digest

    def _loose_kind(self, op: int) -> bytes:
        """A digest of what an op computes, whatever its dtypes and weights are: type without its
        version and whether it keeps a state, attributes but dtypes, shapes, values and functions;
        weights of floats and of one shape are of one kind whether they are constants or variables.
        """
        node = self._index.nodes[op]
        family = self.family(op)
        value = node.attr.get("value") if node.op in op_types.CONSTANTS else None
        if value is not None and family != b"weight float":
            return family + self._value_bytes(value)  # no usual change is one of an axis or a size
        if node.op in _WEIGHTS:
            # No usual change is one of a shape; and one layer of a class is like the next but that.
            return family + str(_shape_of_weight(node)).encode()
        if node.op in op_types.VARIABLE_READS or node.op in _GATHERS:
            return family
        attributes = {
            name: self._value_bytes(value)
            for name, value in node.attr.items()
            if name not in _NOT_COMPARED and name[:1] != "_" and _is_of_computation(value)
        }
        return _digest(family.decode(), self._without_defaults(node.op, attributes))

    def family(self, op: int) -> bytes:
        """What an op is, whatever its attributes are: its type without its version and whether it
        keeps a state; of a weight whether its numbers are floats.
        """
        node = self._index.nodes[op]
        if node.op in _WEIGHTS:
            dtype = node.attr.get("dtype")  # by brackets a missing one would be added
            name = "" if dtype is None else dtype_name(dtype, "type", dtype.type)
            return f"weight {_family(name)}".encode()
        if node.op in op_types.VARIABLE_READS:
            return b"read"
        if node.op in _GATHERS:
            return b"gather"
        if node.op in op_types.FUNCTION_CALLS:
            return b"call"
        if node.op in op_types.FUSED_BATCH_NORMS | op_types.NORMS_WITH_ACTIVATION:
            return b"FusedBatchNorm"
        family = node.op.rstrip("0123456789").removesuffix("V").removeprefix("Stateless")
        return family.encode()

    def explicit_values(self, node: NodeDef) -> dict[str, bytes]:
        """Name of each attribute that is not at its default -> bytes that say what it is."""
        values = {
            name: self._attribute_bytes(name, value)
            for name, value in node.attr.items()
            if name not in IGNORED
        }
        return self._without_defaults(node.op, values)

    def _without_defaults(self, op_type: str, values: Mapping[str, bytes]) -> dict[str, bytes]:
        """The values of attributes that are not the defaults of an op type."""
        defaults = self.default(op_type)
        return {
            name: value
            for name, value in values.items()
            if value != defaults.get(name, _NO_DEFAULT)[0]
        }

    def value(self, node: NodeDef, name: str) -> bytes:
        """The serialized value of one attribute; the default where the op has none."""
        if name in node.attr:
            return self._attribute_bytes(name, node.attr[name])
        return self.default(node.op).get(name, _NO_DEFAULT)[0]

    def text(self, node: NodeDef, name: str) -> str:
        """An attribute for people, the default where the op has none."""
        if name in node.attr:
            return attribute_text(node.attr[name])
        _, default = self.default(node.op).get(name, _NO_DEFAULT)
        return "" if default is None else attribute_text(default)

    def _default(self, op_type: str) -> dict[str, tuple[bytes, AttrValue | None]]:
        """The OpDef's default for an attribute that a NodeDef lacks, serialized and as message."""
        definition = self._index.typing.definition(op_type)
        if definition is None:
            return {}
        attr_defs = [each for each in definition.attr if each.HasField("default_value")]
        defaults = {each.name: each.default_value for each in attr_defs}
        return {name: (self._value_bytes(value), value) for name, value in defaults.items()}

    def _attribute_bytes(self, name: str, value: AttrValue) -> bytes:
        if name == GRADIENT_NAME and not self._gradient_numbers:
            return without_gradient_number(value.s)
        return self._value_bytes(value)

    def _value_bytes(self, value: AttrValue) -> bytes:
        kind = value.WhichOneof("value")
        if kind == "func":
            return self._call(value.func)
        if kind == "list" and value.list.func:
            return b" ".join(map(self._call, value.list.func))
        if kind == "list" and not value.list.ListFields():
            return b"[]"
        if kind == "tensor":
            return _tensor_bytes(value.tensor)
        return bytes(value.SerializeToString(deterministic=True))

    def _call(self, function: NameAttrList) -> bytes:
        arguments = [
            (name, self._value_bytes(value))
            for name, value in sorted(function.attr.items())
            if name not in IGNORED
        ]
        return self.function(function.name) + repr(arguments or "").encode()

    def _function(self, name: str) -> bytes:
        """A digest of what a function of the library does; its name when the library lacks it."""
        if name in self._in_progress or name not in self._index.functions:
            return name.encode()
        try:
            function = self._index.extras.function(name)
        except KeyError:  # an edit has just brought it
            return name.encode()
        self._in_progress.add(name)
        arguments = [
            _argument_types(function.signature.input_arg),
            _argument_types(function.signature.output_arg),
        ]
        nodes = sorted(
            (n.name, n.op, n.device, *_inputs(n), sorted(self.explicit_values(n).items()))
            for n in function.node_def
        )
        description = (
            arguments,
            sorted(function.ret.items()),
            sorted(function.control_ret.items()),
            nodes,
        )
        self._in_progress.discard(name)
        return blake2b(repr(description).encode(), digest_size=16).digest()


def _tensor_bytes(proto: TensorProto) -> bytes:
    """What a tensor is, however it is stored: with all its elements, or without those at the end
    that repeat; as it is where its elements cannot be read, or are too many.
    """
    dtype = dtype_name(proto, "dtype", proto.dtype)
    sizes = [int(dim.size) for dim in proto.tensor_shape.dim]
    content = proto.tensor_content
    if not content:
        try:
            elements = tensor_array(proto, dtype, _MOST_REPEATED)
        except (KeyError, TypeError, ValueError):
            return bytes(proto.SerializeToString(deterministic=True))
        is_text = elements.dtype == object
        content = repr(elements.tolist()).encode() if is_text else elements.tobytes()
    return f"{dtype} {sizes} {proto.tensor_shape.unknown_rank}\0".encode() + content


def _family(dtype: str) -> str:
    """What a dtype is of whatever size: "float", "int"; another one is its own family."""
    return next((family for family in ("float", "int") if family in dtype), dtype)


def _is_of_computation(value: AttrValue) -> bool:
    """Whether an attribute says how to compute: an axis, strides, a padding."""
    field = value.WhichOneof("value")
    if field == "list":
        return any(listed.name in _OF_COMPUTATION for listed, _ in value.list.ListFields())
    return field in _OF_COMPUTATION


def _digest(op_type: str, attributes: Mapping[str, bytes]) -> bytes:
    digest = blake2b(op_type.encode(), digest_size=16)
    for name, value in sorted(attributes.items()):
        digest.update(f"\0{name}\0{len(value)}\0".encode())
        digest.update(value)
    return digest.digest()


def _argument_types(arguments: Iterable[OpDef.ArgDef]) -> list[tuple[object, ...]]:
    described: list[tuple[object, ...]] = []
    for each in arguments:
        name = "" if _UNREAD_ARGUMENT in each.name else each.name
        types = each.type, each.type_attr, each.type_list_attr, each.number_attr
        described.append((name, *types))
    return described


def _inputs(node: NodeDef) -> tuple[list[str], list[str]]:
    """Data inputs in order, control inputs in any."""
    texts = list(node.input)
    return [t for t in texts if t[:1] != "^"], sorted(t for t in texts if t[:1] == "^")


def attribute_text(value: AttrValue) -> str:
    """An AttrValue for people, at most 80 characters."""
    content = attr_value(value)
    if hasattr(content, "tensor_shape"):
        text = _tensor_text(content)
    elif hasattr(content, "unknown_rank"):
        text = _shape_text(content)
    elif isinstance(content, list):
        items = [_shape_text(v) if hasattr(v, "unknown_rank") else _plain(v) for v in content]
        text = f"[{', '.join(items)}]"
    else:
        text = _plain(content)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return bytes_text(value, _LONGEST)
    is_function = hasattr(value, "DESCRIPTOR") and hasattr(value, "attr")
    return str(value.name if is_function else value)


def bytes_text(value: bytes, longest: int) -> str:
    r"""A string attribute as Python writes it, b'…' where it is not a UTF-8; over `longest` letters
    where it is longer.

    >>> print(bytes_text("ключ".encode(), 80), bytes_text(bytes([255, 1]), 80))
    'ключ' b'\xff\x01'
    """
    first = value[: 4 * longest + 4]  # a letter has four bytes at the most
    decoder = codecs.getincrementaldecoder("utf-8")()  # what is cut off may end inside a letter
    try:
        return repr(decoder.decode(first, final=len(first) == len(value)))
    except UnicodeDecodeError:
        return repr(first)


def _shape_text(proto: TensorShapeProto) -> str:
    if proto.unknown_rank:
        return shape_text(None)
    return shape_text(tuple(None if d.size < 0 else int(d.size) for d in proto.dim))


def _tensor_text(proto: TensorProto) -> str:
    """Dtype and shape of a constant, and its elements when there are few."""
    dtype = dtype_name(proto, "dtype", proto.dtype)
    sizes = [int(d.size) for d in proto.tensor_shape.dim]
    head = f"{dtype} {_shape_text(proto.tensor_shape)}"
    if np.prod(sizes, dtype=float) > _MOST_ELEMENTS:
        return head
    return f"{head} {_elements(proto, dtype)}".rstrip()


def _elements(proto: TensorProto, dtype: str) -> str:
    """The elements of a constant, as a list; "" for none, or of a dtype that numpy lacks."""
    elements: list[Any] = []
    for field, values in proto.ListFields():
        if field.name.endswith("_val") and field.name != "half_val":
            elements = list(values)
            break
    if proto.tensor_content:
        try:
            elements = np.frombuffer(proto.tensor_content, dtype).tolist()
        except (TypeError, ValueError):  # bfloat16 and its like, or a damaged file
            elements = []
    if not elements:
        return ""
    return str([round(v, 7) if isinstance(v, float) else v for v in elements])
