"""A large file, from `tgw.edit(path)` to the bytes of its first drawing; against importing it into TensorFlow."""

from __future__ import annotations

import gc
import statistics
import time
from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tests.bench.graphs import live, many_inceptions
from tests.conftest import v1
from tfgraphwidget.scene import scene as scenes

pytestmark = pytest.mark.bench


def test_a_file_of_50000_ops_to_its_first_drawing(tmp_path: Path) -> None:
    path = tmp_path / "towers.pb"
    path.write_bytes(many_inceptions(15).SerializeToString())
    ours, peer = [], []
    for _ in range(5):
        gc.collect()
        start = time.perf_counter()
        editor = tgw.edit(path)
        scene = editor.scene()
        drawn = scenes.to_bytes({**scene.arrays(), **editor.core.paint(scene).arrays()})[1]
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        live(v1.GraphDef.FromString(path.read_bytes()))
        peer.append(time.perf_counter() - start)
    assert drawn
    assert editor.core.source.graph is None
    ops, size = len(editor.index), path.stat().st_size / 1e6
    print(f"\n{ops:,} ops, {size:.0f} MB: {statistics.median(ours):.2f} s to the first drawing's bytes")
    print(f"parsing and importing it into TensorFlow alone: {statistics.median(peer):.2f} s")
    assert statistics.median(ours) <= 2
