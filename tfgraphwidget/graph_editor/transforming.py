"""The state of one call of a Transformer, which its handlers get as `info`, and its result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from tfgraphwidget.graph import GraphIndex, Member
from tfgraphwidget.graph_editor.lists import as_tensor, check_type
from tfgraphwidget.graph_editor.placeholders import make_placeholder_from_tensor, placeholder_name
from tfgraphwidget.graph_editor.subgraph import SubGraphView
from tfgraphwidget.graph_editor.trees import transform_tree
from tfgraphwidget.graph_editor.util import ControlOutputs
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import takes_reference
from tfgraphwidget.tf_types import Graph, Operation, Tensor, Variable


class TensorMap(MutableMapping[Any, Any]):
    """A dict whose keys are tensors, compared by identity: a FuncGraph's tensors refuse to be
    hashed.
    """

    def __init__(self, pairs: Iterable[tuple[object, object]] = ()) -> None:
        self._items = {id(t): (t, value) for t, value in pairs}

    def __getitem__(self, t: Tensor) -> Any:
        return self._items[id(t)][1]

    def __setitem__(self, t: Tensor, value: object) -> None:
        self._items[id(t)] = (t, value)

    def __delitem__(self, t: Tensor) -> None:
        del self._items[id(t)]

    def __iter__(self) -> Iterator[Any]:
        return (t for t, _ in self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, t: object) -> bool:
        return id(t) in self._items

    def pair(self, ts: Iterable[Tensor], values: Iterable[object]) -> None:
        """Set each of the tensors to its value, in order.

        Args:
            ts: The tensors.
            values: The values, in the order of the tensors.
        """
        self._items.update((id(t), (t, value)) for t, value in zip(ts, values, strict=True))


@dataclass(frozen=True)
class CopySettings:
    """The settings of a transformation by another function of this package.

    `instead` are tensors that the copies read in place of others, from inside the view too. With
    `exact` copies take their new names as they are. `already` are ops that the destination has, and
    under which names. `index` is the source graph's, if it has been read.
    """

    instead: TensorMap = field(default_factory=TensorMap)
    exact: bool = False
    already: Mapping[str, str] = field(default_factory=dict)
    index: GraphIndex | None = None


class Transforming:
    """One transformation under way; the `info` that every handler gets. Names with a `_` at the end
    are of the result.

    `sgv` is the view that is transformed, `ops` its ops, `sgv_inputs_set` its inputs; `graph` and
    `scope` are where it comes from, `graph_` and `scope_` where it goes; scopes end in "/".
    `transformed_ops` and `transformed_ts` say what has become of each op and tensor so far,
    `inputs` what the copies read in place of each tensor from outside, `settings` what was settled
    before. `copier` copies ops; `variables` are pairs of a variable and its copy. `collections` are
    those of `graph`. `control_outputs` is for handlers that want it.
    """

    def __init__(
        self,
        transformer: Any,
        settings: CopySettings,
        sgv: SubGraphView,
        dst_graph: Graph,
        dst_scope: str,
        src_scope: str,
    ) -> None:
        self.transformer, self.settings = transformer, settings
        self.sgv = sgv
        self.sgv_inputs_set = TensorMap((t, t) for t in sgv.inputs)
        self.ops = frozenset(sgv.ops)
        self.graph, self.scope = cast("Graph", sgv.graph), src_scope  # the view is not empty
        self.control_outputs = ControlOutputs(self.graph)
        self.graph_, self.scope_ = dst_graph, dst_scope
        self.transformed_ops: dict[Operation, Operation] = {}
        self.transformed_ts = TensorMap()
        self.inputs = TensorMap()
        self.dropped: dict[str, None] = {}
        self.side_effects: list[str] = []
        self.collections = {
            key: self.graph.get_collection(key) for key in self.graph.get_all_collection_keys()
        }
        self.variables: list[tuple[Variable, Variable]] = []
        self.tmp_cyclic_ts: list[tuple[Tensor, Tensor, Operation]] = []
        self.copier: Any = None
        self._placeholders = TensorMap()

    @property
    def same_graph(self) -> bool:
        """Whether the copies go where the originals are."""
        return self.graph is self.graph_

    def new_name(self, name: str) -> str:
        """The name in the destination scope; not made unique yet.

        Raises:
            ValueError: `name` does not lie in the source scope.
        """
        if not name.startswith(self.scope):
            raise ValueError(
                f"{name} does not belong to source scope: {self.scope}; give a src_scope around "
                "all that is transformed, or none."
            )
        return self.scope_ + name[len(self.scope) :]

    def get_unique(self, name: str) -> str:
        """The name made unique in the destination graph, which is reserved by this."""
        unique: str = self.graph_.unique_name(name)
        return unique

    def name_of(self, original: str) -> str:
        """The name of the copy of an op of that name, from now on reserved in the destination
        graph.

        Args:
            original: The name of the original.
        """
        name = self.new_name(original)
        return name if self.settings.exact else self.get_unique(name)

    def new_key(self, key: str) -> str:
        """The name of a collection of one's own in the destination; one outside the source scope
        keeps its whole name.

        (The original then failed.)

        Args:
            key: The key of a collection of the source graph.
        """
        return self.scope_ + key.removeprefix(self.scope)

    def needs_reference(self, op: Operation, t: Tensor) -> bool:
        """Whether an op can read only a variable itself in the place of `t`, as those that assign
        do.
        """
        return any(read is t and takes_reference(op, k) for k, read in enumerate(op.inputs))

    def placeholder(self, t: Tensor) -> Tensor:
        """The placeholder in the destination graph that represents `t`: one, however often it is
        asked for.

        (The original made one each time. So that the names that follow are the original's, each
        time takes a name.)
        """
        if t in self._placeholders:
            self.get_unique(placeholder_name(t, scope=self.scope_))
            copy: Tensor = self._placeholders[t]
            return copy
        with self.graph_.as_default(), tf.control_dependencies(None):
            placeholder = self._placeholders[t] = make_placeholder_from_tensor(t, scope=self.scope_)
        return placeholder

    def keys_of(self, elem: Any) -> list[str]:
        """The collections of the source graph that an op, a tensor or a variable is in.

        Args:
            elem: An op, a tensor or a variable.
        """
        if elem.name not in self._collection_members:
            # Most are in none, and telling what they are takes longer.
            return []
        member = Member.of(elem)
        return self._keys.get(member, []) if member else []

    @cached_property
    def _collection_members(self) -> frozenset[str]:
        return frozenset(member.name for member in self._keys)

    @cached_property
    def ops_in_collections(self) -> frozenset[str]:
        """The names of the ops that are in a collection, or have a tensor in one."""
        return frozenset(split_tensor(name)[0] for name in self._collection_members)

    @cached_property
    def _keys(self) -> Mapping[Member, list[str]]:
        keys: defaultdict[Member, list[str]] = defaultdict(list)
        for key, entries in self.collections.items():
            for member in dict.fromkeys(map(Member.of, entries)):
                if member is not None:
                    keys[member].append(key)
        return dict(keys)


class TransformerInfo:
    """The result of a transformation: which op or tensor was copied to which.

    `inputs` maps each tensor from outside that the copies needed to what they read in its place;
    `dropped` has a sentence for each thing that could not come along into another graph;
    `side_effects` names the originals that do something beside computing tensors (assign, write,
    draw random numbers), which their copies do too.
    """

    def __init__(self, info: Transforming) -> None:
        self._graph, self._scope = info.graph, info.scope
        self._graph_, self._scope_ = info.graph_, info.scope_
        self._transformed_ops = info.transformed_ops
        self._transformed_ts = info.transformed_ts
        self._variables = info.variables
        self.inputs: TensorMap = info.inputs
        self.dropped, self.side_effects = tuple(info.dropped), tuple(info.side_effects)

    def transformed(
        self, original: object, missing_fn: Callable[[object], object] | None = None
    ) -> Any:
        """The copy of an op, a tensor or a variable, or of each in a tree of them; a name stands
        for an op or a tensor.

        Args:
            original: Ops, tensors, variables or names of the source graph, in any nesting; the
                result has the same.
            missing_fn: Gives what to put in the place of one that has no copy; None puts None.

        Raises:
            TypeError: Something in it is neither op, tensor nor name.
        """
        return transform_tree(original, lambda top: self._find(top, self._copies, missing_fn))

    def original(
        self, transformed: object, missing_fn: Callable[[object], object] | None = None
    ) -> Any:
        """The original of an op or tensor, or of each in a tree; the inverse of `transformed`.

        Args:
            transformed: A copy, or a tree of copies.
            missing_fn: Called for what has no counterpart; None gives None.

        Raises:
            TypeError: Something in it is neither op, tensor nor name.
        """
        return transform_tree(transformed, lambda top: self._find(top, self._originals, missing_fn))

    @cached_property
    def _copies(self) -> tuple[TensorMap, dict[str, object]]:
        pairs = [*self._transformed_ops.items(), *self._transformed_ts.items()]
        return _both_ways(pairs, self._variables)

    @cached_property
    def _originals(self) -> tuple[TensorMap, dict[str, object]]:
        pairs = [*self._transformed_ops.items(), *self._transformed_ts.items()]
        # The first of several with one copy comes last, so that it is found.
        back = [(copy, original) for original, copy in reversed(pairs)]
        return _both_ways(back, [(copy, original) for original, copy in self._variables])

    @staticmethod
    def _find(
        top: Any,
        tables: tuple[TensorMap, dict[str, object]],
        missing_fn: Callable[[object], object] | None,
    ) -> Any:
        by_object, by_name = tables
        if isinstance(top, tf.Variable) and top not in by_object:
            top = as_tensor(top)
        check_type(top, (tf.Operation, tf.Tensor, tf.Variable, str))
        if isinstance(top, str) and top in by_name:
            return by_name[top]
        if top in by_object:
            return by_object[top]
        return None if missing_fn is None else missing_fn(top)

    def __str__(self) -> str:
        lines = ["Transform result info:"]
        if self._graph is self._graph_:
            lines.append(f"  Within graph[{id(self._graph)}]{'' if self._scope_ else ' IN-PLACE'}")
        else:
            lines.append(f"  graph[{id(self._graph)}] => graph[{id(self._graph_)}]")
        if self._scope:
            lines.append(f"  Relative to source scope: {self._scope}")
        if self._scope_:
            lines.append(f"  Scope destination: {self._scope_}")
        lines.append("Operations mapping:")
        lines += [f"  {op.name} => {op_.name}" for op, op_ in self._transformed_ops.items()]
        return "\n".join(lines) + "\n"


def _both_ways(
    pairs: Iterable[tuple[Operation | Tensor, Operation | Tensor]],
    variables: Iterable[tuple[Variable, Variable]],
) -> tuple[TensorMap, dict[str, object]]:
    """Pairs of ops and tensors, found by the first or its name; variables by themselves."""
    pairs = list(pairs)
    return TensorMap((*pairs, *variables)), {first.name: second for first, second in pairs}
