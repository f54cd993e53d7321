"""Every public method with odd arguments: refused in one sentence, with everything as it was, or
taken.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import tensorflow as tf

import tfgraphwidget as tgw
import tfgraphwidget.graph_editor as ge
from tests.editor.public_names import public_methods
from tests.rounds import ROUNDS
from tests.slow import slow, slow_if
from tfgraphwidget import edits
from tfgraphwidget.argument_checks import fits
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits import call_signature, registry
from tfgraphwidget.errors import GraphEditError, GraphFinalized
from tfgraphwidget.widget.protocol import codec
from tfgraphwidget.widget.protocol.codec import REQUESTS
from tfgraphwidget.widget.request_handler import RequestHandler

Call = tuple[tuple[Any, ...], dict[str, Any]]
UNKNOWN_TO_PYTHON = (
    "unexpected keyword argument",
    "required positional argument",
    "missing a required argument",
    "positional arguments",
)


class Strange:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


def odd_values() -> dict[str, Any]:
    """What nobody means, by a word for it."""
    with tf.Graph().as_default():
        other = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        variable = tf.compat.v1.get_variable("net/w", [8, 3], use_resource=True)
        reference = tf.compat.v1.get_variable("ref", [8, 3], use_resource=False)
        parts = tf.compat.v1.get_variable(
            "parts", [8, 3], partitioner=tf.compat.v1.fixed_size_partitioner(2), use_resource=True
        )
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0)
    return {
        "None": None,
        "-1": -1,
        "0": 0,
        "1": 1,
        "1.5": 1.5,
        "nan": float("nan"),
        "inf": float("inf"),
        "a huge number": 10**40,
        "True": True,
        "an empty string": "",
        "no op": "no:0",
        "an op": "x",
        "a tensor with a far port": "x:99",
        "a control input": "^x",
        "a scope": "net/",
        "half a character": "\ud800",
        "a zero byte": "x\0",
        "a long name": "x" * 20_000,
        "bytes": b"x:0",
        "a list": [],
        "a list of None": [None],
        "a nested list": [["x:0"], [["y"]]],
        "a tuple": ("x:0", "net/logits:0"),
        "a dict": {},
        "a dict of numbers": {1: 2},
        "a dict of names": {"x:0": "x:0"},
        "a set": {"x:0"},
        "an object": object(),
        "a strange object": Strange(),
        "a lambda": lambda: None,
        "a lambda of one": lambda x: x,
        "a lambda that raises": lambda x: x / 0 if x is None else 1 / 0,
        "a class": int,
        "an array": np.zeros((2, 2)),
        "an array of objects": np.array([None, "x"], dtype=object),
        "a NumPy number": np.float32(3),
        "an eager tensor": tf.constant([1.0, 2.0]),
        "an eager scalar": tf.constant("x:0"),
        "an eager variable": tf.Variable(1.0, name="net/w"),
        "a tensor of another graph": other,
        "an op of another graph": other.op,
        "a variable of another graph": variable,
        "a reference of another graph": reference,
        "a variable in parts": parts,
        "a table": table,
        "a dtype": tf.float16,
        "a shape": tf.TensorShape([None, 3]),
        "a TensorSpec": tf.TensorSpec([2], tf.string),
        "a Keras tensor": tf.keras.Input((4,), name="x"),
        "another editor": OTHER[0],
        "a selection of another editor": OTHER[0].ops(scope="net"),
        "a copy": OTHER[1],
        "a graph": tf.Graph(),
        "a path": Path("x"),
        "a generator": (name for name in ["x:0", None]),
        "an exception": ValueError("x"),
        "a complex number": 1j,
        "a range": range(3),
    }


OTHER: list[Any] = []


@pytest.fixture(scope="module", autouse=True)
def other() -> Iterator[None]:
    """Another editor, with a copy."""
    editor = tgw.example()
    OTHER[:] = [editor, editor.clone("x:0", "net/logits:0", into="copy")]
    yield
    OTHER.clear()


def saved(folder: Path, name: str) -> str:
    """A file or a folder with the example's graph."""
    where = folder / name
    if not where.exists():
        tgw.example().save(
            f"{where}" if where.suffix else f"{where}/", "x:0", "net/logits:0", verify=False
        )
    return str(where)


def v1_graph() -> GraphEditor:
    """A graph of TensorFlow 1 with a loop, a conditional, a queue and a variable by reference,
    named as the example.
    """
    tf.compat.v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
            labels = tf.compat.v1.placeholder(tf.int64, [None], name="labels")
            with tf.compat.v1.variable_scope("net", use_resource=False):
                w = tf.compat.v1.get_variable("w", [4, 3])
                with tf.name_scope("hidden"):
                    added = tf.add(x, 1.0, name="Add")
                    hidden = tf.nn.relu(
                        tf.cond(tf.size(x) > 3, lambda: added * 2, lambda: added), name="Relu"
                    )
                looped = tf.while_loop(
                    lambda y: tf.reduce_sum(y) < 9.0, lambda y: [y * 2], [hidden]
                )[0]
                logits = tf.matmul(looped, w, name="logits")
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits), name="loss"
            )
            tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
            tf.compat.v1.train.batch([tf.size(labels)], 2, name="batch")
            session = tf.compat.v1.Session()
            session.run(tf.compat.v1.global_variables_initializer())
        return tgw.edit(graph, session=session)
    finally:
        tf.compat.v1.enable_control_flow_v2()


