"""Weights of two checkpoints compared, in the time that TensorFlow reads both."""

from __future__ import annotations

import gc
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.bench.results import record
from tfgraphwidget.sources import StoredTensor, write_bundle

pytestmark = pytest.mark.bench

SHAPES = [(1024, 1024)] * 20 + [(2048, 1024)] * 2 + [(3, 3, 256, 256)] + [(1024,)] * 40  # 103 MB
LARGEST = 2048 * 1024 * 4  # bytes
RUNS = 9
RATIO = 1.5


def read(prefix: str) -> None:
    reader = tf.train.load_checkpoint(prefix)
    for name in reader.get_variable_to_shape_map():
        reader.get_tensor(name)


def seconds(prefixes: tuple[str, str], *, compares: bool) -> float:
    gc.collect()
    start = time.perf_counter()
    if compares:
        found = tgw.drift(*prefixes).comparison
        assert len(found) == len(SHAPES)
    else:
        for prefix in prefixes:
            read(prefix)
    return time.perf_counter() - start


def test_two_checkpoints_of_100_mb_are_compared_in_the_time_of_reading(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    prefixes = (str(tmp_path / "one"), str(tmp_path / "two"))
    values = [random.normal(size=shape).astype(np.float32) for shape in SHAPES]
    for prefix, change in zip(prefixes, (0.0, 0.01), strict=True):
        write_bundle(
            prefix,
            (
                StoredTensor(
                    f"layer_{k}/w",
                    lambda v=v, change=change: (v + change * random.normal(size=v.shape)).astype(
                        np.float32
                    ),
                )
                for k, v in enumerate(values)
            ),
        )
    both = [(seconds(prefixes, compares=False), seconds(prefixes, compares=True))]
    both += [
        (seconds(prefixes, compares=False), seconds(prefixes, compares=True)) for _ in range(RUNS)
    ]
    reading, comparing = (list(column) for column in zip(*both[1:], strict=True))
    others = {"tf.train.load_checkpoint, which only reads both": reading}
    record("Compare", "weights of two checkpoints of 103 MB", "s", comparing, others)
    tracemalloc.start()
    tgw.drift(*prefixes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    record("Compare", "weights of two checkpoints of 103 MB: memory", "MB", [peak / 1e6])
    assert peak < 6 * LARGEST + (48 << 20)
    assert min(comparing) <= RATIO * min(reading)
