"""SavedModels of the bodies of functions: a tf.Module that computes the same is saved."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tfgraphwidget.errors import GraphEditError, NotRunnable, SessionRefused
from tfgraphwidget.export.request import ExportRequest, FunctionToExport
from tfgraphwidget.export.verification.reference import (
    MAX_ENDS,
    ReferenceRun,
    is_refused,
    next_numbers,
    not_run,
)
from tfgraphwidget.export.verification.round_trip import (
    check_saved_model,
    load_eagerly,
    optimizers_off,
)
from tfgraphwidget.export.verification.synthetic_feeds import (
    InputSpec,
    generate_feeds,
    no_value_for,
)
from tfgraphwidget.graph import EffectiveOp, Effects, NodesByName, Signature
from tfgraphwidget.runtime.sandbox import PATIENCE, RUNS, RemoteContext, call_apart
from tfgraphwidget.runtime.session import check_call_ranks
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import Source, body_index, error_text, open_source, shape_from_proto
from tfgraphwidget.tensorflow_modules import is_installed, tf
from tfgraphwidget.tf_internals import eager_mode
from tfgraphwidget.tf_types import (
    Graph,
    GraphDef,
    Module,
    NodeDef,
    Session,
    Tensor,
    TensorCompatible,
)

# They change state that the function shares with others and that cannot be restored after a run.
_SHARED = re.compile(
    r"LookupTable(Insert|Remove|Import)\w*|Queue\w+|Barrier\w+|\w*Stage|\w*Unstage\w*|IteratorGetNext\w*"
)


def save_function(path: Path, request: ExportRequest, function: FunctionToExport) -> None:
    """Write the tf.Modules of a function, with their `signature`s, as one SavedModel, and verify
    it. The first is what loading returns; the others are parts of it, with the same variables.

    Raises:
        GraphEditError: If TensorFlow cannot save the modules, or the file gives other results.
    """
    with eager_mode():
        exported = function.modules()
        first, *others = exported.values()
        first.parts = others
        try:
            signatures = {name: module.signature for name, module in exported.items()}
            tf.saved_model.save(first, str(path), signatures=signatures)
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            raise GraphEditError(
                f"TensorFlow cannot save the function: {error_text(error)}; save its graph as a "
                "'.pb' instead."
            ) from error
    if request.settings.verify:
        check_saved_model(path, ModuleReference(request, exported, path), request.trust)


@contextlib.contextmanager
def function_as_graph(request: ExportRequest) -> Iterator[ExportRequest]:
    """The request with its function as a graph: that of its SavedModel, as TensorFlow 1 loads it.

    Where TensorFlow is not installed it is the function of a file, with the values of the
    checkpoint beside.
    """
    if request.function is None:
        raise NotRunnable(request.read_only)
    alone = None if is_installed() else request.function.without_tensorflow(request)
    if alone is not None:
        yield alone
        return
    with TemporaryDirectory() as folder:
        unverified = replace(request, settings=replace(request.settings, verify=False))
        save_function(Path(folder) / "function", unverified, request.function)
        source = open_source(Path(folder) / "function", trusted=request.trust.is_given)
        source.live()
        body, session = source.body, source.session
        assert session is not None  # a file that is live has one
        with contextlib.closing(session):
            yield replace(
                request,
                index=body_index(body),
                graph=_LoadedFunction(source),
                signatures=source.signatures,
                read_only="",
                function=None,
            )


@dataclass(frozen=True, eq=False)
class _LoadedFunction:
    """The graph of a function's SavedModel, as a `GraphToExport`."""

    source: Source

    def envelope(self) -> GraphDef:
        return self.source.body.envelope()

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        return list(nodes)

    def file_meta_graph(self) -> None:
        return None

    def live(self) -> Graph:
        return self.source.live()

    def session(self) -> Session | None:
        return self.source.session

    def stored_values(self) -> Mapping[str, Callable[[], object]]:
        return {}

    def lacks_values(self) -> bool:
        return False


