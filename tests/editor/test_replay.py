"""Edits as data: what `edits()` gives makes an equal graph in another editor; what is no such data
does nothing.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tests.conftest import INCEPTION, build_mlp, initialised, read, v1
from tests.editor.test_script import seen
from tfgraphwidget.edits.registry import commands
from tfgraphwidget.errors import GraphEditError

Edit = Callable[[tgw.GraphEditor], Any]


def model() -> tf.Graph:
    """The mlp with a batch normalisation of constants after a convolution, and a dead end."""
    graph = build_mlp(resource=True)
    with graph.as_default():
        image = v1.placeholder(tf.float32, [None, 4, 4, 2], name="image")
        kernel = tf.constant(
            np.linspace(0, 1, 54, dtype=np.float32).reshape(3, 3, 2, 3), name="kernel"
        )
        conv = tf.nn.conv2d(image, kernel, 1, "SAME", name="conv")
        two = [
            tf.constant([1.0, 2.0, 3.0], name=name)
            for name in ("scale", "offset", "mean", "variance")
        ]
        tf.nn.relu(
            v1.nn.fused_batch_norm(conv, *two, is_training=False, name="norm")[0], name="seen"
        )
        flat = tf.reshape(
            tf.identity(graph.get_tensor_by_name("net/logits:0"), name="kept"),
            [2, 2, 4],
            name="flat",
        )
        tf.abs(flat, name="end")
        tf.identity(graph.get_tensor_by_name("net/one/out:0"), name="dead")
    return graph


EDITS: dict[str, Edit] = {
    "add_control_inputs": lambda e: e.add_control_inputs("end", ["dead", "seen"]),
    "add_signature": lambda e: e.signatures.add("kept", ["x"], {"y": "kept"}),
    "bypass": lambda e: e.bypass(e.ops("net/two/out"), by={"net/two/out:0": "net/one/out:0"}),
    "clone": lambda e: e.clone(
        ["x:0"],
        ["net/logits:0"],
        "copy",
        variables={"net/one": "shared"},
        init={"net/two/w": np.full((4, 4), 7, np.float32)},
        device={"net": "/device:CPU:0"},
        reseed=True,
    ),
    "connect": lambda e: e.connect("net/one/out:0", "kept", 0),
    "detach": lambda e: e.detach(e.ops(scope="net/two"), outputs=False, names=["fed"]),
    "fold_batch_norm": lambda e: e.passes.fold_batch_norm(),
    "freeze": lambda e: e.freeze("end"),
    "insert": lambda e: e.insert("kept:0", "LeakyRelu", "leaky", only=e.ops("flat"), alpha=0.5),
    "order_signature": lambda e: (
        e.signatures.add("kept", ["x", "image"], {"y": "kept"}),
        e.signatures.reorder("kept", ["image", "x"]),
    ),
    "set_device": lambda e: e.set_device("net/one/", "/device:CPU:0"),
    "remove": lambda e: e.remove("dead", prune=False),
    "remove_control_inputs": lambda e: (
        setattr(e, "renew", False),
        e.add_control_inputs("end", ["dead"]),
        e.remove_control_inputs("end", "dead"),
    ),
    "remove_signature": lambda e: (
        e.signatures.add("kept", ["x"], ["kept"]),
        e.signatures.remove("kept"),
    ),
    "rename": lambda e: e.rename("net/one/", "first"),
    "rename_signature": lambda e: (
        e.signatures.add("kept", ["x"], ["kept"]),
        e.signatures.rename("kept", "ends"),
    ),
    "replace": lambda e: e.replace("net/two/out", e.ops("dead")),
    "replace_all": lambda e: e.replace_all("Relu(x)", "Elu(x)"),
    "set_input": lambda e: e.passes.set_input("image", [8, 4, 4, 2]),
    "reroute": lambda e: e.reroute("net/two/out:0", "net/one/out:0", never=["dead"]),
    "set_attr": lambda e: e.set_attr("conv", "padding", "VALID"),
    "set_constant": lambda e: e.set_constant(
        "kernel", np.random.default_rng(0).normal(size=(3, 3, 2, 3))
    ),
    "strip_training": lambda e: e.passes.strip_training("end"),
    "swap": lambda e: e.swap("net/one/out:0", "net/two/out:0", only=e.ops("dead", "kept")),
    "set_trainable": lambda e: e.set_trainable("net/two"),
}


def opened() -> tgw.GraphEditor:
    graph = model()
    return tgw.edit(graph, session=initialised(graph))


def graph_def(editor: tgw.GraphEditor) -> list[Any]:
    return seen(v1.GraphDef(node=editor._core.index.nodes))


def carried(editor: tgw.GraphEditor) -> Any:
    """The edits after a way through JSON text."""
    return json.loads(json.dumps(editor.history.records(), allow_nan=False))


@pytest.mark.parametrize("command", EDITS)
@pytest.mark.sample(6)
def test_every_edit_is_the_same_when_it_was_written_down(command: str) -> None:
    first, second = opened(), opened()
    EDITS[command](first)
    edits = carried(first)
    assert edits[-1]["command"] == command
    assert second.history.replay(edits) == len(edits)
    assert graph_def(second) == graph_def(first)
    assert second._core.index.collections == first._core.index.collections
    assert second.history.records() == edits


def test_every_command_there_is_can_be_written_or_is_tested_elsewhere() -> None:
    # tests/edits/passes.
    passes = {
        command for command, kind in commands().items() if ".edits.passes." in kind.__module__
    }
    assert commands().keys() - EDITS.keys() - passes == {"add", "call", "rename_key"}


def test_arrays_come_with_their_numbers() -> None:
    first, second = opened(), opened()
    EDITS["clone"](first)
    second.history.replay(carried(first))
    values = [read(e["copy"].variables, e.session) for e in (first, second)]
    assert any(np.all(value == 7) for value in values[1])
    for one, other in zip(*values, strict=True):
        assert np.array_equal(one, other)


# Where one stands


class Loop(tf.Module):
    """w * x, doubled five times."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0], name="w")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="rows")])
    def __call__(self, rows: tf.Tensor) -> dict[str, tf.Tensor]:
        """A While."""
        step = tf.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * 2.0), [0, rows * self.w])
        return {"large": step[1]}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, module = tmp_path_factory.mktemp("saved") / "loop", Loop()
    tf.saved_model.save(module, str(path), signatures={"serving_default": module.__call__})
    return path


