"""The bytes of a GraphDef, read without a message for each NodeDef: as protobuf reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

import tfgraphwidget as tgw
from tests.real_files.sweep import files_in
from tests.real_files.test_sweep import FILES
from tests.sources.files.test_damaged import EDITS, Edit, damaged
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import NodeDefs, NodeRecords, devices_of
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files import graph_def_bytes
from tfgraphwidget.sources.files.graph_def_bytes import StoredGraphDef, parse_graph_def

UNKNOWN = b"\xfa\xf0\x04\x03new"  # field 9999
LONG = "a" * 20_000  # whose length takes three bytes
GRAPHS = Path(__file__).parents[2] / "corpus" / "graph_editor" / "graphs"


def chain(count: int) -> Any:
    """x -> a_0 -> a_1 …, with a control input, a device and an attribute here and there."""
    graph = tf_protos.GraphDef()
    graph.versions.producer = 1087
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    before = "x"
    for k in range(count):
        node = graph.node.add(name=f"a_{k}", op="Relu", input=[before, "^x"])
        node.attr["T"].type = 1
        node.device = "/device:CPU:0" if k % 3 == 0 else ""
        before = node.name
    for k in range(count // 5):
        variable = graph.node.add(name=f"v_{k}", op="VarHandleOp")
        variable.attr["shared_name"].s = [b"", variable.name.encode(), b"shared"][k % 3]
    return graph


@pytest.fixture(autouse=True)
def _small_graphs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_def_bytes, "MOST_MESSAGES", 0)


def parsed(data: bytes) -> list[Any] | None:
    """The NodeDefs as protobuf reads them; None for what it does not read."""
    try:
        return list(tf_protos.GraphDef.FromString(data).node)
    except DecodeError:
        return None


def check_agrees(data: bytes) -> None:
    """Reading the bytes gives what protobuf gives, of each NodeDef and of all of them."""
    expected = parsed(data)
    if expected is None:
        with pytest.raises(DecodeError):
            parse_graph_def(data, tf_protos.GraphDef)
        return
    graph = parse_graph_def(data, tf_protos.GraphDef)
    if not isinstance(graph, StoredGraphDef):
        assert list(graph.node) == expected
        return
    whole = tf_protos.GraphDef.FromString(data)
    del whole.node[:]
    assert graph.envelope.SerializeToString(deterministic=True) == whole.SerializeToString(
        deterministic=True
    )
    read, rows = NodeDefs(expected), graph.node.rows
    assert (graph.node.names, graph.node.types) == (read.names, read.types)
    assert list(devices_of(graph.node)) == list(devices_of(read))
    ops = range(len(read))
    assert list(graph.node.shared_names(ops)) == list(read.shared_names(ops))
    for one, other in (
        (rows.inputs.start, read.rows.inputs.start),
        (rows.inputs.values, read.rows.inputs.values),
        (rows.ports, read.rows.ports),
        (rows.controls.values, read.rows.controls.values),
    ):
        assert one.tolist() == other.tolist()
    assert [graph.node[k] for k in range(len(graph.node))] == expected
    assert graph.node[1:3] == expected[1:3]
    assert list(graph.node) == expected


def test_a_look_at_an_op_of_a_large_file_parses_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = chain(5_000).SerializeToString()
    check_agrees(data)
    monkeypatch.setattr(NodeRecords, "__iter__", lambda _: pytest.fail("all ops were parsed"))
    graph = parse_graph_def(data, tf_protos.GraphDef)
    one = graph.node[5_000]
    assert one.input[0] == "a_4998"
    assert graph.node[5_000] is not one  # it is not kept
    assert graph.node[-1].name == "v_999"


def test_the_messages_of_a_small_file_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_def_bytes, "MOST_MESSAGES", 100)
    data = chain(20).SerializeToString()
    graph = parse_graph_def(data, tf_protos.GraphDef)
    assert graph.node[5] is graph.node[5]
    check_agrees(data)


def test_a_graph_of_large_constants_is_a_message() -> None:
    graph = chain(6)
    graph.node[0].attr["value"].s = bytes(10_000)
    data = graph.SerializeToString()
    assert not isinstance(parse_graph_def(data, tf_protos.GraphDef), StoredGraphDef)
    check_agrees(data)


def test_opening_drawing_searching_and_an_edit_leave_most_ops_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NodeRecords, "__iter__", lambda _: pytest.fail("all ops were parsed"))
    editor = tgw.edit(chain(300).SerializeToString())
    editor.view.scene()
    assert len(editor.find("a_29").ops) == 11
    editor.bypass("a_20")
    editor.undo()
    editor.view.scene()


def test_ops_of_a_file_are_the_same_after_edits_as_those_of_a_message() -> None:
    message = chain(40)
    from_bytes, from_message = tgw.edit(message.SerializeToString()), tgw.edit(message)
    for editor in (from_bytes, from_message):
        editor.bypass("a_3")
        editor.rename("a_5", "b")
        editor.clone("a_10:0", "a_20:0", into="copy")
    assert from_bytes._core.index.nodes == from_message._core.index.nodes
    assert from_bytes._core.index.names == from_message._core.index.names


@pytest.mark.parametrize(
    "change",
    [
        lambda graph: graph.node.add(name=LONG, op="NoOp", input=["^a_1"]),
        lambda graph: graph.node[1].MergeFromString(UNKNOWN),
        lambda graph: graph.library.function.add().signature.ParseFromString(b"\x0a\x01f"),
        lambda graph: graph.node.add(name="twice", op="NoOp", input=["a_1:3", "^a_2"]),
        lambda graph: graph.node[2].input.insert(0, "a_4"),  # an op that comes later
        lambda graph: graph.node.add(name="a_1", op="NoOp"),
        lambda graph: graph.node.add(name="b", op="NoOp", input=["missing"]),
        lambda graph: graph.node.add(name="c", op="Add", input=["^x", "x"]),
        lambda graph: graph.Clear(),
    ],
)
def test_what_a_graph_may_have_is_read_as_protobuf_reads_it(change: Any) -> None:
    graph = chain(6)
    change(graph)
    data = graph.SerializeToString()
    check_agrees(data)
    check_agrees(data + UNKNOWN)
    check_agrees(UNKNOWN + data)
    check_agrees(data + chain(0).SerializeToString().replace(b"x", b"y") + UNKNOWN + data[-4:])
    if graph.node:
        assert list(tgw.edit(data)._core.index.nodes) == list(tgw.edit(graph)._core.index.nodes)


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a\x08\x0a\x01x\x12\x01A\x0a\x00",  # a name, and then none
        b"\x0a\x09\x0a\x01x\x12\x01A\x0a\x01y\x0a\x03\x12\x01A",  # two names, and none
        b"\x0a\x09\x0a\x01x\x12\x01A\x12\x01B\x0a\x03\x0a\x01y",  # two types, and none
        b"\x0a\x08\x0a\x01x\x12\x01A\x1a\x00",  # an input without a name
        b"\x0a\x0b\x0a\x01x\x12\x01A\x22\x01c\x22\x00",  # a device, and then none
        b"\x0a\x0c\x0a\x01x\x12\x01A\x22\x01c\x22\x01d",  # two devices
        b"\x8a\x00\x03\x0a\x01x",  # the tag of a NodeDef in two digits
        b"\x0a\x83\x80\x00\x0a\x01x",  # its length in three
        b"\x0a\x83\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x0a\x01x",  # and in too many
        b"\x0b\x0a\x01x\x0c",  # a group
        b"\x08\x05",  # a number where NodeDefs are
        b"\x09\1\2\3\4\5\6\7\x08\x0d\1\2\3\4",  # and others
        b"\x00\x01",  # a field without a number
        b"\x0a\x03\x0a\x01\xff",  # a name that is no text
        b"\x0a\x7f",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x0a",
        b"",
    ],
)
def test_bytes_that_no_tensorflow_writes_are_read_as_protobuf_reads_them(data: bytes) -> None:
    check_agrees(data)
    check_agrees(chain(2).SerializeToString() + data)


def test_each_place_at_which_a_file_may_end() -> None:
    data = chain(4).SerializeToString() + UNKNOWN
    for end in range(len(data)):
        check_agrees(data[:end])


@settings(max_examples=300, deadline=None)
@given(EDITS)
def test_a_damaged_file_is_read_as_protobuf_reads_it(edits: list[Edit]) -> None:
    check_agrees(damaged(chain(12).SerializeToString(), edits))


_texts = st.text(max_size=3)
_nodes = st.builds(
    lambda name, op, inputs, device, key, value: tf_protos.NodeDef(
        name=name, op=op, input=inputs, device=device, attr={key: tf_protos.AttrValue(s=value)}
    ),
    _texts,
    _texts,
    st.lists(_texts, max_size=3),
    _texts,
    _texts,
    st.binary(max_size=200),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_nodes, max_size=6))
def test_any_graph_is_read_as_protobuf_reads_it(nodes: list[Any]) -> None:
    check_agrees(tf_protos.GraphDef(node=nodes).SerializeToString())


@pytest.mark.parametrize("file", sorted(GRAPHS.glob("*.meta.pb")), ids=lambda file: file.name)
def test_graphs_of_tensorflow_are_read_as_protobuf_reads_them(file: Path) -> None:
    meta = tf_protos.MetaGraphDef.FromString(file.read_bytes())
    check_agrees(meta.graph_def.SerializeToString())
    check_agrees(file.read_bytes())  # which is no GraphDef


@pytest.mark.slow
@pytest.mark.skipif(not FILES.is_dir(), reason="the files of public projects are not there")
def test_files_that_people_have_are_read_as_protobuf_reads_them() -> None:
    for file in (file for path in files_in(FILES) for file in (path, *path.glob("*.pb"))):
        if file.suffix == ".pb" and file.is_file():
            check_agrees(file.read_bytes())


def test_a_file_that_is_cut_off_is_refused_in_a_sentence() -> None:
    data = chain(9_000).SerializeToString()
    with pytest.raises(GraphEditError, match="truncated or damaged"):
        tgw.edit(data[:-3])
