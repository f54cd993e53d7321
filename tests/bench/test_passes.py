"""fold_constants against the constant folding of TensorFlow's optimizer; sizes after cast and
quantize_weights.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.bench.results import record
from tests.models import written
from tfgraphwidget.edits.freeze import results
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.measure import optimizer

pytestmark = pytest.mark.bench
v1 = tf.compat.v1
RUNS = 5


def graph_of(name: str, folder: Path) -> Any:
    """The GraphDef of a model."""
    path = written(name, folder)
    data = path.read_bytes()
    return (
        v1.GraphDef.FromString(data)
        if path.suffix == ".pb"
        else v1.MetaGraphDef.FromString(data).graph_def
    )


@pytest.mark.parametrize("name", ["resnet", "inception", "seq2seq", "transformer"])
def test_constants_are_folded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph_def = graph_of(name, tmp_path)
    outputs = results(tgw.edit(graph_def)._core.index)
    monkeypatch.setattr(optimizer, "PASSES", ("constfold",))
    own, peer = [], []
    for _ in range(RUNS):  # in turn
        editor = tgw.edit(graph_def)
        len(editor._core.index)
        start = time.process_time()
        try:
            report = editor.passes.fold_constants()
            own_text = f"{report.notes[0]} {len(report.removed):,} ops removed"
        except GraphEditError as refusal:  # a pass with nothing to do
            own_text = refusal.why
        own.append(time.process_time() - start)
        index = tgw.edit(graph_def)._core.index
        start = time.process_time()
        _, (grappler,) = optimizer.optimize(index, outputs, apart=False)
        peer.append(time.process_time() - start)
    note = (
        f"{own_text} grappler: {len(grappler.folded):,} folded, {len(grappler.removed):,} removed"
    )
    what = f"fold_constants, {name}, {len(graph_def.node):,} ops, CPU"
    record("Passes", what, "s", own, {"grappler's constant folding": peer}, note)
    assert statistics.median(own) <= 2 * statistics.median(peer)


@pytest.mark.parametrize("name", ["resnet", "inception"])
def test_files_are_smaller(name: str, tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.Session(graph=graph) as session:
        v1.train.import_meta_graph(str(written(name, tmp_path)))
        session.run(v1.global_variables_initializer())
        editor = tgw.edit(graph, session=session)
        outputs = results(editor._core.index)
        path = tmp_path / "frozen.pb"
        editor.freeze(outputs)
        editor.save(path, verify=False)
    sizes = {"float32": path.stat().st_size}
    for key, change in {
        "float16": lambda editor: editor.passes.cast("float16"),
        "bfloat16": lambda editor: editor.passes.cast("bfloat16"),
        "int8": lambda editor: editor.passes.quantize_weights(),
    }.items():
        edited = tgw.edit(path)
        change(edited)
        sizes[key] = edited.save(tmp_path / f"{key}.pb", verify=False).stat().st_size
    for key, size in sizes.items():
        record("Passes", f"frozen {name}, {key}", "MB", size / 1e6)
    assert sizes["float16"] < 0.55 * sizes["float32"]
    assert sizes["int8"] < 0.3 * sizes["float32"]