def test_edits_inside_functions_are_done_in_the_same_rooms(saved: Path) -> None:
    first, second = tgw.edit(saved), tgw.edit(saved)
    loop = next(iter(first.ops(where=lambda op: op.type.endswith("While"))))
    first.rename("serving_default:large", "grown")
    first.view.enter(loop, "body")
    first.set_constant(next(iter(first.ops(matching="mul/y"))), 3.0)
    first.clone(first.ops(matching="mul$"), into="part")
    edits = carried(first)
    assert edits[-1]["functions"][-1] == f"{loop}:body"
    assert first.history.lines[0] == 'editor.rename(old="serving_default:large", new="grown")'
    second.history.replay(edits)
    assert second.view.breadcrumb == first.view.breadcrumb
    assert graph_def(second) == graph_def(first)
    assert second._core.executor.copies.keys() == {"part"}
    for editor in (first, second):
        editor.view.leave()
    rows = tf.constant([[1.0, 1.0]])
    assert [editor.to_module()(rows)[0].numpy().tolist() for editor in (first, second)] == [
        [243.0, 486.0]
    ] * 2
    assert [key for s in second.signatures.values() for key, _ in s.outputs] == ["grown"]


def test_a_graph_that_was_added_is_found_by_its_path(tmp_path: Path) -> None:
    path = str(tmp_path / "other's.pb")
    Path(path).write_bytes(build_mlp(resource=False).as_graph_def().SerializeToString())
    first, second = opened(), opened()
    first.add(path, "other")
    second.history.replay(carried(first))
    assert graph_def(second) == graph_def(first)


