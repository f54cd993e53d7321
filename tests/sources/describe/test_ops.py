"""What is told of one op, live or not."""

from __future__ import annotations

import ast

import pytest
import tensorflow as tf

from tests.conftest import v1
from tests.sources.conftest import index_of, node
from tfgraphwidget.sources import TensorDescription, describe_op, open_source
from tfgraphwidget.sources.describe.ops import AttributeDescription, attribute_text


def test_a_live_op_and_the_same_in_a_file_read_alike(mlp: tf.Graph) -> None:
    for index in map(index_of, (open_source(mlp).body, open_source(mlp.as_graph_def()).body)):
        report = describe_op(index, index.op("net/one/out"))
        assert report.device == ""
        assert report.inputs == (
            TensorDescription("net/one/add:0", "float32", "(None, 4)", ("net/one/add",)),
        )
        assert report.outputs == (
            TensorDescription("net/one/out:0", "float32", "(None, 4)", ("net/two/MatMul",)),
        )
        assert report.attributes == (AttributeDescription("T", "float32", settable=True),)


def test_consumers_are_reported_for_each_output_and_control_inputs_apart() -> None:
    nodes = [
        node("x", "Placeholder", dtype=tf.float32),
        node("s", "Unpack", "x", T=tf.float32, num=3),
        node("a", "AddV2", "s:2", "s", "^x", T=tf.float32),
    ]
    index = index_of(open_source(v1.GraphDef(node=nodes)).body)
    assert [t.peers for t in describe_op(index, 1).outputs] == [("a",), (), ("a",)]
    assert describe_op(index, 2).control_inputs == ("x",)
    assert [t.name for t in describe_op(index, 2).inputs] == ["s:2", "s:0"]


def test_an_unknown_op_is_reported_as_far_as_its_file_goes() -> None:
    index = index_of(
        open_source(v1.GraphDef(node=[node("n", "MyOp"), node("r", "MyOp", "n:1")])).body
    )
    assert [(t.dtype, t.shape) for t in describe_op(index, 0).outputs] == [
        ("unknown", "unknown")
    ] * 2


def tensor(value: object, **changes: object) -> v1.AttrValue:
    proto = tf.make_tensor_proto(value)
    for name, changed in changes.items():
        setattr(proto, name, changed)
    return v1.AttrValue(tensor=proto)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (v1.AttrValue(type=1), "float32"),
        (v1.AttrValue(type=999), "unknown dtype 999"),
        (v1.AttrValue(i=-3), "-3"),
        (v1.AttrValue(b=True), "True"),
        (v1.AttrValue(s=b"na\xffme"), "b'na\\xffme'"),
        (v1.AttrValue(s=b"x" * 1000), "'" + "x" * 198 + "…"),
        (v1.AttrValue(shape=tf.TensorShape([None, 2]).as_proto()), "(None, 2)"),
        (v1.AttrValue(shape={"dim": [{"size": -7}]}), "(None,)"),
        (v1.AttrValue(func={"name": "f"}), "function f"),
        (v1.AttrValue(list={"type": [1, 999]}), "[float32, unknown dtype 999]"),
        (v1.AttrValue(list={"s": [b"loc:@a"]}), "['loc:@a']"),
        (v1.AttrValue(list={}), "[]"),
        (v1.AttrValue(), ""),
        (v1.AttrValue(placeholder="T"), "T"),
        (tensor([1.0, 2.0]), "float32 (2,) [1.0, 2.0]"),
        (tensor("a"), "string () 'a'"),
        (tensor([0.0] * 17), "float32 (17,)"),
        (tensor([1.0, 2.0], tensor_content=b"abc"), "float32 (2,) unreadable"),
        (tensor([1.0, 2.0], dtype=999), "unknown dtype 999 (2,) unreadable"),
        (v1.AttrValue(tensor={"dtype": 1, "tensor_shape": {"dim": [{"size": 1 << 62}] * 9}}), None),
        (
            v1.AttrValue(tensor={"dtype": 1, "tensor_shape": {"dim": [{"size": -1}]}}),
            "float32 (None,)",
        ),
        (
            v1.AttrValue(tensor={"dtype": 1, "tensor_shape": {"unknown_rank": True}}),
            "float32 unknown",
        ),
    ],
)
def test_an_attribute_is_written_as_a_person_would_even_when_damaged(
    value: v1.AttrValue, text: str | None
) -> None:
    nodes = [node("n", "MyOp", held=value)]
    index = index_of(open_source(v1.GraphDef(node=nodes)).body)
    (attribute,) = describe_op(index, 0).attributes
    report = attribute.text
    assert attribute.name == "held"
    assert report == text if text is not None else report.startswith("float32 (4611686018427387904")
    assert len(report) <= 200


