"""What the panel shows of a whole model: what it is, how large, what goes in and comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    BYTES,
    HANDLE_DTYPES,
    costs,
    count_variables,
    needed_placeholders,
    pairs,
    reach,
    shape_text,
)
from tfgraphwidget.naming import count_text, split_tensor
from tfgraphwidget.tensorflow_modules import installed_version, is_loaded
from tfgraphwidget.widget import protocol as p

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.graph import GraphIndex
    from tfgraphwidget.widget.edit_requests import EditRequests

_MOST_ENDS = 1_000  # inputs or outputs: what a panel can show when it is asked for all
_MOST_RANKED = 40  # outputs whose ops are counted; each takes 10 ms in a graph of 100,000 ops
_SHOWN = 6  # inputs or outputs that a panel shows until it is asked for all
_SMALL = 5_000  # ops of a graph that is checked before a user notices
_FEW = 20  # functions of such a graph
_LARGE = 10_000  # ops; of a larger graph what takes time is found when the user asks for it
_STEP = "global_step"  # the collection of the variable that counts the steps of training


class _Boundary(NamedTuple):
    """What takes time to find of a graph: its boundary and its weights."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: float  # elements of all weights
    size: float  # their bytes
    dtypes: tuple[str, ...]  # those with the most elements first


_UNKNOWN = _Boundary((), (), 0.0, 0.0, ())


class ModelFacts:
    """Answers to DescribeModel. What takes time is found once for each graph."""

    def __init__(self, editor: GraphEditor, edits: EditRequests) -> None:
        self._editor, self._edits = editor, edits
        self._cache: tuple[GraphIndex, object, _Boundary] | None = None

    def describe(self, request: p.DescribeModel) -> p.ModelReply:
        """The facts; FLOPs where they are asked for."""
        core, batch = self._editor._core, request.batch
        index = core.index
        is_complete = request.large or len(index) <= _LARGE or self._is_found()
        boundary = self._boundary() if is_complete else _UNKNOWN
        is_small = len(index) <= _SMALL and len(index.functions) <= _FEW
        is_batch_open = any(shape and shape[0] is None for shape in _shapes(index, boundary.inputs))
        path = core.navigator.path
        inputs = tuple(_end(index, name) for name in boundary.inputs[:_MOST_ENDS])
        outputs = tuple(_end(index, name) for name in boundary.outputs[:_MOST_ENDS])
        return p.ModelReply(
            title=_title(core.source.title, is_file=core.source.stored is not None),
            inside=path[-1] if len(path) > 1 else "",
            about=tuple(_about(self._editor)),
            values=_values(self._editor, boundary),
            ops=len(index),
            variables=count_variables(index, range(len(index))),
            parameters=boundary.parameters,
            size=boundary.size,
            dtypes=boundary.dtypes,
            flops=self._flops(batch) if batch else -1.0,
            batch=batch if is_batch_open else 0,
            inputs=inputs,
            input_count=len(boundary.inputs),
            outputs=outputs,
            output_count=len(boundary.outputs),
            signatures=tuple(self._edits.signature_rows()) if is_complete else (),
            is_small=is_small,
            is_ready=is_small and is_loaded(),
            is_complete=is_complete,
        )

    def _is_found(self) -> bool:
        """Whether all is known of the graph as it is now."""
        core = self._editor._core
        return self._cache is not None and self._cache[:2] == (core.index, core.executor.signatures)

    def _boundary(self) -> _Boundary:
        core = self._editor._core
        if self._cache is None or not self._is_found():
            self._cache = core.index, core.executor.signatures, _find_boundary(self._editor)
        return self._cache[2]

    def _flops(self, batch: int) -> float:
        flops = self._editor._core.coloring.cost_values(batch)["flops"]
        return float(sum(int(count) for count in flops if count is not None))  # type: ignore[call-overload]


def _find_boundary(editor: GraphEditor) -> _Boundary:
    core = editor._core
    index = core.index
    try:
        outputs = core.arguments.outputs(None, use_selection=False)
    except GraphEditError:  # nothing in it looks like a result
        outputs = ()
    is_guessed = not core.executor.signatures and core.executor.boundary is None
    if is_guessed and _SHOWN < len(outputs) <= _MOST_RANKED:
        outputs = _largest_first(index, outputs)
    captured = core.view.body.constants
    inputs = core.executor.inputs_and_outputs[0] or needed_placeholders(index, outputs)
    inputs = tuple(name for name in inputs if split_tensor(name)[0] not in captured)
    elements = costs.parameters(index)
    elements_by_dtype: Counter[str] = Counter()
    for op in np.flatnonzero(np.nan_to_num(elements)).tolist():
        elements_by_dtype[_held_dtype(index, op)] += int(elements[op])
    sizes = (BYTES.get(dtype, 0) * count for dtype, count in elements_by_dtype.items())
    return _Boundary(
        inputs=tuple(name for name in inputs if not _is_handle(index, name)),
        outputs=outputs,
        parameters=float(np.nansum(elements)),
        size=float(sum(sizes)),
        dtypes=tuple(dtype for dtype, _ in elements_by_dtype.most_common() if dtype),
    )


