"""TFLite and ONNX: equal to the graph, cut at the boundary, refused with the ops; the kernel
outlives the converter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised, v1
from tests.export import child_jobs
from tests.export.test_places import files_up_to
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError, InvalidArgument, PackageMissing, UnknownName
from tfgraphwidget.export import file_kinds
from tfgraphwidget.export.conversion import onnx_model, tflite_model
from tfgraphwidget.export.conversion.converter_process import ConversionRefused, ConverterProcess
from tfgraphwidget.export.formats import converted_model
from tfgraphwidget.runtime.sandbox import JobFailed, child_process

BOUNDARY = ("x:0", {"logits": "net/logits:0"})
SUFFIXES = [".tflite", ".onnx"]


@pytest.fixture(scope="module")
def session() -> Iterator[v1.Session]:
    session = initialised(build_mlp(resource=True))
    yield session
    session.close()


@pytest.fixture
def editor(session: v1.Session) -> GraphEditor:
    return tgw.edit(session.graph, session=session)


class InProcess:
    """Calls converters in this process, which has imported TensorFlow."""

    def call(self, function: Any, *arguments: Any, seconds: float) -> Any:
        result, error = child_process._answer(function, arguments)
        if isinstance(error, JobFailed):
            raise ConversionRefused(error.why, helps=error.helps) from error
        if error is not None:
            raise error
        return result


def reports_of(editor: GraphEditor) -> list[str]:
    """What the last save says of its check; a difference that is reported is no warning."""
    return [each for each in editor.source.notices if each.startswith("The largest difference")]


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converted_model, "CONVERTERS", InProcess())


def build_graph(kind: str) -> GraphEditor:
    """x → h → y, where h is of an op type."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        h = tf.identity(x, name="before")
        if kind == "while":
            h = tf.while_loop(
                lambda i, _: i < 3, lambda i, a: (i + 1, tf.math.igamma(a, a)), [0, h], name="loop"
            )[1]
        elif kind == "igamma":
            h = tf.math.igamma(h, h, name="igamma")
        else:
            h = v1.nn.dropout(h, rate=0.5, name="dropout")
            h = tf.math.igamma(h, h, name="igamma")
        tf.identity(h, name="y")
    return tgw.edit(graph)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_model_has_the_keys_of_the_boundary_and_gives_what_the_graph_gives(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path, suffix: str
) -> None:
    path = editor.save(tmp_path / f"m{suffix}", *BOUNDARY)
    assert reports_of(editor)
    expected = session.run("net/logits:0", {"x:0": batch})
    if suffix == ".onnx":
        found = onnxruntime.InferenceSession(path).run(["logits"], {"x": batch})[0]
    else:
        interpreter = tflite_model._interpreter(path.read_bytes())
        found = interpreter.get_signature_runner("serving_default")(x=batch)["logits"]
    assert np.allclose(found, expected, atol=1e-5)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_tensor_can_be_several_outputs_and_an_input(
    editor: GraphEditor, batch: np.ndarray, tmp_path: Path, suffix: str
) -> None:
    outputs = {"one": "net/logits:0", "other": "net/logits:0", "same": "x:0"}
    path = editor.save(tmp_path / f"m{suffix}", "x:0", outputs)
    assert reports_of(editor)
    if suffix == ".onnx":
        values = onnxruntime.InferenceSession(path).run([*outputs], {"x": batch})
    else:
        runner = tflite_model._interpreter(path.read_bytes()).get_signature_runner(
            "serving_default"
        )
        values = [runner(x=batch)[key] for key in outputs]
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(values[2], batch)


@pytest.mark.usefixtures("in_process")
def test_an_onnx_model_is_cut_at_its_input_and_has_the_opset(
    editor: GraphEditor, session: v1.Session, batch: np.ndarray, tmp_path: Path
) -> None:
    path = editor.save(
        tmp_path / "m.onnx", {"h": "net/one/out:0"}, {"logits": "net/logits:0"}, opset=13
    )
    assert reports_of(editor)
    hidden, expected = session.run(["net/one/out:0", "net/logits:0"], {"x:0": batch})
    assert np.allclose(
        onnxruntime.InferenceSession(path).run(["logits"], {"h": hidden})[0], expected, atol=1e-5
    )
    import onnx

    assert [each.version for each in onnx.load(path).opset_import if not each.domain] == [13]


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("in_loop", [False, True], ids=["in the graph", "in a loop"])
@pytest.mark.parametrize(
    "function", [tf.math.erfc, tf.math.expm1, tf.math.log1p], ids=["Erfc", "Expm1", "Log1p"]
)
@pytest.mark.filterwarnings("ignore:.*largest difference")
def test_an_op_that_onnx_has_a_formula_for_is_converted(
    tmp_path: Path, function: Any, in_loop: bool
) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        if in_loop:
            _, y = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, function(a)), [0, x])
        else:
            y = function(x)
        tf.identity(y, name="y")
        batch = np.linspace(0, 3, 12, dtype=np.float32).reshape(3, 4)
        expected = session.run("y:0", {"x:0": batch})
    editor = tgw.edit(graph)
    assert not editor.lint("onnx", only="no-kernel")
    path = editor.save(tmp_path / "m.onnx", "x:0", {"y": "y:0"})
    np.testing.assert_allclose(
        onnxruntime.InferenceSession(path).run(["y"], {"x": batch})[0], expected, 1e-5, 1e-5
    )


