"""Selections: the methods of GraphEditor that say which ops are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.graph_view import Names
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.graph import Op, Selection, boundary, selectors
from tfgraphwidget.tf_types import DTypeLike, OpLike, OpsLike, TensorsLike


class SelectionAPI(ArgumentChecks):
    """Selects ops of the current graph.

    Ops and tensors are given by name ("net/dense/MatMul", "x:0"), or as `tf.Operation`,
    `tf.Tensor`, variable or Selection. All methods raise UnknownName for what is not in the graph.
    """

    _core: EditorCore

    # The selection that is shown

    @property
    def selection(self) -> Selection | None:
        """The selected ops: those between the marked inputs and outputs, or those that were
        assigned.

        Assign a Selection, names of ops, or None. It is None if nothing is selected, and also after
        an edit that cut every path between the marked tensors or removed the selected ops.
        `notices` says so then, and undo selects them again.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.selection = editor.ops(scope="net/hidden") - editor.find("is:trainable")
        >>> editor.selection, len(editor.selection)
        ((editor.ops(scope='net/hidden') - editor.find('is:trainable')), 13)
        """
        return self._core.view.selection

    @selection.setter
    def selection(self, chosen: OpsLike | None) -> None:
        self._core.view.choose(self._core.arguments.selection(chosen))
        self._core.listeners.notify()

    def mark(self, inputs: Names | None = None, outputs: Names | None = None) -> Selection | None:
        """Mark the input and output boundary, as clicks in the widget do.

        Args:
            inputs: Tensors or ops that enter the part; None for none.
            outputs: Tensors or ops that leave it; None for none.

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
        selection = self._core.view.mark(
            () if inputs is None else arguments.names(inputs),
            () if outputs is None else arguments.names(outputs),
        )
        self._core.listeners.notify()
        return selection

    @property
    def inputs(self) -> tuple[str, ...]:
        """The marked inputs, or the placeholders that marked outputs need; without marks those of
        the signature, function or graph.

        `selection` is None where nothing is marked or selected.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.inputs
        ('x:0', 'labels:0')
        >>> selection = editor.mark("net/hidden/Relu:0", "net/logits:0")
        >>> editor.inputs
        ('net/hidden/Relu:0',)
        """
        from tfgraphwidget.editor import saving

        return saving.boundary_or_apparent(self._core)[0]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The marked outputs; without marks those of the signature, function or graph.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.outputs
        ('loss:0',)
        >>> selection = editor.mark("net/hidden/Relu:0", "net/logits:0")
        >>> editor.outputs
        ('net/logits:0',)
        """
        from tfgraphwidget.editor import saving

        return saving.boundary_or_apparent(self._core)[1]

    # By name

    def ops(
        self,
        *names: OpsLike,
        type: str | Iterable[str] | None = None,  # noqa: A002  # as TensorFlow calls it
        scope: str | Iterable[str] | None = None,
        matching: str | re.Pattern[str] | None = None,
        dtype: DTypeLike | None = None,
        shape: object = None,
        consumers: int | None = None,
        where: Callable[[Op], object] | None = None,
        file: str | PathLike[str] | None = None,
    ) -> Selection:
        """Select the ops that are named, or with filters alone all ops, and that pass all filters.

        Shapes that a file does not contain are inferred by TensorFlow on first use, which takes
        seconds for 50,000 ops.

        Args:
            names: Ops. A tensor selects that tensor alone, see `Selection.passthroughs`.
            type: An op type, "Conv2D", or several.
            scope: A name scope, "net/hidden", or several; the ops of nested scopes are included.
            matching: A regular expression that is found in the name: "^net/.*MatMul$".
            dtype: Of an output: a `tf.DType`, or a name with wildcards: "float*", "*_ref".
            shape: The static shape of an output, with one entry for each dimension: its size, None
                for an unknown one, "*" for any, once `...` for any number of dimensions;
                `tf.TensorShape(None)` for an unknown rank.
            consumers: How many ops take an output as an input, at least.
            where: A function of a `graph.op.Op` that says whether it is selected.
            file: The path of a file that `Selection.save` wrote: its ops are named too.

        Returns:
            The Selection; without names and filters an empty one.

        Raises:
            UnknownName: There is no op, scope or dtype of that name, or neither the graph nor
                TensorFlow has the op type.
            GraphEditError: `matching` is not a regular expression, or `where` raises an error.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.ops("x", "net/logits").ops
            ('x', 'net/logits')
            >>> editor.ops(type="MatMul", scope="net").ops
            ('net/hidden/MatMul', 'net/logits')
            >>> editor.ops(dtype="float*", shape=[None, 3]).ops[0], editor.ops(consumers=5).ops
            ('net/logits', ('net/hidden/w', 'net/hidden/b', 'net/w', 'cross_entropy/cross_entropy'))
            >>> editor.ops(where=lambda op: op.type == "Relu" and op.name.startswith("net/")).ops
            ('net/hidden/Relu',)
        """
        return selectors.ops(
            self._core.index,
            *self._core.arguments.names(names),
            type=_texts(type),
            scope=_texts(scope),
            matching=matching,
            dtype=dtype,
            shape=shape,
            consumers=consumers,
            where=where,
            file=file,
            is_named=bool(names),
        )

    def find(self, text: Any) -> Selection:
        """Select the ops that match a query, in the language of the search box.

        Args:
            text: Terms with spaces between, all of which must match. A word matches names and
                types: "softmax". `type:Conv2D`, `name:bias`, `dtype:float32`, `shape:?x224x224x3`
                or `shape:[None, 10]` (of any output; `*` is any size, `...` any number of them),
                `attr:strides=[1,2,2,1]` or `attr:strides`, `device:GPU`, `scope:net/block1`, `is:`
                variable, trainable, constant, input, loop, call (of a function) or stateful.
                `pattern:Relu(BiasAdd(x, b))` finds the ops of a structure; see `match`.
                `/expression/` is a regular expression, for the name, or after a key:
                `type:/^Conv/`. `*` in a value is any text, `-` before a term excludes its matches,
                quotes keep spaces and colons. A type, dtype or scope that exists matches only
                itself, else all that contain it. Case is ignored, except in regular expressions:
                `/(?i)relu/`.

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

        return query.find(self._core.index, text)

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
        return boundary.between(self._core.index, arguments.names(inputs), arguments.names(outputs))

    def path(self, first: OpLike, last: OpLike, *, all: bool = False) -> Selection:  # noqa: A002  # the word for it
        """Select the ops of a shortest path, or of all paths.

        Args:
            first: The op or tensor where the path starts.
            last: The op or tensor where it ends.
            all: Select the ops of any path, instead of one that is shortest.

        Returns:
            The Selection, `first` and `last` included.

        Raises:
            NoPath: There is no path.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.path("x", "net/logits").ops
            ('x', 'net/hidden/MatMul', 'net/hidden/Add', 'net/hidden/Relu', 'net/logits')
            >>> editor.path("net/hidden/Relu", "loss", all=True).ops
            ('net/hidden/Relu', 'net/logits', 'cross_entropy/cross_entropy', 'loss')
        """
        select = boundary.paths if all else boundary.path
        return select(
            self._core.index, self._core.arguments.name(first), self._core.arguments.name(last)
        )

    def upstream(
        self,
        *names: OpsLike,
        stop_at: TensorsLike | None = None,
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """Select ops and everything that they depend on.

        Args:
            names: Ops. A tensor represents the op that computes it.
            stop_at: Tensors that are not crossed; None for none.
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
        stops = () if stop_at is None else self._core.arguments.names(stop_at)
        options = {"stop_at": stops, "within": within, "controls": controls, "inclusive": inclusive}
        return selectors.upstream(self._core.index, *self._core.arguments.names(names), **options)

    def downstream(
        self,
        *names: OpsLike,
        stop_at: TensorsLike | None = None,
        within: Selection | None = None,
        controls: bool = True,
        inclusive: bool = True,
    ) -> Selection:
        """Select ops and everything that depends on them.

        Args:
            names: Ops. A tensor represents its consumers.
            stop_at: Tensors that are not crossed; None for none.
            within: Only ops of this selection are reached.
            controls: Follow control edges too.
            inclusive: Include the given ops.

        Returns:
            The Selection.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> editor.downstream("net/hidden/Relu", within=editor.ops(scope="net")).ops
            ('net/hidden/Relu', 'net/logits')
        """
        stops = () if stop_at is None else self._core.arguments.names(stop_at)
        options = {"stop_at": stops, "within": within, "controls": controls, "inclusive": inclusive}
        return selectors.downstream(self._core.index, *self._core.arguments.names(names), **options)


def _texts(texts: str | Iterable[str] | None) -> str | tuple[str, ...] | None:
    """One text, or several that can be gone through again."""
    if texts is None or isinstance(texts, str) or not isinstance(texts, Iterable):
        return texts
    return tuple(texts)
