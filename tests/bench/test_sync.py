"""sync() against a plain tf.group of assigns: 100 variables of 1 MB each."""

from __future__ import annotations

import statistics
import time

import pytest
import tensorflow as tf

from tests.conftest import initialised, v1
from tfgraphwidget.runtime.sync.sync import Model, Sync
from tfgraphwidget.sources.variables import variable_definition

pytestmark = pytest.mark.bench
VARIABLES, FLOATS, ROUNDS = 100, 250_000, 31


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_sync_costs_at_most_half_as_much_again_as_plain_assigns(resource: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        pairs = [
            [v1.Variable(tf.fill([FLOATS], float(k)), name=f"{s}v{k}", use_resource=resource) for s in ("", "copy/")]
            for k in range(VARIABLES)
        ]
        plain = tf.group(*(v1.assign(b, a if not resource else a.read_value()) for a, b in pairs))
    with initialised(graph) as session:
        told = tuple((variable_definition(a), variable_definition(b)) for a, b in pairs)
        sync = Sync(told, Model(graph, session), Model(graph, session), "copy")
        ratios, times = [], []
        for _ in range(ROUNDS):
            spent = []
            for run in (lambda: session.run(plain), sync.sync):
                before = time.perf_counter()
                run()
                spent.append(time.perf_counter() - before)
            times.append(spent)
            ratios.append(spent[1] / spent[0])
    middle = [statistics.median(each) * 1e3 for each in zip(*times, strict=True)]
    ratio = statistics.median(ratios)
    kind = "resource" if resource else "ref"
    print(f"\nsync of 100 MB, {kind}: {middle[1]:.2f} ms, plain {middle[0]:.2f} ms, ratio {ratio:.2f}")
    assert ratio <= 1.5
