"""The registry: a command that is defined here has undo, code, JSON, replay, a method and a message
without more.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget
import tfgraphwidget as tgw
from tests.conftest import v1
from tests.editor import edit_method_types
from tests.parsing import parsed
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits import registry
from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import IndexContext, PlanContext
from tfgraphwidget.edits.patch import NodeChange, Patch, Report
from tfgraphwidget.edits.rewire.reroute import Reroute
from tfgraphwidget.edits.rewrite.rename import Rename
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph.selection import Selection
from tfgraphwidget.runtime.planning import SourceContext, plan
from tfgraphwidget.widget import protocol
from tfgraphwidget.widget.edit_buttons import buttons, other_forms
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.protocol.typescript import to_typescript
from tfgraphwidget.widget.request_handler import RequestHandler

PACKAGE = Path(tfgraphwidget.__file__).parent


@dataclass(frozen=True)
class TurnOver(Command):
    """Let an op of two inputs read them the other way round."""

    op: str
    note: str = ""

    def plan(self, context: PlanContext) -> Patch:
        index = context.index
        before = index.nodes[index.op(self.op)]
        if len(before.input) != 2:
            raise GraphEditError(
                f"turn_over: {self.op!r} has {len(before.input)} inputs; name an op of two."
            )
        after = type(before)()
        after.CopyFrom(before)
        after.input[:] = reversed(before.input)
        return Patch(
            changed=(NodeChange(before, after),), report=Report((self.note,) if self.note else ())
        )


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    registry.register(TurnOver)
    yield
    registry.unregister("turn_over")


@pytest.fixture
def editor() -> tgw.GraphEditor:
    """An editor of a graph that gives 3 - 2, with a session."""
    with tf.Graph().as_default() as graph:
        three, two = tf.constant(3.0, name="three"), tf.constant(2.0, name="two")
        tf.subtract(three, two, name="less")
        return tgw.edit(graph, session=v1.Session(graph=graph))


def less(editor: tgw.GraphEditor) -> float:
    return float(editor.session.run("less:0"))


def test_a_toy_command_is_planned_done_undone_and_done_again(editor: tgw.GraphEditor) -> None:
    assert TurnOver("less").plan(IndexContext(editor._core.index)).changed[0].after.input == [
        "two",
        "three",
    ]
    assert less(editor) == 1.0
    assert editor.apply(TurnOver("less", note="upside down")).notes == ("upside down",)
    assert less(editor) == -1.0
    line = 'editor.turn_over(op="less", note="upside down")'
    assert editor.undo() == line
    assert less(editor) == 1.0
    assert editor.redo() == line
    assert less(editor) == -1.0


def test_a_toy_command_has_a_method_and_its_code_is_run(
    editor: tgw.GraphEditor, tmp_path: Path
) -> None:
    file = tmp_path / "graph.pb"
    file.write_bytes(editor.graph.as_graph_def().SerializeToString(deterministic=True))
    opened = tgw.edit(file)
    assert opened.turn_over(opened.graph.get_operation_by_name("less")).changed == ("less",)
    opened.renew = False
    assert opened.turn_over("less").changed == ("less",)
    opened.undo()
    names: dict[str, tgw.GraphEditor] = {}
    exec(compile(opened.history.to_script().text, "script", "exec"), names)
    assert names["editor"]._core.index.nodes == opened._core.index.nodes
    assert list(opened._core.index.nodes[opened._core.index.op("less")].input) == ["two", "three"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'sideways'"):
        opened.turn_over("less", sideways=True)
    with pytest.raises(AttributeError, match="has no attribute 'turn_round'"):
        opened.turn_round("less")


def test_a_toy_command_is_json_and_is_replayed(editor: tgw.GraphEditor) -> None:
    editor.apply(TurnOver("less"))
    edits = json.loads(json.dumps(editor.history.records()))
    assert edits == [{"command": "turn_over", "arguments": {"op": "less"}}]
    editor.undo()
    assert editor.history.replay(edits) == 1
    assert less(editor) == -1.0
    with pytest.raises(
        GraphEditError, match=r"Edit 1 \(turn_over\) cannot be read: 'op' cannot be 5"
    ):
        editor.history.replay([{"command": "turn_over", "arguments": {"op": 5}}])
    with pytest.raises(
        GraphEditError, match=r"Edit 1 \(turn_over\) cannot be done: turn_over: 'two' has 0 inputs"
    ):
        editor.history.replay([{"command": "turn_over", "arguments": {"op": "two"}}])


def test_a_toy_command_is_asked_for_by_a_message_of_the_browser(editor: tgw.GraphEditor) -> None:
    message = {
        "id": 1,
        "type": "change",
        "command": "turn_over",
        "what": ["less"],
        "keys": ["note"],
        "values": ["'hm'"],
    }
    answers = RequestHandler(editor)
    answers.handle(codec.decode({"id": 0, "type": "refresh"})[1])
    reply, _ = answers.handle(codec.decode(message)[1])
    assert isinstance(reply, protocol.SceneReply)
    assert reply.edited is not None
    assert reply.edited.text == "Turn over: less. hm"
    assert less(editor) == -1.0
    assert '"turn_over"' in to_typescript()
    editor.selection = None
    with pytest.raises(GraphEditError, match="Nothing is selected"):
        answers.handle(codec.decode({**message, "what": []})[1])


def test_buttons_stand_in_their_order_and_ask_for_what_a_page_may_ask_for() -> None:
    commands = [command for command, _ in buttons()]
    assert commands.index("bypass") < commands.index("rename") < commands.index("insert")
    assert '{"command": "rename", "name": "Rename"' in to_typescript()
    assert set(commands) <= set(registry.requested_commands()), (
        "what a button asks for is a message of the browser"
    )


def test_each_field_of_a_form_is_an_argument_of_the_editor_s_method() -> None:
    for command, button in buttons():
        known = inspect.signature(
            getattr(tgw.GraphEditor, command, None) or registry.commands()[command]
        ).parameters
        assert {field.key for field in button.fields} <= known.keys(), command


def test_a_form_asks_as_the_method_takes_it() -> None:
    fields = {
        (command, field.key): field for command, button in buttons() for field in button.fields
    }
    assert fields["cast", "dtype"].kind == "choice"
    assert fields["cast", "dtype"].words == ("float16", "bfloat16")
    assert fields["cast", "dtype"].initial == "float16"
    assert fields["freeze", "inline"].initial == "False"
    assert fields["fold_constants", "limit"].initial == "102400"
    assert fields["set_device", "device"].optional
    kinds = {
        ("freeze", "inline"): "switch",
        ("fold_constants", "limit"): "count",
        ("rename_signature", "name"): "signature",
        ("order_signature", "outputs"): "keys",
        ("insert", "function"): "op_type",
        ("add_control_inputs", "ops"): "tensor",
        ("set_device", "device"): "text",
        ("rename", "new"): "text",
        ("set_constant", "value"): "python",
    }
    assert {key: fields[key].kind for key in kinds} == kinds


def test_the_other_forms_ask_for_fields_of_their_requests() -> None:
    kinds = {
        name: {field.key: field.kind for field in form} for name, form in other_forms().items()
    }
    assert kinds["clone"] == {
        "into": "text",
        "variables": "choice",
        "others": "states",
        "init": "choice",
        "placeholders": "switch",
        "reseed": "switch",
        "times": "count",
        "device": "text",
    }
    assert kinds["assign"] == {"variable": "text", "overwrite": "switch"}
    assert kinds["restore"] == {"path": "file"}
    values, *_ = other_forms()["feed"]
    assert values.words == ("zeros", "ones", "random", "variable", "file")


def test_the_parameters_of_a_method_are_the_fields_of_its_command_by_their_kinds() -> None:
    parameters = inspect.signature(tgw.GraphEditor.reroute).parameters
    assert [*parameters] == ["self", *(field.name for field in dataclasses.fields(Reroute))]
    assert parameters["old"].annotation == "TensorsLike"
    assert parameters["only"].kind is inspect.Parameter.KEYWORD_ONLY
    clone = inspect.signature(tgw.GraphEditor.clone)
    assert "selection" not in clone.parameters, "the first argument of a call is the selection"


def test_what_type_checkers_see_of_the_methods_is_up_to_date() -> None:
    written = edit_method_types.FILE.read_text(encoding="utf-8")
    assert written == edit_method_types.text(), "run python -m tests.editor.edit_method_types"


def test_a_command_that_is_not_registered_is_no_message_no_json_and_no_method(
    editor: tgw.GraphEditor,
) -> None:
    registry.unregister("turn_over")
    try:
        with pytest.raises(GraphEditError, match="'command' of a request cannot be 'turn_over'"):
            codec.decode({"id": 1, "type": "change", "command": "turn_over"})
        with pytest.raises(GraphEditError, match="'turn_over' is not a command"):
            editor.history.replay([{"command": "turn_over", "arguments": {"op": "less"}}])
        with pytest.raises(AttributeError):
            editor.turn_over("less")
        editor.apply(TurnOver("less"))  # a command is a value, registered or not
        assert less(editor) == -1.0
        with pytest.raises(GraphEditError, match=r"Edit 1 \(turn_over\) cannot be written"):
            editor.history.records()
    finally:
        registry.register(TurnOver)


def test_a_command_is_of_one_class_and_the_same_class_may_be_defined_again() -> None:
    @dataclass(frozen=True)
    class Reroute(Command):
        op: str

        def plan(self, context: PlanContext) -> Patch:
            return Patch()

    with pytest.raises(ValueError, match="the name 'reroute' is taken by tfgraphwidget"):
        registry.register(Reroute)
    again = type(
        "TurnOver",
        (TurnOver,),
        {"__module__": TurnOver.__module__, "__qualname__": TurnOver.__qualname__},
    )
    assert registry.register(again) is registry.commands()["turn_over"]


def test_a_command_is_found_by_its_name_before_its_module_is_imported() -> None:
    """The front has each registered class, under the name of its class."""
    registered = {
        node.name
        for path in (PACKAGE / "edits").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and "register" in {name_of(each) for each in node.decorator_list}
    }
    assert len(registered) > 35
    for name in registered:
        kind = getattr(tfgraphwidget.edits, name)
        assert name == "".join(word.capitalize() for word in kind.command_name().split("_"))
        assert registry.registration_of(kind.command_name()).kind is kind
    code = (
        "import sys; from tfgraphwidget.edits import registry\n"
        "print(registry.is_requested('rename'), registry.registration_of('patch'), "
        "registry.registration_of(''))\n"
        "print(*(name for name in sys.modules if name.startswith('tfgraphwidget.edits.re')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found, modules = done.stdout.splitlines()
    assert found == "True None None"
    assert "tfgraphwidget.edits.rewrite.rename" in modules.split()
    assert "tfgraphwidget.edits.rewrite.remove" not in modules.split()


def name_of(decorator: ast.expr) -> str:
    """The name of a decorator, with or without a call."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return function.id if isinstance(function, ast.Name) else ""


