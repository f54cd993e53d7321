"""The editor's graph in a separate session, with which a written file is compared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.export.formats.function_library import library_of
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.state.exported_state import ExportedState
from tfgraphwidget.export.state.exported_subgraph import fully_fed_ops, ops_needed
from tfgraphwidget.export.verification.synthetic_feeds import InputSpec, generate_feeds, no_value_for
from tfgraphwidget.graph import Signature, needed_ops, pairs, side_effects
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.sandbox import Sandbox
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef, TensorCompatible

ReferenceRun = tuple[Signature, Mapping[str, TensorCompatible], dict[str, np.ndarray]]
"""A signature, its feeds by key, and its outputs by key."""

NOT_RUN = "What was written was loaded but not run: {}; give feeds={{input: value}} to run it."
# They have effects outside of the process, or run Python, which the user did not ask for.
_REACHES_OUT = re.compile(
    r"PyFunc\w*|EagerPyFunc|WriteFile|Write\w*Summary|ImportEvent|Save(V2|Slices)?|MergeV2Checkpoints|RpcCall|RemoteCall"
    r"|_?(Send|Recv)|_Host\w+|Collective\w+|\w+DatasetToTFRecord"
)


class GraphReference:
    """Runs the editor's graph on feeds with the written state; the state of the user's session is not touched."""

    def __init__(self, request: ExportRequest, state: ExportedState) -> None:
        self.request, self._state = request, state

    @cached_property
    def _nodes(self) -> list[NodeDef]:
        index = self.request.index
        ends = [tensor for s in self.request.signatures for _, tensor in (*s.inputs, *s.outputs)]
        whole = np.flatnonzero(needed_ops(index, (), [*ends, *self._state.ops])).tolist()
        fed_ops = {name for s in self.request.signatures for name in fully_fed_ops(index, [t for _, t in s.inputs])}
        return [*(_without_control_inputs(index.nodes[i], fed_ops) for i in whole), *self._state.nodes]

    @cached_property
    def _ops_to_run(self) -> list[int]:
        """The ops that run."""
        index = self.request.index
        return [int(i) for i in np.flatnonzero(ops_needed(index, self.request.signatures))]

    def sandbox(self, *, moved: bool = False) -> Sandbox:
        """The graph in a separate session, with the written values of variables and tables, or with the next ones.

        Args:
            moved: Whether floating-point numbers are one bit larger.
        """
        values = next_numbers(self._state.values) if moved else self._state.values
        return Sandbox(self._nodes, library_of(self.request.index, self._nodes), values, self._state.starters)

    def run_all(self) -> list[ReferenceRun]:
        """Run the signatures on the user's feeds, and on synthetic ones where there are none.

        Returns:
            The signatures that run, with feeds and outputs; a notice names those that do not run.
        """
        if blocked := self._find_external_op():
            self.request.add_notice(NOT_RUN.format(f"op {blocked!r} does something outside of the graph"))
            return []
        with self.sandbox() as sandbox:
            runs = [run_all for s in self.request.signatures if (run_all := self._try(sandbox, s)) is not None]
        return self.rerun(runs) if runs and self._has_effects() else runs

    def rerun(self, run_all: Sequence[ReferenceRun], *, moved: bool = False) -> list[ReferenceRun]:
        """Run again on the same feeds, from the initial state; `moved`: both with `next_numbers` in their place.

        Args:
            run_all: Signatures with their feeds and outputs.
            moved: Whether floating-point numbers are one bit larger.
        """
        runs = [(signature, next_numbers(feeds) if moved else feeds) for signature, feeds, _ in run_all]
        with self.sandbox(moved=moved) as sandbox:
            return [(signature, feeds, _run(sandbox, signature, feeds)) for signature, feeds in runs]

    def _has_effects(self) -> bool:
        return bool(side_effects(self.request.index, self._ops_to_run))

    def _find_external_op(self) -> str:
        """The name of an op with effects outside of the process, or "" if there is none or the user gave feeds."""
        index = self.request.index
        if self.request.feeds:
            return ""
        starters = needed_ops(index, (), [name for name in self._state.starters if name in index.ids])
        nodes = [index.nodes[i] for i in [*self._ops_to_run, *np.flatnonzero(starters).tolist()]]
        inside = (node for function in library_of(index, nodes).function for node in function.node_def)
        return find_external_op([*nodes, *inside])

    def _try(self, sandbox: Sandbox, signature: Signature) -> ReferenceRun | None:
        fixed_feeds = self._given_feeds(signature)
        specs = [self._input_spec(*pair) for pair in signature.inputs if pair[0] not in fixed_feeds]
        complaints = [why] if (why := no_value_for(specs)) else []
        for feeds in () if complaints else generate_feeds(specs):
            try:
                return signature, {**fixed_feeds, **feeds}, _run(sandbox, signature, {**fixed_feeds, **feeds})
            except SessionRefused as error:  # noqa: PERF203
                complaints.append(error.why.removeprefix("The graph cannot run apart: ").rstrip("."))
        if fixed_feeds:
            raise GraphEditError(
                f"Signature {signature.name!r} does not run on the feeds: {complaints[0]}; give other feeds=, or "
                "verify=False."
            )
        reason = f"signature {signature.name!r} runs on no values that could be made up ({complaints[0]})"
        self.request.add_notice(NOT_RUN.format(reason))
        return None

    def _input_spec(self, key: str, tensor: str) -> InputSpec:
        op, port = pairs(self.request.index, [tensor])[0]
        dtype = tf.as_dtype(self.request.index.dtypes(op)[port]).base_dtype
        return InputSpec(key, dtype, self.request.index.shape(op, port))

    def _given_feeds(self, signature: Signature) -> dict[str, TensorCompatible]:
        """The user's feeds for the inputs of a signature, by key."""
        feeds = {}
        for key, tensor in signature.inputs:
            for name in (key, tensor, split_tensor(tensor)[0]):
                if name in self.request.feeds:
                    feeds[key] = self.request.feeds[name]
        return feeds


def find_external_op(nodes: Iterable[NodeDef]) -> str:
    """The name of an op with effects outside of the process, or "".

    Args:
        nodes: The NodeDefs, in the order of the graph.
    """
    return next((str(node.name) for node in nodes if _REACHES_OUT.fullmatch(node.op)), "")


def next_numbers(values: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Arrays whose floating-point numbers are one bit larger: another order of additions changes results as much.

    Args:
        values: The values by name.
    """
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {
        name: np.nextafter(array, array.dtype.type(np.inf)) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }


def _without_control_inputs(node: NodeDef, fed: Collection[str]) -> NodeDef:
    """A NodeDef without control inputs from ops all of whose tensors are fed."""
    if not any(text[:1] == "^" and text[1:] in fed for text in node.input):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    copy.input[:] = [text for text in node.input if text[:1] != "^" or text[1:] not in fed]
    return copy


def _run(sandbox: Sandbox, signature: Signature, feeds: Mapping[str, object]) -> dict[str, np.ndarray]:
    tensors = dict(signature.inputs)
    values = sandbox.run([t for _, t in signature.outputs], {tensors[key]: value for key, value in feeds.items()})
    return dict(zip((key for key, _ in signature.outputs), values, strict=True))
