"""The ways to say which ops are meant; each gives a Selection. What lies between boundaries is in `between`."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import walks
from tfgraphwidget.graph.edges import CONTROL
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op import Op
from tfgraphwidget.graph.selection import Selection, Walk, pairs
from tfgraphwidget.graph.spoken import written
from tfgraphwidget.graph.tensors import ShapePattern, check_pattern, suits
from tfgraphwidget.graph.variables import handles
from tfgraphwidget.names import did_you_mean, split_tensor

_TRAINABLE = "trainable_variables"


def ops(index: GraphIndex, *names: str) -> Selection:
    """The named ops; the name of a tensor chooses that tensor, as a passthrough where no op makes or reads it."""
    tensors = tuple(dict.fromkeys(n for n in names if n not in index.ids and split_tensor(n)[1] is not None))
    check_ports(index, tensors)
    chosen = Selection.of(index, [index.op(n) for n in names if n not in tensors], _call("ops", names))
    return replace(chosen, tensors=tensors)


def scope(index: GraphIndex, *names: str) -> Selection:
    """All ops inside the name scopes, nested scopes included."""
    held = [index.scopes.ops(index.scopes.scope(name)) for name in names]
    return Selection.of(index, np.concatenate([np.zeros(0, np.int32), *held]), _call("scope", names))


def matching(index: GraphIndex, pattern: str) -> Selection:
    """Ops in whose name the regular expression is found."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise GraphEditError(f"{pattern!r} is no regular expression: {error}; escape it with re.escape.") from error
    found = (i for i, name in enumerate(index.names) if compiled.search(name))
    return Selection.of(index, found, _call("matching", [pattern]))


def of_type(index: GraphIndex, *types: str) -> Selection:
    """Ops of the given types, for example "Conv2D"."""
    kinds, code = index.kinds
    for wanted in types:
        if wanted not in kinds:
            raise UnknownName(
                f"No op here is of type {wanted!r}.{did_you_mean(wanted, kinds)} The types are "
                f"{', '.join(sorted(kinds))[:200]}."
            )
    chosen = np.isin(code, [kinds.index(wanted) for wanted in types])
    return Selection(index, chosen, _call("of_type", types))


def where(index: GraphIndex, holds: Callable[[Op], object]) -> Selection:
    """The ops for which a function of an `Op` says true."""
    found = (i for i in range(len(index)) if holds(Op(index, i)))
    return Selection.of(index, found, f"editor.where({written(holds)})")


def fan_out(index: GraphIndex, at_least: int) -> Selection:
    """Ops whose tensors are read by so many ops or more."""
    edges = index.readers
    owner = np.repeat(np.arange(len(index), dtype=np.int64), np.diff(edges.start))
    data = edges.port != CONTROL
    distinct = np.unique(owner[data] * len(index) + edges.to[data]) // max(len(index), 1)
    count = np.bincount(distinct, minlength=len(index))
    return Selection(index, count >= at_least, _call("fan_out", [at_least]))


def trainable(index: GraphIndex) -> Selection:
    """The handles of the trainable variables: those in the collection of that name, or that say so themselves."""
    listed = {split_tensor(m.name)[0] for m in index.collections.get(_TRAINABLE, ())}
    known = {v.handle for v in index.variable_defs if v.trainable}
    names = listed or known
    found = (i for i in handles(index) if index.names[i] in names)
    return Selection.of(index, found, "editor.trainable()")


def producing(index: GraphIndex, *, dtype: str = "*", shape: ShapePattern = "*") -> Selection:
    """Ops with an output of such a dtype and static shape.

    `dtype` is a name with wildcards: "float*", "*_ref". `shape` is "*" for any, None for an unknown rank, or one entry
    for each dimension: its size, None for an unknown one, "*" for any, ... for any number of them.
    """
    check_pattern(shape)

    def has_one(i: int) -> bool:
        kinds = enumerate(index.dtypes(i))
        return any(fnmatch.fnmatchcase(d, dtype) and suits(index.shape(i, port), shape) for port, d in kinds)

    options = [f"dtype={dtype!r}"] if dtype != "*" else []
    options += [f"shape={_shape_written(shape)}"] if shape != "*" else []
    return Selection.of(index, filter(has_one, range(len(index))), f"editor.producing({', '.join(options)})")


