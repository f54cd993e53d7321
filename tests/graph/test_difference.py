"""Differences: what is told, what is none, and which op is which when names differ."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import MODELS, build_mlp, v1
from tfgraphwidget.editor.places import OpenedGraph
from tfgraphwidget.graph.diff import COLUMNS, AssetChanges, Detail, Difference, difference
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.naming import split_input
from tfgraphwidget.sources import open_source

Names = Callable[[str], str]


def index_of(graph: tf.Graph) -> GraphIndex:
    return OpenedGraph(open_source(graph)).index


def of(graph_def: v1.GraphDef) -> GraphIndex:
    """The index of a GraphDef as a file holds it."""
    return OpenedGraph(open_source(graph_def)).index


def renamed(graph_def: v1.GraphDef, new: Names) -> v1.GraphDef:
    """A copy under other names."""
    copy = v1.GraphDef.FromString(graph_def.SerializeToString())
    for node in copy.node:
        node.name = new(node.name)
        for k, text in enumerate(list(node.input)):
            op = split_input(text)[0]
            node.input[k] = text.replace(op, new(op), 1)
        if "_class" in node.attr:
            beside = [value[5:].decode() for value in node.attr["_class"].list.s]
            node.attr["_class"].list.s[:] = [f"loc:@{new(name)}".encode() for name in beside]
    return copy


def node(graph_def: v1.GraphDef, name: str) -> v1.NodeDef:
    return next(node for node in graph_def.node if node.name == name)


def test_a_graph_and_itself_do_not_differ(mlp: tf.Graph) -> None:
    found = difference(index_of(mlp), of(mlp.as_graph_def()))
    assert not found
    assert len(found) == 0
    assert repr(found) == "No difference."
    assert found.table().empty


def test_what_is_added_and_removed_is_named_in_graph_order(line: tf.Graph) -> None:
    before = index_of(line)
    with line.as_default():
        late = tf.identity("late", name="late")
        tf.identity(late, name="later")
    after = index_of(line)
    assert difference(before, after).added == ("late/input", "late", "later")
    assert difference(after, before).removed == ("late/input", "late", "later")


def test_each_thing_that_changed_in_an_op_is_reported(line: tf.Graph) -> None:
    before, after = line.as_graph_def(), line.as_graph_def()
    changed = node(after, "c")
    changed.input[0] = "a"
    changed.input.append("^x")
    changed.device = "/device:CPU:0"
    changed.op = "AddV2"
    node(after, "x").attr["shape"].shape.dim[1].size = 5
    found = difference(of(before), of(after))
    assert [(change.name, change.was) for change in found.changed] == [("x", "x"), ("c", "c")]
    assert found.changed[0].details == (Detail("attr shape", "(None, 2)", "(None, 5)"),)
    assert found.changed[1].details == (
        Detail("type", "Mul", "AddV2"),
        Detail("device", "", "/device:CPU:0"),
        Detail("input 0", "b:0", "a:0"),
        Detail("control input", "", "x"),
    )
    assert (
        "c: type Mul → AddV2; device + /device:CPU:0; input 0 b:0 → a:0; control input + x"
        in repr(found)
    )
    assert len(found) == 2


def test_an_attribute_at_its_default_is_none(line: tf.Graph) -> None:
    with line.as_default():
        tf.linalg.matmul(line.get_tensor_by_name("x:0"), [[1.0], [2.0]], name="product")
    bare, full = line.as_graph_def(), line.as_graph_def(add_shapes=True)
    del node(bare, "product").attr["transpose_a"]
    assert not difference(of(bare), of(full))
    node(full, "product").attr["transpose_a"].b = True
    assert difference(of(bare), of(full)).changed[0].details == (
        Detail("attr transpose_a", "False", "True"),
    )


def test_the_order_of_control_inputs_and_of_colocations_does_not_matter() -> None:
    with tf.Graph().as_default() as graph:
        first, second = tf.no_op("first"), tf.no_op("second")
        with tf.control_dependencies([first, second]):
            last = tf.no_op("last")
        last._set_attr(
            "_class", v1.AttrValue(list=v1.AttrValue.ListValue(s=[b"loc:@first", b"loc:@second"]))
        )
    before, after = graph.as_graph_def(), graph.as_graph_def()
    for held in (node(after, "last").input, node(after, "last").attr["_class"].list.s):
        held[:] = list(held)[::-1]
    assert not difference(of(before), of(after))
    node(after, "last").input.pop()
    assert [d.what for d in difference(of(before), of(after)).changed[0].details] == [
        "control input"
    ]


def test_a_colocation_with_an_op_that_is_not_there_says_nothing(line: tf.Graph) -> None:
    """A function names ops of the graph around it, with the numbers of these."""

    def beside(name: bytes) -> v1.GraphDef:
        graph_def = line.as_graph_def()
        graph_def.node[-1].attr["_class"].list.s.append(b"loc:@" + name)
        return graph_def

    assert not difference(of(beside(b"lookup/14")), of(beside(b"lookup/126")))
    there = line.as_graph_def().node[0].name.encode()
    assert difference(of(beside(b"lookup/14")), of(beside(there))).changed


def test_large_constants_that_look_alike_are_distinguished() -> None:
    def graph_def(last: float) -> v1.GraphDef:
        with tf.Graph().as_default() as graph:
            tf.constant(np.array([0.0] * 99 + [last], np.float32), name="c")
        return graph.as_graph_def()

    (change,) = difference(of(graph_def(1)), of(graph_def(2))).changed
    assert change.details == (Detail("attr value", "float32 (100,)", "float32 (100,), another"),)
    assert not difference(of(graph_def(float("nan"))), of(graph_def(float("nan"))))


def test_a_scope_that_was_renamed_is_the_same_scope(mlp: tf.Graph) -> None:
    graph_def = mlp.as_graph_def()
    found = difference(
        of(graph_def), of(renamed(graph_def, lambda name: name.replace("net/one", "first")))
    )
    assert (found.added, found.removed, found.changed) == ((), (), ())
    assert (
        len(found)
        == len(found.renamed)
        == sum(name.startswith("net/one") for name in index_of(mlp).names)
    )
    assert f"net/one → first ({len(found)} ops)" in repr(found)


@pytest.mark.parametrize("seed", range(3))
def test_without_any_name_ops_are_found_by_what_is_around_them(seed: int) -> None:
    graph_def = build_mlp(resource=False).as_graph_def()
    order = list(range(len(graph_def.node)))
    random.Random(seed).shuffle(order)
    names = {node.name: f"op{k}" for k, node in zip(order, graph_def.node, strict=True)}
    other = renamed(graph_def, names.__getitem__)
    other.node.sort(key=lambda node: node.name)
    found = difference(of(graph_def), of(other))
    assert dict(found.renamed) == names
    assert not found.changed


def test_a_renamed_op_that_changed_too_is_reported_as_both(mlp: tf.Graph) -> None:
    graph_def = mlp.as_graph_def()
    other = renamed(graph_def, lambda name: f"there/{name}")
    node(other, "there/net/logits").input[0] = "there/net/one/out"
    node(other, "there/net/two/MatMul").device = "/device:CPU:0"
    found = difference(of(graph_def), of(other))
    assert len(found.renamed) == len(graph_def.node) == len(found)
    assert [(change.name, change.was, len(change.details)) for change in found.changed] == [
        ("there/net/two/MatMul", "net/two/MatMul", 1),
        ("there/net/logits", "net/logits", 1),
    ]


def test_where_several_are_alike_none_is_guessed() -> None:
    def graph_def(names: str) -> v1.GraphDef:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, name="x")
            for name in names:
                tf.nn.relu(x, name=name)
        return graph.as_graph_def()

    found = difference(of(graph_def("ab")), of(graph_def("cd")))
    assert found.added == ("c", "d")
    assert found.removed == ("a", "b")
    assert difference(of(graph_def("ab")), of(graph_def("ac"))).renamed == (("b", "c"),)


def test_names_that_are_known_to_be_exchanged_are_followed() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.square(tf.abs(x, name="a"), name="b")
    exchanged = renamed(graph.as_graph_def(), lambda name: {"a": "b", "b": "a"}.get(name, name))
    for known in ({"a": "b", "b": "a", "gone": "x"}, {}):  # the ops show it, too
        found = difference(index_of(graph), of(exchanged), known)
        assert set(found.renamed) == {("a", "b"), ("b", "a")}
        assert not found.changed


def test_a_reroute_is_no_renaming(line: tf.Graph) -> None:
    with line.as_default():
        tf.multiply(line.get_tensor_by_name("x:0"), 2.0, name="other")
    graph_def = line.as_graph_def()
    there = renamed(graph_def, lambda name: f"t/{name}")
    node(there, "t/c").input[0] = "t/other"
    found = difference(of(graph_def), of(there))
    assert dict(found.renamed)["b"] == "t/b"
    assert [str(change) for change in found.changed] == ["t/c: input 0 b:0 → t/other:0"]


def test_a_variable_that_keeps_its_state_under_another_name_did_not_change(
    editor: tgw.GraphEditor,
) -> None:
    editor.rename("net/one/w", "kernel")
    found = editor.diff()
    assert ("net/one/w", "kernel") in found.renamed
    assert not found.changed


def test_masks_are_of_either_graph(line: tf.Graph) -> None:
    before = index_of(line)
    with line.as_default():
        tf.identity(line.get_tensor_by_name("c:0"), name="late")
    after = index_of(line)
    line.get_operation_by_name("c")._set_device("/device:CPU:0")
    found = difference(before, index_of(line))
    held = found.ops(after)
    assert {
        kind: [after.names[i] for i in np.flatnonzero(mask)] for kind, mask in held.items()
    } == {
        "added": ["late"],
        "removed": [],
        "changed": ["c"],
    }
    assert not found.ops(before)["added"].any()


def test_the_table_has_a_row_for_each_detail(line: tf.Graph) -> None:
    after = line.as_graph_def()
    node(after, "c").input[0] = "a"
    node(after, "c").device = "/device:CPU:0"
    found = difference(index_of(line), of(after))
    table = found.table()
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == list(COLUMNS)
    assert list(table["what"]) == ["device", "input 0"]
    assert table.to_dict("records") == found.rows()


def function_graph(factor: float, name: str) -> v1.GraphDef:
    """A graph that calls a function, which a process numbers as it likes."""

    @tf.function
    def scaled(x: tf.Tensor) -> tf.Tensor:
        return x * factor

    with tf.Graph().as_default() as graph:
        tf.identity(scaled(v1.placeholder(tf.float32, [2], name="x")), name="y")
    graph_def = graph.as_graph_def()
    (old,) = (function.signature.name for function in graph_def.library.function)
    graph_def.library.function[0].signature.name = name
    for held in graph_def.node:
        for value in held.attr.values():
            if value.func.name == old:
                value.func.name = name
    return graph_def


def loop_with_gradient() -> v1.GraphDef:
    """A loop, of whose condition the graph holds two, as its gradient makes another one."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        y = tf.constant(2.0) * x
        (_, product) = tf.while_loop(
            lambda i, _: i < 3, lambda i, z: (i + 1, z * y), [tf.constant(0), x]
        )
        tf.gradients(product, x)
    return graph.as_graph_def()


