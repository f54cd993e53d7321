"""TensorFlow, its modules and classes, imported when something of them is first used.

Importing TensorFlow takes seconds and hundreds of megabytes, and files are opened, drawn, edited and saved without it.
So no module of this package imports it when it is imported itself: `from tfgraphwidget.tensorflow_modules import tf`.
Where TensorFlow is not installed, the first use says in one sentence what to install.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tfgraphwidget.errors import TensorFlowMissing

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow import DType, Graph, Operation, Tensor, TensorShape, TensorSpec, Variable
    from tensorflow.compat import v1
    from tensorflow.errors import OpError

__all__ = [
    "DType",
    "Graph",
    "OpError",
    "Operation",
    "Tensor",
    "TensorShape",
    "TensorSpec",
    "Variable",
    "bind",
    "installed_folder",
    "is_loaded",
    "lazy_class",
    "lazy_module",
    "tf",
    "v1",
]


def is_loaded() -> bool:
    """Whether this process has imported TensorFlow, or is about to."""
    return "tensorflow" in sys.modules


class _Lazy:
    """What stands for a module or class of TensorFlow until TensorFlow is imported.

    Its first use imports TensorFlow, and exchanges all of these in the modules of this package for what they stand for
    (`bind`). As long as TensorFlow is not imported, no object is an instance of one, so that asking does not import it.
    """

    def __init__(self, module: str, path: str = "") -> None:
        self._module, self._path = module, path

    def resolve(self) -> Any:
        """Return the module or class itself; imports TensorFlow."""
        target: Any = _import(self._module)
        for name in self._path.split(".") if self._path else ():
            target = getattr(target, name)
        return target

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self.resolve(), attribute)
        bind()
        return value

    def __call__(self, *args: object, **kwargs: Any) -> Any:
        """Return a new instance of the class."""
        function = self.resolve()
        bind()
        return function(*args, **kwargs)

    def __instancecheck__(self, thing: object) -> bool:
        bind()
        return is_loaded() and isinstance(thing, self.resolve())

    def __repr__(self) -> str:
        return f"<lazy {'.'.join(filter(None, (self._module, self._path)))}>"


def _import(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise TensorFlowMissing(
            "This needs TensorFlow, which is not installed: run pip install 'tfgraphwidget[tensorflow]'."
        ) from None


def lazy_module(name: str) -> Any:
    """A module of TensorFlow: itself if TensorFlow is imported, else what imports it when it is first used.

    Args:
        name: The module's name, "tensorflow.python.framework.ops".
    """
    return _resolved_value(_Lazy(name))


def lazy_class(module: str, name: str) -> Any:
    """A class of TensorFlow, for `isinstance`, to be called, and for its attributes; a global variable of its module.

    Args:
        module: The name of the class's module.
        name: The name of the class in it, with dots.
    """
    return _resolved_value(_Lazy(module, name))


def _resolved_value(thing: _Lazy) -> object:
    """What a global variable has: what it stands for if TensorFlow is imported and has it."""
    if is_loaded():
        with suppress(ImportError, AttributeError):
            return thing.resolve()
    return thing


def bind() -> None:
    """Once TensorFlow is imported, put its own modules and classes into the global variables of this package.

    So no Python of ours runs where TensorFlow's names are looked up, be it at each op of a large graph, or under locks
    of TensorFlow, which an interrupt between two of our lines would leave held. It is called where the first object of
    TensorFlow arrives, before any lock.
    """
    if not is_loaded():
        return
    package = __name__.partition(".")[0]
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] == package and module is not None:
            for variable, thing in tuple(vars(module).items()):
                if type(thing) is _Lazy:
                    setattr(module, variable, _resolved_value(thing))


if not TYPE_CHECKING:
    tf = lazy_module("tensorflow")
    v1 = lazy_module("tensorflow.compat.v1")
    # For `isinstance`, which does not import TensorFlow.
    DType = lazy_class("tensorflow", "DType")
    Graph = lazy_class("tensorflow", "Graph")
    OpError = lazy_class("tensorflow", "errors.OpError")
    Operation = lazy_class("tensorflow", "Operation")
    Tensor = lazy_class("tensorflow", "Tensor")
    TensorShape = lazy_class("tensorflow", "TensorShape")
    TensorSpec = lazy_class("tensorflow", "TensorSpec")
    Variable = lazy_class("tensorflow", "Variable")


@cache
def installed_folder() -> str | None:
    """The folder of the TensorFlow that is installed, without importing it; None if there is none."""
    spec = find_spec("tensorflow")
    return None if spec is None or not spec.submodule_search_locations else spec.submodule_search_locations[0]
