"""The design as tests: who may import whom, and who may import which library."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.parsing import parsed

pytestmark = pytest.mark.no_tensorflow

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tfgraphwidget"

# Row, and where in the row: a package may import what has a lower pair.
ROWS = {
    "jupyterlab": (8, 1), "lab": (8, 2), "__main__": (8, 2),
    "widget": (7, 1), "cli": (7, 1), "graph_editor": (7, 1),
    "editor": (6, 1),
    "export": (5, 1),
    "lint": (4, 2), "runtime": (4, 1),
    "scene": (3, 4), "layout": (3, 3), "visible": (3, 2), "edits": (3, 1), "sources": (3, 1),
    "hierarchy": (3, 1),
    "graph": (2, 1),
    "writable": (1, 5), "argument_checks": (1, 5), "optional_packages": (1, 5),
    "naming": (1, 4), "messages": (1, 4), "tf_internals": (1, 4),
    "tensorflow_modules": (1, 3), "readable": (1, 3),
    "errors": (1, 2), "tf_releases": (1, 2), "tf_types": (1, 2), "progress": (1, 2),
    "cancellation": (1, 2), "idle_import": (1, 2),
    "sentences": (1, 1),
}  # fmt: skip

# TensorFlow is imported by `tensorflow_modules` alone, when it is first used.
ALLOWED = {
    "tensorflow": ("tensorflow_modules", "tf_types"),
    "anywidget": ("widget.widget",),
    "matplotlib": ("scene.rendering.matplotlib_axes",),
    "networkx": ("graph.nx", "layout.free_form.external"),
    # takes longer to import than a file to open; a layout by a function imports it by name
    "scipy": (),
}
_USERS_OF_TENSORFLOW = (
    "tf_internals",
    "sources.tf_protos",
    "sources.describe.op_catalog",
    "sources.example",
    "sources.files.importing",
    "sources.functions",
    "sources.live",
    "sources.opening",
    "sources.source",
    "sources.tf_errors",
    "runtime",
    "export",
    "graph_editor",
)

# Who may import TensorFlow's internals, and TensorFlow as something that is imported when it is
# used.
INTERNALS = "tf_internals"
MAY_IMPORT_INTERNALS = (
    *_USERS_OF_TENSORFLOW,
    "sources.describe.origins",
    "jupyterlab.namespace",
    "widget.kernel_namespace",
    "widget.model_facts",
)

# Who may name TensorFlow's internal modules otherwise, as strings.
INTERNAL_MODULES = ("tensorflow.python", "tensorflow.core")
MAY_NAME_INTERNAL_MODULES = {
    "tf_types": "imports messages for a type checker only",
    "tf_releases": "lists the private names, and looks for them in a TensorFlow that has been "
    "imported",
    "sources.tf_protos": "loads messages on first use, so that importing it does not import "
    "TensorFlow",
    "jupyterlab.namespace": "asks for the default graph of a kernel, without importing TensorFlow",
    "widget.kernel_namespace": "knows variables by the names of their classes, without importing "
    "TensorFlow",
}

# Private names of other libraries: of named tuples, threads and protocols of Python, and of
# ipykernel.
FOREIGN = {"_replace", "_fields", "thread._target", "thread._args", "_is_protocol", "_instance"}
_OWN = ("self", "cls")
_BY_NAME = {"getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller"}

# Of other packages a module imports the names of a front only: of a stub `__init__.pyi`, or of
# `__all__`. But `lab` is an older name of `jupyterlab`.
SIBLINGS = {"jupyterlab": ("lab",)}
PACKAGES = frozenset(path.parent.name for path in PACKAGE.glob("*/__init__.py"))

MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.fixture(scope="module", autouse=True)
def _kept_code() -> Iterator[None]:
    """Parsing takes a third of the time where the collector does not go through 700,000 nodes again
    and again.
    """
    gc.disable()
    yield
    gc.enable()
    nodes.cache_clear()


def dotted(path: Path) -> str:
    """The module's name inside the package: 'runtime.live.graph_import', 'graph', '' for the
    package itself.
    """
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> tuple[tuple[int, str], ...]:
    """(line, full dotted name) of everything imported anywhere in a file: in functions and under
    TYPE_CHECKING too.
    """
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    package = path.relative_to(ROOT).parent.parts
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join((*base, *([node.module] if node.module else [])))
            yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in node.names)


@cache
def front_names(package: str) -> frozenset[str]:
    """The names that a package offers to others: "layout", "edits/clone"."""
    stub, front = PACKAGE / package / "__init__.pyi", PACKAGE / package / "__init__.py"
    if stub.is_file():
        body = ast.parse(stub.read_text(encoding="utf-8")).body
        return frozenset(
            alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
        )
    tree = ast.parse(front.read_text(encoding="utf-8")) if front.is_file() else ast.Module([], [])
    assigned = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    return (
        frozenset(ast.literal_eval(assigned["__all__"])) if "__all__" in assigned else frozenset()
    )


def is_in_front(name: str) -> bool:
    """Whether a front has a dotted name: "sources.Body", "edits.clone.node_copier"."""
    package, _, last = name.rpartition(".")
    return last in front_names(package.replace(".", "/"))


def private_names(code: Iterable[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """(line, object, name) of each private attribute that code reads, sets or names in a call of
    getattr and its like.

    What an object has of its own class ("self") is left out.
    """
    for node in code:
        names: list[object] = []
        if isinstance(node, ast.Attribute):
            owner, names = node.value, [node.attr]
        elif isinstance(node, ast.Call) and node.args and name_of(node.func) in _BY_NAME:
            owner, names = (
                node.args[0],
                [arg.value for arg in node.args if isinstance(arg, ast.Constant)],
            )
        for name in names:
            if (
                isinstance(name, str)
                and re.match("_[^_]", name)
                and (owner_text := ast.unparse(owner)) not in _OWN
            ):
                yield node.lineno, owner_text, name


def name_of(node: ast.expr) -> str:
    """The last name of an expression: "attrgetter" for `operator.attrgetter`."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


