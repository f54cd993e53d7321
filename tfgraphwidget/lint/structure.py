"""Rules about what the format of a file allows and TensorFlow does not: names, edges and attributes
of no graph.

TensorFlow has accepted a graph that it holds, so only graphs of files are looked at, with the
functions of their library: one that is damaged keeps TensorFlow from importing the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tfgraphwidget.edits import Command, Connect, RemoveAttr, Reroute
from tfgraphwidget.edits.rewrite import Remove, Rename, SetAttr, input_specs
from tfgraphwidget.graph import (
    ENTER,
    INPUTS_IN_FILE,
    LOOP_CONDITION,
    MERGE,
    MISSING_INPUT,
    NAME_IN_FILE,
    NEXT,
    OUTPUT_SHAPES,
    UNNAMED,
    Contexts,
    Csr,
    GraphIndex,
    of_type,
    selectors,
    strong_components,
    weak_components,
)
from tfgraphwidget.lint.attribute_scan import missing_neighbors, negative_dim
from tfgraphwidget.lint.finding import Finding, Severity
from tfgraphwidget.lint.rule import Body, LintContext, rule
from tfgraphwidget.naming import (
    colocation,
    count_text,
    free_name,
    names_text,
    split_tensor,
    text_attribute,
    tried_before,
    valid_name,
    words,
)
from tfgraphwidget.sentences import Sentence, editor_call, either, in_cell
from tfgraphwidget.tf_types import NodeDef, OpDef

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_NAME_IN_FUNCTION = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\\/>-]*")
MOST_FINDINGS = 20  # of one rule in one graph: a file of another format may break it at each op
_SHOWN = 8  # ops of a cycle in a sentence
_NO_VALUE = "has no value"
Counts = npt.NDArray[np.int32]


@rule("missing-inputs", "error")
def missing_inputs(context: LintContext) -> Iterator[Finding]:
    """Ops that represent inputs which the file names and does not hold."""
    for body in context.bodies:
        index = body.index
        for op in body.attributes.noted[MISSING_INPUT]:
            name, kind = index.names[op], index.types[op]
            missing = text_attribute(index.nodes[op], MISSING_INPUT).decode(errors="replace")
            consumers = sorted({*index.consumer_lists[op], *index.control_consumer_lists[op]})
            if not consumers:
                continue  # nothing reads what was missing any more
            does = "waits for" if kind == "NoOp" else "reads"
            if kind == "NoOp":
                ways = "Remove the wait" + either(
                    f" (editor.remove_control_inputs({index.names[consumers[0]]!r}, {name!r}))", ""
                )
            else:
                ways = (
                    "Give it a value"
                    + either(f" (editor.set_constant({name!r}, …))", "")
                    + ", let what reads it read another tensor"
                    + either(f" (editor.reroute({name!r}, to=…))", "")
                )
            yield body.finding(
                "missing-inputs",
                "error",
                f"Op {index.names[consumers[0]]!r}{body.where} {does} {missing!r}, which the file "
                f"does not hold; {kind} {name!r} represents it. "
                + ways
                + ", or keep it"
                + either(f" (editor.passes.remove_attr({MISSING_INPUT!r}, {name!r})).", "."),
                [consumers[0], op],
            )


@rule("duplicate-names", "error")
def duplicate_names(context: LintContext) -> Iterator[Finding]:
    """Ops that share their name in the file, where all but the first have been given another."""
    for body in context.bodies:
        index = body.index
        for op in body.attributes.noted[NAME_IN_FILE]:
            name, kind = index.names[op], index.types[op]
            named = text_attribute(index.nodes[op], NAME_IN_FILE).decode(errors="replace")
            first = index.ids.get(named)
            if first is None or named.lower() not in tried_before(name):
                continue  # one of them was removed or renamed
            consumers = sorted({*index.consumer_lists[first], *index.control_consumer_lists[first]})
            read = names_text([index.names[consumer] for consumer in consumers]) or "nothing"
            alone = not index.consumer_lists[op] and not index.control_consumer_lists[op]
            fix = context.fix(Remove(selectors.ops(index, name)) if alone else None, body)
            yield body.finding(
                "duplicate-names",
                "error",
                f"Two ops{body.where} are named {named!r} in the file, a {index.types[first]} and "
                f"a {kind}; {read} reads the first, and the second is opened as {name!r}. Keep the "
                "first: "
                + editor_call("remove", f"{name!r}")
                + "; or the second: "
                + editor_call("reroute", f"{named!r}, to={name!r}")
                + ", "
                + editor_call("remove", f"{named!r}")
                + "; or rename one.",
                [first, op],
                fix,
            )


@rule("invalid-names", "error")
def invalid_names(context: LintContext) -> Iterator[Finding]:
    """Names that TensorFlow takes for no op: with blanks, colons or other letters than those of
    English.
    """
    for body in context.bodies:
        index = body.index
        for op in body.attributes.noted[NAME_IN_FILE]:
            name = index.names[op]
            named = text_attribute(index.nodes[op], NAME_IN_FILE).decode(errors="replace")
            opened_as = valid_name(named, UNNAMED)
            is_as_opened = name == opened_as or opened_as.lower() in tried_before(name)
            if is_as_opened and not _NAME.fullmatch(named) and named not in index.ids:
                yield body.finding(
                    "invalid-names",
                    "warning",
                    f"Op {name!r}{body.where} is named {named[:80]!r} in the file, which no input "
                    "can name; give it a name: " + editor_call("rename", f"{name!r}, …") + ".",
                    [op],
                    context.fix(RemoveAttr(NAME_IN_FILE, name, functions=False), body),
                )
        if not context.is_file:
            continue
        valid = _NAME_IN_FUNCTION if body.is_function else _NAME
        wrong = [op for op, name in enumerate(index.names) if not valid.fullmatch(name)]
        used = index.used_names() if wrong else set()
        for op in wrong[:MOST_FINDINGS]:
            name = index.names[op]
            new = free_name(valid_name(name, index.types[op]), used)
            yield body.finding(
                "invalid-names",
                "error",
                f"Op {name[:80]!r}{body.where} has a name that TensorFlow takes for no op; rename "
                "it, as " + editor_call("rename", f"{name[:80]!r}, {new!r}") + ".",
                [op],
                context.fix(Rename(name, new), body),
            )
        yield from rest_of(
            body, "invalid-names", wrong, "have names that TensorFlow takes for no op"
        )


@rule("wrong-ports", "error")
def wrong_ports(context: LintContext) -> Iterator[Finding]:
    """Inputs that read an output which the op does not have."""
    for body in context.bodies if context.is_file else ():
        index = body.index
        counts = _output_counts(index)
        of_edges = counts[index.inputs.values]
        edges = np.flatnonzero((of_edges >= 0) & (index.ports >= of_edges))
        owner = index.inputs.owner
        for edge in edges[:MOST_FINDINGS].tolist():
            source = int(index.inputs.values[edge])
            port = int(index.ports[edge])
            consumer = int(owner[edge])
            name, count = index.names[source], int(counts[source])
            only = Reroute((f"{name}:{port}",), (f"{name}:0",)) if count == 1 else None
            k = edge - int(index.inputs.start[consumer])
            yield body.finding(
                "wrong-ports",
                "error",
                f"Op {index.names[consumer]!r}{body.where} reads '{name}:{port}' at input {k}, and "
                f"{index.types[source]} {name!r} has {count_text(count, 'output')}; connect it to "
                "another tensor: "
                + editor_call("connect", f"tensor, {index.names[consumer]!r}, {k}")
                + ".",
                [consumer, source],
                context.fix(only, body),
            )
        yield from rest_of(body, "wrong-ports", edges.tolist(), "read outputs that are not there")


@rule("input-counts", "error")
def input_counts(context: LintContext) -> Iterator[Finding]:
    """Ops that read more or fewer tensors than their type takes."""
    for body in context.bodies if context.is_file else ():
        index = body.index
        arities, read = _input_counts(index), np.diff(index.inputs.start)
        wrong = np.flatnonzero((arities >= 0) & (arities != read)).tolist()
        for op in wrong[:MOST_FINDINGS]:
            name, more = index.names[op], int(read[op]) > int(arities[op])
            last = int(read[op]) - 1
            if more:
                way = "take the last one away: " + editor_call("connect", f"[], {name!r}, {last}")
            else:
                way = "connect one more: " + editor_call("connect", f"tensor, {name!r}, {last + 1}")
            yield body.finding(
                "input-counts",
                "error",
                f"{index.types[op]} {name!r}{body.where} takes "
                f"{count_text(int(arities[op]), 'tensor')}, and "
                f"reads {int(read[op])}; " + way + ".",
                [op],
                context.fix(Connect((), name, last) if more else None, body),
            )
        yield from rest_of(
            body, "input-counts", wrong, "read more or fewer tensors than their type takes"
        )


@rule("missing-results", "error")
def missing_results(context: LintContext) -> Iterator[Finding]:
    """Functions that return tensors which they do not have."""
    for body in context.bodies if context.is_file else ():
        index = body.index
        for key, result in body.results.items():
            name, port = split_tensor(result)
            op = index.ids.get(name)
            if op is None:
                has = f"the body has no op {name!r}"
                way = "let an op of that name give it" + either(
                    f": editor.insert(tensor, 'Identity', name={name!r})", ""
                )
            else:
                count = len(index.typing.dtypes(index.nodes[op]))
                # Of an op type that is not known no output is.
                if count == 0 or (port or 0) < count:
                    continue
                has = f"{index.types[op]} {name!r} has no output {port}"
                way = "reroute it" + either(f": editor.reroute({result!r}, to=tensor)", "")
            yield body.finding(
                "missing-results",
                "error",
                f"Result {key!r}{body.where} is {result!r}, and {has}; " + way + ".",
                [] if op is None else [op],
            )


@rule("input-order", "error")
def input_order(context: LintContext) -> Iterator[Finding]:
    """Ops whose control inputs stand before tensors, which is in the order that TensorFlow takes
    once it is edited.
    """
    for body in context.bodies:
        for op in body.attributes.noted[INPUTS_IN_FILE]:
            name = body.index.names[op]
            fix = RemoveAttr(INPUTS_IN_FILE, name, functions=False)
            # A function is written as it was unless it is edited.
            severity: Severity = "error" if body.is_function else "warning"
            yield body.finding(
                "input-order",
                severity,
                f"Control inputs of op {name!r}{body.where} stand before its tensors in the file, "
                "and TensorFlow wants them after; " + _fix(fix) + " writes them there.",
                [op],
                context.fix(fix, body),
            )


@rule("cycles", "error")
def cycles(context: LintContext) -> Iterator[Finding]:
    """Ops that need each other, without a loop around them: none of them could ever run."""
    for body in context.bodies if context.is_file else ():
        index = body.index
        if index.is_sorted():
            continue
        for ops in _cycles(index)[:MOST_FINDINGS]:
            names = [index.names[op] for op in ops]
            first = names[0]
            way = names if len(names) <= _SHOWN else [*names[:_SHOWN], "…"]
            path = " → ".join([*way, first])
            why = f"Op {first!r}{body.where} needs itself, and can never run"
            if len(ops) > 1:
                why = f"{len(ops):,} ops{body.where} need each other, and none can ever run"
            yield body.finding(
                "cycles",
                "error",
                f"{why}: {path}; "
                + in_cell(
                    f"let {first!r} read another tensor: editor.connect(tensor, {first!r}, k), or "
                    f"wait for less: editor.remove_control_inputs({first!r}, ops)."
                ),
                ops,
            )


@rule("loop-frames", "error")
def loop_frames(context: LintContext) -> Iterator[Finding]:
    """While loops of one frame name beside each other, which TensorFlow takes for one loop."""
    for body in context.bodies:
        index = body.index
        if ENTER.isdisjoint(index.kinds[0]):
            continue
        for frame, loops in _shared_frames(index):
            others = [index.names[op] for op in loops[1] if index.types[op] in ENTER]
            first = next(index.names[op] for op in loops[0] if index.types[op] in ENTER)
            used = {_frame_name(node).lower() for node in index.nodes if node.op in ENTER}
            yield body.finding(
                "loop-frames",
                "error",
                f"The loops of {first!r} and {others[0]!r}{body.where} share the frame name "
                f"{frame!r}, and TensorFlow takes them for one; "
                + in_cell(
                    f"give the Enters of the second another: for op in {others!r}: "
                    f"editor.set_attr(op, 'frame_name', {free_name(frame, used)!r})."
                ),
                [op for loop in loops for op in loop if index.types[op] in ENTER],
            )


@rule("missing-colocations", "error")
def missing_colocations(context: LintContext) -> Iterator[Finding]:
    """Ops that are to be placed beside ops which the graph does not have."""
    if context.in_function:
        return
    body = context.bodies[0]  # TensorFlow passes over those of functions
    index = body.index
    for op in body.attributes.colocated:
        name, entries = index.names[op], index.nodes[op].attr["_class"].list.s[:]
        missing_names = list(missing_neighbors(index, entries))
        remaining = tuple(
            entry.decode() for entry in entries if colocation(entry) not in missing_names
        )
        fix: Command = SetAttr(name, "_class", remaining)
        if not remaining:
            fix = RemoveAttr("_class", name, functions=False)
        yield body.finding(
            "missing-colocations",
            "error",
            f"Op {name!r} is to be placed beside {names_text(missing_names)}, which the graph does "
            "not have; " + _fix(fix) + " removes that.",
            [op],
            context.fix(fix, body),
        )


@rule("attributes", "error")
def attributes(context: LintContext) -> Iterator[Finding]:
    """Attributes without a value, those that the op's type does not have, and those that it
    lacks.
    """
    for body in context.bodies if context.is_file else ():
        index = body.index
        count = 0
        for op in body.attributes.odd:
            node = index.nodes[op]
            definition = index.typing.definition(node.op)
            described = {} if definition is None else {attr.name: attr for attr in definition.attr}
            is_known = definition is not None
            wrong = [
                *_wrong_attributes(node, described, index.functions, is_known=is_known),
                *_missing_functions(index, node, described),
            ]
            for name, why, severity, is_removed in wrong:
                count += 1
                if count > MOST_FINDINGS:
                    continue
                fix: Command = RemoveAttr(name, node.name, functions=False)
                if is_removed:
                    way = _fix(fix) + " removes it"
                else:
                    way = in_cell(f"editor.set_attr({node.name!r}, {name!r}, …)")
                # In a function TensorFlow takes an attribute without a value for one that a call is
                # to fill in.
                is_unbound = body.is_function and why == _NO_VALUE
                yield body.finding(
                    "attributes",
                    "error" if is_unbound else severity,
                    f"Attribute {name!r} of {node.op} {node.name!r}{body.where} {why}; "
                    + way
                    + ".",
                    [op],
                    context.fix(fix if is_removed else None, body),
                )
        yield from rest_of(body, "attributes", range(count), "have such attributes")


@rule("negative-shapes", "error")
def negative_shapes(context: LintContext) -> Iterator[Finding]:
    """Attributes that hold a shape with a dimension below 0, where -1 represents one that is not
    known.
    """
    for body in context.bodies if context.is_file else ():
        index = body.index
        for op in body.attributes.shaped:
            node = index.nodes[op]
            for name, value in node.attr.items():
                negative = negative_dim(value)
                if negative is None:
                    continue
                fix: Command | None = None
                if name == OUTPUT_SHAPES:
                    fix = RemoveAttr(name, node.name, functions=False)
                elif value.WhichOneof("value") == "shape":
                    sizes = [None if dim.size < 0 else dim.size for dim in value.shape.dim]
                    fix = SetAttr(node.name, name, sizes)
                if fix is None:
                    way = editor_call("set_constant", f"{node.name!r}, …")
                else:
                    way = _fix(fix) + " corrects it"
                yield body.finding(
                    "negative-shapes",
                    "error",
                    f"Attribute {name!r} of {node.op} {node.name!r}{body.where} has a dimension of "
                    f"{negative}; " + way + ".",
                    [op],
                    context.fix(fix, body),
                )


BROKEN = words(
    "missing-inputs duplicate-names invalid-names wrong-ports input-counts input-dtypes",
    "missing-results input-order cycles loop-frames missing-colocations attributes negative-shapes",
)
"""The codes of the rules of this module."""


def _fix(fix: Command) -> Sentence:
    """The edit that fixes what was found, as a part of a sentence; a page has a button for it."""
    return either(fix.code(), "the fix")


def rest_of(body: Body, code: str, all_of_them: Sequence[int], do: str) -> Iterator[Finding]:
    """A finding on those ops or edges that are beyond the most that are listed; `do` is what they
    do, to stand after "op".
    """
    more = len(all_of_them) - MOST_FINDINGS
    if more > 0:
        sentence = f"{count_text(more, 'more op')}{body.where} {do}; fix those above first."
        yield Finding(code, "error", sentence)


def _output_counts(index: GraphIndex) -> Counts:
    """The number of outputs of each op that is read; -1 where it is not known."""
    counts = _fixed_counts(index, outputs=True)
    read = np.zeros(len(index), bool)
    read[index.inputs.values] = True
    for op in np.flatnonzero((counts == _VARIES) & read).tolist():
        counts[op] = len(index.typing.dtypes(index.nodes[op]))
    return np.where(counts < 0, -1, counts)


def _input_counts(index: GraphIndex) -> Counts:
    """The number of tensors that each op takes; -1 where it is not known."""
    counts = _fixed_counts(index, outputs=False)
    for op in np.flatnonzero(counts == _VARIES).tolist():
        specs = input_specs(index, index.nodes[op])
        counts[op] = -1 if specs is None else len(specs)
    return counts


_VARIES = -2


def _fixed_counts(index: GraphIndex, *, outputs: bool) -> Counts:
    """For each op the `_fixed_count` of its type."""
    kinds, codes = index.kinds
    definitions = map(index.typing.definition, kinds)
    counts = [_fixed_count(definition, outputs=outputs) for definition in definitions]
    return np.array(counts, np.int32)[codes]


def _fixed_count(definition: OpDef | None, *, outputs: bool) -> int:
    """How many inputs or outputs all ops of a type have; _VARIES where attributes set it, -1 if it
    is not known.
    """
    if definition is None:
        return -1
    arguments = definition.output_arg if outputs else definition.input_arg
    if any(arg.number_attr or arg.type_list_attr for arg in arguments):
        return _VARIES
    return len(arguments)


def _cycles(index: GraphIndex) -> list[list[int]]:
    """The ops of each part of a graph in which each op needs each other; a loop's way round is no
    need.
    """
    start, values = index.sources.start, index.sources.to.copy()
    owners = Csr(start, values).owner
    is_next, is_merge = of_type(index, NEXT.__contains__), of_type(index, MERGE.__contains__)
    need_themselves = np.unique(owners[values == owners]).tolist()
    way_round = is_next[values] & is_merge[owners]
    values[way_round] = owners[way_round]  # an edge to itself, which joins nothing
    part = strong_components(start, values)
    sizes = np.bincount(part, minlength=1)
    groups: dict[int, list[int]] = {}
    for op in np.flatnonzero(sizes[part] > 1).tolist():
        groups.setdefault(int(part[op]), []).append(op)
    alone = [[op] for op in need_themselves if sizes[part[op]] == 1]
    return [*groups.values(), *alone]


def _frame_name(node: NodeDef) -> str:
    return text_attribute(node, "frame_name").decode(errors="replace")


def _shared_frames(index: GraphIndex) -> Iterator[tuple[str, list[list[int]]]]:
    """The frames that hold several loops, and the ops of each of these loops."""
    contexts = Contexts(index)

    def frame_of(op: int) -> int:
        return contexts.frame(reversed(contexts.path(contexts.inside[op])))

    conditions: dict[int, list[int]] = {}
    for op in np.flatnonzero(of_type(index, LOOP_CONDITION.__contains__)).tolist():
        conditions.setdefault(frame_of(op), []).append(op)
    for frame, several in conditions.items():
        if not frame or len(several) < 2:
            continue
        paths = map(contexts.path, contexts.inside)
        inside = [op for op, path in enumerate(paths) if frame in path]
        number = {op: k for k, op in enumerate(inside)}
        edges = []
        for op in inside:
            if index.types[op] in ENTER and frame_of(op) == frame:
                continue  # what it reads comes from outside, and may enter both loops
            sources = [source for source in contexts.sources(op) if source in number]
            edges += [(number[op], number[source]) for source in sources]
        part = weak_components(len(inside), np.array(edges, np.int32).reshape(-1, 2))
        loops = []
        for condition in several:
            loop = part[number[condition]]
            loops.append([op for op in inside if part[number[op]] == loop])
        if loops[0] != loops[1]:
            yield str(contexts.key[frame]), loops


def _wrong_attributes(
    node: NodeDef,
    described: dict[str, OpDef.AttrDef],
    functions: Collection[str],
    *,
    is_known: bool,
) -> Iterator[tuple[str, str, Severity, bool]]:
    """The wrong attributes of an op: name, what is wrong, the severity, and whether removing it
    fixes that.
    """
    for name, value in node.attr.items():
        kind = value.WhichOneof("value")
        if name in described:
            is_list = described[name].type.startswith("list(")
            if kind is None and not is_list:  # one without a value is an empty list, to TensorFlow
                yield name, _NO_VALUE, "error", described[name].HasField("default_value")
        elif kind is None:
            yield name, _NO_VALUE, "warning", True
        elif is_known and name[:1] != "_":
            yield name, "is none that the type has in this TensorFlow", "warning", True
        elif kind == "func" and value.func.name not in functions:
            why = f"names function {value.func.name!r}, which the file does not hold"
            yield name, why, "warning", True
    for name, attr in described.items():
        if name not in node.attr and not attr.HasField("default_value"):
            yield name, "is missing", "error", False


def _missing_functions(
    index: GraphIndex, node: NodeDef, described: Collection[str]
) -> Iterator[tuple[str, str, Severity, bool]]:
    """The attributes by which an op calls functions that the file does not hold, as
    `_wrong_attributes` gives them.
    """
    for name in described:
        if name not in node.attr:
            continue
        value = node.attr[name]
        called = [value.func] if value.WhichOneof("value") == "func" else list(value.list.func)
        for function in called:
            # A primitive op can replace a function.
            is_op = index.typing.definition(function.name) is not None
            if function.name and function.name not in index.functions and not is_op:
                why = f"calls function {function.name!r}, which the file does not hold"
                yield name, why, "error", False
