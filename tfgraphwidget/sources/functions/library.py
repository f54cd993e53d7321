"""The body of a library function as a graph; arguments that a call feeds from state are shown as
that state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import (
    BRANCHES,
    CONSTANTS,
    FIRST_INPUT_FORWARDING,
    FUNCTION_CALLS,
    HANDLES,
    IDENTITY,
    PLACEHOLDERS,
    PORTWISE_FORWARDING,
    VALUE_SOURCES,
    GraphIndex,
    VariableDef,
    all_variables,
    build,
    called_functions,
)
from tfgraphwidget.messages import copy_of, copy_without_inputs
from tfgraphwidget.naming import as_input, free_name, known_instead
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import MOST_OUTPUTS, OpTypes
from tfgraphwidget.sources.node_body import Library, NodeBody
from tfgraphwidget.sources.node_repairs import readable_nodes
from tfgraphwidget.sources.renaming import rename_inputs, rename_tensor, variable_op_name
from tfgraphwidget.sources.source import Body, Collections
from tfgraphwidget.sources.variables import variable_collections
from tfgraphwidget.tf_types import AttrValue, FunctionDef, GraphDef, NodeDef, OpDef, VersionDef


def open_function(
    name: str, library: Body, caller: GraphIndex | None = None, op: int | None = None
) -> NodeBody:
    """Open the body of a library function as a graph.

    An argument that the call feeds from a variable, or from another op that holds state, is shown
    as that op.

    Args:
        library: The body whose function library has it.
        caller: That graph as edits have left it, with the functions that they have made; None for
            one without edits.
        op: The calling op's number in `caller`, if it was entered through a call.

    Raises:
        UnknownName: When the library does not have the function.
        GraphEditError: When its body is damaged.
    """
    functions: Library = (
        getattr(library, "library", library) if caller is None else EditedLibrary(library, caller)
    )
    try:
        definition = functions.function(name)
    except KeyError:
        end = known_instead(name, sorted(functions.functions()))
        raise UnknownName(f"The graph's library has no function {name!r}{end}") from None
    types = OpTypes(functions.function)
    called_by = None if caller is None or op is None else caller.nodes[op]
    body = function_nodes(definition, types, {} if called_by is None else called_by.attr)
    handles: dict[str, NodeDef] = {}
    alias: dict[str, str] = {}
    variables: dict[str, VariableDef | None] = {}
    origins: Mapping[str, str] = {}
    constants: Mapping[str, NodeDef] = {}
    if caller is not None and op is not None:
        state_feeds = _state_feeds(definition.signature, types, caller, op)
        alias, handles = _aliases(
            definition, state_feeds, caller, library.saved_names, {node.name for node in body.nodes}
        )
        holders = {
            alias[name]: caller.names[state_feeds[k]]
            for k, name in _argument_names(definition, state_feeds)
        }
        # As they were before edits.
        defined = {variable.handle: variable for variable in caller.variable_defs}
        variables = {shown_name: defined.get(holder) for shown_name, holder in holders.items()}
        values = _value_feeds(definition.signature, types, caller, op)
        fixed = {
            name: caller.nodes[values[k]]
            for k, name in _argument_names(definition, values)
            if name not in alias
        }
        origins, constants = _feeds(library, holders, fixed)
    nodes = [handles.pop(alias[n.name], None) if n.name in alias else n for n in body.nodes]
    body_nodes = [node for node in nodes if node is not None]
    rename_inputs(body_nodes, alias)
    readable_nodes(body_nodes, f"Function {name!r}", types)
    return NodeBody(
        body_nodes,
        functions,
        _variables(body_nodes, variables),
        tuple(f"{a}:0" for a in body.arguments if a not in alias),
        {key: rename_tensor(tensor, alias) for key, tensor in body.returns.items()},
        alias,
        origins=origins,
        constants=constants,
    )


@dataclass(frozen=True, eq=False)
class EditedLibrary:
    """The functions of a graph as edits have left it; `body` is where the graph was read from."""

    body: Body
    index: GraphIndex

    def functions(self) -> frozenset[str]:
        """The names."""
        return self.index.functions or self.body.functions()

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when there is none."""
        try:
            return self.index.extras.function(name)
        except KeyError:
            # Both ask the library of the function around: of a name that is in neither, both ways
            # of each function would be two to the power of how deep the calls are nested.
            if name not in self.functions():
                raise
            return self.body.function(name)  # of an index alone, without what is beside its ops

    def envelope(self) -> GraphDef:
        """A GraphDef with the versions and the library of the graph as read, and no nodes."""
        return self.body.envelope()

    def versions(self) -> VersionDef:
        """The versions of the graph as it was read."""
        return self.body.versions()


