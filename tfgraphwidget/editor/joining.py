"""Joining: another graph, function or model as a part of a function's body.

A function holds no variables of a session. So what is added is made a tf.Module first, whose
variables have the present values, and the ops that it makes come into the body; the function
captures the variables, as those that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tfgraphwidget import edits, runtime
from tfgraphwidget.editor import clone_values, function_bodies
from tfgraphwidget.editor.navigator import added_graph
from tfgraphwidget.editor.traced_growth import GrowthResult
from tfgraphwidget.errors import GraphEditError, NotClonable, UnknownName
from tfgraphwidget.export import apparent_signature
from tfgraphwidget.graph import (
    REQUIRED_PLACEHOLDERS,
    BodyState,
    GraphIndex,
    Signature,
    are_compatible,
    chosen_of,
    effects_of,
    needed_ops,
)
from tfgraphwidget.messages import copy_without_inputs
from tfgraphwidget.naming import count_text, free_name, identifier, known_instead, split_tensor
from tfgraphwidget.runtime import live
from tfgraphwidget.sentences import drawn_shape, either
from tfgraphwidget.sources import Source

if TYPE_CHECKING:
    from tfgraphwidget.edits import FunctionBoundary, PlanContext
    from tfgraphwidget.edits.clone import Add
    from tfgraphwidget.graph import Shape
    from tfgraphwidget.runtime.functions import ModuleCopy  # noqa: TC004  # a string at run time
    from tfgraphwidget.tf_types import NodeDef


@dataclass(frozen=True, eq=False)
class AdditionResult(GrowthResult):
    """What `add` returns in a function: `joined["x:0"]` is the new name of an added tensor.

    `outputs` maps the keys of its results to their names in the function. `module` computes it
    alone, with the same variables.
    """

    module: ModuleCopy
    names: Mapping[str, str] = field(repr=False)

    def __getitem__(self, original: object) -> str:
        """The name in the function for a name of what was added, its arguments and results
        included.

        Raises UnknownName for what was not added.
        """
        name = str(getattr(original, "name", original))
        op, port = split_tensor(name)
        for key in (name, f"{op}:0") if port is None else (name,):
            if key in self.names:
                return self.names[key]
        if op not in self.names:
            raise UnknownName(
                f"{name!r} was not added as {self.scope!r}{known_instead(name, [*self.names])}",
                [name],
            )
        return self.names[op] if port is None else f"{self.names[op]}:{port}"

    __iter__ = None  # else Python would take the numbers from 0 on for names

    def sync(self, tau: float = 1.0) -> None:
        """Give the variables the present values of those that were added; see `ModuleCopy.sync`.

        Args:
            tau: The share of the originals' values, from 0 to 1.
        """
        self.module.sync(tau)

    def __repr__(self) -> str:
        counts = f"{count_text(len(self.ops), 'op')}, {count_text(len(self.variables), 'variable')}"
        return f"<AdditionResult {self.scope!r}: {counts}>"


@dataclass(frozen=True, eq=False)
class _Joining:
    """The source to add: a graph or a function's body, its state, arguments and results by key."""

    index: GraphIndex
    state: BodyState
    arguments: Mapping[str, str]
    returns: Mapping[str, str]
    init: str
    fresh: Callable[[], Mapping[str, object]] | None


