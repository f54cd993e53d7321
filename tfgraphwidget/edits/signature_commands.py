"""Edits of signatures: the keys by which callers of a saved model feed and fetch its tensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, Report, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.signature_edits import (
    KeyOrder,
    NewSignature,
    SignatureRemoval,
    SignatureRenaming,
)
from tfgraphwidget.errors import GraphEditError, InvalidArgument, NameTaken, UnknownName
from tfgraphwidget.graph import Signature, pairs
from tfgraphwidget.naming import did_you_mean, free_name, names_text, split_tensor
from tfgraphwidget.sentences import editor_call

# TensorFlow keeps the ops that initialize a SavedModel as signatures of such names.
_OF_TENSORFLOW = "__saved_model_"


@register
@dataclass(frozen=True)
class AddSignature(Command):
    """Give the graph a signature, by which a saved model can be called; `editor.signatures` has
    them by name.

    In the body of a function that the graph calls, the part between the tensors is copied to the
    graph, where it shares the variables of the function.

    Args:
        name: Its name; "serving_default" is the one that is called by default.
        inputs: Tensors, or {key: tensor}; a key is by default the last part of the op's name. None
            for the placeholders, or arguments of the function, that the outputs need.
        outputs: Tensors, or {key: tensor}. Without inputs and outputs it has those that are marked.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The name is taken, there are no outputs, or a tensor cannot be fed or
            fetched.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.signatures.add("features", outputs={"hidden": "net/hidden/Relu:0"})
        >>> editor.signatures["features"]
        Signature(name='features', inputs=(('x', 'x:0'),),
                  outputs=(('hidden', 'net/hidden/Relu:0'),))
    """

    method: ClassVar[str] = "signatures.add"

    name: str
    inputs: kinds.KeyedTensors = ()
    outputs: kinds.KeyedTensors = ()

    @classmethod
    def from_call(
        cls, resolver: kinds.Resolver, /, name: str, inputs: object = None, outputs: object = None
    ) -> Command:
        """The command of a call, which may leave the inputs and outputs out."""
        return cls(name, *resolver.signature_boundary(name, inputs, outputs))

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Added signature {self.name}"

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Name it {self.name!r}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch, which changes no op."""
        _check_free(self.name, context)
        if not self.outputs:
            raise GraphEditError(
                f"Signature {self.name!r} has no outputs; name at least one tensor that it gives."
            )
        pairs(context.index, [tensor for _, tensor in (*self.inputs, *self.outputs)])
        for side, tensors in (("input", self.inputs), ("output", self.outputs)):
            keys = [key for key, _ in tensors]
            twice = [key for key in keys if not key or keys.count(key) > 1]
            if twice:
                raise GraphEditError(
                    f"Signature {self.name!r} has the {side} key {twice[0]!r} twice or without a "
                    "name; give each tensor a key of its own."
                )
        self._check_inputs_differ()
        return Patch(
            signature_edits=(NewSignature(Signature(self.name, self.inputs, self.outputs)),)
        )

    def _check_inputs_differ(self) -> None:
        """Raises GraphEditError for a tensor under two keys, of which TensorFlow could feed only
        one.

        An output can have several (tests/export/test_converted_models.py).
        """
        keys: dict[str, str] = {}
        for key, tensor in self.inputs:
            if tensor in keys:
                raise GraphEditError(
                    f"Signature {self.name!r} takes {tensor!r} as {keys[tensor]!r} and {key!r}, "
                    "and TensorFlow loads no signature that takes a tensor twice; name it once.",
                    [split_tensor(tensor)[0]],
                )
            keys[tensor] = key


@register
@dataclass(frozen=True)
class RemoveSignature(Command):
    """Remove a signature. Its ops stay; `freeze`, `strip_training` and `remove` take what nothing
    needs any more.

    Args:
        name: The signature.

    Returns:
        What was changed.

    Raises:
        GraphEditError: There is no such signature.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.signatures.add("net", outputs={"logits": "net/logits:0"})
        >>> report = editor.signatures.remove("net")
        >>> editor.signatures
        {}
    """

    method: ClassVar[str] = "signatures.remove"

    name: kinds.SignatureName

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Removed signature {self.name}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch, which changes no op."""
        if self.name not in context.missing_tensors:
            signature_of(self.name, context.signatures)
        return Patch(signature_edits=(SignatureRemoval(self.name),))


@register
@dataclass(frozen=True)
class RenameSignature(Command):
    """Rename a signature; one of its keys is renamed by `editor.rename("signature:key", new)`.

    Args:
        name: The signature.
        new: Its new name.

    Returns:
        What was changed.

    Raises:
        GraphEditError: There is no such signature, or the new name is taken.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.signatures.add("net", outputs={"logits": "net/logits:0"})
        >>> report = editor.signatures.rename("net", "serving_default")
        >>> list(editor.signatures)
        ['serving_default']
    """

    method: ClassVar[str] = "signatures.rename"

    name: kinds.SignatureName
    new: str

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Renamed signature {self.name} to {self.new}"

    def fix_label(self) -> str:
        """A few words for a button."""
        return f"Name it {self.new!r}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch, which changes no op."""
        signature_of(self.name, context.signatures)
        if self.new == self.name:
            return nothing_to_do(f"The signature is called {self.new!r} already.")
        _check_free(self.new, context)
        return Patch(signature_edits=(SignatureRenaming(self.name, self.new),))


