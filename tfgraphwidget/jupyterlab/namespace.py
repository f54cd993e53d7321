"""The notebook's variables: which of them hold a graph, and editors that become variables too.

No code of the user runs: classes are recognized by module and name, read from the type itself,
without a property, a proxy's `__class__` or a lazy module's `__getattr__`. A kernel that has not
loaded TensorFlow has no graph, and does not load it for this.
"""

from __future__ import annotations

import io
import itertools
import sys
import tokenize
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tfgraphwidget.cli import format_count
from tfgraphwidget.edits import BatchStep, Step
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.naming import function_name, known_instead
from tfgraphwidget.tf_types import Graph, Session
from tfgraphwidget.widget import Namespace, graph_kind, graphs_in, user_namespace

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

Tell = Callable[[dict[str, object]], None]

DEFAULT = ""  # the choice that is not a variable: TensorFlow's default graph
_MOST = 500  # choices; as many as a user can look through
# What was opened here, and its editor.
_opened: list[tuple[weakref.ref[object], weakref.ref[GraphEditor]]] = []


def list_choices(namespace: Namespace | None = None) -> list[dict[str, str]]:
    """The graphs that can be opened as {name, kind, about}: the default graph with ops, then
    variables by age.

    Names that begin with an underscore are left out.
    """
    variables = user_namespace() if namespace is None else namespace
    graphs = list(graphs_in(variables))
    default = _default_graph()
    has_variable = any(thing is default for _, thing, _ in graphs)
    if default is not None and default.version and not has_variable:  # 0 where it has no op
        graphs.insert(0, (DEFAULT, default, "default graph"))
    choices = []
    for name, thing, kind in graphs[:_MOST]:
        about = _about(thing, kind, default, variables)
        choices.append({"name": name, "kind": kind, "about": about})
    return choices


def _default_graph() -> Graph | None:
    """TensorFlow's default graph, outside of functions; None while TensorFlow is not loaded."""
    ops = sys.modules.get("tensorflow.python.framework.ops")
    return None if ops is None or not hasattr(ops, "get_default_graph") else ops.get_default_graph()


def _about(thing: Any, kind: str, default: object, variables: Namespace) -> str:
    """A short description; "" when reading it raises."""
    try:
        if kind == "editor":
            ops = format_count(len(thing._core.index), "op")
            edits = format_count(len(thing.history.done), "edit")
            return f"{ops}, {edits}"
        if kind == "session":
            return _size(thing, thing.graph, variables)
        if kind in ("default graph", "tf.Graph", "FuncGraph"):
            note = ", the default graph" if thing is default and kind == "tf.Graph" else ""
            return f"{_size(thing, thing, variables)}{note}"
        if kind == "Keras model":
            if thing.built:
                return f"{type(thing).__name__}, {format_count(len(thing.layers), 'layer')}"
            return "not built yet"
        return function_name(thing)
    except Exception:  # a user's subclass may raise anything
        return ""


def _size(thing: object, graph: Graph, variables: Namespace) -> str:
    """The number of ops, as the editor counts them: TensorFlow's graph keeps removed ops."""
    editor = _existing_editor(thing, variables)
    count = len(graph.get_operations()) if editor is None else len(editor._core.index)
    return format_count(count, "op")


def open_variable(name: object, namespace: Namespace | None = None) -> Panel:
    """Open an editor on a variable's graph, and make the editor a variable; an existing editor is
    used again.

    Raises UnknownName for a variable that is gone or holds no graph, and what `tfgraphwidget.edit`
    raises.
    """
    variables = user_namespace() if namespace is None else namespace
    thing = _variable_value(name, variables)
    existing = thing if graph_kind(thing) == "editor" else _existing_editor(thing, variables)
    editor = _create_editor(thing, variables) if existing is None else existing
    return Panel(
        editor,
        variables,
        title=str(name) if name else "default graph",
        is_new=existing is None,
        expression=_expression(thing, editor, variables),
    )


