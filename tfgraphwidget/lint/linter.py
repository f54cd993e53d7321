"""Runs the rules."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from tfgraphwidget.lint.finding import Finding, Report
from tfgraphwidget.lint.rule import RULES, LintContext, check_codes

# What goes first, so that shapes change in what stays.
_MODULES = (
    "structure",
    "input_dtypes",
    "untrusted",
    "leftovers",
    "placement",
    "weights",
    "inputs_and_outputs",
)


def load_rules() -> None:
    """Import the modules of rules, which register them."""
    for name in _MODULES:
        import_module(f"tfgraphwidget.lint.{name}")


def lint(context: LintContext, only: Collection[str] = (), never: Collection[str] = ()) -> Report:
    """Run rules on a graph, without those of the codes `never`, or `only` these; what they found,
    errors first, then in the order of the rules. Raises UnknownName for a code that is no rule's.
    """
    load_rules()
    if context.target == "untrusted" and not only:
        only = ("untrusted",)
    only, never = check_codes(only), check_codes(never)
    findings: list[Finding] = []
    for code, rule in RULES.items():
        if (not only or code in only) and code not in never:
            findings += rule.check(context)
    return Report(tuple(sorted(findings, key=lambda finding: finding.severity != "error")))
