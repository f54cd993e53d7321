"""The difference of two graphs, op by op."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.attributes import NAMES, AttributeDigests
from tfgraphwidget.graph.channel_scales import ReadVariable
from tfgraphwidget.graph.contraction import calls_of_savers
from tfgraphwidget.graph.converted_ops import is_converted
from tfgraphwidget.graph.edges import Mask, no_collections
from tfgraphwidget.graph.explanations import Detail, Explainer, Explanation, OpChange
from tfgraphwidget.graph.function_refs import FunctionRef, called_functions
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.inlining import InlinedGraph, MatchedGraphs, match_graphs
from tfgraphwidget.graph.op_matching import EVIDENCE, ops_with_other_inputs
from tfgraphwidget.graph.op_types import ENTER
from tfgraphwidget.graph.signature import Signature
from tfgraphwidget.graph.stateful_resources import key_of, persistent_state
from tfgraphwidget.graph.table import frame
from tfgraphwidget.graph.traversal import mask_of
from tfgraphwidget.naming import colocated_with
from tfgraphwidget.progress import report_each
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.tf_types import FunctionDef, NodeDef

if TYPE_CHECKING:
    from pandas import DataFrame

_Item = TypeVar("_Item")
COLUMNS = ("change", "op", "was", "what", "before", "after")
_MOST = 12  # lines of each kind that are printed
_MOST_LINES = 60  # that are printed: what one screen shows
DifferenceKind = Literal["names", "attributes", "shapes", "values", "devices", "versions"]
"""What a difference can leave out."""
DIFFERS = ("", "added", "changed", "removed", "renamed")
"""How an op may differ, by the number that a drawing has for it."""
_SHAPES = frozenset({"attr shape", "attr output_shapes", "attr shapes"})
_NUMBERS = re.compile(r"_?\d+")  # of functions and layers, which TensorFlow and Keras count
# min_consumer of graphs with functions; all of TensorFlow read it since 2015
FUNCTIONS_CONSUMER = 12
# Attributes
_KEY = "shared_name"
_COLOCATION = "_class"
_FRAME = "frame_name"
_VALUE = "value"


class ChangedValue(NamedTuple):
    """A variable whose value differs; `was` is its name before, `distance` the largest difference
    of two elements, `norms` are the Euclidean norms before and after, `cosine` that of the angle
    between both, and `histograms` are bars of both; None for what has none. Of a variable
    that only one of two checkpoints has, one name is "".
    """

    name: str
    was: str
    distance: float = math.inf
    norms: tuple[float, float] | None = None
    cosine: float | None = None
    histograms: tuple[str, str] | None = None

    def __str__(self) -> str:
        if not self.name or not self.was:
            return f"{self.name or self.was}: {'only after' if self.name else 'only before'}"
        parts = [f"differs by up to {self.distance:.3g}"]
        if self.norms is not None:
            parts.append("norm {:.4g} → {:.4g}".format(*self.norms))
        if self.cosine is not None:
            parts.append(f"cosine {self.cosine:.4g}")
        return f"{self.name}: {', '.join(parts)}"

    @property
    def details(self) -> tuple[Detail, ...]:
        """How it differs."""
        if not self.name or not self.was:
            return (Detail("value", self.was, self.name),)
        details = [Detail("value", "", f"{self.distance:.6g}")]
        if self.norms is not None:
            details.append(Detail("value norm", *(f"{norm:.6g}" for norm in self.norms)))
        if self.cosine is not None:
            details.append(Detail("value cosine", "", f"{self.cosine:.6g}"))
        if self.histograms is not None:
            details.append(Detail("value histogram", *self.histograms))
        return tuple(details)


class FunctionChanges(NamedTuple):
    """Names of functions in the libraries; those renamed as (before, after).

    False where functions are renamed alone: TensorFlow's names of functions have numbers, which
    differ from process to process.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


_NONE = FunctionChanges()


class SignatureChange(NamedTuple):
    """A signature that both graphs have, with the keys that one of them lacks or that name another
    tensor.
    """

    name: str
    details: tuple[Detail, ...]

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(map(str, self.details))}"


class SignatureChanges(NamedTuple):
    """Names of signatures, and those that changed; those renamed as (before, after)."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[SignatureChange, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


_SAME_SIGNATURES = SignatureChanges()


class AssetChanges(NamedTuple):
    """Names of asset files of SavedModels, by their content; those with the same content renamed as
    (before, after).
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


_SAME_ASSETS = AssetChanges()


@dataclass(frozen=True)
class Asset:
    """An asset file of a SavedModel: a vocabulary, say.

    Attributes:
        path: Where it is, as the constant of the graph has it.
        digest: A digest of its content; None for a file that cannot be read.
    """

    path: str
    digest: bytes | None


Assets = Mapping[str, Asset]
"""The asset files of a SavedModel by their names in its folder "assets"."""


