"""The initial values of a clone's variables: found before the graph changes, loaded afterwards in
one run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from tfgraphwidget import edits, runtime, sources
from tfgraphwidget.errors import GraphEditError, NotClonable, SessionRefused
from tfgraphwidget.graph import (
    TABLE,
    TRUSTED,
    BodyState,
    GraphIndex,
    Trust,
    VariableDef,
    are_compatible,
    definition_of,
    definitions,
    first_contents,
    initializers,
    kind_of,
    persistent_state,
)
from tfgraphwidget.naming import did_you_mean, known_instead, split_tensor
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import (
    OPEN_WITH_CHECKPOINT,
    OPEN_WITH_SESSION,
    clone_with,
    either,
    in_cell,
)
from tfgraphwidget.tf_types import Graph, Session

if TYPE_CHECKING:
    from tfgraphwidget.edits import Patch

Pairs = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class GraphSession:
    """A graph before a clone, with its session; a file that is not imported has neither.

    `named_tensors` are tensors by the names of arguments and results of a signature. `saved_name`
    returns how checkpoints of objects name a variable, by its handle op. `imported` returns this
    graph after TensorFlow has imported it. `fresh` returns new initial values by the variables'
    handles, for a graph made of a function, whose variables' initializers are not in it. `trust`
    says whether its ops may run that do more than compute.
    """

    index: GraphIndex
    graph: Graph | None
    session: Session | None
    named_tensors: Mapping[str, str]
    saved_name: Callable[[str], sources.SavedName] = field(repr=False)
    imported: Callable[[], GraphSession] = field(repr=False)
    fresh: Callable[[], Mapping[str, object]] | None = None
    trust: Trust = TRUSTED


class NoValueInFile(SessionRefused):
    """A file has no value for a variable; what a SavedModel runs at loading may give it one."""


def value_loader(patch: Patch, origin: GraphSession, target: GraphSession) -> Callable[[], None]:
    """Return a function that loads values into the copies later, once the patch is applied to the
    target graph; refuse now what it can. It assigns the variables and fills the tables.

    Raises:
        SessionRefused: There is no session to initialize the copies in, or a variable has no value.
        NotClonable: A variable's value cannot be read.
        GraphEditError: A given value does not fit its variable.
    """
    own = patch.add.variables
    starters, tables = _starters(patch, origin.index), _tables(patch, origin.index)
    if not _begins_with_values(patch, origin):
        return lambda: None
    _check_target(origin, target)
    assert target.session is not None  # it was checked
    originals = {copy: original for original, copy in patch.add.copies}
    session = sessions.TimedSession(target.session)
    finder = _GraphValues(patch, origin, target, originals)
    tell("Finding the values of the variables")
    loaded = {handle: np.asarray(value) for handle, value in finder.values().items()}
    if tables and origin.session is not None:
        sessions.variable_values.check_session(origin.session, origin.graph)
    runnable = finder.starters(starters, loaded)

    def fill() -> None:
        tell("Loading the values of the variables")
        sessions.variable_values.load_values(
            session, [v for v in own if v.handle in loaded], loaded
        )
        sessions.variable_values.run_starters(session, runnable)
        if tables and origin.graph is not None and origin.session is not None:
            assert target.graph is not None
            assert target.session is not None
            sessions.copy_tables(tables, origin.graph, origin.session, target.graph, target.session)

    return fill


def check_values(patch: Patch, origin: GraphSession, target: GraphSession) -> None:
    """Raise what `value_loader` would, as far as it is known without a run and without reading
    values.
    """
    if _begins_with_values(patch, origin):
        _check_target(origin, target)
        originals = {copy: original for original, copy in patch.add.copies}
        _GraphValues(patch, origin, target, originals).check()


def check_file_values(
    patch: Patch, origin: GraphSession, readers: Mapping[str, Callable[[], object]]
) -> None:
    """Raise what `file_values` would; no value is read."""
    if patch.init != "none" and patch.add.variables:
        _FileValues(patch, origin, readers).check()


def _begins_with_values(patch: Patch, origin: GraphSession) -> bool:
    """Whether copies begin with values: variables, or tables and iterators."""
    return bool(patch.init != "none" and patch.add.variables) or needs_session(patch, origin.index)


def _check_target(origin: GraphSession, target: GraphSession) -> None:
    """Raise SessionRefused where there is no session to initialize copies in."""
    if target.session is None:
        if origin.graph is target.graph:
            give = OPEN_WITH_SESSION
        else:
            give = in_cell("give session=, a session of that graph")
        raise SessionRefused(
            "There is no session to initialize the copied variables in; "
            + give
            + ", or "
            + clone_with("init", "none")
            + "."
        )
    sessions.variable_values.check_session(target.session, target.graph)


def needs_session(patch: Patch, index: GraphIndex) -> bool:
    """Whether copies begin with contents of tables or iterators, which only a session has."""
    return patch.init != "none" and bool(_starters(patch, index) or _tables(patch, index))


def file_values(
    patch: Patch, origin: GraphSession, readers: Mapping[str, Callable[[], object]]
) -> tuple[tuple[str, Callable[[], object]], ...]:
    """Readers of the values of variables that a clone adds to a file that is not imported;
    `readers` read those of the originals, by their handle ops.

    Those that begin with what their initializers compute have none. Raises SessionRefused for a
    variable without a value in the file, and GraphEditError for a given value that does not fit its
    variable.
    """
    if patch.init == "none" or not patch.add.variables:
        return ()
    values = _FileValues(patch, origin, readers).values()
    return tuple(
        (
            copy,
            cast("Callable[[], object]", value) if callable(value) else partial(np.asarray, value),
        )
        for copy, value in values.items()
    )


def checkpoint_keys(patch: Patch, origin: GraphSession) -> dict[str, str]:
    """Name of each copied variable ("copy/w:0") -> the key of its original in checkpoints."""
    paired = variable_pairs(patch, origin)
    names = sources.checkpoint_keys(origin.index.nodes, [original for original, _ in paired])
    return {copy.name: names[original.handle] for original, copy in paired}


def variable_pairs(
    patch: Patch, origin: GraphSession
) -> tuple[tuple[VariableDef, VariableDef], ...]:
    """Each original variable with its copy."""
    original_of, index = {copy: original for original, copy in patch.add.copies}, origin.index
    handles = [index.ids[original_of[v.handle]] for v in patch.add.variables]
    originals = definitions(index, handles)
    return tuple((originals[i], v) for i, v in zip(handles, patch.add.variables, strict=True))


def _starters(patch: Patch, index: GraphIndex) -> list[str]:
    """The copied ops that fill tables and iterators at once; not those that wait to be fed."""
    originals = {index.ids[original] for original, _ in patch.add.copies if original in index.ids}
    starters = {index.names[i] for i in first_contents(index, originals)}
    return [copy for original, copy in patch.add.copies if original in starters]


def _tables(patch: Patch, index: GraphIndex) -> dict[str, str]:
    """Original -> copy of the hash tables that no initializer fills with the same contents."""
    if not (patch.init == "current" or isinstance(patch.init, tuple)):
        return {}
    tables = {
        a: b
        for a, b in patch.add.copies
        if a in index.ids and kind_of(index.types[index.ids[a]]) == TABLE
    }
    tables = {a: b for a, b in tables.items() if persistent_state(index)[index.ids[a]]}
    if tables:
        ops = {index.ids[original] for original, _ in patch.add.copies if original in index.ids}
    else:
        ops = set()
    starters = set(first_contents(index, ops))
    return {
        a: b
        for a, b in tables.items()
        if index.types[index.ids[a]].startswith("Mutable")
        or starters.isdisjoint(initializers(index, index.ids[a]))
    }


class VariableValues(ABC):
    """The values that variables of one clone begin with.

    `originals` are the original variables by the keys of their copies, in the order of the copies.
    `saved_name` returns how checkpoints of objects name a variable, by its handle op.
    """

    def __init__(
        self,
        index: GraphIndex,
        init: str | Pairs,
        originals: Mapping[str, VariableDef],
        saved_name: Callable[[str], sources.SavedName],
    ) -> None:
        self.index, self.init, self.originals, self.saved_name = index, init, originals, saved_name

    def values(self) -> Mapping[str, object]:
        """Value of each copy. Raises GraphEditError."""
        values, by_way = self._settings()
        # Initial values last: they may depend on the others.
        for way in sorted(by_way, key="initial".__eq__):
            some = by_way[way]
            if way == "current":
                self.check_current(some)
                values |= self.current(some)
            elif way == "initial":
                values |= self.initial(some, values)
            elif way != "none":
                checkpoint, keys = self._find_stored(some, way)
                for copy, original in some.items():
                    stored = checkpoint.value(keys[original.handle])
                    values[copy] = self._fitting(
                        original, sources.variable_slice(stored, original), f"Checkpoint {way!r}"
                    )
        return values

    def check(self) -> None:
        """Raise GraphEditError where `values` would, as far as no value must be read for that."""
        for way, some in self._settings()[1].items():
            if way == "current":
                self.check_current(some)
            elif way not in ("initial", "none"):
                self._find_stored(some, way)

    def _settings(self) -> tuple[dict[str, object], dict[str, dict[str, VariableDef]]]:
        """The arrays that were given, by copy; and the other originals by copy, by the word or the
        checkpoint that says where their values come from.
        """
        init = self.init
        settings = {} if isinstance(init, str) else self._settings_of(init)
        arrays: dict[str, object] = {}
        by_way: dict[str, dict[str, VariableDef]] = {}
        for copy, original in self.originals.items():
            way = init if isinstance(init, str) else settings.get(copy, "current")
            if isinstance(way, str):
                by_way.setdefault(way, {})[copy] = original
            else:
                arrays[copy] = way
        return arrays, by_way

    @abstractmethod
    def check_current(self, originals: Mapping[str, VariableDef]) -> None:
        """Raise GraphEditError where it is known that present values cannot be read."""

    @abstractmethod
    def current(self, originals: Mapping[str, VariableDef]) -> Mapping[str, object]:
        """The present values of originals, by their copies."""

    @abstractmethod
    def initial(
        self, originals: Mapping[str, VariableDef], others: Mapping[str, object]
    ) -> Mapping[str, object]:
        """The values that initializers of originals compute, by copy."""

    def _find_stored(
        self, originals: Mapping[str, VariableDef], path: str
    ) -> tuple[sources.Checkpoint, dict[str, str]]:
        """A checkpoint, and its keys for originals by handle. Raises where it lacks one."""
        checkpoint = sources.Checkpoint.of(path)
        missing = checkpoint.missing()
        if missing:
            raise GraphEditError(
                either(f"init={path!r}: file", "File")
                + f" {missing[0]!r} of the checkpoint is not there; give the prefix of the files "
                "of one, or "
                + either('init="current", "initial" or "none"', "choose other values")
                + checkpoint.hint()
            )
        keys = sources.checkpoint_keys(self.index.nodes, originals.values())
        if checkpoint.objects and any(key not in checkpoint.shapes for key in keys.values()):
            keys |= sources.keys_of_objects(
                checkpoint, {handle: self.saved_name(handle) for handle in keys}
            )
        for original in originals.values():
            key = keys[original.handle]
            if key not in checkpoint.shapes:
                end = did_you_mean(key, checkpoint.shapes)
                raise SessionRefused(
                    f"Checkpoint {path!r} has no value {key!r} for variable {original.name!r}; "
                    "give the variable's "
                    "value" + either(" with init={name: value}", " in a cell") + end,
                    [original.handle],
                )
        return checkpoint, keys

    def _settings_of(self, pairs: Pairs) -> Mapping[str, object]:
        """Copy -> the array, or the word, that was given for it."""
        originals = self.originals
        settings: dict[str, object] = {}
        for name, value in pairs:
            handle = split_tensor(name)[0]
            parts = [copy for copy in originals if _whole_name(originals[copy]) == handle]
            copies = [copy for copy in originals if originals[copy].handle == handle] or parts
            if not copies:
                end = known_instead(name, [v.handle for v in originals.values()], "it has those of")
                raise GraphEditError(
                    f"init names {name!r}, and the copy has no variable of its own for it{end}"
                )
            if isinstance(value, str) and (
                value in edits.clone.INITS or edits.clone.is_checkpoint(value)
            ):
                settings.update(dict.fromkeys(copies, value))
            else:
                for copy in copies:
                    where, variable = f"init[{name!r}]", originals[copy]
                    own = _own_part(variable, value, where) if copies is parts else value
                    settings[copy] = self._fitting(variable, own, where)
        return settings

    def _fitting(self, variable: VariableDef, value: object, where: str) -> np.ndarray:
        """The value as an array of the variable's dtype and static shape."""
        index = self.index
        handle = index.ids[variable.handle]
        attributes = index.nodes[handle].attr
        dtype = sessions.variable_values.numpy_dtype(attributes["dtype"].type)
        shape = attributes["shape"].shape
        array = _as_dtype(value, dtype)
        if array is None:
            name = "string" if dtype is object else np.dtype(dtype).name
            raise GraphEditError(
                f"{where}: the value for {variable.name!r} cannot be converted to {name} without "
                f"loss; give an array of {name}."
            )
        if not are_compatible(sources.shape_from_proto(shape), array.shape):
            sizes = [dim.size for dim in shape.dim]
            raise GraphEditError(
                f"{where} has shape {array.shape}, and variable {variable.name!r} is of shape "
                f"{tuple(sizes)}; give a value of that shape.",
                [index.names[handle]],
            )
        return array


