"""The findings of rules, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, overload

from tfgraphwidget.edits import Command
from tfgraphwidget.naming import escape, names_text

Severity = Literal["error", "warning"]
_MOST_NAMES = 3  # ops that a finding names


@dataclass(frozen=True, repr=False)
class Finding:
    """Something that a rule found.

    Attributes:
        code: The code of the rule, "training-ops".
        severity: "error" for what cannot run, "warning" for what may be meant so.
        sentence: What it is.
        ops: The ops that it is about, in graph order.
        fix: A command that fixes it, which `editor.apply` applies; None without one.
    """

    code: str
    severity: Severity
    sentence: str
    ops: tuple[str, ...] = ()
    fix: Command | None = None

    def row(self) -> dict[str, object]:
        """The finding as data: `fix` is a line of Python."""
        fix = None if self.fix is None else self.fix.code()
        return {
            "code": self.code,
            "severity": self.severity,
            "sentence": self.sentence,
            "ops": list(self.ops),
            "fix": fix,
        }

    def __str__(self) -> str:
        text = f"{self.severity} {self.code}: {escape(self.sentence)}"
        if self.ops:
            more = ", …" if len(self.ops) > _MOST_NAMES else ""
            text += f" ({names_text(self.ops[:_MOST_NAMES])}{more})"
        if self.fix is not None:
            text += f"\n    fix: {self.fix.code()}"
        return text

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, repr=False)
class Report:
    """All that rules found, errors first. It prints as a list, and is empty where there is nothing
    to say.
    """

    findings: tuple[Finding, ...] = ()

    @property
    def fixes(self) -> tuple[Command, ...]:
        """The commands that fix findings, each once."""
        # By their code, since a command that sets an attribute may hold a list.
        fixes = (finding.fix for finding in self.findings if finding.fix is not None)
        by_code: dict[str, Command] = {}
        for fix in fixes:
            by_code.setdefault(fix.code(), fix)
        return tuple(by_code.values())

    @property
    def ops(self) -> tuple[str, ...]:
        """The names of all ops that something was found of."""
        return tuple(dict.fromkeys(name for finding in self.findings for name in finding.ops))

    def of(self, code: str) -> Report:
        """The findings of one rule."""
        return Report(tuple(finding for finding in self.findings if finding.code == code))

    def rows(self) -> list[dict[str, object]]:
        """The findings as data, for JSON."""
        return [finding.row() for finding in self.findings]

    @overload
    def __getitem__(self, at: int) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, at: int | slice) -> Finding | tuple[Finding, ...]:
        return self.findings[at]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __repr__(self) -> str:
        return "\n".join(map(str, self.findings)) or "<Report: nothing found>"
