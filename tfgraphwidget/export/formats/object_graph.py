"""ObjectGraphEdit: what edits of the graph of a SavedModel of TensorFlow 2 mean for its saved
objects and functions.

The saved objects (modules, variables, tables, functions, signatures) name functions of the library.
An edited function has a name of its own in the editor, and callers that were not edited call the
old one. In the file it takes the old name if nothing needs the old function any more, so that
objects, and a comparison of the files, see one changed body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.formats.new_saved_variables import NewVariable, add_objects
from tfgraphwidget.export.formats.signature_function import called_function, signature_function
from tfgraphwidget.graph import (
    CONSTANTS,
    FUNCTION_CALLS,
    TRAINABLE,
    GraphIndex,
    NoExtras,
    Shape,
    Signature,
    called_functions,
    handles,
    needed_ops,
    pairs,
    reachable_functions,
    walk_from,
    write_shape,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import free_name, identifier, names_text, split_input, split_tensor
from tfgraphwidget.runtime.sandbox import CONSTRUCTION_CONTEXT
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import open_source, saved_variables, tf_protos
from tfgraphwidget.tf_types import (
    FunctionDef,
    FunctionDefLibrary,
    MetaGraphDef,
    NodeDef,
    SavedBareConcreteFunction,
    SavedConcreteFunction,
    SavedObject,
    SavedObjectGraph,
    StructuredValue,
    TensorShapeProto,
    TensorSpecProto,
)

_SIGNATURES = "signatures"
_EMPTY_OBJECT = "_generic_user_object"
_EDITED = re.compile(r"_edited(_\w+)?\Z")
_INFERRED = "_output_shapes"
_EAGER = b"kEagerRuntime"


class ObjectGraphEdit:
    """The saved objects and the library of a MetaGraphDef, brought in line with an edited graph.

    Args:
        original: The MetaGraphDef as it was opened.
        before: Its graph.
        after: The graph after the edits.
        nodes: NodeDefs of `after` as the file has them, and those that the file needs besides.
        library: The FunctionDefs of `after` as the file has them.
    """

    def __init__(
        self,
        original: MetaGraphDef,
        before: GraphIndex,
        after: GraphIndex,
        nodes: Sequence[NodeDef],
        library: Iterable[FunctionDef],
    ) -> None:
        self._original, self._before, self._after = original, before, after
        self._nodes = {node.name: node for node in nodes}
        self._now = {function.signature.name: function for function in library}
        self.objects = type(original.object_graph_def)()
        self.objects.CopyFrom(original.object_graph_def)
        self.notices: list[str] = []
        self._old = {
            function.signature.name: function for function in original.graph_def.library.function
        }
        # Tensors of new handles, with the numbers of their objects.
        self._added: dict[str, int] = {}
        # Functions of signatures, by the name that they have in the file.
        self._new: dict[str, FunctionDef] = {}
        self._reachable = self._reachable_functions(nodes)
        self._successors = {**self._edited_by_name(), **successors(before, after)}

    def _function(self, name: str) -> FunctionDef:
        """A function of the edited graph, in the file's own bytes where it was not edited."""
        old = self._old.get(name)
        now = self._now.get(name, old)
        if now is None:
            return self._after.extras.function(name)
        return old if old == now else now

    def _edited_by_name(self) -> dict[str, set[str]]:
        """The edited versions of functions that only objects call, and no op."""
        editions: dict[str, set[str]] = {}
        for name in self._after.functions - self._before.functions - self._reachable:
            old = _EDITED.sub("", name)
            if old in self.objects.concrete_functions and old not in self._reachable:
                editions.setdefault(old, set()).add(name)
        return {old: names for old, names in editions.items() if len(names) == 1}

    def _reachable_functions(self, nodes: Iterable[NodeDef]) -> set[str]:
        """The functions that ops of the edited graph call, directly or not."""
        names = self._after.functions | self._old.keys()
        return set(
            reachable_functions(
                names, _FunctionLookup(self._function, self._after.extras.gradient), nodes
            )
        )

    # Variables

    def add_variables(self, variables: Sequence[NewVariable]) -> None:
        """Add objects for variables that edits have brought in."""
        add_objects(self.objects, variables, self._after)
        self._added = {variable.definition.name: variable.number for variable in variables}

    def trainable(self) -> None:
        """Let the saved variables be trainable, or not, as the edited graph has them."""
        before, after = map(_trainable, (self._before, self._after))
        there = {self._after.names[i] for i in handles(self._after)} & self._before.ids.keys()
        if before & there == after & there:
            return
        nodes = self.objects.nodes
        numbers = saved_variables(self._original, self._original.graph_def.node)
        flags = {number: op in after for op, number in numbers.items() if op in there}
        functions = self._original.object_graph_def.concrete_functions.values()
        bound_inputs = {number for function in functions for number in function.bound_inputs}
        # Keras saves each variable twice, under one name; functions bind one of them.
        by_name = {
            nodes[number].variable.name: flag
            for number, flag in flags.items()
            if number in bound_inputs
        }
        for number, saved in enumerate(nodes):
            if saved.WhichOneof("kind") == "variable":
                own = flags.get(number, saved.variable.trainable)
                saved.variable.trainable = (
                    own if number in bound_inputs else by_name.get(saved.variable.name, own)
                )
        lists = [child.local_name for child in nodes[0].children if child.local_name == TRAINABLE]
        if lists:
            self.notices.append(
                "The list trainable_variables of the saved object is as it was, since checkpoints "
                "name its entries; take those variables whose trainable is True, as the functions "
                "of the signatures do."
            )

    # Signatures

    def signatures(self, was: Sequence[Signature], now: Sequence[Signature]) -> None:
        """Let the functions of signatures compute what their tensors in the graph are now.

        Raises GraphEditError, with an unfinished sentence, when a signature needs what no function
        can hold.
        """
        numbers = self._signature_objects()
        signatures_now = {signature.name: signature for signature in now}
        signatures_before = {signature.name: signature for signature in was}
        bindings = self._object_tensors
        for name, number in numbers.items():
            if name not in signatures_now:
                self._drop_signature(name)
            elif name in signatures_before:
                self._set_signature(number, signatures_before[name], signatures_now[name], bindings)
        for signature in now:
            if signature.name not in numbers:
                self._add_signature(signature, bindings)

    @cached_property
    def _object_tensors(self) -> dict[str, int]:
        """Tensors that represent saved objects, with their numbers, but for frozen ones."""
        before, after = self._before, self._after
        object_tensors = bound_tensors(self._original, before.nodes)
        ops = {tensor: split_tensor(tensor)[0] for tensor in object_tensors}
        constant = {
            name
            for name in ops.values()
            if name in after.ids and after.types[after.ids[name]] in CONSTANTS
        }
        constant -= {
            name
            for name in constant
            if name in before.ids and before.types[before.ids[name]] in CONSTANTS
        }
        return {
            **{
                tensor: number
                for tensor, number in object_tensors.items()
                if ops[tensor] not in constant
            },
            **self._added,
        }

    def _signature_objects(self) -> dict[str, int]:
        """The number of the object of each signature, by name."""
        nodes = self.objects.nodes
        roots = (
            [child.node_id for child in nodes[0].children if child.local_name == _SIGNATURES]
            if nodes
            else []
        )
        children = (child for root in roots for child in nodes[root].children)
        return {
            child.local_name: child.node_id
            for child in children
            if nodes[child.node_id].WhichOneof("kind") == "bare_concrete_function"
        }

    def _drop_signature(self, name: str) -> None:
        """Remove a signature from the signatures; its function goes if nothing else names it."""
        for root in list(self.objects.nodes[0].children):
            if root.local_name != _SIGNATURES:
                continue
            saved = self.objects.nodes[root.node_id]
            for children in (saved.children, saved.dependencies):
                others = [child for child in children if child.local_name != name]
                del children[:]
                children.extend(others)
        self._forget_unnamed()

    def _forget_unnamed(self) -> None:
        """Remove the concrete functions of signatures that were dropped or exchanged."""
        reachable = self._reachable_objects()
        for number, saved in enumerate(self.objects.nodes):
            if number not in reachable and saved.WhichOneof("kind") == "bare_concrete_function":
                # Objects go by their numbers, and all of them are loaded: an empty one takes the
                # place.
                saved.user_object.identifier = _EMPTY_OBJECT
                saved.user_object.version.producer = saved.user_object.version.min_consumer = 1
        named_functions = _named_functions(self.objects, within=reachable)
        for name in [
            name for name in self.objects.concrete_functions if name not in named_functions
        ]:
            # What the graph calls stays there, since it says which objects the call binds.
            if (
                name in _named_functions(self._original.object_graph_def)
                and name not in self._reachable
            ):
                del self.objects.concrete_functions[name]

    def _reachable_objects(self) -> set[int]:
        def members(number: int) -> Iterator[int]:
            saved = self.objects.nodes[number]
            yield from (child.node_id for child in (*saved.children, *saved.dependencies))
            yield from (slot.slot_variable_node_id for slot in saved.slot_variables)
            for pair in saved.saveable_objects.values():
                yield from (pair.save_function, pair.restore_function)

        return set(walk_from([0], members))

    def _set_signature(
        self, number: int, was: Signature, now: Signature, bindings: Mapping[str, int]
    ) -> None:
        saved = self.objects.nodes[number].bare_concrete_function
        old = saved.concrete_function_name
        template, facts = self._old[old], self.objects.concrete_functions[old]
        if self._is_same(was, now) and self._same_functions(was):
            if self._input_shapes_differ(was):
                self._set_inputs(facts, saved, renamed_inputs(was, now), now)
            return
        call = _only_call(self._before, was, old)
        if call and self._is_same(was, now, functions=False):
            name = called_function(self._after.nodes[self._after.ids[call]])
            if name == old or (
                self._successor(old) == name and self._new_arguments(old, name) is not None
            ):
                if _output_shapes(self._before, was) != _output_shapes(self._after, now):
                    _check_keys(facts.output_signature, was.outputs, was.name)
                    self._set_outputs(facts, now)
                if self._input_shapes_differ(was):
                    self._set_inputs(facts, saved, renamed_inputs(was, now), now)
                return
        used_names = {name.lower() for name in (*self._after.functions, *self._old, *self._new)}
        name = free_name(f"{old}_edited", used_names) if old in self._reachable else old
        renamed = renamed_inputs(was, now)
        _check_keys(facts.canonicalized_input_signature.tuple_value.values[1], was.inputs, was.name)
        _check_keys(facts.output_signature, was.outputs, was.name)
        numbers = {key: number for number, key in enumerate(sorted(key for key, _ in was.inputs))}
        tensors = dict(now.inputs)
        inputs = [
            (numbers[old], tensors[new]) for old, new in sorted(renamed.items(), key=itemgetter(1))
        ]
        function = signature_function(self._after, now, bindings, template, name, inputs)
        exchanged = copy_of(facts)
        exchanged.bound_inputs[:] = function.bound_inputs
        self._new[name] = function.definition
        self._set_inputs(exchanged, saved, renamed, now)
        self._set_outputs(exchanged, now)
        self.objects.concrete_functions[name].CopyFrom(exchanged)
        saved.concrete_function_name = name
        self._forget_unnamed()

    def _add_signature(self, signature: Signature, bindings: Mapping[str, int]) -> None:
        """Give the model a signature that it did not have."""
        nodes = self.objects.nodes
        root = next(
            (child.node_id for child in nodes[0].children if child.local_name == _SIGNATURES), None
        )
        if root is None:
            raise GraphEditError("the model was saved without an object for signatures")
        used_names = {name.lower() for name in (*self._after.functions, *self._old, *self._new)}
        name = free_name(f"__inference_signature_wrapper_{identifier(signature.name)}", used_names)
        inputs = sorted(signature.inputs)
        numbers = [(number, tensor) for number, (_, tensor) in enumerate(inputs)]
        template = self._function_template(inputs)
        function = signature_function(self._after, signature, bindings, template, name, numbers)
        facts = self.objects.concrete_functions[name]
        facts.bound_inputs[:] = function.bound_inputs
        facts.canonicalized_input_signature.tuple_value.values.add().tuple_value.SetInParent()
        fields = facts.canonicalized_input_signature.tuple_value.values.add().dict_value
        fields.SetInParent()
        self._set_specs(fields.fields, inputs)
        self._set_outputs(facts, signature)
        self._new[name] = function.definition
        child = nodes[root].children.add()
        child.node_id, child.local_name = len(nodes), signature.name
        saved = nodes.add().bare_concrete_function
        saved.concrete_function_name = name
        saved.argument_keywords[:] = [key for key, _ in inputs]

    def _function_template(self, inputs: Sequence[tuple[str, str]]) -> FunctionDef:
        """A FunctionDef with an argument per input, and the attributes of TensorFlow 2's traces."""
        template = tf_protos.FunctionDef()
        used_names: set[str] = set()
        for key, tensor in inputs:
            op, port = pairs(self._after, [tensor])[0]
            argument = template.signature.input_arg.add()
            argument.name = free_name(identifier(key).lower(), used_names)
            argument.type = self._after.typing.number(self._after.dtypes(op)[port])
            used_names.add(argument.name)
        template.attr[CONSTRUCTION_CONTEXT].s = _EAGER
        return template

    def _is_same(self, was: Signature, now: Signature, *, functions: bool = True) -> bool:
        """Whether a signature has the same inputs, outputs and ops; without `functions` calls may
        call others.
        """
        if was != now:
            return False
        file = {node.name: node for node in self._original.graph_def.node}
        sides = []
        for index, nodes in ((self._before, file), (self._after, self._nodes)):
            ops = needed_ops(
                index, [tensor for _, tensor in was.inputs], [tensor for _, tensor in was.outputs]
            )
            names = [index.names[i] for i in np.flatnonzero(ops).tolist()]
            sides.append({name: _comparable(nodes[name], functions=functions) for name in names})
        return sides[0] == sides[1]

    def _same_functions(self, signature: Signature) -> bool:
        """Whether all that a signature calls is what it was."""
        ops = np.flatnonzero(
            needed_ops(self._before, (), [tensor for _, tensor in signature.outputs])
        ).tolist()
        nodes = [self._before.nodes[i] for i in ops]
        return all(
            self._old[name] is self._function(name)
            for name in self._before.reachable_functions(nodes)
            if name in self._old
        )

    def _input_shapes_differ(self, signature: Signature) -> bool:
        """Whether inputs of a signature have other static shapes after the edits."""
        names = [tensor for _, tensor in signature.inputs]
        before = [self._before.shape(*tensor) for tensor in pairs(self._before, names)]
        after = [self._after.shape(*tensor) for tensor in pairs(self._after, names)]
        return before != after

    def _set_inputs(
        self,
        facts: SavedConcreteFunction,
        saved: SavedBareConcreteFunction,
        renamed: Mapping[str, str],
        now: Signature,
    ) -> None:
        """Let a signature take its inputs under other keys and shapes, without those that went."""
        fields = facts.canonicalized_input_signature.tuple_value.values[1].dict_value.fields
        tensors = dict(now.inputs)
        for key, new in renamed.items():
            if key not in fields or not fields[key].HasField("tensor_spec_value"):
                # Sparse or ragged: several tensors.
                continue
            op, port = pairs(self._after, [tensors[new]])[0]
            declared = fields[key].tensor_spec_value.shape
            shape = type(declared)()
            write_shape(shape, self._after.shape(op, port))
            if declared != shape:
                declared.CopyFrom(shape)
                saved.ClearField("function_spec")
        if all(renamed.get(key) == key for key in saved.argument_keywords):
            return
        specs = {key: type(value)() for key, value in fields.items()}
        for key, value in fields.items():
            specs[key].CopyFrom(value)
        fields.clear()
        for key, new in renamed.items():
            fields[new].CopyFrom(specs[key])
            fields[new].tensor_spec_value.name = new
        saved.argument_keywords[:] = [
            renamed[key] for key in saved.argument_keywords if key in renamed
        ]
        saved.ClearField("function_spec")

    def _set_outputs(self, facts: SavedConcreteFunction, signature: Signature) -> None:
        """Let the structure of the outputs be that of a signature."""
        self._set_specs(facts.output_signature.dict_value.fields, signature.outputs)

    def _set_specs(self, fields: Any, tensors: Iterable[tuple[str, str]]) -> None:
        """Let the fields of a structured value be the TensorSpecs of tensors, by their keys."""
        fields.clear()
        for key, tensor in tensors:
            op, port = pairs(self._after, [tensor])[0]
            spec = fields[key].tensor_spec_value
            spec.name = key
            spec.dtype = self._after.typing.number(self._after.dtypes(op)[port])
            write_shape(spec.shape, self._after.shape(op, port))

    def output_shape(self, signature: str, key: str) -> TensorShapeProto | None:
        """The static shape that the function of a signature declares for an output; None for
        composite values.
        """
        number = self._signature_objects().get(signature)
        if number is None:
            return None
        name = self.objects.nodes[number].bare_concrete_function.concrete_function_name
        fields = self.objects.concrete_functions[name].output_signature.dict_value.fields
        return fields[key].tensor_spec_value.shape if key in fields else None

    # Functions

    def _successor(self, name: str) -> str:
        """The edited function that all callers of a function call now; "" if some do not."""
        candidates = self._successors.get(name, set())
        only = next(iter(candidates)) if len(candidates) == 1 else ""
        return only if only and only not in self._old and name not in self._reachable else ""

    def library(self) -> tuple[FunctionDefLibrary, dict[str, str]]:
        """The functions of the file, and their names there where the editor has others."""
        exchanged = {
            name: new
            for name in self._old
            if name not in self._new and (new := self._successor(name))
        }
        exchanged = {
            name: new for name, new in exchanged.items() if self._takes_the_same(name, new)
        }
        stay = [
            name
            for name in self.objects.concrete_functions
            if name in self._old and name not in exchanged
        ]
        edited = self._reachable_functions(
            [node for new in exchanged.values() for node in self._function(new).node_def]
        )
        needed_too = self._old_reached(stay) | self._reachable | set(stay) | edited
        edited |= set(exchanged.values())
        final = {new: old if old not in needed_too else new for old, new in exchanged.items()}
        moves = {old: new for old, new in exchanged.items() if final[new] != old}
        self._move(moves)
        unreached = self._old.keys() - self._old_reached_before()
        names = [
            name
            for name in self._old
            if name in needed_too or (name in unreached and name not in exchanged)
        ]
        definitions = {name: self._function(name) for name in names}
        for name in sorted((self._reachable | edited) - self._old.keys()):
            definitions[final.get(name, name)] = self._function(name)
        definitions.update(self._new)
        order = [name for name in self._old if name in definitions]
        order += [name for name in definitions if name not in self._old]
        renamed = {new: old for new, old in final.items() if new != old}
        library = tf_protos.FunctionDefLibrary()
        for name in order:
            library.function.add().CopyFrom(definitions[name])
            function = library.function[-1]
            if function.signature.name in renamed or any(
                callee in renamed for callee in _function_references(function)
            ):
                _rename(function, renamed)
                if name in self._old and self._is_unchanged_wrapper(function):
                    function.CopyFrom(self._old[name])
        self._add_gradients(library, set(order), renamed)
        self._tell_of_old_versions()
        self._set_function_outputs(library, exchanged, moves)
        return library, renamed

    def _set_function_outputs(
        self, library: FunctionDefLibrary, exchanged: Mapping[str, str], moves: Mapping[str, str]
    ) -> None:
        """Let objects' functions declare the static shapes of their edited bodies: TensorFlow holds
        them to it.

        The functions of signatures do so already.
        """
        numbers = self._signature_objects().values()
        wrappers = {
            self.objects.nodes[number].bare_concrete_function.concrete_function_name
            for number in numbers
        }
        by_name = {function.signature.name: function for function in library.function}
        edited = [
            name
            for old in exchanged
            if (name := moves.get(old, old)) in self.objects.concrete_functions
        ]
        edited = [
            name for name in edited if name not in wrappers and by_name[name] != self._old.get(name)
        ]
        shapes = _function_shapes([by_name[name] for name in edited], library) if edited else {}
        for name in edited:
            specs = list(_tensor_specs(self.objects.concrete_functions[name].output_signature))
            if len(specs) == len(shapes[name]):
                for spec, shape in zip(specs, shapes[name], strict=True):
                    write_shape(spec.shape, shape)
            self._set_function_inputs(name, by_name[name])

    def _set_function_inputs(self, name: str, function: FunctionDef) -> None:
        """Let an object's function declare the static shapes that its arguments have."""
        facts = self.objects.concrete_functions[name]
        specs = list(_tensor_specs(facts.canonicalized_input_signature))
        if len(specs) + len(facts.bound_inputs) != len(function.signature.input_arg):
            return
        holders = (
            saved.function for saved in self.objects.nodes if saved.WhichOneof("kind") == "function"
        )
        signatures = [
            each.function_spec.input_signature
            for each in holders
            if name in each.concrete_functions
        ]
        declared = [list(_tensor_specs(signature)) for signature in signatures]
        for place, spec in enumerate(specs):
            attributes = function.arg_attr[place].attr if place in function.arg_attr else {}
            shapes = attributes[_INFERRED].list.shape if _INFERRED in attributes else ()
            if shapes and spec.shape != shapes[0]:
                for each in (spec, *(one[place] for one in declared if len(one) == len(specs))):
                    each.shape.CopyFrom(shapes[0])

    def _is_unchanged_wrapper(self, function: FunctionDef) -> bool:
        """Whether a function that the graph calls does what it did, and gives the static shapes
        that it gave.

        TensorFlow refuses a function whose ops note other shapes than it infers.
        """
        old, before, after = self._old[function.signature.name], self._before, self._after
        nodes = [before.nodes[k] for k in self._before_calls.get(function.signature.name, ())]
        ops = [(before.ids[node.name], after.ids.get(node.name)) for node in nodes]
        is_same_shape = all(
            now is not None
            and all(
                before.shape(was, k) == after.shape(now, k) for k in range(len(before.dtypes(was)))
            )
            for was, now in ops
        )
        return bool(ops) and is_same_shape and _without_shapes(old) == _without_shapes(function)

    @cached_property
    def _before_calls(self) -> dict[str, list[int]]:
        """The ops of the graph as it was opened that call each function as "f"."""
        callers: dict[str, list[int]] = {}
        for k, node in enumerate(self._before.nodes):
            if function := called_function(node):
                callers.setdefault(function, []).append(k)
        return callers

    def _old_reached(self, names: Iterable[str]) -> set[str]:
        """The functions that functions of the file called as it was opened."""
        nodes = [node for name in names for node in self._old[name].node_def]
        return set(reachable_functions(self._old.keys(), self._old_library, nodes))

    def _old_reached_before(self) -> set[str]:
        concrete = [
            name for name in self._original.object_graph_def.concrete_functions if name in self._old
        ]
        nodes = self._original.graph_def.node
        rooted = reachable_functions(self._old.keys(), self._old_library, nodes)
        return rooted.keys() | set(concrete) | self._old_reached(concrete)

    @property
    def _old_library(self) -> _FunctionLookup:
        """The functions of the file, as it was opened."""
        return _FunctionLookup(self._old.__getitem__, self._before.extras.gradient)

    def _takes_the_same(self, old: str, new: str) -> bool:
        """Whether an edited function has the arguments that the function had; a notice if an object
        names it.

        It may have those of new variables besides, which become bound to it.
        """
        numbers = self._new_arguments(old, new)
        if numbers is not None:
            if old in self.objects.concrete_functions:
                self.objects.concrete_functions[old].bound_inputs.extend(numbers)
            return True
        if old in self.objects.concrete_functions:
            self.notices.append(
                f"{names_text(self._paths(old))} of the saved object is unchanged, because the "
                "edited function takes other variables; call the signature."
            )
        return False

    def _new_arguments(self, old: str, new: str) -> list[int] | None:
        """The objects of an edited function's further arguments; None if the others differ."""
        before, now = (
            [a.type for a in f.signature.input_arg] for f in (self._old[old], self._function(new))
        )
        numbers = self._given_objects.get(new, ())[len(before) :] if len(now) > len(before) else ()
        new_numbers = [number for number in numbers if number is not None]
        if before == now[: len(before)] and len(before) + len(new_numbers) == len(now):
            return new_numbers
        return None

    @cached_property
    def _given_objects(self) -> dict[str, list[int | None]]:
        """The saved objects that calls give each function's arguments; None for other ones."""
        numbers = self._object_tensors
        arguments: dict[str, list[int | None]] = {}
        stack: list[tuple[Iterable[NodeDef], Mapping[str, int]]] = [
            (
                self._after.nodes,
                {
                    **numbers,
                    **{name.removesuffix(":0"): number for name, number in numbers.items()},
                },
            )
        ]
        while stack:
            nodes, objects = stack.pop()
            for node in nodes:
                name = called_function(node)
                if (
                    node.op not in FUNCTION_CALLS
                    or name not in self._after.functions
                    or name in arguments
                ):
                    continue
                definition = self._after.extras.function(name)
                arguments[name] = [objects.get(text) for text in node.input if text[:1] != "^"]
                pairs_of_arguments = zip(
                    definition.signature.input_arg, arguments[name], strict=False
                )
                inner = {
                    argument.name: number
                    for argument, number in pairs_of_arguments
                    if number is not None
                }
                stack.append((definition.node_def, inner))
        return arguments

    def _move(self, moves: Mapping[str, str]) -> None:
        """Let objects name other functions."""
        functions = self.objects.concrete_functions
        for old, new in moves.items():
            if old in functions:
                functions[new].CopyFrom(functions[old])
                del functions[old]
        for saved in self.objects.nodes:
            kind = saved.WhichOneof("kind")
            if kind == "function":
                saved.function.concrete_functions[:] = [
                    moves.get(n, n) for n in saved.function.concrete_functions
                ]
            elif kind == "bare_concrete_function":
                bare = saved.bare_concrete_function
                bare.concrete_function_name = moves.get(
                    bare.concrete_function_name, bare.concrete_function_name
                )
            elif kind == "captured_tensor":
                captured = saved.captured_tensor
                captured.concrete_function = moves.get(
                    captured.concrete_function, captured.concrete_function
                )

    def _add_gradients(
        self, library: FunctionDefLibrary, names: Collection[str], renamed: Mapping[str, str]
    ) -> None:
        original = self._original.graph_def.library
        for pair in original.gradient:
            if pair.function_name in names and pair.gradient_func in names:
                library.gradient.add().CopyFrom(pair)
        with_gradient = {pair.function_name for pair in library.gradient}
        for name in self._reachable - self._old.keys():
            final, gradient = renamed.get(name, name), self._after.extras.gradient(name)
            if gradient and final not in with_gradient:
                library.gradient.add(
                    function_name=final, gradient_func=renamed.get(gradient, gradient)
                )
        for registered in original.registered_gradients:
            if registered.gradient_func in names:
                library.registered_gradients.add().CopyFrom(registered)

    def _tell_of_old_versions(self) -> None:
        """Add a notice of functions that some callers call edited and some as they were."""
        for name in sorted(self.objects.concrete_functions):
            others = self._successors.get(name, set()) - {name}
            if others and name in self._old and name in self._reachable:
                paths = self._paths(name)
            else:
                paths = ()
            if paths:
                self.notices.append(
                    f"{names_text(paths)} of the saved object is unchanged, because a signature "
                    "that was not edited calls it too; "
                    + in_cell(
                        "enter it by editor.view.enter(op, everywhere=True) to edit it for all "
                        "calls."
                    )
                )

    def _paths(self, function: str) -> tuple[str, ...]:
        """The attributes of the saved object by which a function is called, but signatures."""
        paths, visited = [], {0}
        level: list[tuple[tuple[str, ...], int]] = [((), 0)]
        while level:
            following: list[tuple[tuple[str, ...], int]] = []
            for path, number in level:
                for child in self.objects.nodes[number].children:
                    if child.node_id in visited or (
                        number == 0 and child.local_name == _SIGNATURES
                    ):
                        continue
                    visited.add(child.node_id)
                    saved = self.objects.nodes[child.node_id]
                    if (
                        saved.WhichOneof("kind") == "function"
                        and function in saved.function.concrete_functions
                    ):
                        paths.append(".".join((*path, child.local_name)))
                    following.append(((*path, child.local_name), child.node_id))
            level = following
        return tuple(paths)


