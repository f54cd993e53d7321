"""Editors go to another process: by pickle, by bytes, by a file, and by copy.deepcopy in the same
one.
"""

from __future__ import annotations

import copy
import gc
import io
import json
import pickle
import pickletools
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.editor.arrival import state
from tests.editor.verbs import EDITS, Module, Sources, ends, relu
from tests.slow import slow
from tfgraphwidget import edits
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.sources import describe_file
from tfgraphwidget.sources.files.formats import read_container

v1 = tf.compat.v1
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    return Sources(tmp_path_factory.mktemp("models"))


KINDS = list(Sources(Path()).kinds())
CASES = [(kind, method) for kind in KINDS for method in EDITS]


def edited(editor: GraphEditor) -> GraphEditor:
    """With edits of two kinds."""
    name = relu(editor)
    editor.bypass(name)
    editor.rename(name, "renamed")
    return editor


@pytest.fixture(scope="module")
def travelled(
    request: pytest.FixtureRequest,
    sources: Sources,
    tmp_path_factory: pytest.TempPathFactory,
    warm_python: list[str],
) -> dict[str, tuple[Any, Any]]:
    """By kind of source that is asked for: what an editor says here, and what it says after pickle
    elsewhere.
    """
    folder, here = tmp_path_factory.mktemp("pickles"), {}
    asked = [
        item.callspec.params["kind"]
        for item in request.session.items
        if "travelled" in item.fixturenames
    ]
    for number, kind in enumerate(asked):
        editor = edited(sources.kinds()[kind]())
        with (folder / f"{number:02}.pickle").open("wb") as file:
            pickle.dump(editor, file)
        here[kind] = json.loads(json.dumps(state(editor)))
    code = "import runpy; runpy.run_module('tests.editor.arrival', run_name='__main__')"
    run = subprocess.run(
        [*warm_python, "-c", code, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    there = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return dict(zip(here, zip(here.values(), there, strict=True), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(5)
def test_an_editor_goes_on_in_another_process_with_its_edits_and_values(
    travelled: dict[str, tuple[Any, Any]], kind: str
) -> None:
    here, there = travelled[kind]
    for key in ("lines", "names", "path", "inputs", "outputs"):
        assert there[key] == here[key], key
    assert np.allclose(np.concatenate(there["results"]), np.concatenate(here["results"]))
    assert there["before"][1] == here["before"][1]
    assert np.allclose(np.concatenate(there["before"][0]), np.concatenate(here["before"][0]))


@pytest.mark.parametrize("kind", ["SavedModel of a module", "Keras export"])
def test_an_editor_that_has_left_the_function_it_began_in_comes_back_outside(
    sources: Sources, kind: str
) -> None:
    editor = sources.kinds()[kind]()
    inside = editor._core.navigator.path
    editor.view.leave(0)
    other = copy.deepcopy(editor)
    assert other._core.navigator.path == editor._core.navigator.path != inside
    assert other._core.index.names == editor._core.index.names


def test_ends_that_are_marked_on_one_side_or_unmarked_come_back_so(sources: Sources) -> None:
    editor = sources.kinds()["SavedModel of TF 1"]()
    for ends_now in ((("x:0",), ()), ((), ("out:0",)), ((), ())):
        editor.mark(*ends_now)
        other = copy.deepcopy(editor)
        assert other._core.view.boundary == ends_now


WITH_VALUES = [
    "graph and session",
    "SavedModel of TF 1",
    "`.meta`, checkpoint",
    "SavedModel of a module",
    "Keras export",
]


@pytest.mark.parametrize("kind", WITH_VALUES)
@pytest.mark.parametrize("has_travelled", [False, True], ids=["here", "travelled"])
@pytest.mark.sample(3)
def test_a_part_that_is_extracted_has_the_values_that_the_whole_has(
    sources: Sources, kind: str, has_travelled: bool
) -> None:
    whole = sources.kinds()[kind]()
    if whole._core.executor.boundary is not None:
        whole.view.leave(0)
    start = next(
        n
        for n, t in zip(whole._core.index.names, whole._core.index.types, strict=True)
        if t == "Placeholder"
    )
    calls = [
        n
        for n, t in zip(whole._core.index.names, whole._core.index.types, strict=True)
        if t == "StatefulPartitionedCall"
    ]
    end = "out:0" if "out" in whole._core.index.ids else f"{calls[0]}:0"
    editor = copy.deepcopy(whole) if has_travelled else whole
    part = editor.extract(f"{start}:0", end)
    again = part.extract(f"{start}:0", end)
    expected = counted(sources.kinds()[kind]().session, {f"{start}:0": np.ones([2, 4])}, end)
    for each in (part, again, copy.deepcopy(part)):
        assert np.array_equal(counted(each.session, {f"{start}:0": np.ones([2, 4])}, end), expected)


def counted(session: Any, feeds: Any = None, fetch: str = "out:0") -> np.ndarray:
    return np.asarray(
        session.run(fetch, {"x:0": np.ones([2, 4], np.float32)} if feeds is None else feeds)
    )


def stateful() -> GraphEditor:
    """A graph whose session holds variables of each kind, tables and an iterator, none as its
    initializer made it.
    """
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], "x")
        w = v1.get_variable("w", [4, 2], use_resource=True)
        slices = v1.get_variable("p", [4, 2], partitioner=v1.fixed_size_partitioner(2))
        step = v1.get_variable(
            "step", [], tf.int32, collections=["local_variables"], trainable=False
        )
        v1.get_variable("unset", [3])
        mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="mutable")
        keys = tf.constant(["a", "b"])
        static = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, [1.0, 2.0]), 0.0, name="static"
        )
        iterator = v1.data.make_initializable_iterator(v1.data.Dataset.range(10))
        tf.identity(iterator.get_next(), "next")
        tf.identity(tf.matmul(x, w + slices) + tf.cast(step, tf.float32), "out")
        tf.identity(mutable.lookup(keys), "looked/mutable")
        tf.identity(static.lookup(keys), "looked/static")
        session = v1.Session()
        session.run([w.initializer, *(each.initializer for each in slices), step.initializer])
        session.run([iterator.initializer, mutable.insert(keys, tf.constant([7, 8], tf.int64))])
        session.run(v1.tables_initializer())
        session.run(step.assign(5))
    session.run("next:0"), session.run("next:0")
    return tgw.edit(graph, session=session)


