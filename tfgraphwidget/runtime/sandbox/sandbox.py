"""Sandbox: runs NodeDefs in a new tf.Graph and a new session, so that no state of the user's
session changes.

Results of a sandbox are compared with others. So TensorFlow's graph optimizers are off, which
change the last bits of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from tfgraphwidget.cancellation import in_another_thread
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.graph import RESOURCE_HANDLES
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import free_name
from tfgraphwidget.runtime.live.graph_import import import_nodes
from tfgraphwidget.runtime.sandbox.child_process import RUNS, JobFailed, RemoteContext
from tfgraphwidget.runtime.session.feed_ranks import check_feed_ranks
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import error_text, new_graph, tf_protos, why_not_imported, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import tf, v1
from tfgraphwidget.tf_types import ConfigProto, FunctionDefLibrary, NodeDef, VersionDef

_Result = TypeVar("_Result")
START_SECONDS = 20.0  # for a child process to import TensorFlow and the graph, on a slow machine
TIMEOUT = f"{RUNS.code}-timeout"  # the code of the refusal of a run that takes too long
PATIENCE = 120.0  # seconds: what waits for a queue that is never filled would wait for ever


def exact_config() -> ConfigProto:
    """Return a ConfigProto for reproducible results: no optimizations, any available device."""
    graph = v1.GraphOptions(
        rewrite_options={"disable_meta_optimizer": True},
        optimizer_options=v1.OptimizerOptions(opt_level=v1.OptimizerOptions.L0),
    )
    config: ConfigProto = v1.ConfigProto(allow_soft_placement=True, graph_options=graph)
    return config


def without_remote_device(node: NodeDef) -> NodeDef:
    """Return a NodeDef that this process can place: without a device of another one."""
    if not node.device or "/job:" not in node.device or "/job:localhost" in node.device:
        return node
    here = copy_of(node)
    here.device = ""
    return here


class Sandbox:
    """Runs NodeDefs in a new graph and session; a context manager.

    Args:
        nodes: NodeDefs that read only each other.
        library: A FunctionDefLibrary, or None.
        values: The values of variables, by handle op.
        starters: Ops to run once, at first: those that fill tables.
        patience: How many seconds a run may take.
        versions: The versions of the graph that the ops are of; None for those of the TensorFlow
            that is installed.

    Raises:
        SessionRefused: The ops cannot run.
    """

    @wrap_tf_errors("run the graph apart")
    def __init__(
        self,
        nodes: Iterable[NodeDef],
        library: FunctionDefLibrary | None = None,
        values: Mapping[str, object] | None = None,
        starters: Sequence[str] = (),
        patience: float = PATIENCE,
        versions: VersionDef | None = None,
    ) -> None:
        nodes = [without_remote_device(node) for node in nodes]
        _check_importable(nodes, library, versions)
        self.graph = new_graph(versions)
        assign_nodes, assigns, feeds = _assign_nodes(nodes, values or {})
        import_nodes(self.graph, [*nodes, *assign_nodes], library)
        self._options = v1.RunOptions(timeout_in_ms=int(patience * 1000))
        self.session = v1.Session(graph=self.graph, config=exact_config())
        try:
            self.run(assigns, feeds)
            self.run(starters, {})
        except BaseException:
            self.close()
            raise

    def run(self, outputs: Sequence[str], feeds: Mapping[str, object]) -> list[np.ndarray]:
        """Return the values of tensors as arrays, in order; `feeds` has values by tensor name."""
        run = partial(self.session.run, list(outputs), dict(feeds), options=self._options)
        try:
            check_feed_ranks(self.session.graph, feeds, outputs)
            values: list[np.ndarray] = in_another_thread(run) if outputs else []
        except tf.errors.DeadlineExceededError as error:
            raise SessionRefused(
                f"The graph cannot run apart: {error_text(error)}.", code=TIMEOUT
            ) from error
        # Python's errors are those of a value of another shape, and a tensor that cannot be fed.
        except (tf.errors.OpError, ValueError, TypeError, KeyError) as error:
            raise SessionRefused(f"The graph cannot run apart: {error_text(error)}.") from error
        return values

    def close(self) -> None:
        """Close the session. A run that was interrupted ends."""
        self.session.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_importable(
    nodes: Sequence[NodeDef], library: FunctionDefLibrary | None, versions: VersionDef | None
) -> None:
    """Raise SessionRefused for what would end this process as TensorFlow imports it."""
    functions = {each.signature.name: each for each in library.function} if library else {}
    why = why_not_imported(nodes, functions, None if versions is None else versions.producer)
    if why:
        raise SessionRefused(
            f"The graph cannot run apart: {why}, which TensorFlow cannot import; "
            + in_cell("give tensors that do without it.")
        )


@contextmanager
def run_there(
    graph_def: bytes, values: Mapping[str, object], starters: Sequence[str], patience: float
) -> Iterator[Callable[..., list[np.ndarray]]]:
    """A sandbox in a child process, with the values of variables by handle op: it yields the
    function that runs it, for so many seconds.
    """
    graph = tf_protos.GraphDef.FromString(graph_def)
    with Sandbox(graph.node, graph.library, values, starters, patience, graph.versions) as sandbox:
        yield sandbox.run


class RemoteSandbox:
    """A `Sandbox` in a child process, whose crash is a refusal here; a context manager.

    Args:
        nodes: NodeDefs that read only each other.
        library: A FunctionDefLibrary, or None.
        values: The values of variables, by handle op.
        starters: Ops to run once, at first: those that fill tables.
        patience: How many seconds a run may take.
        versions: The versions of the graph that the ops are of; None for those of the TensorFlow
            that is installed.

    Raises:
        SessionRefused: The ops cannot run, or the process that runs them ends.
    """

    def __init__(
        self,
        nodes: Iterable[NodeDef],
        library: FunctionDefLibrary | None = None,
        values: Mapping[str, object] | None = None,
        starters: Sequence[str] = (),
        patience: float = PATIENCE,
        versions: VersionDef | None = None,
    ) -> None:
        graph_def = tf_protos.GraphDef(node=nodes, library=library, versions=versions)
        if versions is None:
            graph_def.versions.producer = tf_protos.graph_def_version()
        graph = graph_def.SerializeToString()
        arguments = graph, dict(values or {}), list(starters), patience
        self._context = RemoteContext(RUNS, patience + START_SECONDS, run_there, *arguments)
        self._run = call_apart(self._context.__enter__)

    def run(self, outputs: Sequence[str], feeds: Mapping[str, object]) -> list[np.ndarray]:
        """Return the values of tensors as arrays, in order; `feeds` has values by tensor name."""
        values: list[np.ndarray] = call_apart(self._run, list(outputs), dict(feeds))
        return values

    def close(self) -> None:
        """Close the session."""
        self._context.__exit__()

    def __enter__(self) -> RemoteSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def call_apart(function: Callable[..., _Result], *arguments: object) -> _Result:
    """Call what runs in a child process. Raises SessionRefused where that process ended, or the job
    raised an exception of TensorFlow or Python.
    """
    try:
        return function(*arguments)
    except JobFailed as error:
        raise SessionRefused("The graph cannot run apart: " + error.why + ".") from error
    except GraphEditError as error:
        if error.code not in (f"{RUNS.code}-crashed", TIMEOUT):
            raise
        raise SessionRefused(
            "The graph cannot run apart: " + error.why + ".", code=error.code
        ) from error


def _assign_nodes(
    nodes: Sequence[NodeDef], values: Mapping[str, object]
) -> tuple[list[NodeDef], list[str], dict[str, object]]:
    """Ops that assign values of any shape to variables: their NodeDefs, the names of those to run,
    and what to feed. As NodeDefs they are imported with the rest, which is faster than one by one.
    """
    by_name = {node.name: node for node in nodes if node.name in values}
    used = {node.name.lower() for node in nodes}
    assigns, names, feeds = list[NodeDef](), list[str](), dict[str, object]()
    for number, (handle, value) in enumerate(values.items()):
        variable = by_name[handle]
        dtype = variable.attr["dtype"].type
        fed = tf_protos.NodeDef(name=free_name(f"apart/value_{number}", used), op="Placeholder")
        fed.attr["dtype"].type = dtype
        fed.attr["shape"].shape.unknown_rank = True
        is_resource = variable.op in RESOURCE_HANDLES
        assign = tf_protos.NodeDef(
            name=free_name(f"apart/assign_{number}", used),
            op="AssignVariableOp" if is_resource else "Assign",
            input=[handle, fed.name],
        )
        assign.attr["dtype" if is_resource else "T"].type = dtype
        assign.attr["validate_shape"].b = False
        assigns += [fed, assign]
        names.append(assign.name)
        feeds[f"{fed.name}:0"] = value
    return assigns, names, feeds