class CalledBody(NamedTuple):
    """The body of a function that an op calls, as a graph; `arguments` are the names of the ops
    that its arguments are there, in their order.
    """

    graph: GraphIndex
    arguments: tuple[str, ...]


Readers = tuple[ReadVariable | None, ReadVariable | None]
"""What reads the values of variables of two graphs."""


OpenBody = Callable[[GraphIndex, int, FunctionRef], CalledBody]
"""The body of a function that an op calls. Raises GraphEditError for a body that cannot be read."""


class OpPair(NamedTuple):
    """An op that both graphs have: its name, the one before, and what shows that it is the same:
    "name", "structure" (what is around it), "values" (of a constant) or "hand".
    """

    name: str
    was: str
    evidence: str


class Inside(NamedTuple):
    """The difference of two functions that an op of both graphs calls; `path` are the ops that lead
    there.
    """

    path: tuple[str, ...]
    difference: Difference


@dataclass(frozen=True, repr=False)
class Difference:
    """The differences of two states of a graph: names of ops, in graph order.

    `renamed` are (name before, name after) of ops that are the same by what is around them; those
    of them that changed too are among the `changed`. `inside` has the differences of functions that
    ops of both graphs call; `functions` the others of the libraries, of which those that are only
    renamed are a note and not a difference. False when there is no difference; its length is the
    number of ops that differ. `values` are the variables whose values
    differ, where these were compared, `signatures` what differs in those of files, and `assets` in
    the asset files of SavedModels. `pairs` are all ops that both graphs have, with what shows that
    they are the same. `explained` says which differences are one usual change, such as
    freezing; `rest` is without them. `between` says in words what it leads from and to, where that
    is known; it is printed first. `function` is the path of the function that alone was compared,
    where the graphs around it were not. `versions` are those that TensorFlow reads the graphs by,
    where both are known and differ: a note and not a difference, since each TensorFlow writes its
    own.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[OpChange, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    functions: FunctionChanges = _NONE
    inside: tuple[Inside, ...] = ()
    values: tuple[ChangedValue, ...] = ()
    signatures: SignatureChanges = _SAME_SIGNATURES
    assets: AssetChanges = _SAME_ASSETS
    pairs: tuple[OpPair, ...] = field(default=(), compare=False)
    explained: tuple[Explanation, ...] = field(default=(), compare=False)
    between: tuple[str, str] | None = field(default=None, compare=False)
    function: str = field(default="", compare=False)
    versions: tuple[Detail, ...] = field(default=(), compare=False)

    def __bool__(self) -> bool:
        parts = (*self.signatures, *self.assets)
        return bool(len(self) or self.inside or self.values or self.functions or any(parts))

    def __len__(self) -> int:
        both = {change.name for change in self.changed} | {after for _, after in self.renamed}
        return (
            len(self.added)
            + len(self.removed)
            + len(both)
            + sum(len(each.difference) for each in self.inside)
        )

    @property
    def rest(self) -> Difference:
        """The differences that are not explained."""
        explained = self.explained
        if not (explained or self.inside):
            return self
        added, removed, functions = set[str](), set[str](), set[str]()
        renamed = set[tuple[str, str]]()
        explained_details = defaultdict[str, set[Detail]](set)  # by the op's name before
        for explanation in explained:
            added.update(explanation.added)
            removed.update(explanation.removed)
            renamed.update(explanation.renamed)
            functions.update(explanation.functions_added, explanation.functions_removed)
            for op in explanation.changed:
                explained_details[op.was].update(op.details)
        changed = []
        for op in self.changed:
            details = tuple(d for d in op.details if d not in explained_details[op.was])
            if details:
                changed.append(op._replace(details=details))
        inside = (each._replace(difference=each.difference.rest) for each in self.inside)
        return replace(
            self,
            added=_without(self.added, added),
            removed=_without(self.removed, removed),
            changed=tuple(changed),
            renamed=_without(self.renamed, renamed),
            functions=self.functions._replace(
                added=_without(self.functions.added, functions),
                removed=_without(self.functions.removed, functions),
            ),
            inside=tuple(each for each in inside if each.difference),
            explained=(),
        )

    def without(self, kinds: Collection[DifferenceKind]) -> Difference:
        """The differences but those of some kinds.

        Args:
            kinds: "names" of ops that are the same otherwise,
                "attributes" (but shapes and values), "shapes" of placeholders and variables,
                "values" of constants and variables, "devices", "versions".
        """
        if not kinds:
            return self
        inside = (each._replace(difference=each.difference.without(kinds)) for each in self.inside)
        explained = (
            each._replace(changed=_without_details(each.changed, kinds)) for each in self.explained
        )
        return replace(
            self,
            changed=_without_details(self.changed, kinds),
            renamed=() if "names" in kinds else self.renamed,
            values=() if "values" in kinds else self.values,
            versions=() if "versions" in kinds else self.versions,
            inside=tuple(each for each in inside if each.difference),
            explained=tuple(explained),
        )

    def ops(self, index: GraphIndex) -> dict[str, Mask]:
        """For each of "added", "removed" and "changed" (renamed too) one bool per op of either
        graph.

        Args:
            index: The graph.
        """
        both = [name for change in self.changed for name in (change.name, change.was)]
        both += [name for pair in self.renamed for name in pair]
        both += [each.path[0] for each in self.inside]
        masks = {}
        for kind, names in (("added", self.added), ("removed", self.removed), ("changed", both)):
            masks[kind] = mask_of(index, (index.ids[n] for n in names if n in index.ids))
        return masks

    def marks(self, ops: int, *, is_after: bool) -> dict[str, int]:
        """The ops of one graph that differ, by the place in `DIFFERS` of how they do.

        That a scope with most ops has another name is one fact, and no mark on each of them.

        Args:
            ops: How many ops the graph has.
            is_after: Whether these are of the graph that the difference leads to.
        """
        scopes = Counter(renamed_parts(*pair) for pair in self.renamed)
        whole = {scope for scope, count in scopes.most_common(1) if count > ops / 2}
        kinds: dict[str, str] = {}
        for pair in self.renamed:
            if renamed_parts(*pair) not in whole:
                kinds[pair[is_after]] = "renamed"
        for op in self.changed:
            kinds[op.name if is_after else op.was] = "changed"
        old_names = {after: before for before, after in self.renamed}
        for each in self.inside:
            name = each.path[0].partition(":")[0]
            kinds[name if is_after else old_names.get(name, name)] = "changed"
        if is_after:
            kinds |= dict.fromkeys(self.added, "added")
        else:
            kinds |= dict.fromkeys(self.removed, "removed")
        return {name: DIFFERS.index(kind) for name, kind in kinds.items()}

    def rows(self) -> list[dict[str, str]]:
        """A dict with the keys COLUMNS for each op added, removed or renamed, each detail, function
        and so on.
        """
        names = FunctionChanges._fields
        entries = [("explained", "", "", each.change, "", str(each)) for each in self.explained]
        entries += [
            ("noted", "", "", f"version {d.what}", d.before, d.after) for d in self.versions
        ]
        entries += [("added", name, "", "op", "", "") for name in self.added]
        entries += [("removed", name, name, "op", "", "") for name in self.removed]
        entries += [
            ("renamed", after, before, "name", before, after) for before, after in self.renamed
        ]
        differing: tuple[OpChange | ChangedValue, ...] = (*self.changed, *self.values)
        entries += [
            ("changed", c.name, c.was, d.what, d.before, d.after)
            for c in differing
            for d in c.details
        ]
        for kind, group in zip(names[:3], self.functions[:3], strict=True):
            entries += [(kind, str(name), "", "function", "", "") for name in group]
        entries += [("added", name, "", "signature", "", "") for name in self.signatures.added]
        entries += [
            ("removed", name, name, "signature", "", "") for name in self.signatures.removed
        ]
        entries += [
            ("changed", c.name, c.name, f"signature {d.what}", d.before, d.after)
            for c in self.signatures.changed
            for d in c.details
        ]
        entries += [
            ("renamed", after, before, "signature", before, after)
            for before, after in self.signatures.renamed
        ]
        for kind, group in zip(AssetChanges._fields[:3], self.assets[:3], strict=True):
            entries += [(kind, str(name), "", "asset", "", "") for name in group]
        entries += [
            ("renamed", after, before, "asset", before, after)
            for before, after in self.assets.renamed
        ]
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in entries]
        for path, difference in self.inside:
            rows += [{**row, "op": " / ".join((*path, row["op"]))} for row in difference.rows()]
        return rows

    def table(self) -> DataFrame:
        """The rows as a pandas DataFrame."""
        return frame(self.rows(), COLUMNS)

    @property
    def version_line(self) -> str:
        """The versions that differ, in a line; "" if none does."""
        return f"versions: {', '.join(map(str, self.versions))}" if self.versions else ""

    def __repr__(self) -> str:
        lines = self._lines() if self else self._lines_without_difference()
        if len(lines) > _MOST_LINES:
            left_out = len(lines) - _MOST_LINES + 1
            lines[_MOST_LINES - 1 :] = [f"and {left_out:,} more lines: .table() has all"]
        return "\n".join(lines)

    def _lines_without_difference(self) -> list[str]:
        """What is printed where nothing differs, with the notes."""
        lines = ["No difference."]
        if self.function:
            alone = f"No difference in {self.function!r}, which alone was compared; "
            fix = editor_call("view.leave", "0") + ", and compare again, for the whole graph."
            lines = [alone + fix]
        if self.versions:
            lines.append(self.version_line)
        return lines + _item_lines("function renamed, equal otherwise", self.functions.renamed)

    def _lines(self) -> list[str]:
        """What is printed of the differences."""
        unexplained = self.rest
        lines: list[str] = []
        if self.between:
            lines.append(f"{' → '.join(self.between)}:")
        if self.versions:
            lines.append(self.version_line)
        lines += map(str, self.explained)
        lines += _item_lines("op added", unexplained.added)
        lines += _item_lines("op removed", unexplained.removed)
        lines += _item_lines("op changed", unexplained.changed)
        moves = _moves(unexplained.renamed)
        lines += _item_lines("op renamed", moves, count=len(unexplained.renamed))
        lines += _item_lines("value changed", self.values)
        for kind, functions in zip(FunctionChanges._fields, unexplained.functions, strict=True):
            lines += _item_lines(f"function {kind}", functions)
        for kind, signatures in zip(SignatureChanges._fields, self.signatures, strict=True):
            lines += _item_lines(f"signature {kind}", signatures)
        for kind, assets in zip(AssetChanges._fields, self.assets, strict=True):
            lines += _item_lines(f"asset {kind}", assets)
        inside = [each for each in self.inside if each.difference.rest]
        for path, difference in inside[:_MOST]:
            lines += [f"in {' / '.join(path)}:", *repr(difference).splitlines()]
        if len(inside) > _MOST:
            lines.append(f"in {len(inside) - _MOST:,} more functions")
        return lines


def _without(items: Iterable[_Item], left_out: Collection[_Item]) -> tuple[_Item, ...]:
    """The items but those that are left out."""
    return tuple(item for item in items if item not in left_out)


def _without_details(
    changed: Iterable[OpChange], kinds: Collection[DifferenceKind]
) -> tuple[OpChange, ...]:
    """The ops that differ by other details than those of some kinds, with these details."""
    left = []
    for op in changed:
        details = tuple(detail for detail in op.details if _kind_of(detail) not in kinds)
        if details:
            left.append(op._replace(details=details))
    return tuple(left)


def _kind_of(detail: Detail) -> DifferenceKind | None:
    """The kind of a detail; None for one that no option leaves out, such as an input."""
    if detail.what == "device":
        return "devices"
    if detail.what in _SHAPES:
        return "shapes"
    if detail.what == f"attr {_VALUE}":
        return "values"
    return "attributes" if detail.what.startswith("attr ") else None


def renamed_parts(before: str, after: str) -> tuple[str, str]:
    """Two names without the parts at the end that are equal: the scope that was renamed.

    Args:
        before: The name of an op before.
        after: Its name after.

    >>> renamed_parts("net/a/w", "web/a/w")
    ('net', 'web')
    """
    here, there = before.split("/"), after.split("/")
    while len(here) > 1 and len(there) > 1 and here[-1] == there[-1]:
        here, there = here[:-1], there[:-1]
    return "/".join(here), "/".join(there)


def _moves(renamed: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Renamings as people see them: a scope that was renamed is one."""
    counts = Counter(renamed_parts(before, after) for before, after in renamed)
    moves = []
    for (before, after), count in counts.items():
        ops = f" ({count:,} ops)" if count > 1 else ""
        moves.append(f"{before} → {after}{ops}")
    return tuple(moves)


