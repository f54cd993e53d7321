"""Transformer: a view goes in, handlers say what becomes of each op and tensor, a new view comes
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.graph import ENTER, MERGE, no_collections
from tfgraphwidget.graph_editor.copying_ops import Copier
from tfgraphwidget.graph_editor.handlers import (
    assign_renamed_collections_handler,
    copy_op_handler,
    keep_t_if_possible_handler,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
)
from tfgraphwidget.graph_editor.lists import check_type, unique, value_of
from tfgraphwidget.graph_editor.live_ops import all_or_nothing, read
from tfgraphwidget.graph_editor.placeholders import (
    check_scope,
    make_placeholder_from_tensor,
    scope_finalize,
)
from tfgraphwidget.graph_editor.subgraph import SubGraphView, make_view
from tfgraphwidget.graph_editor.transforming import (
    CopySettings,
    TensorMap,
    TransformerInfo,
    Transforming,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    add_control_inputs,
    forward_operation,
    is_reference,
    operation_number,
    set_forward_operation,
    update_input,
)
from tfgraphwidget.tf_types import Graph, Operation, Tensor, Variable


class Transformer(ArgumentChecks, refusal=TypeError):
    """Transforms a view into another; by default copies it, with placeholders for its inputs.

    Its attributes are handlers, which may be exchanged. Each gets an `info` that knows the view
    (`sgv`, `ops`), both graphs and scopes (`graph`, `scope`; `graph_`, `scope_` of the result),
    what is done so far (`transformed_ops`, `transformed_ts`), and `new_name`.

    * `transform_op_handler(info, op, new_inputs)` gives (op, its outputs). With `copy_op_handler`,
      or a `functools.partial` of it, all ops are copied in one import; another is called op by op,
      as they were made.
    * `transform_control_input_handler(info, op)` gives what to wait for in place of `op`, or None.
    * `transform_original_op_handler(info, op)` gives, in place of `op`, the op whose gradient a
      copy computes, or None.
    * `assign_collections_handler(info, elem, elem_)` puts the copy of an op, a tensor or a
      `tf.Variable` into collections.
    * `transform_external_input_handler(info, t)` gives what the copies read in place of an input of
      the view.
    * `transform_external_hidden_input_handler(info, t)` the same for inputs that the view does not
      list.
    """

    _settings = CopySettings()

    def __init__(self) -> None:
        self.transform_op_handler: Callable[..., Any] = copy_op_handler
        self.transform_control_input_handler: Callable[..., Any] = transform_op_if_inside_handler
        self.transform_original_op_handler: Callable[..., Any] = transform_op_if_inside_handler
        self.assign_collections_handler: Callable[..., Any] = assign_renamed_collections_handler
        self.transform_external_input_handler: Callable[..., Any] = (
            replace_t_with_placeholder_handler
        )
        self.transform_external_hidden_input_handler: Callable[..., Any] = (
            keep_t_if_possible_handler
        )

    def __call__(
        self,
        sgv: object,
        dst_graph: Graph,
        dst_scope: str,
        src_scope: str = "",
        reuse_dst_scope: bool = False,
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Transform a view; the result has the view's inputs and outputs, as far as they were
        transformed, in order.

        Args:
            sgv: What `make_view` takes.
            dst_graph: The graph of the result.
            dst_scope: The name scope of the result.
            src_scope: A name scope to leave out: with "a" and the destination "b", "a/x" becomes
                "b/x".
            reuse_dst_scope: Add to `dst_scope` if there is one already; else the result's gets a
                number.

        Returns:
            The view of the result, and what has become of what.

        Raises:
            TypeError: `sgv` or `dst_graph` is something else, or a tensor has another dtype than
                the one it replaces.
            ValueError: An op does not lie in `src_scope`, or TensorFlow refuses the result.
            GraphFinalized: `dst_graph` takes no ops.
        """
        view = make_view(sgv)
        if not view:
            raise TypeError("The view is empty, so there is nothing to transform; give ops.")
        check_type(dst_graph, (tf.Graph,))
        check_scope(dst_scope)
        info = Transforming(
            self,
            self._settings,
            view,
            dst_graph,
            scope_finalize(dst_scope),
            scope_finalize(src_scope),
        )
        for op in view.ops if info.scope else ():
            info.new_name(op.name)
        with no_collections(), all_or_nothing(dst_graph):
            if info.scope_ and not reuse_dst_scope:
                info.scope_ = scope_finalize(info.get_unique(info.scope_[:-1]))
            return self._transform(info), TransformerInfo(info)

    def _transform(self, info: Transforming) -> SubGraphView:
        info.copier = Copier(info, info.settings.index or read(info.graph))
        ops = sorted(info.ops, key=operation_number)
        settings = _settings(self.transform_op_handler)
        if settings is None:
            self._one_by_one(info, ops)
        else:
            waits = self.transform_control_input_handler is transform_op_if_inside_handler
            info.copier.together(
                ops, partial(self._outside, info), settings.get("nodedef_fn"), waits=waits
            )
            if not waits:
                self._connect_control_inputs(info)
        for op, op_ in info.transformed_ops.items():
            forward = forward_operation(op)
            if forward is not None:
                set_forward_operation(op_, self.transform_original_op_handler(info, forward))
        info.variables = info.copier.finish()
        self._assign_collections(info, info.variables)
        info.copier.rebuild_contexts()
        return _view_of(info)

    def _one_by_one(self, info: Transforming, ops: list[Operation]) -> None:
        for op in ops:
            new_inputs = [self._transformed_t(info, t, op) for t in op.inputs]
            op_, outputs_ = self.transform_op_handler(info, op, new_inputs)
            if op is op_:
                raise ValueError(
                    f"The handler gave {op.name!r} itself; give a new op: none is transformed in "
                    "place."
                )
            info.transformed_ops[op] = op_
            info.transformed_ts.update(zip(op.outputs, outputs_, strict=False))
        for t, _, consumer in info.tmp_cyclic_ts:
            for slot, tensor in enumerate(consumer.inputs):
                if tensor is t:
                    update_input(info.transformed_ops[consumer], slot, info.transformed_ts[t])
        self._connect_control_inputs(info)

    def _connect_control_inputs(self, info: Transforming) -> None:
        for op, op_ in info.transformed_ops.items():
            others_ = [
                self.transform_control_input_handler(info, other) for other in op.control_inputs
            ]
            if others_:
                present = {None, *op_.control_inputs}
                add_control_inputs(op_, unique(each for each in others_ if each not in present))

    def _assign_collections(
        self, info: Transforming, variables: list[tuple[Variable, Variable]]
    ) -> None:
        op_pairs: Iterable[tuple[Operation, Operation]] = info.transformed_ops.items()
        if self.assign_collections_handler is assign_renamed_collections_handler:
            # Most are in no collection.
            op_pairs = [(op, op_) for op, op_ in op_pairs if op.name in info.ops_in_collections]
        for op, op_ in op_pairs:
            self.assign_collections_handler(info, op, op_)
            for t in op.outputs:
                if t in info.transformed_ts:
                    self.assign_collections_handler(info, t, info.transformed_ts[t])
        for variable, variable_ in variables:
            self.assign_collections_handler(info, variable, variable_)

    def _outside(self, info: Transforming, op: Operation, t: Tensor) -> Tensor | None:
        """The tensor that an op's copy reads in place of one from outside; None for inside."""
        if t.op in info.ops and t not in info.settings.instead:
            return None
        t_ = info.inputs[t] = value_of(self._from_outside(info, t))
        check_type(t_, (tf.Tensor,))
        if t_.graph is not info.graph_:
            raise ValueError(
                f"{t_.name!r}, given for {t.name!r}, is of another graph than the copies; give one "
                "of theirs."
            )
        if t_.dtype.base_dtype != t.dtype.base_dtype:
            raise TypeError(
                f"{t_.name!r} is {t_.dtype.name}, but represents {t.name!r}, which is "
                f"{t.dtype.name}; cast it first."
            )
        if not is_reference(t_.dtype) and info.needs_reference(op, t):
            raise TypeError(
                f"{op.name!r} changes the variable {t.name!r}, and no placeholder can replace a "
                f"variable; add {t.op.name!r} to the view, or give a variable of the other graph "
                "for it."
            )
        return t_

    def _from_outside(self, info: Transforming, t: Tensor) -> object:
        if t in info.settings.instead:
            return info.settings.instead[t]
        if t in info.sgv_inputs_set:
            return self.transform_external_input_handler(info, t)
        return self.transform_external_hidden_input_handler(info, t)

    def _transformed_t(self, info: Transforming, t: Tensor, consumer_op: Operation) -> Any:
        """The replacement of a tensor, for handlers of ops; temporary if it is yet to be copied."""
        if t in info.transformed_ts and t not in info.settings.instead:
            return info.transformed_ts[t]
        if t.op not in info.ops or t in info.settings.instead:
            info.inputs[t] = self._from_outside(info, t)
            return info.inputs[t]
        # Only loops read what is made later. TensorFlow infers a loop's shapes from what enters it.
        if consumer_op.type in MERGE and consumer_op.inputs[0] is not t:
            for_now = self._transformed_t(info, consumer_op.inputs[0], consumer_op)
        elif t.op.type in ENTER:
            for_now = self._transformed_t(info, t.op.inputs[0], consumer_op)
        else:
            with info.graph_.as_default(), tf.control_dependencies(None):
                for_now = make_placeholder_from_tensor(t, scope=info.scope_, prefix="geph_tmp")
        info.tmp_cyclic_ts.append((t, for_now, consumer_op))
        return for_now


class InformedTransformer(Transformer):
    """A Transformer for functions of this package that have settled something before."""

    def __init__(self, settings: CopySettings) -> None:
        super().__init__()
        self._settings = settings


def _settings(handler: object) -> Mapping[str, object] | None:
    """The keywords that a handler gives `copy_op_handler`; None for one that does more."""
    if handler is copy_op_handler:
        return {}
    if isinstance(handler, partial) and handler.func is copy_op_handler and not handler.args:
        return handler.keywords
    return None


def _view_of(info: Transforming) -> SubGraphView:
    """The view of the result, its inputs and outputs in the order of the originals'."""
    view = SubGraphView(list(info.transformed_ops.values()))
    input_map = TensorMap((t, t) for t in view.inputs)
    output_map = TensorMap((t, t) for t in view.outputs)
    inputs = [info.inputs.get(t) for t in info.sgv.inputs]
    outputs = [info.transformed_ts.get(t) for t in info.sgv.outputs]
    new_inputs = unique(t for t in inputs if t in input_map)
    return view.remap(new_inputs, [t for t in outputs if t in output_map])
