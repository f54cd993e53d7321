"""MetaGraphDefs: the whole graph with its collections, and a checkpoint of its variables.

No ops are added for saving and restoring: without a Saver, `tf.compat.v1.train.import_meta_graph`
makes one. A Saver whose ops are in the graph is written if it is for all of the variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from tfgraphwidget.edits import contexts_in, nested_contexts
from tfgraphwidget.errors import GraphEditError, NotRunnable, NotTrusted, TensorFlowMissing
from tfgraphwidget.export.formats import networkx_extras
from tfgraphwidget.export.formats.function_library import complete_graph_def, fill_graph_def
from tfgraphwidget.export.formats.function_module import function_as_graph
from tfgraphwidget.export.formats.graph_def import check_size
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.signatures import signature_def
from tfgraphwidget.export.state.exported_state import (
    ExportedState,
    present_values,
    read_state,
    tell_files_that_stay,
    with_assign_ops,
)
from tfgraphwidget.export.state.exported_subgraph import ops_needed, ops_needed_by
from tfgraphwidget.export.verification.reference import GraphReference, is_refused
from tfgraphwidget.export.verification.round_trip import (
    Run,
    check,
    describe_difference,
    opened_by,
)
from tfgraphwidget.graph import (
    ASSIGNS,
    SWITCH,
    GraphIndex,
    Member,
    Signature,
    Trust,
    VariableDef,
    all_variables,
    needed_ops,
    stored_texts,
)
from tfgraphwidget.naming import last_part, names_text, split_tensor
from tfgraphwidget.runtime.live import COLLECTIONS, proto_of
from tfgraphwidget.runtime.sandbox import PATIENCE, RUNS, call_apart, exact_config
from tfgraphwidget.runtime.session import variable_values
from tfgraphwidget.runtime.sync import checkpoints
from tfgraphwidget.sources import (
    StoredTensor,
    checkpoint_keys,
    copy_unknown_fields,
    error_text,
    open_session,
    read_collections,
    tf_protos,
    write_bundle,
)
from tfgraphwidget.tensorflow_modules import is_installed, tf, v1
from tfgraphwidget.tf_internals import add_collection, is_version, new_meta_graph
from tfgraphwidget.tf_types import (
    CollectionDef,
    ContextDef,
    GraphDef,
    Message,
    MetaGraphDef,
    NodeDef,
    SaverDef,
    Session,
    TensorCompatible,
)

_RESTORES = "restore_all"


def saver_of(index: GraphIndex, variables: Sequence[VariableDef]) -> SaverDef | None:
    """The SaverDef of the last Saver that restores just these variables by name, or None."""
    for name in reversed(index.names):
        if last_part(name) == _RESTORES and _restores(index, name, variables):
            scope = name.removesuffix(_RESTORES)
            saves = next(
                (
                    f"{scope}{end}"
                    for end in ("control_dependency", "Identity")
                    if scope + end in index.ids
                ),
                "",
            )
            if saves and f"{scope}Const" in index.ids:
                saver: SaverDef = tf_protos.SaverDef(
                    filename_tensor_name=f"{scope}Const:0",
                    save_tensor_name=f"{saves}:0",
                    restore_op_name=name,
                    max_to_keep=5,
                    keep_checkpoint_every_n_hours=10_000.0,
                    sharded=saves.endswith("Identity"),
                    version=tf_protos.SaverDef.V2,
                )
                return saver
    return None


def key_of(variable: VariableDef) -> str:
    """The key of a variable in a checkpoint; the slices of a partitioned variable share one."""
    return (
        str(variable.slice_info.full_name) if variable.slice_info is not None else variable.handle
    )


def _restores(index: GraphIndex, op: str, variables: Sequence[VariableDef]) -> bool:
    """Whether running an op assigns a checkpoint's values to just these variables by name."""
    ops = np.flatnonzero(needed_ops(index, (), [op])).tolist()
    assigned = {index.names[index.input_lists[i][0]] for i in ops if index.types[i] in ASSIGNS}
    keys: set[str] = set()
    for i in ops:
        if index.types[i] == "RestoreV2":
            names = index.nodes[index.input_lists[i][1]]
            keys.update(
                name.decode(errors="replace")
                for name in stored_texts(names.attr["value"].tensor) or ()
            )
    return assigned == {v.handle for v in variables} and keys == set(map(key_of, variables))