FETCHES = ("out:0", "looked/mutable:0", "looked/static:0", "next:0")


def test_all_that_a_session_holds_goes_along_and_what_has_no_value_has_none_there() -> None:
    editor = stateful()
    other = tgw.edit(bytes(editor))
    for fetch in FETCHES:
        feeds = {"x:0": np.ones([1, 4])} if fetch == "out:0" else {}
        assert np.array_equal(
            counted(other.session, feeds, fetch), counted(editor.session, feeds, fetch)
        ), fetch
    with pytest.raises(tf.errors.FailedPreconditionError):
        other.session.run("unset/Read/ReadVariableOp:0")
    assert other.graph is not editor.graph


def test_a_copy_has_its_own_graph_and_values_in_the_same_process_twice_and_after_a_refusal(
    sources: Sources,
) -> None:
    editor = sources.kinds()["graph and session"]()
    part = editor.clone(*ends(editor), into="part")
    with pytest.raises(tgw.GraphEditError):
        editor.rename("out", "x")
    before = counted(editor.session)
    once = copy.deepcopy(editor)
    again = copy.deepcopy(once)
    once.bypass("Relu")
    once.session.run("train", {"x:0": np.ones([2, 4])})
    assert np.array_equal(counted(editor.session), before)
    assert np.array_equal(counted(again.session), before)
    assert [len(each.history.done) for each in (editor, once, again)] == [1, 2, 1]
    assert part.scope in again._core.executor.copies
    again.undo()
    assert not again._core.executor.copies


def test_the_values_of_a_clone_are_those_of_the_session_not_those_of_an_initializer(
    sources: Sources,
) -> None:
    editor = sources.kinds()["graph and session"]()
    copy_of_part = editor.clone("x:0", "out:0", into="part", init="initial")
    editor.session.run("train", {"x:0": np.ones([2, 4])})
    other = tgw.edit(bytes(editor))
    for tensor in ("out:0", copy_of_part["out:0"].name):
        assert np.array_equal(
            counted(other.session, fetch=tensor), counted(editor.session, fetch=tensor)
        )
    assert other.history.lines == editor.history.lines


def test_tables_and_iterators_go_on_from_where_they_have_not_run() -> None:
    editor = stateful()
    other = tgw.edit(bytes(tgw.edit(bytes(tgw.edit(bytes(editor))))))
    for fetch in FETCHES:
        feeds = {"x:0": np.ones([1, 4])} if fetch == "out:0" else {}
        assert np.array_equal(
            counted(other.session, feeds, fetch), counted(editor.session, feeds, fetch)
        ), fetch


@pytest.mark.parametrize("kind", ["mutable", "rows"])
def test_a_copied_table_that_was_empty_is_empty_where_the_original_has_entries(kind: str) -> None:
    with tf.Graph().as_default() as graph:
        words = v1.placeholder(tf.int64, [None], "words")
        default = -1 if kind == "mutable" else [-1, -1]
        value = words if kind == "mutable" else tf.tile(words[:, None], [1, 2])
        table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, default)
        tf.identity(table.lookup(words), "found")
        insert = table.insert(words, value)
        session = v1.Session()
    editor, feeds = tgw.edit(graph, session=session), {"words:0": [3, 4]}
    editor.clone("words:0", "found:0", into="copy")
    session.run(insert, feeds)
    expected = session.run(["found:0", "copy/found:0"], feeds)
    assert expected[0].min() == 3
    assert expected[1].max() == -1
    other = tgw.edit(bytes(tgw.edit(bytes(editor))))
    found = other.session.run(["found:0", "copy/found:0"], feeds)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.slow
