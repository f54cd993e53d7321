"""The edges that an edit moves: they are collected, adapted and checked together, then become a
patch.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tfgraphwidget.edits.patch import Change, NodeChange, Patch, Report, nothing_to_do
from tfgraphwidget.errors import GraphEditError, NameTaken
from tfgraphwidget.graph import CONTROL, Csr, GraphIndex, Mask
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, count_text, free_name, is_scope_name, names_text
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import NodeDef, OpDef

Tensor = tuple[int, int]
"""Op and port; port CONTROL is the op's control edges."""

Slot = tuple[int, int]
"""Op that reads, and the number of its data input."""


def argument_count(argument: OpDef.ArgDef, node: NodeDef) -> int:
    """How many inputs of a node an argument of its OpDef is."""
    if argument.number_attr:
        return int(node.attr[argument.number_attr].i) if argument.number_attr in node.attr else 1
    if argument.type_list_attr:
        if argument.type_list_attr in node.attr:
            return len(node.attr[argument.type_list_attr].list.type)
        return 1
    return 1


def input_argument(
    node: NodeDef, k: int, definition: OpDef | None
) -> tuple[OpDef.ArgDef | None, int]:
    """The argument of the OpDef that input `k` belongs to, or None, and the place in it."""
    for argument in () if definition is None else definition.input_arg:
        count = argument_count(argument, node)
        if k < count:
            return argument, k
        k -= count
    return None, k


