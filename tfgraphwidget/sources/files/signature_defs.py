"""The signatures of a SavedModel or MetaGraphDef: read, choose one, and find the function calls
that compute it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import FUNCTION_CALLS, IDENTITY, NodesByName, Signature, Typing
from tfgraphwidget.naming import did_you_mean, names_text, split_tensor
from tfgraphwidget.sentences import either, leave_out
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.sources.source import Body
from tfgraphwidget.tf_types import FunctionDef, MetaGraphDef, NodeDef, TensorInfo

_INIT = "__saved_model_init_op"
_DEFAULT = "serving_default"


class Functions(Protocol):
    """The functions that the ops of a graph can call."""

    def functions(self) -> Collection[str]:
        """The names of all functions."""

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name."""


def read_signatures(
    meta: MetaGraphDef, body: Body
) -> tuple[tuple[Signature, ...], dict[str, tuple[str, ...]]]:
    """A MetaGraphDef's signatures by name, and those left out, with the tensors it lacks."""
    nodes = NodesByName(body.nodes())
    signatures: list[Signature] = []
    missing_tensors: dict[str, tuple[str, ...]] = {}
    for name, proto in sorted(meta.signature_def.items()):
        if name == _INIT:
            continue
        signature = Signature(name, tensor_names(proto.inputs), tensor_names(proto.outputs))
        tensors = dict.fromkeys(tensor for _, tensor in (*signature.inputs, *signature.outputs))
        if missing := tuple(
            tensor for tensor in tensors if not _is_there(tensor, nodes, body.typing)
        ):
            missing_tensors[name] = missing
        else:
            signatures.append(signature)
    return tuple(signatures), missing_tensors


def _is_there(tensor: str, nodes: Mapping[str, NodeDef], typing: Typing) -> bool:
    """Whether an op has an output of that number; true of ops unknown to TensorFlow."""
    op, port = split_tensor(tensor)
    node = nodes.get(op)
    return node is not None and (
        not port or port < len(typing.dtypes(node)) or typing.definition(node.op) is None
    )


def tensor_names(infos: Mapping[str, TensorInfo]) -> tuple[tuple[str, str], ...]:
    """(key, tensor) pairs of a signature's inputs or outputs; a sparse value is several."""
    pairs = []
    for key, info in sorted(infos.items()):
        kind = info.WhichOneof("encoding")
        if kind == "coo_sparse":
            parts = info.coo_sparse
            pairs += [
                (f"{key}/values", parts.values_tensor_name),
                (f"{key}/indices", parts.indices_tensor_name),
            ]
            pairs += [(f"{key}/dense_shape", parts.dense_shape_tensor_name)]
        elif kind == "composite_tensor":
            pairs += [
                (f"{key}/{k}", part.name) for k, part in enumerate(info.composite_tensor.components)
            ]
        elif kind == "name":
            pairs.append((key, info.name))
    return tuple(pairs)


def choose_signature(
    signatures: tuple[Signature, ...], name: object, title: str
) -> Signature | None:
    """Return the signature of a name; without a name "serving_default" or the only one.

    None if there is none, or several of which none is the default: all of them lie in the graph
    itself.

    Args:
        title: The subject of error messages, "File 'model.pb'".

    Raises:
        UnknownName: There is no signature of that name.
    """
    by_name = {signature.name: signature for signature in signatures}
    if name is not None:
        if not isinstance(name, str) or name not in by_name:
            if by_name:
                has = f"it has {', '.join(map(repr, by_name))}"
            else:
                has = "it has none; " + leave_out("signature")
            end = did_you_mean(name, by_name) if isinstance(name, str) else "."
            raise UnknownName(f"{title} has no signature {shorten(name)}: " + has + end)
        return by_name[name]
    if len(by_name) <= 1 or _DEFAULT in by_name:
        return by_name.get(_DEFAULT) or next(iter(signatures), None)
    return None


def choice_notice(signatures: Sequence[Signature], where: str) -> str:
    """The sentence on a file that was opened as a whole, for none of its signatures is the default;
    `where` is its subject, "File 'model.pb'".
    """
    names = [signature.name for signature in signatures]
    return (
        f"{where} has the signatures {names_text(names)}, and none named {_DEFAULT!r}, so it "
        "opened as a whole; "
        + either(
            f"editor.signatures.open({names[0]!r}) shows what that one computes, and "
            f"signature={names[0]!r} opens it there.",
            "the tab Model lists them, and 'Open' shows what one computes.",
        )
    )


def entry_path(
    signature: Signature | None, nodes: Iterable[NodeDef], library: Functions
) -> tuple[str, ...]:
    """Return the calls to enter, outermost first, to reach the function body that computes a
    signature, or none for the graph itself.
    """
    if signature is None:
        return ()
    outputs = {split_tensor(tensor)[0] for _, tensor in signature.outputs}
    path: list[str] = []
    visited: set[str] = set()
    while True:
        call = _only_call({node.name: node for node in nodes}, outputs)
        function = "" if call is None else call.attr["f"].func.name
        if call is None or function not in library.functions() or function in visited:
            return tuple(path)
        path.append(call.name)
        visited.add(function)
        definition = library.function(function)
        nodes = definition.node_def
        outputs = {text.partition(":")[0] for text in definition.ret.values()}


def shared_functions(
    signature: Signature | None,
    signatures: Iterable[Signature],
    nodes: Sequence[NodeDef],
    library: Functions,
) -> frozenset[str]:
    """The functions that lead to other signatures than the one chosen, if any, too: Keras exports
    one function as "serve" and "serving_default".

    Those that take attributes from their calls are left out, as each call may have a body of its
    own.
    """
    if signature is None:
        return frozenset()
    others = (each for each in signatures if each.name != signature.name)
    own = _functions_on(entry_path(signature, nodes, library), nodes, library)
    shared = {
        name
        for each in others
        for name in _functions_on(entry_path(each, nodes, library), nodes, library)
    }
    return frozenset(
        name for name in own if name in shared and not library.function(name).signature.attr
    )


def _functions_on(path: Iterable[str], nodes: Iterable[NodeDef], library: Functions) -> list[str]:
    """The functions that the calls of a path call, outermost first."""
    functions: list[str] = []
    for call in path:
        functions.append(next(node for node in nodes if node.name == call).attr["f"].func.name)
        nodes = library.function(functions[-1]).node_def
    return functions


def _only_call(nodes: Mapping[str, NodeDef], outputs: Iterable[str]) -> NodeDef | None:
    """The one call whose outputs these ops are or pass on; None when they compute anything else."""
    sources = {_passed_on(nodes, name) for name in outputs}
    call = nodes.get(sources.pop()) if len(sources) == 1 else None
    if call is None or call.op not in FUNCTION_CALLS or "f" not in call.attr:
        return None
    # What is computed on the way to the call is work too: the last layer of a model may be a call.
    return call if all(_is_input(nodes, text) for text in call.input) else None


def _passed_on(nodes: Mapping[str, NodeDef], op: str) -> str:
    """The op whose tensor an op passes on, past any Identity; the op itself if it does not."""
    visited = set()
    while op in nodes and op not in visited and nodes[op].op in IDENTITY and nodes[op].input:
        visited.add(op)
        op = nodes[op].input[0].partition(":")[0]
    return op


def _is_input(nodes: Mapping[str, NodeDef], text: str) -> bool:
    """Whether an input is an argument, a placeholder, a constant or state, unchanged."""
    at = _passed_on(nodes, text.partition(":")[0])
    return text[:1] == "^" or at not in nodes or not nodes[at].input
