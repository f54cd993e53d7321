"""Copies of NodeDefs: all that a NodeDef names gets the name of its copy.

What makes a copied NodeDef silently wrong, and what is done about each (see
tests/test_tensorflow_facts.py):
* `shared_name` is the key of its state: kept, the copy shares the original's variable. Every key
  gets one of its own.
* `frame_name` is the loop that an op belongs to in the executor: kept, both loops become one that
  cannot run.
* colocation `loc:@x` must follow the copy when x is copied too, and cannot name what the graph does
  not hold.
* a summary's tag: kept, two series are written under one name.
"""

from __future__ import annotations

from collections.abc import (
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import cast

from google.protobuf import message_factory

from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import (
    ANY_PORT,
    CONSTANTS,
    OUTPUT_SHAPES,
    STATE_KEY,
    TAGGED_SUMMARIES,
    GraphIndex,
    Member,
    VariableDef,
)
from tfgraphwidget.naming import (
    as_input,
    colocation,
    free_name,
    shared_name,
    split_input,
    split_tensor,
)
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import AttrValue, GraphDef, NodeDef

# tf.custom_gradient in NodeDefs: TensorFlow keeps its gradient as a Python closure over the
# original's tensors.

KEY = "_gradient_op_type"
_CLOSURE = b"CustomGradient-"


def has_closure_gradient(node: NodeDef) -> bool:
    """Whether the gradient of a NodeDef is a Python closure over the tensors of its graph."""
    return KEY in node.attr and node.attr[KEY].s.startswith(_CLOSURE)


def invalidate_gradient(node: NodeDef) -> bool:
    """Let the gradient of a copied NodeDef be an error, in place, where it `has_closure_gradient`;
    whether it was.

    With the name unchanged, TensorFlow would compute the gradient of the original. A name that is
    not registered makes `tf.gradients` fail, and the name says why.
    """
    has_gradient = has_closure_gradient(node)
    if has_gradient:
        node.attr[
            KEY
        ].s += b" belongs to the original: a copy of tf.custom_gradient has no gradient"
    return has_gradient


_GLOBAL_VARIABLES = "variables"
_COLOCATE = b"loc:@"
# The attributes of a NodeDef that name ops, state or frames, and one that an import holds against
# what it infers; most ops have none of them.
_NAMING = frozenset({"_class", STATE_KEY, "var_name", "frame_name", KEY, OUTPUT_SHAPES})
# Collections that TensorFlow wants one member in.
ONE_OF_A_KIND = frozenset({"global_step"})


@dataclass
class NodeCopier:
    """Copies NodeDefs under new names.

    Attributes:
        names: The copy of each copied op.
        replacements: The input that copies read in place of (op, port), or of (op, ANY_PORT) for
            all tensors of an op; "" for the original itself.
        keys: New shared_names of state.
        frames: New frame names of while loops.
        functions: New names of library functions.
        stays: Whether copies may read, wait for and be colocated with ops that are not copied; they
            cannot in another graph.
        devices: The device of each copy; None to keep those of the originals.
        single: Collections that take no second member.
        taken: The keys of the target graph's state, in lower case.
        src_scope: The scope that is removed from the names of the originals.
        dropped: What could not be copied, one sentence each.
        is_verbatim: Whether all copies so far differ from their originals in names and devices
            only, and read the same tensors from outside; see `edits.patch.Patch`.
    """

    names: Mapping[str, str]
    replacements: Mapping[tuple[str, int], str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    frames: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    stays: bool = True
    devices: Mapping[str, str] | None = None
    single: frozenset[str] = frozenset()
    used_keys: Collection[str] = ()
    src_scope: str = ""
    dropped: dict[str, None] = field(default_factory=dict)
    is_verbatim: bool = field(init=False)
    _inputs: dict[str, str] = field(default_factory=dict)
    _beside: dict[bytes, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.is_verbatim = self.stays and not self.functions and not any(self.replacements.values())
        # Most inputs are the first output of a copied op: "a" becomes the name of the copy of "a".
        self._inputs.update(self.names)
        for op, port in self.replacements:
            if port in {0, ANY_PORT}:
                self._inputs.pop(op, None)

    def copy_nodes(self, nodes: Iterable[NodeDef], into: str) -> list[NodeDef]:
        """Copies of NodeDefs, in their order, under the names, keys and frames of the copies.

        Raises NotClonable when one reads a tensor that is not copied.
        """
        nodes = list(nodes)
        copies = self._rename_nodes(nodes)
        if self.functions:
            for copy in copies:
                rename_calls(copy, self.functions)
        if self.devices is not None:
            for node, copy in zip(nodes, copies, strict=True):
                copy.device = self.devices.get(node.name, copy.device)
        _retag_summaries(copies, into)
        return copies

    @cached_property
    def _stand_ins(self) -> dict[str, str]:
        """Op -> the op of a tensor read in place of one of its own, which is waited for instead."""
        return {op: split_input(text)[0] for (op, _), text in self.replacements.items() if text}

    def _rename_nodes(self, nodes: Sequence[NodeDef]) -> list[NodeDef]:
        """Copies that name copies of ops, state and frames; one loop, as it takes most time."""
        if not nodes:
            return []
        names, input_cache, stays = self.names, self._inputs, self.stays
        copies, container = [], _graph_def(cast("Hashable", type(nodes[0])))().node
        for node in nodes:
            name, copy = node.name, container.add()
            copy.CopyFrom(node)
            copy.name = names[name]
            texts = node.input[:]
            inputs = [input_cache.get(text) or self._input(text, name) for text in texts]
            if not stays and "" in inputs:
                inputs = list(filter(None, inputs))
            if inputs != texts:
                copy.input[:] = inputs
            naming = _NAMING.intersection(copy.attr)
            if naming:
                self._rewrite_attributes(node, copy, naming)
            copies.append(copy)
        return copies

    def _rewrite_attributes(self, node: NodeDef, copy: NodeDef, naming: Collection[str]) -> None:
        """Rename the ops, state or frames that the attributes `naming` have, as the copies are."""
        attributes = copy.attr
        if OUTPUT_SHAPES in naming:
            self.is_verbatim = False
        if "_class" in naming:
            self._colocate(node.name, attributes["_class"].list.s)
        # Kept, the copy would silently share the original's state
        # (test_tensorflow_facts.py::test_import_keeps_shared_name_and_so_shares_the_state).
        if STATE_KEY in naming:
            self._own_state(node, copy)
        if "var_name" in naming:  # of both ends of a temporary variable
            _replace_text(attributes["var_name"], self.keys)
        if "frame_name" in naming:
            _replace_text(attributes["frame_name"], self.frames)
        if KEY in naming and invalidate_gradient(copy):
            self.dropped[
                "The gradient of "
                + either("tf.custom_gradient", "custom gradient")
                + f" {node.name!r} is not copied."
            ] = None

    def _own_state(self, node: NodeDef, copy: NodeDef) -> None:
        key = shared_name(node)
        if key in self.keys:
            copy.attr["shared_name"].s = self.keys[key].encode(errors="surrogateescape")
        elif not key:
            # Without a key state is kept under the op's name, or under none that others know; only
            # all VarHandleOps without one would be one variable.
            own = free_name(copy.name, self.used_keys)
            if own != copy.name or node.op == "VarHandleOp":
                copy.attr["shared_name"].s = own.encode()

    def _input(self, text: str, consumer: str) -> str:
        """The new text of an input; "" for a control input that is not copied. Cached."""
        op, port = split_input(text)
        if port < 0:
            replacement = None
        else:
            replacement = self.replacements.get((op, port), self.replacements.get((op, ANY_PORT)))
        if replacement is not None:
            new = replacement or text
        elif op in self.names:
            new = as_input(self.names[op], port)
        elif port < 0 and op in self._stand_ins:
            new = as_input(self._stand_ins[op], port)
        elif self.stays:
            new = text
        elif port < 0:
            self.dropped[
                f"Control input {op!r} is left out: it is not copied, and lies in the other graph."
            ] = None
            new = ""
        else:
            raise NotClonable(
                f"Op {consumer!r} reads '{op}:{port}', which is not copied and lies in another "
                "graph than the copy; "
                + either(
                    "give replace={tensor: tensor of that graph}, or placeholders=True.",
                    "choose 'New placeholders for inputs'.",
                ),
                [consumer, op],
            )
        self._inputs[text] = new
        return new

    def _colocate(self, name: str, values: MutableSequence[bytes]) -> None:
        """Colocation follows the copies; with what stays in another graph it is dropped."""
        colocations = self._beside
        for k, value in enumerate(values):
            new = colocations.get(value)
            if new is None:
                new = colocations[value] = self._stands_beside(name, value)
            values[k] = new
        if b"" in values:
            values[:] = filter(None, values)

    def _stands_beside(self, name: str, value: bytes) -> bytes:
        """An entry of "_class" for the copies; b"" for one that cannot be copied."""
        target = colocation(value)
        if target in self.names:
            return _COLOCATE + self.names[target].encode()
        if not target or self.stays:
            return value
        self.dropped[
            f"Colocation of {name!r} with {target!r} is dropped: that op is not copied."
        ] = None
        return b""

    def member(self, name: str) -> str:
        """The copy's name for the original's op or tensor; the own name if it is not copied."""
        op, port = split_tensor(name)
        new = self.names.get(op, op)
        return new if port is None else f"{new}:{port}"

    def variable(self, variable: VariableDef, into: str) -> VariableDef:
        """The VariableDef of the copy of a variable."""
        slice_info = variable.slice_info
        if slice_info is not None and into:  # of a partitioned variable: its key in checkpoints
            original, slice_info = slice_info, type(slice_info)()
            slice_info.CopyFrom(original)
            inner = slice_info.full_name.removeprefix(
                f"{self.src_scope}/" if self.src_scope else ""
            )
            slice_info.full_name = f"{into}/{inner}"
        return replace(
            variable,
            handle=self.names[variable.handle],
            initial_value=self._part(variable.initial_value),
            initializer=self._part(variable.initializer),
            snapshot=self._part(variable.snapshot),
            slice_info=slice_info,
        )

    def _part(self, name: str | None) -> str | None:
        """The name of a part of a copied variable; None for one that the original lacks."""
        return None if name is None else self.member(name)

    def members(
        self, index: GraphIndex, variables: Iterable[VariableDef]
    ) -> Iterator[tuple[str, Member]]:
        """The copies' entries in the originals' collections; new variables are global ones."""
        variables = list(variables)
        own = {v.name for v in variables}
        names = set()
        for key, members in index.collections.items():
            for kind, name in members:
                if split_tensor(name)[0] not in self.names:
                    continue
                if key in self.single:
                    self.dropped[
                        f"{name!r} is not in the collection {key!r}: that has its one member "
                        "already."
                    ] = None
                    continue
                new = self.member(name)
                if kind == "variable":
                    names.add(new)
                if kind != "variable" or new in own:
                    yield key, Member(kind, new)
        for variable in variables:
            if variable.name not in names:
                yield _GLOBAL_VARIABLES, Member("variable", variable.name)


@cache
def _graph_def(node_def: Hashable) -> type[GraphDef]:
    """The class of the message that holds NodeDefs: those of one message share its memory."""
    pool = cast("type[NodeDef]", node_def).DESCRIPTOR.file.pool
    return cast(
        "type[GraphDef]",
        message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.GraphDef")),
    )


def _replace_text(attribute: AttrValue, names: Mapping[str, str]) -> None:
    """Exchange the text of an attribute, if another is there; TensorFlow's are bytes."""
    old = attribute.s.decode(errors="surrogateescape")
    attribute.s = names.get(old, old).encode(errors="surrogateescape")


def rename_calls(node: NodeDef, functions: Mapping[str, str]) -> None:
    """Make a NodeDef call library functions by new names, which `functions` has by old ones."""
    if node.op in functions:
        node.op = functions[node.op]
    for value in node.attr.values():
        kind = value.WhichOneof("value")
        references = [value.func] if kind == "func" else value.list.func if kind == "list" else ()
        for function in references:
            function.name = functions.get(function.name, function.name)


def complete_variable(handle: NodeDef, variable: VariableDef) -> tuple[VariableDef, list[NodeDef]]:
    """A copied variable with the ops that its original lacks, and these: an assign, a read.

    TensorFlow 2's SavedModels assign from within a function. The initial values of their variables
    are not known, so the new one is a placeholder: to initialize without a value fails, and says
    so, rather than give zeros.
    """
    nodes: list[NodeDef] = []
    resource, name = variable.resource, variable.handle

    def add(op: str, under: str, inputs: list[str], *kinds: str) -> NodeDef:
        node = type(handle)(name=f"{name}/{under}", op=op, input=inputs)
        for kind in kinds:
            node.attr[kind].type = handle.attr["dtype"].type
        nodes.append(node)
        return node

    if not variable.initializer:
        value = add("Placeholder", "Initializer/value", [], "dtype")
        value.attr["shape"].CopyFrom(handle.attr["shape"])
        kind, dtype = ("AssignVariableOp", "dtype") if resource else ("Assign", "T")
        assign = add(kind, "Assign", [name, value.name], dtype)
        variable = replace(variable, initial_value=f"{value.name}:0", initializer=assign.name)
    if not variable.snapshot:
        kind, dtype = ("ReadVariableOp", "dtype") if resource else ("Identity", "T")
        read = add(kind, "Read/ReadVariableOp" if resource else "read", [name], dtype)
        variable = replace(variable, snapshot=f"{read.name}:0")
    return variable, nodes


def _retag_summaries(copies: list[NodeDef], into: str) -> None:
    """Put the copies' scope before constant tags of copied summaries; two would be a series."""
    if not into:
        return
    read = {node.input[0] for node in copies if node.op in TAGGED_SUMMARIES and node.input}
    for node in copies if read else ():
        if node.name in read and node.op in CONSTANTS:
            tags = node.attr["value"].tensor.string_val
            tags[:] = [f"{into}/".encode() + tag for tag in tags]
