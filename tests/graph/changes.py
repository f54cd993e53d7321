"""Usual changes of a graph: names that say nothing, another order, a copy beside it, what edits and
TensorFlow's optimizer make of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.grappler import tf_optimizer

import tfgraphwidget as tgw
from tests.conftest import v1
from tfgraphwidget.graph import GraphIndex, corresponding_tensors, match_graphs
from tfgraphwidget.naming import split_input

GraphDef = Any
FLOATS = (tf.float32.as_datatype_enum, tf.float16.as_datatype_enum)


def index_of(graph_def: GraphDef) -> GraphIndex:
    return tgw.edit(graph_def)._core.index


def copy_of(graph_def: GraphDef) -> GraphDef:
    copy = v1.GraphDef()
    copy.CopyFrom(graph_def)
    return copy


def new_name(name: str) -> str:
    """A name that tells nothing."""
    return "n" + blake2b(name.encode(), digest_size=6).hexdigest()


def renamed(graph_def: GraphDef, new: Callable[[str], str] = new_name) -> GraphDef:
    copy = copy_of(graph_def)
    for node in copy.node:
        node.name = new(node.name)
        for k, text in enumerate(node.input):
            op = split_input(text)[0]
            node.input[k] = text.replace(op, new(op), 1)
        node.attr.pop("_class", None)
    return copy


def reordered(graph_def: GraphDef) -> GraphDef:
    copy = copy_of(graph_def)
    nodes = list(graph_def.node)
    random.Random(0).shuffle(nodes)
    del copy.node[:]
    copy.node.extend(nodes)
    return copy


def with_decoy(graph_def: GraphDef) -> GraphDef:
    """The graph beside a copy that has weights a hundredth apart."""
    decoy = renamed(graph_def, lambda name: f"decoy/{name}")
    for node in decoy.node:
        if node.op == "Const" and node.attr["dtype"].type in FLOATS:
            value = tf.make_ndarray(node.attr["value"].tensor)
            other = (value * 1.01 + 0.001).astype(value.dtype)
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(other))
    both = copy_of(graph_def)
    both.node.extend(decoy.node)
    return both


def with_other_weights(graph_def: GraphDef) -> GraphDef:
    decoy = with_decoy(graph_def)
    others = [node for node in decoy.node if node.name.startswith("decoy/")]
    del decoy.node[:]
    decoy.node.extend(others)
    return renamed(decoy, lambda name: name.removeprefix("decoy/"))


def after(edit: Callable[[Any], object]) -> Callable[[GraphDef], GraphDef]:
    """What is saved after an edit."""

    def edited(graph_def: GraphDef) -> GraphDef:
        editor = tgw.edit(graph_def)
        edit(editor)
        with TemporaryDirectory() as folder:
            path = editor.save(Path(folder, "edited.pb"), verify=False)
            return v1.GraphDef.FromString(path.read_bytes())

    return edited


without_identities = after(lambda editor: editor.passes.remove_identities())
folded = after(lambda editor: editor.passes.fold_batch_norm())
cast = after(lambda editor: editor.passes.cast("float16"))


def optimized(graph_def: GraphDef) -> GraphDef:
    """What TensorFlow's optimizer makes of a graph."""
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        meta = v1.train.export_meta_graph(graph=graph, graph_def=graph.as_graph_def())
    names = [name.partition(":")[0] for name in ends(graph_def)]
    meta.collection_def["train_op"].node_list.value.extend(names)
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.min_graph_nodes = -1
    return tf_optimizer.OptimizeGraph(config, meta)


def ends(graph_def: GraphDef) -> list[str]:
    """The first outputs of the ops that no op reads, and that give a value."""
    index = index_of(graph_def)
    return [
        f"{name}:0"
        for op, name in enumerate(index.names)
        if not index.consumer_lists[op]
        and index.dtypes(op)
        and index.dtypes(op)[0] not in {"resource", "variant"}
    ]


def inputs_of(graph_def: GraphDef) -> dict[str, np.ndarray]:
    """A value for each placeholder."""
    numbers = np.random.default_rng(0)
    values = {}
    for node in graph_def.node:
        if node.op == "Placeholder":
            sizes = [
                2 if size.size < 0 else int(size.size) for size in node.attr["shape"].shape.dim
            ]
            dtype = tf.dtypes.as_dtype(node.attr["dtype"].type).as_numpy_dtype
            values[f"{node.name}:0"] = numbers.uniform(0, 1, sizes).astype(dtype)
    return values


def run(graph_def: GraphDef, tensors: list[str], feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(graph_def, name="")
        with v1.Session(graph=graph) as session:
            return [np.asarray(value, np.float64) for value in session.run(tensors, feeds)]


def corresponding_values(graph_def: GraphDef, changed: GraphDef) -> dict[tuple[str, str], float]:
    """The names of corresponding tensors of a graph and the same changed, all of whose names are
    others, and how far apart their values are as a share of the largest number; infinity for other
    shapes.
    """
    then_def = renamed(changed)
    before, then = index_of(graph_def), index_of(then_def)
    pairs = [
        (f"{before.names[i]}:{port}", f"{then.names[j]}:{new_port}")
        for (j, new_port), (i, port) in corresponding_tensors(
            match_graphs(before, then, {})
        ).items()
        if "float" in then.dtypes(j)[new_port]
    ]
    feeds = inputs_of(graph_def)
    new_feeds = {f"{new_name(name.removesuffix(':0'))}:0": value for name, value in feeds.items()}
    values = run(graph_def, [one for one, _ in pairs], feeds)
    others = run(then_def, [other for _, other in pairs], new_feeds)
    errors = {}
    for names, value, other in zip(pairs, values, others, strict=True):
        scale = np.abs(value).max(initial=1e-3)
        is_comparable = value.shape == other.shape
        errors[names] = np.abs(value - other).max(initial=0) / scale if is_comparable else np.inf
    return errors
