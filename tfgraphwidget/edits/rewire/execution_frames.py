"""Validation of v1 loops and branches: whether an op keeps running in its loop or branch.

TensorFlow's executor has no scopes: an op runs in the loop that all it reads comes from, and only
when all of it comes. So an edge across the border of a loop leaves an op waiting for ever, and an
op that loses its last edge from a branch runs whatever the predicate says. Where the border is
crossed rightly, an Enter, Exit, Switch or Merge stands. An op keeps its place when every edge that
changes comes from the same loop as before, and when what comes in by all of its edges together is
as deep in branches as before.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tfgraphwidget.edits.patch import NodeChange, Patch, apply_patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    CONTROL,
    ENTER,
    EXIT,
    IDENTITY,
    LOOP_CONDITION,
    MERGE,
    NEXT,
    SWITCH,
    Contexts,
    GraphIndex,
    Mask,
    control_flow,
    ops_outside_loops,
    traversal,
)
from tfgraphwidget.tf_types import NodeDef

Tensor = tuple[int, int]

_WITH_GRADIENTS = ("float", "bfloat", "complex")


class ExecutionFrames:
    """The frames in which ops of an index run, without those outside of all blocks."""

    def __init__(self, index: GraphIndex) -> None:
        self.index, self.contexts = index, Contexts(index)
        self._bodies: dict[int, Mask] = {}

    def why_not(
        self,
        op: int,
        changed: Iterable[tuple[Tensor, Tensor]],
        before: Iterable[Tensor],
        after: Iterable[Tensor],
    ) -> str:
        """Why an op could not keep running in its loop or branch, as one sentence; "" if it can.
        `changed` has the tensor that a data input reads and the one that it is to read, `before`
        all that the op reads and waits for.
        """
        before, after = list(before), list(after)
        place = self._innermost(before)
        for old, new in changed:
            why = self._crossing(op, self.loop(self.source_context(old)), new) or self._special(
                op, old, new
            )
            if (
                not why
                and self.index.types[op] in MERGE
                and self.source_context(old) != self.source_context(new)
            ):
                why = self._other_branch(op, new)
            if why:
                return why
        control_inputs = {t for t in after if t[1] == CONTROL} - set(before)
        why = next(
            filter(None, (self._crossing(op, self.loop(place), t) for t in control_inputs)), ""
        )
        if why:
            return why
        added = [t for t in after if t not in before]
        why = next(filter(None, (self._opposite(op, place, t) for t in added)), "")
        if why:
            return why
        if self._innermost(after) != place:
            here = (0, *self.contexts.path(place))
            deeper = next((t for t in added if self.source_context(t) not in here), None)
            return self._other_branch(op, deeper) if deeper else self._leaving(op, place)
        return self._phase(op, place, before, after)

    def source_context(self, tensor: Tensor) -> int:
        """The context that a tensor, or a control edge, comes from."""
        op, port = tensor
        if op >= len(self.index):
            return 0
        # What a NextIteration hands on goes round: to the contexts it is nowhere.
        if self.index.types[op] in NEXT:
            return self.contexts.inside[op]
        return self.contexts.output_context(op, port)

    def loop(self, context: int) -> int:
        """The loop that a context lies in; 0 for none."""
        return self.contexts.frame(reversed(self.contexts.path(context)))

    def _innermost(self, tensors: Iterable[Tensor]) -> int:
        here = 0
        for end in tensors:
            here = self.contexts.inner(here, self.source_context(end))
        return here

    # The ops that make up a loop

    def _special(self, op: int, old: Tensor, new: Tensor) -> str:
        """Why an op of a loop's own machinery cannot take another tensor, or another op what is for
        it only.
        """
        for kind, what in (
            (self._goes_round, "goes round to the loop's next iteration"),
            (self._starts, "is there in the loop's first iteration only"),
            (self._is_result_of_loop, "is there when the loop is done only"),
            (self._decides, "decides whether the loop goes on"),
        ):
            if kind(new) and not kind(old) and kind != self._decides:
                return (
                    f"{self._text(new)} {what}, and {self._name(op)} runs in each; choose "
                    "another tensor of the loop."
                )
            if kind(old) and not kind(new):
                return (
                    f"{self._name(op)} takes what {what}, and {self._text(new)} is not such a "
                    "tensor; choose another."
                )
        return self._second_consumer(op, new)

    def _second_consumer(self, op: int, new: Tensor) -> str:
        """The refusal of what a loop's Switch hands to the body where another op reads it:
        gradients would be wrong.

        See
        tests/test_tensorflow_facts.py::test_the_gradient_of_a_loop_misses_consumers_of_its_switch_but_one.
        """
        if new[1] != 1 or new[0] >= len(self.index) or not self._ends_loop(new[0]):
            return ""
        others = sorted(set(traversal.consumers_of(self.index, [new]).tolist()) - {op})
        if not others or not self.index.dtypes(new[0])[1].startswith(_WITH_GRADIENTS):
            return ""
        return (
            f"{self._text(new)} is read by {self._name(others[0])}, and TensorFlow's gradient of "
            f"the loop is wrong if two ops read it; let {self._name(op)} read "
            f"{self._name(others[0])} or another tensor of the loop."
        )

    def _type(self, tensor: Tensor) -> str:
        return self.index.types[tensor[0]] if tensor[0] < len(self.index) else ""

    def _decides(self, tensor: Tensor) -> bool:
        return self._type(tensor) in LOOP_CONDITION

    def _goes_round(self, tensor: Tensor) -> bool:
        return self._type(tensor) in NEXT

    def _starts(self, tensor: Tensor) -> bool:
        """Whether a tensor is the first value of a loop variable."""
        if self._type(tensor) not in ENTER:
            return False
        attr = self.index.nodes[tensor[0]].attr
        return "is_constant" not in attr or not attr["is_constant"].b

    def _is_result_of_loop(self, tensor: Tensor) -> bool:
        return tensor[1] == 0 and tensor[0] < len(self.index) and self._ends_loop(tensor[0])

    def _ends_loop(self, op: int) -> bool:
        """Whether an op is a loop's Switch, with outputs to the body (1) and an Exit (0)."""
        decides = self.contexts.slot(op, 1) if self.index.types[op] in SWITCH else None
        return decides is not None and self.index.types[decides[0]] in LOOP_CONDITION

    def _phase(self, op: int, place: int, before: list[Tensor], after: list[Tensor]) -> str:
        """Why an op would run in the body of its loop, or with its condition, other than before."""
        loop = self.loop(place)
        if not loop or self._in_body(loop, before) == self._in_body(loop, after):
            return ""
        name = self.contexts.key[loop]
        return (
            f"{self._name(op)} runs in the body of while loop {name!r} and would run with its "
            "condition too, once more than the body; let it read another tensor of the body."
            if self._in_body(loop, before)
            else f"{self._name(op)} runs with the condition of while loop {name!r}, and the body "
            "comes after it; let "
            "it read what the condition reads."
        )

    def _in_body(self, loop: int, tensors: Iterable[Tensor]) -> bool:
        if loop not in self._bodies:
            switches = [
                i
                for i, kind in enumerate(self.index.types)
                if kind in SWITCH and self._ends_loop(i)
            ]
            mine = [(i, 1) for i in switches if self.loop(self.contexts.inside[i]) == loop]
            round_ = [
                (i, traversal.ANY_PORT) for i, kind in enumerate(self.index.types) if kind in NEXT
            ]
            first = traversal.consumers_of(self.index, mine)
            self._bodies[loop] = traversal.forward(self.index, first, stop=round_)
        body = self._bodies[loop]
        tensors_in_index = [t for t in tensors if t[0] < len(self.index)]
        return any(body[op] or (port == 1 and self._ends_loop(op)) for op, port in tensors_in_index)

    # Sentences

    def _crossing(self, op: int, loop: int, new: Tensor) -> str:
        """Why an op of one loop cannot read or wait for what comes from another; 0 is outside of
        all.
        """
        other = self.loop(self.source_context(new))
        if other == loop:
            return ""
        if new[0] >= len(self.index):
            return (
                f"{self._name(op)} runs inside while loop {self.contexts.key[loop]!r}, where no "
                "placeholder can be fed; cut outside of it."
            )
        if other in self.contexts.path(loop) or not other:
            return (
                f"{self._text(new)} lies outside while loop {self.contexts.key[loop]!r}, and "
                f"{self._name(op)} inside; " + self._brought_in(loop, new)
            )
        return (
            f"{self._text(new)} lies inside while loop {self.contexts.key[other]!r}, and "
            f"{self._name(op)} outside; " + self._result(other, new)
        )

    def _brought_in(self, loop: int, new: Tensor) -> str:
        """The way out for what is to be read inside."""
        consumers = (
            traversal.consumers_of(self.index, [new]).tolist() if new[0] < len(self.index) else []
        )
        enters = (
            i for i in consumers if self.index.types[i] in ENTER and self.contexts.inside[i] == loop
        )
        enter = next((i for i in enters if not self._starts((i, 0))), None)
        if enter is not None:
            return f"read {self._text((enter, 0))} instead."
        return "read a tensor of the loop instead."

    def _result(self, loop: int, new: Tensor) -> str:
        """The way out for what is to be read outside."""
        exits = [
            i
            for i, kind in enumerate(self.index.types)
            if kind in EXIT and self.contexts.inside[i] == loop
        ]
        downstream = traversal.forward(self.index, [new[0]])
        best = min(exits, key=lambda i: (not downstream[i], i), default=None)
        if best is None:
            return "choose another."
        verb, port = ("wait for", CONTROL) if new[1] == CONTROL else ("read", 0)
        return f"{verb} the loop's result {self._text((best, port))} instead."

    def _opposite(self, op: int, place: int, new: Tensor) -> str:
        """The refusal of what comes only if the branch that an op runs in is not taken."""
        of = self.contexts
        mine = {of.key[c]: c for c in of.path(place)}
        theirs = (c for c in of.path(self.source_context(new)) if of.key[c] in mine)
        wrong = next((c for c in theirs if of.branch[mine[of.key[c]]] != of.branch[c]), None)
        if wrong is None:
            return ""
        return (
            f"{self._text(new)} is there only if {self._branch(wrong)}, and {self._name(op)} runs "
            f"only if {self._branch(mine[of.key[wrong]])}; choose a tensor of the same branch."
        )

    def _other_branch(self, op: int, new: Tensor) -> str:
        """The refusal of what comes only if a branch is taken that the op does not run in."""
        context = self.source_context(new)
        around = [
            c for c in self.contexts.path(context) if not isinstance(self.contexts.key[c], str)
        ]
        if not around:
            return (
                f"{self._text(new)} is there whatever branch is taken, and {self._name(op)} takes "
                "what comes from one; choose a tensor of the same branch."
            )
        key = self.contexts.key[around[-1]]
        merges = self.contexts.closes.get((self.contexts.parent[around[-1]], key), [])
        if merges:
            way = f"read the conditional's result {self._text((merges[0], 0))}"
        else:
            way = "choose another tensor"
        return (
            f"{self._text(new)} is there only if {self._branch(around[-1])}, and {self._name(op)} "
            f"runs elsewhere; {way} instead."
        )

    def _leaving(self, op: int, place: int) -> str:
        """The refusal for an op that nothing would hold in its loop or branch any more."""
        key = self.contexts.key[place]
        if isinstance(key, str):
            where = f"inside while loop {key!r}"
        else:
            where = f"only if {self._branch(place)}"
        return (
            f"{self._name(op)} runs {where}, and nothing else that it reads or waits for would "
            "keep it there; let it go on reading or waiting for an op from there."
        )

    def _branch(self, context: int) -> str:
        predicate, branch = self.contexts.key[context], self.contexts.branch[context]
        assert not isinstance(predicate, str)
        text = ("false", "true")[branch] if branch in (0, 1) else str(branch)
        return f"{self._text(predicate)} is {text}"

    def _name(self, op: int) -> str:
        return repr(self.index.names[op])

    def _text(self, tensor: Tensor) -> str:
        op, port = tensor
        if op >= len(self.index):
            return "a new placeholder"
        return repr(
            f"^{self.index.names[op]}" if port == CONTROL else f"{self.index.names[op]}:{port}"
        )


