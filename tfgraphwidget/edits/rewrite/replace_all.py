"""ReplaceAll: every match of a pattern by what a function, or a text, makes of the tensors that the
pattern names.

A replacement is traced once for all matches with the same dtypes, shapes and attributes, and all
matches are planned as one patch. What could read, wait for or return an op inside a match keeps it
from being replaced; the patch says so.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from types import FunctionType
from typing import Annotated, Any, Literal

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.clone.scopes import taken_names
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext, TracedFunction
from tfgraphwidget.edits.function_bodies import plan_everywhere
from tfgraphwidget.edits.patch import (
    Change,
    NodeChange,
    Patch,
    ReplacedMatch,
    Report,
    SkippedMatch,
    apply_patch,
    combine,
    nothing_to_do,
    removal_of,
)
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire.carried_gradients import (
    CARRIED,
    PartGradients,
    can_be_carried,
    part_gradients,
)
from tfgraphwidget.edits.rewire.gradients import possible_gradient_notes
from tfgraphwidget.edits.rewire.operands import part_text
from tfgraphwidget.edits.rewire.stale_gradients import BackwardOps, origin, stale_gradient_notes
from tfgraphwidget.edits.rewire.validation import check_acyclic
from tfgraphwidget.edits.rewire.waiting import waits_of
from tfgraphwidget.edits.rewrite.consumers import (
    ConsumerRewriter,
    OpsArgument,
    check_dtype,
    check_one_frame,
    check_skeleton,
    is_left_out,
    resolve_ops,
    tensor,
    tensor_consumers,
    tensor_name,
)
from tfgraphwidget.edits.rewrite.gradient_grafts import GradientGrafts, unused_gradient_ops
from tfgraphwidget.edits.rewrite.graft import graft_function, make_wait
from tfgraphwidget.edits.rewrite.remove import Remove, variable_parts
from tfgraphwidget.errors import GraphEditError, InvalidArgument, reason_of
from tfgraphwidget.graph import (
    CONSTANTS,
    V1_CONTROL_FLOW,
    GraphIndex,
    Mask,
    Shape,
    called_functions,
    traversal,
)
from tfgraphwidget.graph.patterns import (
    Match,
    Matches,
    Node,
    Pattern,
    Replacement,
    check_types,
    find_matches,
    parse_replacement,
    structure_digest,
)
from tfgraphwidget.graph.patterns import pattern as pattern_of
from tfgraphwidget.naming import (
    as_input,
    count_text,
    enclosing_scopes,
    free_name,
    function_name,
    identifier,
    is_scope_name,
    names_text,
    scope_around,
    split_input,
    split_tensor,
)
from tfgraphwidget.progress import tell
from tfgraphwidget.sentences import Sentence, editor_call, either, in_cell
from tfgraphwidget.tf_types import ContextDef, NodeDef, QueueRunnerDef

_MOST_ROUNDS = 100  # of replacing what the round before has made
_MOST_REFUSALS = 100  # matches of a round that an op cannot take; with more the edit is refused
_OF_GRADIENTS = "belongs to the gradients, which follow the ops that they are of; " + either(
    "give within= to replace it, too.", "select it to replace it, too."
)


_PATTERN = "str | patterns.Pattern | Callable[..., object]"
_WHERE = "Callable[[patterns.Match], object] | None"


def _pattern(_: kinds.Resolver, argument: str | Pattern | Callable[..., object]) -> str | Pattern:
    """A pattern, as text unless it has none."""
    definition = pattern_of(argument)
    return definition.text if definition.has_text else definition


def _scope_for(by: object) -> str:
    """A name scope named after a replacement: that of a function, or of its last op type."""
    if isinstance(by, str):
        name = by.rpartition(";")[2].strip().partition("(")[0].rpartition("=")[2].strip()
    else:
        name = function_name(by)
    base = identifier(name).strip("_") if name.isascii() and name not in ("", "<lambda>") else ""
    return base if base[:1].isalpha() else "replaced"


@register
@dataclass(frozen=True)
class ReplaceAll(Command):
    """Replace every match of a pattern: one edit, one line of code, one step to undo.

    Of matches that overlap, the first in topological order is replaced. A match is left alone if an
    op outside reads or waits for one inside, other than its outputs. Control inputs go over to the
    new ops. In a graph that trains, the gradients go through the replacements, where that can be;
    else the result says which gradients stay as they were.

    Args:
        pattern: The pattern; see `tfgraphwidget.pattern`.
        by: A Python function of the tensors that the pattern names, in their order; if the pattern
            has a name for each of its parameters, of those. Or a text: "x", "LeakyRelu(x,
            alpha=0.2)", or an op type alone, which is called on all. `$padding` is an attribute
            that the pattern names.
        into: The name scope of the new ops, inside the scope of the op that they replace; a number
            is added where it is taken. None for one named after `by`.
        within: The ops that matches may consist of; None for all but those of gradients.
        where: A function of a `Match` that says whether to replace it; None for all.
        until: "once"; or "fixed" to repeat until nothing matches, at most 100 times.
        effects: Replace ops with side effects too: random numbers, assignments, prints.
        functions: Replace in the functions that ops call, too.

    Returns:
        What was changed: `replaced` lists the matches that were, `skipped` those that were not,
        each with the reason.

    Raises:
        InvalidArgument: The pattern or the replacement cannot be read.
        GraphEditError: The replacement itself cannot be made: its function raises, or gives too
            many tensors.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> removed = editor.passes.strip_training("net/logits:0")
        >>> report = editor.replace_all("Relu(x)", "LeakyRelu(x, alpha=0.1)", into="leaky")
        >>> print(report)
        replaced 1 of 1 match
        1 op added, 1 op removed, 1 op changed
        >>> editor.history.lines[-1]
        'editor.replace_all(pattern="Relu(x)", by="LeakyRelu(x, alpha=0.1)", into="leaky")'
    """

    pattern: Annotated[Any, kinds.Operand(_PATTERN, _pattern, external="pattern")]
    by: Annotated[
        Any, kinds.Operand("str | Callable[..., object]", kinds.as_given, is_function=True)
    ]
    into: Annotated[str, kinds.Operand("str | None", kinds.as_given, default=None)] = "replaced"
    _: KW_ONLY
    within: kinds.PartOrAll = ()
    where: Annotated[Any, kinds.Operand(_WHERE, kinds.as_given, is_function=True)] = None
    until: Literal["once", "fixed"] = "once"
    effects: bool = False
    functions: bool = False

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, **arguments: Any) -> Command:
        """The command of a call, with a scope named after the replacement by default."""
        fields = kinds.resolve_fields(cls, resolver, arguments)
        return cls(
            **{
                **fields,
                "into": _scope_for(fields["by"]) if fields["into"] is None else fields["into"],
            }
        )

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return f"Replaced all {str(self.pattern)[:60]} with {subject_text(self.by)}"

    def result_name(self) -> str:
        """No name: it makes ops at many places."""
        return ""

    def plan(self, context: PlanContext) -> Patch:
        """The patch of `context`'s graph; one that does nothing, and says why, if none."""
        if not is_scope_name(self.into):
            raise InvalidArgument(
                "into",
                f"{self.into!r} is not a name scope; "
                + in_cell("write letters and digits: into='gelu'."),
            )
        report = _Report()
        mask = _mask_within(context.index, self.within)
        if mask is not None and not mask.any():
            return nothing_to_do(
                part_text(self.within) + " holds no ops, so there is nothing to replace."
            )

        def rewrite(inner: PlanContext) -> Patch | None:
            if inner is context:
                return _Planner(self, context, report).plan()
            patch = _Planner(replace(self, within=()), inner, report, inner.function).plan()
            return (
                patch if patch is None or patch.shapes else inner.infer_shapes(inner.index, patch)
            )

        if self.functions:
            patch = plan_everywhere(
                context, rewrite, "replaced", within=mask, keeps_gradients=False
            )
        else:
            patch = rewrite(context)
        left = self._left_in_functions(context)
        if patch is None:
            return self._nothing(context, report).with_notes(*left)
        # The calls of other functions may give other shapes.
        shapes = () if self.functions else patch.shapes
        matches = replace(
            patch.report, replaced=tuple(report.replaced), skipped=tuple(report.skipped)
        )
        return replace(patch, shapes=shapes, report=matches).with_notes(*left)

    def _left_in_functions(self, context: PlanContext) -> tuple[str, ...]:
        """What is said of matches in called functions, such as loops' bodies, which stay."""
        pattern, extras = pattern_of(self.pattern), context.index.extras
        if self.functions or self.within or self.where is not None:
            return ()
        wanted = [value.op_types for value in pattern.bottom_up if isinstance(value, Node)]
        definitions = (extras.function(name) for name in context.index.functions)
        types = {node.op for definition in definitions for node in definition.node_def}
        if not all(types & of_node for of_node in wanted if of_node):
            return ()
        matches = matches_of(context, pattern, effects=self.effects, functions=True)
        names = dict.fromkeys(match.function for match in matches if match.function)
        number = sum(bool(match.function) for match in matches)
        if not number:
            return ()
        word, are = ("match", "is") if number == 1 else ("matches", "are")
        note = f"{number:,} {word} in {names_text([*names])}, which ops call, {are} left alone; "
        return (note + in_cell("functions=True replaces there, too."),)

    def _nothing(self, context: PlanContext, report: _Report) -> Patch:
        """Why nothing is replaced. Raises GraphEditError for a replacement that cannot be made."""
        if report.failure is not None:
            first = report.skipped[0]
            end = "" if first.why.rstrip(".").endswith("?") else "."
            raise GraphEditError(
                "No match is replaced: " + Sentence(first.why).clause + end, first.ops
            )
        if report.skipped:
            return nothing_to_do("No match is replaced.", tuple(report.skipped))
        pattern = pattern_of(self.pattern)
        by = replacement_of(pattern, self.by)
        if isinstance(by, Replacement):
            check_types(by, context.index)
        text = repr(str(pattern)[:200])
        if self.where is not None:
            accepts = either("where= accepts", "the condition accepts")
            return nothing_to_do(f"No match of {text} is one that " + accepts + ".")
        near = find_matches(context.index, pattern).near[:1]
        if near:
            closest = f" The closest: {near[0].difference}."
        else:
            closest = either(" editor.match(…).near lists what almost does.", "")
        return nothing_to_do(f"Nothing matches {text}." + closest)


