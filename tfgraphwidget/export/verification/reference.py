"""The editor's graph in a separate session, with which a written file is compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.export.formats.function_library import library_of
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.state.exported_state import ExportedState
from tfgraphwidget.export.state.exported_subgraph import fully_fed_ops, ops_needed
from tfgraphwidget.export.verification.synthetic_feeds import (
    InputSpec,
    generate_feeds,
    no_value_for,
)
from tfgraphwidget.graph import (
    Effect,
    EffectiveOp,
    Signature,
    effect_of,
    effects_of,
    needed_ops,
    pairs,
    side_effects,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.sandbox import TIMEOUT, RemoteSandbox, Sandbox
from tfgraphwidget.sentences import Sentence, in_cell
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef, TensorCompatible

ReferenceRun = tuple[Signature, Mapping[str, TensorCompatible], dict[str, np.ndarray]]
"""A signature, its feeds by key, and its outputs by key."""

# processes that made-up values may end before no others are tried: each takes seconds to start
MAX_ENDS = 2


def not_run(reason: str) -> Sentence:
    """The notice that what was written was not run."""
    return (
        "What was written was loaded but not run: "
        + reason
        + "; "
        + in_cell("give feeds={input: value} to run it.")
    )


class GraphReference:
    """Runs the editor's graph on feeds with the written state, not in the user's session."""

    def __init__(self, request: ExportRequest, state: ExportedState) -> None:
        self.request, self._state = request, state

    @cached_property
    def _nodes(self) -> list[NodeDef]:
        index = self.request.index
        tensors = [tensor for s in self.request.signatures for _, tensor in (*s.inputs, *s.outputs)]
        whole = np.flatnonzero(needed_ops(index, (), [*tensors, *self._state.ops])).tolist()
        fed_ops = {
            name
            for s in self.request.signatures
            for name in fully_fed_ops(index, [t for _, t in s.inputs])
        }
        return [
            *(_without_control_inputs(index.nodes[i], fed_ops) for i in whole),
            *self._state.nodes,
        ]

    @cached_property
    def _ops_to_run(self) -> list[int]:
        """The ops that run."""
        index = self.request.index
        return [int(i) for i in np.flatnonzero(ops_needed(index, self.request.signatures))]

    @property
    def is_remote(self) -> bool:
        """Whether graph and written file run in a process of their own, as feeds may end it."""
        if self._has_unknown_op:  # of a library that only this process has loaded
            return False
        return self.request.trust.is_file or not self.request.settings.feeds

    @cached_property
    def _has_unknown_op(self) -> bool:
        """Whether an op type is not TensorFlow's."""
        functions = library_of(self.request.index, self._nodes).function
        inside = chain.from_iterable(function.node_def for function in functions)
        types = {node.op for node in chain(self._nodes, inside)} - self.request.index.functions
        return any(effect_of(op_type) is Effect.UNKNOWN for op_type in types)

    def sandbox(self, *, moved: bool = False) -> Sandbox | RemoteSandbox:
        """The graph in a separate session, with the written values of variables and tables, or with
        the next ones.
        """
        values = next_numbers(self._state.values) if moved else self._state.values
        kind = RemoteSandbox if self.is_remote else Sandbox
        library = library_of(self.request.index, self._nodes)
        versions = self.request.index.extras.versions()
        return kind(self._nodes, library, values, self._state.starters, versions=versions)

    def is_refused(self) -> bool:
        """Whether what was written may not even be loaded: an op of a file that is not trusted does
        more than compute.

        A notice says which.
        """
        return is_refused(self.request, self._find_effect())

    @property
    def notices(self) -> list[str]:
        """Gets a sentence for the user on each thing that was not checked."""
        return self.request.notices

    def run_all(self) -> list[ReferenceRun]:
        """Run the signatures on the user's feeds, and on synthetic ones where there are none; those
        that run, with feeds and outputs. A notice names those that do not.
        """
        if op := self._find_effect():
            self.request.notices.append(not_run(op.sentence[:1].lower() + op.sentence[1:]))
            return []
        with self.sandbox() as sandbox:
            runs = [
                run_all
                for s in self.request.signatures
                if (run_all := self._try(sandbox, s)) is not None
            ]
        return self.rerun(runs) if runs and self._has_effects() else runs

    def rerun(self, run_all: Sequence[ReferenceRun], *, moved: bool = False) -> list[ReferenceRun]:
        """Run again on the same feeds, from the initial state; `moved`: with `next_numbers`."""
        runs = [
            (signature, next_numbers(feeds) if moved else feeds) for signature, feeds, _ in run_all
        ]
        with self.sandbox(moved=moved) as sandbox:
            return [
                (signature, feeds, _run(sandbox, signature, feeds)) for signature, feeds in runs
            ]

    def _has_effects(self) -> bool:
        return bool(side_effects(self.request.index, self._ops_to_run))

    def _find_effect(self) -> EffectiveOp | None:
        """An op that does more than compute; None without one, or where the user allows it."""
        request = self.request
        if request.settings.feeds and request.trust.is_given:
            return None
        fed = [tensor for signature in request.signatures for _, tensor in signature.inputs]
        fetches = [tensor for signature in request.signatures for _, tensor in signature.outputs]
        starters = [name for name in self._state.starters if name in request.index.ids]
        effects = chain(
            effects_of(request.index, request.trust).of_run(fetches, fed),
            effects_of(request.index, request.trust).of_run(starters),
        )
        return next(
            (op for op in effects if op.effect.reaches_out or not request.trust.is_given), None
        )

    def _try(self, sandbox: Sandbox | RemoteSandbox, signature: Signature) -> ReferenceRun | None:
        fixed_feeds = self._given_feeds(signature)
        specs = [self._input_spec(*pair) for pair in signature.inputs if pair[0] not in fixed_feeds]
        complaints = [why] if (why := no_value_for(specs)) else []
        ended = 0
        for feeds in () if complaints else generate_feeds(specs):
            try:
                return (
                    signature,
                    {**fixed_feeds, **feeds},
                    _run(sandbox, signature, {**fixed_feeds, **feeds}),
                )
            except SessionRefused as error:  # noqa: PERF203
                complaints.append(
                    (error.why.partition("The graph cannot run apart: ")[2] or error.why).clause
                )
                ended += error.code != SessionRefused.code
                if ended == MAX_ENDS or error.code == TIMEOUT:
                    break
        if fixed_feeds:
            raise GraphEditError(
                f"Signature {signature.name!r} does not run on the feeds: "
                + complaints[0]
                + "; "
                + in_cell("give other feeds=, or verify=False.")
            )
        reason = (
            f"signature {signature.name!r} runs on no values that could be made up ("
            + complaints[0]
            + ")"
        )
        self.request.notices.append(not_run(reason))
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
                if name in self.request.settings.feeds:
                    feeds[key] = self.request.settings.feeds[name]
        return feeds


def is_refused(request: ExportRequest, op: EffectiveOp | None = None) -> bool:
    """Whether what was written may not be loaded, since the file is not trusted; a notice says
    which op is why, or that the import may run one.
    """
    if request.trust.is_given:
        return False
    effect = op or next(effects_of(request.index, request.trust).at_import(), None)
    if effect is not None:
        request.notices.append(request.trust.sentence(effect, "what was written was not run"))
    return effect is not None


def next_numbers(values: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Arrays whose floating-point numbers are one bit larger: another order of additions changes
    results as much.
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
    copy = copy_of(node)
    copy.input[:] = [text for text in node.input if text[:1] != "^" or text[1:] not in fed]
    return copy


def _run(
    sandbox: Sandbox | RemoteSandbox, signature: Signature, feeds: Mapping[str, object]
) -> dict[str, np.ndarray]:
    tensors = dict(signature.inputs)
    values = sandbox.run(
        [t for _, t in signature.outputs], {tensors[key]: value for key, value in feeds.items()}
    )
    return dict(zip((key for key, _ in signature.outputs), values, strict=True))
