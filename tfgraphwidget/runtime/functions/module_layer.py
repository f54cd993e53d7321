"""ModuleLayer: a clone, or the module of an edited function, as a layer of Keras. Importing this
module imports Keras.

Keras trains, counts and saves the variables that its own layers track; those of a tf.Module inside
of a layer, a model or a Lambda it does not see. A ModuleLayer tracks the module's variables: they
are the same variables, not copies.

A ".keras" file has the module as a SavedModel in the layer's configuration. A file that comes from
others may hold ops that do more than compute; such a layer is loaded only with `safe_mode=False`,
as Keras's own TFSMLayer.
"""

from __future__ import annotations

import base64
import io
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras  # type: ignore[import-untyped]

from tfgraphwidget.runtime.functions.refused_gradients import without_gradient
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import open_source
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import is_keras_safe_mode


@keras.saving.register_keras_serializable(package="tfgraphwidget")
class ModuleLayer(keras.layers.Layer):  # type: ignore[misc]  # Keras has no types
    """A tf.Module that a clone or `editor.to_module()` gave, as a layer; see `ModuleCopy.layer`.

    Args:
        module: The module, or what `tf.saved_model.load` returned for one.
        parameters: The names of the module's arguments by the names that inputs may have; None for
            those of `module`.
        count: How many arguments the module takes; None for those of `module`.
        is_differentiable: Whether TensorFlow can differentiate the module; None for what `module`
            says. If it cannot, a gradient is refused in a sentence.
        regularizers: One for each variable, or None; None for those of `module`.
        options: What every layer of Keras has: `name`, `trainable`, `dtype`.
    """

    def __init__(
        self,
        module: Any,
        parameters: Mapping[str, str] | None = None,
        count: int | None = None,
        is_differentiable: bool | None = None,
        regularizers: Sequence[Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(autocast=False, **options)
        self.module = module
        self._is_differentiable = bool(
            module.is_differentiable if is_differentiable is None else is_differentiable
        )
        self._parameters = dict(module.input_parameters if parameters is None else parameters)
        self._count = len(module.input_parameters_in_order) if count is None else count
        self._first_argument = (
            module.first_argument
            if hasattr(module, "first_argument")
            else next(iter(module.run.concrete_functions[0].structured_input_signature[0]), None)
        )
        variables = (*module.own, *module.shared)
        if regularizers is None:
            regularizers = vars(module).get("regularizers")
        self._regularizers = [
            keras.regularizers.get(each) for each in regularizers or [None] * len(variables)
        ]
        for variable, regularizer in zip(variables, self._regularizers, strict=True):
            name = variable.name.removesuffix(":0").replace("/", "_")
            tracked = keras.Variable(
                variable,
                trainable=variable.trainable,
                dtype=variable.dtype,
                shape=variable.shape,
                name=name,
            )
            tracked.regularizer = regularizer
            self._track_variable(tracked)
        self.build(None)  # as all variables are there

    def call(self, inputs: Any, *more: Any) -> Any:
        """What the module returns; several arguments are given one by one, in a list, or in a dict
        by their names.

        Args:
            inputs: The first argument, which may be a list or dict of tensors; or all arguments.
            more: The other arguments.
        """
        run, variables = self.module.run, (*self.module.own, *self.module.shared)
        if not self._is_differentiable:
            run = without_gradient(run, self.name, variables)
        if self._count == 1 or more:
            return run(_nested_like(self._first_argument, inputs), *more)
        if isinstance(inputs, Mapping):
            return run(
                **{
                    self._parameters.get(str(name), str(name)): value
                    for name, value in inputs.items()
                }
            )
        return run(*inputs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """What the results of `call` are, as tensors of a model that is being built.

        Args:
            args: The inputs.
            kwargs: What else `call` is given.

        Raises:
            ValueError: TensorFlow does not know how many dimensions a result has.
        """
        try:
            return super().compute_output_spec(*args, **kwargs)
        except ValueError as error:
            if "unknown TensorShape" not in str(error):
                raise
            output = getattr(self.module, "outputs", ["y:0"])[0]
            raise ValueError(
                f"TensorFlow does not know the number of dimensions of what layer {self.name!r} "
                "gives, as after a while loop of TensorFlow 1, and Keras needs it; "
                + in_cell(
                    f"say it before module(): editor.insert({output!r}, lambda y: "
                    "tf.ensure_shape(y, [None, …]))."
                )
            ) from error

    def get_config(self) -> dict[str, Any]:
        """The configuration, with the module as a SavedModel in a zip file."""
        packed = io.BytesIO()
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(self.module, folder)
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(Path(folder).rglob("*")):
                    archive.write(file, file.relative_to(folder))
        options = super().get_config()
        saved = base64.b64encode(packed.getvalue()).decode("ascii")
        return {
            **options,
            "module": saved,
            "parameters": self._parameters,
            "count": self._count,
            "is_differentiable": self._is_differentiable,
            "regularizers": [keras.regularizers.serialize(each) for each in self._regularizers],
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any], safe_mode: bool | None = None) -> ModuleLayer:
        """Make the layer of its configuration.

        Args:
            config: What `get_config` returned.
            safe_mode: False to load a module whose ops do more than compute; None for the mode of
                Keras.

        Raises:
            ValueError: The module's ops do more than compute, and Keras is in its safe mode.
        """
        options = dict(config)
        with tempfile.TemporaryDirectory() as folder:
            with zipfile.ZipFile(io.BytesIO(base64.b64decode(options.pop("module")))) as archive:
                archive.extractall(folder)  # which leaves no folder but this one
            is_safe = is_keras_safe_mode() if safe_mode is None else safe_mode
            if is_safe and not open_source(folder).trust.is_given:
                raise ValueError(
                    f"The layer {options.get('name')!r} has ops that do more than compute; "
                    + in_cell("if you trust the file, load it with safe_mode=False.")
                )
            module = tf.saved_model.load(folder)
        return cls(module, **{"is_differentiable": True, **options})  # older files do not say it


def _nested_like(specs: object, value: object) -> object:
    """A value with tuples where `specs` has them, and lists where it has those: Keras, which knows
    no difference, gives lists back for tuples when it loads a model.
    """
    if isinstance(specs, Mapping) and isinstance(value, Mapping):
        return {key: _nested_like(specs.get(key), each) for key, each in value.items()}
    if not (isinstance(specs, list | tuple) and isinstance(value, list | tuple)):
        return value
    if len(specs) != len(value):
        return value
    parts = [_nested_like(*pair) for pair in zip(specs, value, strict=True)]
    if isinstance(specs, list):
        return parts
    return specs._make(parts) if hasattr(specs, "_make") else tuple(parts)