def _feeds(
    library: Body, holders: Mapping[str, str], values: Mapping[str, NodeDef]
) -> tuple[dict[str, str], dict[str, NodeDef]]:
    """`origins` and `constants` of a body: the caller's ops that feed its arguments.

    `holders` are the caller's ops that the handles represent, `values` its Consts and Placeholders
    after other arguments.
    """
    library_origins = library.origins
    sources = {
        **holders,
        **{name: node.name for name, node in values.items() if node.op not in CONSTANTS},
    }
    constants = {
        name: node if node.op in CONSTANTS else library.constants.get(node.name)
        for name, node in values.items()
    }
    if library_origins is not None:
        sources = {
            name: library_origins[at] for name, at in sources.items() if at in library_origins
        }
    return sources, {name: node for name, node in constants.items() if node is not None}


def _argument_names(definition: FunctionDef, numbers: Mapping[int, int]) -> list[tuple[int, str]]:
    return [(k, definition.signature.input_arg[k].name) for k in numbers]


def _aliases(
    definition: FunctionDef,
    state_feeds: Mapping[int, int],
    caller: GraphIndex,
    saved_names: Mapping[str, str],
    names: set[str],
) -> tuple[dict[str, str], dict[str, NodeDef]]:
    """(argument → shown name, shown name → NodeDef) for arguments that ops of `caller` feed."""
    wanted_names = {
        k: variable_op_name(saved_names.get(name, name))
        for k, name in _handles(caller, state_feeds)
    }
    inside = {name.lower() for name in names}
    reserved = {name.lower() for name in wanted_names.values()} | {
        variable_op_name(name).lower() for name in saved_names.values()
    }
    shown_names: dict[int, str] = {}
    for handle in dict.fromkeys(state_feeds.values()):
        name = wanted_names[handle]
        if name.lower() in inside:
            # An op of the function has this name, and no other variable may have the new one.
            name = free_name(name, inside | reserved)
        inside.add(name.lower())
        shown_names[handle] = name
    alias = {
        name: shown_names[state_feeds[argument]]
        for argument, name in _argument_names(definition, state_feeds)
    }
    return alias, {
        name: copy_without_inputs(caller.nodes[handle], name)
        for handle, name in shown_names.items()
    }


def _handles(caller: GraphIndex, state_feeds: Mapping[int, int]) -> list[tuple[int, str]]:
    """(number, name) of all ops of a graph that hold state: its variables, and what it feeds."""
    numbers = {
        *state_feeds.values(),
        *(i for i, kind in enumerate(caller.types) if kind in HANDLES),
    }
    return [(i, caller.names[i]) for i in sorted(numbers)]


def _variables(
    nodes: list[NodeDef], caller_variables: Mapping[str, VariableDef | None]
) -> Collections:
    """The variables of a body, with what the caller's collections say of them."""
    index = build(nodes)
    variables = []
    for variable in all_variables(index):
        caller_variable = caller_variables.get(variable.handle)
        variables.append(
            variable
            if caller_variable is None
            else replace(
                variable,
                trainable=caller_variable.trainable,
                synchronization=caller_variable.synchronization,
                aggregation=caller_variable.aggregation,
            )
        )
    return variable_collections(variables)


# A FunctionDef as NodeDefs


@dataclass(frozen=True)
class FunctionNodes:
    """`arguments` are the placeholders' names, first among `nodes`; `returns` maps results."""

    nodes: list[NodeDef]
    arguments: tuple[str, ...]
    returns: dict[str, str]


def function_nodes(
    definition: FunctionDef, types: OpTypes, attributes: Mapping[str, AttrValue]
) -> FunctionNodes:
    """Return the body of a FunctionDef as NodeDefs; the call's attributes give open dtypes."""
    signature = definition.signature
    ports = _Ports(definition, types)
    names = {node.name for node in definition.node_def if node.name[:1] == "^"}
    nodes = [
        _placeholder(arg, definition.arg_attr.get(k), attributes)
        for k, arg in enumerate(signature.input_arg)
    ]
    for original in definition.node_def:
        node = copy_of(original)
        _instantiate(node, attributes)
        for k, text in enumerate(node.input):
            is_control = text[:1] == "^" and text.partition(":")[0] not in names
            node.input[k] = text if is_control else as_input(*ports.of(text))
        nodes.append(node)
    returns = {}
    for arg in signature.output_arg:
        if arg.name in definition.ret:
            op, port = ports.of(definition.ret[arg.name])
            returns[arg.name] = f"{op}:{port}"
    return FunctionNodes(nodes, tuple(arg.name for arg in signature.input_arg), returns)


