"""See a live TensorFlow graph in the notebook, clone parts of it with variables of their own, undo, export.

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
__all__ = ["GraphEditError", "GraphEditor", "edit", "layered"]
_LAZY = {"GraphEditor": "tfgraphwidget.editor", "layered": "tfgraphwidget.view.layout"}


def edit(graph: Any = None, session: Any = None, *, layout: Any = None) -> GraphEditor:
    """An editor for a live graph; alone in a cell it shows itself.

    `graph` is a `tf.Graph`, a `tf.compat.v1.Session`, or None for the default graph; `session` runs it (without
    one, variables cannot be initialised). `layout` is any networkx layout, a callable that takes a graph and
    returns {node: (x, y)}; without one, ours: `tfgraphwidget.layered`, which has that form too.
    Raises NotAGraph, or SessionRefused for a session that is closed or of another graph.
    """
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.sources import open_source

    return GraphEditor(open_source(graph, session), show=_widget, layout=layout)


def _widget(editor: GraphEditor) -> Any:
    from tfgraphwidget.widget import GraphWidget

    return GraphWidget(editor)


def __getattr__(name: str) -> Any:
    """The public names whose modules load much, loaded when first asked for."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'tfgraphwidget' has no attribute {name!r}")
