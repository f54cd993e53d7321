"""The state that a function's body captures: live variables, or values in a session or a file.

A function that Python made captured `tf.Variable`s and tensors, which are at hand. A function in
the library of a graph is given its state by the ops that call it: the values are in the session of
that graph, or in the checkpoint beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLE_DTYPES,
    PLACEHOLDERS,
    TABLE_EXPORTS,
    TABLE_INITIALIZERS,
    BodyState,
    GraphIndex,
    Pairs,
    SavedGradient,
    Table,
    VariableDef,
    build,
    definitions,
    persistent_state,
)
from tfgraphwidget.naming import names_text, split_input, split_tensor
from tfgraphwidget.sentences import OPEN_WITH_SESSION, clone_with
from tfgraphwidget.sources.live.captures import CapturedVariable
from tfgraphwidget.sources.live.graph_body import GraphBody
from tfgraphwidget.sources.renaming import rename_tensor
from tfgraphwidget.sources.source import Body, Source, StoredCaptures, no_values
from tfgraphwidget.sources.tf_errors import error_text
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import FuncGraph, is_closed, variable_view
from tfgraphwidget.tf_types import NodeDef, Tensor, Variable

# the attribute of an op that names the gradient of a tf.custom_gradient
_GRADIENT = "_gradient_op_type"


def captured_state(source: Source, body: Body) -> BodyState:
    """The state of a function's body: the names of the ops that represent it, and its values."""
    first = source.body
    if source.captures is not None:
        return StoredState(source.captures, body)
    if isinstance(first, GraphBody) and isinstance(first.graph, FuncGraph):
        return CapturedState(first, body)
    return SessionState(source, body)


class _State:
    """What most bodies have alike: their state is live, and no FuncGraph is known of them."""

    @property
    def graph(self) -> FuncGraph | None:
        """None: there is no FuncGraph."""
        return None

    def operation(self, name: str) -> tf.Operation | None:  # noqa: ARG002
        """Return None: without a FuncGraph there is no `tf.Operation`."""
        return None

    def tensor_name(self, tensor: tf.Tensor) -> str | None:  # noqa: ARG002
        """None: `tensor` is of no FuncGraph."""
        return None

    def live(self, name: str) -> Variable | Tensor | None:
        """The live variable or tensor that the op `name` represents."""
        raise NotImplementedError

    def values(self, names: Iterable[str], init: str) -> Mapping[str, np.ndarray]:  # noqa: ARG002
        """Nothing: all state is live, whatever `names` and `init` are."""
        return {}

    def saved_gradient(self, op: str) -> SavedGradient | None:  # noqa: ARG002
        """None: the gradient of the live op is registered, and no function is written with one."""
        return None

    def table(self, name: str, dtypes: Pairs) -> Table | None:
        """Export the live table of the op `name`; `dtypes` are those of its keys and values."""
        table: Any = self.live(name)
        return _export_table(table, dtypes)


@dataclass(frozen=True, eq=False)
class CapturedState(_State):
    """The variables and tensors that a FuncGraph captures and passes on to called functions."""

    outermost: GraphBody
    body: Body

    @cached_property
    def _live(self) -> dict[str, Variable | Tensor]:
        captures = self.outermost.captures
        captured: dict[str, Variable | Tensor] = {
            inside.op.name: outside
            for outside, inside in self.outermost.graph.captures
            if inside.op.name not in captures.alias and hasattr(outside, "numpy")
        }
        captured |= {name: _as_its_owner_has_it(of) for name, of in captures.variables.items()}
        origins = self.body.origins
        if origins is None:
            return captured
        return {
            **_constants(self.body),
            **{name: captured[origin] for name, origin in origins.items() if origin in captured},
        }

    @property
    def names(self) -> frozenset[str]:
        """The names of captured variables and tensors."""
        return frozenset(self._live)

    @property
    def graph(self) -> FuncGraph | None:
        """The graph of the outermost body; None inside, as a called function is a FunctionDef."""
        return cast("FuncGraph", self.outermost.graph) if self.body.origins is None else None

    def operation(self, name: str) -> tf.Operation | None:
        """Return the op of the FuncGraph of this name."""
        return None if self.graph is None else find_operation(self.graph, name)

    def tensor_name(self, tensor: tf.Tensor) -> str | None:
        """Return the name of a tensor of the FuncGraph; captured variables have their own names."""
        return rename_tensor(tensor.name, self.body.alias) if tensor.graph is self.graph else None

    def live(self, name: str) -> Variable | Tensor | None:
        """Return the live variable or tensor."""
        variable: Variable | Tensor | None = self._live[name]
        return variable


