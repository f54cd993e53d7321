"""State of a clone of a function's body: tf.Variables and tables of its own, or the original's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.edits.clone import Excerpt
from tfgraphwidget.errors import (
    GraphEditError,
    NotClonable,
    SessionRefused,
    UnknownName,
    first_sentence,
)
from tfgraphwidget.graph import HANDLE_DTYPES, HANDLES, BodyState, GraphIndex, definition_of
from tfgraphwidget.naming import known_instead, split_tensor
from tfgraphwidget.sentences import argument_value, clone_with, editor_call, in_cell
from tfgraphwidget.sources import static_shape, table_dtypes, table_of
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import FunctionDef, LookupTable, Tensor

Variables = str | Mapping[str, str]
Init = str | Callable[[Sequence[str]], Mapping[str, object]]
"""Which values new variables start from: "current", "initial", or a function from their names to
the values.
"""
CheckInit = str | Callable[[Sequence[str]], None]
"""The same for a preview: a function raises where variables of these names cannot get values."""


@dataclass(frozen=True)
class StateNames:
    """The ops that represent state in the original, by what the copied ops would read in their
    place; see `States`.
    """

    variables: Set[str]
    tables: Set[str]
    shared: Set[str]
    handles: Set[str]


@dataclass(frozen=True, eq=False)
class States:
    """The state that the copied ops use, by the names of the ops that represent it in the original.

    `variables` and `tables` are the copy's own. `shared` are the original's variables, `handles`
    the tensors that refer to other state of the original, `constants` captured values.
    """

    variables: Mapping[str, tf.Variable]
    tables: Mapping[str, LookupTable]
    shared: Mapping[str, tf.Variable]
    handles: Mapping[str, Tensor]
    constants: Mapping[str, Tensor]


def make_states(
    part: Excerpt,
    body_state: BodyState,
    functions: Iterable[FunctionDef],
    into: str,
    variables: Variables,
    init: Init,
    devices: Mapping[str, str],
    src_scope: str = "",
) -> States:
    """The state of a clone: new variables and tables, or the original's.

    Args:
        part: The ops to copy.
        body_state: What the body's handles represent.
        functions: The FunctionDefs that the ops call.
        into: The name of the clone.
        variables: "own", "shared", or {variable: "own" or "shared"}.
        init: The values of own variables: "current", "initial", or a function from their names to
            the values.
        devices: Devices by variable, for variables that do not keep the original's.
        src_scope: The scope that is removed from the names of variables.

    Returns:
        The state.

    Raises:
        UnknownName: `variables` names a variable that the part does not read.
        NotClonable: Some state is out of reach, or cannot be a tf.Variable.
        SessionRefused: A variable has no value.
        GraphEditError: A mode or `init` is not known.
    """
    index = part.index
    modes = _modes([index.names[i] for i in part.reused], variables)
    handle_names = [name for name in modes if index.types[index.ids[name]] in HANDLES]
    own = [name for name in handle_names if modes[name] == "own"]
    _check(index, body_state, handle_names, modes, init)
    present = init(own) if callable(init) else present_values(body_state, own, init)
    nodes = [index.nodes[i] for i in part.ops] + [
        node for function in functions for node in function.node_def
    ]
    tables, handles, constants = {}, {}, {}
    for name in (name for name in modes if name not in handle_names):
        live = body_state.live(name)
        if live is not None and live.dtype.name not in HANDLE_DTYPES:
            constants[name] = live
            continue
        content = body_state.table(name, table_dtypes(nodes)) if modes[name] == "own" else None
        if content is not None:
            tables[name] = table_of(content, nodes)
        elif live is not None:
            handles[name] = live
        else:
            raise _out_of_reach(index, name, modes[name])

    def name_in_scope(name: str) -> str:
        scope = f"{src_scope.rstrip('/')}/" if src_scope else ""
        return f"{into}/{name.removeprefix(scope)}"

    return States(
        {
            name: _variable(
                index,
                name,
                body_state.live(name),
                present[name],
                name_in_scope(name),
                devices.get(name),
            )
            for name in own
        },
        tables,
        {name: body_state.live(name) for name in handle_names if modes[name] == "shared"},
        handles,
        constants,
    )


def plan_states(
    part: Excerpt, body_state: BodyState, variables: Variables, check_init: CheckInit
) -> StateNames:
    """The names of the state that `make_states` would make.

    Args:
        part: The ops to copy.
        body_state: What the body's handles represent.
        variables: "own", "shared", or {variable: "own" or "shared"}.
        check_init: Raises where variables of these names cannot get their values; or what `init`
            of `make_states` would be.

    Returns:
        The state.

    Raises:
        UnknownName: `variables` names a variable that the part does not read.
        NotClonable: Some state is out of reach, or cannot be a tf.Variable.
        GraphEditError: A mode or the values are not known.
    """
    kinds = part.index.types
    modes = _modes([part.index.names[i] for i in part.reused], variables)
    handle_names = {name for name in modes if kinds[part.index.ids[name]] in HANDLES}
    plain = {
        n
        for n in modes.keys() - handle_names
        if (live := body_state.live(n)) is not None and live.dtype.name not in HANDLE_DTYPES
    }
    own = {name for name, mode in modes.items() if mode == "own"} - plain
    in_order = [name for name in modes if name in handle_names]
    _check(part.index, body_state, in_order, modes, check_init)
    if callable(check_init):
        check_init([name for name in in_order if name in own])
    for name in modes.keys() - own - handle_names - plain:
        if body_state.live(name) is None:
            raise _out_of_reach(part.index, name, "shared")
    return StateNames(
        variables=handle_names & own,
        tables=own - handle_names,
        shared=handle_names - own,
        handles=modes.keys() - own - handle_names - plain,
    )


def _modes(names: Sequence[str], variables: Variables) -> dict[str, str]:
    """For each op that represents state whether it is to be "own" or "shared"."""
    if isinstance(variables, str):
        mode_of: dict[str, str] = {}
        default = variables
    else:
        mode_of, default = {}, "own"
        for key, mode in variables.items():
            mode_of |= dict.fromkeys(_named_by(key, names), mode)
    for mode in (default, *mode_of.values()):
        if mode not in ("own", "shared"):
            raise GraphEditError(
                argument_value("variables", repr(mode))
                + " is not known; it is one of 'own', 'shared'."
            )
    return {name: mode_of.get(name, default) for name in names}


def _named_by(key: str, names: Sequence[str]) -> list[str]:
    """The ops of state that a name means: one of them, its tensor, or their name scope."""
    name = split_tensor(key)[0]
    if name in names:
        return [name]
    inside = [each for each in names if each.startswith(f"{key.rstrip('/')}/")]
    if not inside:
        raise UnknownName(
            f"The part reads no variable {key!r}{known_instead(key, [*names])}", [key]
        )
    return inside


def _check(
    index: GraphIndex,
    body_state: BodyState,
    variables: Sequence[str],
    modes: Mapping[str, str],
    init: Init | CheckInit,
) -> None:
    """Raise for what no tf.Variable can be."""
    if not callable(init) and init not in ("current", "initial"):
        problem = (
            "a tf.Variable cannot be without a value" if init == "none" else "that is not known"
        )
        raise GraphEditError(
            argument_value("init", repr(init))
            + f" cannot be had for a tf.Module: {problem}; use 'current' or 'initial'."
        )
    for name in variables:
        live = body_state.live(name)
        if index.types[index.ids[name]] != "VarHandleOp":
            raise NotClonable(
                f"Variable {name!r} is a TensorFlow 1 reference variable, which no function can "
                "capture; clone the op that calls the function: "
                + editor_call("view.leave", "0")
                + ", then "
                + editor_call("clone", "...")
                + ".",
                [name],
            )
        if modes[name] == "shared" and live is None:
            raise _out_of_reach(index, name, "shared")
        if modes[name] == "own" and live is not None and init == "initial":
            raise SessionRefused(
                f"Variable {name!r} was made by Python, which keeps no initial value of it; "
                + clone_with("init", "current")
                + ", and assign what it should start from.",
                [name],
            )


def _out_of_reach(index: GraphIndex, name: str, mode: str) -> NotClonable:
    way_out = (
        "and only variables and lookup tables can be taken out of there; choose boundaries "
        "without it"
    )
    if mode == "shared":
        way_out = "which a tf.Module cannot read; " + clone_with("variables", "own")
    return NotClonable(
        f"What {name!r} ({index.types[index.ids[name]]}) holds is in a session or a file, "
        + way_out
        + ".",
        [name],
    )


def present_values(
    body_state: BodyState, own: Sequence[str], init: str = "current"
) -> dict[str, object]:
    """The first values of new variables: the present ones of live originals, else those of the
    session or file.

    Args:
        body_state: What the body's handles represent.
        own: The names of the originals.
        init: "current" or "initial", for originals that are not live.

    Returns:
        The values by name.

    Raises:
        SessionRefused: A variable has no value.
    """
    far = body_state.values([name for name in own if body_state.live(name) is None], init)
    return {
        name: far[name] if body_state.live(name) is None else _present(name, body_state.live(name))
        for name in own
    }


def _present(name: str, live: tf.Variable) -> Tensor:
    try:
        value: Tensor = live.read_value()
        return value
    except tf.errors.FailedPreconditionError as error:
        raise SessionRefused(
            f"Variable {name!r} has no value yet, so there is no current value to copy; assign one "
            "first.",
            [name],
        ) from error


def _variable(
    index: GraphIndex, name: str, live: object, value: Any, own_name: str, device: str | None
) -> tf.Variable:
    definition = definition_of(index, name)
    shape = index.nodes[index.ids[name]].attr["shape"].shape
    device = getattr(live, "device", None) if device is None else device
    try:
        with tf.device(device):
            return tf.Variable(
                value,  # whatever tf.Variable takes; types-tensorflow has tensors only
                trainable=definition.trainable,
                name=own_name,
                dtype=getattr(live, "dtype", None),
                shape=static_shape(shape),
                constraint=definition.constraint,
                synchronization=tf.VariableSynchronization(definition.synchronization),
                aggregation=tf.VariableAggregation(definition.aggregation),
            )
    except tf.errors.OpError as error:
        # Without soft placement there is no other device for one that is missing.
        raise SessionRefused(
            f"Variable {own_name!r} cannot be made on {device or 'the default device'!r}: "
            f"{first_sentence(error.message).rstrip('.')}; "
            + in_cell('give another device, or device="" for none.'),
            [name],
        ) from error
