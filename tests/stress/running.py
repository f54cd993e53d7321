"""What tensors are when they are run: of the graph as it is, of a clone, of a part, and of what was
saved.

The evaluation is TensorFlow's own, in the session of the editor or in a fresh one on a copy of the
graph.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.conftest import v1
from tests.rounds import count
from tests.stress.sentences import Broken
from tests.stress.state import readers_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.export.formats.function_library import fill_graph_def
from tfgraphwidget.graph import HANDLE_DTYPES, needed_ops, traversal, unused_inputs
from tfgraphwidget.runtime.session import check_feed_ranks

_READS = (
    "VarHandleOp",
    "VariableV2",
    "Variable",
    "ReadVariableOp",
    "Placeholder",
    "PartitionedCall",
)
_WRITES = ("Assign", "Apply", "Scatter", "Enqueue", "Dequeue", "Stack", "PyFunc")
# What is read of a queue depends on what was put into it before.
_ASKS = ("QueueSize", "QueueIsClosed", "BarrierReadySize", "BarrierIncompleteSize")
_HANDLES = ("VarHandleOp", "VariableV2", "Variable")
_FETCHES = 6
_TOLERANCE = 1e-4
_HALF_TOLERANCE = 2e-2
_OPTIONS = v1.RunOptions(timeout_in_ms=10_000)
# Of a graph that is run once, TensorFlow's optimizations take longer than the run; without them it
# is another witness.
_PLAIN = v1.ConfigProto(allow_soft_placement=True)
_PLAIN.graph_options.rewrite_options.disable_meta_optimizer = True
_PLAIN.graph_options.optimizer_options.opt_level = v1.OptimizerOptions.L0
ERROR = "an error"

Values = dict[str, Any]
"""Arrays by the names of their tensors; ERROR for one that cannot be computed."""


def check_session_follows(editor: GraphEditor, seed: int) -> None:
    """Raise Broken where the session gives another value than a fresh one, with the same values in
    its variables.
    """
    session = editor._core.source.session
    if session is None or editor._core.source.graph is None:
        return
    index, feeds = editor._core.target.index, feeds_of(editor)
    # Of a variable without a value TensorFlow's optimizer may know the shape, which the plain
    # session then cannot tell.
    blank = [
        index.ids[name]
        for name in readers_of(editor).keys() - _of_variables(editor).keys()
        if name in index.ids
    ]
    unknown = traversal.forward(index, blank)
    fetches = [
        name
        for name in pure_tensors(editor, seed)
        if not unknown[index.ids[name.removesuffix(":0")]]
    ]
    if not fetches:
        return
    # Of half-precision ops TensorFlow's optimizer changes the last of eight bits.
    is_half = any(
        "float16" in dtypes or "bfloat16" in dtypes
        for dtypes in map(index.dtypes, range(len(index)))
    )
    mine = _values(session, fetches, feeds)
    # The optimizer takes away ops that only others' control inputs name, with the errors that they
    # would give.
    for config in (_PLAIN, v1.ConfigProto()):
        with _fresh_session(editor, config) as fresh:
            report = unlike(
                mine, _values(fresh, fetches, feeds), _HALF_TOLERANCE if is_half else _TOLERANCE
            )
        if not report:
            break
    else:
        raise Broken(f"the session gives other values than a fresh one: {report}")
    count("values", len(fetches))


def pure_tensors(editor: GraphEditor, seed: int, most: int = _FETCHES) -> list[str]:
    """Some tensors that depend on nothing random and on no queue, so that each run gives the
    same.
    """
    index, chance = editor._core.target.index, random.Random(seed)
    unsure = traversal.forward(
        index, [op for op, kind in enumerate(index.types) if not _is_pure(kind)]
    )
    pure = [
        op
        for op in np.flatnonzero(~unsure).tolist()
        if index.dtypes(op)[:1] in (("float32",), ("int32",))
    ]
    return [f"{index.names[op]}:0" for op in chance.sample(pure, min(len(pure), most))]


def feeds_of(editor: GraphEditor) -> Values:
    """A value for each placeholder that one can be made up for."""
    index = editor._core.target.index
    placeholders = [op for op, kind in enumerate(index.types) if kind == "Placeholder"]
    made = {
        f"{index.names[op]}:0": _made_up(index.dtypes(op)[0], index.shape(op, 0))
        for op in placeholders
    }
    return {name: value for name, value in made.items() if value is not None}


def values_now(editor: GraphEditor, fetches: Sequence[str], feeds: Values) -> Values:
    """The values in the editor's session; of a file, with made-up values in its variables. {} when
    none can be had.
    """
    if not fetches or _is_of_a_function(editor):
        return {}
    session = editor._core.source.session
    if session is not None and editor._core.source.graph is not None:
        return _values(session, fetches, feeds)
    if editor._core.source.graph is not None:
        return {}
    try:
        with _fresh_session(editor) as fresh:
            return _values(fresh, fetches, feeds)
    except (v1.errors.OpError, ValueError, TypeError):
        return {}


def _is_of_a_function(editor: GraphEditor) -> bool:
    """Whether the whole graph is that of a function, whose captured variables are placeholders."""
    index = editor._core.target.index
    return any(
        kind == "Placeholder" and index.dtypes(op)[0] == "resource"
        for op, kind in enumerate(index.types)
    )


def unlike(one: Values, other: Values, tolerance: float = _TOLERANCE) -> str:
    """Which of the values of `one` differ in `other`, in words. What is ERROR in `one` may be
    anything in `other`.
    """
    for name, value in one.items():
        if name in other and not (
            isinstance(value, str) or _is_close(value, other[name], tolerance)
        ):
            return f"{name!r} was {_words(value)} and is {_words(other[name])}"
    return ""


def _is_close(value: Any, other: Any, tolerance: float) -> bool:
    if isinstance(other, str) or value.dtype != other.dtype or value.shape != other.shape:
        return False
    if value.dtype.kind not in "fc":
        return bool(np.array_equal(value, other))
    size = np.abs(value[np.isfinite(value)]).max(initial=0.0)
    return bool(
        np.allclose(value, other, rtol=tolerance, atol=tolerance * max(size, 1e-3), equal_nan=True)
    )


# Clones


def check_copy(
    editor: GraphEditor, boundary: tuple[Any, Any], options: Mapping[str, Any], copy: Any
) -> None:
    """Raise Broken where a clone computes something else than its original, or holds the same
    variables.

    A clone with the values of the original gives, for the same inputs, what the original gives.
    Another value in a variable of either changes nothing of the other.
    """
    session = editor._core.source.session
    if session is None or _is_of_a_function(editor):
        return
    is_shared = options.get("variables") == "shared"
    inputs, outputs = _names(boundary[0]), [name for name in _names(boundary[1]) if name in copy]
    graph = editor._core.source.graph
    fetches = [
        name
        for name in outputs
        if name not in inputs  # else the original is what is fed
        and graph.is_fetchable(copy[name])  # not in a loop or a branch, where it has no one value
        and copy[name].dtype
        not in (tf.string, tf.resource, tf.variant)  # a summary's tag, a handle are the copy's own
        # May be what memory held.
        and not (copy[name].op.type.startswith("FusedBatchNorm") and not name.endswith(":0"))
        and _is_pure_between(editor, inputs, name)
    ]
    feeds = feeds_of(editor)
    given = _inputs(editor, inputs, feeds)
    if not fetches or given is None:
        return
    feeds |= {name: _another(value) for name, value in given.items()}
    if options.get("placeholders"):  # for what the part reads besides, too
        replaced = {name: copy[name].name for name in copy._names if ":" in name}
        others = _values(session, [name for name in replaced if name not in feeds], feeds)
        feeds |= {
            replaced[name]: feeds[name] if name in feeds else others[name] for name in replaced
        }
        if any(isinstance(value, str) and value == ERROR for value in feeds.values()):
            return
    twins = {name: copy[name].name for name in fetches}
    original = _values(session, fetches, feeds)
    if is_shared or options.get("init", "current") == "current":
        report = unlike(original, _renamed(_values(session, [*twins.values()], feeds), twins))
        if report:
            raise Broken(f"the clone {copy.scope!r} computes something else: {report}")
        count("clones that compute the same", len(fetches))
    originals = {copy._names.get(name): name for name in readers_of(editor)}
    around = _upstream(editor, [name for name in copy.outside if name not in feeds])
    for variable in copy.variables[:3]:
        _check_apart(editor, variable.op.name, fetches, feeds)
        changed = originals.get(variable.op.name)
        if changed is not None and changed not in around:  # what is not copied may read it too
            _check_apart(editor, changed, [*twins.values()], feeds)


def _check_apart(editor: GraphEditor, changed: str, watched: list[str], feeds: Values) -> None:
    """Raise Broken when a new value in a variable reaches other variables, or the watched
    tensors.
    """
    session, readers = editor._core.source.session, readers_of(editor)
    assign = _assignment(editor, changed)
    value = _value(session, readers[changed]) if changed in readers else None
    if assign is None or not isinstance(value, np.ndarray) or value.dtype.kind not in "fi":
        return
    before = _of_variables(editor), _values(session, watched, feeds)
    try:
        session.run(assign, {assign.inputs[1]: value + value.dtype.type(1)})
    except (v1.errors.OpError, ValueError, TypeError):
        return  # an edit has connected its initializer to something else
    after = _of_variables(editor), _values(session, watched, feeds)
    session.run(assign, {assign.inputs[1]: value})
    report = unlike({k: v for k, v in before[0].items() if k != changed}, after[0]) or unlike(
        before[1], after[1]
    )
    if report:
        raise Broken(f"a new value of {changed!r} changes {report}")
    count("variables found separate")


def _inputs(editor: GraphEditor, inputs: Sequence[str], feeds: Values) -> Values | None:
    """The values of the inputs of a part; None where computing them would change something, or
    fails.
    """
    if not all(_is_pure_between(editor, feeds, name) for name in inputs):
        return None
    given = _values(editor._core.source.session, inputs, feeds)
    return None if any(isinstance(value, str) for value in given.values()) else given


def _assignment(editor: GraphEditor, name: str) -> Any:
    """An op that assigns to a variable and waits for nothing, or None."""
    for op in editor._core.source.graph.get_operation_by_name(name).outputs[0].consumers():
        if (
            op.type in ("Assign", "AssignVariableOp")
            and not op.control_inputs
            and op.inputs[0].op.name == name
        ):
            return op if op.inputs[1].op.name != name else None
    return None


def _names(boundary: Any) -> list[str]:
    names = [boundary] if isinstance(boundary, str) else list(boundary or ())
    return [name if ":" in name else f"{name}:0" for name in names]


def _another(value: Any) -> Any:
    """Another value of the same dtype and shape, where this is safe."""
    return value * 0.5 + 0.25 if value.dtype.kind == "f" else value


def _is_pure_between(editor: GraphEditor, inputs: Iterable[str], output: str) -> bool:
    """Whether all that a tensor is computed of, back to the inputs, is pure; by the names in
    NodeDefs alone.
    """
    index, cut, seen = editor._core.target.index, set(inputs), set[str]()
    waiting = [output]
    while waiting:
        text = waiting.pop()
        tensor = text if ":" in text or text[:1] == "^" else f"{text}:0"
        op = text.removeprefix("^").partition(":")[0]
        if tensor in cut or op in seen:
            continue
        seen.add(op)
        if op not in index.ids or not _is_pure(index.types[index.ids[op]]):
            return False
        waiting += index.nodes[index.ids[op]].input
    return True


def _upstream(editor: GraphEditor, tensors: Iterable[str]) -> set[str]:
    """The ops that tensors are computed of, by the names in NodeDefs alone."""
    index, seen, waiting = editor._core.target.index, set[str](), list(tensors)
    while waiting:
        op = waiting.pop().removeprefix("^").partition(":")[0]
        if op not in seen and op in index.ids:
            seen.add(op)
            waiting += index.nodes[index.ids[op]].input
    return seen


def _renamed(values: Values, names: Mapping[str, str]) -> Values:
    return {name: values[other] for name, other in names.items()}


# Parts and files


def _is_handle(editor: GraphEditor, name: str) -> bool:
    """Whether a tensor is the handle of a resource, which says where its session keeps that."""
    op, _, port = name.partition(":")
    index = editor._core.target.index
    return bool(index.dtypes(index.ids[op])[int(port or 0)] in HANDLE_DTYPES)


def check_part(
    editor: GraphEditor, part: GraphEditor, inputs: Sequence[str], outputs: Sequence[str]
) -> None:
    """Raise Broken where an extracted part computes something else than the graph that it was taken
    from.
    """
    if editor._core.source.session is None or _is_of_a_function(editor):
        return
    fetches = [
        name
        for name in outputs
        if _is_pure_between(editor, inputs, name) and not _is_handle(editor, name)
    ]
    feeds = feeds_of(editor)
    given = _inputs(editor, inputs, feeds)
    if not fetches or given is None:
        return
    feeds |= given
    original = _values(editor._core.source.session, fetches, feeds)
    taken = {
        name: value
        for name, value in feeds.items()
        if name.partition(":")[0] in part._core.target.index.ids
    }
    report = unlike(original, _values(part.session, fetches, taken))
    if report:
        raise Broken(f"the extracted part computes something else: {report}")
    count("parts that compute the same", len(fetches))


def check_saved_values(editor: GraphEditor, path: Any, boundary: Sequence[Any], seed: int) -> None:
    """Raise Broken where a file with its values computes something else than the graph that was
    saved.
    """
    session = editor._core.source.session
    if session is None or _is_of_a_function(editor):
        return
    if len(boundary) < 2 and editor.outputs and not tuple(editor.signatures.values()):
        boundary = editor.inputs, editor.outputs  # what was marked is what was saved
    outputs = _names(boundary[1]) if len(boundary) > 1 else pure_tensors(editor, seed)
    inputs = _names(boundary[0]) if len(boundary) > 1 else []
    fetches, feeds = (
        [name for name in outputs if _is_pure_between(editor, inputs, name)],
        feeds_of(editor),
    )
    given = _inputs(editor, inputs, feeds)
    if not fetches or given is None:
        return
    feeds |= given
    original = _values(session, fetches, feeds)
    with _loaded(path) as loaded:
        there = {op.name for op in loaded.graph.get_operations()}
        taken = {name: value for name, value in feeds.items() if name.partition(":")[0] in there}
        # What was computed in the graph is a placeholder in the file; they come in the order of the
        # inputs.
        index = editor._core.target.index
        left_out = unused_inputs(index, given, needed_ops(index, given, outputs))
        types = {name: index.types[index.ids[name.partition(":")[0]]] for name in given}
        computed = [name for name in given if types[name] != "Placeholder" and name not in left_out]
        made = [op.name for op in loaded.graph.get_operations() if _is_made(op)]
        taken |= {f"{name}:0": given[tensor] for name, tensor in zip(made, computed, strict=False)}
        found = [name for name in fetches if name.partition(":")[0] in there]
        report = unlike(original, _values(loaded, found, taken)) if found else ""
    if report:
        raise Broken(f"what was saved as {path.name} computes something else: {report}")
    count("files that compute the same", len(found))


def _is_made(op: Any) -> bool:
    """Whether an op of a file is a placeholder that a save made for an input."""
    return bool(op.name.startswith("inputs/") and op.type.startswith("Placeholder"))


@contextmanager
def _loaded(path: Any) -> Iterator[Any]:
    """A session with what a frozen GraphDef or a SavedModel of TensorFlow 1 holds, loaded by
    TensorFlow alone.
    """
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        if path.is_dir():
            v1.saved_model.load(session, [v1.saved_model.tag_constants.SERVING], str(path))
        else:
            tf.graph_util.import_graph_def(v1.GraphDef.FromString(path.read_bytes()), name="")
        yield session


# Values


def _is_pure(kind: str) -> bool:
    definition = op_def_registry.get(kind)
    is_of_state = any(word in kind for word in (*_WRITES, *_ASKS))
    return kind in _READS or (
        definition is not None and not definition.is_stateful and not is_of_state
    )


def _made_up(dtype: str, shape: tuple[int | None, ...] | None) -> Any:
    """A value to feed; None for a dtype that has none."""
    sizes = [2 if size is None else size for size in shape or ()]
    if dtype == "string":
        return np.full(sizes, b"a", object)
    kind = tf.as_dtype(dtype)
    if kind.is_floating:
        return (
            np.linspace(-0.75, 1.5, int(np.prod(sizes))).reshape(sizes).astype(kind.as_numpy_dtype)
        )
    return np.ones(sizes, kind.as_numpy_dtype) if kind.is_integer or kind.is_bool else None


def _fresh_session(editor: GraphEditor, config: Any = _PLAIN) -> Any:
    """A session on a copy of the graph, with the values that the editor's session has, or with
    made-up ones.
    """
    source, index = editor._core.source, editor._core.target.index
    graph_def = (
        editor._core.target.place.envelope()
        if source.graph is None
        else source.graph.as_graph_def()
    )
    del graph_def.node[:]
    fill_graph_def(index, graph_def, index.nodes)
    graph = tf.Graph()
    with graph.as_default():
        tf.graph_util.import_graph_def(graph_def, name="")
        session, assigned = v1.Session(graph=graph, config=config), []
        values = _made_up_variables(graph) if source.session is None else _of_variables(editor)
        for name, value in values.items():
            op = graph.get_operation_by_name(name)
            if op.type == "VarHandleOp":
                assigned.append(
                    tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=tf.constant(value))
                )
            else:
                assigned.append(tf.raw_ops.Assign(ref=op.outputs[0], value=tf.constant(value)).op)
        session.run(assigned)
    return session


def _made_up_variables(graph: tf.Graph) -> Values:
    """Values that the variables of a file could have, always the same for a name."""
    values: Values = {}
    for op in graph.get_operations():
        if op.type in _HANDLES:
            shape, dtype = tf.TensorShape(op.get_attr("shape")), op.get_attr("dtype")
            if shape.is_fully_defined() and (dtype.is_floating or dtype.is_integer):
                chance = np.random.default_rng(zlib.crc32(op.name.encode()))
                values[op.name] = (chance.uniform(0.1, 1.0, shape) * 3).astype(dtype.as_numpy_dtype)
    return values


def _of_variables(editor: GraphEditor) -> Values:
    """The values that the editor's session has."""
    found = readers_of(editor)
    try:
        return editor._core.source.session.run(found)  # type: ignore[no-any-return]
    except v1.errors.OpError:
        session = editor._core.source.session
        return {
            name: value
            for name, tensor in found.items()
            if (value := _value(session, tensor)) is not None
        }


def _value(session: Any, tensor: Any) -> Any:
    try:
        return session.run(tensor)
    except v1.errors.OpError:
        return None


def _values(session: Any, fetches: Sequence[str], feeds: Values) -> Values:
    """What a session gives for each; ERROR, not why, where it gives nothing."""
    if not fetches:
        return {}
    try:
        check_feed_ranks(session.graph, feeds)  # an edit may leave an input without a shape
        found: Values = session.run({fetch: fetch for fetch in fetches}, feeds, _OPTIONS)
    except (v1.errors.OpError, ValueError, TypeError, KeyError):
        if len(fetches) == 1:
            return {fetches[0]: ERROR}
        return {
            fetch: report
            for each in fetches
            for fetch, report in _values(session, [each], feeds).items()
        }
    return {fetch: np.asarray(value) for fetch, value in found.items()}


def _words(value: Any) -> str:
    if isinstance(value, str) or value.dtype.kind not in "fiub":
        return str(value)[:80]
    return f"{value.dtype} {value.shape} {np.round(value.astype(float).ravel()[:6], 4).tolist()}"
