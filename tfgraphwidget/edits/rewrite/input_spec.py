"""ReplaceInput: change the dtype or shape of a placeholder, and the constants that hold its old sizes.

Its name stays, since that is what people feed. Which static shapes follow is asked of TensorFlow (`infer`); where
constants still hold an old size (`sizes`) they are listed, or rewritten: by the new number, by -1 where a Reshape or a
Slice takes one, else by the size that the input has when the graph runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tfgraphwidget.edits.command import Command, brief_value
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Change, Patch, StaleConstant, apply_patch
from tfgraphwidget.edits.registry import EditButton, FormField, register
from tfgraphwidget.edits.rewire.edge_moves import Tensor
from tfgraphwidget.edits.rewrite.consumers import ConsumerRewriter, readers, tensor
from tfgraphwidget.edits.rewrite.insert import Spec, set_placeholder_spec
from tfgraphwidget.edits.rewrite.shape_constants import SizeRewriter
from tfgraphwidget.edits.rewrite.stale_shapes import ShapeChanges, stale_constants
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import PLACEHOLDERS, GraphIndex, Shape, shape_text, traversal
from tfgraphwidget.naming import free_name, names_text, split_input
from tfgraphwidget.tf_types import NodeDef

Infer = Callable[[GraphIndex, Patch], Patch]
_SAME: Literal["same"] = "same"
_ROUNDS = 50


@register(
    button=EditButton(
        "Replace input",
        "Change the shape or dtype",
        on="op",
        order=70,
        types=tuple(sorted(PLACEHOLDERS)),
        output=True,
        fields=(
            FormField("shape", "Shape", known="shape", python=True, optional=True),
            FormField("dtype", "Dtype", known="dtype", optional=True),
        ),
    )
)
@dataclass(frozen=True)
class ReplaceInput(Command):
    """Change the static shape or the dtype of a placeholder.

    Attributes:
        tensor: The placeholder's output.
        shape: The new static shape; "same" to keep it.
        dtype: The new dtype; "" to keep it.
        fix: Whether constants that hold an old size are rewritten.
        mend: "Cast" for consumers that read the old dtype through a Cast.
    """

    tensor: str
    shape: Shape | Literal["same"] = _SAME
    dtype: str = ""
    fix: bool = False
    mend: Literal["", "Cast"] = ""

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        shape = "" if self.shape == _SAME else f"shape {brief_value(self.shape)}"
        changes = " and ".join(filter(None, [shape, f"dtype {self.dtype}" if self.dtype else ""]))
        return f"Changed {self.tensor} to {changes or 'an input'}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch, with the `constants` that hold an old size.

        Raises GraphEditError for what is no placeholder, and where an op cannot take what follows.

        Args:
            context: The graph that the edit is planned on.
        """
        index = context.index
        op, _ = tensor(index, self.tensor)
        old: Spec = index.shape(op, 0), index.dtypes(op)[0]
        spec: Spec = old[0] if self.shape == _SAME else self.shape, self.dtype or old[1]
        rewriter = ConsumerRewriter(index)
        set_placeholder_spec(index, rewriter.node(op), spec)
        cast = self._cast(index, op, (old[1], spec[1]), rewriter)
        patch = Patch(
            Change(nodes=cast), changed=rewriter.require_changes(f"is {spec[1]} {shape_text(spec[0])}", index.names[op])
        )
        if old[0] is None:
            return patch
        mends = () if self.fix else (replace(self, fix=True),)
        return Resizing(context.infer_shapes, index, op, _sizes(old[0], spec[0]), self.fix, mends).run(patch)

    def fix_label(self) -> str:
        """A few words for a button."""
        return "Insert a Cast" if self.mend else "Rewrite the constants too" if self.fix else ""

    def _cast(
        self, index: GraphIndex, op: int, dtypes: tuple[str, str], rewriter: ConsumerRewriter
    ) -> tuple[NodeDef, ...]:
        """A Cast from the new dtype of the placeholder to the old one, for its readers; none where that is the same."""
        name, reading, (old, new) = index.names[op], readers(index, (op, 0)), dtypes
        if old == new or not reading:
            return ()
        if self.mend != "Cast":
            first = index.names[reading[0]]
            raise GraphEditError(
                f"Op {first!r} reads {name!r} as {old}, and it is to be {new}; keep the dtype.",
                [first, name],
                [replace(self, mend="Cast")],
            )
        names_in_use = index.used_names()
        node = type(index.nodes[op])(name=free_name(f"{name}/Cast", names_in_use), op="Cast", input=[name])
        node.attr["SrcT"].type, node.attr["DstT"].type = map(index.typing.number, (new, old))
        node.attr["Truncate"].b = False
        for reader in reading:
            rewriter.redirect(reader, (op, 0), f"{node.name}:0")
        return (node,)


