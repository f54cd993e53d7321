"""Freeze and StripTraining: reduce a graph to the ops that its outputs need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.freeze.variable_writes import Updates
from tfgraphwidget.edits.freeze.variables_to_constants import ConvertedGraph, check_computed, convert_variables
from tfgraphwidget.edits.patch import (
    Change,
    FunctionBoundary,
    NodeChange,
    Patch,
    Report,
    nothing_to_do,
    removal_of,
    without_uncalled_functions,
)
from tfgraphwidget.edits.registry import register
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    ANY_PORT,
    CONSTANTS,
    ENTER,
    HANDLE_DTYPES,
    HANDLES,
    SHAPE_QUERIES,
    SWITCH,
    TABLE,
    WHILE_LOOPS,
    GraphIndex,
    by_key,
    definitions,
    handles,
    initializers,
    is_placeholder,
    mask_of,
    needed_ops,
    of_type,
    own_ops,
    pairs,
    side_effects,
    traversal,
    unused_inputs_notice,
)
from tfgraphwidget.naming import colocated_with, names_text, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import NodeDef

TRAINS = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
"""Types of the ops that an optimizer updates variables with."""
_ACCUMULATOR = "EmptyTensorList"
_GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?/")
_REGULARIZATION, _REGULARIZER = "regularization_losses", re.compile(r"(?:^|/)Regularizer(?:_\d+)?/")
# What TensorFlow's asserts make, the condition and the conditional around an Assert op; and with what a conditional of
# TensorFlow 1 begins.
_CONDITIONS = re.compile(r"(?:^|/)(?:(?:assert_\w+|Assert(?:Guard)?(?:_\d+)?)/|(?:switch_[tf]|pred_id)$)")
_READS = frozenset({"ReadVariableOp"})
_OF_LOOP = "Identity", "Identity_1"
_SAVES = re.compile(r"(Save|Restore)(V2|Slices|Slice)?|MergeV2Checkpoints|ShardedFilename")


@register
@dataclass(frozen=True)
class Freeze(Command):
    """Replace the variables that `outputs` need by constants with their values, and remove the rest of the graph.

    Loops and conditionals stay what they are, and so do calls without `inline`. On a live graph the removed ops are
    hidden, and undo shows them.

    Args:
        outputs: Ops or tensors; None for the marked ones (if `inputs` are not given), those of the signature, or
            those without consumers.
        inputs: Tensors that are fed from then on; they become placeholders. One that the outputs do not use is
            left out.
        updates: What becomes of a variable that the outputs write: a counter, the moving averages of a batch
            normalization in training mode, the state of a random generator. "refuse" refuses one that a function
            writes and reads, and leaves out other updates with a notice. "keep" leaves it a variable. "drop" makes
            it a constant that nothing updates.
        inline: Whether calls are exchanged for the ops of the functions, so that there is one graph.
        lower_control_flow: Whether that is done with loops and conditionals of TensorFlow 2 too, which become those
            of TensorFlow 1: Switch, Merge, Enter, Exit.

    Returns:
        What was changed.

    Raises:
        GraphEditError: A function writes a variable that it reads.
        SessionRefused: A variable has no value.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0")
        >>> len(report.removed), editor.ops(type="Const").ops
        (69, ('net/hidden/w_1', 'net/hidden/b_1', 'net/w_1'))
    """

    keeps_values: ClassVar[bool] = True

    outputs: kinds.Outputs
    inputs: kinds.Names = ()
    _: KW_ONLY
    updates: Updates = "refuse"
    inline: bool = False
    lower_control_flow: bool = False

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, **arguments: Any) -> Command:
        """The command of a call; where inputs are given, the marked outputs are not meant."""
        outputs = arguments.pop("outputs")
        fields = kinds.resolve_fields(cls, resolver, arguments)
        return cls(resolver.outputs(outputs, use_selection=not fields["inputs"]), **fields)

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Froze the graph for {subject_text(self.outputs)}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError where a variable is not only read, SessionRefused where one has no value.

        Args:
            context: The graph that the edit is planned on.
        """
        index = context.index
        need = np.flatnonzero(needed_ops(index, self.inputs, self.outputs)).tolist()
        variables = tuple(definitions(index, [i for i in need if index.types[i] in HANDLES]).values())
        values = context.variable_values(variables) if variables else {}
        in_function = bool(context.function) or context.ends is not None
        converted = convert_variables(
            index,
            self.outputs,
            values.__getitem__,
            self.inputs,
            updates=self.updates,
            in_function=in_function,
            inline=self.inline,
            lower_control_flow=self.lower_control_flow,
        )
        if in_function and self.lower_control_flow:
            _check_runs_in_function(index, converted)
        after = {node.name: node for node in converted.nodes}
        ends = _ends(context, self.inputs, self.outputs, {node.name for node in converted.nodes}, converted)
        arguments = context.arguments if ends is None else ends[0]
        kept_ops = {i for i, name in enumerate(index.names) if name in after or f"{name}:0" in arguments}
        kept_ops |= _table_initializers(index, kept_ops)
        kept_ops |= _variable_initializers(index, converted.remaining_variables)
        rest = _removal_of_rest(index, kept_ops, keep_members=converted.variables)
        pairs = ((index.nodes[index.ids[name]], node) for name, node in after.items() if name in index.ids)
        new = tuple(node for node in converted.nodes if node.name not in index.ids)
        state = [f"{kind} {name!r}" for name, kind in converted.remaining_state]
        notes = [
            f"{name!r} stands for {tensor!r} now; feed it." for tensor, name in converted.fed if f"{name}:0" != tensor
        ]
        notes += unused_inputs_notice(converted.unused, self.outputs)
        notes += converted.notices()
        notes += [f"State other than variables stays what it is: {', '.join(state[:5])}."] if state else []
        frozen = Patch(
            add=Change(nodes=new, functions=converted.functions),
            remove=rest,
            changed=tuple(NodeChange(before, node) for before, node in pairs if before != node),
            report=Report(tuple(notes)),
            ends=ends,
        )
        is_flat = (self.inline or self.lower_control_flow) and not in_function
        patch = without_uncalled_functions(index, frozen, every=True) if is_flat else frozen
        if patch == Patch():  # notes say what a freeze leaves as it is
            return nothing_to_do("The graph has neither variables nor ops that the outputs do not need.")
        return patch


