"""MetaGraphDefs: the whole graph with its collections, and a checkpoint of its variables beside.

No op is added for saving and restoring: `tf.compat.v1.train.import_meta_graph` makes a Saver where there is none, and
one of the graph's own is told of when it is for all of the variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import whole
from tfgraphwidget.export.formats.function_module import standing_alone
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.export.request import Export
from tfgraphwidget.export.signatures import signature_def
from tfgraphwidget.export.state.exported_state import State, assigned, present_values, state_of
from tfgraphwidget.export.state.exported_subgraph import needed_by
from tfgraphwidget.export.verification.reference import Original
from tfgraphwidget.export.verification.round_trip import Run, check, difference, first_line
from tfgraphwidget.graph import ASSIGNS, GraphIndex, Member, VariableDef, definitions, handles, needed
from tfgraphwidget.naming import last_part, listed, split_tensor
from tfgraphwidget.runtime.live import proto_of
from tfgraphwidget.runtime.sandbox import exact_config
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.runtime.sync import checkpoints
from tfgraphwidget.sources import Signature
from tfgraphwidget.tf_internals import add_collection, new_meta_graph

# The Saver whose ops are in a graph already.

_RESTORES = "restore_all"


def saver_of(index: GraphIndex, variables: Sequence[VariableDef]) -> Any:
    """The SaverDef of the last Saver that restores just these variables, under their own names; None without one."""
    for name in reversed(index.names):
        if last_part(name) == _RESTORES and _restores(index, name, variables):
            scope = name.removesuffix(_RESTORES)
            saves = next(
                (f"{scope}{end}" for end in ("control_dependency", "Identity") if scope + end in index.ids), ""
            )
            if saves and f"{scope}Const" in index.ids:
                return tf.compat.v1.train.SaverDef(
                    filename_tensor_name=f"{scope}Const:0",
                    save_tensor_name=f"{saves}:0",
                    restore_op_name=name,
                    max_to_keep=5,
                    keep_checkpoint_every_n_hours=10_000.0,
                    sharded=saves.endswith("Identity"),
                    version=tf.compat.v1.train.SaverDef.V2,
                )
    return None


def key_of(variable: VariableDef) -> str:
    """The name of a variable's value in a checkpoint; slices of one variable have one name."""
    return str(variable.slice_info.full_name) if variable.slice_info is not None else variable.handle


def _restores(index: GraphIndex, op: str, variables: Sequence[VariableDef]) -> bool:
    """Whether running an op assigns to just these variables what a checkpoint has under their names."""
    ops = np.flatnonzero(needed(index, (), [op])).tolist()
    assigned = {index.names[index.input_lists[i][0]] for i in ops if index.types[i] in ASSIGNS}
    keys: set[str] = set()
    for i in ops:
        if index.types[i] == "RestoreV2":
            names = index.nodes[index.input_lists[i][1]]
            keys.update(name.decode(errors="replace") for name in names.attr["value"].tensor.string_val)
    return assigned == {v.handle for v in variables} and keys == set(map(key_of, variables))


# What the collections of a live graph hold of the ops shown, as a MetaGraphDef keeps it.

_GLOBAL = tf.compat.v1.GraphKeys.GLOBAL_VARIABLES


def add_collections(made: Any, graph: tf.Graph, index: GraphIndex, variables: Iterable[VariableDef]) -> list[str]:
    """Add to a MetaGraphDef what the collections hold; the keys of those that it cannot hold.

    `variables` are those that the checkpoint has: all are global ones, so that a Saver restores them.
    """
    lost = []
    with graph.as_default():
        for key in graph.get_all_collection_keys():
            items = [item for item in graph.get_collection_ref(key) if _is_shown(item, index)]
            if items and key != _GLOBAL:
                add_collection(made, key, graph, items)
            if items and key != _GLOBAL and key not in made.collection_def:
                lost.append(str(key))
    protos = [proto_of(variable).SerializeToString(deterministic=True) for variable in variables]
    if protos:
        made.collection_def[_GLOBAL].bytes_list.value.extend(protos)
    return lost


def _is_shown(item: Any, index: GraphIndex) -> bool:
    """Whether all that an entry of a collection names is in the index."""
    member = Member.of(item)
    names = [member.name] if member is not None else _named(item)
    return all(split_tensor(name)[0] in index.ids for name in names)


