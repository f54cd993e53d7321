"""What can be said of an op beyond its wiring: what it holds, its documentation, where it was made,
what it calls.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised, v1
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.runtime.measure import Stats
from tfgraphwidget.runtime.measure import images as pixels
from tfgraphwidget.runtime.session import current_values
from tfgraphwidget.sources.describe import docs, origins
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.inspector import Inspector
from tfgraphwidget.widget.page_text import reply_on_page
from tfgraphwidget.widget.protocol.replies import describe_stats

HERE = Path(__file__).name
READ = {"ref": "net/one/w/read", "resource": "net/one/w/Read/ReadVariableOp"}


def examined(editor: GraphEditor, name: str) -> p.ExamineReply:
    """The answer for a name, in the words of the page."""
    return reply_on_page(Inspector(editor).examine(name))


def shown(value: np.ndarray) -> str:
    """A few numbers as the panel writes them."""
    text = np.array2string(value, precision=4, separator=", ").replace("\n", "")
    return re.sub(r"\s+", "", text).replace(",", ", ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32([-0.115, 0.05, 12]), "[-0.115, 0.05, 12.]"),
        (np.array([[1, 20], [300, 4]]), "[[1, 20], [300, 4]]"),
        (np.array([b"a , b", b"c"]), "[b'a , b', b'c']"),
        (np.arange(17), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …]"),
    ],
)
def test_numbers_are_in_a_line_without_the_spaces_of_columns(value: np.ndarray, text: str) -> None:
    described = describe_stats(Stats("x", str(value.dtype), value))
    assert (described.sample or described.value) == text


def pixels_of(image: p.Image) -> np.ndarray:
    """The grey values of a picture, (height, width)."""
    return np.frombuffer(base64.b64decode(image.pixels), np.uint8).reshape(
        image.height, image.width
    )


# What it holds


def test_a_variable_its_read_and_its_scope_show_its_value_in_the_session(
    editor: GraphEditor, session: v1.Session, mlp: tf.Graph
) -> None:
    read = READ[
        "ref" if mlp.get_operation_by_name("net/one/w").type == "VariableV2" else "resource"
    ]
    value = session.run(f"{read}:0")
    for name in ("net/one/w", "net/one/w/", read):
        report = examined(editor, name)
        assert report.value is not None
        assert report.why == ""
        assert (report.value.dtype, report.value.shape, report.value.value) == (
            "float32",
            "(3, 4)",
            shown(value),
        )
        assert float(report.value.mean) == pytest.approx(value.mean(), rel=1e-3)
        assert float(report.value.std) == pytest.approx(value.std(), rel=1e-3)
        assert sum(report.value.bars) == 12
        assert [(image.title, image.width, image.height) for image in report.images] == [
            ("matrix 3×4", 4, 3)
        ]


def test_the_value_is_the_present_one(editor: GraphEditor, session: v1.Session) -> None:
    with session.graph.as_default():
        variable = next(v for v in v1.global_variables() if v.op.name == "net/one/b")
        variable.load([1.0, 2.0, 3.0, 4.0], session)
    report = examined(editor, "net/one/b")
    assert report.value is not None
    assert report.value.value == "[1., 2., 3., 4.]"
    assert [pixels_of(image).tolist() for image in report.images] == [[[0, 85, 170, 255]]]


def test_of_long_lists_the_page_gets_the_first_and_how_many_there_are() -> None:
    with tf.Graph().as_default() as graph:
        xs = [v1.placeholder(tf.float32, [], name=f"x_{k}") for k in range(1100)]
        tf.add_n(xs, name="net/sum")
        for _ in range(250):
            tf.negative(xs[0])
    inspector = Inspector(tgw.edit(graph))
    for name in ("net", "net/sum"):
        reply = inspector.inspect(name, lambda _: None)
        assert (len(reply.inputs), reply.input_count) == (1000, 1100)
    (output,) = inspector.inspect("x_0", lambda _: None).outputs
    assert (len(output.peers), output.peer_count) == (200, 251)


def test_other_ops_hold_nothing(editor: GraphEditor) -> None:
    for name in ("net/one/MatMul", "x", "net/", "net/one/w/Assign", "net/logits"):
        report = examined(editor, name)
        assert (report.value, report.why, report.images) == (None, "", ())


@pytest.mark.parametrize("resource", [False, True])
def test_what_is_not_initialised_says_so_and_stays_so(*, resource: bool) -> None:
    graph = build_mlp(resource=resource)
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        version = graph.version
        report = examined(editor, "net/one/w")
        assert report.value is None
        assert (
            report.why
            == "Variable 'net/one/w' has no value in this session; run its initializer first."
        )
        with graph.as_default():
            assert len(session.run(v1.report_uninitialized_variables())) == 4
        assert version < graph.version  # by this test's own op; below, by none
        version = graph.version
        examined(editor, "net/one/w")
        assert graph.version == version


def test_no_session_and_a_closed_one_are_reported(mlp: tf.Graph) -> None:
    assert "There is no session" in examined(tgw.edit(mlp), "net/one/w").why
    session = initialised(mlp)
    editor = tgw.edit(mlp, session=session)
    session.close()
    assert "session is closed" in examined(editor, "net/one/w").why


def test_a_read_that_waits_for_an_assignment_is_not_run() -> None:
    graph = tf.Graph()
    with graph.as_default():
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], name="v", shared_name="v")
        assign = tf.raw_ops.AssignVariableOp(resource=handle, value=1.0)
        more = tf.raw_ops.AssignAddVariableOp(resource=handle, value=1.0)
        with tf.control_dependencies([more]):
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="v/after")
    with v1.Session(graph=graph) as session:
        session.run(assign)
        editor = tgw.edit(graph, session=session)
        assert "No op does nothing but read variable 'v'" in examined(editor, "v").why
        with graph.as_default():
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="plain")
        report = examined(editor, "v/after")
        assert report.value is not None
        assert report.value.value == "1."
        assert session.run(read) == 1


def test_a_file_s_variables_are_read_from_its_checkpoint_alone(
    mlp: tf.Graph, tmp_path: Path
) -> None:
    with initialised(mlp) as session, mlp.as_default():
        prefix = v1.train.Saver().save(session, str(tmp_path / "m.ckpt"))
        is_reference = mlp.get_operation_by_name("net/two/w").type == "VariableV2"
        value = session.run("net/two/w:0" if is_reference else "net/two/w/Read/ReadVariableOp:0")
    editor = tgw.edit(f"{prefix}.meta", checkpoint=prefix)
    report = examined(editor, "net/two/w")
    assert report.value is not None
    assert report.value.low == f"{value.min():.4g}"
    assert report.value.high == f"{value.max():.4g}"
    assert editor._core.source.graph is None  # looking at it imports nothing
    editor.rename("net/two/w", "net/two/weights")
    assert examined(editor, "net/two/weights").value == report.value
    assert "without values" in examined(tgw.edit(f"{prefix}.meta"), "net/two/w").why


class Scorer(tf.Module):
    """A module with one variable."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0, 5.0]], name="w")

    @tf.function
    def score(self, x: tf.Tensor) -> tf.Tensor:
        """x times w."""
        return tf.matmul(x, self.w, name="product")


