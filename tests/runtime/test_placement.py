"""Placing: what a session could not place is refused before it comes, and whatever happens the
session runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import build_mlp, fill, read, v1
from tfgraphwidget import graph_editor as ge
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.runtime.live import placement, traced_ops
from tfgraphwidget.runtime.live.edit_record import record_of

GPU, FAR = "/device:GPU:0", "/job:worker/task:1"
Build = Callable[[], Any]


def opened(graph: tf.Graph, *, soft: bool = False, cpus: int = 1) -> v1.Session:
    """A session on the graph whose variables have their initial values; the first bias is 7."""
    session = v1.Session(
        graph=graph,
        config=v1.ConfigProto(allow_soft_placement=soft, device_count={"CPU": cpus, "GPU": 0}),
    )
    with graph.as_default():
        session.run(v1.global_variables_initializer())
    fill(bias(graph), 7.0, session)
    return session


def bias(graph: tf.Graph) -> tf.Variable:
    return next(v for v in graph.get_collection("variables") if v.name == "net/one/b:0")


@pytest.fixture(params=[False, True], ids=["ref", "resource"])
def editor(request: pytest.FixtureRequest) -> Iterator[GraphEditor]:
    """An editor on two dense layers, and a session without GPU and without soft placement."""
    graph = build_mlp(resource=request.param)
    with opened(graph) as session:
        yield tgw.edit(graph, session=session)


def everything(editor: GraphEditor) -> tuple[Any, ...]:
    """What a refusal has to leave as it was."""
    graph, session = editor.graph, editor.session
    held = {key: graph.get_collection(key) for key in graph.get_all_collection_keys()}
    values = [value.tolist() for value in read(graph.get_collection("variables"), session)]
    nodes = [node.SerializeToString(deterministic=True) for node in editor._core.index.nodes]
    return nodes, editor._core.index.names, held, editor.history.lines, values


def runs_on(editor: GraphEditor, folder: Path) -> None:
    """All that the session and the editor could do before they can do now."""
    graph, session = editor.graph, editor.session
    x = np.ones((2, 3), np.float32)
    before = session.run("net/logits:0", {"x:0": x})
    assert read([bias(graph)], session)[0].tolist() == [7.0] * 4
    assert tgw.renew(session) == ()
    copy = editor.clone("x:0", "net/logits:0", editor._core.executor.free_scope("after"))
    assert np.array_equal(session.run(f"{copy.scope}/net/logits:0", {"x:0": x}), before)
    editor.reroute("net/one/out:0", to="net/one/add:0")
    assert session.run("net/logits:0", {"x:0": x}).shape == before.shape
    editor.undo()
    editor.undo()
    again = tgw.edit(editor.save(str(folder / "saved/"), "x:0", "net/logits:0"))
    assert (
        np.array_equal(again.session.run("net/logits:0", {"x:0": x}), before)
        if again.session
        else again._core.index
    )
    alone = editor.extract(["x:0"], ["net/logits:0"])
    assert np.array_equal(alone.session.run("net/logits:0", {"x:0": x}), before)
    with v1.Session(
        graph=graph, config=v1.ConfigProto()
    ) as another:  # nothing that is left ends other sessions
        with graph.as_default():
            another.run([v.initializer for v in graph.get_collection("variables")])
        assert another.run("net/logits:0", {"x:0": x}).shape == before.shape


def pinned(device: str) -> Callable[[tf.Tensor], tf.Tensor]:
    def square(x: tf.Tensor) -> tf.Tensor:
        with tf.device(device):
            return tf.square(x)

    return square


def without_kernel(x: tf.Tensor) -> tf.Tensor:
    """A Cholesky of float16, which the op's definition allows and no CPU has."""
    return tf.cast(tf.raw_ops.Cholesky(input=tf.cast(x[:4], tf.float16)), tf.float32)


def gpu_meta(folder: Path) -> str:
    """A MetaGraphDef all of whose ops are pinned to a GPU."""
    path = str(folder / "gpu.meta")
    with tf.Graph().as_default(), tf.device(GPU):
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        tf.matmul(x, v1.get_variable("w", [3, 3]), name="y")
        v1.train.export_meta_graph(path)
    return path


