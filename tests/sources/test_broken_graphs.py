"""Graphs that the format of a file allows and TensorFlow refuses: opened, drawn, named by lint,
fixed by an edit.

Each kind is made in the graph of a file, and in a function of its library. TensorFlow alone reads
what is saved.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.cli import main
from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.lint.structure import BROKEN

_NUMBERS = count()  # names of functions: TensorFlow keeps those of all graphs of a process
_FLOAT = v1.AttrValue(type=1)
_OUTPUTS = {
    "Const": "output",
    "Mul": "z",
    "AddN": "sum",
    "Cast": "y",
    "Identity": "output",
    "Placeholder": "output",
}


def add(graph_def: Any, name: str, op: str, *inputs: str, **attributes: Any) -> Any:
    node = graph_def.node.add(name=name, op=op, input=inputs)
    for key, value in attributes.items():
        node.attr[key].CopyFrom(value)
    return node


def constant(graph_def: Any, name: str, value: float) -> None:
    tensor = tf.make_tensor_proto(np.float32(value))
    add(graph_def, name, "Const", dtype=_FLOAT, value=v1.AttrValue(tensor=tensor))


def graph_of_a_product() -> Any:
    """y = x * two."""
    graph_def = v1.GraphDef()
    graph_def.versions.producer = 1987
    shape = v1.AttrValue(shape=tf.TensorShape([2]).as_proto())
    add(graph_def, "x", "Placeholder", dtype=_FLOAT, shape=shape)
    constant(graph_def, "two", 2.0)
    add(graph_def, "m", "Mul", "x", "two", T=_FLOAT)
    add(graph_def, "y", "Identity", "m", T=_FLOAT)
    return graph_def


def in_a_function(graph_def: Any) -> Any:
    """The graph as the body of a function, which the op "call" calls."""
    whole = v1.GraphDef(versions=graph_def.versions)
    function = whole.library.function.add()
    name = function.signature.name = f"function_{next(_NUMBERS)}"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="r", type=1)
    types = {node.name: node.op for node in graph_def.node}
    for node in graph_def.node:
        if node.name == "x":
            shapes = function.arg_attr[0].attr["_output_shapes"].list.shape
            shapes.add().CopyFrom(node.attr["shape"].shape)
            continue
        copy = function.node_def.add()
        copy.CopyFrom(node)
        copy.input[:] = [as_function_input(text, types) for text in node.input]
    function.ret["r"] = "y:output:0"
    add(
        whole,
        "x",
        "Placeholder",
        dtype=_FLOAT,
        shape=v1.AttrValue(shape=tf.TensorShape([2]).as_proto()),
    )
    dtypes = v1.AttrValue(list=v1.AttrValue.ListValue(type=[1]))
    called = v1.AttrValue(func=v1.NameAttrList(name=name))
    add(whole, "call", "PartitionedCall", "x", Tin=dtypes, Tout=dtypes, f=called)
    add(whole, "y", "Identity", "call", T=_FLOAT)
    return whole


def as_function_input(text: str, types: dict[str, str]) -> str:
    if text[:1] == "^" and text not in types:
        return text
    op, _, port = (text, "", "0") if text in types or ":" not in text else text.rpartition(":")
    return op if op == "x" else f"{op}:{_OUTPUTS.get(types.get(op, ''), 'output')}:{port}"


def node_of(graph_def: Any, name: str) -> Any:
    return next(node for node in graph_def.node if node.name == name)


# What is broken, how lint calls it, which ops it names, and the edit that fixes it


class Kind(NamedTuple):
    """A kind of broken graph.

    Attributes:
        harm: Breaks the graph.
        code: The rule of lint that finds it.
        ops: The ops that it names.
        edit: Fixes it. None if the fixes of lint do.
        in_functions: Whether TensorFlow refuses it in functions too.
    """

    harm: Callable[[Any], Any]
    code: str
    ops: tuple[str, ...]
    edit: Callable[[Any], Any] | None = None
    in_functions: bool = True


def reading(*inputs: str, op: str = "m") -> Callable[[Any], None]:
    return lambda graph_def: node_of(graph_def, op).input.__setitem__(slice(None), inputs)


def named(name: str) -> Callable[[Any], None]:
    def harm(graph_def: Any) -> None:
        node_of(graph_def, "m").name = name
        node_of(graph_def, "y").input[0] = name

    return harm


def renaming(name: str) -> Callable[[Any], Any]:
    return lambda editor: editor.rename(name, "product")


def with_attribute(key: str, set_value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda graph_def: set_value(node_of(graph_def, "m").attr[key])


def keep_the_second(editor: Any) -> None:
    editor.reroute("two", to="two_1")
    editor.remove("two")


def below(key: str, value: Callable[[Any], Any], op: str) -> Callable[[Any], Any]:
    return lambda graph_def: value(node_of(graph_def, op).attr[key])


def negative_list(value: Any) -> None:
    value.list.shape.add().dim.add(size=-5)


def negative_shape(value: Any) -> None:
    value.shape.dim[0].size = -7


def set_constant(editor: Any) -> Any:
    return editor.set_constant("gone", 2.0)


def number_of_two() -> Any:
    graph_def = v1.GraphDef()
    graph_def.versions.producer = 1987
    constant(graph_def, "number", 2.0)
    return graph_def


def integer(graph_def: Any, name: str) -> None:
    node = node_of(graph_def, name)
    node.attr["dtype"].type = 3
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.int32(2)))


def text(graph_def: Any, name: str) -> None:
    node = node_of(graph_def, name)
    node.attr["dtype"].type = 7
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(b"2"))


def concatenated(graph_def: Any, dtype: int) -> None:
    """y = x + x by AddN, which says another dtype."""
    node = node_of(graph_def, "m")
    node.op, node.input[:] = "AddN", ["x", "x"]
    node.attr["T"].type, node.attr["N"].i = dtype, 2


def mixed_list(graph_def: Any) -> None:
    """AddN of x and of x as a whole number."""
    concatenated(graph_def, 1)
    add(graph_def, "n", "Cast", "x", SrcT=_FLOAT, DstT=v1.AttrValue(type=3))
    node_of(graph_def, "m").input[1] = "n"


KINDS = {
    "missing": Kind(reading("x", "gone"), "missing-inputs", ("gone", "m"), set_constant),
    "missing port": Kind(
        reading("x", "gone:1"),
        "missing-inputs",
        ("gone", "m"),
        lambda e: e.reroute("gone", to="two"),
    ),
    "missing control": Kind(
        reading("x", "two", "^gone"),
        "missing-inputs",
        ("gone", "m"),
        lambda e: e.remove_control_inputs("m", "gone"),
    ),
    "wrong port": Kind(reading("m:3", op="y"), "wrong-ports", ("m", "y")),
    "port of millions": Kind(
        reading("m:99999999", op="y"),
        "missing-inputs",
        ("m_1", "y"),
        lambda e: e.reroute("m_1", to="m"),
    ),
    "too few": Kind(reading("x"), "input-counts", ("m",), lambda e: e.connect("two", "m", 1)),
    "too many": Kind(reading("x", "two", "two"), "input-counts", ("m",)),
    "dtype of the op": Kind(
        with_attribute("T", lambda v: setattr(v, "type", 3)), "input-dtypes", ("m", "x")
    ),
    "dtype of the last op": Kind(
        below("T", lambda v: setattr(v, "type", 3), "y"), "input-dtypes", ("m", "y")
    ),
    "dtype of a constant": Kind(lambda g: integer(g, "two"), "input-dtypes", ("m", "two")),
    "text for a number": Kind(
        lambda g: text(g, "two"),
        "input-dtypes",
        ("m", "two"),
        lambda e: e.reroute("two", to=f"{e.add(number_of_two(), into='new').scope}/number"),
        in_functions=False,
    ),
    "dtypes of a list": Kind(lambda g: concatenated(g, 3), "input-dtypes", ("m", "x")),
    "reads a tensor of another dtype in a list": Kind(mixed_list, "input-dtypes", ("m", "n")),
    "controls first": Kind(reading("^two", "x", "two"), "input-order", ("m",)),
    "cycle": Kind(reading("x", "y"), "cycles", ("m", "y"), lambda e: e.connect("two", "m", 1)),
    "reads itself": Kind(reading("x", "m"), "cycles", ("m",), lambda e: e.connect("two", "m", 1)),
    "two of a name, the first": Kind(
        lambda g: constant(g, "two", 5.0), "duplicate-names", ("two", "two_1")
    ),
    "two of a name, the second": Kind(
        lambda g: constant(g, "two", 2.0), "duplicate-names", ("two", "two_1"), keep_the_second
    ),
    "name of a tensor": Kind(
        named("output:0"), "invalid-names", ("output:0",), renaming("output:0")
    ),
    "name of a control input": Kind(named("^b"), "invalid-names", ("b",), renaming("^b")),
    "name with a caret": Kind(named("a^b"), "invalid-names", ("a^b",), renaming("a^b")),
    "name with a blank": Kind(named("a b"), "invalid-names", ("a b",), renaming("a b")),
    "name beyond ASCII": Kind(named("größe"), "invalid-names", ("größe",)),
    "no name": Kind(named(""), "invalid-names", ("unnamed",), renaming("unnamed")),
    "underscore": Kind(named("_x"), "invalid-names", ("_x",), renaming("_x"), in_functions=False),
    "colocation": Kind(
        with_attribute("_class", lambda v: v.list.s.append(b"loc:@gone")),
        "missing-colocations",
        ("m",),
        in_functions=False,
    ),
    "one colocation of two": Kind(
        with_attribute("_class", lambda v: v.list.s.extend([b"loc:@gone", b"loc:@two"])),
        "missing-colocations",
        ("m",),
        in_functions=False,
    ),
    "private attribute without a value": Kind(
        with_attribute("_empty", lambda v: v.SetInParent()), "attributes", ("m",)
    ),
    "attribute without a value": Kind(
        with_attribute("T", lambda v: v.Clear()),
        "attributes",
        ("m",),
        lambda e: e.set_attr("m", "T", "float32"),
    ),
    "attribute that lacks": Kind(
        lambda g: node_of(g, "m").attr.pop("T"),
        "attributes",
        ("m",),
        lambda e: e.set_attr("m", "T", "float32"),
    ),
    "attribute of the future": Kind(
        with_attribute("brand_new", lambda v: setattr(v, "i", 7)), "attributes", ("m",)
    ),
    "unknown function": Kind(
        with_attribute("_future", lambda v: setattr(v.func, "name", "no_such_function")),
        "attributes",
        ("m",),
    ),
    "negative shape": Kind(
        below("shape", negative_shape, "x"),
        "negative-shapes",
        ("x",),
        lambda e: e.set_attr("x", "shape", [2]),
    ),
    "negative constant": Kind(
        below("value", lambda v: v.tensor.tensor_shape.dim.add(size=-3), "two"),
        "negative-shapes",
        ("two",),
        lambda e: e.set_constant("two", 2.0),
    ),
    "negative static shape": Kind(
        below("_output_shapes", negative_list, "m"), "negative-shapes", ("m",)
    ),
}


def broken_file(kind: Kind, folder: Path, *, in_function: bool = False) -> Path:
    graph_def = graph_of_a_product()
    kind.harm(graph_def)
    path = folder / "broken.pb"
    path.write_bytes((in_a_function(graph_def) if in_function else graph_def).SerializeToString())
    return path


def fix(editor: tgw.GraphEditor, kind: Kind) -> None:
    if kind.edit is not None:
        kind.edit(editor)
        return
    for fix in editor.lint(only=BROKEN).fixes:
        editor.apply(fix)


def saved(editor: tgw.GraphEditor, path: Path) -> list[str]:
    """Save, and return the notices."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        editor.save(path)
    return [str(each.message) for each in caught]