class _GraphValues(VariableValues):
    """The values of copies in a graph that a session runs."""

    def __init__(
        self, patch: Patch, origin: GraphSession, target: GraphSession, names: Mapping[str, str]
    ) -> None:
        self.patch, self.origin, self.target, self.names = patch, origin, target, names
        index = origin.index
        handles = {v.handle: index.ids[names[v.handle]] for v in patch.add.variables}
        variables = definitions(index, handles.values())
        originals = {copy: variables[i] for copy, i in handles.items()}
        super().__init__(index, patch.init, originals, origin.saved_name)
        self._copies = {v.handle: v for v in patch.add.variables}

    def starters(self, names: list[str], values: Mapping[str, object]) -> list[str]:
        """The initializers that can run, tested in a separate graph with `values` of variables."""
        self._compute((), names, values)
        return names

    def check_current(self, originals: Mapping[str, VariableDef]) -> None:
        """Raise where there is no session to read from, or a variable that nothing reads."""
        if self.origin.session is None:
            raise SessionRefused(
                "There is no session to take the present values from; "
                + OPEN_WITH_SESSION
                + ", or "
                + clone_with("init", "initial", "none")
                + "."
            )
        sessions.variable_values.check_session(self.origin.session, self.origin.graph)
        unread = [v.handle for v in originals.values() if v.resource and not v.snapshot]
        if unread:
            raise NotClonable(
                f"Variable {unread[0]!r} has no op that reads it without running another op first, "
                "so its value could not be copied; "
                + either(
                    'clone with variables="shared" or init="initial"',
                    "choose 'shared with original' under Variables or choose 'initial values' "
                    "under Values",
                )
                + ", or add a tf.raw_ops.ReadVariableOp.",
                unread,
            )

    def current(self, originals: Mapping[str, VariableDef]) -> Mapping[str, object]:
        """The values in the session."""
        assert self.origin.session is not None  # it was checked
        session = sessions.TimedSession(self.origin.session)
        present = sessions.variable_values.current_values(session, originals.values())
        sessions.variable_values.check_loadable(session, originals.values(), present)
        return {copy: present[original.handle] for copy, original in originals.items()}

    def initial(
        self, originals: Mapping[str, VariableDef], others: Mapping[str, object]
    ) -> Mapping[str, object]:
        """The values that the copied initializers compute, or new values for each copy."""
        result: dict[str, object] = {}
        fresh_values: list[Mapping[str, object]] = []
        count: Counter[str] = Counter()
        fresh = self.origin.fresh
        for copy, original in originals.items() if fresh is not None else ():
            if fresh is not None and count[original.handle] == len(fresh_values):
                fresh_values.append(fresh())
            values = fresh_values[count[original.handle]]
            count[original.handle] += 1
            if original.handle in values:
                result[copy] = values[original.handle]
        rest = [self._copies[copy] for copy in originals if copy not in result]
        return {**result, **self._compute(rest, (), {**others, **result})}

    def _compute(
        self, copies: Iterable[VariableDef], starters: Iterable[str], others: Mapping[str, object]
    ) -> Mapping[str, object]:
        copies, starters = tuple(copies), tuple(starters)
        if not copies and not starters:
            return {}
        after = edits.apply_patch(self.target.index, self.patch)
        assert self.target.session is not None  # else `value_loader` has refused
        beside = self.target.index.extras
        functions = [
            *(beside.function(name) for name in sorted(self.target.index.functions)),
            *self.patch.add.functions,
        ]
        present = {handle: np.asarray(value) for handle, value in others.items()}
        return sessions.initial_values.compute_initial_values(
            sessions.TimedSession(self.target.session),
            after,
            copies,
            starters,
            functions,
            self.names,
            present,
            self.target.trust,
        )


