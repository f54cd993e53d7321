"""Copy: the result of a clone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from os import PathLike, fspath
from typing import Any, NamedTuple, cast

from tfgraphwidget.argument_checks import ArgumentChecks, value_text
from tfgraphwidget.edits import Preview
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import VariableDef
from tfgraphwidget.naming import count_text, split_tensor
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.runtime.live.graph_import import check_open
from tfgraphwidget.runtime.sync.sync import Model, Sync
from tfgraphwidget.sources import unwrap_session
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import is_slice
from tfgraphwidget.tf_types import Graph, Operation, Saver, Session, Tensor, Variable


@cache
def _graph_saver() -> Callable[..., Saver]:
    """A class of Savers whose ops are in one graph, whatever the default graph is."""

    class GraphSaver(tf.compat.v1.train.Saver):  # type: ignore[misc]
        """A Saver of one graph."""

        def __init__(self, graph: tf.Graph, variables: object, **options: object) -> None:
            check_open(graph)
            self._graph = graph
            with graph.as_default():
                super().__init__(variables, **options)

        def save(self, *arguments: object, **options: object) -> str:
            """Save like `tf.compat.v1.train.Saver.save`."""
            with self._graph.as_default():
                path: str = super().save(*arguments, **options)
            return path

        def restore(self, *arguments: object, **options: object) -> None:
            """Restore like `tf.compat.v1.train.Saver.restore`."""
            with self._graph.as_default():
                super().restore(*arguments, **options)

    return GraphSaver


def saver(
    graph: tf.Graph, keyed: Iterable[tuple[str, tf.Variable]], **options: object
) -> tf.compat.v1.train.Saver:
    """Return a Saver of (name in the checkpoint, variable); slices of one partitioned variable have
    one name.

    Args:
        graph: The live graph.
        keyed: Pairs of a name in the checkpoint and a variable.
        **options: The other arguments of `tf.compat.v1.train.Saver`.
    """
    by_key: dict[str, list[tf.Variable]] = {}
    for key, variable in keyed:
        by_key.setdefault(key, []).append(variable)
    sliced = {
        key: variables if is_slice(variables[0]) else variables[0]
        for key, variables in by_key.items()
    }
    options = {"allow_empty": True, **options}  # a copy may have no variables of its own
    return cast("tf.compat.v1.train.Saver", _graph_saver()(graph, sliced, **options))


class CopyInGraph(NamedTuple):
    """A copy in TensorFlow's graph: the new `tf.Variable`s, and the graphs of the originals and of
    the copy.
    """

    variables: tuple[tf.Variable, ...]
    models: tuple[Model, Model]


@dataclass(frozen=True, eq=False)
class Copy(ArgumentChecks):
    """The result of a clone: `copy["net/logits:0"]` is the copy of that tensor,
    `copy["net/logits"]` of that op.

    `name in copy` says whether an op or tensor of the original was copied.

    Attributes:
        scope: The name scope of the copy.
        ops: The names of the new ops.
        outside: The tensors (and, as "^op", control inputs) of the original that the copy reads.
        shared: The names of the state that it shares with the original.
        report: What is new, shared and removed.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
    >>> copy["net/logits:0"].name, [variable.name for variable in copy.variables], copy.outside
    ('copy/net/logits:0', ['copy/net/hidden/w:0', 'copy/net/hidden/b:0', 'copy/net/w:0'], ('x:0',))
    >>> editor.session.run(copy["net/logits:0"], {"x:0": [[1, 2, 3, 4]]}).shape
    (1, 3)
    """

    scope: str
    ops: tuple[str, ...]
    outside: tuple[str, ...]
    shared: tuple[str, ...]
    report: Preview
    _names: Mapping[str, str] = field(repr=False)
    _keys: Callable[[], Mapping[str, str]] = field(repr=False)
    _pairs: Callable[[], tuple[tuple[VariableDef, VariableDef], ...]] = field(repr=False)
    _in_graph: Callable[[], CopyInGraph] = field(repr=False)
    _variable_count: int = field(repr=False)
    _syncs: list[tuple[Session | None, Sync]] = field(default_factory=list, init=False, repr=False)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The new `tf.Variable`s, in graph order. A file is imported for them.

        >>> import tfgraphwidget as tgw
        >>> copy = tgw.example().clone("x:0", "net/logits:0", into="copy")
        >>> [variable.name for variable in copy.variables]
        ['copy/net/hidden/w:0', 'copy/net/hidden/b:0', 'copy/net/w:0']
        """
        return self._in_graph().variables

    @property
    def graph(self) -> Graph:
        """The graph of the copy. A file is imported for it.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.clone("x:0", "net/logits:0", into="copy").graph is editor.graph
        True
        """
        return self._models[1].graph

    @property
    def _models(self) -> tuple[Model, Model]:
        """The graphs of the originals and of the copy, with their sessions."""
        return self._in_graph().models

    def __getitem__(self, original: Any) -> Any:
        """Return the copy's tensor, op or variable for the original's (a name, `tf.Tensor`,
        `tf.Operation`, `tf.Variable`).

        For a tensor that a placeholder or another tensor replaces, that one is returned.

        Raises:
            UnknownName: It was not copied.
        """
        name = original if isinstance(original, str) else getattr(original, "name", None)
        graph = getattr(original, "graph", None)
        if graph is None:
            elsewhere = hasattr(original, "initializer")
        else:
            elsewhere = graph is not self._models[0].graph
        if not isinstance(name, str) or elsewhere:
            raise UnknownName(
                f"{value_text(original)} names nothing that was copied into {self.scope!r}; give a "
                "name, a tensor, an op or a variable of the original's graph."
            )
        if hasattr(original, "initializer"):
            variable_name = f"{self._names.get(original.op.name, '')}:0"
            variable = next((v for v in self.variables if v.name == variable_name), None)
            if variable is None:
                raise UnknownName(
                    f"{name!r} has no variable of its own in {self.scope!r}; it is shared, or not "
                    "in it."
                )
            return variable
        op, port = split_tensor(name)
        for candidate in (name, f"{op}:0") if port is None else (name,):
            if candidate in self._names:
                return self.graph.as_graph_element(self._names[candidate])
        if op not in self._names:
            raise UnknownName(
                f"{name!r} was not copied into {self.scope!r}; the copy has {len(self.ops)} other "
                "ops."
            )
        return self.graph.as_graph_element(self._names[op] + ("" if port is None else f":{port}"))

    __iter__ = None  # else Python would take the numbers from 0 on for names

    def __contains__(self, original: object) -> bool:
        """Return whether the original's op or tensor was copied or replaced."""
        name = original if isinstance(original, str) else getattr(original, "name", "")
        return name in self._names or split_tensor(str(name))[0] in self._names

    def sync(self, tau: float = 1.0, *, session: Session | None = None) -> None:
        """Assign the current values of the originals to the copy's variables, in one `session.run`:
        all, or none.

        Args:
            tau: The share of the originals' values (Polyak averaging): a variable becomes (1 - tau)
                of its own value plus tau of the original's. Variables of integers, booleans and
                strings are copied.
            session: Another session of the copy's graph; the values still come from the original's
                session.

        Raises:
            SessionRefused: A variable has no value, the session is closed, or servers do not
                respond.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> copy.sync()
        >>> copy.drift()
        {'net/hidden/w:0': 0.0, 'net/hidden/b:0': 0.0, 'net/w:0': 0.0}
        """
        self._sync(session).sync(tau)

    @property
    def sync_op(self) -> Operation:
        """One op that copies the originals' values whenever it is run, for a training loop; made on
        first use.

        Asked for under `tf.control_dependencies`, it reads after these. Raises GraphEditError for a
        copy in another graph than its originals, whose values only `sync()` brings over.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> editor.session.run(copy.sync_op)
        >>> max(copy.drift().values())
        0.0
        """
        return self._sync(None).op()

    def mix_op(self, tau: float | Tensor) -> Operation:
        """Return an op that mixes the originals' values into the copy's, as `sync_op` copies them.

        Args:
            tau: The share of the originals' values, from 0 to 1: a number, or a scalar tensor of
                the copy's graph.

        Returns:
            The op, to be run in the session.

        Raises:
            GraphEditError: `tau` is neither.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> before = copy.drift()["net/w:0"]
        >>> editor.session.run(copy.mix_op(0.5))
        >>> round(copy.drift()["net/w:0"] / before, 3)
        0.5
        """
        return self._sync(None).op(tau)

    def drift(self, *, session: Session | None = None) -> dict[str, float]:
        """Return the distance of each variable from its original, by the original's name: the
        largest absolute difference.

        It is 0.0 if they are equal; for booleans and strings 1.0 if any differ; inf where only one
        is NaN.

        Args:
            session: Another session of the copy's graph.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> {name: distance > 0 for name, distance in copy.drift().items()}
        {'net/hidden/w:0': True, 'net/hidden/b:0': True, 'net/w:0': True}
        """
        return self._sync(session).drift()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the originals' current values to a checkpoint, under the names of `saver()`; `load`
        reads it.

        Args:
            path: The prefix of the checkpoint.

        Raises:
            GraphEditError: It cannot be written there.
            SessionRefused: A variable has no value.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/values"
        >>> copy.save(path)
        >>> copy.load(path)
        """
        self._sync(None).save(fspath(path))

    def load(self, path: str | PathLike[str], *, session: Session | None = None) -> None:
        """Load the values that a checkpoint has for the originals into the copy: all, or none.

        Args:
            path: The prefix of the checkpoint.
            session: Another session of the copy's graph to load them in.

        Raises:
            GraphEditError: The checkpoint cannot be read, or lacks a value.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/values"
        >>> copy.save(path)
        >>> copy.load(path)
        >>> max(copy.drift().values())
        0.0
        """
        self._sync(session).load(fspath(path))

    @property
    def model(self) -> Model:
        """The graph of the copy, with its session."""
        return self._models[1]

    def _sync(self, session: Session | None) -> Sync:
        if any(v.op.name in record_of(self.graph).hidden for v in self.variables):
            raise GraphEditError(
                f"The copy {self.scope!r} was undone, so it has no values to sync; redo it first."
            )
        source, target = self._models
        session = unwrap_session(session)
        if session is not None:
            target = Model(self.graph, session)
        earlier = next((sync for other, sync in self._syncs if other is session), None)
        if earlier is not None:
            return earlier
        pairs = self._pairs()
        sync = Sync(pairs, source, target, self.scope, keys=self._keys)
        self._syncs.append((session, sync))
        return sync

    def saver(self, /, **options: object) -> Saver:
        """Return a new `tf.compat.v1.train.Saver` of these variables, under the originals' names in
        checkpoints.

        So a checkpoint of the original restores the copy, and one of the copy the original. The
        Saver adds its ops to the graph.

        Args:
            **options: Options of the Saver; its `filename` is left to save and restore.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> import tempfile
        >>> path = copy.saver().save(editor.session, tempfile.mkdtemp() + "/values")
        >>> import tensorflow as tf
        >>> tf.train.list_variables(path)
        [('net/hidden/b', [8]), ('net/hidden/w', [4, 8]), ('net/w', [8, 3])]
        """
        keys = self._keys()
        new: Saver = saver(self.graph, [(keys[v.name], v) for v in self.variables], **options)
        return new

    def __repr__(self) -> str:
        variables = count_text(self._variable_count, "variable")
        return f"<Copy {self.scope!r}: {count_text(len(self.ops), 'op')}, {variables} of its own>"