def test_options_of_a_method_have_the_defaults_of_the_command() -> None:
    """A method says the default itself: else reading its signature would import the command."""
    differing = {}
    for command, kind in registry.commands().items():
        parameters = inspect.signature(getattr(tgw.GraphEditor, command, kind)).parameters
        for field in dataclasses.fields(kind):
            usual = parameters[field.name].default if field.name in parameters else None
            if usual not in (
                None,
                inspect.Parameter.empty,
                field.default,
            ):  # None: the method finds it out
                differing[command, field.name] = usual, field.default
    assert differing == {}


def test_no_field_hides_what_a_command_is() -> None:
    @dataclass(frozen=True)
    class Describe(Command):
        code: str = ""  # type: ignore[assignment]

        def plan(self, context: PlanContext) -> Patch:
            return Patch()

    with pytest.raises(ValueError, match="'code' is a method of a command; rename the field"):
        registry.register(Describe)


def test_every_field_of_a_command_is_said_by_who_makes_it() -> None:
    """No field is filled in by somebody else: each is compared, printed, and written in code and
    JSON.
    """
    for command, kind in registry.commands().items():
        for field in dataclasses.fields(kind):
            assert field.compare, command
            assert field.repr, command
            assert field.init, command
            assert not field.metadata, command


def test_what_the_browser_may_ask_for_neither_reads_files_nor_calls_functions() -> None:
    assert not {"add", "clone", "call", "rename_key"} & set(registry.requested_commands())
    assert registry.commands().keys() > set(registry.requested_commands())