_ROLES = (ENTER, EXIT, NEXT, LOOP_CONDITION, SWITCH, MERGE)


def check_loops(index: GraphIndex, patch: Patch) -> None:
    """Raise GraphEditError where an op takes or leaves the place of one that holds a v1 loop or
    conditional together, or is added without the rest of its loop.

    TensorFlow's executor ends the process where an Exit runs outside of all loops.
    """
    for edited in patch.changed:
        before, after = edited.before.op, edited.after.op
        if (
            before != after
            and _role(before) != _role(after)
            and not _decides_nothing(index, patch, edited)
        ):
            kind, other = (before, after) if _role(before) else (after, before)
            raise GraphEditError(
                f"Op {edited.name!r} cannot become {after}: a while loop or conditional needs its "
                f"{kind} ops, and {other} ops have no place there; replace the whole loop or "
                "conditional.",
                [edited.name],
            )
    new_names = {new for _, new in patch.renamed}
    new = [
        node
        for node in patch.add.nodes
        if node.op in ENTER | EXIT | NEXT and node.name not in new_names
    ]
    if not new:
        return
    graph = apply_patch(index, patch)
    alone = {graph.names[op] for op in ops_outside_loops(Contexts(graph))}
    if not any(node.op in LOOP_CONDITION for node in patch.add.nodes):  # no whole loop is added
        alone |= {
            node.name
            for node in new
            if node.op not in ENTER or not _enters_a_loop(node, index, graph)
        }
    for node in new:
        if node.name in alone:
            raise GraphEditError(
                f"Op {node.name!r} of type {node.op} would be alone, and is a part of a while loop "
                "only; give a function that makes the whole loop with tf.while_loop.",
                [node.name],
            )


