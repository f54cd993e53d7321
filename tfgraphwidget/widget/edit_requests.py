"""Edits that the panel asks for by name, what they would be refused for, and which differences are
shown.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from tfgraphwidget.edits import (
    AddSignature,
    Edits,
    RemoveSignature,
    SetTrainable,
    command_of,
    counts_text,
    match_texts,
    registry,
    shape_texts,
)
from tfgraphwidget.edits.rewire import is_gradient_name, refusals, why_not
from tfgraphwidget.edits.rewrite import Remove
from tfgraphwidget.errors import GraphEditError, NotTrusted, reason_of
from tfgraphwidget.graph import Signature
from tfgraphwidget.naming import HOW_TO_TRUST, count_text, split_tensor
from tfgraphwidget.runtime.measure import images
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.sentences import drawn_shape
from tfgraphwidget.visible import KINDS
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edited_names import planned_names
from tfgraphwidget.widget.page_text import control, on_page, reply_on_page
from tfgraphwidget.widget.protocol.replies import describe_stats, image, range_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tfgraphwidget.editor import GraphEditor
    from tfgraphwidget.edits import BatchStep, Command, Step
    from tfgraphwidget.graph import Difference, GraphIndex, Selection
    from tfgraphwidget.widget.kernel_namespace import KernelNamespace

_OP = KINDS.index("op")
_MOST_NAMES = 200  # what a panel can show
_LONGEST = 80  # characters on a button
_MAKING = ("insert", "replace")  # commands after which the user looks at what they have made
_MOST_REASONS = 3  # why matches were not replaced, in the text of an edit
_FEW = 3  # ops that the text of an edit does not count: one, that before it, that after it
_MOST_ENDS = 6  # inputs or outputs of a signature that a row names
_MOST_LIT = 1_000  # ops of a finding that the page frames
_NOT_QUICK = ("not-finite", "duplicate-weights", "batch-size")
"""Rules that read all values or try an edit, which only a check that was asked for does."""
_REMEMBERED = 20  # offers; a view may take up that of a refusal before the last


class EditRequests:
    """Makes the edits that a panel asks for; keeps offered fixes and the shown difference."""

    def __init__(self, editor: GraphEditor, namespace: KernelNamespace) -> None:
        self._editor, self._namespace = editor, namespace
        self._offers: dict[str, Command] = {}
        self._difference: Difference | None = None
        self._before: object = None
        self._comparison = ""
        self._of: GraphIndex | None = None

    def apply(self, request: p.Change) -> tuple[str, str]:
        """Make the edit of a form; what was done, and the op made. Raises GraphEditError."""
        before = self._editor.history.done
        report = self._call(request, self._editor)()
        return self._outcome(report, before), _new_op(report) if request.command in _MAKING else ""

    def preview(self, request: p.PreviewEdit) -> p.PreviewedEdit:
        """What the edit would do; a refusal is an answer too."""
        try:
            report = self._editor.preview(lambda editor: self._call(request, editor)())
        except GraphEditError as refusal:
            return p.PreviewedEdit(refusal.sentence, str(getattr(refusal, "argument", "")))
        core = self._editor._core
        names = core.view.with_closed_groups(planned_names(core.index, report))
        notes = tuple(planned_notes(report))
        return p.PreviewedEdit(text=planned_text(report), notes=notes, names=names)

    def _call(self, request: p.Call, editor: GraphEditor) -> Callable[[], Any]:
        """The bound call of an editor's method that a request describes. Raises GraphEditError."""
        registration = registry.registration_of(request.command)
        assert registration is not None  # a message has the name of a command
        method = attrgetter(registration.kind.call_name())(editor)
        keys: dict[str, object] = {}
        for key, text in zip(request.keys, request.values, strict=False):
            is_variable = key in request.variables
            keys[key] = self._namespace.value(text) if is_variable else parsed_value(text)
        signature = inspect.signature(method)
        try:
            call = signature.bind(*self._what(request, signature), **keys)
        except TypeError as error:
            name = request.command.replace("_", " ").capitalize()
            raise GraphEditError(
                f"{name} cannot be done like that: {reason_of(error)}; reload the page."
            ) from None
        return partial(method, *call.args, **call.kwargs)

    def _what(self, request: p.Call, signature: inspect.Signature) -> tuple[object, ...]:
        """The first arguments; the selection where none is named and the call needs one."""
        parts = request.what
        parameters = signature.parameters.values()
        needed = [each.name for each in parameters if each.default is inspect.Parameter.empty]
        named = [name for name in needed if name not in request.keys]
        if len(parts) > 1 and len(parts) == len(named):
            return parts  # such as a tensor and the op that it is connected to
        if parts:
            return (parts[0] if len(parts) == 1 else parts,)
        first = next(iter(signature.parameters), "")
        return (selection_of(self._editor),) if first in named else ()

    def apply_fix(self, line: str) -> str:
        """Apply a fix that a refusal offered."""
        if line not in self._offers:
            raise GraphEditError(
                "This was offered for a graph that has changed since; try the edit again."
            )
        before = self._editor.history.done
        return self._outcome(self._editor.apply(self._offers[line]), before)

    def _outcome(self, report: Edits, before: tuple[Step | BatchStep, ...]) -> str:
        """What an edit has done: its sentence in the history, and what the report has beside."""
        steps = self._editor.history.done[len(before) :]
        return outcome_text(steps[-1].sentence if steps else "", report)

    def refusal_reply(self, error: GraphEditError) -> p.Refusal:
        """The reply for a refusal, with a button for each way out, of which it has the Python."""
        argument = str(getattr(error, "argument", ""))
        ops = self._editor._core.view.with_closed_groups(error.ops)
        trust, why = isinstance(error, NotTrusted), error.sentence
        if trust and self._editor.source.trusted:  # another file is meant, which is to be added
            trust = False
            why = why.replacing(
                HOW_TO_TRUST, "if you trust it, open it as trusted in a cell, and add that"
            )
        return reply_on_page(p.Refusal(why, ops, self.offer(*error.fixes), argument, trust))

    def offer(self, *commands: Command) -> tuple[p.Offer, ...]:
        """Buttons for commands, which the page may ask for then."""
        offers = {command.code(): command for command in commands}
        self._offers = dict(list((self._offers | offers).items())[-_REMEMBERED:])
        return tuple(p.Offer(_button_text(command), line) for line, command in offers.items())

    def check(self, request: p.Lint | p.ListSignatures) -> p.LintReply | p.SignatureList:
        """What rules find in the graph, each with a button that fixes it; and the signatures."""
        signatures = tuple(self.signature_rows())
        if isinstance(request, p.ListSignatures):
            return p.SignatureList(signatures)
        never = _NOT_QUICK if request.quick else None
        findings = []
        for each in self._editor.lint(request.target or None, never=never):
            ops = self._editor._core.view.with_closed_groups(each.ops[:_MOST_LIT])
            offer = None if each.fix is None else self.offer(each.fix)[0]
            findings.append(p.LintFinding(each.severity, each.code, each.sentence, ops, offer))
        return p.LintReply(tuple(findings), signatures)

    def signature_rows(self) -> Iterator[p.SignatureRow]:
        """The signatures, with a button that removes each where the whole graph is the current one;
        without any the likely one, with a button that adds it.
        """
        core = self._editor._core
        is_whole = len(core.navigator.path) == 1 and core.executor.boundary is None
        is_whole &= not core.executor.edit_refusal()
        signatures = core.executor.signatures
        for signature in signatures:
            edit = RemoveSignature(signature.name) if is_whole else None
            yield self._signature_row(signature, edit)
        if signatures or not is_whole:
            return
        try:
            likely = command_of(AddSignature, core.arguments, "serving_default")
        except GraphEditError:  # nothing looks like a result
            return
        yield self._signature_row(Signature("", likely.inputs, likely.outputs), likely)

    def _signature_row(self, signature: Signature, edit: Command | None) -> p.SignatureRow:
        is_there = signature.name != ""
        inputs = _side_text(signature.inputs, with_tensors=is_there)
        outputs = _side_text(signature.outputs, with_tensors=is_there)
        tensors = (name for _, name in (*signature.inputs, *signature.outputs))
        ops = dict.fromkeys(split_tensor(name)[0] for name in tensors)
        head = f"{signature.name}:" if is_there else "No signature yet; likely"
        text = f"{head} {inputs or 'nothing'} → {outputs}"
        label = "Remove" if is_there else "Add"
        offer = None if edit is None else replace(self.offer(edit)[0], text=label)
        present_ops = tuple(op for op in ops if op in self._editor._core.index.ids)[:_MOST_LIT]
        lit = self._editor._core.view.with_closed_groups(present_ops)
        return p.SignatureRow(text, lit, offer, signature.name, signature.inputs, signature.outputs)

    def offers(self) -> tuple[p.Offer, ...]:
        """Edits that the present graph suggests."""
        offers: dict[str, p.Offer] = {}
        for command, text, on in (*self._training(), *self._removal()):
            line = command.code()
            self._offers[line] = command
            offers[line] = p.Offer(text, line, on)
        return tuple(offers.values())

    def _training(self) -> Iterator[tuple[Command, str, bool]]:
        """To train only the last clone; and once that is so, to train what was trained before."""
        steps, index = self._editor._core.executor.history.done, self._editor._core.index
        clones = [at for at, step in enumerate(steps) if step.patch.report.preview is not None]
        if not clones:
            return
        last = clones[-1]
        scopes = steps[last].patch.scopes
        trained = self._editor.find("is:trainable").ops
        own = tuple(op for op in trained if any(op.startswith(f"{scope}/") for scope in scopes))
        text = f"Train only {', '.join(scopes)}"
        if own and own != trained:
            yield SetTrainable(own), text, False
            return
        choices = [step for step in steps[last:] if step.patch.only_sets_trainable]
        if own and choices:
            members = choices[-1].patch.remove.members
            before = tuple(split_tensor(member.name)[0] for _, member in members)
            if before and all(op in index.ids for op in before):
                yield SetTrainable(before), text, True

    def _removal(self) -> Iterator[tuple[Command, str, None]]:
        """To remove what earlier edits have left unused."""
        unused = self._editor._core.executor.unused_ops()
        if unused:
            command = Remove(unused if len(unused) > 1 else unused[0])
            yield command, f"Remove {count_text(len(unused), 'unused op')}", None

    def targets(self, request: p.Targets, scene: scenes.Scene) -> p.RewireTargets:
        """The targets on which a tensor may be dropped, and the reasons why not elsewhere."""
        index = self._editor._core.index
        name, port = split_tensor(request.tensor)
        source = index.op(name)
        outputs = tuple(f"{index.names[source]}:{at}" for at in range(len(index.dtypes(source))))
        if port is None and len(outputs) != 1:
            return p.RewireTargets("", outputs, "", (), ())
        tensor = source, port or 0
        if request.op:
            reader = index.op(request.op)
            slots = []
            for k, (op, at) in enumerate(index.input_tensors(reader)):
                slots.append(p.Slot(f"{index.names[op]}:{at}", why_not(index, tensor, reader, k)))
            return p.RewireTargets(request.tensor, outputs, request.op, (), tuple(slots))
        drawn_names = (scene.names[at] for at in np.flatnonzero(scene.kind == _OP).tolist())
        drawn_ops = sorted(index.ids[name] for name in drawn_names if name in index.ids)
        reasons_by_op = refusals(index, tensor, drawn_ops)
        reasons = tuple((index.names[op], why) for op, why in reasons_by_op.items())
        return p.RewireTargets(f"{index.names[source]}:{tensor[1]}", outputs, "", reasons, ())

    # What the drawing shows of it

    def compare(self, *, show: bool, before: object = None, name: str = "") -> None:
        """Show what differs from another graph of that name, or from the opened one; or nothing."""
        self._comparison = name or "the original graph"
        self._difference = self._editor.diff(before) if show else None
        self._before = before if show else None
        self._of = self._editor._core.index
        self._editor.view.difference = self._difference

    def optimize(self) -> str:
        """Compare with what TensorFlow's graph optimizer makes of the graph; what it did."""
        result, index = self._editor.passes.grappler(), self._editor._core.index
        self.compare(show=True, before=result.editor, name="TensorFlow's optimized graph")
        counts = Counter[str]()
        for each in result.passes:
            counts["folded"] += len(each.folded)
            counts["fused"] += len(each.fused)
            counts["removed"] += len(each.removed)
        text = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        text = text or "nothing folded or removed"
        size = count_text(len(result.editor._core.index), "op")
        return f"TensorFlow's graph optimizer makes {size} of {len(index):,}: {text}."

    def update_difference(self) -> None:
        """The graph has changed: so have the differences, unless the person had others shown."""
        if self._is_own_difference() and self._editor._core.index is not self._of:
            self.compare(show=True, before=self._before, name=self._comparison)

    def comparison(self) -> str:
        """What the graph is compared with; "" of a cell's difference, and while none is shown."""
        return self._comparison if self._is_own_difference() else ""

    def _is_own_difference(self) -> bool:
        """Whether the difference that is shown is the one that the page asked for."""
        return self._difference is not None and self._editor.view.difference is self._difference

    def explanations(self) -> tuple[str, ...]:
        """The usual changes that explain differences, in sentences."""
        difference = self._editor.view.difference
        return () if difference is None else tuple(map(str, difference.explained))

    def changes(self) -> tuple[p.Group, ...]:
        """The ops that differ, by what became of them; none unless that is to be shown."""
        if self._editor.view.difference is None:
            return ()
        difference = self._editor.view.difference.rest
        changed = dict.fromkeys(change.name for change in difference.changed)
        names = {
            "added": difference.added,
            "removed": difference.removed,
            "changed": tuple(changed),
            "renamed": tuple(after for _, after in difference.renamed if after not in changed),
        }
        return tuple(
            p.Group(kind, ops[:_MOST_NAMES], len(ops)) for kind, ops in names.items() if ops
        )

    def probe(self, name: str, feeds: dict[str, object]) -> str:
        """Run the graph for the outputs of an op, or of the selected ones; what was found."""
        probe = self._editor.probe(name or selection_of(self._editor), feeds)
        outputs = [stats for stats in probe.values() if stats.shape is not None]
        if len(outputs) == 1:
            (stats,) = outputs
            value = range_text(stats) or describe_stats(stats).value
            return (
                f"{stats.name}: {stats.dtype} "
                + drawn_shape(stats.shape)
                + f", {value.removeprefix('= ')}."
            )
        bad = sum(1 for stats in outputs if stats.nans or stats.infs)
        about = f"{bad:,} of them with NaN or infinity" if bad else "all finite"
        return (
            f"The values of {len(outputs):,} tensors, {about}; point at a box or a line to read "
            "them."
        )

    def paint(self, scene: scenes.Scene) -> scenes.Arrays:
        """The fields of a Paint that differences and probes decide."""
        index, marks = scene.index, self._editor._core.evaluator.marks()
        fields: dict[str, Any] = {}
        if marks is not None:
            fields["differs"] = scenes.mark_differences(scene, marks)
        probed = self._editor._core.evaluator.probed
        present = {op: outputs for op, outputs in probed.items() if op in index.ids}
        if present:
            fine, bad = np.zeros(len(index), bool), np.zeros(len(index), bool)
            texts: dict[str, str] = {}
            for name, outputs in present.items():
                op = index.ids[name]
                fine[op] = any(stats.value is not None for stats in outputs)
                bad[op] = any(stats.nans or stats.infs for stats in outputs)
                if len(index.dtypes(op)) == 1:
                    texts[name] = range_text(outputs[0])
            fields["probed"] = scenes.mark_probed(scene, fine, bad)
            fields |= scenes.value_texts(scene, texts)
        return fields

    def probe_text(self, tensor: str) -> p.TensorValue | None:
        """The result of the last probe for a tensor."""
        outputs = self._editor._core.evaluator.probed.get(split_tensor(tensor)[0], ())
        stats = next((stats for stats in outputs if stats.name == tensor), None)
        if stats is None:
            return None
        return describe_stats(stats, tuple(map(image, images.tensor_images(stats.value))))


