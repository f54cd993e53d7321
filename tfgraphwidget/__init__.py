"""See a live TensorFlow graph in the notebook, clone and edit parts of it, undo, replay as code, export.

>>> import tfgraphwidget as tgw
>>> editor = tgw.example()  # or tgw.edit(graph, session=session)
>>> copy = editor.clone(inputs=["x:0"], outputs=["net/logits:0"], into="copy")
>>> [variable.name for variable in copy.variables]
['copy/net/hidden/w:0', 'copy/net/hidden/b:0', 'copy/net/w:0']

Importing this package imports neither TensorFlow nor a widget; `edit` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.tf_types import Session, SignatureDef

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.layout.compound import layered

__version__ = "0.1.0"
__all__ = ["GraphEditError", "GraphEditor", "drift", "edit", "example", "layered", "renew", "sync"]
_LAZY = {"GraphEditor": "tfgraphwidget.editor", "layered": "tfgraphwidget.layout.compound"}


def edit(
    graph: Any = None,
    session: Session | None = None,
    *,
    signature: SignatureDef = None,
    checkpoint: Any = None,
    tags: Any = None,
    layout: Any = None,
) -> GraphEditor:
    """An editor for whatever holds a TensorFlow graph; alone in a cell it shows itself.

    `graph` is one of these; without it, the default graph:

    * a `tf.Graph` or a `tf.compat.v1.Session`; `session` runs it (without one, variables cannot be initialised).
      Of a MonitoredSession it is the session inside, which runs no hooks
    * a `tf.function`, a ConcreteFunction, a FuncGraph, or a Keras 3 model that has been built;
      edits make a new callable of it, `editor.module()`
    * a SavedModel's folder or its saved_model.pb, a .pb or .pbtxt GraphDef, a .meta with or without its `checkpoint`
    * a GraphDef, MetaGraphDef or SavedModel proto, or the bytes of one
    * a networkx graph that `editor.networkx()` gave, with nodes and edges left out or relabelled at most

    `signature` chooses a SavedModel's signature by name, or a trace of a `tf.function` by number or by a list of
    TensorSpecs; `tags` a SavedModel's MetaGraphDef. A file is only read: nothing in it runs, and TensorFlow imports it
    when something is to run, or to be cloned. `layout` is any networkx layout, a callable that takes a graph and
    returns {node: (x, y)}; without one, ours: `tfgraphwidget.layered`, which has that form too.
    Raises NotAGraph for what holds no graph or cannot be read, UnknownName for a file or signature that is not there,
    SessionRefused for a session that is closed or of another graph.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> graph, session = editor.graph, editor.session
    >>> tgw.edit(graph, session=session)
    <GraphEditor: 74 ops, 0 edits>
    >>> len(tgw.edit(graph.as_graph_def()).index)
    74
    """
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.sources import open_source

    source = open_source(graph, session, signature=signature, checkpoint=checkpoint, tags=tags)
    return GraphEditor(source, show=_widget, layout=layout)


def example() -> GraphEditor:
    """An editor of a small network with a session, to try things on; the examples of this documentation do.

    x float32 [?, 4] → net/hidden/Relu [?, 8] → net/logits [?, 3] → loss, with labels int64 [?] and the step "train".

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> editor.session.run("net/logits:0", {"x:0": [[1, 2, 3, 4]]}).shape
    (1, 3)
    """
    from tfgraphwidget.sources import network

    return edit(*network())


def sync(
    source: Any,
    target: Any,
    names: Any = None,
    tau: float = 1.0,
    *,
    by_order: bool = False,
    slots: bool = False,
) -> tuple[tuple[str, str], ...]:
    """Give variables of `target` the present values of `source`. All are assigned, or none.

    Args:
        source: A model: an editor, the result of a clone, a Keras model or layer, a `tf.Module`, the result of
            `tf.saved_model.load`, or what `tgw.edit` opens: a graph, a session, a `tf.function`, a SavedModel's folder.
        target: Another model. A file cannot be one.
        names: Which variables belong together. None for those of equal name, compared without the name scopes of copies
            and of Keras models, or of equal place in two objects of one structure, as in a checkpoint; a mapping
            {source: target} of variables, scopes or Keras layers (names, paths or the objects); some of these that both
            models have, for example the first layers; or a function from a name to a name.
        tau: A number from 0 to 1: each variable gets (1 - tau) of its own value and tau of the new one.
        by_order: Pair all variables in the models' order, as for two models of one architecture whose names differ.
        slots: Whether the variables of a compiled Keras model's optimizer are included. Those of a graph of
            TensorFlow 1 are variables like all others, and go with the names.

    Returns:
        The pairs of names.

    Raises:
        UnknownName: A model lacks one of the names.
        SessionRefused: A variable has no value, or cannot be assigned.
        GraphEditError: Shapes or dtypes of a pair differ, or no variable has a counterpart.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> copy = editor.clone("x:0", "net/logits:0", into="copy")
        >>> editor.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> tgw.sync(editor, copy, names=["net/hidden"])
        (('net/hidden/w:0', 'copy/net/hidden/w:0'), ('net/hidden/b:0', 'copy/net/hidden/b:0'))
        >>> {name: distance > 0 for name, distance in copy.drift().items()}
        {'net/hidden/w:0': False, 'net/hidden/b:0': False, 'net/w:0': True}
    """
    from tfgraphwidget.editor import synchronization

    return synchronization.sync(source, target, names, tau, by_order=by_order, slots=slots)


def drift(
    source: Any, target: Any, names: Any = None, *, by_order: bool = False, slots: bool = False
) -> dict[str, float]:
    """Compare the values of two models' variables; nothing is assigned.

    Args:
        source: A model, as for `sync`, or the prefix of a checkpoint, "model.ckpt".
        target: Another model.
        names: Which variables belong together; see `sync`.
        by_order: Pair all variables in the models' order.
        slots: Whether the variables of a compiled Keras model's optimizer are included.

    Returns:
        By the source's names the largest absolute difference of two elements: 0.0 where all are equal; of booleans and
        strings 1.0 if any differ; infinity for other shapes, and where only one value is NaN.

    Raises:
        UnknownName: A model lacks one of the names.
        SessionRefused: A variable has no value.
        GraphEditError: No variable has a counterpart.

    Example:
        >>> import tfgraphwidget as tgw
        >>> before, after = tgw.example(), tgw.example()
        >>> after.session.run("train", {"x:0": [[1, 2, 3, 4]], "labels:0": [0]})
        >>> {name: distance > 0 for name, distance in tgw.drift(after, before).items()}
        {'net/hidden/w': True, 'net/hidden/b': True, 'net/w': True}
    """
    from tfgraphwidget.editor import synchronization

    return synchronization.drift(source, target, names, by_order=by_order, slots=slots)


def renew(session: Session) -> tuple[str, ...]:
    """Let a session see changes that were made in place to ops it has run already; TensorFlow ignores them.

    The session object stays, with the values of its variables, tables and iterators. Gives a sentence for each thing
    that could not be kept. Editors do it for the session that they were given. Raises SessionRefused, and the session
    is as it was.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> feeds = {"x:0": [[1, 2, 3, 4]]}
    >>> before = editor.session.run("net/logits:0", feeds)
    >>> report = editor.bypass("net/hidden/Relu", renew="never")
    >>> bool((editor.session.run("net/logits:0", feeds) == before).all())
    True
    >>> tgw.renew(editor.session)
    ()
    >>> bool((editor.session.run("net/logits:0", feeds) == before).all())
    False
    """
    from tfgraphwidget.runtime.session import renewal

    return renewal.renew(session)


def _widget(editor: GraphEditor) -> Any:
    from tfgraphwidget.widget import GraphWidget

    return GraphWidget(editor)


def __getattr__(name: str) -> Any:
    """The public names whose modules load much, loaded when first asked for."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tfgraphwidget' has no attribute {name!r}")
