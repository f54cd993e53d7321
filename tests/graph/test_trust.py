"""Which file a Saver's op names, where the name goes through other ops."""

from __future__ import annotations

import pytest

from tfgraphwidget.graph import Effects
from tfgraphwidget.sources import tf_protos


def text(name, value):
    node = tf_protos.NodeDef(name=name, op="Const")
    node.attr["value"].tensor.string_val.append(value)
    return node


@pytest.mark.parametrize(
    ("separator", "end", "is_listed"),
    [
        ("", b"_temp/part", False),
        ("", b".part", False),
        ("/../", b"x", True),
        ("", b"/../x", True),
        ("", b"/.", True),
    ],
)
def test_the_end_of_a_saver_s_file_leads_to_no_other_folder(separator, end, is_listed):
    joined = tf_protos.NodeDef(name="joined", op="StringJoin", input=["file", "end"])
    joined.attr["separator"].s = separator.encode()
    nodes = [
        tf_protos.NodeDef(name="file", op="Placeholder"),
        text("end", end),
        joined,
        tf_protos.NodeDef(name="save", op="SaveV2", input=["joined"]),
    ]
    effects = Effects({node.name: node for node in nodes}, {}.__getitem__, ())
    assert [op.name for op in effects.of_graph()] == ["save"] * is_listed


@pytest.mark.parametrize(
    ("call", "is_listed"), [("PartitionedCall", False), ("While", True), ("StatelessWhile", True)]
)
def test_a_later_round_of_a_loop_may_name_another_file(call, is_listed):
    function = tf_protos.FunctionDef()
    function.signature.name = "body"
    function.signature.input_arg.add(name="file")
    function.node_def.add(name="save", op="SaveV2", input=["file"])
    caller = tf_protos.NodeDef(name="call", op=call, input=["file"])
    caller.attr["f"].func.name = "body"
    nodes = [tf_protos.NodeDef(name="file", op="Placeholder"), caller]
    effects = Effects({node.name: node for node in nodes}, {"body": function}.__getitem__, {"body"})
    assert [(op.name, op.root) for op in effects.of_graph()] == [("save", "call")] * is_listed


def saver(path, *, is_constant):
    """The file of a Saver of TensorFlow 1, which names its default; older ones have a constant that
    is fed.
    """
    nodes = [text("file", path), tf_protos.NodeDef(name="save", op="SaveV2", input=["file"])]
    if not is_constant:
        nodes.append(tf_protos.NodeDef(name="fed", op="PlaceholderWithDefault", input=["file"]))
        nodes[1].input[0] = "fed"
    return Effects({node.name: node for node in nodes}, {}.__getitem__, ())


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize(
    ("path", "is_listed"), [(b"model", False), (b"/somewhere/model", True), (b"../model", True)]
)
def test_a_saver_s_default_file_is_listed_only_where_it_is_not_the_usual(
    path, is_constant, is_listed
):
    effects = saver(path, is_constant=is_constant)
    assert [op.name for op in effects.of_graph()] == ["save"] * is_listed
    assert [op.name for op in effects.of_graph(unfed=True)] == ["save"]


@pytest.mark.parametrize("is_constant", [False, True])
def test_a_saver_s_op_runs_only_when_its_file_is_fed(is_constant):
    effects = saver(b"model", is_constant=is_constant)
    fed = "file:0" if is_constant else "fed:0"
    assert [op.name for op in effects.of_run(["save"])] == ["save"]
    assert [op.name for op in effects.of_run(["save"], [fed])] == []