# What a SavedModel of TF 1 begins with.
_INITIALIZATION = {"asset_filepaths", "saved_model_main_op", "legacy_init_op"}
_GLOBAL = tf_protos.GLOBAL_VARIABLES
# Their messages name ops, and edits follow them.
_FOLLOWED = {*COLLECTIONS.values(), "queue_runners"}


def add_collections(
    meta_graph: MetaGraphDef, graph: tf.Graph, index: GraphIndex, variables: Iterable[VariableDef]
) -> list[str]:
    """Add the collections of a live graph, as far as they name ops that the editor shows; the keys
    of those that a MetaGraphDef cannot hold. The variables of the checkpoint become the global
    ones, so that a Saver restores them.
    """
    keys, there = [], dict[object, set[Member | None]]()
    with graph.as_default():
        for key in graph.get_all_collection_keys():
            items = [item for item in graph.get_collection_ref(key) if _is_shown(item, index)]
            there[key] = {Member.of(item) for item in items}
            if items and key != _GLOBAL:
                add_collection(meta_graph, key, graph, items)
            if items and key != _GLOBAL and key not in meta_graph.collection_def:
                keys.append(str(key))
    for key, members in index.collections.items():
        if key != _GLOBAL and key in there and not there[key].issuperset(members):
            # Of before the last edits.
            networkx_extras.add_collection(meta_graph, index, key)
    protos = [proto_of(variable).SerializeToString(deterministic=True) for variable in variables]
    if protos:
        meta_graph.collection_def[_GLOBAL].bytes_list.value.extend(protos)
    return keys


def drop_missing_ops(meta_graph: MetaGraphDef, index: GraphIndex) -> None:
    """Let control flow contexts name only what is in the graph."""
    contexts: list[ContextDef] = []
    for key in [key for key in COLLECTIONS.values() if key in meta_graph.collection_def]:
        kind = tf_protos.collection_message(key)
        assert kind is not None
        protos = meta_graph.collection_def[key].bytes_list.value
        contexts += _present_contexts(
            [cast("ContextDef", kind.FromString(proto)) for proto in protos], index
        )
        del meta_graph.collection_def[key]
    for context in contexts:
        # A loop whose conditional is gone is an outermost one now, of another collection.
        protos = meta_graph.collection_def[COLLECTIONS[context.DESCRIPTOR.name]].bytes_list.value
        protos.append(context.SerializeToString(deterministic=True))


def _present_contexts(contexts: Iterable[ContextDef], index: GraphIndex) -> tuple[ContextDef, ...]:
    """Control flow contexts without removed ops: TensorFlow imports no file that names them."""
    present = contexts_in(contexts, index.names)
    stack = list(present)
    while stack:
        context = stack.pop()
        stack += nested_contexts(context)
        switch = index.input_lists[index.ids[split_tensor(context.pivot_name)[0]]][:1]
        if hasattr(context, "pred_name") and switch and index.types[switch[0]] in SWITCH:
            slot = int(index.inputs.start[switch[0]]) + 1
            context.pred_name = f"{index.names[index.inputs.values[slot]]}:{index.ports[slot]}"
    return present


def _is_shown(item: object, index: GraphIndex) -> bool:
    """Whether the index has all ops that an item of a collection refers to."""
    member = Member.of(item)
    names = [member.name] if member is not None else _op_names(item)
    return all(split_tensor(name)[0] in index.ids for name in names)