@pytest.mark.usefixtures("in_process")
def test_ops_of_tensorflow_are_kept_where_that_is_asked_for_though_no_runtime_here_has_them(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default() as graph:
        tf.tan(v1.placeholder(tf.float32, [2, 4], name="x"), name="y")
    editor = tgw.edit(graph)
    with pytest.raises(GraphEditError, match="select_tf_ops=True"):
        editor.save(tmp_path / "m.tflite", "x:0", "y:0")
    with pytest.warns(UserWarning, match=r"TF Select.*written, but not run"):
        path = editor.save(tmp_path / "m.tflite", "x:0", "y:0", select_tf_ops=True)
    assert b"FlexTan" in path.read_bytes()


@pytest.mark.usefixtures("in_process")
def test_a_loop_over_elements_of_unknown_size_is_kept_as_ops_of_tensorflow(tmp_path: Path) -> None:
    rows = tf.function(lambda x: tf.map_fn(lambda row: row * 2.0, x))
    editor = tgw.edit(rows, signature=[tf.TensorSpec([3, None], tf.float32)])
    arguments, results = editor._core.executor.inputs_and_outputs
    ends = {"x": next(iter(arguments))}, {"y": next(iter(results.values()))}
    with pytest.raises(
        GraphEditError, match=r"requires element_shape to be .*select_tf_ops=True"
    ) as refusal:
        editor.save(tmp_path / "m.tflite", *ends)
    assert refusal.value.code == "conversion-refused"
    with pytest.warns(UserWarning, match="written, but not run"):
        editor.save(tmp_path / "m.tflite", *ends, select_tf_ops=True)


@pytest.mark.usefixtures("in_process")
@pytest.mark.filterwarnings("ignore:.*largest difference")
@pytest.mark.parametrize("size", [1, 3])
def test_recurrent_layers_of_an_open_batch_become_tflite_with_a_batch_size(
    size: int, tmp_path: Path
) -> None:
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Input((5, 3)),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.GRU(2, return_sequences=True),
            layers.SimpleRNN(2),
        ]
    )
    editor = tgw.edit(model)
    with pytest.raises(GraphEditError, match="requires element_shape to be static"):
        editor.save(tmp_path / "open.tflite")
    editor.passes.change_batch_size(size)
    editor.save(tmp_path / "fixed.tflite")
    interpreter = tflite_model._interpreter((tmp_path / "fixed.tflite").read_bytes())
    interpreter.allocate_tensors()
    x = np.random.default_rng(0).normal(size=[size, 5, 3]).astype(np.float32)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert np.allclose(y, model(x), atol=1e-6)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_gradient_of_its_own_in_a_loop_is_left_out(tmp_path: Path, suffix: str) -> None:
    loop = tf.function(
        lambda x: tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, tf.nn.silu(a)), [0, x])[1]
    )
    editor = tgw.edit(loop, signature=[tf.TensorSpec([2, 4], tf.float32)])
    (argument,), (result,) = (list(ends) for ends in editor._core.executor.inputs_and_outputs)
    result = editor._core.executor.inputs_and_outputs[1][result]
    path = editor.save(tmp_path / f"m{suffix}", {"x": argument}, {"y": result})
    batch = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
    if suffix == ".onnx":
        (found,) = onnxruntime.InferenceSession(path).run(["y"], {"x": batch})
    else:
        found = tflite_model._interpreter(path.read_bytes()).get_signature_runner(
            "serving_default"
        )(x=batch)["y"]
    np.testing.assert_allclose(found, loop(batch), atol=1e-5)


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("kind", ["igamma", "while"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_a_converter_does_not_take_is_named_also_in_a_function(
    tmp_path: Path, kind: str, suffix: str
) -> None:
    editor = build_graph(kind)
    (tmp_path / f"m{suffix}").write_bytes(b"old")
    with pytest.raises(GraphEditError, match=r"\(Igamma\): .*nothing was written") as refusal:
        editor.save(tmp_path / f"m{suffix}", "x:0", "y:0")
    assert refusal.value.code == "conversion-refused"
    assert refusal.value.ops == (("igamma",) if kind == "igamma" else ("loop",))
    assert (tmp_path / f"m{suffix}").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / f"m{suffix}"]


def test_a_refusal_offers_the_edits_that_take_its_ops_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing:
        def call(self, *_: Any, **__: Any) -> Any:
            raise ConversionRefused("no", (), ("RandomUniform",))

    monkeypatch.setattr(converted_model, "CONVERTERS", Refusing())
    with pytest.raises(GraphEditError) as refusal:
        build_graph("dropout").save(tmp_path / "m.onnx", "x:0", "y:0")
    assert [fix.code() for fix in refusal.value.fixes] == ['editor.bypass(what="dropout/")']


@pytest.mark.usefixtures("in_process")
def test_sizes_that_vary_stay_so_in_tflite(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, None], name="x")
        tf.boolean_mask(x, tf.reduce_sum(x, 1) > 0, name="y")  # of as many rows as the values say
    editor = tgw.edit(graph)
    path = editor.save(tmp_path / "m.tflite", "x:0", {"y": "y/GatherV2:0"})
    assert reports_of(editor)
    runner = tflite_model._interpreter(path.read_bytes()).get_signature_runner("serving_default")
    for shape in ((1, 2), (5, 3)):
        fed = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        assert np.array_equal(runner(x=fed)["y"], fed[fed.sum(1) > 0])


