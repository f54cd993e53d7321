"""Large graphs for the benches, made from nothing but a number of ops or from the model of the
first notebook.
"""

from __future__ import annotations

from functools import cache

import tensorflow as tf

from tests.conftest import INCEPTION, v1

CHAINS = 100


def wide(ops: int) -> v1.GraphDef:
    """x -> a hundred chains of additions side by side -> y."""
    graph_def = v1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    ends = []
    for chain in range(CHAINS):
        before = "x"
        for k in range(ops // CHAINS):
            node = graph_def.node.add(
                name=f"chain_{chain}/add_{k}", op="AddV2", input=[before, "x"]
            )
            node.attr["T"].type = tf.float32.as_datatype_enum
            before = node.name
        ends.append(before)
    end = graph_def.node.add(name="y", op="AddN", input=ends)
    end.attr["T"].type = tf.float32.as_datatype_enum
    end.attr["N"].i = CHAINS
    return graph_def


def many_inceptions(copies: int) -> v1.GraphDef:
    """So many Inception v3, 3,379 ops each, every one under a scope of its own."""
    one = v1.MetaGraphDef.FromString(INCEPTION.read_bytes()).graph_def
    graph_def = v1.GraphDef(versions=one.versions)
    for number in range(copies):
        prefix = f"tower_{number}/"
        for node in one.node:
            copy = graph_def.node.add()
            copy.CopyFrom(node)
            copy.name = prefix + node.name
            copy.input[:] = [
                f"^{prefix}{text[1:]}" if text[0] == "^" else prefix + text for text in node.input
            ]
            if "_class" in copy.attr:
                copy.attr["_class"].list.s[:] = [
                    value.replace(b"loc:@", f"loc:@{prefix}".encode())
                    for value in node.attr["_class"].list.s
                ]
    return graph_def


def live(graph_def: v1.GraphDef) -> tf.Graph:
    """The GraphDef as a live graph."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph


@cache
def layered(ops: int) -> v1.MetaGraphDef:
    """x -> dense layers with a weight, a bias, their initialisers and two skips each -> y; about so
    many ops in all.
    """
    graph = tf.Graph()
    with graph.as_default():
        h = v1.placeholder(tf.float32, [None, 4], name="x")
        for layer in range(ops // 25):
            with v1.variable_scope(f"layer_{layer}"):
                w = v1.get_variable("w", [4, 4], initializer=v1.glorot_uniform_initializer())
                b = v1.get_variable("b", [4], initializer=v1.zeros_initializer())
                out = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, w), b))
                h = tf.add(tf.add(h, out) * 0.5, out)
        tf.identity(h, name="y")
        return v1.train.export_meta_graph()
