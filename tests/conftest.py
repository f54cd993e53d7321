"""Five tiny graphs, sessions on them, and the real Inception v3 of the first notebook."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from xdist.scheduler import LoadScopeScheduling

import tfgraphwidget as tgw
from tfgraphwidget.editor import GraphEditor

v1 = tf.compat.v1
MODELS = Path(__file__).parent.parent / "notebooks" / "models"
INCEPTION = MODELS / "slim_inception_v3_infer.meta"
INCEPTION_OUTPUT = "net/InceptionV3/Predictions/Softmax:0"

# An ordinary test asserts no time, not even Hypothesis's 200 ms for one example.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """--doctest-modules is for the package's examples; it would import the scripts that tests run, too."""
    return True if collection_path.suffix == ".py" and not collection_path.name.startswith("test_") else None


class OneBrowser(LoadScopeScheduling):
    """A file goes to one worker, for its fixtures; all browser tests go to one, for their JupyterLab and its kernels.

    Two JupyterLabs on two cores would make each other wait.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "tests/browser" if nodeid.startswith("tests/browser/") else nodeid.split("::", maxsplit=1)[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneBrowser:
    """How `pytest --numprocesses 2` deals out the tests."""
    return OneBrowser(config, log)


@pytest.fixture(scope="session")
def warm_kernels() -> Iterator[str]:
    """A JUPYTER_PATH whose kernel python3 has TensorFlow loaded already."""
    from tests.browser.warm import WarmKernels  # not there where the loop over the interpreters has its tests

    kernels = WarmKernels()
    kernels.await_warm()
    yield kernels.jupyter_path
    kernels.stop()


@pytest.fixture(autouse=True)
def tensorflow_2() -> Iterator[None]:
    """Whatever a test does to TensorFlow's switches, the next one finds them as TensorFlow 2 has them."""
    yield
    v1.enable_control_flow_v2()
    v1.enable_resource_variables()


@pytest.fixture
def line() -> tf.Graph:
    """x -> a -> b -> c, each doubling."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        a = tf.multiply(x, 2.0, name="a")
        b = tf.multiply(a, 2.0, name="b")
        tf.multiply(b, 2.0, name="c")
    return graph


@pytest.fixture
def diamond() -> tf.Graph:
    """x -> left and right -> join; right also needs a second placeholder."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None], name="x")
        other = v1.placeholder(tf.float32, [], name="other")
        left = tf.nn.relu(x, name="left")
        scaled = tf.square(other, name="scaled")
        right = tf.multiply(x, scaled, name="right")
        tf.add(left, right, name="join")
    return graph


def dense(x: tf.Tensor, units: int, name: str, *, resource: bool) -> tf.Tensor:
    """One dense layer with get_variable, as people wrote them."""
    with v1.variable_scope(name):
        shape = [x.shape[-1], units]
        w = v1.get_variable("w", shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=resource)
        b = v1.get_variable("b", [units], initializer=v1.zeros_initializer(), use_resource=resource)
        return tf.nn.relu(tf.matmul(x, w) + b, name="out")


def build_mlp(*, resource: bool) -> tf.Graph:
    """x -> net/one -> net/two -> net/logits."""
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        with v1.variable_scope("net"):
            h = dense(x, 4, "one", resource=resource)
            h = dense(h, 4, "two", resource=resource)
            tf.identity(h, name="logits")
    return graph


@pytest.fixture(params=[False, True], ids=["ref", "resource"])
def mlp(request: pytest.FixtureRequest) -> tf.Graph:
    """Two dense layers, once with reference and once with resource variables."""
    return build_mlp(resource=request.param)


@pytest.fixture
def shared_weights() -> tf.Graph:
    """One variable read by two towers, with a regularisation loss on it."""
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable("w", [2, 2], initializer=v1.ones_initializer(), regularizer=tf.nn.l2_loss)
        for tower in ("a", "b"):
            x = v1.placeholder(tf.float32, [None, 2], name=f"{tower}/x")
            tf.matmul(x, w, name=f"{tower}/y")
    return graph


def build_while_loop() -> tf.Graph:
    """A v1 while loop that doubles x five times."""
    graph = tf.Graph()
    with graph.as_default():
        v1.disable_control_flow_v2()
        x = v1.placeholder(tf.float32, [], name="x")
        tf.identity(v1.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2), [0, x])[1], name="y")
        v1.enable_control_flow_v2()
    return graph


@pytest.fixture
def while_loop() -> tf.Graph:
    """The same, with TensorFlow 1's loops switched on until the test ends, as who differentiates them needs it."""
    graph = build_while_loop()
    v1.disable_control_flow_v2()
    return graph


def initialised(graph: tf.Graph) -> v1.Session:
    """An open session in which every variable has its initial value."""
    with graph.as_default():
        init = v1.global_variables_initializer()
    session = v1.Session(graph=graph)
    session.run(init)
    return session


def fill(variable: tf.Variable, value: object, session: v1.Session) -> None:
    """Assign a value, or one number all over, to a variable of the session's graph."""
    with session.graph.as_default():
        variable.load(np.broadcast_to(value, variable.shape.as_list()), session)


def read(variables: Iterable[tf.Variable], session: v1.Session) -> list[np.ndarray]:
    """Present values; in the graph's own mode, since eager TensorFlow refuses resource variables as fetches."""
    with session.graph.as_default():
        return session.run(list(variables))


@pytest.fixture
def session(mlp: tf.Graph) -> Iterator[v1.Session]:
    """A session on `mlp`, initialised; not the default one, as in a notebook."""
    opened = initialised(mlp)
    yield opened
    opened.close()


@pytest.fixture
def editor(mlp: tf.Graph, session: v1.Session) -> GraphEditor:
    """An editor on `mlp` and its session."""
    return tgw.edit(mlp, session=session)


@pytest.fixture(scope="session")
def inception() -> Iterator[tuple[tf.Graph, v1.Session]]:
    """Inception v3 as the first notebook loads it. Shared: tests undo what they do or leave only clones."""
    graph = tf.Graph()
    with graph.as_default():
        v1.train.import_meta_graph(str(INCEPTION))
    opened = initialised(graph)
    yield graph, opened
    opened.close()


@pytest.fixture
def batch() -> np.ndarray:
    """Five rows for `mlp`."""
    return np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