def _expression(thing: object, editor: GraphEditor, variables: Namespace) -> str:
    """The Python expression that opens it again, if a variable holds it; else ""."""
    if thing is editor:
        thing = next((of() for of, editor_of in _opened if editor_of() is editor), None)
    names: dict[int, str] = {}
    for name, value, kind in graphs_in(variables):
        if kind != "editor" and name.isidentifier():
            names[id(value)] = name
    if thing is None or id(thing) not in names:
        return ""
    arguments = names[id(thing)]
    if thing is not editor.session and id(editor.session) in names:
        arguments += f", session={names[id(editor.session)]}"
    return f"tgw.edit({arguments})"


def _variable_value(name: object, variables: Namespace) -> Any:
    if name == DEFAULT:
        return _default_graph() if _default_graph() is not None else _loaded_default()
    thing = variables.get(name) if isinstance(name, str) else None
    if thing is None or not graph_kind(thing):
        names = [names for names, _, _ in graphs_in(variables)]
        end = known_instead(str(name), [*names], "those with a graph are")
        raise UnknownName(f"There is no graph in a variable {name!r} any more{end}")
    return thing


def _loaded_default() -> NoReturn:
    raise UnknownName(
        "TensorFlow is not loaded in this kernel, so there is no graph; run the cells that make "
        "one."
    )


def _existing_editor(thing: object, variables: Namespace) -> GraphEditor | None:
    """The editor that was opened on this object before, here or in a cell."""
    _opened[:] = [pair for pair in _opened if pair[0]() is not None and pair[1]() is not None]
    for of, editor in _opened:
        if of() is thing:
            return editor()
    values: list[Any] = list(variables.values())
    for value in values:
        if graph_kind(value) == "editor":
            editor_in_cell: GraphEditor = value
            source = editor_in_cell._core.source
            if thing is source.graph or thing is source.session:
                return editor_in_cell
    return None


def _create_editor(thing: object, variables: Namespace) -> GraphEditor:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.sources import open_source
    from tfgraphwidget.widget import GraphWidget

    editor = GraphEditor(open_source(thing, _session_of(thing, variables)), show=GraphWidget)
    _opened.append((weakref.ref(thing), weakref.ref(editor)))
    return editor


def _session_of(thing: object, variables: Namespace) -> Session | None:
    """The only session among the variables that runs a graph, without a default session."""
    ops = sys.modules.get("tensorflow.python.framework.ops")
    if graph_kind(thing) != "tf.Graph" or ops is None or ops.get_default_session() is not None:
        return None
    from tfgraphwidget.tf_internals import is_closed

    sessions = {id(value): value for _, value, kind in graphs_in(variables) if kind == "session"}
    own = [session for session in sessions.values() if session.graph is thing]
    running = [session for session in own if not is_closed(session)]
    return running[0] if len(running) == 1 else None


