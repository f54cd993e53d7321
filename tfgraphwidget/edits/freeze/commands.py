"""Freeze and StripTraining: reduce a graph to the ops that its outputs need."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.freeze.variable_writes import Updates
from tfgraphwidget.edits.freeze.variables_to_constants import (
    ConvertedGraph,
    check_computed,
    convert_variables,
)
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
    APPLIES,
    CONSTANTS,
    ENTER,
    EXIT,
    HANDLE_DTYPES,
    HANDLES,
    NEXT,
    SHAPE_QUERIES,
    SUMS,
    SWITCH,
    TABLE,
    WHILE_LOOPS,
    GraphIndex,
    Mask,
    VariableDef,
    all_variables,
    by_key,
    definitions,
    gradients_of_training,
    initializers,
    is_placeholder,
    lists_for_gradients,
    mask_of,
    needed_ops,
    own_ops,
    pairs,
    side_effects,
    traversal,
    unused_inputs_notice,
    users,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import colocate, colocated_with, names_text, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import NodeDef

# Names of ops that tf.gradients makes, and of those that a tape makes.
_GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?/")
_TAPE = re.compile(r"(^|/)gradient_tape(_\d+)?/")
# The collection of regularization losses, and names of ops that compute them in Keras.
_REGULARIZATION_LOSSES = "regularization_losses"
_REGULARIZER = re.compile(r"(?:^|/)Regularizer(?:_\d+)?/")
# Names of what TensorFlow's asserts make, the condition and the conditional around an Assert op;
# and of those with which a conditional of TensorFlow 1 begins.
_CONDITIONS = re.compile(
    r"(?:^|/)(?:(?:assert_\w+|Assert(?:Guard)?(?:_\d+)?)/|(?:switch_[tf]|pred_id)$)"
)
# The scope of the gradient of an op, by the op's name.
_GRADIENT_OF = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.+)_grad/")
_READ = "ReadVariableOp"
_COUNTER_DTYPES = frozenset({"int32", "int64"})  # of loops
# Last parts of the names of what follows a loop of TensorFlow 2, by port of the loop: its counter,
# and how many iterations it may take at most.
_LOOP_COUNTS = ("Identity", "Identity_1")
# Types of ops of a Saver.
_SAVES = re.compile(r"(Save|Restore)(V2|Slices|Slice)?|MergeV2Checkpoints|ShardedFilename")


@register
@dataclass(frozen=True)
class Freeze(Command):
    """Replace the variables that `outputs` need by constants with their values, and remove the rest
    of the graph.

    Loops and conditionals stay what they are, and so do calls without `inline`. On a live graph the
    removed ops are hidden, and undo shows them.

    Args:
        outputs: Ops or tensors; None for the marked ones (if `inputs` are not given), those of the
            signature, or those without consumers.
        inputs: Tensors that are fed from then on; they become placeholders. One that the outputs do
            not use is left out.
        updates: What becomes of a variable that the outputs write: a counter, the moving averages
            of a batch normalization in training mode, the state of a random generator. "refuse"
            refuses one that a function writes and reads, and leaves out other updates with a
            notice. "keep" leaves it a variable. "drop" makes it a constant that nothing updates.
        inline: Whether calls are exchanged for the ops of the functions, so that there is one
            graph.
        lower_control_flow: Whether that is done with loops and conditionals of TensorFlow 2 too,
            which become those of TensorFlow 1: Switch, Merge, Enter, Exit.

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
        """The patch. Raises GraphEditError for a variable that is updated, or has no value."""
        if not self.outputs:
            return nothing_to_do(
                "No outputs are named, so there is nothing to freeze the graph for."
            )
        index = context.index
        in_function = bool(context.function) or context.boundary is not None
        converted = self._convert(context, in_function=in_function)
        if in_function and self.lower_control_flow:
            _check_runs_in_function(index, converted)
        nodes = {node.name: node for node in converted.nodes}

        # What stays: the nodes, the arguments of a function, and what initializes remaining state.
        boundary = _function_boundary(context, self.inputs, self.outputs, nodes.keys(), converted)
        arguments = context.arguments if boundary is None else boundary[0]
        kept_ops = {
            op for op, name in enumerate(index.names) if name in nodes or f"{name}:0" in arguments
        }
        kept_ops |= _table_initializers(index, kept_ops)
        kept_ops |= _variable_initializers(index, converted.remaining_variables)

        new = []
        changed = []
        for node in converted.nodes:
            if node.name not in index.ids:
                new.append(node)
                continue
            before = index.nodes[index.ids[node.name]]
            if before != node:
                changed.append(NodeChange(before, node))
        patch = Patch(
            add=Change(nodes=tuple(new), functions=converted.functions),
            remove=_removal_of_rest(index, kept_ops, frozen_variables=converted.variables),
            changed=tuple(changed),
            report=Report(tuple(self._notes(converted))),
            boundary=boundary,
        )
        if (self.inline or self.lower_control_flow) and not in_function:
            patch = without_uncalled_functions(index, patch, every=True)
        if patch == Patch():  # notes say what a freeze leaves as it is
            return nothing_to_do(
                "The graph has neither variables nor ops that the outputs do not need."
            )
        return patch

    def _convert(self, context: PlanContext, *, in_function: bool) -> ConvertedGraph:
        """What the outputs need, with constants in place of variables."""
        index = context.index
        needed = np.flatnonzero(needed_ops(index, self.inputs, self.outputs)).tolist()
        needed_variables = _variables_among(index, needed)
        # The path of an asset file is in a variable: what fills a table assigns it at loading.
        filling = _table_initializers(index, needed) - set(needed)
        filled_from = [
            variable.handle
            for variable in needed_variables
            if not filling.isdisjoint(users(index, index.ids[variable.handle]))
        ]
        variables = tuple(each for each in needed_variables if each.handle not in filled_from)
        values = context.variable_values(variables) if variables else {}
        return convert_variables(
            index,
            self.outputs,
            lambda name, tensor: tensor.CopyFrom(values[name]),
            self.inputs,
            updates=self.updates,
            keep=filled_from,
            in_function=in_function,
            inline=self.inline,
            lower_control_flow=self.lower_control_flow,
        )

    def _notes(self, converted: ConvertedGraph) -> list[str]:
        """What the user should know of a freeze, in sentences."""
        notes = []
        for tensor, name in converted.fed:
            if f"{name}:0" != tensor:
                notes.append(f"{name!r} replaces {tensor!r} now; feed it.")
        notes += unused_inputs_notice(converted.unused, self.outputs)
        notes += converted.notices()
        if converted.remaining_state:
            state = [f"{kind} {name!r}" for name, kind in converted.remaining_state]
            notes.append(f"State other than variables stays what it is: {', '.join(state[:5])}.")
        return notes


