"""Comparing: the difference to what was opened and to others, and how far two graphs' outputs are
apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, build_mlp, fill, initialised, read, v1
from tfgraphwidget.errors import GraphEditError, SessionRefused, UnknownName
from tfgraphwidget.graph.diff import Difference
from tfgraphwidget.runtime.measure.tensor_differences import tensor_difference

ROWS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A MetaGraphDef with its checkpoint beside, "m.meta" and "m"."""
    graph = build_mlp(resource=False)
    with graph.as_default(), initialised(graph) as session:
        v1.train.Saver().save(session, str(tmp_path / "m"))
    return tmp_path / "m.meta"


# In names


def test_an_unedited_graph_is_what_was_opened(editor: tgw.GraphEditor) -> None:
    assert not editor.diff()


def test_edits_show_and_undone_ones_do_not(editor: tgw.GraphEditor) -> None:
    editor.reroute("net/two/out:0", to="net/one/out:0")
    editor.clone("x:0", "net/one/out:0", "copy")
    found = editor.diff()
    assert [str(change) for change in found.changed] == [
        "net/logits: input 0 net/two/out:0 → net/one/out:0"
    ]
    assert found.added
    assert all(name.startswith("copy/") for name in found.added)
    editor.undo()
    editor.undo()
    assert not editor.diff()


def test_what_edits_renamed_is_known_though_it_is_like_others(editor: tgw.GraphEditor) -> None:
    with editor.graph.as_default():
        for name in "ab":
            tf.no_op(name=name)
    editor = tgw.edit(editor.graph, session=editor.session)
    editor.rename("a", "c")
    editor.rename("b", "d")
    assert editor.diff().renamed == (("a", "c"), ("b", "d"))
    editor.rename("d", "e")
    assert editor.diff().renamed == (("a", "c"), ("b", "e"))
    editor.undo()
    assert editor.diff().renamed == (("a", "c"), ("b", "d"))


def test_what_other_cells_added_is_added_too(editor: tgw.GraphEditor, mlp: tf.Graph) -> None:
    with mlp.as_default():
        tf.identity("late", name="late")
    assert editor.diff().added == ("late/input", "late")


def test_a_file_that_was_imported_meanwhile_is_the_same_graph(saved: Path) -> None:
    editor = tgw.edit(saved, checkpoint=saved.with_suffix(""))
    assert editor.session is not None
    assert not editor.diff()
    editor.remove("net/logits")
    assert editor.diff().removed == ("net/logits",)


def test_others_are_editors_graphs_and_files(
    editor: tgw.GraphEditor, mlp: tf.Graph, saved: Path
) -> None:
    assert not tgw.edit(saved).diff(build_mlp(resource=False)).changed
    twin = tgw.edit(saved)
    twin.rename("net/logits", "logits")
    assert twin.diff(saved).renamed == (("net/logits", "logits"),)
    assert tgw.edit(saved).diff(twin).renamed == (("logits", "net/logits"),)
    assert not editor.diff(mlp)
    with pytest.raises(UnknownName):
        editor.diff("no/such/file.pb")


