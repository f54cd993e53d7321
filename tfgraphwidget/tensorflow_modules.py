"""TensorFlow, its modules and classes, imported when something of them is first used.

Importing TensorFlow takes seconds and hundreds of megabytes, and files are opened, drawn, edited
and saved without it. So no module of this package imports it when it is imported itself: `from
tfgraphwidget.tensorflow_modules import tf`. Where TensorFlow is not installed, is too old, or lacks
a private name that is needed, the use that needs it says in one sentence what to install.
"""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import currentframe
from typing import TYPE_CHECKING, Any, NoReturn

from tfgraphwidget.errors import TensorFlowMissing, TensorFlowUnsupported
from tfgraphwidget.tf_releases import (
    NEWEST,
    OLDEST,
    REQUIREMENT,
    absent_names,
    attributes_in,
    is_too_old,
    is_untested,
)

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
    "check_editable",
    "installed_folder",
    "installed_version",
    "is_installed",
    "is_loaded",
    "lazy_class",
    "lazy_module",
    "refuse_absent_names",
    "tf",
    "v1",
]


_CALLED = frozenset({"", "editor", "export", "graph_editor", "runtime", "sources"})
"""Packages whose functions users call, as opposed to those that pass on what a page or a command
line asks.
"""
_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tf-nightly",
    "tf-nightly-cpu",
    "intel-tensorflow",
)
_PASSING_ON = frozenset({"call", "checkpoint_changes", "method"})
"""Names of functions that represent the method that was called."""


def is_loaded() -> bool:
    """Whether this process has imported TensorFlow, or is about to."""
    return "tensorflow" in sys.modules


def is_installed() -> bool:
    """Whether TensorFlow can be used: it is there, and not too old."""
    if is_loaded():
        version = getattr(sys.modules["tensorflow"], "__version__", "")
    else:
        version = installed_version()
    return (is_loaded() or installed_folder() is not None) and not is_too_old(version or "")


class _Lazy:
    """A placeholder of a module or class of TensorFlow until TensorFlow is imported.

    Its first use imports TensorFlow, and exchanges all of these in the modules of this package for
    what they represent (`bind`). As long as TensorFlow is not imported, no object is an instance of
    one, so that asking does not import it.
    """

    def __init__(self, module: str, path: str = "") -> None:
        self._module, self._path = module, path

    def resolve(self) -> Any:
        """Return the module or class itself; imports TensorFlow."""
        target: Any = _import(self._module)
        for name in self._path.split(".") if self._path else ():
            if not hasattr(target, name):
                _refuse(f"{self._module}.{self._path}")
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
        with suppress(TensorFlowUnsupported):
            # Nothing is an instance of a class that a release does not have.
            return is_loaded() and isinstance(thing, self.resolve())
        return False

    def __repr__(self) -> str:
        return f"<lazy {'.'.join(filter(None, (self._module, self._path)))}>"


def _import(name: str) -> Any:
    try:
        if not is_loaded():
            _refuse_old(installed_version() or "", "is installed")
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name and is_loaded():
            _refuse(name)
        if error.name != "tensorflow":
            raise
        raise TensorFlowMissing(
            f"{_name_of_call() or 'This'} needs TensorFlow, which is not installed: run pip "
            "install 'tfgraphwidget[tensorflow]'."
        ) from None


def _name_of_call() -> str:
    """The public function or method of this package that was called, "clone"; "" if none was."""
    name, frame = "", currentframe()
    while frame is not None:
        package, _, module = frame.f_globals.get("__name__", "").partition(".")
        function = frame.f_code.co_name
        if (
            package == __name__.partition(".")[0]
            and module.partition(".")[0] in _CALLED
            and function.isidentifier()
        ):
            name = name if function.startswith("_") or function in _PASSING_ON else function
        frame = frame.f_back
    return name


def _refuse_old(version: str, place: str) -> None:
    if is_too_old(version):
        raise TensorFlowUnsupported(
            f"{_name_of_call() or 'This'} needs TensorFlow {OLDEST} or newer, and {version} "
            f"{place}: run pip install {REQUIREMENT}, and restart Python."
        )


