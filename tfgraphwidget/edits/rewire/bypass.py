"""Bypass and Detach: a part of the graph is gone round, or cut off. Its ops stay where they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tfgraphwidget.edits.clone.boundary_inputs import compatible
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.registry import EditButton, register
from tfgraphwidget.edits.rewire import validation
from tfgraphwidget.edits.rewire.adapters import Mend, placeholder
from tfgraphwidget.edits.rewire.edge_moves import Border, Slot, Tensor, Wires
from tfgraphwidget.edits.rewire.operands import part, tensors
from tfgraphwidget.edits.rewire.reroute import Rewire
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, GraphIndex, Selection, computed_from_outside, shape_text, traversal
from tfgraphwidget.naming import listed


@register(
    button=EditButton(
        "Bypass", "Connect the consumers directly to the inputs", on="part", order=10, needs=("inputs", "outputs")
    )
)
@dataclass(frozen=True)
class Bypass(Rewire):
    """Connect the consumers of an op, scope or selection directly to its inputs.

    Without `by`, outputs and inputs are paired in order where they are equally many and fit. Otherwise each output is
    replaced by the only input of its dtype and static shape, or by the only such input that is not a constant or
    variable. Outputs that are read only after other outputs, as by gradients, keep their consumers. Ops that wait for
    an op of the part wait for what the part reads and waits for. The ops of the part stay in the graph.

    Attributes:
        what: The op, scope or selection.
        by: The tensor to read instead; or pairs of (output, tensor to read instead), for these outputs alone.
        mend: The type of an op to insert where dtypes or static shapes differ.
        names: Names of the inserted ops.
    """

    what: str | Selection
    by: str | tuple[tuple[str, str], ...] = field(default=(), metadata={"pairs": True})
    mend: Mend = ""
    names: tuple[str, ...] = ()

    def wires(self, context: PlanContext) -> Wires:
        """The edges to move, not checked yet."""
        index = context.index
        chosen = part(index, self.what)
        wires, border = Wires(index, self.names), Border(index, chosen.mask)
        _add_external(context, border)
        if not border.leaving and not border.waiting:
            raise GraphEditError(
                f"Nobody reads what {self.what!r} gives, so there is nothing to bypass; choose ops that are read.",
                chosen.ops[:3],
            )
        ways = self._ways(wires, border)
        for tensor, way in ways.items():
            wires.reads.update(dict.fromkeys(border.leaving[tensor], way))
            if wires.told(tensor) in context.external_tensors:
                _give(wires, tensor, way)
        left = [tensor for tensor in border.leaving if tensor not in ways]
        if left:
            wires.notes.append(f"{listed([wires.told(tensor) for tensor in left])} of {self.what!r} is read as before.")
            if not self.by and not set(left) & set(_first(index, border)):
                wires.notes.append(
                    "What reads it comes after; if these are gradients, make them anew before you train with them."
                )
        else:
            self._go_round(wires, border, chosen, {op for op, _ in ways.values()})
            wires.notes.append(f"{self.what!r} stays in the graph, and nobody outside reads it any more.")
        return wires

    def fix_label(self) -> str:
        """A few words for a button."""
        return super().fix_label() or (f"Read {self.by}" if isinstance(self.by, str) else "")

    def _ways(self, wires: Wires, border: Border) -> dict[Tensor, Tensor]:
        """For each output the tensor to read in its place."""
        entering, leaving = list(border.entering), _first(wires.index, border)
        if isinstance(self.by, str):
            return dict.fromkeys(leaving, self._one(wires, self.by))
        if self.by:
            leaving = list(border.leaving)
            named = {self._one(wires, out): self._one(wires, way) for out, way in self.by}
            wrong = next((out for out in named if out not in border.leaving), None)
            if wrong is not None:
                raise GraphEditError(
                    f"No op outside of {self.what!r} reads {wires.told(wrong)!r} of it; what is read is "
                    f"{listed([wires.told(tensor) for tensor in leaving]) or 'nothing'}.",
                    [wires.name(wrong[0])],
                )
            return named
        pairs = list(zip(leaving, entering, strict=False)) if len(leaving) == len(entering) else []
        if len(pairs) == 1 or (pairs and all(_fits(wires, *pair) for pair in pairs)):
            return dict(pairs)
        return {tensor: self._only_way(wires, tensor, entering) for tensor in leaving}

    @staticmethod
    def _one(wires: Wires, name: str) -> Tensor:
        found = tensors(wires.index, name)
        if len(found) != 1 or found[0][1] == CONTROL:
            raise GraphEditError(f"by= names {name!r}, which is {len(found)} tensors; name one: 'op:0'.")
        return found[0]

    def _only_way(self, wires: Wires, tensor: Tensor, entering: list[Tensor]) -> Tensor:
        """The only tensor that comes in and fits the readers of one that goes out."""
        fitting = [way for way in entering if _fits(wires, tensor, way)]
        fed = _fed(wires.index, fitting) if len(fitting) > 1 else fitting
        if len(fed) == 1:
            return fed[0]
        told = f"{wires.told(tensor)!r} ({_like(wires, tensor)})"
        ops = dict.fromkeys(wires.name(op) for op, _ in (tensor, *(fitting or entering)))
        if fitting:
            raise GraphEditError(
                f"{self.what!r} reads {listed([wires.told(t) for t in fitting])}, and each would fit those that read "
                f"{told}; say which with by=.",
                ops,
                [replace(self, by=wires.told(way)) for way in fitting],
            )
        held = ", ".join(f"{wires.told(t)!r} ({_like(wires, t)})" for t in entering) or "nothing"
        raise GraphEditError(
            f"{self.what!r} reads {held}, and none of it fits those that read {told}; name what to read with by=, and "
            "an op to put between with mend=.",
            ops,
        )

    def _go_round(self, wires: Wires, border: Border, chosen: Selection, ways: set[int]) -> None:
        """Let who waits for an op of the part wait for what comes before the part."""
        around = sorted({*(ways or {op for op, _ in border.entering}), *border.waited})
        for op in border.waiting:
            held = [waited for waited in wires.controls(op) if waited not in chosen.ids]
            wires.waits[op] = tuple(dict.fromkeys([*held, *(other for other in around if other != op)]))
        if border.waited and ways:
            before = listed([wires.name(op) for op in border.waited])
            wires.notes.append(f"{self.what!r} waits for {before}; who reads past it does not.")


@register(
    button=EditButton(
        "Detach", "Cut all incoming and outgoing edges; placeholders replace the inputs", on="part", order=30
    )
)
@dataclass(frozen=True)
class Detach(Rewire):
    """Cut an op, scope or selection off from the rest of the graph.

    Attributes:
        what: The op, scope or selection.
        inputs: Whether it reads a new placeholder for each of its inputs, of the same dtype and static shape.
        outputs: Whether its consumers read a new placeholder for each of its outputs.
        control: Whether control edges across its boundary are removed.
        names: Names of the placeholders.
    """

    what: str | Selection
    inputs: bool = True
    outputs: bool = True
    control: bool = False
    names: tuple[str, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether it may add ops."""
        return True

    def wires(self, context: PlanContext) -> Wires:
        """The edges to move, not checked yet."""
        index = context.index
        chosen = part(index, self.what)
        wires, border = Wires(index, self.names), Border(index, chosen.mask)
        for tensor, slots in (border.entering if self.inputs else {}).items():
            self._stand_in(wires, tensor, slots)
        for tensor, slots in (border.leaving if self.outputs else {}).items():
            self._stand_in(wires, tensor, slots)
        if self.control:
            for op in np.flatnonzero(chosen.mask).tolist() if border.waited else ():
                wires.waits[op] = tuple(waited for waited in wires.controls(op) if waited in chosen.ids)
            for op in border.waiting:
                wires.waits[op] = tuple(waited for waited in wires.controls(op) if waited not in chosen.ids)
        if not wires.reads and not wires.waits:
            raise GraphEditError(
                f"Nothing of {self.what!r} is there to cut; say with inputs=, outputs= and control= what to cut.",
                chosen.ops[:3],
            )
        return wires

    def _stand_in(self, wires: Wires, tensor: Tensor, slots: list[Slot]) -> None:
        """Let a new placeholder stand for a tensor."""
        wrong = next((op for op, k in slots if validation.takes_reference(wires.index, op, k)), None)
        if wrong is not None:
            raise GraphEditError(
                f"{wires.name(wrong)!r} changes the variable {wires.told(tensor)!r}, and no placeholder can stand for "
                f"one; detach {wires.name(wrong)!r} and {wires.name(tensor[0])!r} together, or neither.",
                [wires.name(wrong), wires.name(tensor[0])],
            )
        wires.reads.update(dict.fromkeys(slots, (placeholder(wires, tensor), 0)))