def _named(item: Any) -> list[str]:
    """The ops and tensors that a loop's or conditional's context, a queue runner or a Saver hangs on."""
    pivot = getattr(item, "pivot", None)
    queue = getattr(item, "queue", None)
    saver = getattr(item, "saver_def", None)
    told = [getattr(held, "name", None) for held in (pivot, getattr(queue, "queue_ref", None))]
    told += [saver.filename_tensor_name, saver.restore_op_name] if saver is not None else []
    return [name for name in told if isinstance(name, str) and name]


v1 = tf.compat.v1
_WAY_OUT = "make variables of these constants: their values go into the checkpoint beside"
_BARE = (
    "The variables have no values here, as the file came without a checkpoint, so {!r} was written without one, and "
    "was not run."
)
_SAVEABLE = v1.GraphKeys.SAVEABLE_OBJECTS
_TOLD = "The MetaGraphDef with its checkpoint"


def siblings(path: Path) -> list[Path]:
    """The MetaGraphDef and the files of its checkpoint that are there: the new ones take the place of all of them."""
    return [path, *checkpoints.files(path.with_suffix(""))]


def check_beside(path: Path, what: Export) -> None:
    """Raise when a MetaGraphDef without values would lie beside a checkpoint of its name, with the values of another.

    That is not taken away for it: it may be the only one.
    """
    if len(siblings(path)) > 1 and what.without_values():
        raise GraphEditError(
            f"The checkpoint {path.stem!r} lies beside, and the graph here has no values for its variables; open the "
            "file with its checkpoint, or give another name."
        )


def write_meta_graph(path: Path, what: Export) -> None:
    """Write a MetaGraphDef to `path`, and beside it the checkpoint of that name, if there are variables; try both.

    Of a file that came without its variables' values the MetaGraphDef alone, as the file was; a notice says so.
    """
    if what.read_only:
        with standing_alone(what) as alone:
            write_meta_graph(path, alone)
        return
    graph = what.graph()
    bare = what.without_values()
    variables = _saved(what, bare=bare)
    present = {} if bare else present_values(what, variables)
    variables, more = assigned(what.index, variables)
    graph_def = whole(what)
    graph_def.node.extend(more)
    check_size("The MetaGraphDef", graph_def.node, graph_def.library, _WAY_OUT)
    saver = saver_of(what.index, variables)
    made = new_meta_graph(graph_def, graph, saver)
    for key in add_collections(made, graph, what.index, variables):
        what.notice(f"Collection {key!r} holds Python objects, which no MetaGraphDef can hold, so it is left out.")
    if what.meta is not None and made.graph_def == what.meta().graph_def:
        _keep(made, what.meta(), bare=bare)
    _leave_out_saveables(made, what, variables)
    what = what.called_by(_signatures(what))
    for signature in what.signatures:
        made.signature_def[signature.name].CopyFrom(signature_def(what.index, signature, signature))
    path.write_bytes(made.SerializeToString(deterministic=True))
    if bare:
        what.notice(_BARE.format(path.name))
        _check_import(path, what)
    elif variables:
        checkpoints.write(str(path.with_suffix("")), [(key_of(v), v, _array(present[v.handle])) for v in variables])
    if what.verify and not bare:
        _check_values(path, variables, present)
        _check_runs(path, what, present)


def _keep(made: Any, original: Any, *, bare: bool) -> None:
    """Of a graph that is still what its file holds keep what else the file tells: who wrote it, its Saver, its objects.

    Of the Saver only where it reads what is written beside: it may have other names for the variables.
    """
    has_saver = bare or made.HasField("saver_def")
    for key in ("meta_info_def", "object_graph_def", "saver_def"):
        made.ClearField(key)
        if original.HasField(key) and (has_saver or key != "saver_def"):
            getattr(made, key).CopyFrom(getattr(original, key))
    made.asset_file_def.extend(original.asset_file_def)


def _leave_out_saveables(made: Any, what: Export, variables: Sequence[VariableDef]) -> None:
    """Leave saveable objects out of a MetaGraphDef without a Saver, for TensorFlow makes one when it reads the file.

    A MetaGraphDef names a saveable object by its op, as that of a mutable table, which no Saver takes
    (test_tensorflow_facts.py::test_a_saveable_object_comes_back_as_an_op_that_no_saver_takes).
    """
    if made.HasField("saver_def") or _SAVEABLE not in made.collection_def:
        return
    saved = {variable.handle for variable in variables}
    lost = [name for name in made.collection_def[_SAVEABLE].node_list.value if split_tensor(name)[0] not in saved]
    if lost:
        what.notice(
            f"Collection {_SAVEABLE!r} is left out, since no Saver takes {listed(lost)} once the file is read back; "
            "the checkpoint does not hold what is in there."
        )
    del made.collection_def[_SAVEABLE]


