"""Feeds of too few dimensions: refused, where TensorFlow's kernel would end the process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.runtime.session import check_feed_ranks, feed_ranks

# For each op a process of its own, a fork of one that has imported TensorFlow and run nothing.
_FACTS = """
import os, sys
import numpy as np, tensorflow as tf
v1, raw, ones = tf.compat.v1, tf.raw_ops, lambda *sizes: tf.ones(sizes)
MAKE = {
    "Conv2D": lambda x: raw.Conv2D(input=x, filter=ones(3, 3, 3, 4), strides=[1] * 4,
        padding="SAME"),
    "Conv3D": lambda x: raw.Conv3D(input=x, filter=ones(3, 3, 3, 3, 4), strides=[1] * 5,
        padding="SAME"),
    "DepthwiseConv2dNative": lambda x: raw.DepthwiseConv2dNative(
        input=x, filter=ones(3, 3, 3, 1), strides=[1] * 4, padding="SAME"
    ),
    "FakeQuantWithMinMaxVarsPerChannel": lambda x: raw.FakeQuantWithMinMaxVarsPerChannel(
        inputs=x, min=tf.zeros([2]), max=ones(2)
    ),
    "MaxPool3D": lambda x: raw.MaxPool3D(input=x, ksize=[1, 2, 2, 2, 1], strides=[1] * 5,
        padding="SAME"),
    "AvgPool": lambda x: raw.AvgPool(value=x, ksize=[1, 2, 2, 1], strides=[1] * 4, padding="SAME"),
}
for name, make in MAKE.items():
    for rank in range(6):
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                with tf.Graph().as_default(), v1.Session() as session:
                    x = v1.placeholder(tf.float32)
                    session.run(make(x), {x: np.ones([2] * rank, np.float32)})
            except Exception:
                pass
            os._exit(0)
        if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            print(name, rank)
