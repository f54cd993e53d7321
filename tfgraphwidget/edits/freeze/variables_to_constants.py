"""Conversion of the variables that outputs need to constants. No graph is changed here.

Loops and conditionals stay what they are, of TensorFlow 1 as of TensorFlow 2; functions that are
given variables are exchanged for ones that take values. Ops that only update variables are cut.
Other state (tables, iterators) is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tfgraphwidget.edits.clone.boundary_inputs import placeholder
from tfgraphwidget.edits.freeze.tensor_naming import FIRST_ARGUMENT, BodyNaming, GraphNaming
from tfgraphwidget.edits.freeze.value_rewriting import (
    KEEP,
    ValueRewriter,
    VariableValue,
    make_constant,
)
from tfgraphwidget.edits.freeze.variable_writes import (
    Updates,
    VariableWrite,
    check_followed,
    find_writes,
)
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    ANY_PORT,
    HANDLE_DTYPES,
    HANDLES,
    REQUIRED_PLACEHOLDERS,
    WHILE_LOOPS,
    GraphIndex,
    Mask,
    called_definitions,
    called_functions,
    flatten,
    needed_ops,
    of_type,
    pairs,
    persistent_state,
    resources,
    traversal,
    unused_inputs,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import colocate, colocated_with, names_text, split_input, take_free_name
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import FunctionDef, NodeDef, OpDef, TensorProto

# Functions that take values instead of references to variables

References = Mapping[int, VariableValue]
_WAYS_OUT = (
    either("freeze(updates='keep') leaves it a variable", "'keep' leaves it a variable"),
    either(
        ", and freeze(updates='drop') a constant that nothing updates",
        ", and 'drop' a constant that nothing updates",
    ),
)
_TRACED = ("forward_function_name", "backward_function_name", "_input_shapes")


@dataclass(frozen=True)
class SpecializedFunction:
    """A function for certain references: its new name, outputs handed on, variables updated."""

    name: str
    gives: References
    updates: frozenset[str]
    reads: frozenset[str]


class FunctionSpecializer:
    """The functions of an index, specialized for references; `new_functions` are new."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.new_functions: dict[str, FunctionDef] = {}
        self._specializations: dict[tuple[object, ...], SpecializedFunction] = {}
        self._used_names = {name.lower() for name in index.functions} | index.reserved
        self._open: set[str] = set()

    def reachable(self, nodes: Iterable[NodeDef]) -> tuple[FunctionDef, ...]:
        """The new functions that NodeDefs call, and those that these call."""
        new = self.new_functions
        return tuple(called_definitions(nodes, new, new.__getitem__).values())

    def definition(self, op_type: str) -> OpDef | None:
        """The OpDef of an op type."""
        return self.index.typing.definition(op_type)

    def calls(self, node: NodeDef) -> bool:
        """Whether an op is a call whose arguments are its inputs."""
        return node.op in FIRST_ARGUMENT or node.op in self.index.functions

    def _specialized_functions(
        self, node: NodeDef, references: References
    ) -> dict[str, SpecializedFunction]:
        """The functions that a call needs in place of those it calls, by the names of these."""
        first = FIRST_ARGUMENT.get(node.op, 0)
        arguments = {slot - first: value for slot, value in references.items()}
        return {
            reference.function: self.special(reference.function, arguments)
            for reference in called_functions(node, self.index.functions)
        }

    def gives(self, node: NodeDef, references: References) -> dict[int, VariableValue]:
        """By port the references that a call hands on."""
        return dict(
            next(
                (
                    special.gives
                    for special in self._specialized_functions(node, references).values()
                    if special.gives
                ),
                {},
            )
        )

    def does(self, node: NodeDef, references: References) -> tuple[frozenset[str], frozenset[str]]:
        """The variables that a call updates, and those that it reads."""
        specials = self._specialized_functions(node, references).values()
        updates = frozenset().union(*(special.updates for special in specials))
        reads = frozenset().union(*(special.reads for special in specials))
        if node.op in WHILE_LOOPS and updates & reads:
            variable = min(updates & reads)
            raise GraphEditError(
                f"Loop {node.name!r} reads variable {variable!r} and updates it, which a constant "
                "cannot follow; choose outputs that only read variables, or " + KEEP + ".",
                [node.name],
            )
        return updates, reads

    def rewrite_call(self, node: NodeDef, references: References) -> NodeDef:
        """The call of functions that take values; `node` is changed."""
        specials = self._specialized_functions(node, references)
        first = FIRST_ARGUMENT.get(node.op, 0)
        gives = self.gives(node, references)
        self._check_agree(node, references, specials, gives)
        node.attr.pop("_gradient_op_type", None)
        node.attr.pop("_output_shapes", None)
        if node.op in specials:
            node.op = specials[node.op].name
            return node
        for attribute in node.attr.values():
            is_one = attribute.WhichOneof("value") == "func"
            for function in [attribute.func] if is_one else attribute.list.func:
                if function.name in specials:
                    function.name = specials[function.name].name
        types = "T" if node.op in WHILE_LOOPS else "Tin"
        shapes = node.attr["output_shapes"].list.shape
        for slot, value in references.items():
            node.attr[types].list.type[slot - first] = value.dtype
        for port, value in gives.items():
            node.attr["T" if node.op in WHILE_LOOPS else "Tout"].list.type[port] = value.dtype
            if port < len(shapes):
                shapes[port].CopyFrom(value.shape)
        if not len(shapes):
            del node.attr["output_shapes"]
        return node

    def _check_agree(
        self,
        node: NodeDef,
        references: References,
        specials: Mapping[str, SpecializedFunction],
        gives: References,
    ) -> None:
        """Raise where branches of a conditional or rounds of a loop hand on other references."""
        conditions = {
            reference.function
            for reference in called_functions(node, self.index.functions)
            if reference.label == "cond"
        }
        ports = [set(special.gives) for name, special in specials.items() if name not in conditions]
        if any(branch_ports != set(gives) for branch_ports in ports) or (
            node.op in WHILE_LOOPS and set(gives) != set(references)
        ):
            raise GraphEditError(
                f"Op {node.name!r} ({node.op}) hands on a variable in one case and something else "
                "in another, so what it gives cannot be a constant's value; choose outputs that "
                "do not need it.",
                [node.name],
            )

    def special(self, name: str, references: References) -> SpecializedFunction:
        """The function that takes values for the arguments of these numbers."""
        key = (name, *((k, v.variable, v.dtype) for k, v in sorted(references.items())))
        if key not in self._specializations:
            if name in self._open:
                raise GraphEditError(
                    f"Function {name!r} calls itself, so what it reads cannot become constants; "
                    "freeze outputs that do not need it."
                )
            self._open.add(name)
            try:
                self._specializations[key] = self._make(name, references)
            finally:
                self._open.remove(name)
        return self._specializations[key]

    def _make(self, name: str, references: References) -> SpecializedFunction:
        original = self.index.extras.function(name)
        new = take_free_name(f"{name}_frozen", self._used_names)
        body = _with_value_arguments(original, new, references)
        values = {body.signature.input_arg[k].name: value for k, value in references.items()}
        rewriting = ValueRewriter(
            list(original.node_def), values, BodyNaming(body, self.index), self, name
        )
        rewriting.propagate()
        _replace_body(body, rewriting, rewriting.pure_updates())
        gives = {
            k: rewriting.values[text]
            for k, arg in enumerate(body.signature.output_arg)
            if (text := original.ret[arg.name]) in rewriting.values
        }
        for k, value in gives.items():
            body.signature.output_arg[k].type = value.dtype
            body.signature.output_arg[k].ClearField("handle_data")
        self.new_functions[new] = body
        return SpecializedFunction(new, gives, *rewriting.effects())


