"""Values from one model to another: what `tfgraphwidget.sync` does, and which values of two models
differ.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.editor.comparing import NO_PARTNER, ONLY_THERE, compare_stores
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError, NotAGraph, SessionRefused, UnknownName
from tfgraphwidget.graph import ChangedValue, GraphIndex, build
from tfgraphwidget.naming import names_text
from tfgraphwidget.runtime.live import Copy
from tfgraphwidget.runtime.measure import Comparison, Tolerance
from tfgraphwidget.runtime.sync import (
    EagerStore,
    FileStore,
    GraphStore,
    Names,
    OpenedFileStore,
    Pair,
    StoredVariable,
    Sync,
    VariableStore,
    checkpoint_store,
    eager_store,
    keras_file_store,
    keras_store,
    lacking,
    match_in_order,
    match_list,
    match_objects,
    match_variables,
    store_of_source,
    transfer,
)
from tfgraphwidget.sentences import either, in_cell, leave_out
from tfgraphwidget.sources import (
    Checkpoint,
    Source,
    is_checkpoint,
    is_saved_model_folder,
    open_source,
    variable_definition,
)
from tfgraphwidget.tf_types import is_keras_model


def sync(
    source: object,
    target: object,
    names: object = None,
    tau: float = 1.0,
    *,
    by_order: bool = False,
    slots: bool = False,
) -> tuple[tuple[str, str], ...]:
    """Copy or mix values; see `tfgraphwidget.sync`."""
    ours, theirs, pairs = _match_models(
        "sync", source, target, names, by_order=by_order, slots=slots
    )
    if isinstance(ours, GraphStore) and isinstance(theirs, GraphStore):
        both = tuple(
            (a.definition, b.definition) for a, b in pairs if a.definition and b.definition
        )
        Sync(both, ours.model, theirs.model, theirs.scope).sync(tau)
        return tuple((a.name, b.name) for a, b in both)
    both = tuple((a.definition, b.definition) for a, b in pairs if a.definition and b.definition)
    if isinstance(theirs, OpenedFileStore) and ours is theirs and len(both) == len(pairs):
        # Within the session: a file's graph may lack initializers.
        every = tuple((a, each) for a, b in both for each in theirs.ops_of(b))
        Sync(every, theirs.model, theirs.model).sync(tau)
    else:
        transfer(ours, theirs, pairs, tau)
    return tuple((a.handle, b.handle) for a, b in pairs)


class Drift(dict[str, float]):
    """The largest difference of each pair's values, by the source's names.

    Attributes:
        comparison: Norms, cosine, histograms and more of each pair.
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__({each.name: each.distance for each in comparison})
        self.comparison = comparison


def drift(
    source: object,
    target: object,
    names: object = None,
    *,
    by_order: bool = False,
    slots: bool = False,
) -> Drift:
    """The largest difference of each pair's values; see `tfgraphwidget.drift`."""
    matched = _match_models("drift", source, target, names, by_order=by_order, slots=slots)
    return Drift(compare_stores(*matched, Tolerance.of(None)))


def changed_values(before: object, after: object) -> tuple[ChangedValue, ...]:
    """The variables of two models whose values differ, paired by name, in `after`'s order."""
    ours, theirs = _store_with_values(after), _store_with_values(before)
    if not len(ours.variables) or not len(theirs.variables):
        # Constants are compared by the graphs' difference.
        return ()
    pairs = _pairs("diff", ours, theirs, None, by_order=False)
    return _changes_of(compare_stores(ours, theirs, pairs, Tolerance.of(None)))


def _store_with_values(model: object, *, slots: bool = False) -> VariableStore:
    """The store of a model; raises SessionRefused for a file that came without its values."""
    store = store_of(model, slots=slots)
    if isinstance(store, FileStore):
        store.check_values()
    return store


def checkpoint_changes(before: str, after: str) -> tuple[ChangedValue, ...]:
    """The values that differ between two checkpoints, given by prefixes, or are in one only."""
    compared = drift(after, before).comparison
    changes = list(_changes_of(compared))
    changes += [ChangedValue(name, "") for name in compared.not_compared.get(NO_PARTNER, ())]
    changes += [ChangedValue("", name) for name in compared.not_compared.get(ONLY_THERE, ())]
    return tuple(changes)


def _changes_of(comparison: Comparison) -> tuple[ChangedValue, ...]:
    """The weights that are not equal."""
    return tuple(
        ChangedValue(each.name, each.other, each.distance, each.norms, each.cosine, each.bars)
        for each in comparison
        if not each.same
    )


def is_weight_file(model: object) -> bool:
    """Whether a model is a checkpoint alone, without a graph."""
    return isinstance(model, str | os.PathLike) and is_checkpoint(model)


