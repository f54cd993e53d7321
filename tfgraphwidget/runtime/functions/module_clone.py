"""Clones of a function's body: tf.Modules with variables of their own.

A function cannot be edited in place, and its copy needs no graph around it: it is a callable that
holds its variables. What the body captured, or what its callers feed to it from variables and
tables, becomes a new `tf.Variable` or table, or stays shared; the ops are imported into a new
tf.function, so that gradients and saving work as for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfgraphwidget.edits import Preview, State
from tfgraphwidget.edits.clone import Excerpt, copied_names, excerpt
from tfgraphwidget.errors import NameTaken, NotClonable
from tfgraphwidget.graph import (
    ENTER,
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    HANDLE_DTYPES,
    PYTHON_CALLS,
    REMOTE_CALLS,
    RESOURCE_QUERIES,
    SWITCH,
    V1_CONTROL_FLOW,
    BodyState,
    Contexts,
    GraphIndex,
    called_definitions,
    control_flow_ops,
    side_effects,
)
from tfgraphwidget.naming import free_name, identifier, is_scope_name, split_tensor, take_free_name
from tfgraphwidget.runtime.functions.body_import import (
    InlinedModule,
    OwnNodes,
    import_part,
    load_with_gradients,
)
from tfgraphwidget.runtime.functions.custom_gradients import (
    called_gradients,
    gradients,
    reads_outside,
)
from tfgraphwidget.runtime.functions.module_state import (
    CheckInit,
    Init,
    StateNames,
    States,
    Variables,
    make_states,
    plan_states,
)
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import CallStructure, CaptureInfo, static_shape
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import eager_mode, is_eager_by_default, watch_variable
from tfgraphwidget.tf_types import Tensor

if TYPE_CHECKING:
    from tfgraphwidget.runtime.functions.module_copy import ModuleCopy

# Stateful by their OpDefs, which says nothing of what the functions do that they call.
_CALLS = FUNCTION_CALLS | REMOTE_CALLS | FUNCTIONAL_CONTROL_FLOW


def as_module(
    index: GraphIndex,
    body_state: BodyState,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    into: str = "copy",
    *,
    variables: Variables = "own",
    init: Init = "current",
    also: Collection[int] = (),
    devices: Mapping[str, str] | None = None,
    reseed: bool = False,
    src_scope: str = "",
    arguments: Sequence[str] = (),
    returns: Mapping[str, str] | None = None,
    structure: CallStructure | None = None,
) -> ModuleCopy:
    """The part of a function's body between two boundaries as a tf.Module. The original does not
    change.

    Args:
        index: The body as edits have left it.
        body_state: What the body's handles represent; see `captured_state`.
        inputs: The tensors that enter the part; () for those of `arguments` that it needs.
        outputs: The tensors that leave the part; () for all of `returns`.
        into: The name of the module.
        variables: "own", "shared", or {variable: "own" or "shared"}.
        init: The values of own variables: "current", "initial", or a function from their names to
            the values.
        also: Numbers of more ops to run.
        devices: Devices by op, for ops that do not keep the original's.
        reseed: Whether random ops get new seeds.
        src_scope: The scope that is removed from the names of variables.
        arguments: The tensors that callers pass to the whole function.
        returns: Name of each result of the whole function -> tensor.
        structure: How the whole function is called, for a module without inputs and outputs; None
            if unknown.

    Returns:
        The module.

    Raises:
        GraphEditError: A module cannot be the part; NameTaken, NotClonable, UnknownName and others
            say why.
    """
    _check_possible(into)
    # Whatever graph or name scope is the default one here, a tf.Module's variables live outside of
    # it.
    with eager_mode(), tf.compat.v1.name_scope(None):
        body = _Body(index, body_state, tuple(arguments), returns or {}, structure)
        state = variables, init, devices or {}, src_scope
        return _make(body, (inputs, outputs), into, state, also, reseed=reseed)


def preview(
    index: GraphIndex,
    body_state: BodyState,
    boundary: tuple[Sequence[str], Sequence[str]],
    into: str,
    variables: Variables,
    also: Collection[int],
    body_boundary: tuple[Sequence[str], Mapping[str, str]],
    structure: CallStructure | None = None,
    *,
    check_init: CheckInit = "current",
    src_scope: str = "",
) -> Preview:
    """Preview `as_module`; no variable is made, and no value is read.

    Args:
        index: The body as edits have left it.
        body_state: What the body's handles represent.
        boundary: The inputs and the outputs of the part, each () for those of the function.
        into: The name of the module.
        variables: "own", "shared", or {variable: "own" or "shared"}.
        also: Numbers of more ops to run.
        body_boundary: The arguments and the results of the whole function.
        structure: How the whole function is called; None if unknown.
        check_init: Raises where own variables of these names cannot get their values.
        src_scope: The scope that is removed from the names of variables.

    Returns:
        The ops, and the new and the shared state.

    Raises:
        GraphEditError: The part cannot be copied.
    """
    _check_possible(into)
    body = _Body(index, body_state, tuple(body_boundary[0]), body_boundary[1], structure)
    part, _ = body.copied_part(boundary, also, into, src_scope)
    return _report(part, plan_states(part, body_state, variables, check_init), into)


def _check_possible(into: str) -> None:
    """Raise for a name that is not a scope's, and where no tf.Module can be made."""
    if not is_scope_name(into):
        raise NameTaken(
            f"{into!r} is not a name scope: use letters, digits, '_', '-', '.' and '/', and begin "
            "with a letter or digit."
        )
    if not is_eager_by_default():
        raise NotClonable(
            "A clone of a function's body is a tf.Module, which needs eager execution; "
            + in_cell(
                "take out tf.compat.v1.disable_eager_execution() or disable_v2_behavior(), and "
                "restart Python."
            )
        )


