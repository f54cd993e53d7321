"""Calls of functions, changed to call other ones."""

from __future__ import annotations

from collections.abc import Collection

from tfgraphwidget.tf_types import FunctionDef, NodeDef


def redirect_call(
    node: NodeDef, label: str, definition: FunctionDef, unread: Collection[int] = ()
) -> None:
    """Let an op call another function.

    Args:
        label: What it calls the function as; "" for an op whose type is the function.
        unread: The numbers of the arguments that the function does not read; a plain call is made
            without them, and they are removed from the function.
    """
    if label.partition("[")[0] in ("", "f") and unread:
        _drop_arguments(definition, node, unread)
    name_callee(node, label, definition.signature.name)
    node.attr.pop("_gradient_op_type", None)  # it is that of the old function


def name_callee(node: NodeDef, label: str, name: str) -> None:
    """Let an op call the function `name` as its `label` says: "f", "branches[1]" or "" for its
    type.
    """
    key, _, number = label.rstrip("]").partition("[")
    if not key:
        node.op = name
    elif number:
        node.attr[key].list.func[int(number)].name = name
    else:
        node.attr[key].func.name = name


def _drop_arguments(definition: FunctionDef, call: NodeDef, numbers: Collection[int]) -> None:
    """Take arguments from a function, if it has them still, and from an op that calls it."""
    data = [text for text in call.input if text[:1] != "^"]
    remaining = [k for k in range(len(data)) if k not in numbers]
    if len(definition.signature.input_arg) == len(data):
        _drop_from_definition(definition, remaining)
    call.input[:] = [
        *(data[k] for k in remaining),
        *(text for text in call.input if text[:1] == "^"),
    ]
    if "Tin" in call.attr:
        types = list(call.attr["Tin"].list.type)
        call.attr["Tin"].list.type[:] = [types[k] for k in remaining]


def _drop_from_definition(definition: FunctionDef, remaining: Collection[int]) -> None:
    arguments = [definition.signature.input_arg[k] for k in remaining]
    copies = [type(argument).FromString(argument.SerializeToString()) for argument in arguments]
    del definition.signature.input_arg[:]
    definition.signature.input_arg.extend(copies)
    attributes = {
        k: definition.arg_attr[k].SerializeToString() for k in remaining if k in definition.arg_attr
    }
    definition.arg_attr.clear()
    for now, k in enumerate(remaining):
        if k in attributes:
            definition.arg_attr[now].ParseFromString(attributes[k])
    ids = dict(definition.resource_arg_unique_id)
    definition.resource_arg_unique_id.clear()
    definition.resource_arg_unique_id.update(
        {now: ids[k] for now, k in enumerate(remaining) if k in ids}
    )
