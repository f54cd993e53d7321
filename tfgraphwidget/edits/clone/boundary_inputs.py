"""The inputs of a copy: connected to the original, replaced by other tensors, or placeholders."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tfgraphwidget.errors import GraphEditError, NotClonable
from tfgraphwidget.graph import (
    ANY_PORT,
    CONSTANTS,
    ENTER,
    EXIT,
    GraphIndex,
    Selection,
    are_compatible,
    check_ports,
    control_flow,
    pairs,
    write_shape,
)
from tfgraphwidget.messages import copy_of, copy_without_inputs
from tfgraphwidget.naming import as_input, free_name, split_tensor, take_free_name
from tfgraphwidget.sentences import drawn_shape, either
from tfgraphwidget.tf_types import NodeDef

Tensor = tuple[str, int]


@dataclass(frozen=True)
class BoundaryInputs:
    """The tensors that come in from outside, as (op name, port).

    `reused` are the names of those that stay connected to the original, `replaced` maps to the (op,
    port) that copies read instead, `stands_for` are those that get a placeholder, whose NodeDefs
    but for their names are in `new_placeholders`. `cut` are the inputs as they were given, (op
    name, port or ANY_PORT): they come from outside though their op be copied.
    """

    reused: tuple[str, ...]
    cut: frozenset[Tensor]
    replaced: Mapping[Tensor, Tensor]
    stands_for: Mapping[Tensor, str]
    new_placeholders: tuple[NodeDef, ...]

    @property
    def instead_names(self) -> tuple[str, ...]:
        """The ops of the tensors that copies read something else for."""
        return tuple(op for op, _ in (*self.replaced, *self.stands_for))

    @property
    def placeholders(self) -> tuple[tuple[str, str], ...]:
        """(tensor, name that its placeholder has within the copy's scope)."""
        return tuple((f"{op}:{port}", name) for (op, port), name in self.stands_for.items())

    def instead(self, into: str) -> dict[Tensor, str]:
        """The input that copies in a scope read for each outside tensor; "" for the original."""
        prefix = f"{into}/" if into else ""
        read = dict.fromkeys(self.cut, "")
        read |= {tensor: as_input(*new) for tensor, new in self.replaced.items()}
        return read | {tensor: prefix + name for tensor, name in self.stands_for.items()}

    def nodes(self, into: str) -> list[NodeDef]:
        """The placeholders of a copy."""
        nodes = []
        prefix = f"{into}/" if into else ""
        for original in self.new_placeholders:
            node = copy_of(original)
            node.name = f"{prefix}{original.name}"
            # The default of another one of these.
            node.input[:] = [f"{prefix}{text}" for text in original.input]
            nodes.append(node)
        return nodes

    def copies(self, into: str) -> list[tuple[str, str]]:
        """(tensor, placeholder's tensor): what is known of the one holds for the other."""
        return [
            (f"{op}:{port}", f"{name}:0")
            for (op, port), name in self.instead_placeholders(into).items()
        ]

    def instead_placeholders(self, into: str) -> dict[Tensor, str]:
        """Tensor -> the op that represents it in the copy."""
        return {
            tensor: f"{into}/{name}" if into else name for tensor, name in self.stands_for.items()
        }


class BoundaryOptions(Protocol):
    """The options of `Clone` for its boundary."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Ops or tensors."""

    @property
    def placeholders(self) -> bool:
        """Whether the copy reads a new placeholder for each input."""

    @property
    def replace(self) -> tuple[tuple[str, str], ...]:
        """Pairs of (tensor, tensor that the copy reads instead)."""

    @property
    def src_scope(self) -> str:
        """The scope that is removed from the names of the originals."""


def boundary_inputs(
    clone: BoundaryOptions,
    index: GraphIndex,
    target: GraphIndex,
    ops: tuple[int, ...],
    shared: Collection[int],
) -> BoundaryInputs:
    """Find how copies get the tensors that they read from outside.

    Args:
        shared: Ops whose state is shared; none of them becomes a placeholder.

    Raises:
        UnknownName: A tensor is not in the graph.
        NotClonable: Dtypes, shapes or loops do not match, or a placeholder is impossible.
    """
    part, op_names = Selection.of(index, ops, ""), {index.names[i] for i in ops}
    cut = frozenset((index.names[op], port) for op, port in pairs(index, clone.inputs))
    replaced = _replacements(clone, index, target, part)
    if any(op in op_names for op, _ in cut):
        inner = [name for name in part.inside if _is_cut(name, cut)]
    else:
        inner = []
    outside = [name for name in (*part.inputs, *inner) if _op_and_port(name) not in replaced]
    if not clone.placeholders and index.origin is target.origin:
        return BoundaryInputs(tuple(outside), cut, replaced, {}, ())
    names = {index.names[i].lower() for i in ops}
    stands_for: dict[Tensor, str] = {}
    placeholders = []
    reused = tuple(name for name in outside if index.ids[_op_and_port(name)[0]] in shared)
    for name in (name for name in outside if name not in reused):
        op, port = _op_and_port(name)
        base = op.removeprefix(f"{clone.src_scope.rstrip('/')}/") if clone.src_scope else op
        stands_for[op, port] = new = take_free_name(base if port == 0 else f"{base}_{port}", names)
        placeholders += _placeholder_with_default(index, index.ids[op], port, new, names)
    return BoundaryInputs(reused, cut, replaced, stands_for, tuple(placeholders))


def _placeholder_with_default(
    index: GraphIndex, op: int, port: int, name: str, names: set[str]
) -> list[NodeDef]:
    """The placeholder for a tensor, with its constant default, after a copy of the constant."""
    node = placeholder(index, op, port, name)
    sources = index.input_lists[op] if index.types[op] == "PlaceholderWithDefault" else []
    if not sources or index.types[sources[0]] not in CONSTANTS:
        return [node]
    default = copy_without_inputs(index.nodes[sources[0]], free_name(f"{name}/input", names))
    default.device = ""
    names.add(default.name.lower())
    node.op = "PlaceholderWithDefault"
    node.input.append(default.name)
    return [default, node]


def _op_and_port(name: str) -> Tensor:
    op, port = split_tensor(name)
    return op, port or 0


def _is_cut(name: str, cut: frozenset[Tensor]) -> bool:
    op, port = _op_and_port(name)
    return (op, port) in cut or (op, ANY_PORT) in cut


def _replacements(
    clone: BoundaryOptions, index: GraphIndex, target: GraphIndex, part: Selection
) -> dict[Tensor, Tensor]:
    """Checked: each tensor is read in the part, and the other can replace it."""
    replacements: dict[Tensor, Tensor] = {}
    if not clone.replace:
        return replacements
    read = {*part.inputs, *part.inside}
    for old, new in clone.replace:
        check_ports(index, [old])
        check_ports(target, [new])
        (op, port), (other, other_port) = _op_and_port(old), _op_and_port(new)
        if f"{op}:{port}" not in read:
            raise NotClonable(
                f"Nothing in the part reads {old!r}, so replacing it changes nothing; leave it "
                "out.",
                [op],
            )
        _check_fit(index, (index.ids[op], port), target, (target.ids[other], other_port))
        replacements[op, port] = other, other_port
    return replacements


def _check_fit(
    index: GraphIndex, old: tuple[int, int], target: GraphIndex, new: tuple[int, int]
) -> None:
    """Raise unless one tensor can replace the other: dtype, static shape, the same loops."""
    (a, port), (b, other_port) = old, new
    dtypes = index.dtypes(a)[port], target.dtypes(b)[other_port]
    names = f"{index.names[a]}:{port}", f"{target.names[b]}:{other_port}"
    if all(dtypes) and dtypes[0].removesuffix("_ref") != dtypes[1].removesuffix("_ref"):
        raise NotClonable(
            f"{names[1]!r} is {dtypes[1]} and cannot replace {names[0]!r}, which is {dtypes[0]}; "
            + either("tf.cast", "cast")
            + " it first.",
            [index.names[a], target.names[b]],
        )
    shapes = index.shape(a, port), target.shape(b, other_port)
    if not are_compatible(*shapes):
        raise NotClonable(
            f"{names[1]!r} has shape "
            + drawn_shape(shapes[1])
            + f" and cannot replace {names[0]!r}, which has shape "
            + drawn_shape(shapes[0])
            + "; "
            + either("tf.reshape", "reshape")
            + " it first.",
            [index.names[a], target.names[b]],
        )
    loops = [
        [f.name for f in control_flow.enclosing_blocks(i, op) if isinstance(f, control_flow.Loop)]
        for i, op in ((index, a), (target, b))
    ]
    exits = index.types[a] in EXIT, target.types[b] in EXIT
    inside = [contexts[1:] if out else contexts for contexts, out in zip(loops, exits, strict=True)]
    if inside[0] != inside[1]:
        where = (inside[1] or inside[0])[0]
        raise NotClonable(
            f"{names[1]!r} cannot replace {names[0]!r}: only one of them lies inside while loop "
            f"{where!r}; use the loop's results outside of it.",
            [index.names[a], target.names[b]],
        )


def placeholder(
    index: GraphIndex,
    op: int,
    port: int,
    name: str,
    refusal: type[GraphEditError] = NotClonable,
    way_out: str = "",
) -> NodeDef:
    """Make the NodeDef of a placeholder for a tensor, with its dtype and static shape.

    Args:
        way_out: The end of its sentence, where no part is copied.

    Raises:
        GraphEditError: The tensor cannot be fed; the class is `refusal`.
    """
    dtype = index.dtypes(op)[port]
    tensor = f"{index.names[op]}:{port}"
    if index.types[op] not in EXIT and any(
        isinstance(f, control_flow.Loop) for f in control_flow.enclosing_blocks(index, op)
    ):
        raise refusal(
            f"{tensor!r} lies inside a while loop, where no placeholder can be fed; cut outside of "
            "it."
        )
    if not dtype or dtype.endswith("_ref"):
        problem = "a reference to a variable" if dtype else "of an unknown dtype"
        way_out = way_out or (
            "copy what makes it too, or "
            + either(
                f"give replace={{{tensor!r}: another tensor}}",
                "choose 'New placeholders for inputs'",
            )
        )
        raise refusal(
            f"{tensor!r} is {problem}, which no placeholder can be; " + way_out + ".",
            [index.names[op]],
        )
    node = type(index.nodes[op])(name=name, op="Placeholder")
    node.attr["dtype"].type = index.typing.number(dtype)
    write_shape(node.attr["shape"].shape, index.shape(op, port))
    return node


def copied_frame_names(old: Iterable[str], into: str, target: GraphIndex) -> dict[str, str]:
    """Frame name -> name in the copy, which no loop of the target has."""
    old = list(old)
    if not old:
        return {}
    enter_nodes = (
        node for node, kind in zip(target.nodes, target.types, strict=True) if kind in ENTER
    )
    names = {
        node.attr["frame_name"].s.decode(errors="surrogateescape").lower() for node in enter_nodes
    }
    new: dict[str, str] = {}
    for frame in old:
        new[frame] = take_free_name(f"{into}/{frame}" if into else frame, names)
    return new
