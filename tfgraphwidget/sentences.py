"""Sentences for users of Python and of the page: what to do differs, so it is data.

A `Sentence` is a string, the one that Python shows. It also remembers its parts: text, and fields
for what the page says in other words, since it has controls where Python has methods and arguments.
`widget.page_text` writes a sentence for the page, and knows what its controls are called. `+` keeps
the fields; an f-string or `join` makes plain text.

>>> why = (
...     f"There is no script {'a.py'!r}; give the path of one that "
...     + editor_call("save", "'edits.py'")
...     + " wrote."
... )
>>> why
"There is no script 'a.py'; give the path of one that editor.save('edits.py') wrote."
>>> why.parts
("There is no script 'a.py'; give the path of one that ", EditorCall(method='save',
arguments="'edits.py'"), ' wrote.')
>>> why.render(lambda field: "Export")
"There is no script 'a.py'; give the path of one that Export wrote."
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class EditorCall:
    """A method of the editor; on the page the control that does the same."""

    method: str
    arguments: str | None = None

    @property
    def python(self) -> str:
        """The call, or the name of the method without arguments."""
        if self.arguments is None:
            return f"editor.{self.method}"
        return f"editor.{self.method}({self.arguments})"


@dataclass(frozen=True)
class CloneOption:
    """An option of clone and the values that would do; on the page choices of a form's field."""

    name: str
    values: tuple[str, ...]

    @property
    def python(self) -> str:
        """The option as an argument with each of the values."""
        return "clone with " + " or ".join(f'{self.name}="{value}"' for value in self.values)


@dataclass(frozen=True)
class Either:
    """Other words for Python than for the page."""

    python: str
    page: str


Field = EditorCall | CloneOption | Either


class Sentence(str):
    """A sentence, or a part of one, as Python shows it; `parts` has it as text and fields, for
    other readers.

    >>> Sentence("Give a name") + ".", f"{Sentence('Give a name')}."
    ('Give a name.', 'Give a name.')
    """

    __slots__ = ("parts",)
    parts: tuple[str | Field, ...]

    def __new__(cls, *parts: str | Field) -> Sentence:  # noqa: D102
        flat: list[str | Field] = []
        for part in parts:
            flat += part.parts if isinstance(part, Sentence) else (part,)
        self = super().__new__(
            cls, "".join(part if isinstance(part, str) else part.python for part in flat)
        )
        self.parts = tuple(flat)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Sentence, self.parts

    def __add__(self, other: str) -> Sentence:
        return Sentence(self, other)

    def __radd__(self, other: str) -> Sentence:
        return Sentence(other, self)

    def join(self, parts: Iterable[str]) -> Sentence:
        """The parts with this text between them, as `str.join`."""
        joined: list[str] = []
        for part in parts:
            joined += [self, part] if joined else [part]
        return Sentence(*joined)

    def partition(self, sep: str) -> tuple[Sentence, Sentence, Sentence]:
        """What comes before and after a separator in one of its texts, as `str.partition`."""
        for place, part in enumerate(self.parts):
            if isinstance(part, str) and sep in part:
                head, _, tail = part.partition(sep)
                return (
                    Sentence(*self.parts[:place], head),
                    Sentence(sep),
                    Sentence(tail, *self.parts[place + 1 :]),
                )
        return self, Sentence(), Sentence()

    @property
    def clause(self) -> Sentence:
        """The sentence without its full stop, as a part of another one."""
        *before, last = self.parts or ("",)
        if isinstance(last, Either):
            return Sentence(*before, Either(last.python.rstrip("."), last.page.rstrip(".")))
        return Sentence(*before, last.rstrip(".") if isinstance(last, str) else last)

    def render(self, write: Callable[[Field], str]) -> str:
        """The text with each field in the words of a reader."""
        return "".join(part if isinstance(part, str) else write(part) for part in self.parts)

    def replacing(self, old: Sentence, new: str) -> Sentence:
        """The sentence with other words for some of its fields."""
        return Sentence(*(new if part in old.parts else part for part in self.parts))

    def shorten(self, longest: int) -> Sentence:
        """The sentence with longer texts than that cut in the middle, so that its end is there."""
        half = longest // 2
        return Sentence(
            *(
                f"{part[:half]} … {part[-half:]}"
                if isinstance(part, str) and len(part) > longest
                else part
                for part in self.parts
            )
        )


def editor_call(method: str, arguments: str | None = None) -> Sentence:
    """A call of the editor, as a part of a sentence.

    Args:
        method: A method for which the page has a control.
        arguments: What stands in parentheses; None for the name alone.
    """
    return Sentence(EditorCall(method, arguments))


def clone_with(option: str, *values: str) -> Sentence:
    """What to choose for an option of clone, as a part of a sentence.

    Args:
        option: "init" or "variables".

    >>> clone_with("init", "initial", "none")
    'clone with init="initial" or init="none"'
    """
    return Sentence(CloneOption(option, values))


def either(python: str, page: str) -> Sentence:
    """A part of a sentence that has other words on the page."""
    return Sentence(Either(python, page))


def in_cell(python: str) -> Sentence:
    """A way out for which the page has no control, as a part of a sentence.

    Args:
        python: What to do, with the full stop where the sentence ends with it.

    >>> in_cell("give session=session").render(lambda field: field.page)
    'a cell of the notebook can do it'
    """
    return either(python, "a cell of the notebook can do it" + "." * python.endswith("."))


def argument_value(argument: str, value: str) -> Sentence:
    """An argument that was given, as the subject of a sentence.

    >>> (
    ...     argument_value("init", "'here'"),
    ...     argument_value("init", "'here'").render(lambda field: field.page),
    ... )
    ("init='here'", "init 'here'")
    """
    return either(f"{argument}={value}", f"{argument} {value}")


def leave_out(argument: str) -> Sentence:
    """What to do with an argument that is not needed, as a part of a sentence; a field of the page
    stays empty.

    >>> leave_out("tags"), leave_out("tags").render(lambda field: field.page)
    ('leave tags= out', 'leave tags empty')
    """
    return either(f"leave {argument}= out", f"leave {argument} empty")


def drawn_shape(shape: Sequence[int | None] | None) -> Sentence:
    """A static shape, as a part of a sentence; the page writes it as the drawing does.

    >>> drawn_shape((None, 28, 1)), drawn_shape((None, 28, 1)).render(lambda field: field.page)
    ('(None, 28, 1)', '?×28×1')
    """
    if shape is None:
        return Sentence("unknown")
    sizes = tuple(shape)
    return either(
        str(sizes), "×".join("?" if size is None else str(size) for size in sizes) or "scalar"
    )


OPEN_WITH_SESSION = either(
    "give tgw.edit(graph, session=session)", "open the graph with its session in a cell"
)
"""The way out where the session of a graph is not known."""
OPEN_WITH_CHECKPOINT = either(
    "open it with its checkpoint: tgw.edit(path, checkpoint='model.ckpt')",
    "give it the values of its checkpoint: Open checkpoint in the tab Model",
)
"""The way out where a file came without the values of its variables."""
NO_VALUES = "so its variables have no values"
"""The part of a notice on a file that is untrue once its variables have got values."""
OP_TYPE_NAMES = either(
    "op types are written as in tf.raw_ops", "op types are written as TensorFlow writes them"
)
"""The way out where no op type has a name, for `did_you_mean`."""
