"""Clone: an independent copy of a part of the graph, including its variables.

Planning is pure: `Clone.plan` resolves what is copied (`Part`), under which names, and what goes
along; `copying` knows what a NodeDef names, `graph.state_closure` what makes a variable or a table
whole, `graph.loop_closure` what makes up a loop. Control inputs from ops outside the part are kept:
the copy waits for what the original waits for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from pathlib import PurePath
from typing import Annotated, Any, Literal, get_args

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits import control_flow_contexts, old_ops, queue_runners
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.clone import seeds
from tfgraphwidget.edits.clone.boundary_inputs import (
    BoundaryInputs,
    boundary_inputs,
    copied_frame_names,
)
from tfgraphwidget.edits.clone.function_library import copy_functions, state_keys
from tfgraphwidget.edits.clone.node_copier import ONE_OF_A_KIND, NodeCopier, complete_variable
from tfgraphwidget.edits.clone.scopes import (
    MOST_COPIES,
    check_free,
    check_size,
    copied_devices,
    copied_names,
    taken_names,
)
from tfgraphwidget.edits.command import Command, Planner, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Change, Patch, Preview, Report, State
from tfgraphwidget.edits.registry import register
from tfgraphwidget.errors import GraphEditError, NameTaken, NotClonable
from tfgraphwidget.graph import (
    HANDLES,
    TABLE,
    V1_CONTROL_FLOW,
    GraphIndex,
    Selection,
    StateWriters,
    VariableDef,
    between,
    complete_blocks,
    complete_state,
    copied_frames,
    definitions,
    is_placeholder,
    mask_of,
    needed_ops,
    new_keys,
    pairs,
    persistent_state,
    resources,
    shared_state,
    side_effects,
    unused_inputs,
    unused_inputs_notice,
    unused_slots,
    with_state,
    without_shared,
)
from tfgraphwidget.naming import (
    free_name,
    is_scope_name,
    known_instead,
    names_text,
    split_tensor,
)
from tfgraphwidget.sentences import argument_value, clone_with, either
from tfgraphwidget.tf_types import ContextDef, Session

# Modes: whether a copy has separate state or shares the original's

Mode = Literal["own", "shared"]
Modes = Mode | tuple[tuple[str, Mode], ...]
"""For all state, or for each variable or scope by name."""


def check_modes(variables: object) -> None:
    """Raise GraphEditError for modes of variables, or one mode, that are none."""
    modes: list[object] = [variables]
    if isinstance(variables, tuple):
        modes = [
            pair[1] if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in variables
        ]
    for mode in modes:
        if not isinstance(mode, str) or mode not in get_args(Mode):
            raise GraphEditError(
                argument_value("variables", value_text(mode))
                + " is not known; it is one of 'own', 'shared'."
            )


def shared_handles(index: GraphIndex, variables: Modes, members: set[int]) -> frozenset[int]:
    """The ops that hold the state which a copy shares with the original. Raises GraphEditError
    where `variables` names no state of the part.
    """
    # A stack of a loop lives for one step, and is each loop's own.
    persistent = persistent_state(index)
    handles = {index.names[i]: i for i, _ in resources(index, frozenset(members)) if persistent[i]}
    if isinstance(variables, str):
        return frozenset(handles.values() if variables == "shared" else ())
    modes: dict[int, str] = {}
    for name, mode in variables:
        op = name.partition(":")[0]
        matches = [
            i for handle, i in handles.items() if handle == op or handle.startswith(f"{name}/")
        ]
        if not matches:
            raise GraphEditError(
                f"variables names {name!r}, and the part holds no variable of that name or in it"
                f"{known_instead(name, [*handles])}",
                [name],
            )
        modes.update(dict.fromkeys(matches, mode))
    return frozenset(i for i, mode in modes.items() if mode == "shared")


Init = Literal["current", "initial", "none"]
INITS: tuple[str, ...] = get_args(Init)
Pairs = tuple[tuple[str, object], ...]


_INIT = "str | PathLike[str] | Mapping[TensorKey, object]"
_TOGETHER = frozenset({"inputs", "outputs", "into", "replace", "graph", "session"})
"""Fields of a clone that no one of them says alone."""


def _replacements(
    resolver: kinds.Resolver, argument: Mapping[Any, Any], *, is_elsewhere: bool
) -> tuple[tuple[str, str], ...]:
    """Pairs of a tensor and the one that copies read instead, which is one of another graph where
    they go there.
    """

    def new_name(tensor: Any) -> str:
        return str(getattr(tensor, "name", tensor)) if is_elsewhere else resolver.names(tensor)[0]

    return tuple((resolver.names(old)[0], new_name(new)) for old, new in argument.items())


@register(requested=False)  # the browser has a message of its own for it
@dataclass(frozen=True)
class Clone(Command):
    """Copy the ops between two boundaries into a name scope, with separate variables.

    Without `inputs` and `outputs`, the marked boundary or the selected ops are copied. With
    `outputs` alone, everything that they depend on is copied. An input that the outputs do not use
    is left out; `report.dropped` of the copy says so. In a function's body the clone is a
    tf.Module, or with `graph` ops and variables of that graph. The boundary is marked then, and
    stays so after undo; `mark()` unmarks it.

    Args:
        inputs: Tensors or ops that enter the part; or, alone, a Selection or the name of a scope,
            whose ops are copied.
        outputs: Tensors or ops that leave the part.
        into: The name scope of the copy; None for a free one.
        variables: "own": the copy has its own variables, tables and other state; "shared": it uses
            those of the original; or a dict {variable, scope or selection: "own" or "shared"}.
        init: What the copy's own variables contain: "current" values of the originals, "initial"
            ones that their initializers compute, "none", the path of a checkpoint, or a dict
            {variable: array, or one of these}.
        replace: {tensor: tensor}: where the copied ops read the first, the copies read the second.
        placeholders: Make the inputs of the copy placeholders.
        reseed: Draw new seeds for random ops, so that initial values and noise differ from the
            original's.
        times: The number of copies; their scopes are `into_0`, `into_1`, and so on.
        device: The device of all copied ops, or a dict {device, op or scope: device}; None keeps
            their devices.
        devices: One device for each copy; there are as many copies.
        src_scope: A name scope around the part that the names of the copies leave out.
        graph: The graph that the copies go into: a `tf.Graph` or another editor; None for this one.
            A function's editor calls the part there, as `call` does; `replace` then gives a tensor
            of it for each input.
        session: The session of `graph`, to initialize the copies in, if that is a `tf.Graph`.

    Returns:
        A `Copy`; with `times` or `devices` a list of them.

    Raises:
        GraphEditError: The clone cannot be right; NameTaken, NotClonable, SessionRefused and others
            say why.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.clone("x:0", "net/logits:0", into="copy")
        <Copy 'copy': 22 ops, 3 variables of its own>
        >>> editor.clone("x:0", "net/logits:0", into="twin", variables={"net/hidden": "shared"})
        <Copy 'twin': 12 ops, 1 variable of its own>
        >>> [copy.scope for copy in editor.clone("x:0", "net/logits:0", into="member", times=2)]
        ['member_0', 'member_1']
    """

    inputs: Annotated[
        tuple[str, ...], kinds.Operand("OpsLike | None", default=None, required_without="selection")
    ] = ()
    outputs: Annotated[tuple[str, ...], kinds.Operand("OpsLike | None", default=None)] = ()
    into: Annotated[str, kinds.Operand("object", default=None, is_required=True)] = ""
    _: KW_ONLY
    variables: Annotated[
        Modes, kinds.Operand("object", lambda r, argument: r.modes(argument), is_dict=True)
    ] = "own"
    init: Annotated[
        str | Pairs,
        kinds.Operand(_INIT, lambda r, argument: r.initial_values(argument), is_dict=True),
    ] = "current"
    selection: Annotated[Selection | None, kinds.Operand(is_derived=True)] = None
    replace: Annotated[
        tuple[tuple[str, str], ...],
        kinds.Operand("Mapping[TensorKey, object] | None", default=None, is_dict=True),
    ] = ()
    placeholders: bool = False
    reseed: bool = False
    times: int | None = None
    device: Annotated[
        str | tuple[tuple[str, str], ...] | None,
        kinds.Operand(
            "str | Mapping[str, str] | None",
            kinds.pairs_of_mapping,
            is_dict=True,
            meaning="a device's name, '/device:GPU:0', or a dict, {device, op or scope: device}",
        ),
    ] = None
    devices: Annotated[
        tuple[str, ...],
        kinds.Operand(
            "str | Iterable[str]",
            kinds.texts,
            meaning="a list of devices' names, one for each copy",
        ),
    ] = ()
    src_scope: Annotated[str, kinds.Operand(meaning="the name of a scope around the part")] = ""
    graph: Annotated[object, kinds.Operand("GraphLike | None", external="other_graph")] = None
    session: Annotated[
        Session | None, kinds.Operand("SessionLike | None", external="other_session")
    ] = None

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, **arguments: Any) -> Command:
        """The command of a call, which may leave out the part, for what is marked or selected, and
        the scope.
        """
        selection, inputs, outputs = resolver.part_to_clone(
            arguments["inputs"], arguments["outputs"]
        )
        graph = resolver.other_graph(arguments["graph"], arguments["session"])
        rest = {name: value for name, value in arguments.items() if name not in _TOGETHER}
        fields = kinds.resolve_fields(cls, resolver, rest)
        into = arguments["into"]
        return cls(
            inputs,
            outputs,
            resolver.scope_for_copies(fields["times"], fields["devices"]) if into is None else into,
            selection=selection,
            replace=_replacements(
                resolver, arguments["replace"] or {}, is_elsewhere=graph is not None
            ),
            graph=graph,
            session=arguments["session"],
            **fields,
        )

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        if self.selection is None:
            part = f"{subject_text(self.inputs)} … {subject_text(self.outputs)}"
        else:
            part = ""
        subject = subject_text(self.selection).replace(" ops", " selected ops")
        copies = f", {self.times} copies" if self.times else ""
        shared = ", with shared variables" if self.variables == "shared" else ""
        return f"Cloned {part or subject} as {self.into or 'the graph'}{copies}{shared}"

    @property
    def scopes(self) -> tuple[str, ...]:
        """The name scope of each copy."""
        count = self.times if self.times is not None else len(self.devices) or None
        return (self.into,) if count is None else tuple(f"{self.into}_{k}" for k in range(count))

    @property
    def sample_size(self) -> int:
        """The number of copies that `plan_sample` plans."""
        return len(self.devices) or 1

    def plan(self, context: PlanContext) -> Patch:
        """The patch of the graph that the copies go into.

        Raises UnknownName, NoPath, NameTaken or NotClonable.
        """
        return self._patch(context, is_sample=False)

    def plan_sample(self, context: PlanContext) -> Patch:
        """Plan like `plan`, with the same refusals, but only one of several copies, or one for each
        device.
        """
        return self._patch(context, is_sample=True)

    def plan_edit(self, planner: Planner) -> Any:
        """The planned copies."""
        return planner.copies(self)

    def preview_edit(self, planner: Planner) -> Preview:
        """Preview the copies."""
        return planner.sample(self)

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Clone into '{self.into}'"

    def _patch(self, context: PlanContext, *, is_sample: bool) -> Patch:
        index, target = context.index, context.target
        part = self._part(index, target)
        count = self.sample_size if is_sample else len(self.scopes)
        copies = [_Copy(self, part, target, k) for k in range(count)]
        changes = [copy.change() for copy in copies]
        fields = {
            name: tuple(item for c in changes for item in getattr(c, name))
            for name in Change.__match_args__
        }
        versions = index.extras.versions(), target.extras.versions()
        originals = {copy: original for original, copy in fields["copies"]}
        nodes = old_ops.translate_old_ops(
            fields["nodes"], index.typing, *versions, target.names, originals
        )
        fields["nodes"] = nodes
        return Patch(
            add=Change(**fields),
            scopes=tuple(filter(None, self.scopes)),
            report=Report(preview=part.preview(self, copies[0])),
            init=self.init,
            is_verbatim=all(copy.is_verbatim for copy in copies),
        )

    def _part(self, index: GraphIndex, target: GraphIndex) -> _CloneSource:
        """The part to copy, after the options and the scopes were checked."""
        self.check_options()
        try:
            check_free(target, *self.scopes, may_be_root=self.graph is not None)
        except NameTaken as error:
            error.fixes = self._elsewhere(index, target)
            raise
        return _clone_source(self, index, target)

    def _elsewhere(self, index: GraphIndex, target: GraphIndex) -> tuple[Clone, ...]:
        """The same into a scope that is free, if that can be done; nothing for several copies."""
        if self.into not in self.scopes or not is_scope_name(self.into):
            return ()
        fix = replace(self, into=free_name(self.into, taken_names(target, self.into)))
        with suppress(GraphEditError):
            if fix.into != self.into:  # else it was refused for something else
                fix._part(index, target)
                return (fix,)
        return ()

    def check_options(self) -> None:
        """Raise GraphEditError for options that make no sense, whatever graph they are for."""
        if not isinstance(self.into, str):
            raise NameTaken(f"{value_text(self.into)} is not a name scope; give a string.")
        check_modes(self.variables)
        if (
            not isinstance(self.init, tuple)
            and self.init not in INITS
            and not is_checkpoint(self.init)
        ):
            choices = ", ".join(map(repr, INITS))
            raise GraphEditError(
                argument_value("init", value_text(self.init))
                + f" is not known; it is one of {choices}, or the path of a checkpoint."
            )
        if self.times is not None and (
            type(self.times) is not int or not 1 <= self.times <= MOST_COPIES
        ):
            raise GraphEditError(
                argument_value("times", value_text(self.times))
                + f" is not a number of copies; give 1 to {MOST_COPIES:,}."
            )
        if self.devices and self.times not in (None, len(self.devices)):
            raise GraphEditError(
                f"{self.times} copies on {len(self.devices)} devices; name one device for each "
                "copy."
            )
        if self.devices and self.device is not None:
            raise GraphEditError(
                either("Both device= and devices=", "Both a device and devices")
                + " say where the copies stand; give one of them."
            )


def is_checkpoint(text: object) -> bool:
    """Whether something may be the path of a checkpoint rather than a word that was mistyped."""
    if not isinstance(text, str):
        return False
    # Not Path.exists, which raises for names that are too long.
    there = (os.path.exists(path) for path in (text, f"{text}.index"))  # noqa: PTH110
    return "/" in text or "." in text or any(there)


@dataclass(frozen=True)
class _CloneSource:
    """The source of a clone: ops by number in graph order, the variables among them, and the inputs
    from outside.
    """

    index: GraphIndex
    ops: tuple[int, ...]
    variables: tuple[VariableDef, ...]
    inputs: BoundaryInputs
    unused_slots: tuple[str, ...]

    def preview(self, clone: Clone, first_copy: _Copy) -> Preview:
        """What the preview of the clone says, once a copy was made."""
        index, names = self.index, self.index.names
        op_set = frozenset(self.ops)
        selection = Selection.of(index, self.ops, "")
        stays = first_copy.copier.stays  # in the graph that it is copied from

        persistent = persistent_state(index)
        new = [State(kind, names[i]) for i, kind in resources(index, op_set) if persistent[i]]
        boundary_names = (*clone.inputs, *self.inputs.instead_names)
        boundary_ops = frozenset(index.op(name) for name in boundary_names)
        kinds = dict(shared_state(index, op_set, boundary_ops))
        shared = [State(kinds[i], names[i]) for i in sorted(kinds)]
        if clone.variables == "shared":
            shared += first_copy.in_functions
        else:
            new += first_copy.in_functions

        initializers = [v.initializer for v in self.variables if v.initializer]
        only_initialize = needed_ops(index, (), initializers)
        effects = [i for i in side_effects(index, op_set) if not only_initialize[i]]
        return Preview(
            ops=tuple(names[i] for i in self.ops),
            scopes=clone.scopes,
            inputs=self.inputs.reused,
            control_inputs=selection.control_inputs if stays else (),
            placeholders=self.inputs.placeholders,
            replaced=clone.replace,
            new=tuple(new),
            shared=tuple(shared) if stays else (),
            stateful=tuple((index.types[i], names[i]) for i in effects),
            dropped=tuple(first_copy.losses()),
        )


def _clone_source(clone: Clone, index: GraphIndex, target: GraphIndex) -> _CloneSource:
    op_set, shared, slots = copied_ops(index, clone)
    if shared and index.origin is not target.origin:
        first = index.names[min(shared)]
        raise NotClonable(
            f"{first!r} cannot be shared with another graph; "
            + clone_with("variables", "own")
            + ".",
            [first],
        )
    if not op_set:
        raise NotClonable(
            "The part holds variables only, so "
            + either('variables="shared"', "'shared with original'")
            + " leaves nothing to copy; use "
            + either('"own".', "'own copies'.")
        )
    ops = tuple(sorted(op_set))
    check_size(len(ops), len(clone.scopes))
    variables = tuple(definitions(index, [i for i in ops if index.types[i] in HANDLES]).values())
    unused = tuple(index.names[i] for i in sorted(slots - op_set))
    inputs = boundary_inputs(clone, index, target, ops, shared)
    return _CloneSource(index, ops, variables, inputs, unused)


def selected_part(index: GraphIndex, selection: Selection) -> Selection:
    """A selection as ops of an index. Raises NotClonable if it holds none."""
    part = selection.on(index)
    if not part:
        raise NotClonable("The selection holds no ops, so there is nothing to copy; select some.")
    return part


def copied_ops(
    index: GraphIndex, clone: Clone
) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """The ops that a clone copies, those it leaves out since the copy goes on sharing their state,
    and the slots that it was not asked to copy: `unused_slots` of its selection.

    Raises NoPath, UnknownName, and NotClonable where the boundary cuts a loop in half.
    """
    taken_from = (*clone.inputs, *(name for name, _ in clone.replace))
    boundary_ops = frozenset(index.op(name) for name in taken_from)
    cut = pairs(index, taken_from)
    slots: frozenset[int] = frozenset()
    if clone.selection is None:
        inside = between(index, taken_from, clone.outputs).ids
    else:
        inside = selected_part(index, clone.selection).ids
        if clone.variables != "shared":
            slots = unused_slots(index, inside)
            inside = frozenset(without_shared(index, inside, slots))
            inside = with_state(index, inside, boundary_ops)
    inside = complete_blocks(index, inside, cut, grow=clone.selection is None)
    op_set = complete_state(index, inside, boundary_ops)
    shared = shared_handles(index, clone.variables, op_set)
    if not shared:
        copied = complete_blocks(index, op_set, cut)
        while not copied <= op_set:  # a loop may bring state along, too
            op_set = complete_state(index, copied, boundary_ops)
            copied = complete_blocks(index, op_set, cut)
        return copied, frozenset(), slots
    none_own = clone.variables == "shared"
    if none_own:
        rest = without_shared(index, inside, shared)
    else:
        rest = complete_state(index, inside, boundary_ops, shared)
    copied = complete_blocks(index, rest, cut)
    return copied, frozenset(op_set) - copied, slots


class _Copy:
    """One copy of a part: the k-th."""

    def __init__(self, clone: Clone, part: _CloneSource, target: GraphIndex, k: int) -> None:
        index, self.into = part.index, clone.scopes[k]
        self.clone, self.part, self.index, self.target = clone, part, index, target
        self.originals = [index.nodes[i] for i in part.ops]
        names = copied_names(index, part.ops, clone.src_scope, self.into)
        used_keys = state_keys(target, self.into)
        shares = clone.variables == "shared"
        options = {"own": not shares, "apart": True, "again": k > 0}
        self.library = copy_functions(
            index, self.originals, target, self.into, **options, used_keys=used_keys
        )
        self.copier = NodeCopier(
            names=names,
            replacements=part.inputs.instead(self.into),
            keys=new_keys(index, part.ops, self.into, used_keys),
            frames=copied_frame_names(copied_frames(index, part.ops), self.into, target),
            functions=self.library.names,
            stays=index.origin is target.origin,
            devices=copied_devices(clone, index, part.ops, k),
            single=frozenset(key for key in ONE_OF_A_KIND if target.collections.get(key)),
            used_keys=used_keys,
            src_scope=clone.src_scope.rstrip("/"),
        )

    @property
    def in_functions(self) -> tuple[State, ...]:
        """The functions called that keep state of their own."""
        return tuple(State("state in a function", name) for name in self.library.stateful)

    @property
    def is_verbatim(self) -> bool:
        """See `Patch.is_verbatim`; known after `change`."""
        return (
            self.copier.is_verbatim
            and not self.clone.reseed
            and all(map(_is_whole, self.part.variables))
        )

    def losses(self) -> Iterator[str]:
        """A sentence for each thing that is not copied unchanged; complete after `change`."""
        clone, part = self.clone, mask_of(self.index, self.part.ops)
        yield from unused_inputs_notice(
            unused_inputs(self.index, clone.inputs, part), clone.outputs
        )
        if slots := self.part.unused_slots:
            are, them = ("is", "it") if len(slots) == 1 else ("are", "them")
            yield (
                f"{names_text(slots)} {are} not copied: only ops outside of the part, such as an "
                f"optimizer's, use {them}."
            )
        yield from self.copier.dropped
        for old, new in self.library.names.items():
            if old != new and (old in self.library.stateful or not self.copier.stays):
                yield (
                    f"Function {old!r} is {new!r} for the copy: it keeps state, or the name is "
                    "taken."
                )
        filling, lasting = StateWriters(self.index), persistent_state(self.index)
        current = self.clone.init == "current" or isinstance(self.clone.init, tuple)
        for i, kind in resources(self.index, frozenset(self.part.ops)):
            carried = not lasting[i] or kind == "variable" or (kind == TABLE and current)
            if not carried and filling.starts_empty(i):
                yield (
                    f"What {kind} {self.index.names[i]!r} holds is not copied: the copy starts "
                    "empty."
                )

    def change(self) -> Change:
        """All that comes to the target graph with this copy."""
        copier, index, into = self.copier, self.index, self.into
        nodes = copier.copy_nodes(self.originals, into)
        by_name = {node.name: node for node in nodes} if self.part.variables else {}
        variables = []
        for original in self.part.variables:
            variable = copier.variable(original, into)
            if not _is_whole(variable):
                variable, more = complete_variable(by_name[variable.handle], variable)
                nodes += more
            variables.append(variable)
        if self.clone.reseed:
            seeds.reseed(nodes)
        return Change(
            nodes=(*self.part.inputs.nodes(into), *nodes),
            members=tuple(copier.members(index, variables)),
            variables=tuple(variables),
            contexts=self._contexts(),
            runners=queue_runners.rename_runners(index.extras.runners(), copier.names),
            functions=self.library.functions,
            gradients=self.library.gradients,
            copies=(*copier.names.items(), *self.part.inputs.copies(into)),
        )

    def _contexts(self) -> tuple[ContextDef, ...]:
        """The copies of the v1 control flow contexts."""
        if V1_CONTROL_FLOW.isdisjoint(self.index.kinds[0]):
            return ()
        copier = self.copier
        names = dict(copier.names)  # of ops, and of tensors that the copies read in place of others
        for (op, port), text in copier.replacements.items():
            if port >= 0:
                tensor = f"{op}:{port}"
                instead = text or tensor
                names[tensor] = instead if ":" in instead else f"{instead}:0"
        return control_flow_contexts.rename_contexts(
            self.index.extras.contexts(), names, copier.frames, stays=copier.stays
        )


def _is_whole(variable: VariableDef) -> bool:
    """Whether a variable has an op that initializes it and one that reads it."""
    return bool(variable.initializer and variable.snapshot)


# Add: the whole graph of another source, with the values of its variables


def _path_or_object(_: kinds.Resolver, source: object) -> object:
    """What is added: a path as text, which code can hold, or the object itself."""
    return (os.fspath(source) if isinstance(source, str | PathLike) else "") or source


def _path(_: kinds.Resolver, path: str | PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _scope_of_added(resolver: kinds.Resolver, into: str | None) -> str:
    return resolver.free_scope("added") if into is None else into


@register(requested=False)  # a message of the browser reads no files
@dataclass(frozen=True)
class Add(Command):
    """Copy another graph into this one, whole, with the values of its variables.

    The graph itself is the current one then, not a function's body. A function's or a Keras model's
    variables are variables of this graph, with their present values, which `sync()` of the result
    copies again.

    In a function that was opened itself (a `tf.function`, a Keras model), what is not connected
    becomes further arguments and results: `editor.to_module()` and `editor.to_function()` take the
    first as keyword arguments. The new variables are those of the module, trainable beside the old
    ones.

    Args:
        source: What `tgw.edit` opens: a graph, a file, a `tf.function`, a Keras model; or another
            editor.
        into: The name scope of its ops; None for a free one.
        connect: {tensor of the source: tensor of this graph, which its consumers read instead}; the
            first may be named "x:0" or "into/x:0", or as the argument of the signature or of the
            function.
        clear_devices: Remove the devices of its ops.
        checkpoint: The checkpoint of the source, as for `tgw.edit`.
        tags: The tags of a SavedModel, as for `tgw.edit`.
        session: The session of the source, as for `tgw.edit`.

    Returns:
        A `Copy`: `added["x:0"]` by the names of the source, its arguments and results included.
        `added.saver()` restores its old checkpoints. In a function an `AdditionResult`, with the
        names of ops and tensors there.

    Raises:
        GraphEditError: The edit cannot be right; nothing has changed.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> other = tgw.example()
        >>> added = editor.add(
        ...     other.graph, into="second", connect={"x:0": "x:0"}, session=other.session
        ... )
        >>> added["net/logits:0"].name, added.variables[0].name
        ('second/net/logits:0', 'second/net/hidden/w:0')
    """

    source: Annotated[object, kinds.Operand("object", _path_or_object, external="source")]
    into: Annotated[str, kinds.Operand("str | None", _scope_of_added, default=None)]
    connect: Annotated[
        tuple[tuple[str, str], ...],
        kinds.Operand(
            "Mapping[TensorKey, TensorsLike] | None",
            lambda r, argument: r.connections(argument or {}),
            default=None,
            is_dict=True,
        ),
    ] = ()
    _: KW_ONLY
    clear_devices: bool = False
    checkpoint: Annotated[str | None, kinds.Operand("str | PathLike[str] | None", _path)] = None
    tags: Annotated[tuple[str, ...] | None, kinds.Operand("object", kinds.as_given)] = None
    session: Annotated[
        Session | None,
        kinds.Operand("SessionLike | None", kinds.as_given, external="other_session"),
    ] = None

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        source = PurePath(self.source).name if isinstance(self.source, str) else "a graph"
        return f"Added {source} as {self.into or 'the graph'}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch of `context.target`, where `context.index` is the source's graph."""
        try:
            return self._clone(context).plan(context)
        except NameTaken as error:
            error.fixes = self.under_a_free_name(error)
            raise

    def plan_edit(self, planner: Planner) -> Any:
        """The source with its ops, planned to be copied with the values of their variables."""
        return planner.addition(self)

    def _clone(self, context: PlanContext) -> Clone:
        """The same as a clone of everything in the source into another graph."""
        index, init = context.index, "current" if context.has_values else "initial"
        connect = tuple((self._own(index, name), tensor) for name, tensor in self.connect)
        fed = [
            index.ids[split_tensor(name)[0]]
            for name, _ in connect
            if split_tensor(name)[0] in index.ids
        ]
        cut_placeholders = {i for i in fed if is_placeholder(index.types[i])}
        everything = Selection.of(
            index, [i for i in _ops_in_use(context) if i not in cut_placeholders], "~editor.ops()"
        )
        if not everything:
            raise NotClonable("The graph to add has no ops that could be copied; give another one.")
        device = "" if self.clear_devices else None
        return Clone(
            into=self.into,
            init=init,
            selection=everything,
            replace=connect,
            device=device,
            graph=context.target,
        )

    def _own(self, index: GraphIndex, name: str) -> str:
        """The name of a tensor within the source."""
        inside = name.removeprefix(f"{self.into}/")
        is_outside = split_tensor(name)[0] in index.ids and split_tensor(inside)[0] not in index.ids
        own = name if is_outside else inside
        index.op(own)
        return own if split_tensor(own)[1] is not None else f"{own}:0"


def _ops_in_use(context: PlanContext) -> Iterable[int]:
    """The ops of a source that are of use: all, but for a SavedModel of TensorFlow 2 those of its
    signatures.

    It has every variable several times over, and values for those that the signatures read.
    """
    index = context.index
    if (
        not context.external_tensors
        or index.variable_defs
        or not any(kind in HANDLES for kind in index.types)
    ):
        return range(len(index))
    named = [split_tensor(name)[0] for name in context.external_tensors]
    needed = needed_ops(index, (), named) | mask_of(index, [index.ids[op] for op in named])
    return (i for i in range(len(index)) if needed[i])
