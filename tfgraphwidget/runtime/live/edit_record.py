"""Record: what all editors of a live graph must agree on; it lives on the graph itself, and goes when that goes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.progress import counted
from tfgraphwidget.tf_internals import observe_new_operations, operations_by_name, session_run_lock, wrap_operations

_RECORD = "_tfgraphwidget_record"


@dataclass
class Record:
    """What a graph's editors must agree on; `generation` grows whenever ops are hidden or shown again,
    `rewired` whenever ops are changed in place.

    `failed` are the NodeDefs of those hidden ops that an edit left when it failed; the same edit shows them again.
    `functions` are the names of the hidden functions of the library: those that an edit brought which was undone or
    failed; `failed_functions` are the latter, whose names are free. `growing` is the scope in which a person's function
    is making ops just now. `imported` counts the ops that edits have added, hidden ones too; `lock` is held by the edit
    that is carried out just now. `notes` are for each thread the names of the ops that it adds, see `noting`.
    `numbered` is the number of transfer ops that have got a name. `called` is what TensorFlow's Python side knows of an
    op that calls functions, by the op and the functions (`runtime.live.call_gradients`).
    """

    hidden: set[str] = field(default_factory=set)
    variables: dict[str, tf.Variable] = field(default_factory=dict)
    generation: int = 0
    rewired: int = 0
    failed: dict[str, Any] = field(default_factory=dict)
    ungrown: set[str] = field(default_factory=set)  # those of a function that failed: another call finds other names
    functions: set[str] = field(default_factory=set)
    failed_functions: set[str] = field(default_factory=set)
    growing: str = ""
    veils: dict[str, str] = field(default_factory=dict)
    transfer_ops: dict[tuple[str, bytes], str] = field(default_factory=dict)
    numbered: int = 0
    called: dict[tuple[str, tuple[str, ...]], tuple[Any, dict[str, Any]]] = field(default_factory=dict, repr=False)
    imported: int = 0
    notes: dict[int, list[set[str]]] = field(default_factory=dict, repr=False)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)


def record_of(graph: tf.Graph) -> Record:
    """The record that lives on this graph."""
    record: Record | None = getattr(graph, _RECORD, None)
    if record is None:
        record = Record()
        setattr(graph, _RECORD, record)
    return record


def hide(graph: tf.Graph, names: Iterable[str]) -> None:
    """Let no editor show these ops, as far as they are in the graph."""
    there, record = operations_by_name(graph), record_of(graph)
    with held_back():
        record.hidden.update(name for name in names if name in there)
        record.generation += 1


def show(graph: tf.Graph, names: Iterable[str]) -> None:
    """Let ops that were hidden be seen again."""
    record = record_of(graph)
    with held_back():
        record.hidden.difference_update(names)
        record.generation += 1


@contextmanager
def alone(graph: tf.Graph) -> Iterator[None]:
    """Nobody else adds ops to the graph meanwhile, so that what is new in it is ours.

    TensorFlow lets many threads add ops at a time, and none while a session takes ops over; so this waits for the
    others as a session does. An op that another thread is just making would get a second Python object here.
    """
    with record_of(graph).lock, session_run_lock(graph):
        yield


def wrap_new(graph: tf.Graph) -> int:
    """Make the Python objects of ops that only the C API knows of, `alone`; how many.

    As `Graph._add_new_tf_operations` does outside of all scopes and contexts, which is where it asks for each op a
    dozen times whether it stands in one (test_tensorflow_facts.py::test_ops_are_wrapped_as_tensorflow_does_it).
    """
    new = graph.new_operations()
    wrap_operations(graph, counted(new, "Adding the new ops"))
    return len(new)


@contextmanager
def noting(graph: tf.Graph) -> Iterator[set[str]]:
    """The names of the ops that this thread adds to the graph while this lasts; other threads may add theirs meanwhile.

    Each op comes to its graph by `_add_op`, in the thread that makes it
    (test_tensorflow_facts.py::test_each_op_comes_to_its_graph_by_add_op_in_the_thread_that_makes_it). One that an error
    or an interrupt left half made, in TensorFlow's C graph alone, comes to it when this ends; else the next import
    would bring it, as an op of nobody's.
    """
    notes = record_of(graph).notes

    def note(op: tf.Operation) -> None:
        for names in notes.get(threading.get_ident(), ()):
            names.add(op.name)

    observe_new_operations(graph, note)
    names: set[str] = set()
    mine = notes.setdefault(threading.get_ident(), [])
    mine.append(names)
    try:
        yield names
    except BaseException:
        with held_back(), alone(graph):
            wrap_new(graph)
        raise
    finally:
        mine[:] = [held for held in mine if held is not names]


@contextmanager
def hidden_on_failure(graph: tf.Graph) -> Iterator[None]:
    """What this thread adds to the graph meanwhile is there wholly, or hidden; an interrupt comes behind."""
    with noting(graph) as names:
        try:
            with held_back():
                yield
        except BaseException:
            hide(graph, names)
            raise


@contextmanager
def growing(graph: tf.Graph, scope: str) -> Iterator[set[str]]:
    """While this lasts, what this thread adds to the graph is one edit; the names of its ops."""
    record = record_of(graph)
    record.growing = scope
    try:
        with noting(graph) as names:
            yield names
    finally:
        record.growing = ""


def check_still(graph: tf.Graph) -> None:
    """Raise while a person's function is making ops: an edit now would be a part of that one, and undone with it."""
    scope = record_of(graph).growing
    if scope:
        raise GraphEditError(
            f"A function is making {scope!r} in this graph, and until it has returned there can be no other edit; make "
            "it before or after editor.grow."
        )
