"""The rows that the benches measure, and what is written of them: RESULTS.md, results.json and a
chart.
"""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.release import Growth

FOLDER = Path(__file__).parent
_BESIDE = ("CPU of that", "the same")  # rows that measure the one above in another way
PACKAGES = ("tensorflow", "jupyterlab", "anywidget", "numpy", "scipy", "ipysigma")


@dataclass(frozen=True)
class Row:
    """What was measured, of us and of others in the same run; several measurements of each, of
    which the median counts.

    Attributes:
        chapter: The heading that it stands under.
        what: The job and the graph, and whether the process was cold or warm.
        unit: "s", "ms", "µs", "MB", "ops", …
        ours: Our measurements.
        others: Those of others, by name.
        note: A limit, or what others cannot do.
        day: When it was measured, as "2026-11-27".
        recorded: What was measured elsewhere of what does not run here, in words, by name; it
            counts in no ratio.
    """

    chapter: str
    what: str
    unit: str
    ours: tuple[float, ...]
    others: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    note: str = ""
    day: str = field(default_factory=lambda: datetime.now(timezone.utc).strftime("%Y-%m-%d"))
    recorded: Mapping[str, str] = field(default_factory=dict)

    @property
    def fastest(self) -> tuple[float, str] | None:
        """The fastest other's median as a multiple of ours, and its name; None without one."""
        medians = [
            (statistics.median(values), name) for name, values in self.others.items() if values
        ]
        ours = statistics.median(self.ours)
        if not medians or not ours:
            return None
        median, name = min(medians)
        return median / ours, name

    @property
    def ratio(self) -> float | None:
        """The fastest other's median as a multiple of ours; None without one."""
        return self.fastest[0] if self.fastest else None

    @property
    def other_texts(self) -> list[str]:
        """What the others took, and what is only recorded of some."""
        measured = [f"{name} {text_of(values, self.unit)}" for name, values in self.others.items()]
        return measured + [f"{name} {text}, {AS_RECORDED}" for name, text in self.recorded.items()]


AS_RECORDED = "as recorded on another machine, not in this run"
GRAPH_EDITOR = "tf.contrib.graph_editor of TensorFlow 1.15 (2019)"
"""A peer that runs on Python 3.7 at most, so that there are only figures of it that were recorded
there.
"""

ROWS: list[Row] = []
"""The rows of this run."""


def record(
    chapter: str,
    what: str,
    unit: str,
    ours: float | Sequence[float],
    others: Mapping[str, float | Sequence[float]] | None = None,
    note: str = "",
    recorded: Mapping[str, str] | None = None,
) -> None:
    """Print a row, and put it among the results.

    Args:
        chapter: The heading.
        what: The job and the graph.
        unit: The unit of all numbers.
        ours: Our measurement or measurements.
        others: Those of others, by name.
        note: A limit, or what others cannot do.
        recorded: What was measured elsewhere of what does not run here, in words, by name.
    """
    peers = {name: _several(values) for name, values in (others or {}).items()}
    row = Row(chapter, what, unit, _several(ours), peers, note, recorded=recorded or {})
    ROWS.append(row)
    report = ", ".join([f"tfgraphwidget {text_of(row.ours, unit)}", *row.other_texts])
    print(f"\n{what}: {report}{note and f' ({note})'}", flush=True)


def _several(values: float | Sequence[float]) -> tuple[float, ...]:
    return (float(values),) if isinstance(values, int | float) else tuple(map(float, values))


