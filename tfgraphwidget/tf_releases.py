"""The releases of TensorFlow that this package runs on, and the private names of TensorFlow that it
uses.

TensorFlow may rename what is private in any release. So all that `tf_internals` uses is listed
here, and looked for once, in 2 ms, when TensorFlow is there: a function that uses a name which is
gone then refuses its call in one sentence, and the others go on (`tensorflow_modules.bind`).
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from operator import attrgetter, methodcaller
from types import CodeType, FunctionType

OLDEST = "2.16"
"""The oldest release of TensorFlow on which everything runs; it is the first with Keras 3."""
NEWEST = "2.21"
"""The newest release of TensorFlow on which the tests were run."""
REQUIREMENT = f"'tensorflow>={OLDEST},<2.{int(NEWEST.partition('.')[2]) + 1}'"

_OPS = "tensorflow.python.framework.ops"
_SESSION = "tensorflow.python.client.session"
_C_API = "tensorflow.python.client.pywrap_tf_session"
_EDITING = {
    f"{_OPS}:": "_create_c_op gradient_registry uid",
    f"{_OPS}:Graph": (
        "_add_function _c_graph _collections _create_op_internal _current_control_dependencies "
        "_functions _get_function _get_control_flow_context _get_operation_by_name _group_lock "
        "_lock _mutation_lock _names_in_use _nodes_by_name _remove_function _session_run_lock "
        "_set_control_flow_context _unfetchable_ops new_operations"
    ),
    f"{_OPS}:Operation": (
        "_add_control_inputs _c_op _clear_attr _colocation_code_locations _control_outputs "
        "_from_c_op _get_control_flow_context _gradient_function _id _input_types _inputs_val "
        "_original_op _remove_all_control_inputs _set_attr _set_control_flow_context _set_device "
        "_tf_output _update_input"
    ),
    "tensorflow:DType": "_is_ref_dtype",
    "tensorflow:Tensor": "_shape _shape_val",
    f"{_C_API}:": (
        "ExtendSession GetHandleShapeAndType PyGraph SetHandleShapeAndType TF_CloseSession "
        "TF_DeleteBuffer TF_DeleteSession TF_DeleteSessionOptions TF_FunctionToFunctionDef "
        "TF_GetBuffer TF_GraphCopyFunction TF_GraphToGraphDef TF_GraphImportGraphDefWithResults "
        "TF_ImportGraphDefOptionsAddInputMapping TF_ImportGraphDefOptionsRemapControlDependency "
        "TF_ImportGraphDefOptionsSetValidateColocationConstraints TF_NewBufferFromString "
        "TF_NewSessionOptions TF_NewSessionRef TF_OperationName TF_Output"
    ),
    "tensorflow.python.framework.c_api_util:": (
        "ScopedTFImportGraphDefOptions ScopedTFImportGraphDefResults tf_buffer"
    ),
    "tensorflow.python.framework.function:": "_DefinedFunction from_library",
    "tensorflow.python.framework.function:_DefinedFunction": "_c_func",
    "tensorflow.python.ops.control_flow_ops:": "CondContext WhileContext",
    "tensorflow.python.ops.control_flow_ops:WhileContext": (
        "_external_values _grad_state _nested_contexts _pivot_for_body _pivot_for_pred _values"
    ),
    "tensorflow.python.ops.control_flow_state:": "_GradLoopState",
    "tensorflow.python.ops.ref_variable:": "RefVariable",
    "tensorflow.python.ops.resource_variable_ops:": "BaseResourceVariable ResourceVariable "
    "variable_accessed",
    "tensorflow.python.ops.resource_variable_ops:ResourceVariable": "_constraint _save_slice_info "
    "_trainable",
    "tensorflow.python.ops.variable_scope:": "_VARSCOPESTORE_KEY _VARSTORE_KEY",
    "tensorflow.python.ops.variable_scope:_VariableStore": "_partitioned_vars _vars",
    "tensorflow.python.util.lock_util:GroupLock": "_group_member_counts _ready",
    f"{_SESSION}:": "BaseSession",
    f"{_SESSION}:BaseSession": "_Callable _call_tf_sessionprun _closed _config _extend_graph "
    "_session _target",
    f"{_SESSION}:BaseSession._Callable": "_handle _session",
    "tensorflow.python.ops.session_ops:": "TensorHandle",
    "tensorflow.python.ops.session_ops:TensorHandle": "_auto_gc_enabled _handle _session",
}
"""What an edit of a live graph uses, or takes back when it fails: without one of these no such edit
begins.

