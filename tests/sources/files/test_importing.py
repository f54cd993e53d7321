"""A file comes to life: in a graph of its own, with a session, and the values of its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import INCEPTION, build_mlp, initialised, v1
from tests.sources.conftest import Affine, index_of, node
from tfgraphwidget.errors import NotRunnable
from tfgraphwidget.sources import Source, open_source

X = np.ones([2, 3], np.float32)


@contextmanager
def live(source: Source) -> Iterator[v1.Session]:
    """The source, brought to life; its nodes are those of the file."""
    before = [n.name for n in source.body.nodes()]
    graph = source.live()
    assert graph is source.graph
    assert source.session is not None
    assert source.session.graph is graph
    assert [op.name for op in graph.get_operations()] == before
    assert [n.name for n in source.body.nodes()] == before
    assert source.live() is graph
    yield source.session
    source.session.close()


def expected(checkpoint: Path) -> np.ndarray:
    graph = build_mlp(resource=True)
    with graph.as_default(), v1.Session(graph=graph) as session:
        v1.train.Saver().restore(session, str(checkpoint))
        return session.run("net/logits:0", {"x:0": X})


def test_a_graph_def_comes_to_life(line: tf.Graph) -> None:
    with live(open_source(line.as_graph_def())) as session:
        assert session.run("c:0", {"x:0": [[1, 2]]}).tolist() == [[8, 16]]


def test_a_meta_graph_brings_its_variables_and_collections_back() -> None:
    source = open_source(INCEPTION)
    report = source.body.collections()[1]
    with live(source) as session:
        assert len(session.graph.get_collection("trainable_variables")) == sum(
            v.trainable for v in report
        )
        assert {v.handle for v in source.body.collections()[1]} == {v.handle for v in report}
        session.run([v.initializer for v in session.graph.get_collection("variables")])


def test_control_flow_contexts_come_back(while_loop: tf.Graph) -> None:
    with while_loop.as_default():
        meta = v1.train.export_meta_graph()
    with live(open_source(meta)) as session, session.graph.as_default():
        gradient = tf.gradients(
            session.graph.get_tensor_by_name("y:0"), session.graph.get_tensor_by_name("x:0")
        )
        assert session.run(gradient, {"x:0": 1.0}) == [32.0]


def test_a_meta_graph_with_its_checkpoint_has_the_values(checkpoint: Path) -> None:
    with live(open_source(f"{checkpoint}.meta", checkpoint=checkpoint)) as session:
        np.testing.assert_allclose(session.run("net/logits:0", {"x:0": X}), expected(checkpoint))
    with live(open_source(f"{checkpoint}.meta", checkpoint=checkpoint.parent)) as session:
        np.testing.assert_allclose(session.run("net/logits:0", {"x:0": X}), expected(checkpoint))


@pytest.mark.parametrize("resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("kind", ["meta", "graph"])
def test_without_a_saver_the_values_are_fed_to_what_assigns(
    checkpoint: Path, resource: bool, kind: str
) -> None:
    graph = build_mlp(resource=resource)
    with graph.as_default():
        meta = v1.train.export_meta_graph()
    thing = meta if kind == "meta" else meta.graph_def
    with live(open_source(thing, checkpoint=checkpoint)) as session:
        np.testing.assert_allclose(session.run("net/logits:0", {"x:0": X}), expected(checkpoint))


def test_what_a_checkpoint_has_is_loaded_when_it_lacks_some(checkpoint: Path) -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        v1.get_variable("more", [2], use_resource=True)
        v1.train.Saver()
        meta = v1.train.export_meta_graph(saver_def=v1.train.Saver().saver_def)
    with live(open_source(meta, checkpoint=checkpoint)) as session:
        np.testing.assert_allclose(session.run("net/logits:0", {"x:0": X}), expected(checkpoint))
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run("more/Read/ReadVariableOp:0")


def test_a_saver_that_names_values_otherwise_is_followed(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", initializer=3.0)
        v1.get_variable("not_saved", initializer=4.0)
        with initialised(graph) as session:
            v1.train.Saver({"elsewhere": w}).save(session, str(tmp_path / "m"))
    with live(open_source(tmp_path / "m.meta", checkpoint=tmp_path / "m")) as session:
        assert (
            session.run(
                "w/Read/ReadVariableOp:0" if "w/Read/ReadVariableOp" in _names(session) else "w:0"
            )
            == 3.0
        )


def _names(session: v1.Session) -> set[str]:
    return {op.name for op in session.graph.get_operations()}


def test_slices_of_a_partitioned_variable_each_get_their_part(tmp_path: Path) -> None:
    def build() -> tf.Graph:
        graph = tf.Graph()
        with graph.as_default():
            w = v1.get_variable(
                "w",
                initializer=tf.reshape(tf.range(12.0), [4, 3]),
                partitioner=v1.fixed_size_partitioner(2),
                use_resource=False,
            )
            tf.identity(tf.convert_to_tensor(w), name="whole")
        return graph

    with build().as_default() as graph, initialised(graph) as session:
        v1.train.Saver().save(session, str(tmp_path / "m"))
    with build().as_default():
        meta = v1.train.export_meta_graph()
    with live(open_source(meta, checkpoint=tmp_path / "m")) as session:
        assert session.run("whole:0").tolist() == np.arange(12.0).reshape(4, 3).tolist()


def test_a_tensorflow_2_saved_model_runs(tf2_saved_model: Path, affine: Affine) -> None:
    source = open_source(tf2_saved_model)
    called = dict(source.body.saved_names)
    with live(source) as session:
        assert source.signature is not None
        outputs = dict(source.signature.outputs)
        values = session.run(outputs, {dict(source.signature.inputs)["x"]: X})
        theirs = affine(tf.constant(X))
        np.testing.assert_allclose(values["y"], theirs["y"].numpy())
        assert values["found"].tolist() == [1]
        assert dict(source.body.saved_names) == called


def test_a_tensorflow_1_saved_model_runs(tf1_saved_model: Path) -> None:
    source = open_source(tf1_saved_model)
    with live(source) as session:
        assert session.run("net/logits:0", {"x:0": X}).shape == (2, 4)
        assert len(source.body.collections()[1]) == 4


@pytest.mark.parametrize("in_function", [False, True], ids=["graph", "function"])
@pytest.mark.parametrize("kind", ["Exit", "NextIteration"])
def test_the_end_of_a_loop_outside_of_all_loops_is_looked_at_only(
    kind: str, in_function: bool
) -> None:
    """The process would end when it ran."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [], name="x")
            tf.while_loop(
                lambda i, _: i < 3, lambda i, a: (i + 1, a * x), [tf.constant(0), x], name="w"
            )
    finally:
        v1.enable_control_flow_v2()
    whole = graph.as_graph_def()
    assert open_source(whole).live_refusal == ""
    broken = v1.GraphDef()
    broken.CopyFrom(whole)
    enter = next(each for each in broken.node if each.name == "w/Enter_1")
    enter.op = kind
    for key in ("frame_name", "is_constant", "parallel_iterations"):
        del enter.attr[key]
    if in_function:
        function = broken.library.function.add()
        function.signature.name = "f"
        function.node_def.extend(broken.node)
        del broken.node[:]
        broken.node.extend(whole.node)
    refusal = open_source(broken).live_refusal
    where = " in function 'f'" if in_function else ""
    assert refusal == (
        f"Op 'w/Enter_1'{where} is of type {kind} and in no while loop, and TensorFlow ends the "
        "process when it runs that, so the graph can be looked at only; save it again with the "
        "whole loop to run it."
    )


def test_what_tensorflow_refuses_stays_as_it_was() -> None:
    source = open_source(
        v1.GraphDef(
            node=[node("a", "NoOp"), node("y", "MatMul", "z", T=tf.float32), node("z", "NoOp")]
        )
    )
    body = source.body
    with pytest.raises(
        NotRunnable,
        match=r"TensorFlow cannot import This GraphDef: .*; it can be looked at and edited, and ",
    ) as no:
        source.live()
    assert "\n" not in no.value.why
    assert (source.graph, source.session, source.body) == (None, None, body)
    assert len(index_of(source.body)) == 3
