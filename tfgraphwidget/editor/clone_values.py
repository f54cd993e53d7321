"""The initial values of a clone's variables: found before the graph changes, loaded afterwards in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfgraphwidget.edits import Patch, apply_patch
from tfgraphwidget.edits.clone import INITS, is_checkpoint
from tfgraphwidget.errors import GraphEditError, NotClonable, SessionRefused
from tfgraphwidget.graph import (
    TABLE,
    GraphIndex,
    VariableDef,
    definitions,
    first_contents,
    initializers,
    kind_of,
    persistent_state,
)
from tfgraphwidget.naming import did_you_mean, split_tensor
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.session import TimedSession, copy_tables, initial_values, variable_values
from tfgraphwidget.sources import Checkpoint, variable_slice
from tfgraphwidget.sources import checkpoint_keys as keys_by_handle
from tfgraphwidget.tf_types import Graph, Session


@dataclass(frozen=True)
class GraphSession:
    """A graph with its session; `index` is the graph before the clone."""

    index: GraphIndex
    graph: Graph
    session: Session | None


def value_loader(patch: Patch, origin: GraphSession, target: GraphSession) -> Callable[[], None]:
    """What loads the values once the copies are in the target graph; what can be refused is refused now."""
    own = patch.add.variables
    starters, tables = _starters(patch, origin.index), _tables(patch, origin.index)
    if patch.init == "none" or not (own or starters or tables):
        return lambda: None
    if target.session is None:
        give = (
            "give tgw.edit(graph, session=session)"
            if origin.graph is target.graph
            else "give session=, a session of that graph"
        )
        raise SessionRefused(
            f'There is no session to initialize the copied variables in; {give}, or clone with init="none".'
        )
    variable_values.check_session(target.session, target.graph)
    originals = {copy: original for original, copy in patch.add.copies}
    session: Any = TimedSession(target.session)
    found = _ValueFinder(patch, origin, target, originals)
    tell("Finding the values of the variables")
    loaded = found.values(own)
    if tables and origin.session is not None:
        variable_values.check_session(origin.session, origin.graph)
    runnable = found.starters(starters, loaded)

    def fill() -> None:
        tell("Loading the values of the variables")
        variable_values.load_values(session, [v for v in own if v.handle in loaded], loaded)
        variable_values.run_starters(session, runnable)
        if tables and origin.session is not None:
            copy_tables(tables, origin.graph, origin.session, target.graph, target.session)

    return fill


def checkpoint_keys(patch: Patch, origin: GraphSession) -> dict[str, str]:
    """Name of each copied variable ("copy/w:0") -> the name that its original's value has in checkpoints."""
    paired = variable_pairs(patch, origin)
    names = keys_by_handle(origin.index.nodes, [original for original, _ in paired])
    return {copy.name: names[original.handle] for original, copy in paired}


def variable_pairs(patch: Patch, origin: GraphSession) -> tuple[tuple[VariableDef, VariableDef], ...]:
    """Each original variable with its copy."""
    known, index = {copy: original for original, copy in patch.add.copies}, origin.index
    handles = [index.ids[known[v.handle]] for v in patch.add.variables]
    originals = definitions(index, handles)
    return tuple((originals[i], v) for i, v in zip(handles, patch.add.variables, strict=True))


def _starters(patch: Patch, index: GraphIndex) -> list[str]:
    """The copied ops that fill tables and iterators so that they work at once; those that wait to be fed do not."""
    originals = {index.ids[original] for original, _ in patch.add.copies if original in index.ids}
    starters = {index.names[i] for i in first_contents(index, originals)}
    return [copy for original, copy in patch.add.copies if original in starters]


def _tables(patch: Patch, index: GraphIndex) -> dict[str, str]:
    """Original -> copy of the hash tables whose present contents go along: those that no initializer gives the same."""
    if not (patch.init == "current" or isinstance(patch.init, tuple)):
        return {}
    tables = {a: b for a, b in patch.add.copies if a in index.ids and kind_of(index.types[index.ids[a]]) == TABLE}
    tables = {a: b for a, b in tables.items() if persistent_state(index)[index.ids[a]]}
    ops = {index.ids[original] for original, _ in patch.add.copies if original in index.ids} if tables else set()
    starters = set(first_contents(index, ops))
    return {
        a: b
        for a, b in tables.items()
        if index.types[index.ids[a]].startswith("Mutable") or starters.isdisjoint(initializers(index, index.ids[a]))
    }


