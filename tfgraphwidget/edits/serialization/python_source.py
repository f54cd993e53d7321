"""Python scripts that repeat the edits of a history."""

from __future__ import annotations

import ast
import base64
import builtins
import inspect
import io
import re
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from types import CellType, FunctionType, ModuleType
from typing import NamedTuple

import numpy as np

from tfgraphwidget.edits.command import ValueWriter, literal
from tfgraphwidget.edits.context import Array
from tfgraphwidget.edits.entrance import Entrance
from tfgraphwidget.edits.history import Batch, Step
from tfgraphwidget.graph import Part, call, lambda_of
from tfgraphwidget.naming import attribute_at, tensorflow_name

# Python functions and values as source code that makes them again in another process.  A function
# comes with the names that it reads, from its closure and its module, each as a statement before
# it. A value without source (a variable, a session) becomes a line that says what to fill in.

_LARGEST = 1 << 20  # bytes of an array that is written into the source
_LONGEST = 10_000  # characters of a value
_NOT_KEYS = ("file", "allow_pickle")  # of arrays in a file: np.savez has parameters of these names
_SIMPLE = (type(None), bool, int, float, complex, str, bytes)
_INSTALLED = tuple(
    sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")
)

_Function = ast.FunctionDef | ast.Lambda

Arrays = dict[str, Array]
"""Arrays too large for source, by the name they have in the file beside the script."""


class SourceExpression(NamedTuple):
    """A Python expression.

    Attributes:
        text: Its source.
        statements: The statements that must come before it, by the name that each defines.
    """

    text: str
    statements: dict[str, str]


def expression_of(thing: object, name: str, arrays: Arrays, file: str) -> SourceExpression:
    """Write any value as Python.

    Args:
        name: The name that represents a value without source.
        arrays: Arrays over 1 MB are added here, and read from a NumPy archive.
    """
    return _ExpressionWriter(arrays, file).value(thing, name)


def array_expression(array: Array, name: str, arrays: Arrays, file: str) -> SourceExpression:
    """Write an array of any dtype as Python.

    Args:
        arrays: Arrays over 1 MB are added here.
    """
    if array.dtype.kind == "O":
        return SourceExpression(
            f"np.array({array.tolist()!r}, dtype=object)", {"np": "import numpy as np"}
        )
    statements, view = {"np": "import numpy as np"}, ""
    if array.dtype.type.__module__ == "ml_dtypes":  # NumPy's files forget what they are
        statements["ml_dtypes"], view = "import ml_dtypes", f".view(ml_dtypes.{array.dtype.name})"
        array = array.view(f"u{array.dtype.itemsize}")
    if array.nbytes > _LARGEST:
        free = (key for key in _numbered_names(name) if key not in _NOT_KEYS and key not in arrays)
        key = next((key for key, existing in arrays.items() if existing is array), None) or next(
            free
        )
        arrays[key] = array
        return SourceExpression(f'np.load("{file}")[{key!r}]{view}', statements)
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    statements |= {"base64": "import base64", "io": "import io"}
    return SourceExpression(
        f'np.load(io.BytesIO(base64.b64decode("{base64.b64encode(buffer.getvalue()).decode()}"))){view}',
        statements,
    )


def assignment_to_fill(name: str, what: str) -> str:
    """The statement that leaves a variable of the script to be filled in, with a comment that says
    what its value is.
    """
    return f"{name} = ...  # give here {what}"


