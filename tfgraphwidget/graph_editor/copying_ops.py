"""How `ge.transform` copies: the ops of a view in one import, or one op for a handler that wants to
see each.

What both share is the plan of `edits.clone.node_copier`: state gets keys of its own, loops frames
of their own, and colocation, control inputs and library functions follow the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby

from tfgraphwidget.edits import Change, Patch, rename_contexts, rename_runners
from tfgraphwidget.edits.clone import NodeCopier, copy_functions
from tfgraphwidget.graph import MERGE, GraphIndex, Member, VariableDef, side_effects, traversal
from tfgraphwidget.graph_editor.lists import unique
from tfgraphwidget.graph_editor.live_ops import make_op, read, scopes_among
from tfgraphwidget.graph_editor.transforming import Transforming
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, free_name, split_input, split_tensor
from tfgraphwidget.runtime.live import apply_live, rebuild_contexts, record_of, remove_contexts
from tfgraphwidget.runtime.sandbox import check_devices, check_functions
from tfgraphwidget.tf_internals import (
    add_control_inputs,
    find_operation,
    operation_finder,
    set_attribute,
    update_input,
)
from tfgraphwidget.tf_types import Graph, NodeDef, Operation, Tensor, Variable


class Copier:
    """Copies ops of one transformation; `names` says under which name each has been copied, now or
    before.
    """

    def __init__(self, info: Transforming, index: GraphIndex) -> None:
        self._own = {op.name for op in info.ops}
        nodes = [index.nodes[index.ids[name]] for name in self._own]
        target = index if info.same_graph else read(info.graph_)
        self.info, self.index = info, index
        self.names = dict(info.settings.already)
        scope = info.scope_.rstrip("/") or "copy"
        library = copy_functions(index, nodes, target, scope, own=info.same_graph)
        new_functions = {old: new for old, new in (library.names or {}).items() if old != new}
        self.library = Change(functions=library.functions, gradients=library.gradients)
        self._beside: list[NodeDef] = []
        failed_ops = record_of(info.graph_).failed  # keeps no key: the next try takes it again
        others: Iterable[NodeDef] = target.nodes
        if failed_ops:
            others = [node for node in others if node.name not in failed_ops]
        self.copying = NodeCopier(
            self.names,
            keys=self._new_values("shared_name", nodes, others),
            frames=self._new_values("frame_name", nodes, others),
            functions=new_functions,
            stays=info.same_graph,
            dropped=info.dropped,
        )

    def _new_values(
        self, attribute: str, nodes: Iterable[NodeDef], others: Iterable[NodeDef]
    ) -> dict[str, str]:
        """For each value of an attribute one that the destination lacks; the same if it may be."""
        values = dict.fromkeys(_attribute_values(attribute, nodes))
        if not values:
            return {}
        names_in_use = {value.lower() for value in _attribute_values(attribute, others)}
        new = {}
        for value in values:
            is_free = value.lower() not in names_in_use
            new[value] = value if is_free else free_name(self.info.scope_ + value, names_in_use)
            names_in_use.add(new[value].lower())
        return new

    def together(
        self,
        ops: list[Operation],
        outside: Callable[[Operation, Tensor], Tensor],
        nodedef_fn: Callable[[NodeDef], NodeDef] | None,
        *,
        waits: bool,
    ) -> None:
        """Copy ops in one import and record in `info` what has become of them.

        Args:
            ops: The ops in the order in which they were made.
            outside: What the copy of an op (first) reads in place of a tensor (second); None for
                the tensor's copy.
            nodedef_fn: Changes the NodeDef of each copy, which has its new name already.
            waits: With the control inputs; else they are left for later.
        """
        originals = {op: self.index.nodes[self.index.ids[op.name]] for op in ops}
        others = self._read_from_outside(originals.values())
        plain = waits and nodedef_fn is None
        new_inputs: dict[Operation, Sequence[Tensor | None]] = {}
        drafts: dict[Operation, NodeDef] = {}
        for op, of in originals.items():
            if plain and others.isdisjoint(of.input):
                self.names[of.name] = self.info.name_of(of.name)
            else:
                new_inputs[op] = [outside(op, t) for t in op.inputs]
                drafts[op] = self._draft(of, nodedef_fn)
        plain_ops = [op for op in ops if op not in new_inputs]
        plain_copies = self._copies([originals[op] for op in plain_ops])
        copies = dict(zip(plain_ops, plain_copies, strict=True))
        for op, tensors_read in new_inputs.items():
            copies[op] = self._node(op, drafts[op], tensors_read, waits=waits)
        nodes = {op: copies[op] for op in ops}
        self._make(nodes, new_inputs)
        new_ops = [find_operation(self.info.graph_, node.name) for node in nodes.values()]
        self.info.transformed_ops.update(zip(ops, new_ops, strict=True))
        tensors = chain.from_iterable(op.outputs for op in ops)
        new_tensors = chain.from_iterable(op_.outputs for op_ in new_ops)
        self.info.transformed_ts.pair(tensors, new_tensors)

    def alone(
        self,
        op: Operation,
        new_inputs: list[Tensor],
        nodedef_fn: Callable[[NodeDef], NodeDef] | None,
    ) -> Operation:
        """Copy one op, without its control inputs; the copy reads the tensors `new_inputs`.

        Args:
            op: The op.
            new_inputs: The tensors that the copy reads, one for each data input.
            nodedef_fn: What changes the copy's NodeDef; None for nothing.
        """
        of = self.index.nodes[self.index.ids[op.name]]
        draft, graph = self._draft(of, nodedef_fn), self.info.graph_
        if "_class" in draft.attr:  # it may have to stand beside an op that is copied after it
            colocation = {"_class": draft.attr.pop("_class")}
            self._beside.append(type(draft)(name=of.name, attr=colocation))
        node = self._node(op, draft, new_inputs, waits=False)
        if self.library.functions:  # the first import takes them along
            self._make({op: node}, {op: new_inputs})
        else:
            if nodedef_fn is not None:
                check_devices([node])
                check_functions(graph, [node], {node.op}, ())
            make_op(graph, node, new_inputs, None if _reads_another_shape(op, new_inputs) else op)
        return find_operation(graph, node.name)

    def _read_from_outside(self, nodes: Iterable[NodeDef]) -> frozenset[str]:
        """The inputs, as NodeDefs have them, that are not just read from copies of copied ops."""
        read = set(chain.from_iterable(node.input for node in nodes))
        instead = {as_input(t.op.name, t.value_index) for t in self.info.settings.instead}
        outside = {text for text in read if self._is_outside(*split_input(text))}
        return frozenset(outside | (read & instead))

    def _is_outside(self, op: str, port: int) -> bool:
        return port >= 0 and op not in self._own

    def _make(
        self,
        nodes: dict[Operation, NodeDef],
        new_inputs: Mapping[Operation, Sequence[Tensor | None]],
    ) -> None:
        """Make the copies, in one import unless one gets the name of a destination's scope."""
        shaped = self._as_shaped(list(nodes), new_inputs)
        graph = self.info.graph_
        new_names = {node.name for node in nodes.values()}
        scope_names = scopes_among(new_names - record_of(graph).hidden, graph)
        finished_ops: set[str] = set()
        back_edges: list[_BackEdge] = []
        for group in _groups(_sources_first(nodes) if scope_names else nodes, scope_names):
            names = {nodes[op].name for op in group}
            later_names = new_names - finished_ops - names
            back_edges += [edge for op in group for edge in _leave_out(nodes[op], later_names)]
            if names.isdisjoint(scope_names):
                self._import(nodes, group, shaped)
            else:
                self._make_alone(nodes[group[0]], group[0] if group[0] in shaped else None)
            finished_ops |= names
        for edge in back_edges:
            edge.connect(graph)

    def _make_alone(self, node: NodeDef, original: Operation | None) -> None:
        """Make a copy named as a scope of the destination, with `original`'s static shapes."""
        find = operation_finder(self.info.graph_)
        sources = [(find(name), port) for name, port in map(split_input, node.input) if port >= 0]
        make_op(self.info.graph_, node, [of.outputs[k] for of, k in sources], original)

    def _import(
        self, nodes: dict[Operation, NodeDef], ops: list[Operation], shaped: set[Operation]
    ) -> None:
        copies = tuple((op.name, nodes[op].name) for op in ops if op in shaped)
        change = replace(self.library, nodes=tuple(nodes[op] for op in ops), copies=copies)
        if change.nodes:
            apply_live(Patch(add=change), self.info.graph_, origin=self.info.graph)
            self.library = Change()

    def _draft(self, of: NodeDef, nodedef_fn: Callable[[NodeDef], NodeDef] | None) -> NodeDef:
        """A NodeDef under its new name, which a handler may have changed once more."""
        node = copy_of(of)
        node.name = self.info.name_of(of.name)
        node = node if nodedef_fn is None else nodedef_fn(node)
        self.names[of.name] = node.name
        return node

    def _node(
        self, op: Operation, draft: NodeDef, new_inputs: Sequence[Tensor | None], *, waits: bool
    ) -> NodeDef:
        """The NodeDef of an op's copy; None in `new_inputs` is the copy of the original's input."""
        draft.name = op.name
        draft.input[:] = [text for text in draft.input if waits and text.startswith("^")]
        (node,) = self._copies([draft])
        read = []
        for tensor, new_tensor in zip(op.inputs, new_inputs, strict=True):
            if new_tensor is None:
                read.append(as_input(self.names[tensor.op.name], tensor.value_index))
            else:
                read.append(as_input(new_tensor.op.name, new_tensor.value_index))
        node.input[:] = [*read, *node.input]
        return node

    def _copies(self, nodes: list[NodeDef]) -> list[NodeDef]:
        """The NodeDefs of copies that read the copies of what the originals read."""
        copies = self.copying.copy_nodes(nodes, "")
        for of, node in zip(nodes, copies, strict=True):
            if "shared_name" in of.attr and not of.attr["shared_name"].s and of.op != "VarHandleOp":
                node.attr["shared_name"].s = b""  # its state goes by the op's name, which is new
        return copies

    def _as_shaped(
        self, ops: list[Operation], new_inputs: Mapping[Operation, Sequence[Tensor | None]]
    ) -> set[Operation]:
        """The ops whose copies keep the static shapes: no input upstream has another one."""
        other = [op for op, read in new_inputs.items() if _reads_another_shape(op, read)]
        if not other:
            return set(ops)
        reached = traversal.forward(self.index, [self.index.ids[op.name] for op in other])
        return {op for op in ops if not reached[self.index.ids[op.name]]}

    def finish(self) -> list[tuple[Variable, Variable]]:
        """Make what is beside the ops: colocation that had to wait, variables, runners; gives
        (variable, its copy).
        """
        info = self.info
        acting = side_effects(self.index, (self.index.ids[name] for name in self._own))
        info.side_effects = [self.index.names[i] for i in acting]
        for node in self.copying.copy_nodes(self._beside, ""):
            set_attribute(find_operation(info.graph_, node.name), "_class", node.attr["_class"])
        copies = {v.name: self._variable(v) for v in self.index.variable_defs if self._is_copied(v)}
        own = {name: self.names[name] for name in self._own if name in self.names}
        runners = rename_runners(self.index.extras.runners(), own)
        change = Change(variables=tuple(copies.values()), runners=runners)
        apply_live(Patch(add=change), info.graph_, origin=info.graph)
        live_variables = record_of(info.graph_).variables
        pairs = []
        for item in unique(chain.from_iterable(info.collections.values())):
            member = Member.of(item)
            if member and member.kind == "variable" and member.name in copies:
                pairs.append((item, live_variables[copies[member.name].name]))
        return pairs

    def rebuild_contexts(self) -> None:
        """Give copies the contexts of the loops and conditionals that they are in; the last that
        can fail.
        """
        contexts = self.index.extras.contexts()
        if not contexts:
            return
        info = self.info
        names = self.names | {t.name: t_.name for t, t_ in info.inputs.items()}
        new_contexts = rename_contexts(contexts, names, self.copying.frames, stays=info.same_graph)
        nodes = tuple(op_.node_def for op_ in info.transformed_ops.values())
        change = Change(nodes=nodes, contexts=new_contexts)
        try:
            rebuild_contexts(info.graph_, change, info.graph)
        except BaseException:
            remove_contexts(info.graph_, change)
            raise

    def _is_copied(self, variable: VariableDef) -> bool:
        """Whether a variable's copy can be made: handle, initialization and read are copied."""
        parts = (variable.name, variable.initializer, variable.snapshot)
        has_ops = all(name and split_tensor(name)[0] in self.names for name in parts)
        return has_ops and variable.handle in self._own

    def _variable(self, variable: VariableDef) -> VariableDef:
        """The VariableDef of a copy; an initial value from outside is the copied assign's input."""
        copy = self.copying.variable(variable, "")
        if copy.initial_value == variable.initial_value and copy.initializer:
            assign = self.info.graph_.get_operation_by_name(copy.initializer)
            copy = replace(copy, initial_value=assign.inputs[1].name)
        if copy.slice_info is not None:  # of a partitioned variable: its key in checkpoints
            slice_info = copy_of(copy.slice_info)
            slice_info.full_name = self.info.new_key(slice_info.full_name)
            copy = replace(copy, slice_info=slice_info)
        return copy