"module:class", or "module:" for what is in the module itself → names.
"""
_OTHERS = {
    # else the ops of a graph are compared, see `runtime.live.track_new_ops`
    "tensorflow:Graph": "_add_op",
    "tensorflow.core.function.polymorphism.function_type:": "FunctionType Parameter",
    "tensorflow.core.function.trace_type:": "InternalTracingContext from_value",
    "tensorflow.python.checkpoint.graph_view:": "ObjectGraphView",
    "tensorflow.python.eager.context:": "EAGER_MODE default_execution_mode eager_mode",
    "tensorflow.python.eager.record:": "stop_recording",
    "tensorflow.python.eager.polymorphic_function.concrete_function:": "ConcreteFunction",
    "tensorflow.python.eager.polymorphic_function.concrete_function:ConcreteFunction": (
        "_call_flat _get_gradient_function from_func_graph"
    ),
    "tensorflow.python.eager.polymorphic_function.function_type_utils:": "derive_from_graph",
    "tensorflow.python.eager.polymorphic_function.function_type_utils:FunctionSpec": (
        "_input_signature"
    ),
    "tensorflow.python.eager.polymorphic_function.polymorphic_function:": "Function",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function:Function": (
        "_default_values _function_cache _function_type _generate_tracing_options"
    ),
    "tensorflow.python.eager.polymorphic_function.tracing_compilation:": "TracingOptions",
    "tensorflow.python.framework.convert_to_constants:": "convert_variables_to_constants_v2",
    "tensorflow.python.framework.func_graph:FuncGraph": "_weak_variables",
    "tensorflow.python.framework.kernels:": "get_registered_kernels_for_op",
    "tensorflow.python.framework.meta_graph:": (
        "add_collection_def create_meta_graph_def import_scoped_meta_graph packaging_version"
    ),
    "tensorflow.python.grappler.tf_optimizer:": "OptimizeGraph",
    "tensorflow.python.ops.cond_v2:": "_copy_handle_data get_func_graphs",
    "tensorflow.python.ops.control_flow_util_v2:": "get_func_graph",
    "tensorflow.python.ops.custom_gradient:": "generate_name",
    "tensorflow.python.ops.handle_data_util:": "copy_handle_data",
    "tensorflow.python.ops.while_v2:": "_get_graph",
    "tensorflow.python.saved_model.function_deserialization:": "fix_node_def "
    "load_function_def_library",
    "tensorflow.python.training.monitored_session:_MonitoredSession": "_tf_sess",
    "tensorflow.python.training.monitored_session:_WrappedSession": "_sess",
    "tensorflow.python.util.nest:": "flatten_with_tuple_paths",
}
_CALLS: dict[str, tuple[int | str, ...]] = {
    "BaseResourceVariable": (
        0,
        "dtype",
        "handle",
        "handle_name",
        "in_graph_mode",
        "name",
        "shape",
        "trainable",
        "unique_id",
    ),
    "FunctionType": (1,),
    "InternalTracingContext": (0, "is_legacy_signature"),
    "ObjectGraphView": (1,),
    "OptimizeGraph": (2, "verbose"),
    "Parameter": (4,),
    "ScopedTFImportGraphDefOptions": (0,),
    "ScopedTFImportGraphDefResults": (1,),
    "TF_NewSessionOptions": (0, "config", "target"),
    "_add_function": (1,),
    "_call_flat": (2,),
    "_call_tf_sessionprun": (3,),
    "_clear_attr": (1,),
    "_create_c_op": (5, "extract_traceback"),
    "_current_control_dependencies": (0,),
    "_extend_graph": (0,),
    "_from_c_op": (2,),
    "_get_function": (1,),
    "_get_gradient_function": (0,),
    "_get_graph": (3,),
    "_mutation_lock": (0,),
    "_remove_function": (1,),
    "_session_run_lock": (0,),
    "_set_attr": (2,),
    "_set_control_flow_context": (1,),
    "_set_device": (1,),
    "_tf_sess": (0,),
    "_update_input": (2,),
    "add_collection_def": (3, "override_contents"),
    "copy_handle_data": (2,),
    "create_meta_graph_def": (0, "collection_list", "graph", "graph_def", "saver_def"),
    "derive_from_graph": (1,),
    "eager_mode": (0,),
    "fix_node_def": (3,),
    "flatten_with_tuple_paths": (1, "expand_composites"),
    "from_func_graph": (3,),
    "from_library": (1,),
    "from_value": (2,),
    "generate_name": (0,),
    "get_func_graph": (3,),
    "get_func_graphs": (1,),
    "get_registered_kernels_for_op": (1,),
    "import_scoped_meta_graph": (1,),
    "load_function_def_library": (1,),
    "stop_recording": (0,),
    "tf_buffer": (0,),
    "uid": (0,),
    "variable_accessed": (1,),
}
"""How the functions among them are called that Python can ask for their parameters: with so many
arguments by place, and with these by keyword.
"""


def private_names(*, editing: bool = False) -> dict[str, tuple[str, ...]]:
    """The private names of TensorFlow that this package uses, by the module or "module:class" that
    has them; for `editing` those alone that edits of live graphs use.
    """
    table = _EDITING if editing else {**_EDITING, **_OTHERS}
    return {owner: tuple(names.split()) for owner, names in table.items()}


@cache
def absent_names(*, editing: bool = False) -> dict[str, str]:
    """The private names that the TensorFlow of this process does not have → where they were:
    "Graph._names_in_use".

    Objects are not made for it: an attribute is there if the class has it, or if a method of the
    class names it. A function that does not take what it is called with is not there either.
    """
    absent = {}
    for owner, names in private_names(editing=editing).items():
        module, _, path = owner.partition(":")
        try:
            thing: object = import_module(module)
            thing = attrgetter(path)(thing) if path else thing
        except (ImportError, AttributeError):
            thing = None
        present = _names_of(thing)
        prefix = path.rpartition(".")[2] or module.rpartition(".")[2]
        for name in names:
            if name not in present:
                absent[name] = f"{prefix}.{name}"
            elif not _takes_what_it_is_called_with(thing, name):
                absent[name] = f"{prefix}.{name}({', '.join(_arguments_text(name))})"
    return absent


def _takes_what_it_is_called_with(owner: object, name: str) -> bool:
    """Whether a function can be called as `_CALLS` says; true where Python does not know."""
    if name not in _CALLS:
        return True
    count, *keywords = _CALLS[name]
    member = inspect.getattr_static(owner, name, None)
    is_method = isinstance(owner, type) and isinstance(member, FunctionType | classmethod)
    by_place = range(int(count) + is_method)
    try:
        signature = inspect.signature(getattr(member, "__func__", member))
    except (TypeError, ValueError):  # of C++, or a field
        return True
    try:
        signature.bind(*by_place, **dict.fromkeys(map(str, keywords)))
    except TypeError:
        return False
    return True


def _arguments_text(name: str) -> list[str]:
    """The arguments that a function is called with, for a sentence."""
    count, *keywords = _CALLS[name]
    return [*("…" for _ in range(int(count))), *(f"{keyword}=…" for keyword in keywords)]


def _names_of(thing: object) -> set[str]:
    """The names that a module or a class has; none of None."""
    if thing is None:
        return set()
    if not isinstance(thing, type):
        return {*vars(thing), *dir(thing)}
    members = {
        name: member for kind in reversed(thing.__mro__) for name, member in vars(kind).items()
    }
    return {*members, *(name for member in members.values() for name in _names_in(member))}


def _names_in(member: object) -> Iterator[str]:
    """The names that the code of a function, method or property uses; of other objects none."""
    for attribute in ("__func__", "fget", "__wrapped__"):
        member = getattr(member, attribute, member)
    for code in _codes(member):
        yield from code.co_names
        yield from (constant for constant in code.co_consts if isinstance(constant, str))


def attributes_in(function: object) -> Iterator[str]:
    """The names of attributes that a function or an attrgetter uses; of other objects none."""
    if isinstance(function, attrgetter | methodcaller):
        yield from function.__reduce__()[1]
    for code in _codes(inspect.unwrap(function) if callable(function) else function):
        yield from (
            each.argval
            for each in dis.get_instructions(code)
            if each.opname.endswith(("_ATTR", "_METHOD"))
        )
        yield from (constant for constant in code.co_consts if isinstance(constant, str))


def _codes(function: object) -> Iterator[CodeType]:
    """The code of a function, and of the functions in it."""
    pending = [getattr(function, "__code__", None)]
    while pending:
        code = pending.pop()
        if isinstance(code, CodeType):
            yield code
            pending += code.co_consts


def release(version: str) -> tuple[int, ...]:
    """The release of a version, (2, 22) of "2.22.0-dev20261101"; () where there is none."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else ()


def is_too_old(version: str) -> bool:
    """Whether a TensorFlow of this version is older than `OLDEST`."""
    return () < release(version) < release(OLDEST)


def is_untested(version: str) -> bool:
    """Whether a TensorFlow of this version is newer than `NEWEST`."""
    return release(version) > release(NEWEST)