def copied_by_graph_editor(editor: GraphEditor, folder: Path) -> Any:
    with tf.Graph().as_default() as other:
        v1.train.import_meta_graph(gpu_meta(folder))
    with editor.session.as_default():
        return ge.copy(ge.sgv(*other.get_operations()), editor.graph, "added")


BOUNDARY = ("x:0", "net/logits:0")
REFUSED: dict[str, Callable[[GraphEditor, Path], Any]] = {
    "clone": lambda e, _: e.clone(*BOUNDARY, "q", device="/gpu:0"),
    "clone without values": lambda e, _: e.clone(*BOUNDARY, "q", device=GPU, init="none"),
    "clone with initial values": lambda e, _: e.clone(*BOUNDARY, "q", device=GPU, init="initial"),
    "clone of a scope": lambda e, _: e.clone(*BOUNDARY, "q", device={"net/one": GPU}),
    "clone of a selection": lambda e, _: e.clone(e.ops(scope="net/one"), into="q", device=GPU),
    "clone far away": lambda e, _: e.clone(*BOUNDARY, "q", device=FAR),
    "clone on the second of two": lambda e, _: e.clone(
        *BOUNDARY, "q", devices=["/cpu:0", "/gpu:1"]
    ),
    "clone onto a CPU too many": lambda e, _: e.clone(*BOUNDARY, "q", device="/cpu:1"),
    "add": lambda e, folder: e.add(gpu_meta(folder), into="added"),
    "call": lambda e, _: e.call(
        "net/one/out:0", pinned(GPU), into=e._core.executor.free_scope("g")
    ),
    "grow without a kernel": lambda e, _: e.call(
        "net/one/out:0", without_kernel, into=e._core.executor.free_scope("g")
    ),
    "insert": lambda e, _: e.insert("net/one/out:0", pinned(GPU), into="g"),
    "insert without a kernel": lambda e, _: e.insert("net/one/out:0", without_kernel, into="g"),
    "replace": lambda e, _: e.replace("net/one/out", pinned(GPU), into="g"),
    "set_device": lambda e, _: e.set_device("net/one/out", GPU),
    "place without renewal": lambda e, _: (
        setattr(e, "renew", False),
        e.set_device("net/one/out", GPU),
    ),
    "graph_editor's copy of what is elsewhere": copied_by_graph_editor,
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.sample(2)
def test_what_the_session_cannot_place_is_refused_and_the_session_runs_on(
    what: str, editor: GraphEditor, tmp_path: Path
) -> None:
    before = everything(editor)
    for _ in range(2):
        # graph_editor raises ValueErrors, as TensorFlow's did.
        with pytest.raises(
            (SessionRefused, ValueError), match="could run nothing any more"
        ) as refusal:
            REFUSED[what](editor, tmp_path)
        assert "\n" not in str(refusal.value)
        assert everything(editor) == before
    runs_on(editor, tmp_path)


@pytest.mark.parametrize("what", [name for name in REFUSED if name.startswith("clone")])
@pytest.mark.sample(8)
def test_a_preview_refuses_what_the_clone_refuses(
    what: str, editor: GraphEditor, tmp_path: Path
) -> None:
    with pytest.raises(SessionRefused) as done:
        REFUSED[what](editor, tmp_path)

    class Previewing:
        ops, clone = editor.ops, staticmethod(partial(editor.preview, editor.clone))

    with pytest.raises(SessionRefused) as reported:
        REFUSED[what](Previewing(), tmp_path)  # type: ignore[arg-type]
    assert reported.value.why == done.value.why


@pytest.mark.sample(1)
def test_the_ways_out_that_a_refusal_names_are_ways_out(
    editor: GraphEditor, tmp_path: Path
) -> None:
    with pytest.raises(SessionRefused) as refusal:
        editor.clone(*BOUNDARY, "q", device=GPU)
    why = refusal.value.why
    assert 'device=""' in why
    assert "clear_devices=True" in why
    (own,) = [device.name for device in editor.session.list_devices()]
    assert own in why
    x = np.ones((1, 3), np.float32)
    wanted = editor.session.run("net/logits:0", {"x:0": x})
    for scope, device in (("any", ""), ("own", own)):
        editor.clone(*BOUNDARY, scope, device=device)
        assert np.array_equal(editor.session.run(f"{scope}/net/logits:0", {"x:0": x}), wanted)
    editor.set_device("net/one/out", own)
    editor.set_device("net/one/out", "")
    added = editor.add(gpu_meta(tmp_path), into="added", clear_devices=True)
    assert editor.session.run(added["y:0"], {"added/x:0": x}).shape == (1, 3)
    editor.call("net/one/out:0", tf.square, into="g")
    runs_on(editor, tmp_path)


DEVICES = [
    "", "/cpu:0", "/CPU:0", "/device:CPU:0", "/device:CPU:*", "/cpu:*", "/job:localhost",
    "/replica:0/task:0/cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0", "/gpu:0",
    "/device:GPU:*", "/cpu:1", "/task:1", "/replica:1", "/job:worker", "/job:worker/cpu:0",
    "/job:localhost/task:1/cpu:0", "/device:FOO:0", "/job:LOCALHOST", "/job:localhost/gpu:0",
    "/job:worker/task:0/gpu:0", "/device:XLA_CPU_JIT:0",
]  # fmt: skip


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@pytest.mark.parametrize("device", DEVICES)
def test_a_device_is_refused_exactly_when_tensorflow_refuses_it(device: str, soft: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.square(v1.placeholder(tf.float32, [], name="x"), name="y")
        with tf.device(device):
            tf.constant(1.0, name="asked")
    config = v1.ConfigProto(allow_soft_placement=soft)
    asked = Patch(add=Change(nodes=(graph.get_operation_by_name("asked").node_def,)))
    with v1.Session(graph=graph, config=config) as session:
        try:
            session.run("y:0", {"x:0": 2.0})
        except tf.errors.InvalidArgumentError:
            with pytest.raises(SessionRefused, match="would stand on"):
                placement.check_patch_placement(session, graph, asked)
        else:
            placement.check_patch_placement(session, graph, asked)


def labelled() -> Any:
    """A MatMul that wants a kernel of a name that none has."""
    with v1.get_default_graph()._kernel_label_map({"MatMul": "mine"}):
        return tf.raw_ops.MatMul(a=tf.zeros([2, 2]), b=tf.zeros([2, 2]))


KERNELS: dict[str, Build] = {
    "CudnnRNN": lambda: tf.raw_ops.CudnnRNN(
        input=tf.zeros([2, 2, 2]),
        input_h=tf.zeros([1, 2, 2]),
        input_c=tf.zeros([1, 2, 2]),
        params=tf.zeros([9]),
    ),
    "MatMul of uint8": lambda: tf.raw_ops.MatMul(
        a=tf.zeros([2, 2], tf.uint8), b=tf.zeros([2, 2], tf.uint8)
    ),
    "MatMul of float64": lambda: tf.raw_ops.MatMul(
        a=tf.zeros([2, 2], tf.float64), b=tf.zeros([2, 2], tf.float64)
    ),
    "Cholesky of float16": lambda: tf.raw_ops.Cholesky(input=tf.zeros([2, 2], tf.float16)),
    "Selu of bfloat16": lambda: tf.raw_ops.Selu(features=tf.zeros([2], tf.bfloat16)),
    "a reference variable": lambda: v1.Variable(1, use_resource=False),
    "a function": lambda: tf.function(tf.square)(tf.constant(1.0)),
    "a function of what has no kernel": lambda: tf.function(without_kernel)(tf.zeros([4, 4])),
    "a loop": lambda: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
    "a TensorFlow 1 loop": lambda: v1.while_loop(lambda i: i < 3, lambda i: i + 1, [0]),
    "a table": lambda: tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0
    ),
    "a queue": lambda: v1.RandomShuffleQueue(9, 0, [tf.string, tf.int64]).dequeue(),
    "a dataset": lambda: v1.data.make_one_shot_iterator(
        tf.data.Dataset.range(3).batch(2)
    ).get_next(),
    "Python": lambda: tf.py_function(lambda: 1.0, [], tf.float32),
    "strings": lambda: tf.strings.regex_replace(["a"], "a", "b"),
    "a label": labelled,
    "a kernel that takes several texts": lambda: tf.gather_nd(tf.zeros([2, 2]), [[0, 1]]),
    "a kernel that takes a text": lambda: tf.nn.depth_to_space(tf.zeros([1, 2, 2, 4]), 2),
    "a kernel that takes another text": lambda: tf.nn.depth_to_space(
        tf.zeros([1, 4, 2, 2]), 2, data_format="NCHW"
    ),
}


@pytest.mark.parametrize("what", KERNELS)
def test_a_kernel_is_found_lacking_exactly_when_tensorflow_finds_it(what: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0, name="y")
        known = {op.name for op in graph.get_operations()}
        KERNELS[what]()
    new = tuple(op.node_def for op in graph.get_operations() if op.name not in known)
    assert new
    with v1.Session(graph=graph, config=v1.ConfigProto(allow_soft_placement=True)) as session:
        try:
            session.run("y:0")
        except tf.errors.InvalidArgumentError:
            with pytest.raises(SessionRefused, match="no kernel"):
                placement.check_patch_placement(session, graph, Patch(add=Change(nodes=new)))
        else:
            placement.check_patch_placement(session, graph, Patch(add=Change(nodes=new)))


@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
def test_ops_of_one_colocation_group_must_agree_where_there_are_several_devices(soft: bool) -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.device("/cpu:0"):
            a = tf.identity(x, name="a")
        with graph.colocate_with(a):
            tf.square(a, name="b")
    config = v1.ConfigProto(allow_soft_placement=soft, device_count={"CPU": 2})
    with v1.Session(graph=graph, config=config) as session:
        editor = tgw.edit(graph, session=session)
        assert editor.clone(editor.ops("a", "b"), into="both", device="/cpu:1").ops == (
            "both/a",
            "both/b",
        )
        split = [
            lambda ask, into: ask(editor.ops("b"), into=into, device="/cpu:1"),
            lambda ask, into: ask(
                editor.ops("a", "b"), into=into, device={"a": "/cpu:1", "b": "/cpu:0"}
            ),
        ]
        for k, call in enumerate(split):
            if soft:
                call(partial(editor.preview, editor.clone), f"c{k}")
                call(editor.clone, f"c{k}")
            else:
                for ask in (partial(editor.preview, editor.clone), editor.clone):
                    with pytest.raises(SessionRefused, match="Cannot colocate"):
                        call(ask, f"c{k}")
            assert session.run("b:0", {"x:0": 3.0}) == 9.0
            assert session.run("both/b:0", {"x:0": 3.0}) == 9.0


def test_soft_placement_lets_a_clone_stand_on_a_gpu_that_is_not_there_and_says_so() -> None:
    graph = build_mlp(resource=True)
    with opened(graph, soft=True) as session:
        editor = tgw.edit(graph, session=session)
        (reported,) = editor.preview(editor.clone, *BOUNDARY, "q", device=GPU).dropped
        copy = editor.clone(*BOUNDARY, "q", device=GPU)
        assert copy.report.dropped == (reported,)
        assert "runs on CPU" in reported
        assert session.run("q/net/logits:0", {"x:0": np.ones((1, 3))}).shape == (1, 4)
        assert graph.get_operation_by_name("q/net/logits").device == GPU


def test_without_a_session_a_clone_may_stand_anywhere_and_a_sentence_says_what_it_needs() -> None:
    graph = build_mlp(resource=True)
    editor = tgw.edit(graph)
    (reported,) = editor.clone(*BOUNDARY, "q", device=GPU, init="none").report.dropped
    assert "allow_soft_placement=True" in reported
    assert editor.clone(*BOUNDARY, "p", init="none").report.dropped == ()


def test_a_file_takes_a_gpu_that_is_not_there_and_no_other_machine(tmp_path: Path) -> None:
    graph = build_mlp(resource=True)
    with opened(graph) as session:
        path = tgw.edit(graph, session=session).save(str(tmp_path / "saved/"), *BOUNDARY)
    editor = tgw.edit(path)
    for ask in (partial(editor.preview, editor.clone), editor.clone):
        with pytest.raises(SessionRefused, match="would stand on '/job:worker/task:1'"):
            ask(*BOUNDARY, "far", device=FAR)
    assert editor.clone(*BOUNDARY, "q", device=GPU).report.dropped
    assert editor.session.run("q/net/logits:0", {"x:0": np.ones((1, 3))}).shape == (1, 4)


def test_a_session_that_places_what_it_runs_takes_any_device() -> None:
    graph = build_mlp(resource=True)
    config = v1.ConfigProto()
    config.graph_options.place_pruned_graph = True
    with v1.Session(graph=graph, config=config) as session:
        editor = tgw.edit(graph, session=session)
        editor.clone(*BOUNDARY, "q", device=GPU, init="none")
        with pytest.raises(SessionRefused, match="GPU"):
            editor.clone(*BOUNDARY, "r", device=GPU, init="initial")
        with graph.as_default():
            session.run(graph.get_collection("variables")[0].initializer)


def test_into_another_graph_it_is_that_graphs_session_that_counts(editor: GraphEditor) -> None:
    other = tf.Graph()
    with v1.Session(graph=other, config=v1.ConfigProto()) as there:
        with pytest.raises(SessionRefused, match="would stand on"):
            editor.clone(*BOUNDARY, "q", device=GPU, graph=other, session=there)
        assert other.get_operations() == []
        editor.clone(*BOUNDARY, "q", graph=other, session=there)
        assert there.run("q/net/logits:0", {"q/x:0": np.ones((1, 3))}).shape == (1, 4)


def test_a_line_of_code_from_another_machine_is_refused_as_the_edit_is(tmp_path: Path) -> None:
    graph = build_mlp(resource=True)
    soft = tgw.edit(graph, session=opened(graph, soft=True))
    soft.clone(*BOUNDARY, "q", device=GPU)
    again = build_mlp(resource=True)
    hard = tgw.edit(again, session=opened(again))
    before = everything(hard)
    with pytest.raises(GraphEditError, match="would stand on"):
        exec(soft.history.lines[-1], {"editor": hard})
    assert everything(hard) == before
    runs_on(hard, tmp_path)


# --- What cannot be known beforehand ---


@pytest.mark.parametrize("what", ["device", "kernel"])
@pytest.mark.sample(2)
def test_whatever_is_left_unplaced_after_a_failure_the_session_runs_on(
    what: str, editor: GraphEditor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(placement, "check_patch_placement", lambda *_: None)
    monkeypatch.setattr(placement, "has_kernel", lambda *_: True)
    before = everything(editor)

    def fails(x: tf.Tensor) -> tf.Tensor:
        made = pinned(GPU)(x) if what == "device" else without_kernel(x)
        v1.get_variable("w", [2], initializer=v1.ones_initializer())
        return made

    with pytest.raises(SessionRefused, match="initializers cannot run"):
        editor.call("net/one/out:0", fails, into="g")
    assert record_of(editor.graph).hidden
    assert everything(editor) == before
    if what == "device":
        runs_on(editor, tmp_path)
    else:  # nobody can take a kernel's absence from an op: the session places what it runs
        assert editor.session._config.graph_options.place_pruned_graph
        assert tgw.renew(editor.session) == ()
        copy = editor.clone(*BOUNDARY, "q")
        assert editor.session.run(copy["net/logits:0"], {"x:0": np.ones((1, 3))}).shape == (1, 4)
        assert editor.extract(["x:0"], ["net/logits:0"]).session


@pytest.mark.sample(1)
def test_an_interrupt_while_copies_are_loaded_leaves_a_session_that_runs(
    editor: GraphEditor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    before = everything(editor)
    with monkeypatch.context() as patched:
        patched.setattr(traced_ops, "initialize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            editor.call("net/one/out:0", lambda x: x + v1.get_variable("w", [4]), into="g")
    assert everything(editor) == before
    runs_on(editor, tmp_path)


@pytest.mark.parametrize(
    "build", [lambda: pinned(GPU)(tf.constant(1.0)), lambda: without_kernel(tf.zeros([4, 4]))]
)
@pytest.mark.sample(2)
def test_renewal_frees_a_session_that_an_op_of_another_cell_has_ended(
    build: Build, editor: GraphEditor, tmp_path: Path
) -> None:
    graph, session = editor.graph, editor.session
    with graph.as_default():
        build()
    with pytest.raises(tf.errors.InvalidArgumentError):
        read([bias(graph)], session)
    with pytest.raises(SessionRefused, match=r"tgw\.renew\(session\) lets it run again"):
        editor.clone(*BOUNDARY, "q")
    assert tgw.renew(session) == ()
    assert read([bias(graph)], session)[0].tolist() == [7.0] * 4
    editor.clone(*BOUNDARY, "q")
    assert session.run("q/net/logits:0", {"x:0": np.ones((1, 3))}).shape == (1, 4)
    editor.save(str(tmp_path / "saved/"), *BOUNDARY)
    assert tgw.renew(session) == ()


def test_what_a_session_that_places_nothing_any_more_cannot_hand_on_is_reported() -> None:
    graph = tf.Graph()
    with graph.as_default():
        queue = v1.FIFOQueue(3, [tf.float32], shapes=[[]], name="queue")
        enqueue, size = queue.enqueue(1.0), queue.size()
    with v1.Session(graph=graph, config=v1.ConfigProto()) as session:
        session.run(enqueue)
        with graph.as_default():
            pinned(GPU)(tf.constant(1.0))
        (lost,) = tgw.renew(session)
        assert "queue 'queue'" in lost
        assert session.run(size) == 0


def test_an_error_that_says_nothing_of_placing_does_not_renew_the_session_for_less(
    editor: GraphEditor,
) -> None:
    extend, failed = editor.session._extend_graph, []

    def once() -> None:
        if not failed:
            failed.append(tf.errors.InternalError(None, None, "out of memory"))
            raise failed[0]
        extend()

    editor.session._extend_graph = once
    editor.bypass("net/one/out")
    assert len(failed) == 1
    assert editor.history.lost == ()
    assert not editor.session._config.graph_options.place_pruned_graph


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("device", ["/job:ps/task:0", "/job:worker/replica:0/task:1/device:GPU:0"])
def test_a_live_graph_that_is_placed_for_a_cluster_is_cloned_on_a_laptop(
    device: str, soft: bool
) -> None:
    with tf.Graph().as_default() as graph, tf.device(device):
        x = v1.placeholder(tf.float32, [None, 2], "x")
        tf.multiply(x, v1.get_variable("w", initializer=[3.0, 4.0], use_resource=True), name="y")
    config = v1.ConfigProto(allow_soft_placement=soft)
    with v1.Session(graph=graph, config=config) as session:
        editor = tgw.edit(graph, session=session)
        editor.clone("x:0", "y:0", into="same", init="none")
        editor.clone("x:0", "y:0", into="here", init="none", device="")
        assert {graph.get_operation_by_name(f"{scope}/w").device for scope in ("same", "here")} == {
            graph.get_operation_by_name("w").device,
            "",
        }
        version = graph.version
        with pytest.raises(GraphEditError, match=r'device="".*, or clone with init="none"\.$'):
            editor.clone("x:0", "y:0", into="valued", init="initial")
        assert graph.version == version
        editor.set_device(["same/y", "y"], "")
        assert graph.get_operation_by_name("y").device == ""