def _item_lines(title: str, items: Sequence[object], count: int | None = None) -> list[str]:
    """The first items below a line that counts them, or says `count` where one item represents
    several; no line without items.
    """
    if not items:
        return []
    count = len(items) if count is None else count
    noun, _, rest = title.partition(" ")
    plural = "s" if count > 1 else ""
    lines = [f"{count:,} {noun}{plural} {rest}"]
    for item in items[:_MOST]:
        # A renaming is a plain tuple; a named one has a text of its own.
        text = " → ".join(item) if type(item) is tuple else item
        lines.append(f"    {text}")
    if len(items) > _MOST:
        lines.append(f"    and {len(items) - _MOST:,} more")
    return lines


def difference(
    before: GraphIndex | InlinedGraph,
    after: GraphIndex | InlinedGraph,
    renamed: Mapping[str, str] | None = None,
    bodies: tuple[OpenBody, OpenBody] | None = None,
    *,
    whole_library: bool = True,
    assets: tuple[Assets, Assets] | None = None,
    outputs: tuple[Collection[str], Collection[str]] = ((), ()),
    readers: Readers = (None, None),
) -> Difference:
    """Compare two graphs.

    An attribute at its default equals a missing one, the order of control inputs does not matter,
    and functions are compared by their bodies.

    Args:
        before: The first graph.
        after: The second graph.
        renamed: Names of ops in `before` -> names in `after`, as far as they are known.
        bodies: What opens functions that ops of `before` and of `after` call; their differences are
            `inside` then.
        whole_library: Whether functions that no op calls are compared too.
        assets: The asset files of both, where both are SavedModels. They are compared by content:
            constants with paths of files that have the same content are equal.
        outputs: The tensors that each graph is there for. A call that the other graph does not have
            is compared by its body where these need it. () for all calls.
        readers: What reads the values of variables of each graph, by the names of their handles;
            None where they are not known. They are read where a batch norm was folded into them.

    Returns:
        What differs in `after`.
    """
    if before is after:
        return Difference()
    with no_collections():
        matched = match_graphs(before, after, renamed or {}, outputs)
        comparison = GraphComparison(matched, bodies, assets=assets or ({}, {}), readers=readers)
        changes = comparison.difference(whole_library=whole_library)
    changes = replace(changes, versions=_version_details(comparison.before, comparison.after))
    return changes if assets is None else replace(changes, assets=asset_changes(*assets))