@register
@dataclass(frozen=True)
class OrderSignature(Command):
    """Set the order of the inputs and outputs of a signature, in which `to_module()` and
    `to_function()` have them, and their keys.

    Files keep no order: TensorFlow reads the keys of a signature sorted.

    Args:
        name: The signature.
        inputs: All keys of its inputs in their new order, or {new key: key}; None for the present
            ones.
        outputs: The same for its outputs.

    Returns:
        What was changed.

    Raises:
        GraphEditError: There is no such signature, the keys are not all of its keys, or two new
            ones are equal.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.signatures.add("loss", outputs=["loss"])
        >>> report = editor.signatures.reorder("loss", inputs={"labels": "labels", "image": "x"})
        >>> editor.signatures["loss"].inputs
        (('labels', 'labels:0'), ('image', 'x:0'))
    """

    method: ClassVar[str] = "signatures.reorder"

    name: kinds.SignatureName
    inputs: kinds.KeysInOrder = ()
    outputs: kinds.KeysInOrder = ()

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Ordered the inputs and outputs of signature {self.name}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch, which changes no op."""
        signature = signature_of(self.name, context.signatures)
        sides = [
            self._order(side, keys, tensors)
            for side, keys, tensors in (
                ("inputs", self.inputs, signature.inputs),
                ("outputs", self.outputs, signature.outputs),
            )
        ]
        order = KeyOrder(self.name, *sides)
        if order.on((signature,)) == (signature,):
            return nothing_to_do(f"The keys of signature {self.name!r} are in that order already.")
        note = "Files keep no order of keys: TensorFlow reads them sorted."
        return Patch(signature_edits=(order,), report=Report((note,)))

    def _order(
        self, side: str, keys: kinds.KeysInOrder, tensors: tuple[tuple[str, str], ...]
    ) -> tuple[tuple[str, str], ...]:
        """The new keys of one side in their order, each with the present one."""
        present = tuple(key for key, _ in tensors)
        renamed = tuple((key, key) if isinstance(key, str) else key for key in keys or present)
        if sorted(key for _, key in renamed) != sorted(present):
            raise GraphEditError(
                f"signatures.reorder({self.name!r}, {side}={[key for _, key in renamed]}): the "
                f"{side} are {names_text(present)}; give each of them once."
            )
        new = [key for key, _ in renamed]
        twice = [key for key in new if not key or new.count(key) > 1]
        if twice:
            raise InvalidArgument(
                side,
                f"Signature {self.name!r} would have {twice[0]!r} as a key of its {side} twice or "
                "without a letter; give each of them a key of its own.",
            )
        return renamed


def signature_of(name: str, signatures: Iterable[Signature]) -> Signature:
    """The signature of a name. Raises UnknownName if there is none."""
    by_name = {signature.name: signature for signature in signatures}
    if name not in by_name:
        if by_name:
            there = f"it has {names_text(list(by_name))}"
        else:
            there = "it has none: " + editor_call("signatures.add") + " adds one"
        raise UnknownName(
            f"The graph has no signature {name!r}; " + there + did_you_mean(name, by_name)
        )
    return by_name[name]


def _check_free(name: str, context: PlanContext) -> None:
    if not name or name.startswith(_OF_TENSORFLOW):
        advice = (
            "since TensorFlow keeps such names for itself" if name else "such as serving_default"
        )
        raise GraphEditError(
            f"{name!r} cannot be the name of a signature; give another one, {advice}."
        )
    names = {signature.name for signature in context.signatures}
    if name in names:
        free = free_name(name, {each.lower() for each in names})
        raise NameTaken(
            f"The graph has a signature {name!r} already; {free!r} is free.", name=name, free=free
        )
