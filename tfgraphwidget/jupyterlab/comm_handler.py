"""Handle the messages of one panel or document: each request gets exactly one reply with its id.

Requests, each with its reply:

- `{id, type: "choices"}`: "choices" `{choices: [{name, kind, about}]}`.
- `{id, type: "open", name}`: "opened" `{model_id, title, variable, line, …}`.
- `{id, type: "file", path, …}`: "opened" `{model_id, title, notice, …}`; see `open_document`.
- `{id, type: "moved", path, root}`: "moved" `{title, …}`; the file has another name now.
- `{id, type: "kinds"}`: "kinds", the formats that the document can be saved in.
- `{id, type: "save", kind, name, …}`: "saved" `{path, name, relative, about}`; see `Document.save`.
- `{id, type: "locate", path, root}`: "located" `{path}`, from the folder that names are relative
  to.

After each edit "changed" `{title, dirty, line, …}` is pushed, without an id. A request that has
`wants_progress` gets, before its reply, the progress of long work: `{id, type: "working", what,
done, total}`. A refusal is the reply `{type: "refusal", why, error}`: one sentence, and the name of
what was raised.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.widget import Message, RequestLoop, on_page

if TYPE_CHECKING:
    from tfgraphwidget.jupyterlab.documents import Document
    from tfgraphwidget.jupyterlab.namespace import Panel

Request = Mapping[str, object]
_log = logging.getLogger(__name__)


class CommHandler:
    """The kernel's end of a comm. `close` is also called when too many handlers are open."""

    def __init__(self, comm: Any) -> None:
        self.is_open = True
        self._comm = comm
        self._requests = RequestLoop(self, self)
        self._follows: Panel | Document | None = None
        comm.on_msg(self._receive)
        comm.on_close(lambda _: self._end())

    def close(self) -> None:
        """Close the comm; the page shows a message."""
        if self.is_open:
            self._end()
            self._comm.close()

    def push(self, message: Request) -> None:
        """Send a message that is not a reply."""
        if self.is_open:
            self._comm.send({**message, "type": "changed"})

    def send(self, content: dict[str, object], _: list[bytes]) -> None:
        """Send a message with this `content`."""
        self._comm.send(content)

    def _end(self) -> None:
        self.is_open = False
        self._follow(None)

    def _follow(self, what: Panel | Document | None) -> None:
        """Send the edits of a panel or document to the page, and of no other."""
        if self._follows is not None and self._follows is not what:
            self._follows.unfollow(self.push)
        self._follows = what
        if what is not None:
            what.follow(self.push)

    def _receive(self, message: Any) -> None:
        """Answer one message of the page."""
        data = message.get("content", {}).get("data")
        request: Request = data if isinstance(data, dict) else {}
        identifier = request.get("id")
        self._requests.receive(identifier if isinstance(identifier, int) else -1, request)

    # What the loop of requests asks for: see `widget.request_loop.Responder`

    def answer(self, _: int, request: Any) -> Message:
        """Handle a request, and return the reply to it; see `Responder.answer`."""
        kind = request.get("type")
        make_reply = _ANSWERS.get(kind) if isinstance(kind, str) else None
        if make_reply is None:
            raise GraphEditError(
                "This kernel does not understand the page; reload it, or restart the kernel."
            )
        return {**make_reply(self, request), "id": request.get("id")}, []

    def refuse(self, _: int, request: Any, error: BaseException) -> Message:
        """Return the reply that says why a request could not be handled; see `Responder.refuse`."""
        kind = type(error).__name__
        why = f"{type(error).__name__} in the kernel: {str(error)[:300]}"
        if isinstance(error, GraphEditError):
            why = on_page(error.sentence)
        elif isinstance(error, KeyboardInterrupt):
            kind, why = "Interrupted", "This was interrupted."
        else:
            # The person sees what went wrong; the traceback goes to the kernel's log, not into the
            # panel.
            _log.error("tfgraphwidget: a request of JupyterLab failed", exc_info=error)
        return {"type": "refusal", "why": why, "error": kind, "id": request.get("id")}, []

    def working(
        self, number: int, request: Any, what: str, done: int, total: int
    ) -> dict[str, object] | None:
        """Return the message on the progress of a `wants_progress` request; see `working`."""
        if request.get("wants_progress") is not True:
            return None
        return {"type": "working", "id": number, "what": what, "done": done, "total": total}

    def _choices(self, _: Request) -> dict[str, object]:
        from tfgraphwidget.jupyterlab import namespace

        return {"type": "choices", "choices": namespace.list_choices()}

    def _open(self, request: Request) -> dict[str, object]:
        from tfgraphwidget.jupyterlab import namespace

        panel = namespace.open_variable(request.get("name"))
        self._follow(panel)
        return _open_reply(panel, request)

    def _file(self, request: Request) -> dict[str, object]:
        from tfgraphwidget.jupyterlab import documents

        document = documents.open_document(request)
        self._follow(document)
        return {**_open_reply(document, request), "notice": document.notice}

    def _move(self, request: Request) -> dict[str, object]:
        document = self._document()
        document.move(request)
        return {**document.status(), "type": "moved"}

    def _kinds(self, _: Request) -> dict[str, object]:
        return {"type": "kinds", **self._document().kinds()}

    def _save(self, request: Request) -> dict[str, object]:
        return {"type": "saved", **self._document().save(request)}

    def _locate(self, request: Request) -> dict[str, object]:
        return {"type": "located", "path": self._document().locate(request)}

    def _document(self) -> Document:
        from tfgraphwidget.jupyterlab import documents

        if not isinstance(self._follows, documents.Document):
            raise GraphEditError("No file is open here; open one first.")
        return self._follows


def _open_reply(what: Panel | Document, request: Request) -> dict[str, object]:
    """The reply that makes the page show an editor's widget; `direction` is a new editor's."""
    editor, direction = what.editor, request.get("direction")
    if what.is_new and direction in ("down", "right"):
        editor.view.direction = direction
    return {**what.status(), "type": "opened", "model_id": editor.view.widget.model_id}


_ANSWERS: Mapping[str, Callable[[CommHandler, Request], dict[str, object]]] = {
    "choices": CommHandler._choices,
    "open": CommHandler._open,
    "file": CommHandler._file,
    "moved": CommHandler._move,
    "kinds": CommHandler._kinds,
    "save": CommHandler._save,
    "locate": CommHandler._locate,
}
