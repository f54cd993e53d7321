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
from tfgraphwidget.graph import ORIGINS, TRUSTED
from tfgraphwidget.sentences import in_cell
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


class ConvertedGraph:
    """A graph that is written op by op.

    Attributes:
        meta: The MetaGraphDef.
    """

    def __init__(self) -> None:
        self.meta: Any = message_classes().MetaGraphDef()
        self._names = Counter[str]()

    def add(self, name: str, kind: str) -> Any:
        """Add a NodeDef of a name that is free."""
        return self.meta.graph_def.node.add(name=name, op=kind)

    def free_name(self, name: str) -> str:
        """A name, or where an op has it one like it, for an op to be added."""
        unique = name
        while unique in self._names:
            unique = f"{name}_{self._names[name]}"
            self._names[name] += 1
        self._names[unique] = 1
        return unique

    def summary(self, container: Container) -> list[dict[str, object]]:
        """What `tfgraphwidget info` says of it."""
        from tfgraphwidget.sources.files.summary import summarize_graph

        meta = container.messages.MetaGraphDef.FromString(self.meta.SerializeToString())
        return [summarize_graph(meta.graph_def, meta)]

    def open(
        self,
        container: Container,
        options: OpenOptions,
        what: str,
        model: LiteModel | OnnxModel,
    ) -> Source:
        """The source of the graph.

        Args:
            container: The file.
            options: The choices of the caller.
            what: The format: "a TensorFlow Lite model".
            model: What its runtime takes.
        """
        from tfgraphwidget.sources.files.opening import open_message

        # Its operators compute, and nothing else: no runtime of the format has TensorFlow's ops.
        source = open_message(self.meta, container.title, container.where, options, trust=TRUSTED)
        why = f"{container.where} is {what}, which TensorFlow does not run; " + in_cell(
            "edit the model that it was converted from, and convert it again."
        )
        source.notices = (why,)
        source.live_refusal = why
        source.revive = partial(_refuse, why)
        source.converted_model = model
        return source


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