"""


def test_these_kernels_end_the_process_and_no_others_of_the_kind() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FACTS], capture_output=True, text=True, check=True
    )
    ranks: dict[str, list[int]] = {}
    for name, rank in map(str.split, done.stdout.splitlines()):
        ranks.setdefault(name, []).append(int(rank))
    assert ranks.keys() <= feed_ranks._FEWEST.keys()
    assert all(max(found) < feed_ranks._FEWEST[name] for name, found in ranks.items())


def picture_network(behind: Callable[[Any], Any] = lambda x: x) -> v1.Session:
    """A convolution of a placeholder of any shape."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, name="x")
        tf.identity(
            tf.nn.conv2d(behind(x), tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv"), name="y"
        )
    return v1.Session(graph=graph)


@pytest.mark.parametrize(
    "behind",
    [lambda x: x, tf.nn.relu, lambda x: x / 127.5 - 1.0, lambda x: tf.identity(x) * tf.ones([3])],
)
def test_a_value_of_too_few_dimensions_is_refused(behind: Callable[[Any], Any]) -> None:
    session = picture_network(behind)
    with pytest.raises(
        ValueError,
        match=r"'x:0' is fed a value of 1 dimensions, and op 'conv' \(Conv2D\) takes one of 4",
    ):
        check_feed_ranks(session.graph, {"x:0": [1.0, 2.0, 3.0]})
    check_feed_ranks(session.graph, {"x:0": np.ones([1, 4, 4, 3], np.float32)})


def test_an_editor_refuses_it_in_a_sentence_and_runs_a_right_one() -> None:
    session = picture_network()
    editor = tgw.edit(session.graph, session=session)
    with pytest.raises(
        SessionRefused, match=r"op 'conv' \(Conv2D\) takes one of 4 or more; give other feeds"
    ):
        editor.probe(["y:0"], {"x:0": np.float32(1.0)})
    assert editor.probe(["y:0"], {"x:0": np.ones([1, 4, 4, 3], np.float32)})["y:0"].shape == (
        1,
        4,
        4,
        4,
    )


def test_a_save_does_not_run_the_model_on_made_up_values_of_too_few_dimensions(
    tmp_path: Path,
) -> None:
    session = picture_network()
    editor = tgw.edit(session.graph, session=session)
    with pytest.warns(UserWarning, match="loaded but not run.*takes one of 4 or more"):
        editor.save(f"{tmp_path}/m/", "x:0", "y:0")


ANY = tf.TensorSpec(None, tf.float32, name="x")


def convolution(x: Any) -> Any:
    return tf.identity(tf.nn.conv2d(x, tf.ones([3, 3, 3, 4]), 1, "SAME", name="conv"), name="y")


def called(x: tf.Tensor) -> tf.Tensor:
    return tf.function(convolution, input_signature=[ANY])(x)


def chosen(x: tf.Tensor) -> tf.Tensor:
    return tf.cond(
        v1.placeholder_with_default(True, []), lambda: convolution(x), lambda: tf.ones([1])
    )


def given_on(x: tf.Tensor) -> tf.Tensor:
    """Through a function that gives back its second argument first, to another one."""
    swapped = tf.function(
        lambda a, b: (b, tf.nn.relu(a)), input_signature=[ANY, tf.TensorSpec(None, tf.float32)]
    )
    return tf.function(
        lambda x: convolution(swapped(tf.zeros([2]), x)[0] * 2.0), input_signature=[ANY]
    )(x)


def looped(x: tf.Tensor) -> tf.Tensor:
    """In the second step the loop has it where the first had another."""
    first = v1.placeholder_with_default(np.ones([1, 3, 3, 3], np.float32), None)
    return convolution(
        tf.while_loop(lambda *_: True, lambda a, b: (b, a), [first, x], maximum_iterations=2)[0]
    )


@pytest.mark.parametrize("build", [called, chosen, given_on, looped])
def test_it_is_refused_where_a_function_takes_it(build: Callable[[Any], Any]) -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(build(v1.placeholder(tf.float32, name="x")), name="z")
        session = v1.Session()
    editor = tgw.edit(graph, session=session)
    with pytest.raises(
        SessionRefused, match=r"'x:0' is fed a value of 1 dimensions, and op '.*conv' \(Conv2D\)"
    ):
        editor.probe(["z:0"], {"x:0": [1.0, 2.0]})
    assert editor.probe(["z:0"], {"x:0": np.ones([1, 3, 3, 3], np.float32)})["z:0"].shape == (
        1,
        3,
        3,
        4,
    )


def test_what_changes_the_dimensions_in_a_function_is_not_refused() -> None:
    def reshaped(x: tf.Tensor) -> tf.Tensor:
        return convolution(tf.reshape(x, [1, 2, 2, 3]))

    with tf.Graph().as_default() as graph:
        tf.identity(
            tf.function(reshaped, input_signature=[ANY])(v1.placeholder(tf.float32, name="x")),
            name="z",
        )
        session = v1.Session()
    editor = tgw.edit(graph, session=session)
    assert editor.probe(["z:0"], {"x:0": np.ones([12], np.float32)})["z:0"].shape == (1, 2, 2, 4)


@pytest.mark.parametrize("is_file", [False, True], ids=["tf.function", "SavedModel"])
def test_a_function_is_not_run_on_a_value_of_too_few_dimensions(
    is_file: bool, tmp_path: Path
) -> None:
    module = tf.Module()
    module.f = tf.function(convolution, input_signature=[ANY])
    if is_file:
        tf.saved_model.save(
            module, str(tmp_path / "model"), signatures=module.f.get_concrete_function()
        )
    editor = tgw.edit(tmp_path / "model" if is_file else module.f)
    with pytest.raises(
        SessionRefused, match=r"'x:0' is fed a value of 0 dimensions, and op '.*conv' \(Conv2D\)"
    ):
        editor.probe(["y:0"], {"x:0": np.float32(1.0)})
    assert editor.probe(["y:0"], {"x:0": np.ones([1, 3, 3, 3], np.float32)})["y:0"].shape == (
        1,
        3,
        3,
        4,
    )


def test_a_save_does_not_run_a_function_on_made_up_values_of_too_few_dimensions(
    tmp_path: Path,
) -> None:
    editor = tgw.edit(tf.function(convolution, input_signature=[ANY]))
    editor.bypass("y")
    with pytest.warns(UserWarning, match=r"loaded but not run.*takes one of 4 or more"):
        editor.save(f"{tmp_path}/m/")


def with_a_batch(x: tf.Tensor) -> tf.Tensor:
    """A model that takes one picture, and several."""
    return convolution(tf.cond(tf.equal(tf.rank(x), 3), lambda: tf.expand_dims(x, 0), lambda: x))


def padded(x: tf.Tensor) -> tf.Tensor:
    """The value only fills the border of a picture."""
    picture = v1.placeholder_with_default(np.ones([1, 1, 1, 3], np.float32), None)
    return convolution(
        tf.raw_ops.PadV2(
            input=picture, paddings=[[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=x
        )
    )


@pytest.mark.parametrize(
    ("build", "shape"),
    [(with_a_batch, [3, 3, 3]), (padded, [])],
    ids=["a batch of one is added", "a border"],
)
def test_what_has_more_dimensions_when_it_comes_to_the_kernel_is_run(
    build: Callable[[Any], Any], shape: Any
) -> None:
    with tf.Graph().as_default() as graph:
        tf.identity(build(v1.placeholder(tf.float32, name="x")), name="z")
        session = v1.Session()
    editor = tgw.edit(graph, session=session)
    assert editor.probe(["z:0"], {"x:0": np.ones(shape, np.float32)})["z:0"].shape == (1, 3, 3, 4)
    body = tgw.edit(tf.function(build, input_signature=[ANY])) if build is with_a_batch else None
    if body is not None:
        assert body.probe(["y:0"], {"x:0": np.ones(shape, np.float32)})["y:0"].shape == (1, 3, 3, 4)


def test_only_what_is_computed_counts_and_what_is_fed_has_its_own_dimensions() -> None:
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, name="x")
        tf.reduce_sum(x, name="sum")
        convolution(tf.nn.relu(x, name="relu"))
        session = v1.Session()
    editor = tgw.edit(graph, session=session)
    assert editor.probe(["sum:0"], {"x:0": [1.0, 2.0]})["sum:0"].value == 3
    picture = np.ones([1, 3, 3, 3], np.float32)
    assert editor.probe(["y:0"], {"x:0": [1.0, 2.0], "relu:0": picture})["y:0"].shape == (
        1,
        3,
        3,
        4,
    )
    with pytest.raises(SessionRefused, match="takes one of 4 or more"):
        editor.probe(["sum:0", "y:0"], {"x:0": [1.0, 2.0]})


def test_a_function_of_tensorflow_1_gives_its_argument_on() -> None:
    with tf.Graph().as_default():

        @function.Defun(tf.float32)
        def given(x: Any) -> Any:
            return tf.identity(x)

        @function.Defun(tf.float32)
        def outer(x: Any) -> Any:
            return convolution(given(x))

        tf.identity(outer(v1.placeholder(tf.float32, name="x")), name="z")
        session = v1.Session()
    with pytest.raises(
        ValueError, match=r"'x:0' is fed a value of 0 dimensions, and op '.*conv' \(Conv2D\)"
    ):
        check_feed_ranks(session.graph, {"x:0": 1.0}, ["z:0"])
