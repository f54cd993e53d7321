"""The variables of the notebook: graphs, functions that edits can use, and names for values.

No code of the user runs while variables are listed: functions are recognized by their types, graphs
by the module and name of their classes, read from the type itself, without a property, a proxy's
`__class__` or a lazy module's `__getattr__`.
"""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable, Iterator, MutableMapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.errors import InvalidArgument, NameTaken, UnknownName
from tfgraphwidget.naming import first_paragraph, known_instead
from tfgraphwidget.sources import Source, functions_of_tensors, with_variables

Namespace = MutableMapping[Any, object]  # globals()[1] = 2 is possible

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
_MRO = type.__dict__["__mro__"].__get__
_KINDS = {
    "tfgraphwidget.editor.graph_editor.GraphEditor": "editor",
    "keras.src.models.model.Model": "Keras model",
    "tensorflow.python.client.session.BaseSession": "session",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function.Function": "tf.function",
    "tensorflow.python.eager.polymorphic_function.concrete_function.ConcreteFunction": (
        "ConcreteFunction"
    ),
    "tensorflow.python.framework.func_graph.FuncGraph": "FuncGraph",
    "tensorflow.python.framework.ops.Graph": "tf.Graph",
}
_EAGER_TENSOR = "tensorflow.python.framework.ops.EagerTensor"
_VARIABLE = "tensorflow.python.ops.variables.Variable"
_NAMED = type.__dict__["__module__"].__get__, type.__dict__["__qualname__"].__get__


def user_namespace() -> Namespace:
    """The variables of the notebook's cells; empty without IPython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return {} if shell is None else shell.user_ns


def code_for_cell(code: str, source: Source) -> str:
    """A script that names the notebook's variables, as far as they hold what was opened."""
    names: dict[int, str] = {}
    for name, value in user_namespace().items():
        if isinstance(name, str) and name.isidentifier() and not name.startswith("_"):
            names[id(value)] = name
    opened = None if source.opened is None else source.opened()
    if opened is None or id(opened) not in names:
        return code
    return with_variables(code, names[id(opened)], names.get(id(source.session), ""))


def graph_kind(thing: object) -> str:
    """The kind of graph that an object holds, in TensorFlow's words; "" for none."""
    return next((kind for name in class_names(thing) if (kind := _KINDS.get(name))), "")


def is_eager_tensor(thing: object) -> bool:
    """Whether an object is a tensor with a value."""
    return _EAGER_TENSOR in class_names(thing)


def is_variable(thing: object) -> bool:
    """Whether an object is a variable of TensorFlow, of a graph or with a value."""
    return _VARIABLE in class_names(thing)


def class_names(thing: object) -> list[str]:
    """Module and name of an object's class and of its bases; "" for one that has none."""
    return [_qualified_name(cls) for cls in _MRO(type(thing))]


def has_method(kind: type, method: str) -> bool:
    """Whether a class defines or inherits a method."""
    return any(method in vars(cls) for cls in _MRO(kind))


def _qualified_name(cls: type) -> str:
    """Module and name of a class; "" when it has none."""
    try:
        module, name = (get(cls) for get in _NAMED)
    except AttributeError:
        return ""
    return f"{module}.{name}" if isinstance(module, str) else ""


def graphs_in(namespace: Namespace) -> Iterator[tuple[str, Any, str]]:
    """(name, object, kind) of each variable of the kernel that holds a graph."""
    for name, thing in list(namespace.items()):
        if isinstance(name, str) and not name.startswith("_") and (kind := graph_kind(thing)):
            yield name, thing, kind


class KernelNamespace:
    """The variables of a notebook. `read` returns them, as they are at the time."""

    def __init__(self, read: Callable[[], Namespace] = user_namespace) -> None:
        self._read = read

    def functions(self) -> tuple[str, ...]:
        """The names of functions, Keras layers and models of the notebook, the newest first."""
        return tuple(name for name, value in self.variables() if _is_function(value))

    def value(self, name: str) -> object:
        """The value of a variable, or the function of TensorFlow that is called `tf.nn.gelu`.
        Raises UnknownName.
        """
        variables = self._read()
        if name in variables:
            return variables[name]
        if name.startswith("tf.") and name in functions_of_tensors():
            return functions_of_tensors()[name]
        if not name.strip():
            raise UnknownName("No variable of the notebook is named; choose one, or type its name.")
        names = [variable for variable, _ in self.variables()]
        raise UnknownName(f"The notebook has no variable {name!r}{known_instead(name, names)}")

    def free_name(self, preferred_name: str) -> str:
        """A name that no variable has: the wanted one, or with a number."""
        variables = self._read()
        if preferred_name.isidentifier() and not keyword.iskeyword(preferred_name):
            name = preferred_name
        else:
            name = f"value_{preferred_name}"
        names = (f"{name}_{k}" if k else name for k in range(len(variables) + 1))
        return next(free for free in names if free not in variables)

    def assign(self, name: str, value: object, *, overwrite: bool = False) -> None:
        """Make a value a variable of the notebook. Raises InvalidArgument for a name that is not
        one of Python, and NameTaken where a variable has it and `overwrite` is False.
        """
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InvalidArgument(
                "name", f"{value_text(name)!r} is not a name in Python; use letters, digits and _."
            )
        variables = self._read()
        if name in variables and not overwrite:
            raise NameTaken(
                f"The notebook has a variable {name!r}; choose another name, or replace it.",
                name=name,
            )
        variables[name] = value

    def variables(self) -> list[tuple[str, object]]:
        """Those that the user has made, the newest first."""
        hidden = _hidden_names()
        return [
            (name, value)
            for name, value in reversed(list(self._read().items()))
            if isinstance(name, str) and not name.startswith("_") and name not in hidden
        ]


def first_line(function: object) -> str:
    """The first paragraph of a Python function's documentation, or else its signature."""
    if not isinstance(function, FunctionType):
        return type(function).__name__
    return first_paragraph(function.__doc__) or f"{function.__name__}{inspect.signature(function)}"


def _hidden_names() -> frozenset[str]:
    """The names that IPython itself puts into the namespace: In, Out, exit, quit, get_ipython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return frozenset() if shell is None else frozenset(shell.user_ns_hidden)


def _is_function(value: object) -> bool:
    kind = type(value)
    is_tf_function = has_method(kind, "__call__") and kind.__module__.startswith("tensorflow.")
    return isinstance(value, _FUNCTIONS) or is_tf_function or _is_layer(kind)


def _is_layer(kind: type) -> bool:
    """Whether a class of the user is one of Keras's layers or models."""
    return any(
        cls.__qualname__ == "Layer" and cls.__module__.startswith("keras.") for cls in _MRO(kind)
    )