class _FunctionLookup(NoExtras):
    """Functions and their gradients, as following calls needs them."""

    def __init__(
        self, function: Callable[[str], FunctionDef], gradient: Callable[[str], str]
    ) -> None:
        self._function, self._gradient = function, gradient

    def function(self, name: str) -> FunctionDef:
        """The FunctionDef of that name; KeyError when there is none."""
        return self._function(name)

    def gradient(self, name: str) -> str:
        """The name of the function's gradient, or ""."""
        return self._gradient(name)


def bound_tensors(meta: MetaGraphDef, nodes: Iterable[NodeDef]) -> dict[str, int]:
    """Tensors of a graph that calls of saved functions bind to saved objects, with the numbers of
    these objects.
    """
    number_of: dict[str, int] = {}
    for node in nodes:
        function = called_function(node)
        if function in meta.object_graph_def.concrete_functions:
            numbers = meta.object_graph_def.concrete_functions[function].bound_inputs
            inputs = [text for text in node.input if text[:1] != "^"]
            for text, number in zip(inputs[len(inputs) - len(numbers) :], numbers, strict=True):
                op, port = split_input(text)
                number_of[f"{op}:{port}"] = number
    return number_of


def successors(before: GraphIndex, after: GraphIndex) -> dict[str, set[str]]:
    """The functions that are called now where each function was called, by following calls that
    both graphs have.
    """
    result: dict[str, set[str]] = {}
    visited: set[tuple[str, str]] = set()
    stack: list[tuple[Iterable[NodeDef], Iterable[NodeDef]]] = [(before.nodes, after.nodes)]
    while stack:
        old_nodes, new_nodes = stack.pop()
        there = {node.name: node for node in new_nodes}
        for node in old_nodes:
            if node.name not in there:
                continue
            now = dict(called_functions(there[node.name], after.functions))
            for label, function in called_functions(node, before.functions):
                pair = function, now.get(label, "")
                if not pair[1] or pair in visited:
                    continue
                visited.add(pair)
                result.setdefault(pair[0], set()).add(pair[1])
                stack.append(
                    (
                        before.extras.function(pair[0]).node_def,
                        after.extras.function(pair[1]).node_def,
                    )
                )
    return result


