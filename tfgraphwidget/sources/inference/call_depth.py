"""Find functions whose calls TensorFlow cannot follow to an end: its shape inference enters every call, recursively.

It does not come back from a function that calls itself, and a chain of thousands of calls overflows its stack: both end
the process. Here calls are followed without recursion, and such functions found before TensorFlow sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tfgraphwidget.graph import called_functions
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import FunctionDef

_DEEPEST = 100
_MOST_OPS = 200_000  # that one call leads to, counted once for each time they are called
ITSELF, TOO_DEEP, TOO_MUCH = "calls itself", f"nests calls over {_DEEPEST} deep", "leads to too many ops"


def endless_functions(functions: Mapping[str, FunctionDef], first: Iterable[str]) -> dict[str, str]:
    """Function → why its calls must not be followed, so that what is reached from `first` is finite and small.

    On every circle of calls there is one of them.

    Args:
        functions: The FunctionDefs by name.
        first: The functions to begin with.
    """
    why: dict[str, str] = {}
    size: dict[str, tuple[int, int]] = {}  # depth and ops of what has been followed to its end
    for start in first:
        path = [(start, iter(_calls(functions[start], functions)))] if start not in size else []
        following = {start}
        while path:
            name, calls = path[-1]
            callee = next((call_name for call_name in calls if call_name not in size), None)
            if callee is None:
                path.pop()
                following.discard(name)
                size[name] = _size(functions[name], functions, size, why)
            elif callee in following:
                why[callee] = ITSELF
            else:
                following.add(callee)
                path.append((callee, iter(_calls(functions[callee], functions))))
    return why


def _size(
    definition: FunctionDef,
    functions: Mapping[str, FunctionDef],
    sizes: Mapping[str, tuple[int, int]],
    why: dict[str, str],
) -> tuple[int, int]:
    name = definition.signature.name
    callee_sizes = [sizes[call] for call in _calls(definition, functions) if call in sizes]
    depth = 1 + max((deep for deep, _ in callee_sizes), default=0)
    ops = len(definition.node_def) + sum(ops for _, ops in callee_sizes)
    if name not in why and (_calls_a_parameter(definition) or depth > _DEEPEST or ops > _MOST_OPS):
        why[name] = TOO_DEEP if depth > _DEEPEST else TOO_MUCH if ops > _MOST_OPS else ""
    return (0, 1) if name in why else (depth, ops)


def _calls(definition: FunctionDef, functions: Mapping[str, FunctionDef]) -> list[str]:
    return [door.function for node in definition.node_def for door in called_functions(node, functions)]


def _calls_a_parameter(definition: FunctionDef) -> bool:
    """Whether it calls a function that its caller passes, so that recursion cannot be excluded."""
    plain = {attr.name for attr in definition.signature.attr if "func" not in attr.type}
    return any(
        value.WhichOneof("value") == "placeholder" and value.placeholder not in plain
        for node in definition.node_def
        for value in node.attr.values()
    )


def without_endless_calls(functions: Mapping[str, FunctionDef]) -> Iterator[FunctionDef]:
    """Copy FunctionDefs; those with endless calls get a body of placeholders for their results.

    Args:
        functions: The FunctionDefs of a library by name.
    """
    why = endless_functions(functions, sorted(functions))
    for name, definition in functions.items():
        copy = type(definition)()
        if name in why:
            _fill_with_results(copy, definition)
        else:
            copy.CopyFrom(definition)
        yield copy


def _fill_with_results(copy: FunctionDef, definition: FunctionDef) -> None:
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