def _check_runs_in_function(index: GraphIndex, converted: ConvertedGraph) -> None:
    """Raise GraphEditError where a function would get control flow of TensorFlow 1.

    It could not be traced again.
    """
    for node in converted.nodes:
        if node.op in (*ENTER, *SWITCH) and node.name not in index.ids:
            raise GraphEditError(
                f"Op {node.name!r} ({node.op}) would be control flow of TensorFlow 1 in a "
                "function, which TensorFlow does not trace again; "
                + in_cell(
                    "save(path, frozen=True, lower_control_flow=True) writes it to a '.pb', and "
                    "freeze(inline=True) leaves loops and conditionals as they are."
                )
            )


def _function_boundary(
    context: PlanContext,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    remaining: Collection[str],
    converted: ConvertedGraph | None = None,
) -> FunctionBoundary | None:
    """The arguments and results of a function that is cut down to some inputs and outputs.

    None if they stay. `remaining` are the ops that stay.
    """
    index = context.index
    if context.boundary is None:
        return None
    old_arguments, old_results = context.boundary
    key_of = {tensor: key for key, tensor in old_results.items()}
    placeholders = dict(converted.fed if converted else ())
    unused = converted.unused if converted else ()
    results = _tensors(index, outputs)
    used_inputs = [name for name in _tensors(index, inputs) if name not in unused]
    if not used_inputs and set(results) == set(key_of):
        return None
    arguments = [
        f"{placeholders[name]}:0" if name in placeholders else name for name in used_inputs
    ]
    for name in old_arguments:
        op, _ = split_tensor(name)
        if not used_inputs or op in remaining:
            arguments.append(name)
    new_results = {key_of.get(name, _key(name)): name for name in results}
    return tuple(dict.fromkeys(arguments)), new_results


def _tensors(index: GraphIndex, names: Iterable[str]) -> list[str]:
    """The tensors that names represent; that of an op for all of its outputs."""
    tensors = []
    for op, port in pairs(index, names):
        ports = range(len(index.dtypes(op))) if port == ANY_PORT else [port]
        tensors += [f"{index.names[op]}:{number}" for number in ports]
    return tensors


def _key(tensor: str) -> str:
    """The key of a new result."""
    op, port = split_tensor(tensor)
    return f"{op}_{port}" if port else op


