"""Small graphs of the kinds whose drawings have been the worst, and files of public projects."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tensorflow.core.framework import graph_pb2

from tests.hierarchy.test_weights import hub

FILES = Path(os.environ.get("TFGRAPHWIDGET_FILES", Path(__file__).parents[3] / "shared" / "files"))
"""Files of public projects, where they are there."""

_DEEPMD = "deepmd/source/tests/infer"
_KWS = "kws/Pretrained_models"
_MLNET = "mlnet/samples/csharp/end-to-end-apps/DeepLearning_ImageClassification_TF"
_KERAS = "tfnet/test/TensorFlowNET.Keras.UnitTest/Assets"
WORST = (
    f"{_DEEPMD}/deeppot.pbtxt",
    f"{_DEEPMD}/deepspin.pbtxt",
    f"{_DEEPMD}/deeppolar.pbtxt",
    "tfnet/graph/lstm_crf_ner.meta",
    "tfnet/graph/rcnn_untrained.meta",
    "tfnet/graph/vd_cnn.meta",
    "tfnet/graph/char_cnn_untrained.meta",
    "tfnet/graph/word_cnn.meta",
    "tfnet/graph/word2vec.meta",
    "tfnet/graph/kmeans.meta",
    f"{_KWS}/CRNN/CRNN_M.pb",
    f"{_KWS}/GRU/GRU_M.pb",
    f"{_KWS}/LSTM/LSTM_M.pb",
    "mlctiny/benchmark/training/keyword_spotting/trained_models/kws_ref_model",
    "basic-pitch/basic_pitch/saved_models/icassp_2022/nmp",
    "mtcnn/mtcnn.pb",
    "haskell/tensorflow-mnist/data/MNIST.pb",
    "tfx/tfx/components/testdata/trainer/current/Format-Serving/model.ckpt-1000.meta",
    f"{_MLNET}/TFImageClassification/ML/TensorFlowModel/model.pb",
    f"{_KERAS}/lstm_from_sequential",
)


def graph_def(ops: Mapping[str, str]) -> graph_pb2.GraphDef:
    """The graph of {name: "Type input input ^control"}."""
    graph = graph_pb2.GraphDef()
    for name, text in ops.items():
        op_type, *inputs = text.split()
        graph.node.add(name=name, op=op_type, input=inputs)
    return graph


def slices() -> dict[str, str]:
    """As in DeePMD: many slices of one input, each with three constants, and products of them."""
    ops = {"t_natoms": "Placeholder", "t_coord": "Placeholder"}
    for k in range(24):
        name = f"strided_slice_{k}"
        constants = [f"{name}/stack", f"{name}/stack_1", f"{name}/stack_2"]
        ops |= dict.fromkeys([*constants, f"mul_{k}/y"], "Const")
        ops[name] = f"StridedSlice t_natoms {' '.join(constants)}"
        ops[f"mul_{k}"] = f"Mul {name} mul_{k}/y"
        ops[f"Reshape_{k}"] = f"Reshape t_coord mul_{k}"
        ops[f"o_{k}"] = f"{('Sum', 'Mean', 'Max')[k % 3]} Reshape_{k} mul_{k // 2}"
    return ops


def bundles() -> dict[str, str]:
    """As in an attention RNN: bundles of lines side by side, from many boxes into one."""
    types = ("Relu", "Tanh", "Exp", "Abs", "Sqrt", "Neg", "Sign")
    ops, before = {"x": "Placeholder"}, "x"
    for cell in range(6):
        for k in range(14):
            name = f"cell_{cell}/op_{k}"
            ops[name] = f"{types[(cell * k + k // 7) % 7]} {before}"
            before = name
    for cell in range(6):
        ends = f"cell_{cell}/op_13 cell_{cell}/op_12"
        ops[f"gradients/cell_{cell}_grad/mul"] = f"Mul {ends}"
        ops[f"attention_{cell}"] = f"{('Mul', 'Sub')[cell % 2]} {ends}"
    return ops | {"out": "AddN " + " ".join(f"attention_{cell}" for cell in range(6))}


def batch_norms() -> dict[str, str]:
    """As Keras writes it: convolutions and batch norms in turn, with names as long as paths."""
    ops, before = {"input_1": "Placeholder"}, "input_1"
    for k in range(9):
        norm = f"functional_1/batch_normalization_{k}"
        values = [f"{norm}/{part}" for part in ("gamma", "beta", "mean", "variance")]
        ops |= dict.fromkeys([f"functional_1/conv2d_{k}/kernel", *values], "Const")
        conv = f"functional_1/conv2d_{k}/Conv2D"
        ops[conv] = f"Conv2D {before} functional_1/conv2d_{k}/kernel"
        ops[f"{norm}/FusedBatchNormV3"] = f"FusedBatchNormV3 {conv} {' '.join(values)}"
        before = f"functional_1/activation_{k}/Relu"
        ops[before] = f"{('Relu', 'Relu6', 'Elu')[k % 3]} {norm}/FusedBatchNormV3"
    return ops | {"Identity": f"Identity {before}"}


MADE: Mapping[str, Callable[[], dict[str, str]]] = {
    "hub": hub,
    "slices": slices,
    "bundles": bundles,
    "batch_norms": batch_norms,
}
