"""Ops of a traced Python function, moved into a graph.

The function was called on placeholders (see `runtime.live.traced_ops`); here these become the
tensors that they represented. In a v1 loop or conditional an op without inputs would run outside of
it, once and always, and what reads it would wait for ever; so there such ops wait for the tensor
that the function was called on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tfgraphwidget.edits import control_flow_contexts
from tfgraphwidget.edits.clone.command import Clone
from tfgraphwidget.edits.clone.node_copier import KEY
from tfgraphwidget.edits.clone.scopes import check_free
from tfgraphwidget.edits.context import IndexContext, TracedFunction
from tfgraphwidget.edits.patch import Change
from tfgraphwidget.edits.rewire.execution_frames import frames_of, may_run_in_frames
from tfgraphwidget.edits.rewrite.consumers import Tensor, tensor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, EXIT, FUNCTION_CALLS, SWITCH, GraphIndex, Selection
from tfgraphwidget.naming import as_input, colocate, colocated_with, split_input, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import NodeDef

_HERE = "here"  # the name of an Identity that new ops in a branch wait for


@dataclass(frozen=True)
class Graft:
    """The ops that are added to a graph, and the names of the tensors that the function returned.

    `notes` say what could not be copied, a sentence each. `traced` is the trace, with the tensors
    that it was given.
    """

    change: Change
    outputs: tuple[str, ...]
    notes: tuple[str, ...]
    traced: TracedFunction


def graft_function(
    traced: TracedFunction, index: GraphIndex, sources: Sequence[str], into: str, *, name: str = ""
) -> Graft:
    """Move the ops of a traced function into a graph.

    Args:
        name: In place of `into`: the name of the new op; of several, that of their name scope.

    Raises:
        NameTaken: The scope is taken.
        GraphEditError: The tensors are in different loops, or the function makes state inside of
            one.
    """
    into = name or into
    check_free(index, into)  # a clone from another graph might go to the root
    everything = Selection.of(traced.index, range(len(traced.index)), "editor.ops()")
    patch = Clone(into=into, selection=everything, graph=traced, init="none").plan(
        IndexContext(traced.index, index)
    )
    # The tensor that the function was called on, by the name of its placeholder: in the trace, and
    # in the copy.
    called_on = {}
    for placeholder, source in zip(traced.inputs, sources, strict=True):
        op, port = split_tensor(source)
        called_on[placeholder] = op, port or 0
    instead = {f"{into}/{placeholder}": of for placeholder, of in called_on.items()}
    added = [node for node in patch.add.nodes if node.name not in instead]
    if traced.graph is not None:
        # Live variables need no ops that initialize them, and gradients know the FuncGraph.
        originals = {f"{into}/{node.name}": node for node in traced.index.nodes}
        added = [node for node in added if node.name in originals]
        for node in added:
            _copy_gradient(originals[node.name], node)
        traced = replace(traced, input_sources=dict(zip(traced.inputs, sources, strict=True)))
    if name and len(added) == 1 and not traced.captured and not patch.add.members:
        traced = replace(traced, op_name=name)
        added[0].name = name
    nodes = tuple(_read_tensors(node, instead) for node in added)
    members = tuple(
        (key, m) for key, m in patch.add.members if split_tensor(m.name)[0] not in instead
    )
    names = {node.name: node.name for node in nodes}
    names |= {f"{name}:0": f"{op}:{port}" for name, (op, port) in instead.items()}
    contexts = control_flow_contexts.rename_contexts(patch.add.contexts, names, {})
    change = replace(patch.add, nodes=nodes, members=members, contexts=contexts, copies=())
    dropped = patch.report.preview.dropped if patch.report.preview else ()
    outputs = tuple(_output(output, called_on, traced, into) for output in traced.outputs)
    return Graft(_run_in_frames(index, traced, change, sources, into), outputs, dropped, traced)


def make_wait(nodes: Sequence[NodeDef], waits: Iterable[str]) -> None:
    """Let new ops wait for others: those that read no other new one, and so the rest after them."""
    names = {node.name for node in nodes}
    for node in nodes:
        if names.isdisjoint(split_input(text)[0] for text in node.input):
            node.input.extend(f"^{name}" for name in waits if f"^{name}" not in node.input)


def _copy_gradient(original: NodeDef, copy: NodeDef) -> None:
    """Give a copied op the gradient that the original has."""
    if KEY in original.attr:
        copy.attr[KEY].CopyFrom(original.attr[KEY])


def _read_tensors(node: NodeDef, instead: Mapping[str, tuple[str, int]]) -> NodeDef:
    """The NodeDef, changed to read tensors in place of placeholders and be colocated with them."""
    for k, text in enumerate(node.input):
        op, port = split_input(text)
        if op in instead:
            source, source_port = instead[op]
            node.input[k] = as_input(source, CONTROL if port == CONTROL else source_port)
    colocated = colocated_with(node)
    if not instead.keys().isdisjoint(colocated):
        colocate(node, [instead[op][0] if op in instead else op for op in colocated])
    return node


def _output(
    name: str, called_on: Mapping[str, tuple[str, int]], traced: TracedFunction, into: str
) -> str:
    """The name in the graph of a tensor that the function returned: one that it computed, or one
    that it was called on.
    """
    op, port = split_tensor(name)
    op, port = called_on.get(op, (traced.name_in(into, op), port or 0))
    return f"{op}:{port}"


def _run_in_frames(
    index: GraphIndex, traced: TracedFunction, change: Change, sources: Sequence[str], into: str
) -> Change:
    """The change for tensors inside v1 loops and conditionals: new ops run there too."""
    tensors = [tensor(index, name) for name in sources]
    if not change.nodes or not may_run_in_frames(index, [op for op, _ in tensors]):
        return change
    frames = frames_of(index)
    inside = [(frames.source_context(of), of) for of in tensors if frames.source_context(of)]
    if not inside:
        return change
    if traced.has_state:
        state = [*(v.handle for v in traced.index.variable_defs), "a table"][0]
        name = index.names[inside[0][1][0]]
        raise GraphEditError(
            f"The function makes state ({state}), which cannot be initialized inside of a loop or "
            f"branch, where {name!r} lies; "
            + in_cell(
                "let it read state that editor.call makes outside, or choose a tensor outside."
            ),
            [name],
        )
    deepest, of = max(inside, key=lambda pair: len(frames.contexts.path(pair[0])))
    path = (0, *frames.contexts.path(deepest))
    for context, other in inside:
        if context not in path:
            names = [index.names[of[0]], index.names[other[0]]]
            raise GraphEditError(
                f"{names[0]!r} and {names[1]!r} lie in different loops or branches, so no function "
                "can be called on both; choose tensors of one.",
                names,
            )
    nodes = _anchor(index, change.nodes, of, into)
    values = [name for node in nodes for name in _values(index, node)]
    leaves = index.types[of[0]] in EXIT
    contexts = control_flow_contexts.contexts_around(
        index.extras.contexts(), f"{index.names[of[0]]}:{of[1]}", values, leaves=leaves
    )
    return replace(change, nodes=nodes, contexts=contexts + change.contexts)


def _values(index: GraphIndex, node: NodeDef) -> list[str]:
    """The names by which a control flow context lists an op: tensors, or itself."""
    return [f"{node.name}:{port}" for port in range(len(index.typing.dtypes(node)))] or [node.name]


def _anchor(
    index: GraphIndex, nodes: tuple[NodeDef, ...], of: Tensor, into: str
) -> tuple[NodeDef, ...]:
    """The nodes, of which those that read and wait for nothing wait for a tensor, or for the op it
    comes from.

    A Switch runs whatever branch is taken: there an Identity of the tensor represents it. Calls
    wait too, as TensorFlow lets them: constants in a function that is inlined would otherwise run
    outside.
    """
    roots = [node for node in nodes if not node.input or node.op in FUNCTION_CALLS]
    if not roots:
        return nodes
    op, port = of
    anchors: tuple[NodeDef, ...] = ()
    anchor = index.names[op]
    if index.types[op] in SWITCH:
        node_names = {node.name for node in nodes}
        candidates = (f"{into}/{_HERE}{k or ''}" for k in range(len(nodes) + 1))
        anchor = next(name for name in candidates if name not in node_names)
        here = type(index.nodes[op])(
            name=anchor, op="Identity", input=[as_input(index.names[op], port)]
        )
        here.attr["T"].type = index.typing.number(index.dtypes(op)[port].removesuffix("_ref"))
        anchors = (here,)
    for node in roots:
        node.input.append(f"^{anchor}")
    return (*anchors, *nodes)
