"""Editing: the edits that change a graph, as calls and as commands. GraphEditor is one of these.

Each call makes a command, a frozen value, and hands it to `edit`. Where one stands says what is edited: the graph
itself, or a function's body, of which `function` and `module` then make something to call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from tfgraphwidget.cancellation import held_back
from tfgraphwidget.editor.cloning import Cloning
from tfgraphwidget.editor.state import How
from tfgraphwidget.editor.traced_growth import Grow
from tfgraphwidget.edits.clone.command import Add, Clone
from tfgraphwidget.edits.command import Command, Edits, settled
from tfgraphwidget.edits.patch import Patch, reserved
from tfgraphwidget.edits.rewrite.attributes import Trainable
from tfgraphwidget.edits.serialization import python_source
from tfgraphwidget.edits.signature_tracking import Ends, ends_now, renamed_keys
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.naming import tried_before
from tfgraphwidget.runtime.sandbox.shape_inference import shaped

if TYPE_CHECKING:
    from tfgraphwidget.editor.graph_view import Site
    from tfgraphwidget.sources import Signature

Renew = Literal["always", "never"]
_STALE = (
    "TensorFlow's own tensors keep the static shapes that they had ({} of them); the editor and what it saves have the "
    "new ones."
)
_UNSEEN = "A session that has run {} already goes on running it as it was; tgw.renew(session) lets it follow."


class Editing(Cloning):
    """Changes a graph in place, with undo and redo."""

    def edit(self, command: Command, *, renew: Renew = "always") -> Edits:
        """Plan a command, carry it out, and remember it; what it did. A `Clone` is done as `clone` does it.

        A session goes on running what it has run, so it is renewed in place when ops change that may be among that:
        the caller's own session object then sees the edit, and keeps its values. `renew="never"` leaves it alone.
        Raises GraphEditError, and everything is as it was, when the edit cannot be right.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tensorflow as tf
        >>> wide = editor.grow("net/hidden/Relu:0", lambda x: tf.cast(x, tf.float64), into="wide")
        >>> try:
        ...     editor.connect("wide/Cast:0", "net/logits", 0)
        ... except tgw.GraphEditError as error:
        ...     report = editor.edit(error.mends[0])
        >>> editor.lines[-1]
        'editor.connect(source="wide/Cast:0", target="net/logits", k=0, mend="Cast")'
        """
        if isinstance(command, Clone):  # which has values to fill in, too
            self.do(command)
            return Edits.of(self._history.done[-1].patch)
        _check_planned(command)
        site = self.room.site
        command = settled(command, site.index)
        plan = planned(command, site.index)
        patch = site.fitted(plan)
        history, fresh = self._history, self.fresh
        how: How = {
            "renewed": renew != "never",
            "reserved": self._reserved(patch),
            "imported": patch is not plan and self._source.revive is not None,
        }

        def remember() -> None:
            self._remember(command, patch, site, (), **how)

        with held_back():
            try:
                lost = self._carry_out(command, patch, site, remember, renew != "never")
            except BaseException:
                self._history, self.fresh = history, fresh
                raise
            self.room.follow(patch.renamed)
            self.lost = lost
            self.changed()
        return Edits.of(patch, lost, self._notes(patch, renew))

    def _reserved(self, patch: Patch) -> tuple[str, ...]:
        """The names that new ops of a patch have not since hidden ops have them, and not by a step that is done."""
        site = self.room.site
        taken = site.index.reserved if site is self._live and self._source.graph is not None else frozenset()
        functions = [function.signature.name for function in patch.add.functions]
        new = [node.name for node in patch.add.nodes]
        new += [name for name in functions if not name.startswith("__")]  # those TensorFlow numbers by itself
        found = {name for made in new for name in tried_before(made) if name in taken}
        if not found:
            return ()
        gone = {node.name for step in self._history.done if step.place is site for node in step.patch.remove.nodes}
        return tuple(sorted(found - reserved({*gone, *(node.name for node in patch.remove.nodes)})))

    def reserve(self, names: Iterable[str]) -> None:
        """Let ops that edits add from now on take none of these names, in whatever case.

        So it is with the names of ops that were undone in a live graph: TensorFlow cannot remove them. Where names in
        `code()` hang on that, it has this line before the edit, and the graph it gives has the same names.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.reserve(["net/hidden/relu_placeholder"])
        >>> editor.detach("net/hidden/Relu", inputs=False).added
        ('net/hidden/Relu_placeholder_1',)
        """
        self._live.reserve(str(name).lower() for name in ([names] if isinstance(names, str) else names))

    def _carry_out(
        self,
        command: Command,  # noqa: ARG002
        patch: Patch,
        site: Site,
        then: Callable[[], None],
        renew: bool,
    ) -> tuple[str, ...]:
        """Carry a patch out; a sentence for each thing that was lost by it. What has new state begins it too."""
        return site.carry_out(patch, then, renew=renew)

    def _notes(self, patch: Any, renew: Renew) -> tuple[str, ...]:
        """What TensorFlow cannot follow."""
        if self.room.site is not self._live or self._source.graph is None:
            return ()
        stale = patch.known_shapes
        notes = [_STALE.format(len(stale))] if stale else []
        if patch.changed and (renew == "never" or self._source.session is None):
            some = ", ".join(repr(edited.name) for edited in patch.changed[:3])
            notes.append(_UNSEEN.format(some + (", …" if len(patch.changed) > 3 else "")))
        return tuple(notes)

    # Who names tensors of the graph from outside

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of a SavedModel or MetaGraphDef as edits have left them.

        `tgw.edit(path, signature=name)` opens one.

        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> import tempfile
        >>> path = editor.save(tempfile.mkdtemp() + "/saved/", "x:0", "net/logits:0")
        >>> tgw.edit(path).signatures
        (Signature(name='serving_default', inputs=(('x', 'x:0'),), outputs=(('logits', 'net/logits:0'),)),)
        """
        done = ((step.patch, step.place is self._live) for step in self._history.done)
        patches = (patch if here else Patch(keys=patch.keys) for patch, here in done)
        return tuple(renamed_keys(self._source.signatures, patches))

    def _called_for(self) -> tuple[str, ...]:
        """The tensors that those who call this graph name: ends of signatures, arguments and results of functions."""
        if self.in_function:
            arguments, returns = self._function_ends()
            return tuple(dict.fromkeys((*arguments, *returns.values())))
        ends = [(*signature.inputs, *signature.outputs) for signature in self.signatures]
        return tuple(dict.fromkeys(name for pairs in ends for _, name in pairs))

    def _function_ends(self) -> Ends:
        """The arguments and results of the function one stands in, as edits have left them."""
        site, body = self.room.site, self.room.body
        patches = (step.patch for step in self._history.done if step.place is site)
        return ends_now(body.arguments, body.returns, patches)


