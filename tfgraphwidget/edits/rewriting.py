"""The ops of one graph, or of one function's body, when references to variables become values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tfgraphwidget.edits.valued import Naming, Value, handed_on, knows, rewritten, updated
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.names import split_input

# What ops that become others call their output in the body of a function; that of the new ones is "output".
_CHECKS = ("VarIsInitializedOp", "IsVariableInitialized")
_OUTPUTS = {"ReadVariableOp": "value", **dict.fromkeys(_CHECKS, "is_initialized")}


class Calls(Protocol):
    """What is known of functions and of the ops that call them; see `edits.specialised`."""

    def definition(self, op_type: str) -> Any:
        """The OpDef of an op type."""

    def calls(self, node: Any) -> bool:
        """Whether an op is a call whose arguments are its inputs."""

    def gives(self, node: Any, given: Mapping[int, Value]) -> dict[int, Value]:
        """By port the references that a call hands on."""

    def does(self, node: Any, given: Mapping[int, Value]) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that a call updates, and those that it reads."""

    def rewritten(self, node: Any, given: Mapping[int, Value]) -> Any:
        """The call of functions that take values; `node` is changed."""


class Rewriting:
    """NodeDefs that read only each other; `values` are the tensors that refer to variables, by how they are read.

    Raises GraphEditError for an op that needs the variable itself.
    """

    def __init__(self, nodes: Sequence[Any], values: dict[str, Value], naming: Naming, calls: Calls) -> None:
        self.nodes, self.values, self.naming, self.calls = nodes, values, naming, calls
        self.renamed: dict[str, str] = {}
        self._updates: dict[str, frozenset[str]] = {}
        self._reads: dict[str, frozenset[str]] = {}

    def given(self, node: Any) -> dict[int, Value]:
        """By input slot the references that an op is given."""
        data = [text.removesuffix(":0") if text.count(":") == 1 else text for text in node.input if text[:1] != "^"]
        return {slot: self.values[text] for slot, text in enumerate(data) if text in self.values}

    def spread(self) -> None:
        """Find all tensors that refer to variables, then what each op does with those that it is given."""
        grew = True
        while grew:
            before = len(self.values)
            for node in self.nodes:
                if given := self.given(node):
                    gives = self.calls.gives if self.calls.calls(node) else handed_on
                    for port, value in gives(node, given).items():
                        self.values.setdefault(self.naming.output(node, port), value)
            grew = len(self.values) > before
        for node in self.nodes:
            if given := self.given(node):
                self._judge(node, given)

    def _judge(self, node: Any, given: Mapping[int, Value]) -> None:
        if self.calls.calls(node):
            self._updates[node.name], self._reads[node.name] = self.calls.does(node, given)
            return
        changed = frozenset(value.variable for value in updated(node, given, self.calls.definition(node.op)))
        if changed:
            self._updates[node.name] = changed
        elif not handed_on(node, given) and node.op not in (*_CHECKS, "VariableShape"):
            self._reads[node.name] = frozenset(value.variable for value in given.values())

    def updating(self) -> set[str]:
        """The ops that do nothing but change variables."""
        calls = {node.name for node in self.nodes if self.calls.calls(node)}
        return {name for name, changed in self._updates.items() if changed} - calls

    def does(self) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that are updated, and those that are read."""
        return frozenset().union(*self._updates.values()), frozenset().union(*self._reads.values())

    def rewritten(self, cut: Collection[str]) -> list[Any]:
        """Copies of the NodeDefs that read values, less those in `cut`.

        Raises where one reads what is cut, or a variable after its update.
        """
        self._check_order()
        kept = [node for node in self.nodes if node.name not in cut]
        for node in kept:
            if node.op in _OUTPUTS and self.given(node):
                self.renamed[f"{node.name}:{_OUTPUTS[node.op]}:0"] = f"{node.name}:output:0"
        return [made for node in kept for made in self._one(node, cut)]

    def _one(self, node: Any, cut: Collection[str]) -> list[Any]:
        given = self.given(node)
        copy = type(node)()
        copy.CopyFrom(node)
        copy.input[:] = [self.renamed.get(text, text) for text in node.input if text[:1] != "^" or text[1:] not in cut]
        for text in copy.input:
            if text[:1] != "^" and _op(text) in cut:
                raise self.refused(_op(text))
        if not given:
            return [copy]
        if self.calls.calls(node):
            return [self.calls.rewritten(copy, given)]
        if not knows(node, given, self.calls.definition(node.op)):
            held = next(iter(given.values())).variable
            raise GraphEditError(
                f"Op {node.name!r} ({node.op}) needs variable {held!r} itself, so that cannot become a constant; "
                "choose outputs that need no such op.",
                [node.name, held],
            )
        return rewritten(copy, given, self.naming)

    def refused(self, op: str) -> GraphEditError:
        """The refusal of an update whose result is needed."""
        held = next(iter(self._updates.get(op, ())), "")
        return GraphEditError(
            f"Op {op!r} updates variable {held!r} and the outputs need its result, which a constant cannot give; "
            "choose outputs that only read variables.",
            [op],
        )

    def _check_order(self) -> None:
        """Raise where a variable is read by what comes after its update: the constant is its value before."""
        after = self._readers() if any(self._updates.values()) else {}
        for op, changed in self._updates.items():
            stack, seen = [op] if changed else [], {op}
            while stack:
                for reader in after.get(stack.pop(), ()):
                    stale = changed & self._reads.get(reader, frozenset())
                    if stale:
                        held = min(stale)
                        raise GraphEditError(
                            f"Op {reader!r} reads variable {held!r} after {op!r} has updated it, which a constant "
                            "cannot follow; choose outputs that only read variables.",
                            [reader, op],
                        )
                    if reader not in seen:
                        seen.add(reader)
                        stack.append(reader)

    def _readers(self) -> dict[str, list[str]]:
        """Op -> those that read it or wait for it."""
        readers = defaultdict(list)
        for node in self.nodes:
            for text in node.input:
                readers[_op(text)].append(node.name)
        return readers


def _op(text: str) -> str:
    """The op behind an input of a graph or of a function's body."""
    return split_input(text)[0].partition(":")[0]
