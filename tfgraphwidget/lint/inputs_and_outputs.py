"""Rules about what callers of a graph feed and fetch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfgraphwidget.edits import RemoveSignature
from tfgraphwidget.edits.rewrite import SetInput
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import PLACEHOLDERS, REQUIRED_PLACEHOLDERS, Signature, traversal
from tfgraphwidget.lint.finding import Finding
from tfgraphwidget.lint.rule import LintContext, rule
from tfgraphwidget.naming import count_text, names_text, split_tensor
from tfgraphwidget.sentences import editor_call


@rule("batch-size")
def batch_size(context: LintContext) -> Iterator[Finding]:
    """Constants in which the batch size of an input is baked, so that the graph runs with no
    other.
    """
    index = context.index
    shapes: dict[int, tuple[int | None, ...]] = {}
    for op in context.of_types(REQUIRED_PLACEHOLDERS.__contains__):
        shape = index.shape(op, 0)
        if context.needed_mask[op] and shape and shape[0] is not None:
            shapes[op] = shape
    of_rows = {shape[0] for shape in shapes.values() if len(shape) > 1}
    for op, shape in shapes.items():
        if shape[0] not in of_rows:
            # A vector by itself need not be a batch; one beside a batch may be its labels.
            continue
        name = index.names[op]
        command = SetInput(f"{name}:0", shape=(None, *shape[1:]), fix=True)
        try:
            stale = context.plan(SetInput(f"{name}:0", shape=(None, *shape[1:]))).report.constants
        except GraphEditError as refusal:
            yield Finding(
                "batch-size",
                "warning",
                f"Placeholder {name!r} takes batches of {shape[0]} only, and " + refusal.sentence,
                (name, *refusal.ops),
            )
            continue
        constants = tuple(dict.fromkeys((constant.function, constant.op) for constant in stale))
        baked = f", which is also in {count_text(len(constants), 'constant')}" if constants else ""
        can_be_fixed = all(constant.proposed is not None for constant in stale)
        yield Finding(
            "batch-size",
            "warning",
            f"Placeholder {name!r} takes batches of {shape[0]} only{baked}.",
            (name, *(op for function, op in constants if not function)),
            context.fix(command) if can_be_fixed else None,
        )


@rule("unknown-shape")
def unknown_shape(context: LintContext) -> Iterator[Finding]:
    """Placeholders of which not even the rank is known: converters refuse them."""
    index = context.index
    for op in context.of_types(REQUIRED_PLACEHOLDERS.__contains__):
        if context.needed_mask[op] and index.shape(op, 0) is None:
            name = index.names[op]
            yield Finding(
                "unknown-shape",
                "warning",
                f"Placeholder {name!r} has no shape; give it one: "
                + editor_call("passes.set_input", f"{name!r}, shape=[...]")
                + ".",
                (name,),
            )


@rule("missing-tensors", "error")
def missing_tensors(context: LintContext) -> Iterator[Finding]:
    """Signatures of the file that name tensors which the graph does not have, so that they cannot
    be called.
    """
    for name, tensors in context.missing_tensors.items():
        ops = dict.fromkeys(split_tensor(tensor)[0] for tensor in tensors)
        yield Finding(
            "missing-tensors",
            "error",
            f"Signature {name!r} names {names_text(tensors)}, which the graph does not have.",
            tuple(op for op in ops if op in context.index.ids),
            context.fix(RemoveSignature(name)),
        )


@rule("signature-boundary", "error")
def signature_boundary(context: LintContext) -> Iterator[Finding]:
    """Signatures that take a tensor twice, or one that none of their outputs needs, or lack one
    that these need.

    A call feeds the inputs, whichever op makes them otherwise: what computes them is not needed.
    """
    index = context.index
    for signature in context.signatures:
        outputs = [tensor for _, tensor in signature.outputs]
        fed = _fed_tensors(context, signature)
        computed = _computed_ops(context, signature, fed)
        needed = traversal.backward(index, computed, stop=fed.values())
        keys: dict[str, list[str]] = {}
        for key, tensor in signature.inputs:
            keys.setdefault(tensor, []).append(key)
        for tensor, several in keys.items():
            if len(several) > 1:
                yield Finding(
                    "signature-boundary",
                    "error",
                    f"Signature {signature.name!r} takes {tensor!r} as {names_text(several)}; "
                    "TensorFlow loads no signature that takes a tensor twice.",
                    (split_tensor(tensor)[0],),
                )
        unused = {}
        for key, tensor in signature.inputs:
            consumers = traversal.consumers_of(index, [fed[tensor]] if tensor in fed else [])
            if tensor not in outputs and not needed[consumers].any():
                unused[key] = split_tensor(tensor)[0]
        if unused:
            yield Finding(
                "signature-boundary",
                "warning",
                f"Signature {signature.name!r} takes {names_text(list(unused))}, which none of its "
                "outputs needs.",
                tuple(name for name in unused.values() if name in index.ids),
            )
        placeholders = context.of_types(REQUIRED_PLACEHOLDERS.__contains__)
        missing = [index.names[op] for op in placeholders if needed[op]]
        if missing:
            yield Finding(
                "signature-boundary",
                "error",
                f"Signature {signature.name!r} needs placeholder {missing[0]!r}, which it does not "
                "take.",
                tuple(missing),
            )


def _fed_tensors(context: LintContext, signature: Signature) -> dict[str, tuple[int, int]]:
    """The inputs of a signature that the graph has, as (op, port).

    For a placeholder its control edges count too: TensorFlow puts what is fed in the place of the
    whole op.
    """
    index, fed = context.index, dict[str, tuple[int, int]]()
    for _, tensor in signature.inputs:
        name, port = split_tensor(tensor)
        op = index.ids.get(name)
        if op is not None:
            fed[tensor] = (op, traversal.ANY_PORT if index.types[op] in PLACEHOLDERS else port or 0)
    return fed


def _computed_ops(
    context: LintContext, signature: Signature, fed: Mapping[str, tuple[int, int]]
) -> list[int]:
    """The ops of a signature's outputs, without outputs that are inputs: these are what is fed."""
    names = (split_tensor(tensor)[0] for _, tensor in signature.outputs if tensor not in fed)
    return [context.index.ids[name] for name in names if name in context.index.ids]
