"""SavedModels of functions' bodies: of a tf.Module that does what the body does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.ends import DEFAULT
from tfgraphwidget.export.made_up import Wanted, made_up
from tfgraphwidget.export.original import NOT_RUN, Tried, unasked
from tfgraphwidget.export.proving import check_saved_model, first_line, unoptimised
from tfgraphwidget.export.what import Export
from tfgraphwidget.sources.body import Signature


def save_module(path: Path, what: Export, module: Callable[[], Any]) -> None:
    """Write the SavedModel of a tf.Module, called by its `signature`, to the folder `path`, and try it."""
    with context.eager_mode():
        made = module()
        tf.saved_model.save(made, str(path), signatures={DEFAULT: made.signature})
    if what.verify:
        check_saved_model(path, OfModule(what, made))


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
        nodes = self._function.graph.as_graph_def()
        inside = (node for function in nodes.library.function for node in function.node_def)
        if not self._what.feeds and (blocked := unasked([*nodes.node, *inside])):
            self._what.notice(NOT_RUN.format(f"op {blocked!r} does something outside of the graph"))
            return []
        given = {key: value for key, value in self._what.feeds.items() if key in self._specs}
        wanted = [
            Wanted(key, s.dtype, s.shape.rank and tuple(s.shape)) for key, s in self._specs.items() if key not in given
        ]
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
        with context.eager_mode(), unoptimised():
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
