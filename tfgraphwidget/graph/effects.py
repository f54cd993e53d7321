"""The effect that running an op has: what a graph of unknown origin can do, read from it without
running it.

`op_effects.tsv` gives the effect of each op type of TensorFlow: the worst one that an op of the
type can have. Of a few types attributes or constant inputs decide; `node_effect` reads them. An op
type that the table lacks may do anything.

TensorFlow evaluates the constant parts of a graph as it imports it, to know shapes, and leaves out
only ops whose OpDef says that they are stateful. Some write files and are not
(tests/graph/test_effects.py); see `runs_at_import`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tfgraphwidget.tf_types import NodeDef

# The elements of a data input, by its number, if it is a Const of strings; otherwise None.
Constant = Callable[[int], Sequence[bytes] | None]

_TABLE = Path(__file__).with_name("op_effects.tsv")
_NOT_IN_TABLE = "is not an op type of TensorFlow, so it may do anything"
_COMPUTES = "computes its outputs from its inputs, and does nothing else"

# PrintV2 takes these words; all else is refused, or is a file.
_STREAMS = frozenset({b"stdout", b"stderr", b"log(info)", b"log(warning)", b"log(error)"})
# They name the messages that are linked into TensorFlow.
_LINKED_MESSAGES = frozenset({b"", b"local://"})
_MESSAGES_IN_PLACE = b"bytes://"  # what follows are the definitions of the messages
_CALLBACK_SCHEME = b"memcbk://"  # a callback of this process, which ends if it has none of the name
_SERVER_SCHEME = b"grpc://"
# MLIR bytecode begins with this and has the names of its ops unescaped. In MLIR text a name can be
# escaped.
_BYTECODE = b"ML\xefR"
# A StableHLO module with none of these computes from its inputs, and may draw random numbers. The
# ops call C functions by name, or meet the host or other devices. A word may be in a name of the
# user's model too: that is dangerous then.
_REACHES_OUT_OF_MODULE = re.compile(
    rb"custom_call|infeed|outfeed|send|recv|all_reduce|all_gather|all_to_all|reduce_scatter|collective|cross_replica"
)


class Effect(str, Enum):
    """What running an op does beside computing its outputs."""

    PURE = "pure"
    RANDOM = "random"
    OWN_STATE = "own state"
    """State in the memory of the process: variables, tables, stacks, iterators; also what it
    prints.
    """
    READS_FILES = "reads files"
    WRITES_FILES = "writes files"
    NETWORK = "network"
    PYTHON = "Python"
    WAITS = "waits"
    """It may never end: it waits for another op, or for another machine."""
    ENDS_PROCESS = "ends the process"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value

    @property
    def is_dangerous(self) -> bool:
        """Whether an op of a graph of unknown origin is not to be run unasked.

        Example:
            >>> [str(effect) for effect in Effect if not effect.is_dangerous]
            ['pure', 'random', 'own state']
        """
        return self not in _HARMLESS

    @property
    def reaches_out(self) -> bool:
        """Whether an op of the user's own graph may not be run on made-up values to try it."""
        return self in _REACHING_OUT


_REACHING_OUT = frozenset({Effect.WRITES_FILES, Effect.NETWORK, Effect.PYTHON, Effect.ENDS_PROCESS})
_HARMLESS = frozenset({Effect.PURE, Effect.RANDOM, Effect.OWN_STATE})


class _Row(NamedTuple):
    """A line of the table."""

    effect: Effect
    reason: str
    is_stateless: bool  # of dangerous op types only


def effects_by_type() -> Mapping[str, Effect]:
    """The effect of each op type that the table knows, in the order of their names."""
    return MappingProxyType({op_type: row.effect for op_type, row in _table().items()})


def effect_of(op_type: str) -> Effect:
    """The worst effect that an op of a type can have, without the functions that it calls.

    Example:
        >>> [
        ...     str(effect_of(op_type))
        ...     for op_type in ("MatMul", "VarHandleOp", "WriteFile", "NoSuchOp")
        ... ]
        ['pure', 'own state', 'writes files', 'unknown']
    """
    row = _table().get(op_type)
    return row.effect if row else Effect.UNKNOWN


def reason_of_effect(op_type: str) -> str:
    """What ops of a type do, as the rest of a sentence that begins with the op type.

    Example:
        >>> print("MergeV2Checkpoints", reason_of_effect("MergeV2Checkpoints"))
        MergeV2Checkpoints writes a checkpoint and deletes those that it joins
    """
    row = _table().get(op_type)
    return row.reason or _COMPUTES if row else _NOT_IN_TABLE