def _decides_nothing(index: GraphIndex, patch: Patch, edited: NodeChange) -> bool:
    """Whether a conditional's Merge becomes an Identity as the predicate is constant."""
    if edited.before.op not in MERGE or edited.after.op not in IDENTITY:
        return False
    op = index.ids[edited.before.name]
    block = next((each for each in control_flow.conditionals(index) if op in each.merges), None)
    if block is None:
        return False
    predicate = index.nodes[control_flow.predicate_source(index, block)[0]]
    after = {change.name: change.after for change in patch.changed}
    is_gone = any(node.name == predicate.name for node in patch.remove.nodes)
    return is_gone or after.get(predicate.name, predicate).op in CONSTANTS


def _enters_a_loop(node: NodeDef, index: GraphIndex, graph: GraphIndex) -> bool:
    """Whether a new Enter brings a tensor into the loop where its consumers run in `graph`."""
    contexts = frames_of(index).contexts
    consumers = (
        index.ids.get(graph.names[op]) for op in graph.consumer_lists[graph.ids[node.name]]
    )
    inside = (
        0 if op is None else contexts.frame(reversed(contexts.path(contexts.inside[op])))
        for op in consumers
    )
    return {contexts.key[context] for context in inside} == {
        node.attr["frame_name"].s.decode(errors="surrogateescape")
    }


def _role(op_type: str) -> frozenset[str]:
    """The types that do in a loop or conditional what this one does; none for other ops."""
    return next((role for role in _ROLES if op_type in role), frozenset())


def frames_of(index: GraphIndex) -> ExecutionFrames:
    """The frames in which the ops of an index run; computed once per index."""
    frames = index.__dict__.get("within")
    if not isinstance(frames, ExecutionFrames):
        frames = index.__dict__["within"] = ExecutionFrames(index)
    return frames


def may_run_in_frames(index: GraphIndex, ops: Iterable[int]) -> bool:
    """Whether any of these ops depends on a v1 loop or conditional, and so may run in one."""
    kinds, codes = index.kinds
    special = [code for code, kind in enumerate(kinds) if kind in ENTER or kind in SWITCH]
    if not special:
        return False
    ancestors: Mask = traversal.backward(index, list(ops)) & np.isin(codes, special)
    return bool(ancestors.any())
