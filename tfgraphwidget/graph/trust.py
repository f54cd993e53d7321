"""Trust: whether ops of an untrusted graph may run that do more than compute; and which ops of a
graph those are.

A graph that was read from a file may hold ops that write files, open connections or call Python.
Such an op runs only if the user trusts the file. `Effects` finds the ops by the table of `effects`,
in called functions too. It is asked before TensorFlow runs anything: for a run, with its fetches
and feeds, or for the whole graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tfgraphwidget.errors import NotTrusted
from tfgraphwidget.graph.edges import NodesByName
from tfgraphwidget.graph.effects import (
    Effect,
    effect_of,
    node_effect,
    reason_of_effect,
    runs_at_import,
)
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.op_types import (
    BRANCHES,
    CONSTANTS,
    FILENAME_CARRIERS,
    FILENAME_COMBINERS,
    FUNCTION_CALLS,
    IDENTITY,
    PLACEHOLDERS,
    RANGES,
    SELECTS,
    TABLE_FILE_INITIALIZERS,
    VARIABLE_LOOKS,
)
from tfgraphwidget.graph.tensor_values import stored_texts
from tfgraphwidget.graph.tensors import OpTyping
from tfgraphwidget.naming import (
    HOW_TO_TRUST,
    shared_name,
    split_input,
    split_tensor,
    text_attribute,
)
from tfgraphwidget.tf_types import AttrValue, FunctionDef, NameAttrList, NodeDef

MAX_SENTENCES = 5  # on what an op or a scope does: what a panel shows
MAX_HOPS = 64  # ops that are asked for the name of a file that an op takes; a Saver has four
# Ways to call one function, by the texts that it is given. A chain of thirty functions of which
# each calls the next one in two ways has a billion.
MAX_CALLS = 64
# The inputs of a Saver's ops that name files.
_SAVER_FILES: Mapping[str, tuple[int, ...]] = {
    "MergeV2Checkpoints": (0, 1),
    "Restore": (0,),
    "RestoreSlice": (0,),
    "RestoreV2": (0,),
    "Save": (0,),
    "SaveSlices": (0,),
    "SaveV2": (0,),
}
# Ops that hand the name of a file on, by their first input: to a Saver the name is given once for
# all shards.
_HANDS_NAME_ON = IDENTITY | FILENAME_CARRIERS | PLACEHOLDERS
# It runs the function that the file registers as the gradient of another, which no op names.
_GRADIENT_OF_CALL = "SymbolicGradient"
# TensorFlow's optimizer may exchange functions of which this attribute is the same for each other.
_IMPLEMENTS = "api_implements"
# The file that a Saver names in its graph, to feed another in its place with each call.
_SAVER_DEFAULT = (b"model",)
# Calls whose inputs, from this one on, are the arguments of the function in order; those of a loop
# change by round.
_FIRST_ARGUMENT = dict.fromkeys(FUNCTION_CALLS, 0) | dict.fromkeys(BRANCHES, 1)


class EffectiveOp(NamedTuple):
    """An op that does more than compute.

    Attributes:
        name: Its name, in the graph or in the function.
        op_type: Its type.
        effect: What running it does.
        function: The function that it is in; "" for an op of the graph itself.
        root: The op of the graph that it is, or that calls the function; "" for a function that
            none calls.
    """

    name: str
    op_type: str
    effect: Effect
    function: str = ""
    root: str = ""

    @property
    def sentence(self) -> str:
        """What it does, to begin a sentence: "Op 'a' is a WriteFile, which writes a file"."""
        place = f" in function {self.function!r}" if self.function else ""
        return (
            f"Op {self.name!r}{place} is of type {self.op_type}, which "
            f"{reason_of_effect(self.op_type)}"
        )


@dataclass(eq=False)
class Trust:
    """Whether a graph's ops may do more than compute; everything that is read of one file shares
    one Trust.

    Attributes:
        origin: What the graph was read from, as the subject of a sentence: "File 'model.pb'".
        is_given: Whether the user trusts it. A graph that lives in the notebook is the user's own.
        folders: The directories that the graph lies in: text files there, or in "assets", may fill
            hash tables unasked.
        is_file: Whether the graph was read from a file or a message: what it computes may be
            without bounds.
        is_fed: Whether its placeholders of texts hold what the caller feeds; False for a stored
            function that has captured a text, which its file says.
        restores_texts: Whether a checkpoint has texts, which variables may hold in place of what
            the graph assigns to them.
    """

    origin: str = "The graph"
    is_given: bool = False
    folders: tuple[Path, ...] = field(default=())
    is_file: bool = True
    is_fed: bool = True
    restores_texts: bool = False

    def may_read(self, path: bytes) -> bool:
        """Whether a text file lies beside the graph, so that a table may be filled from it."""
        try:
            file = Path(path.decode(errors="surrogateescape"))
            parents = file.resolve().parents
            beside = [folder.resolve() for folder in self.folders]
            return file.is_file() and any(
                parents[0] == each or each / "assets" in parents for each in beside
            )
        except (OSError, RuntimeError, ValueError):  # no path, as one with a zero in it
            return False

    def check(self, effects: Iterable[EffectiveOp], outcome: str = "nothing was run") -> None:
        """Raise NotTrusted if an op does more than compute and the user does not trust the graph.

        Args:
            outcome: What follows, as a part of the sentence.
        """
        op = None if self.is_given else next(iter(effects), None)
        if op is not None:
            raise NotTrusted(self.sentence(op, outcome), (op.root,) if op.root else ())

    def sentence(self, op: EffectiveOp, outcome: str) -> str:
        """Why an op was not run, and what allows it; `outcome` is such as "nothing was run"."""
        origin = self.origin[:1].lower() + self.origin[1:]
        return f"{op.sentence}, and {origin} is not trusted, so {outcome}; " + HOW_TO_TRUST + "."


TRUSTED = Trust(is_given=True, is_file=False)
"""Of graphs that live in the notebook, and of what the editor makes itself."""

_Text = tuple[bytes, ...]


class _FromCaller:
    """The name of a file that the caller feeds."""


_FROM_CALLER = _FromCaller()
_Origin = _Text | _FromCaller | None
"""What a tensor of texts holds: the texts of a constant, what the caller feeds, or None if that is
computed.
"""


@dataclass(frozen=True, eq=False)
class _Frame:
    """A graph, or a function's body as it is called."""

    nodes: Mapping[str, NodeDef]
    function: str = ""
    arguments: Mapping[str, _Origin] = field(default_factory=dict)
    root: str = ""


