"""Python that does what a history did: one line for each edit, or a script that needs nothing else."""

from __future__ import annotations

import ast
import base64
import builtins
import inspect
import io
import operator
import re
import sys
import sysconfig
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfgraphwidget.edits.command import Wording, arguments, literal
from tfgraphwidget.graph.expressions import call, lambda_of
from tfgraphwidget.graph.subgraph import Part
from tfgraphwidget.naming import identifier

if TYPE_CHECKING:
    from tfgraphwidget.edits.history import Step

# Quoted: Python functions and values as source that makes them again in another process.  A function comes with the
# names that it reads, from its closure and its module, each as a statement before it. What nobody can write down (a
# variable, a session) becomes a line that says what to give.

_LARGEST = 1 << 20  # bytes of an array that is written into the source
_LONGEST = 10_000  # characters of a value
_NOT_KEYS = ("file", "allow_pickle")  # of arrays in a file: np.savez has parameters of these names
_SIMPLE = (type(None), bool, int, float, complex, str, bytes)
_PARTS = ("", "nn.", "math.", "linalg.", "debugging.", "image.", "strings.", "random.", "signal.", "keras.")
_INSTALLED = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))

Arrays = dict[str, "np.ndarray[Any, Any]"]
"""Arrays too large for source, by the name they have in the file beside the script."""


class Quoted(NamedTuple):
    """An expression, and the statements that must come before it, by the name that each defines."""

    text: str
    needs: dict[str, str]


def quoted(thing: Any, name: str, arrays: Arrays, file: str) -> Quoted:
    """Source of any value; `name` is what it is called where no source can be had.

    Arrays over 1 MB are added to `arrays`, and read from the NumPy archive `file`.
    """
    return _Quoting(arrays, file).value(thing, name)


def array_text(array: np.ndarray[Any, Any], name: str, arrays: Arrays, file: str) -> Quoted:
    """Source of an array of any dtype."""
    if array.dtype.kind == "O":
        return Quoted(f"np.array({array.tolist()!r}, dtype=object)", {"np": "import numpy as np"})
    needs, view = {"np": "import numpy as np"}, ""
    if array.dtype.type.__module__ == "ml_dtypes":  # NumPy's files forget what they are
        needs["ml_dtypes"], view = "import ml_dtypes", f".view(ml_dtypes.{array.dtype.name})"
        array = array.view(f"u{array.dtype.itemsize}")
    if array.nbytes > _LARGEST:
        free = (key for key in _numbered(name) if key not in _NOT_KEYS and key not in arrays)
        key = next((key for key, known in arrays.items() if known is array), None) or next(free)
        arrays[key] = array
        return Quoted(f'np.load("{file}")[{key!r}]{view}', needs)
    held = io.BytesIO()
    np.save(held, array, allow_pickle=False)
    needs |= {"base64": "import base64", "io": "import io"}
    return Quoted(f'np.load(io.BytesIO(base64.b64decode("{base64.b64encode(held.getvalue()).decode()}"))){view}', needs)


def to_give(name: str, what: str) -> str:
    """The statement for what nobody can write down."""
    return f"{name} = ...  # give here {what}"