@pytest.fixture
def scorer() -> tuple[Scorer, Any]:
    """It, and its function for any number of rows."""
    module = Scorer()
    return module, module.score.get_concrete_function(tf.TensorSpec([None, 1], name="x"))


@pytest.fixture
def saved(scorer: tuple[Scorer, Any], tmp_path: Path) -> str:
    """It as a SavedModel with debug information."""
    module, function = scorer
    options = tf.saved_model.SaveOptions(save_debug_info=True)
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=function, options=options)
    return str(tmp_path / "m")


def variable_of(editor: GraphEditor) -> str:
    """The only variable that the graph one stands in multiplies with."""
    return next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "VarHandleOp"
    )


def test_a_saved_model_shows_values_and_stack_traces_inside_of_its_functions(saved: str) -> None:
    editor = tgw.edit(saved)
    assert len(editor.view.breadcrumb) > 1
    report = examined(editor, variable_of(editor))
    assert report.value is not None
    assert report.value.value == "[[1., 2., 5.]]"
    assert editor._core.source.graph is None
    product = examined(editor, "product")
    assert any(HERE in line and "in score" in line for line in product.created)
    editor.view.leave(0)
    assert "[[1., 2., 5.]]" in [
        e.value.value for n in editor._core.index.names if (e := examined(editor, n)).value
    ]


