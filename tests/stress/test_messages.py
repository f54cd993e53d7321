"""Whatever a front end sends, in whatever order: one reply to each message, and nothing changes
that should not.

A machine plays a page that sends good requests, broken ones, and such that were good for a graph
that has changed since, on small graphs of every kind; another cell adds ops in between.
"""

from __future__ import annotations

import dataclasses
import json
import random
import types
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import tfgraphwidget as tgw
from tests.conftest import build_mlp, build_while_loop, initialised, v1
from tests.front_end import FrontEnd, all_of, chosen_of, graph_of, message_of
from tests.stress import ROUNDS, count, seeds
from tests.stress.damage import damaged_json
from tests.stress.sentences import check_sentence
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.edits import call_signature, registry
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol.codec import REQUESTS, is_whole

EDITS, QUESTIONS, CHOOSE = (get_args(union) for union in (p.Edit, p.Question, p.Choose))
SEVERAL = sorted(set(REQUESTS) - {"change", "clone"})  # these have rules of their own
EXAMPLES = 12 * ROUNDS
MUTATED = 150  # messages to each graph
ODD_NAMES = (
    "",
    "/",
    ":0",
    "^x",
    "nowhere",
    "x:7",
    "x:99999999999",
    "net//one",
    "../x",
    "a\nb",
    "🙂",
    "n" * 2_000,
    "\0",
)
QUERIES = (
    "",
    "w",
    "type:MatMul",
    "dtype:float32",
    "/net.*/",
    "/(/",
    "shape:(?, 4)",
    "attr:T",
    "type:",
    '"',
)
LITERALS = ("1", "0", "-1", "None", "True", "2.5", "nan", "[]", "[None, 3]", "()", "{}",
    "'float32'", "'Identity'",
            "'/device:CPU:0'", "{'T': 1}", "b'x'", "1j", "...", "'\\ud800'", "[[1, 2], [3]]",
            "float64", "(" * 300,
            "10**9", "'" + "v" * 3_000 + "'")  # fmt: skip
NOT_OF_THE_TYPE = (
    None,
    True,
    -3,
    2**70,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "text",
    [],
    [[]],
    {},
    {"a": 1},
    [None],
)


def towers() -> tf.Graph:
    graph = tf.Graph()
    with graph.as_default():
        w = v1.get_variable(
            "w", [2, 2], initializer=v1.ones_initializer(), regularizer=tf.nn.l2_loss
        )
        for tower in ("a", "b"):
            tf.matmul(
                v1.placeholder(tf.float32, [None, 2], name=f"{tower}/x"), w, name=f"{tower}/y"
            )
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["k"], [1]), -1)
        tf.identity(table.lookup(tf.constant(["k"], name="key")), name="found")
    return graph


def function() -> Any:
    scale = tf.Variable(3.0, name="scale")

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def call(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda i, _: i < 3, lambda i, v: (i + 1, tf.nn.relu(v * scale)), [0, x]
        )[1]

    return call


GRAPHS: dict[str, Callable[[], GraphEditor]] = {
    "a session": lambda: tgw.edit(graph := build_mlp(resource=True), session=initialised(graph)),
    "no session": lambda: tgw.edit(build_mlp(resource=False)),
    "a loop": lambda: tgw.edit(graph := build_while_loop(), session=v1.Session(graph=graph)),
    "shared state": lambda: tgw.edit(graph := towers(), session=initialised(graph)),
    "a GraphDef": lambda: tgw.edit(build_mlp(resource=True).as_graph_def()),
    "a function": lambda: tgw.edit(function()),
}


