"""What the page offers for a model that others converted: to look at it, and no edits."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

import tfgraphwidget as tgw
from tfgraphwidget.errors import NotRunnable
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler
from tfgraphwidget.widget.save_formats import list_save_formats


@pytest.fixture
def handler(tmp_path: Path) -> RequestHandler:
    """That of an ONNX model of one operator."""
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    node = helper.make_node("Neg", ["x"], ["y"], name="minus")
    model = helper.make_model(helper.make_graph([node], "main", ends[:1], ends[1:]))
    onnx.save(model, tmp_path / "model.onnx")
    return RequestHandler(tgw.edit(tmp_path / "model.onnx"))


def test_it_says_why_it_is_not_edited_and_offers_no_edit(handler: RequestHandler) -> None:
    reply, _ = handler.handle(p.Refresh())
    assert isinstance(reply, p.SceneReply)
    assert reply.state.fixed == (
        "File 'model.onnx' is an ONNX model, which TensorFlow does not run; edit the model that it "
        "was converted from, and convert it again."
    )
    facts, _ = handler.handle(p.DescribeModel())
    assert isinstance(facts, p.ModelReply)
    assert [(row.name, row.edit) for row in facts.signatures] == [("serving_default", None)]
    with pytest.raises(NotRunnable, match="edit the model that it was converted from"):
        handler.handle(p.Change("remove", ("minus",)))


def test_it_is_saved_as_a_picture_and_not_as_another_model(handler: RequestHandler) -> None:
    formats = list_save_formats(handler._editor)
    assert all("is an ONNX model" in one.refused for one in formats if one.group == "Model")
    assert {"page", "svg"} <= {one.kind for one in formats if not one.refused}


def test_other_graphs_say_nothing_of_it() -> None:
    reply, _ = RequestHandler(tgw.example()).handle(p.Refresh())
    assert isinstance(reply, p.SceneReply)
    assert reply.state.fixed == ""