@pytest.mark.parametrize("lacking", ["data-00000-of-00001", "index"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_of_a_saved_model_without_its_values_a_sentence_names_the_file_that_is_missing(
    saved: str, lacking: str, is_folder: bool
) -> None:
    file = Path(saved) / "variables" / f"variables.{lacking}"
    before = tgw.edit(saved)  # which has read the index
    file.unlink()
    if is_folder:
        file.mkdir()
    later = tgw.edit(saved)
    for opened in (later,) if lacking == "index" else (before, later):
        why = (
            f"File {str(file)!r} of the checkpoint is missing, so the variables have no values; "
            "put it back"
        )
        assert examined(opened, variable_of(opened)).why == f"{why}."
        with pytest.raises(NotRunnable, match=re.escape(why)):
            assert opened.session
        assert not opened.diff(before)
        assert len(opened.table(batch=1)) == len(opened.table()) == len(opened._core.index.names)
    assert any(why in notice for notice in tgw.edit(saved).source.notices)


def test_a_function_s_variables_are_the_live_ones(scorer: tuple[Scorer, Any]) -> None:
    module, function = scorer
    editor = tgw.edit(function)
    module.w.assign([[3.0, 4.0, 7.0]])
    report = examined(editor, variable_of(editor))
    assert report.value is not None
    assert report.value.value == "[[3., 4., 7.]]"
    read = next(n for n in editor._core.index.names if n.endswith("ReadVariableOp"))
    assert examined(editor, read).value == report.value
    assert any(HERE in line and "self.w" in line for line in examined(editor, "product").created)


def test_a_constant_s_value_needs_no_session() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant([1, 2, 3], name="few")
        tf.identity(tf.constant([np.nan, 1.0], name="frozen"), name="frozen/read")
        tf.constant(b"<img src=x onerror=alert(1)>", name="text")
    editor = tgw.edit(graph)
    few = examined(editor, "few").value
    assert few is not None
    assert (few.dtype, few.value, few.mean, few.std) == ("int32", "[1, 2, 3]", "2", "0.8165")
    frozen = examined(editor, "frozen/read").value
    assert frozen is not None
    assert (frozen.value, frozen.nans) == ("[nan, 1.]", 1)
    text = examined(editor, "text").value
    assert text is not None
    assert "onerror" in text.value


def test_what_is_too_large_is_reported_by_its_size_and_not_read() -> None:
    node = v1.NodeDef(name="huge", op="Const")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0, shape=[1]))
    node.attr["value"].tensor.tensor_shape.CopyFrom(tf.TensorShape([1 << 20, 1 << 20]).as_proto())
    report = examined(tgw.edit(v1.GraphDef(node=[node])), "huge")
    assert report.value is None
    assert report.why == (
        "Constant 'huge' is float32 1048576×1048576, 4,194,304 MB; no more than 256 MB are read to "
        "be looked at; take it as a variable."
    )
    graph = tf.Graph()
    with graph.as_default():
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[1 << 14, 1 << 13], name="v")
    with v1.Session(graph=graph) as session:
        assert "512 MB; no more than 256 MB" in examined(tgw.edit(graph, session=session), "v").why


