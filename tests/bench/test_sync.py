"""sync() against a plain tf.group of assigns: 100 variables of 1 MB each."""

from __future__ import annotations

import statistics
import time

import pytest
import tensorflow as tf

from tests.bench.results import record
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
            [
                v1.Variable(tf.fill([FLOATS], float(k)), name=f"{s}v{k}", use_resource=resource)
                for s in ("", "copy/")
            ]
            for k in range(VARIABLES)
        ]
        plain = tf.group(*(v1.assign(b, a if not resource else a.read_value()) for a, b in pairs))
    with initialised(graph) as session:
        report = tuple((variable_definition(a), variable_definition(b)) for a, b in pairs)
        sync = Sync(report, Model(graph, session), Model(graph, session), "copy")
        ratios, times = [], []
        for _ in range(ROUNDS):
            spent = []
            for run in (lambda: session.run(plain), sync.sync):
                before = time.perf_counter()
                run()
                spent.append(time.perf_counter() - before)
            times.append(spent)
            ratios.append(spent[1] / spent[0])
    ratio = statistics.median(ratios)
    kind = "resource" if resource else "ref"
    plain_times, our_times = (
        [1e3 * second for second in column] for column in zip(*times, strict=True)
    )
    what = f"sync of 100 MB of {kind} variables"
    record("Sessions", what, "ms", our_times, {"plain assigns": plain_times}, f"ratio {ratio:.2f}")
    assert ratio <= 1.5