@dataclass(frozen=True, eq=False)
class _Body:
    """A function's body, what its handles represent, and its boundary."""

    index: GraphIndex
    body_state: BodyState
    arguments: Sequence[str]
    returns: Mapping[str, str]
    structure: CallStructure | None

    def excerpt(
        self, boundary: tuple[Sequence[str], Sequence[str]], also: Collection[int]
    ) -> tuple[Excerpt, CallStructure | None]:
        """The ops to copy; and how they are called, if they are a whole known function."""
        index, names = self.index, self.body_state.names
        arguments = [name for name in self.arguments if split_tensor(name)[0] not in names]
        if (
            self.structure is None
            or any(boundary)
            or len(arguments) != len(self.structure.tensor_specs)
        ):
            outputs = boundary[1] or tuple(self.results().values())
            return excerpt(index, names, boundary[0], outputs, also, self.arguments), None
        results = tuple(self.returns.values())
        # Takes arguments that nothing here reads, too.
        ops = {*also, *(index.op(name) for name in results)}
        part = excerpt(index, names, arguments, results, ops, self.arguments)
        return part, self.structure.with_results(tuple(self.returns))

    def copied_part(
        self,
        boundary: tuple[Sequence[str], Sequence[str]],
        also: Collection[int],
        into: str,
        src_scope: str,
    ) -> tuple[Excerpt, CallStructure | None]:
        """The same, with what gradients read. Raises NotClonable for what a module cannot be."""
        index = self.index
        part, structure = self.excerpt(boundary, also)
        if not any(boundary) and (read := reads_outside(part, self.body_state)):
            part, structure = self.excerpt(boundary, {*also, *read})
        has_loops = not control_flow_ops(index).isdisjoint(part.ops)
        if has_loops and (acting := side_effects(index, part.ops)):
            raise NotClonable(
                f"Op {index.names[acting[0]]!r} does more than compute in a function that has "
                "while loops or conditionals of TensorFlow 1, and which of them would run first is "
                "not known; choose boundaries without it.",
                [index.names[op] for op in acting],
            )
        # Refuses a scope that does not hold all variables.
        copied_names(index, part.reused, src_scope, into)
        return part, structure

    def results(self) -> dict[str, str]:
        """The results but for handles of state, which a loop's body hands on."""
        return {
            key: name
            for key, name in self.returns.items()
            if split_tensor(name)[0] not in self.body_state.names
        }


