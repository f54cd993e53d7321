"""Two models beside each other: which op is which, in what they differ, and by how much.

`Beside` is what `tgw.beside` returns. Its document is all that the page knows of both together;
each pane draws its own graph. `labextension/src/beside/document.ts` is the document's twin.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfgraphwidget import export
from tfgraphwidget.argument_checks import ArgumentChecks
from tfgraphwidget.editor.beside_steps import (
    Step,
    StructureSteps,
    difference_lines,
    largest_by_op,
    tensor_line,
    value_step,
)
from tfgraphwidget.editor.evaluation import WEIGHTS, navigator_of
from tfgraphwidget.editor.partners import Partners, call_around
from tfgraphwidget.editor.saving import page_input
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph import Difference, DifferenceKind, GraphIndex, called_definitions
from tfgraphwidget.naming import count_text, split_tensor
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import open_source, tf_protos
from tfgraphwidget.tf_types import TensorKey

if TYPE_CHECKING:
    from tfgraphwidget.runtime.measure import Comparison, FirstDivergence, TensorDifference

MAX_STEPS = 2_000  # rows of the list: more than a person steps through, and a page lays out at once
Editor = Any  # a GraphEditor, which makes what is here
MAX_NOTES = 5  # sentences on what is not an op


class Beside(ArgumentChecks):
    """Two models in two panes that move, zoom, expand and select together; see `tgw.beside`.

    False in `if` where nothing differs. As the last line of a cell it is displayed.

    Attributes:
        before: The editor of the first model, in the left pane.
        after: The editor of the second one, in the right pane.
        refusal: Why the values could not be compared, in a sentence; "" if they were, or if no
            feeds were given.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.connect("net/hidden/Add:0", "net/logits", 0)
        >>> both = editor.beside()
        >>> len(both.before), len(both.after), [op.name for op in both.difference.changed]
        (74, 74, ['net/logits'])
    """

    def __init__(
        self,
        before: Editor,
        after: Editor,
        show: Callable[..., Any],
        pairs: Mapping[str, str],
        *,
        is_original: bool = False,
        ignored: Collection[DifferenceKind] = (),
    ) -> None:
        self.before, self.after, self.refusal = before, after, ""
        self._show, self._is_original, self._ignored = show, is_original, ignored
        self._pairs_by_hand = [dict(pairs)]  # the present ones last, for `unpair`
        if pairs:
            self._keep_pairs()
        self._feeds_and_tolerance: tuple[Any, Any] | None = None  # of what values were compared
        self._comparison: Comparison | None = None
        self._compared: tuple[GraphIndex, GraphIndex] | None = None
        self._difference = self._whole = Difference()
        self._widget: Any = None

    @property
    def difference(self) -> Difference:
        """In what the structure differs, as `editor.diff` says it, of the graphs as they are now.

        >>> import tfgraphwidget as tgw
        >>> tgw.beside(tgw.example(), tgw.example()).difference
        No difference.
        """
        self._update()
        return self._difference

    @property
    def pairs(self) -> dict[str, str]:
        """The ops that were paired by hand: {op of the first model: op of the second}.

        >>> import tfgraphwidget as tgw
        >>> tgw.beside(tgw.example(), tgw.example(), pairs={"x": "labels"}).pairs
        {'x': 'labels'}
        """
        return dict(self._pairs_by_hand[-1])

    def pair(self, before: str, after: str) -> None:
        """Pair two ops by hand, where they are not matched as they should be; `unpair` undoes it.

        Both graphs are compared again, and the values that were compared.

        Args:
            before: The name of an op of the first model.
            after: The name of an op of the second one.

        Raises:
            UnknownName: A model has no op of that name.
            GraphEditError: Both are one graph, before and after its edits.

        Example:
            >>> import tfgraphwidget as tgw
            >>> both = tgw.beside(tgw.example(), tgw.example())
            >>> both.pair("x", "labels")
            >>> [pair.name for pair in both.difference.pairs if pair.evidence == "hand"]
            ['labels']
            >>> both.unpair()
            >>> bool(both)
            False
        """
        if self._is_original:
            raise GraphEditError(_OF_ONE_GRAPH)
        (pair,) = _by_name(self.before, self.after, {before: after}).items()
        others = {a: b for a, b in self.pairs.items() if a != pair[0] and b != pair[1]}
        self._pairs_by_hand.append({**others, pair[0]: pair[1]})
        self._compare_again()

    def unpair(self) -> None:
        """Undo the last `pair`; does nothing where there is none.

        >>> import tfgraphwidget as tgw
        >>> both = tgw.beside(tgw.example(), tgw.example())
        >>> both.pair("x", "labels")
        >>> both.unpair()
        >>> both.pairs
        {}
        """
        if len(self._pairs_by_hand) > 1:
            self._pairs_by_hand.pop()
            self._compare_again()

    def _compare_again(self) -> None:
        """Compare the structure again, and the values if these were."""
        how, had_values = self._feeds_and_tolerance, self._comparison is not None
        self._comparison = self._compared = None
        self.refusal = ""
        self._keep_pairs()
        if had_values and how is None:
            self.refusal = "Ops were paired since the values were compared; compare again."
        self._update()
        if how is None:
            self.after._core.listeners.notify()
        else:
            self.compare(*how)

    def _keep_pairs(self) -> None:
        """Let both editors keep the pairs, so that `save("net.tgw")` writes them."""
        before, after = self.before._core, self.after._core
        before.pairs[after.source.title] = self.pairs
        after.pairs[before.source.title] = self._pairs_from_after

    @property
    def _pairs_from_after(self) -> dict[str, str]:
        return {after: before for before, after in self._pairs_by_hand[-1].items()}

    @property
    def comparison(self) -> Comparison | None:
        """How far the tensors are apart; None without feeds, and once a graph was edited.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.connect("net/hidden/Add:0", "net/logits", 0)
        >>> both = editor.beside(feeds={"x:0": [[1, 2, 3, 4]]})
        >>> both.comparison.first_divergence.tensor
        'net/logits:0'
        """
        self._update()
        return self._comparison

    @property
    def widget(self) -> Any:
        """Both as an ipywidgets widget; always the same one, until that is closed.

        >>> import tfgraphwidget as tgw
        >>> tgw.example().beside().widget.height
        640
        """
        if self._widget is None or self._widget.comm is None:
            self._widget = self._show(self)
        return self._widget

    def save(self, path: str | PathLike[str]) -> Path:
        """Write both panes, the list and the numbers as one HTML page, which needs no kernel.

        Args:
            path: The file, whose name ends in ".html".

        Returns:
            The path.

        Raises:
            GraphEditError: If it cannot be written; an old file is unchanged then.

        Example:
            >>> import tempfile, tfgraphwidget as tgw
            >>> page = tgw.example().beside().save(tempfile.mkdtemp() + "/compare.html")
            >>> page.name
            'compare.html'
        """
        file = Path(path)
        if file.suffix.lower() != ".html":
            raise InvalidArgument(
                "path", f"{str(path)!r} is no page; give it a name that ends in '.html'."
            )
        document = self.document()
        before, after = (page_input(editor._core) for editor in (self.before, self.after))
        return export.save_pages(file, before, after, document)

    def leave(self) -> None:
        """Mark no differences in the drawings any more.

        Example:
            >>> import tfgraphwidget as tgw
            >>> editor = tgw.example()
            >>> both = editor.beside()
            >>> difference = both.difference
            >>> both.leave()
            >>> editor.view.difference is None
            True
        """
        after, before = self.after._core.evaluator, self.before._core.evaluator
        if after.difference is self._difference:
            after.difference = None
        if before.difference_to is self._difference:
            before.difference_to = None

    # What the page knows

    def document(self) -> bytes:
        """What the page knows of both graphs together: gzipped JSON."""
        difference, comparison = self.difference, self.comparison
        structure = StructureSteps(difference, self._partners)
        steps = [*self._steps_of_values(), *structure.steps()]
        record = {
            "titles": _titles(self.before, self.after, is_original=self._is_original),
            "summary": self._summary(len(steps)),
            "sentences": list(self._sentences()),
            "scopes": self._partners.scopes,
            "ops": self._partners.exceptions,
            "pairs": [*self.pairs.items()],
            "evidence": self._evidence(),
            "steps": [asdict(structure.to_shown_ops(step)) for step in steps[:MAX_STEPS]],
            "total": len(steps),
            "compared": comparison is not None,
        }
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        return gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0)

    def _update(self) -> None:
        """Compare again if one of the graphs has changed."""
        indexes = self.before._core.index, self.after._core.index
        if self._compared is not None and all(
            old is new for old, new in zip(self._compared, indexes, strict=True)
        ):
            return
        evaluator = self.after._core.evaluator
        before = None if self._is_original else self.before
        self._whole = evaluator.diff(before, self._pairs_from_after)
        self._difference = self._whole.without(self._ignored)
        if self._compared is not None and (self._comparison is not None or self.refusal):
            self._comparison = self._feeds_and_tolerance = None
            self.refusal = "The graph was edited since its values were compared; compare again."
        self._compared = indexes
        self.__dict__.pop("_partners", None)
        evaluator.difference = self._difference
        self.before._core.evaluator.difference_to = self._difference

    def compare(
        self,
        feeds: Mapping[TensorKey, object] | None,
        tolerance: float | Mapping[str, float] | None = None,
    ) -> None:
        """Compare all tensors on these feeds, or variables and constants without a run, and color
        both drawings by their difference.

        What stands in the way is not raised: `refusal` says it, and the page too.

        Args:
            feeds: {tensor of the second model: value}; None to compare variables and constants.
            tolerance: What counts as equal; see `editor.compare`.

        Example:
            >>> import tfgraphwidget as tgw
            >>> both = tgw.beside(tgw.example(), tgw.example())
            >>> both.compare({"y:0": 1})
            >>> both.refusal.startswith("The values were not compared: This graph has no op 'y'")
            True
        """
        self._update()
        self.refusal, self._comparison, self._feeds_and_tolerance = "", None, (feeds, tolerance)
        try:
            comparison = self.after._core.evaluator.compare(
                feeds,
                None if self._is_original else self.before,
                WEIGHTS if feeds is None else "all",
                tolerance=tolerance,
                pairs=self._pairs_from_after,
            )
        except GraphEditError as error:
            self.refusal = "The values were not compared: " + error.sentence
            self.after._core.listeners.notify()
        else:
            self.take(comparison)

    def take(self, comparison: Comparison) -> None:
        """Show a comparison of all tensors that was made before.

        Args:
            comparison: What `editor.compare` of the second model gave for the first one.

        Example:
            >>> import tfgraphwidget as tgw
            >>> a, b = tgw.example(), tgw.example()
            >>> both = tgw.beside(a, b)
            >>> both.take(b.compare({"x:0": [[1, 2, 3, 4]]}, a, "all"))
            >>> len(both.comparison) > 20
            True
        """
        self._update()
        self._comparison = comparison
        distances = largest_by_op(comparison)
        others = {split_tensor(each.name)[0]: split_tensor(each.other)[0] for each in comparison}
        theirs = {others[op]: distance for op, distance in distances.items()}
        for editor, values in ((self.before, theirs), (self.after, distances)):
            ids, largest = editor._core.index.ids, dict[str, float]()
            for op, value in values.items():
                drawn = op if op in ids else call_around(op, ids)
                if drawn:
                    largest[drawn] = max(largest.get(drawn, 0.0), value)
            editor._core.coloring.color_by(_Named(largest) or None, 1)
        self.after._core.listeners.notify()  # a page that shows both has other numbers now

    @cached_property
    def _partners(self) -> Partners:
        before, after = self.before._core.index, self.after._core.index
        return Partners(before, after, self._whole)

    def _evidence(self) -> dict[str, list[str]]:
        """The ops of the second graph by what shows which op of the first they are, without those
        of which there are most.
        """
        ids, names = self.after._core.index.ids, dict[str, list[str]]()
        for pair in self._whole.pairs:
            if pair.name in ids:
                names.setdefault(pair.evidence, []).append(pair.name)
        most = max(names, key=lambda kind: len(names[kind]), default="")
        return {kind: [] if kind == most else ops for kind, ops in names.items()}

    def _summary(self, steps: int) -> str:
        difference, partners = self._difference, self._partners
        if not len(partners.before) or not len(partners.after):
            return "One of the two graphs has no ops."
        if not partners.after_of:
            return "The two graphs have no op in common."
        if not difference and not steps:
            size = count_text(len(partners.after), "op")
            return f"The two graphs are equal: {size}" + (
                ", and no value differs." if self._comparison is not None else "."
            )
        rest = difference.rest
        changed = {change.name for change in rest.changed} | {
            each.path[0] for each in rest.inside if len(each.path) == 1
        }
        counts = {
            "added": len(rest.added),
            "removed": len(rest.removed),
            "changed": len(changed),
            "renamed": len(rest.renamed),
        }
        texts = [f"{count:,} {what}" for what, count in counts.items() if count]
        if self._comparison is not None:
            beyond = sum(each.differs for each in self._comparison)
            tensors = count_text(len(self._comparison), self._comparison.what)
            texts.append(f"{beyond:,} of {tensors} differ")
        return " · ".join(texts) if texts else "No op differs otherwise."

    def _sentences(self) -> Iterator[str]:
        if self._difference.versions:
            yield self._difference.version_line
        yield from map(str, self._difference.explained)
        if self.refusal:
            yield self.refusal
        if self._comparison is not None:
            yield from self._comparison.notes
        others = [
            f"{row['what']} {row['op']}: {row['change']}"
            for row in self._difference.rows()
            if row["what"].partition(" ")[0] in ("function", "signature", "asset")
        ]
        yield from others[:MAX_NOTES]
        if len(others) > MAX_NOTES:
            yield f"{len(others) - MAX_NOTES:,} more differences of functions and signatures"

    def _steps_of_values(self) -> Iterator[Step]:
        """The first divergence, and then what differs beyond the tolerance, the worst first."""
        comparison = self._comparison
        if comparison is None:
            return
        first = comparison.first_divergence
        if first is not None:
            yield self._first_step(comparison, first)
        for each in comparison.worst:
            if each.differs and (first is None or first.path or each.name != first.tensor):
                yield value_step("value", each, difference_lines(each))

    def _first_step(self, comparison: Comparison, first: FirstDivergence) -> Step:
        """The first divergence: its inputs, which agree, and its outputs, which do not."""
        inside = bool(first.path)
        outermost = next((each for each in comparison if each.differs), first.difference)
        where = [("in function", " / ".join(first.path), first.tensor)] if inside else []
        rounds = [] if first.round is None else [("in round", "", f"{first.round:,}")]
        inputs = [tensor_line("input", each) for each in first.inputs]
        outputs = [] if inside else [tensor_line("output", each) for each in self._read_by(first)]
        lines = [*where, *rounds, *difference_lines(first.difference), *inputs, *outputs]
        if first.note:
            lines.append(("note", "", first.note))
        at = outermost if inside else first.difference
        return value_step("first", at, lines)

    def _read_by(self, first: FirstDivergence) -> Iterator[TensorDifference]:
        """The differences of what is computed from the first tensor that differs."""
        index, comparison = self.after._core.index, self._comparison
        if comparison is None or first.op not in index.ids:
            return
        consumers = {index.names[op] for op in index.consumer_lists[index.ids[first.op]]}
        for each in comparison:
            if split_tensor(each.name)[0] in consumers:
                yield each

    # As a value

    def __bool__(self) -> bool:
        return bool(self.difference) or bool(self.comparison)

    def __repr__(self) -> str:
        texts = [repr(self.difference)]
        if self.comparison is not None:
            texts += ["", repr(self.comparison)]
        if self.refusal:
            texts += ["", self.refusal]
        return "\n".join(texts)

    def _repr_mimebundle_(self, **kwargs: object) -> object:
        """The widget, with the differences as text for where it cannot be shown."""
        data, *more = self.widget._repr_mimebundle_(**kwargs)
        return ({**data, "text/plain": repr(self)}, *more)


_OF_ONE_GRAPH = "beside: pairs are of two models; " + in_cell(
    "name the other: beside(other, pairs={'op here': 'op there'})."
)


class _Named(dict[str, float]):
    """Values by op, with what the legend calls them."""

    name = "difference"


def open_beside(
    first: object,
    second: object,
    open_editor: Callable[[object], Editor],
    show: Callable[..., Any],
    pairs: Mapping[TensorKey, object] | None,
    feeds: Mapping[TensorKey, object] | None,
    tolerance: float | Mapping[str, float] | None,
    *,
    values: bool = False,
    ignore: DifferenceKind | Collection[DifferenceKind] | None = None,
) -> Beside:
    """Both models beside each other; see `tgw.beside`. `second` None is the original of `first`.

    Args:
        show: Makes the widget of the result.
        pairs: {op of the first: op of the second}, where these are not matched as they should be;
            None for those that an editor was saved with.
        values: Whether variables and constants are compared if no feeds are given.

    Raises:
        GraphEditError: `pairs` are given for one graph.
    """
    is_original = second is None
    if is_original and pairs:
        raise GraphEditError(_OF_ONE_GRAPH)
    after = _editor_of(first if is_original else second, open_editor)
    before = _original(after) if is_original else _editor_of(first, open_editor)
    if before._core is after._core:
        before = _copy(after, after._core.index, " (again)")
    ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore or ())
    by_hand = _kept_pairs(before, after) if pairs is None else _by_name(before, after, pairs)
    both = Beside(before, after, show, by_hand, is_original=is_original, ignored=ignored)
    if feeds is not None or values:
        both.compare(feeds, tolerance)
    return both


def _editor_of(thing: object, open_editor: Callable[[object], Editor]) -> Editor:
    """The editor that was given, or one of what `tgw.edit` opens: without the marks of a signature,
    whose color would cover those of differences.
    """
    if navigator_of(thing) is not None:
        return thing
    editor = open_editor(thing)
    editor._core.view.choose(None)
    return editor


def _original(editor: Editor) -> Editor:
    """An editor of the current graph as it was opened."""
    return _copy(editor, editor._core.view.target.first, " (as it was opened)")


def _copy(editor: Editor, index: GraphIndex, title: str) -> Editor:
    """An editor of a copy of a graph, with the same scopes open."""
    core = editor._core
    graph = tf_protos.GraphDef(node=index.nodes, versions=index.extras.versions())
    functions = called_definitions(index.nodes, index.functions, index.extras.function)
    graph.library.function.extend(functions[name] for name in sorted(functions))
    source = open_source(graph, trusted=core.source.trust.is_given)
    source.title = f"{core.navigator.path[-1]}{title}"
    copy = type(editor)(source, core.show, core.layout)
    copy._core.view.opened = core.view.opened
    return copy


def _by_name(
    before: Editor, after: Editor, pairs: Mapping[TensorKey, object] | None
) -> dict[str, str]:
    """{op: op} as the caller pairs them. Raises UnknownName."""

    def op_name(index: GraphIndex, thing: object) -> str:
        """The op of a name, or of something that has one."""
        name = thing if isinstance(thing, str) else getattr(thing, "name", "")
        return index.names[index.op(name)]

    here, there = before._core.index, after._core.index
    return {op_name(here, one): op_name(there, other) for one, other in (pairs or {}).items()}


def _kept_pairs(before: Editor, after: Editor) -> dict[str, str]:
    """{op: op} as they were paired before one of the two editors was saved."""
    source, other_source = before._core.source, after._core.source
    pairs: dict[str, str] = {}
    if source.saved_editor is not None:
        pairs |= source.saved_editor.pairs.get(other_source.title, {})
    if other_source.saved_editor is not None:
        back = other_source.saved_editor.pairs.get(source.title, {})
        pairs |= {here: there for there, here in back.items()}
    ids, other_ids = before._core.index.ids, after._core.index.ids
    return {here: there for here, there in pairs.items() if here in ids and there in other_ids}


def _titles(before: Editor, after: Editor, *, is_original: bool) -> tuple[str, str]:
    """What each of two panes shows: the name of the file or graph; the path where both have one."""
    if is_original:
        return "as it was opened", "as it is now"
    paths = before.view.breadcrumb, after.view.breadcrumb
    one, other = (" / ".join(path) for path in paths)
    # Of two files in different folders the names may be equal.
    names = Path(paths[0][0]).name or one, Path(paths[1][0]).name or other
    if names[0] != names[1]:
        return names
    return (one, other) if one != other else (f"a: {one}", f"b: {other}")