def _saved(what: Export, *, bare: bool) -> tuple[VariableDef, ...]:
    """The variables to save: the global ones, and of those in no collection the ones that have a value.

    When none of a file has one, they are `bare`: then all of these.
    """
    index = what.index
    told = {member.name: key for key, held in index.collections.items() for member in held if member.kind == "variable"}
    first = [m.name for m in index.collections.get(v1.GraphKeys.GLOBAL_VARIABLES, ())]
    found = {v.name: v for v in definitions(index, handles(index)).values()}
    chosen = [found[name] for name in dict.fromkeys(first) if name in found]
    others = [v for name, v in found.items() if name not in told]
    session = what.session() if others and not bare else None
    if session is None:
        return (*chosen, *others)
    return (*chosen, *(v for v in others if variable_values.has_value(session, v.snapshot or v.name)))


def _signatures(what: Export) -> tuple[Signature, ...]:
    """The signatures that are meant, if there are any that can be called: this file is more than these."""
    try:
        needed_by(what.index, what.signatures)
    except GraphEditError as error:
        what.notice(f"What was written has no signature and was not run: {error.why}")
        return ()
    return what.signatures


def _array(value: Any) -> Any:
    """A value as an array; as one of texts, numpy would drop the zeros that a text ends with."""
    return np.array(value, dtype=object) if isinstance(value, bytes) else value


def _check_values(path: Path, variables: Sequence[VariableDef], present: Mapping[str, Any]) -> None:
    """Raise unless the file restores every variable to the value that it has."""
    with _restored(path) as session:
        got = session.run({v.handle: v.snapshot or v.name for v in variables}) if variables else {}
    for handle, value in got.items():
        if difference(present[handle], value):
            raise GraphEditError(
                f"{_TOLD} restores variable {handle!r} to something else: it {difference(present[handle], value)}; "
                "nothing was written.",
                [handle],
            )


def _check_runs(path: Path, what: Export, saved: Mapping[str, Any]) -> None:
    """Raise unless what the signatures give is what the graph gives; local variables are given the values they have."""
    if not what.signatures:
        return
    try:
        state = state_of(what, np.logical_or.reduce(needed_by(what.index, what.signatures)))
        _check_restorable(what, state, saved)
    except GraphEditError as error:
        what.notice(f"What was written was not run: {error.why}")
        return

    @contextmanager
    def loaded() -> Iterator[Run]:
        with _restored(path) as session:
            variable_values.load_values(session, [v for v in state.variables if v.handle not in saved], state.values)
            session.run(list(state.starters))

            def run(signature: Signature, feeds: dict[str, Any]) -> dict[str, Any]:
                fed = dict(signature.inputs)
                got: dict[str, Any] = session.run(
                    dict(signature.outputs), {fed[key]: value for key, value in feeds.items()}
                )
                return got

            yield run

    check(Original(what, state), _TOLD, [("tf.compat.v1.train.import_meta_graph", loaded)])


def _check_restorable(what: Export, state: State, saved: Mapping[str, Any]) -> None:
    """Raise for state that the signatures need and the file does not hold."""
    ids = what.index.ids
    if any(name not in ids for name in state.starters):
        raise GraphEditError("hash tables hold what was put into them in the session, which no checkpoint has.")
    lacking = [v.handle for v in state.variables if v.handle not in saved and v.initializer not in ids]
    if lacking:
        raise GraphEditError(f"local variable {lacking[0]!r} has no initialiser of its own.", lacking)


def _check_import(path: Path, what: Export) -> None:
    """Raise unless TensorFlow reads the file back, where there are no values to compare."""
    if what.verify:
        with _restored(path, bare=True):
            pass


@contextmanager
def _restored(path: Path, *, bare: bool = False) -> Iterator[Any]:
    """A session on what is read back, its variables restored unless they are `bare` of values."""
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=exact_config()) as session:
        try:
            saver = v1.train.import_meta_graph(str(path), clear_devices=True)
        except (ValueError, KeyError, TypeError, tf.errors.OpError) as error:
            raise GraphEditError(f"TensorFlow does not read {path.name!r} back: {first_line(error)}.") from error
        if saver is not None and not bare:
            saver.restore(session, str(path.with_suffix("")))
        yield session
