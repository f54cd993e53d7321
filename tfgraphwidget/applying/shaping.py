"""Static shapes after an edit, inferred anew by TensorFlow's own shape functions.

An op is asked only when something that it reads has another static shape, or other numbers that shapes hang on, and so
on from there to those who read it: an edit that changes no shape costs the same in every graph. Static shapes that
nobody can infer (`set_shape`) stay as long as nothing changes that the op reads. Round a v1 loop shapes can only become
less sharp, so that it ends.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

import tensorflow as tf

from tfgraphwidget.applying.scratch import BRANCHING, LOOPS, Refused, Scratch
from tfgraphwidget.edits.after import After, Rank, Tensor, joined
from tfgraphwidget.edits.patch import Edited, NewShape, Patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.edges import no_collections
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape, shape_text
from tfgraphwidget.names import listed
from tfgraphwidget.progress import tell
from tfgraphwidget.sources.bounds import Bounds

_HOLDING = frozenset({"resource", "variant"})
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
# Their shape function tells nothing: Python sets it (test_round_a_v1_loop_shapes_become_what_holds_each_time).
_ENTERS = frozenset({"Enter", "RefEnter"})
_OUTPUT_SHAPES = "output_shapes"
_NODES = re.compile(r"(Node: )?\{\{\w+ [^}]*\}\}\s*")


def shaped(index: GraphIndex, patch: Patch) -> Patch:
    """The patch with the static shapes that follow from it, where they are others than `index` tells.

    Those of added ops are all there, as far as they are known. Raises GraphEditError, naming the op that refuses, when
    an op cannot take what it would read.
    """
    if not patch.add.nodes and not patch.changed:
        return patch
    _check_bounds(index, patch)
    with no_collections():
        after = _inferred(index, patch)
    return replace(patch, shapes=tuple(_new_shapes(after)), changed=_told_by_attributes(after))


def _check_bounds(index: GraphIndex, patch: Patch) -> None:
    """Refuse an edit that gives an op too many tensors; one that a file has already may be read from something else."""
    bounds = Bounds(index.typing.definition)
    changed = ((edited.before, edited.after) for edited in patch.changed)
    for before, node in (*((None, node) for node in patch.add.nodes), *changed):
        why = bounds.why(node)
        if why and (before is None or not bounds.why(before)):
            raise GraphEditError(f"Op {node.name!r} {why}; give it a smaller number.", [node.name])


def _inferred(index: GraphIndex, patch: Patch) -> After:
    after = After(index, patch)
    try:
        # Mostly no shape changes but those of the ops that the patch names, and no other needs a place in an order.
        own = after.sorted(after.own)
        _Inference(after, {name: (k, 0) for k, name in enumerate(own)}, is_whole=False).run()
    except _Further:
        after = After(index, patch)
        _Inference(after, after.ranks(), is_whole=True).run()
    return after


def _new_shapes(after: After) -> Iterable[NewShape]:
    added = {node.name for node in after.patch.add.nodes}
    for name in added & after.own.keys():  # those of copies are told by their originals
        for port in range(len(after.dtypes(name))):
            after.shapes.setdefault((name, port), after.shape(name, port))
    for (name, port), shape in after.shapes.items():
        at = after.index.ids.get(name)
        before = None if at is None else after.index.shape(at, port)
        if shape != before:
            yield NewShape(name, port, before, shape)


def _told_by_attributes(after: After) -> tuple[Edited, ...]:
    """What the patch changes, and the loops and conditionals of functions that say another shape in an attribute: they
    are taken at their word by whoever imports them.
    """
    changed = {edited.name: edited for edited in after.patch.changed}
    for name in dict.fromkeys(op for op, _ in after.shapes):
        node = after.node(name)
        if name in after.index.ids and node.op in LOOPS | BRANCHING and node.attr[_OUTPUT_SHAPES].list.shape:
            right = type(node)()
            right.CopyFrom(node)
            shapes = [tf.TensorShape(after.shape(name, k)).as_proto() for k in range(len(after.dtypes(name)))]
            right.attr[_OUTPUT_SHAPES].list.ClearField("shape")
            right.attr[_OUTPUT_SHAPES].list.shape.extend(shapes)
            changed[name] = Edited(changed[name].before if name in changed else node, right)
    return tuple(changed.values())


class _Further(Exception):
    """More ops are reached than have a rank."""


class _Inference:
    """Takes new shapes from op to op, in the order of their ranks."""

    def __init__(self, after: After, ranks: Mapping[str, Rank], *, is_whole: bool) -> None:
        self._after, self._ranks, self._is_whole = after, ranks, is_whole
        self._before = After(after.index)
        self._moved: set[Tensor] = set()  # tensors that tell something else than before
        self._seen: set[str] = set()
        self._queue: list[tuple[Rank, str]] = []
        self._waiting: set[str] = set()

    @cached_property
    def _scratch(self) -> Scratch:
        return Scratch(self._after)

    @cached_property
    def _old(self) -> Scratch:
        """The graph as it was."""
        return Scratch(self._before)

    def run(self) -> None:
        """Ask every op that may have other shapes. Raises GraphEditError."""
        for name in self._after.own:
            self._push(name)
        asked = 0
        while self._queue:
            asked += 1
            tell("Inferring shapes", asked, asked + len(self._queue))
            name = heapq.heappop(self._queue)[1]
            self._waiting.discard(name)
            slots = self._after.slots(name)
            if slots is None or any(self._differs(name, *slot) for slot in slots):
                self._ask(name, slots)

    def _push(self, name: str) -> None:
        if name not in self._ranks:
            raise _Further
        if name not in self._waiting:
            self._waiting.add(name)
            heapq.heappush(self._queue, (self._ranks[name], name))

    def _differs(self, reader: str, was: Tensor, now: Tensor) -> bool:
        """Whether what an op reads now tells it something else than what it read before."""
        after, before = self._after, self._before
        if after.same(was, now):
            return now in self._moved
        dtype = after.dtype(now)
        if dtype != before.dtype(was) or dtype in _HOLDING or after.shape(*now) != before.shape(*was):
            return True
        return (dtype in _INTEGERS or after.computes(reader)) and (after.tells(now[0]) or before.tells(was[0]))

    def _ask(self, name: str, slots: list[tuple[Tensor, Tensor]] | None) -> None:
        """Infer what an op gives, and go on to its readers when that is something else."""
        after, known, first = self._after, name in self._before.index.ids, name not in self._seen
        self._seen.add(name)
        try:
            shapes = self._scratch.shapes(name)
        except Refused as reason:
            if not self._is_whole and len(after.own) > 1:  # what it reads may still become something else
                raise _Further from reason
            if not known or self._were(name) is not None:
                raise self._refusal(name, slots, str(reason)) from reason
            shapes = [None] * len(after.dtypes(name))  # it was no better before
        if not first:  # round a loop
            shapes = [joined(after.shape(name, k), shape) for k, shape in enumerate(shapes)]
            self._scratch.forget(name)
        elif known and slots:
            inferred, shapes = shapes, self._kept(name, slots, shapes)
            if shapes != inferred:
                self._scratch.sharpen(name, shapes)
        self._move(name, shapes, first=first)

    def _kept(self, name: str, slots: list[tuple[Tensor, Tensor]], shapes: list[Shape]) -> list[Shape]:
        """The shapes, and what Python said of them beside, as far as that holds still."""
        after, before = self._after, self._before
        if after.node(name).op in _ENTERS and before.shape(name, 0) == before.shape(*slots[0][0]) is not None:
            return [after.shape(*slots[0][1])]
        if self._only_numbers(name, slots) and shapes == self._were(name):
            return [after.shape(name, k) for k in range(len(shapes))]
        return shapes

    def _move(self, name: str, shapes: list[Shape], *, first: bool) -> None:
        """Go on to the readers of what is something else now."""
        after = self._after
        moved = [port for port, shape in enumerate(shapes) if shape != after.shape(name, port)]
        for port in moved:
            after.learn(name, port, shapes[port])
        if first:
            held = [port for port, dtype in enumerate(after.dtypes(name)) if dtype in _HOLDING]
            moved = list(range(len(shapes))) if after.tells(name) or self._before.tells(name) else moved + held
        if moved:
            self._moved.update((name, port) for port in moved)
            for reader in after.readers(name):
                self._push(reader)

    def _only_numbers(self, name: str, slots: list[tuple[Tensor, Tensor]]) -> bool:
        """Whether what an op reads differs in numbers at most, neither in shape nor in what a handle holds."""
        after, before = self._after, self._before
        if any(after.shape(*now) != before.shape(*was) for was, now in slots):
            return False
        return not any(after.dtype(now) in _HOLDING and self._differs(name, was, now) for was, now in slots)

    def _were(self, name: str) -> list[Shape] | None:
        """What TensorFlow would infer of an op as it was."""
        try:
            return self._old.shapes(name)
        except Refused:
            return None

    def _refusal(self, name: str, slots: list[tuple[Tensor, Tensor]] | None, reason: str) -> GraphEditError:
        """One sentence: the op, what it cannot take, what it could, TensorFlow's reason, and what was edited."""
        after, before = self._after, self._before
        read = after.inputs(name)
        pairs = slots or [(tensor, tensor) for tensor in read]
        other = [k for k, (was, now) in enumerate(pairs) if slots and after.shape(*now) != before.shape(*was)]
        wrong = other or list(range(len(read)))
        told = " and ".join(self._instead(*pairs[k]) if slots else self._text(read[k]) for k in wrong)
        others = [self._text(read[k]) for k in range(len(read)) if k not in wrong]
        beside = " and ".join(others[:3] + ([f"{len(others) - 3} more"] if others[3:] else []))
        edited = [name for name in after.own if name in before.index.ids] or list(after.own)
        whence = "" if name in after.own else f", which follows from the change of {listed(edited)}"
        beside = (beside and f", beside {beside}") + whence
        return GraphEditError(
            f"Op {name!r} cannot take {told or 'its attributes'}{beside}: {_plain(reason)}; choose a tensor of another "
            "shape.",
            dict.fromkeys([name, *(read[k][0] for k in wrong), *(edited if whence else ())]),
        )

    def _instead(self, was: Tensor, now: Tensor) -> str:
        place = "" if self._after.same(was, now) else f"'{was[0]}:{was[1]}' of shape "
        return f"{self._text(now)} in place of {place}{shape_text(self._before.shape(*was))}"

    def _text(self, tensor: Tensor) -> str:
        return f"'{tensor[0]}:{tensor[1]}' of shape {shape_text(self._after.shape(*tensor))}"


def _plain(reason: str) -> str:
    """TensorFlow's reason without the op, as a part of a sentence."""
    text = _NODES.sub("", reason).strip().partition("\n")[0].partition(" for '")[0].partition(". ")[0].rstrip(".;: ")
    return text[:1].lower() + text[1:300]
