"""A FunctionDef as NodeDefs of a GraphDef.

A FunctionDef's inputs are written "op:output_argument:k", and need the OpDef of the op that they read to become
ports. TensorFlow's own conversion refuses functions that use an op it does not know; this one guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tensorflow as tf

from tfgraphwidget.names import as_input
from tfgraphwidget.sources.dtypes import OpTypes


@dataclass(frozen=True)
class Converted:
    """`arguments` are the names of the placeholders, first among the `nodes`; `returns` maps results to tensors."""

    nodes: list[Any]
    arguments: tuple[str, ...]
    returns: dict[str, str]


def converted(definition: Any, types: OpTypes, attributes: Mapping[str, Any]) -> Converted:
    """The body of a FunctionDef; `attributes` are the call's, which a polymorphic function takes its dtypes from."""
    signature = definition.signature
    ports = _Ports(definition, types)
    nodes = [_placeholder(arg, definition.arg_attr.get(k), attributes) for k, arg in enumerate(signature.input_arg)]
    for original in definition.node_def:
        node = tf.compat.v1.NodeDef()
        node.CopyFrom(original)
        _instantiate(node, attributes)
        for k, text in enumerate(node.input):
            node.input[k] = text if text[:1] == "^" else as_input(*ports.of(text))
        nodes.append(node)
    returns = {}
    for arg in signature.output_arg:
        if arg.name in definition.ret:
            op, port = ports.of(definition.ret[arg.name])
            returns[arg.name] = f"{op}:{port}"
    return Converted(nodes, tuple(arg.name for arg in signature.input_arg), returns)


def _placeholder(arg: Any, told: Any, attributes: Mapping[str, Any]) -> Any:
    """The op that stands for an argument."""
    node = tf.compat.v1.NodeDef(name=arg.name, op="Placeholder")
    dtype = arg.type or (attributes[arg.type_attr].type if arg.type_attr in attributes else 0)
    node.attr["dtype"].type = dtype
    shapes = told.attr["_output_shapes"].list.shape if told is not None and "_output_shapes" in told.attr else ()
    if shapes:
        node.attr["shape"].shape.CopyFrom(shapes[0])
    else:
        node.attr["shape"].shape.unknown_rank = True
    return node


def _instantiate(node: Any, attributes: Mapping[str, Any]) -> None:
    """Fill in the attributes that a polymorphic function takes from its call, in place."""
    for value in node.attr.values():
        if value.WhichOneof("value") == "placeholder" and value.placeholder in attributes:
            value.CopyFrom(attributes[value.placeholder])


class _Ports:
    """Finds the port that an input of a FunctionDef means."""

    def __init__(self, definition: Any, types: OpTypes) -> None:
        self._definition = definition
        self._types = types
        self._nodes = {node.name: node for node in definition.node_def}
        self._starts: dict[str, dict[str, int]] = {}

    def of(self, text: str) -> tuple[str, int]:
        """("op", port) of "argument", "argument:0", "op:output_argument" or "op:output_argument:k"."""
        name, *rest = text.split(":")
        last = rest[-1] if rest else ""
        offset = int(last) if last.isdecimal() and len(last) < 6 else 0
        if name not in self._nodes or not rest or rest[0].isdecimal():
            return name, offset
        if name not in self._starts:
            self._starts[name] = self._starts_of(name)
        return name, self._starts[name].get(rest[0], 0) + offset

    def _starts_of(self, name: str) -> dict[str, int]:
        """The first port of each output argument of an op."""
        outputs = self._types.outputs(self._nodes[name])
        if outputs is None:
            sizes: Iterable[tuple[str, int]] = self._read.get(name, {}).items()
        else:
            sizes = [(output.name, len(output.dtypes)) for output in outputs]
        starts: dict[str, int] = {}
        at = 0
        for argument, size in sizes:
            starts[argument] = at
            at += size
        return starts

    @cached_property
    def _read(self) -> dict[str, dict[str, int]]:
        """Op -> output argument -> how many of its tensors are read, in the order of first reading.

        That is all there is to know of an op that TensorFlow does not know.
        """
        found: dict[str, dict[str, int]] = {}
        texts = [text for node in self._definition.node_def for text in node.input]
        for text in (*texts, *self._definition.ret.values()):
            name, *rest = text.split(":")
            if len(rest) == 2:
                read = int(rest[1]) + 1 if rest[1].isdecimal() and len(rest[1]) < 6 else 1
                sizes = found.setdefault(name, {})
                sizes[rest[0]] = max(sizes.get(rest[0], 0), read)
        return found
