"""Messages that no page of ours sends: far too large, nested without end, half a character, numbers
out of this world.

Each gets one reply, which is small, and leaves everything as it was.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised
from tests.front_end import FrontEnd, all_of
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.protocol.codec import ADDRESS, REQUESTS, message_type

LARGE = "a" * 1_100_000  # a little more than a field takes
HALF = "net/\ud800"
PART = {"inputs": ["x"], "outputs": ["net/logits"], "into": "copy"}


@pytest.fixture(scope="module")
def front() -> FrontEnd:
    """A page that shows two dense layers; no test changes them."""
    graph = build_mlp(resource=True)
    shown = FrontEnd(tgw.edit(graph, session=initialised(graph)))
    shown.ask("open")
    shown.editor.mark("x:0", "net/logits:0")
    return shown


def nested(depth: int) -> Any:
    """A list in a list in a list …"""
    made: Any = []
    for _ in range(depth):
        made = [made]
    return made


def smallest(kind: type) -> dict[str, Any]:
    """A message with the fields that a request must have."""
    simple: dict[Any, Any] = {str: "x", bool: True, int: 1, float: 1.0}
    made: dict[str, Any] = {"id": 1, "type": message_type(kind)}
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING:
            hint = hints[field.name]
            origin = get_origin(hint)
            made[field.name] = (
                [] if origin is tuple else simple[hint] if hint in simple else get_args(hint)[0]
            )
    return made


def texts(kind: type) -> list[tuple[str, bool]]:
    """The fields of a request that hold text, and whether a list of texts."""
    hints = get_type_hints(kind)
    return [
        (name, hint is not str)
        for name, hint in hints.items()
        if hint is str or hint == tuple[str, ...]
    ]


FIELDS = [(kind, name, several) for kind, made in REQUESTS.items() for name, several in texts(made)]


def refused(front: FrontEnd, message: Any) -> str:
    """Why it was refused; it got one small reply and changed nothing."""
    before = all_of(front.editor)
    replies = front.say(message)
    assert len(replies) == 1
    reply, buffers = replies[0]
    assert reply["type"] == "refusal"
    assert not buffers
    assert len(json.dumps(reply)) < 20_000
    assert all_of(front.editor) == before
    why: str = reply["why"]
    assert "in the kernel" not in why
    return why


@pytest.mark.parametrize(("kind", "field", "several"), FIELDS)
def test_a_megabyte_in_a_field_is_refused(
    front: FrontEnd, kind: str, field: str, several: bool
) -> None:
    message = smallest(REQUESTS[kind]) | {field: [LARGE] if several else LARGE}
    assert "reload the page" in refused(front, message)


@pytest.mark.parametrize(("kind", "field", "several"), FIELDS)
def test_half_a_character_is_refused(front: FrontEnd, kind: str, field: str, several: bool) -> None:
    message = smallest(REQUESTS[kind]) | {field: [HALF] if several else HALF}
    assert "reload the page" in refused(front, message)


@pytest.mark.parametrize("kind", sorted(REQUESTS))
def test_lists_without_end_are_refused(front: FrontEnd, kind: str) -> None:
    for name in ("type", "id", *get_type_hints(REQUESTS[kind]), "more"):
        assert "reload the page" in refused(front, smallest(REQUESTS[kind]) | {name: nested(900)})


@pytest.mark.parametrize(
    "message",
    [None, [], "a" * 10_000_000, 7, nested(900), {}, {"id": True, "type": "open"}, {"id": 2**80}],
)
def test_what_is_no_message_gets_a_reply_without_an_id(front: FrontEnd, message: Any) -> None:
    assert "whole number" in refused(front, message)
    assert front.say(message)[0][0]["id"] == -1


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"type": "pin", "name": "x", "x": 1e12, "y": 0}, "at most 10,000,000 pixels"),
        ({"type": "pin", "name": "x", "x": 1e308, "y": 0}, "reload the page"),
        ({"type": "pin", "name": "x", "x": 10**400, "y": 0}, "reload the page"),
        ({"type": "pin", "name": "x", "x": float("nan"), "y": 0}, "reload the page"),
        (
            {"type": "picture", "suffix": "png", "whole": False, "area": [0, 0, 1e12, 1e12]},
            "left, top, width",
        ),
        (
            {"type": "picture", "suffix": "png", "whole": False, "area": [0, 0, 1e-9, 1e6]},
            "left, top, width",
        ),
        ({"type": "clone", **PART, "times": 10**9}, "give 1 to 10,000"),
        ({"type": "clone", **PART, "times": 2**70}, "reload the page"),
        ({"type": "clone", **PART, "into": "c" * 5_000}, "at most 1,000 characters"),
        ({"type": "search", "text": "x", "limit": 2**70}, "reload the page"),
        ({"type": "jump", "to": 10**12}, "from 0 to 0"),
        *(
            ({"type": "open", "pane": pane}, "reload the page")
            for pane in (
                [],
                [1],
                [500, 0],
                [500, 700, 1],
                [-500, 700],
                [float("nan"), 1],
                ["a", 1],
                "ab",
                {},
                7,
            )
        ),
        ({"type": "leave", "depth": -5}, "depth must be 0 to 0"),
        ({"type": "fix", "line": "__import__('os').abort()"}, "try the edit again"),
        ({"type": "change", "command": "save", "what": ["x"]}, "reload the page"),
        ({"type": "change", "command": "__class__"}, "reload the page"),
        (
            {
                "type": "change",
                "command": "rename",
                "what": ["x"],
                "keys": ["self"],
                "values": ["1"],
            },
            "reload the page",
        ),
        ({"type": "toggle", "scope": "n" * 900_000}, "no name scope"),
    ],
)
def test_what_is_out_of_this_world_is_refused(
    front: FrontEnd, message: dict[str, Any], why: str
) -> None:
    assert why in refused(front, {"id": 5, **message})


@pytest.mark.parametrize(
    "text", ["-" * 50_000 + "1", "(" * 50_000, "1+" * 20_000 + "1", "'\\ud800'"]
)
def test_the_text_of_a_value_is_no_program(front: FrontEnd, text: str) -> None:
    before = all_of(front.editor)
    message = {
        "id": 5,
        "type": "change",
        "command": "rename",
        "what": ["net/logits"],
        "keys": ["new"],
        "values": [text],
    }
    replies = front.say(message)
    assert [reply["type"] for reply, _ in replies] == ["refusal"]
    assert all_of(front.editor) == before


def test_a_picture_of_a_very_large_area_is_made_smaller(front: FrontEnd) -> None:
    reply, (data,) = front.say(
        {
            "id": 9,
            "type": "picture",
            "suffix": "png",
            "whole": False,
            "area": [0, 0, 90_000, 90_000],
        }
    )[0]
    assert reply["type"] == "picture_reply"
    assert len(data) < 10_000_000


def test_an_edit_that_comes_twice_is_made_once_and_answered_twice(front: FrontEnd) -> None:
    form = {"inputs": ["x:0"], "outputs": ["net/logits:0"], "into": "copy"}
    message = {"id": 3, "type": "clone", "inspected": "", **form}
    first, second = (front.say(message) for _ in range(2))
    assert first == second
    assert first[0][0]["type"] == "scene_reply"
    assert len(front.editor.history.done) == 1


def test_a_request_twice_gets_two_replies(front: FrontEnd) -> None:
    assert [front.say({"id": 3, "type": "inspect", "name": "x"})[0][0]["id"] for _ in range(2)] == [
        3,
        3,
    ]


def test_every_reply_has_a_type_that_this_test_counts() -> None:
    assert {"scene_reply", "refusal"} <= {message_type(kind) for kind in get_args(p.Reply)}


@pytest.mark.parametrize("fault", ["the refusal cannot be written", "the reply cannot be sent"])
def test_what_goes_wrong_after_a_request_was_handled_is_a_reply_too(
    front: FrontEnd, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    # ipywidgets logs an exception of a callback and goes on: the page would wait for ever.
    handler = front.editor.view.widget._pane._handler
    if fault == "the refusal cannot be written":
        monkeypatch.setattr(handler, "refusal_reply", lambda _: 1 / 0)
        replies, kind = (
            front.say({"id": 71, "type": "clone", **PART, "into": "not a scope"}),
            ZeroDivisionError,
        )
    else:
        monkeypatch.setattr(handler, "handle", lambda *_: (p.PictureReply(HALF), []))
        replies, kind = (
            front.say({"id": 71, "type": "picture", "suffix": "svg"}),
            UnicodeEncodeError,
        )
    ((reply, buffers),) = replies
    assert (reply["id"], reply["type"], buffers) == (71, "refusal", [])
    assert reply["why"].startswith(f"{kind.__name__} in the kernel: ")
    monkeypatch.undo()
    assert front.ask("ping")["type"] == "pong"


def test_a_message_that_json_cannot_hold_is_not_taken_for_an_earlier_one(front: FrontEnd) -> None:
    for number in (81, 82):
        replies = front.editor.view.widget._requests._delivery._messages
        message = {"id": number, "type": "search", "text": {1, number}}
        front.line.__dict__["sent"] = []
        front.editor.view.widget._requests.receive(number, message)
        (data, _), *more = front.line.__dict__["sent"]
        assert not more
        assert (data["content"]["id"], data["content"]["type"]) == (number, "refusal")
        assert (-1, 0) not in replies


def test_no_field_of_a_request_is_taken_for_the_address_of_its_message() -> None:
    for name, kind in REQUESTS.items():
        assert not ADDRESS & {field.name for field in dataclasses.fields(kind)}, name
