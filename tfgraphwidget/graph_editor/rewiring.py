"""Edges of a live graph that are changed together: planned, checked as a whole, then made, all of
them or none.

Placeholders that a plan wants are made after the checks too, since TensorFlow cannot remove them:
until then a *hole* represents each. Where TensorFlow refuses an edge for a shape that only it
remembers, a *veil* goes between (see `runtime.live.in_place_changes`); who reads through one reads
the tensor after.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import cast

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph_editor.cycles import Edge, cycle_of, feeding, keep_order, stamp_of
from tfgraphwidget.graph_editor.lists import unique
from tfgraphwidget.graph_editor.live_ops import all_or_nothing
from tfgraphwidget.graph_editor.placeholders import make_placeholder_from_tensor
from tfgraphwidget.runtime.live import check_open, record_of, set_control_inputs, set_input
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import is_reference, takes_reference, update_input
from tfgraphwidget.tf_types import Graph, Operation, Tensor

_SHOWN = 12
"""How many ops of a cycle a sentence names."""


class Hole:
    """A placeholder that is still to be made, for a tensor or for another hole; `placeholder` is
    it, once it is.
    """

    def __init__(self, of: End) -> None:
        self.of = of
        self.placeholder: Tensor | None = None
        self.dtype: tf.DType = of.dtype.base_dtype
        self.shape: tf.TensorShape = of.shape
        self.name: str = of.name


End = Tensor | Hole
"""The end of an edge: a tensor, or a placeholder that is still to be made."""


class Rewiring:
    """A plan of edges for one graph.

    It says who reads and waits for what once it is carried out. Ends of edges are tensors and
    holes, compared by identity.
    """

    def __init__(self, graph: Graph | None) -> None:
        # None only for the plan of an empty view, which has no edges.
        self.graph = cast("Graph", graph)
        self._read: dict[Operation, list[End]] = {}
        self._new_consumers: dict[int, list[Operation]] = {}
        self._waits: dict[Operation, list[Operation]] = {}
        self._holes: list[Hole] = []
        self._veils = {} if graph is None else record_of(graph).veils

    def hole(self, t: End) -> Hole:
        """A placeholder for `t`, a tensor or a hole, to be made when the plan is carried out."""
        self._holes.append(Hole(self._plain(t)))
        return self._holes[-1]

    def inputs(self, op: Operation) -> list[End]:
        """The inputs of an op."""
        if op in self._read:
            return self._read[op]
        return list(map(self._plain, op.inputs)) if self._veils else list(op.inputs)

    def control_inputs(self, op: Operation) -> list[Operation]:
        """The control inputs of an op."""
        return self._waits[op] if op in self._waits else list(op.control_inputs)

    def consumers(self, t: End) -> list[Operation]:
        """The ops that read a tensor or a hole, each once.

        Args:
            t: The tensor, or an op for its control edges.
        """
        t = self._plain(t)
        consumers: list[Operation] = []
        if not isinstance(t, Hole):
            for consumer in t.consumers():
                consumers += self._consumers_through(consumer)
        consumers += self._new_consumers.get(id(t), ())
        # Some may have been moved to another tensor.
        return [op for op in unique(consumers) if any(read is t for read in self.inputs(op))]

    def read(self, op: Operation, inputs: Iterable[End]) -> None:
        """Let an op read these tensors and holes, one for each of its inputs."""
        self._read[op] = list(map(self._plain, inputs))
        for t in self._read[op]:
            self._new_consumers.setdefault(id(t), []).append(op)

    def move(self, new: End, old: End, consumers: Iterable[Operation]) -> int:
        """Let ops read `new` wherever they read `old`; how many edges that moves.

        Args:
            new: What they read from then on.
            old: What they read.
            consumers: The ops that may change.
        """
        new, old, moved = self._plain(new), self._plain(old), 0
        for op in consumers:
            inputs = self.inputs(op)
            edges = sum(t is old for t in inputs)
            if edges:
                self._read[op] = [new if t is old else t for t in inputs]
                self._new_consumers.setdefault(id(new), []).append(op)
            moved += edges
        return moved

    def reroute(
        self,
        ts0: Iterable[End],
        ts1: Iterable[End],
        *,
        swap: bool = False,
        can_modify: Collection[Operation] | None = None,
        cannot_modify: Collection[Operation] = (),
    ) -> int:
        """Let the consumers of each of `ts1` read that of `ts0`, and with `swap` the other way
        round; how many edges.

        Who reads what is asked for all pairs first, in which input an op reads it pair by pair, as
        in the original.

        Args:
            ts0: Tensors, one for each of `ts1`.
            ts1: Tensors whose consumers change.
            swap: Whether the consumers of `ts0` change too.
            can_modify: The ops that may change; None for all.
            cannot_modify: The ops that may not.

        Raises:
            ValueError: The lists are of unequal lengths, or a pair does not fit.
        """
        pairs = _pairs(list(ts0), list(ts1))
        consumers = [(self.consumers(t0), self.consumers(t1)) for t0, t1 in pairs]

        def changeable(ops: list[Operation]) -> list[Operation]:
            allowed = ops if can_modify is None else [op for op in ops if op in can_modify]
            return [op for op in allowed if op not in cannot_modify]

        moved = 0
        for (t0, t1), (of_t0, of_t1) in zip(pairs, consumers, strict=True):
            if t0 is not t1:
                moved += self.move(t0, t1, changeable(of_t1))
                moved += self.move(t1, t0, changeable(of_t0)) if swap else 0
        return moved

    def wait(self, op: Operation, for_ops: list[Operation]) -> None:
        """Let an op wait for these ops, and no others.

        Args:
            op: The live op.
            for_ops: The ops to wait for.
        """
        self._waits[op] = for_ops

    def carry_out(self) -> None:
        """Make the placeholders and the edges.

        Raises:
            ValueError: An edge cannot be, or a cycle would come about.
            TypeError: An op changes a variable, and was to read a placeholder.
            GraphFinalized: The graph is finalized.
        """
        changes = list(self._changes())
        waits = [(op, ops) for op, ops in self._waits.items() if set(ops) != set(op.control_inputs)]
        if not (changes or waits or self._holes):
            return
        _check_edges(changes)
        new = {(op, then.op) for op, _, _, then in changes if not isinstance(then, Hole)}
        for op, for_ops in waits:
            new |= {(op, other) for other in set(for_ops).difference(op.control_inputs)}
        self._check_cycles(new)
        check_open(self.graph)
        stamp = stamp_of(self.graph)
        try:
            with all_or_nothing(self.graph) if self._holes else nullcontext():
                self._fill_holes()
                self._make(changes, waits)
        except GraphEditError as error:
            raise ValueError(error.why) from error
        record_of(self.graph).rewire_count += 1  # editors of the graph read it again
        if not self._holes:
            keep_order(self.graph, stamp, new)

    def _changes(self) -> Iterator[tuple[Operation, int, End, End]]:
        """(op, number of the input, what it reads, what it is to read)."""
        for op, planned in self._read.items():
            for k, (now, then) in enumerate(zip(map(self._plain, op.inputs), planned, strict=True)):
                if now is not then:
                    yield op, k, now, then

    def _check_cycles(self, new: set[Edge]) -> None:
        cycle = cycle_of(self.graph, new, self._feeding)
        if cycle:
            names = [repr(op.name) for op in cycle]
            if len(names) > _SHOWN:
                names[_SHOWN - 2 : -1] = [f"... {len(names) - _SHOWN + 1} more ..."]
            raise ValueError(
                f"A cycle would come about, {' -> '.join(names)}, and no op in it could ever run; "
                "take other tensors, or keep one of these ops as it is (cannot_modify)."
            )

    def _feeding(self, op: Operation) -> Iterator[Operation]:
        tensors = [t for t in self.inputs(op) if not isinstance(t, Hole)]
        return feeding(op, tensors, self.control_inputs(op))

    def _fill_holes(self) -> None:
        with self.graph.as_default(), tf.control_dependencies(None):
            for hole in self._holes:
                hole.placeholder = make_placeholder_from_tensor(live(hole.of))

    def _make(
        self,
        changes: list[tuple[Operation, int, End, End]],
        waits: list[tuple[Operation, list[Operation]]],
    ) -> None:
        back: list[Callable[[], None]] = []
        try:
            for op, k, _, then in changes:
                back.append(partial(update_input, op, k, op.inputs[k]))
                t = live(then)
                set_input(self.graph, op, k, t.op.name, t.value_index)
            for op, for_ops in waits:
                names = [other.name for other in op.control_inputs]
                back.append(partial(set_control_inputs, self.graph, op, names))
                set_control_inputs(self.graph, op, [other.name for other in for_ops])
        except BaseException:
            for take_back in reversed(back):
                take_back()
            raise

    def _plain(self, t: End) -> End:
        """The tensor that a veil represents; any other as it is."""
        if self._veils and not isinstance(t, Hole) and t.op.name in self._veils:
            return t.op.inputs[0]
        return t

    def _consumers_through(self, consumer: Operation) -> list[Operation]:
        """The ops that read through a veil; for another op itself."""
        return consumer.outputs[0].consumers() if consumer.name in self._veils else [consumer]


def live(end: End) -> Tensor:
    """The tensor, or the placeholder that has been made for a hole.

    Args:
        end: The tensor, or an op for its control edges.
    """
    return cast("Tensor", end.placeholder) if isinstance(end, Hole) else end


def _pairs(ts0: list[End], ts1: list[End]) -> list[tuple[End, End]]:
    """Pairs of tensors that fit each other; raises ValueError."""
    if len(ts0) != len(ts1):
        raise ValueError(
            f"The lists have different sizes, {len(ts0)} and {len(ts1)}; pair each tensor with "
            "one, as with the remap_inputs and remap_outputs of a view."
        )
    for t0, t1 in zip(ts0, ts1, strict=True):
        if not t0.dtype.is_compatible_with(t1.dtype):
            raise ValueError(
                f"{_difference_text(t0.name, t0.dtype.name, t1.name, t1.dtype.name)}; cast one of "
                "them (tf.cast)."
            )
        _check_shapes(t0, t1)
    return list(zip(ts0, ts1, strict=True))


def _check_edges(changes: Iterable[tuple[Operation, int, End, End]]) -> None:
    for op, k, now, then in changes:
        _check_shapes(then, now)
        if takes_reference(op, k) and not is_reference(then.dtype):
            if isinstance(then, Hole):
                raise TypeError(
                    f"{op.name!r} changes the variable {now.name!r}, and no placeholder can "
                    f"replace a variable; take {live(now).op.name!r} into the view, or "
                    f"{op.name!r} out of it."
                )
            raise ValueError(
                f"{op.name!r} changes the variable {now.name!r} and cannot take {then.name!r}, "
                f"which is none; give a variable, or keep {op.name!r} as it is (cannot_modify)."
            )


def _check_shapes(t0: End, t1: End) -> None:
    if not t0.shape.is_compatible_with(t1.shape):
        raise ValueError(
            f"{_difference_text(t0.name, t0.shape, t1.name, t1.shape)}; reshape one of them "
            "(tf.reshape)."
        )


def _difference_text(name0: str, what0: object, name1: str, what1: object) -> str:
    return f"{name0!r} is {what0} and {name1!r} is {what1}, so neither fits in the other's place"
