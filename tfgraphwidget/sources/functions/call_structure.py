"""How a function is called: parameters, keyword arguments, defaults, and nested arguments and
results.

TensorFlow traces a function into flat lists of tensors. Its callers see Python's parameters, dicts,
tuples, named tuples, RaggedTensors and SparseTensors; what makes the one of the other is kept
beside the graph.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.naming import free_name
from tfgraphwidget.sources.live.shapes import static_shape
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import ConcreteFunction, FuncGraph, GenericFunction, Tensor

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, eq=False)
class CallStructure:
    """The parameters and the results of a function.

    `specs` has for each parameter a nested structure of TensorSpecs, or a Python value that the
    trace depends on. `results` is a nested structure in which each tensor, or TensorSpec, stands
    for one of the results.
    """

    parameters: tuple[inspect.Parameter, ...]
    specs: Mapping[str, object]
    results: Any

    @classmethod
    def flat(cls, specs: Mapping[str, tf.TensorSpec], results: int) -> CallStructure:
        """One tensor for each parameter; a tensor is the result, or a tuple of so many."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = tuple(inspect.Parameter(name, kind) for name in specs)
        return cls(parameters, specs, _any_tensor() if results == 1 else (_any_tensor(),) * results)

    @classmethod
    def of_tensors(
        cls, index: GraphIndex, tensors: Mapping[str, str], results: int
    ) -> CallStructure:
        """One parameter for each tensor of a graph, by the parameters' names, with its static shape
        and dtype, and so many results.
        """
        specs = {}
        for name, tensor in tensors.items():
            shape, dtype = index.tensor_shape(tensor), index.tensor_dtype(tensor)
            specs[name] = tf.TensorSpec(static_shape(shape), tf.as_dtype(dtype), name)
        return cls.flat(specs, results)

    @property
    def tensor_specs(self) -> tuple[tf.TensorSpec, ...]:
        """The TensorSpecs of the tensors that the function takes, in order."""
        return tuple(
            _leaves([self.specs[parameter.name] for parameter in self.parameters], tf.TensorSpec)
        )

    @property
    def tensor_parameters(self) -> tuple[str, ...]:
        """For each tensor that the function takes the parameter that is this tensor, or ""."""
        return tuple(
            p.name if isinstance(self.specs[p.name], tf.TensorSpec) else ""
            for p in self.parameters
            for _ in _leaves(self.specs[p.name], tf.TensorSpec)
        )

    @property
    def is_part_of_composite(self) -> tuple[bool, ...]:
        """For each tensor that the function takes whether it is a part of a sparse or ragged
        value.
        """
        specs = tf.nest.flatten([self.specs[parameter.name] for parameter in self.parameters])
        return tuple(
            not isinstance(spec, tf.TensorSpec)
            for spec in specs
            for _ in _leaves(spec, tf.TensorSpec)
        )

    @property
    def parameters_with_tensors(self) -> tuple[str, ...]:
        """The names of the parameters that are tensors or have some in them, in order."""
        return tuple(p.name for p in self.parameters if _leaves(self.specs[p.name], tf.TensorSpec))

    @property
    def example(self) -> inspect.BoundArguments:
        """Arguments that a trace is made with."""
        specs = OrderedDict((p.name, self.specs[p.name]) for p in self.parameters)
        return inspect.BoundArguments(inspect.Signature(self.parameters), specs)

    @property
    def result_count(self) -> int:
        """The number of tensors that the function returns."""
        return len(_leaves(self.results, tf.Tensor, tf.TensorSpec))

    def tensors(self, values: Mapping[str, object]) -> list[Tensor]:
        """The tensors in the values of parameters, in their order."""
        values_by_name = {p.name: values.get(p.name, p.default) for p in self.parameters}
        return [
            leaf
            for name, value in values_by_name.items()
            for leaf in self._parameter_tensors(name, value)
        ]

    def _parameter_tensors(self, name: str, value: object) -> list[Tensor]:
        specs = tf.nest.flatten(self.specs[name], expand_composites=True)
        leaves = tf.nest.flatten(value, expand_composites=True)
        return [
            leaf
            for leaf, spec in zip(leaves, specs, strict=True)
            if isinstance(spec, tf.TensorSpec)
        ]

    def pack(self, tensors: Iterable[object]) -> Any:
        """The results as the function returns them."""
        if isinstance(self.results, _ResultsByKey):  # tf.nest would sort the keys
            return dict(zip(self.results, tensors, strict=True))
        rest = iter(tensors)
        leaves = tf.nest.flatten(self.results, expand_composites=True)
        values = [
            next(rest) if isinstance(leaf, tf.Tensor | tf.TensorSpec) else leaf for leaf in leaves
        ]
        return tf.nest.pack_sequence_as(self.results, values, expand_composites=True)

    def with_results(self, keys: Sequence[str]) -> CallStructure:
        """The same with other results, where an edit has added some or taken some away.

        One tensor, or a plain tuple or list, becomes a tensor or a tuple; any other structure
        becomes a dict by `keys`.
        """
        if len(keys) == self.result_count:
            return self
        is_plain = type(self.results) in (tuple, list) and len(self.results) == self.result_count
        if is_plain or isinstance(self.results, tf.Tensor | tf.TensorSpec):
            return CallStructure(
                self.parameters,
                self.specs,
                _any_tensor() if len(keys) == 1 else (_any_tensor(),) * len(keys),
            )
        return CallStructure(
            self.parameters, self.specs, _ResultsByKey((key, _any_tensor()) for key in keys)
        )

    def with_arguments(self, specs: Mapping[str, tf.TensorSpec]) -> CallStructure:
        """The same with further tensors as keyword arguments, added by an edit, by their names."""
        names_in_use = {parameter.name for parameter in self.parameters}
        names = {name: free_name(name, names_in_use) for name in specs}
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = (*self.parameters, *(inspect.Parameter(names[name], kind) for name in specs))
        return CallStructure(
            parameters,
            {**self.specs, **{names[n]: spec for n, spec in specs.items()}},
            self.results,
        )

    def with_specs(self, specs: Sequence[tf.TensorSpec]) -> CallStructure:
        """The same for tensors of other shapes or dtypes; a composite's components stay what they
        are.

        Names stay: to TensorFlow a TensorSpec of another name is not the same.
        """
        rest = iter(specs)

        def refine(leaf: object) -> object:
            count = len(_leaves(leaf, tf.TensorSpec))
            leaf_specs = [next(rest) for _ in range(count)]
            if isinstance(leaf, tf.TensorSpec):
                return tf.TensorSpec(leaf_specs[0].shape, leaf_specs[0].dtype, leaf.name)
            return leaf

        now = {p.name: tf.nest.map_structure(refine, self.specs[p.name]) for p in self.parameters}
        return CallStructure(self.parameters, now, self.results)


