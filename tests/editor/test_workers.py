"""A population is evaluated by the workers of concurrent.futures and of Dask; the same lines run on
both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

import numpy as np
import pytest

import tfgraphwidget as tgw
from tfgraphwidget.editor import GraphEditor

FEEDS = {"x:0": np.ones([1, 4], np.float32)}


def trained(editor: GraphEditor) -> tuple[list[list[float]], GraphEditor]:
    """What a worker does: a step of training; the output, and the editor itself."""
    editor.session.run("train", {**FEEDS, "labels:0": [0]})
    return editor.session.run("net/logits:0", FEEDS).tolist(), editor


def dies(editor: GraphEditor) -> None:
    """A worker that ends without a word."""
    os._exit(1 if editor.session else 0)


@contextmanager
def process_pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        yield workers


@contextmanager
def dask_workers() -> Iterator[Executor]:
    from dask.distributed import Client, LocalCluster

    options = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "dashboard_address": None,
        "host": "127.0.0.1",
    }
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client.get_executor()


def evaluated(
    population: list[GraphEditor], workers: Executor
) -> list[tuple[list[list[float]], GraphEditor]]:
    """The lines that are the same everywhere."""
    return list(workers.map(trained, population))


@pytest.mark.slow
def test_a_population_is_trained_by_dask_and_comes_back() -> None:
    population = [tgw.example(), tgw.example()]
    population[1].bypass("net/hidden/Relu")
    before = [each.session.run("net/logits:0", FEEDS).tolist() for each in population]
    with dask_workers() as workers:
        results = evaluated(population, workers)
    for editor, values, (output, other) in zip(population, before, results, strict=True):
        assert other.session.run("net/logits:0", FEEDS).tolist() == output != values
        assert other.history.lines == editor.history.lines
        assert editor.session.run("net/logits:0", FEEDS).tolist() == values


@pytest.mark.slow
def test_a_worker_that_dies_is_reported_and_the_editor_goes_to_another_pool() -> None:
    editor = tgw.example()
    with process_pool() as workers, pytest.raises(BrokenProcessPool):
        workers.submit(dies, editor).result()
    assert editor.history.lines == ()
    with process_pool() as workers:
        ((output, other),) = evaluated([editor], workers)
    assert other.session.run("net/logits:0", FEEDS).tolist() == output
