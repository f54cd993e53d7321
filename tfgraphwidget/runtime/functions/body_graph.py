"""A function's body as a graph of TensorFlow 1 with a session, from which it is copied as any other
graph is.

What the body captured are variables and tables of the graph. The session reads the function's
variables again before each run, so that a copy can be brought up to date with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tfgraphwidget.edits.clone import invalidate_gradient
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import (
    HANDLE_DTYPES,
    HANDLES,
    OUTPUT_SHAPES,
    BodyState,
    GraphIndex,
    Signature,
    called_definitions,
    definition_of,
)
from tfgraphwidget.naming import colocated_with, split_input, split_tensor
from tfgraphwidget.runtime.functions.inlining import inline
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import (
    Source,
    new_graph,
    open_source,
    static_shape,
    table_dtypes,
    table_of,
    tf_protos,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import eager_mode
from tfgraphwidget.tf_types import FunctionDef, NodeDef, Tensor, Variable

Feeds = Callable[[], "Mapping[tf.Operation, Mapping[tf.Tensor, object]]"]


@cache
def _following_session() -> Callable[[tf.Graph, Feeds], tf.compat.v1.Session]:
    """A class of sessions whose variables have the values of those elsewhere at each run."""

    class FollowingSession(tf.compat.v1.Session):  # type: ignore[misc]
        """A session that assigns values to variables before each run."""

        def __init__(self, graph: tf.Graph, feeds: Feeds) -> None:
            super().__init__(
                graph=graph, config=tf.compat.v1.ConfigProto(allow_soft_placement=True)
            )
            self._feeds = feeds

        def run(
            self,
            fetches: object,
            feed_dict: object = None,
            options: object = None,
            run_metadata: object = None,
        ) -> Any:
            """Run `fetches` as a session does, once the variables have their values."""
            for assign, feeds in self._feeds().items():
                super().run(assign, feeds)
            return super().run(fetches, feed_dict, options, run_metadata)

    return FollowingSession


def body_source(
    index: GraphIndex,
    body_state: BodyState,
    arguments: Sequence[str],
    returns: Mapping[str, str],
    title: str,
) -> Source:
    """The graph of a function's body with a session, opened.

    Args:
        arguments: The tensors that callers pass in; they are placeholders.

    Raises:
        NotClonable: The body reads state that cannot be reached.
        SessionRefused: A variable has no value.
    """
    own = [name for name in arguments if split_tensor(name)[0] not in body_state.names]
    outside = body_state.names | {split_tensor(name)[0] for name in own}
    nodes = inline([node for node in index.nodes if node.name not in outside], index)
    functions = list(called_definitions(nodes, index.functions, index.extras.function).values())
    read = {split_input(text) for node in nodes for text in node.input}
    graph = new_graph(index.extras.versions())
    with graph.as_default():
        state = _State(
            index,
            body_state,
            [*nodes, *(node for function in functions for node in function.node_def)],
        )
        tensors = {
            f"{name}:0": state.tensor(name)
            for name in index.names
            if name in body_state.names and (name, 0) in read
        }
        tensors |= {name: _placeholder(index, *split_tensor(name)) for name in own}
        _import(
            nodes,
            functions,
            {name: tensor for name, tensor in tensors.items() if split_tensor(name) in read},
        )
        _set_shapes(graph, index)
        tables = graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
    session = _following_session()(graph, state.feeds)
    session.run(tables)
    source = open_source(graph, session)
    inputs = tuple((split_tensor(name)[0], name) for name in own)
    outputs = tuple(
        (key, name)
        for key, name in returns.items()
        if split_tensor(name)[0] not in body_state.names
    )
    source.title, source.signature = title, Signature("", inputs, outputs)
    return source


def _import(
    nodes: Sequence[NodeDef], functions: Iterable[FunctionDef], tensors: Mapping[str, tf.Tensor]
) -> None:
    """Add NodeDefs to the default graph under their own names; what is not among them is waited for
    no more.
    """
    names = {node.name for node in nodes}
    for node in nodes:
        node.input[:] = [text for text in node.input if text[:1] != "^" or text[1:] in names]
        if any(name not in names for name in colocated_with(node)):
            del node.attr["_class"]
        node.attr.pop(OUTPUT_SHAPES, None)
        invalidate_gradient(node)
    graph_def = tf.compat.v1.GraphDef(
        node=nodes, library=tf_protos.FunctionDefLibrary(function=functions)
    )
    graph_def.versions.CopyFrom(tf.compat.v1.get_default_graph().graph_def_versions)
    tf.import_graph_def(graph_def, tensors, name="")


def _set_shapes(graph: tf.Graph, index: GraphIndex) -> None:
    """The static shapes that no NodeDef says."""
    for op in graph.get_operations():
        for port, tensor in enumerate(op.outputs if op.name in index.ids else ()):
            if not tensor.shape.is_fully_defined():
                tensor.set_shape(index.shape(index.ids[op.name], port))


def _placeholder(index: GraphIndex, op: str, port: int | None) -> Tensor:
    at = index.ids[op]
    tensor: Tensor = tf.compat.v1.placeholder(
        tf.as_dtype(index.dtypes(at)[port or 0]), index.shape(at, port or 0), name=op
    )
    return tensor


class _State:
    """The variables, tables and constants of a graph that represent what a body captured."""

    def __init__(self, index: GraphIndex, body_state: BodyState, nodes: Iterable[NodeDef]) -> None:
        self.index, self.body_state, self.nodes = index, body_state, list(nodes)
        self._live: dict[tf.Operation, tuple[tf.Tensor, tf.Variable]] = {}
        self._stored: dict[tf.Operation, tuple[tf.Tensor, str]] = {}

    def feeds(self) -> Mapping[tf.Operation, Mapping[tf.Tensor, object]]:
        """The ops that assign values to variables, and their feeds; those of a file once."""
        stored_names, self._stored = self._stored, {}
        if stored_names:
            values = self.body_state.values([name for _, name in stored_names.values()], "current")
        else:
            values = {}
        feeds = {assign: {value: values[name]} for assign, (value, name) in stored_names.items()}
        with eager_mode():  # whatever graph is the default one where the session is used
            return {
                **feeds,
                **{assign: {value: live.numpy()} for assign, (value, live) in self._live.items()},
            }

    def tensor(self, name: str) -> Tensor:
        """The tensor that represents an op's output; in the default graph."""
        index, body_state = self.index, self.body_state
        op, live = index.ids[name], body_state.live(name)
        if index.types[op] in HANDLES:
            return self._variable(op, name, live)
        if live is not None and live.dtype.name not in HANDLE_DTYPES:
            with eager_mode():
                # Of a SavedModel a constant is captured in a graph of its own.
                value = tf.get_static_value(live)
            if value is not None:
                return tf.constant(value, live.dtype, name=name)
        with eager_mode():
            content = body_state.table(name, table_dtypes(self.nodes))
            if content is not None:  # eager tensors are of no graph
                content = content._replace(
                    keys=np.asarray(content.keys), values=np.asarray(content.values)
                )
        if content is None:
            raise NotClonable(
                f"{name!r} ({index.types[op]}) is state that a graph with a session cannot have; "
                + in_cell("clone the function into a module: leave out graph=."),
                [name],
            )
        tensor: Tensor = table_of(content, self.nodes).resource_handle
        return tensor

    def _variable(self, op: int, name: str, live: Variable | None) -> Variable:
        definition, node = definition_of(self.index, name), self.index.nodes[op]
        dtype, shape = tf.as_dtype(node.attr["dtype"].type), static_shape(node.attr["shape"].shape)
        value = tf.compat.v1.placeholder(dtype, shape, name=f"{name}/Initializer/value")
        variable = tf.compat.v1.Variable(
            value,
            name=name,
            trainable=definition.trainable,
            use_resource=True,
            validate_shape=shape.is_fully_defined(),
            constraint=definition.constraint,
            synchronization=tf.VariableSynchronization(definition.synchronization),
            aggregation=tf.VariableAggregation(definition.aggregation),
        )
        if live is None:
            self._stored[variable.initializer] = value, name
        else:
            self._live[variable.initializer] = value, live
        result: Variable = variable.handle
        return result