def test_a_damaged_constant_one_of_a_newer_dtype_and_a_circle_of_identities_have_no_value() -> None:
    broken = v1.NodeDef(name="broken", op="Const")
    broken.attr["dtype"].type = tf.float32.as_datatype_enum
    broken.attr["value"].tensor.dtype = tf.float32.as_datatype_enum
    broken.attr["value"].tensor.tensor_content = b"abc"
    broken.attr["value"].tensor.tensor_shape.CopyFrom(tf.TensorShape([5]).as_proto())
    circle = v1.NodeDef(name="circle", op="Identity", input=["circle"])
    circle.attr["T"].type = tf.float32.as_datatype_enum
    newer = v1.NodeDef(name="newer", op="Const")
    newer.attr["dtype"].type = newer.attr["value"].tensor.dtype = 99
    editor = tgw.edit(v1.GraphDef(node=[broken, circle, newer]))
    assert (
        examined(editor, "broken").why
        == "Constant 'broken' is damaged, so it has no value; set it again."
    )
    assert (
        "'newer' is of DataType 99, which TensorFlow does not know here"
        in examined(editor, "newer").why
    )
    assert examined(editor, "circle").value is None


# Pictures of it


def test_a_kernel_is_shown_filter_by_filter_as_the_mean_over_its_inputs() -> None:
    kernel = np.random.default_rng(0).normal(size=(3, 5, 4, 20)).astype(np.float32)
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(kernel, name="kernel")
    images = examined(tgw.edit(graph), "kernel").images
    assert [image.title for image in images[:2]] == [
        "filter 1 of 20, mean over 4 inputs",
        "filter 2 of 20, mean over 4 inputs",
    ]
    assert len(images) == pixels.MOST_FILTERS
    for k, image in enumerate(images):
        grey = kernel[..., k].astype(np.float64).mean(axis=2)
        expected = np.round((grey - grey.min()) / (grey.max() - grey.min()) * 255)
        assert np.abs(pixels_of(image) - expected).max() <= 1
        assert (image.width, image.height) == (5, 3)


def test_a_large_matrix_is_shown_in_blocks() -> None:
    value = np.zeros((200, 100))
    value[100:] = 1
    (image,) = pixels.gray_images(value)
    assert image.title == "matrix 200×100, mean of blocks"
    assert image.pixels.shape == (64, 64)
    assert image.pixels[0].tolist() == [0] * 64
    assert image.pixels[-1].tolist() == [255] * 64


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.array([np.nan, 1.0, 3.0, np.inf]), [[0, 0, 255, 0]]),
        (np.array([7, 7]), [[128, 128]]),
        (np.array([np.nan, np.nan]), [[0, 0]]),
        (np.array([True, False]), [[255, 0]]),
        (np.array([-1.7e308, 0, 1.7e308]), [[0, 128, 255]]),
        (np.ones((1, 1, 2, 3)), [[128] * 3] * 2),
        (np.array([1, 2], tf.bfloat16.as_numpy_dtype), [[0, 255]]),
    ],
)
def test_pixels_of_what_is_odd(value: np.ndarray, expected: list[list[int]]) -> None:
    (image,) = pixels.gray_images(value)
    assert image.pixels.tolist() == expected


@pytest.mark.parametrize(
    "value", [np.float32(1), np.zeros((0, 3)), np.array(["a", "b"]), np.ones((2, 2, 2))]
)
def test_no_picture_of_scalars_text_and_nothing(value: np.ndarray) -> None:
    assert pixels.gray_images(np.asarray(value)) == ()


# What TensorFlow says of its type


def test_the_documentation_is_tensorflow_s_own(editor: GraphEditor) -> None:
    report = examined(editor, "net/one/MatMul")
    assert report.summary == 'Multiply the matrix "a" by the matrix "b".'
    assert report.about.startswith(
        'The inputs must be two-dimensional matrices and the inner dimension of "a" (after being '
        "transposed if "
        "transpose_a is true) must match"
    )
    assert "Args:" not in report.about
    by_name = {name: (sort, text) for sort, name, text in report.arguments}
    assert by_name["a"][0] == "input"
    assert by_name["b"] == ("input", "A `Tensor`. Must have the same type as `a`.")
    assert by_name["product"] == ("output", "A `Tensor`. Has the same type as `a`.")
    assert by_name["transpose_a"] == (
        "attribute",
        (
            "An optional `bool`. Defaults to `False`. "
            'If true, "a" is transposed before multiplication.'
        ),
    )
    assert "T" not in by_name