def _comparable(node: NodeDef, *, functions: bool) -> object:
    copy = copy_of(node)
    copy.attr.pop(_INFERRED, None)
    if not functions and called_function(copy):
        copy.attr["f"].func.name = ""
    return copy


def _output_shapes(index: GraphIndex, signature: Signature) -> list[object]:
    tensors = pairs(index, [tensor for _, tensor in signature.outputs])
    return [(index.dtypes(op)[port], index.shape(op, port)) for op, port in tensors]


def _check_keys(
    structure: StructuredValue, named: Iterable[tuple[str, str]], signature: str
) -> None:
    """Raise for a signature of sparse or ragged values, which are several tensors per key."""
    fields = structure.dict_value.fields
    if fields.keys() != {key for key, _ in named} or any(
        not f.HasField("tensor_spec_value") for f in fields.values()
    ):
        raise GraphEditError(f"signature {signature!r} has values that are several tensors")


def _function_shapes(
    functions: Sequence[FunctionDef], library: FunctionDefLibrary
) -> dict[str, list[Shape]]:
    """The static shapes of functions' outputs, as TensorFlow infers them for calls."""
    graph_def = tf_protos.GraphDef(library=library)
    graph_def.versions.producer = tf_protos.graph_def_version()
    for number, function in enumerate(functions):
        inputs = []
        for place, argument in enumerate(function.signature.input_arg):
            node = graph_def.node.add(name=f"{number}/{place}", op="Placeholder")
            node.attr["dtype"].type = argument.type
            if argument.handle_data:
                node.op = "VarHandleOp"
                node.attr["dtype"].type = argument.handle_data[0].dtype
                node.attr["shape"].shape.CopyFrom(argument.handle_data[0].shape)
            elif _INFERRED in function.arg_attr[place].attr:
                node.attr["shape"].shape.CopyFrom(
                    function.arg_attr[place].attr[_INFERRED].list.shape[0]
                )
            else:
                node.attr["shape"].shape.unknown_rank = True
            inputs.append(node.name)
        call = graph_def.node.add(name=str(number), op="StatefulPartitionedCall", input=inputs)
        call.attr["f"].func.name = function.signature.name
        call.attr["Tin"].list.type.extend(
            argument.type for argument in function.signature.input_arg
        )
        call.attr["Tout"].list.type.extend(
            argument.type for argument in function.signature.output_arg
        )
    typing = open_source(graph_def).body.typing
    return {
        function.signature.name: [
            typing.shape(str(number), k) for k in range(len(function.signature.output_arg))
        ]
        for number, function in enumerate(functions)
    }