@dataclass
class _Report:
    """The matches of the graph and of its functions that were replaced, and those that were not.

    `failure` is that of the replacement itself, which is not the fault of a match: a function that
    raises, or an op type that there is not.
    """

    replaced: list[ReplacedMatch] = field(default_factory=list)
    skipped: list[SkippedMatch] = field(default_factory=list)
    failure: GraphEditError | None = None

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Note what is refused meanwhile as a failure of the replacement."""
        try:
            yield
        except GraphEditError as error:
            self.failure = error
            raise


def _mask_within(index: GraphIndex, within: OpsArgument) -> Mask | None:
    """The ops that matches may consist of; None for all."""
    if is_left_out(within):
        return None
    return traversal.mask_of(index, resolve_ops(index, within))


def matches_of(
    context: PlanContext,
    pattern: Pattern,
    within: OpsArgument = (),
    *,
    limit: int | None = None,
    effects: bool = False,
    functions: bool = False,
    op_types: Callable[[], Iterable[str]] = tuple,
    expression: str = "",
) -> Matches:
    """Find where a pattern fits in the graph of a context.

    Args:
        within: The ops that matches may consist of; () for all.
        effects: Whether ops with side effects can be replaced.
        functions: Whether the functions that ops call are searched too, each at its first call.

    Returns:
        The matches; those in functions after those of the graph itself.
    """
    index = context.index
    mask = _mask_within(index, within)
    options: dict[str, Any] = {"effects": effects, "op_types": op_types}
    graph_matches = find_matches(
        *(index, pattern),
        within=mask,
        limit=limit,
        external=context.external_tensors,
        expression=expression,
        **options,
    )
    if not functions or graph_matches.is_cut:
        return graph_matches
    matches, is_cut, visited = list(graph_matches.matches), False, set[str]()
    stack = [context]
    while stack and not is_cut:
        around = stack.pop()
        for op, node in enumerate(around.index.nodes):
            for called in called_functions(node, around.index.functions):
                if called.function in visited or (
                    mask is not None and around is context and not mask[op]
                ):
                    continue
                visited.add(called.function)
                inner = around.enter(around.index.names[op], called.label)
                left = None if limit is None else limit - len(matches)
                more = find_matches(
                    inner.index,
                    pattern,
                    limit=left,
                    external=inner.external_tensors,
                    function=called.function,
                    **options,
                )
                matches += more.matches
                is_cut = is_cut or more.is_cut
                stack.append(inner)
    return replace(graph_matches, matches=tuple(matches), is_cut=is_cut)


class _Planner:
    """Plans the command for a graph, or the body of `function`; adds to `report`."""

    def __init__(
        self, command: ReplaceAll, context: PlanContext, report: _Report, function: str = ""
    ) -> None:
        self.command, self.context, self.report, self.function = command, context, report, function
        self.pattern = pattern_of(command.pattern)
        self.by = replacement_of(self.pattern, command.by)
        self.traces: dict[object, TracedFunction] = {}
        self._functions: dict[str, Replacement] = {}
        self.external = tuple(context.external_tensors)  # of the graph before the next round
        self.replaced: list[ReplacedMatch] = []
        self.skipped: list[SkippedMatch] = []

    def plan(self) -> Patch | None:
        """The patch; None where nothing is replaced."""
        patch = self._round(self.context.index, is_first=True)
        if patch is not None and self.command.until == "fixed":
            patch = self._repeat(patch)
        self.report.replaced += [each._replace(function=self.function) for each in self.replaced]
        self.report.skipped += [each._replace(function=self.function) for each in self.skipped]
        return patch

    def _repeat(self, first: Patch) -> Patch:
        """All rounds as one patch."""
        original = self.context.index
        rounds, index = [first], apply_patch(original, first)
        self._rename_external(first)
        digests = {structure_digest(original), structure_digest(index)}
        note = f"Stopped after {count_text(_MOST_ROUNDS, 'round')}, and there are matches left."
        while len(rounds) < _MOST_ROUNDS:
            tell("Replacing matches again", len(rounds))
            replaced, self.skipped = list(self.replaced), []
            patch = self._round(index, is_first=False)
            if patch is None:
                return _join(original, index, rounds, ())
            after = apply_patch(index, patch)
            digest = structure_digest(after)
            if digest in digests:
                self.replaced = replaced
                done = count_text(len(rounds), "round")
                note = f"Stopped after {done}: the next one leads to a graph that was there before."
                break
            digests.add(digest)
            rounds.append(patch)
            self._rename_external(patch)
            index = after
        return _join(original, index, rounds, (note,))

    def _rename_external(self, patch: Patch) -> None:
        """Let what signatures and callers name be what it is after a round."""
        renamed = dict(patch.output_renames)
        self.external = tuple(renamed.get(name, name) for name in self.external)

    # One round

    def _round(self, index: GraphIndex, *, is_first: bool) -> Patch | None:
        within: OpsArgument = self.command.within if is_first else ()
        mask = _mask_within(index, within)
        if not is_first and self.command.within:
            names = {
                index.names[op]
                for op in resolve_ops(self.context.index, self.command.within)
                if op < len(index)
            }
            new = {name for name in index.names if name not in self.context.index.ids}
            mask = traversal.mask_of(
                index, (index.ids[name] for name in names | new if name in index.ids)
            )
        matches = find_matches(
            index, self.pattern, within=mask, external=self.external, effects=self.command.effects
        )
        accepted = self._matches_to_replace(matches)
        backward = BackwardOps(index, self.context.new_names)
        # Matches, by their places: one of gradients, or a shape that an op cannot take.
        refusals = {} if self.command.within else _gradient_matches(backward, accepted)
        most_refusals = len(refusals) + _MOST_REFUSALS
        while True:
            step, patch, skipped = self._attempt(backward, accepted, refusals)
            try:
                if patch is not None:
                    check_acyclic(index, patch, "write a pattern of one output")
                    patch = self.context.infer_shapes(index, patch)
            except GraphEditError as error:
                place = step.responsible(error)
                if place is None or len(refusals) >= most_refusals:
                    raise
                refusals[place] = f"{accepted[place].outputs[0]!r}: " + error.why
                continue
            self.replaced += step.replaced.values()
            self.skipped += skipped
            return patch

    def _matches_to_replace(self, matches: Matches) -> list[Match]:
        """The matches that `where` accepts."""
        return [match for match in matches if self._accepts(match)]

    def _accepts(self, match: Match) -> bool:
        where = self.command.where
        try:
            return where is None or bool(where(match))
        except Exception as error:
            raise InvalidArgument(
                "where",
                either("where=", "The condition")
                + f" raised {type(error).__name__} at {match.outputs[0]!r}: {reason_of(error)}; "
                "let it return True or "
                "False.",
            ) from error

    def _attempt(
        self, backward: BackwardOps, matches: Sequence[Match], refusals: Mapping[int, str]
    ) -> tuple[_Round, Patch | None, list[SkippedMatch]]:
        """Replace matches that are not refused, the first of overlapping; the others, with why."""
        step, skipped, owners = _Round(self, backward), list[SkippedMatch](), dict[int, str]()
        for place, match in enumerate(matches):
            if not place % 16:
                tell("Replacing matches", place, len(matches))
            first = str(match.outputs[0])
            ops = (*match.numbers, *match.passed)
            other = next((owners[op] for op in ops if op in owners), "")
            why = f"{first!r}: overlaps the match that ends at {other!r}." if other else ""
            why = f"{first!r}: " + match.why + "." if match.why else refusals.get(place, why)
            if not why:
                try:
                    step.replace(match, place)
                except GraphEditError as error:
                    why = f"{first!r}: " + error.why
            if why:
                skipped.append(SkippedMatch(match.ops, why))
            else:
                owners.update(dict.fromkeys(ops, first))
        return step, step.patch(), skipped

    # Traces

    def function_for(self, match: Match) -> Any:
        """What is called for a match: the replacement, with the attributes that the match names."""
        if not isinstance(self.by, Replacement) or self.by.is_passing:
            return self.by
        by = self.by.with_attributes(match.attributes)
        return self._functions.setdefault(repr(by.attributes), by)

    def trace(self, match: Match) -> tuple[TracedFunction | None, tuple[str, ...]]:
        """What the replacement makes for a match, None if it passes tensors on; and its inputs."""
        missing = [name for name in self.names_of(match) if name not in match.tensors]
        if missing:
            raise GraphEditError(
                f"the alternative that fits has no {missing[0]!r}, which the replacement needs; "
                "name it in each alternative."
            )
        inputs = tuple(match[name] for name in self.names_of(match))
        by = self.function_for(match)
        if isinstance(by, Replacement) and by.is_passing:
            return None, inputs
        specs = tuple((name.dtype, name.shape) for name in inputs)
        key = specs, repr(by.attributes) if isinstance(by, Replacement) else None
        if key not in self.traces:
            traced = self.context.trace(by, specs)
            if traced.has_state or traced.captured:
                raise GraphEditError(
                    "The replacement makes or reads variables of its own, and all matches would "
                    "share them; use " + editor_call("replace") + " at each match."
                )
            self.traces[key] = traced
        return self.traces[key], inputs

    def names_of(self, match: Match) -> tuple[str, ...]:
        """The names that the replacement is called on."""
        if isinstance(self.by, Replacement):
            return self.by.names
        return _arguments(self.by, match.names)


def _gradient_matches(backward: BackwardOps, matches: Sequence[Match]) -> dict[int, str]:
    """The places of matches that hold gradient ops or what optimizers make of them, and why these
    stay: gradients follow the ops that they are of.
    """
    return {
        place: f"{str(match.outputs[0])!r}: " + _OF_GRADIENTS
        for place, match in enumerate(matches)
        if not backward.descendants.isdisjoint(match.numbers)
    }


def replacement_of(pattern: Pattern, by: object) -> Any:
    """The replacement of `pattern`: `by` is a Python function, or a text of ops."""
    if isinstance(by, FunctionType):
        return _returning(by)
    if not isinstance(by, str):
        return by
    return parse_replacement(by, pattern.names, pattern.wildcards)


def _returning(function: FunctionType) -> Callable[..., object]:
    """The function, refused where it returns None: other edits take that otherwise."""

    @functools.wraps(function)
    def call(*tensors: object) -> object:
        result = function(*tensors)
        if result is None:
            raise GraphEditError(
                "the replacement returns None; let it return a tensor for each output of the "
                "pattern."
            )
        return result

    return call


def _arguments(function: Callable[..., object], names: Sequence[str]) -> tuple[str, ...]:
    """The tensors that a function takes: by its parameters' names if all are, else in order."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return tuple(names)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p.name for p in positional if p.default is p.empty]
    is_named = bool(required) and set(required) <= set(names)
    return tuple(required) if is_named else tuple(names)


