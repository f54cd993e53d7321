"""Signatures: the inputs and outputs by which a saved model is called, as a mapping of the
editor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfgraphwidget.argument_checks import ArgumentChecks, set_property
from tfgraphwidget.editor.edit_methods import SignatureMethods
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import Signature
from tfgraphwidget.naming import did_you_mean


class Signatures(SignatureMethods, Mapping[str, Signature], ArgumentChecks):
    """The signatures of the graph by name, after the edits: {"serving_default": Signature(...)}.

    `tgw.edit(path, signature=name)` opens one.

    >>> import tempfile, tfgraphwidget as tgw
    >>> path = tgw.example().save(tempfile.mkdtemp() + "/saved/", "x:0", "net/logits:0")
    >>> editor = tgw.edit(path)
    >>> list(editor.signatures), editor.signatures["serving_default"].outputs
    (['serving_default'], (('logits', 'net/logits:0'),))
    """

    def __init__(self, core: EditorCore) -> None:
        self._core = core

    __setattr__ = set_property

    def __getitem__(self, name: str) -> Signature:
        signatures = self._by_name()
        if name not in signatures:
            raise _unknown(name, signatures)
        return signatures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._core.executor.signatures)

    def __repr__(self) -> str:
        return repr(self._by_name())

    def _by_name(self) -> dict[str, Signature]:
        return {signature.name: signature for signature in self._core.executor.signatures}

    def open(self, name: str) -> None:
        """Show what a signature computes: its function's body, or the graph with marked inputs and
        outputs.

        A file opens by itself on "serving_default", or on its only signature.

        Args:
            name: The name of the signature: `signatures` lists them.

        Raises:
            UnknownName: There is no such signature.

        Example:
            >>> import tempfile, tfgraphwidget as tgw
            >>> folder = tempfile.mkdtemp() + "/model"
            >>> embed, classify = ("x:0", "net/hidden/Relu:0"), ("x:0", "net/logits:0")
            >>> path = tgw.example().save(folder, signatures={"embed": embed, "classify": classify})
            >>> editor = tgw.edit(folder)
            >>> editor.signatures.open("embed")
            >>> editor.inputs, editor.outputs
            (('x:0',), ('net/hidden/Relu:0',))
        """
        core = self._core
        core.navigator.open_signature(core.source, self[name])
        core.listeners.notify()


def _unknown(name: object, signatures: Mapping[str, Signature]) -> UnknownName:
    """The refusal of a name that no signature has."""
    some = (
        f"the graph has {', '.join(map(repr, signatures))}" if signatures else "the graph has none"
    )
    return UnknownName(
        f"There is no signature {name!r}: {some}{did_you_mean(str(name), signatures)}"
    )