def _tensor_specs(structure: StructuredValue) -> Iterator[TensorSpecProto]:
    """The TensorSpecs in a StructuredValue, in the order in which TensorFlow flattens it."""
    kind = structure.WhichOneof("kind")
    if kind == "tensor_spec_value":
        yield structure.tensor_spec_value
    elif kind in ("list_value", "tuple_value"):
        for value in getattr(structure, kind).values:
            yield from _tensor_specs(value)
    elif kind == "named_tuple_value":
        for pair in structure.named_tuple_value.values:
            yield from _tensor_specs(pair.value)
    elif kind == "dict_value":
        for _, value in sorted(structure.dict_value.fields.items()):
            yield from _tensor_specs(value)


def _only_call(index: GraphIndex, signature: Signature, function: str) -> str:
    """The op that calls a signature's function and gives its outputs in order, or ""."""
    outputs = [split_tensor(tensor) for _, tensor in sorted(signature.outputs)]
    names = {op for op, _ in outputs}
    if len(names) != 1 or [port or 0 for _, port in outputs] != list(range(len(outputs))):
        return ""
    node = index.nodes[index.op(names.pop())]
    return str(node.name) if node.op in FUNCTION_CALLS and called_function(node) == function else ""


def renamed_inputs(was: Signature, now: Signature) -> dict[str, str]:
    """The key of each input that a signature has still, by the key that it had.

    Edits keep the order of inputs, give them other keys, and take some away.

    >>> of = lambda *keys: tuple((key, f"{key}:0") for key in keys)
    >>> renamed_inputs(Signature("s", of("a", "b", "c"), ()), Signature("s", of("a", "d"), ()))
    {'a': 'a', 'c': 'd'}
    """
    keys_before, remaining_keys = {}, [key for key, _ in now.inputs]
    keys = [key for key, _ in was.inputs]
    for number, key in enumerate(keys):
        if remaining_keys and (
            key == remaining_keys[0]
            or (key not in remaining_keys and len(keys) - number <= len(remaining_keys))
        ):
            keys_before[key] = remaining_keys.pop(0)
    return keys_before