@pytest.mark.usefixtures("in_process")
def test_a_shape_of_unknown_rank_that_tflite_cannot_have_is_refused_with_its_op(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, None, name="x")
        tf.nn.conv2d(x, np.ones([3, 3, 3, 2], np.float32), 1, "SAME", name="conv")
    editor = tgw.edit(graph)
    assert editor.lint("tflite", only="unknown-shape").ops == ("x",)
    with pytest.raises(GraphEditError, match=r"op 'conv' \(Conv2D\)") as refusal:
        editor.save(tmp_path / "m.tflite", "x:0", "conv:0")
    assert refusal.value.ops == ("conv",)
    assert not list(tmp_path.iterdir())
    editor.passes.set_input("x", [None, None, None, 3])
    editor.save(tmp_path / "m.tflite", "x:0", "conv:0")
    assert reports_of(editor)


@pytest.mark.usefixtures("in_process")
def test_a_table_is_refused_by_name_and_the_part_after_it_converts(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0, name="words"
        )
        number = tf.identity(
            table.lookup(v1.placeholder(tf.string, [None], name="x")), name="number"
        )
        tf.identity(tf.cast(number, tf.float32) * 2.0, name="y")
        session = v1.Session(graph=graph)
        session.run(v1.tables_initializer())
    editor = tgw.edit(graph, session=session)
    with pytest.raises(GraphEditError, match="has no place for") as refusal:
        editor.save(tmp_path / "m.onnx", "x:0", "y:0")
    assert refusal.value.ops
    assert refusal.value.ops[0] in editor._core.index.ids
    editor.save(tmp_path / "m.onnx", "number:0", "y:0")
    assert reports_of(editor)
    session.close()


@pytest.mark.usefixtures("in_process")
@pytest.mark.filterwarnings("ignore::UserWarning")  # the largest difference
def test_a_loop_in_a_small_function_of_a_module_and_one_of_tensorflow_1_with_variables_become_onnx(
    tmp_path: Path,
) -> None:
    module = tf.Module()
    module.run = tf.function(
        lambda x: {
            "y": tf.while_loop(
                lambda h: tf.reduce_sum(h) < 100.0, lambda h: (h * 2.0,), [tf.abs(x) + 1.0]
            )[0]
        },
        input_signature=[tf.TensorSpec([None, 4], name="x")],
    )
    tf.saved_model.save(module, str(tmp_path / "m"), signatures=module.run)
    editor = tgw.edit(tmp_path / "m")
    editor.view.leave(0)
    editor.save(tmp_path / "m.onnx")
    assert any("largest difference" in notice for notice in editor.source.notices)
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        w = v1.get_variable("w", [4, 4], use_resource=True)
        looped = tf.while_loop(
            lambda i, _: i < 3, lambda i, h: (i + 1, tf.tanh(h @ w)), [0, x], name="loop"
        )[1]
        tf.identity(looped, name="y")
    session = initialised(graph)
    path = tgw.edit(graph, session=session).save(tmp_path / "g.meta")
    editor = tgw.edit(path, checkpoint=path.with_suffix(""))
    editor.save(tmp_path / "g.onnx", "x:0", "y:0")
    assert any("largest difference" in notice for notice in editor.source.notices)
    session.close()


