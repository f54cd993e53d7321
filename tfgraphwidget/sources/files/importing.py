"""Import a file's graph into TensorFlow, with a session and the values of its variables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from tfgraphwidget.errors import GraphEditError, NotRunnable, NotTrusted
from tfgraphwidget.graph import OUTPUT_SHAPES, VariableDef
from tfgraphwidget.messages import copy_of
from tfgraphwidget.progress import tell
from tfgraphwidget.sentences import in_cell, leave_out
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.assets import relocate_assets
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.checkpoint_keys import (
    assign_op,
    checkpoint_keys,
    graph_variables,
    variable_slice,
)
from tfgraphwidget.sources.files.import_repairs import ImportRepairs
from tfgraphwidget.sources.files.object_graph import unrestored_variables
from tfgraphwidget.sources.files.obstacles import (
    FileGraph,
    excess_obstacle,
    find_obstacles,
    missing_checkpoint_names,
)
from tfgraphwidget.sources.files.other_checkpoint import OtherCheckpoint
from tfgraphwidget.sources.files.tensor_bundle import StoredTensor, as_array
from tfgraphwidget.sources.inference.bounds import find_large_computation
from tfgraphwidget.sources.inference.dtypes import OpTypes
from tfgraphwidget.sources.inference.shapes import NodeTyping
from tfgraphwidget.sources.live.graph_body import GraphBody
from tfgraphwidget.sources.live.guarded_session import open_session
from tfgraphwidget.sources.source import ImportedGraph
from tfgraphwidget.sources.tf_errors import error_text, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import SavedModelLoader, import_meta_graph, is_version
from tfgraphwidget.tf_types import MetaGraphDef

_Result = TypeVar("_Result")
# characters of TensorFlow's sentence, which may quote a shape of a million dimensions
_LONGEST = 500


@wrap_tf_errors("import the graph")
def import_file(file: FileGraph) -> ImportedGraph:
    """Import the graph, open a session on it, and load the values that the checkpoint has.

    Raises NotRunnable, naming what stands in the way; nothing is left open then.
    """
    for obstacle in find_obstacles(file):
        if obstacle.stops:
            raise NotRunnable(obstacle.why, obstacle.ops)
    types = OpTypes(file.body.function)
    excess = find_large_computation(
        file.body.protos, lambda nodes: NodeTyping(nodes, types, dict, file.body.versions)
    )
    if excess is not None:
        raise NotRunnable(*excess_obstacle(excess)[::2])
    graph = tf.Graph()
    # Ops pinned to a device that this machine has not run on the CPU; a notice says so.
    session = open_session(graph, file.trust, tf.compat.v1.ConfigProto(allow_soft_placement=True))
    tell("Importing the graph into TensorFlow")
    repairs = ImportRepairs()
    try:
        with graph.as_default():
            notices = (*_fill(file, graph, session, repairs), *_fill_tables(file, graph, session))
    except NotRunnable:
        session.close()
        raise
    except NotTrusted as refusal:
        session.close()
        raise NotRunnable(refusal.why, refusal.ops) from refusal
    except Exception as error:  # whatever TensorFlow finds wrong with a file
        session.close()
        why = _damaged_value(file.checkpoint) if isinstance(error, tf.errors.DataLossError) else ""
        raise NotRunnable(
            why
            or (
                f"TensorFlow cannot import {file.where}: "
                f"{error_text(error)[:_LONGEST].rstrip('.')}; "
                + in_cell(
                    "it can be looked at and edited, and it runs once what editor.lint() finds is "
                    "fixed."
                )
            )
        ) from error
    body = GraphBody(graph, saved_names=file.body.saved_names)
    return ImportedGraph(
        body,
        graph,
        session,
        (*repairs.notices, *notices),
        repairs.nodes,
        (*notices, *file.table_contents.notices),
    )


def _damaged_value(checkpoint: Checkpoint | None) -> str:
    """Which value of a checkpoint is damaged, as a sentence; "" if each can be read."""
    if checkpoint is None:
        return ""
    try:
        for name in checkpoint.shapes:
            checkpoint.value(name)
    except GraphEditError as error:
        return error.why
    return ""


def _fill(
    file: FileGraph, graph: tf.Graph, session: tf.compat.v1.Session, repairs: ImportRepairs
) -> tuple[str, ...]:
    """Import the graph and load its values; return a sentence on what was not run."""
    if file.folder is not None:
        return _load_saved_model(file, file.folder, graph, session, repairs)
    if file.meta.HasField("meta_info_def") or file.meta.collection_def:
        meta = copy_of(file.meta)
        _import_repaired(meta, lambda: import_meta_graph(copy_of(meta)), repairs)
    else:
        meta = tf_protos.MetaGraphDef(graph_def=file.body.envelope())
        meta.graph_def.node.extend(file.body.protos)
        _import_repaired(
            meta, lambda: tf.import_graph_def(copy_of(meta.graph_def), name=""), repairs
        )
    if file.checkpoint is not None:
        _load(file, file.checkpoint, graph, session)
    elif file.values is not None:
        readers = [
            (v, file.values[v.handle])
            for v in graph_variables(file.body)
            if v.handle in file.values
        ]
        _assign(readers, graph, session)
        return _initialize(
            [v for v in graph_variables(file.body) if v.handle not in file.values], graph, session
        )
    return ()


def _import_repaired(
    meta: MetaGraphDef, import_it: Callable[[], _Result], repairs: ImportRepairs
) -> _Result:
    """Import a MetaGraphDef without what TensorFlow refuses of it though no op needs that.

    An import that fails leaves no new ops, and each adds default attributes to the NodeDefs that it
    is given
    (test_tensorflow_facts.py::test_an_import_adds_default_attributes_to_the_graph_def_that_it_is_given).
    """
    repairs.repair(meta, takes_version=is_version(meta.meta_info_def.tensorflow_version or "1.0"))
    try:
        return import_it()
    except ValueError as error:
        if OUTPUT_SHAPES not in str(error) or not repairs.leave_out_shapes(meta.graph_def):
            raise
        return import_it()


def _load_saved_model(
    file: FileGraph,
    folder: Path,
    graph: tf.Graph,
    session: tf.compat.v1.Session,
    repairs: ImportRepairs,
) -> tuple[str, ...]:
    """Load as `tf.compat.v1.saved_model.load` does; a sentence on ops that it did not run."""
    loader, tags = SavedModelLoader(str(folder)), list(file.meta.meta_info_def.tags)
    meta = loader.get_meta_graph_def_from_tags(tags)
    relocate_assets(meta, folder)
    saver, _ = _import_repaired(meta, lambda: loader.load_graph(graph, tags), repairs)
    notices: list[str] = []
    try:
        loader.restore_variables(session, saver)
        if isinstance(file.checkpoint, OtherCheckpoint):
            _restore(file, file.checkpoint, session)
    except NotTrusted:
        if file.checkpoint is not None:
            _assign_values(file, file.checkpoint, graph, session)
    try:
        loader.run_init_ops(session, tags)
    except NotTrusted as refusal:
        notices.append("What the SavedModel runs when it is loaded was not run: " + refusal.why)
    _load_unrestored(file, graph, session)
    return tuple(notices)


def _restore(file: FileGraph, checkpoint: OtherCheckpoint, session: tf.compat.v1.Session) -> None:
    """Let the SavedModel's Saver restore another checkpoint's values, under its own names."""
    saver = file.meta.saver_def
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "variables")
        write_checkpoint(
            prefix,
            [StoredTensor(name, partial(checkpoint.value, name)) for name in checkpoint.shapes],
        )
        session.run(saver.restore_op_name, {saver.filename_tensor_name: prefix})


def write_checkpoint(prefix: str, tensors: Iterable[StoredTensor]) -> None:
    """Write a checkpoint as `write_bundle` does, by TensorFlow, which makes checksums faster and
    has all values in memory. Raises tf.errors.OpError where it cannot be written there.
    """
    tensors = list(tensors)
    arrays = [as_array(tensor.read()) for tensor in tensors]
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        fed = [tf.compat.v1.placeholder(tf.as_dtype(array.dtype)) for array in arrays]
        saved = tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=[tensor.name for tensor in tensors],
            shape_and_slices=[
                _slice_text(tensor, array.shape)
                for tensor, array in zip(tensors, arrays, strict=True)
            ],
            tensors=fed,
        )
        session.run(saved, dict(zip(fed, arrays, strict=True)))


def _slice_text(tensor: StoredTensor, shape: Sequence[int]) -> str:
    """Which part of a partitioned variable a tensor is, as SaveV2 reads it: "6 2 0,3:0,2"."""
    if tensor.full_shape is None:
        return ""
    bounds = (f"{start},{size}" for start, size in zip(tensor.offset, shape, strict=True))
    return f"{' '.join(map(str, tensor.full_shape))} {':'.join(bounds)}"


def _load_unrestored(file: FileGraph, graph: tf.Graph, session: tf.compat.v1.Session) -> None:
    """Load the captured variables that the SavedModel's Saver leaves out, by object."""
    unrestored = unrestored_variables(file.meta, file.body.protos)
    if not unrestored or file.checkpoint is None or not file.checkpoint.objects:
        return
    saved_objects = file.checkpoint.objects
    feeds = {}
    assigns_made = []
    with tf.name_scope("restore_captured"):
        for op, number in unrestored.items():
            if number < len(saved_objects):
                keys = [attribute.checkpoint_key for attribute in saved_objects[number].attributes]
            else:
                keys = []
            if keys and keys[0] in file.checkpoint.shapes:
                value = as_array(file.checkpoint.value(keys[0]))
                placeholder = tf.compat.v1.placeholder(value.dtype, value.shape)
                handle = graph.get_tensor_by_name(f"{op}:0")
                assigns_made.append(tf.raw_ops.AssignVariableOp(resource=handle, value=placeholder))
                feeds[placeholder] = value
    session.run(assigns_made, feeds)


