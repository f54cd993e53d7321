"""Forty architectures, eight changes of each: which ops are matched.

    python -m tests.stress.matched_changes                     writes docs/explanation/matching.md
    python -m tests.stress.matched_changes ResNet50 "U-Net"    these alone, printed

A network is frozen, and changed. All names of the one graph are replaced by such as say nothing;
the names of the other one tell afterwards which op is which. In the changed graph is a copy of the
network, with weights a hundredth apart, which nothing may be matched with.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.graph import changes
from tests.stress.architectures import ARCHITECTURES
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.graph import GraphIndex, difference
from tfgraphwidget.graph.attributes import AttributeDigests

GraphDef = Any
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "matching.md"
PATIENCE = 1200  # seconds for one architecture, in a process of its own
DECOY = "decoy/"
MOST_OUTER_NAMES = 4  # names of calls before that of an op in a function
IN_FUNCTIONS = frozenset({"in functions", "exported"})
"""Changes after which a copy of the network is not in a function."""
FROZEN_TYPES = {
    "VarHandleOp": "Const",
    "VariableV2": "Const",
    "ReadVariableOp": "Identity",
    "ResourceGather": "GatherV2",
}
_HEAD = """# What is matched

`python -m tests.stress.matched_changes` writes this table. Each network is frozen and changed, and
the changed graph is matched with the one before, all of whose names were replaced by other words.
In the changed graph there is also a copy of the network with weights a hundredth apart: nothing
may be matched with that. (*Frozen* matches the network with its variables; their values
are unknown to the matching, so it has no such copy.) A cell is how much of what has a partner was
matched with it; a number in brackets is of ops that were matched with another one, or with any op
of the copy.

The partner of an op is the op of its name and type after the change, or where that is missing one
that provably gives the same tensor: of the same type and attributes, reading the same. Of equal ops
of which an optimizer left one, one has it as its partner; of ops that read and feed the same one is
as good as the other. An activation that an optimizer moved
past a concatenation or a pooling has none: it reads now what read it before, and gives another
tensor.

