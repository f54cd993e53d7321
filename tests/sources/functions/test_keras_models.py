"""Keras models whose inputs Keras did not record are opened with the specs of what their `call`
takes.
"""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError

X, OTHER = np.ones((1, 3), np.float32), np.full((1, 2), 5.0, np.float32)
SPECS = {"x": tf.TensorSpec([None, 3]), "other": tf.TensorSpec([None, 2])}


class Two(keras.Model):
    """A subclassed model of two inputs, without a `build` of its own."""

    def __init__(self) -> None:
        super().__init__(name="two")
        self.dense = keras.layers.Dense(2)

    def call(self, x, other, training=False):
        return self.dense(x) + other


@pytest.fixture(scope="module")
def two() -> Two:
    model = Two()
    model(X, OTHER)
    return model


@pytest.mark.parametrize(
    "signature", [list(SPECS.values()), tuple(SPECS.values()), SPECS, dict(reversed(SPECS.items()))]
)
def test_a_second_input_is_given_as_a_spec(two: Two, signature: object) -> None:
    editor = tgw.edit(two, signature=signature)
    module = editor.to_module()
    assert (
        module(X, OTHER).numpy().tolist()
        == module(x=X, other=OTHER).numpy().tolist()
        == two(X, OTHER).numpy().tolist()
    )
    assert [v.path for v in two.variables] == list(editor.find("is:trainable").ops)


def test_the_refusal_is_the_call_that_works(two: Two) -> None:
    call = r"signature=\[tf.TensorSpec\(\[None, 3\], 'float32'\), tf.TensorSpec\(shape, dtype\)\]"
    with pytest.raises(GraphEditError, match=call):
        tgw.edit(two)


@pytest.mark.parametrize(
    "signature",
    ["serve", 1, [3], {"other": SPECS["other"]}, {"nothing": SPECS["x"]}, [SPECS["x"]], []],
)
def test_another_signature_is_refused_in_a_sentence(two: Two, signature: object) -> None:
    with pytest.raises(GraphEditError, match=r"takes|cannot be traced"):
        tgw.edit(two, signature=signature)