def _add_external(context: PlanContext, border: Border) -> None:
    """What callers are given leaves the part too, though no op reads it."""
    for end in (tensors(context.index, name)[0] for name in context.external_tensors):
        if border.mask[end[0]]:
            border.leaving.setdefault(end, [])


def _give(wires: Wires, tensor: Tensor, way: Tensor) -> None:
    """Let callers who are given a tensor be given another one."""
    told = wires.told(tensor)
    if not _fits(wires, tensor, way):
        raise GraphEditError(
            f"{told!r} ({_like(wires, tensor)}) is a result that callers are given, and {wires.told(way)!r} "
            f"({_like(wires, way)}) is of another kind; bypass less.",
            [wires.name(tensor[0]), wires.name(way[0])],
        )
    wires.given[told] = wires.told(way)


def _first(index: GraphIndex, border: Border) -> list[Tensor]:
    """The tensors that leave a part, without those that are read only after others have been."""
    leaving = list(border.leaving)
    if len(leaving) < 2:
        return leaving
    readers = {tensor: sorted({op for op, _ in slots}) for tensor, slots in border.leaving.items()}
    behind = {tensor: traversal.forward(index, ops) for tensor, ops in readers.items()}

    def is_after(tensor: Tensor, other: Tensor) -> bool:
        return bool(behind[other][readers[tensor]].all() and not behind[tensor][readers[other]].any())

    return [tensor for tensor in leaving if not any(is_after(tensor, other) for other in leaving)]


def _fed(index: GraphIndex, found: list[Tensor]) -> list[Tensor]:
    """Those of some tensors that are no variables or constants of the layer: they depend on what comes from outside."""
    fed = computed_from_outside(index)
    return [tensor for tensor in found if fed[tensor[0]]]


def _fits(wires: Wires, tensor: Tensor, way: Tensor) -> bool:
    """Whether what reads a tensor may read another one, as far as dtypes and static shapes tell."""
    a, b = wires.dtype(tensor).removesuffix("_ref"), wires.dtype(way).removesuffix("_ref")
    return (not a or not b or a == b) and compatible(wires.index.shape(*tensor), wires.index.shape(*way))


def _like(wires: Wires, tensor: Tensor) -> str:
    return f"{wires.dtype(tensor) or 'unknown'} {shape_text(wires.index.shape(*tensor))}"