@register
@dataclass(frozen=True)
class StripTraining(Command):
    """Remove everything that `outputs` do not need: gradients, optimizers with their slots, savers,
    summaries.

    Variables that are needed stay, with their initializers.

    Args:
        outputs: Ops or tensors; None for the marked ones, those of the signature, or those without
            consumers.

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
        """The command of a call; without outputs it leaves graphs without results or training."""
        is_left_to_us = arguments["outputs"] is None
        if is_left_to_us and not (resolver.has_training() and resolver.has_outputs()):
            return cls(())
        return cls(**kinds.resolve_fields(cls, resolver, arguments))

    def fix_label(self) -> str:
        """A few words for a button."""
        return "Strip training"

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Stripped training, and kept what {subject_text(self.outputs)} needs"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; one that does nothing if there is nothing to remove. Raises UnknownName."""
        index = context.index
        if not self.outputs:
            return nothing_to_do(
                "Nothing here is for training alone, or nothing looks like a result that training "
                "could be distinguished from."
            )
        check_computed(index, self.outputs)
        needed = _with_initializers(index, _ops_needed_by(index, self.outputs))
        needed |= {index.op(name) for name in context.arguments}
        needed |= _table_initializers(index, needed)
        if len(needed) == len(index):
            need = "needs" if len(self.outputs) == 1 else "need"
            return nothing_to_do(f"{names_text(self.outputs)} {need} every op of the graph.")
        names = {index.names[op] for op in needed}
        nodes = [index.nodes[op] for op in sorted(needed)]
        changed = [
            _without_colocation(node, names)
            for node in nodes
            if not names.issuperset(colocated_with(node))
        ]
        patch = Patch(
            remove=_removal_of_rest(index, needed),
            changed=tuple(changed),
            boundary=_function_boundary(context, (), self.outputs, names),
        )
        if context.function or context.signatures:
            return patch
        return without_uncalled_functions(index, patch)


def _ops_needed_by(index: GraphIndex, outputs: Collection[str]) -> set[int]:
    """All ops that some ops or tensors need, these included."""
    return set(np.flatnonzero(needed_ops(index, (), outputs)).tolist())


def _variables_among(index: GraphIndex, ops: Iterable[int]) -> list[VariableDef]:
    """The variables whose handles are among some ops."""
    return list(definitions(index, [op for op in ops if index.types[op] in HANDLES]).values())


def _names_of_own_ops(index: GraphIndex, variables: Iterable[VariableDef]) -> list[str]:
    """The ops that are there for variables: their initializers, reads and assignments, and the
    initial values that their VariableDefs name, which TensorFlow may have put a guard before.
    """
    names = []
    for variable in variables:
        names += [index.names[op] for op in own_ops(index, variable)]
        initial_value, _ = split_tensor(variable.initial_value or "")
        names += [initial_value] if initial_value in index.ids else []
    return names


def _table_initializers(index: GraphIndex, keep: Collection[int]) -> set[int]:
    """The ops that fill the tables among some ops, and all that they need.

    Without these, the tables would be empty. What fills one may need another, or a variable.
    """
    needed = mask_of(index, keep)
    count = -1
    while needed.sum() != count:
        count = needed.sum()
        names = []
        for (kind, *_), ops in by_key(index).items():
            if kind == TABLE and needed[ops].any():
                for op in ops:
                    names += [index.names[initializer] for initializer in initializers(index, op)]
        filling = needed_ops(index, (), names)
        variables = _variables_among(index, np.flatnonzero(filling).tolist())
        needed |= filling
        needed |= needed_ops(index, (), _names_of_own_ops(index, variables))
    return set(np.flatnonzero(needed).tolist())


def _variable_initializers(index: GraphIndex, variables: Collection[str]) -> set[int]:
    """The ops that are there for variables that stay, and all that they need."""
    return _with_initializers(index, {index.ids[name] for name in variables})


def _with_initializers(index: GraphIndex, ops: Collection[int]) -> set[int]:
    """Some ops, with those that are there for their variables, and all that these need: an initial
    value may read another variable.
    """
    complete, variables = set(ops), _variables_among(index, sorted(ops))
    while variables:
        needed = _ops_needed_by(index, _names_of_own_ops(index, variables)) - complete
        complete |= needed
        variables = _variables_among(index, sorted(needed))
    return complete