def _op_names(item: object) -> list[str]:
    """The ops and tensors that a control flow context, a queue runner or a Saver refers to."""
    pivot = getattr(item, "pivot", None)
    queue = getattr(item, "queue", None)
    saver = getattr(item, "saver_def", None)
    names = [getattr(item, "name", None) for item in (pivot, getattr(queue, "queue_ref", None))]
    names += [saver.filename_tensor_name, saver.restore_op_name] if saver is not None else []
    return [name for name in names if isinstance(name, str) and name]


_WAY_OUT = "make variables of these constants: their values go into the checkpoint beside"
_BARE = (
    "The variables have no values here, as the file came without a checkpoint, so {!r} was written "
    "without one, and was not run."
)
_SAVEABLE = tf_protos.SAVEABLE_OBJECTS
_TOLD = "The MetaGraphDef with its checkpoint"
# What a newer TensorFlow says in these of the file is written again.
_KEPT = ("meta_info_def", "signature_def")


def siblings(path: Path) -> list[Path]:
    """The MetaGraphDef and the existing files of its checkpoint, all of which are replaced."""
    return [path, *checkpoints.files(path.with_suffix(""))]


def check_beside(path: Path, request: ExportRequest) -> None:
    """Raise if a MetaGraphDef without values would be written next to the checkpoint of another
    graph.

    That checkpoint is not deleted, because it may be the only copy.
    """
    if len(siblings(path)) > 1 and request.graph.lacks_values():
        raise GraphEditError(
            f"The checkpoint {path.stem!r} lies beside, and the graph here has no values for its "
            "variables; open the file with its checkpoint, or give another name."
        )


def write_meta_graph(path: Path, request: ExportRequest) -> None:
    """Write a MetaGraphDef and, if there are variables, a checkpoint of the same name, and verify
    both.

    The graph of a file without the values of its variables is written without a checkpoint, with a
    notice.
    """
    if request.read_only:
        _write_unrunnable(path, request)
        return
    tell_files_that_stay(request, path.name, request.index.nodes)
    if not is_installed():
        _write_alone(path, request)
        return
    try:
        graph = request.graph.live()
    except NotRunnable as refusal:  # TensorFlow does not import the graph, as edits have left it
        _write_unrunnable(path, replace(request, read_only=refusal.why))
    else:
        _write_live(path, request, graph)


def _write_live(path: Path, request: ExportRequest, graph: tf.Graph) -> None:
    """Write the MetaGraphDef of a graph in TensorFlow, with a checkpoint, and verify both."""
    bare = request.graph.lacks_values()
    variables = _variables_to_save(request, bare=bare)
    present = {} if bare else present_values(request, variables)
    variables, more = with_assign_ops(request.index, variables)
    graph_def = complete_graph_def(request)
    graph_def.node.extend(more)
    check_size("The MetaGraphDef", graph_def.node, graph_def.library, _WAY_OUT)
    saver = saver_of(request.index, variables)
    meta_graph = new_meta_graph(graph_def, graph, saver)
    for key in add_collections(meta_graph, graph, request.index, variables):
        request.notices.append(
            f"Collection {key!r} holds Python objects, which no MetaGraphDef can hold, so it is "
            "left out."
        )
    in_file = request.graph.file_meta_graph()
    if in_file is not None and meta_graph.graph_def == in_file.graph_def:
        _copy_file_fields(meta_graph, in_file, bare=bare)
    _leave_out_saveables(meta_graph, request, variables)
    drop_missing_ops(meta_graph, request.index)
    request = replace(request, signatures=_signatures(request))
    _add_signatures(meta_graph, request, in_file)
    path.write_bytes(meta_graph.SerializeToString(deterministic=True))
    if bare:
        request.notices.append(_BARE.format(path.name))
        _check_import(path, request)
    elif variables:
        pairs = _keys_to_write(request.index, variables)
        checkpoints.write(
            str(path.with_suffix("")), [(key, v, present[v.handle]) for key, v in pairs]
        )
    if request.settings.verify and not bare:
        _verify(path, request, variables, present)


