"""Rules about whether ops can run: known types, devices, kernels, and what converters take."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.rewrite import SetDevice
from tfgraphwidget.graph import ORIGINS, PLACEHOLDERS, selectors, traversal
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import Conversion, LintContext, rule
from tfgraphwidget.lint.target_ops import ONNX, REFUSED_BY_ONNX, REFUSED_BY_TFLITE, TFLITE
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.sentences import in_cell


@rule("unknown-ops", "error")
def unknown_ops(context: LintContext) -> Iterator[Finding]:
    """Ops of types that TensorFlow does not know: of a library that is not loaded."""
    index = context.index
    unknown = {kind for kind in index.kinds[0] if _is_unknown(context, kind)}
    ops = context.of_types(unknown.__contains__)
    # An operator of a converted model is of another runtime, which knows it.
    ops = [op for op in ops if ORIGINS not in index.nodes[op].attr]
    if ops:
        yield Finding(
            "unknown-ops",
            "error",
            f"{len(ops):,} op{'s' * (len(ops) > 1)} of type {names_text(sorted(unknown))}, which "
            "TensorFlow "
            "does not know; " + in_cell("load the library that has it: tf.load_op_library(path)."),
            context.names(ops),
        )


def _is_unknown(context: LintContext, kind: str) -> bool:
    return context.index.typing.definition(kind) is None and kind not in context.index.functions


@rule("missing-devices")
def missing_devices(context: LintContext) -> Iterator[Finding]:
    """Ops that are pinned to devices that are not there."""
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
                f"{len(ops):,} op{'s' * (len(ops) > 1)} on {device!r}, which is not available on "
                "this machine.",
                context.names(ops),
                context.fix(SetDevice(part, "")),
            )


@rule("no-kernel", "error")
def no_kernel(context: LintContext) -> Iterator[Finding]:
    """Ops that the target has no kernel for, and what its converter refuses."""
    if context.target == "cpu":
        index = context.index
        needed = np.flatnonzero(context.needed_mask).tolist()
        ops = [op for op in needed if not context.has_kernel(op)]
        if ops:
            types = sorted({index.types[op] for op in ops})
            yield _no_kernel(context, ops, types, "TensorFlow has no kernel for on a CPU")
    elif context.target in _CONVERTED:
        yield from _not_converted(context, _CONVERTED[context.target])


def _not_converted(context: LintContext, runtime: _Runtime) -> Iterator[Finding]:
    """What stands in the way of a conversion: the ops that a table says it of, or else what the
    converter says.

    The table alone decides where an op is refused whatever surrounds it. An op that is not in the
    table may be computed before, rewritten or part of a pattern, and one that is may be refused for
    its shapes, dtypes or attributes.
    """
    index = context.index
    missing: list[int] = []
    missing_types: set[str] = set()
    for op in np.flatnonzero(context.needed_mask).tolist():
        types = _missing_types(context, op, runtime.takes)
        if types:
            missing.append(op)
            missing_types |= types
    refused = [op for op in missing if index.types[op] in runtime.refuses]
    is_certain = bool(refused) and _is_computed_there(context, refused)
    conversion = Conversion() if is_certain else context.convert()
    if missing and (is_certain or conversion.refusal is not None or conversion.not_tried):
        yield _no_kernel(context, missing, sorted(missing_types), runtime.lacks)
    refusal = conversion.refusal
    named = {index.names[op] for op in missing}
    if refusal is not None and not (refusal.ops and named.issuperset(refusal.ops)):
        ops = tuple(name for name in dict.fromkeys(refusal.ops) if name in index.ids)
        yield Finding("no-kernel", "error", f"save({runtime.file!r}) refuses: " + refusal.why, ops)
    if conversion.not_tried and not missing:
        yield Finding("no-kernel", "warning", conversion.not_tried)


def _is_computed_there(context: LintContext, ops: Collection[int]) -> bool:
    """Whether one of some ops depends on what is fed, so that no converter computes it before."""
    index = context.index
    names = (split_tensor(tensor)[0] for each in context.signatures for _, tensor in each.inputs)
    fed = [index.ids[name] for name in names if name in index.ids]
    sources = [*fed, *context.of_types(PLACEHOLDERS.__contains__)]
    return bool(traversal.forward(index, sources)[list(ops)].any())


def _no_kernel(
    context: LintContext, ops: Collection[int], types: Sequence[str], lacks: str
) -> Finding:
    sentence = f"{len(ops):,} op{'s' * (len(ops) > 1)} of type {names_text(types)}, which {lacks}."
    return Finding("no-kernel", "error", sentence, context.names(ops))


@dataclass(frozen=True)
class _Runtime:
    """A runtime that graphs are converted for.

    Attributes:
        file: A file for it.
        takes: The op types that its converter has been seen to take.
        refuses: Those that it refuses whatever their inputs are.
        lacks: What is said of ops of other types.
    """

    file: str
    takes: Collection[str]
    refuses: Collection[str]
    lacks: str


_CONVERTED = {
    "tflite": _Runtime(
        "model.tflite",
        TFLITE,
        REFUSED_BY_TFLITE,
        "TFLite has no builtin op for; SELECT_TF_OPS of the converter may take them",
    ),
    "onnx": _Runtime("model.onnx", ONNX, REFUSED_BY_ONNX, "tf2onnx does not convert"),
}


def _missing_types(context: LintContext, op: int, target_ops: Collection[str]) -> set[str]:
    """The types that a target does not have, of an op and of what is in the functions that it
    calls.
    """
    index = context.index
    kind = index.types[op]
    if kind not in target_ops and kind not in index.functions:
        return {kind}
    types = set[str]()
    for function in index.reachable_functions([index.nodes[op]]).values():
        types.update(node.op for node in function.node_def)
    return types.difference(target_ops, index.functions)
