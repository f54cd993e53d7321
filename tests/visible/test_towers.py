"""A network trained on four GPUs: a tower each with the same variables, and their averaged
gradients.
"""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.visible.test_every_edge_has_a_line import check_lines
from tests.visible.test_visible_graph import lines
from tfgraphwidget.graph.index import GraphIndex, build
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph, default_open

v1 = tf.compat.v1
TOWERS = [f"tower_{gpu}" for gpu in range(4)]


def towers(*, gradients_inside: bool) -> GraphIndex:
    """Four towers; the gradients of each are made inside of its name scope, or after all towers."""
    with tf.Graph().as_default() as graph:
        images = v1.placeholder(tf.float32, [None, 8], name="images")
        labels = v1.placeholder(tf.int64, [None], name="labels")
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        losses, gradients = [], []
        for gpu, tower in enumerate(TOWERS):
            with (
                tf.device(f"/gpu:{gpu}"),
                v1.name_scope(tower),
                v1.variable_scope("net", reuse=gpu > 0),
            ):
                hidden = tf.nn.relu(tf.matmul(images, v1.get_variable("hidden", [8, 16])))
                logits = tf.matmul(hidden, v1.get_variable("logits", [16, 3]))
                entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=labels, logits=logits
                )
                losses.append(tf.reduce_mean(entropy, name="loss"))
                if gradients_inside:
                    gradients.append(optimizer.compute_gradients(losses[-1]))
        gradients = gradients or [optimizer.compute_gradients(loss) for loss in losses]
        averaged = [
            (tf.add_n([gradient for gradient, _ in pairs]) / len(TOWERS), pairs[0][1])
            for pairs in zip(*gradients, strict=True)
        ]
        optimizer.apply_gradients(averaged, name="train")
    return build(graph.as_graph_def().node)


@pytest.mark.parametrize("gradients_inside", [False, True])
def test_each_of_four_towers_has_its_line_into_training(gradients_inside):
    index = towers(gradients_inside=gradients_inside)
    shown = build_visible_graph(index, ViewSpec(default_open(index)))
    into = {source.split("/")[0] for source, target in lines(shown) if target == "(training)"}
    assert into == set(TOWERS) or into == {"tower_0 … tower_3"}
    group = "tower_0 … tower_3"
    opened = build_visible_graph(index, ViewSpec(default_open(index) | {group}))
    assert {source for source, target in lines(opened) if target == f"{group}/"} == set(TOWERS)


@pytest.mark.parametrize("gradients_inside", [False, True])
def test_every_edge_of_the_towers_has_a_line_or_is_counted(gradients_inside):
    index = towers(gradients_inside=gradients_inside)
    for opened in (frozenset(), default_open(index), frozenset(outline_of(index)[0].names)):
        check_lines(index, opened, badges=True)
