"""A live graph that other threads add to while it is edited: what they add is taken in, and stays
theirs.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.edits.drafts import saved
from tfgraphwidget import graph_editor as ge
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.runtime.live import patch_application
from tfgraphwidget.runtime.live.edit_record import record_of

ROWS = np.ones((2, 3), np.float32)
ENOUGH = 60  # seconds, after which a thread counts as stuck


def in_another_thread(work: Callable[[], Any]) -> None:
    """Do it wholly, in a thread of its own."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(ENOUGH)
    assert not thread.is_alive()


def add_variable(graph: tf.Graph, name: str) -> None:
    with graph.as_default():
        v1.get_variable(name, [2])


@contextmanager
def in_the_middle(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], None], *, fails: bool = False
) -> Iterator[None]:
    """Let another thread do something just after the ops of an edit have come to the graph."""
    copy_static_attributes = patch_application.copy_static_attributes

    def kept(*given: Any) -> None:
        copy_static_attributes(*given)
        in_another_thread(work)
        if fails:
            raise GraphEditError("This edit fails.")

    with monkeypatch.context() as context:
        context.setattr(patch_application, "copy_static_attributes", kept)
        yield


EDITS = {
    "clone": lambda editor: editor.clone("x:0", "net/logits:0", into="copy"),
    "insert": lambda editor: editor.insert("net/one/out:0", tf.math.l2_normalize, into="unit"),
    "rename": lambda editor: editor.rename("net/one/", "first"),
    "replace": lambda editor: editor.replace("net/one/out", tf.nn.elu, into="elu", remove=True),
}


