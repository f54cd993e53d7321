"""What an editor's session held when the editor was written to an archive, by the names that ops
have now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tfgraphwidget import sources
from tfgraphwidget.graph import GraphIndex, VariableDef, definitions
from tfgraphwidget.runtime import session as sessions

if TYPE_CHECKING:
    from tfgraphwidget.edits import Patch
    from tfgraphwidget.sources import Source, StoredTensor


class SavedState:
    """The saved state of the archive that was opened; nothing for all else.

    `edits` are those that the archive itself has made again; None as long as they are being made.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.edits: tuple[Patch, ...] | None = None

    def names(self, edits: Sequence[Patch]) -> dict[str, str]:
        """The names that ops had when the editor was written, by those after these edits."""
        saved = self._source.saved_editor
        if saved is None:
            return {}
        names = (*saved.values, *saved.tables, *saved.iterators)
        if self.edits is None:
            return {name: name for name in names}
        return _names_after(names, self.edits, edits)

    def values(self, edits: Sequence[Patch]) -> dict[str, StoredTensor]:
        """The saved editor's values of variables, by the names of their handle ops after these
        edits.

        A variable that an edit had removed has its value again when that edit is undone.
        """
        saved, before = self._source.saved_editor, self.edits
        if saved is None:
            return {}
        own_edits = {id(patch) for patch in before or ()}
        later = [] if before is None else [patch for patch in edits if id(patch) not in own_edits]
        added_later = {node.name for patch in later for node in patch.add.nodes}
        values = {op: value for op, value in saved.removed.items() if op not in added_later}
        for now, name in self.names(edits).items():
            if name in saved.values:
                values[now] = saved.values[name]
        return values

    def load_into_new(self, index: GraphIndex, patch: Patch) -> None:
        """Load the saved editor's values into the variables that an edit of the archive has added,
        as it is made again: later ones read the values.
        """
        graph, session = self._source.graph, self._source.session
        if graph is None or session is None:
            return
        new = {node.name for node in patch.add.nodes}
        values = {name: tensor for name, tensor in self.values(()).items() if name in new}
        variables = definitions(index, [index.ids[name] for name in values if name in index.ids])
        sessions.load_contents(
            sessions.SessionContents(_read(variables.values(), values)), session, graph
        )

    def load(self, index: GraphIndex, edits: Sequence[Patch]) -> None:
        """Load what the saved editor's session held, also into what edits have added."""
        source, saved = self._source, self._source.saved_editor
        if saved is None or source.graph is None or source.session is None:
            return
        ids, types, stored = index.ids, index.types, source.stored
        names = {now: name for now, name in self.names(edits).items() if now in ids}
        values = {op: value for op, value in self.values(edits).items() if op in ids}
        tables = {op: saved.tables[name] for op, name in names.items() if name in saved.tables}
        iterators = {
            op: saved.iterators[name] for op, name in names.items() if name in saved.iterators
        }
        if stored is not None and stored.folder() is not None:
            # The import of a SavedModel has filled all other tables.
            tables = {op: t for op, t in tables.items() if types[ids[op]].startswith("Mutable")}
        if not edits and not saved.edits and stored is not None:
            # The import has loaded all variables that are stored under their own keys.
            values = {op: value for op, value in values.items() if stored.key(op) != value.name}
        variables = definitions(index, [ids[handle] for handle in values])
        contents = sessions.SessionContents(
            _read(variables.values(), values),
            {op: tuple(tensor.read() for tensor in table) for op, table in tables.items()},
            {op: iterator.read() for op, iterator in iterators.items()},
        )
        sessions.load_contents(contents, source.session, source.graph)


def _names_after(
    names: Iterable[str], before: Sequence[Patch], after: Sequence[Patch]
) -> dict[str, str]:
    """The names of ops after other edits of the same graph, by their names after the edits
    `before`; without ops that are gone. Both lists begin with the same edits.
    """
    common = 0
    while common < min(len(before), len(after)) and before[common] is after[common]:
        common += 1
    undone = [patch.inverse() for patch in reversed(before[common:])]
    names_now = {name: name for name in names}
    for patch in [*undone, *after[common:]]:
        new_names = dict(patch.renamed)
        removed = {node.name for node in patch.remove.nodes} - new_names.keys()
        names_now = {
            name: new_names.get(now, now) for name, now in names_now.items() if now not in removed
        }
    return {now: name for name, now in names_now.items()}


def _read(
    variables: Iterable[VariableDef], values: Mapping[str, StoredTensor]
) -> dict[str, object]:
    """The values of variables, by their handle ops; of a partitioned one, that of the slice."""
    return {v.handle: sources.variable_slice(values[v.handle].read(), v) for v in variables}