def _verify(
    path: Path,
    request: ExportRequest,
    variables: Sequence[VariableDef],
    present: Mapping[str, np.ndarray],
) -> None:
    """Raise unless the file restores its variables and computes what the graph does; a notice says
    what may not run.
    """
    try:
        _check_values(path, variables, present, request.trust)
        _check_runs(path, request, present)
    except NotTrusted as refusal:  # of a Saver that does more than to restore
        request.notices.append("What was written was not run: " + refusal.why)


def _write_unrunnable(path: Path, request: ExportRequest) -> None:
    """Write what has no live graph: a function as a graph, or a file's for other devices."""
    if request.function is not None:
        with function_as_graph(request) as alone:
            write_meta_graph(path, alone)
        return
    in_file = request.graph.file_meta_graph()
    has_assets = in_file is not None and len(in_file.asset_file_def) > 0
    # Tables are filled from asset files, which stay.
    if has_assets or not _INITIALIZATION.isdisjoint(request.index.collections):
        raise NotRunnable(request.read_only)
    tell_files_that_stay(request, path.name, request.index.nodes)
    _write_alone(path, request)
    request.notices.append(
        f"The graph that was opened cannot run here, so {path.name!r} was not run: "
        + request.read_only
    )


def _write_alone(path: Path, request: ExportRequest) -> None:
    """Write a MetaGraphDef unverified, with the file's collections and values."""
    index, values = request.index, request.graph.stored_values()
    variables = index.variable_defs
    unsaved = [v.name for v in all_variables(index) if v.handle not in values]
    if variables and not request.graph.lacks_values() and unsaved:
        raise TensorFlowMissing(
            f"Variable {unsaved[0]!r} has no value in the file, and to compute one for the "
            f"checkpoint beside {path.name!r} needs TensorFlow: run pip install "
            "'tfgraphwidget[tensorflow]', or save a '.pb' or '.pbtxt'."
        )
    path.write_bytes(meta_graph_alone(request).SerializeToString(deterministic=True))
    if variables and not request.graph.lacks_values():
        pairs = _keys_to_write(index, variables)
        write_bundle(
            str(path.with_suffix("")),
            [StoredTensor.of(key, v, values[v.handle]) for key, v in pairs],
        )


def _keys_to_write(
    index: GraphIndex, variables: Sequence[VariableDef]
) -> list[tuple[str, VariableDef]]:
    """The keys of variables in a checkpoint: names, and also the Saver's for renamed ones."""
    of_saver, names = checkpoint_keys(index.nodes, variables), {key_of(v) for v in variables}
    pairs = ((key, v) for v in variables for key in dict.fromkeys((key_of(v), of_saver[v.handle])))
    return [(key, v) for key, v in pairs if key == key_of(v) or key not in names]


def meta_graph_bytes(request: ExportRequest, graph: tf.Graph | None) -> bytes:
    """The whole graph with its collections as a serialized MetaGraphDef; not verified. A live
    graph's collections have Python objects; it is None for a file that TensorFlow has not imported.
    """
    if graph is None:
        alone: bytes = meta_graph_alone(request).SerializeToString(deterministic=True)
        return alone
    index = request.index
    there = {v.name: v for v in all_variables(index)}
    variables = [there[m.name] for m in index.collections.get(_GLOBAL, ()) if m.name in there]
    graph_def = complete_graph_def(request)
    meta_graph = new_meta_graph(graph_def, graph, saver_of(index, variables))
    add_collections(meta_graph, graph, index, variables)
    drop_missing_ops(meta_graph, request.index)
    _add_signatures(meta_graph, request, request.graph.file_meta_graph())
    serialized: bytes = meta_graph.SerializeToString(deterministic=True)
    return serialized