def _version_details(before: GraphIndex, after: GraphIndex) -> tuple[Detail, ...]:
    """The versions that differ, of graphs of which they are known."""
    one, other = before.extras.versions(), after.extras.versions()
    if one is None or other is None or one == other or is_converted(before) != is_converted(after):
        return ()
    min_consumer = max(one.min_consumer, FUNCTIONS_CONSUMER)
    other_min_consumer = max(other.min_consumer, FUNCTIONS_CONSUMER)
    details = []
    for what, was, now in (
        ("producer", one.producer, other.producer),
        ("min_consumer", min_consumer, other_min_consumer),
        ("bad_consumers", one.bad_consumers, other.bad_consumers),
    ):
        if was != now:
            details.append(Detail(what, _version_text(was), _version_text(now)))
    return tuple(details)


def _version_text(version: object) -> str:
    """A version, or some, as text: "27", "27 28", "none"."""
    if isinstance(version, Iterable):
        return " ".join(map(str, version)) or "none"
    return str(version)


def asset_changes(before: Assets, after: Assets) -> AssetChanges:
    """Compare the asset files of two SavedModels, by name and content.

    Args:
        before: Those of the first.
        after: Those of the second.

    Returns:
        What differs in `after`. One that has another name alone, with the same content, is renamed.

    >>> asset_changes({"a.txt": Asset("1/a.txt", b"1")}, {"a.txt": Asset("2/a.txt", b"2")}).changed
    ('a.txt',)
    """
    both = [name for name in before if name in after]
    removed = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    renamed: dict[str, str] = {}
    for name in removed:
        digest = before[name].digest
        if digest is None:
            continue
        same = next((other for other in added if after[other].digest == digest), None)
        if same is not None:
            added.remove(same)
            renamed[name] = same
    return AssetChanges(
        added=tuple(added),
        removed=tuple(name for name in removed if name not in renamed),
        changed=tuple(name for name in both if before[name].digest != after[name].digest),
        renamed=tuple(renamed.items()),
    )