def _with_value_arguments(original: FunctionDef, name: str, references: References) -> FunctionDef:
    """A copy of a FunctionDef, under another name, whose arguments of these numbers are values."""
    body = copy_of(original)
    body.signature.name = name
    for key in _TRACED:
        body.attr.pop(key, None)
    for k, value in references.items():
        body.signature.input_arg[k].type = value.dtype
        body.signature.input_arg[k].ClearField("handle_data")
        body.resource_arg_unique_id.pop(k, None)
        if k in body.arg_attr:
            attributes = body.arg_attr[k].attr
            for key in list(attributes):
                if key != "_user_specified_name":
                    del attributes[key]
    return body


def _replace_body(body: FunctionDef, rewriting: ValueRewriter, cut: Collection[str]) -> None:
    """Exchange the ops of a body, and let its results name what they give now."""
    nodes = rewriting.rewrite(cut)
    del body.node_def[:]
    body.node_def.extend(nodes)
    for key, text in body.ret.items():
        if text.partition(":")[0] in cut:
            raise rewriting.update_error(text.partition(":")[0])
        body.ret[key] = rewriting.renamed.get(text, text)
    for key in [key for key, op in body.control_ret.items() if op in cut]:
        del body.control_ret[key]
        body.signature.control_output.remove(key)


