"""Releases of TensorFlow that are too old or too new, or that lack a private name which this
package uses.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.conftest import build_mlp
from tests.rounds import ROUNDS
from tfgraphwidget import tf_internals, tf_releases
from tfgraphwidget.tf_releases import absent_names, private_names

ROOT = Path(__file__).parents[1]
NAMES = [(owner, name) for owner, names in private_names().items() for name in names]
# Read where a release has them; without, the thing has no such graph, function or layer.
OPTIONAL = {
    "_body_graph",
    "_branch_graph_",
    "_cond_graph",
    "_deleted",
    "_false_graph",
    "_functional",
    "_graph",
    "_handle_data",
    "_inputs_struct",
    "_nodes_by_depth",
    "_outputs_struct",
    "_py_funcs_used_in_graph",
    "_true_graph",
}
PYTHON = {"_current_frames"}  # what is Python's own, and not TensorFlow's


def used_names() -> Iterator[str]:
    """The private attributes, and the names of private modules, that tf_internals uses."""
    for path in sorted(Path(tf_internals.__file__).parent.glob("*.py")):
        yield from used_names_of(ast.parse(path.read_text(encoding="utf-8")))


def used_names_of(tree: ast.Module) -> Iterator[str]:
    """Those of one of its modules."""
    modules = {
        node.targets[0].id: ast.literal_eval(node.value.args[0])
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "lazy_module"
    }
    contexts = {
        function
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and "context" in arguments(function)
    }
    for node in tree.body:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                owner = ast.unparse(part.value)
                is_private = part.attr.startswith("_") and not part.attr.startswith("__")
                if is_private or (
                    owner in modules and not (owner == "context" and node in contexts)
                ):
                    yield part.attr
            elif (
                isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and re.fullmatch("_[a-z]\\w*", part.value)
            ):
                yield part.value


def arguments(function: ast.FunctionDef) -> set[str]:
    return {argument.arg for argument in function.args.args}


def test_every_private_name_that_is_used_is_listed() -> None:
    listed = {name for _, name in NAMES} | OPTIONAL | PYTHON
    assert set(used_names()) - listed == set()


def test_this_release_has_every_private_name() -> None:
    assert absent_names() == {}


def calls() -> dict[str, set[tuple[int | str, ...]]]:
    """How tf_internals calls each private function: the number of arguments by place, and those by
    keyword.
    """
    names, found = {name for _, name in NAMES}, dict[str, set[tuple[int | str, ...]]]()
    for path in sorted(Path(tf_internals.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in names
            ):
                continue
            is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
            if not is_open and ast.unparse(node.func.value) != "super()":
                keywords = sorted(str(keyword.arg) for keyword in node.keywords)
                found.setdefault(node.func.attr, set()).add((len(node.args), *keywords))
    return found


def test_every_call_of_a_private_function_is_listed_as_it_is_made() -> None:
    made = calls()
    assert {name: {shape} for name, shape in tf_releases._CALLS.items()} == {
        name: made[name] for name in tf_releases._CALLS
    }
    unlisted = made.keys() - tf_releases._CALLS.keys()
    for owner, name in NAMES:
        if name in unlisted:  # of C++: Python cannot tell what it takes
            with pytest.raises((TypeError, ValueError)):
                inspect.signature(member_of(owner, name))


def member_of(owner: str, name: str) -> Any:
    module, _, path = owner.partition(":")
    thing: Any = import_module(module)
    member = inspect.getattr_static(attrgetter(path)(thing) if path else thing, name, None)
    return getattr(member, "__func__", member)


@pytest.mark.parametrize("change", ["one more", "another keyword"])
def test_a_function_that_takes_other_arguments_in_a_release_is_noticed(change: str) -> None:
    unnoticed = []
    for owner, name in NAMES:
        if name not in tf_releases._CALLS or not inspect.isfunction(member_of(owner, name)):
            continue
        function, (_, *keywords) = member_of(owner, name), tf_releases._CALLS[name]
        if change == "another keyword" and not keywords:
            continue
        parameters = list(inspect.signature(function).parameters.values())
        if change == "one more":
            parameters = [inspect.Parameter("new", inspect.Parameter.POSITIONAL_ONLY), *parameters]
            parameters = [
                p.replace(kind=p.POSITIONAL_ONLY, default=p.empty)
                for p in parameters
                if p.kind < p.VAR_POSITIONAL
            ]
        else:
            parameters = [p for p in parameters if p.name not in keywords]
        function.__signature__ = inspect.Signature(parameters)
        absent_names.cache_clear()
        try:
            if name not in absent_names():
                unnoticed.append((owner, name))
        finally:
            del function.__signature__
    absent_names.cache_clear()
    assert unnoticed == []
    assert absent_names() == {}


def without(name: str, code: CodeType) -> CodeType:
    """The same code, which uses an attribute of another name."""
    constants = (without(name, one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(
        co_names=tuple("renamed" if one == name else one for one in code.co_names),
        co_consts=tuple("renamed" if one == name else one for one in constants),
    )


@contextmanager
def renamed(owner: str, name: str) -> Iterator[None]:
    """While this lasts, TensorFlow has a private name no more: it is called something else
    there.
    """
    module, _, path = owner.partition(":")
    thing: Any = import_module(module)
    thing = attrgetter(path)(thing) if path else thing
    undo: list[tuple[Any, str, Any]] = []
    try:
        for kind in thing.__mro__[:-1] if isinstance(thing, type) else (thing,):
            for key, member in list(vars(kind).items()):
                if key == name:
                    undo.append((kind, key, member))
                    delattr(kind, key)
                function = getattr(member, "fget", member)
                function = inspect.unwrap(getattr(function, "__func__", function))
                code = getattr(function, "__code__", None)
                if path and code is not None:
                    undo.append((function, "__code__", code))
                    function.__code__ = without(name, code)
        yield
    finally:
        for kind, key, member in reversed(undo):
            setattr(kind, key, member)


def test_each_private_name_that_a_release_calls_otherwise_is_noticed() -> None:
    unnoticed = []
    for owner, name in NAMES:
        absent_names.cache_clear()
        with renamed(owner, name):
            if name not in absent_names():
                unnoticed.append((owner, name))
    absent_names.cache_clear()
    assert unnoticed == []
    assert absent_names() == {}


# Each name in turn is absent: what a user does then works, or is refused in a sentence that has the
# name, and the graph and the session go on as they were. Prints for each name how many functions
# refuse, and what each step ended in.
ABSENT = """
import json, sys
import tensorflow as tf
import tfgraphwidget as tgw
from tests.conftest import build_mlp, build_while_loop, initialised
from tfgraphwidget import tensorflow_modules
from tfgraphwidget.errors import NothingTo, TensorFlowUnsupported
from tfgraphwidget.runtime.live import record_of
from tfgraphwidget.tf_releases import private_names

