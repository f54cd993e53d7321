"""Metrics are one box beside the network."""

from __future__ import annotations

import pytest

from tfgraphwidget.hierarchy import find_op_facts, outline_of
from tfgraphwidget.hierarchy.metrics import find_metric_groups

pytestmark = pytest.mark.no_tensorflow

NETWORK = {
    "x": "Placeholder",
    "labels": "Placeholder",
    "w": "VarHandleOp",
    "net/read": "ReadVariableOp w",
    "net/logits": "MatMul x net/read",
    "loss": "SoftmaxCrossEntropyWithLogits net/logits labels",
}


def metric(k, value="net/logits"):
    """The mean of a value as Keras counts it: a total and a count, and the result of both."""
    return {
        f"total_{k}": "VarHandleOp",
        f"count_{k}": "VarHandleOp",
        f"Cast_{k}": f"Cast {value}",
        f"Equal_{k}": f"Equal Cast_{k} labels",
        f"axes_{k}": "Const",
        f"Sum_{k}": f"Sum Equal_{k} axes_{k}",
        f"Size_{k}": f"Size Equal_{k}",
        f"unread_{k}": f"Shape Cast_{k}",
        f"add_total_{k}": f"AssignAddVariableOp total_{k} Sum_{k}",
        f"add_count_{k}": f"AssignAddVariableOp count_{k} Size_{k}",
        f"read_total_{k}": f"ReadVariableOp total_{k}",
        f"read_count_{k}": f"ReadVariableOp count_{k}",
        f"result_{k}": f"DivNoNan read_total_{k} read_count_{k}",
    }


def members(index):
    """The names of the ops in the box of metrics; none where there is no such box."""
    outline, _ = outline_of(index)
    node = outline.ids.get("(metrics)")
    return set() if node is None else {index.names[op] for op in outline.ops(node)}


def three_metrics():
    """A network with a loss that is returned, and three metrics."""
    return NETWORK | metric(0) | metric(1) | metric(2)


def test_metrics_are_a_box_with_their_constants_and_the_network_is_outside(graph):
    inside = members(graph(three_metrics()))
    assert {"Cast_0", "Sum_1", "add_count_2", "axes_0", "unread_1", "total_0"} <= inside
    assert not inside & {"x", "labels", "net/logits", "loss", "result_0"}


def test_a_network_that_leads_to_metrics_only_stays_the_network(graph):
    ops = three_metrics()
    del ops["loss"]
    inside = members(graph(ops))
    assert "Sum_0" in inside
    assert "net/logits" not in inside


def test_a_single_metric_is_no_crowd(graph):
    assert members(graph(NETWORK | metric(0))) == set()


def test_an_update_of_what_the_network_reads_is_the_networks(graph):
    # An average that the next step starts from, and centers of clusters that are read as computed.
    ops = three_metrics() | {
        "norm": "L2Normalize read_total_0",
        "net/scaled": "Mul net/logits norm",
    }
    inside = members(graph(ops))
    assert "Sum_0" not in inside
    assert "Sum_1" in inside


def test_what_reads_a_weight_is_no_metric(graph):
    ops = three_metrics() | {
        "critic": "VarHandleOp",
        "critic_read": "ReadVariableOp critic",
        "Cast_0": "MatMul net/logits critic_read",
    }
    inside = members(graph(ops))
    assert "Cast_0" not in inside
    assert "Equal_0" in inside


def test_an_output_that_a_metric_counts_stays_outside(graph):
    ops = three_metrics() | {"Equal_1": "Equal Cast_1 labels", "returned": "Identity Equal_1"}
    inside = members(graph(ops))
    assert not inside & {"Equal_1", "Cast_1", "returned"}
    assert {"Sum_1", "Equal_2"} <= inside


def test_checks_that_metrics_wait_for_go_along(graph):
    ops = three_metrics() | {
        "check/less": "Less net/logits labels",
        "check/guard": "Identity check/less",
        "Cast_0": "Cast net/logits ^check/guard",
    }
    assert {"check/less", "check/guard"} <= members(graph(ops))


def test_the_box_is_in_no_circle_with_a_layer_that_holds_its_own_summary(graph):
    ops = three_metrics() | {
        "zeros": "Mean net/logits",
        "net/tag": "Const",
        "net/summary": "ScalarSummary net/tag zeros",
    }
    inside = members(graph(ops))
    assert "zeros" not in inside
    assert "Sum_0" in inside


def test_a_graph_without_updates_has_no_metrics(graph):
    index = graph(NETWORK)
    outline, _ = outline_of(index)
    assert find_metric_groups(index, find_op_facts(index), outline) == []