def _named_functions(objects: SavedObjectGraph, within: Collection[int] | None = None) -> set[str]:
    """The functions that saved objects name."""
    names: set[str] = set()
    for number, saved in enumerate(objects.nodes):
        if within is None or number in within:
            names |= set(_object_functions(saved))
    return names


def _object_functions(saved: SavedObject) -> Iterator[str]:
    kind = saved.WhichOneof("kind")
    if kind == "function":
        yield from saved.function.concrete_functions
    elif kind == "bare_concrete_function":
        yield saved.bare_concrete_function.concrete_function_name
    elif kind == "captured_tensor":
        yield saved.captured_tensor.concrete_function


def _function_references(function: FunctionDef) -> Iterator[str]:
    """The functions that a FunctionDef names."""
    for node in function.node_def:
        yield node.op
        for value in node.attr.values():
            yield from (
                reference.name for reference in (value.func, *value.list.func) if reference.name
            )


def rename_functions(node: NodeDef, renamed: Mapping[str, str]) -> None:
    """Let a NodeDef call functions by other names."""
    node.op = renamed.get(node.op, node.op)
    for value in node.attr.values():
        for reference in (value.func,) if value.WhichOneof("value") == "func" else value.list.func:
            reference.name = renamed.get(reference.name, reference.name)


def _without_shapes(function: FunctionDef) -> FunctionDef:
    """A FunctionDef without what its ops note of static shapes."""
    copy = copy_of(function)
    for node in copy.node_def:
        node.attr.pop(_INFERRED, None)
    return copy


def _rename(function: FunctionDef, renamed: Mapping[str, str]) -> None:
    function.signature.name = renamed.get(function.signature.name, function.signature.name)
    for node in function.node_def:
        rename_functions(node, renamed)


def _trainable(index: GraphIndex) -> set[str]:
    """The handle ops of the trainable variables."""
    return {split_tensor(member.name)[0] for member in index.collections.get(TRAINABLE, ())}