def test_many_elements_of_a_list_are_cut_short() -> None:
    index = index_of(
        open_source(
            v1.GraphDef(node=[node("n", "MyOp", held=v1.AttrValue(list={"i": [7] * 100_000}))])
        ).body
    )
    assert len(describe_op(index, 0).attributes[0].text) == 200


@pytest.mark.parametrize(
    ("name", "value", "settable"),
    [
        ("strides", v1.AttrValue(list={"i": [1, 2]}), True),
        ("shared_name", v1.AttrValue(s=b"ends so \xe2\x80\xa6"), True),
        ("shared_name", v1.AttrValue(s=b"a" * 300), False),
        ("_class", v1.AttrValue(list={"s": [b"loc:@a"]}), False),
        ("body", v1.AttrValue(func={"name": "f"}), False),
        ("branches", v1.AttrValue(list={"func": [{"name": "f"}]}), False),
        ("value", tensor([1.0, 2.0]), False),
        ("nothing", v1.AttrValue(), False),
    ],
)
def test_an_attribute_is_settable_if_its_text_is_the_python_of_it(
    name: str, value: v1.AttrValue, *, settable: bool
) -> None:
    index = index_of(open_source(v1.GraphDef(node=[node("n", "MyOp", **{name: value})])).body)
    (attribute,) = describe_op(index, 0).attributes
    assert attribute.settable is settable


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (tensor([1.0, 2.0]), "[1.0, 2.0]"),
        (tensor(0.5), "0.5"),
        (tensor([0.0] * 17), ""),
        (tensor("a" * 300), ""),
        (tensor([1.0, 2.0], tensor_content=b"abc"), ""),
        (v1.AttrValue(), ""),
    ],
)
def test_a_small_constant_s_value_is_python(value: v1.AttrValue, text: str) -> None:
    index = index_of(open_source(v1.GraphDef(node=[node("n", "Const", value=value)])).body)
    assert describe_op(index, 0).value == text


@pytest.mark.parametrize(
    "held",
    [b"plain", "ключ".encode(), b"\xff\x01x", b"\\xff", b'it\'s "quoted"\n', b"", b"a" * 150],
)
def test_a_string_attribute_that_is_applied_as_it_is_shown_stays_the_same(held: bytes) -> None:
    shown = attribute_text(v1.AttrValue(s=held))
    meant = ast.literal_eval(shown)
    assert (meant.encode() if isinstance(meant, str) else meant) == held


@pytest.mark.parametrize(
    "held", [b"a" * 5000, "é".encode() * 5000, "👍".encode() * 300, b"\xff" * 500]
)
def test_what_is_cut_ends_in_an_ellipsis(held: bytes) -> None:
    shown = attribute_text(v1.AttrValue(s=held))
    assert len(shown) == 200
    assert shown.endswith("…")
    many = v1.AttrValue(list=v1.AttrValue.ListValue(s=[held] * 3))
    assert attribute_text(many).endswith("…")


def test_constants_of_words_are_shown_as_words() -> None:
    held = tf.make_tensor_proto(["שלום".encode(), b"\xff"])
    assert attribute_text(v1.AttrValue(tensor=held)) == "string (2,) ['שלום', b'\\xff']"