class _Call(NamedTuple):
    """A function, and the arguments with which an op calls it; equal calls have the same key."""

    name: str
    arguments: Mapping[str, _Origin]
    key: tuple[object, ...]


class Effects:
    """Finds the ops of a graph that do more than compute.

    Args:
        nodes: The NodeDefs by name.
        function: Gives the FunctionDef of a name.
        functions: The names of the functions.
        may_read: Whether a table may be filled from the text file of that path without asking.
        typing: Gives OpDefs and the dtypes of outputs, so that ops which call no function are
            passed over by type.
        is_fed: Whether a placeholder of texts holds what the caller feeds.
        restores_texts: Whether variables of texts may hold what no op of the graph assigns.
    """

    def __init__(
        self,
        nodes: Mapping[str, NodeDef],
        function: Callable[[str], FunctionDef],
        functions: Collection[str],
        may_read: Callable[[bytes], bool] = lambda _: False,
        typing: OpTyping | None = None,
        *,
        is_fed: bool = True,
        restores_texts: bool = False,
    ) -> None:
        self._typing, self._is_fed, self._restores_texts = typing, is_fed, restores_texts
        self._graph = _Frame(nodes)
        self._function, self._functions, self._may_read = function, functions, may_read
        self._keys: dict[str, set[tuple[object, ...]]] = {}  # of the calls of each function

    def of_graph(self, *, unfed: bool = False) -> Iterator[EffectiveOp]:
        """The ops of the graph and of the functions that it calls, in order; not a Saver's, which
        feeds their file, unless it is `unfed` and they name a default file.
        """
        return self._look(self._suspects(), frozenset(), is_run=unfed)

    def _suspects(self) -> Iterable[NodeDef]:
        """The ops of the graph whose type may do more than compute, or call a function."""
        nodes = self._graph.nodes
        return (
            nodes.of_types(self._may_do_more) if isinstance(nodes, NodesByName) else nodes.values()
        )

    def _may_do_more(self, op_type: str) -> bool:
        """Whether ops of a type may do more than compute, or call a function."""
        if effect_of(op_type).is_dangerous or op_type in self._functions:
            return True
        definition = self._typing.definition(op_type) if self._functions and self._typing else None
        if definition is None:
            return bool(self._functions)
        return any(each.type in {"func", "list(func)"} for each in definition.attr)

    def by_op(self) -> Iterator[tuple[str, tuple[EffectiveOp, ...]]]:
        """Ops of the graph, each with what does more than compute: the op itself, and the ops that
        its calls run.

        `of_graph` names an op of a function once; here it is with every op that calls the function.
        """
        # By the function and its arguments.
        inside: dict[tuple[object, ...], tuple[EffectiveOp, ...]] = {}
        for node in self._suspects():
            name = node.name
            effect = self._effect(self._graph, node, (), is_run=False)
            ops = [EffectiveOp(name, node.op, effect, "", name)] if effect.is_dangerous else []
            for call in self._calls(self._graph, node, (), is_run=False):
                key = call.key
                if key not in inside:
                    body = self._body(self._graph, node, call)
                    inside[key] = tuple(self._look_in([body], {key}, (), is_run=False))
                ops += (op._replace(root=name) for op in inside[key])
            if ops:
                yield name, tuple(dict.fromkeys(ops))

    def of_library(
        self, bound: Mapping[str, Collection[int]] = MappingProxyType({})
    ) -> Iterator[EffectiveOp]:
        """The ops of all functions, called or not; arguments are what a caller gives.

        Args:
            bound: The arguments that the file itself gives functions as it is loaded, by their
                numbers from the end: -1 for the last.
        """
        for name in sorted(self._functions):
            definition = self._function(name)
            arguments: dict[str, _Origin] = {
                argument.name: _FROM_CALLER for argument in definition.signature.input_arg
            }
            for number in bound.get(name, ()):
                if -number <= len(arguments):
                    arguments[definition.signature.input_arg[number].name] = None
            frame = _Frame({node.name: node for node in definition.node_def}, name, arguments)
            for node in definition.node_def:
                effect = self._effect(frame, node, frozenset(), is_run=False)
                if effect.is_dangerous:
                    yield EffectiveOp(node.name, node.op, effect, name)

    def at_import(self, read: Iterable[str] = ()) -> Iterator[EffectiveOp]:
        """The ops that TensorFlow may run while it imports the graph, to know the shapes of others.

        For the shape of an op it computes the inputs that say it, if they depend on constants
        alone. It passes over ops that are stateful and over control inputs, and only integers and
        the limits of ranges say a shape.

        Args:
            read: Tensors that ops will read which are not known yet: they may hang a shape on each.
        """
        typing = self._typing
        read_ops = {split_tensor(tensor)[0] for tensor in read}
        consumers: dict[str, list[tuple[str, int]]] | None = None
        for each in self.of_graph():
            if typing is None or typing.definition(each.op_type) is None:
                continue
            if not each.function and not runs_at_import(each.op_type):
                continue
            consumers = self._consumers() if consumers is None else consumers
            if self._may_be_computed(each.root, consumers, typing, read_ops):
                yield each

    def _consumers(self) -> dict[str, list[tuple[str, int]]]:
        """The ops that read tensors of each op, with the number of the output."""
        consumers: dict[str, list[tuple[str, int]]] = {}
        for node in self._graph.nodes.values():
            for source, port in map(split_input, node.input):
                if port >= 0:
                    consumers.setdefault(source, []).append((node.name, port))
        return consumers

    def _may_be_computed(
        self,
        op: str,
        consumers: Mapping[str, Sequence[tuple[str, int]]],
        typing: OpTyping,
        read_ops: Collection[str],
    ) -> bool:
        """Whether an op reads a tensor for its shape that stateless ops compute of an op's."""
        stack, visited = [op], {op}
        while stack:
            node = self._graph.nodes[stack.pop()]
            definition = typing.definition(node.op)
            if definition is not None and definition.is_stateful:
                continue
            if node.name in read_ops:
                return True
            dtypes = typing.dtypes(node)
            for consumer, port in consumers.get(node.name, ()):
                if port >= len(dtypes) or self._may_say_a_shape(
                    dtypes[port], self._graph.nodes[consumer].op
                ):
                    return True
                if consumer not in visited:
                    visited.add(consumer)
                    stack.append(consumer)
        return False

    @staticmethod
    def _may_say_a_shape(dtype: str, consumer: str) -> bool:
        """Whether the shape of an op may depend on an input's value: an integer's, a range's."""
        return "int" in dtype or consumer in RANGES

    def of_run(self, fetches: Iterable[str], feeds: Collection[str] = ()) -> Iterator[EffectiveOp]:
        """The ops that a run needs, and those of the functions that these call."""
        fed = frozenset(split_tensor(feed)[0] + f":{split_tensor(feed)[1] or 0}" for feed in feeds)
        return self._look(self._needed_nodes(fetches, fed), fed, is_run=True)

    def _needed_nodes(self, fetches: Iterable[str], fed: Collection[str]) -> list[NodeDef]:
        """The ops that fetches need."""
        names = [
            (op, port)
            for op, port in map(split_tensor, fetches)
            if f"{op}:{port or 0}" not in fed or port is None
        ]
        stack, nodes = [op for op, _ in names], dict[str, NodeDef]()
        while stack:
            name = stack.pop()
            node = self._graph.nodes.get(name)
            if name in nodes or node is None:
                continue
            nodes[name] = node
            for text in node.input:
                op, port = split_input(text)
                if f"{op}:{port}" not in fed:
                    stack.append(op)
        return list(nodes.values())

    def _look(
        self, nodes: Iterable[NodeDef], fed: Collection[str], *, is_run: bool
    ) -> Iterator[EffectiveOp]:
        return self._look_in([(self._graph, nodes)], set(), fed, is_run=is_run)

    def _look_in(
        self,
        frames: list[tuple[_Frame, Iterable[NodeDef]]],
        visited: set[tuple[object, ...]],
        fed: Collection[str],
        *,
        is_run: bool,
    ) -> Iterator[EffectiveOp]:
        """The ops among some of each frame, and those of functions that they call, once."""
        while frames:
            frame, inside = frames.pop()
            for node in inside:
                effect = self._effect(frame, node, fed, is_run=is_run)
                if effect.is_dangerous:
                    yield EffectiveOp(
                        node.name, node.op, effect, frame.function, frame.root or node.name
                    )
                for call in self._calls(frame, node, fed, is_run=is_run):
                    if call.key not in visited:
                        visited.add(call.key)
                        frames.append(self._body(frame, node, call))

    def _calls(
        self, frame: _Frame, node: NodeDef, fed: Collection[str], *, is_run: bool
    ) -> Iterator[_Call]:
        """The functions that an op runs, or that may run in the place of one or by its name."""
        callees = dict.fromkeys(self._callees(node))
        for name in callees:
            arguments = self._arguments(frame, node, name, fed, is_run=is_run)
            texts = ((key, value) for key, value in arguments.items() if isinstance(value, tuple))
            fed_names = (key for key, value in arguments.items() if value is _FROM_CALLER)
            key = (name, *sorted(texts), *sorted(fed_names))
            keys = self._keys.setdefault(name, set())
            if key not in keys and len(keys) >= MAX_CALLS:
                arguments, key = {}, (name,)
            keys.add(key)
            yield _Call(name, arguments, key)
        for name in self._hidden_callees(node, callees):
            yield _Call(name, {}, (name,))

    def _body(self, frame: _Frame, node: NodeDef, call: _Call) -> tuple[_Frame, Iterable[NodeDef]]:
        """A function as an op calls it, and the ops in it."""
        body = self._function(call.name).node_def
        nodes = {each.name: each for each in body}
        return _Frame(nodes, call.name, call.arguments, frame.root or node.name), body

    def _hidden_callees(self, node: NodeDef, callees: Collection[str]) -> Iterator[str]:
        """The functions that may run when an op calls others, though it does not name them itself:
        those that it hands to these as attributes, those that stand in for them, and gradients.
        """
        if not callees:
            return
        if node.op == _GRADIENT_OF_CALL:
            yield from self._functions
            return
        handed_on = chain.from_iterable(map(_functions_in, node.attr.values()))
        values = chain.from_iterable(function.attr.values() for function in handed_on)
        stack = [*_names_in(values), *chain.from_iterable(map(self._with_function, callees))]
        reached: set[str] = set()
        while stack:
            name = stack.pop()
            if name in self._functions and name not in reached:
                reached.add(name)
                stack += self._with_function(name)
                yield name

    def _with_function(self, name: str) -> list[str]:
        """The functions that may run when that one does and are not in its body: those that its
        attributes are by default, and those that stand in for it.
        """
        definition = self._function(name)
        defaults = _names_in(attr.default_value for attr in definition.signature.attr)
        return [*defaults, *self._stand_ins.get(_interface(definition), ())]

    @cached_property
    def _stand_ins(self) -> Mapping[bytes, list[str]]:
        """The functions that may stand in for each other, by what they say to implement."""
        by_interface: dict[bytes, list[str]] = {}
        for name in self._functions:
            if interface := _interface(self._function(name)):
                by_interface.setdefault(interface, []).append(name)
        return by_interface

    def _callees(self, node: NodeDef) -> Iterator[str]:
        """The functions that an op calls, by its attributes or as its type."""
        if not self._functions:
            return
        if node.op in self._functions:
            yield node.op
        for function in chain.from_iterable(map(_functions_in, node.attr.values())):
            if function.name in self._functions:
                yield function.name

    def _arguments(
        self, frame: _Frame, node: NodeDef, name: str, fed: Collection[str], *, is_run: bool
    ) -> dict[str, _Origin]:
        """What the texts are that a call passes to a function."""
        first = 0 if node.op == name else _FIRST_ARGUMENT.get(node.op)
        if first is None:
            return {}
        inputs = [text for text in node.input if text[:1] != "^"][first:]
        arguments = self._function(name).signature.input_arg
        return {
            argument.name: self._origin(frame, text, fed, is_run=is_run)
            for argument, text in zip(arguments, inputs, strict=False)
        }

    def _effect(
        self, frame: _Frame, node: NodeDef, fed: Collection[str], *, is_run: bool
    ) -> Effect:
        """What an op does: by its type, its attributes, and the files that it names."""
        if node.op in self._functions:
            return Effect.PURE
        effect = effect_of(node.op)
        if not effect.is_dangerous:
            return effect

        def origin(position: int) -> _Origin:
            if position < len(node.input):
                return self._origin(frame, node.input[position], fed, is_run=is_run)
            return None

        def constant(position: int) -> Sequence[bytes] | None:
            texts = origin(position)
            return texts if isinstance(texts, tuple) else None

        if node.op in _SAVER_FILES:
            is_own = all(
                self._is_a_saver_s(origin(k), is_run=is_run) for k in _SAVER_FILES[node.op]
            )
            return Effect.OWN_STATE if is_own else effect
        if node.op in TABLE_FILE_INITIALIZERS:
            texts = origin(1)
            is_beside = isinstance(texts, tuple) and all(map(self._may_read, texts))
            return Effect.OWN_STATE if texts is _FROM_CALLER or is_beside else effect
        return node_effect(node, constant)

    @staticmethod
    def _is_a_saver_s(origin: _Origin, *, is_run: bool) -> bool:
        """Whether a file is the caller's, or will be when a Saver uses it."""
        return origin is _FROM_CALLER or (not is_run and origin == _SAVER_DEFAULT)

    def _origin(
        self,
        frame: _Frame,
        text: str,
        fed: Collection[str],
        *,
        is_run: bool,
        budget: Iterator[int] | None = None,
    ) -> _Origin:
        """What a tensor of texts holds; None once as many ops as `budget` has were asked."""
        budget = iter(range(MAX_HOPS)) if budget is None else budget
        for _ in budget:
            name, port = _end(text)
            if not frame.function and f"{name}:{port}" in fed:
                return _FROM_CALLER
            if frame.function and name in frame.arguments:
                return frame.arguments[name]
            node = frame.nodes.get(name)
            if node is None:
                return None
            if node.op in CONSTANTS:
                return stored_texts(node.attr["value"].tensor)
            if node.op in PLACEHOLDERS and not node.input:
                return _FROM_CALLER if self._is_fed or frame.function else None
            origin = partial(self._origin, frame, fed=fed, is_run=is_run, budget=budget)
            if node.op in FILENAME_COMBINERS:
                return self._origin_of_several(frame, node, origin, is_run=is_run)
            if node.op not in _HANDS_NAME_ON or not node.input:
                return None
            text = node.input[0]
        return None

    def _origin_of_several(
        self, frame: _Frame, node: NodeDef, origin_of: Callable[[str], _Origin], *, is_run: bool
    ) -> _Origin:
        """What an op hands on that joins, packs, or reads what several ops may give."""
        if node.op == "StringJoin":
            return self._join_origin(frame, node, origin_of, is_run=is_run)
        if node.op == "Pack":
            return _common(origin_of(text) for text in node.input if text[:1] != "^")
        if frame.function or self._restores_texts:
            return None
        return self._variable_origin(node.input[0], origin_of)

    def _join_origin(
        self, frame: _Frame, node: NodeDef, origin_of: Callable[[str], _Origin], *, is_run: bool
    ) -> _Origin:
        """The name of a Saver's file after the caller's; None for one in another folder."""
        first, *others = [text for text in node.input if text[:1] != "^"]
        origin = origin_of(first)
        if not self._is_a_saver_s(origin, is_run=is_run):
            return None
        if b"." in text_attribute(node, "separator"):
            return None
        for other in others:
            texts = self._texts(frame, other)
            if texts is None or any(b".." in text or text.endswith(b".") for text in texts):
                return None
        return origin

    def _variable_origin(self, handle: str, origin_of: Callable[[str], _Origin]) -> _Origin:
        """What a variable of texts holds that only the graph assigns to: a SavedModel's paths."""
        values: list[_Origin] = []
        consumers = self._consumers_of_variable(_end(handle)[0])
        if consumers is None:
            return None
        for node in consumers:
            if node.op == "AssignVariableOp" and len(node.input) > 1:
                values.append(origin_of(node.input[1]))
            elif node.op not in VARIABLE_LOOKS:
                return None
        return _common(values)

    def _consumers_of_variable(self, handle: str) -> list[NodeDef] | None:
        """The ops that take a variable's handle; None if others may reach it by shared name."""
        nodes = self._graph.nodes
        variable = nodes.get(handle)
        if variable is None or variable.op != "VarHandleOp":
            return None
        name = shared_name(variable)
        bodies = (self._function(function).node_def for function in self._functions)
        every = chain(nodes.values(), chain.from_iterable(bodies))
        handles = [node for node in every if node.op == "VarHandleOp" and shared_name(node) == name]
        if len(handles) > 1 or not name:
            return None
        return [
            node
            for node in nodes.values()
            if handle in (_end(text)[0] for text in node.input if text[:1] != "^")
        ]

    def _texts(self, frame: _Frame, text: str) -> _Text | None:
        """The texts of a constant, or of both that a Select chooses from, as in a Saver."""
        node = frame.nodes.get(_end(text)[0])
        if node is None or node.op not in CONSTANTS | SELECTS:
            return None
        if node.op in CONSTANTS:
            return stored_texts(node.attr["value"].tensor)
        texts: list[bytes] = []
        for each in node.input[1:3]:
            choice = frame.nodes.get(_end(each)[0])
            if choice is None or choice.op not in CONSTANTS:
                return None
            chosen = stored_texts(choice.attr["value"].tensor)
            if chosen is None:
                return None
            texts += chosen
        return tuple(texts)