def number_text(number: float) -> str:
    """Three digits that count."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def text_of(values: Sequence[float], unit: str) -> str:
    """The median, and the spread of several: "1.2 s (1.1 to 1.4, 5 runs)"."""
    if not values:
        return "cannot"
    text = f"{number_text(statistics.median(values))} {unit}"
    if len(values) == 1:
        return text
    return f"{text} ({number_text(min(values))} to {number_text(max(values))}, {len(values)} runs)"


def machine() -> list[str]:
    """What the figures are of."""
    from tests.bench.peers import PEERS

    cpu = re.search(r"model name\s*:\s*(.*)", _read("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", _read("/proc/meminfo"))
    return [
        f"{os.cpu_count()} × {cpu[1] if cpu else platform.processor()}, {int(memory[1]) / 1e6:.0f} "
        "GB"
        if memory
        else platform.machine(),
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        ", ".join(map(_version, PACKAGES)),
        ", ".join(f"{peer.name} {peer.requirement.rpartition('==')[2]}" for peer in PEERS),
        f"load at the end {os.getloadavg()[0]:.1f}",
    ]


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} not installed"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def earlier(rows: Sequence[Row], folder: Path = FOLDER) -> list[Row]:
    """The rows of results.json that were not measured again.

    Args:
        rows: What was measured now.
        folder: Where results.json is.
    """
    again = {(row.chapter, row.what) for row in rows}
    kept = [
        Row(**row)
        for row in json.loads(_read(str(folder / "results.json")) or '{"rows": []}')["rows"]
    ]
    return [row for row in kept if (row.chapter, row.what) not in again]


def write(rows: Sequence[Row], folder: Path = FOLDER, growths: Sequence[Growth] = ()) -> None:
    """Write RESULTS.md and results.json.

    Args:
        rows: The rows.
        growths: How jobs grow with the ops of a graph.
        folder: Where to.
    """
    day = " and ".join(sorted({row.day for row in rows}))
    lines = [
        "# Results of `make bench`",
        "",
        (
            f"Measured on {day}; the median, and the least and the most of several runs. The last "
            "column is how many times"
        ),
        "as much the best other took; below 1 the other is better.",
        "",
        *(f"* {line}" for line in machine()),
    ]
    chapters: dict[str, list[Row]] = {}
    for row in rows:
        chapters.setdefault(row.chapter, []).append(row)
    for chapter, its_rows in chapters.items():
        lines += [
            "",
            f"## {chapter}",
            "",
            "| | ours | others | others ÷ ours |",
            "|---|---|---|---|",
        ]
        for row in its_rows:
            others = "<br>".join(row.other_texts)
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
            lines.append(
                f"| {row.what}{row.note and f' ({row.note})'} | {text_of(row.ours, row.unit)} | "
                f"{others} | {ratio} |"
            )
    if growths:
        lines += ["", "## Exponents", "", "| | ops | cost ~ ops to the power of |", "|---|---|---|"]
        lines += [
            f"| {each.what}, {each.unit} | {each.least:,} to {each.most:,} | {each.exponent:.2f} |"
            for each in growths
        ]
    (folder / "RESULTS.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    document = {"day": day, "machine": machine(), "rows": [asdict(row) for row in rows]}
    (folder / "results.json").write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw how many times as long the fastest other took as bars, one for each job, at its largest
    size.

    Args:
        rows: The rows; those of times are drawn.
        path: Of the SVG.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    times = [
        row for row in rows if row.unit in {"s", "ms", "µs"} and not row.what.startswith(_BESIDE)
    ]
    # Later rows are of larger sizes.
    jobs = {re.sub(r"[\d,]+", "", row.what): row for row in times if row.fastest}
    if not jobs:
        return
    compared = sorted(
        ((*row.fastest, row.what) for row in jobs.values() if row.fastest), reverse=True
    )
    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "results", "font.family": "sans-serif"}
    ):
        figure = Figure(figsize=(11, 0.28 * len(compared) + 0.9), facecolor="white")
        axes = figure.subplots()
        for line, (ratio, name, _) in enumerate(compared):
            axes.barh(line, ratio - 1, left=1, color="#3d7dca" if ratio >= 1 else "#c0603a")
            text = f"{number_text(ratio)} × {name.removeprefix('tf.compat.v1.graph_util.')}"
            axes.text(max(ratio, 1) * 1.1, line, text, va="center", fontsize=8)
        axes.set_yticks(range(len(compared)), [what for _, _, what in compared], fontsize=8)
        axes.set_xscale("log")
        axes.set_xlim(min(0.3, compared[-1][0]), compared[0][0] * 5_000)  # room for the names
        axes.set_xticks(ticks := [1, 10, 100, 1_000], [f"{tick:,}" for tick in ticks], fontsize=8)
        axes.minorticks_off()
        axes.set_ylim(len(compared) - 0.4, -0.6)
        axes.axvline(1, color="#444", linewidth=1)
        axes.set_xlabel(
            "time of the fastest other ÷ ours; red where the other is faster", fontsize=9
        )
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None})