def function() -> GraphEditor:
    """A tf.function with a loop, named as the example."""
    weights = (
        tf.Variable(tf.ones([4, 8]), name="net/hidden/w"),
        tf.Variable(tf.ones([8, 3]), name="net/w"),
    )

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 4], name="x"),
            tf.TensorSpec([None], tf.int64, name="labels"),
        ],
        autograph=False,
    )
    def net(x: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("net"):
            with tf.name_scope("hidden"):
                hidden = tf.nn.relu(tf.add(tf.matmul(x, weights[0]), 1.0, name="Add"), name="Relu")
            logits = tf.matmul(hidden, weights[1], name="logits")
        logits = tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: [y * 2], [logits])[0]
        return tf.reduce_mean(logits, name="loss") + tf.cast(tf.size(labels), tf.float32)

    return tgw.edit(net)


def within_a_function() -> GraphEditor:
    """An editor that stands in the body of a loop."""
    editor = function()
    editor.view.enter("while", "body")
    return editor


def keras() -> GraphEditor:
    """A Keras model."""
    layers = [
        tf.keras.layers.Dense(8, "relu", name="hidden"),
        tf.keras.layers.Dense(3, name="logits"),
    ]
    return tgw.edit(tf.keras.Sequential([tf.keras.Input((4,), name="x"), *layers], name="net"))


SOURCES: dict[str, Callable[[Path], GraphEditor]] = {
    "the example": lambda _: tgw.example(),
    "a GraphDef": lambda folder: tgw.edit(saved(folder, "net.pb")),
    "a MetaGraphDef": lambda folder: tgw.edit(saved(folder, "net.meta")),
    "a SavedModel": lambda folder: tgw.edit(saved(folder, "model")),
    "a graph of TensorFlow 1": lambda _: v1_graph(),
    "a graph without a session": lambda _: tgw.edit(tgw.example().graph),
    "a function": lambda _: function(),
    "a function's body": lambda _: within_a_function(),
    "a Keras model": lambda _: keras(),
}

# One of each sort; each of the others takes many seconds.
QUICK_SOURCES = {"a GraphDef", "a graph of TensorFlow 1", "a Keras model"}

FEEDS = {"x:0": [[1.0, 2, 3, 4]]}
OPTIONS = {
    "variables": "own", "init": "current", "replace": {}, "placeholders": False, "reseed": False,
    "times": 2, "device": "/cpu:0", "devices": ["/cpu:0"], "src_scope": "", "graph": None,
    "session": None,
}  # fmt: skip


