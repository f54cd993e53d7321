"""MetaGraphDefs: importing and writing them."""

from __future__ import annotations

from collections.abc import Sequence

from tfgraphwidget.tensorflow_modules import lazy_class, lazy_module, tf
from tfgraphwidget.tf_types import GraphDef, MetaGraphDef

meta_graph = lazy_module("tensorflow.python.framework.meta_graph")
SavedModelLoader = lazy_class("tensorflow.python.saved_model.loader_impl", "SavedModelLoader")


def import_meta_graph(meta: MetaGraphDef) -> None:
    """Import a MetaGraphDef into the default graph, with collections.

    Private: `meta_graph.import_scoped_meta_graph`. `tf.compat.v1.train.import_meta_graph` makes a
    Saver beside.
    """
    meta_graph.import_scoped_meta_graph(meta)


def is_version(text: str) -> bool:
    """Whether TensorFlow takes a text for the version that wrote a MetaGraphDef; it refuses to
    import others.

    Private: `meta_graph.packaging_version`, which is the package `packaging`.
    """
    try:
        meta_graph.packaging_version.parse(text)
    except ValueError:
        return False
    return True


def add_collection(meta: MetaGraphDef, key: str, graph: tf.Graph, items: Sequence[object]) -> None:
    """Add entries of a collection to a MetaGraphDef. Entries that have no proto are left out.

    Private: `meta_graph.add_collection_def`. `tf.compat.v1.train.export_meta_graph` takes whole
    collections.
    """
    meta_graph.add_collection_def(meta, key, graph, override_contents=items)


def new_meta_graph(graph_def: GraphDef, graph: tf.Graph, saver_def: object) -> MetaGraphDef:
    """Return a MetaGraphDef without collections.

    Args:
        graph: The graph whose TensorFlow version and op list it names.
        saver_def: A SaverDef, or None.

    Private: `meta_graph.create_meta_graph_def`. `tf.compat.v1.train.export_meta_graph` writes the
    live graph, not a GraphDef.
    """
    result: MetaGraphDef = meta_graph.create_meta_graph_def(
        graph_def=graph_def, graph=graph, collection_list=[], saver_def=saver_def
    )
    return result