def signature_changes(
    before: Iterable[Signature], after: Iterable[Signature], renamed: Mapping[str, str] | None
) -> SignatureChanges:
    """Compare the signatures of two graphs, by name and key.

    Args:
        before: Those of the first graph.
        after: Those of the second graph.
        renamed: Names of ops in the first graph -> names in the second; None where the graphs were
            not compared, so that of the tensors nothing is said.

    Returns:
        What differs in `after`. One that has another name alone, with the same keys of the same
        tensors, is renamed.
    """
    old = {signature.name: signature for signature in before}
    new = {signature.name: signature for signature in after}
    removed = [name for name in old if name not in new]
    added = [name for name in new if name not in old]
    moves: dict[str, str] = {}
    for name in removed:
        for other in added:
            if not _signature_details(old[name], new[other], renamed):
                added.remove(other)
                moves[name] = other
                break
    changed = []
    for name, signature in old.items():
        if name in new:
            details = _signature_details(signature, new[name], renamed)
            if details:
                changed.append(SignatureChange(name, details))
    return SignatureChanges(
        added=tuple(added),
        removed=tuple(name for name in removed if name not in moves),
        changed=tuple(changed),
        renamed=tuple(moves.items()),
    )


def _signature_details(
    was: Signature, now: Signature, renamed: Mapping[str, str] | None
) -> tuple[Detail, ...]:
    """The keys that only one of two signatures has, and those of other tensors where `renamed` says
    which ops are the same.
    """
    old, new = _tensors(was), _tensors(now)
    details = []
    for key in {**old, **new}:
        is_same = key in old and key in new
        if is_same and renamed is not None:
            is_same = _new_name(old[key], renamed) == new[key]
        if not is_same:
            details.append(Detail(key, old.get(key, ""), new.get(key, "")))
    return tuple(details)


def _tensors(signature: Signature) -> dict[str, str]:
    """The tensors of a signature, by what they are and their keys: {"input image": "x:0"}."""
    sides = (("input", signature.inputs), ("output", signature.outputs))
    return {f"{side} {key}": tensor for side, pairs in sides for key, tensor in pairs}


def _new_name(tensor: str, renamed: Mapping[str, str]) -> str:
    """The name of a tensor whose op may have another name now."""
    op, colon, port = tensor.partition(":")
    return f"{renamed.get(op, op)}{colon}{port}"