class EdgeMoves:
    """The inputs and control inputs that an edit changes; all others stay.

    Attributes:
        index: The graph before the edit.
        inputs: The tensor that each changed input reads after the edit.
        control_inputs: The ops that each changed op waits for after the edit.
        new_nodes: NodeDefs that the edit adds, numbered after the ops of `index`.
        adapter_ops: For inputs with an adapter, the number of that new op; it reads the tensor of
            `inputs`.
        notes: Sentences for the user.
        output_renames: For outputs of a function or signature, the tensor that is returned instead.
        new_names: The names that `free_name` has returned.
        default_names: The names that it would have returned if no hidden op had a name.
        carries_gradients: Whether the edges of the gradient ops are moved with those that they are
            of.
        nothing: Why there is no edge to move, in a sentence; "" if there may be one.
    """

    def __init__(self, index: GraphIndex, names: tuple[str, ...] = ()) -> None:
        self.index = index
        self.inputs: dict[Slot, Tensor] = {}
        self.control_inputs: dict[int, tuple[int, ...]] = {}
        self.new_nodes: list[NodeDef] = []
        self.adapter_ops: dict[Slot, int] = {}
        self.notes: list[str] = []
        self.output_renames: dict[str, str] = {}
        self.new_names: list[str] = []
        self.default_names: list[str] = []
        self.carries_gradients = False
        self.nothing = ""
        self._requested_names = list(names)
        self._used_names: set[str] | None = None

    # What is there

    def current_input(self, slot: Slot) -> Tensor:
        """The tensor that an input reads before the edit."""
        at = self.index.inputs.start[slot[0]] + slot[1]
        return int(self.index.inputs.values[at]), int(self.index.ports[at])

    def current_inputs(self, op: int) -> list[Tensor]:
        """The tensors that an op reads before the edit, in slot order."""
        return self.index.input_tensors(op)

    def current_control_inputs(self, op: int) -> tuple[int, ...]:
        """The control inputs of an op before the edit."""
        return tuple(self.index.controls.row(op).tolist())

    def consumers(self, tensor: Tensor) -> list[Slot]:
        """The inputs that read a tensor before the edit, in graph order."""
        csr = self.index.inputs
        edges = np.flatnonzero((csr.values == tensor[0]) & (self.index.ports == tensor[1]))
        owners = owners_of(csr, edges)
        return list(zip(owners.tolist(), (edges - csr.start[owners]).tolist(), strict=True))

    def waiters(self, op: int) -> list[int]:
        """The ops that wait for an op before the edit, in graph order."""
        csr = self.index.controls
        return list(dict.fromkeys(owners_of(csr, np.flatnonzero(csr.values == op)).tolist()))

    def name(self, op: int) -> str:
        """The name of an op of the index, or of one that is made."""
        n = len(self.index)
        return self.index.names[op] if op < n else str(self.new_nodes[op - n].name)

    def tensor_name(self, tensor: Tensor) -> str:
        """The name of a tensor, or "^op"."""
        if tensor[1] != CONTROL:
            return f"{self.name(tensor[0])}:{tensor[1]}"
        return f"^{self.name(tensor[0])}"

    def dtype(self, tensor: Tensor) -> str:
        """The dtype of a tensor, "" when it is not known."""
        op, port = tensor
        n = len(self.index)
        dtypes = self.index.typing.dtypes(
            self.index.nodes[op] if op < n else self.new_nodes[op - n]
        )
        return dtypes[port] if port < len(dtypes) else ""

    def expected_dtype(self, slot: Slot) -> str:
        """The dtype that an input takes by its op's type and attributes; "" when it is not known.

        What it reads before the edit can be of another one, in a file that TensorFlow refuses.
        """
        node = self.index.nodes[slot[0]]
        argument, k = input_argument(node, slot[1], self.index.typing.definition(node.op))
        if argument is None:
            return ""
        number = argument.type
        if argument.type_attr in node.attr:
            number = node.attr[argument.type_attr].type
        elif argument.type_list_attr in node.attr:
            number = node.attr[argument.type_list_attr].list.type[k]
        one_output = type(node)(op="Placeholder")
        one_output.attr["dtype"].type = number
        dtypes = self.index.typing.dtypes(one_output) if number else ()
        return dtypes[0] if dtypes else ""

    # What is to be

    def changed_inputs(self) -> list[tuple[Slot, Tensor, Tensor]]:
        """Each data input that the edit changes, in graph order, what it reads and will read."""
        return [
            edge
            for edge in self.given_inputs()
            if edge[1] != edge[2] or edge[0] in self.adapter_ops
        ]

    def given_inputs(self) -> list[tuple[Slot, Tensor, Tensor]]:
        """The same, and the inputs that are to read what they read already."""
        return [(slot, self.current_input(slot), new) for slot, new in sorted(self.inputs.items())]

    def new_source(self, slot: Slot) -> Tensor:
        """The tensor that an input will read: the output of its adapter, if there is one."""
        return (self.adapter_ops[slot], 0) if slot in self.adapter_ops else self.inputs[slot]

    def changed_control_inputs(self) -> dict[int, tuple[int, ...]]:
        """Each op that is to wait for other ops than before; for which."""
        return {
            op: ops
            for op, ops in sorted(self.control_inputs.items())
            if set(ops) != set(self.current_control_inputs(op))
        }

    def make(self, op_type: str, name: str, inputs: tuple[str, ...] = ()) -> tuple[int, NodeDef]:
        """Add an op; its number and its NodeDef, which has no attributes yet."""
        node = type(self.index.nodes[0])(name=name, op=op_type, input=inputs)
        self.new_nodes.append(node)
        return len(self.index) + len(self.new_nodes) - 1, node

    def free_name(self, base: str) -> str:
        """The next name of those that were asked for, else `base`, or that with a number after it.

        Raises NameTaken.
        """
        if self._used_names is None:
            existing = (*self.index.names, *self.index.scopes.names)
            self._used_names = {name.lower() for name in existing}
        names_in_use = self._used_names | self.index.reserved
        name = (
            self._requested_names.pop(0) if self._requested_names else free_name(base, names_in_use)
        )
        if not is_scope_name(name):
            raise NameTaken(
                f"{name!r} is not a name that TensorFlow takes for an op; use letters, digits, '_' "
                "and '/'."
            )
        if name.lower() in names_in_use:
            raise NameTaken.in_graph(name, free_name(name, names_in_use))
        self.default_names.append(free_name(base, self._used_names))
        self._used_names.add(name.lower())
        self.new_names.append(name)
        return name

    def check_names(self) -> None:
        """Raise GraphEditError when more names were given than ops are added."""
        if self._requested_names:
            count = len(self.new_names)
            name_count = len(self.new_names) + len(self._requested_names)
            if count:
                added = f"{count_text(count, 'op')} {'is' if count == 1 else 'are'} added"
            else:
                added = "no op is added"
            raise GraphEditError(
                either("names= has", "There are")
                + f" {count_text(name_count, 'name')}, and {added}; leave out "
                f"{names_text(self._requested_names)}."
            )

    def patch(self) -> Patch:
        """The patch; one that does nothing if no edge changes."""
        slots: dict[int, dict[int, str]] = {}
        for (op, k), _, _ in self.changed_inputs():
            end = self.new_source((op, k))
            slots.setdefault(op, {})[k] = as_input(self.name(end[0]), end[1])
        waits = self.changed_control_inputs()
        if not slots and not waits and not self.output_renames:
            return nothing_to_do(self.nothing or "The edges are as they are to be already.")
        changed = tuple(
            self._node_change(op, slots.get(op, {}), waits.get(op))
            for op in sorted({*slots, *waits})
        )
        return Patch(
            add=Change(nodes=tuple(self.new_nodes)),
            changed=changed,
            report=Report(tuple(self.notes)),
            output_renames=tuple(self.output_renames.items()),
            carries_gradients=self.carries_gradients,
        )

    def _node_change(
        self, op: int, slots: dict[int, str], waits: tuple[int, ...] | None
    ) -> NodeChange:
        before = self.index.nodes[op]
        texts = list(before.input)
        data = [text for text in texts if text[:1] != "^"]
        for k, text in slots.items():
            data[k] = text
        # TensorFlow writes control inputs in the order of their names.
        if waits is None:
            control = [text for text in texts if text[:1] == "^"]
        else:
            control = sorted(self._control_input_texts(waits))
        after = copy_of(before)
        after.input[:] = [*data, *control]
        return NodeChange(before, after)

    def _control_input_texts(self, ops: tuple[int, ...]) -> set[str]:
        return {as_input(self.name(op), CONTROL) for op in ops}


