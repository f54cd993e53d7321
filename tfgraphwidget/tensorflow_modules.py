"""TensorFlow, its modules and classes, imported when something of them is first used.

Importing TensorFlow takes seconds and hundreds of megabytes, and files are opened, drawn, edited and saved without it.
So no module of this package imports it when it is imported itself: `from tfgraphwidget.tensorflow_modules import tf`.
Where TensorFlow is not installed, the first use says in one sentence what to install.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tfgraphwidget.errors import TensorFlowMissing

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow import Graph, Operation, Tensor, TensorSpec, Variable
    from tensorflow.compat import v1

__all__ = [
    "Graph",
    "LazyModule",
    "Operation",
    "Tensor",
    "TensorSpec",
    "Variable",
    "installed_folder",
    "is_loaded",
    "lazy_class",
    "tf",
    "v1",
]


class LazyModule:
    """A module that is imported when one of its names is first used.

    Args:
        name: The module's name, "tensorflow.python.framework.ops".
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = _import(self._name)
        value = getattr(self._module, attribute)
        if callable(value) or isinstance(value, ModuleType):  # these do not change, and are asked for at every op
            self.__dict__[attribute] = value
        return value

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


class _LazyClass:
    """A class that is looked up when it is used.

    As long as TensorFlow is not imported, no object is an instance of it, so that asking does not import TensorFlow.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._path = module, name.split(".")

    def resolve(self) -> Any:
        """Return the class itself; imports TensorFlow."""
        found: Any = _import(self._module)
        for name in self._path:
            found = getattr(found, name)
        return found

    def __instancecheck__(self, thing: object) -> bool:
        return is_loaded() and isinstance(thing, self.resolve())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a new instance."""
        return self.resolve()(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.resolve(), attribute)

    def __repr__(self) -> str:
        return f"<lazy class {'.'.join((self._module, *self._path))}>"


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise TensorFlowMissing(
            "This needs TensorFlow, which this environment does not have: pip install 'tfgraphwidget[tensorflow]'."
        ) from None


def lazy_class(module: str, name: str) -> Any:
    """A class of TensorFlow, for `isinstance`, to be called, and for its attributes.

    Args:
        module: The name of the class's module.
        name: The name of the class in it, with dots.
    """
    return _LazyClass(module, name)


if not TYPE_CHECKING:
    tf = LazyModule("tensorflow")
    v1 = LazyModule("tensorflow.compat.v1")
    # For `isinstance`, which does not import TensorFlow.
    Graph = lazy_class("tensorflow", "Graph")
    Operation = lazy_class("tensorflow", "Operation")
    Tensor = lazy_class("tensorflow", "Tensor")
    TensorSpec = lazy_class("tensorflow", "TensorSpec")
    Variable = lazy_class("tensorflow", "Variable")


def is_loaded() -> bool:
    """Whether this process has imported TensorFlow, or is about to."""
    return "tensorflow" in sys.modules


@cache
def installed_folder() -> str | None:
    """The folder of the TensorFlow that is installed, without importing it; None if there is none."""
    spec = find_spec("tensorflow")
    return None if spec is None or not spec.submodule_search_locations else spec.submodule_search_locations[0]