def _add_signatures(
    meta_graph: MetaGraphDef, request: ExportRequest, in_file: MetaGraphDef | None
) -> None:
    """Add the signatures, and what the file says in fields that only a newer TensorFlow knows."""
    for signature in request.signatures:
        meta_graph.signature_def[signature.name].CopyFrom(
            signature_def(request.index, signature, signature)
        )
    if in_file is not None:
        copy_unknown_fields(in_file, meta_graph, *_KEPT)


def meta_graph_alone(request: ExportRequest) -> MetaGraphDef:
    """The MetaGraphDef of a graph outside of TensorFlow, with its Saver and signatures."""
    original = request.graph.file_meta_graph()
    meta_graph = file_meta_graph(
        request.index,
        request.graph.envelope(),
        request.graph.as_in_file(request.index.nodes),
        original,
        request.notices,
    )
    check_size(
        "The MetaGraphDef", meta_graph.graph_def.node, meta_graph.graph_def.library, _WAY_OUT
    )
    saver = saver_of(request.index, request.index.variable_defs)
    if saver is not None:
        meta_graph.saver_def.CopyFrom(saver)
    _add_signatures(meta_graph, request, original)
    return meta_graph


def file_meta_graph(
    index: GraphIndex,
    envelope: GraphDef,
    nodes: Iterable[NodeDef],
    original: MetaGraphDef | None,
    notices: list[str],
) -> MetaGraphDef:
    """The MetaGraphDef of a file's graph after edits, with the collections that the file's own, if
    any, has; no Saver, no signatures.

    The envelope has the versions and the library, and no nodes; `notices` get a sentence on each
    collection that cannot be written.
    """
    meta_graph = tf_protos.MetaGraphDef()
    meta_graph.graph_def.CopyFrom(envelope)
    fill_graph_def(index, meta_graph.graph_def, nodes)
    followed = _followed_collections(index)
    unedited: Mapping[str, CollectionDef] = {}
    if original is not None:
        meta_graph.meta_info_def.CopyFrom(original.meta_info_def)
        if original.graph_def.node == meta_graph.graph_def.node:
            # Else they may name what is not there.
            unedited = original.collection_def
        lost = (
            original.collection_def.keys()
            - index.collections.keys()
            - followed.keys()
            - unedited.keys()
        )
        # Edits follow those of ops, tensors and variables, and have removed all that these had.
        there = {node.name for node in original.graph_def.node}
        lost -= _FOLLOWED | read_collections(original, there)[0].keys()
        notices += (
            f"Collection {key!r} needs TensorFlow to be written again, so it is left out."
            for key in sorted(lost)
        )
    for key in (followed.keys() | unedited.keys()) - index.collections.keys():
        if key in unedited:
            meta_graph.collection_def[key].CopyFrom(unedited[key])
        else:
            entries = [entry.SerializeToString(deterministic=True) for entry in followed[key]]
            meta_graph.collection_def[key].bytes_list.value.extend(entries)
    networkx_extras.add_collections(meta_graph, index)
    result: MetaGraphDef = meta_graph
    return result


def _followed_collections(index: GraphIndex) -> dict[str, list[Message]]:
    """The collections of messages that name ops: control flow contexts and queue runners."""
    entries: dict[str, list[Message]] = {}
    contexts = _present_contexts(index.extras.contexts(), index)
    for key, entry in (
        *((COLLECTIONS[context.DESCRIPTOR.name], context) for context in contexts),
        *index.extras.runners(),
    ):
        entries.setdefault(key, []).append(entry)
    return entries


