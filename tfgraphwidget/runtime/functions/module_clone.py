"""Clones of a function's body: tf.Modules with variables of their own.

A function cannot be edited in place, and its copy needs no graph around it: it is a callable that holds its variables.
What the body captured, or what its callers feed to it from variables and tables, becomes a new `tf.Variable` or table,
or stays shared; the ops are imported into a new tf.function, so that gradients and saving work as for any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfgraphwidget.argument_checks import shown
from tfgraphwidget.edits import Preview, State
from tfgraphwidget.edits.clone import Excerpt, excerpt
from tfgraphwidget.errors import NameTaken, NotClonable, UnknownName
from tfgraphwidget.graph import (
    FUNCTION_CALLS,
    FUNCTIONAL_CONTROL_FLOW,
    PYTHON_CALLS,
    REMOTE_CALLS,
    RESOURCE_QUERIES,
    BodyState,
    GraphIndex,
)
from tfgraphwidget.naming import did_you_mean, free_name, identifier, is_scope_name, split_tensor
from tfgraphwidget.runtime.functions.body_import import branches, brought_in, called, loaded
from tfgraphwidget.runtime.functions.custom_gradients import called_gradients, gradients
from tfgraphwidget.runtime.functions.module_state import States, Variables, foreseen, made_states
from tfgraphwidget.runtime.sync.mixing import distance
from tfgraphwidget.runtime.sync.sync import check_tau
from tfgraphwidget.sources import static_shape
from tfgraphwidget.tf_internals import eager_mode, is_eager_by_default, watch_variable
from tfgraphwidget.tf_types import FunctionDef

# Stateful by their OpDefs, which says nothing of what the functions do that they call.
_CALLS = FUNCTION_CALLS | REMOTE_CALLS | FUNCTIONAL_CONTROL_FLOW


class ModuleCopy(tf.Module):
    """A part of a function's body that runs by itself: `module(x)`, or `module(**{"dense/Relu:0": x})`.

    It gives a tensor, or a tuple in the order of the outputs. `scope` is the name it was cloned as; `inputs` and
    `outputs` name the original's tensors at its ends; `report` tells what is new and what is shared. `own` and `shared`
    are its variables, in graph order, and `module["dense/kernel"]` is the one that stands for that of the original.
    `run` is the tf.function itself, `signature` one that gives a dict by the outputs' names; both are saved by
    `tf.saved_model.save`.
    """

    def __init__(
        self, part: Excerpt, states: States, functions: Mapping[str, FunctionDef], into: str, held: BodyState
    ) -> None:
        super().__init__(name=identifier(into))
        self.scope = into
        self.inputs, self.outputs = part.names(part.inputs), part.names(part.outputs)
        self.own, self.shared = list(states.variables.values()), list(states.shared.values())
        self.tables = list(states.tables.values())
        self.report = _report(part, states, into)
        self._names = (*states.variables, *states.shared)
        live = {name: held.live(name) for name in states.variables}
        self._original: Callable[[str], Any] = live.get  # not as an attribute: they would be this module's variables
        self._body = functions  # alive as long as the calls that name them

    @property
    def named_variables(self) -> dict[str, tf.Variable]:
        """Its variables, its own and the shared ones, by the names of the original's."""
        return dict(zip(self._names, (*self.own, *self.shared), strict=True))

    def _trace(
        self, parameters: Mapping[str, tf.TensorSpec], keys: Sequence[str], body: Callable[[dict[str, Any]], list[Any]]
    ) -> None:
        """Take `body`, which gives a tensor for each of `keys`, for tensors by the names of the inputs."""

        def given(tensors: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
            rest = [named[name] for name in self.parameters[len(tensors) :]]
            return dict(zip(self.inputs, (*tensors, *rest), strict=True))

        def run(*tensors: Any, **named: Any) -> Any:
            made = body(given(tensors, named))
            return made[0] if len(keys) == 1 else tuple(made)

        def signature(*tensors: Any, **named: Any) -> dict[str, Any]:
            return dict(zip(keys, body(given(tensors, named)), strict=True))

        self.parameters = tuple(parameters)
        self.run, self.signature = _function(run, parameters), _function(signature, parameters)
        try:
            self.run.get_concrete_function()
            self.signature.get_concrete_function()
        except (ValueError, TypeError, LookupError, tf.errors.OpError) as error:
            why = str(error).strip().splitlines()[0][:300].rstrip(".")
            raise NotClonable(
                f"TensorFlow refused the copy of {self.outputs[0]!r}: {why}; choose other boundaries.",
                [split_tensor(self.outputs[0])[0]],
            ) from error
        self._default_save_signature = self.signature
        # A loaded module is called by this one; here the class's comes first.
        self.__dict__["__call__"] = self.run

    def __call__(self, /, *tensors: Any, **named: Any) -> Any:
        """The outputs for the inputs, in order or by name: a tensor's ("x:0"), its op's ("x"), or the parameter's."""
        given = {self._parameter(name): tensor for name, tensor in named.items()}
        if tf.executing_eagerly() or tf.compat.v1.get_default_graph().building_function:
            return self.run(*tensors, **given)
        with eager_mode():  # a graph of TensorFlow 1 is the default one, which cannot hold the variables
            return self.run(*tensors, **given)

    def _parameter(self, name: str) -> str:
        if name in self.parameters:
            return name
        found = [p for p, tensor in zip(self.parameters, self.inputs, strict=True) if name in (tensor, tensor[:-2])]
        if not found:
            raise UnknownName(f"{self.scope!r} has no input {name!r}.{did_you_mean(name, self.inputs)}", [name])
        return found[0]

    def __getitem__(self, original: Any) -> tf.Variable:
        """The variable that this module reads for one of the original's, given by name or as a variable."""
        told = original if isinstance(original, str) else getattr(original, "path", getattr(original, "name", None))
        if not isinstance(told, str):
            raise UnknownName(f"{shown(original)} names no variable; give a name, or a variable of the original.")
        name = split_tensor(told)[0]
        if name not in self._names:
            raise UnknownName(f"{self.scope!r} reads no variable {name!r}.{did_you_mean(name, self._names)}", [name])
        return [*self.own, *self.shared][self._names.index(name)]

    def sync(self, tau: float = 1.0) -> None:
        """Give the module's own variables the originals' present values; with `tau`, that much of them.

        What is no floating or complex number is copied. Raises NotClonable for originals in a file or a session.
        """
        check_tau(tau)
        pairs = [(copy, original.read_value()) for _, original, copy in self._pairs()]
        for copy, value in pairs:
            mixed = copy.dtype.is_floating or copy.dtype.is_complex
            copy.assign(copy + tf.cast(tau, copy.dtype) * (value - copy) if mixed and tau != 1 else value)

    def drift(self) -> dict[str, float]:
        """How far each variable is from its original, by that one's name: the largest difference of two elements."""
        told = ((name, original.numpy(), copy) for name, original, copy in self._pairs())
        return {name: distance(value, copy.numpy(), copy.dtype) for name, value, copy in told}

    def _pairs(self) -> list[tuple[str, tf.Variable, tf.Variable]]:
        """(name, original, copy) of each variable of its own."""
        found = [(name, self._original(name), copy) for name, copy in zip(self._names, self.own, strict=False)]
        far = [name for name, original, _ in found if original is None]
        if far:
            raise NotClonable(
                f"Variable {far[0]!r} of the original is in a file or a session, where this module cannot look; "
                "clone it again for its present value.",
                far,
            )
        return found

    def __repr__(self) -> str:
        own, shared = len(self.own), len(self.shared)
        return f"<ModuleCopy {self.scope!r}: {own} variables of its own, {shared} shared>"


def as_module(
    index: GraphIndex,
    held: BodyState,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    into: str = "copy",
    *,
    variables: Variables = "own",
    init: str = "current",
    also: Collection[int] = (),
    arguments: Sequence[str] = (),
    returns: Mapping[str, str] | None = None,
) -> ModuleCopy:
    """The part of a function's body between `inputs` and `outputs` as a tf.Module named `into`.

    `held` tells what the body's handles stand for (`captured_state`), `also` are more ops that are to run. Without
    outputs it is all that `returns` (name of each result -> tensor), without inputs what is needed of `arguments`.
    Raises a GraphEditError when it cannot be right; the original is never changed.
    """
    if not is_scope_name(into):
        raise NameTaken(
            f"{into!r} is no name scope: use letters, digits, '_', '-', '.' and '/', and begin with a letter or digit."
        )
    if not is_eager_by_default():
        raise NotClonable(
            "A clone of a function's body is a tf.Module, which needs eager execution; take out "
            "tf.compat.v1.disable_eager_execution() or disable_v2_behavior(), and restart Python."
        )
    # Whatever graph or name scope is the default one here, a tf.Module's variables live outside of it.
    with eager_mode(), tf.compat.v1.name_scope(None):
        return _made(index, held, (inputs, outputs), into, (variables, init), also, (arguments, returns or {}))


def told(
    index: GraphIndex,
    held: BodyState,
    ends: tuple[Sequence[str], Sequence[str]],
    into: str,
    variables: Variables,
    also: Collection[int],
    body_ends: tuple[Sequence[str], Mapping[str, str]],
) -> Preview:
    """What `as_module` will do; no variable is made, and no value is read."""
    part = _excerpt(index, held, ends, also, body_ends)
    return _report(part, foreseen(part, held, variables), into)


def _excerpt(
    index: GraphIndex,
    held: BodyState,
    ends: tuple[Sequence[str], Sequence[str]],
    also: Collection[int],
    body_ends: tuple[Sequence[str], Mapping[str, str]],
) -> Excerpt:
    returns = [name for name in body_ends[1].values() if split_tensor(name)[0] not in held.names]
    return excerpt(index, held.names, ends[0], ends[1] or tuple(returns), also, body_ends[0])


def _made(
    index: GraphIndex,
    held: BodyState,
    ends: tuple[Sequence[str], Sequence[str]],
    into: str,
    state: tuple[Variables, str],
    also: Collection[int],
    body_ends: tuple[Sequence[str], Mapping[str, str]],
) -> ModuleCopy:
    names = held.names
    returns = {key: name for key, name in body_ends[1].items() if split_tensor(name)[0] not in names}
    part = _excerpt(index, held, ends, also, body_ends)
    definitions = called(index, (index.nodes[i] for i in part.ops))
    states = made_states(part, held, definitions.values(), into, *state)
    # TensorFlow makes the graphs of loops' and conditionals' bodies again for each gradient: no closure fits them.
    nodes = [index.nodes[i] for i in part.ops] + [node for d in definitions.values() for node in d.node_def]
    plain = {name: definitions[name] for name in definitions.keys() - branches(index, nodes)}
    functions = loaded(definitions, called_gradients(held, plain))
    own_gradients = gradients(part, held)
    module = ModuleCopy(part, states, functions, into, held)

    def body(given: dict[str, Any]) -> list[Any]:
        return brought_in(part, functions, own_gradients, {**given, **_captured(states)}, module.name)

    keys = {tensor: key for key, tensor in returns.items()}
    module._trace(_parameters(part), [keys.get(name, _plain(name)) for name in module.outputs], body)
    return module


def _captured(states: States) -> dict[str, Any]:
    """What stands for state in the function that is being traced, by the name of the original's tensor."""
    graph = tf.compat.v1.get_default_graph()
    found: dict[str, Any] = {**states.handles, **states.constants}
    found |= {name: table.resource_handle for name, table in states.tables.items()}
    for name, variable in (*states.variables.items(), *states.shared.items()):
        watch_variable(variable)  # else no tape watches it
        found[name] = variable.handle
    return {f"{name}:0": graph.capture(tensor) for name, tensor in found.items()}


def _plain(tensor: str) -> str:
    """A tensor's name as the name of a result: without ":0"."""
    op, port = split_tensor(tensor)
    return op if not port else f"{op}_{port}"


def _parameters(part: Excerpt) -> dict[str, tf.TensorSpec]:
    """Name of each parameter -> its dtype and static shape, one for each input."""
    index = part.index
    found: dict[str, tf.TensorSpec] = {}
    for (op, port), tensor in zip(part.inputs, part.names(part.inputs), strict=True):
        name = free_name(identifier(_plain(tensor)), {known.lower() for known in found} | {"self"})
        dtype = tf.as_dtype(index.dtypes(op)[port])
        found[name] = tf.TensorSpec(static_shape(index.shape(op, port)), dtype, name=name)
    return found


def _function(body: Callable[..., Any], parameters: Mapping[str, tf.TensorSpec]) -> Any:
    """A tf.function whose parameters have these names and take these tensors."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    told = inspect.Signature([inspect.Parameter(name, kind) for name in parameters])
    body.__signature__ = told  # type: ignore[attr-defined]
    return tf.function(body, input_signature=list(parameters.values()), autograph=False)


def _report(part: Excerpt, states: States, into: str) -> Preview:
    index = part.index
    names = tuple(index.names[i] for i in part.ops)
    new = {**dict.fromkeys(states.variables, "variable"), **dict.fromkeys(states.tables, "hash table")}
    shared = {**dict.fromkeys(states.shared, "variable"), **dict.fromkeys(states.handles, "resource")}
    dropped = [
        f"{index.names[op]!r} no longer waits for {index.names[waited]!r}, which stays behind."
        for op, waited in part.waits
    ]
    dropped += [
        f"{index.names[i]!r} calls a Python function of this process: a SavedModel of the clone runs nowhere else."
        for i in part.ops
        if index.types[i] in PYTHON_CALLS
    ]
    return Preview(
        ops=names,
        scopes=(into,),
        inputs=part.names(part.inputs),
        new=tuple(State(new[name], name) for name in sorted(new, key=index.ids.__getitem__)),
        shared=tuple(State(shared[name], name) for name in sorted(shared, key=index.ids.__getitem__)),
        stateful=tuple((index.types[i], index.names[i]) for i in part.ops if _is_stateful(index, index.types[i])),
        dropped=tuple(dropped),
    )


def _is_stateful(index: GraphIndex, kind: str) -> bool:
    definition = index.typing.definition(kind)
    return definition is not None and definition.is_stateful and kind not in RESOURCE_QUERIES and kind not in _CALLS