@cached_per_index
def _may_have_effects(index: GraphIndex) -> bool:
    """Whether an op type of a graph or of its functions does more than compute."""
    types = set(index.kinds[0])
    for name in index.functions:
        types |= {node.op for node in index.extras.function(name).node_def}
    return any(effect_of(op_type).is_dangerous for op_type in types - index.functions)


def effects_of(index: GraphIndex, trust: Trust) -> Effects:
    """What finds the ops of a graph that do more than compute."""
    nodes, functions = (
        (NodesByName(index.nodes), index.functions) if _may_have_effects(index) else ({}, ())
    )
    return Effects(
        nodes,
        index.extras.function,
        functions,
        trust.may_read,
        index.typing,
        is_fed=trust.is_fed,
        restores_texts=trust.restores_texts,
    )


def effects_of_nodes(
    nodes: Sequence[NodeDef], functions: Iterable[FunctionDef], trust: Trust
) -> Iterator[EffectiveOp]:
    """The ops among some, and in some functions, called or not, that do more than compute."""
    by_name = {function.signature.name: function for function in functions}
    effects = Effects(NodesByName(nodes), by_name.__getitem__, by_name.keys(), trust.may_read)
    yield from effects.of_graph()
    yield from effects.of_library()


@dataclass(frozen=True, eq=False)
class UntrustedOps:
    """The ops of a graph that do not run until the user trusts what it was read from.

    Attributes:
        by_op: The ops of the graph that do more than compute, or call functions with such ops, each
            with these.
        effects: The numbers of these ops of the graph, by what they do, in the order of `Effect`.
        total: How many ops do more than compute, each counted once; those of functions too.
    """

    by_op: Mapping[str, tuple[EffectiveOp, ...]] = field(default_factory=dict)
    effects: Mapping[Effect, tuple[int, ...]] = field(default_factory=dict)
    total: int = 0

    def sentences(self, names: Iterable[str]) -> tuple[str, ...]:
        """What some ops of the graph do beside computing: the first few sentences."""
        sentences = dict.fromkeys(
            f"{each.sentence}."
            for name in names
            for each in self.by_op.get(name, ())[: MAX_SENTENCES + 1]
        )
        return (
            *list(sentences)[:MAX_SENTENCES],
            *(["And more."] if len(sentences) > MAX_SENTENCES else []),
        )