def test_values_of_copies_and_of_renamed_variables_go_on_from_where_they_have_not_run(
    tmp_path: Path,
) -> None:
    feeds, fetches = {"x:0": np.ones([1, 4])}, ["net/logits:0", "c/net/logits:0"]
    editor = tgw.example()
    editor.clone("x:0", "net/logits:0", into="c")
    editor.rename("net/hidden/w", "net/hidden/kernel")
    for variable in editor.graph.get_collection("variables"):
        start = variable.initializer.inputs[1]
        editor.session.run(
            variable.initializer, {start: np.full(start.shape, 2 + variable.name.startswith("c/"))}
        )
    expected = editor.session.run(fetches, feeds)
    assert expected[0].tolist() != expected[1].tolist()

    there = tgw.edit(bytes(editor))
    assert np.unique(there.inspect("c/net/hidden/w").array()) == 3
    assert np.unique(there.inspect("net/hidden/kernel").array()) == 2
    there.undo()
    there.redo()
    there.rename("c/net/hidden/w", "c/net/hidden/kernel")
    saved = there.save(tmp_path / "net.meta")
    for other in (tgw.edit(bytes(there)), tgw.edit(saved, checkpoint=tmp_path / "net"), there):
        assert np.array_equal(other.session.run(fetches, feeds), expected)
    assert there.history.lines[:2] == editor.history.lines


def filled(editor: GraphEditor, value: Callable[[str], float]) -> None:
    """Give each variable of a graph a value of its name."""
    for variable in editor.graph.get_collection("variables"):
        start = variable.initializer.inputs[1]
        editor.session.run(
            variable.initializer, {start: np.full(start.shape, value(variable.name))}
        )


def test_freeze_goes_along_with_the_values_that_it_made_constants_of_and_is_undone_there() -> None:
    feeds, fetches = {"x:0": np.ones([1, 4])}, ["net/logits:0", "c/net/logits:0"]
    editor = tgw.example()
    editor.clone("x:0", "net/logits:0", into="c")
    filled(editor, lambda name: 2.0 + name.startswith("c/"))
    editor.rename("net/hidden/w", "net/hidden/kernel")
    before = editor.session.run(fetches, feeds)
    editor.freeze(fetches, "x:0")
    frozen = editor.session.run(fetches, feeds)
    for other in (tgw.edit(bytes(editor)), tgw.edit(bytes(tgw.edit(bytes(editor))))):
        assert (other.history.lines, other.source.notices) == (editor.history.lines, ())
        assert np.array_equal(other.session.run(fetches, feeds), frozen)
        other.undo()
        assert np.array_equal(other.session.run(fetches, feeds), before)
        other.redo()
        assert np.array_equal(other.session.run(fetches, feeds), frozen)


def test_constants_that_the_edits_do_not_give_there_are_copied_and_a_notice_says_so() -> None:
    editor, feeds = tgw.example(), {"x:0": np.ones([1, 4])}
    kernel = next(v for v in editor.graph.get_collection("variables") if v.name == "net/hidden/w:0")
    editor.freeze("net/logits:0", "x:0")
    expected = editor.session.run("net/logits:0", feeds)
    start = kernel.initializer.inputs[1]
    # It is hidden, and still there.
    editor.session.run(kernel.initializer, {start: np.full(start.shape, 9.0)})
    other = tgw.edit(bytes(editor))
    assert np.array_equal(other.session.run("net/logits:0", feeds), expected)
    assert not other.history.done
    assert "cannot be undone here: they give another graph here." in " ".join(other.source.notices)


