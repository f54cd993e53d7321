"""Linting: the current graph as rules see it."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tfgraphwidget import lint, runtime
from tfgraphwidget.editor.broken_functions import function_graph
from tfgraphwidget.editor.inspection import Inspection
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.errors import (
    GraphEditError,
    NotTrusted,
    PackageMissing,
    SessionRefused,
    TensorFlowMissing,
)
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime import live

if TYPE_CHECKING:
    from tfgraphwidget.lint import Report, Target

CONVERTER_SECONDS = 120.0
"""How long a converter may take that shows what `save` would say; a save has ten minutes."""
_TOLD_OTHERWISE = (PackageMissing, TensorFlowMissing, SessionRefused, NotTrusted)
"""Refusals that say nothing of the graph's ops: a package, a value or the user's trust is missing.
"""


def lint_editor(
    core: EditorCore,
    target: Target,
    only: Collection[str],
    never: Collection[str],
    save: Callable[[Path, float], object] | None = None,
) -> Report:
    """Run rules on the current graph.

    Args:
        target: What the graph is to run on; "" for no check of that.
        only: Codes of rules; () for all.
        save: Saves the graph in a file, with so many seconds for a converter; None where the target
            has no files.

    Raises:
        UnknownName: There is no rule of a code.
    """
    index = core.index
    devices = _Devices(core)
    context = lint.LintContext(
        index,
        lambda: _outputs(core),
        core.executor.signatures if len(core.navigator.path) == 1 else (),
        core.executor.missing_tensors,
        plan=lambda command: runtime.plan(command, core.executor.plan_context()),
        value=lambda name: Inspection(core, name).array(),
        has_device=devices.has,
        has_kernel=lambda op: live.placement.has_kernel(
            index.types[op], index.nodes[op].attr, {"CPU"}
        ),
        convert=lambda: _conversion(core, target, save),
        target=target,
        trust=core.source.trust,
        is_file=core.target.place.needs_import,
        in_function=core.executor.boundary is not None,
        results=core.executor.inputs_and_outputs[1],
        others=lambda: _other_graphs(core),
    )
    return lint.lint(context, only, never)


def _other_graphs(core: EditorCore) -> Iterator[lint.Body]:
    """The edited graph of a file, if a function is the current graph, and its other functions."""
    outermost, first, current = core.target.index, core.target.first, core.navigator.function
    called, called_before = (set(i.reachable_functions()) for i in (outermost, first))
    # TensorFlow imports a file with functions that nothing calls, as they are.
    replaced = called_before - called
    if core.index is not outermost:
        yield lint.Body(outermost, " of the outermost graph", "editor.view.leave(0)")
    for name in sorted(outermost.functions - replaced - {current}):
        index, results = function_graph(name, core.target.body, outermost)
        yield lint.Body(
            index,
            f" of function {name!r}",
            f"editor.view.enter({name!r})",
            is_function=True,
            results=results,
        )


def _conversion(
    core: EditorCore, target: Target, save: Callable[[Path, float], object] | None
) -> lint.Conversion:
    """Save the graph for a target where nothing stays of it, to find what a save would refuse."""
    if save is None:
        return lint.Conversion()
    notices, source_notices = core.save_notices, core.source.notices
    try:
        with (
            tempfile.TemporaryDirectory(prefix="tfgraphwidget-") as folder,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # what a save reports of the file that goes
            save(Path(folder) / f"model.{target}", CONVERTER_SECONDS)
    except GraphEditError as refusal:
        if isinstance(refusal, _TOLD_OTHERWISE) or refusal.code == "converter-timeout":
            return lint.Conversion(
                not_tried="Whether the converter takes the graph is not known: " + refusal.sentence
            )
        return lint.Conversion(refusal)
    finally:
        core.save_notices, core.source.notices = notices, source_notices
    return lint.Conversion()


def _outputs(core: EditorCore) -> tuple[str, ...]:
    """The outputs of the graph, except ops that edits have left without consumers."""
    try:
        outputs = core.arguments.outputs(None)
    except GraphEditError:  # nothing in it looks like a result
        return ()
    unused = set(core.executor.unused_ops())
    return tuple(name for name in outputs if split_tensor(name)[0] not in unused)


class _Devices:
    """The devices of the session, or this machine's; asked for late: that loads TensorFlow."""

    def __init__(self, core: EditorCore) -> None:
        self._core = core
        self._devices: live.placement.Devices | None = None

    def has(self, device: str) -> bool:
        if self._devices is None:
            session = self._core.source.session
            of_a_file = live.placement.Devices.of_a_file
            self._devices = of_a_file() if session is None else live.placement.Devices.of(session)
        return self._devices.has(device)
