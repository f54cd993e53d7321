"""A signature of a part of a function's body, as ops of the graph that calls the function.

A signature names tensors of the graph, and a function runs only where it is called. So the part is
copied to the graph, with placeholders for its inputs, and reads the variables and tables that calls
give to the function.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfgraphwidget.edits import Change, NewSignature, Patch, Report
from tfgraphwidget.edits.clone import NodeCopier, excerpt, placeholder
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import ANY_PORT, GraphIndex, Signature, is_placeholder, needed_ops
from tfgraphwidget.naming import enclosing_scopes, free_name, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.tf_types import NodeDef

_COPY = (
    "Signature {!r} computes a copy of {:,} ops, in {!r} of the graph that was opened; later edits "
    "of the function do not change it."
)


def copy_for_signature(
    body: GraphIndex,
    origins: Mapping[str, str],
    arguments: tuple[str, ...],
    signature: Signature,
    graph: GraphIndex,
) -> Patch:
    """The patch of a graph that has a signature of a function's tensors: the copied ops, and the
    signature by the tensors of the graph.

    Args:
        origins: Ops of the body that represent what calls give -> ops of the graph.
        arguments: The arguments of the function, as tensors of the body.
        graph: The graph that was opened, which calls the function.

    Raises:
        NotClonable: The part needs an argument that is not an input, or holds what no copy can have
            right.
    """
    reused = {
        op: origin for op, origin in origins.items() if op in body.ids and _is_fixed(graph, origin)
    }
    inputs, outputs = (
        tuple(tensor for _, tensor in side) for side in (signature.inputs, signature.outputs)
    )
    part = excerpt(body, reused, inputs, outputs, (), arguments)
    needed = set(part.names(part.inputs))
    if not inputs and needed:
        raise GraphEditError(
            f"signatures.add({signature.name!r}): its outputs need {min(needed)!r}, an argument of "
            "the function; " + in_cell(f"give it as an input: inputs={{'x': {min(needed)!r}}}.")
        )
    names_in_use = {name.lower() for name in (*graph.names, *graph.scopes.names)} | graph.reserved
    scope = free_name(signature.name, names_in_use)
    fed: dict[tuple[int, int], NodeDef] = {}
    used_names = set(names_in_use)
    for key, tensor in signature.inputs:
        op, port = split_tensor(tensor)
        name = free_name(f"{signature.name}_{key}", used_names)
        used_names |= {name.lower(), *(each.lower() for each in enclosing_scopes(name))}
        fed[body.ids[op], port or 0] = placeholder(
            body, body.ids[op], port or 0, name, GraphEditError
        )
    names = {body.names[op]: f"{scope}/{body.names[op]}" for op in part.ops}
    replacements = {(op, ANY_PORT): origin for op, origin in reused.items()}
    replacements |= {(body.names[op], port): node.name for (op, port), node in fed.items()}
    copier = NodeCopier(names, replacements, stays=False)
    copies = copier.copy_nodes([body.nodes[op] for op in part.ops], scope)
    results = []
    for key, tensor in signature.outputs:
        op, port = split_tensor(tensor)
        if (body.ids[op], port or 0) in fed:
            results.append((key, f"{fed[body.ids[op], port or 0].name}:0"))
        else:
            results.append((key, f"{names.get(op) or reused[op]}:{port or 0}"))
    keyed_inputs = tuple(
        (key, f"{fed[body.tensor(tensor)].name}:0") for key, tensor in signature.inputs
    )
    return Patch(
        add=Change(nodes=(*fed.values(), *copies)),
        scopes=(scope,),
        report=Report((_COPY.format(signature.name, len(copies), scope), *copier.dropped)),
        signature_edits=(NewSignature(Signature(signature.name, keyed_inputs, tuple(results))),),
    )


def _is_fixed(graph: GraphIndex, op: str) -> bool:
    """Whether an op of the graph has its value without being fed."""
    if op not in graph.ids:
        return False
    needed = needed_ops(graph, (), [op])
    return not any(is_placeholder(graph.types[i]) for i in needed.nonzero()[0].tolist())
