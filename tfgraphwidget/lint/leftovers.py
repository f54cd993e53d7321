"""Rules about ops that served the training or the writing of a graph, and have no place where it is
served.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from tfgraphwidget.edits import Command
from tfgraphwidget.edits.freeze import StripTraining
from tfgraphwidget.edits.rewire import Bypass
from tfgraphwidget.edits.rewrite import Remove
from tfgraphwidget.graph import (
    APPLIES,
    BRANCHES,
    CHECKS,
    CONSTANTS,
    DROPOUT_MASKS,
    HANDS_ON,
    PRINTS,
    PYTHON_CALLS,
    GraphIndex,
    called_functions,
    is_placeholder,
    selectors,
    traversal,
)
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import LintContext, rule
from tfgraphwidget.naming import count_text, names_text, scope_around, split_input

_RANDOM = re.compile(r"(Stateless)?(Parameterized)?(Truncated|Random)\w*|Multinomial")
_OF_GUARDS = CHECKS | HANDS_ON | CONSTANTS | {"NoOp"}
"""What the branches of a conditional around an Assert hold."""
_DROPOUT = re.compile(r"drop_?(out|path)|stochastic_depth", re.IGNORECASE)


@rule("training-ops")
def training_ops(context: LintContext) -> Iterator[Finding]:
    """Optimizers, gradients and savers, which no output needs."""
    training = [op for op in context.of_types(_updates) if not context.needed_mask[op]]
    if training:
        extra = int((~context.needed_mask).sum())
        yield Finding(
            "training-ops",
            "warning",
            f"{count_text(len(training), 'op')} of optimizers; the outputs do not need "
            f"{count_text(extra, 'op')}.",
            context.names(training),
            context.fix(StripTraining(context.outputs)),
        )


def _updates(kind: str) -> bool:
    return APPLIES.fullmatch(kind) is not None


@rule("dropout")
def dropout(context: LintContext) -> Iterator[Finding]:
    """Random ops that the outputs need, as of a dropout that is active."""
    index = context.index
    scopes: dict[str, list[int]] = {}
    for op in context.of_types(lambda kind: bool(_RANDOM.fullmatch(kind))):
        if context.needed_mask[op]:
            scopes.setdefault(_dropout_scope(index, index.names[op]), []).append(op)
    for scope, ops in scopes.items():
        what = f"dropout {scope!r}" if scope else f"random op {index.names[ops[0]]!r}"
        switches = _switches(context, scope, ops)
        if switches:
            sentence = (
                f"Whether {what} is active depends on {names_text(switches)}; where it is, the "
                "outputs differ from run to run."
            )
        else:
            sentence = f"{what[0].upper()}{what[1:]} is active: the outputs differ from run to run."
        yield Finding(
            "dropout",
            "warning",
            sentence,
            context.names(ops),
            context.fix(Bypass(f"{scope}/")) if scope else None,
        )


def _dropout_scope(index: GraphIndex, name: str) -> str:
    """The innermost scope around an op that a dropout has made, by the scope's name or its ops; ""
    without one.
    """
    scope = scope_around(name)
    around = name.removesuffix("/random_uniform/RandomUniform")
    if around != name and any(f"{around}/{end}" in index.ids for end in DROPOUT_MASKS):
        return around
    while scope:
        if _DROPOUT.search(scope.rpartition("/")[2]):
            return scope
        scope = scope_around(scope)
    return ""


def _switches(context: LintContext, scope: str, ops: Sequence[int]) -> tuple[str, ...]:
    """The scalars that may be fed to turn a dropout off: its rate or a bool."""
    index = context.index
    inside = ops
    if scope:
        inside = [op for op, name in enumerate(index.names) if name.startswith(f"{scope}/")]
    before = np.flatnonzero(traversal.backward(index, inside)).tolist()
    fed = [op for op in before if is_placeholder(index.types[op])]
    scalars = [op for op in fed if index.dtypes(op) == ("bool",) or index.shape(op, 0) == ()]
    return context.names(scalars)


@rule("asserts")
def asserts(context: LintContext) -> Iterator[Finding]:
    """Asserts and prints, which cost time and which few runtimes have."""
    index = context.index
    for types, what in ((CHECKS, "assert"), (PRINTS, "print")):
        matches = [op for op in _with_body(context, types) if context.needed_mask[op]]
        passing = [op for op in matches if index.consumers.row(op).size]
        for ops in (passing, [op for op in matches if op not in passing]):
            if ops:
                yield Finding(
                    "asserts",
                    "warning",
                    f"{len(ops):,} {what}{'s' * (len(ops) > 1)} that the outputs wait for.",
                    context.names(ops),
                    _removal(context, ops, types, is_passing=ops is passing),
                )


def _removal(
    context: LintContext, ops: Sequence[int], types: Collection[str], *, is_passing: bool
) -> Command | None:
    """The command that takes checks or prints out of the graph; those that are read hand on their
    first input.
    """
    index = context.index
    part = selectors.ops(index, *context.names(ops))
    if not is_passing:
        return context.fix(Remove(part))
    if not all(index.types[op] in types or _is_guard(context, op) for op in ops):
        return None  # a conditional that also computes something
    leaving = [op for op in ops if not set(index.consumers.row(op).tolist()) <= set(ops)]
    pairs = tuple((f"{index.names[op]}:0", _first_input(context, op, ops)) for op in leaving)
    return context.fix(Bypass(part, by=pairs))


def _first_input(context: LintContext, op: int, ops: Collection[int]) -> str:
    """The tensor that an op hands on, through those of `ops` that hand on theirs."""
    index = context.index
    while True:
        name, port = split_input(index.nodes[op].input[0])
        if index.ids[name] not in ops:
            return f"{name}:{port}"
        op = index.ids[name]


def _with_body(context: LintContext, types: Collection[str]) -> list[int]:
    """The ops of some types, and the conditionals that hold one of them: an assert of TensorFlow 2
    stands in one.
    """
    index = context.index
    holders = set()
    for name in index.functions:
        body = index.extras.function(name).node_def
        if any(node.op in types for node in body):
            holders.add(name)
    branches = context.of_types(BRANCHES.__contains__) if holders else []
    guards = [op for op in branches if called_functions(index.nodes[op], holders)]
    return sorted([*context.of_types(types.__contains__), *guards])


def _is_guard(context: LintContext, op: int) -> bool:
    """Whether a conditional does nothing but assert its predicate, which it returns."""
    index = context.index
    if index.dtypes(op) != ("bool",):
        return False
    for reference in called_functions(index.nodes[op], index.functions):
        body = index.extras.function(reference.function).node_def
        if not _OF_GUARDS.issuperset(node.op for node in body):
            return False
    return True


@rule("python-calls", "error")
def python_calls(context: LintContext) -> Iterator[Finding]:
    """Calls of Python functions, which no other process has."""
    ops = [op for op in context.of_types(PYTHON_CALLS.__contains__) if context.needed_mask[op]]
    if ops:
        yield Finding(
            "python-calls",
            "error",
            f"{len(ops):,} call{'s' * (len(ops) > 1)} of a Python function of the process that "
            "made the graph.",
            context.names(ops),
        )