class GraphComparison:
    """Two indexes, and which op of the one is which of the other."""

    def __init__(
        self,
        matched: MatchedGraphs,
        bodies: tuple[OpenBody, OpenBody] | None = None,
        compared: set[tuple[str, str]] | None = None,
        assets: tuple[Assets, Assets] = ({}, {}),
        arguments: Mapping[str, str] | None = None,
        readers: Readers = (None, None),
    ) -> None:
        self._readers = readers
        self.arguments = dict(arguments or {})
        self.matched = matched
        self.before, self.after = self.matched.before.index, self.matched.after.index
        self.attributes, self.pair = self.matched.attributes, self.matched.pair
        self._bodies = bodies
        self._compared = set() if compared is None else compared
        self._assets = assets
        self._digests = tuple(map(_digests_by_path, assets))
        # Ops of `after` and the attributes that name compared functions.
        self._entered: set[tuple[int, str]] = set()
        self.renamed = {}
        for was, j in zip(self.before.names, self.pair, strict=True):
            if j >= 0 and was != self.after.names[j]:
                self.renamed[was] = self.after.names[j]
        self._arguments = frozenset(
            (self.before.ids[was], self.after.ids[name])
            for was, name in self.arguments.items()
            if was in self.before.ids and name in self.after.ids
        )

    def difference(self, *, whole_library: bool) -> Difference:
        """All that differs.

        Args:
            whole_library: Whether functions that no op calls are compared too.
        """
        paired = set(self.pair)
        added = tuple(name for j, name in enumerate(self.after.names) if j not in paired)
        removed = tuple(self.before.names[i] for i, j in enumerate(self.pair) if j < 0)
        inside = tuple(self._inside())
        changed = tuple(self.changed_ops())  # after `inside`: those that call compared functions
        renamed = [p for p in self.renamed.items() if not self._is_numbered_argument(p)]
        explainer = Explainer(self.matched, changed, self._arguments, self._readers)
        return Difference(
            added=added,
            removed=removed,
            changed=changed,
            explained=explainer.explanations(),
            pairs=tuple(self._pairs()),
            renamed=tuple(sorted(renamed, key=lambda pair: self.after.ids[pair[1]])),
            functions=self._functions(whole_library=whole_library),
            inside=inside,
        )

    def _pairs(self) -> Iterator[OpPair]:
        """The ops that both graphs have."""
        names, new_names = self.before.names, self.after.names
        for name, j, evidence in zip(names, self.pair, self.matched.evidence, strict=True):
            if j >= 0:
                yield OpPair(new_names[j], name, EVIDENCE[evidence])

    def _is_numbered_argument(self, pair: tuple[str, str]) -> bool:
        """Whether two names are those of an argument, and differ by numbers: they are made of
        those of functions and layers, which are counted.
        """
        was, now = pair
        is_argument = self.arguments.get(was) == now
        return is_argument and _NUMBERS.sub("", was) == _NUMBERS.sub("", now)

    def _inside(self) -> Iterator[Inside]:
        """The differences of functions that ops of both graphs call; those of each two functions
        once, without names that differ as those around the call do.
        """
        if self._bodies is None or not (self.before.functions and self.after.functions):
            return
        for i, j in enumerate(self.pair):
            if j < 0:
                continue
            references = called_functions(self.after.nodes[j], self.after.functions)
            if not references:
                continue
            functions_after = {reference.label: reference for reference in references}
            for was in called_functions(self.before.nodes[i], self.before.functions):
                now = functions_after.get(was.label)
                if now is None:
                    continue
                bodies = self._bodies_to_compare(i, j, was, now)
                if bodies is None:
                    continue
                label = self.after.names[j] + (f":{was.label}" if len(functions_after) > 1 else "")
                changes = self._body_difference((was.function, now.function), bodies)
                alone = replace(changes, inside=())
                if alone:
                    yield Inside((label,), alone)
                yield from (Inside((label, *each.path), each.difference) for each in changes.inside)

    def _bodies_to_compare(
        self, i: int, j: int, was: FunctionRef, now: FunctionRef
    ) -> tuple[CalledBody, CalledBody] | None:
        """The bodies of two functions that op i of `before` and op j of `after` call; None where
        these are equal, were compared before, or cannot be read.
        """
        assert self._bodies is not None
        if was.function == now.function and self.before.extras is self.after.extras:
            return None
        functions = was.function, now.function
        one, other = self.attributes
        bodies = None
        if functions not in self._compared and (
            one.function(was.function) != other.function(now.function)
        ):
            open_before, open_after = self._bodies
            try:
                bodies = open_before(self.before, i, was), open_after(self.after, j, now)
            except GraphEditError:  # a damaged function is another one, and no more can be said
                return None
        self._compared.add(functions)
        self._entered.add((j, was.label.partition("[")[0]))
        return bodies

    def _body_difference(
        self, functions: tuple[str, str], bodies: tuple[CalledBody, CalledBody]
    ) -> Difference:
        """What differs in the bodies of two functions, without names that differ as those around
        the call do.
        """
        before, after = bodies
        # Arguments are paired by their places, where there are as many.
        is_paired = len(before.arguments) == len(after.arguments)
        arguments = dict(zip(before.arguments, after.arguments, strict=True)) if is_paired else {}
        comparison = GraphComparison(
            match_graphs(before.graph, after.graph, arguments),
            self._bodies,
            self._compared,
            self._assets,
            arguments,
        )
        changes = comparison.difference(whole_library=False)
        changed = [*changes.changed]
        if is_converted(self.before) == is_converted(self.after):  # else results are others
            changed += self._results(functions, bodies, comparison.renamed)
        renamed = (p for p in changes.renamed if renamed_parts(*p) not in self._renamed_scopes)
        return replace(changes, changed=tuple(changed), renamed=tuple(renamed))

    @cached_property
    def _renamed_scopes(self) -> frozenset[tuple[str, str]]:
        return frozenset(renamed_parts(*pair) for pair in self.renamed.items())

    def _results(
        self,
        functions: tuple[str, str],
        bodies: tuple[CalledBody, CalledBody],
        renamed: Mapping[str, str],
    ) -> Iterator[OpChange]:
        """The results of a function that other tensors are now; no op of the body shows it."""
        was, now = functions
        before = _results_of(self.before.extras.function(was), bodies[0])
        after = _results_of(self.after.extras.function(now), bodies[1])
        if len(before) == len(after):
            # A call takes results by their places: their names have those of scopes in them.
            before = dict(zip(after, before.values(), strict=True))
        for key in sorted(before.keys() | after.keys()):
            old, new = _new_name(before.get(key, ""), renamed), after.get(key, "")
            if old != new:
                yield OpChange(key, key, (Detail("result", old, new),))

    def changed_ops(self) -> Iterator[OpChange]:
        """The ops that both have and that are not the same, in the order of `after`."""
        pairs = sorted((j, i) for i, j in enumerate(self.pair) if j >= 0)
        for j, i in report_each(pairs, "Comparing"):
            a, b = self.before.nodes[i], self.after.nodes[j]
            is_same_node = a is b or (a.name == b.name and a == b)
            # By the names that it has, such an op may read what is another op now.
            if is_same_node and i not in self._read_others and not any(self._controls(i, j)):
                continue
            details = tuple(self._details(i, j, a, b))
            if details:
                yield OpChange(self.after.names[j], self.before.names[i], details)

    def _details(self, i: int, j: int, a: NodeDef, b: NodeDef) -> Iterator[Detail]:
        for what, one, other in (("type", a.op, b.op), ("device", a.device, b.device)):
            if one != other and (what != "type" or (j, "") not in self._entered):
                yield Detail(what, one, other)
        if i in self._read_others:
            yield from self._inputs(i, j)
        yield from self._controls(i, j)
        before, after = self.attributes
        names: Collection[str] = NAMES
        if before.kind(i) != after.kind(j):
            names = before.explicit_values(a).keys() | after.explicit_values(b).keys()
        for name in sorted(names):
            if (name in a.attr or name in b.attr) and (j, name) not in self._entered:
                yield from self._attribute(name, i, j)

    @cached_property
    def _savers(self) -> frozenset[int]:
        """The ops of `after` that call what saves or restores variables."""
        return frozenset(calls_of_savers(self.after))

    @cached_property
    def _read_others(self) -> frozenset[int]:
        """The ops of `before` that read other tensors in `after`."""
        others = ops_with_other_inputs(self.before, self.after, np.array(self.pair, np.int32))
        return frozenset(np.flatnonzero(others).tolist())

    def _inputs(self, i: int, j: int) -> Iterator[Detail]:
        here, there = self.before.input_tensors(i), self.after.input_tensors(j)
        if j in self._savers:
            expected = Counter((self.pair[op], port) for op, port in here)
            if expected == Counter(there):
                return  # in another order, which is another one in each file
        for slot, (was, now) in enumerate(zip_longest(here, there)):
            if was is None or now is None or (self.pair[was[0]], was[1]) != now:
                yield Detail(
                    f"input {slot}", _tensor_name(self.before, was), _tensor_name(self.after, now)
                )

    def _controls(self, i: int, j: int) -> Iterator[Detail]:
        waits, now_waits = self.before.control_lists[i], self.after.control_lists[j]
        waits_after = {self.pair[op] for op in waits}
        for op in dict.fromkeys(waits):
            if self.pair[op] not in now_waits:
                yield Detail("control input", self.before.names[op], "")
        for op in dict.fromkeys(now_waits):
            if op not in waits_after:
                yield Detail("control input", "", self.after.names[op])

    def _attribute(self, name: str, i: int, j: int) -> Iterator[Detail]:
        one, other = self.attributes
        a, b = self.before.nodes[i], self.after.nodes[j]
        if one.value(a, name) != other.value(b, name) and not self._means_the_same(name, i, j):
            before, after = one.text(a, name), other.text(b, name)
            yield Detail(f"attr {name}", before, after if before != after else f"{after}, another")

    def _means_the_same(self, name: str, i: int, j: int) -> bool:
        """Whether an attribute that names ops or an asset file, or is a name, names the same in
        both.
        """
        if name == _VALUE:
            return self._is_same_asset(i, j)
        if name == _COLOCATION:
            # Ops of a function are colocated with some around its call, too.
            was = {op for op in colocated_with(self.before.nodes[i]) if op in self.before.ids}
            now = {op for op in colocated_with(self.after.nodes[j]) if op in self.after.ids}
            return {self.renamed.get(op, op) for op in was} == now
        if name == _FRAME:
            return self._is_same_frame(i, j)
        if name != _KEY:
            return False
        keep_state = persistent_state(self.before)[i] and persistent_state(self.after)[j]
        return bool(keep_state) and key_of(self.before, i) == key_of(self.after, j)

    def _is_same_frame(self, i: int, j: int) -> bool:
        """Whether two entrances lead into loops that all ops of both agree are the same."""
        frames = self._frames
        was, now = _frame(self.before.nodes[i]), _frame(self.after.nodes[j])
        return frames[0][was] == {now} and frames[1][now] == {was}

    @cached_property
    def _frames(self) -> tuple[dict[bytes, set[bytes]], dict[bytes, set[bytes]]]:
        """The names of frames before with those after, and the other way round."""
        forward, backward = defaultdict[bytes, set[bytes]](set), defaultdict[bytes, set[bytes]](set)
        for i, j in enumerate(self.pair):
            if j >= 0 and self.before.types[i] in ENTER and self.after.types[j] in ENTER:
                was, now = _frame(self.before.nodes[i]), _frame(self.after.nodes[j])
                forward[was].add(now)
                backward[now].add(was)
        return forward, backward

    def _is_same_asset(self, i: int, j: int) -> bool:
        """Whether two constants hold paths of asset files with the same content."""
        digests_before, digests_after = self._digests
        if not digests_before or not digests_after:
            return False
        one = digests_before.get(_only_text(self.before.nodes[i]))
        other = digests_after.get(_only_text(self.after.nodes[j]))
        return one is not None and one == other

    def _functions(self, *, whole_library: bool) -> FunctionChanges:
        """The differences of two function libraries, except functions `inside`."""
        one, other = self.attributes
        before, after = self.before.functions, self.after.functions
        if not whole_library:
            before = frozenset(self.before.reachable_functions())
            after = frozenset(self.after.reachable_functions())
        before -= {was for was, _ in self._compared}
        after -= {now for _, now in self._compared}
        both = frozenset() if self.before.extras is self.after.extras else before & after
        only_before = _by_digest(before - after, one)
        only_after = _by_digest(after - before, other)
        renamed: dict[str, str] = {}
        for digest, names in only_before.items():
            renamed |= zip(names, only_after.get(digest, ()), strict=False)
        changed = [name for name in both if one.function(name) != other.function(name)]
        return FunctionChanges(
            added=tuple(sorted(after - before - set(renamed.values()) - self.before.functions)),
            removed=tuple(sorted(before - after - renamed.keys() - self.after.functions)),
            changed=tuple(sorted(changed)),
            renamed=tuple(sorted(renamed.items())),
        )