def _make(
    origin: _Body,
    boundary: tuple[Sequence[str], Sequence[str]],
    into: str,
    state: tuple[Variables, Init, Mapping[str, str], str],
    also: Collection[int],
    *,
    reseed: bool,
) -> ModuleCopy:
    index, body_state = origin.index, origin.body_state
    part, structure = origin.copied_part(boundary, also, into, state[3])
    has_loops = not control_flow_ops(index).isdisjoint(part.ops)
    definitions = called_definitions(
        (index.nodes[i] for i in part.ops), index.functions, index.extras.function
    )
    states = make_states(part, body_state, definitions.values(), into, *state)
    own = OwnNodes(into if reseed else None, state[2])
    variables = {**states.variables, **states.shared}
    functions = load_with_gradients(
        definitions, called_gradients(body_state, definitions), variables, own
    )
    own_gradients = gradients(part, body_state)
    from tfgraphwidget.runtime.functions.module_copy import ModuleCopy  # a tf.Module

    module = ModuleCopy(part, states, functions, into, body_state, _report(part, states, into))
    bodies = (node.op for definition in definitions.values() for node in definition.node_def)
    module.is_differentiable = V1_CONTROL_FLOW.isdisjoint(bodies) and (
        not has_loops or _has_plain_conditionals(index, part.ops)
    )

    def add_ops(values: dict[str, Tensor], captured: dict[str, Tensor], scope: str) -> list[Tensor]:
        return import_part(part, functions, own_gradients, {**values, **captured}, scope, own)

    def plain_body(values: dict[str, Tensor]) -> dict[str, Tensor]:
        outputs = add_ops(values, _capture_state(states), module.name)
        return dict(zip(module.outputs, outputs, strict=True))

    body = _without_control_dependencies(plain_body) if has_loops else plain_body

    def inline(*tensors: Tensor) -> list[Tensor]:
        names_in_use = {index.names[i].lower() for i in part.ops}
        return add_ops(
            dict(zip(module.inputs, tensors, strict=True)), _capture_state(states, names_in_use), ""
        )

    infos = {
        id(variable.handle): CaptureInfo(name, variable.trainable)
        for name, variable in module.named_variables.items()
    }
    used_names = {index.names[i].lower() for i in part.ops}
    input_names = tuple(
        free_name(f"{module.name}_input_{k}", used_names) for k in range(len(part.inputs))
    )
    module.inlined = InlinedModule(inline, infos, input_names)

    names = [] if structure is None else [spec.name for spec in structure.tensor_specs]
    specs = _parameters(part, names)
    if structure is not None:
        results = dict(origin.returns)
    else:
        keys = {name: key for key, name in origin.results().items()}
        results = _by_free_keys(module.outputs, keys)
    flat = CallStructure.flat(specs, len(results))
    module._trace(
        flat if structure is None else structure.with_specs([*specs.values()]), flat, results, body
    )
    return module


def _has_plain_conditionals(index: GraphIndex, ops: Iterable[int]) -> bool:
    """Whether the control flow of TensorFlow 1 among ops is one that it differentiates without what
    Python knew of it.

    That is so of conditionals that lie in no other conditional or loop, and hand on no variable.
    """
    contexts = Contexts(index)
    for op in ops:
        kind = index.types[op]
        if kind in ENTER or len(contexts.path(contexts.inside[op])) > 1:
            return False
        dtype = index.dtypes(op)[0] if kind in SWITCH else ""
        if dtype in HANDLE_DTYPES or dtype.endswith("_ref"):
            return False
    return True


def _without_control_dependencies(
    body: Callable[[dict[str, Tensor]], dict[str, Tensor]],
) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    """A function of tensors by name that calls `body` as a function of TensorFlow 1.

    A tf.function makes its results wait for ops that might do something, those inside of a v1 loop
    too, which no op outside of the loop can wait for.
    """

    def call(values: dict[str, Tensor]) -> dict[str, Tensor]:
        names = list(values)
        signature = [tf.TensorSpec(values[name].shape, values[name].dtype) for name in names]
        inner = tf.compat.v1.wrap_function(
            lambda *inside: body(dict(zip(names, inside, strict=True))), signature
        )
        outputs: dict[str, Tensor] = inner(*values.values())
        return outputs

    return call