def _check_runs_in_function(index: GraphIndex, converted: ConvertedGraph) -> None:
    """Raise GraphEditError where a function got control flow of TensorFlow 1, which it cannot be traced with again."""
    new = next((node for node in converted.nodes if node.op in (*ENTER, *SWITCH) and node.name not in index.ids), None)
    if new is not None:
        raise GraphEditError(
            f"Op {new.name!r} ({new.op}) would be control flow of TensorFlow 1 in a function, which TensorFlow "
            "does not trace again; "
            + in_cell(
                "save(path, frozen=True, lower_control_flow=True) writes it to a '.pb', and "
                "freeze(inline=True) leaves loops and conditionals as they are."
            )
        )


def _ends(
    context: PlanContext,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    remaining: Collection[str],
    converted: ConvertedGraph | None = None,
) -> FunctionBoundary | None:
    """The arguments and results of a function that is cut down to some inputs and outputs; None if they stay.

    `remaining` are the ops that stay.
    """
    index, ends = context.index, context.ends
    if ends is None:
        return None
    keys, fed = {name: key for key, name in ends[1].items()}, dict(converted.fed if converted else ())
    unused = converted.unused if converted else ()
    results, used_inputs = _tensors(index, outputs), [name for name in _tensors(index, inputs) if name not in unused]
    if not used_inputs and set(results) == set(keys):
        return None
    arguments = [f"{fed[name]}:0" if name in fed else name for name in used_inputs]
    arguments += [name for name in ends[0] if not used_inputs or split_tensor(name)[0] in remaining]
    return tuple(dict.fromkeys(arguments)), {keys.get(name, _key(name)): name for name in results}


def _tensors(index: GraphIndex, names: Iterable[str]) -> list[str]:
    """The tensors that names stand for; that of an op for all of its outputs."""
    tensor_pairs = pairs(index, names)
    ports = ((op, range(len(index.dtypes(op))) if port == ANY_PORT else [port]) for op, port in tensor_pairs)
    return [f"{index.names[op]}:{k}" for op, some in ports for k in some]


def _key(tensor: str) -> str:
    """The key of a new result."""
    op, port = split_tensor(tensor)
    return f"{op}_{port}" if port else op


