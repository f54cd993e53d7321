"""Selection: some ops of one graph, and the walks that find them. Every walk is linear in what it visits."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfgraphwidget.errors import GraphEditError, NoPath, UnknownName
from tfgraphwidget.graph.index import GraphIndex, VariableDef
from tfgraphwidget.graph.variables import HANDLES, comes_from_outside, definitions
from tfgraphwidget.names import split_tensor

ANY_PORT = -1


@dataclass(frozen=True, eq=False)
class Selection:
    """Ops of one index, in graph order; `expression` is the Python that gives it."""

    index: GraphIndex
    ids: frozenset[int]
    expression: str

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """Names of the ops, in graph order."""
        return tuple(self.index.names[i] for i in sorted(self.ids))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tensors read inside and produced outside, in the order of first use."""
        found: dict[str, None] = {}
        start, ports = self.index.inputs.start, self.index.ports
        for i in sorted(self.ids):
            for slot, source in enumerate(self.index.input_lists[i]):
                if source not in self.ids:
                    found[f"{self.index.names[source]}:{ports[start[i] + slot]}"] = None
        return tuple(found)

    @cached_property
    def control_inputs(self) -> tuple[str, ...]:
        """Ops outside that ops inside wait for, as "^op", in the order of first use."""
        waited = (c for i in sorted(self.ids) for c in self.index.control_lists[i] if c not in self.ids)
        return tuple(dict.fromkeys(f"^{self.index.names[c]}" for c in waited))

    def shared(self, boundary: Collection[str]) -> tuple[str, ...]:
        """Variables outside that the part reads by way of tensors that are not in `boundary`: a copy shares them."""
        ends = [self.index.op(name) for name in (*self.inputs, *(c[1:] for c in self.control_inputs))]
        given = {self.index.op(name) for name in boundary}
        cut = cut_in_order(self.index, boundary)
        walked = _walk([i for i in ends if i not in given], _sources(self.index, cut))
        return tuple(self.index.names[i] for i in sorted(walked - self.ids) if self.index.types[i] in HANDLES)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Tensors produced inside and read outside, in graph order."""
        found: set[tuple[int, int]] = set()
        start, ports = self.index.inputs.start, self.index.ports
        for i in self.ids:
            for reader in self.index.consumer_lists[i]:
                if reader not in self.ids:
                    slots = enumerate(self.index.input_lists[reader])
                    found.update((i, int(ports[start[reader] + slot])) for slot, source in slots if source == i)
        return tuple(f"{self.index.names[i]}:{port}" for i, port in sorted(found))

    @cached_property
    def variables(self) -> tuple[VariableDef, ...]:
        """The variables whose state lies inside, in graph order."""
        inside = [i for i in sorted(self.ids) if self.index.types[i] in HANDLES]
        return tuple(definitions(self.index, inside).values())

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ops)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.index.ids.get(name, -1) in self.ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selection) and self.index is other.index and self.ids == other.ids

    def __hash__(self) -> int:
        return hash(self.ids)

    def __repr__(self) -> str:
        return self.expression

    def __or__(self, other: Selection) -> Selection:
        return self._with(self.ids | self._ids_of(other), f"({self} | {other})")

    def __and__(self, other: Selection) -> Selection:
        return self._with(self.ids & self._ids_of(other), f"({self} & {other})")

    def __sub__(self, other: Selection) -> Selection:
        return self._with(self.ids - self._ids_of(other), f"({self} - {other})")

    def __invert__(self) -> Selection:
        return self._with(frozenset(range(len(self.index))) - self.ids, f"~{self}")

    def _with(self, ids: frozenset[int], expression: str) -> Selection:
        return Selection(self.index, ids, expression)

    def _ids_of(self, other: Selection) -> frozenset[int]:
        if other.index is not self.index:
            raise GraphEditError(
                f"{self} and {other} were made on different states of the graph; make both again on the present one."
            )
        return other.ids


def scope(index: GraphIndex, name: str) -> Selection:
    """All ops inside a name scope, nested scopes included."""
    inside = index.scopes.ops(index.scopes.scope(name))
    return Selection(index, frozenset(inside.tolist()), f"editor.scope({name!r})")


def matching(index: GraphIndex, pattern: str) -> Selection:
    """Ops in whose name the regular expression is found."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise GraphEditError(f"{pattern!r} is no regular expression: {error}; escape it with re.escape.") from error
    found = frozenset(i for i, name in enumerate(index.names) if compiled.search(name))
    return Selection(index, found, f"editor.matching({pattern!r})")


