"""The editor is composed: flat, stateless bases over one core, whose parts others use by public
names.
"""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tests.editor.public_names import NOUNS, public_members, public_methods
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.analysis_api import AnalysisAPI
from tfgraphwidget.editor.command_methods import EditMethod
from tfgraphwidget.editor.edit_api import EditAPI
from tfgraphwidget.editor.edit_methods import EditMethods, Passes, SignatureMethods
from tfgraphwidget.editor.file_api import FileAPI
from tfgraphwidget.editor.graph_editor import GraphEditor
from tfgraphwidget.editor.pattern_api import PatternAPI
from tfgraphwidget.editor.selection_api import SelectionAPI

ROOT = Path(__file__).parents[2]
LISTS = (EditMethods, SignatureMethods, Passes)
BASES = (SelectionAPI, EditMethods, EditAPI, PatternAPI, AnalysisAPI, FileAPI)
OUTSIDE = [
    path
    for folder in ("tfgraphwidget", "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.parent != ROOT / "tfgraphwidget" / "editor"
]
# A name of IPython's, and the parts of an editor, for widgets and tools.
TOOLS = {
    "_repr_mimebundle_",
    "_core",
}


def test_the_bases_are_flat_and_without_state() -> None:
    assert GraphEditor.__mro__ == (GraphEditor, *BASES, ArgumentChecks, object)
    for base in LISTS[:2]:
        assert {type(member) for name, member in vars(base).items() if name[:1] != "_"} == {
            EditMethod
        }
    for base in BASES:
        assert inspect.get_annotations(base).keys() == (set() if base in LISTS else {"_core"})
        assert not {"__init__", "__new__", "__setattr__"} & vars(base).keys()
    assert vars(tgw.example()).keys() == {"_core"}


def test_no_method_overrides_another() -> None:
    names = [
        name for cls in (GraphEditor, *BASES) for name in vars(cls) if not name.startswith("__")
    ]
    assert len(names) == len(set(names))


def private_reads(text: str) -> list[str]:
    """The private attributes that are read of something called an editor."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr.startswith("_")
            and not node.attr.startswith("__")
        ):
            owner = ast.unparse(node.value)
            if owner.split(".")[-1] in ("editor", "_editor") and node.attr not in TOOLS:
                found.append(f"{owner}.{node.attr}")
    return found


def test_nobody_outside_reads_what_is_private_to_an_editor() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in OUTSIDE}
    suspects = {name: text for name, text in texts.items() if "editor._" in text}
    assert {name: found for name, text in suspects.items() if (found := private_reads(text))} == {}


def test_the_check_of_private_reads_notices() -> None:
    assert private_reads("print(self._editor._core, editor._live.x)") == ["editor._live"]


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tgw.example().nothing  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"it is editor\.passes\.fold_constants"):
        _ = tgw.example().fold_constants  # type: ignore[attr-defined]


def test_the_overview_of_help_names_each_public_name() -> None:
    overview = (GraphEditor.__doc__ or "").partition("By task:\n")[2].partition("\n\n")[0]
    listed = set()
    for line in re.sub(r",\n\s+", ", ", overview).strip().splitlines():
        subject, _, names = line.strip().partition(":")
        noun = next((noun for noun in NOUNS if subject.startswith(f"editor.{noun},")), "")
        group = NOUNS[noun] if noun else GraphEditor
        found = [name.strip() for name in names.split(",")]
        assert [
            name for name in found if name != "bytes(editor)" and not hasattr(group, name)
        ] == [], line
        listed |= {noun or name for name in found}
    assert {name for name in dir(GraphEditor) if name[0] != "_"} - listed == set()


def test_an_editor_has_at_most_sixty_names() -> None:
    assert len([name for name in dir(tgw.example()) if not name.startswith("_")]) <= 60


def test_help_shows_what_a_user_calls() -> None:
    text = pydoc.render_doc(GraphEditor, renderer=pydoc.plaintext)
    assert "variables: 'object' = 'own'" in text
    for name in ("paint(", "tints(", "foresee(", "likely(", "is_outdated(", "default_init("):
        assert f" {name}" not in text


def test_every_option_of_clone_is_in_the_signature_and_the_docstring() -> None:
    method = GraphEditor.clone
    parameters = list(inspect.signature(method).parameters)[1:]
    assert {"variables", "init", "times", "device", "graph"} <= set(parameters)
    doc = inspect.getdoc(method) or ""
    assert [option for option in parameters if f"\n    {option}: " not in doc] == []


@pytest.mark.parametrize("name", sorted(public_methods()))
def test_every_parameter_of_a_public_method_is_documented(name: str) -> None:
    method = public_members()[name]
    doc = inspect.getdoc(method) or ""
    parameters = [p.name for p in inspect.signature(method).parameters.values() if p.name != "self"]
    assert [parameter for parameter in parameters if f"\n    {parameter}: " not in doc] == []
    returns = inspect.signature(method).return_annotation not in (None, "None")
    assert returns == ("\nReturns:\n" in doc)
    assert "\nExample:\n" in doc
