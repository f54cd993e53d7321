"""Patterns as text, parsed; an error shows its place.

    BiasAdd(Conv2D(x, w=Const, padding='SAME'), b=Const)

An op is its type and its inputs in order. A name in small letters is a tensor, `name=op` gives an
op or an input a name, `key='value'` is an attribute: a value, {'SAME', 'VALID'}, /a regular
expression/, a comparison (alpha > 0.1) or $name, the same value at each place. A number or a list
is a constant; `Const(0.5, tolerance=0.01)` says how near. `Mul|RealDiv(x, y)` is an op of one of
two types, `(Relu(x) | Tanh(x))` one of two structures, `*(x)` any op and `_` any tensor. `...` is
any number of inputs, `Relu` alone is `Relu(...)`, `^NoOp` is a control input. `x: float32[?x4]`
says dtype and shape, `Split(a, x):1` the second output. Statements with `;` or a new line between
them are one pattern.
"""

from __future__ import annotations

import re
from types import EllipsisType
from typing import NoReturn

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph.op_types import DTYPE_NAMES
from tfgraphwidget.graph.patterns.definition import Pattern
from tfgraphwidget.graph.patterns.structure import (
    ANY,
    ANY_TYPE,
    DEEPEST,
    Alternatives,
    AnyOf,
    Attribute,
    AttributeComparison,
    Constant,
    Literal,
    Node,
    Regex,
    TensorType,
    Value,
    Variable,
    Wildcard,
    invalid,
)
from tfgraphwidget.graph.tensors import ShapePattern, parse_shape
from tfgraphwidget.naming import did_you_mean

