"""The page asks what an edit would do, what a pattern matches, and what TensorFlow's optimizer
makes of the graph.
"""

from __future__ import annotations

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

v1 = tf.compat.v1


@pytest.fixture
def graph() -> tf.Graph:
    """Three layers; the activation's input of the first is read from outside."""
    with tf.Graph().as_default() as graph:
        h = v1.placeholder(tf.float32, [None, 4], name="x")
        for layer in ("one", "two", "three"):
            with tf.name_scope(layer):
                product = tf.matmul(h, tf.fill([4, 4], 0.5), name="product")
                h = tf.nn.relu(
                    tf.nn.bias_add(product, tf.constant([1.0] * 4), name="biased"), name="act"
                )
        tf.tanh(graph.get_tensor_by_name("one/biased:0"), name="tapped")
        tf.identity(tf.identity(h, name="same"), name="y")
    return graph


def ask(editor: GraphEditor, request: p.Request) -> p.Reply:
    """The reply of a new page to a request."""
    return RequestHandler(editor).handle(request)[0]


def preview(editor: GraphEditor, command: str, **options: str) -> p.PreviewedEdit:
    """What an edit would do."""
    reply = ask(editor, p.PreviewEdit(command, (), tuple(options), tuple(options.values())))
    assert isinstance(reply, p.PreviewedEdit)
    return reply


GRAPH_EDITS = (
    ("remove_identities", {}),
    ("merge_duplicates", {}),
    ("fold_constants", {}),
    ("rename_type", {"old": "Relu", "new": "Relu6"}),
    ("cast", {"dtype": "float16"}),
    ("quantize_weights", {"minimum": "1"}),
    ("change_batch_size", {"size": "8"}),
    ("replace_all", {"pattern": "Relu(x)", "by": "LeakyRelu(x, alpha=0.1)"}),
    ("strip_training", {}),
    ("add_signature", {"name": "more"}),
)


@pytest.mark.parametrize(
    ("command", "options"), GRAPH_EDITS, ids=[command for command, _ in GRAPH_EDITS]
)
@pytest.mark.parametrize("of", ["graph", "file"])
def test_a_preview_counts_what_the_edit_then_does_and_changes_nothing(
    graph: tf.Graph, command: str, options: dict[str, str], of: str
) -> None:
    editor = tgw.edit(graph if of == "graph" else graph.as_graph_def())
    editor.selection = editor.ops(scope="two")
    nodes = list(editor._core.index.nodes)
    previewed = preview(editor, command, **options)
    assert editor._core.index.nodes == nodes
    assert editor.history.lines == ()
    assert editor.selection is not None
    assert len(graph.get_operations()) == len(nodes)
    assert set(previewed.names) <= {
        *editor._core.index.ids,
        *(f"{scope}/" for scope in editor._core.index.scopes.ids),
    }
    if previewed.refusal:
        with pytest.raises(GraphEditError):
            ask(
                editor,
                p.Change(command=command, keys=tuple(options), values=tuple(options.values())),
            )
        return
    ask(editor, p.Change(command=command, keys=tuple(options), values=tuple(options.values())))
    if not editor.history.done:
        assert previewed.text == "Changes no op of this graph."
        assert previewed.notes
        return
    (step,) = editor.history.done
    counts = {
        "adds": len(step.patch.add.nodes),
        "removes": len(step.patch.remove.nodes),
        "changes": len(step.patch.changed),
    }
    for what, count in counts.items():
        assert (f"{what} {count:,}" in previewed.text.lower()) == (count > 0), previewed.text


def test_a_preview_of_what_is_refused_has_the_refusal_and_its_field(graph: tf.Graph) -> None:
    editor = tgw.edit(graph)
    assert preview(editor, "remove_devices").notes == ("No op of the graph has a device.",)
    bad = preview(editor, "replace_all", pattern="Relu(x", by="x")
    assert "\n" in bad.refusal
    assert bad.argument == "pattern"
    assert editor.history.lines == ()
    # An edit after a preview is an edit.
    editor.passes.remove_identities()
    assert len(editor.history.lines) == 1


def test_a_preview_of_replace_all_says_which_matches_stay_and_why(graph: tf.Graph) -> None:
    previewed = preview(
        tgw.edit(graph), "replace_all", pattern="Relu(BiasAdd(x, b=Const))", by="BiasAdd(x, b)"
    )
    assert previewed.notes[:2] == (
        "3 matches, 2 replaceable, 1 not.",
        "Not replaced: 'one/act:0': 'tapped' outside reads 'one/biased', which is inside.",
    )


def test_a_preview_in_a_function_changes_neither_the_function_nor_its_caller() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.identity(x))

    editor = tgw.edit(inner.get_concrete_function(tf.TensorSpec([2])))
    nodes = list(editor._core.index.nodes)
    assert "removes" in preview(editor, "remove_identities").text.lower()
    assert editor._core.index.nodes == nodes
    assert editor.history.lines == ()


