"""Frozen graphs: a GraphDef of the ops that the outputs need, with constants in place of
variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tfgraphwidget.edits.freeze import ConvertedGraph, check_computed
from tfgraphwidget.edits.freeze import convert_variables as freeze
from tfgraphwidget.errors import GraphEditError, NotRunnable, TensorFlowMissing
from tfgraphwidget.export.formats.function_library import library_of
from tfgraphwidget.export.formats.function_module import function_as_graph
from tfgraphwidget.export.formats.graph_def import check_size, read_graph_def, write_message
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.state.exported_state import (
    ExportedState,
    present_values,
    read_state,
    tell_files_that_stay,
)
from tfgraphwidget.export.state.exported_subgraph import (
    ExportedSubgraph,
    extract_subgraph,
    ops_needed,
    without_remote_devices,
)
from tfgraphwidget.export.verification.reference import GraphReference
from tfgraphwidget.export.verification.round_trip import Run, check, opened_by
from tfgraphwidget.graph import (
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    Mask,
    Signature,
    build,
    needed_ops,
    of_type,
    unused_inputs,
    unused_inputs_notice,
    variables_among,
)
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.runtime.sandbox import Sandbox, drop_output_shapes, has_stale_shapes
from tfgraphwidget.runtime.session import edit_values
from tfgraphwidget.sentences import Sentence, either
from tfgraphwidget.sources import GraphDefLibrary, tf_protos
from tfgraphwidget.tf_types import FunctionDefLibrary, GraphDef, TensorCompatible

_WAY_OUT = (
    "save a SavedModel (a folder) or a '.meta', which keep the variables' values in files of their "
    "own"
)

_STATE_WAYS_OUT = (
    "save a SavedModel (a folder), which keeps the variable",
    ", or " + either("call freeze(updates='drop') before", "freeze the graph before"),
)


def write_frozen(path: Path, request: ExportRequest) -> None:
    """Write a frozen graph, and verify it."""
    if request.read_only and request.function is not None:
        with function_as_graph(request) as alone:
            write_frozen(path, alone)
        return
    frozen = freeze_graph(request, "The frozen graph")
    tell_files_that_stay(request, path.name, frozen.graph_def.node)
    is_alone = _is_alone(request)
    write_message(
        path,
        GraphDefLibrary.of(frozen.graph_def).envelope(),
        frozen.graph_def.node,
        verify=request.settings.verify and not is_alone,
    )
    if request.read_only:
        request.notices.append(
            f"The frozen graph cannot run here, so {path.name!r} was not run: " + request.read_only
        )
    if request.settings.verify and not frozen.why_not_run and not is_alone:
        reference = GraphReference(frozen.request, frozen.state)
        boundaries = {
            each.name: (dict(each.inputs), dict(each.outputs)) for each in frozen.part.signatures
        }
        load = partial(opened_by, reference, _load, path, boundaries, frozen.state.starters)
        check(reference, "The frozen graph", [("tf.import_graph_def", load)])


@dataclass(frozen=True)
class FrozenGraph:
    """A frozen graph, before it is written.

    Attributes:
        request: The request, with the signatures that run.
        graph_def: The graph with constants in place of variables.
        part: The subgraph that the signatures need, before variables became constants.
        state: The values of its variables, and what else it needs to run.
        remaining_state: (op, kind) of each table, queue and other state that no constant replaces.
        why_not_run: Why the graph cannot be run to be compared; "" if it can.
    """

    request: ExportRequest
    graph_def: GraphDef
    part: ExportedSubgraph
    state: ExportedState
    remaining_state: tuple[tuple[str, str], ...]
    why_not_run: str


def freeze_graph(request: ExportRequest, kind: str) -> FrozenGraph:
    """The frozen graph of a request; `kind` is what is written, for messages: "The frozen graph".
    Raises GraphEditError where it has no outputs, or a variable has no value.
    """
    request = replace(request, signatures=_runnable_signatures(request))
    need = ops_needed(request.index, request.signatures)
    is_alone = _is_alone(request)
    try:
        state = _stored_state(request, need) if is_alone else read_state(request, need)
    except GraphEditError as error:
        if is_alone or isinstance(error, TensorFlowMissing):
            raise
        # Either variables have no values, which present_values refuses, or a queue cannot be filled
        # and stays as it is.
        variables = variables_among(request.index, need)
        state = ExportedState(variables, present_values(request, variables), (), (), (), {})
        why = error.why
    else:
        why = Sentence()
    part, frozen_part, library = _freeze(request, state, kind)
    graph_def = tf_protos.GraphDef(
        node=frozen_part.nodes, versions=request.graph.envelope().versions, library=library
    )
    if not library.ByteSize():
        graph_def.ClearField("library")
    # Only now, since values are large, and the nodes of a GraphDef are copies of those it is made
    # of.
    constants = frozenset(frozen_part.variables)
    for node in graph_def.node:
        if node.name in constants:
            tensor = node.attr["value"].tensor
            edit_values.set_tensor_proto(tensor, np.asarray(state.values[node.name]), tensor.dtype)
    if not is_alone and has_stale_shapes(graph_def):
        drop_output_shapes(graph_def)
    _report_omissions(request, frozen_part, state, why)
    return FrozenGraph(request, graph_def, part, state, tuple(frozen_part.remaining_state), why)


def _is_alone(request: ExportRequest) -> bool:
    """Whether the graph is frozen with the values of its file, without TensorFlow: that is missing
    or cannot run it.
    """
    return bool(request.read_only) or not tf_protos.is_tensorflow_installed()


def _runnable_signatures(request: ExportRequest) -> tuple[Signature, ...]:
    """The signatures, with the other placeholders that their outputs need as further inputs."""
    if not request.signatures:
        raise GraphEditError(
            "A frozen graph is what its outputs need: choose a boundary first"
            + either(", or give outputs=[…].", ".")
        )
    index, signatures = request.index, []
    all_outputs = [tensor for signature in request.signatures for _, tensor in signature.outputs]
    check_computed(
        index,
        all_outputs,
        [tensor for signature in request.signatures for _, tensor in signature.inputs],
    )
    for signature in request.signatures:
        inputs = [tensor for _, tensor in signature.inputs]
        outputs = [tensor for _, tensor in signature.outputs]
        need = needed_ops(index, inputs, outputs)
        for sentence in unused_inputs_notice(unused_inputs(index, inputs, need), outputs):
            request.notices.append(sentence)
        feeds_by_tensor = [
            index.names[i]
            for i in np.flatnonzero(
                need & of_type(index, REQUIRED_PLACEHOLDERS.__contains__)
            ).tolist()
        ]
        more = tuple((name, f"{name}:0") for name in feeds_by_tensor if f"{name}:0" not in inputs)
        signatures.append(replace(signature, inputs=(*signature.inputs, *more)))
    return tuple(signatures)


def _stored_state(request: ExportRequest, need: Mask) -> ExportedState:
    """The file's values of variables, where TensorFlow cannot run it. Raises GraphEditError."""
    variables, readers = variables_among(request.index, need), request.graph.stored_values()
    missing = next(
        (variable.handle for variable in variables if variable.handle not in readers), None
    )
    if missing is not None and request.read_only:
        raise NotRunnable(
            f"Variable {missing!r} has no value in the file, and none can be computed: "
            + request.read_only,
            [missing],
        )
    if missing is not None:
        raise TensorFlowMissing(
            f"Variable {missing!r} has no value in the file, and to compute one for the frozen "
            "graph needs TensorFlow: run pip install 'tfgraphwidget[tensorflow]', or open the "
            "file with its checkpoint."
        )
    values = {variable.handle: np.asarray(readers[variable.handle]()) for variable in variables}
    return ExportedState(variables, values, (), (), (), {})


