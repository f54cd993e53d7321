"""Preflight: validates new ops in a sandbox graph, so that TensorFlow rejects an edit before the
user's graph changes.

The same bytes are imported into the sandbox graph and, afterwards, into the user's graph. The
sandbox graph belongs to TensorFlow's C API and has no Python objects for its ops, which take most
of the time of an import. In it, placeholders of the same dtype, static shape and handle data
replace the tensors that the new ops read from the user's graph; constants are copied, because
shapes depend on their values.

Names in use, missing inputs, missing functions and malformed devices cannot be found there. They
are checked in the user's graph.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from google.protobuf.message import EncodeError

from tfgraphwidget.errors import GraphEditError, NameTaken, UnknownName
from tfgraphwidget.graph import CONSTANTS, OUTPUT_SHAPES, V1_LOOPS
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import escape, free_name, split_input
from tfgraphwidget.progress import tell
from tfgraphwidget.sources import function_definition, parse_device, tf_protos
from tfgraphwidget.tensorflow_modules import tf
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
from tfgraphwidget.tf_types import (
    FunctionDef,
    FunctionDefLibrary,
    GraphDef,
    LibraryFunction,
    NodeDef,
)

OutsideTensors = Mapping[tuple[str, int], object]
"""What represents each tensor (op, port) and each control input (op, -1): a TF_Output or a
TF_Operation.
"""

_NAME = re.compile(r"[A-Za-z0-9.][\w.\\/>-]*")
_MOST_BYTES = (1 << 31) - 1  # of a message that protobuf reads
_NODE_FIELD = 1 << 3 | 2  # the tag: GraphDef.NODE_FIELD_NUMBER, and 2 for "with length"
_MOST_TRIED = 200_000  # ops: TensorFlow takes ten seconds to import them
_WITHOUT_PLACEHOLDER_V2 = 23  # GraphDef version
CONSTRUCTION_CONTEXT = "_construction_context"
_MORE = re.compile(r"\. [A-Z].*|[\s.;]+\Z", re.DOTALL)


@dataclass(frozen=True)
class ValidatedNodes:
    """New ops that are ready for import.

    Attributes:
        names: The names of the ops.
        serialized: The ops as the bytes of a GraphDef.
        outside: The tensors (op, output) and control inputs (op, -1) that they read from the graph.
        functions: The functions that they call and the graph does not have, as TensorFlow's Python
            objects.
    """

    names: tuple[str, ...]
    serialized: bytes
    outside: tuple[tuple[str, int], ...]
    functions: tuple[LibraryFunction, ...] = ()


def validate(
    graph: tf.Graph,
    nodes: Sequence[NodeDef],
    functions: Iterable[FunctionDef] = (),
    gradients: Iterable[tuple[str, str]] = (),
    *,
    is_accepted: bool = False,
) -> ValidatedNodes:
    """Check that TensorFlow accepts new ops in a graph, without changing the graph.

    Args:
        nodes: The NodeDefs of the new ops; their inputs may name ops of `graph`.
        is_accepted: Whether TensorFlow has accepted the same ops with the same inputs before, so
            that they need no sandbox. Those of v1 loops do: an import makes the edges that lead
            back in a way of its own.

    Raises:
        NameTaken: The graph has an op or another function of one of the names.
        UnknownName: A new op reads a tensor that is not in the graph.
        GraphEditError: TensorFlow refuses the ops, for the reason in the message.
    """
    names = tuple(node.name for node in nodes)
    check_free_names(graph, names)
    new_functions = _new_functions(graph, functions, gradients)
    types = {node.op for node in nodes}
    check_functions(graph, nodes, types, new_functions)
    check_devices(nodes)
    validated = ValidatedNodes(
        names, serialize_nodes(graph, nodes), external_inputs(nodes, names), new_functions
    )
    _check_outside(graph, nodes, validated.outside)
    if not (is_accepted and V1_LOOPS.isdisjoint(types)):
        tell(f"Trying {len(names):,} new ops in a graph of their own")
        _import_in_sandbox(graph, validated, types)
    return validated


def sandbox_graph(
    graph: tf.Graph,
    nodes: Sequence[NodeDef],
    functions: Iterable[FunctionDef] = (),
    gradients: Iterable[tuple[str, str]] = (),
) -> object:
    """Return a new C graph that holds ops, and placeholders for their inputs from outside, which
    `graph` has.

    The placeholder of a resource or a reference is on the device that the original is pinned to.
    """
    names = tuple(node.name for node in nodes)
    new_functions = _new_functions(graph, functions, gradients)
    validated = ValidatedNodes(
        names, serialize_nodes(graph, nodes), external_inputs(nodes, names), new_functions
    )
    return _import_in_sandbox(graph, validated, {node.op for node in nodes})


def _import_in_sandbox(graph: tf.Graph, validated: ValidatedNodes, types: Iterable[str]) -> object:
    sandbox, library = new_c_graph(), graph_functions(graph)
    for function in (*(library[t] for t in types if t in library), *validated.functions):
        copy_function(sandbox, function)
    run_import(sandbox, validated, _stand_ins(sandbox, graph, validated))
    return sandbox


def check_free_names(graph: tf.Graph, names: Collection[str]) -> None:
    """Raise NameTaken if the graph has an op of one of these names."""
    in_use = used_names(graph)
    if in_use.keys().isdisjoint(map(str.lower, names)):
        return
    ops = operations_by_name(graph)  # which takes longest, so it comes last
    name = next((name for name in names if name in ops), None)
    if name is None:
        return
    free = free_name(name, in_use)
    raise NameTaken(
        f"The graph has an op {name!r} already; copy into another name scope: {free!r} is free.",
        [name],
    )


def serialize_nodes(
    graph: tf.Graph, nodes: Iterable[NodeDef], library: FunctionDefLibrary | None = None
) -> bytes:
    """Return the bytes of a GraphDef of the graph's version with these nodes. Raises GraphEditError
    where it is over 2 GB.

    A message is written as its fields one after another, and each entry of a repeated field as its
    tag, its length and its bytes. Writing the entries here saves the copy of each node that a
    GraphDef message would hold.
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
            "The new ops are over 2 GB with their constants, more than TensorFlow takes at once; "
            "copy them in parts."
        ) from error
    return b"".join(parts)