def good_calls(folder: Path) -> dict[str, Call]:
    """For each method arguments that it takes; one of them at a time is then exchanged for
    something odd.
    """
    clone = ("x:0", "net/logits:0", "twin"), OPTIONS
    walk = ("net/logits",), {"stop_at": "x:0", "within": None, "controls": True, "inclusive": True}
    edges = {"only": (), "never": (), "adapter": "", "names": ()}
    fit = {"adapter": "", "names": ()}
    path = str(folder / "saved.pb")
    return {
        "add": ((OTHER[0].graph, "more"),
                {"connect": {}, "clear_devices": False, "checkpoint": None, "tags": None,
                 "session": None}),
        "add_control_inputs": (("loss", "net/logits"), {}),
        "signatures.add": (("logits", "x", "net/logits"), {}),
        "beside": ((OTHER[0].graph,), {"pairs": {"x": "x"}, "feeds": FEEDS, "tolerance": None}),
        "between": (("x:0", "net/logits:0"), {}),
        "bypass": (("net/hidden/Relu",), {"by": "net/hidden/Add:0", **fit}),
        "passes.change_batch_size": ((8,), {"inputs": ["x:0"]}),
        "clone": clone,
        "view.collapse": (("net",), {"deep": True}),
        "view.color_by": (("type",), {"batch": 1}),
        "compare": ((FEEDS, "net/logits:0", None), {}),
        "connect": (("net/hidden/Add:0", "net/logits", 0), fit),
        "detach": (("net/hidden/Relu",),
                   {"inputs": True, "outputs": True, "control": False, "names": ()}),
        "diff": ((None,), {}),
        "view.called_functions": (("loss",), {}),
        "downstream": walk,
        "draw": ((None,), {"dark": False}),
        "view.enter": (("loss", "body"), {}),
        "extract": (("x:0", "net/logits:0"), {}),
        "find": (("relu",), {}),
        "passes.cast": (("float16",),
                        {"keep": (), "boundary": "keep", "feeds": None, "functions": True}),
        "passes.grappler": (("net/logits:0",), {}),
        "passes.quantize_weights": ((), {"minimum": 1, "per_channel": True, "feeds": None,
                                         "functions": True}),
        "passes.round_weights": ((4,), {"minimum": 1, "feeds": None, "functions": True}),
        "passes.fold_constants": ((),
                                  {"limit": 9, "shapes": True, "keep": None, "functions": True}),
        "passes.fold_batch_norm": ((), {"what": ()}),
        "freeze": (("net/logits:0", "x:0"), {}),
        "to_function": (("edited",), {}),
        "inspect": (("net/logits",), {}),
        "to_keras": ((), {}),
        "call": (("net/logits:0", tf.identity, "grown"), {}),
        "view.hide": (("net",), {}),
        "insert": (("net/hidden/Relu:0", "Identity", "put"),
                   {"only": (), "never": (), "spec": None, "options": None, "self": 1}),
        "history.goto": ((0,), {}),
        "view.leave": ((0,), {}),
        "lint": (("tflite",), {"only": (), "never": ()}),
        "mark": (("x:0", "net/logits:0"), {}),
        "match": (("Relu(x)", "net/"), {"limit": 9, "functions": True}),
        "measure": (("net/logits:0", FEEDS, 1), {"metadata": None}),
        "passes.merge_duplicates": ((), {"keep": "loss", "functions": True}),
        "to_module": (("edited",), {}),
        "passes.obfuscate_names": ((), {"contents": True}),
        "signatures.reorder": (("logits", ["x"], ["logits"]), {}),
        "view.expand": (("net",), {"deep": False}),
        "signatures.open": (("logits",), {}),
        "ops": (("x",), {"type": "Placeholder", "scope": None, "matching": "x",
                         "dtype": "float32", "shape": [None, 4], "consumers": 1,
                         "where": lambda op: op.type, "file": None}),
        "path": (("x", "loss"), {"all": True}),
        "apply": (({"command": "rename", "arguments": {"old": "loss", "new": "cost"}},), {}),
        "batch": (("Two edits",), {}),
        "preview": ((edits.Rename("net/logits", "net/scores"),), {}),
        "table": ((1,), {}),
        "view.on_change": ((list,), {}),
        "view.pin": (("loss", 1.0, 2.0), {}),
        "set_device": (("loss", "/cpu:0"), {}),
        "probe": (("net/logits:0", FEEDS), {}),
        "remove": (("loss",), {"prune": True, "consumers": False}),
        "passes.remove_attr": (("_class",), {"what": None, "functions": True}),
        "passes.remove_collection": (("train_op",), {}),
        "passes.remove_functions": ((), {}),
        "remove_control_inputs": (("train", "train/update_net/w/ResourceApplyGradientDescent"), {}),
        "passes.remove_devices": ((), {"functions": True}),
        "passes.remove_identities": (("NoOp",), {"keep": None, "functions": True}),
        "passes.rename_type": (("Relu", "Relu6"), {"functions": True}),
        "signatures.remove": (("logits",), {}),
        "rename": (("loss", "cost"), {}),
        "signatures.rename": (("logits", "scores"), {}),
        "replace_all": (("Relu(x)", "Elu(x)", "elu"),
                        {"within": "net/", "where": None, "until": "once",
                         "effects": False, "functions": False}),
        "replace": (("net/hidden/Relu", tf.nn.elu, "elu"), {"outputs": None, "remove": False}),
        "passes.set_input": (("x:0",), {"spec": None, "shape": [2, 4], "dtype": "float32",
                                        "fix": False, "adapter": ""}),
        "history.replay": (([],), {}),
        "history.reserve": ((["spare"],), {}),
        "reroute": (("net/hidden/Relu:0", "net/hidden/Add:0"), edges),
        "view.reveal": (("loss",), {}),
        "save": ((path, "x:0", "net/logits:0"),
                 {"signatures": None, "frozen": False, "verify": False, "feeds": None,
                  "format": None}),
        "history.to_script": (("values.npz",), {}),
        "set_attr": (("net/logits", "transpose_a", False), {}),
        "set_constant": (("labels:0", [1]), {}),
        "view.show_only": (("net",), {}),
        "passes.sort": ((), {}),
        "split": (("net/hidden/Relu:0",), {"inputs": "x:0", "outputs": "net/logits:0"}),
        "passes.strip_training": (("net/logits:0",), {}),
        "view.to_svg": ((), {"dark": False}),
        "swap": (("net/hidden/Relu:0", "net/hidden/Add:0", "outputs"), edges),
        "set_trainable": (("net/w",), {}),
        "view.unpin": (("loss",), {}),
        "upstream": walk,
    }  # fmt: skip


WITHOUT_ARGUMENTS = {
    "history.records", "redo", "source.reload", "to_networkx", "undo", "view.scene",
    "view.show",
}  # fmt: skip


def method(editor: Any, name: str) -> Callable[..., Any]:
    """A method of an editor or of one of its nouns by its dotted name."""
    called: Callable[..., Any] = attrgetter(name)(editor)
    return called


