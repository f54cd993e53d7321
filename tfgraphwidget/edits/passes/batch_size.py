"""ChangeBatchSize: another first dimension for all inputs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import ConsumerRewriter, is_left_out
from tfgraphwidget.edits.rewrite.insert import set_placeholder_spec
from tfgraphwidget.edits.rewrite.resizing import Resizing
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import HANDLE_DTYPES, REQUIRED_PLACEHOLDERS, Shape
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.sentences import argument_value, editor_call, either

_MOST = 1 << 31


@register
@dataclass(frozen=True)
class ChangeBatchSize(Command):
    """Change the first dimension of all inputs, and the constants that hold the old size.

    Args:
        size: The new batch size; None for any.
        inputs: The placeholders; None for all that have the batch size, which is what most have.

    Returns:
        What was changed, with the constants that held the old size.

    Raises:
        GraphEditError: The size is not a batch size, or an op cannot take what follows.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.passes.change_batch_size(8)
        >>> editor._core.index.shape(editor._core.index.op("net/logits"), 0)
        (8, 3)
    """

    method: ClassVar[str] = "passes.change_batch_size"

    size: int | None
    inputs: kinds.NamesOrAll = ()

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return f"Changed the batch size to {'any' if self.size is None else f'{self.size:,}'}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch of the graph of `context`.

        Raises GraphEditError for what is not a size, and where an op cannot take what follows.
        """
        if self.size is not None and (type(self.size) is not int or not 0 < self.size < _MOST):
            size = value_text(self.size)
            raise GraphEditError(
                argument_value("size", size)
                + f" is not a batch size; give a number from 1 to {_MOST - 1:,}, or None for any."
            )
        if not self.inputs and not is_left_out(self.inputs):
            return nothing_to_do("No inputs are named, so no batch size is changed.")
        index = context.index
        ops, others, parts = _batch_inputs(context, tuple(self.inputs))
        rewriter = ConsumerRewriter(index)
        for op in ops:
            shape, (dtype, *_) = index.shape(op, 0), index.dtypes(op)
            set_placeholder_spec(index, rewriter.node(op), ((self.size, *(shape or ())[1:]), dtype))
        changed = rewriter.changes()
        if not changed:
            present = "any" if self.size is None else self.size
            return nothing_to_do(f"The batch size is {present} already.")
        patch = Patch(changed=changed)
        if others:
            patch = patch.with_notes(
                f"{names_text([index.names[op] for op in others])} stay what they are."
            )
        if parts:
            patch = patch.with_notes(
                f"{names_text([index.names[op] for op in parts])} stay what they are: they are "
                "parts of sparse or ragged inputs, and have no row for each of the batch."
            )
        old = {shape[0] for op in ops if (shape := index.shape(op, 0))}
        sizes = tuple(
            (0, was, self.size) for was in sorted(size for size in old if size is not None)
        )
        patch = Resizing(context, ops[0], sizes, fix=True).run(patch)
        return patch.with_notes(*self._sizes_that_fail(context, sizes))

    def _sizes_that_fail(
        self, context: PlanContext, sizes: tuple[tuple[int, int, int | None], ...]
    ) -> tuple[str, ...]:
        """A sentence where any size is asked for, and another one than before cannot run.

        TensorFlow infers no conflict between an open size and the old one, which a constant such as
        labels may hold: so it is asked about a batch twice as large, which can be split as before.
        """
        if self.size is not None or not sizes:
            return ()
        twice = 2 * sizes[0][1]
        try:
            replace(self, size=twice).plan(context)
        except GraphEditError as error:
            # A variable that has the old size is in a note of its own.
            clause = error.why.clause.partition(". Variable")[0].partition("; choose")[0]
            return (f"A batch of {twice:,} fails when it runs: {clause.removesuffix('.')}.",)
        return ()


def _batch_inputs(
    context: PlanContext, inputs: tuple[str, ...]
) -> tuple[list[int], list[int], list[int]]:
    """The placeholders that have the batch size first, the other ones of known rank, and those that
    are parts of sparse or ragged inputs.
    """
    index = context.index
    if inputs:
        ops = [index.op(split_tensor(name)[0]) for name in inputs]
        bad = next(
            (
                op
                for op in ops
                if index.types[op] not in REQUIRED_PLACEHOLDERS or not index.shape(op, 0)
            ),
            None,
        )
        if bad is not None:
            raise GraphEditError(
                f"change_batch_size: {index.names[bad]!r} is not a placeholder with a first "
                "dimension; " + either("leave it out of inputs=.", "leave inputs empty."),
                [index.names[bad]],
            )
        return ops, [], []
    parts = _parts_of_inputs(context)
    shapes: dict[int, Shape] = {}
    for op, kind in enumerate(index.types):
        if op not in parts and (
            kind in REQUIRED_PLACEHOLDERS
            and index.dtypes(op)[0] not in HANDLE_DTYPES
            and index.shape(op, 0)
        ):
            shapes[op] = index.shape(op, 0)
    if not shapes:
        which = "no input but parts of sparse or ragged ones" if parts else "no input"
        raise GraphEditError(
            f"change_batch_size: {which} has a first dimension; use "
            + editor_call("passes.set_input")
            + "."
        )
    first = Counter((shape or (None,))[0] for shape in shapes.values()).most_common(1)[0][0]
    ops = [op for op, shape in shapes.items() if (shape or (None,))[0] == first]
    return ops, [op for op in shapes if op not in ops], sorted(parts)


def _parts_of_inputs(context: PlanContext) -> set[int]:
    """The placeholders that are parts of sparse or ragged inputs, such as the places and the values
    of a sparse tensor: there are as many of them as there are values.
    """
    index = context.index
    names = {split_tensor(tensor)[0] for tensor in context.composite_parts}
    for name in index.names:
        # As tf.compat.v1.sparse_placeholder names them.
        whole, _, part = name.rpartition("/")
        if part == "indices" and {f"{whole}/values", f"{whole}/shape"} <= index.ids.keys():
            names |= {name, f"{whole}/values", f"{whole}/shape"}
    ops = {index.ids[name] for name in names if name in index.ids}
    return {op for op in ops if index.types[op] in REQUIRED_PLACEHOLDERS}