def _as_its_owner_has_it(captured: CapturedVariable) -> tf.Variable:
    """The variable, trainable or not as its owner says: a layer of Keras that does not train holds
    variables of which TensorFlow thinks otherwise.
    """
    variable, trainable = captured.variable, captured.info.trainable
    if getattr(variable, "trainable", trainable) == trainable:
        return variable
    return variable_view(variable, trainable=trainable)


@dataclass(frozen=True, eq=False)
class StoredState(_State):
    """The variables and tensors of a function that was read from a file."""

    captures: StoredCaptures
    body: Body

    @property
    def names(self) -> frozenset[str]:
        """The names of captured variables and tensors."""
        origins, names = self.body.origins, self.captures.names
        if origins is None:
            return names
        return frozenset(self.body.constants) | {
            name for name, origin in origins.items() if origin in names
        }

    def live(self, name: str) -> Variable | Tensor | None:
        """Return the live variable or tensor that the op `name` represents."""
        origins = self.body.origins
        if name in self.body.constants:
            constant: Tensor = _constants(self.body)[name]
            return constant
        live: Any = self.captures.live()[name if origins is None else origins[name]]
        variable: Variable | Tensor | None = live
        return variable


@dataclass(frozen=True, eq=False)
class SessionState(_State):
    """The state of ops of a graph that a session runs, or of a file."""

    source: Source
    body: Body

    @cached_property
    def _origins(self) -> Mapping[str, str]:
        placeholders = {node.name for node in self.source.body.nodes() if node.op in PLACEHOLDERS}
        return {
            name: origin
            for name, origin in (self.body.origins or {}).items()
            if origin not in placeholders
        }

    @cached_property
    def _live(self) -> Mapping[str, Tensor]:
        return _constants(self.body)

    @property
    def names(self) -> frozenset[str]:
        """The ops that a call feeds from state or constants."""
        return frozenset(self._origins) | frozenset(self.body.constants)

    def live(self, name: str) -> Variable | Tensor | None:
        """Return a constant, or None."""
        return self._live.get(name)

    def values(self, names: Iterable[str], init: str) -> Mapping[str, np.ndarray]:
        """Read the values in the session; those of a file are loaded into a new session first."""
        origins = {name: self._origins[name] for name in names}
        if not origins:
            return {}
        if init == "current" and not self.source.has_values:
            raise no_values(self.source.title, list(origins))
        stored = self.source.stored if init == "current" and self.source.graph is None else None
        if stored is not None and all(stored.key(origin) for origin in origins.values()):
            # Without a session, which would import the whole file.
            return {name: np.asarray(stored.value(origin)) for name, origin in origins.items()}
        with self._session() as (body, session):
            return _read(body, session, origins, init)

    def saved_gradient(self, op: str) -> SavedGradient | None:
        """The gradient that the file has for an op of the body."""
        node = self._custom.get(op)
        if node is None or self.source.stored is None:
            return None
        gradient = self.source.stored.gradient(node.attr[_GRADIENT].s.decode())
        sources = (split_input(text) for text in node.input)
        inputs = tuple(f"{name}:{port}" for name, port in sources if port >= 0)
        return None if gradient is None else replace(gradient, inputs=inputs)

    @cached_property
    def _custom(self) -> dict[str, NodeDef]:
        """The ops of the body, as it was read, whose gradient a `tf.custom_gradient` computes."""
        return {node.name: node for node in self.body.nodes() if _GRADIENT in node.attr}

    def table(self, name: str, dtypes: Pairs) -> Table | None:
        """Export a file's table; of a live graph the session's content, or the initializer's."""
        origin = self._origins[name]
        if self.source.revive is None:
            return self._session_table(origin)
        revived = self.source.revive()
        with revived.session as session, revived.graph.as_default():
            handle = revived.graph.get_tensor_by_name(f"{origin}:0")
            return _export_table(handle, dtypes, lambda export: session.run(list(export)))

    def _session_table(self, origin: str) -> Table | None:
        graph, session = self.source.graph, self.source.session
        if graph is None or session is None:
            return None
        consumers = graph.get_tensor_by_name(f"{origin}:0").consumers()
        # A mutable table has one.
        export = next((op for op in consumers if op.type in TABLE_EXPORTS), None)
        if export is not None:
            keys, values = session.run(list(export.outputs))
            return _readable_table(Table(keys, values, is_mutable=True))
        fill = next((op for op in consumers if op.type in TABLE_INITIALIZERS), None)
        if fill is None:
            return None
        keys, values = session.run(list(fill.inputs[1:3]))
        return Table(keys, values, is_mutable=False)

    @contextmanager
    def _session(self) -> Iterator[tuple[Body, tf.compat.v1.Session]]:
        """The source's session; without one, a new session on the file, closed afterwards."""
        if self.source.graph is not None or self.source.revive is None:
            if self.source.session is None or is_closed(self.source.session):
                raise SessionRefused(
                    "There is no open session to read the variables' values in; "
                    + OPEN_WITH_SESSION
                    + "."
                )
            yield self.source.body, self.source.session
        else:
            revived = self.source.revive()
            with revived.session as session:
                yield revived.body, session