_untrusted: WeakKeyDictionary[GraphIndex, tuple[Trust, UntrustedOps]] = WeakKeyDictionary()


def untrusted_ops(index: GraphIndex, trust: Trust) -> UntrustedOps:
    """The ops of a graph that do not run unasked, and what they do, searched for once per state of
    the graph; none if it is trusted.
    """
    if trust.is_given or not _may_have_effects(index):
        return UntrustedOps()
    entry = _untrusted.get(index)
    if entry is None or entry[0] is not trust:
        entry = _untrusted[index] = trust, _find_untrusted(index, trust)
    return entry[1]


def _find_untrusted(index: GraphIndex, trust: Trust) -> UntrustedOps:
    """Find them."""
    by_op = dict(effects_of(index, trust).by_op())
    effects: dict[Effect, list[int]] = {effect: [] for effect in Effect}
    for name, ops in by_op.items():
        for effect in {op.effect for op in ops}:
            effects[effect].append(index.ids[name])
    total = len({(op.function, op.name) for ops in by_op.values() for op in ops})
    return UntrustedOps(
        by_op, {effect: tuple(numbers) for effect, numbers in effects.items() if numbers}, total
    )


def _common(origins: Iterable[_Origin]) -> _Origin:
    """What several tensors of texts hold together; None if one of them is computed, or there is
    none.
    """
    values = list(origins)
    if all(value is _FROM_CALLER for value in values):
        return _FROM_CALLER if values else None
    texts = [value for value in dict.fromkeys(values) if isinstance(value, tuple)]
    return sum(texts, ()) if len(texts) == len(set(values)) else None


def _functions_in(value: AttrValue) -> Sequence[NameAttrList]:
    """The functions that an attribute names."""
    kind = value.WhichOneof("value")
    return [value.func] if kind == "func" else value.list.func if kind == "list" else ()


def _names_in(values: Iterable[AttrValue]) -> Iterator[str]:
    """The names of the functions in attributes, and in the attributes of these functions."""
    stack = list(values)
    while stack:
        for function in _functions_in(stack.pop()):
            yield function.name
            stack += function.attr.values()


def _interface(function: FunctionDef) -> bytes:
    """What a function says to implement, so that others may stand in for it; b"" for nothing."""
    return function.attr[_IMPLEMENTS].s if _IMPLEMENTS in function.attr else b""


def _end(text: str) -> tuple[str, int]:
    """The op and output of an input, as a graph ("a:1") or a body ("a:output:1") writes it."""
    name, *rest = text.removeprefix("^").split(":")
    return name, int(rest[-1]) if rest and rest[-1].isdigit() else 0