@cache
def _warn_of_untested(version: str) -> None:
    if is_untested(version):
        warnings.warn(
            f"TensorFlow {version} is newer than {NEWEST}, the newest that this tfgraphwidget was "
            f"tested with; if something does not work, run pip install {REQUIREMENT}, or a newer "
            "tfgraphwidget.",
            stacklevel=2,
        )


def _refuse(name: str) -> NoReturn:
    """Raise for a module or a private name that the TensorFlow of this process does not have."""
    version = getattr(sys.modules.get("tensorflow"), "__version__", "")
    raise TensorFlowUnsupported(
        f"{_name_of_call() or 'This'} needs {name}, which is private in TensorFlow and not in "
        f"{version or 'this one'}: run pip install {REQUIREMENT}, and restart Python."
    )


def refuse_absent_names() -> list[tuple[object, object]]:
    """Let each function of `tf_internals` that uses a private name refuse its calls if TensorFlow
    does not have it; each such function, and what is called in its place.
    """
    absent = absent_names()
    if not absent:
        return []
    package = __name__.partition(".")[0]
    refusals = {}
    internals = [
        module
        for name, module in tuple(sys.modules.items())
        if name.startswith(f"{package}.tf_internals.")
    ]
    for function in [thing for module in internals for thing in tuple(vars(module).values())]:
        if type(function) is _Lazy:
            continue
        where = next((absent[name] for name in attributes_in(function) if name in absent), None)
        if where is not None:
            refusals[id(function)] = function, partial(_refused_call, where)
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] == package and module is not None:
            variables = vars(module)
            variables.update(
                {key: refusals[id(it)][1] for key, it in variables.items() if id(it) in refusals}
            )
    return list(refusals.values())


def _refused_call(where: str, *_: object, **__: object) -> NoReturn:
    _refuse(where)


def check_editable() -> None:
    """Raise TensorFlowUnsupported unless TensorFlow has all private names by which live graphs are
    edited, and edits are taken back.
    """
    for where in absent_names(editing=True).values():
        _refuse(where)


def as_any(thing: object) -> Any:
    """Return a thing without its type, for what types-tensorflow, which has public names, lacks."""
    return thing


def lazy_module(name: str) -> Any:
    """A module of TensorFlow, "tensorflow.python.framework.ops": itself if TensorFlow is imported,
    else what imports it when it is first used.
    """
    return _resolved_value(_Lazy(name))


def lazy_class(module: str, name: str) -> Any:
    """A class of TensorFlow, by its name in a module, for `isinstance`, to be called, and for its
    attributes; a global variable of its module.
    """
    return _resolved_value(_Lazy(module, name))


def _resolved_value(thing: _Lazy) -> object:
    """The value of a global variable; a placeholder's is the imported module or class, if any."""
    if is_loaded():
        with suppress(ImportError):  # if this release has it
            return thing.resolve()
    return thing


def bind() -> None:
    """Once TensorFlow is imported, put its own modules and classes into the global variables of
    this package.

    So no Python of ours runs where TensorFlow's names are looked up, be it at each op of a large
    graph, or under locks of TensorFlow, which an interrupt between two of our lines would leave
    held. It is called where the first object of TensorFlow arrives, before any lock.
    """
    version = getattr(sys.modules.get("tensorflow"), "__version__", None)
    if version is None:  # another thread may just import it
        return
    _refuse_old(version, "is imported")
    _warn_of_untested(version)
    package = __name__.partition(".")[0]
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] == package and module is not None:
            for variable, thing in tuple(vars(module).items()):
                if type(thing) is _Lazy:
                    setattr(module, variable, _resolved_value(thing))
    if f"{package}.tf_internals" in sys.modules:
        refuse_absent_names()


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
def installed_version() -> str | None:
    """The release of the installed TensorFlow, "2.21.0", without importing it; None without one."""
    if installed_folder() is None:
        return None
    # Takes as long as to read a small graph.
    from importlib.metadata import PackageNotFoundError, version

    for name in _DISTRIBUTIONS:
        with suppress(PackageNotFoundError):
            return version(name)
    return None


@cache
def installed_folder() -> str | None:
    """The folder of the installed TensorFlow, without importing it; None if there is none."""
    try:
        spec = find_spec("tensorflow")
    except ModuleNotFoundError:  # an import hook keeps it out
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return spec.submodule_search_locations[0]
