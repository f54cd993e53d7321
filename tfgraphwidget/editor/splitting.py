"""Splitting: a graph as several editors that compute, one after another, what it computes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, overload

import numpy as np

from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError, WrongType
from tfgraphwidget.export import (
    DEFAULT,
    describe_difference,
    generate_feeds,
    input_specs,
    largest_difference,
    no_value_for,
)
from tfgraphwidget.graph import (
    CONTROL,
    EXIT,
    HANDLE_DTYPES,
    MERGE,
    REQUIRED_PLACEHOLDERS,
    Conditional,
    GraphIndex,
    Loop,
    Mask,
    Signature,
    consumers_of,
    enclosing_blocks,
    enclosing_ops,
    forward,
    mask_of,
    needed_ops,
    pairs,
    side_effects,
    writes,
)
from tfgraphwidget.naming import count_text, names_text
from tfgraphwidget.sentences import editor_call, either, in_cell


class HasCore(Protocol):
    """An editor, as far as its parts are needed."""

    @property
    def _core(self) -> EditorCore:
        """The parts of the editor."""


E = TypeVar("E", bound=HasCore)
Tensor = tuple[int, int]
Names = tuple[str, ...]
_TOLERANCE = 1e-5  # between the whole graph and its parts, relative


@dataclass(frozen=True)
class PartBoundary:
    """The inputs and outputs of a part, as names of tensors of the whole graph."""

    inputs: Names
    outputs: Names


class Split(Sequence[E], Generic[E]):
    """Editors of the parts of a graph, in the order in which they run.

    Attributes:
        parts: The editors. Each is a graph of its own, with the values of its variables.
        boundaries: The inputs and outputs of each, as tensors of the whole: an input is one of the
            whole, or an output of an earlier part.
        added: Tensors that go from a part to a later one past the cut that was asked for, and are
            cut too.
    """

    def __init__(
        self,
        core: EditorCore,
        outputs: Names,
        boundaries: Sequence[PartBoundary],
        parts: Sequence[E],
        added: Names,
    ):
        self._core, self._outputs = core, outputs
        self.parts, self.boundaries, self.added = tuple(parts), tuple(boundaries), added

    def run(self, feeds: Mapping[str, object]) -> dict[str, np.ndarray]:
        """Run the parts one after another.

        Args:
            feeds: {input of the whole: value}.

        Returns:
            The outputs of the whole, by name.

        Raises:
            GraphEditError: An input is not fed.
            SessionRefused: A part cannot run.
        """
        values = self._feeds_by_name("run", feeds)
        for name in self._free_inputs:
            if name not in values:
                raise GraphEditError(
                    either("run(feeds=…): the input", "The input")
                    + f" {name!r} is not fed; give its value too"
                    + either(f": feeds={{{name!r}: …}}.", "."),
                    [name],
                )
        for part, boundary in zip(self.parts, self.boundaries, strict=True):
            inputs, outputs = _own_boundary(part._core, boundary)
            fed = {own: values[name] for own, name in zip(inputs, boundary.inputs, strict=True)}
            values |= zip(boundary.outputs, _run(part._core, outputs, fed), strict=True)
        return {name: np.asarray(values[name]) for name in self._outputs}

    def check(self, feeds: Mapping[str, object] | None = None) -> float:
        """Run the whole graph and the parts on the same feeds, and compare.

        Args:
            feeds: {input: value}; None for generated values.

        Returns:
            The largest difference of an element of an output.

        Raises:
            GraphEditError: An output differs by more than rounding.
            SessionRefused: The graph or a part cannot run.
        """
        expected, used = self._reference_outputs(feeds)
        results = self.run(used)
        for name, value in expected.items():
            why = describe_difference(value, results[name], _TOLERANCE)
            if why:
                raise GraphEditError(
                    f"check: the parts give something else than the graph does: {name!r} {why}; "
                    "cut elsewhere.",
                    [name],
                )
        return max(
            (largest_difference(value, results[name]) for name, value in expected.items()),
            default=0.0,
        )

    @property
    def _free_inputs(self) -> list[str]:
        """What no part gives: needed inputs of the whole, also those that are outputs of it."""
        part_outputs = {name for boundary in self.boundaries for name in boundary.outputs}
        names = dict.fromkeys(
            [*(name for boundary in self.boundaries for name in boundary.inputs), *self._outputs]
        )
        return [name for name in names if name not in part_outputs]

    def _feeds_by_name(self, method: str, feeds: Mapping[str, object]) -> dict[str, object]:
        """Feeds by the names of tensors; an input's may be that of its op."""
        if not isinstance(feeds, Mapping):
            raise WrongType(
                "feeds",
                either(f"{method}(feeds={feeds!r:.60}): feeds", "Feeds")
                + " are {input: value}, a dict.",
            )
        inputs, named = self._free_inputs, self._core.arguments.feeds
        values: dict[str, object] = {}
        for key, value in feeds.items():
            # The whole may have been edited since: its inputs need not be in it now.
            values |= {key: value} if key in inputs else named({key: value})
        return values

    def _reference_outputs(
        self, feeds: Mapping[str, object] | None
    ) -> tuple[dict[str, np.ndarray], Mapping[str, object]]:
        """The outputs of the whole, and the feeds that they are of."""
        if feeds is not None:
            full = self._feeds_by_name("check", feeds)
            return dict(
                zip(self._outputs, _run(self._core, self._outputs, full), strict=True)
            ), full
        index = self._core.index
        specs = input_specs(index, self._free_inputs)
        if why := no_value_for(specs):
            raise GraphEditError(
                f"check: {why}; cut at a tensor that is read from it.", self._free_inputs
            )
        refusal: GraphEditError | None = None
        for values in generate_feeds(specs):
            try:
                return dict(
                    zip(self._outputs, _run(self._core, self._outputs, values), strict=True)
                ), values
            except GraphEditError as error:  # noqa: PERF203
                refusal = refusal or error
        assert refusal is not None
        raise refusal

    @overload
    def __getitem__(self, at: int) -> E: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[E, ...]: ...
    def __getitem__(self, at: int | slice) -> E | tuple[E, ...]:
        return self.parts[at]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[E]:
        return iter(self.parts)

    def __repr__(self) -> str:
        lines = []
        for number, (part, boundary) in enumerate(zip(self.parts, self.boundaries, strict=True), 1):
            inputs = names_text(boundary.inputs) or "nothing"
            lines.append(
                f"{number}. {inputs} → {names_text(boundary.outputs)}: "
                f"{count_text(len(part._core.index), 'op')}"
            )
        return "\n".join(lines)


