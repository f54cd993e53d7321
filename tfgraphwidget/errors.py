"""The exceptions of this package: one sentence each, with the object, the problem and a suggested
fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tfgraphwidget.sentences import Sentence, either

_LONGEST = 2_000  # characters of each text in a sentence: a name in it may have 20,000
_LONGEST_QUOTE = 400  # characters that are quoted of another exception
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_CALL = re.compile(r"[a-z_]+\(.{0,300}?\): ")
_END = re.compile(r"(?<!\.\w)[.?!]\s+(?=[A-Z`'\"(])")  # of a sentence; "e.g. Mul" is none


class GraphEditError(Exception):
    """A refusal; graph, session and files are as they were.

    `ops` holds the names of the ops to highlight, in the order the sentence names them. `fixes` are
    commands of which each would do what was asked, with something more:
    `editor.apply(error.fixes[0])`. `sentence` is the refusal as text and fields, which a page
    writes in other words than Python; `why` adds the `fix`, the first of `fixes` as Python, to it,
    where a page has a button. `code` is what a program can rely on: it stays when a sentence
    changes. It is that of the case ("several-inputs-fit"), of the class ("name-taken"), or of the
    edit ("bypass-refused").

    `call` is the public method that refused, with what it was given first: "rename('net')"; or the
    assignment, "direction = 'up'". `str(error)` begins with it unless the sentence itself does;
    `why`, which others have in sentences of their own, does not.
    """

    code: str = "refused"
    call: str = ""
    fix: str = ""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.code = _WORD.sub("-", cls.__name__).lower()

    def __init__(
        self, why: str, ops: Iterable[str] = (), fixes: Iterable[Any] = (), *, code: str = ""
    ) -> None:
        self.sentence = Sentence(why).shorten(_LONGEST)
        super().__init__(self.sentence)
        self.ops = tuple(ops)
        self.fixes = tuple(fixes)
        if code:
            self.code = code

    @property
    def why(self) -> Sentence:
        """What cannot be, and what to do instead; in Python also the first fix."""
        return (
            self.sentence.clause + either(f", {self.fix}", "") + "." if self.fix else self.sentence
        )

    def __str__(self) -> str:
        method = self.call.partition("(")[0]
        name = method.rpartition(".")[2]
        if name != method and self.why.startswith((f"{name}: ", f"{name}(", f"{name} needs ")):
            return method + self.why[len(name) :]  # of a noun: "passes.cast"
        names_it = _CALL.match(self.why) or self.why.startswith((f"{method}: ", f"{method} needs "))
        return self.why if names_it or not self.call else f"{self.call}: {self.why}"

    def __reduce__(self) -> tuple[Any, ...]:
        """What a worker process sends: without fixes, which are edits of an editor that is
        there.
        """
        return _copy_of, (type(self), self.args, {**vars(self), "fixes": ()})

    def row(self) -> dict[str, object]:
        """The refusal as data that JSON can hold.

        Returns:
            "code"; "sentence", without the fixes; "ops"; and "fixes", of which each has a "label",
            the "python" of it, and as "edit" what `editor.history.replay([edit])` takes, None if it
            holds what no JSON can.
        """
        return {
            "code": self.code,
            "sentence": self.sentence,
            "ops": list(self.ops),
            "fixes": [fix.row() for fix in self.fixes],
        }


def first_sentence(text: str) -> str:
    r"""The first sentence of what a foreign exception says, as a part of a sentence: one line
    without a stop. What would move the cursor of a terminal is escaped: it may quote a file.

    >>> first_sentence("Op type not registered 'Mine'. Make sure that it is.\nMore about it:")
    "Op type not registered 'Mine'"
    """
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in line
    )
    sentence = _END.split(line, maxsplit=1)[0].rstrip(".,;: ")
    if len(sentence) <= _LONGEST_QUOTE:
        return sentence
    return f"{sentence[:_LONGEST_QUOTE].rpartition(' ')[0]} …"


def reason_of(error: BaseException) -> str:
    """What a foreign exception says, as a part of a sentence; its class if it says nothing."""
    return first_sentence(str(error)) or type(error).__name__


def kind_and_reason(error: BaseException) -> str:
    """The class of a foreign exception, and what it says if it says anything: "ValueError: not a
    number".
    """
    return f"{type(error).__name__}: {first_sentence(str(error))}".removesuffix(": ")


def _copy_of(
    kind: type[GraphEditError], args: tuple[object, ...], state: dict[str, object]
) -> GraphEditError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class InvalidArgument(GraphEditError, ValueError):
    """A value that an argument cannot have; `argument` is its name."""

    def __init__(self, argument: str, why: str) -> None:
        super().__init__(why)
        self.argument = argument


class WrongType(InvalidArgument, TypeError):
    """A value of a type that an argument cannot have; `argument` is its name."""


class UnknownName(GraphEditError, KeyError):
    """No op, tensor, scope, signature, option or file of that name; the sentence proposes the
    nearest ones.
    """


class NotAGraph(GraphEditError, TypeError):
    """The argument holds no TensorFlow graph."""


class NoPath(GraphEditError):
    """Two boundaries without a path of tensors from the one to the other."""


class NameTaken(GraphEditError):
    """A name is in use, or none; `name` is that one, and `free` the one that the sentence proposes,
    or "".
    """

    def __init__(
        self,
        why: str,
        ops: Iterable[str] = (),
        fixes: Iterable[Any] = (),
        *,
        name: str = "",
        free: str = "",
    ) -> None:
        super().__init__(why, ops, fixes)
        self.name, self.free = name, free

    @classmethod
    def in_graph(cls, name: str, free: str) -> NameTaken:
        """The refusal of a name that an op or a scope of a graph has."""
        sentence = f"The name {name!r} is taken in this graph; {free!r} is free."
        return cls(sentence, [name], name=name, free=free)


class NotClonable(GraphEditError):
    """The selection cannot be copied and stay right."""


class SessionRefused(GraphEditError):
    """The session cannot do what was asked: closed, of another graph, or a value is missing."""


class OutOfMemory(GraphEditError, MemoryError):
    """There is less memory than it takes."""


class CallsTooDeep(GraphEditError, RecursionError):
    """The functions of a graph call each other deeper than can be followed."""


class NotTrusted(SessionRefused):
    """An op of a file that is not trusted does more than compute; the sentence says what, and how
    to allow it.
    """


class NotRunnable(GraphEditError):
    """The graph can only be viewed; the sentence names the op or the file that is the reason."""


class GraphFinalized(GraphEditError):
    """The graph was finalized, so TensorFlow takes no new ops."""


class PackageMissing(GraphEditError, ImportError):
    """A package is not installed, and the call needs it; the sentence says what to install."""


class TensorFlowMissing(PackageMissing):
    """TensorFlow is not installed, and the call needs it; the sentence says what to install."""


class TensorFlowUnsupported(PackageMissing):
    """The TensorFlow that is there is too old, or lacks a private name that the call needs; the
    sentence says which.
    """