def test_gradient_ops_of_what_was_renamed_are_found_where_the_edits_are_not_made_again() -> None:
    """They are named after what the op was called, and nothing but the edits told that."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.nn.relu(
            tf.matmul(x, v1.get_variable("w", [2, 2]), name="net/MatMul"), name="net/Relu"
        )
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.tanh(y, name="net/Tanh")))
    editor = tgw.edit(graph)
    editor.rename("net/Relu", "other/Relu")
    editor.replace("net/Tanh", lambda value: value * 2.0)
    for name in ("other/Relu", "third/Relu"):
        editor = tgw.edit(bytes(editor))
        if name not in editor._core.index.ids:
            editor.rename("other/Relu", name)
            editor = tgw.edit(bytes(editor))
        changed = editor.preview(edits.Bypass(name, gradients=True)).changed
        assert "gradients/net/MatMul_grad/MatMul" in changed
        assert "gradients/net/Relu_grad/ReluGrad" not in changed


REMOVERS = ("freeze", "strip_training", "remove", "set_trainable")
PYTHON = "Edit 1"  # edits with a Python function


@pytest.mark.parametrize(
    ("kind", "method"),
    [case if case[1] in REMOVERS and case[0] == KINDS[0] else slow(*case) for case in CASES],
)
def test_each_edit_is_made_again_there_and_undone(
    sources: Sources, tmp_path: Path, kind: str, method: str
) -> None:
    editor = sources.kinds()[kind]()
    relu(editor)  # enters a function where the graph itself has none
    try:
        EDITS[method](editor, tmp_path)
    except (tgw.GraphEditError, LookupError):
        return  # docs/verbs.md says where a method is refused
    editor.view.leave(0)
    try:
        other = tgw.edit(bytes(editor))
    except tgw.GraphEditError as error:
        assert str(error).startswith(PYTHON)  # noqa: PT017 - others are defects
        return
    if PYTHON.partition(": ")[2] in " ".join(other.source.notices):
        return
    assert (other.history.lines, sorted(other._core.index.names)) == (
        editor.history.lines,
        sorted(editor._core.index.names),
    )
    assert set(other.source.notices) <= set(editor.source.notices)
    while other.history.done:
        other.undo()
    other.view.leave(0)  # undo shows the function that it changes
    assert sorted(other._core.index.names) == sorted(editor._core.target.first.names)


def test_an_editor_of_a_saved_model_is_there_where_it_was_left(sources: Sources) -> None:
    editor = tgw.edit(sources.once("saved", sources.save_module), signature="twice")
    assert len(editor.view.breadcrumb) > 1
    assert tgw.edit(bytes(editor)).view.breadcrumb[1:] == editor.view.breadcrumb[1:]
    editor.view.leave(0)
    assert len(tgw.edit(bytes(editor)).view.breadcrumb) == 1


def test_a_saved_model_of_tensorflow_1_without_variables_goes_along(tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        v1.saved_model.simple_save(
            session, str(tmp_path / "saved"), {"x": x}, {"y": tf.nn.relu(x, name="out")}
        )
    editor = tgw.edit(tmp_path / "saved")
    editor.rename("out", "renamed")
    other = tgw.edit(editor.save(tmp_path / "editor.tgw"))
    assert (other.history.lines, other.source.notices) == (editor.history.lines, ())
    assert counted(other.session, fetch="renamed:0").tolist() == [[1] * 4] * 2


def test_slices_of_a_partitioned_variable_go_on_as_copies_too(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], "x")
        slices = v1.get_variable("p", [4, 2], partitioner=v1.fixed_size_partitioner(2))
        tf.matmul(x, slices, name="out")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(tmp_path / "m"))
        expected = session.run("out:0", {x: np.ones([1, 4])})
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    editor.clone("x:0", "out:0", into="c")
    other = tgw.edit(bytes(tgw.edit(bytes(editor))))
    assert graph is not other.graph
    for fetch in ("out:0", "c/out:0"):
        assert np.array_equal(counted(other.session, {"x:0": np.ones([1, 4])}, fetch), expected)


def test_a_checkpoint_that_the_user_names_goes_before_the_values_of_the_archive(
    sources: Sources,
) -> None:
    editor = sources.kinds()["`.meta`, checkpoint"]()
    before = counted(editor.session)
    for variable in editor.graph.get_collection("variables"):
        start = variable.initializer.inputs[1]
        editor.session.run(variable.initializer, {start: np.zeros(start.shape)})
    assert not counted(tgw.edit(bytes(editor)).session).any()
    other = tgw.edit(bytes(editor), checkpoint=str(sources.folder / "m.ckpt"))
    assert np.array_equal(counted(other.session), before)


def test_a_graph_without_a_session_goes_without_values_and_runs_once_they_are_initialized(
    sources: Sources,
) -> None:
    graph = sources.kinds()["graph and session"]().graph
    other = pickle.loads(pickle.dumps(tgw.edit(graph)))
    assert set(other._core.index.names) == {op.name for op in graph.get_operations()}
    with other.graph.as_default():
        other.session.run(v1.global_variables_initializer())
    assert counted(other.session).shape == (2, 8)


@pytest.mark.parametrize("source", ["message", "bytes"])
def test_a_message_goes_as_it_is(sources: Sources, source: str) -> None:
    graph_def = sources.kinds()["frozen `.pb`"]().graph.as_graph_def()
    editor = tgw.edit(graph_def if source == "message" else graph_def.SerializeToString())
    editor.mark("x:0", "out:0")
    other = copy.deepcopy(editor)
    assert list(other._core.index.nodes) == list(editor._core.index.nodes)
    assert (other.inputs, other.outputs) == (("x:0",), ("out:0",))
    assert np.array_equal(counted(other.session), counted(editor.session))


def test_what_is_selected_stays_selected(sources: Sources) -> None:
    editor = sources.kinds()["graph and session"]()
    editor.selection = editor.find("type:MatMul")
    assert copy.deepcopy(editor).selection.ops == editor.selection.ops


def test_the_signatures_of_a_file_and_the_boundary_of_the_user_go_along(sources: Sources) -> None:
    editor = sources.kinds()["SavedModel of TF 1"]()
    other = copy.deepcopy(editor)
    assert other._core.executor.signatures == editor._core.executor.signatures != ()
    editor = tgw.edit(sources.once("meta", sources.save_meta))
    editor.mark("x:0", "out:0")
    editor.rename("x", "renamed")
    other = copy.deepcopy(editor)
    assert (other.inputs, other.outputs, other.history.lines) == (
        ("renamed:0",),
        ("out:0",),
        editor.history.lines,
    )
    assert other._core.executor.signatures == editor._core.executor.signatures


def test_variables_of_a_function_that_travelled_are_trained_and_shared_by_its_modules(
    sources: Sources,
) -> None:
    other = copy.deepcopy(tgw.edit(sources.once("module", Module).hidden))
    module = other.to_module()
    for variable in module.variables:
        variable.assign(tf.zeros_like(variable))
    assert not other.to_module()(tf.ones([1, 4])).numpy().any()
    assert (
        tgw.edit(sources.once("module", Module).hidden).to_module()(tf.ones([1, 4])).numpy().any()
    )


def test_nested_arguments_defaults_and_dtypes_of_a_function_go_along() -> None:
    @tf.function(autograph=False)
    def fn(pair: Any, *, scale: Any = 2.0, mode: str = "plain") -> Any:
        return {
            "sum": (pair["a"] + tf.cast(pair["b"], tf.float32)) * scale,
            "text": tf.constant("é"),
            "mode": mode,
        }

    given = {"a": tf.ones([2]), "b": tf.constant([1, 2])}
    expected = fn(given, scale=tf.constant(3.0))
    other = copy.deepcopy(tgw.edit(fn))
    assert other.source.notices == ()
    actual = other.to_module()(given, scale=tf.constant(3.0))
    assert actual["sum"].numpy().tolist() == expected["sum"].numpy().tolist()
    assert (actual["text"].numpy(), actual["mode"]) == ("é".encode(), "plain")


def test_edits_with_a_python_function_come_as_the_graph_that_they_gave_and_a_notice_says_so(
    sources: Sources,
) -> None:
    editor = sources.kinds()["graph and session"]()
    editor.insert(f"{relu(editor)}:0", lambda x: x * 3.0)
    other = tgw.edit(bytes(editor))
    assert np.array_equal(counted(other.session), counted(editor.session))
    assert not other.history.done
    assert "cannot be undone: Edit 1 (insert) holds the Python function" in " ".join(
        other.source.notices
    )


def test_edits_that_give_another_graph_here_are_left_out_and_a_notice_says_so(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = edited(sources.kinds()["graph and session"]())
    data = bytes(editor)
    # As another release might.
    monkeypatch.setattr("tfgraphwidget.editor.replay.replay", lambda *_: 0)
    other = tgw.edit(data)
    assert set(other._core.index.names) == set(editor._core.index.names)
    assert "cannot be undone here: they give another graph here." in " ".join(other.source.notices)
    assert np.array_equal(counted(other.session), counted(editor.session))


def calls_python() -> GraphEditor:
    with tf.Graph().as_default() as graph:
        v1.py_func(lambda: np.float32(1.0), [], tf.float32, name="mine")
    return tgw.edit(graph)


def holds_a_queue() -> GraphEditor:
    with tf.Graph().as_default() as graph:
        queue = v1.FIFOQueue(3, tf.float32, name="queue")
        session = v1.Session()
        session.run(queue.enqueue(1.0))
    return tgw.edit(graph, session=session)


def captures_an_iterator() -> GraphEditor:
    iterator = iter(tf.data.Dataset.range(10))
    return tgw.edit(
        tf.function(lambda x: x + next(iterator)), signature=[tf.TensorSpec([], tf.int64)]
    )


def holds_a_function_in_an_edit() -> GraphEditor:
    editor = tgw.edit(tf.function(tf.nn.relu), signature=[tf.TensorSpec([2])])
    editor.insert("Relu:0", lambda x: x * 2.0)
    return editor


def has_a_closed_session() -> GraphEditor:
    editor = tgw.example()
    editor.session.close()
    return editor


@pytest.mark.parametrize(
    ("opened", "sentence"),
    [
        (calls_python, "Op 'mine' (PyFunc) calls a Python function of this process"),
        (holds_a_queue, "Queue 'queue' holds 1 elements, and to read one removes it"),
        (
            captures_an_iterator,
            "as those of an iterator, a DenseHashTable or a table that is not initialized; save a",
        ),
        (holds_a_function_in_an_edit, "Edit 1 (insert) holds the Python function"),
        (has_a_closed_session, "The session is closed; open a new one"),
    ],
)
def test_what_only_this_process_has_is_refused_in_one_sentence(
    opened: Callable[[], GraphEditor], sentence: str
) -> None:
    editor = opened()
    before = editor._core.index.names, editor.history.lines
    for call in (
        lambda: bytes(editor),
        lambda: pickle.dumps(editor),
        lambda: copy.deepcopy(editor),
    ):
        with pytest.raises(tgw.GraphEditError) as refused:
            call()
        assert sentence in refused.value.why
        assert "\n" not in refused.value.why
    assert (editor._core.index.names, editor.history.lines) == before


def looks_up(kind: str, *, is_called: bool) -> tuple[Any, list[Any]]:
    """A function of strings that captures a table, and what keeps it."""
    lookup = tf.lookup
    if kind == "empty":
        table = lookup.experimental.MutableHashTable(tf.string, tf.float32, -1.0)
    elif kind == "vectors":
        table = lookup.experimental.MutableHashTable(tf.string, tf.float32, [-1.0, -1.0])
        table.insert(tf.constant(["a", "b"]), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    elif kind == "written":
        table = lookup.experimental.MutableHashTable(tf.string, tf.float32, -1.0)
        table.insert(tf.constant(["a", "b"]), tf.constant([1.0, 2.0]))
    else:
        table = lookup.StaticHashTable(
            lookup.KeyValueTensorInitializer(["a", "b"], [1.0, 2.0]), -1.0
        )
    factor = tf.Variable(3.0, name="factor")
    inner = tf.function(table.lookup) if is_called else table.lookup

    def compute(words: Any) -> Any:
        if kind == "written":
            table.insert(words, tf.fill(tf.shape(words), 5.0))
        return inner(words) * factor

    function = tf.function(
        compute, input_signature=[tf.TensorSpec([None], tf.string, name="words")], autograph=False
    )
    return function, [table, factor, inner]


@pytest.mark.parametrize("is_called", [False, True])
@pytest.mark.parametrize("kind", ["static", "vectors", "written", "empty"])
@pytest.mark.sample(2)
def test_a_function_takes_the_contents_of_captured_tables_along(kind: str, is_called: bool) -> None:
    function, kept = looks_up(kind, is_called=is_called)
    words = tf.constant(["a", "b", "z"])
    editor = tgw.edit(function)
    multiply = editor.ops(type="Mul").ops[0]
    editor.rename(multiply, "product")
    data = bytes(editor)
    expected = function(words).numpy().tolist()
    del kept
    other = tgw.edit(bytes(tgw.edit(data)))
    module, copy = other.to_module(), other.clone(into="copy")
    assert "product" in other._core.index.names
    del other
    gc.collect()
    assert module(words).numpy().tolist() == expected
    assert copy(words).numpy().tolist() == expected


def static_table(*pairs: Any, default: Any) -> Any:
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(*pairs), default)


@pytest.mark.parametrize("is_inside", [False, True])
def test_of_two_captured_tables_only_the_mutable_one_is_mutable_where_the_function_travelled(
    tmp_path: Path, *, is_inside: bool
) -> None:
    names = static_table(["a"], ["x"], default="D")  # of strings there is no mutable table
    numbers = static_table(tf.constant([8], tf.int32), ["eight"], default="D")
    counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)

    def write(words: Any) -> Any:
        counts.insert(words, tf.fill(tf.shape(words), tf.constant(8, tf.int64)))
        return tf.constant(0)

    def compute(words: Any) -> Any:
        written = (
            tf.cond(tf.size(words) > 0, partial(write, words), lambda: 0)
            if is_inside
            else write(words)
        )
        with tf.control_dependencies([written]):
            counted = counts.lookup(words)
        return names.lookup(words), counted, numbers.lookup(tf.cast(counted, tf.int32))

    function = tf.function(
        compute, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    path = tgw.edit(function).save(tmp_path / "function.tgw")
    again = tgw.edit(path).save(tmp_path / "again.tgw")
    for each in (path, again):
        module = tgw.edit(each).to_module()
        for run in (tgw.edit(each).to_function(), module, tgw.edit(each).clone(into="copy")):
            got = [
                tensor.numpy().tolist() for tensor in tf.nest.flatten(run(tf.constant(["a", "z"])))
            ]
            assert got == [[b"x", b"D"], [8, 8], [b"eight", b"eight"]]


def test_a_mutable_table_can_be_written_where_a_function_travelled_that_only_looks_up() -> None:
    counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    counts.insert(tf.constant(["a"]), tf.constant([7], tf.int64))
    function = tf.function(
        counts.lookup, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    other = tgw.edit(bytes(tgw.edit(function))).to_function()
    (handle,) = other.get_concrete_function(tf.TensorSpec([None], tf.string)).captured_inputs
    tf.raw_ops.LookupTableInsertV2(
        table_handle=handle, keys=["z"], values=tf.constant([9], tf.int64)
    )
    assert other(tf.constant(["a", "z"])).numpy().tolist() == [7, 9]


@pytest.mark.parametrize("kind", ["dense", "vectors", "not initialized", "variants"])
def test_a_table_whose_contents_cannot_be_read_is_refused_when_it_is_saved(kind: str) -> None:
    lookup = tf.lookup.experimental
    table: Any
    if kind == "dense":
        table = lookup.DenseHashTable(tf.int64, tf.int64, -9, -1, -2, initial_num_buckets=8)
        table.insert(tf.constant([3], tf.int64), tf.constant([4], tf.int64))
    elif kind == "vectors":
        keys = [tf.constant([number, number], tf.int64) for number in (-1, -2)]
        table = lookup.DenseHashTable(tf.int64, tf.int64, [-9, -9], *keys, initial_num_buckets=8)
    elif kind == "variants":
        table = tf.raw_ops.MutableHashTableV2(key_dtype=tf.int64, value_dtype=tf.variant)
    else:
        table = tf.raw_ops.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64)

    def look_up(keys: Any) -> Any:
        if hasattr(table, "lookup"):
            return table.lookup(keys)
        value = tf.raw_ops.EmptyTensorList(
            element_shape=tf.zeros([0], tf.int32), max_num_elements=1, element_dtype=tf.int64
        )
        default = value if kind == "variants" else tf.constant(-9, tf.int64)
        values = tf.raw_ops.LookupTableFindV2(table_handle=table, keys=keys, default_value=default)
        return tf.shape(values)

    shape = [None, 2] if kind == "vectors" else [None]
    function = tf.function(
        look_up, input_signature=[tf.TensorSpec(shape, tf.int64)], autograph=False
    )
    sentence = (
        r"The function captures '.+', a resource of this process whose contents cannot be read, as "
        r"those of an iterator, a DenseHashTable or a table that is not initialized; save a "
        r"SavedModel instead: editor\.save\('folder'\)\.$"
    )
    with pytest.raises(tgw.GraphEditError, match=sentence):
        bytes(tgw.edit(function))


def test_a_model_of_keras_takes_its_vocabulary_along(tmp_path: Path) -> None:
    layers = tf.keras.layers
    lookup = layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")
    model = tf.keras.Sequential([tf.keras.Input([1], dtype="string"), lookup, layers.Dense(2)])
    tgw.edit(model).save(tmp_path / "model.tgw")
    words = tf.constant([["a"], ["z"]])
    module = tgw.edit(tmp_path / "model.tgw").to_module()
    np.testing.assert_allclose(module(words), model(words), rtol=1e-6)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    np.testing.assert_allclose(loaded.run(words), model(words), rtol=1e-6)


def test_a_file_of_an_editor_is_opened_described_and_replaced_whole(
    sources: Sources, tmp_path: Path
) -> None:
    editor = edited(sources.kinds()["graph and session"]())
    path = editor.save(tmp_path / "net.tgw")
    other = tgw.edit(path)
    assert other.history.lines == editor.history.lines
    assert np.array_equal(counted(other.session), counted(editor.session))
    other.undo()
    assert len(tgw.edit(other.save(path)).history.lines) == 1
    summary = describe_file(path)
    assert summary["kind"] == "editor"
    assert summary["graphs"][0]["ops"] == len(other._core.index)


@pytest.fixture(scope="module")
def data() -> bytes:
    return bytes(tgw.example())


def newer(data: bytes) -> bytes:
    return data.replace(b'{"version": 1, "by": "', b'{"version": 9, "by": "', 1).replace(
        zlib.crc32(header(data)).to_bytes(4, "little"),
        zlib.crc32(header(data).replace(b'"version": 1', b'"version": 9', 1)).to_bytes(4, "little"),
    )


def header(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as entries:
        return entries.read("tfgraphwidget.json")


def other_header(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        file, content = io.BytesIO(), json.loads(header(data))
        change(content)
        with zipfile.ZipFile(io.BytesIO(data)) as entries, zipfile.ZipFile(file, "w") as written:
            written.writestr("tfgraphwidget.json", json.dumps(content))
            for name in entries.namelist()[1:]:
                written.writestr(name, entries.read(name))
        return file.getvalue()

    return changed


def with_entry(name: str) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        file = io.BytesIO(data)
        with zipfile.ZipFile(file, "a") as entries:
            entries.writestr(name, "")
        return file.getvalue()

    return changed


def without_entry(name: str, compression: int = zipfile.ZIP_STORED) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        file = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(data)) as entries,
            zipfile.ZipFile(file, "w", compression) as written,
        ):
            for entry in entries.namelist():
                if entry != name:
                    written.writestr(entry, entries.read(entry))
        return file.getvalue()

    return changed


def with_byte(place: int, value: int) -> Callable[[bytes], bytes]:
    """With another byte in what the directory of the archive says of its first entry."""

    def changed(data: bytes) -> bytes:
        at = data.index(b"PK\x01\x02") + place
        return data[:at] + bytes([value]) + data[at + 1 :]

    return changed


def damaged_model(data: bytes) -> bytes:
    """The same as of a SavedModel whose file is cut off."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr(
            "tfgraphwidget.json",
            json.dumps({**json.loads(header(data)), "kind": "model", "variables": {}}),
        )
        written.writestr("model/saved_model.pb", b"\x0a\xff")
    return file.getvalue()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (
            newer,
            "in version 9 of the format, and this release reads up to 1; run pip install --upgrade",
        ),
        (lambda data: data[: len(data) // 2], "This data is damaged (File is not a zip file)"),
        (
            lambda data: data.replace(b"T\x12\x02", b"S\x12\x02"),
            "This data is damaged (Bad CRC-32 for file 'graph.meta')",
        ),
        (other_header(lambda content: content.pop("kind")), "This data is damaged ('kind')"),
        (
            other_header(lambda content: content.update(version="new")),
            "This data is damaged (its version is 'new')",
        ),
        (without_entry("graph.meta"), "This data is damaged (entry 'graph.meta' is missing)"),
        (
            without_entry("values.index"),
            "(entry 'values.index' is missing); write it again with editor.save('editor.tgw')",
        ),
        (
            without_entry("values.data-00000-of-00001"),
            (
                "(entry 'values.data-00000-of-00001' is missing); write it again with "
                "editor.save('editor.tgw'), or unzip"
            ),
        ),
        (
            without_entry("", zipfile.ZIP_DEFLATED),
            "'tfgraphwidget.json' is compressed, and those of an editor are not",
        ),
        (
            with_byte(10, zipfile.ZIP_DEFLATED),
            "(entry 'tfgraphwidget.json' is compressed, and those of an editor are not)",
        ),
        (
            with_byte(8, 1),
            "(entry 'tfgraphwidget.json' is encrypted, and those of an editor are not)",
        ),
        (other_header(dict.clear), "This data is damaged ('version')"),
        (damaged_model, "This data is damaged (saved_model.pb is not a SavedModel)"),
        (with_entry("../../out"), "This data is damaged (entry '../../out' is none of an editor)"),
        (with_entry("/out"), "This data is damaged (entry '/out' is none of an editor)"),
    ],
)
def test_an_editor_of_another_release_or_a_damaged_one_is_refused_in_one_sentence(
    data: bytes, damage: Callable[[bytes], bytes], sentence: str
) -> None:
    with pytest.raises(tgw.GraphEditError) as refused:
        tgw.edit(damage(data))
    assert sentence in refused.value.why
    assert refused.value.why.count("This data") == 1
    assert "\n" not in refused.value.why


