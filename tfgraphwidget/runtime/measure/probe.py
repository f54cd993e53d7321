"""Probing: what tensors are, once a graph has run, in a few numbers each.

Nothing is added to the graph: a tensor is fetched as it is. That is impossible for what runs many
times in a step, in a v1 while loop, of which a copy of the graph keeps the last round, and gives
nothing for the branch of a v1 conditional that was not taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfgraphwidget.errors import GraphEditError, SessionRefused, reason_of
from tfgraphwidget.graph import (
    HANDLE_DTYPES,
    REQUIRED_PLACEHOLDERS,
    RESOURCE_HANDLES,
    GraphIndex,
    Loop,
    backward,
    definitions,
    enclosing_blocks,
    forward,
)
from tfgraphwidget.naming import names_text, split_tensor
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.measure.last_round import LastRounds
from tfgraphwidget.runtime.session.run import QUEUE_PATIENCE, TimedSession
from tfgraphwidget.runtime.session.variable_values import check_session
from tfgraphwidget.sentences import OPEN_WITH_SESSION, either, in_cell
from tfgraphwidget.sources import error_text, is_dead_tensor
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import session_config, unfetchable_operations
from tfgraphwidget.tf_types import RunMetadata, Session

Array = np.ndarray
Run = Callable[[Sequence[str]], Sequence[np.ndarray]]
_NOT_TAKEN = "branch-not-taken"
_BINS = 20  # of a histogram
_BARS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, repr=False)
class Stats:
    """Statistics of one tensor.

    Attributes:
        name: The name of the tensor.
        dtype: Its dtype.
        value: Its value; None if it has no value in Python or did not run.
        note: Why there is no value.

    `least`, `mean` and `most` are of the finite elements, and None if there are none or for text;
    `histogram` counts these in equal bins from `least` to `most`. For booleans `mean` is the share
    that is true.
    """

    name: str
    dtype: str
    value: Array | None
    note: str = ""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape that the value has."""
        return None if self.value is None else self.value.shape

    @cached_property
    def least(self) -> float | None:
        """The smallest element."""
        return _as_python(self._finite.min()) if len(self._finite) else None

    @cached_property
    def most(self) -> float | None:
        """The largest element."""
        return _as_python(self._finite.max()) if len(self._finite) else None

    @cached_property
    def mean(self) -> float | None:
        """The mean of the elements."""
        return float(self._finite.mean(dtype=np.float64)) if len(self._finite) else None

    @cached_property
    def std(self) -> float | None:
        """The standard deviation of the elements."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite at the ends of float64
            return float(self._finite.std(dtype=np.float64)) if len(self._finite) else None

    @cached_property
    def nans(self) -> int:
        """How many elements are not numbers."""
        return int(np.isnan(self._numbers).sum()) if self._numbers.dtype.kind == "f" else 0

    @cached_property
    def infs(self) -> int:
        """How many elements are infinite."""
        return int(np.isinf(self._numbers).sum()) if self._numbers.dtype.kind == "f" else 0

    @cached_property
    def histogram(self) -> tuple[int, ...]:
        """How many elements there are in each bin."""
        if not len(self._finite):
            return ()
        finite = self._finite.astype(np.float64)
        low, high = float(finite.min()), float(finite.max())
        if not np.isfinite(high - low):  # at the ends of float64
            finite, low, high = finite / 4, low / 4, high / 4
        counts = np.histogram(finite, bins=_BINS, range=(low, high if high > low else low + 1))[0]
        return tuple(counts.tolist())

    @property
    def _numbers(self) -> Array:
        """The elements as what can be compared: magnitudes of complex numbers, nothing of text."""
        value = self.value
        if value is None or value.dtype.kind in "OSU":
            return np.zeros(0)
        if value.dtype.kind == "c":
            value = np.abs(value)
        # NumPy's own kinds only: of bfloat16 and its like it knows neither least nor most.
        return (value if value.dtype.kind in "fiu" else value.astype(np.float64)).ravel()

    @cached_property
    def _finite(self) -> Array:
        numbers = self._numbers
        finite = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.ones(1, bool)
        # Not copied for nothing: it may be large.
        return numbers if finite.all() else numbers[finite]

    def __repr__(self) -> str:
        return f"<{self.name}: {'  '.join(filter(None, self.row()))}>"

    def row(self) -> tuple[str, ...]:
        """Dtype, shape, least, mean, most, what is not finite, and the histogram, as text."""
        bad = [
            f"{count:,} {what}" for count, what in ((self.nans, "NaN"), (self.infs, "Inf")) if count
        ]
        numbers = [_short(number) for number in (self.least, self.mean, self.most)]
        shape = "" if self.value is None else str(self.value.shape)
        return (
            self.dtype,
            shape,
            *numbers,
            " ".join(bad) or self.note or self._text(),
            bars_text(self.histogram),
        )

    def _text(self) -> str:
        """The first of some strings."""
        if self.value is None or self.value.dtype.kind not in "OSU" or not self.value.size:
            return ""
        first = str(self.value.ravel()[0])
        return first if len(first) <= 40 else f"{first[:39]}…"


@dataclass(frozen=True, repr=False)
class Probe(Mapping[str, Stats]):
    """Statistics of tensors by name, in the requested order; it prints as a table."""

    stats: tuple[Stats, ...]

    def __getitem__(self, name: str) -> Stats:
        by_name = {stats.name: stats for stats in self.stats}
        return by_name[name if name in by_name else f"{name}:0"]

    def __iter__(self) -> Iterator[str]:
        return (stats.name for stats in self.stats)

    def __len__(self) -> int:
        return len(self.stats)

    @property
    def by_op(self) -> dict[str, tuple[Stats, ...]]:
        """The same by the names of the ops."""
        ops: dict[str, list[Stats]] = {}
        for stats in self.stats:
            ops.setdefault(split_tensor(stats.name)[0], []).append(stats)
        return {op: tuple(entries) for op, entries in ops.items()}

    def __repr__(self) -> str:
        head = ("tensor", "dtype", "shape", "min", "mean", "max", "", "")
        return format_table([head, *((stats.name, *stats.row()) for stats in self.stats)])


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as aligned lines."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(t.ljust(w) for t, w in zip(row, wide, strict=True)).rstrip() for row in rows
    )


def check_fetchable(index: GraphIndex, tensors: Sequence[str]) -> None:
    """Raise for a tensor that a while loop computes several times in one step."""
    for tensor in tensors:
        op = index.op(tensor)
        loop = next(
            (block for block in enclosing_blocks(index, op) if isinstance(block, Loop)), None
        )
        if loop is None or (
            op in loop.exits
            and not any(isinstance(b, Loop) for b in enclosing_blocks(index, op)[1:])
        ):
            continue
        out = [index.names[i] for i in loop.exits]
        if out:
            way_out = f"; look at what comes out of it, {out[0] + ':0'!r}"
        else:
            way_out = "; name a tensor outside of it"
        raise GraphEditError(
            f"{tensor!r} is computed inside while loop {loop.name!r}, once in each of its "
            f"rounds{way_out}.",
            [index.names[op]],
        )


def check_feeds(
    index: GraphIndex,
    tensors: Sequence[str],
    feeds: Mapping[str, object],
    filled: Collection[str] = (),
) -> None:
    """Raise GraphEditError if a placeholder that tensors depend on is not fed, and not `filled`, so
    that it has a value without a feed.
    """
    for name in needed_placeholders(index, tensors, feeds, filled):
        op = split_tensor(name)[0]
        raise GraphEditError(
            f"Placeholder {op!r} is needed and not fed; give "
            + either(f"its value too: feeds={{{name!r}: …}}.", "it a value."),
            [op],
        )


def needed_placeholders(
    index: GraphIndex,
    tensors: Sequence[str],
    feeds: Collection[str] = (),
    filled: Collection[str] = (),
) -> tuple[str, ...]:
    """The placeholders that tensors depend on, but for those fed and `filled`, as tensors in graph
    order. Raises GraphEditError for a handle, which cannot be fed.
    """
    needed = unfed_placeholders(index, tensors, feeds, filled)
    for i in needed:
        if (dtype := index.dtypes(i)[0]) in HANDLE_DTYPES:
            raise GraphEditError(
                f"Placeholder {index.names[i]!r} is a {dtype}, which cannot be fed; choose tensors "
                "that do not depend on it.",
                [index.names[i]],
            )
    return tuple(f"{index.names[i]}:0" for i in needed)


def without_handles(
    index: GraphIndex, tensors: Sequence[str], feeds: Collection[str], filled: Collection[str]
) -> tuple[str, ...]:
    """The tensors that can be computed and fetched: no handles, nothing that needs feeds."""
    needed = unfed_placeholders(index, tensors, feeds, filled)
    downstream = forward(index, [i for i in needed if index.dtypes(i)[0] in HANDLE_DTYPES])
    return tuple(
        name for name in tensors if not downstream[index.op(name)] and readable_tensor(index, name)
    )


def unfed_placeholders(
    index: GraphIndex, tensors: Sequence[str], feeds: Collection[str], filled: Collection[str]
) -> list[int]:
    """The numbers of the placeholders that tensors depend on and that have no value, as those fed
    and `filled` do.
    """
    fed = [index.tensor(name) for name in feeds]
    ops = [index.op(name) for name in tensors if name not in feeds]
    ancestors = np.flatnonzero(backward(index, ops, stop=fed)).tolist()
    return [
        i
        for i in ancestors
        if index.types[i] in REQUIRED_PLACEHOLDERS
        and (i, 0) not in fed
        and index.names[i] not in filled
    ]


def probe(index: GraphIndex, tensors: Sequence[str], run: Run) -> Probe:
    """Return statistics of tensors, of which `run` returns the values."""
    dtypes = {name: index.tensor_dtype(name) for name in tensors}
    instead = {name: readable_tensor(index, name) for name in tensors}
    values, notes = _run({name: at for name, at in instead.items() if at}, run)
    dtypes |= {
        name: value.dtype.name for name, value in values.items() if dtypes[name] == "resource"
    }
    opaque = {
        name: f"a {dtypes[name]}, which has no value in Python"
        for name, at in instead.items()
        if not at
    }
    return Probe(
        tuple(
            Stats(
                name,
                dtypes[name].removesuffix("_ref"),
                values.get(name),
                {**opaque, **notes}.get(name, ""),
            )
            for name in tensors
        )
    )


def probe_last_rounds(rounds: LastRounds, run: Run) -> Probe:
    """Return statistics of tensors of which some are in while loops: of their values in the last
    round, which one run of that graph returns.
    """

    def run_aside(tensors: Sequence[str]) -> Sequence[np.ndarray]:
        try:
            return run(tensors)
        except SessionRefused as refusal:
            if isinstance(refusal.__cause__, tf.errors.InvalidArgumentError):
                # A branch was not taken, perhaps.
                raise refusal.__cause__ from refusal
            raise

    try:
        results = probe(rounds.index, rounds.fetches, run_aside)
    except SessionRefused as refusal:
        if refusal.code != _NOT_TAKEN:
            raise
        # By their own names, not those of what keeps them.
        raise _not_taken(list(rounds.tensors)) from refusal
    values = {name: stats.value for name, stats in results.items()}
    stats = []
    for name, place in rounds.tensors.items():
        own = results[place.tensor]
        flags = {flag: int(value) for flag, _ in place.flags if (value := values[flag]) is not None}
        note = place.note(flags) if len(flags) == len(place.flags) else own.note
        stats.append(Stats(name, own.dtype, None if note else own.value, note or own.note))
    if all(each.value is None and each.note.startswith("not run") for each in stats):
        raise SessionRefused(
            f"{names_text([each.name for each in stats])} {'has' if len(stats) == 1 else 'have'} "
            f"no value in this run: {stats[0].note}; give other feeds, or look at what comes out "
            "of the loop.",
            [split_tensor(each.name)[0] for each in stats],
        )
    return Probe(tuple(stats))


def readable_tensor(index: GraphIndex, tensor: str) -> str:
    """Return the tensor to fetch for a tensor: a handle's read, "" without a Python value."""
    op, port = index.tensor(tensor)
    if index.types[op] in RESOURCE_HANDLES:
        return definitions(index, [op])[op].snapshot or ""
    dtypes = index.dtypes(op)
    return "" if port < len(dtypes) and dtypes[port] in HANDLE_DTYPES else tensor


