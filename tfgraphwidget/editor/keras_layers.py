"""The edits of a functional Keras model, said in layers: a Keras model again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.naming import split_input, split_tensor
from tfgraphwidget.sentences import either
from tfgraphwidget.sources import (
    functional_boundary,
    functional_model,
    functional_nodes,
    layer_outputs,
)
from tfgraphwidget.tf_types import KerasModel, is_keras_model

if TYPE_CHECKING:
    from tfgraphwidget.editor.executor import EditExecutor
    from tfgraphwidget.edits import NodeChange, Patch, Step

_LayerTensor = Hashable
"""A KerasTensor of the model, or the name of the output of a layer that came with an edit."""

_INSTEAD = either(
    "editor.to_module().layer() is the edited model as one Keras layer.",
    "Export saves the edited one.",
)
_BATCH = 2  # rows of an input whose batch size is unknown
_NUMBERS = ("float16", "float32", "float64")
_TOLERANCE = 1e-3  # relative and absolute, for float16 too


def edited_model(executor: EditExecutor) -> KerasModel:
    """The model that was opened, as edits have left it; see `AnalysisAPI.to_keras`."""
    model = executor.source.model
    if model is None:
        raise GraphEditError(
            "keras: the editor was not opened on a Keras model; "
            + either("editor.to_module() is the edited function.", "Export saves the edited one.")
        )
    layers = _Layers.of(model, executor.source.body)
    for step in executor.history.done:
        if step.patch.only_sets_trainable:
            raise _refusal(
                step.line,
                "the new model has the layers of the one that was opened, which stays as it is",
            )
        if (
            step.patch.traced is not None
            or step.patch.changed
            or step.patch.add.nodes
            or step.patch.remove.nodes
        ):
            layers.follow(step, is_root=step.place is executor.target)
    new = layers.model()
    _check_same(new, executor)
    return new


def _refusal(line: str, why: str) -> GraphEditError:
    return GraphEditError(f"{line} cannot be said in layers: {why}; " + _INSTEAD)


@dataclass(eq=False)
class _Call:
    """A call of a layer; `arguments` has KerasTensors, or names of those that edits brought in."""

    layer: KerasModel
    arguments: Any  # the structure that Keras has of positional and keyword arguments


class _Layers:
    """The calls of a model's layers."""

    def __init__(self, model: KerasModel, names: Mapping[_LayerTensor, str]) -> None:
        self._model = model
        self._inputs: dict[_LayerTensor, object] = {tensor: tensor for tensor in model.inputs}
        self._calls: dict[_LayerTensor, _Call] = {}
        self._ports: dict[_LayerTensor, int] = {}
        self._tensors: dict[str, _LayerTensor] = {}
        self._replacements: dict[_LayerTensor, _LayerTensor] = {}
        self._results: list[tuple[str, str]] = []
        for node in functional_nodes(model):
            call = _Call(node.operation, (node.arguments.args, node.arguments.kwargs))
            for port, tensor in enumerate(node.outputs):
                if tensor not in self._inputs:
                    self._calls[tensor], self._ports[tensor] = call, port
                self._tensors.setdefault(names[tensor], tensor)  # a Dropout gives what it is given

    @classmethod
    def of(cls, model: KerasModel, body: Any) -> _Layers:
        """The calls of a Sequential or Functional model."""
        functional = functional_model(model)
        if functional is None:
            raise GraphEditError(
                f"Keras model {model.name!r} is a subclass whose call is Python, so its edits "
                "cannot be said in layers; " + _INSTEAD
            )
        return cls(functional, layer_outputs(functional, body.graph))

    # Edits

    def follow(self, step: Step, *, is_root: bool) -> None:
        """Do in layers what a step did in ops."""
        line, patch, command = step.line, step.patch, step.command
        if not is_root:
            raise _refusal(line, "it is inside a function that the model calls")
        if getattr(command, "only", ()) or getattr(command, "never", ()):
            raise _refusal(line, "only some of the consumers change")
        moves = dict.fromkeys((*_moves(line, patch.changed), *patch.output_renames))
        given_back: dict[str, str] = {}
        if patch.traced is not None:
            layer = getattr(command, "function", getattr(command, "by", None))
            given_back = self._add(line, patch, layer, command)
        elif patch.add.nodes or patch.traces:
            raise _refusal(line, "it adds ops that are of no layer")
        pairs = [(old, given_back.get(new, new)) for old, new in moves if old != new]
        if patch.boundary is None:  # no layer reads what editor.call adds
            pairs = pairs or [*given_back.items()]
        for old, new in pairs:
            self._move(line, old, new)

    def _add(self, line: str, patch: Patch, layer: object, command: object) -> dict[str, str]:
        """Call a layer that came with an edit; {tensor: name of the call's result} where it gives
        back what it is given, as a Dropout does that does not train: no tensor of the graph is its
        result.
        """
        if not is_keras_model(layer):
            raise _refusal(line, "the function is not a keras.layers.Layer")
        scope, outputs = patch.scopes[0], patch.traced.outputs
        if len(outputs) != 1:
            raise _refusal(line, "the layer has several outputs")
        op, port = split_tensor(outputs[0])
        gives_back = op in patch.traced.inputs
        at = getattr(command, "at", None)
        if at is None:  # where it gives back what it is given, that takes the place of the part
            at = [new for _, new in patch.output_renames] if gives_back else _outside(patch)
            if len(at) != 1:
                raise _refusal(line, "the part has several inputs")
        inputs = [at] if isinstance(at, str) else list(at)
        new = f"{patch.traced.name_in(scope, op)}:{port or 0}"
        read = [self._tensor(line, name) for name in inputs]
        self._calls[new], self._ports[new], self._tensors[new] = (
            _Call(layer, (tuple(map(_Name, read)), {})),
            0,
            new,
        )
        if patch.boundary is not None and not gives_back:
            self._results.append((scope, new))
        return {inputs[0]: new} if gives_back else {}

    def _move(self, line: str, old: str, new: str) -> None:
        """Let all consumers of a tensor read another one, but for the layer that makes that."""
        was, now = self._tensor(line, old), self._tensor(line, new)
        for call in self._calls.values():
            if call is not self._calls.get(now):
                call.arguments = _exchange(call.arguments, was, now)
        self._replacements = {
            of: now if to == was else to for of, to in self._replacements.items()
        } | {was: now}

    def _tensor(self, line: str, name: str) -> _LayerTensor:
        if name not in self._tensors:
            raise _refusal(line, f"{name!r} is inside of a layer")
        return self._tensors[name]

    # The model

    def model(self) -> KerasModel:
        """A new Functional model of the same inputs."""
        keras = sys.modules["keras"]
        inputs, results = functional_boundary(self._model)
        tensors: dict[_LayerTensor, object] = dict(self._inputs)
        outputs = keras.tree.map_structure(
            lambda tensor: self._value(self._replacements.get(tensor, tensor), tensors), results
        )
        more = {
            key: self._value(self._replacements.get(name, name), tensors)
            for key, name in self._results
        }
        if more and isinstance(outputs, dict):
            outputs = {**outputs, **more}
        elif more:
            outputs = [
                *(outputs if isinstance(outputs, list | tuple) else [outputs]),
                *more.values(),
            ]
        model: KerasModel = keras.Model(inputs, outputs, name=self._model.name)
        return model

    def _value(self, tensor: _LayerTensor, tensors: dict[_LayerTensor, object]) -> object:
        """The KerasTensor that a tensor is in the new model."""
        stack = [tensor]  # a model may be deeper than Python's recursion
        while stack:
            call = self._calls.get(stack[-1])
            missing = (
                [] if call is None else [of for of in _tensors(call.arguments) if of not in tensors]
            )
            if call is None or stack[-1] in tensors:
                stack.pop()
            elif missing:
                stack += missing
            else:
                args, kwargs = _map_tensors(call.arguments, tensors.__getitem__)
                results = sys.modules["keras"].tree.flatten(call.layer(*args, **kwargs))
                tensors.update(
                    (of, results[self._ports[of]])
                    for of, other in self._calls.items()
                    if other is call
                )
        return tensors[tensor]


