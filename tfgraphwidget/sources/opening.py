"""open_source: open a graph, session, function, model, file or message as a Source."""

from __future__ import annotations

import base64
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, cast

from google.protobuf.message import Message

from tfgraphwidget.errors import GraphEditError, NotAGraph, SessionRefused
from tfgraphwidget.sentences import in_cell, leave_out
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.container import OpenOptions
from tfgraphwidget.sources.files.formats import listed_suffixes, open_bytes, open_path
from tfgraphwidget.sources.files.opening import open_message
from tfgraphwidget.sources.functions.call_structure import call_structure
from tfgraphwidget.sources.functions.keras_models import keras_source
from tfgraphwidget.sources.functions.traces import CONCRETE, FUNCTION, find_trace, function_source
from tfgraphwidget.sources.live.devices import (
    absent_devices,
    function_devices,
    is_soft_placement,
    pinned_notices,
)
from tfgraphwidget.sources.live.graph_body import GraphBody
from tfgraphwidget.sources.live.sessions import unwrap_session
from tfgraphwidget.sources.live.shapes import dimensions
from tfgraphwidget.sources.networkx_graph import is_networkx, networkx_meta_graph
from tfgraphwidget.sources.source import Source
from tfgraphwidget.tensorflow_modules import Graph, TensorSpec, tf
from tfgraphwidget.tf_internals import FuncGraph, is_session
from tfgraphwidget.tf_types import Session, is_keras_model

_LARGEST_LITERAL = 1 << 20  # bytes of a proto that is written into the source
_GRAPH = "tf.compat.v1.get_default_graph(),  # the graph that was opened"
_OPENED = re.compile(r"\.\.\.,  # give here what was opened: .*")
_SESSION = "session=tf.compat.v1.get_default_session(),  # the session that runs it"
_PROTOS = {kind.DESCRIPTOR.full_name: kind for kind in tf_protos.message_classes()}


def open_source(
    thing: object = None,
    session: Session | None = None,
    *,
    signature: object = None,
    checkpoint: str | os.PathLike[str] | None = None,
    tags: object = None,
    trusted: bool = False,
) -> Source:
    """Open a graph, a session's graph, a function, a Keras model, a file, a message or its bytes.

    Args:
        thing: What holds the graph; None for the session's graph, or without a session for the
            default graph.
        session: The session that runs a live graph.
        signature: The name of one of a file's signatures; of a tf.function the number of a trace,
            or a list of tf.TensorSpec.
        checkpoint: The prefix of the checkpoint's files with the values of a file's variables, or
            their directory.
        tags: The tag set of one graph of a SavedModel.
        trusted: Whether ops of a file may run that do more than compute.

    Returns:
        The source; nothing of a file has run, and TensorFlow has not imported it.

    Raises:
        NotAGraph: For what holds no graph.
        UnknownName: For a file, signature or trace that does not exist.
        SessionRefused: For a session that is closed or of another graph.
        GraphEditError: When there is a choice to make.
    """
    session = unwrap_session(session)
    if thing is None:
        if session is not None:
            thing = getattr(session, "graph", session)
        else:
            thing = tf.compat.v1.get_default_graph()
    if is_session(thing):
        session = session or unwrap_session(thing)
        thing = unwrap_session(thing).graph
    options = OpenOptions(signature, checkpoint, tags, trusted)
    source = _open(thing, session, options)
    with suppress(TypeError):  # there are no weak references to texts and bytes
        source.opened = weakref.ref(thing)
    if source.graph is not None:
        source.reopen_code = reopen_live_expression(has_session=source.session is not None)
    else:
        source.reopen_code = reopen_expression(
            thing,
            source.title,
            {
                "signature": signature,
                "checkpoint": checkpoint,
                "tags": tags,
                "trusted": trusted or None,
            },
        )
    return source


def _open(thing: object, session: Session | None, options: OpenOptions) -> Source:
    if isinstance(thing, Graph) and not isinstance(thing, FuncGraph):
        _refuse_choices("A live graph", options, ("signature", "checkpoint", "tags"))
        return _live_source(thing, session)
    if session is not None:
        raise SessionRefused(
            f"{_short(thing)} is not a graph that a session runs; "
            + leave_out("session")
            + ", or give session.graph."
        )
    if isinstance(thing, Message) and thing.DESCRIPTOR.full_name in _PROTOS:
        return open_message(
            _copy(thing), thing.DESCRIPTOR.name, f"This {thing.DESCRIPTOR.name}", options
        )
    if isinstance(thing, bytes | bytearray | memoryview):
        return open_bytes(bytes(thing), options)
    if isinstance(thing, str | os.PathLike):
        return open_path(thing, options)
    if is_networkx(thing):
        meta, removed = networkx_meta_graph(thing)
        source = open_message(meta, "networkx graph", "This networkx graph", options)
        source.notices += removed
        return source
    return _function_source(thing, options)


def _copy(proto: Message) -> Message:
    """A copy of a message, so that the caller's later changes do not reach the source."""
    kind = _PROTOS[proto.DESCRIPTOR.full_name]
    copy: Message = kind()
    if isinstance(proto, kind):
        copy.CopyFrom(proto)
    else:  # of another protobuf package than TensorFlow's
        copy.MergeFromString(proto.SerializeToString())
    return copy