def variants(call: Call, odd: Mapping[str, Any]) -> Iterator[tuple[str, Call]]:
    """The call with one argument at a time exchanged for each of the odd values; without any, and
    with one more.
    """
    given, options = call
    for word, value in odd.items():
        for k in range(len(given)):
            yield f"{k}={word}", ((*given[:k], value, *given[k + 1 :]), options)
        for key in options:
            yield f"{key}={word}", (given, {**options, key: value})
    yield "nothing", ((), {})
    yield "an unknown keyword", (given, {**options, "surprise": 1})


def state(editor: GraphEditor) -> tuple[Any, ...]:
    """What a refusal leaves as it was."""
    return (
        editor._core.index.names,
        editor.history,
        editor.inputs,
        editor.outputs,
        editor.selection,
        editor.view.breadcrumb,
    )


def outcome(method: Callable[..., Any], call: Call) -> tuple[str, bool]:
    """What an odd call does that it must not do, "" when it is refused in a sentence or taken; and
    if it is refused.
    """
    given, options = call
    try:
        method(*given, **options)
    except GraphEditError as error:
        is_public = not method.__name__.startswith("_") and method is not answered
        right = is_sentence(str(error)) and (
            not is_public
            or starts_with_call(str(error), getattr(method, "call_name", method.__name__))
        )
        return "" if right else f"no sentence: {str(error)[:300]!r}", True
    except TypeError as error:
        if any(words in str(error) for words in UNKNOWN_TO_PYTHON):
            return "", True
        return described(error), True
    except Exception as error:  # whatever else it is, it is what is looked for
        return described(error), True
    return "", False


def wrong(method: Callable[..., Any], call: Call) -> str:
    """What an odd call does that it must not do; "" when it is refused in a sentence, or taken."""
    return outcome(method, call)[0]


def described(error: BaseException) -> str:
    """An error with the line that it comes from."""
    at = error.__traceback__
    own = ""
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        if "tfgraphwidget/" in file and "arguments.py" not in file:
            own = f"{file.rpartition('tfgraphwidget/')[2]}:{at.tb_lineno}"
        at = at.tb_next
    return f"{type(error).__name__} {str(error)[:150]!r} at {own}"


QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def is_sentence(text: str) -> bool:
    """Whether this is one sentence, neither empty nor endless, with a stop. Below may be the place
    in a pattern.
    """
    sentence = text.split("\n    ", maxsplit=1)[0].rstrip()
    several = re.search(r"[.?!] +[A-Z]", QUOTED.sub("it", sentence))
    return 10 < len(text) < 2_200 and sentence[-1:] in (".", "?", "!", ")") and not several


def starts_with_call(text: str, name: str) -> bool:
    """Whether a refusal says first which method was called, and only once."""
    rest = text.removeprefix(name)
    return (
        text != rest
        and rest[:1] in ("(", ":", " ")
        and not rest.partition(": ")[2].startswith(f"{name}(")
    )


NAMED = {
    "a Keras model": {
        "net/hidden/Relu": "net_1/hidden_1/Relu",
        "net/hidden/Add": "net_1/hidden_1/BiasAdd",
        "net/logits": "net_1/logits_1/MatMul",
        "net/w": "net/logits/kernel",
        "labels": "x",
        "loss": "Identity",
    }
}


def renamed(thing: Any, names: Mapping[str, str]) -> Any:
    """Arguments with the names that another graph has."""
    if isinstance(thing, str):
        for old, new in names.items():
            thing = thing.replace(old, new)
        return thing
    if isinstance(thing, dict):
        return {renamed(key, names): renamed(value, names) for key, value in thing.items()}
    return (
        type(thing)(renamed(item, names) for item in thing)
        if isinstance(thing, tuple | list)
        else thing
    )


def failures(
    make: Callable[[], Any],
    calls: Mapping[str, Call],
    unchanged: Callable[[Any], Any],
    odd: Mapping[str, Any],
) -> list[str]:
    """All that goes wrong when methods of what `make` gives are called with odd arguments.

    `unchanged` tells of it what a refusal leaves as it was.
    """
    found, thing = [], make()
    for name in sorted(calls):
        for word, call in variants(calls[name], odd):
            before = unchanged(thing)
            problem, is_refused = outcome(method(thing, name), call)
            try:
                after = unchanged(thing)
            except Exception as error:  # what was done or refused has broken it
                problem, after = f"{problem}; then {described(error)}", None
            problem = problem or ("refused" if is_refused and after != before else "")
            if problem:
                found.append(
                    f"{name}({word}): "
                    f"{problem}{'' if after == before else '; and something has changed'}"
                )
            if after != before:
                thing = make()
    return found


def failures_of_editor(source: str, folder: Path, names: Any = None) -> list[str]:
    """All that goes wrong when an editor's methods are called with odd arguments."""
    calls = renamed(good_calls(folder), NAMED.get(source, {}))
    chosen = {name: call for name, call in calls.items() if names is None or name in names}
    odd, place = odd_values(), list(SOURCES).index(source)
    if (
        place and ROUNDS == 1
    ):  # the example gets all of them, other sources a fourth each; `make stress` gives all
        odd = dict(list(odd.items())[place % 4 :: 4])
    return failures(lambda: SOURCES[source](folder), chosen, state, odd)


