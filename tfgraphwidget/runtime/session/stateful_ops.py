"""Which ops of a live graph hold a session's state: variables, tables, queues, iterators and the like.

Hidden ops too: an edit that was undone may be done again, and wants to find its variables as they were.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import tensorflow as tf

from tfgraphwidget.graph import RESOURCE_HANDLES, kind_of
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.sources import function_definition, tf_protos
from tfgraphwidget.tf_internals import graph_functions
from tfgraphwidget.tf_types import AttrValue, NodeDef

# They have a key, but nothing that could be lost.
_EMPTY = re.compile(r"(Un)?[Bb]atch(Grad|Function)?|(Experimental)?ThreadPoolHandle|NcclAllReduce|MutexV2")
Holders = Mapping[str, list[NodeDef]]
"""NodeDefs of ops that hold state, by what they hold, in words; of several with one state the first."""


@dataclass(frozen=True)
class StatefulOps:
    """What holds state in a graph, and what does so in the bodies of its functions alone.

    Of the latter, `inner` are variables that another handle in the graph can reach. `random` are random ops with seeds,
    less those for initial values, `by_string` those that take an iterator by a string. `keys` tell which states these
    are.
    """

    holders: Holders
    inner: Sequence[NodeDef]
    inside: Sequence[NodeDef]
    random: Sequence[str]
    by_string: Sequence[str]
    keys: Set[Any]


def find(graph: tf.Graph, known: Set[Any] = frozenset()) -> StatefulOps:
    """The ops that hold state, in graph order; less those whose keys are `known`.

    Less, too, what an edit has left when it failed: the same edit, made again, initialises it anew.
    """
    found: dict[Any, Any] = {}
    inside: dict[Any, Any] = {}
    random: list[str] = []
    by_string: list[str] = []
    hidden = record_of(graph).hidden
    failed = record_of(graph).failed.keys() & hidden  # an edit under way shows its ops first, and then fills them
    for op in (op for op in graph.get_operations() if op.name not in failed):
        if _has_key(op.type):
            node = op.node_def
            found.setdefault(_key(node), node)
        elif op.name in hidden:
            pass
        elif _is_random(op.type) and (op.get_attr("seed") or op.get_attr("seed2")) and not _only_initializes(op):
            random.append(op.name)
        elif op.type.startswith("IteratorFromStringHandle"):
            by_string.append(op.name)
    for node in _bodies(graph):
        if _has_key(node.op):
            inside.setdefault(_key(node), node)
        elif _is_random(node.op) and (_attr(node, "seed").i or _attr(node, "seed2").i):
            random.append(node.name)
    holders = defaultdict(list)
    for node in (node for key, node in found.items() if key not in known):
        holders[kind_of(node.op)].append(node)
    alone = [node for key, node in inside.items() if key not in known and key not in found]
    inner = [node for node in alone if node.op in RESOURCE_HANDLES and not graph.finalized]
    others = [node for node in alone if node not in inner]
    return StatefulOps(holders, inner, others, random, by_string, found.keys() | inside.keys())


def _bodies(graph: tf.Graph) -> Iterator[NodeDef]:
    for function in graph_functions(graph).values():
        yield from function_definition(function).node_def


def _key(node: NodeDef) -> tuple[Any, ...]:
    """Equal for ops that hold one state; a variable without a name goes by the empty one."""
    name = _attr(node, "shared_name").s or (b"" if node.op in RESOURCE_HANDLES else node.name.encode())
    # Of two with one name, but two dtypes, only one is what the session holds.
    return family(node.op), _attr(node, "container").s, name, _attr(node, "dtype").type, node.device


def _attr(node: NodeDef, key: str) -> AttrValue:
    """An attribute, empty if it is not there; reading `node.attr[key]` would add it."""
    value: AttrValue = node.attr[key] if key in node.attr else tf.compat.v1.AttrValue()
    return value


def family(op_type: str) -> str:
    """What is the same for op types that can hold one state: the kind, and of staging areas "Stage", "Map" or so."""
    kind = kind_of(op_type)
    if kind != "staging area":
        return kind
    return next((start for start in ("OrderedMap", "Map") if op_type.startswith(start)), "Stage")


def _only_initializes(op: tf.Operation) -> bool:
    """Whether what an op draws comes to nothing but variables' own initialisers."""
    seen, stack = {op}, [op]
    while stack:
        readers = [reader for output in stack.pop().outputs for reader in output.consumers()]
        if not readers:
            return False
        for reader in readers:
            if reader not in seen and reader.name != f"{reader.inputs[0].op.name}/Assign":
                seen.add(reader)
                stack.append(reader)
    return True


@lru_cache(4096)
def _has_key(op_type: str) -> bool:
    definition = tf_protos.registered_op(op_type)
    return (
        definition is not None
        and any(attr.name == "shared_name" for attr in definition.attr)
        and not _EMPTY.fullmatch(op_type)
    )


@lru_cache(4096)
def _is_random(op_type: str) -> bool:
    definition = tf_protos.registered_op(op_type)
    return definition is not None and definition.is_stateful and {"seed", "seed2"} <= {a.name for a in definition.attr}
