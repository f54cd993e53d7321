"""GraphRun: a graph that is run aside, on feeds, with the values of its variables."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tfgraphwidget import edits, runtime, sources
from tfgraphwidget.editor import function_bodies
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import GraphIndex, called_functions, definitions, key_of
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import either

if TYPE_CHECKING:
    from tfgraphwidget.edits import Patch
    from tfgraphwidget.graph import BodyState, VariableDef

VariableKey = tuple[str, bytes, str]
"""Kind, container and key of the state of a variable."""
Values = Mapping[VariableKey, object]
Feeds = Mapping[str, object]
Fetch = tuple[Sequence[str], Feeds]
"""Names of outputs, and feeds."""
Renames = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class GraphRun:
    """A graph that can be run: `index` is it, and `body` of `source` is where its state is.

    `patches` are the edits that made it; `readers` gives what reads the values of a file's
    variables, by handle op. `axes` are the orders in which a converted model's tensors have the
    axes of the graph that it is compared with.
    """

    source: sources.Source
    body: sources.Body
    index: GraphIndex
    patches: tuple[edits.Patch, ...] = ()
    readers: Callable[[], Mapping[str, Callable[[], object]]] = dict
    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def is_body(self) -> bool:
        """Whether it is a function's."""
        return self.body is not self.source.body or bool(self.source.refusal)

    def outputs(self, patches: Iterable[Patch]) -> dict[str, str]:
        """The outputs of the function or signature: {tensor after some edits: tensor before}.

        A result that the edits, oldest first, have removed is none.
        """
        signature = self.source.signature
        if self.is_body:
            outputs = self.body.returns
        else:
            outputs = {} if signature is None else dict(signature.outputs)
        now = edits.track_boundary((), outputs, patches)[1]
        remaining = {
            key: tensor for key, tensor in now.items() if split_tensor(tensor)[0] in self.index.ids
        }
        return {remaining[key]: name for key, name in outputs.items() if key in remaining}

    @cached_property
    def state(self) -> BodyState:
        """The state that a function's body reads: captured variables and tables."""
        return function_bodies.edited_state(self.source, self.body, self.index, self.patches)

    def check_fed(self, tensors: Sequence[str], feeds: Feeds) -> None:
        """Raise when the tensors need a placeholder that has no value."""
        self._check_run_as_a_whole(tensors)
        runtime.measure.probe.check_feeds(
            self.index, tensors, feeds, self.state.names if self.is_body else ()
        )

    def placeholders(self, tensors: Sequence[str]) -> tuple[str, ...]:
        """The placeholders that tensors need values of. Raises GraphEditError for a handle."""
        return runtime.measure.probe.needed_placeholders(
            self.index, tensors, (), self.state.names if self.is_body else ()
        )

    def without_handles(self, tensors: Sequence[str], feeds: Feeds) -> tuple[str, ...]:
        """The tensors that can be fetched: no handles, and none that depends on one being fed."""
        return runtime.measure.probe.without_handles(
            self.index, tensors, feeds, self.state.names if self.is_body else ()
        )

    def values(
        self, outputs: Sequence[str], feeds: Feeds, known_values: Values
    ) -> dict[VariableKey, object]:
        """The values of the variables that the outputs need, by kind, container and key of the
        state, those of `known_values`, which are not read again, included; a function's body has
        none. Raises SessionRefused for a variable without a value, or where the session cannot run.
        """
        if self.is_body:
            return {}
        variables = {
            self._key(v): v
            for v in runtime.sandbox.evaluation.variables_for(self.index, outputs, feeds)
        }
        unknown = {key: v for key, v in variables.items() if key not in known_values}
        read = self._read(unknown.values()) if unknown else {}
        return {**known_values, **{key: read[v.handle] for key, v in unknown.items()}}

    def _read(self, variables: Collection[VariableDef]) -> Mapping[str, object]:
        readers = self.readers()
        read = {v.handle: readers[v.handle]() for v in variables if v.handle in readers}
        others = [v for v in variables if v.handle not in readers]
        return {**read, **self._read_from_session(others)} if others else read

    def _read_from_session(self, variables: Collection[VariableDef]) -> Mapping[str, object]:
        graph, session = self.source.graph, self.source.session
        if graph is not None and session is not None:
            sessions.check_session(session, graph)
        try:
            return sessions.read_variables(self.source, self.source.body, variables)
        except sessions.MissingValues as error:  # it proposes what a clone could do
            missing = error.missing
            raise sessions.MissingValues(
                missing, f"{missing}; run {missing.initializers} first."
            ) from None

    def run(
        self, outputs: Sequence[str], feeds: Feeds, values: Values
    ) -> list[runtime.sandbox.evaluation.Array]:
        """The outputs, in order, run aside with the values of variables that `values` returns; a
        function's body has the values of its variables itself. Raises GraphEditError where a part
        of such a body cannot be copied, and SessionRefused where the graph cannot run.
        """
        converted_model = self.source.converted_model
        if converted_model is not None:
            self._check_run_as_a_whole(outputs)
            arrays = runtime.sandbox.run_converted_model(converted_model, outputs, feeds)
            return [
                array.transpose(self.axes[name]) if name in self.axes else array
                for name, array in zip(outputs, arrays, strict=True)
            ]
        if self.is_body:
            return runtime.sandbox.evaluation.run_body(
                self.index, self.state, outputs, feeds, self.source.trust
            )
        mine = {
            v.handle: values[self._key(v)]
            for v in runtime.sandbox.evaluation.variables_for(self.index, outputs, feeds)
        }
        return runtime.sandbox.evaluation.run_graph(
            self.index, outputs, feeds, mine, self.source.trust
        )

    def _check_run_as_a_whole(self, tensors: Sequence[str]) -> None:
        """Raise where tensors are of a function that a converted model calls."""
        model = self.source.converted_model
        if model is not None and self.is_body:
            raise SessionRefused(
                f"{names_text(tensors)}: {model.runtime} runs a model as a whole, and gives no "
                "tensor of a function that it calls; probe the outermost graph"
                + either(", where editor.view.leave(0) goes.", ".")
            )

    def runner(
        self, outputs: Sequence[str], fed: Collection[str], values: Values
    ) -> Callable[[Feeds], list[runtime.sandbox.evaluation.Array]]:
        """What computes the outputs for values of the tensors `fed`, several times; see `run`."""
        if self.is_body:
            return runtime.sandbox.evaluation.body_runner(
                self.index, self.state, outputs, fed, self.source.trust
            )
        return lambda feeds: self.run(outputs, feeds, values)

    def weights(self, handles: Sequence[str]) -> dict[str, object]:
        """The values of variables by the names of their handle ops, as far as they have any."""
        if not handles:
            return {}
        if self.is_body:
            return self._captured_values(handles)
        ids = [self.index.ids[name] for name in handles]
        variables = definitions(self.index, ids).values()
        with contextlib.suppress(SessionRefused):
            return dict(self._read(tuple(variables)))
        values: dict[str, object] = {}
        for variable in variables:  # one of them has no value
            with contextlib.suppress(SessionRefused):
                values |= self._read((variable,))
        return values

    def weight(self, handle: str) -> object:
        """The value of the variable of a handle op; None where it has none."""
        with contextlib.suppress(GraphEditError):
            return self.weights([handle]).get(handle)
        return None

    def _captured_values(self, handles: Sequence[str]) -> dict[str, object]:
        """The values of variables that a function's body captures."""
        state = self.state
        live = {name: state.live(name) for name in handles if name in state.names}
        stored = [name for name, variable in live.items() if variable is None]
        values = state.values(stored, "current") if stored else {}
        arrays = {name: each.numpy() for name, each in live.items() if hasattr(each, "numpy")}
        return {**arrays, **values}

    def open_called(self, op: int, label: str) -> tuple[GraphRun, str, tuple[str, ...]]:
        """The body of the function that an op calls as `label`, to be run with the state that it
        has there; the function's name, and the tensors that are its arguments in their order, ""
        for those that are state, of which the body has the values.
        """
        node = self.index.nodes[op]
        references = called_functions(node, self.index.functions)
        function = next(each.function for each in references if each.label == label)
        body = sources.open_function(function, self.body, self.index, op)
        index = sources.body_index(body)
        arguments = tuple(
            "" if each.name in body.alias else f"{each.name}:0"
            for each in body.function(function).signature.input_arg
        )
        return GraphRun(self.source, body, index), function, arguments

    def _key(self, variable: VariableDef) -> tuple[str, bytes, str]:
        return key_of(self.index, self.index.ids[variable.handle])
