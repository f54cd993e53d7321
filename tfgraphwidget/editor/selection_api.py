"""Selections: the methods of GraphEditor that say which ops are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.graph import GraphIndex, Op, Selection, boundary, control_flow, selectors
from tfgraphwidget.naming import free_name
from tfgraphwidget.tf_types import DTypeLike, OpLike, OpsLike, TensorsLike


class SelectionAPI(ArgumentChecks):
    """Selects ops of the current graph.

    Ops and tensors are given by name ("net/dense/MatMul", "x:0"), or as `tf.Operation`, `tf.Tensor`, variable or
    Selection. All methods raise UnknownName for what is not in the graph.
    """

    _core: EditorCore

    @property
    def index(self) -> GraphIndex:
        """The current graph, as arrays and names. Ops that other cells added are included.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> len(editor.index), editor.index.names[:2]
        (74, ['x', 'labels'])
        """
        return self._core.index

    # The selection that is shown

    @property
    def selection(self) -> Selection | None:
        """The selected ops: those between the marked inputs and outputs, or those that were assigned.

        Assign a Selection, names of ops, or None. It is None if nothing is selected, and also after an edit that cut
        every path between the marked tensors or removed the selected ops. `notices` says so then, and undo selects
        them again.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.selection = editor.scope("net/hidden") - editor.trainable()
        >>> editor.selection, len(editor.selection)
        ((editor.scope('net/hidden') - editor.trainable()), 13)
        """
        return self._core.view.selection

    @selection.setter
    def selection(self, chosen: OpsLike | None) -> None:
        self._core.view.choose(self._core.arguments.selection(chosen))
        self._core.listeners.notify()

    def mark(self, inputs: Names = (), outputs: Names = ()) -> Selection | None:
        """Mark the input and output boundary, as clicks in the widget do.

        Args:
            inputs: Tensors or ops that enter the part.
            outputs: Tensors or ops that leave it.

        Returns:
            The ops between, once there are inputs and outputs; else None.

        Raises:
            UnknownName: A name is not in the graph; the boundary is unchanged.
            NoPath: No path leads from the inputs to the outputs; the boundary is unchanged.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.mark("x:0", "net/logits:0")
            editor.between(['x:0'], ['net/logits:0'])
            >>> editor.inputs, len(editor.selection)
            (('x:0',), 10)
        """
        arguments = self._core.arguments
        selection = self._core.view.mark(arguments.names(inputs), arguments.names(outputs))
        self._core.listeners.notify()
        return selection

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the marked inputs.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("net/hidden/Relu:0", "loss:0")
        >>> editor.inputs
        ('net/hidden/Relu:0',)
        """
        return self._core.view.boundary[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the marked outputs.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> selection = editor.mark("net/hidden/Relu:0", "loss:0")
        >>> editor.outputs
        ('loss:0',)
        """
        return self._core.view.boundary[1]

    # By name

    def ops(self, *names: OpsLike) -> Selection:
        """Select the named ops.

        Args:
            names: Ops. A tensor selects that tensor alone, see `Selection.passthroughs`.

        Returns:
            The Selection.

        Raises:
            UnknownName: A name is not in the graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.ops("x", "net/logits").ops
            ('x', 'net/logits')
        """
        return selectors.ops(self.index, *self._core.arguments.names(names))

    def scope(self, *names: str) -> Selection:
        """Select all ops in name scopes, nested scopes included.

        Args:
            names: Name scopes: "net/hidden".

        Returns:
            The Selection.

        Raises:
            UnknownName: There is no such scope.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> len(editor.scope("net/hidden")), len(editor.scope("net"))
            (15, 22)
        """
        return selectors.scope(self.index, *names)

    def matching(self, pattern: str | re.Pattern[str]) -> Selection:
        """Select the ops whose name contains a match of a regular expression.

        Args:
            pattern: The regular expression.

        Returns:
            The Selection.

        Raises:
            GraphEditError: The pattern is not a regular expression.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.matching("^net/.*MatMul$").ops
            ('net/hidden/MatMul',)
        """
        return selectors.matching(self.index, pattern)

    def find(self, text: Any) -> Selection:
        """Select the ops that match a query, in the language of the search box.

        Args:
            text: Terms with spaces between, all of which must match. A word matches names and types: "softmax".
                `type:Conv2D`, `name:bias`, `dtype:float32`, `shape:?x224x224x3` or `shape:[None, 10]` (of any output;
                `*` is any size, `...` any number of them), `attr:strides=[1,2,2,1]` or `attr:strides`, `device:GPU`,
                `scope:net/block1`, `is:` variable, trainable, constant, input, loop, call (of a function) or
                stateful. `pattern:Relu(BiasAdd(x, b))` finds the ops of a structure; see `match`. `/expression/` is a
                regular expression, for the name, or after a key: `type:/^Conv/`. `*` in a value is any text, `-` before
                a term excludes its matches, quotes keep spaces and colons. A type, dtype or scope that exists matches
                only itself, else all that contain it. Case is ignored, except in regular expressions: `/(?i)relu/`.

        Returns:
            The Selection.

        Raises:
            GraphEditError: The query cannot be parsed, or an expression takes longer than a second.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.find("shape:?x3 -gradients").ops
            ('net/logits', 'cross_entropy/cross_entropy')
        """
        from tfgraphwidget.graph import query

        return query.find(self.index, text)

    def load(self, path: str | PathLike[str]) -> Selection:
        """Read a selection that `Selection.save` wrote.

        Args:
            path: The JSON file.

        Returns:
            The Selection.

        Raises:
            UnknownName: An op of it is not in this graph.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> import tempfile
            >>> path = tempfile.mkdtemp() + "/part.json"
            >>> editor.scope("net/hidden").save(path)
            >>> len(editor.load(path))
            15
        """
        return selectors.load(self.index, path)

    # By connection

    def between(self, inputs: TensorsLike, outputs: TensorsLike) -> Selection:
        """Select the ops between two boundaries; see `graph.boundary.between`.

        Args:
            inputs: Tensors or ops that enter the part.
            outputs: Tensors or ops that leave it.

        Returns:
            The Selection.

        Raises:
            NoPath: No path leads from the inputs to the outputs.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.between("x:0", "net/hidden/MatMul:0").ops
            ('net/hidden/w', 'net/hidden/MatMul/ReadVariableOp', 'net/hidden/MatMul')
        """
        arguments = self._core.arguments
        return boundary.between(self.index, arguments.names(inputs), arguments.names(outputs))

    def paths(self, first: OpLike, last: OpLike) -> Selection:
        """Select all ops on any path from one op or tensor to another, both included.

        Args:
            first: The op or tensor where paths start.
            last: The op or tensor where they end.

        Returns:
            The Selection.

        Raises:
            NoPath: There is no path.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.paths("net/hidden/Relu", "loss").ops
            ('net/hidden/Relu', 'net/logits', 'cross_entropy/cross_entropy', 'loss')
        """
        return boundary.paths(self.index, self._core.arguments.name(first), self._core.arguments.name(last))

    def path(self, first: OpLike, last: OpLike) -> Selection:
        """Select the ops of one shortest path.

        Args:
            first: The op or tensor where the path starts.
            last: The op or tensor where it ends.

        Returns:
            The Selection.

        Raises:
            NoPath: There is no path.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.path("x", "net/logits").ops
            ('x', 'net/hidden/MatMul', 'net/hidden/Add', 'net/hidden/Relu', 'net/logits')
        """
        return boundary.path(self.index, self._core.arguments.name(first), self._core.arguments.name(last))

    def upstream(
        self,
        *names: OpsLike,
        stop_at: TensorsLike = (),
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """Select ops and everything that they depend on.

        Args:
            names: Ops. A tensor stands for the op that computes it.
            stop_at: Tensors that are not crossed.
            within: Only ops of this selection are reached.
            controls: Follow control inputs too.
            inclusive: Include the given ops.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.upstream("net/hidden/Relu", stop_at="net/hidden/MatMul:0").ops
            ('net/hidden/b', 'net/hidden/Add/ReadVariableOp', 'net/hidden/Add', 'net/hidden/Relu')
        """
        stops = self._core.arguments.names(stop_at)
        options = {"stop_at": stops, "within": within, "controls": controls, "inclusive": inclusive}
        return selectors.upstream(self.index, *self._core.arguments.names(names), **options)

    def downstream(
        self,
        *names: OpsLike,
        stop_at: TensorsLike = (),
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """Select ops and everything that depends on them.

        Args:
            names: Ops. A tensor stands for its consumers.
            stop_at: Tensors that are not crossed.
            within: Only ops of this selection are reached.
            controls: Follow control edges too.
            inclusive: Include the given ops.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.downstream("net/hidden/Relu", within=editor.scope("net")).ops
            ('net/hidden/Relu', 'net/logits')
        """
        stops = self._core.arguments.names(stop_at)
        options = {"stop_at": stops, "within": within, "controls": controls, "inclusive": inclusive}
        return selectors.downstream(self.index, *self._core.arguments.names(names), **options)

    def enclosed(self, seeds: OpsLike, by: OpsLike, *, inclusive: bool = True, controls: bool = False) -> Selection:
        """Select all ops that are connected with `seeds`, in either direction of the edges, up to the ops `by`.

        Args:
            seeds: Ops to start from.
            by: Ops that are not crossed.
            inclusive: Include the ops `by` that were reached.
            controls: Follow control edges too.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.enclosed("labels", by="cross_entropy/cross_entropy").ops
            ('labels', 'cross_entropy/Shape', 'cross_entropy/cross_entropy')
        """
        ends = self._core.arguments.names(seeds), self._core.arguments.names(by)
        return selectors.enclosed(self.index, *ends, inclusive=inclusive, controls=controls)

    # By property

    def of_type(self, *types: str) -> Selection:
        """Select the ops of some types.

        Args:
            types: Op types: "Conv2D".

        Returns:
            The Selection.

        Raises:
            UnknownName: No op of the graph has that type.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.of_type("Placeholder").ops
            ('x', 'labels')
        """
        return selectors.of_type(self.index, *types)

    def where(self, holds: Callable[[Op], object]) -> Selection:
        """Select the ops for which a function returns true: `editor.where(lambda op: op.device == "")`.

        Args:
            holds: A function of a `graph.op.Op`.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.where(lambda op: op.type == "MatMul" and op.name.startswith("net/")).ops
            ('net/hidden/MatMul', 'net/logits')
        """
        return selectors.where(self.index, holds)

    def fan_out(self, at_least: int) -> Selection:
        """Select the ops that have many consumers.

        Args:
            at_least: The number of consumers from which on an op is selected.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.fan_out(4).ops
            ('net/hidden/w', 'net/hidden/b', 'net/w', 'cross_entropy/cross_entropy')
        """
        return selectors.fan_out(self.index, at_least)

    def producing(self, *, dtype: DTypeLike = "*", shape: object = "*") -> Selection:
        """Select the ops with an output of a dtype and static shape.

        Shapes that a file does not contain are inferred by TensorFlow on first use, which takes seconds for 50,000 ops.

        Args:
            dtype: A `tf.DType`, or a name with wildcards: "float*", "*_ref".
            shape: "*" for any, None for an unknown rank, or one entry for each dimension: its size, None for an unknown
                one, "*" for any, once `...` for any number of dimensions.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.producing(dtype="int64").ops, editor.producing(dtype="float*", shape=[None, 3]).ops[0]
            (('labels',), 'net/logits')
        """
        return selectors.producing(self.index, dtype=dtype, shape=shape)

    def trainable_variables(self) -> Selection:
        """Select the handle ops of the trainable variables; `.variables` of the result describes each.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.trainable_variables().ops
            ('net/hidden/w', 'net/hidden/b', 'net/w')
        """
        return selectors.trainable(self.index)

    # Control flow

    def loops(self) -> dict[str, Selection]:
        """Select the ops of each TF 1 while loop; `graph.control_flow` has more on them.

        Returns:
            The loops by name, outermost first.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> tf.compat.v1.disable_control_flow_v2()
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.while_loop(lambda x: x < 9.0, lambda x: [x * 2.0], [tf.constant(1.0)], name="loop")
            >>> tf.compat.v1.enable_control_flow_v2()
            >>> list(tgw.edit(graph).loops())
            ['loop/while_context']
        """
        return self._by_name("loops", control_flow.loops(self.index))

    def conditionals(self) -> dict[str, Selection]:
        """Select the ops of each TF 1 conditional: its Switches, branches and Merges.

        Returns:
            The conditionals by name, outermost first.

        Example:
            >>> import tfgraphwidget as tgw
            >>> import tensorflow as tf
            >>> tf.compat.v1.disable_control_flow_v2()
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0), name="cond")
            >>> tf.compat.v1.enable_control_flow_v2()
            >>> list(tgw.edit(graph).conditionals())
            ['cond']
        """
        # The gradient of a branch that was not taken leaves a Switch alone, which users do not call a conditional.
        return self._by_name("conditionals", (block for block in control_flow.conditionals(self.index) if block.merges))

    def _by_name(
        self, method: str, blocks: Iterable[control_flow.Loop | control_flow.Conditional]
    ) -> dict[str, Selection]:
        blocks_by_name: dict[str, Selection] = {}
        for block in blocks:
            name = free_name(
                block.name, {existing.lower() for existing in blocks_by_name}
            )  # after two imports, two have one name
            blocks_by_name[name] = Selection.of(self.index, sorted(block.ops), f"editor.{method}()[{name!r}]")
        return blocks_by_name
