"""SavedModels of functions' bodies: of a tf.Module that does what the body does."""

from __future__ import annotations

import contextlib
import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError, NotRunnable
from tfgraphwidget.export.request import Export
from tfgraphwidget.export.signatures import DEFAULT
from tfgraphwidget.export.verification.reference import NOT_RUN, Tried, unasked
from tfgraphwidget.export.verification.round_trip import check_saved_model, first_line, unoptimised
from tfgraphwidget.export.verification.synthetic_feeds import Wanted, made_up
from tfgraphwidget.graph import build
from tfgraphwidget.sources import Signature, open_source
from tfgraphwidget.tf_internals import Trackable, eager_mode

# They change what the function shares with others, and which nobody can put back.
_SHARED = re.compile(
    r"LookupTable(Insert|Remove|Import)\w*|Queue\w+|Barrier\w+|\w*Stage|\w*Unstage\w*|IteratorGetNext\w*"
)


def save_module(path: Path, what: Export, module: Callable[[], Any]) -> None:
    """Write the SavedModel of a tf.Module, called by its `signature`, to the folder `path`, and try it."""
    with eager_mode():
        made = module()
        made.resources = _resources(made)
        try:
            tf.saved_model.save(made, str(path), signatures={DEFAULT: made.signature})
        except (AssertionError, TypeError, ValueError) as error:
            raise GraphEditError(f"TensorFlow cannot save the function: {first_line(error)}.") from error
    if what.verify:
        check_saved_model(path, OfModule(what, made))


def _resources(module: Any) -> list[Any]:
    """The tables that a module reads and does not hold: what does not hold them cannot be saved.

    A function knows their handles only. Who holds a handle is asked of Python, as TensorFlow does for its own message.
    """
    known = {id(variable.handle) for variable in module.variables}
    captured = module.signature.get_concrete_function().captured_inputs
    found = []
    for handle in captured:
        if handle.dtype != tf.resource or id(handle) in known:
            continue
        near = (holder for first in gc.get_referrers(handle) for holder in (first, *gc.get_referrers(first)))
        found += [held for held in near if isinstance(held, Trackable) and _handle(held) is handle][:1]
    return found


def _handle(resource: Any) -> Any:
    return getattr(resource, "resource_handle", None)


@contextlib.contextmanager
def standing_alone(what: Export) -> Iterator[Export]:
    """The function of `what.module` as a graph of its own: as TensorFlow 1 loads the SavedModel of it."""
    if what.module is None:
        raise NotRunnable(what.read_only)
    with TemporaryDirectory() as folder:
        save_module(Path(folder) / "function", replace(what, verify=False, unedited=None), what.module)
        source = open_source(Path(folder) / "function")
        graph = source.live()
        body, session = source.body, source.session
        assert session is not None  # a file that is live has one
        with contextlib.closing(session):
            known: dict[str, Any] = {"typing": body.typing, "functions": body.functions(), "extras": body}
            yield replace(
                what,
                index=build(body.nodes(), *body.collections(), **known),
                envelope=body.envelope,
                written=list,
                meta=None,
                unedited=None,
                graph=lambda: graph,
                session=lambda: session,
                ask=lambda: source.signatures,
                read_only="",
                without_values=lambda: False,
            )


class OfModule:
    """What a module gives for some feeds; its variables have the values afterwards that they had before."""

    def __init__(self, what: Export, module: Any) -> None:
        self._what, self._module = what, module
        self._function = module.signature.get_concrete_function()
        self._specs = {spec.name: spec for spec in tf.nest.flatten(self._function.structured_input_signature)}
        given, gives = [(key, key) for key in self._specs], [(key, key) for key in self._function.structured_outputs]
        self._signature = Signature(DEFAULT, tuple(given), tuple(gives))

    def tried(self) -> list[Tried]:
        """The signature with feeds on which it runs, and what comes out; a notice where there are none."""
        whole = self._function.graph.as_graph_def()
        nodes = [*whole.node, *(node for function in whole.library.function for node in function.node_def)]
        blocked = next((node.name for node in nodes if _SHARED.fullmatch(node.op)), "")
        if not self._what.feeds and (blocked := blocked or unasked(nodes)):
            self._what.notice(NOT_RUN.format(f"op {blocked!r} does something outside of the graph"))
            return []
        given = {key: value for key, value in self._what.feeds.items() if key in self._specs}
        wanted = [_wanted(key, spec) for key, spec in self._specs.items() if key not in given]
        complaints = []
        for feeds in made_up(wanted):
            try:
                return self.again([(self._signature, {**given, **feeds}, {})])
            except (tf.errors.OpError, ValueError, TypeError) as error:  # noqa: PERF203
                complaints.append(first_line(error))
        if given:
            raise GraphEditError(f"The function does not run on the feeds: {complaints[0]}.")
        self._what.notice(NOT_RUN.format(f"the function runs on no values that could be made up ({complaints[0]})"))
        return []

    def again(self, tried: Sequence[Tried]) -> list[Tried]:
        """The same once more, with the variables as they were."""
        with eager_mode(), unoptimised():
            return [(signature, feeds, self._run(feeds)) for signature, feeds, _ in tried]

    def _run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        before = [(variable, variable.read_value()) for variable in self._module.variables]
        try:
            given = {key: tf.constant(value, self._specs[key].dtype) for key, value in feeds.items()}
            return {key: tensor.numpy() for key, tensor in self._module.signature(**given).items()}
        finally:
            for variable, value in before:
                variable.assign(value)


def _wanted(key: str, spec: tf.TensorSpec) -> Wanted:
    return Wanted(key, spec.dtype, None if spec.shape.rank is None else tuple(spec.shape.as_list()))
