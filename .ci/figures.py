"""Figures of the structure of the package and its page, by reading the files of a checkout.

python .ci/figures.py [TREE]
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (*FUNCTIONS, ast.ClassDef, ast.Module)
# Private names that are no library's: of Python's named tuples, threads and protocols, and of
# ipykernel.
PYTHONS = frozenset(
    {"_replace", "_fields", "_asdict", "_target", "_args", "_is_protocol", "_instance", "_thread"}
)


class Tree:
    """The modules of a checkout as the nodes of their syntax, and the stubs that are fronts of
    packages.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.package = root, root / "tfgraphwidget"
        self.paths = {self.dotted(path): path for path in sorted(self.package.rglob("*.py"))}
        self.walked = {
            name: [*ast.walk(ast.parse(path.read_text("utf-8")))]
            for name, path in self.paths.items()
        }
        self.nodes = [(name, node) for name, nodes in self.walked.items() for node in nodes]
        self.stubs = {
            self.dotted(path): ast.parse(path.read_text("utf-8"))
            for path in self.package.rglob("*.pyi")
        }

    def dotted(self, path: Path) -> str:
        """The name by which Python imports a file."""
        return ".".join(path.relative_to(self.root).with_suffix("").parts).removesuffix(".__init__")

    def imported(self, name: str) -> Iterator[str]:
        """The modules that a module imports, those of types too, through the stubs of fronts."""
        package = (
            name
            if name in self.stubs or self.paths[name].name == "__init__.py"
            else name.rpartition(".")[0]
        )
        for node in self.walked[name]:
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import | ast.ImportFrom)
                else []
            )
            if isinstance(node, ast.ImportFrom):
                base = (
                    package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
                )
                prefix = ".".join((*base, *([node.module] if node.module else [])))
                names = [f"{prefix}.{each}" for each in names]
            yield from filter(None, map(self.module_of, names))

    def module_of(self, name: str) -> str | None:
        """The module that defines what a dotted name stands for; None for what is not of the
        package.
        """
        base, _, last = name.rpartition(".")
        if name in self.paths or not base:
            return name if name in self.paths else None
        for node in self.stubs.get(base, ast.Module([], [])).body:
            if isinstance(node, ast.ImportFrom) and last in {
                alias.asname or alias.name for alias in node.names
            }:
                return self.module_of(
                    f"{base}.{node.module}.{last}" if node.module else f"{base}.{last}"
                )
        return base if base in self.paths else None

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """{module: the modules that it imports}."""
        return {name: {*self.imported(name)} - {name} for name in self.walked}


def line_counts(tree: Tree) -> tuple[int, int]:
    """(lines of code, lines of docstrings)."""
    code = docstring = 0
    for name, path in tree.paths.items():
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
        lines = {
            line
            for token in tokens
            if token.type
            not in (
                tokenize.COMMENT,
                tokenize.NL,
                tokenize.NEWLINE,
                tokenize.INDENT,
                tokenize.DEDENT,
            )
            for line in range(token.start[0], token.end[0] + 1)
            if token.string
        }
        owners = [node for node in tree.walked[name] if isinstance(node, DOCUMENTED)]
        firsts = [node.body[0] for node in owners if ast.get_docstring(node)]
        texts = {
            line for first in firsts for line in range(first.lineno, (first.end_lineno or 0) + 1)
        }
        code, docstring = code + len(lines - texts), docstring + len(texts)
    return code, docstring


def slivers(tree: Tree) -> list[str]:
    """The modules that one module of their own folder imports, and no other does."""
    users = defaultdict(set)
    for name, imported in tree.imports.items():
        for each in imported - {name.rpartition(".")[0]}:
            users[each] |= {name} if tree.paths[name].name != "__init__.py" else set()
    return [
        name
        for name, path in tree.paths.items()
        if path.name != "__init__.py" and len(users[name]) == 1
        if next(iter(users[name])).rpartition(".")[0] == name.rpartition(".")[0]
    ]


def ancestors(name: str, bases: dict[str, list[ast.expr]]) -> set[str]:
    """A class with all that it inherits from, by name."""
    own = [ast.unparse(base).partition("[")[0] for base in bases.get(name, ())]
    return {name, "object"}.union(*(ancestors(base, bases) for base in own))


def cycles(imports: dict[str, set[str]]) -> list[str]:
    """The modules that import each other, straight or through others."""

    def reached(start: str) -> set[str]:
        seen, ahead = set(), [start]
        while ahead:
            new = imports.get(ahead.pop(), set()) - seen
            seen |= new
            ahead += new
        return seen

    left = dict(imports)
    while free := {name for name, imported in left.items() if not imported & left.keys()}:
        left = {name: imported for name, imported in left.items() if name not in free}
    return [name for name in left if name in reached(name)]


