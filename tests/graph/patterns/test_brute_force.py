"""The matcher finds what a search through all assignments finds: random patterns in small random
graphs.

Where it finds matches as arrays, they are those that its search finds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import EllipsisType
from typing import Any

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.errors import InvalidArgument
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import COMMUTATIVE
from tfgraphwidget.graph.patterns import Pattern, find_matches, matcher, parse
from tfgraphwidget.graph.patterns.constants import constant_value, is_near
from tfgraphwidget.graph.patterns.structure import Alternatives, Constant, Node, Value, Variable
from tfgraphwidget.sources import tf_protos

pytestmark = pytest.mark.no_tensorflow
FLOAT, RESOURCE = 1, 20
SOURCES = {"Const", "VarHandleOp", "Placeholder"}
PASSED = {"Identity", "ReadVariableOp"}
Tensor = tuple[int, int]


def random_graph(rng: random.Random) -> Any:
    """A graph of some twenty ops: several inputs and outputs, commutative ops, Identity ops,
    variables, constants.
    """
    graph = tf_protos.GraphDef()
    floats: list[str] = []
    handles: list[str] = []

    def add(kind: str, inputs: list[str], dtype: int = FLOAT, **numbers: int) -> str:
        node = graph.node.add(name=f"{kind}{len(graph.node)}", op=kind, input=inputs)
        node.attr["dtype" if kind in SOURCES | {"ReadVariableOp"} else "T"].type = dtype
        for key, number in numbers.items():
            node.attr[key].i = number
        floats.append(node.name)
        return str(node.name)

    for _ in range(2):
        add("Placeholder", [])
    for value in (0.5, 2.0):
        constant = graph.node.add(name=f"Const{len(graph.node)}", op="Const")
        constant.attr["dtype"].type = FLOAT
        constant.attr["value"].tensor.CopyFrom(tf_protos.tensor_of(value, "float32"))
        floats.append(constant.name)
    handles.append(add("VarHandleOp", []))
    floats.remove(handles[0])
    for _ in range(rng.randint(6, 16)):
        kind = rng.choice(
            [
                "Relu",
                "Relu",
                "Tanh",
                "Sub",
                "Mul",
                "Mul",
                "AddV2",
                "AddN",
                "Identity",
                "Read",
                "Split",
            ]
        )
        recent = floats[-6:]
        if kind == "Read":
            add("ReadVariableOp", [rng.choice(handles)])
        elif kind == "AddN":
            count = rng.randint(1, 3)
            add(kind, [rng.choice(recent) for _ in range(count)], N=count)
        elif kind == "Split":
            name = add(kind, [floats[2], rng.choice(recent)], num_split=2)
            floats.append(f"{name}:1")
        else:
            add(
                kind,
                [rng.choice(recent) for _ in range(2 if kind in ("Sub", "Mul", "AddV2") else 1)],
            )
        if rng.random() < 0.2:
            graph.node[-1].input.append(f"^{rng.choice(graph.node[:-1]).name}")
    return graph


class RandomPattern:
    """The text of a pattern that is near to some place of a graph."""

    def __init__(self, rng: random.Random, index: GraphIndex) -> None:
        self.rng, self.index = rng, index
        self.names: dict[Tensor, str] = {}
        self.ops: dict[int, str] = {}

    def text(self) -> str:
        start = [op for op, kind in enumerate(self.index.types) if kind not in SOURCES | PASSED]
        texts = [self.value((self.rng.choice(start), 0), depth) for depth in (3, 2)]
        return texts[0] if self.rng.random() < 0.7 else "; ".join(texts)

    def value(self, tensor: Tensor, depth: int) -> str:
        (op, port), rng = tensor, self.rng
        kind = self.index.types[op]
        if kind in PASSED and rng.random() < 0.7:
            return self.value(inputs_of(self.index, op)[0], depth)
        if op in self.ops and rng.random() < 0.8:
            return self.ops[op] + (f":{port}" if port else "")
        choices = {"Const": ["Const", "0.5", "2.0"], "VarHandleOp": ["Variable", "VarHandleOp"]}
        if kind in choices:
            return rng.choice(choices[kind])
        if kind == "Placeholder" or depth == 0 or rng.random() < 0.15:
            return (
                "_" if rng.random() < 0.3 else self.names.setdefault(tensor, f"t{len(self.names)}")
            )
        return self.node(op, port, depth)

    def node(self, op: int, port: int, depth: int) -> str:
        rng, kind, name = self.rng, self.index.types[op], ""
        if op not in self.ops and rng.random() < 0.4:
            self.ops[op] = name = f"n{len(self.ops)}"
        parts = [self.value(each, depth - 1) for each in inputs_of(self.index, op)]
        if rng.random() < 0.3:
            rng.shuffle(parts)
        if rng.random() < 0.1:
            parts = [*parts[:1], "..."]
        waits = self.index.control_lists[op]
        if waits and rng.random() < 0.5:
            parts.append(f"^{rng.choice(['_', self.index.types[waits[0]]])}")
        types = (
            rng.choice([kind, kind, kind, f"{kind}|Sub", f"Tanh|{kind}", "*"])
            if kind != "Split"
            else kind
        )
        text = f"{types}({', '.join(parts)})" + (f":{port}" if port else "")
        if rng.random() < 0.15:
            text = f"({text} | {rng.choice(['Relu(_)', 'Tanh(_)', 'Mul(_, _)', '0.5'])})"
        return f"{name}={text}" if name else text


def pattern_of(text: str) -> Pattern | None:
    """The pattern of a random text; None if it is not connected, or has lost an op that it refers
    to.
    """
    try:
        return parse(text)
    except InvalidArgument:
        return None


def inputs_of(index: GraphIndex, op: int) -> list[Tensor]:
    first = int(index.inputs.start[op])
    return [(source, int(index.ports[first + k])) for k, source in enumerate(index.input_lists[op])]


def source_of(index: GraphIndex, tensor: Tensor) -> Tensor:
    """A tensor after Identity ops and reads, if no control input orders one of them."""
    at = tensor
    while index.types[at[0]] in PASSED:
        if index.control_lists[at[0]]:
            return tensor
        at = inputs_of(index, at[0])[0]
    return at


class BruteForce:
    """All assignments of a pattern's nodes and names, tried one after the other."""

    def __init__(self, index: GraphIndex, pattern: Pattern) -> None:
        self.index, self.pattern = index, pattern
        stateful = {"ReadVariableOp", "VarHandleOp"}
        self.plain = {op for op, kind in enumerate(index.types) if kind not in stateful}

    def assignments(self) -> Iterator[tuple[dict[int, int], dict[str, Tensor]]]:
        """Op by node, and tensor by name."""
        outputs = [self.pattern.resolve(each) for each in self.pattern.outputs]
        yield from self._outputs(list({id(each): each for each in outputs}.values()), {}, {})

    def _outputs(self, outputs: list[Value], ops: Any, tensors: Any) -> Iterator[Any]:
        if not outputs:
            yield ops, tensors
            return
        choices = [self.pattern.resolve(c) for c in getattr(outputs[0], "choices", outputs[:1])]
        for choice in choices:
            for op in range(len(self.index)):
                for more in self._op(choice, op, (op, 0), ops, tensors, output=True):
                    yield from self._outputs(outputs[1:], *more)

    def _value(self, value: Value, tensor: Tensor, ops: Any, tensors: Any) -> Iterator[Any]:
        port = value.port if isinstance(value, Variable | Node) else 0
        node = self.pattern.resolve(value)
        if isinstance(node, Alternatives):
            for named in self._named(node.name, tensor, tensors):
                for choice in node.choices:
                    yield from self._value(choice, tensor, ops, named)
        elif isinstance(node, Variable):
            yield from ((ops, named) for named in self._named(node.name, tensor, tensors))
        else:
            at = tensor
            for _ in range(len(self.index)):
                if at[1] == port:
                    yield from self._op(node, at[0], tensor, ops, tensors)
                if self.index.types[at[0]] not in PASSED:
                    break
                at = inputs_of(self.index, at[0])[0]

    def _named(self, name: str, tensor: Tensor, tensors: Any) -> Iterator[Any]:
        """The tensors with one more, where its name does not represent another one."""
        if not name:
            yield tensors
        elif name not in tensors or source_of(self.index, tensors[name]) == source_of(
            self.index, tensor
        ):
            yield {name: tensor} | tensors

    def _op(
        self, node: Any, op: int, tensor: Tensor, ops: Any, tensors: Any, *, output: bool = False
    ) -> Iterator[Any]:
        if id(node) in ops:
            if ops[id(node)] == op:
                yield ops, tensors
            return
        ops = {**ops, id(node): op}
        if node.name:
            tensors = {node.name: tensor} | tensors
        if isinstance(node, Constant):
            if is_near(constant_value(self.index, op), node.value, node.tolerance):
                yield ops, tensors
            return
        if node.op_types and self.index.types[op] not in node.op_types:
            return
        if not node.op_types and op not in self.plain:
            return
        # Two nodes are two ops, but for constants and variables.
        if (not node.is_source or output) and list(ops.values()).count(op) > 1:
            return
        for after in self._controls(
            list(node.controls), list(self.index.control_lists[op]), ops, tensors
        ):
            yield from self._inputs(node, op, *after)

    def _controls(
        self, controls: list[Value], waits: list[int], ops: Any, tensors: Any
    ) -> Iterator[Any]:
        if not controls:
            yield ops, tensors
            return
        for k, wait in enumerate(waits):
            for more in self._value(controls[0], (wait, 0), ops, tensors):
                yield from self._controls(controls[1:], waits[:k] + waits[k + 1 :], *more)

    def _inputs(self, node: Node, op: int, ops: Any, tensors: Any) -> Iterator[Any]:
        if node.inputs is None:
            yield ops, tensors
            return
        values = [each for each in node.inputs if not isinstance(each, EllipsisType)]
        read = inputs_of(self.index, op)
        if len(values) > len(read) or (len(values) < len(read) and ... not in node.inputs):
            return
        if self.index.types[op] in COMMUTATIVE:
            yield from self._any_order(values, read, ops, tensors)
            return
        rest = node.inputs.index(...) if ... in node.inputs else len(values)
        slots = [*read[:rest], *read[len(read) - (len(values) - rest) :]]
        yield from self._in_order(values, slots, ops, tensors)

    def _in_order(
        self, values: list[Value], read: list[Tensor], ops: Any, tensors: Any
    ) -> Iterator[Any]:
        if not values:
            yield ops, tensors
            return
        for more in self._value(values[0], read[0], ops, tensors):
            yield from self._in_order(values[1:], read[1:], *more)

    def _any_order(
        self, values: list[Value], read: list[Tensor], ops: Any, tensors: Any
    ) -> Iterator[Any]:
        if not values:
            yield ops, tensors
            return
        for k, tensor in enumerate(read):
            for more in self._value(values[0], tensor, ops, tensors):
                yield from self._any_order(values[1:], read[:k] + read[k + 1 :], *more)


