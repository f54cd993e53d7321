"""The graph of a converted model: its operators are ops, its weights constants.

The ops are of types that TensorFlow does not know, so the graph can be looked at and compared; what
runs it is the format's own runtime, which has the file itself.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any, NoReturn

from tfgraphwidget.errors import NotRunnable
from tfgraphwidget.graph import ORIGINS, SCALAR_PLACEHOLDERS, TRUSTED
from tfgraphwidget.sources.converted_model import LiteModel, OnnxModel
from tfgraphwidget.sources.files.container import Container, OpenOptions
from tfgraphwidget.sources.source import Source
from tfgraphwidget.sources.tf_protos import message_classes

DEFAULT_SIGNATURE = "serving_default"
PLAIN = frozenset(
    {
        *("float16", "float32", "float64", "bfloat16", "bool", "complex64", "complex128"),
        *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    }
)
"""Dtypes whose values lie in files as TensorFlow has them."""


class ConvertedNodes:
    """A graph or a function that is written op by op.

    Args:
        nodes: The NodeDefs, to which those of its ops are added.
    """

    def __init__(self, nodes: Any) -> None:
        self._nodes = nodes
        self._names = Counter[str]()

    def add(self, name: str, kind: str) -> Any:
        """Add a NodeDef of a name that is free."""
        return self._nodes.add(name=name, op=kind)

    def free_name(self, name: str) -> str:
        """A name, or where an op has it one like it, for an op to be added."""
        return _take_free_name(name, self._names)

    def add_input(self, name: str, dtype: int) -> tuple[str, Any]:
        """Add an input of a name that is free: its name, and the TensorShapeProto to fill in."""
        node = self.add(self.free_name(name), "Placeholder")
        node.attr["dtype"].type = dtype
        shape = node.attr["shape"].shape
        shape.SetInParent()  # that of a scalar has nothing else
        return node.name, shape


class ConvertedFunction(ConvertedNodes):
    """A graph that an operator has inside, as a function of the library."""

    def __init__(self, definition: Any) -> None:
        super().__init__(definition.node_def)
        self._definition = definition

    def add_input(self, name: str, dtype: int) -> tuple[str, Any]:
        """Add an argument of a name that is free: its name, and the TensorShapeProto to fill in."""
        arguments = self._definition.signature.input_arg
        attributes = self._definition.arg_attr[len(arguments)].attr
        unique = self.free_name(name)
        arguments.add(name=unique, type=dtype)
        return unique, attributes["_output_shapes"].list.shape.add()

    def add_result(self, tensor: str, dtype: int) -> None:
        """Add a result, which is a tensor of the function, "op:0"."""
        results = self._definition.signature.output_arg
        name = f"result_{len(results)}"
        results.add(name=name, type=dtype)
        self._definition.ret[name] = tensor


class ConvertedGraph(ConvertedNodes):
    """The main graph of a converted model, with the functions that its operators call.

    Attributes:
        meta: The MetaGraphDef.
    """

    def __init__(self) -> None:
        self.meta: Any = message_classes().MetaGraphDef()
        self.meta.graph_def.versions.producer = SCALAR_PLACEHOLDERS
        super().__init__(self.meta.graph_def.node)
        self._functions = Counter[str]()

    def add_function(self, name: str) -> tuple[str, ConvertedFunction]:
        """Add a function of a name that is free: its name, and what writes it."""
        unique = _take_free_name(name, self._functions)
        definition = self.meta.graph_def.library.function.add()
        definition.signature.name = unique
        return unique, ConvertedFunction(definition)

    def summary(self, container: Container, made_by: str) -> dict[str, object]:
        """What `tfgraphwidget info` says of it."""
        from tfgraphwidget.sources.files.summary import summarize_graph

        meta = container.messages.MetaGraphDef.FromString(self.meta.SerializeToString())
        meta.graph_def.ClearField("versions")  # which no TensorFlow has written
        return {**summarize_graph(meta.graph_def, meta), "made_by": made_by}

    def open(
        self, container: Container, options: OpenOptions, what: str, model: LiteModel | OnnxModel
    ) -> Source:
        """The source of the graph; `what` is "a TensorFlow Lite model", `model` for its runtime."""
        from tfgraphwidget.sources.files.opening import open_message

        # Its operators compute, and nothing else: no runtime of the format has TensorFlow's ops.
        source = open_message(self.meta, container.title, container.where, options, trust=TRUSTED)
        why = (
            f"{container.where} is {what}, which TensorFlow does not run; edit the model that it "
            "was converted from, and convert it again."
        )
        notice = (
            f"{container.where} is {what}, to look at, to search, to compare and to run; edit the "
            "model that it was converted from, and convert it again."
        )
        source.notices = (notice,)
        source.live_refusal = why
        source.revive = partial(_refuse, why)
        source.converted_model = model
        return source


def _take_free_name(name: str, names: Counter[str]) -> str:
    """A name, or where it is among those that are used one like it, which is from then on."""
    unique = name
    while unique in names:
        unique = f"{name}_{names[name]}"
        names[name] += 1
    names[unique] = 1
    return unique


def _refuse(why: str) -> NoReturn:
    raise NotRunnable(why)


def op_name(name: str) -> str:
    """A name as that of an op, which has fewer characters."""
    plain = re.sub(r"[^A-Za-z0-9_.\\/>-]", "_", name)
    return plain if re.match(r"[A-Za-z0-9.]", plain) else f"tensor{plain}"


def without_port(name: str) -> str:
    """The name of the op of a tensor."""
    return re.sub(r":\d+\Z", "", name)


def set_origins(node: Any, names: list[str]) -> None:
    """Note the names of the ops of the model that an operator does the work of."""
    node.attr[ORIGINS].list.s.extend(name.encode() for name in names)


def set_attribute(attribute: Any, value: object) -> None:
    """Set an AttrValue to a number, a truth value, a text, or a list of one of these."""
    if isinstance(value, list):
        for each in value:
            if isinstance(each, int):
                attribute.list.i.append(each)
            elif isinstance(each, float):
                attribute.list.f.append(each)
            else:
                attribute.list.s.append(str(each).encode())
    elif isinstance(value, bool):
        attribute.b = value
    elif isinstance(value, int):
        attribute.i = value
    elif isinstance(value, float):
        attribute.f = value
    else:
        attribute.s = str(value).encode()
