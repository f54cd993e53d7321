"""v1 control flow: which ops lie inside a while loop or a branch of a conditional."""

from __future__ import annotations

from tfgraphwidget.graph.index import GraphIndex

V1_LOOPS = frozenset({"Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond"})
V1_CONTROL_FLOW = V1_LOOPS | {"Switch", "RefSwitch", "Merge", "RefMerge"}
_OPENING = frozenset({"Enter", "RefEnter", "Switch", "RefSwitch"})
_EXIT = frozenset({"Exit", "RefExit"})
_MERGE = frozenset({"Merge", "RefMerge"})
_NEXT = frozenset({"NextIteration", "RefNextIteration"})


def inside_control_flow(index: GraphIndex) -> set[int]:
    """Ops of v1 while loops and conditionals: from each Enter or Switch on, up to and with each Exit and last Merge."""
    stack = [i for i, kind in enumerate(index.types) if kind in _OPENING]
    found = set(stack)
    while stack:
        at = stack.pop()
        if _leaves(index, at):
            continue
        for reader in index.consumer_lists[at] + index.waiting_lists[at]:
            if reader not in found:
                found.add(reader)
                stack.append(reader)
    return found


def _leaves(index: GraphIndex, op: int) -> bool:
    """Whether an op's tensors are outside again: an Exit, or a Merge that no NextIteration feeds."""
    if index.types[op] in _MERGE:
        return not any(index.types[i] in _NEXT for i in index.input_lists[op])
    return index.types[op] in _EXIT
