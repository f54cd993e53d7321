"""Rules about ops that served the training or the writing of a graph, and have no place where it is served."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tfgraphwidget.edits.freeze import TRAINS, StripTraining
from tfgraphwidget.edits.rewire import Bypass
from tfgraphwidget.edits.rewrite import Remove
from tfgraphwidget.graph import BRANCHES, CHECKS, PRINTS, PYTHON_CALLS, called_functions, selectors
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import LintContext, rule
from tfgraphwidget.naming import scope_around

_RANDOM = re.compile(r"(Stateless)?(Parameterized)?(Truncated|Random)\w*|Multinomial")
_DROPOUT = re.compile(r"drop_?(out|path)|stochastic_depth", re.IGNORECASE)


@rule("training-ops")
def training_ops(context: LintContext) -> Iterator[Finding]:
    """Optimizers, gradients and savers, which no output needs.

    Args:
        context: The graph and the target of the check.
    """
    training = [op for op in context.of_types(_updates) if not context.needed_mask[op]]
    if training:
        extra = int((~context.needed_mask).sum())
        yield Finding(
            "training-ops",
            "warning",
            f"{len(training):,} op{'s' * (len(training) > 1)} of optimizers; the outputs need none of {extra:,} ops.",
            context.names(training),
            context.fix(StripTraining(context.outputs)),
        )


def _updates(kind: str) -> bool:
    return TRAINS.fullmatch(kind) is not None


@rule("dropout")
def dropout(context: LintContext) -> Iterator[Finding]:
    """Random ops that the outputs need, as of a dropout that is active.

    Args:
        context: The graph and the target of the check.
    """
    index = context.index
    random = [op for op in context.of_types(lambda kind: bool(_RANDOM.fullmatch(kind))) if context.needed_mask[op]]
    scopes: dict[str, list[int]] = {}
    for op in random:
        scopes.setdefault(_dropout_scope(index.names[op]), []).append(op)
    for scope, ops in scopes.items():
        of = f"Dropout {scope!r} is" if scope else f"Random op {index.names[ops[0]]!r} is"
        yield Finding(
            "dropout",
            "warning",
            f"{of} active: the outputs differ from run to run.",
            context.names(ops),
            context.fix(Bypass(f"{scope}/")) if scope else None,
        )


def _dropout_scope(name: str) -> str:
    """The innermost scope around an op that a dropout has made; "" without one."""
    scope = scope_around(name)
    while scope:
        if _DROPOUT.search(scope.rpartition("/")[2]):
            return scope
        scope = scope_around(scope)
    return ""


@rule("asserts")
def asserts(context: LintContext) -> Iterator[Finding]:
    """Asserts and prints, which cost time and which few runtimes have.

    Args:
        context: The graph and the target of the check.
    """
    index = context.index
    for types, what in ((CHECKS, "assert"), (PRINTS, "print")):
        ops = [op for op in _with_body(context, types) if context.needed_mask[op]]
        if ops:
            part = selectors.ops(index, *context.names(ops))
            is_passing = all(index.consumers.row(op).size for op in ops)
            yield Finding(
                "asserts",
                "warning",
                f"{len(ops):,} {what}{'s' * (len(ops) > 1)} that the outputs wait for.",
                context.names(ops),
                context.fix(Bypass(part)) if is_passing else context.fix(Remove(part)),
            )


def _with_body(context: LintContext, types: Collection[str]) -> list[int]:
    """The ops of some types, and the conditionals that hold one of them: an assert of TensorFlow 2 stands in one."""
    index = context.index
    holding = {
        name for name in index.functions if any(node.op in types for node in index.extras.function(name).node_def)
    }
    branches = context.of_types(BRANCHES.__contains__) if holding else []
    guards = [op for op in branches if called_functions(index.nodes[op], holding)]
    return sorted([*context.of_types(types.__contains__), *guards])


@rule("python-calls", "error")
def python_calls(context: LintContext) -> Iterator[Finding]:
    """Calls of Python functions, which no other process has.

    Args:
        context: The graph and the target of the check.
    """
    ops = [op for op in context.of_types(PYTHON_CALLS.__contains__) if context.needed_mask[op]]
    if ops:
        yield Finding(
            "python-calls",
            "error",
            f"{len(ops):,} call{'s' * (len(ops) > 1)} of a Python function of the process that made the graph.",
            context.names(ops),
        )