def test_a_room_is_compared_with_itself_as_it_was(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.square(tf.abs(x, name="positive"), name="squared")

    with tf.Graph().as_default() as graph:
        inner(v1.placeholder(tf.float32, [2], name="x"))
    editor = tgw.edit(graph.as_graph_def())
    editor.view.enter(next(iter(editor.ops(where=lambda op: op.type.endswith("PartitionedCall")))))
    editor.bypass("positive")
    assert [change.name for change in editor.diff().changed] == ["squared"]


def test_a_difference_is_shown_until_it_is_taken_away(editor: tgw.GraphEditor) -> None:
    report: list[Difference | None] = []
    editor._core.listeners.append(lambda: report.append(editor.view.difference))
    editor.view.difference = editor.diff()
    editor.view.difference = None
    assert report == [Difference(), None]
    with pytest.raises(GraphEditError, match="not a Difference"):
        editor.view.difference = "added"  # type: ignore[assignment]


# In numbers


def test_nothing_changed_gives_the_same_numbers(editor: tgw.GraphEditor) -> None:
    found = editor.compare({"x:0": ROWS})
    assert found.same
    assert [output.name for output in found] == ["net/logits:0"]
    assert found.largest == 0.0
    assert "equal" in repr(found)


def test_the_largest_difference_is_that_of_the_numbers(
    editor: tgw.GraphEditor, session: v1.Session
) -> None:
    old = session.run("net/logits:0", {"x:0": ROWS})
    before = read(editor.graph.get_collection("variables"), session)
    editor.reroute("net/two/out:0", to="net/one/out:0")
    found = editor.compare({"x": ROWS}, tensors="net/logits")["net/logits"]
    new = editor.session.run("net/logits:0", {"x:0": ROWS})
    assert found.largest == pytest.approx(np.abs(old - new).max(), rel=1e-5)
    assert found.differing == np.count_nonzero(old != new)
    assert not found.same
    assert found.steady
    assert all(
        map(np.array_equal, before, read(editor.graph.get_collection("variables"), editor.session))
    )


def test_both_run_with_the_values_that_the_session_has_now(
    editor: tgw.GraphEditor, session: v1.Session
) -> None:
    editor.rename("net/one", "first")
    first = editor.graph.get_collection("variables")[0]
    assert editor.compare({"x": ROWS}, tensors="net/logits").same
    fill(first, 0.25, editor.session)
    assert editor.compare({"x": ROWS}, tensors="net/logits").same
    editor.freeze("net/logits")
    found = editor.compare({"x": ROWS}, tensors="net/logits")
    assert found.same, found


def test_outputs_are_those_chosen(editor: tgw.GraphEditor) -> None:
    editor.mark("x:0", ["net/one/out:0", "net/two/out:0"])
    assert [output.name for output in editor.compare({"x": ROWS})] == [
        "net/one/out:0",
        "net/two/out:0",
    ]


def test_an_output_that_is_new_is_reported_or_refused(editor: tgw.GraphEditor) -> None:
    before = editor._core.index
    editor.clone("x:0", "net/logits:0", "copy")
    editor.mark()
    found = editor.compare({"x": ROWS}, other=before)
    assert found.same
    assert found.not_compared == {"was not there before": ("copy/net/logits:0",)}
    assert "copy/net/logits:0  was not there before" in repr(found)
    with pytest.raises(
        GraphEditError, match="'copy/net/logits:0' is not in the graph to compare with"
    ):
        editor.compare({"x": ROWS}, tensors="copy/net/logits")


def test_what_is_not_fed_is_named(editor: tgw.GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="Placeholder 'x' is needed and not fed"):
        editor.compare({}, tensors="net/logits")
    with pytest.raises(SessionRefused, match=r"has shape \(None, 3\), and the value has \(5, 2\)"):
        editor.compare({"x": ROWS[:, :2]})
    with pytest.raises(SessionRefused, match="no session"):
        tgw.edit(build_mlp(resource=True)).compare({"x": ROWS})
    graph = build_mlp(resource=True)
    with pytest.raises(
        SessionRefused, match=r"have no value in this session; run their initializers first\.$"
    ):
        tgw.edit(graph, session=v1.Session(graph=graph)).compare({"x": ROWS})
    editor.session.close()
    with pytest.raises(SessionRefused, match="closed"):
        editor.compare({"x": ROWS})


def test_a_file_has_the_values_of_its_checkpoint(saved: Path) -> None:
    editor = tgw.edit(saved, checkpoint=saved.with_suffix(""))
    editor.reroute("net/two/out:0", to="net/one/out:0")
    found = editor.compare({"x": ROWS}, tensors="net/logits")
    assert found.largest
    assert found.largest > 0
    assert editor.graph is not None
    assert editor.compare({"x": ROWS}, tensors="net/logits").largest == found.largest, (
        "imported meanwhile"
    )


def test_another_has_its_own_values_if_it_has_any(editor: tgw.GraphEditor, saved: Path) -> None:
    fill(editor.graph.get_collection("variables")[0], 0.25, editor.session)
    mine = tgw.edit(saved, checkpoint=saved.with_suffix(""))
    assert mine.compare({"x": ROWS}, other=tgw.edit(saved, checkpoint=saved.with_suffix(""))).same
    assert mine.compare({"x": ROWS}, other=saved).same, "it has none, and takes ours"
    assert not mine.compare({"x": ROWS}, other=editor).same


@pytest.mark.parametrize("open_", [str, tgw.edit], ids=["path", "editor"])
def test_the_flat_graph_of_a_saved_model_is_compared_with_its_signature(
    open_: Any, tmp_path: Path
) -> None:
    """The call of another signature has the name that the flat graph gives its outputs."""
    module = tf.Module()
    module.w = tf.Variable([[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]], name="w")
    spec = [tf.TensorSpec([None, 3], tf.float32, "x")]
    module.double = tf.function(lambda x: {"y": x @ module.w, "z": 2.0 * x}, input_signature=spec)
    module.negate = tf.function(lambda x: {"y": -x @ module.w, "z": -x}, input_signature=spec)
    signatures = {"another": module.negate, "serving_default": module.double}
    tf.saved_model.save(module, str(tmp_path / "saved"), signatures)
    flat = tgw.edit(tgw.edit(tmp_path / "saved").save(tmp_path / "flat.pb", frozen=True))
    found = flat.compare({flat.inputs[0]: ROWS}, open_(tmp_path / "saved"))
    assert found.same
    assert [output.name for output in found] == list(flat.outputs)
    flat.set_constant(flat.find("type:Const shape:3x2").ops[0], np.zeros([3, 2]))
    changed = flat.compare({flat.inputs[0]: ROWS}, open_(tmp_path / "saved"))
    assert [output.differs for output in changed] == [True, False]


def test_random_ops_are_reported_as_such() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [3], name="x")
        tf.add(x, tf.random.uniform([3]), name="noisy")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    found = editor.compare({"x": np.ones(3)})["noisy"]
    assert not found.steady
    assert "random" in repr(editor.compare({"x": np.ones(3)}))


