"""SavedModel directories: graphs, signatures, and the way to the real body."""

from __future__ import annotations

import shutil
from pathlib import Path

import keras
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from tests.conftest import v1
from tests.sources.conftest import Affine, facts, index_of
from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.graph.function_refs import called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.sources import Body, Source, open_function, open_source


def real_body(source: Source) -> tuple[Body, GraphIndex]:
    """Where the work of the chosen signature is done."""
    body, index = source.body, index_of(source.body)
    for name in source.entrance:
        op = index.op(name)
        (called,) = called_functions(index.nodes[op], body.functions())
        body = open_function(called.function, body, index, op)
        index = index_of(body)
    return body, index


def handles(index: GraphIndex) -> set[str]:
    return {index.names[i] for i, kind in enumerate(index.types) if kind == "VarHandleOp"}


def test_a_tensorflow_2_saved_model_opens_on_its_default_signature(tf2_saved_model: Path) -> None:
    source = open_source(tf2_saved_model)
    assert [s.name for s in source.signatures] == ["other", "serving_default"]
    assert source.signature is not None
    assert source.signature.name == "serving_default"
    assert source.signature.inputs == (("x", "serving_default_x:0"),)
    assert [key for key, _ in source.signature.outputs] == ["found", "y"]
    assert source.notices == ()
    assert open_source(str(tf2_saved_model), signature="other").signature.name == "other"  # type: ignore[union-attr]


def test_an_unknown_signature_proposes_the_nearest(tf2_saved_model: Path) -> None:
    with pytest.raises(
        UnknownName, match=r"it has 'other', 'serving_default'; did you mean 'serving_default'\?"
    ):
        open_source(tf2_saved_model, signature="serving")


def test_the_entrance_leads_to_the_real_body_with_variables_and_tables_by_name(
    tf2_saved_model: Path,
) -> None:
    source = open_source(tf2_saved_model)
    assert len(source.entrance) == 2
    body, index = real_body(source)
    assert handles(index) == {"net/w", "net/b"}
    assert {v.handle: v.trainable for v in index.variable_defs} == {"net/w": True, "net/b": False}
    assert "HashTableV2" in index.types
    assert [name for name in index.names if name.endswith(("resource", "handle"))] == []
    assert body.arguments[0] == "x:0"
    assert {index.types[i] for i in range(len(index))} >= {"MatMul", "If", "While"}
    assert index.shape(index.op("matmul"), 0) == (None, 3)


def test_captures_are_shown_by_name_to_any_depth(tf2_saved_model: Path) -> None:
    body, index = real_body(open_source(tf2_saved_model))
    seen = set()
    for op in range(len(index)):
        for called in called_functions(index.nodes[op], body.functions()):
            inner = index_of(open_function(called.function, body, index, op))
            seen |= {(called.label, name) for name in handles(inner)}
            assert facts(inner)
    assert {("then_branch", "net/w"), ("else_branch", "net/b"), ("body", "net/b")} <= seen


def test_a_keras_export_shows_the_models_variables(tmp_path: Path) -> None:
    model = keras.Sequential(
        [keras.Input([3]), keras.layers.Dense(4), keras.layers.BatchNormalization()], name="net"
    )
    model.export(tmp_path / "exported", verbose=False)
    source = open_source(tmp_path / "exported")
    body, index = real_body(source)
    assert handles(index) == {v.path for v in model.variables}
    assert {v.handle: v.trainable for v in index.variable_defs} == {
        v.path: v.trainable for v in model.variables
    }
    assert all(tensor.endswith(":0") for tensor in body.returns.values())


def test_a_tensorflow_1_saved_model_opens_its_serving_graph(tf1_saved_model: Path) -> None:
    source = open_source(tf1_saved_model)
    assert source.signature is not None
    assert source.signature.outputs == (("logits", "net/logits:0"),)
    assert source.entrance == ()
    assert [v.handle for v in source.body.collections()[1]] == [
        "net/one/w",
        "net/one/b",
        "net/two/w",
        "net/two/b",
    ]
    assert open_source(tf1_saved_model, tags="train").signature is None
    assert open_source(tf1_saved_model, tags=["serve"]).signature == source.signature
    with pytest.raises(
        UnknownName,
        match=r"no graph with tags \['gpu'\]; give tags=\['serve'\] or tags=\['train'\]",
    ):
        open_source(tf1_saved_model, tags="gpu")


