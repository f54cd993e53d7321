"""What a call feeds to the arguments of a function: the tensors in order, and the stateful ops behind them."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.graph.called_functions import doors
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.sources.dtypes import OpTypes

_SAME_TENSOR = frozenset({"Identity", "RefIdentity", "Enter", "RefEnter", "Switch", "RefSwitch"})
_SAME_PORT = frozenset({"IdentityN", "While", "StatelessWhile"})
# What passes its inputs on as they are; a loop does so only with what it does not change.
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase"})


def fed_handles(signature: Any, types: OpTypes, caller: GraphIndex, op: int) -> dict[int, int]:
    """Number of each argument of a function -> the op in `caller` that holds the state which the call feeds there."""
    sources = caller.inputs.row(op).tolist()
    ports = caller.ports[caller.inputs.start[op] : caller.inputs.start[op + 1]].tolist()
    slots = _slots(caller.nodes[op], signature, types, len(sources))
    first = len(signature.input_arg) - len(slots)
    found = {}
    for argument, slot in enumerate(slots, first):
        handle = _handle_behind(caller, sources[slot], ports[slot]) if slot < len(sources) else None
        if handle is not None:
            found[argument] = handle
    return found


def fed_values(signature: Any, types: OpTypes, caller: GraphIndex, op: int) -> dict[int, int]:
    """Number of each argument of a function -> the Const or Placeholder of `caller` that the call feeds there."""
    if caller.types[op] not in _CALLS:
        return {}
    sources = caller.inputs.row(op).tolist()
    slots = _slots(caller.nodes[op], signature, types, len(sources))
    found = {}
    for argument, slot in enumerate(slots, len(signature.input_arg) - len(slots)):
        at = sources[slot] if slot < len(sources) else op
        while caller.types[at] == "Identity" and caller.input_lists[at]:
            at = caller.input_lists[at][0]
        if caller.types[at] in ("Const", "Placeholder"):
            found[argument] = at
    return found


def _slots(call: Any, signature: Any, types: OpTypes, inputs: int) -> list[int]:
    """The inputs of a call that feed the last arguments of a function.

    The OpDef's lists of tensors are what ops pass on: all of them (PartitionedCall, While, If), or those named after
    the function ("init_func_other_args") or "other_arguments", which come behind what the op itself passes.
    """
    wanted = len(signature.input_arg)
    definition = None if call.op == signature.name else types.definition(call.op)
    if definition is None:
        return list(range(inputs)) if inputs == wanted else []
    lists = _tensor_lists(call, definition)
    every = [slot for _, held in lists for slot in held]
    if len(every) == wanted:
        return every
    labels = tuple(f"{door.label}_" for door in doors(call, {signature.name}))
    named = [held for name, held in lists if name.startswith(labels)] if labels else []
    others = [held for name, held in lists if "other_arg" in name]
    best = (named or others or [held for _, held in lists] or [[]])[-1]
    return best if len(best) <= wanted else []


def _tensor_lists(call: Any, definition: Any) -> list[tuple[str, list[int]]]:
    """(name, input slots) of each input argument of an op that is a list of tensors of any dtypes."""
    lists = []
    at = 0
    for arg in definition.input_arg:
        count = 1
        if arg.type_list_attr:
            count = len(call.attr[arg.type_list_attr].list.type) if arg.type_list_attr in call.attr else 0
            lists.append((arg.name, list(range(at, at + count))))
        elif arg.number_attr:
            count = max(call.attr[arg.number_attr].i, 0) if arg.number_attr in call.attr else 0
        at += count
    return lists


def _handle_behind(caller: GraphIndex, op: int, port: int) -> int | None:
    """The op that holds the state which a tensor refers to; None when the tensor is no such reference."""
    seen = set()
    while op not in seen:
        seen.add(op)
        sources = caller.input_lists[op]
        if not sources:
            return op if _holds_state(caller, op, port) else None
        kind = caller.types[op]
        slot = 0 if kind in _SAME_TENSOR else port if kind in _SAME_PORT else len(sources)
        if slot >= len(sources):
            return None
        op, port = sources[slot], int(caller.ports[caller.inputs.start[op] + slot])
    return None


def _holds_state(caller: GraphIndex, op: int, port: int) -> bool:
    kind = caller.types[op]
    if kind in HANDLES:
        return True
    dtype = dict(enumerate(caller.typing.dtypes(caller.nodes[op]))).get(port, "")
    return dtype in ("resource", "string_ref") and not kind.startswith("Placeholder")
