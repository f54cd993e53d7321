"""Rules: functions from a graph to findings, in one table by their codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from tfgraphwidget.edits import Command, Patch
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import TRUSTED, GraphIndex, Mask, Signature, Trust, needed_ops
from tfgraphwidget.lint.attribute_scan import AttributeScan, scan_attributes
from tfgraphwidget.lint.finding import Finding, Severity
from tfgraphwidget.naming import did_you_mean, first_paragraph, names_text

Array = npt.NDArray[np.generic]
Target = Literal["", "cpu", "tflite", "onnx", "untrusted"]
"""What the graph is to run on, or "untrusted" for where its origin is not known; "" for no check of
that.
"""


@dataclass(frozen=True, eq=False)
class Body:
    """A graph of a file.

    Attributes:
        index: The graph.
        where: What it is, to stand after the name of an op: " of function 'f'"; "" for the current
            graph.
        way: The call that makes it the current graph.
        is_function: Whether it is a function's body.
        results: The tensors that the function returns, by the names of its results.
    """

    index: GraphIndex
    where: str = ""
    way: str = ""
    is_function: bool = False
    results: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def attributes(self) -> AttributeScan:
        """The ops whose attributes a rule has to look at."""
        return scan_attributes(self.index)

    def finding(
        self,
        code: str,
        severity: Severity,
        sentence: str,
        ops: Sequence[int],
        fix: Command | None = None,
    ) -> Finding:
        """A finding, with a sentence that says what it is and how to fix it, and a command that
        fixes it in this graph; ops of another graph are in the sentence only, and that has to be
        entered to fix them.
        """
        if self.way:
            return Finding(code, severity, f"{sentence[:-1]}, after {self.way}.")
        return Finding(
            code, severity, sentence, tuple(self.index.names[op] for op in sorted(ops)), fix
        )


@dataclass(frozen=True)
class Conversion:
    """What came of a conversion of the graph for another runtime.

    Attributes:
        refusal: Why it was refused; None if it was not.
        not_tried: Why it was not tried, as a sentence; "" if it was.
    """

    refusal: GraphEditError | None = None
    not_tried: str = ""


@dataclass(frozen=True)
class LintContext:
    """A graph, and what rules may ask of it.

    Attributes:
        index: The graph.
        find_outputs: Finds the tensors that it is for; () if nothing in it looks like a result.
        signatures: Its signatures.
        missing_tensors: The tensors that the graph does not have, by the signatures of the file
            that name them.
        plan: Plans an edit, without applying it. Raises GraphEditError.
        value: Gives the value of a variable or constant by the name of its op. Raises
            GraphEditError without one.
        has_device: Whether there is a device of that name.
        has_kernel: Whether this process has a kernel on the CPU for the op of that number.
        convert: Converts the graph for the target, as `save` does, and writes nothing that stays.
        target: What the graph is to run on.
        trust: Whether ops may run that do more than compute.
        is_file: Whether TensorFlow does not hold the graph, and so has not accepted its names and
            edges.
        in_function: Whether the graph is a function's body.
        results: The tensors that this function returns, by the names of its results.
        others: Reads the other graphs of the file: the bodies of its functions, and the graph
            around them.
    """

    index: GraphIndex
    find_outputs: Callable[[], tuple[str, ...]]
    signatures: tuple[Signature, ...]
    missing_tensors: Mapping[str, tuple[str, ...]]
    plan: Callable[[Command], Patch]
    value: Callable[[str], Array]
    has_device: Callable[[str], bool]
    has_kernel: Callable[[int], bool]
    convert: Callable[[], Conversion]
    target: Target = ""
    trust: Trust = TRUSTED
    is_file: bool = False
    in_function: bool = False
    results: Mapping[str, str] = field(default_factory=dict)
    others: Callable[[], Iterable[Body]] = tuple

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """The graph, and the other graphs of its file."""
        current = Body(self.index, is_function=self.in_function, results=self.results)
        return (current, *(self.others() if self.is_file else ()))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The tensors that the graph is for."""
        return self.find_outputs()

    @cached_property
    def needed_mask(self) -> Mask:
        """The ops that the outputs need, one bool per op; all of them if there are no outputs."""
        if not self.outputs:
            return np.ones(len(self.index), bool)
        return needed_ops(self.index, (), self.outputs)

    def names(self, ops: Iterable[int]) -> tuple[str, ...]:
        """The names of ops by their numbers, in graph order."""
        return tuple(self.index.names[op] for op in sorted(ops))

    def of_types(self, types: Callable[[str], bool]) -> list[int]:
        """The numbers of the ops whose type fulfils a predicate."""
        fitting = [number for number, op_type in enumerate(self.index.kinds[0]) if types(op_type)]
        return np.flatnonzero(np.isin(self.index.kinds[1], fitting)).tolist()

    def fix(self, command: Command | None, body: Body | None = None) -> Command | None:
        """The command if it can be applied to the current graph, which `body` is if it is given,
        and has something to do; else None.
        """
        if command is None or (body is not None and body.way):
            return None
        try:
            patch = self.plan(command)
        except GraphEditError:
            return None
        return None if patch.report.is_nothing else command


Check = Callable[[LintContext], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
        code: Its code.
        about: What it finds, in a sentence.
        severity: That of its findings.
        check: Finds them.
    """

    code: str
    about: str
    severity: Severity
    check: Check


RULES: dict[str, Rule] = {}


def rule(code: str, severity: Severity = "warning") -> Callable[[Check], Check]:
    """Register a function as a rule; the first paragraph of its docstring says what it finds."""

    def register(check: Check) -> Check:
        RULES[code] = Rule(code, first_paragraph(check.__doc__), severity, check)
        return check

    return register


def check_codes(codes: Iterable[str]) -> tuple[str, ...]:
    """Codes of rules, checked. Raises UnknownName for a code that is no rule's."""
    codes = (codes,) if isinstance(codes, str) else tuple(codes)
    unknown = [code for code in codes if code not in RULES]
    if unknown:
        raise UnknownName(
            f"lint: there is no rule {unknown[0]!r}; the rules are {names_text(list(RULES))}"
            f"{did_you_mean(unknown[0], RULES)}"
        )
    return codes