# Messages

STRINGS = [
    "",
    "x",
    "x:0",
    "x:99",
    "^x",
    "net",
    "net/",
    "net/hidden/Relu:0",
    "no",
    "\0",
    "a" * 30_000,
    "../x",
    "'",
    "[(",
]
NUMBERS = [0, 1, -1, 2**62, 1e-300, 1e300, -1e9, 0.5]
LISTS = [[], ["x"], ["x:0", "net/logits:0"], ["no"], ["x"] * 1000, ["net/"], [""]]
AREAS = [
    [0.0, 0.0, 1e-300, 1e-300], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -5.0, 5.0], [1e300] * 4, [1.0],
    [1.0] * 40,
    [0.0, 0.0, 1e9, 1e9], [0.0, 0.0, 1e-3, 1e6], [0.0, 0.0, 0.5, 0.5], [5e7, 5e7, 10.0, 10.0],
]  # fmt: skip
TEXTS = [
    "",
    "1",
    "-1",
    "nan",
    "None",
    "x:0",
    "[]",
    "{}",
    "[[[",
    "{'x:0': 1}",
    "10**9",
    "b'x'",
    "'net'",
    "1e999",
    "True",
]


def fields_of(kind: type) -> Iterator[tuple[str, list[Any]]]:
    """For each field of a request values of its type, odd ones among them."""
    for name, hint in get_type_hints(kind).items():
        options = get_args(hint)
        if get_origin(hint) is Literal:
            yield name, list(options)
        elif name == "area":
            yield name, AREAS
        elif hint is bool:
            yield name, [True, False]
        elif hint is str:
            yield name, STRINGS
        elif hint == tuple[str, ...]:
            yield name, LISTS
        else:
            yield (
                name,
                [
                    *(n for n in NUMBERS if hint is float or isinstance(n, int)),
                    *([None] if None in options else []),
                ],
            )