What is open after *grappler*: in seq2seq entries into loops without consumers, of which
several are alike.
"""


class Subject(NamedTuple):
    """A network: the editor of it, and the same frozen."""

    editor: GraphEditor
    graph_def: GraphDef


class Counts(NamedTuple):
    """How many ops have a partner, were matched with it, and were matched with another one."""

    partners: int
    right: int
    wrong: int

    def __str__(self) -> str:
        share = "-" if not self.partners else f"{100 * self.right / self.partners:.1f} %"
        return share.replace("100.0", "100") + (f" ({self.wrong})" if self.wrong else "")


def subject_of(name: str, folder: Path) -> Subject:
    """An architecture, and the same frozen.

    Args:
        name: Its name in ARCHITECTURES.
        folder: Where files are written.
    """
    keras.utils.set_random_seed(0)
    architecture = ARCHITECTURES[name](folder)
    editor, path = architecture.editor, folder / "frozen.pb"
    if architecture.is_function:
        editor.save(path, frozen=True, inline=True, verify=False)
    else:
        editor.save(path, outputs=architecture.outputs, frozen=True, verify=False)
    return Subject(editor, v1.GraphDef.FromString(path.read_bytes()))


# Changes


def in_a_function(graph_def: GraphDef) -> tf.Graph:
    """A graph that calls a function with the ops of another graph."""
    ends = changes.ends(graph_def)
    placeholders = [node for node in graph_def.node if node.op == "Placeholder"]

    def body(*arguments: Any) -> Any:
        given = {node.name: tensor for node, tensor in zip(placeholders, arguments, strict=True)}
        return tf.graph_util.import_graph_def(graph_def, given, ends, name="")

    with tf.Graph().as_default() as graph:
        arguments = [
            v1.placeholder(
                tf.dtypes.as_dtype(node.attr["dtype"].type),
                tf.TensorShape(node.attr["shape"].shape),
                name=node.name,
            )
            for node in placeholders
        ]
        for tensor in tf.function(body, autograph=False)(*arguments):
            tf.identity(tensor)
    return graph


def refactored(graph_def: GraphDef) -> GraphDef:
    return in_a_function(graph_def).as_graph_def()


def exported(graph_def: GraphDef) -> GraphDef:
    """The graph of a SavedModel that has the ops in a function."""
    ends = changes.ends(graph_def)
    placeholders = [node for node in graph_def.node if node.op == "Placeholder"]

    def body(*arguments: Any) -> Any:
        given = {node.name: tensor for node, tensor in zip(placeholders, arguments, strict=True)}
        found = tf.graph_util.import_graph_def(graph_def, given, ends, name="")
        return {f"output_{number}": tensor for number, tensor in enumerate(found)}

    module = tf.Module()
    module.call = tf.function(
        body,
        autograph=False,
        input_signature=[
            tf.TensorSpec(
                tf.TensorShape(node.attr["shape"].shape),
                tf.dtypes.as_dtype(node.attr["dtype"].type),
                name=f"argument_{number}",
            )
            for number, node in enumerate(placeholders)
        ],
    )
    with TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=module.call.get_concrete_function())
        editor = tgw.edit(folder)
        editor.view.leave(0)
        path = editor.save(Path(folder, "graph.pb"), verify=False)
        return v1.GraphDef.FromString(Path(path).read_bytes())


CHANGES: dict[str, Callable[[GraphDef], GraphDef]] = {
    "renamed": changes.copy_of,
    "reordered": changes.reordered,
    "in functions": refactored,
    "folded": changes.folded,
    "cast": changes.cast,
    "grappler": changes.optimized,
    "exported": exported,
}
COLUMNS = (
    "renamed",
    "reordered",
    "in functions",
    "frozen",
    "folded",
    "cast",
    "grappler",
    "exported",
)


def counts(subject: Subject, change: str) -> Counts:
    """What is matched of a network and the same after a change.

    Args:
        subject: The network.
        change: One of COLUMNS.
    """
    if change == "frozen":
        before = subject.editor._core.index
        # What was in a function has the name of its call before its own.
        frozen_names = defaultdict[str, list[str]](list)
        for name in (node.name for node in subject.graph_def.node):
            starts = (k + 1 for k, letter in enumerate(name) if letter == "/")
            for start in (0, *starts):
                frozen_names[name[start:]].append(name)
        own_names = {name: full[0] for name, full in frozen_names.items() if len(full) == 1}
        return _counts(
            before,
            changes.index_of(changes.renamed(subject.graph_def)),
            lambda name: changes.new_name(own_names.get(name, name)),
        )
    original = subject.graph_def
    changed = CHANGES[change](original)
    decoy = changes.with_decoy(original if change in IN_FUNCTIONS else changed)
    changed.node.extend(node for node in decoy.node if node.name.startswith("decoy/"))
    before = changes.index_of(changes.renamed(original))
    old_names = {changes.new_name(node.name): node.name for node in original.node}
    return _counts(before, changes.index_of(changed), old_names.__getitem__)


def _counts(before: GraphIndex, after: GraphIndex, name_after: Callable[[str], str]) -> Counts:
    """How many ops are matched with one that gives the same tensor after the change; one that is
    matched with an op of the copy, or with the partner of another, is wrong.
    """
    found = difference(before, after)
    names = [pair.name for pair in found.pairs] + list(found.added)
    own = _own_partners(before, after, names, name_after)
    partners = own | _equal_partners(before, after, own)
    claims = defaultdict[str, set[str]](set)
    for was, expected in partners.items():
        for name in expected:
            claims[name].add(was)
    no_ops = {name for name, kind in zip(before.names, before.types, strict=True) if kind == "NoOp"}
    pairs = {pair.was: pair.name for pair in found.pairs if pair.was not in no_ops}
    wrong = [
        was
        for was, name in pairs.items()
        if name.startswith(DECOY)
        or name not in partners.get(was, {name})
        or (was in before.ids and was not in claims.get(name, {was}))
    ]
    right = [was for was, name in pairs.items() if name in partners.get(was, ())]
    # Of equal ops of which the change left one, one is matched.
    taken = {pairs[was] for was in right}
    missing = [was for was, others in own.items() if was not in pairs and not others <= taken]
    return Counts(len(right) + len(wrong) + len(missing), len(right), len(wrong))


def _own_partners(
    before: GraphIndex, after: GraphIndex, names: Iterable[str], name_after: Callable[[str], str]
) -> dict[str, set[str]]:
    """For each op the ops of its name and type after the change, which may be in functions; not one
    that reads now what read it before.

    Args:
        before: The graph.
        after: The same after the change.
        names: The ops of `after`, also those of functions.
        name_after: The name that an op has after the change, but for that of a function.
    """
    names_after = [name_after(name) for name in before.names]
    of_own_name = defaultdict[str, set[str]](set)
    exact = after.ids.keys() & set(
        names_after
    )  # an op of a call that is inlined may be named so, too
    for name in set(names) - exact:
        parts = [] if name.startswith(DECOY) else name.split("/")
        for first in range(min(len(parts), MOST_OUTER_NAMES)):
            of_own_name["/".join(parts[first:])].add(name)
    for name in exact:
        of_own_name[name].add(name)
    own = dict[str, set[str]]()
    for op, (name_then, op_type) in enumerate(zip(names_after, before.types, strict=True)):
        types = {op_type, FROZEN_TYPES.get(op_type), ""}
        readers = {names_after[reader] for reader in before.consumer_lists[op]}
        readers -= {names_after[source] for source in before.input_lists[op]}
        found = {
            other
            for other in of_own_name[name_then]
            if _type(after, other) in types and readers.isdisjoint(_read(after, other))
        }
        if found and op_type != "NoOp":
            own[before.names[op]] = found
    for twins in _twins(before):
        found = set[str]().union(*(own.get(name, ()) for name in twins))
        own |= {name: found for name in twins if name in own}
    return own


def _twins(index: GraphIndex) -> list[list[str]]:
    """The ops of one kind that read the same and feed the same: one is as good as the other."""
    digests = AttributeDigests(index)
    groups = defaultdict[Hashable, list[int]](list)
    for op, op_type in enumerate(index.types):
        read = index.inputs.start[op : op + 2]
        ports = tuple(index.ports[slice(*read)].tolist())
        readers = tuple(sorted(index.consumer_lists[op]))
        if ports and readers:
            groups[op_type, tuple(index.input_lists[op]), ports, readers].append(op)
    return [
        [index.names[op] for op in ops]
        for ops in groups.values()
        if len(ops) > 1 and len({digests.kind(op) for op in ops}) == 1
    ]


def _equal_partners(
    before: GraphIndex, after: GraphIndex, own: Mapping[str, set[str]]
) -> dict[str, set[str]]:
    """For each op without a partner of its own the ops that give the same after the change."""
    values = _Values()
    values_before = values.of(before, {})
    known = {other: values_before[before.ids[name]] for name in own for other in own[name]}
    of_value = defaultdict[tuple[int, str], set[str]](set)
    values_after = values.of(after, known)
    for name, op_type, value in zip(after.names, after.types, values_after, strict=True):
        if not name.startswith(DECOY):
            of_value[value, op_type].add(name)
    return {
        name: of_value[value, op_type]
        for name, op_type, value in zip(before.names, before.types, values_before, strict=True)
        if name not in own and of_value[value, op_type]
    }


class _Values:
    """Numbers of tensors: ops have one number that provably give the same, as they are of one kind
    and read the same.
    """

    def __init__(self) -> None:
        self._numbers = dict[Hashable, int]()

    def of(self, index: GraphIndex, known: Mapping[str, int]) -> list[int]:
        """The number of each op of a graph.

        Args:
            index: The graph.
            known: The numbers of ops that are known by their names.
        """
        attributes = AttributeDigests(index)
        values = [self._numbers.setdefault(name, len(self._numbers)) for name in index.names]
        identities = dict[tuple[int, int], tuple[int, int]]()  # an identity's output -> its input
        start = index.inputs.start
        sources = {
            op: ()
            if op_type in {"Merge", "RefMerge"}
            else index.input_lists[op]  # the ends of cycles
            for op, op_type in enumerate(index.types)
        }
        for op in TopologicalSorter(sources).static_order():
            node = index.nodes[op]
            ports = index.ports[start[op] : start[op + 1]].tolist()
            tensors = zip(sources[op], ports, strict=False)
            read = [identities.get(tensor, (values[tensor[0]], tensor[1])) for tensor in tensors]
            definition = index.typing.definition(node.op)
            if node.name in known:
                values[op] = known[node.name]
            elif (read or node.op == "Const") and definition and not definition.is_stateful:
                computed = attributes.kind(op), *read
                values[op] = self._numbers.setdefault(computed, values[op])
            if node.op in {"Identity", "IdentityN"}:
                identities |= {(op, port): tensor for port, tensor in enumerate(read)}
        return values


def _type(index: GraphIndex, name: str) -> str:
    """The type of an op; "" for one of an inlined function."""
    return index.types[index.ids[name]] if name in index.ids else ""


def _read(index: GraphIndex, name: str) -> set[str]:
    """The names of the ops that an op reads; none of one of an inlined function."""
    op = index.ids.get(name)
    return set() if op is None else {index.names[source] for source in index.input_lists[op]}


# The table


def row(name: str) -> str:
    """The row of an architecture.

    Args:
        name: Its name in ARCHITECTURES.
    """
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = subject_of(name, Path(folder))
        cells = [str(counts(subject, change)) for change in COLUMNS]
    return f"| {name} | {len(subject.graph_def.node):,} | {' | '.join(cells)} |"


def main(names: list[str]) -> None:
    """Print rows, each made by a process of its own, and write the page where all are asked for."""
    if len(names) == 2 and names[0] == "--row":
        print(row(names[1]))  # noqa: T201
        return
    rows = []
    for name in names or ARCHITECTURES:
        command = [sys.executable, "-m", "tests.stress.matched_changes", "--row", name]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("| ")]
        rows += lines[-1:] or [f"| {name} | failed: {done.stderr.splitlines()[-1:]} |"]
        print(rows[-1], flush=True)  # noqa: T201
    if not names:
        head = f"| | ops | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 2)}"
        PAGE.write_text("\n".join([_HEAD, head, *rows, ""]))


if __name__ == "__main__":
    main(sys.argv[1:])