def _copy_file_fields(meta_graph: MetaGraphDef, original: MetaGraphDef, *, bare: bool) -> None:
    """Copy the file's version, Saver and object graph to the MetaGraphDef of an unchanged graph.

    The Saver is copied only if it reads the new checkpoint: it may have other names for the
    variables.
    """
    has_saver = bare or meta_graph.HasField("saver_def")
    for key in ("meta_info_def", "object_graph_def", "saver_def"):
        meta_graph.ClearField(key)
        if original.HasField(key) and (has_saver or key != "saver_def"):
            getattr(meta_graph, key).CopyFrom(getattr(original, key))
    meta_graph.asset_file_def.extend(original.asset_file_def)
    if not is_version(meta_graph.meta_info_def.tensorflow_version or "1.0"):
        # TensorFlow would refuse the file for it.
        meta_graph.meta_info_def.ClearField("tensorflow_version")


def _leave_out_saveables(
    meta_graph: MetaGraphDef, request: ExportRequest, variables: Sequence[VariableDef]
) -> None:
    """Remove saveable objects from a MetaGraphDef without a Saver: TensorFlow makes one when it
    reads the file.

    A MetaGraphDef names a saveable object by its op, as that of a mutable table, which no Saver
    takes
    (test_tensorflow_facts.py::test_a_saveable_object_comes_back_as_an_op_that_no_saver_takes).
    """
    if meta_graph.HasField("saver_def") or _SAVEABLE not in meta_graph.collection_def:
        return
    saved = {variable.handle for variable in variables}
    saveables = [
        name
        for name in meta_graph.collection_def[_SAVEABLE].node_list.value
        if split_tensor(name)[0] not in saved
    ]
    if saveables:
        request.notices.append(
            f"Collection {_SAVEABLE!r} is left out, since no Saver takes {names_text(saveables)} "
            "once the file is read back; the checkpoint does not hold what is in there."
        )
    del meta_graph.collection_def[_SAVEABLE]


def _variables_to_save(request: ExportRequest, *, bare: bool) -> tuple[VariableDef, ...]:
    """The variables to save: the global ones, and those in no collection that have a value.

    Without any values (`bare`), all variables in no collection are included. Global ones without a
    value that no op assigns are left out, as a SavedModel of Keras has them for each of its
    variables: nothing can give them a value.
    """
    index = request.index
    in_collection = {
        member.name
        for members in index.collections.values()
        for member in members
        if member.kind == "variable"
    }
    first = [m.name for m in index.collections.get(_GLOBAL, ())]
    by_name = {v.name: v for v in all_variables(index)}
    global_ones = [by_name[name] for name in dict.fromkeys(first) if name in by_name]
    others = [v for name, v in by_name.items() if name not in in_collection]
    unassigned = [v for v in global_ones if v.initializer not in index.ids]
    session = request.graph.session() if (others or unassigned) and not bare else None
    if session is None:
        return (*global_ones, *others)
    having = {
        v.handle: v for v in variable_values.variables_with_value(session, [*unassigned, *others])
    }
    left_out = {v.handle: None for v in unassigned if v.handle not in having}
    if left_out:
        no_value, it = ("has no value", "it") if len(left_out) == 1 else ("have no values", "them")
        request.notices.append(
            f"{names_text([*left_out])} {no_value}, and no op assigns {it}: the checkpoint does "
            f"not hold {it}."
        )
    by_handle = {v.handle: v for v in global_ones if v.handle not in left_out} | having
    return tuple(by_handle.values())


def _signatures(request: ExportRequest) -> tuple[Signature, ...]:
    """The requested signatures, or none, with a notice, if they cannot run."""
    try:
        ops_needed_by(request.index, request.signatures)
    except GraphEditError as error:
        request.notices.append("What was written has no signature and was not run: " + error.why)
        return ()
    return request.signatures


def _check_values(
    path: Path, variables: Sequence[VariableDef], present: Mapping[str, np.ndarray], trust: Trust
) -> None:
    """Raise unless the file restores every variable to its value."""
    reads = {v.handle: v.snapshot or v.name for v in variables}
    restored = (
        call_apart(partial(RUNS.call, _restore_values, path, trust, reads, seconds=PATIENCE))
        if reads
        else {}
    )
    for handle, value in restored.items():
        if why := describe_difference(present[handle], value):
            raise GraphEditError(
                f"{_TOLD} restores variable {handle!r} to something else: it {why}; nothing was "
                "written.",
                [handle],
            )