@pytest.mark.parametrize("method", EDITS)
@pytest.mark.sample(2)
def test_ops_that_come_in_the_middle_of_an_edit_are_taken_in(
    method: str, editor: GraphEditor, session: v1.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = editor.graph
    with in_the_middle(monkeypatch, lambda: add_variable(graph, "other")):
        EDITS[method](editor)
    assert "other" in editor._core.index.ids
    assert "other:0" in [member.name for member in editor._core.index.collections["variables"]]
    assert "other" in [v.handle for v in editor._core.index.variable_defs]
    for step in (editor.undo, editor.redo, editor.undo):
        step()
        assert {"other", "other/Assign"} <= editor._core.index.ids.keys()
    assert set(editor._core.index.names) == set(tgw.edit(graph)._core.index.names)
    assert session.run("net/logits:0", {"x:0": ROWS}).shape == (2, 4)


@pytest.mark.parametrize("method", EDITS)
def test_an_edit_that_fails_leaves_what_another_thread_has_added_meanwhile(
    method: str, editor: GraphEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, before = editor.graph, set(editor._core.index.names)
    held = {key: graph.get_collection(key) for key in graph.get_all_collection_keys()}
    with (
        in_the_middle(monkeypatch, lambda: add_variable(graph, "other"), fails=True),
        pytest.raises(GraphEditError, match="fails"),
    ):
        EDITS[method](editor)
    theirs = {
        name for name in editor._core.index.names if name == "other" or name.startswith("other/")
    }
    assert "other/Assign" in theirs
    assert set(editor._core.index.names) == before | theirs
    assert [v.name for v in graph.get_collection("variables")] == [
        *(v.name for v in held["variables"]),
        "other:0",
    ]


def test_a_collection_that_grows_in_the_middle_of_an_edit_is_read_again(
    editor: GraphEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = editor.graph
    logits = graph.get_tensor_by_name("net/logits:0")
    for key in ("ends", "variables"):  # one that the edit leaves alone, one that it adds to
        with in_the_middle(monkeypatch, lambda key=key: graph.add_to_collection(key, logits)):
            editor.clone("x:0", "net/logits:0", into=f"copy_{key}")
        assert "net/logits:0" in [member.name for member in editor._core.index.collections[key]]


@pytest.mark.parametrize("method", ["clone", "insert"])
def test_an_edit_without_other_editors_reads_nothing_again(
    method: str, editor: GraphEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the graph was read again")

    with monkeypatch.context() as context:
        context.setattr(editor._core.target.place, "_take", refuse)
        EDITS[method](editor)
        assert editor._core.index
    names = list(editor._core.index.names)
    editor.source.reload()
    assert set(editor._core.index.names) == set(names)


def test_what_another_thread_adds_while_a_function_grows_stays_when_that_is_undone(
    editor: GraphEditor,
) -> None:
    graph = editor.graph

    def function(x: tf.Tensor) -> tf.Tensor:
        in_another_thread(lambda: add_variable(graph, "other"))
        return x * 2.0

    grown = editor.call("net/one/out:0", function, into="head")
    assert sorted(grown.ops) == ["head/mul", "head/mul/y"]
    assert grown.variables == ()
    editor.undo()
    assert "other" in editor._core.index.ids
    assert "head/mul" not in editor._core.index.ids
    assert "other:0" in [v.name for v in graph.get_collection("variables")]


def test_what_another_thread_adds_while_a_function_fails_stays(editor: GraphEditor) -> None:
    graph, before = editor.graph, list(editor._core.index.names)

    def function(x: tf.Tensor) -> tf.Tensor:
        v1.get_variable("own", [2])
        in_another_thread(lambda: add_variable(graph, "other"))
        raise ValueError(f"no use for {x}")

    with pytest.raises(GraphEditError, match="no use"):
        editor.call("net/one/out:0", function, into="head")
    assert {name.partition("/")[0] for name in editor._core.index.names[len(before) :]} == {"other"}
    assert [v.name for v in graph.get_collection("variables")][-1] == "other:0"


def test_what_another_thread_adds_while_a_copy_of_the_graph_editor_fails_stays(
    mlp: tf.Graph,
) -> None:
    def transform(_: Any, op: tf.Operation, __: Any) -> Any:
        in_another_thread(lambda: add_variable(mlp, "other"))
        raise ValueError(f"no use for {op.name}")

    transformer = ge.Transformer()
    transformer.transform_op_handler = transform
    with pytest.raises(ValueError, match="no use"):
        transformer(ge.sgv([mlp.get_operation_by_name("net/one/out")]), mlp, "copy", "")
    assert "other" in tgw.edit(mlp)._core.index.ids
    assert [v.name for v in mlp.get_collection("variables")][-1] == "other:0"


def test_a_variable_that_has_no_name_yet_is_taken_in_when_it_has_one(editor: GraphEditor) -> None:
    graph = editor.graph
    add_variable(graph, "other")
    other = graph.get_collection("variables")[-1]
    name = other.__dict__.pop("_handle_name")
    assert "other:0" not in [member.name for member in editor._core.index.collections["variables"]]
    assert editor._core.index is editor._core.index
    assert not editor._core.target.place.is_outdated()
    other._handle_name = name
    assert "other:0" in [member.name for member in editor._core.index.collections["variables"]]


@contextmanager
def at_the_same_time(*works: Callable[[], None]) -> Iterator[None]:
    """Each piece of work again and again, in a thread of its own; what one raises is raised at the
    end.
    """
    stop, errors = threading.Event(), list[BaseException]()

    def repeat(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(ENOUGH)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


@pytest.mark.slow
def test_threads_that_add_and_train_while_edits_go_on() -> None:
    """Each edit finds all that came before it, and nothing twice."""
    editor = tgw.example()
    graph, session = editor.graph, editor.session
    added: list[str] = []

    def add() -> None:
        number = len(added)
        if number == 300:
            time.sleep(0.01)
            return
        with graph.as_default():
            logits = graph.get_tensor_by_name("net/logits:0")
            if number % 5 == 0:
                with IN_PYTHON:
                    made = v1.get_variable(f"other/v{number}", [2])
            else:
                made = tf.identity(logits, name="other/i")
        added.append(made.op.name)

    def train() -> None:
        with contextlib.suppress(
            tf.errors.CancelledError
        ):  # of the session that an edit has just renewed
            session.run("net/logits:0", {"x:0": [[1.0, 2.0, 3.0, 4.0]]})

    choose = random.Random(7)
    with at_the_same_time(add, train):
        for _ in range(30):
            choose.choice(EDITS_OF_EXAMPLE)(editor)
            known = added.copy()
            assert editor._core.index.ids.keys() >= set(known)
            index = editor._core.index  # the next one may have more
            assert len(set(index.names)) == len(index)
            editor.history.goto(choose.randrange(len(editor.history.done) + 1))
    ops = [op.name for op in graph.get_operations()]
    record = record_of(graph)
    assert len(ops) == len(set(ops)) == len(graph.as_graph_def().node)
    assert set(editor._core.index.names) == set(ops) - record.hidden - record.veils.keys()
    variables = [v.name for v in graph.get_collection("variables")]
    assert [member.name for member in editor._core.index.collections["variables"]] == variables
    assert {f"{name}:0" for name in added if "/v" in name} <= set(variables)
    assert session.run("net/logits:0", {"x:0": [[1.0, 2.0, 3.0, 4.0]]}).shape == (1, 3)


def place(editor: GraphEditor) -> None:
    """Put an op on a device, or let TensorFlow choose again."""
    device = editor._core.index.nodes[editor._core.index.op("net/hidden/Relu")].device
    editor.set_device("net/hidden/Relu", None if device else "/device:CPU:0")


# TensorFlow adds the attributes of a variable's ops to a dictionary of the graph, and iterates over
# it for each op that Python creates. It raises RuntimeError if one thread does the first and
# another thread the second.
IN_PYTHON = threading.Lock()


def grow(editor: GraphEditor) -> None:
    """Grow a head, which the function makes op by op in the live graph."""
    with IN_PYTHON:
        editor.call(
            "net/hidden/Relu:0", tf.reduce_mean, into=editor._core.executor.free_scope("head")
        )


EDITS_OF_EXAMPLE = [
    lambda e: e.clone("x:0", "net/logits:0", into=e._core.executor.free_scope("copy")),
    lambda e: e.insert(
        "net/hidden/Relu:0", tf.math.l2_normalize, into=e._core.executor.free_scope("unit")
    ),
    grow,
    lambda e: e.rename(
        e.ops(type="SparseSoftmaxCrossEntropyWithLogits").ops[0],
        e._core.executor.free_scope("loss"),
    ),
    place,
]


REFUSED = {
    "clone": lambda e: e.clone("x:0", "net/logits:0", init="current"),
    "clone, from a checkpoint": lambda e: e.clone("x:0", "net/logits:0", init="nowhere/model.ckpt"),
    "clone, of a value": lambda e: e.clone("x:0", "net/logits:0", init={"net/w": np.zeros([3])}),
    "call": lambda e: e.call("net/logits:0", lambda _: 1 / 0, into="head"),
    "grow, a taken name": lambda e: e.call("net/logits:0", tf.identity, into="net"),
    "add": lambda e: e.add(tgw.example().graph, "second", {"labels:0": "x:0"}),
    "insert": lambda e: e.insert(
        "net/logits:0", lambda x: x + tf.Variable(v1.placeholder(tf.float32, [])), into="v"
    ),
    "set_trainable": lambda e: e.set_trainable("x"),
    "freeze": lambda e: e.freeze("net/logits:0"),
    "measure": lambda e: e.measure("net/logits:0", {"x:0": [[1.0]]}),
    "probe": lambda e: e.probe("net/logits", {"x:0": [[1.0]]}),
    "save": lambda e: e.save(f"{__file__}/saved/", "x:0", "net/logits:0"),
    "replay": lambda e: e.history.replay(
        [
            {"command": "bypass", "arguments": {"what": "net/hidden/Relu"}},
            {
                "command": "clone",
                "arguments": {
                    "inputs": ["x:0"],
                    "outputs": ["net/logits:0"],
                    "into": "c",
                    "init": "none",
                },
            },
            {"command": "remove", "arguments": {"what": "nowhere"}},
        ]
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph of tgw.example() in files of all kinds."""
    editor, path = tgw.example(), tmp_path_factory.mktemp("files")
    for name in ("net.pb", "net.pbtxt", "net.meta"):
        editor.save(path / name)
    editor.save(f"{path}/saved/", "x:0", "net/logits:0")
    return path


@pytest.mark.parametrize("kind", ["net.pb", "net.pbtxt", "net.meta", "saved", "bytes"])
@pytest.mark.sample(2)
def test_a_refused_call_leaves_a_file_with_its_edits_as_it_was(
    kind: str, folder: Path, tmp_path: Path
) -> None:
    """Imported into TensorFlow, the new dtype would take a placeholder of another name."""
    path = folder / kind
    for method, refused in REFUSED.items():
        if kind == "saved" and method in ("clone", "freeze"):
            continue  # it has the values that the others lack
        editor = tgw.edit((folder / "net.pb").read_bytes() if kind == "bytes" else path)
        editor.passes.set_input("x:0", dtype="float64", adapter="Cast")
        editor.rename("net/hidden/MatMul", "net/hidden/product")
        editor.rename("net/logits", "scores")
        editor.undo()
        before, names, lines = (
            saved(editor, tmp_path),
            list(editor._core.index.names),
            editor.history.lines,
        )
        with pytest.raises(GraphEditError):
            refused(editor)
        assert saved(editor, tmp_path) == before, method
        assert (
            list(editor._core.index.names),
            editor.history.lines,
            len(editor.history.undone),
        ) == (
            names,
            lines,
            1,
        ), method
        editor.redo()
        editor.history.goto(0)
        assert editor._core.index.dtypes(editor._core.index.op("x")) == ("float32",), method
        editor.history.goto(2)
        assert saved(editor, tmp_path) == before, method


def test_a_save_leaves_a_file_with_its_edits_as_it_was(folder: Path, tmp_path: Path) -> None:
    """A MetaGraphDef is written by TensorFlow, of its own graph, whose ops have the names that the
    file's have.
    """
    editor = tgw.edit(folder / "net.meta", checkpoint=folder / "net")
    editor.passes.set_input("x:0", dtype="float64", adapter="Cast")
    before = saved(editor, tmp_path)
    editor.save(f"{tmp_path}/net.meta")
    assert saved(editor, tmp_path) == before
    assert editor.session.run("net/logits:0", {"x:0": np.ones((2, 4))}).shape == (2, 3)


def test_another_editor_s_file_is_as_it_was_when_a_clone_into_it_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    there = tgw.edit(folder / "net.pb")
    there.passes.set_input("x:0", dtype="float64", adapter="Cast")
    before = saved(there, tmp_path)
    with pytest.raises(GraphEditError):
        tgw.edit(folder / "net.pb").clone(
            "x:0", "net/logits:0", graph=there, placeholders=True, init="current"
        )
    assert saved(there, tmp_path) == before
    assert "x" in there._core.index.ids


def test_a_file_goes_on_after_a_refusal_and_its_ops_keep_their_names_in_tensorflow(
    folder: Path,
) -> None:
    editor = tgw.edit(folder / "net.meta", checkpoint=folder / "net")
    editor.passes.set_input("x:0", dtype="float64", adapter="Cast")
    with pytest.raises(GraphEditError, match="division by zero"):
        editor.call("labels:0", lambda _: 1 / 0, into="head")
    assert editor.source.notices == ()
    grown = editor.call("labels:0", tf.identity, into="head")
    assert grown.outputs.name == "head/Identity:0"
    assert editor.source.notices == ()
    assert editor.session.run("net/logits:0", {"x:0": np.ones((2, 4))}).shape == (2, 3)


def with_an_other_dtype(path: Path) -> GraphEditor:
    """An editor of a file whose input has another dtype, which no op of a live graph can get."""
    editor = tgw.edit(path)
    editor.passes.set_input("x:0", dtype="float64", adapter="Cast")
    return editor


@pytest.mark.parametrize("kind", ["net.pb", "net.meta"])
@pytest.mark.parametrize(
    "clone",
    [
        lambda e: e.clone("x:0", "net/logits:0", into="c", init="none"),
        lambda e: e.clone(e.between("x:0", "net/logits:0"), into="c", init="none"),
        lambda e: (e.mark("x:0", "net/logits:0"), e.clone(into="c", init="none"))[1],
    ],
)
def test_a_clone_of_an_edited_file_finds_the_ops_whose_dtype_was_changed(
    clone: Callable[[GraphEditor], Any], kind: str, folder: Path
) -> None:
    editor = with_an_other_dtype(folder / kind)
    clone(editor)
    assert editor._core.index.nodes[editor._core.index.op("c/net/hidden/MatMul")].input[0] in (
        "x/Cast",
        "c/x/Cast",
    )
    again = tgw.edit(folder / kind)
    again.history.replay(editor.history.records())
    assert again._core.index.names == editor._core.index.names
    editor.undo()
    editor.undo()
    assert editor._core.index.dtypes(editor._core.index.op("x")) == ("float32",)


def test_clones_and_files_that_are_added_read_ops_of_an_edited_file(folder: Path) -> None:
    editor = with_an_other_dtype(folder / "net.pb")
    wide = tf.Graph()
    with wide.as_default():
        tf.identity(v1.placeholder(tf.float64, [None, 4], name="fed"), name="out")
    tgw.edit(wide).clone(
        "fed:0", "out:0", graph=editor, into="first", init="none", replace={"fed:0": "x:0"}
    )
    assert editor._core.index.nodes[editor._core.index.op("first/out")].input[0] == "x"
    editor = with_an_other_dtype(folder / "net.pb")
    editor.add(wide, into="second", connect={"fed:0": "x:0"})
    assert editor._core.index.nodes[editor._core.index.op("second/out")].input[0] == "x"


@pytest.mark.parametrize(
    ("edit", "reader"),
    [
        (lambda e: e.call("x:0", plus_a_variable, into="new"), "new/add"),
        (lambda e: e.insert("x:0", plus_a_variable, into="new"), "new/add"),
    ],
    ids=["call", "insert"],
)
def test_an_edit_that_has_the_file_imported_leaves_the_ops_their_names(
    folder: Path, edit: Callable[[GraphEditor], object], reader: str
) -> None:
    editor = with_an_other_dtype(folder / "net.pb")
    edit(editor)
    assert editor._core.index.nodes[editor._core.index.op(reader)].input[0] == "x"
    names = editor._core.index.names
    elsewhere: dict[str, Any] = {}
    with tf.Graph().as_default():
        exec(editor.history.to_script().text, elsewhere)
    assert elsewhere["editor"]._core.index.names == names
    editor.undo()
    editor.redo()
    assert editor._core.index.names == names


class Rectified(tf.Module):
    """A function that is called once."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[0.5, -1.0], [2.0, 0.25]], name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, self.w))


def test_a_variable_in_a_function_that_is_not_imported_needs_no_import_in_the_script(
    tmp_path: Path,
) -> None:
    module = Rectified()
    tf.saved_model.save(module, f"{tmp_path}/m", signatures=module.__call__)
    editor = tgw.edit(f"{tmp_path}/m", signature="serving_default")
    editor.insert("Relu:0", lambda x: x + tf.Variable(0.25), into="part")
    assert editor._core.source.graph is None
    elsewhere: dict[str, Any] = {}
    with tf.Graph().as_default():
        exec(editor.history.to_script().text, elsewhere)
    assert elsewhere["editor"]._core.target.index.names == editor._core.target.index.names


class Shifted(tf.Module):
    """A function that has captured a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = tf.constant([0.5, -1.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(x + self.offset, name="y")


def test_a_constant_that_a_function_of_a_saved_model_captured_goes_into_a_graph(
    tmp_path: Path,
) -> None:
    tf.saved_model.save(Shifted(), f"{tmp_path}/m")
    saved = tgw.edit(f"{tmp_path}/m")
    other = tgw.example()
    copy = saved.clone(["x:0"], ["y:0"], into="copy", graph=other)
    assert other.session is not None
    assert other.session.run(copy["y:0"], {copy["x:0"]: [[1.0, 1.0]]}).tolist() == [[1.5, 0.0]]


def plus_a_variable(x: Any) -> Any:
    """Makes a variable, for which TensorFlow must hold the graph."""
    offset = tf.compat.v1.get_variable(
        "offset", [], tf.float64, tf.compat.v1.constant_initializer(0.25)
    )
    return tf.add(x, offset, name="add")


def bypass(editor: GraphEditor) -> Any:
    """Changes ops in place, and so renews the session."""
    return editor.bypass("net/one/out")


@pytest.mark.parametrize(
    "name", ["scores", "x"]
)  # of an op that only the added file has, and of one of both
def test_a_file_that_was_added_to_a_file_is_there_when_tensorflow_imports_it(
    tmp_path: Path, name: str
) -> None:
    for file, names, width in (("first", ("x", "y"), 4), ("second", (name, "z"), 3)):
        with tf.Graph().as_default() as graph:
            tf.nn.softmax(v1.placeholder(tf.float32, [None, width], name=names[0]), name=names[1])
        (tmp_path / f"{file}.pb").write_bytes(graph.as_graph_def().SerializeToString())
    editor = tgw.edit(tmp_path / "first.pb")
    copy = editor.add(tmp_path / "second.pb", "second")
    for step in (editor.undo, editor.redo):
        step()
    assert isinstance(editor.graph, tf.Graph)  # it is imported now
    assert copy["z:0"].shape.as_list() == [None, 3]
    assert copy[f"{name}:0"].name == f"second/{name}:0"


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("UpdateEdge", bypass),
        ("TF_NewSessionRef", bypass),
        (
            "SetAttr",
            lambda editor: editor.set_attr(
                "net/one/w/Initializer/random_uniform/RandomUniform", "seed", 5
            ),
        ),
        (
            "TF_NewSessionRef",
            lambda editor: editor.clone("x:0", "net/logits:0", "copy", init="initial"),
        ),
        (
            "TF_NewSessionRef",
            lambda editor: editor.insert("net/one/out:0", lambda x: x * tf.Variable(2.0)),
        ),
        ("TF_NewSessionRef", lambda editor: tgw.renew(editor.session)),
        ("TF_NewSessionRef", lambda editor: editor.extract("x:0", "net/logits:0")),
        ("TF_GraphToGraphDef", lambda editor: tgw.edit(editor.graph, session=editor.session)),
        ("TF_GraphToGraphDef", lambda editor: editor._core.target.place.reread()),
    ],
)
def test_an_error_of_tensorflow_that_is_not_foreseen_is_one_sentence_and_changes_nothing(
    function: str,
    call: Callable[[GraphEditor], Any],
    mlp: tf.Graph,
    session: v1.Session,
    monkeypatch: Any,
) -> None:
    def fail(*_: Any) -> None:
        raise tf.errors.ResourceExhaustedError(
            None, None, "no memory on the device;\n\t [[{{node x}}]]"
        )

    editor = tgw.edit(mlp, session=session)
    nodes, batch = list(editor._core.index.nodes), {"x:0": np.ones((2, 3))}
    before = session.run("net/logits:0", batch)
    with monkeypatch.context() as patched:
        patched.setattr(pywrap_tf_session, function, fail)
        with pytest.raises(GraphEditError, match=r"no memory on the device[^\n]*\.$"):
            call(editor)
    assert list(editor._core.index.nodes) == nodes
    assert editor.history.done == ()
    assert (session.run("net/logits:0", batch) == before).all()
    call(editor)
