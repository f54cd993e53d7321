"""Functions whose gradient is refused in a sentence, where TensorFlow would fail with an error of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfgraphwidget.errors import NotClonable
from tfgraphwidget.sentences import either
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import stop_recording
from tfgraphwidget.tf_types import Tensor


def without_gradient(
    function: Callable[..., Any], name: str, variables: Sequence[tf.Variable] = ()
) -> Callable[..., Any]:
    """A function that computes what another one does, and whose gradient is refused in a sentence,
    also with respect to the trainable ones of the `variables` that it reads.

    TensorFlow differentiates v1 loops and conditionals by what Python knew as they were built,
    which is lost in a function: with an AttributeError, and already as the function is called where
    a tape watches an argument.
    """

    def call(*arguments: object, **keywords: object) -> Any:
        leaves = tf.nest.flatten((arguments, keywords))
        places = [
            place
            for place, leaf in enumerate(leaves)
            if tf.is_tensor(leaf) or isinstance(leaf, tf.Variable)
        ]

        def refuse(*_: Tensor, **__: object) -> object:
            raise NotClonable(
                f"{name!r} has while loops or conditionals of TensorFlow 1, which cannot be "
                "differentiated inside a function; differentiate the function that it was made "
                "of, before it was frozen, or train only what comes after it"
                + either(": editor.freeze(), and tf.stop_gradient of what it is given.", ".")
            )

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def run(*tensors: Tensor) -> tuple[Any, Callable[..., object]]:
            replaced_leaves = [*leaves]
            for place, tensor in zip(places, tensors, strict=False):
                replaced_leaves[place] = tensor
            positional, named = tf.nest.pack_sequence_as((arguments, keywords), replaced_leaves)
            with stop_recording():
                return function(*positional, **named), refuse

        trained = [variable.read_value() for variable in variables if variable.trainable]
        return run(*(leaves[place] for place in places), *trained)

    return call
