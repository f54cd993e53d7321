"""Values for placeholders as a form describes them, and values of tensors as variables of the
notebook.
"""

from __future__ import annotations

import ast
import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.editor import sync
from tfgraphwidget.errors import GraphEditError, InvalidArgument, NameTaken, UnknownName
from tfgraphwidget.graph import Shape, shape_text
from tfgraphwidget.naming import count_text, identifier, last_part, split_tensor
from tfgraphwidget.runtime.session import current_values
from tfgraphwidget.sentences import NO_VALUES
from tfgraphwidget.sources import parse_path
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_requests import selection_of
from tfgraphwidget.widget.feed_values import (
    ArraySpec,
    array_spec,
    check_shape,
    convert,
    feed_array,
    number_kind,
)
from tfgraphwidget.widget.kernel_namespace import KernelNamespace

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.widget.exporter import Exporter

# random numbers are the same each time, so that values before and after an edit can be compared
_SEED = 0
_MOST_ELEMENTS = 1 << 28
_LARGEST = np.iinfo(np.int64).max


class ValueForms:
    """Which placeholders need values, a form's values, what was fed last; values as variables."""

    def __init__(self, editor: GraphEditor, namespace: KernelNamespace, exporter: Exporter) -> None:
        self._editor, self._namespace, self._exporter = editor, namespace, exporter
        self._last: dict[str, p.Feed] = {}

    def form(self, request: p.Feedable) -> p.Feeds:
        """The placeholders that must be fed, each with what was fed last or a proposal."""
        tensors = None if request.measure else self._tensors(request.name)
        names = self._editor._core.evaluator.placeholders(tensors)
        shapes = (self._spec(name)[1] for name in names)
        fixed = (shape[0] for shape in shapes if shape and shape[0] is not None)
        # What is fed beside a batch of a fixed size is most often of as many.
        batch = next(fixed, 1)
        arrays = []
        for variable, value in self._namespace.variables() if names else ():
            spec = array_spec(value)
            if spec is not None:
                arrays.append((variable, spec))
        is_known = all(name in self._last for name in names)
        return p.Feeds(tuple(self._field(name, batch, arrays) for name in names), is_known)

    def _field(self, tensor: str, batch: int, arrays: list[tuple[str, ArraySpec]]) -> p.FeedField:
        dtype, shape = self._spec(tensor)
        fitting = tuple(variable for variable, spec in arrays if spec.fits(dtype, shape))
        feed = self._last.get(tensor, self._proposal(tensor, batch))
        return p.FeedField(tensor, dtype, shape_text(shape), feed, fitting[:_MOST_NAMES])

    def values(self, feeds: tuple[p.Feed, ...], name: str | None) -> dict[str, object]:
        """The values of a form, which are remembered, by tensor, and for other placeholders those
        that were fed last; `name` is the op that is looked at, "" for the selection, None for a
        measurement. Raises InvalidArgument for one that does not fit.
        """
        tensors = None if name is None else self._tensors(name)
        placeholders = self._editor._core.evaluator.placeholders(tensors)
        last = {tensor: self._last[tensor] for tensor in placeholders if tensor in self._last}
        feeds_by_tensor = {**last, **{feed.tensor: feed for feed in feeds}}
        values = {tensor: self._value(feed) for tensor, feed in feeds_by_tensor.items()}
        self._last |= feeds_by_tensor
        return values

    def assign(self, request: p.Assign) -> p.VariableReply:
        """Make a value a variable, or propose a name. Raises InvalidArgument if a variable has the
        name and shall not be replaced.
        """
        if not request.variable:
            op, index = split_tensor(request.name.rstrip("/"))[0], self._editor._core.index
            state = current_values.find_state_op(index, op)  # of a read: its variable
            name = identifier(last_part(op if state is None else index.names[state])) or "value"
            return p.VariableReply(self._namespace.free_name(name))
        value = self._known_value(request.name)
        try:
            self._namespace.assign(request.variable, value, overwrite=request.overwrite)
        except NameTaken as error:
            raise InvalidArgument("variable", error.why) from None
        return p.VariableReply(request.variable, str(value.dtype), str(value.shape))

    def restore(self, path: str) -> str:
        """Give the variables the values of a checkpoint; how many have one now, as a sentence."""
        checkpoint = self._exporter.folder / parse_path(path, "checkpoint")
        count = len(sync(checkpoint, self._editor))
        source = self._editor._core.source
        source.notices = tuple(text for text in source.notices if NO_VALUES not in text)
        return f"{count_text(count, 'variable')} got the value in {checkpoint.name}."

    def _known_value(self, name: str) -> Any:
        """The value of a tensor of the last run, else the current one of a variable or constant."""
        op, port = split_tensor(name)
        outputs = self._editor._core.evaluator.probed.get(op, ())
        stats = next((each for each in outputs if each.name == f"{op}:{port or 0}"), None)
        if stats is not None and stats.value is not None:
            return np.array(stats.value)
        if stats is not None and stats.note:
            raise GraphEditError(
                f"{name!r} has no value: {stats.note}; probe it on other feeds.", [op]
            )
        return np.array(self._editor.inspect(op).array())

    def _tensors(self, name: str) -> Any:
        return name or selection_of(self._editor)

    def _spec(self, tensor: str) -> tuple[str, Shape]:
        index = self._editor._core.index
        return index.tensor_dtype(tensor), index.tensor_shape(tensor)

    def _proposal(self, tensor: str, batch: int) -> p.Feed:
        dtype, shape = self._spec(tensor)
        sizes = [1 if size is None else size for size in shape or ()]
        if shape and shape[0] is None:
            sizes[0] = batch
        is_random = dtype.startswith(("float", "bfloat", "half", "double"))
        return p.Feed(tensor, "random" if is_random else "zeros", str(sizes), 0.0, 1.0, "")

    def _value(self, feed: p.Feed) -> Any:
        dtype, static = self._spec(feed.tensor)
        is_made = feed.kind not in ("variable", "file")
        with _field(feed, "shape" if is_made else "source"):
            if not is_made:
                if feed.kind == "variable":
                    value = self._variable(feed)
                else:
                    value = _from_file(feed, self._exporter.folder)
                return feed_array(value, feed.tensor, feed.source, dtype, static)
            shape = _shape(feed, static)
        with _field(feed, "low"):
            return _generate_value(feed, dtype, shape)

    def _variable(self, feed: p.Feed) -> object:
        try:
            return self._namespace.value(feed.source)
        except UnknownName as error:
            raise InvalidArgument(feed.tensor, f"{feed.tensor}: " + error.why) from None