def paired_stores(
    source: Source, index: GraphIndex, other: object
) -> tuple[VariableStore, VariableStore, tuple[Pair, ...]]:
    """The variables of an editor's graph as edits have left it, those of another model, see
    `store_of`, and the pairs of both.
    """
    ours, theirs = store_of_source(source, index), store_of(other)
    return ours, theirs, _pairs("compare", ours, theirs, None, by_order=False)


def _match_models(
    call: str, source: object, target: object, names: object, *, by_order: bool, slots: bool
) -> tuple[VariableStore, VariableStore, tuple[Pair, ...]]:
    """The variables of two models, and those that belong together.

    Where the source is a file of objects, and the target is an object, all variables of the target
    get values, or none.
    """
    find = _target_store if call == "sync" else _store_with_values
    theirs = find(target, slots=slots)
    ours: VariableStore
    checkpoint = _objects_of(source)
    if isinstance(theirs, EagerStore) and is_keras_model(theirs.root) and _is_keras_file(source):
        ours = keras_file_store(os.fspath(cast("str", source)), theirs.root, theirs)
        return ours, theirs, _pairs(call, ours, theirs, names, by_order=by_order)
    if by_order or checkpoint is None or not isinstance(theirs, EagerStore) or theirs.root is None:
        ours = theirs if source is target else store_of(source, slots=slots)
        return ours, theirs, _pairs(call, ours, theirs, names, by_order=by_order)
    values = checkpoint_store(checkpoint)
    if isinstance(names, Mapping) and list(names.values()) == [""]:
        (path,) = map(str, names)
        pairs = match_objects(checkpoint, values, theirs, path)
        if not pairs:
            raise UnknownName(
                f"{values.title} has no object {path!r} with values for all variables of "
                f"{theirs.title}."
            )
        return values, theirs, pairs
    if names is not None:
        ours = store_of(source, slots=slots)
        return ours, theirs, _pairs(call, ours, theirs, names, by_order=False)
    ambiguity: GraphEditError | None = None
    try:
        if pairs := match_objects(checkpoint, values, theirs):
            return values, theirs, pairs
    except GraphEditError as error:
        ambiguity = error
    ours = store_of(source, slots=slots)
    with suppress(GraphEditError):
        pairs = _pairs(call, ours, theirs, None, by_order=False)
        if len({b.handle for _, b in pairs}) == len(theirs.variables):
            return ours, theirs, pairs
    if pairs := match_list(checkpoint, values, theirs):
        return values, theirs, pairs
    raise ambiguity or _lacking_error(checkpoint, values, theirs)


def _target_store(target: object, *, slots: bool) -> VariableStore:
    """The variables that get values; an editor of a file imports its graph for that."""
    core = getattr(target, "_core", None)
    is_file = isinstance(core, EditorCore) and core.source.stored is not None
    if core is not None and is_file and core.session is None:
        raise SessionRefused(
            f"sync: {core.source.title} cannot run, so no session takes values for it: "
            f"{core.source.refusal}"
        )
    return store_of(target, slots=slots)


def _lacking_error(
    checkpoint: Checkpoint, values: VariableStore, target: EagerStore
) -> GraphEditError:
    """The refusal of a checkpoint that has values for some variables of an object, or for none."""
    missing = lacking(checkpoint, target)
    return GraphEditError(
        f"{values.title} has no value for {names_text(missing)} of {target.title}, by the "
        "attributes of its objects, so nothing was assigned; "
        + in_cell(
            "name what belongs together: names={'source': 'target'} or names=['layer'], of "
            "variables or layers, or by_order=True for models of one architecture."
        ),
        missing,
    )


def _is_keras_file(source: object) -> bool:
    """Whether a path is that of a file of Keras."""
    return isinstance(source, str | os.PathLike) and Path(os.fspath(source)).suffix in (
        ".keras",
        ".h5",
        ".hdf5",
    )


def _objects_of(source: object) -> Checkpoint | None:
    """The checkpoint of a file that lists objects, as those of TensorFlow 2 do; else None."""
    if not isinstance(source, str | os.PathLike) or not os.fspath(source):
        return None
    if is_checkpoint(source):
        checkpoint = Checkpoint.of(source)
    elif is_saved_model_folder(source):
        checkpoint = Checkpoint.of_saved_model(Path(os.fspath(source)))
    else:
        return None
    return checkpoint if not checkpoint.missing() and checkpoint.objects else None


def _pairs(
    call: str, ours: VariableStore, theirs: VariableStore, names: object, *, by_order: bool
) -> tuple[Pair, ...]:
    """The variables that belong together."""
    if by_order:
        if names is not None:
            raise GraphEditError(
                f"{call}: "
                + either("by_order=True pairs all variables", "all variables are paired")
                + "; "
                + leave_out("names")
                + "."
            )
        return match_in_order(ours.variables, theirs.variables)
    renames = _plain_names(names)
    try:
        pairs = _match(ours, theirs, renames)
    except GraphEditError:
        if names is None:
            pairs = _matched_by_path(ours, theirs) or _matched_by_saved_name(ours, theirs)
        else:
            pairs = ()
        if not pairs:
            raise
        return pairs
    is_partial = names is None and len(pairs) < len(ours.variables)
    return (is_partial and _matched_by_path(ours, theirs)) or pairs


