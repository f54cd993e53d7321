"""Rewriting of NodeDefs that read variables to ones that read values.

What refers to a variable, as a reference or a resource, becomes a tensor that is its value. So the
consumers of the variable reads that tensor; what hands a reference on hands the value on. What
would change the variable has nothing to change any more. This holds in a graph as in the body of a
function, where tensors are only named in another way.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import DT_BOOL, DT_INT32, DT_RESOURCE, IS_INITIALIZED, MERGE, V1_FORWARDING
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_input
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import DataType, NodeDef, OpDef, TensorProto, TensorShapeProto

_PLAIN = {kind: kind.removeprefix("Ref") for kind in V1_FORWARDING if kind.startswith("Ref")}
_ONE = frozenset(_PLAIN.values())
_UPDATES = re.compile(
    r"Assign\w*VariableOp|DestroyResourceOp|Resource(Sparse)?Apply\w+|Resource\w*Scatter\w+|ResourceCountUpTo"
    r"|ResourceStridedSliceAssign|ResourceAccumulator\w+"
)

KEEP = "keep it a variable, which a SavedModel stores" + either(": freeze(updates='keep')", "")
"""The way out where a variable cannot become a constant, as the end of a sentence."""


@dataclass(frozen=True)
class VariableValue:
    """A tensor that referred to a variable: its name, dtype's number and TensorShapeProto."""

    variable: str
    dtype: DataType.ValueType
    shape: TensorShapeProto


class Naming(Protocol):
    """How a graph, or the body of a function, names things."""

    has_frames: bool
    """Whether there may be loops of TensorFlow 1: a new constant must then stand in the loop of
    what reads it.
    """

    def output(self, node: NodeDef, port: int) -> str:
        """How others read an output of an op that hands on what it reads, or of a Const."""

    def maker(self, text: str) -> str:
        """The control input on the op of a tensor read as `text`; "" when none is needed."""

    def free(self, base: str) -> str:
        """A name for a new op."""


def updated_variables(
    node: NodeDef, references: Mapping[int, VariableValue], definition: OpDef | None
) -> list[VariableValue]:
    """The variables that an op changes, once for each of its `references` by input."""
    if not references or _PLAIN.get(node.op, node.op) in _ONE or node.op == "IsVariableInitialized":
        return []
    return [
        value
        for slot, value in references.items()
        if _UPDATES.fullmatch(node.op)
        or getattr(_argument(definition, node, slot), "is_ref", False)
    ]


def forwarded_references(
    node: NodeDef, references: Mapping[int, VariableValue]
) -> dict[int, VariableValue]:
    """By port the references that an op, which is not a call, hands on."""
    if node.op == "IdentityN":
        return dict(references)
    kind = _PLAIN.get(node.op, node.op)
    if kind not in _ONE or not references or (kind == "Switch" and 0 not in references):
        return {}
    one = references[0] if kind == "Switch" else next(iter(references.values()))
    # A plain Identity of a reference gives a value: only resources are handed on by plain ops.
    if node.op not in _PLAIN and node.attr["T"].type != DT_RESOURCE:
        return {}
    return {0: one, 1: one} if kind == "Switch" else {0: one}


def accepts_values(
    node: NodeDef, references: Mapping[int, VariableValue], definition: OpDef | None
) -> bool:
    """Whether an op, which calls no function and updates no variable, computes the same from values
    as from the `references` to variables that it reads, by input.
    """
    if node.op in _REWRITES or node.op == "IdentityN" or _PLAIN.get(node.op, node.op) in _ONE:
        return True
    arguments = [_argument(definition, node, slot) for slot in references]
    return all(
        arg is not None and not arg.is_ref and _dtype(arg, node) != DT_RESOURCE for arg in arguments
    )


def _dtype(arg: OpDef.ArgDef, node: NodeDef) -> int:
    if arg.type_list_attr:
        return DT_RESOURCE if DT_RESOURCE in node.attr[arg.type_list_attr].list.type else 0
    return int(node.attr[arg.type_attr].type) if arg.type_attr else int(arg.type)