def split(
    core: EditorCore, at: Sequence[Names], inputs: Names, outputs: Names, extract: Callable[..., E]
) -> Split[E]:
    """Split the current graph.

    Args:
        core: The parts of the editor.
        at: The cuts, each as names of tensors or ops.
        inputs: The inputs of the whole; () for the placeholders that the outputs need.
        outputs: The outputs of the whole.
        extract: Makes an editor of a part, from its inputs and outputs.

    Raises:
        GraphEditError: A cut is in a loop, or separates an update of a variable from what reads it.
    """
    index = core.index
    plan = _CutPlan(
        index, _tensors(index, inputs), _tensors(index, outputs), core.view.body.constants
    )
    boundaries = plan.parts([_tensors(index, cut) for cut in at])
    parts = [extract(list(each.inputs), list(each.outputs)) for each in boundaries]
    return Split(
        core, tuple(plan.names(plan.outputs)), boundaries, parts, tuple(plan.names(plan.added))
    )


def keys_of(core: EditorCore) -> dict[str, str]:
    """The key of each tensor that a signature or the current function takes or returns.

    Args:
        core: The parts of the editor.
    """
    executor = core.executor
    if executor.boundary is not None:
        return {tensor: key for key, tensor in reversed(executor.inputs_and_outputs[1].items())}
    named = (end for each in executor.signatures for end in (*each.inputs, *each.outputs))
    return {tensor: key for key, tensor in reversed([*named])}


