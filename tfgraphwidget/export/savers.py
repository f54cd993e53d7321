"""The Saver whose ops are in a graph already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorflow.core.protobuf import saver_pb2

from tfgraphwidget.graph.between import needed
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.names import last_part

_RESTORES, _ASSIGNS = "restore_all", frozenset({"Assign", "AssignVariableOp"})


def saver_of(index: GraphIndex, variables: Sequence[VariableDef]) -> Any:
    """The SaverDef of the last Saver that restores just these variables, under their own names; None without one."""
    for name in reversed(index.names):
        if last_part(name) == _RESTORES and _restores(index, name, variables):
            scope = name.removesuffix(_RESTORES)
            saves = next(
                (f"{scope}{end}" for end in ("control_dependency", "Identity") if scope + end in index.ids), ""
            )
            if saves and f"{scope}Const" in index.ids:
                return saver_pb2.SaverDef(
                    filename_tensor_name=f"{scope}Const:0",
                    save_tensor_name=f"{saves}:0",
                    restore_op_name=name,
                    max_to_keep=5,
                    keep_checkpoint_every_n_hours=10_000.0,
                    sharded=saves.endswith("Identity"),
                    version=saver_pb2.SaverDef.V2,
                )
    return None


def key_of(variable: VariableDef) -> str:
    """The name of a variable's value in a checkpoint; slices of one variable have one name."""
    return str(variable.slice_info.full_name) if variable.slice_info is not None else variable.handle


def _restores(index: GraphIndex, op: str, variables: Sequence[VariableDef]) -> bool:
    """Whether running an op assigns to just these variables what a checkpoint has under their names."""
    ops = np.flatnonzero(needed(index, (), [op])).tolist()
    assigned = {index.names[index.input_lists[i][0]] for i in ops if index.types[i] in _ASSIGNS}
    keys: set[str] = set()
    for i in ops:
        if index.types[i] == "RestoreV2":
            names = index.nodes[index.input_lists[i][1]]
            keys.update(name.decode(errors="replace") for name in names.attr["value"].tensor.string_val)
    return assigned == {v.handle for v in variables} and keys == set(map(key_of, variables))
