"""Nothing to do is a result, not an error: on an empty, a tiny and a clean graph, live and from a
file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor.public_names import public_methods
from tests.nothing import says_nothing
from tfgraphwidget.editor.edit_methods import Passes
from tfgraphwidget.errors import GraphEditError, UnknownName


def empty() -> tf.Graph:
    return tf.Graph()


def tiny() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        v1.placeholder(tf.float32, [None], name="Placeholder_1")
    return graph


def clean() -> tf.Graph:
    with tf.Graph().as_default() as graph:
        tf.nn.relu(v1.placeholder(tf.float32, [None, 4], name="Placeholder_1"), name="Relu_1")
    return graph


def no_ops(editor: tgw.GraphEditor) -> tgw.Selection:
    """A query without a hit, whose result goes into an edit."""
    return editor.ops(type="Elu")


EDITS: dict[str, Callable[[tgw.GraphEditor], object]] = {
    **{
        f"passes.{name}": lambda editor, name=name: getattr(editor.passes, name)()
        for name in (
            "remove_identities", "merge_duplicates", "fold_constants", "remove_devices",
            "remove_functions", "sort", "quantize_weights", "round_weights", "fold_batch_norm",
            "obfuscate_names",
        )
    },
    "passes.cast": lambda editor: editor.passes.cast("float16"),
    "passes.rename_type": lambda editor: editor.passes.rename_type("Elu", "Selu"),
    "passes.strip_training": lambda editor: editor.passes.strip_training(),
    "replace_all": lambda editor: editor.replace_all("Elu(x)", "x"),
    # Of what a query has found, which is nothing.
    "remove": lambda editor: editor.remove(no_ops(editor)),
    "bypass": lambda editor: editor.bypass(no_ops(editor)),
    "detach": lambda editor: editor.detach(no_ops(editor)),
    "replace": lambda editor: editor.replace(no_ops(editor), "Relu"),
    "set_device": lambda editor: editor.set_device(no_ops(editor), "/device:CPU:0"),
    "swap": lambda editor: editor.swap(no_ops(editor), no_ops(editor)),
    "reroute": lambda editor: editor.reroute([], []),
    "freeze": lambda editor: editor.freeze(no_ops(editor)),
    "apply": lambda editor: editor.apply([]),
    "apply, none": lambda editor: editor.apply(tgw.passes.Sequential()),
}  # fmt: skip
# What is so already, of the op that a tiny and a clean graph have.
AGAIN: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "rename": lambda editor: editor.rename("Placeholder_1", "Placeholder_1"),
    "set_device": lambda editor: editor.set_device("Placeholder_1", ""),
    "set_attr": lambda editor: editor.set_attr("Placeholder_1", "dtype", tf.float32),
    "passes.set_input": lambda editor: editor.passes.set_input("Placeholder_1:0", dtype="float32"),
    "passes.change_batch_size": lambda editor: editor.passes.change_batch_size(None),
    "add_control_inputs": lambda editor: editor.add_control_inputs("Placeholder_1", []),
    "remove_control_inputs": lambda editor: editor.remove_control_inputs("Placeholder_1", []),
    "reroute": lambda editor: editor.reroute("Placeholder_1:0", "Placeholder_1:0"),
    "apply": lambda editor: editor.apply(tgw.passes.Sequential(tgw.passes.remove_identities())),
    "insert": lambda editor: editor.insert("Placeholder_1:0", lambda tensor: tensor),
    "set_trainable": lambda editor: editor.set_trainable(),
}
HISTORY: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "undo": lambda editor: editor.undo(),
    "redo": lambda editor: editor.redo(),
    "history.goto": lambda editor: editor.history.goto(0),
    "history.replay": lambda editor: editor.history.replay([]),
    "history.records": lambda editor: editor.history.records(),
    "diff": lambda editor: editor.diff(),
    "view.leave": lambda editor: editor.view.leave(),
    "view.show": lambda editor: editor.view.show(),
    "view.unpin": lambda editor: editor.view.unpin(),
    "view.collapse": lambda editor: editor.view.collapse(),
    "mark": lambda editor: editor.mark([], []),
}
# What they do is not done to ops that may be missing, or they give an object that needs some; or
# they take one op, of which none is too few.
OTHERS = {
    "clone": "gives a copy", "extract": "gives a graph", "split": "gives graphs",
    "add": "gives a copy",
    "call": "gives ops",
    "to_module": "gives a module", "to_function": "gives a function", "to_keras": "gives a layer",
    "to_networkx": "gives a graph", "save": "writes a file", "connect": "takes one input",
    "set_constant": "takes one tensor",
    "preview": "of an edit", "batch": "of edits", "inspect": "a text", "ops": "a query",
    "between": "a query", "upstream": "a query", "downstream": "a query", "path": "a query",
    "beside": "two graphs", "draw": "a picture", "table": "a table", "measure": "runs",
    "probe": "runs",
    "compare": "runs",
    "passes.grappler": "needs outputs", "passes.remove_attr": "takes a name",
    "passes.remove_collection": "takes a name", "history.to_script": "a text",
    "history.reserve": "for names",
    "signatures.add": "takes a name", "signatures.remove": "takes a name",
    "signatures.rename": "takes a name", "signatures.reorder": "takes a name",
    "signatures.open": "takes a name", "source.reload": "the file", "view.enter": "takes one op",
    "view.reveal": "takes a name", "view.pin": "takes a name", "view.expand": "of scopes",
    "view.hide": "of a view", "view.show_only": "of a view", "view.color_by": "of a view",
    "view.on_change": "of a view", "view.to_svg": "a picture", "view.scene": "a picture",
    "view.called_functions": "a query",
}  # fmt: skip
QUERIES: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "find": lambda editor: editor.find("type:Elu nothing"),
    "of_type": lambda editor: editor.ops(type="Elu"),
    "matching": lambda editor: editor.ops(matching="nothing"),
    "where": lambda editor: editor.ops(where=lambda op: op.name == "nothing"),
    "match": lambda editor: editor.match("Elu(x)"),
    "producing": lambda editor: editor.ops(dtype="int64"),
    "fan_out": lambda editor: editor.ops(consumers=9),
    "loops": lambda editor: editor.find("is:loop").loops(),
    "conditionals": lambda editor: editor.find("type:Merge").conditionals(),
    "trainable_variables": lambda editor: editor.find("is:trainable"),
    "lint": lambda editor: editor.lint(),
}
NAMES: dict[str, Callable[[tgw.GraphEditor], object]] = {
    "of_type": lambda editor: editor.ops(type="Reluu"),
    "rename_type": lambda editor: editor.passes.rename_type("Reluu", "Elu"),
    "match": lambda editor: editor.match("Reluu(x)"),
    "replace_all": lambda editor: editor.replace_all("Reluu(x)", "x"),
    "scope": lambda editor: editor.ops(scope="nothing"),
    "ops": lambda editor: editor.ops("nothing"),
    "remove_attr": lambda editor: editor.passes.remove_attr("nothing"),
    "remove_collection": lambda editor: editor.passes.remove_collection("nothing"),
    "remove": lambda editor: editor.remove("nothing"),
    "signatures.remove": lambda editor: editor.signatures.remove("nothing"),
    "replace_all by": lambda editor: editor.replace_all("Elu(x)", "Reluu(x)"),
    "dtype": lambda editor: editor.ops(dtype="nothing"),
    "unpin": lambda editor: editor.view.unpin("nothing"),
}
# What takes some ops or all, and is given none: a list that is empty, a query without a hit.
SOME_OR_ALL: dict[str, Callable[[tgw.GraphEditor, Any], object]] = {
    "match": lambda editor, none: editor.match("Relu(x)", within=none),
    "replace_all": lambda editor, none: editor.replace_all("Relu(x)", "Elu(x)", within=none),
    "passes.remove_attr": lambda editor, none: editor.passes.remove_attr("marked", none),
    "passes.fold_batch_norm": lambda editor, none: editor.passes.fold_batch_norm(none),
    "passes.change_batch_size": lambda editor, none: editor.passes.change_batch_size(8, none),
    "insert": lambda editor, none: editor.insert("r:0", "Identity", only=none),
    "reroute": lambda editor, none: editor.reroute("r:0", to="x:0", only=none),
    "swap": lambda editor, none: editor.swap("r:0", "x:0", only=none),
    "freeze": lambda editor, none: editor.freeze(none),
}
GRAPHS = {"empty": empty, "tiny": tiny, "clean": clean}


@pytest.fixture(params=["live", "file"])
def opened(request: pytest.FixtureRequest) -> Callable[[str], tgw.GraphEditor]:
    """Opens a graph by its name."""

    def open_graph(name: str) -> tgw.GraphEditor:
        if request.param == "live":
            return tgw.edit(GRAPHS[name]())
        # A GraphDef without ops is not a file of a graph; one whose only op was removed is one.
        editor = tgw.edit(GRAPHS[name if name != "empty" else "tiny"]().as_graph_def())
        if name == "empty":
            editor.remove("Placeholder_1")
        return editor

    return open_graph


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_an_edit_that_finds_nothing_reports_so_and_is_no_step(
    edit: str, graph: str, opened: Callable[[str], tgw.GraphEditor]
) -> None:
    editor = opened(graph)
    called: list[int] = []
    editor._core.listeners.append(lambda: called.append(1))
    before = editor._core.index, editor.selection, editor.history
    for _ in range(2):
        says_nothing(EDITS[edit](editor))
    assert (editor._core.index, editor.selection, editor.history, called) == (*before, [])


@pytest.mark.parametrize("edit", AGAIN)
@pytest.mark.parametrize("graph", ["tiny", "clean"])
def test_what_is_so_already_is_no_step(
    edit: str, graph: str, opened: Callable[[str], tgw.GraphEditor]
) -> None:
    editor = opened(graph)
    before = editor._core.index, editor.history
    says_nothing(AGAIN[edit](editor))
    assert (editor._core.index, editor.history) == before


@pytest.mark.parametrize("method", HISTORY)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_call_without_anything_to_do_is_false_and_changes_nothing(
    method: str, graph: str
) -> None:
    editor = tgw.edit(GRAPHS[graph]())
    before = editor._core.index, editor.selection, editor.history, editor.view.breadcrumb
    assert not HISTORY[method](editor)
    now = editor._core.index, editor.selection, editor.history, editor.view.breadcrumb
    assert now == before


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_query_without_a_hit_is_false(
    query: str, graph: str, opened: Callable[[str], tgw.GraphEditor]
) -> None:
    assert not QUERIES[query](opened(graph))


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_name_that_does_not_exist_is_an_error(
    method: str, graph: str, opened: Callable[[str], tgw.GraphEditor]
) -> None:
    editor = opened(graph)
    done = len(editor.history)
    with pytest.raises(GraphEditError, match=r"Reluu|nothing"):
        NAMES[method](editor)
    assert len(editor.history) == done


@pytest.mark.parametrize("none", [lambda _: [], no_ops], ids=["list", "query"])
@pytest.mark.parametrize("call", SOME_OR_ALL)
def test_no_ops_are_not_all_ops(call: str, none: Callable[[tgw.GraphEditor], Any]) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        tf.negative(tf.nn.relu(x, name="r"), name="y")
    for op in graph.get_operations():
        op._set_attr("marked", tf.compat.v1.AttrValue(b=True))
    editor = tgw.edit(graph)
    before = editor._core.index
    assert not SOME_OR_ALL[call](editor, none(editor))
    assert (editor._core.index, len(editor.history)) == (before, 0)


@pytest.mark.parametrize("part", [lambda _: ([], []), lambda e: (no_ops(e), None)])
def test_no_part_of_a_function_is_not_all_of_it(
    part: Callable[[tgw.GraphEditor], tuple[Any, Any]],
) -> None:
    signature = [tf.TensorSpec([None], tf.float32)]
    editor = tgw.edit(tf.function(tf.nn.relu, input_signature=signature))
    with pytest.raises(GraphEditError, match=r"holds no ops|needs an output boundary"):
        editor.clone(*part(editor), into="copy")
    assert not editor.history


@pytest.mark.parametrize("file", ["net.pb", "net.svg", "net.json"])
def test_outputs_that_a_file_has_no_place_for_are_looked_up(file: str, tmp_path: Path) -> None:
    editor = tgw.example()
    with pytest.raises(UnknownName, match="did you mean 'net/logits'"):
        editor.save(tmp_path / file, outputs=["net/logit:0"])
    assert not [*tmp_path.iterdir()]
    editor.save(tmp_path / file, outputs=["net/logits:0"])
    assert "has all of the graph" in editor.source.notices[-1]


def test_a_layer_of_keras_is_not_an_op_and_the_way_to_its_ops_is_said() -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Input((4,)), layers.ReLU(name="act")])
    editor = tgw.edit(model)
    with pytest.raises(UnknownName, match=r"did you mean '\S+/act\S*/Relu'"):
        editor.clone("act")
    for wrong in (model.layers[0], model.layers[0].output):
        with pytest.raises(UnknownName, match=r"editor\.find\('layer'\)\.outputs"):
            editor.clone(wrong)


def test_what_is_tried_on_the_package_is_said_to_be_of_the_editor() -> None:
    package: Any = tgw
    with pytest.raises(AttributeError, match=r"it is editor\.compare$"):
        package.compare  # noqa: B018
    with pytest.raises(AttributeError, match=r"tfgraphwidget\.edit opens a graph$"):
        package.open  # noqa: B018


def test_keys_of_a_signature_that_are_so_already_are_no_step() -> None:
    editor = tgw.example()
    editor.signatures.add("score", ["x:0", "labels:0"], "loss:0")
    for report in (
        editor.signatures.reorder("score"),
        editor.signatures.reorder("score", inputs=["x", "labels"], outputs=["loss"]),
        editor.rename("score:x", "x"),
        editor.signatures.rename("score", "score"),
    ):
        says_nothing(report, "already")
    assert len(editor.history) == 1
    assert editor.signatures.reorder("score", inputs=["labels", "x"])


def test_variables_that_are_trainable_alone_already_are_no_step() -> None:
    editor = tgw.example()
    assert editor.set_trainable("net/w")
    says_nothing(editor.set_trainable("net/w"), "already")
    assert len(editor.history) == 1


def test_a_value_that_may_come_in_a_list_is_said_once() -> None:
    wrong: Any = "names of ops"
    with pytest.raises(GraphEditError, match=r"'devices', 'versions', a list of these or None\.$"):
        tgw.example().diff(ignore=wrong)


def test_every_method_is_tried() -> None:
    passes = {name for name in public_methods() if name.startswith("passes.")}
    assert passes == {f"passes.{name}" for name in vars(Passes) if not name.startswith("_")}
    tried = {*(name.partition(",")[0] for name in EDITS), *AGAIN, *HISTORY, "find", "match", "lint"}
    assert public_methods() - tried == OTHERS.keys()


def test_a_step_before_and_after_nothing_is_undone_and_redone(
    opened: Callable[[str], tgw.GraphEditor],
) -> None:
    editor = opened("clean")
    editor.rename("Relu_1", "y")
    says_nothing(editor.passes.remove_identities())
    editor.undo()
    says_nothing(editor.passes.remove_identities())
    assert editor.redo() == 'editor.rename(old="Relu_1", new="y")'
    assert "y" in editor._core.index.ids


def test_where_every_match_is_skipped_the_report_says_why() -> None:
    with tf.Graph().as_default() as graph:
        tf.negative(tf.nn.relu(v1.placeholder(tf.float32, [None], name="x"), name="Relu"), name="y")
    editor = tgw.edit(graph)
    report = editor.replace_all("Relu(x)", "Cast(x, DstT='int32')")
    says_nothing(report, "not replaced: 'Relu:0'")
    assert [match.ops for match in report.skipped] == [("Relu",)]
    assert not editor.history