def test_a_patch_names_the_function_that_it_is_for() -> None:
    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="rows")])
    def outer(rows: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2.0), [0, rows])[1]

    editor = tgw.edit(outer)
    assert editor.apply(
        Rename("rows_0", "row") if "rows_0" in editor._core.index.ids else Rename("while", "loop")
    )
    assert editor.history.done[-1].patch.function == ""
    loop = next(
        name
        for name, kind in zip(editor._core.index.names, editor._core.index.types, strict=True)
        if kind.endswith("While")
    )
    editor.view.enter(loop, "body")
    editor.rename(next(iter(editor.ops(matching="mul$"))), "twice")
    assert editor.history.done[-1].patch.function in editor._core.target.index.functions


def test_planning_asks_the_context_for_what_tensorflow_knows(editor: tgw.GraphEditor) -> None:
    commands = [
        tfgraphwidget.edits.Insert("less:0", tf.abs, "positive"),
        tfgraphwidget.edits.SetConstant("two:0", 5.0),
    ]
    for command in commands:
        with pytest.raises(
            GraphEditError,
            match=r"cannot be planned without TensorFlow.*call editor\.apply\(command\)",
        ):
            command.plan(IndexContext(editor._core.index))
        context = SourceContext(editor._core.executor)
        patch = plan(command, context)
        assert editor.apply(command).added == tuple(node.name for node in patch.add.nodes)
    assert less(editor) == -2.0