def test_a_loop_with_a_gradient_that_is_built_twice_does_not_differ() -> None:
    enabled = v1.control_flow_v2_enabled()
    v1.enable_control_flow_v2()
    try:
        one, same = loop_with_gradient(), loop_with_gradient()
    finally:
        if not enabled:
            v1.disable_control_flow_v2()
    assert {node.op for node in one.node} & {"While", "StatelessWhile"}
    names = [
        {function.signature.name for function in each.library.function} for each in (one, same)
    ]
    assert names[0].isdisjoint(names[1])
    assert not difference(of(one), of(same))


def test_a_function_is_what_it_does_whatever_its_number() -> None:
    one, same = (
        function_graph(2.0, "__inference_scaled_7"),
        function_graph(2.0, "__inference_scaled_12"),
    )
    found = difference(of(one), of(same))
    assert not found
    assert not found.rows()
    assert found.functions.renamed == (("__inference_scaled_7", "__inference_scaled_12"),)
    assert repr(found).splitlines() == [
        "No difference.",
        "1 function renamed, equal otherwise",
        "    __inference_scaled_7 → __inference_scaled_12",
    ]
    changed = difference(of(one), of(function_graph(3.0, "__inference_scaled_7"))).functions
    assert (changed.added, changed.removed, changed.changed) == ((), (), ("__inference_scaled_7",))
    other = difference(of(one), of(function_graph(3.0, "triple")))
    assert (other.functions.added, other.functions.removed) == (
        ("triple",),
        ("__inference_scaled_7",),
    )
    assert [detail.what for change in other.changed for detail in change.details] == ["attr f"]