path, every = sys.argv[1], sys.argv[2] == "every"
module = tf.Module()
module.w = tf.Variable(tf.ones([2, 2]), name="w")
traced = tf.function(lambda x: tf.nn.relu(x @ module.w, name="y")).get_concrete_function(
    tf.TensorSpec([None, 2])
)
other = initialised(build_mlp(resource=True))
editors = {}


def opened(name, thing, **options):
    editors[name] = tgw.edit(thing, **options)
    return editors[name].scene()


LIVE = {
    "open": lambda: opened("graph", graph, session=session),
    "open loop": lambda: opened("loop", loop),
    "clone": lambda: editors["graph"].clone(["x:0"], ["net/logits:0"], into="copy"),
    "clone loop": lambda: editors["loop"].clone(outputs=["y:0"], into="copy"),
    "bypass": lambda: editors["graph"].bypass("net/two/out"),
}
OTHER = {
    "open file": lambda: opened("file", path),
    "bypass in file": lambda: editors["file"].bypass("net/two/out"),
    "clone in file": lambda: editors["file"].clone(["x:0"], ["net/logits:0"], into="copy",
        init="initial"),
    "open function": lambda: opened("function", traced),
    "bypass in function": lambda: editors["function"].bypass("y"),
    "module of function": lambda: editors["function"].module()(tf.ones([1, 2])),
    "open": lambda: opened("graph", graph, session=session),
    "write": lambda: bytes(editors["graph"]),
}
SLOW = {
    "undo": lambda: editors["graph"].undo(),
    "sync": lambda: tgw.sync(other, session),
    "renew": lambda: tgw.renew(session),
}


def state():
    hidden = record_of(graph).hidden
    ops = [op for op in graph.get_operations() if op.name not in hidden]
    edges = [
        (op.name, op.type, [t.name for t in op.inputs], [o.name for o in op.control_inputs])
        for op in ops
    ]
    items = {str(key): len(graph.get_collection_ref(key)) for key in graph.collections}
    return (
        edges,
        items,
        [session.run(variable).tolist() for variable in graph.get_collection("variables")],
    )


def run(steps):
    ends = {}
    before = state()
    for title, step in steps.items():
        try:
            step()
            before = state()
        except TensorFlowUnsupported as error:
            ends[title] = error.why if state() == before else "changed, and " + error.why
        except NothingTo:  # the edit before was refused
            pass
        except KeyError as error:  # nothing was opened
            ends[title] = (
                "" if error.args[0] in ("file", "function", "graph", "loop") else repr(error)
            )
        except Exception as error:
            ends[title] = repr(error)
    return ends


