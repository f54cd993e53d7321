"""editor.inspect: what the inspector shows, as data and as a table."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import UnknownName


def test_an_op_of_a_live_graph_is_described_with_its_value_documentation_and_origin() -> None:
    editor = tgw.example()
    found = editor.inspect("net/hidden/w")
    value = editor.session.run("net/hidden/w/Read/ReadVariableOp:0")
    assert (found.op_type, found.variables, found.device) == ("VarHandleOp", 1, "")
    assert found.value is not None
    assert np.array_equal(found.value.value, value)
    assert found.documentation.summary == "Creates a handle to a Variable resource."
    assert any(Path(__file__).name in line for line in found.origin)
    rows = {(row["section"], row["name"]): row["text"] for row in found.rows()}
    assert rows["attribute", "shape"] == "(4, 8)"
    assert rows["value", "dtype"] == "float32"
    assert float(rows["value", "maximum"]) == pytest.approx(value.max(), rel=1e-3)
    assert list(found.table().columns) == ["section", "name", "text"]
    assert len(found.table()) == len(found.rows())
    assert "VarHandleOp" in repr(found)
    assert found._repr_html_().count("<tr>") == len(found.rows())


def test_tensors_say_their_dtype_shape_and_the_ops_at_their_other_end() -> None:
    found = tgw.example().inspect("net/logits:0")
    assert found.name == "net/logits"
    first, _ = found.inputs
    assert (first.name, first.dtype, first.shape, first.peers) == (
        "net/hidden/Relu:0", "float32", "(None, 8)", ("net/hidden/Relu",),
    )  # fmt: skip
    assert found.value is None
    assert found.why_no_value == ""


def test_a_scope_has_a_boundary_and_counts() -> None:
    found = tgw.example().inspect("net")
    assert (found.op_type, found.variables) == ("", 3)
    assert found.ops > 10
    assert [tensor.name for tensor in found.inputs] == ["x:0"]
    assert found.documentation.summary == ""
    assert tgw.example().inspect("/").ops == 74


def test_only_variables_that_a_collection_lists_can_be_trained() -> None:
    with tf.Graph().as_default() as graph:
        for name, collections in (("listed", None), ("bare", ())):
            v1.get_variable(
                f"{name}/w", [2], use_resource=True, trainable=False, collections=collections
            )
    editor = tgw.edit(graph)
    found = [editor.inspect(name) for name in ("listed", "listed/w", "bare", "bare/w", "/")]
    assert [(each.variables, each.trainable) for each in found] == [
        (1, 1),
        (1, 1),
        (1, 0),
        (1, 0),
        (2, 1),
    ]


def test_a_variable_without_a_value_says_why() -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("w", [2], use_resource=True)
        session = v1.Session()
    found = tgw.edit(graph, session=session).inspect("w")
    assert found.value is None
    assert "run its initializer first" in found.why_no_value
    assert found.why_no_value in repr(found)
    session.close()


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'net'"):
        tgw.example().inspect("ned")


def test_a_keras_model_its_export_and_its_body_are_described(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="out")])
    kernel = next(name for name in tgw.edit(model)._core.index.names if name.endswith("out/kernel"))
    live = tgw.edit(model).inspect(kernel)
    assert live.value is not None
    assert np.array_equal(live.value.value, model.get_weights()[0])
    model.export(str(tmp_path / "exported"), verbose=False)
    editor = tgw.edit(tmp_path / "exported")
    saved = editor.inspect(
        next(name for name in editor._core.index.names if name.endswith("out/kernel"))
    )
    assert saved.value is not None
    assert np.array_equal(saved.value.value, model.get_weights()[0])
    editor.view.leave(0)
    call = next(name for name in editor._core.index.names if editor.view.called_functions(name))
    assert editor.inspect(call).functions
    assert any(row["section"] == "signature" for row in editor.inspect(call).rows())


def test_an_op_that_was_edited_is_described_as_it_is_now() -> None:
    editor = tgw.example()
    editor.rename("net/w", "weights")
    assert editor.inspect("weights").name == "weights"
    assert editor.inspect("weights").value is not None
