"""The state that goes along with a part of a graph: values of variables, contents of tables, files that tables read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.export.request import Export
from tfgraphwidget.export.state.table_contents import content
from tfgraphwidget.graph import (
    CONSTANTS,
    HANDLES,
    TABLE_FILE_INITIALIZERS,
    GraphIndex,
    Mask,
    VariableDef,
    definitions,
    from_outside,
    mask_of,
    needed,
    of_type,
    own_ops,
)
from tfgraphwidget.naming import free_name
from tfgraphwidget.runtime.session import TimedSession, variable_values
from tfgraphwidget.tf_types import NodeDef, Session


@dataclass(frozen=True)
class State:
    """What a part of a graph holds.

    `variables` are as they will be: each has an op that assigns it, and `values` has its value by handle name. `nodes`
    are NodeDefs that the graph lacks, `starters` the ops to run once the variables have values, `ops` those of the
    index that belong to all this. `assets` are the string tensors that hold paths of files, each with its path.
    """

    variables: tuple[VariableDef, ...]
    values: Mapping[str, Any]
    nodes: tuple[NodeDef, ...]
    starters: tuple[str, ...]
    ops: tuple[str, ...]
    assets: Mapping[str, str]


def state_of(what: Export, need: Mask) -> State:
    """The state of the ops that are needed, read in the session; nothing in it runs but reads.

    Raises SessionRefused for variables without a value, GraphEditError for state that only a running session can fill.
    """
    index = what.index
    held = content(index, need, lambda tensors: _session(what, "tables' contents").run(list(tensors)))
    need = need | needed(index, (), held.starters)
    variables = tuple(definitions(index, np.flatnonzero(need & of_type(index, HANDLES.__contains__)).tolist()).values())
    present = present_values(what, variables)
    made = _Assigns(index)
    whole = tuple(made.whole(v, present[v.handle], kept) for v, kept in _kept(index, variables, need))
    own = mask_of(index, (i for v in whole for i in own_ops(index, v)))
    ops = [index.names[i] for i in np.flatnonzero(own).tolist()] + [op for op in held.starters if op in index.ids]
    closure = need | needed(index, (), ops)
    assets = assets_of(index, closure)
    return State(whole, present, (*made.nodes, *held.nodes), held.all_starters, tuple(ops), assets)


def _session(what: Export, wanted: str) -> TimedSession:
    session = what.session()
    if session is None:
        raise SessionRefused(f"There is no session to take the {wanted} from; give tgw.edit(graph, session=session).")
    variable_values.check_session(session, what.graph())
    return TimedSession(session)


def present_values(what: Export, variables: Iterable[VariableDef]) -> dict[str, Any]:
    """The value of each variable by handle name."""
    variables = tuple(variables)
    if not variables:
        return {}
    session: Session = _session(what, "variables' values")
    orphans = [v.handle for v in variables if v.resource and not v.snapshot]
    if orphans:
        raise GraphEditError(
            f"Variable {orphans[0]!r} has no op that only reads it, so its value cannot be saved; add a "
            "tf.raw_ops.ReadVariableOp on it, or cut behind it with inputs=[…].",
            orphans,
        )
    reads = {v.handle: v.snapshot or v.name for v in variables}
    try:
        read: dict[str, Any] = session.run(reads)
    except tf.errors.OpError as error:
        missing = variable_values.variables_without_value(session, reads, error)
        why = (
            f"{variable_values.no_value_text(missing)}"
            if missing
            else f"The session cannot read values: {variable_values.error_text(error)}"
        )
        raise SessionRefused(
            f"{why}; run tf.compat.v1.global_variables_initializer(), or restore a checkpoint, and save again.",
            missing or list(reads),
        ) from None
    return read


def assigned(index: GraphIndex, variables: Iterable[VariableDef]) -> tuple[tuple[VariableDef, ...], tuple[Any, ...]]:
    """Variables each of which has an op that assigns it, and the NodeDefs that the graph lacks for that."""
    made = _Assigns(index)
    whole = [v if v.initializer in index.ids else made.made(v) for v in variables]
    return tuple(whole), tuple(made.nodes)


def _kept(index: GraphIndex, variables: tuple[VariableDef, ...], need: Mask) -> Iterable[tuple[VariableDef, bool]]:
    """Each variable, and whether its initialiser goes along: it must need nothing that stays behind."""
    foreign = from_outside(index) | (of_type(index, HANDLES.__contains__) & ~need)
    all_of_them = [v.initializer for v in variables if v.initializer in index.ids]
    if not (needed(index, (), all_of_them) & foreign).any():
        return [(v, v.initializer in index.ids) for v in variables]
    return [
        (v, v.initializer in index.ids and not (needed(index, (), [v.initializer]) & foreign).any()) for v in variables
    ]


class _Assigns:
    """Ops that assign to variables which have none that could go along."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.nodes: list[NodeDef] = []
        self._taken: set[str] = set()

    def whole(self, variable: VariableDef, value: Any, kept: bool) -> VariableDef:
        """The variable with an op that assigns it; its own where that is `kept` and takes the value."""
        return variable if kept and self._takes(variable, np.shape(value)) else self.made(variable)

    def made(self, variable: VariableDef) -> VariableDef:
        """The variable with a new op that assigns it what is fed."""
        self._taken = self._taken or {name.lower() for name in self.index.names}
        handle = self.index.nodes[self.index.ids[variable.handle]]
        fed = tf.compat.v1.NodeDef(name=self._free(f"{variable.handle}/value"), op="Placeholder")
        fed.attr["dtype"].type = handle.attr["dtype"].type
        fed.attr["shape"].shape.unknown_rank = True
        kind, key = ("AssignVariableOp", "dtype") if variable.resource else ("Assign", "T")
        assign = tf.compat.v1.NodeDef(name=self._free(f"{variable.handle}/Assign"), op=kind)
        assign.input[:] = [variable.handle, fed.name]
        assign.attr[key].type = handle.attr["dtype"].type
        if not variable.resource:
            assign.attr["validate_shape"].b = False
        self.nodes += [fed, assign]
        return replace(variable, initializer=assign.name, initial_value=None)

    def _takes(self, variable: VariableDef, shape: tuple[int, ...]) -> bool:
        """Whether a value of that shape may be fed to the variable's initialiser."""
        op = self.index.ids[variable.initializer or ""]
        edge = self.index.inputs.start[op] + 1
        if edge >= self.index.inputs.start[op + 1]:
            return False
        wanted = self.index.shape(int(self.index.inputs.values[edge]), int(self.index.ports[edge]))
        return bool(tf.TensorShape(wanted).is_compatible_with(shape))

    def _free(self, wanted: str) -> str:
        name = free_name(wanted, self._taken)
        self._taken.add(name.lower())
        return name