def without_serve(folder: Path) -> saved_model_pb2.SavedModel:
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    saved.meta_graphs[0].meta_info_def.tags[:] = ["gpu"]
    return saved


def test_of_several_graphs_and_none_to_serve_one_must_be_chosen(tf1_saved_model: Path) -> None:
    with pytest.raises(
        GraphEditError, match=r"several graphs.* give tags=\['gpu'\] or tags=\['train'\]"
    ):
        open_source(without_serve(tf1_saved_model))


def test_of_several_signatures_and_no_default_the_graph_is_opened_with_all(
    tf1_saved_model: Path,
) -> None:
    saved = without_serve(tf1_saved_model)
    del saved.meta_graphs[1]
    saved.meta_graphs[0].signature_def["b"].CopyFrom(saved.meta_graphs[0].signature_def["predict"])
    source = open_source(saved)
    assert source.signature is None
    assert [signature.name for signature in source.signatures] == ["b", "predict"]
    assert open_source(saved, signature="b").signature.name == "b"  # type: ignore[union-attr]


def test_the_file_in_the_folder_and_its_text_form_open_too(
    tf2_saved_model: Path, tmp_path: Path
) -> None:
    whole = open_source(tf2_saved_model / "saved_model.pb")
    assert whole.signature is not None
    copied = tmp_path / "text"
    shutil.copytree(tf2_saved_model, copied)
    saved = saved_model_pb2.SavedModel.FromString((copied / "saved_model.pb").read_bytes())
    (copied / "saved_model.pb").unlink()
    (copied / "saved_model.pbtxt").write_text(text_format.MessageToString(saved))
    for given in (copied, copied / "saved_model.pbtxt"):
        assert [n.name for n in open_source(given).body.nodes()] == [
            n.name for n in whole.body.nodes()
        ]


def test_a_directory_that_is_no_saved_model_says_what_is_in_it(
    tmp_path: Path, checkpoint: Path
) -> None:
    with pytest.raises(
        NotAGraph, match=r"is not a SavedModel: it has no saved_model\.pb; give the one"
    ):
        open_source(tmp_path)
    with pytest.raises(NotAGraph, match=r"did you mean '.*m\.ckpt\.meta'\?"):
        open_source(checkpoint.parent)


def test_a_signature_with_sparse_and_ragged_inputs_lists_their_tensors(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        sparse = v1.sparse_placeholder(tf.float32, [None, 3], name="s")
        dense = tf.sparse.to_dense(sparse, name="dense")
        ends = [v1.saved_model.build_tensor_info(t) for t in (sparse, dense)]
        signature = v1.saved_model.build_signature_def({"s": ends[0]}, {"d": ends[1]}, "predict")
        builder = v1.saved_model.Builder(str(tmp_path / "sparse"))
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
        builder.save()
    opened = open_source(tmp_path / "sparse").signature
    assert opened is not None
    assert [key for key, _ in opened.inputs] == ["s/values", "s/indices", "s/dense_shape"]


def test_a_signature_that_names_a_missing_tensor_is_left_out(tf1_saved_model: Path) -> None:
    saved = saved_model_pb2.SavedModel.FromString((tf1_saved_model / "saved_model.pb").read_bytes())
    saved.meta_graphs[0].signature_def["predict"].inputs["x"].name = "gone:0"
    source = open_source(saved)
    assert source.signatures == ()
    (notice,) = source.notices
    assert notice.startswith(
        "Signature 'predict' names 'gone:0', which the graph does not have, so it is left out; lint"
    )


def test_a_restored_function_opens(tf2_saved_model: Path, affine: Affine) -> None:
    restored = tf.saved_model.load(str(tf2_saved_model))
    assert handles(index_of(open_source(restored.signatures["other"]).body)) == {"net/w", "net/b"}
    source = open_source(restored.__call__)
    assert handles(index_of(source.body)) == {"net/w", "net/b"}
