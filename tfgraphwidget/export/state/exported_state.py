"""The state of an exported subgraph: values of variables, contents of tables, asset files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.state.table_contents import read_contents
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLES,
    TABLE_FILE_INITIALIZERS,
    GraphIndex,
    Mask,
    VariableDef,
    are_compatible,
    from_outside,
    mask_of,
    needed_ops,
    of_type,
    own_ops,
    stored_texts,
    variables_among,
)
from tfgraphwidget.naming import HOW_TO_TRUST, names_text, take_free_name
from tfgraphwidget.runtime.session import TimedSession, variable_values
from tfgraphwidget.sentences import OPEN_WITH_CHECKPOINT, OPEN_WITH_SESSION, in_cell
from tfgraphwidget.sources import error_text, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef


@dataclass(frozen=True)
class ExportedState:
    """The state of an exported subgraph.

    Attributes:
        variables: The variables; each has an op that assigns it.
        values: The values of the variables by handle name.
        nodes: NodeDefs to add to the graph.
        starters: The ops to run once the variables have values.
        ops: The ops of the graph that belong to the state.
        assets: The paths of asset files by the string tensor that holds them.
    """

    variables: tuple[VariableDef, ...]
    values: Mapping[str, npt.ArrayLike]
    nodes: tuple[NodeDef, ...]
    starters: tuple[str, ...]
    ops: tuple[str, ...]
    assets: Mapping[str, str]


def read_state(request: ExportRequest, need: Mask) -> ExportedState:
    """Read the state of needed ops in the session; only reads run in it. Raises SessionRefused for
    variables without a value, and GraphEditError for state that only a running session can fill.
    """
    index = request.index
    contents = read_contents(
        index, need, lambda tensors: _session(request, "tables' contents").run(list(tensors))
    )
    need = need | needed_ops(index, (), contents.starters)
    variables = variables_among(index, need)
    present = present_values(request, variables)
    assign_ops = _AssignOps(index)
    whole = tuple(
        assign_ops.with_assign(v, present[v.handle], assign)
        for v, assign in _usable_initializers(index, variables, need)
    )
    own = mask_of(index, (i for v in whole for i in own_ops(index, v)))
    ops = [index.names[i] for i in np.flatnonzero(own).tolist()] + [
        op for op in contents.starters if op in index.ids
    ]
    closure = need | needed_ops(index, (), ops)
    assets = assets_of(request, closure)
    return ExportedState(
        whole,
        present,
        (*assign_ops.nodes, *contents.nodes),
        contents.all_starters,
        tuple(ops),
        assets,
    )


def _session(request: ExportRequest, what: str) -> TimedSession:
    session = request.graph.session()
    if session is None:
        raise SessionRefused(
            f"There is no session to take the {what} from; " + OPEN_WITH_SESSION + "."
        )
    variable_values.check_session(session, request.graph.live())
    return TimedSession(session)


def present_values(
    request: ExportRequest, variables: Iterable[VariableDef]
) -> dict[str, np.ndarray]:
    """The value of each variable by handle name."""
    variables = tuple(variables)
    if not variables:
        return {}
    session = _session(request, "variables' values")
    orphans = [v.handle for v in variables if v.resource and not v.snapshot]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no op that only reads it, so its value cannot be saved; "
            + in_cell("add a tf.raw_ops.ReadVariableOp on it, or cut after it with inputs=[…]."),
            orphans,
        )
    reads = {v.handle: v.snapshot or v.name for v in variables}
    try:
        read: dict[str, np.ndarray] = session.run(reads)
    except tf.errors.OpError as error:
        missing = variable_values.variables_without_value(session, reads, error)
        why = str(missing) if missing else f"The session cannot read values: {error_text(error)}"
        if missing and request.graph.lacks_values():
            way = OPEN_WITH_CHECKPOINT
        else:
            way = in_cell(
                "run tf.compat.v1.global_variables_initializer(), or restore a checkpoint, and "
                "save again"
            )
        raise SessionRefused(f"{why}; " + way + ".", missing.handles or list(reads)) from None
    return read


def with_assign_ops(
    index: GraphIndex, variables: Iterable[VariableDef]
) -> tuple[tuple[VariableDef, ...], tuple[NodeDef, ...]]:
    """Variables that each have an op that assigns them, and the NodeDefs to add for that."""
    assign_ops = _AssignOps(index)
    whole = [v if v.initializer in index.ids else assign_ops.add_assign(v) for v in variables]
    return tuple(whole), tuple(assign_ops.nodes)


def _usable_initializers(
    index: GraphIndex, variables: tuple[VariableDef, ...], need: Mask
) -> Iterable[tuple[VariableDef, bool]]:
    """Each variable, and whether its initializer can be exported: it must not depend on other ops
    of the graph.
    """
    foreign = from_outside(index) | (of_type(index, HANDLES.__contains__) & ~need)
    all_of_them = [v.initializer for v in variables if v.initializer in index.ids]
    if not (needed_ops(index, (), all_of_them) & foreign).any():
        return [(v, v.initializer in index.ids) for v in variables]
    return [
        (
            v,
            v.initializer in index.ids
            and not (needed_ops(index, (), [v.initializer]) & foreign).any(),
        )
        for v in variables
    ]


class _AssignOps:
    """New ops that assign to variables whose initializer cannot be exported."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.nodes: list[NodeDef] = []
        self._used_names: set[str] = set()

    def with_assign(self, variable: VariableDef, value: npt.ArrayLike, keep: bool) -> VariableDef:
        """The variable with an op that assigns it: its initializer if that is to `keep`."""
        if keep and self._takes(variable, np.shape(value)):
            return variable
        return self.add_assign(variable)

    def add_assign(self, variable: VariableDef) -> VariableDef:
        """The variable with a new op that assigns a fed value."""
        self._used_names = self._used_names or {name.lower() for name in self.index.names}
        handle = self.index.nodes[self.index.ids[variable.handle]]
        fed = tf_protos.NodeDef(name=self._free(f"{variable.handle}/value"), op="Placeholder")
        fed.attr["dtype"].type = handle.attr["dtype"].type
        fed.attr["shape"].shape.unknown_rank = True
        kind, key = ("AssignVariableOp", "dtype") if variable.resource else ("Assign", "T")
        assign = tf_protos.NodeDef(name=self._free(f"{variable.handle}/Assign"), op=kind)
        assign.input[:] = [variable.handle, fed.name]
        assign.attr[key].type = handle.attr["dtype"].type
        if not variable.resource:
            assign.attr["validate_shape"].b = False
        self.nodes += [fed, assign]
        return replace(variable, initializer=assign.name, initial_value=None)

    def _takes(self, variable: VariableDef, shape: tuple[int, ...]) -> bool:
        """Whether the variable's initializer takes a value of that shape."""
        op = self.index.ids[variable.initializer or ""]
        edge = self.index.inputs.start[op] + 1
        if edge >= self.index.inputs.start[op + 1]:
            return False
        value_shape = self.index.shape(
            int(self.index.inputs.values[edge]), int(self.index.ports[edge])
        )
        return are_compatible(value_shape, shape)

    def _free(self, base: str) -> str:
        return take_free_name(base, self._used_names)


