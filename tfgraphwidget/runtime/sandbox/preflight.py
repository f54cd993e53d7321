"""Preflight: validates new ops in a scratch graph, so that TensorFlow rejects an edit before the user's graph changes.

The same bytes are imported into the scratch graph and, afterwards, into the user's graph. The scratch graph belongs to
TensorFlow's C API and has no Python objects for its ops, which take most of the time of an import. In it, placeholders
of the same dtype, static shape and handle data replace the tensors that the new ops read from the user's graph;
constants are copied, because shapes depend on their values.

Names in use, missing inputs, missing functions and malformed devices cannot be found there. They are checked in the
user's graph.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import tensorflow as tf
from google.protobuf.message import EncodeError

from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName
from tfgraphwidget.graph import CONSTANTS
from tfgraphwidget.naming import free_name, split_input
from tfgraphwidget.progress import tell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_internals import (
    c_end,
    copy_function,
    copy_handle_data,
    find_operation,
    functions_from_library,
    graph_functions,
    import_serialized,
    is_reference,
    new_c_graph,
    new_c_operations,
    operations_by_name,
    output_of_c_operation,
    used_names,
)
from tfgraphwidget.tf_types import FunctionDef, FunctionDefLibrary, NodeDef

Ends = Mapping[tuple[str, int], Any]
"""What stands for each tensor (op, port) and each control input (op, -1): a TF_Output or a TF_Operation."""

_NAME = re.compile(r"[A-Za-z0-9.][\w.\\/>-]*")
_MOST_BYTES = (1 << 31) - 1  # of a message that protobuf reads
_NODE_FIELD = tf.compat.v1.GraphDef.NODE_FIELD_NUMBER << 3 | 2  # the tag: the field's number, and 2 for "with length"
_WITHOUT_PLACEHOLDER_V2 = 23  # GraphDef version
_MORE = re.compile(r"\. [A-Z].*|[\s.;]+\Z", re.DOTALL)


@dataclass(frozen=True)
class ValidatedNodes:
    """New ops that are ready for import.

    Attributes:
        names: The names of the ops.
        serialized: The ops as the bytes of a GraphDef.
        outside: The tensors (op, output) and control inputs (op, -1) that they read from the graph.
        functions: The functions that they call and the graph does not have, as TensorFlow's Python objects.
    """

    names: tuple[str, ...]
    serialized: bytes
    outside: tuple[tuple[str, int], ...]
    functions: tuple[Any, ...] = ()


def validate(
    graph: tf.Graph,
    nodes: Sequence[NodeDef],
    functions: Iterable[FunctionDef] = (),
    gradients: Iterable[tuple[str, str]] = (),
) -> ValidatedNodes:
    """Check that TensorFlow accepts new ops in a graph, without changing the graph.

    Args:
        graph: The graph.
        nodes: The NodeDefs of the new ops; their inputs may name ops of `graph`.
        functions: FunctionDefs that the new ops may call.
        gradients: Pairs (function name, name of its gradient function).

    Returns:
        The ops in the form that `graph_import.import_validated` adds to the graph.

    Raises:
        NameTaken: The graph has an op or another function of one of the names.
        UnknownName: A new op reads a tensor that is not in the graph.
        GraphEditError: TensorFlow refuses the ops, for the reason in the message.
    """
    names = tuple(node.name for node in nodes)
    check_free_names(graph, names)
    made = _functions(graph, functions, gradients)
    types = {node.op for node in nodes}
    check_functions(graph, nodes, types, made)
    check_devices(nodes)
    validated = ValidatedNodes(names, serialized(graph, nodes), outside(nodes, names), made)
    _check_outside(graph, nodes, validated.outside)
    tell(f"Trying {len(names):,} new ops in a graph of their own")
    _scratch(graph, validated, types)
    return validated


def scratch_of(
    graph: tf.Graph,
    nodes: Sequence[NodeDef],
    functions: Iterable[FunctionDef] = (),
    gradients: Iterable[tuple[str, str]] = (),
) -> Any:
    """A C graph of its own that holds `nodes`, and something in place of what they take from outside.

    What stands for a resource or a reference stands on the device that the original is pinned to.
    """
    names = tuple(node.name for node in nodes)
    made = _functions(graph, functions, gradients)
    validated = ValidatedNodes(names, serialized(graph, nodes), outside(nodes, names), made)
    return _scratch(graph, validated, {node.op for node in nodes})


def _scratch(graph: tf.Graph, validated: ValidatedNodes, types: Iterable[str]) -> Any:
    scratch, library = new_c_graph(), graph_functions(graph)
    for called in (*(library[t] for t in types if t in library), *validated.functions):
        copy_function(scratch, called)
    run_import(scratch, validated, _stand_ins(scratch, graph, validated))
    return scratch


def check_free_names(graph: tf.Graph, names: Collection[str]) -> None:
    """Raise NameTaken when the graph has an op of one of these names."""
    in_use = used_names(graph)
    if in_use.keys().isdisjoint(map(str.lower, names)):
        return
    ops = operations_by_name(graph)  # which takes longest, so it comes last
    name = next((name for name in names if name in ops), None)
    if name is None:
        return
    free = free_name(name, in_use)
    raise NameTaken(f"The graph has an op {name!r} already; copy into another name scope: {free!r} is free.", [name])


def serialized(graph: tf.Graph, nodes: Iterable[NodeDef], library: FunctionDefLibrary | None = None) -> bytes:
    """The nodes as the bytes of a GraphDef, with a FunctionDefLibrary if one is given; raises when it is over 2 GB.

    A message is written as its fields one after another, and each entry of a repeated field as its tag, its length and
    its bytes. Writing the entries here saves the copy of each node that a GraphDef made of them would hold.
    """
    rest = tf.compat.v1.GraphDef(versions=graph.graph_def_versions, library=library)
    parts: list[bytes] = []
    try:
        for node in nodes:
            entry = as_supported(graph, node).SerializeToString()
            parts += (_entry_head(len(entry)), entry)
        parts.append(rest.SerializeToString())
        if sum(map(len, parts)) > _MOST_BYTES:
            raise EncodeError("more than protobuf reads")
    except (EncodeError, ValueError) as error:
        raise GraphEditError(
            "The new ops are over 2 GB with their constants, more than TensorFlow takes at once; copy them in parts."
        ) from error
    return b"".join(parts)


def as_supported(graph: tf.Graph, node: NodeDef) -> Any:
    """The NodeDef as a graph of this GraphDef version takes it.

    TensorFlow removed PlaceholderV2 in version 23; Placeholder means the same since.
    """
    if node.op != "PlaceholderV2" or graph.graph_def_versions.producer < _WITHOUT_PLACEHOLDER_V2:
        return node
    supported = type(node)()
    supported.CopyFrom(node)
    supported.op = "Placeholder"
    return supported


@lru_cache(4096)
def _entry_head(length: int) -> bytes:
    """The bytes before an entry of GraphDef.node: the field's tag, and the length of the entry as a varint."""
    head = bytearray([_NODE_FIELD])
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head)