class Trace(Protocol):
    """A function that was traced for an edit; `edits.TracedFunction` is one.

    `graph` is its FuncGraph, `alias` maps ops of that to the names that they are shown by, `given`
    placeholders to the tensors that they represent.
    """

    @property
    def graph(self) -> FuncGraph: ...  # noqa: D102

    @property
    def alias(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def input_sources(self) -> Mapping[str, str]: ...  # noqa: D102

    def name_in(self, scope: str, op: str) -> str:
        """The name of an op of the function where it was put, in a scope or as a single op."""

    def op_in(self, scope: str, name: str) -> str | None:
        """The op of the function with this name where it was put, see `name_in`; else None."""


def _stands_for_state(index: GraphIndex, name: str) -> bool:
    """Whether an op that represented state still does: `freeze` makes a Const of it."""
    op = index.ids[name]
    return index.types[op] not in CONSTANTS and all(
        text[:1] == "^" for text in index.nodes[op].input
    )


def find_operation(graph: tf.Graph, name: str) -> tf.Operation | None:
    """The op of a graph; None when there is none of that name."""
    try:
        return graph.get_operation_by_name(name)
    except KeyError:  # an edit has added or renamed it
        return None


@dataclass(frozen=True, eq=False)
class GraphState(SessionState):
    """The state of ops of a graph itself, for a part of it that becomes a function.

    Attributes:
        index: The graph as edits have left it.
        renamed: The names that ops had when the graph was opened, by those that edits have given
            them.
    """

    index: GraphIndex
    renamed: Mapping[str, str]

    @cached_property
    def _origins(self) -> Mapping[str, str]:
        index, there = self.index, {node.name for node in self.source.body.nodes()}
        names = [index.names[i] for i in np.flatnonzero(persistent_state(index)).tolist()]
        origins = {name: name if name in there else self.renamed.get(name, name) for name in names}
        return {name: origin for name, origin in origins.items() if origin in there}


@dataclass(frozen=True, eq=False)
class EditedState:
    """The state of a body after edits.

    Attributes:
        original: The state of the body as it was opened.
        index: The body as it is now: an op that is gone, or that an edit has made a constant or a
            result of other ops, represents no state.
        new: The variables and tensors that ops of edits capture, by op.
        traces: The traces of functions that made ops, by the name scopes of these.
        names_before: The names that ops had when the body was opened, by those that edits gave
            them.
    """

    original: BodyState
    index: GraphIndex
    new: Mapping[str, Any]
    traces: Mapping[str, Trace]
    names_before: Mapping[str, str]

    @cached_property
    def names(self) -> frozenset[str]:
        """The ops that represent state now."""
        index = self.index
        renamed = {
            now for now, before in self.names_before.items() if before in self.original.names
        }
        names = self.original.names | renamed | self.new.keys()
        return frozenset(
            name for name in names if name in index.ids and _stands_for_state(index, name)
        )

    def _before(self, name: str) -> str:
        """The name of the state in the body as read; one read since has the new name."""
        return name if name in self.original.names else self.names_before.get(name, name)

    @property
    def graph(self) -> FuncGraph | None:
        """The FuncGraph that the body was read from."""
        return self.original.graph

    def operation(self, name: str) -> tf.Operation | None:
        """Return the op of a FuncGraph that `name` in the body was read from, or an edit traced."""
        before = self.names_before.get(name, name)
        if before in self._names_now and before == name:  # a new op under the name that another had
            return None
        for scope, trace in self.traces.items():
            op = trace.op_in(scope, before)
            if op is not None:
                return find_operation(trace.graph, op)
        operation: tf.Operation | None = self.original.operation(before)
        return operation

    def tensor_name(self, tensor: tf.Tensor) -> str | None:
        """Return the name in the body of a `tensor` of such a FuncGraph."""
        for scope, trace in self.traces.items():
            if tensor.graph is trace.graph:
                op, port = split_tensor(rename_tensor(tensor.name, trace.alias))
                return self._now(trace.input_sources.get(op, f"{trace.name_in(scope, op)}:{port}"))
        name: str | None = self.original.tensor_name(tensor)
        return None if name is None else self._now(name)

    def _now(self, tensor: str) -> str:
        """The name that a tensor of the body as it was opened has now."""
        return rename_tensor(tensor, self._names_now)

    @cached_property
    def _names_now(self) -> Mapping[str, str]:
        """The names that ops have now, by those that they had when the body was opened."""
        return {before: now for now, before in self.names_before.items()}

    def live(self, name: str) -> Variable | Tensor | None:
        """The live variable or tensor that the op `name` represents.

        A variable that an edit made trainable, or not, is another one of its value.
        """
        element: Variable | None = (
            self.new[name] if name in self.new else self.original.live(self._before(name))
        )
        now = self.index.defined_variables.get(name)
        if (
            element is None
            or now is None
            or self._trainable_before.get(name) == now.trainable
            or getattr(element, "trainable", None) in (None, now.trainable)
        ):
            return element
        if name not in self._same:
            self._same[name] = variable_view(element, trainable=now.trainable)
        return self._same[name]

    @cached_property
    def _trainable_before(self) -> Mapping[str, bool]:
        """Whether each variable was trainable before the edits."""
        return {variable.handle: variable.trainable for variable in self.index.variable_defs}

    @cached_property
    def _same(self) -> dict[str, tf.Variable]:
        """The variables that are trainable, or not, as an edit asks for."""
        return {}

    def values(self, names: Iterable[str], init: str) -> Mapping[str, np.ndarray]:
        """Values of those of `names` that are not live, as `init` says; new ones are."""
        names_before = {name: self._before(name) for name in names}
        values = self.original.values(names_before.values(), init)
        return {name: values[before] for name, before in names_before.items() if before in values}

    def saved_gradient(self, op: str) -> SavedGradient | None:
        """The gradient that a file has for the op `op`, by the names of the body now."""
        gradient: SavedGradient | None = self.original.saved_gradient(self.names_before.get(op, op))
        if gradient is None:  # a body that was read since has the new names
            return self.original.saved_gradient(op)
        inputs, captured = (
            tuple(map(self._now, names)) for names in (gradient.inputs, gradient.captured)
        )
        return replace(gradient, inputs=inputs, captured=captured)

    def table(self, name: str, dtypes: Pairs) -> Table | None:
        """Keys and values, of these `dtypes`, of the lookup table `name`."""
        if name in self.new:
            return _export_table(self.new[name], dtypes)
        return self.original.table(self._before(name), dtypes)


def _export_table(
    table: Tensor, dtypes: Pairs, run: Callable[[tuple[Tensor, ...]], Iterable[object]] = tuple
) -> Table | None:
    """What a lookup table holds; None for other ops and dtypes, and for what is unknown.

    That is a static table that is not initialized, a table of resources or variants, and a
    `DenseHashTable`.
    """
    for keys, values in dtypes:
        if tf.as_dtype(values).name in HANDLE_DTYPES or not _may_have_dtypes(
            table, keys, values, run
        ):
            continue
        with suppress(
            tf.errors.InvalidArgumentError,
            tf.errors.NotFoundError,
            tf.errors.FailedPreconditionError,
            tf.errors.AbortedError,  # a static table that is not initialized
        ):
            contents = run(
                tf.raw_ops.LookupTableExportV2(table_handle=table, Tkeys=keys, Tvalues=values)
            )
            table_keys, table_values = contents
            return _readable_table(Table(table_keys, table_values, _is_mutable(table, keys, run)))
    return None


def _readable_table(table: Table) -> Table | None:
    """What a table gave; None for all buckets of a `DenseHashTable`, whose keys are a matrix."""
    return table if len(table.keys.shape) == 1 else None


def _is_mutable(
    table: Tensor, keys: int, run: Callable[[tuple[Tensor, ...]], Iterable[object]]
) -> bool:
    """Whether a table can be written: a static one refuses even that no key is removed."""
    try:
        tuple(
            run(
                (
                    tf.raw_ops.LookupTableRemoveV2(
                        table_handle=table, keys=tf.zeros([0], tf.as_dtype(keys))
                    ),
                )
            )
        )
    except tf.errors.UnimplementedError:
        return False
    return True


def _may_have_dtypes(
    table: Tensor, keys: int, values: int, run: Callable[[tuple[Tensor, ...]], Iterable[object]]
) -> bool:
    """Whether a lookup of no key does not refuse these dtypes; exporting others ends the process.

    (test_tensorflow_facts.py::test_a_lookup_refuses_dtypes_by_which_an_export_of_a_table_would_end_the_process)
    """
    try:
        nothing = tf.zeros([0], tf.as_dtype(keys)), tf.zeros([], tf.as_dtype(values))
        tuple(
            run(
                (
                    tf.raw_ops.LookupTableFindV2(
                        table_handle=table, keys=nothing[0], default_value=nothing[1]
                    ),
                )
            )
        )
    except (tf.errors.OpError, ValueError) as error:
        return not any(refusal in str(error) for refusal in ("Signature mismatch", "wrong dtype"))
    return True


def _constants(body: Body) -> dict[str, Tensor]:
    """The values that a call feeds to arguments, as eager tensors."""
    return {
        name: tf.constant(tf.make_ndarray(node.attr["value"].tensor))
        for name, node in body.constants.items()
    }


def _read(
    body: Body, session: tf.compat.v1.Session, origins: Mapping[str, str], init: str
) -> dict[str, np.ndarray]:
    """The value of each variable, read in one run without a new op."""
    index = build(body.nodes(), *body.collections())
    variables = definitions(index, [index.ids[origin] for origin in origins.values()]).values()
    tensors = {
        name: _tensor(name, variable, init)
        for name, variable in zip(origins, variables, strict=True)
    }
    try:
        values: dict[str, np.ndarray] = session.run(tensors)
    except tf.errors.OpError as error:
        raise SessionRefused(
            f"The session cannot read the values of {names_text(list(tensors))}: "
            f"{error_text(error)}; initialize the graph's variables first.",
            list(tensors),
        ) from error
    return values


def _tensor(name: str, variable: VariableDef, init: str) -> str:
    if init == "initial":
        if variable.initial_value is None:
            raise SessionRefused(
                f"Variable {name!r} came without its initial value; "
                + clone_with("init", "current")
                + ".",
                [name],
            )
        return variable.initial_value
    if variable.resource and variable.snapshot is None:
        raise SessionRefused(
            f"Variable {name!r} has no op that reads its value; add tf.raw_ops.ReadVariableOp on "
            "it, and open the graph again.",
            [name],
        )
    return variable.snapshot or variable.name