def _largest_first(index: GraphIndex, outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Outputs by how many ops they need: what the whole network computes, and then by-products."""
    needed = {}
    for name in outputs:
        op = index.op(split_tensor(name)[0])
        needed[name] = int(reach(index.inputs.start, index.inputs.values, np.array([op])).sum())
    return tuple(sorted(outputs, key=lambda name: -needed[name]))


def _is_handle(index: GraphIndex, name: str) -> bool:
    """Whether an input is a variable or a table of the caller's."""
    op = pairs(index, [name])[0][0]
    return all(dtype in HANDLE_DTYPES for dtype in index.dtypes(op))


def _held_dtype(index: GraphIndex, op: int) -> str:
    """The dtype of what a variable or a constant holds; "" where the op does not say."""
    dtype = index.dtypes(op)[0].removesuffix("_ref")
    if dtype != "resource":
        return dtype
    for consumer in index.consumers.row(op).tolist():
        if index.types[consumer] == "ReadVariableOp":
            return index.dtypes(consumer)[0]
    return ""


def _title(title: str, *, is_file: bool) -> str:
    """The name of what was opened, of a file without its folder."""
    return PurePath(title).name or title if is_file else title


def _about(editor: GraphEditor) -> Iterator[str]:
    """What made it and what it is, in a few words each."""
    core = editor._core
    source = core.source
    if source.model is not None:
        yield "Keras model"
        yield count_text(len(source.model.layers), "layer")
    elif source.converted_model is not None:
        yield source.converted_model.format
        if source.converted_model.made_by:
            yield source.converted_model.made_by
        return
    elif source.stored is not None:
        meta = source.stored.meta()
        if source.stored.tags() or source.stored.folder():
            yield "SavedModel"
        else:
            yield "MetaGraph" if meta.ListFields() else "GraphDef"
        if source.stored.tags():
            yield "tags " + ", ".join(source.stored.tags())
        version = meta.meta_info_def.tensorflow_version
        producer = source.body.versions().producer
        if version or producer:  # neither is in a GraphDef that other tools have written
            yield f"TensorFlow {version}" if version else f"producer {producer}"
        return
    elif source.graph is not None:
        yield f"live graph {'with' if source.session is not None else 'without'} a session"
        yield "grows with the notebook"
    else:
        yield "traced function"
    yield f"TensorFlow {installed_version()}"


def _values(editor: GraphEditor, boundary: _Boundary) -> str:
    """Whether it is trained, as far as is known without a run; "" of a graph without weights."""
    core = editor._core
    if not boundary.parameters:
        return ""
    if not count_variables(core.index, range(len(core.index))):
        return "the weights are constants"
    if core.target.came_without_values():
        return "no values: the file comes without its checkpoint; Open checkpoint loads one"
    if core.executor.default_init() != "current" or not _has_values(editor):
        return "not trained: the variables have no values yet"
    return _steps_text(editor)


def _has_values(editor: GraphEditor) -> bool:
    """Whether the smallest variable of a live graph has a value."""
    core, index = editor._core, editor._core.index
    handles = [each.handle for each in index.variable_defs if each.handle in index.ids]
    if core.source.session is None or not handles:
        return True
    counts = np.nan_to_num(costs.parameters(index))
    smallest = min(handles, key=lambda handle: counts[index.ids[handle]])
    return editor.inspect(smallest).value is not None


def _steps_text(editor: GraphEditor) -> str:
    """How many steps it was trained, where a variable counts them."""
    core = editor._core
    for member in core.index.collections.get(_STEP, ()):
        try:
            step = editor.inspect(split_tensor(member.name)[0]).value
        except GraphEditError:
            continue
        if step is not None and step.value is not None and step.value.size == 1:
            return f"trained: step {int(step.value.item()):,}"
    return "the variables have values"


def _shapes(index: GraphIndex, names: Sequence[str]) -> Iterator[Sequence[int | None] | None]:
    """The static shapes of tensors, without those of ops that have no output."""
    for op, port in pairs(index, names):
        if max(port, 0) < len(index.dtypes(op)):
            yield index.shape(op, max(port, 0))


def _end(index: GraphIndex, name: str) -> p.ModelEnd:
    """An input or output of the model, with the dtype and shape of its tensor if it has one."""
    op, port = pairs(index, [name])[0]
    port, dtypes = max(port, 0), index.dtypes(op)
    dtype, shape = "", ""
    if port < len(dtypes):
        dtype, shape = dtypes[port], shape_text(index.shape(op, port))
    return p.ModelEnd(index.names[op], f"{index.names[op]}:{port}", dtype, shape)