def outside(nodes: Iterable[NodeDef], names: Collection[str]) -> tuple[tuple[str, int], ...]:
    """The tensors (op, port) and control inputs (op, -1) that NodeDefs take from ops that are not among `names`."""
    texts: list[str] = []
    for node in nodes:
        texts += node.input[:]
    inside = frozenset(names)
    return tuple(sorted(end for end in map(split_input, set(texts) - inside) if end[0] not in inside))


def run_import(c_graph: Any, validated: ValidatedNodes, ends: Ends) -> None:
    """Add the ops to a C graph; `ends` holds what stands there for each of `validated.outside`.

    Raises a GraphEditError with TensorFlow's reason when it refuses; the C graph has no new ops then.
    """
    try:
        import_serialized(c_graph, validated.serialized, {end: ends[end] for end in validated.outside})
    except tf.errors.OpError as error:
        raise _refusal(error.message, validated.names) from error


def _refusal(message: str, names: Collection[str]) -> GraphEditError:
    """TensorFlow's reason as one sentence, with the ops that it names."""
    reason = _MORE.sub("", str(message).strip().partition("\n")[0])[:400]
    known = frozenset(names)
    told = list(dict.fromkeys(name for name in _NAME.findall(str(message)) if name in known))
    return GraphEditError(f"TensorFlow refuses the new ops, choose others or other inputs for them: {reason}.", told)


def _functions(
    graph: tf.Graph, functions: Iterable[FunctionDef], gradients: Iterable[tuple[str, str]]
) -> tuple[Any, ...]:
    """The functions as TensorFlow's Python objects, in no graph yet; those that the graph has already are left out."""
    lacking = {f.signature.name: f for f in functions if not _has(graph, f)}
    pairs = [pair for pair in gradients if pair[0] in lacking]
    held = graph_functions(graph)
    there = {gradient for _, gradient in pairs if gradient not in lacking and gradient in held}
    library = tf_protos.FunctionDefLibrary(
        function=[*lacking.values(), *(held[name].cached_definition for name in sorted(there))],
        gradient=[tf_protos.GradientDef(function_name=name, gradient_func=gradient) for name, gradient in pairs],
    )
    try:
        made = functions_from_library(library)
    except (tf.errors.OpError, ValueError) as error:
        reason = _MORE.sub("", str(error).strip().partition("\n")[0])[:400]
        told = ", ".join(map(repr, lacking))
        raise GraphEditError(f"TensorFlow refuses the functions {told} that the new ops call: {reason}.") from error
    return tuple(f for f in made if f.name in lacking)


