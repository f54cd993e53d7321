"""Rules about variables and constants."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from tfgraphwidget.edits.freeze import StripTraining
from tfgraphwidget.edits.rewrite import Remove
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, HANDLES, definitions, own_ops, selectors
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import Array, LintContext, rule
from tfgraphwidget.naming import format_size, names_text

# Bytes of one constant beside variables: GraphDefs and .pb files are limited to 2 GB in all.
_LARGE = 8 << 20
_LARGE_WEIGHT = 64 << 20  # of one constant in a frozen graph, whose weights are constants
_WEIGHT = 1024  # elements: what is smaller may well be equal by chance
_FLOATING = "fc"


@rule("unused-variables")
def unused_variables(context: LintContext) -> Iterator[Finding]:
    """Variables that no output needs."""
    index = context.index
    unused = [op for op in context.of_types(HANDLES.__contains__) if not context.needed_mask[op]]
    if unused and context.outputs:
        variables = definitions(index, unused).values()
        ops = set[int]().union(*(own_ops(index, variable) for variable in variables))
        removal = context.fix(Remove(selectors.ops(index, *context.names(ops))))
        yield Finding(
            "unused-variables",
            "warning",
            f"{len(unused):,} variable{'s' * (len(unused) > 1)} that no output needs.",
            context.names(unused),
            removal or context.fix(StripTraining(context.outputs)),
        )


@rule("not-finite", "error")
def not_finite(context: LintContext) -> Iterator[Finding]:
    """Weights that hold NaN or infinity."""
    for op, value in _values(context):
        if value.dtype.kind not in _FLOATING or (value.size == 1 and np.isinf(value).all()):
            # As the -inf of a mask.
            continue
        if not (finite := np.isfinite(value)).all():
            name, count = context.index.names[op], int(value.size - finite.sum())
            yield Finding(
                "not-finite",
                "error",
                f"{name!r} holds {count:,} of {value.size:,} elements that are NaN or infinite.",
                (name,),
            )


@rule("duplicate-weights")
def duplicate_weights(context: LintContext) -> Iterator[Finding]:
    """Weights that are there several times over, element for element; those of one number, as at
    first, are left out.
    """
    by_content: dict[bytes, list[int]] = {}
    sizes: dict[bytes, int] = {}
    for op, value in _values(context):
        if value.size >= _WEIGHT and value.dtype.kind != "O" and not _is_uniform(value):
            kind = repr((value.dtype, value.shape)).encode()
            content = np.ascontiguousarray(value).tobytes() + kind
            digest = blake2b(content, digest_size=16).digest()
            by_content.setdefault(digest, []).append(op)
            sizes[digest] = value.nbytes
    for digest, ops in by_content.items():
        if len(ops) > 1:
            names = context.names(ops)
            spare = format_size(sizes[digest] * (len(ops) - 1))
            yield Finding(
                "duplicate-weights",
                "warning",
                f"{names_text(names)} have one value; {spare} of it are spare.",
                names,
            )


@rule("huge-constants")
def huge_constants(context: LintContext) -> Iterator[Finding]:
    """Constants of more than 8 MB beside variables, or of 64 MB in a frozen graph: a GraphDef can
    have 2 GB at most.
    """
    index = context.index
    large = _LARGE if context.of_types(HANDLES.__contains__) else _LARGE_WEIGHT
    for op in context.of_types(CONSTANTS.__contains__):
        size = index.nodes[op].ByteSize()
        if size > large:
            name = index.names[op]
            yield Finding(
                "huge-constants", "warning", f"Constant {name!r} has {format_size(size)}.", (name,)
            )


@rule("float64")
def float64(context: LintContext) -> Iterator[Finding]:
    """Ops that compute in float64 in a graph that computes in float32."""
    index = context.index
    has_inputs = np.diff(index.inputs.start) > 0
    computing = np.flatnonzero(context.needed_mask & has_inputs).tolist()
    double = [op for op in computing if "float64" in index.dtypes(op)]
    single = sum("float32" in index.dtypes(op) for op in computing)
    if double and single > len(double):
        yield Finding(
            "float64",
            "warning",
            f"{len(double):,} op{'s' * (len(double) > 1)} in float64 among {single:,} in float32.",
            context.names(double),
        )


def _is_uniform(value: Array) -> bool:
    """Whether all elements are one number, as those of a bias or a batch normalization before any
    training.
    """
    return bool(value.flat[0] == value.flat[-1] and (value == value.flat[0]).all())


def _values(context: LintContext) -> Iterator[tuple[int, Array]]:
    """The variables and constants that the outputs need and whose values are known."""
    for op in context.of_types((HANDLES | CONSTANTS).__contains__):
        if not context.needed_mask[op]:
            continue
        try:
            yield op, context.value(context.index.names[op])
        except GraphEditError:
            continue