class Panel:
    """One page's view of an editor.

    Attributes:
        editor: The editor.
        variable: Its name in the notebook.
        title: The name of the variable that it was opened on.
        is_new: Whether the editor was created for the panel, so that no code has set its view.
    """

    def __init__(
        self,
        editor: GraphEditor,
        variables: Namespace,
        title: str,
        *,
        is_new: bool = False,
        expression: str = "",
    ) -> None:
        self.editor = editor
        self.is_new = is_new
        self.title = title
        self._variables = variables
        self._expression = expression
        self.variable = _assign_variable(variables, "editor", editor)
        self._tell: Tell | None = None
        self._last_commands = self._commands()
        self._line = ""

    def follow(self, tell: Tell) -> None:
        """Call `tell` with `status()` after each edit from now on."""
        self._tell = tell
        self.editor._core.listeners.append(self._follow)

    def unfollow(self, _: Tell) -> None:
        """Stop calling the follower."""
        self._tell = None
        if self._follow in self.editor._core.listeners:
            self.editor._core.listeners.remove(self._follow)

    def status(self) -> dict[str, object]:
        """The state that a page shows. `line` is the Python of the newest edit, to insert into a
        cell.

        `opening` is the line that creates the editor again after a restart of the kernel; `count`
        counts the edits.
        """
        return {
            "title": self.title,
            "variable": self.variable,
            "opening": self._opening_line(),
            "dirty": bool(self._last_commands),
            "count": len(self._last_commands),
            "line": self._line,
        }

    def _opening_line(self) -> str:
        if not self._expression:
            return ""
        is_imported = self._variables.get("tgw") is sys.modules["tfgraphwidget"]
        before = "" if is_imported else "import tfgraphwidget as tgw; "
        return f"{before}{self.variable} = {self._expression}"

    def _commands(self) -> tuple[int, ...]:
        return tuple(id(step.command) for step in self.editor._core.executor.history.done)

    def _follow(self) -> None:
        """After an edit: inform the page, and make the edit's result a variable."""
        before, self._last_commands = self._last_commands, self._commands()
        if self._last_commands == before:
            return
        steps = self.editor.history.done
        self._line = self._edit_line(steps[-1]) if steps else ""
        if self._tell is not None:
            self._tell(self.status())

    def _edit_line(self, step: Step | BatchStep) -> str:
        """The line of an edit with the notebook's names of the variables."""
        # A cell may have given the name to another.
        self.variable = _assign_variable(self._variables, "editor", self.editor)
        names = {"editor": self.variable}
        for edit in step.steps if isinstance(step, BatchStep) else (step,):
            name, results = edit.command.result_name(), edit.results
            if name and results and _is_page_request():
                result = results[0] if len(results) == 1 else list(results)
                names[name] = _assign_variable(self._variables, name, result)
        return rename_variables(step.line, names)


def _assign_variable(variables: Namespace, name_hint: str, thing: object) -> str:
    """The name of an object's variable: the one it has, or a new one after `name_hint`."""
    for name, value in [(name_hint, variables.get(name_hint)), *variables.items()]:
        if isinstance(name, str) and not name.startswith("_") and _is_same(value, thing):
            return name
    name = next(name for name in _numbered_names(name_hint) if name not in variables)
    variables[name] = thing
    return name


def _is_same(value: object, thing: object) -> bool:
    """Whether it is the object, or a list of the same objects: undo and redo make new lists."""
    if type(value) is list and type(thing) is list and len(value) == len(thing):
        return all(a is b for a, b in zip(value, thing, strict=True))
    return value is thing


def _numbered_names(name: str) -> Iterator[str]:
    """The name, then name_2, name_3, ..."""
    yield name
    yield from (f"{name}_{number}" for number in itertools.count(2))


def _is_page_request() -> bool:
    """Whether the current request came from a page: a cell assigns names itself."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return True
    return bool(kernel.get_parent().get("header", {}).get("msg_type") != "execute_request")


def rename_variables(line: str, names: Mapping[str, str]) -> str:
    """A line of Python with its variables renamed; attributes, keywords and strings stay.

    >>> rename_variables(
    ...     "copy = editor.clone(into='copy', of=editor.copies)",
    ...     {"editor": "editor_2", "copy": "copy_2"},
    ... )
    "copy_2 = editor_2.clone(into='copy', of=editor_2.copies)"
    """
    starts = [0]
    for text in line.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    parts, end, before = [], 0, ""
    tokens = tokenize.generate_tokens(io.StringIO(line).readline)
    for token, after in itertools.pairwise(tokens):
        is_keyword = after.string == "=" and before in ("(", ",")
        is_variable = token.type == tokenize.NAME and before != "." and not is_keyword
        if is_variable and token.string in names:
            start = starts[token.start[0] - 1] + token.start[1]
            parts += [line[end:start], names[token.string]]
            end = starts[token.end[0] - 1] + token.end[1]
        before = token.string
    return "".join([*parts, line[end:]])
