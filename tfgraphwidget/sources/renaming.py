"""Rename ops in NodeDefs: their inputs, control inputs and colocations follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tfgraphwidget.naming import as_input, split_input, split_tensor
from tfgraphwidget.tf_types import NodeDef

_CLASS = "_class"
_LOC = b"loc:@"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\\/>-]|^[^A-Za-z0-9.]")


def variable_op_name(name: str) -> str:
    """A variable's name with the characters that op names cannot have replaced by "_"."""
    return _NOT_IN_NAMES.sub("_", name)


def rename_tensor(name: str, alias: Mapping[str, str]) -> str:
    """The name of a tensor, "a:0", when ops are renamed by `alias`."""
    op, port = split_tensor(name)
    return name if op not in alias else f"{alias[op]}:{port}"


def rename_inputs(nodes: Sequence[NodeDef], alias: Mapping[str, str]) -> None:
    """Rewrite, in place, every input, control input and colocation of NodeDefs that names an op of
    `alias`, which has the names that are shown by TensorFlow's.
    """
    if not alias:
        return
    for node in nodes:
        for k, text in enumerate(node.input):
            op, port = split_input(text)
            if op in alias:
                node.input[k] = as_input(alias[op], port)
        if _CLASS in node.attr:
            values = node.attr[_CLASS].list
            for k, value in enumerate(values.s):
                op = value.removeprefix(_LOC).decode("utf-8", "replace")
                if value.startswith(_LOC) and op in alias:
                    values.s[k] = _LOC + alias[op].encode()