def keep_keys(core: EditorCore, keys: Mapping[str, str]) -> None:
    """Give the graph of a part a signature of its marked inputs and outputs, if some of them have
    keys.

    Args:
        core: The parts of the editor of the part.
        keys: The keys, by the names of the tensors.
    """
    inputs, outputs = core.view.boundary
    if not outputs or keys.keys().isdisjoint((*inputs, *outputs)):
        return
    default = core.arguments.signature_boundary(DEFAULT, inputs, outputs)
    sides = [[(keys.get(tensor, key), tensor) for key, tensor in side] for side in default]
    if all(len(dict(side)) == len(side) for side in sides):
        core.source.signatures = (Signature(DEFAULT, tuple(sides[0]), tuple(sides[1])),)


class _CutPlan:
    """Finds the inputs and outputs of the parts."""

    def __init__(
        self,
        index: GraphIndex,
        inputs: list[Tensor],
        outputs: list[Tensor],
        constants: Collection[str],
    ) -> None:
        """`constants` are arguments to which calls pass constants: no part is fed them."""
        self.index, self.outputs = index, outputs
        self.added: list[Tensor] = []
        self.whole = needed_ops(index, self.names(inputs), self.names(outputs))
        fed = (
            op
            for op in np.flatnonzero(self.whole).tolist()
            if index.types[op] in REQUIRED_PLACEHOLDERS
        )
        placeholders = [op for op in fed if index.names[op] not in constants]
        self.inputs = list(dict.fromkeys([*inputs, *((op, 0) for op in placeholders)]))
        effects = side_effects(index, np.flatnonzero(self.whole).tolist())
        starts = [*consumers_of(index, self.inputs).tolist(), *effects]
        # What a later part must not compute again.
        self._depends = self.whole & forward(index, starts)

    def names(self, tensors: Iterable[Tensor]) -> list[str]:
        """The names of tensors."""
        return [f"{self.index.names[op]}:{port}" for op, port in tensors]

    def parts(self, cuts: Sequence[list[Tensor]]) -> list[PartBoundary]:
        """The inputs and outputs of the parts."""
        available = list(self.inputs)
        earlier: Mask = np.zeros(len(self.index), bool)
        parts, masks = [], []
        for cut in [*cuts, self.outputs]:
            need = needed_ops(self.index, self.names(available), self.names(cut))
            is_last = cut is self.outputs
            if not is_last:
                self._check_cut(cut, earlier)
            until = earlier | need
            until |= (
                mask_of(self.index, enclosing_ops(self.index, np.flatnonzero(until).tolist()))
                & self.whole
            )
            crossing = [] if is_last else self._crossing(until, available, cut)
            if is_last:
                early = []
            else:
                early = [
                    t for t in self.outputs if until[t[0]] and t not in available and t not in cut
                ]
            self.added += crossing
            outputs = list(dict.fromkeys([*cut, *crossing, *early]))
            outputs = [tensor for tensor in outputs if tensor not in available]
            mask = needed_ops(self.index, self.names(available), self.names(outputs))
            inputs = [t for t in available if mask[consumers_of(self.index, [t])].any()]
            parts.append(PartBoundary(tuple(self.names(inputs)), tuple(self.names(outputs))))
            masks.append(mask)
            available += outputs
            earlier = until
        self._check_updates(masks)
        return [part for part in parts if part.outputs]

    def _check_cut(self, cut: Sequence[Tensor], earlier: Mask) -> None:
        for op, port in cut:
            (name,) = self.names([(op, port)])
            is_read = self.whole[consumers_of(self.index, [(op, port)])].any()
            if not self.whole[op] or not is_read or earlier[op] or (op, port) in self.inputs:
                raise GraphEditError(
                    either(f"split(at={name!r}): the tensor", f"Tensor {name!r}")
                    + " is not between the inputs and the outputs; "
                    + in_cell("editor.between(inputs, outputs) shows what is."),
                    [self.index.names[op]],
                )
            self._check_tensor((op, port))

    def _check_tensor(self, tensor: Tensor) -> None:
        """Raise GraphEditError for a tensor inside of a loop, and for a handle."""
        op, port = tensor
        name = self.index.names[op]
        blocks = enclosing_blocks(self.index, op)
        if blocks and _is_result(self.index, op, blocks[0]):
            blocks = blocks[1:]
        if blocks:
            kind = "while loop" if isinstance(blocks[0], Loop) else "conditional"
            raise GraphEditError(
                either("split(at=...): tensor", "Tensor")
                + f" '{name}:{port}' is in {kind} {blocks[0].name!r}, which runs as a whole; cut "
                "before or after it.",
                [name],
                code="cut-in-loop",
            )
        dtype = self.index.dtypes(op)[port]
        if dtype.removesuffix("_ref") in HANDLE_DTYPES or dtype.endswith("_ref"):
            raise GraphEditError(
                either("split(at=...): tensor", "Tensor")
                + f" '{name}:{port}' is a handle ({dtype}), which no other graph can take; cut "
                "where values go from "
                "one part to the next.",
                [name],
                code="cut-at-handle",
            )

    def _crossing(
        self, until: Mask, available: Sequence[Tensor], cut: Sequence[Tensor]
    ) -> list[Tensor]:
        """Tensors of this part, or of an earlier one, that later ops read past the cut."""
        crossing: dict[Tensor, None] = {}
        index = self.index
        for op in np.flatnonzero(self.whole & ~until).tolist():
            for source, port in index.input_tensors(op):
                if port != CONTROL and until[source] and self._depends[source]:
                    crossing.setdefault((source, port))
        past = [tensor for tensor in crossing if tensor not in available and tensor not in cut]
        for tensor in past:
            self._check_tensor(tensor)
        return past

    def _check_updates(self, masks: Sequence[Mask]) -> None:
        """Raise GraphEditError where one part updates a variable that another part has too."""
        index = self.index
        for op in np.flatnonzero(writes(index, np.flatnonzero(self.whole).tolist())).tolist():
            handles = [
                source
                for source in index.input_lists[op]
                if set(index.dtypes(source)) & {"resource"}
            ]
            handles += [
                s for s in index.input_lists[op] if any(d.endswith("_ref") for d in index.dtypes(s))
            ]
            for handle in handles:
                if sum(bool(mask[handle]) for mask in masks) > 1:
                    name, variable = index.names[op], index.names[handle]
                    raise GraphEditError(
                        either("split(at=...): ", "")
                        + f"{name!r} updates {variable!r} in one part, and another part reads it; "
                        "each would have a "
                        "copy of its own. Cut elsewhere, or freeze it first: "
                        + editor_call("freeze", "outputs")
                        + ".",
                        [name, variable],
                        code="cut-at-update",
                    )


