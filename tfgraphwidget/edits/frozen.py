"""Freezing: what some outputs need, constants in the place of variables. Nothing here touches a graph.

Loops and conditionals stay what they are, of TensorFlow 1 as of TensorFlow 2; functions that are given variables are
exchanged for ones that take values. Ops that only update variables are cut. Other state (tables, iterators) is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfgraphwidget.edits.inputs import placeholder
from tfgraphwidget.edits.rewriting import Rewriting
from tfgraphwidget.edits.specialised import Functions
from tfgraphwidget.edits.valued import Value, constant
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import walks
from tfgraphwidget.graph.between import needed, unused
from tfgraphwidget.graph.contexts import V1_LOOPS
from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.named import pairs
from tfgraphwidget.graph.resources import keyed, of_type, resources
from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.graph.walks import ANY_PORT
from tfgraphwidget.names import as_input, colocated_with, free_name, split_input, split_tensor


@dataclass(frozen=True)
class Frozen:
    """A graph without variables.

    `nodes` are its NodeDefs, `functions` the FunctionDefs that the index does not have. `variables` are the handle ops
    that are constants now, `cut` the ops that would have updated them, `kept` other ops that hold state, with what it
    is in words. `fed` are the inputs that are placeholders now and were none: (tensor, placeholder). `unused` are the
    inputs that nothing reads.
    """

    nodes: tuple[Any, ...]
    functions: tuple[Any, ...]
    variables: tuple[str, ...]
    cut: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    fed: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()


def frozen(
    index: GraphIndex, outputs: Iterable[str], tensor: Callable[[str], Any], inputs: Iterable[str] = ()
) -> Frozen:
    """What `outputs` (ops or tensors) need, up to `inputs`, with constants for variables.

    An input that is no placeholder becomes one, under its op's name where nothing else needs that. `tensor` gives the
    TensorProto of a variable's value, by the name of its handle op. Raises GraphEditError, naming the op, where a
    variable is not only read: its update's result is needed, or it is read after its update; and for an input that
    nobody can feed.
    """
    outputs, inputs = tuple(outputs), tuple(inputs)
    need, naming = needed(index, inputs, outputs), _InGraph(index)
    handles = np.flatnonzero(need & of_type(index, HANDLES.__contains__)).tolist()
    values = {index.names[i]: _value(index.nodes[i]) for i in handles}
    ops = np.flatnonzero(need).tolist()
    functions = Functions(index)
    rewriting = Rewriting([index.nodes[i] for i in ops], dict(values), naming, functions)
    rewriting.spread()
    updating = rewriting.updating()
    kept = _kept(index, need, inputs, outputs, updating)
    for name in outputs:
        if index.names[index.op(name)] in updating:
            raise rewriting.refused(index.names[index.op(name)])
    inside = {index.names[i] for i in np.flatnonzero(kept).tolist()}
    made = rewriting.rewritten({index.names[i] for i in ops} - inside)
    for node in made:
        if node.name in values:
            constant(node, values[node.name].dtype, tensor(node.name))
        _leave(node, inside)
    entering, fed = _entering(index, inputs, made, naming)
    others = resources(index, np.flatnonzero(kept & keyed(index)).tolist())
    return Frozen(
        (*entering, *made),
        functions.called(made),
        tuple(name for name in values if name in inside),
        tuple(name for name in (index.names[i] for i in ops) if name in updating),
        tuple((index.names[i], kind) for i, kind in others if index.names[i] not in values),
        fed,
        unused(index, inputs, kept),
    )


def _entering(
    index: GraphIndex, inputs: tuple[str, ...], made: list[Any], naming: _InGraph
) -> tuple[list[Any], tuple[tuple[str, str], ...]]:
    """The placeholders that `made` is to read the inputs from, and of those that are new, for which tensors."""
    cut, there = set(pairs(index, inputs)), {node.name for node in made}
    found: dict[tuple[int, int], Any] = {}
    fed = []
    for node in made if cut else ():
        for slot, text in enumerate(node.input):
            name, port = split_input(text)
            op = index.ids.get(name, -1)
            if port < 0 or ((op, port) not in cut and (op, ANY_PORT) not in cut):
                continue
            if (op, port) not in found and index.types[op] == "Placeholder":
                found[op, port] = index.nodes[op]
            elif (op, port) not in found:
                own = port == 0 and name not in there
                wanted = f"{name}_{port}_placeholder" if port else f"{name}_placeholder"
                found[op, port] = _fed(index, op, port, name if own else naming.free(wanted))
                fed.append((f"{name}:{port}", str(found[op, port].name)))
            node.input[slot] = found[op, port].name
    return [node for node in found.values() if node.name not in there], tuple(fed)


def _fed(index: GraphIndex, op: int, port: int, name: str) -> Any:
    """A placeholder for an input; GraphEditError for what nobody can feed."""
    if index.dtypes(op)[port] in ("resource", "variant"):
        told = f"{index.names[op]}:{port}"
        raise GraphEditError(f"{told!r} is no value that anybody can feed; leave it out of inputs=.", [index.names[op]])
    return placeholder(index, op, port, name, GraphEditError, "leave it out of inputs=")


def _value(handle: Any) -> Value:
    return Value(handle.name, handle.attr["dtype"].type, handle.attr["shape"].shape)


def _kept(
    index: GraphIndex, need: Mask, inputs: tuple[str, ...], outputs: tuple[str, ...], updating: Iterable[str]
) -> Mask:
    """What is still needed when nobody waits for the updates."""
    within = need & ~walks.mask_of(index, (index.ids[name] for name in updating))
    return walks.backward(index, [index.op(name) for name in outputs], stop=pairs(index, inputs), within=within)


def _leave(node: Any, inside: Iterable[str]) -> None:
    """Let a NodeDef stand beside nothing that is not there."""
    beside = colocated_with(node)
    if beside:
        kept = [f"loc:@{name}".encode() for name in beside if name in inside]
        del node.attr["_class"]
        if kept:
            node.attr["_class"].list.s[:] = kept


class _InGraph:
    """How a graph names things."""

    def __init__(self, index: GraphIndex) -> None:
        self.framed = not V1_LOOPS.isdisjoint(index.kinds[0])
        self._index = index
        self._taken: set[str] = set()

    def output(self, node: Any, port: int) -> str:
        """How others read an output of an op."""
        return as_input(node.name, port)

    def maker(self, text: str) -> str:
        """The control input on the op that makes a tensor."""
        return f"^{split_tensor(text)[0]}"

    def free(self, wanted: str) -> str:
        """A name for a new op."""
        # Of a hidden op too: it would come back as what it was, with another value.
        self._taken = self._taken or {name.lower() for name in self._index.names} | self._index.reserved
        name = free_name(wanted, self._taken)
        self._taken.add(name.lower())
        return name
