"""Ops of functions in place of calls, and control flow of TensorFlow 1 in place of that of
TensorFlow 2.

A call becomes an IdentityN of its name, so that its outputs are still read as before. An op of a
function that reads nothing waits for an op of the place of the call, its anchor: it runs when the
call would have run, in the same frame.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.adjacency import walk_from
from tfgraphwidget.graph.control_flow import enclosing_blocks
from tfgraphwidget.graph.function_refs import called_definitions, called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import (
    CASES,
    DT_BOOL,
    DT_INT32,
    DT_RESOURCE,
    ENTER,
    FUNCTION_CALLS,
    IFS,
    SWITCH,
    WHILE_LOOPS,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, split_input, take_free_name
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import AttrValue, DataType, FunctionDef, NodeDef

# Ops of a graph without calls, or of a body. More are allowed only up to so many times those that
# there are with calls: thirty functions of which each calls the next one twice have a billion.
MAX_OPS = 200_000
MAX_GROWTH = 10
_PARALLEL_ITERATIONS = 10  # iterations; the default of tf.while_loop
_TRACES = ("_gradient_op_type", "_class", "_output_shapes")
"""Attributes of an op of a function that name what is in that function only, or that hold for the
trace only.
"""


@dataclass(frozen=True)
class FlatGraph:
    """NodeDefs without calls.

    Attributes:
        nodes: The NodeDefs.
        functions: The new functions that loops and conditionals among them run.
        calls: The calls that were inlined, of which some were in the bodies of others.
        loops: How many loops and conditionals became those of TensorFlow 1.
        helpers: The ops among the nodes that are in no function, such as those that give what calls
            gave.
    """

    nodes: tuple[NodeDef, ...]
    functions: tuple[FunctionDef, ...]
    calls: tuple[NodeDef, ...]
    loops: int
    helpers: frozenset[str]


def flatten(
    index: GraphIndex,
    nodes: Sequence[NodeDef],
    functions: Iterable[FunctionDef],
    free: Callable[[str], str],
    keep: Collection[str],
    *,
    lower_control_flow: bool,
    only: Collection[str] | None = None,
) -> FlatGraph:
    """Inline calls of functions.

    Args:
        nodes: The NodeDefs of the graph as it is to be; the same are in the result where the graph
            has no functions.
        functions: The FunctionDefs that they call and that the index does not have.
        free: Gives a name for a new op.
        lower_control_flow: Whether While, If and Case become Switch, Merge and their kind; their
            functions stay functions otherwise, without calls in them.
        only: The calls, loops and conditionals that are replaced, with all that is called in their
            bodies; None for all. Then who reads a result does not wait for the side effects of the
            call, and functions of loops stay as they are: so graphs are compared.

    Raises:
        GraphEditError: A function calls itself, so that it has no end when it is inlined.
    """
    new = {each.signature.name: each for each in functions}
    return _Flattening(index, new, free, lower_control_flow, only).of(nodes, keep)


class _Flattening:
    """One run of `flatten`."""

    def __init__(
        self,
        index: GraphIndex,
        new: Mapping[str, FunctionDef],
        free: Callable[[str], str],
        lower: bool,
        only: Collection[str] | None,
    ) -> None:
        self._index, self._new, self._free, self._lower = index, new, free, lower
        self._only = only
        self._flat: dict[str, FunctionDef] = {}
        self._open: set[str] = set()
        self._names = {name.lower() for name in (*index.functions, *new)} | index.reserved
        self._nodes: list[NodeDef] = []
        self._anchored = lower
        self._forwarded: dict[str, str] = {}
        self._calls: list[NodeDef] = []
        self._loops = 0
        self._helpers: set[str] = set()

    def of(self, nodes: Sequence[NodeDef], keep: Collection[str]) -> FlatGraph:
        """The graph of these NodeDefs without calls; the ops `keep` keep their names."""
        self._anchored |= any(node.op in ENTER | SWITCH for node in nodes)
        has_functions = bool(self._library())
        for node in nodes:
            if not has_functions:  # so that none of them changes
                self._nodes.append(node)
                continue
            copy = copy_of(node)
            if self._only is None or node.name in self._only:
                self._add(copy)
            else:
                self._nodes.append(copy)
        self._bypass_results(keep)
        functions = called_definitions(self._nodes, self._library(), self._function)
        new_names = functions.keys() - self._index.functions
        return FlatGraph(
            nodes=tuple(self._nodes),
            functions=tuple(body for name, body in functions.items() if name in new_names),
            calls=tuple(self._calls),
            loops=self._loops,
            helpers=frozenset(self._helpers),
        )

    def _flat_by_new_name(self) -> dict[str, FunctionDef]:
        return {flat.signature.name: flat for flat in self._flat.values()}

    def _library(self) -> Collection[str]:
        """The names of all functions: the index's, those that it does not have, and flat ones."""
        return {*self._index.functions, *self._new, *self._flat_by_new_name()}

    def _function(self, name: str) -> FunctionDef:
        new = self._flat_by_new_name().get(name) or self._new.get(name)
        return self._index.extras.function(name) if new is None else new

    def _function_name(self, node: NodeDef) -> str:
        """The function that a plain call calls; "" for other ops."""
        library = self._library()
        name = str(node.attr["f"].func.name) if node.op in FUNCTION_CALLS else str(node.op)
        return name if name in library else ""

    # Functions without calls in them

    @contextlib.contextmanager
    def _recursion_guard(self, name: str) -> Iterator[None]:
        """A function's body is being inlined. Raises GraphEditError where it calls itself."""
        if name in self._open:
            raise GraphEditError(
                f"Function {name!r} calls itself, so it has no end when it is inlined; "
                + in_cell("freeze without inline=True, save with inline=False.")
            )
        self._open.add(name)
        try:
            yield
        finally:
            self._open.remove(name)

    def _check_size(self, call: NodeDef, size: int) -> None:
        """Raise GraphEditError if inlining a call makes a graph or a body of too many ops."""
        if size > MAX_OPS and size > MAX_GROWTH * self._ops_before:
            raise GraphEditError(
                f"Op {call.name!r} is one of calls in calls that lead to over {MAX_OPS:,} ops, too "
                "many to inline; " + in_cell("freeze without inline=True, save with inline=False.")
            )

    @cached_property
    def _ops_before(self) -> int:
        """How many ops the graph and its functions have with the calls."""
        names = (*self._index.functions, *self._new)
        return len(self._index) + sum(len(self._function(name).node_def) for name in names)

    def _flat_function(self, name: str) -> FunctionDef:
        """A function whose body has no calls: itself, or with calls inlined as they are added."""
        if self._only is not None:
            return self._function(name)
        if name not in self._flat:
            with self._recursion_guard(name):
                self._flat[name] = self._without_calls(self._function(name))
        return self._flat[name]

    def _without_calls(self, original: FunctionDef) -> FunctionDef:
        if not any(called_functions(node, self._library()) for node in original.node_def):
            return original
        body = copy_of(original)
        del body.node_def[:]
        names = {node.name.lower() for node in original.node_def}
        for node in original.node_def:
            copy = copy_of(node)
            if function := self._function_name(node):
                self._inline_in_function(copy, self._flat_function(function), body, names)
            else:
                self._point_at_flat_functions(copy)
                body.node_def.append(copy)
        if [*body.node_def] != [*original.node_def]:
            body.signature.name = take_free_name(f"{original.signature.name}_flat", self._names)
            for key in ("forward_function_name", "backward_function_name"):
                body.attr.pop(key, None)
        return body

    def _point_at_flat_functions(self, node: NodeDef) -> None:
        """Let a loop or a conditional run functions without calls."""
        library = self._library()
        for attribute in node.attr.values():
            is_one = attribute.WhichOneof("value") == "func"
            for function in [attribute.func] if is_one else attribute.list.func:
                if function.name in library:
                    function.name = self._flat_function(function.name).signature.name

    def _inline_in_function(
        self, call: NodeDef, function: FunctionDef, body: FunctionDef, names: set[str]
    ) -> None:
        """Add the ops of a function in place of a call, in the body of another function."""
        data, waits = _split(call)
        read = _read_by_arguments(function, data)
        renamed = {
            node.name: take_free_name(f"{call.name}/{node.name}", names)
            for node in function.node_def
        }
        arguments = {argument.name for argument in body.signature.input_arg}

        def outer(text: str) -> list[str]:
            """The inputs in the body in place of one in the function; none for an argument, for
            which no op can wait.
            """
            if text[:1] == "^" and text[1:] in read:
                maker = read[text[1:]].partition(":")[0]
                return [] if maker in arguments else [f"^{maker}"]
            if text[:1] == "^":
                return [f"^{renamed[text[1:]]}"]
            name, colon, port = text.partition(":")
            return [read[name]] if name in read else [f"{renamed[name]}{colon}{port}"]

        self._check_size(call, len(body.node_def) + len(function.node_def))
        for node in function.node_def:
            inner = _copy_for_call(node, call.attr)
            inner.name, inner.device = renamed[node.name], node.device or call.device
            inputs = [new for text in node.input for new in outer(text)]
            inner.input[:] = dict.fromkeys(inputs) if _only_waits(node) else inputs
            if _only_waits(inner):
                inner.input.extend(text for text in waits if text not in inner.input)
            body.node_def.append(inner)
        returns = [
            outer(function.ret[argument.name])[0] for argument in function.signature.output_arg
        ]
        effects = [f"^{renamed[op]}" for op in function.control_ret.values() if op in renamed]
        dtypes = _dtypes(function, call.attr)
        body.node_def.append(_result(call, returns, [*dict.fromkeys([*effects, *waits])], dtypes))
        if call.op not in FUNCTION_CALLS:  # its outputs have the names of the function's
            for number, argument in enumerate(function.signature.output_arg):
                _rename_input(
                    body, f"{call.name}:{argument.name}:0", f"{call.name}:output:{number}"
                )

    # The graph

    def _add(self, node: NodeDef, anchor: Sequence[str] = ()) -> None:
        """Add an op of the graph, or what represents it."""
        if function := self._function_name(node):
            self._add_call(node, function, anchor)
        elif self._lower and node.op in WHILE_LOOPS:
            self._loops += 1
            self._lower_while(node)
        elif self._lower and node.op in (IFS | CASES):
            self._loops += 1
            self._lower_branches(node)
        else:
            if self._only is None:
                self._point_at_flat_functions(node)
            self._nodes.append(node)

    def _add_call(self, node: NodeDef, function: str, anchor: Sequence[str]) -> None:
        """Add the ops of a function in place of a call of the graph."""
        data, waits = _split(node)
        if self._anchored and not anchor and self._is_in_frame(node.name):
            sources = [f"^{split_input(text)[0]}" for text in data]
            waits = [*dict.fromkeys([*waits, *sources])]
        start = []
        if waits or anchor:
            start = [f"^{self._new_op('NoOp', f'{node.name}/call', [*waits, *anchor])}"]
        self._calls.append(node)
        flat = self._flat_function(function)
        with self._recursion_guard(function):
            returns, effects = self._inline(node, flat, data, start)
        if waits:
            effects += start
        self._add_result(node, returns, effects, _dtypes(flat, node.attr))

    def _is_in_frame(self, call: str) -> bool:
        """Whether an op of a call may run in another frame than that of the graph. Where graphs are
        compared, others have no control inputs more than the function.
        """
        op = self._index.ids.get(call)
        return self._only is None or op is None or bool(enclosing_blocks(self._index, op))

    def _add_result(
        self,
        node: NodeDef,
        returns: Sequence[str],
        waits: Sequence[str],
        dtypes: Iterable[DataType.ValueType],
    ) -> None:
        """Add the op that gives what a call gave. Who reads it may read its inputs where it waits
        for nothing.
        """
        self._nodes.append(_result(node, returns, waits, dtypes))
        self._helpers.add(node.name)
        if not waits or self._only is not None:
            for port, text in enumerate(returns):
                self._forwarded[as_input(node.name, port)] = text

    def _bypass_results(self, keep: Collection[str]) -> None:
        """Let all read what IdentityN ops of calls read; remove ops that no output then needs."""
        for node in self._nodes:
            for slot, text in enumerate(node.input if self._forwarded else ()):
                while text in self._forwarded:
                    text = self._forwarded[text]  # noqa: PLW2901
                node.input[slot] = text
        by_name = {node.name: node for node in self._nodes}

        def sources(name: str) -> Iterable[str]:
            return (split_input(text)[0] for text in by_name[name].input)

        needed = set(walk_from(by_name.keys() & set(keep), sources))
        self._nodes = [node for node in self._nodes if node.name in needed]

    def _new_op(
        self, op_type: str, base: str, inputs: Sequence[str], *, count: int = 0, **dtypes: int
    ) -> str:
        """Add a new op; its name. Dtypes are by attribute, `count` is a Merge's inputs."""
        node = type(self._index.nodes[0])(name=self._free(base), op=op_type, input=inputs)
        for key, dtype in dtypes.items():
            node.attr[key].type = cast("DataType.ValueType", dtype)
        if count:
            node.attr["N"].i = count
        self._nodes.append(node)
        self._helpers.add(node.name)
        return str(node.name)

    def _enter(
        self, loop: NodeDef, number: int, inputs: Sequence[str], dtype: int, frame: str
    ) -> str:
        """Add the Enter op of a value of a loop; its name."""
        name = self._new_op("Enter", f"{loop.name}/enter_{number}", inputs, T=dtype)
        attributes = self._nodes[-1].attr
        attributes["frame_name"].s = frame.encode()
        # A resource is the same in each iteration: there is no kernel that would hand it from one
        # to the next.
        attributes["is_constant"].b = dtype == DT_RESOURCE
        attributes["parallel_iterations"].i = (
            loop.attr["parallel_iterations"].i or _PARALLEL_ITERATIONS
        )
        return name

    def _inline(
        self,
        call: NodeDef,
        function: FunctionDef,
        data: Sequence[str],
        anchor: Sequence[str],
        scope: str = "",
    ) -> tuple[list[str], list[str]]:
        """Add the ops of a function without calls; how to read its results and side effects."""
        read = _read_by_arguments(function, data)
        renamed = {
            node.name: self._free(f"{scope or call.name}/{node.name}") for node in function.node_def
        }
        ports = _Ports(self._index, function)

        def outer(text: str) -> list[str]:
            """The inputs in the graph in place of one in the function."""
            name = text.removeprefix("^").partition(":")[0]
            if text[:1] != "^":
                return [read[name] if name in read else as_input(renamed[name], ports.port(text))]
            if name in renamed:
                return [f"^{renamed[name]}"]
            return list(anchor) or [f"^{split_input(read[name])[0]}"]

        self._check_size(call, len(self._nodes) + len(function.node_def))
        for node in function.node_def:
            inner = _copy_for_call(node, call.attr)
            inner.name, inner.device = renamed[node.name], node.device or call.device
            data_inputs = [new for text in node.input if text[:1] != "^" for new in outer(text)]
            control_inputs = [new for text in node.input if text[:1] == "^" for new in outer(text)]
            if not data_inputs:
                control_inputs += anchor
            inner.input[:] = [*data_inputs, *dict.fromkeys(control_inputs)]
            self._add(inner, anchor)
        returns = [
            outer(function.ret[argument.name])[0] for argument in function.signature.output_arg
        ]
        return returns, [f"^{renamed[op]}" for op in function.control_ret.values() if op in renamed]

    def _lower_branches(self, node: NodeDef) -> None:
        """Add Switch and Merge in place of If or Case."""
        data, waits = _split(node)
        start = [f"^{self._new_op('NoOp', f'{node.name}/start', waits)}"] if waits else []
        if node.op in IFS:
            names = [node.attr[label].func.name for label in ("then_branch", "else_branch")]
        else:
            names = [function.name for function in node.attr["branches"].list.func]
        outputs, done = self._branch(node, names, data[0], data[1:], start, 0)
        self._add_result(node, outputs, [done], node.attr["Tout"].list.type)

    def _branch(
        self,
        node: NodeDef,
        names: Sequence[str],
        index: str,
        data: Sequence[str],
        anchor: Sequence[str],
        level: int,
    ) -> tuple[list[str], str]:
        """Add the branches from number `level` on, between which `index` decides: a Switch runs the
        first of `names` or all others, and Merges join their results.

        Returns how the results are read, and what to wait for.
        """
        scope = f"{node.name}/branch_{level}"
        if len(names) == 1:
            returns, effects = self._inline(
                node, self._flat_function(names[0]), data, anchor, scope
            )
            done = self._new_op("NoOp", f"{scope}/done", [*dict.fromkeys([*effects, *anchor])])
            return returns, f"^{done}"
        predicate = self._predicate(node, index, anchor, level)
        decision = self._new_op(
            "Switch", f"{scope}/decision", [predicate, predicate, *anchor], T=DT_BOOL
        )
        pivots = [
            self._new_op("Identity", f"{scope}/{side}", [as_input(decision, port)], T=DT_BOOL)
            for port, side in enumerate(("no", "yes"))
        ]
        types = list(node.attr["Tin"].list.type)
        switches = [
            self._new_op("Switch", f"{scope}/switch_{k}", [text, predicate], T=dtype)
            for k, (text, dtype) in enumerate(zip(data, types, strict=True))
        ]
        branch_data = [as_input(switch, 1) for switch in switches]
        returns, effects = self._inline(
            node, self._flat_function(names[0]), branch_data, [f"^{pivots[1]}"], scope
        )
        done = self._new_op("Identity", f"{scope}/done", [pivots[1], *effects], T=DT_BOOL)
        others_index = index
        if len(names) > 2:
            others_index = self._new_op("Switch", f"{scope}/index", [index, predicate], T=DT_INT32)
        others, others_done = self._branch(
            node, names[1:], others_index, switches, [f"^{pivots[0]}"], level + 1
        )
        not_done = self._new_op(
            "Identity", f"{scope}/others_done", [pivots[0], others_done], T=DT_BOOL
        )
        merged = []
        results = zip(others, returns, node.attr["Tout"].list.type, strict=True)
        for k, (other, own, dtype) in enumerate(results):
            merge = self._new_op("Merge", f"{scope}/merge_{k}", [other, own], T=dtype, count=2)
            merged.append(merge)
        both = self._new_op("Merge", f"{scope}/merge", [not_done, done], T=DT_BOOL, count=2)
        return merged, f"^{both}"

    def _predicate(self, node: NodeDef, index: str, anchor: Sequence[str], level: int) -> str:
        """Whether the first branch runs: an If's predicate, or whether an index is its number."""
        if node.op in IFS:
            dtype = node.attr["Tcond"].type
            if dtype == DT_BOOL:
                return index
            return self._new_op("ToBool", f"{node.name}/predicate", [index], T=dtype)
        number = type(node)(
            name=self._free(f"{node.name}/number_{level}"), op="Const", input=anchor
        )
        number.attr["dtype"].type = DT_INT32
        value = number.attr["value"].tensor
        value.dtype = DT_INT32
        value.tensor_shape.SetInParent()
        value.int_val.append(level)
        self._nodes.append(number)
        self._helpers.add(number.name)
        return self._new_op("Equal", f"{node.name}/is_{level}", [index, number.name], T=DT_INT32)

    def _lower_while(self, node: NodeDef) -> None:
        """Add Enter, Merge, LoopCond, Switch, NextIteration and Exit in place of While."""
        data, waits = _split(node)
        body = self._flat_function(node.attr["body"].func.name)
        condition = self._flat_function(node.attr["cond"].func.name)
        types = list(node.attr["T"].list.type)
        frame = self._free(f"{node.name}/frame")
        pairs = zip(data, types, strict=True)
        enters = [
            self._enter(node, k, [text, *waits], dtype, frame)
            for k, (text, dtype) in enumerate(pairs)
        ]
        varying = [k for k, dtype in enumerate(types) if dtype != DT_RESOURCE]
        nexts = {k: self._free(f"{node.name}/next_{k}") for k in varying}
        merges: dict[int, str] = {}
        for k in varying:
            inputs = [enters[k], nexts[k]]
            merges[k] = self._new_op("Merge", f"{node.name}/merge_{k}", inputs, T=types[k], count=2)
        first = varying[0]
        arguments = [merges.get(k, enters[k]) for k in range(len(types))]
        (decision,), effects = self._inline(
            node, condition, arguments, [f"^{merges[first]}"], f"{node.name}/cond"
        )
        loop_condition = self._new_op("LoopCond", f"{node.name}/loop_cond", [decision, *effects])
        switches: dict[int, str] = {}
        for k, merge in merges.items():
            inputs = [merge, loop_condition]
            switches[k] = self._new_op("Switch", f"{node.name}/switch_{k}", inputs, T=types[k])
        pivot = self._new_op(
            "Identity", f"{node.name}/pivot", [as_input(switches[first], 1)], T=types[first]
        )
        in_body = {k: as_input(switch, 1) for k, switch in switches.items()}
        arguments = [in_body.get(k, enters[k]) for k in range(len(types))]
        returns, effects = self._inline(node, body, arguments, [f"^{pivot}"], f"{node.name}/body")
        for k, name in nexts.items():
            following = type(node)(name=name, op="NextIteration", input=[returns[k], *effects])
            following.attr["T"].type = types[k]
            self._nodes.append(following)
            self._helpers.add(name)
        exits = list(data)  # a resource leaves the loop as it came
        for k, switch in switches.items():
            exits[k] = self._new_op("Exit", f"{node.name}/exit_{k}", [switch], T=types[k])
        self._add_result(node, exits, [], types)


