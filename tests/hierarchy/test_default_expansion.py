"""Which scopes are open at first."""

from __future__ import annotations

import pytest

from tfgraphwidget.visible.visible_graph import default_open

pytestmark = pytest.mark.no_tensorflow


def flat(count: int) -> dict[str, str]:
    """One scope of so many ops that are not alike enough to be folded."""
    types = ("Relu", "Tanh", "Sqrt", "Neg", "Abs")
    ops = {"x": "Placeholder", "all/n0": "Relu x"}
    for k in range(1, count):
        ops[f"all/n{k}"] = f"{types[k * k % 5]} all/n{k * 7 // 8}"
    return ops


@pytest.mark.parametrize(("count", "opened"), [(30, True), (300, True), (3000, False)])
def test_a_scope_is_opened_while_its_names_can_be_read(graph, count, opened):
    assert ("all" in default_open(graph(flat(count)))) is opened


def test_beside_a_scope_of_thousands_another_may_be_opened(graph):
    ops = flat(3000) | {
        f"head/{k}": f"{('Relu', 'Tanh', 'Sqrt')[k % 3]} {f'head/{k - 1}' if k else 'all/n9'}"
        for k in range(9)
    }
    assert default_open(graph(ops)) == {"head"}