def owners_of(csr: Csr, edges: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The rows that some values of a CSR stand in, by the places of the values."""
    return np.searchsorted(csr.start, edges, side="right") - 1


# The boundary of a part of a graph


class Boundary:
    """The edges that cross the boundary of the ops for which `mask` is true.

    `entering` are the tensors that come in, in the order of first use, with the inputs inside that
    read them; `leaving` those that ops outside read, in graph order, with the inputs that do.
    `control_inputs` are the ops outside that ops inside wait for, `waiting` those outside that wait
    for ops inside.
    """

    def __init__(self, index: GraphIndex, mask: Mask) -> None:
        self.index, self.mask = index, mask
        self.entering = self._read(into=True)
        self.leaving = dict(sorted(self._read(into=False).items()))
        self.control_inputs = sorted({op for _, _, op in self._crossing(index.controls, into=True)})
        self.waiting = sorted(
            {waiter for _, waiter, _ in self._crossing(index.controls, into=False)}
        )

    def of(self, mask: Mask) -> Boundary:
        """The boundary of ops that no edge joins to the others, with tensors added to it."""
        part = Boundary(self.index, mask)
        part.leaving = {tensor: slots for tensor, slots in self.leaving.items() if mask[tensor[0]]}
        return part

    def _crossing(self, rows: Csr, *, into: bool) -> list[tuple[int, int, int]]:
        """(number of the edge, op that reads or waits, op at the other end)."""
        owner, inside = rows.owner, self.mask
        edges = np.flatnonzero((inside[owner] != inside[rows.values]) & (inside[owner] == into))
        return list(
            zip(edges.tolist(), owner[edges].tolist(), rows.values[edges].tolist(), strict=True)
        )

    def _read(self, *, into: bool) -> dict[Tensor, list[Slot]]:
        slots: dict[Tensor, list[Slot]] = {}
        start, ports = self.index.inputs.start, self.index.ports
        for edge, consumer, source in self._crossing(self.index.inputs, into=into):
            slots.setdefault((source, int(ports[edge])), []).append(
                (consumer, edge - int(start[consumer]))
            )
        return slots