def as_supported(graph: tf.Graph, node: NodeDef) -> NodeDef:
    """Return a NodeDef as a graph of this GraphDef version takes it.

    TensorFlow removed PlaceholderV2 in version 23; Placeholder means the same since.
    """
    if node.op != "PlaceholderV2" or graph.graph_def_versions.producer < _WITHOUT_PLACEHOLDER_V2:
        return node
    supported = copy_of(node)
    supported.op = "Placeholder"
    return supported


@lru_cache(4096)
def _entry_head(length: int) -> bytes:
    """The bytes before an entry of GraphDef.node: the tag, and the length as a varint."""
    head = bytearray([_NODE_FIELD])
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head)


def external_inputs(
    nodes: Iterable[NodeDef], names: Collection[str]
) -> tuple[tuple[str, int], ...]:
    """Return the tensors (op, port) and control inputs (op, -1) that NodeDefs read from ops outside
    of `names`.
    """
    texts: list[str] = []
    for node in nodes:
        texts += node.input[:]
    inside = frozenset(names)
    return tuple(
        sorted(end for end in map(split_input, set(texts) - inside) if end[0] not in inside)
    )


def run_import(c_graph: object, validated: ValidatedNodes, stand_ins: OutsideTensors) -> None:
    """Add ops to a C graph, with a C output or op for each of `validated.outside`. Raises
    GraphEditError, with the reason, where TensorFlow refuses; the C graph has no new ops then.
    """
    outside = {end: stand_ins[end] for end in validated.outside}
    try:
        try:
            import_serialized(c_graph, validated.serialized, outside)
        except tf.errors.InvalidArgumentError as error:
            if OUTPUT_SHAPES not in error.message:
                raise
            graph_def = tf_protos.GraphDef.FromString(validated.serialized)
            drop_output_shapes(graph_def)
            import_serialized(c_graph, graph_def.SerializeToString(), outside)
    except tf.errors.OpError as error:
        raise _refusal_error(error.message, validated.names) from error
    except UnicodeDecodeError as error:  # in what TensorFlow quotes of the graph
        raise _refusal_error(
            "an attribute has a text that is not UTF-8", validated.names
        ) from error