def rewrite_node(
    node: NodeDef, references: Mapping[int, VariableValue], naming: Naming
) -> list[NodeDef]:
    """Change a NodeDef in place so that it reads values instead of `references` to variables, by
    input; the constants that it needs now, then the NodeDef itself.
    """
    rewrite = _REWRITES.get(node.op)
    if rewrite is not None:
        return rewrite(node, references[0], naming)
    node.attr.pop("_output_shapes", None)  # of references
    if node.op == "IdentityN":
        for slot, value in references.items():
            node.attr["T"].list.type[slot] = value.dtype
    elif forwarded_references(node, references):
        node.op = _PLAIN.get(node.op, node.op)
        node.attr["T"].type = next(iter(references.values())).dtype
    return [node]


def _argument(definition: OpDef | None, node: NodeDef, slot: int) -> OpDef.ArgDef | None:
    """The argument of an OpDef that the input at a slot is; None if it is not known."""
    at = 0
    for arg in definition.input_arg if definition is not None else ():
        count = len(node.attr[arg.type_list_attr].list.type) if arg.type_list_attr else 1
        count = node.attr[arg.number_attr].i if arg.number_attr else count
        if at <= slot < at + count:
            return arg
        at += count
    return None


def _change_type(node: NodeDef, op: str, **attributes: DataType.ValueType) -> NodeDef:
    """Make a NodeDef one of another type, with these dtypes beside "_" attributes."""
    node.op = op
    for key in [key for key in node.attr if not key.startswith("_") or key == "_output_shapes"]:
        del node.attr[key]
    for key, number in attributes.items():
        node.attr[key].type = number
    return node


def make_constant(node: NodeDef, dtype: DataType.ValueType) -> TensorProto:
    """Turn a NodeDef, in place, into a Const; its TensorProto, a scalar, is to be filled in."""
    value = _change_type(node, "Const", dtype=dtype).attr["value"].tensor
    value.dtype = dtype
    value.tensor_shape.SetInParent()
    return value


def _read(node: NodeDef, value: VariableValue, naming: Naming) -> list[NodeDef]:  # noqa: ARG001
    return [_change_type(node, "Identity", T=value.dtype)]


def _shape(node: NodeDef, value: VariableValue, naming: Naming) -> list[NodeDef]:  # noqa: ARG001
    return [
        _change_type(node, "Shape", T=value.dtype, out_type=node.attr["out_type"].type or DT_INT32)
    ]


def _gather_nd(node: NodeDef, value: VariableValue, naming: Naming) -> list[NodeDef]:  # noqa: ARG001
    return [
        _change_type(node, "GatherNd", Tparams=value.dtype, Tindices=node.attr["Tindices"].type)
    ]


def _gather(node: NodeDef, value: VariableValue, naming: Naming) -> list[NodeDef]:
    batch, indices = node.attr["batch_dims"].i, node.attr["Tindices"].type
    _change_type(node, "GatherV2", Tparams=value.dtype, Tindices=indices, Taxis=DT_INT32).attr[
        "batch_dims"
    ].i = batch
    data = [text for text in node.input if text[:1] != "^"]
    axis = type(node)(name=naming.free(f"{node.name}/axis"), device=node.device)
    make_constant(axis, DT_INT32).int_val.append(batch)
    if naming.has_frames and naming.maker(data[1]):
        axis.input.append(naming.maker(data[1]))
    node.input[:] = [
        *data,
        naming.output(axis, 0),
        *(text for text in node.input if text[:1] == "^"),
    ]
    return [axis, node]


def _rewrite_is_initialized(node: NodeDef, value: VariableValue, naming: Naming) -> list[NodeDef]:  # noqa: ARG001
    waits = [text if text[:1] == "^" else naming.maker(text) for text in node.input]
    node.input[:] = list(dict.fromkeys(filter(None, waits)))
    make_constant(node, DT_BOOL).bool_val.append(True)
    return [node]


_REWRITES: Mapping[str, Callable[[NodeDef, VariableValue, Naming], list[NodeDef]]] = {
    "ReadVariableOp": _read,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    "VariableShape": _shape,
    "VarIsInitializedOp": _rewrite_is_initialized,
    "IsVariableInitialized": _rewrite_is_initialized,
}


# Rewriting of a whole graph or function body