def only_read(index: GraphIndex, outputs: Collection[str]) -> frozenset[str]:
    """The variables that outputs need and nothing they need updates; none if unknown."""
    ops = np.flatnonzero(needed_ops(index, (), outputs)).tolist()
    values = {
        index.names[i]: _variable_value(index.nodes[i])
        for i in ops
        if index.types[i] == "VarHandleOp"
    }
    rewriter = ValueRewriter(
        [index.nodes[i] for i in ops], dict(values), GraphNaming(index), FunctionSpecializer(index)
    )
    try:
        rewriter.propagate()
        updated, _ = rewriter.effects()
    except GraphEditError:  # an op needs the variable itself, or a function calls itself
        return frozenset()
    return frozenset(values) - updated


@dataclass(frozen=True)
class ConvertedGraph:
    """A graph without variables.

    `nodes` are its NodeDefs, `functions` the FunctionDefs that the index does not have. `variables`
    are the handle ops that are constants now, `cut` the ops that would have updated them,
    `remaining_state` other ops that hold state, with what it is in words. `fed` are the inputs that
    are placeholders now and were none: (tensor, placeholder). `unused` are the inputs that nothing
    reads. `writes` are the first writes of variables, `remaining_variables` the handle ops of those
    that stay variables.
    """

    nodes: tuple[NodeDef, ...]
    functions: tuple[FunctionDef, ...]
    variables: tuple[str, ...]
    cut: tuple[str, ...]
    remaining_state: tuple[tuple[str, str], ...]
    fed: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    writes: tuple[VariableWrite, ...] = ()
    remaining_variables: tuple[str, ...] = ()

    def notices(self) -> list[str]:
        """A sentence for the updates left out, and one for the variables that were kept."""
        # Nothing changes where a called function writes what nothing reads.
        writes = [write for write in self.writes if write.variable not in self.remaining_variables]
        calls = [write.call for write in writes if write.function and write.is_read]
        notices = []
        if calls:
            cut = names_text(list(dict.fromkeys([*self.cut, *calls])))
            notices.append(
                f"The frozen graph does not update variables: what {cut} writes is left out."
            )
        elif self.cut:
            count = "is" if len(self.cut) == 1 else "are"
            notices.append(
                f"The frozen graph does not update variables: {names_text(self.cut)} {count} left "
                "out."
            )
        written = {write.variable for write in self.writes}
        remaining = [name for name in self.remaining_variables if name in written]
        if remaining:
            what = "they are variables still" if remaining[1:] else "it is a variable still"
            notices.append(f"The outputs write {names_text(remaining)}, so {what}.")
        if others := [name for name in self.remaining_variables if name not in written]:
            stay = "stay variables" if others[1:] else "stays a variable"
            notices.append(f"{names_text(others)} {stay}: what fills a table uses it.")
        return notices


def check_computed(
    index: GraphIndex, outputs: Collection[str], inputs: Collection[str] = ()
) -> None:
    """Raise GraphEditError where all outputs are fed: the graph would compute nothing."""
    results, fed = pairs(index, outputs), set(pairs(index, inputs))
    is_fed = [
        index.types[op] in REQUIRED_PLACEHOLDERS or not fed.isdisjoint([(op, k), (op, ANY_PORT)])
        for op, k in results
    ]
    if results and all(is_fed) and len(index) > len({op for op, _ in results}):
        names = list(dict.fromkeys(index.names[op] for op, _ in results))
        if names[1:]:
            what = "are inputs, which nothing computes"
        else:
            what = "is an input, which nothing computes"
        raise GraphEditError(
            f"{names_text(names)} {what}, so no other op would be left; name the ops that give the "
            "results.",
            names,
        )


