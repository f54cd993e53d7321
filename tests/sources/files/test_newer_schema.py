"""Files of a newer schema: fields and values of enumerations that we do not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.sources import has_unknown_fields, tf_protos

TEXT = b"from the future"
UNKNOWN = b"\xfa\xf0\x04" + bytes([len(TEXT)]) + TEXT  # field 9999
NEW_DTYPE: Any = 177


def graph_def(*, newer: bool = True) -> Any:
    """The graph x -> y; `newer` has a field and a dtype that are unknown to the schema."""
    graph = tf_protos.GraphDef()
    x, y = (
        graph.node.add(name="x", op="Placeholder"),
        graph.node.add(name="y", op="Identity", input=["x"]),
    )
    x.attr["dtype"].type = y.attr["T"].type = 1
    if newer:
        y.MergeFromString(UNKNOWN)
        y.attr["future"].type = NEW_DTYPE
        graph.MergeFromString(UNKNOWN)
    return graph


def saved_model(folder: Path) -> Path:
    """The graph in a SavedModel."""
    model = tf_protos.SavedModel(saved_model_schema_version=1)
    meta = model.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    meta.graph_def.CopyFrom(graph_def())
    (folder / "saved_model.pb").write_bytes(model.SerializeToString() + UNKNOWN)
    return folder


def pb(folder: Path) -> Path:
    path = folder / "graph.pb"
    path.write_bytes(graph_def().SerializeToString())
    return path


@pytest.mark.parametrize("make", [pb, saved_model])
@pytest.mark.parametrize("suffix", [".pb", ".meta"])
def test_unknown_fields_and_values_survive_an_edit(make: Any, suffix: str, tmp_path: Path) -> None:
    editor = tgw.edit(make(tmp_path))
    assert editor.view.scene()
    assert "future" in repr(editor.inspect("y"))
    editor.rename("y", "renamed")
    saved = editor.save(tmp_path / f"edited{suffix}")
    assert saved.read_bytes().count(TEXT) == 2
    renamed = next(node for node in tgw.edit(saved)._core.index.nodes if node.name == "renamed")
    assert renamed.attr["future"].type == NEW_DTYPE
    assert has_unknown_fields(renamed)


@pytest.mark.parametrize("suffix", [".meta", ".tgw"])
def test_unknown_fields_of_a_meta_graph_and_its_signatures_survive_an_edit(
    suffix: str, tmp_path: Path
) -> None:
    meta = tf_protos.MetaGraphDef(graph_def=graph_def())
    signature = meta.signature_def["serving_default"]
    signature.inputs["x"].name, signature.outputs["y"].name = "x:0", "y:0"
    for message in (
        meta,
        meta.meta_info_def,
        signature,
        signature.inputs["x"],
        signature.outputs["y"],
    ):
        message.MergeFromString(UNKNOWN)
    path = tmp_path / "graph.meta"
    path.write_bytes(meta.SerializeToString())
    editor = tgw.edit(path)
    editor.rename("y", "renamed")
    saved = tgw.edit(editor.save(tmp_path / f"edited{suffix}")).save(tmp_path / "again.meta")
    assert saved.read_bytes().count(TEXT) == path.read_bytes().count(TEXT) == 7


def test_text_that_would_lose_unknown_fields_is_refused(tmp_path: Path) -> None:
    editor = tgw.edit(pb(tmp_path))
    with pytest.raises(
        GraphEditError,
        match=r"'graph.pbtxt' would lose fields of a newer TensorFlow .* save a '.pb'\.$",
    ):
        editor.save(tmp_path / "graph.pbtxt")
    assert not (tmp_path / "graph.pbtxt").exists()


def test_a_field_of_a_text_that_is_unknown_is_left_out_with_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    path.write_text(
        str(graph_def(newer=False)).replace('op: "Identity"', 'op: "Identity" future_field: 3')
    )
    editor = tgw.edit(path)
    assert editor._core.index.names == ["x", "y"]
    assert "such as 'future_field'; they are left out" in editor.source.notices[0]


def test_a_value_of_a_text_that_is_unknown_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    path.write_text(str(graph_def(newer=False)).replace("DT_FLOAT", "DT_FUTURE"))
    with pytest.raises(GraphEditError, match="has no value named DT_FUTURE"):
        tgw.edit(path)