def stands_alone(expression: str, known: Collection[str]) -> bool:
    """Whether an expression reads no names but those `known` and Python's own."""
    tree = ast.parse(expression, mode="eval")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)}
    own |= {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    return all(name.id in known or name.id in own or hasattr(builtins, name.id) for name in names)


class _Quoting:
    """One quotation; a function that is being quoted is not begun again."""

    def __init__(self, arrays: Arrays, file: str) -> None:
        self._arrays, self._file = arrays, file
        self._begun: set[int] = set()

    def value(self, thing: Any, name: str) -> Quoted:
        """An expression for anything."""
        if _is_literal(thing):
            return Quoted(repr(thing), {})
        if isinstance(thing, np.ndarray | np.generic):
            return array_text(np.asarray(thing), name, self._arrays, self._file)
        found = _public(thing)
        if found is not None:
            return found
        plain = getattr(thing, "python_function", None) or inspect.unwrap(thing) if callable(thing) else thing
        if isinstance(plain, FunctionType):
            return self._function(plain, name)
        kind = f"{type(thing).__module__.partition('.')[0]} {type(thing).__name__}"
        return Quoted(name, {name: to_give(name, f"the {kind.removeprefix('builtins ')}")})

    def _function(self, function: FunctionType, name: str) -> Quoted:
        own = function.__name__ if function.__name__.isidentifier() else name
        if id(function) in self._begun:
            return Quoted(own, {})
        self._begun.add(id(function))
        tree, text = _source(function)
        if tree is None:
            return Quoted(own, {own: to_give(own, f"the function {function.__qualname__!r}")})
        needs: dict[str, str] = {}
        for free, held in _free(function, tree):
            said = self.value(held, free) if free != own else Quoted(own, {})
            more = said.needs if said.text == free else {**said.needs, free: f"{free} = {said.text}"}
            if any(needs.get(name, text) != text for name, text in more.items()):  # two closures, one name
                return Quoted(own, {own: to_give(own, f"the function {function.__qualname__!r}")})
            needs |= more
        if isinstance(tree, ast.Lambda):
            return Quoted(text, needs)
        return Quoted(own, {**needs, own: text})


def _numbered(name: str) -> Iterator[str]:
    yield name
    k = 1
    while True:
        yield f"{name} {k}"
        k += 1


def _is_literal(thing: Any) -> bool:
    """Whether `repr` gives it back."""
    if isinstance(thing, float):
        return thing - thing == 0  # neither infinite nor no number
    if type(thing) in _SIMPLE:
        return len(repr(thing)) <= _LONGEST
    if type(thing) in (list, tuple, set):
        return len(thing) <= _LONGEST and all(map(_is_literal, thing)) and (bool(thing) or type(thing) is not set)
    return type(thing) is dict and len(thing) <= _LONGEST and all(map(_is_literal, (*thing, *thing.values())))


# What another process can import


def _public(thing: Any) -> Quoted | None:
    """What a package that is installed gives under a name, and its modules; None for what a person wrote."""
    if isinstance(thing, ModuleType):
        return _module(thing)
    if isinstance(thing, float):
        return Quoted(f'float("{thing}")', {})
    tensorflow = sys.modules.get("tensorflow")
    if type(thing).__module__.startswith("tensorflow.") and type(thing).__name__ == "DType":
        return Quoted(repr(thing), {"tf": "import tensorflow as tf"})
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if not isinstance(name, str):
        return None
    home = str(getattr(thing, "__module__", ""))
    for part in _PARTS if home.startswith("tensorflow.") else ():
        if _at(tensorflow, f"{part}{name}") is thing:
            return Quoted(f"tf.{part}{name}", {"tf": "import tensorflow as tf"})
    module = sys.modules.get(home)
    if module is None or not _is_installed(module) or _at(module, name) is not thing:
        return None
    if module is builtins:
        return Quoted(name, {})
    first = name.partition(".")[0]
    return Quoted(name, {first: f"from {module.__name__} import {first}"})


def _module(module: ModuleType) -> Quoted:
    name = module.__name__.replace("tensorflow._api.v2", "tensorflow")
    if name.startswith("tensorflow"):  # most of its parts cannot be imported by their names
        return Quoted(f"tf{name.removeprefix('tensorflow')}", {"tf": "import tensorflow as tf"})
    if name == "numpy":
        return Quoted("np", {"np": "import numpy as np"})
    top = name.partition(".")[0]
    return Quoted(name, {top if name == top else name: f"import {name}"})


def _at(module: Any, name: str) -> Any:
    try:
        return operator.attrgetter(name)(module)
    except Exception:  # TensorFlow's lazy parts fail in ways of their own
        return None


def _is_installed(module: ModuleType) -> bool:
    """Whether it is Python's own or of a package; what lies beside a notebook is the person's."""
    file = getattr(module, "__file__", None)
    return module.__name__ != "__main__" and (file is None or str(file).startswith(_INSTALLED))


# What a person wrote


def _source(function: FunctionType) -> tuple[Any, str]:
    """The syntax tree and the source of a function; (None, "") when nobody has it, or it is not clear which it is."""
    try:
        if function.__name__ == "<lambda>":
            node: Any = lambda_of(function)
            text = ""
        else:
            text = textwrap.dedent(inspect.getsource(function)).rstrip()
            node = ast.parse(text).body[0]
            node = node if isinstance(node, ast.FunctionDef) and node.name == function.__name__ else None
    except (OSError, TypeError, SyntaxError, ValueError):
        node = None
    if node is None:
        return None, ""
    changed = _with_given(node, function)
    return node, ast.unparse(node) if changed or not text else text


def _with_given(node: Any, function: FunctionType) -> bool:
    """Put the values of a function's defaults in place of what gave them; annotations that nobody can resolve go."""
    places = [(node.args.defaults, k, value) for k, value in enumerate(function.__defaults__ or ())]
    named = function.__kwdefaults__ or {}
    keyed = enumerate(node.args.kwonlyargs)
    places += [(node.args.kw_defaults, k, named[arg.arg]) for k, arg in keyed if arg.arg in named]
    changed = False
    for held, k, value in places:
        if not isinstance(held[k], ast.Constant) and _is_literal(value):
            held[k], changed = ast.parse(repr(value), mode="eval").body, True
    known = {*_around(function), *dir(builtins)}
    noted = [arg for arg in ast.walk(node) if isinstance(arg, ast.arg) and arg.annotation is not None]
    texts = [arg.annotation for arg in noted] + [getattr(node, "returns", None)]
    if any(name.id not in known for text in texts if text for name in ast.walk(text) if isinstance(name, ast.Name)):
        for arg in noted:
            arg.annotation = None
        node.returns, changed = None, True
    return changed


def _around(function: FunctionType) -> Mapping[str, Any]:
    """What the names mean that a function does not define itself."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    held = {name: cell.cell_contents for name, cell in cells.items() if cell != CellType()}  # one may be empty still
    return {**function.__globals__, **held}


def _free(function: FunctionType, node: Any) -> Iterator[tuple[str, Any]]:
    """The names that a function reads and does not define, with what they mean now."""
    around = _around(function)
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    own = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    own |= {n.id for n in names if not isinstance(n.ctx, ast.Load)}
    for name in dict.fromkeys(n.id for n in names):
        if name in around and name not in own:
            yield name, around[name]


_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TAKEN = frozenset({"tf", "tgw", "np", "io", "base64", "values", "graph", "session"})


def line(command: Any, wording: Wording | None = None, *, renewed: bool = True) -> str:
    """One call of the editor, for example `copy = editor.clone(inputs=["x:0"], outputs=["y:0"], into="copy")`."""
    command = command.spoken() if hasattr(command, "spoken") else command
    options = filter(None, [arguments(command, wording), "" if renewed else 'renew="never"'])
    text = f"editor.{_WORD.sub('_', type(command).__name__).lower()}({', '.join(options)})"
    made, where = result(command), getattr(command, "where", "")
    return (f"{made} = {text}" if made else text) + (f"  # in {where}" if where else "")


def lines(commands: Iterable[Any]) -> tuple[str, ...]:
    """One line per command, oldest first."""
    return tuple(line(command) for command in commands)


def result(command: Any) -> str:
    """The name that a line gives to what its edit makes; "" for an edit that makes nothing with a name."""
    into = getattr(command, "into", "")
    name = identifier(into) if into else ""
    return f"{name}_" if name in _TAKEN or hasattr(builtins, name) else name


@dataclass(frozen=True)
class Script:
    """A Python script, and the arrays that it reads from a file beside it: those over 1 MB."""

    text: str
    arrays: Arrays


def script(opened: str, path: tuple[str, ...], steps: Sequence[Step], file: str = "values.npz") -> Script:
    """The script that opens what was opened, by the expression `opened`, and does the steps.

    `path` are the rooms one stands in when it is open. `file` is what the script calls the file of its arrays.
    """
    writing = _Writing(file)
    writing.define("tgw", "import tfgraphwidget as tgw")
    body = [*f"editor = {opened}".splitlines(), ""]
    imported, reserved = False, set[str]()
    for step in steps:
        body += _moves(path, step.path)
        path = step.path
        if step.imported and not imported:
            body.append("editor.graph  # TensorFlow holds the graph from here on, and cannot change all of it in place")
        if more := [name for name in step.reserved if name not in reserved]:
            body.append(f"editor.reserve({literal(more)})")
        imported, reserved = imported or step.imported, reserved | set(more)
        changed = bool(step.patch.changed)
        told = line(step.command, writing, renewed=step.renewed or not changed)
        body += [*writing.before(), told]
        writing.forget(result(step.command))
    head = sorted(writing.imports(body), key=lambda text: (text.startswith("from"), text))
    return Script("\n".join([*head, "", *body]).rstrip() + "\n", writing.arrays)


def _moves(here: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
    """The lines that lead from one room to another, by the titles of those on the way."""
    shared = sum(1 for k in range(1, min(len(here), len(there)) + 1) if here[:k] == there[:k])
    moves = [f"editor.leave({shared - 1})"] if shared < len(here) else []
    for title in there[shared:]:
        op, _, label = title.partition(":")
        moves.append(f"editor.enter({literal(op)}, {literal(label)})" if label else f"editor.enter({literal(op)})")
    return moves


class _Writing(Wording):
    """Names in a script: each is defined before the line that has it, and again when it means something else."""

    def __init__(self, file: str) -> None:
        self.arrays: Arrays = {}
        self._file = file
        self._defined: dict[str, str] = {}
        self._before: list[str] = []
        self._imports: dict[str, str] = {}

    def define(self, name: str, statement: str) -> None:
        """Have a statement that defines a name come first."""
        if self._defined.get(name) == statement:
            return
        known, self._defined[name] = name in self._defined, statement
        if statement.startswith(("import ", "from ")) and not known:
            self._imports[name] = statement
        else:
            lines = statement.splitlines()
            self._before += ["", *lines, ""] if lines[0].startswith(("def ", "@")) else lines

    def before(self) -> list[str]:
        """What is to come before the next line."""
        before, self._before = self._before, []
        return before

    def forget(self, name: str) -> None:
        """A line has given the name another meaning."""
        self._defined[name] = ""

    def imports(self, body: Iterable[str]) -> list[str]:
        """The imports of a script."""
        if any(re.search(r"\btf\.", text) for text in body):
            self.define("tf", "import tensorflow as tf")
        if any("base64." in text for text in body):
            self.define("base64", "import base64")
        return list(self._imports.values())

    def _said(self, said: Quoted) -> str:
        for name, statement in said.needs.items():
            self.define(name, statement)
        return said.text

    def function(self, function: Any) -> str:
        """The function's name, or the lambda itself; its source comes before."""
        return self._said(quoted(function, super().function(function), self.arrays, self._file))

    def array(self, array: Any, called: str) -> str:
        """The entry of `values` that the script makes before."""
        key = literal(called)
        if "values" not in self._defined:
            self.define("values", "values = {}")
        beside = len(self.arrays)
        text = self._said(array_text(array, called, self.arrays, self._file))
        note = f"  # editor.save writes {self._file} beside the script" if len(self.arrays) > beside else ""
        self.define(f"values {key}", f"values[{key}] = {text}{note}")
        return f"values[{key}]"

    def given(self, thing: Any, called: str) -> str:
        """The name, after a line that says what to give."""
        self.define(called, to_give(called, f"the {type(thing).__name__}"))
        return called

    def selection(self, part: Part) -> str:
        """The expression, or the names of the ops where that needs something that the script lacks."""
        text = super().selection(part)
        return text if stands_alone(text, {"editor"}) else call("ops", [*part.ops, *part.tensors])