@register
@dataclass(frozen=True)
class StripTraining(Command):
    """Remove everything that `outputs` do not need: gradients, optimizers with their slots, savers, summaries.

    Variables that are needed stay, with their initializers.

    Args:
        outputs: Ops or tensors; None for the marked ones, those of the signature, or those without consumers.

    Returns:
        What was removed.

    Raises:
        UnknownName: An output is not in the graph.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.passes.strip_training("net/logits:0")
        <Edits: 51 ops removed>
    """

    keeps_values: ClassVar[bool] = True
    method: ClassVar[str] = "passes.strip_training"

    outputs: kinds.Outputs

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, **arguments: Any) -> Command:
        """The command of a call; of a graph without results it does nothing."""
        if arguments["outputs"] is None and not resolver.has_outputs():
            return cls(())
        return cls(**kinds.resolve_fields(cls, resolver, arguments))

    def fix_label(self) -> str:
        """A few words for a button."""
        return "Strip training"

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Stripped training, and kept what {subject_text(self.outputs)} needs"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; one that does nothing if there is nothing to remove. Raises UnknownName.

        Args:
            context: The graph that the edit is planned on.
        """
        index = context.index
        if not self.outputs:
            return nothing_to_do("Nothing here looks like a result that training could be told from.")
        check_computed(index, self.outputs)
        needed = set(np.flatnonzero(needed_ops(index, (), self.outputs)).tolist())
        variables = definitions(index, [i for i in sorted(needed) if index.types[i] in HANDLES])
        own = {op for variable in variables.values() for op in own_ops(index, variable)}
        needed |= set(np.flatnonzero(needed_ops(index, (), [index.names[op] for op in own])).tolist())
        needed |= _ops(index, context.arguments)
        needed |= _table_initializers(index, needed)
        if len(needed) == len(index):
            need = "needs" if len(self.outputs) == 1 else "need"
            return nothing_to_do(f"{names_text(self.outputs)} {need} every op of the graph.")
        names = {index.names[i] for i in needed}
        lonely = (index.nodes[i] for i in sorted(needed) if not names.issuperset(colocated_with(index.nodes[i])))
        changed = tuple(_without_colocation(node, names) for node in lonely)
        ends = _ends(context, (), self.outputs, names)
        patch = Patch(remove=_removal_of_rest(index, needed), changed=changed, ends=ends)
        return patch if context.function or context.signatures else without_uncalled_functions(index, patch)


def _table_initializers(index: GraphIndex, keep: Collection[int]) -> set[int]:
    """The ops that fill the tables among some ops, with all that they need: tables are empty without."""
    needed, before = mask_of(index, keep), -1
    while needed.sum() != before:
        before = needed.sum()
        tables = [ops for key, ops in by_key(index).items() if key[0] == TABLE and needed[ops].any()]
        names = [index.names[i] for ops in tables for op in ops for i in initializers(index, op)]
        needed |= needed_ops(index, (), names)
        table_mask = needed_ops(index, (), names) & of_type(index, HANDLES.__contains__)
        own = [op for v in definitions(index, np.flatnonzero(table_mask).tolist()).values() for op in own_ops(index, v)]
        needed |= needed_ops(index, (), [index.names[op] for op in own])
    return set(np.flatnonzero(needed).tolist())


def _variable_initializers(index: GraphIndex, variables: Collection[str]) -> set[int]:
    """The ops of variables that stay, with all that they need: their initializers, reads and assignments."""
    remaining = definitions(index, [index.ids[name] for name in variables])
    names = [index.names[op] for variable in remaining.values() for op in own_ops(index, variable)]
    return set(np.flatnonzero(needed_ops(index, (), names)).tolist())


def _ops(index: GraphIndex, names: Collection[str]) -> set[int]:
    return {index.op(name) for name in names}


def _removal_of_rest(index: GraphIndex, keep_ops: Collection[int], keep_members: Collection[str] = ()) -> Change:
    """All that goes when only some ops stay, and the entries of collections for variables that are none any more."""
    removal = removal_of(index, [i for i in range(len(index)) if i not in keep_ops])
    there = set(removal.members)  # a collection may have an entry twice, and undo gives both back
    frozen_too = tuple(
        (key, member)
        for key, entries in index.collections.items()
        for member in entries
        if member.kind == "variable" and member.name.partition(":")[0] in keep_members and (key, member) not in there
    )
    variables = tuple(v for v in index.variable_defs if v.handle in keep_members)
    members = (*removal.members, *frozen_too)
    return Change(removal.nodes, members, (*removal.variables, *variables), removal.contexts, removal.runners)


def _without_colocation(node: NodeDef, names: Collection[str]) -> NodeChange:
    after = type(node)()
    after.CopyFrom(node)
    colocations = [f"loc:@{name}".encode() for name in colocated_with(node) if name in names]
    del after.attr["_class"]
    if colocations:
        after.attr["_class"].list.s[:] = colocations
    return NodeChange(node, after)


def _penalties(index: GraphIndex) -> set[str]:
    """The ops of regularization losses: only a loss reads them. A GraphDef has no collections, so names count too."""
    members = {split_tensor(member.name)[0] for member in index.collections.get(_REGULARIZATION, ())}
    return members | {name for name in index.names if _REGULARIZER.search(name)}


def _conditions(index: GraphIndex) -> set[str]:
    """The ops of asserts and conditionals that give a bool: whether the condition holds."""
    ops = (op for op, name in enumerate(index.names) if _CONDITIONS.search(name))
    return {index.names[op] for op in ops if index.dtypes(op)[:1] == ("bool",)}


def _reports(index: GraphIndex) -> set[str]:
    """The ops that say something about a graph, and are not what it computes.

    Shapes, summaries of training, variables as an update has left them, and what TensorFlow gives of its own with each
    loop: the counter, and how many iterations it may take at most.
    """
    kinds = ((name, kind) for name, kind in zip(index.names, index.types, strict=True))
    reports = {name for name, kind in kinds if kind in SHAPE_QUERIES or kind in _READS or "Summary" in kind}
    loops = (name for name, kind in zip(index.names, index.types, strict=True) if kind in WHILE_LOOPS)
    own = ((f"{loop}/{end}", (index.ids[loop], port)) for loop in loops for port, end in enumerate(_OF_LOOP))
    return reports | {name for name, source in own if name in index.ids and _reads_only(index, index.ids[name], source)}


def _reads_only(index: GraphIndex, op: int, source: tuple[int, int]) -> bool:
    """Whether an op hands on one output of another."""
    start = index.inputs.start[op]
    return index.input_lists[op] == [source[0]] and int(index.ports[start]) == source[1]


def results(index: GraphIndex) -> tuple[str, ...]:
    """The ops that a graph seems to be for: those whose outputs have no consumer, training and bookkeeping left out.

    Regularization losses that no loss reads, conditions of asserts and conditionals, shapes and summaries are left out
    where there is anything else.

    For who names no outputs. GraphEditError when there are none.

    Args:
        index: The graph.
    """
    train = [i for i, kind in enumerate(index.types) if TRAINS.fullmatch(kind)]
    train += [index.op(member.name) for member in index.collections.get("train_op", ())]
    training = [i for i, name in enumerate(index.names) if _GRADIENTS.search(name)]
    # The gradient of a v2 loop has lists filled by the loop itself, which are made before it.
    lists = traversal.backward(index, [i for i in training if index.types[i] == _ACCUMULATOR])
    training = [i for i in training if not lists[i]]
    saving = [i for i, kind in enumerate(index.types) if _SAVES.fullmatch(kind)]
    aside = traversal.forward(index, [*train, *training, *saving])
    aside[[i for i, kind in enumerate(index.types) if is_placeholder(kind)]] = True
    aside[list(side_effects(index, range(len(index))))] = True
    for variable in definitions(index, handles(index)).values():
        aside[sorted(own_ops(index, variable))] = True
    # A loss that only its gradients read is a result; what only feeds an optimizer or a Saver is none.
    leftovers = _penalties(index) | _conditions(index) | _reports(index)
    slopes, names = set(training), []
    for i in np.flatnonzero(~aside).tolist():
        readers = set(index.consumers.row(i).tolist())
        is_end = not readers or (readers & slopes and all(aside[reader] for reader in readers))
        is_value = any(dtype not in HANDLE_DTYPES for dtype in index.dtypes(i))
        if is_end and is_value and index.types[i] not in CONSTANTS and _is_computed(index, i):
            names.append(index.names[i])
    names = [name for name in names if name not in leftovers] or names
    if not names:
        raise GraphEditError("Nothing here looks like a result; mark the output ops first, or name them as outputs.")
    return tuple(names)


def _is_computed(index: GraphIndex, op: int) -> bool:
    """Whether something is fed or read to compute an op."""
    before = np.flatnonzero(traversal.backward(index, [op]))
    return any(is_placeholder(index.types[i]) or index.types[i] in HANDLES for i in before.tolist())


def without_training(index: GraphIndex) -> tuple[StripTraining, ...]:
    """The command that strips training from a graph, as a suggested fix; none where nothing looks like a result.

    Args:
        index: The graph.
    """
    try:
        return (StripTraining(results(index)),)
    except GraphEditError:
        return ()