@cache
def defined_names(path: Path) -> frozenset[str]:
    """The names of functions, fields and attributes of `self` that code defines."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= (
                {node.attr}
                if isinstance(node.value, ast.Name) and node.value.id == "self"
                else set()
            )
    return frozenset(names)


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a file's code, the module first."""
    return tuple(ast.walk(parsed(path)))


@cache
def tensorflows_names() -> frozenset[str]:
    """The private attributes of TensorFlow's objects that `tf_internals` uses."""
    modules = (PACKAGE / INTERNALS).glob("*.py")
    return frozenset(name for path in modules for _, _, name in private_names(nodes(path)))


@cache
def names_of_the_package() -> frozenset[str]:
    return frozenset().union(
        *(defined_names(path) for path in MODULES if path.parent.name != INTERNALS)
    )


def wrong_names(path: Path) -> list[str]:
    """A sentence for each use of a private name of TensorFlow outside of `tf_internals`."""
    own = dotted(path)
    if own.split(".")[0] == INTERNALS:
        return []
    where, advice = path.relative_to(ROOT), f"put it after a function of {INTERNALS}"
    defined, known = defined_names(path), names_of_the_package()
    wrong = [
        f"{where}:{line}: {name} is a private name of TensorFlow; {advice}"
        for line, thing, name in private_names(nodes(path))
        if FOREIGN.isdisjoint({name, f"{thing}.{name}"})
        and name not in defined
        and (name in tensorflows_names() or name not in known)
    ]
    if own not in MAY_NAME_INTERNAL_MODULES:
        texts = (
            node
            for node in nodes(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        wrong += [
            f"{where}:{text.lineno}: {text.value} is an internal module of TensorFlow; {advice}"
            for text in texts
            if text.value.startswith(INTERNAL_MODULES)
        ]
    return wrong


def wrong_imports(path: Path) -> list[str]:
    """A sentence for each import that goes up, sideways, or to a library out of its place."""
    wrong = []
    own = dotted(path)
    top = own.split(".")[0]
    for line, name in imports(path):
        first, _, rest = name.partition(".")
        where = f"{path.relative_to(ROOT)}:{line}"
        if first in ALLOWED and not any(
            own == place or own.startswith(place + ".") for place in ALLOWED[first]
        ):
            wrong.append(f"{where}: only {', '.join(ALLOWED[first])} may import {first}")
        if name.startswith(INTERNAL_MODULES) and top not in (INTERNALS, "tf_types"):
            wrong.append(
                f"{where}: {name} is internal; put what it is needed for after a function of "
                f"{INTERNALS}"
            )
        target = rest.split(".")[0]
        if target in (INTERNALS, "tensorflow_modules") and not any(
            own == one or own.startswith(one + ".") for one in MAY_IMPORT_INTERNALS
        ):
            wrong.append(f"{where}: only {', '.join(MAY_IMPORT_INTERNALS)} may import {target}")
        if (
            first == PACKAGE.name
            and target in ROWS
            and own
            and target != top
            and ROWS[target] >= ROWS[top]
        ):
            wrong.append(
                f"{where}: {top} (row {ROWS[top][0]}) imports {target} (row {ROWS[target][0]})"
            )
        imported = rest.partition(".")[2]
        is_outside = (
            first == PACKAGE.name
            and own
            and target in PACKAGES
            and top not in (target, *SIBLINGS.get(target, ()))
        )
        if is_outside and imported and not is_in_front(rest):
            wrong.append(f"{where}: {imported} of {target} is not in its front")
        if first == PACKAGE.name and own and (not rest or target not in ROWS):
            wrong.append(f"{where}: {name} is not a module with a row; import the module itself")
    return wrong


def test_every_module_has_a_row():
    assert [name for name in map(dotted, MODULES) if name and name.split(".")[0] not in ROWS] == []


def test_no_front_has_a_name_that_is_one_of_its_modules_too():
    """Importing such a module would replace the function or class of its name in the package."""
    clashes = []
    for stub in PACKAGE.rglob("__init__.pyi"):
        beside = {path.stem for path in stub.parent.iterdir()}
        body = [
            node
            for node in ast.parse(stub.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom)
        ]
        clashes += [
            alias.name
            for node in body
            if node.module
            for alias in node.names
            if alias.name in beside
        ]
    assert clashes == []


def test_the_table_for_those_who_contribute_has_the_same_rows():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    # "     6  editor   what it does": two spaces or more between all; a row's later lines have no
    # number, and lie lower.
    found: dict[str, tuple[int, int]] = {}
    for block in re.findall(r"^ {4}\d  .+\n(?: {7}\w.+\n)*", text, re.MULTILINE):
        number, *lines = [int(block.split()[0]), *block.strip().splitlines()]
        for position, line in enumerate(reversed(lines), 1):
            *names, _ = re.split(r"\s{2,}", re.sub(r"^\s*\d?\s+", "", f" {line}"))
            found |= dict.fromkeys(names, (number, position))
    assert found == ROWS


def test_imports_go_down_and_libraries_stay_in_their_place():
    assert [wrong for path in MODULES for wrong in wrong_imports(path)] == []


@cache
def module_of(name: str) -> Path | None:
    """The module that a dotted name of the package comes from, through the stubs of fronts; None
    for a package.
    """
    base, _, last = name.rpartition(".")
    folder = ROOT.joinpath(*name.split("."))
    if folder.with_suffix(".py").is_file():
        return folder.with_suffix(".py")
    stub = ROOT.joinpath(*base.split(".")) / "__init__.pyi"
    if not stub.is_file():
        return ROOT.joinpath(*base.split(".")).with_suffix(".py") if base.count(".") else None
    for node in nodes(stub):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            if (alias.asname or alias.name) == last:
                return module_of(f"{base}.{node.module}.{alias.name}") if node.module else None
    return None


def test_no_modules_import_each_other_types_included():
    left = {
        path: {
            found
            for _, name in imports(path)
            if name.startswith(PACKAGE.name) and (found := module_of(name))
        }
        for path in MODULES
        if path.name != "__init__.py"
    }
    while free := {
        path for path, imported in left.items() if not (imported & left.keys()) - {path}
    }:
        left = {path: imported for path, imported in left.items() if path not in free}
    assert sorted(map(dotted, left)) == []  # these import each other, or a module that does


def test_private_names_of_tensorflow_are_used_in_one_module():
    assert [wrong for path in MODULES for wrong in wrong_names(path)] == []


@pytest.mark.parametrize(
    "line",
    [
        "graph._nodes_by_name",
        "op._set_attr('a', value)",
        "session._config = config",
        "getattr(session, '_closed', False)",
        "ids = attrgetter('_id')",
        "tensor._never_seen_before",
        "import_module('tensorflow.python.framework.ops')",
    ],
)
def test_the_check_notices_private_names(line, tmp_path, monkeypatch):
    tensorflows_names(), names_of_the_package()  # of the real package
    made_up = tmp_path / "tfgraphwidget" / "runtime" / "made_up.py"
    made_up.parent.mkdir(parents=True)
    made_up.write_text(
        f"def f(self):\n    self._config = 1\n    {line}" if "._config" not in line else line
    )
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "tfgraphwidget")
    assert len(wrong_names(made_up)) == 1


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        (
            "graph/made_up.py",
            "from tfgraphwidget.edits import Clone",
            "graph (row 2) imports edits (row 3)",
        ),
        (
            "hierarchy/made_up.py",
            "def f():\n    from ..sources import open_source",
            "imports sources (row 3)",
        ),
        (
            "edits/made_up.py",
            "from tfgraphwidget import layout",
            "edits (row 3) imports layout (row 3)",
        ),
        (
            "edits/made_up.py",
            "if TYPE_CHECKING:\n    import tensorflow as tf",
            "may import tensorflow",
        ),
        ("editor/made_up.py", "import networkx.algorithms", "may import networkx"),
        ("naming.py", "from tfgraphwidget import edit_anything", "not a module with a row"),
        (
            "export/verification/synthetic_feeds.py",
            "from tfgraphwidget.sources.paths import shorten",
            "paths.shorten of sources is not in",
        ),
        (
            "export/verification/synthetic_feeds.py",
            "from tfgraphwidget.sources import paths",
            "paths of sources is not in its front",
        ),
        ("sources/files/made_up.py", "import tensorflow", "may import tensorflow"),
        ("runtime/made_up.py", "import tensorflow as tf", "may import tensorflow"),
        (
            "edits/made_up.py",
            "from tfgraphwidget.tensorflow_modules import tf",
            "may import tensorflow_modules",
        ),
        ("tensorflow_modules.py", "from tensorflow.python.framework import ops", "ops is internal"),
        (
            "edits/made_up.py",
            "from tfgraphwidget.tf_internals import find_operation",
            "may import tf_internals",
        ),
    ],
)
def test_the_check_notices(module, line, complaint, tmp_path, monkeypatch):
    for package in ("sources", "edits", "layout", "graph"):  # of the real package
        front_names(package)
    made_up = tmp_path / "tfgraphwidget" / module
    made_up.parent.mkdir(parents=True)
    made_up.write_text(line)
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path / "tfgraphwidget")
    assert [complaint in found for found in wrong_imports(made_up)] == [True]