def assets_of(index: GraphIndex, ops: Mask) -> dict[str, str]:
    """The constants among `ops` that hold the path of a file which a table is filled from, each with the path.

    Raises GraphEditError for a file that is not there.
    """
    key = tf.compat.v1.GraphKeys.ASSET_FILEPATHS
    told = [index.op(member.name) for member in index.collections.get(key, ())]
    reads = [i for i in np.flatnonzero(ops).tolist() if index.types[i] in TABLE_FILE_INITIALIZERS]
    told += [index.input_lists[i][1] for i in reads if len(index.input_lists[i]) > 1]
    found = {}
    for op in dict.fromkeys(told):
        path = _path(index.nodes[op])
        if not ops[op] or path is None:
            continue
        if not Path(path).is_file():
            raise GraphEditError(
                f"{index.names[op]!r} names the file {path!r}, which a table is filled from, and it is not there; put "
                "it back to save the model with it.",
                [index.names[op]],
            )
        found[f"{index.names[op]}:0"] = path
    return found


def _path(node: NodeDef) -> str | None:
    if node.op not in CONSTANTS or "value" not in node.attr or len(node.attr["value"].tensor.string_val) != 1:
        return None
    path: bytes = node.attr["value"].tensor.string_val[0]
    return path.decode(errors="surrogateescape")