def _capture_state(states: States, names_in_use: set[str] | None = None) -> dict[str, Tensor]:
    """The tensors of state in the function that is being traced, by the name of the original's
    tensor.

    `names_in_use` are names that no placeholder of it may have.
    """
    graph = tf.compat.v1.get_default_graph()
    state_tensors: dict[str, object] = {**states.handles, **states.constants}
    state_tensors |= {name: table.resource_handle for name, table in states.tables.items()}
    for name, variable in (*states.variables.items(), *states.shared.items()):
        watch_variable(variable)  # else no tape watches it
        state_tensors[name] = variable.handle
    if names_in_use is None:
        return {f"{name}:0": graph.capture(tensor) for name, tensor in state_tensors.items()}
    captured = {}
    for name, tensor in state_tensors.items():
        placeholder = take_free_name(f"{identifier(name)}_captured", names_in_use)
        captured[f"{name}:0"] = graph.capture(tensor, name=placeholder)
    return captured


def _plain(tensor: str) -> str:
    """A tensor's name as the name of a result: without ":0"."""
    op, port = split_tensor(tensor)
    return op if not port else f"{op}_{port}"


def _by_free_keys(outputs: Iterable[str], keys: Mapping[str, str]) -> dict[str, str]:
    """Outputs by keys of their own, the known ones where they are free: what port 1 of "unstack"
    would be called, an op may be.
    """
    results: dict[str, str] = {}
    for name in outputs:
        key = keys.get(name, _plain(name))
        results[name if key in results else key] = name
    return results


def _parameters(part: Excerpt, names: Sequence[str | None]) -> dict[str, tf.TensorSpec]:
    """Name of each parameter -> its dtype and static shape, per input; `names` are known ones."""
    index = part.index
    specs: dict[str, tf.TensorSpec] = {}
    tensors = part.names(part.inputs)
    for (op, port), tensor, other in zip(
        part.inputs, tensors, names or [None] * len(tensors), strict=True
    ):
        name = free_name(
            identifier(other or _plain(tensor)), {other.lower() for other in specs} | {"self"}
        )
        dtype = tf.as_dtype(index.dtypes(op)[port])
        specs[name] = tf.TensorSpec(static_shape(index.shape(op, port)), dtype, name=name)
    return specs


def _report(part: Excerpt, states: States | StateNames, into: str) -> Preview:
    index = part.index
    names = tuple(index.names[i] for i in part.ops)
    new = {
        **dict.fromkeys(states.variables, "variable"),
        **dict.fromkeys(states.tables, "hash table"),
    }
    shared = {
        **dict.fromkeys(states.shared, "variable"),
        **dict.fromkeys(states.handles, "resource"),
    }
    notes = [
        f"{index.names[op]!r} no longer waits for {index.names[control_input]!r}, which is "
        "not copied."
        for op, control_input in part.waits
    ]
    notes += [
        f"{index.names[i]!r} calls a Python function of this process: a SavedModel of the clone "
        "runs nowhere else."
        for i in part.ops
        if index.types[i] in PYTHON_CALLS
    ]
    return Preview(
        ops=names,
        scopes=(into,),
        inputs=part.names(part.inputs),
        new=tuple(State(new[name], name) for name in sorted(new, key=index.ids.__getitem__)),
        shared=tuple(
            State(shared[name], name) for name in sorted(shared, key=index.ids.__getitem__)
        ),
        stateful=tuple(
            (index.types[i], index.names[i])
            for i in part.ops
            if _is_stateful(index, index.types[i])
        ),
        dropped=tuple(notes),
    )


def _is_stateful(index: GraphIndex, kind: str) -> bool:
    definition = index.typing.definition(kind)
    return (
        definition is not None
        and definition.is_stateful
        and kind not in RESOURCE_QUERIES
        and kind not in _CALLS
    )
