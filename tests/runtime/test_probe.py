"""Probing: numbers about tensors of every kind, in graphs, files and functions; nothing is left
after.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised, v1
from tfgraphwidget.errors import GraphEditError, SessionRefused, UnknownName
from tfgraphwidget.runtime.measure.probe import Stats


@pytest.fixture
def kinds() -> tf.Graph:
    """Tensors of many kinds."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        tf.math.log(x, name="log")
        tf.cast(x, tf.bool, name="truth")
        tf.strings.as_string(x, name="text")
        tf.cast(x, tf.bfloat16, name="brief")
        tf.complex(x, x, name="complex")
        tf.cast(x, tf.int64, name="whole")
        tf.split(x, 2, name="halves")
        tf.no_op(name="nothing")
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0, name="table")
    return graph


def test_numbers_are_summed_up(kinds: tf.Graph) -> None:
    editor = tgw.edit(kinds, session=v1.Session(graph=kinds))
    found = editor.probe("log:0", {"x:0": [1.0, 0.0, -1.0, np.e]})["log"]
    assert (found.dtype, found.shape, found.nans, found.infs) == ("float32", (4,), 1, 1)
    assert (found.least, found.mean, found.most) == (0.0, pytest.approx(0.5), pytest.approx(1.0))
    assert sum(found.histogram) == 2
    assert found.histogram[0] == found.histogram[-1] == 1
    assert found.value is not None
    assert np.isnan(found.value[2])
    assert "1 NaN 1 Inf" in repr(found)


@pytest.mark.parametrize(
    ("op", "dtype", "least", "mean", "most"),
    [
        ("truth", "bool", 0.0, 0.75, 1.0),
        ("text", "string", None, None, None),
        ("brief", "bfloat16", 0.0, 1.5, 3.0),
        ("whole", "int64", 0, 1.5, 3),
        ("complex", "complex64", 0.0, pytest.approx(1.5 * 2**0.5), pytest.approx(3 * 2**0.5)),
    ],
)
def test_every_dtype_has_what_it_can_have(
    kinds: tf.Graph, op: str, dtype: str, least: Any, mean: Any, most: Any
) -> None:
    editor = tgw.edit(kinds, session=v1.Session(graph=kinds))
    (found,) = editor.probe(op, {"x": [0.0, 1.0, 2.0, 3.0]}).values()
    assert (found.dtype, found.shape) == (dtype, (4,))
    assert (found.least, found.mean, found.most) == (least, mean, most)
    assert (found.nans, found.infs) == (0, 0)
    assert sum(found.histogram) == (0 if op == "text" else 4)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 3), np.float32),
        np.array(7, np.uint8),
        np.full(5, np.nan),
        np.array([np.finfo(np.float64).max, np.finfo(np.float64).min]),
        np.array([2**63 - 1, -(2**63)]),
        np.ones(3, ml_dtypes.float8_e4m3fn),
        np.array(["ü" * 90], dtype=object),
    ],
)
def test_extreme_values_make_no_trouble(value: np.ndarray[Any, Any]) -> None:
    stats = Stats("a:0", "what", value)
    assert stats.shape == value.shape
    assert len(repr(stats)) < 200
    finite = value.size if value.dtype.kind != "O" else 0
    assert sum(stats.histogram) == finite - stats.nans


def test_an_op_represents_its_tensors_and_what_has_no_value_says_so(kinds: tf.Graph) -> None:
    editor = tgw.edit(kinds, session=v1.Session(graph=kinds))
    found = editor.probe(["halves", "nothing", "table"], {"x": [1.0, 2.0]})
    assert list(found) == ["halves:0", "halves:1", "table:0"]
    assert found["table"].value is None
    assert "a resource, which has no value in Python" in repr(found)
    assert set(found.by_op) == {"halves", "table"}
    assert len(editor.probe(editor.ops(type="Log"), {"x": [1.0]})) == 1


def test_a_variable_represents_its_value(editor: tgw.GraphEditor) -> None:
    (found,) = editor.probe("net/one/w").values()
    assert (found.dtype, found.shape) == ("float32", (3, 4))
    assert found.least < found.mean < found.most