def _new_op(report: Edits) -> str:
    """The last op that an edit has made, its gradients aside; "" without one."""
    forward_ops = [name for name in report.added if not is_gradient_name(name)]
    return (forward_ops or list(report.added) or [""])[-1]


def tensor_type(index: GraphIndex, tensor: str) -> str:
    """The dtype and static shape of a tensor as it is drawn; "" of an op without outputs."""
    op, port = index.tensor(tensor)
    dtypes = index.dtypes(op)
    if port < len(dtypes):
        return f"{dtypes[port]} ".lstrip() + drawn_shape(index.shape(op, port))
    return ""


def parsed_value(text: str) -> object:
    """The value of the text of a field: a Python literal, or else the text itself.

    >>> parsed_value("[1, None]"), parsed_value("true"), parsed_value("float32")
    ([1, None], True, 'float32')
    """
    text = text.strip()
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"true": True, "false": False}.get(text.lower(), text)


def _side_text(tensors: tuple[tuple[str, str], ...], *, with_tensors: bool) -> str:
    """The inputs or outputs of a signature in a row: their keys, and the tensors that differ."""
    texts = [
        f"{key}={name}" if with_tensors and key != name else key
        for key, name in tensors[:_MOST_ENDS]
    ]
    more = f" and {len(tensors) - _MOST_ENDS:,} more" if len(tensors) > _MOST_ENDS else ""
    return ", ".join(texts) + more


