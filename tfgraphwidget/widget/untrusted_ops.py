"""What a page says of a file that is not trusted: what its ops do beside computing, and that they
do not run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfgraphwidget.graph import Effect, effects_of, untrusted_ops
from tfgraphwidget.naming import count_text

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

TRUSTED = "This file is trusted now: its ops run, whatever they do."
# What ops of a file may do, after "may".
_DEEDS = {
    Effect.READS_FILES: "read files",
    Effect.WRITES_FILES: "write files",
    Effect.NETWORK: "use the network",
    Effect.PYTHON: "call Python",
    Effect.WAITS: "wait without end",
    Effect.ENDS_PROCESS: "end the kernel",
    Effect.UNKNOWN: "do what is not known",
}


def untrusted_sentences(editor: GraphEditor) -> str:
    """What ops of the file may do beside computing, and when to trust it; "" if none does."""
    if editor.source.trusted:
        return ""
    trust, index = editor._core.source.trust, editor._core.navigator.outermost.index
    untrusted = untrusted_ops(index, trust)
    effects, total = list(untrusted.effects), untrusted.total
    if not total:  # they are in functions that no op calls
        uncalled = list(effects_of(index, trust).of_library())
        effects = [effect for effect in Effect if any(op.effect is effect for op in uncalled)]
        total = len(uncalled)
    deeds = _join([_DEEDS[effect] for effect in effects]) or "do more than compute"
    ops = f" ({count_text(total, 'op')})" if total else ""
    return (
        f"Ops of this file may {deeds}{ops}, so they do not run. Turn this on only if you know "
        "where the file comes from; it stays on."
    )


def effect_sentences(editor: GraphEditor, name: str) -> tuple[str, ...]:
    """What an op, or a scope's ops, do beside computing, unless the file is trusted."""
    view = editor._core.view
    untrusted = untrusted_ops(view.index, editor._core.source.trust)
    if not untrusted.by_op:
        return ()
    return untrusted.sentences((name,) if name in view.index.ids else view.holding(name).ops)


def _join(deeds: list[str]) -> str:
    *others, last = deeds or [""]
    return f"{', '.join(others)} or {last}" if others else last
