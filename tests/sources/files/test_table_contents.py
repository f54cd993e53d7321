"""Hash tables of a file hold in the editor's session what their initializers, or a checkpoint, put
into them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw

# Notices of `save`.
pytestmark = pytest.mark.filterwarnings("ignore:.*(from which tables|keeps hash|Collection)")
v1 = tf.compat.v1
WORDS = ["apple", "banana", "cherry"]
Y = ["prices:0", "places:0", "counts:0"]
FILLED: list[Any] = [[20.0, 40.0, -2.0], [0, 1, -1], [5.0, -1.0, -1.0]]


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    path = tmp_path / "vocabulary.txt"
    path.write_text("apple\nbanana\n")
    return path


@pytest.fixture
def session(vocabulary: Path) -> Iterator[Any]:
    """A session with a table that is filled from tensors, one from a file, and one that can be
    written to.
    """
    tables, from_file = tf.lookup, tf.lookup.TextFileIndex
    with tf.Graph().as_default() as graph:
        words = v1.placeholder(tf.string, [None], name="words")
        prices = tables.KeyValueTensorInitializer(tf.constant(WORDS[:2]), tf.constant([10.0, 20.0]))
        places = tables.TextFileInitializer(
            str(vocabulary), tf.string, from_file.WHOLE_LINE, tf.int64, from_file.LINE_NUMBER
        )
        counts = tables.experimental.MutableHashTable(tf.string, tf.float32, -1.0, name="counted")
        fill = counts.insert(tf.constant(WORDS[:1]), tf.constant([5.0]), name="count")
        factor = v1.get_variable("factor", initializer=2.0, use_resource=True)
        tf.multiply(tables.StaticHashTable(prices, -1.0).lookup(words), factor, name="prices")
        tf.identity(tables.StaticHashTable(places, -1).lookup(words), name="places")
        tf.identity(counts.lookup(words), name="counts")
        with v1.Session(graph=graph) as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            session.run(fill)
            yield session


def run(editor: Any, outputs: list[str]) -> list[Any]:
    return [value.tolist() for value in editor.session.run(outputs, {"words:0": WORDS})]


def notices_of_tables(editor: Any) -> list[str]:
    return [notice for notice in editor.source.notices if "table" in notice]


def test_tables_of_a_meta_graph_are_filled_and_one_that_nothing_fills_is_reported(
    session: Any, tmp_path: Path
) -> None:
    tgw.edit(session.graph, session=session).save(tmp_path / "m.meta")
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    (notice,) = notices_of_tables(editor)
    assert notice.startswith("Hash table 'counted' is empty in the editor's session")
    insert = next(name for name in editor._core.index.names if name.endswith("LookupTableInsertV2"))
    assert repr(insert) in notice
    assert run(editor, Y) == [*FILLED[:2], [-1.0] * 3]
    editor.session.run(insert)
    assert run(editor, Y) == FILLED


def test_a_saver_that_restores_a_table_leaves_nothing_to_report(
    session: Any, tmp_path: Path
) -> None:
    with session.graph.as_default():
        v1.train.Saver().save(session, str(tmp_path / "saved"))
    editor = tgw.edit(tmp_path / "saved.meta", checkpoint=tmp_path / "saved")
    assert notices_of_tables(editor) == []
    assert run(editor, Y) == FILLED


@pytest.mark.parametrize("name", ["frozen.pb", "frozen.pbtxt"])
def test_tables_of_a_frozen_graph_are_filled(name: str, session: Any, tmp_path: Path) -> None:
    tgw.edit(session.graph, session=session).save(tmp_path / name, outputs=Y, frozen=True)
    editor = tgw.edit(tmp_path / name)
    assert notices_of_tables(editor) == []
    assert run(editor, Y) == FILLED


def test_tables_are_filled_in_the_editor_of_a_file_that_was_edited_and_written_before_it_ran(
    session: Any, tmp_path: Path
) -> None:
    tgw.edit(session.graph, session=session).save(tmp_path / "m.meta")
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    editor.rename("places", "lines")
    editor.save(tmp_path / "e.tgw")
    outputs = [Y[0], "lines:0"]
    assert run(tgw.edit(tmp_path / "e.tgw"), outputs) == FILLED[:2]
    assert run(editor, outputs) == FILLED[:2]


def test_an_archive_has_what_tables_held_whatever_has_become_of_the_file(
    session: Any, tmp_path: Path, vocabulary: Path
) -> None:
    tgw.edit(session.graph, session=session).save(tmp_path / "e.tgw")
    vocabulary.write_text("cherry\n")
    assert run(tgw.edit(tmp_path / "e.tgw"), Y) == FILLED


@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_that_is_not_there_and_one_that_cannot_be_read_are_reported(
    is_there: bool, session: Any, tmp_path: Path, vocabulary: Path
) -> None:
    tgw.edit(session.graph, session=session).save(tmp_path / "m.pb", outputs=Y[1], frozen=True)
    other = tmp_path / "other.txt"
    other.write_text(vocabulary.read_text())
    vocabulary.unlink()
    if is_there:
        vocabulary.write_text("apple\napple\n")  # one key twice
    editor = tgw.edit(tmp_path / "m.pb")
    with pytest.raises(tf.errors.FailedPreconditionError):
        run(editor, [Y[1]])
    (notice,) = notices_of_tables(editor)
    assert (
        "cannot fill its hash table" if is_there else f"{str(vocabulary)!r}, which is not there"
    ) in notice
    for calculate in (editor.probe, editor.measure):
        with pytest.raises(tgw.GraphEditError) as refusal:
            calculate(Y[1], {"words:0": WORDS})
        assert notice in str(refusal.value)
    call = notice[notice.index("editor.session.run(") :].rstrip(".").partition(" when")[0]
    if is_there:
        vocabulary.write_text(other.read_text())
    eval(call, {"editor": editor, "path": str(other)})  # what the notice says
    assert run(editor, [Y[1]]) == FILLED[1:2]


@pytest.mark.parametrize("name", ["m.pb", "m.meta", "m.tgw", "message"])
def test_a_file_that_is_not_next_to_the_graph_is_opened_when_the_user_says_so(
    name: str, session: Any, tmp_path: Path, vocabulary: Path
) -> None:
    """A table is saved with what it holds, and a graph of others may name any file."""
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / name.replace("message", "m.pb")
    with warnings.catch_warnings(action="ignore"):
        editor = (
            tgw.edit(session.graph.as_graph_def())
            if name == "m.tgw"
            else tgw.edit(session.graph, session=session)
        )
        editor.save(
            path,
            outputs=None if name == "m.tgw" else Y[1],
            frozen=name.endswith("pb") or name == "message",
        )
    other = tgw.edit(v1.GraphDef.FromString(path.read_bytes()) if name == "message" else path)
    notice = next(notice for notice in notices_of_tables(other) if str(vocabulary) in notice)
    assert (
        "which is not beside the graph, so it is empty in the editor's session; if you trust the "
        "graph" in notice
    )
    with pytest.raises(tgw.GraphEditError, match="is not trusted"):
        eval(notice[notice.index("editor.session.run(") :].rstrip("."), {"editor": other})
    other.source.trusted = True
    with pytest.raises(tf.errors.FailedPreconditionError):
        run(other, [Y[1]])
    # What the notice says.
    eval(notice[notice.index("editor.session.run(") :].rstrip("."), {"editor": other})
    assert run(other, [Y[1]]) == FILLED[1:2]


def _reads_a_file(folder: Path) -> Any:
    return tf.reshape(tf.io.read_file(str(folder / "secret.txt")), [1])


def _writes_a_file(folder: Path) -> Any:
    with tf.control_dependencies([tf.io.write_file(str(folder / "out.txt"), "x")]):
        return tf.identity(["v"])


def _calls_a_function(folder: Path) -> Any:
    @tf.function
    def read() -> tf.Tensor:
        tf.io.write_file(str(folder / "out.txt"), "x")
        return tf.constant(["v"])

    return read.get_concrete_function()()


def _lists_files(folder: Path) -> Any:
    return tf.io.matching_files(str(folder / "*.txt"))


def _waits_for_a_queue(folder: Path) -> Any:
    return tf.reshape(v1.FIFOQueue(1, tf.string, [[]]).dequeue(), [1])


def _waits_for_another_table(folder: Path) -> Any:
    handle = tf.raw_ops.HashTableV2(
        key_dtype=tf.string, value_dtype=tf.string, shared_name="secret"
    )
    path = str(folder / "secret.txt")
    with tf.control_dependencies(
        [
            tf.raw_ops.InitializeTableFromTextFileV2(
                table_handle=handle, filename=path, key_index=-2, value_index=-2
            )
        ]
    ):
        return tf.identity(["v"])


@pytest.mark.parametrize(
    "values",
    [
        _reads_a_file,
        _writes_a_file,
        _calls_a_function,
        _lists_files,
        _waits_for_a_queue,
        _waits_for_another_table,
    ],
)
def test_the_initializer_of_a_table_makes_nothing_run_that_reads_files_writes_them_or_waits(
    values: Any, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    with tf.Graph().as_default() as graph:
        handle = tf.raw_ops.HashTableV2(
            key_dtype=tf.string, value_dtype=tf.string, shared_name="table"
        )
        filled = values(tmp_path)
        tf.raw_ops.InitializeTableV2(
            table_handle=handle, keys=tf.fill(tf.shape(filled), "k"), values=filled, name="init"
        )
        tf.raw_ops.LookupTableSizeV2(table_handle=handle, name="size")
    (tmp_path / "elsewhere" / "m.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "elsewhere" / "m.pb")
    if (
        values is _lists_files
    ):  # their number is a shape, which TensorFlow computes while it imports the graph
        with pytest.raises(tgw.GraphEditError, match=r"which lists files, and .* is not trusted"):
            assert editor.session
        return
    assert editor.session.run("size:0") == 0
    assert not (tmp_path / "out.txt").exists()
    notice = next(notice for notice in notices_of_tables(editor) if "'init'" in notice)
    assert notice.endswith(
        "if you trust it, open it with trusted=True, or set editor.source.trusted = True."
    )
    assert "is not trusted, so the initializer 'init' was not run" in notice


def test_nothing_but_a_file_is_opened_for_a_table(
    session: Any, tmp_path: Path, vocabulary: Path
) -> None:
    tgw.edit(session.graph, session=session).save(tmp_path / "m.meta")
    vocabulary.unlink()
    vocabulary.mkdir()
    assert any(
        "which is not there" in notice for notice in tgw.edit(tmp_path / "m.meta").source.notices
    )


def test_a_saved_model_of_tensorflow_1_fills_its_tables_from_its_assets(
    session: Any, tmp_path: Path, vocabulary: Path
) -> None:
    graph = session.graph
    with graph.as_default():
        builder = v1.saved_model.Builder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"], main_op=v1.tables_initializer())
        builder.save()
    stranger = tgw.edit(tmp_path / "model")
    assert stranger.session is not None
    assert any(
        "was not run" in notice and "which fills a table from a file" in notice
        for notice in stranger.source.notices
    )
    # The vocabulary lies outside of the model's folder.
    editor = tgw.edit(tmp_path / "model", trusted=True)
    assert notices_of_tables(editor) == []
    assert run(editor, Y) == FILLED
    np.testing.assert_array_equal(run(editor, Y)[2], FILLED[2])


def test_a_saved_model_whose_start_leaves_a_table_out_is_reported(
    session: Any, tmp_path: Path
) -> None:
    with session.graph.as_default():
        builder = v1.saved_model.Builder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"])
        builder.save()
    (notice,) = notices_of_tables(tgw.edit(tmp_path / "model"))
    assert notice.startswith(
        "Hash tables 'hash_table' and 'hash_table_1' are empty in the editor's session"
    )


def test_a_run_without_what_an_untrusted_model_runs_at_loading_names_trust(
    session: Any, tmp_path: Path
) -> None:
    graph = session.graph
    with graph.as_default():
        signature = v1.saved_model.predict_signature_def(
            {"words": graph.get_tensor_by_name("words:0")},
            {"places": graph.get_tensor_by_name(Y[1])},
        )
        builder = v1.saved_model.Builder(str(tmp_path / "saved"))
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            main_op=v1.tables_initializer(),
        )
        builder.save()
    editor = tgw.edit(tmp_path / "saved")
    with pytest.raises(tgw.GraphEditError, match=r"Table not initialized.*trusted=True"):
        editor.probe(Y[1], {"words:0": WORDS})
    trusted = tgw.edit(tmp_path / "saved", trusted=True)
    assert trusted.probe(Y[1], {"words:0": WORDS})
    assert run(trusted, Y[1:2]) == FILLED[1:2]


def test_a_frozen_graph_has_the_scalars_of_a_dense_table_of_a_saved_model(tmp_path: Path) -> None:
    module = tf.Module()
    module.table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1.0, -10, -11)
    module.table.insert([1], [2.5])
    look_up = tf.function(module.table.lookup, input_signature=[tf.TensorSpec([None], tf.int64)])
    module.look_up = look_up
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures=look_up)
    editor = tgw.edit(tmp_path / "saved")
    editor.save(tmp_path / "frozen.pb", frozen=True)
    frozen = tgw.edit(tmp_path / "frozen.pb")
    assert frozen.session.run(editor.outputs, {frozen.inputs[0]: [1, 2]})[0].tolist() == [2.5, -1.0]
