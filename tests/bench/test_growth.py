"""What a graph of 100 to 1,000,000 ops costs in time and memory: each size in a process of its own
that has imported nothing before.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.nets import written
from tests.bench.results import record

pytestmark = pytest.mark.bench
SIZES = ("g100", "g1k", "g3k", "g10k", "g50k", "g100k", "g1M")
OURS = """
import json, re, sys, time
from pathlib import Path
start, cpu = time.perf_counter(), time.process_time()
import tfgraphwidget as tgw
from tfgraphwidget.scene import scene as scenes
def draw(editor):
    scene = editor.view.scene()
    return scenes.to_bytes({**scene.arrays(), **editor._core.paint(scene).arrays()})
def clock(work):
    work()  # what is computed once for a graph
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)
editor = tgw.edit(sys.argv[1])
opened = time.perf_counter() - start
draw(editor)
figures = {"opened": opened, "cold": time.perf_counter() - start, "cpu": time.process_time() - cpu}
# Not ru_maxrss, which begins with what the parent held.
figures["memory"] = (
    int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / 1e6
)
figures["ops"] = len(editor._core.index)
figures["search"] = clock(lambda: editor.find("conv -grad").ops)
figures["walk"] = clock(lambda: len(editor.downstream(editor._core.index.names[0])))
if figures["ops"] < 250_000:
    start = time.perf_counter()
    other = tgw.edit(sys.argv[1])
    draw(other)
    figures["warm"] = time.perf_counter() - start
    del other
else:
    start = time.perf_counter()
    try:
        editor.view.expand()
    except tgw.GraphEditError as error:
        figures["refusal"] = str(error)
    figures["refused"] = 1e3 * (time.perf_counter() - start)
if figures["ops"] > 50_000:
    start = time.perf_counter()
    copy = editor.clone("stage_9/block_7/out:0", "stage_32/block_7/out:0", into="copy", init="none")
    figures["clone"], figures["copied"] = time.perf_counter() - start, len(copy.ops)
assert "tensorflow" not in sys.modules
print(json.dumps(figures))
"""
THEIRS = """
import json, re, sys, time
from pathlib import Path
start, cpu = time.perf_counter(), time.process_time()
import tensorflow as tf
graph_def = tf.compat.v1.GraphDef.FromString(open(sys.argv[1], "rb").read())
with tf.Graph().as_default():
    tf.import_graph_def(graph_def, name="")
figures = {"cold": time.perf_counter() - start, "cpu": time.process_time() - cpu}
# Not ru_maxrss, which begins with what the parent held.
figures["memory"] = (
    int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024 / 1e6
)
print(json.dumps(figures))
"""
RUNS = 5
FEW = 3  # runs of what takes ten seconds and more


def run(code: str, file: Path) -> dict[str, float]:
    """The figures that a process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


@pytest.mark.parametrize("size", SIZES)
def test_a_file_cold_and_warm(size: str, tmp_path: Path) -> None:
    file = written(size, tmp_path)
    runs = FEW if size == "g1M" else RUNS
    ours, theirs = [], []
    for _ in range(runs):  # one after the other, so that both meet what else the machine does
        ours.append(run(OURS, file))
        if size != "g1M":
            theirs.append(run(THEIRS, file))

    def column(name: str, of: list[dict[str, float]]) -> list[float]:
        return [figures[name] for figures in of]

    ops = f"{ours[0]['ops']:,.0f} ops"
    peer = "importing it into TensorFlow"
    no_peer = "" if theirs else "TensorFlow's import was not waited for"
    record(
        "Grow",
        f"file to an editor, cold process, imports included, {ops}",
        "s",
        column("opened", ours),
    )
    for name, title, unit in (
        ("cold", "file to the first drawing's bytes, cold process, imports included", "s"),
        ("cpu", "the same, CPU", "s"),
        ("memory", "the same, peak memory", "MB"),
    ):
        peers = {peer: column(name, theirs)} if theirs else {}
        record("Grow", f"{title}, {ops}", unit, column(name, ours), peers, no_peer)
    if size != "g1M":
        record("Grow", f"file to the first drawing's bytes, warm, {ops}", "s", column("warm", ours))
    else:
        assert all("ops and scopes would be drawn" in str(figures["refusal"]) for figures in ours)
        record(
            "Grow", f"expand all is refused with the count, {ops}", "ms", column("refused", ours)
        )
    record("Grow", f"search 'conv -grad', {ops}", "ms", column("search", ours))
    record("Grow", f"all ops downstream of the first, {ops}", "ms", column("walk", ours))
    if "clone" in ours[0]:
        record(
            "Grow",
            f"the first clone of {ours[0]['copied']:,.0f} ops, {ops}",
            "s",
            column("clone", ours),
        )
