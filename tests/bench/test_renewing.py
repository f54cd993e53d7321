"""renew() against doing it by hand: open a session, run all reads in the old one and all assigns,
fed, in the new.
"""

from __future__ import annotations

import statistics
import time

import pytest
import tensorflow as tf

from tests.bench.results import record
from tests.conftest import initialised, v1
from tfgraphwidget.runtime.session.renewal import renew

pytestmark = pytest.mark.bench
VARIABLES, FLOATS, ROUNDS = 400, 65_536, 5


def model(*, resource: bool) -> tuple[tf.Graph, list[tf.Variable]]:
    """A chain of variables, 100 MB in all, with its gradients and an optimizer: some 4,000 ops."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [FLOATS])
        variables = [
            v1.Variable(tf.fill([FLOATS], float(k)), name=f"v{k}", use_resource=resource)
            for k in range(VARIABLES)
        ]
        for variable in variables:
            x = x * variable
        gradients = tf.gradients(tf.reduce_sum(x), variables)
        v1.train.GradientDescentOptimizer(0.1).apply_gradients(
            list(zip(gradients, variables, strict=True))
        )
    return graph, variables


def by_hand(session: v1.Session, variables: list[tf.Variable]) -> v1.Session:
    with session.graph.as_default():
        values = session.run(variables)
    new = v1.Session(graph=session.graph)
    assigns = [variable.initializer for variable in variables]
    new.run(assigns, {op.inputs[1]: value for op, value in zip(assigns, values, strict=True)})
    session.close()
    return new


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
def test_renewing_costs_at_most_half_as_much_again_as_reading_and_writing_by_hand(
    resource: bool,
) -> None:
    graph, variables = model(resource=resource)
    hand, session = initialised(graph), initialised(graph)
    ratios, times = [], []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        hand = by_hand(hand, variables)
        between = time.perf_counter()
        assert renew(session) == ()
        times.append((between - before, time.perf_counter() - between))
        ratios.append(times[-1][1] / times[-1][0])
    with graph.as_default():
        assert session.run(variables[-1])[0] == VARIABLES - 1
    ratio, kind = statistics.median(ratios), "resource" if resource else "ref"
    hand_times, our_times = (
        [1e3 * second for second in column] for column in zip(*times, strict=True)
    )
    what = f"renewal of a session with 100 MB of {kind} variables"
    record(
        "Sessions",
        what,
        "ms",
        our_times,
        {"a new session, values by hand": hand_times},
        f"ratio {ratio:.2f}",
    )
    assert ratio <= 1.5
