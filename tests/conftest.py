"""Fixtures: tiny graphs, sessions on them, and the real Inception v3 of the first notebook.

TensorFlow is imported by the first fixture that needs it, so that `pytest -m no_tensorflow` runs
without.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import hypothesis
import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from xdist.scheduler import LoadScopeScheduling

from tests import no_tensorflow

if TYPE_CHECKING:
    import tensorflow as tf

    from tests.browser.warm import WarmKernels
    from tests.graphs import v1
    from tfgraphwidget.editor import GraphEditor

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "notebooks" / "models"
INCEPTION = MODELS / "slim_inception_v3_infer.meta"
_HELPERS = {
    "build_line",
    "build_mlp",
    "build_while_loop",
    "dense",
    "fill",
    "initialised",
    "read",
    "v1",
}
BROWSER = "tests/browser/"
# What prints sentences, and is on no page.
_TEXT_FOR_PYTHON = (
    "tfgraphwidget.cli",
    "tfgraphwidget.errors",
    "tfgraphwidget.editor.summary",
    "tfgraphwidget.lint.finding",
)
# What takes half a minute or so, with few tests; all others begin after it, those with the most
# tests first.
LONG = (
    "tests/untrusted/test_nothing_runs_unasked.py",
    "tests/untrusted/test_bombs.py",
    "tests/real_files/test_sweep.py",
    "tests/editor/test_odd_sources.py",
    "tests/test_notebooks.py",
    "tests/test_files_without_tensorflow.py",
    "tests/editor/test_odd_arguments.py",
    "tests/install/test_archives.py",
    "tests/install/test_editable.py",
    "tests/widget/test_exporter.py",
    "tests/layout/test_layout_models.py",
    "tests/export/test_saves_at_once.py",
    "tests/stress/test_real_models.py",
    "tests/editor/test_edits_in_bodies.py",
    "tests/editor/test_every_verb.py",
    "tests/editor/test_script.py",
    "tests/stress/test_faults.py",
    "tests/runtime/test_module_layer.py",
    "tests/stress/test_damaged_files.py",
    "tests/editor/test_interrupted_locks.py",
    "tests/export/test_writing.py",
    "tests/editor/test_targets.py",
    "tests/runtime/test_cluster.py",
    "tests/runtime/test_feed_ranks.py",
    "tests/stress/test_messages.py",
    "tests/test_docstrings.py",
    "tests/browser/test_guide.py",
    "tests/browser/jobs/test_browse.py",
    "tests/browser/jobs/test_context_menu.py",
    "tests/browser/test_demo.py",
    "tests/browser/test_clone_by_clicking.py",
    "tests/browser/test_panel.py",
    "tests/browser/jobs/test_export.py",
    "tests/browser/test_models.py",
    "tests/browser/test_reliable.py",
    "tests/browser/test_dying.py",
    "tests/browser/test_code_beside.py",
    "tests/browser/test_two_tabs.py",
)
# Where sessions and functions run as a user's do, with TensorFlow's optimizer of graphs; in `make
# test-all` all do.
OPTIMIZED = ("tests/runtime/", "tests/stress/", "tests/docs/", "tests/test_tensorflow_facts.py")
# Where what is done to variables, and to their values, is what is tested.
BOTH_VARIABLES = (
    "tests/edits/test_clone.py",
    "tests/edits/test_freezing.py",
    "tests/edits/test_history.py",
    "tests/edits/test_modes.py",
    "tests/runtime/test_renewal.py",
    "tests/runtime/test_sync.py",
    "tests/stress/",
)
_OPTIMIZER: dict[str, bool] = {}
INCEPTION_OUTPUT = "net/InceptionV3/Predictions/Softmax:0"

# An ordinary test asserts no time, not even Hypothesis's 200 ms for one example.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")


def __getattr__(name: str) -> Any:
    """`from tests.conftest import build_mlp`: the helpers of `tests.graphs`, which imports
    TensorFlow.
    """
    if name not in _HELPERS:
        raise AttributeError(name)
    from tests import graphs

    return getattr(graphs, name)


def pytest_configure(config: pytest.Config) -> None:
    """Keep TensorFlow out of a run of the tests that need none."""
    if config.option.markexpr.startswith(no_tensorflow.MARKER):
        config.pluginmanager.register(no_tensorflow.WithoutTensorFlow())


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[list[pytest.Collector]]:
    """--doctest-modules is for the package's examples. Here it would import the scripts that tests
    run, too, and look for examples in each object of each test.
    """
    collectors = yield
    return [each for each in collectors if not isinstance(each, DoctestModule)]


@pytest.hookimpl(tryfirst=True)  # before `-m` selects by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the parameter sets of a test marked `sample(n)`, mark all `slow` but n, which are spread
    evenly.

    And of two kinds of variables one, in turn from test to test, where variables are not what is
    tested.
    """
    tests: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark and not item.get_closest_marker("slow"):
            tests.setdefault((item.nodeid.partition("[")[0], *mark.args), []).append(item)
    for (_, size), cases in tests.items():
        kept = {k * len(cases) // size for k in range(size)}
        for k, item in enumerate(cases):
            if k not in kept:
                item.add_marker("slow")
    for item in items:
        if has_either_variable(item):
            item.add_marker("slow")


def has_either_variable(item: pytest.Item) -> bool:
    """Whether the same test with the other kind of variables in `mlp` is enough for `make test`."""
    params: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    if (
        "mlp" not in params
        or item.nodeid.startswith(BOTH_VARIABLES)
        or item.get_closest_marker("sample")
    ):
        return False
    if any(
        "mlp" in mark.args[0] for mark in item.iter_markers("parametrize")
    ):  # the test says which
        return False
    return params["mlp"] is bool(crc32(item.nodeid.partition("[")[0].encode()) % 2)


def pytest_collection_finish() -> None:
    """No collection of garbage goes again through what is there before the first test: TensorFlow,
    and all tests.

    That is a million objects, half a second of CPU each time, hundreds of times in one run.
    """
    gc.collect()
    gc.freeze()


class LongestFirst(LoadScopeScheduling):
    """A file goes to one worker, for its fixtures; what takes long is begun first, however few
    tests it has.

    The first worker begins with the browser tests, which take half the time, and the others with
    all else, so that one JupyterLab is enough as long as there is other work. Who is done with its
    own goes on with the other's, so that all end together.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.split("::", maxsplit=1)[0]

    def _assign_work_unit(self, node: Any) -> None:
        is_first = node is self.nodes[0]

        def turn(scope: str) -> tuple[bool, int]:
            return scope.startswith(BROWSER) is not is_first, LONG.index(
                scope
            ) if scope in LONG else len(LONG)

        self.workqueue.move_to_end(min(self.workqueue, key=turn), last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    """How `pytest --numprocesses 3` deals out the tests."""
    return LongestFirst(config, log)


@pytest.hookimpl(tryfirst=True)  # before fixtures make sessions
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What runs a graph once or twice takes a quarter less without TensorFlow's optimizer, which
    changes no result.

    That is for sessions with no configuration of their own and for functions of TensorFlow 2, in
    `make test`.
    """
    if "tensorflow" in sys.modules:
        is_quick = "not slow" in item.config.option.markexpr and not item.nodeid.startswith(
            OPTIMIZED
        )
        if _OPTIMIZER.get("disable_meta_optimizer", False) is not is_quick:
            import tensorflow as tf

            _OPTIMIZER["disable_meta_optimizer"] = is_quick
            tf.config.optimizer.set_experimental_options(_OPTIMIZER)


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmKernels]:
    """A process that has imported TensorFlow, and forks."""
    # Not there where the loop over the interpreters has its tests.
    from tests.browser.warm import (
        WarmKernels,
    )

    kernels = WarmKernels()
    kernels.await_warm()
    yield kernels
    kernels.stop()