def _live_source(graph: tf.Graph, session: Session | None) -> Source:
    if session is not None and not _is_session_like(session):
        raise SessionRefused(
            f"{_short(session)} is not a session; "
            + in_cell("give a tf.compat.v1.Session(graph=graph).")
        )
    if session is None:
        default = tf.compat.v1.get_default_session()
        session = default if default is not None and default.graph is graph else None
    body = GraphBody(graph)
    devices_of_ops = ((op.name, device) for op in graph.get_operations() if (device := op.device))
    pinned = absent_devices(chain(devices_of_ops, function_devices(body)), session)
    return Source(
        "Graph",
        body,
        graph,
        session,
        notices=pinned_notices(pinned, soft=is_soft_placement(session)),
    )


def _is_session_like(thing: object) -> bool:
    return hasattr(thing, "run") and isinstance(getattr(thing, "graph", None), Graph)


def _function_source(thing: object, options: OpenOptions) -> Source:
    if isinstance(thing, FUNCTION):
        _refuse_choices("A function", options, ("checkpoint", "tags"))
        title = f"tf.function {getattr(thing, '__name__', 'f')!r}"
        trace = find_trace(thing, options.signature, title)
        return function_source(trace.graph, title, structure=call_structure(trace, thing))
    if is_keras_model(thing):
        _refuse_choices("A Keras model", options, ("checkpoint", "tags"))
        return keras_source(thing, options.signature)
    if isinstance(thing, (CONCRETE, FuncGraph)):
        _refuse_choices("One trace of a function", options, ("signature", "checkpoint", "tags"))
        if isinstance(thing, FuncGraph):
            return function_source(thing, f"Function {thing.name!r}")
        graph = cast("Any", thing).graph
        return function_source(graph, f"Function {graph.name!r}", structure=call_structure(thing))
    raise NotAGraph(f"{_short(thing)} holds no TensorFlow graph; " + _alternative(thing) + ".")


def _alternative(thing: object) -> str:
    """The suggestion for an object that holds no graph itself."""
    if isinstance(_attribute(thing, "graph"), Graph):
        return in_cell("give the graph it is in, tgw.edit(x.graph)")
    if _attribute(thing, "signatures") is not None:
        return "give the directory it was loaded from, or one of its .signatures"
    if callable(thing):
        return in_cell("make it a tf.function, call it once, and give that")
    return in_cell(
        "give a tf.Graph, a tf.compat.v1.Session, a tf.function, a Keras model, a SavedModel "
        f"directory, a {listed_suffixes()} file, or nothing for the default graph"
    )


def _attribute(thing: object, name: str) -> object:
    """An attribute of any object; None when it is missing or reading it raises."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def _refuse_choices(what: str, options: OpenOptions, names: tuple[str, ...]) -> None:
    for name in names:
        if getattr(options, name) is not None:
            raise GraphEditError(f"{what} has no use for {name}=; leave it out.")


def _short(thing: object) -> str:
    """A value quoted in a sentence, after its type: "str 'model'"."""
    try:
        return f"{type(thing).__name__} {str(thing)[:60]!r}"
    except Exception:  # an object's own __str__ may raise anything
        return f"A {type(thing).__name__}"


# The Python expression that opens the same source again


def reopen_live_expression(*, has_session: bool) -> str:
    """The expression for a live graph; a script must have created it as the default graph."""
    return _call([_GRAPH, _SESSION] if has_session else [_GRAPH], ())


def reopen_expression(thing: Any, title: str, choices: Mapping[str, object]) -> str:
    """The Python expression that opens a source again, `tgw.edit(...)`; for a live graph see
    `reopen_live_expression`.

    Args:
        title: The source's title, for a comment where the expression cannot contain what was
            opened.
    """
    options = [
        f"{name}={_source_text(value)}" for name, value in choices.items() if value is not None
    ]
    if isinstance(thing, str | os.PathLike):
        return _call([_source_text(thing)], options)
    data = thing if isinstance(thing, bytes | bytearray | memoryview) else None
    if (
        data is None
        and hasattr(thing, "SerializeToString")
        and thing.ByteSize() <= _LARGEST_LITERAL
    ):
        data = thing.SerializeToString()
    if data is not None and len(data) <= _LARGEST_LITERAL:
        return _call([f'base64.b64decode("{base64.b64encode(bytes(data)).decode()}")'], options)
    return _call([f"...,  # give here what was opened: {' '.join(title.split())}"], options)


def with_variables(code: str, thing: str, session: str) -> str:
    """A script with the names of the variables that hold what was opened, and its session, if any,
    where it says what was opened.
    """
    if _SESSION in code and not session:
        return code
    code = code.replace(_GRAPH, f"{thing},", 1).replace(_SESSION, f"session={session},", 1)
    return _OPENED.sub(f"{thing},", code, count=1)


def _call(first: list[str], options: Sequence[str]) -> str:
    """A call on one line, or with one argument per line when arguments have comments."""
    if not any("  # " in text for text in first):
        return f"tgw.edit({', '.join([*first, *options])})"
    return "\n".join(
        [
            "tgw.edit(",
            *(f"    {text}" for text in [*first, *(f"{option}," for option in options)]),
            ")",
        ]
    )


def _source_text(value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, TensorSpec):
        name = f", name={value.name!r}" if value.name else ""
        shape = dimensions(value.shape)
        return f"tf.TensorSpec({shape if shape is None else list(shape)}, {value.dtype!r}{name})"
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{key!r}: {_source_text(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple | set | frozenset):
        return f"[{', '.join(map(_source_text, value))}]"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