class _Ports:
    """The numbers of the outputs that a function's inputs name as "op:argument:number"."""

    def __init__(self, index: GraphIndex, function: FunctionDef) -> None:
        self._index = index
        self._nodes = {node.name: node for node in function.node_def}

    def port(self, text: str) -> int:
        """The number of the output that is read as `text`."""
        name, _, rest = text.partition(":")
        argument, _, number = rest.partition(":")
        node, start = self._nodes[name], 0
        definition = self._index.typing.definition(node.op)
        for output in definition.output_arg if definition is not None else ():
            if output.name == argument:
                break
            if output.type_list_attr:
                start += len(node.attr[output.type_list_attr].list.type)
            else:
                start += node.attr[output.number_attr].i if output.number_attr else 1
        return start + int(number or 0)


def _split(node: NodeDef) -> tuple[list[str], list[str]]:
    """The inputs of an op and its control inputs."""
    data = [text for text in node.input if text[:1] != "^"]
    return data, [text for text in node.input if text[:1] == "^"]


def _read_by_arguments(function: FunctionDef, data: Sequence[str]) -> dict[str, str]:
    """What a call reads, by the names of the function's arguments."""
    names = (argument.name for argument in function.signature.input_arg)
    return dict(zip(names, data, strict=True))


def _only_waits(node: NodeDef) -> bool:
    return all(text[:1] == "^" for text in node.input)


