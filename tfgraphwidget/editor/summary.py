"""A summary of the current graph in at most 60 lines of text: for programs, and for who opens an
unknown model.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from tfgraphwidget.editor.inspection import Inspection
from tfgraphwidget.editor.linting import lint_editor
from tfgraphwidget.editor.saving import own_arguments
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, needed_placeholders, pairs, shape_text
from tfgraphwidget.naming import count_text, escape, split_tensor
from tfgraphwidget.sentences import in_cell

# Lines of each section: with one for what is left out, a head and the 7 others they are at most 60.
_MOST_NOTICES = 4
_MOST_SIGNATURES = 6
_MOST_ENDS = 6  # inputs, and as many outputs
_MOST_SCOPES = 12
_MOST_FINDINGS = 12
_MOST_TYPES = 10  # of ops, in one line
_LONGEST = 160  # characters of a line


class GraphInspection(Inspection):
    """The facts about the whole graph: an Inspection that prints as a summary."""

    def __repr__(self) -> str:
        return summarize(self._core)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def summarize(core: EditorCore) -> str:
    """The summary; see `AnalysisAPI.inspect`."""
    lines = [*_head(core), *_inputs_and_outputs(core), *_scopes(core), *_oddities(core)]
    return "\n".join(escape(line)[:_LONGEST] for line in lines)


def _head(core: EditorCore) -> Iterator[str]:
    index = core.index
    yield " > ".join(core.navigator.path)
    types = Counter(index.types).most_common()
    counts = ", ".join(f"{kind} {count:,}" for kind, count in types[:_MOST_TYPES])
    yield (
        f"ops: {len(index):,} of {len(types):,} types: "
        f"{counts}{', …' if len(types) > _MOST_TYPES else ''}"
    )
    if index.functions:
        yield f"functions: {len(index.functions):,} in the library"
    if core.target.came_without_values():
        yield "values: the variables have none; " + in_cell("open the file with checkpoint=")
    yield f"edits: {len(core.executor.history.done):,}"
    yield from _first_lines(
        [f"notice: {notice}" for notice in core.source.notices], _MOST_NOTICES, "notices"
    )


def _inputs_and_outputs(core: EditorCore) -> Iterator[str]:
    index = core.index
    is_whole = len(core.navigator.path) == 1  # else the tensors are of another graph
    signatures = []
    for signature in core.executor.signatures if is_whole else core.source.signatures:
        inputs, outputs = (
            ", ".join(f"{key}={name}" if is_whole else key for key, name in s)
            for s in (signature.inputs, signature.outputs)
        )
        signatures.append(f"signature {signature.name}: {inputs or 'nothing'} → {outputs}")
    yield from _first_lines(signatures, _MOST_SIGNATURES, "signatures")
    try:
        outputs_of = core.arguments.outputs(None)
    except GraphEditError:
        outputs_of = ()
    inputs_of = needed_placeholders(index, outputs_of)
    if core.executor.inputs_and_outputs[1]:  # a function, whose captures are placeholders too
        arguments = {split_tensor(name)[0] for name in own_arguments(core)}
        inputs_of = tuple(name for name in inputs_of if split_tensor(name)[0] in arguments)
    for side, names in (("input", inputs_of), ("output", outputs_of)):
        yield from _first_lines(
            [f"{side}: {_tensor_text(index, name)}" for name in names], _MOST_ENDS, f"{side}s"
        )


def _tensor_text(index: GraphIndex, name: str) -> str:
    op, port = pairs(index, [name])[0]
    dtypes = index.dtypes(op)
    port = max(port, 0)
    if port >= len(dtypes):
        return f"{name} ({index.types[op]})"
    return f"{index.names[op]}:{port} {dtypes[port]} {shape_text(index.shape(op, port))}"


def _scopes(core: EditorCore) -> Iterator[str]:
    """What the outermost scopes hold and cost, the largest first."""
    table = core.coloring.cost_values(1)
    columns: dict[str, Sequence[float]] = {
        by: np.nan_to_num(np.asarray(list(table[by]), float)).tolist()
        for by in ("parameters", "flops")
    }
    sums: dict[str, list[float]] = {}
    for op, name in enumerate(core.index.names):
        scope, sign, _ = name.partition("/")
        of_scope = sums.setdefault(f"{scope}/" if sign else "(ops at the root)", [0.0, 0.0, 0.0])
        for column, value in enumerate((1.0, columns["parameters"][op], columns["flops"][op])):
            of_scope[column] += value
    total = [sum(column) for column in zip(*sums.values(), strict=True)] or [0.0, 0.0, 0.0]
    yield f"cost: {total[1]:,.0f} parameters, {total[2]:,.0f} FLOPs for a batch of 1"
    rows = sorted(sums.items(), key=lambda row: (-row[1][2], -row[1][1], -row[1][0]))
    texts = [
        f"scope {name}: {count_text(n, 'op')}, {count_text(p, 'parameter')}, {f:,.0f} FLOPs"
        for name, (n, p, f) in rows
    ]
    yield from _first_lines(texts, _MOST_SCOPES, "scopes")


def _oddities(core: EditorCore) -> Iterator[str]:
    try:
        report = lint_editor(core, "", (), ("duplicate-weights",))
    except GraphEditError as error:
        yield f"lint: {error.why}"
        return
    yield f"lint: {count_text(len(report), 'finding')}"
    texts = [
        f"{finding.severity} {finding.code}: {finding.sentence}"
        + (f" fix: {finding.fix.code()}" if finding.fix is not None else "")
        for finding in report
    ]
    yield from _first_lines(texts, _MOST_FINDINGS, "findings")


def _first_lines(lines: Sequence[str], most: int, what: str) -> Iterator[str]:
    """So many of the lines; if there are more, the next one says how many."""
    yield from lines[:most]
    if len(lines) > most:
        yield f"… and {len(lines) - most:,} more {what}"