def _placeholder(
    arg: OpDef.ArgDef, argument: FunctionDef.ArgAttrs | None, attributes: Mapping[str, AttrValue]
) -> NodeDef:
    """The op that represents an argument."""
    node = tf_protos.NodeDef(name=arg.name, op="Placeholder")
    node.attr["dtype"].type = arg.type
    if not arg.type and arg.type_attr in attributes:
        node.attr["dtype"].type = attributes[arg.type_attr].type
    shapes = (
        argument.attr["_output_shapes"].list.shape
        if argument is not None and "_output_shapes" in argument.attr
        else ()
    )
    if shapes:
        node.attr["shape"].shape.CopyFrom(shapes[0])
    else:
        node.attr["shape"].shape.unknown_rank = True
    result: NodeDef = node
    return result


def _instantiate(node: NodeDef, attributes: Mapping[str, AttrValue]) -> None:
    """Fill in the attributes that a polymorphic function takes from its call, in place."""
    for value in node.attr.values():
        if value.WhichOneof("value") == "placeholder" and value.placeholder in attributes:
            value.CopyFrom(attributes[value.placeholder])


_END = ""
"""The key of what would come after the last output argument of an op; no argument has this name."""


def _colons(name: str) -> list[int]:
    """The places of the colons in a name."""
    return [at for at, char in enumerate(name) if char == ":"]


class _Ports:
    """Converts inputs of a FunctionDef, "op:output_argument:k", to ports."""

    def __init__(self, definition: FunctionDef, types: OpTypes) -> None:
        self._definition = definition
        self._types = types
        self._nodes = {node.name: node for node in definition.node_def}
        # Beginnings of names with a colon in them, as of other tools; no function of TensorFlow's
        # own has one.
        with_colons = [name for name in self._nodes if ":" in name]
        self._colons = {name[:at] for name in with_colons for at in (*_colons(name), len(name))}
        self._starts: dict[str, dict[str, int]] = {}

    def of(self, text: str) -> tuple[str, int]:
        """("op", port) of "argument", "argument:0", "op:output" or "op:output:k"."""
        name, *rest = text.split(":")
        while rest and name not in self._nodes and f"{name}:{rest[0]}" in self._colons:
            name = f"{name}:{rest.pop(0)}"
        last = rest[-1] if rest else ""
        offset = 0
        if last.isdecimal():
            offset = int(last) if len(last) < 6 else MOST_OUTPUTS
        if name not in self._nodes or not rest or rest[0].isdecimal():
            return name, offset
        if name not in self._starts:
            self._starts[name] = self._starts_of(name)
        starts = self._starts[name]
        # Of no output argument: after all outputs.
        return name, starts.get(rest[0], starts[_END]) + offset

    def _starts_of(self, name: str) -> dict[str, int]:
        """The first port of each output argument of an op, and of what would come after all."""
        outputs = self._types.outputs(self._nodes[name])
        if outputs is None:
            sizes: Iterable[tuple[str, int]] = self._read.get(name, {}).items()
        else:
            sizes = [(output.name, len(output.dtypes)) for output in outputs]
        starts: dict[str, int] = {}
        at = 0
        for argument, size in sizes:
            starts[argument] = at
            at += size
        starts[_END] = at
        return starts

    @cached_property
    def _read(self) -> dict[str, dict[str, int]]:
        """Op -> output argument -> how many of its tensors are read, in the order of first reading.

        That is all there is to know of an op that TensorFlow does not know.
        """
        sizes_by_op: dict[str, dict[str, int]] = {}
        texts = [text for node in self._definition.node_def for text in node.input]
        for text in (*texts, *self._definition.ret.values()):
            name, *rest = text.split(":")
            if len(rest) == 2:
                read = int(rest[1]) + 1 if rest[1].isdecimal() and len(rest[1]) < 6 else 1
                sizes = sizes_by_op.setdefault(name, {})
                sizes[rest[0]] = max(sizes.get(rest[0], 0), read)
        return sizes_by_op


