"""What the panel asks about a clone is what the click then does."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION_OUTPUT, initialised, read, v1
from tests.widget.replies import text_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.clone.command import Clone
from tfgraphwidget.edits.context import IndexContext
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.clone_requests import modes_of
from tfgraphwidget.widget.page_text import on_page
from tfgraphwidget.widget.request_handler import RequestHandler

ENDS = (("x:0",), ("net/logits:0",))
VARIABLES = ("net/one/w", "net/one/b", "net/two/w", "net/two/b")


@pytest.fixture
def answers(editor: GraphEditor) -> RequestHandler:
    """The answers of an editor on `mlp`."""
    return RequestHandler(editor)


def previewed(answers: RequestHandler, *form: object, **more: object) -> p.ClonePreview:
    """The reply to a preview request."""
    reply, buffers = answers.handle(p.Preview(*form, **more))  # type: ignore[arg-type]
    assert isinstance(reply, p.ClonePreview)
    assert buffers == []
    return reply


def named(groups: tuple[p.Group, ...]) -> dict[str, tuple[str, ...]]:
    """Kind -> names; all of them are told in these small graphs."""
    assert all(group.total == len(group.names) for group in groups)
    return {group.kind: group.names for group in groups}


def test_a_preview_shows_what_the_clone_then_does(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    before = editor.graph.version, len(editor.history.done)
    reported = previewed(answers, *ENDS, "copy")
    assert (editor.graph.version, len(editor.history.done)) == before
    assert named(reported.outside) == {"tensor": ("x:0",)}
    assert named(reported.new) == {"variable": VARIABLES}
    assert reported.shared == ()
    assert [held.mode for held in reported.states] == ["own"] * 4
    assert reported.states[0] == p.PartState(
        "net/one/w", "variable", reported.states[0].dtype, "(3, 4)", "own"
    )
    assert reported.states[0].dtype.removesuffix("_ref") == "float32"
    assert set(named(reported.stateful)) == set()

    reply, _ = answers.handle(p.Clone(*ENDS, "copy"))
    assert isinstance(reply, p.SceneReply)
    copy = editor["copy"]
    assert len(copy.ops) == reported.ops
    assert reported.scopes == ("copy",)
    assert reply.state.code == (reported.line,)
    assert {name.partition("/")[2] for name in copy.ops} >= set(VARIABLES)


def test_a_variable_that_is_switched_to_shared_is_shared(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    reported = previewed(answers, *ENDS, "copy", others=("net/one/w",))
    assert {held.name: held.mode for held in reported.states} == {
        **dict.fromkeys(VARIABLES, "own"),
        "net/one/w": "shared",
    }
    assert named(reported.shared) == {"variable": ("net/one/w",)}
    answers.handle(p.Clone(*ENDS, "copy", others=("net/one/w",)))
    assert editor["copy"].shared == ("net/one/w",)
    assert [v.name for v in editor["copy"].variables] == [
        f"copy/{name}:0" for name in VARIABLES[1:]
    ]


def test_a_variable_that_is_switched_to_own_is_own(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    form = {"variables": "shared", "others": ("net/two/b",)}
    reported = previewed(answers, *ENDS, "copy", **form)
    assert named(reported.new) == {"variable": ("net/two/b",)}
    answers.handle(p.Clone(*ENDS, "copy", **form))  # type: ignore[arg-type]
    assert [v.name for v in editor["copy"].variables] == ["copy/net/two/b:0"]
    assert (reported.line,) == editor.history.lines
    assert reported.line.endswith('variables={"net": "shared", "net/two/b": "own"})')


def test_the_line_of_a_preview_makes_the_same_clone(
    answers: RequestHandler, editor: GraphEditor, batch: np.ndarray, session: v1.Session
) -> None:
    reported = previewed(answers, *ENDS, "copy", others=("net/one/b", "net/two/w"), init="initial")
    places: dict[str, object] = {"editor": editor}
    exec(reported.line, places)
    copy = editor["copy"]
    assert places["copy"] is copy
    assert copy.shared == ("net/one/b", "net/two/w")
    assert editor.history.lines == (reported.line,)
    ours, theirs = session.run(["net/logits:0", copy["net/logits:0"]], {"x:0": batch})
    np.testing.assert_array_equal(ours, theirs)  # the initialisers have seeds
    assert len(read(copy.variables, session)) == 2


def test_chosen_ops_are_previewed_and_cloned_without_a_boundary(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    answers.handle(p.Select("set", (), ("net/two",)))
    reported = previewed(answers, (), (), "copy")
    assert named(reported.outside) == {"tensor": ("net/one/out:0",)}
    assert reported.line == "copy = editor.clone(editor.ops(scope='net/two'), into=\"copy\")"
    reply, _ = answers.handle(p.Clone((), (), "copy"))
    assert isinstance(reply, p.SceneReply)
    assert "2 variables of its own" in text_of(reply)
    assert reply.focus == "copy"
    assert len(editor["copy"].ops) == reported.ops


def test_several_copies_are_named_in_the_preview_and_the_notice(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    form = {
        "times": 3,
        "placeholders": True,
        "reseed": True,
        "device": "/device:CPU:0",
        "init": "none",
    }
    reported = previewed(answers, *ENDS, "tower", **form)
    assert reported.scopes == ("tower_0", "tower_1", "tower_2")
    assert named(reported.outside) == {"placeholder": ("x:0",)}
    reply, _ = answers.handle(p.Clone(*ENDS, "tower", **form))  # type: ignore[arg-type]
    assert isinstance(reply, p.SceneReply)
    assert "into 3 scopes, 'tower_0' to 'tower_2'" in text_of(reply)
    assert "4 variables each of their own, not initialized" in text_of(reply)
    assert list(editor._core.executor.copies) == list(reported.scopes)
    assert editor.graph.get_operation_by_name("tower_2/net/logits").device == "/device:CPU:0"


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ((*ENDS, "net"), "The name 'net' is taken"),
        ((*ENDS, "no scope"), "is not a name scope"),
        ((("net/logits",), ("x",), "copy"), "No path"),
        ((("nowhere",), ("net/logits",), "copy"), "no op 'nowhere'"),
        (((), (), "copy"), "Nothing is selected"),
        ((*ENDS, "copy", "own", (), "current", False, False, 0), "is not a number of copies"),
    ],
)
def test_what_is_refused_is_reported_and_is_no_error(
    answers: RequestHandler, form: tuple[object, ...], sentence: str
) -> None:
    reported = previewed(answers, *form)
    assert sentence in reported.refusal
    assert (reported.offer, reported.ops, reported.line) == ("", 0, "")
    with pytest.raises(GraphEditError) as refused:
        answers.handle(p.Clone(*form))  # type: ignore[arg-type]
    assert (on_page(refused.value.why), refused.value.ops) == (reported.refusal, reported.warned)


@pytest.fixture
def half() -> GraphEditor:
    """A v1 loop and a conditional; outside of them a variable that both read."""
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(3.0))
        loop = v1.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * w), [0, x], name="loop")[
            1
        ]
        tf.identity(v1.cond(loop > 0, lambda: loop * w, lambda: loop - w, name="fork"), name="y")
    return tgw.edit(graph, session=initialised(graph))


@pytest.mark.parametrize(
    ("inside", "offer", "out"),
    [("loop/mul", "loop", "loop/Exit_1:0"), ("fork/mul", "conditional", "fork/Merge:0")],
)
def test_half_of_control_flow_is_refused_and_the_whole_is_offered_and_works(
    half: GraphEditor, inside: str, offer: str, out: str
) -> None:
    answers = RequestHandler(half)
    answers.handle(p.Boundary((inside,), ("y",)))
    reported = previewed(answers, (inside,), ("y",), "copy")
    assert f"take the whole {offer}" in reported.refusal
    assert reported.offer == offer
    assert reported.warned
    answers.handle(p.Derive("whole"))
    assert half._core.view.boundary == ((), ())
    whole = previewed(answers, (), (), "copy")
    assert whole.refusal == ""
    answers.handle(p.Clone((), (), "copy"))
    ours, theirs = half.session.run([out, half["copy"][out]], {"x:0": 2.0})
    assert ours == theirs


def test_nothing_is_offered_where_the_whole_would_not_work_either(half: GraphEditor) -> None:
    answers = RequestHandler(half)
    answers.handle(p.Boundary(("loop/mul",), ("y",)))
    assert previewed(answers, ("loop/mul",), ("y",), "loop").offer == ""


def test_a_table_and_a_queue_can_be_shared_too() -> None:
    graph = tf.Graph()
    with graph.as_default():
        words = v1.placeholder(tf.string, [None], name="words")
        initializer = tf.lookup.KeyValueTensorInitializer(
            tf.constant(["a", "b"]), tf.constant([1, 2])
        )
        table = tf.lookup.StaticHashTable(initializer, -1, name="table")
        tf.identity(table.lookup(words), name="ids")
        start = v1.tables_initializer()
    session = v1.Session(graph=graph)
    session.run(start)
    editor = tgw.edit(graph, session=session)
    answers = RequestHandler(editor)
    reported = previewed(answers, ("words",), ("ids",), "copy")
    assert [(held.kind, held.mode, held.dtype) for held in reported.states] == [
        ("hash table", "own", "")
    ]
    shared = previewed(answers, ("words",), ("ids",), "copy", others=(reported.states[0].name,))
    assert named(shared.shared) == {"hash table": (reported.states[0].name,)}
    assert shared.new == ()
    answers.handle(p.Clone(("words",), ("ids",), "copy", others=(reported.states[0].name,)))
    assert session.run(editor["copy"]["ids:0"], {"words:0": ["b", "c"]}).tolist() == [2, -1]


def test_switches_of_variables_that_are_not_in_the_part_do_not_matter(
    answers: RequestHandler,
) -> None:
    reported = previewed(answers, ("net/one/out:0",), ENDS[1], "copy", others=("net/one/w",))
    assert {held.name for held in reported.states} == {"net/two/w", "net/two/b"}
    assert "variables=" not in reported.line


def test_a_preview_can_be_read_where_a_clone_is_not_possible(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    editor.graph.finalize()
    assert previewed(answers, *ENDS, "copy").ops > 0


def test_lists_are_cut_and_counted_whole(inception: tuple[tf.Graph, v1.Session]) -> None:
    answers = RequestHandler(tgw.edit(inception[0], session=inception[1]))
    reported = previewed(answers, ("input:0",), (INCEPTION_OUTPUT,), "preview")
    (variables,) = reported.new
    assert (len(variables.names), variables.total) == (200, 378)
    assert (len(reported.states), reported.states_total) == (378, 378)
    assert named(reported.outside) == {"tensor": ("input:0",)}


@pytest.mark.parametrize("default", ["own", "shared"])
@pytest.mark.parametrize(
    "others",
    [
        (),
        ("w",),
        ("w", "w/Adam"),
        ("a/w", "a/w/Adam"),
        ("a/w",),
        ("w", "a/w", "a/w/Adam", "w/Adam", "b"),
    ],
)
def test_modes_mean_each_variable_as_it_was_switched(
    default: p.Mode, others: tuple[str, ...]
) -> None:
    graph = tf.Graph()
    names = ("w", "w/Adam", "a/w", "a/w/Adam", "b")
    with graph.as_default():
        held = [v1.get_variable(name, [], initializer=v1.ones_initializer()) for name in names]
        tf.add_n([tf.identity(v) for v in held], name="y")
        tf.identity(graph.get_tensor_by_name("y:0"), name="z")
    editor = tgw.edit(graph, session=initialised(graph))
    pairs = modes_of(default, others, names)
    if pairs == "shared":
        pairs = tuple((name, pairs) for name in names)
    chosen = editor.upstream("z")
    plan = Clone(into="copy", variables=pairs, selection=chosen).plan(
        IndexContext(editor._core.index)
    )
    assert plan.report.preview is not None
    opposite = "own" if default == "shared" else "shared"
    wanted = {name for name in names if (opposite if name in others else default) == "own"}
    assert {state.name for state in plan.report.preview.new} == wanted


def test_a_function_s_body_is_cloned_as_a_module_that_the_notice_names() -> None:
    weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="weights")

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def doubled(x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, weights, name="product") * 2.0

    editor = tgw.edit(doubled)
    answers = RequestHandler(editor)
    reported = previewed(answers, (), ("product",), "copy")
    assert named(reported.new) == {"variable": ("weights",)}
    reply, _ = answers.handle(p.Clone((), ("product",), "copy"))
    assert isinstance(reply, p.SceneReply)
    assert reply.state.editable == ""
    assert text_of(reply).endswith(
        "It is a module, which is not drawn; a cell has it by that name in the editor's copies."
    )
    module = editor["copy"]
    np.testing.assert_array_equal(module(tf.eye(2)), weights)
    weights.assign(weights * 0.0)
    np.testing.assert_array_equal(module(tf.eye(2)), [[1.0, 2.0], [3.0, 4.0]])
    shared = previewed(answers, (), ("product",), "other", others=("weights",))
    assert [(held.name, held.mode) for held in shared.states] == [("weights", "shared")]
