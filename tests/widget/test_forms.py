"""What forms ask the kernel: op types and their parameters, feeds, variables of the notebook, the
table of costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits import registry
from tfgraphwidget.errors import GraphEditError, InvalidArgument, UnknownName
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_buttons import BUTTONS
from tfgraphwidget.widget.kernel_namespace import KernelNamespace
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.request_handler import RequestHandler


def swish(x: Any, beta: float = 1.0, *, clip: bool = False) -> Any:
    """A smooth activation."""
    return tf.clip_by_value(x, -1.0, 1.0) if clip else x * tf.sigmoid(beta * x)


class Notebook(dict[str, Any]):
    """The variables of a notebook."""


@pytest.fixture
def notebook() -> Notebook:
    """A function, an array, and something else."""
    return Notebook(swish=swish, batch=np.ones((2, 4), np.float32), text="text", module=np)


@pytest.fixture
def editor() -> GraphEditor:
    """The example."""
    return tgw.example()


@pytest.fixture
def answers(editor: GraphEditor, notebook: Notebook) -> RequestHandler:
    """The answers of an editor in a notebook."""
    return RequestHandler(editor, namespace=KernelNamespace(lambda: notebook))


RELU = "net/hidden/Relu"
FEED = p.Feed("x:0", "ones", "[2, 4]", 0.0, 1.0, "")


def reply(answers: RequestHandler, request: p.Request) -> Any:
    """The reply without its buffers."""
    return answers.handle(request)[0]


# Op types


def names(
    answers: RequestHandler, text: str, command: Any = "replace", what: tuple[str, ...] = (RELU,)
) -> list[str]:
    """The op types and functions that are listed for a text."""
    return [found.name for found in reply(answers, p.Palette(text, command, what)).types]


def test_functions_of_the_notebook_and_usual_types_are_proposed_before_anything_is_typed(
    answers: RequestHandler,
) -> None:
    # Not Relu for Relu, unless it is typed: it may get other attributes.
    assert names(answers, "")[:3] == ["swish", "Elu", "Selu"]
    assert "Relu" not in names(answers, "elu")
    assert names(answers, "Relu")[0] == "Relu"
    assert names(answers, "", "insert", (f"{RELU}:0",))[:3] == ["swish", "Identity", "StopGradient"]


def test_types_are_found_by_name_and_documentation_and_those_that_fit_come_first(
    answers: RequestHandler,
) -> None:
    assert names(answers, "elu")[:3] == ["Elu", "Selu", "Relu6"]
    assert "Tanh" in names(answers, "hyperbolic tangent")
    found = reply(answers, p.Palette("ReluGrad", "replace", (RELU,))).types[0]
    assert (found.name, found.fits) == ("ReluGrad", False)  # takes two tensors
    assert reply(answers, p.Palette("")).total > 1000


@pytest.mark.parametrize("command", ["replace_all", "replace", "insert"])
def test_a_function_of_tensorflow_is_found_and_used_where_no_notebook_has_one(
    editor: GraphEditor, command: Any
) -> None:
    answers = RequestHandler(editor, namespace=KernelNamespace(Notebook))
    assert names(answers, "gelu") == ["tf.nn.gelu"]
    assert "tf.nn.relu" not in names(answers, "relu")  # the op type Relu is that
    form = reply(answers, p.Describe("tf.nn.gelu", True, "insert", (f"{RELU}:0",)))
    assert form.summary.startswith("Compute the Gaussian Error Linear Unit")
    assert [parameter.name for parameter in form.parameters] == ["approximate"]
    changes = {
        "replace_all": p.Change(
            command, (), ("pattern", "by"), ("'Relu(x)'", "tf.nn.gelu"), ("by",)
        ),
        "replace": p.Change(command, (RELU,), ("by",), ("tf.nn.gelu",), ("by",)),
        "insert": p.Change(command, (f"{RELU}:0",), ("function",), ("tf.nn.gelu",), ("function",)),
    }
    assert "=tf.nn.gelu" in reply(answers, changes[command]).state.code[0]
    script = editor.history.to_script().text
    assert "import tensorflow as tf" in script
    namespace: dict[str, Any] = {}
    with tgw.example().graph.as_default():  # which the script opens
        exec(script, namespace)
    assert namespace["editor"].history.lines == editor.history.lines


def likely(answers: RequestHandler, op: str) -> dict[str, str]:
    """The types that can replace an op as it is, and the attributes that each takes over."""
    return {
        each.name: each.attributes
        for each in reply(answers, p.Palette("", "replace", (op,))).likely
    }


def test_types_that_are_like_that_of_the_op_are_proposed_with_its_attributes(
    notebook: Notebook,
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        relu = tf.nn.relu(x, name="layer/act")
        pool = tf.nn.max_pool2d(relu, 3, 2, "VALID", name="pool")
        mean = tf.reduce_mean(pool, [1, 2], keepdims=True, name="mean")
        tf.reshape(mean, [-1, 3], name="flat")
    editor = tgw.edit(graph)
    answers = RequestHandler(editor, namespace=KernelNamespace(lambda: notebook))
    assert list(likely(answers, "layer/act"))[:3] == ["Relu6", "LeakyRelu", "Elu"]
    assert likely(answers, "pool") == {
        "AvgPool": "{'ksize': [1, 3, 3, 1], 'strides': [1, 2, 2, 1], 'padding': 'VALID'}"
    }
    assert likely(answers, "mean")["Max"] == "{'keep_dims': True}"
    assert likely(answers, "flat") == {}
    assert reply(answers, p.Palette("el", "replace", ("layer/act",))).likely == ()
    for op, name in (("pool", "AvgPool"), ("mean", "Max")):
        taken = likely(answers, op)[name]
        reply(
            answers,
            p.Change(
                "replace", (op,), ("by", "attributes", "remove"), (f'"{name}"', taken, "True")
            ),
        )
    shapes = [graph.get_tensor_by_name(f"{name}:0").shape.as_list() for name in ("AvgPool", "Max")]
    assert shapes == [[None, 3, 3, 3], [None, 1, 1, 3]]
    # The only op of a layer stays in it, by the form and by a call.
    assert (
        reply(
            answers, p.Describe("Elu", function=False, command="replace", what=("layer/act",))
        ).scope
        == "layer/Elu"
    )
    assert editor.replace("layer/act", "Elu", remove=True).added == ("layer/Elu",)


def test_a_type_is_described_with_the_kinds_and_defaults_of_its_parameters(
    answers: RequestHandler,
) -> None:
    described = reply(
        answers, p.Describe("LeakyRelu", function=False, command="replace", what=(RELU,))
    )
    (alpha,) = described.parameters
    assert (alpha.name, alpha.kind, alpha.default, alpha.required) == (
        "alpha",
        "float",
        "0.2",
        False,
    )
    assert described.scope == "net/hidden/LeakyRelu"
    padding = {
        parameter.name: parameter
        for parameter in reply(
            answers, p.Describe("AvgPool", function=False, command="replace", what=(RELU,))
        ).parameters
    }
    assert padding["padding"].allowed == ("SAME", "VALID")
    assert (padding["ksize"].kind, padding["ksize"].many, padding["ksize"].required) == (
        "int",
        True,
        True,
    )
    (scale,) = reply(
        answers, p.Describe("BiasAdd", function=False, command="insert", what=(RELU,))
    ).parameters[:1]
    assert (scale.name, scale.kind, scale.required) == ("bias", "tensor", True)


def test_a_function_is_described_by_its_signature(answers: RequestHandler) -> None:
    described = reply(answers, p.Describe("swish", function=True, command="replace", what=(RELU,)))
    assert described.summary == "A smooth activation."
    kinds = [
        (parameter.name, parameter.kind, parameter.default) for parameter in described.parameters
    ]
    assert kinds == [("beta", "float", "1.0"), ("clip", "bool", "False")]


@pytest.mark.parametrize(("name", "is_function"), [("Nothing", False), ("nothing", True)])
def test_what_there_is_not_is_refused(
    answers: RequestHandler, name: str, is_function: bool
) -> None:
    with pytest.raises(GraphEditError, match=name):
        reply(answers, p.Describe(name, function=is_function, command="replace", what=(RELU,)))


def test_an_op_is_replaced_by_a_type_with_attributes_undone_and_replayed(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    change = p.Change(
        "replace",
        (RELU,),
        ("by", "attributes", "remove"),
        ('"LeakyRelu"', '{"alpha": 0.5}', "True"),
    )
    state = reply(answers, change).state
    assert state.code[0].endswith(
        'by="LeakyRelu", remove=True, attributes={"alpha": 0.5}, name="net/hidden/LeakyRelu")'
    )
    made = editor.graph.get_operation_by_name("net/hidden/LeakyRelu")
    assert made.get_attr("alpha") == 0.5
    again = tgw.example()
    again.history.replay(editor.history.records())
    assert again.history.lines == editor.history.lines
    reply(answers, p.Undo())
    assert RELU in editor._core.index.ids
    assert editor.history.lines == ()


def test_a_function_of_the_notebook_is_named_and_only_where_the_message_says_so(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    with pytest.raises(GraphEditError, match="swish"):
        reply(answers, p.Change("insert", (f"{RELU}:0",), ("function",), ("swish",)))
    change = p.Change(
        "insert",
        (f"{RELU}:0",),
        ("function", "attributes"),
        ("swish", '{"clip": True}'),
        ("function",),
    )
    assert "function=swish" in reply(answers, change).state.code[0]
    assert editor.ops(type="Minimum").ops
    with pytest.raises(UnknownName, match=r"no variable 'swosh'.*'swish'"):
        reply(answers, p.Change("insert", (f"{RELU}:0",), ("function",), ("swosh",), ("function",)))


@pytest.mark.parametrize(
    ("op_type", "attributes", "argument"),
    [
        ("LeakyRelu", '{"alpha": "much"}', "alpha"),
        ("LeakyRelu", '{"beta": 1.0}', "beta"),
        ("AvgPool", '{"ksize": 2, "strides": [1, 1, 1, 1], "padding": "SAME"}', "ksize"),
        (
            "AvgPool",
            '{"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "FULL"}',
            "padding",
        ),
        ("AvgPool", '{"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1]}', "padding"),
        ("Cast", '{"dtype": "float99"}', "dtype"),
    ],
)
def test_a_refusal_names_the_field_that_it_is_about(
    answers: RequestHandler, editor: GraphEditor, op_type: str, attributes: str, argument: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        reply(
            answers,
            p.Change("replace", (RELU,), ("by", "attributes"), (f'"{op_type}"', attributes)),
        )
    assert answers.refusal_reply(caught.value).argument == argument
    assert editor.history.lines == ()


def test_functions_and_layers_of_the_notebook_are_distinguished_without_running_them() -> None:
    class Odd:
        def __getattr__(self, name: str) -> None:
            raise RuntimeError(name)

    layer, fn = tf.keras.layers.Dense(2), tf.function(lambda x: x)
    things = Notebook(
        layer=layer, fn=fn, plain=swish, Odd=Odd, odd=Odd(), adam=tf.keras.optimizers.Adam(), np=np
    )
    things |= {"array": np.ones(2), "_hidden": swish, 3: swish, "text": "a"}
    assert KernelNamespace(lambda: things).functions() == ("plain", "fn", "layer")


def test_a_variable_that_is_not_there_is_refused_with_those_that_the_user_has_made(
    monkeypatch,
) -> None:
    monkeypatch.setattr(
        "tfgraphwidget.widget.kernel_namespace._hidden_names", lambda: frozenset({"In", "Out"})
    )
    namespace = KernelNamespace(lambda: Notebook(In=[], Out={}, x=1, batch=np.ones(2)))
    assert [name for name, _ in namespace.variables()] == ["batch", "x"]
    with pytest.raises(UnknownName, match=r"no variable 'digits'; it has 'batch' and 'x'\.$"):
        namespace.value("digits")
    with pytest.raises(UnknownName, match="No variable of the notebook is named; choose one"):
        namespace.value("")


# Values


def test_the_placeholders_that_need_a_value_are_listed_with_a_proposal(
    answers: RequestHandler,
) -> None:
    form = reply(answers, p.Feedable("net/logits"))
    (field,) = form.fields
    assert (field.tensor, field.dtype, field.shape) == ("x:0", "float32", "(None, 4)")
    assert (field.feed.kind, field.feed.shape) == ("random", "[1, 4]")
    assert (field.variables, form.remembered) == (("batch",), False)
    assert reply(answers, p.Feedable("net/w")).fields == ()


def test_feeds_are_used_and_remembered(answers: RequestHandler, editor: GraphEditor) -> None:
    reply(answers, p.Open())
    said = reply(answers, p.Probe(RELU, (FEED,))).text
    assert said.startswith(f"{RELU}:0: float32 2×8, mean ")
    assert editor._core.evaluator.probed[RELU][0].shape == (2, 8)
    form = reply(answers, p.Feedable("net/logits"))
    assert (form.remembered, form.fields[0].feed) == (True, FEED)
    reply(answers, p.Probe("net/logits"))
    assert editor._core.evaluator.probed["net/logits"][0].shape == (2, 3)


def test_the_values_of_a_selection_are_counted(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    editor.selection = editor.ops(RELU, "net/logits")
    said = reply(answers, p.Probe("", (FEED,))).edited.text  # with the first drawing
    assert said == "The values of 2 tensors, all finite; point at a box or a line to read them."


def test_the_inspector_goes_on_with_the_op_that_an_edit_has_made(answers: RequestHandler) -> None:
    change = p.Change("replace", (RELU,), ("by", "remove"), ("'Elu'", "True"), inspected=RELU)
    edited = reply(answers, change).edited
    assert edited.inspected.op_type == "Elu"
    assert edited.renamed[0] == (RELU, edited.inspected.name)


@pytest.mark.parametrize("kind", ["zeros", "ones", "random", "variable", "file"])
def test_each_kind_of_feed_gives_its_values(
    answers: RequestHandler, editor: GraphEditor, tmp_path: Path, kind: Any
) -> None:
    np.save(tmp_path / "x.npy", np.full((3, 4), 7, np.float32))
    source = {"variable": "batch", "file": str(tmp_path / "x.npy")}.get(kind, "")
    reply(answers, p.Probe("x", (p.Feed("x:0", kind, "[5, 4]", 2.0, 3.0, source),)))
    value = editor._core.evaluator.probed["x"][0].value
    assert value is not None
    expected = {
        "zeros": ((5, 4), 0, 0),
        "ones": ((5, 4), 1, 1),
        "variable": ((2, 4), 1, 1),
        "file": ((3, 4), 7, 7),
    }
    shape, low, high = expected.get(kind, ((5, 4), 2, 3))
    assert value.shape == shape
    assert low <= value.min()
    assert value.max() <= high
    first = value.copy()
    reply(answers, p.Probe("x"))
    assert (editor._core.evaluator.probed["x"][0].value == first).all()  # random numbers too


@pytest.mark.parametrize(
    ("key", "feed"),
    [
        ("shape", p.Feed("x:0", "ones", "[2, 5]", 0.0, 1.0, "")),
        ("shape", p.Feed("x:0", "ones", "two", 0.0, 1.0, "")),
        ("shape", p.Feed("x:0", "ones", "[1000000000, 4]", 0.0, 1.0, "")),
        ("low", p.Feed("x:0", "random", "[2, 4]", 1.0, 0.0, "")),
        ("source", p.Feed("x:0", "file", "", 0.0, 1.0, "nowhere.npy")),
        ("source", p.Feed("x:0", "variable", "", 0.0, 1.0, "nothing")),
        ("source", p.Feed("x:0", "variable", "", 0.0, 1.0, "text")),
        ("source", p.Feed("x:0", "variable", "", 0.0, 1.0, "module")),
    ],
)
def test_a_feed_that_does_not_fit_is_refused_at_its_field(
    answers: RequestHandler, key: str, feed: p.Feed
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        reply(answers, p.Probe(RELU, (feed,)))
    assert answers.refusal_reply(caught.value).argument == f"x:0 {key}"
    assert reply(answers, p.Feedable(RELU)).remembered is False


def test_strings_booleans_and_whole_numbers_can_be_fed(notebook: Notebook) -> None:
    with tf.Graph().as_default() as graph:
        for name, dtype in (("words", tf.string), ("flags", tf.bool), ("counts", tf.int64)):
            tf.identity(v1.placeholder(dtype, [2], name=name), name=f"{name}_read")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    answers = RequestHandler(editor, namespace=KernelNamespace(lambda: notebook))
    for name in ("words", "flags", "counts"):
        (field,) = reply(answers, p.Feedable(f"{name}_read")).fields
        reply(answers, p.Probe(f"{name}_read", (field.feed,)))
        assert editor._core.evaluator.probed[f"{name}_read"][0].shape == (2,)


def test_a_function_s_body_is_fed_too(notebook: Notebook) -> None:
    fn = tf.function(lambda x: tf.nn.relu(x) * 2.0, autograph=False)
    editor = tgw.edit(fn, signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    answers = RequestHandler(editor, namespace=KernelNamespace(lambda: notebook))
    (field,) = reply(answers, p.Feedable("Relu")).fields
    reply(answers, p.Probe("Relu", (field.feed,)))
    assert editor._core.evaluator.probed["Relu"][0].shape == (1, 2)


def test_lines_and_the_inspector_show_what_a_run_found(answers: RequestHandler) -> None:
    painted = reply(answers, p.Probe(RELU, (FEED,)))
    assert {"value_start", "value_bytes"} <= {field.name for field in painted.fields}
    (output,) = reply(answers, p.Inspect(RELU)).outputs
    assert output.value is not None
    assert output.value.shape == "(2, 8)"
    assert [image.title for image in output.value.images] == ["matrix 2×8"]


def test_a_value_becomes_a_variable_and_none_is_overwritten_silently(
    answers: RequestHandler, notebook: Notebook, editor: GraphEditor
) -> None:
    assert reply(answers, p.Assign("net/w", "")).variable == "w"
    # A read is called as its variable is.
    assert reply(answers, p.Assign("net/hidden/MatMul/ReadVariableOp:0", "")).variable == "w"
    done = reply(answers, p.Assign("net/w", "weights"))
    assert (done.dtype, done.shape) == ("float32", "(8, 3)")
    assert np.array_equal(notebook["weights"], editor.session.run("net/w/Read/ReadVariableOp:0"))
    with pytest.raises(InvalidArgument, match="has a variable 'text'") as taken:
        reply(answers, p.Assign("net/w", "text"))
    assert answers.refusal_reply(taken.value).argument == "variable"
    assert notebook["text"] == "text"
    reply(answers, p.Assign("net/w", "text", overwrite=True))
    assert notebook["text"].shape == (8, 3)
    assert reply(answers, p.Assign("net/w", "")).variable == "w"
    for name in ("no name", "class", ""):
        if name:
            with pytest.raises(InvalidArgument, match="not a name in Python"):
                reply(answers, p.Assign("net/w", name))


def test_what_was_not_run_has_no_value_to_take(answers: RequestHandler, notebook: Notebook) -> None:
    with pytest.raises(GraphEditError, match=r"editor\.probe"):
        reply(answers, p.Assign(f"{RELU}:0", "found"))
    reply(answers, p.Probe(RELU, (FEED,)))
    reply(answers, p.Assign(f"{RELU}:0", "found"))
    assert notebook["found"].shape == (2, 8)


def test_weights_larger_than_what_is_shown_are_taken_whole(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tfgraphwidget.runtime.session import current_values

    monkeypatch.setattr(current_values, "LARGEST", 16)
    editor = tgw.example()
    answers = RequestHandler(editor, namespace=KernelNamespace(lambda: notebook))
    examined = reply(answers, p.Examine("net/w"))
    assert examined.value is None
    assert "are read to be looked at" in examined.why
    reply(answers, p.Assign("net/w", "weights"))
    assert notebook["weights"].shape == (8, 3)


# Costs


def test_the_table_of_costs_is_sorted_and_sums_up(
    answers: RequestHandler, editor: GraphEditor
) -> None:
    top = reply(answers, p.Costs("flops", limit=2))
    assert [row.rank for row in top.rows] == [1, 2]
    assert top.rows[0].flops >= top.rows[1].flops > 0
    assert top.total.parameters == 8 * 3 + 4 * 8 + 8
    assert top.notice == "batch = 1"
    table = editor.table(batch=1).set_index("name")
    assert top.rows[0].flops == table["flops"].max()
    least = reply(answers, p.Costs("flops", limit=2, ascending=True))
    assert least.rows[0].flops <= top.rows[1].flops


def test_scopes_have_the_sums_of_what_is_in_them(answers: RequestHandler) -> None:
    rows = {row.name: row for row in reply(answers, p.Costs("parameters", "scopes", 1000)).rows}
    assert rows["net/"].parameters == 64
    assert rows["net/hidden/"].parameters == 40


def test_the_current_op_has_a_row_wherever_it_is(answers: RequestHandler) -> None:
    rows = reply(answers, p.Costs("flops", limit=1, current=RELU)).rows
    assert [row.name for row in rows][1:] == [RELU]
    scopes = reply(answers, p.Costs("flops", "scopes", 1, current=RELU)).rows
    assert scopes[-1].name == "net/hidden/"


def test_times_are_measured_with_feeds_and_forgotten_after_an_edit(answers: RequestHandler) -> None:
    assert reply(answers, p.Costs("time")).measured == ""
    fields = reply(answers, p.Feedable("", measure=True)).fields
    reply(answers, p.Measure(tuple(field.feed for field in fields)))
    timed = reply(answers, p.Costs("time"))
    assert timed.measured
    assert timed.rows[0].time > 0
    reply(answers, p.Change("bypass", (RELU,)))
    assert reply(answers, p.Costs("time")).measured == ""


# Messages


def test_parts_of_a_message_are_checked_as_messages_are() -> None:
    body = {"tensor": "x:0", "kind": "ones", "shape": "[1]", "low": 0, "high": 1, "source": ""}
    number, request = codec.decode({"id": 1, "type": "probe", "name": "a", "feeds": [body]})
    assert (number, request) == (1, p.Probe("a", (p.Feed("x:0", "ones", "[1]", 0.0, 1.0, ""),)))
    for wrong in (
        {**body, "kind": "nothing"},
        {**body, "more": 1},
        {"tensor": "x:0"},
        "x",
        [body],
        {1: 2},
    ):
        with pytest.raises(GraphEditError, match="reload the page"):
            codec.decode({"id": 1, "type": "probe", "name": "a", "feeds": [wrong]})


# Buttons of the whole graph

FORMS = {
    "add_signature": {"name": "serving_default"},
    "cast": {"dtype": "float16"},
    "change_batch_size": {"size": "8"},
    "merge_duplicates": {},
    "obfuscate_names": {},
    "quantize_weights": {},
    "remove_identities": {},
    "replace_all": {"pattern": "Relu(x)", "by": "LeakyRelu(x, alpha=0.2)"},
    "rename_type": {"old": "Relu", "new": "Elu"},
}


NOTHING_TO_DO = {"merge_duplicates", "quantize_weights"}  # in this graph, after `freeze`


@pytest.mark.parametrize("command", FORMS)
def test_a_button_of_the_whole_graph_does_its_edit_whatever_is_selected(
    command: str, answers: RequestHandler, editor: GraphEditor
) -> None:
    editor.freeze("net/logits")
    editor.selection = editor.ops("x")
    form = FORMS[command]
    asked = {field.key for field in BUTTONS[command].fields}
    assert form.keys() <= asked
    change = p.Change(command, (), tuple(form), tuple(form.values()))  # type: ignore[arg-type]
    if command in NOTHING_TO_DO:
        edited = reply(answers, change).edited
        assert edited.is_nothing
        assert edited.text.endswith(".")
        assert [step.command.command_name() for step in editor.history] == ["freeze"]
        return
    reply(answers, change)
    assert editor.history.done[-1].command.command_name() == command
    assert editor.undo().startswith(f"editor.{registry.commands()[command].call_name()}(")


def test_what_is_fed_with_a_batch_of_a_fixed_size_is_proposed_of_as_many() -> None:
    with tf.Graph().as_default() as graph:
        images = v1.placeholder(tf.float32, [4, 8], name="images")
        labels = v1.placeholder(tf.int32, [None], name="labels")
        logits = tf.matmul(images, np.ones([8, 3], np.float32))
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits, name="loss")
    answers = RequestHandler(tgw.edit(graph, session=v1.Session(graph=graph)))
    fields = reply(answers, p.Feedable("", measure=True)).fields
    assert {field.tensor: field.feed.shape for field in fields} == {
        "images:0": "[4, 8]",
        "labels:0": "[4]",
    }
    assert reply(answers, p.Measure(tuple(field.feed for field in fields)))