class _FileValues(VariableValues):
    """The values of copies in a file, each with what reads it."""

    def __init__(
        self, patch: Patch, origin: GraphSession, readers: Mapping[str, Callable[[], object]]
    ) -> None:
        names = {copy: original for original, copy in patch.add.copies}
        variables = {
            v.handle: definition_of(origin.index, names[v.handle]) for v in patch.add.variables
        }
        super().__init__(origin.index, patch.init, variables, origin.saved_name)
        self._readers = readers

    def check_current(self, originals: Mapping[str, VariableDef]) -> None:
        """Raise NoValueInFile where the file has no value."""
        missing = [v.handle for v in originals.values() if v.handle not in self._readers]
        if missing:
            raise NoValueInFile(
                f"The file has no value for variable {missing[0]!r}; "
                + OPEN_WITH_CHECKPOINT
                + ", or "
                + clone_with("init", "initial")
                + ".",
                missing,
            )

    def current(self, originals: Mapping[str, VariableDef]) -> Mapping[str, object]:
        """The values in the file."""
        return {copy: self._readers[original.handle] for copy, original in originals.items()}

    def initial(
        self,
        originals: Mapping[str, VariableDef],  # noqa: ARG002
        others: Mapping[str, object],  # noqa: ARG002
    ) -> Mapping[str, object]:
        """None: the copied initializers compute them once the graph runs."""
        return {}


