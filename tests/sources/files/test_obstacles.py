"""What can only be looked at is said on opening, with the way out; the file opens all the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2

import tfgraphwidget as tgw
from tests.conftest import build_mlp, v1
from tests.sources.conftest import facts, index_of, node
from tfgraphwidget.errors import NotRunnable
from tfgraphwidget.sources import Source, open_source


def only_notice(source: Source) -> str:
    (notice,) = source.notices
    assert notice.endswith((".", "?"))
    assert "\n" not in notice
    assert facts(index_of(source.body))
    return notice


def refused(source: Source) -> NotRunnable:
    """What `live` says; the source is as it was."""
    body = source.body
    with pytest.raises(NotRunnable) as refusal:
        source.live()
    assert (source.graph, source.session, source.body) == (None, None, body)
    return refusal.value


def test_op_types_that_tensorflow_does_not_know_are_counted() -> None:
    source = open_source(
        v1.GraphDef(node=[node("a", "MyOp"), node("b", "MyOp", "a"), node("c", "Other", "a")])
    )
    notice = only_notice(source)
    assert notice.startswith(
        "Op 'a' is of type 'MyOp', which TensorFlow does not know, as 2 more ops are; call tf.load"
    )
    assert refused(source).why == notice
    assert refused(source).ops == ("a",)


def test_unknown_ops_inside_functions_are_found() -> None:
    definition = function_pb2.FunctionDef(node_def=[node("inner", "MyOp")])
    definition.signature.name = "f"
    graph_def = v1.GraphDef(node=[node("call", "f")])
    graph_def.library.function.append(definition)
    assert "Op 'inner' in function 'f' is of type 'MyOp'" in only_notice(open_source(graph_def))


def on(device: str) -> v1.GraphDef:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(1.0, name="here")
        with tf.device(device):
            tf.constant(1.0, name="there")
            tf.constant(2.0, name="too")
    return graph.as_graph_def()


@pytest.mark.parametrize(
    "device", ["", "/cpu:0", "/job:localhost/replica:0/task:0/device:CPU:0", "/device:CPU:*"]
)
def test_a_device_that_is_there_is_no_notice(device: str) -> None:
    assert open_source(on(device)).notices == ()


def test_a_device_name_that_is_unknown_is_no_notice() -> None:
    assert (
        open_source(
            v1.GraphDef(node=[v1.NodeDef(name="a", op="NoOp", device="/what:is/this")])
        ).notices
        == ()
    )


def test_an_op_on_a_gpu_that_is_not_there_runs_on_the_cpu_and_says_so() -> None:
    source = open_source(on("/device:GPU:77"))
    notice = only_notice(source)
    assert notice == (
        "Op 'there' (and 1 more) is pinned to '/device:GPU:77', which is not available on this "
        "machine; it runs on CPU."
    )
    source.live()
    assert source.session is not None
    assert source.session.run("too:0") == 2.0
    source.session.close()


def test_ops_on_several_absent_devices_are_one_notice() -> None:
    graph = on("/device:GPU:1")
    for number in range(2, 5):
        graph.node.add(name=f"more_{number}", op="NoOp", device=f"/device:GPU:{number}")
    notice = only_notice(open_source(graph))
    assert notice == (
        "5 ops are pinned to devices that are not available on this machine, '/device:GPU:1', "
        "'/device:GPU:2', '/device:GPU:3' and 1 more; they run on CPU."
    )


def test_an_op_of_another_machine_cannot_run() -> None:
    source = open_source(on("/job:ps/task:1"))
    assert "Op 'there' (and 1 more) is pinned to '/job:ps/task:1'" in only_notice(source)
    assert "clear_devices=True" in refused(source).why
    assert refused(source).ops == ("there",)


def test_a_live_graph_on_an_absent_device_says_how_to_open_its_session() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(on("/device:GPU:7"), name="")
    for config in (None, v1.ConfigProto(), v1.ConfigProto(allow_soft_placement=True)):
        with v1.Session(graph=graph, config=config) as session:
            runs = "runs on CPU" in only_notice(open_source(graph, session))
            try:
                session.run(graph.get_operations()[-1])
            except tf.errors.OpError:
                assert not runs
                assert "allow_soft_placement=True" in only_notice(open_source(graph, session))
            else:
                assert runs
    assert "allow_soft_placement=True" in only_notice(open_source(graph))


def test_an_extracted_part_says_of_absent_devices_what_its_own_session_does() -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.device("/device:GPU:7"):
        tf.add(tf.constant(1.0, name="one"), 2.0, name="three")
    with v1.Session(graph=graph, config=v1.ConfigProto()) as session:
        editor = tgw.edit(graph, session=session)
        assert "open the session with" in editor.source.notices[0]
        part = editor.extract([], "three")
    assert part.session.run("three:0") == 3.0
    assert "runs on CPU" in part.source.notices[0]


def test_a_file_of_a_newer_tensorflow_can_be_looked_at() -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        meta = v1.train.export_meta_graph()
    meta.graph_def.versions.min_consumer = tf.version.GRAPH_DEF_VERSION + 1000
    meta.meta_info_def.tensorflow_version = "9.9.9"
    source = open_source(meta)
    assert "was written for a newer TensorFlow, 9.9.9 (graph version " in only_notice(source)
    assert "install that release" in refused(source).why


def test_a_checkpoint_that_is_not_there_proposes_one_that_is(checkpoint: Path) -> None:
    source = open_source(f"{checkpoint}.meta", checkpoint=checkpoint.with_name("n.ckpt"))
    notice = only_notice(source)
    assert "n.ckpt.index' of the checkpoint is missing" in notice
    assert "leave checkpoint= out" in notice
    assert notice.endswith(f"did you mean '{checkpoint}'?")
    assert refused(source).why == notice


def test_a_missing_shard_is_named(checkpoint: Path, tmp_path: Path) -> None:
    for file in checkpoint.parent.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "m.ckpt.data-00000-of-00001").rename(tmp_path / "m.ckpt.data-00001-of-00003")
    source = open_source(tmp_path / "m.ckpt.meta", checkpoint=tmp_path / "m.ckpt")
    assert (
        "m.ckpt.data-00000-of-00003' of the checkpoint is missing, and 1 more, so"
        in only_notice(source)
    )
    assert "put it back" in refused(source).why
    (tmp_path / "m.ckpt.data-00001-of-00003").unlink()
    assert "m.ckpt.data-00000-of-00001' of the" in only_notice(
        open_source(tmp_path / "m.ckpt.meta", checkpoint=tmp_path / "m.ckpt.index")
    )


def test_a_checkpoint_that_lacks_a_variable_says_which(checkpoint: Path) -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        v1.get_variable("more", [2])
        v1.get_variable("most", [2])
        meta = v1.train.export_meta_graph()
    notice = only_notice(open_source(meta, checkpoint=checkpoint))
    assert "has no value of 'more', nor of 1 more; run the variable's initializer" in notice


def test_a_damaged_checkpoint_is_named(checkpoint: Path, tmp_path: Path) -> None:
    for file in checkpoint.parent.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "m.ckpt.index").write_bytes(b"nonsense" * 20)
    source = open_source(tmp_path / "m.ckpt.meta", checkpoint=tmp_path / "m.ckpt")
    assert "m.ckpt' cannot be read: " in only_notice(source)
    assert refused(source)


def test_a_damaged_value_is_named_when_the_session_is_opened(
    checkpoint: Path, tmp_path: Path
) -> None:
    for file in checkpoint.parent.iterdir():
        shutil.copy(file, tmp_path)
    shard = tmp_path / "m.ckpt.data-00000-of-00001"
    shard.write_bytes(b"\xff" + shard.read_bytes()[1:])
    source = open_source(tmp_path / "m.ckpt.meta", checkpoint=tmp_path / "m.ckpt")
    assert not source.notices
    assert "m.ckpt' cannot be read: the value of " in refused(source).why
    assert refused(source).why.endswith("has another checksum than its bytes; copy it again.")


def test_a_saved_model_without_its_variables_opens_alone(
    tf2_saved_model: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(tf2_saved_model, copied)
    shutil.rmtree(copied / "variables")
    source = open_source(copied)
    assert "variables.index' of the checkpoint is missing" in only_notice(source)
    way_out = str(copied / "saved_model.pb")
    assert f"tgw.edit({way_out!r}) to edit the graph without values" in refused(source).why
    alone = open_source(way_out)
    assert not alone.notices, "the table is filled from constants"
    graph = alone.live()
    assert graph is alone.graph
    assert alone.session is not None
    with graph.as_default():
        table = graph.get_tensor_by_name("hash_table:0")
        size = tf.raw_ops.LookupTableSizeV2(table_handle=table)
    assert alone.session.run(size) == 2
    alone.session.close()