def messages() -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests with one field at a time that nobody means; edits by each command with each argument
    that it has.
    """
    for word, kind in REQUESTS.items():
        fields = dict(fields_of(kind))
        needed = [
            field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING
        ]
        usual = {
            "type": word,
            "id": 1,
            **{name: fields[name][min(1, len(fields[name]) - 1)] for name in needed},
        }
        if word == "picture":
            usual |= {"suffix": "svg", "whole": False, "area": [0.0, 0.0, 100.0, 100.0]}
        for name, values in fields.items():
            for value in values if word != "change" else ():
                yield f"{word} {name}={str(value)[:40]!r}", {**usual, name: value}
    for command in registry.requested_commands():
        keys = [
            "self",
            "no",
            "what",
            "renew",
            *list(call_signature(registry.commands()[command]).parameters),
        ]
        for key, text in itertools.product(keys, TEXTS):
            change = {
                "type": "change",
                "id": 1,
                "command": command,
                "keys": [key],
                "values": [text],
            }
            yield f"{command} {key}={text}", {**change, "what": ["net/hidden/Relu"]}
        for what in LISTS:
            yield (
                f"{command} of {str(what)[:40]}",
                {"type": "change", "id": 1, "command": command, "what": what},
            )
        yield (
            f"{command} keys alone",
            {
                "type": "change",
                "id": 1,
                "command": command,
                "what": ["x"],
                "keys": ["to", "to", "by"],
            },
        )


def answered(answers: RequestHandler, message: Any) -> Any:
    """The reply to a message."""
    return answers.handle(codec.decode(message)[1])


def shown(editor: GraphEditor) -> RequestHandler:
    """What answers a page that shows an editor."""
    answers = RequestHandler(editor)
    answered(answers, {"type": "open", "id": 1})
    return answers


def failures_of_messages(make: Callable[[], GraphEditor], every: int = 1) -> list[str]:
    """All that goes wrong when a page asks for something odd; `every` 3 takes every third
    message.
    """
    found, editor = [], make()
    answers = shown(editor)
    for word, message in itertools.islice(messages(), 0, None, every):
        before = state(editor)
        if problem := wrong(answered, ((answers, message), {})):
            found.append(f"{word}: {problem}")
        try:
            changed = state(editor) != before
        except Exception as error:  # what was done or refused has broken it
            found.append(f"{word}: then {described(error)}")
            changed = True
        if changed:
            editor = make()
            answers = shown(editor)
    return found


# tf.contrib.graph_editor, and what clones and selections are asked

GE_ERRORS = (TypeError, ValueError, KeyError, AssertionError, re.error, GraphFinalized)
"""What the original's contract names; `re.error` is of its patterns, KeyError and AssertionError of
its look-ups.
"""


def ge_calls() -> dict[str, Call]:
    """For each function of graph_editor arguments that it takes, on a graph of its own."""
    editor = v1_graph()
    graph = editor.graph
    of, tensor = graph.get_operation_by_name, graph.get_tensor_by_name
    relu, logits = of("net/hidden/Relu"), of("net/logits")
    controls = ge.ControlOutputs(graph)
    view, other = ge.sgv(relu), ge.sgv(logits)
    flags = {"control_inputs": False, "control_outputs": None, "control_ios": None}
    walk = {"inclusive": True, "within_ops": None, "within_ops_fn": None, "stop_at_ts": ()}
    copying = {"dst_scope": "copied", "src_scope": "", "reuse_dst_scope": False}
    both = {"within_ops": None, "within_ops_fn": None, **flags}
    modify = {"can_modify": None, "cannot_modify": None}
    return {
        "add_control_inputs": ((logits, [of("x")]), {}),
        "bypass": ((view,), {}),
        "can_be_regex": (("x",), {}),
        "check_cios": ((), flags),
        "compute_boundary_ts": (([relu],), {}),
        "connect": ((view, other), {"disconnect_first": False}),
        "copy": ((view,), {"dst_graph": None, **copying}),
        "copy_to_graph": ((relu, tf.Graph()), {"copied_variables": None, "namespace": "n"}),
        "copy_variable_to_graph": (
            (tf.compat.v1.global_variables, tf.Graph(), "n"),
            {"copied_variables": None},
        ),
        "copy_with_input_replacements": ((view, {}), {"dst_graph": None, **copying}),
        "detach": ((view,), flags),
        "detach_control_inputs": ((view,), {}),
        "detach_control_outputs": ((view, controls), {}),
        "detach_inputs": ((view,), {"control_inputs": False}),
        "detach_outputs": ((view,), {"control_outputs": None}),
        "filter_ops": (([relu], True), {}),
        "filter_ops_from_regex": (([relu], "x"), {}),
        "filter_ts": (([relu], True), {}),
        "filter_ts_from_regex": (([relu], "x"), {}),
        "get_backward_walk_ops": (
            ([relu],),
            {**walk, "control_inputs": False, "only_differentiable": False},
        ),
        "get_consuming_ops": (([tensor("x:0")],), {}),
        "get_copied": ((relu, graph), {"copied_variables": None, "namespace": ""}),
        "get_forward_walk_ops": (([relu],), {**walk, "control_outputs": None}),
        "get_generating_ops": (([tensor("x:0")],), {}),
        "get_name_scope_ops": ((graph, "net"), {}),
        "get_ops_ios": (([relu],), flags),
        "get_tensors": ((graph,), {}),
        "get_walks_intersection_ops": (([relu], [logits], True, True), both),
        "get_walks_union_ops": (([relu], [logits], True, True), both),
        "get_within_boundary_ops": ((graph, [relu], [logits], True), flags),
        "graph_replace": ((tensor("net/logits:0"), {}), copying),
        "make_list_of_op": (
            ([relu],),
            {"check_graph": True, "allow_graph": True, "ignore_ts": False},
        ),
        "make_list_of_t": (
            ([tensor("x:0")],),
            {"check_graph": True, "allow_graph": True, "ignore_ops": False},
        ),
        "make_placeholder_from_dtype_and_shape": ((tf.float32, [2], "scope", "prefix"), {}),
        "make_placeholder_from_tensor": ((tensor("x:0"), "scope", "prefix"), {}),
        "make_regex": (("x",), {}),
        "match_pattern": (("Relu(x)", graph), {}),
        "op_type": (("Relu", relu), {}),
        "make_view": ((relu, tensor("x:0"), "net"), {"graph": graph, "positive_filter": None}),
        "make_view_from_scope": (("net", graph), {}),
        "placeholder_name": ((tensor("x:0"), "scope", "prefix"), {}),
        "remove_control_inputs": ((logits, []), {}),
        "reroute_inputs": ((view, other), {}),
        "reroute_ios": ((view, other), {}),
        "reroute_outputs": ((view, other), {}),
        "reroute_ts": ((relu.outputs, relu.outputs), modify),
        "select_ops": (
            (relu, "net"),
            {"graph": graph, "positive_filter": None, "restrict_ops_regex": False},
        ),
        "select_ops_and_ts": ((relu, "net"), {"graph": graph, "positive_filter": None}),
        "select_ts": (
            (tensor("x:0"), "net"),
            {"graph": graph, "positive_filter": None, "restrict_ts_regex": False},
        ),
        "swap_inputs": ((view, other), {}),
        "swap_ios": ((view, other), {}),
        "swap_outputs": ((view, other), {}),
        "swap_ts": ((relu.outputs, relu.outputs), modify),
    }


def raised_here(error: BaseException) -> bool:
    """Whether the sentence is of this package or of TensorFlow, or Python's own about a call."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    file = "" if at is None else at.tb_frame.f_code.co_filename
    return (
        "tfgraphwidget/" in file
        or "tensorflow/" in file
        or any(words in str(error) for words in UNKNOWN_TO_PYTHON)
    )


def wrong_in_old_script(name: str, call: Call) -> str:
    """What a function of graph_editor does that it must not do; "" when it raises what the
    original's contract says.
    """
    given, options = call
    try:
        with tf.Graph().as_default():
            getattr(ge, name)(*given, **options)
    except GE_ERRORS as error:
        return "" if raised_here(error) else described(error)
    except Exception as error:  # whatever else it is, it is what is looked for
        return described(error)
    return ""