def convert_variables(
    index: GraphIndex,
    outputs: Iterable[str],
    set_value: Callable[[str, TensorProto], None] | None,
    inputs: Iterable[str] = (),
    *,
    updates: Updates = "drop",
    keep: Collection[str] = (),
    in_function: bool = False,
    ways_out: tuple[str, str] = _WAYS_OUT,
    inline: bool = False,
    lower_control_flow: bool = False,
) -> ConvertedGraph:
    """Convert variables to constants in the part of a graph that outputs need.

    Args:
        set_value: Sets a TensorProto to the value of a variable, by the name of its handle op; None
            where the caller fills in the constants, which are scalars then.
        inputs: Ops or tensors that are fed. One that is not a placeholder becomes one, under its
            own name if that is free.
        updates: Whether a variable that a function writes and reads is refused, or what is written
            stays a variable, or becomes a constant that nothing updates. What an op of a graph
            writes, and no function, is not refused.
        keep: The handle ops of other variables that stay variables.
        in_function: Whether the graph is the body of a function, which is called again and again.
        ways_out: How a variable that is refused stays one, and how it becomes a constant
            nevertheless.
        inline: Whether calls are exchanged for the ops of the functions.
        lower_control_flow: Whether that is done with loops and conditionals too, which become those
            of TensorFlow 1.

    Raises:
        GraphEditError: The result of an update is needed, a variable is read after its update, or
            an input cannot be fed. The error names the op.
    """
    outputs, inputs = tuple(outputs), tuple(inputs)
    check_computed(index, outputs, inputs)
    output_ops = [index.names[index.op(name)] for name in outputs]
    need, naming = needed_ops(index, inputs, outputs), GraphNaming(index)
    ops = np.flatnonzero(need).tolist()
    nodes = [index.nodes[i] for i in ops]

    # The variables that become constants
    handles = np.flatnonzero(need & of_type(index, HANDLES.__contains__)).tolist()
    values = {index.names[i]: _variable_value(index.nodes[i]) for i in handles}
    writes = find_writes(index, nodes, values)
    remaining_variables = (*(writes if updates == "keep" else ()), *keep)
    values = {name: value for name, value in values.items() if name not in remaining_variables}
    functions = FunctionSpecializer(index)
    rewriting = ValueRewriter(nodes, dict(values), naming, functions)
    rewriting.propagate()
    if updates == "refuse":
        refusable = [write for write in writes.values() if in_function or write.function]
        check_followed(refusable, *ways_out)

    # The ops that stay, of which none updates a variable
    updating = rewriting.pure_updates()
    needed = _ops_without_updates(index, need, inputs, outputs, updating, rewriting.assigned)
    for op in output_ops:
        if op in updating:
            raise rewriting.update_error(op)
    inside = {index.names[i] for i in np.flatnonzero(needed).tolist()}
    rewritten_nodes = rewriting.rewrite({index.names[i] for i in ops} - inside)
    if rewriting.assigned:
        used = {split_input(text)[0] for node in rewritten_nodes for text in node.input}
        used.update(output_ops)
        inside -= values.keys() - used
        rewritten_nodes = [
            node for node in rewritten_nodes if node.name not in values or node.name in used
        ]

    # Constants in place of variables, placeholders in place of inputs, bodies in place of calls
    for node in rewritten_nodes:
        if node.name in values:
            constant = make_constant(node, values[node.name].dtype)
            if set_value is not None:
                set_value(node.name, constant)
        _drop_colocation(node, inside)
    entering, fed = _connect_inputs(index, inputs, rewritten_nodes, naming)
    state = resources(index, np.flatnonzero(needed & persistent_state(index)).tolist())
    nodes, new_functions = [*entering, *rewritten_nodes], functions.reachable(rewritten_nodes)
    if inline or lower_control_flow:
        flat = flatten(
            index,
            nodes,
            new_functions,
            naming.free,
            set(output_ops),
            lower_control_flow=lower_control_flow,
        )
        nodes, new_functions = list(flat.nodes), flat.functions

    variables = {*values, *remaining_variables}
    remaining_state = [
        (index.names[i], kind) for i, kind in state if index.names[i] not in variables
    ]
    return ConvertedGraph(
        nodes=tuple(nodes),
        functions=new_functions,
        variables=tuple(name for name in values if name in inside),
        cut=tuple(index.names[i] for i in ops if index.names[i] in updating),
        remaining_state=tuple(remaining_state),
        fed=fed,
        unused=unused_inputs(index, inputs, needed),
        writes=tuple(writes.values()),
        remaining_variables=remaining_variables,
    )


