"""Nothing to do is a result, not an error: on an empty, a tiny and a clean graph, live and from a
file.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor.public_names import public_methods
from tests.nothing import says_nothing
from tfgraphwidget.editor.edit_methods import Passes
from tfgraphwidget.errors import GraphEditError


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
}
GRAPHS = {"empty": empty, "tiny": tiny, "clean": clean}


@pytest.fixture(params=["live", "file"])
def opened(request: pytest.FixtureRequest) -> Callable[[str], tgw.GraphEditor]:
    """Opens a graph by its name."""

    def open_graph(name: str) -> tgw.GraphEditor:
        if request.param == "live":
            return tgw.edit(GRAPHS[name]())
        # A GraphDef without ops is no file of a graph; one whose only op was removed is one.
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


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_query_without_a_hit_is_false(
    query: str, graph: str, opened: Callable[[str], tgw.GraphEditor]
) -> None:
    assert not QUERIES[query](opened(graph))


@pytest.mark.parametrize("verb", NAMES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_name_that_does_not_exist_is_an_error(
    verb: str, graph: str, opened: Callable[[str], tgw.GraphEditor]
) -> None:
    editor = opened(graph)
    done = len(editor.history)
    with pytest.raises(GraphEditError, match=r"Reluu|nothing"):
        NAMES[verb](editor)
    assert len(editor.history) == done


def test_every_pass_is_tried() -> None:
    passes = {name for name in public_methods() if name.startswith("passes.")}
    assert passes == {f"passes.{name}" for name in vars(Passes) if not name.startswith("_")}
    # Two set what they are asked for, and one shows what TensorFlow does.
    others = {"passes.change_batch_size", "passes.set_input", "passes.grappler"}
    assert passes - others <= {*EDITS, *(f"passes.{name}" for name in NAMES)}


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