def of_type(index: GraphIndex, *types: str) -> Selection:
    """Ops of the given types, for example "Conv2D"."""
    known = set(index.types)
    for wanted in types:
        if wanted not in known:
            raise UnknownName(f"No op here is of type {wanted!r}; the types are {', '.join(sorted(known))[:200]}.")
    found = frozenset(i for i, kind in enumerate(index.types) if kind in types)
    return Selection(index, found, f"editor.of_type({', '.join(map(repr, types))})")


def upstream(index: GraphIndex, *names: str) -> Selection:
    """The given ops and everything they need, along tensors and control inputs."""
    walked = _walk([index.op(n) for n in names], _sources(index))
    return Selection(index, frozenset(walked), f"editor.upstream({', '.join(map(repr, names))})")


def downstream(index: GraphIndex, *names: str) -> Selection:
    """The given ops and everything that needs them, along tensors and control inputs."""
    walked = _walk([index.op(n) for n in names], _readers(index))
    return Selection(index, frozenset(walked), f"editor.downstream({', '.join(map(repr, names))})")


def between(index: GraphIndex, inputs: Iterable[str], outputs: Iterable[str]) -> Selection:
    """The ops on a path from an input to an output, and the parameters that those ops read.

    An input names a tensor, or an op for all its tensors; its op stays outside. An output's op lies inside.
    Parameters are whatever the path needs that depends on no value from outside: variables, constants, what
    is computed from them. A branch that hangs on another placeholder stays outside; its tensor comes in.
    Without inputs: all that the outputs need, less the ops that bring values in.
    Raises UnknownName, and NoPath with both names when an input or an output is on no path.
    """
    inputs, outputs = tuple(inputs), tuple(outputs)
    if not outputs:
        raise NoPath("A part of the graph needs an output boundary; name at least one op or tensor in outputs.")
    cut = cut_in_order(index, inputs)
    walked = needed(index, inputs, outputs)
    expression = f"editor.between({list(inputs)!r}, {list(outputs)!r})"
    if not cut:
        return Selection(index, frozenset(i for i in walked if not comes_from_outside(index, i)), expression)
    path = walked & _walk(_readers_of(index, cut), _readers(index))
    _check_paths(index, dict(zip(inputs, cut, strict=True)), {name: index.op(name) for name in outputs}, path)
    return Selection(index, frozenset(path | _parameters(index, path, walked - path)), expression)


def needed(index: GraphIndex, inputs: Collection[str], outputs: Collection[str]) -> set[int]:
    """Ops that the outputs need, without crossing the inputs' tensors; control inputs are followed too."""
    return _walk([index.op(name) for name in outputs], _sources(index, set(cut_in_order(index, inputs))))


def cut_in_order(index: GraphIndex, names: Collection[str]) -> list[tuple[int, int]]:
    """(op, port) of each name; port -1 stands for every tensor of the op."""
    ports = (ANY_PORT if name in index.ids else split_tensor(name)[1] for name in names)
    return [(index.op(name), ANY_PORT if port is None else port) for name, port in zip(names, ports, strict=True)]


def _parameters(index: GraphIndex, path: set[int], rest: set[int]) -> set[int]:
    """Ops of `rest` that the path reads or waits for, and that depend on nothing from outside.

    What the path waits for belongs to it: an update of a variable that runs before each read would otherwise
    go on updating the original's.
    """
    readers, sources = _readers(index), _sources(index)
    outside = [i for i in rest if comes_from_outside(index, i)]
    free = rest - _walk(outside, lambda i: [r for r in readers(i) if r in rest])
    first = [s for i in path for s in sources(i) if s in free]
    return _walk(first, lambda i: [s for s in sources(i) if s in free])


