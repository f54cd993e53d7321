"""What a person is told of an edit that was carried out."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.edits.patch import NewShape, Patch
from tfgraphwidget.graph.tensors import shape_text


@dataclass(frozen=True)
class Edits:
    """Names of the ops that an edit added, removed and changed in place, in graph order.

    `renamed` are the (old, new) names of those that are removed and added only because they go by another name now.

    `shapes` are the static shapes that are others now. `lost` says what the session could not keep while it was
    renewed, `notes` what else one should know; one sentence each. `constants` are those that hold a size which the
    edit has changed (`edits.sizes.Encoded`).
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    shapes: tuple[NewShape, ...] = ()
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    constants: tuple[Any, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, patch: Patch, lost: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> Edits:
        """What a patch has done."""
        return cls(
            added=tuple(node.name for node in patch.add.nodes),
            removed=tuple(node.name for node in patch.remove.nodes),
            changed=tuple(edited.name for edited in patch.changed),
            shapes=patch.known_shapes,
            lost=lost,
            notes=(*patch.notes, *notes),
            constants=patch.constants,
            renamed=patch.renamed,
        )

    def __str__(self) -> str:
        counts = [(len(names), what) for names, what in self._counted() if names]
        done = ", ".join(f"{count} op{'s' if count > 1 else ''} {what}" for count, what in counts) or "no op changed"
        done = _renamed(self.renamed) if self.renamed else done
        shapes = [f"{s.op}:{s.port} {shape_text(s.before)} → {shape_text(s.after)}" for s in self.shapes[:5]]
        more = [f"and {len(self.shapes) - 5} more shapes"] if len(self.shapes) > 5 else []
        return "\n".join((done, *shapes, *more, *self.lost, *self.notes))

    def _counted(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        return (self.added, "added"), (self.removed, "removed"), (self.changed, "changed")

    def __repr__(self) -> str:
        return f"<Edits: {self}>"


def _renamed(pairs: tuple[tuple[str, str], ...]) -> str:
    """What got another name: an op, or the scope of several. Who reads it is changed as well, and goes without saying.

    >>> _renamed((("a/x", "b/x"),)), _renamed((("a/x", "b/x"), ("a/y/z", "b/y/z")))
    ("renamed 'a/x' to 'b/x'", "renamed 'a' to 'b', 2 ops")
    """
    old, new = (posixpath.commonpath(names) for names in zip(*pairs, strict=True))
    return f"renamed {old!r} to {new!r}" + (f", {len(pairs):,} ops" if len(pairs) > 1 else "")
