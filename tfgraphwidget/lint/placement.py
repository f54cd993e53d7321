"""Rules about whether ops can run: known types, devices, kernels, and what converters take."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from tfgraphwidget.edits.rewrite import Place
from tfgraphwidget.graph import reachable_functions, selectors
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import LintContext, rule
from tfgraphwidget.lint.target_ops import ONNX, TFLITE
from tfgraphwidget.naming import names_text


@rule("unknown-ops", "error")
def unknown_ops(context: LintContext) -> Iterator[Finding]:
    """Ops of types that TensorFlow does not know: of a library that is not loaded.

    Args:
        context: The graph and the target of the check.
    """
    index = context.index
    unknown = {kind for kind in index.kinds[0] if _is_unknown(context, kind)}
    ops = context.of_types(unknown.__contains__)
    if ops:
        yield Finding(
            "unknown-ops",
            "error",
            f"{len(ops):,} op{'s' * (len(ops) > 1)} of type {names_text(sorted(unknown))}, which TensorFlow does not "
            "know; load the library that has it: tf.load_op_library(path).",
            context.names(ops),
        )


def _is_unknown(context: LintContext, kind: str) -> bool:
    return context.index.typing.definition(kind) is None and kind not in context.index.functions


@rule("missing-devices")
def missing_devices(context: LintContext) -> Iterator[Finding]:
    """Ops that are pinned to devices that are not there.

    Args:
        context: The graph and the target of the check.
    """
    index = context.index
    by_device: dict[str, list[int]] = {}
    for op, node in enumerate(index.nodes):
        if node.device:
            by_device.setdefault(node.device, []).append(op)
    for device, ops in by_device.items():
        if not context.has_device(device):
            part = selectors.ops(index, *context.names(ops))
            yield Finding(
                "missing-devices",
                "warning",
                f"{len(ops):,} op{'s' * (len(ops) > 1)} on {device!r}, which is not available on this machine.",
                context.names(ops),
                context.fix(Place(part, "")),
            )


@rule("no-kernel", "error")
def no_kernel(context: LintContext) -> Iterator[Finding]:
    """Ops that the target has no kernel or no converter for.

    Args:
        context: The graph and the target of the check.
    """
    index = context.index
    missing: dict[int, set[str]] = {}
    if context.target == "cpu":
        ops = [op for op in range(len(index)) if context.needed_mask[op] and not context.has_kernel(op)]
        where = "TensorFlow has no kernel for on a CPU"
    elif context.target:
        target_ops = TFLITE if context.target == "tflite" else ONNX
        missing = {op: _missing_types(context, op, target_ops) for op in np.flatnonzero(context.needed_mask).tolist()}
        ops = [op for op, types in missing.items() if types]
        where = "TFLite has no builtin op for" if context.target == "tflite" else "tf2onnx does not convert"
    else:
        return
    if ops:
        types = sorted({kind for op in ops for kind in missing.get(op, (index.types[op],))})
        way = "; SELECT_TF_OPS of the converter may take them" if context.target == "tflite" else ""
        yield Finding(
            "no-kernel",
            "error",
            f"{len(ops):,} op{'s' * (len(ops) > 1)} of type {names_text(types)}, which {where}{way}.",
            context.names(ops),
        )


def _missing_types(context: LintContext, op: int, target_ops: Collection[str]) -> set[str]:
    """The types that a target does not have, of an op and of what is in the functions that it calls."""
    index = context.index
    kind = index.types[op]
    if kind not in target_ops and kind not in index.functions:
        return {kind}
    return {
        node.op
        for name in reachable_functions(index.functions, index.extras, [index.nodes[op]])
        for node in index.extras.function(name).node_def
        if node.op not in target_ops and node.op not in index.functions
    }