def _removal_of_rest(
    index: GraphIndex, keep_ops: Collection[int], frozen_variables: Collection[str] = ()
) -> Change:
    """All that goes when only some ops stay, and what says of others that they are variables."""
    removal = removal_of(index, [op for op in range(len(index)) if op not in keep_ops])
    members = list(removal.members)
    # A collection may have an entry twice, and undo gives both back.
    members_of_ops = set(members)
    for key, entries in index.collections.items():
        for member in entries:
            name, _, _ = member.name.partition(":")
            is_frozen = member.kind == "variable" and name in frozen_variables
            if is_frozen and (key, member) not in members_of_ops:
                members.append((key, member))
    variables = [each for each in index.variable_defs if each.handle in frozen_variables]
    return Change(
        nodes=removal.nodes,
        members=tuple(members),
        variables=(*removal.variables, *variables),
        contexts=removal.contexts,
        runners=removal.runners,
    )


def _without_colocation(node: NodeDef, names: Collection[str]) -> NodeChange:
    """A NodeDef that is to be on the device of those ops only that have some names."""
    after = copy_of(node)
    colocate(after, [name for name in colocated_with(node) if name in names])
    return NodeChange(node, after)


def _penalties(index: GraphIndex) -> set[str]:
    """The ops of regularization losses, which only a loss consumes."""
    members = index.collections.get(_REGULARIZATION_LOSSES, ())
    names = {split_tensor(member.name)[0] for member in members}
    # A GraphDef has no collections, so names count too.
    return names | {name for name in index.names if _REGULARIZER.search(name)}


def _conditions(index: GraphIndex) -> set[str]:
    """The ops of asserts and conditionals that give a bool: whether the condition holds."""
    return {
        name
        for op, name in enumerate(index.names)
        if _CONDITIONS.search(name) and index.dtypes(op)[:1] == ("bool",)
    }


def _reports(index: GraphIndex) -> set[str]:
    """The ops that say something about a graph, and are not what it computes.

    These are shapes and what is computed of nothing else, summaries of training, variables as an
    update has left them, and what TensorFlow adds to each loop: counters, how many iterations it
    may take at most, and the shortest length of the sequences that a dynamic_rnn takes.
    """
    reports = set[str]()
    queries = np.isin(index.types, list(SHAPE_QUERIES))
    sources = [op for op, kind in enumerate(index.types) if _is_source(kind)]
    has_value = traversal.forward(index, sources, within=~queries)
    reports.update(index.names[op] for op in np.flatnonzero(~has_value).tolist())
    for op, (name, kind) in enumerate(zip(index.names, index.types, strict=True)):
        if kind in SHAPE_QUERIES or kind == _READ or _is_summary(kind):
            reports.add(name)
        if (kind in EXIT and _counts(index, op)) or (kind == "Min" and _has_maximum(index, op)):
            reports.add(name)
        if kind in WHILE_LOOPS:
            for port, last_part in enumerate(_LOOP_COUNTS):
                count = index.ids.get(f"{name}/{last_part}")
                if count is not None and _consumes_only(index, count, op, port):
                    reports.add(index.names[count])
    return reports


def _is_source(kind: str) -> bool:
    """Whether ops of a type have values that are fed or read."""
    return is_placeholder(kind) or kind in HANDLES


def _is_summary(kind: str) -> bool:
    """Whether ops of a type write what TensorBoard shows."""
    return "Summary" in kind


def _counts(index: GraphIndex, leaving: int) -> bool:
    """Whether a tensor leaving a v1 loop is an integer to which each round adds a constant."""
    if index.dtypes(leaving)[0] not in _COUNTER_DTYPES:
        return False
    # A loop that was cut, as one without its Switch, counts nothing.
    reads = index.input_lists
    merges = [merge for switch in reads[leaving] for merge in reads[switch][:1]]
    steps = [op for merge in merges for op in reads[merge] if index.types[op] in NEXT]
    added = [op for step in steps for op in reads[step] if index.types[op] in SUMS]
    return any(index.types[term] in CONSTANTS for op in added for term in reads[op])


def _has_maximum(index: GraphIndex, minimum: int) -> bool:
    """Whether the maximum of the same numbers is computed too, and is read."""
    numbers = index.input_lists[minimum][:1]
    readers = [op for source in numbers for op in index.consumer_lists[source]]
    return any(index.types[op] == "Max" and index.consumer_lists[op] for op in readers)


def _consumes_only(index: GraphIndex, op: int, source: int, port: int) -> bool:
    """Whether an op has one input, that output of another op."""
    first_edge = index.inputs.start[op]
    return index.input_lists[op] == [source] and int(index.ports[first_edge]) == port