@dataclass(frozen=True)
class _Name:
    """A tensor in the arguments of a call."""

    tensor: _LayerTensor


def _map_tensors(arguments: object, value: Callable[[_LayerTensor], object]) -> Any:
    """Arguments with something else in place of each tensor."""
    keras = sys.modules["keras"]

    def one(item: object) -> object:
        if isinstance(item, _Name):
            return value(item.tensor)
        return value(item) if isinstance(item, keras.KerasTensor) else item

    return keras.tree.map_structure(one, arguments)


def _tensors(arguments: object) -> list[_LayerTensor]:
    tensors: list[_LayerTensor] = []
    _map_tensors(arguments, tensors.append)
    return tensors


def _exchange(arguments: object, old: _LayerTensor, new: _LayerTensor) -> Any:
    return _map_tensors(arguments, lambda tensor: _Name(new if tensor == old else tensor))


def _moves(line: str, changed: Iterable[NodeChange]) -> Iterable[tuple[str, str]]:
    """(tensor, tensor read instead) for the ops that read another one."""
    for edited in changed:
        before, after = edited.before, edited.after
        keys = {key for key in (*before.attr, *after.attr) if key != "_output_shapes"}
        if before.op != after.op or any(before.attr[key] != after.attr[key] for key in keys):
            raise _refusal(line, f"it changes the op {edited.name!r}")
        for old, new in zip(_data(before.input), _data(after.input), strict=True):
            if old != new:
                yield old, new