@pytest.mark.parametrize("kind", ["SavedModel of a module", "`tf.function`"])
def test_an_archive_of_a_model_or_function_without_its_values_says_which_entry_is_missing(
    sources: Sources, kind: str, tmp_path: Path
) -> None:
    data = bytes(sources.kinds()[kind]())
    name = next(each for each in zipfile.ZipFile(io.BytesIO(data)).namelist() if ".data-" in each)
    for lost in (name, name.replace(".data-00000-of-00001", ".index")):
        (tmp_path / "e.tgw").write_bytes(without_entry(lost)(data))
        with pytest.raises(tgw.GraphEditError) as refused:
            tgw.edit(tmp_path / "e.tgw")
        assert f"e.tgw' is damaged (entry {lost!r} is missing); write it again" in refused.value.why
        assert "checkpoint=" not in refused.value.why


def test_an_archive_without_its_values_takes_those_of_a_checkpoint(
    data: bytes, tmp_path: Path
) -> None:
    tgw.example().save(tmp_path / "m.meta")
    lost = without_entry("values.data-00000-of-00001")(data)
    session = tgw.edit(lost, checkpoint=tmp_path / "m").session
    assert session.run("net/w/Read/ReadVariableOp:0").shape == (8, 3)


def test_values_that_are_damaged_are_reported_and_the_graph_can_be_edited(data: bytes) -> None:
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as entries, zipfile.ZipFile(changed, "w") as written:
        for name in entries.namelist():
            content = entries.read(name)
            written.writestr(name, content[:-8] + b"\0" * 8 if "data-" in name else content)
    other = tgw.edit(changed.getvalue())
    other.bypass("net/hidden/Relu")
    with pytest.raises(tgw.GraphEditError, match="has another checksum than its bytes"):
        other.session  # noqa: B018 - it is opened at the first use


