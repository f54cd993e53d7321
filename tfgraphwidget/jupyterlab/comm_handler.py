"""Talk: one panel's or document's messages, each answered with exactly one reply that has its id.

    {id, type: "choices"}                 → {choices: [{name, kind, about}]}
    {id, type: "open", name}              → "opened" {model_id, title, variable, line}
    {id, type: "file", path, ...}         → "opened" {model_id, title, notice, ...}: see documents.open_document
    {id, type: "moved", path, root}       → "moved" {title, ...}: the file has another name now
    {id, type: "kinds"}, "save"           → of the file's document
    pushed, without an id                   "changed" {title, dirty, line, ...}: after each edit

A request that has `tells` hears, before its reply, how far long work is: {id, type: "working", what, done, total}.
A refusal is the reply {type: "refused", why, error}: one sentence, and the name of what was raised.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.interrupts import Cancelling
from tfgraphwidget.progress import told_to
from tfgraphwidget.turns import in_turn

Message = Mapping[str, Any]
_SPEAK_EVERY = 0.1  # seconds between two words of progress, and before the first
_log = logging.getLogger(__name__)


class CommHandler:
    """The kernel's end of a comm. `close` is also what a page gets that has been left for others."""

    def __init__(self, comm: Any) -> None:
        self.is_open = True
        self._comm = comm
        self._follows: Any = None  # a namespace.Panel or a files.Document
        comm.on_msg(lambda message: in_turn(lambda: self._heard(message)))
        comm.on_close(lambda _: self._end())

    def close(self) -> None:
        """End it from here; the page then says so."""
        if self.is_open:
            self._end()
            self._comm.close()

    def push(self, told: Message) -> None:
        """Say something that was not asked for."""
        if self.is_open:
            self._comm.send({**told, "type": "changed"})

    def _end(self) -> None:
        self.is_open = False
        self._follow(None)

    def _follow(self, what: Any) -> None:
        """Tell the page of the edits of that, and of nothing else any more."""
        if self._follows is not None and self._follows is not what:
            self._follows.unfollow(self.push)
        self._follows = what
        if what is not None:
            what.follow(self.push)

    def _heard(self, message: Any) -> None:
        """Answer one message of the page."""
        with Cancelling() as cancelling:
            self._reply(cancelling, message)

    def _reply(self, cancelling: Cancelling, message: Any) -> None:
        data = message.get("content", {}).get("data")
        said: Message = data if isinstance(data, dict) else {}
        number = said.get("id")
        try:
            with cancelling.once(), told_to(self._telling(said)):
                reply = self._answer(said)
        except GraphEditError as error:
            reply = {"type": "refused", "why": error.why, "error": type(error).__name__}
        except Exception as error:
            # The person sees what went wrong; the traceback goes to the kernel's log, not into the panel.
            _log.exception("tfgraphwidget: a request of JupyterLab failed")
            why = f"{type(error).__name__} in the kernel: {str(error)[:300]}"
            reply = {"type": "refused", "why": why, "error": type(error).__name__}
        except KeyboardInterrupt:
            reply = {"type": "refused", "why": "This was interrupted.", "error": "Interrupted"}
        self._comm.send({**reply, "id": number})

    def _telling(self, said: Message) -> Callable[[str, int, int], None]:
        """What sends the progress of a request that wants to hear of it, not too often."""
        last = time.monotonic()

        def tell(what: str, done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if said.get("tells") is True and now - last >= _SPEAK_EVERY:
                last = now
                self._comm.send({"type": "working", "id": said.get("id"), "what": what, "done": done, "total": total})

        return tell

    def _answer(self, said: Message) -> dict[str, Any]:
        kind = said.get("type")
        answer = _ANSWERS.get(kind) if isinstance(kind, str) else None
        if answer is None:
            raise GraphEditError("This kernel does not understand the page; reload it, or restart the kernel.")
        return answer(self, said)

    def _choices(self, _: Message) -> dict[str, Any]:
        from tfgraphwidget.jupyterlab import namespace

        return {"type": "choices", "choices": namespace.list_choices()}

    def _open(self, said: Message) -> dict[str, Any]:
        from tfgraphwidget.jupyterlab import namespace

        panel = namespace.open_variable(said.get("name"))
        self._follow(panel)
        return _shown(panel, said)

    def _file(self, said: Message) -> dict[str, Any]:
        from tfgraphwidget.jupyterlab import documents

        document = documents.open_document(said)
        self._follow(document)
        return {**_shown(document, said), "notice": document.notice}

    def _moved(self, said: Message) -> dict[str, Any]:
        document = self._document()
        document.moved(said)
        return {**document.changed(), "type": "moved"}

    def _kinds(self, _: Message) -> dict[str, Any]:
        return {"type": "kinds", **self._document().kinds()}

    def _save(self, said: Message) -> dict[str, Any]:
        return {"type": "saved", **self._document().save(said)}

    def _document(self) -> Any:
        if not hasattr(self._follows, "save"):
            raise GraphEditError("No file is open here; open one first.")
        return self._follows


def _shown(what: Any, said: Message) -> dict[str, Any]:
    """The reply that has the page show an editor's widget; `direction` is for one that was made for this page."""
    editor, direction = what.editor, said.get("direction")
    if what.is_new and direction in ("down", "right"):
        editor.direction = direction
    return {**what.changed(), "type": "opened", "model_id": editor.widget.model_id}


_ANSWERS: Mapping[str, Callable[[CommHandler, Message], dict[str, Any]]] = {
    "choices": CommHandler._choices,
    "open": CommHandler._open,
    "file": CommHandler._file,
    "moved": CommHandler._moved,
    "kinds": CommHandler._kinds,
    "save": CommHandler._save,
}
