"""Passes: the graph computes what it did before, on a live graph and as a file; undo gives the old
graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.function import Defun

import tfgraphwidget as tgw
from tests.edits.passes.networks import NETWORKS, Network
from tests.nothing import says_nothing

v1 = tf.compat.v1
PASSES: dict[str, Callable[[tgw.GraphEditor], Any]] = {
    "remove_identities": lambda editor: editor.passes.remove_identities(
        also=["CheckNumerics", "StopGradient", "NoOp", "Assert", "PreventGradient", "Snapshot"]
    ),
    "remove_devices": lambda editor: editor.passes.remove_devices(),
    "merge_duplicates": lambda editor: editor.passes.merge_duplicates(),
    "fold_constants": lambda editor: editor.passes.fold_constants(),
    "sort": lambda editor: editor.passes.sort(),
    "obfuscate_names": lambda editor: editor.passes.obfuscate_names(),
}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]()


def apply(editor: tgw.GraphEditor, name: str) -> bool:
    """Whether the pass had something to do; if so, it has nothing to do after."""
    done = len(editor.history.done)
    if not PASSES[name](editor):
        assert len(editor.history.done) == done
        return False
    says_nothing(PASSES[name](editor))
    assert len(editor.history.done) == done + 1
    return True


def same(a: list[Any], b: list[Any]) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "name", [name for name in PASSES if name not in ("sort", "obfuscate_names")]
)
@pytest.mark.sample(8)
def test_a_pass_on_a_live_graph_keeps_what_its_session_computes_and_is_undone(
    network: Network, name: str
) -> None:
    before, editor = network.run(), network.edit()
    names, nodes = list(editor._core.index.names), list(editor._core.index.nodes)
    if not apply(editor, name):
        return
    renamed = dict(editor.history.done[-1].patch.output_renames)
    fetches = [
        renamed.get(output.partition(":")[0], output.partition(":")[0]) + ":0"
        for output in network.outputs
    ]
    assert set(fetches) <= {f"{op}:0" for op in editor._core.index.names}
    same(network.session.run(fetches, dict(network.feeds)), before)
    same(network.run(), before)
    editor.undo()
    assert list(editor._core.index.names) == names
    assert list(editor._core.index.nodes) == nodes
    same(network.run(), before)


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.sample(10)
def test_a_pass_on_a_file_keeps_what_the_file_computes(
    network: Network, name: str, tmp_path: Path
) -> None:
    path, passed = tmp_path / "graph.pb", tmp_path / "passed.pb"
    path.write_bytes(network.graph.as_graph_def().SerializeToString(deterministic=True))
    if name == "sort":  # there is something to sort
        graph_def = network.graph.as_graph_def()
        nodes = list(graph_def.node)[::-1]
        del graph_def.node[:]
        graph_def.node.extend(nodes)
        path.write_bytes(graph_def.SerializeToString(deterministic=True))
    editor = tgw.edit(path)
    if not apply(editor, name):
        return
    assert editor._core.source.graph is None, "a file stays a file"
    passed.write_bytes(editor.save(tmp_path / "saved.pb", verify=False).read_bytes())
    names = dict(editor.history.done[0].patch.renamed)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(v1.GraphDef.FromString(passed.read_bytes()), name="")
        feeds = {
            names.get(key[:-2], key[:-2]) + ":0": value for key, value in network.feeds.items()
        }
        fetches = [names.get(output[:-2], output[:-2]) + ":0" for output in network.outputs]
        with v1.Session(graph=graph) as session:
            starters = [
                name for name in ("init", "init_all_tables") if name in network.graph._nodes_by_name
            ]
            session.run([names.get(starter, starter) for starter in starters])
            same(session.run(fetches, feeds), network.run())
    edits = editor.history.records()
    again = tgw.edit(path)
    assert again.history.replay(edits) == 1
    assert list(again._core.index.nodes) == list(editor._core.index.nodes)
    editor.undo()
    assert not editor.diff()


@pytest.mark.parametrize("name", ["merge_duplicates", "remove_identities", "fold_constants"])
@pytest.mark.parametrize("build", ["loop", "conditional"])
@pytest.mark.sample(2)
def test_a_meta_graph_of_loops_and_conditionals_is_imported_after_a_pass(
    build: str, name: str, tmp_path: Path
) -> None:
    """Its control flow contexts name no op that the pass has removed."""
    network = NETWORKS[build]()
    file = network.edit().save(tmp_path / "graph.meta", verify=False)
    for editor in (network.edit(), tgw.edit(file)):
        PASSES[name](editor)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "TensorFlow cannot make an op another one in place")
            passed = editor.save(tmp_path / "passed.meta", verify=False)
        renamed = dict(editor.history.done[-1].patch.output_renames)
        fetches = [f"{renamed.get(output[:-2], output[:-2])}:0" for output in network.outputs]
        with tf.Graph().as_default() as graph:
            v1.train.import_meta_graph(str(passed))
            x = graph.get_tensor_by_name("x:0")
            assert v1.gradients(graph.get_tensor_by_name(fetches[0]), x)[0] is not None
            with v1.Session(graph=graph) as session:
                same(session.run(fetches, dict(network.feeds)), network.run())


@pytest.mark.parametrize("name", ["remove_identities", "fold_constants"])
def test_functions_of_tensorflow_1_that_call_each_other_by_type_are_rewritten(name: str) -> None:
    with tf.Graph().as_default() as graph:

        @Defun(tf.float32, func_name="inner")
        def inner(x: tf.Tensor) -> tf.Tensor:
            return tf.square(tf.identity(x)) + (tf.constant(1.0) + tf.constant(2.0))

        @Defun(tf.float32, func_name="outer")
        def outer(x: tf.Tensor) -> tf.Tensor:
            return inner(x)

        tf.identity(outer(v1.placeholder(tf.float32, [2], name="x")), name="y")
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "TensorFlow cannot make an op another one in place")
            PASSES[name](editor)
        assert {f"outer_{name}", f"inner_{name}"} <= set(editor._core.index.functions)
        assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [4, 7]


def test_what_can_be_fetched_in_an_imported_conditional_can_be_after_renames_and_their_undo(
    tmp_path: Path,
) -> None:
    file = NETWORKS["conditional"]().edit().save(tmp_path / "graph.meta", verify=False)
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(str(file))

    def fetchable(names: list[str]) -> list[bool]:
        return [graph.is_fetchable(graph.get_operation_by_name(name)) for name in names]

    editor = tgw.edit(graph)
    names = list(editor._core.index.names)
    before = fetchable(names)
    editor.passes.obfuscate_names()
    renamed = dict(editor.history.done[-1].patch.renamed)
    assert fetchable([renamed.get(name, name) for name in names]) == before
    editor.undo()
    assert fetchable(names) == before
    assert all(before)


@pytest.mark.parametrize("collections", [None, []], ids=["in collections", "in none"])
@pytest.mark.parametrize("resource", [True, False])
def test_a_file_without_values_keeps_what_its_session_was_given_while_names_are_obfuscated(
    collections: list[str] | None, resource: bool
) -> None:
    with tf.Graph().as_default() as graph:
        variable = v1.get_variable("w", [2], use_resource=resource, collections=collections)
        tf.identity(variable.read_value() if resource else variable, name="y")
    editor = tgw.edit(graph.as_graph_def())
    editor.session.run("w/Assign")
    before = editor.session.run("y:0")
    new = dict(editor.passes.obfuscate_names().renamed)["y"]
    assert new != "y"
    same(editor.session.run([f"{new}:0"]), [before])
    editor.undo()
    same(editor.session.run(["y:0"]), [before])


@pytest.mark.parametrize("resource", [True, False])
def test_undo_of_obfuscated_names_keeps_what_the_session_was_given_since(resource: bool) -> None:
    """A file without values is given other keys, under which its session then finds them."""
    with tf.Graph().as_default() as graph:
        variable = v1.get_variable("w", [2], use_resource=resource)
        tf.identity(variable.read_value() if resource else variable, name="y")
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="table")
        table.insert(
            v1.placeholder(tf.string, [], name="word"), tf.constant(7, tf.int64), name="insert"
        )
        tf.identity(table.lookup(tf.constant("new")), name="number")
    editor = tgw.edit(graph.as_graph_def())
    names = dict(editor.passes.obfuscate_names().renamed)
    editor.session.run(names["w/Assign"])
    editor.session.run(names["insert/LookupTableInsertV2"], {f"{names['word']}:0": "new"})
    given = editor.session.run(f"{names['y']}:0")
    editor.undo()
    (sentence,) = editor._core.executor.lost
    assert sentence.endswith("the session was closed; the next one begins with its values.")
    same(editor.session.run(["y:0", "number:0"]), [given, 7])
    editor.session.run("w/Assign")
    changed = editor.session.run("y:0")
    assert not np.array_equal(changed, given)
    editor.redo()
    same(editor.session.run([f"{names['y']}:0", f"{names['number']}:0"]), [changed, 7])


def test_state_that_a_function_shares_with_the_graph_keeps_its_key_while_names_are_obfuscated() -> (
    None
):
    """Functions stay as they are, and find it by that key."""
    with tf.Graph().as_default() as graph:
        variable = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)

        @Defun()
        def read() -> Any:
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="w")
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

        v1.get_variable("v", initializer=[3.0], use_resource=True)
        with tf.control_dependencies([variable.initializer]):
            tf.identity(read(), name="y")
    editor = tgw.edit(graph.as_graph_def())
    names = dict(editor.passes.obfuscate_names().renamed)
    keys = [
        editor._core.index.nodes[editor._core.index.op(names[name])].attr["shared_name"].s
        for name in ("w", "v")
    ]
    assert keys[0] == b"w"
    assert keys[1].startswith(b"key_")
    assert editor.session.run(f"{names['y']}:0").tolist() == [1, 2]


@tf.RegisterGradient("tests.edits.passes.reversed")  # type: ignore[untyped-decorator]
def _reverse(_: tf.Operation, gradient: tf.Tensor) -> tf.Tensor:
    return -gradient


def test_ops_that_differ_in_their_gradient_alone_are_not_merged() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [3], name="x")
        forward = tf.identity(x, name="forward")
        with graph.gradient_override_map({"Identity": "tests.edits.passes.reversed"}):
            flipped = tf.identity(x, name="flipped")
        again = tf.identity(x, name="again")
        loss = tf.add_n([forward * 2.0, flipped * 3.0, again * 5.0], name="loss")
    editor = tgw.edit(graph)
    assert editor.passes.merge_duplicates().removed == ("again",)
    with graph.as_default(), v1.Session(graph=graph) as session:
        gradient = session.run(tf.gradients(loss, x)[0], {x: np.zeros(3, np.float32)})
    assert gradient.tolist() == [4.0, 4.0, 4.0]
