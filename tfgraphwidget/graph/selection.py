"""A selection of ops of one graph, as a value; it prints as the expression that made it.

A selection also keeps how it was made, as `again`: on a later state of the graph the same ops may
be another expression's (a scope is gone, `~` would hold more). Then it prints as the list of its
ops, which is always true.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from tfgraphwidget.argument_checks import ArgumentChecks, check, value_text
from tfgraphwidget.errors import GraphEditError, UnknownName, WrongType
from tfgraphwidget.graph import control_flow, traversal
from tfgraphwidget.graph.edges import Ids, Mask, make_read_only
from tfgraphwidget.graph.endpoints import check_ports, consumers_of, pairs
from tfgraphwidget.graph.expressions import call, literal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.loop_closure import enclosing_ops
from tfgraphwidget.graph.subgraph import Part
from tfgraphwidget.naming import free_name, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.writable import unwritable, write_file

_DEEPEST = 50  # parentheses inside each other in an expression
_Maker = TypeVar("_Maker", bound="Callable[..., Selection]")


def with_recipe(make: _Maker) -> _Maker:
    """A function of an index, or of a selection, whose results know how they were made.

    Args:
        make: Makes the selection again on another graph.
    """

    @wraps(make)
    def build_selection(first: object, *arguments: object, **options: object) -> Selection:
        def again(index: GraphIndex) -> Selection:
            return make(_on(first, index), *(_on(a, index) for a in arguments), **options)

        return replace(make(first, *arguments, **options), again=again)

    return cast("_Maker", build_selection)


def _on(thing: object, index: GraphIndex) -> object:
    """An argument of a maker, for another state of the graph: the index, or a selection."""
    if isinstance(thing, GraphIndex):
        return index
    if isinstance(thing, Selection):
        return thing.on(index) if thing.again is None else thing.again(index)
    return thing


@dataclass(frozen=True, eq=False)
class Selection(Part, ArgumentChecks):
    """Ops of one index: `mask` has one bool per op; `expression` is the Python that gives it.

    `tensors` are names of tensors that were chosen beside the ops; see `passthroughs`. `| & -` join
    them too, `~` is of ops only. `again` makes the selection again on another state of the graph;
    None when it was not made in Python.

    >>> import tfgraphwidget as tgw
    >>> editor = tgw.example()
    >>> part = editor.between("x:0", "net/logits:0") - editor.ops(scope="net/hidden")
    >>> part.ops, part.inputs, "net/w" in part, len(part)
    (('net/w', 'net/logits/ReadVariableOp', 'net/logits'), ('net/hidden/Relu:0',), True, 3)
    """

    index: GraphIndex
    mask: Mask
    expression: str
    tensors: tuple[str, ...] = ()
    again: Callable[[GraphIndex], Selection] | None = None

    def __post_init__(self) -> None:
        make_read_only(self.mask)

    @classmethod
    def of(cls, index: GraphIndex, ops: Iterable[int] | Ids, expression: str) -> Selection:
        """Make the selection of some op numbers.

        Args:
            index: The graph.
            ops: The numbers.
            expression: The Python expression of the selection.

        Returns:
            The selection.
        """
        return cls(index, traversal.mask_of(index, ops), expression)

    def upstream(self, /, **how: Any) -> Selection:
        """These ops and everything they need.

        Args:
            **how: `stop_at` (names of tensors that are not crossed), `within` (a Selection: only
                its ops are reached), `controls` (False: control inputs are not followed) and
                `inclusive` (False: without these ops), as in `GraphEditor.upstream`.

        Returns:
            The Selection.

        >>> import tfgraphwidget as tgw
        >>> tgw.example().ops("net/hidden/Relu").upstream(stop_at="net/hidden/MatMul:0").ops
        ('net/hidden/b', 'net/hidden/Add/ReadVariableOp', 'net/hidden/Add', 'net/hidden/Relu')
        """
        return self.walk_with("upstream", Walk.of(self.index, **how))

    def downstream(self, /, **how: Any) -> Selection:
        """These ops and everything that needs them.

        Args:
            **how: `stop_at` (names of tensors that are not crossed), `within` (a Selection: only
                its ops are reached), `controls` (False: control inputs are not followed) and
                `inclusive` (False: without these ops), as in `GraphEditor.upstream`.

        Returns:
            The Selection.

        >>> import tfgraphwidget as tgw
        >>> len(tgw.example().ops("net/hidden/Relu").downstream())
        34
        """
        return self.walk_with("downstream", Walk.of(self.index, **how))

    @with_recipe
    def walk_with(self, way: str, how: Walk) -> Selection:
        """`upstream` or `downstream`, with options that were checked.

        Args:
            way: The name of the method.
            how: Where the walk stops.
        """
        first = pairs(self.index, self.tensors)
        up = way == "upstream"
        beside = traversal.mask_of(
            self.index, [op for op, _ in first] if up else consumers_of(self.index, first)
        )
        walk = traversal.backward if up else traversal.forward
        mask = how.apply(walk, self.index, self.mask | beside)
        return Selection(self.index, mask, f"{self._term}.{way}({', '.join(how.arguments())})")

    @with_recipe
    def grow(self, *, controls: bool = False) -> Selection:
        """With the ops one edge away, up and down.

        Args:
            controls: Whether control edges are followed too.

        Returns:
            The Selection.

        >>> import tfgraphwidget as tgw
        >>> tgw.example().ops("net/hidden/Relu").grow().ops[:3]
        ('net/hidden/Add', 'net/hidden/Relu', 'net/logits')
        """
        near = traversal.neighbors(
            self.index, self.mask, controls_in=controls, controls_out=controls
        )
        return self._with(
            self.mask | near, f"{self._term}.grow({'controls=True' if controls else ''})"
        )

    @with_recipe
    def shrink(self, *, controls: bool = False) -> Selection:
        """Without the ops that are one edge away from an op outside; the opposite of `grow`.

        Args:
            controls: Whether control edges count.

        >>> import tfgraphwidget as tgw
        >>> "net/hidden/Relu" in tgw.example().ops(scope="net/hidden").shrink()
        False
        """
        near = traversal.neighbors(
            self.index, ~self.mask, controls_in=controls, controls_out=controls
        )
        return self._with(
            self.mask & ~near, f"{self._term}.shrink({'controls=True' if controls else ''})"
        )

    @with_recipe
    def around(self) -> Selection:
        """With all ops in the name scopes that these ops lie in, nested scopes included; the graph
        itself is none.

        >>> import tfgraphwidget as tgw
        >>> len(tgw.example().ops("net/hidden/Relu").around())
        15
        """
        tree = self.index.scopes
        mask = self.mask.copy()
        for scope in set(tree.scope_of[self.mask].tolist()) - {0}:
            mask[tree.order[tree.start[scope] : tree.stop[scope]]] = True
        return self._with(mask, f"{self._term}.around()")

    @with_recipe
    def whole(self) -> Selection:
        """With all of each v1 while loop and conditional that these ops take a part of, those
        around them too.

        What the loops keep for one step is copied too: a gradient loop brings its forward loop.
        """
        mask = traversal.mask_of(self.index, enclosing_ops(self.index, self.ids))
        return self._with(mask, f"{self._term}.whole()")

    @with_recipe
    def connected(
        self, *, until: Any = None, inclusive: bool = True, controls: bool = False
    ) -> Selection:
        """With all ops that are connected with these, in either direction of the edges, up to the
        ops `until`.

        Args:
            until: Ops that are not crossed: names, or a Selection; None for none.
            inclusive: Include the ops `until` that were reached.
            controls: Follow control edges too.

        Returns:
            The Selection.

        Raises:
            UnknownName: `until` names what is not an op.
            GraphEditError: One of these ops is one of `until`.

        >>> import tfgraphwidget as tgw
        >>> tgw.example().ops("labels").connected(until="cross_entropy/cross_entropy").ops
        ('labels', 'cross_entropy/Shape', 'cross_entropy/cross_entropy')
        """
        check("connected", "inclusive", inclusive, bool)
        check("connected", "controls", controls, bool)
        wall = self._wall(until)
        # A tensor represents the op that computes it.
        starts = self.mask | traversal.mask_of(
            self.index, (op for op, _ in pairs(self.index, self.tensors))
        )
        on_wall = [self.index.names[op] for op in np.flatnonzero(starts & wall.mask).tolist()]
        if on_wall:
            raise GraphEditError(
                f"connected: {on_wall[0]!r} is where it starts and where it ends; leave it out of "
                "one.",
                on_wall,
            )
        mask = traversal.flood(
            self.index,
            np.flatnonzero(starts),
            wall.mask,
            controls_in=controls,
            controls_out=controls,
        )
        written = str(until) if isinstance(until, Selection) else literal(list(wall.ops))
        options = [f"until={written}"] if len(wall) else []
        options += [] if inclusive else ["inclusive=False"]
        options += ["controls=True"] if controls else []
        expression = f"{self._term}.connected({', '.join(options)})"
        return Selection(self.index, mask if inclusive else mask & ~wall.mask, expression)

    def _wall(self, until: Any) -> Selection:
        """The ops that `connected` does not cross."""
        if isinstance(until, Selection):
            return until.on(self.index)
        is_one = isinstance(until, str) or hasattr(until, "name") or not isinstance(until, Iterable)
        wall: list[Any] = []
        if until is not None:
            wall = [until] if is_one else list(until)
        names = [getattr(each, "name", each) for each in wall]
        for name in names:
            if not isinstance(name, str):
                raise UnknownName(
                    f"until names {value_text(name)}, which is not an op; write 'scope/op'."
                )
        return Selection.of(self.index, [self.index.op(name) for name in names], call("ops", names))

    def loops(self) -> dict[str, Selection]:
        """The TF 1 while loops of which these are ops, each as a selection of all its ops.

        Returns:
            The loops by name, outermost first.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> tf.compat.v1.disable_control_flow_v2()
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.while_loop(
        ...         lambda x: x < 9.0, lambda x: [x * 2.0], [tf.constant(1.0)], name="loop"
        ...     )
        >>> tf.compat.v1.enable_control_flow_v2()
        >>> list(tgw.edit(graph).find("is:loop").loops())
        ['loop/while_context']
        """
        return self._by_name("loops", control_flow.loops(self.index))

    def conditionals(self) -> dict[str, Selection]:
        """The TF 1 conditionals of which these are ops, each as a selection of its Switches,
        branches and Merges.

        Returns:
            The conditionals by name, outermost first.

        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> tf.compat.v1.disable_control_flow_v2()
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.cond(
        ...         tf.constant(True),
        ...         lambda: tf.constant(1.0),
        ...         lambda: tf.constant(2.0),
        ...         name="cond",
        ...     )
        >>> tf.compat.v1.enable_control_flow_v2()
        >>> list(tgw.edit(graph).ops(type="Merge").conditionals())
        ['cond']
        """
        # The gradient of a branch that was not taken leaves a Switch alone, which users do not call
        # a conditional.
        blocks = (block for block in control_flow.conditionals(self.index) if block.merges)
        return self._by_name("conditionals", blocks)

    def _by_name(
        self, method: str, blocks: Iterable[control_flow.Loop | control_flow.Conditional]
    ) -> dict[str, Selection]:
        """The blocks that have ops of this selection, by their names."""
        selections: dict[str, Selection] = {}
        for block in blocks:
            if self.mask[list(block.ops)].any():
                # After two imports, two blocks have one name.
                name = free_name(block.name, {existing.lower() for existing in selections})
                expression = f"{self._term}.{method}()[{name!r}]"
                selections[name] = Selection.of(self.index, sorted(block.ops), expression)
        return selections

    def save(self, path: str | PathLike[str]) -> None:
        """Write the names to a JSON file, which `editor.ops(file=path)` reads: on this graph or
        another with these ops.

        Args:
            path: The file to write, as a string or a `pathlib.Path`.

        Raises:
            GraphEditError: The file cannot be written; an old file is unchanged.

        >>> import tempfile, tfgraphwidget as tgw
        >>> path = tempfile.mkdtemp() + "/part.json"
        >>> tgw.example().ops(scope="net/hidden").save(path)
        >>> len(tgw.example().ops(file=path))
        15
        """
        document = {"ops": self.ops, "tensors": self.tensors, "expression": self.expression}
        try:
            text = json.dumps(document, indent=1) + "\n"
            write_file(Path(path), lambda new: new.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise unwritable(Path(path), error) from error

    def on(self, index: GraphIndex) -> Selection:
        """The same ops by name on another state of the same graph, less those that are gone.

        Args:
            index: The graph.
        """
        if index is self.index:
            return self
        if index.origin is not self.index.origin:
            raise GraphEditError(
                f"{self} is a selection on another graph than this one; make it again on this one."
            )
        tensors = tuple(name for name in self.tensors if split_tensor(name)[0] in index.ids)
        ids = [index.ids[name] for name in self.ops if name in index.ids]
        same = replace(Selection.of(index, ids, ""), tensors=tensors)
        with contextlib.suppress(Exception):
            # A person's function may fail at ops that it has not seen.
            if self.again is not None and (selection := self.again(index)) == same:
                return selection
        return same._as_names()

    def __len__(self) -> int:
        return int(np.count_nonzero(self.mask))

    def __bool__(self) -> bool:
        return bool(self.mask.any() or self.tensors)

    def __iter__(self) -> Iterator[str]:
        return iter(self.ops)

    def __contains__(self, name: object) -> bool:
        op = self.index.ids.get(name) if isinstance(name, str) else None
        return op is not None and bool(self.mask[op])

    def __eq__(self, other: object) -> bool:
        """The same ops and tensors of the same graph, on whatever state of it."""
        if not isinstance(other, Selection) or self.index.origin is not other.index.origin:
            return False
        if self.index is other.index:
            has_same_ops = np.array_equal(self.mask, other.mask)
        else:
            has_same_ops = self.ops == other.ops
        return has_same_ops and set(self.tensors) == set(other.tensors)

    def __hash__(self) -> int:
        first = np.flatnonzero(self.mask)[:1].tolist()
        return hash((len(self), *(self.index.names[i] for i in first)))

    def __repr__(self) -> str:
        return self.expression

    def __or__(self, other: Selection) -> Selection:
        return self._combine("|", other)

    def __and__(self, other: Selection) -> Selection:
        return self._combine("&", other)

    def __sub__(self, other: Selection) -> Selection:
        return self._combine("-", other)

    def _combine(self, sign: str, other: Selection) -> Selection:
        joined = _join(*self._beside(other), sign)
        # Python takes 200 parentheses inside each other, no more: a click more or less at a time
        # soon makes them.
        deep = len(joined.expression) - len(joined.expression.lstrip("(")) > _DEEPEST
        return joined._as_names() if deep else joined

    def _as_names(self) -> Selection:
        """The same ops, as a list of their names."""
        return replace(self, expression=call("ops", [*self.ops, *self.tensors]), again=None)

    @with_recipe
    def __invert__(self) -> Selection:
        if self.expression.startswith("~"):
            text = self.expression.removeprefix("~")
        else:
            text = f"~{self.expression}"
        return Selection(self.index, ~self.mask, text)

    @property
    def _term(self) -> str:
        """The expression as something that a method can be called on."""
        return f"({self.expression})" if self.expression.startswith("~") else self.expression

    def _with(self, mask: Mask, expression: str) -> Selection:
        return Selection(self.index, mask, expression, self.tensors)

    def _beside(self, other: object) -> tuple[Selection, Selection]:
        """Both selections, on the later one's state of the graph."""
        other = as_selection(other)
        index = max(self.index, other.index, key=lambda index: index.serial)
        return self.on(index), other.on(index)


