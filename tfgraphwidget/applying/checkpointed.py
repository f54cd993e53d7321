"""Values of variables in checkpoints, read and written without adding ops to their graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import VariableDef
from tfgraphwidget.sources.restored import sliced


def write(path: str, present: Iterable[tuple[str, VariableDef, Any]]) -> None:
    """Write (key, variable, value) to the checkpoint `path`, on this machine; slices of one variable have one key.

    Raises GraphEditError when it cannot be written there.
    """
    keys, slices, arrays = [], [], []
    for key, variable, value in present:
        part = variable.slice_info
        keys.append(key)
        arrays.append(np.asarray(value))
        ranges = zip(part.var_offset, part.var_shape, strict=True) if part else ()
        bounds = ":".join(f"{start},{length}" for start, length in ranges)
        slices.append(f"{' '.join(map(str, part.full_shape))} {bounds}" if part else "")
    with tf.Graph().as_default() as graph:
        fed = [tf.compat.v1.placeholder(tf.as_dtype(a.dtype) if a.dtype != object else tf.string) for a in arrays]
        saved = tf.raw_ops.SaveV2(prefix=path, tensor_names=keys, shape_and_slices=slices, tensors=fed)
        with tf.compat.v1.Session(graph=graph) as session:
            try:
                session.run(saved, dict(zip(fed, arrays, strict=True)))
            except tf.errors.OpError as error:
                raise GraphEditError(
                    f"The checkpoint {path!r} cannot be written ({type(error).__name__}); give another place."
                ) from error


def read(path: str, variables: Iterable[tuple[str, VariableDef]]) -> dict[str, Any]:
    """Values by handle name, of (key, variable).

    GraphEditError names a checkpoint that cannot be read, or a value that it lacks.
    """
    try:
        reader = tf.train.load_checkpoint(path)
    except (tf.errors.OpError, ValueError) as error:
        raise GraphEditError(f"There is no checkpoint {path!r} that can be read; give what Saver.save gave.") from error
    found = {}
    for key, variable in variables:
        if not reader.has_tensor(key):
            why = f"Checkpoint {path!r} has no value for {key!r}; save the originals under their names first."
            raise GraphEditError(why, [variable.handle])
        found[variable.handle] = sliced(reader.get_tensor(key), variable)
    return found
