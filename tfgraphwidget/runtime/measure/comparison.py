"""Comparison: how far the tensors of two graphs are apart, and where they first differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import table
from tfgraphwidget.naming import count_text, known_instead, words
from tfgraphwidget.runtime.measure.probe import format_table
from tfgraphwidget.runtime.measure.tensor_differences import (
    Array,
    TensorDifference,
    tensor_difference,
)

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_ROWS = 20  # rows of the printed table: with all else it has at most 40 lines
MAX_INPUTS = 6  # inputs of the first divergence that are printed
MAX_NOTES = 6  # lines that say what was not compared
_HEAD = ("dtype", "shape", "max abs", "max rel", "")
WEIGHT = "weight"
_WEIGHT_HEAD = ("dtype", "shape", "max abs", "max rel", "norm", "cosine", "histogram", "")
COLUMNS = words(
    "tensor other op dtype shape differs max_abs max_rel by_scale tolerance cosine ulps differing",
    "nans_before nans_after norm_before norm_after histogram_before histogram_after least most",
)


@dataclass(frozen=True, repr=False)
class FirstDivergence:
    """The first tensor that differs, while all that it is computed from agrees.

    Attributes:
        tensor: Its name, in the function that `path` leads to; of a variable its own name.
        op: The name of its op.
        op_type: The type of its op.
        difference: How far it is from that of the other graph, which is `difference.other`.
        inputs: The inputs of the op, which agree, with their differences; without handles.
        path: The names of the functions that it is in, outermost first; () for the graph itself.
        calls: The names of the ops that call these functions, each in the function before.
        round: The round of the innermost loop around it in which it first differs, from 1 on; None
            outside of loops.
        note: What else there is to say: why a function that the op calls was not looked into.
    """

    tensor: str
    op: str
    op_type: str
    difference: TensorDifference
    inputs: tuple[TensorDifference, ...] = ()
    path: tuple[str, ...] = ()
    round: int | None = None
    note: str = ""
    calls: tuple[str, ...] = ()

    def record(self) -> dict[str, object]:
        """All of it as JSON can hold it."""
        return {
            "tensor": self.tensor,
            "op": self.op,
            "type": self.op_type,
            "path": list(self.path),
            "calls": list(self.calls),
            "round": self.round,
            "note": self.note,
            "difference": _json_record(self.difference),
            "inputs": [_json_record(each) for each in self.inputs],
        }

    def __repr__(self) -> str:
        places = [*zip(self.path, self.calls, strict=True)]
        place = "".join(f" in {function!r} of {call!r}" for function, call in reversed(places))
        when = "" if self.round is None else f", in round {self.round}"
        lines = [f"first divergence: {self.tensor} ({self.op_type}){place}{when}"]
        if self.difference.other != self.tensor:
            lines.append(f"  in the other: {self.difference.other}")
        lines.append(f"  {_in_words(self.difference)}")
        lines += [f"  input {each.name}: {_in_words(each)}" for each in self.inputs[:MAX_INPUTS]]
        if len(self.inputs) > MAX_INPUTS:
            lines.append(f"  … {count_text(len(self.inputs) - MAX_INPUTS, 'more input')}")
        return "\n".join([*lines, *([f"  {self.note}"] if self.note else [])])


def _in_words(difference: TensorDifference) -> str:
    """A difference in a line."""
    if difference.same:
        return "equal"
    if difference.shapes[0] != difference.shapes[1]:
        return f"shape {difference.shapes[0]} → {difference.shapes[1]}"
    _, dtype, _, largest, relative, notes = difference.row()
    parts = [] if difference.dtypes[0] == difference.dtypes[1] else [dtype]
    if difference.largest is not None:
        parts += [f"max abs {largest}", f"max rel {relative}"]
        if difference.scaled is not None:
            parts.append(f"{difference.scaled:.2g} of its scale")
        parts += [] if difference.cosine is None else [f"cosine {difference.cosine:.6g}"]
        parts += [] if not difference.ulps else [f"{difference.ulps:,} ULP"]
    within = "" if difference.differs else "equal within rounding: "
    return within + ", ".join([*parts, *([notes] if notes else [])])


@dataclass(frozen=True, repr=False)
class Comparison:
    """The difference of each tensor of two graphs; false in `if` where none differs.

    Attributes:
        tensors: The differences; of all tensors in topological order, else as they were asked for.
        first_divergence: The first that differs, while all that it is computed from agrees; None
            where all agree.
        not_compared: Tensors that were not compared, by the reason.
        notes: What else there is to say, one sentence each.
        fails: The tensors that only one graph computes, since an op of the other fails.
        what: What was compared, in one word.
    """

    tensors: tuple[TensorDifference, ...]
    first_divergence: FirstDivergence | None = None
    not_compared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fails: tuple[str, ...] = ()
    what: str = "output"

    def __getitem__(self, name: str) -> TensorDifference:
        for full_name in (name, f"{name}:0"):
            if full_name in self._by_name:
                return self._by_name[full_name]
        raise UnknownName(
            f"{name!r} was not compared{known_instead(name, [*self._by_name], 'it has')}"
        )

    @cached_property
    def _by_name(self) -> dict[str, TensorDifference]:
        return {tensor.name: tensor for tensor in self.tensors}

    def __len__(self) -> int:
        return len(self.tensors)

    def __iter__(self) -> Iterator[TensorDifference]:
        return iter(self.tensors)

    def __bool__(self) -> bool:
        return (
            self.first_divergence is not None
            or bool(self.fails)
            or any(each.differs for each in self.tensors)
        )

    @property
    def same(self) -> bool:
        """Whether all tensors are equal, element by element."""
        return all(tensor.same for tensor in self.tensors)

    @property
    def largest(self) -> float | None:
        """The largest difference of all tensors; None if one of them has none."""
        if any(tensor.largest is None and not tensor.same for tensor in self.tensors):
            return None
        return max((tensor.largest or 0.0 for tensor in self.tensors), default=0.0)

    @property
    def matched(self) -> dict[str, str]:
        """The tensors that were compared, and those of the other graph that they are."""
        return {tensor.name: tensor.other for tensor in self.tensors}

    @property
    def worst(self) -> tuple[TensorDifference, ...]:
        """The tensors, those first that are farthest beyond their tolerance."""
        return tuple(sorted(self.tensors, key=lambda each: (-each.excess, -(each.scaled or 0.0))))

    @property
    def table(self) -> DataFrame:
        """The tensors as a DataFrame, the worst first, with the columns of `COLUMNS`."""
        return table.frame(map(_record, self.worst), COLUMNS)

    def rows(self) -> list[dict[str, object]]:
        """The tensors as JSON can hold them, the worst first."""
        return [_json_record(tensor) for tensor in self.worst]

    def record(self) -> dict[str, object]:
        """All of it as JSON can hold it."""
        first = self.first_divergence
        return {
            "differs": bool(self),
            "first_divergence": None if first is None else first.record(),
            "tensors": self.rows(),
            "not_compared": {reason: list(names) for reason, names in self.not_compared.items()},
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines: list[str] = []
        if self.first_divergence is not None and (
            len(self.tensors) > 1 or self.first_divergence.path
        ):
            lines += [*repr(self.first_divergence).splitlines(), ""]
        rows = self.tensors
        if len(rows) > MAX_ROWS:
            lines.append(self._summary())
            rows = tuple(each for each in self.worst if not each.same)[:MAX_ROWS]
        if rows:
            is_of_weights = self.what == WEIGHT
            head = _WEIGHT_HEAD if is_of_weights else _HEAD
            texts = [each.weight_row() if is_of_weights else each.row() for each in rows]
            lines += format_table([(self.what, *head), *texts]).split("\n")
        for reason, names in self.not_compared.items():
            if len(names) == 1:
                lines.append(f"{names[0]}  {reason}")
            else:
                lines.append(f"not compared: {count_text(len(names), self.what)}, {reason}")
        return "\n".join([*lines, *self.notes])

    def _summary(self) -> str:
        beyond = sum(tensor.differs for tensor in self.tensors)
        within = sum(not tensor.differs and not tensor.same for tensor in self.tensors)
        counts = [count_text(len(self.tensors), self.what) + " compared"]
        counts += [f"{beyond:,} differ"] if beyond else []
        counts += [f"{within:,} by rounding only"] if within else []
        return ", ".join(counts if len(counts) > 1 else [*counts, "all equal"])


def _record(tensor: TensorDifference) -> dict[str, object]:
    """A row of the table."""
    _, dtype, shape, *_ = tensor.row()
    norms = tensor.norms or (None, None)
    values = (
        tensor.name,
        tensor.other,
        tensor.name.partition(":")[0],
        dtype,
        shape,
        tensor.differs,
        tensor.largest,
        tensor.relative,
        tensor.scaled,
        tensor.tolerance,
        tensor.cosine,
        tensor.ulps,
        tensor.differing,
        *tensor.nans,
        *norms,
        *(tensor.histograms or (None, None)),
        *(tensor.range or (None, None)),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _json_record(tensor: TensorDifference) -> dict[str, object]:
    """A row of the table as JSON can hold it, which has no infinity: that is None."""
    return {
        column: None if isinstance(value, float) and not math.isfinite(value) else value
        for column, value in _record(tensor).items()
    }


def compare_outputs(
    names: Sequence[str],
    others: Iterable[str],
    before: Callable[[], Sequence[Array]],
    after: Callable[[], Sequence[Array]],
) -> tuple[TensorDifference, ...]:
    """Compare the outputs of two runs, whose names in the graph before are `others`. If they
    differ, the first is run again, to see whether it is steady.
    """
    others = tuple(others)
    one, other = before(), after()
    differences = [
        tensor_difference(name, a, b, other=was)
        for name, was, a, b in zip(names, others, one, other, strict=True)
    ]
    if all(output.same for output in differences):
        return tuple(differences)
    again = before()
    steady = [
        tensor_difference(name, a, b).same for name, a, b in zip(names, one, again, strict=True)
    ]
    return tuple(
        tensor_difference(name, a, b, is_steady, was)
        for name, was, a, b, is_steady in zip(names, others, one, other, steady, strict=True)
    )