def _run(fetches: Mapping[str, str], run: Run) -> tuple[dict[str, Array], dict[str, str]]:
    """Return values, and for those that did not run the reason; in one run if all of them do."""
    names = list(fetches)
    tell("Running the graph")
    try:
        results = run([fetches[name] for name in names])
        return {name: np.asarray(value) for name, value in zip(names, results, strict=True)}, {}
    except tf.errors.InvalidArgumentError as error:
        if not is_dead_tensor(error):
            raise
    values = {
        name: value for name in names if (value := _run_alone(fetches[name], run)) is not None
    }
    dead = [name for name in names if name not in values]
    if not values:
        raise _not_taken(dead)
    return values, dict.fromkeys(dead, "not run: of its conditional the other branch was taken")


def _not_taken(tensors: Sequence[str]) -> SessionRefused:
    return SessionRefused(
        f"{names_text(tensors)} {'has' if len(tensors) == 1 else 'have'} no value in this run, "
        "since of the conditional the other branch was taken; feed its predicate otherwise, or "
        "look at what the conditional gives.",
        [split_tensor(name)[0] for name in tensors],
        code=_NOT_TAKEN,
    )


def _run_alone(fetch: str, run: Run) -> Array | None:
    """Return the value of a tensor; None if it was not computed."""
    try:
        return np.asarray(run([fetch])[0])
    except tf.errors.InvalidArgumentError as error:
        if not is_dead_tensor(error):
            raise
        return None