def test_a_refusal_suggests_only_fixes_that_work(editor: tgw.GraphEditor) -> None:
    @dataclass(frozen=True)
    class Fussy(TurnOver):
        def suggested_fixes(self, context: PlanContext) -> tuple[Command, ...]:
            return TurnOver("two"), TurnOver("less")

        def plan(self, context: PlanContext) -> Patch:
            raise UnknownName("Fussy takes nothing.")

    with pytest.raises(
        UnknownName, match=r"Fussy takes nothing, such as editor\.turn_over\(op=\"less\"\)\."
    ) as refused:
        editor.apply(Fussy("less"))
    assert refused.value.fixes == (TurnOver("less"),)
    editor.apply(refused.value.fixes[0])
    assert less(editor) == -1.0


def test_selections_and_arrays_of_a_toy_command_are_carried_by_code_and_json(
    editor: tgw.GraphEditor,
) -> None:
    @dataclass(frozen=True)
    class Annotate(Command):
        part: Selection
        numbers: tuple[float, ...] = ()

        def plan(self, context: PlanContext) -> Patch:
            return Patch(
                report=Report(
                    tuple(f"{op}: {self.numbers}" for op in self.part.on(context.index).ops)
                )
            )

    # the hints of a class in a function see no names around it
    Annotate.__annotations__["part"] = Selection
    registry.register(Annotate)
    try:
        report = editor.annotate(editor.ops("two"), numbers=np.array([1.0, 2.0]))
        assert report.notes == ("two: (1.0, 2.0)",)
        assert editor.history.lines == (
            "editor.annotate(part=editor.ops('two'), numbers=[1.0, 2.0])",
        )
        edits = json.loads(json.dumps(editor.history.records()))
        assert editor.history.replay(edits) == 1
        assert editor.history.records() == edits * 2
    finally:
        registry.unregister("annotate")


def classes_of_commands() -> set[str]:
    return {kind.__name__ for kind in registry.commands().values()} | {"Command"}


def test_no_module_asks_which_command_a_command_is() -> None:
    """A ladder of isinstance would have to be extended for each new command; a method of the
    command is not.
    """
    names, found = classes_of_commands() - {"Command"}, []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parsed(path)):
            called = (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "isinstance"
            )
            if called and {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)} & names:
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_the_command_in_the_guide_for_contributors_is_a_whole_one(editor: tgw.GraphEditor) -> None:
    text = (PACKAGE.parent / "docs" / "contributing.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    registry.unregister("turn_over")
    exec(
        compile(block, "contributing.md", "exec"),
        globals() | {"register": registry.register, "kinds": kinds},
    )
    assert editor.turn_over("less").changed == ("less",)
    assert less(editor) == -1.0
    assert editor.undo() == 'editor.turn_over(op="less")'
    with pytest.raises(GraphEditError, match="turn_over: 'two' has 0 inputs; name an op of two"):
        editor.turn_over("two")