@dataclass(frozen=True)
class _BackEdge:
    """An input of a loop's op that is made after the op; `slot` is None for a control input."""

    consumer: str
    source: str
    slot: int | None

    def connect(self, graph: Graph) -> None:
        """Connect the op with its input, now that both are there."""
        find = operation_finder(graph)
        name, port = split_input(self.source)
        if self.slot is None:
            add_control_inputs(find(self.consumer), [find(name)])
        else:
            update_input(find(self.consumer), self.slot, find(name).outputs[port])


def _leave_out(node: NodeDef, unmade: Collection[str]) -> Iterator[_BackEdge]:
    """Let a copy do without the inputs that are made later, and give these.

    A Merge reads what enters the loop for the time being, as `tf.while_loop` makes it.
    """
    later = [text for text in node.input if text.startswith("^") and split_input(text)[0] in unmade]
    for text in later:
        node.input.remove(text)
        yield _BackEdge(node.name, text, None)
    for slot, text in enumerate(node.input):
        if slot and node.op in MERGE and split_input(text)[0] in unmade:
            node.input[slot] = node.input[0]
            yield _BackEdge(node.name, text, slot)


def _sources_first(nodes: Mapping[Operation, NodeDef]) -> dict[Operation, NodeDef]:
    """The copies, each after those that it reads, in their order otherwise; a loop's Merge is
    after what enters it.

    A gradient loop's ops read what TensorFlow has made after them.
    """
    of_name = {node.name: op for op, node in nodes.items()}
    ordered: dict[Operation, NodeDef] = {}
    visited: set[Operation] = set()

    def sources(op: Operation) -> Iterator[Operation]:
        texts = nodes[op].input[:1] if nodes[op].op in MERGE else nodes[op].input
        names = (name for name, port in map(split_input, texts) if port >= 0)
        return (of_name[name] for name in names if name in of_name)

    for first in nodes:
        stack = [] if first in visited else [(first, sources(first))]
        visited.add(first)
        while stack:
            op, remaining = stack[-1]
            source = next((each for each in remaining if each not in visited), None)
            if source is None:
                ordered[op] = nodes[op]
                stack.pop()
            else:
                visited.add(source)
                stack.append((source, sources(source)))
    return ordered


def _groups(
    nodes: Mapping[Operation, NodeDef], alone: Collection[str]
) -> Iterator[list[Operation]]:
    """The ops in order, as lists that are each made at once, one for each name `alone`."""
    for is_alone, group in groupby(nodes, lambda op: nodes[op].name in alone):
        if is_alone:
            yield from ([op] for op in group)
        else:
            yield list(group)


def _reads_another_shape(op: Operation, new_inputs: Sequence[Tensor | None]) -> bool:
    """Whether a copy of the op that reads `new_inputs`, None for none, has another static shape."""
    for t, t_ in zip(op.inputs, new_inputs, strict=False):
        is_same = t_ is None or t_ is t or t_.shape.as_proto() == t.shape.as_proto()
        if not is_same:
            return True
    return False


def _attribute_values(attribute: str, nodes: Iterable[NodeDef]) -> Iterator[str]:
    for node in nodes:
        if attribute in node.attr and node.attr[attribute].s:
            yield node.attr[attribute].s.decode(errors="surrogateescape")
