"""Models as people have them, from opening to the edited model that is trained, saved and loaded;
nothing by hand.

`make test` runs each small model once, in its function or as a SavedModel: a transformer encoder
with masks, a BiLSTM of texts, preprocessing layers, a subclass with several traces, a module like
one of TensorFlow Hub. `make stress` (TFGRAPHWIDGET_STRESS > 1) runs both forms of all, and of
MobileNetV3Small, EfficientNetV2B0 and ConvNeXtTiny from keras.applications. The seconds of each
step are printed as a table. What an edit must give comes from `reference.edited`, which edits
protos, and from TensorFlow.
"""

from __future__ import annotations

import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.slow import slow_if
from tests.stress import ROUNDS, reference
from tests.stress.real_models import REAL_MODELS, RealModel, Subject, scale
from tfgraphwidget.editor import GraphEditor

_TARGETS = ("Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "Softmax", "Erf", "Erfc")
_MOST_BODIES = 12
_TOLERANCE = 1e-4  # of the greatest number: another order of the additions of a deep model


def values(structure: Any) -> list[np.ndarray]:
    """The tensors of a structure as arrays."""
    return [np.asarray(leaf) for leaf in tf.nest.flatten(structure, expand_composites=True)]


def check_equal(found: Any, expected: Any, tolerance: float = _TOLERANCE) -> None:
    """The same structure with the same numbers, but for rounding."""
    if (
        not isinstance(expected, Mapping) or len(expected) > 1
    ):  # a body returns the only result of a signature alone
        tf.nest.assert_same_structure(found, expected, check_types=False)
    for one, other in zip(values(found), values(expected), strict=True):
        assert one.dtype == other.dtype
        if one.dtype.kind == "f":
            np.testing.assert_allclose(
                one, other, rtol=tolerance, atol=tolerance * np.abs(other).max(initial=0.0)
            )
        else:
            assert np.array_equal(one, other)


def differ(found: Any, other: Any) -> bool:
    """Whether some number is another, by much more than rounding."""
    pairs = [
        (a, b) for a, b in zip(values(found), values(other), strict=True) if a.dtype.kind == "f"
    ]
    return any(
        np.abs(a - b).max(initial=0.0) > 100 * _TOLERANCE * np.abs(b).max(initial=0.0)
        for a, b in pairs
    )


class Journey:
    """A model, what it returns, and a folder."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.subject, self.folder = subject, folder
        self.graph_def = (
            subject.graph.as_graph_def(),
            [tensor.name for tensor in subject.graph.outputs],
        )
        self.first = {id(v): np.asarray(v) for v in subject.variables}
        self.expected = self.original()

    def restore(self, values: Mapping[int, np.ndarray] | None = None) -> None:
        """Give the original's variables the values that they had; calls draw random numbers and
        take averages.
        """
        for variable in self.subject.variables:
            variable.assign((values or self.first)[id(variable)])

    def original(self) -> Any:
        """What the original returns."""
        self.restore()
        return self.run(self.subject.call)

    def open(self) -> GraphEditor:
        return tgw.edit(self.subject.source, **self.subject.options)

    def run(self, made: Any) -> Any:
        """What a module or a function returns for the arguments of the original."""
        arguments = self.subject.arguments
        return made(**arguments) if isinstance(arguments, Mapping) else made(*arguments)

    def at_target(self) -> tuple[GraphEditor, str]:
        """An editor in the body that holds an activation, and this op."""
        editor = self.open()
        self.opened_at = len(editor.view.breadcrumb)
        return editor, _target(editor)

    def reference(
        self, editor: GraphEditor, op: str, factor: float | None = None, values: Any = None
    ) -> Any:
        """What an edit of `op`, where the editor is now, makes the original return."""
        graph, arguments = self.subject.graph, self.subject.arguments
        self.restore(values)
        skipped = 2 if self.subject.folder else 1  # the graph itself, and the call of the signature
        run = reference.edited(graph, editor.view.breadcrumb[skipped:], op, factor, self.graph_def)
        if isinstance(arguments, Mapping):
            tensors = run(*reference.by_name(graph, arguments))
        else:
            tensors = run(*(tf.convert_to_tensor(leaf) for leaf in reference.flat(arguments)))
        # After these are what a gradient needs, if one was taken before.
        count = len(reference.flat(self.expected))
        return tf.nest.pack_sequence_as(self.expected, tensors[:count])

    def check_untouched(self) -> None:
        """The original's variables are those that it had."""
        for variable in self.subject.variables:
            assert np.array_equal(np.asarray(variable), self.first[id(variable)]), variable.name


def _target(editor: GraphEditor) -> str:
    """An activation in the current graph, or in a function that it calls, which is entered then."""
    names, kinds = editor._core.index.names, editor._core.index.types
    for kind in _TARGETS:
        for name in reversed(names):
            if kinds[editor._core.index.op(name)] == kind:
                return name
    depth = len(editor.view.breadcrumb) - 1
    for name in names:
        for called in editor.view.called_functions(name):
            editor.view.enter(name, called.label)
            found = _target(editor)
            if found:
                return found
            editor.view.leave(depth)
    return ""


STEPS: dict[str, Callable[[Journey], None]] = {}


def step(function: Callable[[Journey], None]) -> Callable[[Journey], None]:
    """A step of every journey; its column is its name."""
    STEPS[function.__name__] = function
    return function


@step
def opens(journey: Journey) -> None:
    editor = journey.open()
    assert editor._core.index.names
    for make in (editor.to_module, editor.to_function):
        journey.restore()
        check_equal(journey.run(make()), journey.expected)


@step
def draws(journey: Journey) -> None:
    editor = journey.open()
    closed = editor.view.to_svg()
    editor.view.expand()
    assert all(
        ET.fromstring(picture).tag.endswith("svg") for picture in (closed, editor.view.to_svg())
    )


@step
def enters(journey: Journey) -> None:
    editor = journey.open()
    editor.view.leave(0)
    _walk(editor, set())
    assert len(editor.view.breadcrumb) == 1


def _check_is_one_bypass(difference: Any, op: str) -> None:
    """The difference is that consumers of one op read another tensor, in one function."""
    while difference.inside:
        assert len(difference.inside) == 1
        assert not difference.changed
        difference = difference.inside[0].difference
    assert difference.changed
    assert not (*difference.added, *difference.removed, *difference.renamed)
    details = [detail for change in difference.changed for detail in change.details]
    assert {detail.before.partition(":")[0] for detail in details} == {op}, details
    assert len({detail.after for detail in details}) == 1


def _walk(editor: GraphEditor, seen: set[str]) -> None:
    depth = len(editor.view.breadcrumb) - 1
    for name in editor._core.index.names:
        for called in editor.view.called_functions(name):
            if called.function in seen or len(seen) >= _MOST_BODIES:
                continue
            seen.add(called.function)
            editor.view.enter(name, called.label)
            assert editor.view.to_svg()
            _walk(editor, seen)
            editor.view.leave(depth)


@step
def bypasses(journey: Journey) -> None:
    editor, op = journey.at_target()
    expected = journey.reference(editor, op)
    assert differ(expected, journey.expected)
    editor.bypass(op)
    body = editor.view.breadcrumb
    editor.view.leave(journey.opened_at - 1)
    check_equal(journey.run(editor.to_module()), expected)
    editor.view.leave(0)
    difference = editor.diff()
    _check_is_one_bypass(difference, op)
    editor.undo()
    assert editor.view.breadcrumb == body
    editor.view.leave(0)
    assert not editor.diff()
    editor.redo()
    editor.view.leave(0)
    assert repr(editor.diff()) == repr(difference)
    again = journey.open()
    again.history.replay(json.loads(json.dumps(editor.history.records())))
    again.view.leave(journey.opened_at - 1)
    check_equal(journey.run(again.to_module()), expected)


@step
def inserts(journey: Journey) -> None:
    editor, op = journey.at_target()
    expected = journey.reference(editor, op, 0.5)
    editor.insert(f"{op}:0", lambda t: t * 0.5)
    editor.view.leave(journey.opened_at - 1)
    check_equal(journey.run(editor.to_function()), expected)


@step
def freezes(journey: Journey) -> None:
    editor = journey.open()
    editor.freeze()
    module = editor.to_module()
    assert not module.variables
    check_equal(journey.run(module), journey.expected)
    editor.undo()
    assert not editor.diff()


@step
def clones(journey: Journey) -> None:
    editor = journey.open()
    check_equal(journey.run(editor.clone(into="copy")), journey.expected)
    copy = editor.clone(into="again")
    graph = journey.subject.graph
    mine, others = ({id(v) for v in each.variables} for each in (copy, journey.subject))
    assert not mine & others
    trained = [v for v in graph.trainable_variables if id(v) in _reached(graph)]
    if journey.subject.folder:  # whose variables a clone knows by their names alone
        names = [variable.name for variable in trained]
        trained = [variable for variable in trained if names.count(variable.name) == 1]
    found = _gradients(lambda: journey.run(copy), [copy[v] for v in trained])
    expected = _gradients(journey.original, trained)
    assert any(np.abs(gradient).max() > 0 for gradient in expected)
    for variable, one, other in zip(trained, found, expected, strict=True):
        scale = max(1.0, np.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * scale, err_msg=variable.name)


@step
def trains(journey: Journey) -> None:
    journey.restore()
    copy = journey.open().clone(into="copy")
    losses = []
    states = [(v, v.numpy()) for v in copy.variables if not v.trainable]
    for _ in range(3):
        for variable, value in states:  # the same random numbers for each step
            variable.assign(value)
        with tf.GradientTape() as tape:
            loss = _loss(journey.run(copy))
        gradients = tape.gradient(loss, copy.trainable_variables)
        pairs = [
            (g, v)
            for g, v in zip(gradients, copy.trainable_variables, strict=True)
            if g is not None
        ]
        length = tf.linalg.global_norm([gradient for gradient, _ in pairs])
        # A step that takes off a twentieth of the loss, where the loss is a plane.
        keras.optimizers.SGD(0.05 * float(loss) / float(length) ** 2).apply_gradients(pairs)
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    journey.check_untouched()


@step
def saves(journey: Journey) -> None:
    editor, op = journey.at_target()
    expected = journey.reference(editor, op)
    editor.bypass(op)
    editor.view.leave(journey.opened_at - 1)
    path = editor.save(journey.folder / "edited/")
    loaded, signature = tf.saved_model.load(str(path)), journey.subject.signature
    assert signature in loaded.signatures
    named = _named(journey)
    results = values(expected)
    _check_set(loaded.signatures[signature](**named), results)
    if len(named) == 1:  # Keras calls a signature with one argument alone
        _check_set(
            keras.layers.TFSMLayer(str(path), call_endpoint=signature)(*named.values()), results
        )
    again = tgw.edit(path, signature=signature)
    _check_set(again.to_module().signature(**named), results)
    if journey.subject.folder:
        _check_identity(journey.subject.folder, path)
        editor.view.leave(0)
        _check_is_one_bypass(editor.diff(journey.subject.folder), op)


def _check_identity(old: Path, new: Path) -> None:
    """The signatures with their arguments, and the keys of the values, are those of the old
    SavedModel.
    """
    was, now = (tf.saved_model.load(str(path)).signatures for path in (old, new))
    assert set(now) == set(was)
    for name, function in was.items():
        assert now[name].structured_input_signature == function.structured_input_signature
        assert now[name].structured_outputs.keys() == function.structured_outputs.keys()
    keys = [tf.train.list_variables(str(path / "variables" / "variables")) for path in (old, new)]
    assert keys[0] == keys[1]


@step
def restores(journey: Journey) -> None:
    subject = journey.subject
    journey.restore()
    scale(subject.variables)
    trained = {id(v): np.asarray(v) for v in subject.variables}
    path = tf.train.Checkpoint(subject.root).save(str(journey.folder / "trained"))
    editor, op = journey.at_target()
    expected = journey.reference(editor, op, values=trained)
    assert differ(expected, journey.reference(editor, op))
    if (
        isinstance(subject.source, keras.Model) or subject.folder
    ):  # which say how a checkpoint names their variables
        copy = journey.open().clone(into="copy", init=path)  # the original has its first values now
        journey.restore(trained)
        check_equal(journey.run(copy), journey.run(subject.call))
    if subject.folder:
        loaded = tf.saved_model.load(str(journey.folder / "edited"))
        tf.train.Checkpoint(loaded).restore(path).assert_existing_objects_matched()
        _check_set(journey.run(loaded.signatures[subject.signature]), values(expected))
        return
    editor.bypass(op)
    editor.view.leave(journey.opened_at - 1)
    module = editor.to_module()
    tf.train.Checkpoint(subject.root).restore(path).assert_existing_objects_matched()
    check_equal(journey.run(module), expected)


def _check_set(found: Mapping[str, Any], expected: list[np.ndarray]) -> None:
    check_equal([found[key] for key in sorted(found)], expected)


def _named(journey: Journey) -> dict[str, Any]:
    """The arguments by the names that a signature has for them."""
    arguments = journey.subject.arguments
    if isinstance(arguments, Mapping):
        return dict(arguments)
    if len(arguments) == 1 and isinstance(arguments[0], dict):
        return dict(arguments[0])
    leaves = [tf.convert_to_tensor(leaf) for leaf in tf.nest.flatten(arguments)]
    return dict(zip(journey.subject.names, leaves, strict=True))


def _loss(structure: Any) -> Any:
    return tf.add_n(
        [tf.reduce_mean((t - 0.25) ** 2) for t in tf.nest.flatten(structure) if t.dtype.is_floating]
    )


def _gradients(call: Callable[[], Any], variables: Iterable[Any]) -> list[np.ndarray]:
    with tf.GradientTape() as tape:
        loss = _loss(call())
    found = tape.gradient(loss, list(variables), unconnected_gradients="zero")
    return [np.asarray(tf.convert_to_tensor(gradient)) for gradient in found]


def _reached(graph: Any) -> set[int]:
    handles = {id(outer) for outer, _ in graph.captures}
    return {id(v) for v in graph.variables if id(v.handle) in handles}


_QUICK = {"Hub, default"}
_MODELS = [model for model in REAL_MODELS if model.is_small or ROUNDS > 1]


@pytest.mark.parametrize("model", slow_if(lambda model: str(model) not in _QUICK, _MODELS), ids=str)
@pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # of notices of `save`, which test_saved_model_identity.py reads
def test_a_real_model_goes_all_the_way(
    model: RealModel, tmp_path: Path, record_property: Any
) -> None:
    journey = Journey(model.open(tmp_path), tmp_path)
    failures = []
    record_property("real model", (model.name, "ops", f"{len(journey.open()._core.index.names):,}"))
    for name, run in STEPS.items():
        begin = time.process_time()
        try:
            run(journey)
        except Exception as error:  # the other steps are for the table
            failures.append(f"{name}: {type(error).__name__}: {error}")
        outcome = (
            "FAILED"
            if failures and failures[-1].startswith(f"{name}: ")
            else f"{time.process_time() - begin:.1f}"
        )
        record_property("real model", (model.name, name, outcome))
    assert not failures, "\n".join(failures)