@dataclass(frozen=True)
class Walk:
    """The options of a walk; see `Selecting.upstream`."""

    stop_at: tuple[str, ...] = ()
    within: Selection | None = None
    controls: bool = True
    inclusive: bool = True

    @classmethod
    def of(
        cls, index: GraphIndex, *, stop_at: Any = (), within: object = None, **how: bool
    ) -> Walk:
        """Check the options of a walk.

        Args:
            index: The graph.
            stop_at: Names of tensors, or tensors; one or several.
            within: A selection, or None.
            how: `controls` and `inclusive`.

        Returns:
            The options.

        Raises:
            UnknownName: `stop_at` names what is not a tensor.
            GraphEditError: An option has the wrong type.
        """
        for name, value in how.items():
            check("upstream", name, value, bool)
        is_one = isinstance(stop_at, str) or hasattr(stop_at, "name")
        try:
            seeds = [stop_at] if is_one else list(stop_at)
        except Exception:  # whatever it raises that is nothing to go through
            seeds = [stop_at]
        names = tuple(getattr(item, "name", item) for item in seeds)
        for name in names:
            if not isinstance(name, str):
                raise UnknownName(
                    f"stop_at names {value_text(name)}, which is not a tensor; write 'scope/op:0'."
                )
        check_ports(index, names)
        return cls(names, None if within is None else as_selection(within), **how)

    def apply(self, walk: Callable[..., Mask], index: GraphIndex, seeds: Mask) -> Mask:
        """Walk from some ops with these options.

        Args:
            walk: `traversal.forward` or `traversal.backward`.
            index: The graph.
            seeds: The ops to start from, one bool per op.

        Returns:
            The ops that are reached, one bool per op.
        """
        within = None if self.within is None else self.within.on(index).mask
        first = seeds if within is None else seeds & within
        stop = pairs(index, self.stop_at)
        reached = walk(
            index, np.flatnonzero(first), stop=stop, within=within, controls=self.controls
        )
        return reached if self.inclusive else reached & ~first

    def arguments(self) -> list[str]:
        """Write arguments as Python does; those at their default are left out."""
        options = []
        if self.stop_at:
            options.append(f"stop_at={literal(list(self.stop_at))}")
        if self.within is not None:
            options.append(f"within={self.within}")
        if not self.controls:
            options.append("controls=False")
        if not self.inclusive:
            options.append("inclusive=False")
        return options


def as_selection(thing: object) -> Selection:
    """`thing`, when it is a selection; GraphEditError otherwise."""
    if isinstance(thing, Selection):
        return thing
    raise WrongType(
        "selection",
        f"{value_text(thing)} is not a selection; " + in_cell("write editor.ops('scope/op')."),
    )


@with_recipe
def _join(a: Selection, b: Selection, sign: str) -> Selection:
    others = set(b.tensors)
    if sign == "|":
        mask = a.mask | b.mask
        tensors = [*a.tensors, *b.tensors]
    elif sign == "&":
        mask = a.mask & b.mask
        tensors = [tensor for tensor in a.tensors if tensor in others]
    else:
        mask = a.mask & ~b.mask
        tensors = [tensor for tensor in a.tensors if tensor not in others]
    expression = f"({a.expression} {sign} {b.expression})"
    return Selection(a.index, mask, expression, tuple(dict.fromkeys(tensors)))