def _data(inputs: Iterable[str]) -> list[str]:
    return [f"{op}:{port}" for op, port in map(split_input, inputs) if port >= 0]


def _outside(patch: Patch) -> Sequence[str]:
    """The tensors of the graph that new ops read."""
    own = {node.name for node in patch.add.nodes}
    read = dict.fromkeys(name for node in patch.add.nodes for name in _data(node.input))
    return [name for name in read if split_tensor(name)[0] not in own]


@contextmanager
def _keep_state(variables: Iterable[Any]) -> Iterator[None]:
    """Put back what is not trained, such as a recurrent layer's state, after a run writes it."""
    values = [(variable, variable.numpy()) for variable in variables if not variable.trainable]
    try:
        yield
    finally:
        for variable, value in values:
            variable.assign(value)


def _check_same(model: KerasModel, executor: EditExecutor) -> None:
    """Raise GraphEditError when a model and the edited function differ on random numbers."""
    keras = sys.modules["keras"]
    specs = [(tensor.shape, tensor.dtype) for tensor in model.inputs]
    if any(None in shape[1:] or dtype not in _NUMBERS for shape, dtype in specs):
        return
    rng = np.random.default_rng(0)
    batch = [
        rng.normal(size=(shape[0] or _BATCH, *shape[1:])).astype(dtype) for shape, dtype in specs
    ]
    module = executor.edited_module("edited")
    with _keep_state(module.variables):
        results = model(
            keras.tree.pack_sequence_as(functional_boundary(model)[0], batch), training=False
        )
    keys = list(executor.inputs_and_outputs[1])
    if isinstance(results, dict):
        outputs = results
    else:
        outputs = dict(zip(keys, keras.tree.flatten(results), strict=True))
    with _keep_state(module.variables):
        expected = module.signature(*batch)
    for key, value in outputs.items():
        if not np.allclose(value, expected[key], rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
            raise GraphEditError(
                f"Keras model {model.name!r} with the edits in its layers computes another {key!r} "
                "than the edited graph; " + _INSTEAD
            )
