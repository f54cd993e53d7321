"""Conditionals whose predicate is constant: the branch that is taken takes the place of the
conditional.

A conditional of TensorFlow 2 becomes a call of the branch's function. Of one of TensorFlow 1 the
ops of the branch read what its Switches read, each Merge becomes an Identity under its own name,
and the ops of the other branch are removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tfgraphwidget.edits.context import Array
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite
from tfgraphwidget.graph import (
    BRANCHES,
    MERGE,
    SWITCH,
    Conditional,
    GraphIndex,
    all_variables,
    collection_ops,
    control_flow,
)
from tfgraphwidget.naming import as_input, colocated_with, split_input, split_tensor

Values = Mapping[int, list[Array]]
"""The outputs of ops, as far as they are known."""

# What a functional conditional has and a call has not: how it is lowered, how many outputs its
# branches had once, and which inputs are only read, counted with the predicate.
_OF_CONDITIONALS = frozenset(
    {"_lower_using_switch_merge", "_num_original_outputs", "_read_only_resource_inputs"}
)


def choose_branches(
    rewrite: GraphRewrite, values: Values, keep: Iterable[int] = ()
) -> Counter[str]:
    """Put the branch that is taken in the place of each conditional whose predicate is known; how
    many there were, by what they are called.
    """
    counts = Counter[str]()
    stays = frozenset(keep)
    for op, kind in enumerate(rewrite.index.types):
        if kind in BRANCHES and op not in stays and _call_branch(rewrite, op, values):
            counts[kind] += 1
    if not MERGE.isdisjoint(rewrite.index.kinds[0]):
        choice = _DecidedConditionals(rewrite, values, stays)
        if choice.conditionals:
            choice.apply()
            counts["Switch and Merge"] = len(choice.conditionals)
    return counts


# TensorFlow 2


def _call_branch(rewrite: GraphRewrite, op: int, values: Values) -> bool:
    """Let a functional conditional be a call of the branch that is taken; whether it is known."""
    index, before = rewrite.index, rewrite.index.nodes[op]
    source, port = index.input_lists[op][0], int(index.ports[int(index.inputs.start[op])])
    if source not in values:
        return False
    predicate = values[source][port]
    if "branches" in before.attr:
        functions = list(before.attr["branches"].list.func)
        number = int(predicate.reshape(-1)[0]) if predicate.size == 1 else -1
        # TensorFlow takes the last for all others.
        branch = functions[number if 0 <= number < len(functions) else -1]
    else:
        branch = before.attr["then_branch" if _is_true(predicate) else "else_branch"].func
    is_stateless = before.op.startswith("Stateless")
    node = rewrite.node(op)
    node.op = "PartitionedCall" if is_stateless else "StatefulPartitionedCall"
    del node.input[0]
    for name in list(node.attr):
        if name in _OF_CONDITIONALS or (name[:1] != "_" and name not in ("Tin", "Tout")):
            del node.attr[name]
    node.attr["f"].func.CopyFrom(branch)
    for name in ("config", "config_proto", "executor_type"):
        node.attr[name].s = b""
    return True


def _is_true(predicate: Array) -> bool:
    """What TensorFlow takes a tensor for in an If: its number, or whether it holds anything."""
    if predicate.ndim:
        return predicate.size > 0
    return bool(predicate.item())


# TensorFlow 1


@dataclass(frozen=True)
class _Decided:
    """A conditional and which of its branches is taken."""

    block: Conditional
    branch: int

    @property
    def dead(self) -> frozenset[int]:
        """The ops that never run."""
        return self.block.branches[1 - self.branch]


class _DecidedConditionals:
    """The v1 conditionals whose predicate is known, and that nothing else needs."""

    def __init__(self, rewrite: GraphRewrite, values: Values, keep: frozenset[int]) -> None:
        self.rewrite, self.index = rewrite, rewrite.index
        self.conditionals = list(self._find(values))
        self._keep, self._named = keep, _ops_named_elsewhere(rewrite)
        self._placed_beside = _ops_placed_beside(self.index)
        self._index_is_read = self._merges_whose_index_is_read()
        # One conditional may need another to be taken away with it: that of a gradient reads what
        # it was computed from.
        while True:
            self._remember()
            able = [each for each in self.conditionals if self._is_able(each)]
            if len(able) == len(self.conditionals):
                break
            self.conditionals = able

    def _find(self, values: Values) -> Iterator[_Decided]:
        index = self.index
        for block in control_flow.conditionals(index):
            op, port = control_flow.predicate_source(index, block)
            is_plain = len(block.branches) == 2 and all(
                index.types[each] in SWITCH for each in block.switches
            )
            outputs = values.get(op)
            if (
                is_plain
                and block.merges
                and outputs
                and outputs[port].dtype == bool
                and outputs[port].size == 1
            ):
                yield _Decided(block, int(bool(outputs[port].reshape(-1)[0])))

    def _remember(self) -> None:
        """What the conditionals that are left have together."""
        self.dead = {op for each in self.conditionals for op in each.dead}
        self.port_taken = {
            op: each.branch for each in self.conditionals for op in each.block.switches
        }
        self.merges = {op for each in self.conditionals for op in each.block.merges}

    def _merges_whose_index_is_read(self) -> set[int]:
        index = self.index
        return {
            source
            for op in range(len(index))
            for source, port in index.input_tensors(op)
            if port == 1 and index.types[source] in MERGE
        }

    def _is_able(self, conditional: _Decided) -> bool:
        """Whether a conditional can go: what is dead is not needed, Merges have one live input."""
        index = self.index
        boundary_ops = {*conditional.block.merges, *conditional.block.switches}
        if not self._keep.isdisjoint(conditional.dead | boundary_ops) or not self._named.isdisjoint(
            conditional.dead
        ):
            return False
        for op in conditional.dead:
            others = {*index.control_consumer_lists[op], *self._placed_beside.get(op, ())}
            if not others <= self.dead or not self.dead | self.merges >= set(
                index.consumer_lists[op]
            ):
                return False
        for merge in conditional.block.merges:
            is_ref = index.types[merge] != "Merge"
            if is_ref or merge in self._index_is_read or len(self._live_inputs(merge)) != 1:
                return False
        return True

    def _live_inputs(self, merge: int) -> list[int]:
        """The numbers of the inputs of a Merge that have values."""
        return [
            k
            for k, (op, port) in enumerate(self.index.input_tensors(merge))
            if not self._is_dead(op, port)
        ]

    def _is_dead(self, op: int, port: int) -> bool:
        return op in self.dead or (op in self.port_taken and port != self.port_taken[op])

    def apply(self) -> None:
        """Change the ops."""
        index, rewrite = self.index, self.rewrite
        for merge in self.merges - self.dead:
            (live,) = self._live_inputs(merge)
            node = rewrite.node(merge)
            node.op = "Identity"
            controls = [text for text in node.input if text[:1] == "^"]
            node.input[:] = [node.input[live], *controls]
            node.attr.pop("N", None)
        consumers = {
            consumer for switch in self.port_taken for consumer in index.consumer_lists[switch]
        }
        for consumer in consumers - self.dead:
            node = rewrite.node(consumer)
            node.input[:] = [self._instead(text) for text in node.input]
        for switch in self.port_taken:
            data = split_input(
                self._instead(as_input(index.names[switch], self.port_taken[switch]))
            )[0]
            rewrite.wait_instead(switch, [data])
        rewrite.removed |= self.dead

    def _instead(self, text: str) -> str:
        """What an op reads in place of a Switch: its input, or that of the outermost of several."""
        while True:
            name, port = split_input(text)
            switch = self.index.ids.get(name, -1)
            if port < 0 or self.port_taken.get(switch) != port:
                return text
            text = self.rewrite.current(switch).input[0]


def _ops_named_elsewhere(rewrite: GraphRewrite) -> frozenset[int]:
    """The ops that signatures, collections or variables name."""
    index = rewrite.index
    names = {split_tensor(name)[0] for name in rewrite.context.external_tensors}
    names |= collection_ops(index)
    for variable in all_variables(index):
        names |= {variable.handle, *variable.ops}
    return frozenset(index.ids[name] for name in names if name in index.ids)


def _ops_placed_beside(index: GraphIndex) -> dict[int, set[int]]:
    """The ops that are placed on the device of another, by that one."""
    beside: dict[int, set[int]] = {}
    for op, node in enumerate(index.nodes):
        for name in colocated_with(node) if "_class" in node.attr else ():
            if name in index.ids and name != node.name:
                beside.setdefault(index.ids[name], set()).add(op)
    return beside