class Page(RuleBasedStateMachine):
    """A page in the hands of chance."""

    @initialize(kind=st.sampled_from(sorted(GRAPHS)))
    def open(self, kind: str) -> None:
        self.editor = GRAPHS[kind]()
        self.front = FrontEnd(self.editor)
        self.added = 0
        self.number = 100
        self.known: dict[str, None] = {}
        self.offered: list[str] = ["editor.remove()"]
        self.sent: list[dict[str, Any]] = []
        self.buffers: list[bytes] = []
        self.learn()

    def learn(self) -> None:
        """Remember the names of now; those of before are what a stale view says."""
        index = self.editor._core.index
        ops = dict.fromkeys(index.names)
        scopes = {name.rpartition("/")[0]: None for name in ops if "/" in name}
        groups = dict.fromkeys(self.editor._core.view.outline.names)
        tensors = {f"{name}:0": None for name in ops}
        self.known |= {**ops, **scopes, **groups, **tensors, **dict.fromkeys(index.functions)}

    # Requests

    def names(self) -> st.SearchStrategy[str]:
        here = st.sampled_from([*self.editor._core.index.names] or [""])
        return (
            here
            | here.map("{}:0".format)
            | st.sampled_from([*self.known])
            | st.sampled_from(ODD_NAMES)
        )

    def text(self, field: str) -> st.SearchStrategy[str]:
        given = {
            "into": ("copy", "net/copy", "", "a b", "net"),
            "device": ("", "/device:CPU:0", "nowhere"),
            "text": QUERIES,
            "line": self.offered,
            "by": ("", *self.editor._core.coloring.names, "time"),
            "label": ("", "body", "cond", "f"),
        }
        return st.sampled_from(given[field]) | self.names() if field in given else self.names()

    def value(self, field: str, hint: Any) -> st.SearchStrategy[Any]:
        """What a field can hold, from its annotation."""
        if isinstance(hint, types.UnionType):
            return st.none() | self.value(field, get_args(hint)[0])
        if get_origin(hint) is Literal:
            return st.sampled_from(get_args(hint))
        if get_origin(hint) is tuple:
            return st.lists(
                self.value(field, get_args(hint)[0]), max_size=3 + (field == "area")
            ).map(tuple)
        if hint is int:
            return st.integers(-2, 5) | st.sampled_from([10**9, 2**62])
        if hint is float:
            return st.floats(-1e3, 1e3) | st.sampled_from([1e18, -1e12, 1e-300])
        return st.booleans() if hint is bool else self.text(field)

    def request(self, data: st.DataObject, kind: type) -> p.Request:
        hints = get_type_hints(kind)
        if kind is p.Change:
            return self.change(data)
        fields = {
            name: data.draw(self.value(name, hint), label=name) for name, hint in hints.items()
        }
        if (
            kind is p.Clone or kind is p.Preview
        ):  # most of what is drawn at random is not a part of a graph
            fields["times"] = data.draw(st.sampled_from([None, None, 1, 2, 0, -1, 10**9, 10_000]))
            if data.draw(st.booleans(), label="of the selection"):
                fields |= {
                    "inputs": (),
                    "outputs": (),
                    "into": f"copy{len(self.editor.history.done)}",
                    "device": "",
                }
                fields |= {"others": (), "times": None}
        made: p.Request = kind(**fields)
        return made

    def change(self, data: st.DataObject) -> p.Change:
        command = data.draw(st.sampled_from(registry.requested_commands()), label="command")
        if data.draw(st.integers(0, 3), label="as a form sends it"):
            return self.form(data, command)
        keys = [
            name
            for name in call_signature(registry.commands()[command]).parameters
            if name not in ("self", "more")
        ]
        chosen = data.draw(
            st.lists(st.sampled_from([*keys, "colour", "self"]), max_size=3, unique=True),
            label="keys",
        )
        values = [
            data.draw(self.names().map(repr) | st.sampled_from(LITERALS), label=key)
            for key in chosen
        ]
        what = data.draw(st.lists(self.names(), max_size=3), label="what")
        return p.Change(command, tuple(what), tuple(chosen), tuple(values))

    def form(self, data: st.DataObject, command: str) -> p.Change:
        """An edit as a form of the panel sends it, of ops that are there."""
        index = self.editor._core.index
        op = st.sampled_from(index.names)
        tensor = st.sampled_from(
            [
                f"{name}:{k}"
                for i, name in enumerate(index.names)
                for k in range(len(index.dtypes(i)))
            ]
        )
        fed = [
            f"{name}:0"
            for name, kind in zip(index.names, index.types, strict=True)
            if kind in ("Placeholder", "Const")
        ]
        places = st.sampled_from(fed or ["x:0"])
        number = self.number
        forms: dict[str, tuple[list[Any], dict[str, Any]]] = {
            "reroute": ([tensor], {"to": tensor.map(repr)}),
            "swap": ([tensor, tensor], {}),
            "connect": ([tensor, op], {"k": st.sampled_from(["0", "1", "None"])}),
            "insert": (
                [tensor],
                {"function": st.sampled_from(["'Identity'", "'StopGradient'", "'Cast'"])},
            ),
            "replace": (
                [op],
                {"by": st.sampled_from(["'Elu'", "'Add'", "'Nothing'"]), "remove": st.just("True")},
            ),
            "remove": ([op], {"consumers": st.sampled_from(["True", "False"])}),
            "rename": ([op], {"new": st.just(f"'named_{number}'")}),
            "set_device": ([op], {"device": st.just("'/device:CPU:0'")}),
            "set_attr": (
                [op],
                {"name": st.sampled_from(["'T'", "'transpose_a'"]), "value": st.just("True")},
            ),
            "set_constant": (
                [places],
                {"value": st.sampled_from(["0", "[[1.0, 2.0, 3.0]]", "True"])},
            ),
            "set_input": ([places], {"shape": st.sampled_from(["[None, 3]", "[4]", "None"])}),
            "add_control_inputs": ([op], {"ops": op.map(repr)}),
            "remove_control_inputs": ([op], {"ops": op.map(repr)}),
        }
        what, more = forms.get(command, ([op], {}))
        if command in ("freeze", "strip_training", "fold_batch_norm"):
            what = []
        values = {key: data.draw(value, label=key) for key, value in more.items()}
        drawn = tuple(data.draw(some, label="what") for some in what)
        return p.Change(command, drawn, tuple(values), tuple(values.values()))

    # What happens

    def say(self, message: Any) -> dict[str, Any]:
        """Send it: one reply, with its id, which is small when it is a refusal."""
        replies = self.front.say(message, self.buffers)
        count("messages")
        assert len(replies) == 1
        reply = replies[0][0]
        number = message.get("id") if isinstance(message, dict) else None
        assert type(reply["id"]) is int
        assert reply["id"] in (number, -1)
        if reply["type"] == "refusal":
            assert len(json.dumps(reply)) < 100_000
            check_sentence(reply["why"])
            # Every refusal is a sentence that was written for it.
            assert " in the kernel: " not in reply["why"], reply["why"]
            self.offered += [offer["line"] for offer in reply["fixes"]]
        return reply

    def sent_and_checked(self, request: p.Request) -> None:
        """A good request, or one that is refused for what the graph is now."""
        before, chosen = all_of(self.editor), chosen_of(self.editor)
        self.number += 1
        message = message_of(self.number, request)
        self.sent.append(message)
        reply = self.say(message)
        assert reply["id"] == self.number
        now = all_of(self.editor)
        if reply["type"] == "refusal" or isinstance(request, QUESTIONS):
            assert now == before
        elif not isinstance(request, EDITS):
            same = before.keys() - ({"here"} if before["path"] != now["path"] else set())
            same &= {
                "ops",
                "here",
                "functions",
                "collections",
                "copies",
                "lines",
                "GraphDef",
                "history",
            }
            if isinstance(request, p.Probe) and not before["GraphDef"]:  # a file is imported for it
                same -= {"GraphDef"}
            assert {key: now[key] for key in same} == {key: before[key] for key in same}
            if not isinstance(request, (*CHOOSE, p.SelectMatching, p.Enter, p.Leave)):
                assert chosen_of(self.editor) == chosen
        elif len(now["history"][0]) > len(before["history"][0]) and not isinstance(
            request, p.Redo | p.Jump
        ):
            self.undone_and_redone(before, now)
        self.learn()

    def undone_and_redone(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """An edit is taken back, and the graph is what it was; then it is done again."""
        graph = ("ops", "functions", "collections", "copies", "lines")
        self.front.ask("undo")
        now = graph_of(self.editor)
        assert {key: now[key] for key in graph} == {key: before[key] for key in graph}
        values = {name: held for name, held in now["values"].items() if name in before["values"]}
        assert values == {name: before["values"][name] for name in values}
        self.front.ask("redo")
        now = graph_of(self.editor)
        assert {key: now[key] for key in graph} == {key: after[key] for key in graph}

    @rule(data=st.data(), kind=st.sampled_from(SEVERAL))
    def sends_a_request(self, data: st.DataObject, kind: str) -> None:
        self.sent_and_checked(self.request(data, REQUESTS[kind]))

    @rule(data=st.data(), kind=st.sampled_from(SEVERAL))
    def looks_about(self, data: st.DataObject, kind: str) -> None:
        self.sent_and_checked(self.request(data, REQUESTS[kind]))

    @rule(data=st.data())
    def changes_something(self, data: st.DataObject) -> None:
        self.sent_and_checked(self.change(data))

    @rule(data=st.data())
    def clones_anything(self, data: st.DataObject) -> None:
        self.sent_and_checked(self.request(data, p.Clone))

    @rule(data=st.data())
    def selects_and_clones(self, data: st.DataObject) -> None:
        ops = tuple(
            data.draw(
                st.lists(st.sampled_from(self.editor._core.index.names), min_size=1, max_size=3),
                label="ops",
            )
        )
        self.sent_and_checked(p.Select("set", ops, ()))
        self.sent_and_checked(p.Derive("upstream"))
        self.sent_and_checked(p.Clone((), (), f"copy{len(self.editor.history.done)}", init="none"))

    @rule(data=st.data(), buffers=st.lists(st.binary(max_size=40), min_size=1, max_size=3))
    def sends_bytes_along(self, data: st.DataObject, buffers: list[bytes]) -> None:
        """Buffers that nobody has asked for change nothing in what a request means."""
        self.buffers = buffers
        self.sent_and_checked(self.request(data, data.draw(st.sampled_from(QUESTIONS))))
        self.buffers = []

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def says_the_same_again(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from(self.sent))
        number, kind = message["id"], REQUESTS[message["type"]]
        fields = {
            k: tuple(v) if isinstance(v, list) else v
            for k, v in message.items()
            if k not in ("id", "type")
        }
        self.sent_and_checked(kind(**fields))
        assert self.sent[-1]["id"] != number

    @rule(data=st.data(), kind=st.sampled_from(sorted(REQUESTS)))
    def sends_a_broken_request(self, data: st.DataObject, kind: str) -> None:
        """A request with one thing wrong, which changes nothing at all."""
        message = message_of(7, self.request(data, REQUESTS[kind]))
        broken = data.draw(st.sampled_from(WAYS_TO_BREAK), label="how")(message, data)
        before = all_of(self.editor)
        assert self.say(broken)["type"] == "refusal"
        assert all_of(self.editor) == before

    @precondition(
        lambda self: (
            getattr(self.editor._core.source.body, "graph", None) is not None
            and self.editor._core.executor.boundary is None
        )
    )
    @rule()
    def another_cell_adds_an_op(self) -> None:
        with self.editor.graph.as_default():
            tf.constant(1.0, name=f"by_another_cell_{self.added}")
        self.added += 1

    @rule()
    def another_cell_takes_something_back(self) -> None:
        if self.editor.history.done:
            self.editor.undo()


Broken = Callable[[dict[str, Any], st.DataObject], Any]


def without_a_field(message: dict[str, Any], data: st.DataObject) -> Any:
    kind = REQUESTS[message["type"]]
    needed = [
        field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING
    ]
    left_out = data.draw(st.sampled_from(["type", *needed]), label="left out")
    return {key: value for key, value in message.items() if key != left_out}


def with_a_wrong_field(message: dict[str, Any], data: st.DataObject) -> Any:
    """Another type, a number that none is, text that no JSON carries back, a list in a list in a
    list …
    """
    hints = get_type_hints(REQUESTS[message["type"]])
    name = data.draw(st.sampled_from(["type", *hints]), label="field")
    nested: Any = []
    for _ in range(400):
        nested = [nested]
    wrong = [
        value
        for value in (*NOT_OF_THE_TYPE, nested, "half \ud800")
        if name == "type" or not fits(value, hints[name])
    ]
    return {**message, name: data.draw(st.sampled_from(wrong), label="value")}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is right for a field, said in another way than `wire` does."""
    if isinstance(hint, types.UnionType):
        return value is None or fits(value, get_args(hint)[0])
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(fits(some, get_args(hint)[0]) for some in value)
    if hint is str:
        return isinstance(value, str) and "\ud800" not in value
    if hint is bool:
        return isinstance(value, bool)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 2**63:
        return False
    return hint is float or isinstance(value, int)


def with_a_field_too_many(message: dict[str, Any], data: st.DataObject) -> Any:
    return {
        **message,
        data.draw(st.sampled_from(["__class__", "self", "editor", "", "id ", "\ud800"])): 1,
    }


def with_a_wrong_id(message: dict[str, Any], data: st.DataObject) -> Any:
    return {
        **message,
        "id": data.draw(st.sampled_from([None, True, "7", 7.0, [7], {}, 2**70, float("nan")])),
    }


def without_an_id(message: dict[str, Any], data: st.DataObject) -> Any:
    return {key: value for key, value in message.items() if key != "id"}


def something_else(message: dict[str, Any], data: st.DataObject) -> Any:
    return data.draw(
        st.sampled_from([None, [], [message], json.dumps(message), 7, True, {}, {"id": 7}])
    )


def of_a_type_that_is_none(message: dict[str, Any], data: st.DataObject) -> Any:
    return {
        **message,
        "type": data.draw(
            st.sampled_from(["", "form", "Open", "__init__", "refused", "open ", ["open"]])
        ),
    }


WAYS_TO_BREAK: list[Broken] = [
    without_a_field,
    with_a_wrong_field,
    with_a_field_too_many,
    with_a_wrong_id,
    without_an_id,
    something_else,
    of_a_type_that_is_none,
]

TestAPageInTheHandsOfChance = Page.TestCase
TestAPageInTheHandsOfChance.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
    derandomize=ROUNDS == 1,
    database=None,
)


def good_messages(editor: GraphEditor) -> list[dict[str, Any]]:
    """One of each kind and more, of ops that are there."""
    names = editor._core.index.names
    op, last = names[0], names[-1]
    tensor = next(f"{name}:0" for i, name in enumerate(names) if editor._core.index.dtypes(i))
    scope = next((name for name in editor._core.index.scopes.names if name), "")
    requests: list[Any] = [
        p.Inspect(op), p.Search("type:MatMul"), p.Examine(last), p.Script(), p.Ping(),
        p.Targets(tensor), p.Refresh(),
        p.Toggle(scope, False, ""), p.Reveal(last), p.ExpandAll(True), p.ExpandAll(False),
        p.SetDirection("right"),
        p.Hide("hide", (op,)),
        p.Hide("nothing", ()), p.Pin(op, 10.0, 20.0), p.Unpin(op), p.PrefetchScene(scope),
        p.Picture("svg"),
        p.Select("set", (op, last), ()), p.Derive("upstream"), p.Derive("boundary"),
        p.Boundary((), (tensor,)),
        p.Boundary((), ()), p.Compare(True), p.Color(""), p.Probe(op), p.Enter(op, ""), p.Leave(0),
        p.Preview((), (tensor,), "copy"), p.Clone((), (tensor,), "copy", init="none"), p.Undo(),
        p.Redo(), p.Jump(0),
        p.Change("bypass", (last,)), p.Change("rename", (op,), ("new",), ("'named'",)),
        p.Change("insert", (tensor,), ("function",), ("'Identity'",)), p.Change("remove", (last,)),
        p.Change("set_attr", (op,), ("name", "value"), ("'T'", "1")), p.Fix("editor.bypass()"),
        p.Change("detach", (last,)), p.Change("reroute", (tensor,), ("to",), (repr(tensor),)),
    ]  # fmt: skip
    return [message_of(0, request) for request in requests]


@pytest.mark.parametrize("kind", sorted(GRAPHS))
def test_a_mutated_message_gets_one_reply_and_a_refused_one_changes_nothing(kind: str) -> None:
    for seed in seeds(1):
        chance = random.Random(f"{kind} {seed}")
        editor = GRAPHS[kind]()
        front = FrontEnd(editor)
        good = good_messages(editor)
        sent: list[Any] = []
        before = all_of(editor)
        for number in range(MUTATED):
            message: Any = {**chance.choice([*good, *sent[-5:]]), "id": number}
            for _ in range(chance.choice((0, 1, 1, 2))):
                message = damaged_json(message, chance)
            if isinstance(message, dict):
                sent.append(message)
            replies = front.say(message, [b"\x00\xff" * 10] if chance.random() < 0.1 else [])
            count("messages")
            assert len(replies) == 1, (message, replies)
            reply, expected = (
                replies[0][0],
                message.get("id") if isinstance(message, dict) else None,
            )
            assert reply["id"] == (expected if is_whole(expected) else -1), (message, reply)
            if reply["type"] == "refusal":
                check_sentence(reply["why"])
                assert " in the kernel: " not in reply["why"], (message, reply["why"])
            now = all_of(editor)
            if reply["type"] == "refusal":
                differ = [key for key in before if before[key] != now[key]]
                assert not differ, (message, reply["why"], differ)
            before = now