def _digests_by_path(assets: Assets) -> dict[bytes, bytes | None]:
    """The digests of asset files by the paths that constants hold."""
    return {asset.path.encode(): asset.digest for asset in assets.values()}


def _results_of(function: FunctionDef, body: CalledBody) -> dict[str, str]:
    """The tensors that a function returns, by their keys in their order, with the names that its
    arguments have in its body.
    """
    raw_names = (argument.name for argument in function.signature.input_arg)
    names = dict(zip(raw_names, body.arguments, strict=True))
    keys = (result.name for result in function.signature.output_arg)
    texts = {key: function.ret[key] for key in keys}
    return {key: names.get(text, text) for key, text in texts.items()}


def _frame(entrance: NodeDef) -> bytes:
    """The name of the frame that an op leads into."""
    name = entrance.attr.get(_FRAME)  # by brackets a missing one would be added
    return b"" if name is None else bytes(name.s)


def _only_text(node: NodeDef) -> bytes:
    """The text of a constant of one string; b"" for others."""
    texts = node.attr[_VALUE].tensor.string_val
    return bytes(texts[0]) if len(texts) == 1 else b""


def _by_digest(names: Iterable[str], digester: AttributeDigests) -> dict[bytes, list[str]]:
    """The functions that do the same, by what they do."""
    digests: dict[bytes, list[str]] = {}
    for name in sorted(names):
        digests.setdefault(digester.function(name), []).append(name)
    return digests


def _tensor_name(index: GraphIndex, tensor: tuple[int, int] | None) -> str:
    return "" if tensor is None else f"{index.names[tensor[0]]}:{tensor[1]}"
