"""The variables that a graph writes, by its own ops and by the functions that it calls, before
anything is frozen.

A constant cannot follow what a call writes: the first call gives the right numbers, the second one
does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tfgraphwidget.edits.freeze.tensor_naming import FIRST_ARGUMENT, BodyNaming, GraphNaming
from tfgraphwidget.edits.freeze.value_rewriting import (
    ValueRewriter,
    VariableValue,
    accepts_values,
    updated_variables,
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import GraphIndex, called_functions
from tfgraphwidget.tf_types import NodeDef, OpDef

Updates = Literal["refuse", "keep", "drop"]
"""What becomes of a variable that the outputs write: a refusal, the variable as it is, or a
constant with a notice.
"""

References = Mapping[int, VariableValue]


@dataclass(frozen=True)
class VariableWrite:
    """An op that writes a variable, or needs the variable itself and no value of it.

    Attributes:
        variable: The handle op of the variable.
        op: The name of the op, in its function.
        type: Its op type.
        function: The function that it is in; "" for an op of the graph.
        call: The op of the graph whose call reaches it, or the op itself.
        needs_handle: Whether the op takes the variable itself, and no value in its place: a random
            generator's state.
        is_read: Whether the graph reads the variable too: then the next call differs.
    """

    variable: str
    op: str
    type: str
    function: str
    call: str
    needs_handle: bool = False
    is_read: bool = False


@dataclass(frozen=True)
class _Usage:
    """What a function does with the references that it is given: it hands some on, writes some, and
    reads some.
    """

    gives: References = field(default_factory=dict)
    writes: Mapping[str, VariableWrite] = field(default_factory=dict)
    reads: frozenset[str] = frozenset()


class _FunctionUsage:
    """What the functions of an index do with references to variables; nothing is rewritten."""

    def __init__(self, index: GraphIndex) -> None:
        self._index = index
        self._usage: dict[tuple[object, ...], _Usage] = {}

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type."""
        return self._index.typing.definition(op_type)

    def calls(self, node: NodeDef) -> bool:
        """Whether an op is a call whose arguments are its inputs."""
        return node.op in FIRST_ARGUMENT or node.op in self._index.functions

    def gives(self, node: NodeDef, references: References) -> dict[int, VariableValue]:
        """By port the references that a call hands on."""
        return dict(
            next((usage.gives for usage in self.of_call(node, references) if usage.gives), {})
        )

    def does(self, node: NodeDef, references: References) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that a call writes, and those that it reads."""
        usages = self.of_call(node, references)
        writes = frozenset(variable for usage in usages for variable in usage.writes)
        return writes, frozenset().union(*(usage.reads for usage in usages))

    def rewrite_call(self, node: NodeDef, references: References) -> NodeDef:  # noqa: ARG002
        """The call as it is."""
        return node

    def of_call(self, node: NodeDef, references: References) -> list[_Usage]:
        """What each function that a call may run does with the references."""
        first = FIRST_ARGUMENT.get(node.op, 0)
        arguments = {slot - first: value for slot, value in references.items()}
        return [
            self._of_function(reference.function, arguments)
            for reference in called_functions(node, self._index.functions)
        ]

    def _of_function(self, name: str, references: References) -> _Usage:
        key = (name, *((k, value.variable) for k, value in sorted(references.items())))
        if key not in self._usage:
            # A function that calls itself does there what is found here.
            self._usage[key] = _Usage()
            definition = self._index.extras.function(name)
            arguments = definition.signature.input_arg
            values = {
                arguments[k].name: value for k, value in references.items() if k < len(arguments)
            }
            rewriter = ValueRewriter(
                list(definition.node_def), values, BodyNaming(definition, self._index), self
            )
            rewriter.propagate()
            gives = {
                k: rewriter.values[definition.ret[argument.name]]
                for k, argument in enumerate(definition.signature.output_arg)
                if definition.ret[argument.name] in rewriter.values
            }
            self._usage[key] = _Usage(gives, self.writes(rewriter, name), rewriter.effects()[1])
        return self._usage[key]

    def writes(self, rewriter: ValueRewriter, function: str) -> dict[str, VariableWrite]:
        """The first write of each variable among the ops of a function, or of the graph for "".

        A variable that is read only after the one assignment of it is none: what is read is what
        was assigned.
        """
        first_writes: dict[str, VariableWrite] = {}
        for node in rewriter.nodes:
            references = rewriter.references(node)
            if references:
                for write in self._writes_of_op(node, references, function):
                    first_writes.setdefault(write.variable, write)
        by_op = {
            node.name: rewriter.references(node)
            for node in rewriter.nodes
            if node.name in rewriter.assigned
        }
        overwritten = {
            value.variable for references in by_op.values() for value in references.values()
        }
        return {
            variable: write
            for variable, write in first_writes.items()
            if variable not in overwritten or variable in rewriter.effects()[1]
        }

    def _writes_of_op(
        self, node: NodeDef, references: References, function: str
    ) -> Iterable[VariableWrite]:
        if self.calls(node):
            for usage in self.of_call(node, references):
                for write in usage.writes.values():
                    yield write if function else replace(write, call=node.name)
            return
        definition = self.definition(node.op)
        written = updated_variables(node, references, definition)
        needs_handle = not written and not accepts_values(node, references, definition)
        for value in references.values() if needs_handle else written:
            yield VariableWrite(
                value.variable, node.name, node.op, function, node.name, needs_handle
            )


def find_writes(
    index: GraphIndex, nodes: Sequence[NodeDef], variables: Mapping[str, VariableValue]
) -> dict[str, VariableWrite]:
    """The first write of each variable, by its handle op, that some ops write, directly or in the
    functions that they call.
    """
    usage = _FunctionUsage(index)
    rewriter = ValueRewriter(nodes, dict(variables), GraphNaming(index), usage)
    rewriter.propagate()
    reads = rewriter.effects()[1]
    return {
        name: replace(write, is_read=name in reads)
        for name, write in usage.writes(rewriter, "").items()
    }


def check_followed(writes: Iterable[VariableWrite], keep: str, drop: str) -> None:
    """Raise GraphEditError for the first variable that is written and read, so that the next call
    gives other results.

    Args:
        keep: How the variable stays one, as the end of a sentence.
    """
    write = next((write for write in writes if write.is_read or write.needs_handle), None)
    if write is None:
        return
    if write.function:
        place = f" of function {write.function!r}, which op {write.call!r} reaches,"
    else:
        place = ""
    raise GraphEditError(
        f"Op {write.op!r} ({write.type}){place} writes variable {write.variable!r}, which a "
        "constant cannot follow "
        "from one call to the next; " + keep + ("" if write.needs_handle else drop) + ".",
        list(dict.fromkeys([write.call, write.variable])),
    )
