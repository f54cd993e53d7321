"""Record: what all editors of a live graph must agree on; it lives on the graph itself, and goes
when that goes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tfgraphwidget.cancellation import held_back, set_right
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.progress import report_each
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tensorflow_modules import check_editable, tf
from tfgraphwidget.tf_internals import (
    can_observe_new_operations,
    observe_new_operations,
    operations_by_name,
    session_run_lock,
    watch_lock,
    wrap_operations,
)
from tfgraphwidget.tf_types import NodeDef

_RECORD = "_tfgraphwidget_record"


@dataclass
class Record:
    """The state that all editors of a live graph share.

    Attributes:
        hidden: The names of hidden ops.
        variables: The variables that edits made, by name.
        generation: Grows whenever ops are hidden or shown again.
        rewire_count: Grows whenever ops are changed in place.
        failed: The NodeDefs of hidden ops that a failed edit has left; the same edit shows them
            again.
        ungrown: The names of ops that a failed Python function has left; calling it again makes
            other names.
        functions: The names of hidden functions of the library, which came with an edit that was
            undone or failed.
        failed_functions: Those of failed edits, whose names are free.
        renamed: The present names of the ops that edits have renamed, by all those before.
        growing: The scope in which a user's function is making ops now, or "".
        veils: What each veil represents, see `runtime.live.in_place_changes`.
        transfer_ops: The names of transfer ops.
        transfer_op_count: How many names transfer ops have taken.
        import_count: How many ops edits have added, hidden ones included.
        notes: For each thread the names of the ops that it adds, see `track_new_ops`.
        called: What TensorFlow's Python objects hold for an op that calls functions, by the op and
            the functions, see `runtime.live.call_gradients`.
        lock: Held by the edit that is being applied.
    """

    hidden: set[str] = field(default_factory=set)
    variables: dict[str, tf.Variable] = field(default_factory=dict)
    generation: int = 0
    rewire_count: int = 0
    failed: dict[str, NodeDef] = field(default_factory=dict)
    # Those of a function that failed: another call finds other names.
    ungrown: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    failed_functions: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    growing: str = ""
    veils: dict[str, str] = field(default_factory=dict)
    transfer_ops: dict[tuple[str, bytes], str] = field(default_factory=dict)
    transfer_op_count: int = 0
    import_count: int = 0
    call_gradients: dict[tuple[str, tuple[str, ...]], tuple[object, dict[str, object]]] = field(
        default_factory=dict, repr=False
    )
    notes: dict[int, list[set[str]]] = field(default_factory=dict, repr=False)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)


def record_of(graph: tf.Graph) -> Record:
    """Return the record of a graph."""
    record: Record | None = getattr(graph, _RECORD, None)
    if record is None:
        record = Record()
        watch_lock(graph)
        setattr(graph, _RECORD, record)
    return record


def hide(graph: tf.Graph, names: Iterable[str]) -> None:
    """Hide ops from all editors. Names that are not in the graph are ignored."""
    there, record = operations_by_name(graph), record_of(graph)
    with held_back():
        record.hidden.update(name for name in names if name in there)
        record.generation += 1


def hide_all_but(graph: tf.Graph, names: Iterable[str]) -> None:
    """Hide all other ops of a graph from all editors."""
    hide(graph, set(operations_by_name(graph)).difference(names))


def show(graph: tf.Graph, names: Iterable[str]) -> None:
    """Show hidden ops again."""
    record = record_of(graph)
    with held_back():
        record.hidden.difference_update(names)
        record.generation += 1


def operation_count(graph: tf.Graph) -> int:
    """The number of ops of a graph, without a list of them where TensorFlow has a count."""
    # Not documented, so it can be missing in another release.
    count = getattr(graph, "num_operations", None)
    return int(count()) if callable(count) else len(graph.get_operations())


@contextmanager
def exclusive_access(graph: tf.Graph) -> Iterator[None]:
    """While this lasts, no other thread adds ops to the graph, so that all new ops are ours.

    TensorFlow lets many threads add ops at a time, and none while a session takes ops over. So this
    waits for the others as a session does. An op that another thread is just making would get a
    second Python object here.
    """
    check_editable()
    with record_of(graph).lock:
        set_right()
        with session_run_lock(graph):
            try:
                yield
            except BaseException as error:
                set_right(error)  # or giving the lock back would wait for it
                raise


def wrap_new_operations(graph: tf.Graph) -> int:
    """Make the Python objects of ops that only the C API knows, under `exclusive_access`; return
    how many.

    This does what `Graph._add_new_tf_operations` does outside of all scopes and contexts, which
    checks a dozen times for each op whether it is in one
    (test_tensorflow_facts.py::test_ops_are_wrapped_as_tensorflow_does_it).
    """
    new = graph.new_operations()
    wrap_operations(graph, report_each(new, "Adding the new ops"))
    return len(new)


@contextmanager
def track_new_ops(graph: tf.Graph) -> Iterator[set[str]]:
    """Collect the names of the ops that this thread adds to the graph while this lasts. Other
    threads can add ops meanwhile.

    Each op is added by `_add_op`, in the thread that makes it
    (test_tensorflow_facts.py::test_each_op_comes_to_its_graph_by_add_op_in_the_thread_that_makes_it).
    An op that an error or an interrupt left in TensorFlow's C graph only is added at the end;
    otherwise the next import would add it.

    A release of TensorFlow without `_add_op` does not say which thread adds an op. The names are
    then those of all ops that the graph has more at the end, and are there at the end only.
    """
    check_editable()
    names: set[str] = set()
    tracked = (
        _note_new_ops(graph, names) if can_observe_new_operations() else _compare_ops(graph, names)
    )
    with tracked:
        try:
            yield names
        except BaseException:
            with held_back(), exclusive_access(graph):
                wrap_new_operations(graph)
            raise


@contextmanager
def _note_new_ops(graph: tf.Graph, names: set[str]) -> Iterator[None]:
    """While this lasts, add the name of each op that this thread adds to the graph."""
    notes = record_of(graph).notes

    def note(op: tf.Operation) -> None:
        for noted in notes.get(threading.get_ident(), ()):
            noted.add(op.name)

    observe_new_operations(graph, note)
    mine = notes.setdefault(threading.get_ident(), [])
    mine.append(names)
    try:
        yield
    finally:
        mine[:] = [entry for entry in mine if entry is not names]


@contextmanager
def _compare_ops(graph: tf.Graph, names: set[str]) -> Iterator[None]:
    """At the end, add the names of new ops of the graph, also those of other threads."""
    version, before = graph.version, len(graph.get_operations())
    try:
        yield
    finally:
        if graph.version != version:
            names.update(op.name for op in graph.get_operations()[before:])


@contextmanager
def hide_on_failure(graph: tf.Graph) -> Iterator[None]:
    """Hide the ops that this thread adds if it fails. An interrupt waits for the end."""
    with track_new_ops(graph) as names:
        try:
            with held_back():
                yield
        except BaseException:
            hide(graph, names)
            raise


@contextmanager
def track_function_call(graph: tf.Graph, scope: str) -> Iterator[set[str]]:
    """While a user's function runs in a name scope, the ops that this thread adds are one edit;
    collect their names.
    """
    record = record_of(graph)
    record.growing = scope
    try:
        with track_new_ops(graph) as names:
            yield names
    finally:
        record.growing = ""


def check_not_growing(graph: tf.Graph) -> None:
    """Raise while a user's function is making ops: another edit would become part of that one."""
    scope = record_of(graph).growing
    if scope:
        raise GraphEditError(
            f"A function is making {scope!r} in this graph, and until it has returned there can be "
            "no other edit; " + in_cell("make it before or after editor.call.")
        )
