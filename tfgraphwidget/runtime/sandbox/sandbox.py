"""Sandbox: runs NodeDefs in a new tf.Graph and a new session, so that no state of the user's session changes.

Results of a sandbox are compared with others. So TensorFlow's graph optimizers are off, which change the last bits of
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import tensorflow as tf

from tfgraphwidget.errors import SessionRefused
from tfgraphwidget.runtime.live.graph_import import import_nodes
from tfgraphwidget.runtime.session.variable_values import told
from tfgraphwidget.sources import wrap_tf_errors
from tfgraphwidget.tf_types import FunctionDefLibrary, NodeDef

v1 = tf.compat.v1
_PATIENCE = 120.0  # seconds: what waits for a queue that nobody fills would wait for ever


def exact() -> Any:
    """A ConfigProto for sessions whose numbers are compared: as written, on whatever devices there are."""
    graph = v1.GraphOptions(
        rewrite_options={"disable_meta_optimizer": True},
        optimizer_options=v1.OptimizerOptions(opt_level=v1.OptimizerOptions.L0),
    )
    return v1.ConfigProto(allow_soft_placement=True, graph_options=graph)


def placed_here(node: NodeDef) -> Any:
    """A NodeDef that this process can place: itself, or a copy without a device of another process."""
    if not node.device or "/job:" not in node.device or "/job:localhost" in node.device:
        return node
    here = type(node)()
    here.CopyFrom(node)
    here.device = ""
    return here


class Sandbox:
    """Ops in a graph and a session of their own: `Sandbox(nodes, library, values, starters).run(outputs, feeds)`.

    `nodes` are NodeDefs that read only each other, `library` a FunctionDefLibrary or None. `values` maps handle ops of
    variables, ref or resource, to arrays; `starters` are ops to run then, once: those that fill tables. What runs
    changes these variables and tables only. A context manager; raises SessionRefused, in one sentence.
    """

    @wrap_tf_errors("run the graph apart")
    def __init__(
        self,
        nodes: Iterable[NodeDef],
        library: FunctionDefLibrary | None = None,
        values: Mapping[str, Any] | None = None,
        starters: Sequence[str] = (),
        patience: float = _PATIENCE,
    ) -> None:
        self.graph = tf.Graph()
        import_nodes(self.graph, map(placed_here, nodes), library)
        self._options = v1.RunOptions(timeout_in_ms=int(patience * 1000))
        assigns, feeds = _assigns(self.graph, values or {})
        self.session = v1.Session(graph=self.graph, config=exact())
        try:
            self._run(assigns, feeds)
            self._run(list(starters), {})
        except BaseException:
            self.close()
            raise

    def run(self, outputs: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
        """The values of some tensors, by name, as arrays in that order; `feeds` maps names of tensors to values."""
        found: list[Any] = self._run(list(outputs), feeds)
        return found

    def _run(self, fetches: list[Any], feeds: Mapping[Any, Any]) -> Any:
        try:
            return self.session.run(fetches, dict(feeds), options=self._options) if fetches else []
        except tf.errors.OpError as error:
            raise SessionRefused(f"The graph cannot run apart: {told(error)}.") from error
        except (ValueError, TypeError, KeyError) as error:  # a value of another shape, a tensor that cannot be fed
            raise SessionRefused(f"The graph cannot run apart: {str(error).splitlines()[0][:300]}") from error

    def close(self) -> None:
        """Let go of what it holds."""
        self.session.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _assigns(graph: tf.Graph, values: Mapping[str, Any]) -> tuple[list[Any], dict[Any, Any]]:
    """New ops that assign to variables, of any shape, and what to feed them."""
    assigns, feeds = [], {}
    with graph.as_default(), v1.name_scope("apart"):
        for handle, value in values.items():
            tensor = graph.get_tensor_by_name(f"{handle}:0")
            fed = v1.placeholder(tf.as_dtype(tensor.op.get_attr("dtype")))
            if tensor.dtype == tf.resource:
                assigns.append(tf.raw_ops.AssignVariableOp(resource=tensor, value=fed))
            else:
                assigns.append(v1.assign(tensor, fed, validate_shape=False).op)
            feeds[fed] = value
    return assigns, feeds
