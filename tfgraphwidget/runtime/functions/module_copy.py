"""The tf.Module that a clone of a function's body is. Importing this module imports TensorFlow."""

from __future__ import annotations

import gc
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfgraphwidget.argument_checks import names_its_call, value_text
from tfgraphwidget.edits import Preview
from tfgraphwidget.edits.clone import Excerpt
from tfgraphwidget.errors import NotClonable, UnknownName, reason_of
from tfgraphwidget.graph import BodyState
from tfgraphwidget.naming import identifier, known_instead, split_tensor
from tfgraphwidget.runtime.functions.body_import import InlinedModule
from tfgraphwidget.runtime.functions.module_state import States
from tfgraphwidget.runtime.functions.refused_gradients import without_gradient
from tfgraphwidget.runtime.sync.mixing import distance
from tfgraphwidget.runtime.sync.sync import check_tau
from tfgraphwidget.sources import CallStructure, is_same_variable
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import Trackable, eager_mode, is_in_keras_layer, typed_function
from tfgraphwidget.tf_types import ConcreteFunction, GenericFunction, Tensor, Variable


class ModuleCopy(tf.Module):
    """A part of a function's body that runs by itself: `module(x)`, or `module(**{"dense/Relu:0":
    x})`.

    It returns a tensor, or a tuple in the order of the outputs. A whole function has the arguments
    and results of the original: keyword arguments, defaults, dicts, tuples, named tuples,
    RaggedTensors and SparseTensors.

    `scope` is the name it was cloned as; `inputs` and `outputs` name those of the original;
    `report` lists what is new and what is shared. `own` and `shared` are its variables, in graph
    order, and `module["dense/kernel"]` is the one that represents that of the original. `run` is
    the tf.function itself, `signature` one that returns a dict by the outputs' names; both are
    saved by `tf.saved_model.save`.
    """

    def __init__(
        self,
        part: Excerpt,
        states: States,
        functions: Mapping[str, ConcreteFunction],
        into: str,
        body_state: BodyState,
        report: Preview,
    ) -> None:
        super().__init__(name=identifier(into))
        self.scope = into
        self._is_warned = False  # that Keras does not see the variables
        self.inputs, self.outputs = part.names(part.inputs), part.names(part.outputs)
        self.own, self.shared = list(states.variables.values()), list(states.shared.values())
        self.tables = list(states.tables.values())
        self.report = report
        self._names = (*states.variables, *states.shared)
        live = {name: body_state.live(name) for name in states.variables}
        # Not as an attribute: they would be this module's variables.
        self._original: Callable[[str], Variable | None] = live.get
        self._body = functions  # alive as long as the calls that name them
        self.inlined: InlinedModule
        self.is_differentiable = True

    @property
    def named_variables(self) -> dict[str, tf.Variable]:
        """Its variables, its own and the shared ones, by the names of the original's."""
        return dict(zip(self._names, (*self.own, *self.shared), strict=True))

    def _trace(
        self,
        structure: CallStructure,
        flat: CallStructure,
        results: Mapping[str, str],
        body: Callable[[dict[str, Tensor]], Mapping[str, Tensor]],
    ) -> None:
        """Trace `body`, which returns tensors by the outputs' names for tensors by the inputs'
        names.

        `structure` is how the module is called, `flat` how its signature is, `results` maps keys to
        outputs.
        """

        def call_body(
            structure: CallStructure, tensors: Sequence[object], keywords: Mapping[str, object]
        ) -> dict[str, Tensor]:
            values = inspect.Signature(structure.parameters).bind(*tensors, **keywords).arguments
            tensors_by_name = body(dict(zip(self.inputs, structure.tensors(values), strict=True)))
            return {key: tensors_by_name[name] for key, name in results.items()}

        def run(*tensors: Tensor, **keywords: object) -> Any:
            return structure.pack(call_body(structure, tensors, keywords).values())

        def signature(*tensors: Tensor, **keywords: object) -> dict[str, Tensor]:
            return call_body(flat, tensors, keywords)

        self._structure = structure
        self.parameters = tuple(flat.specs)
        self.run, self.signature = _function(run, structure), _function(signature, flat)
        try:
            for function, call_structure in ((self.run, structure), (self.signature, flat)):
                example = call_structure.example
                function.get_concrete_function(*example.args, **example.kwargs)
        except (ValueError, TypeError, LookupError, tf.errors.OpError) as error:
            raise NotClonable(
                f"TensorFlow refused the copy of {self.outputs[0]!r}: {reason_of(error)}; choose "
                "other boundaries.",
                [split_tensor(self.outputs[0])[0]],
            ) from error
        self.resources = self._resources()
        self._default_save_signature = self.signature
        # A loaded module is called by this one; here the class's comes first.
        self.__dict__["__call__"] = self.run

    def _resources(self) -> list[object]:
        """The tables that it reads and shares with the original; TensorFlow saves only what
        attributes hold.

        The function has only their handles. The objects are found through Python's garbage
        collector, as TensorFlow does for its own error message; each search goes through all
        objects of the process, so there are two for all handles together.
        """
        variable_handles = {id(variable.handle) for variable in self.variables}
        handles = [
            handle
            for handle in self.signature.get_concrete_function().captured_inputs
            if handle.dtype == tf.resource and id(handle) not in variable_handles
        ]
        if not handles:
            return []
        holders = gc.get_referrers(*handles)  # the objects, or their dictionaries
        tables = {
            id(_handle(each)): each
            for each in (*gc.get_referrers(*holders), *holders)
            if isinstance(each, Trackable)
        }
        return [tables[id(handle)] for handle in handles if id(handle) in tables]

    def __call__(self, /, *arguments: object, **keywords: object) -> Any:
        """Call the function; a tensor's name ("x:0") or its op's ("x") also passes it."""
        if any(map(_is_keras_tensor, tf.nest.flatten((arguments, keywords)))):
            # A model is built of layers.
            self._layer = self.__dict__.get("_layer") or self.layer()
            return self._layer(*arguments) if arguments else self._layer(keywords)
        if not self._is_warned and self.trainable_variables and is_in_keras_layer():
            self._is_warned = True
            warnings.warn(
                f"Keras does not see the {len(self.variables)} variables of {self.scope!r}, so it "
                "does not train or save them: use module.layer(), a keras.layers.Layer that has "
                "them.",
                stacklevel=2,
            )
        values = {self._parameter(name): value for name, value in keywords.items()}
        if tf.executing_eagerly() or tf.compat.v1.get_default_graph().building_function:
            run = (
                self.run
                if self.is_differentiable
                else without_gradient(self.run, self.scope, self.variables)
            )
            return run(*arguments, **values)
        with eager_mode():
            # A graph of TensorFlow 1 is the default one, which cannot hold the variables.
            return self.run(*arguments, **values)

    def _parameter(self, name: str) -> str:
        if name in self._structure.specs:
            return name
        of = zip(self.parameters, self.inputs, self._structure.tensor_parameters, strict=True)
        matches = [
            parameter
            for flat, tensor, parameter in of
            if name in (flat, tensor, tensor[:-2]) and parameter
        ]
        if not matches:
            choices = [*self._structure.specs, *self.inputs]
            raise UnknownName(
                f"{self.scope!r} has no input {name!r}{known_instead(name, choices)}", [name]
            )
        return matches[0]

    @property
    def input_parameters(self) -> dict[str, str]:
        """The names of the arguments by the names that inputs may be given by: argument, tensor
        ("x:0"), op ("x").
        """
        arguments = zip(
            self.parameters, self.inputs, self._structure.tensor_parameters, strict=True
        )
        return {
            name: of
            for flat, tensor, of in arguments
            if of
            for name in (flat, tensor, split_tensor(tensor)[0])
        }

    @property
    def input_parameters_in_order(self) -> tuple[str, ...]:
        """The names of the arguments that are tensors, or have them in a list or dict."""
        return self._structure.parameters_with_tensors

    @property
    def first_argument(self) -> object:
        """The TensorSpecs of the first argument, nested as it is; None where there is none."""
        return next(iter(self._structure.example.arguments.values()), None)

    def take_regularizers(self, by_handle: Mapping[int, object]) -> None:
        """Give the module's layer the regularizers of the originals.

        Args:
            by_handle: The regularizers of Keras variables, by id of the handle.
        """
        originals = [self._original(name) for name in self._names]
        pairs = zip(originals, (*self.own, *self.shared), strict=True)
        # Not as an attribute: TensorFlow would save it.
        self.__dict__["regularizers"] = [
            by_handle.get(id(getattr(variable if original is None else original, "handle", None)))
            for original, variable in pairs
        ]

    def layer(self, **options: Any) -> Any:
        """This module as a `keras.layers.Layer`, which another Keras model can have:
        `module.layer()(x)`.

        Keras trains, counts and saves the module's variables, which are the same ones, with the
        regularizers that a Keras model gave them; other losses of that model it does not have.
        `keras.models.load_model` finds the layer in a ".keras" file after `tgw.ModuleLayer` was
        named once.

        Args:
            options: What every layer of Keras has: name="backbone", trainable=False.
        """
        from tfgraphwidget.runtime.functions.module_layer import ModuleLayer

        return ModuleLayer(self, **{"name": self.name, **options})

    def __getitem__(self, original: object) -> tf.Variable:
        """The variable that this module reads for one of the original's, by name or object."""
        for name, copy in self.named_variables.items() if not isinstance(original, str) else ():
            variable = self._original(name)  # None for a shared variable
            if is_same_variable(copy if variable is None else variable, original):
                return copy
        name_or_path = (
            original
            if isinstance(original, str)
            else getattr(original, "path", getattr(original, "name", None))
        )
        if not isinstance(name_or_path, str):
            raise UnknownName(
                f"{value_text(original)} names no variable; give a name, or a variable of the "
                "original."
            )
        name = split_tensor(name_or_path)[0]
        if name not in self._names:
            raise UnknownName(
                f"{self.scope!r} reads no variable {name!r}{known_instead(name, [*self._names])}",
                [name],
            )
        return [*self.own, *self.shared][self._names.index(name)]

    @names_its_call
    def sync(self, tau: float = 1.0) -> None:
        """Give the module's own variables the originals' present values; with `tau`, that much of
        them.

        What is not a floating or complex number is copied. Raises NotClonable for originals in a
        file or a session.
        """
        check_tau(tau)
        pairs = [(copy, original.read_value()) for _, original, copy in self._pairs()]
        for copy, value in pairs:
            mixed = copy.dtype.is_floating or copy.dtype.is_complex
            copy.assign(
                copy + tf.cast(tau, copy.dtype) * (value - copy) if mixed and tau != 1 else value
            )

    @names_its_call
    def drift(self) -> dict[str, float]:
        """How far each variable is from its original, by that one's name: the largest difference of
        two elements.
        """
        values = ((name, original.numpy(), copy) for name, original, copy in self._pairs())
        return {name: distance(value, copy.numpy(), copy.dtype) for name, value, copy in values}

    def _pairs(self) -> list[tuple[str, tf.Variable, tf.Variable]]:
        """(name, original, copy) of each variable of its own."""
        triples = [
            (name, self._original(name), copy)
            for name, copy in zip(self._names, self.own, strict=False)
        ]
        pairs = [(name, original, copy) for name, original, copy in triples if original is not None]
        if len(pairs) < len(triples):
            far = [name for name, original, _ in triples if original is None]
            raise NotClonable(
                f"Variable {far[0]!r} of the original is in a file or a session, where this module "
                "cannot look; clone it again for its present value.",
                far,
            )
        return pairs

    def __repr__(self) -> str:
        own, shared = len(self.own), len(self.shared)
        return f"<ModuleCopy {self.scope!r}: {own} variables of its own, {shared} shared>"


def _is_keras_tensor(value: object) -> bool:
    """Whether a value is a tensor of a Keras model that is being built."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.KerasTensor)


def _handle(resource: object) -> object:
    return getattr(resource, "resource_handle", None)


def _function(body: Callable[..., object], structure: CallStructure) -> GenericFunction:
    """A tf.function that is called like this."""
    body.__signature__ = inspect.Signature(structure.parameters)  # type: ignore[attr-defined]
    function: GenericFunction = typed_function(body, structure.parameters, structure.specs)
    return function