def named_files(index: GraphIndex, ops: Mask) -> dict[int, str]:
    """The paths of files that fill tables or are assets, by the constant that holds them."""
    candidates = [
        index.op(member.name) for member in index.collections.get(tf_protos.ASSET_FILEPATHS, ())
    ]
    reads = [i for i in np.flatnonzero(ops).tolist() if index.types[i] in TABLE_FILE_INITIALIZERS]
    candidates += [index.input_lists[i][1] for i in reads if len(index.input_lists[i]) > 1]
    paths = ((op, _path(index.nodes[op])) for op in dict.fromkeys(candidates) if ops[op])
    return {op: path for op, path in paths if path is not None}


def tell_files_that_stay(request: ExportRequest, name: str, nodes: Iterable[NodeDef]) -> None:
    """Add a notice for the file of that name that names others, such as vocabularies."""
    index = request.index
    written = mask_of(index, (index.ids[node.name] for node in nodes if node.name in index.ids))
    paths = list(dict.fromkeys(named_files(index, written).values()))
    if paths:
        it = "it" if len(paths) == 1 else "them"
        request.notices.append(
            f"{name!r} names {names_text(paths)}, from which tables are filled; leave {it} there, "
            f"or save a SavedModel, which takes {it} along."
        )


def assets_of(request: ExportRequest, ops: Mask) -> dict[str, str]:
    """The paths of asset files by the constant that holds them. Raises GraphEditError for a file
    that does not exist.

    A file of unknown origin may name any file, which would be copied: a notice names what is not
    copied therefore.
    """
    index, trust = request.index, request.trust
    paths = {}
    for op, path in named_files(index, ops).items():
        if not trust.is_given and not trust.may_read(path.encode(errors="surrogateescape")):
            request.notices.append(
                f"{index.names[op]!r} names the file {path!r}, which is not beside the model, so "
                "it was not copied; " + HOW_TO_TRUST + "."
            )
            continue
        if not Path(path).is_file():
            raise GraphEditError(
                f"{index.names[op]!r} names the file {path!r}, which a table is filled from, and "
                "it is not there; put it back to save the model with it.",
                [index.names[op]],
            )
        paths[f"{index.names[op]}:0"] = path
    return paths


def _path(node: NodeDef) -> str | None:
    if node.op not in CONSTANTS or "value" not in node.attr:
        return None
    texts = stored_texts(node.attr["value"].tensor)
    return texts[0].decode(errors="surrogateescape") if texts and len(texts) == 1 else None