def _load(
    file: FileGraph, checkpoint: Checkpoint, graph: tf.Graph, session: tf.compat.v1.Session
) -> None:
    """Load what the checkpoint has, with no new ops: by the Saver, or by feeding assigns."""
    saver = file.meta.saver_def
    if saver.restore_op_name and not missing_checkpoint_names(file, checkpoint):
        with suppress(NotTrusted):  # of a Saver that does more than to restore
            session.run(saver.restore_op_name, {saver.filename_tensor_name: checkpoint.prefix})
            return
    _assign_values(file, checkpoint, graph, session)


def _assign_values(
    file: FileGraph, checkpoint: Checkpoint, graph: tf.Graph, session: tf.compat.v1.Session
) -> None:
    """Feed the values that the checkpoint has to the ops that assign variables."""
    variables = graph_variables(file.body)
    keys = checkpoint_keys(file.body.protos, variables)

    def value(variable: VariableDef) -> object:
        return variable_slice(checkpoint.value(keys[variable.handle]), variable)

    _assign(
        [(v, partial(value, v)) for v in variables if keys[v.handle] in checkpoint.shapes],
        graph,
        session,
    )


def _initialize(
    variables: Iterable[VariableDef], graph: tf.Graph, session: tf.compat.v1.Session
) -> tuple[str, ...]:
    """Run the initializers of variables that can run; a sentence on those that may not."""
    there = {op.name for op in graph.get_operations()}
    errors = _run_each([v.initializer for v in variables if v.initializer in there], graph, session)
    return tuple(
        (f"The initializer {op!r} was not run: " + error.why)
        for op, error in errors.items()
        if isinstance(error, NotTrusted)
    )


