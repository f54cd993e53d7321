"""Patterns as text, and built in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfgraphwidget as tgw
from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.graph.patterns import Pattern, parse

pytestmark = pytest.mark.no_tensorflow

TEXTS = [
    "Relu(BiasAdd(Conv2D(x, w=Const, padding='SAME'), b=Const))",
    "Mul|RealDiv(x, y)",
    "(Relu(x) | Tanh(x))",
    "(Relu|Tanh(x) | Relu6(...))",
    "Mul(h=BiasAdd(x, Const), Sigmoid(h))",
    "h=BiasAdd(x, Const); Relu(h); Tanh(h)",
    "s=Split(a, x); s; s:1",
    "Cast(x: $t[?x4], DstT=$t)",
    "Concat(a, ..., 3)",
    "Split(a, x):1: float32",
    "Relu",
    "LeakyRelu(x, alpha>0.1)",
    "Conv2D(x, w, padding={'SAME', 'VALID'}, data_format=/^N/, strides=[1, 2, 2, 1], exact=True)",
    "AddV2(x, c=Const(0.5, tolerance=0.01))",
    "Mul(x, -1e-05: float32[scalar])",
    "Mul(x, [1, [2, 3]])",
    "NoOp(^Relu, ^x)",
    "Const|Variable",
    "*(Relu(x))",
    "Custom>Op(x, _)",
    "y; x; Sub(x, y)",
    "C(x, y: float32[1x...x3], z: [unknown])",
    "StringJoin(x, 'it\\'s')",
    "__inference_f_12(x)",
    "_Arg",
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_printed_text_of_a_pattern_is_the_same_pattern(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_spaces_lines_and_other_ways_to_write_the_same_give_one_text() -> None:
    assert str(parse(" Relu ( x ,\n y ) ")) == "Relu(x, y)"
    assert str(parse("h = Relu(x)\nTanh(h)\n\nExp(h)")) == "h=Relu(x); Tanh(h); Exp(h)"
    assert str(parse("Relu(...); ")) == "Relu"
    assert str(parse("Mul(x, Const(2))")) == "Mul(x, 2)"
    assert str(parse("Mul(x, c=Const())")) == "Mul(x, c=Const)"


def test_a_pattern_names_the_tensors_of_a_replacement_in_the_order_of_writing() -> None:
    assert parse("BiasAdd(Conv2D(x, w=Const), b=Const)").names == ("x", "w", "b")
    assert parse("b; BiasAdd(Conv2D(x, w=Const), b=Const)").names == ("b", "x", "w")
    assert parse("Mul(h=Relu(x), Sigmoid(h))").names == ("x",)
    assert parse("Cast(x, DstT=$t)").wildcards == {"t"}


REFUSED = {
    "Relu(Conv2D(x,)": ("expected ',' or ')'", 15),
    "Relu(x))": ("expected the end of the pattern", 7),
    "Relu(x) Tanh(x)": ("put ';' before it", 8),
    "Relu(x: flot32)": ("did you mean 'float32'", 8),
    "Relu(x: [3xq])": ("a shape", 8),
    "Conv2D(x, padding='SAME)": ("a text in quotes", 18),
    "Relu(x, name=/(/)": ("a regular expression", 13),
    "Cast(x, DstT=int32)": ("the value of DstT: a text in quotes", 13),
    "W=Relu(x)": ("a name in small letters", 0),
    "Relu(,x)": ("an op type, a name or a number", 5),
    "AddN(..., x, ...)": ("'...' once", 13),
    "Relu(x, T=$)": ("a name after '$'", 10),
    "Relu(x, alpha=1, alpha=2)": ("'alpha' once", 23),
    "Mul(x, Const(1, 2))": ("one value", 18),
    "Relu(x) | Tanh(x)": ("parentheses around alternatives: '(Relu(x) | Tanh(x))'", 8),
    "Mul(Relu|(x), y)": ("parentheses around alternatives", 8),
    "(" * 300: ("at most 100 parentheses", 100),
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_caret_stands_under_the_place_that_cannot_be_read(text: str) -> None:
    expected, at = REFUSED[text]
    with pytest.raises(InvalidArgument) as refused:
        parse(text)
    message, line, caret = str(refused.value).splitlines()
    assert expected in message
    assert line[caret.index("^") :] == text[at:][: len(line) - caret.index("^")]
    assert message.startswith("This pattern cannot be read: expected ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected an op type"),
        ("_", "matches everything"),
        ("x", "matches everything"),
        ("*", "matches everything"),
        ("*(x, ...)", "matches everything"),
        ("Relu(x); Tanh(y)", "not connected"),
        ("Relu(_); Tanh(_)", "not connected"),
        ("Relu(x); (Tanh(x) | Exp(_))", "not connected"),
        ("h=Relu(h)", "defined by itself"),
        ("h=Relu(g); g=Tanh(h)", "no cycles"),
        ("Relu(ops)", "a property of every match"),
        ("Add(a=Relu(x), a=Tanh(x))", "names two ops"),
        ("Relu(x:1)", "no op is named 'x'"),
        ("Relu(" + ", ".join(["x"] * 600) + ")", "at most 500 ops"),
        ("Relu(x)" * 20_000, "at most 100,000 characters"),
    ],
)
def test_a_pattern_that_means_nothing_or_everything_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        parse(text)


def built(function: Any) -> str:
    pattern = tgw.pattern(function)
    assert isinstance(pattern, Pattern)
    assert parse(str(pattern)) == pattern
    return str(pattern)


def test_a_builder_is_called_once_with_symbols() -> None:
    calls = []

    @tgw.pattern
    def gelu(op: Any, x: Any) -> Any:
        calls.append(x)
        erf = op.Erf(op.any("Mul|RealDiv", x, op.const()))
        return op.Mul(op.Mul(x, 0.5), op.AddV2(erf, 1.0))

    assert str(gelu) == "Mul(Mul(x, 0.5), AddV2(Erf(Mul|RealDiv(x, Const)), 1.0))"
    assert len(calls) == 1
    assert tgw.pattern(gelu) is gelu


def test_what_a_builder_uses_twice_gets_a_name() -> None:
    def swish(op: Any, x: Any) -> Any:
        h = op.BiasAdd(x, op.const())
        return op.Mul(h, op.Sigmoid(h))

    assert built(swish) == "Mul(h=BiasAdd(x, Const), Sigmoid(h))"
    assert built(lambda op, x: [op.Relu(x), op.Tanh(x)]) == "Relu(x); Tanh(x)"
    assert built(lambda op, a, x: (s := op.Split(a, x)) and [op.Relu(s[0]), op.Tanh(s[1])]) == (
        "Relu(h=Split(a, x)); Tanh(h:1)"
    )


def test_a_builder_writes_all_that_text_can() -> None:
    assert built(
        lambda op, x: op.Conv2D(x, w=op.const(), padding={"SAME", "VALID"}, strides=(1, 1, 1, 1))
    ) == ("Conv2D(x, w=Const, padding={'SAME', 'VALID'}, strides=[1, 1, 1, 1])")
    assert built(lambda op, x: op.either(op.Relu(x), op.Tanh(x))) == "(Relu(x) | Tanh(x))"
    assert built(lambda op, x: op.AddN(x, ..., np.float32(2.0))) == "AddN(x, ..., 2.0)"
    assert built(
        lambda op, x: op.Relu(x.constrain("float32", "?x4"), control_inputs=[op.NoOp()])
    ) == ("Relu(x: float32[?x4], ^NoOp())")
    assert (
        built(lambda op, x: op.Cast(x, DstT="$t", SrcT=np.float32))
        == "Cast(x, DstT=$t, SrcT='float32')"
    )
    assert built(lambda op, x: op.Mul(x, op.const(0.5, tolerance=0.1, name="c"))) == (
        "Mul(x, c=Const(0.5, tolerance=0.1))"
    )
    assert (
        built(lambda op, x: op.MatMul(x, op.any("Const|Variable", ..., name="w")))
        == "MatMul(x, w=Const|Variable)"
    )


def test_the_parameters_of_a_builder_are_the_order_of_a_replacements_arguments() -> None:
    assert built(lambda op, x, y: op.Sub(y, x)) == "x; y; Sub(y, x)"
    assert tgw.pattern(lambda op, x, y: op.Sub(y, x)).names == ("x", "y")


def test_a_function_of_an_attribute_has_no_text_that_could_be_parsed() -> None:
    pattern = tgw.pattern(lambda op, x: op.LeakyRelu(x, alpha=lambda a: a > 0.1))
    assert str(pattern) == "LeakyRelu(x, alpha=<<lambda>>)"
    assert not pattern.has_text


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda: 1, "takes op, then the tensors"),
        (lambda _, x: x * 2, "write op.Mul"),
        (lambda op, _: op.Relu, "call it"),
        (lambda op, _: op.Relu(object()), "not a value of a pattern"),
        (lambda _, x: x, "matches everything"),
        (lambda op, x: list(op.Split(x)), "no known number of outputs"),
        (3, "is not a pattern"),
    ],
)
def test_a_builder_that_builds_no_pattern_is_refused(function: Any, why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        tgw.pattern(function)