def drop_output_shapes(graph_def: GraphDef) -> None:
    """Remove static shapes that a file notes, which TensorFlow would compare with its own."""
    for node in graph_def.node:
        node.attr.pop(OUTPUT_SHAPES, None)


def has_stale_shapes(graph_def: GraphDef) -> bool:
    """Whether TensorFlow refuses a graph for the static shapes that a file notes of its ops."""
    if len(graph_def.node) > _MOST_TRIED or not any(
        OUTPUT_SHAPES in node.attr for node in graph_def.node
    ):
        return False
    try:
        import_serialized(new_c_graph(), graph_def.SerializeToString())
    except tf.errors.OpError as error:
        return OUTPUT_SHAPES in error.message
    return False


def _refusal_error(message: str, names: Collection[str]) -> GraphEditError:
    """Return TensorFlow's reason as one sentence, with the ops that it names."""
    reason = _MORE.sub("", str(message).strip().partition("\n")[0])[:400]
    reason = escape(reason)
    op_names = frozenset(names)
    named_ops = list(
        dict.fromkeys(name for name in _NAME.findall(str(message)) if name in op_names)
    )
    return GraphEditError(
        f"TensorFlow refuses the new ops: {reason}; choose others, or other inputs for them.",
        named_ops,
    )


def _new_functions(
    graph: tf.Graph, functions: Iterable[FunctionDef], gradients: Iterable[tuple[str, str]]
) -> tuple[LibraryFunction, ...]:
    """Return functions as TensorFlow's Python objects, in no graph, that the graph lacks."""
    missing = {f.signature.name: f for f in functions if not _has_function(graph, f)}
    pairs = [pair for pair in gradients if pair[0] in missing]
    library_functions = graph_functions(graph)
    there = {
        gradient
        for _, gradient in pairs
        if gradient not in missing and gradient in library_functions
    }
    library = tf_protos.FunctionDefLibrary(
        function=[
            *missing.values(),
            *(function_definition(library_functions[name]) for name in sorted(there)),
        ],
        gradient=[
            tf_protos.GradientDef(function_name=name, gradient_func=gradient)
            for name, gradient in pairs
        ],
    )
    try:
        new = functions_from_library(library)
    except (tf.errors.OpError, ValueError) as error:
        reason = _MORE.sub("", str(error).strip().partition("\n")[0])[:400]
        listed_names = ", ".join(map(repr, missing))
        raise GraphEditError(
            f"TensorFlow refuses the functions {listed_names} that the new ops call: {reason}; "
            "choose other ops."
        ) from error
    return tuple(f for f in new if f.name in missing)


def _has_function(graph: tf.Graph, definition: FunctionDef) -> bool:
    """Return whether the graph has the function. Raises NameTaken if it has another one of that
    name.
    """
    name = definition.signature.name
    library = graph_functions(graph)
    if name not in library:
        return False
    if _without_context(function_definition(library[name])) != _without_context(definition):
        raise NameTaken(f"The graph has another function {name!r}; copy into another name scope.")
    return True


def _without_context(definition: FunctionDef) -> FunctionDef:
    """The FunctionDef without the attribute that TensorFlow adds when it first uses a function."""
    if CONSTRUCTION_CONTEXT not in definition.attr:
        return definition
    same = copy_of(definition)
    del same.attr[CONSTRUCTION_CONTEXT]
    return same


