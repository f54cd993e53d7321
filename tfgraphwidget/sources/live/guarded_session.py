"""Sessions on an untrusted graph: they run what computes, and refuse the ops that do more until the
user trusts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from tfgraphwidget.graph import Effects, Trust, effect_of
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sources.live.graph_body import function_definition
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import control_outputs, find_operation, graph_functions
from tfgraphwidget.tf_types import ConfigProto, FunctionDef, NodeDef


class _NodesOfGraph(Mapping[str, NodeDef]):
    """The NodeDefs of a live graph, read one by one."""

    def __init__(self, graph: tf.Graph) -> None:
        self._graph = graph

    def __getitem__(self, name: str) -> NodeDef:
        node: NodeDef = find_operation(self._graph, name).node_def
        return node

    def __iter__(self) -> Iterator[str]:
        return (op.name for op in self._graph.get_operations())

    def __len__(self) -> int:
        return len(self._graph.get_operations())


class _Guard:
    """Refuses runs on a graph that need an op which does more than compute."""

    def __init__(self, graph: tf.Graph, trust: Trust) -> None:
        self._graph, self._trust = graph, trust
        self._read = 0  # ops that were looked at
        self._read_functions = 0
        self._suspects: list[tf.Operation] = []
        self._suspects_calls = False

    def check(self, fetches: object, feeds: Iterable[object]) -> None:
        """Raise NotTrusted if a run with these feeds needs an op that does more than compute."""
        if self._trust.is_given:
            return
        names = list(_names(self._graph, tf.nest.flatten(fetches, expand_composites=True)))
        if not self._depends_on_suspects(names):
            return
        functions = frozenset(graph_functions(self._graph))
        effects = Effects(
            _NodesOfGraph(self._graph),
            self._function,
            functions,
            self._trust.may_read,
            restores_texts=self._trust.restores_texts,
        )
        self._trust.check(effects.of_run(names, list(_names(self._graph, feeds))))

    def _depends_on_suspects(self, fetches: Iterable[str]) -> bool:
        """Whether a fetch may need an op that does more than compute, which few do."""
        fetched = {find_operation(self._graph, split_tensor(name)[0]) for name in fetches}
        stack = self._find_suspects()
        dependent = set(stack)
        while stack and not fetched & dependent:
            op = stack.pop()
            consumers = {consumer for tensor in op.outputs for consumer in tensor.consumers()} | {
                *control_outputs(op)
            }
            stack += consumers - dependent
            dependent |= consumers
        return not fetched.isdisjoint(dependent)

    def _function(self, name: str) -> FunctionDef:
        return function_definition(graph_functions(self._graph)[name])

    def _find_suspects(self) -> list[tf.Operation]:
        """The ops that may do more than compute, by their type or by what they call."""
        functions = graph_functions(self._graph)
        operations = self._graph.get_operations()
        if len(functions) > self._read_functions:
            bodies = (self._function(name) for name in functions)
            types = {node.op for body in bodies for node in body.node_def} - functions.keys()
            self._suspects_calls |= any(effect_of(op_type).is_dangerous for op_type in types)
            self._suspects, self._read, self._read_functions = [], 0, len(functions)
        calls = functions.keys() if self._suspects_calls else frozenset()
        for op in operations[self._read :]:
            if (
                effect_of(op.type).is_dangerous
                or op.type in calls
                or (calls and _calls_functions(op))
            ):
                self._suspects.append(op)
        self._read = len(operations)
        return [*self._suspects]


_function_attributes: dict[str, bool] = {}
"""Whether ops of a type have attributes that name functions."""


def _calls_functions(op: tf.Operation) -> bool:
    """Whether an op may call a function by an attribute."""
    if op.type not in _function_attributes:
        kinds = {each.type for each in op.op_def.attr}
        _function_attributes[op.type] = not kinds.isdisjoint({"func", "list(func)"})
    return _function_attributes[op.type]


def _names(graph: tf.Graph, elements: Iterable[object]) -> Iterator[str]:
    """The names of ops and tensors; what the session does not know is left to its refusal."""
    for element in elements:
        with suppress(KeyError, TypeError, ValueError):
            yield str(graph.as_graph_element(element).name)


@cache
def _guarded_session() -> type[Any]:
    """The class of sessions that ask before they run."""

    class GuardedSession(tf.compat.v1.Session):  # type: ignore[misc]
        """A session that refuses to run ops of an untrusted file that do more than compute."""

        def __init__(self, graph: tf.Graph, trust: Trust, config: ConfigProto | None) -> None:
            super().__init__(graph=graph, config=config)
            self._guard = _Guard(graph, trust)

        def run(
            self,
            fetches: object,
            feed_dict: object = None,
            options: object = None,
            run_metadata: object = None,
        ) -> Any:
            """Run as a session does; NotTrusted if an op that does more than compute is needed."""
            self._guard.check(fetches, feed_dict if isinstance(feed_dict, Mapping) else ())
            return super().run(fetches, feed_dict, options, run_metadata)

        def make_callable(
            self, fetches: object, feed_list: Any = None, accept_options: bool = False
        ) -> Any:
            """Make a callable as a session does; NotTrusted as for `run`."""
            self._guard.check(fetches, feed_list or ())
            return super().make_callable(fetches, feed_list, accept_options)

        def partial_run_setup(self, fetches: object, feeds: Any = None) -> Any:
            """Begin a partial run as a session does; NotTrusted as for `run`."""
            self._guard.check(fetches, feeds or ())
            return super().partial_run_setup(fetches, feeds)

    return GuardedSession


def open_session(
    graph: tf.Graph, trust: Trust, config: ConfigProto | None = None
) -> tf.compat.v1.Session:
    """Open a session that asks before it runs what does more than compute, unless the graph is
    trusted, which it may be later.
    """
    if trust.is_given:
        return tf.compat.v1.Session(graph=graph, config=config)
    return _guarded_session()(graph, trust, config)
