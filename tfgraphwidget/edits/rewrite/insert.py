"""Insert: put a function between a tensor and its consumers.

At a placeholder a `spec` puts the function before the input: what is fed is then of that dtype and
shape, and the function makes of it what the graph reads, as a decoder of images does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext, TracedFunction
from tfgraphwidget.edits.patch import Patch, Report, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire.carried_gradients import CARRIED, can_be_carried, gradient_path
from tfgraphwidget.edits.rewire.gradients import is_gradient_name
from tfgraphwidget.edits.rewire.operands import Ops, part_text
from tfgraphwidget.edits.rewire.stale_gradients import BackwardOps, stale_gradient_notes
from tfgraphwidget.edits.rewrite.consumers import (
    ConsumerRewriter,
    Tensor,
    check_dtype,
    check_skeleton,
    is_left_out,
    tensor,
    tensor_consumers,
    tensor_name,
)
from tfgraphwidget.edits.rewrite.gradient_grafts import GradientGrafts
from tfgraphwidget.edits.rewrite.graft import graft_function
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, Shape, is_placeholder, write_shape
from tfgraphwidget.naming import count_text
from tfgraphwidget.sentences import drawn_shape, in_cell
from tfgraphwidget.tf_types import NodeDef, OpsLike, TensorsLike, TensorSpec, is_keras_model

# A placeholder takes another dtype or shape in place, since users feed it by name. A live graph
# cannot change its dtype; there a new placeholder replaces it (see `edits.op_replacement`).

Spec = tuple[Shape, str]
"""Static shape and dtype."""


def set_placeholder_spec(index: GraphIndex, node: NodeDef, spec: Spec) -> None:
    """Set the shape and dtype of a copy of a placeholder's NodeDef. Raises GraphEditError for an op
    that is none, and a dtype that cannot be fed.
    """
    shape, dtype = spec
    number = index.typing.number(dtype)
    if not is_placeholder(node.op) or len(node.input):
        raise GraphEditError(
            f"Op {node.name!r} is a {node.op}, and no placeholder that is fed; name a placeholder.",
            [node.name],
        )
    if not number or dtype.endswith("_ref"):
        raise GraphEditError(
            f"{dtype!r} is not a dtype that can be fed; give one as 'float32' or tf.uint8."
        )
    node.attr["dtype"].type = number
    write_shape(node.attr["shape"].shape, shape)
    if "_output_shapes" in node.attr:
        del node.attr["_output_shapes"]


def check_other_consumers(
    index: GraphIndex, placeholder: Tensor, spec: Spec, remaining: Iterable[int]
) -> None:
    """Raise GraphEditError for an op that keeps reading a placeholder whose spec changes."""
    op, port = placeholder
    if spec == (index.shape(op, port), index.dtypes(op)[port]):
        return
    for consumer in sorted(remaining):
        names = [index.names[consumer], index.names[op]]
        raise GraphEditError(
            f"Op {names[0]!r} would go on reading {names[1]!r}, which is to be {spec[1]} "
            + drawn_shape(spec[0])
            + "; "
            + in_cell("leave out only= and never=."),
            names,
        )


@register
@dataclass(frozen=True)
class Insert(Command):
    """Insert a function between a tensor and its consumers: `editor.insert("conv1/Relu:0",
    tf.math.l2_normalize)`.

    In a graph that trains, the gradients go through the function where that can be; else the result
    says which gradients stay as they were.

    Args:
        at: The tensor, or an op, name scope or selection with one output.
        function: A Python function of a tensor, called on a placeholder in a separate graph, and
            once more for its gradient where the graph trains; or an op type of TensorFlow
            ("Identity", "Cast", "LeakyRelu"). A function without an output tensor (tf.print) runs
            before the tensor is read.
        into: The name scope of the new ops, in place of `name`.
        name: The name of the new op ("net/act"), or of the name scope of several; None for that of
            the function, in the scope of the op that they follow.
        only: The consumers that are changed: ops, name scopes, a selection; None for all.
        never: The consumers that are not changed.
        spec: At a placeholder: a tf.TensorSpec of what is fed from then on; the function goes
            before the input.
        attributes: Attributes of the op type, or keyword arguments of the function, by name.
        options: The same as `attributes`.
        more: The same as `attributes`: `editor.insert("x:0", "Cast", dtype=tf.float16)`.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The function fails, or its output does not fit the consumers.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> editor.insert("net/hidden/Relu:0", tf.math.l2_normalize, into="unit").notes
        ('The gradients go through it, too.',)
        >>> editor.path("net/hidden/Relu", "net/logits").ops
        ('net/hidden/Relu', 'net/logits', 'unit/l2_normalize')
    """

    at: str
    function: kinds.Function
    into: str = ""
    _: KW_ONLY
    only: Ops = ()
    never: Ops = ()
    spec: Spec | None = None
    options: kinds.Attributes = ()
    name: str = ""

    @classmethod
    def from_call(
        cls,
        resolver: kinds.Resolver,
        /,
        at: TensorsLike,
        function: object,
        into: str | None = None,
        *,
        only: OpsLike | None = None,
        never: OpsLike | None = None,
        name: str | None = None,
        spec: TensorSpec | None = None,
        attributes: Mapping[str, object] | None = None,
        options: Mapping[str, object] | None = None,
        **more: object,
    ) -> Command:
        """The command of a call, whose further keywords are attributes of the op type."""
        tensor = resolver.output(at)
        free = name is None and into is None
        return cls(
            tensor,
            function,
            into or "",
            only=kinds.consumers_or_all(resolver, only),
            never=() if never is None else resolver.consumers(never),
            spec=None if spec is None else resolver.tensor_spec(spec),
            options=kinds.attribute_pairs(resolver, options, attributes, more),
            name=resolver.free_name_for(function, [tensor]) if free else kinds.one_name(name, into),
        )

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        consumers = f", for {subject_text(self.only)}" if self.only else ""
        return f"Inserted {subject_text(self.function)} after {self.at}{consumers}"

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Name it {self.name!r}" if self.name else ""

    def plan(self, context: PlanContext) -> Patch:
        """The patch. Raises NameTaken, or GraphEditError if consumers cannot read the result."""
        traced = self._trace(context)
        index = context.index
        at = tensor(index, self.at)
        if len(traced.outputs) != 1:
            raise GraphEditError(
                f"The function gives {count_text(len(traced.outputs), 'tensor')} for {self.at!r}; "
                "let it give one."
            )
        if not self.only and not is_left_out(self.only):
            return nothing_to_do(
                part_text(self.only) + f" holds no ops, so no consumer of {self.at!r} is changed."
            )
        reading = tensor_consumers(index, at, self.only, self.never)
        check_skeleton(index, reading, at)
        rewriter = ConsumerRewriter(index)
        if self.spec is not None:
            set_placeholder_spec(index, rewriter.node(at[0]), self.spec)
            check_other_consumers(
                index, at, self.spec, set(tensor_consumers(index, at)) - set(reading)
            )
        graft = graft_function(traced, index, [tensor_name(index, at)], self.into, name=self.name)
        check_dtype(index, reading, at, graft.outputs[0], traced.dtype(0))
        for consumer in reading:
            rewriter.redirect(consumer, at, graft.outputs[0])
        is_result = not self.only and not is_placeholder(index.types[at[0]])
        patch = Patch(
            add=graft.change,
            scopes=(self.name or self.into,),
            changed=rewriter.changes(),
            report=Report(graft.notes),
            traced=graft.traced,
            output_renames=((tensor_name(index, at), graft.outputs[0]),) if is_result else (),
        )
        # A layer that does something only in training is one of its Keras model from then on.
        if not (patch.add.nodes or patch.changed or is_keras_model(self.function)):
            what = subject_text(self.function)
            return nothing_to_do(f"{what} makes no op of {self.at!r}, so there is none to insert.")
        if not stale_gradient_notes(index, patch, context.new_names):
            return patch
        return self._with_gradients(context, patch, at, traced, graft.outputs[0]) or patch

    def _with_gradients(
        self, context: PlanContext, patch: Patch, at: Tensor, traced: TracedFunction, new: str
    ) -> Patch | None:
        """The patch with the gradients of the path going through the function; None where they
        cannot be carried.
        """
        index = context.index
        if self.only or self.never or self.spec is not None or not can_be_carried(traced):
            return None
        path = gradient_path(BackwardOps(index, context.new_names), at)
        if path is None:
            return None
        new_names = {node.name.lower() for node in patch.add.nodes}
        grafts = GradientGrafts(context, index, new_names)
        gradient = grafts.trace(self.function, [at], at, [0], self.options)
        if gradient is None:
            return None
        rewriter = ConsumerRewriter(index)
        for consumer in tensor_consumers(index, at):
            if consumer in path.value_consumers or not is_gradient_name(index.names[consumer]):
                rewriter.redirect(consumer, at, new)
        for arriving in path.arriving:
            (leaving,) = grafts.add(gradient, [at], arriving.tensor, patch.scopes[0])
            for consumer in arriving.consumers:
                rewriter.redirect(consumer, arriving.tensor, leaving)
        return replace(
            patch,
            add=replace(patch.add, nodes=(*patch.add.nodes, *grafts.nodes)),
            scopes=(*patch.scopes, *grafts.scopes),
            changed=rewriter.changes(),
            report=patch.with_notes(CARRIED).report,
            traces=((patch.scopes[0], patch.traced), *grafts.traces),
            carries_gradients=True,
        )

    def _trace(self, context: PlanContext) -> TracedFunction:
        """Call the function on a placeholder that is like the tensor."""
        index = context.index
        op, port = tensor(index, self.at)
        shape, dtype = (
            (index.shape(op, port), index.dtypes(op)[port]) if self.spec is None else self.spec
        )
        return context.trace(self.function, [(dtype, shape)], self.options)