def selection_of(editor: GraphEditor) -> Selection:
    """The selection; GraphEditError without one."""
    if editor.selection is None:
        raise GraphEditError("Nothing is selected; draw a box, or Ctrl-click an op first.")
    return editor.selection


def outcome_text(sentence: str, report: Edits) -> str:
    """What an edit has done, in one line: its sentence in the history, if it is there, with the
    number of ops if there are more than three.

    >>> outcome_text("Inserted Tanh after x", Edits(added=("Tanh",), changed=("y",)))
    'Inserted Tanh after x.'
    >>> outcome_text(
    ...     "Removed net", Edits(removed=("a", "b", "c", "d"), changed=("y",), notes=("Note.",))
    ... )
    'Removed net (4 ops removed, 1 op changed). Note.'
    >>> outcome_text("Bypassed net", Edits(lost=("Lost.",), notes=("Its gradients, too.",)))
    'Bypassed net. Its gradients, too. Lost.'
    """
    if report.is_nothing:
        reasons = ["Not replaced: " + each.why for each in report.skipped[:_MOST_REASONS]]
        return " ".join(map(on_page, (*report.notes, *reasons)))
    counts = counts_text(report)
    touched = len(report.added) + len(report.removed) + len(report.changed)
    if not sentence:
        sentence = counts
    elif touched > _FEW and not report.renamed:
        sentence += f" ({counts})"
    matches = "; ".join(map(on_page, match_texts(report)))
    shapes = "; ".join(map(on_page, shape_texts(report)))
    sentences = [sentence, matches.rstrip("."), f"Shapes: {shapes}" if shapes else ""]
    texts = [f"{each[:1].upper()}{each[1:]}." for each in sentences if each]
    # What the edit did comes before what the session has lost by it.
    return " ".join([*texts, *map(on_page, (*report.notes, *report.lost))])


