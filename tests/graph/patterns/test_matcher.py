"""Where a pattern fits: the semantics of patterns, a sentence each.

`# semantics N` is the number of a rule in the list of tests/editor/test_patterns_on_sources.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph.index import build as index_of
from tfgraphwidget.graph.patterns import Matches, array_matcher, find_matches, matcher, parse
from tfgraphwidget.sources import tf_protos


def editor_of(build: Callable[[], Any]) -> tgw.GraphEditor:
    graph = tf.Graph()
    with graph.as_default():
        build()
    return tgw.edit(graph)


def x_of(name: str = "x", dtype: Any = tf.float32, shape: Any = (None, 4)) -> tf.Tensor:
    return v1.placeholder(dtype, shape, name)


def outputs(hits: Matches) -> list[str]:
    return [str(hit.outputs[0]) for hit in hits]


@pytest.fixture(scope="module")
def net() -> tgw.GraphEditor:
    """Two dense layers, of which one has a resource variable and one a v1 variable; a swish; a
    constant bias.
    """

    def build() -> None:
        h = x_of()
        for name, resource in (("one", True), ("two", False)):
            with v1.variable_scope(name):
                w = v1.get_variable("w", [4, 4], use_resource=resource)
                h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, w), [1.0, 2.0, 3.0, 4.0]), "out")
        with v1.name_scope("swish"):
            h = tf.multiply(h, tf.sigmoid(h), "out")
        tf.add(0.5, tf.identity(h, "same"), "plus")

    return editor_of(build)


# semantics 1
def test_a_variable_that_is_written_twice_is_one_tensor(net: tgw.GraphEditor) -> None:
    assert outputs(net.match("Mul(x, Sigmoid(x))")) == ["swish/out:0"]
    assert outputs(net.match("Mul(x, Sigmoid(y))")) == ["swish/out:0"]
    other = editor_of(lambda: tf.multiply(x_of("a"), tf.sigmoid(x_of("b"))))
    assert outputs(other.match("Mul(x, Sigmoid(x))")) == []
    assert len(other.match("Mul(x, Sigmoid(y))")) == 1


# semantics 1
def test_a_name_of_an_op_joins_the_branches_of_a_dag(net: tgw.GraphEditor) -> None:
    hit = net.match("Mul(h=Relu(x), Sigmoid(h))")[0]
    assert (hit.h, hit.x, hit.ops) == (
        "two/out:0",
        "two/BiasAdd:0",
        ("two/out", "swish/Sigmoid", "swish/out"),
    )
    twice = editor_of(lambda: tf.multiply(tf.nn.relu(x_of("a")), tf.sigmoid(tf.nn.relu(x_of("b")))))
    assert not twice.match("Mul(h=Relu(x), Sigmoid(h))")


# semantics 2
def test_two_ops_of_a_pattern_are_two_ops_of_the_graph() -> None:
    editor = editor_of(lambda: tf.add(*[tf.nn.relu(x_of())] * 2))
    assert not editor.match("AddV2(Relu(x), Relu(y))")
    assert len(editor.match("AddV2(h=Relu(x), h)")) == 1
    assert len(editor.match("AddV2(a, b)")) == 1, "two names of tensors may be one tensor"


# semantics 3
def test_the_number_of_inputs_is_exact_but_for_dots() -> None:
    def build() -> None:
        x, y, z = x_of("a"), x_of("b"), x_of("c")
        tf.concat([x, y], 1, "two")
        tf.concat([tf.nn.relu(x), y, z], 1, "three")

    editor = editor_of(build)
    assert outputs(editor.match("ConcatV2(x, y, 1)")) == ["two:0"]
    assert outputs(editor.match("ConcatV2(x, ..., 1)")) == ["two:0", "three:0"]
    assert outputs(editor.match("ConcatV2(Relu(x), ...)")) == ["three:0"]
    assert outputs(editor.match("ConcatV2")) == ["two:0", "three:0"]
    assert outputs(editor.match("ConcatV2(..., z, 1)")) == ["two:0", "three:0"]


# semantics 3
def test_control_inputs_count_only_if_they_are_written() -> None:
    def build() -> None:
        x = x_of()
        with tf.control_dependencies([tf.no_op("ready")]):
            tf.nn.relu(x, "waits")
        tf.nn.relu(x, "free")

    editor = editor_of(build)
    assert outputs(editor.match("Relu(x)")) == ["waits:0", "free:0"]
    assert outputs(editor.match("Relu(x, ^NoOp)")) == ["waits:0"]
    assert outputs(editor.match("Relu(x, ^Tanh)")) == []


# semantics 5
def test_commutative_ops_match_in_any_order_and_other_ops_in_theirs(net: tgw.GraphEditor) -> None:
    assert len(net.match("Mul(Sigmoid(x), x)")) == len(net.match("Mul(x, Sigmoid(x))")) == 1
    assert len(net.match("AddV2(x, 0.5)")) == len(net.match("AddV2(0.5, x)")) == 1
    editor = editor_of(
        lambda: tf.add_n([tf.tanh(x_of("a")), tf.nn.relu(x_of("b")), tf.exp(x_of("c"))])
    )
    hit = editor.match("AddN(Exp(p), x, Relu(q))")[0]
    assert (hit.p, hit.q, hit.x) == ("c:0", "b:0", "Tanh:0")
    assert len(editor.match("AddN(Exp(p), ...)")) == 1
    assert len(editor.match("AddN(Relu(p), ...)")) == len(editor.match("*(..., Tanh(p))")) == 1
    assert len(net.match("Sub|Mul(Sigmoid(x), x)")) == len(net.match("Sub|AddV2(0.5, x)")) == 1
    assert len(net.match("Sub|AddV2(x, 0.5)")) == len(net.match("*(x, 0.5)")) == 1
    minus = editor_of(lambda: tf.subtract(x_of("a"), tf.nn.relu(x_of("b"))))
    assert len(minus.match("Sub(x, Relu(y))")) == 1
    assert not minus.match("Sub(Relu(y), x)")


# semantics 5
def test_an_order_that_fits_at_first_is_taken_back_when_the_rest_does_not() -> None:
    def build() -> None:
        x, y = x_of("a"), x_of("b")
        # Both inputs of the sum are products; only in the second order is the one of x and itself
        # the first.
        tf.add(tf.multiply(x, y), tf.multiply(x, x), "sum")

    hit = editor_of(build).match("AddV2(Mul(p, p), Mul(p, q))")[0]
    assert (hit.p, hit.q) == ("a:0", "b:0")


# semantics 6
def test_identities_and_reads_of_variables_are_seen_through(net: tgw.GraphEditor) -> None:
    hits = net.match("MatMul(x, Variable)")
    assert outputs(hits) == ["one/MatMul:0", "two/MatMul:0"]
    assert net._core.index.types[net._core.index.op("one/w")] == "VarHandleOp"
    assert net._core.index.types[net._core.index.op("two/w")] == "VariableV2"
    assert outputs(net.match("AddV2(0.5, Mul(x, y))")) == ["plus:0"]
    assert outputs(net.match("AddV2(0.5, Identity(Mul(x, y)))")) == ["plus:0"]
    assert outputs(net.match("MatMul(x, w=ReadVariableOp(Variable))")) == ["one/MatMul:0"]


def test_what_a_name_represents_is_the_tensor_that_is_read(net: tgw.GraphEditor) -> None:
    one, two = net.match("MatMul(x, w=Variable)")
    assert (one.w, two.w) == ("one/MatMul/ReadVariableOp:0", "two/w/read:0")
    assert (one.w.dtype, one.w.shape, one.x.op.type) == ("float32", (4, 4), "Placeholder")


# semantics 6
def test_two_reads_of_one_variable_are_one_tensor() -> None:
    def build() -> None:
        w = v1.get_variable("w", [4], use_resource=True)
        tf.add(tf.nn.relu(w), tf.tanh(w), "sum")

    editor = editor_of(build)
    assert (
        len(
            {
                n
                for n, k in zip(editor._core.index.names, editor._core.index.types, strict=True)
                if k == "ReadVariableOp"
            }
        )
        > 1
    )
    assert len(editor.match("AddV2(Relu(w), Tanh(w))")) == 1


# semantics 8
def test_constants_match_by_value_as_scalars_and_as_arrays_of_one_number() -> None:
    def build() -> None:
        x = x_of()
        tf.multiply(x, 0.5, "scalar")
        tf.multiply(x, tf.fill([4], 0.5) * 1.0, "computed")
        tf.multiply(x, tf.constant([0.5] * 4), "splat")
        tf.multiply(x, [0.5, 0.5, 0.5, 0.6], "vector")
        tf.multiply(tf.cast(x, tf.float16), tf.constant(0.1, tf.float16), "half")

    editor = editor_of(build)
    assert outputs(editor.match("Mul(x, 0.5)")) == ["scalar:0", "splat:0"]
    assert outputs(editor.match("Mul(x, [0.5, 0.5, 0.5, 0.6])")) == ["vector:0"]
    assert outputs(editor.match("Mul(x, Const(0.501, tolerance=0.01))")) == ["scalar:0", "splat:0"]
    assert outputs(editor.match("Mul(x, 0.501)")) == []
    assert outputs(editor.match("Mul(x, 0.1)")) == ["half:0"], "as near as the dtype can be"
    assert editor.match("Mul(x, c=Const)")[0].c.value == np.float32(0.5)


# semantics 7
def test_attributes_that_are_not_mentioned_are_any_and_others_a_value_a_set_or_a_condition() -> (
    None
):
    def build() -> None:
        x = x_of(shape=(1, 8, 8, 3))
        for name, padding, stride in (("a", "SAME", 1), ("b", "VALID", 2)):
            tf.nn.conv2d(x, tf.ones([2, 2, 3, 4]), stride, padding, name=name)
        tf.nn.leaky_relu(x, 0.3, name="leaky")

    editor = editor_of(build)
    assert outputs(editor.match("Conv2D(x, w)")) == ["a:0", "b:0"]
    assert outputs(editor.match("Conv2D(x, w, padding='SAME')")) == ["a:0"]
    assert outputs(editor.match("Conv2D(x, w, padding={'SAME', 'VALID'})")) == ["a:0", "b:0"]
    assert outputs(editor.match("Conv2D(x, w, padding=/^V/)")) == ["b:0"]
    assert outputs(editor.match("Conv2D(x, w, strides=[1, 2, 2, 1])")) == ["b:0"]
    assert outputs(editor.match("Conv2D(x, w, data_format='NHWC', dilations=[1, 1, 1, 1])")) == [
        "a:0",
        "b:0",
    ]
    assert outputs(editor.match("LeakyRelu(x, alpha>0.2)")) == ["leaky:0"]
    assert outputs(editor.match("LeakyRelu(x, alpha>=0.31)")) == []
    assert editor.match("Conv2D(x, w, padding=$p, strides=$s)")[1].p == "VALID"
    by_function = tgw.pattern(lambda op, x, w: op.Conv2D(x, w, strides=lambda s: max(s) == 2))
    assert outputs(editor.match(by_function)) == ["b:0"]
    with pytest.raises(
        InvalidArgument, match=r"Conv2D has no attribute 'pading'; did you mean 'padding'"
    ):
        editor.match("Conv2D(x, w, pading='SAME')")


# semantics 7
def test_dtypes_and_attributes_of_one_name_are_the_same() -> None:
    def build() -> None:
        x = x_of()
        tf.cast(tf.cast(x, tf.float64, "to"), tf.float32, "back")
        tf.cast(tf.cast(x, tf.float64, "to2"), tf.int32, "on")

    editor = editor_of(build)
    assert outputs(editor.match("Cast(Cast(x: $t), DstT=$t)")) == ["back:0"]
    assert outputs(editor.match("Cast(Cast(x, SrcT=$t), DstT=$t)")) == ["back:0"]
    assert outputs(editor.match("Cast(Cast(x))")) == ["back:0", "on:0"]
    assert outputs(editor.match("Cast(x): int32")) == ["on:0"]
    assert outputs(editor.match("Cast(x: float64)")) == ["back:0", "on:0"]


# semantics 9
def test_shapes_are_written_as_in_queries() -> None:
    def build() -> None:
        tf.nn.relu(x_of("a", shape=[None, 4]), "two")
        tf.nn.relu(x_of("b", shape=[2, 8, 8, 3]), "four")
        tf.nn.relu(x_of("c", shape=[]), "none")
        tf.nn.relu(v1.placeholder(tf.float32, name="d"), "any")

    editor = editor_of(build)
    assert outputs(editor.match("Relu(x: [?x4])")) == ["two:0"]
    assert outputs(editor.match("Relu(x: float32[2x...])")) == ["four:0"]
    assert outputs(editor.match("Relu(x: [scalar])")) == ["none:0"]
    assert outputs(editor.match("Relu(x: [unknown])")) == ["any:0"]
    assert outputs(editor.match("Relu(x): [*x4]")) == ["two:0"]


def test_alternatives_of_types_and_of_structures() -> None:
    def build() -> None:
        x, y = x_of("a"), x_of("b")
        tf.nn.relu(tf.multiply(x, y), "one")
        tf.nn.relu(tf.math.divide(x, y), "two")
        tf.nn.relu(tf.tanh(tf.exp(x)), "three")

    editor = editor_of(build)
    assert outputs(editor.match("Relu(Mul|RealDiv(x, y))")) == ["one:0", "two:0"]
    hits = editor.match("Relu((Mul(x, y) | Tanh(Exp(x))))")
    assert outputs(hits) == ["one:0", "three:0"]
    assert hits[0].y == "b:0"
    with pytest.raises(AttributeError, match="'y'"):
        _ = hits[1].y
    assert outputs(editor.match("(Tanh(Exp(x)) | RealDiv(x, y))")) == ["truediv:0", "Tanh:0"]


# semantics 1
def test_a_name_of_alternatives_is_one_tensor() -> None:
    def build() -> None:
        x = x_of()
        r, t = tf.nn.relu(x, "r"), tf.tanh(x, "t")
        tf.multiply(r, tf.sigmoid(t), "mixed")
        tf.multiply(t, tf.sigmoid(t), "same")

    editor = editor_of(build)
    hits = editor.match("Mul(h=(Relu(x) | Tanh(x)), Sigmoid(h))")
    assert outputs(hits) == ["same:0"]
    assert (hits[0].h, hits[0].x) == ("t:0", "x:0")
    assert outputs(editor.match("Mul((Relu(x) | Tanh(x)), Sigmoid(y))")) == ["mixed:0", "same:0"]
    assert outputs(editor.match("Mul(h=(Relu(x) | Tanh(x)), Sigmoid(h: float64))")) == []


def test_outputs_other_than_the_first_are_named_by_their_number() -> None:
    def build() -> None:
        a, b = tf.split(x_of(), 2, 1, name="split")
        tf.nn.relu(a, "first")
        tf.nn.relu(b, "second")
        tf.add(a, b, "sum")

    editor = editor_of(build)
    assert outputs(editor.match("Relu(Split(1, x):1)")) == ["second:0"]
    assert outputs(editor.match("Relu(Split(1, x))")) == ["first:0"]
    assert outputs(editor.match("AddV2(s=Split(1, x), s:1)")) == ["sum:0"]
    assert outputs(editor.match("Split(1, x):1")) == ["split:1"]
    assert not editor.match("Split(1, x):2"), "an output that no op has"
    assert not editor.match("s=Split(1, x); s:2; Relu(s)")
    both = editor.match("s=Split(1, x); Relu(s); Relu(s:1)")
    assert [hit.outputs for hit in both] == [("first:0", "second:0")]


def test_a_pattern_of_several_outputs_is_found_by_what_they_share() -> None:
    def build() -> None:
        x = x_of()
        for name in ("q", "k"):
            tf.matmul(x, tf.ones([4, 4]), name=name)
        tf.tanh(x, "other")

    hits = editor_of(build).match("MatMul(x, Const); Tanh(x)")
    assert [hit.outputs for hit in hits] == [("q:0", "other:0"), ("k:0", "other:0")]
    assert hits[0].x == "x:0"


# semantics 10
def test_a_match_does_not_reach_into_a_loop_or_out_of_it() -> None:
    def build() -> None:
        v1.disable_control_flow_v2()
        try:
            x = x_of(shape=[])
            y = tf.nn.relu(
                v1.while_loop(lambda v: v < 9.0, lambda v: tf.tanh(tf.exp(v)), [tf.exp(x)]), "after"
            )
            tf.tanh(tf.exp(y), "plain")
        finally:
            v1.enable_control_flow_v2()

    editor = editor_of(build)
    inside = [hit.ops for hit in editor.match("Tanh(Exp(v))")]
    assert inside == [("while/Exp", "while/Tanh"), ("Exp_1", "plain")]
    assert not editor.match("Relu(Exit(x))"), "half of a loop"
    assert "holds a loop or conditional together" in editor.match("Exit(x)")[0].why


# semantics 10
def test_the_bodies_of_functions_are_searched_if_asked() -> None:
    def build() -> None:
        body = tf.function(lambda t: tf.tanh(tf.nn.relu(t)), autograph=False)
        outer = tf.function(lambda t: tf.nn.relu(body(t)), autograph=False)
        tf.tanh(tf.nn.relu(outer(x_of())), "here")

    editor = editor_of(build)
    assert outputs(editor.match("Tanh(Relu(x))")) == ["here:0"]
    hits = editor.match("Tanh(Relu(x))", functions=True)
    assert [bool(hit.function) for hit in hits] == [False, True]
    assert hits.selection.ops == hits[0].ops, "only ops of the graph itself can be selected"
    assert len(editor.match("Relu(x)", functions=True)) == 3


# semantics 11
def test_ops_with_state_match_only_by_name() -> None:
    def build() -> None:
        tf.nn.relu(v1.random_uniform([4], seed=1), "noise")
        tf.nn.relu(tf.tanh(x_of()), "plain")

    editor = editor_of(build)
    assert outputs(editor.match("Relu(*(...))")) == ["plain:0"]
    hit = editor.match("RandomUniform")[0]
    assert "has side effects; effects=True" in hit.why


# semantics 4
def test_a_match_whose_inside_is_used_elsewhere_says_who_uses_it(net: tgw.GraphEditor) -> None:
    def build() -> None:
        h = tf.nn.relu(x_of(), "inner")
        tf.tanh(h, "out")
        tf.exp(h, "outside")

    hit = editor_of(build).match("Tanh(Relu(x))")[0]
    assert hit.why == "'outside' outside reads 'inner', which is inside"
    assert len(net.match("Relu(BiasAdd(MatMul(x, w=Variable), b=Const))").replaceable) == 2


# semantics 12
def test_matches_are_numbered_in_topological_order_whatever_the_order_of_the_file() -> None:
    graph = v1.GraphDef()
    for name, kind, inputs in (
        ("c", "Relu", ["b"]),
        ("b", "Relu", ["a"]),
        ("a", "Relu", ["x"]),
        ("x", "Placeholder", []),
    ):
        graph.node.add(name=name, op=kind, input=inputs)
    assert outputs(find_matches(index_of(graph.node), parse("Relu(x)"))) == ["a:0", "b:0", "c:0"]
    assert outputs(find_matches(index_of(graph.node), parse("Relu(x)"), limit=2)) == ["a:0", "b:0"]
    assert find_matches(index_of(graph.node), parse("Relu(x)"), limit=2).is_cut
    assert not find_matches(index_of(graph.node), parse("Relu(x)"), limit=3).is_cut


def test_matches_are_searched_in_a_part(net: tgw.GraphEditor) -> None:
    assert outputs(net.match("Relu(BiasAdd(x, b))", within="two/")) == ["two/out:0"]
    assert outputs(net.match("MatMul(x, Variable)", within=net.ops("one/MatMul"))) == [
        "one/MatMul:0"
    ]
    assert not net.match("Relu(BiasAdd(x, b))", within=net.ops("one/out"))


def test_what_almost_fits_says_in_what_it_differs() -> None:
    def build() -> None:
        x = x_of(shape=[1, 8, 8, 3])
        for name, padding, bias, last in (
            ("a", "SAME", 1.0, tf.nn.relu),
            ("b", "VALID", 1.0, tf.nn.relu),
            ("c", "SAME", 2.0, tf.nn.relu),
            ("d", "SAME", 1.0, tf.nn.relu6),
        ):
            with v1.name_scope(name):
                last(
                    tf.add(tf.nn.conv2d(x, tf.ones([2, 2, 3, 4]), 1, padding, name="conv"), bias),
                    name="out",
                )

    hits = editor_of(build).match("Relu(AddV2(Conv2D(x, w, padding='SAME'), 1.0))")
    assert outputs(hits) == ["a/out:0"]
    assert [near.difference for near in hits.near] == [
        "'b/conv' does not have padding='SAME'",
        "'c/Add/y' is 2.0 where the pattern has 1.0",
        "'d/out' is Relu6 where the pattern has Relu",
    ]


def test_an_op_type_that_does_not_exist_is_refused_with_the_nearest(net: tgw.GraphEditor) -> None:
    with pytest.raises(
        InvalidArgument, match=r"There is no op type 'Conv2d'; did you mean 'Conv2D'"
    ):
        net.match("Conv2d(x, w)")
    assert not net.match("Conv3D(x, w)"), "an op type that the graph has none of"


def test_a_search_that_would_take_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> None:
        level = [x_of(f"x{k}") for k in range(16)]
        while len(level) > 1:
            level = [tf.add(a, b) for a, b in zip(level[::2], level[1::2], strict=True)]

    def tree(names: list[str]) -> str:
        middle = len(names) // 2
        return (
            names[0]
            if len(names) == 1
            else f"AddV2({tree(names[:middle])}, {tree(names[middle:])})"
        )

    editor = editor_of(build)
    assert len(editor.match(tree([f"x{k}" for k in range(16)]))) == 1
    # Each name stands twice, so no order of the tree fits, and there are 2 to the 15 of them.
    monkeypatch.setattr(matcher, "MAX_STEPS", 5_000)
    with pytest.raises(
        GraphEditError, match="takes more than 5,000 steps on this graph; name types"
    ):
        editor.match(tree([f"x{k % 8}" for k in range(16)]))


def test_a_pattern_of_a_selection_finds_the_selection_and_what_is_like_it(
    net: tgw.GraphEditor,
) -> None:
    editor = editor_of(lambda: [tf.nn.gelu(x_of(f"x{k}"), name=f"gelu{k}") for k in range(3)])
    like = tgw.pattern(editor.ops(scope="gelu1"))
    hits = editor.match(like)
    assert [hit.x for hit in hits] == ["x0:0", "x1:0", "x2:0"]
    assert parse_again(like) == like
    layer = tgw.pattern(net.ops("one/MatMul", "one/BiasAdd", "one/out"))
    assert str(layer) == "Relu(BiasAdd(MatMul(x, Const|Variable), Const))"
    assert outputs(net.match(layer)) == ["one/out:0", "two/out:0"]
    assert (
        str(tgw.pattern(net.ops("two/out", "swish/Sigmoid", "swish/out")))
        == "Mul(h=Relu(x), Sigmoid(h))"
    )
    net.selection = net.ops("swish/out")
    assert str(tgw.pattern(net.selection)) == "Mul(x, y)"
    net.selection = None


def test_a_long_chain_has_a_pattern_whose_text_can_be_read_and_found() -> None:
    graph = v1.GraphDef()
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    for k in range(300):  # deeper than Python calls itself, and than parentheses may be
        kind, inputs = (
            ("AddV2", [f"n{k - 1}", f"n{k - 2}"])
            if k % 3 == 2
            else ("Relu", [f"n{k - 1}" if k else "x"])
        )
        graph.node.add(name=f"n{k}", op=kind, input=inputs).attr["T"].type = 1
    editor = tgw.edit(graph)
    like = tgw.pattern(editor.ops(*(f"n{k}" for k in range(300))))
    assert parse_again(like) == like
    assert outputs(editor.match(like)) == ["n299:0"]
    with pytest.raises(InvalidArgument, match="at most 100 ops that read each other in a row"):
        tgw.pattern(lambda op, x: functools.reduce(lambda h, _: op.Relu(h), range(101), x))


def parse_again(pattern: Any) -> Any:
    return tgw.pattern(str(pattern))


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (["one/w"], "no op that computes"),
        (["one/MatMul", "swish/out"], "not connected"),
        ([], "no op"),
    ],
)
def test_ops_that_make_no_pattern_are_refused(
    net: tgw.GraphEditor, what: list[str], why: str
) -> None:
    with pytest.raises(GraphEditError, match=why):
        tgw.pattern(net.ops(*what))


def test_matches_are_selected_and_the_selection_is_an_expression(net: tgw.GraphEditor) -> None:
    net.selection = net.match("Relu(BiasAdd(x, b))")
    assert net.selection is not None
    assert net.selection.ops == ("one/BiasAdd", "one/out", "two/BiasAdd", "two/out")
    assert eval(str(net.selection), {"editor": net}) == net.selection
    net.selection = None


def test_matches_print_as_a_numbered_list(net: tgw.GraphEditor) -> None:
    hits = net.match("Mul(x, Sigmoid(x))")
    assert str(hits) == "1 match of Mul(x, Sigmoid(x))\n1. swish/out:0 (x=two/out:0)"
    assert repr(hits) == "<Matches: 1 of Mul(x, Sigmoid(x))>"
    assert "x" in dir(hits[0])
    assert hits[0]["x"] == "two/out:0"
    assert str(net.match("Tan(x)")) == "0 matches of Tan(x)"


def test_an_empty_graph_has_no_matches() -> None:
    hits = tgw.edit(tf.Graph()).match("Relu(x)")
    assert (len(hits), hits.near, hits.selection.ops) == (0, (), ())


# semantics 15
def test_matches_without_a_choice_are_found_without_a_search_and_made_on_demand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = tf_protos.GraphDef()
    graph.node.add(name="x", op="Placeholder")
    for k in range(50):
        graph.node.add(name=f"w{k}", op="Const")
        graph.node.add(name=f"mul{k}", op="Mul", input=[f"w{k}", "x"])
        graph.node.add(name=f"relu{k}", op="Relu", input=[f"mul{k}"])
    index = tgw.edit(graph)._core.index
    monkeypatch.setattr(matcher._Matcher, "_match_at", lambda *_: pytest.fail("searched"))
    made: list[int] = []
    make_match = array_matcher.ArrayMatches.make_match
    monkeypatch.setattr(
        array_matcher.ArrayMatches,
        "make_match",
        lambda self, row: made.append(row) or make_match(self, row),
    )
    hits = find_matches(index, parse("Relu(Mul(x, w=Const))"))
    assert (len(hits), made) == (50, [])
    assert hits[49].w == "w49:0"
    assert [each.ops for each in hits[1:3]] == [("mul1", "relu1"), ("mul2", "relu2")]
    assert len(made) == 3