_LONGEST = 100_000  # characters
_AROUND = 60  # characters of the line on each side of an error
_SPACE = re.compile(r"[ \t]*")
_BREAK = re.compile(r"\s*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:>[A-Z]\w*)*")
_TYPE = re.compile(r"_*[A-Z]")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf\b)")
_STRING = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\"""")
_REGEX = re.compile(r"/((?:[^/\\\n]|\\.)+)/")
_KEY = re.compile(r"([A-Za-z_]\w*)[ \t]*(=(?!=)|<=|>=|!=|<|>(?![A-Z]))")
_PORT = re.compile(r"\d{1,6}(?!\w)")
_DTYPES = frozenset(DTYPE_NAMES[1:])
_NAMED_VALUES = {"True": True, "False": False, "inf": float("inf")}
_MOST_DIGITS = 30  # of an integer; one with more is read as a float


def parse(text: str) -> Pattern:
    """Parse a pattern; see the module.

    Raises:
        InvalidArgument: It cannot be parsed; the error shows the place. Or it matches everything,
            or is not connected.

    >>> parse("Mul(h = BiasAdd(x, Const), Sigmoid( h ))")
    <Pattern: Mul(h=BiasAdd(x, Const), Sigmoid(h))>
    """
    if not isinstance(text, str):
        raise invalid(f"{value_text(text)} is not a pattern; write text: 'Relu(Conv2D(x, w))'.")
    if len(text) > _LONGEST:
        raise invalid(
            f"A pattern has at most {_LONGEST:,} characters, and this one {len(text):,}; shorten "
            "it."
        )
    return Pattern(_Parser(text).statements())


def parse_statements(text: str) -> tuple[Value, ...]:
    """Parse the values in `text`, such as a replacement or any tensor. Raises InvalidArgument."""
    return _Parser(text).statements()


class _Parser:
    """A parser of one text; `at` is the place that it has come to."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0

    def statements(self) -> tuple[Value, ...]:
        statements: list[Value] = []
        while True:
            self._skip(_BREAK)
            if self.text[self.at : self.at + 1] == ";":
                self.at += 1
                continue
            if self.at == len(self.text):
                break
            statements.append(self._binding())
            self._skip(_SPACE)
            if self.at < len(self.text) and self.text[self.at] not in ";\n\r":
                if self._peek() in ",)]":
                    self._fail("the end of the pattern")
                self._fail(self._or_alternatives("a second op; put ';' before it, or a new line"))
        if not statements:
            self._fail("an op type: 'Relu(x)'")
        return tuple(statements)

    # Values

    def _binding(self) -> Value:
        """A value, with `name=` before it or not."""
        match = _KEY.match(self.text, self.at)
        name = match[1] if match and match[2] == "=" else ""
        if match and name:
            self._check_name(name, match.start())
            self.at = match.end()
            self._skip()
        return self._value(name)

    def _check_name(self, name: str, at: int) -> None:
        if _TYPE.match(name):
            key = _KEY.match(self.text, at)
            if self.depth and key is not None:  # among the inputs: an attribute
                self.at = key.end()
                self._fail(f"the value of {name}: a text in quotes, a number, True or $name")
            self.at = at
            self._fail("a name in small letters: those with a capital are op types")

    def _value(self, name: str = "") -> Value:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(f"at most {DEEPEST} parentheses inside each other")
        value = self._primary(name)
        self.depth -= 1
        return value

    def _primary(self, name: str) -> Value:
        first = self._peek()
        if first == "(":
            return self._alternatives(name)
        if first == "*":
            self.at += 1
            return self._node((ANY_TYPE,), name)
        start = self.at
        if first in "'\"[" or _NUMBER.match(self.text, self.at):
            value = self._literal()
            tensor_type, _ = self._suffix(port=False)
            return Constant(value, None, name, tensor_type)
        match = _IDENTIFIER.match(self.text, self.at)
        if match is None:
            self._fail("an op type, a name or a number")
        word = match[0]
        self.at = match.end()
        if word in _NAMED_VALUES:
            tensor_type, _ = self._suffix(port=False)
            return Constant(_NAMED_VALUES[word], None, name, tensor_type)
        if _TYPE.match(word) or self._is_called():
            return self._node(self._types(word), name)
        if name:
            self.at = start
            self._fail(f"an op: {word!r} is a tensor, and {name!r} would be a second name of it")
        tensor_type, port = self._suffix(port=True)
        return Variable("" if word == "_" else word, tensor_type, port)

    def _is_called(self) -> bool:
        return self.text[_end(_SPACE, self.text, self.at) :][:1] == "("

    def _types(self, first: str) -> tuple[str, ...]:
        """The op types `A|B|C`."""
        types = [first]
        while True:
            at = _end(_SPACE, self.text, self.at)
            if self.text[at : at + 1] == "|":
                match = _IDENTIFIER.match(self.text, _end(_SPACE, self.text, at + 1))
            else:
                match = None
            if match is None or not _TYPE.match(match[0]):
                return tuple(types)
            types.append(match[0])
            self.at = match.end()

    def _alternatives(self, name: str) -> Value:
        self.at += 1
        choices = []
        while True:
            self._skip()
            choices.append(self._binding())
            self._skip()
            if self._peek() != "|":
                break
            self.at += 1
        self._take(")")
        if len(choices) == 1:
            if name:
                self._fail(f"no parentheses around what {name!r} names")
            return choices[0]
        return Alternatives(tuple(choices), name)

    def _node(self, types: tuple[str, ...], name: str) -> Value:
        inputs: list[Value | EllipsisType] | None = None
        attributes: dict[str, Attribute] = {}
        controls: list[Value] = []
        self._skip(_SPACE)
        if self._peek() == "(":
            self.at += 1
            inputs = []
            while True:
                self._skip()
                if self._peek() == ")":
                    break
                self._argument(inputs, attributes, controls)
                self._skip()
                if self._peek() != ")":
                    self._take(",", "',' or ')'")
            self.at += 1
        tensor_type, port = self._suffix(port=True)
        if types == ("Const",) and not controls and not port:
            return self._constant(inputs, attributes, name, tensor_type)
        if inputs == [...] and not (attributes or controls):
            inputs = None
        return Node(
            types,
            inputs=None if inputs is None else tuple(inputs),
            attributes=tuple(attributes.items()),
            controls=tuple(controls),
            name=name,
            tensor_type=tensor_type,
            port=port,
        )

    def _constant(
        self,
        inputs: list[Value | EllipsisType] | None,
        attributes: dict[str, Attribute],
        name: str,
        tensor_type: TensorType,
    ) -> Value:
        """`Const(0.5, tolerance=0.01)`, or any constant."""
        values = [each for each in inputs or () if not isinstance(each, EllipsisType)]
        if not values:
            return Node(("Const",), None, tuple(attributes.items()), (), name, tensor_type)
        tolerance = attributes.pop("tolerance", None)
        first = values[0]
        if len(values) > 1 or attributes or not isinstance(first, Constant) or first.name:
            self._fail("one value in 'Const(0.5)', and its tolerance")
        if tolerance is None:
            return Constant(first.value, None, name, tensor_type)
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
            self._fail("a number as the tolerance")
        return Constant(first.value, float(tolerance), name, tensor_type)

    def _argument(
        self,
        inputs: list[Value | EllipsisType],
        attributes: dict[str, Attribute],
        controls: list[Value],
    ) -> None:
        if self.text.startswith(("...", "…"), self.at):
            if ... in inputs:
                self._fail("'...' once in an op's inputs")
            self.at += 3 if self._peek() == "." else 1
            inputs.append(...)
            return
        if self._peek() == "^":
            self.at += 1
            self._skip()
            controls.append(self._value())
            return
        match = _KEY.match(self.text, self.at)
        if match:
            at, self.at = self.at, match.end()
            self._skip()
            if match[2] != "=" or self._is_attribute():
                if match[1] in attributes:
                    self._fail(f"the attribute {match[1]!r} once")
                attributes[match[1]] = self._attribute(match[2])
                return
            self.at = at
        inputs.append(self._binding())

    # Attributes

    def _is_attribute(self) -> bool:
        """Whether what follows `name=` is the value of an attribute, and not an input."""
        if self._peek() in "'\"[{/$" or _NUMBER.match(self.text, self.at):
            return True
        word = _IDENTIFIER.match(self.text, self.at)
        return word is not None and word[0] in ("True", "False")

    def _attribute(self, sign: str) -> Attribute:
        if sign != "=":
            return AttributeComparison(sign, self._literal())
        first = self._peek()
        if first == "$":
            return self._wildcard()
        if first == "/":
            match = _REGEX.match(self.text, self.at)
            if match is None:
                self._fail("a second '/' at the end of the regular expression")
            try:
                re.compile(match[1])
            except re.error as error:
                self._fail(f"a regular expression ({error})")
            self.at = match.end()
            return Regex(match[1])
        if first == "{":
            self.at += 1
            values = self._items("}")
            if not values:
                self._fail("a value in the braces")
            return AnyOf(values)
        return self._literal()

    def _wildcard(self) -> Wildcard:
        match = _IDENTIFIER.match(self.text, self.at + 1)
        if match is None:
            self._fail("a name after '$'")
        self.at = match.end()
        return Wildcard(match[0])

    def _items(self, end: str) -> tuple[Literal, ...]:
        items: list[Literal] = []
        while True:
            self._skip()
            if self._peek() == end:
                break
            items.append(self._literal())
            self._skip()
            if self._peek() != end:
                self._take(",")
        self.at += 1
        return tuple(items)

    def _literal(self) -> Literal:
        if self._peek() == "[":
            self.at += 1
            self.depth += 1
            if self.depth > DEEPEST:
                self._fail(f"at most {DEEPEST} parentheses inside each other")
            items = self._items("]")
            self.depth -= 1
            return items
        string = _STRING.match(self.text, self.at)
        if string:
            self.at = string.end()
            quoted = string[1] if string[1] is not None else string[2]
            return re.sub(r"\\(.)", r"\1", quoted)
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            is_integer = number[0].lstrip("+-").isdecimal() and len(number[0]) < _MOST_DIGITS
            return int(number[0]) if is_integer else float(number[0])
        word = _IDENTIFIER.match(self.text, self.at)
        if word and word[0] in ("True", "False"):
            self.at = word.end()
            return word[0] == "True"
        return self._fail("a number, a text in quotes, True or False")

    # Dtypes, shapes and outputs

    def _suffix(self, *, port: bool) -> tuple[TensorType, int]:
        """`:1`, `: float32[?x4]`, or nothing."""
        tensor_type, number = ANY, 0
        while True:
            at = _end(_SPACE, self.text, self.at)
            if self.text[at : at + 1] != ":":
                return tensor_type, number
            self.at = _end(_SPACE, self.text, at + 1)
            digits = _PORT.match(self.text, self.at)
            if digits and port and not number and tensor_type == ANY:
                number, self.at = int(digits[0]), digits.end()
            elif tensor_type == ANY:
                tensor_type = self._tensor_type()
            else:
                self._fail("one dtype")

    def _tensor_type(self) -> TensorType:
        dtype: str | Wildcard = ""
        word = _IDENTIFIER.match(self.text, self.at)
        if self._peek() == "$":
            dtype = self._wildcard()
        elif word:
            if word[0] not in _DTYPES:
                self._fail(f"a dtype{did_you_mean(word[0], _DTYPES)}")
            dtype, self.at = word[0], word.end()
        shape: ShapePattern = "*"
        if self._peek() == "[":
            end = self.text.find("]", self.at)
            if end < 0:
                self._fail("']' after the shape")
            try:
                shape = parse_shape(self.text[self.at + 1 : end])
            except GraphEditError:
                self._fail("a shape: [?x224x224x3]")
            self.at = end + 1
        if not dtype and shape == "*":
            self._fail("a dtype or a shape: 'x: float32[?x4]'")
        return TensorType(dtype, shape)

    # The text

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1] or "\0"

    def _skip(self, what: re.Pattern[str] = _BREAK) -> None:
        self.at = _end(what, self.text, self.at)

    def _take(self, letter: str, expected: str = "") -> None:
        if self._peek() != letter:
            self._fail(self._or_alternatives(expected or f"{letter!r}"))
        self.at += 1

    def _or_alternatives(self, expected: str) -> str:
        """What is expected, in words; where a '|' stands, how it is written."""
        if self._peek() == "|":
            return "parentheses around alternatives: '(Relu(x) | Tanh(x))'"
        return expected

    def _fail(self, expected: str) -> NoReturn:
        raise syntax_error(self.text, self.at, expected)


def _end(what: re.Pattern[str], text: str, at: int) -> int:
    match = what.match(text, at)
    return at if match is None else match.end()


def syntax_error(text: str, at: int, expected: str) -> InvalidArgument:
    """The refusal of a text that is no pattern, with a caret under the character `at`."""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    column = at - start
    left = max(0, column - _AROUND)
    excerpt = ("…" if left else "") + line[left : column + _AROUND]
    caret = " " * (column - left + bool(left)) + "^"
    stop = "" if expected.endswith(("?", ".")) else "."
    return invalid(
        f"This pattern cannot be read: expected {expected}{stop}\n    {excerpt}\n    {caret}"
    )
