"""The rule about ops that do more than compute, which an untrusted graph may hold."""

from __future__ import annotations

from collections.abc import Iterator

from tfgraphwidget.graph import effects_of
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import LintContext, rule
from tfgraphwidget.naming import HOW_TO_TRUST


@rule("untrusted")
def untrusted(context: LintContext) -> Iterator[Finding]:
    """Ops that do more than compute: they write or read files, use the network, call Python, or may
    wait.

    Args:
        context: The graph and the target of the check. Of a graph that is trusted they are listed
            if the target asks.
    """
    if context.trust.is_given and context.target != "untrusted":
        return
    run = "" if context.trust.is_given else "; it is not run: " + HOW_TO_TRUST
    for op in effects_of(context.index, context.trust).of_graph():
        yield Finding("untrusted", "warning", op.sentence + run + ".", (op.root,))
