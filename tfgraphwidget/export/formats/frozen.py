"""Frozen graphs: one GraphDef of what the outputs need, with the variables' present values as constants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.edits.freeze import ConvertedGraph
from tfgraphwidget.edits.freeze import convert_variables as freeze
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.function_library import called
from tfgraphwidget.export.formats.function_module import standing_alone
from tfgraphwidget.export.formats.graph_def import check_size, read, write
from tfgraphwidget.export.request import Export
from tfgraphwidget.export.state.exported_state import State, present_values, state_of
from tfgraphwidget.export.state.exported_subgraph import Part, cut, needed_by, placed
from tfgraphwidget.export.verification.reference import Original
from tfgraphwidget.export.verification.round_trip import Run, check
from tfgraphwidget.graph import (
    HANDLES,
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    Mask,
    VariableDef,
    build,
    definitions,
    needed_ops,
    of_type,
    unused_inputs,
    unused_inputs_notice,
)
from tfgraphwidget.naming import listed, split_tensor
from tfgraphwidget.runtime.sandbox import Sandbox
from tfgraphwidget.sources import Signature, tf_protos

_WAY_OUT = "save a SavedModel (a folder) or a '.meta', which keep the variables' values in files of their own"


def write_frozen(path: Path, what: Export) -> None:
    """Write a GraphDef without variables, and try it."""
    if what.read_only:
        with standing_alone(what) as alone:
            write_frozen(path, alone)
        return
    what = what.called_by(_asked(what))
    need = np.logical_or.reduce(needed_by(what.index, what.signatures))
    try:
        state = state_of(what, need)
    except GraphEditError as error:
        # Its variables have no values, which is final, or nothing can fill its queue: that stays as it is.
        variables = _variables(what.index, need)
        state, why = State(variables, present_values(what, variables), (), (), (), {}), error.why
    else:
        why = ""
    part, made, library = _frozen(what, state)
    graph_def = tf.compat.v1.GraphDef(node=made.nodes, versions=what.envelope().versions, library=library)
    if not library.ByteSize():
        graph_def.ClearField("library")
    write(path, graph_def, verify=what.verify)
    _tell(what, made, state, why)
    if what.verify and not why:
        check(Original(what, state), "The frozen graph", [("tf.import_graph_def", lambda: _loaded(path, part, state))])


def _asked(what: Export) -> tuple[Signature, ...]:
    """The signatures; placeholders that no input names stay as they are, and are inputs too."""
    if not what.signatures:
        raise GraphEditError("A frozen graph is what its outputs need: choose a boundary first, or give outputs=[…].")
    index, found = what.index, []
    for signature in what.signatures:
        given = [tensor for _, tensor in signature.inputs]
        outputs = [tensor for _, tensor in signature.outputs]
        need = needed_ops(index, given, outputs)
        for sentence in unused_inputs_notice(unused_inputs(index, given, need), outputs):
            what.notice(sentence)
        fed = [
            index.names[i] for i in np.flatnonzero(need & of_type(index, REQUIRED_PLACEHOLDERS.__contains__)).tolist()
        ]
        more = tuple((name, f"{name}:0") for name in fed if f"{name}:0" not in given)
        found.append(replace(signature, inputs=(*signature.inputs, *more)))
    return tuple(found)


def _variables(index: GraphIndex, need: Mask) -> tuple[VariableDef, ...]:
    return tuple(definitions(index, np.flatnonzero(need & of_type(index, HANDLES.__contains__)).tolist()).values())


def _frozen(what: Export, state: State) -> tuple[Part, ConvertedGraph, Any]:
    """The part, its frozen form, and the functions that it calls."""
    index = what.index
    starters = [name for name in state.starters if name in index.ids]
    part = cut(index, what.signatures, starters)
    known: dict[str, Any] = {"typing": index.typing, "functions": index.functions, "extras": index.extras}
    inside = build(placed(what, (*part.nodes, *state.nodes), "The frozen graph"), **known)
    held = {name: int(np.asarray(value).nbytes) for name, value in state.values.items()}
    library = called(index, inside.nodes)
    check_size("The frozen graph", inside.nodes, library, _WAY_OUT, held)
    outputs = [*(tensor for s in part.signatures for _, tensor in s.outputs), *state.starters]
    made = freeze(inside, outputs, lambda name: _proto(inside, name, state.values[name]))
    return part, made, _library(index, made)


def _proto(index: GraphIndex, name: str, value: Any) -> Any:
    dtype = tf.as_dtype(index.nodes[index.ids[name]].attr["dtype"].type)
    return tf.make_tensor_proto(value, dtype, np.shape(value))


def _library(index: GraphIndex, made: ConvertedGraph) -> Any:
    inside = [node for function in made.functions for node in function.node_def]
    library = called(index, [*made.nodes, *inside])
    return tf_protos.FunctionDefLibrary(function=[*library.function, *made.functions], gradient=library.gradient)


def _tell(what: Export, made: ConvertedGraph, state: State, why: str) -> None:
    if made.cut:
        count = "is" if len(made.cut) == 1 else "are"
        what.notice(f"The frozen graph does not update variables: {listed(made.cut)} {count} left out.")
    for name, kind in made.kept:
        fills = f"; run {listed(state.starters)} once after importing it" if state.starters else ""
        what.notice(f"The frozen graph keeps {kind} {name!r}, which is no variable{fills}.")
    if why and what.verify:
        what.notice(f"What was written was not run: {why}")


@contextmanager
def _loaded(path: Path, part: Part, state: State) -> Iterator[Run]:
    graph_def = read(path)
    ends = {signature.name: (dict(signature.inputs), dict(signature.outputs)) for signature in part.signatures}
    there = {node.name for node in graph_def.node}  # an input that no output needs is not
    with Sandbox(graph_def.node, graph_def.library, {}, state.starters) as sandbox:

        def run(signature: Signature, feeds: dict[str, Any]) -> dict[str, Any]:
            inputs, outputs = ends[signature.name]
            fed = {inputs[key]: value for key, value in feeds.items() if split_tensor(inputs[key])[0] in there}
            got = sandbox.run(list(outputs.values()), fed)
            return dict(zip(outputs, got, strict=True))

        yield run
