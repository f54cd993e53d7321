"""Clones and edited versions of a function's body, as tf.Modules; see
`runtime.functions.module_clone`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tfgraphwidget import edits, runtime, sources
from tfgraphwidget.editor import clone_values
from tfgraphwidget.editor.graph_view import GraphView
from tfgraphwidget.editor.places import CalledFunction
from tfgraphwidget.editor.signature_boundary import signature_boundary
from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import (
    BodyState,
    GraphIndex,
    Signature,
    between,
    effects_of,
    traversal,
    unused_inputs,
    unused_inputs_notice,
)
from tfgraphwidget.naming import identifier, split_tensor
from tfgraphwidget.tf_types import Tensor, Variable

if TYPE_CHECKING:
    from tfgraphwidget.edits import FunctionBoundary, Preview
    from tfgraphwidget.edits.clone import Clone
    from tfgraphwidget.runtime.functions import ModuleCopy
    from tfgraphwidget.sources import Body, Source

_NONE: Mapping[str, Variable | Tensor] = MappingProxyType({})


def edited_state(
    source: Source,
    body: Body,
    index: GraphIndex,
    patches: Iterable[edits.Patch],
    captured: Mapping[str, Variable | Tensor] = _NONE,
) -> BodyState:
    """The state of a body as edits have left it, by the names of the ops that represent it in
    `index`: what it captured, what new ops capture, and what edits have brought into the graph that
    was opened, live variables by op.
    """
    patches = tuple(patches)
    names_before: dict[str, str] = {}
    new: dict[str, Any] = {}
    for patch in patches:
        names_before, renamed = _names_before(names_before, patch), dict(patch.renamed)
        new = {**{renamed.get(name, name): live for name, live in new.items()}, **patch.new_state}
    new |= {
        name: live
        for name, origin in (body.origins or {}).items()
        if (live := captured.get(origin)) is not None
    }
    traced = {
        patch.scopes[0]: patch.traced
        for patch in patches
        if patch.traced is not None and patch.traced.graph
    }
    traced |= {scope: trace for patch in patches for scope, trace in patch.traces if trace.graph}
    return sources.EditedState(
        sources.captured_state(source, body), index, new, traced, names_before
    )


def _names_before(names_before: Mapping[str, str], patch: edits.Patch) -> dict[str, str]:
    """The first names of ops by their present ones, after one more edit."""
    moved = {new: names_before.get(old, old) for old, new in patch.renamed}
    others = names_before.keys() - {old for old, _ in patch.renamed}
    return {**{name: names_before[name] for name in others}, **moved}


def graph_state(source: Source, index: GraphIndex, patches: Iterable[edits.Patch]) -> BodyState:
    """The state of a graph itself after edits, for a part of it that becomes a function."""
    names: dict[str, str] = {}
    for patch in patches:
        names = _names_before(names, patch)
    return sources.GraphState(source, source.body, index, names)


def clone_modules(
    command: Clone, source: Source, state: BodyState, view: GraphView, boundary: FunctionBoundary
) -> tuple[ModuleCopy, ...]:
    """The tf.Modules that are clones of a part of a function's body with this state, one for each
    scope of the command, in order. Raises GraphEditError, NotClonable, NoPath, SessionRefused and
    others for what a module cannot be.
    """
    command, index = _with_replaced(command, view.index)
    inputs, outputs, also, notices = _module_boundary(command, index)
    arguments, returns = boundary
    source.trust.check(
        effects_of(index, source.trust).of_run(outputs, inputs), "no function was made of it"
    )
    structure = _edited_structure(source, view, state, arguments)
    variables = command.variables if isinstance(command.variables, str) else dict(command.variables)
    first_values = _first_values(command, source, state, view, index)

    def values(names: Sequence[str]) -> Mapping[str, object]:
        present: Mapping[str, object] = first_values(names).values()
        return present

    modules, devices = [], _devices(command, index)
    for k, scope in enumerate(command.scopes):
        module = runtime.functions.module_clone.as_module(
            *(index, state, inputs, outputs, scope),
            variables=variables,
            init="none" if command.init == "none" else values,
            also=also,
            devices=devices[k],
            reseed=command.reseed,
            src_scope=command.src_scope,
            arguments=arguments,
            returns=_by_key(source, view, returns),
            structure=structure,
        )
        module.take_regularizers(sources.keras_regularizers(source.model))
        module.report = _with_notices(module.report, notices)
        modules.append(module)
    return tuple(modules)


def _first_values(
    command: Clone, source: Source, state: BodyState, view: GraphView, index: GraphIndex
) -> Callable[[Sequence[str]], clone_values.FunctionValues]:
    """What gives the first values of new variables, by the names of their originals."""
    saved_names = sources.SavedNames(source, view.body.origins or {}, state.live)
    fresh = source.fresh_values(reseed=command.reseed)

    def values_of(names: Sequence[str]) -> clone_values.FunctionValues:
        return clone_values.FunctionValues(index, command.init, state, names, fresh, saved_names.of)

    return values_of


def _devices(command: Clone, index: GraphIndex) -> list[dict[str, str] | None]:
    """The devices of each copy, by op; invalid ones are refused before a variable is made."""
    copies = range(len(command.scopes))
    devices = [edits.clone.copied_devices(command, index, range(len(index)), k) for k in copies]
    for chosen in devices:
        runtime.sandbox.check_device_names({device: op for op, device in (chosen or {}).items()})
    return devices


def graph_source(
    source: Source, state: BodyState, view: GraphView, boundary: FunctionBoundary
) -> Source:
    """The current function's body as a graph with a session; see `runtime.functions`.

    Returns:
        The opened graph. Its signature has the names of the function's parameters too, where these
        are known.

    Raises:
        NotClonable: The body reads state that cannot be reached.
        SessionRefused: A variable has no value.
    """
    source.trust.check(
        effects_of(view.index, source.trust).of_graph(), "no graph was made of the function"
    )
    source_of_body = runtime.functions.body_graph.body_source(
        view.index, state, *boundary, source.title
    )
    source_of_body.initial_values = source.initial_values
    structure, signature = _structure(source, view), source_of_body.signature
    if (
        structure is not None
        and signature is not None
        and len(structure.tensor_parameters) == len(signature.inputs)
    ):
        pairs = zip(structure.tensor_parameters, signature.inputs, strict=True)
        keyword_inputs = tuple((name, tensor) for name, (_, tensor) in pairs if name)
        source_of_body.signature = dataclasses.replace(
            signature, inputs=(*signature.inputs, *keyword_inputs)
        )
    return source_of_body


def preview(
    command: Clone, source: Source, state: BodyState, view: GraphView, boundary: FunctionBoundary
) -> Preview:
    """Preview `clone_modules`, which raises for the same reasons; nothing is made."""
    command, index = _with_replaced(command, view.index)
    inputs, outputs, also, notices = _module_boundary(command, index)
    arguments, returns = boundary
    variables = command.variables if isinstance(command.variables, str) else dict(command.variables)
    _devices(command, index)
    first_values = _first_values(command, source, state, view, index)
    copy_preview = runtime.functions.module_clone.preview(
        *(index, state, (inputs, outputs), command.into, variables, also),
        (arguments, _by_key(source, view, returns)),
        _edited_structure(source, view, state, arguments),
        check_init="none" if command.init == "none" else lambda names: first_values(names).check(),
        src_scope=command.src_scope,
    )
    return dataclasses.replace(_with_notices(copy_preview, notices), scopes=command.scopes)


def _copy_body(
    state: BodyState,
    index: GraphIndex,
    boundary: FunctionBoundary,
    into: str,
    structure: sources.CallStructure | None,
) -> ModuleCopy:
    """A whole body as a tf.Module that takes and gives `boundary`, with the variables that the
    function has.

    `index` is the body as edits have left it.
    """
    arguments, returns = boundary
    arguments_left = tuple(name for name in arguments if split_tensor(name)[0] not in state.names)
    is_live = all(state.live(name) is not None for name in state.names)
    return runtime.functions.module_clone.as_module(
        *(index, state, arguments_left if structure is None else (), (), into),
        variables="shared" if is_live else "own",
        # Takes arguments that nothing here reads, too.
        also=frozenset(index.op(name) for name in returns.values()),
        arguments=arguments,
        returns=returns,
        structure=structure,
    )


def _structure(source: Source, view: GraphView) -> sources.CallStructure | None:
    """How a function is called; None for one that others call, unless it computes a signature."""
    body, target = view.body, view.target
    if body.origins is None or source.signature is None or not isinstance(target, CalledFunction):
        return source.structure if body.origins is None else None
    keys = signature_boundary(source.signature, view).inputs
    arguments, returns = target.edition.boundary
    tensors = {identifier(keys[tensor]): tensor for tensor in arguments if tensor in keys}
    return sources.CallStructure.of_tensors(
        view.index, tensors, len(_by_key(source, view, returns))
    )


def _with_notices(report: Preview, notices: tuple[str, ...]) -> Preview:
    return dataclasses.replace(report, dropped=(*notices, *report.dropped))


def _with_replaced(command: Clone, index: GraphIndex) -> tuple[Clone, GraphIndex]:
    """A command that has no `replace`, and a body whose ops read what that says.

    A module reads nothing of the original, so what is read instead is computed in the module too;
    NotClonable is raised where it has another dtype or is computed from what it replaces.
    """
    if not command.replace:
        return command, index
    rewriter = edits.rewrite.ConsumerRewriter(index)
    for old, new in command.replace:
        end, other = index.tensor(old), index.tensor(new)
        if index.dtypes(end[0])[end[1]] != index.dtypes(other[0])[other[1]]:
            raise NotClonable(
                f"replace: {new!r} has another dtype than {old!r}; name a tensor of the same one.",
                [new],
            )
        if traversal.backward(index, [other[0]])[end[0]]:
            raise NotClonable(
                f"replace: {new!r} is computed from {old!r}, so it cannot be read in its place; "
                "name a tensor that does not need it.",
                [new],
            )
        for consumer in dict.fromkeys(index.consumer_lists[end[0]]):
            rewriter.redirect(consumer, end, edits.rewrite.tensor_name(index, other))
    replaced = {edits.rewrite.tensor_name(index, index.tensor(old)) for old, _ in command.replace}
    inputs = tuple(
        name
        for name in command.inputs
        if edits.rewrite.tensor_name(index, index.tensor(name)) not in replaced
    )
    rewired = edits.apply_patch(index, edits.Patch(changed=rewriter.changes()))
    return dataclasses.replace(command, inputs=inputs, replace=()), rewired


def _module_boundary(
    command: Clone, index: GraphIndex
) -> tuple[tuple[str, ...], tuple[str, ...], Collection[int], tuple[str, ...]]:
    """Inputs that the outputs use, outputs, further ops, and the notice for other inputs.

    Raises NoPath.
    """
    command.check_options()
    if command.selection is None:
        unused: tuple[str, ...] = ()
        if command.inputs and command.outputs:
            # Else it is the whole function, or all that its results need.
            unused = unused_inputs(
                index, command.inputs, between(index, command.inputs, command.outputs).mask
            )
        used_inputs = tuple(name for name in command.inputs if name not in unused)
        return used_inputs, command.outputs, (), unused_inputs_notice(unused, command.outputs)
    selection = edits.clone.selected_part(index, command.selection)
    inputs, outputs = selection.boundary
    return inputs, outputs, selection.ids, ()


def edited_module(
    source: Source, state: BodyState, view: GraphView, boundary: FunctionBoundary, name: str
) -> ModuleCopy:
    """The current function after edits, and its signature, as a tf.Module; see `to_module`."""
    arguments, returns = boundary
    structure = _edited_structure(source, view, state, arguments)
    module = _copy_body(
        state, view.index, (arguments, _by_key(source, view, returns)), name, structure
    )
    module.take_regularizers(sources.keras_regularizers(source.model))
    return module


def signature_module(
    state: BodyState, index: GraphIndex, signature: Signature, name: str
) -> ModuleCopy:
    """A signature of tensors of an edited function's body as a tf.Module, with its variables."""
    tensors = {identifier(key): tensor for key, tensor in signature.inputs}
    structure = sources.CallStructure.of_tensors(index, tensors, len(signature.outputs))
    return _copy_body(
        state, index, (tuple(tensors.values()), dict(signature.outputs)), name, structure
    )


def _edited_structure(
    source: Source, view: GraphView, state: BodyState, now: Sequence[str]
) -> sources.CallStructure | None:
    """How a function is called that edits may have given further arguments, which come last."""
    structure, before, index = _structure(source, view), view.body.arguments, view.index
    if structure is None:
        return None
    further = [name for name in now[len(before) :] if split_tensor(name)[0] not in state.names]
    if not further or tuple(now[: len(before)]) != tuple(before):
        return structure
    tensors = {identifier(split_tensor(name)[0]): name for name in further}
    return structure.with_arguments(
        dict(
            zip(
                tensors,
                sources.CallStructure.of_tensors(index, tensors, 1).tensor_specs,
                strict=True,
            )
        )
    )


def _by_key(source: Source, view: GraphView, returns: Mapping[str, str]) -> dict[str, str]:
    """The results by the keys of the signature, in the body that computes it."""
    if source.signature is None or view.body.origins is None:
        return dict(returns)
    keys: dict[str, list[str]] = {}
    for key, result in signature_boundary(source.signature, view).outputs.items():
        keys.setdefault(result, []).append(key)
    return {key: result for name, result in returns.items() for key in keys.get(result, [name])}