def _copy_for_call(node: NodeDef, attributes: Mapping[str, AttrValue]) -> NodeDef:
    """A copy of an op of a function, with what the call gives and without what holds inside."""
    copy = copy_of(node)
    for key in _TRACES:
        copy.attr.pop(key, None)
    for value in copy.attr.values():
        if value.WhichOneof("value") == "placeholder" and value.placeholder in attributes:
            value.CopyFrom(attributes[value.placeholder])
    return copy


def _dtypes(function: FunctionDef, attributes: Mapping[str, AttrValue]) -> list[DataType.ValueType]:
    """The dtypes of what a call of a function gives."""
    results = function.signature.output_arg
    return [attributes[each.type_attr].type if each.type_attr else each.type for each in results]


def _result(
    node: NodeDef,
    returns: Sequence[str],
    waits: Sequence[str],
    dtypes: Iterable[DataType.ValueType],
) -> NodeDef:
    """The op that has the name of a call and its results, when its side effects are done."""
    result = type(node)(name=node.name, op="IdentityN" if returns else "NoOp", device=node.device)
    result.input[:] = [*returns, *waits]
    if returns:
        result.attr["T"].list.type[:] = dtypes
    return result


def _rename_input(body: FunctionDef, before: str, after: str) -> None:
    for node in body.node_def:
        node.input[:] = [after if text == before else text for text in node.input]
    for key, text in body.ret.items():
        body.ret[key] = after if text == before else text