def planned_text(report: Edits) -> str:
    """How much an edit would change, in a sentence.

    >>> planned_text(Edits(added=("a",), removed=("b", "c")))
    'Adds 1 op, removes 2.'
    """
    counts = [("adds", report.added), ("removes", report.removed), ("changes", report.changed)]
    if report.renamed:
        counts = [("renames", tuple(new for _, new in report.renamed))]
    parts = [f"{verb} {len(names):,}" for verb, names in counts if names]
    if not parts:
        return "Changes no op of this graph."
    first = f"{parts[0]} op{'s' * (not parts[0].endswith(' 1'))}"
    text = ", ".join([first, *parts[1:]])
    return f"{text[:1].upper()}{text[1:]}."


def planned_notes(report: Edits) -> Iterator[str]:
    """What else an edit would do: which matches of a pattern it replaces, and its notes."""
    if report.replaced or report.skipped:
        matches, skipped = len(report.replaced) + len(report.skipped), len(report.skipped)
        left = f", {skipped:,} not" if skipped else ""
        yield (
            f"{matches:,} match{'es' * (matches != 1)}, {len(report.replaced):,} replaceable{left}."
        )
    yield from ("Not replaced: " + each.why for each in report.skipped[:_MOST_REASONS])
    if len(report.skipped) > _MOST_REASONS:
        yield f"And {len(report.skipped) - _MOST_REASONS:,} more are not replaced."
    yield from report.notes