def _has(graph: tf.Graph, definition: Any) -> bool:
    """Whether the graph has the function already; NameTaken when it has another one of that name."""
    name = definition.signature.name
    library = graph_functions(graph)
    if name not in library:
        return False
    if library[name].cached_definition != definition:
        raise NameTaken(f"The graph has another function {name!r}; copy into another name scope.")
    return True


def check_functions(graph: tf.Graph, nodes: Iterable[NodeDef], types: Iterable[str], made: Iterable[Any]) -> None:
    """Raise when an op calls a function that is not there; TensorFlow would notice only when it runs."""
    known = {*graph_functions(graph), *(f.name for f in made)}
    calling = {op_type: attributes for op_type in types if (attributes := _function_attributes(graph, op_type, known))}
    for node in nodes if calling else ():
        for key in calling.get(node.op, ()):
            value = node.attr[key]
            for called in value.list.func if value.HasField("list") else [value.func]:
                if called.name and called.name not in known:
                    raise GraphEditError(
                        f"Op {node.name!r} calls the function {called.name!r}, which the graph does not have; "
                        "choose ops without it, or import the graph again with its function library.",
                        [node.name],
                    )


def _function_attributes(graph: tf.Graph, op_type: str, functions: Collection[str]) -> list[str]:
    """The attributes of an op type that name functions; none for an unknown type, which the import refuses."""
    if op_type in functions:
        return []
    try:
        definition = graph.op_def_for_type(op_type)
    except (tf.errors.OpError, RuntimeError, KeyError, ValueError):
        return []
    return [attribute.name for attribute in definition.attr if attribute.type in {"func", "list(func)"}]


def check_devices(nodes: Iterable[NodeDef]) -> None:
    """Raise for what is no device; TensorFlow would notice only when it runs."""
    for device in sorted({node.device for node in nodes}):
        if not _is_device(device):
            wrong = next(node.name for node in nodes if node.device == device)
            raise GraphEditError(
                f"{device!r}, the device of op {wrong!r}, is not written as TensorFlow writes one: '/device:CPU:0' or "
                "'/job:worker/task:1'.",
                [wrong],
            )


def _is_device(text: str) -> bool:
    try:
        tf.DeviceSpec.from_string(text)
    except ValueError:
        return False
    return True


def _check_outside(graph: tf.Graph, nodes: Iterable[NodeDef], ends: Iterable[tuple[str, int]]) -> None:
    for op, port in ends:
        with suppress(KeyError):
            if port < len(find_operation(graph, op).outputs):
                continue
        text = op if port == 0 else f"^{op}" if port < 0 else f"{op}:{port}"
        reader = next(node.name for node in nodes if text in node.input or f"{op}:{port}" in node.input)
        raise UnknownName(
            f"Op {reader!r} is to read {text!r}, which is not in the graph; choose a tensor of it.", [reader]
        )


def _stand_ins(scratch: Any, graph: tf.Graph, validated: ValidatedNodes) -> Ends:
    """Add to the scratch graph something for each tensor and control input from outside."""
    names = dict(zip(validated.outside, _other_names(validated.names), strict=False))
    nodes = [_stand_in(graph, op, port, names[op, port]) for op, port in validated.outside]
    graph_def = tf.compat.v1.GraphDef(node=nodes, versions=graph.graph_def_versions)
    run_import(scratch, ValidatedNodes((), graph_def.SerializeToString(), ()), {})
    made = new_c_operations(scratch)
    ends: dict[tuple[str, int], Any] = {}
    for (op, port), name in names.items():
        ends[op, port] = made[name]
        if port >= 0:
            output = ends[op, port] = output_of_c_operation(made[name], 0)
            copy_handle_data(graph, c_end(find_operation(graph, op), port), scratch, output)
    return ends


def _other_names(names: Collection[str]) -> Iterator[str]:
    taken, number = frozenset(names), 0
    while True:
        number += 1
        if f"outside_{number}" not in taken:
            yield f"outside_{number}"


def _stand_in(graph: tf.Graph, op: str, port: int, name: str) -> Any:
    """A NodeDef that gives what an op of the graph gives at `port`."""
    original = find_operation(graph, op)
    if port < 0:
        return tf.compat.v1.NodeDef(name=name, op="NoOp")
    if original.type in CONSTANTS:
        node = original.node_def
        del node.input[:]
        node.attr.pop("_class", None)
        node.name = name
        return node
    tensor = original.outputs[port]
    # There is no placeholder of a reference: a variable gives one.
    node = tf.compat.v1.NodeDef(name=name, op="VariableV2" if is_reference(tensor.dtype) else "Placeholder")
    if is_reference(tensor.dtype) or tensor.dtype == tf.resource:
        node.device = original.device
    node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node