def test_the_number_of_a_custom_gradient_counts_in_its_own_process_only() -> None:
    with tf.Graph().as_default() as graph:
        tf.nn.silu(v1.placeholder(tf.float32, [2], name="x"))
    first, second = graph.as_graph_def(), graph.as_graph_def()
    (op,) = (op for op in second.node if op.op == "IdentityN")
    op.attr["_gradient_op_type"].s = b"CustomGradient-1000001"
    assert not difference(of(first), of(second))
    before, after = of(first), of(second)
    one_graph = dataclasses.replace(after, origin=before.origin)
    (change,) = difference(before, one_graph).changed
    assert [detail.what for detail in change.details] == ["attr _gradient_op_type"]


@pytest.mark.parametrize("model", ["seq2seq_v1.meta", "dqn_online_train.meta"])
def test_a_real_model_under_a_scope_is_the_same_model(model: str) -> None:
    graph_def = v1.MetaGraphDef.FromString((MODELS / model).read_bytes()).graph_def
    found = difference(of(graph_def), of(renamed(graph_def, lambda name: f"net/{name}")))
    assert (found.added, found.removed) == ((), ())
    assert len(found.renamed) == len(graph_def.node)
    assert not found.changed


def test_nothing_differs_from_nothing() -> None:
    empty = index_of(tf.Graph())
    assert difference(empty, index_of(tf.Graph())) == Difference()
    with tf.Graph().as_default() as graph:
        tf.no_op("a")
    assert difference(empty, index_of(graph)).added == ("a",)