def _connect_inputs(
    index: GraphIndex, inputs: tuple[str, ...], nodes: list[NodeDef], naming: GraphNaming
) -> tuple[list[NodeDef], tuple[tuple[str, str], ...]]:
    """Make `nodes` read the fed tensors from placeholders.

    Returns the placeholders that are not among the nodes, and (tensor, placeholder) for those that
    are new.
    """
    fed, node_names = set(pairs(index, inputs)), {node.name for node in nodes}
    placeholders: dict[tuple[int, int], NodeDef] = {}
    new = []
    for node in nodes if fed else ():
        for slot, text in enumerate(node.input):
            name, port = split_input(text)
            op = index.ids.get(name, -1)
            if port < 0 or ((op, port) not in fed and (op, ANY_PORT) not in fed):
                continue
            if (op, port) not in placeholders and index.types[op] in REQUIRED_PLACEHOLDERS:
                placeholders[op, port] = index.nodes[op]
            elif (op, port) not in placeholders:
                base = f"{name}_{port}_placeholder" if port else f"{name}_placeholder"
                is_name_free = port == 0 and name not in node_names
                own_name = name if is_name_free else naming.free(base)
                placeholders[op, port] = _input_placeholder(index, op, port, own_name)
                new.append((f"{name}:{port}", str(placeholders[op, port].name)))
            node.input[slot] = placeholders[op, port].name
    entering = [node for node in placeholders.values() if node.name not in node_names]
    return entering, tuple(new)


def _input_placeholder(index: GraphIndex, op: int, port: int, name: str) -> NodeDef:
    """A placeholder for an input; GraphEditError for what cannot be fed."""
    if index.dtypes(op)[port] in HANDLE_DTYPES:
        tensor = f"{index.names[op]}:{port}"
        raise GraphEditError(
            f"{tensor!r} is not a value that anybody can feed; "
            + either("leave it out of inputs=.", "leave inputs empty."),
            [index.names[op]],
        )
    return placeholder(
        index,
        op,
        port,
        name,
        GraphEditError,
        either("leave it out of inputs=", "leave inputs empty"),
    )


def _variable_value(handle: NodeDef) -> VariableValue:
    return VariableValue(handle.name, handle.attr["dtype"].type, handle.attr["shape"].shape)


def _ops_without_updates(
    index: GraphIndex,
    need: Mask,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    updating: Iterable[str],
    assigned: Mapping[str, str],
) -> Mask:
    """The ops that are still needed when no op waits for the updates, and `assigned` reads give
    what was assigned.
    """
    within = need & ~traversal.mask_of(index, (index.ids[name] for name in updating))
    values = [(index.ids[read], index.ids[split_input(text)[0]]) for read, text in assigned.items()]
    roots = [index.op(name) for name in outputs]
    while True:
        needed = traversal.backward(index, roots, stop=pairs(index, inputs), within=within)
        more = [
            value for read, value in values if needed[read] and within[value] and not needed[value]
        ]
        if not more:
            return needed
        roots += more


def _drop_colocation(node: NodeDef, inside: Iterable[str]) -> None:
    """Let a NodeDef stand beside nothing that is not there."""
    beside = colocated_with(node)
    if beside:
        colocate(node, [name for name in beside if name in inside])
