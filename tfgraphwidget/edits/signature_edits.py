"""Edits of the signatures of a graph, as values of a patch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tfgraphwidget.graph import Signature

Signatures = tuple[Signature, ...]
Tensors = tuple[tuple[str, str], ...]  # (key, tensor), or (new key, key)


@dataclass(frozen=True)
class NewSignature:
    """A signature that comes after the others."""

    signature: Signature

    def on(self, signatures: Signatures) -> Signatures:
        """The signatures after the edit."""
        return (*signatures, self.signature)


@dataclass(frozen=True)
class SignatureRemoval:
    """A signature that goes."""

    name: str

    def on(self, signatures: Signatures) -> Signatures:
        """The signatures after the edit."""
        return tuple(signature for signature in signatures if signature.name != self.name)


@dataclass(frozen=True)
class SignatureRenaming:
    """Another name of a signature, which stays where it is among the others."""

    name: str
    new: str

    def on(self, signatures: Signatures) -> Signatures:
        """The signatures after the edit."""
        return tuple(replace(s, name=self.new) if s.name == self.name else s for s in signatures)


@dataclass(frozen=True)
class KeyRenaming:
    """Another key of an input or output of a signature."""

    name: str
    key: str
    new: str

    def on(self, signatures: Signatures) -> Signatures:
        """The signatures after the edit."""
        keys = {self.key: self.new}
        return tuple(
            replace(s, inputs=_with_keys(s.inputs, keys), outputs=_with_keys(s.outputs, keys))
            if s.name == self.name
            else s
            for s in signatures
        )


@dataclass(frozen=True)
class KeyOrder:
    """Another order of a signature's inputs and outputs: pairs of a new and the present key."""

    name: str
    inputs: Tensors
    outputs: Tensors

    def on(self, signatures: Signatures) -> Signatures:
        """The signatures after the edit."""
        return tuple(
            replace(
                s,
                inputs=_in_order(s.inputs, self.inputs),
                outputs=_in_order(s.outputs, self.outputs),
            )
            if s.name == self.name
            else s
            for s in signatures
        )


SignatureEdit = NewSignature | SignatureRemoval | SignatureRenaming | KeyRenaming | KeyOrder


def _with_keys(tensors: Tensors, keys: Mapping[str, str]) -> Tensors:
    return tuple((keys.get(key, key), tensor) for key, tensor in tensors)


def _in_order(tensors: Tensors, keys: Tensors) -> Tensors:
    by_key = dict(tensors)
    return tuple((new, by_key[key]) for new, key in keys if key in by_key)