def test_tables_are_filled_on_both_sides() -> None:
    with tf.Graph().as_default() as graph:
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1
        )
        tf.identity(table.lookup(v1.placeholder(tf.string, [None], name="word")), name="number")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    assert editor.compare({"word": ["a", "c"]}).same
    (fill_op,) = editor.ops(
        where=lambda op: op.type in {"LookupTableImportV2", "InitializeTableV2"}
    )
    numbers = editor._core.index.names[
        editor._core.index.input_lists[editor._core.index.op(fill_op)][2]
    ]
    editor.set_constant(numbers, np.array([1, 5], np.int32))
    assert editor.compare({"word": ["a", "c"]}).same
    assert editor.compare({"word": ["a", "b"]}, tensors="number").largest == 3.0


class Scaled(tf.Module):
    """A function with a variable and an update of it."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(3.0, name="w")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """w * |x|, and w grows."""
        y = tf.multiply(tf.abs(x, name="positive"), self.w, name="product")
        with tf.control_dependencies([y]):
            self.w.assign_add(1.0)
        return {"y": y}


def test_a_functions_bodies_are_run_with_copies_of_its_variables(tmp_path: Path) -> None:
    module = Scaled()
    editor = tgw.edit(module.__call__)
    editor.bypass("positive")
    found = editor.compare({"x": [1.0, -2.0]})
    assert [output.largest for output in found] == [12.0]
    assert module.w.numpy() == 3.0
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.__call__)
    loaded = tgw.edit(tmp_path / "m", signature="serving_default")
    assert loaded.compare({"x": [1.0, -2.0]}).same
    loaded.bypass("positive")
    assert loaded.compare({"x": [1.0, -2.0]}).largest == 12.0


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
def tripled(x: tf.Tensor) -> tf.Tensor:
    """3 |x|."""
    return tf.multiply(tf.abs(x, name="positive"), 3.0, name="product")


def test_what_a_function_gives_after_an_edit_is_compared_with_what_it_gave() -> None:
    editor = tgw.edit(tripled)
    editor.bypass(editor.ops("product", "Identity"), by="positive:0")
    (output,) = editor.compare({"x": [1.0, -2.0]})
    assert (output.name, output.largest) == ("positive:0", 4.0)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
def twice(x: tf.Tensor) -> tf.Tensor:
    """Calls another."""
    return called(called(x))


@tf.function
def called(x: tf.Tensor) -> tf.Tensor:
    """Is called."""
    return tf.multiply(x, 3.0, name="three")


def test_edits_of_a_function_that_is_called_count() -> None:
    editor = tgw.edit(twice)
    calls = list(editor.ops(where=lambda op: op.type.endswith("PartitionedCall")))
    editor.view.enter(calls[0])
    editor.set_constant("three/y", 5.0)
    assert editor.compare({"x": [1.0]}).largest == 2.0
    editor.view.leave()
    assert editor.compare({"x": [1.0]}).largest == 6.0


def test_a_real_model_is_compared_whole(inception: tuple[tf.Graph, v1.Session]) -> None:
    editor = tgw.edit(INCEPTION)
    editor.bypass("net/InceptionV3/Logits/Dropout_1b")
    with pytest.raises(SessionRefused, match="comes without values"):
        editor.compare(
            {"input": np.zeros((1, 299, 299, 3), np.float32)},
            tensors="net/InceptionV3/Predictions/Reshape_1",
        )


@pytest.mark.parametrize(
    ("before", "after", "largest", "differing"),
    [
        ([1.0, np.nan], [1.0, np.nan], 0.0, 0),
        ([1.0, np.nan], [1.5, 0.0], 0.5, 2),
        ([np.inf, 1.0], [np.inf, 1.0], 0.0, 0),
        ([True, False], [True, True], None, 1),
        (["a", "b"], ["a", "c"], None, 1),
        ([1, 2], [3, 2], 2.0, 1),
        ([1 + 1j], [1 - 1j], 2.0, 1),
        ([1.0], [1.0, 2.0], None, 0),
        ([], [], 0.0, 0),
    ],
)
def test_values_of_any_kind_are_apart(
    before: Any, after: Any, largest: float | None, differing: int
) -> None:
    found = tensor_difference("a", np.array(before), np.array(after))
    assert (found.largest, found.differing) == (largest, differing)
    assert found.same == (differing == 0 and len(before) == len(after))
    assert all(isinstance(text, str) for text in found.row())
