"""What a feed must not be: of fewer dimensions than a kernel takes that ends the process then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfgraphwidget.graph import BROADCASTING, RANK_PRESERVING
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Operation, Tensor

_FEWEST = {
    "Conv2D": 4, "Conv3D": 5, "DepthwiseConv2dNative": 4, "FakeQuantWithMinMaxVarsPerChannel": 1, "MaxPool3D": 5,
}  # fmt: skip
"""The dimensions of the first input without which a kernel fails a check of its own (tests/runtime/test_feed_ranks.py).

The shape function refuses fewer, but knows them only where the shape of the placeholder is known.
"""


def check_feed_ranks(graph: tf.Graph, feeds: Mapping[Any, object]) -> None:
    """Check that no fed value has too few dimensions for a kernel that would end the process.

    Args:
        graph: The graph that is to run.
        feeds: Values by tensor or name.

    Raises:
        ValueError: One has; the message names the op that takes it.
    """
    for fed, value in feeds.items():
        tensor = graph.as_graph_element(fed) if isinstance(fed, str) else fed
        if not isinstance(tensor, tf.Tensor) or not tensor.dtype.is_floating:
            continue
        static_rank: int | None = tensor.shape.rank
        if static_rank is not None:  # TensorFlow has refused such a graph, or refuses the value
            continue
        rank = np.ndim(value)  # type: ignore[arg-type]  # what TensorFlow feeds numpy takes too
        reader = _reader_of_more(tensor, rank)
        if reader is not None:
            raise ValueError(
                f"{tensor.name!r} is fed a value of {rank} dimensions, and op {reader.name!r} ({reader.type}) takes "
                f"one of {_FEWEST[reader.type]} or more"
            )


def _reader_of_more(tensor: Tensor, rank: int) -> Operation | None:
    """An op that a tensor reaches with all its dimensions, and that needs more of them."""
    if rank >= max(_FEWEST.values()):
        return None
    waiting, references = [tensor], {tensor.ref()}
    while waiting:
        at = waiting.pop()
        op: Operation
        for op in at.consumers():
            if _FEWEST.get(op.type, 0) > rank and op.inputs[0] is at:
                return op
            others: list[int | None] = [other.shape.rank for other in op.inputs[1:] if other is not at]
            passes = op.type in RANK_PRESERVING or (
                op.type in BROADCASTING and all(other is not None and other <= rank for other in others)
            )
            for output in op.outputs[:1] if passes else ():
                if output.ref() not in references:
                    references.add(output.ref())
                    waiting.append(output)
    return None