def check_functions(
    graph: tf.Graph,
    nodes: Iterable[NodeDef],
    types: Iterable[str],
    new_functions: Iterable[LibraryFunction],
) -> None:
    """Raise GraphEditError for an op that calls a function which is missing, also among the new
    ones; TensorFlow would report it only when the op runs.
    """
    function_names = {*graph_functions(graph), *(f.name for f in new_functions)}
    function_attributes = {
        op_type: attributes
        for op_type in types
        if (attributes := _function_attributes(graph, op_type, function_names))
    }
    for node in nodes if function_attributes else ():
        for key in function_attributes.get(node.op, ()):
            value = node.attr[key]
            for reference in value.list.func if value.HasField("list") else [value.func]:
                if reference.name and reference.name not in function_names:
                    raise GraphEditError(
                        f"Op {node.name!r} calls the function {reference.name!r}, which the graph "
                        "does not have; choose ops without it, or import the graph again with its "
                        "function library.",
                        [node.name],
                    )


def _function_attributes(graph: tf.Graph, op_type: str, functions: Collection[str]) -> list[str]:
    """The attributes of an op type that name functions; none for an unknown type, which the import
    refuses.
    """
    if op_type in functions:
        return []
    try:
        definition = graph.op_def_for_type(op_type)
    except (tf.errors.OpError, RuntimeError, KeyError, ValueError):
        return []
    return [
        attribute.name for attribute in definition.attr if attribute.type in {"func", "list(func)"}
    ]


def check_devices(nodes: Iterable[NodeDef]) -> None:
    """Raise for an invalid device name, which TensorFlow would report only at a run."""
    check_device_names({node.device: node.name for node in reversed(list(nodes))})


def check_device_names(ops: Mapping[str, str]) -> None:
    """Raise for a device name that is not valid, with the op that it is the device of."""
    for device, wrong in sorted(ops.items()):
        if parse_device(device) is None:
            raise GraphEditError(
                f"{device!r}, the device of op {wrong!r}, is not written as TensorFlow writes one: "
                "'/device:CPU:0' or '/job:worker/task:1'.",
                [wrong],
            )


def _check_outside(
    graph: tf.Graph, nodes: Iterable[NodeDef], outside: Iterable[tuple[str, int]]
) -> None:
    for op, port in outside:
        with suppress(KeyError):
            if port < len(find_operation(graph, op).outputs):
                continue
        if port < 0:
            text = f"^{op}"
        elif port == 0:
            text = op
        else:
            text = f"{op}:{port}"
        consumer = next(
            node.name for node in nodes if text in node.input or f"{op}:{port}" in node.input
        )
        raise UnknownName(
            f"Op {consumer!r} is to read {text!r}, which is not in the graph; choose a tensor of "
            "it.",
            [consumer],
        )


def _stand_ins(sandbox: object, graph: tf.Graph, validated: ValidatedNodes) -> OutsideTensors:
    """Add a placeholder to the sandbox graph for each tensor and control input from outside."""
    names = dict(zip(validated.outside, _other_names(validated.names), strict=False))
    nodes = [_stand_in(graph, op, port, names[op, port]) for op, port in validated.outside]
    graph_def = tf.compat.v1.GraphDef(node=nodes, versions=graph.graph_def_versions)
    run_import(sandbox, ValidatedNodes((), graph_def.SerializeToString(), ()), {})
    c_operations = new_c_operations(sandbox)
    outside: dict[tuple[str, int], object] = {}
    for (op, port), name in names.items():
        outside[op, port] = c_operations[name]
        if port >= 0:
            output = outside[op, port] = output_of_c_operation(c_operations[name], 0)
            copy_handle_data(graph, c_end(find_operation(graph, op), port), sandbox, output)
    return outside


def _other_names(names: Collection[str]) -> Iterator[str]:
    names_in_use, number = frozenset(names), 0
    while True:
        number += 1
        if f"outside_{number}" not in names_in_use:
            yield f"outside_{number}"


def _stand_in(graph: tf.Graph, op: str, port: int, name: str) -> object:
    """Return a NodeDef that has the output `port` of an op of the graph."""
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
    node = tf.compat.v1.NodeDef(
        name=name, op="VariableV2" if is_reference(tensor.dtype) else "Placeholder"
    )
    if is_reference(tensor.dtype) or tensor.dtype == tf.resource:
        node.device = original.device
    node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node