def session_runner(
    graph: tf.Graph,
    session: Session | None,
    feeds: Mapping[str, object],
    metadata: RunMetadata | None = None,
    waiting: Sequence[str] = (),
    lacks: Sequence[str] = (),
) -> Run:
    """Return a function that computes tensors in the session of a live graph.

    Args:
        metadata: A RunMetadata that receives the costs of the run; or None.
        waiting: Tensors that something else has to fill a queue for, see `waiting_tensors`: unless
            queue runners fill it, or the session has a time limit of its own, the run has one then,
            since a script has no Ctrl-C.
        lacks: Sentences about what the session lacks, of which a run without it says one.

    Raises:
        SessionRefused: There is no session, or the graph cannot run.
    """
    if session is None:
        raise SessionRefused("There is no session to run the graph in; " + OPEN_WITH_SESSION + ".")
    check_session(session, graph)

    if waiting and not _has_own_limit(session) and not _runners_run(graph):
        limit = QUEUE_PATIENCE
    else:
        limit = 0.0
    options = tf.compat.v1.RunOptions(timeout_in_ms=int(limit * 1000)) if limit else None

    def run(tensors: Sequence[str]) -> Sequence[np.ndarray]:
        try:
            with _allow_fetching(graph, tensors):
                values: Sequence[np.ndarray] = TimedSession(session, ends_at_interrupts=True).run(
                    list(tensors), dict(feeds), options, run_metadata=metadata
                )
        except tf.errors.OpError as error:
            if is_dead_tensor(error):
                raise
            if limit and isinstance(error, tf.errors.DeadlineExceededError):
                feeding = ", ".join(f"{tensor!r}: …" for tensor in waiting)
                raise SessionRefused(
                    f"The run took longer than {limit:g} seconds, and {names_text(waiting)} "
                    f"{'is' if len(waiting) == 1 else 'are'} taken from a queue that may be empty; "
                    + in_cell(
                        "fill it (tf.compat.v1.train.start_queue_runners), or give a value in its "
                        f"place: feeds={{{feeding}}}."
                    )
                ) from error
            if lacks and isinstance(error, tf.errors.FailedPreconditionError):
                raise SessionRefused(
                    f"The graph cannot run: {error_text(error)}. " + lacks[0]
                ) from error
            raise SessionRefused(
                f"The graph cannot run: {error_text(error)}; give other feeds, or initialize what "
                "it names."
            ) from error
        except (
            ValueError,
            TypeError,
        ) as error:  # a value of another shape, a tensor that cannot be fed
            raise SessionRefused(
                f"The graph cannot run: {reason_of(error)}; give other feeds."
            ) from error
        return values

    return run


