"""See a live TensorFlow graph in the notebook, clone and edit parts of it, undo, replay as code, export.

>>> import tfgraphwidget as tgw
>>> editor = tgw.edit(graph, session=session)  # doctest: +SKIP

Importing this package imports neither TensorFlow nor a widget; `edit` does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfgraphwidget.errors import GraphEditError

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.view.layout import layered

__version__ = "0.1.0"
__all__ = ["GraphEditError", "GraphEditor", "edit", "layered", "renew", "sync"]
_LAZY = {"GraphEditor": "tfgraphwidget.editor", "layered": "tfgraphwidget.view.layout"}


def edit(
    graph: Any = None,
    session: Any = None,
    *,
    signature: Any = None,
    checkpoint: Any = None,
    tags: Any = None,
    layout: Any = None,
) -> GraphEditor:
    """An editor for whatever holds a TensorFlow graph; alone in a cell it shows itself.

    `graph` is one of these; without it, the default graph:

    * a `tf.Graph` or a `tf.compat.v1.Session`; `session` runs it (without one, variables cannot be initialised)
    * a `tf.function`, a ConcreteFunction, a FuncGraph, or a Keras 3 model that has been built;
      edits make a new callable of it, `editor.module()`
    * a SavedModel's folder or its saved_model.pb, a .pb or .pbtxt GraphDef, a .meta with or without its `checkpoint`
    * a GraphDef, MetaGraphDef or SavedModel proto, or the bytes of one

    `signature` chooses a SavedModel's signature by name, or a trace of a `tf.function` by number or by a list of
    TensorSpecs; `tags` a SavedModel's MetaGraphDef. A file is only read: nothing in it runs, and TensorFlow imports it
    when something is to run, or to be cloned. `layout` is any networkx layout, a callable that takes a graph and
    returns {node: (x, y)}; without one, ours: `tfgraphwidget.layered`, which has that form too.
    Raises NotAGraph for what holds no graph or cannot be read, UnknownName for a file or signature that is not there,
    SessionRefused for a session that is closed or of another graph.
    """
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.sources import open_source

    source = open_source(graph, session, signature=signature, checkpoint=checkpoint, tags=tags)
    return GraphEditor(source, show=_widget, layout=layout)


def sync(source: Any, target: Any, names: Any = None, tau: float = 1.0) -> tuple[tuple[str, str], ...]:
    """Give variables of `target` the present values of `source`; each is an editor, or what a clone gave.

    `names` says which belong together: None, those of equal name, compared without the scopes of copies; a dict
    {source: target} of variables or scopes; some names or scopes that both have, as the first layers; or a function
    from a name to a name. With `tau`, (1 - tau) of the old values and tau of the new. All are assigned, or none.
    Gives the pairs of names. Raises UnknownName, SessionRefused, or GraphEditError for shapes that differ.
    """
    from tfgraphwidget import syncing

    return syncing.sync(source, target, names, tau)


def renew(session: Any) -> tuple[str, ...]:
    """Let a session see changes that were made in place to ops it has run already; TensorFlow ignores them.

    The session object stays, with the values of its variables, tables and iterators. Gives a sentence for each thing
    that could not be kept. Editors do it for the session that they were given. Raises SessionRefused, and the session
    is as it was.
    """
    from tfgraphwidget.applying import renewing

    return renewing.renew(session)


def _widget(editor: GraphEditor) -> Any:
    from tfgraphwidget.widget import GraphWidget

    return GraphWidget(editor)


def __getattr__(name: str) -> Any:
    """The public names whose modules load much, loaded when first asked for."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tfgraphwidget' has no attribute {name!r}")