# Files


def test_the_file_of_edits_is_written_and_read_by_path(tmp_path: Path) -> None:
    first, second = tgw.edit(INCEPTION), tgw.edit(INCEPTION)
    first.rename("net/InceptionV3/Logits/SpatialSqueeze", "logits")
    first.set_device("logits", "/device:CPU:0")
    file = first.save(tmp_path / "what I 'did'.json")
    assert json.loads(file.read_text())["tfgraphwidget"] == 2
    assert second.history.replay(file) == second.history.replay([]) + 2
    assert graph_def(second) == graph_def(first)
    assert tgw.edit(INCEPTION).history.replay(str(file)) == 2
    assert tgw.edit(INCEPTION).history.replay(json.loads(file.read_text())) == 2


def test_what_only_this_process_has_is_not_written(tmp_path: Path) -> None:
    editor = opened()
    editor.set_device("end", "/device:CPU:0")
    editor.insert("kept:0", tf.math.negative, "less")
    with pytest.raises(
        GraphEditError, match=r"^records\(\): Edit 2 \(insert\) holds .*save\('edits.py'\)"
    ):
        editor.history.records()
    with pytest.raises(GraphEditError, match="Edit 2"):
        editor.save(tmp_path / "edits.json")
    assert not list(tmp_path.iterdir())
    editor.undo()
    assert len(editor.history.records()) == 1
    editor.call("net/logits:0", lambda x: x * 2, "twice")
    with pytest.raises(GraphEditError, match=r"Edit 2 \(call\)"):
        editor.history.records()


def test_a_clone_into_another_graph_is_not_written() -> None:
    editor, other = opened(), tf.Graph()
    editor.clone("x:0", "net/logits:0", "copy", graph=other, init="none")
    with pytest.raises(GraphEditError, match=r"Edit 1 \(clone\) holds .* for 'graph'"):
        editor.history.records()


# All or nothing


def test_what_fails_in_the_middle_leaves_everything_as_it_was() -> None:
    first = opened()
    EDITS["clone"](first)
    EDITS["rename"](first)
    good = carried(first)
    bad = [*good, {"command": "reroute", "arguments": {"old": "no such op:0", "to": "x:0"}}]

    editor = opened()
    editor.set_device("end", "/device:CPU:0")
    editor.rename("dead", "alive")
    editor.undo()
    editor.mark("x:0", "net/one/out:0")
    report: list[int] = []
    editor._core.listeners.append(lambda: report.append(len(editor.history.done)))
    before, history, boundary = graph_def(editor), editor.history, (editor.inputs, editor.outputs)
    values = read(editor.graph.get_collection("variables"), editor.session)
    with pytest.raises(
        GraphEditError,
        match=r"^replay\(\[\S+ \S+\): Edit 3 \(reroute\) cannot be done: .*no such op",
    ):
        editor.history.replay(bad)
    assert graph_def(editor) == before
    assert editor.history == history
    assert (editor.inputs, editor.outputs) == boundary
    assert not editor._core.executor.copies
    assert report == [1], "who listens is told once, and of nothing that is half done"
    assert len(editor.graph.get_collection("variables")) == len(values)
    assert all(
        map(np.array_equal, read(editor.graph.get_collection("variables"), editor.session), values)
    )
    editor.redo()
    editor.undo()
    assert editor.history.replay(good) == len(good), (
        "the names that the failure has left in TensorFlow's graph are free for it"
    )
    copied = editor.session.run(
        editor["copy"]["net/logits:0"], {"x:0": np.ones((2, 3), np.float32)}
    )
    assert copied.shape == (2, 4)


