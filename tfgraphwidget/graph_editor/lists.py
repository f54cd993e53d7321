"""Arguments for "ops" or "tensors" as lists, and lists without repetition.

A `tf.Variable` represents its op where ops are asked for. Where tensors are asked for it represents
the tensor of its name: the handle of a resource variable, the reference of an old one, which all
that reads or changes it takes. (The original took no variables.) A variable in parts represents its
parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.sources import variable_definition
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import PartitionedVariable
from tfgraphwidget.tf_types import Graph, Operation, Tensor, Variable

T = TypeVar("T")
_SHOWN = 8  # tensors of a view that a sentence names


class ListView:
    """A list that cannot be written to; adding to it gives a new list."""

    def __init__(self, list_: list[Any]) -> None:
        if not isinstance(list_, list):
            raise TypeError(
                f"A ListView shows a list, not {_description(list_)}; give list(...) of it."
            )
        self._list = list_

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __bool__(self) -> bool:
        return bool(self._list)

    def __getitem__(self, i: Any) -> Any:
        return self._list[i]

    def __contains__(self, item: object) -> bool:
        # `==` on two tensors of a FuncGraph would add an op to it.
        if any(item is element for element in self._list):
            return True
        return not isinstance(item, tf.Tensor) and item in self._list

    def __add__(self, other: Iterable[object]) -> list[object]:
        return [*self._list, *other]

    def __radd__(self, other: Iterable[object]) -> list[object]:
        return [*other, *self._list]

    def __repr__(self) -> str:
        return repr(self._list)


def unique(items: Iterable[T]) -> list[T]:
    """Ops or tensors in order, each once; compared by identity, since a FuncGraph's tensors refuse
    to be hashed.

    Args:
        items: The items.
    """
    return list({id(item): item for item in items}.values())


def concatenate_unique(la: list[T], lb: Iterable[T]) -> list[T]:
    """Append to `la`, in order, what of `lb` it does not hold yet; returns `la`."""
    keys = {_key(item) for item in la}
    for item in lb:
        if _key(item) not in keys:
            keys.add(_key(item))
            la.append(item)
    return la


def positions(ats: Iterable[object], tensors: list[Tensor], kind: str) -> list[int]:
    """The position of each; see `position`.

    Args:
        ats: Numbers or tensors.
        tensors: The tensors to find them in.
        kind: What they are ("input"), for errors.
    """
    first = {id(t): i for i, t in reversed(list(enumerate(tensors)))}
    return [first[id(at)] if id(at) in first else position(at, tensors, kind) for at in ats]


def position(at: Any, tensors: list[Tensor], kind: str) -> int:
    """The position in `tensors` of a number or a tensor; the first if it is there more than
    once.

    Args:
        at: A number or a tensor.
        tensors: The tensors to find it in.
        kind: What they are ("input"), for errors.

    Raises:
        ValueError: The number is out of range, or the tensor is not there; `kind` ("input") is for
            the sentence.
    """
    at = as_tensor(at)
    if isinstance(at, tf.Tensor):
        for i, t in enumerate(tensors):
            if t is at:
                return i
        names = [repr(t.name) for t in tensors[:_SHOWN]]
        if len(tensors) > _SHOWN:
            names.append("...")
        raise ValueError(
            f"{at.name!r} is not an {kind} of this view; its {kind}s are "
            f"{', '.join(names) or 'none'}."
        )
    try:
        i = operator.index(at)
    except TypeError:
        raise ValueError(
            f"{at!r} is not an {kind} of this view; give a position or a tensor."
        ) from None
    if not 0 <= i < len(tensors):
        raise ValueError(
            f"Out of the range of the {kind}s: {i}; this view has {len(tensors)}, counted from 0."
        )
    return i


def parts_of(obj: Any) -> list[object]:
    """The parts of a variable that is in parts; of anything else itself.

    Args:
        obj: A variable, or any other object.
    """
    return list(obj) if isinstance(obj, PartitionedVariable) else [obj]


def as_op(obj: Any) -> Operation:
    """The op of a variable; anything else as it is.

    Args:
        obj: A variable, or an op.

    Raises:
        TypeError: The variable is of no graph.
    """
    op: Operation = _check_variable(obj).op if isinstance(obj, tf.Variable) else obj
    return op


def as_tensor(obj: Any) -> Tensor:
    """The tensor that a variable represents, its handle or its reference; anything else as it is.

    Args:
        obj: A variable, or a tensor.

    Raises:
        TypeError: The variable is of no graph.
    """
    tensor: Tensor = as_op(obj).outputs[0] if isinstance(obj, tf.Variable) else obj
    return tensor


def value_of(obj: Any) -> Tensor:
    """The tensor of a variable's value; anything else as it is.

    It is the one that a session fetches for the variable; no op is added, as TensorFlow's own
    conversion does.

    Args:
        obj: A variable, or a tensor.

    Raises:
        TypeError: The variable is of no graph.
    """
    tensor: Tensor = obj
    if isinstance(obj, tf.Variable):
        snapshot = variable_definition(_check_variable(obj)).snapshot
        tensor = obj.value() if snapshot is None else obj.graph.get_tensor_by_name(snapshot)
    return tensor


def reads_of(variable: Variable) -> list[Tensor]:
    """The tensors that are read from a variable, each its whole value."""
    kind = "ReadVariableOp" if as_tensor(variable).dtype == tf.resource else "Identity"
    return [op.outputs[0] for op in as_tensor(variable).consumers() if op.type == kind]


def check_reads(variables: Iterable[Variable], ops: Collection[Operation]) -> None:
    """Raise ValueError when one of the ops takes one of the variables itself, for which no tensor
    can stand.
    """
    for variable in variables:
        for op in as_tensor(variable).consumers():
            if op in ops and op.type != "ReadVariableOp":
                raise ValueError(
                    f"{op.name!r}, a {op.type}, takes the variable {variable.name!r} itself, and "
                    "no tensor can replace it there; give another variable, or replace what the "
                    "op gives."
                )


def check_alike(variable: Variable, other: Variable | Tensor) -> None:
    """Raise unless a variable can replace another.

    Args:
        variable: The variable.
        other: The variable or tensor that it represents.

    Raises:
        TypeError: They have different dtypes.
        ValueError: They have shapes that do not fit.
    """
    if variable.dtype.base_dtype != other.dtype.base_dtype:
        raise TypeError(
            f"{other.name!r} is {other.dtype.base_dtype.name}, but represents {variable.name!r}, "
            f"which is {variable.dtype.base_dtype.name}; cast it first."
        )
    if not variable.shape.is_compatible_with(other.shape):
        raise ValueError(
            f"{other.name!r} has shape {other.shape}, but represents {variable.name!r}, which has "
            f"{variable.shape}; give a variable of that shape."
        )


def _check_variable(variable: Variable) -> Variable:
    if not isinstance(getattr(variable, "graph", None), tf.Graph):
        raise TypeError(
            "An eager variable is of no graph; make it under `with graph.as_default():`."
        )
    return variable


def is_iterable(obj: Any) -> bool:
    """Whether `obj` can be looped over; a tensor cannot, whatever its shape."""
    if isinstance(obj, tf.Tensor):
        return False
    try:
        iter(obj)
    except Exception:  # whatever an object's __iter__ raises, it is nothing to loop over
        return False
    return True


def as_list(items: Any) -> list[Any]:
    """A new list of what can be looped over; of anything else one of it alone.

    Args:
        items: What can be looped over, or one item.

    Raises:
        TypeError: It can be looped over, and fails on the way.
    """
    if not is_iterable(items):
        return [items]
    try:
        return list(items)
    except Exception as error:
        raise TypeError(
            f"Expected ops or tensors, got {_description(items)}, which gives none: {error}."
        ) from error


def check_graphs(*args: Any) -> None:
    """Check that all arguments are of one graph; those whose `.graph` is None are of any.

    Args:
        *args: Views, ops or tensors.

    Raises:
        ValueError: An argument is of another graph than those before it.
    """
    graph = None
    for i, arg in enumerate(args):
        graph = graph or arg.graph
        if arg.graph is not None and arg.graph is not graph:
            raise ValueError(
                f"Argument {i} is of another graph than those before it; give parts of one graph."
            )


def get_unique_graph(tops: Any, check_types: Any = None, none_if_empty: bool = False) -> Any:
    """The one graph that all of `tops` are of.

    Args:
        tops: Ops and tensors, or a graph.
        check_types: What each may be; ops and tensors unless given.
        none_if_empty: Return None for an empty list.

    Raises:
        TypeError: `tops` cannot be looped over, or one of them is of no type of `check_types`.
        ValueError: They are of several graphs, or there are none.
    """
    if isinstance(tops, tf.Graph):
        return tops
    if not is_iterable(tops):
        raise TypeError(
            f"Expected a list of ops or tensors, got {_description(tops)}; put it into a list."
        )
    types = check_types or (tf.Operation, tf.Tensor)
    types = tuple(types) if is_iterable(types) else (types,)
    convert: Callable[[Any], Any] | None = None  # gives what a variable represents
    if tf.Operation in types:
        convert = as_op
    elif tf.Tensor in types:
        convert = as_tensor
    first = graph = None
    right: set[type] = set()
    for element in tops:
        top = element if convert is None else convert(element)
        if type(top) not in right:
            check_type(top, types)
            right.add(type(top))
        if first is None:
            first, graph = top, top.graph
        elif top.graph is not graph:
            raise ValueError(
                f"{top.name!r} is of another graph than {first.name!r}; give ops and tensors of "
                "one graph."
            )
    if first is None and not none_if_empty:
        raise ValueError("An empty list belongs to no graph; give at least one op or tensor.")
    return graph


def make_list_of_op(
    ops: object, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """A new list of ops.

    Args:
        ops: Ops, one op, or a graph, which represents all its ops; a variable represents its op.
        check_graph: Check types, and that all are of one graph; else what is not an op is left out.
        allow_graph: Take a graph.
        ignore_ts: Leave tensors out without complaint.

    Raises:
        TypeError: `ops` is or holds something else.
        ValueError: The ops are of several graphs.
    """
    if isinstance(ops, tf.Graph):
        _allow(allow_graph, "ops")
        return list(ops.get_operations())
    return _list_items(ops, tf.Operation, check_graph, None if ignore_ts else tf.Operation)


def make_list_of_t(
    ts: object, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Tensor]:
    """A new list of tensors.

    Args:
        ts: Tensors, one tensor, or a graph, which represents all its tensors; a variable represents
            its own.
        check_graph: Check types, and that all are of one graph; else what is not a tensor is left
            out.
        allow_graph: Take a graph.
        ignore_ops: Leave ops out without complaint.

    Raises:
        TypeError: `ts` is or holds something else.
        ValueError: The tensors are of several graphs.
    """
    if isinstance(ts, tf.Graph):
        _allow(allow_graph, "tensors")
        return get_tensors(ts)
    return _list_items(ts, tf.Tensor, check_graph, None if ignore_ops else tf.Tensor)


def get_tensors(graph: Graph) -> list[Tensor]:
    """All tensors of a graph: the outputs of its ops, in graph order.

    Raises:
        TypeError: `graph` is not a tf.Graph.
    """
    check_type(graph, (tf.Graph,))
    return [t for op in graph.get_operations() for t in op.outputs]


def get_generating_ops(ts: object) -> list[Operation]:
    """The op of each tensor; an op comes as often as its tensors.

    Raises:
        TypeError: `ts` is or holds something else than tensors, or is a graph.
        ValueError: The tensors are of several graphs.
    """
    return [t.op for t in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: object) -> list[Operation]:
    """The ops that read one of the tensors, each once.

    Raises:
        TypeError: `ts` is or holds something else than tensors, or is a graph.
        ValueError: The tensors are of several graphs.
    """
    return unique(op for t in make_list_of_t(ts, allow_graph=False) for op in t.consumers())


def check_type(obj: object, types: tuple[type, ...]) -> None:
    """Check that `obj` is of one of the types and, if it is a tensor, of a graph.

    Raises:
        TypeError: It is not; the sentence says what to give instead.
    """
    if isinstance(obj, tf.Tensor) and not hasattr(obj, "graph"):
        raise TypeError("An eager tensor is of no graph; make it under `with graph.as_default():`.")
    if not isinstance(obj, types):
        type_names = " or ".join(f"tf.{t.__name__}" if t in _OURS else t.__name__ for t in types)
        raise TypeError(f"Expected a {type_names}, got {_description(obj)}{_way_out(obj)}.")


_OURS = (tf.Operation, tf.Tensor, tf.Graph)


def _way_out(obj: object) -> str:
    if isinstance(obj, tf.Tensor):
        return "; give its .op"
    if isinstance(obj, tf.Operation):
        return "; give one of its .outputs"
    if isinstance(obj, str):
        return "; select_ops and select_ts find by name"
    return "; lists of lists are not taken apart" if isinstance(obj, list | tuple) else ""


def _description(obj: object) -> str:
    kind = next((f"tf.{t.__name__}" for t in _OURS if isinstance(obj, t)), type(obj).__name__)
    named = obj.name if isinstance(obj, tf.Operation | tf.Tensor | tf.Variable) else obj
    return f"the {kind} {value_text(named)}"


def _allow(allowed: bool, what: str) -> None:
    if not allowed:
        raise TypeError(
            f"A whole tf.Graph is not taken here; name the {what}, or give graph.get_operations()."
        )


def _list_items(items: object, element_type: Any, check_graph: bool, types: Any) -> list[Any]:
    # A list first: the original let a generator run out in the check, and found nothing in it
    # after.
    parts = [one for item in as_list(items) for one in parts_of(item)]
    convert = as_op if element_type is tf.Operation else as_tensor
    elements = list(map(convert, parts))
    if check_graph:
        get_unique_graph(elements, check_types=types, none_if_empty=True)
        if types is element_type:
            return elements
    return [item for item in elements if isinstance(item, element_type)]


def _key(item: object) -> Hashable:
    key: Hashable = item.ref() if isinstance(item, tf.Tensor) else item
    return key