def _fill_tables(
    file: FileGraph, graph: tf.Graph, session: tf.compat.v1.Session
) -> tuple[str, ...]:
    """Run the initializers of tables; return a sentence for each that fails."""
    return tuple(
        (f"{op!r} cannot fill its hash table, which is empty in the editor's session: " + error.why)
        if isinstance(error, NotTrusted)
        else (
            f"{op!r} cannot fill its hash table, which is empty in the editor's session: "
            f"{error_text(error)[:_LONGEST].rstrip('.')}; "
            + in_cell(f"run editor.session.run({op!r}) when what it reads is there.")
        )
        for op, error in _run_each(file.table_contents.initializers, graph, session).items()
    )


def _run_each(
    ops: Iterable[str], graph: tf.Graph, session: tf.compat.v1.Session
) -> dict[str, tf.errors.OpError | NotTrusted]:
    """Run ops, each after those whose state it reads; return errors of what cannot run."""
    waiting = list(ops)
    while waiting:
        errors = {}
        for op in waiting:
            try:
                session.run(graph.get_operation_by_name(op))
            except (tf.errors.OpError, NotTrusted) as error:  # noqa: PERF203
                errors[op] = error
        if len(errors) == len(waiting):
            return errors
        waiting = list(errors)
    return {}


def _assign(
    readers: Sequence[tuple[VariableDef, Callable[[], object]]],
    graph: tf.Graph,
    session: tf.compat.v1.Session,
) -> None:
    """Assign values to variables, with no new ops: what an op of the graph assigns is fed."""
    unloaded = readers
    while unloaded:
        feeds: dict[str, object] = {}
        run, later = [], []
        for variable, read in unloaded:
            assign = assign_op(graph, variable)
            if assign is None:
                raise NotRunnable(
                    f"Variable {variable.name!r} has no op that assigns to it, so its value cannot "
                    "be loaded; " + leave_out("checkpoint") + " to edit the graph without values.",
                    [variable.handle],
                )
            tensor = assign.inputs[1].name
            if tensor in feeds:  # two variables of one initial value: each takes its own run
                later.append((variable, read))
            else:
                feeds[tensor] = read()
                run.append(assign)
        session.run(run, feeds)
        unloaded = later