def test_an_archive_over_the_limit_of_protobuf_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tgw.example().save(tmp_path / "large.tgw")
    monkeypatch.setattr("tfgraphwidget.sources.files.container.LARGEST", 1_000)
    monkeypatch.setattr("tfgraphwidget.sources.files.formats.LARGEST", 1_000)
    assert len(read_container(path).data) < 1_000 < path.stat().st_size
    assert tgw.edit(path).session is not None
    assert len(tgw.edit(path)._core.index) == 74


def test_bytes_over_the_limits_of_protobuf_and_of_old_zip_files_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tfgraphwidget.sources.files.formats.LARGEST", 1_000)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 300)
    editor = tgw.example()
    editor.rename("net/logits", "scores")
    data = bytes(editor)
    assert b"PK\x06\x06" in data  # the record that ends a ZIP64 archive
    other = tgw.edit(data)
    feeds = {"x:0": np.ones([1, 4])}
    assert np.array_equal(
        other.session.run("scores:0", feeds), editor.session.run("scores:0", feeds)
    )


def test_no_code_is_in_what_is_written(data: bytes) -> None:
    """What a pickle of an editor calls is `tgw.edit` on bytes; of the bytes themselves nothing is
    unpickled.
    """
    codes = pickletools.genops(pickle.dumps(tgw.edit(data), protocol=2))
    calls = [
        argument for code, argument, _ in codes if code.name in ("GLOBAL", "STACK_GLOBAL", "INST")
    ]
    assert calls == ["tfgraphwidget edit", "_codecs encode"]
    with zipfile.ZipFile(io.BytesIO(data)) as entries:
        assert entries.namelist() == [
            "tfgraphwidget.json",
            "graph.meta",
            "values.data-00000-of-00001",
            "values.index",
        ]
