"""The probable outputs and inputs of a graph that has no boundary and no signature."""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget import edits, export
from tfgraphwidget.graph import REQUIRED_PLACEHOLDERS, GraphIndex, Signature, needed_ops


def apparent_signature(index: GraphIndex) -> Signature:
    """The signature of what a graph seems to be for, whose keys are the names of ops.

    Args:
        index: The graph.

    Raises:
        GraphEditError: Nothing looks like a result.
    """
    outputs = edits.freeze.results(index)
    return export.parse_signatures(index, tuple, needed_placeholders(index, outputs), outputs, None)[0]


def needed_placeholders(index: GraphIndex, outputs: Iterable[str]) -> tuple[str, ...]:
    """The placeholders, or arguments of a function, that outputs need, in graph order.

    Args:
        index: The graph.
        outputs: Ops or tensors.
    """
    needed = needed_ops(index, (), tuple(outputs)).tolist()
    ops = zip(index.names, index.types, needed, strict=True)
    return tuple(name for name, kind, is_needed in ops if is_needed and kind in REQUIRED_PLACEHOLDERS)
