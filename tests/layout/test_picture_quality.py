"""What a first drawing looks like in several windows: overlaps, crossings and detours of lines."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.layout.checks import graph_of, outside, overlaps
from tests.layout.exact import through
from tests.layout.quality import crossings, detours, lines_of
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.layout import LayoutCache
from tfgraphwidget.layout.aspect import aspect_of, level_of
from tfgraphwidget.layout.compound import Positions, place
from tfgraphwidget.scene import first_drawing
from tfgraphwidget.visible import ROOT_ASPECT, ViewSpec
from tfgraphwidget.visible.visible_graph import VisibleGraph, build_visible_graph

FILES = Path(os.environ.get("TFGRAPHWIDGET_FILES", Path(__file__).parents[3] / "shared" / "files"))
"""Files of public projects, where they are there."""
MODELS = Path(__file__).parents[2] / "notebooks" / "models"

WINDOWS = ((960, 600), (1400, 900), (560, 800))  # pixels; of a cell, a document, a narrow panel
MOST_BOXES = 180  # of a first drawing, badges and the frames around them included
LONG_WAY = 1.5  # times its shortest way; a line that is longer goes round something

# Per file the most crossings in any window, and the largest share of lines that go a long way, as
# they were when this was recorded and a tenth more.
REAL = {
    "deepmd/source/tests/infer/deeppot.pbtxt": (10, 0.07),
    "deepmd/source/tests/infer/deepspin.pbtxt": (33, 0.12),
    "deepmd/source/tests/infer/deeppolar_new.pbtxt": (20, 0.03),
    "deepmd/source/tests/infer/virtual_type.pbtxt": (25, 0.16),
    "deepmd/source/tests/infer/fparam_aparam.pbtxt": (24, 0.13),
    "deepmd/source/lmp/tests/lrmodel.pbtxt": (17, 0.04),
    "deepmd/source/tests/infer/pairwise_dprc.pbtxt": (206, 0.29),
    "deepmd/source/tests/infer/dipolecharge_e.pbtxt": (25, 0.11),
    "tf/tensorflow/compiler/jit/tests/keras_imagenet_main.pbtxt": (2, 0.12),
    "tf/tensorflow/compiler/jit/tests/keras_imagenet_main_graph_mode.pbtxt": (0, 0.01),
    "tfnet/graph/lstm_crf_ner.meta": (10, 0.15),
    "tfnet/graph/rcnn_untrained.meta": (20, 0.13),
    "tfnet/graph/vd_cnn.meta": (1, 0.01),
    "tfnet/graph/char_cnn_untrained.meta": (1, 0.01),
    "tfnet/graph/word_cnn.meta": (2, 0.01),
    "tfnet/graph/kmeans.meta": (19, 0.12),
    "mtcnn/mtcnn.pb": (0, 0.19),
    "kws/Pretrained_models/GRU/GRU_M.pb": (19, 0.065),
    "kws/Pretrained_models/CRNN/CRNN_M.pb": (32, 0.06),
    "basic-pitch/basic_pitch/saved_models/icassp_2022/nmp": (25, 0.03),
    "tfx/tfx/benchmarks/datasets/chicago_taxi/model/tft_tf2_saved_model": (72, 0.34),
    "tfdf/tensorflow_decision_forests/test_data/model/saved_model_adult_rf": (18, 0.19),
}
DEMO = {
    "seq2seq_v1.meta": (8, 0.08),
    "slim_inception_v3_infer.meta": (1, 0.01),
    "dqn_online_train.meta": (0, 0.01),
}

# Per file the most boxes in any window: what is alike is one box that counts it.
BOXES = {
    "deepmd/source/tests/infer/deeppot.pbtxt": 48,
    "deepmd/source/tests/infer/deepspin.pbtxt": 52,
    "deepmd/source/tests/infer/virtual_type.pbtxt": 69,
    "deepmd/source/tests/infer/dipolecharge_e.pbtxt": 96,
    "deepmd/source/lmp/tests/lrmodel.pbtxt": 63,
    "deepmd/source/tests/infer/pairwise_dprc.pbtxt": 148,
    "tf/tensorflow/compiler/jit/tests/keras_imagenet_main.pbtxt": 42,
    "tfx/tfx/benchmarks/datasets/chicago_taxi/model/tft_tf2_saved_model": 45,
}


def first_picture(index: GraphIndex, width: int, height: int) -> tuple[VisibleGraph, Positions]:
    """The first drawing of a graph in a window."""
    aspect = aspect_of(level_of(width / height)) if width < height else ROOT_ASPECT
    opened, _ = first_drawing(index, ViewSpec(aspect=aspect), width, height, LayoutCache())
    shown = build_visible_graph(index, ViewSpec(opened, aspect=aspect))
    return shown, place(shown, aspect=aspect)


def assert_quality(
    index: GraphIndex, most_crossings: int, long_share: float, most_boxes: int = MOST_BOXES
) -> None:
    """Check the first drawing of a graph in each window."""
    for width, height in WINDOWS:
        shown, positions = first_picture(index, width, height)
        assert len(shown) <= most_boxes
        assert overlaps(shown, positions) == []
        assert outside(shown, positions) == []
        assert through(shown, positions) == []
        lines = lines_of(positions)
        # Lines that begin at one port are one tensor's, and branch.
        origin = shown.source.astype(np.int64) * 256 + shown.source_port
        assert crossings(lines, origin.tolist()) <= most_crossings
        assert (detours(lines) > LONG_WAY).mean() <= long_share


@pytest.mark.parametrize("name", REAL)
@pytest.mark.skipif(
    not FILES.is_dir(), reason="the files of public projects are not there: set TFGRAPHWIDGET_FILES"
)
def test_a_file_of_a_public_project_is_presentable_at_first(name: str) -> None:
    assert_quality(opened_file(FILES / name), *REAL[name], BOXES.get(name, MOST_BOXES))


@pytest.mark.parametrize("name", DEMO)
def test_a_model_of_the_demo_is_presentable_at_first(name: str) -> None:
    assert_quality(opened_file(MODELS / name), *DEMO[name])


def opened_file(path: Path) -> GraphIndex:
    """The index of a file."""
    import tfgraphwidget as tgw

    return tgw.edit(path)._core.index


def towers(count: int) -> GraphIndex:
    """Equal towers, whose inputs are pieces of one batch, and the sum of their losses."""
    ops = {"x": "Placeholder", "split": "Split x"}
    for tower in range(count):
        inside = f"tower_{tower}"
        ops |= {
            f"{inside}/conv/w": "VariableV2",
            f"{inside}/conv/Conv2D": f"Conv2D split:{tower} {inside}/conv/w",
            f"{inside}/conv/Relu": f"Relu {inside}/conv/Conv2D",
            f"{inside}/loss": f"L2Loss {inside}/conv/Relu",
        }
    losses = " ".join(f"tower_{tower}/loss" for tower in range(count))
    return graph_of({**ops, "total_loss": f"AddN {losses}"})


@pytest.mark.no_tensorflow
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_four_equal_towers_are_four_columns_at_one_height(width, height, is_open):
    names = [f"tower_{tower}" for tower in range(4)]
    opened = {*names, *(f"{name}/conv" for name in names)} if is_open else set()
    spec = ViewSpec(frozenset(opened), fold=False, aspect=aspect_of(level_of(width / height)))
    shown = build_visible_graph(towers(4), spec)
    box = place(shown, aspect=spec.aspect).box
    left, top, _, tall = box[[shown.names.index(name) for name in names]].T
    assert len(set(left.tolist())) == 4
    assert np.ptp(top) == 0
    assert np.ptp(tall) == 0
    split, total = box[shown.names.index("split")], box[shown.names.index("total_loss")]
    assert split[1] + split[3] < top[0]
    assert total[1] > top[0] + tall[0]


@pytest.mark.no_tensorflow
def test_a_chain_of_blocks_with_skips_crosses_only_where_it_is_wrapped():
    ops, last = {"x": "Placeholder"}, "x"
    for block in range(8):
        ops |= {
            f"weight_{block}": "ReadVariableOp",
            f"mul_{block}": f"MatMul {last} weight_{block}",
            f"relu_{block}": f"Relu mul_{block}",
            f"add_{block}": f"Add {last} relu_{block}",
        }
        last = f"add_{block}"
    # Up to three columns, and one crossing where a skip enters each.
    assert_quality(graph_of(ops), 3, 0.14)


@pytest.mark.no_tensorflow
@pytest.mark.parametrize("layers", [18, 30])
def test_no_line_of_a_wrapped_chain_with_skips_crosses_another(layers):
    ops, last = {"x": "Placeholder"}, "x"
    for layer in range(layers):
        ops |= {
            f"weight_{layer}": "ReadVariableOp",
            f"mul_{layer}": f"MatMul {last} weight_{layer}",
            f"bias_{layer}": "ReadVariableOp",
            f"sum_{layer}": f"BiasAdd mul_{layer} bias_{layer}",
            f"relu_{layer}": f"Relu sum_{layer}",
            f"skip_{layer}": f"Add {last} relu_{layer}",
            f"half_{layer}": f"Mul skip_{layer}",
            f"add_{layer}": f"AddV2 half_{layer} relu_{layer}",
        }
        last = f"add_{layer}"
    shown = build_visible_graph(graph_of(ops), ViewSpec(fold=False, badges=False))
    lines = lines_of(place(shown))
    assert crossings(lines, shown.source.tolist()) == 0