class FunctionValues(VariableValues):
    """The values of a tf.Module cloned from a function's body, by the originals' names.

    `fresh` returns new initial values, as in `GraphSession`.
    """

    def __init__(
        self,
        index: GraphIndex,
        init: str | Pairs,
        body_state: BodyState,
        names: Iterable[str],
        fresh: Callable[[], Mapping[str, object]] | None,
        saved_name: Callable[[str], sources.SavedName] = sources.SavedName,
    ) -> None:
        super().__init__(
            index, init, {name: definition_of(index, name) for name in names}, saved_name
        )
        self.body_state, self.fresh = body_state, fresh

    def check(self) -> None:
        """Raise GraphEditError where `values` would, as far as no value must be read for that."""
        super().check()
        if self.fresh is None:
            self._without_live(self._settings()[1].get("initial", {}))

    def check_current(self, originals: Mapping[str, VariableDef]) -> None:
        """Raise nothing: what has no value is found when values are read."""

    def current(self, originals: Mapping[str, VariableDef]) -> Mapping[str, object]:
        """The values of the function's variables, of the session or of the file."""
        return runtime.functions.present_values(self.body_state, [*originals])

    def initial(
        self,
        originals: Mapping[str, VariableDef],
        others: Mapping[str, object],  # noqa: ARG002
    ) -> Mapping[str, object]:
        """The values of a new model of the same configuration, or of a file's initializers."""
        fresh_values = {} if self.fresh is None else self.fresh()
        far = self._without_live(name for name in originals if name not in fresh_values)
        computed = self.body_state.values(far, "initial") if far else {}
        return {
            name: fresh_values[name] if name in fresh_values else computed[name]
            for name in originals
        }

    def _without_live(self, originals: Iterable[str]) -> list[str]:
        """The names of originals whose initializers are known. Raises SessionRefused for one that
        Python made.
        """
        far = [*originals]
        live = [name for name in far if self.body_state.live(name) is not None]
        if live:
            raise SessionRefused(
                f"Variable {live[0]!r} was made by Python, which keeps no initial value of it; "
                + in_cell(f'clone with init="current", or init={{{live[0]!r}: array}}.'),
                live,
            )
        return far