def _sizes(old: Shape, new: Shape) -> tuple[tuple[int, int, int | None], ...]:
    """(position, old size, new size) of each dimension that was known and is another."""
    now = new if new is not None and len(new) == len(old or ()) else (None,) * len(old or ())
    pairs = enumerate(zip(old or (), now, strict=True))
    return tuple((k, was, size) for k, (was, size) in pairs if was is not None and was != size)


@dataclass(frozen=True)
class Resizing:
    """Finds the constants that follow new shapes, round by round: what one is rewritten to tells more shapes.

    Attributes:
        infer: Infers static shapes.
        index: The graph.
        op: The placeholder; of several one whose size stands for those of all.
        sizes: (position, old size, new size) of each dimension that was known and is another.
        fix: Whether constants that hold an old size are rewritten.
        mends: What to suggest where an op refuses the new shapes.
    """

    infer: Infer
    index: GraphIndex
    op: int
    sizes: tuple[tuple[int, int, int | None], ...]
    fix: bool
    mends: tuple[Command, ...] = ()

    def run(self, patch: Patch) -> Patch:
        """The patch with the constants, rewritten if that was asked for."""
        stale: dict[StaleConstant, None] = {}
        fixed: dict[StaleConstant, None] = {}
        for _ in range(_ROUNDS):
            shapes, refusal = self._shapes(patch)
            changes = ShapeChanges(shapes, self.index.names[self.op], self.sizes)
            new = [one for one in stale_constants(self._after(patch), changes) if one not in stale]
            stale |= dict.fromkeys(new)
            mending = [one for one in new if one.proposed is not None] if self.fix else []
            if not mending:
                break
            fixed |= dict.fromkeys(mending)
            patch = SizeRewriter(self.index, self.op, patch).rewrite(mending)
        unresolved = tuple(one for one in stale if one not in fixed)
        if refusal is not None:
            raise self._explain_refusal(refusal, unresolved)
        return replace(patch, constants=tuple(stale), notes=(*patch.notes, *_notes(unresolved, fixed)))

    def _after(self, patch: Patch) -> GraphIndex:
        """The graph after the patch, with the static shapes of before."""
        return apply_patch(self.index, replace(patch, shapes=()))

    def _shapes(self, patch: Patch) -> tuple[dict[Tensor, tuple[Shape, Shape]], GraphEditError | None]:
        """Static shapes before and after, by op number in the graph after; as far as no op refuses what it is given."""
        index, refusal = self.index, None
        try:
            patch_shapes = self.infer(index, patch)
        except GraphEditError as error:
            refusal, patch_shapes = error, self._up_to(error, patch)
        ids = self._after(patch).ids
        shapes: dict[Tensor, tuple[Shape, Shape]] = {
            (ids[s.op], s.port): (s.before, s.after)
            for s in patch_shapes.shapes
            if s.op in ids and s.before is not None
        }
        return shapes, refusal

    def _up_to(self, refusal: GraphEditError, patch: Patch) -> Patch:
        """The shapes that are inferred without the ops that refuse them."""
        index = self.index
        while refusal.ops and refusal.ops[0] in index.ids:
            unreachable = traversal.forward(index, [index.ids[refusal.ops[0]]])
            index = index.without(frozenset(index.names[i] for i in np.flatnonzero(unreachable).tolist()))
            remaining = index.ids.keys() | {node.name for node in patch.add.nodes}
            changed = tuple(edited for edited in patch.changed if edited.name in index.ids)
            nodes = tuple(n for n in patch.add.nodes if all(split_input(text)[0] in remaining for text in n.input))
            patch = replace(patch, add=Change(nodes=nodes), changed=changed)
            try:
                return self.infer(index, patch)
            except GraphEditError as error:
                refusal = error
        return Patch()

    def _explain_refusal(self, refusal: GraphEditError, unresolved: tuple[StaleConstant, ...]) -> GraphEditError:
        """The refusal, which names constants that hold an old size."""
        if not unresolved:
            return refusal
        names = names_text(list(dict.fromkeys(one.op for one in unresolved)))
        way = "fix=True rewrites what can be" if self.mends else "can be rewritten by editor.set_constant"
        return GraphEditError(
            f"{refusal.why.rstrip('.').partition('; choose')[0]}; {names} still "
            f"{'hold' if ' and ' in names else 'holds'} the old size; {way}.",
            (*dict.fromkeys(one.op for one in unresolved), *refusal.ops),
            self.mends,
        )


def _notes(unresolved: Iterable[StaleConstant], fixed: Mapping[StaleConstant, None]) -> Iterable[str]:
    for one in unresolved:
        way = (
            f"make it {_value_text(one.proposed)}"
            if one.proposed is not None
            else "it is not known what it should hold"
        )
        yield f"{one.op!r} still holds the old size, {_value_text(one.value)}, for {one.reader!r}; {way}."
    for one in fixed:
        yield (
            f"{one.op!r} held the old size, {_value_text(one.value)}, for {one.reader!r}, "
            f"and is {_value_text(one.proposed)} now."
        )


def _value_text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)