def replace(one, another):
    for name, loaded in tuple(sys.modules.items()):
        if name.startswith("tfgraphwidget"):
            vars(loaded).update(
                {key: another for key, value in vars(loaded).items() if value is one}
            )


for owner, names in (("", ("",)), *private_names().items()):
    is_editing = owner in private_names(editing=True)
    for name in names if every else names[:1]:
        editors.clear()
        graph, loop = build_mlp(resource=True), build_while_loop()
        session = initialised(graph)
        absent = {name: f"{owner}.{name}"} if name else {}
        tensorflow_modules.absent_names = lambda *, editing=False: (
            absent if is_editing or not editing else {}
        )
        refused = tensorflow_modules.refuse_absent_names()
        ends = run(
            {**LIVE, **OTHER, **SLOW} if every or not name else LIVE if is_editing else OTHER
        )
        for function, refusal in refused:
            replace(refusal, function)
        print(json.dumps([owner, name, is_editing or len(refused), ends]), flush=True)
        session.close()
"""


@pytest.mark.slow
def test_without_a_private_name_calls_work_or_are_refused_with_nothing_changed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mlp.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def(add_shapes=True).SerializeToString())
    command = [sys.executable, "-c", ABSENT, path, "every" if ROUNDS > 1 else "some"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    (_, _, _, ends), *lines = map(json.loads, done.stdout.splitlines())
    assert ends == {}
    assert len(lines) >= len(private_names())
    for owner, name, refusing, ends in lines:
        assert refusing, name
        assert "open file" not in ends
        for title, sentence in ends.items():
            private = rf"{owner}\.{name}, which is private in TensorFlow and not in 2\.\d+\.\d+"
            pattern = rf"\w+ needs {private}: run .*\."
            assert not sentence or re.fullmatch(pattern, sentence), (name, title, sentence)
        if refusing is True:
            assert {"clone", "bypass", "clone loop"} <= ends.keys(), (name, ends)


# Releases

ENTER = """
import warnings
warnings.simplefilter("always")
import tfgraphwidget as tgw
from tfgraphwidget.errors import GraphEditError
editor = tgw.edit(%r)
editor.bypass("net/two/out")
print(editor.clone(["x:0"], ["net/logits:0"], into="copy", init="initial"))
print(tgw.edit(editor.save(%r))._core.index.names == editor._core.index.names)
for use in (lambda: editor.session, lambda: editor.save("model.tflite")):
    try:
        use()
    except GraphEditError as error:
        print(type(error).__name__, error)
print(len(editor.history.done))
"""
IMPORTED = """
import tensorflow
import tfgraphwidget as tgw
tensorflow.__version__ = "2.15.1"
for _ in range(2):
    try:
        tgw.edit(tensorflow.Graph())
    except tgw.GraphEditError as error:
        print(error)
tensorflow.__version__ = "2.99.0-dev20270101"
print(tgw.example().clone(["x:0"], ["net/logits:0"], into="copy"))
"""


TOO_OLD = "needs TensorFlow 2.16 or newer, and 2.15.1"
UPGRADE = "pip install 'tensorflow>=2.16,<2.22', and restart Python."
MISSING = (
    "needs TensorFlow 2.16 or newer, which is not installed: run pip install "
    "'tfgraphwidget[tensorflow]'."
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a graph in a file."""
    path = tmp_path_factory.mktemp("model") / "mlp.pb"
    path.write_bytes(build_mlp(resource=True).as_graph_def(add_shapes=True).SerializeToString())
    return str(path)


def run(code: str, *paths: Path) -> tuple[list[str], str]:
    """The lines that a process printed, and what it wrote to its standard error."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=variables
    )
    return done.stdout.splitlines(), done.stderr


def test_where_an_old_tensorflow_is_installed_files_are_edited_and_what_needs_it_is_refused(
    model: str, tmp_path: Path
) -> None:
    installed = tmp_path / "tensorflow-2.15.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tensorflow\nVersion: 2.15.1\n"
    )
    lines, _ = run(ENTER % (model, str(tmp_path / "edited.meta")), tmp_path)
    assert lines == [
        "<Copy 'copy': 42 ops, 4 variables of its own>",
        "True",
        f"TensorFlowUnsupported session {TOO_OLD} is installed: run {UPGRADE}",
        f"TensorFlowMissing save('model.tflite'): Writing a '.tflite' file {MISSING}",
        "2",
    ]


@pytest.mark.slow
def test_an_old_tensorflow_that_was_imported_is_refused_and_of_a_newer_one_is_warned_once() -> None:
    lines, errors = run(IMPORTED)
    refusal = f"edit {TOO_OLD} is imported: run {UPGRADE}"
    assert lines == [refusal, refusal, "<Copy 'copy': 22 ops, 3 variables of its own>"]
    assert errors.count("TensorFlow 2.99.0-dev20270101 is newer than 2.21, the newest that") == 1