def script_imports(root: Path) -> dict[str, set[str]]:
    """What each module in TypeScript imports, types included."""
    modules = {path.resolve(): path for path in (root / "labextension" / "src").rglob("*.ts")}
    texts = {
        path: re.findall(r'(?:from|import) "(\.[^"]+)"', path.read_text("utf-8"))
        for path in modules
    }
    return {
        str(path): {
            str(found)
            for text in imported
            for found in ((path.parent / text).resolve(), (path.parent / f"{text}.ts").resolve())
            if found in modules
        }
        for path, imported in texts.items()
    }


def private_names(tree: Tree) -> list[str]:
    """Private attributes of objects of other libraries, and imports of TensorFlow's internals,
    outside tf_internals.
    """
    outside = [
        (name, node)
        for name, node in tree.nodes
        if not {"tf_internals", "tf_types"} & {*name.split(".")}
    ]
    ours = {node.name for _, node in tree.nodes if isinstance(node, DOCUMENTED[:3])}
    ours |= {
        node.id
        for _, node in tree.nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    stored = [
        node
        for _, node in outside
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    ours |= {node.attr for node in stored if ast.unparse(node.value) == "self"} | PYTHONS
    found = []
    for _, node in outside:
        if (
            isinstance(node, ast.Attribute)
            and re.match("_[^_]", node.attr)
            and node.attr not in ours
        ):
            found += [node.attr] * (ast.unparse(node.value) not in ("self", "cls"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "tensorflow.python"
        ):
            found += [alias.name for alias in node.names]
    return found


# The modules of what a user calls; tests/test_reference.py has them too, and graph_editor's, whose
# docstrings are those of tf.contrib.graph_editor.
CALLED_BY_USERS = re.compile(
    r"tfgraphwidget(\.editor\.(\w+_api|graph_editor|splitting)|\.graph\.(selection|op|diff|patterns\.(builder|match))"
    r"|\.runtime\.(functions\.module_\w+|live\.clone_result)|\.layout\.compound|\.edits\.registry)?"
)


def parameters(tree: Tree) -> Iterator[tuple[int, bool]]:
    """(number of parameters, whether its docstring has each, in Args or as a word) of each function
    that users call.

    Setters have the docstrings of their properties.
    """
    for name, owner in tree.nodes:
        is_public = isinstance(owner, ast.Module) or (
            isinstance(owner, ast.ClassDef) and owner.name[0] != "_"
        )
        if not is_public or not CALLED_BY_USERS.fullmatch(name):
            continue
        for function in owner.body:
            if not isinstance(function, FUNCTIONS) or function.name[0] == "_":
                continue
            of, text = function.args, ast.get_docstring(function) or ""
            names = {each.arg for each in (*of.posonlyargs, *of.args, *of.kwonlyargs)} - {
                "self",
                "cls",
                "_",
            }
            if names and not re.search(
                r"overload|\.setter", " ".join(map(ast.unparse, function.decorator_list))
            ):
                words = {*re.findall(r"\w+", text.lower())}
                known = [
                    re.search(rf"(?m)^ *{each}\b.*:", text) or {each, *each.split("_")} & words
                    for each in names
                ]
                yield len(names), all(known)


def participles(tree: Tree) -> list[str]:
    """The functions that a bare participle names, by the words of `.ci/words.py`."""
    is_participle = runpy.run_path(str(Path(__file__).with_name("words.py")))[
        "PARTICIPLE"
    ].fullmatch
    return [
        node.name
        for _, node in tree.nodes
        if isinstance(node, FUNCTIONS) and is_participle(node.name)
    ]


HOMES = r"\bin_function\b|\btarget\.is_file\b|\bneeds_import\b|\bsource\.graph is (?:not )?None\b"
"""The questions where a graph lives."""
PLACES = "tfgraphwidget.editor.places."
CORE = re.compile(
    r"tfgraphwidget\.editor\.(?:places\..*|executor|edited_graph|edit_planner|planned_edit|previewing|graph_copies"
    r"|targets|body_target|function_bodies|file_copies|joining)"
)
"""What edits go through: the executor, the places, and the copies between them."""


def questions(tree: Tree) -> int:
    """How often a module of the editor and above asks where a graph lives, but for the places
    themselves.
    """
    above = (
        "tfgraphwidget.editor.",
        "tfgraphwidget.widget.",
        "tfgraphwidget.cli.",
        "tfgraphwidget.jupyterlab.",
    )
    asking = [
        path
        for name, path in tree.paths.items()
        if name.startswith(above) and not name.startswith(PLACES)
    ]
    return sum(len(re.findall(HOMES, path.read_text("utf-8"))) for path in asking)


def face(tree: Tree, kind: str) -> int:
    """The public names of an editor or of one of its nouns, with those of its base classes."""
    classes = {node.name: node for _, node in tree.nodes if isinstance(node, ast.ClassDef)}
    names = set[str]()
    for each in ancestors(kind, {name: node.bases for name, node in classes.items()}):
        for member in classes[each].body if each in classes else ():
            if isinstance(member, FUNCTIONS):
                names.add(member.name)
            elif isinstance(member, ast.Assign):
                names |= {ast.unparse(target) for target in member.targets}
    return sum(not name.startswith("_") for name in names)


def large_constructors(tree: Tree) -> int:
    """The constructors that are written out with more than six parameters."""
    functions = [
        node for _, node in tree.nodes if isinstance(node, FUNCTIONS) and node.name == "__init__"
    ]
    return sum(len((*node.args.args, *node.args.kwonlyargs)) - 1 > 6 for node in functions)


def lines_by_package(tree: Tree) -> dict[str, int]:
    """The lines of each package of the first row, docstrings included."""
    lines: Counter[str] = Counter()
    for name, path in tree.paths.items():
        parts = name.split(".")
        lines[parts[1] if len(parts) > 2 else ""] += len(path.read_text("utf-8").splitlines())
    return dict(sorted(lines.items()))


def figures(root: Path) -> Iterator[tuple[str, object]]:
    """(what is counted, the figure) of each row."""
    tree = Tree(root)
    code, docstring = line_counts(tree)
    layering = (root / "tests" / "test_layering.py").read_text("utf-8")
    rows = re.search(r"^ROWS = (\{.*?^\})", layering, re.MULTILINE | re.DOTALL)
    classes = [node for _, node in tree.nodes if isinstance(node, ast.ClassDef)]
    known = [*parameters(tree)]

    def share(kept: Iterable[bool]) -> str:
        return f"{sum(listed := [*kept])} of {len(listed)}"

    yield (
        "modules, without __init__",
        sum(path.name != "__init__.py" for path in tree.paths.values()),
    )
    yield "lines of code", code
    yield "lines of docstrings", docstring
    for package, lines in lines_by_package(tree).items():
        yield f"  lines in {package or 'the top level'}, with docstrings", lines
    core = [path for name, path in tree.paths.items() if CORE.fullmatch(name)]
    yield (
        "lines that edits go through, with docstrings",
        sum(len(p.read_text("utf-8").splitlines()) for p in core),
    )
    yield "asks where a graph lives, outside the places", questions(tree)
    yield "constructors with more than six parameters", large_constructors(tree)
    yield "modules that one sibling imports, and no other module", len(slivers(tree))
    numbers = ast.literal_eval(rows[1]).values() if rows else ()
    yield (
        "rows of layers",
        len({number[0] if isinstance(number, tuple) else number for number in numbers}),
    )
    for kind in ("GraphEditor", "View", "Passes", "Signatures", "EditHistory"):
        yield f"public names of {kind}", face(tree, kind)
    yield (
        "length of GraphEditor.__mro__",
        len(ancestors("GraphEditor", {node.name: node.bases for node in classes})),
    )
    yield "private names of TensorFlow outside tf_internals", len(private_names(tree))
    casts = [
        node.args[0]
        for _, node in tree.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "cast"
    ]
    names = [node.id for _, node in tree.nodes if isinstance(node, ast.Name)]
    yield (
        "Any",
        names.count("Any")
        + sum(isinstance(kind, ast.Constant) and kind.value == "Any" for kind in casts),
    )
    yield "functions named by a bare participle", len(participles(tree))
    yield (
        "class names in several modules",
        sum(count > 1 for count in Counter(node.name for node in classes).values()),
    )
    yield (
        "functions that users call, with all parameters documented",
        share(is_whole for _, is_whole in known),
    )
    yield (
        "  those with three parameters and more",
        share(is_whole for count, is_whole in known if count > 2),
    )
    yield "modules in import cycles, types included: Python", len(cycles(tree.imports))
    yield "modules in import cycles, types included: TypeScript", len(cycles(script_imports(root)))


if __name__ == "__main__":
    for label, figure in figures(
        Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    ):
        print(f"{label:62}{figure:>12}")  # noqa: T201