_MOST_NAMES = 100


@contextlib.contextmanager
def _field(feed: p.Feed, key: str) -> Iterator[None]:
    """A refusal is about this field of a feed, which the form calls by the tensor and the key."""
    try:
        yield
    except InvalidArgument as error:
        error.argument = f"{feed.tensor} {key}"
        raise


def _shape(feed: p.Feed, static: Shape) -> tuple[int, ...]:
    """The shape that a form asks for."""
    try:
        literal = ast.literal_eval(feed.shape.strip() or "()")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        literal = None
    sizes = (literal,) if isinstance(literal, int) else literal
    if not isinstance(sizes, list | tuple) or not all(
        type(size) is int and size >= 0 for size in sizes
    ):
        raise InvalidArgument(
            feed.tensor, f"{feed.tensor}: {feed.shape[:80]!r} is not a shape; write it as [1, 4]."
        )
    if np.prod([float(size) for size in sizes]) > _MOST_ELEMENTS:
        raise InvalidArgument(
            feed.tensor, f"{feed.tensor}: {feed.shape[:80]} is too large to feed; take less."
        )
    check_shape(feed.tensor, tuple(sizes), static)
    return tuple(sizes)


def _generate_value(feed: p.Feed, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros, ones or random numbers."""
    if dtype == "string":
        if feed.kind == "random":
            raise InvalidArgument(
                feed.tensor, f"{feed.tensor} takes strings; feed zeros, a variable or a file."
            )
        return np.full(shape, "" if feed.kind == "zeros" else "1", object)
    if feed.kind == "random" and not feed.low <= feed.high:
        raise InvalidArgument(
            feed.tensor, f"{feed.tensor}: {feed.low:g} is more than {feed.high:g}; swap the two."
        )
    value = convert(_numbers(feed, number_kind(dtype), shape), dtype)
    if value is None:
        why = (
            f"{feed.low:g} to {feed.high:g} has numbers that {dtype} does not have; choose others."
        )
        raise InvalidArgument(feed.tensor, f"{feed.tensor}: {why}")
    return value


def _numbers(feed: p.Feed, kind: str, shape: tuple[int, ...]) -> np.ndarray:
    if feed.kind != "random":
        return np.full(shape, 0 if feed.kind == "zeros" else 1)
    random = np.random.default_rng(_SEED)
    if kind == "b":
        return random.random(shape) < 0.5
    if kind in "iu":
        low, high = (min(int(end), _LARGEST) for end in (feed.low, feed.high))
        return random.integers(low, high, shape, endpoint=True)
    return random.uniform(feed.low, feed.high, shape)


def _from_file(feed: p.Feed, folder: Path) -> Any:
    try:
        with (folder / parse_path(feed.source, "file")).open("rb") as file:
            return np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        why = (
            f"{feed.tensor}: {feed.source[:200]!r} cannot be read as .npy ({str(error)[:120]}); "
            "choose another file."
        )
        raise InvalidArgument(feed.tensor, why) from None
