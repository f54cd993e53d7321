"""Names in backticks in docstrings are names that there are: a rename that forgets one is found
here.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tfgraphwidget as tgw
from tests.editor.public_names import public_members
from tests.parsing import definitions, parsed
from tfgraphwidget.edits import registry

PACKAGE = Path(tgw.__file__).parent
NAME = re.compile(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`")
EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\.) .*$", re.MULTILINE)
SECTION = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)

# Names of TensorFlow, Keras, Python and networkx, and names that a sentence makes up.
OF_OTHERS = re.compile(
    r"(tf|keras|Graph|FuncGraph|Operation|Tensor|Variable|Condition|ConcreteFunction|FunctionSpec|RestoredFunction)\..*"
    r"|(Sequential|ControlFlowContext)\._.*"
    r"|_?(branch_graph_0|list_all_concrete_functions)|DenseHashTable|RewriterConfig|disable_eager_execution|load_model"
    r"|float32_ref|gradient_override_map|packaging|partial_run|py_func|write_gexf|op\.X|(into|wanted)_\d|.*\.pyi"
)


@cache
def class_members() -> dict[str, set[str]]:
    """The names that each class of the package defines, with those of the classes that it inherits
    from.
    """
    own: dict[str, set[str]] = {}
    bases: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in definitions(parsed(path)):
            if isinstance(node, ast.ClassDef):
                own.setdefault(node.name, set()).update(members_of(node))
                bases.setdefault(node.name, []).extend(
                    ast.unparse(base).rpartition(".")[2] for base in node.bases
                )

    def with_bases(name: str) -> set[str]:
        return own.get(name, set()).union(
            *(with_bases(base.partition("[")[0]) for base in bases.get(name, ()))
        )

    return {name: with_bases(name) for name in own}


def members_of(node: ast.ClassDef) -> Iterator[str]:
    """The methods, fields and attributes of a class."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef):
            yield inner.name
        elif (
            isinstance(inner, ast.Attribute)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == "self"
        ):
            yield inner.attr
        elif isinstance(inner, ast.AnnAssign | ast.Assign):
            targets = [inner.target] if isinstance(inner, ast.AnnAssign) else inner.targets
            yield from (target.id for target in targets if isinstance(target, ast.Name))


@cache
def identifiers() -> set[str]:
    """Every word that stands in the package's code, texts of code included, and the names of its
    modules.
    """
    names = {*dir(builtins)}
    for path in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")):
        names |= {path.stem, path.parent.name}
        for node in ast.walk(parsed(path)):
            for attribute in ("name", "arg", "id", "attr", "asname"):
                word = getattr(node, attribute, None)
                names |= set(word.split(".")) if isinstance(word, str) else set()
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and len(node.value) < 60
            ):
                names |= set(re.findall(r"\w+", node.value))
    return names


@cache
def is_there(name: str) -> bool:
    """Whether a name in backticks is one of the package, or of others."""
    first, _, rest = name.partition(".")
    if OF_OTHERS.fullmatch(name):
        return True
    if rest and first in ("editor", "GraphEditor"):
        members = {*dir(tgw.GraphEditor), *public_members(), *registry.commands(), "_core"}
        is_module = (PACKAGE / "editor" / rest.partition(".")[0]).with_suffix(".py").exists()
        return rest in members or rest.partition(".")[0] in members or is_module
    if rest and first in class_members():
        return rest.partition(".")[0] in class_members()[first]
    return all(part in identifiers() for part in name.split(".") if part)


def wrong_names(path: Path) -> Iterator[str]:
    """The names in backticks in a module's docstrings that are nowhere."""
    module = parsed(path)
    for node in (module, *definitions(module)):
        text = EXAMPLE.sub("", ast.get_docstring(node) or "")
        yield from (name for name in NAME.findall(text) if not is_there(name))


def test_names_in_backticks_in_docstrings_exist() -> None:
    # graph_editor's docstrings name what tf.contrib.graph_editor had.
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if "graph_editor" not in path.parts]
    wrong = {
        str(path.relative_to(PACKAGE)): names
        for path in paths
        if (names := sorted({*wrong_names(path)}))
    }
    assert wrong == {}


def test_a_name_that_is_nowhere_is_found() -> None:
    assert not is_there("editor.grow_all")
    assert not is_there("EditHistory.nothing")
    assert not is_there("no_such_word_anywhere_here"[::-1])
    assert is_there("editor.passes.cast")
    assert is_there("EditHistory.goto")


def private_docstrings_with_sections(path: Path) -> list[str]:
    """The private functions, classes and methods of a module whose docstrings have sections."""
    module = parsed(path)
    private = []
    for node in definitions(module):
        if isinstance(node, ast.FunctionDef):
            private += definitions(node)
        if node.name.startswith("_") and not node.name.startswith("__"):
            private += [node, *definitions(node)]
    found = {node.name for node in private if SECTION.search(ast.get_docstring(node) or "")}
    return sorted(found)


def test_private_docstrings_are_sentences() -> None:
    found = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := private_docstrings_with_sections(path))
    }
    assert found == {}