# What a call passes to the arguments of a function


# Their functions get their inputs unchanged; a loop gives its body what the iteration before has
# computed.
_CALLS = FUNCTION_CALLS | BRANCHES


def _state_feeds(signature: OpDef, types: OpTypes, caller: GraphIndex, op: int) -> dict[int, int]:
    """Number of each argument of a function -> the op in `caller` that holds its state."""
    sources = caller.inputs.row(op).tolist()
    ports = caller.ports[caller.inputs.start[op] : caller.inputs.start[op + 1]].tolist()
    slots = _slots(caller.nodes[op], signature, types, len(sources))
    first = len(signature.input_arg) - len(slots)
    handles = {}
    for argument, slot in enumerate(slots, first):
        handle = _state_of(caller, sources[slot], ports[slot]) if slot < len(sources) else None
        if handle is not None:
            handles[argument] = handle
    return handles


def _value_feeds(signature: OpDef, types: OpTypes, caller: GraphIndex, op: int) -> dict[int, int]:
    """Number of each argument of a function -> the Const or Placeholder that feeds it."""
    if caller.types[op] not in _CALLS:
        return {}
    sources = caller.inputs.row(op).tolist()
    slots = _slots(caller.nodes[op], signature, types, len(sources))
    values = {}
    for argument, slot in enumerate(slots, len(signature.input_arg) - len(slots)):
        at = sources[slot] if slot < len(sources) else op
        while caller.types[at] in IDENTITY and caller.input_lists[at]:
            at = caller.input_lists[at][0]
        if caller.types[at] in VALUE_SOURCES:
            values[argument] = at
    return values


def _slots(call: NodeDef, signature: OpDef, types: OpTypes, inputs: int) -> list[int]:
    """The inputs of a call that feed the last arguments of a function.

    The OpDef's lists of tensors are what ops pass on: all of them (PartitionedCall, While, If), or
    those named after the function ("init_func_other_args") or "other_arguments", which come after
    what the op itself passes.
    """
    argument_count = len(signature.input_arg)
    definition = None if call.op == signature.name else types.definition(call.op)
    if definition is None:
        return list(range(inputs)) if inputs == argument_count else []
    lists = _tensor_lists(call, definition)
    every = [slot for _, slots in lists for slot in slots]
    if len(every) == argument_count:
        return every
    labels = tuple(f"{called.label}_" for called in called_functions(call, {signature.name}))
    labelled = [slots for name, slots in lists if name.startswith(labels)] if labels else []
    others = [slots for name, slots in lists if "other_arg" in name]
    best = (labelled or others or [slots for _, slots in lists] or [[]])[-1]
    return best if len(best) <= argument_count else []


def _tensor_lists(call: NodeDef, definition: OpDef) -> list[tuple[str, list[int]]]:
    """(name, input slots) of each input argument that is a list of tensors of any dtypes."""
    lists = []
    at = 0
    for arg in definition.input_arg:
        count = 1
        if arg.type_list_attr:
            count = (
                len(call.attr[arg.type_list_attr].list.type)
                if arg.type_list_attr in call.attr
                else 0
            )
            lists.append((arg.name, list(range(at, at + count))))
        elif arg.number_attr:
            count = max(call.attr[arg.number_attr].i, 0) if arg.number_attr in call.attr else 0
        at += count
    return lists


def _state_of(caller: GraphIndex, op: int, port: int) -> int | None:
    """The op that holds the state which a tensor refers to; None for no such reference."""
    visited = set()
    while op not in visited:
        visited.add(op)
        sources = caller.input_lists[op]
        if not sources:
            return op if _holds_state(caller, op, port) else None
        kind = caller.types[op]
        if kind in FIRST_INPUT_FORWARDING:
            slot = 0
        elif kind in PORTWISE_FORWARDING and port < len(sources):
            slot = port
        else:
            return None
        op, port = sources[slot], int(caller.ports[caller.inputs.start[op] + slot])
    return None


def _holds_state(caller: GraphIndex, op: int, port: int) -> bool:
    kind = caller.types[op]
    if kind in HANDLES:
        return True
    dtype = dict(enumerate(caller.typing.dtypes(caller.nodes[op]))).get(port, "")
    return dtype in ("resource", "string_ref") and kind not in PLACEHOLDERS