def _walk(seeds: Iterable[int], neighbours: Callable[[int], Iterable[int]]) -> set[int]:
    """Everything reached from the seeds, seeds included."""
    seen = set(seeds)
    stack = list(seen)
    while stack:
        for i in neighbours(stack.pop()):
            if i not in seen:
                seen.add(i)
                stack.append(i)
    return seen


def _sources(index: GraphIndex, cut: Collection[tuple[int, int]] = ()) -> Callable[[int], Iterable[int]]:
    """Steps against the edges; an edge that carries a cut tensor is not followed."""
    inputs, controls = index.input_lists, index.control_lists
    start, ports = index.inputs.start.tolist(), index.ports.tolist()
    cut_ops = {op for op, _ in cut}

    def step(i: int) -> Iterable[int]:
        row = inputs[i]
        if not cut_ops.isdisjoint(row):
            at = start[i]
            row = [s for k, s in enumerate(row) if (s, ports[at + k]) not in cut and (s, ANY_PORT) not in cut]
        return row + [c for c in controls[i] if (c, ANY_PORT) not in cut]

    return step


def _readers(index: GraphIndex) -> Callable[[int], Iterable[int]]:
    readers, waiting = index.consumer_lists, index.waiting_lists
    return lambda i: readers[i] + waiting[i]


def _readers_of(index: GraphIndex, cut: Iterable[tuple[int, int]]) -> list[int]:
    """The ops that read one of the cut tensors."""
    found = []
    for op, port in cut:
        for reader in index.consumer_lists[op]:
            start = index.inputs.start[reader]
            slots = enumerate(index.input_lists[reader])
            if any(s == op and port in (ANY_PORT, index.ports[start + k]) for k, s in slots):
                found.append(reader)
        if port == ANY_PORT:
            found += index.waiting_lists[op]
    return found


def _check_paths(
    index: GraphIndex, inputs: dict[str, tuple[int, int]], outputs: dict[str, int], path: set[int]
) -> None:
    """Every output lies on the path, and every input is read by an op on it."""
    for name, end in outputs.items():
        if end not in path:
            raise _no_path(index, list(inputs), [name])
    for name, tensor in inputs.items():
        if path.isdisjoint(_readers_of(index, [tensor])):
            raise _no_path(index, [name], list(outputs))


def _no_path(index: GraphIndex, inputs: list[str], outputs: list[str]) -> NoPath:
    """The refusal; it looks whether the two ends were only given the wrong way round."""
    sources, ends = " or ".join(map(repr, inputs)), " or ".join(map(repr, outputs))
    behind = _walk([r for n in outputs for r in _readers(index)(index.op(n))], _readers(index))
    swapped = not {index.op(n) for n in inputs}.isdisjoint(behind)
    mend = (
        "they lie the other way round: swap inputs and outputs" if swapped else "choose two ends with tensors between"
    )
    ops = [split_tensor(n)[0] for n in (*inputs, *outputs)]
    return NoPath(f"No path leads from {sources} to {ends}; {mend}.", ops)


def found(index: GraphIndex, text: str) -> list[int]:
    """Ops whose name or type contains the text, whatever its case.

    First those that are called just so, then those of whose own last part the text is a part (or of the type),
    then what lies in scopes of that name; each in graph order.
    """
    low = text.strip().lower()
    ranked: list[list[int]] = [[], [], []]
    for i, name in enumerate(index.names if low else ()):
        own = name.lower()
        if own.endswith(low) and (len(own) == len(low) or own[-len(low) - 1] == "/"):
            ranked[0].append(i)
        elif low in index.types[i].lower() or (low in own and own.rfind(low) + len(low) > own.rfind("/") + 1):
            ranked[1].append(i)
        elif low in own:
            ranked[2].append(i)
    return ranked[0] + ranked[1] + ranked[2]


def mask(selection: Selection | None, index: GraphIndex) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The selection as one bool per op of `index`."""
    out = np.zeros(len(index), dtype=np.bool_)
    if selection is not None:
        out[sorted(selection.ids)] = True
    return out