def _is_result(index: GraphIndex, op: int, block: Loop | Conditional) -> bool:
    """Whether an op gives what a loop or conditional comes to."""
    return index.types[op] in EXIT if isinstance(block, Loop) else index.types[op] in MERGE


def _tensors(index: GraphIndex, names: Iterable[str]) -> list[Tensor]:
    return [(int(op), int(port)) for op, port in pairs(index, list(names))]


def _tensor(index: GraphIndex, name: str) -> str:
    """The full name of a tensor."""
    op, port = pairs(index, [name])[0]
    return f"{index.names[op]}:{port}"


def _own_boundary(core: EditorCore, boundary: PartBoundary) -> tuple[Sequence[str], Sequence[str]]:
    """The inputs and outputs of a part, by the names that they have in its own graph."""
    if core.executor.boundary is None:
        return boundary.inputs, boundary.outputs
    arguments, results = core.executor.inputs_and_outputs
    return [_tensor(core.index, name) for name in arguments], [*results.values()]


def _run(core: EditorCore, outputs: Sequence[str], feeds: Mapping[str, object]) -> list[np.ndarray]:
    """The values of tensors of the current graph of an editor; its session is not touched."""
    run = core.evaluator.current_run()
    run.check_fed(outputs, feeds)
    return [np.asarray(value) for value in run.run(outputs, feeds, run.values(outputs, feeds, {}))]
