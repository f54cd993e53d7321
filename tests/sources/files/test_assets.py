"""Vocabulary files of SavedModels: found where the model lies now, by copies of tables and by other
graphs too.
"""

from __future__ import annotations

import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import initialised, v1
from tfgraphwidget.editor import GraphEditor

TEXTS = np.array([b"b", b"?"], object)


def lookup(words: Path) -> tf.lookup.StaticHashTable:
    """A table that is filled from a file."""
    line = tf.lookup.TextFileIndex
    initial = tf.lookup.TextFileInitializer(
        str(words), tf.string, line.WHOLE_LINE, tf.int64, line.LINE_NUMBER
    )
    return tf.lookup.StaticHashTable(initial, -1)


class Words(tf.Module):
    """A TensorFlow 2 module that looks words up."""

    def __init__(self, words: Path) -> None:
        super().__init__()
        self.table = lookup(words)
        self.scale = tf.Variable(np.int64(10))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """The line of each word, times ten."""
        return self.table.lookup(x) * self.scale


@pytest.fixture(params=["TensorFlow 1", "TensorFlow 2"])
def moved(request: pytest.FixtureRequest, tmp_path: Path) -> GraphEditor:
    """A SavedModel that lies elsewhere than it was made, its first vocabulary gone."""
    (tmp_path / "words").write_text("a\nb\n")
    if request.param == "TensorFlow 2":
        tf.saved_model.save(Words(tmp_path / "words"), str(tmp_path / "made"))
    else:
        graph = tf.Graph()
        with graph.as_default():
            x = v1.placeholder(tf.string, [None], name="serving_default_x")
            scale = v1.get_variable("scale", initializer=np.int64(10), use_resource=True)
            ends = (
                {"x": x},
                {"y": tf.multiply(lookup(tmp_path / "words").lookup(x), scale, name="y")},
            )
            assets = graph.get_collection(v1.GraphKeys.ASSET_FILEPATHS)
        with initialised(graph) as session, graph.as_default():
            builder = v1.saved_model.Builder(str(tmp_path / "made"))
            signature = {"serving_default": v1.saved_model.predict_signature_def(*ends)}
            fill = tf.group(graph.get_collection(v1.GraphKeys.TABLE_INITIALIZERS))
            builder.add_meta_graph_and_variables(
                session, ["serve"], signature, assets_collection=assets, main_op=fill
            )
            builder.save()
    (tmp_path / "words").unlink()
    (tmp_path / "made").rename(tmp_path / "moved")
    editor = tgw.edit(tmp_path / "moved")
    editor.view.leave(0)
    return editor


def ends(editor: GraphEditor) -> tuple[str, str]:
    """Input and output of the one signature."""
    (signature,) = tuple(editor.signatures.values())
    return signature.inputs[0][1], signature.outputs[0][1]


def test_a_copy_of_a_table_is_filled_from_the_model_s_own_file(moved: GraphEditor) -> None:
    x, y = ends(moved)
    copy = moved.clone(x, y)
    assert not copy.report.shared
    assert moved.session.run(copy[y], {x: TEXTS}).tolist() == [10, -10]
    moved.session.close()


def test_a_model_with_a_vocabulary_is_added_to_another_graph(
    moved: GraphEditor, line: tf.Graph, tmp_path: Path
) -> None:
    x, y = ends(moved)
    with v1.Session(graph=line) as session:
        added = tgw.edit(line, session=session).add(tmp_path / "moved", "words")
        assert session.run(added[y], {f"words/{x}": TEXTS}).tolist() == [10, -10]


@pytest.mark.parametrize("name", ["out.meta", "out.pb", "out.pbtxt"])
def test_a_file_that_names_a_vocabulary_where_it_lies_says_so(
    moved: GraphEditor, tmp_path: Path, name: str
) -> None:
    words = str(tmp_path / "moved" / "assets" / "words")
    said = (
        f"names '{words}', from which tables are filled; leave it there, or save a SavedModel, "
        "which takes it along."
    )
    with pytest.warns(UserWarning, match=f"'{name}' {said}"):
        moved.save(tmp_path / name, verify=False)


def test_a_frozen_graph_says_what_fills_its_table_from_which_file(
    moved: GraphEditor, tmp_path: Path
) -> None:
    x, y = ends(moved)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moved.save(tmp_path / "frozen.pb", x, y, frozen=True)
    reported = " ".join(str(warning.message) for warning in caught)
    assert (
        f"'frozen.pb' names '{tmp_path / 'moved' / 'assets' / 'words'}', from which tables are "
        "filled;" in reported
    )
    (fill,) = re.findall(
        "keeps hash table 'hash_table', which is not a variable; run '(.*)' once after importing",
        reported,
    )
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(v1.GraphDef.FromString((tmp_path / "frozen.pb").read_bytes()), name="")
        session.run(graph.get_operation_by_name(fill))
        assert session.run(y, {x: TEXTS}).tolist() == [10, -10]