class _ValueFinder:
    """The values of one clone's variables."""

    def __init__(self, patch: Patch, origin: GraphSession, target: GraphSession, originals: Mapping[str, str]) -> None:
        self.patch, self.origin, self.target, self.originals = patch, origin, target, originals

    def values(self, own: tuple[VariableDef, ...]) -> dict[str, Any]:
        """Value of each copy by handle name."""
        init = self.patch.init
        given = {} if isinstance(init, str) else self._given(init, own)
        ways = {v.handle: given.get(v.handle, "current") if given or not isinstance(init, str) else init for v in own}
        found = {handle: way for handle, way in ways.items() if not isinstance(way, str)}
        words = dict.fromkeys(way for way in ways.values() if isinstance(way, str))
        for way in sorted(words, key="initial".__eq__):  # last: it may depend on the others
            some = [v for v in own if isinstance(ways[v.handle], str) and ways[v.handle] == way]
            if way == "current":
                found |= self._current(some)
            elif way == "initial":
                found |= self._initial(some, (), found)
            elif way != "none":
                found |= self._restored(some, way)
        return found

    def starters(self, names: list[str], given: Mapping[str, Any]) -> list[str]:
        """Those that can run, proven in a graph of their own; `given` are the values of the copied variables."""
        self._initial((), names, given)
        return names

    def _originals(self, copies: Iterable[VariableDef]) -> dict[str, VariableDef]:
        index = self.origin.index
        handles = {v.handle: index.ids[self.originals[v.handle]] for v in copies}
        known = definitions(index, handles.values())
        return {copy: known[i] for copy, i in handles.items()}

    def _current(self, copies: list[VariableDef]) -> dict[str, Any]:
        if self.origin.session is None:
            raise SessionRefused(
                "There is no session to take the present values from; give tgw.edit(graph, session=session), "
                'or clone with init="initial" or init="none".'
            )
        variable_values.check_session(self.origin.session, self.origin.graph)
        originals = self._originals(copies)
        unread = [v.handle for v in originals.values() if v.resource and not v.snapshot]
        if unread:
            raise NotClonable(
                f"Variable {unread[0]!r} has no op that reads it without running another op first, so its value could "
                'not be copied; clone with variables="shared" or init="initial", or add a tf.raw_ops.ReadVariableOp.',
                unread,
            )
        session: Any = TimedSession(self.origin.session)
        present = variable_values.current_values(session, originals.values())
        variable_values.check_loadable(session, originals.values(), present)
        return {copy: present[original.handle] for copy, original in originals.items()}

    def _initial(
        self, copies: Iterable[VariableDef], starters: Iterable[str], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        copies, starters = tuple(copies), tuple(starters)
        if not copies and not starters:
            return {}
        after = apply_patch(self.target.index, self.patch)
        assert self.target.session is not None  # else `value_loader` has refused
        extras = self.target.index.extras
        functions = [
            *(extras.function(name) for name in sorted(self.target.index.functions)),
            *self.patch.add.functions,
        ]
        return initial_values.compute_initial_values(
            TimedSession(self.target.session), after, copies, starters, functions, self.originals, given
        )

    def _restored(self, copies: list[VariableDef], path: str) -> dict[str, Any]:
        checkpoint = Checkpoint.of(path)
        missing = checkpoint.missing()
        if missing:
            raise GraphEditError(f"File {missing[0]!r} of the checkpoint is not there.{checkpoint.hint()}")
        originals = self._originals(copies)
        keys = keys_by_handle(self.origin.index.nodes, originals.values())
        found = {}
        for copy, original in originals.items():
            key = keys[original.handle]
            if key not in checkpoint.shapes:
                hint = did_you_mean(key, checkpoint.shapes)
                raise SessionRefused(
                    f"Checkpoint {path!r} has no value {key!r} for variable {original.name!r}; give the variable's "
                    f"value with init={{name: value}}.{hint}",
                    [original.handle],
                )
            found[copy] = self._fitting(
                original, variable_slice(checkpoint.value(key), original), f"Checkpoint {path!r}"
            )
        return found

    def _given(self, pairs: Iterable[tuple[str, Any]], own: tuple[VariableDef, ...]) -> dict[str, Any]:
        """Handle of a copy -> the array, or the word, that was given for it."""
        originals = self._originals(own)
        found: dict[str, Any] = {}
        for name, value in pairs:
            copies = [copy for copy, original in originals.items() if original.handle == split_tensor(name)[0]]
            if not copies:
                hint = did_you_mean(name, [v.handle for v in originals.values()])
                raise GraphEditError(f"init names {name!r}, and the copy has no variable of its own for it.{hint}")
            if isinstance(value, str) and (value in INITS or is_checkpoint(value)):
                found.update(dict.fromkeys(copies, value))
            else:
                found.update((copy, self._fitting(originals[copy], value, f"init[{name!r}]")) for copy in copies)
        return found

    def _fitting(self, variable: VariableDef, value: Any, where: str) -> Any:
        """The value as an array of the variable's dtype and static shape."""
        index = self.origin.index
        handle = index.ids[variable.handle]
        dtype = self.origin.graph.get_operation_by_name(variable.handle).get_attr("dtype").as_numpy_dtype
        array = _as_dtype(value, dtype)
        if array is None:
            name = "string" if dtype is object else np.dtype(dtype).name
            raise GraphEditError(
                f"{where}: the value for {variable.name!r} cannot be converted to {name} without loss; give an array "
                f"of {name}."
            )
        shape = self.origin.graph.get_operation_by_name(variable.handle).get_attr("shape")
        sizes = None if shape.unknown_rank else [dim.size for dim in shape.dim]
        if sizes is not None and (
            len(sizes) != array.ndim or any(a not in (-1, b) for a, b in zip(sizes, array.shape, strict=True))
        ):
            raise GraphEditError(
                f"{where} has shape {array.shape}, and variable {variable.name!r} is of shape {tuple(sizes)}; give a "
                "value of that shape.",
                [index.names[handle]],
            )
        return array


def _as_dtype(value: Any, dtype: Any) -> Any:
    """A value as an array of a dtype; None where it would become another value: 1.7 no integer, 300 no int8."""
    try:
        given = np.asarray(value)
        if dtype is object or given.dtype.kind in "USO":
            texts = given.dtype.kind in "USO" and dtype is object
            return given.astype(object) if texts else None
        array = given.astype(dtype)
        rounds = np.issubdtype(array.dtype, np.inexact) or array.dtype.kind == "V"
        return array if rounds or np.array_equal(array, given) else None
    except (TypeError, ValueError, OverflowError):
        return None
