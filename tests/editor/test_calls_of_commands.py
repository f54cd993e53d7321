"""Methods that are made of commands: what people give, what JSON and scripts make of it, and
commands of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.nothing import says_nothing
from tfgraphwidget.cli.commands import _apply_fix
from tfgraphwidget.edits import registry
from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.passes.devices import RemoveDevices
from tfgraphwidget.edits.patch import Patch, Report
from tfgraphwidget.edits.rewrite.remove import Remove
from tfgraphwidget.lint.rule import LintContext
from tfgraphwidget.runtime.planning import SourceContext, _works, plan
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.request_handler import RequestHandler

NOTHING = {"command": "remove_devices", "arguments": {}}
RENAMED = {"command": "rename", "arguments": {"old": "loss", "new": "cost"}}


@pytest.mark.parametrize(
    ("edits", "made"), [([NOTHING], 0), ([RENAMED, NOTHING], 1), ([NOTHING, RENAMED], 1)]
)
def test_an_edit_of_a_file_of_edits_that_finds_nothing_is_no_step(
    edits: list[dict[str, Any]], made: int
) -> None:
    editor = tgw.example()
    assert editor.history.replay(edits) == made
    assert len(editor.history) == made


@pytest.mark.parametrize("outputs", [iter, map, tuple, list])
def test_outputs_are_gone_through_once(outputs: Callable[..., Any]) -> None:
    given = ["net/logits"]
    editor = tgw.example()
    report = editor.freeze(map(str, given) if outputs is map else outputs(given))
    assert len(report.removed) == 69


@pytest.mark.parametrize(
    "name", ["kind", "resolver", "self", "command", "arguments", "positional", "cls"]
)
def test_a_keyword_of_a_function_may_have_any_name(name: str) -> None:
    function = eval(f"lambda x, {name}=1: x * float({name})")  # a parameter of that name
    editor = tgw.example()
    editor.insert("net/hidden/Relu:0", function, into="twice", **{name: 2})
    assert editor.history[-1].command.options == ((name, 2),)


@dataclass(frozen=True)
class _KeywordOnly(Command):
    _: KW_ONLY
    kind: str = "some"

    def plan(self, context: PlanContext) -> Patch:
        return Patch(report=Report((f"{self}",)))


@dataclass(frozen=True)
class TakeNote(_KeywordOnly):
    """Note something."""

    op: str
    tags: tuple[str, ...] = field(default_factory=tuple)


@pytest.fixture
def noted() -> Iterator[tgw.GraphEditor]:
    registry.register(TakeNote)
    yield tgw.example()
    registry.unregister("take_note")


def test_a_command_of_others_has_defaults_that_are_made_and_fields_of_a_base(
    noted: tgw.GraphEditor,
) -> None:
    editor: Any = noted
    editor.take_note(editor.ops("loss").ops[0], kind="other")
    assert editor.history[-1].command == TakeNote("loss", kind="other")
    editor.take_note("loss", ("a",))
    assert editor.history[-1].command == TakeNote("loss", ("a",))


@pytest.mark.parametrize("dtype", ["float16", np.dtype("float16")])
def test_a_dtype_may_be_one_of_numpy(dtype: Any) -> None:
    editor = tgw.example()
    editor.freeze("net/logits:0", "x:0")
    assert editor.passes.cast(dtype)
    assert editor.history[-1].command.dtype == "float16"


def test_a_device_is_given_and_none_is_tensorflows_choice() -> None:
    editor = tgw.example()
    editor.set_device("net/hidden/Relu", "/device:CPU:0")
    with pytest.raises(TypeError, match=r"set_device\(\) missing a required argument: 'device'"):
        editor.set_device("net/hidden/Relu")  # type: ignore[call-arg]
    editor.set_device("net/hidden/Relu", None)
    assert editor.graph.get_operation_by_name("net/hidden/Relu").device == ""


def test_a_fix_that_does_nothing_is_none() -> None:
    context = SourceContext(tgw.example()._core.executor)
    assert not _works(RemoveDevices(), context)
    assert _works(Remove("loss", consumers=True), context)


def test_lint_and_the_command_line_take_no_fix_that_does_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    editor = tgw.example()
    planned = SourceContext(editor._core.executor)
    context: Any = SimpleNamespace(plan=lambda command: plan(command, planned))
    assert LintContext.fix(context, RemoveDevices()) is None
    assert LintContext.fix(context, Remove("loss", consumers=True)) == Remove(
        "loss", consumers=True
    )
    assert not _apply_fix(editor, RemoveDevices())
    assert (
        "editor.passes.remove_devices() was not applied: No op of the graph has a device."
        in capsys.readouterr().err
    )
    assert not editor.history


def test_the_page_gets_no_rename_after_an_edit_that_found_nothing() -> None:
    editor = tgw.example()
    editor.rename("net", "net/core")
    reply: Any = RequestHandler(editor).handle(
        p.Change("remove_devices", inspected="net/core/hidden")
    )[0]
    assert (reply.edited.renamed, reply.edited.is_nothing) == ((), True)


def test_nothing_is_run_to_compare_where_nothing_was_done() -> None:
    says_nothing(
        tgw.example().passes.quantize_weights(minimum=10**9, feeds={"x:0": [[1, 2, 3, 4]]})
    )
    says_nothing(tgw.example().passes.remove_collection())


@pytest.mark.parametrize("noun", ["view", "passes", "signatures", "history"])
def test_a_misspelled_property_of_a_noun_is_an_error(noun: str) -> None:
    editor = tgw.example()
    with pytest.raises(AttributeError, match="no attribute 'directon' to set"):
        getattr(editor, noun).directon = "right"
    with pytest.raises(AttributeError, match="no attribute 'direction' to set"):
        editor.direction = "right"  # type: ignore[attr-defined]


def test_refusals_of_signatures_name_the_method_that_there_is() -> None:
    editor = tgw.example()
    editor.signatures.add("a", "x", "net/logits")
    with pytest.raises(tgw.GraphEditError, match=r"^signatures\.reorder\('a'"):
        editor.signatures.reorder("a", ["y"])
    with pytest.raises(TypeError, match=r"^signatures\.remove\(\) missing a required argument"):
        editor.signatures.remove()  # type: ignore[call-arg]
