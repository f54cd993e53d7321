"""open_source: whatever a person has, as a Source."""

from __future__ import annotations

import os
from itertools import chain
from typing import Any

import tensorflow as tf
from google.protobuf.message import Message
from tensorflow.python.framework import func_graph

from tfgraphwidget.errors import GraphEditError, NotAGraph, SessionRefused
from tfgraphwidget.sources import devices
from tfgraphwidget.sources.body import Source
from tfgraphwidget.sources.files import Wanted, path_source, proto_source
from tfgraphwidget.sources.keras_models import is_keras, keras_source
from tfgraphwidget.sources.live import GraphBody, is_session, session_of
from tfgraphwidget.sources.networked import is_networkx, meta_graph_of
from tfgraphwidget.sources.notices import is_soft, pinned_text, placed_inside
from tfgraphwidget.sources.parsing import GRAPH, META, SAVED, parse
from tfgraphwidget.sources.said import said, said_live
from tfgraphwidget.sources.traced import CONCRETE, FUNCTION, concrete_of, function_source

_PROTOS = {kind.DESCRIPTOR.full_name: kind for kind in (GRAPH, META, SAVED)}


def open_source(
    thing: object = None,
    session: tf.compat.v1.Session | None = None,
    *,
    signature: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    tags: Any = None,
) -> Source:
    """The source of a graph, a session's graph, a function, a Keras model, a file, a proto or its bytes.

    Nothing given is the default graph. `signature` chooses among a file's signatures (by name) or a tf.function's
    traces (by number, or a list of tf.TensorSpec); `checkpoint` is the prefix of a checkpoint's files; `tags` choose
    among the graphs of a SavedModel. Raises NotAGraph, UnknownName, SessionRefused, or GraphEditError when there is a
    choice to make; nothing is left half opened.
    """
    session = session_of(session)
    if thing is None:
        thing = getattr(session, "graph", session) if session is not None else tf.compat.v1.get_default_graph()
    if is_session(thing):
        session = session or session_of(thing)
        thing = session_of(thing).graph
    wanted = Wanted(signature, checkpoint, tags)
    source = _opened(thing, session, wanted)
    if source.graph is not None:
        source.said = said_live(has_session=source.session is not None)
    else:
        source.said = said(thing, source.title, {"signature": signature, "checkpoint": checkpoint, "tags": tags})
    return source


def _opened(thing: Any, session: tf.compat.v1.Session | None, wanted: Wanted) -> Source:
    if isinstance(thing, tf.Graph) and not isinstance(thing, func_graph.FuncGraph):
        _refuse_choices("A live graph", wanted, ("signature", "checkpoint", "tags"))
        return _live_source(thing, session)
    if session is not None:
        raise SessionRefused(
            f"{_short(thing)} is no graph that a session runs; leave session= out, or give session.graph."
        )
    if isinstance(thing, Message) and thing.DESCRIPTOR.full_name in _PROTOS:
        return proto_source(_copy(thing), thing.DESCRIPTOR.name, f"This {thing.DESCRIPTOR.name}", wanted)
    if isinstance(thing, bytes | bytearray | memoryview):
        return proto_source(parse(bytes(thing), "", "This data"), "bytes", "This data", wanted)
    if isinstance(thing, str | os.PathLike):
        return path_source(thing, wanted)
    if is_networkx(thing):
        meta, told = meta_graph_of(thing)
        source = proto_source(meta, "networkx graph", "This networkx graph", wanted)
        source.notices += told
        return source
    return _function_source(thing, wanted)


def _copy(proto: Message) -> Any:
    """A proto of one's own, so that what is looked at does not change."""
    kind = _PROTOS[proto.DESCRIPTOR.full_name]
    copy = kind()
    if isinstance(proto, kind):
        copy.CopyFrom(proto)
    else:  # of another protobuf package than TensorFlow's
        copy.MergeFromString(proto.SerializeToString())
    return copy


def _live_source(graph: tf.Graph, session: Any) -> Source:
    if session is not None and not (hasattr(session, "run") and isinstance(getattr(session, "graph", None), tf.Graph)):
        raise SessionRefused(f"{_short(session)} is no session; give a tf.compat.v1.Session(graph=graph).")
    if session is None:
        default = tf.compat.v1.get_default_session()
        session = default if default is not None and default.graph is graph else None
    body = GraphBody(graph)
    placed = ((op.name, device) for op in graph.get_operations() if (device := op.device))
    pinned = devices.absent(chain(placed, placed_inside(body)), session)
    return Source(
        "Graph",
        body,
        graph,
        session,
        notices=tuple(pinned_text(held, soft=is_soft(session)) for held in pinned),
    )


def _function_source(thing: Any, wanted: Wanted) -> Source:
    if isinstance(thing, FUNCTION):
        _refuse_choices("A function", wanted, ("checkpoint", "tags"))
        title = f"tf.function {getattr(thing, '__name__', 'f')!r}"
        return function_source(concrete_of(thing, wanted.signature, title).graph, title)
    if is_keras(thing):
        _refuse_choices("A Keras model", wanted, ("signature", "checkpoint", "tags"))
        return keras_source(thing)
    if isinstance(thing, CONCRETE | func_graph.FuncGraph):
        _refuse_choices("One trace of a function", wanted, ("signature", "checkpoint", "tags"))
        graph = thing if isinstance(thing, func_graph.FuncGraph) else thing.graph
        return function_source(graph, f"Function {graph.name!r}")
    raise NotAGraph(f"{_short(thing)} holds no TensorFlow graph; {_instead(thing)}.")


def _instead(thing: Any) -> str:
    """What to give in place of a thing that is near a graph."""
    if isinstance(_attribute(thing, "graph"), tf.Graph):
        return "give the graph it is in, tgw.edit(x.graph)"
    if _attribute(thing, "signatures") is not None:
        return "give the directory it was loaded from, or one of its .signatures"
    if callable(thing):
        return "make it a tf.function, call it once, and give that"
    return (
        "give a tf.Graph, a tf.compat.v1.Session, a tf.function, a Keras model, a SavedModel directory, a .pb, .pbtxt "
        "or .meta file, or nothing for the default graph"
    )


def _attribute(thing: Any, name: str) -> Any:
    """An attribute of any object; None where it has none, or asking for it raises."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def _refuse_choices(what: str, wanted: Wanted, names: tuple[str, ...]) -> None:
    for name in names:
        if getattr(wanted, name) is not None:
            raise GraphEditError(f"{what} has no use for {name}=; leave it out.")


def _short(thing: object) -> str:
    """A thing in a sentence, which its type tells apart from a name or a path."""
    try:
        return f"{type(thing).__name__} {str(thing)[:60]!r}"
    except Exception:  # an object's own __str__ may raise anything
        return f"A {type(thing).__name__}"