def _freeze(
    request: ExportRequest, state: ExportedState, kind: str
) -> tuple[ExportedSubgraph, ConvertedGraph, FunctionDefLibrary]:
    """The subgraph, its frozen form, and the functions that it calls."""
    index = request.index
    starters = [name for name in state.starters if name in index.ids]
    part = extract_subgraph(index, request.signatures, starters)
    inside = build(
        without_remote_devices(request, (*part.nodes, *state.nodes), kind),
        typing=index.typing,
        functions=index.functions,
        extras=index.extras,
    )
    constant_bytes = {name: int(np.asarray(value).nbytes) for name, value in state.values.items()}
    library = library_of(index, inside.nodes)
    check_size(kind, inside.nodes, library, _WAY_OUT, constant_bytes)
    outputs = [*(tensor for s in part.signatures for _, tensor in s.outputs), *state.starters]
    frozen_part = freeze(
        inside,
        outputs,
        None,
        updates="refuse",
        ways_out=_STATE_WAYS_OUT,
        inline=request.settings.inline,
        lower_control_flow=request.settings.lower_control_flow,
    )
    return part, frozen_part, _library(index, frozen_part)


def _library(index: GraphIndex, frozen_part: ConvertedGraph) -> FunctionDefLibrary:
    inside = [node for function in frozen_part.functions for node in function.node_def]
    library = library_of(index, [*frozen_part.nodes, *inside])
    frozen_library: FunctionDefLibrary = tf_protos.FunctionDefLibrary(
        function=[*library.function, *frozen_part.functions], gradient=library.gradient
    )
    return frozen_library


def _report_omissions(
    request: ExportRequest, frozen_part: ConvertedGraph, state: ExportedState, why: str
) -> None:
    for sentence in frozen_part.notices():
        request.notices.append(sentence)
    for name, kind in frozen_part.remaining_state:
        fills = (
            f"; run {names_text(state.starters)} once after importing it" if state.starters else ""
        )
        request.notices.append(
            f"The frozen graph keeps {kind} {name!r}, which is not a variable{fills}."
        )
    if why and request.settings.verify:
        request.notices.append("What was written was not run: " + why)


@contextmanager
def _load(
    path: Path,
    boundaries: Mapping[str, tuple[dict[str, str], dict[str, str]]],
    starters: Sequence[str],
) -> Iterator[Run]:
    """Import a frozen graph; `boundaries` are each signature's input and output tensors, by key."""
    graph_def = read_graph_def(path)
    there = {node.name for node in graph_def.node}  # without inputs that no output needs
    with Sandbox(
        graph_def.node, graph_def.library, {}, starters, versions=graph_def.versions
    ) as sandbox:

        def run(
            signature: Signature, feeds: Mapping[str, TensorCompatible]
        ) -> dict[str, np.ndarray]:
            inputs, outputs = boundaries[signature.name]
            feeds_by_tensor = {
                inputs[key]: value
                for key, value in feeds.items()
                if split_tensor(inputs[key])[0] in there
            }
            values = sandbox.run(list(outputs.values()), feeds_by_tensor)
            return dict(zip(outputs, values, strict=True))

        yield run
