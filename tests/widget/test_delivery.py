"""Each reply arrives once, over connections that drop and that limit the size of a message."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.delivery import MOST_BYTES, Delivery, split
from tfgraphwidget.widget.protocol import codec

pytestmark = pytest.mark.no_tensorflow

REQUEST = {"type": "picture", "suffix": "png"}
Sent = list[tuple[dict[str, Any], list[bytes]]]


@pytest.fixture
def sent() -> Sent:
    """What was sent, in order."""
    return []


@pytest.fixture
def delivery(sent: Sent) -> Delivery:
    """A delivery that notes what it sends."""
    return Delivery(SimpleNamespace(send=lambda content, buffers: sent.append((content, buffers))))


def joined(messages: Sent) -> tuple[dict[str, Any], bytes]:
    """The reply of its pieces, as the page puts it together."""
    data = b"".join(piece for _, (piece,) in messages)
    size = messages[0][0]["text"]
    return json.loads(data[:size]), data[size:]


def test_a_request_that_comes_again_gets_the_same_reply_again(
    delivery: Delivery, sent: Sent
) -> None:
    assert not delivery.repeat(7, REQUEST)
    delivery.reply(7, REQUEST, codec.encode(7, p.PictureReply("a.png")), [b"bytes"])
    assert delivery.repeat(7, REQUEST)
    assert sent[0] == sent[1] == ({"id": 7, "type": "picture_reply", "name": "a.png"}, [b"bytes"])
    assert not delivery.repeat(8, REQUEST)


def test_another_request_with_the_number_of_an_earlier_one_is_not_its_repetition(
    delivery: Delivery,
) -> None:
    delivery.reply(7, REQUEST, codec.encode(7, p.PictureReply("a.png")), [])
    assert not delivery.repeat(7, {**REQUEST, "suffix": "svg"})
    assert delivery.repeat(7, dict(reversed(REQUEST.items())))


def test_messages_without_a_number_are_all_answered(delivery: Delivery, sent: Sent) -> None:
    for _ in range(2):
        assert not delivery.repeat(-1, REQUEST)
        delivery.reply(-1, REQUEST, codec.encode(-1, p.Refusal("no", ())), [])
    assert len(sent) == 2


def test_a_large_reply_travels_in_pieces_none_of_which_is_too_large(
    delivery: Delivery, sent: Sent
) -> None:
    data = bytes(range(256)) * (5 * MOST_BYTES // 512)
    delivery.reply(
        7, REQUEST, codec.encode(7, p.DownloadReply("größer.zip", "Downloaded.")), [data]
    )
    assert [content["nth"] for content, _ in sent] == list(range(len(sent)))
    assert {(content["id"], content["type"], content["of"]) for content, _ in sent} == {
        (7, "piece", len(sent))
    }
    assert all(len(piece) <= MOST_BYTES for _, (piece,) in sent)
    assert joined(sent) == (
        {"id": 7, "type": "download_reply", "name": "größer.zip", "about": "Downloaded."},
        data,
    )
    first = list(sent)
    assert delivery.repeat(7, REQUEST)
    assert sent == first * 2


def test_a_reply_with_much_text_travels_in_pieces_too() -> None:
    content = {"id": 7, "type": "edit_ops", "names": ["é" * 100] * 40_000}
    messages, size = split(content, [])
    assert size > 8_000_000
    assert len(messages) == 3
    assert joined(messages) == (content, b"")


def test_replies_are_kept_while_there_is_space_and_what_was_done_is_never_done_again(
    delivery: Delivery, sent: Sent
) -> None:
    for number in range(20):
        delivery.reply(
            number,
            REQUEST,
            codec.encode(number, p.PictureReply("a.png")),
            [bytes(MOST_BYTES - 1000)],
        )
    sent.clear()
    assert delivery.repeat(19, REQUEST)
    assert sent[-1][0]["type"] == "picture_reply"
    assert delivery.repeat(0, REQUEST)
    assert sent[-1][0]["type"] == "refusal"
    assert "is not repeated" in sent[-1][0]["why"]
