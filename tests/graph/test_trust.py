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


def joined_many_times():
    """A file whose name comes through more joins than Python may nest calls."""
    for k in range(2000):
        yield tf_protos.NodeDef(
            name=f"join{k}", op="StringJoin", input=[f"join{k - 1}" if k else "file"]
        )


def variables_of_each_other():
    """Variables of which each is assigned what another holds, twice."""
    for k in range(40):
        handle = tf_protos.NodeDef(name=f"v{k}", op="VarHandleOp")
        handle.attr["shared_name"].s = f"v{k}".encode()
        yield handle
        yield tf_protos.NodeDef(name=f"join{k}", op="ReadVariableOp", input=[f"v{k}"])
        for other in range(2):
            source = f"join{(k + 1) % 40}"
            yield tf_protos.NodeDef(
                name=f"assign{k}_{other}", op="AssignVariableOp", input=[f"v{k}", source]
            )


@pytest.mark.parametrize(
    ("nodes", "last"), [(joined_many_times, "join1999"), (variables_of_each_other, "join0")]
)
def test_the_name_of_a_file_is_not_followed_without_end(nodes, last):
    every = [
        tf_protos.NodeDef(name="file", op="Placeholder"),
        *nodes(),
        tf_protos.NodeDef(name="save", op="SaveV2", input=[last]),
    ]
    effects = Effects({node.name: node for node in every}, {}.__getitem__, ())
    assert [op.name for op in effects.of_graph()] == ["save"]


def test_the_shards_of_a_saver_are_named_by_what_it_is_fed():
    nodes = [
        text("file", b"model"),
        tf_protos.NodeDef(name="files", op="Pack", input=["file", "file", "^saved"]),
        tf_protos.NodeDef(name="saved", op="NoOp"),
        tf_protos.NodeDef(name="merge", op="MergeV2Checkpoints", input=["files", "file"]),
    ]
    effects = Effects({node.name: node for node in nodes}, {}.__getitem__, ())
    assert list(effects.of_graph()) == []
    assert [op.name for op in effects.of_run(["merge"], ["file:0"])] == []


def test_each_part_of_a_list_of_files_counts():
    nodes = [
        tf_protos.NodeDef(name="file", op="Placeholder"),
        text("other", b"/somewhere/model"),
        tf_protos.NodeDef(name="files", op="Pack", input=["file", "other"]),
        tf_protos.NodeDef(name="merge", op="MergeV2Checkpoints", input=["files", "file"]),
    ]
    effects = Effects({node.name: node for node in nodes}, {}.__getitem__, ())
    assert [op.name for op in effects.of_graph()] == ["merge"]


def test_functions_that_are_called_in_a_billion_ways_are_looked_at_in_some():
    """Each function passes on what it was given, and the same with a constant in one place."""
    depth, functions = 30, {}
    for k in range(depth + 1):
        function = functions[f"f{k}"] = tf_protos.FunctionDef()
        function.signature.name = f"f{k}"
        names = [f"file{i}" for i in range(depth)]
        for name in names:
            function.signature.input_arg.add(name=name)
        if k == depth:
            function.node_def.add(name="save", op="SaveV2", input=names[:1])
        else:
            function.node_def.append(text("own", b"model"))
            function.node_def.add(name="same", op=f"f{k + 1}", input=names)
            names[k] = "own:output:0"
            function.node_def.add(name="changed", op=f"f{k + 1}", input=names)
    names = [f"file{i}" for i in range(depth)]
    nodes = [tf_protos.NodeDef(name=name, op="Placeholder") for name in names]
    nodes.append(tf_protos.NodeDef(name="call", op="f0", input=names))
    by_name = {node.name: node for node in nodes}
    effects = Effects(by_name, functions.__getitem__, functions.keys())
    assert {op.name for op in effects.of_graph()} == {"save"}
    assert {name for name, _ in effects.by_op()} == {"call"}