def test_ctrl_c_while_a_failure_is_taken_back_comes_when_all_is_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a live graph with a session: there each step that is taken back would let an interrupt
    in.
    """
    editor = opened()
    editor.rename("dead", "alive")
    before, history, undo = graph_def(editor), editor.history, editor._core.executor.undo_one

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        undo()

    monkeypatch.setattr(editor._core.executor, "undo_one", interrupted)
    old = ("alive", "kept", "end", "gone")
    edits = [
        {"command": "rename", "arguments": {"old": name, "new": f"new_{name}"}} for name in old
    ]
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            editor.history.replay(edits)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert editor.history == history
    assert graph_def(editor) == before


def test_a_failure_leads_back_to_the_room_one_stood_in(saved: Path) -> None:
    editor = tgw.edit(saved)
    stood = editor.view.breadcrumb
    loop = next(iter(editor.ops(where=lambda op: op.type.endswith("While"))))
    edits = [
        {
            "command": "rename",
            "arguments": {"old": loop, "new": "around"},
            "functions": list(stood[1:]),
        },
        {
            "command": "rename",
            "arguments": {"old": "x", "new": "y"},
            "functions": [*stood[1:], "around:body"],
        },
    ]
    with pytest.raises(GraphEditError, match=r"Edit 2 \(rename\)"):
        editor.history.replay(edits)
    assert editor.view.breadcrumb == stood
    assert loop in editor._core.index.ids
    assert not editor.history.done


REROUTE = {"old": "net/two/out:0", "to": "net/one/out:0"}
BAD: dict[str, tuple[Any, str]] = {
    "not a list": ("", "''"),
    "a number": (5, "A int is not a list of edits"),
    "another's JSON": ({"cells": []}, "This JSON holds no edits"),
    "no version": ({"tfgraphwidget": "1", "edits": []}, "holds no edits"),
    "a newer version": ({"tfgraphwidget": 3, "edits": []}, "reads up to 2; install a newer one"),
    "more beside": ({"tfgraphwidget": 1, "edits": [], "run": "x"}, "'run' is amiss"),
    "no object": ([5], "Edit 1 cannot be read: an edit is an object"),
    "no command": ([{"arguments": {}}], "Edit 1 cannot be read: 'command' is missing"),
    "an unknown command": (
        [{"command": "rerout", "arguments": {}}],
        "'rerout' is not a command; did you mean 'reroute'",
    ),
    "a method that is not an edit": (
        [{"command": "save", "arguments": {"path": "/tmp/x"}}],
        "'save' is not a command",
    ),
    "a private name": ([{"command": "__init__", "arguments": {}}], "is not a command"),
    "no text": ([{"command": ["reroute"], "arguments": {}}], "is not a command"),
    "more than an edit has": (
        [{"command": "reroute", "arguments": REROUTE, "code": "1"}],
        "'code' is not known",
    ),
    "an unknown field": (
        [{"command": "reroute", "arguments": {**REROUTE, "tow": "x"}}],
        r"Edit 1 \(reroute\).*'tow' is not",
    ),
    "a hidden field": (
        [{"command": "remove", "arguments": {"what": "a", "ends": []}}],
        "'ends' is not known",
    ),
    "a session": (
        [{"command": "clone", "arguments": {"into": "c", "session": "s"}}],
        "'session' is not known",
    ),
    "a missing field": ([{"command": "reroute", "arguments": {"old": "a:0"}}], "'to' is missing"),
    "the wrong type": (
        [{"command": "reroute", "arguments": {"old": 5, "to": "a:0"}}],
        "'old' cannot be 5",
    ),
    "a word that is none": (
        [{"command": "swap", "arguments": {"a": "a", "b": "b", "what": "all"}}],
        "'what' cannot be 'all'",
    ),
    "a bool for a number": (
        [{"command": "connect", "arguments": {"source": "a:0", "target": "b", "k": True}}],
        "'k' cannot",
    ),
    "a function by value": (
        [{"command": "insert", "arguments": {"at": "x:0", "into": "a", "function": 5}}],
        "'function' can",
    ),
    "an unknown object": (
        [{"command": "rename", "arguments": {"old": {"py/object": "os.system"}, "new": "b"}}],
        "not a value",
    ),
    "an array that is short": (
        [
            {
                "command": "set_constant",
                "arguments": {
                    "tensor": "a",
                    "value": {"array": "AA==", "dtype": "float32", "shape": [4]},
                },
            }
        ],
        "has not 1 bytes",
    ),
    "a huge array": (
        [
            {
                "command": "set_constant",
                "arguments": {
                    "tensor": "a",
                    "value": {"array": "", "dtype": "int8", "shape": [10**12]},
                },
            }
        ],
        "has not 0 bytes",
    ),
    "a negative size": (
        [
            {
                "command": "set_constant",
                "arguments": {
                    "tensor": "a",
                    "value": {"array": "", "dtype": "int8", "shape": [-1]},
                },
            }
        ],
        "list of sizes",
    ),
    "Python objects": (
        [
            {
                "command": "set_constant",
                "arguments": {
                    "tensor": "a",
                    "value": {"array": "gASV", "dtype": "O", "shape": [1]},
                },
            }
        ],
        "is not a dtype",
    ),
    "a structured dtype": (
        [
            {
                "command": "set_constant",
                "arguments": {
                    "tensor": "a",
                    "value": {"array": "", "dtype": "i4,i4", "shape": [0]},
                },
            }
        ],
        "is not a dtype",
    ),
    "no base64": (
        [{"command": "set_constant", "arguments": {"tensor": "a", "value": {"bytes": "§"}}}],
        "base64",
    ),
    "rooms that are none": (
        [{"command": "rename", "arguments": {"old": "a", "new": "b"}, "functions": "x"}],
        "list of names",
    ),
    "another renew": (
        [{"command": "rename", "arguments": {"old": "a", "new": "b"}, "renew": 1}],
        "'renew' is true or false",
    ),
    "the second": (
        [
            {"command": "rename", "arguments": {"old": "dead", "new": "b"}},
            {"command": "x", "arguments": {}},
        ],
        "Edit 2 cannot be read",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_edit_is_refused_in_a_sentence_and_nothing_is_done(what: str) -> None:
    held, why = BAD[what]
    editor = opened()
    before = graph_def(editor)
    with pytest.raises(GraphEditError, match=why) as refused:
        editor.history.replay(held)
    assert "\n" not in refused.value.why
    assert graph_def(editor) == before
    assert not editor.history.done


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        '{"tfgraphwidget": 1, "edits": [NaN]}',
        "[" * 100_000,
        "9" * 10_000,
        "\x00",
        b"\xff\xfe\x00",
        b"PK\x03\x04",
    ],
    ids=["empty", "half", "NaN", "deep", "long", "NUL", "no text", "zip"],
)
def test_a_file_that_is_no_json_is_refused(text: str | bytes, tmp_path: Path) -> None:
    file = tmp_path / "edits.json"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(GraphEditError) as refused:
        tgw.edit(INCEPTION).history.replay(file)
    assert "\n" not in refused.value.why


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(GraphEditError, match=r"'no edits\.json' cannot be read: No such file"):
        tgw.edit(INCEPTION).history.replay("no edits.json")


def test_an_edit_whose_value_no_op_takes_is_refused_in_a_sentence() -> None:
    editor = opened()
    for value in (
        {"array": ["x"], "dtype": "object", "shape": [1]},
        {"complex": [0, 1]},
        [[1], [2, 3]],
        "\ud800",
    ):
        with pytest.raises(
            GraphEditError, match=r"^replay\(\[dict\]\): Edit 1 \(set_constant\) cannot be"
        ) as refused:
            editor.history.replay(
                [{"command": "set_constant", "arguments": {"tensor": "kernel", "value": value}}]
            )
        assert "\n" not in refused.value.why
    assert not editor.history.done
