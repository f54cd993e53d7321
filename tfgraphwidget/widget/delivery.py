"""Delivery: each reply arrives once, over connections that drop and that limit the size of a
message.

A page that has lost its connection does not know whether a request or its reply was lost: it sends
the same request again, with the same id. The reply that was made then is sent again, and the
request is not handled a second time. A reply that is too large for one message travels in pieces.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Protocol as TypingProtocol

from tfgraphwidget.widget import protocol
from tfgraphwidget.widget.protocol import codec

Message = tuple[dict[str, object], list[bytes]]
"""What is sent: the content, and the buffers beside it."""

Key = tuple[int, int]
"""The id of a request, and the hash of what it asks."""

# of a message; servers and proxies close a connection with more than 4 to 10 MB in one
MOST_BYTES = 3_000_000
_MOST_KEPT = 32_000_000  # bytes of replies that may have to be sent again
_MOST_NUMBERS = 4_000  # requests that are known to be answered
_LOST = (
    "The reply was lost with the connection. The request was done, and is not repeated; History "
    "lists each edit."
)


_NO_KEY = (-1, 0)


class Sender(TypingProtocol):
    """What sends messages, as a widget does."""

    def send(self, content: dict[str, object], buffers: list[bytes]) -> None:
        """Send one message with this `content` and `buffers`."""


class Delivery:
    """Sends replies, and keeps the last ones."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._messages: OrderedDict[Key, list[Message]] = OrderedDict()  # by request, oldest first
        self._sizes: OrderedDict[Key, int] = OrderedDict()  # of those whose messages are kept

    def repeat(self, number: int, request: object) -> bool:
        """Send the reply again if the request was answered before; return whether it was."""
        key = _key(number, request)
        if key not in self._messages:
            return False
        messages = self._messages[key]
        if not messages:  # they took too much memory to be kept
            messages = [(codec.encode(number, protocol.Refusal(_LOST, ())), [])]
        for message in messages:
            self._sender.send(*message)
        return True

    def reply(
        self, number: int, request: object, content: dict[str, object], buffers: list[bytes]
    ) -> None:
        """Send and keep the reply to a request, with its id, -1 if it has none, and its bytes."""
        messages, size = split(content, buffers)
        key = _key(number, request)
        if key != _NO_KEY and number >= 0:
            self._messages[key], self._sizes[key] = messages, size
            while len(self._sizes) > 1 and sum(self._sizes.values()) > _MOST_KEPT:
                self._messages[self._sizes.popitem(last=False)[0]] = []
            while len(self._messages) > _MOST_NUMBERS:
                self._sizes.pop(self._messages.popitem(last=False)[0], None)
        for message in messages:
            self._sender.send(*message)


def _key(number: int, request: object) -> Key:
    """What is equal for the same request only, also if a page counts again from the start."""
    try:
        return number, hash(json.dumps(request, sort_keys=True))
    except (RecursionError, TypeError, ValueError):  # no request, so it is refused each time
        return _NO_KEY


def split(content: dict[str, object], buffers: list[bytes]) -> tuple[list[Message], int]:
    """Split a message that is too large, into pieces with the id of the request; the message or
    these, and the number of bytes.
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    size = len(text) + sum(map(len, buffers))
    if size <= MOST_BYTES:
        return [(content, buffers)], size
    data = b"".join([text, *buffers])
    pieces = [data[start : start + MOST_BYTES] for start in range(0, size, MOST_BYTES)]
    messages: list[Message] = []
    for nth, piece in enumerate(pieces):
        described = codec.encode(-1, protocol.Piece(nth, len(pieces), len(text)))
        messages.append(({**described, "id": content["id"]}, [piece]))
    return messages, size
