"""Find functions whose calls TensorFlow cannot follow to an end.

Its shape inference enters every call, recursively. It does not come back from a function that calls
itself, and a chain of thousands of calls overflows its stack: both end the process. Here calls are
followed without recursion, and such functions found before TensorFlow gets them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfgraphwidget.graph import called_functions
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import FunctionDef

MAX_DEPTH = 100  # calls in calls
MAX_OPS = 200_000  # that one call leads to, counted once for each time that they are called
# The same where TensorFlow imports a graph: it takes some microseconds for each op, and Ctrl-C does
# not stop it.
MAX_IMPORTED_OPS = 5_000_000

ITSELF = "calls itself"
TOO_DEEP = f"nests calls over {MAX_DEPTH} deep"
TOO_MUCH = "leads to too many ops"


def endless_functions(
    functions: Mapping[str, FunctionDef], first: Iterable[str], most: int = MAX_OPS
) -> dict[str, str]:
    """Functions whose calls must not be followed, so that what `first` reaches is finite and small:
    `most` ops at most.

    Of every cycle of calls there is one among them. Each comes with the reason.
    """
    why: dict[str, str] = {}
    size: dict[str, tuple[int, int]] = {}  # depth and ops of what has been followed to its end
    for start in first:
        if start in size:
            continue
        # Depth first, without recursion: the functions on the way, with the calls that are left.
        path = [(start, iter(_calls(functions[start], functions)))]
        on_path = {start}
        while path:
            name, calls = path[-1]
            callee = next((call for call in calls if call not in size), None)
            if callee is None:
                path.pop()
                on_path.discard(name)
                size[name] = _size(functions[name], functions, size, why, most)
            elif callee in on_path:
                why[callee] = ITSELF
            else:
                on_path.add(callee)
                path.append((callee, iter(_calls(functions[callee], functions))))
    return why


def why_endless(functions: Mapping[str, FunctionDef], first: Iterable[str]) -> tuple[str, str]:
    """A function among those that `first` reaches with which TensorFlow must not import a graph,
    and why; ("", "") where it may.
    """
    why = endless_functions(functions, first, MAX_IMPORTED_OPS)
    return next((entry for entry in why.items() if entry[1]), ("", ""))


def _size(
    definition: FunctionDef,
    functions: Mapping[str, FunctionDef],
    sizes: Mapping[str, tuple[int, int]],
    why: dict[str, str],
    most: int,
) -> tuple[int, int]:
    """How deep the calls of a function are nested, and to how many ops they lead.

    One that must not be followed is added to `why`; it then is a single op.
    """
    name = definition.signature.name
    depth = 1
    ops = len(definition.node_def)
    for call in _calls(definition, functions):
        if call in sizes:
            callee_depth, callee_ops = sizes[call]
            depth = max(depth, 1 + callee_depth)
            ops += callee_ops
    if name not in why:
        if depth > MAX_DEPTH:
            why[name] = TOO_DEEP
        elif ops > most:
            why[name] = TOO_MUCH
        elif _calls_a_parameter(definition):
            why[name] = ""
    return (0, 1) if name in why else (depth, ops)


def _calls(definition: FunctionDef, functions: Mapping[str, FunctionDef]) -> list[str]:
    """The functions that a function calls, once for each call."""
    calls = []
    for node in definition.node_def:
        calls += [call.function for call in called_functions(node, functions)]
    return calls


def _calls_a_parameter(definition: FunctionDef) -> bool:
    """Whether it calls a function that its caller passes, so that recursion cannot be excluded."""
    plain = {attr.name for attr in definition.signature.attr if "func" not in attr.type}
    return any(
        value.WhichOneof("value") == "placeholder" and value.placeholder not in plain
        for node in definition.node_def
        for value in node.attr.values()
    )


def without_endless_calls(functions: Mapping[str, FunctionDef]) -> Iterator[FunctionDef]:
    """Copy FunctionDefs; those with endless calls get a body of placeholders for their results."""
    why = endless_functions(functions, sorted(functions))
    for name, definition in functions.items():
        copy = type(definition)()
        if name in why:
            _fill_with_results(copy, definition)
        else:
            copy.CopyFrom(definition)
        yield copy


def _fill_with_results(copy: FunctionDef, definition: FunctionDef) -> None:
    """Give a FunctionDef the signature of another, and placeholders as its body."""
    copy.signature.CopyFrom(definition.signature)
    for number, arg in enumerate(definition.signature.output_arg):
        node = tf_protos.NodeDef(name=f"result_{number}", op="Placeholder")
        if arg.type_attr:
            node.attr["dtype"].placeholder = arg.type_attr
        else:
            node.attr["dtype"].type = arg.type
        node.attr["shape"].shape.unknown_rank = True
        copy.node_def.append(node)
        copy.ret[arg.name] = f"{node.name}:output:0"
