"""An edited SavedModel is still the model that it was: signatures, objects, names of values,
tables, files.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError

X = np.array([[-1.0, 2.0, -3.0, 4.0], [1.0, -2.0, 3.0, -4.0]], np.float32)
WORDS = np.array([b"b", b"a", b"?"], object)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def graph_of(folder: Path) -> Any:
    """The one MetaGraphDef of a SavedModel."""
    return saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    ).meta_graphs[0]


def functions(folder: Path) -> dict[str, bytes]:
    """The bytes of each function."""
    library = graph_of(folder).graph_def.library
    return {
        function.signature.name: function.SerializeToString(deterministic=True)
        for function in library.function
    }


def call(folder: Path, name: str, **feeds: Any) -> dict[str, np.ndarray]:
    """What a signature gives through `tf.saved_model.load`, after it gave the same in a session."""
    with v1.Session(graph=tf.Graph()) as session:
        reported = v1.saved_model.load(session, ["serve"], str(folder)).signature_def[name]
        fed = {reported.inputs[key].name: value for key, value in feeds.items()}
        in_session = session.run({key: info.name for key, info in reported.outputs.items()}, fed)
    loaded = tf.saved_model.load(str(folder))
    got = loaded.signatures[name](**{key: tf.constant(value) for key, value in feeds.items()})
    eager = {key: value.numpy() for key, value in got.items()}
    assert eager.keys() == in_session.keys()
    assert all(np.array_equal(eager[key], in_session[key]) for key in eager)
    return eager


def check_identity(old: Path, new: Path) -> None:
    """Signatures with their keys, saved objects, names and shapes of values, and asset files are
    those of the old.
    """
    was, now = graph_of(old), graph_of(new)
    assert now.signature_def.keys() == was.signature_def.keys()
    for name, signature in was.signature_def.items():
        assert now.signature_def[name].inputs.keys() == signature.inputs.keys()
        assert now.signature_def[name].outputs.keys() == signature.outputs.keys()
        assert now.signature_def[name].method_name == signature.method_name
    assert tf.train.list_variables(str(new / "variables/variables")) == tf.train.list_variables(
        str(old / "variables/variables")
    )
    tree = [
        [(child.local_name, child.node_id) for child in node.children]
        for node in was.object_graph_def.nodes
    ]
    assert [
        [(c.local_name, c.node_id) for c in node.children] for node in now.object_graph_def.nodes
    ] == tree
    variables = [
        node.variable
        for node in was.object_graph_def.nodes
        if node.WhichOneof("kind") == "variable"
    ]
    assert [
        n.variable for n in now.object_graph_def.nodes if n.WhichOneof("kind") == "variable"
    ] == variables
    assert now.asset_file_def == was.asset_file_def
    names = sorted(file.name for file in (old / "assets").glob("*"))
    assert sorted(file.name for file in (new / "assets").glob("*")) == names
    assert all(
        (new / "assets" / n).read_bytes() == (old / "assets" / n).read_bytes() for n in names
    )
    loaded, original = tf.saved_model.load(str(new)), tf.saved_model.load(str(old))
    assert list(loaded.signatures) == list(original.signatures)
    for name in original.signatures:
        assert (
            loaded.signatures[name].structured_input_signature
            == original.signatures[name].structured_input_signature
        )
        assert (
            loaded.signatures[name].structured_outputs.keys()
            == original.signatures[name].structured_outputs.keys()
        )


# The models


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Keras model as `model.export` writes it, with the signatures serve and serving_default."""
    keras.backend.clear_session()  # the tests name ops as Keras does in a new process
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Dense(8, activation="relu", name="d1"),
        keras.layers.BatchNormalization(name="bn"),
        keras.layers.Dense(3, name="d2"),
    ]
    folder = tmp_path_factory.mktemp("keras") / "exp"
    keras.Sequential([keras.Input((4,)), *layers]).export(str(folder), verbose=False)
    return folder


class Several(tf.Module):
    """Functions that share variables; `h` has no signature, and calls what `f` calls."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable([1.0, -2.0], name="v")
        self.w = tf.Variable(3.0, name="w", trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def f(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """A dict of one."""
        return {"y": tf.nn.relu(x * self.v) + self.w}

    @tf.function(
        input_signature=[tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([], tf.float32)]
    )
    def g(self, x: tf.Tensor, k: tf.Tensor) -> dict[str, tf.Tensor]:
        """A dict of two."""
        return {"z": x * k + self.w, "u": x}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32)])
    def h(self, x: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """A structure."""
        return x + self.w, [x * self.v]


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module of several functions, of which two are signatures."""
    folder, module = tmp_path_factory.mktemp("several") / "mod", Several()
    tf.saved_model.save(module, str(folder), signatures={"f": module.f, "g": module.g})
    return folder


