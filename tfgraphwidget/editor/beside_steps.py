"""Steps: the list of the differences of two graphs that a person goes through."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tfgraphwidget.editor.partners import Partners, likely_partner
from tfgraphwidget.graph import Difference, renamed_parts
from tfgraphwidget.naming import count_text, last_part, split_tensor

if TYPE_CHECKING:
    from tfgraphwidget.runtime.measure import Comparison, TensorDifference

MAX_DETAILS = 12  # lines of one step
MAX_ULPS = 1_000_000  # beyond, the number says no more than the others

Detail = tuple[str, str, str]
"""What differs, and its value before and after."""


@dataclass(frozen=True)
class Step:
    """One difference in the list.

    Attributes:
        kind: "added", "removed", "changed" and "renamed" of ops, "value" of a tensor, "first" of
            the first divergence.
        scope: The name scope that it is listed under, in the second graph where that has it.
        before: The op of the first graph, or a scope with its slash; of an added op one beside it
            that both have.
        after: The op of the second graph, or a scope with its slash; of a removed op one beside it
            that both have.
        details: What differs.
        note: How far the values are apart, in a few letters; how many ops were renamed at once.
    """

    kind: str
    scope: str
    before: str
    after: str
    details: tuple[Detail, ...] = ()
    note: str = ""


class StructureSteps:
    """The differences of structure, as steps."""

    def __init__(self, difference: Difference, partners: Partners) -> None:
        self._difference, self._partners = difference.rest, partners

    def steps(self) -> list[Step]:
        """The steps by scope, in the order of the second graph."""
        difference, scopes = self._difference, dict(self._partners.scopes)
        steps = [*self._change_steps(), *self._rename_steps()]
        steps += [Step("added", _scope_of(name), "", name) for name in difference.added]
        steps += [
            Step("removed", _scope_of(likely_partner(name, scopes)), name, "")
            for name in difference.removed
        ]
        places = {step: self._place(step) for step in steps}
        first: dict[str, int] = {}
        for step in sorted(steps, key=places.__getitem__):
            first.setdefault(step.scope, len(first))
        return sorted(steps, key=lambda step: (first[step.scope], places[step]))

    def to_shown_ops(self, step: Step) -> Step:
        """The step to what is drawn: to a call where its op is in the function that is called, and
        to what is beside its op in the graph that lacks it.
        """
        before = self._partners.shown_op(step.before, is_after=False)
        after = self._partners.shown_op(step.after, is_after=True)
        if (before, after) != (step.before, step.after):
            inside = ("in a function", step.before, step.after)
            step = replace(step, before=before, after=after, details=(inside, *step.details))
        if step.kind == "added":
            return replace(step, before=self._partners.beside(step.after, is_after=True))
        if step.kind == "removed":
            return replace(step, after=self._partners.beside(step.before, is_after=False))
        return step

    def _place(self, step: Step) -> int:
        """Where a step is in the order of its graph."""
        ids = self._partners.before.ids if step.kind == "removed" else self._partners.after.ids
        name = step.before if step.kind == "removed" else step.after
        return ids.get(name.rstrip("/"), len(ids))

    def _change_steps(self) -> Iterator[Step]:
        inside = Counter(each.path[0].partition(":")[0] for each in self._difference.inside)
        for op in self._difference.changed:
            details = [(d.what, d.before, d.after) for d in op.details]
            details += _functions(inside.pop(op.name, 0))
            yield Step("changed", _scope_of(op.name), op.was, op.name, tuple(details[:MAX_DETAILS]))
        for name, count in inside.items():
            was = self._partners.before_of.get(name, name)
            yield Step("changed", _scope_of(name), was, name, tuple(_functions(count)))

    def _rename_steps(self) -> Iterator[Step]:
        changed = {op.name for op in self._difference.changed}
        groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for pair in self._difference.renamed:
            if pair[1] not in changed:
                groups.setdefault(renamed_parts(*pair), []).append(pair)
        for scopes, pairs in groups.items():
            is_scope = len(pairs) > 1
            before, after = scopes if is_scope else pairs[0]
            scope, details = _scope_of(after), (("name", before, after),)
            note = count_text(len(pairs), "op") if is_scope else ""
            slash = "/" if is_scope else ""
            yield Step("renamed", scope, before + slash, after + slash, details, note)


def _scope_of(name: str) -> str:
    """The name scope around an op or a scope.

    >>> _scope_of("net/hidden/w"), _scope_of("x")
    ('net/hidden', '')
    """
    return name[: -len(last_part(name))].rstrip("/")


def _functions(count: int) -> list[Detail]:
    return [("in functions that it calls", "", count_text(count, "difference"))] if count else []


# The numbers


def value_step(kind: str, difference: TensorDifference, details: Iterable[Detail]) -> Step:
    """A step to a tensor whose values differ, with its lines."""
    before, after = (split_tensor(name)[0] for name in (difference.other, difference.name))
    lines = tuple(details)[:MAX_DETAILS]
    return Step(kind, _scope_of(after), before, after, lines, distance_text(difference))


def difference_lines(each: TensorDifference) -> list[Detail]:
    """A difference in lines."""
    lines = [
        (what, str(pair[0]), str(pair[1]))
        for what, pair in (("shape", each.shapes), ("dtype", each.dtypes), ("NaN", each.nans))
        if pair[0] != pair[1]
    ]
    if each.norms is not None:
        lines.append(("norm", f"{each.norms[0]:.4g}", f"{each.norms[1]:.4g}"))
    lines += [] if each.bars is None else [("histogram", *each.bars)]
    numbers = (
        ("max abs", each.largest),
        ("max rel", each.relative),
        ("of its scale", each.scaled),
        ("tolerance", each.tolerance or None),
        ("cosine", each.cosine),
        ("ULP", each.ulps if each.ulps is not None and each.ulps <= MAX_ULPS else None),
    )
    lines += [(what, "", f"{value:.4g}") for what, value in numbers if value is not None]
    if each.largest is None and each.differing:
        lines.append(("elements that differ", "", f"{each.differing:,}"))
    return lines


def tensor_line(what: str, each: TensorDifference) -> Detail:
    """A line on how far a tensor beside another, which it is `what` to, is apart."""
    text = "agrees" if each.same else distance_text(each)
    if not each.differs and not each.same:
        text = f"agrees within rounding, {text}"
    return f"{what} {each.name}", "", text


def distance_text(each: TensorDifference) -> str:
    """How far two tensors are apart, in a few letters."""
    if each.same:
        return "equal"
    if each.shapes[0] != each.shapes[1]:
        return "other shape"
    if each.scaled is None or not math.isfinite(each.scaled):
        return f"{each.differing:,} differ"
    return f"{each.scaled:.2g}"


def largest_by_op(comparison: Comparison) -> dict[str, float]:
    """By how much the outputs of each op differ at most, by their scale; without equal ones."""
    values: dict[str, float] = {}
    for each in comparison:
        if each.same:
            continue
        scaled = each.scaled
        distance = 1.0 if scaled is None or not math.isfinite(scaled) else scaled
        op = split_tensor(each.name)[0]
        values[op] = max(values.get(op, 0.0), distance)
    return values
