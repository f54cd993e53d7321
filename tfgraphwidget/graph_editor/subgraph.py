"""`ge.subgraph`: a view of some ops and tensors of a live graph, with inputs and outputs in an
order of one's own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.graph_editor.lists import (
    ListView,
    as_tensor,
    check_type,
    get_unique_graph,
    make_list_of_op,
    make_list_of_t,
    position,
    positions,
    unique,
)
from tfgraphwidget.graph_editor.select import (
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_union_ops,
    select_ops_and_ts,
)
from tfgraphwidget.naming import count_text
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Graph, Operation, Tensor

__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]


class SubGraphView(ArgumentChecks, refusal=TypeError):
    """Some ops of a graph, the tensors that go in and those that come out.

    Its inputs are the tensors that the ops read from outside, its outputs those that they make for
    outside or for no op. Passthrough tensors, which no op of the view makes or reads, are both.
    The `remap` methods leave some out or reorder them; they return a new view. A view changes
    neither the graph, nor itself when the graph changes.

    Args:
        inside_ops: Ops, one op, or a graph.
        passthrough_ts: Tensors, one tensor, or a graph. Those that an op of the view makes or reads
            are left out.

    Raises:
        TypeError: `inside_ops` or `passthrough_ts` is something else.
        ValueError: Ops and tensors are of several graphs.
    """

    def __init__(self, inside_ops: object = (), passthrough_ts: object = ()) -> None:
        self._ops = make_list_of_op(inside_ops)
        passthroughs = make_list_of_t(passthrough_ts)
        self._graph: Graph | None = get_unique_graph(
            [*self._ops, *passthroughs], none_if_empty=True
        )
        inputs, outputs, inside = compute_boundary_ts(self._ops)
        connected = {id(t) for t in (*inputs, *outputs, *inside)}
        self._passthrough_ts = [t for t in passthroughs if id(t) not in connected]
        self._input_ts = inputs + self._passthrough_ts
        self._output_ts = outputs + self._passthrough_ts

    def __copy__(self) -> SubGraphView:
        new = self.__class__.__new__(self.__class__)
        new._assign_from(self)
        return new

    def _assign_from(self, other: SubGraphView) -> None:
        """Become what another view is; for functions that change the graph under a view."""
        check_type(other, (SubGraphView,))
        self._graph = other._graph
        self._ops = list(other._ops)
        self._passthrough_ts = list(other._passthrough_ts)
        self._input_ts = list(other._input_ts)
        self._output_ts = list(other._output_ts)

    def copy(self) -> SubGraphView:
        """A view of the same; the graph is not copied."""
        return copy.copy(self)

    def remap_default(
        self, remove_input_map: bool = True, remove_output_map: bool = True
    ) -> SubGraphView:
        """A view with the inputs and outputs that the ops have now.

        Args:
            remove_input_map: Do so for the inputs.
            remove_output_map: Do so for the outputs.
        """
        new = self.copy()
        inputs, outputs, _ = compute_boundary_ts(self._ops)
        if remove_input_map:
            new._input_ts = inputs + self._passthrough_ts
        if remove_output_map:
            new._output_ts = outputs + self._passthrough_ts
        return new

    def without(self, ops: Iterable[Operation]) -> SubGraphView:
        """A view with the same inputs and outputs, and without some of the ops."""
        new, left_out = self.copy(), set(ops)
        new._ops = [op for op in self._ops if op not in left_out]
        return new

    def remap_inputs(self, new_input_indices: Iterable[object]) -> SubGraphView:
        """A view with some of the inputs, in this order.

        Args:
            new_input_indices: Positions in `inputs`, or tensors of it; each once.

        Raises:
            ValueError: A position is out of range or comes twice, or a tensor is not an input.
        """
        return self.remap(new_input_indices)

    def remap_outputs(self, new_output_indices: Iterable[object]) -> SubGraphView:
        """A view with some of the outputs, in this order.

        Args:
            new_output_indices: Positions in `outputs`, or tensors of it; some may come more than
                once.

        Raises:
            ValueError: A position is out of range, or a tensor is not an output.
        """
        return self.remap(None, new_output_indices)

    def remap(
        self,
        new_input_indices: Iterable[object] | None = None,
        new_output_indices: Iterable[object] | None = None,
    ) -> SubGraphView:
        """Both `remap_inputs` and `remap_outputs`; None leaves them as they are.

        Args:
            new_input_indices: The positions of the new inputs among the present ones.
            new_output_indices: The positions of the new outputs among the present ones; None for
                all as they are.

        Raises:
            ValueError: As `remap_inputs` and `remap_outputs` do.
        """
        new = self.copy()
        if new_input_indices is not None:
            at = positions(new_input_indices, self._input_ts, "input")
            if len(set(at)) < len(at):
                raise ValueError(f"Found repetition in the inputs {at}; name each input once.")
            new._input_ts = [self._input_ts[i] for i in at]
        if new_output_indices is not None:
            at = positions(new_output_indices, self._output_ts, "output")
            new._output_ts = [self._output_ts[i] for i in at]
        return new

    def remap_outputs_make_unique(self) -> SubGraphView:
        """A view with each output once."""
        new = self.copy()
        new._output_ts = unique(self._output_ts)
        return new

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """A view with each output as often as it is read: twice for an op that reads it twice."""
        new = self.copy()
        new._output_ts = [t for t in unique(self._output_ts) for _ in t.consumers()]
        return new

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """A view without the ops that depend on no connected input and are needed for no connected
        output.

        Args:
            control_inputs: An op is needed also by those that wait for it.
        """
        new = self.copy()
        union = get_walks_union_ops(
            self.connected_inputs,
            self.connected_outputs,
            within_ops=self._ops,
            control_inputs=control_inputs,
        )
        used = set(union)
        new._ops = [op for op in self._ops if op in used]
        return new

    def find_op_by_name(self, op_name: str) -> Operation:
        """The op of that name.

        Args:
            op_name: The name of the op.

        Raises:
            ValueError: The view has none.
            AssertionError: The view has it more than once.
        """
        matches = [op for op in self._ops if op.name == op_name]
        if not matches:
            raise ValueError(
                f"{op_name!r} is not in this view of {count_text(len(self._ops), 'op')}; see its "
                "ops."
            )
        if len(matches) > 1:
            raise AssertionError(
                f"{op_name!r} is {len(matches)} times in this view; make it with each op once."
            )
        return matches[0]

    def op(self, op_id: int) -> Operation:
        """The op at a position of `ops`.

        Args:
            op_id: The position of the op in the view.
        """
        return self._ops[op_id]

    def is_passthrough(self, t: Tensor) -> bool:
        """Whether a tensor goes through the view as it is.

        Args:
            t: The tensor.
        """
        t = as_tensor(t)
        return any(t is passthrough for passthrough in self._passthrough_ts)

    def input_index(self, t: Tensor) -> int:
        """The position of a tensor in `inputs`.

        Args:
            t: The tensor.

        Raises:
            ValueError: It is not an input.
        """
        return position(t, self._input_ts, "input")

    def output_index(self, t: Tensor) -> int:
        """The position of a tensor in `outputs`, the first if there are several.

        Args:
            t: The tensor.

        Raises:
            ValueError: It is not an output.
        """
        return position(t, self._output_ts, "output")

    def consumers(self) -> list[Operation]:
        """The ops outside the view that read an output, each once."""
        inside = set(self._ops)
        return unique(op for t in self._output_ts for op in t.consumers() if op not in inside)

    @property
    def graph(self) -> Graph | None:
        """The graph; None for an empty view."""
        return self._graph

    @property
    def ops(self) -> list[Operation]:
        """The ops."""
        return list(self._ops)

    @property
    def inputs(self) -> ListView:
        """The tensors that go in."""
        return ListView(self._input_ts)

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The inputs that ops of the view read."""
        return self._without_passthroughs(self._input_ts)

    @property
    def outputs(self) -> ListView:
        """The tensors that come out."""
        return ListView(self._output_ts)

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The outputs that ops of the view make."""
        return self._without_passthroughs(self._output_ts)

    @property
    def passthroughs(self) -> ListView:
        """The tensors that go through as they are."""
        return ListView(self._passthrough_ts)

    def _without_passthroughs(self, tensors: list[Tensor]) -> list[Tensor]:
        through = set(map(id, self._passthrough_ts))
        return [t for t in tensors if id(t) not in through]

    def __bool__(self) -> bool:
        return self._graph is not None

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"
        through = set(map(id, self._passthrough_ts))
        lines = [f"SubGraphView (graphid={id(self._graph)}):"]
        for title, items in (
            ("ops", self._ops),
            ("inputs", self._input_ts),
            ("outputs", self._output_ts),
        ):
            lines.append(f"** {title}[{len(items)}]:" if items else f"** {title}: empty")
            for item in items:
                mark = " *" if id(item) in through else ""
                lines.append(f"  {item.name}{mark}")
        return "\n".join(lines) + "\n"


def make_view(*args: object, **kwargs: object) -> SubGraphView:
    """A view of the ops that are given or found, with the tensors as passthroughs. Also called
    `ge.sgv`.

    Args:
        *args: Regular expressions, ops, tensors, lists of these, a graph; or one view, which is
            returned as it is.
        **kwargs: `graph`, where to look for the expressions, and what the rest must be of;
            `positive_filter` of `select_ops_and_ts`.

    Raises:
        TypeError: An argument is something else.
        ValueError: An expression comes without `graph`, or ops and tensors are of several graphs or
            another than `graph`, or a keyword is unknown.
        re.error: A string is not a regular expression.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        view = args[0]
    else:
        view = SubGraphView(*select_ops_and_ts(*args, **kwargs))
    graph = kwargs.get("graph")
    if graph is not None and view:
        check_type(graph, (tf.Graph,))
        if view.graph is not graph:
            raise ValueError(
                "The view is of another graph than the one given; leave `graph` out, or give the "
                "view's."
            )
    return view


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """A view of the ops in a name scope. Also called `ge.sgv_scope`.

    Args:
        scope: The scope; see `get_name_scope_ops`.
        graph: The graph.

    Raises:
        TypeError: `graph` is something else.
    """
    return SubGraphView(get_name_scope_ops(graph, scope))