def join(command: Add, context: PlanContext) -> tuple[edits.Patch, AdditionResult]:
    """Add a graph, a function or a model to the body of a function that was opened itself; the
    patch of the body, and what it brings in.

    Inputs that are not connected become further arguments of the function, and all results further
    results.

    Raises:
        GraphEditError: It cannot be a part of a function; NotClonable, UnknownName and others say
            why.
    """
    index, into, boundary = context.index, command.into, context.boundary
    assert boundary is not None  # only a function that was opened itself is edited so
    edits.clone.check_own_scope(command, index)
    joining = _joining(command)
    connected = {_tensor_of(joining, name, into): own for name, own in command.connect}
    inputs = _inputs(joining, connected)
    devices = dict.fromkeys(joining.index.names, "") if command.clear_devices else None
    module = _module(joining, inputs, into, devices)
    new = _argument_names(index, into, [name for name in module.inputs if name not in connected])
    placeholders = tuple(_placeholder(joining.index, name, op) for name, op in new.items())
    index = edits.apply_patch(
        index, context.infer_shapes(index, edits.Patch(add=edits.Change(nodes=placeholders)))
    )
    sources = [
        edits.rewrite.tensor_name(index, index.tensor(connected[name]))
        if name in connected
        else f"{new[name]}:0"
        for name in module.inputs
    ]
    specs = [
        (joining.index.tensor_dtype(name), joining.index.tensor_shape(name))
        for name in module.inputs
    ]
    for name, source, spec in zip(module.inputs, sources, specs, strict=True):
        if name in connected:
            _check_fits(context, name, source, spec)
    inlined = module.inlined
    traced = live.traced_ops.trace_in_function(
        inlined, specs, infos=inlined.infos, input_names=inlined.input_names
    )
    graft = edits.rewrite.graft_function(traced, index, sources, into)
    results_here = dict(zip(module.outputs, graft.outputs, strict=True))
    outputs = {key: results_here[name] for key, name in joining.returns.items()}
    change = replace(graft.change, nodes=(*placeholders, *graft.change.nodes))
    further = [f"{op}:0" for op in new.values()]
    patch = edits.Patch(
        add=change,
        scopes=(into,),
        report=edits.Report(graft.notes),
        traced=graft.traced,
        boundary=_boundary_after(boundary, into, further, outputs),
    )
    patch = replace(context.infer_shapes(context.index, patch), function=context.function)
    ops = tuple(node.name for node in change.nodes)
    variables = tuple(value for value in graft.traced.captured.values() if hasattr(value, "assign"))
    names = _names(joining, into, ops, dict(zip(module.inputs, sources, strict=True)), outputs)
    return patch, AdditionResult(into, outputs, variables, ops, module, names)


def _argument_names(index: GraphIndex, into: str, tensors: Sequence[str]) -> dict[str, str]:
    """The names of the placeholders of further arguments, by the tensors of what is added."""
    names_in_use = {name.lower() for name in index.names} | index.reserved
    names: dict[str, str] = {}
    for name in tensors:
        names[name] = free_name(
            f"{identifier(into)}_{identifier(split_tensor(name)[0])}", names_in_use
        )
        names_in_use.add(names[name].lower())
    return names


def _boundary_after(
    boundary: FunctionBoundary, into: str, arguments: Sequence[str], outputs: Mapping[str, str]
) -> FunctionBoundary:
    """The arguments and results of the function, and after them those of what is added."""
    scope = into.replace("/", "_")
    keys = [scope] if len(outputs) == 1 else [f"{scope}_{key}" for key in outputs]
    added: dict[str, str] = {}
    for key, name in zip(keys, outputs.values(), strict=True):
        added[free_name(key, {other.lower() for other in (*boundary[1], *added)})] = name
    return (*boundary[0], *arguments), {**boundary[1], **added}


def _joining(command: Add) -> _Joining:
    """Open the source that a command adds."""
    source, target, view, patches, signatures = added_graph(command)
    source.trust.check(effects_of(view.index, source.trust).of_graph(), "it was not added")
    if source.refusal:
        state = function_bodies.edited_state(source, view.body, view.index, patches)
        arguments, returns = edits.track_boundary(view.body.arguments, view.body.returns, patches)
        tensors = tuple(name for name in arguments if split_tensor(name)[0] not in state.names)
        by_key = dict(zip(_keys_of(source, tensors), tensors, strict=True))
        return _Joining(view.index, state, by_key, returns, "current", source.fresh_values())
    index = target.index
    signature = chosen_of(signatures, source.signature)
    state = function_bodies.graph_state(source, index, patches)
    return _of_graph(source, index, state, signature or apparent_signature(index))


def _of_graph(
    source: Source, index: GraphIndex, state: BodyState, signature: Signature
) -> _Joining:
    boundary = (dict(signature.inputs), dict(signature.outputs))
    init = "current" if source.has_values else "initial"
    return _Joining(index, state, *boundary, init, source.fresh_values())


def graph_module(
    source: Source,
    index: GraphIndex,
    patches: Iterable[edits.Patch],
    signature: Signature,
    name: str,
) -> ModuleCopy:
    """Return a graph as edits have left it as a tf.Module with its own variables; the signature
    names its arguments and results. Raises GraphEditError where a function cannot hold the graph.
    """
    boundary = (
        [tensor for _, tensor in signature.inputs],
        [tensor for _, tensor in signature.outputs],
    )
    source.trust.check(
        effects_of(index, source.trust).of_run(boundary[1], boundary[0]),
        "no function was made of it",
    )
    joining = _of_graph(
        source, index, function_bodies.graph_state(source, index, patches), signature
    )
    inputs = _inputs(joining, dict.fromkeys(joining.arguments.values(), ""))
    return _module(joining, inputs, name)