def test_probing_adds_no_op_and_is_no_edit(editor: tgw.GraphEditor) -> None:
    report: list[int] = []
    editor._core.listeners.append(lambda: report.append(1))
    before = editor.graph.version, editor.history
    editor.probe("net/logits", {"x": np.ones((2, 3))})
    assert (editor.graph.version, editor.history) == before
    assert list(editor._core.evaluator.probed) == ["net/logits"]
    assert editor._core.evaluator.probed["net/logits"][0].shape == (2, 4)
    editor._core.evaluator.forget_probe()
    assert editor._core.evaluator.probed == {}
    assert len(report) == 2


def test_what_was_probed_before_an_edit_is_not_shown_after_it(editor: tgw.GraphEditor) -> None:
    editor.probe("net/logits", {"x": np.ones((2, 3))})
    editor.reroute("net/two/out:0", to="net/one/out:0")
    assert editor._core.evaluator.probed == {}
    changed = editor.probe("net/logits", {"x": np.ones((2, 3))})["net/logits"].value
    assert changed is not None
    assert np.array_equal(changed, editor.session.run("net/one/out:0", {"x:0": np.ones((2, 3))}))


def test_what_cannot_run_is_refused_in_one_sentence(editor: tgw.GraphEditor, mlp: tf.Graph) -> None:
    with pytest.raises(GraphEditError, match="Placeholder 'x' is needed and not fed"):
        editor.probe("net/logits")
    with pytest.raises(SessionRefused, match=r"Cannot feed value of shape \(2, 2\)"):
        editor.probe("net/logits", {"x": np.ones((2, 2))})
    with pytest.raises(UnknownName):
        editor.probe("net/logit")
    with pytest.raises(SessionRefused, match="no session"):
        tgw.edit(mlp).probe("net/logits", {"x": np.ones((2, 3))})
    editor.session.close()
    with pytest.raises(SessionRefused, match="closed"):
        editor.probe("net/logits", {"x": np.ones((2, 3))})
    assert editor._core.evaluator.probed == {}