@pytest.mark.usefixtures("in_process")
def test_another_result_of_the_runtime_is_refused(
    editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(model: bytes, runs: Sequence[Any]) -> list[dict[str, np.ndarray]]:
        return [
            {key: value * 1.01 for key, value in each.items()} for each in onnx_run(model, runs)
        ]

    onnx_run = onnx_model.run
    monkeypatch.setattr(onnx_model, "run", wrong)
    with pytest.raises(GraphEditError, match="gives something else than the graph does"):
        editor.save(tmp_path / "m.onnx", *BOUNDARY)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("in_process")
def test_one_of_several_signatures_is_chosen_and_the_others_are_reported(
    editor: GraphEditor, tmp_path: Path
) -> None:
    editor.signatures.add("hidden", {"x": "x:0"}, {"h": "net/one/out:0"})
    editor.signatures.add("serving_default", {"x": "x:0"}, {"y": "net/logits:0"})
    with pytest.warns(UserWarning, match="without 'hidden'|largest difference"):
        path = editor.save(tmp_path / "m.onnx")
    assert any("without 'hidden'" in notice for notice in editor.source.notices)
    assert [each.name for each in onnxruntime.InferenceSession(path).get_outputs()] == ["y"]
    editor.save(path, signature="hidden")
    assert reports_of(editor)
    assert [each.name for each in onnxruntime.InferenceSession(path).get_outputs()] == ["h"]
    with pytest.raises(UnknownName, match="did you mean 'hidden'"):
        editor.save(path, signature="hiden")
    with pytest.raises(GraphEditError, match="save one file of each"):
        editor.save(path, signatures={"a": ("x:0", "net/logits:0"), "b": ("x:0", "net/one/out:0")})


@pytest.mark.parametrize(
    ("name", "options"),
    [("m.onnx", {"optimize": "float16"}), ("m.pb", {"opset": 13}), ("m.pbtxt", {"signature": "a"})],
)
def test_an_option_of_another_kind_of_file_is_refused(
    editor: GraphEditor, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument, match="has no such option"):
        editor.save(tmp_path / name, **options)


def test_without_the_packages_one_sentence_says_what_to_install(
    editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_kinds, "find_spec", lambda _: None)
    with pytest.raises(
        PackageMissing,
        match=r"tf2onnx and onnx and onnxruntime .* pip install 'tfgraphwidget\[onnx\]'",
    ):
        editor.save(tmp_path / "m.onnx", *BOUNDARY)


# The process of its own


@pytest.fixture(scope="module")
def process() -> Iterator[ConverterProcess]:
    process = ConverterProcess()
    yield process
    process.close()


def test_a_process_does_several_jobs_and_outlives_refusals(
    process: ConverterProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    assert [process.call(child_jobs.double, n, seconds=60) for n in (1, 2)] == [2, 4]
    first = process._process
    with pytest.raises(ConversionRefused) as refusal:
        process.call(child_jobs.refuse, seconds=60)
    assert (refusal.value.why, refusal.value.ops, refusal.value.op_types) == (
        "no",
        ("a",),
        ("Foo",),
    )
    with pytest.raises(ConversionRefused, match="ValueError: first"):
        process.call(child_jobs.fail, seconds=60)
    assert process._process is first


@pytest.mark.parametrize(
    ("job", "seconds", "code"),
    [(child_jobs.crash, 60, "converter-crashed"), (child_jobs.wait, 0.2, "converter-timeout")],
)
def test_a_crash_and_a_job_without_end_leave_this_process_alive(
    process: ConverterProcess, monkeypatch: pytest.MonkeyPatch, job: Any, seconds: float, code: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    with pytest.raises(GraphEditError) as refusal:
        process.call(job, seconds=seconds)
    assert refusal.value.code == code
    assert process.call(child_jobs.double, 3, seconds=60) == 6


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_is_one_sentence_and_the_old_file_stays(
    editor: GraphEditor, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(b"old")
    with files_up_to(64), pytest.raises(GraphEditError) as refusal:
        editor.save(path, *BOUNDARY, verify=False)
    place = {
        ".tflite": "no space for temporary files in",
        ".onnx": f"{str(path)!r} cannot be written",
    }[suffix]
    assert place in refusal.value.why
    assert "File too large; " in refusal.value.why
    assert "\n" not in refusal.value.why
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"


def test_a_model_that_the_disk_does_not_take_leaves_the_old_file(
    editor: GraphEditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Converted:
        def call(self, *_: Any, **__: Any) -> bytes:
            return b"model" * 100

    monkeypatch.setattr(converted_model, "CONVERTERS", Converted())
    path = tmp_path / "m.tflite"
    path.write_bytes(b"old")
    with (
        files_up_to(64),
        pytest.raises(
            GraphEditError, match=r"cannot be written: File too large; give another place"
        ),
    ):
        editor.save(path, *BOUNDARY, verify=False)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"