def _module(
    joining: _Joining, inputs: Sequence[str], into: str, devices: Mapping[str, str] | None = None
) -> ModuleCopy:
    def values(names: Sequence[str]) -> Mapping[str, object]:
        state = joining.state
        return clone_values.FunctionValues(
            joining.index, joining.init, state, names, joining.fresh
        ).values()

    return runtime.functions.module_clone.as_module(
        joining.index,
        joining.state,
        inputs,
        tuple(dict.fromkeys(joining.returns.values())),
        into,
        init=values,
        arguments=tuple(joining.arguments.values()),
        returns=joining.returns,
        devices=devices,
    )


def _keys_of(source: Source, tensors: Sequence[str]) -> list[str]:
    """The names of a function's parameters for its tensors."""
    structure = source.structure
    keys = [] if structure is None else list(structure.tensor_parameters)
    keys = keys if len(keys) == len(tensors) else [""] * len(tensors)
    return [name or split_tensor(tensor)[0] for name, tensor in zip(keys, tensors, strict=True)]


def _inputs(joining: _Joining, connected: Mapping[str, str]) -> tuple[str, ...]:
    """The tensors that enter: connected ones, and placeholders that the results need besides."""
    index = joining.index
    outputs = list(joining.returns.values())
    needed = needed_ops(index, list(connected), [name for name in outputs if name not in connected])
    fed = {split_tensor(name)[0] for name in connected}
    arguments = [
        name
        for name in joining.arguments.values()
        if name not in connected and needed[index.op(name)]
    ]
    fed |= {split_tensor(name)[0] for name in arguments} | set(joining.state.names)
    free = [
        f"{name}:0"
        for name, kind, is_needed in zip(index.names, index.types, needed.tolist(), strict=True)
        if is_needed and kind in REQUIRED_PLACEHOLDERS and name not in fed
    ]
    return (*connected, *arguments, *free)


def _tensor_of(joining: _Joining, name: str, into: str) -> str:
    """The tensor of what is added that a key of `connect` names."""
    index = joining.index
    own = name if split_tensor(name)[0] in index.ids else name.removeprefix(f"{into}/")
    if split_tensor(own)[0] not in index.ids and own in joining.arguments:
        return joining.arguments[own]
    if split_tensor(own)[0] not in index.ids and joining.arguments:
        raise UnknownName(
            either("connect= names", "To connect is")
            + f" {name!r}, and what is added has no such tensor or argument"
            + known_instead(name, [*joining.arguments]),
            [name],
        )
    index.op(own)
    return own if split_tensor(own)[1] is not None else f"{own}:0"


def _check_fits(context: PlanContext, name: str, source: str, spec: tuple[str, Shape]) -> None:
    """Raise NotClonable for a tensor of another dtype or shape than the one that it replaces."""
    index = context.index
    dtype, shape = index.tensor_dtype(source), index.tensor_shape(source)
    if dtype != spec[0] or not are_compatible(shape, spec[1]):
        raise NotClonable(
            f"connect: {source!r} is {dtype} "
            + _text(shape)
            + f", and {name!r} is {spec[0]} "
            + _text(spec[1])
            + "; connect a tensor of the same dtype and shape.",
            [source],
        )


def _text(shape: Shape) -> str:
    return "of unknown shape" if shape is None else drawn_shape(shape)


def _placeholder(index: GraphIndex, name: str, new: str) -> NodeDef:
    """The placeholder of a further argument."""
    op = split_tensor(name)[0]
    node = index.nodes[index.ids[op]]
    if node.op not in REQUIRED_PLACEHOLDERS:
        raise GraphEditError(
            f"{name!r} is not a placeholder; connect it to a tensor of the function.", [name]
        )
    return copy_without_inputs(node, new)


def _names(
    joining: _Joining,
    into: str,
    ops: Sequence[str],
    sources: Mapping[str, str],
    outputs: Mapping[str, str],
) -> dict[str, str]:
    """The names in the function by those of what was added, and by keys of its boundary."""
    op_names = set(ops)
    names = {name: f"{into}/{name}" for name in joining.index.names if f"{into}/{name}" in op_names}
    names |= {name: source for name, source in sources.items() if source != f"{into}/{name}"}
    names |= {
        key: sources[name]
        for key, name in joining.arguments.items()
        if name in sources and key not in names
    }
    return names | {key: name for key, name in outputs.items() if key not in names}
