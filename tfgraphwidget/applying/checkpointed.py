"""Values of variables in checkpoints, by the names that a `Saver` gives them, without adding ops to their graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import VariableDef


def write(path: str, present: Iterable[tuple[VariableDef, Any]]) -> None:
    """Write values to the checkpoint `path`, on this machine; parts of partitioned variables under the whole's name."""
    names, slices, arrays = [], [], []
    for variable, value in present:
        part = variable.slice_info
        names.append(_key(variable))
        arrays.append(np.asarray(value))
        ranges = zip(part.var_offset, part.var_shape, strict=True) if part else ()
        bounds = ":".join(f"{start},{length}" for start, length in ranges)
        slices.append(f"{' '.join(map(str, part.full_shape))} {bounds}" if part else "")
    with tf.Graph().as_default() as graph:
        fed = [tf.compat.v1.placeholder(tf.as_dtype(a.dtype) if a.dtype != object else tf.string) for a in arrays]
        saved = tf.raw_ops.SaveV2(prefix=path, tensor_names=names, shape_and_slices=slices, tensors=fed)
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(saved, dict(zip(fed, arrays, strict=True)))


def read(path: str, variables: Iterable[VariableDef]) -> dict[str, Any]:
    """Values by handle name; GraphEditError names a checkpoint that cannot be read, or a variable that it lacks."""
    try:
        reader = tf.train.load_checkpoint(path)
    except (tf.errors.OpError, ValueError) as error:
        raise GraphEditError(f"There is no checkpoint {path!r} that can be read; give what Saver.save gave.") from error
    found = {}
    for variable in variables:
        if not reader.has_tensor(_key(variable)):
            why = (
                f"Checkpoint {path!r} has no value for {_key(variable)!r}; save the originals under their names first."
            )
            raise GraphEditError(why, [variable.handle])
        value = reader.get_tensor(_key(variable))
        if variable.slice_info:
            part = variable.slice_info
            value = value[tuple(slice(a, a + n) for a, n in zip(part.var_offset, part.var_shape, strict=True))]
        found[variable.handle] = value
    return found


def _key(variable: VariableDef) -> str:
    return variable.slice_info.full_name if variable.slice_info else variable.handle