def failures_of_graph_editor(names: Any = None) -> list[str]:
    """All that goes wrong when functions of graph_editor are called with odd arguments."""
    # What a function of the caller's raises is the caller's to see.
    found, odd = [], {word: value for word, value in odd_values().items() if "a lambda" not in word}
    for name, call in ge_calls().items():
        if names is None or name in names:
            problems = (
                (word, wrong_in_old_script(name, odd_call))
                for word, odd_call in variants(call, odd)
            )
            found += [f"{name}({word}): {problem}" for word, problem in problems if problem]
    return found


# Clones, selections, models of functions, and the functions of the package


def copies() -> Any:
    """A clone in a graph."""
    return tgw.example().clone("x:0", "net/logits:0", into="copy")


def modules() -> Any:
    """A clone of a function's body."""
    return function().clone("x:0", "net/logits:0", into="part")


def part() -> Any:
    """A selection."""
    return tgw.example().ops("net/hidden/Relu")


def calls_of_others(folder: Path) -> dict[str, tuple[Callable[[], Any], dict[str, Call]]]:
    """What else can be called: how it comes about, and arguments that its methods take."""
    place = str(folder / "values")
    walk = {"stop_at": "x:0", "within": None, "controls": True, "inclusive": True}
    package = {
        "edit": (
            (tf.Graph(),),
            {"session": None, "signature": None, "checkpoint": None, "tags": None},
        ),
        "sync": ((OTHER[0], OTHER[1], None, 1.0), {}),
        "renew": ((OTHER[0].session,), {}),
    }
    return {
        "clone": (copies, {
            "__getitem__": (("x",), {}), "__contains__": (("x",), {}),
            "sync": ((1.0,), {"session": None}),
            "mix_op": ((0.5,), {}), "drift": ((), {"session": None}), "save": ((place,), {}),
            "load": ((place,), {"session": None}),
        }),
        "module": (modules, {"__getitem__": (("net/w",), {}), "sync": ((1.0,), {})}),
        "selection": (part, {
            "upstream": ((), walk), "downstream": ((), walk), "grow": ((), {"controls": True}),
            "shrink": ((), {"controls": True}), "on": ((OTHER[0]._core.index,), {}),
            "save": ((place,), {}),
            "__or__": ((OTHER[0].ops(scope="net"),), {}),
            "__and__": ((OTHER[0].ops(scope="net"),), {}),
            "__sub__": ((OTHER[0].ops(scope="net"),), {}), "__contains__": (("x",), {}),
        }),
        "copies of an editor": (lambda: OTHER[0]._core.executor.copies,
                                {"__getitem__": (("copy",), {})}),
        "package": (lambda: tgw, package),
    }  # fmt: skip


def failures_of_others(kind: str, folder: Path) -> list[str]:
    """All that goes wrong when one of these is called with odd arguments."""
    make, calls = calls_of_others(folder)[kind]
    return failures(make, calls, lambda _: None, odd_values())