def export_table(folder: Path, words: str, *, is_v1: bool, name: str = "words.txt") -> Path:
    """A SavedModel that looks words up in a table, which is filled from an asset file."""
    vocabulary = folder.parent / name
    vocabulary.write_text(words)
    lookup = tf.lookup
    columns = tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER

    def new_table() -> Any:
        return lookup.StaticHashTable(lookup.TextFileInitializer(str(vocabulary), *columns), -1)

    if is_v1:
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.string, [None], "x")
            y = new_table().lookup(x)
            init = v1.tables_initializer()
            session.run(init)
            v1.saved_model.simple_save(
                session, str(folder), {"x": x}, {"y": y}, legacy_init_op=init
            )
    else:
        module = tf.Module()
        module.table = new_table()
        spec = tf.TensorSpec([None], tf.string, "x")
        call = tf.function(lambda x: {"y": module.table.lookup(x)}, input_signature=[spec])
        tf.saved_model.save(module, folder, call)
    return folder


@pytest.mark.parametrize("is_v1", [True, False])
def test_asset_files_are_compared_by_content(tmp_path: Path, is_v1: bool) -> None:
    first = export_table(tmp_path / "first", "a\nb\n", is_v1=is_v1)
    second = tmp_path / "second"
    shutil.copytree(first, second)
    assert not tgw.edit(second).diff(first)
    whole = tgw.edit(second)
    whole.view.leave(0)
    assert not whole.diff(first)
    (second / "assets" / "words.txt").write_text("a\nc\n")  # as long as before
    found = tgw.edit(second).diff(first)
    assert found
    assert found.assets == AssetChanges(changed=("words.txt",))
    assert "1 asset changed\n    words.txt" in repr(found)
    assert ("changed", "words.txt", "asset") in {
        (row["change"], row["op"], row["what"]) for row in found.rows()
    }
    whole = tgw.edit(second)
    whole.view.leave(0)
    (constant,) = whole.diff(first).changed  # which holds the path of the file
    assert [detail.what for detail in constant.details] == ["attr value"]
    (second / "assets" / "words.txt").unlink()
    assert tgw.edit(second).diff(first).assets.changed == ("words.txt",)


@pytest.mark.parametrize("is_v1", [True, False])
def test_an_asset_file_with_another_name_and_the_same_content_is_renamed(
    tmp_path: Path, is_v1: bool
) -> None:
    first = export_table(tmp_path / "first", "a\nb\n", is_v1=is_v1)
    second = export_table(tmp_path / "second", "a\nb\n", is_v1=is_v1, name="terms.txt")
    assert tgw.edit(second).diff(first).assets == AssetChanges(
        renamed=(("words.txt", "terms.txt"),)
    )
    third = export_table(tmp_path / "third", "a\n", is_v1=is_v1, name="terms.txt")
    found = tgw.edit(third).diff(first).assets
    assert found == AssetChanges(added=("terms.txt",), removed=("words.txt",))


def test_other_versions_are_a_line_and_no_difference(mlp: tf.Graph) -> None:
    before, after = mlp.as_graph_def(), mlp.as_graph_def()
    before.versions.producer, after.versions.producer = 27, 1205
    before.versions.min_consumer = 12  # that of any graph with functions
    found = difference(of(before), of(after))
    assert not found
    assert repr(found) == "No difference.\nversions: producer 27 → 1205"
    assert [row["what"] for row in found.rows()] == ["version producer"]
    after.versions.min_consumer = 100
    after.versions.bad_consumers.append(20)
    found = difference(of(before), of(after))
    assert found.version_line.endswith("min_consumer 12 → 100, bad_consumers none → 20")
    assert not found.without(["versions"]).rows()