def test_a_saved_model_and_an_archive_take_the_vocabulary_along(
    moved: GraphEditor, tmp_path: Path
) -> None:
    x, y = ends(moved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moved.save(tmp_path / "out", x, y, verify=False)
        moved.save(tmp_path / "out.tgw")
    assert (tmp_path / "out" / "assets" / "words").read_text() == "a\nb\n"
    shutil.rmtree(tmp_path / "moved")
    reopened = tgw.edit(tmp_path / "out.tgw")
    assert reopened.session.run(y, {x: TEXTS}).tolist() == [10, -10]
    reopened.session.close()


@pytest.mark.parametrize("file", ["", "in.pb", "in.meta"], ids=["live", "pb", "meta"])
def test_whatever_the_graph_was_opened_from_a_file_that_names_its_vocabulary_says_so(
    tmp_path: Path, file: str
) -> None:
    words = tmp_path / "words"
    words.write_text("a\nb\n")
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.string, [None], name="x")
        tf.identity(lookup(words).lookup(x), name="y")
    editor = tgw.edit(graph)
    said = (
        f"names '{words}', from which tables are filled; leave it there, or save a SavedModel, "
        "which takes it along."
    )
    if file:
        with pytest.warns(UserWarning, match=said):
            editor.save(tmp_path / file, "x", "y", verify=False)
        editor = tgw.edit(tmp_path / file)
    for name in ("out.pb", "out.pbtxt", "out.meta"):
        with pytest.warns(UserWarning, match=f"'{name}' {said}"):
            editor.save(tmp_path / name, "x", "y", verify=False)
    with (
        pytest.warns(
            UserWarning,
            match="run 'text_file_init/InitializeTableFromTextFileV2' once after importing it",
        ),
        pytest.warns(UserWarning, match=f"'frozen.pb' {said}"),
    ):
        editor.save(tmp_path / "frozen.pb", "x", "y", frozen=True, verify=False)


@pytest.mark.parametrize("kind", ["live", "session", "pb"])
def test_an_archive_of_a_table_that_was_never_filled_says_from_which_file_it_is(
    tmp_path: Path, kind: str
) -> None:
    words = tmp_path / "words"
    words.write_text("a\nb\n")
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.string, [None], name="x")
        tf.identity(lookup(words).lookup(x), name="y")
    session = v1.Session(graph=graph)
    source = graph.as_graph_def() if kind == "pb" else graph
    editor = tgw.edit(source, session=session) if kind == "session" else tgw.edit(source)
    said = (
        f"The editor names '{words}', from which tables are filled that hold nothing yet; leave it "
        "there"
    )
    with pytest.warns(UserWarning, match=said):
        editor.save(tmp_path / "editor.tgw")
    assert said in tgw.edit(tmp_path / "editor.tgw").source.notices[-1]
    assert said in tgw.edit(bytes(editor)).source.notices[-1]
    if kind == "session":
        session.run("text_file_init/InitializeTableFromTextFileV2")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            editor.save(tmp_path / "editor.tgw")
        words.unlink()
        assert tgw.edit(tmp_path / "editor.tgw").session.run("y:0", {"x:0": TEXTS}).tolist() == [
            1,
            -1,
        ]


def test_what_names_no_file_stays_as_it_is(tf2_saved_model: Path) -> None:
    index = tgw.edit(tf2_saved_model)._core.target.index
    assert "asset_filepaths" not in index.collections
    assert len(index.collections["table_initializer"]) == 1


class Paths(tf.Module):
    """A module that uses the path of its vocabulary, which TensorFlow saves in a variable then, and
    weights without a name, "Variable" like that.
    """

    def __init__(self, words: Path) -> None:
        super().__init__()
        self.words = tf.saved_model.Asset(str(words))
        line = tf.lookup.TextFileIndex
        initial = tf.lookup.TextFileInitializer(
            self.words, tf.string, line.WHOLE_LINE, tf.int64, line.LINE_NUMBER
        )
        self.table = tf.lookup.StaticHashTable(initial, 0)
        self.weights = tf.Variable(np.arange(4, dtype=np.float32).reshape(2, 2))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """The weights of each word, and the length of the file."""
        length = tf.strings.length(tf.io.read_file(self.words.asset_path))
        return {"row": tf.gather(self.weights, self.table.lookup(x)), "length": length}


@pytest.fixture
def paths(tmp_path: Path) -> Path:
    """The folder of a SavedModel of Paths."""
    (tmp_path / "words").write_text("a\nb\n")
    module = Paths(tmp_path / "words")
    tf.saved_model.save(module, str(tmp_path / "made"), signatures=module.__call__)
    return tmp_path / "made"


def test_the_path_of_a_vocabulary_is_not_taken_for_a_variable_of_that_name(
    paths: Path, tmp_path: Path
) -> None:
    editor = tgw.edit(paths, trusted=True)
    assert editor.to_function()(tf.constant(TEXTS))[1].numpy().tolist() == [[2, 3], [0, 1]]
    length, row = editor.outputs
    editor.insert(row, tf.negative)
    assert editor.session.run(row, {editor.inputs[0]: TEXTS}).tolist() == [[2, 3], [0, 1]]
    copy = editor.clone(editor.inputs, [row, length], into="copy")
    assert editor.session.run(copy[length], {editor.inputs[0]: TEXTS}) == 4
    editor.mark()
    editor.save(tmp_path / "out")
    loaded = tf.saved_model.load(tmp_path / "out").signatures["serving_default"]
    assert loaded(tf.constant(TEXTS))["row"].numpy().tolist() == [[-2, -3], [0, -1]]


@pytest.mark.filterwarnings("ignore:'__call__' of the saved object is unchanged")
@pytest.mark.parametrize("inline", [False, True])
def test_a_frozen_model_has_the_path_of_its_vocabulary_in_a_variable_still(
    paths: Path, tmp_path: Path, *, inline: bool
) -> None:
    editor = tgw.edit(paths, trusted=True)
    notes = editor.freeze(inline=inline).notes
    assert notes[0] == "'Variable' stays a variable: what fills a table uses it."
    editor.save(tmp_path / "out")
    shutil.rmtree(paths)
    loaded = tf.saved_model.load(tmp_path / "out").signatures["serving_default"]
    results = loaded(tf.constant(TEXTS))
    assert results["row"].numpy().tolist() == [[2, 3], [0, 1]]
    assert results["length"].numpy() == 4