# The tests


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, since "x" is a file's name too."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def unheard() -> Iterator[None]:
    """Warnings of what could not be saved are not failures here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_every_public_method_of_an_editor_is_called() -> None:
    assert public_methods() == set(good_calls(Path())) | WITHOUT_ARGUMENTS


@pytest.mark.parametrize("source", slow_if(lambda source: source not in QUICK_SOURCES, SOURCES))
@pytest.mark.sample(1)
def test_an_editor_refuses_odd_arguments_in_a_sentence_and_stays_as_it_was(
    source: str, folder: Path
) -> None:
    assert failures_of_editor(source, folder) == []


@pytest.mark.parametrize("kind", ["clone", "module", "selection", "copies of an editor", "package"])
def test_what_else_can_be_called_does_so_too(kind: str, folder: Path) -> None:
    assert failures_of_others(kind, folder) == []


def test_every_function_of_graph_editor_is_called() -> None:
    functions = {
        getattr(ge, name) for name in ge.__all__ if not name.endswith(("_handler", "_in_place"))
    }
    assert {f for f in functions if inspect.isfunction(f)} == {
        getattr(ge, name) for name in ge_calls()
    }


def test_graph_editor_raises_what_the_original_raised() -> None:
    assert failures_of_graph_editor() == []


@pytest.mark.parametrize(
    "source", [slow("the example"), "a function", slow("a graph of TensorFlow 1")]
)
def test_a_page_that_asks_for_something_odd_gets_a_sentence(source: str, folder: Path) -> None:
    every = 1 if source == "the example" or ROUNDS > 1 else 4
    assert failures_of_messages(lambda: SOURCES[source](folder), every) == []


def closed(editor: GraphEditor) -> GraphEditor:
    """An editor of which somebody has closed the session."""
    editor.session.close()
    return editor


def finalized(editor: GraphEditor) -> GraphEditor:
    """An editor of a graph that takes no more ops."""
    editor.graph.finalize()
    return editor


def without_values(editor: GraphEditor) -> GraphEditor:
    """An editor with a session in which nothing was initialised."""
    return tgw.edit(editor.graph, session=tf.compat.v1.Session(graph=editor.graph))


@pytest.mark.parametrize(
    "source", ["the example", slow("a MetaGraphDef"), slow("a graph of TensorFlow 1")]
)
@pytest.mark.parametrize("ended", [closed, finalized, without_values])
@pytest.mark.sample(1)
def test_every_command_on_a_session_or_a_graph_that_is_no_use_is_refused_in_a_sentence_or_done(
    source: str, ended: Callable[[GraphEditor], GraphEditor], folder: Path
) -> None:
    calls = {**good_calls(folder), **dict.fromkeys(WITHOUT_ARGUMENTS, ((), {}))}
    found, editor = [], ended(SOURCES[source](folder))
    for name, (given, options) in calls.items():
        for renew in (True, False):
            editor.renew = renew
            kept = {key: value for key, value in options.items() if key != "self"}
            if "times" in kept:  # one copy each, with the values that there are
                kept |= {"times": None, "devices": (), "device": None}
            before = state(editor)
            if problem := wrong(method(editor, name), (given, kept)):
                found.append(f"{name}: {problem}")
            if state(editor) != before:
                editor = ended(SOURCES[source](folder))
    assert found == []


@pytest.mark.parametrize("how", [{}, {"control": True}])
@pytest.mark.parametrize(
    "op", ["Initializer/Const", "Assign", "Read/ReadVariableOp", "IsInitialized/VarIsInitializedOp"]
)
@pytest.mark.sample(2)
def test_what_was_cut_from_a_variable_does_not_hinder_what_comes_after(
    op: str, how: dict[str, bool], folder: Path
) -> None:
    editor = tgw.example()
    wrong_before = wrong(editor.detach, ((f"net/hidden/w/{op}",), how))
    later: dict[str, Call] = {
        "extract": (("x:0", "net/logits:0"), {}),
        "clone": (("x:0", "net/logits:0"), {}),
        "freeze": (("net/logits:0",), {}),
        "save": (
            (str(folder / "saved.pb"), "x:0", "net/logits:0"),
            {"signatures": None, "frozen": False, "verify": False, "feeds": None, "format": None},
        ),
        "undo": ((), {}),
    }
    assert [wrong_before, *(wrong(method(editor, name), call) for name, call in later.items())] == [
        ""
    ] * 6


def test_an_extract_without_the_initial_value_has_a_variable_that_shows_what_it_reads() -> None:
    editor = tgw.example()
    editor.detach("net/hidden/w/Initializer/Const")
    taken = editor.extract("x:0", "net/logits:0")
    (variable,) = (v for v in taken.graph.get_collection("variables") if v.name == "net/hidden/w:0")
    with taken.graph.as_default():
        assert variable.initial_value is variable.initializer.inputs[1]


def test_a_dead_tensor_has_no_value_and_is_refused_by_name() -> None:
    tf.compat.v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        tf.cond(x > 0, lambda: x * 2, lambda: x * 3, name="choice")
    editor = tgw.edit(graph, session=tf.compat.v1.Session(graph=graph))
    assert editor.probe("choice/Switch", {"x:0": 1.0})["choice/Switch:0"].value is None
    with pytest.raises(GraphEditError, match="'choice/Switch:0' has no value in this run"):
        editor.probe("choice/Switch:0", {"x:0": 1.0})
    for call in (
        lambda feeds, tensor: editor.compare(feeds, tensors=tensor),
        lambda feeds, tensor: editor.measure(tensor, feeds),
    ):
        with pytest.raises(GraphEditError, match="branch of a conditional that was not taken"):
            call({"x:0": 1.0}, "choice/Switch:0")


def test_a_variable_is_compared_by_its_value_and_cannot_be_fed() -> None:
    editor = tgw.example()
    variable = editor.graph.get_collection("variables")[0]
    found = editor.compare({}, tensors=variable)
    assert [row.name for row in found] == ["net/hidden/w/Read/ReadVariableOp:0"]
    with pytest.raises(GraphEditError, match="refers to a resource and cannot be fed"):
        editor.compare({variable.ref(): [[1.0]]}, tensors="net/logits:0")


def test_arguments_are_read_as_they_are_written() -> None:
    for value, hint, allowed in (
        (True, int, False), (np.int64(3), int, True), (3, float, True), (float("nan"), float,
        False), (1, bool, True), (2, bool, False), ("ab", Iterable[str], False),
        (["a"], Iterable[str], True), ([1], Iterable[str], False),
        (iter(["a"]), Iterable[str], True), ({"a": 1}, Mapping[str, int], True),
        ({1: 1}, Mapping[str, int], False),
        (None, str | None, True), ("x", Literal["x"], True), ([], Literal["x"], False),
        (len, Callable[..., Any], True), (5, Iterable[Any], True),
    ):  # fmt: skip
        assert fits(value, hint) is allowed, (value, hint)