@pytest.fixture(scope="session")
def warm_kernels(warm: WarmKernels) -> str:
    """A JUPYTER_PATH whose kernel python3 has TensorFlow loaded already."""
    return warm.jupyter_path


@pytest.fixture(scope="session")
def warm_python(warm: WarmKernels) -> list[str]:
    """What a command begins with in place of `python`, for another process that has TensorFlow
    loaded already.
    """
    return warm.python


@pytest.fixture(autouse=True, scope="session")
def fields_are_kept() -> Iterator[None]:
    """No f-string of the package takes in a sentence with fields, which would be plain Python on a
    page then.
    """
    from tfgraphwidget.sentences import Sentence

    def refuse(sentence: Sentence, spec: str) -> str:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        is_shown_in_python = caller.startswith(_TEXT_FOR_PYTHON)
        has_fields = any(not isinstance(part, str) for part in sentence.parts)
        if has_fields and caller.startswith("tfgraphwidget.") and not is_shown_in_python:
            raise AssertionError(f"{caller} loses the fields of {str(sentence)!r}; join it by +")
        return format(str(sentence), spec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sentence, "__format__", refuse)
        yield


@pytest.fixture(autouse=True)
def tensorflow_2() -> Iterator[None]:
    """Whatever a test does to TensorFlow's switches, the next one finds them as TensorFlow 2 has
    them.
    """
    yield
    if "tensorflow" in sys.modules:
        from tests.graphs import v1

        v1.enable_control_flow_v2()
        v1.enable_resource_variables()


@pytest.fixture
def line() -> tf.Graph:
    """x -> a -> b -> c, each doubling."""
    from tests.graphs import build_line

    return build_line()


@pytest.fixture
def diamond() -> tf.Graph:
    """x -> left and right -> join; right also needs a second placeholder."""
    from tests.graphs import build_diamond

    return build_diamond()


@pytest.fixture(params=[False, True], ids=["ref", "resource"])
def mlp(request: pytest.FixtureRequest) -> tf.Graph:
    """Two dense layers, once with reference and once with resource variables."""
    from tests.graphs import build_mlp

    return build_mlp(resource=request.param)


@pytest.fixture
def shared_weights() -> tf.Graph:
    """One variable read by two towers, with a regularisation loss on it."""
    from tests.graphs import build_shared_weights

    return build_shared_weights()


@pytest.fixture
def while_loop() -> tf.Graph:
    """A v1 while loop, with TensorFlow 1's loops switched on until the test ends, for those who
    differentiate it.
    """
    from tests.graphs import build_while_loop, v1

    graph = build_while_loop()
    v1.disable_control_flow_v2()
    return graph


@pytest.fixture
def session(mlp: tf.Graph) -> Iterator[v1.Session]:
    """A session on `mlp`, initialised; not the default one, as in a notebook."""
    from tests.graphs import initialised

    opened = initialised(mlp)
    yield opened
    opened.close()


@pytest.fixture
def editor(mlp: tf.Graph, session: v1.Session) -> GraphEditor:
    """An editor on `mlp` and its session."""
    import tfgraphwidget as tgw

    return tgw.edit(mlp, session=session)


@pytest.fixture(scope="session")
def inception() -> Iterator[tuple[tf.Graph, v1.Session]]:
    """Inception v3 as the first notebook loads it. Shared: tests undo what they do or leave only
    clones.
    """
    import tensorflow as tf

    from tests.graphs import initialised, v1

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