def test_lists_and_code_in_the_documentation_keep_their_lines() -> None:
    from tensorflow.python.framework import op_def_registry

    convolution = docs.documentation("Conv2D", op_def_registry.get("Conv2D")).about.splitlines()
    assert [line[:12] for line in convolution if line[:1].isdigit()] == [
        "1. Flattens ",
        "2. Extracts ",
        "3. For each ",
    ]
    assert "    output[b, i, j, k] =" in convolution
    assert (
        "Given an input tensor of shape `[batch, in_height, in_width, in_channels]` and a filter"
        in convolution[0]
    )
    sliced = docs.documentation(
        "StridedSlice", op_def_registry.get("StridedSlice")
    ).about.splitlines()
    assert "begin_mask = 1<<4 | 1<<5 = 48" in sliced


def test_several_outputs_each_have_their_words() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.unique([1, 1, 2], name="u")
    outputs = [
        (name, text)
        for sort, name, text in examined(tgw.edit(graph), "u").arguments
        if sort == "output"
    ]
    assert outputs == [
        ("y", "A `Tensor`. Has the same type as `x`."),
        ("idx", "A `Tensor` of type `out_idx`."),
    ]


def test_an_op_without_words_is_reported_by_its_definition_and_an_unknown_one_not_at_all() -> None:
    from tensorflow.core.framework import op_def_pb2

    definition = op_def_pb2.OpDef(name="Mine")
    definition.input_arg.add(name="x", type_attr="T", number_attr="N", description="What goes in.")
    definition.output_arg.add(name="y", type=tf.int32.as_datatype_enum)
    definition.attr.add(name="T", type="type")
    definition.attr.add(name="k", type="int").default_value.i = 3
    assert docs.documentation("Mine", definition).arguments == (
        ("input", "x", "N tensors of dtype T. What goes in."),
        ("output", "y", "A tensor of dtype int32."),
        ("attribute", "T", "A type."),
        ("attribute", "k", "A int. Defaults to 3."),
    )
    assert docs.documentation("Nobody", None) == docs.Documentation()
    report = examined(tgw.edit(v1.GraphDef(node=[v1.NodeDef(name="n", op="Nobody")])), "n")
    assert (report.summary, report.about, report.arguments) == ("", "", ())


def test_every_op_type_that_is_registered_can_be_told() -> None:
    from tensorflow.python.framework import op_def_registry

    types = [name for name in dir(tf.raw_ops) if not name.startswith("_")]
    report = [docs.documentation(name, op_def_registry.get(name)) for name in types[::7]]
    assert sum(bool(one.summary) for one in report) > 0.6 * len(report)
    assert all("\n" not in one.summary for one in report)
    definitions = [op_def_registry.get(name) for name in types[::7]]
    counts = [(len(d.input_arg) + len(d.output_arg)) for d in definitions if d is not None]
    assert counts == [
        sum(s != "attribute" for s, _, _ in o.arguments)
        for o, d in zip(report, definitions, strict=True)
        if d
    ]


# Where it was made


def test_the_stack_is_of_the_person_s_own_lines() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.relu(tf.constant([1.0]), name="made")
    line = next(
        k
        for k, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if 'name="made")' in text
    )
    created = examined(tgw.edit(graph), "made").created
    assert created[-1].endswith(
        f"{HERE}:{line} in test_the_stack_is_of_the_person_s_own_lines — "
        'tf.nn.relu(tf.constant([1.0]), name="made")'
    )
    assert not any("site-packages/tensorflow" in text for text in created)
    assert any(text.startswith("… ") and text.endswith("frames of pytest") for text in created)


