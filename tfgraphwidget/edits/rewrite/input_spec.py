"""SetInput: change the dtype or shape of a placeholder, and the constants that hold its old sizes.

Its name stays, since that is what people feed. What follows from its shape is found by
`rewrite.resizing`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, ClassVar, Literal

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, brief_value
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Change, Patch, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import ConsumerRewriter, tensor, tensor_consumers
from tfgraphwidget.edits.rewrite.insert import Spec, set_placeholder_spec
from tfgraphwidget.edits.rewrite.resizing import Resizing
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, Shape, shape_text
from tfgraphwidget.naming import free_name
from tfgraphwidget.tf_types import DTypeLike, NodeDef, TensorLike

_SAME: Literal["same"] = "same"


@register
@dataclass(frozen=True)
class SetInput(Command):
    """Change the shape or dtype of a placeholder: `editor.passes.set_input("x:0",
    tf.TensorSpec([None, 320, 3]))`.

    The placeholder keeps its name, except that another dtype in a live graph needs a new
    placeholder.

    Args:
        tensor: The placeholder.
        spec: A tf.TensorSpec, a shape or a dtype; or use `shape` and `dtype`.
        shape: The new shape; `tf.TensorShape(None)` for an unknown rank.
        dtype: The new dtype.
        fix: Rewrite constants that contain the old size, as the shape of a Reshape may. Without it,
            `constants` of the result lists them.
        adapter: "Cast" casts another dtype back for the consumers.

    Returns:
        What was changed, with the new shapes.

    Raises:
        GraphEditError: A consumer cannot take the new shape or dtype.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.passes.set_input("x:0", [16, 4])
        >>> editor.ops(dtype="float*", shape=[16, 3]).ops[0]
        'net/logits'
    """

    method: ClassVar[str] = "passes.set_input"

    tensor: str
    _: KW_ONLY
    shape: Annotated[Shape | Literal["same"], kinds.Operand(none_text="tf.TensorShape(None)")] = (
        _SAME
    )
    dtype: str = ""
    fix: bool = False
    adapter: Literal["", "Cast"] = ""

    @classmethod
    def from_call(
        cls,
        resolver: kinds.Resolver,
        /,
        tensor: TensorLike,
        spec: object = None,
        *,
        shape: object = None,
        dtype: DTypeLike | None = None,
        fix: bool = False,
        adapter: Literal["", "Cast"] = "",
    ) -> Command:
        """The command of a call, which may take shape and dtype from a tf.TensorSpec or array."""
        size = _SAME if shape is None else shape
        new_shape, new_dtype = resolver.shape_and_dtype(spec, size, "" if dtype is None else dtype)
        return cls(
            resolver.tensor(tensor), shape=new_shape, dtype=new_dtype, fix=fix, adapter=adapter
        )

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        shape = "" if self.shape == _SAME else f"shape {brief_value(self.shape)}"
        changes = " and ".join(filter(None, [shape, f"dtype {self.dtype}" if self.dtype else ""]))
        return f"Changed {self.tensor} to {changes or 'an input'}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch, with the `constants` that hold an old size.

        Raises GraphEditError for what is not a placeholder, and where an op cannot take what
        follows.
        """
        index = context.index
        op, _ = tensor(index, self.tensor)
        old: Spec = index.shape(op, 0), index.dtypes(op)[0]
        spec: Spec = old[0] if self.shape == _SAME else self.shape, self.dtype or old[1]
        rewriter = ConsumerRewriter(index)
        set_placeholder_spec(index, rewriter.node(op), spec)
        if spec == old:
            return nothing_to_do(f"{index.names[op]!r} is {spec[1]} {shape_text(spec[0])} already.")
        cast = self._cast(index, op, (old[1], spec[1]), rewriter)
        patch = Patch(Change(nodes=cast), changed=rewriter.changes())
        if old[0] is None:
            return patch
        fixes = () if self.fix else (replace(self, fix=True),)
        return Resizing(context, op, _sizes(old[0], spec[0]), self.fix, fixes).run(patch)

    def fix_label(self) -> str:
        """A few words for a button."""
        if self.adapter:
            return "Insert a Cast"
        if self.fix:
            return "Change the shape, and the constants too"
        return ""

    def _cast(
        self, index: GraphIndex, op: int, dtypes: tuple[str, str], rewriter: ConsumerRewriter
    ) -> tuple[NodeDef, ...]:
        """A Cast from a placeholder's new dtype to the old one; none where they are equal."""
        name, reading, (old, new) = index.names[op], tensor_consumers(index, (op, 0)), dtypes
        if old == new or not reading:
            return ()
        if self.adapter != "Cast":
            first = index.names[reading[0]]
            raise GraphEditError(
                f"Op {first!r} reads {name!r} as {old}, and it is to be {new}; keep the dtype.",
                [first, name],
                [replace(self, adapter="Cast")],
            )
        names_in_use = index.used_names()
        node = type(index.nodes[op])(
            name=free_name(f"{name}/Cast", names_in_use), op="Cast", input=[name]
        )
        node.attr["SrcT"].type, node.attr["DstT"].type = map(index.typing.number, (new, old))
        node.attr["Truncate"].b = False
        for consumer in reading:
            rewriter.redirect(consumer, (op, 0), f"{node.name}:0")
        return (node,)


def _sizes(old: Shape, new: Shape) -> tuple[tuple[int, int, int | None], ...]:
    """(position, old size, new size) of each dimension that was known and is another."""
    now = new if new is not None and len(new) == len(old or ()) else (None,) * len(old or ())
    pairs = enumerate(zip(old or (), now, strict=True))
    return tuple((k, was, size) for k, (was, size) in pairs if was is not None and was != size)