def ops_of_match(pattern: Pattern, ops: dict[int, int]) -> tuple[int, ...]:
    """The ops of an assignment that a match has: constants and variables are its inputs."""
    resolved = map(pattern.resolve, pattern.outputs)
    outputs = {
        id(pattern.resolve(choice))
        for each in resolved
        for choice in getattr(each, "choices", (each,))
    }
    inputs = {
        id(each)
        for each in pattern.bottom_up
        if isinstance(each, Constant) or getattr(each, "is_source", False)
    }
    return tuple(sorted({op for node, op in ops.items() if node not in inputs - outputs}))


@pytest.mark.parametrize("seed", range(40))
def test_the_matcher_finds_what_a_search_through_all_assignments_finds(seed: int) -> None:
    rng = random.Random(seed)
    index = tgw.edit(random_graph(rng))._core.index
    for _ in range(6):
        text = RandomPattern(rng, index).text()
        pattern = pattern_of(text)
        if pattern is None:
            continue
        every = list(BruteForce(index, pattern).assignments())
        expected = {ops_of_match(pattern, ops) for ops, _ in every}
        matches = find_matches(index, pattern)
        outputs = {id(pattern.resolve(each)): pattern.resolve(each) for each in pattern.outputs}
        if len(outputs) == 1:  # one match for each op that can be the output
            (output,) = outputs.values()
            ends = {id(pattern.resolve(each)) for each in getattr(output, "choices", (output,))}
            anchors = {op for ops, _ in every for node, op in ops.items() if node in ends}
            assert sorted(match.results[0][0] for match in matches) == sorted(anchors), text
            assert {match.numbers for match in matches} <= expected, text
        else:
            assert {match.numbers for match in matches} == expected, text

        def inputs(
            tensors: dict[str, Tensor], names: tuple[str, ...] = pattern.names
        ) -> dict[str, Tensor]:
            return {name: source_of(index, tensors[name]) for name in names if name in tensors}

        assignments = [(ops_of_match(pattern, ops), inputs(tensors)) for ops, tensors in every]
        assert all(
            (match.numbers, inputs(dict(match.tensors))) in assignments for match in matches
        ), text


@pytest.mark.parametrize("seed", range(40))
def test_matches_found_as_arrays_are_those_that_the_search_finds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(1000 + seed)
    index = tgw.edit(random_graph(rng))._core.index
    texts = [f"{RandomPattern(rng, index).text()}" for _ in range(6)]
    texts += [
        "Mul(a=x, Relu(y))",
        "Split(num_split=$n, ...):1",
        "AddV2(Mul(x, x), y: float32)",
        "Relu(n=Sub(_, _))",
    ]
    patterns = [pattern for text in texts if (pattern := pattern_of(text))]

    def facts(pattern: Pattern, limit: int | None) -> Any:
        found = find_matches(index, pattern, limit=limit)
        each = [(m.numbers, m.passed, m.tensors, m.attributes, m.results) for m in found]
        return each, found.is_cut

    as_arrays = [facts(pattern, limit) for pattern in patterns for limit in (None, 2)]
    monkeypatch.setattr(matcher, "array_matcher", lambda *_: None)
    assert as_arrays == [facts(pattern, limit) for pattern in patterns for limit in (None, 2)]