def _check_runs(path: Path, request: ExportRequest, saved: Mapping[str, object]) -> None:
    """Raise unless the signatures compute what the graph computes; local variables get their
    current values.
    """
    if not request.signatures:
        return
    try:
        state = read_state(request, ops_needed(request.index, request.signatures))
        _check_restorable(request, state, saved)
    except GraphEditError as error:
        request.notices.append("What was written was not run: " + error.why)
        return

    reference = GraphReference(request, state)
    unsaved = [v for v in state.variables if v.handle not in saved]
    values = {v.handle: state.values[v.handle] for v in unsaved}
    load = partial(
        opened_by, reference, _load, path, request.trust, unsaved, values, list(state.starters)
    )
    check(reference, _TOLD, [("tf.compat.v1.train.import_meta_graph", load)])


def _restore_values(path: Path, trust: Trust, reads: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The values of tensors once a file is restored."""
    with _restore(path, trust) as session:
        values: dict[str, np.ndarray] = session.run(dict(reads))
        return values


@contextmanager
def _load(
    path: Path,
    trust: Trust,
    unsaved: Sequence[VariableDef],
    values: Mapping[str, npt.ArrayLike],
    starters: Sequence[str],
) -> Iterator[Run]:
    """Restore a file, and give its local variables, which no checkpoint has, their values."""
    with _restore(path, trust) as session:
        variable_values.load_values(session, unsaved, values)
        session.run(list(starters))

        def run(
            signature: Signature, feeds: Mapping[str, TensorCompatible]
        ) -> dict[str, np.ndarray]:
            fed = dict(signature.inputs)
            values: dict[str, np.ndarray] = session.run(
                dict(signature.outputs), {fed[key]: value for key, value in feeds.items()}
            )
            return values

        yield run


def _check_restorable(
    request: ExportRequest, state: ExportedState, saved: Mapping[str, object]
) -> None:
    """Raise for state that the signatures need and the file does not have."""
    ids = request.index.ids
    if any(name not in ids for name in state.starters):
        raise GraphEditError(
            "hash tables hold what was put into them in the session, which no checkpoint has."
        )
    lacking = [
        v.handle for v in state.variables if v.handle not in saved and v.initializer not in ids
    ]
    if lacking:
        raise GraphEditError(
            f"local variable {lacking[0]!r} has no initializer of its own.", lacking
        )


def _check_import(path: Path, request: ExportRequest) -> None:
    """Raise unless TensorFlow reads the file back; without values, there is nothing to compare."""
    if request.settings.verify and not is_refused(request):
        call_apart(partial(RUNS.call, _try_import, path, request.trust, seconds=PATIENCE))


def _try_import(path: Path, trust: Trust) -> None:
    """Import a file. Raises GraphEditError if TensorFlow does not read it."""
    with _restore(path, trust, bare=True):
        pass


@contextmanager
def _restore(path: Path, trust: Trust, *, bare: bool = False) -> Iterator[Session]:
    """A session on the written graph, with restored variables unless the file is `bare`."""
    with tf.Graph().as_default() as graph, open_session(graph, trust, exact_config()) as session:
        try:
            saver = v1.train.import_meta_graph(str(path), clear_devices=True)
        except (ValueError, KeyError, TypeError, tf.errors.OpError) as error:
            raise GraphEditError(
                f"TensorFlow does not read {path.name!r} back: {error_text(error)}; save a '.pb' "
                "or a SavedModel instead."
            ) from error
        if saver is not None and not bare:
            saver.restore(session, str(path.with_suffix("")))
        yield session