def test_others_frames_are_counted_and_the_last_of_them_left_out() -> None:
    package = "/x/lib/python3.11/site-packages"
    frames = [
        ("/x/lib/python3.11/runpy.py", 1, "run", ""),
        ("/home/me/train.py", 7, "main", "fit()"),
        (f"{package}/keras/src/a.py", 1, "a", ""),
        (f"{package}/keras/src/b.py", 1, "b", ""),
        (f"{package}/tensorflow/c.py", 1, "c", ""),
        ("/home/me/model.py", 9, "call", "return x"),
        (f"{package}/tensorflow/d.py", 1, "d", ""),
    ]
    assert origins.format_frames(frames) == (
        "… 1 frame of Python",
        "/home/me/train.py:7 in main — fit()",
        "… 2 frames of Keras",
        "… 1 frame of TensorFlow",
        "/home/me/model.py:9 in call — return x",
    )
    assert origins.format_frames(frames[2:5]) == ()


def test_what_a_file_was_imported_by_is_not_shown(mlp: tf.Graph) -> None:
    editor = tgw.edit(mlp.as_graph_def())
    assert examined(editor, "net/logits").created == ()
    editor.graph  # noqa: B018  it is imported now, by our own code
    created = examined(editor, "net/logits").created
    assert not any("tfgraphwidget/sources" in line for line in created)


def test_inside_of_a_live_graph_s_functions_the_session_and_the_trace_are_known() -> None:
    graph = tf.Graph()
    with graph.as_default():
        v = v1.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        x = v1.placeholder(tf.float32, [2], name="x")
        tf.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, tf.add(a, v, name="more")), [0, x], name="loop"
        )
    with v1.Session(graph=graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.view.enter("loop", "body")
        assert (
            examined(editor, "v").why
            == "Variable 'v' has no value in this session; run its initializer first."
        )
        session.run(v.initializer)
        value = examined(editor, "v").value
        assert value is not None
        assert value.value == "[1., 2.]"
        (more,) = (n for n in editor._core.index.names if n.startswith("more") and "/" not in n)
        assert 'name="more"' in examined(editor, more).created[-1]


# What it calls takes and gives


def test_a_call_shows_the_signatures_of_its_functions() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [3], name="x")
        tf.raw_ops.StatefulPartitionedCall(
            args=[x], Tout=[tf.float32],
            f=tf.function(lambda v: 2 * v).get_concrete_function(tf.TensorSpec([3])),
            name="call",
        )  # fmt: skip
        tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 2), [0, x], name="loop")
    editor = tgw.edit(graph)
    call = examined(editor, "call").signature
    assert [(sort, text) for sort, _, text in call] == [
        ("argument", "float32 (3,)"),
        ("result", "float32 (3,)"),
    ]
    loop = next(
        n
        for n, t in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if t in ("While", "StatelessWhile")
    )
    sorts = {sort for sort, _, _ in examined(editor, loop).signature}
    assert sorts == {"body argument", "body result", "cond argument", "cond result"}
    assert examined(editor, "x").signature == ()
    editor.view.enter("call")
    ends = examined(editor, editor._core.view.body.arguments[0].partition(":")[0]).signature
    assert [(sort, text) for sort, _, text in ends] == [
        ("argument", "float32 (3,)"),
        ("result", "float32 (3,)"),
    ]


# Bad input


def test_a_name_that_is_nowhere_is_refused(editor: GraphEditor) -> None:
    with pytest.raises(GraphEditError, match="nowhere"):
        examined(editor, "nowhere")


def test_holders_are_found_by_op_and_by_scope(editor: GraphEditor) -> None:
    index = editor._core.index
    assert (
        current_values.find_state_op(index, "net/one/w/")
        == current_values.find_state_op(index, "net/one/w")
        == index.ids["net/one/w"]
    )
    assert current_values.find_state_op(index, "net/one/") is None
    assert current_values.find_state_op(index, "nowhere") is None
