"""The ops of a live graph that hold the state of a session: variables, tables, queues, iterators
and others.

Hidden ops are included: an edit that was undone can be redone, and its variables must keep their
values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from tfgraphwidget.graph import RESOURCE_HANDLES, kind_of
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.sources import function_definition, tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import graph_functions
from tfgraphwidget.tf_types import AttrValue, NodeDef

# They have a key, but nothing that could be lost.
_EMPTY = re.compile(
    r"(Un)?[Bb]atch(Grad|Function)?|(Experimental)?ThreadPoolHandle|NcclAllReduce|MutexV2"
)
OpsByKind = Mapping[str, list[NodeDef]]
"""NodeDefs of ops that hold state, by what they hold, in words; of several with one state the
first.
"""


StateKey = tuple[str, bytes, bytes, int, str]
"""What ops that share one state have in common: family, container, shared name, dtype and device.
"""


@dataclass(frozen=True)
class StatefulOps:
    """The ops of a graph that hold state.

    Attributes:
        by_kind: NodeDefs in the graph, by kind in words ("hash table"); of several that share a
            state the first.
        function_variables: Variables in function bodies only, which another handle in the graph can
            refer to.
        in_functions: Other NodeDefs that are in function bodies only.
        random: Names of random ops with seeds, except those that only initialize variables.
        iterators_by_string: Names of ops that take an iterator by a string handle.
        keys: The keys of all these states.
    """

    by_kind: OpsByKind
    function_variables: Sequence[NodeDef]
    in_functions: Sequence[NodeDef]
    random: Sequence[str]
    iterators_by_string: Sequence[str]
    keys: Set[StateKey]


def find_stateful_ops(
    graph: tf.Graph, known_keys: Set[StateKey] = frozenset(), among: Container[str] | None = None
) -> StatefulOps:
    """Return the ops that hold state, in graph order, without those of `known_keys`, or only those
    `among` some ops; hidden ones are included.

    Ops of an edit that failed are left out: the same edit, when it is repeated, initializes them
    again.
    """
    in_graph: dict[StateKey, NodeDef] = {}
    inside: dict[StateKey, NodeDef] = {}
    random: list[str] = []
    iterators_by_string: list[str] = []
    hidden = record_of(graph).hidden
    # An edit under way shows its ops first, and then fills them.
    failed = record_of(graph).failed.keys() & hidden
    chosen = (
        graph.get_operations()
        if among is None
        else (op for op in graph.get_operations() if op.name in among)
    )
    # TensorFlow makes a new text at each look at a name or a type.
    described = ((op, name, op.type) for op in chosen if (name := op.name) not in failed)
    for op, name, op_type in described:
        if has_key(op_type):
            node = op.node_def
            in_graph.setdefault(state_key(node), node)
        elif name in hidden:
            pass
        elif (
            _is_random(op_type)
            and (op.get_attr("seed") or op.get_attr("seed2"))
            and not _only_initializes(op)
        ):
            random.append(name)
        elif op_type.startswith("IteratorFromStringHandle"):
            iterators_by_string.append(name)
    for node in _function_nodes(graph):
        if has_key(node.op):
            inside.setdefault(state_key(node), node)
        elif _is_random(node.op) and (_attr(node, "seed").i or _attr(node, "seed2").i):
            random.append(node.name)
    by_kind = defaultdict(list)
    for node in (node for key, node in in_graph.items() if key not in known_keys):
        by_kind[kind_of(node.op)].append(node)
    alone = [node for key, node in inside.items() if key not in known_keys and key not in in_graph]
    function_variables = [
        node for node in alone if node.op in RESOURCE_HANDLES and not graph.finalized
    ]
    others = [node for node in alone if node not in function_variables]
    return StatefulOps(
        by_kind,
        function_variables,
        others,
        random,
        iterators_by_string,
        in_graph.keys() | inside.keys(),
    )


def _function_nodes(graph: tf.Graph) -> Iterator[NodeDef]:
    for function in graph_functions(graph).values():
        yield from function_definition(function).node_def


def state_key(node: NodeDef) -> StateKey:
    """Return a key that is equal for ops of one state; unnamed variables have the empty one."""
    name = _attr(node, "shared_name").s or (
        b"" if node.op in RESOURCE_HANDLES else node.name.encode()
    )
    # Of two with one name, but two dtypes, only one is what the session holds.
    return family(node.op), _attr(node, "container").s, name, _attr(node, "dtype").type, node.device


def _attr(node: NodeDef, key: str) -> AttrValue:
    """Return an attribute, empty if it is missing. (Reading `node.attr[key]` would add it.)"""
    value: AttrValue = node.attr[key] if key in node.attr else tf.compat.v1.AttrValue()
    return value


def family(op_type: str) -> str:
    """Return a text equal for op types that can share a state: the kind, or "Map"."""
    kind = kind_of(op_type)
    if kind != "staging area":
        return kind
    return next((start for start in ("OrderedMap", "Map") if op_type.startswith(start)), "Stage")


def _only_initializes(op: tf.Operation) -> bool:
    """Return whether the output of a random op is used by initializers of variables only."""
    visited, stack = {op}, [op]
    while stack:
        consumers = [consumer for output in stack.pop().outputs for consumer in output.consumers()]
        if not consumers:
            return False
        for consumer in consumers:
            if consumer not in visited and consumer.name != f"{consumer.inputs[0].op.name}/Assign":
                visited.add(consumer)
                stack.append(consumer)
    return True


@lru_cache(4096)
def has_key(op_type: str) -> bool:
    """Return whether ops of a type hold state under a key that could be lost."""
    definition = tf_protos.registered_op(op_type)
    return (
        definition is not None
        and any(attr.name == "shared_name" for attr in definition.attr)
        and not _EMPTY.fullmatch(op_type)
    )


@lru_cache(4096)
def _is_random(op_type: str) -> bool:
    definition = tf_protos.registered_op(op_type)
    return (
        definition is not None
        and definition.is_stateful
        and {"seed", "seed2"} <= {a.name for a in definition.attr}
    )