def _any_tensor() -> tf.TensorSpec:
    """The TensorSpec of a tensor of any shape."""
    return tf.TensorSpec(static_shape(None))


class _ResultsByKey(dict[str, "tf.TensorSpec"]):
    """Results that an edit has added to or taken from, in their order."""


_Leaf = TypeVar("_Leaf")


def _leaves(structure: object, *kinds: type[_Leaf]) -> list[_Leaf]:
    return [
        leaf
        for leaf in tf.nest.flatten(structure, expand_composites=True)
        if isinstance(leaf, kinds)
    ]


def call_structure(
    trace: ConcreteFunction, function: GenericFunction | None = None
) -> CallStructure | None:
    """The structure of a ConcreteFunction; None when TensorFlow does not say it. The tf.function
    that it is a trace of knows the defaults and how parameters are passed.
    """
    signature = getattr(trace.graph, "structured_input_signature", None)
    kind = getattr(trace, "function_type", None)
    if not signature or kind is None:
        return None
    args, kwargs = signature
    by_position = [p.name for p in kind.parameters.values() if p.kind in _POSITIONAL]
    specs = {**dict(zip(by_position, args, strict=False)), **kwargs}
    if set(specs) != set(kind.parameters):
        return None
    declared = (
        {} if function is None else dict(inspect.signature(function.python_function).parameters)
    )
    parameters = [_parameter(p, specs[p.name], declared) for p in kind.parameters.values()]
    structure = CallStructure(_order_defaults(parameters), specs, trace.graph.structured_outputs)
    captured = {id(tensor) for tensor in trace.graph.internal_captures}
    parameters_in_graph = [tensor for tensor in trace.graph.inputs if id(tensor) not in captured]
    is_known = len(structure.tensor_specs) == len(parameters_in_graph) and (
        structure.result_count == len(own_outputs(trace.graph))
    )
    return structure if is_known else None


def own_outputs(graph: FuncGraph) -> list[Tensor]:
    """The tensors that a FuncGraph returns to its caller, without those that a gradient needs."""
    count = len(_leaves(graph.structured_outputs, tf.Tensor, tf.TensorSpec))
    return list(graph.outputs[: count or None])


def _parameter(
    parameter: inspect.Parameter, spec: object, declared: Mapping[str, inspect.Parameter]
) -> inspect.Parameter:
    """A parameter as declared; a Python value is the default of one that the trace depends on."""
    declaration = declared.get(parameter.name)
    has_rest = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in declared.values())
    default: object = inspect.Parameter.empty
    if not _leaves(spec, tf.TensorSpec):
        default = spec
    elif declaration is not None and declaration.default is not inspect.Parameter.empty:
        default = declaration.default if _fits(declaration.default, spec) else default
    kind = parameter.kind if declaration is None or has_rest else declaration.kind
    return inspect.Parameter(parameter.name, kind, default=default)


def _fits(value: object, spec: object) -> bool:
    """Whether a default value is one of a structure of TensorSpecs."""
    try:
        tf.nest.assert_same_structure(value, spec, expand_composites=True)
        pairs = zip(
            *(tf.nest.flatten(each, expand_composites=True) for each in (value, spec)), strict=True
        )
        return all(
            tf.convert_to_tensor(leaf, of.dtype).shape.is_compatible_with(of.shape)
            for leaf, of in pairs
            if isinstance(of, tf.TensorSpec)
        )
    except (TypeError, ValueError):
        return False


def _order_defaults(parameters: Sequence[inspect.Parameter]) -> tuple[inspect.Parameter, ...]:
    """Python takes no default before a parameter without one."""
    ordered: list[inspect.Parameter] = []
    required = False
    for parameter in reversed(parameters):
        if parameter.kind not in _POSITIONAL:
            ordered.append(parameter)
            continue
        required = required or parameter.default is inspect.Parameter.empty
        ordered.append(
            parameter.replace(default=inspect.Parameter.empty) if required else parameter
        )
    return tuple(reversed(ordered))