def loops_of_1(build: Any) -> tgw.GraphEditor:
    """An editor of x → `build` → y with loops and conditionals of TensorFlow 1."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        tf.identity(build(v1.placeholder(tf.float32, [None], name="x")), name="y")
    return tgw.edit(graph, session=v1.Session(graph=graph))


def counted(rounds: Any, body: Any, x: Any, name: str) -> Any:
    return v1.while_loop(
        lambda i, _: i < rounds, lambda i, v: (i + 1, body(i, v)), [0, x], name=name
    )[1]


def doubled(x: Any) -> Any:
    return counted(5, lambda _, v: tf.multiply(v, 2.0, name="mul"), x, "loop")


def test_what_is_in_a_while_loop_has_the_value_of_the_last_round() -> None:
    editor = loops_of_1(doubled)
    ops = len(editor.graph.get_operations())
    x = np.array([1.0, 3.0], np.float32)
    last, before = x * 2**5, x * 2**4
    expected: dict[str, Any] = {
        "loop/mul:0": last, "loop/Identity_1:0": before, "loop/Switch_1:1": before,
        "loop/NextIteration_1:0": last,
        "loop/add:0": 5, "loop/Identity:0": 4, "loop/Enter_1:0": x, "loop/Exit_1:0": last,
        "y:0": last,
        # The condition is computed once more than the body.
        "loop/Merge_1:0": last, "loop/Switch_1:0": last, "loop/Less:0": False,
    }  # fmt: skip
    found = editor.probe(list(expected), {"x": x})
    assert list(found) == list(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name].value, value, err_msg=name)
    assert len(editor.graph.get_operations()) == ops
    assert editor._core.evaluator.probed["loop/mul"][0].shape == (2,)


def test_a_loop_without_a_round_has_no_last_one() -> None:
    editor = loops_of_1(
        lambda x: counted(tf.size(x) - 1, lambda _, v: tf.multiply(v, 2.0, name="mul"), x, "loop")
    )
    found = editor.probe(["loop/mul", "y"], {"x": [3.0]})
    assert found["loop/mul"].value is None
    assert "had no round" in found["loop/mul"].note
    assert found["y"].most == 3.0
    with pytest.raises(
        SessionRefused, match=r"'loop/mul:0' has no value in this run: .* had no round; give other"
    ):
        editor.probe("loop/mul", {"x": [3.0]})
    assert editor.probe("loop/mul", {"x": [3.0, 4.0, 5.0]})["loop/mul"].most == 20.0


def test_of_a_loop_in_a_loop_it_is_the_last_round_of_the_last_round() -> None:
    def body(i: Any, v: Any) -> Any:
        added = lambda j, w: tf.add(w, tf.cast(j, tf.float32) * 10.0, name="added")  # noqa: E731
        return tf.multiply(counted(i, added, v, "inner"), 2.0, name="twice")

    editor = loops_of_1(lambda x: counted(4, body, x, "outer"))
    value, entered = 1.0, 0.0
    for i in range(4):
        entered = value
        value = (value + sum(10.0 * j for j in range(i))) * 2.0
    found = editor.probe(
        ["outer/inner/added", "outer/inner/Enter_1", "outer/inner/Exit_1", "outer/twice"],
        {"x": [1.0]},
    )
    assert [stats.most for stats in found.values()] == [value / 2, entered, value / 2, value]


def test_of_a_branch_in_a_loop_it_is_the_last_round_if_that_takes_it() -> None:
    def body(i: Any, v: Any) -> Any:
        deep = lambda: counted(i, lambda _, w: tf.add(w, 1.0, name="deep"), v, "inner")  # noqa: E731
        late = lambda: v1.cond(i > 1, deep, lambda: tf.multiply(v, 1.5, name="second"), name="late")  # noqa: E731
        return v1.cond(i > 0, late, lambda: tf.add(v, 1.0, name="first"), name="which")

    editor = loops_of_1(
        lambda x: v1.cond(tf.reduce_sum(x) > 0, lambda: counted(4, body, x, "loop"), lambda: x)
    )
    where = "cond/loop/which"
    value = (1.0 + 1.0) * 1.5 + 2 + 3
    names = [
        f"{where}/late/inner/deep",
        f"{where}/late/second",
        f"{where}/first",
        f"{where}/Merge",
        "y",
    ]
    found = editor.probe(names, {"x": [1.0]})
    assert [found[name].most for name in names] == [value, None, None, value, value]
    assert "of its conditional the other branch was taken" in found[names[1]].note
    with pytest.raises(
        SessionRefused,
        match=f"^probe.*: '{names[0]}:0' has no value in this run, since of the cond",
    ):
        editor.probe(names[0], {"x": [-1.0]})


def test_a_loop_of_a_file_or_of_a_frozen_function_has_a_last_round_too(tmp_path: Path) -> None:
    x = np.array([1.0, 3.0], np.float32)
    editor = tgw.edit(loops_of_1(doubled).save(tmp_path / "m.pb"))
    np.testing.assert_array_equal(editor.probe("loop/mul", {"x": x})["loop/mul"].value, x * 32)
    v1.enable_control_flow_v2()
    weight = tf.Variable(2.0)
    loop = tf.function(
        lambda a: tf.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * weight), [0, a])[1]
    )
    frozen = convert_variables_to_constants_v2(
        loop.get_concrete_function(tf.TensorSpec([2], tf.float32, "a"))
    )
    editor = tgw.edit(frozen)
    (product,) = (
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind == "Mul"
    )
    np.testing.assert_array_equal(editor.probe(product, {"a": x})[product].value, x * 32)


def test_the_branch_that_was_not_taken_says_so() -> None:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(v1.cond(x > 0, lambda: x * 2.0, lambda: x * 3.0), name="y")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    found = editor.probe(["cond/mul", "cond/mul_1", "y"], {"x": 1.0})
    assert [stats.most for stats in found.values()] == [2.0, None, 2.0]
    assert "other branch was taken" in found["cond/mul_1"].note
    assert len(graph._unfetchable_ops) == len(
        {"cond/mul", "cond/mul_1"} | {o.name for o in graph._unfetchable_ops}
    )
    with pytest.raises(Exception, match="not fetchable"):
        editor.session.run("cond/mul:0", {"x:0": 1.0})


def test_a_file_runs_with_the_values_of_its_checkpoint(tmp_path: Path) -> None:
    graph = build_mlp(resource=True)
    with graph.as_default(), initialised(graph) as session:
        expected = session.run("net/logits:0", {"x:0": np.ones((2, 3))})
        v1.train.Saver().save(session, str(tmp_path / "m"))
    editor = tgw.edit(tmp_path / "m.meta", checkpoint=tmp_path / "m")
    found = editor.probe("net/logits", {"x": np.ones((2, 3))})["net/logits"]
    assert np.array_equal(found.value, expected)


class Counter(tf.Module):
    """A function that changes its state."""

    def __init__(self) -> None:
        super().__init__()
        self.count = tf.Variable(0.0, name="count")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="rows")])
    def __call__(self, rows: tf.Tensor) -> tf.Tensor:
        """Counts how often it was called."""
        with tf.control_dependencies([self.count.assign_add(1.0)]):
            return tf.identity(rows * self.count, name="counted")


def test_a_functions_body_runs_aside_and_its_variables_stay() -> None:
    module = Counter()
    editor = tgw.edit(module.__call__)
    found = editor.probe(["counted", "rows", "count"], {"rows": [1.0, 2.0]})
    assert found["rows"].most == 2.0
    assert found["counted"].shape == (2,)
    assert found["count"].value is not None
    assert module.count.numpy() == 0.0
    with pytest.raises(GraphEditError, match="Placeholder 'rows' is needed"):
        editor.probe("counted")


def test_rooms_are_probed_apart(editor: tgw.GraphEditor) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.square(x, name="squared")

    with tf.Graph().as_default() as graph:
        inner(v1.placeholder(tf.float32, [2], name="x"))
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    call = next(iter(editor.ops(where=lambda op: op.type.endswith("PartitionedCall"))))
    editor.view.enter(call)
    editor.probe("squared", {"x": [2.0, 3.0]})
    assert editor._core.evaluator.probed["squared"][0].most == 9.0
    editor.view.leave()
    assert editor._core.evaluator.probed == {}


def queue_fed() -> tuple[tf.Graph, v1.Session]:
    """y = 2 * what comes out of a queue, which is empty."""
    graph = tf.Graph()
    with graph.as_default():
        queue = v1.FIFOQueue(4, [tf.float32], shapes=[[2]], name="queue")
        queue.enqueue([[1.0, 2.0]], name="enqueue")
        tf.multiply(queue.dequeue(name="dequeue"), 2.0, name="y")
        with tf.control_dependencies([queue.enqueue([[3.0, 4.0]], name="fill")]):
            tf.identity(queue.dequeue(name="own"), name="filled")
    return graph, v1.Session(graph=graph)


def test_a_queue_that_nothing_fills_is_named_and_nothing_waits_for_it_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, session = queue_fed()
    editor = tgw.edit(graph, session=session)
    monkeypatch.setattr("tfgraphwidget.runtime.measure.probe.QUEUE_PATIENCE", 0.5)
    late = (
        r"longer than 0.5 seconds, and 'dequeue:0' is taken from a queue that may be"
        r".*start_queue.*'dequeue:0': …"
    )
    with pytest.raises(SessionRefused, match=late):
        editor.probe("y:0")
    assert editor.probe("y:0", {"dequeue:0": [1, 1]})["y:0"].value.tolist() == [2, 2]
    session.run("enqueue")
    assert editor.probe("y:0")["y:0"].value.tolist() == [2, 4]
    assert editor.probe("filled:0")["filled:0"].value.tolist() == [3, 4]


def test_a_graph_is_not_compared_apart_by_what_only_a_session_has_in_a_queue() -> None:
    graph, session = queue_fed()
    editor = tgw.edit(graph, session=session)
    session.run("enqueue")
    with pytest.raises(
        SessionRefused, match=r"'dequeue:0' would be waited for without end.*feeds={'dequeue:0': …}"
    ):
        editor.compare({}, tensors="y:0")
    assert editor.compare({"dequeue:0": [1, 1]}, tensors="y:0")["y:0"].same
    assert editor.compare({}, tensors="filled:0")["filled:0"].same  # the run fills the queue itself


def add_slow(x: tf.Tensor, seconds: float) -> None:
    """Add "slow": 0 times a tensor, after some seconds."""

    def wait(value: np.ndarray) -> np.ndarray:
        time.sleep(seconds)
        return value * 0

    result = v1.py_func(wait, [x], tf.float32, name="wait")
    result.set_shape(x.shape)
    tf.identity(result, name="slow")


def test_a_slow_run_that_queue_runners_feed_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfgraphwidget.runtime.measure.probe.QUEUE_PATIENCE", 0.5)
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        (value,) = v1.train.slice_input_producer([tf.constant([1.0, 2.0])], shuffle=False)
        add_slow(value, 1.5)
        session.run(v1.local_variables_initializer())
        editor = tgw.edit(graph, session=session)
        with pytest.raises(SessionRefused, match=r"longer than 0.5 seconds.*may be empty"):
            editor.probe("slow:0")
        coordinator = tf.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        assert editor.probe("slow:0")["slow:0"].value == 0
        coordinator.request_stop()
        coordinator.join(threads)


@pytest.mark.parametrize("from_queue", [False, True])
def test_the_time_limit_of_a_session_is_not_taken_for_an_empty_queue(from_queue: bool) -> None:
    with tf.Graph().as_default() as graph:
        queue = v1.FIFOQueue(4, [tf.float32], shapes=[[]])
        fill = queue.enqueue(1.0)
        add_slow(queue.dequeue() if from_queue else tf.constant(1.0), 1.5)
    session = v1.Session(graph=graph, config=v1.ConfigProto(operation_timeout_in_ms=300))
    session.run(fill)
    with pytest.raises(
        SessionRefused, match=r"The graph cannot run: [^;]+; give other feeds"
    ) as refusal:
        tgw.edit(graph, session=session).probe("slow:0")
    assert "queue" not in str(refusal.value)


def test_a_branch_that_is_not_taken_does_not_wait_for_its_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    v1.disable_control_flow_v2()
    monkeypatch.setattr("tfgraphwidget.runtime.sandbox.evaluation.QUEUE_PATIENCE", 0.5)
    with tf.Graph().as_default() as graph:
        queue = v1.FIFOQueue(4, [tf.float32], shapes=[[]], name="queue")
        use, x = v1.placeholder(tf.bool, [], name="use"), v1.placeholder(tf.float32, [], name="x")
        tf.identity(v1.cond(use, lambda: queue.dequeue(name="dequeue"), lambda: x + 1.0), name="y")
        before = queue.dequeue(name="before")
        tf.identity(v1.cond(use, lambda: before * 2.0, lambda: x + 1.0), name="z")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    assert editor.compare({"use": False, "x": 1.0}, tensors="y:0")["y:0"].same
    late = (
        r"longer than 0.5 seconds, and 'cond/dequeue:0' may be waited for without end"
        r".*feeds={'cond/dequeue:0': …}"
    )
    with pytest.raises(SessionRefused, match=late):
        editor.compare({"use": True, "x": 1.0}, tensors="y:0")
    with pytest.raises(SessionRefused, match=r"'before:0' would be waited for without end"):
        editor.compare({"use": False, "x": 1.0}, tensors="z:0")


@pytest.mark.parametrize("value", ["random", b"ones", ["a"], [["1.0"]]])
def test_text_for_a_tensor_of_numbers_is_refused_by_name(value: Any) -> None:
    editor, feeds = tgw.example(), {"x": value}
    calls = (
        lambda: editor.probe("net/logits:0", feeds),
        lambda: editor.compare(feeds),
        lambda: editor.compare(feeds, tgw.example(), "all"),
        lambda: editor.measure("net/logits:0", feeds),
    )
    for call in calls:
        with pytest.raises(GraphEditError, match=r"feeds: 'x:0' is float32, and .* is text; give"):
            call()


def test_text_is_fed_to_what_takes_text() -> None:
    with tf.Graph().as_default() as graph:
        v1.strings.join([v1.placeholder(tf.string, [None], name="words"), "!"], name="joined")
    editor = tgw.edit(graph, session=v1.Session(graph=graph))
    assert editor.probe("joined:0", {"words": ["a"]})["joined:0"].shape == (1,)