def _whole_name(variable: VariableDef) -> str:
    """The name of the partitioned variable that a variable is a part of; "" for no part."""
    return "" if variable.slice_info is None else variable.slice_info.full_name


def _own_part(variable: VariableDef, value: object, where: str) -> object:
    """The part of a value of a partitioned variable that one of its parts has."""
    assert variable.slice_info is not None
    array, shape = np.asarray(value), tuple(variable.slice_info.full_shape)
    if array.shape != shape:
        raise GraphEditError(
            f"{where} has shape {array.shape}, and partitioned variable "
            f"{_whole_name(variable)!r} is of shape {shape}; give a value of that shape.",
            [variable.handle],
        )
    return sources.variable_slice(array, variable)


def _as_dtype(value: object, dtype: type[np.generic]) -> np.ndarray | None:
    """A value as an array of a dtype; None where it would change: 1.7 no integer, 300 no int8."""
    try:
        source_array = np.asarray(value)
        if dtype is object or source_array.dtype.kind in "USO":
            texts = source_array.dtype.kind in "USO" and dtype is object
            return source_array.astype(object) if texts else None
        array = source_array.astype(dtype)
        rounds = np.issubdtype(array.dtype, np.inexact) or array.dtype.kind == "V"
        return array if rounds or np.array_equal(array, source_array) else None
    except (TypeError, ValueError, OverflowError):
        return None
