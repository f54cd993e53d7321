"""A slow connection between the pages and the Jupyter server, which a test cuts: delay, rate, lost
data.

DevTools can slow HTTP down, but not websockets; this is a TCP proxy in a thread of its own.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from tests.browser.server import free_port

CHUNK = 16_384


@dataclass(eq=False)
class Line:
    """One connection: its two sockets, and whether it is a websocket."""

    page: asyncio.StreamWriter
    server: asyncio.StreamWriter
    is_websocket: bool = False


@dataclass
class Link:
    """The proxy. `delay` (s, one way) and `rate` (bytes per s, each way) apply to what arrives from
    then on.
    """

    target: int
    port: int = field(default_factory=free_port)
    delay: float = 0.0
    rate: float = float("inf")
    # what is lost in websockets: "requests" of the page, or "replies" of the server
    loses: str = ""

    def __post_init__(self) -> None:
        self._lines: set[Line] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()
        listening = asyncio.start_server(self._connect, "127.0.0.1", self.port)
        self._server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()

    def stop(self) -> None:
        """Cut all connections, and listen no more."""
        self._loop.call_soon_threadsafe(self._server.close)
        self.cut(websockets_only=False)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self, *, websockets_only: bool = True) -> None:
        """Drop the connections, with all that is on its way in them."""

        async def drop() -> None:
            for line in [line for line in self._lines if line.is_websocket or not websockets_only]:
                self._lines.discard(line)
                for writer in (line.page, line.server):
                    writer.transport.abort()
            self.loses = ""

        asyncio.run_coroutine_threadsafe(drop(), self._loop).result()

    async def _connect(self, reader: asyncio.StreamReader, page: asyncio.StreamWriter) -> None:
        from_server, server = await asyncio.open_connection("127.0.0.1", self.target)
        line = Line(page, server)
        self._lines.add(line)
        with suppress(OSError):
            await asyncio.gather(
                self._pump(line, reader, server), self._pump(line, from_server, page)
            )
        self._lines.discard(line)
        for writer in (page, server):
            writer.close()

    async def _pump(
        self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Pass on what one end sends, late and slowly."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        passing = asyncio.create_task(self._pass(waiting, writer))
        free = self._loop.time()
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                line.is_websocket |= writer is line.server and b"upgrade: websocket" in data.lower()
                if line.is_websocket and self.loses == (
                    "replies" if writer is line.page else "requests"
                ):
                    continue
                free = max(free, self._loop.time()) + len(data) / self.rate
                await waiting.put((free + self.delay, data))
                if free - self._loop.time() > 0.2:  # as a socket whose buffer is full
                    await asyncio.sleep(free - self._loop.time() - 0.2)
        await waiting.put((0.0, b""))
        with suppress(OSError):
            await passing

    async def _pass(
        self, waiting: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter
    ) -> None:
        while True:
            due, data = await waiting.get()
            if not data:
                writer.close()
                return
            await asyncio.sleep(max(due - self._loop.time(), 0))
            writer.write(data)
            await writer.drain()