def _matched_by_path(ours: VariableStore, theirs: VariableStore) -> tuple[Pair, ...]:
    """Pairs by path, as a checkpoint of one is loaded into the other; none unless all variables
    have the same paths.

    Keras numbers the names of layers, so that two models of one class have different ones.
    """
    by_path = {variable.path: variable for variable in theirs.variables}
    is_same = "" not in by_path and by_path.keys() == {variable.path for variable in ours.variables}
    return (
        tuple((variable, by_path[variable.path]) for variable in ours.variables) if is_same else ()
    )


def _matched_by_saved_name(ours: VariableStore, theirs: VariableStore) -> tuple[Pair, ...]:
    """Pairs by the names that a checkpoint's variables had when saved, where one has it."""
    if not any(variable.saved_name for store in (ours, theirs) for variable in store.variables):
        return ()
    of_name: list[dict[str, StoredVariable]] = []
    for store in (ours, theirs):
        names = [variable.saved_name or variable.handle for variable in store.variables]
        count = Counter(names)
        of_name.append({n: v for n, v in zip(names, store.variables, strict=True) if count[n] == 1})
    return tuple(
        (variable, of_name[1][name]) for name, variable in of_name[0].items() if name in of_name[1]
    )


def _match(ours: VariableStore, theirs: VariableStore, names: Names) -> tuple[Pair, ...]:
    """Pairs by name, as it is, or else without the scopes that hold all of each model."""
    try:
        return match_variables(
            ours.variables,
            theirs.variables,
            names,
            source_scope=ours.scope,
            target_scope=theirs.scope,
        )
    except GraphEditError:
        scopes = [_common_scope(store) for store in (ours, theirs)]
        if not any(scopes):
            raise
        with suppress(GraphEditError):
            return match_variables(
                ours.variables,
                theirs.variables,
                names,
                source_scope=scopes[0],
                target_scope=scopes[1],
            )
        raise


def _common_scope(store: VariableStore) -> str:
    """The first scope of eager variables if it holds all of them: a model's own name."""
    if store.scope or isinstance(store, GraphStore):
        return store.scope
    first = {
        variable.handle.partition("/")[0] for variable in store.variables if "/" in variable.handle
    }
    plain = any("/" not in variable.handle for variable in store.variables)
    return "" if plain or len(first) != 1 else first.pop()


def _plain_names(names: object) -> Any:
    """The names of layers and variables that were given as such."""
    if isinstance(names, Mapping):
        return {_name(a): _name(b) for a, b in names.items()}
    if names is None or isinstance(names, str) or (callable(names) and not _is_named(names)):
        return names
    if _is_named(names):
        return _name(names)
    if isinstance(names, list | tuple | set | frozenset | Iterator):
        return [_name(name) for name in names]
    return names


def _is_named(thing: object) -> bool:
    return isinstance(getattr(thing, "path", getattr(thing, "name", None)), str)


def _name(thing: Any) -> object:
    """The name of a Keras layer or a variable; a name itself."""
    if isinstance(thing, str) or not _is_named(thing):
        return thing
    return getattr(thing, "path", None) or thing.name


def store_of(model: object, *, slots: bool = False) -> VariableStore:
    """The variables of a model and where their values are.

    Args:
        model: An editor, the result of a clone, a Keras model or layer, a tf.Module or what
            `tf.saved_model.load` returns, the prefix of a checkpoint, or anything that `tgw.edit`
            opens: a graph, a session, a tf.function, the path of a file.
        slots: Whether the variables of a compiled Keras model's optimizer belong to it.

    Raises:
        NotAGraph: The object is not a model.
    """
    from tfgraphwidget.runtime.functions import ModuleCopy  # a tf.Module

    core = getattr(model, "_core", None)
    if isinstance(core, EditorCore):
        return store_of_source(core.source, core.target.index)
    if isinstance(model, Copy):
        return GraphStore(
            model.model, tuple(map(variable_definition, model.variables)), model.scope
        )
    if isinstance(model, ModuleCopy):
        return EagerStore(f"Module {model.scope!r}", model.named_variables)
    if is_keras_model(model):
        return keras_store(model, slots=slots)
    store = eager_store(model)
    if store is not None:
        return store
    if model is None or (isinstance(model, str | os.PathLike) and not os.fspath(model)):
        raise NotAGraph(f"{value_text(model)} is not a model; give an editor, a model or a path.")
    if isinstance(model, str | os.PathLike) and is_checkpoint(model):
        return checkpoint_store(Checkpoint.of(model))
    source = open_source(model)
    nodes = source.body.nodes()
    return store_of_source(source, build(nodes, *source.body.collections()))
