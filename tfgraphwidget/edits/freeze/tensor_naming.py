"""How a graph and the body of a function name tensors: which text an input has, and which name is
free.
"""

from __future__ import annotations

from tfgraphwidget.graph import (
    BRANCHES,
    ENTER,
    FUNCTION_CALLS,
    SWITCH,
    V1_LOOPS,
    WHILE_LOOPS,
    GraphIndex,
)
from tfgraphwidget.naming import as_input, split_tensor, take_free_name
from tfgraphwidget.tf_types import FunctionDef, NodeDef

FIRST_ARGUMENT = dict.fromkeys(FUNCTION_CALLS | WHILE_LOOPS, 0) | dict.fromkeys(BRANCHES, 1)
"""By type of call the input that is the first argument: what decides which branch is taken is none.
"""


class BodyNaming:
    """How the body of a function names things."""

    def __init__(self, body: FunctionDef, index: GraphIndex) -> None:
        self.has_frames = any(node.op in ENTER for node in body.node_def)
        self._index = index
        self._used_names = {node.name.lower() for node in body.node_def}
        self._arguments = {arg.name for arg in body.signature.input_arg}

    def output(self, node: NodeDef, port: int) -> str:
        """How others read an output of an op that hands on what it reads, or of a Const."""
        if node.op in self._index.functions:
            signature = self._index.extras.function(node.op).signature
            return f"{node.name}:{signature.output_arg[port].name}:0"
        if node.op in SWITCH:
            return f"{node.name}:{('output_false', 'output_true')[port]}:0"
        return f"{node.name}:output:{port}"

    def maker(self, text: str) -> str:
        """The control input on a tensor's op; "" for an argument, which is always there."""
        return "" if text in self._arguments else f"^{text.partition(':')[0]}"

    def free(self, base: str) -> str:
        """A name for a new op."""
        return take_free_name(base.replace("/", "_"), self._used_names)


class GraphNaming:
    """How a graph names things."""

    def __init__(self, index: GraphIndex) -> None:
        self.has_frames = not V1_LOOPS.isdisjoint(index.kinds[0])
        self._index = index
        self._used_names: set[str] = set()

    def output(self, node: NodeDef, port: int) -> str:
        """How others read an output of an op."""
        return as_input(node.name, port)

    def maker(self, text: str) -> str:
        """The control input on the op that makes a tensor."""
        return f"^{split_tensor(text)[0]}"

    def free(self, base: str) -> str:
        """A name for a new op."""
        # Of a hidden op too: it would come back as what it was, with another value.
        self._used_names = (
            self._used_names or {name.lower() for name in self._index.names} | self._index.reserved
        )
        return take_free_name(base, self._used_names)