def _check_planned(command: object) -> None:
    if hasattr(command, "plan"):
        return
    known = isinstance(command, Add | Grow | Trainable)
    call = python_source.line(command) if known else "a method of the editor, or give editor.command(…)"
    raise GraphEditError(f"{type(command).__name__!r} cannot be planned beforehand; call {call}.")


def planned(command: Command, index: GraphIndex) -> Patch:
    """The patch of a command, with the static shapes that follow.

    Raises GraphEditError; of what the refusal or the command proposes instead it carries, as `mends`, what would do,
    and the sentence ends with the first of it.
    """
    try:
        return shaped(index, command.plan(index))
    except GraphEditError as error:
        offered = error.mends or (command.mends(index) if hasattr(command, "mends") else ())
        error.mends = tuple(mend for mend in offered if _would_do(mend, index))
        if error.mends:
            kind, call = getattr(error.mends[0], "mend", ""), python_source.line(error.mends[0])
            way_out = f"or insert a {kind}: {call}." if kind else f"such as {call}."
            error.why = f"{error.why.rstrip('.')}, {way_out}"
            error.args = (error.why,)
        raise


def _would_do(command: Command, index: GraphIndex) -> bool:
    try:
        shaped(index, command.plan(index))
    except GraphEditError:
        return False
    return True