def test_a_query_that_is_a_pattern_finds_matches_with_their_ops(graph: tf.Graph) -> None:
    editor = tgw.edit(graph)
    found = ask(editor, p.Search("pattern:Relu(BiasAdd(x, b=Const))"))
    assert isinstance(found, p.SearchReply)
    assert [hit.name for hit in found.hits] == ["one/act", "two/act", "three/act"]
    assert found.matches is not None
    assert found.matches.ops[1] == ("two/biased", "two/act")
    assert (found.total, found.matches.replaceable, found.matches.names) == (3, 2, ("x", "b"))
    assert found.matches.inputs == ("one/product:0", "one/Const:0")
    assert found.matches.reasons == (
        "'one/act:0': 'tapped' outside reads 'one/biased', which is inside.",
    )
    assert (
        p.NearMatch("one/biased", "'tapped' is Tanh where the pattern has Relu")
        in found.matches.near
    )
    # With other terms it finds ops, as before; and the first hits are those that fit.
    more = ask(editor, p.Search("pattern:Relu(BiasAdd) scope:two"))
    assert isinstance(more, p.SearchReply)
    assert more.matches is None
    assert [hit.name for hit in more.hits] == ["two/biased", "two/act"]
    few = ask(editor, p.Search("pattern:Relu(x)", limit=2))
    assert isinstance(few, p.SearchReply)
    assert few.matches is not None
    assert (len(few.hits), len(few.matches.ops), few.total) == (2, 2, 3)


def test_a_pattern_that_cannot_be_read_has_a_caret_and_a_wrong_type_a_proposal(
    graph: tf.Graph,
) -> None:
    editor = tgw.edit(graph)
    wrong = ask(editor, p.Search("pattern:Relu(BiasAdd(x, b=))"))
    assert isinstance(wrong, p.SearchReply)
    text, caret = wrong.excerpt.splitlines()
    assert caret.index("^") == text.index("))")
    unclosed = ask(editor, p.Search("pattern:Conv2D(x, w, padding='SAME)"))
    assert isinstance(unclosed, p.SearchReply)
    assert (
        unclosed.why
        == "This pattern cannot be read: expected a number, a text in quotes, True or False."
    )
    text, caret = unclosed.excerpt.splitlines()
    assert caret.index("^") == text.index("'")
    unknown = ask(editor, p.Search("pattern:Rellu(x)"))
    assert isinstance(unknown, p.SearchReply)
    assert "Relu" in unknown.why.replace("Rellu", "")


def test_the_pattern_of_items_or_of_the_selection_finds_them_again(graph: tf.Graph) -> None:
    editor = tgw.edit(graph)
    editor.selection = editor.ops("two/biased", "two/act")
    assert ask(editor, p.Like()) == p.Likeness("Relu(BiasAdd(x, Const))")
    assert ask(editor, p.Like(("two/act",))) == p.Likeness("Relu(x)")
    whole = ask(editor, p.Like(("two/",)))
    assert isinstance(whole, p.Likeness)
    found = ask(editor, p.Search(f"pattern:{whole.pattern}"))
    assert isinstance(found, p.SearchReply)
    assert "two/act" in [hit.name for hit in found.hits]
    with pytest.raises(GraphEditError, match="holds no op that computes something"):
        ask(editor, p.Like(("x",)))


def test_the_optimizer_is_compared_with_and_the_graph_stays(graph: tf.Graph) -> None:
    editor = tgw.edit(graph)
    nodes = list(editor._core.index.nodes)
    painted = ask(editor, p.Optimize())
    assert isinstance(painted, p.SelectionReply | p.SceneReply)
    text = (
        painted.text
        if isinstance(painted, p.SelectionReply)
        else painted.edited.text
        if painted.edited
        else ""
    )
    assert text.startswith("TensorFlow's graph optimizer makes ")
    assert painted.state.comparing
    assert painted.state.changes
    assert editor._core.index.nodes == nodes
    assert editor.history.lines == ()


@pytest.mark.parametrize(
    ("size", "sentence"),
    [
        ("abc", "size 'abc' is not what the form takes; give a whole number or None."),
        (
            "0",
            "size 0 is not a batch size; give a number from 1 to 2,147,483,647, or None for any.",
        ),
    ],
)
def test_what_is_no_batch_size_is_refused_in_the_words_of_the_form(
    graph: tf.Graph, size: str, sentence: str
) -> None:
    assert preview(tgw.edit(graph), "change_batch_size", size=size).refusal == sentence


def test_the_name_that_a_signature_has_changes_nothing(graph: tf.Graph) -> None:
    """The form begins with it."""
    editor = tgw.edit(graph)
    editor.signatures.add("serving_default", inputs=["x"], outputs=["y"])
    same = preview(editor, "rename_signature", name="'serving_default'", new="'serving_default'")
    assert same.refusal == ""
    assert same.notes == ("The signature is called 'serving_default' already.",)