# What ops that become others call their output in the body of a function; that of the new ones is
# "output".
_OUTPUTS = {"ReadVariableOp": "value", **dict.fromkeys(IS_INITIALIZED, "is_initialized")}


class Calls(Protocol):
    """The functions and the ops that call them; see `edits.freeze.variables_to_constants`."""

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type."""

    def calls(self, node: NodeDef) -> bool:
        """Whether an op is a call whose arguments are its inputs."""

    def gives(
        self, node: NodeDef, references: Mapping[int, VariableValue]
    ) -> dict[int, VariableValue]:
        """By port the references that a call hands on."""

    def does(
        self, node: NodeDef, references: Mapping[int, VariableValue]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that a call updates, and those that it reads."""

    def rewrite_call(self, node: NodeDef, references: Mapping[int, VariableValue]) -> NodeDef:
        """The call of functions that take values; `node` is changed."""


class ValueRewriter:
    """NodeDefs that read only each other; `values` are the tensors that refer to variables, by how
    they are read.

    `function` is the name of the function that they are of, "" for a graph.

    Raises GraphEditError for an op that needs the variable itself.
    """

    def __init__(
        self,
        nodes: Sequence[NodeDef],
        values: dict[str, VariableValue],
        naming: Naming,
        calls: Calls,
        function: str = "",
    ) -> None:
        self._place = f" of function {function!r}" if function else ""
        self.nodes, self.values, self.naming, self.calls = nodes, values, naming, calls
        self.renamed: dict[str, str] = {}
        self._updates: dict[str, frozenset[str]] = {}
        self._reads: dict[str, frozenset[str]] = {}
        # By op that reads a variable, what was assigned to it before.
        self.assigned: dict[str, str] = {}

    def references(self, node: NodeDef) -> dict[int, VariableValue]:
        """By input slot the references that an op is given."""
        data = [
            text.removesuffix(":0") if text.count(":") == 1 else text
            for text in node.input
            if text[:1] != "^"
        ]
        return {slot: self.values[text] for slot, text in enumerate(data) if text in self.values}

    def propagate(self) -> None:
        """Find all tensors that refer to variables, then what each op does with its own."""
        grew = True
        while grew:
            before = len(self.values)
            for node in self.nodes:
                if references := self.references(node):
                    gives = self.calls.gives if self.calls.calls(node) else forwarded_references
                    for port, value in gives(node, references).items():
                        self.values.setdefault(self.naming.output(node, port), value)
            grew = len(self.values) > before
        for node in self.nodes:
            if references := self.references(node):
                self._judge(node, references)
        self._find_reads_of_memory()
        self._find_assigned()

    def _judge(self, node: NodeDef, references: Mapping[int, VariableValue]) -> None:
        if self.calls.calls(node):
            self._updates[node.name], self._reads[node.name] = self.calls.does(node, references)
            return
        changed = frozenset(
            value.variable
            for value in updated_variables(node, references, self.calls.definition(node.op))
        )
        if changed:
            self._updates[node.name] = changed
        elif not forwarded_references(node, references) and node.op not in (
            *IS_INITIALIZED,
            "VariableShape",
        ):
            self._reads[node.name] = frozenset(value.variable for value in references.values())

    def _find_reads_of_memory(self) -> None:
        """Add the ops that read a reference variable by an Identity of it.

        TensorFlow copies nothing there: it is the variable's memory, which an update changes in
        place, so that an op which waits for the update reads the new value. A Merge waits for one
        of its inputs only: where an update is in one branch, the other reads the old value.
        """
        memory: dict[str, frozenset[str]] = {}
        nodes = [node for node in self.nodes if node.op not in MERGE]
        grew = True
        while grew:
            before = len(memory)
            for node in nodes:
                read = (memory.get(text.removesuffix(":0")) for text in node.input)
                variables = self._reads.get(node.name, frozenset()).union(*filter(None, read))
                if variables:
                    self._reads[node.name] = variables
                if variables and node.op in _ONE:
                    outputs = (self.naming.output(node, port) for port in (0, 1))
                    memory.update(dict.fromkeys(outputs, variables))
            grew = len(memory) > before

    def _find_assigned(self) -> None:
        """Find the reads that wait for the only op that changes their variable, an assignment: they
        give its value.

        A SavedModel of TensorFlow 2 reads the path of a vocabulary so before it fills a table from
        it.
        """
        nodes = {node.name: node for node in self.nodes}
        for node in self.nodes:
            if node.op == "ReadVariableOp":
                variables = self._reads.get(node.name, frozenset())
            else:
                variables = frozenset()
            changing = [op for op, changed in self._updates.items() if changed & variables]
            if (
                len(changing) == 1
                and nodes[changing[0]].op == "AssignVariableOp"
                and f"^{changing[0]}" in node.input
            ):
                self.assigned[node.name] = nodes[changing[0]].input[1]
                self._reads[node.name] = frozenset()

    def pure_updates(self) -> set[str]:
        """The ops that do nothing but change variables."""
        calls = {node.name for node in self.nodes if self.calls.calls(node)}
        return {name for name, changed in self._updates.items() if changed} - calls

    def effects(self) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that are updated, and those that are read."""
        return frozenset().union(*self._updates.values()), frozenset().union(*self._reads.values())

    def rewrite(self, cut: Collection[str]) -> list[NodeDef]:
        """Copies of the NodeDefs that read values, less those in `cut`.

        Raises where one reads what is cut, or a variable after its update.
        """
        self._check_order(cut)
        remaining = [node for node in self.nodes if node.name not in cut]
        for node in remaining:
            if node.op in _OUTPUTS and self.references(node):
                self.renamed[f"{node.name}:{_OUTPUTS[node.op]}:0"] = f"{node.name}:output:0"
        return [new_node for node in remaining for new_node in self._one(node, cut)]

    def _one(self, node: NodeDef, cut: Collection[str]) -> list[NodeDef]:
        references = self.references(node)
        copy = copy_of(node)
        if node.name in self.assigned:
            copy.input[0] = self.assigned[node.name]
        copy.input[:] = [
            self.renamed.get(text, text)
            for text in copy.input
            if text[:1] != "^" or text[1:] not in cut
        ]
        for text in copy.input:
            if text[:1] != "^" and _op(text) in cut:
                raise self.update_error(_op(text))
        if not references:
            return [copy]
        if self.calls.calls(node):
            return [self.calls.rewrite_call(copy, references)]
        if not accepts_values(node, references, self.calls.definition(node.op)):
            variable = next(iter(references.values())).variable
            raise GraphEditError(
                f"Op {node.name!r} ({node.op}){self._place} needs variable {variable!r} itself, so "
                "that "
                "cannot become a constant; choose outputs that need no such op, or " + KEEP + ".",
                [node.name, variable],
            )
        return rewrite_node(copy, references, self.naming)

    def update_error(self, op: str) -> GraphEditError:
        """The refusal of an update whose result is needed."""
        variable = next(iter(self._updates.get(op, ())), "")
        return GraphEditError(
            f"Op {op!r}{self._place} updates variable {variable!r} and the outputs need its "
            "result, which a "
            "constant cannot give; choose outputs that only read variables, or " + KEEP + ".",
            [op],
        )

    def _check_order(self, cut: Collection[str]) -> None:
        """Raise where an op that stays reads a variable after its update: the constant is its value
        before.
        """
        after = self._consumers() if any(self._updates.values()) else {}
        for op, changed in self._updates.items():
            stack, visited = [op] if changed else [], {op}
            while stack:
                for consumer in after.get(stack.pop(), ()):
                    stale = changed & self._reads.get(consumer, frozenset())
                    if stale and consumer not in cut:
                        variable = min(stale)
                        raise GraphEditError(
                            f"Op {consumer!r}{self._place} reads variable {variable!r} after "
                            f"{op!r} has updated it, which a constant cannot follow; choose "
                            "outputs that only read variables, or " + KEEP + ".",
                            [consumer, op],
                        )
                    if consumer not in visited:
                        visited.add(consumer)
                        stack.append(consumer)

    def _consumers(self) -> dict[str, list[str]]:
        """Op -> those that read it or wait for it."""
        consumers = defaultdict(list)
        for node in self.nodes:
            for text in node.input:
                consumers[_op(text)].append(node.name)
        return consumers


def _op(text: str) -> str:
    """The op that an input names, of a graph or of a function's body."""
    return split_input(text)[0].partition(":")[0]