def node_effect(node: NodeDef, constant: Constant) -> Effect:
    """The effect of an op, as its attributes and its constant inputs decide; without the functions
    that it calls.

    Args:
        constant: Gives the elements of the op's data input of a number if that is a Const of
            strings, else None.

    Example:
        >>> import tensorflow as tf
        >>> node = tf.compat.v1.NodeDef(op="PrintV2")
        >>> str(node_effect(node, lambda k: None))
        'own state'
        >>> node.attr["output_stream"].s = b"file:///tmp/printed"
        >>> str(node_effect(node, lambda k: None))
        'writes files'
    """
    decide = _DECIDERS.get(node.op)
    decided = decide(node, constant) if decide else None
    return effect_of(node.op) if decided is None else decided


def runs_at_import(op_type: str) -> bool:
    """Whether `tf.import_graph_def` may run dangerous ops of a type, to know the shapes of others.

    Example:
        >>> runs_at_import("ReadFile"), runs_at_import("WriteFile"), runs_at_import("MatMul")
        (True, False, False)
    """
    row = _table().get(op_type)
    return row is None or row.is_stateless


@cache
def _table() -> dict[str, _Row]:
    """The lines of the table, by op type."""
    effects = {effect.value: effect for effect in Effect}
    rows: dict[str, _Row] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            op_type, effect, reason, stateless = (*line.split("\t"), "", "")[:4]
            rows[op_type] = _Row(effects[effect], reason, bool(stateless))
    return rows


def _print_effect(node: NodeDef, constant: Constant) -> Effect | None:  # noqa: ARG001
    """A PrintV2 prints to a stream of the process, unless it names a file."""
    return Effect.OWN_STATE if _text(node, "output_stream", b"stderr") in _STREAMS else None


def _debug_effect(node: NodeDef, constant: Constant) -> Effect | None:  # noqa: ARG001
    """A debug op hands its input to each of its URLs, if it has any."""
    if "debug_urls" not in node.attr:
        return Effect.OWN_STATE
    value = node.attr["debug_urls"]
    if value.WhichOneof("value") != "list":
        return None
    urls = [url.lower() for url in value.list.s]
    if not urls:
        return Effect.OWN_STATE
    if any(url.startswith(_CALLBACK_SCHEME) for url in urls):
        return Effect.ENDS_PROCESS
    return Effect.NETWORK if all(url.startswith(_SERVER_SCHEME) for url in urls) else None


def _cache_effect(node: NodeDef, constant: Constant) -> Effect | None:  # noqa: ARG001
    """A cache of a dataset is kept in memory if its file has no name."""
    filename = constant(1)
    return Effect.OWN_STATE if filename is not None and list(filename) == [b""] else None


def _message_effect(node: NodeDef, constant: Constant) -> Effect | None:  # noqa: ARG001
    """Where the definitions of the messages are that an op decodes or encodes."""
    source = _text(node, "descriptor_source", b"local://")
    is_given = source is not None and (
        source in _LINKED_MESSAGES or source.startswith(_MESSAGES_IN_PLACE)
    )
    return Effect.PURE if is_given else None


def _sampler_effect(node: NodeDef, constant: Constant) -> Effect | None:  # noqa: ARG001
    """A sampler has its probabilities in an attribute if it names no file."""
    return Effect.RANDOM if _text(node, "vocab_file", b"") == b"" else None


def _module_effect(node: NodeDef, constant: Constant) -> Effect | None:  # noqa: ARG001
    """A module, as JAX exports one, computes unless it has ops that reach out of it."""
    module = _text(node, "module", b"") or b""
    computes = module.startswith(_BYTECODE) and not _REACHES_OUT_OF_MODULE.search(module)
    return Effect.RANDOM if computes else None


def _text(node: NodeDef, key: str, default: bytes) -> bytes | None:
    """An attribute's string; None where it is another value, such as a name in a function."""
    if key not in node.attr:
        return default
    value = node.attr[key]
    return value.s if value.WhichOneof("value") == "s" else None


# The op types whose effect is not the table's worst one if attributes or inputs say so: None is the
# worst one.
_DECIDERS: Mapping[str, Callable[[NodeDef, Constant], Effect | None]] = {
    "PrintV2": _print_effect,
    **dict.fromkeys(("DebugIdentity", "DebugIdentityV2", "DebugIdentityV3"), _debug_effect),
    **dict.fromkeys(("DebugNanCount", "DebugNumericSummary"), _debug_effect),
    **dict.fromkeys(("CacheDataset", "CacheDatasetV2"), _cache_effect),
    **dict.fromkeys(("DecodeProtoV2", "EncodeProto"), _message_effect),
    "FixedUnigramCandidateSampler": _sampler_effect,
    "XlaCallModule": _module_effect,
}
