"""The tables of docs/explanation/performance.md, written from the rows of results.json.

    python -m tests.bench.page

writes the tables and the chart; `make bench` calls it.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.results import AS_RECORDED, FOLDER, Row, draw

PAGE = FOLDER.parents[1] / "docs" / "explanation" / "performance.md"
CHART = PAGE.with_suffix(".svg")
VIEWERS = ("TensorBoard", "Model Explorer", "Netron")
SIZES = {
    106: "100",
    997: "1,000",
    2_891: "3,000",
    10_006: "10,000",
    50_002: "50,000",
    99_997: "100,000",
    999_907: "1,000,000",
}
"""Ops of the files that are measured, and how the page names that size."""
MODELS = {
    "resnet": "ResNet v2 50, training",
    "inception": "Inception v3",
    "seq2seq": "sequence to sequence",
    "transformer": "Transformer",
}
_TABLE = re.compile(r"(<!-- (?!end )(\w+) -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)


def text_of(page: str, rows: Sequence[Row]) -> str:
    """The page with its tables of these rows; they stand between `<!-- NAME -->` and `<!-- end
    -->`.

    Args:
        page: The text of the page.
        rows: What was measured.
    """
    results = {row.what: row for row in rows}
    tables = {
        "beside": _beside,
        "viewers": _viewers,
        "opening": _opening,
        "growth": _growth,
        "patterns": _patterns,
        "folding": _folding,
        "sizes": _frozen_sizes,
    }
    return _TABLE.sub(lambda match: match[1] + "\n".join(tables[match[2]](results)), page)


def rows_of(folder: Path = FOLDER) -> list[Row]:
    """The rows of results.json.

    Args:
        folder: Where it is.
    """
    return [
        Row(**row)
        for row in json.loads((folder / "results.json").read_text(encoding="utf-8"))["rows"]
    ]


def write(rows: Sequence[Row]) -> None:
    """Write the page's tables and its chart.

    Args:
        rows: What was measured.
    """
    PAGE.write_text(text_of(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    draw(rows, CHART)


def _number(values: Sequence[float]) -> str:
    median = statistics.median(values)
    return f"{median:,.0f}" if median >= 10 else f"{median:#.2g}"


def _time(row: Row, values: Sequence[float]) -> str:
    return f"{_number(values)} {row.unit}"


def _beside(results: Mapping[str, Row]) -> list[str]:
    lines = ["| | ours | other |", "|---|---|---|"]
    wanted = (
        "what lies between two tensors",
        "index of 10",
        "clone of Inception's body",
        "graph_editor.",
        "cut of",
        "freeze of",
        "renewal of",
        "sync of",
        "replace_all of",
    )
    for what, row in results.items():
        if what.startswith(wanted) and (row.others or row.recorded):
            others = [f"{other} {_time(row, values)}" for other, values in row.others.items()]
            others += [f"*{other} {text}, {AS_RECORDED}*" for other, text in row.recorded.items()]
            lines.append(f"| {what} | {_time(row, row.ours)} | {'<br>'.join(others)} |")
    return lines


def _viewers(results: Mapping[str, Row]) -> list[str]:
    lines = [f"| ops | ours | {' | '.join(VIEWERS)} |", "|---|---|---|---|---|"]
    for size, name in SIZES.items():
        start = f"file of {size:,} ops to its picture"
        seconds = next((row for what, row in results.items() if what.startswith(start)), None)
        if seconds is not None:
            lines.append(f"| {name} | {' | '.join(_with_cpu(seconds, results))} |")
    return lines


def _opening(results: Mapping[str, Row]) -> list[str]:
    row = next(row for what, row in results.items() if what.startswith("double-click on a file"))
    return [
        f"| ours | {' | '.join(VIEWERS)} |",
        "|---|---|---|---|",
        f"| {' | '.join(_with_cpu(row, results))} |",
    ]


def _with_cpu(row: Row, results: Mapping[str, Row]) -> list[str]:
    """Seconds, and CPU seconds in brackets, of us and of each viewer."""
    cpu = results[f"CPU of that: {row.what}"]
    cells = [f"{_number(row.ours)} ({_number(cpu.ours)})"]
    cells += [
        f"{_number(row.others[name])} ({_number(cpu.others[name])})" if name in row.others else ""
        for name in VIEWERS
    ]
    return cells


def _growth(results: Mapping[str, Row]) -> list[str]:
    lines = [
        "| ops | ours | into TensorFlow | a search | the first clone |",
        "|---|---|---|---|---|",
    ]
    for size, name in SIZES.items():
        cold = results.get(
            f"file to the first drawing's bytes, cold process, imports included, {size:,} ops"
        )
        if cold is None:
            continue
        cells = [_time(cold, cold.ours), *(_time(cold, values) for values in cold.others.values())][
            :2
        ]
        search = results[f"search 'conv -grad', {size:,} ops"]
        cells += [""] * (2 - len(cells)) + [_time(search, search.ours)]
        of_size = re.compile(rf"the first clone of .* ops, {size:,} ops")
        clone = next((row for what, row in results.items() if of_size.fullmatch(what)), None)
        lines.append(
            f"| {name} | {' | '.join(cells)} | {'' if clone is None else _copied(clone)} |"
        )
    return lines


def _copied(row: Row) -> str:
    copied = re.search(r"clone of ([\d,]+) ops", row.what)
    assert copied
    return f"{_time(row, row.ours)}, {copied[1]} ops"


def _patterns(results: Mapping[str, Row]) -> list[str]:
    lines = ["| ops | 1 match | each tenth block | each block |", "|---|---|---|---|"]
    for size in (3_000, 10_000, 100_000):
        cells = []
        for matches in (1, size // 100, size // 10):
            of_size = re.compile(
                rf"match of five ops \(\w+\), {size:,} ops, {matches:,} match(es)?, CPU"
            )
            medians = [
                statistics.median(row.ours)
                for what, row in results.items()
                if of_size.fullmatch(what)
            ]
            span = f"{min(medians):.0f} to {max(medians):.0f} ms"
            cells.append(span if matches == 1 else f"{span} ({matches:,})")
        lines.append(f"| {size:,} | {' | '.join(cells)} |")
    return lines


def _folding(results: Mapping[str, Row]) -> list[str]:
    lines = ["| | ops | ours | grappler |", "|---|---|---|---|"]
    for what, row in results.items():
        if match := re.match(r"fold_constants, (\w+), ([\d,]+) ops", what):
            ours = re.search(r"(\d+) ops became constants", row.note)
            theirs = re.search(r"grappler: (\d+) folded", row.note)
            assert theirs
            (peer,) = row.others.values()
            lines.append(
                f"| {MODELS[match[1]]} | {match[2]} | {ours[1] if ours else 0} folded, "
                f"{_time(row, row.ours)} | {theirs[1]} folded, {_time(row, peer)} |"
            )
    return lines


def _frozen_sizes(results: Mapping[str, Row]) -> list[str]:
    calls = {
        "float32": "as it is",
        "float16": '`cast("float16")`',
        "bfloat16": '`cast("bfloat16")`',
    }
    calls["int8"] = "`quantize_weights()`"
    lines = [f"| | {' | '.join(calls.values())} |", "|---|---|---|---|---|"]
    for name in ("resnet", "inception"):
        rows = [results[f"frozen {name}, {kind}"] for kind in calls]
        lines.append(f"| {MODELS[name]} | {' | '.join(_time(row, row.ours) for row in rows)} |")
    return lines


if __name__ == "__main__":
    write(rows_of())
