"""A SavedModel with a signature, to edit."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An mlp as TensorFlow 1 saved it: signature "predict" with input "x" and output "logits"."""
    from tests.conftest import build_mlp, initialised, v1  # imports TensorFlow

    folder = tmp_path_factory.mktemp("signed") / "mlp"
    graph = build_mlp(resource=False)
    builder = v1.saved_model.Builder(str(folder))
    with initialised(graph) as session, graph.as_default():
        ends = [graph.get_tensor_by_name(name) for name in ("x:0", "net/logits:0")]
        signature = v1.saved_model.predict_signature_def({"x": ends[0]}, {"logits": ends[1]})
        builder.add_meta_graph_and_variables(session, ["serve"], {"predict": signature})
    builder.save()
    return folder
