"""Values from one model to another, matched by name: what `tfgraphwidget.sync` does."""

from __future__ import annotations

from typing import Any

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.editor.graph_editor import GraphEditor
from tfgraphwidget.errors import NotAGraph
from tfgraphwidget.graph import VariableDef, definitions, handles
from tfgraphwidget.runtime.live import Copy
from tfgraphwidget.runtime.sync import Model, Names, Sync, match_variables
from tfgraphwidget.sources import variable_definition


def sync(source: Any, target: Any, names: Names = None, tau: float = 1.0) -> tuple[tuple[str, str], ...]:
    """Bring values over and give the (source, target) names; see `tfgraphwidget.sync`."""
    ours, theirs = _model_of(source), _model_of(target)
    pairs = match_variables(ours[1], theirs[1], names, source_scope=ours[2], target_scope=theirs[2])
    Sync(pairs, ours[0], theirs[0], theirs[2]).sync(tau)
    return tuple((a.name, b.name) for a, b in pairs)


def _model_of(model: Any) -> tuple[Model, tuple[VariableDef, ...], str]:
    """The graph and session of a model, its variables, and the name scope around them."""
    if isinstance(model, GraphEditor):
        session, index = model.session, model.core.target.index
        return Model(model.graph, session), tuple(definitions(index, handles(index)).values()), ""
    if isinstance(model, Copy):
        return model.model, tuple(map(variable_definition, model.variables)), model.scope
    raise NotAGraph(f"{shown(model)} is no model; give an editor, or what a clone gave.")
