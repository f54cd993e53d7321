"""NodeDefs as a graph that can be drawn and edited, of a file that TensorFlow refuses for its names
and edges.

A graph needs a name for each op, each name once, and an op for each input. What a file lacks is
filled in here, in place, and noted in a private attribute of the op, which TensorFlow passes over
and which lint reads:

- An input that names nothing reads a stand-in: a Placeholder, or a NoOp where ops only wait for it.
- Of several ops of one name the first keeps it, and all that name it read that one.
- Control inputs, whose order means nothing, go after the tensors.

All else that TensorFlow refuses can be drawn as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import INPUTS_IN_FILE, MISSING_INPUT, NAME_IN_FILE, UNNAMED, NodeDefs
from tfgraphwidget.naming import as_input, free_name, split_input, take_free_name, valid_name
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.inference.dtypes import MOST_OUTPUTS, OpTypes, dtype_number
from tfgraphwidget.tf_types import NodeDef

_MOST_NOTICES = 8  # sentences of one kind; a file of nonsense has one for each op
_LONGEST = 80  # characters of a name in a sentence
_END = tuple[str, int]
"""The name of an op and the port of its output, -1 for a control input."""


def readable_nodes(
    protos: MutableSequence[NodeDef] | NodeDefs, where: str, types: OpTypes
) -> tuple[NodeDefs, tuple[str, ...]]:
    """Make NodeDefs a graph: fill in what names and inputs lack.

    Args:
        protos: The NodeDefs, which are changed where they have to be; of NodeDefs that were read
            already, messages of their own are.
        where: What they are of, to begin a sentence with.

    Returns:
        The graph, and a sentence for each thing that was filled in.
    """
    try:
        nodes = protos if isinstance(protos, NodeDefs) else NodeDefs(protos)
    except GraphEditError:
        nodes = None
    misplaced = [] if nodes is None else nodes.rows.misplaced.tolist()
    is_named = nodes is not None and not (
        _has_ambiguous_names(nodes) or (nodes.rows.ports >= MOST_OUTPUTS).any()
    )
    if nodes is not None and is_named and not misplaced:
        return nodes, ()
    if isinstance(protos, NodeDefs):
        protos = list(protos)
    if is_named:
        notices = list(_sort_inputs([protos[op] for op in misplaced]))
    else:
        notices = [*_name_each_once(protos), *_sort_inputs(protos), *_fill_in_inputs(protos, types)]
    sentences = [(f"{where}: " + notice) for notice in notices[:_MOST_NOTICES]]
    if len(notices) > _MOST_NOTICES:
        more = len(notices) - _MOST_NOTICES
        sentences.append(
            f"{where}: {more:,} more ops are like these; "
            + in_cell("editor.lint() names them all.")
        )
    return NodeDefs(protos), tuple(sentences)


def _has_ambiguous_names(nodes: NodeDefs) -> bool:
    """Whether an op has no name, or one that an input would read as another op's or a tensor's."""
    names = nodes.rows.names
    # All names at once, which is ten times as fast; a name with a line break in it may be looked at
    # in vain.
    joined = "\n".join(names)
    if not ("" in nodes.ids or ":" in joined or joined.startswith("^") or "\n^" in joined):
        return False
    return any(not name or split_input(name) != (name, 0) for name in names)


def _name_each_once(nodes: Sequence[NodeDef]) -> Iterator[str]:
    """Give ops whose name is not a name for one op another one; yield a sentence for each.

    Inputs go on naming the op that they named: the first one of several, by what they read as if
    that is an op.
    """
    there = {node.name for node in nodes}
    used, earlier_names = {name.lower() for name in there}, set[str]()
    texts: dict[str, str] = {}
    for number, node in enumerate(nodes):
        name = node.name
        means = split_input(name)[0]  # what an input of this text is read as
        if (
            name not in earlier_names
            and name
            and (means == name or (name[0] != "^" and means not in there))
        ):
            earlier_names.add(name)
            texts |= {name: as_input(name, 0)} if means != name else {}
            continue
        node.name = free_name(valid_name(name, UNNAMED), used)
        node.attr[NAME_IN_FILE].s = name.encode()
        used.add(node.name.lower())
        opened = f"it is opened as {_short(node.name)}"
        if name in earlier_names:
            yield (
                f"two ops are named {_short(name)}, and what reads that name reads the first; the "
                f"second, of type {node.op!r}, is opened as {_short(node.name)}."
            )
            continue
        earlier_names.add(name)
        if means not in there or means == name:
            texts |= {name: node.name, f"^{name}": f"^{node.name}"}
        if name and means in there:
            yield (
                f"{_short(name)} is an op, and also means op {_short(means)} where ops read it; "
                f"{opened}."
            )
        else:
            yield (
                f"op number {number}, of type {node.op!r}, is named {_short(name)}, which no "
                f"input names; {opened}."
            )
    for node in nodes if texts else ():
        for k, text in enumerate(node.input):
            if text in texts:
                node.input[k] = texts[text]


def _sort_inputs(nodes: Sequence[NodeDef]) -> Iterator[str]:
    """Put the control inputs of NodeDefs after their tensors; yield a sentence if any was not."""
    changed = []
    for node in nodes:
        texts = list(node.input)
        ordered = sorted(texts, key=lambda text: text[:1] == "^")
        if ordered != texts:
            node.attr[INPUTS_IN_FILE].list.s.extend(text.encode() for text in texts)
            node.input[:] = ordered
            changed.append(node.name)
    if changed:
        others = f" and of {len(changed) - 1:,} more" if len(changed) > 1 else ""
        yield (
            f"control inputs of op {_short(changed[0])}{others} stood before tensors, which "
            "TensorFlow does not take; they stand after them now."
        )


def _fill_in_inputs(nodes: MutableSequence[NodeDef], types: OpTypes) -> Iterator[str]:
    """Add an op for each input that names none; yield a sentence for each."""
    there = {node.name for node in nodes}
    used = {name.lower() for name in there}
    missing: dict[_END, list[tuple[NodeDef, int]]] = {}
    for node in nodes:
        for k, text in enumerate(node.input):
            if text in there:
                continue
            op, port = split_input(text)
            if op not in there or port >= MOST_OUTPUTS:
                missing.setdefault((op, port), []).append((node, k))
    stand_in_names: dict[str, str] = {}
    for op, port in sorted(missing, key=lambda end: (end[0], end[1] < 0, end[1])):
        slots = missing[op, port]
        if port >= 0 or op not in stand_in_names:
            stand_in = _stand_in(op, port, slots, types)
            stand_in.name = stand_in_names[op] = take_free_name(valid_name(op, "missing"), used)
            nodes.append(stand_in)
            text = as_input(op, port)
            consumers = [node.name for node, _ in slots]
            others = f" and {len(consumers) - 1:,} more" if len(consumers) > 1 else ""
            yield (
                f"op {_short(consumers[0])}{others} reads {_short(text)}, which is not there; the "
                f"{stand_in.op} {_short(stand_in.name)} represents it."
            )
        for node, k in slots:
            node.input[k] = as_input(stand_in_names[op], min(port, 0))


def _stand_in(op: str, port: int, slots: Sequence[tuple[NodeDef, int]], types: OpTypes) -> NodeDef:
    """An op that gives a missing tensor, of the first consumer's dtype, or that ops wait for."""
    stand_in: NodeDef = tf_protos.NodeDef(op="NoOp")
    stand_in.attr[MISSING_INPUT].s = as_input(op, port).encode()
    if port >= 0:
        takes = [slot for node, k in slots if (slot := types.input_at(node, k)) is not None]
        stand_in.op = "VariableV2" if takes and takes[0][1] else "Placeholder"
        is_known = bool(takes and takes[0][0])
        stand_in.attr["dtype"].type = takes[0][0] if is_known else dtype_number("float32")
        stand_in.attr["shape"].shape.unknown_rank = True
    return stand_in


def _short(name: str) -> str:
    return repr(name[:_LONGEST])