class Hub(tf.Module):
    """Like a module of TensorFlow Hub: three signatures on one encoder, and a vocabulary from a
    file.
    """

    def __init__(self, words: Path) -> None:
        super().__init__()
        self.words = tf.saved_model.Asset(str(words))
        lines = tf.lookup.TextFileInitializer(
            self.words,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        self.table = tf.lookup.StaticHashTable(lines, 2)
        self.embeddings = tf.Variable(
            np.arange(12.0, dtype=np.float32).reshape(3, 4) - 6, name="embeddings"
        )
        self.head = tf.Variable(np.eye(4, dtype=np.float32) * 2, name="head")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def encode(self, words: tf.Tensor) -> tf.Tensor:
        """Embeddings of words."""
        return tf.nn.relu(tf.gather(self.embeddings, self.table.lookup(words)))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def tokenize(self, words: tf.Tensor) -> dict[str, tf.Tensor]:
        """Numbers of words."""
        return {"ids": self.table.lookup(words)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def default(self, words: tf.Tensor) -> dict[str, tf.Tensor]:
        """Embeddings, through the head."""
        return {"default": tf.tanh(self.encode(words) @ self.head)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def embed(self, words: tf.Tensor) -> dict[str, tf.Tensor]:
        """Embeddings."""
        return {"embedding": self.encode(words)}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SavedModel like one of TensorFlow Hub; the file of the vocabulary is only in its assets."""
    folder = tmp_path_factory.mktemp("hub")
    (folder / "words.txt").write_text("a\nb\n")
    module = Hub(folder / "words.txt")
    signatures = {"default": module.default, "embed": module.embed, "tokenize": module.tokenize}
    tf.saved_model.save(module, str(folder / "hub"), signatures=signatures)
    (folder / "words.txt").unlink()
    return folder / "hub"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Keras model of texts, with TextVectorization and StringLookup, exported."""
    keras.utils.set_random_seed(0)
    vectors = keras.layers.TextVectorization(output_sequence_length=3, vocabulary=["a", "b"])
    lookup = keras.layers.StringLookup(vocabulary=["x", "y"], output_mode="one_hot")
    words, kind = (
        keras.Input((1,), dtype="string", name="words"),
        keras.Input((1,), dtype="string", name="kind"),
    )
    hidden = keras.layers.Flatten()(keras.layers.Embedding(4, 2)(vectors(words)))
    joined = keras.layers.Concatenate()([hidden, lookup(kind)])
    outputs = keras.layers.Dense(2, activation="relu", name="out")(joined)
    folder = tmp_path_factory.mktemp("text") / "exp"
    keras.Model([words, kind], outputs).export(str(folder), verbose=False)
    return folder


@pytest.fixture(scope="module")
def tf1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SavedModel of TensorFlow 1: a table from an asset file, two signatures, one of them a
    classification.
    """
    folder = tmp_path_factory.mktemp("v1")
    (folder / "vocabulary.txt").write_text("a\nb\n")
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        words = v1.placeholder(tf.string, [None], name="words")
        path = tf.constant(str(folder / "vocabulary.txt"), name="path")
        graph.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, path)
        lines = tf.lookup.TextFileInitializer(
            path,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )
        table = tf.lookup.StaticHashTable(lines, 2)
        w = v1.get_variable(
            "w",
            initializer=np.arange(-3.0, 3.0, dtype=np.float32).reshape(3, 2),
            use_resource=False,
        )
        ids = tf.identity(table.lookup(words), name="ids")
        logits = tf.identity(tf.nn.relu(tf.gather(w, ids), name="relu"), name="logits")
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        build = v1.saved_model.build_signature_def
        info = v1.saved_model.build_tensor_info
        signatures = {
            "serving_default": build(
                {"words": info(words)}, {"logits": info(logits)}, "tensorflow/serving/predict"
            ),
            "classify": build(
                {"inputs": info(words)}, {"scores": info(logits)}, "tensorflow/serving/classify"
            ),
        }
        builder = v1.saved_model.Builder(str(folder / "sm"))
        assets = graph.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
        options = {"assets_collection": assets, "main_op": v1.tables_initializer()}
        builder.add_meta_graph_and_variables(session, ["serve"], signatures, **options)
        builder.save()
    (folder / "vocabulary.txt").unlink()
    return folder / "sm"


# Edits in a body


def test_a_bypass_in_a_keras_export_keeps_all_but_the_function_that_was_edited(
    exported: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(exported)
    editor.bypass(editor.find("type:Relu").ops[0])
    wanted = editor.to_function()(keras_tensor=X)
    editor.save(tmp_path / "new/")
    check_identity(exported, tmp_path / "new")
    got = call(tmp_path / "new", "serving_default", keras_tensor=X)["output_0"]
    assert np.allclose(got, np.asarray(wanted), atol=1e-6)
    assert not np.allclose(got, call(exported, "serving_default", keras_tensor=X)["output_0"])
    # Keras exports one function by two signatures and as an endpoint.
    assert np.array_equal(call(tmp_path / "new", "serve", keras_tensor=X)["output_0"], got)
    assert np.array_equal(tf.saved_model.load(str(tmp_path / "new")).serve(X), got)
    was, now = functions(exported), functions(tmp_path / "new")
    changed = [name for name in was if now[name] != was[name]]
    assert len(changed) == 1
    assert changed[0].startswith("__inference___call__")
    assert editor.source.notices == ()


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize(
    "levels", [None, 1, 0], ids=["where it was opened", "one level up", "the graph"]
)
@pytest.mark.sample(3)
def test_a_model_is_saved_as_a_whole_from_each_level_above_where_it_was_opened(
    exported: Path, tmp_path: Path, levels: int | None, edited: bool
) -> None:
    editor = tgw.edit(exported)
    assert len(editor.view.breadcrumb) == 3
    if edited:
        editor.bypass(editor.find("type:Relu").ops[0])
    wanted = np.asarray(editor.to_function()(keras_tensor=X))
    if levels is not None:
        editor.view.leave(levels)
    editor.save(tmp_path / "new/")
    assert editor.source.notices == ()
    check_identity(exported, tmp_path / "new")
    for name in ("serve", "serving_default"):
        assert np.allclose(
            call(tmp_path / "new", name, keras_tensor=X)["output_0"], wanted, atol=1e-6
        )
    assert np.allclose(tf.saved_model.load(str(tmp_path / "new")).serve(X), wanted, atol=1e-6)
    if not edited:
        model = (tmp_path / "new" / "saved_model.pb").read_bytes()
        assert model == (exported / "saved_model.pb").read_bytes()


def test_an_edit_of_one_of_two_calls_is_for_that_signature_alone(
    exported: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(exported)
    editor.view.leave(1)
    editor.view.enter("StatefulPartitionedCall")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.view.leave(0)
    editor.save(tmp_path / "new/")
    got = call(tmp_path / "new", "serving_default", keras_tensor=X)["output_0"]
    unedited = call(exported, "serve", keras_tensor=X)["output_0"]
    assert not np.allclose(got, unedited)
    assert np.array_equal(call(tmp_path / "new", "serve", keras_tensor=X)["output_0"], unedited)


def test_edits_of_a_function_that_two_signatures_call_are_undone_and_made_again(
    exported: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(exported)
    editor.bypass(editor.find("type:Relu").ops[0])
    edits = editor.history.records()
    code = editor.history.to_script().text
    assert "everywhere" not in code
    editor.undo()
    editor.save(tmp_path / "undone/")
    assert (tmp_path / "undone/saved_model.pb").read_bytes() == (
        exported / "saved_model.pb"
    ).read_bytes()
    editor.redo()
    again = tgw.edit(exported)
    again.history.replay(edits)
    archived = tgw.edit(bytes(editor))
    for number, each in enumerate((editor, again, archived)):
        each.view.leave(0)
        runs = [
            each.session.run(s.outputs[0][1], {s.inputs[0][1]: X}) for s in each.signatures.values()
        ]
        assert len(runs) == 2, number
        assert np.array_equal(*runs)
        assert not np.allclose(runs[0], call(exported, "serve", keras_tensor=X)["output_0"])


def test_two_signatures_of_one_function_and_a_third_that_is_another(tmp_path: Path) -> None:
    module = Several()
    signatures = {"one": module.f, "other": module.f, "third": module.g}
    tf.saved_model.save(module, str(tmp_path / "old"), signatures=signatures)
    editor = tgw.edit(tmp_path / "old", signature="one")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    x = np.array([[1.0, 1.0]], np.float32)
    for name in ("one", "other"):
        assert call(tmp_path / "new", name, x=x)["y"].tolist() == [[4.0, 1.0]]
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert loaded.f(x)["y"].numpy().tolist() == [[4.0, 1.0]]
    assert call(tmp_path / "new", "third", x=x, k=np.float32(2))["z"].tolist() == [[5.0, 5.0]]


def test_a_keras_layer_of_the_edited_export_gives_what_was_edited_and_trains(
    exported: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(exported)
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    layer = keras.layers.TFSMLayer(str(tmp_path / "new"), call_endpoint="serving_default")
    wanted = call(tmp_path / "new", "serving_default", keras_tensor=X)["output_0"]
    with tf.GradientTape() as tape:
        got = layer(X)["output_0"]
        loss = tf.reduce_sum(got)
    assert np.array_equal(got, wanted)
    gradients = tape.gradient(loss, layer.trainable_variables)
    assert len(gradients) == 6
    assert all(gradient is not None for gradient in gradients)


def test_what_calls_the_unedited_function_is_named_in_a_notice(
    exported: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(exported)
    editor.view.leave(1)
    editor.view.enter("StatefulPartitionedCall")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.view.leave(0)
    editor.save(tmp_path / "new/")
    (notice,) = editor.source.notices
    assert notice == (
        "'serve' of the saved object is unchanged, because a signature that was not edited calls "
        "it too; enter it by editor.view.enter(op, everywhere=True) to edit it for all calls."
    )


def test_the_function_of_an_object_follows_the_only_signature_that_calls_it(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="f")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    assert editor.source.notices == ()
    check_identity(several, tmp_path / "new")
    loaded, x = tf.saved_model.load(str(tmp_path / "new")), np.array([[1.0, 1.0]], np.float32)
    assert loaded.f(x)["y"].numpy().tolist() == [[4.0, 1.0]]
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [[4.0, 1.0]]
    assert call(tmp_path / "new", "g", x=x, k=np.float32(2))["z"].tolist() == [[5.0, 5.0]]
    assert loaded.g(x, 2.0)["u"].numpy().tolist() == [[1.0, 1.0]]
    structure = loaded.h(tf.constant([1.0, 1.0]))
    assert [structure[0].numpy().tolist(), structure[1][0].numpy().tolist()] == [
        [4.0, 4.0],
        [1.0, -2.0],
    ]
    assert [(v.name, v.trainable) for v in (loaded.v, loaded.w)] == [("v:0", True), ("w:0", False)]
    was, now = functions(several), functions(tmp_path / "new")
    assert len([name for name in was if now[name] != was[name]]) == 1
    assert now.keys() == was.keys()


def test_a_checkpoint_of_the_old_model_loads_into_the_edited_one(
    several: Path, tmp_path: Path
) -> None:
    module = Several()
    module.v.assign([10.0, -10.0])
    path = tf.train.Checkpoint(module).save(str(tmp_path / "trained"))
    editor = tgw.edit(several, signature="f")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    tf.train.Checkpoint(loaded).restore(path).assert_existing_objects_matched()
    assert loaded.f(np.ones([1, 2], np.float32))["y"].numpy().tolist() == [[13.0, -7.0]]
    assert loaded.signatures["f"](x=tf.ones([1, 2]))["y"].numpy().tolist() == [[13.0, -7.0]]


def test_an_edit_in_one_of_three_signatures_of_a_hub_module(hub: Path, tmp_path: Path) -> None:
    editor = tgw.edit(hub, signature="default")
    editor.bypass(editor.find("type:Tanh").ops[0])
    editor.save(tmp_path / "new/")
    assert editor.source.notices == ()
    check_identity(hub, tmp_path / "new")
    for name in ("embed", "tokenize"):
        got, wanted = call(tmp_path / "new", name, words=WORDS), call(hub, name, words=WORDS)
        assert all(np.array_equal(got[key], wanted[key]) for key in wanted)
    assert call(tmp_path / "new", "default", words=WORDS)["default"].max() > 1
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert loaded.default(tf.constant(["b"]))["default"].numpy().max() > 1
    was, now = functions(hub), functions(tmp_path / "new")
    assert now.keys() == was.keys()
    assert [name.rpartition("_")[0] for name in was if now[name] != was[name]] == [
        "__inference_default"
    ]


def test_tables_and_vocabularies_of_a_keras_text_model(text: Path, tmp_path: Path) -> None:
    editor = tgw.edit(text)
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    check_identity(text, tmp_path / "new")
    feeds = {
        "words": np.array([[b"a b"], [b"c"]], object),
        "kind": np.array([[b"x"], [b"y"]], object),
    }
    was, now = (
        call(folder, "serving_default", **feeds)["output_0"] for folder in (text, tmp_path / "new")
    )
    assert np.allclose(np.maximum(now, 0), was, atol=1e-6)
    assert (now < 0).any()


def test_a_model_that_was_saved_can_be_edited_and_saved_again(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="f")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "first/")
    again = tgw.edit(tmp_path / "first", signature="f")
    again.insert(again.find("type:Mul").ops[0], tf.abs)
    again.save(tmp_path / "second/")
    check_identity(several, tmp_path / "second")
    assert functions(tmp_path / "second").keys() == functions(several).keys()
    loaded = tf.saved_model.load(str(tmp_path / "second"))
    assert loaded.f(np.ones([1, 2], np.float32))["y"].numpy().tolist() == [[4.0, 5.0]]


# Edits at the root


def test_an_insert_at_the_root_is_in_the_signature_that_both_loaders_call(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="g")
    editor.view.leave(0)
    (output,) = (
        tensor for key, tensor in tuple(editor.signatures.values())[1].outputs if key == "z"
    )
    editor.insert(output, tf.negative)
    editor.save(tmp_path / "new/")
    check_identity(several, tmp_path / "new")
    x = np.array([[1.0, 1.0]], np.float32)
    got = call(tmp_path / "new", "g", x=x, k=np.float32(2))
    assert got["z"].tolist() == [[-5.0, -5.0]]
    assert got["u"].tolist() == [[1.0, 1.0]]
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert loaded.g(x, 2.0)["z"].numpy().tolist() == [[5.0, 5.0]]  # not a caller
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [[4.0, 3.0]]
    again = tgw.edit(tmp_path / "new", signature="g")
    again.view.leave(0)
    again.insert(dict(tuple(again.signatures.values())[1].outputs)["u"], tf.negative)
    again.save(tmp_path / "second/")
    got = call(tmp_path / "second", "g", x=x, k=np.float32(2))
    assert (got["z"].tolist(), got["u"].tolist()) == ([[-5.0, -5.0]], [[-1.0, -1.0]])


def test_a_table_is_read_by_the_new_function_of_a_signature(hub: Path, tmp_path: Path) -> None:
    editor = tgw.edit(hub, signature="tokenize")
    editor.view.leave(0)
    signature = next(each for each in tuple(editor.signatures.values()) if each.name == "tokenize")
    editor.insert(signature.outputs[0][1], tf.negative)
    editor.save(tmp_path / "new/")
    check_identity(hub, tmp_path / "new")
    assert call(tmp_path / "new", "tokenize", words=WORDS)["ids"].tolist() == [-1, 0, -2]
    assert call(tmp_path / "new", "embed", words=WORDS)["embedding"].shape == (3, 4)


def test_values_that_were_changed_in_the_session_are_saved_under_their_old_names(
    exported: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(exported)
    editor.view.leave(0)
    session = editor.session
    bias = next(name for name in editor._core.index.names if name == "sequential/d2/bias_1")
    placeholder = np.array([7.0, 8.0, 9.0], np.float32)
    with editor.graph.as_default():
        assign = tf.raw_ops.AssignVariableOp(
            resource=editor.graph.get_tensor_by_name(f"{bias}:0"), value=tf.constant(placeholder)
        )
    session.run(assign)
    editor.save(tmp_path / "new/")
    check_identity(exported, tmp_path / "new")
    before, after = (
        call(f, "serve", keras_tensor=X)["output_0"] for f in (exported, tmp_path / "new")
    )
    assert np.allclose(after - before, placeholder, atol=1e-5)
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert any(np.array_equal(variable, placeholder) for variable in loaded.variables)


def test_an_edit_of_a_tensorflow_1_saved_model_keeps_methods_tables_and_files(
    tf1: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(tf1)
    editor.bypass("relu")
    editor.save(tmp_path / "new/")
    check_identity(tf1, tmp_path / "new")
    assert call(tmp_path / "new", "classify", inputs=WORDS)["scores"].tolist() == [
        [-1, 0],
        [-3, -2],
        [1, 2],
    ]
    was, now = graph_of(tf1), graph_of(tmp_path / "new")
    assert now.saver_def == was.saver_def
    assert now.collection_def.keys() == was.collection_def.keys()
    names = {node.name: node for node in was.graph_def.node}
    assert [node.name for node in now.graph_def.node if node != names.get(node.name)] == ["logits"]
    (tf1.parent / "sm").rename(tf1.parent / "elsewhere")
    try:
        assert call(tmp_path / "new", "serving_default", words=WORDS)["logits"].shape == (3, 2)
    finally:
        (tf1.parent / "elsewhere").rename(tf1)


def test_edits_in_a_body_and_at_the_root_are_in_one_file(several: Path, tmp_path: Path) -> None:
    editor = tgw.edit(several, signature="f")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.view.leave(0)
    editor.insert(next(iter(editor.signatures.values())).outputs[0][1], tf.negative)
    editor.save(tmp_path / "new/")
    check_identity(several, tmp_path / "new")
    x = np.array([[1.0, 1.0]], np.float32)
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [[-4.0, -1.0]]
    assert call(tmp_path / "new", "g", x=x, k=np.float32(2))["z"].tolist() == [[5.0, 5.0]]
    layer = keras.layers.TFSMLayer(str(tmp_path / "new"), call_endpoint="g")
    assert len(layer.weights) == 1
    again = tgw.edit(tmp_path / "new", signature="f")
    again.view.leave(0)
    again.insert(next(iter(again.signatures.values())).outputs[0][1], tf.abs)
    again.save(tmp_path / "second/")
    assert call(tmp_path / "second", "f", x=x)["y"].tolist() == [[4.0, 1.0]]


def test_a_sparse_input_of_tensorflow_1_is_still_one(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.sparse_placeholder(tf.float32, [None, 2], name="x")
        w = v1.get_variable("w", initializer=[[1.0], [-2.0]], use_resource=True)
        y = tf.identity(tf.abs(tf.sparse.sparse_dense_matmul(x, w), name="abs"), name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "sm"), {"x": x}, {"y": y})
    editor = tgw.edit(tmp_path / "sm")
    editor.bypass("abs")
    editor.save(tmp_path / "edited/")
    was, now = (
        graph_of(tmp_path / name).signature_def["serving_default"] for name in ("sm", "edited")
    )
    assert now.inputs["x"].coo_sparse == was.inputs["x"].coo_sparse
    editor.freeze()
    editor.save(tmp_path / "frozen/")
    inputs = graph_of(tmp_path / "frozen").signature_def["serving_default"].inputs
    assert [(key, inputs[key].WhichOneof("encoding")) for key in inputs] == [("x", "coo_sparse")]


def test_a_graph_with_other_tags_keeps_them(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        x = v1.placeholder(tf.float32, [2], name="x")
        y = tf.identity(tf.abs(x * v1.get_variable("w", initializer=-2.0), name="abs"), name="y")
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(tmp_path / "sm"))
        signature = v1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(
            session, ["serve", "gpu"], {"serving_default": signature}
        )
        builder.add_meta_graph(["train"])
        builder.save()
    editor = tgw.edit(tmp_path / "sm", tags=["serve", "gpu"])
    editor.bypass("abs")
    editor.save(tmp_path / "new/")
    assert list(graph_of(tmp_path / "new").meta_info_def.tags) == ["serve", "gpu"]
    loaded = tf.saved_model.load(str(tmp_path / "new"), tags=["serve", "gpu"])
    assert loaded.signatures["serving_default"](x=tf.ones(2))["y"][0] == -2


def test_a_ragged_input_of_a_function_is_still_one(tmp_path: Path) -> None:
    class Ragged(tf.Module):
        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
        def total(self, x: tf.RaggedTensor) -> dict[str, tf.Tensor]:
            return {"total": tf.nn.relu(tf.reduce_sum(x, axis=1)) * 2.0}

    module = Ragged()
    tf.saved_model.save(module, str(tmp_path / "sm"), signatures={"total": module.total})
    editor = tgw.edit(tmp_path / "sm")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    given = tf.ragged.constant([[-1.0, -2.0], [3.0]])
    assert loaded.total(given)["total"].numpy().tolist() == [-6.0, 6.0]
    assert (
        graph_of(tmp_path / "new").signature_def["total"]
        == graph_of(tmp_path / "sm").signature_def["total"]
    )


def test_a_loop_of_tensorflow_1_that_is_removed_leaves_no_context(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.disable_control_flow_v2()
        try:
            x = v1.placeholder(tf.float32, [], name="x")
            w = v1.get_variable("w", initializer=2.0)
            looped = v1.while_loop(
                lambda i, _: i < 3, lambda i, a: (i + 1, a * w), (0, x), name="loop"
            )[1]
        finally:
            v1.enable_control_flow_v2()
        y = tf.identity(tf.abs(looped, name="abs"), name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "sm"), {"x": x}, {"y": y})
    assert "while_context" in graph_of(tmp_path / "sm").collection_def
    editor = tgw.edit(tmp_path / "sm")
    editor.bypass("abs")
    editor.save(tmp_path / "kept/")
    assert call(tmp_path / "kept", "serving_default", x=np.float32(-1))["y"] == -8
    editor.connect("x:0", "y", 0)
    editor.passes.strip_training()
    editor.save(tmp_path / "new/")
    assert call(tmp_path / "new", "serving_default", x=np.float32(-1))["y"] == -1


# Edits that take signatures away, or their variables


def test_strip_at_the_root_keeps_every_signature(exported: Path, hub: Path, tmp_path: Path) -> None:
    for folder in (exported, hub):
        editor = tgw.edit(folder, signature="default" if folder is hub else None)
        editor.view.leave(0)
        names = [signature.name for signature in tuple(editor.signatures.values())]
        assert "signature" not in " ".join(editor.passes.strip_training().notes)
        assert [signature.name for signature in tuple(editor.signatures.values())] == names
        editor.save(tmp_path / folder.name)
        assert editor.source.notices == ()
        check_identity(folder, tmp_path / folder.name)
    assert np.array_equal(
        call(tmp_path / "exp", "serve", keras_tensor=X)["output_0"],
        call(exported, "serve", keras_tensor=X)["output_0"],
    )
    for name in ("default", "embed", "tokenize"):
        got, wanted = call(tmp_path / "hub", name, words=WORDS), call(hub, name, words=WORDS)
        assert all(np.array_equal(got[key], wanted[key]) for key in wanted)


def test_strip_for_one_signature_says_that_the_others_are_not_kept(
    hub: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(hub, signature="embed")
    editor.view.leave(0)
    (output,) = (
        tensor
        for _, tensor in next(
            s for s in tuple(editor.signatures.values()) if s.name == "embed"
        ).outputs
    )
    report = editor.passes.strip_training(output)
    (note,) = report.notes
    assert (
        note == "Signatures that lost inputs or outputs are in no file that is saved from here: "
        "'default' and 'tokenize'."
    )
    editor.save(tmp_path / "new/")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert list(loaded.signatures) == ["embed"]
    assert list(graph_of(tmp_path / "new").signature_def) in (
        ["embed", "__saved_model_init_op"],
        ["__saved_model_init_op", "embed"],
    )
    assert np.array_equal(
        call(tmp_path / "new", "embed", words=WORDS)["embedding"],
        call(hub, "embed", words=WORDS)["embedding"],
    )
    # An object's function, as it was.
    assert loaded.tokenize(tf.constant(["b"]))["ids"].numpy().tolist() == [1]
    editor.undo()
    assert len(tuple(editor.signatures.values())) == 3


def test_freeze_at_the_root_keeps_every_signature_and_the_objects(
    exported: Path, several: Path, hub: Path, tmp_path: Path
) -> None:
    x = np.array([[1.0, 1.0]], np.float32)
    feeds = {
        exported: {"serve": {"keras_tensor": X}, "serving_default": {"keras_tensor": X}},
        several: {"f": {"x": x}, "g": {"x": x, "k": np.float32(2)}},
        hub: {name: {"words": WORDS} for name in ("default", "embed", "tokenize")},
    }
    for folder, signatures in feeds.items():
        editor = tgw.edit(folder, signature=next(iter(signatures)))
        editor.view.leave(0)
        editor.freeze()
        new = tmp_path / folder.name
        editor.save(new)
        check_identity(folder, new)
        assert not any("not the objects" in notice for notice in editor.source.notices)
        for name, given in signatures.items():
            got, wanted = call(new, name, **given), call(folder, name, **given)
            assert all(np.allclose(got[key], wanted[key], atol=1e-6) for key in wanted)
            assert not tf.saved_model.load(str(new)).signatures[name].variables
        again = tgw.edit(new, signature=next(iter(signatures)))
        again.view.leave(0)
        assert [signature.name for signature in tuple(again.signatures.values())] == list(
            signatures
        )
        again.passes.strip_training()
        again.save(tmp_path / f"{folder.name}_again")
        check_identity(folder, tmp_path / f"{folder.name}_again")
    loaded = tf.saved_model.load(str(tmp_path / several.name))
    assert loaded.h(tf.constant([1.0, 1.0]))[1][0].numpy().tolist() == [1.0, -2.0]
    assert loaded.f(x)["y"].numpy().tolist() == [[4.0, 3.0]]


def test_a_frozen_model_has_the_values_of_the_session_in_its_constants_and_in_its_objects(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="f")
    editor.view.leave(0)
    variable = next(
        op for op in editor.find("type:VarHandleOp").ops if op in editor.find("is:trainable")
    )
    with editor.graph.as_default():
        editor.session.run(tf.raw_ops.AssignVariableOp(
            resource=editor.graph.get_tensor_by_name(f"{variable}:0"), value=[5.0, 6.0]
        ))  # fmt: skip
    editor.freeze()
    editor.save(tmp_path / "new/")
    x = np.array([[1.0, 1.0]], np.float32)
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [[8.0, 9.0]]
    assert tf.saved_model.load(str(tmp_path / "new")).v.numpy().tolist() == [5.0, 6.0]


def test_the_object_of_a_removed_variable_has_its_value_of_the_session_at_any_op_number(
    tmp_path: Path,
) -> None:
    module = tf.Module()
    module.v, module.w = tf.Variable([1.0, -2.0], name="v"), tf.Variable(3.0, name="w")
    spec = tf.TensorSpec([None, 2], tf.float32, "x")
    signatures = {
        "f": tf.function(lambda x: {"y": x * module.v}, input_signature=[spec]),
        "g": tf.function(lambda x: {"z": x + module.w}, input_signature=[spec]),
    }
    tf.saved_model.save(module, str(tmp_path / "old"), signatures=signatures)
    editor = tgw.edit(tmp_path / "old", signature="f")
    editor.view.leave(0)
    assert editor.find("*").ops[0] == "w"
    with editor.graph.as_default():
        editor.session.run(tf.raw_ops.AssignVariableOp(
            resource=editor.graph.get_tensor_by_name("w:0"), value=9.0
        ))  # fmt: skip
    call_of_f = dict(editor.signatures["f"].outputs)["y"].split(":")[0]
    editor.remove([name for name in editor.find("*").ops if name not in {"v", "f_x", call_of_f}])
    assert editor.find("*").ops[0] == "v"  # where w was
    editor.save(tmp_path / "new/")
    assert tf.saved_model.load(str(tmp_path / "new")).w.numpy() == 9.0


def test_freeze_for_one_signature_keeps_the_objects_and_says_which_signature_is_gone(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="f")
    editor.view.leave(0)
    (output,) = (
        tensor
        for _, tensor in next(s for s in tuple(editor.signatures.values()) if s.name == "f").outputs
    )
    report = editor.freeze(output)
    assert report.notes == (
        "Signatures that lost inputs or outputs are in no file that is saved from here: 'g'.",
    )
    editor.save(tmp_path / "new/")
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert list(loaded.signatures) == ["f"]
    assert (loaded.v.numpy().tolist(), loaded.w.numpy()) == ([1.0, -2.0], 3.0)
    x = np.array([[1.0, 1.0]], np.float32)
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [[4.0, 3.0]]
    assert loaded.g(x, 2.0)["z"].numpy().tolist() == [[5.0, 5.0]]


def test_freeze_of_a_tensorflow_1_saved_model_keeps_both_signatures(
    tf1: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(tf1)
    editor.freeze()
    assert [signature.name for signature in tuple(editor.signatures.values())] == [
        "classify",
        "serving_default",
    ]
    editor.save(tmp_path / "new/")
    assert call(tmp_path / "new", "classify", inputs=WORDS)["scores"].tolist() == [
        [0, 0],
        [0, 0],
        [1, 2],
    ]
    assert (
        graph_of(tmp_path / "new").signature_def["classify"].method_name
        == "tensorflow/serving/classify"
    )


def test_a_renamed_key_is_the_argument_of_both_loaders(several: Path, tmp_path: Path) -> None:
    editor = tgw.edit(several, signature="g")
    editor.view.leave(0)
    editor.rename("g:x", "zebra")
    editor.rename("g:u", "again")
    editor.save(tmp_path / "new/")
    x = np.array([[1.0, 1.0]], np.float32)
    got = call(tmp_path / "new", "g", zebra=x, k=np.float32(2))
    assert {key: value.tolist() for key, value in got.items()} == {
        "z": [[5.0, 5.0]],
        "again": [[1.0, 1.0]],
    }


def test_an_edit_that_changes_the_shape_of_an_output(several: Path, tmp_path: Path) -> None:
    editor = tgw.edit(several, signature="f")
    editor.insert(editor.find("type:AddV2").ops[0], lambda y: tf.reduce_sum(y, axis=1))
    editor.save(tmp_path / "new/")
    x = np.ones([3, 2], np.float32)
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [7.0, 7.0, 7.0]
    loaded = tf.saved_model.load(str(tmp_path / "new"))
    assert loaded.f(x)["y"].numpy().tolist() == [7.0, 7.0, 7.0]
    assert loaded.signatures["f"].structured_outputs["y"].shape.as_list() == [None]
    assert loaded.f.concrete_functions[0].structured_outputs["y"].shape.as_list() == [None]
    assert graph_of(tmp_path / "new").signature_def["f"].outputs["y"].tensor_shape.dim[0].size == -1
    assert len(graph_of(tmp_path / "new").signature_def["f"].outputs["y"].tensor_shape.dim) == 1


def test_a_clone_with_new_variables_is_saved_with_all_signatures(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="f")
    editor.view.leave(0)
    signature = next(iter(editor.signatures.values()))
    editor.clone([signature.inputs[0][1]], [signature.outputs[0][1]], into="copy")
    editor.save(tmp_path / "new/")
    x = np.array([[1.0, 1.0]], np.float32)
    assert call(tmp_path / "new", "f", x=x)["y"].tolist() == [[4.0, 3.0]]
    assert call(tmp_path / "new", "g", x=x, k=np.float32(2))["z"].tolist() == [[5.0, 5.0]]


# Differences


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_difference_of_one_bypass_is_one_bypass_at_every_depth(
    exported: Path, tmp_path: Path, depth: int
) -> None:
    editor = tgw.edit(exported)
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    new, old = tgw.edit(tmp_path / "new"), tgw.edit(exported)
    new.view.leave(depth)
    old.view.leave(depth)
    found = new.diff(old)
    assert len(found) == 1
    here = [
        *found.changed,
        *(change for inside in found.inside for change in inside.difference.changed),
    ]
    assert [detail.what for change in here for detail in change.details] == ["input 0"]
    assert not found.added
    assert not found.removed
    below = len(editor.view.breadcrumb) - depth - 1
    assert [len(inside.path) for inside in found.inside] == ([below] if below else [])


def test_a_difference_inside_a_function_is_printed_and_listed_with_the_ops_that_lead_there(
    several: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(several, signature="f")
    editor.bypass(editor.find("type:Relu").ops[0])
    editor.save(tmp_path / "new/")
    new, old = tgw.edit(tmp_path / "new", signature="f"), tgw.edit(several, signature="f")
    new.view.leave(0)
    old.view.leave(0)
    found = new.diff(old)
    call = next(iter(new.signatures.values())).outputs[0][1].partition(":")[0]
    assert repr(found).splitlines()[1:] == [
        f"in {call} / StatefulPartitionedCall:", "1 op changed", "    add: input 0 Relu:0 → mul:0"
    ]  # fmt: skip
    assert found.rows() == [
        {
            "change": "changed",
            "op": f"{call} / StatefulPartitionedCall / add",
            "was": "add",
            "what": "input 0",
            "before": "Relu:0",
            "after": "mul:0",
        }
    ]
    new.view.difference = found
    assert new.draw() is not None


# Bad input


def test_a_model_with_an_op_that_tensorflow_does_not_know_is_edited_and_saved_without_a_run(
    several: Path, tmp_path: Path
) -> None:
    shutil.copytree(several, tmp_path / "custom")
    model = saved_model_pb2.SavedModel.FromString((several / "saved_model.pb").read_bytes())
    for function in model.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "Relu":
                node.op = "NobodysRelu"
    (tmp_path / "custom" / "saved_model.pb").write_bytes(model.SerializeToString())
    editor = tgw.edit(tmp_path / "custom", signature="g")
    assert "NobodysRelu" in editor.source.notices[0]
    editor.bypass(editor.find("type:Mul").ops[0], by="x:0")
    editor.save(tmp_path / "new/")
    assert "NobodysRelu" in editor.source.notices[-1]
    assert "was not run" in editor.source.notices[-1]
    was, now = functions(tmp_path / "custom"), functions(tmp_path / "new")
    assert [name.rpartition("_")[0] for name in was if now[name] != was[name]] == ["__inference_g"]


def test_an_edit_of_a_body_that_reads_an_unknown_op_is_refused_in_one_sentence(
    several: Path, tmp_path: Path
) -> None:
    shutil.copytree(several, tmp_path / "custom")
    model = saved_model_pb2.SavedModel.FromString((several / "saved_model.pb").read_bytes())
    for function in model.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            if node.op == "Relu":
                node.op = "NobodysRelu"
    (tmp_path / "custom" / "saved_model.pb").write_bytes(model.SerializeToString())
    editor = tgw.edit(tmp_path / "custom", signature="f")

    def rename_and_save() -> None:
        editor.rename("mul", "other")
        editor.save(tmp_path / "new/")

    with pytest.raises(GraphEditError, match="'Relu'") as refused:
        rename_and_save()
    assert str(refused.value).count(". ") == 0
    assert not (tmp_path / "new").exists()


def test_a_folder_without_its_variables_is_refused_in_one_sentence(
    several: Path, tmp_path: Path
) -> None:
    shutil.copytree(several, tmp_path / "broken")
    (tmp_path / "broken/variables/variables.index").unlink()
    editor = tgw.edit(tmp_path / "broken", signature="f")
    editor.bypass(editor.find("type:Relu").ops[0])
    with pytest.raises(GraphEditError):
        editor.save(tmp_path / "new/")
    assert not (tmp_path / "new").exists()