@dataclass(frozen=True)
class _MatchReplacement:
    """What takes the place of a match.

    Attributes:
        match: The match.
        traced: The function that takes its place; None where a tensor is handed on.
        reads: The names of the tensors that the function is called on.
        scope: The name scope of its ops.
    """

    match: Match
    traced: TracedFunction | None
    reads: tuple[str, ...]
    scope: str

    @property
    def ops(self) -> tuple[int, ...]:
        """The ops whose place is taken."""
        return (*self.match.numbers, *self.match.passed)

    def gradients(self, backward: BackwardOps) -> tuple[PartGradients, ...] | None:
        """The gradients of the match; None where others cannot take their place."""
        match = self.match
        is_plain = self.traced is None or can_be_carried(self.traced)
        if len(match.results) != 1 or not is_plain:
            return None
        sources = [tensor(backward.index, name) for name in self.reads]
        return part_gradients(backward, self.ops, match.results[0], sources)


class _Round:
    """The changes of one round in one graph."""

    def __init__(self, planner: _Planner, backward: BackwardOps) -> None:
        index = backward.index
        self.planner, self.index, self._backward = planner, index, backward
        self.context, self.command = planner.context, planner.command
        self.rewriter = ConsumerRewriter(index)
        self.nodes: list[NodeDef] = []
        self.new: dict[tuple[int, int], str] = {}  # old tensor -> new one
        # Old tensor -> control inputs for its consumers.
        self.waits: dict[tuple[int, int], tuple[str, ...]] = {}
        self.removed: set[int] = set()
        self.replaced: dict[int, ReplacedMatch] = {}  # by the place of the match
        self.scopes: list[str] = []
        self.traces: list[tuple[str, TracedFunction]] = []
        self._replacements: list[_MatchReplacement] = []
        self._resized: dict[int, Match] = {}  # those whose replacement has another static shape
        self.changes: list[Change] = []
        self.notes: dict[str, None] = {}
        self._names_by_depth: dict[int, set[str]] = {}
        self._variable_parts = variable_parts(index)

    def replace(self, match: Match, place: int) -> None:
        """Make what takes the place of a match, the one at a place among all."""
        index = self.index
        for op in (*match.numbers, *match.passed):
            handle = self._variable_parts.get(op)
            if handle is not None and index.ids.get(handle) not in match.numbers:
                raise GraphEditError(
                    f"{index.names[op]!r} is a part of variable {handle!r}, which stays; match the "
                    "ops that read it."
                )
        with self.planner.report.failures():
            traced, inputs = self.planner.trace(match)
            names, dtypes, change, notes, scope = self._make(match, traced, inputs)
            if len(names) != len(match.results):
                raise GraphEditError(
                    f"the replacement returns {len(names)} tensors, and the pattern has "
                    f"{len(match.results)} output{'s' * (len(match.results) > 1)}; let it return "
                    "as many."
                )
        check_one_frame(index, match.numbers, match.results)
        reading = [
            [op for op in tensor_consumers(index, of) if op not in match.numbers]
            for of in match.results
        ]
        for ops, of, new, dtype in zip(reading, match.results, names, dtypes, strict=True):
            check_dtype(index, ops, of, new, dtype)
            check_skeleton(index, ops, of)
        waits = self._control_inputs(match, change.nodes)
        if waits and not change.nodes:
            self._pass_waits_on(match, reading, waits)
        make_wait(change.nodes, waits)
        self.new |= dict(zip(match.results, names, strict=True))
        self.removed |= {*match.numbers, *match.passed}
        if scope:
            self._take(scope)
            self.scopes.append(scope)
            assert traced is not None
            self.traces.append((scope, traced))
        self._replacements.append(_MatchReplacement(match, traced, tuple(inputs), scope))
        self.nodes += change.nodes
        self.changes.append(change)
        self.notes |= dict.fromkeys(notes)
        self.replaced[place] = ReplacedMatch(
            match.ops, tuple(zip(map(str, match.outputs), names, strict=True))
        )
        shapes = [index.shape(*of) for of in match.results]
        if shapes != [self._new_shape(match, traced, k) for k in range(len(shapes))]:
            self._resized[place] = match

    def _new_shape(self, match: Match, traced: TracedFunction | None, k: int) -> Shape:
        """The static shape of the new output `k`, as far as it is known by now."""
        if traced is None:
            shape: Shape = match[self.planner.by.outputs[k].name].shape
            return shape
        return traced.index.tensor_shape(traced.outputs[k])

    def responsible(self, refusal: GraphEditError) -> int | None:
        """The place of the match that a refusal is about; None if it is unknown.

        Its replacement is in the cycle, or has the shape that an op refuses.
        """
        index = self.index
        places = (
            k
            for op in refusal.ops
            for k, pairs in self.replaced.items()
            if self._is_made_for(pairs, op)
        )
        place = next(places, None)
        consumer = next((index.ids[op] for op in refusal.ops if op in index.ids), None)
        if place is not None or consumer is None:
            return place
        needed = traversal.backward(index, [consumer])
        resized = reversed(self._resized.items())
        return next((k for k, match in resized if any(needed[of[0]] for of in match.results)), None)

    def _is_made_for(self, replaced: ReplacedMatch, op: str) -> bool:
        """Whether an op was made for a match."""
        scopes = {
            scope
            for scope in self.scopes
            if any(new.startswith(f"{scope}/") for _, new in replaced.outputs)
        }
        return any(op.startswith(f"{scope}/") for scope in scopes)

    def _make(
        self, match: Match, traced: TracedFunction | None, inputs: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...], Change, tuple[str, ...], str]:
        """The new outputs and their dtypes; the new ops, notes, and their scope."""
        if traced is None:
            by: Replacement = self.planner.by
            for of in match.results:
                name = tensor_name(self.index, of)
                if not self.index.consumer_lists[of[0]] and name not in self.planner.external:
                    raise GraphEditError(
                        f"nothing reads {name!r}, so it may be a result; give it a consumer, or "
                        "keep it."
                    )
            names = [str(match[output.name]) for output in by.outputs]
            return (
                tuple(names),
                tuple(match[output.name].dtype for output in by.outputs),
                Change(),
                (),
                "",
            )
        scope = self._free_scope(match)
        graft = graft_function(traced, self.index, inputs, scope)
        dtypes = tuple(traced.dtype(k) for k in range(len(traced.outputs)))
        return graft.outputs, dtypes, graft.change, graft.notes, scope

    def _free_scope(self, match: Match) -> str:
        index = self.index
        around = scope_around(index.names[match.results[0][0]])
        removed_ops = {*match.numbers, *match.passed}
        while around:
            ops = index.scopes.ops(index.scopes.ids[around]).tolist()
            if any(op not in removed_ops and index.types[op] not in CONSTANTS for op in ops):
                break
            around = scope_around(around)  # all that it holds is replaced
        base = f"{around}/{self.command.into}" if around else self.command.into
        return free_name(base, self._names_at(base))

    def _names_at(self, scope: str) -> set[str]:
        depth = scope.count("/")
        if depth not in self._names_by_depth:
            self._names_by_depth[depth] = taken_names(self.index, scope)
        return self._names_by_depth[depth]

    def _take(self, scope: str) -> None:
        for name in (scope, *enclosing_scopes(scope)):
            self._names_at(name).add(name.lower())

    def _control_inputs(self, match: Match, new: Iterable[NodeDef]) -> list[str]:
        """The ops outside that ops of a match wait for, or what these read and no new op does."""
        index, inside = self.index, {*match.numbers, *match.passed}
        waits = {op for number in inside for op in index.control_lists[number]} - inside
        read = {split_input(text)[0] for node in new for text in node.input}
        sources = {source for op in inside for source in index.input_lists[op]} - inside
        unread = [source for source in sources if index.names[source] not in read]
        return [index.names[op] for op in sorted(waits.union(waits_of(index, inside, unread)))]

    def patch(self) -> Patch | None:
        """All of it as a patch of the index; None if nothing changes."""
        if not self.new:
            return None
        index = self.index
        replaced_ops = sorted(self.removed)
        carried, left_over = self._carry_gradients()
        for of in self.new:
            new = self._final(of)
            for consumer in tensor_consumers(index, of):
                if consumer not in self.removed:
                    self.rewriter.redirect(consumer, of, new)
                    self._wait(consumer, self._waits_of(of))
            self._move_control_outputs(of[0], split_tensor(new)[0], self._waits_of(of))
        for node in self.nodes:
            self._follow(node)
        renames = tuple((tensor_name(index, of), self._final(of)) for of in self.new)
        patch = Patch(
            add=self._additions(),
            scopes=tuple(self.scopes),
            changed=self.rewriter.changes(),
            report=Report(tuple(self.notes)),
            output_renames=renames,
            traces=tuple(self.traces),
        )
        if not self.removed:
            return patch
        names = self.context.new_names
        notes = (
            *((CARRIED,) if carried else ()),
            # Asked here, too: the patch of a called function's body comes by no other way.
            *stale_gradient_notes(
                index, patch, names, "what was replaced", carried=carried, left_over=left_over
            ),
            *possible_gradient_notes(
                index, traversal.mask_of(index, replaced_ops), "what was replaced", names
            ),
        )
        patch = replace(patch.with_notes(*notes), carries_gradients=bool(carried))
        external = tuple(dict(renames).get(name, name) for name in self.planner.external)
        ops = tuple(index.names[op] for op in sorted(self.removed))
        return combine(index, patch, Remove(ops).patch(apply_patch(index, patch), external))

    def _carry_gradients(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Let the gradients of the path go through what is new, where that can be; return the old
        tensors for which it is so, and the old ops that these alone read and for which it is not.
        """
        index, backward = self.index, self._backward
        if not backward.ops:
            return [], []
        grafts = GradientGrafts(self.context, index, {node.name.lower() for node in self.nodes})
        carried: dict[tuple[int, int], _MatchReplacement] = {}
        replaced: list[PartGradients] = []
        for each in self._replacements:
            gradients = each.gradients(backward)
            new = None if gradients is None else self._new_gradients(each, gradients, grafts)
            if gradients is not None and new is not None:
                self.new |= new
                carried[each.match.results[0]] = each
                replaced += gradients
        self.nodes += grafts.nodes
        self.scopes += grafts.scopes
        self.traces += grafts.traces
        self.removed |= unused_gradient_ops(index, replaced)
        for gradients_of_match in replaced:
            for of, _ in gradients_of_match.leaving:
                self.rewriter.stand_in(of[0], split_tensor(self._final(of))[0])
        return list(carried), self._left_over(carried)

    def _left_over(self, carried: Mapping[tuple[int, int], _MatchReplacement]) -> list[int]:
        """The replaced ops whose gradients stay as they were, although replaced ops whose gradients
        go along read them.
        """
        index, backward = self.index, self._backward
        carried_ops = {op for each in carried.values() for op in each.ops}
        return [
            of[0]
            for each in self._replacements
            for of in each.match.results
            if of not in carried
            and not carried_ops.isdisjoint(index.consumer_lists[of[0]])
            and of[0] in backward.dependents
            and not self._is_same_value(of)
        ]

    def _is_same_value(self, of: tuple[int, int]) -> bool:
        """Whether what takes the place of a tensor is the one that it handed on."""
        op, port = split_tensor(self.new[of])
        new = self.index.ids.get(op)
        return new is not None and origin(self.index, of) == origin(self.index, (new, port or 0))

    def _new_gradients(
        self,
        replacement: _MatchReplacement,
        gradients: Sequence[PartGradients],
        grafts: GradientGrafts,
    ) -> dict[tuple[int, int], str] | None:
        """The new gradients by those of a match; None where TensorFlow knows none."""
        index = self.index
        sources = [tensor(index, name) for name in replacement.reads]
        if replacement.traced is not None:
            function = self.planner.function_for(replacement.match)
            return grafts.replace(function, sources, gradients, replacement.scope)
        handed_on = tensor(index, self.new[replacement.match.results[0]])
        if index.shape(*handed_on) != index.shape(*replacement.match.results[0]):
            return None  # it was broadcast
        leaving = [(each, old, sources[k]) for each in gradients for old, k in each.leaving]
        if any(source != handed_on for _, _, source in leaving):
            return None
        return {old: tensor_name(index, each.arriving) for each, old, _ in leaving}

    def _additions(self) -> Change:
        functions = {
            each.signature.name: each for change in self.changes for each in change.functions
        }
        return Change(
            nodes=tuple(self.nodes),
            members=tuple(member for change in self.changes for member in change.members),
            contexts=tuple(context for change in self.changes for context in change.contexts),
            functions=tuple(functions.values()),
            gradients=tuple(
                dict.fromkeys(pair for change in self.changes for pair in change.gradients)
            ),
        )

    def _pass_waits_on(
        self, match: Match, reading: Sequence[Sequence[int]], waits: Sequence[str]
    ) -> None:
        """Let the consumers of a match wait for what it waits for, as no new op can; raises where
        they cannot.
        """
        index = self.index
        fetched = any(tensor_name(index, of) in self.planner.external for of in match.results)
        consumers = [op for ops in reading for op in ops]
        if fetched or not consumers or any(index.types[op] in V1_CONTROL_FLOW for op in consumers):
            raise GraphEditError(
                f"it waits for {names_text(waits)}, and the replacement has no op that could; "
                "write 'Identity(x)'."
            )
        self.waits |= dict.fromkeys(match.results, tuple(waits))

    def _waits_of(self, of: tuple[int, int]) -> list[str]:
        """The control inputs of what reads a tensor in the end, from all matches that passed it
        on.
        """
        waits: dict[str, None] = {}
        while of in self.new:
            for name in self.waits.get(of, ()):
                new = next(
                    (tensor for tensor in self.new if tensor[0] == self.index.ids[name]), None
                )
                waits[f"^{name if new is None else split_tensor(self._final(new))[0]}"] = None
            op, port = split_tensor(self.new[of])
            of = self.index.ids.get(op, -1), port or 0
        return list(waits)

    def _wait(self, consumer: int, waits: Sequence[str]) -> None:
        node = self.rewriter.node(consumer)
        node.input.extend(text for text in waits if text not in node.input)

    def _final(self, of: tuple[int, int]) -> str:
        """The new tensor of an old one, which another match may have replaced in turn."""
        new = self.new[of]
        while True:
            op, port = split_tensor(new)
            key = self.index.ids.get(op, -1), port or 0
            if key not in self.new:
                return new
            new = self.new[key]

    def _follow(self, node: NodeDef) -> None:
        """Let a new op read what takes the place of what it reads."""
        for k, text in enumerate(node.input):
            op, port = split_input(text)
            number = self.index.ids.get(op)
            if number is None:
                continue
            if port >= 0 and (number, port) in self.new:
                name, of = split_tensor(self._final((number, port)))
                node.input[k] = as_input(name, of or 0)
            elif port < 0 and number in self.removed:
                outputs = [of for of in self.new if of[0] == number]
                if outputs:
                    node.input[k] = f"^{split_tensor(self._final(outputs[0]))[0]}"

    def _move_control_outputs(self, old: int, new: str, waits: Sequence[str]) -> None:
        """Let what waits for an op wait for another, and for what that cannot wait for."""
        name = f"^{self.index.names[old]}"
        for waiting in self.index.control_consumer_lists[old]:
            if waiting not in self.removed:
                node = self.rewriter.node(waiting)
                node.input[:] = dict.fromkeys(
                    f"^{new}" if text == name else text for text in node.input
                )
                self._wait(waiting, waits)


def _join(
    index: GraphIndex, after: GraphIndex, rounds: Sequence[Patch], notes: tuple[str, ...]
) -> Patch:
    """Patches one after the other as one: `after` is the graph after them all."""
    if len(rounds) == 1:
        return rounds[0].with_notes(*notes)

    # What one round has added and a later one has removed is in neither.
    new_nodes = [node for node in after.nodes if node.name not in index.ids]
    new_names = {node.name for node in new_nodes}
    removed_ops = [op for op, name in enumerate(index.names) if name not in after.ids]
    changed = []
    for name, op in index.ids.items():
        if name in after.ids:
            before, now = index.nodes[op], after.nodes[after.ids[name]]
            if before is not now and before != now:
                changed.append(NodeChange(before, now))

    renames: dict[str, str] = {}
    members = []
    contexts: list[ContextDef] = []
    runners: list[tuple[str, QueueRunnerDef]] = []
    functions = {}
    gradients: list[tuple[str, str]] = []
    scopes: list[str] = []
    all_notes: list[str] = []
    traces: list[tuple[str, Any]] = []
    for patch in rounds:
        for old, name in patch.output_renames:
            renames |= {first: name for first, last in renames.items() if last == old}
            renames.setdefault(old, name)
        for key, member in patch.add.members:
            if split_tensor(member.name)[0] in new_names:
                members.append((key, member))
        contexts += patch.add.contexts
        runners += patch.add.runners
        functions.update({function.signature.name: function for function in patch.add.functions})
        gradients += patch.add.gradients
        scopes += patch.scopes
        all_notes += patch.report.notes
        traces += patch.traces
    return replace(
        rounds[0],
        add=Change(
            nodes=tuple(new_nodes),
            members=tuple(members),
            contexts=tuple(contexts),
            runners=tuple(runners),
            functions=tuple(functions.values()),
            gradients=tuple(dict.fromkeys(gradients)),
        ),
        remove=removal_of(index, removed_ops),
        shapes=(),
        changed=tuple(changed),
        scopes=tuple(dict.fromkeys(scopes)),
        report=Report((*dict.fromkeys(all_notes), *notes)),
        output_renames=tuple(
            (old, name) for old, name in renames.items() if split_tensor(old)[0] in index.ids
        ),
        traces=tuple(traces),
    )
