"""What a person sees first: the architecture, in a number of boxes that an eye can take in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import MODELS, v1
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.hierarchy.builder import outline_of
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import (
    BADGE,
    VisibleGraph,
    build_visible_graph,
    default_open,
)

CORPUS = sorted(
    (Path(__file__).parents[1] / "corpus" / "graph_editor" / "graphs").glob("*.meta.pb*")
)


def first_view(index: GraphIndex) -> VisibleGraph:
    return build_visible_graph(index, ViewSpec(default_open(index)))


def boxes(shown: VisibleGraph) -> list[str]:
    return [name for name, kind in zip(shown.names, shown.kind, strict=True) if kind != BADGE]


@pytest.fixture(scope="module")
def transformer() -> GraphIndex:
    """Four equal blocks of attention and two matrix products, a loss, its gradients and Adam."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 16, 8], name="tokens")
        wanted = v1.placeholder(tf.float32, [None, 16, 8], name="wanted")

        def product(x: tf.Tensor, units: int, name: str) -> tf.Tensor:
            with v1.variable_scope(name):
                w = v1.get_variable("w", [x.shape[-1], units], use_resource=True)
                return tf.einsum("btd,du->btu", x, w)

        for k in range(4):
            with v1.variable_scope(f"block_{k}"):
                with v1.variable_scope("attention"):
                    query, key, value = (product(x, 8, name) for name in ("query", "key", "value"))
                    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
                    x = tf.add(x, tf.matmul(weights, value), name="sum")
                with v1.variable_scope("feed_forward"):
                    x = tf.add(
                        x, product(tf.nn.relu(product(x, 32, "widen")), 8, "narrow"), name="sum"
                    )
        with tf.name_scope("loss"):
            loss = tf.reduce_mean(tf.square(x - wanted))
        v1.train.AdamOptimizer().minimize(loss)
        return tgw.edit(graph)._core.index


def test_a_transformer_s_training_step_shows_its_blocks_and_one_box_of_training(transformer):
    seen = boxes(first_view(transformer))
    assert 8 <= len(seen) <= 45
    assert {"tokens", "wanted", "loss", "(training)", "block_0", "block_3"} <= set(seen)


@pytest.mark.parametrize(
    ("model", "some"),
    [
        (
            "dqn_online_train.meta",
            {"obs", "online/conv2d", "online/flatten", "online/dense", "online/q", "(training)"},
        ),
        (
            "seq2seq_v1.meta",
            {
                "ids",
                "embedding_lookup",
                "bidirectional_rnn",
                "LuongAttention",
                "decoder",
                "(training)",
            },
        ),
        (
            "slim_inception_v3_infer.meta",
            {
                "input",
                "net/InceptionV3/InceptionV3/Mixed_6b … Mixed_6e",
                "net/InceptionV3/Logits",
                "net/predictions",
            },
        ),
    ],
)
def test_known_models_show_their_architecture_at_first(model, some):
    shown = first_view(tgw.edit(MODELS / model)._core.index)
    assert some <= set(boxes(shown))
    assert 8 <= len(boxes(shown)) <= 45


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name.partition(".")[0])
def test_every_graph_of_the_corpus_is_drawn_closed_at_first_and_open(path):
    index = tgw.edit(path)._core.index
    outline, _ = outline_of(index)
    for opened in (frozenset(), default_open(index), frozenset(outline.names)):
        shown = build_visible_graph(index, ViewSpec(opened))
        is_badge = shown.kind == BADGE
        assert (np.diff(shown.parent) >= 0).all()
        assert (shown.parent[1:] < np.arange(1, len(shown))).all()
        assert not is_badge[shown.source].any()
        assert not is_badge[shown.target].any()
        assert not is_badge[shown.home_of_op].any()
        assert shown.count[0] == len(index)
        held = np.bincount(shown.home_of_op, minlength=len(shown))
        leaf = (shown.kind != 2) & ~is_badge
        assert (held[leaf] == shown.count[leaf]).all()


def test_a_network_is_opened_though_there_are_constants_that_are_badges(graph):
    """What is drawn as badges counts for nothing: with them there were too many boxes to open the
    only network.
    """
    ops = {"x": "Placeholder", "y": "Placeholder"}
    for k in range(50):
        before = f"net/part_{k - 1}/{'abcdefg'[(k - 1) % 7]}" if k else "x"
        ops[f"net/part_{k}/{'abcdefg'[k % 7]}"] = f"{('Relu', 'MatMul', 'Tanh')[k % 3]} {before}"
        ops[f"net/part_{k}/more"] = f"Sqrt net/part_{k}/{'abcdefg'[k % 7]}"
    for k in range(10):
        ops[f"c_{k}"] = "Const"
    ops["loss"] = " ".join(["AddN net/part_49/a y", *(f"c_{k}" for k in range(10))])
    assert "net" in default_open(graph(ops))
