"""A tiny network for the drawing, and the demo's real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.layout.checks import graph_of
from tfgraphwidget.graph.index import GraphIndex, build

MODELS = Path(__file__).parents[2] / "notebooks" / "models"


@pytest.fixture
def graph() -> Callable[[Mapping[str, str]], GraphIndex]:
    return graph_of


@pytest.fixture
def network() -> GraphIndex:
    """A placeholder, two layers with a variable each, a loss, a saver and an initialiser."""
    ops = {"x": "Placeholder"}
    before = "x"
    for layer in ("net/one", "net/two"):
        ops |= {
            f"{layer}/w/initial": "Const",
            f"{layer}/w": "VariableV2",
            f"{layer}/w/Assign": f"Assign {layer}/w {layer}/w/initial",
            f"{layer}/w/read": f"Identity {layer}/w",
            f"{layer}/MatMul": f"MatMul {before} {layer}/w/read",
            f"{layer}/Relu": f"Relu {layer}/MatMul",
        }
        before = f"{layer}/Relu"
    return graph_of(
        ops
        | {
            "loss": f"L2Loss {before}",
            "save/Const": "Const",
            "save/SaveV2": "SaveV2 save/Const net/one/w net/two/w",
            "init": "NoOp ^net/one/w/Assign ^net/two/w/Assign",
        }
    )


@pytest.fixture(scope="session")
def inception() -> GraphIndex:
    """The 3,379 ops of the demo's model."""
    from tensorflow.core.protobuf import meta_graph_pb2

    meta = meta_graph_pb2.MetaGraphDef()
    meta.ParseFromString((MODELS / "slim_inception_v3_infer.meta").read_bytes())
    return build(meta.graph_def.node)
