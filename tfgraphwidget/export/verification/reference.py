"""The editor's graph, to be run apart: what a file that was written is compared with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.export.formats.function_library import called
from tfgraphwidget.export.request import Export
from tfgraphwidget.export.state.exported_state import State
from tfgraphwidget.export.state.exported_subgraph import given_whole, needed_by
from tfgraphwidget.export.verification.synthetic_feeds import Wanted, made_up
from tfgraphwidget.graph import needed_ops, pairs, side_effects
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.sandbox import Sandbox
from tfgraphwidget.sources import Signature
from tfgraphwidget.tf_types import NodeDef

Tried = tuple[Signature, dict[str, Any], dict[str, Any]]
"""A signature, what it was fed by key, and what it gave by key."""

NOT_RUN = "What was written was loaded but not run: {}; give feeds={{input: value}} to run it."
# They do something outside of the process, or run Python: nobody asked for that.
_REACHES_OUT = re.compile(
    r"PyFunc\w*|EagerPyFunc|WriteFile|Write\w*Summary|ImportEvent|Save(V2|Slices)?|MergeV2Checkpoints|RpcCall|RemoteCall"
    r"|_?(Send|Recv)|_Host\w+|Collective\w+|\w+DatasetToTFRecord"
)


class Original:
    """What the editor's graph gives for some feeds, with the state that is written; nobody else's state is touched."""

    def __init__(self, what: Export, state: State) -> None:
        self.what, self._state = what, state

    @cached_property
    def _nodes(self) -> list[Any]:
        index = self.what.index
        ends = [tensor for s in self.what.signatures for _, tensor in (*s.inputs, *s.outputs)]
        whole = np.flatnonzero(needed_ops(index, (), [*ends, *self._state.ops])).tolist()
        given = {name for s in self.what.signatures for name in given_whole(index, [t for _, t in s.inputs])}
        return [*(_not_waiting(index.nodes[i], given) for i in whole), *self._state.nodes]

    @cached_property
    def _work(self) -> list[int]:
        """The ops that run."""
        index = self.what.index
        return [int(i) for i in np.flatnonzero(np.logical_or.reduce(needed_by(index, self.what.signatures)))]

    def sandbox(self) -> Sandbox:
        """The graph in a session of its own, its variables and tables as they are written."""
        return Sandbox(self._nodes, called(self.what.index, self._nodes), self._state.values, self._state.starters)

    def tried(self) -> list[Tried]:
        """Each signature that runs on some feeds, with these and with what comes out, in order.

        Feeds that were given are used; others are made up. A notice says of which signatures nothing could be learned.
        """
        if blocked := self._reaches_out():
            self.what.notice(NOT_RUN.format(f"op {blocked!r} does something outside of the graph"))
            return []
        with self.sandbox() as sandbox:
            found = [tried for s in self.what.signatures if (tried := self._try(sandbox, s)) is not None]
        return self.again(found) if found and self._has_effects() else found

    def again(self, tried: Sequence[Tried]) -> list[Tried]:
        """The same once more, from the beginning."""
        with self.sandbox() as sandbox:
            return [(signature, feeds, _run(sandbox, signature, feeds)) for signature, feeds, _ in tried]

    def _has_effects(self) -> bool:
        return bool(side_effects(self.what.index, self._work))

    def _reaches_out(self) -> str:
        """An op that nobody should run without being asked, or ""."""
        index = self.what.index
        if self.what.feeds:
            return ""
        starters = needed_ops(index, (), [name for name in self._state.starters if name in index.ids])
        nodes = [index.nodes[i] for i in [*self._work, *np.flatnonzero(starters).tolist()]]
        inside = (node for function in called(index, nodes).function for node in function.node_def)
        return unasked([*nodes, *inside])

    def _try(self, sandbox: Sandbox, signature: Signature) -> Tried | None:
        given = self._given(signature)
        complaints = []
        for feeds in made_up([self._wanted(*pair) for pair in signature.inputs if pair[0] not in given]):
            try:
                return signature, {**given, **feeds}, _run(sandbox, signature, {**given, **feeds})
            except SessionRefused as error:  # noqa: PERF203
                complaints.append(error.why.removeprefix("The graph cannot run apart: ").rstrip("."))
        if given:
            raise GraphEditError(f"Signature {signature.name!r} does not run on the feeds: {complaints[0]}.")
        told = f"signature {signature.name!r} runs on no values that could be made up ({complaints[0]})"
        self.what.notice(NOT_RUN.format(told))
        return None

    def _wanted(self, key: str, tensor: str) -> Wanted:
        op, port = pairs(self.what.index, [tensor])[0]
        dtype = tf.as_dtype(self.what.index.dtypes(op)[port]).base_dtype
        return Wanted(key, dtype, self.what.index.shape(op, port))

    def _given(self, signature: Signature) -> dict[str, Any]:
        """What was given for the inputs of a signature, by key."""
        found = {}
        for key, tensor in signature.inputs:
            for name in (key, tensor, split_tensor(tensor)[0]):
                if name in self.what.feeds:
                    found[key] = self.what.feeds[name]
        return found


def unasked(nodes: Iterable[NodeDef]) -> str:
    """The name of an op that nobody should run without being asked, or ""."""
    return next((str(node.name) for node in nodes if _REACHES_OUT.fullmatch(node.op)), "")


def _not_waiting(node: NodeDef, given: Collection[str]) -> Any:
    """A NodeDef that does not wait for ops all of whose tensors are fed."""
    if not any(text[:1] == "^" and text[1:] in given for text in node.input):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    copy.input[:] = [text for text in node.input if text[:1] != "^" or text[1:] not in given]
    return copy


def _run(sandbox: Sandbox, signature: Signature, feeds: Mapping[str, Any]) -> dict[str, Any]:
    tensors = dict(signature.inputs)
    got = sandbox.run([t for _, t in signature.outputs], {tensors[key]: value for key, value in feeds.items()})
    return dict(zip((key for key, _ in signature.outputs), got, strict=True))
