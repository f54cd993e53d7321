"""The notebook's variables: which of them hold a graph.

No code of the user runs: classes are recognized by module and name, read from the type itself, without a property, a
proxy's `__class__` or a lazy module's `__getattr__`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfgraphwidget.widget.kernel_namespace import Namespace

_KINDS = {
    "tfgraphwidget.editor.graph_editor.GraphEditor": "editor",
    "keras.src.models.model.Model": "Keras model",
    "tensorflow.python.client.session.BaseSession": "session",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function.Function": "tf.function",
    "tensorflow.python.eager.polymorphic_function.concrete_function.ConcreteFunction": "ConcreteFunction",
    "tensorflow.python.framework.func_graph.FuncGraph": "FuncGraph",
    "tensorflow.python.framework.ops.Graph": "tf.Graph",
}
_MRO = type.__dict__["__mro__"].__get__
_NAMED = type.__dict__["__module__"].__get__, type.__dict__["__qualname__"].__get__


def graph_kind(thing: object) -> str:
    """The kind of graph that an object holds, in TensorFlow's words; "" for none."""
    return next((kind for cls in _MRO(type(thing)) if (kind := _KINDS.get(_qualified_name(cls)))), "")


def _qualified_name(cls: type) -> str:
    """Module and name of a class; "" when it has none."""
    try:
        module, name = (get(cls) for get in _NAMED)
    except AttributeError:
        return ""
    return f"{module}.{name}" if isinstance(module, str) else ""


def graphs_in(namespace: Namespace) -> Iterator[tuple[str, Any, str]]:
    """(name, object, kind) of each variable that holds a graph."""
    for name, thing in list(namespace.items()):
        if isinstance(name, str) and not name.startswith("_") and (kind := graph_kind(thing)):
            yield name, thing, kind