def renamed_prefixes(
    renamed: Iterable[tuple[str, str]], index: GraphIndex
) -> tuple[tuple[str, str], ...]:
    """(old, new) names of renamed ops, one pair for all of a scope that got another name as a
    whole. Of several that fit a name the first counts.
    """
    prefixes: dict[str, str] = {}
    for old, new in renamed:
        before, after = old.split("/"), new.split("/")
        most = min(len(before), len(after)) - 1
        same = next((k for k in range(most) if before[-1 - k] != after[-1 - k]), most)
        for same_parts in range(same, 0, -1):  # parts at the end of both names
            scope = "/".join(before[:-same_parts])
            if scope not in index.scopes.ids and scope not in index.ids:
                prefixes[scope] = "/".join(after[:-same_parts])
                break
        else:
            prefixes[old] = new
    return tuple(sorted(prefixes.items(), key=lambda pair: len(pair[0]), reverse=True))


def by_new_name(name: str, renamed: Iterable[tuple[str, str]]) -> str:
    """The name that an op, or a scope with its slash, has after a rename.

    >>> [by_new_name(name, [("net", "web")]) for name in ("net/w", "net/", "nets")]
    ['web/w', 'web/', 'nets']
    """
    for old, new in renamed:
        if f"{name}/".startswith(f"{old}/"):
            return new + name.removeprefix(old)
    return name


def _button_text(fix: Command) -> str:
    """A few words for what a fix does, which are not Python."""
    return (fix.fix_label() or control(fix.command_name()) or fix.sentence())[:_LONGEST]
