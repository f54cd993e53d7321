"""What TensorFlow's graph optimizer (grappler) makes of a graph, pass by pass; the graph itself
stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, Difference, GraphIndex, called_definitions
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime.measure.probe import format_table
from tfgraphwidget.runtime.sandbox import PATIENCE, RUNS, JobFailed
from tfgraphwidget.sources import endless_functions, wrap_tf_errors
from tfgraphwidget.tensorflow_modules import tf, v1
from tfgraphwidget.tf_internals import optimize_graph
from tfgraphwidget.tf_types import ConfigProto, GraphDef, MetaGraphDef, NodeDef

PASSES = (
    *("function", "common_subgraph_elimination", "constfold", "shape", "arithmetic", "dependency"),
    *("loop", "remap", "pruning"),
)
"""The passes of the optimizer, in its order."""
# Ops are fused where it is known that they run on the CPU; a session places them before it
# optimizes.
_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@dataclass(frozen=True)
class OptimizerPass:
    """What one pass did, as names of ops.

    Attributes:
        name: The pass, as `RewriterConfig` calls it.
        ops: How many ops the graph had before and after.
        folded: Ops that became constants.
        fused: Ops of the new graph that do the work of several.
        removed: Ops that are gone.
        added: Ops that came, other than fused ones.
        changed: Ops that are changed otherwise.
    """

    name: str
    ops: tuple[int, int]
    folded: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def row(self) -> tuple[str, ...]:
        """Return the name and the counts, as text."""
        counts = (self.folded, self.fused, self.removed, self.added, self.changed)
        return (
            self.name,
            f"{self.ops[0]:,} → {self.ops[1]:,}",
            *(f"{len(names):,}" for names in counts),
        )


@dataclass(frozen=True, repr=False)
class OptimizedGraph:
    """A graph as TensorFlow's optimizer leaves it, beside the graph that it is of; it prints as a
    table of passes.

    Attributes:
        editor: An editor of the optimized graph. It is a graph of its own: editing it never changes
            the other.
        passes: What each pass did.
        difference: What differs between the graph and the optimized one.
        pairs: The op of the optimized graph for each op that is still there, by name.
    """

    editor: Any
    passes: tuple[OptimizerPass, ...]
    difference: Difference
    pairs: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        head = ("pass", "ops", "folded", "fused", "removed", "added", "changed")
        return format_table([head, *(each.row() for each in self.passes)])


@wrap_tf_errors("optimize the graph")
def optimize(
    index: GraphIndex, outputs: Sequence[str], *, apart: bool
) -> tuple[GraphDef, tuple[OptimizerPass, ...]]:
    """Run the optimizer pass by pass on a copy of a graph, whose outputs keep their names; the
    optimized graph, and what each pass did.

    Args:
        apart: Whether it runs in a process of its own: of a file, what it reads may end it.

    Raises:
        GraphEditError: TensorFlow cannot read or optimize the graph.
    """
    output_ops = [split_tensor(name)[0] for name in outputs]
    graph = v1.GraphDef(node=index.nodes, versions=index.extras.versions())
    if not graph.HasField("versions"):
        graph.versions.producer = tf.version.GRAPH_DEF_VERSION
    functions = called_definitions(index.nodes, index.functions, index.extras.function)
    for name, why in endless_functions(functions, sorted(functions)).items():
        raise GraphEditError(
            f"optimized: function {name!r} {why or 'calls one that it is passed'}, which "
            "TensorFlow's optimizer would follow without end; write a loop in its place."
        )
    graph.library.function.extend(functions[name] for name in sorted(functions))
    passes: list[OptimizerPass] = []
    for name in PASSES:
        after = _run_pass(name, graph, output_ops, apart=apart)
        if missing := [end for end in output_ops if end not in {node.name for node in after.node}]:
            raise GraphEditError(
                f"optimized: pass {name!r} of TensorFlow's optimizer lost {missing[0]!r}; name "
                "other outputs.",
                missing,
            )
        passes.append(_describe(name, graph, after))
        graph = after
    return graph, tuple(passes)


def _run_pass(name: str, graph: GraphDef, output_ops: Sequence[str], *, apart: bool) -> GraphDef:
    config = v1.ConfigProto()
    options = config.graph_options.rewrite_options
    options.optimizers.append(name)
    options.min_graph_nodes = -1
    options.meta_optimizer_iterations = options.ONE
    meta_graph = v1.MetaGraphDef(graph_def=graph)
    meta_graph.collection_def["train_op"].node_list.value.extend(output_ops)
    for node in meta_graph.graph_def.node:
        node.device = node.device or _CPU
    after = (
        _optimize_apart(name, config, meta_graph) if apart else optimize_graph(config, meta_graph)
    )
    for node in after.node:
        node.device = "" if node.device == _CPU else node.device
    return after


def _optimize_apart(name: str, config: ConfigProto, meta_graph: MetaGraphDef) -> GraphDef:
    """What the optimizer makes of a graph in a process of its own."""
    job = _optimized_bytes, config.SerializeToString(), meta_graph.SerializeToString()
    try:
        data = RUNS.call(*job, seconds=PATIENCE)
    except (JobFailed, GraphEditError) as error:
        why = error.reason if isinstance(error, JobFailed) else error.why
        raise GraphEditError(
            f"optimized: pass {name!r} of TensorFlow's optimizer does not take the graph: {why}; "
            "name outputs that do without the op that it fails on."
        ) from error
    optimized: GraphDef = v1.GraphDef.FromString(data)
    return optimized


def _optimized_bytes(config: bytes, meta_graph: bytes) -> bytes:
    """What the optimizer makes of a graph, as bytes: a job of a process of its own."""
    optimized = optimize_graph(
        v1.ConfigProto.FromString(config), v1.MetaGraphDef.FromString(meta_graph)
    )
    data: bytes = optimized.SerializeToString()
    return data


def _describe(name: str, before: GraphDef, after: GraphDef) -> OptimizerPass:
    old, new = ({node.name: node for node in graph.node} for graph in (before, after))
    both = [op for op in old if op in new and not _is_same(old[op], new[op])]
    folded = [op for op in both if new[op].op in CONSTANTS and old[op].op not in CONSTANTS]
    fused = [
        op
        for op in new
        if new[op].op.startswith("_Fused") and (op not in old or old[op].op != new[op].op)
    ]
    apart = {*folded, *fused}
    return OptimizerPass(
        name,
        (len(old), len(new)),
        tuple(folded),
        tuple(fused),
        tuple(op for op in old if op not in new),
        tuple(op for op in new if op not in old and op not in apart),
        tuple(op for op in both if op not in apart),
    )


def _is_same(before: NodeDef, after: NodeDef) -> bool:
    if before.op != after.op or before.input[:] != after.input[:]:
        return False
    keys = [key for key in {*before.attr, *after.attr} if key[:1] != "_"]
    return all(
        (key in before.attr) == (key in after.attr) and before.attr[key] == after.attr[key]
        for key in keys
    )
