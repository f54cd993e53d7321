"""What a graph seems to be for, without a boundary or a signature: its results, and the placeholders they need."""

from __future__ import annotations

from tfgraphwidget.edits.freeze import results
from tfgraphwidget.export import parse_signatures
from tfgraphwidget.graph import REQUIRED_PLACEHOLDERS, GraphIndex, needed_ops
from tfgraphwidget.sources import Signature


def apparent_signature(index: GraphIndex) -> Signature:
    """The signature of what a graph seems to be for, whose keys are the names of ops.

    Args:
        index: The graph.

    Raises:
        GraphEditError: Nothing looks like a result.
    """
    outputs = results(index)
    needed = needed_ops(index, (), outputs).tolist()
    ops = zip(index.names, index.types, needed, strict=True)
    inputs = [name for name, kind, is_needed in ops if is_needed and kind in REQUIRED_PLACEHOLDERS]
    return parse_signatures(index, tuple, inputs, outputs, None)[0]