def upstream(
    index: GraphIndex,
    *names: str,
    stop_at: Iterable[str] = (),
    within: Selection | None = None,
    controls: bool = True,
    inclusive: bool = True,
) -> Selection:
    """The given ops and everything they need, along tensors and control inputs.

    A tensor's name stands for the op that makes it. Tensors of `stop_at` are not crossed, nor control inputs
    unless `controls`; what is not in `within` is not reached. Without `inclusive`, the given ops are left out.
    """
    check_ports(index, names)
    how = Walk(tuple(stop_at), within, controls, inclusive)
    seeds = walks.mask_of(index, [index.op(name) for name in names])
    return Selection(index, how.taken(walks.backward, index, seeds), _call("upstream", names, how.written()))


def downstream(
    index: GraphIndex,
    *names: str,
    stop_at: Iterable[str] = (),
    within: Selection | None = None,
    controls: bool = True,
    inclusive: bool = True,
) -> Selection:
    """The given ops and everything that needs them; a tensor's name stands for the ops that read it.

    The options are those of `upstream`.
    """
    check_ports(index, names)
    how = Walk(tuple(stop_at), within, controls, inclusive)
    first = [walks.readers_of(index, [t]) if t[1] >= 0 else [t[0]] for t in pairs(index, names)]
    seeds = walks.mask_of(index, [i for group in first for i in group])
    return Selection(index, how.taken(walks.forward, index, seeds), _call("downstream", names, how.written()))


def enclosed(
    index: GraphIndex, seeds: Iterable[str], by: Iterable[str], *, inclusive: bool = True, controls: bool = False
) -> Selection:
    """All that hangs together with the ops `seeds`, edges taken either way, up to the ops `by`.

    With `inclusive`, the ops of `by` that it comes up to belong to it. `controls` follows control edges too.
    Raises GraphEditError when a seed is one of `by`.
    """
    seeds, by = tuple(seeds), tuple(by)
    first, wall = [index.op(n) for n in seeds], walks.mask_of(index, [index.op(n) for n in by])
    if wall[first].any():
        on_wall = next(n for n, i in zip(seeds, first, strict=True) if wall[i])
        raise GraphEditError(
            f"{on_wall!r} is a seed and a boundary at once; leave it out of one of the two.", [on_wall]
        )
    found = walks.flood(index, first, wall, controls_in=controls, controls_out=controls)
    options = [] if inclusive else ["inclusive=False"]
    options += ["controls=True"] if controls else []
    text = _call("enclosed", [list(seeds), list(by)], options)
    return Selection(index, found if inclusive else found & ~wall, text)


def load(index: GraphIndex, path: str | PathLike[str]) -> Selection:
    """The selection that `Selection.save` wrote; raises UnknownName when an op of it is not in this graph."""
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
        ops, tensors = list(map(str, held["ops"])), tuple(map(str, held["tensors"]))
    except FileNotFoundError:
        raise UnknownName(f"There is no file {str(path)!r}; selection.save({str(path)!r}) would write one.") from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise GraphEditError(f"{str(path)!r} holds no selection ({error}); selection.save(path) writes one.") from error
    gone = [name for name in (*ops, *(split_tensor(t)[0] for t in tensors)) if name not in index.ids]
    if gone:
        raise UnknownName(
            f"The selection in {str(path)!r} has op {gone[0]!r}{f' and {len(gone) - 1} more' if gone[1:] else ''}, "
            f"which this graph has not.{did_you_mean(gone[0], index.names)}"
        )
    found = Selection.of(index, (index.ids[name] for name in ops), _call("load", [str(path)]))
    return replace(found, tensors=tensors)


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


def _call(name: str, arguments: Iterable[object], options: Iterable[str] = ()) -> str:
    """The expression `editor.name(…)`."""
    return f"editor.{name}({', '.join([*map(repr, arguments), *options])})"


def check_ports(index: GraphIndex, names: Iterable[str]) -> None:
    """Raise UnknownName when the name of a tensor asks for an output that its op has not."""
    for name in names:
        op, port = (name, None) if name in index.ids else split_tensor(name)
        count = len(index.dtypes(index.op(op)))
        # Of an op that TensorFlow does not know, nobody can say what it has not.
        if port is not None and port >= count and index.typing.definition(index.types[index.op(op)]) is not None:
            has = f"has {count} output{'s' * (count > 1)}" if count else "has no output"
            raise UnknownName(f"There is no tensor {name!r}: op {op!r} {has}; an op is named without ':'.", [op])


def _shape_written(pattern: ShapePattern) -> str:
    if pattern is None or isinstance(pattern, str):
        return repr(pattern)
    return f"[{', '.join('...' if entry is ... else repr(entry) for entry in pattern)}]"