def reads_only(expression: str, names_in_scope: Collection[str]) -> bool:
    """Whether an expression reads no names but those `names_in_scope` and Python's own."""
    tree = ast.parse(expression, mode="eval")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {arg.arg for arg in ast.walk(tree) if isinstance(arg, ast.arg)}
    own |= {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    return all(
        name.id in names_in_scope or name.id in own or hasattr(builtins, name.id) for name in names
    )


class _ExpressionWriter:
    """Writes one value; a function that calls itself is written once."""

    def __init__(self, arrays: Arrays, file: str) -> None:
        self._arrays, self._file = arrays, file
        self._in_progress: set[int] = set()

    def value(self, thing: object, name: str) -> SourceExpression:
        """An expression for anything."""
        if _is_literal(thing):
            return SourceExpression(repr(thing), {})
        if isinstance(thing, np.ndarray | np.generic):
            return array_expression(np.asarray(thing), name, self._arrays, self._file)
        expression = _public(thing)
        if expression is not None:
            return expression
        if callable(thing):
            plain = getattr(thing, "python_function", None) or inspect.unwrap(thing)
        else:
            plain = thing
        if isinstance(plain, FunctionType):
            return self._function(plain, name)
        kind = f"{type(thing).__module__.partition('.')[0]} {type(thing).__name__}"
        return SourceExpression(
            name, {name: assignment_to_fill(name, f"the {kind.removeprefix('builtins ')}")}
        )

    def _function(self, function: FunctionType, name: str) -> SourceExpression:
        own = function.__name__ if function.__name__.isidentifier() else name
        if id(function) in self._in_progress:
            return SourceExpression(own, {})
        self._in_progress.add(id(function))
        tree, text = _source(function)
        if tree is None:
            return SourceExpression(
                own, {own: assignment_to_fill(own, f"the function {function.__qualname__!r}")}
            )
        statements: dict[str, str] = {}
        for free, free_value in _free_names(function, tree):
            expression = self.value(free_value, free) if free != own else SourceExpression(own, {})
            if expression.text == free:
                more = expression.statements
            else:
                more = {**expression.statements, free: f"{free} = {expression.text}"}
            if any(statements.get(name, text) != text for name, text in more.items()):
                # Two closures, one name.
                return SourceExpression(
                    own, {own: assignment_to_fill(own, f"the function {function.__qualname__!r}")}
                )
            statements |= more
        if isinstance(tree, ast.Lambda):
            return SourceExpression(text, statements)
        return SourceExpression(own, {**statements, own: text})


def _numbered_names(name: str) -> Iterator[str]:
    yield name
    k = 1
    while True:
        yield f"{name} {k}"
        k += 1


def _is_literal(thing: object) -> bool:
    """Whether `repr` gives it back."""
    if isinstance(thing, float):
        return thing - thing == 0  # neither infinite nor no number
    if type(thing) in _SIMPLE:
        return len(repr(thing)) <= _LONGEST
    if isinstance(thing, list | tuple | set) and type(thing) in (list, tuple, set):
        return (
            len(thing) <= _LONGEST
            and all(map(_is_literal, thing))
            and (bool(thing) or type(thing) is not set)
        )
    return (
        type(thing) is dict
        and len(thing) <= _LONGEST
        and all(map(_is_literal, (*thing, *thing.values())))
    )


# Values that another process can import


def _public(thing: object) -> SourceExpression | None:
    """The import of an object of an installed package; None for an object that the user wrote."""
    if isinstance(thing, ModuleType):
        return _module(thing)
    if isinstance(thing, float):
        return SourceExpression(f'float("{thing}")', {})
    if type(thing).__module__.startswith("tensorflow.") and type(thing).__name__ == "DType":
        return SourceExpression(repr(thing), {"tf": "import tensorflow as tf"})
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", None)
    if not isinstance(name, str):
        return None
    home = str(getattr(thing, "__module__", ""))
    public_name = tensorflow_name(thing)
    if public_name:
        return SourceExpression(public_name, {"tf": "import tensorflow as tf"})
    module = sys.modules.get(home)
    if module is None or not _is_installed(module) or attribute_at(module, name) is not thing:
        return None
    if module is builtins:
        return SourceExpression(name, {})
    first = name.partition(".")[0]
    return SourceExpression(name, {first: f"from {module.__name__} import {first}"})


def _module(module: ModuleType) -> SourceExpression:
    name = module.__name__.replace("tensorflow._api.v2", "tensorflow")
    if name.startswith("tensorflow"):  # most of its parts cannot be imported by their names
        return SourceExpression(
            f"tf{name.removeprefix('tensorflow')}", {"tf": "import tensorflow as tf"}
        )
    if name == "numpy":
        return SourceExpression("np", {"np": "import numpy as np"})
    top = name.partition(".")[0]
    return SourceExpression(name, {top if name == top else name: f"import {name}"})


def _is_installed(module: ModuleType) -> bool:
    """Whether it is Python's own or of a package; what lies beside a notebook is the person's."""
    file = getattr(module, "__file__", None)
    return module.__name__ != "__main__" and (file is None or str(file).startswith(_INSTALLED))


# Functions of the user


def _source(function: FunctionType) -> tuple[_Function | None, str]:
    """The syntax tree and the source of a function; (None, "") if the source is missing or
    ambiguous.
    """
    try:
        if function.__name__ == "<lambda>":
            node: _Function | None = lambda_of(function)
            text = ""
        else:
            text = textwrap.dedent(inspect.getsource(function)).rstrip()
            first = ast.parse(text).body[0]
            if isinstance(first, ast.FunctionDef) and first.name == function.__name__:
                node = first
            else:
                node = None
    except (OSError, TypeError, SyntaxError, ValueError):
        node = None
    if node is None:
        return None, ""
    changed = _inline_defaults(node, function)
    return node, ast.unparse(node) if changed or not text else text


def _inline_defaults(node: _Function, function: FunctionType) -> bool:
    """Put the values of a function's defaults in their place; remove annotations that cannot be
    resolved.
    """
    places: list[tuple[list[ast.expr] | list[ast.expr | None], int, object]] = [
        (node.args.defaults, k, value) for k, value in enumerate(function.__defaults__ or ())
    ]
    keyword_defaults = function.__kwdefaults__ or {}
    keyed = enumerate(node.args.kwonlyargs)
    places += [
        (node.args.kw_defaults, k, keyword_defaults[arg.arg])
        for k, arg in keyed
        if arg.arg in keyword_defaults
    ]
    changed = False
    for container, k, value in places:
        if not isinstance(container[k], ast.Constant) and _is_literal(value):
            container[k], changed = ast.parse(repr(value), mode="eval").body, True
    visible = {*_visible_names(function), *dir(builtins)}
    noted = [
        arg for arg in ast.walk(node) if isinstance(arg, ast.arg) and arg.annotation is not None
    ]
    texts = [arg.annotation for arg in noted] + [getattr(node, "returns", None)]
    if any(
        name.id not in visible
        for text in texts
        if text
        for name in ast.walk(text)
        if isinstance(name, ast.Name)
    ):
        for arg in noted:
            arg.annotation = None
        changed = True
        if isinstance(node, ast.FunctionDef):
            node.returns = None
    return changed


def _visible_names(function: FunctionType) -> Mapping[str, object]:
    """The values of the names that a function uses and does not define."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    # One may be empty still.
    closure = {name: cell.cell_contents for name, cell in cells.items() if cell != CellType()}
    return {**function.__globals__, **closure}


def _free_names(function: FunctionType, node: _Function) -> Iterator[tuple[str, object]]:
    """The names that a function reads and does not define, with what they mean now."""
    around = _visible_names(function)
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    own = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    own |= {n.id for n in names if not isinstance(n.ctx, ast.Load)}
    for name in dict.fromkeys(n.id for n in names):
        if name in around and name not in own:
            yield name, around[name]


@dataclass(frozen=True, repr=False)
class Script:
    """A Python script.

    Attributes:
        text: The source.
        arrays: The arrays over 1 MB, which the script reads from a NumPy archive beside it.
    """

    text: str
    arrays: Arrays

    def __repr__(self) -> str:
        return self.text.removesuffix("\n")


def script(
    opened: str, path: tuple[str, ...], steps: Sequence[Step], file: str = "values.npz"
) -> Script:
    """Write the script that opens a source and repeats the steps.

    Args:
        path: The functions that are open then, outermost first.
        file: What the script calls the file of its arrays.
    """
    writer = _ScriptWriter(file)
    writer.define("tgw", "import tfgraphwidget as tgw")
    body = [*f"editor = {opened}".splitlines(), ""]
    is_imported, reserved, renew = False, set[str](), True
    batch: Batch | None = None
    definitions_at = 0
    for step in steps:
        start = len(body)
        if step.batch is not batch and step.batch is not None:
            # of the batch's functions: before it, since their text is not to be indented
            definitions_at = start
            body.append(step.batch.line)
            start += 1
        batch = step.batch
        body += _moves(path, step.path)
        path = step.path
        if step.imported and not is_imported:
            body.append(
                "editor.graph  # TensorFlow holds the graph from here on, and cannot change all of "
                "it in place"
            )
        if more := [name for name in step.reserved if name not in reserved]:
            body.append(f"editor.history.reserve({literal(more)})")
        is_imported, reserved = is_imported or step.imported, reserved | set(more)
        if step.renewed != renew and (step.renewed or step.patch.changed):
            renew = step.renewed
            body.append(f"editor.renew = {renew}")
        call_text = step.command.code(writer, where=step.where)
        if batch is None:
            body += writer.before()
        else:
            definitions = [*writer.before()]
            body[definitions_at:definitions_at] = definitions
            definitions_at, start = definitions_at + len(definitions), start + len(definitions)
        body.append(call_text)
        if batch is not None:
            body[start:] = [indent(line, "    ") for line in body[start:]]
        writer.forget(step.command.result_name())
    head = sorted(writer.imports(body), key=lambda text: (text.startswith("from"), text))
    return Script("\n".join([*head, "", *body]).rstrip() + "\n", writer.arrays)


def _moves(here: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
    """The lines that go from one open function to another, by the titles on the way."""
    shared = sum(1 for k in range(1, min(len(here), len(there)) + 1) if here[:k] == there[:k])
    moves = [f"editor.view.leave({shared - 1})"] if shared < len(here) else []
    for op, label, everywhere in map(Entrance.of, there[shared:]):
        arguments = [
            literal(op),
            *([literal(label)] if label else []),
            *(["everywhere=True"] if everywhere else []),
        ]
        moves.append(f"editor.view.enter({', '.join(arguments)})")
    return moves


class _ScriptWriter(ValueWriter):
    """The names in a script: each is defined before the line that uses it, and again when its
    meaning changes.
    """

    def __init__(self, file: str) -> None:
        self.arrays: Arrays = {}
        self._file = file
        self._defined: dict[str, str] = {}
        self._before: list[str] = []
        self._imports: dict[str, str] = {}

    def define(self, name: str, statement: str) -> None:
        """Write a statement that defines a name first."""
        if self._defined.get(name) == statement:
            return
        was_defined, self._defined[name] = name in self._defined, statement
        if statement.startswith(("import ", "from ")) and not was_defined:
            self._imports[name] = statement
        else:
            lines = statement.splitlines()
            self._before += ["", *lines, ""] if lines[0].startswith(("def ", "@")) else lines

    def before(self) -> list[str]:
        """The lines that come before the next one."""
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

    def _define_all(self, expression: SourceExpression) -> str:
        for name, statement in expression.statements.items():
            self.define(name, statement)
        return expression.text

    def function(self, function: Callable[..., object]) -> str:
        """The function's name, or the lambda itself; its source comes before."""
        return self._define_all(
            expression_of(function, super().function(function), self.arrays, self._file)
        )

    def array(self, array: Array, name: str) -> str:
        """The entry of `values` that the script makes before."""
        key = literal(name)
        if "values" not in self._defined:
            self.define("values", "values = {}")
        beside = len(self.arrays)
        text = self._define_all(array_expression(array, name, self.arrays, self._file))
        if len(self.arrays) > beside:
            note = f"  # editor.save writes {self._file} beside the script"
        else:
            note = ""
        self.define(f"values {key}", f"values[{key}] = {text}{note}")
        return f"values[{key}]"

    def external(self, value: object, name: str) -> str:
        """The name, after a line that says what to fill in."""
        self.define(name, assignment_to_fill(name, f"the {type(value).__name__}"))
        return name

    def selection(self, part: Part) -> str:
        """The expression, or the names of the ops where that needs something that the script
        lacks.
        """
        text = super().selection(part)
        return text if reads_only(text, {"editor"}) else call("ops", [*part.ops, *part.tensors])