def run(path: Path) -> list[float]:
    """What TensorFlow alone computes for [1, 3]."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(v1.GraphDef.FromString(path.read_bytes()), name="")
        with v1.Session(graph=graph) as session:
            result: list[float] = session.run("y:0", {"x:0": [1.0, 3.0]}).tolist()
    return result


def contents(editor: tgw.GraphEditor) -> list[bytes]:
    return sorted(node.SerializeToString(deterministic=True) for node in editor._core.index.nodes)


@pytest.mark.parametrize("name", KINDS)
def test_a_broken_graph_is_drawn_named_by_lint_and_fixed(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    editor = tgw.edit(broken_file(kind, tmp_path))
    assert editor.view.to_svg()
    assert editor.view.scene()
    before = contents(editor)
    finding = editor.lint(only=BROKEN)[0]
    assert (finding.code, tuple(sorted(finding.ops))) == (kind.code, kind.ops)
    fix(editor, kind)
    assert not editor.lint(only=BROKEN)
    assert saved(editor, tmp_path / "fixed.pb") == []
    assert run(tmp_path / "fixed.pb") == [2.0, 6.0]
    while editor.history.done:
        editor.undo()
    assert contents(editor) == before
    assert editor.lint(only=BROKEN)[0] == finding


def test_only_the_places_next_to_ops_that_are_gone_are_taken_out(tmp_path: Path) -> None:
    editor = tgw.edit(broken_file(KINDS["one colocation of two"], tmp_path))
    (finding,) = editor.lint(only=BROKEN)
    assert "'gone'" in finding.sentence
    editor.apply(finding.fix)
    assert list(editor._core.index.nodes[editor._core.index.ids["m"]].attr["_class"].list.s) == [
        b"loc:@two"
    ]
    editor.save(tmp_path / "fixed.pb")
    assert run(tmp_path / "fixed.pb") == [2.0, 6.0]


@pytest.mark.parametrize(
    ("harm", "reads"),
    [
        (lambda g: node_of(g, "x").attr["dtype"].__setattr__("type", 3), {"x:0": "m"}),
        (
            lambda g: (integer(g, "two"), node_of(g, "x").attr["dtype"].__setattr__("type", 2)),
            {"x:0": "m", "two:0": "m"},
        ),
    ],
)
def test_an_input_of_another_dtype_is_cast(
    harm: Callable[[Any], Any], reads: dict[str, str], tmp_path: Path
) -> None:
    graph_def = graph_of_a_product()
    harm(graph_def)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="incompatible with expected"):
        tf.import_graph_def(graph_def, name="")
    editor = tgw.edit(graph_def)
    findings = editor.lint(only=BROKEN)
    assert [
        f"reads {tensor!r}" in each.sentence for tensor, each in zip(reads, findings, strict=True)
    ] == [True] * len(reads)
    for finding in findings:
        editor.apply(finding.fix)
    assert editor._core.index.types.count("Cast") == len(reads)
    editor.save(tmp_path / "cast.pb")
    assert run(tmp_path / "cast.pb") == [2.0, 6.0]


def test_a_variable_of_a_reference_can_be_read_and_a_value_cannot_be_assigned_to() -> None:
    with tf.Graph().as_default() as graph:
        variable = v1.get_variable("v", [2], use_resource=False)
        tf.identity(v1.assign_add(variable, tf.identity(variable)), "y")
    graph_def = graph.as_graph_def()
    assert not tgw.edit(graph_def).lint(only=BROKEN)
    node_of(graph_def, "AssignAdd").input[0] = "Identity"
    (finding,) = tgw.edit(graph_def).lint(only=BROKEN)
    assert finding.code == "input-dtypes"
    assert finding.fix is None  # an op reads what the op gives
    assert "which is float32, at input 0, and takes float32_ref there" in finding.sentence


@pytest.mark.parametrize("name", [name for name in KINDS if KINDS[name].in_functions])
def test_a_broken_function_is_named_by_lint_and_fixed(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    editor = tgw.edit(broken_file(kind, tmp_path, in_function=True))
    outside = editor.lint(only=BROKEN)[0]
    assert outside.code == kind.code
    assert f"of function '{next(iter(editor._core.index.functions))}'" in outside.sentence
    assert "editor.view.enter(" in outside.sentence
    editor.view.enter("call")
    assert editor.view.to_svg()
    finding = editor.lint(only=BROKEN)[0]
    assert (finding.code, tuple(sorted(finding.ops))) == (kind.code, kind.ops)
    fix(editor, kind)
    assert not editor.lint(only=BROKEN)
    editor.view.leave()
    assert not editor.lint(only=BROKEN)
    assert saved(editor, tmp_path / "fixed.pb") == []
    assert run(tmp_path / "fixed.pb") == [2.0, 6.0]
    assert not tgw.edit(tmp_path / "fixed.pb").lint(only=BROKEN)
    while editor.history.done:
        editor.undo()  # which enters the function again
    assert editor.lint(only=BROKEN)[0] == finding


@pytest.mark.parametrize(
    "name", ["missing", "wrong port", "too few", "cycle", "two of a name, the first"]
)
@pytest.mark.parametrize("in_function", [False, True])
def test_what_is_not_fixed_is_not_written_without_a_word(
    name: str, in_function: bool, tmp_path: Path
) -> None:
    editor = tgw.edit(broken_file(KINDS[name], tmp_path, in_function=in_function))
    (notice,) = saved(editor, tmp_path / "again.pb")
    assert (
        notice
        == f"What is broken in the file is written again: {editor.lint(only=BROKEN)[0].sentence}"
    )


@pytest.mark.parametrize("name", ["wrong port", "too few", "cycle", "name with a blank"])
def test_a_frozen_graph_that_tensorflow_refuses_is_not_written(name: str, tmp_path: Path) -> None:
    editor = tgw.edit(broken_file(KINDS[name], tmp_path))
    with pytest.raises(GraphEditError):
        editor.save(tmp_path / "frozen.pb", outputs=["y:0"], frozen=True)
    assert not (tmp_path / "frozen.pb").exists()


@pytest.mark.parametrize(
    ("name", "in_function"),
    [
        *((name, False) for name in KINDS),
        *((name, True) for name in KINDS if KINDS[name].in_functions),
    ],
)
@pytest.mark.sample(33)
def test_the_session_runs_the_graph_once_it_is_fixed(
    name: str, in_function: bool, tmp_path: Path
) -> None:
    kind = KINDS[name]
    editor = tgw.edit(broken_file(kind, tmp_path, in_function=in_function))
    if in_function:
        editor.view.enter("call")
    fix(editor, kind)
    editor.view.leave(0)
    assert editor.session.run("y:0", {"x:0": [1.0, 3.0]}).tolist() == [2.0, 6.0]


@pytest.mark.parametrize("name", ["wrong port", "too many", "cycle", "name with a blank"])
def test_the_session_of_a_graph_that_tensorflow_refuses_says_what_to_do(
    name: str, tmp_path: Path
) -> None:
    editor = tgw.edit(broken_file(KINDS[name], tmp_path))
    with pytest.raises(NotRunnable, match=r"it runs once what editor\.lint\(\) finds is fixed\."):
        _ = editor.session


def test_a_missing_input_is_a_placeholder_that_can_be_fed(tmp_path: Path) -> None:
    editor = tgw.edit(broken_file(KINDS["missing"], tmp_path))
    (notice,) = editor.source.notices
    assert notice.endswith(
        "op 'm' reads 'gone', which is not there; the Placeholder 'gone' represents it."
    )
    assert editor.session.run("y:0", {"x:0": [1.0, 3.0], "gone:0": 2.0}).tolist() == [2.0, 6.0]
    editor.passes.remove_attr("_missing_input", "gone")  # it is meant as an input
    assert not editor.lint(only="missing-inputs")


def test_inputs_that_are_missing_for_values_waits_and_references_have_ops_of_their_own() -> None:
    graph_def = graph_of_a_product()
    node_of(graph_def, "m").input[:] = ["a", "a:1", "^a", "^b"]
    constant(graph_def, "one", 1.0)
    add(graph_def, "assigned", "Assign", "v", "one", T=_FLOAT)
    index = tgw.edit(graph_def)._core.index
    types = {
        name: index.types[op]
        for name, op in index.ids.items()
        if name not in ("x", "two", "m", "y", "one")
    }
    assert types == {
        "a": "Placeholder",
        "a_1": "Placeholder",
        "b": "NoOp",
        "v": "VariableV2",
        "assigned": "Assign",
    }
    assert list(index.nodes[index.ids["m"]].input) == ["a", "a_1", "^a_1", "^b"]


def test_of_two_ops_of_one_name_either_is_kept_or_both_under_their_names(tmp_path: Path) -> None:
    path = broken_file(KINDS["two of a name, the first"], tmp_path)
    (notice,) = tgw.edit(path).source.notices
    assert (
        "two ops are named 'two', and what reads that name reads the first; the second, of type "
        "'Const'" in notice
    )
    values = []
    for keep in (lambda e: e.remove("two_1"), keep_the_second, lambda e: e.rename("two_1", "five")):
        editor = tgw.edit(path)
        keep(editor)
        assert not editor.lint(only=BROKEN)
        editor.save(tmp_path / "kept.pb")
        values.append(run(tmp_path / "kept.pb"))
    assert values == [[2.0, 6.0], [5.0, 15.0], [2.0, 6.0]]


def test_an_op_named_as_the_output_of_another_one_is_distinguished_from_it(tmp_path: Path) -> None:
    graph_def = graph_of_a_product()
    node_of(graph_def, "m").name = "out"
    node_of(graph_def, "y").input[0] = "out:0"
    constant(graph_def, "out:0", 9.0)
    editor = tgw.edit(graph_def)
    (notice,) = editor.source.notices
    assert notice.endswith(
        "'out:0' is an op, and also means op 'out' where ops read it; it is opened as 'out_0'."
    )
    assert list(editor._core.index.nodes[editor._core.index.ids["y"]].input) == ["out:0"]
    assert [finding.ops for finding in editor.lint(only=BROKEN)] == [("out_0",)]
    editor.save(tmp_path / "saved.pb")
    assert run(tmp_path / "saved.pb") == [2.0, 6.0]


def test_a_name_that_ends_with_a_slash_is_renamed_as_a_whole() -> None:
    graph_def = graph_of_a_product()
    named("a/")(graph_def)
    editor = tgw.edit(graph_def)
    editor.rename("a/", "ok")
    assert set(editor._core.index.names) == {"x", "two", "ok", "y"}


def loops_of_one_frame() -> Any:
    """Two loops beside each other, whose Enters say one frame: y = x * 2**3, then + 1 four
    times.
    """
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        _, first = v1.while_loop(
            lambda i, _: i < 3, lambda i, a: (i + 1, a * 2.0), [0, x], name="one"
        )
        _, last = v1.while_loop(
            lambda i, _: i < 4, lambda i, a: (i + 1, a + 1.0), [0, x], name="other"
        )
        tf.add(first, last, name="y")
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        if node.op == "Enter":
            node.attr["frame_name"].s = b"frame"
    return graph_def


def test_loops_that_share_a_frame_name_are_named_and_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "loops.pb"
    path.write_bytes(loops_of_one_frame().SerializeToString())
    editor = tgw.edit(path)
    assert editor.view.to_svg()
    (finding,) = editor.lint(only=BROKEN)
    assert finding.code == "loop-frames"
    assert {name.split("/")[0] for name in finding.ops} == {"one", "other"}
    for name in [name for name in finding.ops if name.startswith("other/")]:
        editor.set_attr(name, "frame_name", "frame_1")
    assert not editor.lint(only=BROKEN)
    assert saved(editor, tmp_path / "fixed.pb") == []
    assert run(tmp_path / "fixed.pb") == [8.0 + 5.0, 24.0 + 7.0]


def test_a_loop_and_nested_loops_are_not_broken() -> None:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:

        def inner(i: Any, a: Any) -> Any:
            b = v1.while_loop(
                lambda j, _: j < 2, lambda j, b: (j + 1, b * 2.0), [0, a], name="inner"
            )[1]
            return i + 1, b

        v1.while_loop(
            lambda i, _: i < 3, inner, [0, v1.placeholder(tf.float32, [2], name="x")], name="outer"
        )
    assert not tgw.edit(graph.as_graph_def()).lint(only=BROKEN)


# Other forms of files, and the command line


def write(path: Path, graph_def: Any) -> None:
    """Write a graph in the form that the suffix says; a folder as a SavedModel of TensorFlow 1."""
    if path.suffix == ".pbtxt":
        path.write_text(text_format.MessageToString(graph_def), encoding="utf-8")
        return
    meta = v1.MetaGraphDef(graph_def=graph_def)
    meta.meta_info_def.tensorflow_version = "2.21.0"
    if path.suffix == ".meta":
        path.write_bytes(meta.SerializeToString())
        return
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    model.meta_graphs[0].meta_info_def.tags.append("serve")
    signature = model.meta_graphs[0].signature_def["serving_default"]
    signature.method_name = "tensorflow/serving/predict"
    for ends, name in ((signature.inputs, "x"), (signature.outputs, "y")):
        ends[name].name, ends[name].dtype = f"{name}:0", 1
        ends[name].tensor_shape.unknown_rank = True
    path.mkdir()
    (path / "saved_model.pb").write_bytes(model.SerializeToString())


def run_form(path: Path) -> list[float]:
    with tf.Graph().as_default(), v1.Session() as session:
        if path.suffix == ".pbtxt":
            tf.import_graph_def(
                text_format.Parse(path.read_text(encoding="utf-8"), v1.GraphDef()), name=""
            )
        elif path.suffix == ".meta":
            v1.train.import_meta_graph(str(path))
        else:
            v1.saved_model.load(session, ["serve"], str(path))
        result: list[float] = session.run("y:0", {"x:0": [1.0, 3.0]}).tolist()
    return result


@pytest.mark.parametrize("form", [".pbtxt", ".meta", ""])
@pytest.mark.parametrize(
    "name",
    [
        "missing",
        "wrong port",
        "too few",
        "controls first",
        "cycle",
        "two of a name, the first",
        "name of a tensor",
    ],
)
@pytest.mark.filterwarnings("ignore:The graph that was opened cannot run here")
def test_every_form_of_file_is_opened_fixed_and_saved(form: str, name: str, tmp_path: Path) -> None:
    kind, graph_def = KINDS[name], graph_of_a_product()
    kind.harm(graph_def)
    write(tmp_path / f"broken{form}", graph_def)
    editor = tgw.edit(tmp_path / f"broken{form}")
    assert editor.lint(only=BROKEN)[0].code == kind.code
    fix(editor, kind)
    editor.save(tmp_path / f"fixed{form}")
    assert run_form(tmp_path / f"fixed{form}") == [2.0, 6.0]


def test_a_saved_model_whose_inputs_were_put_in_order_is_not_copied_as_it_was(
    tmp_path: Path,
) -> None:
    graph_def = graph_of_a_product()
    KINDS["controls first"].harm(graph_def)
    write(tmp_path / "broken", graph_def)
    tgw.edit(tmp_path / "broken").save(tmp_path / "saved")
    assert run_form(tmp_path / "saved") == [2.0, 6.0]


@pytest.mark.parametrize(
    "name", ["missing", "two of a name, the first", "cycle", "name of a tensor", "too few"]
)
def test_the_command_line_names_it_and_fixes_what_has_a_fix(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = KINDS[name]
    path = str(broken_file(kind, tmp_path))
    assert main(["info", path]) == 0
    assert main(["show", path, "--html", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main(["lint", path]) == 1
    assert f"error {kind.code}: " in capsys.readouterr().out