def results(index: GraphIndex) -> tuple[str, ...]:
    """The ops that a graph seems to be for, for a call that names no outputs.

    These are the ops whose outputs have no consumer, without training and bookkeeping.
    Regularization losses that no loss consumes, conditions of asserts and conditionals, shapes,
    summaries and gradients are left out where there is anything else.

    Raises:
        GraphEditError: There are none.
    """
    scopes = _gradient_scopes(index)
    is_aside = _is_aside(index, _gradients_of_training(index, scopes))
    names = []
    differentiated = {match[1] for match in map(_GRADIENT_OF.search, index.names) if match}
    for op in np.flatnonzero(~is_aside).tolist():
        consumers = index.consumers.row(op).tolist()
        # A loss that is only reported is a result; other reports are of how a training goes.
        if index.names[op] in differentiated:
            consumers = [each for each in consumers if not _is_summary(index.types[each])]
        # A loss that only its gradients consume is a result. What only an optimizer or a Saver
        # consumes is none.
        in_gradients = scopes[consumers] > 0
        is_loss = in_gradients.any() and (is_aside[consumers] | in_gradients).all()
        if consumers and not is_loss:
            continue
        is_value = any(dtype not in HANDLE_DTYPES for dtype in index.dtypes(op))
        if is_value and index.types[op] not in CONSTANTS and _is_computed(index, op):
            names.append(index.names[op])
    doubtful = _penalties(index) | _conditions(index) | _reports(index)
    doubtful |= {index.names[op] for op in np.flatnonzero(scopes).tolist()}
    names = [name for name in names if name not in doubtful] or names
    if not names:
        raise GraphEditError(
            "Nothing here looks like a result; mark the output ops first, or name them as outputs."
        )
    return tuple(names)


def has_training(index: GraphIndex) -> bool:
    """Whether something in a graph serves training alone: an optimizer, gradients for it,
    regularization losses, a saver, summaries.
    """
    kinds, _ = index.kinds
    if any(
        APPLIES.fullmatch(kind) or _SAVES.fullmatch(kind) or _is_summary(kind) for kind in kinds
    ):
        return True
    if index.collections.get("train_op") or _penalties(index):
        return True
    scopes = (_gradient_scopes(index, pattern) for pattern in (_GRADIENTS, _TAPE))
    return any(_gradients_of_training(index, each) for each in scopes)


def _gradient_scopes(
    index: GraphIndex, pattern: re.Pattern[str] = _GRADIENTS
) -> npt.NDArray[np.intp]:
    """A number per op, that of the scope of gradients that it is in; 0 for none."""
    scopes, numbers = np.zeros(len(index), dtype=np.intp), dict[str, int]()
    for op, name in enumerate(index.names):
        if "gradient" in name and (match := pattern.search(name)):
            scopes[op] = numbers.setdefault(name[: match.end()], len(numbers) + 1)
    return scopes


def _gradients_of_training(index: GraphIndex, scopes: npt.NDArray[np.intp]) -> list[int]:
    """The ops of gradients that were made for training."""
    ops = np.flatnonzero(scopes)
    # The gradient of a v2 loop has lists filled by the loop itself, which are made before it.
    gradients = ops[~lists_for_gradients(index, ops.tolist())[ops]]
    is_for_training = gradients_of_training(index, scopes, gradients)
    return [op for op in gradients.tolist() if is_for_training[op]]


def _is_aside(index: GraphIndex, gradient_ops: Collection[int]) -> Mask:
    """Which ops train, save, feed or initialize, or come after those that do; one bool per op."""
    types = index.types
    updates = [op for op, kind in enumerate(types) if APPLIES.fullmatch(kind)]
    updates += [index.op(member.name) for member in index.collections.get("train_op", ())]
    saves = [op for op, kind in enumerate(types) if _SAVES.fullmatch(kind)]
    is_aside = traversal.forward(index, [*updates, *gradient_ops, *saves])
    is_aside[[op for op, kind in enumerate(types) if is_placeholder(kind)]] = True
    for variable in all_variables(index):
        is_aside[sorted(own_ops(index, variable))] = True
    # Not what the network computes with: a conditional with a dropout, a print that gives what it
    # is given.
    for op in sorted(side_effects(index, range(len(index))), reverse=True):
        is_aside[op] |= is_aside[index.consumer_lists[op]].all()
    return is_aside


def _is_computed(index: GraphIndex, op: int) -> bool:
    """Whether something is fed or read to compute an op."""
    sources = np.flatnonzero(traversal.backward(index, [op])).tolist()
    return any(_is_source(index.types[source]) for source in sources)


def without_training(index: GraphIndex) -> tuple[StripTraining, ...]:
    """The command that strips training, as a suggested fix; none if nothing is a result."""
    try:
        return (StripTraining(results(index)),)
    except GraphEditError:
        return ()
