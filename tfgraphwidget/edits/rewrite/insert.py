"""Insert: a function goes between a tensor and those who read it.

At a placeholder a `spec` puts the function before the input: what is fed is then of that dtype and shape, and the
function makes of it what the graph reads, as a decoder of images does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.rewire.operands import Ops
from tfgraphwidget.edits.rewrite.consumers import (
    Leading,
    Tensor,
    check_dtype,
    check_skeleton,
    readers,
    tensor,
    tensor_name,
)
from tfgraphwidget.edits.rewrite.graft import Made, grafted
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.tensors import Shape, shape_text
from tfgraphwidget.graph.variables import is_placeholder

# Placeholders that are to take another dtype or shape.  Its name is what people feed, so a placeholder is changed
# in place. Only a live graph takes no other dtype for one; a new placeholder takes its place there (see
# `exchanged`).

Spec = tuple[Shape, str]
"""Static shape and dtype."""


def respecify(index: GraphIndex, node: Any, spec: Spec) -> None:
    """Let the NodeDef of a placeholder, a copy, say another shape and dtype.

    Raises GraphEditError for what is no placeholder, or for a dtype that there is not.
    """
    shape, dtype = spec
    number = index.typing.number(dtype)
    if not is_placeholder(node.op) or len(node.input):
        raise GraphEditError(
            f"Op {node.name!r} is a {node.op}, and no placeholder that is fed; name a placeholder.", [node.name]
        )
    if not number or dtype.endswith("_ref"):
        raise GraphEditError(f"{dtype!r} is no dtype that can be fed; give one as 'float32' or tf.uint8.")
    node.attr["dtype"].type = number
    node.attr["shape"].shape.Clear()
    if shape is None:
        node.attr["shape"].shape.unknown_rank = True
    else:
        node.attr["shape"].shape.SetInParent()
        for size in shape:
            node.attr["shape"].shape.dim.add(size=-1 if size is None else size)
    if "_output_shapes" in node.attr:
        del node.attr["_output_shapes"]


def check_left(index: GraphIndex, placeholder: Tensor, spec: Spec, left: Iterable[int]) -> None:
    """Raise when an op would go on reading a placeholder, and cannot for its new dtype or shape."""
    op, port = placeholder
    if spec == (index.shape(op, port), index.dtypes(op)[port]):
        return
    for reader in sorted(left):
        names = [index.names[reader], index.names[op]]
        raise GraphEditError(
            f"Op {names[0]!r} would go on reading {names[1]!r}, which is to be {spec[1]} {shape_text(spec[0])}; leave "
            "out only= and never=.",
            names,
        )


@dataclass(frozen=True)
class Insert:
    """Let those who read the tensor `at` read what `function` gives for it, a Python function or an op type.

    What it makes lies in the scope `into`. `only` and `never` name ops and scopes among the readers, `options` are
    keyword arguments of the function. `spec`, (shape, dtype), is what a placeholder `at` is to take from now on. `made`
    is what the function made.
    """

    at: str
    function: Any = field(metadata={"spoken": True})
    into: str
    only: Ops = ()
    never: Ops = ()
    spec: Spec | None = None
    options: tuple[tuple[str, Any], ...] = field(default=(), metadata={"pairs": True})
    made: Made | None = field(default=None, compare=False, repr=False, metadata={"aside": True})

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:  # noqa: ARG002
        """The patch. Raises NameTaken, or GraphEditError when readers cannot read what the function gives."""
        made, at = whole(self.made), tensor(index, self.at)
        if len(made.outputs) != 1:
            raise GraphEditError(f"The function gives {len(made.outputs)} tensors for {self.at!r}; let it give one.")
        reading = readers(index, at, self.only, self.never)
        check_skeleton(index, reading, at)
        leading = Leading(index)
        if self.spec is not None:
            respecify(index, leading.node(at[0]), self.spec)
            check_left(index, at, self.spec, set(readers(index, at)) - set(reading))
        graft = grafted(made, index, [tensor_name(index, at)], self.into)
        check_dtype(index, reading, at, graft.outputs[0], made.dtype(0))
        for reader in reading:
            leading.lead(reader, at, graft.outputs[0])
        is_result = not self.only and not is_placeholder(index.types[at[0]])
        return Patch(
            add=graft.change,
            scopes=(self.into,),
            changed=leading.edited(),
            notes=graft.notes,
            given=((tensor_name(index, at), graft.outputs[0]),) if is_result else (),
        )


def whole(made: Made | None) -> Made:
    """What a function made, which only a graph editor can find out."""
    if made is None:
        raise GraphEditError("The function was not called yet; hand this command to editor.edit, which does it.")
    return made