class ModuleReference:
    """Runs modules on feeds; their variables have their old values afterwards.

    Made-up feeds are tried on what was written first, in a process of its own, which they may end.

    Args:
        request: Whether the user gave feeds, and where what was not run is reported.
        modules: The modules by the names of their signatures.
        path: The SavedModel that was made of them.
    """

    def __init__(self, request: ExportRequest, modules: Mapping[str, Module], path: Path) -> None:
        self._request, self._path = request, path
        self._modules = {name: _TracedModule(name, module) for name, module in modules.items()}
        self._trial: RemoteContext | None = None

    @property
    def is_remote(self) -> bool:
        """False: the functions are in this process, and what was written is compared with them on
        the same devices.
        """
        return False

    def is_refused(self) -> bool:
        """Whether an op of an untrusted file does more than compute; a notice says which."""
        effects = (op for module in self._modules.values() for op in module.effects())
        return not self._request.trust.is_given and is_refused(self._request, next(effects, None))

    @property
    def notices(self) -> list[str]:
        """Gets a sentence for the user on each thing that was not checked."""
        return self._request.notices

    def run_all(self) -> list[ReferenceRun]:
        """Each signature with feeds on which it runs and its outputs; without one, with a notice,
        that has none.
        """
        return [run for module in self._modules.values() for run in self._run_one(module)]

    def _run_one(self, module: _TracedModule) -> list[ReferenceRun]:
        has_feeds = bool(self._request.settings.feeds)
        if not has_feeds and (
            op := next((op for op in module.effects() if op.effect.reaches_out), None)
        ):
            self._request.notices.append(not_run(op.sentence[:1].lower() + op.sentence[1:]))
            return []
        if not has_feeds and (name := module.shared_op()):
            self._request.notices.append(not_run(f"op {name!r} changes state that others have too"))
            return []
        feeds_given = {
            key: value for key, value in self._request.settings.feeds.items() if key in module.specs
        }
        missing = [
            _input_spec(key, spec) for key, spec in module.specs.items() if key not in feeds_given
        ]
        complaints = [why] if (why := no_value_for(missing)) else []
        ended = 0
        for feeds in () if complaints else generate_feeds(missing):
            try:
                module.check_ranks({**feeds_given, **feeds})
                if missing or self._request.trust.is_file:
                    self._try_apart(module.signature, {**feeds_given, **feeds})
                return self.rerun([(module.signature, {**feeds_given, **feeds}, {})])
            except (tf.errors.OpError, ValueError, TypeError) as error:  # noqa: PERF203
                complaints.append(error_text(error))
            except SessionRefused as error:
                complaints.append(
                    (error.why.partition("The graph cannot run apart: ")[2] or error.why).clause
                )
                ended += error.code != SessionRefused.code
                if ended == MAX_ENDS:
                    break
        if feeds_given:
            raise GraphEditError(
                "The function does not run on the feeds: "
                + complaints[0]
                + "; "
                + in_cell("give other feeds=, or verify=False.")
            )
        self._request.notices.append(
            not_run("the function runs on no values that could be made up (" + complaints[0] + ")")
        )
        return []

    def _try_apart(self, signature: Signature, feeds: Mapping[str, TensorCompatible]) -> None:
        """Run what was written in a process of its own. Raises SessionRefused if that fails."""
        self._trial = self._trial or RemoteContext(RUNS, PATIENCE, load_eagerly, self._path)
        call_apart(self._trial, signature, feeds)

    def rerun(self, run_all: Sequence[ReferenceRun], *, moved: bool = False) -> list[ReferenceRun]:
        """Run again on the same feeds; `moved`: with `next_numbers` of variables and feeds."""
        runs = [
            (signature, next_numbers(feeds) if moved else feeds) for signature, feeds, _ in run_all
        ]
        with eager_mode(), optimizers_off():
            return [
                (signature, feeds, self._modules[signature.name].run(feeds, moved=moved))
                for signature, feeds in runs
            ]


class _TracedModule:
    """A module with the signature by which its file is called."""

    def __init__(self, name: str, module: Module) -> None:
        self._module, self._function = module, module.signature.get_concrete_function()
        self.specs = {
            spec.name: spec for spec in tf.nest.flatten(self._function.structured_input_signature)
        }
        inputs = [(key, key) for key in self.specs]
        outputs = [(key, key) for key in self._function.structured_outputs]
        self.signature = Signature(name, tuple(inputs), tuple(outputs))

    def effects(self) -> Iterator[EffectiveOp]:
        """The ops that do more than compute."""
        functions = {function.signature.name: function for function in self._whole.library.function}
        return Effects(
            NodesByName(self._whole.node), functions.__getitem__, functions.keys()
        ).of_graph()

    def shared_op(self) -> str:
        """The name of an op that changes state which others have too; "" without one."""
        inside = (node for function in self._whole.library.function for node in function.node_def)
        return next(
            (node.name for node in chain(self._whole.node, inside) if _SHARED.fullmatch(node.op)),
            "",
        )

    @cached_property
    def _whole(self) -> GraphDef:
        graph_def: GraphDef = self._function.graph.as_graph_def()
        return graph_def

    def check_ranks(self, feeds: Mapping[str, TensorCompatible]) -> None:
        """Raise ValueError for too few dimensions of a value for a kernel that would crash."""
        check_call_ranks(self._function, self._tensors(feeds))

    def _tensors(self, feeds: Mapping[str, TensorCompatible]) -> dict[str, Tensor]:
        return {key: tf.constant(value, self.specs[key].dtype) for key, value in feeds.items()}

    def run(self, feeds: Mapping[str, TensorCompatible], *, moved: bool) -> dict[str, np.ndarray]:
        """Run on feeds; `moved`: with other values of the variables."""
        before = [(variable, variable.read_value()) for variable in self._module.variables]
        try:
            for variable, value in before if moved else ():
                if variable.dtype.is_floating:
                    variable.assign(next_numbers({"": value})[""])
            tensors = self._tensors(feeds)
            check_call_ranks(self._function, tensors)
            return {
                key: tensor.numpy() for key, tensor in self._module.signature(**tensors).items()
            }
        finally:
            for variable, value in before:
                variable.assign(value)


def _input_spec(key: str, spec: tf.TensorSpec) -> InputSpec:
    return InputSpec(key, spec.dtype, shape_from_proto(spec.shape.as_proto()))