def _has_own_limit(session: Session) -> bool:
    """Whether runs of a session have a time limit from its ConfigProto, which RunOptions would
    replace.
    """
    return bool(getattr(session_config(session), "operation_timeout_in_ms", 0))


def _runners_run(graph: tf.Graph) -> bool:
    """Whether a graph has queue runners and threads of queue runners run, so that a run is slow
    rather than stuck.

    An edit may have given the runners new names, so theirs are not looked for; the thread that
    closes a queue at the end fills nothing.
    """
    if not graph.get_collection_ref(tf.compat.v1.GraphKeys.QUEUE_RUNNERS):
        return False
    names = [thread.name for thread in threading.enumerate()]
    return any(
        name.startswith("QueueRunnerThread-") and not name.endswith("-close_on_stop")
        for name in names
    )


@contextmanager
def _allow_fetching(graph: tf.Graph, tensors: Sequence[str]) -> Iterator[None]:
    """Allow fetching from branches of v1 conditionals, which TensorFlow forbids although branches
    that run have values.
    """
    forbidden = unfetchable_operations(graph)
    fetches = forbidden & {graph.get_tensor_by_name(name).op for name in tensors}
    forbidden -= fetches
    try:
        yield
    finally:
        forbidden |= fetches


def _as_python(number: np.generic) -> float:
    """A number of numpy as Python's: a bool, an int or a float."""
    python_number: float = number.item()
    return python_number


def _short(number: float | None) -> str:
    if number is None or isinstance(number, bool):
        return "" if number is None else str(number)
    return str(number) if isinstance(number, int) else f"{number:.4g}"


def bars_text(counts: Sequence[int]) -> str:
    """A histogram as a line of bars."""
    top = max(counts, default=0)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // top)] for count in counts) if top else ""
