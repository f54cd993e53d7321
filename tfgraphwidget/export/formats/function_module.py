"""SavedModels of the bodies of functions: a tf.Module that computes the same is saved."""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.export.request import ExportRequest
from tfgraphwidget.export.signatures import DEFAULT
from tfgraphwidget.export.verification.reference import NOT_RUN, ReferenceRun, find_external_op, next_numbers
from tfgraphwidget.export.verification.round_trip import check_saved_model, first_line, optimizers_off
from tfgraphwidget.export.verification.synthetic_feeds import InputSpec, generate_feeds
from tfgraphwidget.graph import build
from tfgraphwidget.sources import Signature, open_source, shape_from_proto
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import Trackable, eager_mode
from tfgraphwidget.tf_types import Module

# They change state that the function shares with others and that cannot be restored after a run.
_SHARED = re.compile(
    r"LookupTable(Insert|Remove|Import)\w*|Queue\w+|Barrier\w+|\w*Stage|\w*Unstage\w*|IteratorGetNext\w*"
)


def save_module(path: Path, request: ExportRequest, module: Callable[[], tf.Module]) -> None:
    """Write a tf.Module with its `signature` as a SavedModel, and verify it.

    Args:
        path: The directory.
        request: Whether to verify, and the feeds for that.
        module: Gives the module.

    Raises:
        GraphEditError: If TensorFlow cannot save the module, or the file gives other results.
    """
    with eager_mode():
        exported = module()
        exported.resources = _resources(exported)
        try:
            tf.saved_model.save(exported, str(path), signatures={DEFAULT: exported.signature})
        except (AssertionError, TypeError, ValueError) as error:
            raise GraphEditError(f"TensorFlow cannot save the function: {first_line(error)}.") from error
    if request.verify:
        check_saved_model(path, ModuleReference(request, exported))


def _resources(module: Module) -> list[object]:
    """The tables that a module reads but has no attribute for; TensorFlow saves only what attributes hold.

    The function has only their handles. The objects are found through Python's garbage collector, as TensorFlow does
    for its own error message.
    """
    variable_handles = {id(variable.handle) for variable in module.variables}
    captured = module.signature.get_concrete_function().captured_inputs
    resources = []
    for handle in captured:
        if handle.dtype != tf.resource or id(handle) in variable_handles:
            continue
        near = (holder for first in gc.get_referrers(handle) for holder in (first, *gc.get_referrers(first)))
        resources += [
            trackable for trackable in near if isinstance(trackable, Trackable) and _handle(trackable) is handle
        ][:1]
    return resources


def _handle(resource: object) -> object:
    return getattr(resource, "resource_handle", None)


@contextlib.contextmanager
def function_as_graph(request: ExportRequest) -> Iterator[ExportRequest]:
    """The function of `request.module` as a graph: that of its SavedModel, as TensorFlow 1 loads it."""
    if request.module is None:
        raise NotRunnable(request.read_only)
    with TemporaryDirectory() as folder:
        save_module(Path(folder) / "function", replace(request, verify=False, unedited_folder=None), request.module)
        source = open_source(Path(folder) / "function")
        graph = source.live()
        body, session = source.body, source.session
        assert session is not None  # a file that is live has one
        with contextlib.closing(session):
            index_options: dict[str, Any] = {"typing": body.typing, "functions": body.functions(), "extras": body}
            yield replace(
                request,
                index=build(body.nodes(), *body.collections(), **index_options),
                envelope=body.envelope,
                nodes_as_in_file=list,
                file_meta_graph=None,
                unedited_folder=None,
                graph=lambda: graph,
                session=lambda: session,
                find_signatures=lambda: source.signatures,
                read_only="",
                lacks_values=lambda: False,
            )


class ModuleReference:
    """Runs a module on feeds; its variables have their old values afterwards."""

    def __init__(self, request: ExportRequest, module: Module) -> None:
        self._request, self._module = request, module
        self._function = module.signature.get_concrete_function()
        self._specs = {spec.name: spec for spec in tf.nest.flatten(self._function.structured_input_signature)}
        inputs, outputs = [(key, key) for key in self._specs], [(key, key) for key in self._function.structured_outputs]
        self._signature = Signature(DEFAULT, tuple(inputs), tuple(outputs))

    def run_all(self) -> list[ReferenceRun]:
        """The signature with feeds on which it runs and its outputs; empty, with a notice, without such feeds."""
        whole = self._function.graph.as_graph_def()
        nodes = [*whole.node, *(node for function in whole.library.function for node in function.node_def)]
        blocked = next((node.name for node in nodes if _SHARED.fullmatch(node.op)), "")
        if not self._request.feeds and (blocked := blocked or find_external_op(nodes)):
            self._request.add_notice(NOT_RUN.format(f"op {blocked!r} does something outside of the graph"))
            return []
        feeds_given = {key: value for key, value in self._request.feeds.items() if key in self._specs}
        missing = [_input_spec(key, spec) for key, spec in self._specs.items() if key not in feeds_given]
        complaints = []
        for feeds in generate_feeds(missing):
            try:
                return self.rerun([(self._signature, {**feeds_given, **feeds}, {})])
            except (tf.errors.OpError, ValueError, TypeError) as error:  # noqa: PERF203
                complaints.append(first_line(error))
        if feeds_given:
            raise GraphEditError(f"The function does not run on the feeds: {complaints[0]}.")
        self._request.add_notice(
            NOT_RUN.format(f"the function runs on no values that could be made up ({complaints[0]})")
        )
        return []

    def rerun(self, run_all: Sequence[ReferenceRun], *, moved: bool = False) -> list[ReferenceRun]:
        """Run again on the same feeds; `moved`: variables and feeds with `next_numbers` in their place."""
        runs = [(signature, next_numbers(feeds) if moved else feeds) for signature, feeds, _ in run_all]
        with eager_mode(), optimizers_off():
            return [(signature, feeds, self._run(feeds, moved=moved)) for signature, feeds in runs]

    def _run(self, feeds: Mapping[str, Any], *, moved: bool) -> dict[str, Any]:
        before = [(variable, variable.read_value()) for variable in self._module.variables]
        try:
            for variable, value in before if moved else ():
                if variable.dtype.is_floating:
                    variable.assign(next_numbers({"": value})[""])
            tensors = {key: tf.constant(value, self._specs[key].dtype) for key, value in feeds.items()}
            return {key: tensor.numpy() for key, tensor in self._module.signature(**tensors).items()}
        finally:
            for variable, value in before:
                variable.assign(value)


def _input_spec(key: str, spec: tf.TensorSpec) -> InputSpec:
    return InputSpec(key, spec.dtype, shape_from_proto(spec.shape.as_proto()))
